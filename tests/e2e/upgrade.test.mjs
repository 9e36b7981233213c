// This version on a home that version 0.1.0 left: tests/fixtures/home-0.1.0.tar.gz, made with the program of that release. `clean` was stopped,
// `killed` was killed with records in its ring. Each has two grants (one revoked), five calls, an approval that waits, a value behind a token.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { LegacyHttp, cli, legacyServer, policyFile, startServe, startUpstream, tempDir, use } from '../lib/index.mjs';

const archive = fileURLToPath(new URL('../fixtures/home-0.1.0.tar.gz', import.meta.url));
const tool = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } });

for (const kind of ['clean', 'killed']) test(`a home of 0.1.0, ${kind}: grants, approvals, tokens and the log go on`, async (t) => {
  const dir = tempDir();
  execFileSync('tar', ['-xzf', archive, '-C', dir]);
  const facts = JSON.parse(readFileSync(join(dir, 'facts.json'), 'utf8'))[kind];
  const env = { SALLYPORT_HOME: join(dir, kind) };
  assert.equal(facts.version, 'sallyport 0.1.0');
  let got;
  const server = use(t, await startUpstream(legacyServer({ tools: [tool('echo'), tool('pay')], methods: { 'tools/call': ({ arguments: { mark } }) => { got = mark; return { content: [{ type: 'text', text: 'fine' }] }; } } })));
  const policy = policyFile({ version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [] }] } } });
  const config = { version: '1', policy, code: { enabled: false }, pii: { mode: 'tokenize', scope: 'grant' }, audit: { arguments: 'full' }, servers: { s: { url: server.url } } };
  const before = JSON.parse((await cli(['audit', 'verify', '--json'], { env })).stdout);
  assert.equal(before.ok, true, JSON.stringify(before));
  assert.equal(before.gates_killed, kind === 'killed' ? 1 : 0);

  const gate = use(t, await startServe({ config, args: [], env }));
  const as = (token) => LegacyHttp.open(gate.url, { headers: { Authorization: `Bearer ${token}` } });
  const client = await as(facts.token);
  await assert.rejects(as(facts.gone)); // revoked under 0.1.0
  const [value] = /\[EMAIL_\w+\]/.exec(facts.text);
  await client.call('s__echo', { mark: `to ${value}` });
  assert.equal(got, 'to ann@example.org', 'the value behind a token of 0.1.0');
  await gate.stop();
  assert.doesNotMatch(gate.stderr, /newer|damaged|was deleted/);

  const { stdout } = await cli(['audit', 'export'], { env });
  for (let i = 0; i < 5; i++) assert.ok(stdout.includes(`old-${i}`), `the record of old-${i}`);
  const after = JSON.parse((await cli(['audit', 'verify', '--json'], { env })).stdout);
  assert.ok(after.ok && after.records > before.records && after.gates_killed === 0, JSON.stringify(after));
  const approvals = JSON.parse((await cli(['approvals', 'list', '--status', 'all', '--json'], { env })).stdout);
  assert.ok(approvals.some(({ id }) => id === facts.approval), 'the approval of 0.1.0');
  assert.ok(existsSync(join(env.SALLYPORT_HOME, 'format')));
  assert.equal((await cli(['backup', join(dir, 'copy')], { env })).code, 0);
});
