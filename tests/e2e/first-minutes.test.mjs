// What a new user types in the first minutes: every answer says what to do next.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { approve, cli, freePort, legacyServer, peerFor, probeCommand, request, root, run, sallyport, start, startGate, startServe, startUpstream, tempDir, tempFile, until, use } from '../lib/index.mjs';

const homeOf = () => ({ SALLYPORT_HOME: join(tempDir(), 'home') });
const ok = async (args, options) => {
  const result = await cli(args, options);
  assert.equal(result.code, 0, `${args.join(' ')}: ${result.stdout}${result.stderr}`);
  return result;
};

describe('before the first gate', { concurrency: 4 }, () => {
  test('-V and --version say the version; a misprint is understood', async () => {
    const { stdout } = await ok(['--version']);
    assert.match(stdout, /^sallyport \d+\.\d+\.\d+/);
    assert.equal((await ok(['-V'])).stdout, stdout);
    const { code, stderr } = await cli(['--verison']);
    assert.equal(code, 2);
    assert.match(stderr, /did you mean `--version`\?/);
  });

  test('status and the audit commands say what to do and exit with status 0', async () => {
    const env = homeOf();
    assert.match((await ok(['status'], { env })).stdout, /^No gate has run with the home .*home` yet\.\n {2}sallyport init/);
    for (const verb of ['tail', 'query', 'verify', 'export']) {
      const { stdout, stderr } = await ok(['audit', verb], { env });
      assert.equal(stdout, '');
      assert.match(stderr, /no audit log yet .* Start one with `sallyport init`/, verb);
    }
    assert.match((await ok(['grants', 'list'], { env })).stderr, /no grants; `sallyport grants create NAME` makes one/);
    assert.equal(JSON.parse((await ok(['audit', 'verify', '--json'], { env })).stdout).records, 0);
    assert.notEqual((await cli(['audit', 'verify', '--key', 'audit.pub'], { env })).code, 0, 'a user who has a key expects a log');
  });

  test('a home whose log was deleted is not treated as new', async () => {
    const env = homeOf();
    mkdirSync(env.SALLYPORT_HOME, { mode: 0o700 });
    writeFileSync(join(env.SALLYPORT_HOME, 'audit.pub'), 'x');
    assert.notEqual((await cli(['audit', 'verify'], { env })).code, 0);
  });

  test('a grant before the first start: no warning about lost counters', async (t) => {
    const env = homeOf();
    await ok(['grants', 'create', 'agent1'], { env });
    const gate = use(t, await startServe({ env, args: [], config: { version: '1', servers: { probe: { command: probeCommand()[0], args: probeCommand().slice(1) } } } }));
    assert.doesNotMatch(gate.stderr, /state\.sqlite|starts anew|warn/);
  });

  test('NO_COLOR and a pipe: no escape sequences', async () => {
    for (const env of [{ NO_COLOR: '1' }, {}]) {
      const { stdout, stderr } = await cli(['help'], { env });
      assert.equal(/\x1b/.test(stdout + stderr), false);
    }
    const terminal = async (env) => (await run('script', ['-qec', `${sallyport} --help; ${sallyport} --verison`, '/dev/null'], { env: { TERM: 'xterm', ...env } })).stdout;
    assert.match(await terminal({ NO_COLOR: '' }), /\x1b\[/, 'colours at a terminal');
    assert.doesNotMatch(await terminal({ NO_COLOR: '1' }), /\x1b\[/);
  });
});

describe('times', { concurrency: 4 }, () => {
  test('--since accepts common ways to write a time', async () => {
    const env = homeOf();
    await ok(['grants', 'create', 'agent1'], { env });
    for (const since of ['yesterday', 'today', '2h', '2026-11-16', '2026-11-16 14:00', '2026-11-16T14:00:30', '2026-11-16T14:00:00Z', '2026-11-16T14:00:00+02:00']) {
      await ok(['audit', 'query', '--since', since], { env });
      await ok(['status', '--since', since], { env });
    }
    for (const since of ['2026-13-01', 'yesterdy', '2026-11-16T', '2026-11-16T25:00', '16.11.2026']) {
      const { code, stderr } = await cli(['audit', 'query', '--since', since], { env });
      assert.equal(code, 2, since);
      assert.match(stderr, /write how long ago \(15m, 2h, 7d\), today, yesterday, a date/);
    }
  });

  test('a date is midnight where the user is', async () => {
    const env = { ...homeOf(), TZ: 'Asia/Kolkata' };
    await ok(['grants', 'create', 'agent1'], { env });
    const day = new Date(Date.now() + 5.5 * 3600e3).toISOString().slice(0, 10); // what the calendar says there
    assert.match((await ok(['audit', 'query', '--since', day], { env })).stdout, /grant_created/);
    const tomorrow = new Date(Date.now() + 29.5 * 3600e3).toISOString().slice(0, 10);
    assert.doesNotMatch((await ok(['audit', 'query', '--since', tomorrow], { env })).stdout, /grant_created/);
  });

  test('times for people have their zone; JSON stays in UTC', async () => {
    const env = { ...homeOf(), TZ: 'Asia/Kolkata' };
    await ok(['grants', 'create', 'agent1', '--expires', '30d'], { env });
    assert.match((await ok(['audit', 'query'], { env })).stdout, /T[\d:.]+\+05:30 {2}event grant_created/);
    assert.match((await ok(['grants', 'show', 'agent1'], { env })).stdout, /expires {2}\S+\+05:30\n/);
    const [record] = (await ok(['audit', 'query', '--json', '--limit', '1'], { env })).stdout.split('\n').map((line) => line && JSON.parse(line));
    assert.match(record.time, /Z$/);
    assert.match((await ok(['audit', 'query'], { env: { ...env, TZ: 'UTC' } })).stdout, /T[\d:.]+Z {2}event/);
  });
});

describe('grants and identities', () => {
  test('grants list shows role, expiry and last use; --identity agent1 finds grant:agent1; replay takes --server and --grant', async (t) => {
    const env = homeOf();
    const tokens = {};
    for (const name of ['agent1', 'agent2']) tokens[name] = JSON.parse((await ok(['grants', 'create', name, '--role', 'viewer', '--json'], { env })).stdout).token;
    await ok(['grants', 'create', 'later', '--expires', '30d'], { env });
    const policy = tempFile('policy.yaml', JSON.stringify({ version: '1', default: 'allow', tools: { echo: { rules: [{ name: 'watch', action: 'deny', mode: 'shadow' }] } } }));
    const probe = { command: probeCommand()[0], args: probeCommand().slice(1) };
    const gate = use(t, await startServe({ env, args: [], config: { version: '1', policy, servers: { probe, other: probe } } }));
    for (const [name, server] of [['agent1', 'probe'], ['agent1', 'other'], ['agent2', 'probe']]) {
      const answer = await fetch(`${gate.origin}/mcp/call`, { method: 'POST', headers: { Authorization: `Bearer ${tokens[name]}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ server, tool: 'echo', args: { text: 'hi' } }) });
      assert.equal(answer.status, 200, await answer.text());
    }
    assert.match(await (await fetch(`${gate.origin}/metrics`)).text(), /\nsallyport_shadow_verdicts_total\{server="probe",method="tools\/call",tool="echo",verdict="deny"\} 2\n/);
    await gate.stop(); // when a grant was used is written now and then, and at the end
    const list = (await ok(['grants', 'list'], { env: { ...env, TZ: 'UTC' } })).stdout;
    assert.match(list, /^NAME +STATE +ROLE +EXPIRES +LAST USED +TOKEN +LABEL\n/);
    assert.match(list, /\nagent1 +active +viewer +never +20\S+Z +sp_/);
    assert.match(list, /\nlater +active +- +20\d\d-\S+Z +never +sp_/);
    const count = async (...args) => (await ok(['audit', 'query', '--json', '--tool', 'echo', ...args], { env })).stdout.split('\n').filter(Boolean).length;
    assert.deepEqual([await count('--identity', 'agent1'), await count('--identity', 'grant:agent1'), await count('--identity', 'agent'), await count('--identity', 'agent*')], [2, 2, 0, 3]);
    assert.equal(await count('--shadow'), 3);
    assert.equal(await count('--shadow', '--server', 'other'), 1);
    const { calls } = JSON.parse((await ok(['status', '--json'], { env })).stdout);
    assert.equal(calls.shadowed, 3);
    assert.match((await ok(['status'], { env })).stdout, /\nShadow: rules in shadow mode would have refused 3 of them; see sallyport audit query --shadow\n/);
    const strict = tempFile('strict.yaml', JSON.stringify({ version: '1', default: 'allow', tools: { echo: { rules: [{ name: 'no', action: 'deny' }] } } }));
    const replay = async (...args) => JSON.parse((await ok(['replay', '-c', strict, '--json', ...args], { env })).stdout);
    const judged = ({ newly_denied: { by } }) => by.filter(({ tool }) => tool === 'echo').reduce((sum, { count: n }) => sum + n, 0);
    assert.deepEqual([judged(await replay()), judged(await replay('--grant', 'agent1')), judged(await replay('--server', 'other')), judged(await replay('--grant', 'agent2', '--server', 'other'))], [3, 2, 1, 0]);
  });

  test('the beginning of an approval\'s id is enough', async (t) => {
    const env = homeOf();
    const gate = use(t, await startGate({ command: probeCommand(), env, policy: { version: '1', default: 'allow', tools: { echo: { rules: [{ name: 'ask', action: 'require_approval' }] } } } }));
    const peer = await peerFor('http', gate, { capabilities: {} });
    const asked = await peer.exchange('tools/call', { name: 'echo', arguments: { text: 'hi' } });
    const id = asked.json.error.data.approval_id;
    const { stdout } = await ok(['approvals', 'list'], { env });
    const short = stdout.split(' ')[0];
    await until('the log to name the approval', async () => gate.stderr.includes(`tools/call echo needs approval: sallyport approvals show ${id}`));
    assert.ok(short.length < id.length && id.startsWith(short), stdout);
    for (const given of [short, short.slice(0, 7), short.slice(3)]) assert.match((await ok(['approvals', 'show', given], { env })).stdout, new RegExp(`^id +${id}\n`));
    const few = await cli(['approvals', 'show', 'ap_'], { env });
    assert.equal(few.code, 1);
    assert.match(few.stderr, /give at least 4 characters of the id/);
    assert.equal(JSON.parse((await approve(short, { env })).stdout).id, id);
  });
});

