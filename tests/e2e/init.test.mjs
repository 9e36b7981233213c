// `sallyport init` in a home with the files of nine clients: what it shows, what it changes and what it leaves alone, that a second
// run changes nothing, that --undo puts every byte back, and that the rewired servers work.
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { connect, node, packages, root, run, sallyport, startServe, tempDir, use } from '../lib/index.mjs';

const SECRETS = ['hunter2-of-memory', 'bearer-of-x', 'key-of-github', 'v-of-windsurf', 'env-of-codex', 'primary-of-claude'];
const CLINE = '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json';

// Every way that clients write: comments, trailing commas, tabs, one line, tables, several places in one file.
const FILES = {
  '.config/Claude/claude_desktop_config.json': `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"]
    }
  },
  "theme": "dark"
}
`,
  '.claude.json': `{
  "primaryApiKey": "primary-of-claude",
  "mcpServers": {"mem": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"TOKEN": "hunter2-of-memory"}}},
  "projects": {
    "/a/b": {
      "mcpServers": {
        "x": {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer bearer-of-x"}}
      },
      "history": [1, 2]
    }
  }
}
`,
  'project/.mcp.json': '{"mcpServers": {"here": {"command": "true"}}}\n',
  '.cursor/mcp.json': `{ // my servers
  "mcpServers": {
    /* files */
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"]},
    "plain": {"command": "true"}, // no args
  },
}
`,
  '.config/Code/User/settings.json': `{
\t"editor.fontSize": 12, // big
\t"mcp": {
\t\t"servers": {
\t\t\t"gh": {
\t\t\t\t"command": "npx",
\t\t\t\t"args": [
\t\t\t\t\t"-y",
\t\t\t\t\t"@modelcontextprotocol/server-github", "--api-key", "key-of-github"
\t\t\t\t],
\t\t\t\t"env": { "GITHUB_TOKEN": "\${input:t}" }
\t\t\t}
\t\t}
\t}
}
`,
  '.codeium/windsurf/mcp_config.json':
    '{"mcpServers":{"remote":{"serverUrl":"https://r.example/mcp","headers":{"K":"v-of-windsurf"}},"mem":{"command":"npx","args":["-y","@modelcontextprotocol/server-memory"]}}}',
  [CLINE]: '{\r\n  "mcpServers": {\r\n    "off": {"command": "true", "args": [], "disabled": true, "autoApprove": ["a"]}\r\n  }\r\n}\r\n',
  '.config/zed/settings.json': `// Zed
{
  "context_servers": {
    "old": {"command": {"path": "npx", "args": ["-y", "x-server"], "env": {}}, "settings": {}},
    "ext": {"source": "extension", "enabled": true, "settings": {}},
    "new": {
      "source": "custom",
      "command": "uvx",
      "args": ["some-server"]
    }
  },
  "vim_mode": true
}
`,
  '.codex/config.toml': `model = "o9"  # best

[mcp_servers.files]
command = "npx"
args = [
  "-y", # yes
  "@modelcontextprotocol/server-filesystem", "/srv/data",
]
startup_timeout_sec = 20

[mcp_servers.files.env]
KEY = "env-of-codex"

# about the rest
[profiles.x]
a = 1

[[hooks.PreToolUse]]
matcher = "shell"
hooks = [{ type = "command", command = "true" }]

[[hooks.PreToolUse]]
matcher = "edit"
`,
  '.gemini/settings.json': '{"theme":"x","mcpServers":{"g":{"httpUrl":"https://g.example/mcp"}}}',
};

function fakeHome() {
  const home = tempDir('home');
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  return home;
}

const envOf = (home) => ({ HOME: home, XDG_CONFIG_HOME: '', SALLYPORT_HOME: join(home, 'state') });
const init = (home, ...args) => {
  mkdirSync(join(home, 'project'), { recursive: true });
  return run(sallyport, ['init', '--project', join(home, 'project'), ...args], { env: envOf(home), timeout: 120_000 });
};
const read = (home, path) => readFileSync(join(home, path), 'utf8');

function tree(home) {
  const all = {};
  for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !relative(home, path).startsWith('state')) all[relative(home, path)] = readFileSync(path, 'utf8');
  }
  return all;
}

async function ok(promise) {
  const { code, stdout, stderr } = await promise;
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  for (const secret of SECRETS) assert.ok(!stdout.includes(secret) && !stderr.includes(secret), `${secret} was shown`);
  return stdout;
}

