// More about server processes (protocol.md U6, H13, J6): the ways they misbehave that need a server made for it.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  LegacyHttp, StdioPeer, alive, cli, descendants, fdCount, initializeParams, onlyHelpers, pair, peerFor, policyFile, post, probeCommand, rawStdio, rssBytes, startGate, tempDir, until, use, within,
} from '../lib/index.mjs';

const MB = 1 << 20;
const gone = (...pids) => until(`the end of ${pids}`, () => !pids.some(alive));
const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initializeParams() };

describe('U6 no orphans', { concurrency: 3 }, () => {
  // The grandchild has a session of its own and ignores whatever can be ignored.
  const daemons = rawStdio(async (io) => {
    const { spawn } = process.getBuiltinModule('node:child_process');
    const { once } = process.getBuiltinModule('node:events');
    const script = 'for (const s of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(s, () => {}); console.log("up"); setInterval(() => {}, 1000)';
    const child = spawn(process.execPath, ['-e', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    await io.serve({ 'tools/call': () => ({ pid: process.pid, daemon: child.pid }) });
  });

  test('a server\'s daemon, with a session of its own, ends with a gate that was killed', async (t) => {
    const gate = use(t, await startGate({ command: daemons }));
    const { pid, daemon } = await (await LegacyHttp.open(gate.url)).call('pids');
    const below = descendants(gate.pid);
    t.after(() => { try { process.kill(daemon, 'SIGKILL'); } catch { /* as it should be */ } });
    process.kill(gate.pid, 'SIGKILL');
    await gone(pid, ...below, daemon);
  });

  test('a server\'s daemon ends with a gate that shuts down normally, on stdio and over HTTP', async (t) => {
    for (const transport of ['stdio', 'http']) {
      const gate = use(t, await startGate({ transport, command: daemons }));
      const { pid, daemon } = transport === 'stdio' ? await gate.rpc.initialize().then(() => gate.rpc.call('pids')) : await (await LegacyHttp.open(gate.url)).call('pids');
      t.after(() => { try { process.kill(daemon, 'SIGKILL'); } catch { /* as it should be */ } });
      await gate.stop();
      await gone(pid, daemon);
    }
  });

  test('many sessions one after the other: every child reaped, every descriptor given back', async (t) => {
    const gate = use(t, await startGate({ command: rawStdio((io) => io.serve()) }));
    const round = async () => { const client = await LegacyHttp.open(gate.url); await client.end(); };
    await Promise.all([round(), round(), round()]);
    await until('the spawner and its successor alone', () => onlyHelpers(gate.pid));
    const before = fdCount(gate.pid);
    for (let i = 0; i < 4; i++) await Promise.all([round(), round(), round()]);
    await until(() => `${fdCount(gate.pid)} descriptors to become ${before}`, () => onlyHelpers(gate.pid) && fdCount(gate.pid) <= before);
  });

  test('a server that is stopped (SIGSTOP) is still killed', async (t) => {
    const { gate, peer } = await pair(t, 'stdio', 'child');
    const { pid } = await peer.ask('process');
    process.kill(pid, 'SIGSTOP');
    gate.child.stdin.end();
    assert.equal((await gate.child.wait()).code, 137);
    await gone(pid);
  });
});

describe('how a server starts and ends', { concurrency: 3 }, () => {
  test('over HTTP, a command that cannot be started is reported to every client and the gate keeps running', async (t) => {
    const plain = join(tempDir(), 'plain');
    writeFileSync(plain, 'no program');
    chmodSync(plain, 0o644);
    for (const [command, why] of [['/nonexistent/server', /No such file/], ['no-such-program-anywhere', /No such file/], [plain, /Permission denied/]]) {
      const gate = use(t, await startGate({ command: [command] }));
      for (let i = 0; i < 2; i++) {
        const response = await post(gate.url, initialize);
        const { error, id } = await response.json();
        assert.deepEqual([error.code, id, response.status, response.headers['mcp-session-id']], [-32603, 1, 200, undefined]);
        assert.match(error.message, why);
        assert.match(error.message, /server `/);
      }
      assert.equal((await post(gate.origin, undefined, { path: '/healthz' })).status < 500, true);
    }
  });

  test('on stdio, the status is 127 for a missing command and 126 for one that may not be executed', async (t) => {
    const plain = join(tempDir(), 'plain');
    writeFileSync(plain, 'no program');
    for (const [command, code] of [['no-such-program-anywhere', 127], [plain, 126]]) {
      const gate = use(t, await startGate({ transport: 'stdio', command: [command] }));
      assert.equal((await gate.child.wait()).code, code, command);
      assert.match(gate.stderr, /could not be started|No such file|Permission denied/);
    }
  });

  test('a server that ends before it answers initialize: an error over HTTP, its status on stdio', async (t) => {
    const command = rawStdio(async (io) => { await io.next(); io.log('I will not'); io.exit(4); });
    const gate = use(t, await startGate({ command }));
    const { error } = await (await post(gate.url, initialize)).json();
    assert.match(error.message, /exited with status 4/);
    const stdio = use(t, await startGate({ transport: 'stdio', command }));
    stdio.rpc.send(initialize);
    assert.equal((await stdio.rpc.next((message) => message.id === 1)).error.code, -32603);
    assert.equal((await stdio.child.wait()).code, 4);
    assert.match(stdio.stderr, /\[raw-stdio.mjs\] I will not/);
  });

  test('a server that closes its output but lives on is not waited for', async (t) => {
    const command = rawStdio(async (io) => {
      await io.serve({ 'tools/call': async () => { process.getBuiltinModule('node:fs').closeSync(1); setInterval(() => {}, 1000); await new Promise(() => {}); } });
    });
    const gate = use(t, await startGate({ command }));
    const client = await LegacyHttp.open(gate.url);
    const { answer } = await client.exchange('tools/call', { name: 'x', arguments: {} });
    assert.equal(answer.error.code, -32603);
    assert.match(answer.error.message, /server `raw-stdio.mjs`/);
  });

  test('a server has ended even if a process that it left behind holds its output', async (t) => {
    const command = rawStdio(async (io) => {
      const { spawn } = process.getBuiltinModule('node:child_process');
      await io.serve({
        'tools/call': async ({ name }) => {
          if (name === 'pid') return { pid: process.pid };
          const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'inherit' });
          await new Promise((resolve) => { left.on('spawn', resolve); });
          return io.exit(6);
        },
      });
    });
    const gate = use(t, await startGate({ command }));
    const client = await LegacyHttp.open(gate.url);
    const first = (await client.call('pid')).pid;
    const { answer } = await client.exchange('tools/call', { name: 'x', arguments: {} });
    assert.match(answer.error.message, /exited with status 6/);
    assert.notEqual((await client.call('pid')).pid, first, 'started again');
    const stdio = use(t, await startGate({ transport: 'stdio', command }));
    await stdio.rpc.initialize();
    stdio.rpc.send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'x', arguments: {} } });
    assert.equal((await stdio.child.wait()).code, 6);
  });

  test('SIGHUP reaches the server on stdio; over HTTP it changes nothing', async (t) => {
    const stdio = await pair(t, 'stdio', 'child');
    await stdio.peer.call('onSignal', { signal: 'SIGHUP', code: 11 });
    process.kill(stdio.gate.pid, 'SIGHUP');
    assert.deepEqual(await stdio.gate.child.wait(), { code: 11, signal: null });
    const http = await pair(t, 'http', 'child');
    process.kill(http.gate.pid, 'SIGHUP');
    assert.deepEqual(await http.peer.ask('echo', { a: 1 }), { a: 1 });
  });

  test('a client that closes stdout ends the gate and the server', async (t) => {
    const { gate, peer } = await pair(t, 'stdio', 'child');
    const { pid } = await peer.ask('process');
    gate.child.process.stdout.destroy();
    gate.rpc.send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'echo', arguments: {} } });
    await within(gate.child.exited, 'the end of the gate');
    await gone(pid);
  });

  test('--env with an invalid variable name is a usage error', async () => {
    for (const value of ['=x', '']) {
      const { code, stderr } = await cli(['-c', policyFile(), '--env', value, '--', 'true']);
      assert.deepEqual([code, /--env/.test(stderr)], [3, true], `${JSON.stringify(value)}: ${code} ${stderr}`);
    }
  });
});

describe('H13 J6 more output than is read', () => {
  test('a client on stdio that does not read: bounded memory, and everything in order when it does', async (t) => {
    const gate = use(t, await startGate({ transport: 'stdio', command: probeCommand() }));
    const peer = await new StdioPeer(gate).initialize();
    await peer.call('echo');
    const before = rssBytes(gate.pid);
    gate.child.process.stdout.pause();
    const call = peer.call('flood', { count: 80, bytes: MB }, { id: 'flood' });
    // All writers are blocked when the gate has written nothing for many polls in a row.
    let looks = 0;
    let last = -1;
    await until('the gate to stop', () => {
      const written = Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${gate.pid}/io`, 'utf8'))[1]);
      looks = written === last ? looks + 1 : 0;
      last = written;
      return looks > 50;
    });
    assert.ok(rssBytes(gate.pid) - before < 40 * MB, `grew by ${(rssBytes(gate.pid) - before) >> 20} MB`);
    gate.child.process.stdout.resume();
    await call;
    const numbers = peer.received.filter(({ json }) => json?.method === 'notifications/message').map(({ json }) => Number.parseInt(json.params.data, 10));
    assert.deepEqual(numbers, Array.from({ length: 80 }, (_, i) => i));
  });

  test('a server that floods its stderr, without line ends too: calls go on in bounded memory', async (t) => {
    const command = rawStdio(async (io) => {
      await io.serve({
        'tools/call': async ({ name }) => {
          const piece = name === 'lines' ? `${'l'.repeat(1023)}\n`.repeat(1024) : 'x'.repeat(1024 * 1024);
          for (let i = 0; i < 30; i++) await new Promise((resolve) => { process.stderr.write(piece, resolve); });
          return { content: [] };
        },
      });
    });
    const gate = use(t, await startGate({ command }));
    const client = await LegacyHttp.open(gate.url);
    const before = rssBytes(gate.pid);
    for (const name of ['lines', 'none']) assert.deepEqual(await client.call(name), { content: [] });
    assert.ok(rssBytes(gate.pid) - before < 20 * MB, `grew by ${(rssBytes(gate.pid) - before) >> 20} MB`);
    assert.deepEqual(await (await peerFor('http', gate)).request('ping'), {});
  });
});
