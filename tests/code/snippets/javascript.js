//// group and aggregate
const rows = [{ region: "EU", amount: 120.5 }, { region: "US", amount: 80 }, { region: "EU", amount: 19.5 }];
const totals = rows.reduce((acc, { region, amount }) => ({ ...acc, [region]: (acc[region] ?? 0) + amount }), {});
console.log(totals, Object.entries(totals).map(([k, v]) => `${k}: ${v.toFixed(2)}`).join("; "));
//// sort by several keys
const people = [{ n: "Ann", a: 31 }, { n: "Bob", a: 25 }, { n: "Cid", a: 31 }];
console.log(people.sort((x, y) => y.a - x.a || x.n.localeCompare(y.n)).map((p) => p.n));
console.log([10, 9, 1].sort(), [10, 9, 1].sort((a, b) => a - b), ["ä", "z", "a"].sort(new Intl.Collator("de").compare));
//// parse csv by hand
const text = 'name,note\nAnn,"a, b"\nBob,"say ""hi"""';
const parse = (line) => [...line.matchAll(/("([^"]|"")*"|[^,]*)(,|$)/g)].slice(0, 2).map((m) => m[1].replace(/^"|"$/g, "").replace(/""/g, '"'));
console.log(text.split("\n").map(parse));
//// destructuring and defaults
const { a = 1, b: { c, ...rest } = {}, ...others } = { b: { c: 2, d: 3, e: 4 }, f: 5 };
console.log(a, c, rest, others);
const [x, , y = 9, ...z] = [1, 2, undefined, 4, 5];
console.log(x, y, z);
//// classes with private fields and accessors
class Account {
  #balance = 0;
  static #count = 0;
  constructor() { Account.#count++; }
  get balance() { return this.#balance; }
  set balance(v) { if (v < 0) throw new RangeError("negative"); this.#balance = v; }
  static get count() { return Account.#count; }
  #secret() { return 42; }
  reveal() { return #balance in this && this.#secret(); }
}
const acc = new Account();
acc.balance = 5;
console.log(acc.balance, Account.count, acc.reveal(), acc);
try { acc.balance = -1; } catch (e) { console.log(e.name, e.message); }
//// inheritance, mixins, symbols
const Serializable = (Base) => class extends Base { serialize() { return JSON.stringify(this); } };
class Point { constructor(x, y) { this.x = x; this.y = y; } get [Symbol.toStringTag]() { return "Point"; } *[Symbol.iterator]() { yield this.x; yield this.y; } }
class P extends Serializable(Point) { toString() { return `(${[...this]})`; } }
const p = new P(1, 2);
console.log(String(p), p.serialize(), Object.prototype.toString.call(p), p instanceof Point);
//// closures and currying
const curry = (f) => function g(...a) { return a.length >= f.length ? f(...a) : (...b) => g(...a, ...b); };
const add = curry((a, b, c) => a + b + c);
console.log(add(1)(2)(3), add(1, 2)(3));
const counter = (() => { let n = 0; return { inc: () => ++n, get value() { return n; } }; })();
counter.inc(); counter.inc();
console.log(counter.value);
//// memoize and debounce
const memoize = (f, cache = new Map()) => (n) => cache.has(n) ? cache.get(n) : (cache.set(n, f(n)), cache.get(n));
const fib = memoize((n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)));
console.log(fib(70));
const debounce = (f, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(f, ms, ...a); }; };
const said = debounce((s) => console.log("said", s), 10);
said(1); said(2); said(3);
//// generators
function* range(a, b, step = 1) { for (let i = a; i < b; i += step) yield i; }
const take = (n, it) => { const out = []; for (const v of it) { if (out.length === n) break; out.push(v); } return out; };
function* nat() { let n = 0; while (true) n = (yield n) ?? n + 1; }
console.log([...range(0, 10, 3)], take(3, nat()), Math.max(...range(1, 5)));
const g = nat(); g.next(); console.log(g.next().value, g.next(10).value, g.return("end"), g.next());
//// async function not awaited
async function main() {
  await new Promise((r) => setTimeout(r, 20));
  console.log("done");
}
main();
console.log("started");
//// promise combinators
const wait = (ms, v) => new Promise((r) => setTimeout(r, ms, v));
const fail = (ms, m) => new Promise((_, j) => setTimeout(() => j(new Error(m)), ms));
Promise.all([wait(5, 1), wait(1, 2), 3]).then((v) => console.log("all", v))
  .then(() => Promise.allSettled([wait(1, "ok"), fail(2, "no")])).then((v) => console.log(v.map((s) => s.status + ":" + (s.value ?? s.reason.message))))
  .then(() => Promise.race([wait(30, "slow"), wait(1, "fast")])).then(console.log)
  .then(() => Promise.any([fail(1, "x"), wait(3, "any")])).then(console.log)
  .finally(() => console.log("finally"));
//// race against a guard timer
const guard = (p, ms) => Promise.race([p, new Promise((_, reject) => setTimeout(() => reject(new Error("timeout")), ms))]);
(async () => {
  console.log(await guard(new Promise((r) => setTimeout(r, 10, "in time")), 200));
  await guard(new Promise((r) => setTimeout(r, 300)), 10).catch((e) => console.log(e.message));
})();
//// event loop order
console.log("1 sync");
setTimeout(() => console.log("5 timeout"), 20);
setImmediate(() => console.log("4 immediate"));
process.nextTick(() => console.log("2 tick"));
Promise.resolve().then(() => console.log("3 micro"));
//// nested microtasks and timers
setTimeout(() => {
  console.log("a");
  Promise.resolve().then(() => console.log("b")).then(() => process.nextTick(() => console.log("d")));
  process.nextTick(() => console.log("c"));
}, 1);
setTimeout(() => console.log("e"), 30);
//// intervals that stop
let n = 0;
const id = setInterval(() => { console.log("tick", ++n); if (n === 3) clearInterval(id); }, 3);
//// async iteration with a limit on concurrency
async function pool(items, limit, f) {
  const out = [], it = items.entries();
  await Promise.all(Array.from({ length: limit }, async () => { for (const [i, v] of it) out[i] = await f(v); }));
  return out;
}
let now = 0, most = 0;
pool([1, 2, 3, 4, 5, 6], 2, async (v) => { most = Math.max(most, ++now); await new Promise((r) => setTimeout(r, 3)); now--; return v * v; })
  .then((v) => console.log(v, most));
//// retry with backoff
async function retry(f, times, ms = 1) {
  for (let i = 1; ; i++) try { return await f(i); } catch (e) { if (i === times) throw e; await new Promise((r) => setTimeout(r, ms * 2 ** i)); }
}
retry(async (i) => { if (i < 3) throw new Error("again " + i); return `attempt ${i}`; }, 5).then(console.log);
retry(async () => { throw new TypeError("never"); }, 2).catch((e) => console.log(e.name, e.message));
//// events
const { EventEmitter, once } = require("events");
const bus = new EventEmitter();
bus.on("x", (v) => console.log("on", v));
bus.once("x", (v) => console.log("once", v));
bus.emit("x", 1);
bus.emit("x", 2);
once(bus, "later").then(([v]) => console.log("awaited", v));
setTimeout(() => bus.emit("later", 7), 2);
//// an error event that nobody hears can be caught
const { EventEmitter } = require("events");
try { new EventEmitter().emit("error", new Error("boom")); } catch (e) { console.log(e.message); }
//// streams: transform and pipeline
const { Readable, Transform, pipeline } = require("stream");
const upper = new Transform({ transform(chunk, _, done) { done(null, chunk.toString().toUpperCase()); } });
const seen = [];
pipeline(Readable.from(["a", "b", "c"]), upper, async function* (src) { for await (const c of src) { seen.push(String(c)); yield c; } }, (err) => console.log(err ?? "ok", seen));
upper.resume?.();
//// streams to a file
const fs = require("fs");
const out = fs.createWriteStream("log.txt");
for (let i = 0; i < 3; i++) out.write(`line ${i}\n`);
out.end("last");
out.on("finish", () => console.log(fs.readFileSync("log.txt", "utf8").split("\n")));
//// read a file line by line
const fs = require("fs"), readline = require("readline");
fs.writeFileSync("in.txt", "one\ntwo\nthree\n");
(async () => {
  let i = 0;
  for await (const line of readline.createInterface({ input: fs.createReadStream("in.txt") })) console.log(++i, line);
})();
//// files and directories
const fs = require("fs"), path = require("path");
fs.mkdirSync("a/b", { recursive: true });
fs.writeFileSync(path.join("a", "b", "c.json"), JSON.stringify({ v: 1 }));
fs.appendFileSync("a/log", "x"); fs.copyFileSync("a/log", "a/log2"); fs.renameSync("a/log2", "a/log3");
console.log(fs.readdirSync("a").sort(), fs.statSync("a/b").isDirectory(), JSON.parse(fs.readFileSync("a/b/c.json")));
fs.rmSync("a", { recursive: true });
console.log(fs.existsSync("a"));
//// file promises and missing files
const fsp = require("fs/promises");
(async () => {
  await fsp.writeFile("x.txt", "data");
  console.log(await fsp.readFile("x.txt", "utf8"), (await fsp.stat("x.txt")).size);
  await fsp.readFile("none.txt").catch((e) => console.log(e.code));
})();
//// file callbacks
const fs = require("fs");
fs.writeFile("cb.txt", "abc", (err) => {
  if (err) throw err;
  fs.readFile("cb.txt", "utf8", (e, d) => console.log(e, d));
});
//// path functions
const path = require("path");
console.log(path.basename("/a/b.txt", ".txt"), path.extname("x.tar.gz"), path.join("/a", "..", "b"), path.relative("/a/b", "/a/c/d"), path.parse("/x/y.z").name, path.normalize("a//b/../c"));
console.log(path.isAbsolute(__dirname), path.basename(__filename).endsWith("js"));
//// buffers
const b = Buffer.from("héllo");
console.log(b.length, b.toString("hex"), b.toString("base64"), Buffer.concat([b, Buffer.alloc(2, 0x21)]).toString());
const v = Buffer.alloc(8); v.writeInt32LE(-5, 0); v.writeUInt16BE(513, 4);
console.log(v, v.readInt32LE(0), Buffer.compare(Buffer.from("a"), Buffer.from("b")), b.subarray(0, 1).equals(Buffer.from("h")));
//// crypto
const crypto = require("crypto");
console.log(crypto.createHash("sha256").update("message").digest("hex").slice(0, 16), crypto.createHmac("sha1", "k").update("d").digest("base64"));
const key = crypto.scryptSync("pw", "salt", 32), iv = Buffer.alloc(12, 1);
const c = crypto.createCipheriv("aes-256-gcm", key, iv), e = Buffer.concat([c.update("secret"), c.final()]);
const d = crypto.createDecipheriv("aes-256-gcm", key, iv).setAuthTag(c.getAuthTag());
console.log(d.update(e) + d.final(), crypto.randomUUID().length, crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("a")));
//// key pair and signature
const crypto = require("crypto");
const { publicKey, privateKey } = crypto.generateKeyPairSync("ed25519");
const s = crypto.sign(null, Buffer.from("m"), privateKey);
console.log(crypto.verify(null, Buffer.from("m"), publicKey, s), crypto.verify(null, Buffer.from("x"), publicKey, s));
//// web crypto digest
(async () => {
  const d = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc"));
  console.log(Buffer.from(d).toString("hex").slice(0, 12), btoa("hi"), atob("aGk="));
})();
//// zlib
const zlib = require("zlib");
const data = "abc".repeat(1000);
console.log(zlib.gunzipSync(zlib.gzipSync(data)).toString() === data, zlib.deflateSync(data).length < 60);
zlib.brotliCompress(data, (e, b) => zlib.brotliDecompress(b, (e2, r) => console.log(e, e2, r.length)));
//// url and search parameters
const u = new URL("../c?x=1&x=2#h", "https://user@e.com:8443/a/b/");
console.log(u.href, u.port, u.searchParams.getAll("x"), u.hash);
u.searchParams.append("q", "a b&c"); u.searchParams.delete("x");
console.log(String(u.searchParams), new URLSearchParams({ a: 1, b: "ü" }).toString());
try { new URL("nope"); } catch (e) { console.log(e.code); }
//// regular expressions
const log = "2024-01-02 ERROR [db] timeout";
console.log(log.match(/(?<day>\S+) (?<level>[A-Z]+) \[(?<part>\w+)\]/).groups.level, "a1b22".replace(/\d+/g, (m) => m * 2), [..."x=1;y=2".matchAll(/(\w)=(\d)/g)].map((m) => m.slice(1)));
console.log("a,b;c".split(/[,;]/), /\p{Lu}/u.test("É"), "aBc".replace(/(?<=a)B/, "-"), /^(?!.*bad).*$/.test("good"));
//// dates
const d = new Date(Date.UTC(2024, 0, 31, 12, 30));
console.log(d.toISOString(), d.getUTCDay(), new Date("2024-02-30").getTime() === new Date("2024-02-30").getTime(), JSON.stringify({ d }));
d.setUTCMonth(1);
console.log(d.toISOString().slice(0, 10), Math.round((Date.UTC(2024, 2, 1) - Date.UTC(2024, 1, 1)) / 864e5), Number.isNaN(new Date("x").getTime()));
//// Intl
console.log(new Intl.NumberFormat("de-DE", { style: "currency", currency: "EUR" }).format(1234.5), new Intl.NumberFormat("en", { notation: "compact" }).format(12345));
console.log(new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "Asia/Tokyo" }).format(0), new Intl.PluralRules("en", { type: "ordinal" }).select(2));
console.log(new Intl.ListFormat("en").format(["a", "b", "c"]), new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-1, "day"), (1e6).toLocaleString("en-US"));
//// numbers
console.log(0.1 + 0.2, (0.1 + 0.2).toFixed(2), 2 ** 53 === 2 ** 53 + 1, 2n ** 64n, BigInt(10) % 3n, Number("0x1f"), parseInt("12px", 10), Number.parseFloat("1e3"), (255).toString(2), ~~-3.7, -7 % 3, Math.sign(-2), Math.hypot(3, 4), Math.clz32(1));
//// strings
console.log("abc".at(-1), "x".padStart(3, "-"), "a-b".replaceAll("-", "+"), "ab".repeat(2), " t ".trim(), "😀x".length, [..."😀x"].length, "é".normalize("NFD").length, "Z".codePointAt(0), String.raw`a\n`, "b".localeCompare("a"));
//// tagged templates
const tag = (s, ...v) => s.raw.map((t, i) => t + (v[i] !== undefined ? `<${v[i]}>` : "")).join("");
console.log(tag`a ${1} b\n ${"x"} c`);
//// Map, Set, WeakMap
const m = new Map([["a", 1], [{}, 2]]);
console.log(m, m.size, new Set([1, 2, 2, 3]), [...new Set("hello")].join(""), new Map([...m].filter(([, v]) => v > 1)).size);
const w = new WeakMap(), k = {}; w.set(k, 1); console.log(w.get(k), w.has({}));
//// proxies and reflection
const log = [];
const p = new Proxy({ a: 1 }, { get: (t, k, r) => (log.push(String(k)), Reflect.get(t, k, r) ?? "none"), has: () => true, set(t, k, v) { if (typeof v !== "number") throw new TypeError("number"); t[k] = v; return true; } });
p.b = 2;
console.log(p.a, p.b, p.c, "zzz" in p, log);
try { p.c = "x"; } catch (e) { console.log(e.message); }
//// object helpers
const o = Object.freeze({ a: 1, nested: { b: 2 } });
o.a = 9; o.nested.b = 3;
console.log(o, Object.isFrozen(o), Object.fromEntries(Object.entries({ x: 1, y: 2 }).map(([k, v]) => [k, v * 10])), structuredClone({ d: new Date(0), s: new Set([1]) }));
console.log(Object.getOwnPropertyNames(class { static m() {} }).includes("m"), Object.is(-0, 0), { ...[1, 2] }, Object.hasOwn(o, "a"));
//// getters, setters, toJSON
const t = { _c: 20, get f() { return this._c * 1.8 + 32; }, set f(v) { this._c = (v - 32) / 1.8; }, toJSON() { return { c: this._c }; } };
t.f = 212;
console.log(t._c, JSON.stringify(t), JSON.stringify({ u: undefined, n: NaN, f() {}, d: new Date(0), nested: [undefined, () => 1] }), JSON.stringify({ b: 1, a: [1, { c: 2 }] }, null, 1));
//// JSON reviver and errors
console.log(JSON.parse('{"d":"1970-01-01T00:00:00.000Z","n":"5"}', (k, v) => (k === "d" ? new Date(v).getTime() : v)));
try { JSON.parse("{bad"); } catch (e) { console.log(e.name); }
const c = {}; c.self = c;
try { JSON.stringify(c); } catch (e) { console.log(e.message.split("\n")[0]); }
//// array methods
const a = [5, 1, 4];
console.log(a.at(-1), a.includes(4), a.flatMap((x) => [x, x * 2]), [[1, [2]], 3].flat(Infinity), a.findLast((x) => x > 3), Array.from({ length: 3 }, (_, i) => i * i), a.toSorted(), a, a.with(0, 9), a.toSpliced(1, 1));
console.log([1, 2, 3, 4].reduceRight((s, x) => s + x, ""), a.some((x) => x > 4), a.every(Number.isInteger), [3, 2].concat(1, [0]), [1, 2, 3].copyWithin(0, 1), Array.of(7).fill(1), a.join("|"), a.indexOf(9));
//// typed arrays
const f = new Float32Array([1.5, 2.5]), bytes = new Uint8Array(f.buffer);
console.log(bytes.length, new DataView(f.buffer).getFloat32(0, true), Uint8Array.from([1, 2, 300]), new Uint8ClampedArray([300, -5]), f.map((x) => x * 2));
//// errors with causes
class AppError extends Error { constructor(m, options) { super(m, options); this.name = "AppError"; this.code = 7; } }
try { try { null.x; } catch (e) { throw new AppError("wrapped", { cause: e }); } } catch (e) {
  console.log(e.name, e.code, e.cause instanceof TypeError, e instanceof AppError, new AggregateError([e], "many").errors.length, e.stack.split("\n")[0]);
}
//// try, finally and return values
const f = () => { try { return "try"; } finally { console.log("finally"); } };
console.log(f());
outer: for (const i of [1, 2, 3]) for (const j of [1, 2]) { if (i === 2) continue outer; if (i === 3) break outer; console.log(i, j); }
switch (typeof null) { case "object": console.log("object"); default: console.log("falls"); }
//// util functions
const util = require("util");
console.log(util.inspect({ a: { b: { c: { d: 1 } } }, f: [1, 2], s: Symbol("x") }, { depth: 1 }), util.format("%s %d %j %o", "a", 1, { b: 2 }, [3]), util.isDeepStrictEqual({ a: [1] }, { a: [1] }));
util.promisify(setTimeout)(2, "v").then(console.log);
console.log(util.types.isPromise(Promise.resolve()));
//// console methods
console.table([{ a: 1, b: "x" }, { a: 2, b: "y" }]);
console.group("G"); console.info("in"); console.groupEnd(); console.log("%s is %d and %o", "x", 5, { a: 1 });
console.dir({ a: { b: { c: {} } } }, { depth: 0 }); console.assert(true, "no"); console.count(); console.count();
//// worker thread
const { Worker } = require("worker_threads");
const w = new Worker(`const { parentPort, workerData } = require("worker_threads"); parentPort.postMessage(workerData.map((x) => x * x));`, { eval: true, workerData: [1, 2, 3] });
w.on("message", (m) => console.log(m));
w.on("exit", (c) => console.log("exit", c));
//// message channel and structured data
const { port1, port2 } = new MessageChannel();
port2.on("message", (m) => { console.log(m); port2.close(); });
port1.postMessage({ when: new Date(0), map: new Map([[1, 2]]) });
//// abort controller
const ac = new AbortController();
ac.signal.addEventListener("abort", () => console.log("aborted", ac.signal.reason.name));
const { setTimeout: sleep } = require("timers/promises");
sleep(1000, null, { signal: ac.signal }).catch((e) => console.log(e.name, e.code));
setTimeout(() => ac.abort(), 2);
//// async local storage
const { AsyncLocalStorage } = require("async_hooks");
const s = new AsyncLocalStorage();
const log = (m) => console.log(s.getStore(), m);
s.run("A", () => setTimeout(() => log("later"), 2));
s.run("B", async () => { await null; log("async"); });
log("none");
//// CommonJS module
const area = (r) => Math.PI * r ** 2;
module.exports = { area, name: "shapes" };
if (require.main === module) console.log("run directly", area(1).toFixed(3), typeof exports);
//// require a file of one's own
const fs = require("fs");
fs.writeFileSync("./m.js", "exports.double = (n) => n * 2; exports.here = require('path').basename(__filename);");
fs.writeFileSync("./d.json", '{"k": [1, 2]}');
const path = require("path");
const { double, here } = require(path.resolve("m.js"));
console.log(double(4), here, require(path.resolve("d.json")).k);
//// process information
console.log(typeof process.pid, process.argv.length >= 1, process.platform, Number(process.versions.node.split(".")[0]) >= 20, process.cwd().startsWith("/"));
const m = process.memoryUsage();
console.log(m.heapUsed > 0, m.rss > 0, process.uptime() > 0, process.hrtime.bigint() > 0n, typeof process.env.PATH !== "number");
//// os information
const os = require("os");
console.log(os.EOL === "\n", os.cpus().length > 0, os.homedir().startsWith("/"), os.tmpdir(), os.type(), os.totalmem() > 0);
//// process events
process.on("exit", (code) => console.log("exit", code));
process.on("beforeExit", () => {});
console.log("working");
//// assert
const assert = require("assert");
assert.deepStrictEqual({ a: [1] }, { a: [1] });
try { assert.strictEqual(1, 2, "not equal"); } catch (e) { console.log(e.code, e.message); }
assert.throws(() => { throw new TypeError("x"); }, TypeError);
console.log("asserted");
//// performance marks
const { performance } = require("perf_hooks");
const t = performance.now();
let s = 0; for (let i = 0; i < 1e5; i++) s += i;
performance.mark("a"); performance.mark("b");
console.log(performance.now() > t, s, performance.measure("m", "a", "b").duration >= 0);
//// text encoding
console.log(new TextEncoder().encode("é"), new TextDecoder("utf-16le").decode(new Uint8Array([104, 0, 105, 0])), encodeURIComponent("a b/ü"), decodeURIComponent("%C3%BC"), escape("ü"));
//// binary search tree
class Tree { insert(v) { this.root = ins(this.root, v); return this; } *[Symbol.iterator]() { yield* walk(this.root); } }
const ins = (n, v) => !n ? { v } : v < n.v ? { ...n, l: ins(n.l, v) } : { ...n, r: ins(n.r, v) };
function* walk(n) { if (n) { yield* walk(n.l); yield n.v; yield* walk(n.r); } }
console.log([...[5, 2, 8, 1, 9].reduce((t, v) => t.insert(v), new Tree())]);
//// linked list and iterator helpers
class List { #head; add(v) { this.#head = { v, next: this.#head }; return this; } *[Symbol.iterator]() { for (let n = this.#head; n; n = n.next) yield n.v; } }
const l = new List().add(1).add(2).add(3);
console.log([...l], Math.max(...l), Array.from(l, (x) => x + 1), new Set(l).has(2));
//// LRU cache
class LRU { constructor(n) { this.n = n; this.m = new Map(); } get(k) { if (!this.m.has(k)) return; const v = this.m.get(k); this.m.delete(k); this.m.set(k, v); return v; } set(k, v) { this.m.delete(k); this.m.set(k, v); if (this.m.size > this.n) this.m.delete(this.m.keys().next().value); } }
const c = new LRU(2); c.set("a", 1); c.set("b", 2); c.get("a"); c.set("c", 3);
console.log([...c.m.keys()], c.get("b"));
//// ES module imports
import fs, { readFileSync } from "node:fs";
import * as path from "path";
import { setTimeout as sleep } from "timers/promises";
fs.writeFileSync("e.txt", "esm");
await sleep(2);
console.log(readFileSync("e.txt", "utf8"), path.sep);
export const value = 1;
//// ES module with import.meta and __dirname
import { fileURLToPath } from "url";
import { dirname, isAbsolute } from "path";
import { createRequire } from "module";
const __filename = fileURLToPath(import.meta.url);
const __dirname = dirname(__filename);
const require = createRequire(import.meta.url);
console.log(isAbsolute(__dirname), typeof require("fs").readFileSync);
//// top-level await and dynamic import
const { basename } = await import("node:path");
const { default: os } = await import("os");
console.log(basename("/a/b"), typeof os.type);
for await (const x of (async function* () { yield 1; yield 2; })()) console.log(x);
const parts = await Promise.all([1, 2].map(async (n) => n * 2));
console.log(parts);
//// optional chaining and nullish assignment
const o = { a: { b: null }, f: () => "called" };
console.log(o?.a?.b?.c, o.x?.y.z, o.f?.(), o.g?.(), o.a.b ?? "dflt", 0 || "or", 0 ?? "nn");
o.n ??= 5; o.n ||= 6; o.n &&= 7;
console.log(o.n, delete o.a, "a" in o, void 0);
//// label, comma, getter on class, static block
class Config { static values = {}; static { for (const k of ["a", "b"]) Config.values[k] = k.toUpperCase(); } static get size() { return Object.keys(this.values).length; } }
console.log(Config.values, Config.size, (1, 2));
var hoisted = typeof later; function later() {} console.log(hoisted);
//// stream web API and blob
const rs = new ReadableStream({ start(c) { c.enqueue("a"); c.enqueue("b"); c.close(); } });
(async () => {
  let s = ""; for await (const v of rs) s += v;
  console.log(s, await new Blob(["he", "llo"]).text(), (await new Response('{"a":1}').json()).a, new Headers({ A: "b" }).get("a"));
})();
//// unhandled rejection that is handled late
const p = Promise.reject(new Error("late"));
p.catch((e) => console.log("caught", e.message));
//// weak refs and finalization do not throw
const r = new WeakRef({ a: 1 });
new FinalizationRegistry(() => {}).register({}, 1);
console.log(r.deref()?.a, typeof globalThis, typeof queueMicrotask, [1, 2, 3].group === undefined);
//// streams: async generator source, object mode, backpressure
const { Readable, Transform, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
async function* numbers() { for (let i = 1; i <= 6; i++) { await null; yield { i }; } }
const seen = [];
const even = new Transform({ objectMode: true, transform(o, _, done) { done(null, o.i % 2 ? undefined : o); } });
const sink = new Writable({ objectMode: true, highWaterMark: 1, write(o, _, done) { setImmediate(() => { seen.push(o.i); done(); }); } });
(async () => {
  await pipeline(Readable.from(numbers()), even, sink);
  console.log(seen, sink.writableFinished);
  console.log(await Readable.from(['a', 'b', 'c']).map((x) => x.toUpperCase()).filter((x) => x !== 'B').toArray());
  await pipeline(Readable.from(['x']), async function* (source) { for await (const x of source) yield x + '!'; }, async (source) => { for await (const x of source) console.log(String(x)); });
  await pipeline(Readable.from(['x']), new Transform({ transform(c, e, done) { done(new Error('broken')); } }), sink).catch((e) => console.log(e.message, e.code));
})();
//// async iteration: iterators by hand, early return, for await over promises
const counter = { from: 1, to: 5, [Symbol.asyncIterator]() {
  let i = this.from; const to = this.to;
  return { next: async () => (i <= to ? { value: i++, done: false } : { value: undefined, done: true }), return: async () => { console.log('closed at', i); return { done: true }; } };
} };
(async () => {
  for await (const n of counter) if (n === 3) break;
  for await (const v of [Promise.resolve('a'), 'b', new Promise((r) => setTimeout(r, 5, 'c'))]) console.log(v);
  const { once, on, EventEmitter } = require('node:events');
  const bus = new EventEmitter();
  setTimeout(() => bus.emit('ready', 42, 'x'), 1);
  console.log(await once(bus, 'ready'));
  const stop = new AbortController(), got = [];
  setTimeout(() => { bus.emit('n', 1); bus.emit('n', 2); stop.abort(); }, 1);
  try { for await (const [n] of on(bus, 'n', { signal: stop.signal })) got.push(n); } catch (e) { console.log(e.name, got); }
})();
//// Intl: money, lists, plurals, relative time and sorting
const money = new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' });
console.log(money.format(1234567.891), new Intl.NumberFormat('en-IN').format(1234567), new Intl.NumberFormat('en', { notation: 'compact' }).format(15300));
console.log(new Intl.ListFormat('en', { type: 'conjunction' }).format(['a', 'b', 'c']), new Intl.PluralRules('en', { type: 'ordinal' }).select(22));
console.log(new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-1, 'day'), new Intl.RelativeTimeFormat('fr').format(3, 'week'));
console.log(['z', 'ä', 'a', 'Z'].sort(new Intl.Collator('de').compare), ['10', '9', '2'].sort(new Intl.Collator('en', { numeric: true }).compare));
console.log(new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: 'Asia/Tokyo' }).format(new Date(Date.UTC(2024, 1, 29, 20))));
console.log(new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric' }).formatToParts(new Date(0)).map((p) => p.type).join());
console.log([...new Intl.Segmenter('en', { granularity: 'word' }).segment('Hi there!')].filter((s) => s.isWordLike).map((s) => s.segment), 'I'.toLocaleLowerCase('tr'));
//// Buffer: endianness, views, search, encodings
const b = Buffer.alloc(16);
b.writeUInt32BE(0xdeadbeef, 0); b.writeInt16LE(-2, 4); b.writeDoubleBE(Math.PI, 8);
console.log(b.toString('hex'), b.readUInt32LE(0), b.readInt16LE(4), b.readDoubleBE(8) === Math.PI);
console.log(Buffer.from('héllo wörld').toString('base64url'), Buffer.byteLength('€'), Buffer.from('aGk=', 'base64').toString(), Buffer.from('ÿ', 'latin1')[0]);
console.log(Buffer.concat([Buffer.from('ab'), Buffer.from([0, 99])]).indexOf(99), Buffer.compare(Buffer.from('a'), Buffer.from('b')), Buffer.from('abc').equals(new Uint8Array([97, 98, 99])));
const part = b.subarray(0, 2); part[0] = 1; console.log(b[0], [...Buffer.from('xyz').entries()], JSON.stringify(Buffer.from('ok')));
console.log(Buffer.from('0102zz', 'hex').length, b.swap16().subarray(0, 4), util = undefined ?? typeof Buffer.poolSize);
try { b.readUInt32BE(15); } catch (e) { console.log(e.name, e.code, e.message); }
//// URL: resolution, encoding, parts that are set
const u = new URL('../b/./c?x=1&x=2#top', 'https://user:p%40ss@example.com:8443/a/d/e');
console.log(u.href, u.origin, u.searchParams.getAll('x'), u.password, u.port);
u.searchParams.append('q', 'a b&c=ü'); u.hash = ''; u.port = '443'; u.pathname = '/ü/ '; console.log(String(u));
console.log(URL.canParse('//x', 'http://a'), URL.canParse('nope'), new URLSearchParams({ b: 2, a: 1 }).toString(), [...new URLSearchParams('?k=1&k=&=v')]);
try { new URL('nope'); } catch (e) { console.log(e.name, e.code, e.message, e.input); }
console.log(encodeURIComponent("a/b?c='d'"), decodeURI('%E2%82%AC%2F'), require('node:url').fileURLToPath('file:///a%20b'), require('node:url').format({ protocol: 'http', host: 'h', pathname: '/p' }));
console.log(new URL('http://EXAMPLE.com/%7Efoo/../bar').href, new URL('http://ex\u00e4mple.com').host);
//// fetch fails with a text, and the cause can be read
(async () => {
  try { await fetch('not a url'); } catch (e) { console.log(e.name, e.message); }
  try { await fetch('ftp://example.com/'); } catch (e) { console.log(e.name, e.message); }
  const r = new Response(JSON.stringify({ a: 1 }), { status: 201, headers: { 'content-type': 'application/json', 'X-A': '1' } });
  console.log(r.ok, r.status, r.headers.get('x-a'), await r.clone().text(), await r.json(), r.bodyUsed);
  try { await r.text(); } catch (e) { console.log(e.name, e.message); }
  const q = new Request('http://h/p?x', { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
  console.log(q.method, q.url, q.headers.get('content-type'), await q.text());
  const f = new FormData(); f.append('k', 'v'); f.append('k', 'w'); console.log(f.getAll('k'), [...new Headers([['B', '2'], ['a', '1']])]);
  console.log(await (await fetch('data:text/plain,hi%20there')).text());
  try { await fetch('http://x/', { signal: AbortSignal.abort() }); } catch (e) { console.log(e.name); }
})();
//// timers: order, cancelling, promises, unref
const { setTimeout: sleep, setImmediate: soon, setInterval: every } = require('node:timers/promises');
setTimeout(() => { console.log('t1'); setTimeout(() => console.log('t2'), 1); }, 1);
const never = setTimeout(() => console.log('never'), 1); clearTimeout(never);
setTimeout(() => console.log('unref'), 100000).unref();
const t = setTimeout(() => {}, 1000); console.log(typeof t.ref, t.hasRef(), typeof t[Symbol.toPrimitive]()); clearTimeout(t);
(async () => {
  await sleep(1); await sleep(1); await sleep(1); console.log(await sleep(1, 'slept'), await soon('soon'));
  let n = 0; for await (const v of every(1, 'tick')) { console.log(v, ++n); if (n === 2) break; }
  const stop = new AbortController(); setTimeout(() => stop.abort(), 1);
  await sleep(100000, null, { signal: stop.signal }).catch((e) => console.log(e.name, e.code));
  let left = 3; await new Promise((done) => { const i = setInterval(() => { if (!--left) { clearInterval(i); done(); } }, 1); }); console.log('left', left);
  process.nextTick(console.log, 'tick'); queueMicrotask(() => console.log('micro')); setImmediate(() => console.log('immediate'));
})();
//// csv rows grouped with reduce and Object.entries, printed as a table
const text = `date,team,points\n2024-01-01,red,3\n2024-01-02,blue,1\n2024-01-03,red,0\n2024-01-04,blue,3\n`;
const [head, ...lines] = text.trim().split('\n').map((l) => l.split(','));
const rows = lines.map((l) => Object.fromEntries(l.map((v, i) => [head[i], Number.isNaN(+v) ? v : +v])));
const byTeam = rows.reduce((m, r) => ({ ...m, [r.team]: [...(m[r.team] ?? []), r.points] }), {});
const table = Object.entries(byTeam).map(([team, p]) => ({ team, games: p.length, mean: +(p.reduce((a, b) => a + b, 0) / p.length).toFixed(2) }));
console.table(table); console.log('%s has %d rows, %i cols, %o', 'it', rows.length, 3.9, { a: [1] });
console.log(rows.toSorted((a, b) => b.points - a.points || a.date.localeCompare(b.date)).map((r) => r.date.slice(-2)), rows.findLast((r) => r.points === 3).team, rows.at(-1).date);
console.error('this is on stderr'); console.group('g'); console.log('in'); console.groupEnd(); console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
//// classes printed, circular objects, errors and Maps as console shows them
class P { #hidden = 1; constructor() { this.a = 1; } get b() { return 2; } static s = 3; }
const loop = { name: 'l' }; loop.self = loop;
console.log(new P(), P, loop, [undefined, null, -0, 10n, Symbol('s')], new Map([[{ k: 1 }, new Set([1])]]), [1, , 3], Object.create(null), () => {}, function named() {});
console.log([new Date(0), /x/g, new Uint8Array(2), Promise.resolve(1), new (class extends Error { name = 'Mine'; })('m').message, 'a'.repeat(5), ['nested', ['deep', ['er', ['est']]]]]);
console.log('%c styled', 'color: red', [1.0, 2.5], { 'a-b': 1, c: 'it\'s' }, [['x'.repeat(80)]], Array.from({ length: 120 }, (_, i) => i).length, process.argv.length >= 1);
console.log(Array.from({ length: 105 }, (_, i) => i)); console.log(new Error('x') instanceof Error, String(new TypeError('t')), `${[1, [2, 3]]}`, String({}), [] + {}, [10, 9, 1].sort());
//// text files: read, transform and write with streams and readline
const fs = require('node:fs'), readline = require('node:readline'), { finished } = require('node:stream/promises');
(async () => {
  fs.writeFileSync('in.txt', Array.from({ length: 5 }, (_, i) => `line ${i}`).join('\n') + '\n');
  const out = fs.createWriteStream('out.txt');
  for await (const line of readline.createInterface({ input: fs.createReadStream('in.txt') })) out.write(`${line.length}:${line.split(' ')[1] ** 2}\n`);
  out.end(); await finished(out);
  console.log(fs.readFileSync('out.txt', 'utf8').split('\n'), fs.statSync('out.txt').size, fs.existsSync('none'));
  fs.appendFileSync('out.txt', 'more'); fs.renameSync('out.txt', 'moved.txt'); fs.copyFileSync('moved.txt', 'copy.txt'); fs.unlinkSync('moved.txt');
  console.log(fs.readdirSync('.').filter((n) => n.endsWith('.txt')).sort());
  fs.mkdirSync('d/e', { recursive: true }); fs.writeFileSync('d/e/f', ''); console.log(fs.readdirSync('d', { recursive: true }).sort()); fs.rmSync('d', { recursive: true });
  try { fs.readFileSync('gone.txt'); } catch (e) { console.log(e.code, e.syscall, e.message); }
  const h = await fs.promises.open('copy.txt'); const { bytesRead, buffer } = await h.read(Buffer.alloc(4), 0, 4, 0); console.log(bytesRead, String(buffer)); await h.close();
})();
//// a queue with priorities, events and a deadline by AbortSignal.timeout
const { EventEmitter } = require('node:events');
class Queue extends EventEmitter {
  #jobs = []; #running = 0;
  constructor(limit) { super(); this.limit = limit; }
  add(name, run, priority = 0) { this.#jobs.push({ name, run, priority }); this.#jobs.sort((a, b) => b.priority - a.priority); queueMicrotask(() => this.#next()); return this; }
  async #next() {
    if (this.#running >= this.limit || !this.#jobs.length) return;
    const { name, run } = this.#jobs.shift(); this.#running++;
    try { this.emit('done', name, await run()); } catch (e) { this.emit('failed', name, e); } finally { this.#running--; this.#jobs.length ? this.#next() : this.#running || this.emit('idle'); }
  }
}
const q = new Queue(1).on('done', (n, v) => console.log(n, v)).on('failed', (n, e) => console.log(n, e.name)).once('idle', () => console.log('idle', q.listenerCount('idle')));
q.add('low', () => 1).add('late', () => new Promise((_, no) => { const s = AbortSignal.timeout(5); s.onabort = () => no(s.reason); setTimeout(() => {}, 20); }), 1).add('high', async () => 'first', 9);
