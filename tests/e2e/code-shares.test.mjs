// Fair shares of the sandbox: one grant's flood does not keep another's runs waiting; ceilings hold; parked sessions stand still.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ModernHttpPeer, cli, policyFile, startServe, tempDir, use } from '../lib/index.mjs';

async function serve(t, code) {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home'), SALLYPORT_NODE: process.execPath };
  const tokens = {};
  for (const name of ['ann', 'bob']) tokens[name] = (await cli(['grants', 'create', name], { env })).stdout.trim();
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: true, ...code } }, args: [], env }));
  const as = (name) => {
    const peer = new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers: { Authorization: `Bearer ${tokens[name]}` } });
    return async (code, more = {}) => (await peer.call('execute_code', { code, ...more })).structuredContent;
  };
  return as;
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

test('while one grant floods the sandbox, another grant starts immediately', async (t) => {
  const as = await serve(t, { limits: { concurrent: 24, grant: { concurrent: 8 } } });
  const [ann, bob] = [as('ann'), as('bob')];
  await bob('1');
  const FLOOD = 200; // of which about 120 wait at the sandbox; the gate holds the others back
  const flood = Array.from({ length: FLOOD }, () => ann('import time; time.sleep(600)', { timeout_seconds: 600 }).catch(() => {})); // they end with the gate
  const waited = [];
  for (let i = 0; i < 15; i++) {
    const answer = await bob(`${i}`);
    assert.equal(answer.result, i, JSON.stringify(answer));
    waited.push(answer.waited_ms ?? 0); // reported only when it is 20 ms or more
  }
  // In one queue for all grants it would be minutes.
  assert.ok(median(waited) < 5000, `waited ${waited} ms`);
  assert.equal(flood.length, FLOOD);
});

test('a run of a grant at its concurrency limit waits, reports the wait, and then runs', async (t) => {
  const as = await serve(t, { limits: { grant: { concurrent: 1 } } });
  const ann = as('ann');
  await ann('1');
  const both = await Promise.all([ann('import time; time.sleep(3); 1'), ann('2')]);
  assert.deepEqual(both.map((o) => o.result), [1, 2]);
  assert.ok(both[1].waited_ms || both[0].waited_ms, JSON.stringify(both)); // reported only when it is 20 ms or more
});

test('the memory and time that a run may request are limited; an idle session is suspended', async (t) => {
  const as = await serve(t, { limits: { run_memory_mb: 200, run_timeout: '5s' } });
  const ann = as('ann');
  assert.equal((await ann('1')).result, 1, 'the defaults are lowered');
  assert.equal(await ann('1', { memory_mb: 400 }), undefined, 'what asks for more is refused');
  const start = 'import threading, time\nn = 0\ndef count():\n    global n\n    while True:\n        n += 1\n        time.sleep(0.005)\nthreading.Thread(target=count, daemon=True).start()\ntime.sleep(0.1)\nn';
  const first = (await ann(start, { session_id: 's' })).result;
  await new Promise((resolve) => setTimeout(resolve, 6000)); // about 1,000 rounds, if it went on
  const second = (await ann('n', { session_id: 's' })).result;
  assert.ok(first >= 1 && second - first < 500, `${first}, then ${second}`);
});
