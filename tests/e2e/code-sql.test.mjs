// SQL over the files of a workspace.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cli, tempDir } from '../lib/index.mjs';
import { startCode } from '../lib/code.mjs';

const SALES = 'region,amount,zip,note\nEU,1.5,007,"a, b"\nUS,2,012,\nEU,,3,"two\nlines"\n';

async function start(t) {
  const { json, run, peer } = await startCode(t);
  const sql = (code, more) => run(code, { language: 'sql', ...more });
  const put = (filename, content) => json('write_workspace_file', { filename, content });
  const rows = async (code, more) => { const answer = await sql(code, more); assert.equal(answer.success, true, JSON.stringify(answer)); return answer.result.rows; };
  await put('sales.csv', SALES);
  return { sql, put, rows, run, json, peer };
}

test('CSV, TSV, JSON and JSON lines are tables by their name or path', async (t) => {
  const { rows, put, sql } = await start(t);
  const { result } = await sql('SELECT region, sum(amount) AS total, count(*) AS n FROM sales GROUP BY region ORDER BY 1');
  assert.deepEqual(result, { columns: ['region', 'total', 'n'], rows: [['EU', 1.5, 2], ['US', 2, 1]], row_count: 2, engine: result.engine });
  assert.match(result.engine, /^sqlite 3\./);
  assert.deepEqual(await rows("SELECT zip, typeof(amount), note FROM 'sales.csv'"), [['007', 'real', 'a, b'], ['012', 'real', ''], ['3', 'null', 'two\nlines']]);
  assert.deepEqual(await rows('SELECT count(*) FROM sales.csv'), [[3]]);
  await put('data/events.jsonl', '{"id":1,"tags":["a","b"],"ok":true}\n\n{"id":2}\n');
  await put('prices.tsv', 'id\tprice\n1\t10\n2\t20\n');
  await put('semi.csv', '\ufeffa;b;b\n1;x;y\n');
  await put('wrapped.json', '{"count":2,"rows":[{"v":1},{"v":{"w":2}}]}');
  assert.deepEqual(await rows('SELECT e.id, price, json_extract(tags, \'$[1]\'), ok FROM "data/events.jsonl" e JOIN prices USING (id)'), [[1, 10, 'b', 1], [2, 20, null, null]]);
  assert.deepEqual((await sql('SELECT * FROM semi')).result.columns, ['a', 'b', 'b_2']);
  assert.deepEqual(await rows('SELECT v FROM wrapped'), [[1], ['{"w": 2}']]);
  assert.deepEqual(await rows("SELECT count(*) FROM read_csv_auto('sales.csv')"), [[3]]);
});

test('databases of the workspace are read and written, COPY writes files, earlier tables are printed', async (t) => {
  const { rows, run, sql, json } = await start(t);
  await run('import sqlite3\nc = sqlite3.connect("shop.db")\nc.executescript("create table orders(id integer, name text); insert into orders values (1, \'a\'), (2, \'b\')")');
  assert.deepEqual(await rows('SELECT name FROM orders ORDER BY id'), [['a'], ['b']]);
  const many = await sql("INSERT INTO shop.orders VALUES (3, 'c;d');\n-- nothing; here\nSELECT count(*) AS n FROM shop.orders;\nCOPY (SELECT * FROM orders) TO 'out.json';\nCOPY sales TO 'copy.csv';\nSELECT 1 AS last");
  assert.deepEqual(many.output, ['| n |', '|---|', '| 3 |', '3 rows written to out.json', '3 rows written to copy.csv'], JSON.stringify(many));
  assert.deepEqual(many.result.rows, [[1]]);
  assert.deepEqual(many.files.sort(), ['copy.csv', 'out.json', 'shop.db']);
  assert.deepEqual(JSON.parse((await json('read_workspace_file', { filename: 'out.json' })).content).at(-1), { id: 3, name: 'c;d' });
  assert.match((await json('read_workspace_file', { filename: 'copy.csv' })).content, /^region,amount,zip,note\nEU,1.5,007,"a, b"\n/);
  assert.deepEqual(await rows("ATTACH 'new.sqlite' AS fresh; CREATE TABLE fresh.t AS SELECT 5 AS five; SELECT * FROM fresh.t"), [[5]]);
  assert.deepEqual(await rows('SELECT five + 1 FROM t'), [[6]]);
});

