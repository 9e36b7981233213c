// What JavaScript finds in a sandbox, whichever interpreter runs it: the bridge to the gate, the forms in which code is
// handed over, the results. The interpreter's own file follows and brings `native` (the functions of the module), loadSkill()
// and ownPlace() (a line of a stack in terms of the code as it was handed over, or null when it is none of it).
//
// Guest code can read and change everything here. That gives it no access: the kernel enforces the sandbox, and the gate
// checks every byte that it receives over the bridge.
const NOWHERE = 0, RESULT = 2, CALL = 16, PROGRESS = 17, DONE = 19, AWAKE = 20;
const FILE = "code";
const load = require; // furnish() gives the code another one, which replaces this one in Bun
const util = require("util");

// ---- the code as models hand it over ----

const FENCED = /^[ \t]*```[\w-]*[ \t]*\r?\n([\s\S]*?)(?:\r?\n)?^[ \t]*```[ \t]*\r?$/m;

// The first fenced block of code, without the text around it. A first line #! becomes a comment.
function unfence(code) {
  if (code.includes("```")) {
    const found = FENCED.exec(code);
    if (!found) code = code.replace(/^\s*```[\w-]*[ \t]*\r?\n/, "");
    else if (!code.slice(0, found.index).includes("/*")) code = found[1];
  }
  return code.startsWith("#!") ? `//${code.slice(2)}` : code;
}

function syntaxError(error, code) {
  if (!error.loc) return error;
  const { line, column } = error.loc;
  const text = String(error.message).replace(/ \(\d+:\d+\)$/, "");
  const shown = code.split("\n")[line - 1] ?? "";
  return Object.assign(new SyntaxError(`${text} (line ${line})`),
    { stack: `SyntaxError: ${text}\n    at ${FILE}:${line}:${column + 1}\n\n${shown}\n${" ".repeat(column)}^` });
}

// ---- the bridge ----

const calls = new Map();
let lastCall = 0, openCalls = 0;

// kind: denied, rate_limited, approval_needed, unknown_tool, tool_error or failed; and further details
class ToolError extends Error {
  constructor(text, { message, ...details } = {}) {
    super(text);
    this.name = "ToolError";
    Object.assign(this, { kind: "failed" }, details);
  }
}

function callTool(server, tool, args = {}) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify({ server: String(server), tool: String(tool), args: args ?? {} }); // may throw
    const id = ++lastCall, call = { resolve, reject };
    Error.captureStackTrace(call, callTool); // the caller's stack is gone when the response arrives
    calls.set(id, call);
    openCalls++;
    if (!native.send(CALL, id, text)) {
      calls.delete(id);
      openCalls--;
      reject(new ToolError("the arguments are too large"));
    }
  });
}

function onFrame(kind, id, text) {
  const call = calls.get(id);
  if (!call) return;
  calls.delete(id);
  openCalls--;
  const value = JSON.parse(text);
  if (kind === RESULT) return call.resolve(value);
  const error = typeof value === "object" ? new ToolError(String(value.message), value) : new ToolError(String(value));
  error.stack = `ToolError: ${error.message}\n${String(call.stack).split("\n").slice(1).join("\n")}`;
  call.reject(error);
}

const searchTools = (query = "", options = {}) => callTool("", "search_tools", { query, ...options });
const describeTool = (name, options = {}) => callTool("", "get_tool_definition", { tool_name: name, ...options });
const progress = (fraction, text = "") => {
  if (typeof fraction === "string") [fraction, text] = [null, fraction];
  native.send(PROGRESS, 0, wellFormed(JSON.stringify({ fraction: Number(fraction ?? NaN), text: String(text) })));
};

// tools.SERVER.TOOL(args); `then` stays absent so that nothing takes a server for a promise
const tools = new Proxy({}, { get: (_, server) => typeof server === "symbol" || server === "then" ? undefined
  : new Proxy({}, { get: (_, tool) => typeof tool === "symbol" || tool === "then" ? undefined
    : (args) => callTool(server, tool, args) }) });

let noNetwork = "no network here: the operator can allow hosts with code.network.allow or --network (docs/code.md)";
let network = null; // see connectOut()
let serves = true; // with a network, loop-back is the gate's machine until the run listens there itself
const isLocal = (host) => serves && !process.versions.bun && /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1?\]?)$/.test(host); // a server of the run itself

