// Towards HTTP servers (protocol.md U2, U3, U8, U9, I6; attacks.md 20): restarts, odd servers, what is sent to them and what is not.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startProbe } from '../fixtures/probe.mjs';
import {
  LegacyHttp, ModernHttp, cli, freePort, legacyServer, node, packages, pair, peerFor, policyFile, post, start, startGate, startUpstream, tempFile, use,
} from '../lib/index.mjs';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const initializations = (probe) => probe.seen.filter(({ method }) => method === 'initialize');

describe('U2 a server that has forgotten its sessions', () => {
  for (const front of ['http', 'stdio', 'sse']) {
    for (const status of [404, 400]) {
      test(`${status} from the server, client on ${front}: initialised again, the call repeated once`, async (t) => {
        const { peer, probe, behind } = await pair(t, front, 'http', { probe: { unknownStatus: status } });
        const capabilities = JSON.parse(initializations(probe)[0].raw).params.capabilities;
        await peer.call('echo', { n: 1 });
        behind.sessions.clear();
        assert.deepEqual(await peer.ask('echo', { n: 2 }), { n: 2 });
        assert.equal(initializations(probe).length, 2);
        assert.deepEqual(JSON.parse(initializations(probe)[1].raw).params.capabilities, capabilities, 'with the client\'s capabilities');
        const since = probe.seen.slice(probe.seen.indexOf(initializations(probe)[1]));
        assert.deepEqual(since.map(({ method }) => method).filter(Boolean), ['initialize', 'notifications/initialized', 'tools/call']);
      });
    }
  }

  test('concurrent calls are all answered, with one new session', async (t) => {
    const { peer, probe, behind } = await pair(t, 'http', 'http');
    behind.sessions.clear();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => peer.ask('echo', { n })));
    assert.deepEqual(answers.map(({ n }) => n), Array.from({ length: 20 }, (_, n) => n));
    assert.equal(initializations(probe).length, 2);
    assert.equal(behind.sessions.size, 1);
  });

  test('several sessions of clients stay apart', async (t) => {
    const { gate, peer, behind } = await pair(t, 'http', 'http');
    const other = await peerFor('http', gate);
    behind.sessions.clear();
    const [one, two] = await Promise.all([peer.ask('mark'), other.ask('mark')]);
    assert.notEqual(one.session, two.session);
  });

  test('a server that never accepts the session is not retried endlessly', async (t) => {
    let seen = 0;
    const server = use(t, await startUpstream(async (request, reply) => {
      if (request.json?.method !== 'tools/call') return legacyServer({ sessionId: 's' })(request, reply);
      seen++;
      return reply.status(404);
    }));
    const gate = use(t, await startGate({ upstream: server.url }));
    const client = await LegacyHttp.open(gate.url);
    const { answer } = await client.exchange('tools/call', { name: 'x', arguments: {} });
    assert.equal(answer.error.code, -32603);
    assert.match(answer.error.message, /server `/);
    assert.equal(seen, 2);
  });

  test('a server that is killed and restarted on the same port is initialised again', async (t) => {
    const port = await freePort();
    const first = await startProbe({ port, mark: 'first' });
    const gate = use(t, await startGate({ upstream: first.url }));
    const peer = await peerFor('http', gate);
    assert.equal((await peer.ask('mark')).mark, 'first');
    await first.stop();
    const { json } = await peer.exchange('tools/call', { name: 'mark', arguments: {} });
    assert.equal(json.error.code, -32603);
    assert.match(json.error.message, /server `[^`]+`: .*refused/);
    use(t, await startProbe({ port, mark: 'second' }));
    assert.equal((await peer.ask('mark')).mark, 'second');
  });

  test('server-everything is initialised again after a restart', async (t) => {
    const port = await freePort();
    const everything = async () => {
      const server = start(node, [packages.everything, 'streamableHttp'], { env: { PORT: `${port}` } });
      await server.waitLine(/listening|running/i, { stream: 'stderr' });
      return server;
    };
    const first = await everything();
    const gate = use(t, await startGate({ upstream: `http://127.0.0.1:${port}/mcp` }));
    const peer = await peerFor('http', gate);
    assert.match((await peer.call('echo', { message: 'one' })).content[0].text, /one/);
    await first.stop({ signal: 'SIGKILL' });
    use(t, await everything());
    assert.match((await peer.call('echo', { message: 'two' })).content[0].text, /two/);
  });

  test('a call whose connection broke is not made twice', async (t) => {
    let calls = 0;
    const server = use(t, await startUpstream(legacyServer({
      sessionId: 's', methods: { 'tools/call': (_, { reply }) => { calls++; reply.drop(); }, 'resources/list': () => ({ resources: [] }) },
    })));
    const gate = use(t, await startGate({ upstream: server.url }));
    const client = await LegacyHttp.open(gate.url);
    const { answer, response } = await client.exchange('tools/call', { name: 'pay', arguments: {} });
    assert.deepEqual([answer.error.code, response.status, calls], [-32603, 200, 1]);
    assert.deepEqual(await client.request('resources/list'), { resources: [] }, 'the session goes on');
  });
});

