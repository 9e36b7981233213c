// `sallyport code` beside a client's own servers, and on a project's files.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cli, policyFile, probeCommand, tempDir } from '../lib/index.mjs';
import { startCode } from '../lib/code.mjs';

function clientFile(servers) {
  const path = join(tempDir(), '.mcp.json');
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
  return path;
}
const [command, ...args] = probeCommand();

test('code calls the tools of the servers in --mcp-config, judged by the policy, and the client sees the code server only', async (t) => {
  const policy = policyFile({ version: '1', default: 'allow', tools: { mark: { rules: [{ name: 'no', action: 'deny', on_deny: 'No marks.' }] } } });
  const { peer, run } = await startCode(t, { args: ['-c', policy, '--mcp-config', clientFile({ probe: { command, args } })] });
  const names = (await peer.request('tools/list', {})).tools.map((tool) => tool.name);
  assert.ok(names.includes('execute_code') && !names.some((name) => /echo|__/.test(name)), names.join(' '));
  assert.deepEqual((await run('result = tools.probe.echo(n=5)')).result, { n: 5 });
  assert.deepEqual((await run('return await tools.probe.echo({ n: 6 })', { language: 'javascript' })).result, { n: 6 });
  assert.match((await run('tools.probe.mark()')).error, /No marks/);
  assert.ok((await run('result = len(search_tools("echo")) > 0')).result);
});

test('a file that cannot be read, or has a server of the same name, is refused', async () => {
  const env = { SALLYPORT_HOME: tempDir() };
  for (const [file, why] of [['/nowhere/.mcp.json', /nowhere/], [clientFile({ code: { command, args } }), /a server is named `code`/]]) {
    const { code, stderr } = await cli(['code', '--mcp-config', file], { env, input: '' });
    assert.equal(code, 3, stderr);
    assert.match(stderr, why);
  }
  const { code, stderr } = await cli(['code', '--dir', '/nowhere/at/all'], { env, input: '' });
  assert.equal(code, 3);
  assert.match(stderr, /--dir \/nowhere\/at\/all/);
});

test('--dir: code works on the files of a project, but not on its repository', async (t) => {
  const dir = tempDir('project'), at = (name) => join(dir, name);
  for (const name of ['src', '.git/hooks', 'node_modules/x']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('src/data.csv'), 'a,b\n1,2\n');
  writeFileSync(at('run.sh'), '#!/bin/sh\n');
  chmodSync(at('run.sh'), 0o755);
  writeFileSync(at('.git/config'), 'secret of the repository');
  writeFileSync(at('node_modules/x/index.js'), 'x');
  writeFileSync(join(dir, '..', 'outside.txt'), 'outside');
  symlinkSync('../outside.txt', at('link'));
  const { run, json } = await startCode(t, { args: ['--dir', dir] });
  const answer = await run(`import os
result = [open("src/data.csv").read(), sorted(os.listdir(".")), oct(os.stat("run.sh").st_mode)[-3:]]
open("made.txt", "w").write("made")
open("src/data.csv", "a").write("3,4\\n")
open("run.sh", "a").write("echo hi\\n")
os.makedirs(".git/hooks"); open(".git/hooks/pre-commit", "w").write("#!/bin/sh\\nevil")
os.makedirs("src/.GIT"); open("src/.GIT/config", "w").write("evil")`);
  assert.deepEqual(answer.result, ['a,b\n1,2\n', ['run.sh', 'src'], '755'], JSON.stringify(answer));
  assert.equal(readFileSync(at('src/data.csv'), 'utf8'), 'a,b\n1,2\n3,4\n');
  assert.equal(readFileSync(at('made.txt'), 'utf8'), 'made');
  assert.equal(statSync(at('run.sh')).mode & 0o777, 0o755, 'a program stays one');
  assert.equal(readFileSync(at('.git/config'), 'utf8'), 'secret of the repository');
  assert.ok(!existsSync(at('.git/hooks/pre-commit')) && !existsSync(at('src/.GIT')), 'no hook gets out');
  assert.ok(existsSync(at('node_modules/x/index.js')), 'what stayed outside stays');
  assert.match((await json('write_workspace_file', { filename: '.git/hooks/post-commit', content: 'evil' })).error ?? '', /./);
  assert.ok(!existsSync(at('.git/hooks/post-commit')));
  assert.deepEqual((await json('list_workspace_files')).files, ['made.txt', 'run.sh', 'src/data.csv']);
});

test('code run --workspace: a directory that is not there is refused before the code runs', async () => {
  const file = join(tempDir(), 'writes.py');
  writeFileSync(file, 'open("kept.txt", "w").write("1")\nprint("ran")\n');
  for (const [place, why] of [[join(tempDir(), 'none'), /No such file or directory/], [file, /Not a directory/]]) {
    const { code, stdout, stderr } = await cli(['code', 'run', '--workspace', place, file]);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, why);
    assert.ok(stderr.includes(`--workspace ${place}`), stderr);
  }
});
