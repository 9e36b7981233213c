// The admin API and /metrics (docs/admin.md): who may ask what, what the OpenAPI document says and what is there, approvals by role, by
// callback, and never by the requester.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, legacyServer, load, peerFor, request, root, startGate, startServe, startUpstream, tempDir, tempFile, until, use } from '../lib/index.mjs';

const POLICY = { version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [], on_pending: 'Ask finance' }] }, gone: { deny_if: [{ conditions: [] }] } } };
const SECRET = 'a secret that signs callbacks and webhooks';
const tool = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } });
const text = (value) => ({ content: [{ type: 'text', text: value }] });

async function world(t, { roles = {}, args = [], policy = POLICY, ...options } = {}) {
  const home = join(tempDir(), 'home');
  const env = { SALLYPORT_HOME: home };
  const tokens = {};
  for (const [name, role] of Object.entries(roles)) {
    const made = await cli(['grants', 'create', name, '--json', ...(role ? ['--role', role] : [])], { env });
    assert.equal(made.code, 0, made.stderr);
    tokens[name] = JSON.parse(made.stdout).token;
  }
  const calls = [];
  const server = use(t, await startUpstream(legacyServer({
    tools: [tool('pay'), tool('echo'), tool('gone')], methods: { 'tools/call': ({ name, arguments: a }) => { calls.push({ name, arguments: a }); return text(`${name} done`); } },
  })));
  const asks = Object.keys(roles).length ? ['--token-file', tempFile('token', 'the-one-token-of-the-gate')] : [];
  const gate = use(t, await startGate({ upstream: server.url, policy, env, args: ['--name', 'upstream', ...asks, ...args], ...options }));
  const origin = new URL(gate.url).origin;
  const api = async (method, path, { as, body, headers = {} } = {}) => {
    const content = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const response = await request(method, `${origin}${path}`, {
      headers: { ...(as && { Authorization: `Bearer ${tokens[as] ?? as}` }), ...(content !== undefined && { 'Content-Type': 'application/json' }), ...headers }, body: content,
    });
    const answer = await response.text();
    let json;
    try { json = JSON.parse(answer); } catch { json = undefined; }
    return { status: response.status, headers: response.headers, text: answer, json };
  };
  const peer = (as) => peerFor('http', gate, { capabilities: {}, ...(as && { headers: { Authorization: `Bearer ${tokens[as]}` } }) });
  return { home, env, tokens, gate, origin, api, peer, calls, server };
}

const pay = (peer, amount = 5) => peer.exchange('tools/call', { name: 'pay', arguments: { amount } }).then(({ json }) => json);
// These need a gate with sallyport.yaml or a lock file.
const FILED = ['createServer', 'updateServer', 'deleteServer', 'getServerSettings', 'listPins', 'acceptPins'];
const ROLES = { agent: null, boss: 'admin', approver: 'approver', viewer: 'viewer', manager: 'policy-manager' };

