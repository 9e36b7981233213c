// The gate as an OAuth client of the servers behind it, against a real authorization server.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { browse, startGuard, startProvider } from '../fixtures/idp.mjs';
import { startProbe } from '../fixtures/probe.mjs';
import { cli, load, peerFor, policyFile, sallyport, start, startGate, startServe, tempDir, tempFile, until, use } from '../lib/index.mjs';
import { ModernHttpPeer } from '../lib/peer.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';

// A server that only takes tokens of the provider that are meant for it.
async function world(t, { provider: options, guard: guardOptions } = {}) {
  const { createRemoteJWKSet, jwtVerify } = await load('jose');
  const provider = use(t, await startProvider(options));
  const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
  const revoked = new Set();
  const probe = use(t, await startProbe());
  const guard = use(t, await startGuard({
    target: probe.url, authority: provider.issuer, ...guardOptions,
    check: async (token, url) => !revoked.has(token) && jwtVerify(token, keys, { issuer: provider.issuer, audience: url }).then(() => true, () => false),
  }));
  const home = join(tempDir(), 'home');
  const env = { SALLYPORT_HOME: home };
  return { provider, probe, guard, home, env, revoked };
}

// Runs the command, opens what it prints, and gives { code, stderr, stdout }.
async function login({ guard, env }, args = [], { open = (url) => browse(url) } = {}) {
  const child = start(sallyport, ['login', '--url', guard.url, ...args], { env });
  const url = await Promise.race([child.waitLine(/^https?:\S+$/, { stream: 'stderr' }), child.closed.then(() => null)]);
  const page = url && await open(url, child);
  await child.closed;
  return { code: child.status.code, stderr: child.stderr, stdout: child.stdout, url, page };
}

