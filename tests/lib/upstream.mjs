// Scripted servers, for unusual behaviour.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { formatEvent } from './sse.mjs';
import { node } from './paths.mjs';
import { LEGACY } from './rpc.mjs';

const rawStdioFixture = fileURLToPath(new URL('../fixtures/raw-stdio.mjs', import.meta.url));

// handler(request, reply) runs for each request:
//   request  { method, url, headers, rawHeaders, body (text), json, index, gone (promise) }
//   reply    .json(value, {status, headers})  .status(code, headers)  .text(body, {status, headers})
//            .sse({status, headers}) → { send(data, {id, event, retry}), comment(), raw(), end(), drop() }
//            .raw(bytes)   bytes instead of a response      .drop()   reset the connection
export async function startUpstream(handler, { path = '/mcp' } = {}) {
  const requests = [];
  const sockets = new Set();
  const errors = [];
  const server = createServer(async (req, res) => {
    const chunks = [];
    try {
      for await (const chunk of req) chunks.push(chunk);
    } catch {
      return; // the caller hung up inside its own request
    }
    const body = Buffer.concat(chunks).toString('utf8');
    const request = {
      method: req.method, url: req.url, headers: req.headers, rawHeaders: req.rawHeaders, body,
      json: parseOrUndefined(body), index: requests.length, gone: once(res, 'close'),
    };
    requests.push(request);
    try {
      await handler(request, makeReply(req, res));
    } catch (error) {
      errors.push(error);
      res.destroy();
    }
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
    if (errors.length > 0) throw errors[0];
  };
  return {
    port, requests, sockets, url: `http://127.0.0.1:${port}${path}`, close,
    messages: () => requests.map((request) => request.json).filter(Boolean),
  };
}

function parseOrUndefined(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

function makeReply(req, res) {
  const whole = (content, type, { status = 200, headers = {} } = {}) =>
    res.writeHead(status, { 'Content-Type': type, ...headers }).end(content);
  return {
    json: (value, options) => whole(JSON.stringify(value), 'application/json', options),
    text: (value, options) => whole(value, 'text/plain', options),
    status: (code, headers = {}) => res.writeHead(code, headers).end(),
    raw: (bytes) => req.socket.write(bytes),
    drop: () => req.socket.resetAndDestroy(),
    sse({ status = 200, headers = {} } = {}) {
      res.writeHead(status, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', ...headers });
      res.flushHeaders();
      return {
        send: (data, fields) => res.write(formatEvent(data, fields)),
        comment: (text = '') => res.write(`: ${text}\n\n`),
        raw: (bytes) => res.write(bytes),
        end: () => res.end(),
        drop: () => req.socket.resetAndDestroy(),
      };
    },
  };
}

// A plain legacy MCP server as a handler. methods: { 'tools/call': (params, context) => result };
// a function that returns undefined has answered by itself through context.reply.
export function legacyServer({ tools = [], methods = {}, capabilities = { tools: {} }, sessionId, version = LEGACY } = {}) {
  const headers = sessionId ? { 'Mcp-Session-Id': sessionId } : {};
  const known = {
    initialize: () => ({ protocolVersion: version, capabilities, serverInfo: { name: 'scripted', version: '1' } }),
    ping: () => ({}),
    'tools/list': () => ({ tools }),
    ...methods,
  };
  return async (request, reply) => {
    if (request.method !== 'POST') return reply.status(405);
    const message = request.json;
    if (message === undefined) return reply.json(failure(null, -32700, 'Parse error'), { status: 400 });
    if (!('id' in message) || !('method' in message)) return reply.status(202);
    const method = known[message.method];
    if (!method) return reply.json(failure(message.id, -32601, 'Method not found'), { headers });
    try {
      const result = await method(message.params ?? {}, { request, reply, message });
      if (result !== undefined) reply.json({ jsonrpc: '2.0', id: message.id, result }, { headers });
    } catch (error) {
      if (typeof error.code !== 'number') throw error;
      reply.json(failure(message.id, error.code, error.message), { headers });
    }
  };
}

const failure = (id, code, message) => ({ jsonrpc: '2.0', id, error: { code, message } });

// The command line of a stdio server that runs the given function; see fixtures/raw-stdio.mjs
// for what it is handed. The function travels as text, so it sees nothing from outside itself
// but `args`, which must survive JSON.
export const rawStdio = (script, args = {}) => [node, rawStdioFixture, `${script}`, JSON.stringify(args)];
