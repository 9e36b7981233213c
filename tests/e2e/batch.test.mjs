// J5 batches: taken apart and judged one by one where the negotiated revision has them, refused where it does not; on every
// front, and whatever is in them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HttpConnection, HttpPeer, ModernHttp, cli, legacyServer, pair, post, rawStdio, startGate, startUpstream, suitePair, tempDir, until, use, watch } from '../lib/index.mjs';

const call = (id, name, args = {}, meta) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...(meta && { _meta: meta }) } });
const note = { jsonrpc: '2.0', method: 'notifications/nothing' };
const policy = {
  version: '1', default: 'allow',
  tools: { echo: { rules: [{ name: 'three', rate_limit: '3/day' }] }, mark: { rules: [{ name: 'no marks', action: 'deny', on_deny: 'not here' }] } },
};
const byId = (answers) => Object.fromEntries(answers.map((answer) => [answer.id, answer]));
const called = (tool) => ({ raw }) => JSON.parse(raw).params.name === tool;
const said = ({ result }) => result.content[0].text;

// The array that answers, or the refusal: { status, json }.
async function send(front, { peer }, batch) {
  const text = typeof batch === 'string' ? batch : JSON.stringify(batch);
  if (front === 'stdio') {
    await peer.send(text);
    return { json: await peer.next((json) => Array.isArray(json) || json?.error) };
  }
  if (front === 'http') {
    const response = await post(peer.url, text, { headers: peer.headersFor() });
    const messages = await response.messages();
    return { status: response.status, json: messages.at(-1), before: messages.slice(0, -1) };
  }
  const response = await post(peer.endpoint, text, {});
  return { status: response.status, json: response.status === 202 ? await peer.next((json) => Array.isArray(json)) : await response.json() };
}

for (const [front, back] of [['http', 'http'], ['stdio', 'child'], ['sse', 'child']]) {
  for (const version of ['2025-03-26', '2024-11-05']) {
    describe(`J5 ${front}, ${version}`, () => {
      const home = `${tempDir()}/home`;
      const world = suitePair(front, back, { initialize: { version }, policy, env: { SALLYPORT_HOME: home } });

      test('each message is a call of its own, and the answers come together', async () => {
        const seen = await watch(world);
        const { json } = await send(front, world, [
          call(1, 'echo', { n: 1 }), note, call('two', 'mark'), { jsonrpc: '2.0', id: 3, method: 'ping' },
          call(4, 'echo', { n: 2 }), call(5, 'echo', { n: 3 }), call(6, 'echo', { n: 4 }), { jsonrpc: '2.0', id: 7 }, 8,
        ]);
        const answers = byId(json);
        assert.equal(json.length, 8);
        assert.deepEqual([1, 4, 5].map((id) => said(answers[id])), ['{"n":1}', '{"n":2}', '{"n":3}']);
        assert.match(said(answers.two), /not here/);
        assert.ok(answers[6].result.isError, 'the limit holds within a batch');
        assert.deepEqual(answers[3].result, {});
        assert.deepEqual([answers[7].error.code, answers.null.error.code], [-32600, -32600]);
        assert.equal((await seen('tools/call')).filter(called('echo')).length, 3);
        const verdicts = await until('the records', async () => { // the log is written behind the answers
          const log = await cli(['audit', 'query', '--json', '--limit', '0'], { env: { SALLYPORT_HOME: home } });
          const found = log.stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter(({ tool }) => ['echo', 'mark'].includes(tool)).map(({ verdict }) => verdict);
          return found.length >= 5 && found;
        });
        assert.deepEqual(verdicts.sort(), ['allow', 'allow', 'allow', 'deny', 'deny']);
      });

      test('refused as a whole: empty, too many, one id twice, initialize, an element of the modern era', async () => {
        const seen = await watch(world);
        const modern = call(2, 'seen', {}, { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' });
        for (const [what, batch] of Object.entries({
          empty: [], many: Array.from({ length: 65 }, (_, id) => call(id, 'size', { bytes: 1 })), twice: [call(1, 'size', { bytes: 1 }), call(1, 'size', { bytes: 1 })],
          initialize: [call(1, 'size', { bytes: 1 }), { jsonrpc: '2.0', id: 2, method: 'initialize', params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }],
          modern: [call(1, 'size', { bytes: 1 }), modern],
          duplicate: '[{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}]',
        })) {
          const { status, json } = await send(front, world, batch);
          assert.equal(json.error?.code, -32600, what);
          if (status) assert.equal(status, 400, what);
        }
        assert.equal((await seen('tools/call')).filter(called('size')).length, 0);
      });
    });
  }
}

describe('J5 batches over Streamable HTTP', () => {
  test('a batch of notifications gets 202; notifications of servers precede the array on the stream; one call can be cancelled', async (t) => {
    const { peer } = await pair(t, 'http', 'http', { initialize: { version: '2025-03-26' } });
    const silent = await post(peer.url, JSON.stringify([note, note]), { headers: peer.headersFor() });
    assert.deepEqual([silent.status, await silent.text()], [202, '']);
    const waiting = post(peer.url, JSON.stringify([call('p', 'progress', { steps: 2 }, { progressToken: 'tok' }), call('w', 'wait', { announce: true }, { progressToken: 'w' })]), { headers: peer.headersFor() });
    const response = await waiting;
    const progress = [await response.message(), await response.message(), await response.message()];
    assert.deepEqual(progress.map(({ params }) => params.progressToken).sort(), ['tok', 'tok', 'w']);
    await peer.notify('notifications/cancelled', { requestId: 'w' });
    const answers = await response.message();
    assert.deepEqual(answers.map(({ id }) => id), ['p']);
  });

  test('a client that disconnects does not cancel the batch, and its session continues', async (t) => {
    const { peer, probe } = await pair(t, 'http', 'http', { initialize: { version: '2025-03-26' } });
    const connection = await HttpConnection.open(peer.url);
    connection.send('POST', { headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...peer.headersFor() }, body: [call('a', 'hold', { key: 'a' }), call('b', 'hold', { key: 'b' })] });
    while (probe.held.size < 2) await probe.changed();
    connection.reset();
    assert.equal(said({ result: await peer.call('release', { key: 'a' }) }), 'released');
    assert.equal(said({ result: await peer.call('release', { key: 'b' }) }), 'released');
    assert.deepEqual(probe.seen.filter(({ method, cancelled }) => cancelled || method === 'notifications/cancelled'), []);
  });

  for (const version of ['2025-06-18', '2025-11-25']) {
    test(`${version} has no batches: -32600 and 400`, async (t) => {
      const { peer } = await pair(t, 'http', 'http', { initialize: { version } });
      const { status, json } = await send('http', { peer }, [call(1, 'echo')]);
      assert.deepEqual([status, json.error.code], [400, -32600]);
      assert.equal(said({ result: await peer.call('echo', { n: 1 }) }), '{"n":1}');
    });
  }
});

// The answer stands first, and behind it what belongs before it: progress, and a question.
const arrayed = (message) => [
  { jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text: 'done' }] } },
  { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: message.params._meta?.progressToken ?? 0, progress: 1 } },
  { jsonrpc: '2.0', id: 'p', method: 'ping' }, { jsonrpc: '2.0', id: 77, result: {} }, 8,
];

