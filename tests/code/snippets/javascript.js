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
require("fs").stat(".", () => {
  setTimeout(() => console.log("5 timeout"));
  setImmediate(() => console.log("4 immediate"));
});
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
//// a promise chain with finally, thenables and rejections
const log = [];
const thenable = { then(ok) { log.push('then called'); ok(5); } };
Promise.resolve(thenable).then((v) => { log.push(v); throw new TypeError('bad'); })
  .catch((e) => log.push(e.name)).finally(() => log.push('finally'))
  .then((v) => console.log(log, v));
Promise.any([Promise.reject(1), new Promise((r) => setTimeout(r, 5, 'late'))]).then(console.log);
Promise.any([Promise.reject(new Error('a'))]).catch((e) => console.log(e.constructor.name, e.errors.length, e.message));
Promise.allSettled([1, Promise.reject('x')]).then((r) => console.log(JSON.stringify(r)));
//// timers in order: immediate, nextTick, microtask, timeouts and an interval
const out = [];
setTimeout(() => out.push('t10'), 10);
setTimeout(() => out.push('t0'), 0);
process.nextTick(() => out.push('tick'));
queueMicrotask(() => out.push('micro'));
Promise.resolve().then(() => { out.push('p'); process.nextTick(() => out.push('tick in p')); });
let n = 0;
const iv = setInterval(() => { out.push(`i${++n}`); if (n === 3) { clearInterval(iv); console.log(out.join(' ')); } }, 15);
out.push('sync');
//// timers/promises, scheduler and an async interval
const { setTimeout: sleep, setInterval: every, setImmediate: soon } = require('node:timers/promises');
(async () => {
  console.log(await sleep(5, 'value'), await soon('now'));
  let i = 0;
  for await (const v of every(2, 'x')) { if (++i === 3) break; }
  console.log(i);
  const ac = new AbortController();
  setTimeout(() => ac.abort(), 5);
  try { await sleep(10000, null, { signal: ac.signal }); } catch (e) { console.log(e.name, e.code); }
})();
//// event emitter: once, async iterator, error, prepend and max listeners
const { EventEmitter, once, on } = require('events');
const e = new EventEmitter();
e.on('x', (v) => console.log('second', v)); e.prependListener('x', () => console.log('first')); e.once('x', () => console.log('once'));
e.emit('x', 1); e.emit('x', 2); console.log(e.listenerCount('x'), e.eventNames());
(async () => {
  setTimeout(() => e.emit('ready', 'a', 'b'), 2);
  console.log(await once(e, 'ready'));
  setTimeout(() => { e.emit('data', 1); e.emit('data', 2); e.emit('end'); }, 2);
  const ac = new AbortController(); e.once('end', () => ac.abort());
  try { for await (const [v] of on(e, 'data', { signal: ac.signal })) console.log('data', v); } catch (err) { console.log(err.name); }
  try { e.emit('error', new Error('boom')); } catch (err) { console.log(err.message); }
})();
//// streams: Readable.from, pipeline with generators, Writable with backpressure
const { Readable, Writable, Transform, PassThrough, pipeline, finished } = require('stream');
const { promisify } = require('util');
(async () => {
  const chunks = [];
  await promisify(pipeline)(Readable.from(['a', 'b', 'c']), async function* (src) { for await (const c of src) yield String(c).toUpperCase(); },
    new Writable({ objectMode: true, highWaterMark: 1, write(c, _, cb) { setTimeout(() => { chunks.push(String(c)); cb(); }, 1); } }));
  console.log(chunks);
  const t = new Transform({ transform(c, _, cb) { cb(null, c.toString().split('').reverse().join('')); }, flush(cb) { this.push('!'); cb(); } });
  t.end('abc'); let s = ''; for await (const c of t) s += c; console.log(s);
  const p = new PassThrough(); finished(p, (err) => console.log('finished', err?.message)); p.destroy(new Error('gone'));
  p.on('error', () => {});
  console.log(await Readable.from([1, 2, 3, 4]).filter((x) => x % 2).map((x) => x * 10).toArray());
})();
//// fs streams: copy with progress, ranges, append and readline
const fs = require('fs'), readline = require('readline'), { pipeline } = require('stream/promises'), zlib = require('zlib');
(async () => {
  fs.writeFileSync('in.txt', Array.from({ length: 1000 }, (_, i) => `line ${i}`).join('\n') + '\n');
  let bytes = 0;
  await pipeline(fs.createReadStream('in.txt', { highWaterMark: 512 }).on('data', (c) => { bytes += c.length; }), zlib.createGzip(), fs.createWriteStream('in.txt.gz'));
  console.log(bytes, fs.statSync('in.txt').size, zlib.gunzipSync(fs.readFileSync('in.txt.gz')).length);
  let n = 0; for await (const line of readline.createInterface({ input: fs.createReadStream('in.txt'), crlfDelay: Infinity })) if (line.endsWith('7')) n++;
  console.log(n);
  let part = ''; for await (const c of fs.createReadStream('in.txt', { start: 0, end: 5, encoding: 'utf8' })) part += c; console.log(part);
  fs.appendFileSync('in.txt', 'last'); console.log(fs.readFileSync('in.txt', 'utf8').slice(-4));
})();
//// fs promises: mkdir, readdir with types, stat, rename, copy, rm, open
const fs = require('fs/promises'), path = require('path');
(async () => {
  await fs.mkdir('d/e/f', { recursive: true });
  await fs.writeFile('d/a.json', JSON.stringify({ x: 1 })); await fs.writeFile('d/e/b.txt', 'b');
  console.log((await fs.readdir('d', { withFileTypes: true })).map((x) => [x.name, x.isDirectory()]));
  console.log((await fs.readdir('d', { recursive: true })).sort());
  const h = await fs.open('d/a.json', 'r+'); const { bytesRead } = await h.read(Buffer.alloc(3), 0, 3, 0); await h.truncate(2); await h.close();
  console.log(bytesRead, (await fs.stat('d/a.json')).size, (await fs.readFile('d/a.json')).toString());
  await fs.copyFile('d/e/b.txt', 'd/c.txt'); await fs.rename('d/c.txt', 'd/e/f/c.txt'); await fs.cp('d', 'g', { recursive: true });
  console.log((await fs.readdir('g', { recursive: true })).length);
  await fs.rm('d', { recursive: true }); try { await fs.access('d'); } catch (e) { console.log(e.code, e.syscall); }
  const dir = await fs.mkdtemp('tmp-'); console.log(path.basename(dir).length, await fs.realpath('g').then(path.basename));
  await fs.chmod('g/a.json', 0o600); await fs.utimes('g/a.json', 1, 2); console.log((await fs.stat('g/a.json')).mtimeMs);
  await fs.symlink('a.json', 'g/l'); console.log(await fs.readlink('g/l'), (await fs.lstat('g/l')).isSymbolicLink());
})();
//// Buffer: every encoding, compare, fill, swap, slices that share memory
const b = Buffer.from('héllo wörld', 'utf8');
console.log(b.length, b.toString('hex'), b.toString('base64'), b.toString('base64url'), b.toString('latin1').length);
const s = b.subarray(0, 2); s[0] = 72; console.log(b.toString(), Buffer.compare(Buffer.from('a'), Buffer.from('b')), b.indexOf('w'), b.includes('rld'));
const w = Buffer.alloc(16); w.writeUInt32BE(0xdeadbeef, 0); w.writeDoubleLE(Math.PI, 4); w.writeInt16LE(-2, 12); console.log(w, w.readUInt32BE(0).toString(16), w.readDoubleLE(4), w.readInt16LE(12));
console.log(Buffer.concat([Buffer.from([1, 2]), Buffer.from('3')]).toJSON(), Buffer.byteLength('€'), Buffer.alloc(5, 'ab').toString(), Buffer.isBuffer(w), Buffer.from('ff', 'hex').readInt8());
console.log(Buffer.from(new Uint16Array([1, 256]).buffer), Buffer.from([1, 2, 3, 4]).swap16(), atob('aGk='), btoa('hi'), w.equals(Buffer.from(w)));
try { Buffer.alloc(2).readUInt32LE(0); } catch (e) { console.log(e.code, e.name); }
//// crypto: ciphers, kdf, hmac, random, hash streams, timing safe compare
const c = require('crypto');
const key = c.scryptSync('pw', 'salt', 32), iv = Buffer.alloc(12, 1);
const enc = c.createCipheriv('aes-256-gcm', key, iv); enc.setAAD(Buffer.from('aad'));
const ct = Buffer.concat([enc.update('secret text', 'utf8'), enc.final()]), tag = enc.getAuthTag();
const dec = c.createDecipheriv('aes-256-gcm', key, iv); dec.setAAD(Buffer.from('aad')); dec.setAuthTag(tag);
console.log(ct.toString('hex'), dec.update(ct, null, 'utf8') + dec.final('utf8'));
console.log(c.createHmac('sha512', 'k').update('a').update('b').digest('base64').slice(0, 20), c.pbkdf2Sync('p', 's', 1000, 16, 'sha256').toString('hex'));
console.log(c.randomUUID().length, c.randomBytes(8).length, c.randomInt(5, 6), c.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), c.getHashes().includes('sha256'));
const h = c.createHash('sha1'); h.write('x'); h.end(); console.log(h.read().toString('hex'));
c.pbkdf2('p', 's', 10, 8, 'sha1', (err, k) => console.log(err, k.toString('hex')));
c.randomBytes(4, (err, buf) => console.log(buf.length));
c.scrypt('pw', 's', 8, (err, k) => console.log(k.toString('hex')));
//// webcrypto: import key, sign, verify, encrypt, derive bits
const { subtle } = globalThis.crypto;
(async () => {
  const raw = new TextEncoder().encode('0123456789abcdef');
  const key = await subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  const sig = await subtle.sign('HMAC', key, new TextEncoder().encode('msg'));
  console.log(Buffer.from(sig).toString('hex').slice(0, 16), await subtle.verify('HMAC', key, sig, new TextEncoder().encode('msg')));
  const aes = await subtle.importKey('raw', raw, 'AES-CBC', true, ['encrypt', 'decrypt']);
  const ct = await subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, aes, new TextEncoder().encode('hello'));
  console.log(Buffer.from(ct).toString('hex'), new TextDecoder().decode(await subtle.decrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, aes, ct)));
  const pair = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const s = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, pair.privateKey, raw);
  console.log(s.byteLength, await subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, pair.publicKey, s, raw), crypto.getRandomValues(new Uint8Array(3)).length);
})();
//// URL, URLSearchParams, URLPattern-free routing and legacy url.parse
const url = require('url');
const u = new URL('../x?y=1&y=2#z', 'https://ex.com:8080/a/b/c');
u.searchParams.append('q', 'a b&c'); u.searchParams.sort(); u.hash = ''; u.port = '443';
console.log(u.href, [...u.searchParams], u.searchParams.getAll('y'), u.origin);
console.log(url.parse('http://h.com/p?q=1', true).query.q, url.fileURLToPath('file:///a%20b'), url.pathToFileURL('/x y').href, URL.canParse('nope'));
try { new URL('nope'); } catch (e) { console.log(e.code, e.name, e.input); }
console.log(new URLSearchParams({ a: '1', b: 'ü' }).toString(), new URL('http://münchen.de/ä').href, encodeURIComponent("a/b?c='"), decodeURI('%E4%BD%A0'));
console.log(new URL('data:text/plain,hi').protocol, u);
//// worker threads: messages, shared memory, errors, data
const { Worker, isMainThread } = require('worker_threads');
const shared = new Int32Array(new SharedArrayBuffer(4));
const w = new Worker(`const { parentPort, workerData } = require('worker_threads'); const a = new Int32Array(workerData.buf); Atomics.add(a, 0, 5);
  parentPort.on('message', (m) => { if (m === 'end') process.exit(0); parentPort.postMessage(m.map((x) => x * 2)); });`, { eval: true, workerData: { buf: shared.buffer } });
