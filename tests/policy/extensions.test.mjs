// What the engine does beyond the two dialects, through simulate.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { simulate } from './run.mjs';

const rule = (conditions, more = {}) => ({
  version: '1',
  tools: { t: { rules: [{ name: 'r', conditions, ...more }] } },
});
const call = (args, name = 't') => ({ call: { name, ...(args === undefined ? {} : { arguments: args }) } });

/** Calls under one policy, and which of them pass. */
function verdicts(policy, steps, line = {}) {
  const [answer] = simulate([{ id: 1, policy, steps, ...line }]);
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  return answer.steps.map((step) => step.verdict);
}

function passes(policy, good, bad) {
  const got = verdicts(policy, [...good, ...bad].map((args) => call(args)));
  for (const [i, args] of [...good, ...bad].entries())
    assert.equal(got[i], i < good.length ? 'allow' : 'deny', JSON.stringify(args));
}

const leaf = (op, value, path = 'args.x') => rule([{ path, op, value }]);

test('text operators', () => {
  passes(leaf('starts_with', 'ab'), [{ x: 'abc' }], [{ x: 'xab' }, { x: 5 }, {}]);
  passes(leaf('starts_with', ['ab', 'cd']), [{ x: 'cde' }], [{ x: 'e' }]);
  passes(leaf('ends_with', '.md'), [{ x: 'a.md' }], [{ x: 'a.mdx' }]);
  passes(leaf('glob', 'src/*.c'), [{ x: 'src/a.c' }], [{ x: 'src/b/a.c' }, { x: 'src/a.h' }]);
  passes(leaf('glob', 'src/**/*.c'), [{ x: 'src/b/c/a.c' }], [{ x: 'lib/a.c' }]);
  passes(leaf('glob', '[a-c]?[!0-9]'), [{ x: 'bxy' }, { x: 'aéz' }], [{ x: 'dxy' }, { x: 'bx1' }]);
});

test('lengths and types', () => {
  passes(leaf('len_lte', 3), [{ x: 'abc' }, { x: [1, 2] }, { x: 'äöü' }, { x: {} }], [{ x: 'abcd' }, { x: 5 }, {}]);
  passes(leaf('len_gt', 1), [{ x: [1, 2] }], [{ x: 'a' }]);
  passes(leaf('len_eq', 0), [{ x: '' }], [{ x: 'a' }]);
  passes(leaf('len_lt', 2), [{ x: 'a' }], [{ x: 'ab' }]);
  passes(leaf('len_gte', 2), [{ x: 'ab' }], [{ x: 'a' }]);
  passes(leaf('type', 'integer'), [{ x: 5 }, { x: 5.0 }, { x: 1e3 }], [{ x: 5.5 }, { x: '5' }]);
  passes(leaf('type', ['string', 'null']), [{ x: 'a' }, { x: null }], [{ x: true }, { x: [] }, {}]);
});

test('under survives dots, prefixes and encodings', () => {
  passes(
    leaf('under', '/srv/data'),
    [{ x: '/srv/data' }, { x: '/srv/data/a' }, { x: '/srv//data/./b/../c' }, { x: '/srv/data/..data/x' }],
    [
      { x: '/srv/data_evil/x' }, { x: '/srv/data/../secret' }, { x: '/srv/data/../../etc/passwd' }, { x: 'data/x' },
      { x: '/srv/data/%2e%2e/x' }, { x: '/srv/data/%2E./x' }, { x: '/srv/data\\..\\x' }, { x: '~/x' },
      { x: '/srv/data/a\u0000b' }, { x: '' }, { x: 5 }, { x: '/' }, { x: '/srv/data/%252e%252e/x' },
    ].filter((args) => !JSON.stringify(args).includes('\\u0000')),
  );
  passes(leaf('under', ['/a', '/b']), [{ x: '/b/c' }], [{ x: '/c' }]);
});

test('under follows links, also those that lead nowhere yet, and goes up from where they led', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'under-'));
  const [jail, outside] = ['jail', 'outside'].map((name) => path.join(home, name));
  mkdirSync(path.join(jail, 'sub'), { recursive: true });
  mkdirSync(outside);
  const link = (name, target) => symlinkSync(target, path.join(jail, name));
  link('out', outside);
  link('in', path.join(jail, 'sub'));
  link('later', path.join(outside, 'not-there-yet'));
  link('loop', 'loop');
  link('up', '../..');
  symlinkSync(jail, path.join(home, 'alias'));
  const at = (...names) => names.map((name) => ({ x: `${home}/${name}` }));
  passes(
    leaf('under', jail),
    at('jail', 'jail/sub/a', 'jail/in/a', 'jail/new/file', 'jail/new/../file', 'jail/in/../file'),
    at('jail/out/a', 'jail/out', 'jail/later', 'jail/later/a', 'jail/loop', 'jail/up/etc', 'jail/out/../a', 'jail/in/../../a'),
  );
  passes(leaf('under', path.join(home, 'alias')), at('alias/sub/a'), at('alias/out/a'));
  rmSync(home, { recursive: true });
});

test('a rule that denies hosts applies to internal ones, too, in every notation', () => {
  const denies = (value) => ({ version: '1', default: 'deny', tools: { t: { deny_if: [{ conditions: [{ path: 'args.x', op: 'host', value }] }] } } });
  const x = (...urls) => urls.map((url) => ({ x: url }));
  passes(denies('*.corp.internal'), x('http://127.0.0.1/', 'https://a.example.com/', 'http://corp.internal.example.com/'), x('http://db.corp.internal/', 'http://DB.corp.internal.:80/', 'http://a@db.corp.internal/'));
  passes(denies('*'), [], x('http://localhost/', 'http://10.0.0.5/', 'http://[::1]/', 'https://a.example.com/', 'no URL'));
  passes(denies(['10.0.0.5', '203.0.113.9']), x('http://10.0.0.6/', 'http://[::ffff:10.0.0.6]/', 'https://a.example.com/'),
    x('http://10.0.0.5/', 'http://0x0a000005/', 'http://012.0.0.5/', 'http://[::ffff:10.0.0.5]/', 'http://[::10.0.0.5]/', 'http://[64:ff9b::a00:5]/', 'http://[2002:a00:5::1]/', 'http://[::ffff:cb00:7109]/'));
});

