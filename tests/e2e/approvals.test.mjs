// Calls that wait for a person (docs/approvals.md): retried, held, or elicited at the client; decided from the command line; bound to
// exactly one call, valid for one execution, limited in time, and kept when the gate restarts.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { approve, asApprover, callTool, cli, connect, consoleWorld, gateCommand, legacyServer, peerFor, policyFile, startGate, startUpstream, tempDir, until, use } from '../lib/index.mjs';

const FRONTS = ['stdio', 'http', 'sse', 'modern-http'];
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const payTool = (description = 'Pays') => ({ name: 'pay', description, inputSchema: { type: 'object', properties: { amount: { type: 'number' } } } });
const asking = (more = {}) => ({ version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [], on_pending: 'Ask finance', ...more }] } } });
const PLAIN = { capabilities: {} };

// A gate before a server that counts what reaches it.
async function world(t, { front = 'http', policy = asking(), tools = [payTool()], args = [], home = join(tempDir(), 'home'), capabilities = {}, ...options } = {}) {
  const calls = [];
  const state = { tools };
  const server = use(t, await startUpstream(legacyServer({
    methods: { 'tools/list': () => ({ tools: state.tools }), 'tools/call': (params) => { calls.push(params); return text(`paid ${params.arguments?.amount}`); } },
  })));
  const policyPath = policyFile(policy);
  const start = async () => {
    const gate = use(t, await startGate({ transport: front.replace('modern-', ''), upstream: server.url, policyPath, args: ['--elicitation', 'trusted', ...args], env: { SALLYPORT_HOME: home }, ...options }));
    return { gate, peer: await peerFor(front, gate, { capabilities }) };
  };
  const approvals = async (...line) => {
    const env = { SALLYPORT_HOME: home }, factor = line[0] === 'approve' ? await asApprover(env) : [];
    const done = await cli(['approvals', ...line, ...factor, '--json'], { env });
    return { code: done.code, stderr: done.stderr, json: done.stdout && JSON.parse(done.stdout) };
  };
  // In order of time: two processes write their records independently.
  const audit = async () => (await cli(['audit', 'query', '--json', '--limit', '0'], { env: { SALLYPORT_HOME: home } })).stdout.trim().split('\n').map((line) => JSON.parse(line)).sort((a, b) => (a.time < b.time ? -1 : 1));
  return { ...(await start()), start, server, state, calls, policyPath, home, approvals, audit };
}

const pay = (peer, args = { amount: 5 }, more = {}) => peer.exchange('tools/call', { name: 'pay', arguments: args, ...more }).then(({ json }) => json);
const denial = ({ result }) => result?._meta?.['sallyport/denial'] && result.content[0].text;

test('--audit-hash needed: calls that wait for a person are hashed and bound to their arguments, others are not', async (t) => {
  const { peer, calls, approvals, audit } = await world(t, { args: ['--audit-hash', 'needed'], tools: [payTool(), { ...payTool(), name: 'look' }] });
  await peer.exchange('tools/call', { name: 'look', arguments: { amount: 1 } });
  const { approval_id: id } = (await pay(peer)).error.data;
  assert.equal((await approvals('approve', id)).code, 0);
  assert.notEqual((await pay(peer, { amount: 6 })).error.data.approval_id, id, 'other arguments are another call');
  assert.equal((await pay(peer)).result.content[0].text, 'paid 5');
  assert.deepEqual(calls.map(({ name }) => name), ['look', 'pay']);
  const decisions = (await audit()).filter(({ kind, tool }) => kind === 'decision' && tool);
  for (const { tool, args_hash: hash } of decisions) assert.match(hash ?? '', tool === 'pay' ? /^[0-9a-f]{64}$/ : /^$/);
  assert.deepEqual([...new Set(decisions.map(({ tool }) => tool))].sort(), ['look', 'pay']);
});

