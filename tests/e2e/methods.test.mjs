// Method by method (protocol.md 7.4), within one era, for every pair of front and server: what
// either side sends reaches the other as over a direct connection.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ALL_PAIRS, LEGACY, LEGACY_PAIRS, LegacyHttp, MODERN_PAIRS, ModernHttp, legacyServer, pair, policyFile, startGate, startServe, startUpstream, suitePair, use, watch } from '../lib/index.mjs';

const isProgress = (json) => json?.method === 'notifications/progress';
const methodIs = (method) => (json) => json?.method === method;

for (const [front, back] of ALL_PAIRS) {
  const modern = front.startsWith('modern');
  describe(`${front} to ${back}`, () => {
    const world = suitePair(front, back);

    test('progress: in order, before the answer, with the token as the client wrote it; none after', async () => {
      const { peer } = world;
      for (const token of ['tok-"é', 7, 0, -3]) {
        const before = peer.received.length;
        await peer.call('progress', { steps: 3, late: 1 }, { meta: { progressToken: token } });
        await peer.call('echo'); // every late message has arrived by now
        const messages = peer.received.slice(before).map(({ json }) => json);
        assert.deepEqual(messages.filter(isProgress).map(({ params }) => params),
          [1, 2, 3].map((progress) => ({ progressToken: token, progress, total: 3 })));
        assert.ok(messages.findIndex((json) => json.result) > messages.findLastIndex(isProgress), 'the answer comes last');
      }
    });

    test('progress: concurrent calls do not mix', async () => {
      const { peer } = world;
      const before = peer.received.length;
      const calls = [1, 2].map((steps) => peer.exchange('tools/call', { name: 'progress', arguments: { steps }, _meta: { progressToken: `t${steps}` } }));
      await Promise.all(calls);
      for (const steps of [1, 2]) {
        const found = peer.received.slice(before).filter(({ json }) => isProgress(json) && json.params.progressToken === `t${steps}`);
        assert.equal(found.length, steps);
        if (front.endsWith('http')) assert.deepEqual(new Set(found.map(({ via }) => via)), new Set([(await calls[steps - 1]).via]), 'on its own stream');
      }
    });

    test('progress: no token is invented', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      await peer.call('echo', { a: 1 });
      const call = (await seen('tools/call'))[0];
      assert.equal(JSON.parse(call.raw).params._meta?.progressToken, undefined);
    });

    test('pagination: cursors and pages pass unchanged, including the empty cursor', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      const whole = (await peer.request('tools/list')).tools.map(({ name }) => name);
      const names = [];
      for (let cursor = '0:4'; cursor !== undefined;) {
        const page = await peer.request('tools/list', { cursor });
        names.push(...page.tools.map(({ name }) => name));
        cursor = page.nextCursor;
      }
      assert.deepEqual(names, whole);
      const { said } = await peer.request('resources/list', { cursor: '' });
      assert.equal(said.params.cursor, '');
      assert.ok((await seen('tools/list')).length > 3);
    });

    test('completions, prompts, resources, unknown and vendor methods pass whole', async () => {
      const { peer } = world;
      for (const [method, params] of [
        ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'pa' }, context: { arguments: {} } }],
        ['prompts/list', { extra: 1 }], ['prompts/get', { name: 'p é', arguments: { x: '1' } }],
        ['resources/list', {}], ['resources/templates/list', {}], ['resources/read', { uri: 'test://a b/ü' }],
        ['vendor/thing', { deep: { list: [1, '2', null] } }], ['skills/list', {}], ['tasks/get', { taskId: 'task-9' }],
        ...(modern ? [] : [['resources/subscribe', { uri: 'test://x' }], ['resources/unsubscribe', { uri: 'test://x' }], ['logging/setLevel', { level: 'debug' }],
          ['tasks/list', {}], ['tasks/result', { taskId: 'task-9' }], ['tasks/cancel', { taskId: 'task-9' }]]),
      ]) {
        const { said } = await peer.request(method, params, { headers: modern && params.taskId ? { 'Mcp-Name': params.taskId } : {} });
        if (modern) delete said.params._meta;
        assert.deepEqual(said, { method, params }, method);
      }
      const error = await peer.exchange('tools/call', { name: 'no-such-tool', arguments: {} });
      assert.deepEqual(error.json.error, { code: -32602, message: 'Unknown tool: no-such-tool' });
    });

    test('logging: messages of a call come with it', async () => {
      const { peer } = world;
      const before = peer.received.length;
      const { via } = await peer.exchange('tools/call', { name: 'log', arguments: { data: { n: 1 } }, ...(modern && { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }) });
      const log = peer.received.slice(before).find(({ json }) => json.method === 'notifications/message');
      assert.deepEqual(log?.json.params, { level: 'info', logger: 'probe', data: { n: 1 } });
      if (back === 'http') assert.equal(log.via, via, 'on the stream of the call');
    });

    for (const [method, params] of [['tools/call', { name: 'wait', arguments: { announce: true } }], ['prompts/get', { name: 'wait' }]]) {
      test(`cancel of ${method}: reaches the right one at the server, and no answer follows`, async () => {
        const { peer, probe } = world;
        const seen = await watch(world);
        if (modern && front.endsWith('http')) return; // cancelled by closing: modern.test.mjs
        const id = `wait for ${method}`;
        const before = probe?.seen.filter((entry) => 'cancelled' in entry).length;
        const wait = peer.message(method, { ...params, _meta: { progressToken: id } }, id);
        const other = peer.message('tools/call', { name: 'hold', arguments: { key: 'k' } }, `beside ${method}`);
        peer.send(wait);
        await peer.next((json) => isProgress(json) && json.params.progressToken === id);
        peer.send(other);
        await peer.notify('notifications/cancelled', { requestId: id, reason: 'changed my mind' });
        await peer.call('release', { key: 'k' });
        const held = await peer.next((json) => json?.id === `beside ${method}`);
        assert.equal(held.result.content[0].text, 'held k', 'the other call goes on');
        if (probe) await probe.until(({ seen: all }) => all.filter((entry) => 'cancelled' in entry).length > before);
        const entries = await seen();
        const sent = entries.filter((entry) => entry.method === method).map(({ raw }) => JSON.parse(raw));
        const target = sent.find((call) => call.params.name === 'wait').id;
        const cancelled = entries.filter((entry) => 'cancelled' in entry);
        assert.deepEqual(cancelled.map((entry) => entry.cancelled), [target]);
        if (!(modern && back === 'http')) {
          const note = JSON.parse(entries.filter(({ method }) => method === 'notifications/cancelled')[0].raw);
          assert.equal(note.params.requestId, target, 'under the id that the server knows');
          assert.match(note.params.reason, /changed my mind/);
        }
        assert.ok(!peer.received.some(({ json }) => json.id === id), 'no answer to a cancelled call');
      });
    }

    test('cancel: cancelling a finished or unknown call has no effect', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      await peer.call('echo', {}, { id: 'over' });
      await peer.notify('notifications/cancelled', { requestId: 'over' });
      await peer.notify('notifications/cancelled', { requestId: 424242 });
      await peer.notify('notifications/cancelled', {});
      await peer.call('echo');
      assert.equal((await seen('notifications/cancelled')).length, 0);
    });
  });
}