w.on('message', (m) => { console.log(m, Atomics.load(shared, 0)); w.postMessage('end'); });
w.on('exit', (code) => console.log('exit', code, isMainThread));
w.on('error', (e) => console.log('error', e.message));
w.postMessage([1, 2, 3]);
//// util: inspect options, format, promisify, types, deprecate, parseArgs, styleText-free
const util = require('util');
console.log(util.inspect({ a: { b: { c: { d: 1 } } }, f() {}, s: Symbol('x'), m: new Map([[{ k: 1 }, new Set([1])]]) }, { depth: 1, compact: true }));
console.log(util.format('%s %d %i %f %j %o %O %%', 'a', 1.5, 2.7, '3.1', { x: 1 }, [1], { y: 2 }), util.isDeepStrictEqual({ a: [1] }, { a: [1] }));
console.log(util.parseArgs({ args: ['-f', '--bar', 'b', 'pos'], options: { f: { type: 'boolean', short: 'f' }, bar: { type: 'string' } }, allowPositionals: true }).values);
console.log(util.types.isPromise(Promise.resolve()), util.inspect(new Proxy({ a: 1 }, {}), { showProxy: true }), util.inspect('it\'s'), util.stripVTControlCharacters('\u001b[31mx\u001b[0m'));
util.promisify((x, cb) => setTimeout(cb, 1, null, x + 1))(1).then(console.log);
class Temp { constructor() { this.c = 20; } [util.inspect.custom]() { return `<${this.c}°>`; } } console.log(new Temp(), [new Temp()], `${util.inspect(new Error('e')).split('\n')[0]}`);
//// console: table, group, count, dir, assert, time labels, error objects
console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]); console.table([[1, 2], [3, 4]]); console.table(new Map([['k', 'v']]));
console.group('G'); console.log('in\nside'); console.groupEnd(); console.count(); console.count('x'); console.count(); console.countReset(); console.count();
console.dir({ a: { b: { c: {} } } }, { depth: 0 }); console.log('%c styled', 'color: red'); console.log(-0, [undefined, null, , 3], { u: undefined }, [1.0, 'a'], 10n, Symbol.iterator);
console.log(new Date(0), /re/gi, function foo() {}, class Bar {}, () => {}, async () => {}, [new Date(NaN)], new Set('ab'), new WeakMap());
console.log([['a', 1], ['b', 2]], 'x'.repeat(5), Array(3), [...Array(101).keys()].length, { 'a-b': 1, 2: 3 }, [{ a: 1, b: { c: [] } }], new Uint8Array(3));
console.info('info'); console.debug('debug'); console.log(); console.log(Array.from({ length: 30 }, (_, i) => i), 'abc'.match(/b/));
//// async iterators over events, pagination with cursors and concurrency pool
async function* pages(total, size) { for (let at = 0; at < total; at += size) { await new Promise((r) => setTimeout(r, 1)); yield Array.from({ length: Math.min(size, total - at) }, (_, i) => at + i); } }
async function pool(items, limit, fn) { const out = []; const it = items.entries(); await Promise.all(Array.from({ length: limit }, async () => { for (const [i, x] of it) out[i] = await fn(x); })); return out; }
(async () => {
  let sum = 0; for await (const p of pages(10, 4)) sum += p.reduce((a, b) => a + b, 0); console.log(sum);
  let active = 0, most = 0;
  console.log(await pool([5, 1, 3, 2], 2, async (x) => { most = Math.max(most, ++active); await new Promise((r) => setTimeout(r, x)); active--; return x * x; }), most);
  const gen = pages(100, 1); await gen.next(); console.log(await gen.return('early'), await gen.next());
})().catch((e) => console.error(e));
//// process: env, argv, hrtime, memory, exit code, uptime, emitWarning, cwd
console.log(typeof process.pid, process.argv.length >= 1, process.platform, typeof process.env.PATH !== 'number', process.version.startsWith('v'));
const t = process.hrtime.bigint(); console.log(typeof (process.hrtime.bigint() - t), process.memoryUsage().heapUsed > 0, process.uptime() > 0, process.hrtime()[0] >= 0);
process.env.MY_VAR = 5; console.log(process.env.MY_VAR, 'NOPE' in process.env, process.cwd() === require('path').resolve('.'));
process.on('exit', (c) => console.log('exit handler', c)); process.on('beforeExit', () => console.log('before exit'));
process.stdout.write('no newline'); process.stdout.write('\n'); console.log(process.stdout.isTTY ?? false, process.release.name, typeof process.title);
//// process.exit in the middle keeps what was printed
const fs = require('fs');
console.log('before'); fs.writeFileSync('a.txt', 'x');
process.on('exit', (c) => console.log('code', c));
setTimeout(() => console.log('never'), 50);
process.exit(0);
console.log('unreachable');
//// uncaughtException and unhandledRejection handlers keep the process alive
process.on('uncaughtException', (e, origin) => { console.log('caught', e.message, origin); });
process.on('unhandledRejection', (r) => { console.log('rejected', r.message); });
setTimeout(() => { throw new Error('in timer'); }, 1);
setTimeout(() => { Promise.reject(new Error('in promise')); }, 3);
setTimeout(() => console.log('still here'), 10);
//// http server and client on loop-back
const http = require('http');
const s = http.createServer((q, r) => r.end('ok ' + q.url));
s.listen(0, '127.0.0.1', () => { console.log(s.address().address, s.address().family, s.address().port > 1023); http.get({ port: s.address().port, path: '/x' }, (r) => { r.on('data', (d) => console.log(String(d))); r.on('end', () => s.close(() => console.log('done'))); }); });
//// child_process fails with an error that can be caught
const cp = require('child_process');
let out; try { out = cp.execSync('echo hi', { stdio: 'pipe' }).toString().trim(); } catch { out = 'hi'; } console.log(out);
cp.exec('echo x', (err, so) => console.log(err ? 'x' : so.trim()));
//// structuredClone, Error subclasses, AggregateError, cause and stack lines
class HttpError extends Error { constructor(status, msg, o) { super(msg, o); this.name = 'HttpError'; this.status = status; } }
try { try { JSON.parse('{'); } catch (e) { throw new HttpError(502, 'bad upstream', { cause: e }); } } catch (e) { console.log(String(e), e.status, e.cause.name, e instanceof HttpError, e.stack.split('\n')[0]); }
const o = { d: new Date(0), m: new Map([[1, { a: new Set([1]) }]]), r: /x/g, self: null }; o.self = o; const k = structuredClone(o); console.log(k.self === k, k.m.get(1).a.has(1), k.d.getTime());
try { structuredClone(() => {}); } catch (e) { console.log(e.name, e.code); }
function deep() { throw new RangeError('x'); } try { deep(); } catch (e) { console.log(/at deep/.test(e.stack)); }
try { (function f() { f(); })(); } catch (e) { console.log(e.name, e.message); } try { null.x; } catch (e) { console.log(e.message); } try { undefinedVar; } catch (e) { console.log(e.message); }
//// data: group by, flatten, dedupe, deep merge, sort by locale, number formats
const rows = [{ c: 'ä', n: 2 }, { c: 'z', n: 10 }, { c: 'a', n: 1 }, { c: 'z', n: 5 }];
const by = rows.reduce((m, r) => ((m[r.c] ??= []).push(r.n), m), {}); console.log(by, Object.entries(by).sort(([a], [b]) => a.localeCompare(b, 'de')).map(([k]) => k));
console.log([...new Set(rows.map((r) => r.c))], [3, 20, 100].sort(), [3, 20, 100].toSorted((a, b) => b - a), [1, [2, [3, [4]]]].flat(Infinity), rows.findLast((r) => r.c === 'z').n, rows.at(-1));
const merge = (a, b) => Object.fromEntries([...new Set([...Object.keys(a), ...Object.keys(b)])].map((k) => [k, a[k]?.constructor === Object && b[k]?.constructor === Object ? merge(a[k], b[k]) : k in b ? b[k] : a[k]])); console.log(merge({ a: { x: 1, y: 2 }, z: 1 }, { a: { y: 3 }, w: [1] }));
console.log((1234567.891).toLocaleString('en-US'), (1234.5).toLocaleString('de-DE', { style: 'currency', currency: 'EUR' }), new Intl.NumberFormat('en', { notation: 'compact' }).format(12345), (0.1 + 0.2).toFixed(2), (255).toString(2), Number('0x1f'), parseInt('12px'), Number(''), (25).toString(36));
console.log(new Date(Date.UTC(2024, 1, 29)).toLocaleDateString('en-GB', { weekday: 'long', month: 'short', day: 'numeric', timeZone: 'UTC' }), new Date('2024-03-10T12:00:00Z').toISOString(), new Date(2024, 0, 31).getMonth(), new Date('x').getTime());
//// dynamic import of builtins, JSON and own modules, createRequire, import of CommonJS
const fs = await import('node:fs');
fs.writeFileSync('m.mjs', 'export default 7; export const a = 1; export function f() { return import.meta.url.endsWith("m.mjs"); }');
fs.writeFileSync('c.cjs', 'exports.x = 1; exports.name = __filename.endsWith("c.cjs"); module.exports.y = require("path").sep;');
fs.writeFileSync('d.json', '{"k": [1, 2]}');
const m = await import('./m.mjs'); console.log(m.default, m.a, m.f());
const c = await import('./c.cjs'); console.log(c.default, c.x);
const { createRequire } = await import('module'); const require2 = createRequire(import.meta.url); console.log(require2('./d.json').k, require2('./c.cjs').y);
try { await import('./nope.mjs'); } catch (e) { console.log(e.code); } try { await import('left-pad'); } catch (e) { console.log(e.code); }
//// vm, eval, Function, label loops, getter tricks, symbol protocols
const vm = require('vm');
console.log(vm.runInNewContext('x + y', { x: 1, y: 2 }), eval('1+1'), new Function('a', 'b', 'return a*b')(3, 4), (0, eval)('typeof exports2'));
const range = { from: 1, to: 4, [Symbol.iterator]: function* () { for (let i = this.from; i <= this.to; i++) yield i; }, [Symbol.toPrimitive]: (h) => (h === 'number' ? 42 : 'str') }; console.log([...range], +range, `${range}`);
outer: for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) { if (j === 1) continue outer; if (i === 2) break outer; console.log(i, j); }
console.log([..."👍🏽é"].length, '👍'.codePointAt(0).toString(16), 'abc'.replace(/(?<x>b)/, '[$<x>]'), 'a1b2'.replaceAll(/\d/g, (d) => d * 2), 'x'.padStart(3, '-'), [...'a1b22'.matchAll(/\d+/g)].map((m) => m.index), 'İ'.toLowerCase().length, 'ß'.toUpperCase(), 'é'.normalize('NFD').length);
//// generators as state machines, iterator return, spread of maps, destructured params
function* machine() { let state = 'idle'; try { while (true) { const ev = yield state; state = { idle: { go: 'run' }, run: { stop: 'idle' } }[state][ev] ?? state; } } finally { console.log('closed', state); } }
const g = machine(); g.next(); console.log(g.next('go').value, g.next('nope').value, g.return('bye'));
const fn = ({ a = 1, b: { c = 2, ...rest } = {}, ...others } = {}, [x, , y = 9] = [], ...more) => [a, c, rest, others, x, y, more]; console.log(fn(), fn({ b: { d: 4 }, e: 5 }, [1, 2], 3, 4));
console.log(Object.fromEntries(new Map([['a', 1]])), [...new Map([[1, 2]]).entries()], Array.from('abc', (c, i) => c + i), [..."ab"].entries().next());
//// streams on the web: ReadableStream, TextDecoderStream, Response, FormData, Headers, Blob
(async () => {
  const rs = new ReadableStream({ start(c) { c.enqueue('a'); c.enqueue('b'); c.close(); } });
  const up = new TransformStream({ transform(x, c) { c.enqueue(x.toUpperCase()); } }); let s = ''; for await (const x of rs.pipeThrough(up)) s += x; console.log(s);
  const r = new Response(JSON.stringify({ a: 1 }), { status: 201, headers: { 'Content-Type': 'application/json' } }); console.log(r.status, r.ok, r.headers.get('content-type'), await r.json());
  const f = new FormData(); f.append('k', 'v'); f.append('file', new Blob(['hello'], { type: 'text/plain' }), 'h.txt'); console.log([...f.keys()], await f.get('file').text(), f.get('file').name);
  const h = new Headers([['X-A', '1'], ['x-a', '2']]); console.log(h.get('X-a'), [...h]); console.log(await new Blob(['ab', 'cd']).slice(1, 3).text(), new Request('http://x.y/z', { method: 'POST', body: 'q' }).method);
  console.log(await new Response(new Blob(['z']).stream().pipeThrough(new CompressionStream('gzip')).pipeThrough(new DecompressionStream('gzip'))).text());
})();
//// performance, AbortSignal.any-like, EventTarget, CustomEvent-free, AsyncLocalStorage, BroadcastChannel
const { AsyncLocalStorage } = require('async_hooks'); const { performance, PerformanceObserver } = require('perf_hooks');
const als = new AsyncLocalStorage(); als.run({ id: 7 }, () => setTimeout(() => Promise.resolve().then(() => console.log('als', als.getStore().id)), 2)); console.log(als.getStore());
const et = new EventTarget(); et.addEventListener('ping', (e) => console.log(e.type, e.detail ?? 'none'), { once: true }); et.dispatchEvent(new Event('ping')); et.dispatchEvent(new Event('ping'));
const s = AbortSignal.timeout(3); s.addEventListener('abort', () => console.log(s.reason.name)); const keep = setTimeout(() => {}, 20);
const { port1, port2 } = new MessageChannel(); setTimeout(() => { port2.onmessage = (e) => { console.log('port', e.data); port1.close(); }; port1.postMessage({ a: [1] }); }, 30);
console.log(performance.now() > 0, typeof performance.timeOrigin, performance.timerify(() => 3)());
//// csv file to json summary with streams, all with callbacks
const fs = require('fs');
fs.writeFile('s.csv', 'd,v\n2024-01-01,5\n2024-01-02,7\n2024-02-01,1\n', (err) => {
  if (err) throw err;
  fs.readFile('s.csv', 'utf8', (err, text) => {
    const [head, ...lines] = text.trim().split('\n'); const sum = {};
    for (const l of lines) { const [d, v] = l.split(','); sum[d.slice(0, 7)] = (sum[d.slice(0, 7)] || 0) + +v; }
    fs.writeFile('s.json', JSON.stringify(sum, null, 2), () => fs.stat('s.json', (e, st) => { console.log(st.size, head); fs.unlink('s.csv', () => fs.exists('s.csv', (x) => console.log(x, sum))); }));
  });
});
//// errors printed: frames of the program with their places, and none of what runs it
class QueryError extends Error {
  constructor(text, options) { super(text, options); this.name = 'QueryError'; this.status = 500; }
}
function query(text) {
  if (!text) throw new QueryError('empty query');
  return text.length;
}
const frames = (error) => error.stack.split('\n').slice(1).filter((line) => !/node:/.test(line)).map((line) => line.trim().replace(/\(?(?:[\w:./-]*\/)?[\w-]+(?:\.\w+)?(:\d+:\d+)\)?$/, '$1'));
try { query(''); } catch (error) { console.log(error.name, frames(error)[0], /sallyport/.test(error.stack), error.stack.split('\n')[0]); }
setTimeout(() => { const late = new Error('late'); console.log(frames(late), /sallyport/.test(late.stack)); }, 1);
[1].forEach(function each() { console.log(frames(new Error('in a callback'))[0]); });
Promise.reject(new QueryError('rejected')).catch((error) => console.log(/sallyport/.test(error.stack), error.message));
//// a worker of the program's own file
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
if (isMainThread) {
  const inWorker = (n) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: n });
    worker.once('message', resolve).once('error', reject);
  });
  Promise.all([10, 15].map(inWorker)).then(async (values) => {
    console.log(values);
    await inWorker(-1).catch((error) => console.log(error.name, error.message));
  });
} else if (workerData < 0) throw new RangeError('no such number');
else parentPort.postMessage({ n: workerData, value: fib(workerData), file: __filename.split('/').pop().slice(0, 4) });
//// a worker of an ES module's own file
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
if (isMainThread) {
  for (const file of [new URL(import.meta.url), fileURLToPath(import.meta.url)]) {
    const worker = new Worker(file);
    worker.postMessage([1, 2, 3]);
    console.log(await new Promise((resolve) => worker.once('message', resolve)));
    await worker.terminate();
  }
} else parentPort.on('message', (numbers) => parentPort.postMessage(numbers.map((n) => n * n)));
//// WebAssembly: compiled and instantiated asynchronously
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
WebAssembly.instantiate(bytes).then(async ({ instance, module }) => {
  console.log(instance.exports.add(2, 3), WebAssembly.Module.exports(module), WebAssembly.validate(bytes));
  const again = await WebAssembly.instantiate(await WebAssembly.compile(bytes), {});
  console.log(again.exports.add(40, 2), again instanceof WebAssembly.Instance);
  await WebAssembly.compile(new Uint8Array([1, 2])).catch((error) => console.log(error.name));
});
//// dynamic import of file URLs, import.meta.resolve and data: modules
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
writeFileSync('counter.mjs', 'export let n = 0; export const next = () => ++n; export const here = import.meta.url.split("/").pop();');
const counter = await import(pathToFileURL('counter.mjs'));
counter.next();
console.log(counter.n, counter.here, counter === (await import('./counter.mjs')), counter === (await import(pathToFileURL('counter.mjs').href)));
console.log((await import('data:text/javascript,export default 6 * 7')).default, import.meta.resolve('fs'), import.meta.resolve('./counter.mjs').endsWith('/counter.mjs'));
await import(pathToFileURL('missing.mjs').href).catch((error) => console.log(error.code));
//// fetch without a network: the cause has a code, interfaces of the machine can be asked for
const os = require('os');
console.log(typeof os.networkInterfaces(), process.execArgv);
fetch('http://127.0.0.1:59999/').catch((error) => console.log(error.name, error instanceof TypeError, error.message.startsWith('fetch failed'), typeof error.cause.code, error.cause instanceof Error));
//// phases of the loop: what a file's callback has queued comes before immediates and timers
const fs = require('fs');
fs.writeFileSync('empty', '');
fs.readFile('empty', () => {
  setTimeout(() => console.log('timeout'), 30);
  setImmediate(() => console.log('immediate'));
  process.nextTick(() => console.log('tick'));
  Promise.resolve().then(() => console.log('microtask'));
});
process.nextTick(() => { console.log('first tick'); process.nextTick(() => console.log('second tick')); });
Promise.resolve().then(() => { console.log('promise'); process.nextTick(() => console.log('tick of the promise')); }).then(() => console.log('then'));
console.log('synchronous');
//// phases of the loop: an error in a tick of a file's callback ends up with the listener
const fs = require('fs');
process.on('uncaughtException', (error) => console.log('caught', error.message));
fs.stat('.', () => {
  process.nextTick(() => { throw new Error('in a tick'); });
  setImmediate(() => console.log('immediate'));
  setTimeout(() => console.log('still alive'), 20);
});
//// http: a small REST API with routes, JSON bodies and status codes, called by fetch
const http = require('node:http');
const items = new Map(); let next = 1;
const server = http.createServer(async (req, res) => {
  const url = new URL(req.url, 'http://x'), [, kind, id] = url.pathname.split('/');
  const send = (status, body) => { res.writeHead(status, { 'content-type': 'application/json' }); res.end(JSON.stringify(body)); };
  if (kind !== 'items') return send(404, { error: 'no route' });
  if (req.method === 'POST') { let text = ''; for await (const c of req) text += c; const item = { id: next++, ...JSON.parse(text) }; items.set(item.id, item); return send(201, item); }
  if (req.method === 'DELETE') return send(items.delete(Number(id)) ? 200 : 404, { gone: id });
  if (id) return items.has(Number(id)) ? send(200, items.get(Number(id))) : send(404, { error: `no ${id}` });
  send(200, [...items.values()].filter((i) => !url.searchParams.has('q') || i.name.includes(url.searchParams.get('q'))));
});
(async () => {
  await new Promise((done) => server.listen(0, done));
  const base = `http://localhost:${server.address().port}`;
  for (const name of ['pen', 'pencil', 'ink']) { const r = await fetch(`${base}/items`, { method: 'POST', body: JSON.stringify({ name }) }); console.log(r.status, await r.json()); }
  console.log((await (await fetch(`${base}/items?q=pen`)).json()).map((i) => i.name), (await fetch(`${base}/items/2`, { method: 'DELETE' })).status);
  const missing = await fetch(`${base}/items/2`); console.log(missing.status, missing.ok, missing.headers.get('content-type'), await missing.json());
  console.log((await fetch(`${base}/nothing`)).status, (await Promise.all([1, 3].map((i) => fetch(`${base}/items/${i}`).then((r) => r.json())))).map((i) => i.name));
  server.close(() => console.log('closed')); server.closeAllConnections();
})();
//// net: an echo server, several clients, half-open ends and a port in use
const net = require('node:net');
const server = net.createServer({ allowHalfOpen: true }, (c) => { let text = ''; c.setEncoding('utf8').on('data', (d) => text += d).on('end', () => c.end(text.split('').reverse().join(''))); });
server.listen(0, '127.0.0.1', async () => {
  const { port } = server.address();
  const ask = (text) => new Promise((done, fail) => { let got = ''; const c = net.connect({ port, host: '127.0.0.1' }, () => c.end(text)); c.on('data', (d) => got += d).on('end', () => done(got)).on('error', fail); });
  console.log(await Promise.all(['abc', 'hello', 'x'.repeat(3)].map(ask)), (await ask('ab'.repeat(200000))).length);
  const other = net.createServer().on('error', (e) => { console.log(e.code, e.syscall, e.port === port); server.close(() => console.log('closed', server.listening)); });
  other.listen(port, '127.0.0.1');
});
//// http: streamed responses, server-sent events, keep-alive agent, timeout and a refused port
const http = require('node:http');
const server = http.createServer((req, res) => {
  if (req.url === '/slow') return;
  res.writeHead(200, { 'content-type': 'text/event-stream' }); let n = 0;
  const t = setInterval(() => { res.write(`data: ${++n}\n\n`); if (n === 3) { clearInterval(t); res.end(); } }, 2);
});
(async () => {
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const port = server.address().port, url = `http://127.0.0.1:${port}`;
  let text = ''; for await (const chunk of (await fetch(url)).body) text += new TextDecoder().decode(chunk); console.log(JSON.stringify(text));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const get = () => new Promise((done, fail) => http.get(url, { agent }, (r) => { r.resume().on('end', () => done(r.statusCode)); }).on('error', fail)); console.log(await Promise.all([get(), get(), get()]));
  await fetch(`${url}/slow`, { signal: AbortSignal.timeout(20) }).catch((e) => console.log(e.name));
  http.get(`${url}/slow`, { timeout: 20 }).on('timeout', function () { this.destroy(new Error('too slow')); }).on('error', (e) => {
    console.log(e.message); agent.destroy(); server.close(() => { http.get(url).on('error', (e) => console.log(e.code, e.syscall, e.address)); }); server.closeAllConnections(); });
})();
//// worker threads: a pool that takes jobs, transferred buffers, Atomics and an error in one worker
const { Worker } = require('node:worker_threads');
const source = `const { parentPort, workerData } = require('node:worker_threads'); const view = new Int32Array(workerData.shared);
parentPort.on('message', ({ id, n, buffer }) => { if (n === 13) throw new Error('thirteen'); Atomics.add(view, 0, n); if (buffer) { new Uint8Array(buffer).fill(n); return parentPort.postMessage({ id, buffer }, [buffer]); } let f = 1n; for (let i = 2n; i <= n; i++) f *= i; parentPort.postMessage({ id, f }); });`;
const shared = new SharedArrayBuffer(4);
const make = () => new Worker(source, { eval: true, workerData: { shared } });
const pool = [make(), make()]; let next = 0;
const ask = (job, w = pool[next++ % 2]) => new Promise((done, fail) => { const id = next; const on = (m) => { if (m.id !== id) return; w.off('message', on); done(m); }; w.on('message', on).once('error', fail); w.postMessage({ id, ...job }, job.buffer ? [job.buffer] : []); });
(async () => {
  console.log((await Promise.all([5n, 10n, 20n].map((n) => ask({ n: Number(n) })))).map((m) => m.f));
  const buffer = new ArrayBuffer(3), got = await ask({ n: 9, buffer }); console.log(buffer.byteLength, new Uint8Array(got.buffer));
  console.log(Atomics.load(new Int32Array(shared), 0)); const bad = make(); await ask({ n: 13 }, bad).catch((e) => console.log(e.name, e.message));
  console.log(await Promise.all(pool.map((w) => w.terminate())));
})();
//// async iterators: a queue that can be awaited, a merge, a throttle, and return called on break
class AsyncQueue { #items = []; #waiting = []; #closed = false;
  push(x) { const w = this.#waiting.shift(); w ? w({ value: x, done: false }) : this.#items.push(x); } close() { this.#closed = true; for (const w of this.#waiting) w({ value: undefined, done: true }); }
  [Symbol.asyncIterator]() { return { next: () => this.#items.length ? Promise.resolve({ value: this.#items.shift(), done: false }) : this.#closed ? Promise.resolve({ value: undefined, done: true }) : new Promise((r) => this.#waiting.push(r)), return: async () => { console.log('returned'); return { value: undefined, done: true }; } }; } }
async function* merge(...sources) { const its = sources.map((s) => s[Symbol.asyncIterator]()); const step = (it, i) => it.next().then((r) => ({ r, i })); const open = new Map(its.map((it, i) => [i, step(it, i)])); while (open.size) { const { r, i } = await Promise.race(open.values()); if (r.done) open.delete(i); else { open.set(i, step(its[i], i)); yield r.value; } } }
async function* count(n, ms) { for (let i = 0; i < n; i++) { await new Promise((r) => setTimeout(r, ms)); yield i; } }
async function* map(it, f) { for await (const x of it) yield f(x); }
async function* take(it, n) { if (n > 0) for await (const x of it) { yield x; if (--n <= 0) return; } }
(async () => {
  const q = new AsyncQueue(); q.push(1); setTimeout(() => { q.push(2); q.push(3); }, 5);
  for await (const x of q) { console.log(x); if (x === 3) break; } q.close();
  const all = []; for await (const x of merge(count(3, 2), map(count(2, 3), (x) => 'b' + x))) all.push(x); console.log(all.map(String).sort());
  console.log(await Array.fromAsync?.(take(count(100, 1), 3)) ?? [0, 1, 2]);
  const g = count(5, 1); await g.next(); console.log(await g.return('early'), await g.next()); await (async () => { for await (const x of [Promise.resolve('a'), 'b', Promise.reject(new Error('c'))]) console.log(x); })().catch((e) => console.log('caught', e.message));
})();
//// streams: a line splitter, a CSV parser, a batcher, gzip through files, objects and errors in the middle
const { Transform, Readable, Writable, PassThrough } = require('node:stream'), { pipeline } = require('node:stream/promises'), fs = require('node:fs'), zlib = require('node:zlib');
const lines = () => { let rest = ''; return new Transform({ readableObjectMode: true, transform(c, e, d) { const parts = (rest + c).split('\n'); rest = parts.pop(); for (const p of parts) this.push(p); d(); }, flush(d) { if (rest) this.push(rest); d(); } }); };
const batch = (n) => { let some = []; return new Transform({ objectMode: true, transform(x, e, d) { some.push(x); if (some.length === n) { this.push(some); some = []; } d(); }, flush(d) { if (some.length) this.push(some); d(); } }); };
(async () => {
  await pipeline(Readable.from(Array.from({ length: 1000 }, (_, i) => `${i},${i * i}\n`)), zlib.createGzip(), fs.createWriteStream('n.csv.gz'));
  const seen = []; await pipeline(fs.createReadStream('n.csv.gz'), zlib.createGunzip(), lines(), batch(300), new Writable({ objectMode: true, highWaterMark: 1, write(x, e, d) { seen.push(x.length); setImmediate(d); } })); console.log(seen);
  const sum = await fs.createReadStream('n.csv.gz').pipe(zlib.createGunzip()).pipe(lines()).map((l) => Number(l.split(',')[1])).filter((n) => n % 2).reduce((a, b) => a + b, 0); console.log(sum);
  await pipeline(Readable.from(['a', 'b']), async function* (s) { for await (const c of s) { if (c == 'b') throw new TypeError('bad chunk'); yield c; } }, new PassThrough()).catch((e) => console.log(e.name, e.message));
  await pipeline(fs.createReadStream('none.txt'), new PassThrough()).catch((e) => console.log(e.code)); await pipeline(Readable.from([Buffer.from('not gzip')]), zlib.createGunzip(), new PassThrough()).catch((e) => console.log(e.code, e.message));
  const r = new Readable({ read() {} }); r.push('x'); r.push(null); console.log(await r.toArray(), r.readableEnded, r.destroyed); const [a, b] = new Response('tee').body.tee(); console.log(await new Response(a).text(), await new Response(b).text());
})();
//// text encodings: TextDecoder labels, fatal mode, base64url, latin1, utf16, code points and normalisation
const text = 'Grüße 世界 🌍';
for (const e of ['utf8', 'utf16le', 'latin1', 'ascii', 'base64', 'base64url', 'hex']) console.log(e, Buffer.from(text).toString(e).slice(0, 40), Buffer.byteLength(text, e));
console.log(new TextDecoder('utf-16le').decode(Buffer.from(text, 'utf16le')) === text, new TextDecoder('windows-1252').decode(Uint8Array.of(0x80, 0xe9)), new TextDecoder('shift_jis').decode(Uint8Array.of(0x93, 0xfa)), new TextDecoder().encoding);
try { new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(0xff)); } catch (e) { console.log(e.name, e.code); } try { new TextDecoder('nope'); } catch (e) { console.log(e.name, e.code); }
console.log([...text].length, text.length, text.codePointAt(9).toString(16), String.fromCodePoint(0x1f30d), 'é'.normalize('NFD').length, escape('é'), encodeURIComponent('ä/&'), decodeURIComponent('%E4%B8%96'), btoa('hi'), atob('aGk='));
try { btoa('世'); } catch (e) { console.log(e.name); } try { decodeURIComponent('%E4%B8'); } catch (e) { console.log(e.name, e.message); }
const d = new TextDecoder(); let s = ''; for (const b of new TextEncoder().encode('é世')) s += d.decode(Uint8Array.of(b), { stream: true }); console.log(s, new TextEncoder().encodeInto('abc', new Uint8Array(2)), Buffer.from('\ufeffx').toString().charCodeAt(0), 'a\ud800'.isWellFormed(), 'a\ud800'.toWellFormed());
console.log(['z', 'ä', 'a', 'Z'].sort(), ['z', 'ä', 'a', 'Z'].sort(new Intl.Collator('de').compare), 'İ'.toLowerCase().length, 'ß'.toUpperCase(), [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment('👨‍👩‍👧é')].length);
//// dates with zones: Intl parts, offsets, DST, ISO weeks, ranges and durations
const at = new Date(Date.UTC(2024, 2, 31, 0, 30));
const parts = (d, timeZone) => Object.fromEntries(new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'short', timeStyle: 'long' }).formatToParts(d).filter((p) => p.type !== 'literal').map((p) => [p.type, p.value]));
for (const z of ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'UTC']) console.log(z, parts(at, z), at.toLocaleString('sv-SE', { timeZone: z }));
const offset = (d, timeZone) => (Date.parse(d.toLocaleString('sv-SE', { timeZone }).replace(' ', 'T') + 'Z') - Math.floor(d / 1000) * 1000) / 60000; console.log([0, 1, 2, 6].map((m) => offset(new Date(Date.UTC(2024, m * 2, 1)), 'Europe/Berlin')));
const week = (d) => { const t = new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate())); t.setUTCDate(t.getUTCDate() + 4 - (t.getUTCDay() || 7)); return [t.getUTCFullYear(), Math.ceil(((t - Date.UTC(t.getUTCFullYear(), 0, 1)) / 864e5 + 1) / 7)]; }; console.log(week(new Date('2024-12-30')), week(new Date('2021-01-03')));
console.log(new Date('2024-02-30'), new Date(2024, 0, 31 + 30).toDateString(), new Date('2024-02-29T12:00:00+05:30').toISOString(), Date.parse('nope'), new Date(8.64e15 + 1).getTime(), new Date(2024, 1, 0).getDate());
console.log(new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' }).formatRange(new Date('2024-01-30'), new Date('2024-02-02')), new Intl.RelativeTimeFormat('de', { numeric: 'auto' }).format(-1, 'day'), Intl.DateTimeFormat().resolvedOptions().timeZone, at.getTimezoneOffset()); try { new Date(NaN).toISOString(); } catch (e) { console.log(e.name, e.message); } try { new Intl.DateTimeFormat('en', { timeZone: 'Mars/X' }); } catch (e) { console.log(e.name, e.message); }
//// large outputs: many lines, a long line, a table, and a deep object
for (let i = 0; i < 700; i++) console.log(String(i).padStart(5, '0'), 'x'.repeat(20));
console.log('y'.repeat(15000)); process.stdout.write('part one, '); process.stdout.write('part two\n');
console.log(Array.from({ length: 150 }, (_, i) => i), { a: { b: { c: { d: 1 } } }, long: 'z'.repeat(120), map: new Map(Array.from({ length: 5 }, (_, i) => [i, { i }])) });
console.dir({ a: { b: { c: { d: { e: 1 } } } } }, { depth: null }); console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]);
//// concurrency: a mutex, a semaphore, a circuit breaker, deduplicated calls and a debounced batch
const sleep = (ms, v) => new Promise((r) => setTimeout(r, ms, v));
class Semaphore { constructor(n) { this.n = n; this.q = []; } async use(f) { if (this.n === 0) await new Promise((r) => this.q.push(r)); else this.n--; try { return await f(); } finally { const next = this.q.shift(); next ? next() : this.n++; } } }
class Breaker { fails = 0; constructor(f, max) { this.f = f; this.max = max; } async call(...a) { if (this.fails >= this.max) throw new Error('open'); try { const r = await this.f(...a); this.fails = 0; return r; } catch (e) { this.fails++; throw e; } } }
const once = (f, flying = new Map()) => (k) => { if (!flying.has(k)) flying.set(k, f(k).finally(() => flying.delete(k))); return flying.get(k); };
const batcher = (f) => { let some = null; return (x) => { some ??= { xs: [], p: Promise.resolve().then(() => { const { xs } = some; some = null; return f(xs); }) }; const i = some.xs.push(x) - 1; return some.p.then((r) => r[i]); }; };
(async () => {
  let active = 0, most = 0; const s = new Semaphore(3); console.log(await Promise.all(Array.from({ length: 8 }, (_, i) => s.use(async () => { most = Math.max(most, ++active); await sleep(2); active--; return i; }))), most);
  const b = new Breaker(async (x) => { if (x < 0) throw new RangeError('neg'); return x; }, 2); for (const x of [1, -1, -1, 2]) await b.call(x).then(console.log, (e) => console.log(e.name, e.message));
  let calls = 0; const load = once(async (k) => { calls++; await sleep(2); return k + '!'; }); console.log(await Promise.all(['a', 'a', 'b'].map(load)), calls); await load('a'); console.log(calls);
  const doubles = batcher(async (xs) => { console.log('batch', xs); return xs.map((x) => x * 2); }); console.log(await Promise.all([1, 2, 3].map(doubles)), await doubles(4));
  console.log(await Promise.any([sleep(50, 'slow'), sleep(1, 'fast'), Promise.reject(new Error('x'))]), (await Promise.allSettled([sleep(1, 1), Promise.reject(2)])).map((r) => r.status), await Promise.race([sleep(1000, 'late').then(() => 0), sleep(1, 'first')]));
  process.exit(0);
})();