// Each shell completes a line as it would at a terminal; what it offers is one word a line.
const shells = {
  bash: (line) => ['bash', ['--norc', '-c', `source <(sallyport completion bash); COMP_WORDS=(${line.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${line.length - 1}; _sallyport; printf '%s\n' "\${COMPREPLY[@]}"`]],
  fish: (line) => ['fish', ['--no-config', '-c', `sallyport completion fish | source; complete -C '${line.join(' ')}'`]],
  // A completion widget needs a terminal, and zpty is one. It is ready when the line editor says so. Typed characters are handled in order: what is printed before OVER is what the tab offered.
  zsh: (line) => ['zsh', ['-f', '-c', `zmodload zsh/zpty; zpty z zsh -f -i
zpty -w z 'PS1=; autoload -Uz compinit; compinit -D -u; source <(sallyport completion zsh); unsetopt list_ambiguous; zle-line-init() { print -n RE""ADY }; zle -N zle-line-init'; zpty -r z out '*READY*'
zpty -w z $'${line.join(' ')}\t\x15print OVE""R'; zpty -r z out '*OVER*'; print -r -- $out`]],
};

test('shells complete servers, grants, approvals and policy files that exist now', async (t) => {
  const dir = tempDir('complete');
  const server = use(t, await startUpstream(legacyServer({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] })));
  writeFileSync(join(dir, 'policy.yaml'), JSON.stringify({ version: '1', default: 'deny', tools: { pay: { rules: [{ name: 'ask', action: 'require_approval' }] } } }));
  writeFileSync(join(dir, 'notes.txt'), '');
  writeFileSync(join(dir, 'sallyport.yaml'), JSON.stringify({ version: '1', policy: 'policy.yaml', servers: { 'shop-one': { url: server.url }, 'shop-two': { url: server.url, disabled: true } } }));
  const env = { SALLYPORT_HOME: join(dir, 'home'), PATH: `${dirname(sallyport)}:${process.env.PATH}`, HOME: dir };
  for (const name of ['agent-one', 'agent-two', 'old-one']) assert.equal((await cli(['grants', 'create', name], { env })).code, 0);
  assert.equal((await cli(['grants', 'revoke', 'old-one'], { env })).code, 0);
  const { stdout: token } = await cli(['grants', 'rotate', 'agent-one'], { env });
  const gate = use(t, await startServe({ config: readFileSync(join(dir, 'sallyport.yaml'), 'utf8').replace('policy.yaml', join(dir, 'policy.yaml')), args: [], env, cwd: dir }));
  const asked = await request('POST', `${gate.origin}/mcp/call`, { headers: { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ server: 'shop-one', tool: 'pay', args: {} }) });
  const id = /ap_[\w-]+/.exec(await asked.text())[0];
  const cases = [
    [['sallyport', 'stop', ''], ['shop-one', 'shop-two']],
    [['sallyport', 'audit', 'query', '--server', ''], ['shop-one', 'shop-two']],
    [['sallyport', 'grants', 'revoke', ''], ['agent-one', 'agent-two'], ['old-one']],
    [['sallyport', 'audit', 'query', '--grant', 'agent-t'], ['agent-two'], ['agent-one']],
    [['sallyport', 'approvals', 'approve', 'ap'], [id]],
    [['sallyport', 'validate', '-c', 'po'], ['policy.yaml'], ['notes.txt']],
  ];
  for (const [shell, complete] of Object.entries(shells)) {
    await t.test(shell, { skip: spawnSync(shell, ['--version']).error ? `${shell} is not installed` : false }, () => {
      for (const [line, there, absent = []] of cases) {
        const [program, args] = complete(line);
        const { stdout, stderr } = spawnSync(program, args, { env: { ...process.env, ...env, TERM: 'dumb' }, cwd: dir, encoding: 'utf8', timeout: 300_000 });
        const offered = stdout.split(/[\s\x00-\x1f]+/);
        for (const word of there) assert.ok(offered.includes(word), `${line.join(' ')}: no ${word} in ${stdout}${stderr}`);
        for (const word of absent) assert.ok(!offered.includes(word), `${line.join(' ')}: ${word} in ${stdout}`);
      }
    });
  }
});

