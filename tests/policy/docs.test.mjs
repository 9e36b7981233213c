// Every example of docs/policy.md: policies are valid, and the calls behind them come out as written:
// [tool, verdict, arguments, {at, class, tags, …}]; with {"method": true} the first is a method.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { root, simulate } from './run.mjs';

const text = readFileSync(path.join(root, 'docs/policy.md'), 'utf8');
const blocks = [...text.matchAll(/^```(\w*)(?: title="([^"]+)")?\n([\s\S]*?)^```/gm)].map((m) => ({ kind: m[1], title: m[2], body: m[3], line: text.slice(0, m.index).split('\n').length + 1 }));

const step = ([name, , args, more = {}]) => {
  const { method, ...rest } = more;
  return method ? { method: name, params: args, ...rest } : { call: { name, arguments: args }, ...rest };
};

const examples = blocks.flatMap((block, i) => {
  if ((block.kind !== 'yaml' && block.kind !== 'json') || block.title) return [];
  const cases = blocks[i + 1]?.kind === 'jsonl' ? blocks[i + 1].body.trim().split('\n').map((line) => JSON.parse(line)) : [];
  return [{ ...block, cases }];
});

test('there is an example for every operator', () => {
  const table = readFileSync(path.join(root, 'src/policy/load_cond.c'), 'utf8');
  const ops = [...table.matchAll(/\[OP_\w+\] = \{"(\w+)"/g)].map((m) => m[1]);
  assert.ok(ops.length > 20);
  const all = examples.filter((one) => one.cases.length).map((one) => one.body).join('\n');
  for (const op of ops) assert.match(all, new RegExp(`op"?: "?${op}\\b`), op);
});

const answers = simulate(examples.map((one) => ({ id: one.line, policy_text: one.body, steps: one.cases.map(step) })));
for (const [i, example] of examples.entries()) {
  test(`docs/policy.md:${example.line}`, () => {
    assert.equal(answers[i].error, undefined, answers[i].error?.join('\n'));
    for (const [j, line] of example.cases.entries()) assert.equal(answers[i].steps[j].verdict, line[1], `${JSON.stringify(line)} → ${JSON.stringify(answers[i].steps[j])}`);
  });
}

test('simulate answers as the page shows', () => {
  const [input, output] = ['cases.jsonl', 'output'].map((title) => JSON.parse(blocks.find((block) => block.title === title).body));
  assert.deepEqual(simulate([input]), [output]);
});
