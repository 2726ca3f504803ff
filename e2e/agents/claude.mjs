// SPDX-License-Identifier: Apache-2.0
// Claude Code: the one of its own package, or the newer one that comes with the agent SDK.
import path from 'node:path';
import { installed } from '../installed.mjs';
import { write_json } from '../files.mjs';

const TOOL_EVENTS = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'];
const EVENTS = ['SessionStart', 'SessionEnd', 'SubagentStart', 'SubagentStop', 'Stop', 'ConfigChange'];

export const client = 'claude';
export const shell = (command) => ({ name: 'Bash', arguments: { command, description: 'a step' } });
export const delegate = (prompt) => ({
  name: 'Agent',
  arguments: { description: 'a task', prompt, subagent_type: 'general-purpose', run_in_background: false },
});

// It looks at its settings again when they are edited, and tells this hook before they count.
export const watches = 'ConfigChange';
export const writes = ['.claude.json']; // of its user's files: those it writes into by itself

const program = { stable: 'claude-code-linux-x64', newer: 'claude-agent-sdk-linux-x64' };
const settings = (home) => path.join(home, '.claude/settings.json');

function hooks_of(hook) {
  const entry = (event) => ({
    type: 'command',
    command: hook.command(event),
    timeout: hook.seconds,
    onFailure: 'block',
  });
  return Object.fromEntries([
    ...TOOL_EVENTS.map((event) => [event, [{ matcher: '*', hooks: [entry(event)] }]]),
    ...EVENTS.map((event) => [event, [{ hooks: [entry(event)] }]]),
  ]);
}

// The user's settings, with hooks or without.
export function set_hooks({ home, hook }) {
  write_json(settings(home), hook ? { hooks: hooks_of(hook) } : {});
}

export function launch({
  home,
  work,
  prompt,
  model_url,
  server_name,
  server,
  hook,
  supervised,
  watch,
  version = 'stable',
}) {
  const servers = { mcpServers: { [server_name]: { type: 'stdio', ...server } } };
  const options = [
    ...['--output-format', 'stream-json', '--verbose'],
    ...['--permission-mode', 'bypassPermissions', '--max-turns', '40'],
  ];
  if (supervised) {
    write_json(path.join(home, '.claude.json'), servers);
  } else {
    const config = path.join(home, 'mcp.json');
    write_json(config, servers);
    options.push('--mcp-config', config, '--strict-mcp-config');
  }
  if (hook) set_hooks({ home, hook });
  if (watch) write_json(settings(home), { hooks: { [watches]: [{ hooks: [{ type: 'command', command: watch }] }] } });
  return {
    words: [installed('agents', '@anthropic-ai', program[version], 'claude'), '-p', prompt, ...options],
    cwd: work,
    env: {
      ANTHROPIC_BASE_URL: model_url,
      ANTHROPIC_API_KEY: 'none-needed',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      IS_SANDBOX: '1',
      // It begins without a server that is slow to start, on a busy machine for instance, unless it is told to wait.
      MCP_CONNECTION_NONBLOCKING: '0',
      MCP_CONNECT_TIMEOUT_MS: '60000',
      MCP_TIMEOUT: '60000',
    },
  };
}
