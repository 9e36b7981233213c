// Code that tries to escape. Every probe runs in a real sandbox made by the real helper, as root, as an ordinary user and inside
// `unshare -r`, in every profile. A probe that reaches anything fails the test; a machine that cannot give tier 1 to one of
// them says so and skips that one.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { until } from '../lib/deadline.mjs';
import { lacksBun } from '../lib/paths.mjs';
import { SECRET, bunEnvironment, environment, home, lacking, mine, one, run, whos, write } from '../lib/sandbox.mjs';

const KILLED = {
  ptrace: 101, process_vm_readv: 310, process_vm_writev: 311, mount: 165, umount2: 166, pivot_root: 155, chroot: 161, setns: 308,
  unshare: 272, bpf: 321, kexec_load: 246, init_module: 175, finit_module: 313, delete_module: 176, keyctl: 250, add_key: 248,
  request_key: 249, userfaultfd: 323, perf_event_open: 298, open_by_handle_at: 304, name_to_handle_at: 303, iopl: 172, ioperm: 173,
  swapon: 167, reboot: 169, acct: 163, mknod: 133, mknodat: 259, open_tree: 428, move_mount: 429, fsopen: 430, fsmount: 432,
  mount_setattr: 442, pidfd_getfd: 438, kcmp: 312, process_madvise: 440, quotactl: 179, settimeofday: 164, clock_settime: 227,
  adjtimex: 159, sethostname: 170, setdomainname: 171, syslog: 103, modify_ldt: 154, personality: 135, io_uring_enter: 426,
  fanotify_init: 300,
};
const DENIED = {
  socket: 41, connect: 42, bind: 49, listen: 50, accept: 43, shmget: 29, semget: 64, msgget: 68, mq_open: 240, memfd_create: 319,
  setuid: 105, setgid: 106, setgroups: 116, capset: 126, vmsplice: 278, splice: 275, tee: 276, seccomp: 317, landlock_create_ruleset: 444,
  sched_setscheduler: 144, mlockall: 151, sched_setattr: 314, io_setup: 206, 600: 600, recvmsg: 47, sendmmsg: 307, openat2: 437,
};