for (const front of FRONTS) {
  describe(`approval by retry, ${front}`, { concurrency: 2 }, () => {
    test('-32003 says how to continue; after approval the same call passes once and no other call passes', async (t) => {
      const { peer, calls, approvals, audit } = await world(t, { front });
      const first = (await pay(peer)).error;
      assert.equal(first.code, -32003);
      assert.equal(first.message, '[APPROVAL REQUIRED] Ask finance');
      assert.deepEqual(Object.keys(first.data), ['approval_id', 'expires_at', 'human_instructions']);
      const { approval_id: id, expires_at: until, human_instructions: how } = first.data;
      assert.match(id, /^ap_[\w-]{22}$/);
      assert.ok(Math.abs(Date.parse(until) - Date.now() - 1_800_000) < 60_000, until);
      assert.ok(how.includes(id));

      const again = (await pay(peer)).error;
      assert.equal(again.data.approval_id, id, 'the same call joins');
      const [open] = (await approvals('list')).json;
      assert.deepEqual([open.id, open.status, open.tool, open.arguments, open.asked, open.identity], [id, 'pending', 'pay', { amount: 5 }, 2, open.identity]);

      const done = await approvals('approve', id, '--note', 'fine');
      assert.deepEqual([done.code, done.json.status], [0, 'approved']);
      assert.equal(done.json.decided_by, 'grant:the-approver');
      const other = (await pay(peer, { amount: 6 })).error;
      assert.ok(other.data.approval_id !== id, 'other arguments are another call');
      assert.deepEqual(calls, []);
      assert.equal((await pay(peer, { amount: 5 })).result.content[0].text, 'paid 5');
      assert.ok((await pay(peer)).error.data.approval_id !== id, 'used up');
      assert.equal(calls.length, 1);

      const events = (await audit()).filter(({ kind, event }) => kind === 'event' && event.startsWith('approval_')).map(({ event, text: about, identity }) => [event, about.split(':')[0] === id && identity.split(':')[0]]);
      assert.deepEqual(events.filter(([, mine]) => mine), [['approval_requested', 'local'], ['approval_approved', 'grant'], ['approval_used', 'local']]);
      const made = (await audit()).filter(({ kind, outcome }) => kind === 'decision' && outcome);
      assert.equal(made.at(-1).verdict, 'approve');
      assert.ok(made.at(-1).text.startsWith('approved by grant:the-approver'), made.at(-1).text);
    });

    test('a denied request returns the reason to the agent until it expires', async (t) => {
      const { peer, calls, approvals } = await world(t, { front });
      const { approval_id: id } = (await pay(peer)).error.data;
      assert.equal((await approvals('deny', id, '--note', 'too much')).json.status, 'denied');
      for (let i = 0; i < 2; i++) assert.equal(denial(await pay(peer)), '[POLICY DENIED] A person denied this call: too much');
      assert.deepEqual(calls, []);
      const late = await approvals('approve', id);
      assert.deepEqual([late.code, /is not pending: it is denied/.test(late.stderr)], [1, true]);
    });
  });
}

