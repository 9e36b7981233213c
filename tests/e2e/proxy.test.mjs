// A gate behind a reverse proxy: it knows its public name, trusts only the proxies in its settings, and real nginx and haproxy
// in front of it change nothing for a client.
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { HttpConnection, cli, connect, policyFile, probeCommand, run, startHaproxy, startNginx, startServe, tempDir, use } from '../lib/index.mjs';

const [command, ...args] = probeCommand('a');
const settings = (more) => ({ version: '1', policy: policyFile(), servers: { a: { command, args } }, ...more });
const PUBLIC = 'https://gate.example.com';
const env = { SALLYPORT_HOME: join(tempDir('proxy'), 'home') };
let token;
before(async () => {
  const { stdout } = await cli(['grants', 'create', 'agent', '--json'], { env });
  token = JSON.parse(stdout).token;
});
const serve = (config, more = {}) => startServe({ config: settings(config), args: [], env, ...more });
const authorized = () => ({ Authorization: `Bearer ${token}` });

// fetch sets Host and the address by itself.
const ask = (url, { headers = {}, method = 'GET', body, localAddress } = {}) => new Promise((resolve, reject) => {
  httpRequest(url, { method, headers, localAddress }, (answer) => {
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk) => { text += chunk; })
      .on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
  }).on('error', reject).end(body);
});

test('a gate on the loopback answers to its public name, and to no other', async (t) => {
  const without = use(t, await serve({}));
  const gate = use(t, await serve({ public_url: PUBLIC }));
  const named = (origin, host, more) => ask(`${origin}/mcp/servers`, { headers: { Host: host, ...authorized(), ...more } });
  assert.equal((await named(without.origin, 'gate.example.com')).status, 403);
  assert.equal((await named(gate.origin, 'gate.example.com')).status, 200);
  assert.equal((await named(gate.origin, 'Gate.Example.com:443')).status, 200);
  assert.equal((await named(gate.origin, 'gate.example.com.evil.test')).status, 403);
  assert.equal((await named(gate.origin, 'gate.example.com:8443')).status, 403);
  assert.equal((await named(gate.origin, `127.0.0.1:${gate.port}`, { Origin: PUBLIC })).status, 200);
  assert.equal((await named(gate.origin, 'gate.example.com', { Origin: 'http://gate.example.com' })).status, 403);
  assert.equal((await named(gate.origin, 'gate.example.com', { Origin: 'https://evil.test' })).status, 403);
});

test('requests under the public name do not count as local: metrics and details need a grant', async (t) => {
  const gate = use(t, await serve({ public_url: PUBLIC }));
  const at = (path, host) => ask(`${gate.origin}${path}`, { headers: host ? { Host: host } : {} });
  assert.equal((await at('/metrics')).status, 200);
  assert.equal((await at('/metrics', 'gate.example.com')).status, 401);
  assert.match((await at('/readyz')).text, /a: /);
  assert.equal((await at('/readyz', 'gate.example.com')).text, 'ok\n');
});

test('a gate with a public name and without authentication is refused', async () => {
  const file = join(tempDir('open'), 'sallyport.yaml');
  writeFileSync(file, JSON.stringify(settings({ public_url: PUBLIC })));
  const { code, stderr } = await cli(['serve', '--no-auth', '--listen', '127.0.0.1:0', '--config', file], { env });
  assert.equal(code, 3);
  assert.match(stderr, /--no-auth is allowed on the loopback only, and public_url/);
});

