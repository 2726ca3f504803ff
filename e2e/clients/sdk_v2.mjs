// SPDX-License-Identifier: Apache-2.0
// The official SDK of both eras (@modelcontextprotocol/client) as a client. By itself it opens as clients of the legacy
// era do; asked to negotiate, it looks for the modern one first.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { follow } from './sdk.mjs';

export async function run(session) {
  const options = session.negotiate ? { versionNegotiation: { mode: session.negotiate } } : {};
  const client = new Client({ name: 'baton-e2e', version: '1' }, options);
  return follow(client, session, { StdioClientTransport, StreamableHTTPClientTransport });
}
