// Framing and sizes (protocol.md J6, J7): independent of how bytes are cut, large messages, ceilings.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  HttpConnection, StdioPeer, formatRequest, initializeParams, pair, post, probeCommand, rawStdio, startGate, suitePair, use,
} from '../lib/index.mjs';

const MB = 1 << 20;
const CEILING = 64 * MB;
const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

for (const [front, back] of [['stdio', 'child'], ['stdio', 'http'], ['http', 'child'], ['http', 'http'], ['sse', 'sse'], ['modern-http', 'http'], ['modern-stdio', 'child']]) {
  test(`J6 20 MB each way, ${front} to ${back}`, async (t) => {
    const { peer } = await pair(t, front, back);
    const bytes = 20 * MB;
    assert.equal((await peer.call('size', { bytes })).content[0].text.length, bytes);
    assert.equal((await peer.call('length', { text: 'é'.repeat(bytes / 2) })).content[0].text, `${bytes / 2}`);
  });
}

test('J6 one byte at a time, from the client and from the server', async (t) => {
  const gate = use(t, await startGate({ transport: 'stdio', command: probeCommand() }));
  const peer = new StdioPeer(gate);
  const text = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initializeParams() })}\r\n${
    JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: 'a é 😀 b' } } })}\n\n`;
  for (const byte of Buffer.from(text)) {
    await new Promise((resolve) => { gate.child.stdin.write(Buffer.from([byte]), resolve); });
    await new Promise(setImmediate);
  }
  assert.deepEqual(JSON.parse((await peer.next((json) => json.id === 2)).result.content[0].text), { text: 'a é 😀 b' });
  assert.ok(peer.received.every(({ json }) => json), 'every line is a message');

  // The server's answer, cut after every byte, in the middle of characters too.
  const slow = use(t, await startGate({
    transport: 'stdio', command: rawStdio(async (io) => {
      const message = await io.message();
      const line = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { said: 'é😀'.repeat(20) } })}\n`);
      for (const byte of line) {
        await new Promise((resolve) => { process.stdout.write(Buffer.from([byte]), resolve); });
        await new Promise(setImmediate);
      }
      await io.next();
    }),
  }));
  const answer = await slow.rpc.exchange('vendor/x');
  assert.equal(answer.result.said, 'é😀'.repeat(20));
});

