// bash with the programs of /usr/bin, where the operator has turned it on.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ModernHttpPeer, cli, policyFile, startServe, tempDir, use } from '../lib/index.mjs';
import { startCode } from '../lib/code.mjs';

// NULL where the kernel cannot count the processes of a sandbox.
async function start(t) {
  const { json, run, peer } = await startCode(t, { args: ['--bash'] });
  const bash = (code, more) => run(code, { language: 'bash', ...more });
  const probe = await bash('true');
  if (/cannot be limited|tier 1/.test(probe.error)) { t.skip(`SKIPPED LOUDLY: ${probe.error}`); return null; }
  assert.equal(probe.success, true, JSON.stringify(probe));
  return { bash, json, run, peer };
}

test('bash is off unless the operator turns it on, and the answer names the setting', async (t) => {
  const { peer } = await startCode(t);
  const { content, isError } = await peer.call('execute_code', { code: 'echo 1', language: 'bash' });
  assert.equal(isError, true);
  assert.match(content[0].text, /bash is off; the operator turns it on with `code: \{bash: true\}` in sallyport\.yaml, or with `sallyport code --bash`/);
});

test('code.bash in sallyport.yaml turns it on', async (t) => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const token = (await cli(['grants', 'create', 'ann'], { env })).stdout.trim();
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile({ version: '1', default: 'allow' }), servers: {}, code: { enabled: true, bash: true } }, args: [], env }));
  const { content, structuredContent } = await new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers: { Authorization: `Bearer ${token}` } }).call('execute_code', { code: 'echo $((6 * 7))', language: 'bash' });
  if (/cannot be limited|tier 1/.test(content[0].text)) return t.skip(`SKIPPED LOUDLY: ${content[0].text}`);
  assert.deepEqual(structuredContent.output, ['42'], content[0].text);
});

test('pipelines, files, both streams, the exit status, variables', async (t) => {
  const on = await start(t);
  if (!on) return;
  const { bash, json, run } = on;
  const piped = await bash("set -euo pipefail\nprintf 'b\\na\\n' | sort | tee list.txt | wc -l\necho problem >&2\npwd; echo $HOME");
  assert.deepEqual([piped.success, piped.output, piped.stderr, piped.files], [true, ['2', '/workspace', '/workspace'], 'problem\n', ['list.txt']], JSON.stringify(piped));
  assert.equal((await json('read_workspace_file', { filename: 'list.txt' })).content, 'a\nb\n');
  assert.equal((await run('result = read_file("list.txt")')).result, 'a\nb\n');
  const failed = await bash('echo before\nexit 3');
  assert.deepEqual([failed.success, failed.error, failed.exit, failed.output], [false, 'exit status 3', 'error', ['before']]);
  assert.match((await bash('no-such-program')).error, /^exit status 127: a command was not found$/);
  assert.deepEqual((await bash('echo "$name" "$n" "$list"', { context_vars: { name: 'a $(id) b', n: 3, list: [1, 2] } })).output, ['a $(id) b 3 [1, 2]']);
  assert.match((await bash('true', { context_vars: { 'a b': 1 } })).error, /`a b` cannot be a variable of bash/);
  assert.deepEqual((await bash('```bash\necho fenced\n```')).output, ['fenced']);
});

test('process substitution, scripts with a mode, named pipes and the account are there; programs of one\'s own, locks and /proc are not', async (t) => {
  const on = await start(t);
  if (!on) return;
  const there = await on.bash(`diff <(echo a) <(echo b) | head -1; echo seen | cat /dev/stdin; echo both | tee /dev/stderr
printf '#!/bin/sh\\necho "script $1"\\n' > s; ./s 2> why || echo "status $?"; chmod +x s; [ -x s ] && ./s one; env ./s two
mkfifo p; (echo through > p &); cat p; whoami; id -un`);
  assert.deepEqual([there.output, there.stderr], [['1c1', 'seen', 'both', 'status 126', 'script one', 'script two', 'through', 'sandbox', 'sandbox'], 'both\n'], JSON.stringify(there));
  const absent = await on.bash(`cp /bin/true own; chmod +x own; ./own 2> /dev/null; echo $?; [ -x own ] || echo "not executable"
python3 -c 'import fcntl; fcntl.flock(open("own"), 2)' 2>&1 | tail -1; ls /proc 2>/dev/null || echo "no /proc"; mknod d c 1 3`);
  assert.deepEqual(absent.output, ['126', 'not executable', 'PermissionError: [Errno 1] Operation not permitted', 'no /proc'], JSON.stringify(absent));
  assert.deepEqual([absent.exit, absent.violations], ['killed', ['mknodat']]);
});

test('jq and git, whose repository stays in the workspace', async (t) => {
  const on = await start(t);
  if (!on) return;
  const lacking = ['jq', 'git'].filter((name) => !existsSync(`/usr/bin/${name}`));
  if (lacking.length) return t.skip(`SKIPPED LOUDLY: no ${lacking.join(', ')} here`);
  assert.deepEqual((await on.bash("echo '{\"a\":[1,2]}' | jq -c '.a | map(. + 1)'")).output, ['[2,3]']);
  const made = await on.bash('git init -q repo && cd repo && echo one > file && git add file && git commit -qm first && git log --format=%s');
  assert.deepEqual(made.output, ['first'], JSON.stringify(made));
  const later = await on.bash('cd repo && echo two >> file && git commit -qam second && git log --format=%s && git status --short');
  assert.deepEqual(later.output, ['second', 'first'], JSON.stringify(later));
});

