// Credentials that the gate sends to servers: from the environment, a file, a program.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startGuard } from '../fixtures/idp.mjs';
import { startProbe } from '../fixtures/probe.mjs';
import { ALLOW_ALL, cli, peerFor, policyFile, startServe, tempDir, tempFile, use } from '../lib/index.mjs';

// A server that takes one token, which the test may change: { gate, guard, token }.
async function world(t, headers, { env = {}, token = 'first-token' } = {}) {
  const state = { token };
  const probe = use(t, await startProbe());
  const guard = use(t, await startGuard({ target: probe.url, authority: 'http://127.0.0.1:1', check: (shown) => shown === state.token }));
  const gate = use(t, await startServe({ env, config: { version: '1', policy: policyFile(ALLOW_ALL), code: { enabled: false }, servers: { s: { url: guard.url, headers } } } }));
  return { gate: Object.assign(Object.create(gate), { url: `${gate.origin}/mcp/s` }), guard, state };
}

// A program that prints the token in a file, and counts how often it was run.
function program(token) {
  const dir = tempDir();
  const [path, value, runs] = ['run', 'value', 'runs'].map((name) => join(dir, name));
  writeFileSync(value, `${token}\n`);
  writeFileSync(runs, '');
  writeFileSync(path, `#!/bin/sh\necho run >> ${runs}\necho noise >&2\ncat ${value}\necho second line\n`);
  chmodSync(path, 0o755);
  return { path, value, count: () => readFileSync(runs, 'utf8').split('\n').length - 1 };
}

test('from the environment', async (t) => {
  const { gate } = await world(t, { Authorization: 'Bearer ${SALLYPORT_TEST_TOKEN}' }, { env: { SALLYPORT_TEST_TOKEN: 'first-token' } });
  await (await peerFor('http', gate)).call('echo');
});

for (const front of ['http', 'modern-http']) {
  test(`from a file, which is read again when the server refuses the token: ${front}`, async (t) => {
    const path = tempFile('secret', 'first-token\n');
    const { gate, state, guard } = await world(t, { Authorization: { file: path, prefix: 'Bearer ' } });
    const peer = await peerFor(front, gate, { headers: { Authorization: 'Bearer of-the-agent' } });
    await peer.call('echo');
    writeFileSync(path, 'second-token\n');
    state.token = 'second-token';
    await peer.call('echo', { again: 1 });
    assert.deepEqual([...new Set(guard.seen.map(({ token }) => token))], ['first-token', 'second-token']);
    assert.equal(gate.stderr.includes('-token'), false);
  });
}

test('from a program, which runs once and again when the server refuses its token', async (t) => {
  const { path, value, count } = program('first-token');
  const { gate, state } = await world(t, { Authorization: { command: [path], prefix: 'Bearer ' } });
  const [one, two] = [await peerFor('http', gate), await peerFor('http', gate)];
  await one.call('echo');
  await two.call('echo');
  assert.equal(count(), 1);
  writeFileSync(value, 'second-token\n');
  state.token = 'second-token';
  await Promise.all([one.call('echo', { again: 1 }), two.call('echo', { again: 2 })]);
  assert.equal(count(), 2, 'once for both');
});

test('scan sends the same credentials, from a file and from a program', async (t) => {
  const probe = use(t, await startProbe());
  const guard = use(t, await startGuard({ target: probe.url, authority: 'http://127.0.0.1:1', check: (shown) => shown === 'first-token' }));
  for (const header of [{ file: tempFile('secret', 'first-token\n') }, { command: [program('first-token').path] }, { file: tempFile('wrong', 'other-token\n') }]) {
    const config = tempFile('sallyport.yaml', JSON.stringify({ version: '1', servers: { s: { url: guard.url, headers: { Authorization: { prefix: 'Bearer ', ...header } } } } }));
    const { stdout, stderr } = await cli(['scan', '--mcp-config', config, '--format', 'json'], { timeout: 60_000 });
    assert.equal(/"tool":"echo"/.test(stdout), !/wrong/.test(header.file ?? ''), `${stdout}${stderr}`);
    assert.ok(!`${stdout}${stderr}`.includes('-token'));
  }
});

test('a missing file, a failing program and forbidden bytes are reported without the value', async (t) => {
  for (const [headers, why] of [
    [{ Authorization: { file: '/nowhere/at/all' } }, /header `Authorization`: read `\/nowhere/],
    [{ 'X-Key': { command: ['/bin/false'] } }, /header `X-Key`: the program failed/],
    [{ 'X-Key': { command: ['/nowhere/program'] } }, /could not be started/],
    [{ 'X-Key': { file: tempFile('bad', 'se\x01cret-token\n') } }, /forbidden bytes/],
    [{ 'X-Key': { file: tempFile('empty', '\n') } }, /empty/],
  ]) {
    const { gate } = await world(t, headers);
    const { json } = await (await peerFor('http', gate).then((peer) => peer.exchange('tools/call', { name: 'echo', arguments: {} }), (error) => ({ json: { error } })));
    assert.match(JSON.stringify(json.error?.message ?? json), why);
    assert.equal(gate.stderr.includes('cret-token'), false);
  }
});

test('a server that refuses every token is retried a few times, not endlessly', async (t) => {
  const { path, count } = program('wrong-token');
  const { gate } = await world(t, { Authorization: { command: [path], prefix: 'Bearer ' } });
  const start = Date.now();
  for (let i = 0; i < 10; i++) await assert.rejects(peerFor('http', gate));
  const spells = Math.ceil((Date.now() - start) / 10000); // once in ten seconds it is worth another try
  assert.ok(count() <= 2 + spells, `${count()} runs in ${spells} spell(s) of ten seconds`);
});
