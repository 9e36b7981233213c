// Many real servers behind one gate: each client sees all of them at /mcp and each by itself at /mcp/NAME; one that dies takes
// away only its own part; new settings change only what differs.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  HttpPeer, LegacyHttp, MODERN, children, commandLine, connect, descendants, eightServers, node, packages, policyFile, post, probeCommand, request, run, startServe,
  tempDir, tempFile, until, use,
} from '../lib/index.mjs';

const program = ([command, ...args], more = {}) => ({ command, args, ...more });
const home = tempDir();
writeFileSync(join(home, 'hello.txt'), 'hello from a file\n');

const EIGHT = eightServers(home);
const NAMES = Object.keys(EIGHT);
const settings = (servers, more = {}) => ({ version: '1', policy: policyFile(), servers, ...more });
const prefixes = (tools) => new Set(tools.map((tool) => tool.name.split('__')[0]));

async function usesAll(session) {
  const tools = await session.tools();
  assert.deepEqual([...prefixes(tools)].sort(), [...NAMES].sort());
  assert.equal(await session.text('everything__echo', { message: 'héllo' }), 'Echo: héllo');
  assert.match(await session.text('files__read_text_file', { path: join(home, 'hello.txt') }), /hello from a file/);
  assert.match(await session.text('memory__read_graph', {}), /entities/);
}

async function inspector(args) {
  const { code, stdout, stderr } = await run(node, [packages.inspector, '--cli', ...args, '--format', 'json'],
    { env: { HOME: tempDir() } });
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  return stdout;
}

describe('eight servers', { concurrency: 1 }, () => {
  let gate;
  before(async () => { gate = await startServe({ config: settings(EIGHT) }); });
  after(() => gate?.stop());

  // SDK v1 and SDK v2 as they come: eight.test.mjs.
  test('SDK v2 in the modern era', async (t) => usesAll(use(t, await connect('v2', gate, { negotiation: { pin: MODERN } }))));
  test('SDK v1 over the 2024 transport', async (t) => usesAll(use(t, await connect('v1', { sse: `${gate.origin}/sse` }))));
  test('Inspector', async () => {
    assert.match(await inspector([gate.url, '--transport', 'http', '--method', 'tools/list']), /"files__read_text_file"/);
    assert.match(await inspector([gate.url, '--transport', 'http', '--method', 'tools/call', '--tool-name', 'everything__echo',
      '--tool-arg', 'message=hi']), /Echo: hi/);
  });

  test('one server by itself, with bare names', async (t) => {
    const one = use(t, await connect('v1', { url: `${gate.origin}/mcp/everything` }));
    assert.ok((await one.tools()).some((tool) => tool.name === 'echo'));
    assert.equal(await one.text('echo', { message: 'x' }), 'Echo: x');
    const old = use(t, await connect('v1', { sse: `${gate.origin}/sse/everything` }));
    assert.equal(await old.text('echo', { message: 'x' }), 'Echo: x');
    assert.equal((await request('GET', `${gate.origin}/mcp/nobody`, { headers: { Accept: 'text/event-stream' } })).status, 404);
  });

  test('resources, templates, prompts and completions come back by the names they went out with', async (t) => {
    const { client } = use(t, await connect('v1', gate));
    const { resources } = await client.listResources();
    const document = resources.find(({ uri }) => uri.startsWith('sallyport:everything/'));
    const { contents } = await client.readResource({ uri: document.uri });
    assert.equal(contents[0].uri, document.uri);
    const { resourceTemplates } = await client.listResourceTemplates();
    const template = resourceTemplates.find(({ uriTemplate }) => uriTemplate.includes('dynamic/text'));
    const uri = template.uriTemplate.replace(/\{[^}]*\}/, '7');
    assert.equal((await client.readResource({ uri })).contents[0].uri, uri);
    const { content } = await client.callTool({ name: 'everything__get-resource-links', arguments: { count: 2 } });
    const link = content.find(({ type }) => type === 'resource_link');
    assert.equal((await client.readResource({ uri: link.uri })).contents[0].uri, link.uri);
    assert.equal((await client.getPrompt({ name: 'everything__simple-prompt' })).messages.length, 1);
    const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'everything__completable-prompt' },
      argument: { name: 'department', value: 'E' } });
    assert.deepEqual(completion.values, ['Engineering']);
    await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }), /-32002|not found/i);
    await assert.rejects(client.getPrompt({ name: 'simple-prompt' }), /Unknown prompt/);
  });

  test('an app: its page is found, and what the page calls by its bare name too', async (t) => {
    const { client } = use(t, await connect('v1', gate));
    const tool = (await client.listTools()).tools.find(({ name, _meta }) => name.startsWith('app__') && _meta?.ui?.resourceUri);
    assert.match(tool._meta.ui.resourceUri, /^ui:\/\/app\//);
    const { contents } = await client.readResource({ uri: tool._meta.ui.resourceUri });
    assert.match(contents[0].text, /<html/i);
    const result = await client.callTool({ name: tool.name.slice('app__'.length), arguments: {} });
    assert.notEqual(result.isError, true);
    await assert.rejects(client.callTool({ name: 'read_graph', arguments: {} }), /Unknown tool/);
  });

  test('plain HTTP: servers, tools, call', async () => {
    assert.deepEqual(await (await request('GET', `${gate.origin}/mcp/servers`)).json(), NAMES);
    const { tools } = await (await request('GET', `${gate.origin}/mcp/thinking/tools`)).json();
    assert.equal(tools[0].name, 'sequentialthinking');
    const called = await post(`${gate.origin}/mcp/call`, { server: 'everything', tool: 'echo', args: { message: 'plain' } });
    assert.equal(called.status, 200);
    assert.equal((await called.json()).content[0].text, 'Echo: plain');
    const nobody = await post(`${gate.origin}/mcp/call`, { server: 'nobody', tool: 'echo', args: {} });
    assert.deepEqual([nobody.status, await nobody.json()], [404, { error: 'Not found' }]);
    assert.equal((await post(`${gate.origin}/mcp/call`, { server: 'everything', tool: 'echo', args: [] })).status, 400);
    assert.equal((await request('GET', `${gate.origin}/mcp/call`)).status, 405);
  });
});

