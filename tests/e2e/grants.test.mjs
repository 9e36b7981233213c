// Grants: who can authenticate, what they see, and that a change is in force immediately.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { cli, connect, peerFor, policyFile, post, probeCommand, request, startGate, tempDir, tempFile, until, use } from '../lib/index.mjs';

const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };
const bearer = (token) => ({ Authorization: `Bearer ${token}` });

// A gate that requires grants, and the home they are stored in.
async function world(t, options = {}) {
  const home = join(tempDir(), 'home');
  const run = (...args) => cli(['grants', ...args], { env: { SALLYPORT_HOME: home } });
  const grant = async (...args) => {
    const { code, stdout, stderr } = await run('create', ...args);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
  const gate = use(t, await startGate({ command: probeCommand(), args: ['--token-file', tempFile('token', 'the-one-token-of-the-gate')], ...options, env: { SALLYPORT_HOME: home } }));
  return { home, run, grant, gate };
}

test('the first use of a grant is on record soon, not only a minute later', async (t) => {
  const { run, grant, gate } = await world(t);
  const token = await grant('ci');
  const used = async () => JSON.parse((await run('show', 'ci', '--json')).stdout).used_at;
  assert.equal(await used(), null);
  assert.notEqual((await post(gate.url, ping, { headers: bearer(token) })).status, 401);
  await until('the use is on record', used, 50_000); // it is written every minute besides
});

describe('the command line', () => {
  const home = join(tempDir(), 'home');
  const run = (...args) => cli(['grants', ...args], { env: { SALLYPORT_HOME: home } });

  test('create, list, show, rotate, revoke', async () => {
    const made = JSON.parse((await run('create', 'ci', '--label', 'the build', '--expires', '30d', '--server', 'files', '--tool', 'read_*', '--limits', 'team', '--role', 'viewer', '--role', 'approver', '--json')).stdout);
    assert.match(made.token, /^sp_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual([made.name, made.label, made.servers, made.tools, made.limits, made.roles, made.state], ['ci', 'the build', ['files'], ['read_*'], 'team', ['approver', 'viewer'], 'active']);
    assert.ok(Math.abs(Date.parse(made.expires_at) - Date.now() - 30 * 86400_000) < 600_000);
    const plain = await run('create', 'other');
    assert.match(plain.stdout, /^sp_\S{43}\n$/, 'the token and nothing else');
    const { token, ...shown } = made;
    assert.deepEqual(JSON.parse((await run('show', 'ci', '--json')).stdout), shown);
    assert.deepEqual(JSON.parse((await run('list', '--json')).stdout).map(({ name }) => name), ['ci', 'other']);
    for (const verb of ['list', 'show ci', 'list --json --all']) assert.equal((await run(...verb.split(' '))).stdout.includes(token), false);
    const rotated = JSON.parse((await run('rotate', 'ci', '--json')).stdout);
    assert.notEqual(rotated.token, token);
    assert.equal((await run('revoke', 'ci')).code, 0);
    assert.deepEqual(JSON.parse((await run('list', '--json')).stdout).map(({ name }) => name), ['other']);
    assert.equal(JSON.parse((await run('show', 'ci', '--json')).stdout).state, 'revoked');
    assert.equal(readFileSync(join(home, 'grants.sqlite')).includes(rotated.token.slice(8)), false);
  });

  test('what is refused, and with which status', async () => {
    for (const [args, code] of [
      [['create', 'other'], 1], [['create', 'ci'], 1], [['create', 'a b'], 1], [['show', 'nobody'], 1], [['revoke', 'nobody'], 1], [['rotate', 'ci'], 1],
      [['create', 'x', '--expires', 'soon'], 2], [['create', 'x', '--expires', '2001-01-01T00:00:00Z'], 2], [['create', 'x', '--role', 'root'], 2], [['create'], 2],
      [['create', 'x', '--policy', '/nowhere'], 3], [['create', 'x', '--policy', policyFile({ version: '1', tools: { a: { rulez: [] } } })], 3],
    ]) assert.equal((await run(...args)).code, code, args.join(' '));
  });

  test('every change of a grant is recorded', async () => {
    const { stdout } = await cli(['audit', 'query', '--json'], { env: { SALLYPORT_HOME: home } });
    const events = stdout.trim().split('\n').map((line) => JSON.parse(line)).filter(({ event }) => event?.startsWith('grant_')).map(({ event, text }) => `${event} ${text}`);
    assert.deepEqual(events.sort(), ['grant_created ci', 'grant_created other', 'grant_revoked ci', 'grant_rotated ci']);
  });
});

describe('at the gate', () => {
  test('a missing, wrong or expired grant gets 401 with a challenge', async (t) => {
    const { gate, grant } = await world(t);
    const good = await grant('good');
    const late = await grant('late', '--expires', '1ms');
    for (const headers of [{}, { Authorization: good }, { Authorization: `Basic ${good}` }, bearer(''), bearer('x'), bearer(`${good}x`), bearer(good.slice(0, -1)), bearer(good.toLowerCase()), bearer(late), bearer('the-one-token-of-the-gat')]) {
      for (const path of ['/mcp', '/sse', '/message', '/message?sessionId=x', '/other']) {
        const response = await post(gate.url, ping, { path, headers });
        assert.equal(response.status, 401, `${path} ${JSON.stringify(headers)}`);
        assert.match(response.headers['www-authenticate'], /^Bearer/);
      }
    }
    assert.equal((await request('GET', gate.url, { path: '/healthz' })).status, 200);
    for (const token of [good, 'the-one-token-of-the-gate']) assert.equal((await post(gate.url, ping, { headers: bearer(token) })).status, 400, 'authenticated, and told to initialize');
  });

  for (const [version, negotiation] of [['v1'], ['v2'], ['v2', { pin: '2026-07-28' }]]) {
    test(`a real client with a grant: SDK ${version} ${JSON.stringify(negotiation) ?? ''}`, async (t) => {
      const { gate, grant, run, home } = await world(t);
      const token = await grant('agent');
      const sdk = use(t, await connect(version, { url: gate.url, headers: bearer(token) }, { negotiation }));
      assert.ok((await sdk.tools()).some(({ name }) => name === 'echo'));
      await sdk.call('echo', { a: 1 });
      await assert.rejects(connect(version, { url: gate.url }, { negotiation }), /401|[Uu]nauthorized/);
      await run('revoke', 'agent');
      await assert.rejects(sdk.call('echo', { a: 2 }), /401|[Uu]nauthorized/);
      const { stdout } = await cli(['audit', 'query', '--json'], { env: { SALLYPORT_HOME: home } });
      const calls = stdout.trim().split('\n').map((line) => JSON.parse(line)).filter(({ tool }) => tool === 'echo');
      assert.ok(calls.length > 0);
      for (const { identity, grant: name } of calls) assert.deepEqual([identity, name], ['grant:agent', 'agent']);
    });
  }

  test('revoked: open streams end, the session is gone, and other clients are unaffected', async (t) => {
    const { gate, grant, run } = await world(t);
    const [one, two] = [await grant('one'), await grant('two')];
    const a = await peerFor('http', gate, { headers: bearer(one) });
    const b = await peerFor('http', gate, { headers: bearer(two) });
    const m = await peerFor('modern-http', gate, { headers: bearer(one) });
    const stream = (peer) => request('GET', gate.url, { headers: { ...peer.headersFor(), Accept: 'text/event-stream' } });
    const [streamA, streamB] = [await stream(a), await stream(b)];
    await m.send(m.message('subscriptions/listen', { notifications: { toolsListChanged: true } }, 'listen'));
    await m.next((json) => json?.method === 'notifications/subscriptions/acknowledged');
    await run('revoke', 'one');
    while (await streamA.event() !== null); // the gate ends it
    assert.equal((await post(gate.url, ping, { headers: a.headersFor() })).status, 401);
    assert.equal((await m.send(m.message('tools/list', {}, 'x'))).status, 401);
    assert.ok(await b.call('change'));
    for (let event; !(event = await streamB.event())?.data?.includes('list_changed');) assert.ok(event, 'the other one is still there');
  });

  test('rotated: the old token is refused immediately, or after the grace', async (t) => {
    const { gate, grant, run } = await world(t);
    const first = await grant('ci');
    const peer = await peerFor('http', gate, { headers: bearer(first) });
    const second = (await run('rotate', 'ci')).stdout.trim();
    assert.equal((await post(gate.url, ping, { headers: peer.headersFor() })).status, 401);
    assert.equal((await post(gate.url, ping, { headers: { ...peer.headersFor(), ...bearer(second) } })).status, 404, 'its session ended with it');
    const other = await peerFor('http', gate, { headers: bearer(second) });
    const third = (await run('rotate', 'ci', '--grace', '1h')).stdout.trim();
    for (const token of [second, third]) assert.equal((await post(gate.url, ping, { headers: { ...other.headersFor(), ...bearer(token) } })).status, 200);
    await run('revoke', 'ci');
    for (const token of [second, third]) assert.equal((await post(gate.url, ping, { headers: { ...other.headersFor(), ...bearer(token) } })).status, 401);
  });

  test('rotated with a grace: streams of the old token end with it, those of the new one stay', async (t) => {
    const { gate, grant, run } = await world(t);
    const first = await grant('ci');
    const [before, during] = [await peerFor('http', gate, { headers: bearer(first) }), await peerFor('http', gate, { headers: bearer(first) })];
    const stream = (peer, token) => request('GET', gate.url, { headers: { ...peer.headersFor(), ...bearer(token), Accept: 'text/event-stream' } });
    const early = await stream(before, first);
    const second = (await run('rotate', 'ci', '--grace', '2s')).stdout.trim();
    const late = await stream(during, first);
    const other = await peerFor('http', gate, { headers: bearer(second) });
    const fresh = await stream(other, second);
    while (await early.event() !== null); // the gate ends them
    while (await late.event() !== null);
    assert.equal((await post(gate.url, ping, { headers: before.headersFor() })).status, 401);
    assert.equal((await post(gate.url, ping, { headers: { ...before.headersFor(), ...bearer(second) } })).status, 200, 'its session may go on with the new one');
    assert.ok(await other.call('change'));
    for (let event; !(event = await fresh.event())?.data?.includes('list_changed');) assert.ok(event, 'the new one is still there');
  });

  test('a grant for other servers: 403; for some tools: the others do not exist', async (t) => {
    const name = 'probe';
    const { gate, grant } = await world(t, { args: ['--name', name, '--token-file', tempFile('token', 'another-token-of-the-gate')] });
    const elsewhere = await grant('elsewhere', '--server', 'other*');
    assert.equal((await post(gate.url, ping, { headers: bearer(elsewhere) })).status, 403);
    for (const [grantName, pattern] of [['bare', 'ech*'], ['whole', `${name}__ech*`]]) {
      const peer = await peerFor('http', gate, { headers: bearer(await grant(grantName, '--server', name, '--tool', pattern)) });
      assert.deepEqual((await peer.request('tools/list')).tools.map((tool) => tool.name), ['echo']);
      assert.ok(await peer.call('echo'));
      for (const [method, params] of [['resources/list', {}], ['resources/read', { uri: 'x://1' }], ['prompts/list', {}], ['skills/list', {}], ['skills/get', { uri: 'skill://s/SKILL.md' }], ['prompts/get', { name: 'p' }], ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }]]) {
        assert.match((await peer.exchange(method, params)).json.error?.message ?? '', /grant is for certain tools/, method);
      }
      const denied = (await peer.exchange('tools/call', { name: 'log', arguments: {} })).json;
      const absent = (await peer.exchange('tools/call', { name: 'nosuch', arguments: {} })).json;
      assert.deepEqual(JSON.stringify(denied.error ?? denied.result).replaceAll('log', 'nosuch'), JSON.stringify(absent.error ?? absent.result), 'one cannot tell it from a tool that is not there');
    }
    const spoofed = await peerFor('http', gate, { headers: bearer(await grant('spoofed', '--tool', 'other__echo')) });
    assert.deepEqual((await spoofed.request('tools/list')).tools, []);
  });

  test('the policy of a grant replaces that of the gate, follows its file, and never falls back', async (t) => {
    const { gate, grant } = await world(t, { policy: { version: '1', default: 'allow' } });
    const path = policyFile({ version: '1', default: 'deny', tools: { echo: {} } });
    const peer = await peerFor('http', gate, { headers: bearer(await grant('strict', '--policy', path)) });
    const lax = await peerFor('http', gate, { headers: bearer(await grant('lax')) });
    assert.equal((await peer.call('echo')).isError, undefined);
    assert.equal((await peer.call('log')).isError, true);
    assert.notEqual((await lax.call('log', { data: 'x' })).isError, true);
    const { writeFileSync } = await import('node:fs');
    writeFileSync(path, JSON.stringify({ version: '1', default: 'deny', tools: { log: {} } }));
    await gate.child.waitLine(/policy reloaded/, { stream: 'stderr' });
    assert.equal((await peer.call('echo')).isError, true);
    const broken = policyFile({ version: '1', default: 'deny', tools: { echo: {} } });
    const late = await grant('late', '--policy', broken);
    writeFileSync(broken, 'version: "1"\nnonsense: true\n');
    assert.equal((await post(gate.url, ping, { headers: bearer(late) })).status, 401, 'its policy does not load');
  });

  test('limits of scope grant are counted by grant, or together where they share a name', async (t) => {
    const policy = { version: '1', tools: { echo: { rules: [{ name: 'two', rate_limit: '2/day', scope: 'grant' }] } } };
    const { gate, grant } = await world(t, { policy });
    const peers = {};
    for (const [name, ...args] of [['a'], ['b'], ['c', '--limits', 'team'], ['d', '--limits', 'team']]) peers[name] = await peerFor('http', gate, { headers: bearer(await grant(name, ...args)) });
    const denied = async (name) => Boolean((await peers[name].call('echo')).isError);
    assert.deepEqual([await denied('a'), await denied('a'), await denied('a')], [false, false, true]);
    assert.deepEqual([await denied('b'), await denied('b')], [false, false]);
    assert.deepEqual([await denied('c'), await denied('d'), await denied('c'), await denied('d')], [false, false, true, true]);
  });

  test('policies can read the grant of the caller', async (t) => {
    const policy = { version: '1', tools: { echo: { rules: [{ name: 'who', conditions: [{ path: 'grant.name', op: 'eq', value: 'anna' }, { path: 'identity.name', op: 'eq', value: 'grant:anna' }, { path: 'grant.label', op: 'eq', value: 'Anna' }] }] } } };
    const { gate, grant } = await world(t, { policy });
    const anna = await peerFor('http', gate, { headers: bearer(await grant('anna', '--label', 'Anna')) });
    const bob = await peerFor('http', gate, { headers: bearer(await grant('bob', '--label', 'Anna')) });
    assert.equal((await anna.call('echo')).isError, undefined);
    assert.equal((await bob.call('echo')).isError, true);
  });
});