//// top-level await with fs/promises, glob-free walk, and error codes
import { mkdir, writeFile, readFile, readdir, stat, rm, access, constants, cp, appendFile, open, symlink, readlink, utimes, chmod, truncate, mkdtemp, watch } from 'node:fs/promises';
import path from 'node:path';
import os from 'node:os';
await mkdir('a/b/c', { recursive: true });
await writeFile('a/one.txt', 'one\n'); await appendFile('a/one.txt', 'two\n'); await writeFile('a/b/c/deep.json', JSON.stringify({ x: [1, 2] }));
async function* walk(d) { for (const e of await readdir(d, { withFileTypes: true })) { const p = path.join(d, e.name); if (e.isDirectory()) yield* walk(p); else yield p; } }
for await (const f of walk('a')) console.log(f);
console.log(await readdir('a', { recursive: true }));
console.log(JSON.parse(await readFile('a/b/c/deep.json', 'utf8')), (await stat('a/one.txt')).size);
for (const f of ['missing', 'a']) { try { await readFile(f); } catch (e) { console.log(e.code, e.syscall, e.message.slice(0, 40)); } }
await symlink('one.txt', 'a/l'); console.log(await readlink('a/l'));
await chmod('a/one.txt', 0o600); console.log(((await stat('a/one.txt')).mode & 0o777).toString(8));
await utimes('a/one.txt', 1, 2); console.log((await stat('a/one.txt')).mtimeMs);
await truncate('a/one.txt', 2); console.log(await readFile('a/one.txt', 'latin1'));
await cp('a', 'z', { recursive: true }); console.log((await readdir('z')).sort());
const h = await open('log.txt', 'w+'); await h.write('line1\nline2\nline3\n'); for await (const l of (await open('log.txt')).readLines()) console.log('>', l); await h.close();
const t = await mkdtemp(path.join(os.tmpdir(), 'x-')); console.log(path.basename(t).length); await rm(t, { recursive: true, force: true });
try { await access('nope', constants.R_OK); } catch (e) { console.log(e.code); }
await rm('z', { recursive: true }); console.log((await readdir('.')).filter((f) => !/^main|node_modules/.test(f)).sort());

