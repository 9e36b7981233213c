// The public conformance suite: runs it, reads what it leaves, and says what the gate made worse.
//
// The suite's own totals are no evidence: with nothing listening it still counts passes, and a
// scenario without checks passes. So: exit status, and each check against the direct run.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { node, packages, root, run, tempDir } from '../lib/index.mjs';

const RUN_TIMEOUT_MS = 400_000;
const SCENARIO_TIMEOUT_MS = 120_000;
const patience = join(root, 'tests/conformance/patience.mjs');

export async function suite(args, env) {
  const out = tempDir('conformance');
  const result = await run(node, ['--import', patience, packages.conformance, ...args, '-o', out, '--timeout', `${SCENARIO_TIMEOUT_MS}`], {
    cwd: root, timeout: RUN_TIMEOUT_MS, env: { PATH: `${dirname(node)}:${process.env.PATH}`, ...env },
  });
  return { ...result, scenarios: readResults(out) };
}

// { scenario: [check, …] } from the directories SCENARIO-TIMESTAMP that the suite leaves. One without checks is of a scenario that
// threw, which the suite does where a server does not speak the era at all: it has no result.
function readResults(out) {
  const scenarios = {};
  for (const path of readdirSync(out, { recursive: true })) {
    const name = path.replace(/^auth\//, ''); // those of a group lie in a directory of it
    const scenario = /^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    const checks = join(out, path, 'checks.json');
    if (scenario && existsSync(checks)) scenarios[scenario] = JSON.parse(readFileSync(checks, 'utf8'));
  }
  return scenarios;
}

export const count = (checks, status) => checks.filter((check) => check.status === status).length;
const RANK = ['FAILURE', 'WARNING', 'SKIPPED', 'INFO', 'SUCCESS'];

// The same check may appear more than once in a scenario: what is compared is the worst of each.
function verdicts(checks) {
  const worst = new Map();
  for (const check of checks) {
    const key = `${check.id} ${check.name}`;
    if (!worst.has(key) || RANK.indexOf(check.status) < RANK.indexOf(worst.get(key).status)) worst.set(key, check);
  }
  return worst;
}

// Lines for each check that the gate made worse; empty when it is as good as the direct run.
export function worse(direct, through, { excused = false, cannot = {} } = {}) {
  const expected = verdicts(direct);
  const found = verdicts(through);
  const lines = [];
  for (const key of new Set([...expected.keys(), ...found.keys()])) {
    const was = expected.get(key)?.status ?? 'INFO';
    const check = found.get(key);
    const is = check?.status ?? 'INFO';
    if (cannot[key.split(' ')[0]]) continue;
    if (was === 'INFO' ? RANK.indexOf(is) >= RANK.indexOf('SKIPPED') : RANK.indexOf(is) >= RANK.indexOf(was)) continue;
    if (excused && is !== 'FAILURE') continue;
    lines.push(`  ${key}`, `    direct  ${expected.get(key)?.status ?? 'not there'}`, `    gate    ${check?.status ?? 'not there'}`);
    if (check?.errorMessage) lines.push(`    ${check.errorMessage}`);
    if (check?.details) lines.push(`    ${JSON.stringify(check.details).slice(0, 1500)}`);
  }
  return lines;
}

export const serverSet = (url, set) => suite(['server', '--url', url, '--requirements', set]);
