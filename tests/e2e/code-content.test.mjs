// Bytes in and out of the workspace, what code shows, and its output while it runs.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCode } from '../lib/code.mjs';
import { HttpPeer, ModernHttpPeer, ModernStdioPeer, cli, policyFile, startServe, tempDir, use } from '../lib/index.mjs';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const find = (content, type) => content.filter((one) => one.type === type);

test('bytes are written and read as base64, pictures come as images', async (t) => {
  const { json, peer, run } = await startCode(t);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  assert.deepEqual(await json('write_workspace_file', { filename: 'in/all.bin', content: bytes.toString('base64'), encoding: 'base64' }), { success: true, message: 'Written 256 bytes to in/all.bin' });
  assert.equal((await run('result = sum(open("in/all.bin", "rb").read())')).result, 32640);
  const back = await json('read_workspace_file', { filename: 'in/all.bin', encoding: 'base64' });
  assert.deepEqual([back.encoding, back.size, back.mime_type, Buffer.from(back.content, 'base64').equals(bytes)], ['base64', 256, 'application/octet-stream', true]);
  assert.match((await json('read_workspace_file', { filename: 'in/all.bin' })).error, /Not a text file: in\/all\.bin; ask for it with encoding base64, or read it as a resource/);
  for (const content of ['a', 'YQ', 'YQ==\n', 'Y Q==', '_-8=']) assert.match((await json('write_workspace_file', { filename: 'x', content, encoding: 'base64' })).error, /not base64/);
  await json('write_workspace_file', { filename: 'dot.png', content: PNG.toString('base64'), encoding: 'base64' });
  const { content, structuredContent } = await peer.call('read_workspace_file', { filename: 'dot.png' });
  assert.deepEqual(structuredContent, { success: true, filename: 'dot.png', mime_type: 'image/png', size: PNG.length });
  assert.deepEqual(find(content, 'image'), [{ type: 'image', mimeType: 'image/png', data: PNG.toString('base64') }]);
  await json('write_workspace_file', { filename: 'note.txt', content: 'größe' });
  assert.equal(Buffer.from((await json('read_workspace_file', { filename: 'note.txt', encoding: 'base64' })).content, 'base64').toString(), 'größe');
});

test('display() and results with HTML or a picture of their own are shown', async (t) => {
  const { peer, run } = await startCode(t);
  const call = (code, more) => peer.call('execute_code', { code, ...more });
  const Table = 'class Table:\n    def _repr_html_(self): return "<table><tr><td>1</td></tr></table>"\n    def __repr__(self): return "Table(1)"\n';
  const shown = await call(`${Table}print("before")\ndisplay(Table(), "text", 5)\nprint("after")\nresult = 1`);
  assert.deepEqual(shown.structuredContent.output, ['before', 'Table(1)', 'text', '5', 'after']);
  assert.deepEqual(find(shown.content, 'resource').map(({ resource }) => [resource.mimeType, resource.text]), [['text/html', '<table><tr><td>1</td></tr></table>']]);
  const last = await call(`${Table}Table()`);
  assert.equal(last.structuredContent.result, 'Table(1)');
  assert.deepEqual(last.content.map(({ type, text }) => (type === 'text' ? text : type)).slice(1), ['Table(1)', 'resource']);
  const picture = await call(`import base64\nfrom IPython.display import display, HTML, Image, Markdown\ndisplay(Image(base64.b64decode("${PNG.toString('base64')}")))\ndisplay(HTML("<b>x</b>"), Markdown("# t"))`);
  assert.deepEqual(find(picture.content, 'image').map(({ data }) => data), [PNG.toString('base64')]);
  assert.deepEqual(picture.structuredContent.output, ['<HTML>', '# t'], picture.content[0].text);
  assert.equal(find((await call('class Big:\n    def _repr_html_(self): return "x" * 100_000\ndisplay(Big())')).content, 'resource').length, 0);
  assert.ok(find((await call(`${Table}for _ in range(40): display(Table())`)).content, 'resource').length <= 16);
  assert.equal((await run('class Odd:\n    def _repr_html_(self): return None\nOdd()')).success, true);
});

test('a DataFrame is shown as a table, a figure as a picture', async (t) => {
  const { peer, run } = await startCode(t);
  const probe = await run('import pandas, matplotlib\nresult = 1', { timeout_seconds: 60 });
  if (/No module named/.test(probe.error)) return t.skip(`SKIPPED LOUDLY: ${probe.error}`);
  const { content, structuredContent } = await peer.call('execute_code', { timeout_seconds: 120, code: 'import pandas as pd\npd.DataFrame({"a": range(100), "b": "x"})' }, { timeout: 180_000 });
  assert.equal(structuredContent.result.length, 100);
  assert.match(content[1].text, /^ +a +b\n0 +0 +x\n[^]*\[100 rows x 2 columns\]|^ +a +b\n0 +0 +x/);
  assert.match(find(content, 'resource')[0].resource.text, /<table/);
  const figure = await peer.call('execute_code', { timeout_seconds: 120, code: 'import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\ndisplay(fig)\nresult = 1' }, { timeout: 180_000 });
  assert.deepEqual(find(figure.content, 'image').map(({ mimeType }) => mimeType), ['image/png']);
});

