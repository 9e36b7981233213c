// The gate killed under load, again and again: the chain stays sound and no counter forgets a call.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cli, rawStdio, startGate, tempDir } from '../lib/index.mjs';

const ROUNDS = 6;
const POLICY = {
  version: '1', default: 'allow',
  tools: { echo: { rules: [{ name: 'daily', rate_limit: '1000000/day' }] } },
};

const server = rawStdio(async ({ serve }) => serve({ 'tools/call': () => ({ content: [] }) }));

test('kill -9 in a loop under load', async () => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  let answered = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const gates = await Promise.all([0, 1].map(() => startGate({ transport: 'stdio', policy: POLICY, command: server, env })));
    await Promise.all(gates.map(async (gate) => {
      await gate.rpc.initialize();
      let next = 0;
      const enough = 20 + round * 60;
      for (let i = 0; i < 400; i++) gate.rpc.send({ jsonrpc: '2.0', id: `n${next++}`, method: 'tools/call', params: { name: 'echo', arguments: {} } });
      for (let got = 0; got < enough; got++) {
        const answer = await gate.rpc.next((message) => 'result' in message);
        if (!answer) break;
        answered += 1;
      }
      gate.child.signal('SIGKILL');
      await gate.child.wait();
    }));
    const status = JSON.parse((await cli(['status', '--json'], { env })).stdout);
    const counter = status.state.counters.find(({ key }) => key.includes('_rate_day'));
    assert.ok(counter.value >= answered, `${counter.value} counted, ${answered} answered`);
    const verify = await cli(['audit', 'verify'], { env });
    // The first signature is on disk a moment after the first calls: a gate that was killed before has left none.
    if (existsSync(join(env.SALLYPORT_HOME, 'audit/head'))) assert.equal(verify.code, 0, verify.stdout + verify.stderr);
  }
  const gate = await startGate({ transport: 'stdio', policy: POLICY, command: server, env });
  await gate.rpc.initialize();
  await gate.stop(); // takes over the records of the killed gate, and signs
  const verify = await cli(['audit', 'verify', '--json'], { env });
  assert.equal(verify.code, 0, verify.stdout);
  const { stdout } = await cli(['audit', 'export', '--tool', 'echo'], { env });
  const decisions = stdout.split('\n').filter((line) => line.includes('"kind":"decision"')).length;
  assert.ok(decisions >= answered, `${decisions} on record, ${answered} answered`);
});
