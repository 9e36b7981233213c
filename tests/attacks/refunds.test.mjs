// A server that executes every call and still answers with a JSON-RPC error, as failing handlers of mcp-go do:
// a limit must not be refunded again and again.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { HttpConnection, legacyServer, MODERN, peerFor, startGate, startUpstream, tempFile, until, use, within } from '../lib/index.mjs';

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

  test('a rate limit refunds at most its maximum', async (t) => {
    code = -32000;
    assert.equal(await reach(t, rules({ name: 'tries', rate_limit: '3/day' }), 'login', 20), 6);
    assert.equal(await reach(t, rules({ name: 'tries', rate_limit: '3/day', refund: 'never' }), 'login', 10), 3);
    assert.equal(await reach(t, rules({ name: 'tries', rate_limit: '3/day', refund: 'proven' }), 'login', 10), 3);
  });

  test('spend limits and limits of the JSON dialect are refunded only when the server provably did nothing', async (t) => {
    code = -32000;
    assert.equal(await reach(t, limits({ max: 3 }), 'pay', 10), 3);
    assert.equal(await reach(t, limits({ max: 30, increment_from: 'args.amount' }), 'pay', 10, { amount: 10 }), 3);
    assert.equal(await reach(t, { version: '1', tools: { pay: { rules: [{ name: 's', spend_limit: '$30/day' }] } } }, 'pay', 10, { amount: 10 }), 3);
    code = -32602;
    assert.equal(await reach(t, limits({ max: 3 }), 'pay', 10), 10);
    assert.equal(await reach(t, limits({ max: 3, refund: 'never' }), 'pay', 10), 3);
  });
});

const ONE_SLOT = { version: '1', default: 'deny', tools: { slow: { limits: [{ counter: 'c', kind: 'concurrent', max: 1 }] } } };
const denial = async (peer) => (await peer.exchange('tools/call', { name: 'slow', arguments: {} })).json.result._meta?.['sallyport/denial'];
const free = (peer) => until('the slot to be free', async () => !await denial(peer));

// The server continues to work, whatever the client does: a concurrency slot is not free before the server is done.
test('a cancelled call keeps its slot until the server has answered', async (t) => {
  let release, arrived;
  const gone = new Promise((resolve) => { release = resolve; }), here = new Promise((resolve) => { arrived = resolve; });
  const slow = async ({ arguments: { wait } }) => { if (wait) { arrived(); await gone; } return { content: [{ type: 'text', text: 'done' }] }; };
  const upstream = use(t, await startUpstream(legacyServer({ tools: [tool('slow')], methods: { 'tools/call': slow } })));
  const peer = await peerFor('stdio', use(t, await startGate({ transport: 'stdio', upstream: upstream.url, policy: ONE_SLOT })));
  await peer.initialize();
  peer.send(peer.message('tools/call', { name: 'slow', arguments: { wait: true } }, 'first'));
  await within(here, 'the first call');
  for (let i = 0; i < 5; i++) {
    await peer.notify('notifications/cancelled', { requestId: 'first' });
    assert.equal((await denial(peer))?.reason, 'limit');
  }
  release();
  await free(peer);
  assert.ok(!peer.received.some(({ json }) => json.id === 'first'), 'no answer to a cancelled call');
});

test('a closed session keeps its slot until the server has answered', async (t) => {
  let release, arrived;
  const gone = new Promise((resolve) => { release = resolve; }), here = new Promise((resolve) => { arrived = resolve; });
  const slow = async ({ arguments: { wait } }) => { if (wait) { arrived(); await gone; } return { content: [{ type: 'text', text: 'done' }] }; };
  const upstream = use(t, await startUpstream(legacyServer({ tools: [tool('slow')], methods: { 'tools/call': slow } })));
  const gate = use(t, await startGate({ upstream: upstream.url, policy: ONE_SLOT }));
  const first = await peerFor('http', gate), second = await peerFor('http', gate);
  first.send(first.message('tools/call', { name: 'slow', arguments: { wait: true } }, 'first')).catch(() => {});
  await within(here, 'the first call');
  assert.equal((await first.end()).status, 200);
  assert.equal((await first.send(first.message('ping', {}, 'p'))).status, 404, 'the session is over for its client');
  for (let i = 0; i < 3; i++) assert.equal((await denial(second))?.reason, 'limit');
  release();
  await free(second);
});

