// Every driver against every fixture server: directly, and through the gate on each of its routes, in both eras. What a caller sees
// at each step is compared with the direct connection; what differs has to be in DIFFERENCES, with its reason.
//
// A language is here when its SDK can be had: TypeScript from tests/npm, Python from PyPI, Go, Rust and Java from their registries, each
// fetched and built on demand under the user's cache. What is not installed is reported.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fixture, freePort, node, packageFile, policyFile, run, sallyport, start, startServe, tempDir } from '../lib/index.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sallyport-interop');

export const ROUTES = ['wrap', '/mcp', '/mcp/fx', '/sse'];
export const ERAS = ['legacy', 'modern'];

// What is made of both sides before they are compared, and why: { route, step } where it is only for those.
// bridged: only where the server supports the legacy era alone, so that a modern client is compared with a legacy one of the same SDK.
const DIFFERENCES = [
  { why: 'names of several servers need a prefix', route: /^(\/mcp|\/sse)$/, text: (text) => text.replaceAll('fx__', '').replaceAll('sallyport:fx/', '') },
  { why: 'what passed the gate was made for one principal', member: { cacheScope: 'private', ttlMs: 0 } },
  { why: 'where servers are together the gate is the server', route: /^\/mcp$/, meta: 'io.modelcontextprotocol/serverInfo' },
  { why: 'a list of several servers has no hints of one (Go puts them into legacy results)', route: /^(\/mcp|\/sse)$/, era: 'legacy', without: ['ttlMs', 'cacheScope'] },
  { why: 'only the gate speaks the modern era here', bridged: true, without: ['resultType', 'ttlMs', 'cacheScope'], meta: 'io.modelcontextprotocol/serverInfo' },
  { why: 'the modern era has another code for a resource that does not exist', bridged: true, step: /^read of nothing$/, text: (text) => text.replace('-32002', '-32602') },
  { why: 'a progress token is the gate\'s own on each link (the fixtures of Python and Go answer with it)', step: /^progress$/, text: (text) => text.replace(/"[\d.e+]+"/g, '"token"') },
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
  return { version: `mcp ${version.stdout.trim()}`, driver: [program, here('python/driver.py')], server: [program, here('python/server.py')], everything: await pythonEverything(program, version.stdout.trim()) };
}