for (const [front, back] of LEGACY_PAIRS) {
  describe(`legacy only, ${front} to ${back}`, () => {
    const world = suitePair(front, back);

    test('initialize is forwarded once with the data of each side, then initialized', async (t) => {
      const { peer, probe } = await pair(t, front, back, { initialize: { capabilities: { roots: {}, experimental: { 'x/y': { z: 1 } } }, version: LEGACY } });
      assert.deepEqual(peer.server.serverInfo, { name: 'probe', version: '1' });
      assert.equal(peer.server.instructions, 'probe');
      await peer.call('echo');
      // Over HTTP the gate first probes the era of the server.
      const entries = (probe?.seen ?? await peer.ask('seen')).filter(({ method }) => method && method !== 'server/discover');
      assert.deepEqual(entries.map(({ method }) => method).slice(0, 3),
        ['initialize', 'notifications/initialized', 'tools/call']);
      assert.deepEqual(JSON.parse(entries[0].raw).params.capabilities, { roots: {}, experimental: { 'x/y': { z: 1 } } });
    });

    test('ping: answered immediately, for the client and for the server', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      assert.deepEqual(await peer.request('ping'), {});
      assert.deepEqual(await peer.ask('ask', { method: 'ping' }), {});
      assert.equal((await seen('ping')).length, 0);
      assert.ok(!peer.received.some(({ json }) => json.method === 'ping'));
    });

    test('sampling, elicitation and roots requests go to the client that made the call; answers return unchanged', async () => {
      const { peer } = world;
      for (const [method, params, reply] of [
        ['roots/list', undefined, { result: { roots: [{ uri: 'file:///r', name: 'r' }] } }],
        ['elicitation/create', { message: 'name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
          { result: { action: 'accept', content: { name: 'Ada' } } }],
        ['sampling/createMessage', { messages: [], maxTokens: 5 }, { result: { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } } }],
        ['elicitation/create', { message: 'no', requestedSchema: { type: 'object', properties: {} } }, { error: { code: -1, message: 'User rejected' } }],
      ]) {
        const answer = peer.exchange('tools/call', { name: 'ask', arguments: { method, params } });
        const asked = await peer.entry((json) => json?.method === method);
        assert.deepEqual(asked.json.params, params);
        assert.ok(Number.isInteger(asked.json.id));
        await peer.respond(asked.json.id, reply);
        const { json, via } = await answer;
        assert.deepEqual(JSON.parse(json.result.content[0].text), reply.error ? { error: reply.error } : reply.result, method);
        if (front === 'http') assert.equal(asked.via, via, 'on the stream of the call');
      }
    });

    test('a request that the server cancels is cancelled at the client', async () => {
      const { peer } = world;
      const before = peer.received.length;
      const { via } = await peer.exchange('tools/call', { name: 'retract', arguments: { method: 'roots/list' } });
      const asked = peer.received.slice(before).find(({ json }) => json.method === 'roots/list');
      const note = peer.received.slice(before).find(({ json }) => json.method === 'notifications/cancelled');
      assert.ok(asked && note, 'both were passed on');
      assert.deepEqual(note.json.params, { requestId: asked.json.id, reason: 'never mind' });
      if (front === 'http') assert.equal(note.via, via, 'on the stream of the question');
    });

    test('list_changed, resources/updated and elicitation/complete reach the session', async () => {
      const { peer, probe, behind } = world;
      if (front === 'http') await peer.listen();
      if (back === 'http') await probe.until(() => [...behind.sessions.values()].every((session) => session.standing));
      for (const what of ['tools', 'prompts', 'resources']) {
        await peer.call('change', { what });
        assert.ok(await peer.next(methodIs(`notifications/${what}/list_changed`)));
      }
      await peer.call('update', { uri: 'test://watched' });
      assert.deepEqual((await peer.next(methodIs('notifications/resources/updated'))).params, { uri: 'test://watched' });
      await peer.call('visited', { elicitationId: 'e-1' });
      assert.deepEqual((await peer.next(methodIs('notifications/elicitation/complete'))).params, { elicitationId: 'e-1' });
    });

    test('the client\'s own notifications reach the server: roots/list_changed and unknown ones', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      await peer.notify('notifications/roots/list_changed');
      await peer.notify('notifications/vendor/thing', { a: [1] });
      await peer.call('echo');
      const entries = await seen();
      assert.equal(entries.filter(({ method }) => method === 'notifications/roots/list_changed').length, 1);
      assert.deepEqual(JSON.parse(entries.filter(({ method }) => method === 'notifications/vendor/thing')[0].raw).params, { a: [1] });
    });

    test('tasks of 2025-11-25: the call\'s task member and related-task pass', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      const made = await peer.request('tools/call', { name: 'echo', arguments: {}, task: { ttl: 60000 } });
      assert.equal(made.task.taskId, 'task-1');
      const meta = { 'io.modelcontextprotocol/related-task': { taskId: 'task-1' } };
      await peer.request('tasks/result', { taskId: 'task-1', _meta: meta });
      assert.deepEqual(JSON.parse((await seen('tasks/result'))[0].raw).params._meta, meta);
    });
  });
}

