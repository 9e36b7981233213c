// Packages made on the spot, good and hostile, and an index and a registry that serve them.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tempDir } from './temp.mjs';
import { use } from './use.mjs';

// The first python3 with pip, as `sallyport code packages` would use it.
export const hasPip = () => {
  try { execFileSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' }); return true; } catch { return false; }
};

// Wheels: [{name, version, files: {path: text}, needs: [requirement], links: {path: target}, bomb: true}]; the directory that has them.
export function makeWheels(wheels, dir = tempDir()) {
  const script = `
import json, struct, sys, zipfile
for w in json.load(sys.stdin):
    name = w["name"].replace("-", "_")
    path = "%s/%s-%s-py3-none-any.whl" % (sys.argv[1], name, w["version"])
    info = "%s-%s.dist-info" % (name, w["version"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for file, text in w.get("files", {}).items():
            z.writestr(file, text)
        for file, target in w.get("links", {}).items():
            entry = zipfile.ZipInfo(file)
            entry.create_system, entry.external_attr = 3, 0o120777 << 16
            z.writestr(entry, target)
        for i in range(w.get("zeros_mb", 0)):
            z.writestr("zeros%d.py" % i, bytes(1 << 20))
        needs = "".join("Requires-Dist: %s\\n" % n for n in w.get("needs", []))
        z.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n%s" % (w["name"], w["version"], needs))
        z.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        z.writestr(info + "/RECORD", "")
    if w.get("claims"):  # the size of the first file, where the archive tells it
        data = bytearray(open(path, "rb").read())
        at = data.index(b"PK\\1\\2")
        struct.pack_into("<I", data, at + 24, w["claims"])
        open(path, "wb").write(data)
`;
  execFileSync('python3', ['-c', script, dir], { input: JSON.stringify(wheels) });
  return dir;
}

function header(name, { size = 0, type = '0', link = '' }) {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(link, 157);
  block.write('ustar\x0000', 257);
  block.write(`${block.reduce((a, b) => a + b, 0).toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

// A tarball of npm. `more` are entries of any kind: [name, {type, link, size}, bytes].
export function makeTarball(files, more = []) {
  const parts = [];
  for (const [name, text] of Object.entries(files)) {
    const bytes = Buffer.from(text);
    parts.push(header(`package/${name}`, { size: bytes.length }), bytes, Buffer.alloc(-bytes.length & 511));
  }
  for (const [name, kind, bytes = Buffer.alloc(0)] of more) parts.push(header(name, kind), bytes, Buffer.alloc(-bytes.length & 511));
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(1024)]));
}

export const makePackage = (name, version, files, { needs = {}, more, ...extra } = {}) => ({ name, version, needs,
  tarball: makeTarball({ 'package.json': JSON.stringify({ name, version, dependencies: needs, ...extra }), ...files }, more) });

const integrity = (bytes) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

// A registry of npm at / and an index of pip at /simple/. `lie(bytes)` is what stands for the hash of a file; `hold(path)` may return a
// promise that an answer waits for.
export async function startRegistry(t, { packages = [], wheels, lie, hold } = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://x').pathname);
    await hold?.(path);
    const base = `http://127.0.0.1:${server.address().port}`;
    const file = /^\/(?:tarballs|wheels)\/(.+)$/.exec(path)?.[1];
    if (path.startsWith('/wheels/')) return response.end(readFileSync(join(wheels, file)));
    if (file) return response.end(packages.find((p) => `${p.name.replace('/', '-')}-${p.version}.tgz` === file).tarball);
    if (path.startsWith('/simple/')) {
      const own = readdirSync(wheels ?? tempDir()).filter((name) => name.toLowerCase().replaceAll('_', '-').startsWith(`${path.split('/')[2]}-`));
      response.setHeader('content-type', 'text/html');
      const sum = (bytes) => lie?.(bytes) ?? createHash('sha256').update(bytes).digest('hex');
      return response.end(own.map((name) => `<a href="${base}/wheels/${name}#sha256=${sum(readFileSync(join(wheels, name)))}">${name}</a>`).join('\n'));
    }
    const own = packages.filter((p) => p.name === path.slice(1));
    if (!own.length) { response.statusCode = 404; return response.end('{}'); }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: own[0].name, 'dist-tags': { latest: own.at(-1).version },
      versions: Object.fromEntries(own.map((p) => [p.version, { name: p.name, version: p.version, dependencies: p.needs,
        dist: { tarball: `${base}/tarballs/${p.name.replace('/', '-')}-${p.version}.tgz`, integrity: lie?.(p.tarball) ?? integrity(p.tarball) } }])) }));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  use(t, { stop: () => { server.closeAllConnections(); return new Promise((done) => server.close(done)); } });
  const base = `http://127.0.0.1:${server.address().port}`;
  return { base, env: { npm_config_registry: `${base}/`, npm_config_cache: tempDir(), npm_config_fetch_retries: '0',
    PIP_INDEX_URL: `${base}/simple/`, PIP_FIND_LINKS: tempDir(), PIP_NO_CACHE_DIR: '1', PIP_RETRIES: '0' } };
}
