// The built-in code server as clients see it: both eras, jobs, progress, cancellation, tasks, sessions, resources.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeCommand, startCode } from '../lib/code.mjs';
import { INTERPRETERS, commandLine, connect, descendants, lacksBun, alive, modernMeta, policyFile, ModernStdioPeer, until, use } from '../lib/index.mjs';

const target = (options) => { const [command, args, env] = codeCommand(options); return { command, args, env }; };
const TASKS = 'io.modelcontextprotocol/tasks';

test('real clients of either era run code and get structured results', async (t) => {
  for (const [version, negotiation] of [['v1'], ['v2', 'legacy'], ['v2', { pin: '2026-07-28' }]]) {
    const { client, call, tools } = use(t, await connect(version, target(), { negotiation }));
    assert.ok((await tools()).some(({ name }) => name === 'execute_code'), version);
    const result = await call('execute_code', { code: 'result = {"sum": 1 + 1}' });
    assert.deepEqual(result.structuredContent.result, { sum: 2 });
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    const failed = await call('execute_code', { code: 'raise KeyError("k")' });
    assert.deepEqual([failed.isError, failed.structuredContent.error_type, failed.structuredContent.exit], [true, 'KeyError', 'error']);
    await call('write_workspace_file', { filename: 'a b/ü.txt', content: 'text' });
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0].uri });
    assert.deepEqual([resources[0].name, contents[0].text], ['a b/ü.txt', 'text']);
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 4);
  }
});

test('arguments are checked against the schema', async (t) => {
  const { peer } = await startCode(t);
  for (const args of [{}, { code: 1 }, { code: 'x', timeout_seconds: 'soon' }, { code: 'x', memory_mb: 1e9 }, { code: 'x', unknown: true }, { code: 'x', language: 'cobol' }]) {
    const { isError, content } = await peer.call('execute_code', args);
    assert.ok(isError && /Input validation/.test(content[0].text), JSON.stringify(args));
  }
  assert.match((await peer.call('execute_code', {})).content[0].text, /: `code` is missing$/);
  assert.match((await peer.call('execute_code', { code: 'x', language: 'cobol' })).content[0].text, /: \["python","typescript","javascript","sql","bash"\]$/);
  const none = await peer.call('get_tool_definition', { tool_name: 'none' });
  assert.deepEqual([none.content[0].text, none.structuredContent], ['null', { error: 'Tool not found: none' }]);
  await assert.rejects(peer.call('no_such_tool'), /-32602 Unknown tool/);
  await assert.rejects(peer.request('no/such/method'), /-32601/);
  await assert.rejects(peer.request('resources/read', { uri: 'workspace:///../../etc/passwd' }), /-32002/);
});

test('long results are cut by structure, long output by lines', async (t) => {
  const { run } = await startCode(t);
  const answer = await run('result = {"rows": [{"i": i, "t": "x" * 50} for i in range(10000)], "note": "kept"}\nfor i in range(20000): print("line", i)');
  assert.deepEqual([answer.success, answer.truncated, answer.result.note], [true, true, 'kept']);
  assert.ok(answer.result.rows.length > 10 && answer.result.rows.length < 10000);
  assert.match(answer.result.rows.at(-1), /more/);
  assert.ok(JSON.stringify(answer).length < 300_000);
  const { result } = await run('result = list(range(200000))');
  assert.equal(result.length - 1 + Number(/(\d+) more/.exec(result.at(-1))[1]), 200_000, 'what is missing is counted right');
  assert.ok(JSON.stringify(result).length > 32_768, 'and the room is used');
});

