// Gates on machines of their own, as far as they can tell: each has its home, its own loopback address for the others, and a certificate of
// the fleet. A session is reached from every gate, whatever deals the connections out; who has no certificate gets nothing.
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { cpSync, mkdirSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { connect as tcpConnect, createServer } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { DEADLINE_MS, MODERN, ModernHttp, cli, connect, legacyServer, policyFile, probeCommand, startFixture, startHaproxy, startServe, startUpstream, tempDir, tempFile, until, use } from '../lib/index.mjs';
import { certificates } from '../lib/certificates.mjs';
import { ModernHttpPeer } from '../lib/peer.mjs';
import { children, descendants } from '../lib/procfs.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';

const [command, ...args] = probeCommand('a');
const dir = tempDir('nodes'), PORT = 9443;
const { file, authority, certificate } = certificates(dir);
// Addresses of the loopback that no other test has: a port cannot be taken in between.
const network = `127.${1 + Math.floor(Math.random() * 253)}.${Math.floor(Math.random() * 255)}`;
const nodes = [1, 2, 3].map((n) => `${network}.${n}:${PORT}`);

before(async () => {
  await authority('ca');
  await authority('stranger');
  for (const [n, node] of nodes.entries()) await certificate(`node${n}`, 'ca', `subjectAltName=IP:${node.split(':')[0]}`);
  await certificate('other', 'stranger', `subjectAltName=IP:${nodes[1].split(':')[0]}`);
  await certificate('misnamed', 'ca', 'subjectAltName=DNS:elsewhere.example');
});

const ask = (url, { method = 'POST', headers = {}, body } = {}) => new Promise((resolve, reject) => {
  const text = body && JSON.stringify(body);
  httpRequest(url, { method, agent: false, headers: { ...(text && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
    Accept: 'application/json, text/event-stream', ...headers } }, (answer) => {
    let got = '';
    answer.setEncoding('utf8').on('data', (chunk) => { got += chunk; }).on('error', reject)
      .on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text: got, get json() { return JSON.parse(got); } }));
  }).on('error', reject).end(text);
});
const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
const call = (name, a = {}, id = 1) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: a } });
const open = async (gate, headers = {}) => (await ask(gate.url, { body: initialize, headers })).headers['mcp-session-id'];
const fleetOf = (n, more = {}) => ({ listen: nodes[n], nodes, cert: file(`node${n}.pem`), key: file(`node${n}.key`), ca: file('ca.pem'), ...more });

async function start(t, { count = 2, workers = 1, config = {}, fleet = () => ({}), home = () => ({}), line = ['--no-auth'] } = {}) {
  const key = join(tempDir('key'), 'request_state.key'), gates = [];
  for (let n = 0; n < count; n++) {
    gates.push(use(t, await startServe({ args: [...line, '--workers', String(workers)], env: home(n), timeout: DEADLINE_MS,
      config: { version: '1', policy: policyFile(), servers: { a: { command, args } }, request_state: { key }, fleet: fleetOf(n, fleet(n)), ...config } })));
  }
  return gates;
}

test('a session is reached from every gate: calls, events, large messages both ways, DELETE', async (t) => {
  const gates = await start(t, { count: 3, workers: 2 });
  for (const owner of gates) {
    const id = await open(owner), headers = { 'Mcp-Session-Id': id }, pids = new Set();
    for (const gate of [...gates, ...gates]) {
      const { status, json } = await ask(gate.url, { headers, body: call('a__mark') });
      assert.equal(status, 200);
      pids.add(JSON.parse(json.result.content[0].text).pid);
      const { text } = await ask(gate.url, { headers, body: { ...call('a__progress'), params: { name: 'a__progress', arguments: { steps: 3 }, _meta: { progressToken: 'p' } } } });
      assert.equal(text.match(/notifications\/progress/g).length, 3);
      const large = await ask(gate.url, { headers, body: call('a__size', { bytes: 3 << 20 }) });
      assert.equal(large.json.result.content[0].text.length, 3 << 20);
      const sent = 'x'.repeat(2 << 20);
      assert.ok((await ask(gate.url, { headers, body: call('a__echo', { sent }) })).text.includes(sent));
    }
    assert.equal(pids.size, 1, 'one session, one server process, whichever gate was asked');
    const elsewhere = gates.find((gate) => gate !== owner);
    assert.ok((await ask(elsewhere.url, { method: 'DELETE', headers })).status < 300);
    for (const gate of gates) assert.equal((await ask(gate.url, { headers, body: call('a__mark') })).status, 404);
  }
  const other = `${(await open(gates[0])).slice(0, -16)}${'0'.repeat(16)}`;
  assert.equal((await ask(gates[1].url, { headers: { 'Mcp-Session-Id': other }, body: call('a__mark') })).status, 404, 'of no gate');
});

