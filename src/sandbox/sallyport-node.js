// What a sandbox with Node starts with: loads what code may need, forks on request, then runs one piece of code.
const [modulePath] = process.argv.slice(2);
const holder = { exports: {} };
process.dlopen(holder, modulePath);
const native = holder.exports;
const IDLE_MS = 3000, STEPS = 15;
const TYPES_AFTER_MS = 50; // the TypeScript compiler takes a while to load: the first runs do not wait for it
const WARM_AFTER_MS = 20; // a child that no run has used by then warms up

if (parseInt(process.versions.node) < 20) {
  native.tell(0, `Node ${process.versions.node} is older than 20; Debian 12 packages 18: npm install -g node@22 brings a newer one, npm install -g bun another runtime`);
  native.exit(1);
}

const v8 = require("v8"), vm = require("vm"), fs = require("fs"), crypto = require("crypto");
v8.setFlagsFromString("--always-sparkplug"); // until it serves, functions are compiled immediately, and children inherit the result
const { Console } = require("console");
const { Writable } = require("stream");
const acorn = require("internal/deps/acorn/acorn/dist/acorn");
const walk = require("internal/deps/acorn/acorn-walk/dist/walk");
const { clearAsyncIdStack } = require("internal/async_hooks");
const preload = ["assert", "async_hooks", "buffer", "child_process", "crypto", "events", "fs", "fs/promises", "os", "path",
  "perf_hooks", "querystring", "readline", "stream", "stream/promises", "string_decoder", "timers", "timers/promises",
  "url", "util", "v8", "vm", "worker_threads", "zlib"];
for (const name of preload) require(name);
const found = compilers(native); // of typescript.js, which stands in front of this
const NO_TYPESCRIPT = "TypeScript needs the npm packages amaro and @swc/wasm: run scripts/setup and build again";
const typed = found ? typeCompiler(found) : () => { throw new Error(NO_TYPESCRIPT); };

// V8 recompiles functions that are called often, which takes milliseconds, and megabytes in every child that does it.
// The code of this file need not be that fast, so optimising is on for the user's code only.
let optimizing = true, settled = false; // settled: the start of a run is fully optimised and stays unchanged
function optimize(on) {
  if (on !== optimizing) v8.setFlagsFromString(on ? "--opt" : "--no-opt");
  optimizing = on;
}
optimize(false);

// ---- the code as models hand it over ----

const MODULE = { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true,
  allowHashBang: true, allowImportExportEverywhere: false, sourceType: "module" };

// As a module, otherwise as a script, which accepts older syntax.
function parse(code) {
  try {
    return acorn.parse(code, MODULE);
  } catch (error) {
    try {
      return acorn.parse(code, { ...MODULE, sourceType: "script" });
    } catch {
      throw syntaxError(error, code);
    }
  }
}

// Syntax that is newer than the engine: the slower compiler translates it to older syntax.
function compileTyped(code, file, options) {
  let made;
  try {
    made = typed(code);
  } catch (error) {
    throw syntaxError(error, code);
  }
  try {
    return { ...compile(made.code, file, options), code: made.code, map: made.map };
  } catch (error) {
    if (!(error instanceof SyntaxError) || !/@|\b(?:accessor|using)\b/.test(code)) throw error;
    made = made.lower();
    return { ...compile(made.code, file, options), code: made.code, map: made.map };
  }
}

// Names that a declaration at the top brings in.
function names(pattern, into = []) {
  if (!pattern) return into;
  if (pattern.type === "Identifier") into.push(pattern.name);
  else if (pattern.type === "ObjectPattern") for (const p of pattern.properties) names(p.value ?? p.argument, into);
  else if (pattern.type === "ArrayPattern") for (const p of pattern.elements) names(p, into);
  else if (pattern.type === "AssignmentPattern") names(pattern.left, into);
  else if (pattern.type === "RestElement") names(pattern.argument, into);
  return into;
}

const lines = (code, node) => "\n".repeat(code.slice(node.start, node.end).split("\n").length - 1);

