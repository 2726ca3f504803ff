// SPDX-License-Identifier: Apache-2.0
// Google Gemini CLI.
import path from 'node:path';
import { installed } from '../installed.mjs';
import { read_json, write_json } from '../files.mjs';

const TOOL_EVENTS = ['BeforeTool', 'AfterTool'];
const EVENTS = ['BeforeAgent', 'AfterAgent', 'SessionStart', 'SessionEnd'];

export const client = 'gemini';
export const shell = (command) => ({ name: 'run_shell_command', arguments: { command, description: 'a step' } });

const settings = (home) => path.join(home, '.gemini/settings.json');

function hooks_of(hook) {
  const timeout = hook.seconds * 1000;
  const entry = (event) => ({ type: 'command', name: 'baton', command: hook.command(event), timeout });
  return {
    ...Object.fromEntries(TOOL_EVENTS.map((event) => [event, [{ matcher: '.*', hooks: [entry(event)] }]])),
    ...Object.fromEntries(EVENTS.map((event) => [event, [{ hooks: [entry(event)] }]])),
  };
}

// The user's settings, with hooks or without.
export function set_hooks({ home, hook }) {
  const { hooks: _, ...rest } = read_json(settings(home));
  write_json(settings(home), hook ? { ...rest, hooks: hooks_of(hook) } : rest);
}

export function launch({ home, work, prompt, model_url, server_name, server, hook }) {
  const { command, args, env } = server;
  write_json(settings(home), {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { disableAutoUpdate: true, enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    ...(hook ? { tools: { enableHooks: true }, hooksConfig: { enabled: true } } : {}),
    mcpServers: { [server_name]: { command, args, env, trust: true } },
  });
  if (hook) set_hooks({ home, hook });
  const options = ['--yolo', '--skip-trust', '-m', 'gemini-2.5-pro', '--output-format', 'stream-json'];
  return {
    words: [process.execPath, installed('agents', '@google/gemini-cli/bundle/gemini.js'), '-p', prompt, ...options],
    cwd: work,
    env: { GEMINI_API_KEY: 'none-needed', GOOGLE_GEMINI_BASE_URL: model_url, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  };
}