test('variables are parameters, sessions keep tables and see changed files', async (t) => {
  const { rows, put, run } = await start(t);
  assert.deepEqual(await rows('SELECT :region, $n + 1, @list', { context_vars: { region: "x' OR 1", n: 2, list: [1], unused: 1 } }), [["x' OR 1", 3, '[1]']]);
  const session_id = 's';
  await rows('CREATE TABLE kept AS SELECT region FROM sales; SELECT 1', { session_id });
  await put('sales.csv', 'region\nAsia\n');
  assert.deepEqual(await rows('SELECT count(*), (SELECT region FROM sales) FROM kept', { session_id }), [[3, 'Asia']]);
  assert.equal((await run('result = read_file("sales.csv")', { session_id })).result, 'region\nAsia\n');
  assert.deepEqual(await rows('```sql\nSELECT count(*) FROM kept\n```', { session_id }), [[3]]);
});

test('an unsupported statement is refused with its line and what to do', async (t) => {
  const { sql } = await start(t);
  const fails = async (code, error, traceback = /line 1/) => {
    const answer = await sql(code);
    assert.equal(answer.success, false);
    assert.match(answer.error, error);
    assert.match(answer.traceback, traceback);
    return answer;
  };
  await fails('SELECT * FROM nope', /no such table: nope: tables are files[^]*sales\.csv/);
  await fails('SELECT 1;\n\nSELEC 2', /syntax error/, /line 3: SELEC 2/);
  await fails("INSERT INTO sales VALUES (1, 2, 3, 4)", /cannot be changed: write one with COPY/);
  await fails("COPY sales TO '/etc/x.csv'", /files of the workspace/);
  await fails("COPY sales TO '../x.csv'", /files of the workspace/);
  await fails("COPY sales TO 'x.xlsx'", /\.csv, \.tsv/);
  await fails('SELECT load_extension(\'x\')', /not authorized|no such function/);
  assert.equal((await fails('SELECT 1 AS before; SELECT nope', /no such column: nope/)).output[0], '| before |');
  const endless = await sql('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c');
  assert.equal(endless.result.more, true);
  const slow = await sql('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c', { timeout_seconds: 1 });
  assert.equal(slow.exit, 'timeout');
});

