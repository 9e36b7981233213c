// One day of a gate with eight real servers and three agents, each with a grant: SDK v1, SDK v2 and Inspector. Calls that need a person
// are approved at the client, from the command line and by webhook; a server is killed; the settings change; a grant is revoked.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { approve,
  Inbox, cli, commandLine, connect, descendants, eightServers, load, node, packages, policyFile, request, run, startServe, startUpstream, tempDir, tempFile, until,
} from '../lib/index.mjs';

const SECRET = 'what the receiver and the gate know';
const files = tempDir();
const servers = eightServers(files);
const prefixes = (tools) => [...new Set(tools.map(({ name }) => name.split('__')[0]))].sort();

describe('eight servers, three agents', { concurrency: 1 }, () => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const told = new Inbox();
  const changes = new Inbox();
  const tokens = {};
  let gate, hook, config, ann, ben;

  before(async () => {
    for (const name of ['ann', 'ben', 'cay']) tokens[name] = (await cli(['grants', 'create', name, ...(name === 'ann' ? ['--role', 'person'] : [])], { env })).stdout.trim();
    hook = await startUpstream((req, reply) => { told.push({ headers: req.headers, body: req.body, approval: req.json.approval }); reply.json({}); });
    const policy = policyFile({ version: '1', default: 'allow', tools: { 'get-sum': { approve_if: [{ conditions: [], on_pending: 'A person has to look' }] } } });
    config = { version: '1', policy, servers, code: { enabled: false }, approvals: { webhook: hook.url, secret: SECRET } };
    const path = tempFile('sallyport.yaml', JSON.stringify(config));
    gate = Object.assign(await startServe({ args: ['--config', path], env }), { path });
    const target = (name) => ({ url: gate.url, headers: { Authorization: `Bearer ${tokens[name]}` } });
    ann = await connect('v1', target('ann'), { handlers: { 'elicitation/create': () => ({ action: 'accept', content: { decision: 'approve' } }) } });
    ben = await connect('v2', target('ben'));
    const { ToolListChangedNotificationSchema } = await load('@modelcontextprotocol/sdk/types.js');
    ann.client.setNotificationHandler(ToolListChangedNotificationSchema, () => changes.push(true));
  });
  after(async () => { await ann?.close(); await ben?.close().catch(() => {}); await gate?.stop(); await hook?.close(); });

  const sum = (agent, a, b) => agent.text('everything__get-sum', { a, b });
  const refused = (agent, a, b) => sum(agent, a, b).then(() => assert.fail('passed'), (error) => { assert.equal(error.code, -32003); return error.data.approval_id; });

  test('every agent sees and calls the tools of all servers', async () => {
    for (const agent of [ann, ben]) assert.deepEqual(prefixes(await agent.tools()), Object.keys(servers).sort());
    for (const agent of [ann, ben]) assert.equal(await agent.text('everything__echo', { message: 'hi' }), 'Echo: hi');
    const inspector = async (...args) => (await run(node, [packages.inspector, '--cli', gate.url, '--transport', 'http', '--header', `Authorization: Bearer ${tokens.cay}`,
      ...args, '--format', 'json'], { env: { HOME: tempDir() } })).stdout;
    assert.match(await inspector('--method', 'tools/call', '--tool-name', 'everything__echo', '--tool-arg', 'message=hi'), /Echo: hi/);
  });

  test('approved at the client', async () => {
    assert.match(await sum(ann, 2, 3), /5/);
    assert.equal((await told.next('a webhook', { fits: ({ approval }) => approval.identity === 'grant:ann' })).approval.tool, 'get-sum');
  });

  test('approved from the command line', async () => {
    const id = await refused(ben, 3, 4);
    assert.equal((await approve(id, { env })).code, 0);
    assert.match(await sum(ben, 3, 4), /7/);
  });

  test('approved by webhook and callback', async () => {
    const id = await refused(ben, 4, 5);
    const { headers, body } = await told.next('the webhook', { fits: ({ approval }) => approval.id === id });
    const sign = (at, text) => `v1=${createHmac('sha256', SECRET).update(`${at}.${text}`).digest('hex')}`;
    assert.equal(headers['sallyport-signature'], sign(headers['sallyport-timestamp'], body));
    const at = `${Math.floor(Date.now() / 1000)}`, answer = JSON.stringify({ approval_id: id, decision: 'approve', by: 'carol' });
    const { status } = await request('POST', `${gate.origin}/api/v1/approvals/callback`, { body: answer,
      headers: { 'Content-Type': 'application/json', 'Sallyport-Timestamp': at, 'Sallyport-Signature': sign(at, answer) } });
    assert.equal(status, 200);
    assert.match(await sum(ben, 4, 5), /9/);
  });

  test('a killed server is restarted while the seven others keep working', async () => {
    const pids = descendants(gate.pid).filter((pid) => commandLine(pid).join(' ').includes('server-memory'));
    assert.ok(pids.length >= 2, 'each session has its own');
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await changes.next('a changed list');
    assert.equal(await ann.text('everything__echo', { message: 'still here' }), 'Echo: still here');
    await gate.child.waitLine(/server `memory` is back/, { stream: 'stderr' });
    await until('the server to be listed', async () => prefixes(await ann.tools()).includes('memory'));
    assert.match(await ann.text('memory__read_graph', {}), /entities/);
  });

  test('a settings change removes one server without affecting the others', async () => {
    const mine = () => descendants(gate.pid).filter((pid) => commandLine(pid).join(' ').includes('server-filesystem')).sort().join();
    const before = mine();
    const { docs, ...rest } = servers;
    writeFileSync(gate.path, JSON.stringify({ ...config, servers: rest }));
    await gate.child.waitLine(/settings reloaded/, { stream: 'stderr' });
    assert.ok(docs && !prefixes(await ann.tools()).includes('docs'));
    assert.equal(mine(), before);
    await assert.rejects(ann.text('docs__resolve-library-id', { libraryName: 'x' }), /Unknown tool/);
  });

  test('a grant is revoked in the middle of a session', async () => {
    assert.equal((await cli(['grants', 'revoke', 'ben'], { env })).code, 0);
    await assert.rejects(ben.text('everything__echo', { message: 'x' }), /401|Unauthorized|revoked/i);
    assert.equal(await ann.text('everything__echo', { message: 'x' }), 'Echo: x');
  });
});
