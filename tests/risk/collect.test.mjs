// The collector's offline halves: definitions read from source, and facts and report made from saved answers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { root, sallyport } from '../lib/paths.mjs';

const reader = 'import json,sys; sys.dont_write_bytecode=True; sys.path.insert(0,sys.argv[1]); import toolsource; '
  + 'f=toolsource.read(json.load(sys.stdin)); print(json.dumps({"tools":f.tools,"settings":f.settings}))';
const read = (files) => JSON.parse(execFileSync('python3', ['-c', reader, join(root, 'scripts')],
  { input: JSON.stringify(Object.entries(files)), encoding: 'utf8' }));
const schema = (properties, required = []) => ({ type: 'object', properties, required });

test('JavaScript: calls, shapes of zod, and objects with a schema', () => {
  const { tools, settings } = read({ 'dist/index.js': `
    const key = process.env.WIDGET_KEY; // server.tool("not_this", "a comment that looks like one", {}, f)
    server.tool("get_widget", "Get a " + 'widget', {id: z.string().describe("its number"), deep: z.boolean().optional(),
      sort: z.enum(["up", 'down']).default("up")}, async ({id}) => /[/"]/.test(id) ? "}" : \`\${"{"}\`);
    server.registerTool('drop_widget', {title: 'Drop', description: \`Delete a
widget\`, inputSchema: Shape, annotations: {readOnlyHint: !1, destructiveHint: true}}, drop);
    const Shape = z.object({ids: z.array(z.string())});
    const list = [{name: "list_widgets", description: "List\\u0020widgets", inputSchema: {type: "object", properties:
      {page: {type: "number"}}, required: ["page"]}}, {name: computed, description: "no", inputSchema: {}}];
    const person = {name: "Ada", description: "no tool"};
    server.tool(\`\${prefix}_x\`, "computed", {}, f); server.tool("bare", "No parameters", run);` });
  assert.deepEqual(tools, [
    { name: 'get_widget', description: 'Get a widget', inputSchema: schema({ id: { type: 'string', description: 'its number' },
      deep: { type: 'boolean' }, sort: { type: 'string', enum: ['up', 'down'] } }, ['id']) },
    { name: 'drop_widget', description: 'Delete a\nwidget', inputSchema: schema({ ids: { type: 'array' } }, ['ids']),
      annotations: { readOnlyHint: false, destructiveHint: true } },
    { name: 'bare', description: 'No parameters', inputSchema: schema({}) },
    { name: 'list_widgets', description: 'List widgets', inputSchema: schema({ page: { type: 'number' } }, ['page']) }]);
  assert.deepEqual(settings, ['WIDGET_KEY']);
});

test('Python: decorated functions and Tool objects', () => {
  const { tools, settings } = read({ 'server/__init__.py': `
import os
KEY = os.environ["WIDGET_KEY"]
@mcp.tool()
async def get_widget(id: str, ctx: Context, sort: Literal["up", "down"] = "up", n: Annotated[int, Field(description="how many")] = 3):
    """Get a widget.

    As it is now."""
@server.tool(name="drop_widget", description="Delete a widget", annotations={"destructiveHint": True})
def drop(id: str = Field(...)): ...
TOOLS = [Tool(name="list_widgets", description="List " "widgets", inputSchema={"type": "object", "properties": {}}),
         Tool(name=computed, description="x", inputSchema={})]
def helper(): "not a tool"
`, 'tests/test_server.py': '@mcp.tool()\ndef of_a_test(): ...\n', 'broken.py': '@mcp.tool(\n' });
  assert.deepEqual(tools, [
    { name: 'get_widget', description: 'Get a widget.\n\nAs it is now.', inputSchema: schema({ id: { type: 'string' },
      sort: { type: 'string', enum: ['up', 'down'] }, n: { type: 'integer', description: 'how many' } }, ['id']) },
    { name: 'drop_widget', description: 'Delete a widget', inputSchema: schema({ id: { type: 'string' } }, ['id']),
      annotations: { destructiveHint: true } },
    { name: 'list_widgets', description: 'List widgets', inputSchema: { type: 'object', properties: {} } }]);
  assert.deepEqual(settings, ['WIDGET_KEY']);
});

