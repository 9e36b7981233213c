// Types are taken out by our own hand, on every Node from 20 on; Node's own stripper is the second opinion.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { lacksBun } from '../lib/paths.mjs';
import { bunEnvironment, run } from '../lib/sandbox.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
const packages = here('../npm/node_modules/');

test('what is left of TypeScript is what Node leaves', () => {
  // sources that packages publish: zod's are types above all
  const files = ['zod/src/v4/core', 'zod/src/v3/helpers', 'eventsource-parser/src', 'eventsource/src']
    .flatMap((dir) => readdirSync(join(packages, dir)).filter((f) => f.endsWith('.ts')).map((f) => join(packages, dir, f)));
  const found = JSON.parse(execFileSync(process.execPath, ['--expose-internals', '--no-warnings', here('../lib/types.cjs'), here('../lib/types.txt'), ...files],
    { encoding: 'utf8', maxBuffer: 1 << 28 }));
  assert.deepEqual(found.differ, []);
  assert.ok(found.snippets > 40 && found.files > 25 && found.same > 60, JSON.stringify(found));
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
const CASES = [PROGRAM, 'const a: number = 1;\nconst b: string = "x";\n  throw new Error(b as string);', 'const a = 1;\nconst b: = 3', 'namespace A { export const x = 1 }', '@d class A {}'];
const RESULT = { colors: [6, 'Green', 's', 6], name: '1:2', r: { a: 3 }, twice: [4, 'xx'], eol: '\n', join: 'a/b' };
const check = ([program, thrown, broken, namespace, decorator]) => {
  assert.deepEqual(program.result, RESULT, JSON.stringify(program));
  assert.match(thrown.traceback, /at code:3:9/, 'lines and columns are those of the source');
  assert.match(broken.traceback, /code:2:/);
  assert.match(namespace.error, /Namespaces are not supported.*line 1/);
  assert.match(decorator.error, /Decorators are not supported/);
};
const who = process.getuid() === 0 ? 'root' : 'user';

test('TypeScript runs, and what is refused says what it is', async () => check(await run(who, CASES, { ext: 'ts' })));

test('TypeScript runs on Bun, which takes the types out itself', async (t) => {
  const env = bunEnvironment();
  if (lacksBun(t, env)) return;
  const [program, thrown, broken, namespace, decorator] = await run(who, CASES, { ext: 'ts', env });
  assert.deepEqual(program.result, RESULT, JSON.stringify(program));
  assert.match(thrown.traceback, /code:3:/, 'lines are those of the source');
  assert.match(broken.traceback, /code:2:/);
  assert.equal(namespace.exit, 'ok', 'it knows more forms');
  assert.equal(decorator.exit, 'error');
});

test('TypeScript runs on a stock Node that cannot strip types itself', async (t) => {
  const version = (() => { try { return execFileSync('node', ['--version'], { encoding: 'utf8' }).trim(); } catch { return 'none'; } })();
  const [major, minor] = version.slice(1).split('.').map(Number);
  if (!(major === 20 || major === 21 || (major === 22 && minor < 13))) return t.skip(`SKIPPED LOUDLY: the node in the path is ${version}, none from 20 to 22.12`);
  check(await run(who, CASES, { ext: 'ts', env: { SALLYPORT_NODE: '' } }));
});
