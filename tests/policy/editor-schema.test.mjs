// schemas/policy.schema.json, which editors use: every policy we ship fits it, known mistakes do not, and it names the
// same operators as the engine. Policies in JSON are checked as they are, YAML through the engine's own reading.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { root, simulate } from './run.mjs';

const schema = JSON.parse(readFileSync(path.join(root, 'schemas/policy.schema.json'), 'utf8'));
const check = (documents) => {
  const policy = { version: '1', tools: { t: { rules: [{ name: 'v', conditions: [{ path: 'args.x', op: 'schema', value: schema }] }] } } };
  const [answer] = simulate([{ id: 1, policy, steps: documents.map((x) => ({ call: { name: 't', arguments: { x } } })) }]);
  assert.equal(answer.error, undefined, answer.error?.join('\n'));
  return answer.steps.map((step) => step.allowed);
};

test('good documents fit', () => {
  const dir = path.join(root, 'policies');
  const good = readdirSync(dir).filter((name) => name.endsWith('.json')).map((name) => JSON.parse(readFileSync(path.join(dir, name), 'utf8')));
  const rows = readFileSync(path.join(root, 'tests/policy/intercept_behaviours.jsonl'), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  const valid = rows.filter((row) => row.kind === 'decide' || row.kind === 'load').map((row) => row.policy);
  const documents = [...good, ...valid];
  const answers = check(documents);
  for (const [i, document] of documents.entries()) assert.ok(answers[i], JSON.stringify(document));
});

test('mistakes do not', () => {
  const rule = (more) => ({ version: '1', tools: { t: { rules: [{ name: 'r', ...more }] } } });
  const bad = [{}, { version: '2' }, { version: '1', hiden: [] }, rule({ condtions: [] }), rule({ action: 'block' }), rule({ rate_limit: '5/week' }),
    ...[['in', 1], ['lt', '1'], ['exists', 'yes'], ['regex', 1], ['under', []], ['type', 'strng'], ['sql', 'x'], ['sql', { read_only: 'dbase' }], ['no_shell_meta', false], ['schema', false], ['within', 'day']]
      .map(([op, value]) => rule({ conditions: [{ path: 'args.x', op, value }] })),
    rule({ rate_limit: '0/hour' }), rule({ conditions: [{ path: 'state.t.c', op: 'lt', value: 1 }], state: { counter: 'c', window: 'week' } }),
    rule({ conditions: [{ path: 'args.x', op: 'ge', value: 1 }] }), rule({ conditions: [{ path: 'foo.x', op: 'eq', value: 1 }] }), { version: '1', flows: [{ after: ['x'], deny: ['sink'] }] }];
  for (const [i, answer] of check(bad).entries()) assert.equal(answer, false, JSON.stringify(bad[i]));
});

test('times are those of the engine', () => {
  const policyOf = (time) => ({ version: '1', tools: { t: { rules: [{ name: 'r', action: 'require_approval', approval_timeout: time }] } } });
  const times = ['30m', '1h30m', '1d2h', '90s500ms', '90', 90, '1.5h', '1h 30m', '1h30', 'h', '5w', 'never'];
  const engine = simulate(times.map((time, id) => ({ id, policy: policyOf(time), steps: [] }))).map(({ error }) => !error);
  assert.deepEqual(check(times.map(policyOf)), engine, JSON.stringify(times));
  assert.deepEqual(engine.slice(0, 3), [true, true, true]);
});

test('the operators are the engine\'s', () => {
  const table = readFileSync(path.join(root, 'src/policy/load_cond.c'), 'utf8');
  const ops = [...table.matchAll(/\[OP_\w+\] = \{"(\w+)"/g)].map((m) => m[1]).sort();
  assert.deepEqual([...schema.$defs.condition.oneOf[0].properties.op.enum].sort(), ops);
});
