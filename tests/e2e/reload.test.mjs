// New settings in a gate that runs (docs/serve.md, Changes): one gate, one client session, and each part of the file that can be
// followed is applied without a restart. What needs one is reported in the log, by the API and in `status`.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { closeSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LegacyHttp, cli, legacyServer, peerFor, policyFile, probeCommand, request, startServe, startUpstream, tempDir, tempFile, use } from '../lib/index.mjs';

const SECRET = 'a secret of the second settings';
const program = ([command, ...args]) => ({ command, args });
const asking = (more = {}) => policyFile({ version: '1', default: 'allow', tools: { mark: { approve_if: [{ conditions: [] }] } }, ...more });

describe('settings that change', { concurrency: 1 }, () => {
  const home = join(tempDir(), 'home');
  const env = { SALLYPORT_HOME: home };
  const path = tempFile('sallyport.yaml', '');
  const first = { version: '1', listen: '127.0.0.1:0', policy: asking(), servers: { a: program(probeCommand('a')) }, code: { enabled: false }, approvals: { mode: 'retry' } };
  let gate, client;

  const write = (settings) => writeFileSync(path, JSON.stringify(settings));
  const get = async (what) => (await request('GET', `${gate.origin}/api/v1/${what}`)).json();
  // Changes to the first ones; in force, or refused, when this returns.
  const change = async (more, ...lines) => {
    write({ ...first, ...more });
    for (const line of lines.length ? lines : [/settings reloaded/]) await gate.child.waitLine(line, { stream: 'stderr' });
  };

  before(async () => {
    write(first);
    gate = await startServe({ listen: null, args: ['--no-auth', '--config', path], env });
    client = await LegacyHttp.open(gate.url);
    assert.match((await client.call('a__echo', { n: 1 })).content[0].text, /"n":1/);
  });
  after(() => gate?.stop());

  test('a change of the default policy takes effect', async () => {
    await change({ policy: asking({ hide: ['echo'] }) });
    assert.ok(!(await client.request('tools/list')).tools.some(({ name }) => name === 'a__echo'));
    await assert.rejects(client.call('a__echo', {}), /Unknown tool/);
    await change({});
    assert.match((await client.call('a__echo', { n: 2 })).content[0].text, /"n":2/);
  });

  test('a policy that does not load: nothing changes, and the API says why', async () => {
    await change({ policy: policyFile('version: "1"\ntols: {}\n') }, /the old settings stay in force/);
    assert.match((await get('status')).settings_fault, /load policy/);
    assert.match((await client.call('a__echo', { n: 3 })).content[0].text, /"n":3/);
    await change({});
    assert.equal((await get('status')).settings_fault, undefined);
  });

  test('a change of audit.arguments takes effect', async () => {
    const newest = async () => (await get('audit?tool=echo&limit=1'))[0];
    assert.ok(!JSON.stringify(await newest()).includes('needle'));
    await change({ audit: { arguments: 'full' } });
    await client.call('a__echo', { hay: 'needle' });
    assert.match(JSON.stringify(await newest()), /needle/);
  });

  test('a change of the pii mode and its rules takes effect', async () => {
    await change({ pii: { mode: 'redact' } });
    const { content } = await client.call('a__echo', { to: 'jane.roe@example.com' });
    assert.ok(!content[0].text.includes('jane.roe@example.com'), content[0].text);
    // Rules of a file, with kinds of one's own: in force in open sessions, whose tokens stay what they are.
    const said = async (to) => JSON.parse((await client.call('a__echo', { to })).content[0].text).to;
    await change({ pii: { mode: 'tokenize' } });
    const token = await said('jane.roe@example.com');
    assert.match(token, /^\[EMAIL_\w+\]$/);
    assert.equal(await said('C-123456'), 'C-123456');
    const rules = tempFile('pii.yaml', JSON.stringify({ version: '1', custom: [{ name: 'CUSTOMER', literal: 'C-', pattern: 'C-[0-9]{6}', match: ['C-123456'], nomatch: ['C-12'] }] }));
    await change({ pii: { mode: 'tokenize', rules } });
    const customer = await said('C-123456');
    assert.match(customer, /^\[CUSTOMER_\w+\]$/);
    assert.deepEqual([await said('jane.roe@example.com'), await said(token)], [token, token]);
    await change({ pii: { mode: 'tokenize', rules: tempFile('bad.yaml', 'custum: []') } }, /load PII rules.*did you mean `custom`.*the old settings stay/);
    assert.equal(await said('C-123456'), customer);
    await change({ pii: { mode: 'off' } });
    assert.match((await client.call('a__echo', { to: 'jane.roe@example.com' })).content[0].text, /jane\.roe@example\.com/);
  });

  test('changes of the approval mode, the webhook and its secret take effect', async (t) => {
    await assert.rejects(client.call('a__mark', { n: 1 }), { code: -32003 });
    let told;
    const heard = new Promise((resolve) => { told = resolve; });
    const hook = use(t, await startUpstream((req, reply) => { if (req.json.approval.arguments.n === 2) told(req.json.approval); reply.json({}); }));
    await change({ approvals: { mode: 'hold', webhook: hook.url, secret: SECRET } });
    const peer = await peerFor('http', gate, { capabilities: {} });
    const held = peer.call('a__mark', { n: 2 });
    const { id } = await heard;
    const body = JSON.stringify({ approval_id: id, decision: 'approve', by: 'carol' });
    const at = `${Math.floor(Date.now() / 1000)}`;
    const callback = (secret) => request('POST', `${gate.origin}/api/v1/approvals/callback`, { body, headers: { 'Content-Type': 'application/json',
      'Sallyport-Timestamp': at, 'Sallyport-Signature': `v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}` } });
    assert.equal((await callback('a secret of nobody at all')).status, 401);
    assert.equal((await callback(SECRET)).status, 200);
    assert.match((await held).content[0].text, /"mark":"a"/);
    await change({});
    assert.equal((await callback(SECRET)).status, 401, 'the old secret is nobody\'s');
    await assert.rejects(client.call('a__mark', { n: 3 }), { code: -32003 });
  });

  test('a webhook without a secret is refused', async () => {
    await change({ approvals: { webhook: 'https://hook.example.com/' } }, /needs a secret.*the old settings stay/);
    await change({});
  });

  test('a change of the trace collector takes effect', async (t) => {
    let spanned;
    const span = new Promise((resolve) => { spanned = resolve; });
    const collector = use(t, await startUpstream((req, reply) => { spanned(req.json); reply.json({}); }, { path: '' }));
    await change({ traces: { otlp: collector.url } });
    await client.call('a__echo', {});
    assert.ok((await span).resourceSpans.length > 0);
    await change({});
  });

  test('a change of the log level takes effect', async () => {
    const lines = () => gate.stderr.match(/settings reloaded/g).length;
    const before = lines();
    await change({ log: { level: 'warn' }, listen: '127.0.0.1:1' }, /needs? a restart.*: listen/);
    await change({});
    assert.equal(lines(), before + 1, 'one of the two was worth no line');
  });

  test('settings that need a restart are reported until they are reverted', async () => {
    const more = { listen: '127.0.0.1:1', state: { dsn: 'sqlite:elsewhere' }, audit: { arguments: 'keys', durable: true } };
    await change(more, /settings reloaded/, /needs? a restart.*: listen, state\.dsn, audit\.durable/);
    assert.equal((await get('status')).restart_needed_for, 'listen, state.dsn, audit.durable');
    assert.match((await client.call('a__echo', { n: 5 })).content[0].text, /"n":5/);
    const { stdout } = await cli(['status'], { env });
    assert.match(stdout, /Last reload: .*needs? a restart.*: listen, state\.dsn, audit\.durable/);
    await change({});
    assert.equal((await get('status')).restart_needed_for, undefined);
  });
});

