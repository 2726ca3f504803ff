// SPDX-License-Identifier: Apache-2.0
// The MCP inspector on the command line. Each request is a process of its own, and so is the server that it starts.
import fs from 'node:fs';
import path from 'node:path';
import { write_json } from '../files.mjs';
import { installed } from '../installed.mjs';
import { say_of } from '../processes.mjs';
import { text_of } from './sdk.mjs';

export async function run(session) {
  // Its own command line would take a `--` in the server's command for itself.
  const config = path.join(session.home, 'servers.json');
  write_json(config, { mcpServers: { [session.server_name]: { type: 'stdio', ...session.server } } });
  const script = installed('inspector', '@modelcontextprotocol/inspector', session.entry);
  const cli = [process.execPath, script, '--cli', '--config', config, '--server', session.server_name];
  const ask = async (method, ...more) => {
    const words = [...cli, '--method', method, ...more];
    const said = await say_of(words, { cwd: session.work, env: { ...process.env, HOME: session.home }, seconds: 60 });
    fs.appendFileSync(
      `${session.log}/inspector.log`,
      `${method} ${more.join(' ')}: ${said.status}\n${said.stdout}${said.stderr}\n`,
    );
    return said;
  };
  const listed = await ask('tools/list');
  if (listed.status !== 0) throw new Error(`the inspector ended with ${listed.status}: ${listed.stderr.trim()}`);
  const tools = JSON.parse(listed.stdout).tools.map((tool) => tool.name);
  const results = [];
  for (const { tool, arguments: given } of session.calls) {
    const words = Object.entries(given).flatMap(([name, value]) => [
      '--tool-arg',
      `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ]);
    const said = await ask('tools/call', '--tool-name', tool, ...words);
    results.push(outcome(said));
  }
  return { version: null, tools, results };
}

function outcome(said) {
  try {
    const result = JSON.parse(said.stdout);
    return { error: result.isError === true, text: text_of(result) };
  } catch {
    return { error: true, text: `${said.stdout}${said.stderr}` };
  }
}
