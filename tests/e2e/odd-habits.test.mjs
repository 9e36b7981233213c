// Habits of servers and clients that clients and servers put up with: a session that works directly works through the gate, and says the same.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { HttpConnection, LegacyHttp, StdioPeer, policyFile, rawStdio, request, startGate, startServe, use } from '../lib/index.mjs';

const TOOLS = [
  { name: 'add', title: null, description: null, inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { a: { type: 'integer' } } }, annotations: null, _meta: null },
  { name: 'bare', inputSchema: { type: 'object' }, outputSchema: null, icons: [] },
];
const CALLS = [['add', { a: 1 }], ['bare', undefined]];

// HTTP/1.0 answers that end with the connection, with CRLF in the JSON and blanks around it; a charset and capitals in the type; members that are
// null; 204, or 200 without a body, for notifications; 404 for the standing stream.
async function startCareless(t) {
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    if (req.method !== 'POST') return res.writeHead(req.method === 'GET' ? 404 : 501).end();
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return res.writeHead(method.endsWith('initialized') ? 204 : 200).end();
    const result = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: null }, prompts: null }, serverInfo: { name: 'careless', version: '' }, instructions: null },
      'tools/list': { tools: TOOLS, nextCursor: null, _meta: {} },
      'tools/call': { content: [{ type: 'text', text: `${params?.name} ${JSON.stringify(params?.arguments ?? {})}`, annotations: null }], isError: null, structuredContent: null },
    }[method];
    const message = result ? { id, result, jsonrpc: '2.0' } : { jsonrpc: '2.0', error: { message: '', code: -32601, data: null }, id };
    const session = method === 'initialize' ? 'mcp-SESSION-id:a-b.c~!\r\n' : '';
    req.socket.end(`HTTP/1.0 200\r\nCONTENT-TYPE: Application/JSON;Charset="UTF-8"\r\n${session}X-Empty:\r\n\r\n\r\n\t${JSON.stringify(message, null, 2).replaceAll('\n', '\r\n')}\r\n\r\n`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  use(t, { stop: () => { server.closeAllConnections(); server.close(); } });
  return `http://127.0.0.1:${server.address().port}/mcp`;
}

// CR and blanks around its lines, a byte-order mark, lines before the first message; a ping with the id of the client's request, a log message before
// the answer to initialize, ids that come back as 7.0.
const chatty = rawStdio(async (io) => {
  const line = (value) => io.raw(`\r\n  ${JSON.stringify(value)}  \r\n`);
  await io.raw('\ufeffStarting up...\r\n[]\r\n"ready"\r\n');
  for (let m; (m = await io.message()) !== null;) {
    if (!('id' in m) || !('method' in m)) continue;
    if (m.method === 'initialize') {
      await line({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'hello' } });
      await line({ jsonrpc: '2.0', id: m.id, method: 'ping' });
      await line({ jsonrpc: '2.0', id: m.id, result: { protocolVersion: '2024-11-05', capabilities: { tools: {}, logging: null }, serverInfo: { name: 'chatty', version: '0' } } });
    } else if (m.method === 'tools/list') await line({ jsonrpc: '2.0', id: m.id, result: { tools: io.args.tools } });
    else if (m.method === 'tools/call') await io.raw(`{"id":${m.id}.0,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":${JSON.stringify(`${m.params.name} ${JSON.stringify(m.params.arguments ?? {})}`)}}]}}\r\n`);
    else await line({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'no' } });
  }
}, { tools: TOOLS });

async function drive(client, prefix = '') {
  const { tools } = await client.request('tools/list', {});
  assert.deepEqual(tools.map(({ name }) => name), TOOLS.map(({ name }) => prefix + name));
  for (const [name, args] of CALLS) {
    const { content, isError } = await client.request('tools/call', { name: prefix + name, ...(args !== undefined && { arguments: args }) });
    assert.deepEqual([content[0].text, Boolean(isError)], [`${name} ${JSON.stringify(args ?? {})}`, false]);
  }
  await assert.rejects(client.request('prompts/list', {}), { code: -32601 });
}

describe('servers', () => {
  test('careless, over HTTP', async (t) => {
    const url = await startCareless(t);
    await drive(await LegacyHttp.open(url));
    await drive(await LegacyHttp.open(use(t, await startGate({ upstream: url })).url));
    await drive(await new StdioPeer(use(t, await startGate({ transport: 'stdio', upstream: url }))).initialize());
    const many = use(t, await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { s: { url } } } }));
    await drive(await LegacyHttp.open(`${many.url}/s`));
    assert.deepEqual((await (await LegacyHttp.open(many.url)).request('tools/list')).tools.map(({ name }) => name), ['s__add', 's__bare']);
  });

  test('chatty, on stdio', async (t) => {
    await drive(await LegacyHttp.open(use(t, await startGate({ command: chatty })).url));
    const gate = use(t, await startGate({ transport: 'stdio', command: chatty }));
    await drive(await new StdioPeer(gate).initialize());
    assert.deepEqual(gate.rpc.noise, []);
  });
});

describe('clients', () => {
  test('ids 1 and "1" under way together, members in any order, unknown ones, CR before LF on stdio', async (t) => {
    const gate = use(t, await startGate({ transport: 'stdio', command: chatty }));
    const peer = await new StdioPeer(gate).initialize();
    const ids = [1, '1', 0, '0', -1, ''];
    for (const id of ids) await peer.send(`  {"trace":null,"params":{"_meta":{},"arguments":{"id":${JSON.stringify(id)}},"name":"add"},"method":"tools/call","id":${JSON.stringify(id)},"jsonrpc":"2.0"}\r`);
    for (const id of ids) {
      const { result } = await peer.next((json) => json?.id === id && json.result);
      assert.equal(result.content[0].text, `add ${JSON.stringify({ id })}`);
    }
  });

  test('over HTTP: a body in chunks that begins with blank lines, header names in capitals, Accept with parameters, a query, DELETE twice', async (t) => {
    const gate = use(t, await startGate({ command: chatty }));
    const client = await LegacyHttp.open(gate.url);
    const connection = await HttpConnection.open(gate.url);
    const headers = { 'MCP-SESSION-ID': client.sessionId, 'CONTENT-TYPE': 'application/json;charset=utf-8', ACCEPT: 'text/event-stream; q=0.5, application/json ; q=1', 'X-Unknown': '' };
    const text = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'add', arguments: {} } });
    connection.send('POST', { path: '/mcp?client=odd', headers, chunks: ['\r\n\n ', ...text.match(/.{1,7}/gs), '\n'] });
    const [answer] = (await (await connection.response()).messages()).slice(-1);
    assert.deepEqual([answer.id, answer.result.content[0].text], [5, 'add {}']);
    connection.close();
    for (const status of [200, 404]) assert.equal((await request('DELETE', gate.url, { headers: { 'mcp-session-ID': client.sessionId } })).status, status);
  });
});
