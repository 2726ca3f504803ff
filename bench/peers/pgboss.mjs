// SPDX-License-Identifier: Apache-2.0
// The peer of `bench work` in Node: pg-boss, fetch of one job and complete of it, over and over.
//
//   node pgboss.mjs URL
//
// Says one line of JSON when it is ready ({"node","pgboss"} or {"error"}), then answers every line `CALLERS SECONDS` on its input
// with {"pairs_per_s"}: so many loops at once, a connection each. pg-boss is found by NODE_PATH.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');
const CALLERS_MAX = 64;

async function measure(boss, callers, seconds) {
  const queue = 'work-' + callers + '-' + Date.now();
  await boss.createQueue(queue);
  // More jobs than can be done in that time; put in before the clock runs.
  const jobs = Array.from({ length: 5000 }, (_, i) => ({ data: { title: 'item ' + i } }));
  for (let i = 0; i < 4; ++i) await boss.insert(queue, jobs);
  let done = 0;
  const until = performance.now() + seconds * 1000;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < until) {
        const [job] = await boss.fetch(queue);
        if (!job) return;
        await boss.complete(queue, job.id);
        ++done;
      }
    }),
  );
  const elapsed = (performance.now() - started) / 1000;
  await boss.deleteQueue(queue);
  return done / elapsed;
}

try {
  const module = await import(pathToFileURL(require.resolve('pg-boss')).href);
  const PgBoss = module.PgBoss ?? module.default;
  const boss = new PgBoss({ connectionString: process.argv[2], max: CALLERS_MAX, supervise: false, schedule: false });
  boss.on('error', (error) => say({ error: String(error) }));
  await boss.start();
  say({ node: process.version.slice(1), pgboss: require('pg-boss/package.json').version });
  for await (const line of createInterface({ input: process.stdin })) {
    const [callers, seconds] = line.split(' ').map(Number);
    say({ pairs_per_s: await measure(boss, callers, seconds) });
  }
  await boss.stop({ graceful: false });
} catch (error) {
  say({ error: String(error) });
}
