// Several workers behind one port and one home are one gate: limits are exact, grants and the kill switch hold everywhere, a
// session is found from every worker, and what one says of the gate all say.
import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MODERN, ModernHttp, legacyServer, startFixture, startUpstream, alive, children, cli, commandLine, connect, descendants, policyFile, probeCommand, sallyport, start, startServe, tempDir, tempFile, until, use } from '../lib/index.mjs';
import { ModernHttpPeer } from '../lib/peer.mjs';

const [command, ...args] = probeCommand('a');
const settings = (more = {}, policy) => ({ version: '1', policy: policyFile(policy), servers: { a: { command, args, ...more.server } }, ...more.root });
const workersOf = (gate) => children(gate.pid).filter((pid) => commandLine(pid).join(' ').includes('serve'));

// Each request on a connection of its own: the workers take turns.
const ask = (url, { method = 'GET', headers = {}, body, agent = false } = {}) => new Promise((resolve, reject) => {
  const text = body && (typeof body === 'string' ? body : JSON.stringify(body));
  httpRequest(url, { method, agent, headers: { ...(text && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
    Accept: 'application/json, text/event-stream', ...headers } }, (answer) => {
    let got = '';
    answer.setEncoding('utf8').on('data', (chunk) => { got += chunk; }).on('error', reject)
      .on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text: got, get json() { return JSON.parse(got); } }));
  }).on('error', reject).end(text);
});
const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
const call = (name, a = {}, id = 1) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: a } });
const open = async (url, headers = {}) => (await ask(url, { method: 'POST', body: initialize, headers })).headers['mcp-session-id'];
// Sessions until so many workers have one: connections that are open together are spread.
async function openOn(url, workers) {
  const ids = [];
  await until(`sessions on ${workers} workers`, async () => {
    ids.push(...await Promise.all(Array.from({ length: 6 }, () => open(url))));
    return new Set(ids.map((id) => id.slice(-16))).size === workers;
  });
  return ids;
}
const env = () => ({ SALLYPORT_HOME: join(tempDir('workers'), 'home') });

test('a session is reached from every worker: calls, streams, DELETE', async (t) => {
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '3'] }));
  assert.equal(workersOf(gate).length, 3);
  const ids = await openOn(gate.url, 3);
  for (const id of ids) {
    const pids = new Set();
    for (let i = 0; i < 6; i++) {
      const { status, json } = await ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': id }, body: call('a__mark') });
      assert.equal(status, 200);
      pids.add(JSON.parse(json.result.content[0].text).pid);
    }
    assert.equal(pids.size, 1, 'one session, one server process, whichever worker was asked');
  }
  const [id, other] = ids;
  for (let i = 0; i < 4; i++) { // events before the answer, and a large answer
    const { text } = await ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': id },
      body: { ...call('a__progress', { steps: 3 }), params: { name: 'a__progress', arguments: { steps: 3 }, _meta: { progressToken: 'p' } } } });
    assert.equal(text.match(/notifications\/progress/g).length, 3);
    const large = await ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': id }, body: call('a__size', { bytes: 3 << 20 }) });
    assert.equal(large.json.result.content[0].text.length, 3 << 20);
  }
  assert.equal((await ask(gate.url, { method: 'DELETE', headers: { 'Mcp-Session-Id': id } })).status < 300, true);
  for (let i = 0; i < 4; i++) {
    assert.equal((await ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': id }, body: call('a__mark') })).status, 404);
  }
  assert.equal((await ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': other }, body: call('a__mark') })).status, 200);
  const unknown = await ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': `${other.slice(0, -16)}${'0'.repeat(16)}` }, body: call('a__mark') });
  assert.equal(unknown.status, 404);
});

test('SDK clients of both eras and of the 2024 transport, over connections that end after each request', async (t) => {
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '2'] }));
  const fetchOnce = (url, init) => fetch(url, { ...init, headers: new Headers([...new Headers(init?.headers), ['Connection', 'close']]) });
  for (const [version, target, options] of [['v1', { url: gate.url, options: { fetch: fetchOnce } }], ['v2', { url: gate.url, options: { fetch: fetchOnce } }],
    ['v2', { url: gate.url, options: { fetch: fetchOnce } }, { negotiation: { pin: MODERN } }], ['v1', { sse: `${gate.origin}/sse` }]]) {
    const { tools, text, call: use1 } = use(t, await connect(version, target, options));
    assert.ok((await tools()).some(({ name }) => name === 'a__echo'));
    for (let i = 0; i < 6; i++) assert.match(await text('a__echo', { i }), new RegExp(`"i":${i}`));
    let steps = 0;
    await use1('a__progress', { steps: 3 }, { onprogress: () => { steps++; } });
    if (!target.sse) assert.equal(steps, 3, `${version} ${JSON.stringify(options ?? target)}`);
  }
});