describe('sallyport login', () => {
  test('discovery, registration, PKCE, resource, tokens encrypted at rest; then the gate sends them', async (t) => {
    const w = await world(t);
    const gate = use(t, await startGate({ upstream: w.guard.url, env: w.env }));
    await assert.rejects(peerFor('http', gate), /sallyport login --url http:\/\/127\.0\.0\.1:\d+\/mcp --scope mcp`/, 'before, it says what to do');
    const { code, stderr, url, page } = await login(w);
    assert.equal(code, 0, stderr);
    assert.equal(page.status, 200);
    const asked = new URL(url);
    assert.equal(asked.origin, w.provider.issuer);
    assert.equal(asked.searchParams.get('resource'), w.guard.url);
    assert.equal(asked.searchParams.get('code_challenge_method'), 'S256');
    assert.equal(asked.searchParams.get('scope'), 'mcp offline_access');
    assert.match(asked.searchParams.get('redirect_uri'), /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    assert.ok(asked.searchParams.get('state').length >= 43);
    const exchange = new URLSearchParams(w.provider.seen.find(({ path, body }) => path === '/token' && body?.includes('authorization_code')).body);
    assert.equal(exchange.get('resource'), w.guard.url);
    assert.ok(exchange.get('code_verifier').length >= 43);
    assert.ok(w.provider.seen.some(({ path, method }) => path === '/reg' && method === 'POST'));

    const peer = await peerFor('http', gate, { headers: { Authorization: 'Bearer of-the-agent' } });
    await peer.call('echo');
    const shown = w.guard.seen.filter(({ token }) => token);
    assert.ok(shown.length > 0);
    for (const { token } of shown) assert.match(token, /^ey/, 'our own token, never the agent\'s');
    for (const { headers } of w.guard.seen) assert.equal(JSON.stringify(headers).includes('of-the-agent'), false);

    const dir = join(w.home, 'logins');
    const [name] = readdirSync(dir).filter((file) => !file.endsWith('.lock'));
    assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600);
    assert.equal(statSync(join(w.home, 'secret.key')).mode & 0o777, 0o600);
    const sealed = readFileSync(join(dir, name));
    for (const secret of [shown[0].token.slice(0, 20), 'access_token', 'refresh', w.provider.issuer]) assert.equal(sealed.includes(secret), false);
    assert.equal(gate.stderr.includes(shown[0].token), false);
  });

  test('an issuer that is named with a slash at its end, a server that redirects to its path with a slash', async (t) => {
    const w = await world(t, { guard: { metadata: (doc) => ({ ...doc, authorization_servers: doc.authorization_servers.map((issuer) => `${issuer}/`) }), slash: true } });
    const gate = use(t, await startGate({ upstream: w.guard.url, env: w.env }));
    await assert.rejects(peerFor('http', gate), /sallyport login --url http:\/\/127\.0\.0\.1:\d+\/mcp --scope mcp`/);
    const { code, stderr, stdout } = await login(w, ['--json']);
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).issuer, w.provider.issuer, 'as its own metadata spells it');
    assert.ok(await (await peerFor('http', gate)).call('echo'));
  });

  test('an expired or refused token is refreshed, and the call continues', async (t) => {
    const w = await world(t);
    assert.equal((await login(w)).code, 0);
    const gate = use(t, await startGate({ upstream: w.guard.url, env: w.env }));
    const peer = await peerFor('http', gate);
    await peer.call('echo');
    const first = w.guard.seen.at(-1).token;
    w.revoked.add(first);
    assert.ok(await peer.call('echo', { again: true }), 'the agent does not notice');
    const second = w.guard.seen.at(-1).token;
    assert.notEqual(second, first);
    assert.ok(w.provider.seen.some(({ path, body }) => path === '/token' && body?.includes('grant_type=refresh_token')));
    // Another gate of the same home takes up the refreshed login.
    const other = use(t, await startGate({ upstream: w.guard.url, env: w.env }));
    await (await peerFor('http', other)).call('echo');
    assert.equal(w.guard.seen.at(-1).token, second);
  });

  test('a login with a client of one\'s own, secret and all, and by hand', async (t) => {
    for (const method of ['client_secret_basic', 'client_secret_post']) {
      const client = { client_id: 'mine', client_secret: 'a secret: with % signs', redirect_uris: ['http://127.0.0.1:8641/callback'], grant_types: ['authorization_code', 'refresh_token'], application_type: 'native', token_endpoint_auth_method: method };
      const w = await world(t, { provider: { clients: [client], configuration: { clientAuthMethods: [method, 'none'] } } });
      const { code, stderr, stdout } = await login(w, ['--client-id', 'mine', '--client-secret-file', tempFile('secret', `${client.client_secret}\n`), '--scope', 'mcp', '--no-browser', '--json'], {
        async open(url, child) {
          const end = await browse(url, { ends: (at) => at.startsWith('http://127.0.0.1:8641/') });
          child.stdin.write(`${end.url}\n`);
        },
      });
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), { url: w.guard.url, issuer: w.provider.issuer, scope: 'mcp', refreshable: true });
      assert.equal(w.provider.seen.some(({ path }) => path === '/reg'), false);
    }
  });

  test('after --forget the gate has no token for the server', async (t) => {
    const w = await world(t);
    assert.equal((await login(w)).code, 0);
    assert.equal((await cli(['login', '--url', w.guard.url, '--forget'], { env: w.env })).code, 0);
    assert.equal((await cli(['login', '--url', w.guard.url, '--forget'], { env: w.env })).code, 1);
    const gate = use(t, await startGate({ upstream: w.guard.url, env: w.env }));
    await assert.rejects(peerFor('http', gate), /sallyport login/);
    assert.equal((await login(w)).code, 0);
    const peer = await peerFor('http', gate);
    await peer.call('echo');
    assert.equal((await cli(['login', '--url', w.guard.url, '--forget'], { env: w.env })).code, 0);
    await until('a gate that runs has none, either', () => peer.call('echo').then(() => false, (error) => /sallyport login/.test(error.message)));
  });

  test('a modified login file cannot be decrypted', async (t) => {
    const w = await world(t);
    assert.equal((await login(w)).code, 0);
    const dir = join(w.home, 'logins');
    const path = join(dir, readdirSync(dir).find((file) => !file.endsWith('.lock')));
    const bytes = readFileSync(path);
    bytes[bytes.length - 5] ^= 1;
    const { writeFileSync } = await import('node:fs');
    writeFileSync(path, bytes);
    const gate = use(t, await startGate({ upstream: w.guard.url, env: w.env }));
    await assert.rejects(peerFor('http', gate), /cannot be decrypted/);
  });
});

