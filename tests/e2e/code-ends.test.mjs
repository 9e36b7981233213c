// How runs end: nothing that the code has started is lost, and what it computed is kept.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { startCode } from '../lib/code.mjs';
import { until } from '../lib/deadline.mjs';
import { lacksBun } from '../lib/paths.mjs';
import { bunEnvironment, home, one, run } from '../lib/sandbox.mjs';

const who = process.getuid() === 0 ? 'root' : 'user';
const sleep = 'const sleep = (ms) => new Promise((done) => setTimeout(done, ms));';
const SCRIPTS = [
  // a pending timer holds up nothing else
  `${sleep} const fs = require("fs/promises");
const work = async () => { for (let i = 0; i < 5; i++) await fs.stat("/usr"); return "done" };
await Promise.race([work(), sleep(6000).then(() => "guard")])`,
  // what nobody awaits is awaited
  `${sleep} async function main() { await sleep(50); console.log("late") } main(); console.log("started");`,
  `setTimeout(() => require("fs").writeFileSync("/tmp/x", "text"), 30); process.on("exit", () => {}); "value"`,
  `const fs = require("fs"); const out = fs.createWriteStream("/tmp/y"); out.write("text"); out.end(() => console.log(fs.readFileSync("/tmp/y", "utf8"))); 1`,
  `setTimeout(() => { throw new Error("later") }, 10); 1`,
];
const check = ([race, main, timer, stream, thrown]) => {
  assert.equal(race.result, 'done', JSON.stringify(race));
  assert.deepEqual(main.output, ['started', 'late']);
  assert.equal(timer.result, 'value');
  assert.deepEqual([stream.output, stream.result], [['text'], 1], JSON.stringify(stream));
  assert.deepEqual([thrown.exit, thrown.error], ['error', 'later']);
};

test('JavaScript runs its event loop to the end, as Node does', async () => check(await run(who, SCRIPTS, { ext: 'js', profile: 'files' })));

test('JavaScript runs its loop to the end on Bun', async (t) => {
  const env = bunEnvironment();
  if (lacksBun(t, env)) return;
  check(await run(who, SCRIPTS, { ext: 'js', profile: 'files', env }));
});

test('leftover work that never ends uses up the time limit but keeps the result', async () => {
  const { result, exit, output } = await one(who, 'setInterval(() => {}, 100); console.log("x"); ({ kept: 1 })', { ext: 'js', args: ['--timeout', '2s'] });
  assert.deepEqual([exit, result, output], ['ok', { kept: 1 }, ['x']]);
});

test('JavaScript that exhausts its heap ends with out of memory', async () => {
  const codes = ['const a = []; while (true) a.push({ x: a.length, y: "s" + a.length })', 'const m = new Map(); for (let i = 0; ; i++) m.set(i, String(i).repeat(10))',
    'const a = []; while (true) a.push(Buffer.alloc(1 << 20, 1))', 'const b = JSON.parse("[" + "1,".repeat(3e7) + "1]"); b.map((x) => ({ x })).length'];
  for (const { exit, error } of await run(who, codes, { ext: 'js', args: ['--memory', '64', '--timeout', '500s'] })) assert.deepEqual([exit, error], ['memory', 'out of memory']);
});

test('Python ends as an interpreter does: files are flushed, threads joined, atexit runs', async () => {
  const workspace = join(home, 'ends');
  mkdirSync(workspace, { mode: 0o777 });
  const { output, result } = await one(who, `
import atexit, threading, time
from concurrent.futures import ThreadPoolExecutor
f = open("/workspace/open.txt", "w")
f.write("text")
def late():
    time.sleep(0.1)
    open("/workspace/late.txt", "w").write("late")
    print("thread")
threading.Thread(target=late).start()
atexit.register(print, "bye")
pool = ThreadPoolExecutor(2)
pool.submit(time.sleep, 0.05)
result = 5`, { profile: 'files', args: ['--workspace', workspace] });
  assert.deepEqual([output, result], [['thread', 'bye'], 5]);
  assert.deepEqual([readFileSync(join(workspace, 'open.txt'), 'utf8'), readFileSync(join(workspace, 'late.txt'), 'utf8')], ['text', 'late']);
});

test('the last expression is the result of Python, unless `result` is set', async (t) => {
  const { run: execute } = await startCode(t);
  const CASES = [['x = 2\nx * 21', 42], ['x = 1\nx\nresult = 7\nx', 7], ['print(1)', null], ['import asyncio\nasync def f(): return 3\nawait f()', 3],
    ['async def main(): return "m"\nmain()', 'm'], ['x = 5', null], ['[i for i in range(3)]', [0, 1, 2]], ['if True:\n    1', null], ['return 9', 9]];
  for (const [code, expected] of CASES) assert.deepEqual((await execute(code)).result, expected, code);
  const { run: exact } = await startCode(t, { profile: 'code-execution-mcp' });
  assert.equal((await exact('1 + 1')).result, null, 'as its model has it');
});

