// What gates of a fleet share in PostgreSQL (docs/fleet.md): grants, approvals, the kill switch, values behind tokens; and what happens
// when the database is gone. The unit tests of the stores run over it, too.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DEADLINE_MS, approve, cli, legacyServer, policyFile, sallyport, startServe, startUpstream, tempDir, use } from '../lib/index.mjs';
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
async function until(what, holds) {
  for (const end = Date.now() + DEADLINE_MS; !await holds(); await new Promise((done) => setTimeout(done, 50))) assert.ok(Date.now() < end, `never: ${what}`);
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
    // A gate that is late to hear of the database refuses for a moment (503).
    const call = async (at, token, args = {}, { patient = true } = {}) => {
      let opened;
      await until('the gate answers', async () => (opened = await post(started[at].url, initialize, { headers: bearer(token) })).status !== 503 || !patient);
      if (opened.status !== 200) return { status: opened.status };
      const headers = { ...bearer(token), 'Mcp-Session-Id': opened.headers['mcp-session-id'] };
      const answer = await post(started[at].url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'pay', arguments: args } }, { headers });
      return { status: answer.status, ...answer.json };
    };
    return { calls, gates: started, grant, call, dsn };
  }

  for (const store of ['grants', 'approvals', 'vault', 'lasting'])
    test(`the unit tests of ${store} hold`, () => {
      const { dsn } = database();
      const { status, stdout, stderr } = spawnSync(join(sallyport, '../tests/unit', `test_state_${store}`), { encoding: 'utf8', env: { ...process.env, SALLYPORT_TEST_DATABASE: dsn } });
      assert.equal(status, 0, stdout + stderr);
      assert.match(stderr + stdout, /PASSED/);
    });

  test('a grant created at one gate is valid at the other, and refused there after its revocation', async (t) => {
    const { gates, grant, call } = await fleet(t);
    const token = await grant('ci');
    const opened = await post(gates[1].url, initialize, { headers: bearer(token) });
    const session = { ...bearer(token), 'Mcp-Session-Id': opened.headers['mcp-session-id'] };
    assert.equal((await post(gates[1].url, list, { headers: session })).status, 200);
    assert.equal((await cli(['grants', 'revoke', 'ci'], { env: gates[0].env })).code, 0);
    await until('its session ends', async () => (await post(gates[1].url, list, { headers: session })).status !== 200);
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

  test('the kill switch of one gate stops all gates', async (t) => {
    const { gates, grant, call } = await fleet(t);
    const token = await grant('agent');
    assert.equal((await cli(['stop-all', '--reason', 'drill'], { env: gates[0].env })).code, 0);
    await until('calls are refused', async () => (await call(1, token)).result?.isError);
    assert.equal((await cli(['resume'], { env: gates[1].env })).code, 0);
    await until('calls pass', async () => (await call(0, token)).result?.isError === undefined);
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
    pg.psql('ALTER ROLE sallyport_gate LOGIN');
    // The keys of the first gate are on record: this one is another fleet's beginning.
    assert.ok(pg.psql('DELETE FROM sallyport.keys', { database: name }).ok);
    const { grant, call } = await fleet(t, { gates: 1, dsn: dsn.replace(`${pg.user}@`, 'sallyport_gate@') });
    const token = await grant('narrow');
    assert.equal((await call(0, token)).status, 200);
  });
});
