// A new program takes over while clients work: no call that was accepted is lost. SALLYPORT_SWAPS says how often (10 here; `make
// torture` does 100).
import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { LegacyHttp, children, cli, commandLine, policyFile, probeCommand, request, sallyport, startServe, tempDir, tempFile, until, use } from '../lib/index.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';
import { startRedis } from '../lib/redis.mjs';

const SWAPS = Number(process.env.SALLYPORT_SWAPS ?? 10);
const [command, ...args] = probeCommand('a');
const settings = (more = {}) => ({ version: '1', policy: policyFile(), servers: { a: { command, args, share: 'shared' } }, drain: { timeout: '15s' }, ...more });
const env = () => ({ SALLYPORT_HOME: join(tempDir('handover'), 'home') });
const workersOf = (pid) => children(pid).filter((child) => commandLine(child).join(' ').includes('serve'));

const post = (url, body, { agent, headers = {} }) => new Promise((resolve, reject) => {
  const text = JSON.stringify(body);
  const asked = httpRequest(url, { method: 'POST', agent, headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    'Content-Length': Buffer.byteLength(text), ...headers } }, (answer) => {
    let got = '';
    answer.setEncoding('utf8').on('data', (chunk) => { got += chunk; }).on('error', reject)
      .on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text: got }));
  });
  asked.on('error', reject).end(text);
});

// A legacy client with a keep-alive connection: calls one after the other, and initializes again when its session is gone.
async function work(url, n, over) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const failures = [];
  let id, calls = 0, sessions = 0;
  while (!over()) {
    try {
      if (!id) {
        const { status, headers } = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } }, { agent });
        assert.equal(status, 200);
        id = headers['mcp-session-id'];
        sessions++;
      }
      const { status, text } = await post(url, { jsonrpc: '2.0', id: ++calls, method: 'tools/call', params: { name: 'a__echo', arguments: { n, calls } } },
        { agent, headers: { 'Mcp-Session-Id': id } });
      if (status === 404) { id = undefined; continue; } // as the specification says
      const json = JSON.parse(text.startsWith('{') ? text : /^data: (\{.*)$/m.exec(text)[1]);
      if (status !== 200 || !json.result || json.id !== calls) failures.push(`${status} ${text.slice(0, 200)}`);
    } catch (error) { failures.push(`${error.code ?? ''} ${error.message}`); }
  }
  agent.destroy();
  return { calls, sessions, failures };
}

test(`${SWAPS} hand-overs under load lose no call, and keep the process number`, { timeout: 120_000 + SWAPS * 30_000 }, async (t) => {
  const home = env();
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '2'], env: home }));
  let over = false;
  const clients = Array.from({ length: 6 }, (_, n) => work(gate.url, n, () => over));
  for (let swap = 1; swap <= SWAPS; swap++) {
    process.kill(gate.pid, 'SIGUSR2');
    await until(`swap ${swap}`, () => (gate.stderr.match(/listening on/g) ?? []).length === swap + 1);
  }
  over = true;
  const done = await Promise.all(clients);
  assert.deepEqual(done.flatMap(({ failures }) => failures), []);
  assert.ok(done.every(({ calls }) => calls > SWAPS), JSON.stringify(done));
  process.kill(gate.pid, 'SIGTERM');
  assert.deepEqual(await gate.child.wait(), { code: 0, signal: null });
  const { code, stdout } = await cli(['audit', 'verify'], { env: home });
  assert.equal(code, 0, stdout);
});

test('a session continues in the old program until it ends', async (t) => {
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '1'], env: env() }));
  const client = await LegacyHttp.open(gate.url);
  const mark = async () => JSON.parse((await client.call('a__mark')).content[0].text).pid;
  const before = await mark();
  const [old] = workersOf(gate.pid);
  process.kill(gate.pid, 'SIGUSR2');
  await gate.child.waitLine(/another process takes over/, { stream: 'stderr' });
  assert.equal(await mark(), before, 'the same server process answers, through the new program');
  assert.ok(workersOf(gate.pid).includes(old));
});

test('a program or settings that do not start change nothing', async (t) => {
  const path = tempFile('sallyport.yaml', JSON.stringify(settings()));
  const gate = use(t, await startServe({ args: ['--no-auth', '--workers', '1', '--config', path], env: env() }));
  const [worker] = workersOf(gate.pid);
  writeFileSync(path, 'version: "1"\nservres: {}\n');
  process.kill(gate.pid, 'SIGUSR2');
  await gate.child.waitLine(/does not start with the current settings, policies and stores; nothing has changed/, { stream: 'stderr' });
  assert.deepEqual(workersOf(gate.pid), [worker]);
  assert.equal((await request('GET', `${gate.origin}/readyz`)).status, 200);
});

for (const [what, spoil, why] of [
  ['policy', ({ policy }) => writeFileSync(policy, 'version: "1"\ndefault: perhaps\n'), /default must be "allow" or "deny"/],
  ['home of a newer version', ({ home }) => writeFileSync(join(home, 'format'), 'sallyport home 99\n'), /newer/],
  ['store of grants', ({ home }) => writeFileSync(join(home, 'grants.sqlite'), 'no database at all, but long enough to be looked at'.repeat(100)), /grants/],
]) {
  test(`a broken ${what} changes nothing: the old program keeps running`, async (t) => {
    const { SALLYPORT_HOME: home } = env(), policy = policyFile();
    assert.equal((await cli(['grants', 'create', 'a', '--json'], { env: { SALLYPORT_HOME: home } })).code, 0);
    const gate = use(t, await startServe({ config: settings({ policy }), args: ['--no-auth', '--workers', '1'], env: { SALLYPORT_HOME: home } }));
    const [worker] = workersOf(gate.pid);
    spoil({ policy, home });
    process.kill(gate.pid, 'SIGUSR2');
    await gate.child.waitLine(why, { stream: 'stderr' });
    await gate.child.waitLine(/does not start with the current settings, policies and stores/, { stream: 'stderr' });
    assert.deepEqual(workersOf(gate.pid), [worker]);
    assert.equal((await request('GET', `${gate.origin}/readyz`)).status, 200);
  });
}