test('a session belongs to its grant, from whichever worker it is asked for', async (t) => {
  const home = env();
  const grant = async (name) => JSON.parse((await cli(['grants', 'create', name, '--json'], { env: home })).stdout).token;
  const [one, two] = [await grant('one'), await grant('two')];
  const gate = use(t, await startServe({ config: settings(), args: ['--workers', '2'], env: home }));
  const as = (token) => ({ Authorization: `Bearer ${token}` });
  const id = await open(gate.url, as(one));
  const statuses = async (headers) => {
    const seen = new Set();
    for (let i = 0; i < 6; i++) seen.add((await ask(gate.url, { method: 'POST', headers: { ...headers, 'Mcp-Session-Id': id }, body: call('a__mark') })).status);
    return [...seen];
  };
  assert.deepEqual(await statuses(as(one)), [200]);
  assert.deepEqual(await statuses(as(two)), [404]);
  assert.deepEqual(await statuses({}), [401]);
  assert.deepEqual(await statuses({ ...as(two), 'Sallyport-Forwarded': '- 0 0' }), [404], 'nobody outside is a peer');
  await cli(['grants', 'revoke', 'one'], { env: home });
  await until('the revoked grant is refused everywhere', async () => (await statuses(as(one))).join() === '401');
});

test('a limit of N allows exactly N over all workers', async (t) => {
  const policy = { version: '1', default: 'allow', tools: { echo: { rules: [{ name: 'few', rate_limit: '25/day' }] } } };
  const home = env();
  const gate = use(t, await startServe({ config: settings({}, policy), args: ['--no-auth', '--workers', '3'], env: home }));
  const calls = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(`${gate.origin}/mcp/call`, { method: 'POST', body: { server: 'a', tool: 'echo', args: { i } } })));
  const allowed = calls.filter(({ json }) => !json.isError).length;
  assert.equal(allowed, 25);
  const { code, stdout } = await cli(['audit', 'verify'], { env: home });
  assert.equal(code, 0, stdout);
});

test('a worker that is killed is started again; its sessions are gone, the others go on', async (t) => {
  const home = env();
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '2'], env: home }));
  const ids = await openOn(gate.url, 2);
  const tags = [...new Set(ids.map((id) => id.slice(-16)))];
  const before = workersOf(gate);
  process.kill(before[0], 'SIGKILL');
  await gate.child.waitLine(/worker \d \(pid \d+\) ended with signal 9/, { stream: 'stderr' });
  await until('two workers again', () => workersOf(gate).length === 2 && !workersOf(gate).includes(before[0]));
  const dir = join(home.SALLYPORT_HOME, 'peers');
  await until('both listen for each other', () => readdirSync(join(dir, readdirSync(dir)[0])).length >= 3 /* one is left of the dead */);
  const answers = [];
  for (const id of ids) answers.push([id.slice(-16), (await ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': id }, body: call('a__mark') })).status]);
  const byTag = (tag) => [...new Set(answers.filter(([of]) => of === tag).map(([, status]) => status))].join();
  assert.deepEqual(tags.map(byTag).sort(), ['200', '404']);
  const { client, text } = use(t, await connect('v1', gate));
  assert.match(await text('a__echo', { back: true }), /back/);
  assert.ok(client);
});

test('settings, policies and the kill switch reach every worker', async (t) => {
  const home = env(), path = tempFile('sallyport.yaml', JSON.stringify(settings()));
  const gate = use(t, await startServe({ args: ['--no-auth', '--workers', '2', '--config', path], env: home }));
  const names = async () => {
    const seen = new Set();
    for (let i = 0; i < 6; i++) seen.add((await ask(`${gate.origin}/mcp/servers`)).text);
    return [...seen].join(' ');
  };
  assert.equal(await names(), '["a"]');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(path, JSON.stringify({ ...settings(), servers: { b: { command, args } } }));
  process.kill(gate.pid, 'SIGHUP');
  await until('the new settings everywhere', async () => await names() === '["b"]');
  await cli(['stop-all', '--reason', 'test'], { env: home });
  await until('everything is stopped', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => ask(`${gate.origin}/mcp/call`, { method: 'POST', body: { server: 'b', tool: 'echo', args: {} } })));
    return all.every(({ text }) => /stopped by an operator/.test(text));
  });
});