// Python: everything that must not work, as functions that are called one by one.
const PROBES = String.raw`
import ctypes, errno, os, sys, signal, socket, threading
libc = ctypes.CDLL(None, use_errno=True)
reached = {}
def raw(number, *args):
    value = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if value == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
def probe(name, act):
    try:
        reached[name] = repr(act())[:200]
    except BaseException as error:
        pass
def opened(path, flags=os.O_RDONLY):
    return os.open(path, flags, 0o644)
for path in ["/etc/shadow", "/etc/passwd", "/root", "/home", "HOME/host-file", "/proc/1/root", "/proc/self/environ", "/proc/self/mem",
             "/proc/sys/kernel/core_pattern", "/proc/kcore", "/proc/kallsyms", "/proc/self/mountinfo", "/sys", "/sys/fs/cgroup", "/sys/class/net",
             "/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/net/tun", "/dev/ptmx", "/dev/tty", "/dev/shm/x",
             "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/var", "/run", "/boot", "/srv", "/mnt"]:
    probe("open " + path, lambda: opened(path))
for path in ["/x", "/usr/bin/x", "/etc/x", "/usr/lib/x", "/dev/x", "/opt/x", "/opt/sallyport/x"]:
    probe("create " + path, lambda: opened(path, os.O_CREAT | os.O_WRONLY))
probe("write to a program", lambda: opened("/usr/bin/env", os.O_WRONLY))
probe("write to our own module", lambda: opened("/opt/sallyport/sallyport-python.py", os.O_WRONLY))
def through_link():
    os.symlink("HOME/host-file", "link")
    return open("link").read()
probe("symbolic link out", through_link)
probe("up and out", lambda: open("../" * 12 + "HOME/host-file").read())
probe("hard link in", lambda: os.link("/etc/shadow", "shadow"))
probe("lock a shared file", lambda: raw(73, opened("/usr/bin/env"), 2))
probe("lock a range of one", lambda: raw(72, opened("/usr/bin/env"), 6, ctypes.create_string_buffer(32)))
for name, number in DENIED.items():
    probe("call " + name, lambda: raw(number, 0, 0, 0, 0, 0, 0))
for family in (1, 2, 10, 16, 17, 38, 40, 44):
    for kind in (1, 2, 3):
        if "FORKS" == "no" or kind != 1 or family not in (2, 10): # programs have a loop-back of their own
            probe("socket %d %d" % (family, kind), lambda: raw(41, family, kind, 0))
# Sockets of Python are those of the run itself: they lead nowhere else.
for host in ("127.0.0.1", "::1", "169.254.169.254", "10.0.0.1"):
    probe("a connection to " + host, lambda: socket.create_connection((host, PORT), 5))
probe("datagram pair", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
probe("name lookup", lambda: socket.getaddrinfo("example.com", 80))
probe("signal the parent", lambda: os.kill(os.getppid() or 2, 0))
probe("signal a host process", lambda: os.kill(GATE, 0))
probe("limits of another", lambda: raw(302, GATE, 7, 0, 0))
probe("raise a limit", lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_AS, (-1, -1)))
probe("nice", lambda: os.nice(-5))
probe("clone with namespaces", lambda: raw(56, 0x10000000 | 17, 0, 0, 0, 0))
probe("clone3", lambda: raw(435, 0, 0))
probe("io_uring_setup", lambda: raw(425, 1, 0))
for command in (0x5412, 0x541C, 0x540E, 0x4B47):
    probe("ioctl %x" % command, lambda: raw(16, 0, command, 0))
for option in (35, 0x59616d61, 22, 4, 1):
    probe("prctl %x" % option, lambda: raw(157, option, 1, 0, 0, 0))
probe("shared memory of no limit", lambda: raw(9, 0, 1 << 20, 3, 0x21, -1, 0))
def capabilities():
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    raw(125, ctypes.byref(head), ctypes.byref(data))
    if any(data):
        return list(data)
    raise OSError
probe("a capability", capabilities)
if os.environ or SECRET in repr(sys.argv):
    reached["environment"] = repr(dict(os.environ))
for number in range(4, 256):
    try:
        os.fstat(number)
        if number > 16:
            reached["descriptor %d" % number] = "open"
    except OSError:
        pass
for number in (0, 1, 2):
    if os.isatty(number):
        reached["terminal"] = number
if os.uname().nodename != "sandbox" or os.getuid() != 1000:
    reached["identity"] = [os.uname().nodename, os.getuid()]
for word in ("subprocess", "os"):
    probe("through object's subclasses to " + word, lambda: [c for c in ().__class__.__mro__[1].__subclasses__() if c.__name__ == "Popen"][0](["/bin/true"]) if "FORKS" == "no" else 1 / 0)
result = reached
`;
// A port of the machine, which code must not reach.
const listener = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1').unref();
await once(listener, 'listening');
const probes = (forks) => PROBES.replaceAll('HOME', home).replace('DENIED.items()', `${JSON.stringify(DENIED)}.items()`)
  .replaceAll('GATE', String(process.pid)).replaceAll('PORT', String(listener.address().port)).replaceAll('SECRET', JSON.stringify(SECRET)).replaceAll('"FORKS"', JSON.stringify(forks));

// JavaScript: the same, with what Node and Bun offer.
const script = String.raw`
const reached = {};
const probe = async (name, act) => { try { reached[name] = String(await act()).slice(0, 200); } catch {} };
const fs = require('fs');
for (const path of ['/etc/passwd', '/etc/shadow', '/root', '/proc/self/environ', '/proc/1/environ', '${home}/host-file', '/sys', '/dev/kmsg'])
  await probe('open ' + path, () => fs.readFileSync(path));
await probe('create', () => fs.writeFileSync('/usr/x', 'x'));
await probe('net', () => new Promise((ok, no) => require('net').connect(22, '127.0.0.1').on('connect', ok).on('error', no)));
await probe('dgram', () => new Promise((ok, no) => { const s = require('dgram').createSocket('udp4'); s.on('error', no); s.send('x', 53, '127.0.0.1', (e) => e ? no(e) : ok('sent')); }));
await probe('dns', () => require('dns').promises.resolve('example.com'));
await probe('fetch', () => fetch('http://169.254.169.254/latest'));
await probe('import a file', () => import('file:///etc/passwd'));
await probe('addon', () => { fs.writeFileSync('a.node', 'x'); process.dlopen({ exports: {} }, 'a.node'); });
await probe('main module', () => process.mainModule.require('child_process').execSync('id'));
await probe('a program', () => { const r = require('child_process').spawnSync('/bin/true'); if (r.error) throw r.error; return r.pid; });
await probe('a program of Bun', () => Bun.spawnSync(['/bin/true']).pid);
await probe('a file of Bun', () => Bun.file('/etc/passwd').text());
for (let fd = 4; fd < 256; fd++) await probe('descriptor ' + fd, () => { const s = fs.fstatSync(fd); return s.isFile() || s.isDirectory() || s.isSocket() ? fd : Promise.reject(); });
await probe('environment', () => Object.keys(process.env).length || Promise.reject());
await probe('stack trace trick', () => { Error.prepareStackTrace = (e, s) => s; const f = new Error().stack[0].getThis(); return f?.constructor.constructor('return process')().env.TOKEN || Promise.reject(); });
await probe('signal', () => process.kill(${process.pid}, 0));
return reached;`;
// A system call that only an attack makes.
const hostile = (name) => `import ctypes\nprint("before", flush=True)\nctypes.CDLL(None).syscall(${KILLED[name]}, 0, 0, 0, 0, 0)\nprint("after")\nresult = 1`;