for (const [front, back] of MODERN_PAIRS) {
  describe(`modern only, ${front} to ${back}`, () => {
    const world = suitePair(front, back);

    test('server/discover is the server\'s own', async () => {
      const { peer } = world;
      const { supportedVersions, _meta } = await peer.request('server/discover');
      assert.deepEqual(supportedVersions, ['2026-07-28']);
      assert.equal(_meta['io.modelcontextprotocol/serverInfo'].name, 'probe');
    });

    test('subscriptions/listen: acknowledged and tagged with the client\'s id; ended by the server', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      const tag = 'io.modelcontextprotocol/subscriptionId';
      for (const id of ['listen-é', 41]) {
        peer.send(peer.message('subscriptions/listen', { notifications: { toolsListChanged: true } }, id));
        const acknowledged = await peer.entry((json) => json?.method === 'notifications/subscriptions/acknowledged' && json.params._meta[tag] === id);
        assert.deepEqual(acknowledged.json.params.notifications, { toolsListChanged: true });
      }
      if (probe) await probe.until(({ listeners }) => listeners.size === 2);
      await peer.call('change', {});
      for (const id of ['listen-é', 41]) {
        const changed = await peer.entry((json) => json?.method === 'notifications/tools/list_changed' && json.params._meta[tag] === id);
        assert.equal(changed.json.params._meta[tag], id);
      }
      await peer.call('unlisten');
      for (const id of ['listen-é', 41]) {
        const { result } = await peer.next((json) => json?.id === id);
        assert.equal(result._meta[tag], id);
      }
    });

    test('requests of a server are refused immediately in this era and never forwarded', async () => {
      const { peer } = world;
      if (back === 'child') assert.ok((await peer.ask('ask', { method: 'roots/list' })).error.code < 0);
      await peer.call('retract', { method: 'roots/list' });
      assert.ok(!peer.received.some(({ json }) => ['roots/list', 'notifications/cancelled'].includes(json.method)));
    });

    test('MRTR: inputRequests, requestState and retries pass byte for byte', async () => {
      const { peer, probe } = world;
      const seen = await watch(world);
      const state = 'b2\\u0070aque+/=\\"x';
      const line = `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"${state}"}}`;
      const { text } = await peer.exchange('tools/call', { name: 'line', arguments: { text: line } }, { id: 'first' });
      assert.equal(text, line.replace('$ID', '"first"'));
      await peer.request('tools/call', { name: 'echo', arguments: {}, inputResponses: { a: { roots: [] } }, requestState: JSON.parse(`"${state}"`) }, { id: 'second' });
      const retry = JSON.parse((await seen()).filter(({ raw }) => raw?.includes('inputResponses')).at(-1).raw);
      assert.deepEqual([retry.params.inputResponses, retry.params.requestState], [{ a: { roots: [] } }, JSON.parse(`"${state}"`)]);
    });
  });
}

