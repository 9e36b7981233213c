// What a sandbox with Bun starts with. Bun cannot be forked, so each sandbox executes its own and runs this first; the
// lock-down is complete before input of the guest is read.
const [modulePath] = process.argv.slice(-1);
const holder = { exports: {} };
process.dlopen(holder, modulePath);
const native = holder.exports;
const vm = require("vm"), fs = require("fs");
const BRIDGE = 3, HEAD_BYTES = 12, CHUNK_BYTES = 65536;

// ---- from the received code to the code that runs ----

// Scripts have no import.meta; the transpiler writes its values instead.
const META = Object.fromEntries(Object.entries({ url: `file://${PROGRAM}`, filename: PROGRAM, path: PROGRAM, dirname: HOME, dir: HOME, file: "main.js", main: true })
  .map(([name, value]) => [`import.meta.${name}`, JSON.stringify(value)]));
const transpilers = new Map(["ts", "js"].map((loader) => [loader, new Bun.Transpiler({ loader, target: "bun", replMode: true,
  deadCodeElimination: false, trimUnusedImports: false, define: META })]));
builtins.add("bun:wrap"); // what the transpiler's output for decorators imports

// The first error, with its position.
function complaint(error, code) {
  const first = error?.errors?.[0] ?? error;
  const { line, column } = first?.position ?? {};
  if (!line) return new SyntaxError(String(first?.message ?? first));
  return syntaxError(Object.assign(new SyntaxError(first.message), { loc: { line, column: column - 1 } }), code);
}

const IMPORTS = /^[ \t]*import\s+(?:(?:[^;'"=()]*?\bfrom\s*)?["'][^'"\n]*["']|[\w$]+\s*=\s*require\s*\([^)\n]*\))[ \t]*;?/gm;

// Bun accepts `return` or `await` at the top level, but not both: then all code becomes a function. Its imports stay outside.
function asFunction(code) {
  const moved = [];
  const rest = code.replace(IMPORTS, (text) => {
    moved.push(text.trim().replaceAll("\n", " ").replace(/;?$/, ";"));
    return "\n".repeat(text.split("\n").length - 1);
  });
  return `${moved.join("")}async () => {${rest}\n}`;
}

// A session's variables outlive such a function.
function keepVariables(text) {
  const inside = /^ {6}(?=\S)/, found = new Set();
  const kept = text.split("\n").map((line) => {
    if (!inside.test(line)) return line;
    const declared = /^ {6}(?:const|let|var) (.*?)(?: = |;$)/.exec(line);
    const named = /^ {6}(?:async )?(?:function\*?|class) ([\w$]+)/.exec(line);
    if (declared) for (const [, name] of declared[1].matchAll(/(?:^|[{[,]|\.\.\.|: )\s*([\w$]+)(?=\s*(?:$|[}\],]|=))/g)) found.add(name);
    if (named) found.add(named[1]);
    return line.replace(/^ {6}(?:const|let) /, "      var ").replace(/^ {6}class ([\w$]+)/, "      var $1 = class $1");
  });
  const at = kept.findIndex((line) => /^ {4}value: async \(\) => \{$/.test(line)), end = kept.lastIndexOf("    }");
  if (at < 0 || end < at || !found.size) return text;
  kept[at] += " try {";
  kept[end] = `} finally { ${[...found].map((name) => `globalThis.${name} = ${name};`).join(" ")} }\n    }`;
  return kept.join("\n");
}

function compile(code, language, session) {
  const transpiler = transpilers.get(language === "typescript" ? "ts" : "js");
  let text, whole = false;
  try {
    text = transpiler.transformSync(code);
  } catch (error) {
    if (!/Top-level return/.test(error?.message ?? "")) throw complaint(error, code);
    try {
      text = transpiler.transformSync(asFunction(code));
      whole = true;
    } catch (inner) {
      throw complaint(inner, code);
    }
    if (session) text = keepVariables(text);
  }
  text = text.replace(/^ {2}export \{[^}]*\};?$/gm, "").replace(/^var \{require\}=import\.meta;/, "").replace(/^ {2}export default /m, "  globalThis.__default=").replace(/^ {2}export (?=(?:async )?(?:function|class)\b)/gm, "  ");
  const script = new vm.Script(text, { filename: FILE, importModuleDynamically: importModule });
  return { run: () => script.runInThisContext(), text, whole: whole || !/^var /m.test(text) };
}