const profilesOf = (who) => (who === 'root in unshare -r' ? ['pure', 'files'] : ['pure', 'files', 'proc']);
const x64 = process.arch === 'x64';

describe('code that tries to escape', () => {
  for (const who of whos) {
    test(`${who}: no file, socket, process, device or privilege is reached in any profile`, { skip: !x64 && 'numbers are those of x86-64' }, async (t) => {
      if (await lacking(t, who)) return;
      for (const profile of profilesOf(who)) {
        const o = await one(who, probes(profile === 'proc' ? 'yes' : 'no'), { profile });
        assert.equal(o.exit, 'ok', `${profile}: ${o.error} ${o.traceback}`);
        assert.deepEqual(o.result, {}, profile);
        assert.ok(o.violations.includes('socket') && o.violations.includes('system call 600'), `${profile}: named: ${o.violations}`);
      }
    });

    test(`${who}: system calls that only an attack makes end the sandbox and are named`, { skip: !x64 && 'numbers are those of x86-64' }, async (t) => {
      if (await lacking(t, who)) return;
      const names = Object.keys(KILLED);
      const outcomes = await run(who, names.map(hostile), { profile: profilesOf(who).at(-1) });
      names.forEach((name, i) => {
        const o = outcomes[i];
        assert.equal(o.exit, 'killed', `${name}: ${JSON.stringify(o)}`);
        assert.deepEqual(o.violations, [name]);
        assert.deepEqual(o.output, ['before'], name);
      });
    });

    for (const name of ['Node', 'Bun']) test(`${who}: JavaScript is confined in the same way with ${name}`, async (t) => {
      const env = name === 'Bun' ? bunEnvironment() : {};
      if (lacksBun(t, env) || await lacking(t, who)) return;
      for (const profile of ['pure', 'files']) {
        const o = await one(who, script, { profile, ext: 'js', env });
        assert.equal(o.exit, 'ok', `${profile}: ${o.error} ${o.traceback}`);
        assert.deepEqual(o.result, {}, profile);
      }
      if (name === 'Bun') return;
      // What lies below Node's own interfaces may crash it, inside.
      for (const code of [
        "const r = process.binding('spawn_sync').spawn({ file: '/bin/id', args: ['id'], stdio: [] }); return r.pid ? 'reached' : 'no'",
        "const i = require('inspector'); i.open(0, '127.0.0.1'); return i.url() ? 'reached' : 'no'",
      ]) assert.notEqual((await one(who, code, { ext: 'js' })).result, 'reached', code);
    });

    // Below tier 1 there are no namespaces: the host's name and the gate's uid (as root one that owns nothing) are seen, as docs/sandbox.md says.
    for (const tier of [2, 3]) test(`${who}: tier ${tier} keeps what is promised of it`, { skip: !x64 && 'numbers are those of x86-64' }, async (t) => {
      const low = { args: ['--min-tier', '3'], env: { SALLYPORT_SANDBOX_TIER: String(tier) } };
      for (const profile of tier === 2 ? ['pure', 'files'] : ['pure']) {
        const o = await one(who, probes('no'), { profile, ...low });
        if (o.tier !== tier) return t.skip(`SKIPPED LOUDLY: as ${who} this machine gives tier ${o.tier}, not ${tier}: ${o.error}`);
        assert.equal(o.exit, 'ok', `${profile}: ${o.error} ${o.traceback}`);
        const { identity, ...reached } = o.result;
        assert.deepEqual(reached, {}, profile);
        if (who === 'root') assert.ok(identity[1] >= 65533, `code runs as uid ${identity[1]}`);
        assert.ok(o.violations.includes('socket') && o.violations.includes('system call 600'), `${profile}: named: ${o.violations}`);
        const js = await one(who, script, { profile, ext: 'js', ...low });
        assert.equal(js.exit, 'ok', `${profile}: ${js.error} ${js.traceback}`);
        assert.deepEqual(js.result, {}, `JavaScript, ${profile}`);
      }
      const names = Object.keys(KILLED).filter((_, i) => i % 3 === 0);
      const outcomes = await run(who, names.map(hostile), low);
      names.forEach((name, i) => assert.deepEqual([outcomes[i].exit, outcomes[i].violations, outcomes[i].output], ['killed', [name], ['before']], `${name}: ${JSON.stringify(outcomes[i])}`));
      const limits = await run(who, ['x = bytearray(1 << 30)', 'import os; os.fork()', 'import subprocess; subprocess.run(["/bin/true"])'], { ...low, args: [...low.args, '--memory', '200'] });
      assert.deepEqual(limits.map((o) => o.exit), ['memory', 'error', 'error'], JSON.stringify(limits));
      assert.equal((await one(who, 'while True: pass', { ...low, args: [...low.args, '--timeout', '500ms'] })).exit, 'timeout');
    });

    test(`${who}: raw system calls from Bun are confined, too`, { skip: !x64 && 'numbers are those of x86-64' }, async (t) => {
      const env = bunEnvironment();
      if (lacksBun(t, env) || await lacking(t, who)) return;
      const head = "const { symbols } = require('bun:ffi').dlopen('libc.so.6', { syscall: { args: Array(7).fill('i64'), returns: 'i64' } });\nconst raw = (...n) => Number(symbols.syscall(...n.concat(Array(7 - n.length).fill(0))));\n";
      const denied = `${head}const made = Object.entries(${JSON.stringify(DENIED)}).filter(([, n]) => raw(n) !== -1).map(([name]) => name);
        for (const [name, ...call] of [['namespaces', 56, 0x10000011], ['clone3', 435], ['io_uring_setup', 425], ['execve', 59], ['execveat', 322], ['shared memory', 9, 0, 4096, 3, 33, -1]])
          if (raw(...call) !== -1) made.push(name);
        return [made, raw(102)]`;
      const o = await one(who, denied, { ext: 'js', env });
      assert.deepEqual([o.exit, o.result], ['ok', [[], 1000]], JSON.stringify(o));
      assert.ok(o.violations.includes('socket') && o.violations.includes('system call 600'), String(o.violations));
      const names = Object.keys(KILLED).filter((_, i) => i % 6 === 0);
      const outcomes = await run(who, names.map((name) => `${head}console.log('before'); raw(${KILLED[name]}); console.log('after')`), { ext: 'js', env });
      names.forEach((name, i) => assert.deepEqual([outcomes[i].exit, outcomes[i].violations, outcomes[i].output], ['killed', [name], ['before']], JSON.stringify(outcomes[i])));
    });

    test(`${who}: no kind of memory of Bun is more than its limit`, async (t) => {
      const env = bunEnvironment();
      if (lacksBun(t, env) || await lacking(t, who)) return;
      const kinds = {
        buffers: 'for (;;) a.push(new Uint8Array(1 << 20).fill(1))', arrays: 'for (let i = 0; ; i++) a.push(new Array(1 << 17).fill(1.5 + i))',
        objects: 'for (let i = 0; ; i++) a.push({ x: i, y: {} })', texts: 'for (let i = 0; ; i++) { a.push((`x${i}`).repeat(1 << 18)); a[i].charCodeAt(5) }',
        maps: 'const m = new Map(); for (let i = 0; ; i++) m.set(i, i)', wasm: 'const m = new WebAssembly.Memory({ initial: 1, maximum: 16000 }); m.grow(12000); new Uint8Array(m.buffer).fill(1)',
      };
      const names = Object.keys(kinds);
      const outcomes = await run(who, names.map((name) => `const a = []; ${kinds[name]}`), { ext: 'js', env, args: ['--memory', '100', '--timeout', '120s'] });
      names.forEach((name, i) => assert.equal(outcomes[i].exit, 'memory', `${name}: ${JSON.stringify(outcomes[i]).slice(0, 600)}`));
      const small = await one(who, 'return new Uint8Array(60 << 20).fill(1).length', { ext: 'js', env, args: ['--memory', '100'] });
      assert.equal(small.result, 60 << 20, JSON.stringify(small));
    });

    test(`${who}: limits hold`, async (t) => {
      if (await lacking(t, who)) return;
      const is = async (exit, code, options) => {
        const o = await one(who, code, options);
        assert.equal(o.exit, exit, `${code.slice(0, 60)}: ${JSON.stringify(o).slice(0, 400)}`);
        return o;
      };
      await is('timeout', 'import signal\nfor s in (15, 2, 24): signal.signal(s, signal.SIG_IGN)\nwhile True: pass', { args: ['--timeout', '500ms'] });
      await is('memory', 'x = bytearray(1 << 30)', { args: ['--memory', '200'] });
      await is('memory', 'const a = []; for (;;) a.push(new Array(1e6).fill(1.5))', { ext: 'js', args: ['--memory', '64'] });
      const bun = bunEnvironment();
      if (bun) await is('timeout', 'for (;;);', { ext: 'js', env: bun, args: ['--timeout', '500ms'] });
      await is('output', 'while True: print("x" * 1000)');
      await is('killed', 'import ctypes; ctypes.string_at(0)');
      await is('killed', 'import os; os._exit(0)');
      const disk = await is('ok', `
import os
def fill(dir):
    try:
        with open(dir + "/big", "wb") as f:
            for _ in range(80): f.write(bytes(1 << 20))
    except OSError as e: return e.errno
def inodes(dir):
    try:
        for i in range(100000): open(dir + "/%d" % i, "w").close()
    except OSError as e: return e.errno
result = [fill("/tmp"), fill("/workspace"), inodes("/tmp")]`, { profile: 'files' });
      for (const code of disk.result) assert.ok([27, 28].includes(code), `quota: ${disk.result}`);
      const threads = await is('ok', `
import threading
stop, made = threading.Event(), []
try:
    for i in range(500):
        t = threading.Thread(target=stop.wait); t.start(); made.append(t)
except RuntimeError: pass
stop.set()
result = len(made)`);
      assert.ok(threads.result < 200, `threads: ${threads.result}`);
      const bomb = await one(who, `
import os
made = 0
try:
    for i in range(2000):
        if os.fork() == 0:
            import time; time.sleep(1000)
        made += 1
except OSError: pass
result = made`, { profile: 'proc' });
      // The host's root cannot be limited in number but by a control group: without, the profile is not offered at all.
      if (who === 'root in unshare -r' && bomb.exit !== 'ok') assert.match(bomb.error, /cannot be limited/);
      else assert.ok(bomb.exit === 'ok' && bomb.result < 200, JSON.stringify(bomb));
    });
  }
});

