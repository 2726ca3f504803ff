// SPDX-License-Identifier: Apache-2.0
// OpenAI Codex CLI.
import path from 'node:path';
import { installed } from '../installed.mjs';
import { write_text } from '../files.mjs';

export const namespaces = true; // the model is told of a namespace of tools for each MCP server
export const spell = (tool) => tool.replaceAll('-', '_');

export function launch({ home, work, prompt, model_url, server_name, server }) {
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
  return {
    words: [
      installed('agents', '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex'),
      'exec',
      '--json',
      '--skip-git-repo-check',
      prompt,
    ],
    cwd: work,
    env: { CODEX_HOME: path.join(home, '.codex'), MODEL_KEY: 'none-needed' },
  };
}