test('values that JSON cannot represent do not end the run', async (t) => {
  const { run } = await startCode(t);
  const deep = (answer) => { let value = answer.result, depth = 0; for (; Array.isArray(value); depth++) [value] = value; return [depth > 50, value]; };
  // [language, code, result]
  const CASES = [
    ['python', 'result = {"\\ud800": "a\\udfffb", "smile": "\\U0001f600"}', { '\ufffd': 'a\ufffdb', smile: '😀' }],
    ['javascript', 'return { "\\ud800": "a\\udfffb", smile: "😀", kept: "\\\\ud800" }', { '\ufffd': 'a\ufffdb', smile: '😀', kept: '\\ud800' }],
    ['python', 'result = {1: "a", "1": "b", "2024": {None: 1, 2.5: 2}}', { 1: 'b', 2024: { null: 1, 2.5: 2 } }],
    ['python', 'progress(float("nan"), "\\ud800")\nresult = 1', 1],
    ['javascript', 'progress(1n, "\\ud800")\nprogress(NaN)\nreturn 1', 1],
    ['python', 'async def main(): return 5\nresult = main()', 5],
  ];
  for (const [language, code, expected] of CASES) assert.deepEqual((await run(code, { language })).result, expected, code);
  for (const [language, code] of [['python', 'raise ValueError("\\ud800")'], ['javascript', 'throw new Error("\\ud800")']]) {
    assert.deepEqual((({ exit, error }) => [exit, error])(await run(code, { language })), ['error', '\ufffd']);
  }
  assert.deepEqual(deep(await run('x = []\nfor i in range(500): x = [x]\nresult = x')), [true, '...']);
  assert.deepEqual(deep(await run('let x = []; for (let i = 0; i < 500; i++) x = [x]; return x', { language: 'javascript' })), [true, '...']);
  assert.match((await run('return 1', { language: 'javascript', context_vars: { undefined: 1 } })).error, /read only/);
  // Arguments that cannot be sent are an error of that call alone.
  for (const made of ['const a = {}; a.a = a', 'const a = { big: 1n }']) {
    assert.equal((await run(`${made}; try { await tools.code.list_jobs(a) } catch (error) { return error.name }`, { language: 'javascript' })).result, 'TypeError', made);
  }
});

test('code in the forms that models give it', async (t) => {
  const { run, json } = await startCode(t, { env: INTERPRETERS[0][1] });
  await json('save_skill', { name: 'two', code: 'export const two = 2', language: 'javascript' });
  await json('save_skill', { name: 'snake', code: 'x = 1' });
  // [language, code, result]
  const CASES = [
    ['python', 'Here it is:\n```python\nresult = 1\n```\nIt counts.', 1],
    ['python', '```python\ntext = """\n```\n"""\nresult = text\n```\nand\n```\nresult = 2\n```', '\n```\n'],
    ['python', 'text = """\n```\nno code\n```\n"""\nresult = 3', 3],
    ['python', '\ufeffresult = 4', 4],
    ['python', 'for i in range(9):\n    if i == 5:\n        return i', 5],
    ['python', 'import asyncio\nawait asyncio.sleep(0)\nreturn 6', 6],
    ['python', 'def f():\n    return 1\nresult = 7\nexit()', 7],
    ['typescript', 'Sure:\n```ts\nconst x: number = 1\nreturn x\n```\nDone.', 1],
    ['javascript', '#!/usr/bin/env node\nreturn 2', 2],
    ['javascript', 'export default { a: 3 }', { a: 3 }],
    ['typescript', 'export default async function main(): Promise<number> { return 4 }\nawait main()', 4],
    ['typescript', 'interface A { x: number }\nasync function main(): Promise<number> { return 5 }', 5],
    ['javascript', 'function once() { return 6 }', 6],
    ['javascript', 'const { two } = await import("two")\nreturn two', 2],
    ['javascript', 'require("fs").writeFileSync("lib.js", "module.exports = { seven: 7 }")\nreturn [require("./lib.js").seven, (await import("./lib.js")).seven]', [7, 7]],
  ];
  for (const [language, code, expected] of CASES) {
    const answer = await run(code, { language });
    assert.deepEqual(answer.result, expected, `${code}\n${JSON.stringify(answer)}`);
  }
  const session_id = 'imports';
  await run('import path from "node:path"\nimport { join } from "path"', { language: 'javascript', session_id });
  assert.deepEqual((await run('[path.sep, join("a", "b")]', { language: 'javascript', session_id })).result, ['/', 'a/b']);
  // Failures are shown where the agent sees them.
  const FAILURES = [
    ['javascript', 'import { x } from "skills/snake"', /^Cannot find module 'skills\/snake': that skill is Python$/],
    ['javascript', 'import { x } from "skills/none"', /^Cannot find module 'skills\/none': Skill not found: none$/],
    ['javascript', 'require("left-pad")', /^Cannot find module 'left-pad': there are the built-in modules, files of the workspace, skills\/NAME and the packages that a run asks for \(`packages`\); the operator can install it with `sallyport code packages add npm:left-pad`$/],
  ];
  for (const [language, code, error] of FAILURES) assert.match((await run(code, { language })).error, error);
  assert.equal((await run('const a = 1;\n\nawait tools.code.none()', { language: 'javascript' })).traceback, 'ToolError: Unknown tool: none\n    at code:3:18');
  assert.equal((await run('if (1) {}\nnull.x', { language: 'javascript' })).traceback.split('\n').at(-1), '    at code:2:6');
  assert.doesNotMatch((await run('let let = 1', { language: 'javascript' })).traceback, /__import|opt/);
  assert.equal((await run('await missing()')).traceback, 'Traceback (most recent call last):\n  File "<code>", line 1, in <module>\n    await missing()\n          ^^^^^^^\nNameError: name \'missing\' is not defined\n');
  assert.doesNotMatch((await run('read_file("none")')).traceback, /prelude/);
});