test('tool names as servers have them: blanks, brackets and other languages pass, imitations do not', async (t) => {
  const names = ['read file', 'fs/read', 'ns:op', '$cost', 'f(x)', 'größe', '日本語_検索', 'поиск'];
  const bad = ['s\u0435nd_mail', 'gr\u00f6\u00dfe ', 'r\u00e9ad file', 'a\u200bb', 'c\u202ed', ' x'];
  const server = use(t, await startUpstream(legacyServer({
    tools: [...names, ...bad].map((name) => ({ name, inputSchema: { type: 'object' } })),
    methods: { 'tools/call': ({ name }) => ({ content: [{ type: 'text', text: name }] }) },
  })));
  const gate = use(t, await startGate({ upstream: server.url }));
  const client = await LegacyHttp.open(gate.url);
  assert.deepEqual((await client.request('tools/list')).tools.map(({ name }) => name), names);
  for (const name of names) assert.equal((await client.call(name, {})).content[0].text, name);
  await gate.child.waitLine(/d12 bad-name .*`--poison flag` allows it/, { stream: 'stderr' });
});

test('cache fields in results of a legacy server are accepted in either era, with one server and with many', async (t) => {
  // As the Go SDK's servers do in their stateful mode.
  const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'public' };
  const tool = { name: 'look', inputSchema: { type: 'object' } };
  const server = use(t, await startUpstream(legacyServer({
    capabilities: { tools: {}, resources: {} },
    methods: { 'tools/list': () => ({ ...cached, tools: [tool] }), 'resources/list': () => ({ ...cached, resources: [{ uri: 'a:b', name: 'b' }] }), 'resources/read': () => ({ ...cached, contents: [] }) },
  })));
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers: { go: { url: server.url }, silent: { url: 'http://127.0.0.1:9/mcp' } } } }));
  for (const [url, prefix, listed] of [[gate.url, 'go__', 'sallyport:go/a:b'], [`${gate.url}/go`, '', 'a:b']]) {
    for (const client of [await LegacyHttp.open(url), new ModernHttp(url)]) {
      const { tools, cacheScope, _meta } = await client.request('tools/list');
      assert.deepEqual(tools.map(({ name }) => name), [`${prefix}look`]);
      assert.ok(client instanceof LegacyHttp || cacheScope === 'private');
      if (prefix) assert.deepEqual(_meta['sallyport/missing'], ['silent'], 'and what is missing is said');
      else assert.equal(_meta?.['sallyport/missing'], undefined);
      assert.deepEqual((await client.request('resources/list')).resources.map(({ uri }) => uri), [listed]);
    }
  }
});
