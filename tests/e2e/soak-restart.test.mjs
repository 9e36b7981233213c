// Isolation under restarts (protocol.md I1, J2, U2): 50 clients with the same ids and tokens, over sessions and the modern era, on an
// HTTP server whose process is killed and started again. Every answer carries its client's mark, and the gate ends as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fdCount, fixture, freePort, node, peerFor, rssBytes, start, startGate, until, use } from '../lib/index.mjs';

const CLIENTS = 50;
const KILLS = 3;
// Where freed memory is kept aside to find its late users, little of it is: growth shall mean a leak.
const ASAN_OPTIONS = [process.env.ASAN_OPTIONS, 'quarantine_size_mb=2', 'thread_local_quarantine_size_kb=64'].filter(Boolean).join(':');

async function startServer(port) {
  const server = start(node, [fixture('probe.mjs'), 'soak', '--http', `${port}`]);
  await server.waitLine(/"port"/);
  return server;
}

// One call; undefined when the server was away, which the answer must say.
async function attempt(what) {
  try {
    return await what();
  } catch (error) {
    if (error.code !== -32603) throw error;
    assert.match(error.message, /server `127\.0\.0\.1-\d+-mcp`/);
    return undefined;
  }
}

async function work(peer, mark, isOver) {
  const count = { answered: 0, away: 0 };
  while (!isOver()) {
    const [one, two] = await Promise.all([
      attempt(() => peer.ask('echo', { mark }, { id: 1 })), attempt(() => peer.call('progress', { steps: 2, mark }, { id: 2, meta: { progressToken: 'same' } })),
    ]);
    if (one) assert.deepEqual(one, { mark });
    for (const answer of [one, two]) count[answer ? 'answered' : 'away']++;
    for (const { json } of peer.received.splice(0)) {
      assert.ok(json.id === undefined || [1, 2, 'init'].includes(json.id) || `${json.id}`.startsWith('after '), JSON.stringify(json));
      for (const [other] of JSON.stringify(json).matchAll(/client-\d+\b/g)) assert.equal(other, mark);
      if (json.method === 'notifications/progress') assert.equal(json.params.progressToken, 'same');
    }
  }
  return count;
}

test('50 clients while the server is killed and comes back', async (t) => {
  const port = await freePort();
  let server = await startServer(port);
  use(t, { stop: () => server.stop({ signal: 'SIGKILL' }) });
  const gate = use(t, await startGate({ upstream: `http://127.0.0.1:${port}/mcp`, env: { ASAN_OPTIONS } }));
  const peers = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => peerFor(i % 2 ? 'modern-http' : 'http', gate)));
  const round = (isOver) => Promise.all(peers.map((peer, i) => work(peer, `client-${i}`, isOver)));
  const once = () => { let left = CLIENTS * 3; return () => left-- <= 0; };
  await round(once());
  const before = { fds: fdCount(gate.pid), rss: rssBytes(gate.pid) };

  let over = false;
  const busy = round(() => over);
  for (let i = 0; i < KILLS; i++) {
    await server.stop({ signal: 'SIGKILL' });
    server = await startServer(port);
    // Every client has been served by the new process before it is killed, too.
    await Promise.all(peers.map((peer) => until('the server to be back', () => attempt(() => peer.ask('mark', {}, { id: `after ${i}` })))));
  }
  over = true;
  const counts = await busy;
  assert.ok(counts.every(({ answered }) => answered > 0));
  assert.equal((await round(once())).reduce((sum, { away }) => sum + away, 0), 0, 'whole again');
  await until(() => `${fdCount(gate.pid)} descriptors to become ${before.fds}`, () => fdCount(gate.pid) <= before.fds + 4);
  assert.ok(rssBytes(gate.pid) < before.rss + (24 << 20), `grew from ${before.rss >> 20} to ${rssBytes(gate.pid) >> 20} MB`);
});
