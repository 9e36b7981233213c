// What is broken in the systems whose tools are offered here, tried on ours. Each row was a proven defect of one of them.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCode } from '../lib/code.mjs';
import { alive, descendants, tempDir, until } from '../lib/index.mjs';

// A secret outside of the sandbox: no code may read it.
const SECRET = 'f0rt-kn0x';
const secretFile = () => { const path = join(tempDir(), 'secret.txt'); writeFileSync(path, SECRET); return path; };

// Code that escapes a restricted interpreter must find only the empty sandbox.
const ESCAPES = (path) => [
  `statistics.sys.modules['os'].popen('cat ${path}').read()`,
  "re.enum.sys.modules['os'].environ['SECRET']",
  `collections._sys.modules['subprocess'].check_output(['cat', '${path}']).decode()`,
  `json.codecs.open('${path}').read()`,
  `json.codecs.builtins.open('${path}').read()`,
  `read_file.__globals__['os'].popen('cat ${path}').read()`,
  `[c for c in object.__subclasses__() if c.__name__ == 'FileLoader'][0]('x', '${path}').get_data('${path}').decode()`,
  `[c for c in object.__subclasses__() if c.__name__ == 'Popen'][0](['cat', '${path}'], stdout=-1).communicate()[0].decode()`,
];

for (const profile of ['code-execution-mcp', 'native']) {
  test(`${profile}: escapes from the interpreter reach only the empty sandbox`, async (t) => {
    const path = secretFile();
    const { peer } = await startCode(t, { profile, env: { SECRET } });
    for (const escape of ESCAPES(path)) {
      const answer = await peer.call('execute_code', { code: `import json, re, statistics, collections\nresult = ${escape}` });
      assert.doesNotMatch(JSON.stringify(answer), new RegExp(SECRET), escape);
    }
  });

  test(`${profile}: skills and files cannot be written or read elsewhere from code`, async (t) => {
    const { run, gate } = await startCode(t, { profile });
    for (const code of ['save_skill("../../../x", "y")', 'load_skill("../../etc/x")', 'read_file("../workspace-evil/secret")', 'write_file("../x", "y")', 'delete_file("../x")']) {
      assert.equal((await run(code)).success, false, code);
    }
    assert.deepEqual(readdirSync(gate.home).filter((name) => name.startsWith('x')), []);
  });

  test(`${profile}: the time limit cannot be switched off or swallowed`, async (t) => {
    const { run } = await startCode(t, { profile });
    for (const code of ["statistics.sys.modules['signal'].alarm(0)\nwhile True: pass", 'x = 0\nwhile True:\n    try:\n        while True: x = x + 1\n    except BaseException: pass']) {
      const answer = await run(`import statistics\n${code}`, { timeout_seconds: 1 });
      assert.match(answer.error, /timed out after 1 seconds/, code);
    }
  });

  test(`${profile}: one run cannot hurt the server or the next one`, async (t) => {
    const { run, peer, gate } = await startCode(t, { profile });
    for (const code of ['raise SystemExit(1)', "import json\njson.codecs.sys._exit(1)", "import statistics\nstatistics.sys.modules['os']._exit(1)",
      "import statistics\nstatistics.sys.modules['os'].kill(1, 9)", "import statistics\nstatistics.sys.__stdout__.write('{}\\n' * 100)", 'x = "y" * (10 ** 10)',
      "import statistics\nstatistics.sys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()"]) {
      await run(code, { memory_mb: 64, timeout_seconds: 3 });
      assert.equal((await run('result = 1 + 1', { memory_mb: 400 })).result, 2, code);
    }
    assert.deepEqual(gate.rpc.noise, [], 'nothing but messages on stdout');
    assert.ok(peer.received.every(({ json }) => json));
  });

  test(`${profile}: output has a ceiling, and runs do not wait for each other`, async (t) => {
    const { run } = await startCode(t, { profile });
    const flood = run('while True: print("x" * 1000)', { timeout_seconds: 20 });
    const slow = run('import time\ntime.sleep(1)\nresult = "slow"');
    assert.equal((await run('result = "fast"')).result, 'fast');
    const answer = await flood;
    assert.equal(answer.success, false);
    assert.ok(JSON.stringify(answer).length < 1 << 20);
    assert.equal((await slow).result, 'slow');
  });
}

