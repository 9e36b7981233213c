// HTTP/1.1 by hand: exact bytes out, split wherever a test likes; status, headers, body and
// events in, as they arrive. Nothing is normalised and nothing is retried.
import { connect } from 'node:net';
import { once } from 'node:events';
import { DEADLINE_MS, Inbox, within } from './deadline.mjs';
import { SseParser } from './sse.mjs';

export class HttpConnection {
  #chunks = [];
  #length = 0;
  #wake = [];
  #ended = false;

  static async open(url) {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), noDelay: true, allowHalfOpen: true });
    await within(once(socket, 'connect'), `connecting to ${url}`);
    return new HttpConnection(socket, url);
  }

  constructor(socket, url) {
    this.socket = socket;
    this.url = url;
    const wake = () => { for (const resolve of this.#wake.splice(0)) resolve(); };
    socket.on('data', (chunk) => { this.#chunks.push(chunk); this.#length += chunk.length; wake(); });
    socket.on('error', (error) => { this.error = error; });
    socket.on('end', () => { this.#ended = true; wake(); });
    this.closed = new Promise((resolve) => {
      socket.on('close', () => { this.#ended = true; wake(); resolve(this.error); });
    });
  }

  write(bytes) { this.socket.write(bytes); return this; }

  // A segment per piece: the next piece leaves only after the kernel took the one before.
  async trickle(bytes, size = 1) {
    const data = Buffer.from(bytes);
    for (let i = 0; i < data.length; i += size) {
      await new Promise((resolve) => { this.socket.write(data.subarray(i, i + size), resolve); });
      await new Promise(setImmediate);
    }
    return this;
  }

  send(method, { path, headers = {}, body, chunks } = {}) {
    return this.write(formatRequest(method, this.url, { path, headers, body, chunks }));
  }

  // One way only: the peer sees our end, and may still answer.
  endWriting() { this.socket.end(); return this; }

  close() { this.socket.destroy(); }

  // RST instead of FIN.
  reset() { this.socket.resetAndDestroy(); }

  async #more() {
    if (this.#ended) return false;
    await new Promise((resolve) => { this.#wake.push(resolve); });
    return true;
  }

  #flat() {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0];
  }

  #take(count) {
    const all = this.#flat();
    this.#chunks = [all.subarray(count)];
    this.#length -= count;
    return all.subarray(0, count);
  }

  // Bytes up to and including the mark; null when the connection ends before any.
  async readUntil(mark) {
    for (;;) {
      const index = this.#flat().indexOf(mark);
      if (index >= 0) return this.#take(index + mark.length);
      if (!await this.#more()) {
        if (this.#length === 0) return null;
        throw new Error(`connection ended inside ${JSON.stringify(this.#flat().toString('latin1').slice(0, 200))}`);
      }
    }
  }

  async readExactly(count) {
    while (this.#length < count) {
      if (!await this.#more()) throw new Error(`connection ended ${count - this.#length} bytes early`);
    }
    return this.#take(count);
  }

  // Whatever is there, at least one byte; null at the end.
  async readSome(limit = Infinity) {
    while (this.#length === 0) if (!await this.#more()) return null;
    return this.#take(Math.min(limit, this.#length));
  }

  // The next response, its headers read and its body still to come. Interim (1xx) ones are
  // collected in .interim. null when the peer closed without answering.
  async response({ timeout = DEADLINE_MS, head = false } = {}) {
    const interim = [];
    for (;;) {
      const block = await within(this.readUntil('\r\n\r\n'), `response headers from ${this.url}`, timeout);
      if (block === null) return null;
      const response = new HttpResponse(this, block.toString('latin1'), head);
      if (response.status >= 200) return Object.assign(response, { interim });
      interim.push(response.status);
    }
  }
}

export class HttpResponse {
  #events = new Inbox();
  #body;
  #streaming = false;

  constructor(connection, block, head) {
    this.connection = connection;
    this.rawHeaders = block;
    const [statusLine, ...lines] = block.trimEnd().split('\r\n');
    const match = /^(HTTP\/1\.[01]) (\d{3}) ?(.*)$/.exec(statusLine);
    if (!match) throw new Error(`bad status line ${JSON.stringify(statusLine)}`);
    [, this.version, , this.reason] = match;
    this.status = Number(match[2]);
    this.headers = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      this.headers[name] = name in this.headers ? `${this.headers[name]}, ${value}` : value;
    }
    this.bodyless = head || this.status < 200 || this.status === 204 || this.status === 304;
  }

  get contentType() { return (this.headers['content-type'] ?? '').split(';')[0].trim(); }
  get isEventStream() { return this.contentType === 'text/event-stream'; }

  // The body piece by piece, its framing removed.
  async* pieces() {
    if (this.bodyless) return;
    const { connection } = this;
    if (/(^|,)\s*chunked\s*$/i.test(this.headers['transfer-encoding'] ?? '')) {
      for (;;) {
        const sizeLine = await connection.readUntil('\r\n');
        if (sizeLine === null) throw new Error('connection ended between chunks');
        const size = Number.parseInt(sizeLine.toString('latin1'), 16);
        if (Number.isNaN(size)) throw new Error(`bad chunk size ${JSON.stringify(sizeLine.toString('latin1'))}`);
        if (size > 0) yield await connection.readExactly(size);
        const end = await connection.readExactly(2);
        if (end.toString('latin1') !== '\r\n') throw new Error('chunk without its end');
        if (size === 0) return;
      }
    }
    if ('content-length' in this.headers) {
      for (let left = Number(this.headers['content-length']); left > 0;) {
        const piece = await connection.readSome(left);
        if (piece === null) throw new Error(`connection ended ${left} bytes before the end of the body`);
        left -= piece.length;
        yield piece;
      }
      return;
    }
    for (let piece; (piece = await connection.readSome()) !== null;) yield piece;
  }

  async bytes({ timeout = DEADLINE_MS } = {}) {
    const readAll = async () => {
      const all = [];
      for await (const piece of this.pieces()) all.push(piece);
      return Buffer.concat(all);
    };
    this.#body ??= readAll();
    return within(this.#body, `body from ${this.connection.url}`, timeout);
  }

  async text(options) { return (await this.bytes(options)).toString('utf8'); }
  async json(options) { return JSON.parse(await this.text(options)); }

  // From the first call on the body is read as events; .comments and .ended grow meanwhile.
  #stream() {
    if (this.#streaming) return;
    this.#streaming = true;
    const parser = new SseParser((event) => this.#events.push(event));
    this.comments = parser.comments;
    const decoder = new TextDecoder();
    const pump = async () => {
      for await (const piece of this.pieces()) parser.push(decoder.decode(piece, { stream: true }));
    };
    this.ended = pump().catch((error) => error).finally(() => this.#events.end());
  }

  // The next event that fits, or null when the stream is over.
  event({ fits, timeout } = {}) {
    this.#stream();
    return this.#events.next(`an event from ${this.connection.url}`, { fits, timeout });
  }

  // The next event that carries a JSON-RPC message; priming events have no data.
  async message({ fits = () => true, timeout } = {}) {
    const event = await this.event({
      timeout, fits: ({ data }) => Boolean(data) && fits(JSON.parse(data)),
    });
    return event && JSON.parse(event.data);
  }

  // Every message of the stream, or the single one of a JSON body.
  async messages(options) {
    if (!this.isEventStream) {
      const text = await this.text(options);
      return text ? [JSON.parse(text)] : [];
    }
    const all = [];
    for (let message; (message = await this.message(options)) !== null;) all.push(message);
    return all;
  }

  close() { this.connection.close(); }
}

export function formatRequest(method, url, { path, headers = {}, body, chunks } = {}) {
  const target = new URL(url);
  const lines = [`${method} ${path ?? target.pathname + target.search} HTTP/1.1`];
  const entries = Array.isArray(headers) ? headers : Object.entries(headers);
  const has = (name) => entries.some(([key]) => key.toLowerCase() === name);
  if (!has('host')) lines.push(`Host: ${target.host}`);
  for (const [name, value] of entries) if (value !== undefined) lines.push(`${name}: ${value}`);
  const framed = has('content-length') || has('transfer-encoding');
  const content = body === undefined || Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
  if (chunks && !framed) lines.push('Transfer-Encoding: chunked');
  else if (content !== undefined && !framed) lines.push(`Content-Length: ${Buffer.byteLength(content)}`);
  const parts = [Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')];
  for (const chunk of chunks ?? []) {
    const data = Buffer.from(chunk);
    parts.push(Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n'));
  }
  if (chunks) parts.push(Buffer.from('0\r\n\r\n'));
  else if (content !== undefined) parts.push(Buffer.from(content));
  return Buffer.concat(parts);
}

// One request on a connection of its own.
export async function request(method, url, { timeout, split, ...options } = {}) {
  const connection = await HttpConnection.open(url);
  const bytes = formatRequest(method, url, { ...options, headers: withClose(options.headers) });
  if (split) await connection.trickle(bytes, split);
  else connection.write(bytes);
  connection.socket.on('end', () => connection.socket.end()); // nothing more will be sent: both ends are free
  const response = await connection.response({ timeout, head: method === 'HEAD' });
  if (response === null) throw new Error(`${method} ${url}: closed without an answer`);
  return response;
}

function withClose(headers = {}) {
  const entries = Array.isArray(headers) ? headers : Object.entries(headers);
  return entries.some(([name]) => name.toLowerCase() === 'connection') ? entries : [...entries, ['Connection', 'close']];
}

export const post = (url, body, { headers = {}, ...options } = {}) => request('POST', url, {
  body,
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
  ...options,
});
