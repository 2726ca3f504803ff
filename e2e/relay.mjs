// SPDX-License-Identifier: Apache-2.0
// A proxy that does nothing, or spoils one thing: with it the harness shows that it tells the two apart.
//
//   node e2e/relay.mjs PORT URL [FROM=TO]
//
// Passes bytes from PORT to the server of URL and back. With FROM=TO (of the same length) every FROM that the server
// says within one piece becomes TO.
import net from 'node:net';
import { Transform } from 'node:stream';

const [port, url, spoil] = process.argv.slice(2);
const [from, to] = spoil?.split('=') ?? [];
if (spoil && from.length !== to?.length) throw new Error(`${spoil}: both sides have to be of the same length`);

function spoiling() {
  return new Transform({
    transform(piece, _, done) {
      done(null, from ? Buffer.from(piece.toString('latin1').replaceAll(from, to), 'latin1') : piece);
    },
  });
}

const server = net.createServer((client) => {
  const upstream = net.connect(Number(new URL(url).port), '127.0.0.1');
  client.pipe(upstream);
  upstream.pipe(spoiling()).pipe(client);
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
});
server.listen(Number(port), '127.0.0.1');