describe('nine clients', { concurrency: 1 }, () => {
  const home = fakeHome();

  test('are found and shown, and nothing is written', async () => {
    const brief = await ok(init(home, '--dry-run', '--no-start'));
    assert.match(brief, /\nFiles to write:\n[^+]*Nothing was written\. --details shows every line\.\n$/);
    assert.doesNotMatch(brief, /^\+/m);
    const out = await ok(init(home, '--dry-run', '--no-start', '--details'));
    for (const title of ['Claude Desktop', 'Claude Code', 'Cursor', 'VS Code', 'Windsurf', 'Cline', 'Zed', 'Codex', 'Gemini CLI'])
      assert.match(out, new RegExp(`^${title}  `, 'm'));
    assert.match(out, /14 tools: 10 read, 4 write, by the catalogue/);
    assert.match(out, /ext +left alone: it has neither a command nor a URL/);
    assert.match(out, /\+servers:\n\+ {2}files:/);
    assert.match(out, /"env": \{"TOKEN": "\*\*\*"\}/);
    assert.deepEqual(tree(home), FILES);
    assert.equal((await init(home, '--no-start')).code, 1); // not confirmed
    assert.deepEqual(tree(home), FILES);
  });

  test('wrap: only the servers change, a second run changes nothing, undo restores every byte', async () => {
    await ok(init(home, '--yes', '--no-start'));
    const after = tree(home);
    const policies = join(home, '.config/sallyport/policies');
    const line = (name, ...rest) => ['-c', join(policies, `${name}.yaml`), '--name', name, ...rest].map((word) => JSON.stringify(word)).join(', ');
    const gate = JSON.stringify(sallyport);
    assert.equal(after['.cursor/mcp.json'], FILES['.cursor/mcp.json']
      .replace('"npx", "args": [', `${gate}, "args": [${line('files', '--', 'npx')}, `)
      .replace('"command": "true"', `"command": ${gate}, "args": [${line('plain', '--', 'true')}]`));
    assert.equal(after['.codex/config.toml'], FILES['.codex/config.toml']
      .replace('command = "npx"', `command = ${gate}`)
      .replace('  "-y"', ['-c', join(policies, 'files-codex.yaml'), '--name', 'files', '--env', 'KEY', '--', 'npx'].map((w) => `  ${JSON.stringify(w)},\n`).join('') + '  "-y"'));
    assert.equal(after[CLINE], FILES[CLINE]
      .replace('"true", "args": []', `${gate}, "args": [${line('off', '--', 'true')}]`));
    const claude = JSON.parse(after['.claude.json']);
    assert.deepEqual(claude.projects['/a/b'].mcpServers.x, {
      type: 'stdio', command: sallyport,
      args: ['-c', join(policies, 'x.yaml'), '--name', 'x', '--upstream', 'https://x.example/mcp', '--header-env', 'Authorization: SALLYPORT_HEADER_1'],
      env: { SALLYPORT_HEADER_1: 'Bearer bearer-of-x' },
    });
    for (const policy of readdirSync(policies))
      assert.equal((await run(sallyport, ['validate', '-c', join(policies, policy)])).code, 0, policy);
    assert.equal(statSync(join(home, '.config/sallyport/sallyport.yaml')).mode & 0o777, 0o600);

    assert.match(await ok(init(home, '--yes', '--no-start')), /Nothing to do\.\n$/);
    assert.deepEqual(tree(home), after);
    await ok(init(home, '--undo'));
    assert.deepEqual(tree(home), FILES);
    assert.ok(!existsSync(join(home, '.config/sallyport')));
    assert.equal((await init(home, '--undo')).code, 1); // nothing left to undo
  });

  test('serve: one member with a grant for the client\'s servers; undo revokes it', async () => {
    await ok(init(home, '--yes', '--no-start', '--mode', 'serve', '--listen', '127.0.0.1:9999'));
    const { mcpServers } = JSON.parse(read(home, '.codeium/windsurf/mcp_config.json'));
    assert.deepEqual(Object.keys(mcpServers), ['sallyport']);
    assert.equal(mcpServers.sallyport.serverUrl, 'http://127.0.0.1:9999/mcp');
    assert.match(mcpServers.sallyport.headers.Authorization, /^Bearer sp_/);
    assert.match(read(home, '.codex/config.toml'), /^model = "o9" {2}# best\n\n\[mcp_servers\.sallyport\]\nurl = .*\nhttp_headers = .*\n\n# about the rest\n\[profiles\.x\]\na = 1\n\n\[\[hooks\.PreToolUse\]\]\n/);
    assert.match(read(home, '.cursor/mcp.json'), /^\{ \/\/ my servers\n.*\n {4}\/\* files \*\/\n/);
    assert.match(read(home, '.config/Code/User/settings.json'), /"gh": \{/); // needs what only VS Code has
    const grants = async (...args) => JSON.parse((await run(sallyport, ['grants', 'list', '--json', ...args], { env: envOf(home) })).stdout);
    const windsurf = (await grants()).find((grant) => grant.name === 'windsurf');
    assert.deepEqual(windsurf.servers, ['remote', 'mem-windsurf']);
    assert.match(await ok(init(home, '--yes', '--no-start', '--mode', 'serve')), /Nothing to do/);
    await ok(init(home, '--undo'));
    assert.deepEqual(tree(home), FILES);
    assert.deepEqual(await grants(), []);
  });

  // Types an answer to each prompt, like a user at a terminal.
  const TYPIST = `
import json, os, pty, sys
answers, line = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0: os.execv(line[0], line)
seen = b""
while True:
    try: got = os.read(terminal, 65536)
    except OSError: break
    if not got: break
    seen += got
    if seen.endswith((b"[Y/n] ", b"[y/N/d] ")): os.write(terminal, (answers.pop(0) + "\\n").encode() if answers else b"\\x04")
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
  const typed = (answers, ...args) => run('python3', ['-c', TYPIST, JSON.stringify(answers), sallyport, 'init', '--project', join(home, 'project'), ...args], { env: envOf(home), timeout: 120_000 });

  test('at a terminal: the commands to start are shown first, and nothing is written before the user confirms', async () => {
    for (const answers of [['n', ''], ['no, thank you, and this line is long enough to fill a small buffer yyyyyyyyyyyyyyyyy', 'x'], []]) {
      const { code, stdout } = await typed(answers);
      assert.equal(code, 1, stdout);
      assert.match(stdout, /^ {2}files +\{"command":"npx".*\r\n[^]*\r\nStart them to ask for their tools\? \[Y\/n\] /m);
      assert.match(stdout, /Files to write:\r\n {2}new +.*policies[^]*changed .*Write these changes\? .*\[y\/N\/d\] [^]*Nothing was written/s);
      for (const secret of SECRETS) assert.ok(!stdout.includes(secret), secret);
      assert.deepEqual(tree(home), FILES);
    }
    const { code, stdout } = await typed(['n', 'd', ' Yes'], '--client', 'cursor');
    assert.match(stdout, /\[y\/N\/d\] d\r\n\+\+\+ .*policies.*\(new\)\r\n\+# Policy/, 'details when asked for');
    assert.equal(code, 0, stdout);
    assert.match(stdout, /Written\.\r\n/);
    assert.notDeepEqual(tree(home), FILES);
    await ok(init(home, '--undo'));
    assert.deepEqual(tree(home), FILES);
  });

  test('one client, one server, as JSON', async () => {
    const out = JSON.parse(await ok(init(home, '--json', '--yes', '--no-start', '--client', 'cursor', '--server', 'files')));
    assert.equal(out.applied, true);
    assert.deepEqual(out.files[0].servers.map((server) => server.left_alone ?? server.risk.Read), [10, 'not asked for']);
    assert.ok(out.changes.every((change) => change.diff.length > 0));
    assert.deepEqual(Object.entries(tree(home)).filter(([path, text]) => FILES[path] && FILES[path] !== text).map(([path]) => path), ['.cursor/mcp.json']);
    await ok(init(home, '--undo'));
    assert.deepEqual(tree(home), FILES);
    assert.equal((await init(home, '--client', 'curser')).code, 2);
  });

  const replaced = () => readdirSync(join(home, 'state/init')).filter((name) => name.startsWith('replaced-'));

  test('undo in a file that was edited since: only the servers of init go back, and the file is kept', async () => {
    await ok(init(home, '--yes', '--no-start', '--client', 'cursor'));
    const edited = `${read(home, '.cursor/mcp.json').replace('"plain"', '"mine": {"command": "true"}, "plain"')}// mine\n`;
    writeFileSync(join(home, '.cursor/mcp.json'), edited);
    const before = replaced().length;
    assert.match(await ok(init(home, '--undo')), /restored {2}server files in .*mcp\.json\nrestored {2}server plain in /);
    assert.equal(read(home, '.cursor/mcp.json'), `${FILES['.cursor/mcp.json'].replace('"plain"', '"mine": {"command": "true"}, "plain"')}// mine\n`);
    assert.equal(replaced().length, before + 1);
    assert.equal(readFileSync(join(home, 'state/init', replaced().at(-1)), 'utf8'), edited);
    writeFileSync(join(home, '.cursor/mcp.json'), FILES['.cursor/mcp.json']);
    assert.deepEqual(tree(home), FILES);
  });

  test('undo in a TOML file that was edited since: only the tables of init go back', async () => {
    await ok(init(home, '--yes', '--no-start', '--client', 'codex'));
    const mine = (text) => `${text.replace('# about the rest\n', '# about the rest\n[mcp_servers.mine]\ncommand = "true"\n\n')}# mine\n`;
    const edited = mine(read(home, '.codex/config.toml'));
    writeFileSync(join(home, '.codex/config.toml'), edited);
    assert.match(await ok(init(home, '--undo')), /copied .*config\.toml to .*replaced-[^]*restored {2}server files in .*config\.toml/);
    assert.equal(read(home, '.codex/config.toml'), mine(FILES['.codex/config.toml']));
    assert.equal(readFileSync(join(home, 'state/init', replaced().at(-1)), 'utf8'), edited);
    writeFileSync(join(home, '.codex/config.toml'), FILES['.codex/config.toml']);
    assert.deepEqual(tree(home), FILES);
  });

  test('undo of serve in files that were edited since: the servers stand where the gate did, what was added stays', async () => {
    await ok(init(home, '--yes', '--no-start', '--mode', 'serve', '--client', 'codex'));
    writeFileSync(join(home, '.codex/config.toml'), `${read(home, '.codex/config.toml')}\n[mcp_servers.mine]\ncommand = "true"\n`);
    assert.match(await ok(init(home, '--undo')), /restored {2}server files in .*config\.toml/);
    assert.equal(read(home, '.codex/config.toml'), `${FILES['.codex/config.toml']}\n[mcp_servers.mine]\ncommand = "true"\n`);
    writeFileSync(join(home, '.codex/config.toml'), FILES['.codex/config.toml']);
    assert.deepEqual(tree(home), FILES);

    const file = '.codeium/windsurf/mcp_config.json';
    await ok(init(home, '--yes', '--no-start', '--mode', 'serve', '--client', 'windsurf'));
    const now = JSON.parse(read(home, file));
    const names = Object.keys(JSON.parse(FILES[file]).mcpServers);
    now.mcpServers.mine = { command: 'true' };
    now.mcpServers[names[0]] = { command: 'false' }; // there again, by hand
    writeFileSync(join(home, file), JSON.stringify(now, null, 2));
    const said = await ok(init(home, '--undo'));
    assert.match(said, new RegExp(`kept      server ${names[0]} in .*: you have added it`));
    const back = JSON.parse(read(home, file));
    assert.deepEqual(back, { ...JSON.parse(FILES[file]), mcpServers: { ...JSON.parse(FILES[file]).mcpServers, mine: { command: 'true' }, [names[0]]: { command: 'false' } } });
    writeFileSync(join(home, file), FILES[file]);
    assert.deepEqual(tree(home), FILES);
  });

  test('undo in settings of your own that were edited since: the lines of init go', async () => {
    const own = tempDir('home'), settings = '.config/sallyport/sallyport.yaml';
    mkdirSync(join(own, '.config/sallyport'), { recursive: true });
    mkdirSync(join(own, '.cursor'));
    mkdirSync(join(own, 'project'));
    const mine = 'version: "1"\nservers:\n  old: {command: "true"}\n# the end\n', more = '  later: {command: "true"}\n';
    writeFileSync(join(own, settings), mine);
    writeFileSync(join(own, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { one: { command: 'cat', args: ['-'] } } }, null, 2));
    await ok(init(own, '--yes', '--no-start', '--mode', 'serve'));
    const wrote = read(own, settings);
    assert.notEqual(wrote, mine);
    writeFileSync(join(own, settings), wrote.replace('# the end\n', `${more}# the end\n# mine\n`));
    assert.match(await ok(init(own, '--undo')), /restored {2}the lines of init in .*sallyport\.yaml/);
    assert.equal(read(own, settings), mine.replace('# the end\n', `${more}# the end\n# mine\n`));
  });

  test('an unchanged file is kept, too, before it goes back', async () => {
    await ok(init(home, '--yes', '--no-start', '--client', 'cursor'));
    const wrote = read(home, '.cursor/mcp.json'), before = replaced().length;
    assert.match(await ok(init(home, '--undo')), /copied .*mcp\.json to .*replaced-/);
    assert.equal(replaced().length, before + 1);
    assert.equal(readFileSync(join(home, 'state/init', replaced().at(-1)), 'utf8'), wrote);
  });

  test('an entry of init that was edited is not overwritten without --force; a policy that was edited is kept', async () => {
    await ok(init(home, '--yes', '--no-start', '--client', 'codex'));
    const edited = read(home, '.codex/config.toml').replace('"/srv/data"', '"/srv/other"');
    writeFileSync(join(home, '.codex/config.toml'), edited);
    const refused = await init(home, '--undo');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /config\.toml` has changed since init wrote it.*--force/);
    writeFileSync(join(home, '.config/sallyport/policies/files.yaml'), 'version: "1"\n');
    assert.match(await ok(init(home, '--undo', '--force')), /copied .*config\.toml to .*replaced-/);
    assert.ok(replaced().some((name) => readFileSync(join(home, 'state/init', name), 'utf8') === edited));
    assert.deepEqual(tree(home), FILES);
  });

  test('a file that cannot be read is an error', async () => {
    const rows = [
      ['x = yes\n', /left alone: line 1: not a value of TOML 1\.0; a text needs quotes/],
      ['[[mcp_servers]]\nname = "a"\n', /left alone: .*write `\[\.\.\.\]` for `\[\[\.\.\.\]\]`/],
    ];
    for (const [text, why] of rows) {
      const broken = tempDir('home');
      mkdirSync(join(broken, '.codex'));
      writeFileSync(join(broken, '.codex/config.toml'), text);
      const { code, stdout } = await init(broken, '--yes', '--no-start');
      assert.equal(code, 3, stdout);
      assert.match(stdout, why);
      assert.match(stdout, /config\.toml` could not be read; correct it and run init again/);
      assert.doesNotMatch(stdout, /Nothing to do/);
    }
  });

  test('credentials in URLs, headers and arguments are shown as stars; Windows commands, variables, sign-ins are explained', async () => {
    const own = tempDir('home');
    const secrets = ['pw-of-url', 'key-of-query', 'aB3dE5fG7hJ9kL1mN3pQ', 'header-of-x', 'bearer-of-arg', 'sk-of-arg', 'pg-of-arg', 'token-of-arg', 'flag-of-query'];
    const [pw, query, path, header, bearer, sk, pg, token, flag] = secrets;
    const servers = {
      a: { url: `https://a.example/mcp?api_key=${query}` },
      b: { url: `https://b.example/api/${path}/mcp`, headers: { 'X-Anything': header } },
      c: { command: 'npx', args: ['-y', 'mcp-remote', 'https://c.example/mcp', '--header', `Authorization: Bearer ${bearer}`] },
      d: { command: 'true', args: [sk, `postgres://u:${pg}@db/x`, '--token', token] },
      e: { command: 'true', env: { A: '${NOT_SET_ANYWHERE}' } },
      f: { command: 'cmd', args: ['/c', 'npx', 'x'] },
      g: { command: 'C:\\Program Files\\x.exe' },
      h: { url: 'https://h.example/mcp' },
      i: { url: `https://user:${pw}@i.example/mcp` },
      j: { url: `wss://j.example/mcp?${flag}` },
      k: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv'], env: { K: '${input:k}' } },
    };
    mkdirSync(join(own, '.cursor'));
    mkdirSync(join(own, 'project'));
    writeFileSync(join(own, '.cursor/mcp.json'), JSON.stringify({ mcpServers: servers }, null, 2));
    const shared = JSON.stringify({ mcpServers: { here: { command: 'true' } } }, null, 2);
    writeFileSync(join(own, 'project/.mcp.json'), shared);
    const serve = (await init(own, '--yes', '--no-start', '--mode', 'serve')).stdout;
    assert.match(serve, /here +left alone: this file belongs to a project and is shared: no grant is written into it/);
    assert.equal(read(own, 'project/.mcp.json'), shared);
    await ok(init(own, '--undo'));
    for (const args of [['--details'], ['--details', '--mode', 'serve'], ['--json']]) {
      const { stdout, stderr } = await init(own, '--dry-run', '--no-start', ...args);
      for (const secret of secrets) assert.ok(!(stdout + stderr).includes(secret), `${secret} is shown: ${args}`);
    }
    const { stdout } = await init(own, '--yes', '--no-start');
    assert.match(stdout, /a +https:\/\/a\.example\/mcp\?api_key=\*\*\*\n/);
    assert.match(stdout, /e +true\n.*it needs the variable NOT_SET_ANYWHERE, which is not set here: `export NOT_SET_ANYWHERE=\.\.\.`/);
    assert.match(stdout, /f +left alone: a Windows command line/);
    assert.match(stdout, /g +left alone: .*x\.exe` is a Windows program/);
    assert.match(stdout, /i +left alone: user name or password in the URL: put them into `headers`/);
    assert.match(stdout, /j +left alone: a WebSocket server/);
    assert.match(stdout, /k +npx @modelcontextprotocol\/server-filesystem \(version not pinned\)\n +14 tools: .*by the catalogue\n/, 'its package is known though only the client knows its key');
    assert.match(read(own, '.config/sallyport/policies/k.yaml'), /read_text_file/);
    assert.match(serve, /k +left alone: its client fills in \$\{input:k\}, which the gate cannot/);
    assert.match(stdout, /\n {2}h +sallyport login --url 'https:\/\/h\.example\/mcp'/);
    assert.match(stdout, /project\/\.mcp\.json\n {2}here .*\n.*\n {2}\(!\) This file belongs to a project/);
    assert.equal(stdout.match(/belongs to a project/g).length, 1, 'the user\'s own files carry no such remark');
    const pasted = /\n {2}a +sallyport (login .*?) {3}\(if it asks for one\)/.exec(stdout)[1];
    assert.doesNotMatch(pasted, /\*/, 'a command with stars cannot be pasted');
    const login = await run('sh', ['-c', `"$0" ${pasted} --forget`, sallyport], { env: envOf(own) });
    assert.match(login.stderr, /https:\/\/\S*a\.example/, 'it finds the server');
    const written = JSON.parse(read(own, '.cursor/mcp.json')).mcpServers;
    assert.deepEqual([written.f, written.g, written.i, written.j], [servers.f, servers.g, servers.i, servers.j]);
    assert.ok(JSON.stringify(written).includes(bearer), 'what is written is whole');
    await ok(init(own, '--undo'));
  });

  test('what only a client does for its server is named or taken along: files of variables, lists of tools, variables in words of its own', async () => {
    const own = tempDir('home');
    const files = {
      '.cursor/mcp.json': JSON.stringify({ mcpServers: {
        fromfile: { command: 'true', envFile: '${workspaceFolder}/.env' },
        helped: { url: 'https://h.example/mcp', headersHelper: '/opt/headers' },
        home: { command: 'true', args: ['${userHome}/x'] },
        signed: { url: 'https://s.example/mcp', auth: { CLIENT_ID: 'id', CLIENT_SECRET: 'secret-of-cursor' } },
      } }, null, 2),
      '.codeium/windsurf/mcp_config.json': JSON.stringify({ mcpServers: { some: { command: 'true', disabledTools: ['drop'] } } }),
      '.gemini/settings.json': JSON.stringify({ mcpServers: {
        g: { command: 'serve', args: ['$ONE/x'], env: { A: '$ONE', B: '${ONE}', C: 'a$', D: '$5' }, excludeTools: ['x'] } } }),
      '.codex/config.toml': '[mcp_servers.c]\ncommand = "true"\nenv_vars = ["ONE", { name = "TWO", source = "local" }]\nenabled_tools = ["a"]\n'
        + '[mcp_servers.r]\nurl = "https://r.example/mcp"\nenv_http_headers = { "X-Key" = "TWO" }\n',
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(own, path)), { recursive: true });
      writeFileSync(join(own, path), text);
    }
    mkdirSync(join(own, 'project'));
    const start = (...args) => run(sallyport, ['init', '--project', join(own, 'project'), '--no-start', ...args], { env: { ...envOf(own), ONE: 'first', TWO: 'second' } });
    const wrap = await start('--yes');
    assert.match(wrap.stdout, /fromfile +left alone: only its client reads `envFile`: move the variables into `env`/);
    assert.match(wrap.stdout, /helped +left alone: only its client runs `headersHelper`/);
    assert.match(wrap.stdout, /home +true\n.*its client fills in \$\{userHome\}/);
    assert.doesNotMatch(wrap.stdout, /is gone with its entry/);
    assert.match(read(own, '.codex/config.toml'), /"--env", "ONE", "--env", "TWO", "--", "true"/);
    assert.match(read(own, '.gemini/settings.json'), /"\$ONE\/x".*"A":"\$ONE"/, 'the client fills in its own variables');
    await ok(init(own, '--undo'));
    const details = await start('--dry-run', '--details');
    assert.ok(!(details.stdout + details.stderr).includes('secret-of-cursor'));
    const serve = await start('--yes', '--mode', 'serve');
    for (const [name, member] of [['some', 'disabledTools'], ['g', 'excludeTools'], ['c', 'enabled_tools']]) {
      assert.match(serve.stdout, new RegExp(`its \`${member}\` is gone with its entry: run \`sallyport hide ${name} TOOL\``));
    }
    const yaml = read(own, '.config/sallyport/sallyport.yaml');
    assert.match(yaml, /args: \["\$\{ONE\}\/x"\]\n +env: \{"A": "\$\{ONE\}", "B": "\$\{ONE\}", "C": "a\$", "D": "\$5"\}/);
    assert.match(yaml, /env: \{"ONE": "\$\{ONE\}", ?"TWO": "\$\{TWO\}"\}/);
    assert.match(yaml, /headers: \{"X-Key": "\$\{TWO\}"\}/);
    await ok(init(own, '--undo'));
    for (const [path, text] of Object.entries(files)) assert.equal(read(own, path), text);
    for (const [path, text] of Object.entries(files)) writeFileSync(join(own, path), text.replaceAll(/\n|(?<=\[)(?=")/g, '\r\n'));
    for (const mode of ['wrap', 'serve']) {
      await start('--yes', '--mode', mode);
      for (const path of ['.cursor/mcp.json', '.codex/config.toml']) assert.doesNotMatch(read(own, path), /[^\r]\n/, `${mode}: lines of ${path} end alike`);
      await ok(init(own, '--undo'));
    }
    const imported = await run(sallyport, ['import', join(own, '.cursor/mcp.json')], { env: envOf(own) });
    assert.match(imported.stderr, /server `fromfile` of `.*mcp\.json`: only its client reads `envFile`/);
  });

  test('started by npx or uvx: the clients start the gate in the same way, not by a path into a cache', async () => {
    assert.doesNotMatch(await ok(init(home, '--dry-run', '--no-start')), /cache/);
    const version = readFileSync(join(root, 'meson.build'), 'utf8').match(/version: '([\d.]+)'/)[1];
    for (const [folder, command, lead, install] of [
      ['.npm/_npx/0123abcd/node_modules/x', 'npx', ['-y', `sallyport@${version}`], 'npm install -g sallyport'],
      ['.cache/uv/archive-v0/x/bin', 'uvx', [`sallyport@${version}`], 'uv tool install sallyport']]) {
      const cached = join(tempDir('cache'), folder, 'sallyport');
      mkdirSync(dirname(cached), { recursive: true });
      copyFileSync(sallyport, cached);
      const cachedInit = (...args) => ok(run(cached, ['init', '--project', join(home, 'project'), ...args], { env: envOf(home) }));
      const out = await cachedInit('--yes', '--no-start');
      assert.ok(out.includes(`start the gate with \`${[command, ...lead].join(' ')}\``) && out.includes(`\`${install}\`, then \`sallyport init\``), out);
      const claude = JSON.parse(read(home, '.claude.json')).projects['/a/b'].mcpServers.x;
      assert.deepEqual([claude.command, ...claude.args.slice(0, lead.length + 1)], [command, ...lead, '-c']);
      assert.match(read(home, '.codex/config.toml'), new RegExp(`command = "${command}"[^]*"sallyport@`));
      assert.ok(!JSON.stringify(tree(home)).includes(cached), 'no path into the cache is written');
      const { stdout } = await run(cached, ['export', '--client', 'claude-desktop', '--token', 't'], { env: envOf(home), cwd: home });
      const gate = JSON.parse(stdout).mcpServers.sallyport;
      assert.deepEqual([gate.command, ...gate.args.slice(0, lead.length + 1)], [command, ...lead, '-c']);
      assert.match(await cachedInit('--yes', '--no-start'), /Nothing to do\.\n$/);
      await ok(init(home, '--undo'));
      assert.deepEqual(tree(home), FILES);
    }
  });

  test('a gate that a package runner starts is a gate: init leaves it alone, import finds the server behind it', async () => {
    const own = tempDir('home');
    const gates = {
      a: { command: 'npx', args: ['-y', 'sallyport', '-c', 'p.yaml', '--', 'true', 'x'] },
      b: { command: '/usr/bin/npx', args: ['--yes', 'sallyport@0.1.0', '-c', 'p.yaml', '--', 'true', 'x'] },
      c: { command: 'uvx', args: ['sallyport', '-c', 'p.yaml', '--', 'true', 'x'] },
    };
    const servers = { d: { command: 'npx', args: ['-y', 'sallyport-notes', 'sallyport'] }, e: { command: 'npx', args: ['-y', 'other', 'sallyport'] } };
    mkdirSync(join(own, '.cursor'));
    writeFileSync(join(own, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { ...gates, ...servers } }));
    const { files: [{ servers: found }] } = JSON.parse(await ok(init(own, '--json', '--dry-run', '--no-start')));
    assert.deepEqual(found.map(({ name, behind_gate: gate }) => [name, gate]), [['a', true], ['b', true], ['c', true], ['d', false], ['e', false]]);
    const { stdout } = await run(sallyport, ['import', '--client', 'cursor', join(own, '.cursor/mcp.json')], { env: envOf(own) });
    assert.equal(stdout.match(/command: "true"\n +args: \["x"\]\n +policy: .*p\.yaml/g)?.length, 3, stdout);
  });

  test('no client: what to do instead', async () => {
    const bare = tempDir('home');
    assert.match(await ok(init(bare)), /No client's configuration was found, .*\nTo guard one server: sallyport -c POLICY -- COMMAND/);
  });

  test('links, modes and broken files', async () => {
    const real = join(home, 'dotfiles.json');
    renameSync(join(home, '.cursor/mcp.json'), real);
    chmodSync(real, 0o640);
    symlinkSync(real, join(home, '.cursor/mcp.json'));
    writeFileSync(join(home, '.gemini/settings.json'), '{"mcpServers": {"a": 1, "a": 2}}');
    const out = await ok(init(home, '--yes', '--no-start'));
    assert.match(out, /Gemini CLI.*\n {2}left alone: line 1: /);
    assert.match(out, /Written\.\n`.*settings\.json` could not be read; correct it and run init again\.\n/);
    assert.equal(read(home, '.gemini/settings.json'), '{"mcpServers": {"a": 1, "a": 2}}');
    assert.ok(lstatSync(join(home, '.cursor/mcp.json')).isSymbolicLink());
    assert.equal(statSync(real).mode & 0o777, 0o640);
    assert.match(readFileSync(real, 'utf8'), /policies\/files\.yaml/);
    await ok(init(home, '--undo'));
    assert.equal(readFileSync(real, 'utf8'), FILES['.cursor/mcp.json']);
  });

  test('import reads every format, export writes it', async () => {
    const paths = ['.cursor/mcp.json', '.codex/config.toml', '.config/zed/settings.json'].map((path) => join(home, path));
    const out = await run(sallyport, ['import', ...paths], { env: envOf(home) });
    assert.equal(out.code, 0, out.stderr);
    assert.match(out.stdout, /^ {2}files-codex:\n {4}command: "npx"\n.*\n {4}env: \{"KEY": "env-of-codex"\}$/m);
    const yaml = join(home, 'imported.yaml');
    assert.equal((await run(sallyport, ['import', ...paths, '-o', yaml], { env: envOf(home) })).code, 0);
    assert.equal(statSync(yaml).mode & 0o777, 0o600);
    assert.equal((await run(sallyport, ['import', ...paths, '-o', yaml], { env: envOf(home) })).code, 1); // it is there
    const wrapped = join(home, 'intercept.json');
    writeFileSync(wrapped, JSON.stringify({ mcpServers: { pay: { command: 'intercept', args: ['-c', 'pay.json', '--', 'node', 's.js'] } } }));
    assert.match((await run(sallyport, ['import', wrapped])).stdout, /pay:\n {4}command: "node"\n {4}args: \["s\.js"\]\n {4}policy: ".*pay\.json"/);
    for (const client of ['claude-desktop', 'claude-code', 'cursor', 'vscode', 'windsurf', 'cline', 'zed', 'codex', 'gemini']) {
      const gate = await run(sallyport, ['export', '--config', yaml, '--client', client, '--token', 'sp_t'], { env: envOf(home) });
      assert.equal(gate.code, 0, gate.stderr);
      assert.match(gate.stdout, /127\.0\.0\.1:8640\/mcp/);
      assert.match(gate.stdout, /sp_t/);
      const plain = await run(sallyport, ['export', '--config', yaml, '--client', client, '--plain'], { env: envOf(home) });
      const file = join(home, client === 'codex' ? 'back.toml' : 'back.json');
      writeFileSync(file, plain.stdout);
      const back = await run(sallyport, ['import', '--client', client, file], { env: envOf(home) });
      assert.match(back.stdout, /files-codex:\n {4}command: "npx"/, `${client}\n${plain.stdout}\n${back.stderr}`);
    }
  });
});

