// Every endpoint of a gate with the servers `a` and `b`, and what each of them requires.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.mjs';

const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };

// Every operation of the admin API, as its document has them. The callback has a proof of its own: tests/e2e/admin.test.mjs.
function apiEndpoints() {
  const { paths } = JSON.parse(readFileSync(join(root, 'schemas/openapi.json'), 'utf8'));
  const rows = Object.entries(paths).flatMap(([path, operations]) => Object.entries(operations).filter(([, { security }]) => !security).map(([method, { 'x-roles': roles }]) =>
    [method.toUpperCase(), path.replace('{server}', 'a').replace('{name}', 'only-a').replace(/\{\w+\}/, 'nosuch'), roles.filter((role) => role !== 'admin'), ...(method === 'post' ? [{ name: 'mallory' }] : [])]));
  assert.ok(rows.length >= 17);
  return rows;
}

// [method, path, required]: a server, any, a role, or nothing.
const init = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
export const ENDPOINTS = [
  ['POST', '/mcp', 'any', init], ['GET', '/mcp', 'any'], ['DELETE', '/mcp', 'any'],
  ['POST', '/mcp/a', 'a', init], ['GET', '/mcp/a', 'a'], ['DELETE', '/mcp/a', 'a'],
  ['POST', '/mcp/b', 'b', init], ['GET', '/mcp/b', 'b'], ['DELETE', '/mcp/b', 'b'],
  ['POST', '/message?sessionId=x', 'any', ping], ['POST', '/message', 'any', ping],
  ['GET', '/mcp/servers', 'any'], ['GET', '/mcp/a/tools', 'a'], ['GET', '/mcp/b/tools', 'b'],
  ['GET', '/sse', 'any'], ['POST', '/mcp/call', 'any', { server: 'nosuch', tool: 'x', args: {} }],
  ['GET', '/nowhere', 'any'], ['POST', '/mcp/nosuch', 'any', init], ['GET', '/mcp/../mcp/a', 'any'], ['GET', '//mcp', 'any'],
  ['GET', '/sse/a', 'a'], ['GET', '/sse/b', 'b'], ['GET', '/ui/', 'open'], ['GET', '/ui/app.js', 'open'], ['GET', '/metrics', 'open'],
  ...apiEndpoints(),
  ['GET', '/healthz', 'open'], ['GET', '/readyz', 'open'], ['GET', '/.well-known/oauth-protected-resource', 'open'], ['GET', '/.well-known/oauth-protected-resource/mcp', 'open'],
  ['GET', '/.well-known/oauth-protected-resource/mcp/a', 'open'],
];

// 401, 403, or 'in': the client was authorised, whatever the endpoint answers then.
export function expected(may, needs) {
  if (needs === 'open') return 'in';
  if (may === null) return 401;
  if (may === 'refused') return 403;
  if (needs === 'any') return 'in';
  if (Array.isArray(needs)) return may.roles.some((role) => role === 'admin' || needs.includes(role)) ? 'in' : 403;
  return may.servers.includes(needs) ? 'in' : 403;
}
