// Counters in Redis: several gates share them; a server that is gone closes limited calls, or opens them by setting.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, freePort, legacyServer, peerFor, policyFile, run, startGate, startServe, startUpstream, tempDir, tempFile, until, use } from '../lib/index.mjs';
import { ModernHttpPeer } from '../lib/peer.mjs';
import { certificates } from '../lib/certificates.mjs';
import { startRedis } from '../lib/redis.mjs';

const blocks = (tools) => ({ version: '1', default: 'allow', tools });
const daily = (max, more = {}) => ({ counter: 'c', kind: 'calendar', window: 'day', max, ...more });
const outcome = (peer, name, args = {}) => peer.exchange('tools/call', { name, arguments: args }).then(({ json }) => json);
const denied = ({ result }) => Boolean(result?.isError && result._meta?.['sallyport/denial']);

// A busy machine may need longer than the default.
const PATIENT = ['--state-timeout', '30s'];

/** Gates with that policy before one server, their counters in one Redis. A busy machine may need longer than the default of --state-timeout. */
async function fleet(t, policy, { gates = 1, redis, timeout = '30s', args = [], env = {}, call = () => ({ content: [] }) } = {}) {
  const calls = [];
  const store = redis ?? use(t, await startRedis());
  const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params, context) => { calls.push(params.name); return call(params, context); } } })));
  const peers = [];
  let gate;
  for (let i = 0; i < gates; i++) {
    gate = use(t, await startGate({ upstream: server.url, policy, args: ['--name', 'shop', '--state-dsn', store.dsn, '--state-timeout', timeout, ...args], env }));
    peers.push(await peerFor('http', gate));
  }
  return { store, calls, peers, gate, peer: peers[0] };
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
      const redis = use(t, await startRedis({ config: 'appendonly yes\nappendfsync always' }));
      const { peer, store, calls } = await fleet(t, blocks({ pay: { limits: [daily(3)] } }), { redis, timeout: '5s', args: ['--state-fail-mode', mode] });
      assert.ok(!denied(await outcome(peer, 'pay')));
      store.signal('SIGSTOP');
      assert.equal(denied(await outcome(peer, 'pay')), mode === 'closed');
      assert.ok(!denied(await outcome(peer, 'other')), 'what has no limit passes');
      store.signal('SIGCONT');
      await store.stop();
      assert.equal(denied(await outcome(peer, 'pay')), mode === 'closed');
      await store.restart();
      await until('the server counts again', async () => !denied(await outcome(peer, 'pay')));
      assert.ok(calls.length >= 2);
    });
  }

  test('each limit has its own fail mode; metrics count passed and refused calls and measure answer times', async (t) => {
    const { peer, store, gate, calls } = await fleet(t, blocks({
      soft: { limits: [daily(9, { counter: 's', fail_mode: 'open' })] }, hard: { limits: [daily(9, { counter: 'h' })] },
      both: { limits: [daily(9, { counter: 'b', fail_mode: 'open' }), daily(9, { counter: 'h' })] },
    }));
    for (const name of ['soft', 'hard', 'both']) assert.ok(!denied(await outcome(peer, name)));
    await store.stop();
    for (const [name, refused] of [['soft', false], ['hard', true], ['both', true]]) assert.equal(denied(await outcome(peer, name)), refused, name);
    assert.deepEqual(calls, ['soft', 'hard', 'both', 'soft']);
    const text = await (await fetch(`${gate.origin}/metrics`)).text();
    const value = (name) => Number(text.match(new RegExp(`^sallyport_state_${name} (\\S+)$`, 'm'))?.[1]);
    assert.equal(value('up'), 0);
    assert.equal(value('faults_total'), 3);
    assert.equal(value('passed_total'), 1);
    assert.equal(value('losses_total'), 0);
    assert.ok(value('unsent_total') >= 2);
    assert.ok(value('request_duration_seconds_count') >= 3 && value('request_duration_seconds_sum') > 0);
    const { code, stderr } = await cli(['validate', '-c', policyFile(blocks({ soft: { limits: [daily(9, { fail_mode: 'opne' })] } }))]);
    assert.equal(code, 1);
    assert.match(stderr, /fail_mode must be "closed" or "open", got "opne".*did you mean "open"/s);
  });

  test('a server that lost writes: calls in open windows are refused at every gate, new ones are counted', async (t) => {
    const { peers, store, calls } = await fleet(t, blocks({
      pay: { limits: [daily(100)] }, slide: { limits: [{ counter: 's', kind: 'sliding', window: 'day', max: 100 }] }, short: { limits: [{ counter: 'm', kind: 'sliding', window: 3, max: 100 }] },
    }), { gates: 2 });
    for (const name of ['pay', 'slide', 'short']) assert.ok(!denied(await outcome(peers[0], name)));
    assert.ok(!denied(await outcome(peers[1], 'pay')));
    await store.restart(); // without its file: everything is lost
    let answer;
    await until('the window is refused', async () => (answer = await outcome(peers[0], 'pay')).result?._meta?.['sallyport/denial']?.retry_after_ms);
    const { retry_after_ms: retry } = answer.result._meta['sallyport/denial'];
    assert.ok(retry > 0 && retry <= 86_400_000, `until the day is over: ${retry}`);
    for (const peer of peers) for (const name of ['pay', 'slide']) assert.ok(denied(await outcome(peer, name)));
    const before = calls.length;
    await until('a short window is over', async () => !denied(await outcome(peers[1], 'short')));
    assert.equal(calls.length, before + 1);
  });

  test('leases: few requests for many calls, never more than N, and what a killed gate held stays counted', async (t) => {
    const N = 600, LEASE = 20, store = use(t, await startRedis());
    let calls = 0;
    const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': () => { calls++; return { content: [] }; } } })));
    const config = { version: '1', policy: policyFile(blocks({ pay: { limits: [daily(N, { scope: 'global' })] } })), servers: { shop: { url: server.url } }, state: { dsn: store.dsn, lease: LEASE, timeout: '30s' } };
    const gates = [];
    for (let i = 0; i < 2; i++) gates.push(use(t, await startServe({ config, args: ['--no-auth'] })));
    const peers = gates.map((gate) => new ModernHttpPeer(`${gate.origin}/mcp/shop`));
    const pay = (peer) => peer.exchange('tools/call', { name: 'pay', arguments: {} }).then(({ json }) => json);
    for (let i = 0; i < 200; i++) assert.ok(!denied(await pay(peers[i % 2])));
    const text = await (await fetch(`${gates[0].origin}/metrics`)).text();
    const value = (name) => Number(text.match(new RegExp(`^sallyport_state_${name} (\\S+)$`, 'm'))?.[1]);
    assert.ok(value('leased_total') >= 80 && value('requests_total') < 40, `${value('leased_total')} leased, ${value('requests_total')} requests`);
    process.kill(gates[1].pid, 'SIGKILL'); // it holds what is left of a slice
    let refused = 0;
    for (let i = 0; i < N && refused < 20; i++) refused += denied(await pay(peers[0]));
    assert.ok(calls <= N && calls > N - LEASE, `${calls} of ${N} calls passed`);
    for (const [bad, why] of [[{ dsn: 'sqlite:', lease: 5 }, /state\.lease needs counters in Redis/], [{ dsn: store.dsn, lease: -1 }, /lease/]]) {
      const { code, stderr } = await cli(['serve', '--listen', '127.0.0.1:0', '--config', tempFile('s.json', JSON.stringify({ ...config, state: bad }))]);
      assert.notEqual(code, 0);
      assert.match(stderr, why);
    }
  });

  test('a gate does not start without its store, and the error does not show the password', async () => {
    const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', 'redis://me:hush-hush@127.0.0.1:9/0', '--', 'cat']);
    assert.equal(code, 4);
    assert.match(stderr, /state: 127\.0\.0\.1:9: connection refused/);
    assert.doesNotMatch(stderr, /hush/);
  });

  test('errors of the start say what to do, and show no part of a password', async (t) => {
    const port = await freePort(), store = use(t, await startRedis({ config: `port ${port}\nbind 127.0.0.1\nrequirepass se@me` }));
    const { peer } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), { redis: { ...store, dsn: `redis://:se@me@127.0.0.1:${port}` } });
    assert.ok(!denied(await outcome(peer, 'pay')), 'a password with an @ that was not encoded');
    for (const [dsn, code, says] of [
      [`redis://127.0.0.1:${port}`, 4, /NOAUTH .*\nfix: put the password into the DSN: redis:\/\/:PASSWORD@HOST/],
      [`redis://:hu@sh@127.0.0.1:${port}`, 4, /WRONGPASS .*\nfix: correct the user or the password/],
      [`redis://:hu?sh@127.0.0.1:${port}`, 3, /state DSN: write a password with @ \/ \? or # percent-encoded/],
      ['host=x password=hu:sh', 3, /the state DSN has no scheme/],
      [`unix:///run/${'x'.repeat(120)}`, 4, /at most 107 bytes\nfix: use a shorter path/],
      ['unix:///nonexistent/redis.sock', 4, /there is no such unix socket\nfix: start the server/],
      ['redis://127.0.0.1:9', 4, /connection refused\nfix: start the server, or correct the host and the port/],
    ]) {
      const failed = await cli(['-c', policyFile(), '--state-dsn', dsn, ...PATIENT, '--', 'cat']);
      assert.equal(failed.code, code, dsn);
      assert.match(failed.stderr, says);
      assert.doesNotMatch(failed.stderr, /hu[@?:]|sh@/);
    }
  });

  test('a gate does not start where it may not write: a replica, keys of somebody else', async (t) => {
    const port = await freePort(), master = use(t, await startRedis({ config: `port ${port}\nuser gate on >secret ~{other:}* +@all` }));
    const replica = use(t, await startRedis({ config: `replicaof 127.0.0.1 ${port}` }));
    for (const [dsn, said] of [[replica.dsn, /state: .*: READONLY /], [master.dsn.replace('unix://', 'unix://gate:secret@'), /state: .*: NOPERM /]]) {
      const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', dsn, ...PATIENT, '--', 'cat']);
      assert.equal(code, 4);
      assert.match(stderr, said);
    }
  });

  test('evicted keys count as lost writes, and so does a flush; a full server that evicts nothing refuses', async (t) => {
    const store = use(t, await startRedis({ config: 'maxmemory 100mb\nmaxmemory-policy allkeys-lru' }));
    const policy = blocks({ pay: { limits: [daily(100)] } });
    const { peer, gate } = await fleet(t, policy, { redis: store });
    await gate.child.waitLine(/the server may evict counters \(maxmemory-policy allkeys-lru\): set noeviction/, { stream: 'stderr' });
    assert.ok(!denied(await outcome(peer, 'pay')));
    const used = Number(/used_memory:(\d+)/.exec(store.cli('INFO', 'memory'))[1]);
    store.cli('CONFIG', 'SET', 'maxmemory', String(used + (1 << 20)));
    store.cli('EVAL', "for n = 1, 4000 do redis.call('SET', 'filler:' .. n, string.rep('x', 1000)) end return 1", '0');
    assert.ok(Number(/evicted_keys:(\d+)/.exec(store.cli('INFO', 'stats'))[1]) > 0);
    // Whichever keys are gone: the number of reservations, which shows at once, or others, which show when a gate joins.
    const { peers: [late] } = await fleet(t, policy, { redis: store });
    for (const at of [peer, late]) await until('the window is refused', async () => (await outcome(at, 'pay')).result._meta?.['sallyport/denial']?.retry_after_ms);
    await gate.child.waitLine(/the store of counters lost writes/, { stream: 'stderr' });

    const full = use(t, await startRedis()), { peer: other, gate: second } = await fleet(t, policy, { redis: full });
    assert.ok(!denied(await outcome(other, 'pay')));
    full.cli('CONFIG', 'SET', 'maxmemory', '1');
    assert.ok(denied(await outcome(other, 'pay')));
    await second.child.waitLine(/OOM command not allowed/, { stream: 'stderr' });
    full.cli('CONFIG', 'SET', 'maxmemory', '0');
    assert.ok(!denied(await outcome(other, 'pay')));
    assert.equal(full.cli('FLUSHALL'), 'OK');
    const { peers: [newcomer] } = await fleet(t, policy, { redis: full });
    for (let i = 0; i < 5; i++) await outcome(newcomer, 'pay'); // more than the first gate counted: the number alone would not tell
    assert.ok(denied(await outcome(other, 'pay')));
    await until('the window is refused', async () => (await outcome(other, 'pay')).result._meta['sallyport/denial'].retry_after_ms > 0);
    assert.ok(denied(await outcome(newcomer, 'pay')));
    await second.child.waitLine(/the store of counters lost writes/, { stream: 'stderr' });
  });

  test('a user of its own, a database, a name', async (t) => {
    const redis = use(t, await startRedis({ config: 'port 0\nuser gate on >secret ~{sallyport:}* +@all' }));
    const { peer } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), { redis: { ...redis, dsn: redis.dsn.replace('unix://', 'unix://gate:secret@') + '?db=2&client_name=front' } });
    assert.ok(!denied(await outcome(peer, 'pay')));
    assert.ok(denied(await outcome(peer, 'pay')));
    assert.match(redis.cli('CLIENT', 'LIST'), /name=front .*db=2 .*user=gate/);
  });

  test('the commands that the documentation lists are enough', async (t) => {
    const doc = readFileSync(new URL('../../docs/fleet.md', import.meta.url), 'utf8');
    const [, first, second] = /An ACL user needs `~\{PREFIX\}\* ([^`]+)` and what the script uses:\s+`([^`]+)`/.exec(doc);
    const redis = use(t, await startRedis({ config: `user gate on >secret ~{sallyport:}* ${first} ${second}` }));
    const policy = blocks({
      pay: { limits: [daily(2), daily(9, { kind: 'sliding', counter: 's' }), { counter: 'b', kind: 'bucket', window: 'minute', max: 60, burst: 9 }] },
      slow: { limits: [{ counter: 'n', kind: 'concurrent', max: 1 }] },
    });
    const { peer } = await fleet(t, policy, { redis: { ...redis, dsn: redis.dsn.replace('unix://', 'unix://gate:secret@') } });
    for (const refused of [false, false, true]) assert.equal(denied(await outcome(peer, 'pay')), refused);
    for (let i = 0; i < 2; i++) assert.ok(!denied(await outcome(peer, 'slow')));
  });

  test('TLS: only a server with a valid certificate is accepted', async (t) => {
    const dir = tempDir('redis-tls'), port = await freePort();
    const make = async (...args) => assert.equal((await run('openssl', args, { cwd: dir })).code, 0);
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    await make('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost');
    const redis = use(t, await startRedis({ config: `port 0\nbind 127.0.0.1\ntls-port ${port}\ntls-cert-file ${dir}/ca.pem\ntls-key-file ${dir}/ca.key\ntls-auth-clients no` }));
    const dsn = `rediss://localhost:${port}/1`;
    const { peer } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), { redis: { ...redis, dsn }, env: { SSL_CERT_FILE: join(dir, 'ca.pem') } });
    assert.ok(!denied(await outcome(peer, 'pay')));
    assert.ok(denied(await outcome(peer, 'pay')));
    const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', dsn, ...PATIENT, '--', 'cat']);
    assert.equal(code, 4);
    assert.match(stderr, /certificate/);
  });

  test('TLS: a server that asks for certificates, as Redis does by default; authorities of its own', async (t) => {
    const dir = tempDir('redis-mtls'), port = await freePort(), { file, authority, certificate } = certificates(dir);
    await authority('ca');
    for (const name of ['redis', 'gate']) await certificate(name, 'ca', 'subjectAltName=DNS:localhost');
    const redis = use(t, await startRedis({ config: `port 0\nbind 127.0.0.1\ntls-port ${port}\ntls-cert-file ${file('redis.pem')}\ntls-key-file ${file('redis.key')}\ntls-ca-cert-file ${file('ca.pem')}` }));
    const at = `rediss://localhost:${port}/0?sslrootcert=${file('ca.pem')}`;
    const { peer } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), { redis: { ...redis, dsn: `${at}&sslcert=${file('gate.pem')}&sslkey=${file('gate.key')}` } });
    assert.ok(!denied(await outcome(peer, 'pay')));
    assert.ok(denied(await outcome(peer, 'pay')));
    for (const [dsn, said] of [[at, /state: localhost:\d+: /], [`${at}&sslcert=${file('gate.pem')}`, /sslcert and sslkey belong together/],
      [`${at}&sslcert=${file('none.pem')}&sslkey=${file('gate.key')}`, /none\.pem/], [at.replace('rediss', 'redis'), /unknown option `sslrootcert`/]]) {
      const { code, stderr } = await cli(['-c', policyFile(), '--state-dsn', dsn, ...PATIENT, '--', 'cat']);
      assert.notEqual(code, 0);
      assert.match(stderr, said);
    }
  });
});
