// sql: read_only against a real PostgreSQL in a database that would notice: whatever the gate lets through is run there, as the owner of
// everything, and must have assigned no transaction id, taken no lock, changed no setting, moved no sequence.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { tempDir } from '../lib/index.mjs';
import { startPostgres, postgresPrograms } from '../lib/postgres.mjs';
import { root, simulate } from '../policy/run.mjs';

const table = (name) => readFileSync(join(root, 'tests/policy/sql', name), 'utf8').split('\n').filter(Boolean);
const ATTACKS = table('attacks.tsv').map((line) => line.split('\t'));

/** The statements that one of the rules lets through. */
function letThrough(statements, rules = ['read_only', { read_only: 'postgres' }]) {
  const passed = new Set();
  for (const value of rules) {
    const policy = { version: '1', tools: { t: { rules: [{ name: 'r', conditions: [{ path: 'args.sql', op: 'sql', value }] }] } } };
    const [answer] = simulate([{ id: 1, policy, steps: statements.map((sql) => ({ call: { name: 't', arguments: { sql } } })) }]);
    statements.forEach((sql, i) => answer.steps[i].allowed && passed.add(sql));
  }
  return [...passed];
}

const SCHEMA = `
  CREATE TABLE t (a int, b text, c int[]); INSERT INTO t VALUES (1, 'x', '{1}');
  CREATE TABLE users (id int, name text, email text, tags text[], data jsonb); INSERT INTO users VALUES (1, 'n', 'e', '{a}', '{}');
  CREATE SEQUENCE s; CREATE SCHEMA app; CREATE FUNCTION app.lower(text) RETURNS text LANGUAGE sql AS 'SELECT nextval(''s'')::text';
  CREATE FUNCTION wipe(text) RETURNS text LANGUAGE sql AS 'INSERT INTO t VALUES (9) RETURNING b'; CREATE FUNCTION wipe(int) RETURNS text LANGUAGE sql AS 'SELECT wipe($1::text)';
  CREATE FUNCTION my_write() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (9) RETURNING 1';
  CREATE EXTENSION IF NOT EXISTS dblink; CREATE EXTENSION IF NOT EXISTS xml2; CREATE EXTENSION IF NOT EXISTS tablefunc;
  CREATE EXTENSION IF NOT EXISTS pg_surgery; CREATE EXTENSION IF NOT EXISTS pgcrypto; CREATE EXTENSION IF NOT EXISTS hstore;
  CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE EXTENSION IF NOT EXISTS adminpack;`;
const STATE = `SELECT (SELECT last_value::text || is_called FROM s), (SELECT count(*) FROM t), (SELECT count(*) FROM pg_largeobject_metadata),
  (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_collation), (SELECT count(*) FROM pg_proc)`;

