// One client cannot exhaust shared resources: connections and bytes of unauthenticated clients, connections, sessions and server
// processes of one grant.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { alive, cli, fdCount, formatRequest, HttpConnection, legacyServer, mayGrow, peerFor, policyFile, post, probeCommand, rawStdio, rssBytes, sanitized, startGate, startServe, startUpstream, tempDir, tempFile, until, use } from '../lib/index.mjs';

const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } };
const MB = 1 << 20;

async function world(t) {
  const home = join(tempDir(), 'home');
  const token = {};
  for (const name of ['greedy', 'modest']) {
    const { code, stdout, stderr } = await cli(['grants', 'create', name], { env: { SALLYPORT_HOME: home } });
    assert.equal(code, 0, stderr);
    token[name] = stdout.trim();
  }
  const server = use(t, await startUpstream(legacyServer()));
  const gate = use(t, await startGate({ upstream: server.url, args: ['--token-file', tempFile('token', 'the-one-token-of-the-gate')], env: { SALLYPORT_HOME: home } }));
  return { gate, token };
}

const opens = async (gate, token) => (await post(gate.url, initialize, { headers: bearer(token) })).status;
const head = (gate, headers) => formatRequest('POST', gate.url, { headers: { ...JSON_HEADERS, ...headers } });

describe('an unauthenticated client', { concurrency: 1 }, () => {
  test('is answered before a large body is read, with or without a length', async (t) => {
    const { gate, token } = await world(t);
    for (const headers of [{}, bearer('sp_wrong')]) {
      const connection = await HttpConnection.open(gate.url);
      connection.write(head(gate, { ...headers, 'Content-Length': 60 * MB }));
      const response = await connection.response();
      assert.deepEqual([response.status, response.headers.connection], [401, 'close']);
      connection.close();
      const chunked = await HttpConnection.open(gate.url);
      chunked.write(head(gate, { ...headers, 'Transfer-Encoding': 'chunked' }));
      const answered = chunked.response();
      for (let i = 0; i < 20 && !chunked.socket.destroyed; i++) chunked.write(Buffer.concat([Buffer.from(`${(MB / 8).toString(16)}\r\n`), Buffer.alloc(MB / 8, 0x20), Buffer.from('\r\n')]));
      assert.equal((await answered).status, 401);
      chunked.close();
    }
    const known = await HttpConnection.open(gate.url);
    const body = Buffer.from(JSON.stringify(initialize) + ' '.repeat(3 * MB));
    known.write(head(gate, { ...bearer(token.modest), 'Content-Length': body.length }));
    known.write(body);
    assert.equal((await known.response()).status, 200, 'who may send it is not asked to wait');
    known.close();
  });

  test('holds neither connections nor memory: the oldest waiting connections are closed', async (t) => {
    const { gate, token } = await world(t);
    const before = rssBytes(gate.pid), fds = fdCount(gate.pid);
    const open = [];
    for (let i = 0; i < 300; i++) {
      const connection = await HttpConnection.open(gate.url);
      if (i % 3 === 0) connection.write('POST /mcp HTTP/1.1\r\nHost: 127');
      if (i % 3 === 1) connection.write(head(gate, { 'Content-Length': MB })).write(Buffer.alloc(MB / 2, 0x20));
      open.push(connection);
    }
    assert.equal(await opens(gate, token.modest), 200);
    // Refused connections stay open for a short time, until their last bytes are read.
    await until(() => `${fdCount(gate.pid) - fds} more descriptors to become 150`, () => fdCount(gate.pid) - fds < 150);
    assert.ok(rssBytes(gate.pid) - before < mayGrow(gate.pid, 64 * MB), `${(rssBytes(gate.pid) - before) / MB} MB more`);
    assert.equal(await open[0].readSome(), null, 'the first one was closed');
    for (const connection of open) connection.close();
  });
});

