// What gates of a fleet share in PostgreSQL (docs/fleet.md): grants, approvals, the kill switch, values behind tokens; and what happens
// when the database is gone. The unit tests of the stores run over it, too.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { approve, cli, legacyServer, policyFile, sallyport, startServe, startUpstream, tempDir, until, use } from '../lib/index.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';

const KEYS = ['approvals.key', 'secret.key', 'pii/key'];
const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
// On a connection of its own; the answer may be a stream of one event.
async function post(url, body, { headers = {} } = {}) {
  const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Connection: 'close', ...headers }, body: JSON.stringify(body) });
  const text = await answer.text();
  const json = text.startsWith('{') ? text : /^data: (\{.*)$/m.exec(text)?.[1];
  return { status: answer.status, headers: Object.fromEntries(answer.headers), json: json && JSON.parse(json) };
}
// A gate whose copy of the database is late refuses grants for a moment (503): nothing of the request was done.
async function patiently(...request) {
  let answer;
  await until('the gate answers', async () => (answer = await post(...request)).status !== 503);
  return answer;
}

describe('stores in PostgreSQL', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg, count = 0;
  before(async () => { pg = await startPostgres(); });
  after(() => pg.stop());
  const database = () => {
    const name = `fleet${++count}`;
    assert.ok(pg.psql(`CREATE DATABASE ${name}`).ok);
    return { name, dsn: `postgres://${pg.user}@/${name}?host=${pg.socket}` };
  };

  // Gates with homes of their own before one server that keeps what reaches it.
  async function fleet(t, { gates = 2, policy = { version: '1', default: 'allow' }, root = {}, dsn = database().dsn } = {}) {
    const calls = [];
    const server = use(t, await startUpstream(legacyServer({
      methods: {
        'tools/list': () => ({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }),
        'tools/call': ({ name, arguments: args }) => { calls.push({ name, args }); return { content: [{ type: 'text', text: args?.say ?? 'paid' }] }; },
      },
    })));
    const started = [];
    for (let i = 0; i < gates; i++) {
      const home = join(tempDir('fleet'), 'home');
      for (const key of i ? KEYS : []) {
        mkdirSync(join(home, key, '..'), { recursive: true, mode: 0o700 });
        cpSync(join(started[0].home, key), join(home, key));
      }
      const env = { SALLYPORT_HOME: home };
      const config = { version: '1', policy: policyFile(policy), servers: { shop: { url: server.url } }, state: { database: dsn }, ...root };
      const gate = use(t, await startServe({ config, args: [], env }));
      started.push({ gate, home, env, url: new URL('/mcp/shop', gate.url).href });
    }
    const grant = async (name, at = 0) => {
      const made = await cli(['grants', 'create', name], { env: started[at].env });
      assert.equal(made.code, 0, made.stderr);
      const token = made.stdout.trim();
      for (const { url } of started) await until('the grant is known', async () => (await post(url, initialize, { headers: bearer(token) })).status === 200);
      return token;
    };
    // A session of its own each time: what counts is the grant.
    const call = async (at, token, args = {}, { patient = true } = {}) => {
      const send = patient ? patiently : post;
      const opened = await send(started[at].url, initialize, { headers: bearer(token) });
      if (opened.status !== 200) return { status: opened.status };
      const headers = { ...bearer(token), 'Mcp-Session-Id': opened.headers['mcp-session-id'] };
      const answer = await send(started[at].url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'pay', arguments: args } }, { headers });
      return { status: answer.status, ...answer.json };
    };
    return { calls, gates: started, grant, call, dsn };
  }

  for (const store of ['grants', 'approvals', 'vault', 'lasting', 'fleet_logins'])
    test(`the unit tests of ${store} hold`, () => {
      const { dsn } = database();
      const { status, stdout, stderr } = spawnSync(join(sallyport, '../tests/unit', `test_state_${store}`), { encoding: 'utf8', env: { ...process.env, SALLYPORT_TEST_DATABASE: dsn } });
      assert.equal(status, 0, stdout + stderr);
      assert.match(stderr + stdout, /PASSED/);
    });

  test('a grant created at one gate is valid at the other, and refused there after its revocation', async (t) => {
    const { gates, grant, call } = await fleet(t);
    const token = await grant('ci');
    const opened = await patiently(gates[1].url, initialize, { headers: bearer(token) });
    const session = { ...bearer(token), 'Mcp-Session-Id': opened.headers['mcp-session-id'] };
    assert.equal((await patiently(gates[1].url, list, { headers: session })).status, 200);
    assert.equal((await cli(['grants', 'revoke', 'ci'], { env: gates[0].env })).code, 0);
    await until('its session ends', async () => (await patiently(gates[1].url, list, { headers: session })).status !== 200);
    assert.equal((await call(1, token)).status, 401);
  });

  test('an approval that is given through one gate is used once at another', async (t) => {
    const { gates, grant, call, calls } = await fleet(t, { policy: { version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [] }] } } } });
    const token = await grant('agent');
    const { error } = await call(0, token, { amount: 5 });
    assert.equal(error.code, -32003);
    assert.equal((await call(1, token, { amount: 5 })).error.data.approval_id, error.data.approval_id, 'the other gate joins it');
    const done = await approve(error.data.approval_id, { env: gates[1].env });
    assert.equal(done.code, 0, done.stderr);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => call(i % 2, token, { amount: 5 })));
    assert.equal(answers.filter(({ result }) => result).length, 1, 'eight calls at two gates');
    assert.equal(calls.length, 1);
  });

  test('a token of one gate is restored at the other, which never saw the value', async (t) => {
    const { grant, call, calls } = await fleet(t, { root: { pii: { mode: 'tokenize', scope: 'organisation' } } });
    const token = await grant('agent');
    const said = (await call(0, token, { say: 'write to jane.roe@example.com' })).result.content[0].text;
    const [mark] = said.match(/\[EMAIL_\w+\]/) ?? assert.fail(said);
    await call(1, token, { to: mark });
    assert.equal(calls.at(-1).args.to, 'jane.roe@example.com');
  });

  // Behaviour of pins: the same for processes that share a lock file and for gates that share the store.
  for (const where of ['a lock file', 'PostgreSQL'])
    test(`pins in ${where}: first use is recorded once, a change is held everywhere, and accepted everywhere`, async (t) => {
      const dir = tempDir('pins'), lock = join(dir, 'sallyport.lock'), shared = where === 'PostgreSQL';
      const shown = { 0: 'Pays', 1: 'Pays' }; // to each gate
      const server = async (at) => use(t, await startUpstream(legacyServer({
        methods: {
          'tools/list': () => ({ tools: [{ name: 'pay', description: shown[at], inputSchema: { type: 'object' } }] }),
          'tools/call': () => ({ content: [{ type: 'text', text: 'paid' }] }),
        },
      })));
      const { name, dsn } = database();
      const gates = [];
      for (const at of [0, 1]) {
        const home = join(tempDir('fleet'), 'home');
        for (const key of at ? KEYS : []) {
          mkdirSync(join(home, key, '..'), { recursive: true, mode: 0o700 });
          if (shared) cpSync(join(gates[0].home, key), join(home, key));
        }
        const { url } = await server(at);
        const config = { version: '1', policy: policyFile({ version: '1', default: 'allow' }), servers: { shop: { url } }, pins: { lock: shared ? join(dir, `${at}.lock`) : lock }, ...(shared && { state: { database: dsn } }) };
        const gate = use(t, await startServe({ config, env: { SALLYPORT_HOME: home } }));
        gates.push({ gate, home, upstream: url, url: new URL('/mcp/shop', gate.url).href });
      }
      const say = async (at) => {
        const opened = await post(gates[at].url, initialize);
        const headers = { 'Mcp-Session-Id': opened.headers['mcp-session-id'] };
        return (await post(gates[at].url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'pay', arguments: {} } }, { headers })).json.result;
      };
      const pin = (...args) => cli(['pin', ...args, ...(shared ? ['--fleet'] : ['--lock', lock])], { env: { SALLYPORT_HOME: gates[0].home } });

      const first = await Promise.all([0, 1, 0, 1].map(say));
      assert.deepEqual(first.map(({ isError }) => !!isError), [false, false, false, false], JSON.stringify(first));
      const listed = JSON.parse((await pin('list', '--json')).stdout);
      assert.deepEqual(listed.map(({ server: of, tool }) => `${of} ${tool}`), ['shop pay']);
      if (shared) assert.equal(pg.psql('SELECT count(*), max(number) FROM sallyport.pins', { database: name }).out, '1|1');

      shown[0] = 'Pays, and tells others';
      assert.match((await say(0)).content[0].text, /definition changed/);
      if (shared) await until('the other gate, which is shown the accepted definition, holds it too', async () => (await say(1)).isError);
      shown[1] = shown[0];
      await until('both hold it', async () => (await say(0)).isError && (await say(1)).isError);

      const accepted = await pin('accept', '--server', 'shop', '--upstream', gates[0].upstream);
      assert.equal(accepted.code, 0, accepted.stderr);
      for (const at of [0, 1]) await until(`gate ${at} serves the accepted definition`, async () => !(await say(at)).isError);
      shown[1] = 'Pays twice';
      assert.match((await say(1)).content[0].text, /definition changed/);
    });

  test('the lock file is where the pins of a fleet begin', async (t) => {
    const dir = tempDir('pins'), lock = join(dir, 'sallyport.lock');
    const saved = join(dir, 'tools.json');
    writeFileSync(saved, JSON.stringify({ tools: [{ name: 'pay', description: 'another', inputSchema: { type: 'object' } }] }));
    assert.equal((await cli(['pin', 'accept', '--server', 'shop', '--lock', lock, '--tools-json', saved])).code, 0);
    const { grant, call } = await fleet(t, { gates: 1, root: { pins: { lock } } });
    const token = await grant('agent');
    assert.match((await call(0, token)).result.content[0].text, /definition changed/);
  });

  test('the kill switch of one gate stops all gates', async (t) => {
    const { gates, grant, call } = await fleet(t);
    const token = await grant('agent');
    assert.equal((await cli(['stop-all', '--reason', 'drill'], { env: gates[0].env })).code, 0);
    await until('calls are refused', async () => (await call(1, token)).result?.isError);
    assert.equal((await cli(['resume'], { env: gates[1].env })).code, 0);
    await until('calls pass', async () => (await call(0, token)).result?.isError === undefined);
  });

  test('a gate that cannot read what was stopped lets no grant in until it has read it', async (t) => {
    const { name, dsn } = database();
    const { grant, call, gates } = await fleet(t, { gates: 1, dsn });
    const token = await grant('agent');
    assert.equal((await call(0, token)).status, 200);
    const sql = (text) => { const done = pg.psql(text, { database: name }); assert.ok(done.ok, done.error); };
    sql(`BEGIN; INSERT INTO sallyport.stops(scope,name,reason,by,at_ms,cancel) VALUES(0,'','','psql',1,0); ALTER TABLE sallyport.stops RENAME TO away; COMMIT`);
    const now = () => call(0, token, {}, { patient: false });
    await until('the grant is refused', async () => (await now()).status === 503);
    await gates[0].gate.child.waitLine(/grants are refused until the database answers: .*relation "stops" does not exist/, { stream: 'stderr' });
    sql('ALTER TABLE sallyport.away RENAME TO stops');
    let first;
    await until('grants work again', async () => (first = await now()).status !== 503);
    assert.match(first.result.content[0].text, /stopped by an operator/);
  });

  test('a sign-in holds at every gate; a store that does not answer delays only signed-in users', async (t) => {
    const { name, dsn } = database();
    const { gates } = await fleet(t, { dsn });
    const made = await cli(['grants', 'create', 'boss', '--role', 'admin'], { env: gates[0].env });
    const console_ = { 'Sallyport-Console': '1', 'Content-Type': 'application/json', Connection: 'close' };
    const api = (at, method, path, headers) => fetch(new URL(`/api/v1/${path}`, gates[at].gate.url), { method, headers: { ...console_, ...headers }, ...(method === 'POST' && { body: '{}' }) });
    let entered;
    await until('the grant is known', async () => (entered = await api(0, 'POST', 'session', bearer(made.stdout.trim()))).status === 201);
    const secret = /=([^;]*)/.exec(entered.headers.get('set-cookie'))[1];
    const cookie = (at) => ({ Cookie: `sallyport_${gates[at].gate.port}=${secret}` });
    const status = async (at) => (await api(at, 'GET', 'session', cookie(at))).status;
    const other = async (ask) => { let got; await until('another answer than 503', async () => (got = await ask()) !== 503); return got; };
    for (const at of [0, 1]) await until(`gate ${at} knows it`, async () => await status(at) === 200);

    const lock = pg.session(name);
    await lock.ask('BEGIN; LOCK TABLE sallyport.logins; SELECT 1;');
    let beside = false, refused = false;
    await until('another request is answered while that of the console waits', async () => {
      let waits = true;
      const signedIn = status(0).then((answer) => { waits = false; refused ||= answer === 503; });
      const health = await fetch(new URL('/healthz', gates[0].gate.url), { headers: { Connection: 'close' } });
      beside ||= health.status === 200 && waits;
      await signedIn;
      return beside && refused;
    });
    await lock.ask('COMMIT; SELECT 1;');
    await lock.end();
    await until('the store answers again', async () => await status(0) === 200);

    assert.equal(await other(() => status(1)), 200);
    assert.equal((await api(0, 'DELETE', 'session', cookie(0))).status, 200);
    assert.equal(await other(() => status(0)), 401, 'at once where it ended');
    await until('and at the other gate', async () => await status(1) === 401);
  });

  test('without the database every grant is refused; when it is back grants work again', async (t) => {
    const { grant, call, gates } = await fleet(t, { gates: 1 });
    const token = await grant('agent');
    assert.equal((await call(0, token)).status, 200);
    await pg.stop('SIGINT');
    try {
      await until('grants are refused', async () => (await call(0, token, {}, { patient: false })).status === 503);
      assert.equal((await cli(['grants', 'list'], { env: gates[0].env })).code, 4);
    } finally {
      await pg.start();
    }
    await until('the gate finds the database again', async () => (await call(0, token)).status === 200);
  });

  test('a gate whose home has other keys does not start', async (t) => {
    const { dsn } = await fleet(t, { gates: 1 });
    const home = join(tempDir('fleet'), 'home');
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(join(home, 'database'), `${dsn}\n`, { mode: 0o600 });
    const config = join(home, 'sallyport.yaml');
    writeFileSync(config, JSON.stringify({ version: '1', listen: '127.0.0.1:0', servers: {} }));
    const { code, stderr } = await cli(['serve', '--config', config], { env: { SALLYPORT_HOME: home } });
    assert.equal(code, 4);
    assert.match(stderr, /approvals\.key` is not the key of this fleet: copy the file/);
  });

  test('a narrow role is enough once the tables are there', async (t) => {
    const { name, dsn } = database();
    await fleet(t, { gates: 1, dsn });
    const made = pg.psql(readFileSync(new URL('../../packaging/postgres-role.sql', import.meta.url), 'utf8'), { database: name });
    assert.ok(made.ok, made.error);
    assert.ok(!pg.psql('SET ROLE sallyport_gate; DROP TABLE sallyport.grants', { database: name }).ok);
    assert.ok(pg.psql("SET ROLE sallyport_gate; INSERT INTO sallyport.server_logins(name,number,sealed) VALUES ('x',1,''); UPDATE sallyport.server_logins SET number=2; DELETE FROM sallyport.server_logins", { database: name }).ok);
    pg.psql('ALTER ROLE sallyport_gate LOGIN');
    // The keys of the first gate are on record: this one is another fleet's beginning.
    assert.ok(pg.psql('DELETE FROM sallyport.keys', { database: name }).ok);
    const { grant, call } = await fleet(t, { gates: 1, dsn: dsn.replace(`${pg.user}@`, 'sallyport_gate@') });
    const token = await grant('narrow');
    assert.equal((await call(0, token)).status, 200);
  });
});
