// Between the eras, against scripted servers: refusals that are retried once, URLs to visit,
// cancellation by each side's rule, listeners, children that exit at a probe, streams that are resumed.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  HttpConnection, HttpPeer, LEGACY, LegacyHttp, MODERN, ModernHttp, cli, initializeParams, legacyServer, modernHeaders, modernMeta, modernRequest, node, policyFile, rawStdio,
  request, startFixture, startGate, startServe, startUpstream, tempDir, tempFile, use,
} from '../lib/index.mjs';

const META = 'io.modelcontextprotocol/';
const text = ({ content }) => content.map((part) => part.text ?? '').join('');
const done = (value) => ({ resultType: 'complete', content: [{ type: 'text', text: value }] });

// A stateless server over HTTP: { 'tools/call': (params, { request, reply, message }) => result, or { error } }.
const modernServer = ({ tools = [], capabilities = { tools: {} }, methods = {} } = {}) => async (req, reply) => {
  if (req.method !== 'POST') return reply.status(405);
  const message = req.json;
  if (!('id' in message)) return reply.status(202);
  const known = {
    'server/discover': () => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', supportedVersions: [MODERN], capabilities, _meta: { [`${META}serverInfo`]: { name: 'scripted', version: '1' } } }),
    'tools/list': () => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: typeof tools === 'function' ? tools() : tools }),
    ...methods,
  };
  const said = known[message.method]
    ? await known[message.method](message.params, { request: req, reply, message }) : { error: { code: -32601, message: 'Method not found' } };
  if (said === undefined) return undefined;
  if (said.error) return reply.json({ jsonrpc: '2.0', id: message.id, ...said }, { status: said.error.code === -32601 ? 404 : 400 });
  return reply.json({ jsonrpc: '2.0', id: message.id, result: said });
};

async function behind(t, handler, options) {
  const server = use(t, await startUpstream(handler));
  const gate = use(t, await startGate({ upstream: server.url, ...options }));
  return { server, gate };
}

const sent = (server, method) => server.requests.filter(({ json }) => json?.method === method);

describe('U4 refusals of a modern server that are retried once', () => {
  const tool = (header) => ({ name: 'go', inputSchema: { type: 'object', properties: { where: { type: 'string', 'x-mcp-header': header } } } });

  test('-32020: the gate fetches the list of tools again and retries with new headers', async (t) => {
    let header = 'Region';
    const { server, gate } = await behind(t, modernServer({ tools: () => [tool(header)], methods: {
      'tools/call': (params, { request: req }) => (req.headers[`mcp-param-${header.toLowerCase()}`] === params.arguments.where
        ? done('gone') : { error: { code: -32020, message: 'Header mismatch' } }),
    } }));
    const client = await LegacyHttp.open(gate.url);
    assert.equal(text(await client.call('go', { where: 'eu' })), 'gone');
    header = 'Zone';
    assert.equal(text(await client.call('go', { where: 'eu' })), 'gone');
    assert.equal(sent(server, 'tools/call').length, 3);
    assert.equal(sent(server, 'tools/list').length, 2);
  });

  test('-32022 that offers our version is retried once; then a legacy client gets -32603', async (t) => {
    let refuse = 1;
    const { server, gate } = await behind(t, modernServer({ tools: [tool('Region')], methods: {
      'tools/call': () => (refuse-- > 0 ? { error: { code: -32022, message: 'Unsupported', data: { supported: [MODERN], requested: 'x' } } } : done('gone')),
    } }));
    const client = await LegacyHttp.open(gate.url);
    assert.equal(text(await client.call('go', { where: 'eu' })), 'gone');
    assert.equal(sent(server, 'tools/call').length, 2);
    refuse = 2;
    await assert.rejects(client.call('go', { where: 'eu' }), { code: -32603 });
    assert.equal(sent(server, 'tools/call').length, 4);
  });
});

