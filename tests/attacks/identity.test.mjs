// Every endpoint × every kind of principal: nothing is reachable that should not be (attacks 7, 20-22, 26; I1, I2, I5).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startIssuer } from '../fixtures/idp.mjs';
import { startProbe } from '../fixtures/probe.mjs';
import {
  ALLOW_ALL, ENDPOINTS, cli, expected, peerFor, policyFile, post, probeCommand, request, startServe, startUpstream, tempDir, use,
} from '../lib/index.mjs';

const RESOURCE = 'https://gate.test';
const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };
const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const [command, ...args] = probeCommand();

const world = { open: [] };

before(async () => {
  const keep = (thing) => { world.open.push(thing); return thing; };
  const issuer = keep(await startIssuer());
  const probe = keep(await startProbe());
  const home = join(tempDir(), 'home');
  const grants = async (...line) => (await cli(['grants', ...line], { env: { SALLYPORT_HOME: home } })).stdout.trim();
  const gate = keep(await startServe({
    args: [], env: { SALLYPORT_HOME: home },
    config: {
      version: '1', policy: policyFile(ALLOW_ALL), code: { enabled: false },
      servers: { a: { command, args }, b: { url: probe.url, headers: { Authorization: 'Bearer of-the-gate' } } },
      auth: { resource: RESOURCE, issuers: [{ issuer: issuer.issuer }], rules: [{ when: { team: 'a' }, servers: ['a'] }, { when: { team: 'look' }, servers: ['-'], roles: ['viewer'] }] },
    },
  }));
  Object.assign(world, { issuer, probe, home, grants, gate });
  const foreign = keep(await startIssuer());
  // The credentials of each principal, and what it may use: servers, roles; null: not authenticated.
  world.principals = {
    nobody: [{}, null],
    'an empty bearer': [{ Authorization: 'Bearer ' }, null],
    'another scheme': [{ Authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }, null],
    'a made-up grant': [bearer(`sp_${'A'.repeat(43)}`), null],
    'the hash of a grant': [bearer(await grants('create', 'hashed').then(async (token) => (await import('node:crypto')).createHash('sha256').update(token).digest('base64url'))), null],
    'a revoked grant': [bearer(await grants('create', 'gone').then(async (token) => { await grants('revoke', 'gone'); return token; })), null],
    'an expired grant': [bearer(await grants('create', 'late', '--expires', '1ms')), null],
    'a rotated token': [bearer(await grants('create', 'turned').then(async (token) => { await grants('rotate', 'turned'); return token; })), null],
    'a grant for a': [bearer(await grants('create', 'only-a', '--server', 'a')), { servers: ['a'], roles: [] }],
    'a grant for b': [bearer(await grants('create', 'only-b', '--server', 'b')), { servers: ['b'], roles: [] }],
    'a grant for all': [bearer(await grants('create', 'all')), { servers: ['a', 'b'], roles: [] }],
    'a viewer': [bearer(await grants('create', 'viewer', '--server', '-', '--role', 'viewer')), { servers: [], roles: ['viewer'] }],
    'an approver': [bearer(await grants('create', 'approver', '--server', '-', '--role', 'approver')), { servers: [], roles: ['approver'] }],
    'a policy manager': [bearer(await grants('create', 'manager', '--server', '-', '--role', 'policy-manager')), { servers: [], roles: ['policy-manager'] }],
    'an admin': [bearer(await grants('create', 'admin', '--server', '-', '--role', 'admin')), { servers: [], roles: ['admin'] }],
    'a token of team a': [bearer(await issuer.sign({ team: 'a' })), { servers: ['a'], roles: [] }],
    'a token of a viewer': [bearer(await issuer.sign({ team: 'look' })), { servers: [], roles: ['viewer'] }],
    'a token of team a with 150 groups': [bearer(await issuer.sign({ team: 'a', groups: Array.from({ length: 150 }, (_, i) => `g${i}`) })), { servers: ['a'], roles: [] }],
    'a token with more groups than the gate can hold': [bearer(await issuer.sign({ team: 'a', groups: Array.from({ length: 1100 }, (_, i) => `g${i}`) })), 'refused'],
    'a token whose issuer left groups out': [bearer(await issuer.sign({ team: 'a', _claim_names: { groups: 'src1' } })), 'refused'],
    'a token that no rule fits': [bearer(await issuer.sign({ team: 'b' })), 'refused'],
    'a token for another audience': [bearer(await issuer.sign({ team: 'a', aud: 'https://other.test/mcp' })), null],
    'an expired token': [bearer(await issuer.sign({ team: 'a', exp: 1 })), null],
    'a token of an unknown issuer': [bearer(await foreign.sign({ team: 'a' })), null],
    'a token that names our issuer, signed by another': [bearer(await foreign.sign({ team: 'a', iss: issuer.issuer })), null],
  };
});