describe('what an approval is bound to', { concurrency: 3 }, () => {
  test('to all values of the arguments, not to their spelling', async (t) => {
    const { peer, calls, approvals } = await world(t);
    const send = async (raw) => {
      const id = `x${Math.random()}`;
      await peer.send(`{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"pay","arguments":${raw}}}`);
      return peer.next((json) => json?.id === id);
    };
    const { approval_id: id } = (await send('{"amount":5,"to":"bob"}')).error.data;
    await approvals('approve', id);
    for (const other of ['{"amount":5,"to":"Bob"}', '{"amount":5}', '{"amount":5.0000000000000001,"to":"bob"}', '{"amount":"5","to":"bob"}', '{"amount":5,"to":"bob","x":null}', '{"amount":5,"to":"b\\u200bob"}']) {
      assert.ok((await send(other)).error.data.approval_id !== id, other);
    }
    assert.equal((await send('{ "to" : "\\u0062ob", "amount" : 5e0 }')).result.content[0].text, 'paid 5');
    assert.equal(calls.length, 1);
  });

  test('another policy or another definition of the tool needs a new approval', async (t) => {
    const { gate, peer, state, calls, approvals, policyPath } = await world(t);
    const first = (await pay(peer)).error.data.approval_id;
    await approvals('approve', first);
    writeFileSync(policyPath, JSON.stringify({ ...asking(), description: 'another text' }));
    await gate.child.waitLine(/policy reloaded/, { stream: 'stderr' });
    const second = (await pay(peer)).error.data.approval_id;
    assert.ok(second !== first);
    await approvals('approve', second);
    state.tools = [payTool('Pays twice')];
    await peer.exchange('tools/list');
    const third = (await pay(peer)).error.data.approval_id;
    assert.ok(third !== second && third !== first);
    await approvals('approve', third);
    assert.equal((await pay(peer)).result.content[0].text, 'paid 5');
    assert.equal(calls.length, 1);
  });

  test('a decision on a request that can no longer match is refused', async (t) => {
    const { gate, peer, state, calls, approvals, policyPath } = await world(t);
    const [pending, approved] = [(await pay(peer)).error.data.approval_id, (await pay(peer, { amount: 6 })).error.data.approval_id];
    assert.equal((await approvals('approve', approved)).code, 0);
    writeFileSync(policyPath, JSON.stringify({ ...asking(), description: 'another text' }));
    await gate.child.waitLine(/policy reloaded/, { stream: 'stderr' });
    for (const id of [pending, approved]) {
      const late = await approvals('approve', id);
      assert.deepEqual([late.code, /it is expired, because the policy or the tool has changed/.test(late.stderr)], [1, true], late.stderr);
    }
    const before = (await pay(peer)).error.data.approval_id;
    state.tools = [payTool('Pays twice')];
    await peer.exchange('tools/list');
    const after = (await pay(peer)).error.data.approval_id;
    assert.match((await approvals('approve', before)).stderr, /it is expired, because/);
    assert.equal((await approvals('approve', after)).code, 0);
    assert.equal((await pay(peer)).result.content[0].text, 'paid 5');
    assert.equal(calls.length, 1);
  });

  test('a request from before a restart with another policy is shown as stale and refused, by command line and API', async (t) => {
    const policy = (note) => `version: "1"\ndefault: allow\ndescription: ${note}\ntools: {refund: {approve_if: [{conditions: [], on_pending: Ask finance}]}}\n`;
    const tools = [{ name: 'refund', description: 'Refunds', inputSchema: { type: 'object' } }];
    const world = await consoleWorld(t, { policy: policy('one'), tools });
    const { approval_id: id } = (await callTool(await world.agent(), 'refund')).error.data;
    await world.gate.stop();
    writeFileSync(world.paths.policy, policy('two'));
    world.gate = await world.open();
    world.origin = world.gate.origin;
    const line = (...args) => cli(['approvals', ...args], { env: world.env });
    const [listed] = (await world.api('GET', 'approvals')).json;
    assert.deepEqual([listed.id, listed.status, listed.stale], [id, 'pending', 'The policy has changed since.']);
    const refused = await world.api('POST', `approvals/${id}/approve`, { as: 'approver' });
    assert.deepEqual([refused.status, refused.json.error], [409, 'stale: The policy has changed since. An approval would have no effect; the agent must ask again']);
    assert.match((await line('list')).stdout, /stale/);
    assert.equal(JSON.parse((await line('show', id, '--json')).stdout).stale, 'The policy has changed since.');
    const late = await line('approve', id, ...(await asApprover(world.env)));
    assert.deepEqual([late.code, /is stale: the policy has changed since, so an approval would have no effect; the agent must ask again/.test(late.stderr)], [1, true], late.stderr);
    assert.equal((await world.api('POST', `approvals/${id}/deny`, { as: 'approver' })).status, 200, 'denying it is possible');
    const peer = await world.agent(), { approval_id: fresh } = (await callTool(peer, 'refund')).error.data;
    assert.equal((await world.api('POST', `approvals/${fresh}/approve`, { as: 'approver' })).status, 200);
    assert.equal((await callTool(peer, 'refund')).result.content[0].text, 'refund done');
    assert.equal(world.calls.length, 1);
  });

  test('a waiting call is judged by the policy in force when it continues', async (t) => {
    const { gate, peer, calls, policyPath, approvals } = await world(t, { args: ['--approvals', 'hold'] });
    const waiting = pay(peer);
    const list = await until('a request', async () => { const { json } = await approvals('list'); return json.length && json; });
    writeFileSync(policyPath, JSON.stringify({ version: '1', default: 'deny' }));
    await gate.child.waitLine(/policy reloaded/, { stream: 'stderr' });
    assert.match(denial(await waiting), /not permitted by policy/);
    assert.equal((await approvals('approve', list[0].id)).code, 1);
    assert.equal(calls.length, 0);
  });

  test('another session of the same identity may use it, once', async (t) => {
    const { gate, peer, calls, approvals } = await world(t);
    const { approval_id: id } = (await pay(peer)).error.data;
    await approvals('approve', id);
    const others = await Promise.all([1, 2, 3].map(() => peerFor('http', gate, PLAIN)));
    const answers = await Promise.all(others.map((other) => pay(other)));
    assert.equal(answers.filter(({ result }) => result).length, 1);
    assert.equal(calls.length, 1);
  });

  test('limits are not used up by waiting, and still count afterwards', async (t) => {
    const policy = asking();
    policy.tools.pay.limits = [{ counter: 'c', window: 'day', max: 1, on_deny: 'One a day' }];
    const { peer, calls, approvals } = await world(t, { policy });
    const ids = [];
    for (const amount of [1, 2, 3]) ids.push((await pay(peer, { amount })).error.data.approval_id);
    for (const id of ids) assert.equal((await approvals('approve', id)).code, 0);
    assert.equal((await pay(peer, { amount: 2 })).result.content[0].text, 'paid 2');
    assert.equal(denial(await pay(peer, { amount: 1 })), '[POLICY DENIED] One a day');
    assert.equal((await approvals('show', ids[0])).json.status, 'approved', 'what a limit refuses uses up nothing');
    assert.equal(calls.length, 1);
  });

  test('methods other than tools/call can need approval, too', async (t) => {
    const policy = { version: '1', default: 'allow', methods: { 'resources/read': { approve_if: [{ conditions: [{ path: 'params.uri', op: 'contains', value: 'secret' }] }] } } };
    const reads = [];
    const server = use(t, await startUpstream(legacyServer({ methods: { 'resources/read': ({ uri }) => { reads.push(uri); return { contents: [] }; } } })));
    const home = join(tempDir(), 'home');
    const gate = use(t, await startGate({ upstream: server.url, policy, env: { SALLYPORT_HOME: home } }));
    const peer = await peerFor('http', gate, PLAIN);
    const read = (uri, meta) => peer.exchange('resources/read', { uri, _meta: meta }).then(({ json }) => json);
    const { error } = await read('file:///secret', { progressToken: 1 });
    assert.equal(error.code, -32003);
    assert.equal((await approve(error.data.approval_id, { env: { SALLYPORT_HOME: home } })).code, 0);
    assert.ok((await read('file:///secret/2')).error.data.approval_id !== error.data.approval_id);
    assert.ok((await read('file:///secret', { progressToken: 2 })).result);
    assert.deepEqual(reads, ['file:///secret']);
  });
});

