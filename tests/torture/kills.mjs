// kill -9 of any process of a gate at any moment, the gate itself included, which is started again on the same home.
import assert from 'node:assert/strict';
import { alive, descendants, processName, rawStdio } from '../lib/index.mjs';
import { Client, LIMIT, Load, Oracle, between, configOf, missing, newHome, pause, pick, readLog, startGate } from './world.mjs';

const child = rawStdio(async ({ serve }) => serve({
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: { mark } }) => ({ content: [{ type: 'text', text: mark }] }),
}));

export async function kills({ kills: wanted }) {
  const oracle = await Oracle.start();
  const home = newHome();
  const [command, ...args] = child;
  const config = configOf(oracle, { durable: false });
  config.servers.c = { command, args };
  let gate = await startGate(config, home), client = new Client(gate.origin);
  const load = new Load(() => client, { width: 4, server: () => pick(['s', 's', 's', 'c']), tools: ['echo', 'limited', 'echo'] });
  const killed = {};
  const count = (what) => { killed[what] = (killed[what] ?? 0) + 1; };
  let slowest = 0;
  for (let i = 0; i < wanted; i++) {
    await pause(between(20, 150));
    const below = descendants(gate.pid).filter(alive);
    const victim = Math.random() < 0.3 || !below.length ? gate.pid : pick(below);
    if (victim !== gate.pid) {
      count(processName(victim) || 'ended meanwhile');
      try { process.kill(victim, 'SIGKILL'); } catch { /* it was faster */ }
      continue;
    }
    count('sallyport');
    gate.child.signal('SIGKILL');
    await gate.child.exited;
    const began = performance.now();
    gate = await startGate(config, home);
    client.close();
    client = new Client(gate.origin);
    slowest = Math.max(slowest, performance.now() - began);
  }
  const good = load.answers.ok;
  for (const end = Date.now() + 60_000; load.answers.ok < good + 5; await pause(20)) assert.ok(Date.now() < end, `no call passes after the kills: ${[...load.errors]}\n${gate.stderr.slice(-800)}`);
  await load.stop();
  client.close();
  await gate.stop();
  const log = await readLog(home);
  const lost = missing(log, oracle.marks());
  assert.deepEqual(lost, [], `${lost.length} calls of ${oracle.seen.size} have no record`);
  assert.ok(log.report.ok, JSON.stringify(log.report));
  assert.ok(oracle.marks('limited').length <= LIMIT, 'over the limit');
  await oracle.close();
  return { kills: wanted, ...Object.fromEntries(Object.entries(killed).map(([name, n]) => [`of ${name}`, n])), 'calls seen by the server': oracle.seen.size, 'calls without a record': 0, 'limits exceeded': 0, 'slowest start after a kill, ms': Math.round(slowest) };
}