test('host refuses every way inside', () => {
  passes(
    leaf('host', '*'),
    [{ x: 'https://example.com/a' }, { x: 'http://8.8.8.8/' }, { x: 'HTTPS://Sub.Example.COM:8443/' }, { x: 'https://[2606:4700::1111]/' }],
    [
      'http://127.0.0.1/', 'http://2130706433/', 'http://0x7f000001/', 'http://0177.0.0.1/', 'http://127.1/',
      'http://169.254.169.254/latest/meta-data', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/',
      'http://[::ffff:7f00:1]/', 'http://[fe80::1]/', 'http://[fd00::1]/', 'http://localhost/', 'http://a.localhost/',
      'http://metadata.google.internal/', 'http://user@example.com/', 'http://example.com@127.0.0.1/',
      'http://127.0.0.1.', 'http://0/', 'http://10.1.2.3/', 'http://192.168.0.1/', 'http://172.16.5.5/', 'http://100.64.0.1/',
      'ftp://example.com/', 'file:///etc/passwd', '//example.com/', 'http:/example.com', 'http://exa mple.com/',
      'http://example.com\\@127.0.0.1/', 'http://ⓛocalhost/', 'http://127.0.0.1%2f@example.com/', 'http://256.256.256.256/',
      'http://1.2.3.4.5/', 'http://[64:ff9b::7f00:1]/', 'http://[2002:7f00:1::]/', 'http://0x7f.1/', 'javascript:alert(1)',
      'http://127.0.0.1.nip.io/', 'http://localtest.me/', 'http://kubernetes.default.svc/', 'http://metadata/',
    ].map((x) => ({ x })),
  );
  passes(leaf('host', ['api.example.com', '*.cdn.net']),
    [{ x: 'https://api.example.com/v1' }, { x: 'https://a.b.cdn.net/' }],
    [{ x: 'https://evil.com/' }, { x: 'https://cdn.net/' }, { x: 'https://api.example.com.evil.com/' }]);
  passes(leaf('host', ['localhost', '10.0.0.5']), [{ x: 'http://localhost:3000/' }, { x: 'http://10.0.0.5/' }, { x: 'http://167772165/' }],
    [{ x: 'http://127.0.0.1/' }, { x: 'http://10.0.0.6/' }]);
});

test('sql: read_only', () => {
  passes(
    leaf('sql', 'read_only'),
    [
      'SELECT 1', 'select * from users where name = \'O\'\'Brien\';', 'WITH a AS (SELECT 1) SELECT * FROM a',
      'SHOW TABLES', 'EXPLAIN SELECT 1', 'SELECT "update" FROM t', 'SELECT replace(a, \'x\', \'y\') FROM t', '(SELECT 1) UNION (SELECT 2)',
      'SELECT a -- the first\nFROM t', 'SELECT /* all */ * FROM t', 'VALUES (1, 2)', 'DESCRIBE users', 'SELECT arr[1] FROM t', 'SELECT $1::int',
      'select 1e5, .5, 0xff', 'SELECT `name` FROM `users`', 'SELECT \'; DROP TABLE x\'', 'WITH "x"(a) AS (SELECT 1) SELECT a FROM "x"', 'SELECT \'dbms_x\', "read_at" FROM t',
    ].map((x) => ({ x })),
    [
      'DROP TABLE users', 'SELECT 1; DROP TABLE users', 'DELETE FROM t', 'INSERT INTO t VALUES (1)', 'UPDATE t SET a = 1',
      'WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d', 'SELECT * INTO OUTFILE \'/tmp/x\' FROM t', 'SELECT * INTO t2 FROM t',
      '/*!50000 DROP TABLE t */', 'SELECT 1 /*! INTO OUTFILE \'x\' */', 'SELECT 1 /* a /* b */ ; DROP TABLE t --*/',
      'SELECT \'a\\\'; DROP TABLE t; -- \'', 'SELECT $$a$$', 'SELECT pg_read_file(\'/etc/passwd\')', 'SELECT lo_export(1, \'/x\')',
      'SELECT pg_sleep(10)', 'SELECT load_file(\'/etc/passwd\')', 'EXPLAIN ANALYZE DELETE FROM t', 'CALL p()', 'EXEC xp_cmdshell \'dir\'',
      'SELECT 1 EXEC xp_cmdshell \'dir\'', 'SELECT 1 DROP TABLE t', 'SELECT 1drop', 'SELECT a # b\n; DROP', 'COPY t TO \'/x\'', 'ATTACH \'x\' AS y',
      'PRAGMA writable_schema=1', 'SET ROLE admin', 'GRANT ALL ON t TO u', 'TRUNCATE t', 'ALTER TABLE t ADD c int', 'MERGE INTO t USING s',
      'SELECT * FROM t FOR UPDATE', 'REPLACE INTO t VALUES (1)', 'DO $$ BEGIN END $$', '', ';', 'SELECT 1;;SELECT 2', 'SELECT "a', 'SELECT 1 -- x\r; DROP TABLE t',
      'SELECT\u00a01', 'BEGIN', 'SELECT @a := 1', 'SELECT 1--1', 'SELECT [a\'] FROM t', 'SELECT dblink_exec(\'x\', \'DROP TABLE t\')',
      'SELECT query_to_xml(\'DELETE FROM t\', true, true, \'\')', 'SELECT `a\'b` FROM t',
      'SELECT "pg_sleep"(10)', 'SELECT "pg_catalog"."pg_read_file" (\'/etc/passwd\')', 'SELECT U&"pg\\005fsleep"(10)',
      'SELECT utl_http.request(\'http://x\') FROM dual', 'SELECT "utl_http".request(\'x\')', 'SELECT 1 DENY SELECT ON t TO u',
    ].map((x) => ({ x })),
  );
});

test('shell metacharacters and leading dashes', () => {
  passes(rule([{ path: 'args.x', op: 'no_shell_meta', value: true }, { path: 'args.x', op: 'no_leading_dash', value: true }]),
    [{ x: 'main' }, { x: 'feature/a_b-1.2' }, { x: 'a b' }, { x: 'ünï' }],
    ['main; curl x|sh', '$(id)', '`id`', 'a&&b', 'a>b', '--upload-pack=evil', '-x', 'a\nb', '*', 'a\\b', '~root', '"', '\'', 'a#b'].map((x) => ({ x })));
});