describe('expiry and restarts', { concurrency: 3 }, () => {
  test('a restart, and a kill -9, between question, decision and use lose nothing', async (t) => {
    const w = await world(t);
    const { approval_id: id } = (await pay(w.peer)).error.data;
    process.kill(w.gate.pid, 'SIGKILL');
    await w.gate.child.wait();
    await w.approvals('approve', id);
    const second = await w.start();
    assert.ok((await pay(second.peer, { amount: 6 })).error);
    await second.gate.stop();
    const third = await w.start();
    assert.equal((await pay(third.peer)).result.content[0].text, 'paid 5');
    process.kill(third.gate.pid, 'SIGKILL');
    await third.gate.child.wait();
    const fourth = await w.start();
    assert.equal((await pay(fourth.peer)).error.code, -32003, 'used once is used');
    assert.equal(w.calls.length, 1);
    assert.equal((await cli(['audit', 'verify'], { env: { SALLYPORT_HOME: w.home } })).code, 0);
  });

  test('a request that is expired by hand does not pass, approved or not', async (t) => {
    const { peer, calls, approvals } = await world(t);
    const { approval_id: id } = (await pay(peer)).error.data;
    await approvals('approve', id);
    assert.equal((await approvals('expire', id)).json.status, 'expired');
    assert.ok((await pay(peer)).error.data.approval_id !== id);
    assert.deepEqual(calls, []);
    assert.equal((await approvals('approve', id)).code, 1);
  });

  test('an approval after the time-out is refused', async (t) => {
    const { peer, calls, approvals, audit } = await world(t, { policy: asking({ timeout: '1ms' }) });
    const { approval_id: id } = (await pay(peer)).error.data;
    const late = await approvals('approve', id);
    assert.deepEqual([late.code, /it is expired/.test(late.stderr)], [1, true]);
    assert.ok((await pay(peer)).error.data.approval_id !== id);
    assert.deepEqual(calls, []);
  });

  test('only the approvers that the policy names can decide', async (t) => {
    const { peer, approvals } = await world(t, { policy: asking({ approvers: ['nobody-here'] }), capabilities: { elicitation: {} } });
    const { approval_id: id } = (await pay(peer)).error.data;
    const tried = await approvals('approve', id);
    assert.deepEqual([tried.code, /can be decided only by \["nobody-here"\]/.test(tried.stderr)], [1, true]);
  });
});