// The gate's proxy is the only network access. Both http: and https: use a tunnel through it.
function connectOut({ environment, no_network: why }) {
  noNetwork = why ?? noNetwork;
  if (network || !environment) return;
  Object.assign(process.env, environment);
  const net = load("net"), tls = load("tls"), http = load("http"), https = load("https");
  const proxy = new URL(environment.HTTPS_PROXY), { listen } = net.Server.prototype;
  serves = false;
  net.Server.prototype.listen = function (...args) {
    serves = true;
    return listen.apply(this, args);
  };
  const tunnel = (host, port) => new Promise((resolve, reject) => {
    const socket = net.connect(Number(proxy.port), proxy.hostname);
    let head = "";
    const onData = (bytes) => {
      head += bytes.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", onData).off("error", reject).off("end", onEnd); // the client sends first, so nothing is lost
      if (/^HTTP\/1\.1 200 /.test(head)) return resolve(socket);
      socket.destroy();
      reject(Object.assign(new Error(head.slice(9, head.indexOf("\r\n"))), { code: "ECONNREFUSED" }));
    };
    const onEnd = () => reject(Object.assign(new Error(`the gate takes no more connections of this run`), { code: "ECONNREFUSED" }));
    socket.on("data", onData).on("error", reject).on("end", onEnd);
    const name = net.isIPv6(host) ? `[${host}]` : host;
    socket.write(`CONNECT ${name}:${port} HTTP/1.1\r\nHost: ${name}:${port}\r\n\r\n`);
  });
  const open = (options, secure, done) => {
    const host = (options.hostname ?? options.host ?? "localhost").replace(/^\[|\]$/g, ""), port = Number(options.port) || (secure ? 443 : 80);
    tunnel(host, port).then((socket) => {
      if (!secure) return done(null, socket);
      const name = options.servername || (net.isIP(host) ? undefined : host);
      const over = tls.connect({ ...options, socket, servername: name, host, ALPNProtocols: ["http/1.1"] });
      over.once("secureConnect", () => done(null, over)).once("error", done);
    }, done);
  };
  for (const [agent, secure] of [[http.globalAgent, false], [https.globalAgent, true]]) {
    const direct = agent.createConnection;
    agent.createConnection = (options, done) => {
      if (isLocal(options.hostname ?? options.host ?? "localhost")) return direct.call(agent, options, done);
      open(options, secure, done);
    };
  }
  const byNode = nodeFetch;
  network = { fetch: (resource, options) => {
    void Response; // loads the library, which then exposes its dispatcher
    const Agent = globalThis[Symbol.for("undici.globalDispatcher.1")]?.constructor;
    if (!Agent) throw new TypeError("fetch failed: this interpreter's fetch knows no proxy; use node:https");
    network.agent ??= new Agent({ connect: (options, done) => open(options, options.protocol === "https:", done) });
    return byNode(resource, { ...options, dispatcher: network.agent }).catch((error) => {
      throw error.cause?.message ? Object.assign(new TypeError(`fetch failed: ${error.cause.message}`), { cause: error.cause }) : error;
    });
  } };
}

// Reaches the code-mode endpoints of the gate under any host name; other URLs only if there is a network.
async function fetchInside(resource, options = {}) {
  const text = typeof resource === "string" ? resource : resource?.url ?? String(resource), url = URL.canParse(text) && new URL(text);
  if (!/^https?:$/.test(url.protocol)) return nodeFetch(resource, options); // data: and blob: need no network; other schemes fail as usual
  (options.signal ?? resource.signal)?.throwIfAborted();
  const method = String(options.method ?? resource.method ?? "GET").toUpperCase();
  let body = options.body ?? null;
  if (body !== null && typeof body !== "string") body = String(body);
  if (!url.pathname.startsWith("/mcp/")) {
    if (isLocal(url.hostname)) return nodeFetch(resource, options);
    if (network) return network.fetch(resource, options);
    throw new TypeError(`fetch failed: ${noNetwork}`, { cause: Object.assign(new Error(noNetwork), { code: "ENETUNREACH", errno: -101, syscall: "connect", hostname: url.hostname }) });
  }
  const answer = await callTool("", "fetch", { method, path: url.pathname, body });
  return new Response(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body),
    { status: answer.status ?? 200, headers: { "content-type": "application/json" } });
}

