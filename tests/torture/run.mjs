// make torture: every round that this directory has, a report at the end. Rounds are set by the environment:
//   TORTURE=power,faults,…   only these        TORTURE_SCALE=0.1   fewer of each (1 is the full size)
import { writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { faults } from './faults.mjs';
import { kills } from './kills.mjs';
import { powerLoss } from './power.mjs';
import { clockJumps, reloadStorm, sickServers, slowDisk, soak, stalledDisk, termUnderLoad } from './trouble.mjs';

const scale = Number(process.env.TORTURE_SCALE ?? 1);
const only = process.env.TORTURE?.split(',');
const of = (n, least = 1) => Math.max(least, Math.round(n * scale));

const rounds = {
  'power-durable': ['power loss, durable log', () => powerLoss({ durable: true, images: of(200) })],
  'power': ['power loss, log not durable', () => powerLoss({ durable: false, images: of(200) })],
  'kills': ['kill -9 of any process', () => kills({ kills: of(500) })],
  'faults': ['failing disk', () => faults({ schedules: of(100) })],
  'clock': ['clock jumps', () => clockJumps({ jumps: of(100, 5) })],
  'stalled': ['disk that stops', () => stalledDisk({ calls: of(500, 20) })],
  'slow': ['slow disk', () => slowDisk({ seconds: of(20, 3) })],
  'sick': ['sick servers', () => sickServers({ seconds: of(20, 3) })],
  'reload': ['reload storm', () => reloadStorm({ seconds: of(20, 5) })],
  'term': ['SIGTERM under load', () => termUnderLoad({ rounds: of(50, 2) })],
  'soak': ['soak', () => soak({ seconds: of(1800, 10) })],
};

const report = { scale, cpus: cpus().length, kernel: release(), began: new Date().toISOString(), rounds: {} };
let failed = 0;
for (const [name, [title, run]] of Object.entries(rounds)) {
  if (only && !only.includes(name)) continue;
  const began = Date.now();
  const entry = { title };
  try {
    entry.figures = await run();
  } catch (error) {
    failed += 1;
    entry.error = error.message;
  }
  entry.seconds = Math.round((Date.now() - began) / 100) / 10;
  report.rounds[name] = entry;
  console.log(`${entry.error ? '✖' : '✔'} ${title} (${entry.seconds} s)`);
  if (entry.error) console.log(`    ${entry.error.slice(0, 3000).replaceAll('\n', '\n    ')}`);
  for (const [label, figure] of Object.entries(entry.figures ?? {})) if (figure !== undefined) console.log(`    ${label}: ${figure}`);
}
const file = process.env.TORTURE_REPORT ?? 'torture-report.json';
writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
console.log(`${Object.keys(report.rounds).length} rounds, ${failed} failed; report: ${file}`);
process.exit(failed ? 1 : 0);
