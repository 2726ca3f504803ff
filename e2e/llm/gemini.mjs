// SPDX-License-Identifier: Apache-2.0
// generateContent and streamGenerateContent of Google, as far as Gemini CLI uses them.
import { flatten, open_stream, send_json } from './dialect.mjs';

const USAGE = { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 };

export const matches = (path) => /:(stream)?generateContent$/i.test(path);

export function view(body) {
  const contents = body.contents ?? [];
  const declarations = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  return {
    tools: declarations.map((declaration) => declaration.name),
    results: contents.flatMap((content, position) =>
      (content.parts ?? [])
        .filter((part) => part.functionResponse)
        .map(({ functionResponse: result }, index) => ({
          id: result.id ?? `${position}.${index}`,
          error: result.response?.error !== undefined,
          text: result_text(result.response),
        })),
    ),
    texts: contents.map((content) => flatten(content.parts)),
  };
}

function result_text(response) {
  const value = response?.output ?? response?.error ?? response;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function send({ response, path, reply }) {
  const text = reply.text ? [{ text: reply.text }] : [];
  const calls = reply.calls.map((call) => ({ functionCall: { id: call.id, name: call.name, args: call.arguments } }));
  const answer = {
    candidates: [{ content: { role: 'model', parts: [...text, ...calls] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: USAGE,
    modelVersion: 'scripted',
  };
  if (!/:stream/.test(path)) return send_json(response, answer);
  open_stream(response)(null, answer);
  return response.end();
}