test('groups', () => {
  const any = rule([{ any: [{ path: 'args.a', op: 'eq', value: 1 }, { path: 'args.b', op: 'eq', value: 2 }] }]);
  passes(any, [{ a: 1 }, { b: 2 }, { a: 1, b: 3 }], [{}, { a: 2 }, { b: 1 }]);
  const not = rule([{ not: { path: 'args.a', op: 'eq', value: 1 } }]);
  passes(not, [{}, { a: 2 }], [{ a: 1 }]);
  const both = rule([{ not: [{ path: 'args.a', op: 'eq', value: 1 }, { path: 'args.b', op: 'eq', value: 2 }] }]);
  passes(both, [{ a: 1 }, { b: 2 }], [{ a: 1, b: 2 }]);
  const deep = rule([{ any: [{ all: [{ path: 'args.a', op: 'eq', value: 1 }, { not: { path: 'args.b', op: 'exists', value: true } }] }, { path: 'args.c', op: 'eq', value: 3 }] }]);
  passes(deep, [{ a: 1 }, { c: 3, b: 1 }], [{ a: 1, b: 1 }, {}]);
});

test('array steps', () => {
  const each = rule([{ path: 'args.items[*].price', op: 'lte', value: 10 }]);
  passes(each, [{ items: [{ price: 1 }, { price: 10 }] }], [{ items: [{ price: 1 }, { price: 11 }] }, { items: [{ price: 1 }, {}] }, { items: [] }, {}, { items: 5 }]);
  const some = rule([{ path: 'args.items[*].id', op: 'eq', value: 'a', match: 'any' }]);
  passes(some, [{ items: [{ id: 'b' }, { id: 'a' }] }, { items: [{}, { id: 'a' }] }], [{ items: [{ id: 'b' }] }, { items: [] }]);
  passes(leaf('eq', 'a', 'args.list[0]'), [{ list: ['a', 'b'] }], [{ list: ['b', 'a'] }, { list: [] }, { list: 'a' }]);
  passes(leaf('eq', 'b', 'args.list.1'), [{ list: ['a', 'b'] }, { list: { 1: 'b' } }], [{ list: ['a'] }]);
  passes(leaf('lt', 5, 'args.list.*'), [{ list: [1, 2] }], [{ list: [1, 9] }]);
  passes(leaf('eq', 1, 'args.a[*][*].b'), [{ a: [[{ b: 1 }], [{ b: 1 }, { b: 1 }]] }], [{ a: [[{ b: 1 }], [{ b: 2 }]] }]);
  passes(leaf('eq', 1, 'args.a[*].b[*]'), [{ a: [{ b: [1] }] }], [{ a: [{ b: [1] }, { b: [] }] }]); // an empty list counts as missing, at every depth
  passes(leaf('eq', 1, 'args["a.b"].c'), [{ 'a.b': { c: 1 } }], [{ a: { b: { c: 1 } } }]);
  // In what denies, one bad element is enough.
  const denied = { version: '1', default: 'allow', tools: { t: { deny_if: [{ conditions: [{ path: 'args.to[*]', op: 'ends_with', value: '@evil.com' }] }] } } };
  passes(denied, [{ to: ['a@x.com'] }, { to: [] }, {}], [{ to: ['a@x.com', 'b@evil.com'] }]);
  const notAny = rule([{ not: { path: 'args.to[*]', op: 'ends_with', value: '@evil.com' } }]);
  passes(notAny, [{ to: ['a@x.com'] }], [{ to: ['a@x.com', 'b@evil.com'] }]);
});

test('missing arguments', () => {
  const block = (more) => ({ version: '1', default: 'allow', tools: { t: { deny_if: [{ conditions: [{ path: 'args.n', op: 'gt', value: 5 }], ...more }] } } });
  passes(block({}), [{}, { n: 1 }], [{ n: 6 }]);
  passes(block({ on_missing: 'deny' }), [{ n: 1 }], [{}, { n: 6 }]);
  const pass = rule([{ path: 'args.n', op: 'lte', value: 5, on_missing: 'pass' }]);
  passes(pass, [{}, { n: 1 }], [{ n: 6 }]);
  const five = [{ path: 'args.n', op: 'lte', value: 5 }];
  passes({ version: '1', default: 'deny', tools: { t: { require: [{ conditions: five, on_missing: 'pass' }] } } }, [{}, { n: 1 }], [{ n: 6 }]);
  passes(rule(five, { on_missing: 'pass' }), [{}, { n: 1 }], [{ n: 6 }]);
  passes(rule([{ not: { path: 'args.n', op: 'gt', value: 5 } }], { on_missing: 'deny' }), [{ n: 1 }], [{}, { n: 6 }]);
  const [wrong] = simulate([{ id: 1, policy: rule(five, { on_missing: 'fail' }), steps: [] }]);
  assert.deepEqual(wrong.error, ['tools.t.rules[0]: on_missing must be "deny" or "pass", got "fail"']);
});

test('pattern limits deny instead of hanging', () => {
  const evil = { x: 'a'.repeat(40) + '!' };
  passes(leaf('regex', '^(a+)+$'), [{ x: 'aaa' }], [evil]);
  const denies = { version: '1', default: 'allow', tools: { t: { deny_if: [{ conditions: [{ path: 'args.x', op: 'regex', value: '^(a|aa)+$(?<!b)' }] }] } } };
  assert.deepEqual(verdicts(denies, [call({ x: 'a'.repeat(5000) + '!' })]), ['deny']);
  // $ is the very end, as in RE2: no newline may follow.
  passes(leaf('regex', '^a$'), [{ x: 'a' }], [{ x: 'a\n' }]);
});