for (const front of ['stdio', 'http', 'sse', 'modern-http']) {
  describe(`approval by holding the call, ${front}`, { concurrency: 2 }, () => {
    const args = ['--approvals', 'hold'];
    const waits = (peer, token) => peer.next((json) => json?.method === 'notifications/progress' && json.params.progressToken === token);

    test('the call waits with progress and continues when a person approves it', async (t) => {
      const { peer, calls, approvals } = await world(t, { front, args });
      const answer = pay(peer, { amount: 5 }, { _meta: { progressToken: 'tok' } });
      const progress = await waits(peer, 'tok');
      const [{ id }] = (await approvals('list')).json;
      assert.ok(progress.params.progress >= 1 && progress.params.message.includes(id));
      assert.deepEqual(calls, []);
      await approvals('approve', id);
      assert.equal((await answer).result.content[0].text, 'paid 5');
      assert.equal(calls.length, 1);
    });

    test('one approval covers one call: of two waiting calls, the other keeps waiting', async (t) => {
      const { peer, calls, approvals } = await world(t, { front, args });
      const both = [pay(peer, { amount: 5 }, { _meta: { progressToken: 'a' } }), pay(peer, { amount: 5 }, { _meta: { progressToken: 'b' } })];
      await Promise.all([waits(peer, 'a'), waits(peer, 'b')]);
      const [first, ...none] = (await approvals('list')).json;
      assert.deepEqual(none, [], 'they wait for the same');
      await approvals('approve', first.id);
      const { result } = await Promise.race(both);
      assert.equal(result.content[0].text, 'paid 5');
      const [second] = (await approvals('list')).json;
      assert.ok(second.id !== first.id && second.status === 'pending');
      await approvals('deny', second.id);
      const answers = await Promise.all(both);
      assert.equal(answers.filter(denial).length, 1);
      assert.equal(calls.length, 1);
    });

    test('a call without a decision is refused after the time-out', async (t) => {
      const { peer, calls } = await world(t, { front, args, policy: asking({ timeout: '1ms' }) });
      assert.equal(denial(await pay(peer)), '[POLICY DENIED] No approver decided on this call in time');
      assert.deepEqual(calls, []);
    });
  });
}

