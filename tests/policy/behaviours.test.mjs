// Intercept's behaviours, restated as data, through simulate and validate. Where a row describes a defect, what we
// do instead stands in OURS below; where a row cannot be had from outside, it stands in SKIPPED with the reason.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { dataOrSkip, root, run, simulate } from './run.mjs';

const rows = readFileSync(path.join(root, 'tests/policy/intercept_behaviours.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));

// Their policies name counters without a state block, which validation refuses; Intercept's unit tests reach the
// engine behind its back. tests/unit/policy/test_decide.c has the same cases at the engine.
const SKIPPED = new Set(['state.no_store_autopass', 'state.fixed.within', 'state.exists.no']);

const OURS = {
  'src.eq.string_number_million': { steps: [{ allowed: true }] },
  'src.path.array_index': { steps: [{ allowed: true }] },
  'src.counter_without_limit_never_counts': { counters: { 'x.c': 3 } },
  'src.cross_rule_counter': {
    steps: [{ allowed: true }, { allowed: false, rule: 'cap' }, { allowed: false, rule: 'cap' }],
    counters: { 'x.c': 1 },
  },
  'src.negative_increment': {
    steps: [{ allowed: true }, { allowed: false }, { allowed: false }, { allowed: false }],
    counters: { 'transfer_funds.daily_spend': 1000 },
  },
  'src.tool_named_star': { steps: [{ allowed: false }], counters: {} },
};

const line = (row, steps) => ({
  id: row.id,
  ...(row.text ? { policy_text: row.text } : { policy: row.policy }),
  steps: steps.map(({ expect, ...step }) => step),
});

test('decisions', async (t) => {
  const chosen = rows.filter((row) => row.kind.startsWith('decide') && !SKIPPED.has(row.id));
  assert.ok(chosen.length > 70, `only ${chosen.length} rows`);
  const answers = simulate(chosen.map((row) => line(row, row.steps)));
  for (const [i, row] of chosen.entries()) {
    await t.test(row.id, () => {
      const answer = answers[i];
      const ours = OURS[row.id];
      assert.equal(answer.error, undefined);
      const want = ours?.steps ?? row.steps.map((step) => step.expect);
      for (const [j, expect] of want.entries())
        for (const key of Object.keys(expect ?? {})) assert.deepEqual(answer.steps[j][key], expect[key], `step ${j} ${key}`);
      const counters = ours ? ours.counters : row.counters;
      if (counters) assert.deepEqual(answer.counters, counters);
    });
  }
});

test('policies whose state conditions have no state block are refused', () => {
  const chosen = rows.filter((row) => SKIPPED.has(row.id));
  assert.equal(chosen.length, SKIPPED.size);
  for (const answer of simulate(chosen.map((row) => line(row, row.steps))))
    assert.match(answer.error[0], /condition references state\.\S+ but no matching state block found/);
});

const matches = (want, got) =>
  want.includes('<engine text>') ? got.startsWith(want.split('<engine text>')[0]) : want === got;

function expectErrors(row, errors) {
  if (row.expect_errors) {
    assert.equal(errors.length, row.expect_errors.length, errors.join('\n'));
    for (const [i, want] of row.expect_errors.entries()) assert.ok(matches(want, errors[i]), `${want}\n${errors[i]}`);
  }
  for (const part of row.expect_contains ?? [])
    assert.ok(errors.some((text) => text.includes(part)), `${part} not in\n${errors.join('\n')}`);
}

test('validation', async (t) => {
  const chosen = rows.filter((row) => row.kind === 'validate' || row.kind === 'load');
  const answers = simulate(chosen.map((row) => line(row, [])));
  const dir = mkdtempSync(path.join(os.tmpdir(), 'policy-'));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const [i, row] of chosen.entries()) {
    await t.test(row.id, () => {
      const errors = answers[i].error ?? [];
      if (row.id === 'src.action_allow') return assert.deepEqual(errors, []); // ours: an extension
      if (row.kind === 'load') return assert.deepEqual(errors, []);
      expectErrors(row, errors);
      const file = path.join(dir, `${i}.json`);
      writeFileSync(file, JSON.stringify(row.policy));
      const { status, stdout } = run('validate', '-c', file);
      assert.equal(status, errors.length ? 1 : 0);
      assert.equal(stdout, errors.length ? errors.map((text) => `Error: ${text}\n`).join('') : 'Policy file is valid.\n');
    });
  }
});

test('loading', async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'policy-'));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const row of rows.filter((one) => one.kind === 'load_text')) {
    await t.test(row.id, () => {
      const file = path.join(dir, row.path ?? `${row.id}.yaml`);
      if (row.text) writeFileSync(file, row.text);
      const { status, stdout } = run('validate', '-c', file);
      if (row.expect_error) assert.ok(stdout.startsWith(`Error: ${row.expect_error}`), stdout);
      else if (row.quirk) assert.match(stdout, /^Error: /); // ours: what would be ignored is an error
      else assert.equal(stdout, 'Policy file is valid.\n');
      assert.equal(status, row.expect_error || row.quirk ? 1 : 0);
    });
  }
});

test('rate limits as text', () => {
  const chosen = rows.filter((row) => row.kind === 'parse_rate_limit');
  const policy = (text) => ({ version: '1', tools: { t: { rules: [{ name: 'r', rate_limit: text }] } } });
  const answers = simulate(chosen.map((row) => ({ id: row.id, policy: policy(row.input), steps: [{ call: { name: 't' } }] })));
  for (const [i, row] of chosen.entries()) {
    if (row.expect) assert.deepEqual(answers[i].counters, { [`t._rate_${row.expect.window}`]: 1 }, row.id);
    else assert.ok(answers[i].error, row.id);
  }
});

test('reservations and hidden sets', () => {
  const reserve = rows.find((row) => row.kind === 'reserve_args');
  const [answer] = simulate([{ id: 1, policy: reserve.policy, steps: [{ call: reserve.call }] }]);
  assert.deepEqual(answer.counters, { [reserve.expect[0].key]: reserve.expect[0].amount });
  for (const row of rows.filter((one) => one.kind === 'hidden_set')) {
    const names = ['tool_a', 'tool_b', 'tool_c'];
    const [hidden] = simulate([{ id: 1, policy: row.policy, steps: names.map((name) => ({ call: { name } })) }]);
    assert.deepEqual(names.filter((_, i) => !hidden.steps[i].allowed), row.expect);
  }
});

test('the policies that Intercept publishes are valid', (t) => {
  const dir = dataOrSkip(t, 'policy/intercept_policies');
  if (!dir) return;
  const files = readdirSync(dir).filter((name) => name.endsWith('.yaml'));
  assert.equal(files.length, 53);
  const answers = simulate(files.map((name) => ({ id: name, policy_text: readFileSync(path.join(dir, name), 'utf8'), steps: [] })));
  for (const answer of answers) assert.equal(answer.error, undefined, `${answer.id}: ${answer.error}`);
});
