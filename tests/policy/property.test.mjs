// Random policies and calls: the engine and the reference must agree on every verdict and rule. A failure prints the
// seed; SEED=n repeats it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Reference } from './reference.mjs';
import { Chance } from './chance.mjs';
import { simulate } from './run.mjs';

// The same every time, so that a failure belongs to a change; SEED=n looks elsewhere.
const SEED = Number(process.env.SEED ?? 20261116);
const ROUNDS = 1500;
const START = Date.UTC(2026, 0, 5, 10) / 1000;

class Maker extends Chance {
  scalar() {
    return this.pick([() => this.int(6), () => this.int(60) / 4, () => this.pick(['a', 'b', 'ab', '5', 'true', '', 'é', '1000000']), () => this.chance(0.5),
      () => null, () => 1000000, () => -this.int(5)])();
  }
  value(depth = 0) {
    if (depth < 3 && this.chance(0.3)) return this.chance(0.5) ? this.many(3, () => this.value(depth + 1)) : this.args(depth + 1);
    return this.scalar();
  }
  args(depth = 0) {
    const out = {};
    for (const key of ['a', 'b', 'c', 'list', 'n']) if (this.chance(0.6)) out[key] = key === 'list' && this.chance(0.7) ? this.many(3, () => this.value(2)) : this.value(depth + 1);
    return out;
  }

  path() { return this.pick(['args.a', 'args.b', 'args.c', 'args.n', 'args.a.b', 'args.list[*]', 'args.list[*].a', 'args.list[0]', 'args.list.1', 'args.list.*', 'args.b.list[*].n', 'args.list[*].list[*]']); }
  leaf() {
    const op = this.pick(['eq', 'neq', 'in', 'not_in', 'lt', 'lte', 'gt', 'gte', 'exists', 'regex', 'contains', 'starts_with', 'ends_with', 'len_lt', 'len_gte', 'type']);
    const value = {
      in: () => this.many(3, () => this.value(2)), exists: () => this.chance(0.5), regex: () => this.pick(['^a', 'b$', '[0-9]', 'a.?b', '^$']),
      starts_with: () => this.pick(['a', 'ab', ['a', 'é']]), ends_with: () => this.pick(['b', 'é']), len_lt: () => this.int(4), len_gte: () => this.int(4),
      type: () => this.pick(['string', 'number', 'integer', 'boolean', 'null', ['array', 'object']]),
      lt: () => this.int(6), lte: () => this.int(6), gt: () => this.int(6), gte: () => this.int(60) / 4,
    };
    value.not_in = value.in;
    const c = { path: this.path(), op, value: (value[op] ?? (() => this.value(2)))() };
    if (this.chance(0.15)) c.match = this.pick(['any', 'all']);
    return c;
  }
  condition(depth = 0) {
    if (depth < 3 && this.chance(0.25)) {
      const group = () => [this.condition(depth + 1), ...this.many(2, () => this.condition(depth + 1))];
      return this.pick([() => ({ any: group() }), () => ({ all: group() }), () => ({ not: this.condition(depth + 1) }), () => ({ not: group() })])();
    }
    return this.leaf();
  }

  rule(i, scope, counters) {
    const name = `r${i}`;
    return this.pick([
      () => ({ name, conditions: [this.condition(), ...this.many(2, () => this.condition())] }),
      () => ({ name, conditions: [this.condition()] }),
      () => (this.chance(0.4) ? { name, action: 'deny' } : { name, action: 'allow' }),
      () => ({ name, action: 'require_approval', conditions: [this.leaf()] }),
      () => this.counted(i, scope, counters),
      () => this.counted(i, scope, counters),
    ])();
  }
  counted(i, scope, counters) {
    const free = ['minute', 'hour', 'day'].filter((w) => !counters.has(`${scope}._rate_${w}`));
    if (free.length && this.chance(0.5)) {
      const window = this.pick(free);
      counters.add(`${scope}._rate_${window}`);
      return { name: `r${i}`, rate_limit: `${1 + this.int(4)}/${window}` };
    }
    const counter = `c${i}`;
    counters.add(`${scope}.${counter}`);
    const state = { counter, window: this.pick(['minute', 'hour', 'day']) };
    if (this.chance(0.4)) state.increment_from = 'args.n';
    else if (this.chance(0.3)) state.increment = 1 + this.int(3);
    return { name: `r${i}`, state, conditions: [{ path: `state.${scope}.${counter}`, op: this.pick(['lt', 'lte', 'lte', 'gte']), value: this.int(8) }] };
  }
  capped(i, counters) {
    return { name: `r${i}`, conditions: [{ path: `state.${this.pick([...counters])}`, op: this.pick(['lt', 'lte', 'neq']), value: 1 + this.int(4) }] };
  }