function importText(code, node, keep) {
  const from = `await __import(${node.source.raw})`;
  const parts = [];
  for (const s of node.specifiers) {
    if (s.type === "ImportNamespaceSpecifier") parts.push(`${s.local.name}=__m`);
    else if (s.type === "ImportDefaultSpecifier") parts.push(`${s.local.name}=__m.default??__m`);
    else parts.push(`${s.local.name}=__m[${JSON.stringify(s.imported.name ?? s.imported.value)}]`);
  }
  const bind = node.specifiers.map((s) => s.local.name).join(",");
  return (bind ? `${keep ? ";" : "const "}[${bind}]=(__m=>{let ${parts.join(",")};return [${bind}]})(${from});` : `${from};`) + lines(code, node);
}

// Compilers declare the names of namespaces at the end.
const doesNothing = (node) => node.type === "EmptyStatement" || (node.kind === "var" && node.declarations.every((d) => !d.init));

// Statements become the body of an async function; positions of what stays do not move.
function rewrite(code, { keep = false, lastValue = true } = {}) {
  const tree = parse(code);
  const edits = [];
  const replace = (start, end, text) => edits.push({ start, end, text });
  const exported = [], kept = [];
  if (/\bimport\b/.test(code)) walk.full(tree, (node) => {
    if (node.type === "ImportExpression") replace(node.start, node.start + 6, "__import");
    if (node.type === "MetaProperty" && node.meta.name === "import") replace(node.start, node.end, "__meta");
  });
  const body = tree.body;
  const lastAt = body.findLastIndex((node) => !doesNothing(node));
  body.forEach((node, i) => {
    let declared = node;
    if (node.type === "ImportDeclaration") {
      if (keep) kept.push(...node.specifiers.map((s) => s.local.name));
      return replace(node.start, node.end, importText(code, node, keep));
    }
    if (node.type === "ExportAllDeclaration") return replace(node.start, node.end, lines(code, node));
    if (node.type === "ExportDefaultDeclaration") {
      if (!node.declaration.id || !/Declaration$/.test(node.declaration.type)) return replace(node.start, node.declaration.start, "__exports.default=");
      exported.push(["default", node.declaration.id.name]); // its name is known to the rest
      return replace(node.start, node.declaration.start, " ".repeat(node.declaration.start - node.start));
    }
    if (node.type === "ExportNamedDeclaration") {
      if (!node.declaration) {
        for (const s of node.specifiers) exported.push([s.exported.name, s.local.name]);
        return replace(node.start, node.end, lines(code, node));
      }
      declared = node.declaration;
      replace(node.start, declared.start, " ".repeat(declared.start - node.start));
    }
    const found = declared.type === "VariableDeclaration" ? declared.declarations.flatMap((d) => names(d.id))
      : /^(Function|Class)Declaration$/.test(declared.type) ? [declared.id.name] : [];
    if (declared !== node) for (const name of found) exported.push([name, name]);
    if (keep) kept.push(...found);
    if (keep && declared.type === "VariableDeclaration") {
      // a session's variables outlive the function: they become globals
      replace(declared.start, declared.declarations[0].start, "(".padEnd(declared.declarations[0].start - declared.start));
      if (declared.kind === "var") for (const name of found) edits.unshift({ start: 0, end: 0, text: `globalThis.${name}??=undefined;` }); // it keeps its value
      for (const d of declared.declarations) if (!d.init && declared.kind !== "var") replace(d.end, d.end, "=undefined");
      const end = code[declared.end - 1] === ";" ? declared.end - 1 : declared.end;
      replace(end, end, ");");
    } else if (keep && declared.type === "ClassDeclaration") {
      replace(declared.start, declared.start, `${declared.id.name}=`);
      replace(declared.end, declared.end, ";");
    } else if (keep && declared.type === "FunctionDeclaration") {
      edits.unshift({ start: 0, end: 0, text: `globalThis.${declared.id.name}=${declared.id.name};` });
    }
    if (lastValue && i === lastAt && node.type === "ExpressionStatement") {
      const end = code[node.end - 1] === ";" ? node.end - 1 : node.end;
      replace(node.start, node.start, "return (");
      replace(end, end, "\n)");
    }
  });
  const tail = exported.map(([as, name]) => `;__exports[${JSON.stringify(as)}]=${name}`).join("");
  edits.sort((a, b) => a.start - b.start || a.end - b.end);
  let text = "", at = 0;
  for (const e of edits) {
    if (e.start < at) continue;
    text += code.slice(at, e.start) + e.text;
    at = e.end;
  }
  const last = body[lastAt];
  const returns = last?.type === "ExpressionStatement" && lastValue;
  return { text: text + code.slice(at), tail: returns ? "" : tail + (lastValue && !keep ? callOf(code, body) : ""),
    single: body.length === 1 && last?.type === "ExpressionStatement", last: returns ? last.start : -1, kept };
}