test('patterns and class selectors', () => {
  const policy = {
    version: '1', default: 'deny',
    tools: { 'get_*': { rules: [] }, '@destructive': { rules: [{ name: 'no', action: 'deny', on_deny: 'destructive' }] }, delete_file: { rules: [] } },
  };
  const steps = [call({}, 'get_x'), call({}, 'put_x'), { ...call({}, 'delete_file'), class: 'Destructive' }, call({}, 'delete_file'), { ...call({}, 'get_rid'), class: 'destructive' }];
  assert.deepEqual(verdicts(policy, steps), ['allow', 'deny', 'deny', 'allow', 'deny']);
  const hide = { version: '1', hide: ['secret_*', '@financial'], tools: {} };
  const [answer] = simulate([{ id: 1, policy: hide, steps: [call({}, 'secret_a'), call({}, 'a'), { ...call({}, 'pay'), class: 'Financial' }] }]);
  assert.deepEqual(answer.steps.map((s) => s.rule), ['(hidden)', null, '(hidden)']);
});

test('all patterns that match a tool apply, however many', () => {
  const names = Array.from({ length: 254 }, (_, i) => `a${'*'.repeat(i + 1)}`);
  const policy = { version: '1', tools: Object.fromEntries([...names.map((name) => [name, { rules: [] }]), ['ab*', { rules: [{ name: 'last', action: 'deny' }] }]]) };
  assert.deepEqual(verdicts(policy, [call({}, 'abc'), call({}, 'axc')]), ['deny', 'allow']);
});

test('counters of methods', () => {
  const policy = { version: '1', tools: {}, methods: { 'resources/read': { rules: [{ name: 'two', conditions: [{ path: 'state.resources/read.c', op: 'lte', value: 2 }], state: { counter: 'c', window: 'day' } }] } } };
  const read = { method: 'resources/read', params: { uri: 'x' } };
  assert.deepEqual(verdicts(policy, [read, read, read]), ['allow', 'allow', 'deny']);
});

test('facts of the caller', () => {
  const policy = rule([{ path: 'grant.name', op: 'in', value: ['ci', 'dev'] }]);
  assert.deepEqual(verdicts(policy, [call({})], { grant: 'ci' }), ['allow']);
  assert.deepEqual(verdicts(policy, [call({})], { grant: 'prod' }), ['deny']);
  assert.deepEqual(verdicts(policy, [call({})]), ['deny']);
  const team = rule([{ path: 'identity.team', op: 'eq', value: 'billing' }, { path: 'server.name', op: 'eq', value: 's' }]);
  assert.deepEqual(verdicts(team, [call({})], { server: 's', facts: { 'identity.team': 'billing' } }), ['allow']);
  assert.deepEqual(verdicts(team, [call({})], { server: 's' }), ['deny']);
  // An unknown fact is treated as missing.
  for (const path of ['server.nmae', 'tool.', 'call.args', 'server']) assert.match(simulate([{ id: 1, policy: rule([{ path, op: 'eq', value: 1 }]), steps: [] }])[0].error.join(), /unknown fact|path must start/, path);
  // An argument cannot pose as a fact.
  assert.deepEqual(verdicts(policy, [call({ grant: { name: 'ci' } })]), ['deny']);
});

test('time windows', () => {
  const policy = rule([{ path: 'time.now', op: 'within', value: { days: ['mon-fri'], from: '09:00', to: '17:00', utc_offset: '+02:00' } }]);
  const at = (time) => ({ at: time, ...call({}) });
  // 2026-01-05 is a Monday.
  assert.deepEqual(verdicts(policy, ['2026-01-05T06:59:59Z', '2026-01-05T07:00:00Z', '2026-01-05T14:59:00Z', '2026-01-05T15:00:00Z', '2026-01-10T10:00:00Z'].map(at)),
    ['deny', 'allow', 'allow', 'deny', 'deny']);
  const night = rule([{ path: 'time.now', op: 'within', value: { days: ['fri'], from: '22:00', to: '06:00' } }]);
  assert.deepEqual(verdicts(night, ['2026-01-09T21:00:00Z', '2026-01-09T23:00:00Z', '2026-01-10T05:00:00Z', '2026-01-10T23:00:00Z'].map(at)),
    ['deny', 'allow', 'allow', 'deny']);
  const hour = rule([{ path: 'time.hour', op: 'lt', value: 12 }, { path: 'time.weekday', op: 'neq', value: 'sun' }]);
  assert.deepEqual(verdicts(hour, ['2026-01-05T11:59:00Z', '2026-01-05T12:00:00Z', '2026-01-11T10:00:00Z'].map(at)), ['allow', 'deny', 'deny']);
});

const limited = (limit) => ({ version: '1', default: 'deny', tools: { t: { limits: [{ counter: 'c', max: 2, ...limit }] } } });
const times = (...list) => list.map((time) => ({ at: `2026-01-05T10:${time}Z`, ...call({}) }));

test('windows of every kind', () => {
  assert.deepEqual(verdicts(limited({ window: 'minute' }), times('00:58', '00:59', '00:59', '01:00')), ['allow', 'allow', 'deny', 'allow']);
  assert.deepEqual(verdicts(limited({ window: 30 }), times('00:01', '00:02', '00:29', '00:30')), ['allow', 'allow', 'deny', 'allow']);
  assert.deepEqual(verdicts(limited({ window: 'minute', kind: 'sliding' }), times('00:58', '00:59', '01:00', '01:57', '02:01', '02:02', '02:03')),
    ['allow', 'allow', 'deny', 'deny', 'allow', 'allow', 'deny']);
  // A bucket of 2 that refills 60 a minute: one a second.
  assert.deepEqual(verdicts(limited({ window: 'minute', kind: 'bucket', max: 60, burst: 2 }), times('00:00', '00:00', '00:00', '00:01', '00:01', '00:10', '00:10', '00:10')),
    ['allow', 'allow', 'deny', 'allow', 'deny', 'allow', 'allow', 'deny']);
  const same = limited({ window: 'hour', kind: 'identical' });
  assert.deepEqual(verdicts(same, [call({ a: 1, b: 2 }), call({ b: 2, a: 1 }), call({ a: 1, b: 2 }), call({ a: 1, b: 3 })]), ['allow', 'allow', 'deny', 'allow']);
  // One number in another notation, and no arguments in another form, are the same call.
  const raw = ['{"a":1}', '{"a":1.0}', '{"a":10e-1}', '{"a":"1"}', '{}'].map((args) => `{"call":{"name":"t","arguments":${args}}}`);
  const [{ steps }] = simulate([`{"id":1,"policy":${JSON.stringify(same)},"steps":[${raw},{"call":{"name":"t"}},{"call":{"name":"t"}}]}`]);
  assert.deepEqual(steps.map((step) => step.verdict), ['allow', 'allow', 'deny', 'allow', 'allow', 'allow', 'deny']);
  assert.deepEqual(verdicts(limited({ window: 'minute', max: 5, increment: 2 }), times('00:00', '00:01', '00:02')), ['allow', 'allow', 'deny']);
  assert.deepEqual(verdicts(limited({ kind: 'concurrent' }), [call({}), call({}), call({})]), ['allow', 'allow', 'allow']);
});

