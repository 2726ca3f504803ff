// SPDX-License-Identifier: Apache-2.0
// Baton's plugin for OpenCode, which has plugins where other clients have hooks: it starts baton-hook for every call of a tool, tells
// it what is about to happen as one JSON object, and throws unless the answer lets the call go. Written by `baton adopt opencode`
// (to be rid of it: `baton adopt opencode --undo`), and by `baton run` for one run.
//
// What is sent: {event, session_id, agent_id?, call_id, tool, arguments, cwd, mcp_servers, output?, error?, last_message?,
// stop_was_blocked?}. What is read: {decision: "pass" | "allow" | "deny" | "ask_again", reason?, context?}. Whatever else happens (no such
// program, another exit status, no answer, one that is no JSON) is a denial: this file has no way to let a call go by mistake.
import { spawn } from 'node:child_process';

const HOOK = '@BATON_HOOK@';
const MORE = [@BATON_ARGUMENTS@]; // of its arguments
const TIMEOUT_MS = 20_000; // baton-hook gives up long before
const ANSWER_BYTES_MAX = 1 << 20;

function run(event) {
  return new Promise((resolve, reject) => {
    const child = spawn(HOOK, ['opencode', event.event, ...MORE], { stdio: ['pipe', 'pipe', 'pipe'] });
    const chunks = { out: '', err: '' };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error('Baton: baton-hook did not answer in time'));
    }, TIMEOUT_MS);
    const keep = (name) => (data) => {
      if (chunks[name].length < ANSWER_BYTES_MAX) chunks[name] += data;
    };
    child.stdout.setEncoding('utf8').on('data', keep('out'));
    child.stderr.setEncoding('utf8').on('data', keep('err'));
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`Baton: baton-hook could not be started: ${error.message}`));
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({ status, ...chunks });
    });
    child.stdin.on('error', () => {}); // it may answer without reading to the end
    child.stdin.end(JSON.stringify(event));
  });
}

async function ask(event) {
  const { status, out, err } = await run(event);
  let answer;
  try {
    answer = JSON.parse(out);
  } catch {
    throw new Error(err.trim() || `Baton: baton-hook ended with ${status} and no answer`);
  }
  const lets = status === 0 && (answer?.decision === 'pass' || answer?.decision === 'allow');
  const refuses = answer?.decision === 'deny' || answer?.decision === 'ask_again';
  if (!lets && !refuses) throw new Error(err.trim() || `Baton: baton-hook ended with ${status} and an answer that is none`);
  return { lets, again: answer.decision === 'ask_again', reason: answer.reason || err.trim() || 'denied by Baton' };
}

export const Baton = async ({ client, directory }) => {
  const parents = new Map(); // session -> the one it was started from, or null
  const open = new Map(); // call -> what was asked about it
  const again = new Set(); // sessions that were told to go on

  async function parentOf(session) {
    if (!parents.has(session)) {
      const found = await client.session.get({ path: { id: session } });
      parents.set(session, found?.data?.parentID ?? null);
    }
    return parents.get(session);
  }

  async function whose(session) {
    let root = session;
    for (let depth = 0; depth < 16; depth += 1) {
      const parent = await parentOf(root);
      if (!parent) return root === session ? { session_id: root } : { session_id: root, agent_id: session };
      root = parent;
    }
    throw new Error('Baton: this session has too many others above it');
  }

  async function servers() {
    const status = await client.mcp.status();
    if (!status?.data) throw new Error('Baton: OpenCode does not say which MCP servers there are');
    return Object.keys(status.data);
  }

  async function lastMessage(session) {
    const messages = (await client.session.messages({ path: { id: session } }))?.data ?? [];
    const last = messages.findLast((message) => message.info?.role === 'assistant');
    return (last?.parts ?? []).filter((part) => part.type === 'text').map((part) => part.text).join('\n');
  }

  async function stopped(session) {
    const who = await whose(session);
    if (who.agent_id) return; // what a subagent says goes to whoever started it
    const answer = await ask({
      event: 'session.idle', ...who, cwd: directory, last_message: await lastMessage(session), stop_was_blocked: again.has(session),
    });
    if (!answer.again) {
      again.delete(session);
      return;
    }
    again.add(session);
    await client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: 'text', text: answer.reason }] } });
  }

  async function failed(part) {
    const call = open.get(part.callID);
    if (!call) return;
    open.delete(part.callID);
    await ask({ ...call, event: 'tool.execute.failed', error: String(part.state.error ?? '') });
  }

  return {
    'tool.execute.before': async ({ tool, sessionID, callID }, output) => {
      const event = {
        event: 'tool.execute.before', ...(await whose(sessionID)), call_id: callID, tool, arguments: output.args ?? {},
        cwd: directory, mcp_servers: await servers(),
      };
      const answer = await ask(event);
      if (!answer.lets) throw new Error(answer.reason);
      open.set(callID, structuredClone(event));
    },

    'tool.execute.after': async ({ tool, sessionID, callID, args }, output) => {
      open.delete(callID);
      const answer = await ask({
        event: 'tool.execute.after', ...(await whose(sessionID)), call_id: callID, tool, arguments: args ?? {}, cwd: directory,
        mcp_servers: await servers(), output,
      }).catch(() => ({ lets: true })); // it has been done: what is not told of it stays unknown to Baton
      if (answer.lets) return;
      if (output.content) output.content = [{ type: 'text', text: answer.reason }];
      output.output = answer.reason;
    },

    event: async ({ event }) => {
      const { properties } = event;
      const quietly = (promise) => promise.catch(() => {});
      if (event.type === 'session.created') {
        parents.set(properties.info.id, properties.info.parentID ?? null);
        await quietly(whose(properties.info.id).then((who) => ask({ event: 'session.created', ...who, cwd: directory })));
      } else if (event.type === 'session.deleted') {
        await quietly(ask({ event: 'session.deleted', session_id: properties.info.id, cwd: directory }));
      } else if (event.type === 'session.idle') {
        await quietly(stopped(properties.sessionID));
      } else if (event.type === 'message.part.updated' && properties.part?.type === 'tool' && properties.part.state?.status === 'error') {
        await quietly(failed(properties.part));
      }
    },
  };
};
