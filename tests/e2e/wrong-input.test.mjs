// What a command says about a wrong command line, a file that is not what it should be, and a machine that refuses: what is wrong, where,
// and what to do, with the exit status of docs/messages.md.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { cli, run, sallyport, tempDir } from '../lib/index.mjs';

// A directory with one valid file of each kind, and a home that no gate has used.
function place() {
  const dir = tempDir();
  writeFileSync(path.join(dir, 'policy.yaml'), 'version: "1"\ndefault: deny\ntools:\n  read_file: {rules: []}\n');
  writeFileSync(path.join(dir, 'broken.yaml'), 'version: "1"\ntools:\n  a: [\n');
  writeFileSync(path.join(dir, 'sallyport.yaml'), 'version: "1"\npolicy: policy.yaml\nservers:\n  files: {command: "true"}\n', { mode: 0o600 });
  writeFileSync(path.join(dir, 'tools.json'), '[{"name": "read_file", "description": "Read a file", "inputSchema": {"type": "object"}}]');
  mkdirSync(path.join(dir, 'folder'));
  return { cwd: dir, env: { HOME: dir, SALLYPORT_HOME: path.join(dir, 'home'), XDG_CONFIG_HOME: path.join(dir, 'config') } };
}

// [command line, exit status, what stderr or stdout says]
async function answers(rows) {
  const options = place();
  const wrong = [];
  for (const [line, status, says] of rows) {
    const { code, stdout, stderr } = await cli(line.split(' ').filter(Boolean), options);
    if (code !== status || !says.test(stdout + stderr)) wrong.push(`${line}: status ${code}, not ${status}; ${stdout}${stderr}`);
  }
  assert.deepEqual(wrong, [], wrong.join('\n'));
}

test('a typo in a command, an option or a value names the nearest known one', () => answers([
  ['statsu', 2, /unknown command `statsu`, did you mean `status`\?/],
  ['audit tial', 2, /unknown command `audit tial`, did you mean `audit tail`\?/],
  ['audit', 2, /`audit` needs one of: tail, query, show, verify, export/],
  ['scan --fromat json', 2, /unknown option `--fromat`, did you mean `--format`\?\nTry `sallyport scan --help`/],
  ['audit export --format cvs', 2, /--format `cvs`: did you mean `csv`\?/],
  ['audit query --limit x', 2, /--limit `x`: not a whole number/],
  ['approvals list --status bogus', 2, /must be one of pending, approved/],
  ['grants create', 2, /`grants create` needs NAME\nTry/],
  ['grants create a --role boss', 2, /write admin, policy-manager, approver, viewer or person/],
  ['grants create a --expires soon', 2, /write a future time like/],
  ['init --client cursr', 2, /no client `cursr`, did you mean `cursor`\?/],
  ['export --client cursr', 2, /did you mean `cursor`/],
  ['init --project nosuch', 2, /--project `nosuch`: No such file/],
  ['pii scan --kinds EMIAL', 2, /unknown kind `EMIAL`, did you mean `EMAIL`\?/],
  ['pii scan --kinds BOGUS', 2, /there are EMAIL, PHONE, .* and `all`/],
  ['pii tokenize --scope a/b', 2, /--scope `a\/b`: use up to 64 letters, digits and hyphens/],
  ['pii tokenize --mode x', 2, /write tokenize, redact, block or report/],
  ['audit show x', 2, /`x` is not the number of a record; `sallyport audit query` shows the numbers/],
  ['scan', 2, /give one of --tools-json FILE/],
  ['explain -c policy.yaml --tool read_file --args {', 2, /--args: not valid JSON/],
  ['serve --listen nonsense', 2, /write it as ADDRESS:PORT/],
  ['completion tcsh', 2, /bash, zsh and fish/],
]));

test('a file that is missing is named, with the reason', () => answers([
  ['-c nosuch -- true', 3, /cannot read `nosuch`: No such file/],
  ['validate -c nosuch', 1, /open nosuch: No such file/],
  ['explain -c nosuch --tool x', 3, /nosuch: No such file/],
  ['replay -c nosuch', 3, /nosuch: No such file/],
  ['simulate nosuch', 2, /cannot read `nosuch`: No such file/],
  ['scan --tools-json nosuch', 3, /cannot read `nosuch`: No such file/],
  ['scan --mcp-config nosuch', 3, /cannot read `nosuch`: No such file/],
  ['pin diff --tools-json nosuch', 3, /cannot read `nosuch`: No such file/],
  ['serve --config nosuch', 3, /cannot read `nosuch`: No such file/],
  ['export --config nosuch', 3, /cannot read `nosuch`: No such file/],
  ['import nosuch', 3, /cannot read `nosuch`: No such file/],
  ['login files --config nosuch', 3, /cannot read `nosuch`: No such file/],
  ['allow files x --config nosuch', 3, /cannot read `nosuch`: No such file/],
  ['code run nosuch.py', 2, /nosuch.py: No such file/],
  ['backup --check nosuch', 1, /nosuch` is not a complete backup: it has no manifest.json/],
  ['restore nosuch', 4, /nosuch` is not a complete backup: it has no manifest.json/],
  ['doctor --no-start --config nosuch', 1, /BAD {2}nosuch: cannot read `nosuch`: No such file[^\n]*\n +fix: give the right path/],
]));

