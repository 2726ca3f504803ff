// SPDX-License-Identifier: Apache-2.0
// Files of a run, with the folders they need.
import fs from 'node:fs';
import path from 'node:path';

export function write_text(file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

export function write_json(file, value) {
  write_text(file, `${JSON.stringify(value, null, 1)}\n`);
}

export function read_json(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}
