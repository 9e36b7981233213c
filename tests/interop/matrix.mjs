// Every driver against every fixture server: directly, and through the gate on each of its routes, in both eras. What a caller sees
// at each step is compared with the direct connection; what differs has to be in DIFFERENCES, with its reason.
//
// A language is here when its SDK can be had: TypeScript from tests/npm, Python from PyPI into a virtual environment under the
// user's cache. What is not installed is told.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { node, packageFile, policyFile, run, sallyport, startServe, tempDir } from '../lib/index.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sallyport-interop');

export const ROUTES = ['wrap', '/mcp', '/mcp/fx', '/sse'];
export const ERAS = ['legacy', 'modern'];

// What is made of both sides before they are compared, and why: { route, step } where it is only for those.
const DIFFERENCES = [
  { why: 'names of several servers need a prefix', route: /^(\/mcp|\/sse)$/, text: (text) => text.replaceAll('fx__', '').replaceAll('sallyport:fx/', '') },
  { why: 'what passed the gate was made for one principal', member: { cacheScope: 'private', ttlMs: 0 } },
  { why: 'where servers are together the gate is the server', route: /^\/mcp$/, meta: 'io.modelcontextprotocol/serverInfo' },
  { why: 'whose name this is, only the gate can say', step: /^(call of no tool|prompt that is none)$/, text: () => '"an error"' },
];

async function python() {
  const program = join(cache, 'python/bin/python');
  if (!existsSync(program)) {
    mkdirSync(cache, { recursive: true });
    const made = await run('python3', ['-m', 'venv', join(cache, 'python')], { timeout: 120_000 });
    if (made.code !== 0) return { missing: `python3 -m venv: ${made.stderr.trim().split('\n').pop()}` };
  }
  let version = await run(program, ['-c', 'import importlib.metadata as m; print(m.version("mcp"))'], { timeout: 60_000 });
  if (version.code !== 0) {
    const got = await run(program, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', 'mcp'], { timeout: 300_000 });
    if (got.code !== 0) return { missing: `pip install mcp: ${got.stderr.trim().split('\n').pop()}` };
    version = await run(program, ['-c', 'import importlib.metadata as m; print(m.version("mcp"))'], { timeout: 60_000 });
  }
  if (Number.parseInt(version.stdout, 10) < 2) return { missing: `the Python SDK here is ${version.stdout.trim()}, before 2.0` };
  return { version: `mcp ${version.stdout.trim()}`, driver: [program, here('python/driver.py')], server: [program, here('python/server.py')] };
}

async function typescript() {
  const { version } = JSON.parse(readFileSync(packageFile('@modelcontextprotocol/client/package.json'), 'utf8'));
  return { version: `@modelcontextprotocol/client ${version}`, driver: [node, here('typescript/driver.mjs')], server: [node, here('typescript/server.mjs')] };
}

export const LANGUAGES = { python, typescript };

async function transcript(driver, target, era) {
  const [program, ...args] = driver;
  const { code, stdout, stderr } = await run(program, [...args, JSON.stringify(target), era], { timeout: 120_000 });
  const steps = stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  if (code !== 0 || steps.length < 11) throw new Error(`${program} ${args} ${JSON.stringify(target)} ${era}: status ${code}\n${stdout}\n${stderr.slice(-3000)}`);
  return steps;
}

function shown({ step, ...said }, route) {
  const { result, ...rest } = structuredClone(said);
  const rules = DIFFERENCES.filter((rule) => (!rule.route || rule.route.test(route)) && (!rule.step || rule.step.test(step)));
  for (const { member = {}, meta } of result ? rules : []) {
    for (const [key, value] of Object.entries(member)) if (key in result) result[key] = value;
    if (meta && result._meta) delete result._meta[meta];
  }
  if (result?._meta && !Object.keys(result._meta).length) delete result._meta;
  return rules.reduce((text, rule) => rule.text?.(text) ?? text, JSON.stringify({ ...rest, ...(result && { result }) }));
}

export function compare(direct, through, route) {
  const wrong = [];
  for (const [i, want] of direct.entries()) {
    const got = through[i];
    if (shown(want, route) !== shown(got, route)) wrong.push(`${want.step}\n  direct:  ${shown(want, route).slice(0, 600)}\n  through: ${shown(got, route).slice(0, 600)}`);
    if ('error' in want !== 'error' in got && !['call of no tool', 'prompt that is none'].includes(want.step)) wrong.push(`${want.step}: an error on one side only`);
  }
  return wrong;
}

// One fixture behind one gate; gives what each route is reached by.
async function routes(server) {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const [command, ...args] = server;
  const gate = await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { fx: { command, args } } } });
  return {
    stop: () => gate.stop(),
    wrap: { command: [sallyport, '-c', policyFile(), '--', ...server], env },
    '/mcp': { url: gate.url, prefix: 'fx__', uri: 'sallyport:fx/test://note' },
    '/mcp/fx': { url: `${gate.url}/fx` },
    '/sse': { sse: `${gate.origin}/sse`, prefix: 'fx__', uri: 'sallyport:fx/test://note' },
  };
}

// Runs the matrix of these languages, or those pairs of it that are wanted; told({ driver, server, route, era, wrong }) for every cell.
export async function runMatrix(languages, told, wanted = () => true) {
  for (const [serverName, { server }] of Object.entries(languages)) {
    const to = await routes(server);
    try {
      for (const [driverName, { driver }] of Object.entries(languages)) {
        if (!wanted(driverName, serverName)) continue;
        for (const era of ERAS) {
          const direct = await transcript(driver, { command: server }, era);
          for (const route of ROUTES) {
            if (route === '/sse' && era === 'modern') continue; // that transport belongs to the legacy era
            const cell = { driver: driverName, server: serverName, route, era };
            try {
              told({ ...cell, wrong: compare(direct, await transcript(driver, to[route], era), route) });
            } catch (error) {
              told({ ...cell, wrong: [error.message] });
            }
          }
        }
      }
    } finally {
      await to.stop();
    }
  }
}
