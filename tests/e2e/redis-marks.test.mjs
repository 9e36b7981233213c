// `state.after_loss: database`: what counters in Redis have used is bounded by marks in PostgreSQL, and a server that lost writes goes on from them.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cli, legacyServer, policyFile, startServe, startUpstream, tempDir, tempFile, until, use } from '../lib/index.mjs';
import { ModernHttpPeer } from '../lib/peer.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';
import { startRedis } from '../lib/redis.mjs';

const N = 60;
const limit = (counter, kind, max = N) => ({ limits: [{ counter, kind, window: 'day', max, scope: 'global' }] });
const policy = { version: '1', default: 'allow', tools: { pay: limit('p', 'calendar'), slide: limit('s', 'sliding'), drip: limit('d', 'bucket') } };
const denied = ({ result }) => Boolean(result?.isError && result._meta?.['sallyport/denial']);

describe('marks of counters in PostgreSQL', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg, count = 0;
  before(async () => { pg = await startPostgres(); });
  after(() => pg.stop());

  /** {start(more), calls, keys, name}: gates of one database before one server. */
  async function fleet(t, redis) {
    const calls = [], name = `marks${++count}`, homes = [];
    assert.ok(pg.psql(`CREATE DATABASE ${name}`).ok);
    const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params) => { calls.push(params.name); return { content: [] }; } } })));
    const start = async ({ dsn = redis.dsn, state = {} } = {}) => {
      const home = join(tempDir('marks'), 'home');
      for (const key of homes.length ? ['approvals.key', 'secret.key', 'pii/key'] : []) {
        mkdirSync(join(home, key, '..'), { recursive: true, mode: 0o700 });
        cpSync(join(homes[0], key), join(home, key));
      }
      homes.push(home);
      const config = { version: '1', policy: policyFile(policy), servers: { shop: { url: server.url } },
        state: { dsn, database: `postgres://${pg.user}@/${name}?host=${pg.socket}`, after_loss: 'database', timeout: '30s', ...state } };
      const gate = use(t, await startServe({ config, args: ['--no-auth'], env: { SALLYPORT_HOME: home } }));
      const peer = new ModernHttpPeer(`${gate.origin}/mcp/shop`);
      const call = (tool) => peer.exchange('tools/call', { name: tool, arguments: {} }).then(({ json }) => json);
      return { gate, call, home };
    };
    const reached = (tool) => calls.filter((one) => one === tool).length;
    return { start, reached, name };
  }
  const some = async (gate, tool, n) => { for (let i = 0; i < n; i++) assert.ok(!denied(await gate.call(tool)), `${tool} ${i}`); };
  /** Until the limit refuses, at all of them. */
  const drain = async (gates, tool) => {
    for (let refused = 0, i = 0; refused < 3 * gates.length && i < 4 * N; i++) refused = denied(await gates[i % gates.length].call(tool)) ? refused + 1 : 0;
  };

  test('a server that lost everything goes on from the marks: calls pass, and never more than the limit', async (t) => {
    const redis = use(t, await startRedis()), { start, reached } = await fleet(t, redis);
    const gates = [await start(), await start()];
    for (const gate of gates) for (const tool of ['pay', 'slide']) await some(gate, tool, 10);
    await some(gates[0], 'drip', 1);
    await redis.restart(); // without its file
    await until('calls pass again', async () => !denied(await gates[0].call('pay')));
    for (const tool of ['pay', 'slide']) {
      await drain(gates, tool);
      assert.ok(reached(tool) <= N && reached(tool) > 20, `${reached(tool)} calls of ${tool} passed`);
    }
    assert.ok(denied(await gates[0].call('drip')), 'a bucket has no mark');
    await gates[0].gate.child.waitLine(/lost writes .*: windows go on from their marks in PostgreSQL; without a mark, limited calls are refused/, { stream: 'stderr' });
  });

  test('gates that were not there when the server was emptied know it', async (t) => {
    const redis = use(t, await startRedis()), { start, reached } = await fleet(t, redis);
    const first = await start();
    await some(first, 'pay', 30);
    await first.gate.stop();
    assert.equal(redis.cli('FLUSHALL'), 'OK');
    const next = await start();
    await drain([next], 'pay');
    assert.ok(reached('pay') <= N && reached('pay') > 30, `${reached('pay')} calls passed`);
  });

  test('two servers that both count, as after a failover that left the old one running: never more than the limit in all', async (t) => {
    const old = use(t, await startRedis()), promoted = use(t, await startRedis()), { start, reached } = await fleet(t, old);
    const here = await start();
    await some(here, 'pay', 5);
    const there = await start({ dsn: promoted.dsn });
    await drain([here, there], 'pay');
    assert.ok(reached('pay') <= N && reached('pay') > 5, `${reached('pay')} calls passed`);
  });

  test('without the database, calls that their marks cover pass, and others meet the fail mode', async (t) => {
    const redis = use(t, await startRedis()), { start, reached } = await fleet(t, redis);
    const gate = await start();
    await some(gate, 'pay', 1); // the mark has room for 16 more
    await pg.stop();
    t.after(() => pg.ready());
    await some(gate, 'pay', 16);
    assert.ok(denied(await gate.call('pay')));
    assert.equal(reached('pay'), 17);
    await pg.ready();
    await until('a mark can be written', async () => !denied(await gate.call('pay')));
    assert.equal(reached('pay'), 18, 'what was refused was taken back');
  });

  test('a gate without the setting shows; the setting needs a database and Redis', async (t) => {
    const redis = use(t, await startRedis()), { start, name } = await fleet(t, redis);
    await start({ state: { after_loss: 'refuse' } });
    const { gate, home } = await start();
    await gate.child.waitLine(/a gate without `state\.after_loss: database` counts at the same server/, { stream: 'stderr' });
    const database = `postgres://${pg.user}@/${name}?host=${pg.socket}`;
    for (const [state, says] of [[{ dsn: redis.dsn }, /state\.after_loss: database keeps marks in `state\.database`, which is not set/], [{ database, dsn: 'memory:' }, /state\.after_loss: database needs counters in Redis/]]) {
      const file = tempFile('sallyport.yaml', JSON.stringify({ version: '1', servers: { x: { command: 'true' } }, state: { ...state, after_loss: 'database' } }));
      const { code, stderr } = await cli(['serve', '--no-auth', '--listen', '127.0.0.1:0', '-c', file], { env: { SALLYPORT_HOME: home } });
      assert.notEqual(code, 0);
      assert.match(stderr, says);
    }
  });
});
