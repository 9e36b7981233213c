// HTTPS at the front, and clients that come by certificate.
import assert from 'node:assert/strict';
import { Agent, request as httpsRequest } from 'node:https';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ALLOW_ALL, ENDPOINTS, cli, expected, policyFile, probeCommand, startServe, tempDir, use } from '../lib/index.mjs';
import { certificates } from '../lib/certificates.mjs';

const dir = tempDir('mtls');
const { file, authority, certificate } = certificates(dir);
const [command, ...args] = probeCommand();

before(async () => {
  await authority('ca');
  await authority('clients');
  await authority('stranger');
  await certificate('gate', 'ca', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  await certificate('build', 'clients', 'subjectAltName=DNS:build-7.example.com,URI:spiffe://example.com/build\nextendedKeyUsage=clientAuth');
  await certificate('anna', 'clients', 'subjectAltName=email:anna@example.com\nextendedKeyUsage=clientAuth');
  await certificate('plain', 'clients', 'extendedKeyUsage=clientAuth');
  await certificate('server-only', 'clients', 'subjectAltName=DNS:build-7.example.com\nextendedKeyUsage=serverAuth');
  await certificate('stranger-client', 'stranger', 'subjectAltName=DNS:build-7.example.com\nextendedKeyUsage=clientAuth');
});

// One request over TLS, with or without a certificate: { status, headers, json }.
const ask = (gate, { name, path = '/mcp', headers = {}, method = 'POST', body, agent }) => new Promise((resolve, reject) => {
  const req = httpsRequest(`${gate.origin}${path}`, {
    method, ca: readFileSync(file('ca.pem')), agent, ...(name && { key: readFileSync(file(`${name}.key`)), cert: readFileSync(file(`${name}.pem`)) }),
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
  }, async (res) => {
    let text = '';
    try { for await (const chunk of res) text += chunk; } catch (error) { reject(error); return; }
    let json;
    try { json = JSON.parse(text.startsWith('{') || text.startsWith('[') ? text : /^data: (.*)$/m.exec(text)?.[1]); } catch { json = undefined; }
    resolve({ status: res.statusCode, headers: res.headers, json, text });
  });
  req.on('error', reject);
  req.end(body && JSON.stringify(body));
});
const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { big: 'x'.repeat(1 << 20) } } };

async function world(t, { rules = [], clientCa = 'clients.pem', policy = ALLOW_ALL } = {}) {
  const home = join(tempDir(), 'home');
  const gate = use(t, await startServe({
    args: [], env: { SALLYPORT_HOME: home },
    config: {
      version: '1', policy: policyFile(policy), code: { enabled: false }, servers: { a: { command, args }, b: { command, args } },
      tls: { cert: file('gate.pem'), key: file('gate.key'), ...(clientCa && { client_ca: file(clientCa) }) }, auth: { rules },
    },
  }));
  return { gate, home };
}

test('HTTPS with grants, large messages and kept connections; no certificate needed', async (t) => {
  const { gate, home } = await world(t, { clientCa: null });
  assert.match(gate.origin, /^https:/);
  const token = (await cli(['grants', 'create', 'x'], { env: { SALLYPORT_HOME: home } })).stdout.trim();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: readFileSync(file('ca.pem')) });
  t.after(() => agent.destroy());
  assert.equal((await ask(gate, { body: initialize })).status, 401);
  const opened = await ask(gate, { path: '/mcp/a', body: initialize, headers: { Authorization: `Bearer ${token}` }, agent });
  assert.equal(opened.status, 200);
  const headers = { Authorization: `Bearer ${token}`, 'Mcp-Session-Id': opened.headers['mcp-session-id'] };
  for (let i = 0; i < 3; i++) {
    const { json } = await ask(gate, { path: '/mcp/a', body: { ...call, id: 10 + i }, headers, agent });
    assert.equal(JSON.parse(json.result.content[0].text).big.length, 1 << 20);
  }
  await assert.rejects(fetch(gate.origin.replace('https', 'http')), 'plain HTTP gets nowhere');
});

