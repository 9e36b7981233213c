// TypeScript runs as tsc compiles it: the same programs come out, and they compute the same.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import vm from 'node:vm';
import { lacksBun } from '../lib/paths.mjs';
import { bunEnvironment, environment, home, run, write } from '../lib/sandbox.mjs';
import { program } from '../lib/typegen.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
const packages = here('../npm/node_modules/');
const who = process.getuid() === 0 ? 'root' : 'user';

test('programs without types are those that tsc makes', () => {
  // sources that packages publish: zod's are types above all
  const files = ['zod/src/v4/core', 'zod/src/v3/helpers', 'eventsource-parser/src', 'eventsource/src'].flatMap((dir) => readdirSync(join(packages, dir), { recursive: true })
    .filter((f) => f.endsWith('.ts')).map((f) => join(packages, dir, f)));
  const found = JSON.parse(execFileSync(process.execPath, ['--expose-internals', '--no-warnings', here('../lib/types.cjs'), dirname(process.env.SALLYPORT_BIN),
    here('../lib/types.txt'), ...files], { encoding: 'utf8', maxBuffer: 1 << 28 }));
  assert.deepEqual(found.differ, []);
  assert.ok(found.snippets > 40 && found.files > 25, JSON.stringify(found));
});

test('generated programs compute the same as after tsc', async () => {
  const ts = createRequire(import.meta.url)('../npm/node_modules/typescript/lib/typescript.js');
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, useDefineForClassFields: true };
  const seeds = Array.from({ length: 300 }, (_, i) => i + 1), differ = [];
  const codes = seeds.map(program);
  const outcomes = [];
  for (let at = 0; at < codes.length; at += 100) outcomes.push(...await run(who, codes.slice(at, at + 100), { ext: 'ts', args: ['--timeout', '60s'] }));
  for (const [i, { result, error }] of outcomes.entries()) {
    const js = ts.transpileModule(codes[i], { compilerOptions }).outputText;
    const expected = JSON.parse(JSON.stringify(vm.runInNewContext(js, {})));
    try { assert.deepEqual(result, expected); } catch { differ.push({ seed: seeds[i], code: codes[i], result, error, expected }); }
  }
  assert.deepEqual(differ, []);
});

const PROGRAM = `import type { X } from "./x";
import { type Y } from "./y";
import os, { type CpuInfo } from "node:os";
import path = require("node:path");
enum Color { Red, Green = 5, Blue, S = "s", Both = Red | Blue }
interface P<T> { a: T }
abstract class Base { abstract name(): string }
class Point extends Base implements P<number> {
  a = 1;
  constructor(private readonly x: number, public y = 2) { super(); }
  name(): string { return \`\${this.x as number}:\${this.y!}\` }
}
function twice(n: number): number;
function twice(s: string): string;
function twice(v: any): any { return typeof v === "number" ? v * 2 : v + v }
const f = async <T,>(v: T): Promise<P<T>> => ({ a: v });
const r = await f<number>(3);
if (r.a > 2) return { colors: [Color.Blue, Color[5], Color.S, Color.Both], name: new Point(1).name(), r, twice: [twice(2), twice("x")],
  eol: os.EOL satisfies string, join: path.join("a", "b") };
throw new Error("not reached");`;
const DECORATED = `function twice(value: any, context: any) { return function (this: any, n: number) { return [context.name, 2 * value.call(this, n)] } }
class A { accessor v: number = 3; @twice m(n: number): number { return n + this.v } }
namespace N { export const x = 1; export enum E { A = x + 1 } }
const f = (a: boolean, b: boolean) => [a, b], lo = 1, hi = 2;
return { m: new A().m(4), e: N.E.A, f: f(lo < hi, lo >= hi) };`;
const AFTER_ENUM = 'enum E { A }\nconst b: string = E[0];\n  throw new Error(b as string);';
const CASES = [PROGRAM, 'const a: number = 1;\nconst b: string = "x";\n  throw new Error(b as string);', AFTER_ENUM, 'const a = 1;\nconst b: = 3', DECORATED];
const RESULT = { colors: [6, 'Green', 's', 6], name: '1:2', r: { a: 3 }, twice: [4, 'xx'], eol: '\n', join: 'a/b' };
const check = ([program, thrown, afterEnum, broken, decorated]) => {
  assert.deepEqual(program.result, RESULT, JSON.stringify(program));
  assert.match(thrown.traceback, /at code:3:9/, 'lines and columns are those of the source');
  assert.match(afterEnum.traceback, /at code:3:9/, 'where the code was printed anew, too');
  assert.match(broken.traceback, /code:2:/);
  assert.deepEqual(decorated.result, { m: ['m', 14], e: 2, f: [true, false] }, JSON.stringify(decorated));
};

test('TypeScript runs: enums, namespaces, decorators, imports of types, `return` outside of functions', async () =>
  check(await run(who, CASES, { ext: 'ts' })));

test('TypeScript runs on Bun, which takes the types out itself', async (t) => {
  const env = bunEnvironment();
  if (lacksBun(t, env)) return;
  const [program, thrown, , broken] = await run(who, CASES.slice(0, 4), { ext: 'ts', env });
  assert.deepEqual(program.result, RESULT, JSON.stringify(program));
  assert.match(thrown.traceback, /code:3:/, 'lines are those of the source');
  assert.match(broken.traceback, /code:2:/);
});

test('TypeScript runs on a stock Node that cannot strip types itself', async (t) => {
  const version = (() => { try { return execFileSync('node', ['--version'], { encoding: 'utf8' }).trim(); } catch { return 'none'; } })();
  const [major, minor] = version.slice(1).split('.').map(Number);
  if (!(major === 20 || major === 21 || (major === 22 && minor < 13))) return t.skip(`SKIPPED LOUDLY: the node in the path is ${version}, none from 20 to 22.12`);
  check(await run(who, CASES, { ext: 'ts', env: { SALLYPORT_NODE: '' } }));
});

test('without its compilers TypeScript says what is missing; JavaScript runs', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sallyport-types-'));
  try {
    chmodSync(dir, 0o755);
    for (const file of readdirSync(home).filter((f) => f.startsWith('sallyport') && !/amaro|swc/.test(f))) copyFileSync(join(home, file), join(dir, file));
    const outcome = (path) => JSON.parse(spawnSync(join(dir, 'sallyport'), ['code', 'run', '--json', path], { env: environment(), encoding: 'utf8' }).stdout);
    assert.match(outcome(write('const a: number[] = [1]; a as Array<number>', 'ts')).error, /needs the npm packages amaro and @swc\/wasm: run scripts\/setup/);
    assert.equal(outcome(write('1 + 1', 'js')).result, 2);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
