// Servers from PyPI behind the gate, each with the policy that its page in the public catalogue recommends: mcp-slicer, with a stand-in for
// 3D Slicer's web server, and mcp-python-interpreter. PyPI is not among the registries that the tests may need, so without these
// packages the file says so and is skipped:
//
//   SALLYPORT_PYPI=1      installs them into virtual environments in the user's cache (once)
//   SALLYPORT_PYPI_DIR    where these are, `slicer` and `interpreter`
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LegacyHttp, cli, policyFile, run, startServe, tempDir } from '../lib/index.mjs';

const place = process.env.SALLYPORT_PYPI_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sallyport-tests', 'pypi');
const bin = (of, name) => join(place, of, 'bin', name);
const have = () => existsSync(bin('slicer', 'mcp-slicer')) && existsSync(bin('interpreter', 'mcp-python-interpreter'));

// One is made for the second major version of the Python SDK, the other for the first. mcp-slicer asks for a newer Python than Debian 12
// has, and does not need it.
const WANTED = { slicer: ['--ignore-requires-python', 'mcp-slicer'], interpreter: ['mcp-python-interpreter', 'mcp<2', 'fastmcp<3'] };

async function install() {
  for (const [name, packages] of Object.entries(WANTED)) {
    for (const [command, ...args] of [['python3', '-m', 'venv', join(place, name)], [bin(name, 'pip'), '-q', 'install', ...packages]]) {
      const { code, stderr } = await run(command, args, { timeout: 600_000 });
      if (code !== 0) return `${command} ${args.join(' ')}: ${stderr.trim().split('\n').at(-1)}`;
    }
  }
  return undefined;
}
const failure = have() || process.env.SALLYPORT_PYPI !== '1' ? undefined : await install();
const missing = have() ? false : `SKIPPED: mcp-slicer AND mcp-python-interpreter ARE NOT IN ${place}; SALLYPORT_PYPI=1 fetches them from PyPI${failure ? ` (${failure})` : ''}`;
if (missing) console.error(missing);

const SLICER = { version: '1', default: 'deny',
  tools: { execute_python_code: { limits: [{ counter: 'execute_python_code_rate', window: 'minute', max: 10, scope: 'grant' }] } } };
const INTERPRETER = { version: '1', default: 'deny', tools: {
  clear_session: { deny_if: [{ conditions: [], on_deny: 'Blocked by default. Requires approval.' }] },
  write_file: { limits: [{ counter: 'write_file_per_hour', window: 'hour', max: 30, scope: 'grant' }] },
  list_directory: { limits: [{ counter: 'list_directory_per_minute', window: 'minute', max: 60, scope: 'grant' }] },
} };

// What 3D Slicer's web server answers, as its documentation has it: /mrml, /exec, /screenshot, /slice, /threeD below /slicer.
async function startSlicer() {
  const asked = [];
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { pathname } = new URL(req.url, 'http://x');
    asked.push(`${req.method} ${pathname}`);
    const json = (value) => res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    if (pathname.startsWith('/slicer/mrml/')) json(['MRHead']);
    else if (pathname === '/slicer/exec' && req.method === 'POST') {
      const [, a, b] = /__execResult = (\d+) \+ (\d+)/.exec(body) ?? [];
      json(a ? { __execResult: Number(a) + Number(b) } : {});
    } else if (['/slicer/screenshot', '/slicer/slice', '/slicer/threeD'].includes(pathname)) res.writeHead(200, { 'Content-Type': 'image/png' }).end(png);
    else res.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { asked, url: `http://127.0.0.1:${server.address().port}/slicer`, close: () => server.close() };
}

describe('servers from PyPI', { concurrency: 1, skip: missing, timeout: 300_000 }, () => {
  let gate, slicer, client;
  const work = tempDir();

  before(async () => {
    slicer = await startSlicer();
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const token = (await cli(['grants', 'create', 'agent'], { env })).stdout.trim();
    const bridge = `import mcp_slicer.mcp_server as server; server.SLICER_WEB_SERVER_URL = ${JSON.stringify(slicer.url)}; server.mcp.run()`;
    gate = await startServe({ env, args: [], config: { version: '1', code: { enabled: false }, servers: {
      slicer: { command: bin('slicer', 'python'), args: ['-c', bridge], policy: policyFile(SLICER) },
      interpreter: { command: bin('interpreter', 'mcp-python-interpreter'), args: ['--dir', work, '--python-path', bin('interpreter', 'python')], policy: policyFile(INTERPRETER) },
    } } });
    client = await LegacyHttp.open(gate.url, { headers: { Authorization: `Bearer ${token}` } });
    await client.request('tools/list');
  });
  after(async () => { await gate?.stop(); slicer?.close(); });

  const call = async (name, args = {}) => {
    const { answer } = await client.exchange('tools/call', { name, arguments: args });
    return answer.error ? { refused: answer.error.message } : { refused: answer.result.isError && answer.result.content[0].text, text: answer.result.content?.[0]?.text };
  };

  test('mcp-slicer: ten in a minute, the eleventh is refused; nothing else is there', async () => {
    const left = 60_000 - (Date.now() % 60_000);
    if (left < 30_000) await new Promise((resolve) => { setTimeout(resolve, left); }); // all of it in one minute
    for (let i = 1; i <= 10; i++) assert.match((await call('slicer__execute_python_code', { code: `__execResult = ${i} + 1` })).text, new RegExp(`${i + 1}`));
    assert.match((await call('slicer__execute_python_code', { code: '__execResult = 1 + 1' })).refused, /POLICY DENIED/);
    assert.equal(slicer.asked.length, 10);
    for (const name of ['list_nodes', 'capture_screenshot']) assert.ok((await call(`slicer__${name}`)).refused, name);
    assert.equal(slicer.asked.length, 10, 'what is refused does not get there');
  });

  test('mcp-python-interpreter: clear_session is refused with the text of its policy, and so is every unlisted tool', async () => {
    assert.match((await call('interpreter__clear_session', { session_id: 'x' })).refused, /Blocked by default\. Requires approval\./);
    assert.equal((await call('interpreter__write_file', { file_path: 'a.py', content: 'print(1)' })).refused, false);
    const listed = await call('interpreter__list_directory', {});
    assert.equal(listed.refused, false);
    assert.match(listed.text, /a\.py/);
    const direct = ['run_python_code', 'run_python_file', 'install_package', 'read_file', 'list_python_environments', 'list_installed_packages'];
    for (const name of direct) assert.ok((await call(`interpreter__${name}`, { code: '1' })).refused, name);
  });
});
