// The policy at work behind every front (contract section 5): limits and their counters, reload, shadow, classes, flows, approvals,
// results. The server counts what reaches it. hide and deny by name have a file of their own.
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, legacyServer, peerFor, policyFile, rawStdio, startGate, startUpstream, tempDir, use } from '../lib/index.mjs';

const FRONTS = ['stdio', 'http', 'modern-http'];
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const tool = (name, description, properties = {}, more = {}) => ({ name, description, inputSchema: { type: 'object', properties, ...more } });
const blocks = (tools, more = {}) => ({ version: '1', default: 'allow', tools, ...more });
const sliding = (max, more = {}) => ({ counter: 'c', kind: 'sliding', window: 'day', max, ...more });

// A gate on that front before a server that counts its calls by name.
async function world(t, policy, { front = 'http', tools = [], call = () => text('done'), methods = {}, ...options } = {}) {
  const calls = [];
  const server = use(t, await startUpstream(legacyServer({
    tools, methods: { 'tools/call': (params, context) => { calls.push(params.name); return call(params, context); }, ...methods },
  })));
  const gate = use(t, await startGate({ transport: front.replace('modern-', ''), upstream: server.url, ...(policy && { policy }), ...options }));
  return { gate, server, calls, peer: await peerFor(front, gate) };
}

const outcome = (peer, name, args = {}) => peer.exchange('tools/call', { name, arguments: args }).then(({ json }) => json);
const denied = ({ result }) => Boolean(result?.isError && result._meta?.['sallyport/denial']);