describe('approval by eliciting at the client', { concurrency: 2 }, () => {
  const SDKS = [['v1', undefined], ['v2', 'legacy'], ['v2', { pin: '2026-07-28' }]];
  const name = ([version, negotiation]) => `SDK ${version}${negotiation ? ` ${JSON.stringify(negotiation)}` : ''}`;

  // Good enough for clients of both eras.
  const lasting = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const bothEras = {
    'server/discover': () => ({ ...lasting, supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1' } } }),
    'tools/list': () => ({ ...lasting, tools: [payTool()] }),
    'tools/call': ({ arguments: { amount } }) => ({ resultType: 'complete', ...text(`paid ${amount}`) }),
  };

  async function sdkWorld(t, [version, negotiation], answer, { transport = 'http', ...options } = {}) {
    const asked = [];
    const server = use(t, await startUpstream(legacyServer({ methods: bothEras })));
    const home = join(tempDir(), 'home');
    const handlers = { 'elicitation/create': (request) => { asked.push(request.params ?? request); return answer(request); } };
    const gateOptions = { upstream: server.url, policy: asking(), args: ['--elicitation', 'trusted'], env: { SALLYPORT_HOME: home }, ...options };
    let target;
    if (transport === 'stdio') {
      const [command, args, env] = gateCommand(gateOptions);
      target = { command, args, env };
    } else {
      target = { url: use(t, await startGate(gateOptions)).url };
    }
    const client = use(t, await connect(version, target, { negotiation, handlers }));
    return { client, asked, home, server, calls: () => server.messages().filter(({ method }) => method === 'tools/call') };
  }

  for (const sdk of SDKS) {
    for (const transport of ['http', 'stdio']) {
      test(`${name(sdk)} over ${transport}: the user accepts, and the approval is valid once`, async (t) => {
        const { client, asked, home, calls } = await sdkWorld(t, sdk, () => ({ action: 'accept', content: { decision: 'approve' } }), { transport });
        for (const amount of [5, 5]) assert.equal((await client.call('pay', { amount })).content[0].text, 'paid 5');
        assert.equal(asked.length, 2, 'each call is asked for');
        assert.match(asked[0].message, /Ask finance/);
        assert.match(asked[0].message, /"amount":5/);
        assert.equal(calls().length, 2);
        for (const { params } of calls()) assert.ok(!('requestState' in params) && !('inputResponses' in params), 'the server does not see them');
        const log = (await cli(['audit', 'query', '--json', '--text', 'approval_approved'], { env: { SALLYPORT_HOME: home } })).stdout;
        assert.match(JSON.parse(log.split('\n')[0]).identity, /^elicitation:local/);
      });
    }

    test(`${name(sdk)}: every form of refusal denies the call`, async (t) => {
      const answers = [{ action: 'decline' }, { action: 'accept', content: { decision: 'deny' } }];
      const { client, calls } = await sdkWorld(t, sdk, () => answers.shift());
      for (const amount of [1, 2]) {
        const { isError, content } = await client.call('pay', { amount });
        assert.deepEqual([isError, content[0].text], [true, '[POLICY DENIED] A person denied this call']);
      }
      assert.deepEqual(calls(), []);
    });

    test(`${name(sdk)}: after the user dismisses the dialog, others can still decide`, async (t) => {
      const { client, calls, home } = await sdkWorld(t, sdk, () => ({ action: 'cancel' }));
      const error = await client.call('pay', { amount: 5 }).then(() => assert.fail('passed'), (e) => e);
      assert.equal(error.code, -32003);
      const { approval_id: id } = error.data;
      assert.equal((await approve(id, { env: { SALLYPORT_HOME: home } })).code, 0);
      assert.equal((await client.call('pay', { amount: 5 })).content[0].text, 'paid 5');
      assert.equal(calls().length, 1);
    });

    test(`${name(sdk)}: with --approvals retry the client is not asked`, async (t) => {
      const { client, asked } = await sdkWorld(t, sdk, () => ({ action: 'accept', content: { decision: 'approve' } }), { args: ['--approvals', 'retry'] });
      const error = await client.call('pay', { amount: 5 }).then(() => assert.fail('passed'), (e) => e);
      assert.equal(error.code, -32003);
      assert.deepEqual(asked, []);
    });
  }

  test('a decision elsewhere cancels the elicitation and the call continues', async (t) => {
    const { peer, calls, approvals } = await world(t, { capabilities: { elicitation: {} } });
    const answer = pay(peer);
    const question = await peer.next((json) => json?.method === 'elicitation/create');
    const [{ id }] = (await approvals('list')).json;
    await approvals('approve', id);
    const taken = await peer.next((json) => json?.method === 'notifications/cancelled');
    assert.equal(taken.params.requestId, question.id);
    assert.equal((await answer).result.content[0].text, 'paid 5');
    await peer.respond(question.id, { result: { action: 'decline' } });
    assert.equal(calls.length, 1, 'an answer to a question that was taken back changes nothing');
    assert.equal((await approvals('show', id)).json.status, 'used');
  });

  test('with --approvals elicit a client without elicitation is refused', async (t) => {
    const { peer, calls, approvals } = await world(t, { args: ['--approvals', 'elicit'] });
    assert.match(denial(await pay(peer)), /no person at its client gave it/);
    assert.deepEqual((await approvals('list')).json, []);
    assert.deepEqual(calls, []);
  });

  test('accepting without a choice approves nothing', async (t) => {
    const { peer, calls } = await world(t, { capabilities: { elicitation: {} } });
    for (const [amount, content] of [[1, {}], [2, { decision: true }], [3, undefined], [4, { decision: 'Approve' }]]) {
      const answer = pay(peer, { amount });
      const { id } = await peer.next((json) => json?.method === 'elicitation/create');
      await peer.respond(id, { result: { action: 'accept', content } });
      assert.ok(!(await answer).result?.content || denial(await answer), JSON.stringify(content));
    }
    assert.deepEqual(calls, []);
  });
});
