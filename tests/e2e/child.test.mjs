// Children kept clean (protocol.md U6, U7): how a server process is started, watched and ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import {
  StdioPeer, alive, children, commandLine, descendants, mayGrow, onlyHelpers, pair, peerFor, probeCommand, processName, rawStdio, rssBytes, startGate, until, use,
} from '../lib/index.mjs';

const stdioGate = async (t, options = {}) => {
  const gate = use(t, await startGate({ transport: 'stdio', command: probeCommand(), ...options }));
  return { gate, peer: await new StdioPeer(gate).initialize() };
};
const gone = (...pids) => until(`the end of ${pids}`, () => !pids.some(alive));

test('U6 a process group and session of its own, started by the spawner', async (t) => {
  const { gate, peer } = await stdioGate(t, { cwd: '/' });
  const { pid, ppid, pgrp, sid, cwd } = await peer.ask('process');
  assert.deepEqual([pgrp, sid, cwd], [pid, pid, '/']);
  assert.deepEqual(children(gate.pid), [ppid], 'its parent is the spawner, the only child of the gate');
  await until('the spawner, and below it its successor and the server', () => onlyHelpers(gate.pid, pid));
});

test('U6 the environment is an allow-list; --env passes more', async (t) => {
  const env = { SECRET_TOKEN: 's3cret', AWS_SECRET_ACCESS_KEY: 'k', DATABASE_URL: 'd', LC_ALL: 'C.UTF-8', ODDITY: 'x', GIVEN: 'ours' };
  const { gate, peer } = await stdioGate(t, { env, args: ['--env', 'GIVEN', '--env', 'SET=a=b', '--env', 'LC_ALL=POSIX', '--env', 'ABSENT'] });
  const seen = await peer.ask('env');
  for (const name of ['SECRET_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'DATABASE_URL', 'ODDITY', 'ABSENT', 'SALLYPORT_HOME']) assert.ok(!(name in seen), name);
  assert.deepEqual([seen.GIVEN, seen.SET, seen.LC_ALL, seen.PATH], ['ours', 'a=b', 'POSIX', process.env.PATH]);
  await gate.child.waitLine(/SECRET_TOKEN/, { stream: 'stderr' }); // what was kept back is named
  await gate.child.waitLine(/also not passed to the server: .*\bODDITY\b.*--env NAME/, { stream: 'stderr' });
  assert.doesNotMatch(gate.stderr, /also not passed.*\b(GIVEN|LC_ALL|PATH|SALLYPORT_HOME|DATABASE_URL)\b/);
  assert.doesNotMatch(gate.stderr, /s3cret/);
});

test('U6 descriptors of the gate are not passed on', async (t) => {
  const { peer } = await stdioGate(t);
  const { pid } = await peer.ask('process');
  const files = readdirSync(`/proc/${pid}/fd`).map((fd) => { try { return readlinkSync(`/proc/${pid}/fd/${fd}`); } catch { return ''; } });
  assert.ok(!files.some((file) => /sqlite|policy|audit/.test(file)), files.join(' '));
});

test('end of input: the child sees it, and its exit status is ours', async (t) => {
  for (const code of [0, 7]) {
    const gate = use(t, await startGate({ transport: 'stdio', command: rawStdio(async (io) => { while (await io.next() !== null); io.exit(io.args.code); }, { code }) }));
    gate.rpc.notify('notifications/x');
    gate.child.stdin.end();
    assert.deepEqual(await gate.child.wait(), { code, signal: null });
  }
});

test('end of input: calls under way still get their answers', async (t) => {
  const { gate, peer } = await stdioGate(t);
  const answers = [1, 2, 3].map((n) => peer.ask('echo', { n }, { id: n }));
  gate.child.stdin.end();
  assert.deepEqual(await Promise.all(answers), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.equal((await gate.child.wait()).code, 0);
});

test('a child that ends by itself ends the wrap form, with its status', async (t) => {
  for (const [args, expected] of [[{ code: 3 }, 3], [{ code: 0 }, 0], [{ signal: 'SIGKILL' }, 137]]) {
    const { gate, peer } = await stdioGate(t);
    peer.exchange('tools/call', { name: 'exit', arguments: args }).catch(() => {});
    assert.deepEqual(await gate.child.wait(), { code: expected, signal: null });
  }
});

test('a command that cannot be started is reported', async (t) => {
  const gate = use(t, await startGate({ transport: 'stdio', command: ['/nonexistent/server'] }));
  gate.rpc.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
  const answer = await gate.rpc.next(() => true);
  assert.match(answer.error.message, /No such file/);
  assert.equal((await gate.child.wait()).code, 127);
});

test('signals reach the child, whose status is ours', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const { gate, peer } = await stdioGate(t);
    await peer.call('onSignal', { signal, code: 9 });
    process.kill(gate.pid, signal);
    assert.deepEqual(await gate.child.wait(), { code: 9, signal: null });
    assert.match(gate.stderr, new RegExp(`got ${signal}`));
  }
});

test('U6 stdin close, then TERM, then KILL', async (t) => {
  const { gate, peer } = await stdioGate(t);
  const { pid } = await peer.ask('process');
  await peer.call('stubborn', { term: true });
  gate.child.stdin.end();
  assert.deepEqual(await gate.child.wait(), { code: 137, signal: null });
  assert.ok(!alive(pid));
});

test('stderr of the server is logged with the name of the server in front', async (t) => {
  const { gate, peer } = await stdioGate(t);
  await peer.call('stderr', { text: 'one line\nand another\n' });
  await gate.child.waitLine(/\[probe.mjs\] one line$/, { stream: 'stderr' });
  await gate.child.waitLine(/\[probe.mjs\] and another$/, { stream: 'stderr' });
  await peer.call('stderr', { text: `${'long '.repeat(4000)}\n` });
  await peer.call('stderr', { text: 'after\n' });
  await gate.child.waitLine(/\[probe.mjs\] after$/, { stream: 'stderr' });
  assert.deepEqual(gate.rpc.noise, [], 'nothing of it on stdout');
});

test('J6 noise on a child\'s stdout is logged, not passed on, not fatal', async (t) => {
  const { gate, peer } = await stdioGate(t);
  for (const noise of ['starting up…\n', '{"half":\n', '[]\n', 'null\n', '{"jsonrpc":"2.0"}\n', '\n\n', '\xff\xfe\n', `${'n'.repeat(100000)}\n`]) {
    const before = peer.received.length;
    await peer.call('noise', { text: noise });
    assert.equal(peer.received.length, before + 1, JSON.stringify(noise.slice(0, 20)));
  }
  await gate.child.waitLine(/starting up/, { stream: 'stderr' });
});

test('no orphan after kill -9 of the gate, grandchildren included', async (t) => {
  const { gate, peer } = await pair(t, 'http', 'child');
  const { pid } = await peer.ask('process');
  await peer.call('stubborn', { term: true });
  const grandchild = (await peer.ask('grandchild')).pid;
  const below = descendants(gate.pid);
  assert.ok([pid, grandchild, ...below].every(alive));
  process.kill(gate.pid, 'SIGKILL');
  await gone(pid, grandchild, ...below);
});

test('no orphan after the end of a session, grandchildren included', async (t) => {
  const { gate, peer } = await pair(t, 'http', 'child');
  const { pid } = await peer.ask('process');
  const grandchild = (await peer.ask('grandchild')).pid;
  assert.equal((await peer.end()).status, 200);
  await gone(pid, grandchild);
  await until('the spawner and its successor alone', () => onlyHelpers(gate.pid));
});

test('the gate itself cannot execute programs any more', async (t) => {
  const { gate } = await stdioGate(t);
  const [spawner] = children(gate.pid);
  assert.match(readFileSync(`/proc/${gate.pid}/status`, 'utf8'), /^Seccomp:\s+2/m);
  assert.match(readFileSync(`/proc/${spawner}/status`, 'utf8'), /^Seccomp:\s+0/m);
  assert.ok(commandLine(gate.pid)[0].endsWith('sallyport'));
});

test('with a server over HTTP the gate starts no spawner', async (t) => {
  const { gate, peer } = await pair(t, 'http', 'http');
  assert.deepEqual(await peer.ask('echo', { n: 1 }), { n: 1 });
  assert.deepEqual(children(gate.pid), []);
  assert.match(readFileSync(`/proc/${gate.pid}/status`, 'utf8'), /^Seccomp:\s+2/m);
});

test('U7 every session has a server of its own', async (t) => {
  const { gate, peer } = await pair(t, 'http', 'child');
  const other = await peerFor('http', gate);
  const [one, two] = [await peer.ask('mark'), await other.ask('mark')];
  assert.notEqual(one.pid, two.pid);
  await other.end();
  assert.equal((await peer.ask('mark')).pid, one.pid, 'the end of one is not the end of the other');
});

test('U2 U6 a server that exited is restarted and initialised again, and the session continues', async (t) => {
  for (const front of ['http', 'sse', 'modern-http']) {
    const { gate, peer } = await pair(t, front, 'child');
    const first = await peer.ask('mark');
    const dying = await peer.exchange('tools/call', { name: 'exit', arguments: { code: 5 } });
    assert.match(dying.json.error.message, /server `probe.mjs` exited with status 5/);
    assert.equal(dying.json.error.code, -32603);
    const second = await peer.ask('mark');
    assert.notEqual(first.pid, second.pid);
    if (front !== 'modern-http') {
      const [initialize, initialized] = await peer.ask('seen');
      assert.deepEqual([initialize.method, initialized.method], ['initialize', 'notifications/initialized']);
      assert.deepEqual(JSON.parse(initialize.raw).params.capabilities, { sampling: {}, elicitation: {}, roots: { listChanged: true } });
    }
    await until('the dead one is reaped', () => onlyHelpers(gate.pid, second.pid));
  }
});

test('a server that keeps crashing is restarted with growing delays, and never twice at the same time', async (t) => {
  const { gate, peer } = await pair(t, 'http', 'child');
  const sent = [], answered = [];
  for (let i = 0; i < 4; i++) {
    sent.push(performance.now());
    const { json } = await peer.exchange('tools/call', { name: 'exit', arguments: { code: 1 } });
    assert.ok(json.error);
    answered.push(performance.now());
  }
  // From the call before: however late we are to send one, the wait of 250 ms, or those of 250 and 500 ms, lie between.
  assert.ok(answered[2] - sent[1] > 240 && answered[3] - sent[2] > 720, `sent at ${sent.map(Math.round)}, answered at ${answered.map(Math.round)} ms`);
  assert.ok(children(children(gate.pid)[0]).filter((one) => processName(one) !== 'sallyport-spare').length <= 1);
});

test('a message to a server that does not read waits; messages to other servers do not', async (t) => {
  const deaf = rawStdio(async (io) => {
    await io.serve({ 'tools/call': async ({ name }) => { if (name === 'deaf') process.stdin.pause(); return { content: [{ type: 'text', text: `${process.pid}` }] }; } });
  });
  const gate = use(t, await startGate({ command: deaf }));
  const [one, two] = [await peerFor('http', gate), await peerFor('http', gate)];
  await one.call('deaf');
  const before = rssBytes(gate.pid);
  const stuck = Array.from({ length: 30 }, (_, i) => one.send({ jsonrpc: '2.0', id: `s${i}`, method: 'tools/call', params: { name: 'x', arguments: { text: 'z'.repeat(1 << 20) } } }).catch(() => {}));
  for (let i = 0; i < 20; i++) assert.ok(await two.call('x'));
  assert.ok(rssBytes(gate.pid) - before < mayGrow(gate.pid, 150 << 20), `grew by ${(rssBytes(gate.pid) - before) >> 20} MB`);
  await one.end();
  await Promise.all(stuck);
});
