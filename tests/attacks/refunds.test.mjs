// A server that answers every call with a JSON-RPC error, although it has carried it out, as failing handlers of mcp-go do:
// a limit must not be handed out again and again.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { legacyServer, peerFor, startGate, startUpstream, use, within } from '../lib/index.mjs';

const tool = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object', properties: { amount: { type: 'number' } } } });

describe('refunds', { concurrency: 1 }, () => {
  let server;
  let code = -32000;
  let done = 0;
  before(async () => {
    const fail = () => { done++; throw Object.assign(new Error('wrong password'), { code }); };
    server = await startUpstream(legacyServer({ tools: [tool('login'), tool('pay'), tool('twice')], methods: { 'tools/call': fail } }));
  });
  after(() => server.close());

  /** How many of `tries` calls reach the server. */
  async function reach(t, policy, name, tries, args = {}) {
    const peer = await peerFor('http', use(t, await startGate({ upstream: server.url, policy })));
    await peer.initialize();
    done = 0;
    for (let i = 0; i < tries; i++) await peer.exchange('tools/call', { name, arguments: args });
    return done;
  }
  const rules = (...list) => ({ version: '1', tools: { login: { rules: list } } });
  const limits = (limit) => ({ version: '1', default: 'deny', tools: { pay: { limits: [{ counter: 'c', window: 'day', ...limit }] } } });

  test('a rate limit gives back its maximum at most', async (t) => {
    code = -32000;
    assert.equal(await reach(t, rules({ name: 'tries', rate_limit: '3/day' }), 'login', 20), 6);
    assert.equal(await reach(t, rules({ name: 'tries', rate_limit: '3/day', refund: 'never' }), 'login', 10), 3);
    assert.equal(await reach(t, rules({ name: 'tries', rate_limit: '3/day', refund: 'proven' }), 'login', 10), 3);
  });

  test('money and limits of the JSON dialect are given back only when nothing was done', async (t) => {
    code = -32000;
    assert.equal(await reach(t, limits({ max: 3 }), 'pay', 10), 3);
    assert.equal(await reach(t, limits({ max: 30, increment_from: 'args.amount' }), 'pay', 10, { amount: 10 }), 3);
    assert.equal(await reach(t, { version: '1', tools: { pay: { rules: [{ name: 's', spend_limit: '$30/day' }] } } }, 'pay', 10, { amount: 10 }), 3);
    code = -32602;
    assert.equal(await reach(t, limits({ max: 3 }), 'pay', 10), 10);
    assert.equal(await reach(t, limits({ max: 3, refund: 'never' }), 'pay', 10), 3);
  });
});

// The server works on, whatever the client says: a call that is cancelled keeps its place among those at the same time.
test('a cancelled call keeps its place until the server has answered', async (t) => {
  let release, arrived;
  const gone = new Promise((resolve) => { release = resolve; }), here = new Promise((resolve) => { arrived = resolve; });
  const slow = async ({ arguments: { wait } }) => { if (wait) { arrived(); await gone; } return { content: [{ type: 'text', text: 'done' }] }; };
  const upstream = use(t, await startUpstream(legacyServer({ tools: [tool('slow')], methods: { 'tools/call': slow } })));
  const policy = { version: '1', default: 'deny', tools: { slow: { limits: [{ counter: 'c', kind: 'concurrent', max: 1 }] } } };
  const peer = await peerFor('stdio', use(t, await startGate({ transport: 'stdio', upstream: upstream.url, policy })));
  await peer.initialize();
  const call = async () => (await peer.exchange('tools/call', { name: 'slow', arguments: {} })).json.result;
  peer.send(peer.message('tools/call', { name: 'slow', arguments: { wait: true } }, 'first'));
  await within(here, 'the first call');
  for (let i = 0; i < 5; i++) {
    await peer.notify('notifications/cancelled', { requestId: 'first' });
    assert.equal((await call())._meta?.['sallyport/denial'].reason, 'limit');
  }
  release();
  const again = async () => { while ((await call()).isError); };
  await within(again(), 'the place to be free');
  assert.ok(!peer.received.some(({ json }) => json.id === 'first'), 'no answer to a cancelled call');
});
