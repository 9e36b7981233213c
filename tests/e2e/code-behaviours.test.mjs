// What users of Code Execution MCP rely on, in both profiles that have its tools: the native one and its own. Its own suite has
// 196 tests, of which two expect what no program can give (a wrong sum, a pattern escaped twice). Restated as 45 behaviours:
//
//   tests  about       behaviours  | tests  about      behaviours
//      15  execution   B1–B10      |    25  skills     B28–B32
//       4  limits      B11–B13     |    35  catalogue  B33–B39
//       9  environment B14, B15    |    38  files      B40–B45
//      31  rejection   B16–B18     |     8  patterns   with B6 and B9
//      31  personal    B19–B27     |
//
// Each line below that shows one says which; the last test counts them.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCode } from '../lib/code.mjs';

const PROFILES = ['native', 'code-execution-mcp'];
const both = (name, body) => PROFILES.forEach((profile) => test(`${profile}: ${name}`, async (t) => body(await startCode(t, { profile }), profile)));

// [code, result] B1 B6 B7 B8 B9 B10 B14 B15; files B40 B41 B42 B43 B45; skills B29 B32; personal data B25 B27
const RESULTS = [
  ['result = sum([1, 2, 3, 4, 5]) * 2', 30],
  ['result = [x * 2 for x in range(5)]', [0, 2, 4, 6, 8]],
  ['result = {"a": [1, {"b": None}], "c": True, "d": 1.5}', { a: [1, { b: null }], c: true, d: 1.5 }],
  ['x = 1', null],
  ['result = "Hello, World".upper().split(", ")', ['HELLO', 'WORLD']],
  ['import json\nresult = json.loads(json.dumps({"k": [1, 2]}))', { k: [1, 2] }],
  ['import math\nresult = math.floor(math.sqrt(17))', 4],
  ['from datetime import datetime, timedelta\nresult = (datetime(2026, 1, 1) + timedelta(days=1)).isoformat()', '2026-01-02T00:00:00'],
  ['import statistics\nd = list(range(1, 11))\nresult = [statistics.mean(d), statistics.median(d)]', [5.5, 5.5]],
  ['import re\nresult = re.findall(r"\\d+", "a1b22")', ['1', '22']],
  ['from collections import Counter\nresult = Counter("abca").most_common(1)', [['a', 2]]],
  ['class A:\n    def f(self):\n        return 7\nresult = A().f()', 7],
  ['result = [abs(-1), len("ab"), int("3"), str(4), list((1,)), dict(a=1), True, None]', [1, 2, 3, '4', [1], { a: 1 }, true, null]],
  ['try:\n    int("x")\nexcept (ValueError, TypeError, KeyError) as e:\n    result = type(e).__name__', 'ValueError'],
  ['result = filter_by_field([{"s": "a", "v": 1}, {"s": "b", "v": 2}, {"s": "a", "v": 3}], "s", "a")', [{ s: 'a', v: 1 }, { s: 'a', v: 3 }]],
  ['result = summarize_list(range(100), 5)', { count: 100, sample: [0, 1, 2, 3, 4] }],
  ['result = summarize_list([1, 2])', { count: 2, sample: [1, 2] }],
  ['result = aggregate_stats([{"v": 10}, {"v": 20}, {"v": 30}], ["v"])', { count: 3, v_sum: 60, v_avg: 20, v_min: 10, v_max: 30 }],
  ['result = format_output({"a": 1})', '{\n  "a": 1\n}'],
  ['result = len(format_output("x" * 9000, 100)) < 200', true],
  ['result = [json.dumps(1), re.sub("a", "b", "a"), math.pi > 3, statistics.mean([1]), collections.OrderedDict(a=1)["a"], date(2026, 1, 2).day]', ['1', 'b', true, 1, 1, 2]],
  ['result = workspace', '/workspace'],
  // files
  ['write_file("notes/a.txt", "hello")\nresult = [read_file("notes/a.txt"), list_files(), list_files("notes")]', ['hello', ['notes/a.txt'], ['notes/a.txt']]],
  ['result = "Written" in write_file("t.txt", "12345") and "5" in write_file("t.txt", "12345")', true],
  ['delete_file("t.txt")\nresult = list_files()', ['notes/a.txt']],
  ['result = list_files("none")', []],
  ['try:\n    read_file("../../../etc/passwd")\nexcept PermissionError as e:\n    result = {"blocked": True, "why": "path outside workspace" in str(e)}', { blocked: true, why: true }],
  ['try:\n    write_file("/etc/x", "y")\nexcept PermissionError:\n    result = "blocked"', 'blocked'],
  ['try:\n    read_file("missing.txt")\nexcept FileNotFoundError as e:\n    result = "File not found" in str(e)', true],
  ['try:\n    delete_file("missing.txt")\nexcept FileNotFoundError:\n    result = True', true],
  ['try:\n    delete_file("../x")\nexcept PermissionError:\n    result = True', true],
  ['try:\n    list_files("../..")\nexcept PermissionError:\n    result = True', true],
  // skills
  ['save_skill("double", "def double(x):\\n    return 2 * x\\n", "doubles")\nresult = [s["name"] for s in list_skills()]', ['double']],
  ['result = load_skill("double").startswith("def double")', true],
  ['import double\nresult = double.double(21)', 42],
  ['from skills import double\nresult = double.double(4)', 8],
  ['try:\n    load_skill("nothing")\nexcept FileNotFoundError as e:\n    result = "not found" in str(e)', true],
  ['try:\n    save_skill("not-a-name", "x")\nexcept ValueError as e:\n    result = "alphanumeric" in str(e)', true],
  // personal data
  ['rows = [{"mail": "a@example.com"}, {"mail": "b@example.com"}]\nresult = "@" in json.dumps([{k: tokenize_pii(v)[0] for k, v in r.items()} for r in rows])', false],
  ['text, tokens = tokenize_pii("mail ann@example.com")\nresult = ["@" in text, len(tokens), detokenize_pii(text, tokens), detokenize_pii(text)]', [false, 1, 'mail ann@example.com', 'mail ann@example.com']],
];

