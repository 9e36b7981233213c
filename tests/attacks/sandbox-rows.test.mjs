// More that code may try, as root, as a user and inside `unshare -r`: each row is code and what must come of it. One process
// of the gate runs all rows of a profile.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { until } from '../lib/deadline.mjs';
import { SECRET, WHO, environment, home, lacking, mine, one, run, whos, write } from '../lib/sandbox.mjs';

const ok = (value) => (o) => assert.deepEqual([o.exit, o.result], ['ok', value]);
const ends = (...exits) => (o) => assert.ok(exits.includes(o.exit), o.exit);
const SMALL = ['--memory', '128', '--timeout', '300s']; // no clock decides
const x64 = process.arch === 'x64';

// Reads all memory around what it has; the secret is known in two halves that never stand side by side, so what is found is not
// its own. Another text, which it does join, has to be found the same way.
const SCAN = `
import ctypes, gc, os
first, second = b"${SECRET.slice(0, 8)}", b"${SECRET.slice(8)}"
one, two = b"a text that ", b"this code keeps"
kept = bytes(bytearray(one) + two)
def holds(text, one, two):
    at = text.find(one)
    while at >= 0 and not text.startswith(two, at + len(one)): at = text.find(one, at + 1)
    return at >= 0
found, seen, looked, upto = [], 0, 0, 0
for o in gc.get_objects():
    try:
        if holds(repr(o)[:100000].encode(), first, second): found.append(type(o).__name__)
    except Exception: pass
libc = ctypes.CDLL(None, use_errno=True)
libc.malloc.restype = ctypes.c_void_p
pair = os.pipe()
# what is new, what was loaded before, what is the C library's: everything lies within some hundred MB of one of them
for place in sorted((id(object()), id(kept), id(os), libc.malloc(100), libc.malloc(1 << 20))):
    for page in range(max(upto, (place >> 12) - 80000), (place >> 12) + 80000):
        upto = page + 1
        # write() tells what cannot be read without dying of it
        if libc.write(pair[1], ctypes.c_void_p(page << 12), ctypes.c_size_t(4096)) != 4096: continue
        looked += 1
        text = os.read(pair[0], 4096)
        if holds(text, first, second) and len(found) < 50: found.append(hex(page))
        seen += holds(text, one, two)
result = found if seen else "of %d pages none has what this code keeps" % looked
`;