test('the sandbox helper is restarted after it is killed', async (t) => {
  const { gate, run, json } = await startCode(t);
  await run('x = 1', { session_id: 'lost' });
  const helper = descendants(gate.child.pid).find((pid) => /sallyport-sandbox/.test(commandLine(pid)));
  const ended = run('tools.code.write_workspace_file(filename="begun", content="")\nwhile True: pass', { timeout_seconds: 300 });
  await until('the run', async () => (await json('list_workspace_files')).count);
  process.kill(helper, 'SIGKILL');
  assert.equal((await ended).exit, 'killed');
  assert.equal((await run('result = 1')).result, 1);
  assert.match((await run('result = x', { session_id: 'lost' })).error, /not defined/);
});

test('progress comes while code runs, in order, before the answer', async (t) => {
  const { peer, run } = await startCode(t);
  await run('for i in range(4): progress(i / 4, f"step {i}")\nresult = 1', {}, { meta: { progressToken: 'tok' } });
  const seen = peer.received.filter(({ json }) => json.method === 'notifications/progress').map(({ json }) => json.params);
  assert.deepEqual(seen.map(({ progressToken, message }) => [progressToken, message]), [0, 1, 2, 3].map((i) => ['tok', `step ${i}`]));
  assert.ok(seen.every(({ progress }, i) => i === 0 || progress > seen[i - 1].progress));
  assert.ok(peer.received.at(-1).json.result, 'the answer is last');
});

test('a cancelled run ends immediately and leaves nothing behind', async (t) => {
  const { peer, gate, json } = await startCode(t);
  peer.send({ jsonrpc: '2.0', id: 'long', method: 'tools/call', params: { name: 'execute_code', arguments: { code: 'progress(0.1)\nwhile True: pass', timeout_seconds: 600 }, _meta: { progressToken: 1 } } });
  await peer.next((m) => m?.method === 'notifications/progress');
  await peer.notify('notifications/cancelled', { requestId: 'long' });
  const stats = await json('get_execution_stats');
  assert.ok(stats.sandbox.active <= 1);
  await until('the end of the run', async () => (await json('get_execution_stats')).sandbox.active === 0);
  assert.ok(!peer.received.some(({ json: m }) => m.id === 'long'), 'no answer after a cancellation');
  assert.ok(gate.pid);
});

test('background runs: a job id when they take long, then status, output, result', async (t) => {
  const { run, json } = await startCode(t, { args: ['--wait', '1ms'] });
  const { job_id: id, status } = await run('import time\nprint("half way")\nprogress(0.5, "half")\nwhile not list_files("go"): time.sleep(0.01)\nresult = 7', { background: true });
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  assert.ok(['pending', 'running'].includes(status));
  const half = await until('half way', async () => { const s = await json('job_status', { job_id: id }); return s.progress && s.output.length && s; });
  assert.deepEqual([half.status, half.progress, half.message, half.output], ['running', 0.5, 'half', ['half way']]);
  assert.deepEqual((await json('list_jobs')).jobs.map(({ job_id }) => job_id), [id]);
  assert.equal((await json('job_cancel', { job_id: id })).status, 'cancelled');
  assert.equal((await json('job_status', { job_id: id })).status, 'cancelled', 'from then on');
  const over = await json('job_status', { job_id: id, wait_seconds: 20 });
  assert.deepEqual([over.status, over.result.success, over.result.output], ['cancelled', false, ['half way']]);
  assert.deepEqual((await json('job_cancel', { job_id: id })).success, false);
  assert.match((await json('job_status', { job_id: 'nobody' })).error, /not found/);
});

