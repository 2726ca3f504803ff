// SPDX-License-Identifier: Apache-2.0
// What conformance_server.mjs offers: one definition of tools, resources and prompts for both eras. A tool that needs
// something of the client says so in its result (`inputRequired`); toward a client of the legacy era the SDK turns that
// into a request of the server's.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  McpServer,
  ResourceTemplate,
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';

// One blue pixel, and an eighth of a second of silence.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mOQz98EAAHxAUEEqQaTAAAAAElFTkSuQmCC';
const WAV = wave(1000).toString('base64');

const NOTHING = { type: 'object', properties: {}, additionalProperties: false };
const STEP_MS = 40; // between two notifications, so that they do not arrive as one piece

const text = (value) => ({ type: 'text', text: value });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const audio = { type: 'audio', data: WAV, mimeType: 'audio/wav' };
const resource = (uri, mimeType, value) => ({ type: 'resource', resource: { uri, mimeType, text: value } });
const answer = (...content) => ({ content });
const said = (value) => answer(text(value));

function wave(samples) {
  const bytes = Buffer.alloc(44 + samples, 0x80); // 8 bits a sample: 0x80 is silence
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(36 + samples, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20); // PCM
  bytes.writeUInt16LE(1, 22); // one channel
  bytes.writeUInt32LE(8000, 24);
  bytes.writeUInt32LE(8000, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(samples, 40);
  return bytes;
}

function form(message, properties, required = Object.keys(properties)) {
  return inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required } });
}

function question(prompt, maxTokens = 100) {
  return inputRequired.createMessage({ messages: [{ role: 'user', content: text(prompt) }], maxTokens });
}

// What the client answered to `key`, or nothing when it did not, or not in the kind that was asked for.
function answered(context, key, kind) {
  const view = inputResponse(context.mcpReq.inputResponses, key);
  return view.kind === kind ? view : undefined;
}

// The capabilities of the client: of the request in the modern era, of the session in the legacy one.
function capabilitiesOf(context, server) {
  return (
    context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ??
    server.server.getClientCapabilities() ??
    {}
  );
}

const NAME = { name: { type: 'string', description: 'how you are called' } };

// Whoever is asked answers by its action, and by the content where there is one.
function elicited(view) {
  return said(`the client chose to ${view.action}: ${JSON.stringify(view.content ?? {})}`);
}

// A tool that asks for one form and tells what came back.
function asking(key, request) {
  return (_, context) => {
    const view = answered(context, key, 'elicit');
    return view ? elicited(view) : inputRequired({ inputRequests: { [key]: request() } });
  };
}

const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

const titled = (...names) => names.map((name) => ({ const: name.toLowerCase(), title: name }));
const CHOICES = {
  untitledSingle: { type: 'string', enum: ['north', 'east', 'south'] },
  titledSingle: { type: 'string', oneOf: titled('Low', 'High') },
  legacyEnum: { type: 'string', enum: ['r', 'g', 'b'], enumNames: ['Red', 'Green', 'Blue'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['spring', 'autumn'] } },
  titledMulti: { type: 'array', items: { anyOf: titled('Ebb', 'Flood') } },
};

// Every keyword of JSON Schema 2020-12 that a server, or a proxy, might be tempted to drop.
const KEYWORDS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address: { $anchor: 'place', type: 'object', properties: { harbour: { type: 'string' } } } },
  properties: {
    station: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    latitude: { type: 'number' },
    longitude: { type: 'number' },
  },
  allOf: [{ anyOf: [{ required: ['station'] }, { required: ['address'] }] }],
  if: { required: ['latitude'] },
  then: { required: ['longitude'] },
  else: { properties: { longitude: false } },
  additionalProperties: false,
};

export class Surface {
  notify = null; // of the modern HTTP handler: tells the streams of subscriptions/listen what changed
  #state = createRequestStateCodec({ key: randomBytes(32), ttlSeconds: 300 });
  #connections = new Set(); // servers that live as long as a connection: they tell their client themselves
  #extra = { tool: false, prompt: false };