test('a client certificate of a trusted authority is an identity, and rules say what it may do', async (t) => {
  const { gate, home } = await world(t, {
    rules: [{ when: { dns: 'build-7.example.com' }, servers: ['a'] }, { when: { email: 'anna@example.com' } }, { when: { common_name: 'plain' }, servers: ['b'] }],
    policy: { version: '1', tools: { echo: { rules: [{ name: 'who', conditions: [{ path: 'identity.subject', op: 'contains', value: 'CN=build' }] }] } } },
  });
  const status = async (name, path) => (await ask(gate, { name, path, body: initialize })).status;
  assert.deepEqual([await status('build', '/mcp/a'), await status('build', '/mcp/b')], [200, 403]);
  assert.deepEqual([await status('anna', '/mcp/a'), await status('anna', '/mcp/b')], [200, 200]);
  assert.deepEqual([await status('plain', '/mcp/a'), await status('plain', '/mcp/b')], [403, 200]);
  assert.equal(await status(undefined, '/mcp/a'), 401);
  const opened = await ask(gate, { name: 'build', path: '/mcp/a', body: initialize });
  const headers = { 'Mcp-Session-Id': opened.headers['mcp-session-id'] };
  const { json } = await ask(gate, { name: 'build', path: '/mcp/a', body: call, headers });
  assert.notEqual(json.result.isError, true, 'the policy sees the subject');
  for (const name of ['anna', undefined]) assert.equal((await ask(gate, { name, path: '/mcp/a', body: call, headers })).status, name ? 404 : 401, 'somebody else\'s session');
  const { stdout } = await cli(['audit', 'query', '--json'], { env: { SALLYPORT_HOME: home } });
  assert.ok(stdout.includes('"cert:spiffe://example.com/build"'), 'by its URI');
});

test('a certificate of another authority, or not for clients, ends the handshake; no matching rule gets 403; a token takes precedence', async (t) => {
  const { gate, home } = await world(t, { rules: [{ when: { dns: 'build-7.example.com' } }] });
  for (const name of ['stranger-client', 'server-only']) await assert.rejects(ask(gate, { name, body: initialize }), name);
  assert.equal((await ask(gate, { name: 'anna', body: initialize })).status, 403);
  assert.equal((await ask(gate, { name: 'build', body: initialize, headers: { Authorization: 'Bearer sp_wrong' } })).status, 401, 'a bad token is not made good by a certificate');
  const token = (await cli(['grants', 'create', 'x'], { env: { SALLYPORT_HOME: home } })).stdout.trim();
  assert.equal((await ask(gate, { name: 'anna', body: initialize, headers: { Authorization: `Bearer ${token}` } })).status, 200);
  assert.equal((await ask(gate, { name: 'build', body: initialize })).status, 200, 'and the gate is fine');
});

// The other kinds of principal: tests/attacks/identity.test.mjs.
test('the identity matrix for certificates: nothing is reachable that should not be', async (t) => {
  const { gate, home } = await world(t, {
    rules: [{ when: { dns: 'build-7.example.com' }, servers: ['a'] }, { when: { email: 'anna@example.com' }, servers: ['-'], roles: ['viewer'] }],
  });
  const status = (name, method, path, body) => new Promise((resolve, reject) => {
    const req = httpsRequest(`${gate.origin}`, {
      method, path, ca: readFileSync(file('ca.pem')), agent: false, ...(name && { key: readFileSync(file(`${name}.key`)), cert: readFileSync(file(`${name}.pem`)) }),
      headers: { Accept: 'application/json, text/event-stream', ...(body && { 'Content-Type': 'application/json' }) },
    }, (res) => { resolve(res.statusCode); req.destroy(); });
    req.on('error', reject);
    req.end(body && JSON.stringify(body));
  });
  const principals = { '': null, build: { servers: ['a'], roles: [] }, anna: { servers: [], roles: ['viewer'] }, plain: 'refused' };
  const wrong = [];
  await Promise.all(Object.entries(principals).map(async ([name, may]) => {
    for (const [method, path, needs, body] of ENDPOINTS) {
      if (path === '/api/v1/session') continue; // a session of the console is made from a token
      const got = await status(name, method, path, body), want = expected(may, needs);
      if (([401, 403].includes(got) ? got : 'in') !== want) wrong.push(`${name || 'nobody'}: ${method} ${path}: ${got}, not ${want}`);
    }
  }));
  assert.deepEqual(wrong, []);
  for (const name of ['stranger-client', 'server-only']) for (const [method, path, , body] of ENDPOINTS.slice(0, 3)) await assert.rejects(status(name, method, path, body), name);
  assert.equal((await cli(['grants', 'list', '--json'], { env: { SALLYPORT_HOME: home } })).stdout.includes('mallory'), false);
});

test('invalid certificate files, and a key that does not match, are refused at the start', async () => {
  const start = async (tls) => {
    const path = join(tempDir(), 'sallyport.yaml');
    writeFileSync(path, JSON.stringify({ version: '1', policy: policyFile(), code: { enabled: false }, servers: { a: { command, args } }, tls }));
    return cli(['serve', '--listen', '127.0.0.1:0', '--config', path]);
  };
  for (const [tls, why] of [
    [{ cert: file('gate.pem'), key: file('anna.key') }, /tls/], [{ cert: '/nowhere', key: file('gate.key') }, /nowhere`: No such file/],
    [{ cert: file('gate.pem'), key: file('gate.key'), client_ca: file('gate.key') }, /gate\.key/], [{ cert: file('gate.pem') }, /key/],
  ]) {
    const { code, stderr } = await start(tls);
    assert.equal(code, 3, stderr);
    assert.match(stderr, why);
  }
});
