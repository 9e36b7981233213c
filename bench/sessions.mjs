// What `serve` needs for many sessions over many servers. Prints a line a figure, and what it should be.
//
//   bench/sessions [--live 1000] [--passing 10000] [--servers 20]
//
// Throughput is the processor time of the gate for a call, with eight servers and with one, so that the client's and the servers' own
// time, which share the machine, do not count.
import { readFileSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { LEGACY, LegacyHttp, descendants, fdCount, initializeParams, legacyServer, policyFile, request, rssBytes, startServe, startUpstream, within } from '../tests/lib/index.mjs';

const { values } = parseArgs({ options: { live: { type: 'string', default: '1000' }, passing: { type: 'string', default: '10000' }, servers: { type: 'string', default: '20' } } });
const [LIVE, PASSING, SERVERS] = [values.live, values.passing, values.servers].map(Number);
const echo = { name: 'echo', description: 'says it again', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };
const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;

async function serve(count) {
  const upstreams = [];
  for (let i = 0; i < count; i++) {
    upstreams.push(await startUpstream(legacyServer({ tools: [echo], sessionId: `s${i}`, methods: { 'tools/call': ({ arguments: { text } }) => ({ content: [{ type: 'text', text }] }) } })));
  }
  const servers = Object.fromEntries(upstreams.map(({ url }, i) => [`server${i}`, { url }]));
  const gate = await startServe({ config: { version: '1', policy: policyFile(), servers, code: { enabled: false } } });
  return Object.assign(gate, { async end() { await gate.stop(); for (const upstream of upstreams) await upstream.close(); } });
}

async function inGroups(count, size, work) {
  for (let i = 0; i < count; i += size) await Promise.all(Array.from({ length: Math.min(size, count - i) }, (_, k) => work(i + k)));
}

// A client that keeps few connections for many sessions.
async function send(gate, method, headers, message) {
  const response = await fetch(gate.url, { method, body: message && JSON.stringify({ jsonrpc: '2.0', ...message }),
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return { text, id: response.headers.get('mcp-session-id') };
}

async function use(gate, n) {
  const { id } = await send(gate, 'POST', {}, { id: 1, method: 'initialize', params: initializeParams() });
  const headers = { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': LEGACY };
  await send(gate, 'POST', headers, { method: 'notifications/initialized' });
  const { text } = await send(gate, 'POST', headers, { id: 2, method: 'tools/call', params: { name: `server${n % SERVERS}__echo`, arguments: { text: `number ${n}` } } });
  if (!text.includes(`number ${n}`)) throw new Error(text);
  return { end: () => send(gate, 'DELETE', headers) };
}

async function settled(gate, fds) {
  const look = async () => { while (fdCount(gate.pid) > fds) await (await request('GET', `${gate.origin}/healthz`)).text(); };
  await within(look(), () => `${fdCount(gate.pid)} descriptors, not ${fds}`, 120_000);
}

const gate = await serve(SERVERS);
await (await LegacyHttp.open(gate.url)).request('tools/list');
const live = [];
await inGroups(LIVE, 50, async (n) => { live.push(await use(gate, n)); });
console.log(`${LIVE} live sessions over ${SERVERS} servers: ${mb(rssBytes(gate.pid))} in the gate (target: below 60 MB for 1000 over 20)`);
await inGroups(live.length, 50, (n) => live[n].end());
const before = { rss: rssBytes(gate.pid), fds: fdCount(gate.pid), processes: descendants(gate.pid).length };
await inGroups(PASSING, 50, async (n) => { await (await use(gate, n)).end(); });
await settled(gate, before.fds);
const after = { rss: rssBytes(gate.pid), fds: fdCount(gate.pid), processes: descendants(gate.pid).length };
console.log(`${PASSING} sessions opened and closed: ${mb(before.rss)} → ${mb(after.rss)}, ${before.fds} → ${after.fds} descriptors, ${before.processes} → ${after.processes} processes (target: nothing left behind)`);
await gate.end();

const cpu = (pid) => readdirSync(`/proc/${pid}/task`).reduce((sum, tid) => sum + Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8').split(' ')[0]), 0);
async function cost(count, calls) {
  const one = await serve(count);
  const client = await LegacyHttp.open(one.url);
  const round = (n) => inGroups(n, 8, (i) => client.call(`server${i % count}__echo`, { text: 'x' }));
  await client.request('tools/list');
  await round(500);
  const from = cpu(one.pid);
  await round(calls);
  const used = (cpu(one.pid) - from) / calls / 1000;
  await one.end();
  return used;
}
const [single, eight] = [await cost(1, 5000), await cost(8, 5000)];
console.log(`a call costs the gate ${single.toFixed(1)} µs with one server and ${eight.toFixed(1)} µs with eight: ${(single / eight).toFixed(2)} of the throughput (target: at least 0.9)`);
process.exit(0);
