// Arguments that a server reads more loosely than they are written: coerced types, folded keys, huge numbers, texts that
// are parsed again. What cannot be judged denies where a rule denies or asks, and fails where it requires.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sanitized } from '../lib/index.mjs';
import { simulate } from './run.mjs';

const block = (kind, condition) => ({ version: '1', default: 'deny', tools: { t: { [kind]: [{ name: 'r', conditions: [condition] }] } } });
const steps = (...args) => args.map((one) => ({ call: { name: 't', arguments: one } }));

function run(policy, calls, line = {}) {
  const [answer] = simulate([{ id: 1, policy, steps: steps(...calls), ...line }]);
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  return answer.steps;
}

/** Every call is denied as ambiguous in all three positions, and names the path. */
function ambiguous(condition, calls) {
  for (const kind of ['require', 'deny_if', 'approve_if'])
    for (const [i, step] of run(block(kind, condition), calls).entries()) {
      assert.deepEqual([step.verdict, step.reason], ['deny', 'ambiguous_arguments'], `${kind} ${JSON.stringify(condition)} ${JSON.stringify(calls[i])}`);
      assert.equal(step.path, condition.path);
      assert.ok(step.detail.includes(condition.path), step.detail);
    }
}

/** The calls are judged as they stand. */
function judged(condition, hold, fail) {
  const got = (kind) => run(block(kind, condition), [...hold, ...fail]).map((step) => step.verdict);
  const want = (yes, no) => [...hold.map(() => yes), ...fail.map(() => no)];
  const story = JSON.stringify({ condition, hold, fail });
  assert.deepEqual(got('require'), want('allow', 'deny'), story);
  assert.deepEqual(got('deny_if'), want('deny', 'allow'), story);
  assert.deepEqual(got('approve_if'), want('approve', 'allow'), story);
}

test('long texts with escapes, of which only the beginning is read, are judged as short ones are', () => {
  const at = (op, value) => ({ path: 'args.a', op, value });
  const blanks = ' \n\t'.repeat(2000), prose = 'a line\n'.repeat(2000);
  ambiguous(at('exists', true), [{ a: `${blanks}null` }, { a: `null${blanks}` }]);
  judged(at('exists', true), [{ a: `${blanks}nullable` }, { a: prose }, { a: blanks }, { a: `"${prose}` }], []);
  for (const value of ['x', `x${prose}`]) {
    ambiguous(at('eq', value), [{ a: `${blanks}["x"]` }, { a: `\n{"x": "${blanks}"}` }]);
    ambiguous(at('in', [value, 'y']), [{ a: `[${blanks}"x"]` }]);
  }
  judged(at('eq', `x${prose}`), [{ a: `x${prose}` }], [{ a: `x${prose} ` }, { a: `x${prose.slice(0, -1)}` }, { a: blanks }, { a: 'x' }]);
  judged(at('in', ['y', `"${prose}`]), [{ a: `"${prose}` }, { a: 'y' }], [{ a: prose }, { a: `"${blanks}` }]);
  judged(at('type', 'string'), [{ a: prose }, { a: `"${prose}"` }], [{ a: 5 }]);
});

test('numbers that servers coerce', () => {
  const gt = { path: 'args.a', op: 'gt', value: 100 };
  judged(gt, [{ a: 101 }, { a: 1e3 }, { a: 100.5 }], [{ a: 100 }, { a: -5 }]);
  ambiguous(gt, [{ a: '5000' }, { a: '5e3' }, { a: 'inf' }, { a: '0x1388' }, { a: ' 7' }, { a: true }, { a: [5000] }, { a: { v: 1 } }, { a: null }, { a: '' }]);
});

test('booleans that servers coerce', () => {
  const force = { path: 'args.force', op: 'eq', value: true };
  judged(force, [{ force: true }, { force: 'true' }], [{ force: false }]);
  ambiguous(force, [{ force: 'yes' }, { force: 'True' }, { force: 1 }, { force: '1' }, { force: 'on' }, { force: [true] }, { force: 'x' }]);
  const off = { path: 'args.force', op: 'eq', value: false };
  ambiguous(off, [{ force: 'false' }, { force: 0 }, { force: 'off' }, { force: null }, { force: '' }]);
});

