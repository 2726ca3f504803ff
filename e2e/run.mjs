// SPDX-License-Identifier: Apache-2.0
// Runs the end-to-end cases; `./dev e2e` installs what they need and starts this.
//
//   node --import ./e2e/installed.mjs e2e/run.mjs LOGS [NAME...]
//
// A NAME is a group (conformance, sdk, inspector, agents, hooks), or a group with a case, or those with a client:
// sdk/files/v1. The log of each case is a folder below LOGS. E2E_JOBS says how many cases run at once. Ends with the
// line `N passed, M failed`. Exit status: 0 all passed, 1 some failed, 2 no such case, 3 nothing was to be run.
import fs from 'node:fs';
import path from 'node:path';
import { no_hooks, no_proxy } from './baton.mjs';
import { read_json } from './files.mjs';
import { ROOT } from './installed.mjs';
import { check_conformance } from './conformance_case.mjs';
import { AGENTS, tell_hooked } from './hooked.mjs';
import { stop_all } from './processes.mjs';
import { CLIENTS, tell } from './stories.mjs';

const TAIL_LINES = 30;
const NOTHING_TO_RUN = 3;

// Every case: {name, skip, run(folder)}. `skip` is why it is not run.
async function all_cases() {
  const without_proxy = await no_proxy();
  const cases = [];
  for (const one of read_json(path.join(ROOT, 'e2e/cases/conformance.json')).cases) {
    const reference = one.server === 'reference' && !process.env.CONFORMANCE_SERVER_SRC;
    const skip = reference
      ? 'CONFORMANCE_SERVER_SRC does not say where the reference server is'
      : one.proxy && without_proxy;
    cases.push({ name: `conformance/${one.name}`, skip, run: (folder) => check_conformance(one, folder) });
  }
  const stories = fs.readdirSync(path.join(ROOT, 'e2e/cases/stories')).sort();
  for (const group of Object.keys(CLIENTS)) {
    for (const file of stories) {
      const story = read_json(path.join(ROOT, 'e2e/cases/stories', file));
      for (const client of story.clients) {
        const [of, name] = client.split('/');
        if (of !== group) continue;
        const told_by = CLIENTS[of]?.[name];
        if (!told_by) throw new Error(`${file}: there is no client ${client}`);
        const skip = story.pack ? without_proxy : undefined;
        cases.push({
          name: `${of}/${path.basename(file, '.json')}/${name}`,
          skip,
          run: (folder) => tell(story, told_by, folder),
        });
      }
    }
  }
  const without_hooks = without_proxy || (await no_hooks());
  for (const file of fs.readdirSync(path.join(ROOT, 'e2e/cases/hooks')).sort()) {
    const story = read_json(path.join(ROOT, 'e2e/cases/hooks', file));
    for (const client of story.clients) {
      if (!AGENTS[client]) throw new Error(`${file}: there is no agent ${client}`);
      cases.push({
        name: `hooks/${path.basename(file, '.json')}/${client}`,
        skip: without_hooks,
        run: (folder) => tell_hooked(story, client, folder),
      });
    }
  }
  return cases;
}

async function run_one(one, logs) {
  const folder = path.join(logs, one.name.replaceAll('/', '.'));
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const begun = Date.now();
  let wrong;
  try {
    wrong = await one.run(folder);
  } catch (error) {
    wrong = [error.message];
    fs.writeFileSync(path.join(folder, 'failure.log'), `${error.stack}\n`);
  }
  const seconds = ((Date.now() - begun) / 1000).toFixed(1);
  if (!wrong.length) {
    console.log(`ok    ${one.name} (${seconds} s)`);
    return true;
  }
  console.log(`FAIL  ${one.name} (${seconds} s)`);
  for (const sentence of wrong) console.log(`      ${sentence}`);
  show_tail(folder);
  return false;
}

// The end of each log of a case that failed; all of it is in the folder.
function show_tail(folder) {
  for (const name of fs.readdirSync(folder).sort()) {
    const file = path.join(folder, name);
    if (name === 'direct' || name === 'through') show_tail(file);
    if (!/\.(log|stdout|stderr)$/.test(name) || !fs.statSync(file).size) continue;
    const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n');
    console.log(
      `      --- ${path.relative(ROOT, file)}${lines.length > TAIL_LINES ? `, its last ${TAIL_LINES} lines` : ''}`,
    );
    for (const line of lines.slice(-TAIL_LINES)) console.log(`      ${line.slice(0, 400)}`);
  }
}

async function main([logs, ...wanted]) {
  const cases = await all_cases();
  const chosen = cases.filter(
    ({ name }) => !wanted.length || wanted.some((one) => name === one || name.startsWith(`${one}/`)),
  );
  const stray = wanted.filter((one) => !cases.some(({ name }) => name === one || name.startsWith(`${one}/`)));
  if (stray.length) {
    console.error(
      `there is no case ${stray.join(', ')}; these are there:\n${cases.map(({ name }) => `  ${name}`).join('\n')}`,
    );
    return 2;
  }
  const reasons = new Map();
  for (const { name, skip } of chosen.filter((one) => one.skip)) {
    console.log(`skip  ${name}: ${skip}`);
    reasons.set(skip, (reasons.get(skip) ?? 0) + 1);
  }
  const left = chosen.filter((one) => !one.skip);
  let passed = 0;
  let failed = 0;
  const worker = async () => {
    for (let one = left.shift(); one; one = left.shift()) {
      if (await run_one(one, logs)) passed += 1;
      else failed += 1;
    }
  };
  await Promise.all(Array.from({ length: Number(process.env.E2E_JOBS ?? 1) }, worker));
  for (const [reason, count] of reasons) console.log(`${count} skipped: ${reason}`);
  console.log(`${passed} passed, ${failed} failed`);
  if (failed) return 1;
  return passed ? 0 : NOTHING_TO_RUN;
}

// Clients may leave timers behind; the cases are over.
const status = await main(process.argv.slice(2));
stop_all();
process.exit(status);
