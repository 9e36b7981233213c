// Other systems' tools on the same engine: names, schemas and result texts are theirs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCode } from '../lib/code.mjs';

const names = async (peer) => (await peer.request('tools/list')).tools.map(({ name }) => name);
const textOf = ({ content }) => content[0].text;

test('python-interpreter: ten tools, four resources, three prompts', async (t) => {
  const { peer } = await startCode(t, { profile: 'python-interpreter' });
  assert.deepEqual(await names(peer), ['list_python_environments', 'list_installed_packages', 'run_python_code', 'run_python_file', 'install_package', 'read_file', 'write_file',
    'list_directory', 'clear_session', 'list_sessions']);
  const { resources } = await peer.request('resources/list');
  const { resourceTemplates } = await peer.request('resources/templates/list');
  assert.deepEqual([...resources.map(({ uri }) => uri), ...resourceTemplates.map(({ uriTemplate }) => uriTemplate)],
    ['python://environments', 'python://directory', 'python://packages/{env_name}', 'python://session/{session_id}/history']);
  const { prompts } = await peer.request('prompts/list');
  assert.deepEqual(prompts.map(({ name }) => name), ['python_function_template', 'refactor_python_code', 'debug_python_error']);
  const { messages } = await peer.request('prompts/get', { name: 'debug_python_error', arguments: { code: '1/0', error_message: 'ZeroDivisionError' } });
  assert.match(messages[0].content.text, /1\/0[^]*ZeroDivisionError/);
  await assert.rejects(peer.request('prompts/get', { name: 'debug_python_error', arguments: { code: '1/0' } }), /-32602 Missing argument: error_message/);
  for (const name of ['default', 'system']) assert.equal((await peer.request('resources/read', { uri: `python://packages/${name}` })).contents[0].uri, `python://packages/${name}`);
});

test('tools that run code are offered where their language can be run', async (t) => {
  const env = { python: { SALLYPORT_PYTHON: '/none' }, node: { SALLYPORT_NODE: '/none', SALLYPORT_BUN: '/none' } };
  // [profile, without, one that is gone, one that stays]
  const CASES = [['python-interpreter', 'python', 'run_python_code', 'read_file'], ['code-execution-mcp', 'python', 'execute_code', 'save_skill'],
    ['datagen', 'python', 'executeCode', 'searchTools'], ['codemode', 'node', 'execute_code', 'check_deno_version']];
  for (const [profile, without, gone, stays] of CASES) {
    const { peer } = await startCode(t, { profile, env: env[without] });
    const offered = await names(peer);
    assert.deepEqual([offered.includes(gone), offered.includes(stays)], [false, true], profile);
    await assert.rejects(peer.call(gone, { code: '1', script: '1' }), /Unknown tool/);
  }
});