  policyA() {
    const counters = new Set();
    const policy = { version: '1', tools: {} };
    if (this.chance(0.5)) policy.default = this.pick(['allow', 'deny']);
    if (this.chance(0.3)) policy.hide = [this.pick(['t1', 't2', 'x'])];
    for (const name of ['t1', 't2', '*']) {
      if (!this.chance(0.75)) continue;
      const rules = [];
      const scope = name === '*' ? '_global' : name;
      for (let i = 0, n = this.int(5); i < n; i++) rules.push(this.rule(i, scope, counters));
      if (counters.size && this.chance(0.2)) rules.push(this.capped(rules.length, counters));
      policy.tools[name] = { rules };
    }
    return policy;
  }
  policyB() {
    const policy = { version: '1', default: this.pick(['allow', 'deny']), tools: {} };
    const limit = (counter) => ({ counter, window: this.pick(['minute', 'hour', 'day', 90]), max: 1 + this.int(4), ...(this.chance(0.3) ? { increment_from: 'args.n' } : {}) });
    const block = (more) => ({ conditions: this.many(2, () => this.condition()), ...more });
    for (const name of ['t1', 't2']) {
      if (!this.chance(0.8)) continue;
      const tool = {};
      if (this.chance(0.4)) tool.require = [{ conditions: [this.condition()] }];
      if (this.chance(0.5)) tool.deny_if = [block(this.chance(0.3) ? { on_missing: 'deny' } : {})];
      if (this.chance(0.2)) tool.approve_if = [block({})];
      if (this.chance(0.5)) tool.limits = [limit(`${name}_rate`)];
      policy.tools[name] = tool;
    }
    if (this.chance(0.3)) policy.all_tools = { limits: [limit('all')] };
    return policy;
  }

  steps() {
    let at = START;
    return Array.from({ length: 3 + this.int(8) }, () => {
      if (this.chance(0.4)) at += this.pick([1, 20, 60, 1800, 3600, 86400]);
      return { at: new Date(at * 1000).toISOString(), call: { name: this.pick(['t1', 't1', 't2', 'x']), arguments: this.args() }, upstream: this.pick(['ok', 'ok', 'ok', 'error', 'is_error']) };
    });
  }
}

test(`the engine agrees with the reference (seed ${SEED})`, () => {
  const lines = Array.from({ length: ROUNDS }, (_, i) => {
    const maker = new Maker(SEED + i);
    return { id: SEED + i, policy: maker.chance(0.65) ? maker.policyA() : maker.policyB(), steps: maker.steps() };
  });
  const seen = {};
  for (const [i, answer] of simulate(lines).entries()) {
    const { policy, steps } = lines[i];
    const story = JSON.stringify(lines[i]);
    assert.equal(answer.error, undefined, `${answer.error}\n${story}`);
    const reference = new Reference(policy);
    for (const [j, step] of steps.entries()) {
      const want = reference.decide(step.call.name, step.call.arguments, Date.parse(step.at) / 1000, step.upstream);
      const got = { verdict: answer.steps[j].verdict, rule: answer.steps[j].rule };
      seen[`${got.verdict}`] = (seen[got.verdict] ?? 0) + 1;
      assert.deepEqual(got, want, `seed ${SEED + i}, step ${j}\n${story}`);
    }
  }
  for (const verdict of ['allow', 'deny', 'approve']) assert.ok(seen[verdict] > 20, JSON.stringify(seen));
});