// A session's variables are globals. Some names of the engine (`crypto`) cannot be assigned to, so they are made ordinary ones.
function makeAssignable(names) {
  for (const name of names) {
    const { configurable, writable, set } = Object.getOwnPropertyDescriptor(globalThis, name) ?? {};
    if (configurable && !writable && !set) Object.defineProperty(globalThis, name, { value: undefined, configurable: true, writable: true });
  }
}

// Code that only declares the function which is to be run.
function callOf(code, body) {
  const last = body[body.length - 1], name = last?.type === "FunctionDeclaration" ? last.id.name : "";
  const alone = name && (body.length === 1 || name === "main") && code.split(name).length === 2;
  return alone ? `;return ${name}()` : "";
}

// Most code needs no syntax tree: only the last expression must be found, and a statement starts after a semicolon
// outside of brackets. It is an expression if the engine accepts it in parentheses. Ambiguous code goes to the parser:
// modules, regular expressions, divisions, HTML-like comments.
const PLAIN_MAX = 1 << 16;
const STRETCH = /(?:[^"'`\/#;()[\]{}]+|"[^"\\\n]*(?:\\[^][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^][^'\\\n]*)*'|\/\/.*|\/\*[^]*?\*\/)+|[`;()[\]{}]/y;
const TEMPLATE = /[^`\\$]*(?:(?:\\[^]|\$(?!\{))[^`\\$]*)*(?:`|\$\{)/y;
const SPACE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/)*/y;
const UNPLAIN = /\b(?:im|ex)port\b|<!--|-->/;
const STATEMENT = /(?:async\s+function|class|const|function|let|var)\b|\{/y;
const RETURN = /return\b/y;

function after(pattern, code, at) {
  pattern.lastIndex = at;
  return pattern.test(code) ? pattern.lastIndex : -1;
}

function skim(code) {
  if (code.length > PLAIN_MAX || UNPLAIN.test(code)) return null;
  const open = [], whole = after(SPACE, code, 0);
  let first = whole, start = whole, end = code.length;
  for (let at = whole; at < code.length;) {
    const next = after(STRETCH, code, at), mark = next - at === 1 ? code[at] : "";
    const template = mark === "`" || (mark === "}" && open.at(-1) === "`");
    if (next < 0) return null;
    if (mark === "(" || mark === "[" || mark === "{") open.push(mark);
    else if ((mark === ")" || mark === "]" || mark === "}") && !open.pop()) return null;
    at = template ? after(TEMPLATE, code, next) : next;
    if (at < 0) return null;
    if (template && code[at - 1] === "{") open.push("`");
    if (mark !== ";" || open.length) continue;
    if (next - 1 > first) [start, end] = [first, next - 1];
    first = at = after(SPACE, code, next);
  }
  if (open.length) return null;
  if (first < code.length) [start, end] = [first, code.length];
  if (start === code.length || after(STATEMENT, code, start) >= 0) return null;
  if (after(RETURN, code, start) >= 0) return { text: code, tail: "", single: false, last: -1 };
  return { text: `${code.slice(0, start)}return (${code.slice(start, end)}\n)${code.slice(end)}`, tail: "", single: start === whole,
    last: start };
}