describe('-32042, which the modern era does not have', () => {
  test('a URL to visit becomes an input request; then the call is retried', async (t) => {
    let visited = false;
    const { server, gate } = await behind(t, legacyServer({ tools: [{ name: 'go', inputSchema: { type: 'object' } }], methods: {
      'tools/call': (params, { reply, message }) => (visited ? { content: [{ type: 'text', text: 'gone' }] }
        : void reply.json({ jsonrpc: '2.0', id: message.id, error: { code: -32042, message: 'Visit first', data: { elicitations: [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/x', message: 'Please' }] } } })),
    } }));
    const client = new ModernHttp(gate.url, { capabilities: { elicitation: { url: {} } } });
    const asked = await client.request('tools/call', { name: 'go', arguments: {} });
    assert.equal(asked.resultType, 'input_required');
    assert.deepEqual(Object.values(asked.inputRequests), [{ method: 'elicitation/create', params: { mode: 'url', url: 'https://example.com/x', message: 'Please' } }]);
    const retry = { name: 'go', arguments: {}, requestState: asked.requestState, inputResponses: { q1: { action: 'accept' } } };
    assert.equal((await client.request('tools/call', retry)).resultType, 'input_required', 'not yet');
    visited = true;
    assert.equal(text(await client.request('tools/call', retry)), 'gone');
    assert.equal(sent(server, 'tools/call').length, 3);
    const { response, answer } = await new ModernHttp(gate.url, { capabilities: { elicitation: {} } }).exchange('tools/call', { name: 'go', arguments: { again: 1 } });
    assert.equal(response.status, 200);
    visited = false;
    const refused = await new ModernHttp(gate.url, { capabilities: { elicitation: {} } }).exchange('tools/call', { name: 'go', arguments: {} });
    assert.deepEqual([refused.response.status, refused.answer.error.code, refused.answer.error.data.requiredCapabilities], [400, -32021, { elicitation: { url: {} } }]);
    assert.ok(answer.result);
  });
});

for (const method of ['tools/call', 'prompts/get']) describe(`notifications/cancelled across the eras: ${method}`, () => {
  test('a legacy client cancels: the request to a stateless HTTP server is closed, and nothing is sent', async (t) => {
    let gone;
    const arrived = new Promise((resolve) => {
      gone = resolve;
    });
    const { server, gate } = await behind(t, modernServer({ tools: [{ name: 'wait', inputSchema: { type: 'object' } }], methods: {
      [method]: (params, { request: req }) => { gone(req); return undefined; },
    } }));
    const peer = await new HttpPeer(gate.url).initialize();
    const answer = peer.send(peer.message(method, { name: 'wait' }, 'w'));
    const call = await arrived;
    await peer.notify('notifications/cancelled', { requestId: 'w' });
    await call.gone;
    assert.deepEqual((await (await answer).messages()).filter(({ id }) => id === 'w'), [], 'no answer afterwards');
    assert.equal(sent(server, 'notifications/cancelled').length, 0);
  });

  test('a modern client disconnects: a legacy server gets a cancellation with its own request id', async (t) => {
    let waiting;
    let told;
    const arrived = new Promise((resolve) => { waiting = resolve; });
    const cancelled = new Promise((resolve) => { told = resolve; });
    const plain = legacyServer({ tools: [{ name: 'wait', inputSchema: { type: 'object' } }], methods: { [method]: (params, { message }) => { waiting(message.id); return undefined; } } });
    const { gate } = await behind(t, async (req, reply) => {
      if (req.json?.method === 'notifications/cancelled') told(req.json.params);
      return plain(req, reply);
    });
    const message = modernRequest(1, method, { name: 'wait' });
    const connection = await HttpConnection.open(gate.url);
    connection.send('POST', { headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...modernHeaders(message) }, body: message });
    const id = await arrived;
    connection.reset();
    assert.equal((await cancelled).requestId, id);
  });
});

describe('U5 client name and capabilities sent to a server of the other era', () => {
  const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

  test('a legacy client: each request carries its name, capabilities and trace; a missing capability is a legacy error', async (t) => {
    const { gate } = await behind(t, modernServer({ tools: [{ name: 'tell', inputSchema: { type: 'object' } }, { name: 'need', inputSchema: { type: 'object' } }], methods: {
      'tools/call': ({ name, _meta }) => (name === 'tell' ? done(JSON.stringify(_meta)) : { error: { code: -32021, message: 'Missing', data: { requiredCapabilities: { sampling: {} } } } }),
    } }));
    const client = await LegacyHttp.open(gate.url, { capabilities: { elicitation: {} } });
    const told = JSON.parse(text(await client.request('tools/call', { name: 'tell', arguments: {}, _meta: { traceparent: TRACE } })));
    assert.deepEqual(told[`${META}clientCapabilities`], { elicitation: {} });
    assert.equal(told[`${META}clientInfo`].name, initializeParams().clientInfo.name);
    assert.equal(told.traceparent.split('-')[1], TRACE.split('-')[1]);
    await assert.rejects(client.call('need'), { code: -32600 });
  });

  test('modern clients: each set of capabilities has its own session with the server', async (t) => {
    const { server, gate } = await behind(t, legacyServer({ tools: [{ name: 'go', inputSchema: { type: 'object' } }], methods: { 'tools/call': () => ({ content: [] }) } }));
    for (const capabilities of [{ sampling: {} }, { elicitation: {}, roots: {} }, { sampling: {} }]) await new ModernHttp(gate.url, { capabilities }).call('go');
    assert.deepEqual(sent(server, 'initialize').map(({ json }) => Object.keys(json.params.capabilities).sort()), [['sampling'], ['elicitation', 'roots']]);
  });
});

describe('logging/setLevel and logLevel', () => {
  test('a legacy client: its log level is sent with each request', async (t) => {
    const { server, gate } = await behind(t, modernServer({ capabilities: { tools: {}, logging: {} }, tools: [{ name: 'go', inputSchema: { type: 'object' } }], methods: { 'tools/call': () => done('gone') } }));
    const client = await LegacyHttp.open(gate.url);
    await client.call('go');
    assert.deepEqual(await client.request('logging/setLevel', { level: 'warning' }), {});
    await client.call('go');
    await assert.rejects(client.request('logging/setLevel', { level: 'loud' }), { code: -32602 });
    assert.deepEqual(sent(server, 'tools/call').map(({ json }) => json.params._meta[`${META}logLevel`]), ['info', 'warning']);
    assert.equal(sent(server, 'logging/setLevel').length, 0);
  });

  test('many servers: setLevel is acknowledged when each server has the level, including one that the session has not used yet', async (t) => {
    const server = use(t, await startUpstream(legacyServer({ capabilities: { tools: {}, logging: {} }, methods: { 'logging/setLevel': () => ({}) } })));
    const gate = use(t, await startServe({ config: { version: '1', code: { enabled: false }, policy: policyFile(), servers: { fx: { url: server.url } } } }));
    for (const level of ['error', 'debug']) { // the second session knows what the server is before it has a link
      const client = await LegacyHttp.open(gate.url);
      assert.deepEqual(await client.request('logging/setLevel', { level }), {});
      assert.equal(sent(server, 'logging/setLevel').at(-1)?.json.params.level, level);
    }
  });

  test('modern calls: the server gets the most verbose level, and each call gets only messages of its own level', async (t) => {
    const { server, gate } = await behind(t, legacyServer({ capabilities: { tools: {}, logging: {} }, tools: [{ name: 'go', inputSchema: { type: 'object' } }], methods: {
      'logging/setLevel': () => ({}),
      'tools/call': (params, { message, reply }) => {
        const stream = reply.sse();
        for (const level of ['debug', 'error']) stream.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: level } }));
        stream.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } }));
        stream.end();
      },
    } }));
    const client = new ModernHttp(gate.url);
    const hears = async (level) => {
      const response = await client.send('tools/call', { name: 'go', arguments: {}, ...(level && { _meta: { [`${META}logLevel`]: level } }) });
      return (await response.messages()).filter(({ method }) => method === 'notifications/message').map(({ params }) => params.level);
    };
    assert.deepEqual([await hears('error'), await hears('debug'), await hears('warning'), await hears()], [['error'], ['debug', 'error'], ['error'], []]);
    assert.deepEqual(sent(server, 'logging/setLevel').map(({ json }) => json.params.level), ['error', 'debug']);
  });
});

