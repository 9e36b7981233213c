// Event streams towards clients and from servers (protocol.md H5-H8, H10, H12, H13).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  HttpConnection, alive, formatEvent, formatRequest, legacyServer, mayGrow, pair, peerFor, post, request, rssBytes, startFixture,
  startGate, startUpstream, suitePair, until, use,
} from '../lib/index.mjs';

const text = (value) => ({ content: [{ type: 'text', text: value }] });

describe('H5 H6 the standing stream', () => {
  const world = suitePair('http', 'child');

  test('H6 headers and events are what a reader expects', async () => {
    const stream = await world.peer.listen();
    assert.equal(stream.status, 200);
    assert.equal(stream.contentType, 'text/event-stream');
    assert.match(stream.headers['cache-control'], /no-cache, no-transform/);
    assert.equal(stream.headers['x-accel-buffering'], 'no');
    await world.peer.call('change');
    const { via } = await world.peer.entry((json) => json?.method === 'notifications/tools/list_changed');
    assert.equal(via, 'get');
  });

  test('H5 a second stream replaces the first; the server is not affected', async () => {
    const { pid } = await world.peer.ask('mark');
    const first = world.peer.standing;
    for (let i = 0; i < 5; i++) {
      const stream = await world.peer.listen();
      assert.equal(stream.status, 200);
    }
    await first.ended;
    await world.peer.call('change', { what: 'prompts' });
    assert.ok(await world.peer.next((json) => json?.method === 'notifications/prompts/list_changed'));
    assert.equal(world.peer.received.filter(({ json }) => json.method === 'notifications/prompts/list_changed').length, 1, 'not on every stream');
    assert.equal((await world.peer.ask('mark')).pid, pid);
  });

  test('H8 missed events are sent again, of that stream and session only', async () => {
    const { peer } = world;
    const stream = await peer.listen();
    await peer.call('change', { what: 'resources' });
    await peer.next((json) => json?.method === 'notifications/resources/list_changed');
    stream.close();
    await peer.call('update', { uri: 'test://1' });
    await peer.call('update', { uri: 'test://2' });
    const again = await request('GET', peer.url, { headers: { ...peer.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': '0-0' } });
    const uris = [];
    while (uris.length < 2) {
      const message = await again.message();
      if (message.method === 'notifications/resources/updated') uris.push(message.params.uri);
    }
    assert.deepEqual(uris, ['test://1', 'test://2']);
    again.close();

    const other = await peerFor('http', world.gate);
    for (const id of ['0-0', '1-0', '99-1', 'x', '-', '0-99999999999999999999', '18446744073709551616-1']) {
      const replay = await request('GET', other.url, { headers: { ...other.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': id } });
      if (replay.status !== 200) { assert.equal(replay.status, 400, id); continue; }
      await other.call('change');
      const message = await replay.message();
      assert.equal(message.method, 'notifications/tools/list_changed', 'only its own');
      replay.close();
    }
    await other.end();
  });
});

describe('H8 H10 the stream of a call', () => {
  for (const back of ['child', 'http']) {
    test(`a client that lost the stream resumes it and gets the answer, ${back}`, async (t) => {
      const { gate, peer } = await pair(t, 'http', back);
      const call = await post(gate.url, peer.message('tools/call', { name: 'ask', arguments: { method: 'roots/list' } }, 'lost'), { headers: peer.headersFor() });
      const priming = await call.event();
      assert.deepEqual([priming.data, typeof priming.id], ['', 'string'], 'an event to resume from');
      const question = await call.event({ fits: ({ data }) => data });
      call.connection.reset();
      await peer.respond(JSON.parse(question.data).id, { result: { roots: [] } });
      const again = await request('GET', gate.url, { headers: { ...peer.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': question.id } });
      assert.equal(again.status, 200);
      const answer = await again.message();
      assert.deepEqual([answer.id, answer.result.content[0].text], ['lost', '{"roots":[]}']);
      assert.equal(await again.message(), null, 'and that was all');
      const whole = await request('GET', gate.url, { headers: { ...peer.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': priming.id } });
      assert.deepEqual((await whole.messages()).map((message) => message.method ?? message.id), ['roots/list', 'lost']);
    });
  }

  test('H10 a disconnect of a legacy client does not cancel its call', async (t) => {
    const { gate, peer, probe } = await pair(t, 'http', 'http');
    const connection = await HttpConnection.open(gate.url);
    connection.write(formatRequest('POST', gate.url, {
      headers: { ...peer.headersFor(), 'Content-Type': 'application/json', Accept: '*/*' },
      body: peer.message('tools/call', { name: 'hold', arguments: { key: 'left' } }, 'left'),
    }));
    await probe.until(({ held }) => held.has('left'));
    connection.reset();
    await peer.call('echo');
    assert.ok(!probe.seen.some((entry) => entry.method === 'notifications/cancelled' || 'cancelled' in entry));
    await peer.call('release', { key: 'left' });
  });

  for (const back of ['child', 'http']) {
    test(`H10 a disconnect of a modern client cancels its call, ${back}`, async (t) => {
      const { gate, peer, probe } = await pair(t, 'modern-http', back);
      const message = peer.message('tools/call', { name: 'wait', arguments: { announce: true }, _meta: { progressToken: 1 } }, 'w');
      const response = await post(gate.url, message, { headers: peer.headersFor(message) });
      await response.message();
      response.connection.reset();
      if (probe) await probe.until(({ seen }) => seen.some((entry) => 'cancelled' in entry));
      else {
        await until('a cancellation', async () => (await peer.ask('seen')).some((entry) => 'cancelled' in entry));
      }
    });
  }

  test('no priming event for clients of older revisions', async (t) => {
    const { gate, peer } = await pair(t, 'http', 'child', { initialize: { version: '2025-06-18' } });
    const response = await post(gate.url, peer.message('tools/call', { name: 'log', arguments: { data: 'x' } }, 'old'), { headers: peer.headersFor() });
    assert.ok((await response.event()).data);
  });
});

describe('H7 H8 streams of servers', () => {
  const legacy = (reply) => startUpstream(legacyServer({ sessionId: 's', methods: { 'tools/call': reply } }));
  const answer = (id) => JSON.stringify({ jsonrpc: '2.0', id, result: text('done') });
  const note = (data) => JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });

  for (const [name, format] of Object.entries({
    'LF': (events) => events,
    'CRLF': (events) => events.replaceAll('\n', '\r\n'),
    'CR': (events) => events.replaceAll('\n', '\r'),
    'a byte order mark': (events) => `\uFEFF${events}`,
    'comments and unknown fields': (events) => `: hi\n:\nfoo: bar\n\n${events.replaceAll('data:', ': c\nfoo\ndata:')}`,
    'no space after the colon': (events) => events.replaceAll('data: ', 'data:'),
  })) {
    test(`H7 ${name}, cut after every byte`, async (t) => {
      const server = use(t, await legacy(async (_, { message, reply }) => {
        const stream = reply.sse();
        const events = `id: 1\nretry: 5\ndata:\n\n${formatEvent(note('é1'))}data: {"jsonrpc":"2.0",\ndata: "method":"notifications/message",\ndata: "params":{"level":"info","data":"two"}}\n\n${formatEvent(answer(message.id))}`;
        for (const byte of Buffer.from(format(events))) { stream.raw(Buffer.from([byte])); await new Promise(setImmediate); }
        stream.end();
      }));
      const gate = use(t, await startGate({ upstream: server.url }));
      const peer = await peerFor('http', gate);
      assert.deepEqual(await peer.call('x'), text('done'));
      assert.deepEqual(peer.received.filter(({ json }) => json.method).map(({ json }) => json.params.data), ['é1', 'two']);
    });
  }

  test('H8 a stream that the server closed is resumed by GET with Last-Event-ID; a client can do the same', async (t) => {
    for (const front of ['http', 'stdio', 'sse']) {
      const { peer, probe } = await pair(t, front, 'http');
      if (front === 'http') {
        const first = await post(peer.url, peer.message('tools/call', { name: 'leave', arguments: { retry: 20 } }, 'leave'), { headers: peer.headersFor() });
        let last;
        let done;
        for (let response = first; !done;) {
          for (let event; (event = await response.event()) !== null;) {
            last = event.id ?? last;
            if (event.data && JSON.parse(event.data).id === 'leave') done = JSON.parse(event.data);
          }
          if (!done) response = await request('GET', peer.url, { headers: { ...peer.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': last } });
        }
        assert.equal(done.result.content[0].text, 'after');
      } else {
        assert.equal((await peer.call('leave', { retry: 20 })).content[0].text, 'after');
      }
      const resumed = probe.seen.filter((entry) => entry.get && entry.headers['last-event-id']);
      assert.equal(resumed.length, 1);
      assert.match(resumed[0].headers['last-event-id'], /^\d+-1$/);
    }
  });

  for (const [kind, events] of [
    ['alone', (message) => `id: 1\nretry: 4321\ndata:\n\n${formatEvent(answer(message.id))}`],
    ['on a notification', (message) => `retry: 4321\n${formatEvent(note('n'))}${formatEvent(answer(message.id))}`],
    ['on the answer', (message) => `retry: 4321\n${formatEvent(answer(message.id))}`],
  ])
    test(`H8 \`retry:\` of a server that stays reaches the client: ${kind}`, async (t) => {
      const server = use(t, await legacy(async (_, { message, reply }) => {
        const stream = reply.sse();
        stream.raw(events(message));
        stream.end();
      }));
      const gate = use(t, await startGate({ upstream: server.url }));
      const peer = await peerFor('http', gate);
      const said = await (await post(peer.url, peer.message('tools/call', { name: 'x', arguments: {} }, 'x'), { headers: peer.headersFor() })).text();
      assert.match(said, /^retry: ?4321$/m);
      assert.match(said, /"id":"x"/);
    });

  test('H8 a stream that is lost together with its session fails its call immediately', async (t) => {
    const { peer, behind } = await pair(t, 'http', 'http');
    const answered = peer.exchange('tools/call', { name: 'ask', arguments: { method: 'roots/list' } });
    await peer.next((json) => json?.method === 'roots/list');
    behind.sessions.clear();
    for (const socket of behind.sockets) socket.destroy();
    assert.match((await answered).json.error.message, /`[^`]+` (ended the stream|answered HTTP 400)/);
    assert.deepEqual(await peer.ask('echo', { a: 1 }), { a: 1 });
  });

  test('H8 a stream of the SDK\'s server is resumed', async (t) => {
    const { url: upstream } = use(t, await startFixture('conformance.mjs', '--era', 'legacy'));
    const gate = use(t, await startGate({ transport: 'stdio', upstream }));
    await gate.rpc.initialize();
    assert.match((await gate.rpc.call('test_reconnection')).content[0].text, /after the stream was closed/);
  });
});

describe('H5 calls beside the standing stream', () => {
  // Sends requests on the standing stream only, and drops them while it is not open, as the SDK's server does. Opening it takes
  // long enough for a request on another connection to come first.
  async function startAsking(t, { answersGet = true } = {}) {
    let standing, answered;
    const posts = legacyServer({ sessionId: 's', methods: { 'tools/call': async () => {
      if (!standing) return text('nobody to ask');
      standing.send({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
      return text(await new Promise((resolve) => { answered = resolve; }));
    } } });
    const server = use(t, await startUpstream(async (request, reply) => {
      if (request.method === 'POST') {
        if (request.json.id === 'q') answered(request.json.result.roots[0].name);
        return posts(request, reply);
      }
      for (let turn = 0; turn < 1000; turn++) await new Promise((resolve) => { setImmediate(resolve); });
      if (answersGet) standing = reply.sse();
      return undefined;
    }));
    return server.url;
  }

  for (const front of ['http', 'stdio', 'sse']) {
    test(`the standing stream to the server is open before a call is sent, ${front}`, async (t) => {
      const gate = use(t, await startGate({ transport: front, upstream: await startAsking(t) }));
      const peer = await peerFor(front, gate);
      await peer.listen?.();
      const answer = peer.call('ask');
      const { id } = await Promise.race([peer.next((json) => json?.method === 'roots/list'), answer.then((result) => assert.fail(JSON.stringify(result)))]);
      await peer.respond(id, { result: { roots: [{ uri: 'file:///srv', name: 'srv' }] } });
      assert.equal((await answer).content[0].text, 'srv');
    });
  }

  test('a server that does not answer the request for the stream is still called', async (t) => {
    const gate = use(t, await startGate({ transport: 'stdio', upstream: await startAsking(t, { answersGet: false }) }));
    const peer = await peerFor('stdio', gate);
    for (let n = 0; n < 2; n++) assert.equal((await peer.call('ask')).content[0].text, 'nobody to ask');
  });
});

describe('H12 the transport of 2024', () => {
  const world = suitePair('sse', 'child');

  test('endpoint event first, 202 for posts, answers only on the stream', async () => {
    assert.match(world.peer.endpoint, /\/message\?sessionId=[A-Za-z0-9_-]{22,}$/);
    const response = await world.peer.send(world.peer.message('ping', undefined, 'p'));
    assert.equal(response.status, 202);
    assert.doesNotMatch(await response.text(), /jsonrpc/);
    assert.deepEqual((await world.peer.next((json) => json?.id === 'p')).result, {});
  });

  test('posts to no session: 404; bad ones: 400, and nothing on the stream', async () => {
    const { peer, gate } = world;
    const before = peer.received.length;
    for (const path of ['/message', '/message?sessionId=', '/message?sessionId=nope', `/message?sessionid=${peer.endpoint.split('=')[1]}`]) {
      assert.equal((await post(gate.origin, peer.message('ping', undefined, 1), { path })).status, 404, path);
    }
    assert.equal((await post(peer.endpoint, '[]')).status, 400);
    assert.equal((await post(peer.endpoint, '{}', { headers: { 'Content-Type': 'text/plain' } })).status, 415);
    await peer.request('ping');
    assert.equal(peer.received.length, before + 1);
  });

  test('a session id of one transport is unknown to the other', async () => {
    const id = world.peer.endpoint.split('=')[1];
    assert.equal((await post(world.gate.origin, { jsonrpc: '2.0', id: 1, method: 'ping' }, { path: '/mcp', headers: { 'Mcp-Session-Id': id } })).status, 404);
    const http = await peerFor('http', { url: `${world.gate.origin}/mcp` });
    assert.equal((await post(world.gate.origin, { jsonrpc: '2.0', id: 1, method: 'ping' }, { path: `/message?sessionId=${http.sessionId}` })).status, 404);
    await http.end();
  });

  test('when the stream ends, so do the session and its server', async () => {
    const other = await peerFor('sse', world.gate);
    const { pid } = await other.ask('process');
    other.close();
    await until('the end of the child', () => !alive(pid));
    assert.equal((await post(other.endpoint, other.message('ping', undefined, 1))).status, 404);
  });
});

describe('H13 a slow reader harms only itself', () => {
  // 60 events of 1 MB each for a client that does not read.
  for (const [front, back] of [['http', 'child'], ['http', 'http'], ['modern-http', 'http'], ['sse', 'child']]) {
    test(`${front} to ${back}: memory stays bounded, other clients continue, and the slow reader gets everything when it reads`, async (t) => {
      const { gate, peer } = await pair(t, front, back);
      const other = await peerFor(front, gate);
      await other.call('echo');
      const before = rssBytes(gate.pid);
      const message = peer.message('tools/call', { name: 'flood', arguments: { count: 60, bytes: 1 << 20 }, ...(front.startsWith('modern') && { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }) }, 'flood');
      const socket = front === 'sse' ? peer.stream.connection.socket : undefined;
      socket?.pause();
      let connection;
      if (front === 'sse') await peer.send(message);
      else {
        connection = await HttpConnection.open(gate.url);
        connection.write(formatRequest('POST', gate.url, { headers: { ...peer.headersFor(message), 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }, body: message }));
        connection.socket.pause();
      }
      let most = 0;
      for (let i = 0; i < 50; i++) {
        await other.call('size', { bytes: 1000 });
        most = Math.max(most, rssBytes(gate.pid));
      }
      assert.ok(most - before < mayGrow(gate.pid, 40 << 20), `grew by ${(most - before) >> 20} MB`);
      if (front === 'sse') {
        socket.resume();
        await peer.next((json) => json?.id === 'flood');
        assert.equal(peer.received.filter(({ json }) => json.method === 'notifications/message').length, 60);
      } else {
        connection.socket.resume();
        const messages = await (await connection.response()).messages();
        assert.deepEqual([messages.length, messages.at(-1).id], [61, 'flood']);
        connection.close();
      }
    });
  }
});
