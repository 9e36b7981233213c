// Unknown servers (attack 34): the configuration of every client can be listed, and a gate connects only to
// the servers that its settings name and, with first use `ask`, that a user has accepted.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cli, LegacyHttp, node, policyFile, request, startServe, tempDir, use } from '../lib/index.mjs';

const fixture = fileURLToPath(new URL('../fixtures/fickle.mjs', import.meta.url));
const tool = (name) => ({ name, description: `Shows ${name}`, inputSchema: { type: 'object' } });

const rogue = { command: 'npx', args: ['-y', 'no-such-server-of-mine'] };
const web = { url: 'https://mcp.example/mcp' };

test('34 the configurations of common clients are read without starting any server', async () => {
  const dir = tempDir('shadow');
  const files = {
    '.mcp.json': { mcpServers: { rogue, web: { type: 'http', ...web } } }, // Claude Code
    'claude_desktop_config.json': { globalShortcut: '', mcpServers: { rogue } },
    'cursor/mcp.json': { mcpServers: { rogue: { ...rogue, env: { TOKEN: 'x' } }, web } },
    'vscode/mcp.json': { inputs: [{ id: 'key', type: 'promptString' }], servers: { rogue: { type: 'stdio', ...rogue }, web: { type: 'http', ...web } } },
    'settings.json': { mcpServers: { rogue, web: { httpUrl: web.url, ...web } } }, // Gemini
    'sallyport.yaml': { version: '1', servers: { rogue, web } },
  };
  for (const [name, content] of Object.entries(files)) {
    const path = join(dir, name.replace('/', '-'));
    writeFileSync(path, JSON.stringify(content));
    const { code, stdout, stderr } = await cli(['scan', '--mcp-config', path, '--no-start', '--format', 'json']);
    assert.equal(code, 0, `${name}: ${stderr}`);
    const found = JSON.parse(stdout);
    assert.deepEqual(found.map(({ server }) => server), Object.keys(content.mcpServers ?? content.servers), name);
    assert.deepEqual([found[0].runner, found[0].package, found[0].pinned], ['npx', 'no-such-server-of-mine', false], name);
  }
});

test('34 a gate connects only to servers in its settings, and to a new one only after it is accepted', async (t) => {
  const dir = tempDir('shadow');
  const at = (name) => join(dir, name);
  const servers = {};
  const add = (name) => {
    writeFileSync(at(`${name}.json`), JSON.stringify({ tools: [tool('look')] }));
    servers[name] = { command: node, args: [fixture, at(`${name}.json`)] };
  };
  const write = () => writeFileSync(at('sallyport.yaml'), JSON.stringify({ version: '1', policy: policyFile(), servers, code: { enabled: false }, pins: { first_use: 'ask' } }));
  const accept = () => cli(['pin', 'accept', '--mcp-config', at('sallyport.yaml'), '--lock', at('sallyport.lock')]);
  add('known');
  write();
  assert.equal((await accept()).code, 0);
  const gate = use(t, await startServe({ args: ['--no-auth', '--config', at('sallyport.yaml')], env: { SALLYPORT_HOME: at('home') } }));
  const client = await LegacyHttp.open(gate.url);
  const names = async () => (await client.request('tools/list')).tools.map(({ name }) => name);
  assert.deepEqual(await names(), ['known__look']);
  await assert.rejects(client.call('shadow__look'), /Unknown tool/);
  assert.equal((await request('POST', `${gate.url}/shadow`, { body: '{}' })).status, 404);

  add('shadow'); // an edit of the settings adds it
  write();
  await gate.child.waitLine(/settings reloaded/, { stream: 'stderr' });
  assert.deepEqual(await names(), ['known__look']);
  const denied = await client.call('shadow__look');
  assert.equal(denied.isError, true);
  assert.match(denied.content[0].text, /new and not yet accepted/);

  assert.equal((await accept()).code, 0);
  await gate.child.waitLine(/lock .* reloaded/, { stream: 'stderr' });
  assert.deepEqual((await names()).sort(), ['known__look', 'shadow__look']);
  assert.ok(JSON.parse(readFileSync(at('sallyport.lock'), 'utf8')).servers.shadow);
});