describe('PostgreSQL', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg;
  before(async () => {
    pg = await startPostgres();
    const made = pg.psql(SCHEMA);
    assert.ok(made.ok, made.error);
  });
  after(() => pg.stop());

  /** What running each of them left behind, by statement. One that fails is rolled back. */
  function traces(statements) {
    const script = statements.map((sql, i) => `BEGIN;
      ${sql}
      ;SELECT '#${i} xid ' || pg_current_xact_id_if_assigned() WHERE pg_current_xact_id_if_assigned() IS NOT NULL;
      SELECT '#${i} lock ' || mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid' AND mode <> 'AccessShareLock';
      SELECT '#${i} set ' || name FROM pg_settings WHERE source = 'session'; ROLLBACK;`);
    const { out } = pg.psql(script.join('\n'), { separate: true });
    return out.split('\n').filter((line) => /^#\d+ /.test(line)).map((line) => `${line} of ${statements[line.slice(1).split(' ')[0]]}`);
  }

  test('the test database detects every known side effect', () => {
    // Known attacks: each leaves a trace here, so an empty answer below is evidence.
    for (const sql of [
      "SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery FROM setval(''s'', 7)')", "SELECT ('s'::regclass).nextval", 'SELECT * FROM t FOR SHARE', 'SELECT my_write()', 'SELECT (5).wipe', 'SELECT x.wipe FROM unnest(ARRAY[1]) AS x',
      "SELECT app.lower('x')", 'SELECT txid_current()', "SELECT set_config('work_mem', '1MB', false)", "SELECT pg_advisory_lock(5)",
    ]) {
      const before = pg.psql(STATE).out, left = traces([sql]), later = pg.psql(STATE).out;
      assert.ok(left.length > 0 || before !== later, `not noticed: ${sql}`);
    }
    const read = pg.psql(`SELECT U&"pg!005fread_file" UESCAPE '!' ('/etc/hostname'), t.pg_read_file FROM unnest(ARRAY['/etc/hostname']) t`);
    assert.equal(read.out.split('|').length, 2, 'the server reads files for its owner, whatever the spelling');
  });

  test('statements with side effects are refused', () => assert.deepEqual(letThrough(ATTACKS.filter(([of]) => of === 'postgres').map(([, sql]) => sql)), []));

  test('statements that pass have no side effects', () => {
    const seeds = [...table('postgres.sql'), ...table('any.sql'), ...ATTACKS.map(([, sql]) => sql)];
    // Every pair of a head and a tail, cut where a statement has blanks: most are nonsense, some are not.
    const mixed = seeds.flatMap((sql, i) => {
      const other = seeds[(i * 7 + 3) % seeds.length], cut = sql.indexOf(' ', sql.length / 2), from = other.indexOf(' ', other.length / 2);
      return cut < 0 || from < 0 ? [] : [sql.slice(0, cut) + other.slice(from), `${sql} ${other}`, sql.replace(/SELECT /i, `SELECT (${other.replace(/;$/, '')}), `)];
    });
    const passed = letThrough([...seeds, ...mixed]);
    assert.ok(passed.length > 200, `${passed.length} pass`);
    const before = pg.psql(STATE).out;
    assert.deepEqual(traces(passed), []);
    assert.equal(pg.psql(STATE).out, before);
  });

  test('of the functions that PostgreSQL marks volatile only reviewed ones pass', () => {
    const harmless = `clock_timestamp current_query currval gen_random_bytes gen_random_uuid gen_salt lastval normal_rand pg_blocking_pids pg_collation_actual_version
      pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn pg_database_size pg_indexes_size
      pg_is_in_recovery pg_is_wal_replay_paused pg_jit_available pg_last_committed_xact pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_lock_status
      pg_notification_queue_usage pg_partition_ancestors pg_partition_tree pg_prepared_xact pg_relation_size pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_stat_statements
      pg_stat_statements_info pg_table_size pg_tablespace_size pg_total_relation_size pg_xact_commit_timestamp pg_xact_status random timeofday txid_status uuid_generate_v1 uuid_generate_v1mc
      uuid_generate_v4`.split(/\s+/);
    const names = pg.psql(`SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND proname ~ '^[a-z0-9_]+$' AND pronamespace <> 'app'::regnamespace AND proname <> 'wipe' ORDER BY 1`).out.split('\n');
    const passed = letThrough(names.map((name) => `SELECT ${name}()`)).map((sql) => sql.slice(7, -2));
    assert.deepEqual(passed.filter((name) => !harmless.includes(name)), []);
    // Called like a column, where no parenthesis shows it.
    const columns = letThrough(names.map((name) => `SELECT (a).${name} FROM t`)).map((sql) => sql.slice(11, -7));
    const callable = pg.psql(`SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND pronargs > 0 AND pronargs - pronargdefaults <= 1
      AND NOT EXISTS (SELECT FROM unnest(proargtypes || prorettype) x WHERE x IN ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype, 'language_handler'::regtype))`).out.split('\n');
    const acting = columns.filter((name) => !harmless.includes(name) && callable.includes(name));
    assert.deepEqual(acting, []);
  });
});

// Some servers run statements through the command-line client, where a line by itself ends a statement and the next one may be a command.
describe('the shell of SQLite', { skip: spawnSync('sqlite3', ['--version']).status === 0 ? false : 'no sqlite3 here: scripts/setup test installs it' }, () => {
  const dir = tempDir();
  const run = (sql) => spawnSync('sqlite3', [':memory:'], { input: `CREATE TABLE t (a, b); CREATE TABLE users (id, name);\n${sql}\n`, cwd: dir });
  const COMMANDS = ['.shell touch trace', '.system touch trace', '.output trace', '.once trace', '.save trace', '.backup trace', '.log trace', '.open trace\nCREATE TABLE x (a);', "ATTACH 'trace' AS x; CREATE TABLE x.y (a)", "VACUUM INTO 'trace'"];
  const ENDS = ['\n/\n', '\ngo\n', '\nGO\n', '\n GO \n', ';\n', ';', '\r\n/\r\n', '\n\n', '\n', ' -- x\n/\n', '\n;\n', '\n/ \n', '\ngo ;\n', '\n/;\n', '/**/\n/\n'];
  const trace = join(dir, 'trace');
  const acts = (sql) => { rmSync(trace, { force: true }); run(sql); return existsSync(trace); };

  test('executes commands between statements, so an empty answer below is evidence', () => {
    for (const end of ['\n/\n', '\ngo\n', ';\n']) assert.ok(acts(`SELECT 1${end}.shell touch trace`), JSON.stringify(end));
  });

  test('statements that pass execute none', () => {
    const statements = ['SELECT 1', 'SELECT a FROM t', 'VALUES (1)', 'EXPLAIN SELECT 1', "SELECT 'x'", 'WITH c AS (SELECT 1) SELECT * FROM c', 'PRAGMA table_info(t)']
      .flatMap((sql) => ENDS.flatMap((end) => COMMANDS.flatMap((command) => [`${sql}${end}${command}`, `${command}${end}${sql}`])));
    const passed = letThrough(statements, ['read_only', { read_only: 'sqlite' }]);
    assert.deepEqual(passed.filter(acts), []);
  });
});
