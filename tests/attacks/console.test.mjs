// Signing in to the console, and what must not work with the cookie that comes of it: other origins, other sites, forms, frames, names
// that were made to point here, tokens in scripts' reach, sessions that are over.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cli, legacyServer, policyFile, request, startServe, startUpstream, tempDir } from '../lib/index.mjs';

const home = join(tempDir(), 'home');
const env = { SALLYPORT_HOME: home };
let gate, up, tokens;

before(async () => {
  up = await startUpstream(legacyServer({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }], methods: { 'tools/call': () => ({ content: [] }) } }));
  tokens = {};
  for (const [name, role] of [['boss', 'admin'], ['viewer', 'viewer'], ['agent', null]]) {
    tokens[name] = (await cli(['grants', 'create', name, ...(role ? ['--role', role] : [])], { env })).stdout.trim();
  }
  gate = await startServe({ config: { version: '1', policy: policyFile(), servers: { bank: { url: up.url } }, code: { enabled: false } }, args: [], env });
});
after(async () => { await gate?.stop(); await up?.close(); });

const ask = async (method, path, { cookie, body, headers = {}, own = true } = {}) => {
  const response = await request(method, `${gate.origin}/api/v1/${path}`, {
    headers: { ...(cookie && { Cookie: cookie }), ...(own && { 'Sallyport-Console': '1', Origin: gate.origin, 'Sec-Fetch-Site': 'same-origin' }), ...(body && { 'Content-Type': 'application/json' }), ...headers },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  let json;
  try { json = JSON.parse(text); } catch { json = undefined; }
  return { status: response.status, headers: response.headers, json, text };
};
const signIn = async (name = 'boss') => {
  const answer = await ask('POST', 'session', { headers: { Authorization: `Bearer ${tokens[name]}` } });
  assert.equal(answer.status, 201, answer.text);
  const set = `${answer.headers['set-cookie']}`;
  return { set, cookie: set.split(';')[0] };
};

test('clients that leave while the store is asked about their cookie do no harm', async () => {
  const [name, value] = (await signIn()).cookie.split('=');
  const { hostname, port } = new URL(gate.origin);
  const leave = (i) => new Promise((done) => {
    const cookie = `${name}=${String(i).padStart(value.length, 'x')}`;
    const socket = connect(port, hostname, () => {
      socket.write(`GET /api/v1/status HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${cookie}\r\n\r\n`, () => socket.resetAndDestroy());
    });
    socket.on('close', done).on('error', () => {});
  });
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 20 }, (_, i) => leave(round * 20 + i)));
  assert.equal((await ask('GET', 'status', { cookie: (await signIn()).cookie })).status, 200);
});