  build({ era, requestInfo }) {
    const server = new McpServer(
      { name: 'baton-conformance-fixture', version: '1.0.0' },
      {
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          completions: {},
          logging: {},
        },
        requestState: { verify: this.#state.verify },
      },
    );
    this.#contents(server);
    this.#conversations(server);
    this.#asks(server);
    this.#rounds(server);
    this.#changes(server);
    this.#resources(server);
    this.#prompts(server);
    if (era === 'legacy' || !requestInfo) {
      this.#connections.add(server);
      server.server.onclose = () => this.#connections.delete(server);
    }
    return server;
  }

  #tool(server, name, description, handler, inputSchema = NOTHING) {
    return server.registerTool(name, { description, inputSchema: fromJsonSchema(inputSchema) }, handler);
  }

  // Every kind of content.
  #contents(server) {
    const mixed = [
      text('three kinds of content'),
      image,
      resource('test://mixed', 'application/json', '{"tide":"low"}'),
    ];
    this.#tool(server, 'test_simple_text', 'says one sentence', () => said('high water is at noon'));
    this.#tool(server, 'test_image_content', 'gives a picture', () => answer(image));
    this.#tool(server, 'test_audio_content', 'gives a sound', () => answer(audio));
    this.#tool(server, 'test_embedded_resource', 'gives a resource inside of its result', () =>
      answer(resource('test://embedded', 'text/plain', 'a note about the tide')),
    );
    this.#tool(server, 'test_multiple_content_types', 'gives text, a picture and a resource', () => answer(...mixed));
    this.#tool(server, 'test_error_handling', 'always fails', () => {
      throw new Error('the gauge is out of order');
    });
    this.#tool(server, 'json_schema_2020_12_tool', 'has a schema with all keywords', () => said('taken'), KEYWORDS);
    this.#tool(
      server,
      'test_custom_header',
      'repeats a name that HTTP carries as a header, too',
      ({ region }) => said(`region ${region}`),
      { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } }, required: ['region'] },
    );
  }

  // What a server says before its result.
  #conversations(server) {
    const log = async (_, context) => {
      for (const word of ['begun', 'half done', 'done']) {
        await context.mcpReq.log('info', `measuring: ${word}`);
        await pause(STEP_MS);
      }
      return said('three lines were logged');
    };
    this.#tool(server, 'test_tool_with_logging', 'logs while it works', log);
    this.#tool(server, 'test_logging_tool', 'logs where the request asks for it', log);
    this.#tool(server, 'test_tool_with_progress', 'reports how far it is', async (_, context) => {
      const progressToken = context.mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await context.mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 100 },
          });
        }
        await pause(STEP_MS);
      }
      return said('all of it is done');
    });
    this.#tool(
      server,
      'test_reconnection',
      'closes its stream and answers when the client is back',
      async (_, context) => {
        context.http?.closeSSE?.();
        await pause(3 * STEP_MS);
        return said('answered after the stream was closed');
      },
    );
  }

  // What a server wants to know of its client.
  #asks(server) {
    this.#tool(
      server,
      'test_sampling',
      "asks the client's model",
      ({ prompt }, context) => {
        const view = answered(context, 'reply', 'sampling');
        if (!view) return inputRequired({ inputRequests: { reply: question(prompt) } });
        return said(`the model said: ${JSON.stringify(view.result.content)}`);
      },
      { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
    );
    const contact = { username: { type: 'string' }, email: { type: 'string', format: 'email' } };
    this.#tool(
      server,
      'test_elicitation',
      'asks the user for a name and an address',
      ({ message }, context) => asking('contact', () => form(message, contact))({}, context),
      { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    );
    this.#tool(
      server,
      'test_elicitation_sep1034_defaults',
      'asks with a default for every type',
      asking('defaults', () => form('is this right?', DEFAULTS, [])),
    );
    this.#tool(
      server,
      'test_elicitation_sep1330_enums',
      'asks with every kind of choice',
      asking('choices', () => form('which of these?', CHOICES, [])),
    );
    this.#tool(server, 'test_missing_capability', 'needs a client that samples', (_, context) =>
      answered(context, 'reply', 'sampling')
        ? said('the client samples')
        : inputRequired({ inputRequests: { reply: question('are you there?') } }),
    );
    this.#tool(server, 'test_streaming_elicitation', 'reports progress, then asks', async (_, context) => {
      const progressToken = context.mcpReq._meta?.progressToken ?? 'none';
      await context.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
      return asking('go_on', () => form('go on?', { yes: { type: 'boolean' } }))({}, context);
    });
  }

  // Results that ask and are asked for again, round by round (2026-07-28).
  #rounds(server) {
    const name = (context) =>
      acceptedContent(
        context.mcpReq.inputResponses,
        'user_name',
        fromJsonSchema({
          type: 'object',
          properties: NAME,
          required: ['name'],
        }),
      );
    const ok = { ok: { type: 'boolean' } };
    const sealed = async (inputRequests, payload) =>
      inputRequired({ inputRequests, requestState: await this.#state.mint(payload) });

    this.#tool(server, 'test_input_required_result_elicitation', 'asks for a name', (_, context) => {
      const given = name(context);
      if (given) return said(`good day, ${given.name}`);
      return inputRequired({ inputRequests: { user_name: form('who are you?', NAME) } });
    });
    this.#tool(server, 'test_input_required_result_sampling', "asks the client's model", (_, context) => {
      const view = answered(context, 'capital_question', 'sampling');
      if (view) return said(JSON.stringify(view.result.content));
      return inputRequired({ inputRequests: { capital_question: question('which city is the capital of France?') } });
    });
    this.#tool(server, 'test_input_required_result_list_roots', 'asks for the roots', (_, context) => {
      const view = answered(context, 'client_roots', 'roots');
      if (view) return said(view.roots.map((root) => root.uri).join('\n') || 'no roots');
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    });
    const confirmed = async (_, context) => {
      if (context.mcpReq.requestState() && answered(context, 'confirm', 'elicit')) return said('state-ok');
      return sealed({ confirm: form('is it so?', ok) }, { step: 'asked' });
    };
    this.#tool(server, 'test_input_required_result_request_state', 'seals what it asked', confirmed);
    this.#tool(server, 'test_input_required_result_tampered_state', 'refuses a state that it did not seal', confirmed);
    this.#tool(server, 'test_input_required_result_multiple_inputs', 'asks three things at once', (_, context) => {
      const all =
        answered(context, 'greeting', 'sampling') && answered(context, 'client_roots', 'roots') && name(context);
      if (all) return said('all three are answered');
      return sealed(
        {
          user_name: form('who are you?', NAME),
          greeting: question('greet the user', 50),
          client_roots: inputRequired.listRoots(),
        },
        { step: 'asked' },
      );
    });
    this.#tool(server, 'test_input_required_result_multi_round', 'asks one thing after the other', (_, context) => {
      const state = context.mcpReq.requestState();
      const first = acceptedContent(context.mcpReq.inputResponses, 'step1');
      const second = acceptedContent(context.mcpReq.inputResponses, 'step2');
      if (state?.step === 2 && second) return said(`${state.name} likes ${second.color}`);
      if (state?.step === 1 && first) {
        return sealed({ step2: form('which colour?', { color: { type: 'string' } }) }, { step: 2, name: first.name });
      }
      return sealed({ step1: form('who are you?', NAME) }, { step: 1 });
    });
    this.#tool(
      server,
      'test_input_required_result_capabilities',
      'asks only for what the client can do',
      (_, context) => {
        const can = capabilitiesOf(context, server);
        const asked = {};
        if (can.sampling) asked.reply = question('are you there?');
        if (can.elicitation) asked.user_name = form('who are you?', NAME);
        if (can.roots) asked.client_roots = inputRequired.listRoots();
        const missing = Object.keys(asked).filter(
          (key) => inputResponse(context.mcpReq.inputResponses, key).kind === 'missing',
        );
        return missing.length ? inputRequired({ inputRequests: asked }) : said('there is nothing left to ask');
      },
    );
  }

  // Lists that change while somebody looks.
  #changes(server) {
    const extraTool = this.#tool(server, 'test_changing_tool', 'comes and goes', () => said('here'));
    const extraPrompt = server.registerPrompt('test_changing_prompt', { description: 'comes and goes' }, () => ({
      messages: [{ role: 'user', content: text('here') }],
    }));
    if (!this.#extra.tool) extraTool.disable();
    if (!this.#extra.prompt) extraPrompt.disable();
    server.changing = { tool: extraTool, prompt: extraPrompt };
    this.#tool(server, 'test_trigger_tool_change', 'changes the list of tools', () => this.#toggle('tool'));
    this.#tool(server, 'test_trigger_prompt_change', 'changes the list of prompts', () => this.#toggle('prompt'));
  }

  #toggle(kind) {
    this.#extra[kind] = !this.#extra[kind];
    for (const { changing } of this.#connections) changing[kind][this.#extra[kind] ? 'enable' : 'disable']();
    if (kind === 'tool') this.notify?.toolsChanged();
    else this.notify?.promptsChanged();
    return said(`the list of ${kind}s has changed`);
  }

  #resources(server) {
    const note = { description: 'a note', mimeType: 'text/plain' };
    server.registerResource('text', 'test://static-text', note, (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'low water is at six' }],
    }));
    server.registerResource(
      'binary',
      'test://static-binary',
      { description: 'a picture', mimeType: 'image/png' },
      (uri) => ({
        contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }],
      }),
    );
    server.registerResource('watched', 'test://watched-resource', note, (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'the level is 2.4 m' }],
    }));
    const readings = new ResourceTemplate('test://template/{id}/data', { list: undefined });
    const described = { description: 'the readings of one gauge', mimeType: 'application/json' };
    server.registerResource('readings', readings, described, (uri, { id }) => ({
      contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ gauge: id, readings: [] }) }],
    }));
    // Subscriptions of the legacy era. Nothing here ever changes, so there is nothing to keep of them.
    server.server.setRequestHandler('resources/subscribe', () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', () => ({}));
  }

  #prompts(server) {
    const user = (content) => ({ role: 'user', content });
    const strings = (...names) =>
      fromJsonSchema({
        type: 'object',
        properties: Object.fromEntries(names.map((name) => [name, { type: 'string', description: `the ${name}` }])),
        required: names,
      });
    server.registerPrompt('test_simple_prompt', { description: 'without arguments' }, () => ({
      messages: [user(text('when does the tide turn?'))],
    }));
    server.registerPrompt(
      'test_prompt_with_arguments',
      { description: 'with two arguments', argsSchema: strings('arg1', 'arg2') },
      ({ arg1, arg2 }) => ({ messages: [user(text(`compare ${arg1} with ${arg2}`))] }),
    );
    server.registerPrompt(
      'test_prompt_with_embedded_resource',
      { description: 'with a resource inside', argsSchema: strings('resourceUri') },
      ({ resourceUri }) => ({
        messages: [user(resource(resourceUri, 'text/plain', 'what is embedded')), user(text('sum this up'))],
      }),
    );
    server.registerPrompt('test_prompt_with_image', { description: 'with a picture' }, () => ({
      messages: [user(image), user(text('what is to be seen?'))],
    }));
    server.registerPrompt('test_input_required_result_prompt', { description: 'asks before it answers' }, (context) => {
      const given = acceptedContent(context.mcpReq.inputResponses, 'user_context');
      if (given) return { messages: [user(text(`about ${given.context}: what is to be done?`))] };
      return inputRequired({
        inputRequests: { user_context: form('what is it about?', { context: { type: 'string' } }) },
      });
    });
    const words = ['tide', 'tidal', 'test', 'turn'];
    server.server.setRequestHandler('completion/complete', ({ params }) => {
      const values = words.filter((word) => word.startsWith(params.argument.value));
      return { completion: { values, total: values.length, hasMore: false } };
    });
  }
}
