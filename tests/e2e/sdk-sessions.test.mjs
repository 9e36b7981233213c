// What must not end an SDK's session with many servers: a server that dies in a call, one that cannot be reached, a refusal, a message that
// the gate does not admit. Real clients: TypeScript 1.x and 2.x, Python 1.x and 2.x. Each call is answered, under its own id, and the
// next call to another server works.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DEADLINE_MS, LegacyHttp, cli, connect, fixture, policyFile, rawStdio, root, start, startServe, tempDir, use } from '../lib/index.mjs';
import { LANGUAGES } from '../interop/matrix.mjs';

const ODD = ['files/read', 'ns:call', 'pay$(now)', 'two words', 'größe', '日本'];
const IMITATION = 'rеad'; // the second letter is Cyrillic

const server = (names) => rawStdio(({ serve, exit, args }) => serve({
  'tools/list': () => ({ tools: args.names.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name, arguments: { text } }) => (name === 'die' ? exit(1) : { content: [{ type: 'text', text: name.concat(": ", typeof text) }] }),
}), { names });

const deep = (levels) => Array.from({ length: levels }).reduce((value) => [value], 'end');
const settled = (promise) => promise.then(({ content }) => ({ text: content.map((part) => part.text).join('') }), (error) => ({ error: error.message, code: error.code }));

// A session: call(name, { arguments } or { deep }), list(); both give what the caller got.
async function typescript(t, version, url, options) {
  const client = use(t, await connect(version, { url, options }));
  return {
    list: async () => (await client.tools()).map(({ name }) => name),
    call: (name, { arguments: args = {}, deep: levels } = {}) => settled(client.call(name, levels ? { text: deep(levels) } : args)),
  };
}

async function python(t, program, url, mode) {
  const child = use(t, start(program, [fixture('session.py'), url, ...(mode ? [mode] : [])]));
  const ask = async (request) => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    return JSON.parse(await child.waitLine(/^\{/));
  };
  return { list: async () => (await ask({ name: 'tools/list' })).tools, call: (name, how = {}) => ask({ name, ...how }) };
}

const python1 = join(root, 'tests/python/venv/bin/python');
let python2;
const CLIENTS = {
  'TypeScript 1.x': (t, url, options) => typescript(t, 'v1', url, options),
  'TypeScript 2.x': (t, url, options) => typescript(t, 'v2', url, options),
  'Python 1.x': (t, url) => (existsSync(python1) ? python(t, python1, url) : t.skip('SKIPPED LOUDLY: run scripts/setup test: tests/python/venv is missing')),
  'Python 2.x': (t, url) => (python2.missing ? t.skip(`SKIPPED LOUDLY: ${python2.missing}`) : python(t, python2.driver[0], url, 'legacy')),
  'Python 2.x, modern': (t, url) => (python2.missing ? t.skip(`SKIPPED LOUDLY: ${python2.missing}`) : python(t, python2.driver[0], url, '2026-07-28')),
};

let gate;
before(async () => {
  python2 = await LANGUAGES.python();
  const stdio = ([command, ...args]) => ({ command, args });
  gate = await startServe({ config: { version: '1', code: { enabled: false }, policy: policyFile({ version: '1', default: 'allow', tools: { forbidden: { rules: [{ action: 'deny' }] } } }), servers: {
    weak: stdio(server(['die', 'echo'])), firm: stdio(server(['echo', 'forbidden'])), odd: stdio(server([...ODD, 'read', IMITATION])), gone: { url: 'http://127.0.0.1:1/mcp' },
  } } });
});
after(() => gate?.stop());