both('values, files, skills and personal data from code', async ({ run }) => {
  for (const [code, expected] of RESULTS) {
    const answer = await run(code);
    assert.equal(answer.success, true, `${code}\n${JSON.stringify(answer)}`);
    assert.deepEqual(answer.result, expected, code);
    assert.ok(Number.isInteger(answer.execution_time_ms), code);
  }
});

// B2 B3
both('output is a list of lines, context_vars are globals', async ({ run }) => {
  const answer = await run('print("one")\nprint("two", who)\nresult = n + 1', { context_vars: { who: 'ann', n: 41 } });
  assert.deepEqual([answer.output, answer.result], [['one', 'two ann'], 42]);
  assert.equal((await run('result = n', { context_vars: null })).success, false, 'nothing of it stays');
});

// [code, what the error says] B4 B5
const FAILURES = [
  ['1 / 0', /division by zero/],
  ['def broken(:', /SyntaxError|invalid syntax/],
  ['raise ValueError("boom")', /boom/],
  ['undefined_name', /undefined_name/],
  ['raise SystemExit(3)', /SystemExit|3/],
];

both('failures say why, with a traceback and the output so far', async ({ run, peer }, profile) => {
  for (const [code, why] of FAILURES) {
    const answer = await run(`print("before")\n${code}`);
    assert.equal(answer.success, false, code);
    assert.match(`${answer.error} ${answer.traceback}`, why);
    if (!/broken/.test(code)) assert.deepEqual(answer.output, ['before']);
    assert.doesNotMatch(JSON.stringify(answer), /\/(root|home|usr|work|tmp)\//, 'no path of this machine');
  }
  const { isError } = await peer.call('execute_code', { code: '1/0' });
  assert.equal(isError ?? false, profile === 'native', 'only the native profile marks it');
});

// B11 B13
both('the wall clock ends what does not end', async ({ run }) => {
  for (const code of ['while True: pass', 'try:\n    while True: x = 1\nexcept Exception: pass', 'import time\ntime.sleep(60)']) {
    const answer = await run(`print("began")\n${code}`, { timeout_seconds: 1 });
    assert.equal(answer.error, 'Execution timed out after 1 seconds');
    assert.deepEqual(answer.output, ['began']);
  }
  assert.equal((await run('result = 1')).result, 1, 'and the server goes on');
});

// B12
both('memory has a limit', async ({ run }) => {
  const answer = await run('x = bytearray(400 * 1024 * 1024)', { memory_mb: 64 });
  assert.equal(answer.success, false);
  assert.match(answer.error, /[Mm]emory/);
  assert.equal((await run('x = bytearray(100 * 1024 * 1024)\nresult = len(x)', { memory_mb: 400 })).result, 104857600, 'a later run may have more');
});

// B14 B16 B17 B18
test('code-execution-mcp: builtins that are missing there are missing here', async (t) => {
  const { run } = await startCode(t, { profile: 'code-execution-mcp' });
  for (const code of ['import os', 'import subprocess', 'import socket', 'import sys', 'from urllib import request', 'import ctypes', 'open("/etc/passwd")', 'eval("1")',
    'exec("1")', 'compile("1", "", "eval")', '__import__("os")', 'input()', 'globals()', 'locals()', 'vars()', 'dir()']) {
    assert.equal((await run(`result = 1\n${code}`)).success, false, code);
  }
  const modules = ['requests', 'http', 'ftplib', 'smtplib', 'telnetlib', 'ssl', 'builtins', 'multiprocessing', 'threading'];
  const { result } = await run(modules.map((name) => `try:\n    import ${name}\nexcept ImportError as e:\n    r.append(str(e))`).join('\n') + '\nresult = r', { context_vars: { r: [] } });
  modules.forEach((name, i) => assert.ok(result?.[i]?.includes(name), `${name} is refused by name: ${result}`));
  // [code, what the warnings name]
  const CHECKED = [
    ['import os', ['os']], ['import json, subprocess as s', ['subprocess']], ['from urllib.request import urlopen', ['urllib']], ['x = __import__("socket")', ['socket']], ['a = 1; import sys', ['sys']],
    ...['__class__', '__bases__', '__subclasses__', '__globals__', '__mro__', '__code__'].map((name) => [`x.${name}`, [name]]),
    ['import os\nimport socket\n().__class__.__mro__', ['os', 'socket', '__class__', '__mro__']], ['import json\nimport math, re\nfrom datetime import datetime', []], ['result = sum(range(3))  # import os', []],
  ];
  const checked = (await run('result = [check_for_dangerous_code(code) for code in codes]', { context_vars: { codes: CHECKED.map(([code]) => code) } })).result;
  CHECKED.forEach(([code, named], i) => {
    assert.equal(checked[i].length, named.length, `${code}: ${checked[i]}`);
    named.forEach((name, j) => assert.ok(checked[i][j].includes(name), `${code}: ${checked[i]}`));
  });
  const listed = ['os', 'subprocess', 'socket', 'sys', 'urllib', 'requests', 'http', 'ftplib', 'smtplib', 'telnetlib', 'ssl', 'builtins', 'globals', 'locals', 'vars', 'dir', 'ctypes', 'multiprocessing', 'threading'];
  assert.deepEqual((await run('result = [name in BLOCKED_IMPORTS for name in names]', { context_vars: { names: listed } })).result, listed.map(() => true));
});

test('native: the whole language is there', async (t) => {
  const { run } = await startCode(t);
  const code = 'import os, sys, itertools, csv, io, zlib\nexec("y = 5")\nopen("/workspace/o.txt", "w").write("x")\nresult = [eval("y + 1"), os.listdir("/workspace"), len(dir()) > 3]';
  assert.deepEqual((await run(code)).result, [6, ['o.txt'], true]);
});

// ---- the other tools ----

both('the thirteen tools', async ({ peer }, profile) => {
  const { tools } = await peer.request('tools/list');
  const names = tools.map(({ name }) => name);
  const thirteen = ['execute_code', 'search_tools', 'get_tool_definition', 'list_tool_categories', 'save_skill', 'load_skill', 'list_skills', 'sanitize_pii', 'restore_pii',
    'write_workspace_file', 'read_workspace_file', 'list_workspace_files', 'get_execution_stats'];
  if (profile === 'native') assert.ok(thirteen.every((name) => names.includes(name)));
  else assert.deepEqual(names, thirteen);
  const { inputSchema: { properties, required } } = tools.find(({ name }) => name === 'execute_code');
  assert.deepEqual([required, properties.timeout_seconds.default, properties.memory_mb.default], [['code'], 30, 500]);
  assert.deepEqual(tools.every(({ outputSchema }) => outputSchema === undefined), profile !== 'native');
});

// B19 B20 B21 B22 B23 B24 B26
both('personal data', async ({ json }, profile) => {
  const [ip, key] = profile === 'native' ? ['IP', 'SECRET'] : ['IP_ADDRESS', 'API_KEY'];
  const CASES = [
    ['Contact test@example.com now', ['EMAIL'], 'test@example.com'], ['Call 555-123-4567', ['PHONE'], '555-123-4567'], ['SSN: 123-45-6789', ['SSN'], '123-45-6789'],
    ['Card: 1234-5678-9012-3456', ['CREDIT_CARD'], '1234-5678'], ['Server 192.168.1.1 up', [ip], '192.168.1.1'],
    ['api_key=sk_test_1234567890abcdefghij', [key], 'sk_test'], ['test@example.com555-123-4567', ['EMAIL', 'PHONE'], '555-123'],
  ];
  for (const [text, kinds, secret] of CASES) {
    const found = await json('sanitize_pii', { text });
    assert.deepEqual([found.pii_types, found.pii_found], [kinds, kinds.length], text);
    assert.ok(!found.sanitized_text.includes(secret), found.sanitized_text);
    assert.match(found.sanitized_text, new RegExp(`\\[${kinds[0]}_[0-9A-Z]+\\]`));
    assert.equal((await json('restore_pii', { text: found.sanitized_text })).restored_text, text);
  }
  for (const text of ['nothing here', 'the word email alone', '']) {
    assert.deepEqual(await json('sanitize_pii', { text }), { sanitized_text: text, pii_types: [], pii_found: 0 });
  }
  const three = await json('sanitize_pii', { text: 'ann@example.com, 555-123-4567, 123-45-6789' });
  assert.deepEqual([three.pii_found, three.sanitized_text.match(/\[[A-Z_]+_\w+\]/g).length], [3, 3]);
  const twice = await json('sanitize_pii', { text: 'a@example.com and a@example.com' });
  assert.equal(twice.pii_found, 1);
  assert.equal(new Set(twice.sanitized_text.match(/\[EMAIL_\w+\]/g)).size, 1);
  const record = JSON.parse((await json('sanitize_pii', { text: '{"name":"Ann","mail":"a@example.com"}' })).sanitized_text);
  assert.deepEqual(Object.keys(record), ['name', 'mail']);
});

// B28 B29 B30 B31
// Word for word from the documentation of Code Execution MCP; `exec` runs nothing but skills.
test('code-execution-mcp: its example of skills', async (t) => {
  const { run, json } = await startCode(t, { profile: 'code-execution-mcp' });
  await json('save_skill', {
    name: 'filter_high_risk',
    code: "def filter_high_risk(vulns): return [v for v in vulns if v['severity'] in ['high', 'critical']]",
    description: 'Filter vulnerabilities to high/critical only',
  });
  const vulns = ['low', 'high', 'critical'].map((severity) => ({ severity }));
  await json('write_workspace_file', { filename: 'scan_results.json', content: JSON.stringify(vulns) });
  const answer = await run(`
skill = load_skill("filter_high_risk")
exec(skill)
vulns = json.loads(read_file("scan_results.json"))
result = filter_high_risk(vulns)
`);
  assert.deepEqual(answer.result, vulns.slice(1), JSON.stringify(answer));
  assert.deepEqual((await run('own = {}\nexec(load_skill("filter_high_risk"), own)\nresult = ["filter_high_risk" in own, "filter_high_risk" in __builtins__, "exec" in __builtins__]')).result, [true, false, false]);
  for (const code of ['exec("result = 1")', 'exec(load_skill("filter_high_risk") + " ")', 'exec(compile)']) assert.match((await run(code)).error, /not defined/, code);
});

both('skills', async ({ json, gate }, profile) => {
  assert.deepEqual(await json('list_skills'), { count: 0, skills: [] });
  const saved = await json('save_skill', { name: 'triple', code: 'def triple(x): return 3 * x', description: 'times three' });
  assert.equal(saved.message, "Skill 'triple' saved successfully");
  const { name, code, metadata } = await json('load_skill', { name: 'triple' });
  assert.deepEqual([name, code, metadata.description], ['triple', 'def triple(x): return 3 * x', 'times three']);
  assert.match(metadata.code_hash, profile === 'native' ? /^[0-9a-f]{64}$/ : /^[0-9a-f]{32}$/);
  assert.ok(!Number.isNaN(Date.parse(metadata.created)));
  await json('save_skill', { name: 'triple', code: 'replaced = 1' });
  assert.equal((await json('load_skill', { name: 'triple' })).code, 'replaced = 1');
  const { count, skills } = await json('list_skills');
  assert.deepEqual([count, skills.length, skills[0].name, skills[0].code_hash], [1, 1, 'triple', (await json('load_skill', { name: 'triple' })).metadata.code_hash]);
  for (const bad of ['invalid-name', 'with space', 'at@', '9lives', '../../../x']) {
    assert.match((await json('save_skill', { name: bad, code: 'x' })).error, /alphanumeric/, bad);
    assert.match((await json('load_skill', { name: bad })).error, /not found/, bad);
  }
  const [owner] = readdirSync(join(gate.home, 'code'));
  const folder = join(gate.home, 'code', owner, 'skills');
  assert.equal(readFileSync(join(folder, 'triple.py'), 'utf8'), 'replaced = 1');
  assert.equal(JSON.parse(readFileSync(join(folder, 'triple.json'), 'utf8')).name, 'triple');
});

// B40 B41 B42 B44
both('files', async ({ json }) => {
  assert.deepEqual(await json('list_workspace_files'), { success: true, path: '.', files: [], count: 0 });
  assert.equal((await json('write_workspace_file', { filename: 'd/five.txt', content: '12345' })).message, 'Written 5 bytes to d/five.txt');
  assert.deepEqual(await json('read_workspace_file', { filename: 'd/five.txt' }), { success: true, filename: 'd/five.txt', content: '12345', size: 5 });
  assert.deepEqual((await json('list_workspace_files', { subpath: 'd' })).files, ['d/five.txt']);
  for (const filename of ['../../../etc/passwd', '/etc/passwd', '../workspace-evil/secret']) {
    for (const [tool, more] of [['read_workspace_file', {}], ['write_workspace_file', { content: 'x' }]]) {
      const answer = await json(tool, { filename, ...more });
      assert.deepEqual([answer.success, /outside workspace/.test(answer.error)], [false, true], `${tool} ${filename}`);
    }
  }
  assert.match((await json('read_workspace_file', { filename: 'none' })).error, /not found/);
  assert.equal((await json('list_workspace_files', { subpath: '../..' })).success, false);
});

// B33 B34 B35 B36 B37 B38 B39
both('the catalogue', async ({ json }) => {
  const categories = await json('list_tool_categories');
  for (const { description, tool_count } of Object.values(categories.categories)) assert.ok(description && Number.isInteger(tool_count));
  assert.ok(categories.total_tools >= 13 && Array.isArray(categories.core_mcps));
  const found = await json('search_tools', { query: 'SKILL' });
  assert.deepEqual([found.query, found.count, found.detail_level], ['SKILL', found.tools.length, 'summary']);
  for (const tool of found.tools) assert.deepEqual(Object.keys(tool).sort(), ['category', 'description', 'mcp_server', 'name']);
  const full = await json('search_tools', { query: 'SKILL', detail_level: 'full' });
  assert.ok(full.tools.every(({ functions, use_cases }) => Array.isArray(functions) && Array.isArray(use_cases)));
  assert.ok(JSON.stringify(found.tools).length <= JSON.stringify(full.tools).length);
  const sample = full.tools[0];
  for (const query of [sample.name, sample.description.split(/\W+/).find((word) => word.length > 5), sample.functions[0], sample.use_cases[0]].map((q) => (q?.name ?? q ?? sample.name)))
    assert.ok((await json('search_tools', { query: query.toUpperCase() })).tools.some(({ name }) => name === sample.name), query);
  assert.deepEqual(await json('list_tool_categories'), categories, 'said twice it is the same');
  const [category] = Object.keys(categories.categories);
  assert.ok((await json('search_tools', { query: '', category })).tools.every((tool) => tool.category === category));
  for (const query of ['', '!@#$%^&*()', '"\'', 'x'.repeat(1000), 'zzzz-no-such-thing']) assert.ok(Array.isArray((await json('search_tools', { query })).tools), query);
  assert.equal((await json('search_tools', { query: 'zzzz-no-such-thing' })).count, 0);
  const definition = await json('get_tool_definition', { tool_name: found.tools[0].name });
  assert.deepEqual([definition.name, definition.category], [found.tools[0].name, found.tools[0].category]);
  assert.equal(await json('get_tool_definition', { tool_name: 'no_such_tool' }), null);
});

both('statistics', async ({ json }) => {
  const stats = await json('get_execution_stats');
  assert.deepEqual(stats.limits, { default_timeout_seconds: 30, default_memory_mb: 500 });
  assert.equal(stats.capabilities.length, 5);
  assert.ok(stats.workspace.file_count === 0 && stats.skills.count === 0 && stats.tool_registry.total_tools >= 13);
});

both('a run sees what the tools wrote, and the other way round', async ({ json, run }) => {
  await json('write_workspace_file', { filename: 'in.json', content: '[{"active":true},{"active":false}]' });
  const { result } = await run('rows = json.loads(read_file("in.json"))\nwrite_file("out.txt", str(len(rows)))\nresult = len(filter_by_field(rows, "active", True))');
  assert.equal(result, 1);
  assert.equal((await json('read_workspace_file', { filename: 'out.txt' })).content, '2');
  await run('delete_file("in.json")');
  assert.deepEqual((await json('list_workspace_files')).files, ['out.txt']);
});

test('all 45 behaviours of 194 tests are here', () => {
  const tests = { execution: 15, limits: 4, environment: 9, rejection: 31, personal: 31, skills: 25, catalogue: 35, files: 38, patterns: 8 };
  assert.equal(Object.values(tests).reduce((sum, n) => sum + n) - 2, 194);
  const shown = new Set(readFileSync(new URL(import.meta.url)).toString().split('\n').slice(12).filter((line) => line.startsWith('//')).join().match(/\bB\d+\b/g));
  for (let i = 1; i <= 45; i++) assert.ok(shown.has(`B${i}`), `B${i}`);
});
