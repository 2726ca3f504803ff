// SPDX-License-Identifier: Apache-2.0
// Claude Code.
import path from 'node:path';
import { installed } from '../installed.mjs';
import { write_json } from '../files.mjs';

export function launch({ home, work, prompt, model_url, server_name, server }) {
  const { command, args, env } = server;
  const config = path.join(home, 'mcp.json');
  write_json(config, { mcpServers: { [server_name]: { type: 'stdio', command, args, env } } });
  const options = ['--output-format', 'stream-json', '--verbose', '--mcp-config', config, '--strict-mcp-config'];
  return {
    words: [
      installed('agents', '@anthropic-ai/claude-code-linux-x64/claude'),
      '-p',
      prompt,
      ...options,
      '--permission-mode',
      'bypassPermissions',
      '--max-turns',
      '30',
    ],
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