test('completions complete values', async () => {
  const script = (await ok(['completion', 'bash'])).stdout;
  const file = tempFile('complete.bash', `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sallyport; printf '%s\\n' "\${COMPREPLY[@]}"\n`);
  const complete = async (...words) => (await run('bash', [file, 'sallyport', ...words])).stdout.trim().split('\n');
  assert.deepEqual(await complete('audit', 'query', '--verdict', 'd'), ['deny']);
  assert.deepEqual(await complete('grants', 'create', 'x', '--role', 'p'), ['policy-manager', 'person']);
  assert.deepEqual(await complete('init', '--client', 'cl'), ['claude-desktop', 'claude-code', 'cline']);
  assert.deepEqual(await complete('init', '--mode', 's'), ['serve']);
  assert.ok((await complete('audit', 'query', '--sha')).includes('--shadow'));
  assert.match((await ok(['completion', 'zsh'])).stdout, /--verdict\[[^\]]*\]:verdict:\(allow deny approve\)/);
  assert.match((await ok(['completion', 'fish'])).stdout, /-l verdict -x -a 'allow deny approve'/);
});

test('make run: what it prints works, its grant is no admin\'s, and a taken port is named', async (t) => {
  const env = homeOf();
  const port = await freePort();
  const demo = use(t, start(join(root, 'scripts/run-demo'), [], { env: { ...env, PORT: `${port}` } }));
  await demo.waitLine(/listening on/, { stream: 'stderr', timeout: 60_000 });
  const said = demo.stderr;
  const [, token] = /grant +(sp_\S+)/.exec(said);
  assert.match(said, new RegExp(`console +http://127\\.0\\.0\\.1:${port}/ui/`));
  assert.ok(said.includes(`claude mcp add --transport http sallyport http://127.0.0.1:${port}/mcp --header "Authorization: Bearer ${token}"`), said);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  assert.equal((await fetch(`http://127.0.0.1:${port}/api/v1/grants`, { headers })).status, 403, 'an agent administers nothing');
  const call = (tool) => fetch(`http://127.0.0.1:${port}/mcp/call`, { method: 'POST', headers, body: JSON.stringify({ server: 'notes', tool, args: { name: 'groceries' } }) }).then((answer) => answer.json());
  assert.match(JSON.stringify(await call('delete_note')), /DENIED/);
  assert.doesNotMatch(JSON.stringify(await call('read_note')), /DENIED/);
  const second = await run(join(root, 'scripts/run-demo'), [], { env: { ...homeOf(), PORT: `${port}` } });
  assert.equal(second.code, 1);
  assert.match(second.stderr, new RegExp(`port ${port} is taken.*\nChoose another: make run PORT=${port + 1}`));
});