test('background runs that end in time are answered directly; each way to end has a name', async (t) => {
  const { run } = await startCode(t, { args: ['--wait', '20s'] });
  assert.equal((await run('result = 5', { background: true })).result, 5);
  const slow = await startCode(t, { args: ['--wait', '1ms'] });
  for (const [code, expected] of [['result = 1', 'completed'], ['1/0', 'failed'], ['while True: pass', 'timeout']]) {
    const first = await slow.run(`import time\ntime.sleep(0.2)\n${code}`, { background: true, timeout_seconds: expected === 'timeout' ? 1 : 60 });
    const ended = async () => { const job = await slow.json('job_status', { job_id: first.job_id, wait_seconds: 20 }); return !['pending', 'running'].includes(job.status) && job.status; };
    assert.equal(await until(code, ended), expected, code);
  }
});

test('tasks of 2025-11-25', async (t) => {
  const { peer } = await startCode(t);
  const { tools } = await peer.request('tools/list');
  assert.equal(tools.find(({ name }) => name === 'execute_code').execution.taskSupport, 'optional');
  assert.ok(peer.server.capabilities.tasks.requests.tools.call);
  const start = async (code) => (await peer.request('tools/call', { name: 'execute_code', arguments: { code }, task: { ttl: 60000 } })).task;
  const task = await start('result = 6 * 7');
  assert.deepEqual([task.status, task.ttl, typeof task.pollInterval], ['working', 60000, 'number']);
  const result = await peer.request('tasks/result', { taskId: task.taskId });
  assert.equal(result.structuredContent.result, 42);
  assert.equal(result._meta['io.modelcontextprotocol/related-task'].taskId, task.taskId);
  assert.equal((await peer.request('tasks/get', { taskId: task.taskId })).status, 'completed');
  const failed = await start('1/0');
  await peer.request('tasks/result', { taskId: failed.taskId });
  assert.equal((await peer.request('tasks/get', { taskId: failed.taskId })).status, 'failed');
  const endless = await start('while True: pass');
  assert.equal((await peer.request('tasks/cancel', { taskId: endless.taskId })).status, 'cancelled');
  assert.equal((await peer.request('tasks/list')).tasks.length, 3);
  await assert.rejects(peer.request('tasks/get', { taskId: 'nobody' }), /-32602/);
  await assert.rejects(peer.request('tasks/cancel', { taskId: task.taskId }), /-32602/);
});

test('tasks of the modern era: for clients that support them, when it takes long', async (t) => {
  const { peer } = await startCode(t, { args: ['--wait', '1ms'], Peer: ModernStdioPeer });
  const _meta = modernMeta({ capabilities: { extensions: { [TASKS]: {} } } });
  const code = 'import time\ntime.sleep(0.2)\nresult = 3';
  const task = await peer.request('tools/call', { name: 'execute_code', arguments: { code }, _meta });
  assert.deepEqual([task.resultType, task.status, typeof task.ttlMs], ['task', 'working', 'number']);
  const done = await until('the task', async () => { const s = await peer.request('tasks/get', { taskId: task.taskId, _meta }); return s.status !== 'working' && s; });
  assert.deepEqual([done.resultType, done.status, done.result.structuredContent.result], ['complete', 'completed', 3]);
  assert.equal((await peer.request('tools/call', { name: 'execute_code', arguments: { code } })).structuredContent.result, 3, 'others wait');
  await assert.rejects(peer.request('tasks/result', { taskId: task.taskId }), /-32601/);
  await assert.rejects(peer.request('tasks/list'), /-32601/);
  assert.equal((await peer.request('tasks/cancel', { taskId: task.taskId, _meta })).resultType, 'complete');
  assert.deepEqual((await peer.request('server/discover')).supportedVersions, ['2026-07-28']);
  const list = await peer.request('tools/list');
  assert.deepEqual([list.resultType, list.cacheScope, list.ttlMs >= 0], ['complete', 'private', true]);
});

