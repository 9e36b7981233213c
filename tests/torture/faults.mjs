// A failing disk: writes, syncs, opens and mappings fail or are short, by chance, from the start or in mid-run. Whatever fails, no call reaches
// the server without its record, no limit is exceeded, the gate does not crash, and it works again when the disk does.
import assert from 'node:assert/strict';
import { Disk, ERRNO, OPS } from './disk.mjs';
import { Client, LIMIT, Load, Oracle, between, configOf, missing, newHome, pause, pick, readLog, startGate } from './world.mjs';
import { request } from '../lib/index.mjs';

const DEADLINE_MS = 60_000;
const WHAT = Object.keys(OPS), HOW = Object.keys(ERRNO);

export const schedule = () => {
  const op = pick([...WHAT, 'all', 'write', 'sync']);
  return { op, mask: op === 'all' ? 15 : OPS[op], how: pick(HOW), ppm: pick([20_000, 200_000, 1_000_000]), early: Math.random() < (op === 'open' || op === 'mmap' ? 0.8 : 0.2), // a running gate opens and maps little
    durable: Math.random() < 0.5, ms: between(100, 500) };
};

async function until(what, look) {
  for (const end = Date.now() + DEADLINE_MS; !(await look()); await pause(20)) assert.ok(Date.now() < end, what());
}

async function startOrGiveUp(config, home, env) {
  try {
    return { gate: await startGate(config, home, env) };
  } catch (error) {
    assert.doesNotMatch(error.message, /SIG(SEGV|ABRT|BUS|ILL)/, 'a gate that meets a failing disk at its start says so');
    return { refused: error.message };
  }
}

async function one(plan) {
  const oracle = await Oracle.start();
  const home = newHome(), disk = new Disk(home);
  const config = configOf(oracle, { durable: plan.durable });
  const faults = { fault_ops: plan.mask, fault_errno: ERRNO[plan.how], fault_ppm: plan.ppm };
  const named = () => JSON.stringify(plan);
  if (plan.early) disk.set(faults);
  let { gate, refused } = await startOrGiveUp(config, home, disk.env);
  if (refused) {
    disk.set({ fault_ops: 0 });
    gate = (await startOrGiveUp(config, home, disk.env)).gate;
    assert.ok(gate, `${named()}: does not start after the faults are over`);
  }
  let client = new Client(gate.origin);
  const load = new Load(() => client, { width: 3 });
  await pause(100);
  disk.set(faults);
  await pause(plan.ms);
  disk.set({ fault_ops: 0 });
  assert.equal(gate.child.status, undefined, `${named()}: the gate ended: ${gate.stderr.slice(-500)}`);
  const good = load.answers.ok;
  await until(() => `${named()}: no call passes after the faults are over: ${[...load.errors]}\n${gate.stderr.slice(-800)}`, () => load.answers.ok > good + 3);
  await until(() => `${named()}: not ready`, async () => (await request('GET', `${gate.origin}/readyz`)).status === 200);
  await load.stop();
  client.close();
  await gate.stop();
  const log = await readLog(home);
  const lost = missing(log, oracle.marks());
  assert.deepEqual(lost, [], `${named()}: ${lost.length} calls of ${oracle.seen.size} have no record\n${gate.stderr}`);
  assert.ok(log.report.ok, `${named()}: ${JSON.stringify(log.report)}`);
  assert.ok(oracle.marks('limited').length <= LIMIT, `${named()}: over the limit`);
  const figures = { faults: disk.get('faults'), calls: oracle.seen.size, refused: load.answers.refused };
  disk.close();
  await oracle.close();
  return figures;
}

export async function faults({ schedules }) {
  const sum = { faults: 0, calls: 0, refused: 0 };
  for (let i = 0; i < schedules; i++) {
    const figures = await one(schedule());
    for (const name of Object.keys(sum)) sum[name] += figures[name];
  }
  return { schedules, 'operations that failed': sum.faults, 'calls seen by the server': sum.calls, 'calls refused meanwhile': sum.refused, 'calls without a record': 0, 'limits exceeded': 0 };
}