test('a directory in place of a file is refused, not read as an empty file', () => answers([
  ['-c folder -- true', 3, /folder`: Is a directory/],
  ['validate -c folder', 1, /folder: Is a directory/],
  ['simulate folder', 2, /cannot read `folder`: Is a directory/],
  ['scan --tools-json folder', 3, /folder`: Is a directory/],
  ['serve --config folder', 3, /folder`: Is a directory/],
  ['import folder', 3, /folder`: Is a directory/],
  ['code run folder', 2, /folder: Is a directory/],
]));

test('broken YAML, and the wrong kind of file, name the place', () => answers([
  ['validate -c broken.yaml', 1, /broken\.yaml:\d+:\d+: Error: parsing config file: line \d+, column \d+/],
  ['-c broken.yaml -- true', 3, /broken\.yaml:\d+:\d+: /],
  ['explain -c broken.yaml --tool a', 3, /broken\.yaml:\d+:\d+: /],
  ['serve --config broken.yaml', 3, /read `broken\.yaml`: line \d+, column \d+/],
  ['serve --config policy.yaml', 3, /line \d+, column \d+: unknown key `default`/],
  ['import policy.yaml', 3, /read `policy\.yaml`: line 1: not valid JSON/],
  ['scan --tools-json policy.yaml', 3, /read `policy\.yaml`: byte 0: not valid JSON/],
]));

test('a server that cannot be reached is named; an invalid address is an error', () => answers([
  ['-c policy.yaml --upstream nonsense', 3, /upstream `nonsense`: scheme is neither http nor https/],
  ['scan --upstream nonsense', 4, /scheme is neither http nor https/],
  ['scan --upstream http://127.0.0.1:9/mcp', 4, /connection refused/],
  ['login --url nonsense', 4, /`nonsense` is not an https URL/],
  ['scan -- /nosuch', 4, /could not be started: No such file or directory\n/],
  ['scan -- nosuch', 4, /could not be started: No such file or directory: is `nosuch` in its PATH\?/],
]));

test('before the first gate there is nothing to show or to replay: the command says so', () => answers([
  ['audit show 1', 1, /no audit log yet in/],
  ['replay -c policy.yaml', 1, /no audit log yet in .*: there are no calls to replay/],
]));

test('a query without a result says so', async () => {
  const options = place();
  await cli(['grants', 'create', 'a'], options);
  const { code, stdout, stderr } = await cli(['audit', 'query', '--tool', 'nosuch'], options);
  assert.deepEqual([code, stdout], [0, '']);
  assert.match(stderr, /no record matches/);
});

test('one name in two files is reported as one name, not as two that look alike', async () => {
  const options = place();
  writeFileSync(path.join(options.cwd, 'mcp.json'), '{"mcpServers": {"files": {"command": "true"}}}', { mode: 0o600 });
  const { code, stderr } = await cli(['serve', '--config', 'sallyport.yaml', '--mcp-config', 'mcp.json'], options);
  assert.equal(code, 3);
  assert.match(stderr, /two servers have the name `files`: rename one/);
});