test('sessions keep variables; others do not see them; they are listed and cleared', async (t) => {
  const { run, json } = await startCode(t);
  assert.equal((await run('x = 41', { session_id: 's1' })).success, true);
  assert.equal((await run('x += 1\nresult = x', { session_id: 's1' })).result, 42);
  assert.equal((await run('result = x', { session_id: 's2' })).success, false);
  assert.equal((await run('result = x')).success, false);
  assert.deepEqual((await json('list_sessions')).sessions.map(({ session_id, runs }) => [session_id, runs]).sort(), [['s1', 2], ['s2', 1]]);
  assert.equal((await json('clear_session', { session_id: 's1' })).success, true);
  assert.equal((await json('clear_session', { session_id: 's1' })).success, false);
  assert.equal((await run('result = x', { session_id: 's1' })).success, false);
  const lost = await run('while True: pass', { session_id: 's2', timeout_seconds: 1 });
  assert.deepEqual([lost.exit, lost.session_lost], ['timeout', true]);
  assert.match((await run('1', { session_id: 'no/slash' }).catch((e) => ({ error: e.message }))).error ?? '', /session_id|JSON/);
});

test('files that a run leaves are linked, pictures are shown', async (t) => {
  const { peer } = await startCode(t);
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const code = `import base64\nopen("/workspace/dot.png", "wb").write(base64.b64decode("${png}"))\nopen("/workspace/t.csv", "w").write("a,b")`;
  const { content, structuredContent } = await peer.call('execute_code', { code });
  assert.deepEqual(structuredContent.files, ['dot.png', 't.csv']);
  assert.deepEqual(content.filter(({ type }) => type === 'image'), [{ type: 'image', mimeType: 'image/png', data: png }]);
  const links = content.filter(({ type }) => type === 'resource_link');
  assert.deepEqual(links.map(({ uri, mimeType }) => [uri, mimeType]), [['workspace:///dot.png', 'image/png'], ['workspace:///t.csv', 'text/csv']]);
  const { contents } = await peer.request('resources/read', { uri: links[0].uri });
  assert.equal(contents[0].blob, png);
  const fake = await peer.call('execute_code', { code: 'open("/workspace/fake.png", "w").write("no picture")' });
  assert.deepEqual(fake.content.map(({ type }) => type), ['text', 'resource_link'], 'a name makes no picture');
  assert.deepEqual((await peer.call('execute_code', { code: 'read_file("t.csv")' })).structuredContent.files, undefined, 'what was only read is not');
});

test('skills as Agent Skills: listed, read, taken in, versioned', async (t) => {
  const { peer, json, run } = await startCode(t);
  await json('save_skill', { name: 'Make_Csv', code: 'def rows(x):\n    return "\\n".join(x)\n', description: 'Lines to CSV: "quoted"' });
  const { skills } = await peer.request('skills/list');
  assert.deepEqual([skills[0].uri, skills[0].frontmatter.name], ['skill://make-csv/SKILL.md', 'make-csv']);
  const { contents: [{ text }] } = await peer.request('resources/read', { uri: skills[0].uri });
  assert.equal(Buffer.byteLength(text), skills[0].resources[0].size);
  assert.deepEqual((await peer.request('skills/get', { uri: skills[0].uri })).skill, skills[0]);
  await assert.rejects(peer.request('skills/get', { uri: 'skill://none/SKILL.md' }), /-32602/);
  const children = await peer.request('resources/directory/read', { uri: 'skill://make-csv' });
  assert.deepEqual(children.resources.map(({ uri }) => uri), ['skill://make-csv/SKILL.md', 'skill://make-csv/Make_Csv.py']);
  const second = await json('save_skill', { name: 'copy_of_it', code: text });
  assert.equal(second.success, true, JSON.stringify(second));
  assert.equal((await run('import copy_of_it\nresult = copy_of_it.rows(["a", "b"])')).result, 'a\nb');
  assert.equal((await json('save_skill', { name: 'copy_of_it', code: 'v = 2' })).version, 2);
  assert.match((await json('load_skill', { name: 'copy_of_it', version: 1 })).code, /def rows/);
  // What a SKILL.md says around its code is kept, until the skill is written anew.
  const body = '# Greeting\n\nAsk for the name first.\n\n```python\ndef hi(n):\n    return "hi " + n\n```\n\nNever shout.\n';
  await json('save_skill', { name: 'greet', code: `---\nname: greet\ndescription: Greets\n---\n\n${body}`.replaceAll('\n', '\r\n') });
  const md = async (more) => (await json('load_skill', { name: 'greet', format: 'skill_md', ...more })).skill_md;
  assert.ok((await md()).endsWith(`---\n\n${body}`), await md());
  assert.equal((await peer.request('resources/read', { uri: 'skill://greet/SKILL.md' })).contents[0].text, await md());
  assert.equal((await run('import greet\nresult = greet.hi("ann")')).result, 'hi ann');
  await json('save_skill', { name: 'greet', code: 'hi = str' });
  assert.doesNotMatch(await md(), /shout/);
  assert.match(await md({ version: 1 }), /shout/);
});

