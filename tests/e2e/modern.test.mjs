// The modern era over HTTP (protocol.md H9, U4): headers that mirror the body are checked where a
// client sends them and made where a server needs them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MODERN, modernHeaders, modernMeta, modernRequest, pair, post, request, suitePair, watch } from '../lib/index.mjs';

const META = 'io.modelcontextprotocol/';
const call = (name, args = {}, id = 1) => modernRequest(id, 'tools/call', { name, arguments: args });
const base64 = (text) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('H9 headers that mirror the body must agree with it', () => {
  const world = suitePair('modern-http', 'http');

  async function refused(message, headers, code, status = 400) {
    const seen = await watch(world);
    const response = await post(world.gate.url, message, { headers });
    const what = `${JSON.stringify(headers)} ${JSON.stringify(message).slice(0, 200)}`;
    assert.equal(response.status, status, what);
    const { error, id } = await response.json();
    assert.equal(error.code, code, what);
    assert.deepEqual(id, message.id ?? null, 'carries the id of the request');
    assert.equal((await seen()).length, 0, 'and never reached the server');
    return error;
  }

  test('headers that are missing or differ: -32020', async () => {
    const message = call('echo');
    const good = modernHeaders(message);
    for (const [name, value] of [
      ['Mcp-Method', undefined], ['Mcp-Method', 'tools/list'], ['Mcp-Method', 'TOOLS/CALL'], ['Mcp-Name', undefined], ['Mcp-Name', 'Echo'], ['Mcp-Name', 'other'],
      ['Mcp-Name', base64('other')], ['Mcp-Name', '=?base64?!!!?='], ['MCP-Protocol-Version', '2025-11-25'], ['MCP-Protocol-Version', undefined],
    ]) await refused(message, { ...good, [name]: value }, -32020);
    await refused(modernRequest(2, 'resources/read', { uri: 'a:b' }), { ...modernHeaders(modernRequest(2, 'resources/read', { uri: 'a:c' })) }, -32020);
    await refused(modernRequest(2, 'prompts/get', { name: 'p' }), { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'prompts/get' }, -32020);
  });

  test('_meta that is missing or wrong: -32602, unknown versions: -32022', async () => {
    const message = call('echo');
    const headers = modernHeaders(message);
    const without = (key) => {
      const copy = structuredClone(message);
      delete copy.params._meta[`${META}${key}`];
      return copy;
    };
    await refused(without('protocolVersion'), headers, -32602);
    await refused(without('clientCapabilities'), headers, -32602);
    await refused({ ...message, params: { name: 'echo', arguments: {} } }, headers, -32602);
    const future = modernRequest(3, 'tools/call', { name: 'echo', arguments: {} }, { version: '2099-01-01' });
    const error = await refused(future, { ...headers, 'MCP-Protocol-Version': '2099-01-01' }, -32022);
    assert.deepEqual(error.data, { supported: [MODERN], requested: '2099-01-01' });
  });

  test('duplicated mirrored headers are refused', async () => {
    const message = call('echo');
    for (const name of ['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version']) {
      const entries = [...Object.entries({ 'Content-Type': 'application/json', Accept: '*/*', ...modernHeaders(message) })];
      entries.push([name.toLowerCase(), modernHeaders(message)[name]]);
      assert.equal((await request('POST', world.gate.url, { headers: entries, body: message })).status, 400, name);
    }
  });

  test('unknown methods are 404 when the server says so; unknown tools 200', async (t) => {
    const { peer } = await pair(t, 'modern-http', 'child', {});
    const line = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}';
    await peer.exchange('tools/call', { name: 'line', arguments: { text: line } });
    assert.equal(peer.statuses.at(-1), 404);
    await peer.exchange('tools/call', { name: 'nope', arguments: {} });
    assert.equal(peer.statuses.at(-1), 200);
  });

  test('names that do not fit into a header are base64, and the case of header names does not matter', async () => {
    const message = modernRequest(1, 'prompts/get', { name: 'sp ace/é' });
    const response = await post(world.gate.url, message, { headers: { 'mcp-protocol-version': MODERN, 'MCP-METHOD': ' prompts/get ', 'mcp-NAME': base64('sp ace/é') } });
    assert.equal(response.status, 200);
    assert.equal((await response.json()).result.said.params.name, 'sp ace/é');
  });

  test('notifications need no mirrored headers, and responses are refused', async () => {
    const note = { jsonrpc: '2.0', method: 'notifications/x', params: { _meta: modernMeta() } };
    assert.equal((await post(world.gate.url, note, { headers: { 'MCP-Protocol-Version': MODERN } })).status, 202);
    assert.equal((await post(world.gate.url, { jsonrpc: '2.0', id: 1, result: {} }, { headers: { 'MCP-Protocol-Version': MODERN } })).status, 400);
  });

  test('the session header is ignored, and none is returned', async () => {
    const message = call('mark');
    const response = await post(world.gate.url, message, { headers: { ...modernHeaders(message), 'Mcp-Session-Id': 'x', 'Last-Event-ID': 'y' } });
    assert.equal(response.status, 200);
    assert.equal(response.headers['mcp-session-id'], undefined);
  });
});

