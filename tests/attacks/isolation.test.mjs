// Isolation, limits and timing where other files do not have them by name: I3 timeouts, I5 caches, I7 records, and one tenant's data
// behind one server (attack 26). I1, I2: identity, hijack, wire; I4: e2e/face; I6: hijack.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startProbe } from '../fixtures/probe.mjs';
import {
  HttpPeer, LegacyHttp, ModernHttp, cli, legacyServer, policyFile, probeCommand, startGate, startServe, startUpstream, tempDir, use,
} from '../lib/index.mjs';

const tool = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } });
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const lasting = (scope) => ({ resultType: 'complete', ttlMs: 60_000, cacheScope: scope });

// A server that holds the data of all tenants and trusts every caller.
test('26 one server, two tenants: calls outside the workspaces that the policy of a grant names are denied', async (t) => {
  const asked = [];
  const tracker = use(t, await startUpstream(legacyServer({ tools: [tool('list_tasks')],
    methods: { 'tools/call': ({ arguments: args }) => { asked.push(args.workspace); return text(`tasks of ${args.workspace}`); } } })));
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const only = (workspace) => policyFile({ version: '1', default: 'deny', tools: { list_tasks: { rules: [
    { name: 'own workspace', conditions: [{ path: 'args.workspace', op: 'in', value: [workspace] }] }] } } });
  const grant = async (name) => (await cli(['grants', 'create', name, '--policy', only(name)], { env })).stdout.trim();
  const [red, blue] = [await grant('red'), await grant('blue')];
  const gate = use(t, await startServe({ args: [], env, config: { version: '1', code: { enabled: false }, servers: { tracker: { url: tracker.url } } } }));
  const open = (token) => LegacyHttp.open(gate.url, { headers: { Authorization: `Bearer ${token}` } });
  const [ann, ben] = [await open(red), await open(blue)];
  const call = async (client, args) => (await client.call('tracker__list_tasks', args));
  assert.equal((await call(ann, { workspace: 'red' })).content[0].text, 'tasks of red');
  assert.equal((await call(ben, { workspace: 'blue' })).content[0].text, 'tasks of blue');
  for (const args of [{ workspace: 'blue' }, {}, { workspace: ['red', 'blue'] }, { workspace: { red: 1 } }, { workspace: 'RED' }, { workspace: 'red\u200b' }, { Workspace: 'blue' }]) {
    assert.equal((await call(ann, args)).isError, true, JSON.stringify(args));
  }
  assert.deepEqual(asked, ['red', 'blue']);
});

test('I3 a call to a silent server times out: it is cancelled at the server and answered with an error; other calls do not wait', async (t) => {
  const [command, ...args] = probeCommand('a');
  const silent = use(t, await startProbe());
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: false },
    servers: { a: { command, args }, silent: { url: silent.url, timeout: '3s' } } } }));
  const peer = await new HttpPeer(gate.url).initialize({ capabilities: {} });
  const waiting = peer.exchange('tools/call', { name: 'silent__wait', arguments: {} });
  assert.match((await peer.call('a__echo', { n: 1 })).content[0].text, /"n":1/);
  const { json } = await waiting;
  assert.deepEqual([json.error.code, /server `silent` did not answer in time/.test(json.error.message)], [-32603, true]);
  await silent.probe.until(({ seen }) => seen.some((entry) => entry.cancelled !== undefined));
});

