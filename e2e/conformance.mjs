// SPDX-License-Identifier: Apache-2.0
// The MCP conformance suite, scored scenario by scenario, and compared: the same server directly and through something.
//
//   node --import ./e2e/installed.mjs e2e/conformance.mjs score REVISION URL
//   node --import ./e2e/installed.mjs e2e/conformance.mjs direct REVISION
//   node --import ./e2e/installed.mjs e2e/conformance.mjs through REVISION COMMAND...
//
// REVISION is 2025-11-25 or 2026-07-28; its scored scenarios are what the suite froze for it, the others are run, too.
// `direct` and `through` start tests/mcp/conformance_server.mjs; with CONFORMANCE_SERVER_SRC, a folder that holds the
// suite's own everything-server.ts (npm does not have it), they start that instead. In COMMAND {port} is where it has
// to listen (the path is /mcp), {upstream} the URL of the server, and a word {server} stands for the words that start
// the server on its standard input and output instead. Prints one JSON document. Exit status: 0 nothing scored failed,
// or nothing is worse than directly; 1 otherwise; 2 could not.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { PACKAGES, ROOT, installed } from './installed.mjs';
import { end_of, free_port, listening, start, stop } from './processes.mjs';

export const REVISIONS = ['2025-11-25', '2026-07-28'];
const SUITE = installed('conformance', '@modelcontextprotocol/conformance');
const SUITE_SECONDS = 240;

// How good a check is. What is missing counts as failed.
const RANK = { SUCCESS: 3, INFO: 2, SKIPPED: 2, WARNING: 1, FAILURE: 0 };

// The scenarios that count for a revision, from the list that the suite comes with.
function scored_scenarios(revision) {
  const text = fs.readFileSync(path.join(SUITE, 'requirements', `${revision}.yaml`), 'utf8');
  const section = /^server:\n((?:  - .*\n)+)/m.exec(text);
  return new Set(
    section[1]
      .trim()
      .split(/\s*- /)
      .filter(Boolean)
      .map((name) => name.trim()),
  );
}

// Runs the suite against a URL. {revision, scored: {passed, failed}, scenarios: {NAME: {scored, passed, failed,
// checks}}}
export async function score({ revision, url, folder }) {
  const results = path.join(folder, 'results');
  fs.rmSync(results, { recursive: true, force: true });
  fs.mkdirSync(results, { recursive: true });
  const words = [
    process.execPath,
    path.join(SUITE, 'dist/index.js'),
    'server',
    '--url',
    url,
    '--requirements',
    revision,
    '-o',
    results,
  ];
  const status = await end_of(
    start(words, { cwd: folder, env: process.env, log: path.join(folder, 'suite.log') }),
    SUITE_SECONDS,
  );
  if (status !== 0 && status !== 1) throw new Error(`the suite ended with ${status}, see ${folder}/suite.log`);
  const counts = scored_scenarios(revision);
  const scenarios = {};
  for (const name of fs.readdirSync(results).sort()) {
    const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    if (!scenario) throw new Error(`the suite left ${name}, which is no result of a scenario`);
    scenarios[scenario] = { scored: counts.has(scenario), ...tally(path.join(results, name, 'checks.json')) };
  }
  const missing = [...counts].filter((name) => !scenarios[name]);
  if (missing.length) throw new Error(`the suite did not run ${missing.join(', ')}`);
  const verdicts = Object.values(scenarios)
    .filter((one) => one.scored)
    .map((one) => one.failed === 0 && one.passed > 0);
  const passed = verdicts.filter(Boolean).length;
  return { revision, scored: { passed, failed: verdicts.length - passed }, scenarios };
}

function tally(file) {
  const all = JSON.parse(fs.readFileSync(file, 'utf8'));
  const checks = {};
  const seen = {};
  for (const { id, status, errorMessage } of all) {
    seen[id] = (seen[id] ?? 0) + 1; // one check may be made several times
    const key = seen[id] === 1 ? id : `${id} (${seen[id]})`;
    checks[key] = status === 'SUCCESS' ? status : `${status}${errorMessage ? `: ${errorMessage}` : ''}`;
  }
  const count = (status) => all.filter((one) => one.status === status).length;
  return { passed: count('SUCCESS'), failed: count('FAILURE'), checks };
}

