// SPDX-License-Identifier: Apache-2.0
// Child processes in process groups of their own, so that exactly they can be ended, and ports on loopback.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const running = new Set();

// Starts a program; what it says goes to the file `log`, or its errors apart to `errors`. `exited` is its status, or
// the name of the signal that ended it.
export function start(words, { cwd, env, log, errors }) {
  const out = fs.openSync(log, 'a');
  const err = errors ? fs.openSync(errors, 'a') : out;
  const child = spawn(words[0], words.slice(1), { cwd, env, stdio: ['ignore', out, err], detached: true });
  running.add(child);
  child.exited = new Promise((resolve) => {
    child.on('error', (error) => {
      fs.writeSync(err, `${error}\n`);
      resolve(127);
    });
    child.on('exit', (code, signal) => resolve(code ?? signal));
  });
  child.on('close', () => [...new Set([out, err])].forEach((file) => fs.closeSync(file)));
  return child;
}

export function stop(child) {
  running.delete(child);
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

export function stop_all() {
  [...running].forEach(stop);
}

// The status of a program that has `seconds` to end; after that it is killed with all that it started.
export async function end_of(child, seconds) {
  const status = await within(seconds, child.exited, 'SIGKILL after ' + seconds + ' s');
  stop(child);
  return status;
}

// Runs a program to its end and gives what it said.
export async function say_of(words, { cwd, env, seconds = 60 }) {
  const child = spawn(words[0], words.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  running.add(child);
  const said = { stdout: '', stderr: '' };
  for (const name of Object.keys(said)) child[name].setEncoding('utf8').on('data', (text) => (said[name] += text));
  const closed = new Promise((resolve) => {
    child.on('error', (error) => resolve(String(error)));
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  const status = await within(seconds, closed, 'SIGKILL after ' + seconds + ' s');
  stop(child);
  return { status, ...said };
}

// `promise`, or `late` when it takes longer; an Error as `late` is thrown.
export async function within(seconds, promise, late) {
  const timer = new AbortController();
  const clock = pause(seconds * 1000, late, { signal: timer.signal }).catch(() => late);
  try {
    const value = await Promise.race([promise, clock]);
    if (value === late && late instanceof Error) throw late;
    return value;
  } finally {
    timer.abort();
  }
}

// A port that nobody listens on now. Somebody might a moment later: in a network of our own nobody does.
export function free_port() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => resolve(false));
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

// Waits until `child` listens on `port`.
export async function listening(port, child, seconds = 90) {
  const deadline = Date.now() + seconds * 1000;
  let status;
  child.exited.then((value) => (status = value));
  while (Date.now() < deadline) {
    if (status !== undefined) throw new Error(`what was to listen on port ${port} ended with ${status}`);
    if (await accepts(port)) return;
    await pause(30);
  }
  throw new Error(`nothing listens on port ${port} after ${seconds} s`);
}

// Whatever ends this process ends what it started.
process.on('exit', stop_all);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
