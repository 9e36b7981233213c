// What a client of several servers gets at one endpoint is what it gets at each server's own, but for prefixes: subscriptions, log lines,
// errors about resources and tasks, URIs in what servers answer. Servers of both eras, over HTTP and stdio.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LegacyHttp, ModernHttp, fixture, node, policyFile, startFixture, startServe, use } from '../lib/index.mjs';

const WATCHED = 'test://watched-resource';
const http = (era) => async (t) => ({ url: use(t, await startFixture('conformance.mjs', '--era', era)).url });
const stdio = (era) => async () => ({ command: node, args: [fixture('conformance.mjs'), '--stdio', '--era', era] });
const SERVERS = { 'modern HTTP': http('modern'), 'legacy HTTP': http('legacy'), 'modern stdio': stdio('modern'), 'legacy stdio': stdio('legacy') };

// Reads a stream until there is a notification of that kind.
async function heard(stream, method) {
  for (;;) {
    const message = await stream.message();
    assert.ok(message, `the stream ended before ${method}`);
    if (message.method === method) return message;
  }
}

async function world(t, make, path) {
  const other = { command: node, args: [fixture('conformance.mjs'), '--stdio', '--era', 'legacy'] };
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { fx: await make(t), other } } }));
  const [name, uri] = path === '/mcp' ? [(tool) => `fx__${tool}`, (text) => `sallyport:fx/${text}`] : [(tool) => tool, (text) => text];
  return { url: gate.origin + path, name, uri };
}

for (const [title, make] of Object.entries(SERVERS)) {
  for (const path of ['/mcp', '/mcp/fx']) {
    describe(`${title} server at ${path}`, () => {
      test('a legacy client gets updates of its subscribed resource and of changed lists', async (t) => {
        const { url, name, uri } = await world(t, make, path);
        await LegacyHttp.open(url); // what the server says of itself is known now, and not asked for again
        const client = await LegacyHttp.open(url);
        assert.equal(client.server.capabilities.resources.subscribe, true);
        const stream = await client.listen();
        assert.deepEqual(await client.request('resources/subscribe', { uri: uri(WATCHED) }), {});
        await client.call(name('test_trigger_resource_update'));
        assert.equal((await heard(stream, 'notifications/resources/updated')).params.uri, uri(WATCHED));
        await client.call(name('test_trigger_tool_change'));
        await heard(stream, 'notifications/tools/list_changed');
        assert.deepEqual(await client.request('resources/unsubscribe', { uri: uri(WATCHED) }), {});
      });

      test('a modern client gets updates of its subscribed resource and of changed lists', async (t) => {
        const { url, name, uri } = await world(t, make, path);
        const client = new ModernHttp(url);
        const stream = await client.send('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: [uri(WATCHED)] } });
        const { params } = await heard(stream, 'notifications/subscriptions/acknowledged');
        assert.deepEqual(params.notifications, { toolsListChanged: true, resourceSubscriptions: [uri(WATCHED)] });
        await client.call(name('test_trigger_resource_update'));
        assert.equal((await heard(stream, 'notifications/resources/updated')).params.uri, uri(WATCHED));
        await client.call(name('test_trigger_tool_change'));
        await heard(stream, 'notifications/tools/list_changed');
      });

      test('a log level holds from its acknowledgement on', async (t) => {
        const { url, name } = await world(t, make, path);
        const client = await LegacyHttp.open(url);
        assert.deepEqual(await client.request('logging/setLevel', { level: 'debug' }), {});
        const { notifications } = await client.exchange('tools/call', { name: name('test_tool_with_logging'), arguments: {} });
        assert.equal(notifications.filter(({ method }) => method === 'notifications/message').length, 3);
      });

      test('a resource is named once: in errors, and where a server repeats what the client wrote', async (t) => {
        const { url, name, uri } = await world(t, make, path);
        const legacy = await LegacyHttp.open(url);
        for (const client of [legacy, new ModernHttp(url)]) {
          const { answer: { error } } = await client.exchange('resources/read', { uri: uri('test://nowhere') });
          assert.equal(error.data.uri, uri('test://nowhere'));
          if (path === '/mcp') assert.equal((await client.exchange('resources/read', { uri: 'test://of-nobody' })).answer.error.data.uri, 'test://of-nobody');
        }
        for (const resourceUri of [uri('test://static-text'), 'test://static-text']) {
          const { messages } = await legacy.request('prompts/get', { name: name('test_prompt_with_embedded_resource'), arguments: { resourceUri } });
          assert.equal(messages.find(({ content }) => content.type === 'resource').content.resource.uri, uri('test://static-text'));
        }
      });
    });
  }
}

test('task methods of a client that does not take tasks are -32021 at every endpoint', async (t) => {
  const { url } = await world(t, stdio('legacy'), '/mcp');
  const client = new ModernHttp(url);
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    const { answer } = await client.exchange(method, { taskId: 'x' }, { headers: { 'Mcp-Name': 'x' } });
    assert.equal(answer.error.code, -32021, JSON.stringify(answer));
  }
});