const rank = (said) => RANK[said?.split(':')[0]] ?? 0;

// What is worse in `through` than in `direct`: [{scenario, scored, check, direct, through}].
export function worse(direct, through) {
  return Object.entries(direct.scenarios).flatMap(([scenario, { scored, checks }]) =>
    Object.entries(checks).flatMap(([check, said]) => {
      const other = through.scenarios[scenario]?.checks[check];
      return rank(other) < rank(said) ? [{ scenario, scored, check, direct: said, through: other ?? 'not made' }] : [];
    }),
  );
}

// The server under the suite: of tests/mcp, or the suite's own from CONFORMANCE_SERVER_SRC.
export function server_words(mode, source = process.env.CONFORMANCE_SERVER_SRC) {
  // It imports types like values, which Node does not strip.
  if (source)
    return {
      words: [process.execPath, installed('reference', 'tsx/dist/cli.mjs'), reference(source)],
      http_only: true,
    };
  const script = path.join(ROOT, 'tests/mcp/conformance_server.mjs');
  return { words: [process.execPath, '--import', path.join(ROOT, 'e2e/installed.mjs'), script, mode] };
}

// The reference server is copied beside the packages that it imports, and bound to loopback.
function reference(folder) {
  const source = path.join(folder, 'everything-server.ts');
  if (!fs.existsSync(source)) throw new Error(`there is no everything-server.ts in ${folder}`);
  const target = path.join(PACKAGES, 'reference/everything-server.ts');
  const text = fs.readFileSync(source, 'utf8');
  fs.writeFileSync(
    target,
    text.replace(/app\.listen\((Number\(PORT\)|PORT), *\(/, 'app.listen(Number(PORT), "127.0.0.1", ('),
  );
  return target;
}

// Starts the server, and COMMAND in front of it when there is one, scores it and ends both.
export async function scored_server({ revision, folder, command, env = process.env, source }) {
  fs.mkdirSync(folder, { recursive: true });
  const started = [];
  const launch = async (words, port, name, more = {}) => {
    const child = start(words, { cwd: folder, env: { ...env, ...more }, log: path.join(folder, `${name}.log`) });
    started.push(child);
    await listening(port, child);
    return `http://127.0.0.1:${port}/mcp`;
  };
  try {
    const stdio = command?.includes('{server}');
    const { words, http_only } = server_words(stdio ? 'stdio' : 'http', source);
    if (stdio && http_only) throw new Error('the reference server speaks HTTP only');
    let url;
    if (!stdio) {
      const port = await free_port();
      url = await launch(http_only ? words : [...words, String(port)], port, 'server', { PORT: String(port) });
    }
    if (command) {
      const port = await free_port();
      const filled = command.flatMap((word) =>
        word === '{server}' ? words : [fill(word, { port, upstream: url ?? '' })],
      );
      url = await launch(filled, port, 'through');
    }
    return await score({ revision, url, folder });
  } finally {
    started.reverse().forEach(stop);
  }
}

function fill(word, values) {
  return word.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

async function main([what, revision, ...rest]) {
  const known = { score: rest.length === 1, direct: rest.length === 0, through: rest.length > 0 };
  if (!known[what] || !REVISIONS.includes(revision)) {
    console.error('usage: conformance.mjs score REVISION URL | direct REVISION | through REVISION COMMAND...');
    return 2;
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-conformance-'));
  if (what === 'score') return report(await score({ revision, url: rest[0], folder }));
  const direct = await scored_server({ revision, folder: path.join(folder, 'direct') });
  if (what === 'direct') return report(direct);
  const through = await scored_server({ revision, folder: path.join(folder, 'through'), command: rest });
  const found = worse(direct, through);
  console.log(
    JSON.stringify({ revision, direct: direct.scored, through: through.scored, worse: found, folder }, null, 1),
  );
  return found.length ? 1 : 0;
}

function report(scores) {
  console.log(JSON.stringify(scores, null, 1));
  return scores.scored.failed ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await main(process.argv.slice(2)).catch((error) => {
    console.error(`conformance.mjs: ${error.message}`);
    return 2;
  });
}