test('retry_after says when', () => {
  const [answer] = simulate([{ id: 1, policy: limited({ window: 'minute' }), steps: times('00:10', '00:11', '00:12') }]);
  assert.equal(answer.steps[2].retry_after_ms, 48000);
});

test('amounts are exact and never negative', () => {
  const policy = { version: '1', default: 'deny', tools: { t: { limits: [{ counter: 'spend', window: 'day', max: 10, increment_from: 'args.amount' }] } } };
  const [answer] = simulate([{ id: 1, policy, steps: [0.1, 0.2, 9.7, 0.000001, 0, -5, '1', 1e30, 0.0000001].map((amount) => call({ amount })) }]);
  assert.deepEqual(answer.steps.map((s) => s.allowed), [true, true, true, false, true, false, false, false, false]);
  assert.deepEqual(answer.counters, { 'grant.spend': 10 });
  const cents = { version: '1', default: 'deny', tools: { t: { rules: [{ name: 's', spend_limit: { max: 5, window: 'day', from: 'args.cents', unit: 100 } }] } } };
  assert.deepEqual(verdicts(cents, [call({ cents: 400 }), call({ cents: 101 }), call({ cents: 100 }), call({})]), ['allow', 'deny', 'allow', 'deny']);
  for (const max of [2.01, 4.1, 1.001]) { // times a million these are no whole numbers to a processor
    const capped = rule([{ path: 'state.t.s', op: 'lte', value: max }], { state: { counter: 's', window: 'day', increment_from: 'args.amount' } });
    assert.deepEqual(verdicts(capped, [call({ amount: max }), call({ amount: 0.000001 })]), ['allow', 'deny'], `${max}`);
    capped.tools.t.rules[0].conditions[0].op = 'lt';
    assert.deepEqual(verdicts(capped, [call({ amount: max }), call({ amount: max - 0.001 })]), ['deny', 'allow'], `${max}`);
  }
  const dollars = { version: '1', tools: { t: { rules: [{ spend_limit: '$500/day' }] } } };
  assert.deepEqual(verdicts(dollars, [call({ total: 500 }), call({ value: 1 }), call({ text: 1 })]), ['allow', 'deny', 'deny']);
});

test('scopes', () => {
  const policy = (scope) => ({ version: '1', default: 'deny', tools: { a: { limits: [{ counter: 'c', window: 'day', max: 1, scope }] }, b: { limits: [{ counter: 'c', window: 'day', max: 1, scope }] } } });
  for (const scope of ['grant', 'identity', 'session', 'server', 'global']) {
    const [answer] = simulate([{ id: 1, policy: policy(scope), [scope]: 'x', steps: [call({}, 'a'), call({}, 'b')] }]);
    assert.deepEqual(answer.steps.map((s) => s.allowed), [true, false], scope); // one counter over both tools
    assert.deepEqual(answer.counters, { [`${scope}.c`]: 1 });
  }
});

test('limits are all or none', () => {
  const policy = { version: '1', default: 'deny', all_tools: { limits: [{ counter: 'all', window: 'day', max: 1 }] }, tools: { t: { limits: [{ counter: 'one', window: 'day', max: 5 }] } } };
  const [answer] = simulate([{ id: 1, policy, steps: [call({}), call({}), call({})] }]);
  assert.deepEqual(answer.steps.map((s) => s.rule), [null, 'all', 'all']);
  assert.deepEqual(answer.counters, { 'grant.all': 1, 'grant.one': 1 });
});

test('starting counters', () => {
  const policy = { version: '1', tools: { t: { rules: [{ name: 'r', rate_limit: '5/hour' }] } } };
  const [answer] = simulate([{ id: 1, policy, counters: { 't._rate_hour': 4 }, steps: times('59:59', '59:59').concat({ at: '2026-01-05T11:00:00Z', ...call({}) }) }]);
  assert.deepEqual(answer.steps.map((s) => s.allowed), [true, false, true]);
});

test('approvals', () => {
  const a = { version: '1', tools: { t: { rules: [{ name: 'big', action: 'require_approval', conditions: [{ path: 'args.amount', op: 'gt', value: 50000 }], approval_timeout: '30m' }, { name: 'no', conditions: [{ path: 'args.bad', op: 'exists', value: false }] }] } } };
  const [answer] = simulate([{ id: 1, policy: a, steps: [call({ amount: 1 }), call({ amount: 60000 }), call({ amount: 60000, bad: 1 })] }]);
  assert.deepEqual(answer.steps.map((s) => s.verdict), ['allow', 'approve', 'deny']);
  assert.equal(answer.steps[1].text, '[INTERCEPT APPROVAL REQUIRED] Rule "big" requires approval');
  assert.equal(answer.steps[1].allowed, false);
  const b = { version: '1', default: 'deny', tools: { t: { approve_if: [{ conditions: [], on_pending: 'Ask Ann.' }], limits: [{ counter: 'c', window: 'day', max: 1 }] } } };
  const [second] = simulate([{ id: 1, policy: b, steps: [call({}), call({})] }]);
  assert.deepEqual(second.steps.map((s) => s.text), ['[APPROVAL REQUIRED] Ask Ann.', '[APPROVAL REQUIRED] Ask Ann.']);
  assert.deepEqual(second.counters, { 'grant.c': 0 }); // a call that waits has not been made
});

