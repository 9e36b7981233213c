// More of the HTTP face (protocol.md H1, H2, H3, J7; contract section 4): odd but honest clients, addresses, and what is given back.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  HttpConnection, LegacyHttp, fdCount, formatRequest, gateCommand, initializeParams, pair, peerFor, post, probeCommand, request, run, startGate, suitePair, until, use,
} from '../lib/index.mjs';

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initializeParams() };
const ping = (id = 1) => ({ jsonrpc: '2.0', id, method: 'ping' });
const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

describe('odd but honest clients', () => {
  const world = suitePair('http', 'http');
  const headers = () => ({ ...JSON_HEADERS, ...world.peer.headersFor() });

  test('many requests in one write are answered in order, also those for the server', async () => {
    const connection = await HttpConnection.open(world.gate.url);
    const count = 100;
    connection.write(Buffer.concat(Array.from({ length: count }, (_, id) => formatRequest('POST', world.gate.url, {
      headers: headers(), body: id % 3 ? world.peer.message('tools/call', { name: 'echo', arguments: { id } }, id) : ping(id),
    }))));
    for (let id = 0; id < count; id++) assert.equal((await (await connection.response()).json()).id, id);
    connection.close();
  });

  test('Accept may come in two lines', async () => {
    const entries = Object.entries(headers()).filter(([name]) => name !== 'Accept');
    const response = await request('POST', world.gate.url, { headers: [...entries, ['Accept', 'application/json'], ['accept', 'text/event-stream;q=0.9']], body: ping() });
    assert.equal(response.status, 200);
  });

  test('J7 a compressed body is refused, and an empty session id counts as missing', async () => {
    for (const coding of ['gzip', 'br', 'deflate']) {
      assert.equal((await post(world.gate.url, ping(), { headers: { ...headers(), 'Content-Encoding': coding } })).status, 415, coding);
    }
    assert.equal((await post(world.gate.url, ping(), { headers: { ...headers(), 'Mcp-Session-Id': '' } })).status, 400);
  });

  test('H3 concurrent initialize requests, and one inside a session, each open a new session; the old one stays valid', async () => {
    const [one, two] = await Promise.all([LegacyHttp.open(world.gate.url), LegacyHttp.open(world.gate.url)]);
    const again = await post(world.gate.url, initialize, { headers: one.headers });
    const ids = [one.sessionId, two.sessionId, again.headers['mcp-session-id']];
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.equal((await post(world.gate.url, ping(), { headers: { 'Mcp-Session-Id': id } })).status, 200);
  });

  test('a method in lower case is another method, and not allowed', async () => {
    assert.equal((await request('post', world.gate.url, { headers: headers(), body: ping() })).status, 405);
  });

  test('an error is a JSON-RPC answer without internal details', async () => {
    for (const response of [
      await post(world.gate.url, '{', { headers: headers() }), await post(world.gate.url, ping(), { headers: { ...headers(), 'Mcp-Session-Id': 'nope' } }),
      await post(world.gate.url, ping(), { headers: { ...headers(), Accept: 'text/html' } }),
    ]) {
      const { jsonrpc, error } = await response.json();
      assert.equal(jsonrpc, '2.0');
      assert.doesNotMatch(`${error.message}${response.rawHeaders}`, /\.c:|\/tmp|\/home|0x[0-9a-f]{6}|^Server:/im);
      assert.equal(response.headers['access-control-allow-origin'], undefined);
    }
  });
});

describe('resources are released', () => {
  test('abandoned connections in every state leave no descriptor behind', async (t) => {
    const { gate, peer } = await pair(t, 'http', 'http');
    await peer.call('echo');
    const headers = { ...JSON_HEADERS, ...peer.headersFor() };
    const before = fdCount(gate.pid);
    const large = formatRequest('POST', gate.url, { headers, body: peer.message('tools/call', { name: 'size', arguments: { bytes: 8 << 20 } }, 'large') });
    const whole = formatRequest('POST', gate.url, { headers, body: peer.message('tools/call', { name: 'echo', arguments: {} }, 'whole') });
    const leave = [
      (c) => c.reset(), (c) => c.close(), (c) => { c.write(whole.subarray(0, 30)); c.reset(); }, (c) => { c.write(whole.subarray(0, whole.length - 5)); c.reset(); },
      (c) => { c.write(whole); c.reset(); }, (c) => { c.write(whole); c.close(); },
      async (c) => { c.write(large); await c.readUntil('\r\n\r\n'); c.reset(); },
      async (c) => { c.write(formatRequest('GET', gate.url, { headers: { ...headers, Accept: 'text/event-stream' } })); await c.readUntil('\r\n\r\n'); c.reset(); },
    ];
    for (let i = 0; i < 5; i++) for (const act of leave) await act(await HttpConnection.open(gate.url));
    assert.deepEqual(await peer.request('ping'), {});
    await until(() => `${fdCount(gate.pid)} descriptors to become ${before}`, () => fdCount(gate.pid) <= before + 1);
  });

  test('H3 sessions that end give back what they held; those that live are served', async (t) => {
    const { gate, peer } = await pair(t, 'http', 'http');
    const clients = await Promise.all(Array.from({ length: 30 }, () => LegacyHttp.open(gate.url)));
    await Promise.all(clients.map((client) => client.listen()));
    const full = fdCount(gate.pid);
    for (const client of clients) assert.equal((await client.end()).status, 200);
    await until(() => `${fdCount(gate.pid)} descriptors of ${full}`, () => fdCount(gate.pid) <= full - 30);
    assert.deepEqual(await peer.ask('echo', { a: 1 }), { a: 1 });
  });
});

describe('H1 addresses', () => {
  test('::1 is a loop-back too, and says so in its URL', async (t) => {
    const gate = use(t, await startGate({ command: probeCommand(), args: ['--bind', '::1'] }));
    const [url] = /http:\/\/\[::1\]:\d+\/mcp/.exec(gate.stderr);
    const peer = await peerFor('http', { url });
    assert.deepEqual(await peer.ask('echo', { six: true }), { six: true });
    assert.equal((await post(url, initialize, { headers: { Host: 'evil.example' } })).status, 403);
  });

  test('every other address needs a token; host names are refused as addresses', async () => {
    for (const bind of ['0.0.0.0', '::', '192.0.2.1', 'example.com', '']) {
      const [command, args, env] = gateCommand({ transport: 'http', command: probeCommand(), args: ['--bind', bind] });
      const { code, stderr } = await run(command, args, { env });
      assert.ok([2, 3, 4].includes(code), `${bind}: ${code}`);
      assert.doesNotMatch(stderr, /listening on http/);
    }
  });
});
