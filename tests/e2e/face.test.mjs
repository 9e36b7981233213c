// The HTTP face (protocol.md 7.2 and 7.5; contract section 4): who may ask, in what form, and how it ends.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  HttpConnection, LEGACY, LegacyHttp, MODERN, cli, formatRequest, gateCommand, initializeParams, pair, peerFor, policyFile, post, probeCommand,
  rawStdio, request, run, startGate, suitePair, tempDir, tempFile, use,
} from '../lib/index.mjs';

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initializeParams() };
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('requests', () => {
  const world = suitePair('http', 'http');
  const send = (method, options = {}) => request(method, world.gate.url, options);
  const session = () => world.peer.headersFor();

  test('H1 Host and Origin: this machine only; no Origin is fine', async () => {
    const { port, url } = world.gate;
    for (const [headers, status] of [
      [{ Host: `127.0.0.1:${port}` }, 200], [{ Host: `localhost:${port}` }, 200], [{ Host: `[::1]:${port}` }, 200],
      [{ Host: 'evil.example' }, 403], [{ Host: `evil.example:${port}` }, 403], [{ Host: '127.0.0.1.evil.example' }, 403], [{ Host: 'localhost.evil.example' }, 403],
      [{ Host: '' }, 400], [{ Host: '0.0.0.0' }, 403],
      [{ Origin: `http://127.0.0.1:${port}` }, 200], [{ Origin: 'http://localhost:5173' }, 200], [{ Origin: 'https://localhost' }, 200],
      [{ Origin: 'http://evil.example' }, 403], [{ Origin: 'null' }, 403], [{ Origin: 'http://localhost.evil.example' }, 403], [{ Origin: 'file://' }, 403],
      [{ Origin: 'http://evil.example@127.0.0.1' }, 403], [{ Origin: '' }, 403], [{ Origin: 'chrome-extension://abc' }, 403],
    ]) {
      const response = await post(url, ping, { headers: { ...session(), ...headers } });
      assert.equal(response.status, status, JSON.stringify(headers));
      assert.equal(response.headers['access-control-allow-origin'], undefined);
    }
    assert.equal((await post(world.gate.origin, ping, { path: '/healthz', headers: { Host: 'evil.example' } })).status, 403, 'whatever the path');
  });

  test('H2 the matrix of statuses', async () => {
    const { url } = world.gate;
    const note = { jsonrpc: '2.0', method: 'notifications/x' };
    for (const [body, headers, status] of [
      [ping, {}, 200],
      [ping, { Accept: 'application/json' }, 406], [ping, { Accept: 'text/event-stream' }, 406], [ping, { Accept: 'text/html' }, 406],
      [ping, { Accept: '*/*' }, 200], [ping, { Accept: 'application/*, text/*;q=0.5' }, 200], [ping, { Accept: 'application/json;q=0, text/event-stream' }, 406],
      [ping, { 'Content-Type': 'text/plain' }, 415], [ping, { 'Content-Type': 'application/json; charset=utf-8' }, 200], [ping, { 'Content-Type': 'application/jsonx' }, 415],
      [ping, { 'MCP-Protocol-Version': '1999-01-01' }, 400], [ping, { 'MCP-Protocol-Version': undefined }, 200], [ping, { 'MCP-Protocol-Version': '2025-03-26' }, 200],
      [ping, { 'Mcp-Session-Id': undefined }, 400], [ping, { 'Mcp-Session-Id': 'nonsense' }, 404],
      [note, {}, 202], [{ jsonrpc: '2.0', id: 99, result: {} }, {}, 202], [{ jsonrpc: '2.0', id: 99, error: { code: 1, message: 'x' } }, {}, 202],
      ['{', {}, 400], ['', {}, 400], ['[]', {}, 400], [[ping], {}, 400], ['"x"', {}, 400],
    ]) {
      const response = await post(url, body, { headers: { ...session(), ...headers } });
      const what = `${JSON.stringify(body)} ${JSON.stringify(headers)}`;
      assert.equal(response.status, status, what);
      const text = await response.text();
      if (status === 202) assert.equal(text, '', what);
      else if (status !== 200) assert.equal(JSON.parse(text).error.code < 0, true, what);
    }
  });

  test('other HTTP methods are refused', async () => {
    for (const [method, path, status, allow] of [
      ['PUT', '/mcp', 405, 'GET, POST, DELETE'], ['PATCH', '/mcp', 405], ['OPTIONS', '/mcp', 405], ['HEAD', '/mcp', 405], ['TRACE', '/mcp', 405], ['BREW', '/mcp', 405],
      ['POST', '/sse', 405, 'GET'], ['GET', '/message', 405, 'POST'], ['GET', '/nowhere', 404], ['POST', '/', 405], ['GET', '/mcp/../etc/passwd', 404],
      ['GET', '/healthz', 200], ['HEAD', '/healthz', 200], ['GET', '/readyz', 200],
    ]) {
      const response = await send(method, { path });
      assert.equal(response.status, status, `${method} ${path}`);
      if (allow) assert.equal(response.headers.allow, allow);
      if (method === 'HEAD') assert.equal(await response.text(), '');
    }
  });

  test('431 for headers that are too large or too many', async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`X-${i}`, 'v']));
    for (const headers of [{ 'X-Big': 'v'.repeat(40000) }, many, Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`X-${i}`, 'v'.repeat(1000)]))]) {
      const response = await send('POST', { headers: { ...session(), ...headers }, body: ping });
      assert.equal(response.status, 431);
    }
    assert.ok([414, 431].includes((await send('GET', { path: `/${'p'.repeat(9000)}` })).status));
  });

  test('H9 GET and DELETE of the modern era: 405', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await send(method, { headers: { Accept: 'text/event-stream', 'MCP-Protocol-Version': MODERN } });
      assert.deepEqual([response.status, response.headers.allow], [405, 'POST']);
    }
  });

  test('GET needs Accept: text/event-stream and a session', async () => {
    assert.equal((await send('GET', { headers: { ...session(), Accept: 'application/json' } })).status, 406);
    assert.equal((await send('GET', { headers: { Accept: 'text/event-stream' } })).status, 400);
    assert.equal((await send('GET', { headers: { Accept: 'text/event-stream', 'Mcp-Session-Id': 'x' } })).status, 404);
  });

  test('keep-alive: many requests on one connection, Connection: close is heeded', async () => {
    const connection = await HttpConnection.open(world.gate.url);
    for (let id = 1; id < 50; id++) {
      connection.send('POST', { headers: { ...session(), 'Content-Type': 'application/json', Accept: '*/*' }, body: { ...ping, id } });
      assert.equal((await (await connection.response()).json()).id, id);
    }
    connection.send('POST', { headers: { ...session(), 'Content-Type': 'application/json', Accept: '*/*', Connection: 'close' }, body: ping });
    const last = await connection.response();
    assert.equal(last.headers.connection, 'close');
    await last.text();
    assert.equal(await connection.readSome(), null);
  });
});