const FILES = {
  'a module in the workspace is not taken for a preloaded one': [`
open("json.py", "w").write("raise SystemExit(9)")
open("struct.py", "w").write("raise SystemExit(9)")
import json, struct
result = json.loads("[1]")`, ok([1])],
  'a file that is deleted but open counts': [`
import os
f = open("big", "wb"); os.remove("big")
try:
    for _ in range(200): f.write(bytes(1 << 20)); f.flush()
except OSError as e: result = e.errno in (27, 28)`, ok(true)],
  'a sparse file has a ceiling': [`
try:
    with open("sparse", "wb") as f: f.truncate(1 << 40)
    result = "made"
except OSError as e: result = e.errno`, ok(27)],
  'a bomb that is unpacked inside stays inside': [`
import zlib
packed = zlib.compress(bytes(16 << 20), 9)
all = []
try:
    while True: all.append(zlib.decompress(packed))
except MemoryError:
    all.clear()
    result = "full"`, ok('full'), SMALL],
  'no program that was dropped can be executed': [`
import os, stat
open("/tmp/x", "w").write("#!/bin/sh\\nid\\n"); os.chmod("/tmp/x", 0o755)
reached = []
for path in ("/tmp/x", "/bin/true", "/usr/bin/su", "/usr/bin/newuidmap"):
    try: os.execv(path, [path])
    except OSError as e: reached.append(e.errno in (1, 2, 13))
result = reached`, ok([true, true, true, true])],
  'signals reach nobody': [`
import os
got = []
for pid in (${process.pid}, 2, 3, 4, 5, 100, 1000):
    for sig in (19, 9):
        try: os.kill(pid, sig); got.append(pid)
        except OSError: pass
try: os.kill(-1, 9)
except OSError: pass
result = got`, ok([])],
  'there is no gate in /proc': [`
import os
result = [os.path.exists(p) for p in ("/proc/${process.pid}/environ", "/proc/1/environ", "/proc/self/maps", "/proc")]`, (o) => assert.deepEqual(o.result?.slice(0, 3), [false, false, false])],
  'paths of the host are in no traceback': [`
import json
json.loads("{")`, (o) => { assert.equal(o.exit, 'error'); assert.doesNotMatch(o.traceback + o.error, /\/usr\/|\/opt\/|sallyport|\/home|\/root/); }],
  'a crash of the interpreter is contained': ['import marshal, types\nc = (lambda: 0).__code__\nexec(c.replace(co_code=bytes([255, 255] * 20), co_stacksize=1))', ends('killed', 'error', 'ok')],
  'an abort is contained': ['import os; os.abort()', ends('killed')],
  'a stack without end is contained': ['import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)', ends('killed', 'memory', 'error'), SMALL],
  'what is left for after the end never runs': [`
import atexit, sys, threading, time
class Later:
    def __del__(self): open("/workspace/later", "w").write("x")
keep = Later()
atexit.register(lambda: open("/workspace/exit", "w").write("x"))
threading.Thread(target=lambda: (time.sleep(600), open("/workspace/thread", "w")), daemon=True).start()
result = 1`, ok(1)],
  'spoiling what the start script uses spoils the own result only': ['import json, builtins\njson.dumps = json.JSONEncoder.encode = lambda *a, **k: \'"spoiled"\'\nbuiltins.len = lambda x: 0\nresult = 1', ends('ok', 'error', 'killed')],
  'a pattern that never ends is ended': ['import re\nre.match(r"(a+)+$", "a" * 64 + "b")', ends('timeout'), ['--timeout', '2s']],
  'answers that nobody reads are bounded': [`
import os, struct, json
b = json.dumps({"server": "", "tool": "x", "args": {"a": "x" * 60000}}).encode()
for i in range(1, 3000): os.write(3, struct.pack("<III", len(b), i, 16) + b)
result = 1`, (o) => { ends('killed')(o); assert.match(o.error, /MB of arguments/); }, SMALL],
  'nothing secret lies in the memory': [SCAN, ok([])],
};
const MACHINE = {
  'the other system call tables are closed': [`
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(ctypes.c_long(0x40000000 | 39))
result = "went on"`, ends('killed')],
  'a clone that is traced is refused': ['import ctypes\nresult = ctypes.CDLL(None).syscall(ctypes.c_long(56), ctypes.c_long(0x00002000 | 0x10900), 0, 0, 0, 0)', ok(-1)],
};
const PROC = {
  'a child that speaks on the bridge is no one else': [`
import os, struct
if os.fork() == 0:
    os.write(3, struct.pack("<III", 2, 7, 2) + b"{}")
    os._exit(0)
os.wait()
import time; time.sleep(20)`, ends('killed')],
  'the loader does not run what may not be run': [`
import os, shutil, subprocess
shutil.copy("/bin/true", "/tmp/true"); os.chmod("/tmp/true", 0o755)
codes = []
for line in (["/tmp/true"], ["/lib64/ld-linux-x86-64.so.2", "/tmp/true"]):
    try: codes.append(subprocess.run(line, stderr=subprocess.DEVNULL).returncode)
    except OSError as e: codes.append(e.errno)
result = [c != 0 for c in codes]`, ok([true, true])],
  'many processes share one memory': [`
import os, time
for i in range(8):
    if os.fork() == 0:
        x = bytearray(120 << 20)
        for j in range(0, len(x), 4096): x[j] = 1
        time.sleep(1000)
result = os.WTERMSIG(os.wait()[1])`, (o) => assert.ok(o.exit === 'memory' || o.result === 9, 'one of them had to go'), ['--memory', '150', '--timeout', '300s']],
};
const JS = {
  'shared memory has a limit': ['const a = []; try { for (let i = 0; i < 64; i++) { const b = new Uint8Array(new SharedArrayBuffer(1 << 27)); b.fill(1); a.push(b); } return "all"; } catch { return "refused"; }', ok('refused'), SMALL],
  'a polluted prototype reaches nobody': ['Object.prototype.server = "other"; Object.prototype.toJSON = undefined; try { await callTool("a", "b", {}); return "called"; } catch (e) { return e.name; }', ok('ToolError')],
  'microtasks without end are ended': ['const f = () => queueMicrotask(f); f(); await new Promise(() => {})', ends('timeout'), ['--memory', '128', '--timeout', '2s']],
  'a wait without end is ended': ['Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', ends('timeout'), ['--memory', '128', '--timeout', '2s']],
  'a text of half a gigabyte is refused or ends it': ['"x".repeat(2 ** 29 - 25).split("").length', ends('memory'), SMALL],
};

async function rows(who, table, options) {
  const groups = new Map(); // by arguments
  for (const [name, [code, check, args = []]] of Object.entries(table)) groups.set(String(args), [...(groups.get(String(args)) ?? []), { name, code, check, args }]);
  for (const list of groups.values()) {
    const outcomes = await run(who, list.map(({ code }) => code), { ...options, args: list[0].args });
    list.forEach(({ name, check }, i) => {
      try { check(outcomes[i]); } catch (error) { assert.fail(`${name}: ${error.message} ${JSON.stringify(outcomes[i]).slice(0, 400)}`); }
    });
  }
}


