// Power failures. Images of the disk are taken while a gate works; each is given to a new gate, which must have every decision of a call that
// had reached the server (durable), or say that some are missing (not durable), and must not let more calls pass than the limit.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Disk } from './disk.mjs';
import { Client, LIMIT, Load, Oracle, between, configOf, missing, newHome, pause, readLog, startGate } from './world.mjs';

// What a gate and verify said of a loss.
const TOLD = /could not be kept|is gone|damaged|was set aside|was deleted|not that of this log|signed head|ended at record/;

async function check(image, seen, { durable, oracle }) {
  const gate = await startGate(configOf(oracle, { durable }), image);
  const client = new Client(gate.origin);
  const before = seen.filter(([, tool]) => tool === 'limited').length;
  let after = 0;
  while (after <= LIMIT) {
    const answer = await client.call('limited', `x${after}-${Math.random()}-`);
    if (!answer.ok) { assert.ok(answer.denied, `a limited call: ${answer.text}`); break; }
    after += 1;
  }
  client.close();
  await gate.stop();
  const log = await readLog(image);
  const lost = missing(log, seen.map(([mark]) => mark));
  const told = TOLD.test(gate.stderr) || log.report.gaps > 0 || log.report.rings_unread > 0 || !log.report.ok;
  assert.ok(before + after <= LIMIT, `${before} limited calls before the power failed and ${after} after it: the limit is ${LIMIT}`);
  if (durable) assert.deepEqual(lost, [], `${lost.length} decisions of ${seen.length} calls are lost in a durable log\n${gate.stderr}`);
  if (lost.length) assert.ok(told, `${lost.length} decisions are lost, and nothing says so\n${gate.stderr}\n${JSON.stringify(log.report)}`);
  if (durable || !lost.length) assert.ok(log.report.ok, `verify: ${JSON.stringify(log.report)}\n${gate.stderr}`);
  return { lost: lost.length, told };
}

// One run of a gate gives `images` images.
async function run({ durable, images, loose }) {
  const oracle = await Oracle.start();
  const home = newHome(), disk = new Disk(home, { shadow: true });
  disk.set({ loose_ppm: loose });
  const gate = await startGate(configOf(oracle, { durable }), home, disk.env);
  const client = new Client(gate.origin);
  const load = new Load(() => client, { width: 4 });
  // Before the first sync of a new home a machine without power finds nothing that could show a loss.
  for (const end = Date.now() + 60_000; !durable && !existsSync(join(disk.shadow, 'audit/head')); await pause(5)) assert.ok(Date.now() < end, 'no signed head');
  const taken = [];
  for (let i = 0; i < images; i++) {
    await pause(between(5, 120));
    taken.push(disk.image(() => [...oracle.seen]));
  }
  gate.child.signal('SIGKILL');
  await gate.child.closed;
  await load.stop();
  client.close();
  const figures = { images: 0, calls: oracle.seen.size, lost: 0, lossy: 0 };
  oracle.seen = new Map();
  for (const { copy, seen } of taken) {
    const { lost } = await check(copy, seen, { durable, oracle });
    figures.images += 1;
    figures.lost += lost;
    figures.lossy += lost > 0;
  }
  disk.close();
  await oracle.close();
  return figures;
}

export async function powerLoss({ durable, images, each = 8 }) {
  const sum = { images: 0, calls: 0, lost: 0, lossy: 0 };
  for (let left = images, turn = 0; left > 0; left -= each, turn++) {
    const figures = await run({ durable, images: Math.min(each, left), loose: [0, 300_000][turn % 2] });
    for (const name of Object.keys(sum)) sum[name] += figures[name];
  }
  return { 'disk images': sum.images, 'calls seen by the server': sum.calls, 'decisions lost': sum.lost, 'images with a loss, each reported': sum.lossy };
}