// A store on the network: {settings, stop, start, why}.
async function redisStore() {
  const redis = await startRedis();
  return { state: { dsn: redis.dsn }, stop: redis.stop, start: redis.restart, why: /counters/ };
}
async function postgresStore() {
  const pg = await startPostgres();
  return { state: { database: `postgres://${pg.user}@/postgres?host=${pg.socket}` }, stop: () => pg.stop('SIGINT'), start: pg.start, why: /state\.database/ };
}
for (const [what, startStore, skip] of [['Redis', redisStore], ['PostgreSQL', postgresStore, !postgresPrograms() && 'no PostgreSQL here: scripts/setup test installs it']]) {
  test(`without ${what} the old program stays; with it the new one takes over`, { skip }, async (t) => {
    const store = await startStore();
    t.after(() => store.stop());
    const gate = use(t, await startServe({ config: settings({ state: store.state }), args: ['--no-auth', '--workers', '1'], env: env() }));
    const [worker] = workersOf(gate.pid);
    await store.stop();
    process.kill(gate.pid, 'SIGUSR2');
    await gate.child.waitLine(store.why, { stream: 'stderr' });
    await gate.child.waitLine(/does not start with the current settings, policies and stores; nothing has changed/, { stream: 'stderr' });
    assert.deepEqual(workersOf(gate.pid), [worker]);
    await store.start();
    process.kill(gate.pid, 'SIGUSR2');
    await gate.child.waitLine(/another process takes over/, { stream: 'stderr' });
    await until('a new worker', () => workersOf(gate.pid).some((pid) => pid !== worker));
  });
}

test('without a supervisor SIGUSR2 says what is missing', async (t) => {
  const gate = use(t, await startServe({ config: settings(), env: env() }));
  process.kill(gate.pid, 'SIGUSR2');
  await gate.child.waitLine(/a hand-over needs a supervisor: start the gate with --workers 1/, { stream: 'stderr' });
  assert.equal((await request('GET', `${gate.origin}/readyz`)).status, 200);
});

// As systemd does it: descriptor 3 listens already, and the program's own number is in LISTEN_PID.
const activated = (fd, words, more) => spawn('/bin/sh', ['-c', 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"', sallyport, ...words],
  { stdio: ['ignore', 'ignore', 'pipe', fd], env: { ...process.env, ...more } });

test('socket activation: connections that were made before the start are served, and the next start takes the same socket', async (t) => {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const { port } = server.address(), url = `http://127.0.0.1:${port}/healthz`, home = env();
  const words = ['serve', '--no-auth', '--listen', '127.0.0.1:1', '--config', tempFile('sallyport.yaml', JSON.stringify(settings({ drain: { timeout: '1s' } })))];
  server.unref();
  server._handle.unref?.();
  for (let round = 0; round < 2; round++) {
    const gate = activated(server._handle.fd, words, home);
    let stderr = '';
    gate.stderr.setEncoding('utf8').on('data', (chunk) => { stderr += chunk; });
    t.after(() => gate.kill('SIGKILL'));
    await until(`listening: ${stderr}`, () => { if (gate.exitCode !== null) throw new Error(stderr); return /listening on http:\/\/127\.0\.0\.1/.test(stderr); });
    assert.match(stderr, new RegExp(`:${port}/mcp`), 'the socket says where, not the settings');
    const exited = new Promise((done) => gate.on('exit', (code) => done(code)));
    gate.kill('SIGTERM');
    assert.equal(await exited, 0);
  }
  assert.ok(url);
});

test('an inherited descriptor that is not a listening socket is refused', async () => {
  const file = tempFile('nothing', ''), { openSync, closeSync } = await import('node:fs');
  const fd = openSync(file);
  const gate = activated(fd, ['serve', '--no-auth', '--config', tempFile('sallyport.yaml', JSON.stringify(settings()))], env());
  let stderr = '';
  gate.stderr.setEncoding('utf8').on('data', (chunk) => { stderr += chunk; });
  assert.equal(await new Promise((done) => gate.on('close', (code) => done(code))), 3);
  closeSync(fd);
  assert.match(stderr, /not a listening TCP socket/);
});

test('after a package upgrade the new program takes over', async (t) => {
  const dir = tempDir('program'), program = join(dir, 'sallyport'), home = env();
  copyFileSync(sallyport, program);
  chmodSync(program, 0o755);
  const child = spawn(program, ['serve', '--no-auth', '--workers', '1', '--listen', '127.0.0.1:0', '--config', tempFile('sallyport.yaml', JSON.stringify(settings()))],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...home } });
  t.after(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => { stderr += chunk; });
  await until('up', () => /listening on/.test(stderr));
  rmSync(program); // as dpkg does: the old file goes, another one has its name
  copyFileSync(sallyport, program);
  chmodSync(program, 0o755);
  child.kill('SIGUSR2');
  await until(`taken over: ${stderr}`, () => (stderr.match(/listening on/g) ?? []).length === 2);
  assert.doesNotMatch(readFileSync(`/proc/${child.pid}/maps`, 'utf8').split('\n')[0], /deleted/);
  const exited = new Promise((done) => child.on('exit', (code) => done(code)));
  child.kill('SIGTERM');
  assert.equal(await exited, 0);
});
