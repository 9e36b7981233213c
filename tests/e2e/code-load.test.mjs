// A thousand runs, fifty at a time, good ones mixed with failing ones: every caller gets an answer, and nothing is left behind.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startCode } from '../lib/code.mjs';
import { alive, descendants, fdCount, mayGrow, rssBytes, sanitized, until } from '../lib/index.mjs';

const RUNS = Number(process.env.CODE_LOAD_RUNS ?? (sanitized ? 200 : 1000));
const CALLERS = 50;

// [how many of a hundred, code, arguments, what the answer must be]
const MIX = [
  [84, 'result = sum(range(100))', {}, (a) => a.result === 4950],
  [6, 'result = len(tools.code.list_workspace_files()["files"])', {}, (a) => a.result === 0],
  [4, '1/0', {}, (a) => a.error === 'division by zero'],
  [1, 'while True: pass', { timeout_seconds: 1 }, (a) => a.exit === 'timeout'],
  [2, 'x = []\nwhile True: x.append(bytearray(1 << 20))', { memory_mb: 64 }, (a) => a.success === false],
  [1, 'import os\nwhile True:\n    try: os.fork()\n    except OSError: break\nresult = 1', {}, (a) => 'success' in a],
  [2, 'while True: print("x" * 4096)', {}, (a) => a.success === false],
];
const kinds = MIX.flatMap(([share, ...rest]) => Array(share).fill(rest));
const mounts = (pid) => readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n').length;

test(`${RUNS} runs, ${CALLERS} at a time`, async (t) => {
  const { run, gate, json } = await startCode(t);
  const settle = () => until('the last run', async () => (await json('get_execution_stats')).sandbox.active === 0);
  await Promise.all(Array.from({ length: CALLERS }, () => run('result = 1')));
  await settle();
  const before = { fds: fdCount(gate.pid), rss: rssBytes(gate.pid), mounts: mounts(gate.pid), processes: descendants(gate.pid).filter(alive).length };
  let next = 0;
  const caller = async () => {
    for (let i; (i = next++) < RUNS;) {
      const [code, input, fits] = kinds[(i * 37) % 100];
      const answer = await run(code, input, { timeout: 120_000 });
      assert.ok(fits(answer), `${code}: ${JSON.stringify(answer).slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await settle();
  // The last ones end, and the pool fills again, behind the answers.
  await until('processes to end', () => descendants(gate.pid).filter(alive).length <= before.processes + 4);
  await until(() => `descriptors ${before.fds} → ${fdCount(gate.pid)}`, () => fdCount(gate.pid) <= before.fds + 16);
  assert.equal(mounts(gate.pid), before.mounts);
  const grown = rssBytes(gate.pid) - before.rss;
  assert.ok(grown < mayGrow(gate.pid, 64 << 20), `grew by ${grown >> 20} MB`);
  assert.equal((await run('result = "still here"')).result, 'still here');
});