test('flows', () => {
  const policy = { version: '1', tools: {}, flows: [{ after: ['src_untrusted', 'src_private'], deny: ['sink', 'money'] }, { after: ['src_untrusted'], approve: ['exec'] }] };
  const tagged = (name, ...tags) => ({ ...call({}, name), tags });
  const [answer] = simulate([{ id: 1, policy, steps: [tagged('send', 'sink'), tagged('issues', 'src_untrusted'), tagged('send', 'sink'), tagged('run', 'exec'), tagged('file', 'src_private'), tagged('send', 'sink'), tagged('read')] }]);
  assert.deepEqual(answer.steps.map((s) => s.verdict), ['allow', 'allow', 'allow', 'approve', 'allow', 'deny', 'allow']);
  assert.equal(answer.steps[5].rule, 'flows[0]');
});

test('flows after what results held', () => {
  const policy = { version: '1', tools: {}, flows: [
    { after: ['result.pii.EMAIL > 0', 'src_untrusted'], deny: ['sink'] }, { after: ['result.pii.SECRET>=2'], approve: ['exec'] }, { after: ['result.pii > 5'], deny: ['money'] }] };
  const step = (name, tags, pii) => ({ ...call({}, name), tags, pii });
  const run = (steps) => simulate([{ id: 1, policy, steps }])[0].steps.map((s) => s.verdict);
  assert.deepEqual(run([step('read', [], { EMAIL: 1 }), step('send', ['sink']), step('web', ['src_untrusted']), step('send', ['sink'])]), ['allow', 'allow', 'allow', 'deny']);
  assert.deepEqual(run([step('read', [], { SECRET: 1 }), step('read', [], { SECRET: 1 }), step('run', ['exec']), step('read', [], { SECRET: 2 }), step('run', ['exec'])]), ['allow', 'allow', 'allow', 'allow', 'approve'], 'counts are those of one result');
  assert.deepEqual(run([step('read', [], { EMAIL: 3, PHONE: 2 }), step('pay', ['money']), step('read', [], { EMAIL: 3, PHONE: 3 }), step('pay', ['money'])]), ['allow', 'allow', 'allow', 'deny']);
});

test('shadow mode decides and does not enforce', () => {
  const policy = {
    version: '1', tools: { t: { rules: [
      { name: 'try', mode: 'shadow', conditions: [{ path: 'args.x', op: 'eq', value: 1 }], on_deny: 'would not' },
      { name: 'few', mode: 'shadow', rate_limit: '1/day' },
      { name: 'real', conditions: [{ path: 'args.y', op: 'exists', value: false }] }] } },
  };
  const [answer] = simulate([{ id: 1, policy, steps: [call({ x: 1 }), call({ x: 2 }), call({ y: 1 })] }]);
  assert.deepEqual(answer.steps.map((s) => s.verdict), ['allow', 'allow', 'deny']);
  assert.equal(answer.steps[0].shadow, undefined);
  assert.deepEqual(answer.steps[1].shadow.map((s) => [s.rule, s.verdict]), [['try', 'deny'], ['few', 'deny']]);
  const whole = { version: '1', mode: 'shadow', default: 'deny', hide: ['h'], tools: {} };
  const [second] = simulate([{ id: 1, policy: whole, steps: [call({}, 'h'), call({}, 'x')] }]);
  assert.deepEqual(second.steps.map((s) => s.verdict), ['allow', 'allow']);
  assert.deepEqual(second.steps[0].shadow.map((s) => s.rule), ['(hidden)', '(default deny)']);
});

test('both dialects in one tool: all of it holds', () => {
  const at = (name, op, value) => ({ path: `args.${name}`, op, value });
  const t = {
    rules: [{ name: 'r', conditions: [at('a', 'lte', 5)] }], require: [{ conditions: [at('b', 'lte', 5)] }], deny_if: [{ conditions: [at('c', 'gt', 5)] }],
    approve_if: [{ conditions: [at('d', 'gt', 5)] }], limits: [{ counter: 'k', window: 'hour', max: 2 }],
  };
  for (const tools of [{ t }, { 't*': t }, { '*': t }]) {
    const [{ steps }] = simulate([{ id: 1, policy: { version: '1', tools }, steps: [{ a: 1, b: 1 }, { a: 9, b: 1 }, { a: 1, b: 9 }, { a: 1, b: 1, c: 9 }, { a: 1, b: 1, d: 9 }, { a: 1, b: 1 }, { a: 1, b: 1 }].map((args) => call(args)) }]);
    assert.deepEqual(steps.map(({ verdict, rule }) => [verdict, rule]), [
      ['allow', null], ['deny', 'r'], ['deny', 'require[0]'], ['deny', 'deny_if[0]'], ['approve', 'approve_if[0]'], ['allow', null], ['deny', 'k']], Object.keys(tools)[0]);
  }
  const problems = (entry, more = {}) => simulate([{ id: 1, policy: { version: '1', default: 'allow', tools: { t: entry }, ...more }, steps: [] }])[0].error;
  const rule = (more) => ({ rules: [{ name: 'r', ...more }] });
  assert.deepEqual(problems({}, { tools: { '*': { rules: [] } }, all_tools: { limits: [] } }), ['all_tools and tools.* mean the same: use one of them']);
  assert.deepEqual(problems(rule({ action: 'allow', approvers: ['ann'] })), ['tools.t.rules[0]: approvers needs action "require_approval"']);
  assert.deepEqual(problems(rule({ action: 'deny', approval_timeout: '5m' })), ['tools.t.rules[0]: approval_timeout needs action "require_approval"']);
  assert.deepEqual(problems({}, { version: null }), ['version must be "1", got ""']);
  for (const policy_text of ['', ' \n', '# later\n---\n  # more']) assert.deepEqual(simulate([{ id: 1, policy_text, steps: [] }])[0].error, ['version must be "1", got ""']);
  for (const line of [{}, { policy: { version: '1', tools: {} }, policy_text: 'version: "1"' }]) assert.deepEqual(simulate([{ id: 1, ...line, steps: [] }])[0].error, ['a line needs one of policy and policy_text']);
  assert.deepEqual(problems(rule({ action: 'require_approval', timeout: '5m' })), ['tools.t.rules[0]: unknown key "timeout"']);
  assert.deepEqual(problems({ approve_if: [{ conditions: [], approval_timeout: '5m' }] }), ['tools.t.approve_if[0]: unknown key "approval_timeout"']);
  assert.deepEqual(problems(rule({ conditions: [at('a', 'lte', 5)], scope: 'grant' })), ['tools.t.rules[0]: scope needs a rate_limit, a spend_limit or a state']);
  assert.deepEqual(problems({ rules: [{ name: 'a', spend_limit: '$9/day' }, { name: 'b', spend_limit: { max: 5, window: 'day', from: 'args.fee' } }] }), ['tools.t.rules[1]: duplicate state counter "_spend_day" (also used by rule "a")']);
});

