// Code in real sandboxes made by the real helper, as root, as an ordinary user and inside `unshare -r`.
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, linkSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { bun, sanitized } from './paths.mjs';

const BIN = process.env.SALLYPORT_BIN;
const BUILD = dirname(BIN);
export const SECRET = 'sallyport-secret-7d1f';
const HELPERS = ['sallyport', 'sallyport-sandbox', 'sallyport-python.so', 'sallyport-python.py', 'sallyport-programs.so', 'sallyport-node.so', 'sallyport-node.js', 'sallyport-bun.js',
  'sallyport-amaro.js', 'sallyport-swc.js', 'sallyport-swc.wasm'];
const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const root = process.getuid() === 0;
export const WHO = root
  ? { root: [], user: NOBODY, 'root in unshare -r': ['unshare', '-r'], 'user in unshare -r': [...NOBODY, 'unshare', '-r'] }
  : { user: [], 'user in unshare -r': ['unshare', '-r'] };
// The helper is the same program in every build: with sanitizers one identity is enough.
export const whos = Object.keys(WHO).slice(0, sanitized ? 1 : undefined);

// The gate where every user can execute it, and a file that no sandbox may read.
export const home = mkdtempSync(join(tmpdir(), 'sallyport-attack-'));
chmodSync(home, 0o755);
for (const file of HELPERS) copyFileSync(join(BUILD, file), join(home, file));
const node = join(home, 'node');
copyFileSync(process.execPath, node);
chmodSync(node, 0o755);
let linked;
// Bun in the place of Node, or undefined where there is none.
export const bunEnvironment = () => {
  if (bun && !linked) {
    linked = join(home, 'bun');
    try { linkSync(bun, linked); } catch { copyFileSync(bun, linked); }
  }
  return bun && { SALLYPORT_NODE: '', SALLYPORT_BUN: linked };
};
writeFileSync(join(home, 'host-file'), SECRET, { mode: 0o644 });
after(() => rmSync(home, { recursive: true, force: true }));

export const environment = (more = {}) => ({ PATH: process.env.PATH, HOME: '/nonexistent', TOKEN: SECRET, SALLYPORT_NODE: node,
  ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS }), ...more });

let files = 0;
export const write = (code, ext) => {
  const path = join(home, `${++files}.${ext}`);
  writeFileSync(path, code, { mode: 0o644 });
  return path;
};

// Outcomes of several pieces of code, each in a sandbox of its own.
export function run(who, codes, { profile = 'pure', ext = 'py', env, args = [] } = {}) {
  const paths = codes.map((code) => write(code, ext));
  const line = [...WHO[who], join(home, 'sallyport'), 'code', 'run', '--json', '--profile', profile, ...args, ...paths];
  return new Promise((resolve, reject) => {
    const child = spawn(line[0], line.slice(1), { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '', err = '';
    child.stdout.on('data', (d) => (out += d));
    child.stderr.on('data', (d) => (err += d));
    child.on('error', reject);
    child.on('close', (status) => {
      const results = out.trim().split('\n').filter(Boolean).map((l) => JSON.parse(l));
      if (results.length !== codes.length) reject(new Error(`${results.length} outcomes of ${codes.length}, status ${status}: ${err}`));
      else resolve(results);
    });
  });
}
export const one = async (who, code, options) => (await run(who, [code], options))[0];

const tiers = {};
const tierOf = async (who) => (tiers[who] ??= (await one(who, 'result = 1', { args: ['--min-tier', '3'] }).catch((error) => ({ tier: error.message }))).tier);
// True when this identity cannot be tested here; says so.
export const lacking = async (t, who) => {
  const tier = await tierOf(who);
  if (tier === 1) return false;
  t.skip(`SKIPPED LOUDLY: as ${who} this machine gives tier ${tier}, not 1`);
  return true;
};

// Processes of ours, by what they run.
export const mine = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
  try { return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(home) || readlinkSync(`/proc/${pid}/exe`).startsWith(home); } catch { return false; }
});
