// What the documentation of the systems before this one shows its users, as they would write it, on one gate with the real filesystem
// server: a large dataset in the workspace, discovery in two steps, private data, a skill that is kept (Code Execution MCP); one call and
// a chain of calls over the endpoints (Code Mode).
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cli, connect, legacyServer, node, packages, policyFile, startServe, startUpstream, tempDir, tempFile, until } from '../lib/index.mjs';

describe('examples of the systems before', { concurrency: 1 }, () => {
  const dir = tempDir('texts');
  let gate, security, session, env;

  before(async () => {
    mkdirSync(join(dir, 'more.txt.d'));
    for (const [name, text] of [['one.txt', 'one'], ['two.txt', 'two and more'], ['three.md', '# three']]) writeFileSync(join(dir, name), text);
    security = await startUpstream(legacyServer({ tools: ['web_vuln_scanner', 'port_scanner'].map((name) => (
      { name, description: `Scans ${name === 'port_scanner' ? 'open ports' : 'a site for vulnerabilities'}. Slow.`, inputSchema: { type: 'object', properties: { target: { type: 'string' } } } })) }));
    env = { SALLYPORT_HOME: join(tempDir(), 'home'), SALLYPORT_NODE: node };
    // There the model may see what it has hidden; here the operator must allow it.
    const rules = tempFile('pii.yaml', JSON.stringify({ version: '1', results: [{ tool: 'restore_pii', mode: 'off' }] }));
    gate = await startServe({ env, config: { version: '1', policy: policyFile(), code: { enabled: true }, pii: { mode: 'off', rules },
      servers: { fs: { command: node, args: [packages.filesystem, dir] }, security: { url: security.url } } } });
    session = await connect('v1', { url: `${gate.origin}/mcp/code` });
  });
  after(async () => { await session?.close(); await gate?.stop(); await security?.close(); });

  const call = async (name, args) => JSON.parse(await session.text(name, args));
  const run = async (code, more = {}) => {
    const text = await session.text('execute_code', { code, ...more });
    const answer = JSON.parse(text);
    assert.ok(answer.success, text);
    return { ...answer, bytes: text.length };
  };

  test('ten thousand rows stay in the workspace, a summary comes back', async () => {
    const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, status: id % 4 ? 'active' : 'closed' }));
    assert.equal((await call('write_workspace_file', { filename: 'rows.json', content: JSON.stringify(rows) })).success, true);
    const answer = await run(`
rows = json.loads(read_file("rows.json"))
active = [row for row in rows if row['status'] == 'active']
result = {'total': len(rows), 'active': len(active), 'sample': active[:5]}
`);
    assert.deepEqual(answer.result, { total: 10_000, active: 7_500, sample: rows.filter(({ status }) => status === 'active').slice(0, 5) });
    assert.ok(answer.bytes < 1_000, 'the rows did not travel');
  });

  test('tools are found in a category by a summary; the definition follows when it is needed', async () => {
    const found = await call('search_tools', { query: 'vulnerability', category: 'security', detail_level: 'summary' });
    assert.deepEqual(found.tools, [{ name: 'web_vuln_scanner', category: 'security', description: 'Scans a site for vulnerabilities.', mcp_server: 'security' }]);
    const { name, category, inputSchema } = await call('get_tool_definition', { tool_name: 'web_vuln_scanner', category: 'security' });
    assert.deepEqual([name, category, inputSchema.properties.target.type], ['web_vuln_scanner', 'security', 'string']);
    const real = await call('search_tools', { query: 'make a new folder', category: 'fs', detail_level: 'summary' });
    assert.equal(real.tools[0].name, 'create_directory');
    assert.ok((await call('get_tool_definition', { tool_name: 'create_directory', category: 'fs' })).inputSchema.required.includes('path'));
  });

  test('private data is sent as tokens and restored', async () => {
    const { sanitized_text: safe, pii_types: types } = await call('sanitize_pii', { text: 'Write to anna@example.com or ring 555-123-4567' });
    assert.match(safe, /^Write to \[EMAIL_[0-9A-Z]{8}\] or ring \[PHONE_[0-9A-Z]{8}\]$/);
    assert.deepEqual(types, ['EMAIL', 'PHONE']);
    assert.equal((await call('restore_pii', { text: safe.match(/\[EMAIL_\w+\]/)[0] })).restored_text, 'anna@example.com');
  });

  test('a skill is saved once, and later code imports it', async () => {
    const code = "def only_grave(found): return [one for one in found if one['severity'] in ['high', 'critical']]";
    assert.equal((await call('save_skill', { name: 'only_grave', code, description: 'Leaves high and critical' })).success, true);
    await call('write_workspace_file', { filename: 'scan.json', content: JSON.stringify(['low', 'high', 'medium', 'critical'].map((severity) => ({ severity }))) });
    const { result } = await run(`
skill = load_skill("only_grave")
exec(skill)
found = json.loads(read_file("scan.json"))
result = only_grave(found)
`);
    assert.deepEqual(result, [{ severity: 'high' }, { severity: 'critical' }]);
  });

  // The port is that of the system before: code names it, whatever the gate listens on.
  const POST = (tool, args) => `fetch("http://localhost:3001/mcp/call", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ server: "fs", tool: "${tool}", args: ${args} }),
}).then((r) => r.json())`;

  for (const typescript of [true, false])
    test(`${typescript ? 'TypeScript' : 'JavaScript'}: one call of the filesystem server, and a chain of them`, async () => {
      const language = typescript ? {} : { language: 'javascript' };
      const one = await run(`
const names = await fetch("http://localhost:3001/mcp/servers").then((r) => r.json());
console.log("Servers:", names);
const answer = await ${POST('read_file', `{ path: "${join(dir, 'one.txt')}" }`)};
console.log("Contents:", answer.content[0].text);`, { typescript, ...language });
      assert.deepEqual(one.output, ["Servers: [ 'fs', 'security', 'code' ]", 'Contents: one']);
      const chain = await run(`
const listed = await ${POST('list_directory', `{ path: "${dir}" }`)};
for (const line of listed.content[0].text.split("\\n")) {
  const file = line.replace("[FILE] ", "");
  if (file.endsWith(".txt")) {
    const content = await ${POST('read_file', `{ path: \`${dir}/\${file}\` }`)};
    console.log(\`\${file}: \${content.content[0].text.length} characters\`);
  }
}`, { typescript, ...language });
      assert.deepEqual(chain.output.sort(), ['one.txt: 3 characters', 'two.txt: 12 characters']);
      assert.equal(chain.tool_calls, 3);
      assert.equal(chain.result, null, 'what the calls gave stays out of the answer');
    });

  test('each of these calls is in the log under the name of the real tool', async () => {
    const query = async (tool) => (await cli(['audit', 'query', '--json', '--tool', tool], { env })).stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
    // The writer of the log works on its own.
    const all = await until('the log', async () => { const found = [...await query('read_file'), ...await query('list_directory')]; return found.length >= 8 && found; });
    for (const { server, verdict, parent } of all) assert.deepEqual([server, verdict, parent > 0], ['fs', 'allow', true]);
    assert.equal(all.length, 8);
  });
});
