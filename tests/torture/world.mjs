// A gate under load with a server outside of it that remembers every call that reached it: the oracle.
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { cli, legacyServer, policyFile, startServe, startUpstream, tempDir } from '../lib/index.mjs';

export const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
export const pick = (list) => list[Math.floor(Math.random() * list.length)];
export const between = (from, to) => from + Math.floor(Math.random() * (to - from));
export const LIMIT = 60;
const tool = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } });

export class Oracle {
  seen = new Map(); // mark → tool

  static async start() {
    const oracle = new Oracle();
    oracle.server = await startUpstream(legacyServer({ tools: ['echo', 'limited', 'pay', 'mail'].map(tool), methods: {
      'tools/call': ({ name, arguments: { mark } }) => {
        oracle.seen.set(mark, name);
        return { content: [{ type: 'text', text: name === 'mail' ? `${mark}@example.org` : mark }] };
      },
    } }));
    oracle.server.requests.push = () => 0; // a soak would keep every request
    return oracle;
  }
  marks(name) { return [...this.seen].filter(([, tool]) => !name || tool === name).map(([mark]) => mark); }
  close() { return this.server.close(); }
}

export const POLICY = { version: '1', default: 'allow', tools: { limited: { rules: [{ name: 'daily', rate_limit: `${LIMIT}/day` }] }, pay: { approve_if: [{ conditions: [] }] } } };
export const newHome = () => join(tempDir(), 'home');

export function configOf(oracle, { durable = false, policy = policyFile(POLICY), ...more } = {}) {
  return { version: '1', policy, code: { enabled: false }, audit: { durable, arguments: 'full' }, servers: { s: { url: oracle.server.url } }, ...more };
}

export async function startGate(config, home, env = {}) {
  return startServe({ config, env: { SALLYPORT_HOME: home, ...env }, args: ['--no-auth'] });
}

// POST /mcp/call; { ok, denied, status, text } and never a rejection.
export class Client {
  constructor(origin, token) {
    this.url = new URL('/mcp/call', origin);
    this.headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.agent = new Agent({ keepAlive: true, maxSockets: 64 });
  }
  call(tool, mark, { server = 's', timeout = 60_000 } = {}) {
    const body = JSON.stringify({ server, tool, args: { mark } });
    const began = performance.now();
    return new Promise((resolve) => {
      const over = (fields) => resolve({ ok: false, ms: performance.now() - began, ...fields });
      const req = httpRequest(this.url, { method: 'POST', agent: this.agent, timeout, headers: { ...this.headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) } }, (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (chunk) => { text += chunk; }).on('error', (error) => over({ broken: true, text: `${error.message}: ${text.slice(0, 80)}` })).on('end', () => {
          if (!res.complete) return over({ broken: true, text: 'cut off' });
          const denied = text.includes('POLICY DENIED');
          return over({ ok: res.statusCode === 200 && !text.includes('"isError":true') && text.includes('"content"'), denied, status: res.statusCode, text });
        });
      });
      req.on('timeout', () => req.destroy(new Error('no answer in time')));
      req.on('error', (error) => over({ lost: true, text: error.code ?? error.message }));
      req.end(body);
    });
  }
  close() { this.agent.destroy(); }
}

// `width` calls at a time until stop(); counts and latencies.
export class Load {
  answers = { ok: 0, denied: 0, refused: 0, lost: 0, broken: 0, empty: 0 };
  latencies = [];
  errors = new Set();
  running = true;
  static #next = 0;

  constructor(client, { width = 4, tools = ['echo', 'echo', 'limited'], server, each } = {}) {
    const walk = async () => {
      while (this.running) {
        const answer = await client().call(pick(tools), `m${threadId}-${Load.#next++}-`, { server: server?.() });
        this.count(answer);
        each?.(answer);
        if (!answer.ok && !answer.denied) await pause(5);
      }
    };
    this.done = Promise.all(Array.from({ length: width }, walk));
  }
  count(answer) {
    const kind = answer.ok ? 'ok' : answer.denied ? 'denied' : answer.lost ? 'lost' : answer.broken ? 'broken' : answer.text === '' ? 'empty' : 'refused';
    this.answers[kind] += 1;
    this.latencies.push(answer.ms);
    if (kind !== 'ok' && kind !== 'denied' && this.errors.size < 20) this.errors.add(`${kind}: ${answer.text?.slice(0, 160)}`);
  }
  async stop() { this.running = false; await this.done; return this; }
  quantile(q) { const sorted = this.latencies.toSorted((a, b) => a - b); return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0; }
}

// What the log of a home has: decisions by mark, and what verify says.
export async function readLog(home) {
  const env = { SALLYPORT_HOME: home };
  const [exported, verified] = [await cli(['audit', 'export'], { env }), await cli(['audit', 'verify', '--json'], { env })];
  const report = verified.stdout ? JSON.parse(verified.stdout) : { ok: false, error: verified.stderr };
  return { text: exported.stdout, has: (mark) => exported.stdout.includes(mark), report, code: verified.code,
    events: [...exported.stdout.matchAll(/"event":"(\w+)"/g)].map(([, event]) => event) };
}

export const missing = (log, marks) => marks.filter((mark) => !log.has(`"${mark}"`) && !log.has(mark));
