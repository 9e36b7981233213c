// What `make packages` built, installed into fresh roots of several distributions and used there by an ordinary user (packaging/smoke): the static archive and the
// Debian package everywhere, the RPM, the wheel and the image once. `make package-roots` runs it: it downloads each distribution and takes minutes.
//
//   PACKAGE_ROOTS="bookworm trixie noble"   which ones; a name of Debian or Ubuntu. ROOTS_DIR has NAME.tar of earlier runs, and gets the new ones.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { root, tempDir } from '../lib/index.mjs';

const suites = (process.env.PACKAGE_ROOTS ?? '').split(' ').filter(Boolean);
const packages = path.resolve(root, process.env.PACKAGES_DIR ?? 'build-packages');
const built = existsSync(packages) ? readdirSync(packages) : [];
const able = process.getuid() === 0 && spawnSync('mmdebstrap', ['--version']).status === 0;
const skip = !suites.length ? 'SKIPPED LOUDLY: run `make package-roots`' : !able && 'SKIPPED LOUDLY: needs root and mmdebstrap';
const one = (pattern) => path.join(packages, built.find((name) => pattern.test(name)) ?? `no ${pattern}`);
// Debian 11 has older libraries than the package needs.
const DEB = ['bookworm', 'trixie', 'jammy', 'noble', 'resolute'];
const UBUNTU = ['jammy', 'noble', 'resolute'];

function run(command, args, more = {}) {
  const done = spawnSync(command, args, { encoding: 'utf8', timeout: 600_000, maxBuffer: 1 << 26, ...more });
  assert.equal(done.status, 0, `${command} ${args.join(' ')}\n${done.error ?? ''}${done.stdout}${done.stderr}`);
  return done.stdout;
}

function unpack(suite) {
  const kept = path.join(process.env.ROOTS_DIR ?? tempDir('roots'), `${suite}.tar`), dir = path.join(tempDir(suite), 'root');
  const from = UBUNTU.includes(suite) ? [`deb [trusted=yes] http://archive.ubuntu.com/ubuntu ${suite} main universe`] : ['http://deb.debian.org/debian'];
  if (!existsSync(kept)) run('mmdebstrap', ['--quiet', '--variant=minbase', '--include=apt,ca-certificates,python3', suite, kept, ...from]);
  mkdirSync(dir);
  run('tar', ['-C', dir, '--exclude=./dev/*', '-xf', kept]);
  copyFileSync('/etc/resolv.conf', path.join(dir, 'etc/resolv.conf'));
  copyFileSync(path.join(root, 'packaging/smoke'), path.join(dir, 'usr/local/bin/smoke'));
  chmodSync(path.join(dir, 'usr/local/bin/smoke'), 0o755);
  return dir;
}