test('a counter that two limits name counts a call once, and the strictest holds', () => {
  const k = (max, window = 'hour') => ({ counter: 'k', window, max });
  const times = (policy) => verdicts({ version: '1', ...policy }, [call(), call(), call(), call()]).filter((verdict) => verdict === 'allow').length;
  assert.equal(times({ default: 'deny', all_tools: { limits: [k(2)] }, tools: { t: { limits: [k(2)] } } }), 2);
  assert.equal(times({ default: 'deny', tools: { t: { limits: [k(3), k(3)] } } }), 3);
  assert.equal(times({ tools: { t: { rules: [{ name: 'a', limits: [k(3)] }, { name: 'b', limits: [k(2)] }] } } }), 2);
  assert.equal(times({ tools: { t: { rules: [{ name: 'a', limits: [{ window: 'hour', max: 3 }] }, { name: 'b', limits: [{ window: 'hour', max: 9 }] }] } } }), 3, 'without names each has its own');
  assert.equal(times({ tools: { t: { rules: [{ name: 'a', mode: 'shadow', limits: [k(1)] }] } } }), 4, 'a rule that only watches, watches with all it has');
});

test('methods in both directions', () => {
  const policy = {
    version: '1', default: 'deny', tools: {},
    methods: {
      'resources/read': { rules: [{ name: 'only docs', conditions: [{ path: 'params.uri', op: 'starts_with', value: 'docs://' }] }] },
      'prompts/*': 'deny', 'elicitation/create': { rules: [{ name: 'no secrets', conditions: [{ not: { path: 'params.requestedSchema.properties.password', op: 'exists', value: true } }] }] },
    },
  };
  const message = (method, params, direction) => ({ method, params, direction });
  assert.deepEqual(
    verdicts(policy, [
      message('resources/read', { uri: 'docs://a' }), message('resources/read', { uri: 'file:///etc/passwd' }), message('prompts/get', { name: 'x' }),
      message('ping', {}), message('sampling/createMessage', {}, 'to_client'), message('elicitation/create', { requestedSchema: { properties: { password: {} } } }, 'to_client'),
      message('roots/list', {}, 'to_client'), message('completion/complete', {}),
    ]),
    ['allow', 'deny', 'deny', 'allow', 'deny', 'deny', 'allow', 'allow']);
  const open = { version: '1', tools: {}, methods: { 'sampling/createMessage': 'allow' } };
  assert.deepEqual(verdicts(open, [message('sampling/createMessage', {}, 'to_client')]), ['allow']);
  const capped = { version: '1', tools: {}, methods: { 'sampling/createMessage': { rules: [{ name: 'few tokens', conditions: [{ path: 'params.maxTokens', op: 'lte', value: 100 }] }, { name: 'rate', rate_limit: '1/hour' }] } } };
  const ask = (maxTokens) => message('sampling/createMessage', { maxTokens }, 'to_client');
  assert.deepEqual(verdicts(capped, [ask(500), ask(50), ask(50)]), ['deny', 'allow', 'deny']);
});

test('schemas', () => {
  const tools = [{ name: 't', inputSchema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false } }];
  const whole = { version: '1', tools: { t: { rules: [{ name: 'v', validate: { schema: true } }] } } };
  assert.deepEqual(verdicts(whole, [call({ a: 'x' }), call({ a: 1 }), call({ a: 'x', note: 'AKIA' }), call({}), call(undefined)], { tools }), ['allow', 'deny', 'deny', 'deny', 'deny']);
  const required = { version: '1', tools: { t: { rules: [{ name: 'v', action: 'allow', validate: { required_args: true } }] } } };
  const [answer] = simulate([{ id: 1, policy: required, tools, steps: [call({ a: 1 }), call({ a: null }), call({})] }]);
  assert.deepEqual(answer.steps.map((s) => s.allowed), [true, false, false]);
  assert.equal(answer.steps[1].text, '[INTERCEPT POLICY DENIED] Missing required argument "a"');
  passes(leaf('schema', { type: 'array', items: { type: 'integer' }, maxItems: 2 }), [{ x: [1, 2] }], [{ x: [1, 'a'] }, { x: [1, 2, 3] }, {}]);
});

test('tool names with invisible or ambiguous characters are denied', () => {
  const policy = { version: '1', tools: {} };
  assert.deepEqual(verdicts(policy, ['rm\u200b_file', 'rm_file', '*', '', 'a\u202eb', 'ｒm'].map((name) => call({}, name))), ['deny', 'allow', 'deny', 'deny', 'deny', 'deny']);
});

