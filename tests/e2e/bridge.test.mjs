// Clients of one era and servers of the other: what either side can express arrives at the other one. Real SDKs on
// both ends, over pipes and over HTTP; then attempts that must fail.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  LegacyHttp, MODERN, ModernHttp, connect, fixture, freePort, gateCommand, load, node, packages, startEverything, startFixture, startGate,
  tempDir, use,
} from '../lib/index.mjs';

const everything = [node, packages.everything, 'stdio'];
const PIN = { negotiation: { pin: MODERN } };
const fixtureCommand = (era) => [node, fixture('conformance.mjs'), '--stdio', '--era', era];

const startEra = (era) => startFixture('conformance.mjs', '--era', era);

const handlers = {
  'sampling/createMessage': () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
  'elicitation/create': () => ({ action: 'accept', content: { name: 'Ada', username: 'ada', email: 'a@b.c', ok: true, color: 'red' } }),
  'roots/list': () => ({ roots: [{ uri: 'file:///r', name: 'r' }] }),
};

const text = ({ content }) => content.map((part) => part.text ?? '').join('');

// Everything that a client requests from the fixture, in either era.
async function drive(session) {
  const names = (await session.tools()).map(({ name }) => name);
  assert.ok(names.includes('test_simple_text') && names.includes('test_sampling'), names.join(' '));
  assert.match(text(await session.call('test_simple_text')), /simple text response/);
  assert.match(text(await session.call('test_sampling', { prompt: 'p' })), /LLM response: sampled/);
  assert.match(text(await session.call('test_elicitation', { message: 'm' })), /action=accept.*"ada"/);
  assert.match(text(await session.call('test_input_required_result_multi_round')), /Ada likes red/, 'two rounds');
  assert.match(text(await session.call('test_input_required_result_multiple_inputs')), /sampled Ada \(1 roots\)/, 'three at once');
  const progress = [];
  await session.call('test_tool_with_progress', {}, { onprogress: ({ progress: value }) => progress.push(value) });
  assert.deepEqual(progress, [0, 50, 100]);
  assert.equal((await session.client.readResource({ uri: 'test://static-text' })).contents[0].text, 'This is the content of the static text resource.');
  assert.match((await session.client.getPrompt({ name: 'test_simple_prompt' })).messages[0].content.text, /simple prompt/);
  await assert.rejects(session.client.readResource({ uri: 'test://nothing' }));
}

// The client cancels a call that never ends, once it has started, and the server gets the cancellation.
async function cancel(session, key) {
  const controller = new AbortController();
  const waiting = session.call('test_wait', { key }, { signal: controller.signal, onprogress: () => controller.abort(new Error('enough')) });
  await assert.rejects(waiting, /enough|abort/i);
  assert.equal(text(await session.call('test_was_cancelled', { key })), 'cancelled');
}

const UPDATED = 'notifications/resources/updated';
const CHANGED = 'notifications/tools/list_changed';

// The next notification of that kind, as each SDK has its handlers.
async function hears({ client }, version, method) {
  const types = version === 'v1' ? await load('@modelcontextprotocol/sdk/types.js') : undefined;
  const kind = types ? { [UPDATED]: types.ResourceUpdatedNotificationSchema, [CHANGED]: types.ToolListChangedNotificationSchema }[method] : method;
  const heard = { said: undefined };
  heard.next = new Promise((resolve) => { client.setNotificationHandler(kind, (said) => { heard.said = said; resolve(said); }); });
  return heard;
}

// In the legacy era nothing shows when the stream for notifications is open; those sent before it are lost.
async function provoke(heard, act) {
  do await act(); while (!heard.said);
  return heard.next;
}

async function subscribe({ client }, modern, uri) {
  if (!modern) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  }
  const subscription = await client.listen({ resourceSubscriptions: [uri], toolsListChanged: true });
  assert.deepEqual(subscription.honoredFilter, { resourceSubscriptions: [uri], toolsListChanged: true });
  return async () => {
    await subscription.close();
    assert.equal(await subscription.closed, 'local');
  };
}

async function watchAll(session, version, modern) {
  const uri = 'test://watched-resource';
  const updated = await hears(session, version, UPDATED);
  const end = await subscribe(session, modern, uri);
  assert.equal((await provoke(updated, () => session.call('test_trigger_resource_update'))).params.uri, uri);
  const changed = await hears(session, version, CHANGED);
  await provoke(changed, () => session.call('test_trigger_tool_change'));
  await end();
}

const CLIENTS = [['v1', 'SDK v1', {}], ['v2', 'SDK v2 pinned', PIN], ['v2', 'SDK v2 of the legacy era', { negotiation: 'legacy' }]];