for (const front of FRONTS) {
  describe(`limits, ${front}`, { concurrency: 3 }, () => {
    test('a call over the limit is denied with a retry time and never reaches the server', async (t) => {
      const { peer, calls } = await world(t, blocks({ pay: { limits: [sliding(2, { on_deny: 'Two a day' })] } }), { front });
      assert.ok(!denied(await outcome(peer, 'pay')) && !denied(await outcome(peer, 'pay')));
      const { result } = await outcome(peer, 'pay');
      const { _meta, ...rest } = result;
      assert.deepEqual(rest, { ...(front.startsWith('modern') && { resultType: 'complete' }), content: [{ type: 'text', text: '[POLICY DENIED] Two a day' }], isError: true });
      const { retry_after_ms: retry, rule, policy, reason } = _meta['sallyport/denial'];
      assert.ok(Number.isInteger(retry) && retry > 0 && retry <= 86_400_000 * (32 / 31), `${retry}`);
      assert.ok(rule && reason);
      assert.equal(policy, 'policy.yaml', 'the name of the policy, not where it lies');
      assert.ok(!denied(await outcome(peer, 'other')), 'others are not counted');
      assert.deepEqual(calls, ['pay', 'pay', 'other']);
    });

    test('counters survive a restart of the gate, also by kill -9', async (t) => {
      const home = join(tempDir(), 'home');
      const policyPath = policyFile(blocks({ pay: { limits: [sliding(2)] } }));
      const options = { front, policyPath, args: ['--name', 'shop'], env: { SALLYPORT_HOME: home } };
      const first = await world(t, undefined, options);
      assert.ok(!denied(await outcome(first.peer, 'pay')));
      await first.gate.stop();
      const second = await world(t, undefined, options);
      assert.ok(!denied(await outcome(second.peer, 'pay')));
      process.kill(second.gate.pid, 'SIGKILL');
      await second.gate.child.wait();
      const third = await world(t, undefined, options);
      assert.ok(denied(await outcome(third.peer, 'pay')), 'the third of two');
      assert.deepEqual(third.calls, []);
      const elsewhere = await world(t, undefined, { ...options, env: { SALLYPORT_HOME: join(tempDir(), 'home') } });
      assert.ok(!denied(await outcome(elsewhere.peer, 'pay')), 'another home is another memory');
    });

    test('an error that proves that nothing was done refunds the reservation; a result with isError or a broken connection does not', async (t) => {
      const { peer, calls } = await world(t, blocks({ pay: { limits: [sliding(3)] } }), {
        front, call: ({ arguments: { how } }, { reply }) => {
          if (how === 'error') throw { code: -32602, message: 'no' };
          if (how === 'drop') return reply.drop() && undefined;
          return how === 'is_error' ? { ...text('no'), isError: true } : text('done');
        },
      });
      for (let i = 0; i < 5; i++) assert.equal((await outcome(peer, 'pay', { how: 'error' })).error.code, -32602);
      assert.ok(!denied(await outcome(peer, 'pay', { how: 'is_error' })));
      assert.equal((await outcome(peer, 'pay', { how: 'drop' })).error.code, -32603);
      assert.ok(!denied(await outcome(peer, 'pay', {})));
      assert.ok(denied(await outcome(peer, 'pay', {})));
      assert.equal(calls.length, 8);
    });

    test('of many concurrent calls exactly the limit passes', async (t) => {
      const { peer, calls } = await world(t, blocks({ pay: { limits: [sliding(7)] } }), { front });
      const all = await Promise.all(Array.from({ length: 30 }, () => outcome(peer, 'pay')));
      assert.deepEqual([all.filter((answer) => !denied(answer)).length, calls.length], [7, 7]);
    });

    test('one at a time: the second is denied while the first runs, and passes after it', async (t) => {
      let release;
      let arrived;
      const here = new Promise((resolve) => { arrived = resolve; });
      const gone = new Promise((resolve) => { release = resolve; });
      const { peer } = await world(t, blocks({ slow: { limits: [{ counter: 'c', kind: 'concurrent', max: 1 }] } }), {
        front, call: async ({ arguments: { wait } }) => { if (wait) { arrived(); await gone; } return text('done'); },
      });
      const first = outcome(peer, 'slow', { wait: true });
      await here;
      assert.ok(denied(await outcome(peer, 'slow')));
      release();
      assert.ok(!denied(await first));
      assert.ok(!denied(await outcome(peer, 'slow')));
    });
  });

  describe(`decisions, ${front}`, { concurrency: 3 }, () => {
    test('conditions on arguments, whatever the notation of the value', async (t) => {
      const { peer, calls } = await world(t, {
        version: '1', default: 'deny',
        tools: { pay: { rules: [{ name: 'small sums', conditions: [{ path: 'args.amount', op: 'lte', value: 100 }], on_deny: 'At most 100' }] } },
      }, { front });
      for (const [args, good] of [[{ amount: 100 }, true], [{ amount: 100.01 }, false], [{ amount: 1e3 }, false], [{ amount: '5' }, false], [{}, false], [{ amount: null }, false]]) {
        const answer = await outcome(peer, 'pay', args);
        assert.equal(denied(answer), !good, JSON.stringify(args));
        if (!good) assert.equal(answer.result.content[0].text, '[INTERCEPT POLICY DENIED] At most 100');
      }
      assert.ok(denied(await outcome(peer, 'unlisted')));
      assert.deepEqual(calls, ['pay']);
    });

    test('shadow: recorded, not enforced', async (t) => {
      const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
      const { peer, calls } = await world(t, { version: '1', default: 'allow', tools: {
        a: { deny_if: [{ conditions: [], mode: 'shadow' }] }, b: { limits: [sliding(1, { mode: 'shadow' })] }, c: { rules: [{ name: 'small', mode: 'shadow', max_result_bytes: 10 }] },
      } }, { front, env });
      for (const name of ['a', 'b', 'b', 'b', 'c']) assert.ok(!denied(await outcome(peer, name)), name);
      assert.deepEqual(calls, ['a', 'b', 'b', 'b', 'c']);
      const told = (await cli(['audit', 'query', '--method', 'tools/call', '--json'], { env })).stdout.trim().split('\n').reverse().map((line) => JSON.parse(line));
      assert.deepEqual(told.map(({ shadow }) => shadow?.map(({ pointer }) => pointer)), [['/tools/a/deny_if/0'], undefined, ['/tools/b/limits/0'], ['/tools/b/limits/0'], undefined]);
      assert.match(told.at(-1).outcome.text, /^shadow: The result has \d+ bytes; the policy allows 10$/);
    });

    test('a call that needs approval gets -32003 and does not reach the server', async (t) => {
      const { peer, calls } = await world(t, {
        version: '1', default: 'allow',
        tools: { pay: { rules: [{ name: 'ask', action: 'require_approval', conditions: [{ path: 'args.amount', op: 'gt', value: 10 }] }] } },
      }, { front, args: ['--approvals', 'retry'] });
      assert.ok(!denied(await outcome(peer, 'pay', { amount: 10 })));
      const { error } = await outcome(peer, 'pay', { amount: 11 });
      assert.equal(error.code, -32003);
      assert.match(error.message, /APPROVAL REQUIRED/);
      assert.deepEqual(calls, ['pay']);
    });

    test('results over the cap are withheld and counted; others pass', async (t) => {
      const { peer, calls } = await world(t, {
        version: '1', default: 'allow', tools: { dump: { max_result_bytes: 1000, rules: [{ name: 'three', limits: [sliding(3)] }] } },
      }, { front, call: ({ arguments: { bytes } }) => text('x'.repeat(bytes)) });
      assert.equal((await outcome(peer, 'dump', { bytes: 100 })).result.content[0].text.length, 100);
      const { result } = await outcome(peer, 'dump', { bytes: 100_000 });
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /^\[INTERCEPT POLICY DENIED\] .*1000/);
      assert.deepEqual(result._meta['sallyport/denial'], { rule: 'max_result_bytes', policy: 'policy.yaml', reason: 'rule' });
      assert.ok(JSON.stringify(result).length < 2000);
      assert.equal((await outcome(peer, 'other', { bytes: 100_000 })).result.content[0].text.length, 100_000);
      await outcome(peer, 'dump', { bytes: 1 });
      assert.ok(denied(await outcome(peer, 'dump', { bytes: 1 })));
      assert.equal(calls.length, 4);
    });
  });

  describe(`classes of tools, ${front}`, { concurrency: 3 }, () => {
    const tools = [
      tool('list_things', 'Lists things'), tool('delete_everything', 'Deletes all records'), tool('fetch_url', 'Fetches a web page from the internet', { url: { type: 'string' } }),
      tool('read_file', 'Reads a file from disk', { path: { type: 'string' } }, { required: ['path'], additionalProperties: false }), tool('send_email', 'Sends an email', { to: { type: 'string' } }),
    ];
    // In pages, so that the class of the last tool needs all of them.
    const paged = (seen = []) => ({
      'tools/list': ({ cursor = '0' }) => { seen.push(cursor); const at = Number(cursor); return { tools: tools.slice(at, at + 2), ...(at + 2 < tools.length && { nextCursor: `${at + 2}` }) }; },
    });

    test('@class: the gate asks the server before the first decision', async (t) => {
      const seen = [];
      const { peer, calls } = await world(t, { version: '1', default: 'allow', tools: { '@destructive': { rules: [{ name: 'keep', action: 'deny' }] } } }, { front, methods: paged(seen) });
      assert.ok(denied(await outcome(peer, 'delete_everything')));
      assert.deepEqual(seen, ['0', '2', '4'], 'every page');
      assert.ok(!denied(await outcome(peer, 'list_things')));
      assert.deepEqual(calls, ['list_things']);
      assert.equal(seen.length, 3, 'and only once');
    });

    test('hide by class', async (t) => {
      const { peer, calls } = await world(t, blocks({ list_things: { limits: [sliding(9)] } }, { hide: ['@destructive'] }), { front, tools });
      assert.deepEqual((await peer.request('tools/list')).tools.map(({ name }) => name), tools.map(({ name }) => name).filter((name) => name !== 'delete_everything'));
      assert.equal((await outcome(peer, 'delete_everything')).error.code, -32602);
      assert.deepEqual(calls, []);
    });

    for (const [what, list] of [
      ['answers with an error', 'throw { code: -32603, message: "later" };'], ['lists nothing', 'return { tools: [] };'], ['lists no list', 'return { tools: "x" };'],
      ['never comes to an end', 'return { tools: [], nextCursor: "again" };'],
    ]) {
      test(`a server that ${what} when asked for its tools: rules on their class deny`, async (t) => {
        const policies = [
          { version: '1', default: 'deny', tools: { '@read': { rules: [] } } }, { version: '1', default: 'allow', tools: { '@destructive': { rules: [{ name: 'keep', action: 'deny' }] } } },
          { version: '1', default: 'allow', tools: {}, flows: [{ name: 'f', after: ['src_private'], deny: ['sink'] }] },
        ];
        for (const policy of policies) {
          const { peer, calls } = await world(t, policy, { front, methods: { 'tools/list': new Function(list) } });
          for (const name of ['list_things', 'delete_everything']) assert.ok(denied(await outcome(peer, name)), `${name} ${JSON.stringify(policy)}`);
          assert.deepEqual(calls, []);
        }
      });
    }

    test('a list that could not be fetched is requested again', async (t) => {
      let asked = 0;
      const { peer } = await world(t, { version: '1', default: 'deny', tools: { '@read': { rules: [] } } }, {
        front, methods: { 'tools/list': () => { if (asked++ === 0) throw { code: -32603, message: 'later' }; return { tools }; } },
      });
      const end = performance.now() + 60_000;
      while (denied(await outcome(peer, 'list_things'))) assert.ok(performance.now() < end, 'within some seconds');
      assert.equal(asked, 2);
    });

    test('flows: after untrusted text and private data, sinks are denied', async (t) => {
      const { peer, calls, gate } = await world(t, { version: '1', tools: {}, flows: [{ name: 'no way out', after: ['src_untrusted', 'src_private'], deny: ['sink'] }] }, { front, methods: paged() });
      assert.ok(!denied(await outcome(peer, 'send_email')));
      assert.ok(!denied(await outcome(peer, 'fetch_url')));
      assert.ok(!denied(await outcome(peer, 'send_email')));
      assert.ok(!denied(await outcome(peer, 'read_file', { path: '/x' })));
      const answer = await outcome(peer, 'send_email');
      assert.ok(denied(answer));
      assert.equal(answer.result._meta['sallyport/denial'].rule, 'no way out');
      assert.equal(calls.filter((name) => name === 'send_email').length, 2);
      if (front === 'http') assert.ok(denied(await outcome(await peerFor(front, gate), 'send_email')), 'a new session does not forget');
    });

    test('flows: a rule of a new policy applies to earlier calls of the session', async (t) => {
      const policyPath = policyFile(blocks({}));
      const { peer, gate } = await world(t, undefined, { front, policyPath, methods: paged() });
      assert.ok(!denied(await outcome(peer, 'fetch_url')));
      writeFileSync(policyPath, JSON.stringify({ version: '1', tools: {}, flows: [{ name: 'no way out', after: ['src_untrusted'], deny: ['sink'] }] }));
      await gate.child.waitLine(/policy reloaded/, { stream: 'stderr' });
      assert.ok(denied(await outcome(peer, 'send_email')), 'nobody had asked what fetch_url is');
    });

    test('arguments are checked against the schema of the server', async (t) => {
      const { peer, calls } = await world(t, { version: '1', default: 'allow', tools: { read_file: { rules: [{ name: 'shape', validate: { schema: true } }] } } }, { front, methods: paged() });
      for (const [args, good] of [[{ path: '/a' }, true], [{}, false], [{ path: 5 }, false], [{ path: '/a', extra: 1 }, false]]) {
        assert.equal(denied(await outcome(peer, 'read_file', args)), !good, JSON.stringify(args));
      }
      assert.deepEqual(calls, ['read_file']);
    });

    test('methods: refused ones get an error and are not forwarded', async (t) => {
      const seen = [];
      const note = (name) => (params) => { seen.push([name, params.uri ?? params.name]); return { contents: [], messages: [] }; };
      const { peer } = await world(t, {
        version: '1', default: 'allow', tools: {},
        methods: { 'resources/read': { rules: [{ name: 'documents', conditions: [{ path: 'params.uri', op: 'starts_with', value: 'docs://' }] }] }, 'prompts/*': 'deny' },
      }, { front, methods: { 'resources/read': note('read'), 'prompts/get': note('prompt'), 'prompts/list': note('prompts') } });
      await peer.request('resources/read', { uri: 'docs://a' });
      for (const [method, params] of [['resources/read', { uri: 'file:///etc/passwd' }], ['prompts/get', { name: 'p' }], ['prompts/list', {}]]) {
        const { error } = (await peer.exchange(method, params)).json;
        assert.ok(error.data['sallyport/denial'].rule && error.data['sallyport/denial'].policy === 'policy.yaml', method);
        if (params.uri) continue;
        assert.equal(error.message, `[INTERCEPT POLICY DENIED] Method "${method}" is not permitted by policy`);
        assert.equal(error.data['sallyport/denial'].rule, 'prompts/*');
      }
      assert.deepEqual(seen, [['read', 'docs://a']]);
    });
  });
}

