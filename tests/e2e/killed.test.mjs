// kill -9 at any moment: everything that the gate had confirmed exists afterwards. Round after round a gate is killed in the middle of calls, new
// grants and new approvals, and the next one, of the same home, has every grant, every approval and the record of every call that was answered.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { LegacyHttp, cli, legacyServer, policyFile, request, startServe, startUpstream, tempDir, use } from '../lib/index.mjs';

const ROUNDS = 6;
const tool = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } });

test(`${ROUNDS} gates, each killed in the middle of its work, lose no grant, no approval and no record`, async (t) => {
  const home = join(tempDir(), 'home');
  const env = { SALLYPORT_HOME: home };
  const server = use(t, await startUpstream(legacyServer({ tools: [tool('echo'), tool('pay')],
    methods: { 'tools/call': ({ arguments: { mark } }) => ({ content: [{ type: 'text', text: mark }] }) } })));
  const policy = policyFile({ version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [] }] } } });
  // A durable log is for machines that lose their power; one that is not survives a gate as well.
  const config = (round) => ({ version: '1', policy, code: { enabled: false }, audit: { durable: round % 2 === 0, arguments: 'full' }, servers: { s: { url: server.url } } });
  const admin = (await cli(['grants', 'create', 'admin', '--role', 'admin'], { env })).stdout.trim();
  const bearer = (token) => ({ Authorization: `Bearer ${token}` });
  const said = { calls: [], grants: [], approvals: [] }; // what was answered

  async function check(gate) {
    for (const token of said.grants.slice(-3)) assert.ok((await LegacyHttp.open(gate.url, { headers: bearer(token) })).sessionId, 'a grant is lost');
    const names = JSON.parse((await cli(['grants', 'list', '--json'], { env })).stdout).length;
    assert.ok(names >= said.grants.length + 1, `${names} grants, ${said.grants.length} were given`);
    const approvals = new Set(JSON.parse((await cli(['approvals', 'list', '--status', 'all', '--json'], { env })).stdout).map(({ id }) => id));
    for (const id of said.approvals) assert.ok(approvals.has(id), `approval ${id} is lost`);
    const { stdout } = await cli(['audit', 'export', '--format', 'jsonl'], { env });
    for (const mark of said.calls) assert.ok(stdout.includes(mark), `the record of ${mark} is lost`);
    assert.equal((await cli(['audit', 'verify'], { env })).code, 0);
  }

  async function work(gate, round, enough) {
    const client = await LegacyHttp.open(gate.url, { headers: bearer(admin) });
    const until = async (what) => { try { for (let i = 0; ; i++) await what(`${round}-${i}`); } catch (error) { if (gate.killed) return; throw error; } };
    await Promise.all([
      until(async (n) => { const mark = `mark-${n}-end`; await client.call('s__echo', { mark }); said.calls.push(mark); if (said.calls.length >= enough) gate.kill(); }),
      until(async (n) => {
        const { answer } = await client.exchange('tools/call', { name: 's__pay', arguments: { mark: n } });
        said.approvals.push(answer.error.data.approval_id);
        assert.ok(said.approvals.length <= 90);
        if (said.approvals.length >= 10 * round) await new Promise((resolve) => { gate.child.closed.then(resolve); });
      }),
      until(async (n) => {
        const response = await request('POST', `${gate.origin}/api/v1/grants`, { headers: { ...bearer(admin), 'Content-Type': 'application/json' }, body: JSON.stringify({ name: `g-${n}` }) });
        said.grants.push(JSON.parse(await response.text()).token);
        if (said.grants.length >= 20 * round) await new Promise((resolve) => { gate.child.closed.then(resolve); });
      }),
    ]);
  }

  for (let round = 1; round <= ROUNDS; round++) {
    const gate = await startServe({ config: config(round), args: [], env });
    gate.kill = () => { gate.killed = true; process.kill(gate.pid, 'SIGKILL'); };
    await check(gate);
    await work(gate, round, said.calls.length + 5 + Math.floor(Math.random() * 40));
    await gate.child.closed;
    gate.assertSound();
  }
  const last = use(t, await startServe({ config: config(0), args: [], env }));
  await check(last);
  t.diagnostic(`${said.calls.length} calls, ${said.grants.length} grants, ${said.approvals.length} approvals`);
});