test('a stream that broke is resumed at another gate', async (t) => {
  const gates = await start(t);
  const headers = { 'Mcp-Session-Id': await open(gates[0]) };
  const seen = [];
  const broken = await new Promise((resolve, reject) => {
    const req = httpRequest(gates[1].url, { method: 'POST', agent: false, headers: { ...headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' } }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
        const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
        if (ids.length && /notifications\/progress/.test(text)) { seen.push(...ids); req.destroy(); resolve(true); }
      }).on('error', () => {});
    });
    req.on('error', reject).end(JSON.stringify({ ...call('a__progress'), params: { name: 'a__progress', arguments: { steps: 40, delay: 20 }, _meta: { progressToken: 'p' } } }));
  });
  assert.ok(broken);
  const { status, text } = await ask(gates[1].url, { method: 'GET', headers: { ...headers, Accept: 'text/event-stream', 'Last-Event-ID': seen.at(-1) } });
  assert.equal(status, 200);
  assert.match(text, /"id":1/);
  assert.match(text, /"result"/);
});

test('SDK clients behind haproxy, which deals every request to the next gate', async (t) => {
  const gates = await start(t, { count: 3 });
  const proxy = use(t, await startHaproxy(gates.map(({ port }) => [port]), { http: 'http-reuse never' }));
  const fetchOnce = (url, init) => fetch(url, { ...init, headers: new Headers([...new Headers(init?.headers), ['Connection', 'close']]) });
  for (const [version, target, options] of [['v1', { url: proxy.url, options: { fetch: fetchOnce } }], ['v2', { url: proxy.url, options: { fetch: fetchOnce } }],
    ['v2', { url: proxy.url, options: { fetch: fetchOnce } }, { negotiation: { pin: MODERN } }], ['v1', { sse: `${proxy.origin}/sse` }]]) {
    const { tools, text, call: calls } = use(t, await connect(version, target, options));
    assert.ok((await tools()).some(({ name }) => name === 'a__echo'));
    for (let i = 0; i < 9; i++) assert.match(await text('a__echo', { i }), new RegExp(`"i":${i}`));
    let steps = 0;
    await calls('a__progress', { steps: 3 }, { onprogress: () => { steps++; } });
    if (!target.sse) assert.equal(steps, 3, `${version} ${JSON.stringify(options ?? target)}`);
  }
});

test('a question of a server is answered through another gate', async (t) => {
  const server = use(t, await startFixture('conformance.mjs', '--era', 'legacy'));
  const gates = await start(t, { workers: 2, config: { servers: { s: { url: server.url } } } });
  const client = (gate) => new ModernHttp(`${gate.origin}/mcp/s`, { capabilities: { elicitation: {} }, headers: { Connection: 'close' } });
  const asked = { name: 'test_elicitation', arguments: { message: 'm' } };
  for (const [here, there] of [gates, [...gates].reverse()]) {
    const { requestState, inputRequests, resultType } = await client(here).request('tools/call', asked);
    assert.equal(resultType, 'input_required');
    const inputResponses = { [Object.keys(inputRequests)[0]]: { action: 'accept', content: { username: 'u', email: 'e' } } };
    const done = await client(there).request('tools/call', { ...asked, requestState, inputResponses });
    assert.match(JSON.stringify(done.content), /action=accept/);
    assert.equal((await client(there).exchange('tools/call', { ...asked, requestState, inputResponses })).answer.error.code, -32602, 'once');
  }
});