describe('the admin API', { concurrency: 3 }, () => {
  test('the OpenAPI document lists every operation, and every answer matches its schema', async (t) => {
    const { api, peer } = await world(t, { roles: ROLES });
    const agent = await peer('agent');
    await agent.exchange('tools/list');
    const { error } = await pay(agent);
    const { json: doc, status } = await api('GET', '/api/v1/openapi.json', { as: 'viewer' });
    assert.deepEqual([status, doc.openapi], [200, '3.1.0']);
    assert.deepEqual(doc, JSON.parse(readFileSync(join(root, 'schemas/openapi.json'), 'utf8')), 'schemas/openapi.json is up to date');
    const { schemas } = doc.components;
    const fits = (value, schema, where) => {
      if (schema.$ref) return fits(value, schemas[schema.$ref.split('/').at(-1)], where);
      if (Array.isArray(schema.type)) return;
      if (schema.enum) assert.ok(schema.enum.includes(value), `${where}: ${value}`);
      if (schema.type === 'array') { assert.ok(Array.isArray(value), where); value.forEach((item, i) => fits(item, schema.items, `${where}/${i}`)); }
      if (schema.type === 'string') assert.equal(typeof value, 'string', where);
      if (schema.type === 'integer') assert.ok(Number.isInteger(value), where);
      if (schema.type === 'boolean') assert.equal(typeof value, 'boolean', where);
      if (schema.type !== 'object') return;
      assert.ok(value && typeof value === 'object' && !Array.isArray(value), where);
      for (const key of schema.required ?? []) assert.ok(key in value, `${where} lacks ${key}`);
      if (!schema.properties) return;
      for (const [key, item] of Object.entries(value)) {
        if (schema.properties[key]) fits(item, schema.properties[key], `${where}/${key}`);
        else assert.ok(schema.additionalProperties, `${where} has ${key}, which the document does not know`);
      }
    };
    const asBoss = async (method, path, body) => (await api(method, `/api/v1/${path}`, { as: 'boss', body })).json;
    const [{ id: policyId }] = await asBoss('GET', 'policies');
    const fill = {
      policies: { '{id}': policyId, '{version}': '1' }, approvals: { '{id}': error.data.approval_id }, grants: { '{name}': 'viewer' },
      servers: { '{server}': 'upstream' }, audit: { '{seq}': '2' },
    };
    const bodies = {
      NewGrant: { name: 'fresh', roles: ['viewer'] }, PolicyText: { policy_text: '{"version":"1","default":"deny","tools":{}}' }, Note: { note: 'fine' }, Rotation: {},
      DryRun: { policy: POLICY, steps: [{ call: { name: 'gone', arguments: {} } }] }, NewStop: { scope: 'server', name: 'upstream' }, Revert: { version: 1 },
      PolicyEdits: { policy_text: 'version: "1" # first\n', edits: [{ path: ['tools', 'x', 'rules', '-'], value: { action: 'deny' } }] },
      Question: { policy_text: JSON.stringify(POLICY), tool: 'gone', arguments: {} }, ReplayQuestion: { policy_text: JSON.stringify(POLICY) },
      ToolCall: { server: 'upstream', tool: 'echo', arguments: { a: 1 } }, Decision: { note: 'fine' },
    };
    let seen = 0;
    // A saved policy ends approvals that were asked for under the one before: those first.
    const paths = Object.entries(doc.paths).sort(([one], [other]) => other.startsWith('/api/v1/approvals') - one.startsWith('/api/v1/approvals'));
    for (const [path, operations] of paths) {
      for (const [method, operation] of Object.entries(operations)) {
        if (['approvalCallback', 'streamAudit', 'deny', 'expire', 'signInByLink', 'beginSignIn', 'finishSignIn', 'getJob', 'cancelCall', ...FILED].includes(operation.operationId)) continue; // below, in console.test and in console-oidc.test
        if (operation.operationId === 'surveyServer') await asBoss('GET', 'servers/upstream/tools'); // it was restarted
        if (operation.operationId === 'resume') fill.stops = { '{id}': (await asBoss('GET', 'stops'))[0].id };
        const target = path.replace(/\{\w+\}/g, (part) => fill[path.split('/')[3]][part]) + (['getCatalogueServer', 'getCataloguePage'].includes(operation.operationId) ? `?name=${encodeURIComponent((await asBoss('GET', 'catalogue'))[0].name)}` : '');
        const schema = operation.requestBody?.content['application/json'].schema.$ref.split('/').at(-1);
        const answer = await api(method.toUpperCase(), target, { as: 'boss', body: bodies[schema], headers: method === 'put' ? { 'If-Match': '*' } : {} });
        const expected = Object.keys(operation.responses)[0];
        assert.equal(`${answer.status}`, expected, `${method} ${target}: ${answer.text}`);
        if (operation.operationId === 'exportAudit') continue; // no JSON
        fits(answer.json, operation.responses[expected].content['application/json'].schema, target);
        seen++;
        if (path === '/api/v1/openapi.json') continue;
        const unknown = await api(method.toUpperCase(), `${target.split('?')[0]}/no-such-thing/at-all`, { as: 'boss' });
        assert.equal(unknown.status, 404);
      }
    }
    assert.ok(seen >= 36, `${seen}`);
    const wrong = await api('PUT', '/api/v1/stops', { as: 'boss' });
    assert.deepEqual([wrong.status, wrong.headers.allow, typeof wrong.json.error], [405, 'GET, POST', 'string']);
  });

  test('the document is OpenAPI 3.1: its schemas are JSON Schema 2020-12, its references lead somewhere, its paths say what stands in them', async () => {
    const doc = JSON.parse(readFileSync(join(root, 'schemas/openapi.json'), 'utf8'));
    const { default: Ajv } = await load('ajv/dist/2020.js');
    const ajv = new Ajv({ strict: true, strictTypes: false, formats: { 'date-time': true } });
    ajv.addKeyword('components');
    ajv.addSchema({ $id: 'doc', components: doc.components }, 'doc');
    const defined = Object.keys(doc.components.schemas);
    for (const name of defined) assert.ok(ajv.compile({ $ref: `doc#/components/schemas/${name}` }), name);
    for (const [, name] of JSON.stringify(doc).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) assert.ok(defined.includes(name), name);
    assert.ok(doc.info.title && doc.info.version && doc.components.securitySchemes);
    const ids = new Set();
    for (const [path, operations] of Object.entries(doc.paths)) {
      assert.match(path, /^\/api\/v1\//);
      for (const [method, operation] of Object.entries(operations)) {
        assert.ok(['get', 'post', 'delete', 'put', 'patch'].includes(method) && !ids.has(operation.operationId), operation.operationId);
        ids.add(operation.operationId);
        const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
        assert.deepEqual(declared.map(({ name }) => name), wanted, path);
        for (const parameter of operation.parameters ?? []) assert.ok(parameter.schema && (parameter.in !== 'path' || parameter.required === true), `${path} ${parameter.name}`);
        for (const [status, { description, content }] of Object.entries(operation.responses)) {
          assert.ok(/^(\d{3}|4XX|default)$/.test(status) && typeof description === 'string', `${path} ${status}`);
          for (const { schema } of Object.values(content ?? {})) assert.ok(schema, `${path} ${status}`);
        }
      }
    }
    // What a gate is administered by, all of it.
    for (const id of ['listServers', 'listTools', 'listGrants', 'createGrant', 'rotateGrant', 'revokeGrant', 'listPolicies', 'validatePolicy', 'dryRunPolicy', 'listApprovals', 'approve', 'deny',
      'queryAudit', 'streamAudit', 'listSessions', 'listJobs', 'getStatus', 'savePolicy', 'revertPolicy', 'stop', 'resume', 'getOverview', 'callTool']) assert.ok(ids.has(id), id);
  });

  test('requests without a token are refused, and each role can do what the document says', async (t) => {
    const { api } = await world(t, { roles: ROLES });
    const { json: doc } = await api('GET', '/api/v1/openapi.json', { as: 'boss' });
    const names = { viewer: 'viewer', approver: 'approver', manager: 'policy-manager', boss: 'admin', agent: null };
    for (const [path, operations] of Object.entries(doc.paths)) {
      for (const [method, { 'x-roles': roles, security }] of Object.entries(operations)) {
        if (security) continue;
        const target = path.replace(/\{\w+\}/g, 'x');
        const ask = (as) => api(method.toUpperCase(), target, { as, ...(['post', 'put', 'patch'].includes(method) && { body: {} }) });
        const refused = await ask();
        assert.deepEqual([refused.status, typeof refused.json.error], [401, 'string'], `${method} ${path}`);
        assert.equal((await ask('sp_wrong')).status, 401);
        for (const [as, role] of Object.entries(names)) {
          if (path.endsWith('/stream') && roles.includes(role)) continue; // would not end
          const { status } = await ask(as);
          assert.equal(status === 403, !roles.includes(role), `${as} ${method} ${path}: ${status}`);
        }
      }
    }
  });

  test('a gate without authentication is read-only at the admin API', async (t) => {
    const { api, peer } = await world(t);
    const { error } = await pay(await peer());
    assert.equal((await api('GET', '/api/v1/approvals')).json[0].id, error.data.approval_id);
    assert.equal((await api('POST', `/api/v1/approvals/${error.data.approval_id}/approve`)).status, 403);
    assert.equal((await api('POST', '/api/v1/grants', { body: { name: 'mine', roles: ['approver'] } })).status, 403);
    const [{ id, hash }] = (await api('GET', '/api/v1/policies')).json;
    assert.equal((await api('PUT', `/api/v1/policies/${id}`, { body: { policy_text: 'version: "1"' }, headers: { 'If-Match': `"${hash}"` } })).status, 403, 'nor its own policy');
    for (const [path, body] of [['stops', { scope: 'all' }], ['playground', { server: 'upstream', tool: 'echo' }], [`policies/${id}/revert`, { version: 1 }]]) assert.equal((await api('POST', `/api/v1/${path}`, { body })).status, 403, path);
    assert.equal((await api('GET', '/api/v1/status', { headers: { Origin: 'https://evil.example' } })).status, 403);
    assert.equal((await api('GET', '/metrics', { headers: { Host: 'evil.example' } })).status, 403);
  });

  test('grants created, rotated and revoked over the API take effect immediately', async (t) => {
    const { api, peer, tokens } = await world(t, { roles: { boss: 'admin' } });
    const made = await api('POST', '/api/v1/grants', { as: 'boss', body: { name: 'new', label: 'of a test', servers: ['up*'], expires_in_seconds: 600 } });
    assert.equal(made.status, 201);
    assert.match(made.json.token, /^sp_/);
    tokens.new = made.json.token;
    const agent = await peer('new');
    assert.ok((await agent.exchange('tools/call', { name: 'echo', arguments: {} })).json.result);
    const listed = (await api('GET', '/api/v1/grants', { as: 'boss' })).json;
    assert.deepEqual(listed.map(({ name, token }) => [name, token]), [['boss', undefined], ['new', undefined]], 'tokens are shown once');
    const rotated = await api('POST', '/api/v1/grants/new/rotate', { as: 'boss', body: { grace_seconds: 0 } });
    assert.deepEqual([rotated.status, rotated.json.state, rotated.json.label], [200, 'active', 'of a test']);
    assert.equal((await api('GET', '/api/v1/status', { as: 'new' })).status, 401, 'the old token');
    tokens.new = rotated.json.token;
    assert.equal((await api('GET', '/api/v1/status', { as: 'new' })).status, 403, 'the new one is known, and has no role');
    assert.equal((await api('POST', '/api/v1/grants/nobody/rotate', { as: 'boss', body: {} })).status, 404);
    assert.equal((await api('POST', '/api/v1/grants/new/rotate', { as: 'boss', body: { grace_seconds: -1 } })).status, 400);
    assert.equal((await api('DELETE', '/api/v1/grants/new', { as: 'boss' })).status, 200);
    assert.equal((await api('POST', '/api/v1/grants/new/rotate', { as: 'boss', body: {} })).status, 409, 'what is revoked stays so');
    assert.equal((await api('GET', '/api/v1/status', { as: 'new' })).status, 401);
    for (const body of [{}, { name: 'x', roles: ['root'] }, { name: 'x', servers: 'all' }, { name: 'x', expires_in_seconds: '5' }, { name: 'x', expires_in_seconds: -5 }, { name: 'boss' }]) {
      assert.equal((await api('POST', '/api/v1/grants', { as: 'boss', body })).status, 400, JSON.stringify(body));
    }
  });

  test('a dry run of a policy calls no server and counts nothing', async (t) => {
    const { api, calls } = await world(t, { roles: { manager: 'policy-manager' } });
    const steps = [{ call: { name: 'pay', arguments: {} } }, { call: { name: 'gone', arguments: {} } }, { call: { name: 'echo', arguments: {} } }];
    const { json } = await api('POST', '/api/v1/policies/dry-run', { as: 'manager', body: { id: 7, policy: POLICY, steps } });
    assert.deepEqual([json.id, json.steps.map(({ verdict }) => verdict)], [7, ['approve', 'deny', 'allow']]);
    assert.deepEqual(calls, []);
    const bad = await api('POST', '/api/v1/policies/validate', { as: 'manager', body: { policy_text: 'version: "2"' } });
    assert.deepEqual([bad.status, bad.json.valid, bad.json.problems.length > 0], [200, false, true]);
    assert.equal((await api('POST', '/api/v1/policies/validate', { as: 'manager', body: '[1]' })).status, 400);
    assert.equal((await api('POST', '/api/v1/policies/validate', { as: 'manager', body: '{"a":1,"a":2}' })).status, 400);
    assert.equal((await api('POST', '/api/v1/policies/validate', { as: 'manager', body: '{}', headers: { 'Content-Type': 'text/plain' } })).status, 415);
  });

  test('a query with a parameter that is unknown, given twice or malformed is refused by name, and nothing is done', async (t) => {
    const { api } = await world(t, { roles: { boss: 'admin' } });
    const refused = async (method, path, body) => { const { status, json } = await api(method, `/api/v1/${path}`, { as: 'boss', body }); assert.equal(status, 400, path); return json.error; };
    for (const [path, says] of [
      ['audit?verdit=deny', 'unknown query parameter `verdit`, did you mean `verdict`?'],
      ['audit?somewhere=else', 'unknown query parameter `somewhere`'],
      ['audit?%3Cb%3E=1', 'unknown query parameter `<b>`'],
      ['audit?verdict=deny&tool=a&verdict=allow', 'the query parameter `verdict` is given more than once'],
      ['audit?verdict=deny&verd%69ct=deny', 'the query parameter `verdict` is given more than once'],
      ['audit?tool=%zz', 'the value of `tool` is not percent-encoded text'],
      ['audit?tool=%00', 'the value of `tool` is not percent-encoded text'],
      ['audit?verdict=alow', 'verdict must be allow, deny or approve'],
      ['audit?order=up', 'order must be newest or oldest'],
      ['audit/export?format=xml', 'format must be jsonl, csv or cef'],
      ['approvals?status=open', 'status must be pending, approved, denied, expired or used'],
      ['servers?limit=5&x', 'unknown query parameter `x`'],
      ['servers/upstream?limit=5', 'this request has no query parameters: remove `limit`'],
    ]) assert.equal(await refused('GET', path), says);
    for (const path of ['audit?', 'audit?&&', 'audit?tool=&limit=5', 'audit?v%65rdict=deny', 'approvals?status=pending']) assert.equal((await api('GET', `/api/v1/${path}`, { as: 'boss' })).status, 200, path);
    assert.equal(await refused('POST', 'stops?dry_run=1', { scope: 'all' }), 'this request has no query parameters: remove `dry_run`');
    assert.deepEqual((await api('GET', '/api/v1/stops', { as: 'boss' })).json, []);
  });

  test('the audit log can be queried and followed', async (t) => {
    const { api, peer, origin, tokens } = await world(t, { roles: { agent: null, viewer: 'viewer' } });
    const agent = await peer('agent');
    await agent.exchange('tools/call', { name: 'gone', arguments: {} });
    await agent.exchange('tools/call', { name: 'echo', arguments: {} });
    const denied = (await api('GET', '/api/v1/audit?verdict=deny&limit=5', { as: 'viewer' })).json;
    assert.deepEqual(denied.map(({ tool: name, identity }) => [name, identity]), [['gone', 'grant:agent']]);
    for (const query of ['limit=0', 'limit=x', 'since=yesterday']) assert.equal((await api('GET', `/api/v1/audit?${query}`, { as: 'viewer' })).status, 400);
    const outcome = await until('the outcome', async () => (await api('GET', '/api/v1/audit?tool=echo', { as: 'viewer' })).json[0]?.outcome);
    const part = await api('GET', `/api/v1/audit/${outcome.seq}`, { as: 'viewer' });
    assert.deepEqual([part.status, part.json.error], [404, `no decision or event has the number ${outcome.seq}; the outcome of a call is part of its decision`]);
    const stream = use(t, await request('GET', `${origin}/api/v1/audit/stream`, { headers: { Authorization: `Bearer ${tokens.viewer}` } }));
    assert.equal(stream.status, 200);
    assert.equal((await stream.event()).event, 'ready');
    await agent.exchange('tools/call', { name: 'echo', arguments: {} });
    const { event, data } = await stream.event();
    assert.deepEqual([event, JSON.parse(data).kind, JSON.parse(data).tool], ['record', 'decision', 'echo']);
  });
});

test('the console\'s files are compressed for programs that take gzip, and plain for others', async (t) => {
  const gate = use(t, await startServe({ config: { version: '1', code: { enabled: false }, servers: {} } }));
  const get = async (path, encodings) => {
    const answer = await request('GET', `${gate.origin}${path}`, { headers: { 'Accept-Encoding': encodings } });
    return { encoding: answer.headers['content-encoding'], text: await answer.text() };
  };
  const script = /"([\w/.-]+\.js)"/.exec((await get('/ui/')).text)[1];
  for (const path of ['/ui/', new URL(script, `${gate.origin}/ui/`).pathname]) {
    const plain = await get(path);
    for (const encodings of ['', 'identity', 'br', 'gzip;q=0', 'gzip; q=0.000, br']) {
      assert.deepEqual(await get(path, encodings), { encoding: undefined, text: plain.text }, encodings);
    }
    for (const encodings of ['gzip', 'br, GZIP;q=0.1', '*', 'deflate, gzip']) {
      const answer = await fetch(`${gate.origin}${path}`, { headers: { 'Accept-Encoding': encodings } });
      assert.deepEqual([answer.headers.get('content-encoding'), answer.headers.get('vary')], ['gzip', 'Accept-Encoding'], encodings);
      assert.equal(await answer.text(), plain.text);
    }
  }
});

describe('approvals at the API', { concurrency: 3 }, () => {
  test('only an approver can decide; neither the requester nor another role can', async (t) => {
    const { api, peer, calls } = await world(t, { roles: { ...ROLES, both: 'approver' } });
    const agent = await peer('agent');
    const { approval_id: id } = (await pay(agent)).error.data;
    for (const as of ['agent', 'viewer', 'manager']) assert.equal((await api('POST', `/api/v1/approvals/${id}/approve`, { as })).status, 403, as);
    const own = (await pay(await peer('both'), 9)).error.data.approval_id;
    const self = await api('POST', `/api/v1/approvals/${own}/approve`, { as: 'both' });
    assert.deepEqual([self.status, /another person/.test(self.json.error)], [403, true]);
    const done = await api('POST', `/api/v1/approvals/${id}/approve`, { as: 'approver', body: { note: 'ok' } });
    assert.deepEqual([done.status, done.json.status, done.json.decided_by, done.json.note], [200, 'approved', 'grant:approver', 'ok']);
    assert.equal((await api('POST', `/api/v1/approvals/${id}/approve`, { as: 'approver' })).status, 409);
    assert.ok((await pay(agent)).result);
    assert.equal((await api('GET', `/api/v1/approvals/${id}`, { as: 'viewer' })).json.status, 'used');
    assert.equal((await api('POST', '/api/v1/approvals/ap_none/deny', { as: 'approver' })).status, 404);
    assert.equal(calls.length, 1);
    const events = (await api('GET', '/api/v1/audit?event=approval_*', { as: 'viewer' })).json.map(({ event, identity }) => `${event} ${identity}`).reverse();
    assert.deepEqual(events, ['approval_requested grant:agent', 'approval_requested grant:both', 'approval_approved grant:approver', 'approval_used grant:agent']);
  });

  test('an approval for one agent is not valid for another', async (t) => {
    const { api, peer, calls } = await world(t, { roles: { one: null, other: null, approver: 'approver' } });
    const { approval_id: id } = (await pay(await peer('one'))).error.data;
    await api('POST', `/api/v1/approvals/${id}/approve`, { as: 'approver' });
    assert.ok((await pay(await peer('other'))).error.data.approval_id !== id);
    assert.deepEqual(calls, []);
  });

  test('a held call continues immediately after its approval', async (t) => {
    const { api, peer } = await world(t, { roles: { agent: null, approver: 'approver' }, args: ['--approvals', 'hold'] });
    const agent = await peer('agent');
    const answer = agent.exchange('tools/call', { name: 'pay', arguments: {}, _meta: { progressToken: 1 } });
    await agent.next((json) => json?.method === 'notifications/progress');
    const [{ id }] = (await api('GET', '/api/v1/approvals?status=pending', { as: 'approver' })).json;
    await api('POST', `/api/v1/approvals/${id}/approve`, { as: 'approver' });
    assert.ok((await answer).json.result);
  });
});

describe('by webhook and callback', { concurrency: 3 }, () => {
  const sign = (body, { secret = SECRET, at = Math.floor(Date.now() / 1000) } = {}) => ({
    'Sallyport-Timestamp': `${at}`, 'Sallyport-Signature': `v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`,
  });
  const signedRightly = ({ headers, body }) => sign(body, { at: headers['sallyport-timestamp'] })['Sallyport-Signature'] === headers['sallyport-signature'];

  async function hooked(t, answer = (n, reply) => reply.status(204)) {
    let tell;
    const told = new Promise((resolve) => { tell = resolve; });
    const hooks = [];
    const hook = use(t, await startUpstream((request, reply) => {
      hooks.push(request);
      const status = answer(hooks.length, reply);
      if (status !== 'again') tell(request);
    }, { path: '/hook' }));
    const args = ['--approval-webhook', hook.url, '--approval-secret-file', tempFile('secret', `${SECRET}\n`)];
    const w = await world(t, { args });
    const back = (fields, options, tamper = (body) => body) => {
      const body = JSON.stringify(fields);
      return w.api('POST', '/api/v1/approvals/callback', { body: tamper(body), headers: options?.unsigned ? {} : sign(body, options) });
    };
    return { ...w, hook, hooks, told, back, args };
  }

  test('a signed webhook is sent, its callback approves one call, and a second callback changes nothing', async (t) => {
    const { peer, told, back, calls, api } = await hooked(t);
    const agent = await peer();
    const { approval_id: id } = (await pay(agent)).error.data;
    const hook = await told;
    assert.ok(signedRightly(hook), 'the signature is over time and body');
    assert.equal(hook.json.type, 'approval.requested');
    assert.deepEqual([hook.json.approval.id, hook.json.approval.tool, hook.json.approval.arguments], [id, 'pay', { amount: 5 }]);
    const first = await back({ approval_id: id, decision: 'approve', by: 'carol', note: 'yes' });
    assert.deepEqual([first.status, first.json.status, first.json.decided_by], [200, 'approved', 'webhook:carol']);
    assert.equal((await back({ approval_id: id, decision: 'deny', by: 'carol' })).status, 409);
    assert.ok((await pay(agent)).result);
    assert.equal((await back({ approval_id: id, decision: 'approve', by: 'carol', note: 'yes' })).status, 409, 'replayed');
    assert.ok((await pay(agent)).error);
    assert.equal(calls.length, 1);
    assert.equal((await api('GET', `/api/v1/approvals/${id}`)).json.status, 'used');
  });

  test('a callback that is forged, modified, expired, unsigned or by the requester is refused', async (t) => {
    const { peer, told, back, calls, api } = await hooked(t);
    const agent = await peer();
    const { approval_id: id } = (await pay(agent)).error.data;
    const { identity } = (await told).json.approval;
    const fields = { approval_id: id, decision: 'approve', by: 'mallory' };
    const now = Math.floor(Date.now() / 1000);
    for (const options of [{ secret: 'another secret of some length' }, { at: now - 301 }, { at: now + 400 }, { at: '' }, { at: 'x' }, { at: '99999999999999999999' }, { unsigned: true }]) {
      assert.equal((await back(fields, options)).status, 401, JSON.stringify(options));
    }
    assert.equal((await back({ ...fields, decision: 'deny' }, {}, (body) => body.replace('deny', 'approve'))).status, 401);
    assert.equal((await back({ ...fields, by: identity })).status, 403);
    for (const wrong of [{ ...fields, decision: 'yes' }, { ...fields, by: '' }, { decision: 'approve', by: 'x' }]) assert.equal((await back(wrong)).status, 400);
    assert.equal((await back({ ...fields, approval_id: 'ap_none' })).status, 404);
    assert.equal((await api('GET', `/api/v1/approvals/${id}`)).json.status, 'pending');
    assert.deepEqual(calls, []);
  });

  test('a webhook is sent again after a failure of the receiver', async (t) => {
    const { peer, told, hooks } = await hooked(t, (n, reply) => {
      if (n === 1) { reply.drop(); return 'again'; }
      if (n === 2) { reply.status(500); return 'again'; }
      return reply.status(200);
    });
    await pay(await peer());
    assert.ok(signedRightly(await told));
    assert.equal(hooks.length, 3);
    assert.equal(new Set(hooks.map(({ json }) => json.approval.id)).size, 1);
  });

  test('a webhook that a killed gate did not deliver is delivered by the next gate', async (t) => {
    let down = true;
    const { peer, gate, told, hooks, args, env, server } = await hooked(t, (n, reply) => { reply.status(down ? 503 : 204); return down ? 'again' : 'told'; });
    const { approval_id: id } = (await pay(await peer())).error.data;
    await gate.child.waitLine(/webhook for .*: the receiver answered 503/, { stream: 'stderr' });
    await gate.child.stop({ signal: 'SIGKILL' });
    down = false;
    const next = use(t, await startGate({ upstream: server.url, policy: POLICY, env, args: ['--name', 'upstream', ...args] }));
    const hook = await told;
    assert.ok(signedRightly(hook) && hooks.length >= 2);
    assert.equal(hook.json.approval.id, id);
    const again = await pay(await peerFor('http', next, { capabilities: {} }));
    assert.equal(again.error.data.approval_id, id, 'the same call still waits for the same answer');
  });

  test('without a secret every callback is refused', async (t) => {
    const { api } = await world(t);
    const body = JSON.stringify({ approval_id: 'ap_x', decision: 'approve', by: 'x' });
    assert.equal((await api('POST', '/api/v1/approvals/callback', { body, headers: sign(body, { secret: '' }) })).status, 401);
  });
});

describe('/metrics', { concurrency: 3 }, () => {
  // The text format: name{labels} value; every sample belongs to a family with a type.
  function parse(page) {
    const types = {};
    const samples = new Map();
    for (const line of page.trim().split('\n')) {
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
      if (type) { assert.ok(!(type[1] in types), line); types[type[1]] = type[2]; continue; }
      if (line.startsWith('# HELP ')) continue;
      const sample = /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\]|\\["\\n])*",?)*\})? (\S+)$/.exec(line);
      assert.ok(sample, line);
      assert.ok(types[sample[1]] ?? types[sample[1].replace(/_(bucket|sum|count)$/, '')] === 'histogram', line);
      assert.ok(!samples.has(line.slice(0, line.lastIndexOf(' '))), `twice: ${line}`);
      samples.set(`${sample[1]}${sample[2] ?? ''}`, Number(sample[3]));
    }
    return samples;
  }

  test('counts what happened, by server, tool and verdict, with durations', async (t) => {
    const { api, peer } = await world(t);
    const agent = await peer();
    await agent.exchange('tools/list');
    for (let i = 0; i < 3; i++) await agent.exchange('tools/call', { name: 'echo', arguments: { i } });
    await agent.exchange('tools/call', { name: 'gone', arguments: {} });
    await pay(agent);
    const { status, headers, text: page } = await api('GET', '/metrics');
    assert.deepEqual([status, headers['content-type']], [200, 'text/plain; version=0.0.4; charset=utf-8']);
    const samples = parse(page);
    const of = (family, name, more) => samples.get(`sallyport_${family}{server="upstream",method="tools/call",tool="${name}"${more}}`);
    assert.equal(of('decisions_total', 'echo', ',verdict="allow"'), 3);
    assert.equal(of('decisions_total', 'gone', ',verdict="deny"'), 1);
    assert.equal(of('decisions_total', 'pay', ',verdict="approve"'), 1);
    const classes = [...samples].filter(([key]) => key.startsWith('sallyport_tool_decisions_total{class="'));
    assert.equal(classes.filter(([key]) => key.includes('verdict="approve"')).reduce((sum, [, value]) => sum + value, 0), 1);
    assert.equal(of('outcomes_total', 'echo', ',outcome="ok"'), 3);
    assert.equal(of('outcomes_total', 'pay', ',outcome="approval"'), 1);
    assert.equal(of('call_duration_seconds_bucket', 'echo', ',le="+Inf"'), 3);
    assert.equal(of('call_duration_seconds_count', 'echo', ''), 3);
    assert.ok(of('call_duration_seconds_sum', 'echo', '') > 0);
    assert.equal(samples.get('sallyport_approvals_pending'), 1);
    assert.equal(samples.get('sallyport_audit_up'), 1);
    assert.equal(samples.get('sallyport_server_tools{server="upstream"}'), 3);
    const buckets = [...samples].filter(([key]) => key.startsWith('sallyport_call_duration_seconds_bucket{') && key.includes('tool="echo"')).map(([, value]) => value);
    assert.deepEqual(buckets, [...buckets].sort((a, b) => a - b), 'buckets only grow');
  });

  test('names that clients make up do not make new series', async (t) => {
    const { api, peer } = await world(t);
    const agent = await peer();
    await agent.exchange('tools/list');
    for (let i = 0; i < 50; i++) await agent.exchange('tools/call', { name: `made "up" \\ ${i}`, arguments: {} });
    for (let i = 0; i < 5; i++) await agent.exchange(`made/up${i}`, {});
    const samples = parse((await api('GET', '/metrics')).text);
    const series = [...samples.keys()].filter((key) => key.startsWith('sallyport_decisions_total') && /made/.test(key));
    assert.deepEqual(series, []);
    assert.equal(samples.get('sallyport_decisions_total{server="upstream",method="tools/call",tool="(unlisted)",verdict="allow"}'), 50);
  });
});

