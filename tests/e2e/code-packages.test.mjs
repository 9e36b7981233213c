// Packages for code: `sallyport code packages`, the argument `packages` and the tool install_package. Most are made on the spot and served by
// an index and a registry of the test's own; the ready list comes from the real ones.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCode } from '../lib/code.mjs';
import { cli, policyFile, sallyport, sanitized, start, startServe, tempDir, tempFile, use, within } from '../lib/index.mjs';
import { hasPip, makePackage, makeWheels, startRegistry } from '../lib/packages.mjs';

const LONG = 240_000;
const lacksPip = (t) => !hasPip() && (t.skip('SKIPPED LOUDLY: there is no pip for python3 here'), true);
const newHome = () => join(tempDir(), 'home');
const stored = (home) => ['py', 'js'].flatMap((kind) => existsSync(join(home, 'code/packages', kind)) ? readdirSync(join(home, 'code/packages', kind)) : []);
const leftovers = (home) => readdirSync(join(home, 'code/packages')).filter((name) => name.startsWith('tmp-'));

const WHEELS = [
  { name: 'tiny-gate', version: '1.0', files: { 'tiny_gate.py': 'import tiny_need\nvalue = 1, tiny_need.value', 'tiny_gate-1.0.data/scripts/run-me': 'no' }, needs: ['Tiny_Need>=1', 'absent-one; extra == "more"'] },
  { name: 'tiny-gate', version: '2.0', files: { 'tiny_gate.py': 'value = 2' } },
  { name: 'tiny-need', version: '1.5', files: { 'tiny_need/__init__.py': 'value = "need 1.5"' } },
];
const PACKAGES = [
  makePackage('tiny-js', '1.0.0', { 'index.js': 'exports.value = ["js 1", require("tiny-inner")]' }, { needs: { 'tiny-inner': '^2.0.0' } }),
  makePackage('tiny-js', '3.1.0', { 'index.js': 'exports.value = "js 3"' }),
  makePackage('tiny-inner', '2.4.0', { 'index.js': 'module.exports = "inner 2.4"' }),
  makePackage('@tiny/modules', '1.0.0', { 'index.mjs': 'export const value = "module"; export default 7' }, { type: 'module', exports: { '.': { import: './index.mjs' } } }),
];

async function world(t, { packages = PACKAGES, wheels = makeWheels(WHEELS), ...options } = {}) {
  const home = newHome(), registry = await startRegistry(t, { packages, wheels, ...options });
  const env = { SALLYPORT_HOME: home, ...registry.env };
  const pack = (...words) => cli(['code', 'packages', ...words], { env, timeout: LONG });
  const run = (code, packages_, ext = 'py') => cli(['code', 'run', '--json', ...packages_.flatMap((name) => ['--package', name]), tempFile(`main.${ext}`, code)], { env, timeout: LONG })
    .then(({ stdout, stderr }) => stdout ? JSON.parse(stdout) : stderr);
  return { home, env, pack, run, registry };
}