for (const [name, env] of [['Node', {}], ['Bun', bunEnvironment()]]) test(`a session with ${name} awaits what its run has started, and its names may be those of the engine`, async (t) => {
  if (lacksBun(t, env)) return;
  const { run: execute } = await startCode(t, { env });
  const session_id = 'js', inSession = (code, more) => execute(code, { language: 'javascript', session_id, ...more });
  assert.deepEqual((await inSession(`${sleep} async function main() { await sleep(50); console.log("late") } main(); console.log("started");`)).output, ['started', 'late']);
  assert.match((await inSession('const crypto = require("crypto"); crypto.createHash("md5").update("x").digest("hex")')).result, /^9dd4e461/);
  assert.equal((await inSession('crypto.createHash("md5").update("y").digest("hex").length')).result, 32);
  assert.equal((await inSession('enum Color { Red = 1, Green } Color.Green', { language: 'typescript' })).result, 2);
  assert.equal((await inSession('Color[1]')).result, 'Red');
  // Work without an end goes on in the next runs, which do not wait for it.
  assert.equal((await inSession('globalThis.n = 0; globalThis.every = setInterval(() => { n++ }, 5); "set"')).result, 'set');
  await until('the work to go on', async () => (await inSession('n > 10')).result);
  assert.ok((await inSession('clearInterval(every)')).success);
});

test('a session of Python awaits the threads that its run has started', async (t) => {
  const { run: execute } = await startCode(t);
  const session_id = 'py';
  const late = await execute('import threading\ndef work():\n    threading.Event().wait(0.2)\n    print("late")\nthreading.Thread(target=work).start()\nf = open("open.txt", "w")\nf.write("text")', { session_id });
  assert.deepEqual(late.output, ['late'], JSON.stringify(late));
  assert.equal((await execute('open("open.txt").read()')).result, 'text');
  const pool = await execute('from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\nlist(pool.map(abs, [-1, 2]))', { session_id });
  assert.deepEqual([pool.result, (await execute('pool.submit(abs, -3).result()', { session_id })).result], [[1, 2], 3]);
});

test('output over the limit keeps its beginning and end, and the run continues', async (t) => {
  const { run: execute } = await startCode(t);
  const { success, truncated, result, output } = await execute('for i in range(40000): print("line", i)\nresult = "kept"');
  assert.deepEqual([success, truncated, result], [true, true, 'kept']);
  assert.deepEqual([output[0], output.at(-1)], ['line 0', 'line 39999']);
  assert.ok(output.some((line) => /^\[\.\.\. \d+ bytes are left out here \.\.\.\]$/.test(line)));
});

test('only files that a run changed are written back; when a file was also changed elsewhere, both versions are kept', async (t) => {
  const { peer, run: execute } = await startCode(t);
  const write = (filename, content) => peer.call('write_workspace_file', { filename, content });
  const text = async (filename) => JSON.parse((await peer.call('read_workspace_file', { filename })).content[0].text).content;
  for (const name of ['untouched.txt', 'both.txt', 'same.txt', 'mine.txt']) await write(name, 'before');
  await new Promise((done) => setTimeout(done, 100)); // a file that was written just now could not be distinguished from one that the run wrote
  const waiting = execute(`
import time, pathlib
pathlib.Path("both.txt").write_text("of the run")
pathlib.Path("same.txt").write_text("agreed")
pathlib.Path("mine.txt").write_text("of the run")
call_tool("code", "write_workspace_file", filename="started", content="")
while not any(f.startswith("go") for f in call_tool("code", "list_workspace_files")["files"]): time.sleep(0.05)`);
  await until('the run', async () => (await text('started')) !== undefined);
  await write('untouched.txt', 'of another');
  await write('both.txt', 'of another');
  await write('same.txt', 'agreed');
  await write('go', 'now'); // the run waits for it
  const { workspace_error: said } = await waiting;
  assert.deepEqual([await text('untouched.txt'), await text('both.txt'), await text('both.txt.conflict'), await text('same.txt'), await text('mine.txt')],
    ['of another', 'of another', 'of the run', 'agreed', 'of the run']);
  assert.match(said, /both\.txt: was changed elsewhere during the run; the run's own is in both\.txt\.conflict/);
  const { files } = JSON.parse((await peer.call('list_workspace_files')).content[0].text);
  assert.deepEqual(files.filter((f) => /conflict/.test(f)), ['both.txt.conflict']);
});
