// SPDX-License-Identifier: Apache-2.0
// Where the pinned npm packages are, for scripts that lie outside of them: nothing is ever installed into the source.
//
//   node --import e2e/installed.mjs tests/mcp/conformance_server.mjs ...
//
// A bare import of a script in this repository (`import 'zod'`) is looked up in one group of packages, `mcp`, or what
// BATON_E2E_GROUP says; imports inside the packages stay as they are. The groups are those of packages.txt, installed
// by `./dev e2e` into build/e2e (or BATON_E2E_PACKAGES).
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

export const ROOT = path.dirname(import.meta.dirname);
export const PACKAGES = process.env.BATON_E2E_PACKAGES ?? path.join(ROOT, 'build/e2e');

// Path of a file in a group's packages: installed('mcp', '@modelcontextprotocol/sdk/package.json')
export function installed(group, ...parts) {
  return path.join(PACKAGES, group, 'node_modules', ...parts);
}

const OURS = pathToFileURL(`${ROOT}/`).href;
const THEIRS = pathToFileURL(`${PACKAGES}/`).href;
const GROUP = pathToFileURL(path.join(PACKAGES, process.env.BATON_E2E_GROUP ?? 'mcp', 'package.json')).href;

registerHooks({
  resolve(specifier, context, next) {
    const from = context.parentURL ?? '';
    const ours = from.startsWith(OURS) && !from.startsWith(THEIRS);
    const bare = /^[@\w]/.test(specifier) && !/^[a-z]+:/.test(specifier);
    return next(specifier, ours && bare ? { ...context, parentURL: GROUP } : context);
  },
});