describe('servers come and go', { concurrency: 1 }, () => {
  const child = (gate, text) => children(gate.pid).flatMap(children).concat(children(gate.pid))
    .find((pid) => commandLine(pid).join(' ').includes(text));

  test('a server that exits loses only its own tools, and is restarted', async (t) => {
    const gate = use(t, await startServe({ config: settings({ a: program(probeCommand('a')), thinking: EIGHT.thinking }) }));
    const { client } = use(t, await connect('v1', gate));
    let changes = 0;
    const { ToolListChangedNotificationSchema } = await import('../npm/load.mjs').then(({ load }) => load('@modelcontextprotocol/sdk/types.js'));
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => { changes += 1; });
    const listed = async () => prefixes((await client.listTools()).tools);
    assert.deepEqual([...await listed()], ['a', 'thinking']);
    process.kill(child(gate, 'sequential-thinking'), 'SIGKILL');
    await until('a changed list', () => changes > 0);
    assert.match((await client.callTool({ name: 'a__echo', arguments: { n: 1 } })).content[0].text, /"n":1/);
    await until('the server is listed again', async () => (await listed()).has('thinking'));
    await gate.child.waitLine(/server `thinking` is back/, { stream: 'stderr' });
  });

  test('a server that never starts is left out and reported', async (t) => {
    const gate = use(t, await startServe({ config: settings({ good: program(probeCommand('good')), bad: { command: '/nonexistent/server' } }) }));
    const { client, tools } = use(t, await connect('v1', gate));
    assert.deepEqual([...prefixes(await tools())], ['good']);
    await assert.rejects(client.callTool({ name: 'bad__x', arguments: {} }), /bad/);
    assert.match(await (await request('GET', `${gate.origin}/readyz`)).text(), /bad: down/);
  });

  test('new settings start, end and change only what differs; bad ones change nothing', async (t) => {
    const path = tempFile('sallyport.yaml', JSON.stringify(settings({ a: program(probeCommand('a')), b: program(probeCommand('b')) })));
    const gate = use(t, await startServe({ args: ['--no-auth', '--config', path] }));
    const { client, tools } = use(t, await connect('v1', gate));
    assert.deepEqual([...prefixes(await tools())], ['a', 'b']);
    const pid = child(gate, 'probe.mjs a');
    writeFileSync(path, 'version: "1"\nservres: {}\n');
    await gate.child.waitLine(/unknown key `servres`, did you mean `servers`\?.*the old settings stay in force/, { stream: 'stderr' });
    assert.deepEqual([...prefixes(await tools())], ['a', 'b']);
    writeFileSync(path, JSON.stringify(settings({ a: program(probeCommand('a')), c: program(probeCommand('c')) })));
    await gate.child.waitLine(/settings reloaded/, { stream: 'stderr' });
    assert.deepEqual([...prefixes(await tools())], ['a', 'c']);
    assert.equal(child(gate, 'probe.mjs a'), pid);
    await assert.rejects(client.callTool({ name: 'b__echo', arguments: {} }), /Unknown tool/);
  });

  test('a server that starts later gets the requested log level', async (t) => {
    const gate = use(t, await startServe({ config: settings({ a: program(probeCommand('a'), { idle: '1s' }) }) }));
    const client = await LegacyHttp.open(gate.url);
    await client.call('a__echo', {});
    assert.deepEqual(await client.request('logging/setLevel', { level: 'error' }), {});
    await gate.child.waitLine(/server `a` is idle/, { stream: 'stderr' });
    await client.call('a__echo', {}); // starts it
    const { content } = await client.call('a__seen');
    assert.match(content[0].text, /logging\/setLevel/);
  });

  for (const [path, tool, uri] of [['/mcp', 'a__', 'sallyport:a/x://1'], ['/mcp/a', '', 'x://1']]) {
    test(`subscriptions and log level of a client at ${path} apply to a restarted server process`, async (t) => {
      const gate = use(t, await startServe({ config: settings({ a: program(probeCommand('a')) }) }));
      const peer = await new HttpPeer(`${gate.origin}${path}`).initialize({ capabilities: {} });
      await peer.listen();
      await peer.request('resources/subscribe', { uri });
      await peer.request('logging/setLevel', { level: 'error' });
      const { pid } = await peer.ask(`${tool}mark`);
      process.kill(pid, 'SIGKILL');
      await gate.child.waitLine(/server `a` is back/, { stream: 'stderr' });
      await peer.next((json) => json?.method === 'notifications/tools/list_changed');
      const seen = await peer.ask(`${tool}seen`);
      assert.notEqual((await peer.ask(`${tool}mark`)).pid, pid);
      const said = (method) => seen.filter((entry) => entry.method === method).map(({ raw }) => JSON.parse(raw).params);
      assert.deepEqual([said('resources/subscribe'), said('logging/setLevel')], [[{ uri: 'x://1' }], [{ level: 'error' }]]);
      await peer.call(`${tool}update`, { uri: 'x://1' });
      assert.deepEqual((await peer.next((json) => json?.method === 'notifications/resources/updated')).params, { uri });
      await peer.request('resources/unsubscribe', { uri });
    });
  }

  test('an idle server is ended and started again when it is needed', async (t) => {
    const gate = use(t, await startServe({ config: settings({ a: program(probeCommand('a'), { idle: '1s' }) }) }));
    const { text } = use(t, await connect('v1', gate));
    assert.match(await text('a__echo', { n: 1 }), /"n":1/);
    await gate.child.waitLine(/server `a` is idle/, { stream: 'stderr' });
    assert.match(await text('a__echo', { n: 2 }), /"n":2/);
  });
});