test('python-interpreter: running code', async (t) => {
  const { peer } = await startCode(t, { profile: 'python-interpreter' });
  const say = async (name, args) => textOf(await peer.call(name, args));
  // [arguments, the text, or what it fits]
  const CASES = [
    [{ code: '1 + 1' }, "Execution in session 'default' (inline mode):\n\n--- Output ---\n2\n"],
    [{ code: 'x = 5' }, "Execution in session 'default' (inline mode):\n\n--- Output ---\n(No output)\n"],
    [{ code: 'print("hi")\nx * 2' }, "Execution in session 'default' (inline mode):\n\n--- Output ---\nhi\n10\n"],
    [{ code: 'x', session_id: 'other' }, /^Execution in session 'other' \(inline mode\):\n\n--- Error ---\nTraceback[^]*NameError: name 'x' is not defined/],
    [{ code: 'print("a")\n1/0' }, /--- Error ---\n[^]*ZeroDivisionError: division by zero\n\n--- Output ---\na\n$/],
    [{ code: 'print(7)', execution_mode: 'subprocess' }, "Execution in 'system' environment (subprocess mode):\n\n--- Output ---\n7\n"],
    [{ code: 'import sys\nsys.exit(3)', execution_mode: 'subprocess' }, /--- Error \(status code: 3\) ---/],
    [{ code: 'x = 1', execution_mode: 'odd' }, "Unknown execution mode: odd. Use 'inline' or 'subprocess'."],
    [{ code: 'x = 1', execution_mode: 'subprocess', environment: 'conda' }, /^Environment 'conda' not found/],
    [{ code: 'print("kept")', save_as: 'dir/kept' }, /\(saved to dir\/kept\):/],
    [{ code: 'print("no")', save_as: '../out.py' }, /^Error saving code to file: .*outside workspace/],
    [{ code: 'while True: pass', timeout: 1 }, /--- Error ---\n.*timed out after 1 seconds\nThe variables of this session are lost\.\n$/],
    [{ code: '```python\nprint(8)\n```' }, /--- Output ---\n8\n$/],
    [{ code: 'raise SystemExit(2)' }, /--- Error ---\nSystemExit: 2\n$/],
    [{ code: 'print(__file__)\n1/0', execution_mode: 'subprocess' }, /File "script\.py", line 2, in <module>\n {4}1\/0\n[^]*--- Output ---\nscript\.py\n$/],
  ];
  for (const [args, expected] of CASES) {
    const text = await say('run_python_code', args);
    if (expected instanceof RegExp) assert.match(text, expected, JSON.stringify(args));
    else assert.equal(text, expected, JSON.stringify(args));
  }
  assert.match(await say('run_python_file', { file_path: 'dir/kept.py', arguments: ['a'] }), /^Execution of '\/workspace\/dir\/kept\.py' in 'system' environment:\n\n--- Output ---\nkept\n$/);
  assert.match(await say('run_python_file', { file_path: '../../etc/passwd' }), /^Access denied/);
  assert.match(await say('run_python_file', { file_path: 'none.py' }), /not found\.$/);
  assert.match(await say('list_sessions'), /^Active REPL Sessions:\n\n- Session: default\n {2}History entries: \d+\n {2}Variables: \d+\n\n/);
  assert.equal(await say('clear_session', { session_id: 'other' }), "Session 'other' cleared.");
  assert.equal(await say('clear_session', { session_id: 'other' }), "Session 'other' not found.");
  const { contents } = await peer.request('resources/read', { uri: 'python://session/default/history' });
  assert.deepEqual((({ session_id, history }) => [session_id, history[0].code, history.at(-1).code])(JSON.parse(contents[0].text)), ['default', '1 + 1', 'raise SystemExit(2)']);
});

test('python-interpreter: files, environments, packages', async (t) => {
  const { peer } = await startCode(t, { profile: 'python-interpreter' });
  const say = async (name, args) => textOf(await peer.call(name, args));
  assert.match(await say('list_python_environments'), /^Available Python Environments:\n\n- Name: system\n {2}Path: .*\n {2}Version: Python 3\.\d+/);
  assert.match(await say('list_installed_packages'), /^(Installed Packages in 'system':\n\n- \S+ |No packages found)/);
  assert.match(await say('install_package', { package_name: '--index-url=http://x' }), /^Error installing --index-url/);
  assert.equal(await say('write_file', { file_path: 'a.py', content: 'x = 1\n' }), 'Successfully wrote to /workspace/a.py. Size: 0.01 KB');
  assert.equal(await say('write_file', { file_path: '/workspace/a.py', content: '' }), "File '/workspace/a.py' exists. Use overwrite=True to replace.");
  assert.match(await say('write_file', { file_path: '/etc/x', content: '' }), /^Access denied/);
  assert.equal(await say('read_file', { file_path: 'a.py' }), 'File: a.py\n\n```py\nx = 1\n\n```');
  assert.match(await say('read_file', { file_path: '../x' }), /^Access denied/);
  assert.equal(await say('read_file', { file_path: 'none' }), "Error: File 'none' not found");
  assert.match(await say('list_directory'), /^Python files in: \/workspace\n\n📁 \(root\):\n {2}📄 a\.py \(0\.0 KB\)\n/);
  assert.equal(JSON.parse((await peer.request('resources/read', { uri: 'python://directory' })).contents[0].text).files[0].name, 'a.py');
});