test('jobs and tasks of the code server are found from every gate', async (t) => {
  const gates = await start(t, { workers: 2, config: { servers: {}, code: { enabled: true } } });
  const [here, there] = gates.map((gate) => new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers: { Connection: 'close' } }));
  const code = 'import time\nwhile True: time.sleep(1)';
  const { job_id } = (await here.call('execute_code', { code, background: true, timeout_seconds: 120 })).structuredContent;
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
  const { taskId } = await here.request('tools/call', { name: 'execute_code', arguments: { code, timeout_seconds: 120 }, _meta });
  const named = { headers: { 'Mcp-Name': taskId } };
  for (let i = 0; i < 4; i++) {
    assert.equal((await there.call('job_status', { job_id })).structuredContent.status, 'running');
    assert.equal((await there.request('tasks/get', { taskId, _meta }, named)).status, 'working');
  }
  await there.call('job_cancel', { job_id });
  await there.request('tasks/cancel', { taskId, _meta }, named);
  for (const peer of [here, there]) assert.notEqual((await peer.call('job_status', { job_id })).structuredContent.status, 'running');
});

test('kill -9 of the owner: streams end, its sessions are 404, clients begin again elsewhere; another start of it is found', async (t) => {
  const gates = await start(t, { count: 3 });
  const id = await open(gates[0]), headers = { 'Mcp-Session-Id': id };
  assert.equal((await ask(gates[1].url, { headers, body: call('a__mark') })).status, 200);
  const held = ask(gates[1].url, { headers, body: call('a__hold', { key: id }) });
  const stream = ask(gates[2].url, { method: 'GET', headers });
  await until('the call is in flight', async () => (await ask(`${gates[0].origin}/api/v1/calls`, { method: 'GET' })).json.length === 1);
  process.kill(gates[0].pid, 'SIGKILL');
  const [lost] = await Promise.allSettled([held, stream]);
  assert.ok(lost.status === 'rejected' || lost.value.status === 404 || !/"result"/.test(lost.value.text));
  for (const gate of gates.slice(1)) {
    const { status, text } = await ask(gate.url, { headers, body: call('a__mark') });
    assert.equal(status, 404, text);
    const fresh = await open(gate);
    for (const other of gates.slice(1)) assert.equal((await ask(other.url, { headers: { 'Mcp-Session-Id': fresh }, body: call('a__mark') })).status, 200);
  }
  const [again] = await start(t, { count: 1 });
  const fresh = await open(again);
  for (const gate of gates.slice(1)) {
    assert.equal((await ask(gate.url, { headers: { 'Mcp-Session-Id': fresh }, body: call('a__mark') })).status, 200);
    assert.equal((await ask(gate.url, { headers, body: call('a__mark') })).status, 404);
  }
});

// What a peer gets that shows this certificate: the text of the answer, or '' when the connection ended.
const knock = (options, request) => new Promise((resolve) => {
  const [host] = nodes[0].split(':');
  let text = '';
  const socket = options ? tlsConnect({ host, port: PORT, rejectUnauthorized: false, ...options }) : tcpConnect({ host, port: PORT });
  socket.setEncoding('utf8').on('data', (chunk) => { text += chunk; if (/\r\n\r\n/.test(text)) socket.destroy(); }).on('error', () => {}).on('close', () => resolve(text));
  socket.on(options ? 'secureConnect' : 'connect', () => socket.write(request));
});

