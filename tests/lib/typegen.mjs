// Random TypeScript programs, each of which computes a list. Every piece is one that a reader of types can take for another:
// comparisons that look like type arguments, casts, generics, and the forms that are more than types.
const NAMES = ['lo', 'hi', 'n', 'm'];
const DECORATED_EVERY = 20; // the compiler of decorators takes its time to load

export function program(seed) {
  let state = seed * 2654435761 % 4294967296;
  const next = (max) => (state = (state * 1664525 + 1013904223) % 4294967296, Math.floor(state / 4294967296 * max));
  const pick = (...list) => list[next(list.length)];
  const name = () => NAMES[next(NAMES.length)], number = () => next(9);
  const value = () => pick(name, name, number)();
  let made = 0;
  const fresh = (word) => `${word}${++made}`;
  const PIECES = [
    () => `out.push(f(${name()} < ${name()}, ${name()} > ${value()}));`,
    () => `out.push(f(${name()} < ${name()}, ${name()} >= ${value()}));`,
    () => `out.push(f((${name()} < ${name()}) as boolean, ${name()} >> ${number()}));`,
    () => `out.push(g<number>(${value()}) + g<Array<number>>([${value()}]).length);`,
    () => `out.push(${name()}! + (${name()} as any as number) / ${number() + 1} / 2);`,
    () => `out.push([${name()}, ${value()}].map((x: number, i?: number): number => x * (i ?? 1)));`,
    () => `out.push((<T,>(x: T): T => x)(${value()}), (<any>${name()}) + 1);`,
    () => `{ const o: { a?: number; b: { c: string }[] } = { b: [{ c: "${number()}" }] }; out.push(o?.b[0]!.c, o.a ?? ${value()}); }`,
    () => { const e = fresh('E'); return `enum ${e} { A = ${number()}, B, C = A | ${number()}, D = "x" } out.push(${e}.B, ${e}[${e}.A], ${e}.C, Object.keys(${e}));`; },
    () => { const e = fresh('E'); return `const enum ${e} { A, B = A + ${number()} } out.push(${e}.B);`; },
    () => { const n = fresh('N'); return `namespace ${n} { export const a = ${value()}; export namespace M { export const b = a + 1 } } namespace ${n} { export const c = ${n}.M.b } out.push(${n}.c, ${n}.M.b);`; },
    () => { const c = fresh('C'); return `class ${c}<T> { z = ${number()}; static s: number = ${number()}; #p?: T; declare q: string; constructor(public readonly a: number, private b = a + 1, protected c?: T) { this.z += a; } get t(): number { return this.b + this.z } } out.push(JSON.stringify(new ${c}(${value()})), new ${c}<string>(${number()}).t, ${c}.s);`; },
    () => { const c = fresh('C'); return `abstract class ${c}A { abstract v(): number; w(): number { return this.v() * 2 } } class ${c} extends ${c}A implements Object { override v(): number { return ${value()} } } out.push(new ${c}().w());`; },
    () => { const d = fresh('D'); return `function ${d}(v: any, c: any): any { return c.kind === "method" ? function (this: any, ...a: unknown[]) { return [String(c.name), v.apply(this, a)] } : v } class ${d}C { @${d} m(x: number): number { return x + 1 } } out.push(new ${d}C().m(${value()}));`; },
    () => { const h = fresh('h'); return `function ${h}(a: string): string; function ${h}(a: number): number; function ${h}(this: void, a: any): any { return a + a } out.push(${h}(${value()}), ${h}("${number()}"));`; },
    () => `label: for (const [k, v] of Object.entries({ a: ${value()} }) as [string, number][]) { if (v < ${number()}) continue label; out.push(k satisfies string, v); }`,
    () => `try { throw new Error("e" as string) } catch (e: unknown) { out.push((e as Error).message) }`,
    () => `type ${fresh('T')}<K extends keyof any = string> = { [P in K]?: P extends \`a\${infer R}\` ? R : never }; interface ${fresh('I')} { (x: number): void; new (): Date; readonly [k: string]: any }`,
    () => `switch (${name()} as number) { case <number>${number()}: out.push("c"); break; default: out.push(${name()} < 3 ? "l" : /a<b>/.test("a<b>")); }`,
    () => `out.push(typeof (async <T extends object>(x: T): Promise<T> => x), ((x?: number) => x)?.(${value()}));`,
  ];
  const pieces = seed % DECORATED_EVERY ? PIECES.filter((piece) => !String(piece).includes('@')) : PIECES;
  const lines = Array.from({ length: 3 + next(6) }, () => pick(...pieces)());
  return `const out: unknown[] = [];
let ${NAMES.map((n) => `${n}: number = ${number()}`).join(', ')};
function f(a: unknown, b?: unknown): unknown { return [a, b ?? null] }
function g<T>(x: T): T { return x }
${lines.join('\n')}
out`;
}