test('functions of other dialects work, and what SQLite does not have names the package that does', async (t) => {
  const { sql } = await start(t);
  const rows = async (code) => (await sql(code)).result?.rows;
  assert.deepEqual(await rows("SELECT median(a), round(stddev(a), 3), string_agg(a, '-') FROM (SELECT 1 a UNION ALL SELECT 2 UNION ALL SELECT 6 UNION ALL SELECT NULL)"), [[2, 2.646, '1-2-6']]);
  assert.deepEqual(await rows("SELECT concat('a', NULL, 1), concat_ws('-', 'a', NULL, 'b'), greatest(1, NULL, 3), least(2, 1)"), [['a1', 'a-b', 3, 1]]);
  assert.deepEqual(await rows("SELECT 'abc' REGEXP '^a', regexp_matches('abc', 'z'), regexp_replace('aa', 'a', 'b'), regexp_replace('aa', '(a)', '[\\1]', 'g'), NULL REGEXP 'a'"), [[1, 0, 'ba', '[a][a]', null]]);
  for (const code of ['SELECT zip::int FROM sales', 'SELECT * EXCLUDE (zip) FROM sales', "SELECT date_trunc('month', DATE '2024-02-03')", 'SELECT * FROM generate_series(1, 3)', "SELECT CAST('2024-02-03' AS DATE)"]) {
    const answer = await sql(code);
    assert.match(answer.error ?? answer.result.engine, /DuckDB's needs the package duckdb: ask for it with `packages`|^duckdb/);
  }
  assert.deepEqual(await rows("SELECT 'CAST(x AS DATE)' AS text"), [['CAST(x AS DATE)']]);
});

test('tables and their columns can be asked for before they are known', async (t) => {
  const { sql, put, rows, run } = await start(t);
  await put('log.jsonl', '{"t":1}\n');
  await run('import sqlite3\nc = sqlite3.connect("shop.db")\nc.executescript("create table orders(id integer, name text)")');
  const listed = [['log', 'log.jsonl'], ['sales', 'sales.csv'], ['shop.orders', 'shop.db']];
  for (const code of ['SHOW TABLES;', '.tables']) assert.deepEqual(await rows(code), listed, code);
  assert.deepEqual(await rows('CREATE TABLE own(a, b); SHOW TABLES'), [...listed, ['own', '']]);
  const columns = [['region', 'TEXT'], ['amount', 'REAL'], ['zip', 'TEXT'], ['note', 'TEXT']];
  for (const code of ['DESCRIBE sales', "DESC 'sales.csv';", '.schema sales', 'SHOW COLUMNS FROM "sales"', 'SELECT name, type FROM pragma_table_info(\'sales\')']) assert.deepEqual(await rows(code), columns, code);
  for (const code of ['DESCRIBE orders', 'describe shop.orders']) assert.deepEqual(await rows(code), [['id', 'INTEGER'], ['name', 'TEXT']], code);
  assert.deepEqual((await rows('PRAGMA table_info(sales)')).map((row) => row[1]), columns.map(([name]) => name));
  assert.deepEqual(await rows('SELECT name FROM sqlite_master ORDER BY name'), [['log'], ['sales']]);
  assert.match((await sql('DESCRIBE nope')).error, /no such table: nope: tables are files[^]*sales\.csv/);
  assert.match((await sql('SELECT totl FROM sales s JOIN orders o ON 1')).error, /no such column: totl; sales has region, amount, zip, note; orders has id, name/);
});

test('COPY writes the delimiter and the header that it is told', async (t) => {
  const { sql, json } = await start(t);
  await sql("COPY (SELECT region, amount FROM sales) TO 'a.csv' (HEADER, DELIMITER ';'); COPY (SELECT region FROM sales) TO 'b.csv' (FORMAT CSV, HEADER FALSE)");
  const text = async (filename) => (await json('read_workspace_file', { filename })).content;
  assert.deepEqual([await text('a.csv'), await text('b.csv')], ['region;amount\nEU;1.5\nUS;2.0\nEU;\n', 'EU\nUS\nEU\n']);
});

test('code run prints tables as sqlite3 does', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'sales.csv'), SALES);
  const file = join(tempDir(), 'q.sql');
  writeFileSync(file, 'SELECT region, amount FROM sales LIMIT 2;\nSELECT 1/3.0 AS third, 3e20 AS much, NULL AS no\n');
  const { stdout, code } = await cli(['code', 'run', '--workspace', dir, file]);
  assert.equal(stdout, '| region | amount |\n|--------|--------|\n| EU     | 1.5    |\n| US     | 2.0    |\n'
    + '|       third       |  much   | no |\n|-------------------|---------|----|\n| 0.333333333333333 | 3.0e+20 |    |\n');
  assert.equal(code, 0);
});

test('Parquet is read where duckdb is installed, and the error explains it otherwise', async (t) => {
  const { sql } = await start(t);
  assert.match((await sql('-- duckdb\nSELECT 1')).error ?? 'there is one', /duckdb is not installed here: the operator can add|there is one/);
  const found = execFileSync('/usr/bin/env', ['python3', '-c', 'import importlib.util; print(bool(importlib.util.find_spec("duckdb")))'], { encoding: 'utf8' }).trim();
  if (found !== 'True') return t.skip('SKIPPED LOUDLY: there is no duckdb for python3 here');
  for (const [code, row] of [['SELECT 7::int AS n', [7]], ['CREATE OR REPLACE TABLE t AS SELECT 3 AS n; FROM t', [3]], ["SELECT CAST('2024-02-03' AS DATE)", ['2024-02-03']], ['SELECT 1.5', [1.5]],
    ['SELECT 1.5::decimal(3, 1) + :by', [2.5]]]) {
    const answer = await sql(code, row[0] === 2.5 ? { context_vars: { by: 1 } } : {});
    assert.deepEqual(answer.result?.rows, [row], answer.error);
  }
  assert.deepEqual((await sql("SELECT 1 AS first; SELECT 2 AS second; SELECT 3::int AS third")).output.filter((line) => /first|second/.test(line)).length, 2);
  const session_id = 'dialect';
  await sql('CREATE OR REPLACE TABLE kept AS SELECT 5 AS n', { session_id });
  assert.deepEqual((await sql('SELECT n FROM kept', { session_id })).result.rows, [[5]]);
  const { result } = await sql('-- duckdb\nSELECT * EXCLUDE (zip, note) FROM sales');
  assert.deepEqual([result.columns, result.rows.length], [['region', 'amount'], 3]);
  assert.deepEqual((await sql("COPY (SELECT 7 AS n) TO 'seven.parquet'; SELECT n FROM 'seven.parquet'")).result.rows, [[7]]);
});
