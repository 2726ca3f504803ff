// SPDX-License-Identifier: Apache-2.0
// Google Gemini CLI.
import path from 'node:path';
import { installed } from '../installed.mjs';
import { write_json } from '../files.mjs';

export function launch({ home, work, prompt, model_url, server_name, server }) {
  const { command, args, env } = server;
  write_json(path.join(home, '.gemini/settings.json'), {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { disableAutoUpdate: true, enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    mcpServers: { [server_name]: { command, args, env, trust: true } },
  });
  const options = ['--yolo', '--skip-trust', '-m', 'gemini-2.5-pro', '--output-format', 'stream-json'];
  return {
    words: [process.execPath, installed('agents', '@google/gemini-cli/bundle/gemini.js'), '-p', prompt, ...options],
    cwd: work,
    env: { GEMINI_API_KEY: 'none-needed', GOOGLE_GEMINI_BASE_URL: model_url, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  };
}