test('serve says how to open the console, and status that no gate runs', async (t) => {
  const env = { ...homeOf(), TZ: 'Asia/Kolkata' };
  const gate = use(t, await startServe({ env, args: [], config: { version: '1', servers: { probe: { command: probeCommand()[0], args: probeCommand().slice(1) } } } }));
  await until('the console to be named', async () => gate.stderr.includes('console: `sallyport ui`'));
  assert.match(gate.stderr, /1 server configured: 1 new or changed, 0 removed or replaced\n/);
  assert.match((await ok(['status'], { env })).stdout, /^Gate: pid \d+, \S+, since \S+\+05:30, /);
  await gate.stop();
  assert.match((await ok(['status'], { env })).stdout, /^No gate is running\.\n/);
});

test('a grant that exists already: the message has the next command', async () => {
  const env = homeOf();
  await ok(['grants', 'create', 'agent1'], { env });
  assert.match((await cli(['grants', 'create', 'agent1'], { env })).stderr, /there is already a grant `agent1`: `sallyport grants rotate` gives it a new token/);
  await ok(['grants', 'revoke', 'agent1'], { env });
  assert.match((await cli(['grants', 'create', 'agent1'], { env })).stderr, /there is already a revoked grant `agent1`: names are not reused/);
});

test('export without settings says how to get some', async () => {
  const { code, stderr } = await cli(['export'], { env: { ...homeOf(), HOME: tempDir('home'), XDG_CONFIG_HOME: '' }, cwd: tempDir('empty') });
  assert.equal(code, 3);
  assert.match(stderr, /there is no sallyport\.yaml here: `sallyport import -o sallyport\.yaml`/);
});