test('a keep-alive connection uses one worker for many sessions', async (t) => {
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '2'] }));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ids = await openOn(gate.url, 2);
  for (let round = 0; round < 3; round++) {
    for (const id of ids) {
      const { status, json } = await ask(gate.url, { method: 'POST', agent, headers: { 'Mcp-Session-Id': id }, body: call('a__echo', { id }) });
      assert.equal(status, 200);
      assert.match(json.result.content[0].text, new RegExp(id));
    }
  }
});

test('workers end in good order, and leave nothing behind', async () => {
  const home = env();
  const gate = await startServe({ config: settings(), args: ['--no-auth', '--workers', '2'], env: home });
  const pids = workersOf(gate);
  process.kill(gate.pid, 'SIGTERM');
  assert.deepEqual(await gate.child.wait(), { code: 0, signal: null });
  for (const pid of pids) assert.ok(!existsSync(`/proc/${pid}`));
  const dir = join(home.SALLYPORT_HOME, 'peers');
  assert.deepEqual(readdirSync(join(dir, readdirSync(dir)[0])), []);
});

test('a worker that takes the place of another has the settings of now, not those of the start', async (t) => {
  const config = settings(), path = tempFile('sallyport.yaml', JSON.stringify(config));
  const gate = use(t, await startServe({ args: ['--no-auth', '--workers', '2', '--config', path], env: env() }));
  const write = (text) => { writeFileSync(`${path}.new`, text); renameSync(`${path}.new`, path); process.kill(gate.pid, 'SIGHUP'); };
  const names = async () => [...new Set(await Promise.all(Array.from({ length: 6 }, () => ask(`${gate.origin}/mcp/servers`).then(({ text }) => text, () => 'none'))))].join();
  const end = async (pids) => { for (const pid of pids) process.kill(pid, 'SIGKILL'); await until('they ended', () => pids.every((pid) => !alive(pid))); };
  const fresh = JSON.stringify({ ...config, servers: { b: config.servers.a } });
  write(fresh);
  await until('both have the new settings', async () => await names() === '["b"]');
  await end(workersOf(gate));
  await until('both are back', async () => /^2 of/.test((await ask(`${gate.origin}/api/v1/status`)).headers['sallyport-workers']));
  assert.equal(await names(), '["b"]');
  write('version: "1"\nservres: {}\n');
  await gate.child.waitLine(/servres/, { stream: 'stderr' });
  await end(workersOf(gate).slice(1));
  await gate.child.waitLine(/worker \d .* ended with status 3; restart/, { stream: 'stderr' });
  assert.equal(await names(), '["b"]', 'the other one goes on, and none has settings that are no longer in force');
  write(fresh);
  await gate.child.waitLine(/settings reloaded/, { stream: 'stderr' });
  await until('it is back', async () => workersOf(gate).length === 2 && await names() === '["b"]');
});

for (const [what, words] of [['one process', []], ['two workers', ['--workers', '2']]])
  test(`SIGHUP at any moment of the start, and a log that nobody reads any more, end no gate: ${what}`, async () => {
    const path = tempFile('sallyport.yaml', JSON.stringify(settings()));
    const gate = start(sallyport, ['serve', '--no-auth', '--listen', '127.0.0.1:0', ...words, '--config', path], { env: env() });
    const hups = setInterval(() => { if (descendants(gate.pid).length) process.kill(gate.pid, 'SIGHUP'); }, 1); // it has its signals in hand before it starts anything
    const line = await gate.waitLine(/listening on/, { stream: 'stderr' });
    clearInterval(hups);
    gate.process.stderr.destroy();
    for (let i = 0; i < 3; i++) { process.kill(gate.pid, 'SIGHUP'); await ask(`${/http:\S+:\d+/.exec(line)[0]}/healthz`); }
    assert.equal((await ask(`${/http:\S+:\d+/.exec(line)[0]}/mcp/servers`)).text, '["a"]');
    process.kill(gate.pid, 'SIGTERM');
    assert.deepEqual(await gate.exited, { code: 0, signal: null });
  });