describe('the bridge', () => {
  const who = whos[0];
  const frame = (kind, id, body) => `import os, struct\nb = ${body}\nos.write(3, struct.pack("<III", len(b), ${id}, ${kind}) + b)\nimport time; time.sleep(30)`;
  const BAD = {
    'a length of four gigabytes': 'import os, struct, time\nos.write(3, struct.pack("<III", 0xffffffff, 1, 16)); time.sleep(30)',
    'an empty frame': 'import os, struct, time\nos.write(3, struct.pack("<III", 0, 0, 17)); time.sleep(30)',
    'a result from the sandbox': frame(2, 1, 'b"{}"'),
    'code from the sandbox': frame(1, 0, 'b"{}"'),
    'an unknown kind': frame(99, 0, 'b"{}"'),
    'a call without a number': frame(16, 0, 'b"{}"'),
    'a number with something that is no call': frame(17, 5, 'b"{}"'),
    'the end without a verdict': frame(19, 0, 'b"{}"'),
    'the end as no JSON': frame(19, 0, 'b"\\xff"'),
    'the end with a key twice': frame(19, 0, `b'{"ok":true,"ok":false}'`),
    'the end nested too deep': frame(19, 0, `b'{"ok":true,"result":' + b"[" * 100000 + b"]" * 100000 + b"}"`),
    'a call number twice': `import os, struct, time\nb = b'{"server":"a","tool":"b","args":{}}'\nfor i in (1, 1): os.write(3, struct.pack("<III", len(b), i, 16) + b)\ntime.sleep(30)`,
    'a preview of a type that none has': frame(18, 0, 'b"\\x0ftext/javascriptalert(1)"'),
    'a preview whose type is longer than the frame': frame(18, 0, 'b"\\x40text/html"'),
  };
  test('bytes that are not a frame end the sandbox', async (t) => {
    if (await lacking(t, who)) return;
    const names = Object.keys(BAD);
    const outcomes = await run(who, names.map((n) => BAD[n]), { args: ['--timeout', '20s'] });
    names.forEach((name, i) => assert.equal(outcomes[i].exit, 'killed', `${name}: ${JSON.stringify(outcomes[i])}`));
  });
  test('a run that stops in the middle of a frame ends at the time limit', async (t) => {
    if (await lacking(t, who)) return;
    const o = await one(who, 'import os, time\nos.write(3, b"\\x01"); time.sleep(60)', { args: ['--timeout', '1s'] });
    assert.equal(o.exit, 'timeout');
  });
  test('arguments that are not strict JSON fail as an error the code can catch', async (t) => {
    if (await lacking(t, who)) return;
    const o = await one(who, `
result = []
for value in ("\\ud800", "a\\x00b"):
    try: call_tool("a", "b", {"x": value})
    except ToolError as e: result.append("caught")
try: call_tool("a", "b", {"x": "y" * (17 << 20)})
except ValueError: result.append("too large")
try: tools.a.b(1)
except TypeError: result.append("by name")`);
    assert.deepEqual([o.exit, o.result], ['ok', ['caught', 'caught', 'too large', 'by name']], JSON.stringify(o));
  });
  test('a run can make at most ten thousand calls', async (t) => {
    if (await lacking(t, who)) return;
    const o = await one(who, 'for i in range(10**6):\n  try: call_tool("a", "b", {})\n  except ToolError: pass');
    assert.deepEqual([o.exit, o.tool_calls], ['killed', 10001], JSON.stringify(o));
  });
  test('row 141: a process that the code starts shares its bridge and its number of calls', async (t) => {
    if (await lacking(t, who)) return;
    const o = await one(who, `
import os, struct, time
def calls(numbers):
    body = b'{"server":"","tool":"nothing","args":{}}'
    data = b"".join(struct.pack("<III", len(body), n, 16) + body for n in numbers)
    while data: data = data[os.write(3, data):]
if os.fork() == 0:
    calls(range(1, 6001))
    os._exit(0)
os.wait()
calls(range(6001, 12001))
time.sleep(60)`, { profile: 'proc' });
    if (/cannot be limited/.test(o.error)) return t.skip('no processes may be started here');
    assert.deepEqual([o.exit, o.tool_calls], ['killed', 10001], JSON.stringify(o));
  });
  test('a descriptor sent over the bridge is dropped, and output is never read as a message', async (t) => {
    if (await lacking(t, who)) return;
    const [sent, printed] = await run(who, [`
import array, os, socket
socket.socket(fileno=os.dup(3)).sendmsg([b"x" * 12], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])
import time; time.sleep(30)`, `
print('{"jsonrpc":"2.0","id":1,"result":{}}'); print("\\x1b[31m")
result = 1`]);
    assert.deepEqual([sent.exit, sent.error], ['error', '[Errno 1] Operation not permitted'], JSON.stringify(sent));
    assert.deepEqual([printed.exit, printed.output], ['ok', ['{"jsonrpc":"2.0","id":1,"result":{}}', '\u001b[31m']], JSON.stringify(printed));
  });
});