// ---- positions ----

let handed = "", printed = ""; // the code of this run, before and after
const words = (text) => text.split("\n").flatMap((line, at) =>
  [...line.matchAll(/[\w$]+|[^\s\w$;,(){}"'`]+/g)].map((m) => ({ word: m[0], line: at + 1, column: m.index + 1 })));
const WORDS_MAX = 4000;
let places;

// Bun prints code anew and keeps no map: the words of both are laid beside each other, as a comparison of files does it.
function align() {
  const a = words(printed), b = words(handed);
  if (a.length > WORDS_MAX || b.length > WORDS_MAX) return [];
  const wide = b.length + 1, longest = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i * wide + j] = a[i].word === b[j].word ? longest[(i + 1) * wide + j + 1] + 1
        : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i].word === b[j].word) pairs.push([a[i++], b[j++]]);
    else if (longest[(i + 1) * wide + j] >= longest[i * wide + j + 1]) i++;
    else j++;
  }
  return pairs;
}

// A line of the stack; what calls the code at its end is not the agent's.
function ownPlace(line) {
  if (!printed) return line;
  const outer = /^\s+at code:(\d+):\d+$/.exec(line);
  if (line === "[native code]:0" || (outer && Number(outer[1]) >= printed.trimEnd().split("\n").length)) return null;
  return line.replace(/\bcode:(\d+):(\d+)/, (all, row, column) => {
    places ??= align();
    let best;
    for (const [from, to] of places) {
      if (from.line > row || (from.line == row && from.column > column)) break;
      best = to;
    }
    return best ? `code:${best.line}:${best.column}` : "code";
  });
}

// ---- skills ----

const known = new Set();

// A module of that name; those it imports first, since Bun requests them immediately.
async function declareSkill(name, as) {
  if (known.has(as)) return;
  known.add(as);
  const contents = await skillCode(name);
  let needed = [];
  try { needed = transpilers.get("ts").scanImports(contents); } catch {}
  for (const { path } of needed) if (SKILL.test(path)) await declareSkill(SKILL.exec(path)[1], path);
  Bun.plugin({ name: as, setup(build) { build.module(as, () => ({ contents, loader: "ts" })); } });
}

async function loadSkill(name) {
  await declareSkill(name, `skill ${name}`);
  return import(`skill ${name}`);
}

// ---- the bridge ----

// Read only while an answer is due: a loop that has nothing else to wait for may then see that.
let reading = false, parts = [], held = 0, needed = HEAD_BYTES;
const chunk = Buffer.alloc(CHUNK_BYTES);

function takeFrames() {
  let got = Buffer.concat(parts);
  const end = () => HEAD_BYTES + (got.length < HEAD_BYTES ? 0 : got.readUInt32LE(0));
  while (got.length >= end()) {
    const id = got.readUInt32LE(4), kind = got.readUInt32LE(8), text = got.toString("utf8", HEAD_BYTES, end());
    got = got.subarray(end());
    onFrame(kind, id, text);
  }
  parts = [got];
  held = got.length;
  needed = end();
}

function awaitAnswers() {
  if (reading || openCalls === 0) return;
  reading = true;
  fs.read(BRIDGE, chunk, 0, CHUNK_BYTES, null, (error, bytes) => {
    reading = false;
    if (error || !bytes) native.exit(0); // the gate has closed the bridge
    parts.push(Buffer.from(chunk.subarray(0, bytes)));
    held += bytes;
    if (held >= needed) takeFrames();
    awaitAnswers();
    settle();
  });
}

// ---- a run ----