after(async () => { for (const thing of world.open.reverse()) await (thing.stop ? thing.stop() : thing.close()); });

test('the identity matrix', async () => {
  const { gate, principals, grants } = world;
  const wrong = [];
  let cells = 0, skipped = 0;
  await Promise.all(Object.entries(principals).map(async ([who, [headers, may]]) => {
    for (const [method, path, needs, body] of ENDPOINTS) {
      // These operations take effect for an admin; no other principal may perform them.
      if (may?.roles?.includes('admin') && /^\/api\/v1\/(grants|servers)/.test(path) && method !== 'GET') { skipped++; continue; }
      const response = await request(method, gate.url, {
        path, headers: { Accept: 'application/json, text/event-stream', ...(body && { 'Content-Type': 'application/json' }), ...headers }, ...(body && { body: JSON.stringify(body) }),
      });
      const want = expected(may, needs);
      const got = [401, 403].includes(response.status) ? response.status : 'in';
      if (got !== want) wrong.push(`${who}: ${method} ${path}: ${response.status}, not ${want}`);
      if (response.status === 401 && !response.headers['www-authenticate']?.startsWith('Bearer')) wrong.push(`${who}: ${method} ${path}: no challenge`);
      response.close();
      cells++;
    }
  }));
  assert.deepEqual(wrong, []);
  assert.equal(cells, Object.keys(principals).length * ENDPOINTS.length - skipped);
  assert.equal((await grants('list', '--json')).includes('mallory'), false);
});

test('each principal sees at /mcp only the servers that its grant names', async () => {
  const { gate, principals } = world;
  for (const [who, [headers, may]] of Object.entries(principals)) {
    if (!may?.servers) continue;
    for (const front of ['http', 'modern-http']) {
      const peer = await peerFor(front, gate, { headers });
      const servers = new Set((await peer.request('tools/list')).tools.map(({ name }) => name.split('__')[0]));
      assert.deepEqual([...servers].sort(), may.servers, `${who} ${front}`);
      for (const server of ['a', 'b']) {
        const { json } = await peer.exchange('tools/call', { name: `${server}__echo`, arguments: {} });
        assert.equal(Boolean(json.result && !json.result.isError), may.servers.includes(server), `${who} ${front} ${server}: ${JSON.stringify(json)}`);
      }
    }
    const response = await request('GET', gate.url, { path: '/mcp/servers', headers });
    assert.deepEqual(JSON.parse(await response.text()).sort(), may.servers, who);
    for (const server of ['a', 'b']) {
      const call = await post(gate.url, { server, tool: 'echo', args: {} }, { path: '/mcp/call', headers });
      assert.equal(call.status === 200, may.servers.includes(server), `${who} /mcp/call ${server}: ${call.status}`);
      call.close();
    }
  }
});

