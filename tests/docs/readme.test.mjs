// The README's two times three steps, with its own blocks: one server behind the gate, and a gate for a team.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { cli, freePort, node, packages, root, run, sallyport, start, tempDir, use } from '../lib/index.mjs';

const text = readFileSync(path.join(root, 'README.md'), 'utf8');
const blocks = (kind) => [...text.matchAll(new RegExp(`^( *)\`\`\`${kind}\\n([\\s\\S]*?)^\\1\`\`\``, 'gm'))].map(([, indent, body]) => body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
const commands = blocks('sh').join('\n').split('\n').map((line) => line.replace(/ +#.*/, '').trim()).filter(Boolean);

test('it is short, and the two set-up commands are in it', () => {
  const lines = text.split('\n').filter(Boolean).length;
  assert.ok(lines <= 80, `${lines} lines`);
  for (const line of ['make run', 'make test', 'make install', 'npx -y sallyport init', 'sudo apt install ./sallyport_*.deb']) assert.ok(commands.includes(line), line);
});

describe('one server in three steps', () => {
  test('the policy and the entry work as they stand', async () => {
    const dir = tempDir();
    const here = (body) => body.replaceAll('/srv/data', `${dir}/data`).replaceAll('/etc/sallyport/files.yaml', `${dir}/files.yaml`);
    mkdirSync(path.join(dir, 'data/drafts'), { recursive: true });
    writeFileSync(path.join(dir, 'data/todo.txt'), 'buy milk');
    writeFileSync(path.join(dir, 'files.yaml'), here(blocks('yaml')[0]));
    const { files } = JSON.parse(here(blocks('json')[0])).mcpServers;
    assert.equal(files.command, 'sallyport');
    const at = files.args.indexOf('--') + 1;
    assert.deepEqual(files.args.slice(at, at + 3), ['npx', '-y', '@modelcontextprotocol/server-filesystem']);
    assert.ok(commands.length && text.includes(`npx -y @modelcontextprotocol/server-filesystem /srv/data`));
    const call = (id, name, args) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
    const input = [
      { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'me', version: '1' } } },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      call(1, 'read_text_file', { path: `${dir}/data/todo.txt` }),
      call(2, 'write_file', { path: `${dir}/data/todo.txt`, content: '' }),
      call(3, 'write_file', { path: `${dir}/data/drafts/../todo.txt`, content: '' }),
      call(4, 'write_file', { path: `${dir}/data/drafts/a.txt`, content: 'x' }),
      call(5, 'move_file', { source: `${dir}/data/todo.txt`, destination: `${dir}/data/b.txt` }),
    ].map((message) => `${JSON.stringify(message)}\n`).join('');
    const { stdout, stderr } = await run(sallyport, [...files.args.slice(0, at), node, packages.filesystem, ...files.args.slice(at + 3)], { input, env: { SALLYPORT_HOME: path.join(dir, 'home') } });
    const answer = Object.fromEntries(stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)).map(({ id, result }) => [id, result]));
    assert.equal(answer[1]?.content[0].text, 'buy milk', stdout + stderr);
    for (const id of [2, 3]) assert.match(answer[id].content[0].text, /POLICY DENIED\] Writing is limited to the drafts folder\./);
    assert.ok(!answer[4].isError, JSON.stringify(answer[4]));
    assert.match(answer[5].content[0].text, /is not permitted by policy/);
  });
});

describe('a team in three steps', () => {
  test('init, a grant and serve: the servers of a client answer an agent with a token', async (t) => {
    const [init, grant, serve] = commands.filter((line) => /^sallyport (init --mode|grants|serve)/.test(line)).map((line) => line.split(' ').slice(1));
    const home = tempDir(), port = await freePort();
    const env = { HOME: home, SALLYPORT_HOME: path.join(home, 'state'), XDG_CONFIG_HOME: '' };
    mkdirSync(path.join(home, '.cursor'));
    mkdirSync(path.join(home, 'data'));
    writeFileSync(path.join(home, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { stripe: { command: node, args: [packages.filesystem, path.join(home, 'data')] } } }));
    const ok = async (args) => {
      const result = await cli(args, { env, cwd: home });
      assert.equal(result.code, 0, result.stdout + result.stderr);
      return result.stdout;
    };
    await ok([...init, '--yes', '--listen', `127.0.0.1:${port}`]); // a person answers the question
    const token = (await ok(grant)).trim();
    const gate = use(t, start(sallyport, serve, { env, cwd: home }));
    await gate.waitLine(/listening on/, { stream: 'stderr' });
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    assert.deepEqual(await (await fetch(`http://127.0.0.1:${port}/mcp/servers`, { headers })).json(), ['stripe']);
    const called = await fetch(`http://127.0.0.1:${port}/mcp/call`, { method: 'POST', headers, body: JSON.stringify({ server: 'stripe', tool: 'list_directory', args: { path: path.join(home, 'data') } }) });
    assert.doesNotMatch(await called.text(), /DENIED/, 'the policy that init wrote allows what only reads');
    assert.equal((await fetch(`http://127.0.0.1:${port}/ui/`)).status, 200);
  });
});
