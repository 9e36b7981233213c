// node --expose-internals types.cjs BUILD SNIPPETS FILE...: what the sandbox makes of TypeScript against what tsc makes of it;
// the programs that differ, as JSON.
const fs = require('node:fs'), { join } = require('node:path');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const ts = require('../npm/node_modules/typescript/lib/typescript.js');
const [build, snippets, ...files] = process.argv.slice(2);
process.argv[1] = join(build, 'script.js'); // the compilers lie beside it
const source = fs.readFileSync(join(__dirname, '../../src/sandbox/typescript.js'), 'utf8');
const { compilers, typeCompiler } = new Function('require', `${source};return { compilers, typeCompiler }`)(require);
const map = (path) => { const bytes = fs.readFileSync(path); return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length); };
const compile = typeCompiler(compilers({ map }));

const MODULE = { ecmaVersion: 'latest', allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true, allowHashBang: true, sourceType: 'module' };
const OPTIONS = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, useDefineForClassFields: true };

// The same program: positions aside, and what either may leave behind: empty statements, `export {}`.
const idle = (n) => n.type === 'EmptyStatement' || (n.type === 'ExportNamedDeclaration' && !n.declaration && !n.source && !n.specifiers.length);
const tree = (js) => JSON.stringify(acorn.parse(js, MODULE), (key, value) => key === 'start' || key === 'end' || key === 'raw' ? undefined
  : key === 'body' && Array.isArray(value) ? value.filter((n) => !idle(n)) : typeof value === 'bigint' ? String(value) : value);

const found = { snippets: 0, files: 0, generated: 0, differ: [] };
function compare(name, code) {
  const theirs = ts.transpileModule(code, { compilerOptions: OPTIONS }).outputText;
  try {
    const ours = compile(code);
    if (ours.map && (!/\bimport\b/.test(code) || /\b(?:enum|namespace)\s+\w+/.test(code))) return 'generated'; // what these compute is compared elsewhere
    const lines = code.split('\n');
    const moved = !ours.map && ours.code.split('\n').some((line, i) => line.length !== lines[i]?.length);
    if (moved || tree(ours.code) !== tree(theirs)) found.differ.push({ name, ours: ours.code, theirs });
  } catch (error) {
    found.differ.push({ name, ours: `${error}`, theirs });
  }
  return null;
}
for (const code of fs.readFileSync(snippets, 'utf8').split(/^----\n/m)) found[compare(code.slice(0, 60), code) ?? 'snippets']++;
for (const file of files) found[compare(file, fs.readFileSync(file, 'utf8')) ?? 'files']++;
console.log(JSON.stringify(found));
