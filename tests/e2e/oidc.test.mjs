// Tokens of identity providers: which are accepted, what clients may do with them, and the gate as a resource server.
import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startIssuer, startProvider } from '../fixtures/idp.mjs';
import { ALLOW_ALL, cli, connect, freePort, peerFor, policyFile, post, probeCommand, request, startServe, tempDir, use } from '../lib/index.mjs';

const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };
const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const RESOURCE = 'https://gate.test';
const [command, ...args] = probeCommand();

// Two servers, a and b, behind a gate that trusts the issuer.
async function world(t, { issuer, auth = {}, issuerSettings = {}, policy = ALLOW_ALL, ...more } = {}) {
  issuer ??= use(t, await startIssuer());
  const home = join(tempDir(), 'home');
  const gate = use(t, await startServe({
    args: [], env: { SALLYPORT_HOME: home },
    config: {
      version: '1', policy: policyFile(policy), code: { enabled: false },
      servers: { a: { command, args: [...args, 'a'].slice(0, args.length) }, b: { command, args } },
      auth: { resource: RESOURCE, issuers: [{ issuer: issuer.issuer, ...issuerSettings }], ...auth }, ...more,
    },
  }));
  const status = async (token, path = '/mcp', headers = {}) => (await post(gate.url, ping, { path, headers: { ...bearer(token), ...headers } })).status;
  return { issuer, gate, home, status };
}
const IN = 400; // authenticated; the error says to initialize first

describe('which tokens are good', () => {
  test('signature, issuer, audience, times, form', async (t) => {
    const { issuer, gate, status } = await world(t);
    const now = Math.floor(Date.now() / 1000);
    const good = await issuer.sign();
    assert.equal(await status(good), IN);
    for (const claims of [{ aud: ['x', `${RESOURCE}/mcp`] }, { exp: now - 30 }, { nbf: now + 30 }, { nbf: undefined, iat: undefined }]) assert.equal(await status(await issuer.sign(claims)), IN, JSON.stringify(claims));
    for (const claims of [
      { aud: RESOURCE }, { aud: `${RESOURCE}/mcp/a` }, { aud: `${RESOURCE}/mcp/` }, { aud: undefined }, { aud: [] }, { iss: `${issuer.issuer}/` }, { iss: 'https://evil.example' }, { iss: undefined },
      { sub: undefined }, { sub: '' }, { exp: now - 3600 }, { exp: undefined }, { exp: `${now + 60}` }, { nbf: now + 3600 }, { iat: now + 3600 },
    ]) {
      const response = await post(gate.url, ping, { headers: bearer(await issuer.sign(claims)) });
      assert.equal(response.status, 401, JSON.stringify(claims));
      assert.match(response.headers['www-authenticate'], /error="invalid_token"/);
    }
    const [head, body, signature] = good.split('.');
    const b64 = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
    const pem = createPublicKey(issuer.keys.k1.publicKey instanceof CryptoKey ? { key: await crypto.subtle.exportKey('jwk', issuer.keys.k1.publicKey), format: 'jwk' } : issuer.keys.k1.publicKey).export({ type: 'spki', format: 'pem' });
    const hs = `${b64({ alg: 'HS256', kid: 'k1' })}.${body}`;
    for (const token of [
      `${head}.${body}.`, `${head}.${body}`, `${head}.${b64({ ...JSON.parse(Buffer.from(body, 'base64url')), sub: 'root' })}.${signature}`,
      `${b64({ alg: 'none' })}.${body}.`, `${b64({ alg: 'None', kid: 'k1' })}.${body}.${signature}`, `${hs}.${createHmac('sha256', pem).update(hs).digest('base64url')}`,
      `${good}=`, `${good}.x`, ` ${good} x`, `${head}=.${body}.${signature}`, 'x.y.z', '..', 'eyJ', 'x'.repeat(20_000),
      await issuer.sign({}, { header: { crit: ['exp'] } }).catch(() => '..'), await issuer.sign({}, { header: { typ: 'dpop+jwt' } }),
    ]) assert.notEqual(await status(token), IN, token.slice(0, 60));
    assert.equal((await post(gate.url, ping, { path: `/mcp?access_token=${good}` })).status, 401, 'never in the query');
    assert.equal((await post(gate.url, { ...ping, access_token: good })).status, 401);
  });

  test('every algorithm of the list, and no other than allowed', async (t) => {
    const issuer = use(t, await startIssuer({ algorithms: { r: 'RS256', r5: 'RS512', p: 'PS256', e: 'ES256', e3: 'ES384', d: 'EdDSA' } }));
    const all = await world(t, { issuer });
    for (const kid of Object.keys(issuer.keys)) assert.equal(await all.status(await issuer.sign({}, { kid })), IN, kid);
    const some = await world(t, { issuer, issuerSettings: { algorithms: ['ES256', 'EdDSA'] } });
    for (const kid of Object.keys(issuer.keys)) assert.equal(await some.status(await issuer.sign({}, { kid })), ['e', 'd'].includes(kid) ? IN : 401, kid);
  });

  test('keys rotate: a new key is fetched at its first token, a withdrawn one is dropped, and unknown keys cannot cause endless fetches', async (t) => {
    const { issuer, status } = await world(t);
    const old = await issuer.sign();
    assert.equal(await status(old), IN);
    await issuer.addKey('k2');
    issuer.published = ['k2'];
    assert.equal(await status(await issuer.sign({}, { kid: 'k2' })), IN, 'at the first try');
    assert.equal(await status(old), 401, 'its key is gone');
    const before = issuer.count('/keys');
    await issuer.addKey('foreign');
    for (let i = 0; i < 40; i++) assert.equal(await status(await issuer.sign({}, { kid: 'foreign', header: { kid: `x${i}` } })), 401);
    assert.ok(issuer.count('/keys') - before <= 4, `${issuer.count('/keys') - before} fetches`);
    assert.equal(await status(await issuer.sign({}, { kid: 'k2' })), IN);
  });

  test('with an issuer that is down or has another name no client can authenticate, and the log says why', async (t) => {
    const issuer = use(t, await startIssuer());
    issuer.down = true;
    const { status } = await world(t, { issuer });
    assert.equal(await status(await issuer.sign()), 503);
    issuer.down = false;
    assert.equal(await status(await issuer.sign()), IN, 'and when it is back');
    const liar = use(t, await startIssuer({ metadata: (doc) => ({ ...doc, issuer: 'https://other.example' }) }));
    assert.equal(await (await world(t, { issuer: liar })).status(await liar.sign()), 503);
    const evil = use(t, await startIssuer({ metadata: (doc) => ({ ...doc, jwks_uri: 'file:///etc/passwd' }) }));
    assert.equal(await (await world(t, { issuer: evil })).status(await evil.sign()), 503);
    const told = use(t, await startIssuer({ metadata: () => ({}) }));
    assert.equal(await (await world(t, { issuer: told, issuerSettings: { jwks: `${told.issuer}/keys` } })).status(await told.sign()), IN);
  });
});

