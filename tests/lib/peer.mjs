// One kind of client for every front, and every pair of front and server to try it on. A peer
// sends exact texts and keeps what comes back, text and all, with the stream it came on.
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProbe } from '../fixtures/probe.mjs';
import { Inbox } from './deadline.mjs';
import { startGate } from './gate.mjs';
import { post, request } from './http.mjs';
import { lineSplitter } from './lines.mjs';
import { node } from './paths.mjs';
import { initializeParams, isAnswerTo, modernHeaders, modernRequest, resultOf } from './rpc.mjs';
import { use } from './use.mjs';

const probeFile = fileURLToPath(new URL('../fixtures/probe.mjs', import.meta.url));
export const probeCommand = (mark = 'probe') => [node, probeFile, mark];

class Peer {
  #inbox = new Inbox();
  #id = 0;
  received = []; // { json, text, via } in the order of arrival; via names the stream

  take(text, via) {
    let json;
    try { json = JSON.parse(text); } catch { json = undefined; }
    const entry = { json, text, via };
    this.received.push(entry);
    this.#inbox.push(entry);
    return json;
  }

  ended() { this.#inbox.end(); }

  // The next message that fits, as an entry of .received; null when there can be none.
  entry(fits = () => true, { what = 'a message', ...options } = {}) {
    const last = () => this.received.slice(-3).map(({ text, via }) => `${via}: ${text.slice(0, 200)}`).join('\n');
    return this.#inbox.next(() => `${what} to ${this.constructor.name}; the last ones were\n${last()}\n`, { fits: ({ json }) => fits(json), ...options });
  }
  async next(fits, options) { return (await this.entry(fits, options))?.json; }

  message(method, params, id) { return { jsonrpc: '2.0', id, method, ...(params && { params }) }; }

  // The answer as an entry; the request may be given as an exact text with its id.
  async exchange(method, params, { id = ++this.#id, ...options } = {}) {
    const sent = await this.send(this.message(method, params, id), options);
    const missing = sent?.over?.then((text) => new Error(`${sent.status} without the answer ${JSON.stringify(id)} to ${method}: ${text}`));
    const what = `the answer ${JSON.stringify(id)} to ${method} ${JSON.stringify(params)?.slice(0, 100)}`;
    const entry = await this.entry((json) => isAnswerTo(id)(json ?? {}), { what, ...options, missing });
    if (!entry) throw new Error(`no answer to ${method}`);
    return entry;
  }

  async request(method, params, options) { return resultOf((await this.exchange(method, params, options)).json); }
  call(name, args = {}, { meta, ...options } = {}) {
    return this.request('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) }, options);
  }
  // Of a tool that answers with JSON in a text.
  async ask(name, args, options) { return JSON.parse((await this.call(name, args, options)).content[0].text); }
  notify(method, params) { return this.send({ jsonrpc: '2.0', method, ...(params && { params }) }); }
  respond(id, fields) { return this.send({ jsonrpc: '2.0', id, ...fields }); }

  async initialize({ capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }, version } = {}) {
    this.server = await this.request('initialize', initializeParams({ capabilities, version }), { id: 'init' });
    this.version = this.server.protocolVersion;
    await this.notify('notifications/initialized');
    return this;
  }
}

const asText = (message) => (typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));

export class StdioPeer extends Peer {
  constructor(gate) {
    super();
    this.gate = gate;
    gate.child.process.stdout.on('data', lineSplitter((line) => this.take(line, 'stdio')));
    gate.child.closed.then(() => this.ended());
  }
  async send(message) { this.gate.child.stdin.write(Buffer.concat([Buffer.from(asText(message)), Buffer.from('\n')])); }
}

export class ModernStdioPeer extends StdioPeer {
  message(method, params, id) { return modernRequest(id, method, params); }
  async initialize() { return this; }
}

// Legacy Streamable HTTP. .statuses are those of the POSTs, in order.
export class HttpPeer extends Peer {
  statuses = [];
  #posts = 0;
  constructor(url, { headers = {} } = {}) { super(); Object.assign(this, { url, extraHeaders: headers }); }

  headersFor() {
    return { ...(this.sessionId && { 'Mcp-Session-Id': this.sessionId }), ...(this.version && { 'MCP-Protocol-Version': this.version }), ...this.extraHeaders };
  }

  async send(message, { headers, ...options } = {}) {
    const response = await post(this.url, asText(message), { headers: { ...this.headersFor(message), ...headers }, ...options });
    this.statuses.push(response.status);
    this.sessionId ??= response.headers['mcp-session-id'];
    const via = `post ${++this.#posts}`;
    const reads = response.isEventStream ? this.follow(response, via, JSON.parse(asText(message)).id)
      : response.text().then((text) => { if (text) this.take(text, via); return text; });
    // Settles when nothing more will come: with the body, or why there is none. A refusal names no request.
    response.over = reads.then((text) => text ?? 'the stream ended', (error) => error.message);
    return response;
  }