describe('H3 sessions', () => {
  const world = suitePair('http', 'http');

  test('ids cannot be guessed', async () => {
    const ids = new Set();
    for (let i = 0; i < 20; i++) {
      const client = await LegacyHttp.open(world.gate.url);
      assert.match(client.sessionId, /^[A-Za-z0-9_-]{22,}$/);
      ids.add(client.sessionId);
      await client.end();
    }
    assert.equal(ids.size, 20);
  });

  test('DELETE ends the session at the server, and every later request gets 404', async () => {
    const client = await LegacyHttp.open(world.gate.url);
    await client.call('echo');
    assert.equal((await client.end()).status, 200);
    await world.probe.until(({ seen }) => seen.some((entry) => entry.deleted));
    assert.equal((await client.end()).status, 404);
    assert.equal((await client.listen()).status, 404);
    assert.equal((await client.post(ping)).status, 404);
    assert.equal((await client.notify('notifications/x')).status, 404);
  });

  test('initialize with a stale id opens a new session', async () => {
    const response = await post(world.gate.url, initialize, { headers: { 'Mcp-Session-Id': 'gone-long-ago' } });
    assert.equal(response.status, 200);
    assert.notEqual(response.headers['mcp-session-id'], 'gone-long-ago');
  });

  test('H4 after a restart of the gate an old session gets 404 for everything, and the same client can initialize again', async (t) => {
    const command = rawStdio(({ serve }) => serve({ 'tools/call': () => ({ content: [{ type: 'text', text: 'here' }] }) }));
    const options = { command, env: { SALLYPORT_HOME: tempDir() } };
    const first = use(t, await startGate(options));
    const client = await LegacyHttp.open(first.url);
    assert.equal((await client.call('x')).content[0].text, 'here');
    const headers = { 'Mcp-Session-Id': client.sessionId, 'MCP-Protocol-Version': LEGACY };
    await first.stop();
    const second = use(t, await startGate(options));
    for (const method of ['tools/call', 'tools/list', 'ping']) {
      const response = await post(second.url, { jsonrpc: '2.0', id: 1, method, params: { name: 'x', arguments: {} } }, { headers });
      assert.equal(response.status, 404, method);
      await response.text();
    }
    for (const method of ['GET', 'DELETE']) assert.equal((await request(method, second.url, { headers: { ...headers, Accept: 'text/event-stream' } })).status, 404);
    const again = await post(second.url, initialize, { headers });
    assert.equal(again.status, 200);
    const fresh = again.headers['mcp-session-id'];
    assert.ok(fresh && fresh !== client.sessionId);
    await again.text();
    const call = await post(second.url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'x', arguments: {} } }, { headers: { ...headers, 'Mcp-Session-Id': fresh } });
    assert.equal((await call.json()).result.content[0].text, 'here');
  });

  test('a failed initialize leaves no session', async (t) => {
    const { gate, behind } = await pair(t, 'modern-http', 'http', { probe: { overrides: { initialize: () => { throw { code: -32602, message: 'no' }; }, 'server/discover': () => { throw { code: -32601, message: 'unknown' }; } } } });
    const response = await post(gate.url, initialize);
    assert.equal(response.headers['mcp-session-id'], undefined);
    assert.equal((await response.json()).error.code, -32602);
    assert.ok(behind);
  });

  test('H11 a modern probe followed by a legacy initialize, and both eras side by side', async () => {
    const modern = await peerFor('modern-http', world.gate);
    await modern.request('server/discover');
    const legacy = await peerFor('http', world.gate);
    await Promise.all([modern.call('echo'), legacy.call('echo'), modern.call('echo')]);
  });
});

