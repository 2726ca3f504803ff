// SPDX-License-Identifier: Apache-2.0
// What the dialects of the scripted model have in common. A dialect has
//
//   matches(path)                  is this one of its requests?
//   view(body)                     {tools, results: [{id, error, text}], texts} of what the model is shown
//   send({response, body, path, reply})   the reply {text, calls: [{id, name, namespace?, arguments}]}, streamed or not
//
// `tools` are the names as the model sees them; `error` is null in a dialect that has no such flag.

let count = 0;

export function new_id(prefix) {
  count += 1;
  return `${prefix}_${count.toString(36).padStart(8, '0')}`;
}

// The text of any shape of content: a string, a list of parts, an object.
export function flatten(content) {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(part_text).join('\n');
  return JSON.stringify(content);
}

function part_text(part) {
  if (part.text !== undefined) return part.text;
  if (part.content !== undefined) return flatten(part.content);
  if (part.output !== undefined) return flatten(part.output);
  if (part.functionResponse) return JSON.stringify(part.functionResponse.response);
  return '';
}

// Small pieces, as a real model streams them.
export function pieces(text) {
  return text.match(/[\s\S]{1,12}/g) ?? [''];
}

export function send_json(response, value, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

// Opens a stream of server-sent events: emit(name or null, data).
export function open_stream(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  return (event, data) => response.write(`${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
}