describe('rows', () => {
  for (const who of whos) {
    test(`${who}: files, signals, crashes, leaks`, async (t) => {
      if (await lacking(t, who)) return;
      await rows(who, { ...FILES, ...(x64 ? MACHINE : {}) }, { profile: 'files' });
    });
    test(`${who}: processes`, async (t) => {
      if (await lacking(t, who)) return;
      const refused = await one(who, 'result = 1', { profile: 'proc' });
      if (refused.exit !== 'ok') return assert.match(refused.error, /cannot be limited/);
      const { 'many processes share one memory': _, ...each } = PROC; // unless they can be counted together
      await rows(who, JSON.parse(await doctor(who)).cgroup > 0 ? PROC : each, { profile: 'proc' });
    });
    test(`${who}: JavaScript`, async (t) => {
      if (await lacking(t, who)) return;
      await rows(who, JS, { ext: 'js' });
    });
  }
});

test('control groups of version 2 are used, or the message says what is missing', async (t) => {
  const mounted = ['unshare', '-m', '-C', 'sh', '-c', 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"', 'sh'];
  if (process.getuid() !== 0 || await lacking(t, 'root')) return t.skip('SKIPPED LOUDLY: only root can show them here');
  WHO['root with version 2'] = mounted;
  const found = JSON.parse(await doctor('root with version 2'));
  if (found.cgroup === 2) await rows('root with version 2', PROC, { profile: 'proc' });
  else {
    assert.match(found.cgroup_why, /\w/);
    t.diagnostic(`LOUDLY: version 2 was looked at but limits nothing on this machine: ${found.cgroup_why}`);
  }
  assert.equal((await one('root with version 2', 'result = 1')).result, 1, 'code runs either way');
});

const doctor = (who) => new Promise((resolve) => {
  const line = [...WHO[who], join(home, 'sallyport'), 'doctor', '--json'];
  const child = spawn(line[0], line.slice(1), { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (d) => (out += d)).on('end', () => resolve(out));
});

describe('the workspace', () => {
  const who = whos[0];
  test('pipes, sockets, links and long names in the workspace are skipped', async (t) => {
    if (await lacking(t, who)) return;
    const dir = mkdtempSync(join(home, 'left-'));
    const o = await one(who, `
import os
made = []
for name, act in {"link": lambda: os.symlink("/etc/passwd", "link"), "dir": lambda: os.symlink("/etc", "dir"), "hard": lambda: os.link("kept", "hard")}.items():
    try: act(); made.append(name)
    except OSError: pass
open("kept", "w").write("kept"); open("n" * 255, "w").write("x")
os.makedirs(".git/hooks"); open(".git/hooks/post-checkout", "w").write("#!/bin/sh")
result = made`, { profile: 'files', args: ['--workspace', dir] });
    assert.equal(o.exit, 'ok', JSON.stringify(o));
    const left = readdirSync(dir, { withFileTypes: true });
    assert.ok(left.every((e) => e.isFile() || e.isDirectory()), left.map((e) => e.name).join());
    assert.equal(readFileSync(join(dir, 'kept'), 'utf8'), 'kept');
    for (const make of ['os.mknod("node", 0o20666, 259)', '__import__("socket").socket(1, 1).bind("sock")']) {
      assert.notEqual((await one(who, `import os\n${make}`, { profile: 'files', args: ['--workspace', dir] })).exit, 'ok', make);
    }
  });
  test('directories that are replaced by links during the copy are not followed', async (t) => {
    if (await lacking(t, who)) return;
    const dir = mkdtempSync(join(home, 'race-')), outside = mkdtempSync(join(home, 'outside-'));
    writeFileSync(join(outside, 'secret'), SECRET);
    mkdirSync(join(dir, 'a'));
    for (let i = 0; i < 300; i++) writeFileSync(join(dir, 'a', `f${i}`), 'x');
    let racing = true;
    const race = (async () => {
      while (racing) {
        try { renameSync(join(dir, 'a'), join(dir, 'b')); symlinkSync(outside, join(dir, 'a')); } catch {}
        await new Promise(setImmediate);
        try { rmSync(join(dir, 'a')); renameSync(join(dir, 'b'), join(dir, 'a')); } catch {}
        await new Promise(setImmediate);
      }
    })();
    const code = 'import os\nseen = [n for d, _, names in os.walk("/workspace") for n in names]\nos.makedirs("a", exist_ok=True)\nfor i in range(300): open("a/w%d" % i, "w").write("y")\nresult = "secret" in seen';
    const outcomes = await run(who, Array(4).fill(code), { profile: 'files', args: ['--workspace', dir] });
    racing = false;
    await race;
    for (const o of outcomes) assert.notEqual(o.result, true, JSON.stringify(o));
    assert.deepEqual(readdirSync(outside), ['secret'], 'nothing was written through the link');
  });
});

describe('ends', () => {
  const who = whos[0];
  const cpu = (pid) => { try { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' '); return Number(f[11]) + Number(f[12]); } catch { return 0; } };
  const gone = () => until(() => `the end of ${mine()}`, () => mine().length === 0);
  const talk = (more = {}) => {
    const child = spawn(join(home, 'sallyport'), ['code'], { env: environment({ SALLYPORT_HOME: mkdtempSync(join(home, 'state-')), ...more }), stdio: ['pipe', 'pipe', 'ignore'] });
    let buffer = '';
    const waiting = new Map();
    child.stdout.on('data', (d) => {
      buffer += d;
      for (let at; (at = buffer.indexOf('\n')) >= 0; buffer = buffer.slice(at + 1)) {
        const m = JSON.parse(buffer.slice(0, at));
        waiting.get(m.id ?? m.method)?.(m);
      }
    });
    child.stdin.on('error', () => {});
    child.setMaxListeners(0);
    const wait = (key) => new Promise((resolve, reject) => { waiting.set(key, resolve); child.on('close', () => reject(new Error('the gate ended'))); });
    const send = (m) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n');
    let last = 0;
    const request = (method, params) => { const id = ++last; const answer = wait(id); send({ id, method, params }); return answer; };
    const start = async () => { await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }); send({ method: 'notifications/initialized' }); };
    const runs = (code, token) => request('tools/call', { name: 'execute_code', arguments: { code, timeout_seconds: 300 }, ...(token && { _meta: { progressToken: token } }) });
    return { child, start, runs, wait };
  };
  const zygotes = () => mine().length && readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => { try { return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('/opt/sallyport/sallyport-python.py') && ancestors(pid).some((p) => mine().includes(p)); } catch { return false; } });
  const ancestors = (pid) => { const all = []; for (let p = pid; p && p !== '0'; ) { try { p = readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1].split(' ')[1]; } catch { break; } all.push(p); } return all; };

  test('when interpreters and children are killed under load, every caller gets an answer and the next run works', async (t) => {
    if (await lacking(t, who)) return;
    const { child, start, runs } = talk();
    await start();
    await runs('result = 1');
    const answers = Array.from({ length: 60 }, (_, i) => runs(`result = ${i}`));
    for (const pid of zygotes()) try { process.kill(Number(pid), 'SIGKILL'); } catch {}
    const got = await Promise.all(answers);
    assert.equal(got.length, 60);
    for (const { result } of got) assert.ok(result.structuredContent, 'an answer of the tool');
    const again = await runs('result = "again"');
    assert.equal(again.result.structuredContent.result, 'again', JSON.stringify(again));
    child.stdin.end();
    await gone();
  });
  test('an interpreter is replaced after a number of children, with another hash seed and another address layout', async (t) => {
    if (await lacking(t, who)) return;
    const { child, start, runs } = talk({ SALLYPORT_SANDBOX_FORKS: '4' });
    await start();
    const look = async () => (await runs('import json\nresult = [hash("sallyport"), id(json)]')).result.structuredContent.result;
    const first = await look();
    const now = await until('another hash seed', async () => { const seen = await look(); return seen[0] !== first[0] && seen; });
    child.stdin.end();
    await gone();
    assert.notEqual(now[1], first[1], 'where things lie');
  });
  test('a gate that is killed under load leaves no process behind', async (t) => {
    if (await lacking(t, who)) return;
    const { child, start, runs } = talk();
    await start();
    await runs('result = 1');
    for (let i = 0; i < 30; i++) runs('while True: pass').catch(() => {});
    await runs('result = 2');
    child.kill('SIGKILL');
    await gone();
  });
  for (const [name, leave] of Object.entries({
    'is killed': (child) => { child.stdin.destroy(); child.stdout.destroy(); },
    'closes what it reads': (child) => { child.stdout.destroy(); child.stdin.end(); },
  })) {
    test(`a client that ${name} in the middle of a run: the gate exits and does not busy-loop`, async (t) => {
      if (await lacking(t, who)) return;
      const { child, start, runs, wait } = talk();
      await start();
      const progress = wait('notifications/progress');
      runs('progress(0.1)\nimport time\nwhile True:\n    print("x" * 1000)\n    time.sleep(0.01)', 'p').catch(() => {});
      await progress;
      const before = mine().map((pid) => [pid, cpu(pid)]);
      leave(child);
      await gone();
      assert.ok(before.length > 0);
    });
  }
});