test('equality of numbers, texts and null', () => {
  const five = { path: 'args.a', op: 'eq', value: 5000 };
  judged(five, [{ a: 5000 }, { a: 5e3 }, { a: '5000' }], [{ a: 5001 }, { a: 'abc' }, { a: '5001' }, { a: null }]);
  ambiguous(five, [{ a: '5e3' }, { a: '5_000' }, { a: ' 5000' }, { a: '05000' }, { a: '５０００' }, { a: [5000] }]);
  const prod = { path: 'args.a', op: 'neq', value: 'prod' };
  judged(prod, [{ a: 'test' }, { a: 5 }, { a: true }, { a: null }, { a: { prod: 1 } }], [{ a: 'prod' }]);
  ambiguous(prod, [{ a: ['prod'] }]);
  const one = { path: 'args.a', op: 'in', value: ['1', 'x'] };
  judged(one, [{ a: '1' }, { a: 1 }], [{ a: 'y' }, { a: 2 }, { a: false }]);
  ambiguous(one, [{ a: true }]);
  judged({ path: 'args.a', op: 'not_in', value: [1, 2] }, [{ a: 3 }, { a: 'b' }], [{ a: 2 }]);
  ambiguous({ path: 'args.a', op: 'not_in', value: [1, 2] }, [{ a: '2.0' }, { a: true }]);
});

test('texts', () => {
  for (const [op, value] of [['regex', '^a'], ['starts_with', 'a'], ['ends_with', 'a'], ['glob', 'a*'], ['contains', 'a'], ['no_shell_meta', true], ['len_gte', 3], ['sql', 'read_only'], ['host', 'a.org'], ['under', '/a']])
    ambiguous({ path: 'args.a', op, value }, [{ a: 5 }, { a: true }, { a: null }]);
  // What the official Python SDK parses where it expects a list.
  ambiguous({ path: 'args.a', op: 'regex', value: 'evil' }, [{ a: '["\\u0065vil"]' }, { a: ' {"a": "evil"}' }]);
  ambiguous({ path: 'args.to[*]', op: 'ends_with', value: '@evil.com' }, [{ to: '["a@evil.com"]' }, { to: 5 }]);
  ambiguous({ path: 'args.o.force', op: 'eq', value: true }, [{ o: '{"force":true}' }, { o: [1] }, { o: 3 }]);
  ambiguous({ path: 'args.o.force', op: 'exists', value: true }, [{ o: '{"force":true}' }]);
  judged({ path: 'args.a', op: 'len_lte', value: 3 }, [{ a: '[1]' }], []);
  for (const [op, value] of [['eq', 'prod'], ['neq', 'prod'], ['in', ['prod', 'live']], ['not_in', ['prod', 5]], ['type', 'string']])
    ambiguous({ path: 'args.a', op, value }, [{ a: '["prod"]' }, { a: ' {"a": "prod"}' }]);
  judged({ path: 'args.a', op: 'eq', value: '[x]' }, [{ a: '[x]' }], [{ a: 'x' }]);
});

test('the text null is nothing to some servers', () => {
  ambiguous({ path: 'args.a', op: 'exists', value: true }, [{ a: 'null' }, { a: ' null\n' }]);
  ambiguous({ path: 'args.a', op: 'type', value: 'string' }, [{ a: 'null' }]);
  judged({ path: 'args.a', op: 'exists', value: true }, [{ a: 'nullable' }, { a: 'NULL' }, { a: '' }], [{ a: null }, {}]);
  const of = (schema) => ({ tools: [{ name: 't', inputSchema: { type: 'object', properties: { a: schema } } }] });
  const policy = block('require', { path: 'args.a', op: 'exists', value: true });
  assert.equal(run(policy, [{ a: 'null' }], of({ type: 'string' }))[0].verdict, 'allow');
  assert.equal(run(policy, [{ a: 'null' }], of({ type: ['string', 'null'] }))[0].reason, 'ambiguous_arguments');
});

test('a star is for the elements of a list, and the members of an object are not elements', () => {
  const price = { path: 'args.items.*.price', op: 'gt', value: 10 };
  judged(price, [{ items: [{ price: 11 }] }, { items: { '*': { price: 11 } } }], [{ items: [{ price: 1 }] }, { items: {} }]);
  ambiguous(price, [{ items: { a: { price: 11 } } }]);
});