describe('the page', () => {
  test('the page has no inline code, loads only its own files, cannot be framed, and every file exists', async () => {
    const get = (path) => request('GET', `${gate.origin}${path}`);
    const page = await get('/ui/');
    const html = await page.text();
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
    const policy = page.headers['content-security-policy'];
    assert.ok(policy.startsWith("default-src 'none'; script-src 'self'") && !policy.includes('unsafe') && policy.includes("frame-ancestors 'none'"));
    assert.equal(page.headers['x-frame-options'], 'DENY');
    assert.ok(!/https?:\/\//.test(html) && !/ on\w+=|<script>|style=/.test(html));
    for (const [, path] of html.matchAll(/(?:src|href)="([^"]+)"/g)) assert.equal((await get(path)).status, 200, path);
    const again = await request('GET', `${gate.origin}/ui/`, { headers: { 'If-None-Match': page.headers.etag } });
    assert.equal(again.status, 304);
    assert.deepEqual([(await get('/')).status, (await get('/ui')).status, (await get('/ui/none.js')).status], [308, 308, 404]);
    assert.equal((await get('/ui/approvals/ap_x')).status, 200, 'a view is the page itself');
    assert.equal((await request('POST', `${gate.origin}/ui/`)).status, 405);
  });

  test('a foreign Host or Origin is refused with the reason', async () => {
    for (const headers of [{ Host: 'evil.example' }, { Origin: 'https://evil.example' }, { Origin: 'null' }]) {
      const answer = await ask('GET', 'status', { own: false, headers });
      assert.deepEqual([answer.status, typeof answer.json.error], [403, 'string'], JSON.stringify(headers));
    }
  });
});

describe('a session of the console', () => {
  test('scripts and other sites cannot read the cookie; it identifies the user, with the roles of the grant', async () => {
    const { set, cookie } = await signIn('viewer');
    assert.match(set, /^sallyport_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    const me = (await ask('GET', 'session', { cookie })).json;
    assert.deepEqual([me.identity, me.roles, me.signed_in], ['grant:viewer', ['viewer'], true]);
    assert.equal((await ask('GET', 'servers', { cookie })).status, 200);
    assert.equal((await ask('POST', 'stops', { cookie, body: { scope: 'all' } })).status, 403);
    assert.equal((await ask('GET', 'servers', {})).status, 401);
  });

  test('an agent\'s grant and a wrong token cannot sign in', async () => {
    assert.equal((await ask('POST', 'session', { headers: { Authorization: `Bearer ${tokens.agent}` } })).status, 403);
    assert.equal((await ask('POST', 'session', { headers: { Authorization: 'Bearer sp_wrong' } })).status, 401);
    assert.equal((await ask('POST', 'session', {})).status, 401);
  });

  test('requests from other ports, other sites, forms or without the header are refused', async () => {
    const { cookie } = await signIn();
    const body = { scope: 'all' };
    const stop = (headers) => ask('POST', 'stops', { cookie, body, own: false, headers });
    for (const headers of [
      { Origin: gate.origin, 'Sec-Fetch-Site': 'same-origin' }, // a form of our own origin has no such header
      { Origin: 'http://127.0.0.1:3000', 'Sec-Fetch-Site': 'same-site', 'Sallyport-Console': '1' },
      { Origin: 'http://localhost:1', 'Sallyport-Console': '1' },
      { Origin: gate.origin, 'Sec-Fetch-Site': 'cross-site', 'Sallyport-Console': '1' },
    ]) assert.equal((await stop(headers)).status, 403, JSON.stringify(headers));
    for (const site of ['same-site', 'cross-site']) assert.equal((await ask('GET', 'grants', { cookie, own: false, headers: { 'Sec-Fetch-Site': site } })).status, 403, site);
    assert.deepEqual((await ask('GET', 'stops', { cookie })).json, []);
    const made = await ask('POST', 'stops', { cookie, body });
    assert.equal(made.status, 201);
    assert.equal((await ask('DELETE', `stops/${made.json.id}`, { cookie })).status, 200);
  });

  test('the cookie is accepted by the admin API and by no other endpoint', async () => {
    const { cookie } = await signIn();
    for (const path of ['/mcp', '/mcp/servers', '/sse']) assert.equal((await request('GET', `${gate.origin}${path}`, { headers: { Cookie: cookie, Accept: 'text/event-stream' } })).status, 401, path);
  });

  test('signing out, revoking and rotating end the session immediately; a guessed cookie is refused', async () => {
    const one = await signIn(), two = await signIn();
    const out = await ask('DELETE', 'session', { cookie: one.cookie });
    assert.equal(out.status, 200);
    assert.match(`${out.headers['set-cookie']}`, /Max-Age=0/);
    assert.equal((await ask('GET', 'session', { cookie: one.cookie })).status, 401);
    assert.equal((await ask('GET', 'session', { cookie: two.cookie })).status, 200, 'the other browser stays');
    assert.equal((await ask('GET', 'session', { cookie: `${two.cookie.slice(0, -1)}${two.cookie.endsWith('A') ? 'B' : 'A'}` })).status, 401);
    tokens.temp = (await cli(['grants', 'create', 'temp', '--role', 'viewer'], { env })).stdout.trim();
    const temp = await signIn('temp');
    await cli(['grants', 'rotate', 'temp'], { env });
    assert.equal((await ask('GET', 'session', { cookie: temp.cookie })).status, 401, 'another token: sign in again');
  });

  test('a sign-in link works once; one made without a terminal is read-only', async () => {
    const { stdout } = await cli(['ui', '--print'], { env });
    assert.match(stdout, new RegExp(`^${gate.origin}/ui/sign-in#[\\w-]{43}\\n$`));
    const code = stdout.trim().split('#')[1];
    const first = await ask('POST', 'session/link', { body: { code } });
    assert.equal(first.status, 201);
    const cookie = `${first.headers['set-cookie']}`.split(';')[0];
    const me = (await ask('GET', 'session', { cookie })).json;
    assert.deepEqual([me.roles, /^cli:/.test(me.identity)], [['viewer'], true], 'an agent may have run the command');
    assert.equal((await ask('POST', 'stops', { cookie, body: { scope: 'all' } })).status, 403);
    const second = await ask('POST', 'session/link', { body: { code } });
    assert.deepEqual([second.status, second.headers['set-cookie']], [401, undefined]);
    for (const bad of ['', 'x', 'A'.repeat(43)]) assert.equal((await ask('POST', 'session/link', { body: { code: bad } })).status, 401);
  });
});

describe('only users with the right can write a policy, and only over the text that they have seen', () => {
  test('no If-Match, another text, no policy: refused; what was written is kept, and can be had back', async () => {
    const { cookie } = await signIn();
    const [{ id }] = (await ask('GET', 'policies', { cookie })).json;
    const { json: file, headers } = await ask('GET', `policies/${id}`, { cookie });
    assert.equal(headers.etag, `"${file.hash}"`);
    const save = (policy_text, match) => ask('PUT', `policies/${id}`, { cookie, body: { policy_text, note: 'a test' }, headers: match ? { 'If-Match': match } : {} });
    assert.equal((await save(file.text)).status, 428);
    assert.equal((await save(file.text, '"0000"')).status, 412);
    const bad = await save('version: "1"\ntools: {x: {rulez: []}}', `"${file.hash}"`);
    assert.deepEqual([bad.status, /rulez/.test(bad.json.error)], [422, true]);
    const good = await save('version: "1" # stricter\ndefault: deny\n', `"${file.hash}"`);
    assert.equal(good.status, 200, good.text);
    assert.equal((await ask('GET', 'policies', { cookie })).json[0].hash, good.json.hash, 'in force at once');
    const history = (await ask('GET', `policies/${id}/history`, { cookie })).json;
    assert.deepEqual(history.map(({ version, current, by }) => [version, current, by]), [[2, true, 'grant:boss'], [1, false, 'before the console']]);
    assert.equal((await ask('GET', `policies/${id}/history/1`, { cookie })).json.text, file.text);
    const back = await ask('POST', `policies/${id}/revert`, { cookie, body: { version: 1 } });
    assert.deepEqual([back.status, back.json.text], [200, file.text]);
    const events = (await ask('GET', 'audit?event=policy_saved', { cookie })).json;
    assert.deepEqual(events.map(({ identity, text }) => [identity, text]), [['grant:boss', 'back to version 1'], ['grant:boss', 'a test']]);
  });

  test('edits keep the comments and cannot produce an invalid policy', async () => {
    const { cookie } = await signIn();
    const edit = (policy_text, ...edits) => ask('POST', 'policies/edit', { cookie, body: { policy_text, edits } });
    const text = '# mine\nversion: "1"\ntools:\n  read: {} # free\n';
    const { json } = await edit(text, { path: ['tools', 'pay', 'rules', '-'], value: { name: 'no', action: 'deny' } }, { path: ['hide', '-'], value: 'wipe' });
    assert.equal(json.policy_text, '# mine\nversion: "1"\ntools:\n  read: {} # free\n  pay:\n    rules:\n      - name: "no"\n        action: deny\nhide: [wipe]\n');
    assert.equal(json.valid, true);
    assert.deepEqual(json.policy.hide, ['wipe']);
    for (const bad of [{ path: [] }, { path: 'tools' }, { path: [{}] }, { path: Array(17).fill('a') }, {}]) assert.equal((await edit(text, bad)).status, 400, JSON.stringify(bad));
    assert.equal((await edit('a: b', { path: ['a', 'c'], value: 1 })).status, 422);
  });
});