describe('no principal can use what belongs to another', () => {
  // The same person with other credentials, and other principals.
  const others = () => ['a grant for all', 'a grant for a', 'a token of team a', 'an admin'].filter((name) => name !== 'a grant for all').map((name) => [name, world.principals[name][0]]);
  const owner = () => world.principals['a grant for all'][0];

  test('I2 a session id of another principal gets 404 for every method; the owner is unaffected', async () => {
    const { gate } = world;
    const peer = await peerFor('http', gate, { headers: owner() });
    for (const [who, headers] of others()) {
      for (const [method, options] of [['POST', { body: ping }], ['GET', {}], ['DELETE', {}]]) {
        const response = await request(method, gate.url, { headers: { ...peer.headersFor(), 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers }, ...options });
        assert.equal(response.status, 404, `${who} ${method}`);
        response.close();
      }
    }
    assert.equal((await peer.send(ping)).status, 200);
    assert.equal((await post(gate.url, ping, { path: '/mcp/a', headers: peer.headersFor() })).status, 404, 'nor at another endpoint, by its owner');
  });

  test('I1 no message of one principal appears on the streams of another: progress, log, list_changed, updates, requests', async () => {
    const { gate } = world;
    const peer = await peerFor('http', gate, { headers: owner() });
    const watchers = [];
    for (const [, headers] of others().slice(0, 2)) {
      const other = await peerFor('http', gate, { headers });
      await other.listen();
      watchers.push([other, other.received.length]);
    }
    await peer.call('a__progress', { steps: 3 }, { meta: { progressToken: 'shared' } });
    await peer.call('a__log', { data: 'private' });
    await peer.call('a__change');
    for (const [other, count] of watchers) {
      await other.call('a__echo', {}, { meta: { progressToken: 'shared' } });
      assert.equal(other.received.length, count + 1, 'only its own answer');
    }
  });

  test('I1 resuming with an event id of another session returns none of its events', async () => {
    const { gate } = world;
    const peer = await peerFor('http', gate, { headers: owner() });
    await peer.call('a__progress', { steps: 3 }, { meta: { progressToken: 'p' } });
    const [, headers] = others()[0];
    const other = await peerFor('http', gate, { headers });
    for (const id of ['0-0', '1-0', '1-1', '2-0']) {
      const response = await request('GET', gate.url, { headers: { ...other.headersFor(), Accept: 'text/event-stream', 'Last-Event-ID': id } });
      if (response.status === 200) {
        await other.notify('notifications/initialized');
        response.close();
      } else {
        assert.equal(response.status, 400, id);
      }
    }
    assert.equal(other.received.some(({ text }) => text.includes('progress')), false);
  });

  test('a principal can neither answer a request to another nor cancel its call', async () => {
    const { gate } = world;
    const peer = await peerFor('http', gate, { headers: owner() });
    const other = await peerFor('http', gate, { headers: others()[0][1] });
    const asked = peer.ask('a__ask', { method: 'roots/list' }, { id: 'mine' });
    const question = await peer.next((json) => json?.method === 'roots/list');
    await other.respond(question.id, { result: { roots: [{ uri: 'file:///evil' }] } });
    await other.notify('notifications/cancelled', { requestId: 'mine' });
    await other.call('a__echo');
    await peer.respond(question.id, { result: { roots: [{ uri: 'file:///good' }] } });
    assert.deepEqual(await asked, { roots: [{ uri: 'file:///good' }] });
  });

  test('tasks of another principal are not found and not listed', async () => {
    const { gate } = world;
    const peer = await peerFor('http', gate, { headers: owner() });
    const { json } = await peer.exchange('tools/call', { name: 'a__echo', arguments: {}, task: { ttl: 60_000 } });
    const taskId = json.result?.task?.taskId;
    assert.ok(taskId, JSON.stringify(json));
    for (const [who, headers] of others()) {
      const other = await peerFor('http', gate, { headers });
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
        const answer = (await other.exchange(method, { taskId })).json;
        assert.ok(answer.error, `${who} ${method}: ${JSON.stringify(answer)}`);
      }
      const listed = (await other.exchange('tasks/list', {})).json;
      assert.equal(JSON.stringify(listed.result ?? {}).includes(taskId), false, who);
    }
  });

  test('cursors of another principal are refused', async (t) => {
    // Two servers with more tools than fit on one page.
    const many = Array.from({ length: 700 }, (_, i) => ({ name: `tool${i}`, inputSchema: { type: 'object' } }));
    const server = () => startUpstream(({ json }, reply) => {
      if (json?.id === undefined) reply.status(202);
      else if (json.method === 'initialize') reply.json({ jsonrpc: '2.0', id: json.id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'many', version: '1' } } });
      else if (json.method === 'tools/list') reply.json({ jsonrpc: '2.0', id: json.id, result: { tools: many } });
      else reply.json({ jsonrpc: '2.0', id: json.id, error: { code: -32601, message: 'no' } });
    });
    const [one, two] = [use(t, await server()), use(t, await server())];
    const home = join(tempDir(), 'home');
    const grant = async (name) => (await cli(['grants', 'create', name], { env: { SALLYPORT_HOME: home } })).stdout.trim();
    const gate = use(t, await startServe({ args: [], env: { SALLYPORT_HOME: home }, config: { version: '1', policy: policyFile(ALLOW_ALL), code: { enabled: false }, servers: { one: { url: one.url }, two: { url: two.url } } } }));
    const anna = await peerFor('http', gate, { headers: bearer(await grant('anna')) });
    const bob = await peerFor('http', gate, { headers: bearer(await grant('bob')) });
    const { nextCursor, tools } = await anna.request('tools/list');
    assert.equal(tools.length, 700);
    assert.ok(nextCursor);
    const stolen = (await bob.exchange('tools/list', { cursor: nextCursor })).json;
    assert.equal(stolen.error?.code, -32602, JSON.stringify(stolen).slice(0, 200));
    for (const bent of [`${nextCursor}x`, nextCursor.slice(0, -1), 'two', '']) assert.ok((await anna.exchange('tools/list', { cursor: bent })).json.error, bent);
    assert.equal((await anna.request('tools/list', { cursor: nextCursor })).tools.length, 700);
  });

  test('children: state that one principal left in a server process is not visible to another', async () => {
    const { gate } = world;
    for (const front of ['http', 'modern-http']) {
      const pid = async (headers) => (await (await peerFor(front, gate, { headers })).ask('a__seen')).length;
      const first = await peerFor(front, gate, { headers: owner() });
      for (let i = 0; i < 20; i++) await first.call('a__echo', { mine: i });
      assert.ok(await pid(others()[0][1]) < 20, 'a process of its own');
    }
  });

  test('20 credentials of agents never reach a server; the server gets those of the gate', async () => {
    const { gate, probe, principals } = world;
    for (const name of ['a grant for all', 'a grant for b']) {
      for (const front of ['http', 'modern-http']) await (await peerFor(front, gate, { headers: principals[name][0] })).call('b__echo');
    }
    const heads = probe.probe.seen.filter(({ headers }) => headers).map(({ headers }) => headers);
    assert.ok(heads.length > 0);
    for (const headers of heads) {
      assert.equal(headers.authorization, 'Bearer of-the-gate');
      for (const [, [shown]] of Object.entries(principals)) if (shown.Authorization?.length > 12) assert.equal(JSON.stringify(headers).includes(shown.Authorization.slice(7)), false);
    }
  });

  test('22 a foreign Host or Origin is refused, even with an admin grant', async () => {
    const { gate } = world;
    for (const headers of [{ Host: 'evil.example' }, { Origin: 'http://evil.example' }, { Origin: 'null' }, { Host: `evil.example:${gate.port}`, Origin: `http://evil.example:${gate.port}` }]) {
      assert.equal((await post(gate.url, ping, { headers: { ...owner(), ...headers } })).status, 403, JSON.stringify(headers));
    }
  });
});