describe('J5 batches of servers', () => {
  const tools = [{ name: 'go', inputSchema: { type: 'object' } }];
  const body = { name: 'go', arguments: {}, _meta: { progressToken: 'tok' } };

  for (const [how, write] of [
    ['in a JSON answer', (message, reply) => reply.json(arrayed(message))],
    ['in an event', (message, reply) => { const stream = reply.sse(); stream.send(JSON.stringify(arrayed(message))); stream.end(); }],
  ]) {
    test(`${how} over HTTP: split where the revision has batches`, async (t) => {
      for (const version of ['2025-03-26', '2025-06-18']) {
        let ponged;
        const pong = new Promise((resolve) => { ponged = resolve; });
        const plain = legacyServer({ tools, version, methods: { 'tools/call': (params, { message, reply }) => { write(message, reply); return undefined; } } });
        const server = use(t, await startUpstream(async (request, reply) => {
          if (request.json?.id === 'p') ponged(request.json);
          return plain(request, reply);
        }));
        const gate = use(t, await startGate({ upstream: server.url }));
        const peer = await new HttpPeer(gate.url).initialize({ version });
        const messages = await (await post(gate.url, peer.message('tools/call', body, 'c'), { headers: peer.headersFor() })).messages();
        if (version === '2025-03-26') {
          assert.deepEqual(messages.map(({ method, id }) => method ?? id), ['notifications/progress', 'c']);
          assert.deepEqual([messages[0].params.progressToken, said(messages[1])], ['tok', 'done']);
          assert.deepEqual((await pong).result, {});
          assert.equal(said({ result: await new ModernHttp(gate.url).call('go') }), 'done', 'for a client of the other era, too');
        } else {
          assert.deepEqual(messages.map(({ id, error }) => [id, error?.code]), [['c', -32603]]);
        }
      }
    });
  }

  test('a batch on one line of a child process is split', async (t) => {
    const command = rawStdio(({ serve, send }) => serve({
      initialize: () => ({ protocolVersion: '2025-03-26', capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '1' } }),
      'tools/list': () => ({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] }),
      'tools/call': (params, { id }) => void send([{ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } },
        { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: params._meta?.progressToken, progress: 1 } }]),
    }));
    const gate = use(t, await startGate({ command }));
    const peer = await new HttpPeer(gate.url).initialize({ version: '2025-03-26' });
    const messages = await (await post(gate.url, peer.message('tools/call', body, 'c'), { headers: peer.headersFor() })).messages();
    assert.deepEqual(messages.map(({ method, id }) => method ?? id), ['notifications/progress', 'c']);
  });
});