describe('U4 arguments that are also sent as headers', () => {
  test('HTTP to HTTP: headers of the client pass, unknown ones too', async (t) => {
    const world = await pair(t, 'modern-http', 'http');
    const seen = await watch(world);
    await world.peer.call('region', { region: 'eu' }, { headers: { 'Mcp-Param-Region': 'eu', 'Mcp-Param-Unknown': 'u', 'X-Other': 'o' } });
    const [{ headers }] = await seen('tools/call');
    assert.equal(headers['mcp-param-region'], 'eu');
    assert.equal(headers['mcp-param-unknown'], 'u');
    assert.equal(headers['mcp-method'], 'tools/call');
    assert.equal(headers['mcp-name'], 'region');
    assert.equal(headers['mcp-protocol-version'], MODERN);
    assert.equal(headers['x-other'], undefined);
  });

  test('stdio to HTTP: made from the tool\'s schema, base64 where needed, left out for null', async (t) => {
    const world = await pair(t, 'modern-stdio', 'http');
    for (const [args, expected] of [
      [{ region: 'eu', count: 3, dry: false, plain: 'p' }, { region: 'eu', count: '3', dry: 'false' }],
      [{ region: 'Zürich' }, { region: base64('Zürich') }],
      [{ region: ' lead' }, { region: base64(' lead') }],
      [{ region: 'a\r\nInjected: 1' }, { region: base64('a\r\nInjected: 1') }],
      [{ region: base64('x') }, { region: base64(base64('x')) }],
      [{ region: null, count: -9007199254740991, dry: true }, { count: '-9007199254740991', dry: 'true' }],
      [{ region: '' }, { region: '' }],
    ]) {
      const seen = await watch(world);
      await world.peer.call('region', args);
      const [{ headers }] = await seen('tools/call');
      const made = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-')).map(([name, value]) => [name.slice(10), value]));
      if (expected.region === '') assert.ok(['', undefined, '=?base64??='].includes(made.region));
      else assert.deepEqual(made, expected, JSON.stringify(args));
      assert.equal(headers.injected, undefined);
      assert.deepEqual([headers['mcp-method'], headers['mcp-name'], headers['mcp-protocol-version']], ['tools/call', 'region', MODERN]);
    }
    const seen = await watch(world);
    for (const [method, params] of [['prompts/get', { name: 'sp ace/é ' }], ['resources/read', { uri: 'test://ü' }]]) {
      await world.peer.request(method, params);
      assert.equal((await seen(method))[0].headers['mcp-name'], base64(params.name ?? params.uri));
    }
  });

  test('HTTP to stdio: checked by the gate, as the server cannot see them', async (t) => {
    const { peer } = await pair(t, 'modern-http', 'child');
    for (const [args, headers, good] of [
      [{ region: 'eu' }, { 'Mcp-Param-Region': 'eu' }, true], [{ region: 'eu' }, { 'Mcp-Param-Region': 'us' }, false], [{ region: 'eu' }, {}, false],
      [{ region: 'Zürich' }, { 'Mcp-Param-Region': base64('Zürich') }, true], [{ region: 'Zürich' }, { 'Mcp-Param-Region': base64('Zurich') }, false],
      [{ count: 3 }, { 'Mcp-Param-Count': '3' }, true], [{ count: 3 }, { 'Mcp-Param-Count': '4' }, false], [{ dry: true }, { 'Mcp-Param-Dry': 'true' }, true],
      [{ dry: true }, { 'Mcp-Param-Dry': 'false' }, false], [{}, {}, true], [{}, { 'Mcp-Param-Region': 'eu' }, false], [{ region: null }, {}, true],
      [{ plain: 'x' }, { 'Mcp-Param-Plain': 'whatever' }, true],
    ]) {
      const { json } = await peer.exchange('tools/call', { name: 'region', arguments: args }, { headers });
      const what = `${JSON.stringify(args)} ${JSON.stringify(headers)}`;
      assert.equal(json.error?.code, good ? undefined : -32020, what);
      assert.equal(peer.statuses.at(-1), good ? 200 : 400, what);
    }
  });

  test('U8 pages of the list are followed where the gate has to know it; a cursor that does not advance ends', async (t) => {
    const world = await pair(t, 'modern-stdio', 'http', { probe: { pageSize: 3 } });
    const seen = await watch(world);
    await world.peer.call('region', { region: 'eu' });
    assert.equal((await seen('tools/call'))[0].headers['mcp-param-region'], 'eu');
    assert.ok((await seen('tools/list')).length > 5);
    const stuck = { 'tools/list': () => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [], nextCursor: '' }) };
    const { peer } = await pair(t, 'modern-stdio', 'http', { probe: { overrides: stuck } });
    await peer.call('region', { region: 'eu' });
  });

  test('a changed list of tools is fetched again', async (t) => {
    const world = await pair(t, 'modern-stdio', 'http', { probe: { pageSize: 7 } });
    const { peer, probe } = world;
    await peer.call('echo', { zone: 'a' });
    peer.send(peer.message('subscriptions/listen', { notifications: { toolsListChanged: true } }, 'listen'));
    await probe.until(({ listeners }) => listeners.size === 1);
    probe.extraTools = [{ name: 'zoned', inputSchema: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } } } }];
    await peer.call('change');
    await peer.next((json) => json?.method === 'notifications/tools/list_changed');
    const seen = await watch(world);
    await peer.exchange('tools/call', { name: 'zoned', arguments: { zone: 'b' } });
    assert.equal((await seen('tools/call'))[0].headers['mcp-param-zone'], 'b');
  });
});
