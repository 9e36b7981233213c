// One client cannot take what all share: connections and bytes of those who have not authenticated, connections and sessions of one
// grant.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { cli, fdCount, formatRequest, HttpConnection, legacyServer, mayGrow, post, rssBytes, sanitized, startGate, startUpstream, tempDir, tempFile, use, within } from '../lib/index.mjs';

const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } };
const MB = 1 << 20;

async function world(t) {
  const home = join(tempDir(), 'home');
  const token = {};
  for (const name of ['greedy', 'modest']) {
    const { code, stdout, stderr } = await cli(['grants', 'create', name], { env: { SALLYPORT_HOME: home } });
    assert.equal(code, 0, stderr);
    token[name] = stdout.trim();
  }
  const server = use(t, await startUpstream(legacyServer()));
  const gate = use(t, await startGate({ upstream: server.url, args: ['--token-file', tempFile('token', 'the-one-token-of-the-gate')], env: { SALLYPORT_HOME: home } }));
  return { gate, token };
}

const opens = async (gate, token) => (await post(gate.url, initialize, { headers: bearer(token) })).status;
const head = (gate, headers) => formatRequest('POST', gate.url, { headers: { ...JSON_HEADERS, ...headers } });

describe('who has not authenticated', { concurrency: 1 }, () => {
  test('is answered before a large body is read, with or without a length', async (t) => {
    const { gate, token } = await world(t);
    for (const headers of [{}, bearer('sp_wrong')]) {
      const connection = await HttpConnection.open(gate.url);
      connection.write(head(gate, { ...headers, 'Content-Length': 60 * MB }));
      const response = await connection.response();
      assert.deepEqual([response.status, response.headers.connection], [401, 'close']);
      connection.close();
      const chunked = await HttpConnection.open(gate.url);
      chunked.write(head(gate, { ...headers, 'Transfer-Encoding': 'chunked' }));
      const answered = chunked.response();
      for (let i = 0; i < 20 && !chunked.socket.destroyed; i++) chunked.write(Buffer.concat([Buffer.from(`${(MB / 8).toString(16)}\r\n`), Buffer.alloc(MB / 8, 0x20), Buffer.from('\r\n')]));
      assert.equal((await answered).status, 401);
      chunked.close();
    }
    const known = await HttpConnection.open(gate.url);
    const body = Buffer.from(JSON.stringify(initialize) + ' '.repeat(3 * MB));
    known.write(head(gate, { ...bearer(token.modest), 'Content-Length': body.length }));
    known.write(body);
    assert.equal((await known.response()).status, 200, 'who may send it is not asked to wait');
    known.close();
  });

  test('holds neither connections nor memory: the oldest ones that wait go', async (t) => {
    const { gate, token } = await world(t);
    const before = rssBytes(gate.pid), fds = fdCount(gate.pid);
    const open = [];
    for (let i = 0; i < 300; i++) {
      const connection = await HttpConnection.open(gate.url);
      if (i % 3 === 0) connection.write('POST /mcp HTTP/1.1\r\nHost: 127');
      if (i % 3 === 1) connection.write(head(gate, { 'Content-Length': MB })).write(Buffer.alloc(MB / 2, 0x20));
      open.push(connection);
    }
    assert.equal(await opens(gate, token.modest), 200);
    // Those that were refused linger a little, for their last bytes to be read.
    await within((async () => { while (fdCount(gate.pid) - fds >= 150) await setTimeout(50); })(), () => `${fdCount(gate.pid) - fds} more descriptors`, 10_000);
    assert.ok(rssBytes(gate.pid) - before < mayGrow(gate.pid, 64 * MB), `${(rssBytes(gate.pid) - before) / MB} MB more`);
    assert.equal(await open[0].readSome(), null, 'the first one was closed');
    for (const connection of open) connection.close();
  });
});

describe('one grant', { concurrency: 1, skip: sanitized && 'thousands of sessions take too long with sanitizers' }, () => {
  test('gets half of the sessions; another one still opens its own', async (t) => {
    const { gate, token } = await world(t);
    const connection = await HttpConnection.open(gate.url);
    let opened = 0;
    for (; opened <= 6000; opened++) {
      connection.send('POST', { headers: { ...JSON_HEADERS, ...bearer(token.greedy) }, body: initialize });
      const response = await connection.response();
      const answer = await response.json();
      if (response.status === 503) {
        assert.match(answer.error.message, /too many sessions/);
        break;
      }
      assert.equal(response.status, 200);
    }
    assert.equal(opened, 5000);
    for (let i = 0; i < 20; i++) assert.equal(await opens(gate, token.modest), 200);
    connection.close();
  });

  test('gets half of the connections; another one still gets in', async (t) => {
    const { gate, token } = await world(t);
    const kept = [];
    let refused = 0;
    for (let i = 0; i < 2100; i++) {
      const connection = await HttpConnection.open(gate.url);
      connection.send('GET', { path: '/mcp/servers', headers: bearer(token.greedy) });
      const response = await connection.response();
      await response.text();
      if (response.status === 503) refused++;
      else kept.push(connection);
    }
    assert.ok(kept.length > 2000 && kept.length <= 2049, `${kept.length} kept`);
    assert.ok(refused > 0);
    assert.equal(await opens(gate, token.modest), 200);
    for (const connection of kept) connection.close();
  });
});