const legacyOnly = { 'server/discover': () => { throw { code: -32601, message: 'unknown' }; } };

describe('servers of several kinds', () => {
  test('a method that the server refuses in plain text, as the Go SDK does, is -32601', async (t) => {
    const known = legacyServer();
    const server = use(t, await startUpstream((req, reply) => (req.json?.method === 'no/such'
      ? reply.text(`JSON RPC not handled: "no/such" unsupported\n`, { status: 400, headers: { 'Content-Type': 'text/plain; charset=utf-8' } }) : known(req, reply))));
    const gate = use(t, await startGate({ upstream: server.url }));
    const client = await LegacyHttp.open(gate.url);
    await assert.rejects(client.request('no/such'), { code: -32601 });
    const response = await new ModernHttp(gate.url).send('no/such', {});
    assert.deepEqual([response.status, JSON.parse(await response.text()).error.code], [404, -32601]);
    assert.deepEqual(await client.request('ping'), {}, 'the session goes on');
  });

  test('U3 without sessions and without a standing stream', async (t) => {
    for (const front of ['http', 'stdio', 'sse']) {
      const { peer, probe } = await pair(t, front, 'http', { probe: { stateless: true, noStanding: true, overrides: legacyOnly } });
      if (front === 'http') await peer.listen();
      assert.deepEqual(await peer.ask('echo', { a: front }), { a: front });
      assert.ok(probe.seen.every(({ headers }) => !headers?.['mcp-session-id']), 'no id was invented');
      assert.ok(probe.seen.slice(2).every(({ headers }) => !headers || headers['mcp-protocol-version'] === '2025-11-25'));
    }
  });

  test('U8 cursors pass untouched, odd ones too, and the gate follows none of them by itself', async (t) => {
    const cursors = ['', ' ', 'a/b+c==', 'é😀', '"\\\n', 'x'.repeat(5000)];
    const seen = [];
    const server = use(t, await startUpstream(legacyServer({
      methods: { 'tools/list': ({ cursor }) => { seen.push(cursor); return { tools: [], nextCursor: cursors[seen.length % cursors.length] }; } },
    })));
    const gate = use(t, await startGate({ upstream: server.url }));
    const client = await LegacyHttp.open(gate.url);
    for (const [i, cursor] of cursors.entries()) {
      assert.equal((await client.request('tools/list', { cursor })).nextCursor, cursors[(i + 1) % cursors.length]);
    }
    assert.deepEqual(seen, cursors);
  });

  test('the transport of 2024: found by itself when POST is not known, and a new stream after its end', async (t) => {
    const { peer, behind } = await pair(t, 'http', 'sse');
    assert.deepEqual(await peer.ask('echo', { a: 1 }), { a: 1 });
    for (const socket of behind.sockets) socket.destroy();
    await behind.probe.until(({ seen }) => seen.some((entry) => entry.closed));
    assert.deepEqual(await peer.ask('echo', { a: 2 }), { a: 2 });
    assert.equal(initializations(behind.probe).length, 2);
  });

  test('the transport of 2024: an endpoint on another origin is refused', async (t) => {
    const trap = use(t, await startUpstream((_, reply) => reply.status(202)));
    for (const endpoint of [trap.url, `//127.0.0.1:${trap.port}/message`, 'file:///etc/passwd', 'ht tp://x', '/a\r\nX-Evil: 1']) {
      const server = use(t, await startUpstream((request, reply) => {
        if (request.method !== 'GET') return reply.status(405);
        const stream = reply.sse();
        stream.send(endpoint, { event: 'endpoint' });
        return undefined;
      }, { path: '/sse' }));
      const gate = use(t, await startGate({ upstream: server.url }));
      const response = await post(gate.url, { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
      assert.equal((await response.json()).error.code, -32603, endpoint);
    }
    assert.equal(trap.requests.length, 0, 'nothing was sent there');
  });

  test('down from the start: -32603 that names the server, on every front', async (t) => {
    const port = await freePort();
    for (const transport of ['http', 'stdio']) {
      const gate = use(t, await startGate({ transport, upstream: `http://127.0.0.1:${port}/mcp` }));
      const message = { jsonrpc: '2.0', id: 'i', method: 'initialize', params: {} };
      let answer;
      if (transport === 'http') {
        const response = await post(gate.url, message);
        assert.equal(response.status, 200);
        answer = await response.json();
      } else {
        gate.rpc.send(message);
        answer = await gate.rpc.next(() => true);
      }
      assert.deepEqual([answer.id, answer.error.code], ['i', -32603]);
      assert.match(answer.error.message, new RegExp(`server \`[^\`]+\`: .*${port}.*refused`));
    }
  });

  test('invalid answers: the error describes what came under the id of the call, and the session continues', async (t) => {
    const odd = [
      ['not JSON', (reply) => reply.text('{"jsonrpc":', { headers: { 'Content-Type': 'application/json' } })],
      ['HTML', (reply) => reply.text('<h1>Hi</h1>', { headers: { 'Content-Type': 'text/html' } })],
      ['another id', (reply) => reply.json({ jsonrpc: '2.0', id: 424242, result: {} })],
      ['a batch', (reply) => reply.json([{ jsonrpc: '2.0', id: 1, result: {} }])],
      ['500', (reply) => reply.status(500)],
      ['202', (reply) => reply.status(202)],
      ['duplicate keys', (reply, id) => reply.text(`{"jsonrpc":"2.0","id":${id},"id":${id},"result":{}}`, { headers: { 'Content-Type': 'application/json' } })],
      ['two lengths', (reply) => reply.raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}')],
      ['length and chunks', (reply) => reply.raw('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')],
      ['a half head', (reply) => { reply.raw('HTTP/1.1 200 OK\r\nContent-'); reply.drop(); }],
      ['a stream that ends', (reply) => reply.sse().end()],
    ];
    const server = use(t, await startUpstream(legacyServer({
      sessionId: 's', methods: { 'tools/call': ({ arguments: { n } }, { reply, message }) => odd[n][1](reply, message.id) && undefined },
    })));
    const gate = use(t, await startGate({ upstream: server.url }));
    const client = await LegacyHttp.open(gate.url);
    for (const [n, [what]] of odd.entries()) {
      const { answer } = await client.exchange('tools/call', { name: 'x', arguments: { n } });
      assert.equal(answer.error?.code, -32603, `${what}: ${JSON.stringify(answer)}`);
      assert.match(answer.error.message, /server `/, what);
    }
    assert.deepEqual(await client.request('tools/list'), { tools: [] });
  });

  for (const [name, path, location] of [
    ['to the path with a slash', '/mcp', '/mcp/?a=1'], ['to the path without one', '/mcp/', '/mcp?a=1'],
    ['as a proxy spoils it, with another scheme and port', '/mcp', 'https://127.0.0.1:1/mcp/?a=1'],
  ]) {
    test(`a redirect ${name} is followed, at our own origin, and the credentials are sent there`, async (t) => {
      const legacy = legacyServer({ sessionId: 's' });
      const server = use(t, await startUpstream((request, reply) => (request.url === `${path}?a=1` ? reply.status(307, { Location: location }) : legacy(request, reply)), { path: `${path}?a=1` }));
      const gate = use(t, await startGate({ upstream: server.url, headers: ['Authorization: Bearer upstream-key'] }));
      assert.deepEqual(await (await LegacyHttp.open(gate.url)).request('tools/list'), { tools: [] });
      const there = server.requests.filter(({ url }) => url === new URL(location, server.url).pathname + '?a=1');
      assert.ok(there.some(({ json }) => json?.method === 'tools/list'));
      for (const { headers } of there) assert.equal(headers.authorization, 'Bearer upstream-key');
      assert.equal(server.requests.length - there.length, 1, 'what was learned is kept');
    });
  }

  test('a redirect to and fro ends in an error', async (t) => {
    const server = use(t, await startUpstream((request, reply) => reply.status(308, { Location: request.url === '/mcp' ? '/mcp/' : '/mcp' })));
    const gate = use(t, await startGate({ upstream: server.url }));
    const { error } = await (await post(gate.url, { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })).json();
    assert.match(error.message, /redirect \(HTTP 308\) to \/mcp; redirects are not followed/);
    assert.ok(server.requests.length < 8, `${server.requests.length} requests`);
  });

  test('other redirects are refused, also to the same host, and the target is not asked', async (t) => {
    const trap = use(t, await startUpstream((_, reply) => reply.status(200)));
    for (const status of [301, 302, 303, 307, 308]) {
      const server = use(t, await startUpstream((_, reply) => reply.status(status, { Location: trap.url })));
      const gate = use(t, await startGate({ upstream: server.url, headers: ['Authorization: Bearer upstream-key'] }));
      const response = await post(gate.url, { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
      const { error } = await response.json();
      assert.equal(error.code, -32603);
      assert.match(error.message, new RegExp(`redirect \\(HTTP ${status}\\)`));
      assert.doesNotMatch(error.message, /upstream-key/);
    }
    assert.equal(trap.requests.length, 0);
  });
});

describe('U9 I6 headers (attacks.md 20)', () => {
  const secrets = {
    Authorization: 'Bearer client-secret', Cookie: 'c=client-secret', 'Proxy-Authorization': 'Basic client-secret', 'X-Api-Key': 'client-secret',
    'X-Forwarded-For': '203.0.113.9', Forwarded: 'for=203.0.113.9', TE: 'trailers', 'Keep-Alive': 'timeout=5', Upgrade: 'h2c', Connection: 'close, Upgrade, X-Hop', 'X-Hop': 'client-secret',
    Referer: 'http://localhost/client-secret', 'User-Agent': 'client-secret', 'Last-Event-ID': '0-0',
  };
  const upstreamHeaders = ['Authorization: Bearer upstream-key', 'X-Tenant: t1', 'X-Odd:  spaced  out '];

  test('--header is sent with every request; the client\'s own never are', async (t) => {
    const { gate, probe } = await pair(t, 'http', 'http', { headers: upstreamHeaders, peer: { headers: secrets } });
    const modern = new ModernHttp(gate.url, { headers: secrets });
    await modern.call('echo');
    assert.ok(probe.seen.filter(({ headers }) => headers).length >= 3);
    for (const { headers } of probe.seen) {
      if (!headers) continue;
      assert.deepEqual([headers.authorization, headers['x-tenant'], headers['x-odd']], ['Bearer upstream-key', 't1', 'spaced  out']);
      assert.doesNotMatch(JSON.stringify(headers), /client-secret|203\.0\.113|h2c|trailers/);
      assert.match(headers.host, /^127\.0\.0\.1:\d+$/);
    }
  });

  test('the session id of the client is not the one the server sees', async (t) => {
    const { peer, probe } = await pair(t, 'http', 'http');
    await peer.call('echo');
    assert.ok(peer.sessionId && !JSON.stringify(probe.seen).includes(peer.sessionId));
  });

  test('nor is the token of the gate', async (t) => {
    const server = use(t, await startProbe());
    const token = 'correct-horse-battery-staple';
    const gate = use(t, await startGate({ upstream: server.url, args: ['--token-file', tempFile('token', token)] }));
    const peer = await peerFor('http', gate, { headers: { Authorization: `Bearer ${token}` } });
    await peer.call('echo');
    assert.ok(!JSON.stringify(server.probe.seen).includes(token));
    assert.ok(!gate.stderr.includes(token));
  });

  test('headers that are the gate\'s own business, or no headers, are refused at the start', async () => {
    for (const header of ['Host: evil', 'Content-Length: 5', 'Transfer-Encoding: chunked', 'Mcp-Session-Id: x', 'no colon', ': v', 'A b: c', 'X: a\r\nY: b', 'X: a\nY: b']) {
      const { code, stderr } = await cli(['-c', policyFile(), '--header', header, '--upstream', 'http://127.0.0.1:9/mcp']);
      assert.ok([2, 3].includes(code), `${JSON.stringify(header)}: ${code} ${stderr}`);
      assert.match(stderr, /header/i);
    }
  });

  test('Mcp-Param-* of a modern client pass, unknown ones too', async (t) => {
    const { gate, probe } = await pair(t, 'modern-http', 'http');
    const modern = new ModernHttp(gate.url);
    await modern.call('echo', { a: 1 }, { headers: { 'Mcp-Param-Unknown': 'v', 'Mcp-Param-Other': '=?base64?w6k=?=' } });
    const { headers } = probe.seen.find(({ method }) => method === 'tools/call');
    assert.deepEqual([headers['mcp-param-unknown'], headers['mcp-param-other'], headers['mcp-name'], headers['mcp-method'], headers['mcp-protocol-version']],
      ['v', '=?base64?w6k=?=', 'echo', 'tools/call', '2026-07-28']);
  });
});