describe('I5 results that passed the gate are marked as private for caches', () => {
  const methods = {
    'server/discover': () => ({ ...lasting('public'), supportedVersions: ['2026-07-28'], capabilities: { tools: {}, resources: {} }, _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1' } } }),
    'tools/list': () => ({ ...lasting('public'), tools: [tool('open'), tool('secret')] }),
    'resources/list': () => ({ ...lasting('public'), resources: [] }),
    'resources/read': ({ uri }) => ({ ...lasting('public'), contents: [{ uri, text: 'x' }] }),
  };
  const policy = { version: '1', default: 'allow', hide: ['secret'] };
  const look = async (http, uri) => {
    const answers = [await http.request('tools/list'), await http.request('resources/list'), await http.request('server/discover'), await http.request('resources/read', { uri })];
    assert.deepEqual(answers.map(({ cacheScope }) => cacheScope), Array(4).fill('private'));
    assert.ok(answers[0].tools.every(({ name }) => !name.endsWith('secret')));
  };

  test('one server', async (t) => {
    const server = use(t, await startUpstream(legacyServer({ methods })));
    const gate = use(t, await startGate({ upstream: server.url, policy }));
    await look(new ModernHttp(gate.url), 'x://1');
  });

  test('many', async (t) => {
    const server = use(t, await startUpstream(legacyServer({ methods })));
    const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(policy), code: { enabled: false }, servers: { a: { url: server.url }, b: { url: server.url } } } }));
    await look(new ModernHttp(gate.url), 'sallyport:a/x://1');
    await look(new ModernHttp(`${gate.origin}/mcp/a`), 'x://1');
  });
});

test('I7 every call is recorded: allowed, denied, each of a batch, each input round, and the end of a task', async (t) => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const asks = { 'tools/call': ({ name, inputResponses }) => (name === 'ask' && !inputResponses
    ? { resultType: 'input_required', inputRequests: { q: { method: 'elicitation/create', params: { mode: 'form', message: '?', requestedSchema: { type: 'object', properties: {} } } } }, requestState: 's' }
    : { resultType: 'complete', ...text('done') }) };
  const modern = { ...asks,
    'server/discover': () => ({ ...lasting('private'), supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1' } } }),
    'tools/list': () => ({ ...lasting('private'), tools: ['ask', 'one', 'gone', 'two', 'three'].map(tool) }),
    initialize: () => ({ protocolVersion: '2025-03-26', capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '1' } }) };
  const server = use(t, await startUpstream(legacyServer({ methods: modern })));
  const policy = policyFile({ version: '1', default: 'allow', tools: { gone: { deny_if: [{ conditions: [] }] } } });
  const [command, ...args] = probeCommand('tasks');
  const gate = use(t, await startServe({ env, config: { version: '1', policy, code: { enabled: false }, servers: { a: { url: server.url }, tasks: { command, args } } } }));

  const http = new ModernHttp(gate.url, { capabilities: { elicitation: {} } });
  await http.call('a__one');
  await http.call('a__gone');
  assert.equal((await http.call('a__ask')).resultType, 'input_required');
  await http.request('tools/call', { name: 'a__ask', arguments: {}, requestState: 's', inputResponses: { q: { action: 'decline' } } });
  const batch = await LegacyHttp.open(gate.url, { version: '2025-03-26' });
  const call = (id, name) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: `a__${name}`, arguments: {} } });
  await (await batch.post([call(1, 'two'), call(2, 'gone'), call(3, 'three')])).text();
  const client = await LegacyHttp.open(gate.url);
  const { task } = await client.request('tools/call', { name: 'tasks__echo', arguments: {}, task: { ttl: 60_000 } });
  await client.request('tasks/result', { taskId: task.taskId });
  await gate.stop();

  const { stdout } = await cli(['audit', 'export', '--format', 'jsonl'], { env });
  const records = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const decisions = records.filter(({ kind, method }) => kind === 'decision' && method === 'tools/call');
  assert.deepEqual(decisions.map(({ tool: name, verdict }) => `${name} ${verdict}`).sort(),
    ['ask allow', 'ask allow', 'echo allow', 'gone deny', 'gone deny', 'one allow', 'three allow', 'two allow']);
  const ended = new Set(records.filter(({ kind }) => kind === 'outcome').map(({ call: of }) => of));
  for (const { verdict, call: of, tool: name } of decisions) assert.equal(ended.has(of), verdict === 'allow', `${name}: an outcome for what was made`);
  assert.ok(records.some(({ kind, method }) => kind === 'decision' && method === 'tasks/result'), 'how a task ended is asked for, and on record');
});
