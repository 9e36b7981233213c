// Counters in Redis: several gates share them; a server that is gone closes limited calls, or opens them by setting.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, freePort, legacyServer, peerFor, policyFile, run, startGate, startUpstream, tempDir, use } from '../lib/index.mjs';
import { startRedis } from '../lib/redis.mjs';

const blocks = (tools) => ({ version: '1', default: 'allow', tools });
const daily = (max, more = {}) => ({ counter: 'c', kind: 'calendar', window: 'day', max, ...more });
const outcome = (peer, name, args = {}) => peer.exchange('tools/call', { name, arguments: args }).then(({ json }) => json);
const denied = ({ result }) => Boolean(result?.isError && result._meta?.['sallyport/denial']);

/** Gates with that policy before one server, their counters in one Redis. */
async function fleet(t, policy, { gates = 1, redis, args = [], env = {}, call = () => ({ content: [] }) } = {}) {
  const calls = [];
  const store = redis ?? use(t, await startRedis());
  const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params, context) => { calls.push(params.name); return call(params, context); } } })));
  const peers = [];
  for (let i = 0; i < gates; i++) {
    const gate = use(t, await startGate({ upstream: server.url, policy, args: ['--name', 'shop', '--state-dsn', store.dsn, ...args], env }));
    peers.push(await peerFor('http', gate));
  }
  return { store, calls, peers, peer: peers[0] };
}

describe('counters in Redis', { concurrency: 2 }, () => {
  test('three gates allow exactly what one would', async (t) => {
    const { peers, calls } = await fleet(t, blocks({ pay: { limits: [daily(20)] } }), { gates: 3 });
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => outcome(peers[i % 3], 'pay')));
    assert.equal(answers.filter((answer) => !denied(answer)).length, 20);
    assert.equal(calls.length, 20);
    const { retry_after_ms: retry } = answers.find(denied).result._meta['sallyport/denial'];
    assert.ok(retry > 0 && retry <= 86_400_000, `${retry}`);
  });

  test('every kind of limit, all or none', async (t) => {
    const { peer, calls, store } = await fleet(t, blocks({
      slide: { limits: [daily(2, { kind: 'sliding', counter: 's' })] },
      both: { limits: [daily(5, { counter: 'wide' }), daily(1, { counter: 'narrow' })] },
      wide: { limits: [daily(5, { counter: 'wide' })] },
    }), { args: ['--state-prefix', 'mine:'] });
    for (const [name, passes] of [['slide', 2], ['both', 1]]) {
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push(denied(await outcome(peer, name)));
      assert.deepEqual(answers, [0, 1, 2, 3].map((i) => i >= passes), name);
    }
    for (let i = 0; i < 4; i++) assert.ok(!denied(await outcome(peer, 'wide')), 'a refused call left nothing in the other counter');
    assert.equal(calls.length, 7);
    assert.ok(store.cli('KEYS', '*').split('\n').every((key) => key.startsWith('{mine:}')), 'every key has the prefix as its hash tag');
  });

  test('a call that the server rejects is taken back', async (t) => {
    let fails = true;
    const { peer } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), { call: () => { if (fails) throw Object.assign(new Error('no'), { code: -32602 }); return { content: [] }; } });
    assert.ok((await outcome(peer, 'pay')).error);
    fails = false;
    assert.ok(!denied(await outcome(peer, 'pay')));
    assert.ok(denied(await outcome(peer, 'pay')));
  });

  test('conditions on counters are read there', async (t) => {
    const { peers } = await fleet(t, blocks({
      pay: { rules: [{ name: 'count', conditions: [{ path: 'state.pay.c', op: 'lte', value: 9 }], state: { counter: 'c', window: 'day' } }] },
      refund: { rules: [{ name: 'paid', conditions: [{ path: 'state.pay.c', op: 'gte', value: 2 }] }] },
    }), { gates: 2 });
    assert.ok(denied(await outcome(peers[1], 'refund')));
    for (let i = 0; i < 2; i++) assert.ok(!denied(await outcome(peers[0], 'pay')));
    assert.ok(!denied(await outcome(peers[1], 'refund')));
  });

  for (const mode of ['closed', 'open']) {
    test(`a server that stops, is killed and comes back: ${mode}`, async (t) => {
      const { peer, store, calls } = await fleet(t, blocks({ pay: { limits: [daily(3)] } }), { args: ['--state-fail-mode', mode] });
      assert.ok(!denied(await outcome(peer, 'pay')));
      store.signal('SIGSTOP');
      assert.equal(denied(await outcome(peer, 'pay')), mode === 'closed');
      assert.ok(!denied(await outcome(peer, 'other')), 'what has no limit passes');
      store.signal('SIGCONT');
      await store.stop();
      assert.equal(denied(await outcome(peer, 'pay')), mode === 'closed');
      await store.restart();
      for (let i = 0; i < 200 && denied(await outcome(peer, 'pay')); i++) await new Promise((done) => setTimeout(done, 50));
      assert.ok(calls.length >= 2);
    });
  }

  test('a gate does not start without its store, and does not tell the password', async () => {
    const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', 'redis://me:hush-hush@127.0.0.1:9/0', '--', 'cat']);
    assert.equal(code, 4);
    assert.match(stderr, /state: 127\.0\.0\.1:9: connection refused/);
    assert.doesNotMatch(stderr, /hush/);
  });

  test('a user of its own, a database, a name', async (t) => {
    const redis = use(t, await startRedis({ config: 'port 0\nuser gate on >secret ~{sallyport:}* +@all' }));
    const { peer } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), { redis: { ...redis, dsn: redis.dsn.replace('unix://', 'unix://gate:secret@') + '?db=2&client_name=front' } });
    assert.ok(!denied(await outcome(peer, 'pay')));
    assert.ok(denied(await outcome(peer, 'pay')));
    assert.match(redis.cli('CLIENT', 'LIST'), /name=front .*db=2 .*user=gate/);
  });

  test('TLS: a server whose certificate checks out, and no other', async (t) => {
    const dir = tempDir('redis-tls'), port = await freePort();
    const make = async (...args) => assert.equal((await run('openssl', args, { cwd: dir })).code, 0);
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    await make('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost');
    const redis = use(t, await startRedis({ config: `port 0\nbind 127.0.0.1\ntls-port ${port}\ntls-cert-file ${dir}/ca.pem\ntls-key-file ${dir}/ca.key\ntls-auth-clients no` }));
    const dsn = `rediss://localhost:${port}/1`;
    const { peer } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), { redis: { ...redis, dsn }, env: { SSL_CERT_FILE: join(dir, 'ca.pem') } });
    assert.ok(!denied(await outcome(peer, 'pay')));
    assert.ok(denied(await outcome(peer, 'pay')));
    const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', dsn, '--', 'cat']);
    assert.equal(code, 4);
    assert.match(stderr, /certificate/);
  });
});