describe('without a policy calls are refused', () => {
  test('with no policy for the grant, the server or by default, everything but initialize is refused', async (t) => {
    const home = join(tempDir(), 'home');
    const { stdout } = await cli(['grants', 'create', 'x'], { env: { SALLYPORT_HOME: home } });
    const { stdout: own } = await cli(['grants', 'create', 'own', '--policy', policyFile(ALLOW_ALL)], { env: { SALLYPORT_HOME: home } });
    const gate = await startServe({ args: [], env: { SALLYPORT_HOME: home }, config: { version: '1', code: { enabled: false }, servers: { a: { command, args } } } });
    t.after(() => gate.stop());
    const peer = await peerFor('http', { ...gate, url: `${gate.origin}/mcp/a` }, { headers: bearer(stdout.trim()) });
    assert.deepEqual((await peer.request('tools/list')).tools, []);
    for (const [method, params] of [['tools/call', { name: 'echo', arguments: {} }], ['resources/list', {}], ['resources/read', { uri: 'test://x' }], ['prompts/get', { name: 'x' }], ['completion/complete', {}], ['vendor/anything', {}]]) {
      const { json } = await peer.exchange(method, params);
      assert.ok(json.error || json.result?.isError, `${method}: ${JSON.stringify(json)}`);
    }
    const lucky = await peerFor('http', { ...gate, url: `${gate.origin}/mcp/a` }, { headers: bearer(own.trim()) });
    assert.notEqual((await lucky.call('echo')).isError, true, 'one that brings its own is served');
  });
});
