//// interfaces and type aliases
interface User { id: number; name: string; email?: string; readonly tags: string[] }
type Named = Pick<User, "name"> & { nick: string | null };
const u: User = { id: 1, name: "Ann", tags: ["a"] };
const n: Named = { name: u.name, nick: null };
console.log(u, n, u.email ?? "none");
//// generics with constraints
function groupBy<T, K extends string | number>(items: readonly T[], key: (item: T) => K): Record<K, T[]> {
  return items.reduce((acc, item) => { (acc[key(item)] ||= []).push(item); return acc; }, {} as Record<K, T[]>);
}
console.log(groupBy([1, 2, 3, 4], (x) => (x % 2 ? "odd" : "even")));
function pluck<T, K extends keyof T>(rows: T[], key: K): T[K][] { return rows.map((r) => r[key]); }
console.log(pluck([{ a: 1, b: "x" }, { a: 2, b: "y" }], "b"));
//// enums
enum Color { Red, Green = 5, Blue }
enum Level { Low = "LOW", High = "HIGH" }
const enum Flag { A = 1 << 0, B = 1 << 1 }
console.log(Color.Blue, Color[5], Level.High, Object.values(Level), Flag.A | Flag.B);
//// discriminated unions
type Shape = { kind: "circle"; r: number } | { kind: "rect"; w: number; h: number };
const area = (s: Shape): number => { switch (s.kind) { case "circle": return Math.PI * s.r ** 2; case "rect": return s.w * s.h; default: { const never: never = s; return never; } } };
console.log(([{ kind: "circle", r: 1 }, { kind: "rect", w: 2, h: 3 }] as Shape[]).map(area).map((x) => x.toFixed(2)));
//// classes with parameter properties
class Person {
  static count = 0;
  constructor(public readonly name: string, private age: number = 0, protected tags?: string[]) { Person.count++; }
  get older(): number { return this.age + 1; }
  toString(): string { return `${this.name} (${this.age})`; }
}
class Employee extends Person {
  override toString(): string { return super.toString() + " works"; }
}
console.log(String(new Employee("Bob", 41)), new Person("A").older, Person.count);
//// abstract classes and implements
interface Logger { log(m: string): void }
abstract class Base implements Logger { protected abstract prefix: string; abstract format(m: string): string; log(m: string) { console.log(this.prefix + this.format(m)); } }
class Upper extends Base { protected prefix = "> "; format(m: string) { return m.toUpperCase(); } }
new Upper().log("hello");
//// type guards and assertions
const isString = (x: unknown): x is string => typeof x === "string";
function assertNumber(x: unknown): asserts x is number { if (typeof x !== "number") throw new TypeError(`not a number: ${String(x)}`); }
const values: unknown[] = ["a", 1, null];
console.log(values.filter(isString));
try { values.forEach((v) => assertNumber(v)); } catch (e) { console.log((e as Error).message); }
//// satisfies, as const, non-null
const routes = { home: "/", user: "/u/:id" } as const satisfies Record<string, string>;
type Route = keyof typeof routes;
const r: Route = "user";
const found = ["x", "y"].find((v) => v === "y")!;
console.log(routes[r], found.length, (<string>"cast").length);
//// mapped and conditional types do not run
type Nullable<T> = { [K in keyof T]: T[K] | null };
type Unwrap<T> = T extends Promise<infer U> ? U : T;
type Events = `on${Capitalize<"click" | "key">}`;
const e: Record<Events, number> = { onClick: 1, onKey: 2 };
const v: Unwrap<Promise<string>> = "unwrapped";
const p: Nullable<{ a: number }> = { a: null };
console.log(e, v, p);
//// function overloads
function parse(x: string): number;
function parse(x: number): string;
function parse(x: string | number): string | number { return typeof x === "string" ? Number(x) : String(x); }
console.log(parse("5") + 1, parse(5) + "1");
//// optional, rest and this parameters
function greet(this: { name: string }, greeting = "Hi", ...marks: string[]): string { return `${greeting} ${this.name}${marks.join("")}`; }
console.log(greet.call({ name: "Ann" }), greet.call({ name: "B" }, "Yo", "!", "?"));
const opt = (a: number, b?: number) => a + (b ?? 10);
console.log(opt(1), opt(1, 2));
//// async with typed results
type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E };
const attempt = async <T,>(f: () => Promise<T>): Promise<Result<T>> => { try { return { ok: true, value: await f() }; } catch (error) { return { ok: false, error: error as Error }; } };
async function main(): Promise<void> {
  const good = await attempt(async () => 42);
  const bad = await attempt<number>(async () => { throw new RangeError("no"); });
  console.log(good, bad.ok ? "" : bad.error.name);
}
main();
//// namespaces
namespace Geometry { export const PI = 3; export namespace Two { export const area = (r: number) => PI * r * r; } export interface P { x: number } }
const q: Geometry.P = { x: 1 };
console.log(Geometry.Two.area(2), q.x);
//// decorators of classes and methods
function logged<T extends (...a: any[]) => any>(f: T, ctx: ClassMethodDecoratorContext) { return function (this: any, ...a: any[]) { console.log("call", String(ctx.name), a); return f.apply(this, a); } as T; }
const registry: string[] = [];
const register = (c: new () => object, ctx: ClassDecoratorContext) => { registry.push(ctx.name!); };
@register class Calc { @logged add(a: number, b: number) { return a + b; } }
console.log(new Calc().add(1, 2), registry);
//// accessor keyword
class Box { accessor value = 1; static accessor count = 0; }
const box = new Box(); box.value += 4; Box.count++;
console.log(box.value, Box.count, Object.keys(box));
//// generator types
function* ids(prefix: string): Generator<string, void, undefined> { for (let i = 1; i <= 3; i++) yield `${prefix}${i}`; }
const all: string[] = [...ids("n")];
async function* stream(): AsyncGenerator<number> { yield 1; yield 2; }
(async () => { let s = 0; for await (const x of stream()) s += x; console.log(all, s); })();
//// Map and Set with types
const scores = new Map<string, number[]>();
for (const [k, v] of [["a", 1], ["b", 2], ["a", 3]] as [string, number][]) scores.set(k, [...(scores.get(k) ?? []), v]);
console.log(scores, new Set<number>([1, 1, 2]).size, [...scores].map(([k, v]): string => `${k}=${v.length}`));
//// tuple types and destructuring
type Pair<A, B = A> = [first: A, second: B, ...rest: number[]];
const pair: Pair<string, boolean> = ["a", true, 1, 2];
const [first, second, ...others] = pair;
console.log(first, second, others, pair.length);
//// index signatures and records
interface Dict { [key: string]: number | undefined }
const d: Dict = { a: 1 };
d["b"] = 2;
console.log(Object.entries(d).map(([k, v]) => k + v), d.zzz?.toFixed(1));
//// unknown in catch, narrowing
function risky(x: unknown): string {
  try { if (x instanceof Date) return x.toISOString(); if (Array.isArray(x)) return `array ${x.length}`; if (x && typeof x === "object" && "name" in x) return String(x.name); throw x; }
  catch (err: unknown) { return err instanceof Error ? err.message : `other ${String(err)}`; }
}
console.log([new Date(0), [1, 2], { name: "n" }, new Error("e"), 5].map(risky));
//// builder with fluent types
class Query<T extends object = {}> {
  private parts: string[] = [];
  select<K extends string>(...k: K[]): Query<T & Record<K, unknown>> { this.parts.push(`SELECT ${k.join(", ")}`); return this as any; }
  from(t: string): this { this.parts.push(`FROM ${t}`); return this; }
  toString() { return this.parts.join(" "); }
}
console.log(`${new Query().select("a", "b").from("t")}`);
//// event emitter with typed events
type Handlers = { data: (x: number) => void; end: () => void };
class Emitter<H extends Record<string, (...a: any[]) => void>> {
  private on_: { [K in keyof H]?: H[K][] } = {};
  on<K extends keyof H>(k: K, f: H[K]) { (this.on_[k] ??= []).push(f); return this; }
  emit<K extends keyof H>(k: K, ...a: Parameters<H[K]>) { this.on_[k]?.forEach((f) => f(...a)); }
}
const em = new Emitter<Handlers>().on("data", (x) => console.log("data", x)).on("end", () => console.log("end"));
em.emit("data", 5); em.emit("end");
//// singleton and private constructor
class Config { private static instance?: Config; private constructor(readonly values: Map<string, string>) {} static get(): Config { return (Config.instance ??= new Config(new Map([["k", "v"]]))); } }
console.log(Config.get() === Config.get(), Config.get().values.get("k"));
//// utility types at work
interface Todo { title: string; done: boolean; due: Date }
const patch = (t: Todo, p: Partial<Omit<Todo, "due">>): Todo => ({ ...t, ...p });
const t: Readonly<Todo> = { title: "x", done: false, due: new Date(0) };
console.log(patch(t, { done: true }), (Object.keys(t) as (keyof Todo)[]).length);
//// imports of types disappear
import type { Stats } from "node:fs";
import { readFileSync, writeFileSync, type PathLike } from "node:fs";
const file: PathLike = "t.txt";
writeFileSync(file, "typed");
const size = (s: Pick<Stats, "size">) => s.size;
console.log(readFileSync(file, "utf8"), size({ size: 5 }));
//// export forms
export interface Item { id: number }
export const items: Item[] = [{ id: 1 }];
export type { Item as Thing };
export class Store { constructor(private list: Item[] = items) {} total(): number { return this.list.length; } }
console.log(new Store().total());
//// declare and ambient
declare const VERSION: string | undefined;
declare function missing(): void;
declare global { interface Array<T> { lastOne(): T | undefined } }
Array.prototype.lastOne = function () { return this[this.length - 1]; };
console.log([1, 2, 3].lastOne(), typeof VERSION);
export {};
//// arrow generics and currying
const compose = <A, B, C>(f: (b: B) => C, g: (a: A) => B) => (a: A): C => f(g(a));
const inc = (n: number): number => n + 1, str = (n: number): string => `<${n}>`;
console.log(compose(str, inc)(1), ((x: number) => (y: number) => x * y)(3)(4));
//// bigints, numeric separators, literals
const big: bigint = 9_007_199_254_740_993n;
const hex = 0xff_ff, bits = 0b1010_0001;
console.log(big, hex, bits, 1_000.5);
//// optional chaining with types
type Deep = { a?: { b?: { c(): string }[] } };
const deep: Deep = { a: { b: [{ c: () => "c" }] } }, empty: Deep = {};
console.log(deep.a?.b?.[0]?.c(), empty.a?.b?.[0]?.c(), (empty.a ??= {}).b === undefined);
//// template literal keys and symbols
const id = Symbol("id");
interface Keyed { [id]: number; [key: `data-${string}`]: string }
const k: Keyed = { [id]: 1, "data-x": "y" };
console.log(k[id], k["data-x"], Object.keys(k));
//// static and instance initialisation order
class A { static s = (console.log("static"), 1); x = (console.log("field"), 2); constructor() { console.log("ctor", this.x); } static { console.log("block", this.s); } }
new A();
//// class fields shadow accessors of the parent
class Parent { get v() { return "parent"; } set v(_: string) {} }
class Child extends Parent { w: string = this.v + "!"; }
console.log(new Child().w);
class F { declare typed: number; plain?: number; }
console.log(Object.keys(new F()));
//// mixins
type Ctor<T = {}> = new (...a: any[]) => T;
const Timed = <B extends Ctor>(Base: B) => class extends Base { stamp = 1; };
const Tagged = <B extends Ctor<{ stamp: number }>>(Base: B) => class extends Base { tag(): string { return `tag${this.stamp}`; } };
class Doc { title = "d"; }
const M = Tagged(Timed(Doc));
console.log(new M().tag(), new M().title);
//// recursion over a typed tree
type Tree<T> = { value: T; children?: Tree<T>[] };
const tree: Tree<string> = { value: "a", children: [{ value: "b", children: [{ value: "c" }] }, { value: "d" }] };
const depth = <T>(t: Tree<T>): number => 1 + Math.max(0, ...(t.children ?? []).map(depth));
function* flat<T>(t: Tree<T>): Iterable<T> { yield t.value; for (const c of t.children ?? []) yield* flat(c); }
console.log(depth(tree), [...flat(tree)]);
//// state machine
type State = "idle" | "loading" | "done";
type Action = { type: "start" } | { type: "finish"; data: number[] };
const reduce = (s: { state: State; data: number[] }, a: Action): typeof s => a.type === "start" ? { ...s, state: "loading" } : { state: "done", data: a.data };
console.log(([{ type: "start" }, { type: "finish", data: [1] }] as Action[]).reduce(reduce, { state: "idle", data: [] }));
//// dependency injection with a map
class Token<T> { constructor(readonly name: string) {} declare _t: T; }
class Container { private m = new Map<Token<any>, () => unknown>(); bind<T>(t: Token<T>, f: () => T): this { this.m.set(t, f); return this; } get<T>(t: Token<T>): T { const f = this.m.get(t); if (!f) throw new Error(`no ${t.name}`); return f() as T; } }
const NAME = new Token<string>("name");
console.log(new Container().bind(NAME, () => "svc").get(NAME));
try { new Container().get(NAME); } catch (e) { console.log((e as Error).message); }
//// memory of promises with types
const cache = new Map<string, Promise<number>>();
const load = (k: string): Promise<number> => { let p = cache.get(k); if (!p) { console.log("load", k); p = new Promise<number>((r) => setTimeout(() => r(k.length), 2)); cache.set(k, p); } return p; };
Promise.all(["a", "bb", "a"].map(load)).then((v: number[]) => console.log(v));
//// abstract data types
class Stack<T> { #items: T[] = []; push(...x: T[]): number { return this.#items.push(...x); } pop(): T | undefined { return this.#items.pop(); } get size(): number { return this.#items.length; } [Symbol.iterator](): Iterator<T> { return this.#items[Symbol.iterator](); } }
const st = new Stack<number>(); st.push(1, 2, 3);
console.log(st.pop(), st.size, [...st]);
//// getters in interfaces, readonly arrays
interface Temp { readonly c: number; readonly f: number }
const temp = (c: number): Temp => ({ c, get f() { return c * 9 / 5 + 32; } });
const list: readonly number[] = [3, 1, 2];
console.log(temp(100).f, [...list].sort(), list.slice().reverse());
//// json with validation
interface Row { id: number; when: string }
const isRow = (x: any): x is Row => typeof x?.id === "number" && typeof x?.when === "string";
const rows: Row[] = (JSON.parse('[{"id":1,"when":"2024"},{"id":"2"},null]') as unknown[]).filter(isRow);
console.log(rows);
//// computed enums and reverse maps
enum Bits { None, A = 1 << 0, B = 1 << 1, AB = A | B, Len = "abc".length }
const names = Object.keys(Bits).filter((k) => isNaN(Number(k)));
console.log(Bits.AB, Bits[3], names);
//// using declarations
const res = (name: string) => ({ name, [Symbol.dispose]() { console.log("closed", name); } });
{
  using a = res("a");
  using b = res("b");
  console.log("open", a.name, b.name);
}
console.log("after");
//// date arithmetic with types
const addDays = (d: Date, n: number): Date => new Date(d.getTime() + n * 864e5);
const range = (a: Date, b: Date): string[] => { const out: string[] = []; for (let d = a; d < b; d = addDays(d, 1)) out.push(d.toISOString().slice(5, 10)); return out; };
console.log(range(new Date("2024-02-27"), new Date("2024-03-02")));
//// async queue with generics
class AsyncQueue<T> { private items: T[] = []; private waiting: ((x: T) => void)[] = []; push(x: T): void { const w = this.waiting.shift(); if (w) w(x); else this.items.push(x); } pop(): Promise<T> { const x = this.items.shift(); return x !== undefined ? Promise.resolve(x) : new Promise((r) => this.waiting.push(r)); } }
const queue = new AsyncQueue<number>();
queue.push(1);
setTimeout(() => queue.push(2), 2);
(async () => console.log(await queue.pop(), await queue.pop()))();
//// comparison functions
type Cmp<T> = (a: T, b: T) => number;
const by = <T, K extends keyof T>(k: K): Cmp<T> => (a, b) => (a[k] < b[k] ? -1 : a[k] > b[k] ? 1 : 0);
const then = <T>(...c: Cmp<T>[]): Cmp<T> => (a, b) => c.reduce((r, f) => r || f(a, b), 0);
console.log([{ x: 2, y: "b" }, { x: 1, y: "z" }, { x: 2, y: "a" }].sort(then(by("x"), by("y"))).map((o) => `${o.x}${o.y}`));
//// string enums, const enums and flags with names
enum Level { Debug = 'DEBUG', Error = 'ERROR' }
const enum Bit { Read = 1 << 0, Write = 1 << 1, Both = Read | Write }
enum Mixed { A, B = 5, C, D = 10, E = 'xyz'.length }
function show(l: Level): string { switch (l) { case Level.Debug: return 'd'; case Level.Error: return 'e'; default: { const never: never = l; return never; } } }
console.log(Object.values(Level), show(Level.Error), Bit.Both, Mixed.C, Mixed[5], Mixed.E, (Level as any)['DEBUG']);
const names = Object.keys(Mixed).filter((k) => Number.isNaN(Number(k))); console.log(names, (['Debug', 'Error'] as (keyof typeof Level)[]).map((k) => Level[k]));
//// standard decorators: fields, getters, accessors, metadata of a class
function logged<This, Args extends any[], R>(fn: (this: This, ...a: Args) => R, ctx: ClassMethodDecoratorContext) { return function (this: This, ...a: Args): R { console.log('call', String(ctx.name), a); return fn.call(this, ...a); }; }
function doubled(_: undefined, ctx: ClassFieldDecoratorContext) { return (v: number) => { console.log('init', String(ctx.name), ctx.kind); return v * 2; }; }
function sealed<T extends new (...a: any[]) => {}>(c: T, ctx: ClassDecoratorContext) { ctx.addInitializer(function () { console.log('defined', ctx.name); }); return class extends c { sealed = true; }; }
function clamp(min: number, max: number) { return ({ get, set }: ClassAccessorDecoratorTarget<unknown, number>, _ctx: ClassAccessorDecoratorContext): ClassAccessorDecoratorResult<unknown, number> => ({ get, set(v) { set.call(this, Math.min(max, Math.max(min, v))); }, init: (v) => v }); }
@sealed class Thing { @doubled x = 21; @clamp(0, 10) accessor level = 5; @logged add(a: number, b: number) { return a + b + this.x; } @logged static make() { return new Thing(); } }
const thing = Thing.make(); thing.level = 99; console.log(thing.add(1, 2), thing.level, (thing as any).sealed, thing instanceof Thing);
//// namespaces merged with functions, classes and enums
namespace Geometry { export interface Point { x: number; y: number } export const origin: Point = { x: 0, y: 0 }; export namespace Deep { export const scale = 2; } export function norm(p: Point) { return Math.hypot(p.x, p.y) * Deep.scale; } }
namespace Geometry { export const unit = { x: 1, y: 0 } as Point; let secret = 1; export const peek = () => ++secret; }
function build(name: string) { return build.prefix + name; } namespace build { export let prefix = '> '; }
enum Color { Red, Green } namespace Color { export function parse(s: string): Color { return Color[s as 'Red']; } }
class Box { constructor(public item: Box.Item) {} } namespace Box { export type Item = string | number; export const empty = new Box(''); }
import G = Geometry.Deep; build.prefix = '* ';
console.log(Geometry.norm({ x: 3, y: 4 }), Geometry.unit, Geometry.peek(), build('x'), Color.parse('Green'), Box.empty.item === '', G.scale, Object.keys(Geometry));
//// generics: a typed repository, inference, defaults and variance
interface Entity<Id = number> { id: Id; }
class Repository<T extends Entity<K>, K extends string | number = T['id']> { #all = new Map<K, T>(); save(...items: T[]): this { for (const i of items) this.#all.set(i.id, i); return this; }
  find<P extends keyof T>(key: P, value: T[P]): T | undefined { return [...this.#all.values()].find((i) => i[key] === value); } pluck<const P extends readonly (keyof T)[]>(...keys: P): Pick<T, P[number]>[] { return [...this.#all.values()].map((i) => Object.fromEntries(keys.map((k) => [k, i[k]])) as Pick<T, P[number]>); } }
type User = Entity<string> & { name: string; age?: number };
const users = new Repository<User>().save({ id: 'a', name: 'Ann', age: 3 }, { id: 'b', name: 'Bob' });
const pair = <A, B = A>(a: A, b?: B): readonly [A, B | undefined] => [a, b]; type Last<T extends unknown[]> = T extends [...infer _, infer L] ? L : never; const last: Last<[1, 2, 'z']> = 'z';
function assertIs<T>(v: unknown, test: (v: unknown) => v is T): asserts v is T { if (!test(v)) throw new TypeError(`not that: ${v}`); }
console.log(users.find('name', 'Bob'), users.pluck('id', 'age'), pair(1), pair<string, number>('x', 2), last); try { assertIs<string>(5, (v): v is string => typeof v === 'string'); } catch (e) { console.log((e as Error).message); }
//// satisfies with records, palettes and exhaustive maps
type RGB = readonly [number, number, number]; type Name = 'red' | 'green' | 'blue';
const palette = { red: [255, 0, 0], green: '#00ff00', blue: [0, 0, 255] } as const satisfies Record<Name, RGB | string>;
const upper = palette.green.toUpperCase(), [r] = palette.red;
const handlers = { add: (a: number, b: number) => a + b, neg: (a: number) => -a } satisfies Record<string, (...n: number[]) => number>;
type Calls = { [K in keyof typeof handlers]: Parameters<(typeof handlers)[K]>['length'] }; const arity: Calls = { add: 2, neg: 1 };
const routes = [{ path: '/', method: 'GET' }, { path: '/x', method: 'POST' }] as const satisfies readonly { path: `/${string}`; method: 'GET' | 'POST' }[];
console.log(upper, r, handlers.add(1, 2), handlers.neg(3), arity, routes.map((x) => `${x.method} ${x.path}`), <string>upper, upper!.length);
//// abstract repository with async iteration and disposal
interface Source<T> extends AsyncIterable<T> { close(): Promise<void>; }
abstract class Base<T> implements Source<T> { protected abstract load(page: number): Promise<T[]>; private closed = false;
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> { for (let p = 0; ; p++) { const items = await this.load(p); if (!items.length) return; yield* items; } } async close() { this.closed = true; } get state() { return this.closed ? 'closed' : 'open'; } }
class Pages extends Base<string> { constructor(private readonly data: readonly string[], protected size = 2) { super(); } protected override async load(page: number) { return this.data.slice(page * this.size, (page + 1) * this.size); } }
(async () => { const p = new Pages(['a', 'b', 'c', 'd', 'e']); const got: string[] = []; for await (const x of p) got.push(x); await p.close(); console.log(got, p.state, p);
  const results: PromiseSettledResult<number>[] = await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error('no'))]); console.log(results.map((x) => x.status === 'fulfilled' ? x.value : (x.reason as Error).message)); })();
//// result types, exhaustive switches and a typed pipe
type Result<T, E extends Error = Error> = { ok: true; value: T } | { ok: false; error: E };
const ok = <T,>(value: T): Result<T> => ({ ok: true, value }), fail = <T = never>(message: string): Result<T> => ({ ok: false, error: new RangeError(message) });
const parse = (s: string): Result<number> => (/^\d+$/.test(s) ? ok(Number(s)) : fail(`not a number: ${s}`));
function pipe<A, B, C>(f: (a: A) => Result<B>, g: (b: B) => Result<C>): (a: A) => Result<C> { return (a) => { const r = f(a); return r.ok ? g(r.value) : r; }; }
const half = pipe(parse, (n) => (n % 2 ? fail<number>(`${n} is odd`) : ok(n / 2)));
type Shape = { kind: 'circle'; r: number } | { kind: 'rect'; w: number; h: number }; const area = (s: Shape): number => { switch (s.kind) { case 'circle': return +(Math.PI * s.r ** 2).toFixed(2); case 'rect': return s.w * s.h; } };
for (const text of ['10', '7', 'x']) { const r = half(text); console.log(r.ok ? r.value : `${r.error.name}: ${r.error.message}`); }
console.log([{ kind: 'circle', r: 1 }, { kind: 'rect', w: 2, h: 3 }].map((s) => area(s as Shape)), (<T extends object>(o: T) => Object.keys(o) as (keyof T)[])({ a: 1, b: 2 }));
//// legacy decorators with factories are standard decorators here: class, method, field, getter
function logged(value: Function, ctx: ClassMethodDecoratorContext) { return function (this: any, ...a: any[]) { console.log(`-> ${String(ctx.name)}(${a})`); return value.apply(this, a); }; }
function bound(_: any, ctx: ClassMethodDecoratorContext) { ctx.addInitializer(function (this: any) { this[ctx.name] = this[ctx.name].bind(this); }); }
const min = (n: number) => (_: undefined, ctx: ClassFieldDecoratorContext) => (v: number) => { if (v < n) throw new RangeError(`${String(ctx.name)} < ${n}`); return v; };
function entity(name: string) { return <T extends new (...a: any[]) => object>(C: T, _: ClassDecoratorContext) => class extends C { table = name; }; }
@entity('users') class User { @min(1) age = 5; constructor(public name: string) {} @logged @bound greet(x: string) { return `${x} ${this.name}`; } }
const u = new User('ann'); const { greet } = u; console.log(greet('hi'), (u as any).table, u.age);
//// enums: heterogeneous, computed, const, declare merge, iteration, bit flags
enum E { A, B = 5, C, D = 'd'.length, F = 1 << 3 } enum S { Up = 'UP', Down = 'DOWN' } const enum K { X = 10, Y } enum E { G = 100 }
enum Perm { None = 0, Read = 1, Write = 2, All = Read | Write }
console.log(E, E[5], E.C, E.F, E.G, S.Up, Object.values(S), K.Y, Perm.All, Perm[3], (Perm.Read | Perm.Write) === Perm.All);
const keys = Object.keys(E).filter((k) => isNaN(Number(k))); console.log(keys); function f(s: S): string { switch (s) { case S.Up: return 'u'; case S.Down: return 'd'; } } console.log(f(S.Down));
//// namespaces: nested, exported, aliases, merging with a function, private members
namespace Geo { const hidden = 2; export interface P { x: number } export const unit: P = { x: hidden }; export namespace Deep { export const v = hidden * 2; export enum Q { A = 1 } } export function scale(p: P, k = 3): P { return { x: p.x * k }; } export class C { constructor(readonly p: P = unit) {} } }
import D = Geo.Deep; function lib(x: number) { return lib.base + x; } namespace lib { export let base = 10; } console.log(Geo.scale(Geo.unit), D.v, D.Q.A, lib(1), (lib.base = 20, lib(1)), new Geo.C().p, Object.keys(Geo)); namespace A.B.C { export const d = 'abc'; } console.log(A.B.C.d);
//// generics: constraints, keyof, infer, variadic tuples, const type parameters, defaults
type ElementOf<T> = T extends readonly (infer U)[] ? U : never; type Getters<T> = { [K in keyof T as `get${Capitalize<string & K>}`]: () => T[K] };
function getters<T extends object>(o: T): Getters<T> { return Object.fromEntries(Object.entries(o).map(([k, v]) => [`get${k[0].toUpperCase()}${k.slice(1)}`, () => v])) as Getters<T>; }
const tuple = <const T extends readonly unknown[]>(...t: T) => t; function pick<T, K extends keyof T>(o: T, ...ks: K[]): Pick<T, K> { return ks.reduce((a, k) => ({ ...a, [k]: o[k] }), {} as Pick<T, K>); }
class Box<T = string> { #v?: T; static of<U>(v: U): Box<U> { const b = new Box<U>(); b.#v = v; return b; } map<V>(f: (v: T) => V): Box<V> { return Box.of(f(this.#v!)); } get value(): T | undefined { return this.#v; } }
const x: ElementOf<typeof arr> = 2; const arr = [1, 2] as const; console.log(getters({ name: 'n', age: 3 }).getAge(), tuple(1, 'a'), pick({ a: 1, b: 2 }, 'a'), Box.of(2).map((n) => n + 0.5).value, x, <number>1, (y: any) => y satisfies unknown);
//// abstract class, interface merging, index signatures, this types, overloads, accessors
interface Shape { area(): number } interface Shape { name: string } abstract class Base implements Shape { abstract area(): number; get name(): string { return this.constructor.name; } protected log?(): void; toString(): string { return `${this.name}:${this.area().toFixed(1)}`; } }
class Circle extends Base { constructor(private readonly r: number) { super(); } override area() { return Math.PI * this.r ** 2; } } class Sq extends Base { declare tag: string; constructor(protected s = 2) { super(); } area(): number { return this.s ** 2; } scale(k: number): this { this.s *= k; return this; } }
function parse(x: string): number; function parse(x: number): string; function parse(x: any): any { return typeof x === 'string' ? +x : String(x); } console.log(`${new Circle(1)} ${new Sq().scale(2)}`, parse('4') + 1, parse(4) + 1, 'tag' in new Sq()); let v!: string; v = 'definite'; console.log(v);
//// async typed pipeline with Result type, exhaustive never, assertion functions
type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E }; const ok = <T>(value: T): Result<T, never> => ({ ok: true, value }); const fail = <E>(error: E): Result<never, E> => ({ ok: false, error });
function assertNumber(x: unknown): asserts x is number { if (typeof x !== 'number') throw new TypeError(`not a number: ${x}`); } function never(x: never): never { throw new Error(`unexpected ${x}`); }
async function load(id: number): Promise<Result<{ id: number }, 'missing' | 'denied'>> { await new Promise<void>((r) => setTimeout(r, 1)); return id > 1 ? ok({ id }) : fail(id === 1 ? 'denied' : 'missing'); }
const show = (r: Awaited<ReturnType<typeof load>>): string => { if (r.ok) return `id ${r.value.id}`; switch (r.error) { case 'missing': return 'M'; case 'denied': return 'D'; default: return never(r.error); } };
(async (): Promise<void> => { console.log((await Promise.all([0, 1, 2].map(load))).map(show)); try { assertNumber('x' as unknown); } catch (e: unknown) { if (e instanceof TypeError) console.log(e.message); } })();
//// using and await using with Symbol.dispose, satisfies, import type, type-only members
import type { Stats } from 'node:fs'; import { type PathLike, existsSync } from 'node:fs'; import * as path from 'node:path';
class Res implements Disposable { constructor(readonly n: string) { console.log('open', n); } [Symbol.dispose]() { console.log('close', this.n); } }
function work(): string { using a = new Res('a'); using b = new Res('b'); return `${a.n}${b.n}`; } console.log(work()); { await using c = { async [Symbol.asyncDispose]() { console.log('async close'); } }; console.log(typeof c); }
const conf = { port: 80, host: 'h' } satisfies Record<string, string | number>; console.log(conf.port.toFixed(1), existsSync('nope' as PathLike), path.posix.join('a', 'b')); export type X = Stats; export const z: number = 1;
//// typed event bus, mapped handlers, private names, static blocks and optional calls
type Events = { login: { user: string }; logout: undefined }; class Bus<M extends Record<string, any>> { static #count = 0; static { Bus.#count = 10; } #h: { [K in keyof M]?: Array<(p: M[K]) => void> } = {}; on<K extends keyof M>(k: K, f: (p: M[K]) => void): () => void { (this.#h[k] ??= []).push(f); Bus.#count++; return () => { this.#h[k] = this.#h[k]?.filter((g) => g !== f); }; } emit<K extends keyof M>(k: K, ...[p]: M[K] extends undefined ? [] : [M[K]]): void { this.#h[k]?.forEach((f) => f(p as M[K])); } static get count() { return Bus.#count; } has(o: object): boolean { return #h in o; } }
const bus = new Bus<Events>(); const off = bus.on('login', ({ user }) => console.log('in', user)); bus.on('logout', () => console.log('out')); bus.emit('login', { user: 'ann' }); off(); bus.emit('login', { user: 'bob' }); bus.emit('logout'); console.log(Bus.count, bus.has(bus), bus.has({}), (bus as any).nothing?.(), (undefined as any)?.[0]);
//// JSX-free component tree, recursive types, template literal types, unique symbols, bigint
type Json = string | number | boolean | null | Json[] | { [k: string]: Json }; type Node2 = { tag: string; kids?: (Node2 | string)[]; attrs?: Record<`data-${string}` | 'id', string> }; const h = (tag: string, attrs: Node2['attrs'] | null, ...kids: (Node2 | string)[]): Node2 => ({ tag, ...(attrs && { attrs }), kids });
const render = (n: Node2 | string): string => typeof n === 'string' ? n : `<${n.tag}${Object.entries(n.attrs ?? {}).map(([k, v]) => ` ${k}="${v}"`).join('')}>${(n.kids ?? []).map(render).join('')}</${n.tag}>`; console.log(render(h('div', { id: 'a', 'data-x': '1' } as any, h('b', null, 'hi'), '!')));
declare const brand: unique symbol; type Id = string & { [brand]: 'id' }; const id = 'x1' as Id; const big: bigint = 2n ** 64n; const walk = (j: Json, d = 0): number => j !== null && typeof j === 'object' ? Math.max(d, ...Object.values(j).map((v) => walk(v, d + 1))) : d; console.log(id.length, big.toString(16), walk({ a: [{ b: 1 }] }), (<T,>(v: T): T => v)(3));
//// class fields order, parameter properties before fields, accessor, override, optional methods
class A { x = this.init(); constructor(public readonly a: number, protected b = a * 2, private c?: string) { console.log('ctor', this.a, this.b, this.c, this.x); } init() { return `init ${this.a}`; } accessor level = 1; static s: number = 4; static readonly t = A.s + 1; ['comp' + 'uted']() { return 'c'; } } class B2 extends A { y = 'y' + this.a; constructor() { super(7); console.log(this.y); } override init() { return `B ${this.a} ${this.y}`; } }
const b = new B2(); b.level += 4; console.log(b.level, A.t, (b as any).computed(), Object.keys(b), JSON.stringify(b));
//// export default function, export list, re-export types, top-level await in a module
import { setTimeout as sleep } from 'node:timers/promises'; interface Opts { readonly retries?: number; onTry?(n: number): void } export class Retry { constructor(private o: Opts = {}) {} async run<T>(f: (n: number) => Promise<T>): Promise<T> { let last: unknown; for (let i = 1; i <= (this.o.retries ?? 3); i++) { this.o.onTry?.(i); try { return await f(i); } catch (e) { last = e; await sleep(1); } } throw last; } }
const value: string = await new Retry({ onTry: (n) => console.log('try', n) }).run(async (n) => { if (n < 3) throw new Error('no'); return `ok after ${n}`; }); console.log(value); try { await new Retry({ retries: 1 }).run(() => Promise.reject(new Error('always'))); } catch (e) { console.log((e as Error).message); } export type { Opts };
//// decorators of the time before the standard: methods, accessors, parameters, properties and classes
function Log(target: any, propertyKey: string, descriptor: PropertyDescriptor) {
  const original = descriptor.value;
  descriptor.value = function (...args: any[]) {
    const result = original.apply(this, args);
    console.log(`${propertyKey}(${args.join(', ')}) = ${result}`);
    return result;
  };
  return descriptor;
}
function Min(least: number) {
  return (target: Object, key: string) => {
    const values = new WeakMap<object, number>();
    Object.defineProperty(target, key, { enumerable: true, get() { return values.get(this); },
      set(value: number) { if (value < least) throw new RangeError(`${key} is less than ${least}`); values.set(this, value); } });
  };
}
const required: [string, number][] = [];
const Required = (target: Object, key: string, index: number) => { required.push([key, index]); };
function sealed(constructor: Function) { Object.seal(constructor); Object.seal(constructor.prototype); }
@sealed
class Account {
  @Min(0) balance = 10;
  constructor(public owner: string) {}
  @Log deposit(@Required amount: number): number { return (this.balance += amount); }
}
const account = new Account('Ann');
account.deposit(5);
try { account.balance = -1; } catch (error) { console.log((error as Error).message); }
console.log(required, Object.isSealed(Account), Object.keys(account));
//// standard class decorators: sealed, registered, replaced, and printed as tsc leaves them
const registry = new Map<string, Function>();
function register(name?: string) {
  return <T extends new (...args: any[]) => object>(target: T, context: ClassDecoratorContext) => { registry.set(name ?? String(context.name), target); };
}
function sealed(target: Function, _: ClassDecoratorContext) { Object.seal(target); Object.seal(target.prototype); }
function stamped<T extends new (...args: any[]) => object>(target: T, _: ClassDecoratorContext<T>) {
  return class extends target { stamp = 1; };
}
@sealed @register('users') class Users { list() { return ['Ann']; } }
@register() class Orders {}
@stamped class Invoice { total = 2; }
console.log([...registry.keys()], Object.isSealed(Users), new Users().list(), Users, Orders, (new Invoice() as any).stamp);
//// a typed HTTP router served on loop-back and called with fetch
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
type Handler<T> = (params: Record<string, string>, body: unknown) => Promise<T> | T;
enum Status { Ok = 200, NotFound = 404, Teapot = 418 }
class Router {
  private routes: { method: string; pattern: RegExp; handler: Handler<unknown> }[] = [];
  on<T>(method: 'GET' | 'POST', path: `/${string}`, handler: Handler<T>): this { this.routes.push({ method, pattern: new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`), handler }); return this; }
  async run(req: IncomingMessage): Promise<[Status, unknown]> {
    for (const { method, pattern, handler } of this.routes) {
      const m = req.method === method && pattern.exec(req.url!);
      if (!m) continue;
      let text = ''; for await (const c of req) text += c;
      return [Status.Ok, await handler({ ...m.groups }, text ? JSON.parse(text) : undefined)];
    }
    return [Status.NotFound, { error: `no ${req.method} ${req.url}` }];
  }
}
const router = new Router().on('GET', '/users/:id', ({ id }) => ({ id: Number(id) })).on('POST', '/sum', (_, body) => (body as number[]).reduce((a, b) => a + b));
const server = createServer(async (req, res) => { const [status, value] = await router.run(req); res.writeHead(status).end(JSON.stringify(value)); });
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const call = async <T>(path: string, init?: RequestInit): Promise<[Status, T]> => { const r = await fetch(base + path, init); return [r.status, await r.json() as T]; };
console.log(await call<{ id: number }>('/users/7'), await call<number>('/sum', { method: 'POST', body: '[1,2,3]' }), await call('/nope'), Status[404]);
server.close(); server.closeAllConnections();
//// typed async iterators: a generic pipeline with map, filter, take and collect, and a typed emitter as a source
export {};
class Flow<T> implements AsyncIterable<T> {
  constructor(private readonly source: AsyncIterable<T> | Iterable<T>) {}
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> { yield* this.source as AsyncIterable<T>; }
  map<U>(f: (x: T, i: number) => U | Promise<U>): Flow<U> { const s = this; return new Flow((async function* () { let i = 0; for await (const x of s) yield await f(x, i++); })()); }
  filter<S extends T>(f: (x: T) => x is S): Flow<S>; filter(f: (x: T) => boolean): Flow<T>;
  filter(f: (x: T) => boolean): Flow<T> { const s = this; return new Flow((async function* () { for await (const x of s) if (f(x)) yield x; })()); }
  take(n: number): Flow<T> { const s = this; return new Flow((async function* () { if (n < 1) return; for await (const x of s) { yield x; if (--n === 0) return; } })()); }
  async fold<A>(first: A, f: (a: A, x: T) => A): Promise<A> { let a = first; for await (const x of this) a = f(a, x); return a; }
  toArray = (): Promise<T[]> => this.fold<T[]>([], (a, x) => [...a, x]);
}
function* naturals(): Generator<number> { for (let i = 0; ; i++) yield i; }
console.log(await new Flow(naturals()).filter((x) => x % 2 === 1).map(async (x) => x * x).take(4).toArray());
const mixed: (string | number | null)[] = ['a', 1, null, 'b', 2];
console.log(await new Flow(mixed).filter((x): x is string => typeof x === 'string').map((s, i) => `${i}${s}`).toArray(), await new Flow([1, 2, 3]).fold(0n, (a, x) => a + BigInt(x)));
//// typed worker pool, discriminated messages and a generic LRU with weak typing at the edges
import { Worker } from 'node:worker_threads';
type Request = { kind: 'square'; value: number } | { kind: 'upper'; value: string } | { kind: 'stop' };
type Answer<R extends Request> = R extends { kind: 'square' } ? number : R extends { kind: 'upper' } ? string : void;
const worker = new Worker(`const { parentPort } = require('node:worker_threads'); parentPort.on('message', (m) => m.kind === 'stop' ? parentPort.close() : parentPort.postMessage(m.kind === 'square' ? m.value ** 2 : m.value.toUpperCase()));`, { eval: true });
const ask = <const R extends Request>(request: R): Promise<Answer<R>> => new Promise((done) => { worker.once(request.kind === 'stop' ? 'exit' : 'message', (x) => done(x as Answer<R>)); worker.postMessage(request); });
console.log(await ask({ kind: 'square', value: 12 }), await ask({ kind: 'upper', value: 'ok' }), await ask({ kind: 'stop' }));
class Lru<K extends PropertyKey, V> { #map = new Map<K, V>(); constructor(public readonly max: number, private readonly onDrop?: (k: K, v: V) => void) {}
  get(k: K): V | undefined { const v = this.#map.get(k); if (v !== undefined) { this.#map.delete(k); this.#map.set(k, v); } return v; }
  set(k: K, v: V): this { this.#map.delete(k); this.#map.set(k, v); if (this.#map.size > this.max) { const [old] = this.#map.keys(); this.onDrop?.(old!, this.#map.get(old!)!); this.#map.delete(old!); } return this; }
  get keys(): readonly K[] { return [...this.#map.keys()]; } }
const dropped: string[] = []; const cache = new Lru<string, { n: number }>(2, (k, { n }) => dropped.push(`${k}=${n}`)); cache.set('a', { n: 1 }).set('b', { n: 2 }).get('a'); cache.set('c', { n: 3 }); console.log(cache.keys, dropped, cache.get('b')?.n ?? 'gone', cache.max satisfies number);

//// generics: a typed cache with constraints, overloads and default type parameters
interface Entity { id: number }
type Id<T extends Entity = Entity> = T['id'];
class Cache<K extends string | number, V = unknown> implements Iterable<[K, V]> {
  private readonly m = new Map<K, V>(); constructor(public readonly max: number = 3) {}
  get(k: K): V | undefined; get(k: K, d: V): V; get(k: K, d?: V): V | undefined { return this.m.get(k) ?? d; }
  set(k: K, v: V): this { if (this.m.size >= this.max) this.m.delete(this.m.keys().next().value!); this.m.set(k, v); return this; }
  *[Symbol.iterator](): IterableIterator<[K, V]> { yield* this.m; }
}
const c = new Cache<string, Entity>(2).set('a', { id: 1 }).set('b', { id: 2 }).set('c', { id: 3 });
console.log([...c], c.get('a'), c.get('z', { id: 0 }), c.max, c);
function pick<T extends object, K extends keyof T>(o: T, ...ks: K[]): Pick<T, K> { return Object.fromEntries(ks.map((k) => [k, o[k]])) as Pick<T, K>; }
console.log(pick({ a: 1, b: 'x', c: true }, 'a', 'c'));
const group = <T, K extends PropertyKey>(xs: readonly T[], f: (x: T) => K): Partial<Record<K, T[]>> => xs.reduce((r, x) => { (r[f(x)] ??= []).push(x); return r; }, {} as Record<K, T[]>);
console.log(group([1, 2, 3, 4], (x) => (x % 2 ? 'odd' : 'even')) satisfies Partial<Record<string, number[]>>);
let id: Id = 5 as const; console.log(id!, <number>id, (id as unknown) as string);

//// enums in switch, declare, const enum across namespace, enum as a map
enum Level { Debug = 1, Info, Warn = 1 << 3, Error = Warn | 1, Fatal = 'x'.length }
const enum Dir { Up = 'UP', Down = 'DOWN' }
namespace Geo { export enum Shape { Circle, Square } export const area = (s: Shape, n: number) => s === Shape.Circle ? +(Math.PI * n * n).toFixed(2) : n ** 2; export namespace Deep { export const v = Shape.Square; } }
console.log(Level, Level[2], Level.Error, Level.Fatal, Dir.Up, Geo.Shape, Geo.area(Geo.Shape.Square, 3), Geo.Deep.v, Geo.area(0, 1));
function name(l: Level): string { switch (l) { case Level.Debug: return 'd'; case Level.Info: return 'i'; default: return Level[l] ?? 'other'; } }
console.log([1, 2, 8, 9, 77].map(name), Object.values(Level).filter((v) => typeof v === 'number'), (Object.keys(Level) as (keyof typeof Level)[]).length);
declare const VERSION: string; declare function ext(): void; console.log(typeof VERSION, typeof ext);

//// decorators with metadata, memo, bound, logged and validated classes
function logged<This, A extends unknown[], R>(f: (this: This, ...a: A) => R, ctx: ClassMethodDecoratorContext) { return function (this: This, ...a: A): R { console.log(`-> ${String(ctx.name)}(${a})`); const r = f.apply(this, a); console.log('<-', r); return r; }; }
const bound = (_: unknown, ctx: ClassMethodDecoratorContext) => { ctx.addInitializer(function (this: any) { this[ctx.name] = this[ctx.name].bind(this); }); };
const min = (n: number) => (_: undefined, ctx: ClassFieldDecoratorContext) => (v: number) => { if (v < n) throw new RangeError(`${String(ctx.name)} < ${n}`); return v; };
function registered<T extends new (...a: any[]) => object>(c: T, ctx: ClassDecoratorContext): T { console.log(ctx.kind, ctx.name); return c; }
@registered class Acc { @min(0) balance = 5; @logged deposit(n: number) { return (this.balance += n); } @bound get2() { return this.balance; } static #n = 0; @logged static count() { return ++Acc.#n; } accessor rate = 0.5; }
const a = new Acc(); a.deposit(3); const { get2 } = a; console.log(get2(), Acc.count(), a.rate);

//// using declarations: files, locks, order of disposal and suppressed errors
class Res implements Disposable { constructor(readonly n: string) { console.log('open', n); } [Symbol.dispose]() { console.log('close', this.n); } }
class ARes implements AsyncDisposable { constructor(readonly n: string) {} async [Symbol.asyncDispose]() { await null; console.log('aclose', this.n); } }
function work() { using a = new Res('a'); using b = new Res('b'); using n = null; console.log(a.n + b.n); return 'done'; }
console.log(work());
async function awork() { await using x = new ARes('x'); using y = new Res('y'); for (using z of [new Res('1'), new Res('2')]) console.log(z.n); throw new Error('inside'); }
awork().catch((e) => console.log(e.message));
try { using bad = { [Symbol.dispose]() { throw new Error('dispose'); } }; throw new Error('body'); } catch (e: any) { console.log(e.name, e.error?.message, e.suppressed?.message); }

//// satisfies, const type parameters, template literals, branded types, assertion functions, exhaustive checks
type Brand<T, B extends string> = T & { readonly __b: B }; type UserId = Brand<string, 'UserId'>; const uid = 'u1' as UserId;
type Route = `/${string}` | `${'GET' | 'POST'} ${string}`; const routes = { home: '/', list: 'GET /items' } as const satisfies Record<string, Route>;
const tuple = <const T extends readonly unknown[]>(...t: T): T => t; console.log(tuple(1, 'a', { k: [1] }), routes.list, uid);
function assertIsString(v: unknown, m?: string): asserts v is string { if (typeof v !== 'string') throw new TypeError(m ?? 'not a string'); }
try { assertIsString(5); } catch (e) { if (e instanceof Error) console.log(e.message); }
type Shape = { kind: 'c'; r: number } | { kind: 's'; a: number }; const area = (s: Shape): number => { switch (s.kind) { case 'c': return s.r; case 's': return s.a ** 2; default: { const _x: never = s; return _x; } } }; console.log(area({ kind: 's', a: 3 }));
abstract class Base<T> { protected abstract make(): T; static create<U extends Base<unknown>>(this: new () => U): U { return new this(); } run() { return this.make(); } declare readonly ghost: string; }
class D extends Base<number> { override make() { return 42; } get v(): number { return this.run(); } set v(n: number) { console.log('set', n); } } const d = D.create(); d.v = 2; console.log(d.v, 'ghost' in d);
type Fn = { (x: number): string; prop: number; new (s: string): Date }; const arr: ReadonlyArray<[a: string, b?: number]> = [['x'], ['y', 2]]; for (const [k, v = 0] of arr) console.log(k, v);
let o: { a?: { b?: () => number } } = {}; console.log(o.a?.b?.() ?? 'none', o!.a, (o as any)['a']?.['b']); label: for (const i of [1, 2]) { for (;;) { continue label; } }
export type { Shape }; export interface X { y: string } export default d; export const z = 1, w: number = 2;

//// imports of types and node modules, import type, inline type modifiers, import equals, export assignment-free
import fs, { type Stats, existsSync } from 'node:fs'; import type { IncomingMessage } from 'node:http'; import * as path from 'node:path'; import { EventEmitter } from 'events';
class Bus extends EventEmitter<{ ready: [n: number] }> {} const b = new Bus(); b.once('ready', (n) => console.log('ready', n)); b.emit('ready', 7);
fs.writeFileSync('x.json', JSON.stringify({ ok: true })); const s: Stats = fs.statSync('x.json'); console.log(s.size, existsSync('x.json'), path.extname('x.json'));
const data = JSON.parse(fs.readFileSync('x.json', 'utf8')) as { ok: boolean }; console.log(data.ok); const req: IncomingMessage | null = null; console.log(req);
for await (const x of (async function* (): AsyncGenerator<number, void, unknown> { yield 1; yield 2; })()) console.log(x);
const results = await Promise.allSettled<number>([Promise.resolve(1), Promise.reject(new Error('no'))]); console.log(results.map((r) => r.status === 'fulfilled' ? r.value : (r.reason as Error).message));

//// class features: private methods, static blocks, index signatures, parameter properties, optional methods, this types, mixins
type Ctor<T = {}> = new (...a: any[]) => T; const Timed = <B extends Ctor>(B: B) => class extends B { t = 1; stamp(): string { return `t${this.t}`; } };
class P { static #c = 0; static { this.#c = 10; } #x: number; constructor(private a: string, protected readonly b = 2, public c?: string) { this.#x = P.#c++; } #m() { return this.a + this.#x; } m(): this { console.log(this.#m(), this.b, #x in this); return this; } opt?(): void; [k: string]: any; static is(o: unknown): o is P { return typeof o === 'object' && o !== null && #x in o; } }
const TP = Timed(P); const p = new TP('z'); p.m().m(); console.log(p.stamp(), P.is(p), P.is({}), p.opt?.(), p);
const o = { get full() { return 'f'; }, async *gen() { yield 1; }, ['k' + 1]: 2, 'q-r'() { return 3; }, __proto__: { inh: 1 } }; console.log(o.full, o.k1, o['q-r'](), (o as any).inh);
function f(this: { n: number }, ...r: [number, ...string[]]) { return this.n + r.length; } console.log(f.call({ n: 1 }, 2, 'a')); console.log(((x?: number, y: number = x ?? 5) => y)());
function over(a: string): string; function over(a: number): number; function over(a: any) { return a; } console.log(over(1), over('s')); var u!: number; console.log(u, typeof u as any satisfies string);
unique: { const sym: unique symbol = Symbol('q'); type Q = typeof sym; console.log(sym.description); break unique; }

//// JSX absent: an error is not hidden; generics arrow in ts; regex vs comments; types named like values; ASI
type type = string; let type: type = 'type'; const as = 1 as number; const of = [1]; for (const x of of) console.log(x, type, as); const satisfies = 2; console.log(satisfies satisfies number);
let g = <T,>(x: T) => x; console.log(g<string>('a'), g(1) as number < 2); const re = /a\/\/b/g; console.log(re.source, 4 / 2 / 1); let any: any = 1, never = 2, infer = 3, keyof = 4, is = 5, out = 6; console.log(any + never + infer + keyof + is + out)
interface namespace { module: number } const module_: namespace = { module: 1 }; let abstract = 1; abstract
console.log(module_.module, abstract)
const x = { a: 1 } as { a: number }
;[1, 2].forEach((n: number): void => { console.log(n) })
let y = x.a as any as string | undefined, z = y!; console.log(z); type F = (a: number) => asserts a is 5; type N = abstract new () => void; var fn = function <T>(this: void, a?: T): a is T { return true }; console.log(fn())