test('tools called from code pass the policy under their own names', async (t) => {
  const policy = policyFile({ version: '1', default: 'allow', tools: { restore_pii: { rules: [{ name: 'never', action: 'deny', on_deny: 'Not from here.' }] } } });
  const { run, json } = await startCode(t, { args: ['-c', policy] });
  const answer = await run('write = call_tool("code", "write_workspace_file", {"filename": "x.txt", "content": "hi"})\nlisted = tools.code.list_workspace_files()["files"]\n'
    + 'try:\n    call_tool("code", "restore_pii", {"text": "x"})\nexcept ToolError as e:\n    why = str(e)\nresult = [write["success"], listed, why]');
  assert.deepEqual(answer.result?.slice(0, 2), [true, ['x.txt']], JSON.stringify(answer));
  assert.match(answer.result[2], /POLICY DENIED.*Not from here/);
  assert.equal(answer.tool_calls, 3);
  for (const [code, why] of [['tools.code.execute_code(code="1")', /cannot run code/], ['call_tool("nobody", "x", {})', /Unknown tool: x of a server nobody/], ['tools.code.no_such()', /Unknown tool/]]) {
    assert.match((await run(code)).error, why, code);
  }
  assert.match((await run('from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as p:\n    result = sum(len(x["files"]) for x in p.map(lambda _: tools.code.list_workspace_files(), range(40)))')).result + '', /^40$/);
  assert.equal((await json('call_tool', { server: 'code', tool: 'list_workspace_files', args: {} })).count, 1);
});

test('files that a tool writes while code runs stay, those that code removes go, however soon', async (t) => {
  const { run, json } = await startCode(t);
  for (let i = 0; i < 30; i++) {
    assert.equal((await run(`result = call_tool("code", "write_workspace_file", {"filename": "${i}.txt", "content": "hi"})["success"]`)).result, true);
    assert.deepEqual((await json('list_workspace_files')).files, [`${i}.txt`]);
    assert.equal((await run(`import os\nos.remove("${i}.txt")\nresult = 1`)).result, 1);
    assert.deepEqual((await json('list_workspace_files')).files, []);
  }
});

test('the policy decides whether code is run at all', async (t) => {
  const policy = policyFile({ version: '1', default: 'deny', tools: { execute_code: { rules: [{ name: 'short', conditions: [{ path: 'args.timeout_seconds', op: 'lte', value: 5 }], on_deny: 'Only short runs.' }] } } });
  const { peer } = await startCode(t, { args: ['-c', policy] });
  assert.equal((await peer.call('execute_code', { code: 'result = 1', timeout_seconds: 5 })).structuredContent.result, 1);
  assert.match((await peer.call('execute_code', { code: 'result = 1', timeout_seconds: 6 })).content[0].text, /Only short runs/);
  assert.match((await peer.call('list_skills')).content[0].text, /POLICY DENIED/);
});

test('the end of input ends the gate and its runs', async (t) => {
  const { gate, peer } = await startCode(t);
  peer.send({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'execute_code', arguments: { code: 'progress(0.1)\nwhile True: pass', timeout_seconds: 600 }, _meta: { progressToken: 1 } } });
  await peer.next((m) => m?.method === 'notifications/progress');
  const pids = descendants(gate.pid);
  assert.ok(pids.length > 0);
  process.kill(gate.pid, 'SIGTERM');
  await gate.child.wait();
  await until('the end of its processes', () => !pids.some(alive));
});

