// SPDX-License-Identifier: Apache-2.0
// Chat completions of OpenAI, as far as Copilot CLI uses them with a provider of its user's.
import { flatten, new_id, open_stream, pieces, send_json } from './dialect.mjs';

const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

export const matches = (path) => path.endsWith('/chat/completions');

export function view(body) {
  const messages = body.messages ?? [];
  return {
    tools: (body.tools ?? []).map((tool) => tool.function?.name ?? tool.name),
    results: messages
      .filter((message) => message.role === 'tool')
      .map((message) => ({ id: message.tool_call_id, error: null, text: flatten(message.content) })),
    texts: messages.map((message) => flatten(message.content)),
  };
}

export function send({ response, body, reply }) {
  const base = { id: new_id('chat'), created: Math.floor(Date.now() / 1000), model: body.model };
  const calls = reply.calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const finish_reason = calls.length ? 'tool_calls' : 'stop';
  if (body.stream) return stream(response, body, { base, text: reply.text, calls, finish_reason });
  const message = { role: 'assistant', content: reply.text || null, ...(calls.length ? { tool_calls: calls } : {}) };
  const choices = [{ index: 0, message, finish_reason, logprobs: null }];
  return send_json(response, { ...base, object: 'chat.completion', choices, usage: USAGE });
}

function stream(response, body, { base, text, calls, finish_reason }) {
  const write = open_stream(response);
  const chunk = (members) => write(null, { ...base, object: 'chat.completion.chunk', ...members });
  const emit = (delta, reason = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason: reason, logprobs: null }] });
  emit({ role: 'assistant', content: '' });
  for (const piece of text ? pieces(text) : []) emit({ content: piece });
  calls.forEach((call, index) => {
    // The name comes once, the arguments in pieces behind it.
    emit({ tool_calls: [{ ...call, index, function: { name: call.function.name, arguments: '' } }] });
    for (const piece of pieces(call.function.arguments))
      emit({ tool_calls: [{ index, function: { arguments: piece } }] });
  });
  emit({}, finish_reason);
  if (body.stream_options?.include_usage) chunk({ choices: [], usage: USAGE });
  response.write('data: [DONE]\n\n');
  response.end();
}
