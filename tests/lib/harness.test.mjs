// The tools that the other tests trust.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DeadlineError, HttpConnection, LegacyHttp, SseParser, alive, children, fdCount, fixture, formatEvent, formatRequest,
  legacyServer, modernRequest, node, post, rawStdio, request, rssBytes, run, start, startStdio, startUpstream, statm, use,
} from './index.mjs';

const text = (value) => ({ content: [{ type: 'text', text: value }] });

test('a process is waited for by its lines and stopped', async () => {
  const child = start(node, ['-e', 'console.error("ready"); setInterval(() => {}, 1000)']);
  assert.equal(await child.waitLine(/^ready$/, { stream: 'stderr' }), 'ready');
  assert.ok(alive(child.pid) && fdCount(child.pid) > 2 && statm(child.pid).resident > 0 && rssBytes(child.pid) > 0);
  assert.deepEqual(await child.stop(), { code: null, signal: 'SIGTERM' });
  assert.ok(!alive(child.pid));
});

test('children of a process are seen', async () => {
  const child = start(node, ['-e', `
    const c = require("child_process").spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
    c.on("spawn", () => console.log(c.pid));`]);
  const pid = Number(await child.waitLine(/^\d+$/));
  assert.deepEqual(children(child.pid), [pid]);
  await child.stop();
});

test('a wait has an end, and says what it waited for', async () => {
  const child = start(node, ['-e', 'setInterval(() => {}, 1000)']);
  await assert.rejects(child.waitLine(/never/, { timeout: 50 }),
    (error) => error instanceof DeadlineError && /never/.test(error.message));
  await child.stop();
});

test('a program that does not exist is an error, not a hang', async () => {
  const { code, stderr } = await run('/nonexistent/program');
  assert.notEqual(code, 0);
  assert.match(stderr, /ENOENT/);
});

test('events are read whatever the line ends and splits', () => {
  const stream = '\uFEFFid: 1\r\nretry: 20\r\ndata:\r\n\r\n: keep-alive\n\nevent: x\rdata: a\rdata: b\r\rdata: {"é":1}\n\n';
  for (const size of [1, 2, 3, 1000]) {
    const events = [];
    const parser = new SseParser((event) => events.push(event));
    for (let i = 0; i < stream.length; i += size) parser.push(stream.slice(i, i + size));
    assert.deepEqual(events, [
      { event: 'message', id: '1', retry: 20, data: '' }, { event: 'x', data: 'a\nb' }, { event: 'message', data: '{"é":1}' },
    ], `pieces of ${size}`);
    assert.deepEqual(parser.comments, ['keep-alive']);
  }
  assert.equal(formatEvent({ a: 1 }, { id: 7, retry: 5 }), 'event: message\nid: 7\nretry: 5\ndata: {"a":1}\n\n');
});

test('HTTP by hand: split requests, keep-alive, chunked both ways', async (t) => {
  const server = use(t, await startUpstream((req, reply) => reply.json({ got: req.body, at: req.index })));
  const connection = await HttpConnection.open(server.url);
  await connection.trickle(formatRequest('POST', server.url, { body: 'one' }));
  const first = await connection.response();
  assert.equal(first.status, 200);
  assert.deepEqual(await first.json(), { got: 'one', at: 0 });
  connection.send('POST', { chunks: ['t', 'wo'] });
  assert.deepEqual(await (await connection.response()).json(), { got: 'two', at: 1 });
  connection.close();
  const whole = await request('POST', server.url, { body: 'three', split: 7 });
  assert.deepEqual(await whole.json(), { got: 'three', at: 2 });
});

test('a stream is read as it comes, and dropped mid-way', async (t) => {
  let release;
  const released = new Promise((resolve) => { release = resolve; });
  const server = use(t, await startUpstream(async (req, reply) => {
    const stream = reply.sse();
    stream.send({ n: 1 });
    await released;
    stream.send({ n: 2 });
    await req.gone;
  }));
  const response = await post(server.url, {});
  assert.ok(response.isEventStream);
  assert.deepEqual(await response.message(), { n: 1 });
  release();
  assert.deepEqual(await response.message(), { n: 2 });
  response.connection.reset();
  await server.requests[0].gone;
});

