// The part of the interop matrix that every test run has: TypeScript's client with Python's server, and the opposite.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sanitized } from '../lib/index.mjs';
import { LANGUAGES, runMatrix } from './matrix.mjs';

test('through the gate nothing differs from a direct connection', { timeout: 500_000, skip: sanitized && 'other programs dominate it' }, async (t) => {
  const languages = {};
  for (const name of ['typescript', 'python']) {
    const found = await LANGUAGES[name]();
    if (found.missing) return t.skip(`SKIPPED LOUDLY: ${name}: ${found.missing}`);
    languages[name] = found;
  }
  const wrong = [];
  let cells = 0;
  await runMatrix(languages, (cell) => {
    assert.equal(cell.missing, undefined);
    cells++;
    if (cell.wrong.length) wrong.push(`${cell.driver} client, ${cell.server} server, ${cell.route}, ${cell.era}: ${cell.wrong.join('\n')}`);
  }, (driver, { language, listen }) => driver !== language && !listen);
  assert.deepEqual(wrong, []);
  assert.equal(cells, 28);
});