test('packages are added, listed, imported by version and removed', async (t) => {
  if (lacksPip(t)) return;
  const { home, pack, run } = await world(t);
  const added = await pack('add', 'tiny-gate==1.0', 'npm:tiny-js@1', '@tiny/modules', '--json');
  assert.equal(added.code, 0, added.stderr);
  assert.deepEqual(JSON.parse(added.stdout).map(({ kind, name, version, was_installed }) => [kind, name, version, was_installed]),
    [['pip', 'tiny-gate', '1.0', false], ['npm', 'tiny-js', '1.0.0', false], ['npm', '@tiny/modules', '1.0.0', false]]);
  assert.match(added.stderr, /unpacked tiny-need 1\.5/);
  assert.equal((await pack('add', 'tiny-gate==2.0', 'tiny-js@3')).code, 0);
  const list = JSON.parse((await pack('list', '--json')).stdout);
  assert.deepEqual(list.map(({ name, version, needs }) => [name, version, needs.map((n) => n.name)]), [['tiny-gate', '1.0', ['tiny-need']],
    ['tiny-js', '1.0.0', []], ['@tiny/modules', '1.0.0', []], ['tiny-gate', '2.0', []], ['tiny-js', '3.1.0', []]]);

  const see = 'import tiny_gate\nresult = tiny_gate.value';
  assert.deepEqual((await run(see, ['tiny-gate==1.0'])).result, [1, 'need 1.5']);
  assert.equal((await run(see, ['Tiny_Gate==2.0'])).result, 2);
  assert.equal((await run(see, ['tiny-gate'])).result, 2, 'the one that was added last');
  assert.match((await run(see, [])).error, /No module named 'tiny_gate'/);
  const js = 'import { value } from "tiny-js"; value';
  assert.deepEqual((await run(js, ['tiny-js@1'], 'mjs')).result, ['js 1', 'inner 2.4']);
  assert.equal((await run('require("tiny-js").value', ['tiny-js@3.1.0'], 'js')).result, 'js 3');
  assert.equal((await run('const a: string = (await import("tiny-js")).value; return a', ['tiny-js'], 'ts')).result, 'js 3');
  assert.deepEqual((await run('import seven, { value } from "@tiny/modules"; [seven, value]', ['@tiny/modules'], 'mjs')).result, [7, 'module']);
  const locked = await run(`import tiny_gate, os
tried = []
for act in (lambda: open(tiny_gate.__file__, "a"), lambda: os.chmod(tiny_gate.__file__, 0o666), lambda: open(os.path.dirname(tiny_gate.__file__) + "/new", "w"), lambda: os.unlink(tiny_gate.__file__)):
    try: act(); tried.append("done")
    except OSError as e: tried.append(type(e).__name__)
result = tried`, ['tiny-gate']);
  assert.ok(!locked.result.includes('done'), JSON.stringify(locked));

  assert.match(await run(see, ['tiny-gate==3.0']), /not installed, but version 2\.0 is; the operator can install it with `sallyport code packages add tiny-gate==3\.0`/);
  assert.match(await run(see, ['requests']), /`requests` is not allowed here: the operator can install it with `sallyport code packages add requests`, or name it in code\.packages\.allow/);
  assert.match(await run(see, ['npm:tiny-js']), /is for JavaScript; this code is Python/);
  assert.match(await run(see, ['tiny-gate>=1']), /name one version/);
  assert.match(await run(see, ['tiny-gate==1.0', 'tiny-gate==2.0']), /in two versions/);

  for (const kind of ['py', 'js']) for (const name of readdirSync(join(home, 'code/packages', kind)))
    assert.equal(statSync(join(home, 'code/packages', kind, name)).mode & 0o222, 0);
  assert.match((await pack('remove', 'tiny-gate==1.0', 'tiny-js')).stdout, /3 removed/);
  assert.equal(stored(home).length, 2, 'what nothing needs is gone');
  assert.equal((await pack('remove', 'tiny-gate==1.0')).code, 1);
  assert.match((await pack('lst')).stderr, /did you mean `list`/);
  assert.match((await pack('add', '--', '--index-url=http://x')).stderr, /is not the name of a package/);
  assert.match((await pack('add', 'git+https://x/y')).stderr, /is not the name of a package/);
});

// Text that packs well and text that does not, with repetitions near and far.
function mixed() {
  const parts = [];
  for (let i = 0, last = 'start'; i < 4000; i++) {
    last = createHash('sha256').update(last).digest(i % 3 ? 'hex' : 'base64');
    parts.push(last, 'x'.repeat(i % 700), parts[(i * 7919) % parts.length] ?? '', `line ${i}\n`);
  }
  return parts.join('');
}

test('what zlib has packed, in Python and in Node, is unpacked byte for byte', async (t) => {
  if (lacksPip(t)) return;
  const data = mixed(), sum = createHash('sha256').update(data).digest('hex');
  const { pack, run } = await world(t, {
    wheels: makeWheels([{ name: 'tiny-data', version: '1.0', files: { 'tiny_data/__init__.py': '', 'tiny_data/data.txt': data } }]),
    packages: [makePackage('tiny-data', '1.0.0', { 'index.js': 'exports.sum = require("crypto").createHash("sha256").update(require("fs").readFileSync(__dirname + "/data.txt")).digest("hex")', 'data.txt': data })],
  });
  assert.equal((await pack('add', 'tiny-data==1.0', 'npm:tiny-data@1')).code, 0);
  const python = 'import hashlib, os, tiny_data\nresult = hashlib.sha256(open(os.path.join(os.path.dirname(tiny_data.__file__), "data.txt"), "rb").read()).hexdigest()';
  assert.equal((await run(python, ['tiny-data==1.0'])).result, sum);
  assert.equal((await run('require("tiny-data").sum', ['npm:tiny-data'], 'js')).result, sum);
});

