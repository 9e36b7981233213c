// The 196 tests of Code Execution MCP's own suite, each as the behaviour that it is about, seen from a client of the profile with its
// tools. Two expect what no program can give (a wrong sum, a pattern that is escaped twice) and one looks for the name __import__ among the
// builtins, where Python itself needs it for `import`: these three are shown as what holds instead.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startCode } from '../lib/code.mjs';
import { ModernHttpPeer, fixture, node, policyFile, startServe, tempDir } from '../lib/index.mjs';

const OPTIONS = { profile: 'code-execution-mcp' };
const seen = new Set();
const names = (rows) => rows.forEach(([name]) => assert.ok(!seen.has(name) && seen.add(name), `${name} stands here twice`));
const both = (text) => `sanitized, tokens = tokenize_pii(${JSON.stringify(text)})\n`;

// ---- sandbox_execution: 28 ----

const BUILTINS = (list, wanted) => [`result = [name in __builtins__ for name in ${JSON.stringify(list)}]`, list.map(() => wanted)];
const ROWS = "[{'name': 'Alice', 'status': 'active'}, {'name': 'Bob', 'status': 'inactive'}, {'name': 'Charlie', 'status': 'active'}]";
// [test, code, result, context_vars?]
const RUNS = [
  ['safe_builtins_contains_basic_functions', ...BUILTINS(['abs', 'len', 'sum', 'range', 'int', 'str', 'list', 'dict'], true)],
  ['safe_builtins_contains_exceptions', ...BUILTINS(['Exception', 'ValueError', 'TypeError', 'KeyError'], true)],
  ['safe_builtins_contains_constants', 'result = [__builtins__["True"], __builtins__["False"], __builtins__["None"]]', [true, false, null]],
  ['safe_builtins_excludes_dangerous_functions', ...BUILTINS(['exec', 'eval', 'compile', 'open', 'input'], false)], // and __import__: refuses os, see below
  ['safe_globals_contains_modules', 'result = [type(m).__name__ for m in (json, re, math, statistics, collections, datetime)]', ['module', 'module', 'module', 'module', 'module', 'type']],
  ['safe_globals_contains_workspace_utilities', 'result = [callable(f) for f in (read_file, write_file, list_files, delete_file)] + [workspace]', [true, true, true, true, '/workspace']],
  ['safe_globals_contains_pii_utilities', 'result = [callable(tokenize_pii), callable(detokenize_pii)]', [true, true]],
  ['safe_globals_contains_data_utilities', 'result = [callable(f) for f in (filter_by_field, summarize_list, aggregate_stats, format_output)]', [true, true, true, true]],
  ['safe_globals_with_context_vars', 'result = [my_var, my_list]', [42, [1, 2, 3]], { my_var: 42, my_list: [1, 2, 3] }],
  ['execute_simple_code', 'data = [1, 2, 3, 4, 5]\nresult = sum(data) * 2', 30], // it expects 20
  ['execute_code_with_context_variables', 'result = input_value * multiplier', 15, { input_value: 5, multiplier: 3 }],
  ['execute_code_uses_safe_modules', 'import json\nimport math\ndata = json.dumps({"value": math.sqrt(16)})\nresult = json.loads(data)["value"]', 4],
  ['execute_code_uses_datetime', 'from datetime import datetime, timedelta\nresult = (datetime(2024, 1, 1, 12, 0, 0) + timedelta(hours=5)).hour', 17],
  ['execute_code_no_result', 'x = 42', null],
  ['execute_code_list_result', 'result = [i ** 2 for i in range(5)]', [0, 1, 4, 9, 16]],
  ['execute_code_dict_result', "result = {'name': 'test', 'values': [1, 2, 3], 'nested': {'key': 'value'}}", { name: 'test', values: [1, 2, 3], nested: { key: 'value' } }],
  ['filter_by_field', `result = filter_by_field(${ROWS}, 'status', 'active')`, [{ name: 'Alice', status: 'active' }, { name: 'Charlie', status: 'active' }]],
  ['summarize_list', 'result = summarize_list(list(range(100)), limit=5)', { count: 100, sample: [0, 1, 2, 3, 4] }],
  ['aggregate_stats', "result = aggregate_stats([{'value': 10, 'score': 1}, {'value': 20, 'score': 2}, {'value': 30, 'score': 3}], ['value', 'score'])",
    { count: 3, value_sum: 60, value_avg: 20, value_min: 10, value_max: 30, score_sum: 6, score_avg: 2, score_min: 1, score_max: 3 }],
  ['format_output', "result = format_output({'a': 1, 'b': [1, 2]})", '{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ]\n}'],
  // code_validation: patterns that work
  ['math_operations', 'import math\nresult = abs(math.sqrt(16) + math.pi - 7.141592653589793) < 0.0001', true],
  ['string_operations', 'text = "Hello, World!"\nresult = text.upper().replace("WORLD", "PYTHON")', 'HELLO, PYTHON!'],
  ['list_comprehensions', 'result = [x ** 2 for x in range(10) if x % 2 == 0]', [0, 4, 16, 36, 64]],
  ['dict_comprehensions', 'result = {str(i): i ** 2 for i in range(5)}', { 0: 0, 1: 1, 2: 4, 3: 9, 4: 16 }],
  ['json_operations', "import json\nresult = json.loads(json.dumps({'key': 'value', 'number': 42}))", { key: 'value', number: 42 }],
  ['regex_operations', "import re\nresult = re.findall(r'\\b\\w{5}\\b', 'The quick brown fox')", ['quick', 'brown']], // it escapes twice
  ['statistics_operations', 'import statistics\ndata = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nresult = {"mean": statistics.mean(data), "median": statistics.median(data)}', { mean: 5.5, median: 5.5 }],
  ['collections_operations', 'from collections import Counter\nresult = dict(Counter(["a", "b", "a", "c", "a"]))', { a: 3, b: 1, c: 1 }],
  // code_validation: the list of blocked names
  ...[['os', ['os']], ['subprocess', ['subprocess']], ['socket', ['socket']], ['sys', ['sys']], ['network_modules', ['urllib', 'requests', 'http', 'ftplib', 'smtplib', 'telnetlib', 'ssl']],
    ['introspection', ['builtins', '__builtins__', 'globals', 'locals', 'vars', 'dir']]]
    .map(([name, list]) => [`blocked_imports_contains_${name}`, `result = [name for name in ${JSON.stringify(list)} if name not in BLOCKED_IMPORTS]`, []]),
  // pii_handling, in code
  ['tokenize_email', `${both('Contact us at john.doe@example.com for more info.')}result = ["john.doe@example.com" in sanitized, "[EMAIL_" in sanitized, list(tokens.values())]`, [false, true, ['john.doe@example.com']]],
  ['tokenize_phone', `${both('Call us at 555-123-4567 or (555) 987-6543.')}result = ["555-123-4567" in sanitized, "[PHONE_" in sanitized, len(tokens) >= 1]`, [false, true, true]],
  ['tokenize_ssn', `${both('SSN: 123-45-6789')}result = ["[SSN_" in sanitized, list(tokens.values())]`, [true, ['123-45-6789']]],
  ['tokenize_credit_card', `${both('Card number: 4111-1111-1111-1111')}result = ["4111" in sanitized, "[CREDIT_CARD_" in sanitized, len(tokens)]`, [false, true, 1]],
  ['tokenize_ip_address', `${both('Server IP: 192.168.1.100')}result = ["[IP_ADDRESS_" in sanitized, list(tokens.values())]`, [true, ['192.168.1.100']]],
  ['tokenize_api_key', `${both('api_key=sk_test_abcdefghijklmnop1234567890')}result = ["sk_test" in sanitized, "[API_KEY_" in sanitized]`, [false, true]],
  ['tokenize_multiple_pii', `${both('\n Name: John Doe\n Email: john@example.com\n Phone: 555-123-4567\n SSN: 123-45-6789\n')}result = [any(v in sanitized for v in ("john@example.com", "555-123-4567", "123-45-6789")), len(tokens) >= 3]`, [false, true]],
  ['tokenize_no_pii', `${both('This is a regular message with no personal info.')}result = [sanitized, tokens]`, ['This is a regular message with no personal info.', {}]],
  ['token_format_consistent', `${both('Email: test@example.com')}result = [bool(re.fullmatch(r"\\[[A-Z_]+_[0-9A-Za-z]+\\]", t)) for t in tokens]`, [true]],
  ...[['email', 'Contact: john@example.com'], ['phone', 'Call: 555-123-4567'], ['multiple', 'Email: a@b.com, Phone: 555-111-2222, SSN: 111-22-3333']]
    .map(([name, text]) => [`detokenize_restores_${name}`, `${both(text)}result = [detokenize_pii(sanitized, tokens), any(v in sanitized for v in tokens.values())]`, [text, false]]),
  ['detokenize_uses_global_tokens', `${both('Email: global@test.com')}result = detokenize_pii(sanitized)`, 'Email: global@test.com'],
  ['tokenize_pii_available_in_sandbox', `${both('Email: test@example.com')}result = ["test@example.com" in sanitized, len(tokens)]`, [false, 1]],
  ['detokenize_pii_available_in_sandbox', `text = "SSN: 123-45-6789"\n${both('SSN: 123-45-6789')}result = detokenize_pii(sanitized, tokens) == text`, true],
  ['pii_privacy_in_output', 'rows = [{"name": "John", "email": "john@example.com"}, {"name": "Jane", "email": "jane@test.org"}]\nresult = [{"name": r["name"], "hidden": "@" not in tokenize_pii(r["email"])[0]} for r in rows]',
    [{ name: 'John', hidden: true }, { name: 'Jane', hidden: true }]],
  ['partial_matches_not_tokenized', `${both("The word 'email' should not be tokenized")}result = [sanitized, len(tokens)]`, ["The word 'email' should not be tokenized", 0]],
  ['multiple_same_pii', `${both('Email: test@example.com. Reply to test@example.com')}result = [sanitized.count("[EMAIL_"), len(tokens)]`, [2, 1]],
  ['adjacent_pii', `${both('test@example.com555-123-4567')}result = ["test@example.com" in sanitized, "555-123-4567" in sanitized]`, [false, false]],
  ['pii_in_json_structure', `${both('{"email": "user@domain.com", "phone": "555-111-2222"}')}result = ["user@domain.com" in sanitized, "555-111-2222" in sanitized, '{"email":' in sanitized, '"phone":' in sanitized]`, [false, false, true, true]],
  // workspace, in code
  ['read_existing_file', 'write_file("test.txt", "Hello, World!")\nresult = read_file("test.txt")', 'Hello, World!'],
  ['read_nested_file', 'write_file("subdir/nested.txt", "Nested content")\nresult = read_file("subdir/nested.txt")', 'Nested content'],
  ['read_absolute_path_denied', 'try:\n    result = read_file("/etc/passwd")\nexcept (PermissionError, FileNotFoundError):\n    result = "refused"', 'refused'],
  ['write_new_file', 'result = ["Written" in write_file("new.txt", "New content"), read_file("new.txt")]', [true, 'New content']],
  ['write_creates_subdirectories', 'result = ["Written" in write_file("deep/nested/file.txt", "Deep content"), read_file("deep/nested/file.txt")]', [true, 'Deep content']],
  ['write_overwrites_existing', 'write_file("overwrite.txt", "Original")\nwrite_file("overwrite.txt", "Updated")\nresult = read_file("overwrite.txt")', 'Updated'],
  ['write_reports_bytes_written', 'result = "17" in write_file("bytes.txt", "Test content here")', true],
  ['delete_existing_file', 'write_file("to_delete.txt", "Delete me")\nresult = ["Deleted" in delete_file("to_delete.txt"), "to_delete.txt" in list_files()]', [true, false]],
  ['workspace_path_available', 'result = "workspace" in workspace', true],
  ['file_round_trip', 'write_file("roundtrip.json", \'{"key": "value"}\')\ncontent = read_file("roundtrip.json")\nimport json\ndata = json.loads(content)\ndelete_file("roundtrip.json")\nresult = [data, "roundtrip.json" in list_files()]', [{ key: 'value' }, false]],
  ...[['cannot_escape_workspace_with_dotdot', 'read_file("../../../etc/passwd")'], ['cannot_write_outside_workspace', 'write_file("../../../tmp/malicious.txt", "bad")'], ['cannot_delete_outside_workspace', 'delete_file("../../../tmp/x")']]
    .map(([name, call]) => [name, `try:\n    ${call}\n    result = {"blocked": False}\nexcept PermissionError:\n    result = {"blocked": True}`, { blocked: true }]),
  ...[['read_nonexistent_file_raises', 'read_file("does_not_exist.txt")', 'FileNotFoundError', 'File not found'], ['read_outside_workspace_denied', 'read_file("../../../etc/passwd")', 'PermissionError', 'path outside workspace'],
    ['write_outside_workspace_denied', 'write_file("../../../tmp/malicious.txt", "bad")', 'PermissionError', 'path outside workspace'], ['list_outside_workspace_denied', 'list_files("../../")', 'PermissionError', 'path outside workspace'],
    ['delete_nonexistent_file_raises', 'delete_file("nonexistent.txt")', 'FileNotFoundError', 'File not found'], ['delete_outside_workspace_denied', 'delete_file("../../../tmp/file.txt")', 'PermissionError', 'path outside workspace'],
    ['load_nonexistent_skill_raises', 'load_skill("nonexistent_skill")', 'FileNotFoundError', 'Skill not found']]
    .map(([name, call, type, words]) => [name, `try:\n    ${call}\n    result = "no error"\nexcept ${type} as e:\n    result = ${JSON.stringify(words)} in str(e)`, true]),
  // skills, in code
  ['save_skill_from_sandbox', 'result = [save_skill("filter_active", "def filter_active(data):\\n    return [d for d in data if d.get(\'active\')]\\n", "Filter active items"), len(list_skills()) >= 1]', ["Skill 'filter_active' saved successfully", true]],
  ['load_existing_skill', 'save_skill("loadable_skill", "def load_me(): pass", "")\nresult = load_skill("loadable_skill")', 'def load_me(): pass'],
];

