// JSON-RPC as MCP uses it, in both eras, over raw HTTP and over a child's stdio.
import { Inbox } from './deadline.mjs';
import { post, request } from './http.mjs';
import { lineSplitter } from './lines.mjs';
import { start } from './process.mjs';

export const LEGACY = '2025-11-25';
export const MODERN = '2026-07-28';

const META = 'io.modelcontextprotocol/';
const clientInfo = { name: 'sallyport-tests', version: '1.0.0' };

export const isRequest = (message) => 'method' in message && 'id' in message;
export const isNotification = (message) => 'method' in message && !('id' in message);
export const isAnswerTo = (id) => (message) => !('method' in message) && message.id === id;

export const initializeParams = ({ capabilities = {}, version = LEGACY } = {}) =>
  ({ protocolVersion: version, capabilities, clientInfo });

export const modernMeta = ({ capabilities = {}, version = MODERN, logLevel } = {}) => ({
  [`${META}protocolVersion`]: version,
  [`${META}clientCapabilities`]: capabilities,
  [`${META}clientInfo`]: clientInfo,
  ...(logLevel && { [`${META}logLevel`]: logLevel }),
});

// The headers that mirror the body of a modern request.
export function modernHeaders(message, { version = MODERN } = {}) {
  const name = message.params?.name ?? message.params?.uri;
  const named = ['tools/call', 'prompts/get', 'resources/read'].includes(message.method) && name !== undefined;
  const safe = named && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name) && !/^=\?base64\?.*\?=$/.test(name);
  return {
    'MCP-Protocol-Version': version,
    'Mcp-Method': message.method,
    ...(named && { 'Mcp-Name': safe ? name : `=?base64?${Buffer.from(name).toString('base64')}?=` }),
  };
}

export function modernRequest(id, method, params = {}, options) {
  const { _meta, ...rest } = params;
  return { jsonrpc: '2.0', id, method, params: { ...rest, _meta: { ...modernMeta(options), ..._meta } } };
}

export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(`${code} ${message}`);
    Object.assign(this, { code, data });
  }
}

export function resultOf(message) {
  if (!message) throw new Error('no answer');
  if (message.error) throw new RpcError(message.error);
  return message.result;
}

async function soleAnswer(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`HTTP ${response.status} without a JSON-RPC answer: ${JSON.stringify(text.slice(0, 300))}`);
  }
}

// A modern client: no state but its next id.
export class ModernHttp {
  #id = 0;

  constructor(url, { capabilities, headers = {} } = {}) {
    Object.assign(this, { url, capabilities, headers });
  }

  // The raw response; read it with .message(), .messages(), .json().
  send(method, params, { headers, id = ++this.#id, logLevel, ...options } = {}) {
    const message = modernRequest(id, method, params, { capabilities: this.capabilities, logLevel });
    return post(this.url, message, { headers: { ...modernHeaders(message), ...this.headers, ...headers }, ...options });
  }

  async exchange(method, params, options) {
    const response = await this.send(method, params, options);
    if (!response.isEventStream) return { response, answer: await soleAnswer(response), notifications: [] };
    const messages = await response.messages();
    return { response, answer: messages.find((message) => !('method' in message)), notifications: messages.filter(isNotification) };
  }

  async request(method, params, options) {
    return resultOf((await this.exchange(method, params, options)).answer);
  }

  call(name, args = {}, options) { return this.request('tools/call', { name, arguments: args }, options); }
}

// A legacy client with its session; onRequest answers what the server asks meanwhile.
export class LegacyHttp {
  #id = 0;

  static async open(url, { capabilities, version = LEGACY, headers, onRequest } = {}) {
    const client = new LegacyHttp(url, { headers, onRequest });
    const response = await post(url, client.message('initialize', initializeParams({ capabilities, version })), { headers });
    const [answer] = (await response.messages()).slice(-1);
    client.server = resultOf(answer);
    client.sessionId = response.headers['mcp-session-id'];
    client.version = client.server.protocolVersion;
    await client.notify('notifications/initialized');
    return client;
  }