function compileSkimmed(code) {
  const found = skim(code);
  try { return found && assemble(found, FILE); } catch { return null; }
}

const compile = (code, file, options) => assemble(rewrite(code, options), file);

const HEAD = "(async function(__import,__exports,__meta){"; // an arrow function's body would be parsed twice
const META = { url: `file://${PROGRAM}`, filename: PROGRAM, dirname: HOME,
  resolve: (name) => builtins.has(name.replace(/^node:/, "")) ? `node:${name.replace(/^node:/, "")}` : new URL(name, META.url).href };

function assemble({ text, tail, single, last, kept = [] }, file) {
  try {
    const script = new vm.Script(`${HEAD}${text}\n${tail}\n})`, { filename: file, columnOffset: -HEAD.length });
    const made = script.runInThisContext();
    return { run: (exports) => (makeAssignable(kept), made.call(globalThis, importModule, exports, META)), single, last, body: `${text}\n${tail}` };
  } catch (error) {
    const shown = String(error.stack).split("\n");
    if (shown[1]?.startsWith(HEAD)) error.stack = shown.map((line, i) => i === 1 || i === 2 ? line.slice(HEAD.length) : line).join("\n");
    throw error;
  }
}

async function loadSkill(name) {
  const code = await skillCode(name), file = `skill ${name}`, exports = {};
  let made;
  try { made = compile(code, file, { lastValue: false }); } catch { made = compileTyped(code, file, { lastValue: false }); }
  await made.run(exports);
  return exports;
}

// Of a stack, the frames between the code's own and the loop are those of this file: they say nothing to the reader.
{
  const { internalBinding } = require("internal/test/binding"), { prepareStackTraceCallback: prepare } = require("internal/errors");
  const isOurs = (frame) => frame.getFileName() === __filename;
  const own = (frames) => {
    const last = frames.findLastIndex((frame) => !isOurs(frame) && !/^(?:node:|$)/.test(frame.getFileName() ?? ""));
    const end = frames.findIndex((frame, i) => i > last && isOurs(frame));
    return frames.slice(0, end < 0 ? frames.length : end).filter((frame) => !isOurs(frame));
  };
  internalBinding("errors").setPrepareStackTraceCallback((global, error, frames) => {
    if (frames.some(isOurs)) frames = own(frames);
    const text = prepare(global, error, frames);
    return typeof text === "string" && text.includes("code:") ? text.replace(/^    at .*/gm, mappedPlace) : text;
  });
}
const ownPlace = (line) => line; // is that of the code already

// Rewritten code keeps its positions, except for the last expression, which has a `return (` in front of it. A compiler
// that prints the code again provides a source map.
let running = { code: "", last: -1, map: null, body: "" };
const mappedPlace = (line) => line.replace(/\bcode:(\d+):(\d+)/, (place, row, column) => {
  const before = running.last < 0 ? [] : running.code.slice(0, running.last).split("\n");
  const moved = before.length === Number(row) && Number(column) > before[row - 1].length + 8;
  const at = [Number(row), moved ? column - 8 : Number(column)];
  const from = running.map?.findEntry(at[0] - 1, at[1] - 1);
  return from?.originalLine >= 0 ? `code:${from.originalLine + 1}:${from.originalColumn + 1}` : `code:${at[0]}:${at[1]}`;
});

// ---- a run ----

const OVER = -1, DRAINS = -2; // as in node.c
let ended = false, onUncaught = () => {};
process.on("uncaughtException", (error) => onUncaught(error));

async function execute(order) {
  if (order.context) Object.assign(globalThis, order.context); // some names cannot be redefined
  const code = unfence(order.code);
  running = { code, last: -1, map: null, body: code }; // until it is compiled, places are those of the code itself
  const exports = {}, isTyped = order.language === "typescript", options = { keep: order.session };
  let made = order.session || (isTyped && code.includes("<")) ? null : compileSkimmed(code);
  made ??= isTyped ? compileTyped(code, FILE, options) : compile(code, FILE, options);
  const { run, single, last, body, map = null } = made;
  running = { code: made.code ?? code, last, map, body };
  if (!muted) optimize(true);
  const own = newModule(), given = own.exports;
  let value = await run(exports);
  if (exported(own, given, value)) value = own.exports;
  else if ("default" in exports) value = await (typeof exports.default === "function" ? exports.default() : exports.default);
  else if (single && typeof value === "function") value = await value(); // the code is one function
  return value;
}