// The SDK's own server for the conformance suite is in its source archive, and only there.
async function pythonEverything(program, version) {
  const dir = join(cache, `python-everything-${version}`);
  if (!existsSync(dir)) {
    const index = 'https://pypi.org/simple/mcp/';
    const [, url] = (await (await fetch(index)).text()).match(new RegExp(`href="([^"#]*/mcp-${version.replaceAll('.', '\\.')}\\.tar\\.gz)`)) ?? [];
    if (!url) return null;
    const archive = await fetch(new URL(url, index));
    const file = `${dir}.tar.gz`;
    writeFileSync(file, Buffer.from(await archive.arrayBuffer()));
    mkdirSync(`${dir}.part`, { recursive: true });
    const unpacked = await run('tar', ['xzf', file, '-C', `${dir}.part`, '--strip-components=4', `mcp-${version}/examples/servers/everything-server`]);
    if (unpacked.code !== 0) return null;
    const got = await run(program, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', 'click', 'httpx2', 'uvicorn', 'starlette'], { timeout: 300_000 });
    if (got.code !== 0) return null;
    renameSync(`${dir}.part`, dir);
  }
  const env = { PYTHONPATH: dir };
  return {
    modes: { 'both eras': (port) => ({ command: [program, '-m', 'mcp_everything_server.server', '--port', `${port}`], env }) },
    ready: /Uvicorn running/,
    stdio: ['/usr/bin/env', `PYTHONPATH=${dir}`, program, '-c', 'from mcp_everything_server.server import mcp; mcp.run()'],
  };
}

const typescriptEverything = {
  modes: { 'both eras': (port) => ({ command: [node, fixture('conformance.mjs'), '--http', `${port}`] }) },
  ready: /"port"/,
  stream: 'stdout',
  stdio: [node, fixture('conformance.mjs'), '--stdio'],
};

async function typescript() {
  const { version } = JSON.parse(readFileSync(packageFile('@modelcontextprotocol/client/package.json'), 'utf8'));
  return { version: `@modelcontextprotocol/client ${version}`, driver: [node, here('typescript/driver.mjs')], server: [node, here('typescript/server.mjs')], everything: typescriptEverything };
}

// Runs a build tool of a language; gives what is missing where it fails.
async function made(what, program, args, cwd) {
  const got = await run(program, args, { cwd, env: { ...process.env, CARGO_TARGET_DIR: join(cache, 'rust') }, timeout: 1_500_000 })
    .catch((error) => ({ code: -1, stderr: error.message }));
  return got.code === 0 ? null : `${what}: ${got.stderr.trim().split('\n').pop()}`;
}

// The SDK's own server for the conformance suite; see conformance.mjs.
const GO_EVERYTHING = 'github.com/modelcontextprotocol/go-sdk/conformance/everything-server';

const goEverything = (program) => ({
  modes: Object.fromEntries(['stateless', 'sessions'].map((mode) => [mode, (port) => ({ command: [program, '-http', `127.0.0.1:${port}`, `-stateless=${mode === 'stateless'}`] })])),
  ready: /listening/,
  stdio: [program],
});

async function go() {
  const missing = await made('go build', 'go', ['build', '-p', '1', '-o', `${join(cache, 'go')}/`, './...', GO_EVERYTHING], here('go'));
  if (missing) return { missing };
  const version = /go-sdk (v\S+)/.exec(readFileSync(here('go/go.mod'), 'utf8'))[1];
  return { version: `github.com/modelcontextprotocol/go-sdk ${version}`, driver: [join(cache, 'go/driver')], server: [join(cache, 'go/server')], http: [join(cache, 'go/server'), 'http'], everything: goEverything(join(cache, 'go/everything-server')) };
}

// A fixture of our own, over an SDK that publishes none: on stdio, or at the port that it is given.
const listening = (program, mode) => ({ modes: { [mode]: (port) => ({ command: [...program, `${port}`] }) }, ready: /^listening/, stdio: program });

async function rust() {
  const missing = await made('cargo build', 'cargo', ['build', '-q', '--locked', '-j1'], here('rust'));
  if (missing) return { missing };
  const version = /rmcp = .*"=(\S+)"/.exec(readFileSync(here('rust/Cargo.toml'), 'utf8'))[1];
  return { version: `rmcp ${version}`, driver: [join(cache, 'rust/debug/driver')], server: [join(cache, 'rust/debug/server')], transports: ['stdio', 'http'], everything: listening([join(cache, 'rust/debug/conformance')], 'both eras') };
}

async function java() {
  const pom = readFileSync(here('java/pom.xml'), 'utf8');
  const [jars, classes] = [join(cache, `java/jars-${createHash('sha256').update(pom).digest('hex').slice(0, 12)}`), join(cache, 'java/classes')];
  const missing = (!existsSync(jars) && await made('mvn', 'mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`], here('java')))
    || await made('javac', 'javac', ['-encoding', 'UTF-8', '-nowarn', '-cp', `${jars}/*`, '-d', classes, 'Driver.java', 'Server.java', 'Conformance.java'], here('java'));
  if (missing) return { missing };
  const version = /<artifactId>mcp<\/artifactId>\s*<version>([^<]+)/.exec(pom)[1];
  const program = ['java', '-XX:TieredStopAtLevel=1', '-cp', `${jars}/*:${classes}`];
  return { version: `io.modelcontextprotocol.sdk:mcp ${version}`, driver: [...program, 'Driver'], server: [...program, 'Server'], eras: ['legacy'], everything: listening([...program, 'Conformance', here('conformance.json')], 'sessions') };
}

export const LANGUAGES = { python, typescript, go, rust, java };

// What a driver does: the basic steps with the fixtures here; with those of the conformance suite also what a server sends before its answer.
const STEPS = { basic: 11, exchange: 10 };

async function transcript(driver, target, era) {
  const [program, ...args] = driver;
  const { code, stdout, stderr } = await run(program, [...args, JSON.stringify(target), era], { timeout: 120_000 });
  const steps = stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  if (code !== 0 || steps.length < STEPS[target.steps]) throw new Error(`${program} ${args} ${JSON.stringify(target)} ${era}: status ${code}\n${stdout}\n${stderr.slice(-3000)}`);
  return steps;
}

function shown({ step, ...said }, { route, era, bridged }) {
  const { result, ...rest } = structuredClone(said);
  const rules = DIFFERENCES.filter((rule) => (!rule.route || rule.route.test(route)) && (!rule.step || rule.step.test(step)) && (!rule.bridged || bridged) && (!rule.era || rule.era === era));
  for (const { member = {}, without = [], meta } of result ? rules : []) {
    for (const [key, value] of Object.entries(member)) if (key in result) result[key] = value;
    for (const key of without) delete result[key];
    if (meta && result._meta) delete result._meta[meta];
  }
  if (result?._meta && !Object.keys(result._meta).length) delete result._meta;
  return rules.reduce((text, rule) => rule.text?.(text) ?? text, JSON.stringify({ ...rest, ...(result && { result }) }));
}

export function compare(direct, through, where) {
  const wrong = [];
  for (const [i, want] of direct.entries()) {
    const got = through[i];
    if (shown(want, where) !== shown(got, where)) wrong.push(`${want.step}\n  direct:  ${shown(want, where).slice(0, 600)}\n  through: ${shown(got, where).slice(0, 600)}`);
    if ('error' in want !== 'error' in got && !['call of no tool', 'prompt that is none'].includes(want.step)) wrong.push(`${want.step}: an error on one side only`);
  }
  return wrong;
}

// Every fixture of these languages: on stdio, and over HTTP where it can. A server with sessions has no modern era. One without cannot
// ask a legacy client anything, except through the gate; that is not compared.
function fixtures(languages) {
  return Object.entries(languages).flatMap(([language, { server, http, everything, eras = ERAS }]) => [
    { language, name: language, steps: 'basic', command: server, eras },
    ...(http ? [{ language, name: `${language} HTTP`, steps: 'basic', listen: () => ({ command: http }), eras: ['legacy'] }] : []),
    ...(everything ? [{ language, name: `${language} exchange`, steps: 'exchange', command: everything.stdio, eras }] : []),
    ...Object.entries(everything?.modes ?? {}).filter(([mode]) => mode !== 'stateless').map(([mode, listen]) => (
      { language, name: `${language} exchange HTTP`, steps: 'exchange', listen, ready: everything.ready, stream: everything.stream ?? 'stderr', eras: mode === 'sessions' ? ['legacy'] : eras })),
  ]);
}

// Starts a fixture over HTTP; its address is the first line that it prints, unless it was told the port.
async function startFixture({ listen, ready, stream }) {
  const port = await freePort();
  const { command: [program, ...args], env } = listen(port);
  const server = start(program, args, { env: { ...process.env, ...env } });
  const line = await server.waitLine(ready ?? /^http/, { stream: stream ?? 'stdout' });
  return { server, url: ready ? `http://127.0.0.1:${port}/mcp` : line };
}

// One fixture behind one gate; gives what each route, and the fixture itself, is reached by.
async function routes(fixture) {
  const { command, listen, steps } = fixture;
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const { server, url } = listen ? await startFixture(fixture) : {};
  const gate = await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { fx: url ? { url } : { command: command[0], args: command.slice(1) } } } });
  return {
    async stop() {
      await gate.stop();
      await server?.stop();
    },
    direct: { steps, ...(url ? { url } : { command }) },
    wrap: { steps, command: [sallyport, '-c', policyFile(), ...(url ? ['--upstream', url] : ['--', ...command])], env },
    '/mcp': { steps, url: gate.url, prefix: 'fx__', uris: 'sallyport:fx/', uri: 'sallyport:fx/test://note' },
    '/mcp/fx': { steps, url: `${gate.url}/fx` },
    '/sse': { steps, sse: `${gate.origin}/sse`, prefix: 'fx__', uris: 'sallyport:fx/', uri: 'sallyport:fx/test://note' },
  };
}