test('a missing argument is judged as the default that the schema says', () => {
  const of = (properties, more) => ({ tools: [{ name: 't', inputSchema: { type: 'object', properties, ...more } }] });
  const verdict = (policy, args, line) => run(policy, [args], line)[0].verdict;
  const count = (value) => ({ type: 'integer', default: value }), over = (path) => ({ path, op: 'gt', value: 5 });
  const denies = block('deny_if', over('args.n'));
  assert.equal(verdict(denies, {}, of({ n: count(100) })), 'deny');
  assert.equal(verdict(denies, undefined, of({ n: count(100) })), 'deny');
  assert.equal(verdict(denies, {}, of({ n: count(1) })), 'allow');
  assert.equal(verdict(denies, { n: 1 }, of({ n: count(100) })), 'allow');
  assert.equal(verdict(denies, {}, of({ n: { type: ['integer', 'null'], default: null } })), 'allow');
  assert.equal(verdict(denies, {}, of({ n: { type: 'integer' } })), 'allow');
  assert.equal(verdict({ ...denies, arguments: 'loose' }, {}, of({ n: count(100) })), 'allow');
  assert.equal(verdict(block('approve_if', over('args.n')), {}, of({ n: count(100) })), 'approve');
  const small = (more) => block('require', { path: 'args.n', op: 'lte', value: 5, ...more });
  assert.equal(verdict(small({ on_missing: 'pass' }), {}, of({ n: count(100) })), 'deny');
  assert.equal(verdict(small({ on_missing: 'pass' }), {}, of({ n: count(1) })), 'allow');
  assert.equal(verdict(small(), {}, of({ n: count(1) })), 'deny'); // what is required must be sent
  assert.equal(verdict(block('deny_if', { path: 'args.f', op: 'exists', value: true }), {}, of({ f: { type: 'boolean', default: true } })), 'allow');
  // Inside objects and lists, and through references.
  const model = { $ref: '#/$defs/O' }, defs = { $defs: { O: { type: 'object', properties: { n: count(100) } } } };
  const deep = block('deny_if', over('args.o.n'));
  assert.equal(verdict(deep, { o: {} }, of({ o: model }, defs)), 'deny');
  assert.equal(verdict(deep, { o: {} }, of({ o: { anyOf: [model, { type: 'null' }], default: null } }, defs)), 'deny');
  assert.equal(verdict(deep, {}, of({ o: { anyOf: [model, { type: 'null' }], default: null } }, defs)), 'allow');
  const other = { type: 'object', properties: { n: { type: 'integer' } } };
  for (const union of [[model, other], [other, model], [other, model, { type: 'null' }]]) assert.equal(verdict(deep, { o: {} }, of({ o: { anyOf: union } }, defs)), 'deny');
  assert.equal(verdict(deep, { o: {} }, of({ o: { anyOf: [other, other] } }, defs)), 'allow');
  assert.equal(verdict(deep, {}, of({ o: { type: 'object', properties: { n: { type: 'integer' } }, default: { n: 100 } } })), 'deny');
  assert.equal(verdict(deep, {}, of({ o: { type: 'object', properties: { n: count(100) }, default: {} } })), 'deny');
  assert.equal(verdict(block('deny_if', over('args.l[*]')), {}, of({ l: { type: 'array', items: { type: 'integer' }, default: [1, 100] } })), 'deny');
  const rows = block('deny_if', over('args.l[*].n')), list = of({ l: { type: 'array', items: model } }, defs);
  assert.equal(verdict(rows, { l: [{ n: 1 }, {}] }, list), 'deny');
  assert.equal(verdict(rows, { l: [] }, list), 'allow');
});

test('a text is a text where the schema says so', () => {
  const tools = (schema) => ({ tools: [{ name: 't', inputSchema: { type: 'object', properties: { a: schema } } }] });
  const policy = block('deny_if', { path: 'args.a', op: 'regex', value: 'secret' });
  const json = { a: '{"plain": true}' };
  assert.equal(run(policy, [json], tools({ type: 'string' }))[0].verdict, 'allow');
  assert.equal(run(policy, [json], tools({ anyOf: [{ type: 'string' }, { type: 'null' }] }))[0].verdict, 'allow');
  assert.equal(run(policy, [json], tools({ anyOf: [{ type: 'string' }, { type: 'array' }] }))[0].reason, 'ambiguous_arguments');
});

