// SPDX-License-Identifier: Apache-2.0
// The Messages API of Anthropic, as far as Claude Code uses it.
import { flatten, new_id, open_stream, pieces, send_json } from './dialect.mjs';

const USAGE = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 };

export const matches = (path) => path.endsWith('/messages');

export function view(body) {
  const messages = body.messages ?? [];
  const blocks = messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
  return {
    tools: (body.tools ?? []).map((tool) => tool.name),
    results: blocks
      .filter((block) => block.type === 'tool_result')
      .map((block) => ({ id: block.tool_use_id, error: block.is_error === true, text: flatten(block.content) })),
    texts: messages.map((message) => flatten(message.content)),
  };
}

export function send({ response, body, reply }) {
  const text = reply.text ? [{ type: 'text', text: reply.text }] : [];
  const calls = reply.calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments }));
  const message = {
    id: new_id('msg'),
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: [...text, ...calls],
    stop_reason: calls.length ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: USAGE,
  };
  if (body.stream) stream(response, message);
  else send_json(response, message);
}

function stream(response, message) {
  const write = open_stream(response);
  const emit = (type, members) => write(type, { type, ...members });
  emit('message_start', {
    message: { ...message, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
  });
  message.content.forEach((block, index) => {
    const is_text = block.type === 'text';
    emit('content_block_start', { index, content_block: is_text ? { ...block, text: '' } : { ...block, input: {} } });
    for (const piece of pieces(is_text ? block.text : JSON.stringify(block.input))) {
      const delta = is_text ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece };
      emit('content_block_delta', { index, delta });
    }
    emit('content_block_stop', { index });
  });
  const delta = { stop_reason: message.stop_reason, stop_sequence: null };
  emit('message_delta', { delta, usage: { output_tokens: USAGE.output_tokens } });
  emit('message_stop', {});
  response.end();
}