//// node:test mocks and timers used by hand
const { mock } = require('node:test');
const f = mock.fn((a, b) => a + b);
console.log(f(1, 2), f.mock.callCount(), f.mock.calls[0].arguments);
const o = { m() { return 'real'; } };
mock.method(o, 'm', () => 'mocked'); console.log(o.m()); mock.restoreAll(); console.log(o.m());

//// readline over a string and question at end of input
const readline = require('node:readline'), { Readable } = require('node:stream'), rlp = require('node:readline/promises');
const rl = readline.createInterface({ input: Readable.from(['a,b\nc', ',d\n\ne']), crlfDelay: Infinity });
(async () => {
  for await (const line of rl) console.log(JSON.stringify(line));
  const ask = readline.createInterface({ input: process.stdin, output: process.stdout });
  ask.question('Name? ', (n) => console.log('hi', n));
  ask.on('close', () => console.log('[closed]'));
})();

//// AbortController with fetch-like, timers, events and streams
import { setTimeout as sleep, setInterval as every } from 'node:timers/promises';
import { once, EventEmitter, on } from 'node:events';
const ac = new AbortController();
setTimeout(() => ac.abort(new Error('stop')), 20);
try { await sleep(5000, null, { signal: ac.signal }); } catch (e) { console.log(e.name, e.code, e.cause?.message); }
console.log(ac.signal.aborted, ac.signal.reason.message);
try { AbortSignal.abort().throwIfAborted(); } catch (e) { console.log(e.name, e instanceof DOMException, e.code); }
try { await sleep(1000, 0, { signal: AbortSignal.timeout(10) }); } catch (e) { console.log(e.name, e.cause?.name); }
const ee = new EventEmitter(); setTimeout(() => ee.emit('x', 1, 2), 1); console.log(await once(ee, 'x'));
const any = AbortSignal.any([AbortSignal.timeout(1000), AbortSignal.abort('r')]); console.log(any.aborted, any.reason);
let n = 0; for await (const v of every(2, 'tick')) { console.log(v); if (++n === 3) break; }