describe('J7 bodies over HTTP', () => {
  const world = suitePair('http', 'http');
  const open = () => HttpConnection.open(world.gate.url);
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'ping' });
  const headers = () => ({ ...JSON_HEADERS, ...world.peer.headersFor() });

  test('a body over the size limit gets 413 before it is read', async () => {
    const connection = await open();
    connection.write(formatRequest('POST', world.gate.url, { headers: { ...headers(), 'Content-Length': CEILING + 1 } }));
    const response = await connection.response();
    assert.equal(response.status, 413);
    assert.equal(response.headers.connection, 'close');
    connection.close();
  });

  test('a chunked body gets 413 as soon as it is over the size limit', async () => {
    const connection = await open();
    connection.write(formatRequest('POST', world.gate.url, { headers: { ...headers(), 'Transfer-Encoding': 'chunked' } }));
    const chunk = Buffer.alloc(MB, 0x20);
    const answered = connection.response();
    for (let sent = 0; sent <= CEILING && !connection.socket.destroyed; sent += MB) {
      await new Promise((resolve) => { connection.socket.write(Buffer.concat([Buffer.from(`${MB.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]), resolve); });
    }
    assert.equal((await answered).status, 413);
    connection.close();
  });

  test('Expect: 100-continue is answered when the body is awaited', async () => {
    const connection = await open();
    const request = formatRequest('POST', world.gate.url, { headers: { ...headers(), Expect: '100-continue' }, body: ping });
    const cut = request.length - ping.length;
    connection.write(request.subarray(0, cut));
    assert.match((await connection.readUntil('\r\n\r\n')).toString(), /^HTTP\/1\.1 100 /);
    connection.write(request.subarray(cut));
    assert.deepEqual((await (await connection.response()).json()).result, {});
    connection.close();
  });

  test('Expect: 100-continue of a body that is too large is refused without it', async () => {
    const connection = await open();
    connection.write(formatRequest('POST', world.gate.url, { headers: { ...headers(), Expect: '100-continue', 'Content-Length': CEILING * 2 } }));
    const response = await connection.response();
    assert.deepEqual([response.status, response.interim], [413, []]);
    connection.close();
  });

  test('chunked bodies, cut anywhere, with extensions and trailers', async () => {
    for (const size of [1, 7, 4096]) {
      const connection = await open();
      const chunks = ping.match(/.{1,9}/gs);
      await connection.trickle(formatRequest('POST', world.gate.url, { headers: headers(), chunks }), size);
      assert.deepEqual((await (await connection.response()).json()).result, {});
      const raw = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n${Object.entries(headers()).map(([k, v]) => `${k}: ${v}\r\n`).join('')}Transfer-Encoding: chunked\r\n\r\n${
        ping.length.toString(16).toUpperCase()};ext="v"\r\n${ping}\r\n0\r\nX-Trailer: 1\r\n\r\n`;
      connection.write(raw);
      assert.deepEqual((await (await connection.response()).json()).result, {});
      connection.close();
    }
  });

  test('pipelined requests are answered in order', async () => {
    const connection = await open();
    const call = (id, key) => formatRequest('POST', world.gate.url, { headers: headers(), body: { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'hold', arguments: { key } } } });
    const echo = (id) => formatRequest('POST', world.gate.url, { headers: headers(), body: { jsonrpc: '2.0', id, method: 'ping' } });
    connection.write(Buffer.concat([call('p1', 'pipe'), echo('p2'), echo('p3')]));
    await world.probe.until(({ held }) => held.has('pipe'));
    await world.peer.call('release', { key: 'pipe' });
    for (const id of ['p1', 'p2', 'p3']) assert.equal((await (await connection.response()).json()).id, id);
    connection.close();
  });

  test('HTTP/1.0 gets an answer and the end of the connection', async () => {
    const connection = await open();
    connection.write(formatRequest('POST', world.gate.url, { headers: headers(), body: ping }).toString().replace('HTTP/1.1', 'HTTP/1.0'));
    const response = await connection.response();
    assert.equal(response.status, 200);
    assert.deepEqual((await response.json()).result, {});
    assert.equal(await connection.readSome(), null, 'closed');
  });

  test('a body that stops half-way does not affect the gate', async () => {
    const connection = await open();
    connection.write(formatRequest('POST', world.gate.url, { headers: { ...headers(), 'Content-Length': 1000 }, body: '{"jsonrpc"' }));
    connection.reset();
    assert.equal((await post(world.gate.url, ping, { headers: world.peer.headersFor() })).status, 200);
  });
});

test('J6 a line over the size limit ends the stdio gate with a clear message and in bounded memory', async (t) => {
  const gate = use(t, await startGate({ transport: 'stdio', command: probeCommand() }));
  const piece = Buffer.alloc(MB, 0x61);
  for (let sent = 0; sent <= CEILING + MB && !gate.child.status; sent += MB) {
    await new Promise((resolve) => { gate.child.stdin.write(piece, resolve); });
  }
  await gate.child.waitLine(/limit/, { stream: 'stderr' });
  await gate.child.wait();
});

test('J6 a line over the size limit ends that server, and the client gets an error', async (t) => {
  const { peer, gate } = await pair(t, 'http', 'child');
  const { json } = await peer.exchange('tools/call', { name: 'size', arguments: { bytes: CEILING + MB } });
  assert.match(json.error.message, /server `.*` (.*was ended|exited)/);
  await gate.child.waitLine(/message limit/, { stream: 'stderr' });
  assert.equal((await peer.call('size', { bytes: 5 })).content[0].text, 'xxxxx', 'started again');
});

