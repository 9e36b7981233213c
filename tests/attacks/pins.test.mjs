// A server that changes after it was accepted (attacks 4, 5, 24): a definition or a program that differs from the accepted one
// is not listed, not called and not started until a user accepts it.
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ALLOW_ALL, cli, node, policyFile, startGate, tempDir, use } from '../lib/index.mjs';

const fixture = fileURLToPath(new URL('../fixtures/fickle.mjs', import.meta.url));
const tool = (name, description = `Shows ${name}`) => ({ name, description, inputSchema: { type: 'object' } });

const isListChanged = ({ method }) => method === 'notifications/tools/list_changed';

// A gate with a lock in front of a server whose behaviour is set by a file.
class World {
  constructor(t, mind) {
    this.t = t;
    this.dir = tempDir('pins');
    this.mindPath = join(this.dir, 'mind.json');
    this.lock = join(this.dir, 'sallyport.lock');
    this.script = join(this.dir, 'fickle.mjs');
    this.home = join(this.dir, 'home');
    copyFileSync(fixture, this.script);
    this.command = [node, this.script, this.mindPath];
    this.think(mind);
  }

  think(mind) {
    this.mind = { ...this.mind, ...mind };
    writeFileSync(this.mindPath, JSON.stringify(this.mind));
  }

  async start({ args = [], policy = ALLOW_ALL } = {}) {
    this.gate = use(this.t, await startGate({
      transport: 'stdio', policyPath: policyFile(policy), command: this.command, args: ['--lock', this.lock, ...args], env: { SALLYPORT_HOME: this.home },
    }));
    await this.gate.rpc.initialize();
    return this;
  }

  async names() { return (await this.gate.rpc.request('tools/list')).tools.map(({ name }) => name); }
  call(name) { return this.gate.rpc.request('tools/call', { name, arguments: {} }); }
  async text(name) { return (await this.call(name)).content[0].text; }

  async denied(name, pattern) {
    const result = await this.call(name);
    assert.equal(result.isError, true, JSON.stringify(result));
    assert.match(result.content[0].text, pattern);
    assert.equal(result._meta['sallyport/denial'].reason, 'pin');
  }

  pin(...args) { return cli(['pin', ...args, '--lock', this.lock, '--', ...this.command]); }
  get calls() { return existsSync(`${this.mindPath}.calls`) ? readFileSync(`${this.mindPath}.calls`, 'utf8').split('\n').filter(Boolean) : []; }
}