// [test, code, what the error says]
const FAILS = [
  ['execute_code_with_error', 'result = 1 / 0', /ZeroDivisionError|division by zero/], ['execute_code_syntax_error', 'def broken(', /SyntaxError|never closed|invalid/],
  ['os_import_blocked_at_runtime', 'import os\nresult = os.getcwd()', /os/], ['subprocess_import_blocked_at_runtime', "import subprocess\nresult = subprocess.run(['ls'])", /subprocess/],
  ['socket_import_blocked_at_runtime', "import socket\ns = socket.socket()\nresult = 'opened'", /socket/], ['open_function_not_available', "f = open('/etc/passwd', 'r')\nresult = f.read()", /open/],
  ['dynamic_code_evaluation_not_available', "result = eval('1 + 1')", /eval/], ['compile_not_available', "code_obj = compile('x = 1', '<string>', 'single')\nresult = 'compiled'", /compile/],
  ['dunder_import_blocked', "os = __import__('os')\nresult = os.getcwd()", /os/], ['input_not_available', "result = input('Enter: ')", /input/],
];

// [test, code, words that the warnings have; none: no warning]
const CHECKED = [
  ['detects_direct_import_os', 'import os', ['os']], ['detects_from_import_os', 'from os import path', ['os']], ['detects_import_subprocess', 'import subprocess', ['subprocess']],
  ['detects_import_socket', 'import socket', ['socket']], ['detects_dunder_import', "__import__('os')", ['os']],
  ...['class', 'bases', 'subclasses', 'globals', 'mro', 'code'].map((name) => [`detects_${name}_attribute`, `x = y.__${name}__`, [`__${name}__`]]),
  ['no_warnings_for_safe_code', 'data = [1, 2, 3, 4, 5]\nresult = sum(data)\nprint(f"Sum is {result}")', []], ['no_warnings_for_safe_imports', 'import json\nimport math\nimport re\nfrom datetime import datetime', []],
  ['multiple_violations', "import os\nimport subprocess\nx = ''.__class__.__bases__", ['os', 'subprocess', '__class__', '__bases__']],
  ...['ctypes', 'multiprocessing', 'threading'].map((name) => [`detects_${name}_import`, `import ${name}`, [name]]),
];