describe('what clients with a token may do', () => {
  const rules = [
    { when: { groups: 'admins', email_verified: true }, roles: ['admin'] },
    { when: { groups: 'a-team' }, servers: ['a'], tools: ['ech*'] },
    { when: { scope: 'batch' }, grant: 'batch' },
  ];

  test('by rules over their claims; without one, 403', async (t) => {
    const { issuer, gate, status } = await world(t, { auth: { resource: RESOURCE, rules } });
    assert.equal(await status(await issuer.sign()), 403);
    assert.equal(await status(await issuer.sign({ groups: ['a-teams', 'xa-team'] })), 403);
    assert.equal(await status(await issuer.sign({ groups: ['admins'], email_verified: false })), 403);
    assert.equal(await status(await issuer.sign({ groups: 'a-team' })), IN);
    const token = await issuer.sign({ groups: ['x', 'a-team'] });
    assert.equal(await status(token, '/mcp/a'), IN);
    assert.equal(await status(token, '/mcp/b'), 403);
    const peer = await peerFor('http', gate, { headers: bearer(token) });
    assert.deepEqual((await peer.request('tools/list')).tools.map(({ name }) => name), ['a__echo']);
  });

  test('a rule can give a token the rights of a grant, until the grant is revoked', async (t) => {
    const { issuer, home, status, gate } = await world(t, { auth: { resource: RESOURCE, rules } });
    const token = await issuer.sign({ scope: 'mcp batch' });
    const grants = (...line) => cli(['grants', ...line], { env: { SALLYPORT_HOME: home } });
    assert.equal(await status(token), 403, 'there is no such grant');
    await grants('create', 'batch', '--server', 'b');
    assert.equal(await status(token, '/mcp/b'), IN);
    assert.equal(await status(token, '/mcp/a'), 403);
    const peer = await peerFor('http', Object.assign(Object.create(gate), { url: `${gate.origin}/mcp/b` }), { headers: bearer(token) });
    await peer.call('echo');
    await grants('revoke', 'batch');
    assert.equal(await status(token, '/mcp/b'), 403);
    assert.equal((await post(gate.url, ping, { path: '/mcp/b', headers: peer.headersFor() })).status, 403);
  });

  test('claims in policies, limits by identity, the log', async (t) => {
    const policy = {
      version: '1',
      tools: { echo: { rules: [
        { name: 'team', conditions: [{ path: 'identity.groups.ops', op: 'eq', value: 'true' }, { path: 'identity.email', op: 'ends_with', value: '@example.com' }] },
        { name: 'two', rate_limit: '2/day', scope: 'identity' },
      ] } },
    };
    const { issuer, gate, home } = await world(t, { policy });
    const at = { ...gate, url: `${gate.origin}/mcp/a`, child: gate.child };
    const who = async (claims) => peerFor('http', at, { headers: bearer(await issuer.sign(claims)) });
    const anna = await who({ groups: ['ops'], email: 'anna@example.com' });
    const bob = await who({ sub: 'bob', groups: ['ops'], email: 'bob@example.com' });
    const eve = await who({ sub: 'eve', groups: ['opsx'], email: 'eve@example.com', name: 'ops' });
    const denied = async (peer) => Boolean((await peer.call('echo')).isError);
    assert.deepEqual([await denied(anna), await denied(anna), await denied(anna)], [false, false, true]);
    assert.deepEqual([await denied(bob), await denied(eve)], [false, true]);
    const { stdout } = await cli(['audit', 'query', '--json'], { env: { SALLYPORT_HOME: home } });
    const names = new Set(stdout.trim().split('\n').map((line) => JSON.parse(line)).filter(({ tool }) => tool === 'echo').map(({ identity }) => identity));
    assert.deepEqual([...names].sort(), ['anna', 'bob', 'eve'].map((sub) => `oidc:${issuer.issuer}|${sub}`));
  });

  test('a new token of the same user continues the session; one with other rights or of another user does not', async (t) => {
    const { issuer, gate } = await world(t);
    const peer = await peerFor('http', gate, { headers: bearer(await issuer.sign({ jti: '1' })) });
    const again = async (claims) => (await post(gate.url, ping, { headers: { ...peer.headersFor(), ...bearer(await issuer.sign(claims)) } })).status;
    assert.equal(await again({ jti: '2', exp: Math.floor(Date.now() / 1000) + 900 }), 200);
    assert.equal(await again({ sub: 'bob' }), 404);
    assert.equal(await again({ groups: ['more'] }), 404);
    assert.equal(await again({}), 200);
  });

  test('an expired token ends its stream; a refreshed one of the same subject continues the session', async (t) => {
    const { issuer, gate } = await world(t, { issuerSettings: { skew: '1s' } });
    let peer, stream;
    for (let seconds = 4; stream?.status !== 200; seconds *= 2) { // on a busy machine a short one may end before it is in
      assert.ok(seconds < 300, 'in before the token ends');
      peer = await peerFor('http', gate, { headers: bearer(await issuer.sign({ exp: Math.floor(Date.now() / 1000) + seconds })) }).catch(() => null);
      stream = peer && await request('GET', gate.url, { headers: { ...peer.headersFor(), Accept: 'text/event-stream' } });
    }
    while (await stream.event() !== null); // the gate ends it
    assert.equal((await post(gate.url, ping, { headers: peer.headersFor() })).status, 401);
    const fresh = async (claims) => (await post(gate.url, ping, { headers: { ...peer.headersFor(), ...bearer(await issuer.sign(claims)) } })).status;
    assert.equal(await fresh({ sub: 'bob' }), 404);
    assert.equal(await fresh({ jti: 'refreshed', auth_time: 1, sid: 'other', nonce: 'n' }), 200, 'a refreshed token of the same subject goes on with the session');
  });
});

