// Who a limit counts for, what rules know of the caller, and that both hold for several gates at the same time: through `serve`, with grants, for
// clients of both eras. One server stands behind the gate twice, as a and b, and counts what reaches it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { cli, legacyServer, peerFor, policyFile, startGate, startServe, startUpstream, tempDir, until, use } from '../lib/index.mjs';

const tool = (name, description = `Does ${name}`) => ({ name, description, inputSchema: { type: 'object' } });
const limit = (scope, max = 2) => ({ limits: [{ counter: scope, kind: 'sliding', window: 'day', max, scope }] });
const known = (path, value) => ({ path, ...(value === undefined ? { op: 'exists', value: true } : { op: 'eq', value }) });
const SCOPES = ['grant', 'identity', 'session', 'server', 'global'];
const TOOLS = [...SCOPES.map((scope) => tool(`by_${scope}`)), tool('who'), tool('read_file', 'Reads a file from disk'), tool('send_email', 'Sends an email')];
const POLICY = {
  version: '1', default: 'allow',
  tools: {
    ...Object.fromEntries(SCOPES.map((scope) => [`by_${scope}`, limit(scope)])),
    who: {
      require: [{
        conditions: [
          known('grant.name', 'anna'), known('grant.label', 'Anna B.'), known('identity.name', 'grant:anna'), known('server.name', 'a'), known('session.id'),
          known('tool.name', 'who'), known('tool.class'), known('call.method', 'tools/call'), known('call.direction', 'to_server'),
        ],
      }],
    },
  },
  flows: [{ name: 'what is ours stays here', after: ['src_private'], deny: ['sink'] }],
};

let server;
let calls = [];
before(async () => {
  server = await startUpstream(legacyServer({ tools: TOOLS, methods: { 'tools/call': ({ name }) => { calls.push(name); return { content: [{ type: 'text', text: 'done' }] }; } } }));
});
after(() => server.close());

const gateOf = (home, policy, more = {}) => startServe({
  args: [], env: { SALLYPORT_HOME: home },
  config: { version: '1', policy: policyFile(policy), code: { enabled: false }, servers: { a: { url: server.url }, b: { url: server.url } }, ...more },
});
async function grant(home, ...args) {
  const { code, stdout, stderr } = await cli(['grants', 'create', ...args], { env: { SALLYPORT_HOME: home } });
  assert.equal(code, 0, stderr);
  return { headers: { Authorization: `Bearer ${stdout.trim()}` } };
}
const denied = async (peer, name, args = {}) => Boolean((await peer.request('tools/call', { name, arguments: args })).isError);

describe('scopes and facts', { concurrency: 1 }, () => {
  const home = join(tempDir(), 'home');
  const peers = {};
  let gate;
  before(async () => {
    const tokens = { anna: await grant(home, 'anna', '--label', 'Anna B.'), bob: await grant(home, 'bob', '--label', 'Anna B.') };
    gate = await gateOf(home, POLICY);
    for (const name of ['anna', 'bob']) {
      for (const [key, front] of [['one', 'http'], ['two', 'http'], ['modern', 'modern-http']]) peers[`${name} ${key}`] = await peerFor(front, gate, tokens[name]);
      peers[`${name} at a`] = await peerFor('modern-http', { url: `${gate.origin}/mcp/a` }, tokens[name]);
    }
  });
  after(() => gate?.stop());

  // Each line: who calls on which server, and whether two a day are used up by then.
  for (const [scope, ...steps] of [
    ['grant', ['anna one', 'a', false], ['anna modern', 'b', false], ['anna two', 'a', true], ['bob one', 'a', false], ['bob modern', 'b', false], ['bob two', 'b', true]],
    ['identity', ['anna one', 'a', false], ['anna modern', 'b', false], ['anna two', 'a', true], ['bob one', 'a', false], ['bob modern', 'b', false], ['bob two', 'b', true]],
    ['session', ['anna one', 'a', false], ['anna one', 'b', false], ['anna one', 'a', true], ['anna two', 'a', false], ['anna two', 'a', false], ['anna two', 'a', true],
      ['anna modern', 'a', false], ['anna modern', 'a', false], ['anna modern', 'a', true], ['bob modern', 'a', false], ['bob modern', 'a', false], ['bob modern', 'a', true]],
    ['server', ['anna one', 'a', false], ['bob modern', 'a', false], ['bob one', 'a', true], ['anna one', 'b', false], ['bob one', 'b', false], ['anna modern', 'b', true]],
    ['global', ['anna one', 'a', false], ['bob modern', 'b', false], ['bob one', 'a', true], ['anna two', 'b', true]],
  ]) {
    test(`a limit of scope ${scope}`, async () => {
      const seen = [];
      for (const [who, where] of steps) seen.push([who, where, await denied(peers[who], `${where}__by_${scope}`)]);
      assert.deepEqual(seen, steps);
      assert.equal(calls.filter((name) => name === `by_${scope}`).length, steps.filter(([, , over]) => !over).length);
    });
  }

  test('rules can read grant, identity, server, session and tool, and no argument can replace them', async () => {
    for (const who of ['anna one', 'anna modern']) {
      assert.equal(await denied(peers[who], 'a__who'), false, who);
      assert.equal(await denied(peers[who], 'b__who', { server: { name: 'a' }, 'server.name': 'a' }), true, who);
    }
    assert.equal(await denied(peers['anna at a'], 'who'), false);
    for (const who of ['bob one', 'bob modern']) assert.equal(await denied(peers[who], 'a__who', { grant: { name: 'anna' }, 'grant.name': 'anna' }), true, who);
  });

  test('flow labels are kept per principal, in every session and at every endpoint', async () => {
    assert.equal(await denied(peers['anna modern'], 'b__send_email'), false);
    assert.equal(await denied(peers['anna modern'], 'a__read_file'), false);
    assert.equal(await denied(peers['anna modern'], 'b__send_email'), true);
    assert.equal(await denied(await peerFor('modern-http', gate, { headers: peers['anna modern'].extraHeaders }), 'a__send_email'), true, 'another connection is the same principal');
    assert.equal(await denied(peers['bob modern'], 'b__send_email'), false);
    assert.equal(await denied(peers['bob at a'], 'send_email'), false);
    assert.equal(await denied(peers['anna one'], 'b__send_email'), true, 'another session is the same principal');
    assert.equal(await denied(peers['anna at a'], 'send_email'), true, 'and so is another endpoint');
  });
});