function runOrder(order) {
  ended = false;
  let outcome = { ok: true }, value;
  if (order.prelude) preludes[order.prelude].run({});
  connectOut(order);
  if (order.packages) usePackages(order);
  native.limit(order.memory_mb ?? 0, order.cpu_s ?? 0);
  let settling = false; // an approval is needed: calls in progress are awaited, so that they need not be repeated
  const fail = (error) => {
    outcome = { ok: false, ...describe(error) };
    ended = true;
    settling = error?.kind === "approval_needed";
  };
  // Listeners of the code's own take an exception instead; the one of this file is always there.
  onUncaught = (error) => { if (process.listenerCount("uncaughtException") < 2) fail(error); };
  const uncaught = (error) => {
    try { if (!process.emit("uncaughtException", error, "uncaughtException")) fail(error); } catch (further) { fail(further); }
  };
  execute(order).then((v) => {
    value = v;
    ended = true;
    if (order.session) deadline = Math.min(deadline, performance.now() + sessionMs());
  }, (error) => { ended = true; uncaught(error); });
  // Unfinished work is awaited as Node does: calls, timers, streams. An error ends it immediately.
  let deadline = performance.now() + leftoverMs(order.timeout_ms);
  let asked = 0;
  const progressOf = () => {
    asked++;
    if (!ended || openCalls) return ended && !outcome.ok && !settling ? OVER : openCalls;
    if (!outcome.ok) return OVER;
    if (performance.now() < deadline) return DRAINS;
    if (!order.session) err.write("sallyport: timers or streams were still open at the time limit\n");
    return OVER;
  };
  // An exception that a callback of the loop did not catch arrives here, because the loop was called from here.
  let state = 0;
  const tick = () => { // also between phases of the loop, which an exception must not leave
    for (;;) try { return process._tickCallback(); } catch (error) { clearAsyncIdStack(); uncaught(error); }
  };
  const turn = () => {
    asked = state = 0;
    while (!state) try { state = native.loop(tick, progressOf, onFrame); } catch (error) { uncaught(error); }
    return asked > 1; // else the loop had nothing to do
  };
  const drained = () => state === 1 && outcome.ok && !order.session && !muted && performance.now() < deadline;
  turn();
  while (drained() && process.emit("beforeExit", process.exitCode ?? 0) && turn());
  if (order.session) patient = performance.now() < deadline;
  if (outcome.ok && !order.session && !muted) leave(fail);
  if (state === 2 && !ended) outcome = { ok: false, error: "the code waits for a promise that is never settled", kind: "Error", traceback: "" };
  finish(outcome, value);
  if (!muted) optimize(settled);
}

const runText = (text) => runOrder(JSON.parse(text));

// ---- start ----

// Unbuffered: output before a crash is not lost.
function stream(fd) {
  const self = new Writable({
    decodeStrings: true,
    write(bytes, encoding, done) {
      const to = muted ? 0 : fd; // 0 is /dev/null
      while (bytes.length) bytes = bytes.subarray(fs.writeSync(to, bytes));
      done();
    },
  });
  return Object.assign(self, { fd, isTTY: false, columns: 80 });
}

function readPreludes() {
  const found = {};
  let data = Buffer.alloc(0);
  try { data = fs.readFileSync(6); } catch {}
  for (let at = 0, index = 1; at + 8 <= data.length; index++) {
    const language = data.readUInt32LE(at), length = data.readUInt32LE(at + 4);
    const text = data.toString("utf8", at + 8, at + 8 + length);
    at += 8 + length;
    if (language === 1) found[index] = compile(text, "prelude", { keep: true, lastValue: false });
  }
  return found;
}