test('results that are no objects: a legacy client gets them as text, without an outputSchema', async (t) => {
  const object = { type: 'object' };
  const { gate } = await behind(t, modernServer({ tools: [{ name: 'list', inputSchema: object, outputSchema: { type: 'array' } }, { name: 'bare', inputSchema: object, outputSchema: { type: 'number' } }, { name: 'plain', inputSchema: object, outputSchema: object }], methods: {
    'tools/call': ({ name }) => ({
      list: { ...done('one, two'), structuredContent: [1, 2] }, bare: { resultType: 'complete', content: [], structuredContent: 42 }, plain: { ...done('{}'), structuredContent: { a: 1 } },
    })[name],
  } }));
  const client = await LegacyHttp.open(gate.url);
  assert.deepEqual((await client.request('tools/list')).tools.map(({ outputSchema }) => outputSchema), [undefined, undefined, object]);
  const [list, bare, plain] = [await client.call('list'), await client.call('bare'), await client.call('plain')];
  assert.deepEqual([text(list), list.structuredContent, text(bare), bare.structuredContent, plain.structuredContent], ['one, two', undefined, '42', undefined, { a: 1 }]);
});

test('U1 a child that exits at a probe of the wrong era is restarted and serves modern clients', async (t) => {
  const command = rawStdio(({ serve, exit }) => serve({
    'server/discover': () => exit(1),
    'tools/list': () => ({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'alive' }] }),
  }));
  const gate = use(t, await startGate({ command }));
  const client = new ModernHttp(gate.url);
  assert.equal((await client.request('server/discover')).supportedVersions[0], MODERN);
  assert.equal(text(await client.call('go')), 'alive');
});

