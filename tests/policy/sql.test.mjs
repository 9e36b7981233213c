// The sql operator: honest statements of each database pass, what acts or cannot be judged is refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { root, simulate } from './run.mjs';

const DIALECTS = ['postgres', 'mysql', 'sqlite', 'mssql'];
const lines = (name) => readFileSync(path.join(root, 'tests/policy/sql', name), 'utf8').split('\n').filter(Boolean);
const valueFor = (dialect) => (dialect === 'any' ? 'read_only' : { read_only: dialect });

/** Which of the statements a rule lets through. */
function allowed(statements, dialect) {
  const policy = { version: '1', tools: { t: { rules: [{ name: 'r', conditions: [{ path: 'args.sql', op: 'sql', value: valueFor(dialect) }] }] } } };
  const steps = statements.map((sql) => ({ call: { name: 't', arguments: { sql } } }));
  const [answer] = simulate([{ id: dialect, policy, steps }]);
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  return statements.filter((_, i) => answer.steps[i].allowed);
}
const refused = (statements, dialect) => {
  const passed = new Set(allowed(statements, dialect));
  return statements.filter((sql) => !passed.has(sql));
};

for (const dialect of ['any', ...DIALECTS]) {
  test(`honest statements pass: ${dialect}`, () => assert.deepEqual(refused(lines(`${dialect}.sql`), dialect), []));
}

test('statements with side effects are refused for their database and for an unknown one', () => {
  const rows = lines('attacks.tsv').map((line) => line.split('\t'));
  for (const dialect of ['any', ...DIALECTS]) {
    const statements = rows.filter(([of]) => of === dialect || dialect === 'any').map(([, sql]) => sql);
    assert.deepEqual(allowed(statements, dialect), [], dialect);
  }
});

test('a statement inside another one is judged', () => {
  const acts = { postgres: "nextval('s')", mysql: 'sleep(5)', sqlite: "load_extension('x')", mssql: 'dbo.f(1)', any: 'sleep(5)' };
  const holes = [
    'SELECT @', 'SELECT 1 WHERE @ IS NULL', 'SELECT a FROM t ORDER BY @', 'SELECT a FROM t GROUP BY @', 'SELECT count(*) FROM t HAVING @ = 1',
    'SELECT CASE WHEN @ = 1 THEN 2 END', 'SELECT CASE WHEN 1 = 1 THEN @ END', 'SELECT coalesce(@, 1)', 'SELECT (SELECT @)', 'SELECT * FROM (SELECT @ AS a) b',
    'SELECT a FROM t JOIN s ON @ = 1', 'WITH c AS (SELECT @ AS a) SELECT a FROM c', 'SELECT 1 UNION SELECT @', 'SELECT sum(@) OVER (ORDER BY a) FROM t',
    'SELECT sum(a) OVER (PARTITION BY @) FROM t', 'SELECT a FROM t WHERE a IN (1, @)', 'SELECT a FROM t WHERE a BETWEEN 1 AND @', 'SELECT NOT @', 'SELECT -@',
    'EXPLAIN SELECT @', 'SELECT 1 /* x */, @', 'SELECT 1 -- x\n, @', 'VALUES (@)', 'SELECT DISTINCT @ FROM t', 'SELECT cast(@ AS int)',
  ];
  for (const [dialect, call] of Object.entries(acts)) {
    const statements = holes.flatMap((hole) => [call, call.replace('(', ' ('), call.toUpperCase(), call.replace('(', '/**/(')].map((text) => hole.replace('@', text)));
    assert.deepEqual(allowed(statements, dialect), [], dialect);
    const harmless = holes.map((hole) => hole.replace('@', 'lower(a)'));
    assert.deepEqual(refused(harmless, dialect), [], dialect);
  }
});

