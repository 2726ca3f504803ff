// SPDX-License-Identifier: Apache-2.0
// A real coding agent that is held to a contract: by hooks that call `baton-hook`, or under `baton run`. Each case is a
// file in cases/hooks/, told through every agent that it names.
//
//   purpose      what the case is for
//   by           hooks: they are in the user's settings; run: `baton run` wires the agent for this run
//   clients      see AGENTS
//   files        what is in the agent's folder at first
//   settings     lines for the configuration of the store
//   options      further ones of `baton run`
//   hook_seconds how long the client gives a hook
//   turns        what the model does, one after the other:
//     do           what happens before it does: names of ACTIONS
//     call, shell, delegate, say   see llm/scripted.mjs; {handoff} in what it says, or gives, is a handoff
//                  that holds
//     has, lacks   texts that are, or are not, in what the model is shown then: the result of the call, or why it has
//                  to go on
//     makes        a file that the call makes, if it runs
//     runs         does it? Default: yes
//     clients      only these do it
//   subagent     what the model of its subagent does, in the same way
//   files_after  what is in files then; null: there is none
//   status       exit status
//   said         texts in what it prints
//   item         members of the work item, when it has come to them
//   late         true: what the agent that was killed would still say is refused
//
// Where agents differ, an expectation is an object with one for each, and `*` for the others.
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BATON, HOOK, World, until } from './baton.mjs';
import { clean_env } from './clients/agent.mjs';
import { read_json, write_json, write_text } from './files.mjs';
import { ROOT } from './installed.mjs';
import { MARK, ScriptedModel } from './llm/scripted.mjs';
import { end_of, say_of, start } from './processes.mjs';
import { stdio_server } from './servers.mjs';

export const AGENTS = {
  claude: { agent: 'claude' },
  'claude-newer': { agent: 'claude', version: 'newer' },
  codex: { agent: 'codex' },
  gemini: { agent: 'gemini' },
  copilot: { agent: 'copilot' },
};

const PACK = path.join(ROOT, 'e2e/cases/packs/hooked');
const SERVER = 'everything';
const ITEM = 'W-1';
const SECONDS = 240;
const HOOK_SECONDS = 60;

export async function tell_hooked(story, name, folder) {
  const scene = new Scene(story, name, folder);
  try {
    await scene.begin();
    await scene.play();
    return await scene.judge();
  } finally {
    await scene.end();
  }
}

// Says what it was told when it is done.
const GOOD_HOOK = `'${HOOK}' "$@"; status=$?; echo "$2" >> "$0.log"; exit $status`;

// What happens between two turns of the model; each is told which scene it is in.
const ACTIONS = {
  approve: (scene) => until('somebody is asked', 60, () => scene.world.approve()),
  'node stops': (scene) => process.kill(scene.world.node.pid, 'SIGSTOP'),
  'node goes on': (scene) => process.kill(scene.world.node.pid, 'SIGCONT'),
  'node is killed': async (scene) => {
    process.kill(scene.world.node.pid, 'SIGKILL');
    await scene.world.node.exited;
  },
  'node is back': (scene) => scene.world.serve(),
  'hook is short of time': (scene) => scene.put_hook(`exec '${HOOK}' "$@" --deadline-ms 1500`),
  'hook crashes': (scene) => scene.put_hook('exit 1'),
  'hook is killed': (scene) => scene.put_hook('kill -9 $$'),
  'hook prints rubbish': (scene) => scene.put_hook("echo '{not json'"),
  'hook is slow': (scene) => scene.put_hook(`case "$2" in [Pp]reToolUse|BeforeTool) exec sleep 60;; esac`),
  'hook is gone': (scene) => fs.rmSync(scene.hook),
  'hook is back': (scene) => scene.put_hook(GOOD_HOOK),
  'settings lose the hook': async (scene) => {
    scene.module.set_hooks({ home: scene.home });
    const { watches } = scene.module;
    if (watches) await until('the client has seen its settings', 90, () => scene.hooks_told().includes(watches));
  },
  'settings of the run lose the hook': async (scene) => {
    const folder = path.dirname(scene.env_of_agent().BATON_INPUT_FILE);
    const wires = (name) => /(^|\/)(settings|hooks\/baton)\.json$/.test(name);
    for (const name of fs.readdirSync(folder, { recursive: true }).filter(wires)) {
      const settings = read_json(path.join(folder, name));
      if (settings.hooks) write_json(path.join(folder, name), { ...settings, hooks: {} });
    }
    // A client that looks at one file of settings again looks at all of them.
    write_json(path.join(scene.work, '.claude/settings.json'), { env: { TIDE: 'high' } });
    if (scene.module.watches) await until('the client has seen its settings', 90, () => fs.existsSync(scene.seen));
  },
  'run is killed': async (scene) => {
    scene.late = scene.env_of_agent();
    process.kill(scene.child.pid, 'SIGKILL');
    await scene.child.exited;
  },
  'run stops': (scene) => process.kill(scene.child.pid, 'SIGSTOP'),
  'run goes on': (scene) => process.kill(scene.child.pid, 'SIGCONT'),
  'item is back': (scene) =>
    until('the item is back in the queue', 90, async () => (await scene.item()).state === 'waiting'),
};

