// Other troubles of a machine and of servers: a clock that jumps, a slow disk, servers that misbehave, files that are rewritten all the time,
// the end under load, and a long run.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { cli, fdCount, policyFile, request, rssBytes, startServe } from '../lib/index.mjs';
import { Callers } from './callers.mjs';
import { Disk } from './disk.mjs';
import { Client, LIMIT, Load, Oracle, POLICY, between, configOf, missing, newHome, pause, pick, readLog, startGate } from './world.mjs';

const round = (n) => Math.round(n * 100) / 100;

// A limit by day holds in each day that the clock shows.
export async function clockJumps({ jumps }) {
  const oracle = await Oracle.start();
  const home = newHome(), disk = new Disk(home);
  const gate = await startGate(configOf(oracle), home, disk.env);
  const client = new Client(gate.origin);
  const load = new Load(() => client, { width: 2, tools: ['limited', 'echo'] });
  const days = new Set();
  const set = (seconds) => { disk.set({ clock_s: seconds }); for (const at of [Date.now(), Date.now() + 2000]) days.add(Math.floor((at + seconds * 1000) / 86_400_000)); };
  set(0);
  for (let i = 0; i < jumps; i++) { await pause(between(30, 120)); set(between(-2 * 86_400, 2 * 86_400)); }
  set(0);
  await pause(100);
  await load.stop();
  client.close();
  await gate.stop();
  const passed = oracle.marks('limited').length;
  assert.ok(passed <= LIMIT * days.size, `${passed} calls passed in ${days.size} days, limit ${LIMIT} a day`);
  assert.equal(load.answers.lost + load.answers.broken + load.answers.refused, 0, [...load.errors].join('\n'));
  const log = await readLog(home);
  assert.deepEqual(missing(log, oracle.marks()), []);
  assert.ok(log.report.ok, JSON.stringify(log.report));
  disk.close();
  await oracle.close();
  return { jumps, 'days that the clock showed': days.size, 'limited calls that passed': passed, 'limits exceeded': 0 };
}

// Each write and sync takes delay_ms. Some clients need the disk (approvals, tokens for personal data, new grants); others do not.
export async function slowDisk({ seconds, delay_ms = 100 }) {
  const oracle = await Oracle.start();
  const home = newHome(), disk = new Disk(home);
  const config = configOf(oracle, { pii: { mode: 'tokenize', scope: 'organisation' } });
  const gate = await startGate(config, home, disk.env);
  const client = new Client(gate.origin), other = new Client(gate.origin);
  await client.call('echo', 'warm');
  disk.set({ delay_ms });
  const needy = new Load(() => other, { width: 2, tools: ['pay', 'mail', 'limited'] });
  const free = new Load(() => client, { width: 1, tools: ['echo'] });
  await pause(seconds * 1000);
  disk.set({ delay_ms: 0 });
  await Promise.all([free.stop(), needy.stop()]);
  client.close();
  other.close();
  await gate.stop();
  assert.ok(disk.get('delays') > 0, 'nothing was slow');
  // One at a time, and each would wait for several writes if the loop did.
  assert.ok(free.answers.ok > 5 * seconds, `only ${free.answers.ok} calls that need no disk in ${seconds} s`);
  disk.close();
  await oracle.close();
  return { 'ms per write': delay_ms, 'calls that need no disk': free.answers.ok, 'p50, ms': round(free.quantile(0.5)), 'p99, ms': round(free.quantile(0.99)), 'longest, ms': round(free.quantile(1)),
    'calls that need the disk': needy.answers.ok + needy.answers.refused, 'their p99, ms': round(needy.quantile(0.99)) };
}