const nodeFetch = globalThis.fetch;
const builtins = new Set(require("module").builtinModules);
const loadedSkills = new Map();
const SKILL = /^(?:\.{0,2}\/)?skills\/([A-Za-z_]\w*)(?:\.[jt]s)?$/;
const NPM_NAME = /^(?:@[\w.-]+\/)?[\w-][\w.-]*(?=\/|$)/;
const HAVE = "there are the built-in modules, files of the workspace, skills/NAME and the packages that a run asks for (`packages`)";
const installs = (name) => NPM_NAME.test(name) ? `; the operator can install it with \`sallyport code packages add npm:${NPM_NAME.exec(name)[0]}\`` : "";
const noModule = (name, why = HAVE + installs(name)) =>
  Object.assign(new Error(`Cannot find module '${name}': ${why}`), { code: "MODULE_NOT_FOUND" });

async function skillCode(name) {
  const found = await callTool("", "load_skill", { name }).catch((error) => {
    let why = error.message; // JSON, where the tool's result has a schema
    try { why = JSON.parse(why).error ?? why; } catch {}
    throw noModule(`skills/${name}`, why);
  });
  if (found.metadata?.language === "python") throw noModule(`skills/${name}`, "that skill is Python");
  return unfence(String(found.code));
}

// Packages that a run has requested, by name: each resolves its dependencies beside itself.
const packages = new Map();
const packageOf = (name) => packages.get(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]);

const CLOSED = "packages cannot be read here: with profile pure no file is opened, and below tier 1 a gate of root needs a home (SALLYPORT_HOME) that other users can enter";

function usePackages(order) {
  const { createRequire } = load("module");
  for (const [name, layer] of Object.entries(order.packages)) {
    const at = `${order.packages_dir}/${layer}`;
    const closed = () => { throw noModule(name, CLOSED); };
    packages.set(name, Object.assign(load("fs").existsSync(at) ? createRequire(`${at}/main.js`) : Object.assign(closed, { resolve: closed }), { layer: at }));
  }
}

// The file that package.json names for `import`: the first matching condition, at any depth.
function entryOf({ exports, module, main }, subpath) {
  const pick = (target) => typeof target === "string" ? target : Array.isArray(target) ? pick(target[0])
    : target && pick(Object.entries(target).find(([key]) => ["node", "import", "module-sync", "default"].includes(key))?.[1]);
  const paths = exports && typeof exports === "object" && Object.keys(exports).some((key) => key.startsWith(".")) ? exports : { ".": exports };
  return pick(paths[subpath]) ?? (exports ? null : subpath === "." ? module ?? main ?? "index.js" : subpath);
}

