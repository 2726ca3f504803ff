// SPDX-License-Identifier: Apache-2.0
// A real coding agent with a scripted model: it starts the MCP server as its users do, and what its model is shown is
// what the case is judged by. The agent's own permission questions are off, so that nothing but the proxy stands in
// between.
import fs from 'node:fs';
import path from 'node:path';
import { write_json } from '../files.mjs';
import { MARK, ScriptedModel } from '../llm/scripted.mjs';
import { end_of, start } from '../processes.mjs';

const SECONDS = 120;

// A clean environment: nothing of whoever runs this reaches the agent.
export const clean_env = (home) => ({
  PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
  HOME: home,
  LANG: 'C.UTF-8',
  TERM: 'dumb',
});

export async function run(session) {
  const agent = await import(`../agents/${session.agent}.mjs`);
  const turns = session.calls.map(({ tool, arguments: given }) => ({ call: tool, arguments: given }));
  const model = new ScriptedModel({ turns, server: session.server_name, agent });
  await model.listen();
  try {
    const launch = agent.launch({ ...session, prompt: `${MARK} do what is to be done`, model_url: model.url });
    const logs = { log: path.join(session.log, 'agent.stdout'), errors: path.join(session.log, 'agent.stderr') };
    const status = await end_of(
      start(launch.words, { cwd: launch.cwd, env: { ...clean_env(session.home), ...launch.env }, ...logs }),
      SECONDS,
    );
    if (status !== 0) fs.appendFileSync(logs.errors, `the agent ended with ${status}\n`);
    const tools = model.tools.map((name) => model.bare(name)).filter(Boolean);
    return { version: null, status, tools, spell: agent.spell, results: model.results };
  } finally {
    model.close();
    write_json(path.join(session.log, 'model.json'), model.requests);
  }
}
