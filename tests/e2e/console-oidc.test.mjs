// Signing in to the console at an identity provider: a real one (oidc-provider) and a real browser. Code flow with PKCE; roles from claims;
// signing out; the end of a session; answers that are not of this sign-in.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { browse, startIssuer, startProvider } from '../fixtures/idp.mjs';
import { callTool, consoleWorld, freePort, openPage, request, startBrowser, use } from '../lib/index.mjs';

const RULES = [{ when: { groups: 'ops' }, roles: ['approver'] }, { when: { groups: 'security' }, roles: ['admin'] }, { when: { groups: 'agents' } }];

async function worldOf(t, { groups = ['ops'], secret, console: more = {}, ttl = 3600 } = {}) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = use(t, await startProvider({
    clients: [{ client_id: 'console', redirect_uris: [`${origin}/ui/sign-in`], post_logout_redirect_uris: [`${origin}/ui/`], response_types: ['code'], grant_types: ['authorization_code'], ...(secret ? { client_secret: secret } : { token_endpoint_auth_method: 'none' }) }],
    configuration: { conformIdTokenClaims: false, claims: { openid: ['sub', 'groups'], profile: ['name'], email: ['email'] }, scopes: ['openid', 'profile', 'email'], features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true, logoutSource: (ctx, form) => { ctx.body = `<!DOCTYPE html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes</button>`; } } }, findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups }) }), ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 600, IdToken: ttl, Interaction: 60, Session: 600 } },
  }));
  const auth = { resource: origin, issuers: [{ issuer: provider.issuer, console: { client_id: 'console', ...(secret && { client_secret: secret }), ...more } }], rules: RULES };
  const world = await consoleWorld(t, { listen: `127.0.0.1:${port}`, settings: `auth: ${JSON.stringify(auth)}\n` });
  return { ...world, provider, elsewhere: [provider.issuer] };
}
const button = (world) => `button:has-text("Sign in at ${world.provider.issuer.slice('http://'.length)}")`;
const json = (world, method, path, body, headers = {}) => request(method, `${world.origin}/api/v1/${path}`, { headers: { ...(body && { 'Content-Type': 'application/json' }), 'Sallyport-Console': '1', ...headers }, body: body && JSON.stringify(body) });
const cookieOf = (response) => [response.headers['set-cookie']].flat().map((c) => c.split(';')[0]).join('; ');

// What the provider sends back to the page.
async function throughProvider(world, from) {
  const { url } = await browse(from, { ends: (at) => at.startsWith(`${world.origin}/ui/`) });
  return Object.fromEntries(new URL(url).searchParams);
}
async function begun(world) {
  const response = await json(world, 'POST', 'session/begin', { issuer: world.provider.issuer });
  assert.equal(response.status, 200, await response.text());
  return { cookie: cookieOf(response), raw: response.headers['set-cookie'], url: (await response.json()).url };
}

