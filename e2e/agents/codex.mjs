// SPDX-License-Identifier: Apache-2.0
// OpenAI Codex CLI.
import path from 'node:path';
import { installed } from '../installed.mjs';
import { write_json, write_text } from '../files.mjs';

const TOOL_EVENTS = ['PreToolUse', 'PostToolUse'];
const EVENTS = ['SessionStart', 'SubagentStart', 'SubagentStop', 'Stop'];

export const client = 'codex';
export const namespaces = true; // the model is told of a namespace of tools for each MCP server
export const spell = (tool) => tool.replaceAll('-', '_');
export const shell = (command) => ({ name: 'exec_command', arguments: { cmd: command } });

const agents = { namespace: 'multi_agent_v1' };
export const delegate = (prompt) => ({ ...agents, name: 'spawn_agent', arguments: { message: prompt } });
// `begun` is what it was told of the one that it began.
export const wait = (begun) => ({
  ...agents,
  name: 'wait_agent',
  arguments: { targets: [/[0-9a-f]{8}-[0-9a-f-]{27}/.exec(begun)?.[0] ?? ''], timeout_ms: 120_000 },
});

export const writes = ['.codex/config.toml']; // of its user's files: those it writes into by itself

// Its file of hooks, or an empty one.
export function set_hooks({ home, hook }) {
  const entry = (event) => ({ type: 'command', command: hook.command(event), timeout: hook.seconds });
  const hooks = hook && {
    ...Object.fromEntries(TOOL_EVENTS.map((event) => [event, [{ matcher: '.*', hooks: [entry(event)] }]])),
    ...Object.fromEntries(EVENTS.map((event) => [event, [{ hooks: [entry(event)] }]])),
  };
  write_json(path.join(home, '.codex/hooks.json'), { hooks: hooks ?? {} });
}

export function launch({ home, work, prompt, model_url, server_name, server, hook }) {
  const { command, args, env } = server;
  // A string or a list of strings is the same in JSON and in TOML.
  const variables = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const config = [
    'model = "gpt-5.1-codex"',
    'model_provider = "scripted"',
    'approval_policy = "never"',
    'sandbox_mode = "danger-full-access"',
    '[model_providers.scripted]',
    'name = "scripted"',
    `base_url = "${model_url}/v1"`,
    'wire_api = "responses"',
    'env_key = "MODEL_KEY"',
    `[mcp_servers.${server_name}]`,
    `command = ${JSON.stringify(command)}`,
    `args = ${JSON.stringify(args)}`,
    `env = { ${variables.join(', ')} }`,
    'required = true', // else it begins without a server that is slow to start
    'startup_timeout_sec = 60',
    'tool_timeout_sec = 100', // a person may have to approve
    '',
  ];
  write_text(path.join(home, '.codex/config.toml'), config.join('\n'));
  if (hook) set_hooks({ home, hook });
  return {
    words: [
      installed('agents', '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex'),
      'exec',
      '--json',
      '--skip-git-repo-check',
      ...(hook ? ['--dangerously-bypass-hook-trust'] : []),
      prompt,
    ],
    cwd: work,
    env: { CODEX_HOME: path.join(home, '.codex'), MODEL_KEY: 'none-needed' },
  };
}