test('code that runs, code that fails, code that gets warnings', async (t) => {
  const { run } = await startCode(t, OPTIONS);
  for (const [name, code, expected, context_vars = null] of RUNS) {
    const answer = await run(code, { context_vars });
    assert.deepEqual([answer.success, answer.result], [true, expected], `${name}: ${JSON.stringify(answer)}`);
  }
  for (const [name, code, why] of FAILS) {
    const answer = await run(code);
    assert.equal(answer.success, false, name);
    assert.match(answer.error, why, name);
  }
  const { result } = await run('result = [check_for_dangerous_code(code) for code in codes]', { context_vars: { codes: CHECKED.map(([, code]) => code) } });
  CHECKED.forEach(([name, , words], i) => {
    assert.equal(result[i].length > 0, words.length > 0, `${name}: ${result[i]}`);
    for (const word of words) assert.ok(result[i].some((text) => text.includes(word)), `${name}: ${result[i]}`);
  });
  names(RUNS); names(FAILS); names(CHECKED);
});

// ---- limits, output, files, skills, personal data ----

const SAVE = [['skill1', 'code1', 'First skill'], ['skill2', 'code2', 'Second skill'], ['skill3', 'code3', 'Third skill']].map(([name, code, description]) => ({ name, code, description }));
const put = (json, ...files) => Promise.all(files.map((filename) => json('write_workspace_file', { filename, content: filename[0] })));
const wants = (value, ...keys) => keys.forEach((key) => assert.ok(key in value, `${key} in ${JSON.stringify(value)}`));
const refuses = async (json, name) => assert.match((await json('save_skill', { name, code: 'code', description: '' })).error, /alphanumeric/);
// [test, what it does with the server]
const CALLS = [
  ['context_manager_basic', async ({ run }) => assert.deepEqual([(await run('result = 1', { timeout_seconds: 30, memory_mb: 500 })).result, (await run('result = 2')).result], [1, 2])],
  ['timeout_value_passed', async ({ run }) => assert.equal((await run('while True: pass', { timeout_seconds: 2 })).error, 'Execution timed out after 2 seconds')],
  ['memory_limit_set', async ({ run }) => assert.deepEqual([(await run('x = bytearray(150 << 20)', { memory_mb: 100 })).success, (await run('x = bytearray(20 << 20)', { memory_mb: 100 })).success], [false, true])],
  ['timeout_handler_raises_timeout_error', async ({ run }) => assert.match((await run('import time\ntime.sleep(30)', { timeout_seconds: 1 })).error, /timed out/)],
  ['execute_code_with_print', async ({ run }) => {
    const answer = await run('print("Hello, World!")\nprint("Testing output capture")\nresult = 42');
    assert.deepEqual([answer.output, answer.result], [['Hello, World!', 'Testing output capture'], 42]);
  }],
  ['execute_code_execution_time_tracked', async ({ run }) => assert.ok(Number.isInteger((await run('result = sum(range(1000))')).execution_time_ms))],
  // files
  ['list_empty_directory', async ({ run }) => assert.deepEqual((await run('result = list_files()')).result, [])],
  ['list_files_in_root', async ({ run, json }) => { await put(json, 'file1.txt', 'file2.txt'); assert.deepEqual((await run('result = list_files()')).result, ['file1.txt', 'file2.txt']); }],
  ['list_includes_nested_files', async ({ run, json }) => { await put(json, 'root.txt', 'subdir/nested.txt'); assert.deepEqual((await run('result = list_files()')).result, ['root.txt', 'subdir/nested.txt']); }],
  ['list_subdirectory', async ({ run, json }) => { await put(json, 'root.txt', 'subdir/nested.txt'); assert.deepEqual((await run('result = list_files("subdir")')).result, ['subdir/nested.txt']); }],
  ['write_returns_json', async ({ json }) => { const answer = await json('write_workspace_file', { filename: 'test.txt', content: 'content' }); assert.equal(answer.success, true); wants(answer, 'message'); }],
  ['write_creates_file', async ({ json, run }) => { await json('write_workspace_file', { filename: 'created.txt', content: 'test content' }); assert.equal((await run('result = read_file("created.txt")')).result, 'test content'); }],
  ['write_error_returns_json', async ({ json }) => { const answer = await json('write_workspace_file', { filename: '../outside.txt', content: 'bad' }); assert.equal(answer.success, false); wants(answer, 'error'); }],
  ['read_returns_json', async ({ json }) => { await put(json, 'readable.txt'); const answer = await json('read_workspace_file', { filename: 'readable.txt' }); assert.equal(answer.success, true); wants(answer, 'content'); }],
  ['read_includes_content', async ({ json, run }) => { await run('write_file("content.txt", "This is the content")'); assert.equal((await json('read_workspace_file', { filename: 'content.txt' })).content, 'This is the content'); }],
  ['read_includes_size', async ({ json }) => { await json('write_workspace_file', { filename: 'sized.txt', content: '12345' }); assert.equal((await json('read_workspace_file', { filename: 'sized.txt' })).size, 5); }],
  ['read_error_returns_json', async ({ json }) => { const answer = await json('read_workspace_file', { filename: 'nonexistent.txt' }); assert.equal(answer.success, false); wants(answer, 'error'); }],
  ['list_returns_json', async ({ json }) => wants(await json('list_workspace_files'), 'success', 'files', 'count')],
  ['list_includes_files', async ({ json }) => { await put(json, 'list1.txt', 'list2.txt'); const answer = await json('list_workspace_files'); assert.deepEqual([answer.count, answer.files], [2, ['list1.txt', 'list2.txt']]); }],
  ['list_with_subpath', async ({ json }) => { await put(json, 'top.txt', 'mydir/indir.txt'); assert.equal((await json('list_workspace_files', { subpath: 'mydir' })).count, 1); }],
  ['list_error_returns_json', async ({ json }) => { const answer = await json('list_workspace_files', { subpath: '../outside' }); assert.equal(answer.success, false); wants(answer, 'error'); }],
  ['read_file_in_sandbox', async ({ json, run }) => { await json('write_workspace_file', { filename: 'sandbox_read.txt', content: 'sandbox content' }); assert.equal((await run('result = read_file("sandbox_read.txt")')).result, 'sandbox content'); }],
  ['write_file_in_sandbox', async ({ json, run }) => { await run('result = write_file("sandbox_write.txt", "written from sandbox")'); assert.equal((await json('read_workspace_file', { filename: 'sandbox_write.txt' })).content, 'written from sandbox'); }],
  ['list_files_in_sandbox', async ({ json, run }) => { await put(json, 'a.txt', 'b.txt'); assert.equal((await run('result = len(list_files())')).result, 2); }],
  ['delete_file_in_sandbox', async ({ json, run }) => { await put(json, 'to_delete.txt'); assert.equal((await run('result = delete_file("to_delete.txt")')).success, true); assert.equal((await json('list_workspace_files')).count, 0); }],
  // skills
  ['save_skill_creates_files', async ({ json }) => { assert.match((await json('save_skill', { name: 'test_skill', code: 'def test(): return 42', description: 'A test skill' })).message, /saved successfully/); wants(await json('load_skill', { name: 'test_skill' }), 'code', 'metadata'); }],
  ['save_skill_stores_code', async ({ json }) => { const code = 'def process(data): return data * 2'; await json('save_skill', { name: 'code_skill', code }); assert.equal((await json('load_skill', { name: 'code_skill' })).code, code); }],
  ['save_skill_stores_metadata', async ({ json }) => {
    await json('save_skill', { name: 'meta_skill', code: 'x = 1', description: 'Test description' });
    const { metadata } = await json('load_skill', { name: 'meta_skill' });
    assert.deepEqual([metadata.name, metadata.description], ['meta_skill', 'Test description']);
    wants(metadata, 'created', 'code_hash');
  }],
  ['save_skill_overwrites_existing', async ({ json }) => { for (const code of ['v1', 'v2']) await json('save_skill', { name: 'overwrite_skill', code }); assert.equal((await json('load_skill', { name: 'overwrite_skill' })).code, 'v2'); }],
  ['list_empty_skills', async ({ run }) => assert.deepEqual((await run('result = list_skills()')).result, [])],
  ['list_multiple_skills', async ({ json, run }) => { for (const skill of SAVE) await json('save_skill', skill); assert.deepEqual((await run('result = sorted(s["name"] for s in list_skills())')).result, ['skill1', 'skill2', 'skill3']); }],
  ['list_includes_metadata', async ({ json, run }) => { await json('save_skill', SAVE[0]); wants((await run('result = list_skills()[0]')).result, 'name', 'description', 'created', 'code_hash'); }],
  ['save_skill_returns_json', async ({ json }) => assert.equal((await json('save_skill', { name: 'valid_name', code: 'code', description: 'description' })).success, true)],
  ['save_skill_validates_name_alphanumeric', ({ json }) => refuses(json, 'invalid-name')], ['save_skill_validates_name_no_spaces', ({ json }) => refuses(json, 'invalid name')],
  ['save_skill_validates_name_no_special_chars', ({ json }) => refuses(json, 'invalid@name')], ['save_skill_name_cannot_start_with_number', ({ json }) => refuses(json, '123skill')],
  ['save_skill_allows_underscores', async ({ json }) => assert.equal((await json('save_skill', { name: 'valid_skill_name', code: 'code' })).success, true)],
  ['load_skill_returns_json', async ({ json }) => { await json('save_skill', SAVE[0]); wants(await json('load_skill', { name: 'skill1' }), 'name', 'code', 'metadata'); }],
  ['load_skill_includes_code', async ({ json }) => { await json('save_skill', SAVE[1]); assert.equal((await json('load_skill', { name: 'skill2' })).code, 'code2'); }],
  ['load_skill_includes_metadata', async ({ json }) => { await json('save_skill', SAVE[2]); assert.equal((await json('load_skill', { name: 'skill3' })).metadata.description, 'Third skill'); }],
  ['load_nonexistent_skill_error', async ({ json }) => assert.match((await json('load_skill', { name: 'does_not_exist' })).error.toLowerCase(), /not found/)],
  ['list_skills_returns_json', async ({ json }) => wants(await json('list_skills'), 'count', 'skills')],
  ['list_skills_counts_correctly', async ({ json }) => { for (const skill of SAVE.slice(1)) await json('save_skill', skill); assert.equal((await json('list_skills')).count, 2); }],
  ['load_skill_from_sandbox', async ({ json, run }) => { await json('save_skill', { name: 'loadable', code: 'def run(): return 99' }); assert.match((await run('result = load_skill("loadable")')).result, /def run\(\)/); }],
  ['list_skills_from_sandbox', async ({ json, run }) => { for (const skill of SAVE.slice(1)) await json('save_skill', skill); assert.equal((await run('result = len(list_skills())')).result, 2); }],
  ['skill_reuse_workflow', async ({ json, run }) => { await json('save_skill', { name: 'double_values', code: 'def double(x): return x * 2' }); assert.deepEqual((await run('code = load_skill("double_values")\nexec(code)\nresult = ["def double" in code, double(4)]')).result, [true, 8]); }],
  // personal data
  ...[['email', 'a@b.com', 'EMAIL'], ['phone', '555-123-4567', 'PHONE'], ['ssn', '123-45-6789', 'SSN'], ['credit_card', '4111-1111-1111-1111', 'CREDIT_CARD'], ['ip_address', '192.168.1.100', 'IP_ADDRESS'], ['api_key', 'token=abcdefghijklmnopqrstuvwx', 'API_KEY']]
    .map(([name, text, kind]) => [`${name}_pattern_exists`, async ({ json }) => assert.deepEqual((await json('sanitize_pii', { text })).pii_types, [kind])]),
  ['sanitize_returns_json', async ({ json }) => wants(await json('sanitize_pii', { text: 'Email: test@example.com' }), 'sanitized_text', 'pii_found', 'pii_types')],
  ['sanitize_counts_pii', async ({ json }) => assert.ok((await json('sanitize_pii', { text: 'Email: a@b.com, Phone: 555-111-2222' })).pii_found >= 2)],
  ['sanitize_identifies_types', async ({ json }) => assert.deepEqual((await json('sanitize_pii', { text: 'Email: a@b.com, SSN: 123-45-6789' })).pii_types, ['EMAIL', 'SSN'])],
  ['restore_returns_json', async ({ json }) => wants(await json('restore_pii', { text: '[EMAIL_abc12345]' }), 'restored_text')],
  ['restore_workflow', async ({ json }) => {
    const text = 'Contact john@example.com at 555-123-4567';
    const { sanitized_text } = await json('sanitize_pii', { text });
    assert.doesNotMatch(sanitized_text, /john|4567/);
    assert.equal((await json('restore_pii', { text: sanitized_text })).restored_text, text);
  }],
];

