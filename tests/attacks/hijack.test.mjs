// Other people's sessions and credentials (attacks 20-22; protocol.md I1, I2, I6).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pair, peerFor, post, probeCommand, request, startGate, suitePair, tempFile, use } from '../lib/index.mjs';

const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };

describe('21 sessions', () => {
  const world = suitePair('http', 'child');

  test('an unknown or slightly changed session id gets 404 at every endpoint', async () => {
    const { peer, gate } = world;
    const id = peer.sessionId;
    const swapped = id.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    for (const other of [swapped, id.slice(0, -1), `${id}x`, id.toLowerCase() === id ? id.toUpperCase() : id.toLowerCase(), `${id}, ${id}`, '../', '%00', 'x'.repeat(4000), '*']) {
      for (const [method, options] of [['POST', { body: ping }], ['GET', {}], ['DELETE', {}]]) {
        const response = await request(method, gate.url, {
          headers: { 'Mcp-Session-Id': other, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }, ...options,
        });
        assert.equal(response.status, 404, `${method} ${other.slice(0, 50)}`);
        response.close();
      }
    }
    assert.equal((await peer.send(ping)).status, 200, 'the real one is unharmed');
  });

  test('a session id in the query is ignored; the case of the header name does not matter', async () => {
    const { peer, gate } = world;
    assert.equal((await post(gate.url, ping, { path: `/mcp?sessionId=${peer.sessionId}` })).status, 400);
    assert.equal((await post(gate.url, { ...ping, id: 2 }, { headers: { 'mcp-session-ID': peer.sessionId } })).status, 200);
  });

  test('a client cannot answer another one\'s question, nor cancel its call', async () => {
    const { peer, gate } = world;
    const other = await peerFor('http', gate);
    const asked = peer.ask('ask', { method: 'roots/list' }, { id: 'mine' });
    const question = await peer.next((json) => json?.method === 'roots/list');
    for (const id of [question.id, 1000, '1000']) await other.respond(id, { result: { roots: [{ uri: 'file:///evil' }] } });
    await other.notify('notifications/cancelled', { requestId: 'mine' });
    await other.call('echo');
    await peer.respond(question.id, { result: { roots: [{ uri: 'file:///good' }] } });
    assert.deepEqual(await asked, { roots: [{ uri: 'file:///good' }] });
    await peer.respond(question.id, { result: { roots: [{ uri: 'file:///twice' }] } });
    assert.equal((await peer.ask('seen')).filter((entry) => entry.raw?.includes('file:///')).length, 1);
    await other.end();
  });

  test('I1 no message of one session appears on the stream of another', async () => {
    const { peer, gate } = world;
    const other = await peerFor('http', gate);
    await other.listen();
    const before = other.received.length;
    await peer.call('progress', { steps: 3 }, { meta: { progressToken: 'shared' } });
    await peer.call('log', { data: 'private' });
    await peer.call('change');
    await peer.call('update', { uri: 'test://private' });
    await other.call('echo', {}, { meta: { progressToken: 'shared' } });
    assert.equal(other.received.length, before + 1, 'only its own answer');
    await other.end();
  });

  test('every request of a session needs the token', async (t) => {
    const gate = use(t, await startGate({ command: probeCommand(), args: ['--token-file', tempFile('token', 'a-long-enough-token')] }));
    const peer = await peerFor('http', gate, { headers: { Authorization: 'Bearer a-long-enough-token' } });
    for (const headers of [{}, { Authorization: 'Bearer other-long-token-x' }]) {
      assert.equal((await post(gate.url, ping, { headers: { 'Mcp-Session-Id': peer.sessionId, ...headers } })).status, 401);
      assert.equal((await request('DELETE', gate.url, { headers: { 'Mcp-Session-Id': peer.sessionId, ...headers } })).status, 401);
      assert.equal((await request('GET', gate.url, { headers: { 'Mcp-Session-Id': peer.sessionId, Accept: 'text/event-stream', ...headers } })).status, 401);
    }
    assert.ok(await peer.call('echo'));
  });
});

describe('20 I6 credentials and headers of the client are not forwarded', () => {
  const secret = {
    Authorization: 'Bearer clients-own', Cookie: 'sid=1', 'Proxy-Authorization': 'Basic x', 'X-Api-Key': 'k', 'X-Forwarded-For': '10.0.0.1', Forwarded: 'for=1',
    'Keep-Alive': 'timeout=5', TE: 'trailers', Upgrade: 'h2c', 'X-Custom': 'c', Referer: 'http://x', 'User-Agent': 'spy/1', 'Last-Event-ID': '9-9',
  };

  for (const front of ['http', 'modern-http', 'sse']) {
    test(`${front}: neither credentials nor hop-by-hop headers nor the client's session id`, async (t) => {
      const { peer, probe } = await pair(t, front, 'http', { peer: { headers: secret } });
      await peer.call('echo');
      if (front === 'http') await peer.listen();
      const heads = probe.seen.filter(({ headers }) => headers).map(({ headers }) => headers);
      assert.ok(heads.length > 0);
      for (const headers of heads) {
        for (const name of Object.keys(secret)) assert.notEqual(headers[name.toLowerCase()], secret[name], name);
        assert.notEqual(headers['mcp-session-id'], peer.sessionId ?? 'none');
        assert.equal(JSON.stringify(headers).includes('clients-own'), false);
      }
    });
  }

  test('headers of the server are not forwarded to the client', async (t) => {
    const { gate, peer, behind } = await pair(t, 'http', 'http');
    behind.server.prependListener('request', (_, res) => { res.setHeader('Set-Cookie', 'a=b'); res.setHeader('X-Internal', 'secret'); res.setHeader('Access-Control-Allow-Origin', '*'); });
    const response = await post(gate.url, peer.message('tools/call', { name: 'echo', arguments: {} }, 'h'), { headers: peer.headersFor() });
    for (const name of ['set-cookie', 'x-internal', 'access-control-allow-origin', 'server', 'x-powered-by']) assert.equal(response.headers[name], undefined, name);
  });
});
