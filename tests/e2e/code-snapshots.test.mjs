// Snapshots of a workspace: saved, listed, gone back to, gone on from in another directory, deleted, counted.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../lib/index.mjs';
import { startCode } from '../lib/code.mjs';

async function start(t, options) {
  const { gate, json, run } = await startCode(t, options);
  return { gate, json, run,
    put: (filename, content) => json('write_workspace_file', { filename, content }),
    text: async (filename) => (await json('read_workspace_file', { filename })).content,
    files: async () => (await json('list_workspace_files')).files };
}

test('restoring a snapshot brings a workspace back to its state and removes later files', async (t) => {
  const { json, run, put, text, files } = await start(t);
  await put('a.txt', 'one');
  await put('d/b.txt', 'two');
  assert.deepEqual(await json('save_snapshot', { name: 'first' }), { success: true, name: 'first', files: 2, bytes: 6 });
  await put('a.txt', 'changed');
  await run('import os\nopen("d/b.txt", "a").write(" more")\nos.makedirs("new/er")\nopen("new/er/c.txt", "w").write("c")\nopen("bin", "wb").write(bytes(256))', { session_id: 's' });
  assert.equal(await text('d/b.txt'), 'two more');
  await json('save_snapshot', { name: 'second' });
  assert.deepEqual(await json('restore_snapshot', { name: 'first' }), { success: true, name: 'first', files: 2, bytes: 6 });
  assert.deepEqual(await files(), ['a.txt', 'd/b.txt']);
  assert.deepEqual([await text('a.txt'), await text('d/b.txt')], ['one', 'two']);
  assert.deepEqual((await run('result = [os.path.exists("new"), open("a.txt").read()]', { session_id: 's' })).result, [false, 'one']);
  await put('a.txt', 'after');
  await json('restore_snapshot', { name: 'first' });
  assert.equal(await text('a.txt'), 'one', 'what is written after a restore does not reach the snapshot');
  await run('open("a.txt", "r+").write("in place")');
  await json('restore_snapshot', { name: 'first' });
  assert.equal(await text('a.txt'), 'one');
  await json('restore_snapshot', { name: 'second' });
  assert.deepEqual(await files(), ['a.txt', 'bin', 'd/b.txt', 'new/er/c.txt']);
  const { snapshots, bytes } = await json('list_snapshots');
  assert.deepEqual(snapshots.map(({ name, files: n, bytes: size }) => [name, n, size]), [['first', 2, 6], ['second', 4, 7 + 256 + 8 + 1]]);
  assert.equal(bytes, 6 + 272);
  assert.ok(Math.abs(Date.parse(snapshots[0].created) - Date.now()) < 600_000);
});

test('a snapshot can be opened in its own directory beside the current files', async (t) => {
  const { json, put, text, files } = await start(t);
  await put('a.txt', 'one');
  await json('save_snapshot', { name: 's' });
  await put('a.txt', 'two');
  assert.equal((await json('restore_snapshot', { name: 's', into: 'try/one' })).success, true);
  await put('try/one/a.txt', 'three');
  assert.deepEqual([await text('a.txt'), await text('try/one/a.txt'), await files()], ['two', 'three', ['a.txt', 'try/one/a.txt']]);
  await json('restore_snapshot', { name: 's', into: 'again' });
  assert.equal(await text('again/a.txt'), 'one');
  for (const [into, why] of [['again', /there already/], ['a.txt', /there already/], ['../x', /outside workspace/], ['/tmp/x', /outside workspace/], ['a.txt/x', /outside workspace/]]) {
    assert.match((await json('restore_snapshot', { name: 's', into })).error, why, into);
  }
});

test('names, quotas and deletion', async (t) => {
  const home = join(tempDir(), 'home'), { json, put, run } = await start(t, { home });
  await put('a', '1');
  for (const name of ['', '.', '..', '.new', 'a/b', '../a', 'x'.repeat(65)]) assert.match((await json('save_snapshot', { name })).error, /name may have letters/, name);
  await json('save_snapshot', { name: 's0' });
  assert.match((await json('save_snapshot', { name: 's0' })).error, /delete it first/);
  for (const tool of ['restore_snapshot', 'delete_snapshot']) assert.match((await json(tool, { name: 'nope' })).error, /no snapshot `nope`/);
  for (let i = 1; i < 16; i++) assert.equal((await json('save_snapshot', { name: `s${i}` })).success, true);
  assert.match((await json('save_snapshot', { name: 's16' })).error, /16 snapshots already/);
  for (let i = 0; i < 16; i++) assert.deepEqual(await json('delete_snapshot', { name: `s${i}` }), { success: true, name: `s${i}` });
  assert.deepEqual((await json('list_snapshots')).snapshots, []);
  const [principal] = readdirSync(join(home, 'code')).filter((name) => existsSync(join(home, 'code', name, 'snapshots')));
  assert.deepEqual(readdirSync(join(home, 'code', principal, 'snapshots')), []);
  await run('for i in range(4): open(f"big{i}", "wb").write(bytes(15 << 20))');
  for (let i = 0; i < 4; i++) assert.equal((await json('save_snapshot', { name: `b${i}` })).success, true);
  assert.match((await json('save_snapshot', { name: 'b4' })).error, /256 MB together/);
  assert.match((await json('restore_snapshot', { name: 'b0', into: 'fork' })).error, /workspace is full/);
  assert.deepEqual(readdirSync(join(home, 'code', principal, 'snapshots')).sort(), ['b0', 'b1', 'b2', 'b3']);
});

test('a project directory has no snapshots', async (t) => {
  const { json } = await start(t, { args: ['--dir', tempDir()] });
  for (const tool of ['save_snapshot', 'restore_snapshot', 'delete_snapshot']) assert.match((await json(tool, { name: 'a' })).error, /version control/);
  assert.match((await json('list_snapshots')).error, /version control/);
});