// Skills are permanent, so the test that counts them has a server of its own.
const COUNTS = /^list_(empty_skills|multiple_skills|includes_metadata|skills_)/;

test('limits, files, skills, personal data', async (t) => {
  const shared = await startCode(t, OPTIONS);
  for (const [name, body] of CALLS)
    await t.test(name, async (own) => {
      await shared.run('for name in list_files(): delete_file(name)');
      await body(COUNTS.test(name) ? await startCode(own, OPTIONS) : shared);
    });
  names(CALLS);
});

// ---- tool_registry: 35, with servers that have the tools of its sample catalogue ----

const CATALOGUE = {
  security: [['fraud-detection', 'Detect fraudulent behavior: detect_fraud, analyze_patterns; for transaction monitoring and user verification.']],
  memory: [['enhanced-memory', 'Persistent semantic memory: create_entities, search_nodes; for knowledge storage and entity management.'], ['semantic-cache', 'Cache with semantic matching: cache_get, cache_set; for result caching and query deduplication.']],
};
let gate, peer;
const ask = async (name, args = {}) => JSON.parse((await peer.call(name, args)).content[0].text);
const search = async (query, more = {}) => ask('search_tools', { query, ...more });

before(async () => {
  const source = String(async ({ serve, args }) => serve({ 'tools/list': () => ({ tools: args.map(([name, description]) => ({ name, description, inputSchema: { type: 'object' } })) }) }));
  const servers = Object.fromEntries(Object.entries(CATALOGUE).map(([name, tools]) => [name, { command: node, args: [fixture('raw-stdio.mjs'), source, JSON.stringify(tools)] }]));
  gate = await startServe({ config: { version: '1', policy: policyFile({ version: '1', default: 'allow' }), servers, code: { enabled: true, profile: 'code-execution-mcp' } }, env: { SALLYPORT_HOME: join(tempDir(), 'home') }, args: ['--no-auth'] });
  peer = new ModernHttpPeer(`${gate.origin}/mcp/code`);
});
after(() => gate?.stop());

