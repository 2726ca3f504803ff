// SPDX-License-Identifier: Apache-2.0
// GitHub Copilot CLI, with a provider of its user's.
import path from 'node:path';
import { installed } from '../installed.mjs';
import { write_json } from '../files.mjs';

const EVENTS = [
  ...['sessionStart', 'sessionEnd', 'preToolUse', 'postToolUse'],
  ...['subagentStart', 'subagentStop', 'agentStop'],
];

export const client = 'copilot';
export const shell = (command) => ({ name: 'bash', arguments: { command, description: 'a step' } });
export const delegate = (prompt) => ({
  name: 'task',
  arguments: { name: 'tide', description: 'a task', prompt, agent_type: 'general-purpose', mode: 'sync' },
});

// Its file of hooks, or an empty one.
export function set_hooks({ home, hook }) {
  const entry = (event) => [{ type: 'command', bash: hook.command(event), timeoutSec: hook.seconds }];
  const hooks = hook ? Object.fromEntries(EVENTS.map((event) => [event, entry(event)])) : {};
  write_json(path.join(home, '.copilot/hooks/baton.json'), { version: 1, hooks });
}

export function launch({ home, work, prompt, model_url, server_name, server, hook, supervised }) {
  write_json(path.join(home, '.copilot/config.json'), { trusted_folders: [work], trustedFolders: [work] });
  const servers = { mcpServers: { [server_name]: { type: 'local', ...server, tools: ['*'] } } };
  const options = ['--allow-all-tools', '--allow-all-paths', '--disable-builtin-mcps'];
  if (supervised) write_json(path.join(home, '.copilot/mcp-config.json'), servers);
  else options.push('--additional-mcp-config', JSON.stringify(servers));
  if (hook) set_hooks({ home, hook });
  return {
    words: [installed('agents', '@github/copilot-linux-x64/copilot'), '-p', prompt, ...options],
    cwd: work,
    env: {
      COPILOT_PROVIDER_BASE_URL: `${model_url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'none-needed',
      COPILOT_MODEL: 'scripted',
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
    },
  };
}