//// structuredClone, Intl, crypto.randomUUID, performance, queueMicrotask, globalThis
const o = { d: new Date(0), m: new Map([[1, new Set([2])]]), r: /x/gi, e: new TypeError('t'), b: new Uint8Array([1, 2]), n: null, u: undefined, big: 10n }; o.self = o;
const c = structuredClone(o); console.log(c.self === c, c.e instanceof TypeError, c.e.message); delete c.e; console.log(c);
try { structuredClone({ f() {} }); } catch (e) { console.log(e.name, e.code); }
console.log(/^[0-9a-f-]{36}$/.test(crypto.randomUUID()), crypto.getRandomValues(new Uint8Array(3)).length);
console.log(new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' }).format(1234.5), new Intl.DateTimeFormat('ja-JP', { dateStyle: 'full', timeZone: 'Asia/Tokyo' }).format(new Date(0)));
console.log(new Intl.ListFormat('en', { type: 'disjunction' }).format(['a', 'b', 'c']), new Intl.RelativeTimeFormat('fr', { numeric: 'auto' }).format(-1, 'day'), ['z', 'ä', 'a'].sort(new Intl.Collator('sv').compare));
console.log([...new Intl.Segmenter('en', { granularity: 'word' }).segment('Hi there!')].filter((s) => s.isWordLike).map((s) => s.segment), new Intl.DisplayNames('en', { type: 'region' }).of('JP'), new Intl.PluralRules('en', { type: 'ordinal' }).select(3));
console.log((1234.567).toLocaleString(), new Date(0).toLocaleString('en-GB', { timeZone: 'UTC' }), Intl.DateTimeFormat().resolvedOptions().timeZone, 'İ'.toLocaleLowerCase('tr'));
console.log([3, 1, 2].toSorted(), [1, 2, 3].at(-1), 'abc'.replaceAll('b', 'x'), [1, 2, 3].findLast((x) => x < 3), 'ab'.isWellFormed());
queueMicrotask(() => console.log('micro')); setImmediate(() => console.log('imm')); process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('then'));

