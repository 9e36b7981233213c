// Two principals behind one gate of many servers: neither can use anything of the other. And servers that imitate
// taken for each other.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  LegacyHttp, ModernHttp, cli, freePort, node, packages, policyFile, post, probeCommand, request, start, startServe, tempDir, tempFile, use,
} from '../lib/index.mjs';

const program = ([command, ...args], more = {}) => ({ command, args, ...more });
const settings = (servers, more = {}) => ({ version: '1', policy: policyFile(), servers, ...more });
const bearer = (token) => ({ headers: { Authorization: `Bearer ${token}` } });

describe('two grants', { concurrency: 1 }, () => {
  let gate, upstream, anna, bert, narrow;

  before(async () => {
    const home = join(tempDir(), 'home');
    const grant = async (...args) => (await cli(['grants', 'create', ...args], { env: { SALLYPORT_HOME: home } })).stdout.trim();
    // One process for all clients, over HTTP: the server itself shows every task to every client.
    const port = await freePort();
    upstream = start(node, [packages.everything, 'streamableHttp'], { env: { PORT: `${port}` } });
    await upstream.waitLine(/port|listening|running/i, { stream: 'stderr' });
    gate = await startServe({ args: [], env: { SALLYPORT_HOME: home },
      config: settings({ web: { url: `http://127.0.0.1:${port}/mcp` }, probe: program(probeCommand('probe')) }) });
    [anna, bert, narrow] = [bearer(await grant('anna')), bearer(await grant('bert')), bearer(await grant('narrow', '--server', 'probe'))];
  });
  after(async () => { await gate?.stop(); await upstream?.stop(); });

  test('without a grant every endpoint answers 401', async () => {
    for (const path of ['/mcp', '/mcp/web', '/mcp/servers', '/mcp/web/tools', '/mcp/call', '/sse', '/message', '/mcp/nobody']) {
      const method = path === '/mcp/call' || path === '/message' ? 'POST' : 'GET';
      assert.equal((await request(method, `${gate.origin}${path}`)).status, 401, path);
    }
  });

  test('a server outside of the grant gets 403 and is in no list', async () => {
    for (const path of ['/mcp/web', '/mcp/web/tools', '/sse/web']) {
      assert.equal((await request('GET', `${gate.origin}${path}`, narrow)).status, 403, path);
    }
    assert.equal((await post(`${gate.origin}/mcp/call`, { server: 'web', tool: 'echo', args: {} }, narrow)).status, 403);
    assert.deepEqual(await (await request('GET', `${gate.origin}/mcp/servers`, narrow)).json(), ['probe']);
    const client = await LegacyHttp.open(gate.url, narrow);
    const { tools } = await client.request('tools/list');
    assert.ok(tools.length && tools.every(({ name }) => name.startsWith('probe__')));
    await assert.rejects(client.call('web__echo', { message: 'x' }), /Unknown tool/);
    await assert.rejects(client.request('resources/read', { uri: 'sallyport:web/demo://resource/static/document/features.md' }), /not found/i);
  });

  test('a session belongs to its principal and its endpoint', async () => {
    const hers = await LegacyHttp.open(gate.url, anna);
    const message = { jsonrpc: '2.0', id: 5, method: 'tools/list' };
    const stolen = await post(gate.url, message, { headers: { ...hers.headers, ...bert.headers } });
    assert.equal(stolen.status, 404);
    assert.equal((await request('DELETE', gate.url, { headers: { ...hers.headers, ...bert.headers } })).status, 404);
    assert.equal((await post(`${gate.origin}/mcp/probe`, message, { headers: hers.headers })).status, 404);
    assert.ok((await hers.request('tools/list')).tools.length);
  });

  test('a task belongs to the principal that started it, at every endpoint', async () => {
    const hers = await LegacyHttp.open(gate.url, anna), his = await LegacyHttp.open(gate.url, bert);
    const { task } = await hers.request('tools/call', { name: 'web__simulate-research-query', arguments: { topic: 'x' }, task: { ttl: 60_000 } });
    assert.match(task.taskId, /^web__/);
    assert.equal((await hers.request('tasks/get', { taskId: task.taskId })).taskId, task.taskId);
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/result']) {
      await assert.rejects(his.request(method, { taskId: task.taskId }), /Task not found/, method);
    }
    assert.equal((await his.request('tasks/list')).tasks.length, 0);
    const bare = await LegacyHttp.open(`${gate.origin}/mcp/web`, bert);
    await assert.rejects(bare.request('tasks/get', { taskId: task.taskId.slice('web__'.length) }), /Task not found/);
  });

  test('a cursor that the gate did not issue is refused', async () => {
    const his = await LegacyHttp.open(gate.url, bert);
    for (const cursor of ['', 'probe', `${'0'.repeat(32)}.probe`]) {
      await assert.rejects(his.request('tools/list', { cursor }), /-32602|cursor/, JSON.stringify(cursor));
    }
  });

  test('a modern request cannot use a task of another principal', async () => {
    const his = new ModernHttp(gate.url, { ...bert, capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
    assert.ok((await his.request('tools/list')).tools.length);
    await assert.rejects(his.request('tasks/get', { taskId: 'web__0123' }, { headers: { 'Mcp-Name': 'web__0123' } }), /Task not found/);
  });
});

describe('servers that imitate another server', () => {
  const refused = async (servers, why, more) => {
    const { code, stderr } = await cli(['serve', '--listen', '127.0.0.1:0', '--no-auth', '--config',
      tempFile('sallyport.yaml', JSON.stringify(settings(servers, more)))]);
    assert.equal(code, 3, stderr);
    assert.match(stderr, why);
  };
  const probe = program(probeCommand('x'));

  test('look-alike, ambiguous and reserved server names are refused', async () => {
    await refused({ paypal: probe, paypaI: probe }, /look alike/);
    await refused({ files: probe, 'fi1es': probe }, /look alike/);
    await refused({ a: probe, b: { ...probe, prefix: 'a' } }, /look alike/);
    await refused({ a__b: probe }, /separates it from tool names/);
    await refused({ a_: probe }, /separates it from tool names/);
    for (const name of ['servers', 'call']) await refused({ [name]: probe }, /is reserved/);
  });

  test('without prefixes a second server cannot take a name, not even while the first is down', async (t) => {
    const gate = use(t, await startServe({ config: settings({ first: program(probeCommand('first')), second: program(probeCommand('second')) },
      { prefix: 'never' }) }));
    const client = await LegacyHttp.open(gate.url);
    const { tools } = await client.request('tools/list');
    assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length);
    await client.call('exit', {}).catch(() => {});
    const answers = await Promise.all([1, 2, 3].map(() => client.exchange('tools/call', { name: 'mark', arguments: {} }).then(({ answer }) => JSON.stringify(answer))));
    assert.ok(answers.every((answer) => !answer.includes('second')), answers.join('\n'));
  });

  test('--no-auth is refused on addresses other than loopback', async () => {
    const { code, stderr } = await cli(['serve', '--listen', '0.0.0.0:0', '--no-auth', '--config', tempFile('sallyport.yaml', JSON.stringify(settings({ a: probe })))]);
    assert.equal(code, 3);
    assert.match(stderr, /loopback only/);
  });
});