describe('the gate as a resource server', () => {
  test('metadata for each endpoint, and challenges that name it', async (t) => {
    const { issuer, gate } = await world(t, { issuerSettings: { scopes: ['mcp'] } });
    for (const [path, resource] of [['', '/mcp'], ['/mcp', '/mcp'], ['/mcp/a', '/mcp/a']]) {
      const response = await request('GET', gate.url, { path: `/.well-known/oauth-protected-resource${path}` });
      assert.equal(response.status, 200);
      assert.deepEqual(JSON.parse(await response.text()), {
        resource: `${RESOURCE}${resource}`, resource_name: 'Sallyport', authorization_servers: [issuer.issuer], bearer_methods_supported: ['header'], scopes_supported: ['mcp'],
      });
    }
    assert.equal((await request('GET', gate.url, { path: '/.well-known/oauth-protected-resource/api' })).status, 404);
    for (const path of ['/mcp', '/mcp/a']) {
      const response = await post(gate.url, ping, { path });
      assert.equal(response.status, 401);
      assert.equal(response.headers['www-authenticate'], `Bearer resource_metadata="${RESOURCE}/.well-known/oauth-protected-resource${path}", scope="mcp"`);
    }
    const poor = await post(gate.url, ping, { headers: bearer(await issuer.sign({ scope: 'other' })) });
    assert.equal(poor.status, 403);
    assert.match(poor.headers['www-authenticate'], /^Bearer error="insufficient_scope".*scope="mcp"/);
    for (const claims of [{ scope: 'a mcp b' }, { scp: ['mcp'] }]) assert.equal((await post(gate.url, ping, { headers: bearer(await issuer.sign(claims)) })).status, IN);
  });

  test('a token for one endpoint is valid at that endpoint only', async (t) => {
    const { issuer, status } = await world(t);
    const token = await issuer.sign({ aud: `${RESOURCE}/mcp/a` });
    assert.equal(await status(token, '/mcp/a'), IN);
    for (const path of ['/mcp', '/mcp/b', '/sse', '/mcp/servers']) assert.equal(await status(token, path), 401, path);
  });

  test('a gate without issuers serves no metadata', async (t) => {
    const gate = use(t, await startServe({ args: [], config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { a: { command, args } } } }));
    assert.equal((await request('GET', gate.url, { path: '/.well-known/oauth-protected-resource' })).status, 404);
    const response = await post(gate.url, ping);
    assert.deepEqual([response.status, response.headers['www-authenticate']], [401, 'Bearer']);
  });

  // The whole flow: an SDK client finds the authorization server by itself and authenticates with its token.
  for (const version of ['v1', 'v2']) {
    test(`SDK ${version} logs in at a real authorization server and calls a tool`, async (t) => {
      const provider = use(t, await startProvider());
      const port = await freePort();
      const origin = `http://127.0.0.1:${port}`;
      const gate = use(t, await startServe({
        args: [], listen: `127.0.0.1:${port}`,
        config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { a: { command, args } }, auth: { resource: origin, issuers: [{ issuer: provider.issuer, scopes: ['mcp'] }] } },
      }));
      const { browse } = await import('../fixtures/idp.mjs');
      const kept = {};
      let answer;
      const authProvider = {
        redirectUrl: 'http://127.0.0.1:9/callback',
        clientMetadata: { client_name: 'test', redirect_uris: ['http://127.0.0.1:9/callback'], application_type: 'native', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' },
        clientInformation: () => kept.client, saveClientInformation: (client) => { kept.client = client; },
        tokens: () => kept.tokens, saveTokens: (tokens) => { kept.tokens = tokens; },
        codeVerifier: () => kept.verifier, saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
        redirectToAuthorization: async (url) => { answer = await browse(url.href, { ends: (at) => at.startsWith('http://127.0.0.1:9/') }); },
      };
      const target = { url: gate.url, options: { authProvider } };
      await assert.rejects(connect(version, target), /Unauthorized|401/);
      const code = new URL(answer.url).searchParams.get('code');
      const { StreamableHTTPClientTransport } = await (version === 'v1' ? import('../npm/load.mjs').then(({ load }) => load('@modelcontextprotocol/sdk/client/streamableHttp.js')) : import('../npm/load.mjs').then(({ load }) => load('@modelcontextprotocol/client')));
      await new StreamableHTTPClientTransport(new URL(gate.url), { authProvider }).finishAuth(version === 'v1' ? code : new URL(answer.url).searchParams);
      const sdk = use(t, await connect(version, target));
      assert.ok((await sdk.tools()).some(({ name }) => name === 'a__echo'));
      await sdk.call('a__echo', { x: 1 });
    });
  }
});