// The disk under the databases stops in the middle of what operators do. Calls go on; each operation is answered when it is written, and not before.
export async function stalledDisk({ calls = 20 } = {}) {
  const oracle = await Oracle.start();
  const home = newHome(), disk = new Disk(home), policy = policyFile(POLICY);
  const env = { SALLYPORT_HOME: home, ...disk.env };
  const token = async (...line) => JSON.parse((await cli(['grants', 'create', ...line, '--json'], { env })).stdout).token;
  const [boss, agent] = [await token('boss', '--role', 'admin'), await token('agent')];
  const gate = await startServe({ config: { ...configOf(oracle, { policy }), servers: { s: { url: oracle.server.url }, other: { url: oracle.server.url } }, pins: { lock: `${home}/sallyport.lock` } }, env, args: [] });
  const client = new Client(gate.origin, agent);
  const api = async (method, path, body, headers = {}) => {
    const answer = await request(method, `${gate.origin}/api/v1/${path}`, { headers: { Authorization: `Bearer ${boss}`, 'Content-Type': 'application/json', ...headers }, body: body && JSON.stringify(body) });
    return { status: answer.status, headers: answer.headers, json: JSON.parse(await answer.text()) };
  };
  const asked = await client.call('pay', 'first');
  const { approval_id: approval } = JSON.parse(asked.text).data ?? {};
  assert.ok(approval, asked.text);
  const [file] = (await api('GET', 'policies')).json;
  const before = (await api('GET', `policies/${file.id}`)).json;
  assert.ok((await client.call('echo', 'warm')).ok);
  const steps = [
    ['grants', 201, () => api('POST', 'grants', { name: 'new' })],
    ['rotate', 200, () => api('POST', 'grants/new/rotate', {})],
    ['revoke', 200, () => api('DELETE', 'grants/new')],
    ['sign-in', 201, () => api('POST', 'session', {}, { 'Sallyport-Console': '1' })],
    ['approve', 200, () => api('POST', `approvals/${approval}/approve`, {}), async () => (await client.call('pay', 'first')).ok],
    ['stop', 201, () => api('POST', 'stops', { scope: 'server', name: 'other' }), async () => (await client.call('echo', 'stopped', { server: 'other' })).denied],
    ['policy', 200, () => api('PUT', `policies/${file.id}`, { policy_text: `${before.text}\n` }, { 'If-Match': `"${before.hash}"` })],
    ['pin', 200, () => api('POST', 'servers/s/pins', {})],
    ['server', 201, () => api('POST', 'servers', { name: 'third', url: oracle.server.url })],
  ];
  for (const [name, status, run, holds] of steps) {
    disk.set({ stall: 1 });
    let answered;
    const over = run().then((answer) => { answered = answer; });
    for (const end = Date.now() + 60_000; !disk.get('stalled'); await pause(2)) assert.ok(!answered && Date.now() < end, `${name}: nothing is written: ${JSON.stringify(answered)}`);
    for (let i = 0; i < calls; i++) {
      const answer = await client.call('echo', `${name}-${i}`);
      assert.ok(answer.ok, `a call beside ${name}: ${answer.text}`);
    }
    assert.equal(answered, undefined, `${name} was answered before it was written`);
    disk.set({ stall: 0 });
    await over;
    assert.equal(answered.status, status, `${name}: ${JSON.stringify(answered.json)}`);
    if (holds) assert.ok(await holds(), `${name} is not in force`);
  }
  client.close();
  await gate.stop();
  const log = await readLog(home);
  for (const event of ['grant_created', 'grant_rotated', 'grant_revoked', 'signed_in', 'approval_approved', 'stopped', 'policy_saved', 'pin_accepted', 'server_added']) assert.ok(log.text.includes(event), event);
  disk.close();
  await oracle.close();
  return { 'operations that waited for the disk': steps.length, 'calls answered meanwhile': steps.length * calls };
}

// Five servers that misbehave, and their callers, run in a thread of their own (sick.mjs): what they cost this process is no slowness of the gate.
export async function sickServers({ seconds }) {
  const oracle = await Oracle.start();
  const sick = new Worker(new URL('./sick.mjs', import.meta.url));
  const config = configOf(oracle, {});
  for (let i = 1; i < 15; i++) config.servers[`s${i}`] = { url: oracle.server.url };
  const [urls] = await once(sick, 'message');
  for (const [kind, url] of Object.entries(urls)) config.servers[kind] = { url, timeout: '2s' };
  const gate = await startGate(config, newHome());
  const measure = async () => {
    const client = new Client(gate.origin);
    const load = new Load(() => client, { width: 4, tools: ['echo'], server: () => pick(['s', ...Array.from({ length: 14 }, (_, i) => `s${i + 1}`)]) });
    await pause(seconds * 1000);
    await load.stop();
    client.close();
    return load;
  };
  await measure(); // connections are there
  const before = await measure();
  const callers = new Callers(gate.origin, { width: 10, tools: ['echo'], servers: Object.keys(urls) });
  const during = await measure();
  const { calls } = await callers.stop();
  assert.ok(calls > 0, 'no sick server was called');
  assert.equal(during.answers.refused + during.answers.lost + during.answers.broken, 0, [...during.errors].join('\n'));
  await gate.stop();
  await sick.terminate();
  await oracle.close();
  return { 'sick servers': '5 of 20', 'calls to them': calls, 'healthy calls per second without': round(before.answers.ok / seconds), 'with': round(during.answers.ok / seconds), 'throughput kept': round(during.answers.ok / before.answers.ok),
    'p99 without, ms': round(before.quantile(0.99)), 'p99 with, ms': round(during.quantile(0.99)), 'p99 ratio': round(during.quantile(0.99) / before.quantile(0.99)) };
}

