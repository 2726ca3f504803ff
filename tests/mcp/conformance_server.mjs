// SPDX-License-Identifier: Apache-2.0
// An MCP server with the tools, resources and prompts that the MCP conformance suite looks for, on the official SDK.
// It speaks both eras: the sessions of 2024-11-05 to 2025-11-25 and the stateless requests of 2026-07-28.
//
//   node --import e2e/installed.mjs tests/mcp/conformance_server.mjs stdio
//   node --import e2e/installed.mjs tests/mcp/conformance_server.mjs http [PORT]     (0: any; it says its URL)
//
// It is the thing behind the proxy: what it scores directly is what it has to score through the proxy. So it stays
// simple and lets the SDK do what the SDK does. Tool names, keys and URIs are the suite's; what they say is ours. The
// definitions are in conformance_surface.mjs; this file only serves them.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { Surface } from './conformance_surface.mjs';

const surface = new Surface();

// Keeps what was sent on each stream, so that a client that lost one can ask for the rest of it.
class EventMemory {
  #events = []; // {id, stream, message}

  async storeEvent(stream, message) {
    const id = `${stream}/${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }

  async replayEventsAfter(last, { send }) {
    const from = this.#events.findIndex((event) => event.id === last);
    const stream = this.#events[from]?.stream ?? '';
    for (const event of this.#events.slice(from + 1)) {
      if (event.stream === stream && Object.keys(event.message).length) await send(event.id, event.message);
    }
    return stream;
  }
}

// The sessions of the legacy era: one server and one transport for each.
class Sessions {
  #transports = new Map();

  async fetch(request) {
    const id = request.headers.get('mcp-session-id');
    if (id && this.#transports.has(id)) return this.#transports.get(id).handleRequest(request);
    if (id) return refusal(404, -32001, 'there is no such session');
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new EventMemory(),
      retryInterval: 500,
      onsessioninitialized: (session) => void this.#transports.set(session, transport),
      onsessionclosed: (session) => void this.#transports.delete(session),
    });
    await surface.build({ era: 'legacy' }).connect(transport);
    return transport.handleRequest(request);
  }
}

function refusal(status, code, message) {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}

function serveHttp(port) {
  const sessions = new Sessions();
  const modern = createMcpHandler((context) => surface.build(context), { legacy: 'reject' });
  surface.notify = modern.notify;
  const answer = async (request) => {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refused) return refused;
    if (new URL(request.url).pathname !== '/mcp') return new Response('not here\n', { status: 404 });
    return (await isLegacyRequest(request)) ? sessions.fetch(request) : modern.fetch(request);
  };
  const server = http.createServer(toNodeHandler({ fetch: answer }));
  server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}

const [mode, port = '0'] = process.argv.slice(2);
if (mode === 'stdio') {
  serveStdio((context) => surface.build(context));
} else if (mode === 'http') {
  serveHttp(Number(port));
} else {
  console.error('usage: conformance_server.mjs stdio | http [PORT]');
  process.exitCode = 2;
}
