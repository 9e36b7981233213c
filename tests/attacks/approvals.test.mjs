// What the APPROVE step must reject: forged answers, forged states, replays, and arguments swapped after
// the approval.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { approve, cli, legacyServer, ModernHttp, peerFor, startGate, startUpstream, tempDir, use } from '../lib/index.mjs';

const POLICY = { version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [] }] } } };
const CAPABLE = { elicitation: {} };

async function world(t) {
  const calls = [];
  const server = use(t, await startUpstream(legacyServer({
    tools: [{ name: 'pay', description: 'Pays', inputSchema: { type: 'object' } }],
    methods: { 'tools/call': (params) => { calls.push(params); return { resultType: 'complete', content: [{ type: 'text', text: 'paid' }] }; } },
  })));
  const home = join(tempDir(), 'home');
  const gate = use(t, await startGate({ upstream: server.url, policy: POLICY, args: ['--elicitation', 'trusted'], env: { SALLYPORT_HOME: home } }));
  const http = new ModernHttp(gate.url, { capabilities: CAPABLE });
  const send = async (params) => (await http.send('tools/call', { name: 'pay', arguments: { amount: 5 }, ...params })).json();
  return { calls, gate, home, send };
}

const yes = { sallyport_approval: { action: 'accept', content: { decision: 'approve' } } };

describe('approvals of the modern era', { concurrency: 3 }, () => {
  test('an approval answer is valid once; sending it again asks for a new approval', async (t) => {
    const { send, calls } = await world(t);
    const { result } = await send();
    assert.equal(result.resultType, 'input_required');
    const { requestState } = result;
    assert.equal((await send({ requestState, inputResponses: yes })).result.content[0].text, 'paid');
    assert.ok(!('requestState' in calls[0]) && !('inputResponses' in calls[0]), 'what was for the gate stays at the gate');
    const replayed = await send({ requestState, inputResponses: yes });
    assert.equal(replayed.result.resultType, 'input_required');
    assert.notEqual(replayed.result.requestState, requestState);
    assert.equal(calls.length, 1);
  });

  test('36 an answer without a request, for another call, with other arguments or with a modified state is not accepted', async (t) => {
    const { send, calls } = await world(t);
    const { requestState } = (await send()).result;
    const flipped = requestState.slice(0, -1) + (requestState.endsWith('0') ? '1' : '0');
    const [mark, id, seal] = requestState.split('.');
    const bad = [flipped, `${mark}.${id}`, `${mark}.${id}.`, `${mark}.ap_${'x'.repeat(22)}.${seal}`, `${mark}..${seal}`, `${mark}.`, `${mark}.${id}.${seal}x`];
    for (const state of bad) assert.equal((await send({ requestState: state, inputResponses: yes })).error?.code, -32602, state);
    assert.equal((await send({ arguments: { amount: 6 }, requestState, inputResponses: yes })).error.code, -32602, 'swapped arguments');
    assert.equal((await send({ name: 'pay2', requestState, inputResponses: yes })).result?.content?.[0].text, 'paid', 'no approval needed there');
    for (const more of [{ inputResponses: yes }, { inputResponses: yes, requestState: 'of the server' }, { inputResponses: yes, requestState: 5 }]) {
      assert.equal((await send(more)).result.resultType, 'input_required', JSON.stringify(more));
    }
    assert.deepEqual(calls.filter(({ name }) => name === 'pay'), []);
  });

  test('a request state of another gate is not accepted', async (t) => {
    const one = await world(t);
    const other = await world(t);
    const { requestState } = (await one.send()).result;
    assert.equal((await other.send({ requestState, inputResponses: yes })).error.code, -32602);
    assert.deepEqual(other.calls, []);
  });

  test('only an explicit yes approves the call', async (t) => {
    const { send, calls } = await world(t);
    const answers = [{ action: 'cancel' }, { action: 'accept' }, { action: 'accept', content: {} }, {}, [], 'approve', null, { action: 'ACCEPT', content: { decision: 'approve' } }];
    for (const answer of answers) {
      const { requestState } = (await send()).result;
      const { error } = await send({ requestState, inputResponses: { sallyport_approval: answer } });
      assert.equal(error?.code, -32003, JSON.stringify(answer));
    }
    assert.deepEqual(calls, []);
  });
});