// Modern clients cancel by closing their connection.
describe('a disconnected modern client keeps its slot', { concurrency: 1 }, () => {
  async function disconnected(t, upstream) {
    const gate = use(t, await startGate({ upstream, policy: ONE_SLOT }));
    const peer = await peerFor('modern-http', gate);
    const message = peer.message('tools/call', { name: 'slow', arguments: { wait: true } }, 'first');
    const connection = await HttpConnection.open(gate.url);
    connection.send('POST', { headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...peer.headersFor(message) }, body: message });
    return { peer, connection };
  }
  const gates = () => {
    const made = {};
    for (const name of ['arrived', 'told', 'released']) made[name] = new Promise((resolve) => { made[`${name}Now`] = resolve; });
    return made;
  };

  test('until a server of the legacy era has answered', async (t) => {
    const at = gates();
    const slow = async ({ arguments: { wait } }) => { if (wait) { at.arrivedNow(); await at.released; } return { content: [] }; };
    const plain = legacyServer({ tools: [tool('slow')], methods: { 'tools/call': slow } });
    const upstream = use(t, await startUpstream((req, reply) => { if (req.json?.method === 'notifications/cancelled') at.toldNow(); return plain(req, reply); }));
    const { peer, connection } = await disconnected(t, upstream.url);
    await within(at.arrived, 'the first call');
    connection.reset();
    await within(at.told, 'the cancellation');
    for (let i = 0; i < 5; i++) assert.equal((await denial(peer))?.reason, 'limit');
    at.releasedNow();
    await free(peer);
  });

  test('while a modern server, whose stream is closed, may still work', async (t) => {
    const at = gates();
    const server = createServer(async (req, res) => {
      const { id, method, params } = JSON.parse(Buffer.concat(await req.toArray()));
      if (params.arguments?.wait) {
        res.on('close', at.toldNow);
        at.arrivedNow();
        return;
      }
      const result = method === 'server/discover' ? { supportedVersions: [MODERN], capabilities: { tools: {} }, serverInfo: { name: 'm', version: '1' }, ttlMs: 0, cacheScope: 'public' }
        : method === 'tools/list' ? { tools: [tool('slow')], ttlMs: 0, cacheScope: 'public' } : { content: [] };
      res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }));
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.after(() => server.close());
    const { peer, connection } = await disconnected(t, `http://127.0.0.1:${server.address().port}/mcp`);
    await within(at.arrived, 'the first call');
    connection.reset();
    await within(at.told, 'the cancellation');
    for (let i = 0; i < 5; i++) assert.equal((await denial(peer))?.reason, 'limit');
  });
});

test('a closed session keeps its slot until its process has exited', async (t) => {
  // Ends neither with its input nor on SIGTERM.
  const stubborn = tempFile('stubborn.mjs', `
    import { createInterface } from 'node:readline';
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
    const say = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n');
    createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
      else if (method === 'tools/list') say({ id, result: { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] } });
      else if (method === 'tools/call' && !params.arguments.wait) say({ id, result: { content: [] } });
      else if (method === 'tools/call') say({ method: 'notifications/message', params: { level: 'info', data: String(process.pid) } });
    });`);
  const gate = use(t, await startGate({ command: [process.execPath, stubborn], policy: ONE_SLOT }));
  const first = await peerFor('http', gate), second = await peerFor('http', gate);
  await first.listen();
  first.send(first.message('tools/call', { name: 'slow', arguments: { wait: true } }, 'first')).catch(() => {});
  const pid = Number((await first.next((json) => json.method === 'notifications/message')).params.data);
  assert.equal((await first.end()).status, 200);
  assert.equal((await denial(second))?.reason, 'limit');
  await free(second);
  assert.throws(() => process.kill(pid, 0), 'the process has exited by then');
});

// The answer comes at once, and the work continues.
test('a call that became a task keeps its slot until the task is over', async (t) => {
  const tasks = new Map();
  const task = (taskId) => ({ taskId, status: tasks.get(taskId), createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z', ttl: 600_000 });
  const methods = {
    'tools/call': ({ task: wanted }) => {
      if (!wanted) return { content: [{ type: 'text', text: 'done' }] };
      const id = `task-${tasks.size}`;
      tasks.set(id, 'working');
      return { task: task(id) };
    },
    'tasks/get': ({ taskId }) => task(taskId),
    'tasks/cancel': ({ taskId }) => { tasks.set(taskId, 'cancelled'); return task(taskId); },
    'tasks/result': () => ({ content: [{ type: 'text', text: 'done' }] }),
  };
  const capabilities = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } };
  const upstream = use(t, await startUpstream(legacyServer({ tools: [tool('slow')], capabilities, methods })));
  const peer = await peerFor('stdio', use(t, await startGate({ transport: 'stdio', upstream: upstream.url, policy: ONE_SLOT })));
  await peer.initialize();
  const start = async () => {
    const { json } = await peer.exchange('tools/call', { name: 'slow', arguments: {}, task: { ttl: 600_000 } });
    return json.result.task?.taskId ?? json.result._meta['sallyport/denial'].reason;
  };
  const ask = async (method, taskId) => (await peer.exchange(method, { taskId })).json.result;

  const first = await start();
  assert.equal(await start(), 'limit');
  assert.equal((await ask('tasks/get', first)).status, 'working');
  assert.equal(await start(), 'limit', 'a question does not end the task');
  tasks.set(first, 'completed');
  assert.equal((await ask('tasks/get', first)).status, 'completed');
  const second = await start();
  assert.match(second, /^task-/);
  assert.equal(await start(), 'limit');
  assert.equal((await ask('tasks/cancel', second)).status, 'cancelled');
  const third = await start();
  assert.match(third, /^task-/);
  assert.ok(await ask('tasks/result', third));
  assert.match(await start(), /^task-/);
  assert.equal((await denial(peer))?.reason, 'limit', 'also for a call without a task');
});
