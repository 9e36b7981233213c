// The ready-made policies: valid, clean under the linter, and their cases come out as they say. A step's `expect` is
// its verdict.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { data, root, run, simulate } from './run.mjs';

const dir = path.join(root, 'policies');
const files = readdirSync(dir).filter((name) => /\.(yaml|json)$/.test(name));
const jsonl = (file) => readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));

const PROMISE = /on_deny"?: *"[^"]*approv/i; // a rule that denies must not say that a person decides

test('there are at least twenty', () => assert.ok(files.length >= 20, `${files.length}`));

for (const file of files) {
  const name = file.replace(/\.\w+$/, '');
  test(`policies/${file}`, async (t) => {
    const valid = run('validate', '-c', path.join(dir, file), '--lint', '--json');
    const { problems } = JSON.parse(valid.stdout);
    assert.equal(valid.status, 0, valid.stdout);
    assert.deepEqual(problems, []);
    const text = readFileSync(path.join(dir, file), 'utf8');
    assert.doesNotMatch(text, PROMISE, 'a denial does not ask anybody');
    const cases = jsonl(path.join(dir, 'cases', `${name}.jsonl`));
    const lines = cases.map((one) => ({ ...one, policy_text: text, steps: one.steps.map(({ expect, ...step }) => step) }));
    for (const [i, answer] of simulate(lines).entries()) {
      await t.test(String(cases[i].id), () => {
        assert.equal(answer.error, undefined);
        for (const [j, step] of cases[i].steps.entries())
          assert.equal(answer.steps[j].verdict, step.expect, `${JSON.stringify(step).slice(0, 300)}\n${JSON.stringify(answer.steps[j])}`);
      });
    }
    const list = path.join(data, 'toollists', `${cases[0].package.replace(/^@/, '').replace('/', '__')}.json`);
    if (!existsSync(list)) return console.error(`NOT CHECKED: the tool names of ${file}; ${list} is not there`);
    const real = new Set(JSON.parse(readFileSync(list, 'utf8')).tools.map((tool) => tool.name));
    const named = new Set([...text.matchAll(/^ {2}(?:"([\w-]+)"|([\w-]+)): *(?:\{|$)/gm)].map((m) => m[1] ?? m[2]));
    for (const tool of named) if (!['tools', 'all_tools', 'flows'].includes(tool)) assert.ok(real.has(tool), `${tool} is no tool of ${cases[0].package}`);
  });
}
