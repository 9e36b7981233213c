// Servers behind https: verified, or not used. The authority and the certificates are made here.
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { startProbe } from '../fixtures/probe.mjs';
import { peerFor, run, startGate, tempDir, use } from '../lib/index.mjs';

const dir = tempDir('tls');
const file = (name) => join(dir, name);

async function openssl(...args) {
  const { code, stderr } = await run('openssl', args, { cwd: dir });
  assert.equal(code, 0, stderr);
}

async function authority(name) {
  await openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '2', '-subj', `/CN=${name}`);
}

async function certificate(name, ca, names, days = 2) {
  writeFileSync(file(`${name}.ext`), `subjectAltName=${names}\n`);
  await openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  await openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-out', `${name}.pem`, '-days', `${days}`, '-extfile', `${name}.ext`);
}

before(async () => {
  await authority('ca');
  await authority('stranger');
  await certificate('good', 'ca', 'DNS:localhost,IP:127.0.0.1');
  await certificate('other-host', 'ca', 'DNS:elsewhere.example');
  await certificate('unknown', 'stranger', 'DNS:localhost,IP:127.0.0.1');
});

async function through(t, name, { host = '127.0.0.1', transport = 'http' } = {}) {
  const server = createServer({ key: readFileSync(file(`${name}.key`)), cert: readFileSync(file(`${name}.pem`)) });
  server.on('tlsClientError', () => {});
  const behind = use(t, await startProbe({ server, scheme: 'https' }));
  const upstream = behind.url.replace('127.0.0.1', host);
  return { gate: use(t, await startGate({ transport, upstream, env: { SSL_CERT_FILE: file('ca.pem') } })), behind };
}

test('a server with a valid certificate is used, by address and by name', async (t) => {
  for (const host of ['127.0.0.1', 'localhost']) {
    const { gate } = await through(t, 'good', { host });
    const peer = await peerFor('http', gate);
    assert.deepEqual(await peer.ask('echo', { secure: true }), { secure: true });
    assert.equal((await peer.call('size', { bytes: 3 << 20 })).content[0].text.length, 3 << 20);
    assert.equal((await peer.call('length', { text: 'l'.repeat(3 << 20) })).content[0].text, `${3 << 20}`);
    await peer.call('progress', { steps: 3 }, { meta: { progressToken: 1 } });
  }
});

for (const [name, why] of [['other-host', /name|host|match/i], ['unknown', /issuer|self.signed|unknown|verify|authority/i]]) {
  test(`a server with an invalid certificate is refused: ${name}`, async (t) => {
    const { gate, behind } = await through(t, name, { transport: 'stdio' });
    const { error } = await gate.rpc.exchange('initialize', {});
    assert.match(error.message, /server `127/);
    assert.match(error.message, why);
    assert.equal(behind.probe.seen.length, 0, 'not a byte of the message was sent');
  });
}

test('plain HTTP to a TLS server, and TLS to a plain server, fail with an error', async (t) => {
  const { behind } = await through(t, 'good');
  const gate = use(t, await startGate({ transport: 'stdio', upstream: behind.url.replace('https', 'http') }));
  assert.ok((await gate.rpc.exchange('initialize', {})).error);
  const plain = use(t, await startProbe());
  const other = use(t, await startGate({ transport: 'stdio', upstream: plain.url.replace('http', 'https') }));
  assert.match((await other.rpc.exchange('initialize', {})).error.message, /server `127/);
});