class Scene {
  constructor(story, name, folder) {
    Object.assign(this, { story, name, folder, ...AGENTS[name] });
    this.work = path.join(folder, 'work');
    this.home = path.join(folder, 'home');
    this.hook = path.join(folder, 'bin/baton-hook');
    this.failed = []; // of what was to happen between two turns
    this.seen = path.join(folder, 'settings-seen');
    this.world = new World(folder);
  }

  // What the story says, for this agent.
  of(value) {
    const differs = value !== null && typeof value === 'object' && !Array.isArray(value) && '*' in value;
    return differs ? (this.name in value ? value[this.name] : value['*']) : value;
  }

  async begin() {
    for (const one of [this.work, this.home]) fs.mkdirSync(one, { recursive: true });
    for (const [name, text] of Object.entries(this.story.files ?? {})) write_text(path.join(this.work, name), text);
    this.module = await import(`./agents/${this.agent}.mjs`);
    await this.world.begin(PACK, this.story.settings ?? '', true);
    if (this.story.by === 'run') await this.world.operate('work', 'create', 'The almanac', '--id', ITEM);
    this.put_hook(GOOD_HOOK);
    this.model = new ScriptedModel({
      turns: this.turns_of(this.story.turns),
      subagent: this.turns_of(this.story.subagent ?? []),
      server: SERVER,
      agent: this.module,
      before: (turn) => this.before(turn),
      words,
    });
    await this.model.listen();
  }

  // A program of its own between the client's settings and baton-hook, which the story can break.
  put_hook(script) {
    write_text(`${this.hook}.new`, `#!/bin/sh\n${script}\n`);
    fs.chmodSync(`${this.hook}.new`, 0o755);
    fs.renameSync(`${this.hook}.new`, this.hook);
  }

  // The events that the good one was told of.
  hooks_told() {
    const log = `${this.hook}.log`;
    return fs.existsSync(log) ? fs.readFileSync(log, 'utf8').split('\n') : [];
  }

  turns_of(turns) {
    const mine = (turn) => !turn.clients || turn.clients.includes(this.name);
    return turns.filter(mine).map((turn) => (turn.say ? { ...turn, say: this.of(turn.say) } : turn));
  }

  async before(turn) {
    try {
      for (const action of [turn?.do ?? []].flat()) await ACTIONS[action](this);
    } catch (error) {
      // And the model goes on: an error would be tried again and again.
      this.failed.push(`${turn.do}: ${error.message}`);
    }
  }

  async play() {
    const launch = this.story.by === 'run' ? await this.supervised() : await this.hooked();
    const logs = { log: path.join(this.folder, 'agent.stdout'), errors: path.join(this.folder, 'agent.stderr') };
    this.child = start(launch.words, { cwd: this.work, env: launch.env, ...logs });
    this.status = await end_of(this.child, SECONDS);
    for (const { mark, results, asked } of [this.model.main, this.model.subagent])
      write_json(path.join(this.folder, `seen-${mark}.json`), { results, asked });
  }

