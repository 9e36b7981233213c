// Counters in PostgreSQL: several gates share them; the database is brought up to date at the start, or refused.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cli, legacyServer, peerFor, policyFile, startGate, startServe, startUpstream, tempDir, until, use } from '../lib/index.mjs';
import { ModernHttpPeer } from '../lib/peer.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';

const blocks = (tools) => ({ version: '1', default: 'allow', tools });
const daily = (max, more = {}) => ({ counter: 'c', kind: 'calendar', window: 'day', max, ...more });
const outcome = (peer, name, args = {}) => peer.exchange('tools/call', { name, arguments: args }).then(({ json }) => json);
const denied = ({ result }) => Boolean(result?.isError && result._meta?.['sallyport/denial']);

describe('counters in PostgreSQL', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg;
  const dsn = (database) => `postgres://${pg.user}@/${database}?host=${pg.socket}`;
  const database = (name) => { assert.ok(pg.psql(`CREATE DATABASE ${name}`).ok); return dsn(name); };
  before(async () => { pg = await startPostgres(); });
  after(() => pg.stop());

  async function fleet(t, policy, state, gates) {
    const calls = [];
    const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params) => { calls.push(params.name); return { content: [] }; } } })));
    const started = await Promise.all(Array.from({ length: gates }, () => startGate({ upstream: server.url, policy, args: ['--name', 'shop', '--state-dsn', state, '--state-timeout', '30s'] })));
    for (const gate of started) use(t, gate);
    return { calls, peers: await Promise.all(started.map((gate) => peerFor('http', gate))) };
  }

  test('three gates that start together migrate once and allow exactly what one would', async (t) => {
    const { peers, calls } = await fleet(t, blocks({ pay: { limits: [daily(20), daily(40, { kind: 'sliding', counter: 's' })] } }), database('together'), 3);
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => outcome(peers[i % 3], 'pay')));
    assert.equal(answers.filter((answer) => !denied(answer)).length, 20);
    assert.equal(calls.length, 20);
    assert.ok(answers.find(denied).result._meta['sallyport/denial'].retry_after_ms > 0);
    assert.equal(pg.psql('SELECT count(*), max(version) FROM sallyport_schema', { database: 'together' }).out, '8|8');
    assert.equal(pg.psql("SELECT used FROM sallyport_counter WHERE key LIKE '%:s:%'", { database: 'together' }).out, '20000000', 'a refused call left nothing in the other counter');
  });

  test('conditions on counters are read there', async (t) => {
    const { peers } = await fleet(t, blocks({
      pay: { rules: [{ name: 'count', conditions: [{ path: 'state.pay.c', op: 'lte', value: 9 }], state: { counter: 'c', window: 'day' } }] },
      refund: { rules: [{ name: 'paid', conditions: [{ path: 'state.pay.c', op: 'gte', value: 2 }] }] },
    }), database('conditions'), 2);
    assert.ok(denied(await outcome(peers[1], 'refund')));
    for (let i = 0; i < 2; i++) assert.ok(!denied(await outcome(peers[0], 'pay')));
    assert.ok(!denied(await outcome(peers[1], 'refund')));
  });

  test('a role that only uses the functions is enough once the database is up to date', async (t) => {
    const state = database('narrow');
    await fleet(t, blocks({}), state, 1);
    assert.ok(pg.psql(`CREATE ROLE narrow LOGIN; GRANT SELECT ON sallyport_schema TO narrow; GRANT SELECT, INSERT, UPDATE, DELETE ON sallyport_counter TO narrow`, { database: 'narrow' }).ok);
    const { peers } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), state.replace(`${pg.user}@`, 'narrow@'), 1);
    assert.ok(!denied(await outcome(peers[0], 'pay')));
    assert.ok(denied(await outcome(peers[0], 'pay')));
  });

  test('the first call of a gate does not wait for a second connection', async (t) => {
    const state = database('first'), path = join(tempDir('pg-proxy'), '.s.PGSQL.5432');
    let taken = 0;
    const sockets = new Set();
    const proxy = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      if (taken++) return; // accepted, never answered
      const server = connect(`${pg.socket}/.s.PGSQL.5432`).on('error', () => {});
      sockets.add(server);
      socket.pipe(server).pipe(socket);
    });
    await new Promise((done) => { proxy.listen(path, done); });
    t.after(() => { for (const socket of sockets) socket.destroy(); proxy.close(); });
    const { peers, calls } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), state.replace(pg.socket, dirname(path)), 1);
    assert.ok(!denied(await outcome(peers[0], 'pay')));
    assert.deepEqual(calls, ['pay']);
  });

  test('a call waits for its counter as long as the time-out says, in both forms of the gate', async (t) => {
    const state = database('slow'), calls = [];
    const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params) => { calls.push(params.name); return { content: [] }; } } })));
    const policy = blocks({ pay: { limits: [daily(9, { scope: 'global' })] } });
    const config = { version: '1', policy: policyFile(policy), servers: { shop: { url: server.url } }, state: { dsn: state, timeout: '30s' } };
    const patient = new ModernHttpPeer(`${use(t, await startServe({ config, args: ['--no-auth'] })).origin}/mcp/shop`);
    const hasty = await peerFor('http', use(t, await startGate({ upstream: server.url, policy, args: ['--name', 'shop', '--state-dsn', state, '--state-timeout', '100ms'] })));
    for (const peer of [patient, hasty]) await outcome(peer, 'pay'); // the counter is there, whatever the second answer was
    const lock = pg.session('slow'), before = calls.length;
    assert.equal(await lock.ask("BEGIN; LOCK sallyport_counter; SELECT 'held';"), 'held');
    const waits = outcome(patient, 'pay');
    assert.ok(denied(await outcome(hasty, 'pay')), 'no answer within 100 ms');
    assert.equal(calls.length, before);
    assert.equal(await lock.ask("COMMIT; SELECT 'free';"), 'free');
    assert.ok(!denied(await waits));
    await lock.end();
    const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', state, '--state-timeout', '2m', '--', 'cat']);
    assert.equal(code, 4);
    assert.match(stderr, /state: the time-out is longer than 60 s/);
  });

  test('doctor opens the stores of the settings, and shows no password', async () => {
    const dir = tempDir('doctor'), config = join(dir, 'sallyport.yaml'), empty = database('unused');
    const stores = async (state) => {
      writeFileSync(config, JSON.stringify({ version: '1', state }), { mode: 0o600 });
      const { stdout } = await cli(['doctor', '--config', config, '--no-start', '--json'], { env: { SALLYPORT_HOME: join(dir, 'home') } });
      assert.doesNotMatch(stdout, /hush/);
      return JSON.parse(stdout).checks.filter(({ check }) => check === 'store').map(({ subject, status, text, fix }) => ({ subject, status, text, fix }));
    };
    const bad = `postgres://me:hush-hush@/none?host=${pg.socket}`;
    for (const [what, { status, text, fix }] of Object.entries({ dsn: (await stores({ dsn: bad }))[0], database: (await stores({ database: bad }))[0] })) {
      assert.equal(status, 'problem', what);
      assert.match(text, /(role|database) "(me|none)" does not exist/, what);
      assert.match(fix, /create it \(createdb, createuser\), or correct the DSN/, what);
    }
    assert.deepEqual((await stores({ dsn: empty, database: empty })).map(({ subject, status }) => [subject, status]), [['state.dsn', 'ok'], ['state.database', 'ok']]);
    assert.equal((await stores({ dsn: 'sqlite:' })).length, 0);
  });

  test('a gate does not start without its database, or with one of a newer version', async () => {
    const start = (state) => cli(['-c', policyFile(), '--state-dsn', state, '--', 'cat']);
    const gone = await start(`postgres://me:hush-hush@/none?host=${pg.socket}`);
    assert.equal(gone.code, 4);
    assert.match(gone.stderr, /state: .*(role|database) "(me|none)" does not exist/);
    assert.doesNotMatch(gone.stderr, /hush/);
    assert.ok(pg.psql('CREATE ROLE poor LOGIN; CREATE DATABASE closed').ok && pg.psql('REVOKE CREATE ON SCHEMA public FROM PUBLIC', { database: 'closed' }).ok);
    const poor = await start(dsn('closed').replace(`${pg.user}@`, 'poor@'));
    assert.equal(poor.code, 4);
    assert.match(poor.stderr, /permission denied .*: start one gate with a role that may create tables, and then run packaging\/postgres-role\.sql/);
    const state = database('newer');
    assert.ok(pg.psql('CREATE TABLE sallyport_schema (version int); INSERT INTO sallyport_schema VALUES (99)', { database: 'newer' }).ok);
    const newer = await start(state);
    assert.equal(newer.code, 4);
    assert.match(newer.stderr, /the database has version 99; this program supports 8/);
  });

  test('a database that cannot be used is named with its setting and what to do, once, and is not kept in the home', async () => {
    assert.ok(pg.psql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'").ok);
    for (const [url, code, says] of [
      [dsn('none'), 4, /state\.database: PostgreSQL: .*database "none" does not exist\nfix: create it/],
      [dsn('latin'), 4, /state\.database: PostgreSQL: the database has the encoding LATIN1: make one with UTF8/],
      [`postgres://u:hu@sh@/none?host=${pg.socket}`, 4, /state\.database: PostgreSQL: the DSN is not clear: write a password with @/],
      ['redis://:hush@127.0.0.1', 3, /state\.database: must start with postgres:\/\//],
      ['host=x password=hush', 3, /state\.database: must start with postgres:\/\//],
    ]) {
      const home = join(tempDir('bad'), 'home'), config = join(dirname(home), 'sallyport.yaml');
      writeFileSync(config, JSON.stringify({ version: '1', policy: policyFile(), servers: {}, state: { database: url } }), { mode: 0o600 });
      const failed = await cli(['serve', '--no-auth', '--listen', '127.0.0.1:0', '--workers', '3', '--config', config], { env: { SALLYPORT_HOME: home } });
      assert.equal(failed.code, code, failed.stderr);
      assert.match(failed.stderr, says);
      assert.equal(failed.stderr.match(/error:/g).length, 1, failed.stderr);
      assert.doesNotMatch(failed.stderr, /hu[s@]/);
      assert.ok(!existsSync(join(home, 'database')), 'commands would look there');
    }
  });

  test('a gate that was not upgraded yet starts with a newer database, unless the upgrade took something away', async (t) => {
    const state = database('rolling');
    await fleet(t, blocks({}), state, 1);
    const sql = (text) => { const done = pg.psql(text, { database: 'rolling' }); assert.ok(done.ok, done.error); };
    sql('INSERT INTO sallyport_schema (version, oldest) VALUES (9, 8)'); // what the next version may write
    const { peers } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), state, 1);
    assert.ok(!denied(await outcome(peers[0], 'pay')));
    sql('INSERT INTO sallyport_schema (version, oldest) VALUES (10, 9)');
    const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', state, '--', 'cat']);
    assert.equal(code, 4);
    assert.match(stderr, /the database has version 10; this program supports 8/);
  });

  test('a standby takes over: gates go to the server that takes writes, and never more than N calls pass', async (t) => {
    const first = use(t, await startPostgres()), second = use(t, await first.standby());
    assert.ok(first.psql('CREATE DATABASE moved').ok);
    await until('the standby has the database', () => second.psql('SELECT 1', { database: 'moved' }).ok);
    const state = `postgres://${first.user}@/moved?host=${second.socket},${first.socket}`;
    const { peers, calls } = await fleet(t, blocks({ pay: { limits: [daily(4)] } }), state, 2);
    for (const peer of peers) assert.ok(!denied(await outcome(peer, 'pay')), 'the standby is passed over');
    await until('the standby has it all', () => second.psql('SELECT max(used) FROM sallyport_counter', { database: 'moved' }).out === '2000000');
    await first.stop();
    assert.ok(denied(await outcome(peers[0], 'pay')), 'nobody takes writes');
    assert.ok(second.psql('SELECT pg_promote()').ok);
    await until('the new primary counts', async () => !denied(await outcome(peers[0], 'pay')));
    // A database that an administrator, or a full disk, made read-only.
    const readOnly = (value) => { const done = second.psql(`SET default_transaction_read_only = off; ALTER SYSTEM SET default_transaction_read_only = ${value}; SELECT pg_reload_conf()`, { separate: true }); assert.ok(done.ok, done.error); };
    readOnly('on');
    await until('calls are refused', async () => denied(await outcome(peers[1], 'pay')));
    const start = await cli(['-c', policyFile(), '--state-dsn', state, '--', 'cat']);
    assert.equal(start.code, 4);
    assert.match(start.stderr, /session is read-only/);
    readOnly('off');
    for (const peer of peers) await until('the limit is used up', async () => (await outcome(peer, 'pay')).result._meta?.['sallyport/denial']?.retry_after_ms > 0);
    assert.equal(calls.length, 4);
  });
});