test('who shows no certificate of the fleet gets nothing, at either end', async (t) => {
  const gates = await start(t);
  const id = await open(gates[0]);
  const body = JSON.stringify(call('a__mark'));
  const request = `POST /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: ${id}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const shown = (name) => ({ cert: readFileSync(file(`${name}.pem`)), key: readFileSync(file(`${name}.key`)) });
  assert.equal(await knock(null, request), '', 'plain bytes');
  assert.equal(await knock({}, request), '', 'no certificate');
  assert.equal(await knock(shown('other'), request), '', 'one of another authority');
  await gates[0].child.waitLine(/fleet: a connection was refused/, { stream: 'stderr' });
  assert.match(await knock(shown('node1'), request), /^HTTP\/1\.1 200 /, 'the fleet\'s own');
  // A gate that another authority vouches for, at an address of the fleet: nothing is sent to it.
  const [impostor] = [use(t, await startServe({ timeout: DEADLINE_MS, config: { version: '1', policy: policyFile(), servers: { a: { command, args } },
    fleet: { listen: nodes[2], nodes, cert: file('other.pem'), key: file('other.key'), ca: file('stranger.pem') } } }))];
  const theirs = { 'Mcp-Session-Id': await open(impostor) };
  assert.equal((await ask(gates[0].url, { headers: theirs, body: call('a__mark') })).status, 404);
  await gates[0].child.waitLine(/fleet: gate \S+ cannot be reached: TLS: .*/, { stream: 'stderr' });
  assert.equal((await ask(impostor.url, { headers: { 'Mcp-Session-Id': id }, body: call('a__mark') })).status, 404);
});

test('a certificate must name the address that is dialled', async (t) => {
  const gates = await start(t, { fleet: (n) => (n ? { cert: file('misnamed.pem'), key: file('misnamed.key') } : {}) });
  const headers = { 'Mcp-Session-Id': await open(gates[1]) };
  assert.equal((await ask(gates[0].url, { headers, body: call('a__mark') })).status, 404);
  await gates[0].child.waitLine(/cannot be reached: TLS: .*(mismatch|match)/i, { stream: 'stderr' });
});

test('mistakes in `fleet` are reported', async () => {
  for (const [fleet, said] of [
    [{ listen: nodes[0] }, /fleet: listen, nodes, cert, key and ca are all required/],
    [fleetOf(0, { nodes: nodes.slice(1) }), /fleet: this gate, `\S+`, is not in `nodes`/],
    [fleetOf(0, { nodes: [...nodes, nodes[1]] }), /is listed twice/],
    [fleetOf(0, { nodes: [...nodes, 'gate-4'] }), /`gate-4`: write it as HOST:PORT/],
    [fleetOf(0, { ca: file('none.pem') }), /fleet: .*none\.pem/],
  ]) {
    const config = tempFile('sallyport.yaml', JSON.stringify({ version: '1', policy: policyFile(), servers: { a: { command, args } }, fleet }));
    const { code, stderr } = await cli(['serve', '--no-auth', '--listen', '127.0.0.1:0', '--config', config], { env: { SALLYPORT_HOME: join(tempDir(), 'home') } });
    assert.notEqual(code, 0);
    assert.match(stderr, said);
  }
});

test('a session belongs to its grant at every gate', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, async (t) => {
  const pg = use(t, await startPostgres());
  const homes = nodes.map(() => join(tempDir('fleet'), 'home')), env = (n) => ({ SALLYPORT_HOME: homes[n] });
  assert.ok(pg.psql('CREATE DATABASE nodes').ok);
  const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/list': () => ({ tools: [{ name: 'mark', inputSchema: { type: 'object' } }] }), 'tools/call': () => ({ content: [{ type: 'text', text: 'ok' }] }) } })));
  const gates = await start(t, { line: [], home: (n) => {
    for (const key of n ? ['approvals.key', 'secret.key', 'pii/key'] : []) {
      mkdirSync(join(homes[n], key, '..'), { recursive: true, mode: 0o700 });
      cpSync(join(homes[0], key), join(homes[n], key));
    }
    return env(n);
  }, config: { servers: { a: { url: server.url } }, state: { database: `postgres://${pg.user}@/nodes?host=${pg.socket}` } } });
  const grant = async (name) => ({ Authorization: `Bearer ${JSON.parse((await cli(['grants', 'create', name, '--json'], { env: env(0) })).stdout).token}` });
  const [one, two] = [await grant('one'), await grant('two')];
  // A gate on a busy machine whose copy of the database is late refuses grants for a moment (503).
  const status = (gate, headers) => until('another answer than 503', async () => { const { status: got } = await ask(gate.url, { headers, body: call('a__mark') }); return got !== 503 && got; });
  for (const gate of gates) for (const headers of [one, two]) await until('the grant is known', async () => (await ask(gate.url, { headers, body: initialize })).status === 200);
  const session = { 'Mcp-Session-Id': await until('a session', () => open(gates[0], one)) };
  for (const gate of gates) {
    assert.equal(await status(gate, { ...one, ...session }), 200);
    assert.equal(await status(gate, { ...two, ...session }), 404);
    assert.equal(await status(gate, session), 401);
    assert.equal(await status(gate, { ...two, ...session, 'Sallyport-Forwarded': '- 0 0' }), 404, 'nobody outside is a peer');
  }
});