describe('4 a definition that changes after it was accepted', () => {
  test('a list that shows another definition: hidden, and the next call is denied', async (t) => {
    const w = await new World(t, { tools: [tool('add'), tool('sub')] }).start();
    assert.deepEqual(await w.names(), ['add', 'sub']);
    assert.equal(await w.text('add'), 'did add');
    w.think({ tools: [tool('add', 'Shows add. And more.'), tool('sub')] });
    assert.deepEqual(await w.names(), ['sub']);
    await w.denied('add', /^\[(INTERCEPT )?POLICY DENIED\] definition changed: tool `add`/);
    assert.equal(await w.text('sub'), 'did sub');
    assert.deepEqual(w.calls, ['add', 'sub']);
  });

  test('list_changed alone triggers the check: the next call is denied before it reaches the server', async (t) => {
    const w = await new World(t, { tools: [tool('add'), tool('poke')] }).start();
    assert.equal(await w.text('add'), 'did add');
    w.think({ tools: [tool('add', 'Shows something else'), tool('poke')], announce: true });
    assert.equal(await w.text('poke'), 'did poke'); // the notification comes with it
    await w.denied('add', /definition changed/);
    assert.deepEqual(w.calls, ['add', 'poke']);
  });

  test('a change without a notification is found by the next call, which is denied before it reaches the server', async (t) => {
    const w = await new World(t, { tools: [tool('add'), tool('sub')] }).start();
    assert.equal(await w.text('add'), 'did add');
    assert.equal(await w.text('add'), 'did add');
    w.think({ tools: [tool('add', 'Shows something else'), tool('sub')] });
    await w.denied('add', /definition changed: tool `add` is not what was accepted/);
    assert.ok(await w.gate.rpc.next(isListChanged)); // so that the client no longer offers the tool
    assert.deepEqual(await Promise.all(['sub', 'sub', 'add', 'sub'].map(async (name) => (await w.call(name)).isError ?? false)), [false, false, true, false]);
    w.think({ tools: [tool('sub', 'Evil')] });
    await w.denied('sub', /definition changed/);
    await w.denied('add', /definition changed|does not list this tool/);
    assert.deepEqual(w.calls, ['add', 'add', 'sub', 'sub', 'sub']);
  });

  test('a change without a notification on the second page of a list is found', async (t) => {
    const w = await new World(t, { page: 1, tools: [tool('add'), tool('sub')] }).start();
    assert.equal(await w.text('sub'), 'did sub');
    w.think({ tools: [tool('add'), tool('sub', 'Evil')] });
    await w.denied('sub', /definition changed/);
    assert.equal(await w.text('add'), 'did add');
  });

  test('a server that no longer shows its list is not called', async (t) => {
    const w = await new World(t, { tools: [tool('add')] }).start();
    assert.equal(await w.text('add'), 'did add');
    w.think({ unlisted: true });
    await w.denied('add', /does not list this tool/);
    assert.deepEqual(w.calls, ['add']);
  });

  test('with --pin-max-age a recent list is trusted until the server announces a change', async (t) => {
    const w = await new World(t, { tools: [tool('add'), tool('poke')] }).start({ args: ['--pin-max-age', '1m'] });
    assert.equal(await w.text('add'), 'did add');
    w.think({ tools: [tool('add', 'Shows something else'), tool('poke')] });
    assert.equal(await w.text('add'), 'did add');
    w.think({ announce: true });
    assert.equal(await w.text('poke'), 'did poke');
    await w.denied('add', /definition changed/);
  });

  test('every part of the definition counts', async (t) => {
    const add = { ...tool('add'), title: 'Add', annotations: { readOnlyHint: true }, outputSchema: { type: 'object' } };
    const w = await new World(t, { tools: [add] }).start();
    assert.deepEqual(await w.names(), ['add']);
    assert.equal((await w.pin('accept')).code, 0);
    const others = [
      { ...add, title: 'Add!' }, { ...add, annotations: { readOnlyHint: false } }, { ...add, outputSchema: { type: 'object', description: 'x' } },
      { ...add, inputSchema: { type: 'object', properties: { bcc: { type: 'string' } } } },
    ];
    for (const other of others) {
      w.think({ tools: [other] });
      assert.deepEqual(await w.names(), [], JSON.stringify(other));
    }
  });

  test('a change during a restart of the gate is found with the lock file', async (t) => {
    const w = await new World(t, { tools: [tool('add')] }).start();
    assert.equal(await w.text('add'), 'did add');
    await w.gate.stop();
    w.think({ tools: [tool('add', 'Another one')] });
    await w.start();
    await w.denied('add', /definition changed/);
    assert.deepEqual(await w.names(), []);
    assert.deepEqual(w.calls, ['add']);
  });

  test('a tool stays held when the server returns to the accepted definition', async (t) => {
    const w = await new World(t, { tools: [tool('add')] }).start();
    w.think({ tools: [tool('add', 'Evil')] });
    await w.names();
    w.think({ tools: [tool('add')] });
    assert.deepEqual(await w.names(), []);
    await w.denied('add', /definition changed/);
  });

  test('pin diff says what changed, pin accept reaches the running gate', async (t) => {
    const w = await new World(t, { tools: [tool('add'), tool('sub')] }).start();
    await w.names();
    w.think({ tools: [tool('add', 'Shows add, better'), tool('sub')] });
    await w.names();
    await w.denied('add', /definition changed/);
    const diff = await w.pin('diff');
    assert.equal(diff.code, 1);
    assert.equal(diff.stdout, 'changed: add\n  ~ description: "Shows add" -> "Shows add, better"\n');
    assert.ok(await w.gate.rpc.next(isListChanged)); // of what is held back
    assert.equal((await w.pin('accept', 'add')).code, 0);
    assert.ok(await w.gate.rpc.next(isListChanged)); // of what is there again
    assert.deepEqual(await w.names(), ['add', 'sub']);
    assert.equal(await w.text('add'), 'did add');
    assert.equal((await w.pin('diff')).code, 0);
  });

  test('a change of a definition is recorded in the audit log', async (t) => {
    const w = await new World(t, { tools: [tool('list_things')] }).start();
    await w.names();
    w.think({ tools: [tool('list_things', 'Evil')] });
    await w.names();
    await w.denied('list_things', /definition changed/);
    await w.gate.stop();
    const { stdout } = await cli(['audit', 'export', '--format', 'jsonl'], { env: { SALLYPORT_HOME: w.home } });
    const records = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    assert.ok(records.some((r) => r.event === 'pin_first_use'));
    assert.ok(records.some((r) => r.event === 'pin' && /list_things/.test(r.text)));
    const denial = records.find((r) => r.verdict === 'deny');
    assert.equal(denial.reason, 'pin');
    assert.equal(denial.class, 'Read');
    assert.match(denial.fingerprint, /^sha256:/);
  });
});