test('mistakes in the settings are reported once', async () => {
  const { code, stderr } = await cli(['serve', '--no-auth', '--workers', 'many', '--config', tempFile('sallyport.yaml', JSON.stringify(settings()))]);
  assert.equal(code, 3);
  assert.match(stderr, /workers: `many`: a number from 1 to 64, or auto/);
  const bad = await cli(['serve', '--no-auth', '--workers', '2', '--listen', '127.0.0.1:0', '--config', tempFile('sallyport.yaml', JSON.stringify({ ...settings(), policy: '/nonexistent' }))]);
  assert.notEqual(bad.code, 0);
  assert.equal(bad.stderr.match(/nonexistent/g).length, 1, bad.stderr);
  const open = await cli(['serve', '--no-auth', '--workers', '3', '--listen', '0.0.0.0:0', '--config', tempFile('sallyport.yaml', JSON.stringify(settings()))]);
  assert.equal(open.code, 3);
  for (const line of [/error: --no-auth is allowed on the loopback only/g, /WITHOUT TLS/g, /1 server configured/g]) assert.equal(open.stderr.match(line)?.length, 1, open.stderr);
});

test('every worker answers for the whole gate: sessions, calls, servers, status, readiness, metrics', async (t) => {
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '3'] }));
  const ids = await openOn(gate.url, 3);
  const held = ids.slice(0, 3).map((id) => ask(gate.url, { method: 'POST', headers: { 'Mcp-Session-Id': id }, body: call('a__hold', { key: id }) }));
  const same = async (path, of) => {
    const seen = new Set();
    for (let i = 0; i < 6; i++) seen.add(of(await ask(`${gate.origin}${path}`)));
    return [...seen];
  };
  await until('all calls in flight are seen', async () => (await same('/api/v1/calls', ({ json }) => json.length)).join() === '3');
  // A worker that has no processor for two seconds is left out of an answer, which says so.
  const agree = async (path, of, fits) => {
    let seen;
    await until(() => `${path} to be the same from every worker, not ${JSON.stringify(seen)}`, async () => { seen = await same(path, of); return seen.length === 1 && fits(seen[0]); });
  };
  await agree('/api/v1/sessions?limit=1000', ({ json }) => json.filter(({ version }) => version !== 'stateless').length, (count) => count === ids.length);
  await agree('/api/v1/status', ({ json }) => `${json.workers} ${json.calls_under_way}`, (text) => text === '3 3');
  await agree('/api/v1/sessions', ({ headers }) => headers['sallyport-workers'], (text) => text === '3 of 3');
  await agree('/api/v1/servers', ({ json }) => json.map(({ name, state, links }) => `${name} ${state} ${links}`).join(), (text) => Number(/^a ready (\d+)$/.exec(text)?.[1]) >= 3);
  await agree('/readyz', ({ status, text }) => `${status} ${text.split('\n').sort().join('; ')}`, (text) => [0, 1, 2].every((worker) => new RegExp(`^200 .*worker ${worker}: ok`).test(text)));
  const stopped = workersOf(gate)[1];
  process.kill(stopped, 'SIGSTOP');
  await until('a worker that hangs is not ready', async () => (await Promise.race([ask(`${gate.origin}/readyz`), new Promise((done) => setTimeout(() => done({ status: 0 }), 5000))])).status === 503);
  process.kill(stopped, 'SIGCONT');
  await until('it is again', async () => (await ask(`${gate.origin}/readyz`)).status === 200);
  const text = await until('metrics of every worker', async () => {
    const page = (await ask(`${gate.origin}/metrics`)).text;
    return [0, 1, 2].every((worker) => new RegExp(`^sallyport_sessions\\{worker="${worker}"\\} \\d+$`, 'm').test(page)) && page;
  });
  const families = text.split('\n').filter((line) => line.startsWith('# TYPE'));
  assert.equal(new Set(families).size, families.length, 'a family stands once');
  assert.equal((await ask(`${gate.origin}/api/v1/sessions?limit=no`)).status, 400);
  process.kill(gate.pid, 'SIGTERM');
  process.kill(gate.pid, 'SIGTERM');
  await Promise.allSettled(held);
});