// tests/unit/packages/test_archive.c has more of them.
test('hostile archives are refused and leave nothing behind', async (t) => {
  if (lacksPip(t)) return;
  const ok = { 'good.py': 'value = 1' };
  const wheels = makeWheels([
    { name: 'bad-slip', version: '1.0', files: { '../../outside.py': 'x', ...ok } },
    { name: 'bad-link', version: '1.0', links: { 'here.py': '/etc/passwd' }, files: ok },
    { name: 'bad-giant', version: '1.0', files: { 'a.py': 'x'.repeat(5000) }, claims: 0xfffffff0 },
    { name: 'bad-script', version: '1.0', files: { 'bad_script-1.0.data/scripts/run': '#!/bin/sh' } },
  ]);
  const body = { 'index.js': 'exports.value = 1' };
  const packages = (ran) => [
    makePackage('evil-slip', '1.0.0', body, { more: [['package/../../outside.js', { size: 1 }, Buffer.from('x')]] }),
    makePackage('evil-link', '1.0.0', body, { more: [['package/a', { type: '2', link: '/etc/passwd' }]] }),
    makePackage('evil-giant', '1.0.0', body, { more: [['package/a', { size: 2 ** 32 }]] }),
    makePackage('evil-install', '1.0.0', body, { scripts: { preinstall: `touch ${ran}`, install: `touch ${ran}`, prepare: `touch ${ran}` } }),
    makePackage('evil-needs', '1.0.0', body, { needs: { other: 'file:../../etc' } }),
  ];
  const ran = join(tempDir(), 'ran');
  const { home, pack, run } = await world(t, { wheels, packages: packages(ran) });
  const why = { 'bad-slip': /leads elsewhere/, 'bad-link': /link or a device/, 'bad-giant': /more than 2048 MB/, 'bad-script': /no module to import/,
    'npm:evil-slip': /leads elsewhere/, 'npm:evil-link': /link or a device/, 'npm:evil-giant': /more than 2048 MB/, 'npm:evil-needs': /evil-needs/ };
  for (const [name, text] of Object.entries(why)) {
    const { code, stderr } = await pack('add', name);
    assert.equal(code, 4, `${name}: ${stderr}`);
    assert.match(stderr, text, name);
    assert.deepEqual([stored(home), leftovers(home)], [[], []], name);
  }
  assert.equal((await pack('add', 'npm:evil-install')).code, 0, 'its scripts are no reason to refuse it');
  assert.equal(existsSync(ran), false, 'and were not run');
  assert.equal((await run('require("evil-install").value', ['evil-install'], 'js')).result, 1);
});

test('a file that is not what the index says is refused', async (t) => {
  if (lacksPip(t)) return;
  const pip = await world(t, { lie: () => '0'.repeat(64) });
  const wheel = await pip.pack('add', 'tiny-gate==2.0');
  assert.equal(wheel.code, 4);
  assert.match(wheel.stderr, /hash|SHA-256/i);
  const npm = await world(t, { lie: () => `sha512-${Buffer.alloc(64).toString('base64')}` });
  const tarball = await npm.pack('add', 'tiny-js@3');
  assert.equal(tarball.code, 4);
  assert.match(tarball.stderr, /EINTEGRITY|integrity|SHA-512/i);
  assert.deepEqual([stored(pip.home), stored(npm.home)], [[], []]);
});

test('Ctrl-C leaves nothing behind', async (t) => {
  let reached;
  const asked = new Promise((done) => { reached = done; });
  const { home, env } = await world(t, { hold: (path) => path.startsWith('/tarballs/') && (reached(), new Promise(() => {})) });
  const child = start(sallyport, ['code', 'packages', 'add', 'tiny-js@3'], { env });
  await within(asked, 'npm asks for the tarball', LONG);
  child.signal('SIGINT');
  assert.deepEqual(await child.wait({ timeout: LONG }), { code: 130, signal: null });
  assert.match(child.stderr, /interrupted: nothing was installed/);
  assert.deepEqual([stored(home), leftovers(home)], [[], []]);
});

