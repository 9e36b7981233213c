// The end of a gate: first not ready but accepting, then refusing, then every call in flight has an answer.
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { HttpConnection, LegacyHttp, cli, policyFile, probeCommand, request, startServe, tempDir, until, use } from '../lib/index.mjs';

const [command, ...args] = probeCommand('a');
const settings = (drain) => ({ version: '1', policy: policyFile(), servers: { a: { command, args } }, drain });
const env = () => ({ SALLYPORT_HOME: join(tempDir('drain'), 'home') });
const status = async (url) => { try { return (await request('GET', url)).status; } catch { return 'refused'; } };

// A call that the server never answers; resolves with the whole answer of the gate.
const held = (gate, sessionId, id = 9) => new Promise((resolve, reject) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a__hold', arguments: { key: `k${id}` } } });
  httpRequest(gate.url, { method: 'POST', agent: false, headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    'Mcp-Session-Id': sessionId, 'Content-Length': body.length } }, (answer) => {
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk) => { text += chunk; }).on('error', reject).on('end', () => resolve({ status: answer.statusCode, text }));
  }).on('error', reject).end(body);
});

for (const workers of [[], ['--workers', '2']]) {
  const kind = workers.length ? 'two workers' : 'one process';
  test(`${kind}: a draining gate is first not ready but accepting; a second signal ends it immediately`, async (t) => {
    const gate = use(t, await startServe({ config: settings({ not_ready: '10m', timeout: '10m' }), args: ['--no-auth', ...workers], env: env() }));
    assert.equal(await status(`${gate.origin}/readyz`), 200);
    process.kill(gate.pid, 'SIGTERM');
    await until('not ready', async () => await status(`${gate.origin}/readyz`) === 503);
    assert.equal(await status(`${gate.origin}/healthz`), 200, 'it lives');
    assert.equal((await request('GET', `${gate.origin}/healthz`)).headers.connection, 'close', 'a proxy gives its connection up');
    const client = await LegacyHttp.open(gate.url);
    assert.match((await client.call('a__echo', { late: true })).content[0].text, /late/, 'new sessions are served');
    process.kill(gate.pid, 'SIGINT');
    const { code } = await gate.child.wait();
    assert.ok([130, 143].includes(code), `${code}`);
  });

  test(`${kind}: after the time in which it is not ready a draining gate refuses and ends`, async (t) => {
    const gate = use(t, await startServe({ config: settings({ not_ready: '1s', timeout: '20s' }), args: ['--no-auth', ...workers], env: env() }));
    process.kill(gate.pid, 'SIGTERM');
    assert.deepEqual(await gate.child.wait(), { code: 0, signal: null });
    await assert.rejects(HttpConnection.open(gate.origin), 'nobody listens any more');
  });

  test(`${kind}: a call that does not end in time is answered with an error and recorded`, async (t) => {
    const home = env();
    const gate = use(t, await startServe({ config: settings({ not_ready: '0s', timeout: '1s' }), args: ['--no-auth', ...workers], env: home }));
    const client = await LegacyHttp.open(gate.url);
    const answers = [held(gate, client.sessionId, 901), held(gate, client.sessionId, 902)];
    await until('the server has them', async () => JSON.parse((await client.call('a__seen')).content[0].text).filter(({ raw }) => /"hold"/.test(raw)).length === 2);
    process.kill(gate.pid, 'SIGTERM');
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      assert.equal(answer.status, 200);
      const { id, error } = JSON.parse(answer.text.startsWith('{') ? answer.text : /^data: (\{.*)$/m.exec(answer.text)[1]);
      assert.equal(id, 901 + i);
      assert.match(error.message, /shutting down/);
    }
    assert.deepEqual(await gate.child.wait(), { code: 0, signal: null });
    const { code, stdout } = await cli(['audit', 'verify'], { env: home });
    assert.equal(code, 0, stdout);
    const records = (await cli(['audit', 'export', '--format', 'jsonl'], { env: home })).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const decided = records.filter(({ tool }) => tool === 'hold').map(({ call }) => call);
    assert.equal(decided.length, 2);
    assert.equal(records.filter(({ kind: what, call }) => what === 'outcome' && decided.includes(call)).length, 2);
  });
}