describe('5 a tool that arrives late', () => {
  test('is new: it is neither listed nor callable', async (t) => {
    const w = await new World(t, { tools: [tool('add')] }).start();
    await w.names();
    w.think({ tools: [tool('add'), tool('exfiltrate')] });
    assert.deepEqual(await w.names(), ['add']);
    await w.denied('exfiltrate', /`exfiltrate` is new and not yet accepted/);
    await w.denied('never_listed', /does not list this tool/);
    assert.deepEqual(w.calls, []);
    assert.equal((await w.pin('accept')).code, 0);
    await w.gate.child.waitLine(/lock .* reloaded/, { stream: 'stderr' });
    assert.equal(await w.text('exfiltrate'), 'did exfiltrate');
  });

  test('first use accepts all tools of all pages and writes them to the lock', async (t) => {
    const tools = ['a', 'b', 'c', 'd', 'e'].map((name) => tool(name));
    const w = await new World(t, { tools, page: 2 }).start();
    assert.equal(await w.text('e'), 'did e'); // a call before any list
    const { servers } = JSON.parse(readFileSync(w.lock, 'utf8'));
    assert.deepEqual(Object.keys(servers), ['fickle.mjs']);
    assert.deepEqual(Object.keys(servers['fickle.mjs'].tools), ['a', 'b', 'c', 'd', 'e']);
    assert.deepEqual(servers['fickle.mjs'].command, w.command);
    const first = await w.gate.rpc.request('tools/list');
    assert.deepEqual(first.tools.map(({ name }) => name), ['a', 'b']);
    const second = await w.gate.rpc.request('tools/list', { cursor: first.nextCursor });
    assert.deepEqual(second.tools.map(({ name }) => name), ['c', 'd']);
  });

  test('--first-use ask holds every tool until it is accepted', async (t) => {
    const w = await new World(t, { tools: [tool('add')], plain: true }).start({ args: ['--first-use', 'ask'] });
    assert.equal(w.gate.rpc.server.capabilities.tools.listChanged, true); // the gate itself sends list_changed
    assert.deepEqual(await w.names(), []);
    await w.denied('add', /new and not yet accepted/);
    assert.ok(!existsSync(w.lock));
    assert.equal((await w.pin('accept')).code, 0);
    await w.gate.child.waitLine(/lock .* reloaded/, { stream: 'stderr' });
    assert.deepEqual(await w.names(), ['add']);
    assert.equal(await w.text('add'), 'did add');
  });

  test('of two tools with one name only the accepted one is listed', async (t) => {
    const w = await new World(t, { tools: [tool('add')] }).start();
    await w.names();
    w.think({ tools: [tool('add'), tool('add', 'Evil')] });
    const { tools } = await w.gate.rpc.request('tools/list');
    assert.deepEqual(tools.map(({ description }) => description), ['Shows add']);
  });
});