describe('tokens and addresses', () => {
  const token = 'correct-horse-battery-staple';

  test('--token-file: 401 without, and with anything else', async (t) => {
    const gate = use(t, await startGate({ command: probeCommand(), args: ['--token-file', tempFile('token', `${token}\n`)] }));
    for (const [authorization, status] of [
      [undefined, 401], ['Bearer wrong', 401], [`Bearer ${token}x`, 401], [`Bearer ${token.slice(0, -1)}`, 401], [`Basic ${token}`, 401], [token, 401], ['Bearer ', 401],
      [`Bearer ${token}`, 200], [`bearer ${token}`, 200],
    ]) {
      const response = await post(gate.url, initialize, { headers: authorization ? { Authorization: authorization } : {} });
      assert.equal(response.status, status, authorization);
      if (status === 401) assert.match(response.headers['www-authenticate'], /^Bearer/);
    }
    assert.equal((await request('GET', gate.url, { path: '/healthz' })).status, 200);
    assert.equal((await request('GET', gate.url, { path: '/sse', headers: { Accept: 'text/event-stream' } })).status, 401);
  });

  test('off the loop-back: refused without a token, served with one', async (t) => {
    const [command, args, env] = gateCommand({ transport: 'http', command: probeCommand(), args: ['--bind', '0.0.0.0'] });
    const refused = await run(command, args, { env });
    assert.equal(refused.code, 3);
    assert.match(refused.stderr, /--token-file/);
    const gate = use(t, await startGate({ command: probeCommand(), args: ['--bind', '0.0.0.0', '--token-file', tempFile('token', token)] }));
    const url = `http://127.0.0.1:${gate.port}/mcp`;
    assert.equal((await post(url, initialize)).status, 401);
    assert.equal((await post(url, initialize, { headers: { Authorization: `Bearer ${token}` } })).status, 200);
    assert.equal((await post(url, initialize, { headers: { Authorization: `Bearer ${token}`, Origin: 'http://evil.example' } })).status, 403);
  });

  test('a token that is too short, or a file that is not there, is refused', async () => {
    for (const file of [tempFile('token', 'short\n'), '/nonexistent/token']) {
      const { code, stderr } = await cli(['-c', policyFile(), '--transport', 'http', '--token-file', file, '--', 'true']);
      assert.deepEqual([code, /token/.test(stderr)], [3, true], stderr);
    }
  });

  test('a port that is taken is a clear error', async (t) => {
    const gate = use(t, await startGate({ command: probeCommand() }));
    const { code, stderr } = await cli(['-c', policyFile(), '--transport', 'http', '--port', `${gate.port}`, '--', 'true']);
    assert.ok([3, 4].includes(code));
    assert.match(stderr, /in use/i);
  });
});

