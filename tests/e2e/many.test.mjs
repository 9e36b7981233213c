// Everything beside tools where several servers stand behind /mcp: requests and notifications of servers, lists of many pages,
// tasks and completions. Each finds its way to and from the right server, by the names that the client knows.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startProbe } from '../fixtures/probe.mjs';
import { HttpPeer, LegacyHttp, ModernHttpPeer, policyFile, startServe } from '../lib/index.mjs';

const MANY = 1200;
const tool = (i) => ({ name: `extra_${i}`, description: `number ${i}`, inputSchema: { type: 'object' } });

describe('two servers behind /mcp', { concurrency: 1 }, () => {
  let gate, a, b;
  before(async () => {
    a = await startProbe({ mark: 'a', extraTools: Array.from({ length: MANY }, (_, i) => tool(i)), pageSize: 100 });
    b = await startProbe({ mark: 'b' });
    const policy = policyFile({ version: '1', default: 'allow', methods: { 'sampling/createMessage': 'allow', 'roots/list': 'allow', 'elicitation/create': 'allow' } });
    gate = await startServe({ config: { version: '1', policy, code: { enabled: false }, servers: { a: { url: a.url }, b: { url: b.url } } } });
  });
  after(async () => { await gate?.stop(); await a?.stop(); await b?.stop(); });

  test('requests of each server reach the client, and each answer reaches the server that asked', async () => {
    const peer = await new HttpPeer(gate.url).initialize();
    const questions = [
      ['roots/list', undefined, { roots: [{ uri: 'file:///x' }] }],
      ['elicitation/create', { message: 'Which?', requestedSchema: { type: 'object', properties: {} } }, { action: 'decline' }],
      ['sampling/createMessage', { messages: [], maxTokens: 5 }, { role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' }],
    ];
    for (const server of ['a', 'b', 'a']) {
      for (const [method, params, result] of questions) {
        const answer = peer.ask(`${server}__ask`, { method, params });
        const { id } = await peer.next((json) => json?.method === method);
        await peer.respond(id, { result });
        assert.deepEqual(await answer, result, `${server} ${method}`);
      }
    }
    // Both concurrently: neither server gets the answer for the other.
    const both = ['a', 'b'].map((server) => peer.ask(`${server}__ask`, { method: 'elicitation/create', params: { message: server, requestedSchema: { type: 'object', properties: {} } } }));
    for (let i = 0; i < 2; i++) {
      const { id, params } = await peer.next((json) => json?.method === 'elicitation/create');
      await peer.respond(id, { result: { action: 'accept', content: { for: params.message } } });
    }
    assert.deepEqual((await Promise.all(both)).map(({ content }) => content.for), ['a', 'b']);
    await peer.end();
  });

  test('one modern subscription gets notifications of both servers, under its own id and URIs', async () => {
    const peer = new ModernHttpPeer(gate.url);
    const uris = ['sallyport:a/x://1', 'sallyport:b/x://1'];
    const response = await peer.send(peer.message('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: uris } }, 'mine'));
    const id = (json) => json.params._meta['io.modelcontextprotocol/subscriptionId'];
    const told = (method) => peer.next((json) => json?.method === `notifications/${method}`);
    assert.equal(id(await told('subscriptions/acknowledged')), 'mine');
    for (const [{ probe }, uri] of [[a, uris[0]], [b, uris[1]], [a, uris[0]]]) {
      await probe.until(({ listeners }) => listeners.size > 0);
      probe.tell('notifications/resources/updated', { uri: 'x://1' });
      const update = await told('resources/updated');
      assert.deepEqual([id(update), update.params.uri], ['mine', uri]);
      probe.tell('notifications/tools/list_changed');
      assert.equal(id(await told('tools/list_changed')), 'mine');
    }
    response.close?.();
  });

  test(`${MANY} tools in pages: each once, and none is missing`, async () => {
    const client = await LegacyHttp.open(gate.url);
    const names = [];
    for (let cursor, pages = 0; ;) {
      const { tools, nextCursor } = await client.request('tools/list', cursor === undefined ? {} : { cursor });
      names.push(...tools.map(({ name }) => name));
      assert.ok(++pages < 100);
      if (nextCursor === undefined) break;
      cursor = nextCursor;
    }
    assert.equal(new Set(names).size, names.length);
    for (let i = 0; i < MANY; i++) assert.ok(names.includes(`a__extra_${i}`), `${i}`);
    assert.ok(names.includes('a__echo') && names.includes('b__echo'));
  });

  test('tasks with the same id at two servers are separate, and each is queried at its own server', async () => {
    const client = await LegacyHttp.open(gate.url);
    for (const server of ['a', 'b']) {
      const { task } = await client.request('tools/call', { name: `${server}__echo`, arguments: {}, task: { ttl: 60_000 } });
      assert.equal(task.taskId, `${server}__task-1`);
    }
    for (const [server, behind] of [['a', a], ['b', b]]) {
      const before = behind.probe.seen.length;
      const { said } = await client.request('tasks/get', { taskId: `${server}__task-1` });
      assert.deepEqual([said.method, said.params.taskId], ['tasks/get', 'task-1']);
      assert.ok(behind.probe.seen.slice(before).some(({ method }) => method === 'tasks/get'));
    }
    await assert.rejects(client.request('tasks/get', { taskId: 'task-1' }), /Task not found/);
  });

  test('completions go to the server of the prompt or the template, by its own names', async () => {
    const client = await LegacyHttp.open(gate.url);
    const ask = async (ref) => (await client.request('completion/complete', { ref, argument: { name: 'x', value: 'y' } })).said.params.ref;
    assert.deepEqual(await ask({ type: 'ref/prompt', name: 'b__greet' }), { type: 'ref/prompt', name: 'greet' });
    assert.deepEqual(await ask({ type: 'ref/resource', uri: 'sallyport:a/x://{id}' }), { type: 'ref/resource', uri: 'x://{id}' });
  });
});