  launch(more) {
    return this.module.launch({
      home: this.home,
      work: this.work,
      prompt: `${MARK} do what is to be done`,
      model_url: this.model.url,
      server_name: SERVER,
      version: this.version,
      ...more,
    });
  }

  // The hooks in the user's settings, the proxy in front of the server, both in one session.
  async hooked() {
    const opened = JSON.parse(await this.world.operate('session', 'open', '--format', 'json'));
    const shown = { BATON_NODE: `unix:${this.world.socket}`, BATON_SESSION_TOKEN: opened.session.token };
    const behind = stdio_server(SERVER, this.work);
    const proxy = {
      command: BATON,
      args: ['mcp', '--name', SERVER, '--', behind.command, ...behind.args],
      env: { ...behind.env, ...shown },
    };
    const options = `--socket '${this.world.socket}' --proxied ${SERVER}`;
    const hook = {
      command: (event) => `'${this.hook}' ${this.module.client} ${event} ${options}`,
      seconds: this.story.hook_seconds ?? HOOK_SECONDS,
    };
    const { words, env } = this.launch({ server: proxy, hook });
    return { words, env: { ...clean_env(this.home), ...env, ...shown } };
  }

  // Nothing of Baton is in the user's settings.
  async supervised() {
    const watch = `touch '${this.seen}'`; // a hook of the user's own
    const { words, env } = this.launch({ server: stdio_server(SERVER, this.work), supervised: true, watch });
    this.home_before = files_in(this.home);
    // A run that is killed leaves its folder behind.
    const temporary = path.join(this.folder, 'tmp');
    fs.mkdirSync(temporary);
    return {
      words: [BATON, 'run', '--work', ITEM, ...(this.story.options ?? []), '--', ...words],
      env: { ...clean_env(this.home), ...env, ...this.world.env_of_run(this.home), TMPDIR: temporary },
    };
  }

  async judge() {
    const wrong = [...this.failed];
    const status = this.of(this.story.status) ?? 0;
    if (this.status !== status) wrong.push(`it ended with ${this.status}, not with ${status}`);
    this.judge_turns(wrong, 'turn', this.model.main);
    this.judge_turns(wrong, 'turn of the subagent', this.model.subagent);
    for (const [name, want] of Object.entries(this.story.files_after ?? {})) {
      const file = path.join(this.work, name);
      const is = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
      if (is !== want) wrong.push(`${name} is ${JSON.stringify(is)}, not ${JSON.stringify(want)}`);
    }
    const said = fs.readFileSync(path.join(this.folder, 'agent.stdout'), 'utf8');
    for (const text of this.of(this.story.said) ?? []) {
      if (!said.includes(text)) wrong.push(`it did not say \`${text}\``);
    }
    if (this.home_before) wrong.push(...changes(this.home_before, files_in(this.home), this.module.writes ?? []));
    await this.judge_item(wrong);
    await this.world.operate('ledger', 'verify');
    return wrong;
  }

  judge_turns(wrong, what, { turns, results, asked }) {
    let call = 0;
    turns.forEach((turn, index) => {
      const where = `${what} ${index + 1}, ${turn.shell ?? turn.call ?? turn.delegate ?? turn.say}`;
      const text = turn.say === undefined ? results[call++]?.text : (asked[index] ?? '');
      if (text === undefined) return wrong.push(`${where}: no result was seen`);
      for (const part of this.of(turn.has) ?? []) {
        if (!text.includes(part)) wrong.push(`${where}: there is no \`${part}\` in: ${text}`);
      }
      for (const part of this.of(turn.lacks) ?? []) {
        if (text.includes(part)) wrong.push(`${where}: there is \`${part}\` in: ${text}`);
      }
      if (turn.makes) {
        const ran = fs.existsSync(path.join(this.work, turn.makes));
        if (ran !== (this.of(turn.runs) ?? true)) wrong.push(`${where}: it ${ran ? 'ran' : 'did not run'}: ${text}`);
      }
    });
  }

