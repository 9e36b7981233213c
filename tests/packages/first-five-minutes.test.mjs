// From nothing to the first denied call in the console: a fresh Debian, the package, an ordinary user, a browser. `make first-five-minutes` runs it, because it
// downloads a Debian and takes minutes; times are printed. It needs root, apt's mirror and Chromium.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { freePort, root, sallyport, startBrowser, tempDir } from '../lib/index.mjs';

const asked = process.env.FIRST_FIVE_MINUTES === '1';
const able = process.getuid() === 0 && spawnSync('mmdebstrap', ['--version']).status === 0;
const skip = !asked ? 'SKIPPED LOUDLY: run `make first-five-minutes`' : !able && 'SKIPPED LOUDLY: needs root and mmdebstrap';

test('from an empty Debian to the first denied call in the console', { skip, timeout: 1_200_000 }, async (t) => {
  const dir = tempDir('debian'), debian = path.join(dir, 'root'), port = await freePort();
  const began = Date.now();
  let last = began;
  const lap = (what) => { console.error(`first five minutes: ${((Date.now() - last) / 1000).toFixed(1)} s  ${what}`); last = Date.now(); };
  const run = (command, args, more = {}) => {
    const done = spawnSync(command, args, { encoding: 'utf8', ...more });
    assert.equal(done.status, 0, `${command} ${args.join(' ')}\n${done.error ?? ''}${done.stdout}${done.stderr}`);
    return done.stdout;
  };
  // Its own mounts and processes, which end with the first of them.
  let first;
  const hold = async () => {
    const holder = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-ec', 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; echo there; exec chroot "$0" sleep infinity', debian], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => holder.kill());
    await once(holder.stdout, 'data');
    first = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim();
  };
  const inside = (...line) => ['nsenter', ['--target', first, '--mount', '--pid', 'chroot', debian, ...line]];
  const anna = (...line) => inside('runuser', '-u', 'anna', '--', 'env', '-C', '/home/anna', 'HOME=/home/anna', ...line);

  const saved = process.env.FIRST_FIVE_MINUTES_ROOT; // a tarball of an earlier mmdebstrap
  mkdirSync(debian);
  if (saved) run('tar', ['-C', debian, '-xf', saved]);
  else run('mmdebstrap', ['--quiet', '--variant=minbase', '--include=ca-certificates,curl,python3', 'bookworm', debian]);
  lap('a fresh Debian (not counted)');
  run('packaging/deb', [path.dirname(sallyport), dir], { cwd: root });
  copyFileSync(path.join(dir, readdirSync(dir).find((name) => name.endsWith('.deb'))), path.join(debian, 'tmp/sallyport.deb'));
  if (existsSync('/etc/resolv.conf')) copyFileSync('/etc/resolv.conf', path.join(debian, 'etc/resolv.conf'));
  lap('the package (not counted)');
  await hold();
  const counted = Date.now();
  run(...inside('sh', '-c', 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends /tmp/sallyport.deb'));
  run(...inside('useradd', '--create-home', 'anna'));
  lap('apt install ./sallyport.deb');
  writeFileSync(path.join(debian, 'home/anna/policy.yaml'), 'version: "1"\ndefault: deny\ntools:\n  list_skills:\n    rules: []\n');
  writeFileSync(path.join(debian, 'home/anna/sallyport.yaml'), `version: "1"\nlisten: 127.0.0.1:${port}\npolicy: policy.yaml\nservers: {}\ncode: {enabled: true}\n`);
  console.error(spawnSync(...anna('sallyport', 'doctor', '--config', 'sallyport.yaml'), { encoding: 'utf8' }).stdout);
  const [, token] = /(sp_\S+)/.exec(run(...anna('sallyport', 'grants', 'create', 'agent1')));
  const gate = spawn(...anna('sallyport', 'serve', '--config', 'sallyport.yaml'), { stdio: ['ignore', 'ignore', 'pipe'] });
  await new Promise((done, fail) => { gate.stderr.on('data', (text) => { if (/listening on/.test(text)) done(); }); gate.on('exit', () => fail(new Error('the gate ended'))); });
  lap('settings, policy, doctor, a grant, serve');
  const call = async (tool) => (await fetch(`http://127.0.0.1:${port}/mcp/call`, { method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ server: 'code', tool, args: {} }) })).text();
  assert.doesNotMatch(await call('list_skills'), /DENIED/);
  assert.match(await call('list_jobs'), /POLICY DENIED/);
  lap('one call allowed, one denied');
  const [link] = /http:\S+/.exec(run(...anna('sallyport', 'ui')));
  const browser = await startBrowser(t);
  const page = await browser.newPage();
  await page.goto(link);
  await page.waitForSelector('nav .who');
  await page.goto(`http://127.0.0.1:${port}/ui/activity`);
  await page.waitForSelector('text=list_jobs');
  lap('the denied call in the console');
  const seconds = (Date.now() - counted) / 1000;
  console.error(`first five minutes: ${seconds.toFixed(1)} s in all, from the package to the console (with the Debian and the package: ${((Date.now() - began) / 1000).toFixed(1)} s)`);
  assert.ok(seconds < 300, `${seconds} s`);
});