// Everything that `serve` would use: what is wrong is said with what to do about it, and when that is done nothing is.
describe('doctor', { concurrency: 1 }, () => {
  const dir = tempDir('doctor');
  const env = { HOME: dir, XDG_CONFIG_HOME: '', SALLYPORT_HOME: join(dir, 'state') };
  const config = join(dir, 'sallyport.yaml');
  const settings = (listen, servers) => writeFileSync(config, JSON.stringify({ version: '1', listen, policy: 'policy.yaml', servers, code: { enabled: true } }), { mode: 0o600 });
  const files = { command: node, args: [packages.filesystem, dir], env: { TOKEN: 'secret' } };
  const doctor = async (...args) => {
    const { code, stdout, stderr } = await run(sallyport, ['doctor', '--config', config, '--json', ...args], { env, timeout: 120_000 });
    assert.ok(stdout, stderr);
    return { code, ...JSON.parse(stdout) };
  };
  const of = ({ checks }, check, subject = /(?:)/) => checks.filter((found) => found.check === check && subject.test(found.subject ?? ''));
  const shell = (line) => run('sh', ['-c', line], { env });

  test('credentials in the URL of a server are not shown, in no report', async () => {
    const file = join(dir, 'credentials.yaml'), secrets = ['pw-of-url', 'key-of-query'];
    writeFileSync(file, JSON.stringify({ version: '1', servers: { hook: { url: 'https://user:pw-of-url@127.0.0.1:9/mcp?key=key-of-query' }, down: { url: 'http://127.0.0.1:9/mcp?key=key-of-query' } } }), { mode: 0o600 });
    for (const args of [['doctor', '-c', file], ['doctor', '-c', file, '--json'], ['scan', '--mcp-config', file], ['scan', '--mcp-config', file, '--format', 'json'], ['login', '-c', file, 'hook']]) {
      const { stdout, stderr } = await run(sallyport, args, { env: { ...env, SALLYPORT_HOME: join(dir, 'other') }, timeout: 120_000 });
      assert.match(stdout + stderr, /127\.0\.0\.1:9/, args.join(' '));
      for (const secret of secrets) assert.ok(!(stdout + stderr).includes(secret), `${secret}: ${args.join(' ')}\n${stdout}${stderr}`);
    }
  });

  test('in a chroot, where the kernel allows no user namespaces, doctor says so', { skip: spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'needs root, to mount' }, async () => {
    const there = tempDir('chroot');
    // Two reports come at once there, the note and the end of its sender: repeated, so that no order is an accident.
    for (let i = 0; i < 4; i++) {
      const { stdout, stderr } = await run('unshare', ['--mount', 'sh', '-c', 'mount --rbind / "$0" && exec chroot "$0" "$@"', there, sallyport, 'doctor', '--no-start', '--json'], { env: { ...env, SALLYPORT_HOME: join(dir, 'other') }, timeout: 120_000 });
      const [found] = of(JSON.parse(stdout || assert.fail(stderr)), 'sandbox');
      assert.match(found.text, /tier 1 is not available: make a .*namespace.*Operation not permitted/);
      assert.match(found.fix, /in a chroot the kernel allows none/);
    }
  });

  test('every kind of problem is found, with its fix', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    t.after(() => taken.close());
    settings(`127.0.0.1:${taken.address().port}`, { files, gone: { command: 'no-such-program' }, fails: { command: 'false' }, web: { url: 'http://127.0.0.1:9/mcp' },
      code: { command: 'true' }, off: { command: 'no-such-program', disabled: true }, own: { command: node, args: ['-e', ''], policy: 'own.yaml' } });
    chmodSync(config, 0o666);
    writeFileSync(join(dir, 'policy.yaml'), 'version: "1"\ndefault: allow\nhiden: [x]\n', { mode: 0o644 });
    mkdirSync(env.SALLYPORT_HOME, { mode: 0o755 });
    writeFileSync(join(env.SALLYPORT_HOME, 'audit.key'), '', { mode: 0o644 });
    const told = await doctor();
    assert.equal(told.code, 1);
    const expected = [
      ['state', /state$/, /others may read it/, /^chmod 0700 /], ['keys', /audit\.key/, /others may read it/, /^chmod 0600 /],
      ['settings', /sallyport\.yaml/, /others may change it/, /^chmod 0644 /], ['policy', /policy\.yaml/, /hiden/, /sallyport validate -c/],
      ['policy', /own\.yaml/, /No such file/, /sallyport validate/], ['port', /127\.0\.0\.1/, /in use/, /ss -ltnp.*`listen`/],
      ['server', /gone/, /no program `no-such-program`/, /whole path/], ['server', /fails/, /exited with status 1/, /by hand/],
      ['server', /web/, /connection refused/, /curl -i http/], ['server', /^code$/, /built-in/, /something else/],
    ];
    for (const [check, subject, text, fix] of expected) {
      const [found] = of(told, check, subject);
      assert.ok(found, `${check} ${subject}: ${JSON.stringify(told.checks)}`);
      assert.equal(found.status, 'problem', JSON.stringify(found));
      assert.match(found.text, text);
      assert.match(found.fix, fix);
    }
    assert.equal(told.problems, told.checks.filter(({ status }) => status === 'problem').length);
    assert.match(of(told, 'server', /files/)[0].text, /answers, 14 tools/);
    assert.equal(of(told, 'server', /off/)[0].text, 'disabled');
    assert.equal(of(told, 'grants')[0].status, 'remark');
    assert.ok(!JSON.stringify(told).includes('secret'));
    for (const { fix = '' } of told.checks)
      for (const [line] of fix.matchAll(/^chmod .*$/g)) assert.equal((await shell(line)).code, 0, line);
  });

  test('an interpreter that is linked with musl is named, with what to do', async () => {
    const musl = join(dir, 'python-musl');
    writeFileSync(musl, Buffer.from('\x7fELF' + '\0'.repeat(60) + '/lib/ld-musl-x86_64.so.1\0', 'latin1'), { mode: 0o755 });
    const { stdout } = await run(sallyport, ['doctor', '--json', '--no-start', '--config', config], { env: { ...env, SALLYPORT_PYTHON: musl }, timeout: 120_000 });
    const [python] = of(JSON.parse(stdout), 'python');
    assert.match(python.text, /python-musl is linked with musl, and code needs an interpreter for glibc/);
    assert.match(python.fix, /the gate works here, code does not/);
  });

  test('after all suggested fixes no problem is reported; a mistake in the settings is named with its line', async () => {
    settings('127.0.0.1:0', { files });
    chmodSync(config, 0o600);
    rmSync(join(env.SALLYPORT_HOME, 'audit.key')); // it was empty, to have a mode that is too wide
    writeFileSync(join(dir, 'policy.yaml'), 'version: "1"\ndefault: deny\ntools: {read_text_file: {}}\n');
    assert.equal((await run(sallyport, ['grants', 'create', 'agent'], { env })).code, 0);
    const told = await doctor('--no-start');
    assert.equal(of(told, 'server')[0].text, 'program found, not started');
    // Of the machine we know nothing here: only what stands in the files counts.
    const ours = told.checks.filter(({ check }) => !['sandbox', 'cgroups', 'uids', 'python', 'javascript', 'typescript'].includes(check));
    assert.deepEqual(ours.filter(({ status }) => status !== 'ok'), []);
    assert.deepEqual([...new Set(ours.map(({ check }) => check))], ['state', 'keys', 'audit', 'settings', 'policy', 'port', 'grants', 'server']);
    assert.ok(told.tier >= 1 && 'python' in told.languages);
    writeFileSync(config, 'version: "1"\nlissten: 127.0.0.1:0\n');
    const plain = await run(sallyport, ['doctor', '--config', config], { env, timeout: 120_000 });
    assert.match(plain.stdout, /^settings +BAD +.*line 2.*lissten.*listen.*\n +fix: correct the line/m);
    assert.match(plain.stdout, /^\d+ problems?, \d+ remarks?\n$/m);
    assert.equal(plain.code, 1);
  });
});

