// SPDX-License-Identifier: Apache-2.0
// The official SDK of the legacy era (@modelcontextprotocol/sdk) as a client, over stdio or Streamable HTTP.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { follow } from './sdk.mjs';

export async function run(session) {
  const client = new Client({ name: 'baton-e2e', version: '1' });
  return follow(client, session, { StdioClientTransport, StreamableHTTPClientTransport });
}