test('serve on a port that is taken says what to do', async (t) => {
  const other = createServer();
  await new Promise((done) => { other.listen(0, '127.0.0.1', done); });
  t.after(() => other.close());
  const home = tempDir('home');
  writeFileSync(join(home, 'sallyport.yaml'), 'version: "1"\nservers: {}\n', { mode: 0o600 });
  const { code, stderr } = await cli(['serve', '--listen', `127.0.0.1:${other.address().port}`], { env: homeOf(), cwd: home });
  assert.equal(code, 3);
  assert.match(stderr, /error: listen on 127\.0\.0\.1:\d+: address already in use\nfix: end the other program \(ss -ltnp names it\), .*--listen ADDRESS:PORT\n$/);
});

test('resume says what goes on, and what is still stopped', async () => {
  const env = homeOf();
  await ok(['stop', 'files'], { env });
  await ok(['stop-all'], { env });
  assert.match((await ok(['resume', 'files'], { env })).stdout, /^resumed: server files\nstopped: all, by cli:\S+\n$/);
  assert.equal((await ok(['resume'], { env })).stdout, 'resumed: all\n');
  assert.equal((await ok(['resume'], { env })).stdout, 'nothing is stopped\n');
});

test('login finds the settings that init wrote, and says where it looked', async () => {
  const home = tempDir('home');
  const env = { HOME: home, XDG_CONFIG_HOME: '', SALLYPORT_HOME: join(home, 'state') };
  const nowhere = await cli(['login', 'linear'], { env, cwd: home });
  assert.match(nowhere.stderr, /there is no sallyport\.yaml here, nor one that `sallyport init` wrote: name it with --config FILE/);
  mkdirSync(join(home, '.config/sallyport'), { recursive: true });
  writeFileSync(join(home, '.config/sallyport/sallyport.yaml'), 'version: "1"\nservers:\n  notes: {command: "true"}\n  wiki: {url: "http://u:hidden@127.0.0.1:1/mcp?k=hidden"}\n', { mode: 0o600 });
  assert.match((await cli(['login', 'linear'], { env, cwd: home })).stderr, /\.config\/sallyport\/sallyport\.yaml` names no server `linear`; remote ones: wiki\n/);
  assert.match((await cli(['login'], { env, cwd: home })).stderr, /which server\? name one, or give --url; remote ones in `.*sallyport\.yaml`: wiki\n/);
  const none = await cli(['login', '--forget', 'wiki'], { env, cwd: home });
  assert.equal(none.code, 1);
  assert.match(none.stderr, /there is no login at `http:\/\/\*\*\*@127\.0\.0\.1:1\/mcp\?k=\*\*\*`: nothing to forget/);
  assert.match((await cli(['login', 'notes'], { env, cwd: home })).stderr, /server `notes` is a program: there is nowhere to log in/);
});