const preludes = readPreludes();
furnish();
standIn();
process.removeAllListeners("warning");
// Programs get the variables that those of bash have.
const VARIABLES = { PATH: "/usr/bin:/bin", HOME, LANG: "C.UTF-8", TZ: "UTC", USER: "sandbox", LOGNAME: "sandbox", SHELL: "/bin/bash", TERM: "dumb",
  LD_PRELOAD: modulePath.replace(/[^/]*$/, "sallyport-programs.so") };
const withVariables = (pairs) => {
  const given = new Set((pairs ?? []).map((pair) => pair.split("=", 1)[0]));
  return [...(pairs ?? []), ...Object.entries(VARIABLES).filter(([name]) => !given.has(name)).map((pair) => pair.join("="))];
};
const furnished = (options) => ({ ...options, envPairs: withVariables(options.envPairs) });
// Node throws EPERM immediately, but passes EACCES to the callback or the listener that code has for it.
{
  const { UV_EACCES, UV_EPERM } = process.binding("uv"), handle = process.binding("process_wrap").Process.prototype, spawn = handle.spawn;
  handle.spawn = function (first, ...more) { // Node 24: file, args, cwd, pairs, ...
    if (typeof first === "string") more[2] = withVariables(more[2]);
    const status = spawn.call(this, typeof first === "string" ? first : furnished(first), ...more);
    return status === UV_EPERM ? UV_EACCES : status;
  };
  const sync = require("internal/test/binding").internalBinding("spawn_sync"), spawnSync = sync.spawn;
  sync.spawn = (options) => spawnSync(furnished(options));
}

// A worker of the program's own file gets its text, because there is no such file.
{
  const threads = require("worker_threads"), own = (file) => String(file) === PROGRAM || String(file) === META.url;
  const text = () => `(async function(__import,__exports,__meta){globalThis.__filename=__meta.filename;${running.body}\n})((name) => import(name),{},${JSON.stringify(META)})`
    + ".catch((error) => process.nextTick(() => { throw error; }))";
  // Newer engines reserve more memory for code than a run has.
  const limits = parseInt(process.versions.node) < 23 ? {} : { resourceLimits: { codeRangeSizeMb: 64 } };
  threads.Worker = class Worker extends threads.Worker {
    constructor(file, given) {
      const options = { ...limits, ...given };
      super(...(options.eval || !own(file) ? [file, options] : [text(), { ...options, eval: true }]));
    }
  };
}

// The engine would do these in threads that a forked child does not have.
WebAssembly.compile = async (bytes) => new WebAssembly.Module(bytes);
WebAssembly.instantiate = async (source, imports) => {
  if (source instanceof WebAssembly.Module) return new WebAssembly.Instance(source, imports);
  const module = new WebAssembly.Module(source);
  return { module, instance: new WebAssembly.Instance(module, imports) };
};
WebAssembly.compileStreaming = async (source) => WebAssembly.compile(await (await source).arrayBuffer());
WebAssembly.instantiateStreaming = async (source, imports) => WebAssembly.instantiate(await (await source).arrayBuffer(), imports);

const out = stream(1), err = stream(2);
for (const [name, value] of [["stdout", out], ["stderr", err]]) {
  Object.defineProperty(process, name, { value, configurable: true, writable: true });
}
// The console bypasses the streams, which are needed only by code that listens to them.
const direct = (stream, fd) => Object.assign(Object.create(stream), { write: (text) => native.print(muted ? 0 : fd, text) });
Object.defineProperty(globalThis, "console", { configurable: true, writable: true,
  value: new Console({ stdout: direct(out, 1), stderr: direct(err, 2), ignoreErrors: false, colorMode: false }) });