// Its own mounts and processes, which end with the first of them. Not a chroot: there the kernel allows no user namespaces. `options` is for the root's mount.
async function enter(t, dir, options = '') {
  const script = `mount --bind "$0" "$0"; cd "$0"; mount -t proc proc proc; mount --rbind /dev dev; mount -t tmpfs -o mode=1777 tmp tmp; ${options} pivot_root . mnt; umount -l /mnt; cd /; echo there; exec sleep infinity`;
  const holder = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-ec', script, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  const [child] = run('ps', ['-o', 'pid=', '--ppid', `${holder.pid}`]).trim().split(/\s+/);
  return (...line) => run('nsenter', ['--target', child, '--mount', '--pid', '--root', '--wd', ...line], { env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' } });
}

// The static program has the client of PostgreSQL inside.
const staticSmoke = (what, said) => {
  assert.match(said, /^ok postgres$/m);
  report(what, said);
};
const report = (what, said) => console.error(`${what}: ${said.trim().split('\n').filter((line) => /^(ok|sandbox|python)/.test(line)).join(' | ')}`);

for (const suite of suites) {
  test(`${suite}: the static archive runs where it is unpacked`, { skip, timeout: 900_000 }, async (t) => {
    const dir = unpack(suite);
    run('tar', ['-C', path.join(dir, 'opt'), '-xzf', one(/linux-x86_64\.tar\.gz$/)]);
    const inside = await enter(t, dir);
    inside('useradd', '--create-home', 'anna');
    staticSmoke(`${suite}, static`, inside('runuser', '-u', 'anna', '--', 'sh', '-c', 'smoke /opt/sallyport-*/bin/sallyport'));
    staticSmoke(`${suite}, static, root`, inside('sh', '-c', 'smoke /opt/sallyport-*/bin/sallyport'));
  });

  test(`${suite}: apt installs the Debian package, and removing it warns about clients`, { skip: skip || (!DEB.includes(suite) && `not for ${suite}`), timeout: 900_000 }, async (t) => {
    const dir = unpack(suite);
    copyFileSync(one(/_amd64\.deb$/), path.join(dir, 'opt/sallyport.deb'));
    const inside = await enter(t, dir);
    inside('sh', '-c', 'apt-get -q update && apt-get -q install -y --no-install-recommends /opt/sallyport.deb');
    inside('useradd', '--create-home', 'anna');
    report(`${suite}, deb`, inside('runuser', '-u', 'anna', '--', 'smoke'));
    assert.match(inside('stat', '-c', '%U %a', '/var/lib/sallyport', '/etc/sallyport/sallyport.yaml'), /^sallyport 700\nroot 640\n$/);
    const anna = (line) => inside('runuser', '-u', 'anna', '--', 'env', '-C', '/home/anna', 'HOME=/home/anna', 'sh', '-c', line);
    anna(`mkdir .cursor; echo '{"mcpServers": {"a": {"command": "true"}}}' > .cursor/mcp.json; sallyport init --no-start --yes`);
    assert.match(inside('sh', '-c', 'dpkg -r sallyport 2>&1'), /clients of \/home\/anna still start their servers/);
    inside('dpkg', '-i', '/opt/sallyport.deb');
    anna('sallyport init --undo');
    assert.doesNotMatch(inside('sh', '-c', 'dpkg -r sallyport 2>&1'), /still start/, 'after --undo nothing is left to warn about');
    inside('dpkg', '-P', 'sallyport');
    assert.equal(inside('sh', '-c', 'ls -d /var/lib/sallyport /etc/sallyport 2>/dev/null || echo gone').trim(), 'gone');
  });
}

test('the RPM installs, works and goes again', { skip, timeout: 900_000 }, async (t) => {
  const dir = unpack('bookworm');
  copyFileSync(one(/x86_64\.rpm$/), path.join(dir, 'opt/sallyport.rpm'));
  run('rpm', ['--root', dir, '--initdb']);
  const done = spawnSync('rpm', ['--root', dir, '-i', '--nodeps', '--ignoreos', '/opt/sallyport.rpm'], { encoding: 'utf8', cwd: dir });
  assert.ok(done.status === 0 || run('rpm', ['--root', dir, '-i', '--nodeps', path.join(dir, 'opt/sallyport.rpm')]) !== null, done.stderr);
  const inside = await enter(t, dir);
  inside('useradd', '--create-home', 'anna');
  staticSmoke('rpm', inside('runuser', '-u', 'anna', '--', 'smoke'));
  assert.match(inside('stat', '-c', '%U:%G %a', '/etc/sallyport', '/etc/sallyport/sallyport.yaml'), /^root:sallyport 750\nroot:sallyport 640\n$/);
  assert.ok(existsSync(path.join(dir, 'usr/lib/systemd/system/sallyport.socket')));
  run('rpm', ['--root', dir, '-e', 'sallyport']);
  assert.ok(!existsSync(path.join(dir, 'usr/bin/sallyport')));
});

test('the image\'s root works as its user, with a root that is read-only', { skip, timeout: 900_000 }, async (t) => {
  const dir = tempDir('image'), layout = path.join(dir, 'layout');
  mkdirSync(layout);
  run('tar', ['-C', layout, '-xf', one(/amd64\.oci\.tar$/)]);
  const [tag] = run('umoci', ['list', '--layout', layout]).trim().split('\n');
  run('umoci', ['unpack', '--image', `${layout}:${tag}`, path.join(dir, 'bundle')]);
  const rootfs = path.join(dir, 'bundle/rootfs');
  copyFileSync(path.join(root, 'packaging/smoke'), path.join(rootfs, 'usr/local/bin/smoke'));
  const inside = await enter(t, rootfs, 'mount -o remount,bind,ro .;');
  assert.match(inside('sh', '-c', 'touch /x 2>&1 || true'), /Read-only/);
  staticSmoke('image', inside('setpriv', '--reuid', '8640', '--regid', '8640', '--clear-groups', 'sh', '/usr/local/bin/smoke', '/usr/bin/sallyport'));
});