test('numbers beyond 2^53 are compared exactly, and as a double would hold them', () => {
  const policy = (kind, op, value) => `{"version":"1","default":"deny","tools":{"t":{"${kind}":[{"conditions":[{"path":"args.a","op":"${op}","value":${value}}]}]}}}`;
  const verdict = (kind, op, value, number) => simulate([`{"id":1,"policy":${policy(kind, op, value)},"steps":[{"call":{"name":"t","arguments":{"a":${number}}}}]}`])[0].steps[0];
  assert.equal(verdict('require', 'eq', '9007199254740993', '9007199254740993').verdict, 'allow');
  assert.equal(verdict('require', 'eq', '9007199254740993', '9007199254740992').verdict, 'deny');
  assert.equal(verdict('deny_if', 'eq', '9007199254740993', '9007199254740992').verdict, 'allow');
  assert.equal(verdict('deny_if', 'eq', '9007199254740992', '9007199254740993').reason, 'ambiguous_arguments');
  assert.equal(verdict('require', 'lte', '9007199254740992', '9007199254740993').verdict, 'deny');
  assert.equal(verdict('require', 'not_in', '[9007199254740993]', '9007199254740993').verdict, 'deny');
  assert.equal(verdict('deny_if', 'gt', '5', '1e400').verdict, 'deny');
  assert.equal(verdict('require', 'eq', '0.1', '0.1').verdict, 'allow');
});

test('lists and objects are compared as JSON', () => {
  judged({ path: 'args.a', op: 'eq', value: ['a', 'b'] }, [{ a: ['a', 'b'] }], [{ a: ['a b'] }, { a: ['b', 'a'] }, { a: 'a b' }, { a: {} }]);
  judged({ path: 'args.a', op: 'eq', value: { x: 1, y: [null] } }, [{ a: { y: [null], x: 1.0 } }], [{ a: { x: 1 } }, { a: 'x' }]);
  judged({ path: 'args.a', op: 'in', value: [['a'], 'b'] }, [{ a: ['a'] }, { a: 'b' }], [{ a: 'a' }]);
  ambiguous({ path: 'args.a', op: 'eq', value: [5] }, [{ a: ['5'] }, { a: ['5.0'] }, { a: '[5]' }]);
});

test('keys that servers fold', () => {
  const policy = { version: '1', default: 'allow', tools: {} };
  const clash = (args, path) => {
    const [step] = run(policy, [args]);
    assert.deepEqual([step.verdict, step.reason, step.path], ['deny', 'ambiguous_arguments', path], JSON.stringify(args));
  };
  clash({ amount: 1, Amount: 2 }, 'args.Amount');
  clash({ a: [{ b: { sql: 1, ſql: 2 } }] }, 'args.a[0].b.ſql');
  clash({ ﬁle: 1, file: 2 }, 'args.file');
  clash({ 'a.b': { key: 1, Key: 1 } }, 'args["a.b"].Key');
  assert.equal(run(policy, [{ maxTokens: 1, max_tokens: 2, é: 1, e: 2 }])[0].verdict, 'allow');
  // A key that differs from the path of a rule only so.
  ambiguous({ path: 'args.amount', op: 'gt', value: 5 }, [{ Amount: 5000 }, { AMOUNT: 1 }, { ａmount: 1 }]);
});

const schema = { type: 'object', properties: { amount: { type: 'integer', maximum: 9007199254740992 }, note: { type: 'string' }, o: { type: 'object', properties: { x: { type: 'number' } } } }, required: ['amount'] };
const tools = { tools: [{ name: 't', inputSchema: schema }] };

test('arguments must satisfy the schema of a tool whose arguments are read', () => {
  const reads = block('deny_if', { path: 'args.amount', op: 'gt', value: 100 });
  const [fine, text, missing, deep, alike, more] = run(reads, [{ amount: 5 }, { amount: '5' }, { note: 'x' }, { amount: 5, o: { x: 'y' } }, { amount: 5, Note: 'x' }, { amount: 5, other: 1 }], tools);
  assert.equal(fine.verdict, 'allow');
  assert.deepEqual([text.verdict, text.reason, text.path, text.rule], ['deny', 'schema', 'args.amount', '(arguments)']);
  assert.deepEqual([missing.reason, missing.path], ['schema', 'args']);
  assert.deepEqual([deep.reason, deep.path], ['schema', 'args.o.x']);
  assert.deepEqual([alike.reason, alike.path], ['ambiguous_arguments', 'args.Note']);
  assert.equal(more.verdict, 'allow');
});