let settle = () => {}, fail = () => {}, idle = () => {};

function watch() {
  const uncaught = (event) => process.on(event, (error) => { if (process.listenerCount(event) < 2) fail(error); }); // else listeners of the code's own take it
  uncaught("uncaughtException");
  uncaught("unhandledRejection");
  process.on("beforeExit", () => setImmediate(idle));
}

async function execute(order) {
  if (order.context) Object.assign(globalThis, order.context); // some names cannot be given anew
  handed = unfence(order.code);
  printed = "";
  delete globalThis.__default;
  const { run, text, whole } = compile(handed, order.language, order.session);
  printed = text;
  places = undefined;
  const own = newModule(), given = own.exports;
  let value = await run(), last = false;
  if (value && typeof value === "object" && Object.getPrototypeOf(value) === null && /^ {4}__proto__: null,$/m.test(text)) {
    ({ value } = value);
    last = true;
  }
  if (exported(own, given, value)) return own.exports;
  if ("__default" in globalThis) return typeof globalThis.__default === "function" ? globalThis.__default() : globalThis.__default;
  return last && whole && typeof value === "function" ? value() : value; // code handed over as one function
}

function runOrder(order) {
  if (order.packages) usePackages(order);
  noNetwork = order.environment ? "no network with Bun: code.network needs Node for JavaScript" : order.no_network ?? noNetwork;
  if (order.memory_mb || order.cpu_s) native.limit(order.memory_mb ?? 0, order.cpu_s ?? 0);
  return new Promise((done) => {
    let outcome, value, drained = false, limits = [];
    const within = (ms) => limits.push(setTimeout(() => { drained = true; patient = false; settle(); }, ms).unref());
    const end = (how, what) => {
      outcome ??= how;
      value ??= what;
      if (order.session) within(sessionMs());
      settle();
    };
    within(leftoverMs(order.timeout_ms));
    // Work that the code has left is awaited: calls, timers, streams. An error ends it immediately.
    settle = () => {
      if (!outcome || (outcome.ok && (openCalls || !drained))) return;
      limits.forEach(clearTimeout);
      settle = fail = idle = () => {};
      finish(outcome, value);
      done();
    };
    fail = (error) => { outcome = { ok: false, ...describe(error) }; settle(); };
    idle = () => {
      drained = patient = true;
      end({ ok: false, error: "the code waits for a promise that is never settled", kind: "Error", traceback: "" });
    };
    execute(order).then((what) => end({ ok: true }, what), fail);
  });
}

const nativeSend = native.send;
native.send = (kind, id, text) => {
  const sent = nativeSend(kind, id, text);
  if (kind === CALL) queueMicrotask(awaitAnswers);
  return sent;
};

// ---- start ----

const TRIAL = "import os from \"node:os\";\nconst a: number = await Promise.resolve(1);\nreturn [a, typeof os.EOL]";
const OLDEST = "1.3.10"; // the first whose transpiler knows what a prompt needs
const DATA_MB_MAX = 512; // writable when it has started, which no limit counts: see launch.c
muted = true;
if (process.env.SALLYPORT_TRIAL) {
  const say = (trouble) => { native.tell(trouble ? 0 : 1, `Bun ${Bun.version}${trouble}`); native.exit(0); };
  if (Bun.semver.order(Bun.version, OLDEST) < 0) say(` is older than ${OLDEST}`);
  if (native.data() > DATA_MB_MAX) say(` cannot be limited in memory: it maps ${native.data()} MB when it starts. Use Node, or another version of Bun`);
  execute({ code: TRIAL, language: "typescript" }).then((v) => say(String(v) === "1,string" ? "" : ` answers ${v}`), (error) => say(`: ${error}`));
} else {
  furnish();
  standIn();
  execute({ code: TRIAL, language: "typescript" }).then(async () => { // warms up what every run uses
    muted = false;
    native.shut();
    watch();
    native.send(AWAKE, 0, "");
    for (;;) await runOrder(JSON.parse(native.receive()));
  });
}
