// Requests and notifications from servers to clients, and the channels beside tools (attacks 17, 18, 19, 38, 39).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { cli, pair, tempDir } from '../lib/index.mjs';

const policy = {
  version: '1', tools: {},
  methods: {
    'roots/list': 'deny',
    'elicitation/create': { rules: [
      { name: 'no credentials', conditions: ['password', 'token', 'apiKey', 'otp'].map((field) => ({ path: `params.requestedSchema.properties.${field}`, op: 'exists', value: false })) },
      { name: 'known sites', conditions: [{ path: 'params.url', op: 'host', value: ['login.example.com'], on_missing: 'pass' }] },
    ] },
    'resources/read': { rules: [{ name: 'documents', conditions: [{ path: 'params.uri', op: 'starts_with', value: 'test://' }] }] },
    'prompts/*': 'deny',
    'notifications/message': { rules: [{ name: 'loud ones', conditions: [{ path: 'params.level', op: 'in', value: ['warning', 'error'] }] }] },
  },
};
const LEGACY = [['http', 'child'], ['http', 'http'], ['stdio', 'child'], ['sse', 'child']];

// The answer that the server gets, and whether the client was asked.
let number = 0;
async function asked(peer, params, answer = { result: {} }) {
  const id = `ask-${++number}`;
  await peer.send(peer.message('tools/call', { name: 'ask', arguments: params }, id));
  const answered = (json) => json && !json.method && json.id === id;
  const first = await peer.next((json) => json?.method === params.method || answered(json));
  if (answered(first)) return { reached: false, json: first };
  await peer.respond(first.id, answer);
  return { reached: true, json: await peer.next(answered) };
}

for (const [front, back] of LEGACY) {
  test(`${front} to ${back}: 17 sampling never reaches a client unless the policy names it`, async (t) => {
    const { peer } = await pair(t, front, back, { policy: { version: '1', tools: {} } });
    const { reached, json } = await asked(peer, { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } });
    assert.equal(reached, false);
    assert.ok(json.error || json.result?.isError || /error|denied|not/i.test(JSON.stringify(json.result)), JSON.stringify(json));
  });

  test(`${front} to ${back}: 18, 19 the policy decides which requests a server may send`, async (t) => {
    const { peer } = await pair(t, front, back, { policy });
    assert.equal((await asked(peer, { method: 'roots/list' })).reached, false, '19 roots');
    const form = (properties) => ({ method: 'elicitation/create', params: { message: 'Please', requestedSchema: { type: 'object', properties } } });
    for (const field of ['password', 'token', 'apiKey', 'otp']) assert.equal((await asked(peer, form({ [field]: { type: 'string' } }))).reached, false, field);
    assert.equal((await asked(peer, form({ colour: { type: 'string' } }), { result: { action: 'decline' } })).reached, true);
    const site = (url) => ({ method: 'elicitation/create', params: { mode: 'url', elicitationId: 'x', message: 'Log in', url } });
    for (const url of ['https://evil.example/login', 'https://login.example.com.evil.example/', 'https://login.example.com@evil.example/', 'http://127.0.0.1/']) assert.equal((await asked(peer, site(url))).reached, false, url);
    assert.equal((await asked(peer, site('https://login.example.com/x'), { result: { action: 'decline' } })).reached, true);
  });

  test(`${front} to ${back}: 17, 29 requests of servers count for limits and are recorded with shadow verdicts; dropped log messages are recorded, too`, async (t) => {
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const twice = [{ counter: 'c', kind: 'sliding', window: 'day', max: 2 }];
    const { peer } = await pair(t, front, back, { env, policy: {
      version: '1', tools: {}, methods: {
        'sampling/createMessage': { rules: [{ name: 'twice', limits: twice }, { name: 'short', mode: 'shadow', conditions: [{ path: 'params.maxTokens', op: 'lte', value: 1 }] }] },
        'notifications/message': { rules: [{ name: 'twice', limits: [{ ...twice[0], counter: 'd' }] }] },
      },
    } });
    const reached = [];
    for (let i = 0; i < 3; i++) reached.push((await asked(peer, { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } }, { error: { code: -1, message: 'no' } })).reached);
    assert.deepEqual(reached, [true, true, false], 'also when the client says no');
    const from = peer.received.length;
    for (let i = 0; i < 3; i++) await peer.call('log', { level: 'error', data: 'x' });
    assert.equal(peer.received.slice(from).filter(({ json }) => json?.method === 'notifications/message').length, 2);
    const records = async (method) => (await cli(['audit', 'query', '--json', '--method', method], { env })).stdout.trim().split('\n').map((line) => JSON.parse(line));
    const [last, , first] = await records('sampling/createMessage');
    assert.deepEqual([last.verdict, last.reason, last.pointer, last.args], ['deny', 'limit', '/methods/sampling~1createMessage/rules/0/limits/0', ['messages', 'maxTokens']]);
    assert.deepEqual([first.verdict, first.args_hash, first.shadow], ['allow', last.args_hash, [{ verdict: 'deny', rule: 'short', pointer: '/methods/sampling~1createMessage/rules/1' }]]);
    assert.match(last.args_hash, /^[0-9a-f]{64}$/);
    assert.deepEqual((await records('notifications/message')).map(({ verdict, rule }) => [verdict, rule]), [['deny', 'd']]);
  });

  test(`${front} to ${back}: 38 resources and prompts, 39 log messages`, async (t) => {
    const { peer } = await pair(t, front, back, { policy });
    for (const [method, params] of [
      ['resources/read', { uri: 'file:///etc/passwd' }], ['resources/read', { uri: 'TEST://x' }], ['resources/read', { uri: ' test://x' }], ['prompts/get', { name: 'x' }], ['prompts/list', {}],
    ]) assert.ok((await peer.exchange(method, params)).json.error, `${method} ${JSON.stringify(params)}`);
    const from = peer.received.length;
    await peer.call('log', { level: 'info', data: 'x'.repeat(1 << 20) });
    await peer.call('log', { level: 'error', data: 'heard' });
    const logs = peer.received.slice(from).map(({ json }) => json).filter((json) => json?.method === 'notifications/message').map(({ params }) => params.level);
    assert.deepEqual(logs, ['error']);
  });
}