test('arguments: strict or loose', () => {
  const bad = { amount: '5', note: 5 };
  const verdict = (policy) => run(policy, [bad], tools)[0].verdict;
  const rule = { require: [{ conditions: [{ path: 'args.amount', op: 'exists', value: true }] }] };
  const of = (tool, more = {}) => ({ version: '1', default: 'deny', tools: { t: tool }, ...more });
  assert.equal(verdict(of({})), 'allow'); // no rule reads them
  assert.equal(verdict(of(rule)), 'deny');
  assert.equal(verdict(of({ ...rule, arguments: 'loose' })), 'allow');
  assert.equal(verdict(of({ arguments: 'strict' })), 'deny');
  assert.equal(verdict(of({}, { arguments: 'strict' })), 'deny');
  assert.equal(verdict(of(rule, { arguments: 'loose' })), 'allow');
  assert.equal(verdict(of({ ...rule, arguments: 'strict' }, { arguments: 'loose' })), 'deny');
  assert.equal(verdict({ version: '1', tools: { t: { arguments: 'loose', rules: [{ name: 'r', conditions: [{ path: 'args.amount', op: 'exists', value: true }] }] } } }), 'allow');
  assert.equal(verdict({ version: '1', tools: { t: { rules: [{ name: 'r', spend_limit: '$5/day' }] } } }), 'deny');
  assert.equal(verdict({ version: '1', tools: { t: { rules: [{ name: 'r', rate_limit: '5/day' }] } } }), 'allow');
  assert.equal(verdict(of({ require: [{ conditions: [{ path: 'grant.name', op: 'exists', value: false }] }] })), 'allow');
  const [answer] = simulate([{ id: 1, policy: of({ arguments: 'yes' }), steps: [] }]);
  assert.match(answer.error[0], /tools\.t: arguments must be "strict" or "loose"/);
});

test('a schema that cannot be read refuses what would be checked against it', () => {
  const odd = { tools: [{ name: 't', inputSchema: { type: 'object', $recursiveRef: '#' } }] };
  const reads = block('require', { path: 'args.amount', op: 'lt', value: 100 });
  assert.deepEqual([run(reads, [{ amount: 1 }], odd)[0].reason, run({ version: '1', default: 'allow', tools: {} }, [{ amount: 1 }], odd)[0].verdict], ['schema', 'allow']);
});

test('amounts of limits are numbers or are refused', () => {
  const limit = (more = {}) => ({ version: '1', default: 'deny', tools: { t: { limits: [{ counter: 'c', window: 'day', max: 10000, increment_from: 'args.amount', ...more }] } } });
  for (const amount of ['5000', true, null, [5], {}, ' 5', '1_000', 'inf', -1]) {
    const [step] = run(limit(), [{ amount }]);
    assert.deepEqual([step.verdict, step.reason, step.path], ['deny', 'ambiguous_arguments', 'args.amount'], JSON.stringify(amount));
  }
  const [answer] = simulate([{ id: 1, policy: limit({ numeric_strings: true }), steps: steps({ amount: '5000' }, { amount: '5e3' }, { amount: 1 }, { amount: '1_0' }) }]);
  assert.deepEqual(answer.steps.map((step) => step.verdict), ['allow', 'allow', 'deny', 'deny']);
});

test('a spend limit without a path counts the largest amount that is there', () => {
  const policy = { version: '1', tools: { t: { rules: [{ name: 'r', spend_limit: '$100/day' }] } } };
  const [answer] = simulate([{ id: 1, policy, steps: steps({ amount: 1, total: 90 }, { value: 11 }, { amount: 5, total: '1' }, {}, { Total: 1 }) }]);
  assert.deepEqual(answer.steps.map((step) => step.verdict), ['allow', 'deny', 'deny', 'deny', 'deny']);
  assert.deepEqual(answer.counters, { 't._spend_day': 90 });
});