// The server asks for input during the call. The approval covers this call until its end, and no other call.
describe('an approved call whose server asks for input', { concurrency: 3 }, () => {
  const lasting = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const question = { method: 'elicitation/create', params: { mode: 'form', message: 'Which account?', requestedSchema: { type: 'object', properties: { account: { type: 'string' } } } } };
  const account = { account: { action: 'accept', content: { account: 'savings' } } };

  async function asking(t) {
    const done = [];
    const methods = {
      'server/discover': () => ({ ...lasting, supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1' } } }),
      'tools/list': () => ({ ...lasting, tools: [{ name: 'pay', description: 'Pays', inputSchema: { type: 'object' } }] }),
      'tools/call': ({ arguments: args, inputResponses, requestState }) => {
        if (!inputResponses) return { resultType: 'input_required', inputRequests: { account: question }, requestState: 'first' };
        if (requestState === 'first') return { resultType: 'input_required', inputRequests: { account: question }, requestState: 'second' };
        done.push(args);
        return { resultType: 'complete', content: [{ type: 'text', text: `paid from ${inputResponses.account.content.account}` }] };
      },
    };
    const server = use(t, await startUpstream(legacyServer({ methods })));
    const gate = use(t, await startGate({ upstream: server.url, policy: POLICY, args: ['--elicitation', 'trusted'], env: { SALLYPORT_HOME: join(tempDir(), 'home') } }));
    const http = new ModernHttp(gate.url, { capabilities: CAPABLE });
    const send = async (params) => (await http.send('tools/call', { name: 'pay', arguments: { amount: 5 }, ...params })).json();
    const approved = async () => send({ requestState: (await send()).result.requestState, inputResponses: yes });
    const isOurs = ({ result }) => 'sallyport_approval' in result.inputRequests;
    return { send, approved, done, isOurs };
  }

  test('every answer to the server is covered by the same approval', async (t) => {
    const { send, approved, done } = await asking(t);
    assert.equal((await approved()).result.requestState, 'first');
    assert.equal((await send({ requestState: 'first', inputResponses: account })).result.requestState, 'second');
    assert.equal((await send({ requestState: 'second', inputResponses: account })).result.content[0].text, 'paid from savings');
    assert.equal(done.length, 1);
  });

  test('each answer is valid once; another call, another state or a missing approval asks for a new approval', async (t) => {
    const { send, approved, done, isOurs } = await asking(t);
    assert.ok(isOurs(await send({ requestState: 'first', inputResponses: account })), 'nothing was approved');
    await approved();
    assert.ok(isOurs(await send({ requestState: 'second', inputResponses: account })), 'a state that has not been given yet');
    assert.ok(isOurs(await send({ arguments: { amount: 6 }, requestState: 'first', inputResponses: account })), 'other arguments');
    assert.ok(isOurs(await send()), 'the call from its beginning');
    assert.equal((await send({ requestState: 'first', inputResponses: account })).result.requestState, 'second');
    assert.ok(isOurs(await send({ requestState: 'first', inputResponses: account })), 'the same answer again');
    assert.ok((await send({ requestState: 'second', inputResponses: account })).result.content);
    assert.ok(isOurs(await send({ requestState: 'second', inputResponses: account })), 'once more');
    assert.equal(done.length, 1);
  });

  test('an approved call continues after a legacy server elicits input', async (t) => {
    let said;
    const serve = legacyServer({ tools: [{ name: 'pay', description: 'Pays', inputSchema: { type: 'object' } }], methods: {
      'tools/call': async (_, { message, reply }) => {
        const stream = reply.sse();
        const answer = new Promise((resolve) => { said = resolve; });
        stream.send({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } } });
        stream.send({ jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text: JSON.stringify(await answer) }] } });
        stream.end();
      } } });
    const server = use(t, await startUpstream((request, reply) => {
      if (request.json?.id !== 'q') return serve(request, reply);
      said(request.json.result);
      return reply.status(202);
    }));
    const gate = use(t, await startGate({ upstream: server.url, policy: POLICY, args: ['--elicitation', 'trusted'], env: { SALLYPORT_HOME: join(tempDir(), 'home') } }));
    const http = new ModernHttp(gate.url, { capabilities: CAPABLE });
    const send = async (params) => (await http.send('tools/call', { name: 'pay', arguments: {}, ...params })).json();
    const { result } = await send({ requestState: (await send()).result.requestState, inputResponses: yes });
    const [key] = Object.keys(result.inputRequests);
    assert.equal(result.inputRequests[key].params.message, 'Which?');
    const answer = { requestState: result.requestState, inputResponses: { [key]: { action: 'decline' } } };
    assert.match((await send(answer)).result.content[0].text, /decline/);
    assert.ok('sallyport_approval' in (await send(answer)).result.inputRequests);
  });
});

describe('approvals of the legacy era', { concurrency: 3 }, () => {
  test('only the session that was asked can answer', async (t) => {
    const { gate, calls } = await world(t);
    const asked = await peerFor('http', gate, { capabilities: CAPABLE });
    const other = await peerFor('http', gate, { capabilities: CAPABLE });
    const answer = asked.exchange('tools/call', { name: 'pay', arguments: {} });
    const { id } = await asked.next((json) => json?.method === 'elicitation/create');
    await other.respond(id, { result: yes.sallyport_approval });
    await other.respond(`${id}`, { result: yes.sallyport_approval });
    assert.deepEqual(calls, []);
    await asked.respond(id, { result: { action: 'decline' } });
    assert.ok((await answer).json.result.isError);
    await asked.respond(id, { result: yes.sallyport_approval });
    assert.deepEqual(calls, []);
  });

  test('a call whose client disconnected never runs, even when it is approved later', async (t) => {
    const { gate, calls, home } = await world(t);
    const peer = await peerFor('http', gate, { capabilities: CAPABLE });
    peer.exchange('tools/call', { name: 'pay', arguments: {} }).catch(() => {});
    await peer.next((json) => json?.method === 'elicitation/create');
    await peer.end();
    const env = { SALLYPORT_HOME: home };
    const [{ id }] = JSON.parse((await cli(['approvals', 'list', '--json'], { env })).stdout);
    await approve(id, { env });
    const again = await peerFor('http', gate, { capabilities: {} });
    assert.ok((await again.exchange('tools/call', { name: 'pay', arguments: {} })).json.result);
    assert.equal(calls.length, 1, 'the one that was made again');
  });
});