describe('logins of a fleet', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  test('a login at one gate holds at all; each refresh token is used once; forgotten at one, forgotten at all', async (t) => {
    const w = await world(t), pg = use(t, await startPostgres());
    const dsn = `postgres://${pg.user}@/postgres?host=${pg.socket}`;
    const gates = [];
    for (let i = 0; i < 3; i++) {
      const home = i ? join(tempDir(), 'home') : w.home;
      for (const key of i ? ['approvals.key', 'secret.key', 'pii/key'] : []) {
        mkdirSync(join(home, key, '..'), { recursive: true, mode: 0o700 });
        cpSync(join(w.home, key), join(home, key));
      }
      const env = { SALLYPORT_HOME: home };
      const config = { version: '1', policy: policyFile(), servers: { shop: { url: w.guard.url } }, state: { database: dsn } };
      const gate = use(t, await startServe({ config, env, args: ['--no-auth', '--workers', i ? '1' : '2'] }));
      gates.push({ env, call: () => new ModernHttpPeer(`${gate.origin}/mcp/shop`).exchange('tools/call', { name: 'echo', arguments: {} }).then(({ json }) => json) });
    }
    const latest = () => w.guard.seen.findLast(({ token }) => token)?.token;
    const refreshes = () => w.provider.seen.filter(({ path, body }) => path === '/token' && body?.includes('grant_type=refresh_token')).length;
    const answers = (answer) => !answer.error && !answer.result.isError;
    assert.match(JSON.stringify(await gates[1].call()), /sallyport login/);

    for (const at of [0, 2]) {
      const before = latest(), from = refreshes();
      const { code, stderr } = await login({ ...w, env: gates[at].env });
      assert.equal(code, 0, stderr);
      for (const { call } of gates) await until('every gate has the login', async () => answers(await call()) && latest() !== before);
      const first = latest();
      w.revoked.add(first);
      await Promise.all(gates.map(({ call }) => until('a refreshed token is used', async () => answers(await call()))));
      assert.notEqual(latest(), first);
      assert.equal(refreshes() - from, 1, 'one gate refreshed it, the others took that');
    }
    const stored = pg.psql("SELECT encode(sealed, 'escape') FROM sallyport.server_logins").out;
    assert.ok(stored.length > 500);
    for (const secret of [latest().slice(0, 20), 'access_token', w.provider.issuer]) assert.equal(stored.includes(secret), false);

    // Without the database a login can be used, but not refreshed: another gate may do that.
    await pg.stop('SIGINT');
    assert.ok(answers(await gates[1].call()));
    w.revoked.add(latest());
    const from = refreshes();
    await until('the error says why', async () => /PostgreSQL/.test(JSON.stringify(await gates[1].call())));
    assert.equal(refreshes(), from);
    await pg.start();
    await until('it is refreshed when the database is back', async () => answers(await gates[1].call()));

    assert.equal((await cli(['login', '--url', w.guard.url, '--forget'], { env: gates[1].env })).code, 0);
    for (const { call } of gates) await until('no gate has the login', async () => /sallyport login/.test(JSON.stringify(await call())));
    assert.equal(pg.psql('SELECT octet_length(sealed) FROM sallyport.server_logins').out, '0');
  });
});