describe('reload while it runs', { concurrency: 4 }, () => {
  const allow = JSON.stringify(blocks({}));
  const deny = JSON.stringify(blocks({ pay: { deny_if: [{ conditions: [] }] } }));
  const changed = (gate) => gate.child.waitLine(/policy reloaded/, { stream: 'stderr' });
  const directory = (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'sallyport-reload-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  };

  for (const front of ['stdio', 'http']) {
    test(`written in place, replaced by rename, swapped behind a link; ${front}`, async (t) => {
      const dir = directory(t);
      const path = join(dir, 'policy.yaml');
      writeFileSync(path, allow);
      const { gate, peer } = await world(t, undefined, { front, policyPath: path });
      assert.ok(!denied(await outcome(peer, 'pay')));

      writeFileSync(path, deny);
      await changed(gate);
      assert.ok(denied(await outcome(peer, 'pay')), 'in place');

      writeFileSync(join(dir, 'next'), allow);
      renameSync(join(dir, 'next'), path);
      await changed(gate);
      assert.ok(!denied(await outcome(peer, 'pay')), 'by rename');

      writeFileSync(join(dir, 'target'), deny);
      symlinkSync('target', join(dir, 'link'));
      renameSync(join(dir, 'link'), path);
      await changed(gate);
      assert.ok(denied(await outcome(peer, 'pay')), 'a link instead of the file');

      writeFileSync(join(dir, 'other'), allow);
      symlinkSync('other', join(dir, 'link'));
      renameSync(join(dir, 'link'), path);
      await changed(gate);
      assert.ok(!denied(await outcome(peer, 'pay')), 'the link swapped');
    });
  }

  test('a file that is broken, empty, absent or of another kind leaves the old one in force', async (t) => {
    const dir = directory(t);
    const path = join(dir, 'policy.yaml');
    writeFileSync(path, deny);
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const { gate, peer } = await world(t, undefined, { policyPath: path, env });
    const said = async (what) => { // why, in the log of the gate, in `status` and in the audit log
      for (const answer of [await cli(['status'], { env }), await cli(['audit', 'query', '--text', 'reload_failed'], { env })]) assert.match(answer.stdout, what);
    };
    for (const [what, change] of [
      ['broken', () => writeFileSync(path, 'version: "1"\ntools: [')],
      ['unknown key', () => writeFileSync(path, '{"version":"1","default":"allow","tolls":{}}')],
      ['empty', () => writeFileSync(path, '')],
      ['binary', () => writeFileSync(path, Buffer.from([0, 255, 1, 2]))],
    ]) {
      change();
      await gate.child.waitLine(/old policy stays/, { stream: 'stderr' });
      assert.ok(denied(await outcome(peer, 'pay')), what);
      if (what === 'unknown key') await said(/1 error\(s\), the first at 1:34: unknown key "tolls"/);
    }
    rmSync(path);
    await gate.child.waitLine(/No such file.*old policy stays/, { stream: 'stderr' });
    assert.ok(denied(await outcome(peer, 'pay')), 'absent');
    await said(/No such file/);
    writeFileSync(path, deny);
    await changed(gate); // the same as before, but the file is good again
    assert.match((await cli(['status'], { env })).stdout, /^Last reload: \S+ reload /m);
    writeFileSync(path, allow);
    await changed(gate);
    assert.ok(!denied(await outcome(peer, 'pay')), 'and a good one is taken again');
    const told = (await cli(['audit', 'query', '--method', 'tools/call', '--json'], { env })).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line).policy_version);
    assert.deepEqual([told[0], told.at(-1)], ['1+2', '1'], 'newest first: which reading of the file each call was judged by');
  });

  test('a call in flight is judged by the policy it started under, and counters continue', async (t) => {
    const dir = directory(t);
    const path = join(dir, 'policy.yaml');
    const limited = (max) => JSON.stringify(blocks({ pay: { limits: [sliding(max)] } }));
    writeFileSync(path, limited(2));
    let release;
    let arrived;
    const here = new Promise((resolve) => { arrived = resolve; });
    const hold = new Promise((resolve) => { release = resolve; });
    const { gate, peer } = await world(t, undefined, { policyPath: path, call: async ({ arguments: { wait } }) => { if (wait) { arrived(); await hold; } return text('done'); } });
    const first = outcome(peer, 'pay', { wait: true });
    await here;
    writeFileSync(path, limited(1));
    await changed(gate);
    assert.ok(denied(await outcome(peer, 'pay')), 'the first counts under the new policy too');
    release();
    assert.ok(!denied(await first));
  });
});

test('a policy that does not load at the start: status 3, all its mistakes with line and column, and no server started', async (t) => {
  const marker = join(tempDir(), 'started');
  const command = rawStdio((io) => { process.getBuiltinModule('node:fs').writeFileSync(io.args.marker, ''); }, { marker });
  const gate = await startGate({ transport: 'stdio', policy: '{"version":"1","default":"maybe","tolls":{}}', command });
  use(t, { stop: () => gate.child.stop() });
  assert.equal((await gate.child.wait()).code, 3);
  assert.match(gate.stderr, /policy\.yaml:1:\d+: .*tolls/);
  assert.match(gate.stderr, /default/);
  assert.throws(() => rmSync(marker), { code: 'ENOENT' });
});

test('a home that cannot be written: status 4, with its name', async (t) => {
  const home = join(tempDir(), 'file');
  writeFileSync(home, '');
  const gate = await startGate({ transport: 'stdio', policy: 'version: "1"', command: ['cat'], env: { SALLYPORT_HOME: home } });
  use(t, { stop: () => gate.child.stop() });
  assert.equal((await gate.child.wait()).code, 4);
  assert.ok(gate.stderr.includes(home), gate.stderr);
});