const has = async (query, more) => assert.ok((await search(query, more)).count >= 1, query);
const REGISTRY = [
  ['get_catalog_returns_dict', async () => assert.equal(typeof await ask('list_tool_categories'), 'object')],
  ['get_catalog_has_categories', async () => wants((await ask('list_tool_categories')).categories, 'memory', 'security')],
  ['get_catalog_caches_result', async () => assert.deepEqual(await ask('list_tool_categories'), await ask('list_tool_categories'))],
  ['search_by_name', async () => assert.ok((await search('fraud')).tools.some(({ name }) => name.includes('fraud')))],
  ['search_by_description', () => has('memory')], ['search_by_function', () => has('create_entities')], ['search_by_use_case', () => has('transaction')],
  ['search_with_category_filter', async () => { await has('memory', { category: 'memory' }); assert.ok((await search('memory', { category: 'memory' })).tools.every(({ category }) => category === 'memory')); }],
  ['search_no_results', async () => assert.equal((await search('xyznonexistent123')).count, 0)],
  ['search_case_insensitive', async () => assert.equal((await search('fraud')).count, (await search('FRAUD')).count)],
  ['search_returns_tool_details', async () => wants((await search('enhanced-memory')).tools[0], 'name', 'category', 'mcp_server', 'description')],
  ['get_existing_tool', async () => wants(await ask('get_tool_definition', { tool_name: 'enhanced-memory' }), 'description', 'functions')],
  ['get_nonexistent_tool', async () => assert.equal(await ask('get_tool_definition', { tool_name: 'nonexistent-tool-xyz' }), null)],
  ['get_tool_includes_category', async () => assert.equal((await ask('get_tool_definition', { tool_name: 'enhanced-memory' })).category, 'memory')],
  ['list_categories_returns_dict', async () => assert.equal(typeof (await ask('list_tool_categories')).categories, 'object')],
  ['list_categories_has_descriptions', async () => Object.values((await ask('list_tool_categories')).categories).forEach((each) => wants(each, 'description'))],
  ['list_categories_has_tool_counts', async () => assert.deepEqual(Object.entries((await ask('list_tool_categories')).categories).filter(([name]) => name in CATALOGUE).map(([name, { tool_count }]) => [name, tool_count]).sort(), [['memory', 2], ['security', 1]])],
  ['search_tools_returns_json', async () => wants(await search('memory'), 'query', 'count', 'tools')],
  ['search_tools_summary_mode', async () => { const [tool] = (await search('memory', { detail_level: 'summary' })).tools; wants(tool, 'name', 'description'); assert.ok(!('use_cases' in tool)); }],
  ['search_tools_full_mode', async () => wants((await search('memory', { detail_level: 'full' })).tools[0], 'functions', 'use_cases')],
  ['search_tools_with_category', async () => assert.deepEqual((await search('', { category: 'security' })).tools.map(({ category }) => category), ['security'])],
  ['search_tools_includes_query_in_response', async () => assert.equal((await search('test_query')).query, 'test_query')],
  ['get_definition_returns_json', async () => assert.equal((await ask('get_tool_definition', { tool_name: 'enhanced-memory' })).name, 'enhanced-memory')],
  ['get_definition_includes_functions', async () => assert.ok(Array.isArray((await ask('get_tool_definition', { tool_name: 'enhanced-memory' })).functions))],
  ['get_definition_includes_use_cases', async () => assert.ok(Array.isArray((await ask('get_tool_definition', { tool_name: 'enhanced-memory' })).use_cases))],
  ['get_definition_nonexistent_tool', async () => assert.equal(await ask('get_tool_definition', { tool_name: 'totally-fake-tool' }), null)],
  ['list_categories_returns_json', async () => wants(await ask('list_tool_categories'), 'categories')],
  ['list_categories_includes_totals', async () => assert.ok((await ask('list_tool_categories')).total_tools >= 3)],
  ['list_categories_includes_core_mcps', async () => assert.ok(Array.isArray((await ask('list_tool_categories')).core_mcps))],
  ['discovery_workflow', async () => {
    const [{ name }] = (await search('memory', { detail_level: 'summary', category: Object.keys((await ask('list_tool_categories')).categories).find((each) => each === 'memory') })).tools;
    wants(await ask('get_tool_definition', { tool_name: name }), 'functions');
  }],
  ['token_efficiency_summary_vs_full', async () => assert.ok(JSON.stringify(await search('memory')).length <= JSON.stringify(await search('memory', { detail_level: 'full' })).length)],
  ['empty_query_search', async () => assert.ok(Array.isArray((await search('')).tools))], ['special_characters_in_query', async () => assert.ok(Array.isArray((await search('test@#$%')).tools))],
  ['unicode_in_query', async () => assert.ok(Array.isArray((await search('mémoire ☃')).tools))], ['very_long_query', async () => assert.equal((await search('a'.repeat(1000))).count, 0)],
];

test('the catalogue', async () => {
  for (const [name, body] of REGISTRY) await body().catch((error) => { error.message = `${name}: ${error.message}`; throw error; });
  names(REGISTRY);
});

after(() => assert.equal(seen.size, 196));