describe('I4 shutdown', () => {
  test('drain: the call in flight is answered, new ones are refused, then the gate exits', async (t) => {
    const { gate, peer, probe } = await pair(t, 'http', 'http');
    const idle = await HttpConnection.open(gate.url);
    const busy = await HttpConnection.open(gate.url);
    const answer = peer.exchange('tools/call', { name: 'hold', arguments: { key: 'drain' } });
    await probe.until(({ held }) => held.has('drain'));
    // Bytes of a request have arrived before the signal, so this connection stays open until the refusal is sent.
    const late = formatRequest('POST', gate.url, { headers: { ...peer.headersFor(), 'Content-Type': 'application/json', Accept: '*/*' }, body: { ...ping, id: 'late' } });
    busy.write(late.subarray(0, 10));
    assert.equal((await post(gate.url, { ...ping, id: 'also' }, { headers: peer.headersFor() })).status, 200);
    process.kill(gate.pid, 'SIGTERM');
    await gate.child.waitLine(/stopping/, { stream: 'stderr' });
    assert.equal(await idle.readSome(), null, 'idle connections are closed');
    busy.write(late.subarray(10));
    assert.equal((await busy.response()).status, 503);
    await assert.rejects(HttpConnection.open(gate.url), 'nobody listens any more');
    probe.held.get('drain')();
    assert.equal((await answer).json.result.content[0].text, 'held drain');
    assert.deepEqual(await gate.child.wait(), { code: 0, signal: null });
  });

  test('drain: listeners of the modern era get their final result', async (t) => {
    const { gate, peer } = await pair(t, 'modern-http', 'http');
    peer.send(peer.message('subscriptions/listen', { notifications: {} }, 'l'));
    await peer.next((json) => json?.method === 'notifications/subscriptions/acknowledged');
    process.kill(gate.pid, 'SIGTERM');
    const { result } = await peer.next((json) => json?.id === 'l');
    assert.equal(result.resultType, 'complete');
    assert.deepEqual(await gate.child.wait(), { code: 0, signal: null });
  });

  test('drain: open streams of sessions end immediately when no call is in flight', async (t) => {
    const { gate, peer } = await pair(t, 'http', 'child');
    const standing = await peer.listen();
    process.kill(gate.pid, 'SIGTERM');
    await standing.ended;
    assert.deepEqual(await gate.child.wait(), { code: 0, signal: null });
  });

  test('a second signal ends the gate immediately', async (t) => {
    const { gate, peer, probe } = await pair(t, 'http', 'http');
    peer.send(peer.message('tools/call', { name: 'hold', arguments: { key: 'forever' } }, 'f')).catch(() => {});
    await probe.until(({ held }) => held.has('forever'));
    process.kill(gate.pid, 'SIGTERM');
    await gate.child.waitLine(/stopping/, { stream: 'stderr' });
    process.kill(gate.pid, 'SIGTERM');
    assert.deepEqual(await gate.child.wait(), { code: 143, signal: null });
  });
});
