// A fleet: three gates of two workers each, one Redis, one PostgreSQL, and haproxy that deals connections out in turn. One limit, one set of
// grants and one answer of each audit log, whatever is killed meanwhile.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DEADLINE_MS, children, cli, commandLine, legacyServer, policyFile, startServe, startUpstream, tempDir, use } from '../lib/index.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';
import { startHaproxy } from '../lib/proxy.mjs';
import { startRedis } from '../lib/redis.mjs';
import { ModernHttpPeer } from '../lib/peer.mjs';

const GATES = 3, WORKERS = 2;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

describe('three gates of two workers', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg, redis, count = 0;
  before(async () => {
    pg = await startPostgres();
    redis = await startRedis({ config: 'appendonly yes\nappendfsync always' });
  });
  after(() => Promise.all([pg.stop(), redis.stop()]));

  // timeout: how long a call waits for Redis.
  async function fleet(t, max, timeout = '1s') {
    const database = `whole${++count}`;
    assert.ok(pg.psql(`CREATE DATABASE ${database}`).ok);
    const oracle = { calls: 0 };
    const server = use(t, await startUpstream(legacyServer({
      methods: { 'tools/list': () => ({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }), 'tools/call': () => { oracle.calls++; return { content: [{ type: 'text', text: 'paid' }] }; } },
    })));
    const policy = { version: '1', default: 'allow', tools: { pay: { limits: [{ counter: 'c', kind: 'calendar', window: 'day', max }] } } };
    const gates = [];
    for (let i = 0; i < GATES; i++) {
      const home = join(tempDir('fleet'), 'home');
      for (const key of i ? ['approvals.key', 'secret.key', 'pii/key'] : []) {
        mkdirSync(join(home, key, '..'), { recursive: true, mode: 0o700 });
        cpSync(join(gates[0].home, key), join(home, key));
      }
      const config = { version: '1', policy: policyFile(policy), servers: { shop: { url: server.url } },
        state: { dsn: redis.dsn, timeout, prefix: `${database}:`, database: `postgres://${pg.user}@/${database}?host=${pg.socket}` } };
      const env = { SALLYPORT_HOME: home };
      gates.push({ gate: use(t, await startServe({ config, args: ['--workers', String(WORKERS)], env, timeout: 60_000 })), home, env });
    }
    const proxy = use(t, await startHaproxy(gates.map(({ gate }) => [gate.port, 'check inter 200ms'])));
    const made = await cli(['grants', 'create', 'agents'], { env: gates[0].env });
    assert.equal(made.code, 0, made.stderr);
    const headers = { Authorization: `Bearer ${made.stdout.trim()}`, Connection: 'close' };
    // Connections go to any worker of a gate: so many in a row have met every one.
    const everywhere = async (what, status) => {
      const end = Date.now() + DEADLINE_MS;
      for (const { gate } of gates)
        for (let row = 0; row < 16; row++) {
          const answer = await fetch(`http://127.0.0.1:${gate.port}/mcp/shop`, { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: '{}' });
          await answer.text();
          if (!status(answer.status)) row = -1;
          assert.ok(Date.now() < end, what);
        }
    };
    await everywhere('the grant is known', (status) => status !== 401);
    const client = (port = proxy.port) => new ModernHttpPeer(`http://127.0.0.1:${port}/mcp/shop`, { headers });
    const pay = (peer) => peer.exchange('tools/call', { name: 'pay', arguments: {} }).then(({ json }) => json, (error) => ({ error }));
    return { oracle, gates, client, pay, everywhere };
  }
  const passed = (answers) => answers.filter(({ result }) => result && !result.isError).length;

  async function logsAreSound(gates) {
    for (const { gate, env } of gates) {
      await gate.stop();
      const { code, stdout } = await cli(['audit', 'verify'], { env });
      assert.equal(code, 0, stdout);
    }
  }

  test('64 clients on one limit get exactly N calls; a revoked grant is refused at every worker', async (t) => {
    const { oracle, gates, client, pay, everywhere } = await fleet(t, 100, '30s');
    const end = Date.now() + DEADLINE_MS;
    const answers = (await Promise.all(Array.from({ length: 64 }, async () => {
      const peer = client(), got = [];
      // A gate on a busy machine whose copy of the database is late refuses grants for a moment: the call never started.
      while (got.length < 3) {
        const answer = await pay(peer);
        if (answer.result) got.push(answer);
        assert.ok(answer.result || Date.now() < end, JSON.stringify(answer));
      }
      return got;
    }))).flat();
    assert.ok(answers.every(({ result }) => !result.isError || result._meta['sallyport/denial'].retry_after_ms > 0), 'only the limit refuses');
    assert.equal(passed(answers), 100);
    assert.equal(oracle.calls, 100);
    assert.equal((await cli(['grants', 'revoke', 'agents'], { env: gates[1].env })).code, 0);
    await everywhere('the revoked grant is refused', (status) => status === 401);
    await logsAreSound(gates);
  });

  test('kill -9 of workers, of Redis and of PostgreSQL under load: never more than N, and every log is sound', async (t) => {
    const { oracle, gates, client, pay } = await fleet(t, 300);
    let over = false, full = false;
    const load = Array.from({ length: 16 }, async () => {
      const got = [];
      for (const peer = client(); !over;) {
        const answer = await pay(peer);
        full ||= answer.result?._meta?.['sallyport/denial']?.retry_after_ms > 0;
        got.push(answer);
      }
      return got;
    });
    const workers = ({ gate }) => children(gate.pid).filter((pid) => commandLine(pid).join(' ').includes('serve'));
    // The fleet goes on: so many more calls pass, or the limit is reached.
    const more = async (calls) => {
      const end = Date.now() + DEADLINE_MS;
      for (const from = oracle.calls; !full && oracle.calls < from + calls; await sleep(20)) assert.ok(Date.now() < end, `${oracle.calls} calls, from ${from} on`);
    };
    await more(60);
    process.kill(workers(gates[0])[0], 'SIGKILL');
    await more(20);
    process.kill(workers(gates[1])[1], 'SIGKILL');
    await redis.restart(); // kill -9, and what it had written; it counts again when it has heard of every gate, or after half a minute
    await sleep(300);
    await pg.stop('SIGQUIT');
    await sleep(300);
    await pg.start();
    await sleep(1500);
    over = true;
    const answers = (await Promise.all(load)).flat();
    const reached = oracle.calls;
    t.diagnostic(`${reached} of 300 calls reached the server, ${passed(answers)} were answered, ${answers.length} were made`);
    assert.ok(reached > 50, 'the fleet worked');
    assert.ok(reached <= 300, `${reached} calls reached the server`);
    assert.ok(passed(answers) <= reached);
    // What is left of the limit can be used: no more than that.
    const rest = await Promise.all(Array.from({ length: 320 - reached }, () => pay(client())));
    assert.ok(oracle.calls <= 300, `${oracle.calls} after ${rest.length} more`);
    await logsAreSound(gates);
  });
});