test('a tool name that differs from one of the policy only in case, blanks or Unicode form is denied', () => {
  const names = (policy, list) => verdicts(policy, list.map((name) => call({}, name)));
  const spellings = ['Delete_File', 'DELETE_FILE', 'delete_file ', ' delete_file', 'delete_\ufb01le', 'dele\u017fe_file'];
  const denies = { version: '1', default: 'allow', tools: { delete_file: { action: 'deny' } } };
  assert.deepEqual(names(denies, [...spellings, 'delete_files', 'delete-file', 'move_file']), ['deny', 'deny', 'deny', 'deny', 'deny', 'allow', 'allow', 'allow', 'allow']);
  assert.deepEqual(names({ version: '1', default: 'allow', hide: ['delete_file', 'admin_*'], tools: {} }, ['Delete_File', 'ADMIN_x', 'move']), ['deny', 'deny', 'allow']);
  // The policy's own spelling may have capital letters, and two spellings may both be named.
  assert.deepEqual(names({ version: '1', default: 'allow', tools: { deleteFile: { action: 'deny' } } }, ['deletefile', 'DeleteFile', 'deleteFiles']), ['deny', 'deny', 'allow']);
  assert.deepEqual(names({ version: '1', default: 'allow', tools: { Search: {}, search: { action: 'deny' } } }, ['Search', 'search', 'SEARCH']), ['allow', 'deny', 'deny']);
  assert.deepEqual(names({ version: '1', default: 'deny', match: 'glob', tools: { 'read*': {}, 'Read*': {} } }, ['read_file', 'Read_file', 'READ_file']), ['allow', 'allow', 'deny']);
  // A pattern that allows is no way around a rule for the exact name, nor is a pattern avoided by capital letters.
  const both = { version: '1', default: 'deny', match: 'glob', tools: { '*_file': {}, delete_file: { action: 'deny' } } };
  assert.deepEqual(names(both, ['read_file', 'Read_file', 'Delete_file', 'delete_FILE']), ['allow', 'allow', 'deny', 'deny']);
  assert.deepEqual(names({ version: '1', default: 'allow', match: 'glob', tools: { 'delete_*': { action: 'deny' } } }, ['Delete_x', 'DELETE_X', 'deleted']), ['deny', 'deny', 'allow']);
  const [answer] = simulate([{ id: 1, policy: denies, steps: [call({}, 'Delete_File')] }]);
  assert.deepEqual([answer.steps[0].reason, answer.steps[0].rule], ['ambiguous_arguments', '(tool name)']);
  assert.match(answer.steps[0].text, /"delete_file"/);
});

test('arguments that are not an object are denied', () => {
  const policy = { version: '1', tools: { t: { rules: [{ name: 'no', action: 'deny' }] } } };
  assert.deepEqual(verdicts(policy, [call([1]), call('x'), call(5)]), ['deny', 'deny', 'deny']);
});

test('refunds after an error', () => {
  const failing = (n, upstream = 'error') => Array.from({ length: n }, () => ({ call: { name: 't', arguments: { amount: 1 } }, upstream }));
  const passed = (policy, steps) => { const [answer] = simulate([{ id: 1, policy, steps }]); assert.equal(answer.error, undefined, `${answer.error}`); return answer.steps.filter((step) => step.allowed).length; };
  const a = (more) => ({ version: '1', tools: { t: { rules: [{ name: 'r', ...more }] } } });
  const b = (more) => ({ version: '1', default: 'deny', tools: { t: { limits: [{ counter: 'c', window: 'day', max: 3, ...more }] } } });
  const invalid = { error: { code: -32602, message: 'x' } };
  assert.equal(passed(a({ rate_limit: '3/day' }), failing(20)), 6); // its maximum once more, and no more
  assert.equal(passed(a({ rate_limit: { max: 3, window: 'day', refund: 'never' } }), failing(20, invalid)), 3);
  assert.equal(passed(a({ rate_limit: '3/day', refund: 'proven' }), failing(20)), 3);
  assert.equal(passed(a({ rate_limit: '3/day', refund: 'proven' }), failing(20, invalid)), 20);
  assert.equal(passed(a({ spend_limit: '$3/day' }), failing(20)), 3);
  assert.equal(passed(b({}), failing(20)), 3);
  assert.equal(passed(b({}), failing(20, invalid)), 20);
  assert.equal(passed(b({ refund: 'errors' }), failing(20)), 6);
  const [wrong, idle] = simulate([{ id: 1, policy: b({ refund: 'always' }), steps: [] }, { id: 2, policy: a({ action: 'deny', refund: 'never' }), steps: [] }]);
  assert.match(wrong.error[0], /refund must be "never", "proven", or "errors", got "always"/);
  assert.match(idle.error[0], /refund needs a rate_limit, a spend_limit or a state/);
});

test('configuration files of agents, editors, shells and the system are protected in every spelling', () => {
  const policy = { version: '1', presets: ['protect_agent_config'], tools: {} };
  const names = ['/a/GEMINI.md', '.windsurfrules', 'x/.clinerules', '/etc/systemd/system/x.service', '~/.config/systemd/user/x.timer', '~/.config/autostart/x.desktop',
    '/etc/cron.d/x', '/var/spool/cron/crontabs/root', 'a/.github/workflows/x.yml', 'a/.github//./workflows/x.yml', 'file:///home/a/.bashrc?x=1', '.bashrc ', 'mcp.json.', 'mcp.json::$DATA',
    `${'./'.repeat(4000)}.bashrc`, 'x\n/../.bashrc', 'a/.SSH/config', '/Library/LaunchAgents/x.plist'];
  for (const x of names) assert.deepEqual(verdicts(policy, [call({ x }), call({ deep: [{ [x]: 1 }] })]), ['deny', 'deny'], x);
  const fine = ['/a/notes.md', 'a.git', 'workflows/x.yml', '.github/dependabot.yml', 'my.bashrc', 'see .bashrc and .ssh', 'https://github.com/a/b.git', `${'text\n'.repeat(5000)}`];
  for (const x of fine) assert.deepEqual(verdicts(policy, [call({ x })]), ['allow'], x);
  // A text that a server may parse, and parts of a path that it joins.
  assert.deepEqual(verdicts(policy, [call({ x: '["/a/.bashrc"]' }), call({ x: ['.github', 'workflows', 'a.yml'] }), call({ dir: '/a/.github', file: 'workflows/a.yml' }), call({ dir: '/a/.github', file: 'x/workflows' })]), ['deny', 'deny', 'deny', 'allow']);
  const tools = [{ name: 't', inputSchema: { type: 'object', properties: { x: { type: 'string' } } } }];
  assert.equal(simulate([{ id: 1, policy, tools, steps: [call({ x: '{"files": [".npmrc"]}' })] }])[0].steps[0].verdict, 'allow');
  assert.deepEqual(verdicts(policy, [{ ...call({ x: 'echo y>>"$HOME"/.zshrc; ls' }), class: 'Execute' }, { ...call({ x: 'crontab -r' }), class: 'Execute' }]), ['deny', 'deny']);
});