// The whole way with real servers: asked for their tools, rewired, and used by a client as its file now says.
describe('rewired servers work', { concurrency: 1 }, () => {
  const home = tempDir('home');
  const data = tempDir('data');
  writeFileSync(join(data, 'note.txt'), 'a note\n');
  const original = JSON.stringify({ mcpServers: {
    files: { command: node, args: [packages.filesystem, data] },
    memory: { command: node, args: [packages.memory], env: { MEMORY_FILE_PATH: join(data, 'memory.json') } },
  } }, null, 2);
  mkdirSync(join(home, '.cursor'));
  const file = join(home, '.cursor/mcp.json');
  const entry = (name) => JSON.parse(readFileSync(file, 'utf8')).mcpServers[name];

  test('wrapped', async (t) => {
    writeFileSync(file, original);
    const out = await ok(init(home, '--yes'));
    assert.match(out, /9 tools: 3 read, 3 write, 3 destructive\n/);
    const { command, args, env } = entry('memory');
    const session = use(t, await connect('v1', { command, args, env: { ...env, ...envOf(home) } }));
    assert.match(await session.text('create_entities', { entities: [{ name: 'a', entityType: 'b', observations: [] }] }), /"a"/);
    assert.match(readFileSync(join(data, 'memory.json'), 'utf8'), /"a"/); // its environment reached it
    assert.match(await session.text('delete_entities', { entityNames: ['a'] }), /POLICY DENIED.*Blocked by default/);
    await ok(init(home, '--undo'));
    assert.equal(readFileSync(file, 'utf8'), original);
  });

  test('served', async (t) => {
    writeFileSync(file, original);
    await ok(init(home, '--yes', '--mode', 'serve'));
    const left = join(envOf(home).SALLYPORT_HOME, 'gates/999999999.json'); // of a gate that was killed
    mkdirSync(dirname(left), { recursive: true, mode: 0o700 });
    writeFileSync(left, '{');
    const gate = use(t, await startServe({ args: [], env: envOf(home), cwd: home }));
    const session = use(t, await connect('v1', { ...entry('sallyport'), url: gate.url }));
    assert.ok(!existsSync(left), 'the next gate takes it away');
    assert.equal((await session.tools()).length, 23);
    assert.match(await session.text('files__read_text_file', { path: join(data, 'note.txt') }), /a note/);
    // The gate's page about itself is brought up to date once a second.
    let servers;
    for (const end = Date.now() + 60_000; Date.now() < end && !(servers?.[0].state === 'ready' && servers[0].tools);)
      servers = JSON.parse((await run(sallyport, ['status', '--json'], { env: envOf(home) })).stdout).gates[0]?.servers;
    assert.deepEqual(servers.map(({ name, state, tools, restarts }) => [name, state, tools, restarts]).at(0), ['files', 'ready', 14, 0]);
    assert.equal(servers[0].pids.length, 1);
    process.kill(servers[0].pids[0], 'SIGKILL');
    for (const end = Date.now() + 60_000; Date.now() < end && servers[0].restarts === 0;)
      servers = JSON.parse((await run(sallyport, ['status', '--json'], { env: envOf(home) })).stdout).gates[0].servers;
    assert.equal(servers[0].restarts, 1);
    assert.match((await run(sallyport, ['status'], { env: envOf(home) })).stdout, /^Gate: pid \d+.*\n {2}files .*ended by itself 1 times/m);
    const tokens = JSON.parse((await run(sallyport, ['status', '--tokens', '--json'], { env: envOf(home), timeout: 60_000 })).stdout);
    assert.deepEqual(tokens.servers.map(({ server, tools }) => [server, tools.length]), [['files', 14], ['memory', 9]]);
    assert.ok(tokens.up_front > tokens.lazy && tokens.lazy > 0);
  });
});
