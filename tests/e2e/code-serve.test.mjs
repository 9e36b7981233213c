// The built-in code server beside others in `serve`: tools of other servers from code, and what is one principal's own.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ModernHttpPeer, cli, policyFile, probeCommand, startServe, tempDir, use } from '../lib/index.mjs';

const config = (policy) => {
  const [command, ...args] = probeCommand();
  return { version: '1', policy: policyFile(policy), servers: { probe: { command, args } }, code: { enabled: true } };
};

async function serve(t, policy) {
  const home = join(tempDir(), 'home');
  const env = { SALLYPORT_HOME: home };
  const tokens = {};
  for (const name of ['ann', 'bob']) tokens[name] = (await cli(['grants', 'create', name], { env })).stdout.trim();
  const gate = use(t, await startServe({ config: config(policy), args: [], env }));
  const as = (name, path = '/mcp/code') => new ModernHttpPeer(`${gate.origin}${path}`, { headers: { Authorization: `Bearer ${tokens[name]}` } });
  return { gate, as };
}

test('code calls the tools of other servers, judged under their names', async (t) => {
  const { as } = await serve(t, { version: '1', default: 'allow', tools: { mark: { rules: [{ name: 'no', action: 'deny', on_deny: 'No marks.' }] } } });
  const peer = as('ann', '/mcp');
  const run = async (code) => (await peer.call('code__execute_code', { code })).structuredContent;
  const answer = await run('result = call_tool("probe", "echo", {"n": 5})');
  assert.deepEqual(answer.result, { n: 5 }, JSON.stringify(answer));
  assert.match((await run('tools.probe.mark()')).error, /POLICY DENIED.*No marks/);
  assert.match((await run('tools.nowhere.echo()')).error, /Unknown tool: echo of a server nowhere/);
  // Personal data, with pii off: a value that was tokenized on request is restored in calls and not shown again.
  const { sanitized_text: token } = (await peer.call('code__sanitize_pii', { text: 'ann@example.org' })).structuredContent;
  assert.match(token, /^\[EMAIL_[0-9A-Z]{8}\]$/);
  assert.deepEqual((await run(`result = [tools.probe.echo(to="${token}"), len(tokenize_pii("ann@example.org")[1])]`)).result, [{ to: token }, 1]);
  const denied = await peer.call('code__restore_pii', { text: token });
  assert.equal(denied.isError, true);
  assert.match(denied.content[0].text, /Values are not shown to the model/);
});

test('files, skills, jobs and sessions of one grant are not visible to another', async (t) => {
  const { as } = await serve(t);
  const [ann, bob] = [as('ann'), as('bob')];
  await ann.call('write_workspace_file', { filename: 'mine.txt', content: 'a secret' });
  await ann.call('save_skill', { name: 'mine', code: 'x = 1' });
  await ann.call('execute_code', { code: 'x = 1', session_id: 's' });
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
  const { taskId } = await ann.request('tools/call', { name: 'execute_code', arguments: { code: 'import time\nwhile True: time.sleep(1)', timeout_seconds: 60 }, _meta });
  assert.ok(taskId);
  assert.deepEqual((await bob.call('list_workspace_files')).structuredContent.files, []);
  assert.equal((await bob.call('list_skills')).structuredContent.count, 0);
  assert.deepEqual((await bob.call('list_sessions')).structuredContent.sessions, []);
  assert.deepEqual((await bob.call('list_jobs')).structuredContent.jobs, []);
  assert.equal((await bob.call('execute_code', { code: 'result = x', session_id: 's' })).structuredContent.success, false);
  const named = { headers: { 'Mcp-Name': taskId } };
  for (const method of ['tasks/get', 'tasks/cancel']) await assert.rejects(bob.request(method, { taskId, _meta }, named), /-32602/);
  assert.match((await bob.call('job_status', { job_id: taskId })).structuredContent.error, /not found/);
  await assert.rejects(bob.request('resources/read', { uri: 'workspace:///mine.txt' }), /-32602/);
  await assert.rejects(bob.request('resources/read', { uri: 'skill://mine/SKILL.md' }), /-32602/);
  assert.equal((await ann.request('tasks/get', { taskId, _meta }, named)).status, 'working');
  await ann.request('tasks/cancel', { taskId, _meta }, named);
});