test('agents request packages in a run, install what the list allows, and get a hint which package to request', async (t) => {
  if (lacksPip(t)) return;
  const { home, env, pack } = await world(t);
  assert.equal((await pack('add', 'tiny-gate==1.0')).code, 0);
  const { peer, run } = await startCode(t, { home, env, args: ['--packages', 'tiny-gate,npm:tiny-js@3'] });
  const see = 'import tiny_gate\nresult = tiny_gate.value';
  assert.match((await run(see)).error, /No module named 'tiny_gate'.*Ask for its package: packages: \["tiny-gate==1\.0"\]/);
  assert.deepEqual((await run(see, { packages: ['tiny-gate'] })).result, [1, 'need 1.5']);
  assert.deepEqual((await run(see, { packages: null })).success, false, 'the next run has none again');
  const refused = await peer.call('execute_code', { code: see, packages: ['tiny-gate==2.0'] });
  assert.match(refused.content[0].text, /`tiny-gate==2\.0` is allowed but not installed: call install_package first/);
  assert.equal(refused.isError, true);
  assert.match((await peer.call('execute_code', { code: see, packages: ['numpy'] })).content[0].text, /not allowed here/);

  const install = async (package_name) => (await peer.call('install_package', { package_name }, { timeout: LONG })).structuredContent;
  const done = await peer.call('install_package', { package_name: 'tiny-gate==2.0' }, { timeout: LONG, meta: { progressToken: 'tok' } });
  assert.equal(done.structuredContent.success, true);
  const steps = peer.received.filter(({ json }) => json.method === 'notifications/progress').map(({ json }) => json.params);
  assert.ok(steps.some(({ message }) => /^unpacked tiny-gate 2\.0/.test(message)), JSON.stringify(steps));
  assert.deepEqual(steps.map(({ progress }) => progress), steps.map((_, i) => i + 1));
  assert.equal((await run(see)).result, 2, 'installed: found without a word');
  assert.deepEqual((await run(see, { packages: ['tiny-gate==1.0'] })).result, [1, 'need 1.5'], 'what the run says wins');
  assert.match((await run('require("tiny-js")', { language: 'javascript' })).error, /Its package is allowed: call install_package with package_name "npm:tiny-js@3"/);
  assert.equal((await install('npm:tiny-js')).success, true);
  assert.equal((await run('require("tiny-js").value', { language: 'javascript' })).result, 'js 3');
  assert.match((await install('requests')).message, /operator has not allowed this package.*installed are/);
  assert.match((await install('tiny-gate; id')).message, /Not on the list/);
  assert.equal((await install('tiny-js@1')).success, false, 'another version than the list has');

  await run('import tiny_gate', { session_id: 's' });
  assert.match((await run(see, { session_id: 's', packages: ['tiny-gate==1.0'] })).error, /loaded already, from elsewhere/);
});

test('a package that an agent installed is usable only as long as the list names it', async (t) => {
  if (lacksPip(t)) return;
  const { home, env } = await world(t);
  const first = await startCode(t, { home, env, args: ['--packages', 'tiny-gate'] });
  assert.equal((await first.peer.call('install_package', { package_name: 'tiny-gate' }, { timeout: LONG })).structuredContent.success, true);
  const second = await startCode(t, { home, env, args: ['--packages', 'npm:tiny-js'] });
  assert.match((await second.peer.call('execute_code', { code: 'import tiny_gate', packages: ['tiny-gate'] })).content[0].text, /not allowed here/);
});

test('settings name what agents may install, as a list or in a map, and the API shows it', async (t) => {
  const home = newHome(), env = { SALLYPORT_HOME: home };
  const settings = (packages) => ({ version: '1', policy: policyFile({ version: '1', default: 'allow' }), code: { enabled: true, packages } });
  for (const [packages, why] of [[{ allow: ['tiny-gate; id'] }, /code\.packages\.allow: `tiny-gate; id` is not the name/], [{ alow: [] }, /unknown key `alow`.*`allow`/]]) {
    const refused = await cli(['serve', '--listen', '127.0.0.1:0', '--config', tempFile('sallyport.yaml', JSON.stringify(settings(packages)))], { env });
    assert.equal(refused.code, 3, refused.stderr);
    assert.match(refused.stderr, why);
  }
  const { token } = JSON.parse((await cli(['grants', 'create', 'looker', '--role', 'viewer', '--json'], { env })).stdout);
  for (const packages of [['tiny-gate', 'npm:tiny-js@>=1 <9'], { allow: ['pandas>=2,<3', 'data-science'] }]) {
    const gate = use(t, await startServe({ config: settings(packages), args: [], env }));
    const shown = await (await fetch(`${gate.origin}/api/v1/packages`, { headers: { authorization: `Bearer ${token}` } })).json();
    assert.deepEqual(shown, { installed: [], allowed: packages.allow ?? packages });
    await gate.stop();
  }
});

