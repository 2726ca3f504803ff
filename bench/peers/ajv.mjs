// SPDX-License-Identifier: Apache-2.0
// The peer of `bench check` in Node: JSON.parse and a compiled ajv schema over the same packet.
//
//   node ajv.mjs SCHEMA PACKET
//
// Says one line of JSON when it is ready ({"node","ajv"} or {"error"}), then answers every line `buffer N` or `string N` on
// its input with the CPU nanoseconds one of N repetitions took. So the benchmark can take its own rounds between these.
// ajv is found by NODE_PATH.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(import.meta.url);
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');

// The peer is measured only if it checks: it takes the packet, and refuses it without any one of its twelve members and
// with one more in any of its objects.
function distrust(validate, packet, required) {
  if (!validate(packet)) return 'ajv refuses the packet: ' + JSON.stringify(validate.errors);
  const visit = (value, path) => {
    if (value === null || typeof value !== 'object') return null;
    if (!Array.isArray(value)) {
      value.undeclared = 1;
      const taken = validate(packet);
      delete value.undeclared;
      if (taken && !path.endsWith('/data')) return 'ajv takes an undeclared member in ' + (path || 'the packet');
      if (path === '') {
        for (const key of required) {
          const { [key]: _, ...rest } = value;
          if (validate(rest)) return 'ajv takes a packet without ' + key;
        }
      }
    }
    for (const key of Object.keys(value)) {
      const why = visit(value[key], path + '/' + key);
      if (why !== null) return why;
    }
    return null;
  };
  return visit(packet, '');
}

function start() {
  const [schemaPath, packetPath] = process.argv.slice(2);
  const Ajv = require('ajv/dist/2020.js').default;
  const schema = JSON.parse(readFileSync(schemaPath, 'utf8'));
  const buffer = readFileSync(packetPath);
  const string = buffer.toString('utf8');
  // Two copies, so that the one that is measured has only ever seen objects of the packet's own shape.
  const compile = () => new Ajv({ strict: true }).compile(schema);
  const why = distrust(compile(), JSON.parse(string), schema.required);
  if (why !== null) throw new Error(why);
  const validate = compile();

  const rounds = {
    buffer: (count) => {
      let valid = 0;
      for (let i = 0; i < count; ++i) valid += validate(JSON.parse(buffer.toString('utf8'))) ? 1 : 0;
      return valid;
    },
    string: (count) => {
      let valid = 0;
      for (let i = 0; i < count; ++i) valid += validate(JSON.parse(string)) ? 1 : 0;
      return valid;
    },
  };
  for (let i = 0; i < 20; ++i) rounds.buffer(1000), rounds.string(1000); // until it is compiled and hot

  say({ node: process.versions.node, ajv: require('ajv/package.json').version });
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [name, number] = line.split(' ');
    const count = Number(number);
    const before = process.cpuUsage();
    const valid = rounds[name](count);
    const spent = process.cpuUsage(before);
    if (valid !== count) throw new Error('ajv refused the packet while it was measured');
    say({ ns: ((spent.user + spent.system) * 1000) / count });
  });
}

try {
  start();
} catch (error) {
  say({ error: String(error.message ?? error).split('\n')[0] });
}
