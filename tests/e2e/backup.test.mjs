// backup and restore: a copy of a home in use has everything that was answered before it began, is checked, and works as a home.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LegacyHttp, cli, legacyServer, policyFile, request, startServe, startUpstream, tempDir, until, use } from '../lib/index.mjs';

const tool = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } });
const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const LIMIT = 400;

async function setUp(t) {
  const home = join(tempDir(), 'home');
  const env = { SALLYPORT_HOME: home };
  const server = use(t, await startUpstream(legacyServer({ tools: [tool('echo'), tool('pay')],
    methods: { 'tools/call': ({ arguments: { mark } }) => ({ content: [{ type: 'text', text: `${mark} ann@example.org` }] }) } })));
  const policy = policyFile({ version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [] }] }, echo: { rules: [{ name: 'daily', rate_limit: `${LIMIT}/day` }] } } });
  const config = { version: '1', policy, code: { enabled: false }, pii: { mode: 'tokenize' }, audit: { arguments: 'full' }, servers: { s: { url: server.url } } };
  const admin = (await cli(['grants', 'create', 'admin', '--role', 'admin'], { env })).stdout.trim();
  return { home, env, config, admin };
}

const serveHome = (t, { config, env }) => startServe({ config, args: [], env }).then((gate) => use(t, gate));
const inHome = (dir) => ({ env: { SALLYPORT_HOME: dir } });
const json = async (args, options) => {
  const { stdout, stderr, code } = await cli([...args, '--json'], options);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
};

test('a home whose gate has just started is backed up whole', async (t) => {
  for (let i = 0; i < 4; i++) {
    const home = join(tempDir(), 'home'), env = { SALLYPORT_HOME: home };
    const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers: {} }, args: ['--no-auth', '--workers', '2'], env }));
    const { audit_sound: sound } = await json(['backup', join(tempDir(), 'copy')], { env });
    assert.ok(sound);
    await gate.stop();
  }
});

test('a home is backed up while calls, approvals and grants are made; the copy holds everything that was answered before it began', async (t) => {
  const all = await setUp(t);
  const gate = await serveHome(t, all);
  const client = await LegacyHttp.open(gate.url, { headers: bearer(all.admin) });
  const said = { calls: [], approvals: [], grants: [] };
  let run = true;
  const load = [
    (async () => { for (let i = 0; run; i++) { const mark = `mark-${i}-end`; if ((await client.call('s__echo', { mark })).isError) break; said.calls.push(mark); } })(),
    (async () => { for (let i = 0; run && i < 40; i++) said.approvals.push((await client.exchange('tools/call', { name: 's__pay', arguments: { mark: `p${i}` } })).answer.error.data.approval_id); })(),
    (async () => { for (let i = 0; run; i++) { const { token } = JSON.parse(await (await request('POST', `${gate.origin}/api/v1/grants`, { headers: { ...bearer(all.admin), 'Content-Type': 'application/json' }, body: JSON.stringify({ name: `g${i}` }) })).text()); said.grants.push(token); } })(),
  ];
  await until('answers of each kind', () => said.calls.length >= 40 && said.approvals.length >= 5 && said.grants.length >= 3);
  const dirs = [];
  for (let i = 0; i < 3; i++) {
    const before = structuredClone(said);
    const dir = join(tempDir(), 'copy');
    const made = await json(['backup', dir], { env: all.env });
    assert.ok(made.files > 5 && made.audit_sound && made.audit_records > 0, JSON.stringify(made));
    dirs.push([dir, before]);
  }
  run = false;
  await Promise.all(load);
  await gate.stop();

  for (const [dir, before] of dirs) {
    assert.equal((await cli(['backup', '--check', dir])).code, 0);
    const home = join(tempDir(), 'restored');
    const restored = await json(['restore', dir], inHome(home));
    assert.equal(restored.home, home);
    const { stdout } = await cli(['audit', 'export'], inHome(home));
    for (const mark of before.calls) assert.ok(stdout.includes(mark), `the record of ${mark} is lost`);
    assert.ok(stdout.includes('"restored"') && stdout.includes('recovered'));
    assert.equal((await json(['audit', 'verify'], inHome(home))).ok, true);
    const approvals = new Set((await json(['approvals', 'list', '--status', 'all'], inHome(home))).map(({ id }) => id));
    for (const id of before.approvals) assert.ok(approvals.has(id), `approval ${id} is lost`);
  }
  // Limits go on where they were, or above; grants and tokens work.
  const [dir, before] = dirs.at(-1);
  const home = join(tempDir(), 'restored');
  await json(['restore', dir], inHome(home));
  const again = await serveHome(t, { config: all.config, ...inHome(home) });
  assert.ok((await LegacyHttp.open(again.url, { headers: bearer(before.grants.at(-1)) })).sessionId);
  const other = await LegacyHttp.open(again.url, { headers: bearer(all.admin) });
  let more = 0;
  while (more <= LIMIT && !(await other.call('s__echo', { mark: 'x' })).isError) more += 1;
  assert.ok(before.calls.length + more <= LIMIT, `${before.calls.length} calls before, ${more} after, limit ${LIMIT}`);
  assert.equal(again.stderr.includes('was deleted'), false);
  assert.match((await cli(['restore', dir], inHome(home))).stderr, /gates use .*stop them first/);
  await again.stop();
});