// An ES module package is loaded by the engine's own loader, because require() cannot.
async function importPackage(name, find) {
  try {
    return find(name);
  } catch (error) {
    if (error?.code !== "ERR_REQUIRE_ESM" && error?.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error;
    const [own] = /^(?:@[^/]+\/)?[^/]+/.exec(name), dir = `${find.layer}/node_modules/${own}`;
    const entry = entryOf(JSON.parse(load("fs").readFileSync(`${dir}/package.json`, "utf8")), `.${name.slice(own.length)}`);
    if (!entry) throw error;
    return import(load("url").pathToFileURL(`${dir}/${entry}`).href);
  }
}

// Relative file names refer to the workspace.
let place = (path) => path; // see lead()
function requireInside(name) {
  const find = packageOf(String(name));
  if (find) return find(name);
  try {
    return load(/^\.\.?\//.test(name) ? place(`${process.cwd()}/${name}`) : place(name));
  } catch (error) {
    throw error?.code === "MODULE_NOT_FOUND" ? noModule(name) : error;
  }
}

const isNamespace = (m) => m?.[Symbol.toStringTag] === "Module";

// A file of the workspace. An ES module is evaluated once, whichever file loads it; its namespace is that of the engine's own loader.
async function importFile(name) {
  try {
    const m = requireInside(name);
    if (!isNamespace(m)) return Object.assign(Object.create(null), m, { default: m });
  } catch (error) {
    if (error?.code !== "ERR_REQUIRE_ESM" && error?.code !== "ERR_REQUIRE_ASYNC_MODULE") throw error;
  }
  return import(load("url").pathToFileURL(place(load("path").resolve(name))).href);
}

function importModule(name) {
  return importInside(String(name)).catch((error) => { // as import() calls it
    throw error?.code === "MODULE_NOT_FOUND" ? Object.assign(error, { code: "ERR_MODULE_NOT_FOUND" }) : error;
  });
}

async function importInside(name) {
  const plain = name.replace(/^node:/, "");
  if (builtins.has(plain)) {
    const m = load(plain);
    return Object.assign(Object.create(null), m, { default: m });
  }
  if (name.startsWith("file:")) return importFile(load("url").fileURLToPath(name));
  if (name.startsWith("data:")) return import(name);
  const find = packageOf(name);
  if (find) {
    const m = await importPackage(name, find);
    return isNamespace(m) ? m : Object.assign(Object.create(null), m, { default: m?.__esModule && "default" in m ? m.default : m });
  }
  const skill = SKILL.exec(name)?.[1] ?? /^[A-Za-z_]\w*$/.exec(name)?.[0];
  if (!skill) {
    if (!/^\.{0,2}\//.test(name)) throw noModule(name);
    return importFile(name);
  }
  if (!loadedSkills.has(skill)) loadedSkills.set(skill, loadSkill(skill));
  return loadedSkills.get(skill).catch((error) => { throw skill === name ? noModule(name) : error; });
}

// ---- results ----

// A lone surrogate is replaced by its escape.
const wellFormed = (text) => text.includes("\\ud") ? text.replace(/\\(ud[\da-f]{3}|.)/gs, (all, escape) => escape.length > 1 ? "\\ufffd" : all)
  : text;

// The last line of code often sets a timer or listens to a stream: its return value is not a result.
const EventEmitter = require("events");
const isMachinery = (v) => v instanceof EventEmitter || v === process || /^(?:Timeout|Immediate|Interval)$/.test(v.constructor?.name ?? "");

function toJson(value) {
  const seen = new WeakSet();
  const plain = (v, depth) => {
    if (v === null || typeof v === "string" || typeof v === "boolean") return v;
    if (typeof v === "number") return Number.isFinite(v) ? v : null;
    if (typeof v === "bigint") return Number.isSafeInteger(Number(v)) ? Number(v) : String(v);
    if (v === undefined) return null;
    if (typeof v === "function" || typeof v === "symbol") return String(v);
    if (seen.has(v)) return "[circular]";
    if (depth > 60) return "...";
    if (isMachinery(v)) return null;
    if (typeof v.toJSON === "function") return plain(v.toJSON(), depth + 1);
    seen.add(v);
    let result;
    if (v instanceof Error) result = { name: v.name, message: v.message };
    else if (v instanceof Map) result = Object.fromEntries([...v].map(([k, x]) => [String(k), plain(x, depth + 1)]));
    else if (Array.isArray(v) || v instanceof Set || ArrayBuffer.isView(v)) result = Array.from(v, (x) => plain(x, depth + 1));
    else result = Object.fromEntries(Object.entries(v).filter(([, x]) => x !== undefined).map(([k, x]) => [k, plain(x, depth + 1)]));
    seen.delete(v);
    return result;
  };
  return wellFormed(JSON.stringify(plain(value, 0)));
}

// The agent's own lines only.
function ownStack(error) {
  const text = typeof error?.stack === "string" ? error.stack : String(error);
  return text.split("\n").filter((line) => !/^\s+at /.test(line) || /\b(code|skill \w+):\d+:\d+\)?$/.test(line))
    .map(ownPlace).filter((line) => line !== null).join("\n");
}

function describe(error) {
  if (error instanceof RangeError && /allocation failed|^out of memory/i.test(error.message)) // of a buffer; a full heap ends the process
    return { error: "out of memory", kind: "MemoryError", traceback: ownStack(error) };
  if (/^(?:EPERM|EACCES)$/.test(error?.code) && /^(?:spawn|fork)/.test(error.syscall ?? ""))
    return { error: `${error.message}: no programs or processes can be started in this sandbox; the operator can allow them with \`code: {bash: true}\` or --bash, and in \`code run\` with --profile proc (docs/code.md, bash)`, kind: error.name, traceback: ownStack(error) };
  if (!network && /^(?:getaddrinfo|connect|socket)/.test(error?.syscall ?? ""))
    return { error: `${error.message}: ${noNetwork}`, kind: error.name, traceback: ownStack(error) };
  if (error instanceof Error) return { error: error.message || error.name, kind: error.name || "Error", traceback: ownStack(error) };
  return { error: typeof error === "string" ? error : util.inspect(error), kind: "Error", traceback: "" };
}

let muted = false; // while warming up

function finish(outcome, value) {
  let result = "null";
  try {
    result = toJson(value);
  } catch (error) {
    if (outcome.ok) outcome = { ok: false, ...describe(error) };
  }
  const text = wellFormed(JSON.stringify(outcome));
  const to = muted ? NOWHERE : DONE;
  if (!native.send(to, 0, `${text.slice(0, -1)},"result":${result}}`)) {
    native.send(to, 0, `${text.slice(0, -1)},"result":"the result has ${result.length} characters of JSON, more than can be handed over"}`);
  }
}

// Time for unfinished work: until shortly before the gate ends the run, so that its result is not lost.
const leftoverMs = (timeout = 0) => timeout - Math.min(500, timeout / 4);

// A session awaits it, too, but not for long: what is left goes on in its next run, which does not wait for it again.
const SESSION_MS = 5000;
let patient = true;
const sessionMs = () => patient ? SESSION_MS : 0;

// ---- environment of the code ----

const HOME = "/workspace";
const PROGRAM = `${HOME}/main.js`;

// Without mounts, /workspace and /tmp are directories elsewhere: paths are mapped to them.
function lead(root) {
  const fs = load("fs"), where = process.cwd;
  place = (path) => typeof path === "string" && /^\/(?:workspace|tmp)(?:\/|$)/.test(path) && !path.startsWith(root) ? root + path : path;
  const leads = /^(?:access|append|chmod|copyFile|cp|create|exists|link|lstat|lutimes|mk|open|read(?:dir|File|link)|realpath|rename|rm|stat|symlink|truncate|unlink|utimes|writeFile)/;
  for (const from of [fs, fs.promises])
    for (const name of Object.keys(from)) {
      const call = from[name];
      if (typeof call === "function" && leads.test(name)) from[name] = (first, second, ...rest) =>
        second === undefined && !rest.length ? call.call(from, place(first)) : call.call(from, place(first), place(second), ...rest);
    }
  // Modes cannot be changed there, which copyFile() tries to do.
  const copyFile = (from, to, flags = 0) => fs.writeFileSync(to, fs.readFileSync(from), { flag: flags & fs.constants.COPYFILE_EXCL ? "wx" : "w" });
  fs.copyFileSync = copyFile;
  fs.promises.copyFile = async (...args) => copyFile(...args);
  fs.copyFile = (...args) => { const done = args.pop(); fs.promises.copyFile(...args).then(() => done(null), done); };
  const modules = load("module"), { createRequire } = modules, { fileURLToPath } = load("url");
  modules.createRequire = (from) => createRequire(place(/^file:/.test(from) ? fileURLToPath(from) : from));
  process.cwd = () => where().startsWith(`${root}/`) ? where().slice(root.length) : where();
  load("os").tmpdir = () => "/tmp";
}

// One for each run: for code that is written as a CommonJS module.
function newModule() {
  const own = { exports: {}, id: ".", filename: PROGRAM, path: HOME, loaded: false, children: [], paths: [], require: requireInside };
  requireInside.main = globalThis.module = own;
  globalThis.exports = own.exports;
  return own;
}

// Did the code only set module.exports, without another result?
const exported = (own, given, value) => (own.exports !== given || Object.keys(given).length > 0)
  && (value === undefined || value === own.exports || typeof value === "function" || Object.values(own.exports ?? {}).includes(value));

// Runs the exit handlers.
function leave(fail = () => {}) {
  try { process.emit("exit", process.exitCode ?? 0); } catch (error) { fail(error); }
}

// Replacements for what libraries would read from /proc, the user database or other processes.
function standIn() {
  const os = load("os"), v8 = load("v8");
  const user = { uid: 1000, gid: 1000, username: "sandbox", homedir: HOME, shell: "/bin/sh" };
  os.homedir = () => HOME;
  os.userInfo = () => ({ ...user });
  os.networkInterfaces = () => ({});
  const count = os.availableParallelism?.() ?? 1;
  os.cpus = () => Array.from({ length: count }, () => ({ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }));
  const rss = () => process.resourceUsage().maxRSS * 1024;
  process.memoryUsage = Object.assign(() => {
    const heap = v8.getHeapStatistics();
    return { rss: rss(), heapTotal: heap.total_heap_size, heapUsed: heap.used_heap_size, external: heap.external_memory, arrayBuffers: 0 };
  }, { rss });
}

function furnish() {
  for (const key of Object.keys(process.env)) delete process.env[key];
  process.argv.length = 1;
  process.execArgv = [];
  process.exit = (status = process.exitCode ?? 0) => {
    process.exitCode = status;
    leave();
    finish(status ? { ok: false, error: `process.exit(${status})`, kind: "Exit", traceback: "" } : { ok: true });
    native.exit(0);
  };
  process.reallyExit = native.exit;
  const given = { tools, callTool, searchTools, describe: describeTool, progress, ToolError, fetch: fetchInside, require: requireInside,
    module: null, exports: null, __filename: PROGRAM, __dirname: HOME };
  for (const [name, value] of Object.entries(given)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });
  }
}

