// SPDX-License-Identifier: Apache-2.0
// The Responses API of OpenAI, as far as Codex uses it. Codex knows MCP tools by a name within a namespace.
import { flatten, new_id, open_stream, pieces, send_json } from './dialect.mjs';

const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 120,
};

export const matches = (path) => path.endsWith('/responses');

export function view(body) {
  const items = Array.isArray(body.input) ? body.input : [{ role: 'user', content: body.input }];
  return {
    tools: (body.tools ?? []).flatMap(names_of),
    results: items
      .filter((item) => /_output$/.test(item.type ?? ''))
      .map((item) => ({ id: item.call_id, error: null, text: without_figures(flatten(item.output)) })),
    texts: items.map((item) => flatten(item.content ?? item.output)),
  };
}

function names_of(tool) {
  if (tool.type !== 'namespace') return [tool.name ?? tool.type];
  return (tool.tools ?? []).map((inner) => `${tool.name}__${inner.name}`);
}

// Codex writes how long a call took in front of its result.
function without_figures(text) {
  return text.replace(/^(Chunk ID: [\s\S]*?|Wall time: [\s\S]*?)Output:\s*/, '');
}

export function send({ response, body, reply }) {
  const base = { id: new_id('resp'), created_at: Math.floor(Date.now() / 1000), model: body.model };
  const output = reply.calls.map(call_item);
  if (reply.text) output.unshift(message_item(reply.text));
  if (body.stream) stream(response, base, output);
  else send_json(response, whole(base, 'completed', output));
}

function whole(base, status, output) {
  const usage = status === 'completed' ? USAGE : null;
  const rest = { error: null, incomplete_details: null, parallel_tool_calls: true, tool_choice: 'auto', tools: [] };
  return { ...base, object: 'response', status, output, usage, ...rest };
}

function message_item(text) {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', id: new_id('msg'), role: 'assistant', status: 'completed', content };
}

function call_item(call) {
  const item = { type: 'function_call', id: new_id('fc'), call_id: call.id, name: call.name, status: 'completed' };
  if (call.namespace) item.namespace = call.namespace;
  return { ...item, arguments: JSON.stringify(call.arguments) };
}

function stream(response, base, output) {
  const write = open_stream(response);
  let sequence_number = 0;
  const emit = (type, members) => write(type, { type, sequence_number: sequence_number++, ...members });
  emit('response.created', { response: whole(base, 'in_progress', []) });
  output.forEach((item, output_index) => {
    (item.type === 'message' ? stream_message : stream_call)(emit, item, output_index);
    emit('response.output_item.done', { output_index, item });
  });
  emit('response.completed', { response: whole(base, 'completed', output) });
  response.end();
}

function stream_message(emit, item, output_index) {
  const part = item.content[0];
  const place = { item_id: item.id, output_index, content_index: 0 };
  emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } });
  emit('response.content_part.added', { ...place, part: { ...part, text: '' } });
  for (const piece of pieces(part.text)) emit('response.output_text.delta', { ...place, delta: piece });
  emit('response.output_text.done', { ...place, text: part.text });
  emit('response.content_part.done', { ...place, part });
}

function stream_call(emit, item, output_index) {
  const place = { item_id: item.id, output_index };
  emit('response.output_item.added', { output_index, item: { ...item, arguments: '', status: 'in_progress' } });
  for (const piece of pieces(item.arguments))
    emit('response.function_call_arguments.delta', { ...place, delta: piece });
  emit('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments });
}