  // The id of the last event that had one, and whether the answer to the request was among them.
  async pump(response, via, id) {
    let last, answered = false;
    for (let event; (event = await response.event({ timeout: 600_000 })) !== null;) {
      last = event.id ?? last;
      if (!event.data) continue;
      const json = this.take(event.data, via);
      answered ||= json && !('method' in json) && json.id === id;
    }
    return { last, answered };
  }

  // A stream that ends before the answer is taken up again, as the SDKs do.
  async follow(response, via, id) {
    for (let from; ;) {
      const { last = from, answered } = await this.pump(response, via, id);
      if (answered || last === undefined || response.error) return;
      from = last;
      response = await request('GET', this.url, { headers: { ...this.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': last } }).catch((error) => ({ error }));
      if (response.error || response.status !== 200) return;
    }
  }

  // The stream for what belongs to no call.
  async listen(options) {
    this.standing = await request('GET', this.url, { headers: { ...this.headersFor(), Accept: 'text/event-stream' }, ...options });
    this.pump(this.standing, 'get');
    return this.standing;
  }

  end() { return request('DELETE', this.url, { headers: this.headersFor() }); }
}

export class ModernHttpPeer extends HttpPeer {
  message(method, params, id) { return modernRequest(id, method, params); }
  headersFor(message) { return { ...(message?.method ? modernHeaders(message) : {}), ...this.extraHeaders }; }
  async initialize() { return this; }
}

// The transport of 2024: one stream, and POSTs that answer nothing.
export class SsePeer extends Peer {
  constructor(url, { headers = {} } = {}) { super(); Object.assign(this, { url, headers }); }

  async open() {
    this.stream = await request('GET', this.url, { headers: { Accept: 'text/event-stream', ...this.headers } });
    const first = await this.stream.event();
    if (first.event !== 'endpoint') throw new Error(`the first event is ${JSON.stringify(first)}`);
    this.endpoint = new URL(first.data, this.url).href;
    (async () => {
      for (let event; (event = await this.stream.event({ timeout: 600_000 })) !== null;) this.take(event.data, 'sse');
      this.ended();
    })();
    return this;
  }

  async send(message, { headers, ...options } = {}) {
    const response = await post(this.endpoint, asText(message), { headers: { ...this.headers, ...headers }, ...options });
    if (response.status !== 202) throw new Error(`POST to ${this.endpoint}: ${response.status} ${await response.text()}`);
    return response;
  }

  close() { this.stream.close(); }
}

/* ---- pairs ---- */

export async function peerFor(front, gate, options) {
  const peer = { stdio: () => new StdioPeer(gate), http: () => new HttpPeer(gate.url, options), sse: () => new SsePeer(gate.url, options).open(),
    'modern-stdio': () => new ModernStdioPeer(gate), 'modern-http': () => new ModernHttpPeer(gate.url, options) }[front]();
  return (await peer).initialize(options);
}

// A gate with that front and a probe behind it: { gate, peer, probe (when it runs in this process) }.
export async function pair(t, front, back, { initialize, peer: peerOptions, probe: probeOptions, ...gateOptions } = {}) {
  const behind = back === 'child' ? undefined : use(t, await startProbe(probeOptions));
  const target = back === 'child' ? { command: probeCommand() } : { upstream: back === 'sse' ? behind.sse : behind.url };
  const gate = use(t, await startGate({ transport: front.replace('modern-', ''), ...target, ...gateOptions }));
  const peer = await peerFor(front, gate, { ...initialize, ...peerOptions });
  return { gate, peer, behind, probe: behind?.probe };
}

// The same for a whole suite, opened before its tests and shared by them.
export function suitePair(front, back, options) {
  const world = {};
  const open = [];
  before(async () => {
    const opened = await pair({ after: (close) => open.push(close) }, front, back, options);
    Object.assign(world, opened);
  });
  after(async () => { for (const close of open) await close(); });
  return world;
}

// What the probe has seen since the mark was set.
export async function watch({ peer, probe }) {
  const all = async () => probe?.seen ?? peer.ask('seen');
  const from = (await all()).length;
  return async (method) => {
    const entries = (await all()).slice(from);
    return method ? entries.filter((entry) => entry.method === method) : entries;
  };
}

const cross = (fronts, backs) => fronts.flatMap((front) => backs.map((back) => [front, back]));
export const LEGACY_PAIRS = cross(['stdio', 'http', 'sse'], ['child', 'http', 'sse']);
export const MODERN_PAIRS = cross(['modern-stdio', 'modern-http'], ['child', 'http']);
export const ALL_PAIRS = [...LEGACY_PAIRS, ...MODERN_PAIRS];