// Whether this client can go that way at all.
function reaches({ eras = ERAS, transports = ['stdio', 'http', 'sse'] }, route, era) {
  if (route === '/sse') return era === 'legacy' && transports.includes('sse'); // that transport belongs to the legacy era
  return eras.includes(era);
}

async function cells({ driver, ...client }, fixture, to, told) {
  let legacy;
  try {
    legacy = await transcript(driver, to.direct, 'legacy');
  } catch (error) {
    told({ route: 'direct', era: 'legacy', wrong: [], missing: error.message }); // there is nothing to compare with
    return;
  }
  for (const era of ERAS) {
    const bridged = !fixture.eras.includes(era);
    const direct = era === 'legacy' || bridged || !reaches(client, 'wrap', era) ? legacy : await transcript(driver, to.direct, era);
    for (const route of ROUTES.filter((route) => reaches(client, route, era))) {
      try {
        told({ route, era, wrong: compare(direct, await transcript(driver, to[route], era), { route, era, bridged }) });
      } catch (error) {
        told({ route, era, wrong: [error.message] });
      }
    }
  }
}

// Runs the matrix of these languages, or those pairs of it that are wanted; told({ driver, server, route, era, wrong }) for every cell,
// with `missing` instead where a client and a server do not work together without the gate.
export async function runMatrix(languages, told, wanted = () => true) {
  for (const fixture of fixtures(languages)) {
    if (!Object.keys(languages).some((driver) => wanted(driver, fixture))) continue;
    const to = await routes(fixture);
    try {
      for (const [driver, client] of Object.entries(languages)) {
        if (wanted(driver, fixture)) await cells(client, fixture, to, (cell) => told({ driver, server: fixture.name, ...cell }));
      }
    } finally {
      await to.stop();
    }
  }
}
