// Clients that leave at any moment, of every endpoint: nothing of theirs is used afterwards, and the gate answers the next one.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { cli, legacyServer, policyFile, request, startServe, startUpstream, tempDir, use } from '../lib/index.mjs';

const DELAYS_MS = [0, 1, 5, 25];
const AT_ONCE = 12;
const schema = JSON.parse(readFileSync(new URL('../../schemas/openapi.json', import.meta.url), 'utf8'));
const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'leaver', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} };

// Requests of the admin API as its description has them, but for those that stop the gate or end our session.
const ofApi = Object.entries(schema.paths)
  .filter(([path]) => path.startsWith('/api/v1/') && !/stop|session/.test(path))
  .flatMap(([path, methods]) => Object.keys(methods).filter((method) => /^(get|post|put|patch|delete)$/.test(method))
    .map((method) => ({ line: `${method.toUpperCase()} ${path.replace(/\{[^}]+\}/g, 'bank')}`, body: method === 'get' || method === 'delete' ? '' : '{}' })));
const ofMcp = ['/mcp', '/mcp/bank'].flatMap((path) => [
  ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: meta['io.modelcontextprotocol/clientInfo'] }],
  ['tools/list', { _meta: meta }], ['tools/call', { name: path === '/mcp' ? 'bank__pay' : 'pay', arguments: {}, _meta: meta }], ['subscriptions/listen', { _meta: meta }],
].map(([method, params]) => ({
  line: `POST ${path}`, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  headers: ['Accept: application/json, text/event-stream', ...(params._meta ? ['MCP-Protocol-Version: 2026-07-28', `Mcp-Method: ${method}`] : []), ...(params.name ? [`Mcp-Name: ${params.name}`] : [])],
})));
const streams = ['/sse', '/mcp', '/api/v1/events', '/readyz', '/metrics', '/ui/'].map((path) => ({ line: `GET ${path}`, body: '', headers: ['Accept: text/event-stream'] }));

for (const workers of [1, 2]) {
  test(`clients that leave, ${workers} worker${workers > 1 ? 's' : ''}`, async (t) => {
    const env = { SALLYPORT_HOME: join(tempDir('leaving'), 'home') };
    const up = use(t, await startUpstream(legacyServer({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }], methods: { 'tools/call': () => new Promise((done) => { setTimeout(() => done({ content: [] }), 10); }) } })));
    const token = (await cli(['grants', 'create', 'boss', '--role', 'admin'], { env })).stdout.trim();
    const gate = use(t, await startServe({ config: { version: '1', workers, policy: policyFile(), servers: { bank: { url: up.url } }, code: { enabled: false } }, args: [], env }));
    const { hostname, port } = new URL(gate.origin);
    const signIn = await request('POST', `${gate.origin}/api/v1/session`, { headers: { Authorization: `Bearer ${token}`, 'Sallyport-Console': '1', Origin: gate.origin } });
    const cookie = `${signIn.headers['set-cookie']}`.split(';')[0];
    const fromPage = ['Sallyport-Console: 1', `Origin: ${gate.origin}`];
    const credentials = [[`Authorization: Bearer ${token}`], [`Cookie: ${cookie}`, ...fromPage], [`Cookie: ${cookie.slice(0, -3)}xyz`, ...fromPage]];

    const leave = ({ line, body, headers = [], shown, delay, cut }) => new Promise((done) => {
      const framing = body ? ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`] : [];
      const text = `${[`${line} HTTP/1.1`, `Host: ${hostname}:${port}`, ...headers, ...shown, ...framing].join('\r\n')}\r\n\r\n${body}`;
      const socket = connect(port, hostname, () => {
        socket.write(text.slice(0, Math.ceil(text.length * cut)));
        setTimeout(() => (delay % 2 ? socket.destroy() : socket.resetAndDestroy()), delay);
      });
      socket.on('close', done).on('error', () => {}).resume();
    });
    const shots = [...ofApi, ...ofMcp, ...streams].flatMap((what) => credentials.flatMap((shown) => DELAYS_MS.flatMap((delay) => [1, 0.8].map((cut) => ({ ...what, shown, delay, cut })))));
    assert.ok(shots.length > 1000, `${shots.length} requests`);
    await Promise.all(Array.from({ length: AT_ONCE }, async (_, first) => { for (let i = first; i < shots.length; i += AT_ONCE) await leave(shots[i]); }));
    for (const shown of [{ Authorization: `Bearer ${token}` }, { Cookie: cookie }]) assert.equal((await request('GET', `${gate.origin}/api/v1/status`, { headers: shown })).status, 200);
    assert.doesNotMatch(gate.stderr, /Sanitizer|worker \d+ .* ended with/);
  });
}