for (const transport of ['stdio', 'http']) {
  for (const era of ['modern', 'legacy']) {
    describe(`${era}-only server over ${transport}`, () => {
      let server;
      let gate;
      before(async () => {
        server = transport === 'http' ? await startEra(era) : undefined;
        gate = await startGate(server ? { upstream: server.url } : { command: fixtureCommand(era) });
      });
      after(async () => { await gate?.stop(); await server?.stop(); });

      for (const [version, name, options] of CLIENTS) {
        const modern = options === PIN;
        test(`${name}: questions, progress, resources, prompts`, async (t) => {
          await drive(use(t, await connect(version, gate, { handlers, ...options })));
        });
        test(`${name}: cancellation and subscriptions`, async (t) => {
          const session = use(t, await connect(version, gate, options));
          await cancel(session, name);
          await watchAll(session, version, modern);
        });
      }
    });
  }
}

test('stdio in front: SDK v1 and a modern-only child; SDK v2 pinned and server-everything', async (t) => {
  const gateFor = (options) => { const [command, args, env] = gateCommand({ transport: 'stdio', ...options }); return { command, args, env }; };
  await drive(use(t, await connect('v1', gateFor({ command: fixtureCommand('modern') }), { handlers })));
  const session = use(t, await connect('v2', gateFor({ command: everything }), { handlers, ...PIN }));
  assert.equal(await session.text('echo', { message: 'x' }), 'Echo: x');
});

for (const era of ['modern', 'legacy']) {
  for (const [version, name, options] of CLIENTS) {
    test(`stdio in front: ${name} and a ${era}-only server over HTTP`, async (t) => {
      const server = use(t, await startEra(era));
      const [command, args, env] = gateCommand({ transport: 'stdio', upstream: server.url });
      await drive(use(t, await connect(version, { command, args, env }, { handlers, ...options })));
    });
  }
}

describe('server-everything', { concurrency: 3 }, () => {
  for (const mode of ['stdio', 'streamableHttp', 'sse']) {
    test(`over ${mode}: calls, sampling, elicitation, progress, cancellation, subscriptions; SDK v1 and SDK v2 pinned`, async (t) => {
      const server = mode === 'stdio' ? undefined : use(t, await startEverything(mode));
      const gate = use(t, await startGate(server ? { upstream: server.url } : { command: everything }));
      // Not roots: this server requests them at any time, during any call.
      const { 'roots/list': roots, ...others } = handlers;
      for (const [version, name, options] of CLIENTS.slice(0, 2)) {
        const session = use(t, await connect(version, gate, { handlers: others, ...options }));
        const names = (await session.tools()).map((tool) => tool.name);
        for (const needed of ['trigger-sampling-request', 'trigger-elicitation-request']) assert.ok(names.includes(needed), `${name} is shown ${names}`);
        assert.equal(await session.text('echo', { message: 'x' }), 'Echo: x');
        assert.match(await session.text('trigger-sampling-request', { prompt: 'p', maxTokens: 10 }), /sampled/);
        assert.match(await session.text('trigger-elicitation-request', {}), /Ada/);
        const progress = [];
        await session.call('trigger-long-running-operation', { duration: 0.4, steps: 2 }, { onprogress: (p) => progress.push(p.progress) });
        // Over the 2024 transport this server repeats and omits reports, with or without a gate.
        if (mode === 'sse') assert.ok(progress.includes(1));
        else assert.deepEqual(progress, [1, 2]);
        const controller = new AbortController();
        await assert.rejects(session.call('trigger-long-running-operation', { duration: 2, steps: 20 }, { signal: controller.signal, onprogress: () => controller.abort(new Error('enough')) }), /enough|abort/i);

        const plain = use(t, await connect(version, gate, options));
        const uri = 'demo://resource/dynamic/text/1';
        const updated = await hears(plain, version, UPDATED);
        const end = await subscribe(plain, options === PIN, uri);
        // Every second call sends an update immediately.
        assert.equal((await provoke(updated, () => plain.call('toggle-subscriber-updates'))).params.uri, uri);
        await end();
      }
    });
  }
});

describe('2024-11-05 in front of a modern-only server', () => {
  test('requests of the server and answers share one stream', async (t) => {
    const gate = use(t, await startGate({ transport: 'sse', command: fixtureCommand('modern') }));
    await drive(use(t, await connect('v1', { sse: gate.url }, { handlers })));
  });
});

