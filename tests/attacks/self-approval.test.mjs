// The agent that asked cannot approve: not by answering the question put to its own client, not by running the command line.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { asApprover, cli, legacyServer, ModernHttp, peerFor, request, sallyport, startGate, startServe, startUpstream, tempDir, tempFile, use } from '../lib/index.mjs';

const POLICY = { version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [], on_pending: 'Ask finance' }] } } };
const CAPABLE = { elicitation: {} };

async function server(t) {
  const calls = [];
  const upstream = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params) => { calls.push(params); return { content: [] }; } } })));
  return { calls, upstream };
}
const pay = (peer) => peer.exchange('tools/call', { name: 'pay', arguments: { amount: 5 } }).then(({ json }) => json);

async function wrapped(t, options = {}) {
  const { calls, upstream } = await server(t);
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const gate = use(t, await startGate({ upstream: upstream.url, policy: POLICY, env, ...options }));
  return { calls, env, gate };
}

describe('an answer of the agent\'s own client', { concurrency: 3 }, () => {
  for (const front of ['http', 'sse']) {
    test(`is not asked for over ${front} unless the settings say that a person uses that client`, async (t) => {
      const { calls, gate } = await wrapped(t, { transport: front });
      const { error } = await pay(await peerFor(front, gate, { capabilities: CAPABLE }));
      assert.equal(error.code, -32003);
      assert.deepEqual(calls, []);
    });
  }

  test('is accepted only for a grant with the role person', async (t) => {
    const { calls, upstream } = await server(t);
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const grant = async (name, ...role) => ({ headers: { Authorization: `Bearer ${(await cli(['grants', 'create', name, ...role], { env })).stdout.trim()}` } });
    const [agent, person] = [await grant('agent'), await grant('person', '--role', 'person')];
    const config = tempFile('sallyport.yaml', JSON.stringify({ version: '1', policy: tempFile('policy.json', JSON.stringify(POLICY)), servers: { shop: { url: upstream.url } } }));
    const gate = use(t, await startServe({ args: ['--config', config], env }));
    const call = (who) => new ModernHttp(gate.url, { ...who, capabilities: CAPABLE }).exchange('tools/call', { name: 'shop__pay', arguments: { amount: 5 } }).then(({ answer }) => answer);
    assert.equal((await call(agent)).error?.code, -32003);
    const asked = await call(person);
    assert.equal(asked.result?.resultType, 'input_required', JSON.stringify(asked));
    assert.deepEqual(calls, []);
  });

  test('with --approvals elicit and no person at the client, the call is refused', async (t) => {
    const { calls, gate } = await wrapped(t, { args: ['--approvals', 'elicit'] });
    const { result } = await pay(await peerFor('http', gate, { capabilities: CAPABLE }));
    assert.match(result.content[0].text, /needs approval, and no person at its client gave it/);
    assert.deepEqual(calls, []);
  });
});

describe('the command line', { concurrency: 3 }, () => {
  const waiting = async (t) => {
    const world = await wrapped(t);
    const peer = await peerFor('http', world.gate, { capabilities: {} });
    const { error } = await pay(peer);
    return { ...world, peer, error, id: error.data.approval_id };
  };

  test('the answer to the agent names no approve command', async (t) => {
    const { error, id } = await waiting(t);
    assert.ok(error.data.human_instructions.includes(id));
    assert.doesNotMatch(JSON.stringify(error), /sallyport approvals|approve ap_/);
  });

  test('approving without a second factor is refused with a list of the factors', async (t) => {
    const { calls, env, id, peer } = await waiting(t);
    const { code, stderr } = await cli(['approvals', 'approve', id], { env });
    assert.equal(code, 1);
    assert.match(stderr, /--code.*--token-file/s);
    assert.equal((await pay(peer)).error.code, -32003);
    assert.deepEqual(calls, []);
  });

  test('a wrong code, a code of another request and a token without the role approver are refused', async (t) => {
    const { env, id } = await waiting(t);
    const agent = tempFile('token', (await cli(['grants', 'create', 'agent'], { env })).stdout.trim());
    for (const factor of [['--code', '00000000'], ['--code', ''], ['--token-file', agent], ['--token-file', tempFile('none', 'sp_nothing')]]) {
      assert.equal((await cli(['approvals', 'approve', id, ...factor], { env })).code, 1, factor.join(' '));
    }
  });

  test('the console shows the code only to an approver', async (t) => {
    const { upstream } = await server(t);
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const token = async (name, role) => (await cli(['grants', 'create', name, ...(role ? ['--role', role] : [])], { env })).stdout.trim();
    const [agent, viewer, approver] = [await token('agent'), await token('viewer', 'viewer'), await token('approver', 'approver')];
    const config = tempFile('sallyport.yaml', JSON.stringify({ version: '1', policy: tempFile('policy.json', JSON.stringify(POLICY)), servers: { shop: { url: upstream.url } } }));
    const gate = use(t, await startServe({ args: ['--config', config], env }));
    const peer = await peerFor('http', gate, { headers: { Authorization: `Bearer ${agent}` }, capabilities: {} });
    const call = async () => (await peer.exchange('tools/call', { name: 'shop__pay', arguments: {} })).json;
    const id = (await call()).error.data.approval_id;
    const look = async (as) => JSON.parse(await (await request('GET', `${gate.origin}/api/v1/approvals/${id}`, { headers: { Authorization: `Bearer ${as}` } })).text());
    assert.equal((await look(viewer)).code, undefined);
    assert.equal((await cli(['approvals', 'show', id, '--json'], { env })).stdout.includes('"code"'), false, 'the command line does not show it');
    const { code } = await look(approver);
    assert.match(code, /^[0-9a-f]{8}$/);
    assert.equal((await cli(['approvals', 'approve', id, '--code', code], { env })).code, 0);
    assert.ok((await call()).result);
  });

  test('at a terminal the user confirms by typing the displayed word', async (t) => {
    const { env, id, peer } = await waiting(t);
    const child = spawn('script', ['-qec', `${sallyport} approvals approve ${id}`, '/dev/null'], { env: { ...process.env, ...env } });
    let shown = '';
    const status = new Promise((resolve) => { child.on('exit', resolve); });
    await new Promise((resolve) => child.stdout.on('data', (data) => {
      shown += data;
      const word = /type (\S{4}): $/.exec(shown);
      if (word) { child.stdin.write(`${word[1]}\n`); resolve(); }
    }));
    assert.equal(await status, 0, shown);
    assert.match(shown, /pay/);
    assert.ok((await pay(peer)).result);
  });

  test('a decision with an approver token is recorded under its name', async (t) => {
    const { env, id } = await waiting(t);
    const { stdout } = await cli(['approvals', 'approve', id, ...(await asApprover(env)), '--json'], { env });
    assert.equal(JSON.parse(stdout).decided_by, 'grant:the-approver');
  });
});