test('metadata and challenges name the public URL', async (t) => {
  const gate = use(t, await serve({ public_url: PUBLIC, auth: { issuers: [{ issuer: 'https://issuer.example' }] } }));
  const { text } = await ask(`${gate.origin}/.well-known/oauth-protected-resource/mcp`);
  assert.equal(JSON.parse(text).resource, `${PUBLIC}/mcp`);
  const { status, headers } = await ask(`${gate.origin}/mcp`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  assert.equal(status, 401);
  assert.match(headers['www-authenticate'], /resource_metadata="https:\/\/gate\.example\.com\/\.well-known\/oauth-protected-resource\/mcp"/);
});

test('forwarded client addresses are accepted only from trusted proxies', async (t) => {
  const gate = use(t, await serve({ trusted_proxies: ['127.0.0.2', '127.0.8.0/24', '192.0.2.0/24'] }));
  const metrics = async (localAddress, headers) => (await ask(`${gate.origin}/metrics`, { headers, localAddress })).status;
  assert.equal(await metrics('127.0.0.2', {}), 200);
  assert.equal(await metrics('127.0.0.2', { 'X-Forwarded-For': '198.51.100.7' }), 401);
  assert.equal(await metrics('127.0.8.9', { 'X-Forwarded-For': '198.51.100.7, 192.0.2.3' }), 401);
  assert.equal(await metrics('127.0.0.2', { 'X-Forwarded-Proto': 'https' }), 401);
  assert.equal(await metrics('127.0.0.1', { 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Proto': 'https' }), 200, 'nobody believes it');
  const metadata = use(t, await serve({ trusted_proxies: ['127.0.0.2'], auth: { issuers: [{ issuer: 'https://issuer.example', audience: ['x'] }] } }));
  const resource = async (localAddress) => JSON.parse((await ask(`${metadata.origin}/.well-known/oauth-protected-resource/mcp`,
    { localAddress, headers: { 'X-Forwarded-Proto': 'https' } })).text).resource;
  assert.match(await resource('127.0.0.2'), /^https:/);
  assert.match(await resource('127.0.0.1'), /^http:/);
});

async function worksThrough(t, proxy, headers = authorized()) {
  for (const version of ['v1', 'v2']) {
    const { tools, text, call } = use(t, await connect(version, { url: proxy.url, headers }));
    assert.ok((await tools()).some(({ name }) => name === 'a__echo'));
    assert.match(await text('a__echo', { through: 'a proxy' }), /a proxy/);
    let steps = 0;
    await call('a__progress', { steps: 3 }, { onprogress: () => { steps++; } });
    assert.equal(steps, 3);
    assert.equal((await text('a__size', { bytes: 2 << 20 })).length, 2 << 20);
  }
}

test('nginx in front: both SDKs, events as they come, the public name', async (t) => {
  const gate = use(t, await serve({ public_url: PUBLIC, trusted_proxies: ['127.0.0.1'] }));
  const nginx = use(t, await startNginx(gate.port, { headers: `proxy_set_header Host gate.example.com; proxy_set_header X-Forwarded-Proto https;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;` }));
  await worksThrough(t, nginx);
  assert.equal((await ask(`${nginx.origin}/metrics`)).status, 401);
  assert.equal((await ask(`${nginx.origin}/mcp/servers`, { headers: { ...authorized(), Origin: PUBLIC } })).status, 200);
  assert.equal((await ask(`${nginx.origin}/mcp/servers`, { headers: { ...authorized(), Origin: 'https://evil.test' } })).status, 403);
});

test('haproxy in front: HTTP mode, and the PROXY protocol v2', async (t) => {
  const gate = use(t, await serve({ trusted_proxies: ['127.0.0.1'] }));
  const http = use(t, await startHaproxy([[gate.port]], { http: 'option forwardfor' }));
  await worksThrough(t, http);
  const v2 = use(t, await startHaproxy([[gate.port, 'send-proxy-v2']]));
  await worksThrough(t, v2);
  assert.equal((await ask(`${v2.origin}/metrics`)).status, 401, 'what came through a proxy is not local');
});

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const v2Header = (address, { command = 0x21, tls = false } = {}) => {
  const tlv = tls ? Buffer.from([0x20, 0, 5, 1, 0, 0, 0, 0]) : Buffer.alloc(0);
  const body = Buffer.concat([Buffer.from([...address.split('.').map(Number), 127, 0, 0, 1, 0x30, 0x39, 0x1f, 0x90]), tlv]);
  return Buffer.concat([signature, Buffer.from([command, 0x11, body.length >> 8, body.length & 255]), body]);
};

test('the PROXY protocol v2, byte by byte, only from a trusted proxy', async (t) => {
  const gate = use(t, await serve({ trusted_proxies: ['127.0.0.1'] }));
  const plain = Buffer.from(`GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:${gate.port}\r\n\r\n`);
  const status = async (origin, bytes, size) => {
    const at = await HttpConnection.open(origin);
    await at.trickle(bytes, size);
    try { return (await at.response()).status; } catch { return 'closed'; } finally { at.close(); }
  };
  assert.equal(await status(gate.origin, Buffer.concat([v2Header('198.51.100.7'), plain]), 4096), 401, 'of another machine');
  assert.equal(await status(gate.origin, Buffer.concat([v2Header('198.51.100.7', { tls: true }), plain]), 1), 401);
  assert.equal(await status(gate.origin, Buffer.concat([v2Header('198.51.100.7', { command: 0x20 }), plain]), 7), 200, 'LOCAL: the proxy itself');
  assert.equal(await status(gate.origin, Buffer.concat([v2Header('198.51.100.7', { command: 0x31 }), plain]), 4096), 'closed');
  assert.equal(await status(gate.origin, plain, 4096), 200, 'none at all');
  const strict = use(t, await serve({ trusted_proxies: ['192.0.2.1'] }));
  assert.equal(await status(strict.origin, Buffer.concat([v2Header('198.51.100.7'), plain]), 4096), 400);
});

test('the PROXY protocol in front of TLS; certificates that are replaced', async (t) => {
  const dir = tempDir('proxy-tls');
  const make = async (name) => {
    const { code, stderr } = await run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem',
      '-out', 'cert.pem', '-days', '2', '-subj', `/CN=${name}`], { cwd: dir });
    assert.equal(code, 0, stderr);
  };
  await make('first');
  const gate = use(t, await serve({ trusted_proxies: ['127.0.0.1'], tls: { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') } }));
  const v2 = use(t, await startHaproxy([[gate.port, 'send-proxy-v2 ssl verify none']]));
  await worksThrough(t, v2);
  await make('second');
  await gate.child.waitLine(/certificate reloaded/, { stream: 'stderr' });
  await worksThrough(t, v2);
});

test('listening for other machines without TLS warns, unless the settings allow it', async (t) => {
  const off = { listen: '0.0.0.0:0' };
  const loud = use(t, await serve({}, off));
  await loud.child.waitLine(/WITHOUT TLS ON 0\.0\.0\.0/, { stream: 'stderr' });
  for (const meant of [{ plain_http: true }, { trusted_proxies: ['10.0.0.0/8'] }]) {
    const gate = use(t, await serve(meant, off));
    assert.doesNotMatch(gate.stderr, /WITHOUT TLS/);
  }
});

test('mistakes in the settings are named', async () => {
  for (const [more, why] of [[{ public_url: 'https://x.example/gate' }, /public_url: .* without a path/], [{ trusted_proxies: ['10.0.0.1/8'] }, /trusted_proxies: `10\.0\.0\.1\/8`/],
    [{ trusted_proxies: ['proxy.example'] }, /neither an address nor a network/]]) {
    const file = join(tempDir('bad'), 'sallyport.yaml');
    writeFileSync(file, JSON.stringify(settings(more)));
    const { code, stderr } = await cli(['serve', '--listen', '127.0.0.1:0', '--config', file], { env });
    assert.equal(code, 3);
    assert.match(stderr, why);
  }
});