// The command, and how often it was started.
function counted(command) {
  const file = join(tempDir(), 'starts');
  return { command: ['sh', '-c', `echo >> ${file}; exec "$@"`, 'sh', ...command], starts: () => readFileSync(file, 'utf8').length };
}

describe('how often a legacy child is started for modern clients', () => {
  // Each round is a gate of its own, all of one home: how often it started the child.
  async function used(command, rounds = 1) {
    const child = counted(command);
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const starts = [];
    for (let round = 0, before = 0; round < rounds; round++, before = child.starts()) {
      const gate = await startGate({ command: child.command, env });
      try {
        for (const client of [new ModernHttp(gate.url), new ModernHttp(gate.url)]) {
          assert.equal((await client.request('server/discover')).supportedVersions[0], MODERN);
          assert.equal(text(await client.call('go')), 'alive');
        }
      } finally {
        await gate.stop();
      }
      starts.push(child.starts() - before);
    }
    return starts;
  }

  // ends, silent: at the probe. confused: cannot be initialised after it. modern: a file; modern only when it is there.
  const child = (manner) => rawStdio(({ serve, exit, args: { ends, silent, confused, modern } }) => {
    const fs = process.getBuiltinModule('node:fs');
    const isModern = modern && fs.existsSync(modern);
    let probed = false;
    return serve({
      'server/discover': () => {
        if (isModern) return { resultType: 'complete', ttlMs: 0, cacheScope: 'private', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '2' } };
        probed = true;
        if (ends) exit(1);
        if (silent) return new Promise(() => {});
        throw { code: -32601, message: 'Method not found' };
      },
      initialize: ({ protocolVersion }) => {
        if (isModern || (probed && confused)) throw { code: -32603, message: 'confused' };
        return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '1' } };
      },
      'tools/list': () => ({ ...(isModern && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }), tools: [{ name: 'go', inputSchema: { type: 'object' } }] }),
      'tools/call': () => ({ ...(isModern && { resultType: 'complete' }), content: [{ type: 'text', text: 'alive' }] }),
    });
  }, manner);

  test('once, when it refuses the probe and keeps running', async () => assert.deepEqual(await used(child({})), [1]));
  test('twice, when it exits at the probe; once by a later gate, which has stored the era', async () => assert.deepEqual(await used(child({ ends: true }), 3), [2, 1, 1]));
  test('twice, when it is silent at the probe; once by a later gate', async () => assert.deepEqual(await used(child({ silent: true }), 2), [2, 1]));
  test('twice, when it cannot be initialised after the probe', async () => assert.deepEqual(await used(child({ confused: true }), 2), [2, 1]));

  test('a stored era is corrected when the server has become modern, and a damaged file is ignored', async () => {
    const modern = join(tempDir(), 'modern');
    const command = counted(child({ ends: true, modern })).command;
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const file = join(env.SALLYPORT_HOME, 'eras');
    const works = async () => {
      const gate = await startGate({ command, env });
      try {
        assert.equal(text(await new ModernHttp(gate.url).call('go')), 'alive');
      } finally {
        await gate.stop();
      }
      return readFileSync(file, 'utf8').trim().split('\n');
    };
    assert.match((await works()).join('\n'), /^sallyport eras 1\n[0-9a-f]{64} \d+$/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    writeFileSync(modern, '');
    assert.deepEqual(await works(), ['sallyport eras 1']);
    writeFileSync(file, 'sallyport eras 1\nnot a line\n'.repeat(3));
    await works();
    renameSync(modern, `${modern}.gone`);
    assert.equal((await works()).length, 2);
    writeFileSync(file, 'sallyport eras 2\nsomething newer\n');
    assert.deepEqual(await works(), ['sallyport eras 2', 'something newer']);
  });
});