test('a policy is reloaded when it is complete: the gate waits for a half-written file, but not after a rename or SIGHUP', async (t) => {
  const path = policyFile('version: "1"\ndefault: allow\n');
  const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': () => ({ content: [] }) } })));
  const gateWith = async (reload) => {
    const gate = use(t, await startServe({ config: { version: '1', policy: path, servers: { one: { url: server.url } }, reload } }));
    const client = await LegacyHttp.open(`${gate.url}/one`);
    return { gate, allowed: async (name) => !(await client.call(name, {})).isError, reloaded: () => gate.child.waitLine(/policy reloaded/, { stream: 'stderr' }) };
  };
  const { allowed, reloaded } = await gateWith({ quiet: '12s' });
  assert.equal(await allowed('a'), true);

  // An allow-all policy with a deny at its end, written in two halves of which the first one is valid by itself.
  const half = 'version: "1"\ndefault: allow\ntools:\n  b:\n    rules:\n      - action: deny\n';
  const file = openSync(path, 'w');
  writeSync(file, half);
  const halves = reloaded();
  for (const until = Date.now() + 1000; Date.now() < until;) assert.equal(await allowed('b'), true, 'half a file is not in force');
  writeSync(file, '  a:\n    rules:\n      - action: deny\n');
  closeSync(file);
  await halves;
  assert.deepEqual([await allowed('a'), await allowed('b'), await allowed('c')], [false, false, true]);

  const hasty = await gateWith({ quiet: '10m', longest: '20m' });
  writeFileSync(`${path}.new`, 'version: "1"\ndefault: deny\n');
  renameSync(`${path}.new`, path);
  await hasty.reloaded();
  assert.equal(await hasty.allowed('c'), false);
  writeFileSync(path, 'version: "1"\ndefault: allow\n');
  process.kill(hasty.gate.pid, 'SIGHUP');
  await hasty.reloaded();
  assert.equal(await hasty.allowed('c'), true);
});