  async judge_item(wrong) {
    const wanted = Object.entries(this.of(this.story.item) ?? {});
    let item;
    const come = async () => {
      item = wanted.length && (await this.item());
      return wanted.every(([name, want]) => item[name] === want);
    };
    await until('the item has come to what it is to be', 60, come).catch(() => {
      for (const [name, want] of wanted.filter(([name, want]) => item[name] !== want))
        wrong.push(`${name} of the item is ${JSON.stringify(item[name])}, not ${JSON.stringify(want)}`);
    });
    if (!this.story.late) return;
    if (!this.late) return wrong.push('no agent was killed');
    const env = { PATH: process.env.PATH, ...this.late };
    const tool = { tool_name: 'Bash', tool_use_id: 'late', tool_input: { command: 'ls' } };
    const event = { hook_event_name: 'PreToolUse', session_id: 'late', cwd: this.work, ...tool };
    const hook = `printf %s "$EVENT" | '${HOOK}' claude PreToolUse --socket '${this.world.socket}'`;
    const call = await say_of(['sh', '-c', hook], { env: { ...env, EVENT: JSON.stringify(event) } });
    if (call.status !== 2 || !call.stderr.includes('Denied by lease_stale'))
      wrong.push(`a late call: ${call.status} ${call.stdout}${call.stderr}`);
    const handoff = path.join(this.folder, 'late.md');
    write_text(handoff, words('{handoff}', `agent_id is ${this.late.BATON_AGENT_ID}`));
    const exit = await say_of([BATON, 'handoff', 'submit', handoff], { env });
    if (exit.status !== 1) wrong.push(`a late handoff: ${exit.status} ${exit.stdout}${exit.stderr}`);
    write_json(path.join(this.folder, 'late.json'), { call, exit });
  }

  async item() {
    const shown = JSON.parse(await this.world.operate('work', 'show', ITEM, '--format', 'json'));
    return shown.work ?? shown;
  }

  // What the agent under `baton run` was given of Baton.
  env_of_agent() {
    const [pid] = fs.readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, 'utf8').split(' ');
    const all = fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return Object.fromEntries(all.filter((one) => one.startsWith('BATON_')).map((one) => one.split(/=(.*)/s, 2)));
  }

  async end() {
    this.model?.close();
    if (this.model) write_json(path.join(this.folder, 'model.json'), this.model.requests);
    // A node that stands still cannot be told to end.
    this.world.node?.kill('SIGCONT');
    await this.world.end();
  }
}

// A handoff that holds, of the agent that the model was told it is.
function words(text, shown) {
  const id = /agent_id is ([\w-]+)/.exec(shown)?.[1] ?? 'unknown';
  const report = {
    patterns_checked: [],
    files_checked: [],
    commands_run: [],
    key_outputs: ['the tide table is right'],
    verbatim_outputs: [],
    cross_layer_impacts: [],
    open_gaps: [],
    verification: { method: 'self-review', result: 'pass' },
  };
  const status = { plan_status: 'COMPLETE', agent_id: id, pending_steps: [], next_action: 'done' };
  const block = { agent_status: status, evidence_report: report, user_facing_summary: 'High water is at noon.' };
  return text.replace('{handoff}', `\n\n\`\`\`agent_contract_handoff\n${JSON.stringify(block)}\n\`\`\``);
}

// {path: content} of all files below a folder.
function files_in(folder) {
  const found = {};
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile()) found[path.relative(folder, file)] = fs.readFileSync(file, 'latin1');
  }
  return found;
}

// What was there before has to be there unchanged. Where a client itself `writes` into a file of its user's, everything
// that stood in it has to stand there still.
function changes(before, after, writes) {
  const kept = (name) => {
    if (before[name] === after[name]) return true;
    if (!writes.includes(name) || !(name in after)) return false;
    if (!name.endsWith('.json')) return after[name].startsWith(before[name]);
    const [was, is] = [before, after].map((files) => JSON.parse(files[name]));
    return Object.keys(was).every((member) => isDeepStrictEqual(was[member], is[member]));
  };
  return Object.keys(before)
    .filter((name) => !kept(name))
    .map((name) => `${name} in the user's home was ${name in after ? 'changed' : 'removed'}`);
}