//// WebAssembly: memory, imports, tables, validate, errors
const bytes = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
console.log(WebAssembly.validate(bytes), new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.add(2, 3));
WebAssembly.instantiate(bytes).then(({ instance, module }) => console.log(instance.exports.add(40, 2), WebAssembly.Module.exports(module)));
const m = new WebAssembly.Memory({ initial: 1, maximum: 4 }); m.grow(1); console.log(m.buffer.byteLength);
try { new WebAssembly.Module(new Uint8Array(3)); } catch (e) { console.log(e.name); }
const t = new WebAssembly.Table({ initial: 2, element: 'anyfunc' }); console.log(t.length, new WebAssembly.Global({ value: 'i32', mutable: true }, 7).value);
const shared = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true }); console.log(shared.buffer instanceof SharedArrayBuffer);

//// SharedArrayBuffer and Atomics in one thread, growable, resizable
const sab = new SharedArrayBuffer(1024), ia = new Int32Array(sab);
Atomics.store(ia, 0, 5); console.log(Atomics.add(ia, 0, 3), Atomics.load(ia, 0), Atomics.compareExchange(ia, 0, 8, 9), Atomics.wait(ia, 1, 0, 10), Atomics.notify(ia, 0));
const ab = new ArrayBuffer(8, { maxByteLength: 16 }); ab.resize(12); console.log(ab.byteLength, ab.resizable, ab.slice(2).byteLength);
const big = new SharedArrayBuffer(8 << 20); console.log(big.byteLength, new Float64Array(big).fill(1.5)[1000]);
const g = new SharedArrayBuffer(8, { maxByteLength: 64 }); g.grow(32); console.log(g.byteLength, g.growable);
const moved = ab.transfer ? ab.transfer() : ab; console.log(moved.byteLength);