test('lists that all workers answer come in pages, whichever worker is asked for the next one', async (t) => {
  const gate = use(t, await startServe({ config: settings(), args: ['--no-auth', '--workers', '3'] }));
  const url = `${gate.origin}/api/v1/sessions`;
  await openOn(gate.url, 3);
  const all = (await ask(`${url}?limit=1000`)).json.map(({ session }) => session);
  for (const limit of [1, 2, 5, all.length - 1]) {
    const seen = [];
    for (let cursor = ''; cursor !== undefined;) {
      const page = await ask(`${url}?limit=${limit}${cursor && `&cursor=${cursor}`}`);
      assert.equal(page.status, 200);
      assert.ok(page.json.length <= limit && page.json.length > 0, `${page.json.length} of ${limit}`);
      seen.push(...page.json.map(({ session }) => session));
      cursor = page.headers['sallyport-cursor'];
      assert.ok(seen.length < all.length || cursor === undefined, 'the last page has no cursor');
    }
    assert.deepEqual(seen.sort(), [...all].sort(), `pages of ${limit}`);
  }
  const { headers } = await ask(`${url}?limit=1`), [process] = Buffer.from(headers['sallyport-cursor'], 'base64url').toString().split(' ');
  const gone = await ask(`${url}?cursor=${Buffer.from(`${process} ${'0'.repeat(64)}`).toString('base64url')}`);
  assert.equal(gone.status, 400);
  assert.match(gone.json.error, /no longer exists/);
});

test('an answer of a modern client reaches the worker that waits for it', async (t) => {
  const server = use(t, await startFixture('conformance.mjs', '--era', 'legacy'));
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers: { s: { url: server.url } } }, args: ['--no-auth', '--workers', '3'] }));
  const client = () => new ModernHttp(`${gate.origin}/mcp/s`, { capabilities: { elicitation: {} }, headers: { Connection: 'close' } });
  const args = { name: 'test_elicitation', arguments: { message: 'm' } };
  for (let i = 0; i < 4; i++) {
    const { requestState, inputRequests, resultType } = await client().request('tools/call', args);
    assert.equal(resultType, 'input_required');
    const inputResponses = { [Object.keys(inputRequests)[0]]: { action: 'accept', content: { username: 'u', email: 'e' } } };
    const done = await client().request('tools/call', { ...args, requestState, inputResponses });
    assert.match(JSON.stringify(done.content), /action=accept/);
    for (let k = 0; k < 4; k++) { // another worker that took it for its own would make the call anew
      assert.equal((await client().exchange('tools/call', { ...args, requestState, inputResponses })).answer.error.code, -32602);
    }
  }
});

test('a modern client finds its background job and its task from every worker', async (t) => {
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: true } }, args: ['--no-auth', '--workers', '3'] }));
  const peer = new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers: { Connection: 'close' } });
  const code = 'import time\nwhile True: time.sleep(1)';
  const jobs = [];
  for (let i = 0; i < 2; i++) jobs.push((await peer.call('execute_code', { code, background: true, timeout_seconds: 120 })).structuredContent.job_id);
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
  const { taskId } = await peer.request('tools/call', { name: 'execute_code', arguments: { code, timeout_seconds: 120 }, _meta });
  const named = { headers: { 'Mcp-Name': taskId } };
  for (let i = 0; i < 9; i++) {
    for (const id of jobs) assert.equal((await peer.call('job_status', { job_id: id })).structuredContent.status, 'running');
    assert.equal((await peer.request('tasks/get', { taskId, _meta }, named)).status, 'working');
  }
  for (const id of jobs) await peer.call('job_cancel', { job_id: id });
  await peer.request('tasks/cancel', { taskId, _meta }, named);
  for (const id of jobs) for (let i = 0; i < 4; i++) assert.notEqual((await peer.call('job_status', { job_id: id })).structuredContent.status, 'running');
  const other = `${jobs[0].slice(0, -12)}000000000000`;
  assert.equal((await peer.call('job_status', { job_id: other })).structuredContent?.success ?? false, false, 'an id of no process is not found');
});

