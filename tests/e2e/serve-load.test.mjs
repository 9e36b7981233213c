// Many sessions over many servers: what they take, that all of it is given back, and that a call costs the gate no more for the
// servers that it does not go to.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  LegacyHttp, fdCount, legacyServer, mayGrow, policyFile, rssBytes, sanitized, startServe, startUpstream, statm, until, use, within,
} from '../lib/index.mjs';

const SESSIONS = 1000;
const SERVERS = 20;
const echo = { name: 'echo', description: 'says it again', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };

async function serve(t, count) {
  const servers = {};
  const upstreams = [];
  for (let i = 0; i < count; i++) {
    const upstream = use(t, await startUpstream(legacyServer({ tools: [echo], sessionId: `s${i}`,
      methods: { 'tools/call': ({ arguments: { text } }) => ({ content: [{ type: 'text', text: `${i} ${text}` }] }) } })));
    servers[`server${i}`] = { url: upstream.url };
    upstreams.push(upstream);
  }
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers } }));
  return Object.assign(gate, { upstreams });
}

async function inGroups(items, size, work) {
  for (let i = 0; i < items.length; i += size) await Promise.all(items.slice(i, i + size).map(work));
}

test(`${SESSIONS} sessions over ${SERVERS} servers stay below 60 MB and leave nothing behind`, async (t) => {
  const gate = await serve(t, SERVERS);
  const first = await LegacyHttp.open(gate.url); // from now on the gate knows what its servers can do
  assert.equal((await first.request('tools/list')).tools.length, SERVERS);
  const numbers = Array.from({ length: SESSIONS }, (_, n) => n);
  const sessions = [];
  await inGroups(numbers, 50, async (n) => {
    const session = await LegacyHttp.open(gate.url);
    const server = n % SERVERS;
    assert.equal((await session.call(`server${server}__echo`, { text: `${n}` })).content[0].text, `${server} ${n}`);
    sessions.push(session);
  });
  const used = rssBytes(gate.pid);
  t.diagnostic(`${(used / 2 ** 20).toFixed(1)} MB with ${SESSIONS} sessions`);
  if (statm(gate.pid).size < 2 ** 28) assert.ok(used < 60 << 20, `${used >> 20} MB`);
  await inGroups(sessions, 50, async (session) => assert.equal((await session.end()).status, 200));
  await first.end();
  // Connections to servers are kept for a few seconds: their ends are waited for.
  await within(Promise.all(gate.upstreams.flatMap(({ sockets }) => [...sockets].map((socket) => once(socket, 'close')))), 'the ends of connections');
  await until(() => `${fdCount(gate.pid)} descriptors to become 60`, () => fdCount(gate.pid) <= 60);
  assert.ok(rssBytes(gate.pid) < used + mayGrow(gate.pid, 8 << 20), `grew from ${used >> 20} to ${rssBytes(gate.pid) >> 20} MB`);
});

// Processor time of the gate, in nanoseconds: exact, and the same whatever else the machine does.
const cpu = (pid) => readdirSync(`/proc/${pid}/task`)
  .reduce((sum, tid) => sum + Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8').split(' ')[0]), 0);

describe('what a call costs', { skip: sanitized && 'sanitizers cost more than calls' }, () => {
  test('a call with eight servers costs hardly more than with one', async (t) => {
    const CALLS = 1500;
    const cost = async (count) => {
      const gate = await serve(t, count);
      const client = await LegacyHttp.open(gate.url);
      const round = (calls) => inGroups(Array.from({ length: calls }, (_, n) => n), 8,
        (n) => client.call(`server${n % count}__echo`, { text: 'x' }));
      await client.request('tools/list');
      await round(200);
      const before = cpu(gate.pid);
      await round(CALLS);
      return (cpu(gate.pid) - before) / CALLS / 1000;
    };
    const one = await cost(1), eight = await cost(8);
    t.diagnostic(`${one.toFixed(1)} µs a call with one server, ${eight.toFixed(1)} µs with eight: ${(one / eight).toFixed(2)} of the throughput`);
    assert.ok(eight < one * 3, `${one} ${eight}`); // the figure is for people; this is for accidents
  });
});