for (const [name, open] of Object.entries(CLIENTS)) {
  describe(`a session of ${name} with many servers`, () => {
    const goesOn = async (session) => assert.deepEqual(await session.call('firm__echo', { arguments: { text: 'still here' } }), { text: 'echo: string' });

    test('survives a server that exits in a call, one that cannot be reached, and refusals', async (t) => {
      const session = await open(t, gate.url);
      if (!session) return;
      for (const [tool, says] of [['weak__die', /weak/], ['gone__echo', /gone/], ['firm__none', /none/], ['nowhere__echo', /nowhere/]]) {
        const { error, text, code } = await session.call(tool);
        assert.match(error ?? text, says);
        if (error) assert.ok(code === undefined || code === null || code < -31999, `${tool}: ${code} ${error}`);
        await goesOn(session);
      }
      assert.match(JSON.stringify(await session.call('firm__forbidden')), /DENIED/i);
      await goesOn(session);
      assert.deepEqual(await session.call('weak__echo', { arguments: { text: 'again' } }), { text: 'echo: string' }, 'the dead server is restarted');
    });

    test('survives messages that are not admitted; each call is answered', async (t) => {
      const session = await open(t, gate.url);
      if (!session) return;
      for (const [how, says] of [[{ arguments: { text: 'a\0b' } }, /echo: string|NUL|U\+0000/], [{ deep: 80 }, /deep|depth|nest/i]]) {
        const { error, text } = await session.call('firm__echo', how);
        assert.match(error ?? text, says);
        await goesOn(session);
      }
    });

    test('lists and calls tools with unusual names', async (t) => {
      const session = await open(t, gate.url);
      if (!session) return;
      const listed = await session.list();
      for (const tool of ODD) {
        assert.ok(listed.includes(`odd__${tool}`), `${tool} in ${listed}`);
        assert.deepEqual(await session.call(`odd__${tool}`, { arguments: { text: '' } }), { text: `${tool}: string` });
      }
      assert.ok(!listed.includes(`odd__${IMITATION}`));
      const { error, text } = await session.call(`odd__${IMITATION}`);
      assert.match(error ?? text, /names it exactly under `tools`/);
    });
  });
}

// Python's SDK cannot be brought to send these: it refuses them itself, or has no way to write them.
for (const version of ['v1', 'v2']) {
  test(`TypeScript ${version}: half a surrogate and a duplicate key are refused under the call's own id`, async (t) => {
    const twice = (url, init) => fetch(url, { ...init, ...(init?.body && { body: init.body.replace('"first":1', '"same":1').replace('"second":2', '"same":2') }) });
    const session = await typescript(t, version, gate.url, { fetch: twice });
    for (const [args, says] of [[{ text: 'a\ud800' }, /surrogate/], [{ first: 1, second: 2 }, /duplicate|twice/i]]) {
      const { error, code } = await session.call('firm__echo', { arguments: args });
      assert.match(error, says);
      assert.ok(code <= -32600, `${code} ${error}`);
      assert.deepEqual(await session.call('firm__echo', { arguments: { text: 'on' } }), { text: 'echo: string' });
    }
  });
}

test('a server whose tools cannot be listed is reported to the client, by /readyz, by status and by the admin API', async (t) => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const failing = (code) => {
    const [command, ...args] = rawStdio(({ serve, args: { code } }) => serve({ 'tools/list': () => { throw { code, message: 'no list today' }; } }), { code });
    return { command, args };
  };
  const mute = use(t, await startServe({ env, config: { version: '1', code: { enabled: false }, policy: policyFile(), servers: { mute: failing(-32603), shy: failing(-32000), without: failing(-32601) } } }));
  const client = await LegacyHttp.open(mute.url);
  assert.deepEqual((await client.request('tools/list'))._meta, { 'sallyport/missing': ['mute', 'shy'] });
  const ready = await (await fetch(`${mute.origin}/readyz`)).text();
  assert.match(ready, /^mute: .*, a list failed$/m);
  assert.match(ready, /^shy: .*, a list failed$/m);
  assert.doesNotMatch(ready, /^without: .*a list failed$/m);
  const told = async (servers) => {
    for (const until = Date.now() + DEADLINE_MS; ;) {
      const found = (await servers()).find(({ name }) => name === 'mute');
      if (/tools\/list failed: no list today/.test(found?.fault)) return;
      assert.ok(Date.now() < until, JSON.stringify(found));
      await delay(100);
    }
  };
  await told(async () => JSON.parse((await cli(['status', '--json'], { env })).stdout).gates[0]?.servers ?? []);
  const { token } = JSON.parse((await cli(['grants', 'create', 'boss', '--role', 'admin', '--json'], { env })).stdout);
  await told(async () => (await fetch(`${mute.origin}/api/v1/servers`, { headers: { authorization: `Bearer ${token}` } })).json());
});

test('a tool that is withheld for its name is logged with the setting that allows it', () => {
  assert.match(gate.stderr, new RegExp(`tool .${IMITATION}.: .*bad-name.*poison.definitions: flag.* allows it`));
});