test('Go: NewTool with options, and tool structs', () => {
  const { tools } = read({ 'pkg/tools.go': `package x // mcp
    var a = mcp.NewTool("get_widget", mcp.WithDescription(t("WIDGET_TEXT", "Get a widget")), mcp.WithString("id", mcp.Required(),
      mcp.Description(\`its "number"\`)), mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: ToBoolPtr(true)}))
    var b = &mcp.Tool{Name: "list_widgets", Description: "List " + "widgets"}
    var c = mcp.NewTool("more", mcp.WithDescription("More"), common())`, 'pkg/tools_test.go': 'mcp.NewTool("of_a_test")' });
  assert.deepEqual(tools, [
    { name: 'get_widget', description: 'Get a widget', annotations: { readOnlyHint: true },
      inputSchema: schema({ id: { type: 'string', description: 'its "number"' } }, ['id']) },
    { name: 'more', description: 'More' },
    { name: 'list_widgets', description: 'List widgets' }]);
});

test('a source that ends in the middle of everything is read to its end', () => {
  for (const text of ['server.tool("a", `b ${c', 'server.tool("a", {', "x={name:'", 'server.tool("a", "b", {c: [(', '/'.repeat(1000)])
    read({ 'index.js': text, 'main.go': `mcp ${text} mcp.NewTool(` });
});

test('facts and report come from saved answers, and carry no text of theirs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'collect-'));
  try {
    mkdirSync(join(folder, 'answers/npm'), { recursive: true });
    const tool = { name: 'drop_widget', description: 'Delete a widget of Zanzibar for good.', inputSchema: schema({ id: { type: 'string' } }) };
    const row = { registry: 'npm', package: '@x/widgets', version: '1.0.0', licence: 'MIT', seen: '2026-01-02', server: true };
    writeFileSync(join(folder, 'answers/npm/a.json'), JSON.stringify({ ...row, how: 'run', steps: { run: '1 tools' }, tools: [tool],
      arguments: ['/tmp', '--url=http://127.0.0.1:9/'], placeholders: ['WIDGET_KEY'] }));
    writeFileSync(join(folder, 'answers/npm/b.json'), JSON.stringify({ ...row, package: 'w2', how: 'source', steps: { run: 'settings' },
      tools: [{ name: 'get_widget', description: 'Get a widget of Zanzibar' }] }));
    writeFileSync(join(folder, 'answers/npm/c.json'), JSON.stringify({ ...row, package: 'w3', steps: { run: 'late' } }));
    writeFileSync(join(folder, 'candidates.tsv'), 'npm\t@x/widgets\t900\nnpm\tw2\t0\n');
    writeFileSync(join(folder, 'page.md'), 'before\n<!-- scripts/collect-servers report -->\nold\n<!-- end -->\nafter\n');
    execFileSync('python3', ['-B', join(root, 'scripts/collect-servers'), '--data', folder, '--output', join(folder, 'facts'),
      '--page', join(folder, 'page.md'), '--no-documented', sallyport, 'facts', 'report']);
    const text = gunzipSync(readFileSync(join(folder, 'facts/npm.jsonl.gz'))).toString();
    assert.doesNotMatch(text, /Zanzibar/);
    const [listed, source] = text.trim().split('\n').map((line) => JSON.parse(line));
    assert.match(listed.tools[0].fingerprint, /^[0-9a-f]{16}$/);
    assert.match(listed.tools[0].shape, /^[0-9a-f]{16}$/);
    assert.deepEqual({ ...listed, tools: listed.tools.map((t) => [t.tool, t.category]) },
      { registry: 'npm', name: '@x/widgets', version: '1.0.0', had: 'listed', seen: '2026-01-02', licence: 'MIT', rank: 1,
        args: ['PATH', '--url=URL'], env: ['WIDGET_KEY'], tools: [['drop_widget', 'Destructive']] });
    assert.equal(source.had, 'source');
    assert.deepEqual(Object.keys(source.tools[0]).filter((key) => ['fingerprint', 'shape', 'tokens'].includes(key)), []);
    const page = readFileSync(join(folder, 'page.md'), 'utf8');
    assert.match(page, /^before\n[^]*\| tried \| 3 \| 3 \|[^]*\| listed its tools \| 1 \|[^]*\| npm \| 2 \| 1 \| 2 \| 1 \|[^]*after\n$/);
    assert.match(page, /read from source, because it wants settings that mean something/);
    assert.match(page, /did not answer in time/);
    assert.doesNotMatch(page, /old/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