describe('the lock-down fails closed', () => {
  const who = whos[0];
  const STEPS = ['deathsig', 'idmap', 'scratch', 'workdir', 'rlimits', 'landlock', 'caps', 'descriptors', 'privileges', 'seccomp', 'report'];
  for (const [name, ext] of [['Python', 'py'], ['Node', 'js'], ['Bun', 'js']]) {
    test(`${name} does not run when any step of the lock-down fails`, async (t) => {
      const env = name === 'Bun' ? bunEnvironment() : {};
      if (lacksBun(t, env) || await lacking(t, who)) return;
      const code = ext === 'py' ? 'print("ran")' : 'console.log("ran")';
      const failing = STEPS.slice();
      const next = async () => {
        for (let step; (step = failing.shift()); ) {
          const o = await one(who, code, { ext, env: { ...env, SALLYPORT_SANDBOX_FAIL: step } });
          assert.equal(o.exit, 'killed', `${step}: ${JSON.stringify(o)}`);
          assert.match(o.error, new RegExp(`\`${step}\` failed`));
          assert.deepEqual(o.output, []);
        }
      };
      await Promise.all([next(), next(), next()]);
    });
  }
  test('a weaker tier is refused unless it was asked for, and confines what it runs', async () => {
    const at = (tier, code, args = [], profile = 'pure') => one(who, code, { profile, args, env: { SALLYPORT_SANDBOX_TIER: String(tier) } });
    const secret = `result = open("${home}/host-file").read()`;
    assert.match((await at(2, 'result = 1')).error, /cannot confine/);
    assert.match((await at(3, 'result = 1', ['--min-tier', '2'])).error, /cannot confine/);
    assert.match((await at(2, 'result = 1', ['--min-tier', '2'], 'proc')).error, /cannot confine that profile/);
    assert.match((await at(3, 'result = 1', ['--min-tier', '3'], 'files')).error, /cannot confine that profile/);
    for (const [tier, profile] of [[2, 'pure'], [2, 'files'], [3, 'pure']]) {
      const args = ['--min-tier', '3'];
      assert.equal((await at(tier, 'result = sum(range(10))', args, profile)).result, 45);
      assert.equal((await at(tier, secret, args, profile)).exit, 'error', `tier ${tier} ${profile}`);
      assert.equal((await at(tier, 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)', args, profile)).exit, 'error');
    }
    const kept = await at(2, 'open("a", "w").write("x"); result = open("a").read()', ['--min-tier', '2'], 'files');
    assert.deepEqual([kept.exit, kept.result], ['ok', 'x'], JSON.stringify(kept));
  });
  test('as root, tier 2 names what the sandbox cannot enter before anything starts', async (t) => {
    if (who !== 'root') return t.skip('SKIPPED LOUDLY: only root runs code under another uid');
    const closed = join(home, 'closed'), low = { args: ['--min-tier', '2'], env: { SALLYPORT_SANDBOX_TIER: '2' } };
    mkdirSync(closed, { mode: 0o700 });
    for (const name of readdirSync(home).filter((name) => /^sallyport/.test(name))) copyFileSync(join(home, name), join(closed, name));
    copyFileSync(spawnSync('python3', ['-c', 'import os, sys; print(os.path.realpath(sys.executable))'], { encoding: 'utf8' }).stdout.trim(), join(closed, 'python3'));
    const o = await one(who, 'result = 1', { ...low, env: { ...low.env, SALLYPORT_PYTHON: join(closed, 'python3') } });
    assert.match(o.error, /closed\/python3 is closed to the sandbox's user, uid 700000/);
    const says = (program, ...args) => spawnSync(join(program, 'sallyport'), args, { encoding: 'utf8', env: environment({ ...low.env, SALLYPORT_HOME: join(closed, 'state') }) }).stdout;
    assert.match(says(closed, 'doctor'), /tier 4.* \S+closed is closed to the sandbox's user.*\n +fix: .*\/usr\/local/);
    assert.match(says(closed, 'code', 'run', '--json', '--min-tier', '2', write('result = 1', 'py')), /cannot confine code well enough.*closed is closed/);
    // The gate's own home is no obstacle.
    assert.match(says(home, 'code', 'run', '--json', '--min-tier', '2', write('result = 6 * 7', 'py')), /"result":42/);
  });
  test('tier 2 cannot change files of the user, and has a workspace', async () => {
    const path = join(home, 'host-file'), before = statSync(path);
    const o = await one(who, `
import ctypes, os, pathlib, tempfile
libc, reached = ctypes.CDLL(None, use_errno=True), {}
def raw(name, *args):
    if libc.syscall(*map(ctypes.c_long, args[:1]), *args[1:]) >= 0: reached[name] = True
path = b"${path}"
for name, act in {"chmod": lambda: os.chmod(path, 0o600), "utime": lambda: os.utime(path, (1, 1)), "truncate": lambda: os.truncate(path, 0),
                  "setxattr": lambda: os.setxattr(path, "user.x", b"1"), "chown": lambda: os.chown(path, 1, 1), "kill": lambda: os.kill(os.getppid(), 0),
                  "fchmod": lambda: os.fchmod(os.open("/usr/bin/env", 0), 0o755)}.items():
    try: act(); reached[name] = True
    except OSError: pass
raw("inotify_init1", 294, 0)
pathlib.Path("/workspace/a.txt").write_text("a")
with tempfile.NamedTemporaryFile("w", delete=False) as f: f.write("t")
result = [reached, open("/workspace/a.txt").read(), open(f.name).read(), os.getcwd()]`, { profile: 'files', args: ['--min-tier', '2'], env: { SALLYPORT_SANDBOX_TIER: '2' } });
    assert.deepEqual(o.result, [{}, 'a', 't', '/workspace'], JSON.stringify(o));
    const after = statSync(path);
    assert.deepEqual([after.mode, after.mtimeMs, after.size], [before.mode, before.mtimeMs, before.size]);
    const js = await one(who, 'const fs = require("fs"); fs.writeFileSync("/workspace/b", "b"); return [fs.readFileSync("/workspace/b", "utf8"), fs.readdirSync("/workspace"), process.cwd()]',
      { profile: 'files', ext: 'js', args: ['--min-tier', '2'], env: { SALLYPORT_SANDBOX_TIER: '2' } });
    assert.deepEqual(js.result, ['b', ['b'], '/workspace'], JSON.stringify(js));
  });
  test('an interpreter sees only its own library; a virtual environment adds its packages', async () => {
    const python = spawnSync('python3', ['-c', 'import os, sys; print(os.path.realpath(sys.executable))'], { encoding: 'utf8' }).stdout.trim();
    const local = join(home, 'me/.local');
    mkdirSync(join(local, 'bin'), { recursive: true });
    mkdirSync(join(local, 'state'), { recursive: true });
    writeFileSync(join(local, 'state/key'), SECRET);
    copyFileSync(python, join(local, 'bin/python3'));
    const look = 'import glob\nresult = [sorted(glob.glob("/opt/python/*")), 6 * 7]';
    const o = await one(who, look, { profile: 'files', env: { SALLYPORT_PYTHON: join(local, 'bin/python3') } });
    assert.deepEqual(o.result, [['/opt/python/bin'], 42], JSON.stringify(o));
    const version = readdirSync('/usr/lib').find((name) => /^python3\.\d+$/.test(name));
    mkdirSync(join(local, 'lib', version), { recursive: true });
    writeFileSync(join(local, 'lib', version, 'os.py'), '');
    const refused = await one(who, look, { profile: 'files', env: { SALLYPORT_PYTHON: join(local, 'bin/python3'), SALLYPORT_HOME: join(local, 'state/sallyport') } });
    assert.match(refused.error, /is not used: its prefix .* contains .*state/, JSON.stringify(refused));
    const venv = join(home, 'venv'), packages = join(venv, 'lib', version, 'site-packages');
    mkdirSync(packages, { recursive: true });
    mkdirSync(join(venv, 'bin'));
    symlinkSync(python, join(venv, 'bin/python'));
    writeFileSync(join(venv, 'pyvenv.cfg'), `home = ${dirname(python)}\nversion = 3\n`);
    writeFileSync(join(packages, 'only_here.py'), 'VALUE = 5\n');
    const used = await one(who, 'import only_here; result = only_here.VALUE', { profile: 'files', env: { SALLYPORT_PYTHON: join(venv, 'bin/python') } });
    assert.equal(used.result, 5, JSON.stringify(used));
    symlinkSync(venv, join(home, 'linked'));
    const linked = await one(who, 'import only_here; result = only_here.VALUE', { profile: 'files', env: { SALLYPORT_PYTHON: join(home, 'linked/bin/python') } });
    assert.equal(linked.result, 5, JSON.stringify(linked));
  });
});

describe('nothing is left', () => {
  const who = whos[0];
  const gone = () => until(() => `the end of ${mine()}`, () => mine().length === 0);

  test('sandboxes share neither files nor random numbers', async (t) => {
    if (await lacking(t, who)) return;
    const code = 'import os, random, uuid\nbefore = os.listdir("/tmp") + os.listdir("/workspace")\nopen("/tmp/left", "w").write("x"); open("left", "w").write("x")\nresult = [before, random.random(), str(uuid.uuid4()), os.urandom(4).hex()]';
    const outcomes = await run(who, [code, code, code], { profile: 'files' });
    for (const o of outcomes) assert.deepEqual(o.result?.[0], [], JSON.stringify(o));
    for (const i of [1, 2, 3]) assert.equal(new Set(outcomes.map((o) => o.result[i])).size, 3);
    const js = await run(who, Array(3).fill('[Math.random(), crypto.randomUUID(), require("crypto").randomBytes(4).toString("hex")]'), { ext: 'js' });
    for (const i of [0, 1, 2]) assert.equal(new Set(js.map((o) => o.result?.[i])).size, 3, JSON.stringify(js));
  });
  test('a daemon that detached from its parents ends with the sandbox', async (t) => {
    if (await lacking(t, who)) return;
    const o = await one(who, `
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["${home}/daemon", "1000"])
    os._exit(0)
os.wait()
result = 1`, { profile: 'proc' });
    assert.equal(o.exit, 'ok', JSON.stringify(o));
    await gone();
  });
  test('killing the gate ends all of its processes', async (t) => {
    if (await lacking(t, who)) return;
    const path = write('import time\nprint("up", flush=True)\ntime.sleep(1000)', 'py');
    const child = spawn(join(home, 'sallyport'), ['code', 'run', '--timeout', '600s', path], { env: environment(), stdio: 'ignore' });
    await until('gate, spawner and helper', () => mine().length >= 3);
    child.kill('SIGKILL');
    await gone();
  });
  test('only regular files and directories of a run stay in the workspace', async (t) => {
    if (await lacking(t, who)) return;
    const dir = join(home, 'work');
    mkdirSync(dir);
    writeFileSync(join(dir, 'given'), 'hello');
    writeFileSync(join(dir, 'removed'), 'x');
    const o = await one(who, `
import os
assert open("given").read() == "hello"
os.remove("removed")
os.symlink("/etc/passwd", "link"); os.symlink("..", "up")
os.makedirs("a/b"); open("a/b/c", "w").write("deep")
open("new\\nline", "w").write("x"); open(b"\\xff", "w").write("x")
with open("sparse", "wb") as f: f.truncate(1 << 25)
os.chmod("given", 0o4755)
result = 1`, { profile: 'files', args: ['--workspace', dir] });
    assert.equal(o.exit, 'ok', JSON.stringify(o));
    assert.deepEqual(readdirSync(dir).sort(), ['a', 'given', 'sparse']);
    assert.equal(readFileSync(join(dir, 'a/b/c'), 'utf8'), 'deep');
    assert.equal(existsSync(join(dir, 'link')), false);
    assert.match(o.workspace, /link|up|name/);
  });
  test('no process of ours is left at the end', gone);
});