test('portable statements that pass for any database pass for each of them', () => {
  const portable = lines('any.sql').filter((sql) => !/[`[\]#$?@:{]|::|SHOW|DESC|EXPLAIN|TABLE |TOP |pg_catalog|DISTINCT ON|FILTER|->|VALUES|x'ff'|--|\\|FETCH|end FROM|0x|"/.test(sql));
  assert.ok(portable.length > 50, `${portable.length}`);
  for (const dialect of DIALECTS) assert.deepEqual(refused(portable, dialect), [], dialect);
});

test('in a deny rule, a statement that cannot be judged is denied', () => {
  const conditions = [{ path: 'args.sql', op: 'sql', value: 'read_only' }];
  const verdict = (tool, sql) => simulate([{ id: 1, policy: { version: '1', default: 'allow', tools: { t: tool } }, steps: [{ call: { name: 't', arguments: { sql } } }] }])[0].steps[0].verdict;
  const denies = { deny_if: [{ conditions }] }, inverted = { deny_if: [{ conditions: [{ not: conditions[0] }] }] };
  for (const [sql, direct, not] of [
    ['SELECT 1', 'deny', 'allow'], ['DELETE FROM t', 'allow', 'deny'], ['SELECT f(1)', 'deny', 'deny'], ["SELECT 'a\\'", 'deny', 'deny'],
    [['SELECT 1'], 'deny', 'deny'], [5, 'deny', 'deny'],
  ]) {
    assert.equal(verdict(denies, sql), direct, `deny_if: ${sql}`);
    assert.equal(verdict(inverted, sql), not, `deny_if not: ${sql}`);
  }
});

test('a line that a command-line client would execute is refused', () => {
  const lines = [
    'SELECT 1\n/\n.shell id', 'SELECT 1\ngo\n.shell id', 'SELECT 1\n GO \n  .shell id', 'SELECT 1\r\nGo\r\n.output x', 'SELECT 1\nGO 5\nxp_cmdshell a', "SELECT 1\nGO;\nsp_rename 'a', 'b'",
    'SELECT 1\n!! id', 'SELECT 1\n:!! id', 'SELECT 1\n:r x', 'SELECT 1\n:connect x', 'SELECT 1 FROM dual\n/\nhost id', 'SELECT 1 FROM dual\n.\nhost id', 'SELECT 1\n!id',
    'SELECT 1 -- \u000bDELETE FROM t', 'SELECT 1 -- \u0085DELETE FROM t', 'SELECT 1 -- \u2028DELETE FROM t', 'SELECT 1 -- \u2029DELETE FROM t',
  ];
  const harmless = ['SELECT 1\nGO', 'SELECT 1\n/\n2', 'SELECT 1\n  / 2\n  + .5\n', 'SELECT a\nFROM t\nWHERE a\n!= 2', 'SELECT a FROM t\n\nWHERE goal = 1\nAND\ngoal < 2'];
  for (const dialect of ['any', 'mysql', 'sqlite', 'mssql']) {
    assert.deepEqual(allowed(lines, dialect), [], dialect);
    assert.deepEqual(refused(harmless.filter((sql) => !sql.includes('\n/\n')), dialect), [], dialect);
  }
});

test('an unknown dialect is named', () => {
  const [answer] = simulate([{ id: 1, policy: { version: '1', tools: { t: { rules: [{ name: 'r', conditions: [{ path: 'args.a', op: 'sql', value: { read_only: 'postgresql' } }] }] } } }, steps: [] }]);
  assert.match(answer.error.join('\n'), /unknown SQL dialect "postgresql"; known are postgres, mysql, sqlite and mssql/);
});

test('deep and long statements are judged in bounded time', () => {
  const deep = ['(', 'NOT ', '- ', 'lower(', '(SELECT ', 'a.'].flatMap((unit) => [100, 5000, 40000].map((n) => `SELECT ${unit.repeat(n)}1`));
  const chains = [' + 1', ' ISNULL', '::text', " || 'a'", ' COLLATE "C"', ' UNION SELECT 1', '[1]', '.a', ' CROSS JOIN t'].flatMap((unit) => [5000, 16000].map((n) => `SELECT * FROM t WHERE a${unit.repeat(n)}`));
  for (const dialect of ['any', ...DIALECTS]) allowed([...deep, ...chains].filter((sql) => sql.length < 300000), dialect);
  const long = `SELECT * FROM t WHERE id IN (${Array.from({ length: 5000 }, (_, i) => i).join(', ')})`;
  for (const dialect of ['any', ...DIALECTS]) assert.deepEqual(refused([long], dialect), [], dialect);
});