describe('without a place for the state', () => {
  test('no HOME, and a relative one', async () => {
    const { cwd } = place();
    for (const [env, says] of [[{ PATH: process.env.PATH }, /neither SALLYPORT_HOME nor HOME is set/], [{ SALLYPORT_HOME: 'here' }, /SALLYPORT_HOME is `here`: it must be an absolute path/]])
      for (const [command, status] of [['status', 3], ['init', 3], ['serve', 3]]) {
        const { status: code, stderr } = spawnSync(sallyport, [command], { cwd, env, encoding: 'utf8' });
        assert.equal(code, status, `${command}: ${stderr}`);
        assert.match(stderr, says);
      }
  });

  test('the home of another user is named with its owner', { skip: process.getuid() !== 0 ? 'needs root' : false }, async () => {
    const options = place();
    await cli(['grants', 'create', 'a'], options);
    chmodSync(options.cwd, 0o755);
    chmodSync(path.dirname(options.cwd), 0o755);
    const as = (...args) => spawnSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', sallyport, ...args], { cwd: '/', env: { ...process.env, ...options.env }, encoding: 'utf8' });
    for (const line of ['status', 'grants list', 'audit query', 'approvals list']) {
      const { status, stderr } = as(...line.split(' '));
      assert.notEqual(status, 0, line);
      assert.match(stderr, /the home `.*` belongs to the user root: run the command as that user, or name another home with SALLYPORT_HOME/, line);
    }
  });

  test('init changes nothing when one file cannot be written', { skip: process.getuid() !== 0 ? 'needs root' : false }, async () => {
    const dir = tempDir();
    chmodSync(dir, 0o755);
    const home = path.join(dir, 'user');
    const cursor = path.join(home, '.cursor');
    mkdirSync(cursor, { recursive: true });
    writeFileSync(path.join(cursor, 'mcp.json'), '{"mcpServers": {"files": {"command": "x"}}}');
    const { status: owned } = spawnSync('chown', ['65534:65534', home]);
    assert.equal(owned, 0);
    const { status, stderr } = spawnSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', sallyport, 'init', '--yes', '--no-start'], { cwd: home, env: { PATH: process.env.PATH, HOME: home }, encoding: 'utf8' });
    assert.equal(status, 4, stderr);
    assert.match(stderr, /cannot write `.*mcp\.json`: Permission denied; nothing was written/);
    assert.equal(spawnSync('ls', [path.join(home, '.config')]).status, 2, 'no policy was written');
  });
});

describe('output', { concurrency: 2 }, () => {
  test('a disk that is full, and a closed stdout, are errors; a reader that leaves is not', async () => {
    const { env } = place();
    const shell = (line) => spawnSync('bash', ['-c', line], { env: { ...process.env, ...env, S: sallyport }, encoding: 'utf8' });
    for (const to of ['> /dev/full', '>&-']) {
      const { status, stderr } = shell(`"$S" help ${to}`);
      assert.equal(status, 4, to);
      assert.match(stderr, /cannot write the output: /, to);
    }
    const { status, stdout, stderr } = shell('set -o pipefail; "$S" help | head -n 1');
    assert.ok(status === 0 || status === 141, `${status}`);
    assert.match(stdout, /^sallyport \d/);
    assert.equal(stderr, '');
  });

  test('every listing has --json, also when there is nothing to list', async () => {
    const options = place();
    for (const line of ['grants list', 'approvals list', 'status', 'audit verify', 'catalogue stats', 'catalogue search read_graph', 'catalogue trust', 'code packages list', 'version', 'doctor --no-start', 'scan --tools-json tools.json --format json']) {
      const { stdout, stderr } = await cli([...line.split(' '), ...(line.includes('--format') ? [] : ['--json'])], options);
      assert.doesNotThrow(() => JSON.parse(stdout), `${line}: ${stdout}${stderr}`);
    }
    for (const line of ['audit query --json', 'audit tail --json', 'audit export']) assert.equal((await cli(line.split(' '), options)).stdout, '', line);
  });

  test('every command explains itself, with examples, in lines that fit', async () => {
    const { stdout } = await cli(['help']);
    const names = [...stdout.slice(stdout.indexOf('\nCommands'), stdout.indexOf('\nFlags')).matchAll(/^ {2}(\S+(?: \S+)?) {2,}\S/gm)].map(([, name]) => name);
    assert.ok(names.length > 45, `${names.length} commands`);
    for (const name of names) {
      const { code, stdout: help } = await cli([...name.split(' '), '--help']);
      assert.equal(code, 0, name);
      assert.match(help, /^Examples\n {2}\S/m, name);
      assert.doesNotMatch(help, /\(default \)/, name);
      assert.deepEqual(help.split('\n').filter((one) => one.length > 120), [], name);
    }
  });

  test('a narrow terminal gets shorter lines', async () => {
    const { stdout } = await run('script', ['-qec', `stty cols 60; ${sallyport} grants create --help`, '/dev/null'], { env: { TERM: 'dumb' } });
    const lines = stdout.replaceAll('\r', '').split('\n');
    const prose = lines.slice(0, lines.findIndex((one) => one.startsWith('Examples')));
    assert.ok(prose.length > 20, stdout);
    assert.deepEqual(prose.filter((one) => one.length > 60), []);
  });
});
