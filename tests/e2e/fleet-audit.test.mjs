// The audit logs of a fleet in PostgreSQL (docs/fleet.md): shipped from the homes, never twice, never waited for; and what shows there when
// a log was rolled back, a row was changed or a chain is gone.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { cli, legacyServer, policyFile, startServe, startUpstream, tempDir, until, use } from '../lib/index.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';

const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } };

async function post(url, body, headers = {}) {
  const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers }, body: JSON.stringify(body) });
  const text = await answer.text();
  const json = text.startsWith('{') ? text : /^data: (\{.*)$/m.exec(text)?.[1];
  return { status: answer.status, session: answer.headers.get('mcp-session-id'), json: json && JSON.parse(json) };
}

/** calls(n, say): so many calls of one session, one after the other; the answers. */
async function client(gate) {
  const url = `${gate.origin}/mcp/shop`, { session } = await post(url, initialize);
  return async (count, say = 'hello') => {
    const answers = [];
    for (let i = 0; i < count; i++)
      answers.push(await post(url, { jsonrpc: '2.0', id: i + 1, method: 'tools/call', params: { name: 'pay', arguments: { say } } }, { 'Mcp-Session-Id': session }));
    return answers;
  };
}

describe('audit of a fleet', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg, server, count = 0;
  beforeEach(() => pg.ready()); // a test that failed may have left it stopped
  before(async () => {
    pg = await startPostgres();
    server = await startUpstream(legacyServer({
      methods: {
        'tools/list': () => ({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }),
        'tools/call': () => ({ content: [{ type: 'text', text: 'paid' }] }),
      },
    }));
  });
  after(async () => { await pg.stop(); await server.close(); });

  function database() {
    const name = `ship${++count}`;
    assert.ok(pg.psql(`CREATE DATABASE ${name}`).ok);
    const ask = (sql) => {
      const { ok, out, error } = pg.psql(sql, { database: name });
      assert.ok(ok, error);
      return out;
    };
    const end = () => { const { ok, out } = pg.psql('SELECT coalesce(max(seq),0) FROM sallyport.audit_chains', { database: name }); return ok ? Number(out) : 0; };
    return { name, end, dsn: `postgres://${pg.user}@/${name}?host=${pg.socket}`, ask };
  }
  const newHome = () => join(tempDir('ship'), 'home');
  async function gateFor(t, home, dsn, { ship = {}, audit = {}, root = {}, args = ['--no-auth'] } = {}) {
    const config = { version: '1', policy: policyFile(), servers: { shop: { url: server.url } }, audit: { ...audit, ship: { dsn, ...ship } }, ...root };
    const gate = await startServe({ config, args, env: { SALLYPORT_HOME: home } });
    if (t) use(t, gate);
    return gate;
  }
  const verify = async (home, args = []) => JSON.parse((await cli(['audit', 'verify', '--json', ...args], { env: { SALLYPORT_HOME: home } })).stdout);
  const shipped = (home) => JSON.parse(readFileSync(join(home, 'audit', 'shipped'), 'utf8'));
  /** Every record of the chain is there once, and its end is the end of the log at home. */
  async function sameAsHome(db, home) {
    let { ok, last_seq: last, last_hash: hash } = await verify(home);
    assert.ok(ok);
    // A gate that ends waits for a slow database for a few seconds only; the next one ships what is left.
    for (let tries = 0; shipped(home).seq < last && tries < 5; tries++) {
      await (await gateFor(null, home, db.dsn)).stop();
      ({ ok, last_seq: last, last_hash: hash } = await verify(home));
    }
    assert.equal(db.ask('SELECT count(*) FROM (SELECT first_seq, lag(first_seq+count) OVER (PARTITION BY chain ORDER BY first_seq) AS due FROM sallyport.audit_blocks) b WHERE due IS NOT NULL AND due <> first_seq'), '0');
    const log = shipped(home);
    assert.equal(db.ask(`SELECT (SELECT sum(count) + c.base_seq FROM sallyport.audit_blocks b WHERE b.chain=c.chain), seq, encode(hash,'hex') FROM sallyport.audit_chains c WHERE chain=${log.chain}`), `${last}|${last}|${hash}`);
    return last;
  }
  const metric = async (gate, name) => Number(new RegExp(`^sallyport_${name}(?:\\{[^}]*\\})? (\\d+)$`, 'm').exec(await (await fetch(`${gate.origin}/metrics`)).text())?.[1]);

  test('a gate ships its log, up to the record of its end, and every signature of it', async (t) => {
    const db = database(), home = newHome(), gate = await gateFor(t, home, db.dsn, { ship: { gate: 'one' } });
    const call = await client(gate);
    await call(50);
    await until('records in the database', () => db.end() > 100);
    await gate.stop();
    const last = await sameAsHome(db, home);
    assert.equal(db.ask('SELECT gate, base_seq, finding, signed_seq FROM sallyport.audit_chains'), `one|0||${last}`);
    assert.ok(Number(db.ask('SELECT count(*) FROM sallyport.audit_points')) >= 1);
    assert.equal(readFileSync(join(home, 'fleet'), 'utf8'), `${db.dsn}\n`);
  });

  test('calls continue without the database; their records are shipped when it is back', async (t) => {
    const db = database(), home = newHome(), gate = await gateFor(t, home, db.dsn), call = await client(gate);
    await call(5);
    await until('the first records', () => db.end() >= 10);
    await pg.stop();
    const answers = await call(40);
    assert.ok(answers.every(({ json }) => json.result.content[0].text === 'paid'));
    await until('the gate to notice', async () => (await metric(gate, 'audit_ship_up')) === 0 && (await metric(gate, 'audit_ship_lag_records')) >= 80);
    assert.ok((await metric(gate, 'audit_ship_failures_total')) >= 1);
    const ready = await fetch(`${gate.origin}/readyz`);
    assert.equal(ready.status, 200);
    assert.match(await ready.text(), /audit log: \d+ records were not shipped: PostgreSQL/);
    await gate.child.waitLine(/the audit log is not shipped: PostgreSQL/, { stream: 'stderr' });
    const env = { SALLYPORT_HOME: home };
    await until('status to say so', async () => /the audit log is not shipped: PostgreSQL/.test((await cli(['status'], { env })).stdout));
    assert.match((await cli(['doctor'], { env })).stdout, /records wait in the home to be shipped: PostgreSQL/);
    await pg.start();
    await until('the rest', async () => (await metric(gate, 'audit_ship_up')) === 1 && (await metric(gate, 'audit_ship_lag_records')) === 0);
    await gate.child.waitLine(/the audit log is shipped again/, { stream: 'stderr' });
    await gate.stop();
    await sameAsHome(db, home);
  });

  test('a gate that is killed while it ships neither duplicates nor loses a record', async (t) => {
    const db = database(), home = newHome();
    for (let round = 0; round < 4; round++) {
      const gate = await gateFor(null, home, db.dsn), calls = await Promise.all(Array.from({ length: 4 }, () => client(gate)));
      const before = db.end();
      let done = false;
      const load = calls.map(async (call) => { while (!done) await call(1).catch(() => { done = true; }); });
      await until('a batch', () => db.end() > before + 20);
      process.kill(gate.pid, 'SIGKILL');
      done = true;
      await Promise.all(load);
    }
    await (await gateFor(t, home, db.dsn)).stop();
    await sameAsHome(db, home);
    assert.equal(db.ask('SELECT count(*) FROM sallyport.audit_chains'), '1');
  });

  test('one of several workers ships; when it is killed another one does', async (t) => {
    const db = database(), home = newHome(), gate = await gateFor(t, home, db.dsn, { args: ['--no-auth', '--workers', '2'] });
    const active = async () => [...(await (await fetch(`${gate.origin}/metrics`)).text()).matchAll(/^sallyport_audit_ship_active\{worker="(\d+)"\} 1$/gm)].map(([, worker]) => worker);
    const [first] = await until('a worker that ships', async () => { const found = await active(); return found.length === 1 && found; });
    await (await client(gate))(10);
    const status = await cli(['status', '--json'], { env: { SALLYPORT_HOME: home } });
    const pid = JSON.parse(status.stdout).gates.map(({ pid: own }) => own);
    assert.equal(pid.length, 2);
    const holder = readFileSync('/proc/locks', 'utf8').split('\n').map((line) => /FLOCK +ADVISORY +WRITE (\d+) /.exec(line)?.[1]).find((own) => pid.includes(Number(own)));
    process.kill(Number(holder ?? pid[Number(first)]), 'SIGKILL');
    await until('another one', async () => (await active().catch(() => [])).length === 1);
    await until('its records', async () => {
      const { last_seq: last } = await verify(home);
      return db.end() >= last - 5;
    });
    await gate.stop();
    await sameAsHome(db, home);
  });

  test('a home that was restored to an older state is detected and continues as a separate chain', async (t) => {
    const db = database(), home = newHome(), copy = `${home}.old`;
    const run = async (calls) => {
      const gate = await gateFor(null, home, db.dsn, { ship: { gate: 'moved' } });
      await (await client(gate))(calls);
      await gate.stop();
    };
    await run(5);
    cpSync(home, copy, { recursive: true });
    await run(20);
    await sameAsHome(db, home);
    rmSync(home, { recursive: true });
    cpSync(copy, home, { recursive: true });
    await run(5);
    await sameAsHome(db, home);
    const [first, second] = db.ask('SELECT chain, base_seq, seq, finding FROM sallyport.audit_chains ORDER BY chain').split('\n').map((row) => row.split('|'));
    assert.equal(first[3], '');
    assert.match(second[3], /^the log was rolled back: chain 1 had \d+ records, the log in the home has \d+ and continues behind record \d+$/);
    assert.ok(Number(second[1]) > 5 && Number(second[1]) < Number(first[2]));
    const { stdout } = await cli(['audit', 'query', '--text', 'rolled back', '--json'], { env: { SALLYPORT_HOME: home } });
    assert.equal(JSON.parse(stdout).event, 'fleet_chain');
    await run(1);
    assert.equal(db.ask('SELECT count(*) FROM sallyport.audit_chains'), '2', 'the chain is found again');
  });

  test('calls are refused only when too many records wait to be shipped', async (t) => {
    const db = database(), home = newHome();
    const gate = await gateFor(t, home, db.dsn, { ship: { backlog_mb: 1 }, audit: { arguments: 'full' } }), call = await client(gate);
    await call(1);
    await until('the first records', () => db.end() >= 2);
    await pg.stop();
    let large = 0;
    const refused = await until('a refusal', async () => {
      const [{ json }] = await call(1, `${++large}`.repeat(20000));
      return !json.result?.content?.[0]?.text?.includes('paid') && json;
    });
    assert.match(JSON.stringify(refused), /audit|record/);
    assert.equal((await fetch(`${gate.origin}/readyz`)).status, 503);
    await pg.start();
    await until('calls', async () => (await call(1))[0].json.result?.content?.[0]?.text === 'paid');
    await gate.stop();
    await sameAsHome(db, home);
  });

  // Two gates that have shipped everything; the second one has the end of the first one on record.
  async function twoGates() {
    const db = database(), homes = [newHome(), newHome()];
    for (const [i, name] of ['a', 'b'].entries()) {
      const gate = await gateFor(null, homes[i], db.dsn, { ship: { gate: name } });
      await (await client(gate))(5, `from ${name}`);
      if (i) await until('what it saw of the other', () => db.end() && pg.psql("SELECT 1 FROM sallyport.audit_chains WHERE gate='b' AND seq>base_seq", { database: db.name }).out === '1'
        && cli(['audit', 'query', '--text', 'fleet_ends'], { env: { SALLYPORT_HOME: homes[1] } }).then(({ stdout }) => stdout.includes('fleet_ends')));
      await gate.stop();
    }
    const fleet = async (...args) => cli(['audit', ...args, '--fleet'], { env: { SALLYPORT_HOME: homes[0] } });
    const check = async (...args) => { const { code, stdout, stderr } = await fleet('verify', '--json', ...args); assert.ok(stdout, stderr); return { code, ...JSON.parse(stdout) }; };
    const sound = await check();
    assert.ok(sound.ok && sound.code === 0 && sound.witnessed >= 1, JSON.stringify(sound));
    return { db, homes, fleet, check };
  }

  test('query, tail and export show all gates in the order of time', async () => {
    const { fleet, homes } = await twoGates();
    const lines = (text) => text.trim().split('\n').map((line) => JSON.parse(line));
    const times = (rows) => rows.map(({ time }) => time);
    const newest = lines((await fleet('query', '--json', '--tool', 'pay')).stdout);
    assert.deepEqual(newest.map(({ gate }) => gate), [...Array(5).fill('b'), ...Array(5).fill('a')]);
    assert.ok(newest.every(({ outcome }) => outcome.status === 'ok'));
    assert.deepEqual(times(newest), times(newest).sort().reverse());
    const all = lines((await fleet('export')).stdout);
    const calls = times(all.filter(({ kind }) => kind !== 'event')); // the first record of a gate is written after the first calls
    assert.deepEqual(calls, [...calls].sort());
    const one = (await cli(['audit', 'export'], { env: { SALLYPORT_HOME: homes[1] } })).stdout.trim().split('\n');
    assert.equal(all.filter(({ gate }) => gate === 'b').length, one.length);
    assert.deepEqual(lines((await fleet('export', '--gate', 'b')).stdout).map(({ gate, chain, ...rest }) => rest), one.map((line) => JSON.parse(line)));
    const tail = lines((await fleet('tail', '-n', '7', '--json')).stdout);
    assert.deepEqual(times(tail), times(all).slice(-7));
    const since = all[Math.floor(all.length / 2)].time.replace(/\d{3}Z$/, '000Z');
    assert.deepEqual(times(lines((await fleet('export', '--since', since)).stdout)), times(all).filter((time) => time >= since));
    assert.deepEqual(lines((await fleet('query', '--json', '--until', since, '--limit', '0')).stdout).length, lines((await fleet('query', '--json', '--limit', '0')).stdout).filter(({ time }) => time <= since).length);
    const wrong = await cli(['audit', 'query', '--gate', 'b'], { env: { SALLYPORT_HOME: homes[0] } });
    assert.match(wrong.stderr, /add --fleet/);
    const none = await cli(['audit', 'query', '--fleet'], {});
    assert.match(none.stderr, /belongs to no fleet/);
  });

  test('the admin API lists, pages and sums the records of all gates', async (t) => {
    const { db, homes } = await twoGates();
    const gate = await gateFor(t, homes[0], db.dsn, { ship: { gate: 'a' } });
    const api = async (path) => { const answer = await fetch(`${gate.origin}/api/v1/${path}`); return { status: answer.status, json: await answer.json() }; };
    const { json: all } = await api('audit?fleet=1&tool=pay');
    assert.deepEqual(all.map(({ gate: name }) => name), [...Array(5).fill('b'), ...Array(5).fill('a')]);
    const { json: some } = await api('audit?fleet=1&tool=pay&gate=a&limit=2');
    assert.deepEqual(some, all.slice(5, 7));
    const last = some[1].time, end = last.replace(/\d{6}Z$/, (micros) => `${String(Number(micros.slice(0, 6)) - 1).padStart(6, '0')}Z`);
    assert.deepEqual((await api(`audit?fleet=1&tool=pay&gate=a&until=${end}`)).json, all.slice(7));
    assert.equal((await api(`audit/${all[0].seq}?chain=${all[0].chain}`)).json.time, all[0].time);
    assert.equal((await api('audit?fleet=1&before=3')).status, 400);
    assert.equal((await api('overview?fleet=1')).json.totals.calls, 10);
    assert.equal((await api('overview')).json.totals.calls, 5);
    await (await client(gate))(2);
    await until('the new calls', async () => (await api('overview?fleet=1')).json.totals.calls === 12);
    assert.equal((await api('status')).json.audit_ship.active, true);
  });

  test('a row that was changed in the database is found, with its gate and record', async () => {
    const { db, check, fleet } = await twoGates();
    db.ask("UPDATE sallyport.audit_blocks SET body=set_byte(body, length(body)-3, get_byte(body, length(body)-3)#1) WHERE (chain, first_seq) IN (SELECT chain, first_seq FROM sallyport.audit_blocks JOIN sallyport.audit_chains USING (chain) WHERE gate='b' ORDER BY count DESC LIMIT 1)");
    const { ok, code, chains } = await check();
    assert.equal(code, 1);
    assert.ok(!ok && chains.find(({ gate }) => gate === 'a').ok);
    const bad = chains.find(({ gate }) => gate === 'b');
    assert.match(bad.error, /record \d+ (was changed|is not a record|is missing)/);
    assert.ok(bad.first_bad >= 1);
    assert.match((await fleet('verify')).stdout, /NOT SOUND {2}chain \d+ of gate b: record/);
  });

  test('signatures, ends and keys that were changed in the database are found', async () => {
    const { db, check, homes } = await twoGates();
    const broken = async (sql, undo, error) => {
      db.ask(sql);
      const { chains } = await check();
      assert.match(chains.find(({ gate }) => gate === 'a').error ?? 'sound', error);
      db.ask(undo);
    };
    db.ask('CREATE TABLE points AS SELECT * FROM sallyport.audit_points; CREATE TABLE chains AS SELECT * FROM sallyport.audit_chains');
    const points = 'DELETE FROM sallyport.audit_points; INSERT INTO sallyport.audit_points SELECT * FROM points';
    const ends = "UPDATE sallyport.audit_chains c SET seq=o.seq, hash=o.hash, key=o.key, signature=o.signature FROM chains o WHERE o.chain=c.chain";
    await broken('UPDATE sallyport.audit_points SET time_ms=time_ms+1 WHERE chain=1', points, /the signature at record \d+ is not by this key/);
    await broken('DELETE FROM sallyport.audit_points WHERE chain=1', points, /the signature at record \d+ is missing in the database/);
    await broken('UPDATE sallyport.audit_chains SET seq=seq+5 WHERE chain=1', ends, /all up to the acknowledged \d+ are missing/);
    await broken("UPDATE sallyport.audit_chains SET hash=set_byte(hash,0,get_byte(hash,0)#1) WHERE chain=1", ends, /the end of the chain, record \d+, was changed/);
    await broken("UPDATE sallyport.audit_chains SET key=(SELECT key FROM chains WHERE chain=2) WHERE chain=1", ends, /not by this key/);
    assert.ok((await check()).ok);
    const [own, other] = await Promise.all(homes.map((home) => check('--key', join(home, 'audit.pub'))));
    assert.match(own.chains[1].error, /its key is not one of those that were given/);
    assert.match(other.chains[0].error, /its key is not one of those that were given/);
    const keys = tempDir('keys');
    homes.forEach((home, i) => cpSync(join(home, 'audit.pub'), join(keys, `${i}.pub`)));
    assert.ok((await check('--key', keys)).ok);
  });

  test('a chain that was removed or truncated in the database is detected with the records of another gate', async () => {
    const { db, check } = await twoGates();
    db.ask('CREATE TABLE saved AS SELECT * FROM sallyport.audit_blocks WHERE chain=1');
    db.ask(`WITH cut AS (SELECT first_seq FROM sallyport.audit_blocks WHERE chain=1 ORDER BY first_seq DESC LIMIT 1), gone AS (DELETE FROM sallyport.audit_blocks WHERE chain=1 AND first_seq IN (SELECT first_seq FROM cut))
      SELECT 1`);
    db.ask(`DELETE FROM sallyport.audit_points WHERE chain=1 AND seq > (SELECT max(first_seq+count-1) FROM sallyport.audit_blocks WHERE chain=1);
      UPDATE sallyport.audit_chains c SET (seq, hash)=(SELECT first_seq+count-1, hash FROM sallyport.audit_blocks b WHERE b.chain=1 ORDER BY first_seq DESC LIMIT 1) WHERE chain=1;
      UPDATE sallyport.audit_chains c SET (signed_seq, signed_hash, signed_ms, signature)=(SELECT seq, hash, time_ms, signature FROM sallyport.audit_points p WHERE p.chain=1 ORDER BY seq DESC LIMIT 1) WHERE chain=1`);
    const cut = await check();
    assert.ok(!cut.ok);
    assert.match(cut.chains[0].error, /record \d+ is missing, or is not the one that gate `b` has on record/);
    db.ask('DELETE FROM sallyport.audit_blocks WHERE chain=1; DELETE FROM sallyport.audit_points WHERE chain=1; DELETE FROM sallyport.audit_chains WHERE chain=1');
    const gone = await check();
    assert.ok(!gone.ok && gone.code === 1);
    assert.match(gone.error, /log [0-9a-f]{32} is missing: gate `b` has its record \d+ on record/);
  });

  test('verify of a fleet fails when a home was rolled back', async () => {
    const { db, homes, check } = await twoGates();
    const copy = `${homes[0]}.old`;
    cpSync(homes[0], copy, { recursive: true });
    for (const back of [false, true]) {
      if (back) { rmSync(homes[0], { recursive: true }); cpSync(copy, homes[0], { recursive: true }); }
      const gate = await gateFor(null, homes[0], db.dsn, { ship: { gate: 'a' } });
      await (await client(gate))(3);
      await gate.stop();
    }
    const { ok, chains } = await check();
    assert.ok(!ok);
    assert.deepEqual(chains.map((chain) => [chain.gate, chain.ok]), [['a', true], ['b', true], ['a', false]]);
    assert.match(chains[2].error, /^the log was rolled back/);
  });

  test('expired days are dropped with a record; a day that is dropped by hand is detected', async () => {
    const { db, homes, check } = await twoGates();
    const old = (day) => db.ask(`CREATE TABLE sallyport.audit_blocks_${day} PARTITION OF sallyport.audit_blocks FOR VALUES FROM ('${day}') TO ('${Number(day) + 1}');
      CREATE TABLE sallyport.audit_points_${day} PARTITION OF sallyport.audit_points FOR VALUES FROM ('${day}') TO ('${Number(day) + 1}');
      UPDATE sallyport.audit_blocks b SET day='${day}' WHERE first_seq = (SELECT min(first_seq) FROM sallyport.audit_blocks o WHERE o.chain=b.chain AND o.day > '2021-01-01');
      UPDATE sallyport.audit_points p SET day='${day}' WHERE seq <= (SELECT max(first_seq+count-1) FROM sallyport.audit_blocks o WHERE o.chain=p.chain AND o.day='${day}')`);
    old('20200101');
    assert.ok((await check()).ok);
    const gate = await gateFor(null, homes[1], db.dsn, { ship: { gate: 'b', keep: '30d' } });
    await until('the day to be dropped', () => db.ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'audit_%_20200101'") === '0');
    await (await client(gate))(1);
    await gate.stop();
    const { stdout } = await cli(['audit', 'query', '--text', 'fleet_retired', '--json'], { env: { SALLYPORT_HOME: homes[1] } });
    assert.equal(JSON.parse(JSON.parse(stdout).text).day, '20200101');
    const kept = await check();
    assert.ok(kept.ok, JSON.stringify(kept));
    assert.ok(kept.chains.every(({ first_seq: first }) => first > 1));
    old('20200102');
    db.ask(`INSERT INTO sallyport.audit_retired SELECT DISTINCT ON (chain) day, chain, first_seq+count-1, hash FROM sallyport.audit_blocks WHERE day='20200102' ORDER BY chain, first_seq DESC;
      DROP TABLE sallyport.audit_blocks_20200102, sallyport.audit_points_20200102`);
    const dropped = await check();
    assert.ok(!dropped.ok);
    assert.match(dropped.chains[0].error, /no gate has it on record that day 20200102 was dropped/);
  });

  test('the role for gates ships and cannot change a record; the role for auditors only reads', async () => {
    const db = database(), home = newHome();
    await (await gateFor(null, home, db.dsn)).stop();
    const roles = readFileSync(new URL('../../packaging/postgres-role.sql', import.meta.url), 'utf8');
    db.ask(roles);
    db.ask("DO $$ BEGIN CREATE ROLE pat LOGIN IN ROLE sallyport_gate; CREATE ROLE kim LOGIN IN ROLE sallyport_auditor; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
    const as = (role) => db.dsn.replace(`${pg.user}@`, `${role}@`);
    const gate = await gateFor(null, home, as('pat'));
    await (await client(gate))(3);
    await gate.stop();
    await sameAsHome(db, home);
    for (const sql of ['DELETE FROM sallyport.audit_blocks', "UPDATE sallyport.audit_points SET signature=''", 'DELETE FROM sallyport.audit_chains', "UPDATE sallyport.audit_chains SET finding=''", 'DROP TABLE sallyport.audit_blocks', "SELECT sallyport.audit_drop_day(current_date)"])
      assert.match(pg.psql(`SET ROLE pat; ${sql}`, { database: db.name }).error, /permission denied|must be owner|not over long enough/, sql);
    const auditor = newHome();
    mkdirSync(auditor, { recursive: true, mode: 0o700 });
    writeFileSync(join(auditor, 'fleet'), as('kim'), { mode: 0o600 });
    const checked = await cli(['audit', 'verify', '--fleet'], { env: { SALLYPORT_HOME: auditor } });
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    assert.match(pg.psql("SET ROLE kim; INSERT INTO sallyport.audit_retired VALUES (current_date, 1, 1, '')", { database: db.name }).error, /permission denied/);
  });
});