const RUNS = { 'native': 'execute_code', 'code-execution-mcp': 'execute_code', 'python-interpreter': 'run_python_code', 'codemode': 'execute_code', 'datagen': 'executeCode' };
for (const [profile, tool] of Object.entries(RUNS)) test(`the profile ${profile} offers packages where there are some`, async (t) => {
  const tools = async (args) => Object.fromEntries((await (await startCode(t, { profile, args })).peer.request('tools/list')).tools.map((one) => [one.name, one]));
  const without = await tools([]);
  assert.equal(without[tool].inputSchema.properties.packages, undefined);
  assert.equal('install_package' in without, profile === 'python-interpreter');
  const offered = await tools(['--packages', 'tiny-gate']);
  assert.equal(offered[tool].inputSchema.properties.packages.items.type, 'string');
  assert.ok(offered.install_package.inputSchema.properties.package_name);
});

test('the ready list from the real index and registry', { skip: sanitized && 'once is enough' }, async (t) => {
  if (lacksPip(t)) return;
  const reaches = (url) => fetch(url, { signal: AbortSignal.timeout(15_000) }).then(({ ok }) => ok, () => false);
  if (!await reaches('https://pypi.org/simple/six/') || !await reaches('https://registry.npmjs.org/zod/latest')) {
    return t.skip('SKIPPED LOUDLY: pypi.org or registry.npmjs.org cannot be reached');
  }
  const home = newHome(), env = { SALLYPORT_HOME: home };
  const added = await cli(['code', 'packages', 'add', 'data-science', '--json'], { env, timeout: 900_000 });
  if (added.code !== 0 && /timed out|connection|connect|resol|network|temporar|\b5\d\d\b|429/i.test(added.stderr)) return t.skip(`SKIPPED LOUDLY: the index or the registry failed: ${added.stderr.slice(-500)}`);
  assert.equal(added.code, 0, added.stderr);
  assert.deepEqual(JSON.parse(added.stdout).map(({ name }) => name), ['numpy', 'pandas', 'matplotlib', 'duckdb', 'httpx', 'openpyxl', 'lodash', 'zod']);
  const { peer, run } = await startCode(t, { home });
  const { structuredContent: done, content } = await peer.call('execute_code', { timeout_seconds: 300, memory_mb: 2000, packages: ['numpy', 'pandas', 'matplotlib', 'duckdb', 'httpx', 'openpyxl'], code: `
import numpy as np, pandas as pd, matplotlib.pyplot as plt, duckdb, httpx
df = pd.DataFrame({"region": ["north", "south", "north"], "amount": [1, 2, 4]})
df.to_excel("sales.xlsx", index=False)
plt.bar(["a", "b"], [1, 2])
back = pd.read_excel("sales.xlsx")
result = {"sql": duckdb.sql("select region, sum(amount) s from back group by region order by region").fetchall(), "mean": float(np.mean(back.amount)),
  "where": sorted({m.__file__.split("/")[2] for m in (np, pd, duckdb, httpx)})}` }, { timeout: LONG });
  assert.deepEqual(done.result, { sql: [['north', 5], ['south', 2]], mean: 7 / 3, where: ['packages'] }, JSON.stringify(done));
  assert.ok(content.some(({ type }) => type === 'image'));
  const js = await run('import _ from "lodash"; import { z } from "zod";\n[_.chunk([1, 2, 3], 2), z.object({ a: z.number() }).safeParse({ a: "x" }).success]',
    { language: 'typescript', packages: ['lodash', 'zod'] });
  assert.deepEqual(js.result, [[[1, 2], [3]], false], JSON.stringify(js));
});