test('datagen: code with inputs and outputs, in the foreground and in the background', async (t) => {
  const { peer, json } = await startCode(t, { profile: 'datagen' });
  assert.deepEqual(await names(peer), ['executeCode', 'asyncExecuteCode', 'checkCodeExecStatus', 'searchTools', 'getToolDetails', 'executeTool']);
  const { tools } = await peer.request('tools/list');
  assert.equal(Object.keys(tools[0].inputSchema.properties).length, 12);
  const done = await json('executeCode', { script: 'total = sum(values)\nword = "w"', input_vars: { values: [1, 2, 3] }, output_vars: { total: 'int', word: 'str' } });
  assert.deepEqual([done.status, done.result], ['completed', { total: 6, word: 'w' }]);
  const started = await json('asyncExecuteCode', { script: 'result = 5' });
  assert.match(started.execution_uuid, /^[0-9a-f-]{36}$/);
  const status = await json('checkCodeExecStatus', { execution_uuid: started.execution_uuid });
  assert.deepEqual([status.status, status.result], ['completed', 5]);
  // No wall at five minutes, and what a run has said so far.
  const long = await json('asyncExecuteCode', { script: 'import time, resource\nprint("limit", resource.getrlimit(resource.RLIMIT_CPU)[0] > 1000)\nwhile True: time.sleep(0.05)', timeout: 3000 });
  const running = await json('checkCodeExecStatus', { execution_uuid: long.execution_uuid });
  assert.deepEqual([running.status, running.stdout], ['running', 'limit True\n']);
  assert.equal((await json('executeCode', { script: '1/0' })).status, 'failed');
  assert.deepEqual((await json('executeCode', { script: '```python\ny = a + 1\n```', input_vars: { a: 2 }, output_vars: { y: 'int', z: 'int' } })).result, { y: 3 });
  const partly = await json('executeCode', { script: 'y = 1\nw = "x"\nb = True', output_vars: { y: 'int', z: 'int', w: 'float', b: 'int' } });
  assert.deepEqual([partly.result, partly.missing_outputs, partly.mistyped_outputs], [{ y: 1, w: 'x', b: true }, ['z'], ['w', 'b']]);
  // [what is asked for, what the refusal says]: nothing of it runs
  const REFUSED = [
    [{ required_secrets: ['KEY'] }, /required_secrets: .*no secrets/], [{ mcp_server_names: ['code', 'nowhere'] }, /mcp_server_names: .*nowhere/],
    [{ required_tools: ['mcp_code_searchTools', 'mcp_code_nothing'] }, /required_tools: .*mcp_code_nothing/], [{ additional_imports: ['json', 'no-such-package'] }, /additional_imports: .*no-such-package$/],
    [{ session_id: 'a/b' }, /session_id/],
  ];
  for (const [more, why] of REFUSED)
    for (const tool of ['executeCode', 'asyncExecuteCode']) {
      let answer = await json(tool, { script: 'print("ran")\nresult = 1', ...more });
      if (answer.status !== 'failed') answer = await json('checkCodeExecStatus', { execution_uuid: answer.execution_uuid });
      assert.deepEqual([answer.status, answer.stdout || ''], ['failed', ''], JSON.stringify(more));
      assert.match(answer.error, why);
    }
  for (const more of [{ timeout: 0 }, { timeout: 301 }, { output_vars: 'x' }, { input_vars: [1] }, { required_tools: [1] }, { mcp_server_names: 'code' }])
    assert.match((await peer.call('executeCode', { script: 'result = 1', ...more })).content[0].text, /Input validation error/, JSON.stringify(more));
  const known = { mcp_server_names: ['CODE'], required_tools: ['mcp_code_searchTools'], additional_imports: ['json'], output_vars: { a: 'any' } };
  assert.deepEqual((await json('executeCode', { script: 'a = 2', ...known })).result, { a: 2 });
  assert.match((await peer.call('checkCodeExecStatus', { execution_uuid: 'x' })).content[0].text, /Unknown/);
  const found = await json('searchTools', { query: 'execute' });
  assert.ok(found.tools.length > 0);
  for (const tool_name of ['executeTool', 'mcp_code_executeTool']) assert.equal((await json('getToolDetails', { tool_name })).name, 'executeTool');
  const viaFunction = await json('executeCode', { script: 'result = mcp_code_searchTools(query="status")["count"]' });
  assert.ok(viaFunction.result >= 1, JSON.stringify(viaFunction));
  assert.ok((await json('executeCode', { script: 'from datagen_sdk import DatagenClient\nresult = DatagenClient().execute_tool("mcp_code_searchTools", {"query": "status"})["count"]' })).result >= 1);
});