// Attack 23 and its like: what a hostile server or authorization server may say.
describe('untrusted metadata and answers are refused', () => {
  const refused = async (t, options, why) => {
    const w = await world(t, options);
    const { code, stderr, url } = await login(w);
    assert.equal(code, 4, stderr);
    assert.match(stderr, why);
    return { w, url };
  };

  test('metadata of another resource, on another origin, or without an authorization server is refused', async (t) => {
    await refused(t, { guard: { resource: () => 'https://elsewhere.example/mcp' } }, /another resource/);
    await refused(t, { guard: { challenge: () => 'Bearer resource_metadata="http://127.0.0.1:1/.well-known/oauth-protected-resource"' } }, /another origin/);
    await refused(t, { guard: { metadata: ({ resource }) => ({ resource }) } }, /no authorization server/);
  });

  test('23 endpoints that are not https URLs are refused: file:, shell, plain http elsewhere', async (t) => {
    for (const issuer of ['file:///etc/passwd', 'http://example.com', '$(touch /tmp/x)', 'https://a@b.example', 'javascript:alert(1)']) {
      await refused(t, { guard: { metadata: (doc) => ({ ...doc, authorization_servers: [issuer] }) } }, /not https/);
    }
  });

  test('an authorization server with another issuer, without PKCE or with invalid endpoints is refused', async (t) => {
    const { createServer } = await import('node:http');
    const { once } = await import('node:events');
    for (const [change, why] of [
      [(doc) => ({ ...doc, issuer: `${doc.issuer}/` }), /another issuer/],
      [({ code_challenge_methods_supported, ...doc }) => doc, /PKCE/],
      [(doc) => ({ ...doc, code_challenge_methods_supported: ['plain'] }), /PKCE/],
      [(doc) => ({ ...doc, authorization_endpoint: 'file:///bin/sh' }), /not https/],
      [(doc) => ({ ...doc, authorization_endpoint: 'http://$(id)/x' }), /not https/],
      [(doc) => ({ ...doc, token_endpoint: 'http://example.com/token' }), /not https/],
      [({ registration_endpoint, ...doc }) => doc, /--client-id/],
    ]) {
      const server = createServer((req, res) => {
        if (req.url !== '/.well-known/oauth-authorization-server') { res.writeHead(404); res.end(); return; }
        const at = `http://127.0.0.1:${server.address().port}`;
        res.end(JSON.stringify(change({ issuer: at, authorization_endpoint: `${at}/auth`, token_endpoint: `${at}/token`, registration_endpoint: `${at}/reg`, code_challenge_methods_supported: ['S256'] })));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      use(t, { close: () => { server.closeAllConnections(); server.close(); } });
      await refused(t, { guard: { metadata: (doc) => ({ ...doc, authorization_servers: [`http://127.0.0.1:${server.address().port}`] }) } }, why);
    }
  });

  test('an authorization server that registers or exchanges in its own way: what can be read is, and what cannot is named', async (t) => {
    const { createServer } = await import('node:http');
    const { once } = await import('node:events');
    const token = { access_token: 't', token_type: 'BEARER' };
    const reply = (body, status = 200) => (res) => res.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    const page = reply('<html>Bad Gateway</html>', 502);
    for (const [{ register = reply({ client_id: 'c', client_secret: null }, 201), exchange = reply(token), query = {} }, why] of [
      [{ exchange: reply({ ...token, expires_in: '3600', refresh_token: 'r' }, 201), query: { authuser: '0', scope: 'a b' } }, null],
      [{ exchange: reply({ ...token, expires_in: null, scope: null, refresh_token: null }) }, null],
      [{ register: reply({ error: 'invalid_redirect_uri', error_description: '\x1b[1m' }, 400) }, /registered no client \(HTTP 400, invalid_redirect_uri\); give one with --client-id/],
      [{ register: page }, /registered no client \(HTTP 502\); give/],
      [{ exchange: page }, /refused \(HTTP 502\)$/m],
      [{ exchange: reply('access_token=t&token_type=bearer') }, /something else than a JSON object \(HTTP 200\)/],
      [{ exchange: reply({ access_token: 't' }) }, /no usable bearer token/],
    ]) {
      const server = createServer((req, res) => {
        const at = `http://127.0.0.1:${server.address().port}`, asked = new URL(req.url, at);
        if (asked.pathname === '/reg') return register(res);
        if (asked.pathname === '/token') return exchange(res);
        if (asked.pathname !== '/auth') return reply({ issuer: at, authorization_endpoint: `${at}/auth?tenant=1`, token_endpoint: `${at}/token`, registration_endpoint: `${at}/reg`, code_challenge_methods_supported: ['S256'] })(res);
        const back = new URL(asked.searchParams.get('redirect_uri'));
        for (const [name, value] of Object.entries({ ...query, code: 'x', state: asked.searchParams.get('state') })) back.searchParams.set(name, value);
        return res.writeHead(302, { Location: back.href }).end();
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      use(t, { close: () => { server.closeAllConnections(); server.close(); } });
      const options = { guard: { metadata: (doc) => ({ ...doc, authorization_servers: [`http://127.0.0.1:${server.address().port}`] }) } };
      if (why) await refused(t, options, why);
      else assert.equal((await login(await world(t, options))).code, 0);
    }
  });

  test('an answer with another state is ignored; one of another issuer ends the login', async (t) => {
    const w = await world(t);
    const { code, stderr } = await login(w, [], {
      async open(url) {
        const back = new URL(url).searchParams.get('redirect_uri');
        for (const query of ['', '?code=x', '?code=x&state=', `?code=x&state=${'A'.repeat(43)}`]) assert.equal((await fetch(`${back}${query}`)).status, 400);
        assert.equal((await fetch(new URL('/other', back))).status, 404);
        const state = new URL(url).searchParams.get('state');
        assert.equal((await fetch(`${back}?code=x&state=${state}&iss=https%3A%2F%2Fevil.example`)).status, 400);
      },
    });
    assert.equal(code, 4);
    assert.match(stderr, /not of the authorization server/);
  });

  test('a login for one URL is not sent to another', async (t) => {
    const w = await world(t);
    assert.equal((await login(w)).code, 0);
    const probe = use(t, await startProbe());
    const gate = use(t, await startGate({ upstream: probe.url, env: w.env }));
    await (await peerFor('http', gate)).call('echo');
    const heads = probe.probe.seen.filter(({ headers }) => headers);
    assert.ok(heads.length > 0);
    for (const { headers } of heads) assert.equal(headers.authorization, undefined);
  });
});
