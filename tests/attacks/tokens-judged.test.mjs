// The judged call is the call that is sent: a token in an argument is judged as the value that the server will get, and neither the
// agent, nor an approver, nor a record sees that value.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { approve, cli, legacyServer, startGate, startUpstream, tempDir, use } from '../lib/index.mjs';

const EVE = 'eve.mallory@evil.example', ANN = 'ann@corp.example', CARD = '4111111111111111';

// A server whose tool `find` says what it is asked to say, and whose other tools are remembered with what they got.
async function world(t, tools, { args = [] } = {}) {
  const calls = [], env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const upstream = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': ({ name, arguments: given }) => {
    if (name === 'find') return { content: [{ type: 'text', text: given.say }] };
    calls.push([name, given]);
    return { content: [{ type: 'text', text: 'done' }] };
  } } })));
  const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, policy: { version: '1', default: 'allow', tools }, args: ['--pii', 'tokenize', '--audit-args', 'full', ...args], env }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  const call = (name, given) => gate.rpc.exchange('tools/call', { name, arguments: given });
  const token = async (value) => /\[[A-Z_]+_[0-9A-HJKMNP-TV-Z]{8,13}\]/.exec((await call('find', { say: `found ${value} there` })).result.content[0].text)[0];
  // What is on record of everything but `find`, whose own arguments hold the value.
  const log = async () => (await cli(['audit', 'query', '--json', '--limit', '0'], { env })).stdout.split('\n').filter((line) => line && JSON.parse(line).tool !== 'find').join('\n');
  return { gate, calls, call, token, log, env };
}
const denied = ({ result }) => Boolean(result?.isError && result._meta?.['sallyport/denial']);
const rule = (condition, more = {}) => ({ rules: [{ name: 'r', conditions: [condition], ...more }] });

describe('conditions judge the value behind a token', { concurrency: 3 }, () => {
  for (const [name, condition, value, good] of [
    ['ends_with', { path: 'args.to', op: 'ends_with', value: '@corp.example' }, EVE, ANN],
    ['regex', { path: 'args.to', op: 'regex', value: '^[a-z]+@corp\\.example$' }, EVE, ANN],
    ['len_lte', { path: 'args.to', op: 'len_lte', value: ANN.length }, EVE, ANN],
    ['in', { path: 'args.to', op: 'in', value: [ANN] }, EVE, ANN],
  ]) {
    test(name, async (t) => {
      const { calls, call, token } = await world(t, { send: rule(condition) });
      assert.ok(denied(await call('send', { to: await token(value) })), 'the value is not allowed');
      assert.deepEqual(calls, []);
      assert.ok(!denied(await call('send', { to: await token(good) })));
      assert.deepEqual(calls, [['send', { to: good }]]);
    });
  }

  test('a deny rule matches the value behind a token', async (t) => {
    const { calls, call, token } = await world(t, { send: { deny_if: [{ name: 'no evil', conditions: [{ path: 'args.to', op: 'contains', value: 'evil' }] }] } });
    assert.ok(denied(await call('send', { to: await token(EVE) })));
    assert.deepEqual(calls, []);
  });

  test('a number behind a token counts as that number', async (t) => {
    const { calls, call, token } = await world(t, { pay: rule({ path: 'args.amount', op: 'lte', value: 100 }) });
    assert.ok(denied(await call('pay', { amount: await token(CARD) })));
    assert.deepEqual(calls, []);
  });
});

describe('approvers and audit records', { concurrency: 3 }, () => {
  test('an approver sees the token and its kind, but not the value', async (t) => {
    const { calls, call, token, log, env } = await world(t, { send: { approve_if: [{ conditions: [], on_pending: 'Ask' }] } }, { args: ['--approvals', 'retry'] });
    const eve = await token(EVE), ann = await token(ANN);
    const { error } = await call('send', { to: eve });
    assert.equal(error.code, -32003);
    const shown = (await cli(['approvals', 'show', error.data.approval_id, '--json'], { env })).stdout;
    assert.ok(shown.includes(eve) && shown.includes(`${eve} stands for ${EVE.length} characters`), shown);
    assert.ok(!shown.includes(EVE));
    assert.equal((await approve(error.data.approval_id, { env })).code, 0);
    assert.equal((await call('send', { to: ann })).error.code, -32003, 'another value is another call');
    assert.ok((await call('send', { to: eve })).result);
    assert.deepEqual(calls, [['send', { to: EVE }]]);
    assert.ok(!(await log()).includes(EVE), 'no record has the value');
  });

  test('a refused token is recorded as a denial, without the value', async (t) => {
    const { calls, call, token, log } = await world(t, { send: rule({ path: 'args.to', op: 'eq', value: ANN }) });
    const eve = await token(EVE);
    const answer = await call('send', { to: eve });
    assert.ok(denied(answer) && !JSON.stringify(answer).includes(EVE));
    assert.deepEqual(calls, []);
    const text = await log();
    assert.ok(!text.includes(EVE));
    assert.ok(text.split('\n').some((line) => JSON.parse(line).verdict === 'deny' && line.includes(eve)));
  });
});
