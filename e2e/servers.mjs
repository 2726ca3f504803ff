// SPDX-License-Identifier: Apache-2.0
// The MCP servers that cases call, as people start them. All work in the folder that they are started in.
import path from 'node:path';
import { installed } from './installed.mjs';

const script = (name) => installed('mcp', `@modelcontextprotocol/server-${name}/dist/index.js`);

// {command, args, env} of a server on its standard input and output.
export function stdio_server(name, work) {
  const node = process.execPath;
  switch (name) {
    case 'everything':
      return { command: node, args: [script(name), 'stdio'], env: {} };
    case 'filesystem':
      return { command: node, args: [script(name), '.'], env: {} };
    case 'memory':
      return { command: node, args: [script(name)], env: { MEMORY_FILE_PATH: path.join(work, 'memory.jsonl') } };
    default:
      throw new Error(`there is no server ${name}`);
  }
}

// The words and environment of a server that listens; only server-everything does.
export function http_server(name, port) {
  if (name !== 'everything') throw new Error(`server-${name} does not listen`);
  return { words: [process.execPath, script(name), 'streamableHttp'], env: { PORT: String(port) } };
}
