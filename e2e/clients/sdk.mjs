// SPDX-License-Identifier: Apache-2.0
// What both SDKs have in common: connect, list the tools, make the calls of the case, tell what came back.
import fs from 'node:fs';

// A client gives {version, tools, results: [{error, text}]}; `version` is the protocol's that was agreed on, if it
// tells.
export async function follow(client, session, { StdioClientTransport, StreamableHTTPClientTransport }) {
  const transport = session.url
    ? new StreamableHTTPClientTransport(new URL(session.url), { requestInit: { headers: session.headers ?? {} } })
    : new StdioClientTransport({
        ...session.server,
        cwd: session.work,
        stderr: fs.openSync(`${session.log}/server.log`, 'a'),
      });
  await client.connect(transport);
  try {
    const tools = [];
    for (let cursor; ; ) {
      const page = await client.listTools(cursor ? { cursor } : undefined);
      tools.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
      if (!cursor) break;
    }
    const results = [];
    for (const { tool, arguments: given } of session.calls) results.push(await called(client, tool, given));
    const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null;
    return { version, tools, results };
  } finally {
    await client.close();
  }
}

async function called(client, name, given) {
  try {
    const result = await client.callTool({ name, arguments: given });
    return { error: result.isError === true, text: text_of(result) };
  } catch (error) {
    return { error: true, text: String(error.message) };
  }
}

export function text_of(result) {
  const texts = (result.content ?? []).map((part) => part.text ?? part.resource?.text ?? `(${part.type})`);
  return texts.join('\n') || JSON.stringify(result.structuredContent ?? {});
}