describe('one grant', { concurrency: 1, skip: sanitized && 'thousands of sessions take too long with sanitizers' }, () => {
  test('gets half of the sessions; another one still opens its own', async (t) => {
    const { gate, token } = await world(t);
    const connection = await HttpConnection.open(gate.url);
    let opened = 0;
    for (; opened <= 6000; opened++) {
      connection.send('POST', { headers: { ...JSON_HEADERS, ...bearer(token.greedy) }, body: initialize });
      const response = await connection.response();
      const answer = await response.json();
      if (response.status === 503) {
        assert.match(answer.error.message, /too many sessions/);
        break;
      }
      assert.equal(response.status, 200);
    }
    assert.equal(opened, 5000);
    for (let i = 0; i < 20; i++) assert.equal(await opens(gate, token.modest), 200);
    connection.close();
  });

  test('gets half of the connections; another one can still connect', async (t) => {
    const { gate, token } = await world(t);
    const kept = [];
    let refused = 0;
    for (let i = 0; i < 2100; i++) {
      const connection = await HttpConnection.open(gate.url);
      connection.send('GET', { path: '/mcp/servers', headers: bearer(token.greedy) });
      const response = await connection.response();
      await response.text();
      if (response.status === 503) refused++;
      else kept.push(connection);
    }
    assert.ok(kept.length > 2000 && kept.length <= 2049, `${kept.length} kept`);
    assert.ok(refused > 0);
    assert.equal(await opens(gate, token.modest), 200);
    for (const connection of kept) connection.close();
  });
});

describe('server processes', { concurrency: 1 }, () => {
  const [command, ...args] = probeCommand('a');
  async function processes(t, sessions, names = ['greedy', 'modest']) {
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const token = {};
    for (const name of names) token[name] = (await cli(['grants', 'create', name], { env })).stdout.trim();
    const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers: { a: { command, args } }, sessions }, args: [], env }));
    /** A new session whose first call needs a process: the process id, or the error. */
    const open = async (name) => {
      const peer = await peerFor('http', gate, { headers: bearer(token[name]) });
      const ask = async () => {
        const { error, result } = (await peer.exchange('tools/call', { name: 'a__mark', arguments: {} })).json;
        return error ? error.message : JSON.parse(result.content[0].text).pid;
      };
      return { peer, ask, said: await ask() };
    };
    return { open };
  }

  test('one grant gets half of the server processes; another one still starts its own', async (t) => {
    const { open } = await processes(t, { processes: 6 });
    const taken = [];
    for (let i = 0; i < 5; i++) taken.push(await open('greedy'));
    assert.deepEqual(taken.map(({ said }) => typeof said), ['number', 'number', 'number', 'string', 'string']);
    assert.match(taken[4].said, /^server `a` cannot be started: this grant has 3 server processes, as many as it may have; .*sessions\.processes/);
    const other = await open('modest');
    assert.equal(typeof other.said, 'number');
    assert.equal(await taken[0].ask(), taken[0].said, 'its processes go on');
    assert.equal(typeof await taken[3].ask(), 'string');
    // Room again, when a process has exited.
    await taken[0].peer.end();
    await until('a process to exit', async () => typeof await taken[3].ask() === 'number');
    assert.equal(alive(taken[0].said), false);
    assert.equal(typeof await taken[4].ask(), 'string');
  });

  test('processes of sessions that have ended count until they have exited', async (t) => {
    const { open } = await processes(t, { processes_per_grant: 2 });
    const sessions = [await open('greedy'), await open('greedy')];
    for (const { said } of sessions) process.kill(said, 'SIGSTOP'); // ends neither with its input nor on SIGTERM
    for (const { peer } of sessions) await peer.end();
    const late = await open('greedy');
    // On a slow machine they may have been killed before the call.
    if (sessions.every(({ said }) => alive(said)))
      assert.match(late.said, /this grant has 2 server processes, .*sessions\.processes_per_grant/);
    assert.equal(typeof (await open('modest')).said, 'number');
    await until('a stopped process to be killed', async () => typeof await late.ask() === 'number');
  });
});