test('a backup that is incomplete, changed or of a newer format is refused, and nothing is overwritten', async (t) => {
  const all = await setUp(t);
  const gate = await serveHome(t, all);
  await (await LegacyHttp.open(gate.url, { headers: bearer(all.admin) })).call('s__echo', { mark: 'x' });
  await gate.stop();
  const dir = join(tempDir(), 'copy');
  await json(['backup', dir], { env: all.env });
  assert.match((await cli(['backup', dir], { env: all.env })).stderr, /is not empty/);
  assert.match((await cli(['backup', join(all.home, 'x')], { env: all.env })).stderr, /is inside the home/);
  assert.match((await cli(['restore', dir], { env: all.env })).stderr, /exists already: --replace/);
  const damaged = (how) => { const copy = join(tempDir(), 'damaged'); cpSync(dir, copy, { recursive: true }); how(copy); return copy; };
  const manifest = (copy, change) => { const file = join(copy, 'manifest.json'); writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file))))); };
  const cases = [
    [/has no manifest\.json/, (copy) => rmSync(join(copy, 'manifest.json'))],
    [/SHA-256 differs/, (copy) => truncateSync(join(copy, 'grants.sqlite'), statSync(join(copy, 'grants.sqlite')).size - 1)],
    [/audit\.key/, (copy) => rmSync(join(copy, 'audit.key'))],
    [/newer version/, (copy) => manifest(copy, (m) => ({ ...m, format: 2 }))],
    [/outside of the backup/, (copy) => manifest(copy, (m) => ({ ...m, files: [{ ...m.files[0], path: '../x' }] }))],
    [/is damaged/, (copy) => writeFileSync(join(copy, 'manifest.json'), '{')],
  ];
  for (const [wants, how] of cases) {
    const copy = damaged(how), home = join(tempDir(), 'restored');
    for (const args of [['backup', '--check', copy], ['restore', copy]]) {
      const { code, stderr } = await cli(args, inHome(home));
      assert.notEqual(code, 0, `${args} ${wants}`);
      assert.match(stderr, wants);
    }
    assert.equal(existsSync(home), false);
  }
  const { home } = await json(['restore', '--replace', dir], { env: all.env });
  assert.equal(home, all.home);
  assert.ok(readdirSync(join(all.home, '..')).some((name) => name.startsWith('home.before-')));
});

test('files of agents are copied whatever their names, and none of them stops a backup', async (t) => {
  const all = await setUp(t);
  await (await serveHome(t, all)).stop();
  const workspace = join(all.home, 'code', 'agent', 'workspace');
  mkdirSync(workspace, { recursive: true });
  const files = { 'poetry.lock': 'locked', 'notes.tmp': 'kept', 'junk.sqlite': 'no database', 'empty.sqlite': '', 'app.sqlite-wal': 'log' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(workspace, name), text);
  const dir = join(tempDir(), 'copy'), home = join(tempDir(), 'restored');
  await json(['backup', dir], { env: all.env });
  await json(['restore', dir], inHome(home));
  for (const [name, text] of Object.entries(files)) assert.equal(readFileSync(join(home, 'code', 'agent', 'workspace', name), 'utf8'), text, name);
});

test('a store that was deleted from the home is reported: log, status, doctor, audit log', async (t) => {
  const all = await setUp(t);
  let gate = await serveHome(t, all);
  await (await LegacyHttp.open(gate.url, { headers: bearer(all.admin) })).call('s__echo', { mark: 'x' });
  assert.equal(gate.stderr.includes('was deleted'), false, gate.stderr);
  await gate.stop();
  rmSync(join(all.home, 'state.sqlite'));
  assert.deepEqual((await json(['status'], { env: all.env })).stores_lost.map(({ name }) => name), ['state.sqlite']);
  assert.match((await cli(['status'], { env: all.env })).stdout, /Deleted from the home: state\.sqlite.*every limit can be used again/);
  assert.match((await cli(['doctor'], { env: all.env })).stdout, /state\.sqlite.*deleted, or empty/s);
  gate = await serveHome(t, all);
  await gate.child.waitLine(/`state\.sqlite` was deleted from the home.*every limit can be used again/, { stream: 'stderr' });
  await gate.stop();
  assert.match((await cli(['audit', 'export'], { env: all.env })).stdout, /store_lost.*state\.sqlite was deleted/);
  assert.deepEqual((await json(['status'], { env: all.env })).stores_lost, []);
  // One that is not a database any more stops the start.
  writeFileSync(join(all.home, 'state.sqlite'), Buffer.alloc(8192));
  const refused = await cli(['serve', '--listen', '127.0.0.1:0', '--config', writeConfig(all)], { env: all.env });
  assert.equal(refused.code, 4, refused.stderr);
});

function writeConfig({ config }) {
  const file = join(tempDir(), 'sallyport.yaml');
  writeFileSync(file, JSON.stringify(config));
  return file;
}