// A policy that is rewritten in place all the time is reloaded after reload.longest; SIGHUP reloads it immediately; calls continue.
export async function reloadStorm({ seconds }) {
  const oracle = await Oracle.start();
  const policy = policyFile(POLICY);
  const gate = await startGate(configOf(oracle, { policy, reload: { longest: '2s' } }), newHome());
  const client = new Client(gate.origin);
  const load = new Load(() => client, { width: 3, tools: ['echo'] });
  const write = (n) => writeFileSync(policy, JSON.stringify({ ...POLICY, description: `storm ${n}` }));
  const reloads = () => (gate.stderr.match(/policy reloaded/g) ?? []).length;
  let written = 0;
  const start = Date.now();
  for (; Date.now() < start + seconds * 1000 || reloads() === 0; await pause(50)) {
    assert.ok(Date.now() < start + seconds * 1000 + 60_000, `${written} changes, none was taken`);
    write(written++);
  }
  const stormy = reloads();
  write(written++);
  process.kill(gate.pid, 'SIGHUP');
  for (const end = Date.now() + 30_000; reloads() === stormy; await pause(10)) assert.ok(Date.now() < end, 'SIGHUP is not taken');
  await load.stop();
  client.close();
  assert.equal(load.answers.refused + load.answers.lost + load.answers.broken, 0, [...load.errors].join('\n'));
  await gate.stop();
  await oracle.close();
  return { 'files written': written, 'reloads meanwhile': stormy, 'calls meanwhile': load.answers.ok, 'calls that failed': 0 };
}

// SIGTERM under load: every call that was accepted is answered, with a result or an error that says why; none is empty or cut off.
export async function termUnderLoad({ rounds }) {
  const sum = { ok: 0, refused: 0, lost: 0, broken: 0, empty: 0 };
  let unrecorded = 0;
  for (let i = 0; i < rounds; i++) {
    const oracle = await Oracle.start();
    const home = newHome();
    const gate = await startGate(configOf(oracle), home);
    const client = new Client(gate.origin);
    const load = new Load(() => client, { width: 8, tools: ['echo'] });
    await pause(between(50, 200));
    gate.child.signal('SIGTERM');
    await gate.child.closed;
    await load.stop();
    client.close();
    for (const kind of Object.keys(sum)) sum[kind] += load.answers[kind];
    unrecorded += missing(await readLog(home), oracle.marks()).length;
    await oracle.close();
    assert.equal(load.answers.broken + load.answers.empty, 0, [...load.errors].join('\n'));
    assert.equal(gate.child.status.code, 0, gate.stderr);
  }
  assert.equal(unrecorded, 0);
  return { rounds, 'calls answered': sum.ok, 'answers that were cut off or empty': 0, 'calls without a record': unrecorded };
}

// Least squares, per hour.
function slope(samples, name) {
  const n = samples.length, mean = (list) => list.reduce((a, b) => a + b, 0) / n;
  const x = samples.map(({ at }) => at / 3.6e6), y = samples.map((sample) => sample[name]), mx = mean(x), my = mean(y);
  const down = x.reduce((sum, value) => sum + (value - mx) ** 2, 0);
  return down ? x.reduce((sum, value, i) => sum + (value - mx) * (y[i] - my), 0) / down : 0;
}

const diskBytes = (dir) => readdirSync(dir, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile()).reduce((sum, entry) => {
  try { return sum + statSync(join(entry.parentPath, entry.name)).blocks * 512; } catch { return sum; }
}, 0);
const cpuMs = (pid) => { const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' '); return (Number(fields[11]) + Number(fields[12])) * 10; };

// Half a core for a while: memory, descriptors and threads must not grow; the disk grows by the log only.
export async function soak({ seconds }) {
  const oracle = await Oracle.start();
  const home = newHome();
  const gate = await startGate(configOf(oracle), home);
  let asleep = 0, calls = 0;
  const threads = [0, 1].map(() => new Callers(gate.origin, { width: 8, tools: ['echo'] }));
  const samples = [];
  const began = Date.now(), cpu = cpuMs(gate.pid);
  while (Date.now() - began < seconds * 1000) {
    await pause(1000);
    calls += oracle.seen.size;
    oracle.seen.clear();
    const at = Date.now() - began, used = (cpuMs(gate.pid) - cpu) / at;
    asleep = Math.max(0, asleep + (used > 0.5 ? 1 : used < 0.45 ? -1 : 0));
    for (const thread of threads) thread.slow(asleep);
    samples.push({ at, rss: rssBytes(gate.pid), fds: fdCount(gate.pid), threads: readdirSync(`/proc/${gate.pid}/task`).length, disk: diskBytes(home), calls });
  }
  const used = (cpuMs(gate.pid) - cpu) / (Date.now() - began);
  const ended = await Promise.all(threads.map((thread) => thread.stop()));
  await gate.stop();
  await oracle.close();
  const settled = samples.slice(Math.floor(samples.length / 4));
  const perCall = (settled.at(-1).disk - settled[0].disk) / Math.max(1, settled.at(-1).calls - settled[0].calls);
  for (const { answers, errors } of ended) assert.equal(answers.lost + answers.broken + answers.refused, 0, errors.join('\n'));
  return { seconds, 'calls': calls, 'share of a core': round(used), 'memory after each tenth, MB': Array.from({ length: 10 }, (_, i) => (samples[Math.ceil((i + 1) * samples.length / 10) - 1].rss / 1e6).toFixed(1)).join(' '), 'memory slope, MB per hour': round(slope(settled, 'rss') / 1e6),
    'descriptors slope, per hour': round(slope(settled, 'fds')), 'threads slope, per hour': round(slope(settled, 'threads')), 'disk, bytes per call': round(perCall) };
}