test('one grant gets half of the bytes in flight; another one still sends a large message', async (t) => {
  const { gate, token } = await world(t);
  const ask = async (as) => {
    const connection = await HttpConnection.open(gate.url);
    connection.write(head(gate, { ...bearer(token[as]), 'Content-Length': 60 * MB, Expect: '100-continue' }));
    return { connection, said: String(await connection.readSome()).slice(9, 12) };
  };
  const asked = [];
  do asked.push(await ask('greedy')); while (asked.at(-1).said === '100');
  assert.deepEqual([asked.at(-1).said, asked.length > 3, asked.length < 7], ['503', true, true], `${asked.length} asked`);
  asked.push(await ask('modest'));
  assert.equal(asked.at(-1).said, '100');
  for (const { connection } of asked) connection.close();
});

describe('a noisy server', { concurrency: 1 }, () => {
  // 100,000 lines on stderr and as many on stdout that are no messages.
  const command = rawStdio(async (io) => {
    await io.serve({
      'tools/call': async () => {
        const text = (what) => Array.from({ length: 100_000 }, (_, i) => `${what} ${i} ${'x'.repeat(100)}\n`).join('');
        const { writeSync } = process.getBuiltinModule('node:fs');
        for (const [fd, what] of [[2, 'oops'], [1, 'not json']]) {
          const bytes = Buffer.from(text(what));
          for (let at = 0; at < bytes.length;) {
            try { at += writeSync(fd, bytes, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
          }
        }
        return { content: [] };
      },
    });
  });

  test('fills neither the log nor the audit log; both state how much was dropped', async (t) => {
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const gate = use(t, await startGate({ transport: 'stdio', command, args: ['--name', 'loud'], env }));
    await gate.rpc.exchange('initialize', initialize.params);
    const answer = await gate.rpc.exchange('tools/call', { name: 'x', arguments: {} });
    assert.deepEqual(answer.result.content, []);
    await gate.child.waitLine(/server `loud`: \d+ more lines of its own \(\d+ bytes\) within a second were not written/, { stream: 'stderr' });
    await gate.child.waitLine(/server `loud`: \d+ more lines that are no messages/, { stream: 'stderr' });
    assert.ok(gate.stderr.length < 2 * MB, `${gate.stderr.length} bytes of log`);
    let records;
    const counted = async () => {
      const { stdout } = await cli(['audit', 'query', '--verdict', 'deny', '--limit', '10000', '--json'], { env });
      records = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
      return records.reduce((sum, { text }) => sum + Number(/^(\d+) more that were not recorded one by one$/.exec(text)?.[1] ?? 1), 0);
    };
    await until('each line to be counted', async () => await counted() >= 100_000); // those of a second when it is over
    assert.equal(await counted(), 100_000);
    assert.ok(records.length < 5000, `${records.length} records`);
  });

  test('cannot write invisible characters to a terminal', async (t) => {
    const sneaky = rawStdio(async (io) => {
      process.stderr.write('a\u009b31mb \u202egnp.exe c\u200bd \u2066e \u001b[2J f\u{e0041} \u00e9 \u2764\ufe0f\n');
      process.stderr.write(Buffer.from([0x9b, 0x33, 0x31, 0x6d, 0x0a]));
      await io.serve({});
    });
    const gate = use(t, await startGate({ transport: 'stdio', command: sneaky, args: ['--name', 'sly'] }));
    const line = await gate.child.waitLine(/\[sly\] a/, { stream: 'stderr' });
    assert.match(line, /\[sly\] a<U\+009B>31mb <U\+202E>gnp\.exe c<U\+200B>d <U\+2066>e {2}\[2J f<U\+E0041> \u00e9 \u2764\ufe0f$/);
    await gate.child.waitLine(/\[sly\] \?31m$/, { stream: 'stderr' });
  });
});
