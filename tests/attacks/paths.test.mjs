// The real filesystem server behind `protect_agent_config` and `under`: whatever spelling of a path is tried, no protected file and
// nothing outside the directory is written.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { node, packages, peerFor, startGate, tempDir, use } from '../lib/index.mjs';

const DIRECTORIES = ['.git/hooks', '.github/workflows', '.github/x', '.claude', 'etc/cron.d', 'src/.vscode', 'notes'];
// A protected file, and how else one may write its name.
const SPELLINGS = [
  (name) => name, (name) => name.toUpperCase(), (name) => `./${name}`, (name) => name.replace('/', '//'), (name) => name.replace('/', '/./'), (name) => name.replace('/', '/x/../'),
  (name) => `notes/../${name}`, (name) => `${'a/'.repeat(20)}${'../'.repeat(20)}${name}`, (name) => name.replace('.', '%2e'), (name) => name.replace('.', '%252e'), (name) => name.replace('/', '%2f'),
  (name) => name.replaceAll('/', '\\'), (name) => name.replace('.', '．'), (name) => name.replace(/[a-z]/, (c) => `${c}\u200c`), (name) => name.replace(/[a-z]/, (c) => String.fromCodePoint(c.codePointAt(0) + 0xfee0)),
  (name) => `${name} `, (name) => `${name}.`, (name) => `${name}::$DATA`, (name) => `${name};x`, (name) => `${name}\u00a0`, (name) => `\u202e${name}`, (name) => `${name}/../${name}`, (name) => `file://${name}`,
  (name) => name.replace('.', '%u002e'), (name) => `"${name}"`, (name) => `notes/a\n${name}`,
];
const NAMES = ['.git/hooks/pre-commit', '.github/workflows/build.yml', '.claude/settings.json', 'etc/cron.d/job', 'src/.vscode/tasks.json', 'CLAUDE.md', 'AGENTS.md', '.bashrc', '.mcp.json', '.envrc', '.travis.yml', 'notes/GEMINI.md'];
const OUTSIDE = ['../out', 'notes/../../out', 'notes/..%2f..%2fout', 'notes/..;/../out', 'notes/.../out', 'notes/....//out', 'notes/.. /.. /out', 'notes/.\u200b./.\u200b./out', '~/out', 'notes/．．/．．/out',
  'notes/..%20/..%20/out', 'notes/%ef%bc%8e%ef%bc%8e/out', 'notes/％2e％2e/out', 'notes/%uff0e%uff0e/out', 'notes/..∕..∕out', 'notes/…/out', 'notes/%7e/out'];

const filesIn = (dir) => readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => relative(dir, join(entry.parentPath, entry.name))).sort();

test('the filesystem server writes no protected file, whatever the spelling', async (t) => {
  const top = tempDir(), root = join(top, 'work');
  for (const directory of DIRECTORIES) mkdirSync(join(root, directory), { recursive: true });
  const policy = { version: '1', default: 'deny', presets: ['protect_agent_config'], tools: { write_file: { rules: [{ name: 'inside', conditions: [{ path: 'args.path', op: 'under', value: root }] }] }, create_directory: {}, move_file: {} } };
  const peer = await peerFor('stdio', use(t, await startGate({ transport: 'stdio', command: [node, packages.filesystem, top], policy })));
  await peer.initialize();
  const call = async (name, args) => (await peer.exchange('tools/call', { name, arguments: args })).json;
  let denied = 0;
  for (const path of [...NAMES.flatMap((name) => SPELLINGS.map((spell) => spell(name))), ...OUTSIDE]) {
    for (const [name, args] of [['write_file', { path: `${root}/${path}`, content: 'x' }], ['move_file', { source: `${root}/notes/plain`, destination: `${root}/${path}` }]]) {
      if (name === 'move_file' && OUTSIDE.includes(path)) continue; // only its preset is under test
      await call('write_file', { path: `${root}/notes/plain`, content: 'y' });
      const { result } = await call(name, args);
      if (result?._meta?.['sallyport/denial']) denied++;
      else assert.ok(result?.isError, `${name} ${JSON.stringify(args)}`);
    }
  }
  assert.deepEqual(filesIn(top), ['work/notes/plain']);
  assert.ok(denied > 500, `${denied} were denied by the policy, the rest by the server`);
});

test('no spelling and no link leads into a directory that a rule denies', async (t) => {
  const top = tempDir(), secret = join(top, 'secret'), open = join(top, 'open');
  for (const directory of [secret, open, join(secret, 'deep')]) mkdirSync(directory);
  for (const name of [join(secret, 'key'), join(secret, 'deep/key'), join(open, 'note')]) writeFileSync(name, 'TOP');
  symlinkSync(secret, join(open, 'link'));
  symlinkSync('../secret/key', join(open, 'file'));
  symlinkSync('../open', join(secret, 'out'));
  const conditions = [{ path: 'args.path', op: 'under', value: secret }];
  const tools = { read_text_file: { deny_if: [{ conditions }] }, get_file_info: { require: [{ conditions: [{ not: conditions[0] }] }] } };
  const peer = await peerFor('stdio', use(t, await startGate({ transport: 'stdio', command: [node, packages.filesystem, top], policy: { version: '1', default: 'deny', tools } })));
  await peer.initialize();
  const call = async (name, path) => (await peer.exchange('tools/call', { name, arguments: { path } })).json;
  const stopped = ({ result, error }) => Boolean(error) || Boolean(result?._meta?.['sallyport/denial']);
  for (const path of ['secret/key', 'secret', 'secret/', 'open/link/key', 'open/link', 'open/link/deep/key', 'open/file', 'open/../secret/key', 'open/link/../secret/key', 'SECRET/key', 'Secret/deep', 'ſecret/key', 'secret./key', 'secret /key', 'secret/out/note'])
    for (const name of Object.keys(tools)) assert.ok(stopped(await call(name, `${top}/${path}`)), `${name} ${path}`);
  assert.ok(!stopped(await call('read_text_file', `${open}/note`)));
  for (const path of ['open/note', 'open/missing', 'secrets', 'open/secret', 'open/../open/note'])
    for (const name of Object.keys(tools)) assert.ok(!stopped(await call(name, `${top}/${path}`)), `${name} ${path}`);
});