describe('behind serve', { concurrency: 3 }, () => {
  const upstream = async (t, calls, name) => use(t, await startUpstream(legacyServer({
    tools: [tool('pay')], methods: { 'tools/call': ({ arguments: a }) => { calls.push([name, a]); return text(`${name} done`); } },
  })));

  test('approvals, metrics and servers of many, with the secret and the collector of the settings', async (t) => {
    const calls = [];
    const [bank, shop] = [await upstream(t, calls, 'bank'), await upstream(t, calls, 'shop')];
    let spanned;
    const span = new Promise((resolve) => { spanned = resolve; });
    const collector = use(t, await startUpstream((request, reply) => { spanned(request.json); reply.json({}); }, { path: '' }));
    const home = join(tempDir(), 'home');
    const env = { SALLYPORT_HOME: home, APPROVAL_SECRET: SECRET };
    const token = async (name, ...more) => JSON.parse((await cli(['grants', 'create', name, '--json', ...more], { env })).stdout).token;
    const [agent, approver] = [await token('agent'), await token('approver', '--role', 'approver')];
    const config = {
      version: '1', policy: tempFile('policy.yaml', JSON.stringify(POLICY)), servers: { bank: { url: bank.url }, shop: { url: shop.url } },
      approvals: { mode: 'retry', timeout: '10m', secret: '${APPROVAL_SECRET}' }, traces: { otlp: collector.url },
    };
    const gate = use(t, await startServe({ config, args: [], env }));
    const origin = new URL(gate.url).origin;
    const bearer = (value) => ({ Authorization: `Bearer ${value}` });
    const get = async (path, as) => (await request('GET', `${origin}${path}`, { headers: bearer(as) })).json();
    const peer = await peerFor('http', gate, { capabilities: {}, headers: bearer(agent) });
    const call = (name) => peer.exchange('tools/call', { name, arguments: { amount: 5 } }).then(({ json }) => json);

    const first = (await call('bank__pay')).error;
    assert.equal(first.code, -32003);
    const second = (await call('shop__pay')).error;
    assert.notEqual(second.data.approval_id, first.data.approval_id, 'the server is part of the call');
    const open = await get('/api/v1/approvals?status=pending', approver);
    assert.deepEqual(open.map(({ server, tool: name, identity }) => [server, name, identity]).sort(), [['bank', 'pay', 'grant:agent'], ['shop', 'pay', 'grant:agent']]);
    const decided = await request('POST', `${origin}/api/v1/approvals/${first.data.approval_id}/approve`, { headers: bearer(approver) });
    assert.equal(decided.status, 200);
    assert.equal((await call('bank__pay')).result.content[0].text, 'bank done');
    assert.equal((await call('shop__pay')).error.data.approval_id, second.data.approval_id);
    const body = JSON.stringify({ approval_id: second.data.approval_id, decision: 'approve', by: 'carol' });
    const at = `${Math.floor(Date.now() / 1000)}`;
    const signed = { 'Content-Type': 'application/json', 'Sallyport-Timestamp': at, 'Sallyport-Signature': `v1=${createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex')}` };
    assert.equal((await request('POST', `${origin}/api/v1/approvals/callback`, { headers: signed, body })).status, 200);
    assert.equal((await call('shop__pay')).result.content[0].text, 'shop done');
    assert.deepEqual(calls.map(([name]) => name), ['bank', 'shop']);

    assert.deepEqual((await get('/api/v1/servers', approver)).map(({ name }) => name).filter((name) => name !== 'code').sort(), ['bank', 'shop']);
    const page = await (await request('GET', `${origin}/metrics`)).text();
    assert.match(page, /sallyport_decisions_total\{server="bank",method="tools\/call",tool="pay",verdict="approve"\} 2/);
    assert.ok((await span).resourceSpans.length > 0);
  });
});