/** The gates 1 and 2, and a TCP proxy between them under whose address the first knows the second: {gates, links, hold()}. links: [{near, far}], sockets to the gates. */
async function proxied(t, { workers } = {}) {
  const address = `${network}.9:${PORT}`, list = [nodes[0], address], links = [];
  let held = false;
  await certificate('proxied', 'ca', `subjectAltName=IP:${address.split(':')[0]}`);
  const proxy = createServer((near) => {
    const far = tcpConnect({ host: nodes[1].split(':')[0], port: PORT });
    links.push({ near, far });
    near.on('error', () => far.destroy()).on('data', (bytes) => { if (!held || links.at(-1).near === near) far.write(bytes); });
    far.on('error', () => near.destroy()).pipe(near);
  });
  await new Promise((done) => { proxy.listen(PORT, address.split(':')[0], done); });
  t.after(() => { proxy.close(); for (const { near, far } of links) { near.destroy(); far.destroy(); } });
  const gates = [];
  for (const [n, more] of [{ nodes: list }, { nodes: list, address, cert: file('proxied.pem'), key: file('proxied.key') }].entries())
    gates.push(use(t, await startServe({ args: ['--no-auth', ...(n && workers ? ['--workers', String(workers)] : [])], timeout: DEADLINE_MS,
      config: { version: '1', policy: policyFile(), servers: { a: { command, args } }, fleet: fleetOf(n, more) } })));
  return { gates, links, hold: () => { held = true; } };
}

/** A client's connection that stays: send(message) settles when the kernel has it, answer() with the status of the next answer. */
async function client(t, gate, id) {
  const socket = tcpConnect({ host: '127.0.0.1', port: gate.port }), lines = [];
  let wake = () => {}, text = '';
  t.after(() => socket.destroy());
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    for (let end; (end = text.search(/"jsonrpc".*\}|HTTP\/1\.1 404/)) >= 0;) { lines.push(Number(/HTTP\/1\.1 (\d+)/.exec(text)[1])); text = text.slice(end + text.slice(end).length); }
    wake();
  });
  const send = (message) => new Promise((done) => {
    const body = JSON.stringify(message);
    socket.write(`POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${gate.port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: ${id}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, done);
  });
  const answer = async () => { while (!lines.length) await new Promise((done) => { wake = done; }); return lines.shift(); };
  return { send, answer };
}

test('a connection that ended unnoticed is not used for the next request', async (t) => {
  const { gates, links } = await proxied(t), { send, answer } = await client(t, gates[0], await open(gates[1]));
  await send(call('a__mark'));
  assert.equal(await answer(), 200);
  process.kill(gates[0].pid, 'SIGSTOP');
  await send(call('a__mark', {}, 2));
  await new Promise((done) => { links[0].near.end(done); });
  process.kill(gates[0].pid, 'SIGCONT');
  assert.equal(await answer(), 200);
  assert.equal(links.length, 2);
});

test('a request that the other gate did not read before it closed the connection is sent once more', async (t) => {
  const { gates, links, hold } = await proxied(t, { workers: 2 });
  // The worker that has the connection, and a session of the other one.
  const first = await client(t, gates[0], await open(gates[1]));
  await first.send(call('a__mark'));
  assert.equal(await first.answer(), 200);
  const port = (n) => n.toString(16).toUpperCase().padStart(4, '0');
  const inode = readFileSync('/proc/net/tcp', 'utf8').split('\n').map((line) => line.trim().split(/\s+/)).find((f) => f[1]?.endsWith(`:${port(PORT)}`) && f[2].endsWith(`:${port(links[0].far.localPort)}`))[9];
  const holder = children(gates[1].pid).find((pid) => readdirSync(`/proc/${pid}/fd`).some((fd) => { try { return readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`; } catch { return false; } }));
  let id;
  await until('a session of the other worker', async () => {
    id = await open(gates[1]);
    const { json } = await ask(gates[1].url, { headers: { 'Mcp-Session-Id': id }, body: call('a__mark') });
    return !descendants(holder).includes(JSON.parse(json.result.content[0].text).pid);
  });
  const { send, answer } = await client(t, gates[0], id);
  assert.equal(links.length, 1);
  hold();
  links.push({ near: { destroy() {} }, far: { destroy() {} } }); // what comes over the first link stays here
  await send(call('a__mark'));
  process.kill(holder, 'SIGTERM');
  assert.equal(await answer(), 200);
});