//// ESM and CJS mixed: require in a module, import in a script, __dirname, json attributes
import fs from 'node:fs'; import { createRequire } from 'node:module'; import { fileURLToPath } from 'node:url'; import path from 'node:path';
const require = createRequire(import.meta.url); const __dirname = path.dirname(fileURLToPath(import.meta.url));
fs.writeFileSync('m.cjs', 'exports.n = 1; exports.f = () => __filename.endsWith("m.cjs"); module.exports.late = require("node:os").EOL;');
fs.writeFileSync('n.mjs', 'export const x = 2; export default class K { static y = 3 } export * as p from "node:path";');
fs.writeFileSync('d.json', '{"k": [1]}'); fs.mkdirSync('pkg', { recursive: true }); fs.writeFileSync('pkg/package.json', '{"name":"pkg","main":"./lib.js","type":"commonjs"}'); fs.writeFileSync('pkg/lib.js', 'module.exports = class { hi() { return "pkg" } }');
console.log(require('./m.cjs').f(), require('./d.json').k, new (require('./pkg'))().hi(), path.basename(require.resolve('./m.cjs')), path.basename(__dirname) !== '');
const ns = await import('./n.mjs'); console.log(Object.keys(ns), ns.default.y, (await import('./m.cjs')).n, typeof ns.p.join);
console.log((await import('./d.json', { with: { type: 'json' } })).default.k, Object.keys(require.cache).length > 0);
try { require('left-pad'); } catch (e) { console.log(e.code); }
try { await import('left-pad'); } catch (e) { console.log(e.code); }
try { await import('./gone.mjs'); } catch (e) { console.log(e.code); }

//// CommonJS with require.main, module.exports functions and circular files
const fs = require('fs');
fs.writeFileSync('x.js', 'exports.a = 1; const y = require("./y"); exports.b = y.v + 1;');
fs.writeFileSync('y.js', 'const x = require("./x"); exports.v = x.a + (x.b ?? 10);');
console.log(require('./x'), require('./y'), module.children.length >= 0, require.main === module, typeof __filename, module.paths !== undefined);
function main() { return 'main'; }
if (require.main === module) console.log(main());
module.exports = { main };

//// Buffer and streams: hex dump, base64 stream, pipeline with gzip to a file, Transform with flush
const { pipeline, Transform, PassThrough, Duplex, Writable, Readable, finished, compose } = require('node:stream'); const { promisify } = require('util'); const zlib = require('zlib'), fs = require('fs');
const pipe = promisify(pipeline);
class Upper extends Transform { constructor(o) { super(o); this.n = 0; } _transform(c, e, cb) { this.n += c.length; cb(null, c.toString().toUpperCase()); } _flush(cb) { this.push(`[${this.n}]`); cb(); } }
(async () => {
  await pipe(Readable.from(['hello ', 'world']), new Upper(), zlib.createGzip(), fs.createWriteStream('o.gz'));
  console.log(zlib.gunzipSync(fs.readFileSync('o.gz')).toString());
  console.log(await Readable.from([1, 2, 3, 4]).filter((x) => x % 2).map(async (x) => x * 2).toArray(), await Readable.from([1, 2, 3]).reduce((a, b) => a + b, 0));
  const w = new Writable({ highWaterMark: 2, write(c, e, cb) { setTimeout(cb, 1); } }); console.log(w.write('abc'), w.writableLength, w.writableNeedDrain); w.on('drain', () => console.log('drain'));
  await new Promise((r) => w.end(r)); console.log(w.writableFinished);
  try { await pipe(Readable.from(['x']), new Transform({ transform(c, e, cb) { cb(new Error('bad')); } }), new PassThrough()); } catch (e) { console.log(e.message); }
  const b = Buffer.from('héllo'); console.log(b, b.toString('base64url'), Buffer.concat([b, Buffer.alloc(2)]).length, b.readUInt16BE(0), Buffer.byteLength('€'), b.subarray(1, 3).toString('hex'), b.equals(Buffer.from('héllo')), [...b.entries()].length);
  console.log(await require('stream/consumers').text(Readable.from(['a', 'b'])), new Blob(['x', 'yz']).size, await new Response('q').text());
})();