test('a session keeps variables, functions and the directory', async (t) => {
  const on = await start(t);
  if (!on) return;
  const session_id = 'shell';
  await on.bash("mkdir -p sub; cd sub; x='two\nlines'; declare -A map=([k]=v); twice() { echo $(($1 * 2)); }; export seen=1", { session_id });
  const again = await on.bash('pwd; echo "$x"; echo ${map[k]}; twice 21; bash -c "echo $seen"; exit 4', { session_id });
  assert.deepEqual(again.output, ['/workspace/sub', 'two', 'lines', 'v', '42', '1'], JSON.stringify(again));
  assert.deepEqual((await on.bash('echo $n $x', { session_id, context_vars: { n: 5, x: 'new' } })).output, ['5 new']);
  assert.deepEqual((await on.json('list_sessions')).sessions.map((s) => [s.session_id, s.language]), [['shell', 'bash']]);
});

test('the sandbox confines bash: no host files, no network, limits on processes and time', async (t) => {
  const on = await start(t);
  if (!on) return;
  const { output } = await on.bash('cat /etc/passwd /etc/shadow 2>/dev/null; ls -d /root /home /proc/1 2>/dev/null; (exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null && echo connected; touch /usr/bin/x 2>/dev/null && echo written; env | grep -c SALLYPORT');
  assert.deepEqual(output, ['0']);
  const slow = await on.bash('sleep 1000 & (while :; do sleep 1000; done) & wait', { timeout_seconds: 1 });
  assert.equal(slow.exit, 'timeout');
  const forks = await on.bash('f() { f | f & }; f; sleep 0.2; echo alive', { timeout_seconds: 5 });
  assert.ok(['ok', 'error', 'timeout', 'killed', 'cpu', 'memory'].includes(forks.exit), JSON.stringify(forks));
  assert.deepEqual((await on.bash('echo next')).output, ['next']);
});

test('where bash is allowed, Python and JavaScript start programs, too; elsewhere the error says what the operator could allow', async (t) => {
  const off = await startCode(t), on = await start(t);
  for (const [code, language] of [['import subprocess; subprocess.run(["true"])', 'python'], ['require("child_process").execSync("true")', 'javascript']])
    assert.match((await off.run(code, { language })).error, /no programs or processes can be started.*`code: \{bash: true\}` or --bash/);
  if (!on) return;
  const python = await on.run(`import asyncio, os, subprocess
async def main():
  made = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  return (await made.communicate(b"in"))[0].decode()
result = [subprocess.run("echo $HOME | tr a-z A-Z; whoami", shell=True, capture_output=True, text=True).stdout, os.system("exit 3"), os.popen("echo open").read(),
  subprocess.run(["false"]).returncode, asyncio.run(main()), dict(os.environ)]`, { language: 'python' });
  assert.deepEqual(python.result, ['/WORKSPACE\nsandbox\n', 768, 'open\n', 1, 'in', {}], JSON.stringify(python));
  const script = await on.run(`const { execSync, spawnSync, spawn } = require('child_process');
const cat = spawn('cat'); cat.stdin.end('in');
let text = ''; for await (const some of cat.stdout) text += some;
return [execSync('echo $HOME; whoami').toString(), spawnSync('false').status, text];`, { language: 'javascript' });
  assert.deepEqual(script.result, ['/workspace\nsandbox\n', 1, 'in'], JSON.stringify(script));
  await on.run('x = 41', { language: 'python', session_id: 's' });
  assert.equal((await on.run('import subprocess; result = x + int(subprocess.check_output(["echo", "1"]))', { language: 'python', session_id: 's' })).result, 42, 'a session keeps its variables');
});

test('a server that a run starts is reached by the programs of that run, and by nobody else', async (t) => {
  const on = await start(t);
  if (!on) return;
  const get = (port) => `python3 -c 'import urllib.request as u; print(u.urlopen("http://localhost:${port}/f.txt").read().decode().strip())' 2>&1 | tail -1`;
  const own = await on.bash(`echo hello > f.txt
python3 -m http.server 8000 --bind 127.0.0.1 > /dev/null 2>&1 & pid=$!
until ${get(8000)} | grep hello; do sleep 0.1; done
kill $pid; wait $pid; ${get(8000)}`);
  assert.deepEqual(own.output, ['hello', 'urllib.error.URLError: <urlopen error [Errno 111] Connection refused>'], JSON.stringify(own));
  const { result: port } = await on.run(`import http.server, threading
server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
result = server.server_port`, { language: 'python', session_id: 'server' });
  assert.ok(port > 1023);
  assert.match((await on.run(`import urllib.request; result = urllib.request.urlopen("http://127.0.0.1:${port}/").status`, { language: 'python', session_id: 'server' })).result + '', /200/);
  assert.match((await on.bash(get(port))).output.join(), /Connection refused/, 'another run');
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`), 'the machine');
});
