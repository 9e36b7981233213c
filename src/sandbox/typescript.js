// TypeScript to JavaScript. The compiler is amaro, the one that Node itself uses. It keeps decorators and other syntax that
// is newer than the engine; such code goes through @swc/wasm, which supports all of it but takes a third of a
// second to load.
//
// Both lie beside this file (scripts/setup fetches them from npm) and are read before the sandbox is closed. amaro is loaded
// by the zygote when it has nothing else to do, so that children have it; a child that was forked before loads it itself.
"use strict";
const { existsSync } = require("fs"), { dirname } = require("path"), { SourceMap } = require("module");

const beside = (name) => `${dirname(process.argv[1])}/sallyport-${name}`;

// Without its unused and type-only imports, as tsc leaves them out; and with class fields as the language has them.
const TRANSFORM = { mode: "transform", sourceMap: true, deprecatedTsModuleAsError: false,
  transform: { verbatimModuleSyntax: false, nativeClassProperties: true, noEmptyExport: true, importNotUsedAsValues: "remove" } };
const STRIP = { mode: "strip-only", deprecatedTsModuleAsError: false };
const lowered = (transform) => ({ swcrc: false, configFile: false, sourceMaps: true, isModule: true, module: undefined,
  jsc: { parser: { syntax: "typescript", decorators: true }, target: "es2022", keepClassNames: true, transform } });
const STANDARD = lowered({ decoratorVersion: "2022-03" }), LEGACY = lowered({ legacyDecorator: true, decoratorMetadata: false, useDefineForClassFields: false });
// Decorators as TypeScript had them before the standard, which tsc compiles with `experimentalDecorators`. The arguments of a decorator, or
// one in front of a parameter, give them away.
const LEGACY_SIGNS = [/\b(?:Typed)?PropertyDescriptor\b/, /\(\s*target\s*:\s*(?:any|object|unknown|\{\})\s*,\s*\w+\s*:\s*(?:string|symbol)/i,
  /[(,]\s*@\w+(?:\([^()]*\))?\s+(?:(?:public|private|protected|readonly)\s+)*\w+\s*[?:]/];
const isLegacy = (code) => LEGACY_SIGNS.some((sign) => sign.test(code)) && !/\bDecoratorContext\b|Class\w+DecoratorContext\b|\baddInitializer\b/.test(code);
// As tsc does it: metadata only where the engine or the code has the symbol, and not on a class that its decorator has sealed.
const METADATA = 'return Object.defineProperty(Class, Symbol.metadata || Symbol.for("Symbol.metadata"), {';
const METADATA_OF_TSC = "return !Symbol.metadata || !Object.isExtensible(Class) ? Class : Object.defineProperty(Class, Symbol.metadata, {";

// The compiler declares this under another name than it uses.
const SUPPRESSED = /^var _SuppressedError\d+ = typeof SuppressedError\b/m;

const lower = (swc, code) => {
  const made = swc(code, isLegacy(code) ? LEGACY : STANDARD);
  return { ...made, code: made.code.replace(METADATA, METADATA_OF_TSC).replace(SUPPRESSED, "var _SuppressedError = typeof SuppressedError") };
};

// A CommonJS file without a place of its own: what it requires is given here.
function evaluate(name, text, given) {
  const module = { exports: {} };
  const made = require("vm").compileFunction(text, ["module", "exports", "require", "__dirname"], { filename: name });
  made(module, module.exports, (wanted) => given[wanted] ?? require(wanted), "");
  return module.exports;
}

function compilers(native) {
  const files = ["amaro.js", "swc.js", "swc.wasm"].map(beside);
  if (!files.every(existsSync)) return null;
  const [amaroText, swcText, swcWasm] = files.map((file) => native.map(file));
  let amaro, swc;
  const textOf = (bytes) => Buffer.from(bytes).toString("latin1"); // both are ASCII
  return {
    amaro: () => amaro ??= evaluate("amaro", textOf(amaroText), {}).transformSync,
    swc: () => swc ??= evaluate("swc", textOf(swcText), { fs: { readFileSync: () => new Uint8Array(swcWasm) } }).transformSync,
  };
}

// ---- `return` outside of a function, which models often write and TypeScript rejects ----

// The compiler names one at a time. Until it is done, each is a `throw`, which has the same grammar.
const OUTSIDE = "Return statement is not allowed here", RETURNS_MAX = 200;
const MARK = "throw __return__", MARKED = /throw __return__,?/g;

function markReturn(code, { startLine, startColumn }) {
  const lines = code.split("\n"), line = lines[startLine - 1] ?? "";
  const at = line.startsWith("return", startColumn) ? startColumn : line.indexOf("return");
  if (at < 0) return code;
  const rest = line.slice(at + 6);
  lines[startLine - 1] = `${line.slice(0, at)}${MARK}${/^\s*(?:[;}]|\/\/|$)/.test(rest) ? "" : ","}${rest}`;
  return lines.join("\n");
}

function withReturns(code, compile) {
  for (let left = RETURNS_MAX;; left--) {
    try {
      const made = compile(code);
      return { ...made, code: made.code.replace(MARKED, "return"), source: code };
    } catch (error) {
      const marked = error?.message === OUTSIDE && left > 0 ? markReturn(code, error) : code;
      if (marked === code) throw error;
      code = marked;
    }
  }
}

// ---- the two ways ----

// Positions stay where nothing but types had to go; imports take the other way, as tsc drops those that are only types.
function compileTypes(code, amaro) {
  if (!/\bimport\b/.test(code)) {
    try {
      return amaro(code, STRIP);
    } catch (error) {
      if (error?.code !== "UnsupportedSyntax") throw error;
    }
  }
  return amaro(code, TRANSFORM);
}

// typed(code): { code, map, lower() }; `lower` gives the same for an engine that does not know all of the syntax.
function typeCompiler(found) {
  const done = ({ code, map, source }) => ({ code, map: map ? new SourceMap(JSON.parse(map)) : null, source });
  return (text) => {
    try {
      const made = done(withReturns(text, (code) => compileTypes(code, found.amaro())));
      made.lower = () => done(withReturns(made.source, (code) => lower(found.swc(), code)));
      return made;
    } catch (error) {
      if (typeof error?.startLine !== "number") throw error;
      throw Object.assign(new SyntaxError(error.message), { loc: { line: error.startLine, column: error.startColumn } });
    }
  };
}