test('one call cannot take long to judge', () => {
  const LONG_MS = 120_000; // what these would take without a ceiling is hours
  const each = (op, value) => block(['not_in', 'schema', 'under', 'sql'].includes(op) ? 'require' : 'deny_if', { path: 'args.a[*]', op, value });
  const many = (n, f) => Array.from({ length: n }, f);
  const dear = [
    [each('regex', '^(a|aa)+$'), { a: many(90000, () => `${'a'.repeat(17)}!`) }],
    [each('regex', '[a-z]+a[0-9]'), { a: ['a'.repeat(2e6)] }],
    [each('under', '/srv'), { a: many(3000, () => `/srv/${'a/'.repeat(1500)}`) }],
    [each('not_in', many(9000, (_, i) => `word${i}`)), { a: many(90000, () => 'x') }],
    [each('glob', '*aaaaaaaaaaab'), { a: many(2000, () => 'a'.repeat(3500)) }],
    [each('not_in', many(9000, (_, i) => i + 0.5)), { a: many(90000, () => 1e300) }],
    [each('sql', 'read_only'), { a: many(5000, () => `SELECT ${'a,'.repeat(200)}1`) }],
    [each('sql', { read_only: 'postgres' }), { a: many(5000, () => `SELECT ${'a,'.repeat(200)}1`) }],
    [each('schema', { uniqueItems: true }), { a: [many(20000, (_, i) => i)] }],
    [each('schema', { properties: Object.fromEntries(many(2000, (_, i) => [`p${i}`, {}])) }), { a: many(30, () => Object.fromEntries(many(3000, (_, i) => [`q${i}`, 1]))) }],
  ];
  for (const [policy, args] of dear) {
    const start = performance.now();
    const [step] = run(policy, [args]);
    const took = performance.now() - start;
    assert.deepEqual([step.verdict, step.reason], ['deny', 'fault'], JSON.stringify(policy).slice(0, 200));
    assert.ok(took < LONG_MS, `${took} ms for ${JSON.stringify(policy).slice(0, 120)}`);
  }
  // Keys that the schema does not list, one long text that many rules read, and texts that begin like secrets.
  const secret = block('deny_if', { path: 'args', op: 'contains_secret', value: true });
  const amount = { tools: [{ name: 't', inputSchema: { type: 'object', properties: { amount: { type: 'integer' } } } }] };
  for (const [policy, args, line] of [
    [block('deny_if', { path: 'args.amount', op: 'gt', value: 5 }), Object.fromEntries(many(1e5, (_, i) => [`k${i}`, 'x'])), amount],
    [{ version: '1', default: 'deny', tools: { t: { deny_if: many(100, (_, i) => ({ conditions: [{ path: 'args.s', op: 'eq', value: `x${i}` }] })) } } }, { s: 'é\n"'.repeat(1e6) }],
    [block('deny_if', { path: 'args.l', op: 'contains', value: 1e300 }), { l: many(5e5, () => 2e300) }],
    [secret, { s: '-----BEGIN PRIVATE KEY-----\n'.repeat(1e5) }],
    [secret, { s: 'ab12'.repeat(1e6) }],
    [secret, { s: ' '.repeat(4e6) }],
    [secret, { s: `${'QUJD'.repeat(19)}\n`.repeat(30000) }],
  ]) {
    const start = performance.now();
    run(policy, [args], line);
    assert.ok(performance.now() - start < LONG_MS, `${performance.now() - start} ms for ${JSON.stringify(policy).slice(0, 120)}`);
  }
  // 4 MB of paths, of lines and of words, for a preset that looks at each of them.
  const preset = { version: '1', presets: ['protect_agent_config'], tools: {} };
  for (const args of [{ a: 'a/'.repeat(2e6) }, { a: 'GI~1/%61/'.repeat(4e5) }, { a: 'a\n'.repeat(1e6) }, { command: 'a '.repeat(1e6) }, { a: many(1e5, () => 'é/x') }]) {
    const start = performance.now();
    assert.equal(run(preset, [args])[0].verdict, 'allow');
    assert.ok(performance.now() - start < LONG_MS, `${performance.now() - start} ms for ${JSON.stringify(args).slice(0, 60)}`);
  }
});

test('long but honest calls are judged', () => {
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(4000);
  judged({ path: 'args.a', op: 'regex', value: '(?i)\\bdrop\\b|\\bdelete\\b' }, [{ a: `${text} DROP it` }], [{ a: text }]);
  judged({ path: 'args.a', op: 'regex', value: '^[^@]+@example\\.com$' }, [{ a: 'x@example.com' }], [{ a: text }]);
  judged({ path: 'args.a[*]', op: 'in', value: ['a', 'b'], match: 'any' }, [{ a: [...Array(20000).fill('c'), 'a'] }], [{ a: Array(20000).fill('c') }]);
});

test('words that a server may read as 0 or 1 are not certainly different from these numbers', () => {
  const verdict = (value, x) => simulate([{ id: 1, policy: { version: '1', default: 'deny', tools: { t: { deny_if: [{ conditions: [{ path: 'args.x', op: 'eq', value }] }] } } }, steps: [{ call: { name: 't', arguments: { x } } }] }])[0].steps[0].verdict;
  for (const [value, ...words] of [[0, 'null', ' NULL ', 'none', 'false', 'off'], [1, 'true', 'Yes', 'on']]) {
    for (const word of words) assert.equal(verdict(value, word), 'deny', `${word} against ${value}`);
    for (const word of ['nullable', 'prod', 'offer', 'nothing']) assert.equal(verdict(value, word), 'allow', `${word} against ${value}`);
  }
  assert.equal(verdict(5, 'null'), 'allow');
});