const PLAIN = "const a = await Promise.resolve(1);\nlet b = [a, 2].map((x) => x * 2);\nconsole.log(a, b);\n({ a, b, s: `${b.length}`, e: String(new Map([[1, 2]])) })";
const TYPED = PLAIN.replace("(x)", "(x: number): number").replace("let b", "let b: number[]");
const FORMS = `import os from "node:os";\ninterface I<T> { a: T }\ntype U = "a" | { b?: (c: number) => void };\nenum E { A, B = 2 }
class C<T> implements I<T> { private b!: string; constructor(public a: T, c?: Map<string, number[]>) {} get d(): T { return this.a as any } }
async function f<T>(x: T, { y = 1 }: { y?: number } = {}): Promise<I<T>> { for (const z of [y]) try { if (z < 2) return { a: x! } } catch (e: unknown) {} throw E.B }
const g = <T,>(x: T): x is T => !!x;\nreturn [await f<number>(1), new C("x").d, g(os.EOL) ? E.A : (1)]`;

// Uses what every run uses: in the zygote so that it is compiled, in the child so that its pages are copied.
function warmUp(rounds, samples) {
  muted = true;
  for (let i = 0; i < rounds; i++)
    for (const [language, code] of samples)
      runText(JSON.stringify({ code, language, prelude: 0, memory_mb: 0, cpu_s: 0, echo: false, session: false }));
  optimize(true);
  optimize(settled);
  /(?:)/.test(""); // resets RegExp.lastMatch, which guests could read
  muted = false;
}
const usual = [["javascript", PLAIN]];

warmUp(20, usual); // with more rounds the engine starts background threads, which children do not have
v8.setFlagsFromString("--no-always-sparkplug");
const tried = native.selftest();
if (tried === -1) {
  let timer = false;
  warmUp(1, usual);
  setTimeout(() => { timer = true; }, 1);
  native.loop(process._tickCallback, () => (timer ? OVER : 0), onFrame);
  native.exit(timer ? 0 : 1);
}
if (tried !== 1) {
  native.tell(0, `Node ${process.versions.node} cannot be forked here`);
  native.exit(1);
}
native.tell(1, `Node ${process.versions.node}`);
let urgent = native.serve(TYPES_AFTER_MS, 1);
if (urgent < 0) {
  if (found) {
    v8.setFlagsFromString("--always-sparkplug");
    warmUp(5, [["typescript", TYPED], ["typescript", FORMS]]);
    v8.setFlagsFromString("--no-always-sparkplug");
    usual.push(["typescript", TYPED]);
  }
  urgent = native.serve(IDLE_MS, 0);
}
// No run arrived for a while: lets the engine optimise the code that every run begins with. In small steps, because a
// run may arrive at any time.
for (let step = 1; urgent < 0; step++) {
  optimize(true);
  for (let i = 0; i < 10; i++) for (const code of [PLAIN, "console.log(1); 2"]) rewrite(code);
  optimize(false);
  settled = step >= STEPS;
  urgent = native.serve(settled ? -1 : 0, 0);
}

// ---- code below runs in the sandbox ----

// Sandboxes are forks: each seeds its own random numbers.
{
  const seed = crypto.randomBytes(16);
  let a = seed.readBigUInt64LE(0) | 1n, b = seed.readBigUInt64LE(8);
  let s0 = Number(a & 0xffffffffn) | 0, s1 = Number(a >> 32n) | 0, s2 = Number(b & 0xffffffffn) | 0, s3 = Number(b >> 32n) | 0;
  const next = () => { // xoshiro128**
    const r = Math.imul((Math.imul(s1, 5) << 7) | (Math.imul(s1, 5) >>> 25), 9) >>> 0, t = s1 << 9;
    s2 ^= s0; s3 ^= s1; s1 ^= s2; s0 ^= s3; s2 ^= t; s3 = (s3 << 11) | (s3 >>> 21);
    return r;
  };
  Math.random = () => (next() * 2097152 + (next() >>> 11)) / 9007199254740992;
}
if (process.cwd() !== HOME) lead(require("path").dirname(process.cwd()));
Object.defineProperty(process, "pid", { value: 1, configurable: true, enumerable: true });
if (!urgent) warmUp(1, usual);
native.send(AWAKE, 0, "");
if (urgent && !native.wait(WARM_AFTER_MS)) warmUp(1, usual);
for (;;) runText(native.receive());