test('H8 a legacy client resumes the stream of a call to a modern server', async (t) => {
  let release;
  const { gate } = await behind(t, modernServer({ tools: [{ name: 'slow', inputSchema: { type: 'object' } }], methods: {
    'tools/call': (params, { message, reply }) => {
      const stream = reply.sse();
      stream.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress: 1 } }));
      release = () => { stream.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: done('after') })); stream.end(); };
      return undefined;
    },
  } }));
  const peer = await new HttpPeer(gate.url).initialize({ version: LEGACY });
  const connection = await HttpConnection.open(gate.url);
  const body = { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'slow', arguments: {}, _meta: { progressToken: 'p' } } };
  connection.send('POST', { headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...peer.headersFor() }, body });
  const response = await connection.response();
  const progress = await response.event({ fits: ({ data }) => Boolean(data) });
  assert.equal(JSON.parse(progress.data).params.progressToken, 'p');
  connection.reset();
  const again = await request('GET', gate.url, { headers: { ...peer.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': progress.id } });
  release();
  assert.equal(text((await again.message({ fits: ({ id }) => id === 'c' })).result), 'after');
});

describe('subscriptions/listen of stateless clients to a legacy server', () => {
  test('each listener gets the notifications that it asked for, under its own id', async (t) => {
    const { url: upstream } = use(t, await startFixture('conformance.mjs', '--era', 'legacy'));
    const gate = use(t, await startGate({ upstream }));
    const client = new ModernHttp(gate.url);
    const listen = async (id, notifications) => {
      const response = await client.send('subscriptions/listen', { notifications }, { id });
      const first = await response.message();
      assert.equal(first.method, 'notifications/subscriptions/acknowledged');
      assert.equal(first.params._meta[`${META}subscriptionId`], id);
      return { response, honoured: first.params.notifications };
    };
    const tools = await listen('tools', { toolsListChanged: true });
    const watched = await listen(77, { resourceSubscriptions: ['test://watched-resource'] });
    assert.deepEqual([tools.honoured, watched.honoured], [{ toolsListChanged: true }, { resourceSubscriptions: ['test://watched-resource'] }]);
    await client.call('test_trigger_resource_update');
    await client.call('test_trigger_tool_change');
    const updated = await watched.response.message();
    assert.deepEqual([updated.method, updated.params.uri, updated.params._meta[`${META}subscriptionId`]], ['notifications/resources/updated', 'test://watched-resource', 77]);
    const changed = await tools.response.message();
    assert.deepEqual([changed.method, changed.params._meta[`${META}subscriptionId`]], ['notifications/tools/list_changed', 'tools']);
    tools.response.close();
    watched.response.close();
  });
});

test('a subscription is acknowledged after the server has answered, without what the server refused', async (t) => {
  let release;
  let seen = 0;
  const released = new Promise((resolve) => { release = resolve; });
  const { gate } = await behind(t, legacyServer({ capabilities: { resources: { subscribe: true } }, methods: {
    'resources/subscribe': async ({ uri }) => {
      if (++seen === 2) release(); // both are under way, and neither is agreed to
      await released;
      if (uri === 'test://no') throw { code: -32602, message: 'no' };
      return {};
    },
  } }));
  const response = await new ModernHttp(gate.url).send('subscriptions/listen', { notifications: { resourceSubscriptions: ['test://no', 'test://yes'] } }, { id: 1 });
  assert.deepEqual((await response.message()).params.notifications, { resourceSubscriptions: ['test://yes'] });
  assert.equal(seen, 2);
  response.close();
});

describe('requestState on several nodes', () => {
  test('two gates with one key share it while both run; with another key, or for another principal, it is refused', async (t) => {
    const { url: upstream } = use(t, await startFixture('conformance.mjs', '--era', 'legacy'));
    const home = tempDir();
    const gates = [use(t, await startGate({ upstream, env: { SALLYPORT_HOME: home } })), use(t, await startGate({ upstream, env: { SALLYPORT_HOME: home } })), use(t, await startGate({ upstream }))];
    const [first, second, stranger] = gates.map(({ url }) => new ModernHttp(url, { capabilities: { elicitation: {} } }));
    const args = { name: 'test_input_required_result_multi_round', arguments: {} };
    const answers = { name: 'Ada', color: 'red' };
    let asked = await first.request('tools/call', args);
    for (const [node_, key] of [[second, 'name'], [first, 'color']]) { // each round at another node
      const retry = { ...args, requestState: asked.requestState, inputResponses: { [Object.keys(asked.inputRequests)[0]]: { action: 'accept', content: { [key]: answers[key] } } } };
      assert.equal((await stranger.exchange('tools/call', retry)).answer.error.code, -32602);
      asked = await node_.request('tools/call', retry);
    }
    assert.match(text(asked), /Ada likes red/);
  });

  // Sends one request per call and answers when the client has; reports a cancellation.
  const asker = () => {
    const heard = { cancelled: [], told: () => {} };
    heard.gone = new Promise((resolve) => { heard.told = resolve; });
    const waiting = new Map();
    const plain = legacyServer({ tools: [{ name: 'ask', inputSchema: { type: 'object' } }], methods: {
      'tools/call': (params, { message, reply }) => {
        const stream = reply.sse();
        waiting.set(`ask-${message.id}`, ({ result }) => {
          stream.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text: result.action }] } }));
          stream.end();
        });
        stream.send(JSON.stringify({ jsonrpc: '2.0', id: `ask-${message.id}`, method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } } }));
      },
    } });
    heard.handler = async (req, reply) => {
      if (req.json?.method === 'notifications/cancelled') heard.told(req.json.params.requestId);
      if (waiting.has(req.json?.id)) waiting.get(req.json.id)(req.json);
      return plain(req, reply);
    };
    return heard;
  };
  const call = { name: 'ask', arguments: {} };
  const answered = ({ requestState, inputRequests }) => ({ ...call, requestState, inputResponses: { [Object.keys(inputRequests)[0]]: { action: 'accept', content: {} } } });
  const asking = (gate) => new ModernHttp(gate.url, { capabilities: { elicitation: {} } });
  const refusal = async (client, params) => (await client.exchange('tools/call', params)).answer.error;

  test('after a change of the key, open requests can still be decrypted with the previous key until they expire', async (t) => {
    const home = tempDir();
    const file = join(home, 'request-state.key');
    const server = use(t, await startUpstream(asker().handler));
    const client = asking(use(t, await startGate({ upstream: server.url, env: { SALLYPORT_HOME: home } })));
    const asked = [];
    for (let i = 0; i < 3; i++) asked.push(await client.request('tools/call', call));
    const old = readFileSync(file);
    assert.deepEqual([old.length, statSync(file).mode & 0o777], [32, 0o600]);
    const put = (keys, ago = 0) => {
      writeFileSync(`${file}.new`, Buffer.concat(keys), { mode: 0o600 });
      utimesSync(`${file}.new`, Date.now() / 1000 - ago, Date.now() / 1000 - ago);
      renameSync(`${file}.new`, file);
    };
    const fresh = randomBytes(32);
    put([fresh, old]);
    assert.equal(text(await client.request('tools/call', answered(asked[0]))), 'accept', 'sealed with the one before');
    const later = await client.request('tools/call', call);
    put([fresh, old], 601); // changed so long ago that nothing of before can be open
    assert.equal((await refusal(client, answered(asked[1]))).code, -32602);
    put([fresh, Buffer.from('not a key')]);
    put([fresh]);
    assert.equal((await refusal(client, answered(asked[2]))).code, -32602);
    assert.equal(text(await client.request('tools/call', answered(later))), 'accept', 'sealed with the new one');
  });

  test('an invalid or world-readable key file is refused at the start; the loaded key stays when the file becomes invalid', async (t) => {
    const home = tempDir();
    const file = join(home, 'keys');
    const server = use(t, await startUpstream(asker().handler));
    const config = { version: '1', policy: policyFile(), request_state: { key: file }, servers: { one: { url: server.url } } };
    for (const [bytes, mode] of [[31, 0o600], [32, 0o644], [160, 0o600]]) {
      writeFileSync(file, Buffer.alloc(bytes));
      chmodSync(file, mode);
      const { code, stderr } = await cli(['serve', '--listen', '127.0.0.1:0', '--no-auth', '--config', tempFile('sallyport.yaml', JSON.stringify(config))], { env: { SALLYPORT_HOME: home } });
      assert.deepEqual([code, /keys`/.test(stderr)], [3, true], stderr);
    }
    writeFileSync(file, randomBytes(32));
    chmodSync(file, 0o600);
    const client = asking(use(t, await startServe({ config })));
    const asked = await client.request('tools/call', { ...call, name: 'one__ask' });
    writeFileSync(file, 'short');
    assert.equal(text(await client.request('tools/call', { ...answered(asked), name: 'one__ask' })), 'accept');
  });

  test('it expires: the call is cancelled at the server, and this node and others refuse the state', async (t) => {
    const heard = asker();
    const server = use(t, await startUpstream(heard.handler));
    const config = { version: '1', policy: policyFile(), prefix: 'never', request_state: { key: join(tempDir(), 'shared.key'), keep: '1s' }, servers: { one: { url: server.url } } };
    const [here, there] = [use(t, await startServe({ config })), use(t, await startServe({ config }))].map(asking);
    const asked = await here.request('tools/call', call);
    const until = Date.now() + 1000;
    assert.equal(await heard.gone, sent(server, 'tools/call')[0].json.id);
    while (Date.now() <= until) await new Promise(setImmediate); // the two clocks need not agree to the millisecond
    for (const client of [here, there]) assert.match((await refusal(client, answered(asked))).message, /expired/);
    assert.equal(sent(server, 'tools/call').length, 1);
  });
});

test('initialize while server/discover is unanswered: the same child is used, and both are answered', async (t) => {
  // Does not answer unknown methods, like many legacy servers.
  const command = rawStdio(async (io) => {
    for (let m; (m = await io.message());) {
      io.log(`got ${m.method}`);
      if (m.method === 'initialize') io.send({ jsonrpc: '2.0', id: m.id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'quiet', version: '1' } } });
      if (m.method === 'tools/list') io.send({ jsonrpc: '2.0', id: m.id, result: { tools: [] } });
    }
  });
  const gate = use(t, await startGate({ transport: 'stdio', command, args: ['--name', 'quiet'] }));
  gate.rpc.send({ jsonrpc: '2.0', id: 'probe', method: 'server/discover', params: { _meta: modernMeta() } });
  await gate.child.waitLine(/\[quiet\] got server\/discover/, { stream: 'stderr' });
  const from = Date.now();
  gate.rpc.send({ jsonrpc: '2.0', id: 'init', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });
  assert.equal((await gate.rpc.next((m) => m.id === 'init')).result.serverInfo.name, 'quiet');
  assert.deepEqual((await gate.rpc.next((m) => m.id === 'probe')).result.supportedVersions, ['2026-07-28']);
  assert.deepEqual((await gate.rpc.exchange('tools/list')).result.tools, []);
  assert.ok(Date.now() - from < 9000, 'without waiting for the question to time out');
});