describe('U1 the era of a server', () => {
  test('errors do not decide the era of a server; a detected era is kept', async (t) => {
    const server = use(t, await startEra('legacy'));
    const gate = use(t, await startGate({ upstream: server.url }));
    const client = new ModernHttp(gate.url);
    assert.equal((await client.request('server/discover')).supportedVersions[0], MODERN);
    assert.match(text(await client.call('test_simple_text')), /simple text/);
    await assert.rejects(client.request('tasks/get', { taskId: 'x' }, { headers: { 'Mcp-Name': 'x' } }));
    for (const method of ['ping', 'logging/setLevel', 'resources/subscribe']) {
      const { response, answer } = await client.exchange(method, {});
      assert.deepEqual([response.status, answer.error.code], [404, -32601], method);
    }
  });

  test('I2 a server that is down is reported in both eras', async (t) => {
    const gate = use(t, await startGate({ upstream: `http://127.0.0.1:${await freePort()}/mcp` }));
    const { answer } = await new ModernHttp(gate.url).exchange('tools/list', {});
    assert.equal(answer.error.code, -32603);
    await assert.rejects(LegacyHttp.open(gate.url));
  });
});

describe('requestState', () => {
  let server;
  let gate;
  let client;
  const args = { name: 'test_elicitation', arguments: { message: 'm' } };
  const accept = { action: 'accept', content: { username: 'u', email: 'e' } };
  before(async () => {
    server = await startEra('legacy');
    gate = await startGate({ upstream: server.url });
    client = new ModernHttp(gate.url, { capabilities: { elicitation: {} } });
  });
  after(async () => { await gate?.stop(); await server?.stop(); });

  const ask = async () => {
    const result = await client.request('tools/call', args);
    assert.equal(result.resultType, 'input_required');
    const [key] = Object.keys(result.inputRequests);
    return { key, requestState: result.requestState, inputResponses: { [key]: accept } };
  };
  const refused = async (params) => assert.equal((await client.exchange('tools/call', params)).answer.error.code, -32602);

  test('can be used once; missing answers are asked for again', async () => {
    const { requestState, inputResponses } = await ask();
    const again = await client.request('tools/call', { ...args, requestState, inputResponses: { other: accept } });
    assert.equal(again.resultType, 'input_required');
    const done = await client.request('tools/call', { ...args, requestState: again.requestState, inputResponses });
    assert.match(text(done), /action=accept/);
    await refused({ ...args, requestState: again.requestState, inputResponses });
  });

  test('is valid for its own call only: not with other arguments, for another tool, or when modified', async () => {
    const { requestState, inputResponses } = await ask();
    await refused({ ...args, arguments: { message: 'other' }, requestState, inputResponses });
    await refused({ name: 'test_simple_text', arguments: {}, requestState, inputResponses });
    await refused({ ...args, requestState: `${requestState.slice(0, -1)}${requestState.endsWith('A') ? 'B' : 'A'}`, inputResponses });
    await refused({ ...args, requestState: 'something', inputResponses });
    assert.match(text(await client.request('tools/call', { ...args, requestState, inputResponses })), /action=accept/);
  });

  test('is accepted by another node with the same key and refused by one with another key', async (t) => {
    const home = tempDir();
    const first = use(t, await startGate({ upstream: server.url, env: { SALLYPORT_HOME: home } }));
    const asked = await new ModernHttp(first.url, { capabilities: { elicitation: {} } }).request('tools/call', args);
    await first.stop();
    const second = use(t, await startGate({ upstream: server.url, env: { SALLYPORT_HOME: home } }));
    const inputResponses = { [Object.keys(asked.inputRequests)[0]]: accept };
    const retry = { ...args, requestState: asked.requestState, inputResponses };
    await refused(retry);
    assert.match(text(await new ModernHttp(second.url, { capabilities: { elicitation: {} } }).request('tools/call', retry)), /action=accept/);
  });
});

describe('the policy decides which requests of servers pass', () => {
  const policy = { version: '1', default: 'allow', methods: { 'elicitation/create': { rules: [{ name: 'no questions', action: 'deny', on_deny: 'not now' }] } } };
  for (const [client, options, era] of [['v1', {}, 'modern'], ['v2', PIN, 'legacy'], ['v2', PIN, 'modern']]) {
    test(`SDK ${client}, ${era}-only server: the client is never asked`, async (t) => {
      const server = use(t, await startEra(era));
      const gate = use(t, await startGate({ upstream: server.url, policy }));
      let asked = 0;
      const counting = { ...handlers, 'elicitation/create': () => { asked++; return handlers['elicitation/create'](); } };
      const session = use(t, await connect(client, gate, { handlers: counting, ...options }));
      await session.call('test_elicitation', { message: 'm' }).catch(() => {});
      assert.match(text(await session.call('test_sampling', { prompt: 'p' })), /sampled/);
      assert.equal(asked, 0);
    });
  }
});