describe('processes of sessions', () => {
  const running = (gate, text) => descendants(gate.pid).filter((pid) => commandLine(pid).join(' ').includes(text)).length;

  test('each session has its own process, unless the server is shared', async (t) => {
    const gate = use(t, await startServe({ config: settings({ own: program(probeCommand('own')),
      shared: program(probeCommand('shared'), { share: 'shared' }) }) }));
    const sessions = [];
    for (let i = 0; i < 3; i++) sessions.push(use(t, await connect('v1', gate)));
    for (const [n, { text }] of sessions.entries()) {
      assert.match(await text('own__echo', { n }), new RegExp(`"n":${n}`));
      assert.match(await text('shared__echo', { n }), new RegExp(`"n":${n}`));
    }
    assert.deepEqual([running(gate, 'probe.mjs own'), running(gate, 'probe.mjs shared')], [3, 1]);
    // Answers and progress find their way, also when the ids of the clients are the same.
    const seen = await Promise.all(sessions.map(async ({ client }) => {
      const steps = [];
      await client.callTool({ name: 'shared__progress', arguments: { steps: 3 } }, undefined, { onprogress: ({ progress }) => steps.push(progress) });
      return steps;
    }));
    assert.deepEqual(seen, [[1, 2, 3], [1, 2, 3], [1, 2, 3]]);
    const [first, second] = sessions;
    await first.client.close();
    assert.match(await second.text('shared__echo', { n: 9 }), /"n":9/);
  });
});

describe('names', () => {
  test('without prefixes a name belongs to the first server that lists it', async (t) => {
    const gate = use(t, await startServe({ config: settings({ a: program(probeCommand('a')), b: program(probeCommand('b')), thinking: EIGHT.thinking },
      { prefix: 'never' }) }));
    const { client, tools } = use(t, await connect('v1', gate));
    const names = (await tools()).map(({ name }) => name);
    assert.equal(names.filter((name) => name === 'echo').length, 1);
    assert.ok(names.includes('sequentialthinking'));
    assert.notEqual((await client.callTool({ name: 'echo', arguments: {} })).isError, true);
    await gate.child.waitLine(/server `b`: tool `echo` is not offered: `a` has one/, { stream: 'stderr' });
  });

  test('a tool can be called by name without a list before', async (t) => {
    const gate = use(t, await startServe({ config: settings({ a: program(probeCommand('a')), thinking: EIGHT.thinking }, { prefix: 'never' }) }));
    const client = await LegacyHttp.open(gate.url);
    assert.match((await client.call('echo', { n: 5 })).content[0].text, /"n":5/);
  });

  test('conditional: a single server has no prefix', async (t) => {
    const gate = use(t, await startServe({ config: settings({ a: program(probeCommand('a')) }, { prefix: 'conditional' }) }));
    const { tools, text } = use(t, await connect('v1', gate));
    assert.ok((await tools()).some(({ name }) => name === 'echo'));
    assert.match(await text('echo', { n: 1 }), /"n":1/);
  });
});
