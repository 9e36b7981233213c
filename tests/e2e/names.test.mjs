// Whose call it is: the name of a wrapped server in policies, counters, the audit log and the log.
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, fixture, node, peerFor, startGate, tempDir, use } from '../lib/index.mjs';

const SERVER = "({ serve }) => serve({ 'tools/call': () => ({ content: [] }) })";
// A launcher as npx and uvx are: it starts what stands behind a package's name.
function launcher(name) {
  const dir = tempDir();
  const path = join(dir, name);
  writeFileSync(path, `#!/bin/sh\nexec '${node}' '${fixture('raw-stdio.mjs')}' "$SOURCE"\n`);
  chmodSync(path, 0o755);
  return path;
}

const LIMITED = { version: '1', default: 'allow', tools: { search: { rules: [{ name: 'twice', rate_limit: '2/day' }] } } };
const records = async (env) => (await cli(['audit', 'query', '--json', '--limit', '0'], { env })).stdout.trim().split('\n').map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'decision');
const search = async (peer) => (await peer.exchange('tools/call', { name: 'search', arguments: {} })).json;
const denied = ({ result }) => Boolean(result?._meta?.['sallyport/denial']);

describe('a wrapped server', { concurrency: 3 }, () => {
  for (const [how, command, args, name] of [
    ['its package', [launcher('npx'), '-y', '@acme/search-server@1.2.3'], [], 'acme-search-server'],
    ['its package, by uvx', [launcher('uvx'), 'mcp-server-git==1.0'], [], 'mcp-server-git'],
    ['the script of an interpreter', [node, fixture('raw-stdio.mjs'), SERVER], [], 'raw-stdio.mjs'],
    ['--name', [launcher('npx'), '-y', '@acme/search-server'], ['--name', 'files'], 'files'],
  ]) {
    test(`is called by ${how}`, async (t) => {
      const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
      const gate = use(t, await startGate({ transport: 'stdio', policy: LIMITED, command, args: [...args, '--env', `SOURCE=${SERVER}`], env }));
      await search(await peerFor('stdio', gate));
      await gate.stop();
      assert.deepEqual([...new Set((await records(env)).map(({ server }) => server))], [name]);
    });
  }

  test('has its own counters, separate from those of another server of the same home', async (t) => {
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const open = async (name) => peerFor('stdio', use(t, await startGate({ transport: 'stdio', policy: LIMITED, command: [launcher('npx'), '-y', name], args: ['--env', `SOURCE=${SERVER}`], env })));
    const [one, two] = [await open('one-server'), await open('two-server')];
    assert.deepEqual([denied(await search(one)), denied(await search(one)), denied(await search(one))], [false, false, true]);
    assert.deepEqual([denied(await search(two)), denied(await search(two)), denied(await search(two))], [false, false, true]);
    const again = await open('one-server');
    assert.equal(denied(await search(again)), true, 'the same server, started once more, goes on where it was');
  });

  test('cannot have a name that would not fit into a path or a prefix', async () => {
    for (const name of ['', 'a/b', 'a__b', 'servers', '.x', 'a b']) {
      const { code, stderr } = await cli(['-c', 'policy.yaml', '--name', name, '--', 'true']);
      assert.equal(code, 2, name);
      assert.match(stderr, /--name/);
    }
  });
});
