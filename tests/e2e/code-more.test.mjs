// What the code server needs of the machine around it: packages, heavier libraries, what operators see of it, jobs that outlive
// a connection.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCode } from '../lib/code.mjs';
import { INTERPRETERS, ModernHttpPeer, cli, lacksBun, policyFile, startServe, tempDir, until, use } from '../lib/index.mjs';

const python = () => { // the first real one, as the sandbox finds it; version managers' scripts are not it
  try { execFileSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' }); return true; } catch { return false; }
};

test('packages are installed from the operator\'s list only, and are read-only inside', async (t) => {
  const refuses = async (options, name, why) => {
    const { peer } = await startCode(t, { profile: 'python-interpreter', ...options });
    assert.match((await peer.call('install_package', { package_name: name })).content[0].text, why);
    return peer;
  };
  await refuses({}, 'tiny-gate', /turned off/);
  const links = tempDir();
  execFileSync('python3', ['-c', `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/tiny_gate-1.0-py3-none-any.whl", "w") as z:
    z.writestr("tiny_gate.py", "value = 42")
    z.writestr("tiny_gate-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny-gate\\nVersion: 1.0\\n")
    z.writestr("tiny_gate-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr("tiny_gate-1.0.dist-info/RECORD", "")
`, links]);
  const options = { args: ['--packages', 'tiny-gate==1.0, absent-one'], env: { PIP_NO_INDEX: '1', PIP_FIND_LINKS: links } };
  const peer = await refuses(options, 'requests', /Not on the list/);
  for (const package_name of ['tiny-gate; id', 'tiny-gate==2.0']) assert.match((await peer.call('install_package', { package_name })).content[0].text, /Not on the list/);
  if (!python()) return t.skip('SKIPPED LOUDLY: there is no pip for python3 here');
  assert.match((await peer.call('install_package', { package_name: 'absent-one' }, { timeout: 120_000 })).content[0].text, /Error installing(?![^]*Not on the list)/);
  assert.match((await peer.call('install_package', { package_name: 'Tiny_Gate==1.0' }, { timeout: 120_000 })).content[0].text, /Successfully installed/);
  const text = (await peer.call('run_python_code', { code: 'import tiny_gate\nprint(tiny_gate.value)\ntry: open(tiny_gate.__file__, "a")\nexcept OSError as e: print("read-only")' })).content[0].text;
  assert.match(text, /42\nread-only/);
});

test('numpy, pandas and matplotlib where the system has them, figures as images', async (t) => {
  const { peer, run } = await startCode(t);
  const probe = await run('import numpy, pandas, matplotlib\nresult = 1', { timeout_seconds: 60 });
  if (/No module named/.test(probe.error)) return t.skip(`SKIPPED LOUDLY: ${probe.error}`);
  assert.equal(probe.result, 1, JSON.stringify(probe));
  const { content, structuredContent } = await peer.call('execute_code', { timeout_seconds: 120, code: `
import numpy as np, pandas as pd, matplotlib.pyplot as plt
plt.plot([1, 2, 3])
df = pd.DataFrame({"a": [1, 2], "b": [1.5, np.nan]})
result = {"sum": np.arange(5).sum(), "rows": df, "column": df["a"], "array": np.eye(2)}` }, { timeout: 180_000 });
  assert.deepEqual(structuredContent.result, { sum: 10, rows: [{ a: 1, b: 1.5 }, { a: 2, b: null }], column: { 0: 1, 1: 2 }, array: [[1, 0], [0, 1]] }, JSON.stringify(structuredContent));
  const image = content.find(({ type }) => type === 'image');
  assert.equal(image?.mimeType, 'image/png');
  assert.equal(Buffer.from(image.data, 'base64').toString('latin1', 1, 4), 'PNG');
  const draws = await Promise.all([1, 2].map(() => run('import numpy\nresult = numpy.random.rand()')));
  assert.notEqual(draws[0].result, draws[1].result);
});

for (const [name, env] of INTERPRETERS) test(`TypeScript with imports, skills, types and a return at the top, with ${name}`, async (t) => {
  if (lacksBun(t, env)) return;
  const { run, json } = await startCode(t, { env });
  await json('save_skill', { name: 'twice', code: 'export function twice(n: number): number { return n * 2 }', description: 'doubles', language: 'typescript' });
  const answer = await run('import { twice } from "skills/twice";\nimport type { X } from "./types";\nimport os,\n  { EOL } from "node:os";\nconst n: number = twice(21);\nif (n > 1) return { n, eol: EOL.length };\nthrow new Error("not reached")', { language: 'typescript' });
  assert.deepEqual(answer.result, { n: 42, eol: 1 }, JSON.stringify(answer));
  const thrown = await run('import os from "os";\nconst a: string = "x";\nthrow new Error(a);\nreturn 1', { language: 'typescript' });
  assert.match(thrown.traceback, /:3:/);
});

test('operators see runs in /metrics and jobs in the admin API; a job outlives the connection that started it', async (t) => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const token = (await cli(['grants', 'create', 'ann', '--role', 'admin'], { env })).stdout.trim();
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile({ version: '1', default: 'allow' }), servers: {}, code: { enabled: true } }, args: [], env }));
  const headers = { Authorization: `Bearer ${token}` };
  const peer = () => new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers });
  assert.equal((await peer().call('execute_code', { code: 'result = 1' })).structuredContent.result, 1);
  await peer().call('execute_code', { code: '1/0' });
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
  const { taskId } = await peer().request('tools/call', { name: 'execute_code', arguments: { code: 'progress(0.5, "half")\nimport time\nwhile True: time.sleep(1)', timeout_seconds: 300 }, _meta });
  const look = async (path) => (await fetch(`${gate.origin}${path}`, { headers })).json();
  await until('the job to run', async () => (await look('/api/v1/jobs')).some((j) => j.state === 'running' && j.progress === 0.5));
  const job = (await look('/api/v1/jobs')).find((j) => j.state === 'running');
  assert.deepEqual([job.id, job.language, job.message], [taskId, 'python', 'half']);
  assert.equal((await fetch(`${gate.origin}/api/v1/jobs`)).status, 401);
  const metrics = await (await fetch(`${gate.origin}/metrics`, { headers })).text();
  assert.match(metrics, /sallyport_code_runs_total\{exit="ok"\} 1\n/);
  assert.match(metrics, /sallyport_code_runs_total\{exit="error"\} 1\n/);
  assert.match(metrics, /sallyport_code_runs_under_way 1\n/);
  assert.match(metrics, /sallyport_code_run_duration_seconds_count 2\n/);
  await peer().request('tasks/cancel', { taskId, _meta }, { headers: { 'Mcp-Name': taskId } });
  await until('the job to end', async () => !(await look('/api/v1/jobs')).some((j) => j.state === 'running'));
});