test('tokens are not hashes: the same value has another token in another gate', async (t) => {
  const [one, two] = [await startCode(t), await startCode(t)];
  const text = 'SSN: 123-45-6789';
  const first = (await one.json('sanitize_pii', { text })).sanitized_text;
  assert.notEqual(first, (await two.json('sanitize_pii', { text })).sanitized_text, 'the same value elsewhere has another token');
  assert.equal((await two.json('restore_pii', { text: first })).restored_text, first, 'and means nothing there');
  assert.deepEqual((await one.json('sanitize_pii', { text: 'card 1234-5678-9012-3456 at 10.0.0.1' })).pii_types, ['CREDIT_CARD', 'IP'], 'kinds by their names');
});

test('python-interpreter: nothing of its code runs in the server', async (t) => {
  const path = secretFile();
  const { peer, gate } = await startCode(t, { profile: 'python-interpreter', env: { SECRET } });
  const say = async (args) => (await peer.call('run_python_code', args)).content[0].text;
  assert.doesNotMatch(await say({ code: `open("${path}").read()` }), new RegExp(SECRET));
  assert.doesNotMatch(await say({ code: 'import os\ndict(os.environ)' }), new RegExp(SECRET));
  assert.match(await say({ code: 'raise SystemExit' }), /Output|Error/);
  assert.match(await say({ code: 'while True: pass', timeout: 1 }), /timed out/);
  assert.match(await say({ code: 'n = globals().get("n", 0) + 1\neval("1 +")', session_id: 'twice' }), /SyntaxError/);
  assert.match(await say({ code: 'n', session_id: 'twice' }), /\n1\n/, 'run once, though a SyntaxError came while it ran');
  assert.match(await say({ code: 'x = 1\nx + 1', session_id: 'last' }), /\n2\n/, 'the last expression of several lines is echoed');
  assert.match(await say({ code: 'print("part")\nimport time\ntime.sleep(60)', execution_mode: 'subprocess', timeout: 8 }), /part/, 'output before a timeout is kept');
  await say({ code: 'x', save_as: '../outside.py' });
  assert.ok(!existsSync(join(gate.home, 'code', 'outside.py')));
  for (const name of ['--index-url=http://evil', 'git+https://evil/x', 'x; touch /tmp/y']) {
    assert.match((await peer.call('install_package', { package_name: name })).content[0].text, /^Error installing/);
  }
});

test('a run that timed out leaves no process', async (t) => {
  const { run, gate } = await startCode(t);
  await run('result = 1');
  const before = descendants(gate.pid).length;
  await run('import threading\nfor _ in range(5): threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()', { timeout_seconds: 1 });
  await until('the end of its processes', () => descendants(gate.pid).filter(alive).length <= before + 2);
});

test('datagen: results are values, a run can be stopped, its earlier output is kept, and its answer stays available', async (t) => {
  const { peer } = await startCode(t, { profile: 'datagen' });
  const { structuredContent } = await peer.call('executeCode', { script: 'result = {"rows": [1, 2]}' });
  assert.deepEqual(structuredContent.result, { rows: [1, 2] }, 'not JSON inside of a text');
  const failed = await peer.call('executeCode', { script: '1 / 0' });
  assert.deepEqual([failed.isError, failed.structuredContent.status], [true, 'failed']);
  const late = (await peer.call('executeCode', { script: 'print("item 1 done", flush=True)\nimport time\ntime.sleep(600)', timeout: 8 })).structuredContent;
  assert.match(late.error, /timed out/);
  assert.match(late.stdout, /item 1 done/, 'nothing that was finished is lost');
  const { execution_uuid } = (await peer.call('asyncExecuteCode', { script: 'result = 42' })).structuredContent;
  for (let i = 0; i < 2; i++) {
    const status = await until('the end of the run', async () => { const { structuredContent: now } = await peer.call('checkCodeExecStatus', { execution_uuid }); return now.status === 'completed' && now; });
    assert.equal(status.result, 42, 'asked for twice');
  }
});

test('as with a viewer: every run has a time limit, failures are reported as errors, and pictures come as images', async (t) => {
  const { peer } = await startCode(t, { args: ['--wait', '1'] });
  const { tools } = await peer.request('tools/list');
  const { inputSchema } = tools.find((tool) => tool.name === 'execute_code');
  assert.equal(inputSchema.properties.timeout_seconds.default, 30, 'also when nobody names a limit');
  const failed = await peer.call('execute_code', { code: 'raise ValueError("no such node")' });
  assert.deepEqual([failed.isError, failed.structuredContent.success], [true, false]);
  const { content } = await peer.call('execute_code', { code: 'open("a.jpg", "wb").write(bytes.fromhex("ffd8ffe000104a464946000101"))\nopen("b.gif", "wb").write(b"GIF89a\\x01\\x00\\x01\\x00")' });
  assert.deepEqual(content.filter((c) => c.type === 'image').map((c) => c.mimeType).sort(), ['image/gif', 'image/jpeg']);
});