test('a server may answer with anything', async (t) => {
  const server = use(t, await startUpstream((req, reply) => {
    if (req.index === 0) reply.raw('HTTP/1.1 299 Odd\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\nhi');
    else reply.drop();
  }));
  const odd = await request('GET', server.url);
  assert.deepEqual([odd.status, odd.reason, odd.headers['x-a'], await odd.text()], [299, 'Odd', '1, 2', 'hi']);
  await assert.rejects(request('GET', server.url), /closed without an answer/);
});

test('a legacy exchange over HTTP, with a request from the server inside', async (t) => {
  const server = use(t, await startUpstream(legacyServer({
    sessionId: 's-1',
    methods: {
      'tools/call': async ({ name }, { message, reply }) => {
        const stream = reply.sse();
        stream.send('', { id: 'prime' });
        stream.send({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
        stream.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: name } });
        stream.send({ jsonrpc: '2.0', id: message.id, result: text('done') });
        stream.end();
      },
    },
  })));
  const client = await LegacyHttp.open(server.url, { onRequest: (method) => ({ asked: method }) });
  const { answer, notifications } = await client.exchange('tools/call', { name: 'x', arguments: {} });
  assert.deepEqual(answer.result, text('done'));
  assert.equal(notifications[0].params.data, 'x');
  assert.deepEqual(server.messages().find((message) => message.id === 'q').result, { asked: 'roots/list' });
  assert.equal(server.requests.at(-1).headers['mcp-session-id'], 's-1');
});

test('a scripted stdio server and the line client', async () => {
  const [command, ...args] = rawStdio(async (io) => {
    await io.raw('not JSON\n');
    await io.serve({
      'tools/call': async ({ name }, { id }) => {
        if (name === 'fail') throw { code: -32000, message: io.args.why };
        if (name === 'big') return { content: [{ type: 'text', text: 'x'.repeat(4_000_000) }] };
        await io.send({ jsonrpc: '2.0', id: 'ask', method: 'roots/list' });
        await io.raw(`{"jsonrpc":"2.0","id":${id},"resu`);
        await io.raw('lt":{"content":[]}}\n');
      },
    });
  }, { why: 'told to' });
  const rpc = startStdio(command, args);
  await rpc.initialize();
  assert.deepEqual(rpc.noise, ['not JSON']);
  assert.deepEqual(await rpc.call('split'), { content: [] });
  assert.equal((await rpc.next((message) => message.id === 'ask')).method, 'roots/list');
  assert.equal((await rpc.call('big')).content[0].text.length, 4_000_000);
  await assert.rejects(rpc.call('fail'), { code: -32000, message: '-32000 told to' });
  rpc.child.stdin.end();
  assert.deepEqual(await rpc.child.wait(), { code: 0, signal: null });
});

test('the conformance fixture fires its list changes on stdio', async () => {
  for (const [era, modern] of [['legacy', false], ['modern', true]]) {
    const rpc = startStdio(node, [fixture('conformance.mjs'), '--stdio', '--era', era]);
    if (modern) {
      rpc.send(modernRequest('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
      await rpc.next((message) => message.method === 'notifications/subscriptions/acknowledged');
    } else {
      await rpc.initialize();
    }
    const names = async () => (await rpc.request('tools/list', {}, { modern })).tools.map((tool) => tool.name);
    const before = await names();
    await rpc.call('test_trigger_tool_change', {}, { modern });
    assert.ok(await rpc.next((message) => message.method === 'notifications/tools/list_changed'));
    assert.deepEqual((await names()).filter((name) => !before.includes(name)), ['test_extra_tool']);
    await rpc.child.stop();
  }
});