for (const [name, env] of INTERPRETERS) test(`TypeScript and JavaScript with ${name}: values, output, failures, tools, skills, sessions`, async (t) => {
  if (lacksBun(t, env)) return;
  const { run, json } = await startCode(t, { env });
  await json('save_skill', { name: 'twice', code: 'export function twice(x: number): number { return 2 * x }\nexport const five = 5', language: 'typescript' });
  // [code, result]
  const CASES = [
    ['return 1 + 1', 2],
    ['const x: number = 4\nx * 2', 8],
    ['const { count } = await tools.code.list_skills()\nreturn count', 1],
    ['const { count } = await callTool("code", "list_skills", {})\nreturn count', 1],
    ['return (await searchTools("skill")).tools.length > 0', true],
    ['const { twice, five } = await import("skills/twice")\nreturn twice(five)', 10],
    ['import { twice } from "skills/twice"\ntwice(21)', 42],
    ['try { await tools.code.no_such_tool() } catch (error) { return error.message }', 'Unknown tool: no_such_tool'],
    ['return { a: [1, null], b: who }', { a: [1, null], b: 'ann' }],
    ['typeof Bun === "object" ? "Bun" : "Node"', name],
    ['await tools.code.write_workspace_file({ filename: "big", content: "é".repeat(2e5) })\nconst all = await Promise.all(Array.from({ length: 8 }, () => tools.code.read_workspace_file({ filename: "big" })))\nreturn all.map((a: any) => a.content.length)', Array(8).fill(2e5)],
    ['```ts\nasync () => { return (await Promise.all([1, 2].map(async (n: number) => n * 2))).length }\n```', 2],
    ['export default async function main(): Promise<number> { return 9 }', 9],
    ['const made = await Promise.allSettled([tools.code.no_such_tool(), tools.code.list_skills()])\nreturn made.map((m) => m.status)', ['rejected', 'fulfilled']],
  ];
  for (const [code, expected] of CASES) {
    const answer = await run(code, { language: 'typescript', context_vars: { who: 'ann' } });
    assert.deepEqual(answer.result, expected, `${code}\n${JSON.stringify(answer)}`);
  }
  // where the last statement begins, and whether its value is the result
  const LAST = [['console.log(1); 45', 45], ['45;', 45], ['1; 45 // ; 46', 45], ['/* ; */ "a;" + \'\\\'b;\'; // c', "a;'b;"], ['let a = 1; (a)', 1], ['`${`}${1};`};` + "`"; `a${{ b: 2 }.b}$`', 'a2$'],
    ['if (true) 1; else 2', null], ['do 1; while (false)', null], ['1; { a: 2 }', null], ['1; function f() {}', null], ['1; class A {}', null], ['1\n2', 2], ['const x = () => {}\n;(3)', 3],
    ['let i = 1; i\n++\ni', 2], ['6 / 2', 3], ['"ab;c".replace(/;/, "/;/"); /;/.source', ';'], ['for (let i = 0; i < 2; i++); "i"', 'i'], ['1; return 2; 3', 2], ['1; return 2\n3', 2], ['let g = (x) => x; x => { 1; }\n(2)', 2],
    ['const f = (x) => x, T = 1; f < T > (2)', false], ['await 1, 2', 2], ['', null], ['1; // 2', 1], ['"use strict"; [this === globalThis, typeof tools]', [true, 'object']], ['a => 7', 7], ['async () => { 1; return { a: [8] }; }', { a: [8] }], ['1; () => 7', '() => 7']];
  for (const [code, expected] of name === 'Node' ? LAST : []) {
    const answer = await run(code, { language: 'javascript' });
    assert.deepEqual(answer.result, expected, `${code}\n${JSON.stringify(answer)}`);
  }
  // what a child tries while it waits cannot be seen: the last one here had the time for it, most of the first had not
  const seen = () => run('const seen = [Object.getOwnPropertyNames(globalThis), process.getActiveResourcesInfo(), RegExp["$_"].slice(0, 10), RegExp["$1"], +setTimeout(() => {}, 0), process.moduleLoadList, process.exitCode ?? null, new Error().stack];\nawait new Promise((done) => setTimeout(done, 100));\nreturn JSON.stringify(seen);', { language: 'javascript' });
  const all = await Promise.all(Array.from({ length: 5 }, seen));
  all.push(await seen());
  for (const answer of all) assert.equal(answer.success, true, JSON.stringify(answer));
  for (const answer of all) assert.equal(answer.result, all[0].result);
  assert.equal((await run('return 2', { typescript: false })).result, 2);
  const failed = await run('console.log("before")\nconsole.error("aside")\nthrow new TypeError("boom")', { language: 'javascript' });
  assert.deepEqual([failed.success, failed.error, failed.error_type, failed.output, failed.stderr], [false, 'boom', 'TypeError', ['before'], 'aside\n']);
  const lines = await run('import os from "node:os";\nconst n: number = await Promise.resolve(1);\n\nfunction fails(x: number): never {\n\n  throw new RangeError(`no ${x}`);\n}\nfails(n);\nreturn n', { language: 'typescript' });
  assert.match(lines.traceback, /^RangeError: no 1\n +at fails \(code:6:\d+\)\n.*code:8:1\)?$/, JSON.stringify(lines));
  assert.match((await run('const a = 1;\nconst b = {\n  a b\n}', { language: 'typescript' })).traceback, /code:3:/);
  assert.match((await run('await new Promise(() => {})', { language: 'javascript' })).error, /is never settled/);
  const session_id = 'kept';
  await run('const start: number = 40; let two = await Promise.resolve(2); function add(a: number) { return a + two } return 1', { language: 'typescript', session_id });
  assert.equal((await run('add(start)', { language: 'javascript', session_id })).result, 42);
  assert.deepEqual(failed.violations ?? [], []);
  assert.equal((await run('for (;;);', { language: 'javascript', timeout_seconds: 1 })).exit, 'timeout');
});