describe('24 the program behind the server', () => {
  test('a changed file is not started', async (t) => {
    const w = await new World(t, { tools: [tool('add')] }).start();
    assert.equal(await w.text('add'), 'did add');
    await w.gate.stop();
    appendFileSync(w.script, '\n// bcc everything\n');
    const gate = use(t, await startGate({ transport: 'stdio', command: w.command, args: ['--lock', w.lock] }));
    await assert.rejects(gate.rpc.initialize(), /is not started: executable is sha256:[0-9a-f]+, accepted was sha256:/);
    assert.equal((await w.pin('accept')).code, 0);
  });

  test('another command line under the same name is not started', async (t) => {
    const w = await new World(t, { tools: [tool('add')] }).start();
    await w.names();
    await w.gate.stop();
    const gate = use(t, await startGate({ transport: 'stdio', command: [...w.command, '--evil'], args: ['--lock', w.lock] }));
    await assert.rejects(gate.rpc.initialize(), /the command line is not the one that was accepted/);
  });

  test('a package without a version is warned about, secrets on the command line stay out of the lock', async (t) => {
    const w = new World(t, { tools: [tool('add')] });
    const runner = join(w.dir, 'npx');
    writeFileSync(runner, `#!/bin/sh\nexec ${w.command.join(' ')}\n`, { mode: 0o755 });
    w.command = [runner, '-y', 'some-server-of-mine', '--api-key', 'sk-very-secret', 'postgres://me:hunter2@host/db'];
    await w.start();
    assert.deepEqual(await w.names(), ['add']);
    await w.gate.child.waitLine(/some-server-of-mine.*has no version/, { stream: 'stderr' });
    const text = readFileSync(w.lock, 'utf8');
    assert.ok(!text.includes('sk-very-secret') && !text.includes('hunter2'), text);
    assert.ok(JSON.parse(text).servers['some-server-of-mine']);
    await w.gate.stop();
    w.command[4] = 'sk-another';
    const gate = use(t, await startGate({ transport: 'stdio', command: w.command, args: ['--lock', w.lock] }));
    await assert.rejects(gate.rpc.initialize(), /command line is not the one/);
  });
});

test('a lock file in the working directory applies without being named, unless it is switched off', async (t) => {
  const w = new World(t, { tools: [tool('add')] });
  assert.equal((await w.pin('accept')).code, 0);
  w.think({ tools: [tool('add', 'Evil')] });
  const names = async (...args) => {
    const gate = use(t, await startGate({ transport: 'stdio', command: w.command, args, cwd: w.dir }));
    await gate.rpc.initialize();
    const { tools } = await gate.rpc.request('tools/list');
    await gate.stop();
    return tools.map(({ name }) => name);
  };
  assert.deepEqual(await names(), []);
  assert.deepEqual(await names('--lock', 'off'), ['add']);
});

test('a lock that cannot be read stops the start; one that becomes invalid later changes nothing', async (t) => {
  const w = new World(t, { tools: [tool('add')] });
  writeFileSync(w.lock, '{"version":2}');
  const refused = await cli(['-c', policyFile(), '--lock', w.lock, '--', ...w.command]);
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /version must be 1/);
  writeFileSync(w.lock, '');
  await w.start();
  assert.deepEqual(await w.names(), ['add']);
  writeFileSync(w.lock, '{');
  await w.gate.child.waitLine(/the old lock stays in force/, { stream: 'stderr' });
  w.think({ tools: [tool('add', 'Evil')] });
  assert.deepEqual(await w.names(), []);
});