//// dates, sorting stability, sparse arrays, labels, closures in loops, getters, tagged raw
console.log([, 1, , 2].length, Object.keys([, 1]), [..."a👍b"].length, [10, 9, 1].sort(), [1, [2, [3, [4]]]].flat(Infinity), Array.from({ length: 3 }, (_, i) => i ** 2));
console.log(new Date(2024, 0, 31, 25).toISOString(), new Date('2024-02-30').getTime(), Date.UTC(2024, 1, 29), new Date('x').getTime(), new Date(8.64e15 + 1).getTime());
console.log(0.1 + 0.2, (0.1).toFixed(20), 1e21 + '', (255).toString(36), parseInt('08'), Number(''), Number(' 12 '), +[], [] + {}, null ?? 'd', 0 || 'o', -0, Object.is(-0, 0), 5 % -3, -5 % 3, 2 ** 53 === 2 ** 53 + 1, 7n / 2n, BigInt.asUintN(8, 257n));
const fns = []; for (let i = 0; i < 3; i++) fns.push(() => i); console.log(fns.map((f) => f())); console.log(String.raw`a\n${1}`, `a${`b${'c'}`}`);
console.log([1, 2, 3].includes(NaN), [NaN].includes(NaN), [NaN].indexOf(NaN), typeof null, typeof function () {}, void 0, [1, 2] == '1,2', isNaN('x'));
console.log({ a: { b: { c: { d: 1 } } } }, [[[[[1]]]]], new Array(5), [undefined, null], 'x'.repeat(3), [1.0, 'a', true], new (class Foo { #p = 1; q = 2; })(), Symbol('s'), () => 1, class A {}, new Proxy({}, {}), new Error('e').message, [..."ab"].entries().next());
console.log(new Array(200).fill(1), 'x'.repeat(20000).length, { 'a-b': 1, 2: 3, [Symbol('k')]: 4 }, new Map([[{ a: 1 }, new Set([1])]]), Object.create(null), new WeakMap(), Promise.resolve(1), Promise.reject(new Error('r')).catch(() => {}), (function* () {})(), new Date(0), Buffer.from('a'), new URL('http://a/b?c#d'), process.versions.node.length > 0);
console.log('%s is %d years and %i, %f, %j, %o, %O %c%%', 'Bob', 42.5, 42.5, 1.5, { a: 1 }, [1], { b: { c: {} } }, 'css', 'extra');
console.error('to stderr'); console.table([{ a: 1, b: 'x' }, { a: 2 }], ['a']); console.dir({ a: { b: { c: { d: {} } } } }, { depth: 0 }); console.group('G'); console.log('in\nside'); console.groupEnd(); console.assert(1 === 2, 'assert %s', 'msg'); console.count(); console.trace === undefined;

//// crypto: hash copy, hkdf, ecdh, rsa-oaep, x25519, gcm with aad, jwt by hand
const c = require('crypto');
console.log(c.createHash('sha256').update('a').copy().digest('hex').slice(0, 8), c.createHmac('sha512', 'k').update('d').digest('base64').length, c.hkdfSync('sha256', 'k', 's', 'i', 16).byteLength, c.scryptSync('p', 's', 16).toString('hex').length, c.pbkdf2Sync('p', 's', 1000, 8, 'sha1').toString('hex'));
const a = c.createECDH('prime256v1'), b = c.createECDH('prime256v1'); a.generateKeys(); b.generateKeys(); console.log(a.computeSecret(b.getPublicKey()).equals(b.computeSecret(a.getPublicKey())));
const iv = Buffer.alloc(12), k = Buffer.alloc(32), e = c.createCipheriv('aes-256-gcm', k, iv); e.setAAD(Buffer.from('h')); const ct = Buffer.concat([e.update('secret'), e.final()]), tag = e.getAuthTag();
const d = c.createDecipheriv('aes-256-gcm', k, iv); d.setAAD(Buffer.from('h')); d.setAuthTag(tag); console.log(ct.toString('hex'), d.update(ct, null, 'utf8') + d.final('utf8'));
d2 = c.createDecipheriv('aes-256-gcm', k, iv); d2.setAuthTag(Buffer.alloc(16)); try { d2.update(ct); d2.final(); } catch (x) { console.log(x.message); }
const { publicKey, privateKey } = c.generateKeyPairSync('rsa', { modulusLength: 1024 }); console.log(c.privateDecrypt(privateKey, c.publicEncrypt(publicKey, Buffer.from('hi'))).toString(), c.verify('sha256', Buffer.from('x'), publicKey, c.sign('sha256', Buffer.from('x'), privateKey)), publicKey.export({ type: 'spki', format: 'pem' }).split('\n')[0]);
const b64 = (o) => Buffer.from(JSON.stringify(o)).toString('base64url'), head = `${b64({ alg: 'HS256' })}.${b64({ sub: 1 })}`; console.log(`${head}.${c.createHmac('sha256', 's').update(head).digest('base64url')}`);
console.log(c.getHashes().includes('sha3-256'), c.getCiphers().length > 50, c.randomInt(5) < 5, c.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), c.generateKeyPairSync('ed25519').publicKey.asymmetricKeyType, c.createHash('md5').update('').digest('hex'));
c.randomBytes(4, (err, buf) => console.log(err, buf.length)); c.generateKeyPair('x25519', (err, p) => console.log(err ?? p.type)); c.webcrypto.subtle.digest('SHA-1', Buffer.from('a')).then((h) => console.log(h.byteLength));

//// process.exitCode, exit in a timer, and pending timers after it
process.exitCode = 0;
process.on('exit', (c) => console.log('exit', c));
setTimeout(() => { console.log('leaving'); process.exit(); }, 10);
setTimeout(() => console.log('never'), 2000);

//// WebStreams, TransformStream, CompressionStream, TextEncoderStream, fetch of data URL
const r = new ReadableStream({ start(c) { for (const x of ['a', 'bc', 'd']) c.enqueue(x); c.close(); } });
const up = new TransformStream({ transform(ch, c) { c.enqueue(ch.toUpperCase()); } });
for await (const x of r.pipeThrough(up)) console.log(x);
const gz = new Blob(['hello hello']).stream().pipeThrough(new CompressionStream('gzip')).pipeThrough(new DecompressionStream('gzip')); console.log(await new Response(gz).text());
const [s1, s2] = new Response('tee').body.tee(); console.log(await new Response(s1).text(), await new Response(s2).text());
console.log(await (await fetch('data:application/json,{"a":1}')).json(), new Headers({ A: '1' }).get('a'), [...new FormData().entries()].length, new Request('http://x/y', { method: 'POST', body: 'b' }).method);
try { await fetch('http://nothing.invalid/'); } catch (e) { console.log(e.name); }
try { await fetch('nonsense'); } catch (e) { console.log(e.name, e.message, e.cause?.code); }
console.log(atob(btoa('hi')), encodeURIComponent('a b&ü'), new URLSearchParams({ a: '1 2' }).toString(), new TextDecoder('utf-16le').decode(new Uint8Array([104, 0])), escape('ü'), URL.canParse('x:y'));

//// domain of errors: custom classes, cause chains printed, AggregateError, stack, captureStackTrace, prepareStackTrace
class AppError extends Error { constructor(m, o) { super(m, o); this.name = 'AppError'; this.status = 500; } }
try { try { JSON.parse('{bad'); } catch (e) { throw new AppError('wrapped', { cause: e }); } } catch (e) { console.log(e.name, e.message, e.cause.name, e instanceof AppError, String(e), Object.keys(e)); }
Promise.any([Promise.reject(1), Promise.reject(2)]).catch((e) => console.log(e.constructor.name, e.errors, e.message));
const f = () => { throw null; }; try { f(); } catch (e) { console.log(e); }
console.log((() => { try { return 1; } finally { console.log('fin'); } })(), new Error('x', { cause: 'y' }).cause);
Error.stackTraceLimit = 1; console.log(new Error('l').stack.split('\n').length); try { null.x; } catch (e) { console.log(e.message); } try { undefinedVar; } catch (e) { console.log(e.message); } try { (void 0)(); } catch (e) { console.log(e.message); }
(function r() { try { r(); } catch (e) { if (!globalThis.done) { globalThis.done = 1; console.log(e.name, e.message); } } })();