test('two gates with one home: limits are counted together, and both write one chain without a gap', async (t) => {
  const home = join(tempDir(), 'home');
  const token = await grant(home, 'anna');
  const policy = { version: '1', default: 'allow', tools: {
    pay: { limits: [{ counter: 'sum', kind: 'sliding', window: 'day', max: 100, increment_from: 'args.amount' }] }, count: limit('grant', 30),
  } };
  const gates = await Promise.all([0, 1].map(() => gateOf(home, policy, { audit: { arguments: 'full' } })));
  t.after(() => Promise.all(gates.map((gate) => gate.stop())));
  const peers = await Promise.all(gates.map((gate) => peerFor('http', gate, token)));
  calls = [];
  const all = await Promise.all(Array.from({ length: 120 }, async (_, i) => {
    const name = i % 4 < 2 ? 'count' : 'pay';
    const mark = `mark-${i}-end`;
    return { gate: i % 2, name, mark, denied: await denied(peers[i % 2], `a__${name}`, { mark, amount: 5 }) };
  }));
  const passed = (name) => all.filter((call) => call.name === name && !call.denied).length;
  assert.deepEqual([passed('count'), passed('pay')], [30, 20]);
  assert.deepEqual([calls.filter((name) => name === 'count').length, calls.filter((name) => name === 'pay').length], [30, 20]);

  const env = { SALLYPORT_HOME: home };
  const verify = async () => { const { code, stdout } = await cli(['audit', 'verify', '--json'], { env }); assert.equal(code, 0, stdout); };
  await verify();
  await gates[0].stop();
  assert.equal(await denied(peers[1], 'b__count', { mark: 'last' }), true, 'the one that is left goes on with what both have counted');
  await gates[1].stop();
  await verify();
  const records = (await cli(['audit', 'export'], { env })).stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(records.map(({ seq }) => seq), records.map((_, i) => i + 1), 'one chain');
  const decisions = records.filter(({ kind, method }) => kind === 'decision' && method === 'tools/call');
  const asked = [...all, { mark: 'last', denied: true }];
  assert.deepEqual(decisions.map(({ args, verdict }) => [args.mark, verdict]).sort(), asked.map((call) => [call.mark, call.denied ? 'deny' : 'allow']).sort(), 'every call, once');
  assert.equal(new Set(decisions.map(({ instance }) => instance)).size, 2, 'of both gates');
  const again = await gateOf(home, policy);
  t.after(() => again.stop());
  assert.equal(await denied(await peerFor('modern-http', again, token), 'a__count'), true, 'and so does the next');
});

test('with a store that cannot be written, calls with a limit are denied, or pass by setting', async (t) => {
  for (const [mode, passes] of [['closed', false], ['open', true]]) {
    const home = join(tempDir(), 'home');
    const gate = use(t, await startGate({ transport: 'stdio', policy: { version: '1', default: 'allow', tools: { count: limit('global', 30) } }, args: ['--state-fail-mode', mode], upstream: server.url, env: { SALLYPORT_HOME: home } }));
    const peer = await peerFor('stdio', gate);
    const db = new DatabaseSync(join(home, 'state.sqlite'));
    db.exec('PRAGMA busy_timeout = 60000');
    db.exec('ALTER TABLE counters RENAME TO elsewhere');
    const { result } = (await peer.exchange('tools/call', { name: 'count', arguments: {} })).json;
    assert.equal(Boolean(result.isError), !passes, mode);
    if (!passes) assert.match(result.content[0].text, /Internal policy error/);
    await gate.child.waitLine(passes ? /limit is counted in memory only: the store of counters failed: .*counters/ : /refused what has a limit: the store of counters failed: .*counters/, { stream: 'stderr' });
    assert.equal(await denied(peer, 'who'), false, 'what has no limit needs no store');
    db.exec('ALTER TABLE elsewhere RENAME TO counters');
    db.close();
    await until('a call passes when it works again', async () => !await denied(peer, 'count'));
  }
});
