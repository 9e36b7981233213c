// Isolation (protocol.md I1, I2; "zero cross-talk"): 50 clients with the same ids and tokens at the same time, over
// sessions and over the modern era, while servers are killed; every answer carries its client's mark,
// and afterwards the gate holds what it held before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProbe } from '../fixtures/probe.mjs';
import { children, fdCount, mayGrow, peerFor, probeCommand, processName, resultOf, rssBytes, startGate, until, use } from '../lib/index.mjs';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 4);
const retryable = /server `.*`|upstream|cannot be reached|exited|ended|gone/;

// One client's work: everything it sends says who it is, everything it gets must say the same.
async function work(peer, mark, { modern, dies }) {
  let failures = 0;
  const attempt = async (what) => {
    try { return await what(); } catch (error) {
      if (!dies || !retryable.test(error.message)) throw error;
      failures++;
      return undefined;
    }
  };
  for (let round = 0; round < ROUNDS; round++) {
    const said = await attempt(() => Promise.all([1, 2, 3].map((id) => peer.ask('echo', { mark, round, id }, { id }))));
    said?.forEach((answer, i) => assert.deepEqual(answer, { mark, round, id: i + 1 }));
    const from = peer.received.length;
    const done = await attempt(() => peer.call('progress', { steps: 3 }, { id: 7, meta: { progressToken: 'same' } }));
    if (done) assert.deepEqual(peer.received.slice(from).filter(({ json }) => json.method === 'notifications/progress').map(({ json }) => json.params.progress), [1, 2, 3]);
    const log = peer.received.length;
    if (await attempt(() => peer.call('log', { data: mark }, { id: 8, meta: { 'io.modelcontextprotocol/logLevel': 'info' } }))) {
      const texts = peer.received.slice(log).filter(({ json }) => json.method === 'notifications/message').map(({ json }) => json.params.data);
      assert.ok(texts.every((text) => text === mark), `${mark} got ${texts}`);
    }
    if (!modern) {
      const isAnswer = (json) => json?.id === 9 && !('method' in json);
      const answer = await attempt(async () => {
        await peer.send(peer.message('tools/call', { name: 'ask', arguments: { method: 'elicitation/create', params: { message: mark, requestedSchema: { type: 'object', properties: {} } } } }, 9));
        const first = await peer.next((json) => json?.method === 'elicitation/create' || isAnswer(json));
        if (isAnswer(first)) return resultOf(first);
        assert.equal(first.params.message, mark);
        await peer.respond(first.id, { result: { action: 'accept', content: { mark } } });
        return resultOf(await peer.next(isAnswer));
      });
      if (answer) assert.deepEqual(JSON.parse(answer.content[0].text), { action: 'accept', content: { mark } });
    }
  }
  for (const { json } of peer.received) {
    const text = JSON.stringify(json);
    for (const [other] of text.matchAll(/client-\d+\b/g)) assert.equal(other, mark, `${mark} saw ${text}`);
  }
  return failures;
}

const servers = (gate) => children(children(gate.pid)[0]).filter((pid) => processName(pid) !== 'sallyport-spare');
const level = (gate) => ({ fds: fdCount(gate.pid), servers: servers(gate).length });

async function settles(gate, expected) {
  await until(() => `${JSON.stringify(level(gate))} to come down to ${JSON.stringify(expected)}`,
    () => level(gate).fds <= expected.fds && level(gate).servers <= expected.servers);
}

async function wave(gate, fronts, options) {
  const clients = await Promise.all(fronts.map((front) => peerFor(front, gate)));
  const work_ = clients.map((peer, i) => work(peer, `client-${i}`, { modern: fronts[i].startsWith('modern'), ...options }));
  options.meanwhile?.(clients);
  const failures = await Promise.all(work_);
  await Promise.all(clients.map((peer) => (peer.end && peer.sessionId ? peer.end() : peer.close?.())));
  return failures.reduce((sum, count) => sum + count, 0);
}

const mixed = (count, kinds) => Array.from({ length: count }, (_, i) => kinds[i % kinds.length]);

test('50 clients to an HTTP server that forgets its sessions and drops its connections', async (t) => {
  const behind = use(t, await startProbe());
  const gate = use(t, await startGate({ upstream: behind.url }));
  const fronts = mixed(50, ['http', 'modern-http']);
  await wave(gate, fronts, {});
  const before = { ...level(gate), rss: rssBytes(gate.pid) };
  // The server loses everything each time it has seen so many messages more.
  let next = behind.probe.seen.length + 300;
  const stop = setInterval(() => {
    if (behind.probe.seen.length < next) return;
    next = behind.probe.seen.length + 300;
    behind.sessions.clear();
    for (const socket of behind.sockets) socket.destroy();
  }, 5);
  t.after(() => clearInterval(stop));
  await wave(gate, fronts, { dies: true });
  clearInterval(stop);
  assert.equal(await wave(gate, fronts, {}), 0, 'whole again');
  await settles(gate, { fds: before.fds + 4, servers: 0 });
  assert.ok(rssBytes(gate.pid) < before.rss + mayGrow(gate.pid, 24 << 20), `grew from ${before.rss >> 20} to ${rssBytes(gate.pid) >> 20} MB`);
});

test('clients with a child each, and one child shared by the stateless, killed meanwhile', async (t) => {
  const gate = use(t, await startGate({ command: probeCommand() }));
  const fronts = mixed(16, ['http', 'modern-http', 'modern-http', 'modern-http']);
  await wave(gate, fronts, {});
  await settles(gate, { fds: Infinity, servers: 1 });
  const before = { ...level(gate), rss: rssBytes(gate.pid) };
  await wave(gate, fronts, {
    dies: true,
    meanwhile: () => { for (const pid of servers(gate)) process.kill(pid, 'SIGKILL'); },
  });
  await wave(gate, fronts, { dies: true });
  await settles(gate, { fds: before.fds + 4, servers: 1 });
  assert.ok(rssBytes(gate.pid) < before.rss + mayGrow(gate.pid, 24 << 20), `grew from ${before.rss >> 20} to ${rssBytes(gate.pid) >> 20} MB`);
});
