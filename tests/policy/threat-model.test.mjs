// docs/threat-model.md: every line of its tables names a test that shows it, and each of these is there.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { root } from './run.mjs';

const text = readFileSync(path.join(root, 'docs/threat-model.md'), 'utf8');
const fileOf = (name) => [`${name}.test.mjs`, name].map((one) => path.join(root, 'tests', one)).find((one) => existsSync(one));
// As a source file has it: quotes in the title may be escaped there.
const plain = (source) => source.replaceAll('\\\'', '\'');

test('every line of the threat model names a test', () => {
  let shown = false, lines = 0;
  for (const line of text.split('\n')) {
    if (!line.startsWith('|')) { shown = false; continue; }
    const cells = line.split('|').slice(1, -1).map((cell) => cell.trim());
    if (cells.at(-1) === 'shown by') { shown = true; continue; }
    if (!shown || /^-+$/.test(cells[0])) continue;
    const named = [...cells.at(-1).matchAll(/`([\w./-]+)`(?: "([^"]+)")?/g)];
    assert.ok(named.length, `no test: ${line}`);
    for (const [, name, title] of named) {
      const file = fileOf(name);
      assert.ok(file, `tests/${name} is not there: ${line}`);
      if (title) assert.ok(plain(readFileSync(file, 'utf8')).includes(title), `tests/${name} has no "${title}"`);
    }
    lines++;
  }
  assert.ok(lines > 35, `${lines} lines`);
});