  constructor(url, { headers = {}, onRequest } = {}) {
    Object.assign(this, { url, extraHeaders: headers, onRequest });
  }

  get headers() {
    return {
      ...(this.sessionId && { 'Mcp-Session-Id': this.sessionId }),
      ...(this.version && { 'MCP-Protocol-Version': this.version }),
      ...this.extraHeaders,
    };
  }

  message(method, params, id = ++this.#id) { return { jsonrpc: '2.0', id, method, ...(params && { params }) }; }

  post(body, { headers, ...options } = {}) { return post(this.url, body, { headers: { ...this.headers, ...headers }, ...options }); }

  notify(method, params) { return this.post({ jsonrpc: '2.0', method, ...(params && { params }) }); }

  send(method, params, options) { return this.post(this.message(method, params), options); }

  // The stream for messages that the server sends on its own.
  listen({ lastEventId, ...options } = {}) {
    const headers = { ...this.headers, Accept: 'text/event-stream', ...(lastEventId && { 'Last-Event-ID': lastEventId }) };
    return request('GET', this.url, { headers, ...options });
  }

  end() { return request('DELETE', this.url, { headers: this.headers }); }

  async exchange(method, params, options) {
    const message = this.message(method, params);
    const response = await this.post(message, options);
    if (!response.isEventStream) return { response, answer: await soleAnswer(response), notifications: [] };
    const notifications = [];
    for (;;) {
      const next = await response.message();
      if (next === null) throw new Error(`${method}: the stream ended without an answer`);
      if (isAnswerTo(message.id)(next)) return { response, answer: next, notifications };
      if (isNotification(next)) notifications.push(next);
      else await this.post({ jsonrpc: '2.0', id: next.id, ...(await answerFor(this.onRequest, next)) });
    }
  }

  async request(method, params, options) {
    return resultOf((await this.exchange(method, params, options)).answer);
  }

  call(name, args = {}, options) { return this.request('tools/call', { name, arguments: args }, options); }
}

async function answerFor(handler, message) {
  const result = await handler?.(message.method, message.params);
  return result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
}

// JSON-RPC lines on a child's stdin and stdout. Lines that are no JSON land in .noise.
export class StdioRpc {
  #id = 0;
  #inbox = new Inbox();
  noise = [];

  constructor(child, { onRequest } = {}) {
    this.child = child;
    this.onRequest = onRequest;
    child.process.stdout.on('data', lineSplitter((line) => this.#receive(line)));
    child.closed.then(() => this.#inbox.end());
  }

  #receive(line) {
    let message;
    try { message = JSON.parse(line); } catch { this.noise.push(line); return; }
    if (this.onRequest && isRequest(message)) {
      answerFor(this.onRequest, message).then((answer) => this.send({ jsonrpc: '2.0', id: message.id, ...answer }));
    } else {
      this.#inbox.push(message);
    }
  }

  raw(bytes) { this.child.stdin.write(bytes); }
  send(message) { this.raw(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`); }
  notify(method, params) { this.send({ jsonrpc: '2.0', method, ...(params && { params }) }); }

  // The next message that matches; null when the child has exited.
  next(fits, { timeout } = {}) {
    return this.#inbox.next(() => `a message from ${this.child.describe()}`, { fits, timeout });
  }

  async exchange(method, params, { id = ++this.#id, modern, timeout } = {}) {
    this.send(modern ? modernRequest(id, method, params, modern === true ? {} : modern)
      : { jsonrpc: '2.0', id, method, ...(params && { params }) });
    const answer = await this.next(isAnswerTo(id), { timeout });
    if (answer === null) throw new Error(`no answer to ${method}: ${this.child.describe()}`);
    return answer;
  }

  async request(method, params, options) { return resultOf(await this.exchange(method, params, options)); }

  async initialize(options) {
    this.server = await this.request('initialize', initializeParams(options));
    this.notify('notifications/initialized');
    return this.server;
  }

  call(name, args = {}, options) { return this.request('tools/call', { name, arguments: args }, options); }
}

export const startStdio = (command, args, { onRequest, ...options } = {}) =>
  new StdioRpc(start(command, args, options), { onRequest });