test('codemode: fetch reaches the code-mode endpoints and nothing else', async (t) => {
  const { peer } = await startCode(t, { profile: 'codemode', env: INTERPRETERS[0][1] });
  assert.deepEqual((await peer.request('tools/list')).tools.map(({ name }) => name), ['execute_code', 'check_deno_version', 'list_servers_with_tools']);
  const say = async (code, more) => { const { content, isError } = await peer.call('execute_code', { code, ...more }); return [isError ?? false, content.map(({ text }) => text)]; };
  assert.deepEqual(await say('console.log("hi")'), [false, ['Output:\nhi\n']]);
  assert.deepEqual(await say('const x = 1;', { typescript: false }), [false, ['Code executed successfully with no output.']]);
  assert.deepEqual(await say('console.error("w")'), [false, ['Code executed successfully with no output.', 'Errors/Warnings:\nw\n']]);
  const [failed, [text]] = await say('console.log(1)\nconsole.error("w")\nthrow new Error("boom")');
  assert.ok(failed && /^Code execution failed\.\n\nError Details:\n[^]*boom[^]*\nOutput:\n1\n\nErrors\/Warnings:\nw\n/.test(text), text);
  const calls = `const base = "http://localhost:3001/mcp";
    const servers = await (await fetch(base + "/servers")).json();
    const { tools } = await (await fetch(base + "/code/tools")).json();
    const post = async (body: unknown) => { const r = await fetch(base + "/call", { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }); return [r.status, await r.json()]; };
    const found = await post({ server: "code", tool: "list_servers_with_tools", args: {} });
    console.log(JSON.stringify({ servers, tools: tools.map((t: any) => t.name), found: found[1].content[0].type, bad: (await post("{"))[0], none: (await post({ server: "x", tool: "y" })), missing: (await fetch(base + "/none/tools")).status }));`;
  const [, [answer]] = await say(calls);
  const seen = JSON.parse(answer.slice('Output:\n'.length));
  assert.deepEqual([seen.servers, seen.found, seen.bad, seen.none[0], seen.missing], [['code'], 'text', 400, 404, 404]);
  for (const url of ['http://example.com/', 'file:///etc/passwd', 'http://169.254.169.254/latest']) {
    assert.match((await say(`await fetch("${url}")`))[1][0], /no network|failed/, url);
  }
  assert.doesNotMatch((await say('import t from "file:///etc/passwd" with { type: "text" }\nconsole.log(t)'))[1][0], /root:/);
  const list = JSON.parse((await peer.call('list_servers_with_tools')).content[0].text.slice('Output:\n'.length));
  assert.deepEqual([list.summary.totalServers, list.servers[0].status], [1, 'success']);
  assert.match((await peer.call('check_deno_version')).content[0].text, /^Deno Version Information:\n/);
});