test('output is sent line by line as progress to a client with a progress token, and to no other', async (t) => {
  const { peer, run } = await startCode(t);
  const code = 'import os, time\nprint("first")\nprint("half", end="", flush=True)\nwhile "go" not in tools.code.list_workspace_files()["files"]: time.sleep(0.01)\nprint(" and half")\nprint("x" * 5000)\nprint("last")';
  peer.send({ jsonrpc: '2.0', id: 's', method: 'tools/call', params: { name: 'execute_code', arguments: { code }, _meta: { progressToken: 'tok' } } });
  const told = async () => (await peer.next((m) => m?.method === 'notifications/progress')).params;
  const first = await told();
  assert.deepEqual([first.progressToken, first.message], ['tok', 'first']);
  await run('write_file("go", "1")');
  const second = await told(), third = await told();
  assert.deepEqual([second.message, third.message], ['half and half', 'last']);
  assert.ok(first.progress < second.progress && second.progress < third.progress);
  const answer = await peer.next((m) => m?.id === 's');
  assert.deepEqual(answer.result.structuredContent.output, ['first', 'half and half', 'x'.repeat(5000), 'last']);
  const before = peer.received.length;
  await run('print("quiet")');
  assert.ok(peer.received.slice(before).every(({ json }) => json.method !== 'notifications/progress'));
});

// Lines of a run as log messages: those of the run that is under way, up to its answer.
const PRINTS = 'import sys\nprint("one\\ntwo")\nprint("beware", file=sys.stderr)\nprint("three")';
async function logged(peer, tool, meta) {
  const from = peer.received.length;
  const { structuredContent } = await peer.call(tool, { code: PRINTS }, { meta });
  assert.deepEqual(structuredContent.output, ['one', 'two', 'three'], JSON.stringify(structuredContent));
  const lines = peer.received.slice(from).map(({ json }) => json).filter(({ method }) => method === 'notifications/message').map(({ params }) => params);
  const of = (name) => lines.filter(({ logger }) => logger === name).map(({ level, data }) => { assert.equal(level, name === 'stdout' ? 'info' : 'warning'); return data; }).join('\n');
  return [of('stdout'), of('stderr')];
}
const ALL = ['one\ntwo\nthree', 'beware'], LOG = 'io.modelcontextprotocol/logLevel';

test('output is sent as log messages to clients that set a level, on stdio', async (t) => {
  const { peer } = await startCode(t);
  assert.deepEqual(peer.server.capabilities.logging, {});
  assert.deepEqual(await logged(peer, 'execute_code'), ['', ''], 'nobody asked');
  await peer.request('logging/setLevel', { level: 'debug' });
  assert.deepEqual(await logged(peer, 'execute_code'), ALL);
  await peer.request('logging/setLevel', { level: 'warning' });
  assert.deepEqual(await logged(peer, 'execute_code'), ['', 'beware']);
  await peer.request('logging/setLevel', { level: 'error' });
  assert.deepEqual(await logged(peer, 'execute_code', { progressToken: 'p' }), ['', '']);
  const { peer: modern } = await startCode(t, { Peer: ModernStdioPeer });
  assert.deepEqual(await logged(modern, 'execute_code'), ['', '']);
  assert.deepEqual(await logged(modern, 'execute_code', { [LOG]: 'info' }), ALL);
  assert.deepEqual(await logged(modern, 'execute_code', { [LOG]: 'notice' }), ['', 'beware']);
});

test('output is sent as log messages behind a gate with other servers, to the client that asked alone', async (t) => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const token = (await cli(['grants', 'create', 'ann'], { env })).stdout.trim();
  const config = { version: '1', policy: policyFile({ version: '1', default: 'allow' }), servers: {}, code: { enabled: true } };
  const gate = use(t, await startServe({ config, args: [], env })), headers = { Authorization: `Bearer ${token}` };
  for (const [path, tool] of [['/mcp', 'code__execute_code'], ['/mcp/code', 'execute_code']]) {
    const [one, other] = [await new HttpPeer(gate.origin + path, { headers }).initialize({ capabilities: {} }), await new HttpPeer(gate.origin + path, { headers }).initialize({ capabilities: {} })];
    await one.request('logging/setLevel', { level: 'info' });
    assert.deepEqual(await Promise.all([logged(one, tool), logged(other, tool)]), [ALL, ['', '']], path);
    const modern = new ModernHttpPeer(gate.origin + path, { headers });
    assert.deepEqual([await logged(modern, tool, { [LOG]: 'info' }), await logged(modern, tool)], [ALL, ['', '']], path);
  }
});