describe('the console and an identity provider', { concurrency: 1 }, () => {
  let browser;
  test('a browser starts', async () => { browser = await startBrowser(); });

  test('signing in uses PKCE, returns to the same page, takes the roles from the claims, and signing out works', async (t) => {
    const world = await worldOf(t, { secret: 'a-secret-of-the-client-that-is-long' });
    const agent = await world.agent();
    const { error } = await callTool(agent, 'create_refund', { amount: 3 });
    const page = await openPage(browser, world, { as: null, elsewhere: world.elsewhere });
    await page.goto(`${world.origin}/ui/approvals/${error.data.approval_id}`);
    await page.click(button(world));
    await page.waitForSelector(`[data-approval="${error.data.approval_id}"]`);
    assert.equal(new URL(page.url()).pathname, `/ui/approvals/${error.data.approval_id}`);
    assert.match(await page.textContent('nav .who'), new RegExp(`^oidc:${world.provider.issuer}\\|anna$`));
    assert.equal(await page.getAttribute('nav .who', 'title'), 'approver');
    await page.click('text=Approve once');
    await page.waitForSelector('text=approved');
    assert.equal((await callTool(agent, 'create_refund', { amount: 3 })).result.content[0].text, 'create_refund done');
    assert.equal((await world.api('GET', `approvals/${error.data.approval_id}`)).json.decided_by, `oidc:${world.provider.issuer}|anna`);

    const asked = new URL(world.provider.seen.find(({ path }) => path === '/auth').url, world.provider.issuer).searchParams;
    assert.deepEqual([asked.get('code_challenge_method'), asked.get('code_challenge').length, asked.get('state').length, asked.get('nonce').length], ['S256', 43, 43, 43]);
    const sent = new URLSearchParams(world.provider.seen.find(({ path }) => path === '/token').body);
    assert.equal(sent.get('code_verifier').length, 64);
    const cookies = (await page.context().cookies(world.origin)).filter(({ name }) => name.startsWith('sallyport_'));
    assert.deepEqual(cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]), [[true, 'Strict']], 'the one of the beginning is gone');
    assert.equal(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])).then((all) => /eyJ|code=/.test(all)), false);

    const Cookie = `${cookies[0].name}=${cookies[0].value}`;
    assert.equal((await json(world, 'GET', 'status', undefined, { Cookie })).status, 200);
    assert.equal((await json(world, 'POST', 'stops', { scope: 'all' }, { Cookie })).status, 403, 'an approver stops nothing');
    await page.click('text=Sign out');
    await page.waitForSelector('#token');
    assert.equal((await json(world, 'GET', 'status', undefined, { Cookie })).status, 401);
    const events = (await world.api('GET', 'audit?kind=event')).json.filter((e) => /^signed_/.test(e.event)).map(({ event, identity }) => `${event} ${identity}`);
    assert.deepEqual(events, ['signed_out', 'signed_in'].map((event) => `${event} oidc:${world.provider.issuer}|anna`));
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('with sign_out the session at the provider is ended, and the browser returns to the sign-in page', async (t) => {
    const world = await worldOf(t, { console: { sign_out: true } });
    const page = await openPage(browser, world, { as: null, elsewhere: world.elsewhere });
    await page.goto(`${world.origin}/ui/`);
    await page.click(button(world));
    await page.waitForSelector('nav .who');
    const [cookie] = (await page.context().cookies(world.origin)).filter(({ name }) => name.startsWith('sallyport_'));
    await page.click('text=Sign out');
    await page.waitForSelector('button[name=logout]');
    assert.equal((await json(world, 'GET', 'status', undefined, { Cookie: `${cookie.name}=${cookie.value}` })).status, 401, 'here it is over at once');
    const asked = new URL(world.provider.seen.find(({ path }) => path === '/session/end').url, world.provider.issuer).searchParams;
    assert.deepEqual([asked.get('client_id'), asked.get('post_logout_redirect_uri'), asked.get('id_token_hint').split('.').length], ['console', `${world.origin}/ui/`, 3]);
    await page.click('button[name=logout]');
    await page.waitForSelector('#token');
    assert.equal(new URL(page.url()).origin, world.origin);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('signing out works when the provider is unreachable', async (t) => {
    const world = await worldOf(t, { console: { sign_out: true } });
    const signIn = async () => {
      const mine = await begun(world);
      const done = await json(world, 'POST', 'session/finish', await throughProvider(world, mine.url), { Cookie: mine.cookie });
      return cookieOf(done).split('; ').find((c) => !c.includes('_begun'));
    };
    const Cookie = await signIn();
    assert.equal((await json(world, 'GET', 'session', undefined, { Cookie })).status, 200); // its keys are known from here on
    await world.provider.close();
    const out = await json(world, 'DELETE', 'session', undefined, { Cookie });
    assert.deepEqual([out.status, await out.json()], [200, {}]);
    assert.match(String(out.headers['set-cookie']), /Max-Age=0/);
    assert.equal((await json(world, 'GET', 'status', undefined, { Cookie })).status, 401);
  });

  test('a user without a role gets a clear message; an error of the provider is shown', async (t) => {
    const world = await worldOf(t, { groups: ['agents'] });
    const page = await openPage(browser, world, { as: null, elsewhere: world.elsewhere });
    await page.goto(`${world.origin}/ui/`);
    await page.click(button(world));
    await page.waitForSelector('text=gives you no role in the console');
    await page.goto(`${world.origin}/ui/sign-in?error=access_denied&error_description=%3Cb%3Eno%3C%2Fb%3E&state=x`);
    await page.waitForSelector('text=The identity provider refused: access_denied');
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('an answer is accepted once, in the browser that started the sign-in, for its own state and provider', async (t) => {
    const world = await worldOf(t);
    const finish = async (body, Cookie) => { const r = await json(world, 'POST', 'session/finish', body, Cookie ? { Cookie } : {}); return { status: r.status, cookie: cookieOf(r.headers['set-cookie'] ? r : { headers: { 'set-cookie': [] } }), error: (await r.json()).error }; };
    const mine = await begun(world);
    assert.match(String(mine.raw), /HttpOnly; SameSite=Strict/);
    const answer = await throughProvider(world, mine.url);
    assert.equal(answer.iss, world.provider.issuer);
    const other = await begun(world);
    for (const [body, cookie] of [[answer, ''], [answer, other.cookie], [{ ...answer, state: 'x'.repeat(43) }, mine.cookie], [{ ...answer, iss: 'https://evil.example' }, mine.cookie], [{ code: answer.code, state: answer.state }, mine.cookie], [answer, `${mine.cookie}A`], [answer, mine.cookie.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A'))]]) {
      const tried = await finish(body, cookie);
      assert.deepEqual([tried.status, tried.cookie], [401, ''], JSON.stringify([body, cookie]));
      assert.ok(tried.error);
    }
    const done = await finish(answer, mine.cookie);
    assert.equal(done.status, 201, done.error);
    const again = await finish(answer, mine.cookie);
    assert.equal(again.status, 401, 'a code is good once');
    const Cookie = done.cookie.split('; ').find((c) => !c.includes('_begun'));
    const me = await (await json(world, 'GET', 'session', undefined, { Cookie })).json();
    assert.deepEqual(me.roles, ['approver']);
    // An ID token is for the console alone, and only by its cookie.
    const stored = ['', '-wal'].map((end) => `${world.env.SALLYPORT_HOME}/logins.sqlite${end}`).filter(existsSync).map((path) => readFileSync(path, 'latin1')).join('');
    const token = /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(stored)[0];
    assert.equal((await request('GET', `${world.origin}/api/v1/status`, { headers: { Authorization: `Bearer ${token}` } })).status, 401);
    assert.equal((await request('GET', `${world.origin}/mcp/servers`, { headers: { Cookie } })).status, 401);
  });

  test('a session outlives its ID token and ends after its own time', async (t) => {
    const world = await worldOf(t, { ttl: 1, console: { session: '12s' } });
    const mine = await begun(world);
    const answer = await throughProvider(world, mine.url);
    const began = Date.now();
    const done = await json(world, 'POST', 'session/finish', answer, { Cookie: mine.cookie });
    assert.equal(done.status, 201);
    const Cookie = cookieOf(done).split('; ').find((c) => !c.includes('_begun'));
    const seen = [];
    for (;;) {
      const { status } = await json(world, 'GET', 'status', undefined, { Cookie });
      seen.push([Date.now() - began, status]);
      if (status !== 200 || Date.now() - began > 60_000) break;
      await new Promise((resume) => setTimeout(resume, 200));
    }
    const [ended, last] = seen.at(-1);
    assert.equal(last, 401);
    assert.ok(ended >= 11_000, `${ended} ms`);
    assert.ok(seen.some(([ms, status]) => status === 200 && ms > 1500), JSON.stringify(seen));
  });

  test('no browser is redirected to a provider that is unreachable or has invalid metadata', async (t) => {
    const issuer = use(t, await startIssuer({ metadata: (doc) => ({ ...doc, authorization_endpoint: 'javascript:alert(1)', token_endpoint: `${doc.issuer}/token` }) }));
    const world = await consoleWorld(t, { settings: `auth: ${JSON.stringify({ resource: 'http://127.0.0.1:1', issuers: [{ issuer: issuer.issuer, console: { client_id: 'c' } }] })}\n` });
    const ask = () => json(world, 'POST', 'session/begin', { issuer: issuer.issuer });
    assert.equal((await ask()).status, 502);
    issuer.down = true;
    assert.equal((await ask()).status, 502);
    assert.equal((await json(world, 'POST', 'session/begin', { issuer: 'https://other.example' })).status, 404);
    assert.deepEqual(await (await json(world, 'GET', 'session/issuers')).json(), [{ issuer: issuer.issuer }]);
  });

  test('the browser ends', async () => { await browser?.close(); });
});