test('flow labels of an identity at one worker apply at all workers', async (t) => {
  const tools = ['read_file', 'send_email'].map((name) => ({ name, description: name === 'read_file' ? 'Read a file of the user' : 'Send an e-mail to anybody',
    inputSchema: { type: 'object', properties: {} } }));
  const server = await startUpstream(legacyServer({ tools, methods: { 'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }) } }));
  t.after(() => server.close());
  const policy = policyFile({ version: '1', default: 'allow', tools: {}, flows: [{ name: 'what is ours stays here', after: ['src_private'], deny: ['sink'] }] });
  const gate = use(t, await startServe({ config: { version: '1', policy, servers: { s: { url: server.url } } }, args: ['--no-auth', '--workers', '3'] }));
  const sends = () => Promise.all(Array.from({ length: 9 }, () => ask(`${gate.origin}/mcp/call`, { method: 'POST', body: { server: 's', tool: 'send_email', args: {} } })));
  assert.ok((await sends()).every(({ json }) => !json.isError), 'nothing was read yet');
  assert.ok(!(await ask(`${gate.origin}/mcp/call`, { method: 'POST', body: { server: 's', tool: 'read_file', args: {} } })).json.isError);
  assert.ok((await sends()).every(({ json }) => json.isError), 'every worker knows');
});

test('a call in flight is cancelled from any worker, by an operator', async (t) => {
  const home = env();
  const grant = async (...words) => ({ Authorization: `Bearer ${JSON.parse((await cli(['grants', 'create', ...words, '--json'], { env: home })).stdout).token}` });
  const [agent, operator] = [await grant('agent'), await grant('operator', '--role', 'admin')];
  const gate = use(t, await startServe({ config: settings(), args: ['--workers', '3'], env: home }));
  for (let i = 0; i < 3; i++) {
    const id = await open(gate.url, agent);
    const held = ask(gate.url, { method: 'POST', headers: { ...agent, 'Mcp-Session-Id': id }, body: call('a__hold', { key: id }) });
    const [one] = await until('the call is in flight', async () => {
      const { json } = await ask(`${gate.origin}/api/v1/calls`, { headers: operator });
      return json.length && json;
    });
    assert.equal((await ask(`${gate.origin}/api/v1/calls/${one.id}/cancel`, { method: 'POST', headers: agent })).status, 403);
    assert.equal((await ask(`${gate.origin}/api/v1/calls/${one.id}/cancel`, { method: 'POST', headers: operator })).status, 200);
    assert.match((await held).text, /cancelled by an operator/);
    assert.equal((await ask(`${gate.origin}/api/v1/calls/${one.id}/cancel`, { method: 'POST', headers: operator })).status, 404);
  }
});

test('a server is the same from every worker: its page, its log in order of time, and a restart that reaches all of its processes', async (t) => {
  const home = env();
  const operator = { Authorization: `Bearer ${JSON.parse((await cli(['grants', 'create', 'operator', '--role', 'admin', '--json'], { env: home })).stdout).token}` };
  const gate = use(t, await startServe({ config: settings(), args: ['--workers', '2'], env: home }));
  const ids = new Map(); // one session for each worker
  await until('a session on each worker', async () => {
    const id = await open(gate.url, operator);
    ids.set(id.slice(-16), id);
    return ids.size === 2;
  });
  const say = async (id, name, a) => (await ask(gate.url, { method: 'POST', headers: { ...operator, 'Mcp-Session-Id': id }, body: call(`a__${name}`, a) })).json.result.content[0].text;
  const pids = () => Promise.all([...ids.values()].map(async (id) => JSON.parse(await say(id, 'mark')).pid));
  const page = async () => (await ask(`${gate.origin}/api/v1/servers/a`, { headers: operator })).json;
  for (let round = 0; round < 2; round++) for (const id of ids.values()) await say(id, 'stderr', { text: `round ${round} of ${id.slice(-16)}\n` });
  await ask(gate.url, { method: 'POST', headers: { ...operator, 'Mcp-Session-Id': [...ids.values()][0] }, body: { jsonrpc: '2.0', id: 2, method: 'tools/list' } });
  const before = await pids();
  assert.equal(new Set(before).size, 2);
  for (let i = 0; i < 6; i++) {
    const { state, links, tools, tools_known: known } = await page();
    assert.deepEqual([state, links >= 2, tools > 0, known], ['ready', true, true, true]);
    const log = await until('the lines of both', async () => {
      const { json } = await ask(`${gate.origin}/api/v1/servers/a/log`, { headers: operator });
      const said = json.filter(({ text }) => text.startsWith('round'));
      return said.length === 4 && said;
    });
    assert.deepEqual(log.map(({ text }) => text.slice(0, 7)), ['round 0', 'round 0', 'round 1', 'round 1']);
    assert.deepEqual(log.map(({ time }) => time), log.map(({ time }) => time).sort());
  }
  assert.equal((await ask(`${gate.origin}/api/v1/servers/a/restart`, { method: 'POST', headers: operator })).status, 200);
  const after = await pids();
  assert.deepEqual(after.filter((pid) => before.includes(pid)), []);
  const { json } = await ask(`${gate.origin}/api/v1/audit?kind=event&event=server_restarted`, { headers: operator });
  assert.equal(json.length, 1, 'one action of one person');
  for (const path of ['servers/nowhere', 'servers/nowhere/log', 'servers/a/restart/now']) assert.equal((await ask(`${gate.origin}/api/v1/${path}`, { headers: operator })).status, 404, path);
});
