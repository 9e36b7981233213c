// What agents' code really does: each snippet prints in the sandbox what CPython, Node and tsc print (expect.mjs wrote that down).
// One that cannot is listed here with the words of the error that tells what to do.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sallyport } from '../lib/paths.mjs';
import { expectedFile, extension, languages, snippets } from './lib.mjs';

const BATCH = 16, PASSING = 0.97;
const explained = {};
const expected = JSON.parse(readFileSync(expectedFile, 'utf8'));

function runAll(files) {
  const child = spawn(sallyport, ['code', 'run', '--json', '--timeout', '60s', ...files], { env: { ...process.env, SALLYPORT_NODE: process.execPath }, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => { text += chunk; });
  return new Promise((resolve) => child.on('close', () => resolve(text.trimEnd().split('\n').map((line) => JSON.parse(line)))));
}

for (const language of languages) {
  test(`${language}: what agents' code does`, async (t) => {
    const all = snippets(language), dir = mkdtempSync(join(tmpdir(), 'snippets-'));
    t.after(() => rmSync(dir, { recursive: true }));
    assert.deepEqual(all.map((s) => s.name), Object.keys(expected[language]), 'expected.json is older than the snippets: node tests/code/expect.mjs');
    const failures = [];
    for (let at = 0; at < all.length; at += BATCH) {
      const some = all.slice(at, at + BATCH);
      const files = some.map(({ code }, i) => {
        const file = join(dir, `${at + i}.${extension[language]}`);
        writeFileSync(file, code);
        return file;
      });
      const outcomes = await runAll(files);
      some.forEach(({ name }, i) => {
        const o = outcomes[i];
        if (o?.success && JSON.stringify(o.output) === JSON.stringify(expected[language][name])) return;
        failures.push({ name, error: o?.error, output: o?.output.slice(0, 20), expected: expected[language][name].slice(0, 20) });
      });
    }
    const unexplained = failures.filter((f) => !explained[f.name]?.test(f.error ?? ''));
    assert.deepEqual(unexplained, [], JSON.stringify(unexplained, null, 1));
    assert.ok(all.length - failures.length >= PASSING * all.length, `${failures.length} of ${all.length} fail`);
  });
}
