// node --expose-internals types.cjs SNIPPETS FILE...: our type stripper against Node's own; what differs, as JSON.
const fs = require('node:fs'), { join } = require('node:path'), { stripTypeScriptTypes } = require('node:module');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const source = fs.readFileSync(join(__dirname, '../../src/sandbox/typescript.js'), 'utf8');
const strip = new Function(`${source};return typeStripper`)()(acorn);
const MODULE = { ecmaVersion: 'latest', allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true, allowHashBang: true, sourceType: 'module' };

// The same program: positions aside, and empty statements, which either may leave behind.
const tree = (js) => JSON.stringify(acorn.parse(js, MODULE), (key, value) => key === 'start' || key === 'end' || key === 'raw' ? undefined
  : key === 'body' && Array.isArray(value) ? value.filter((n) => n.type !== 'EmptyStatement') : typeof value === 'bigint' ? String(value) : value);

const [snippets, ...files] = process.argv.slice(2);
const found = { snippets: 0, files: 0, refused: 0, same: 0, differ: [] };
const compare = (name, code, anew = false) => {
  let theirs, ours, blanks = true;
  try { tree(theirs = stripTypeScriptTypes(code, { mode: 'strip' })); } catch { blanks = false; } // it has two ways: blanks, or all written anew
  try { if (!blanks && anew) tree(theirs = stripTypeScriptTypes(code, { mode: 'transform' })); } catch {}
  if (theirs === undefined) return false;
  try {
    ours = strip(code, MODULE);
    const lines = theirs.split('\n'), moved = blanks && ours.split('\n').some((line, i) => line.length !== lines[i]?.length);
    if (ours === theirs) found.same++;
    else if (moved || tree(ours) !== tree(theirs)) found.differ.push({ name, ours, theirs });
  } catch (error) { found.differ.push({ name, ours: String(error), theirs }); }
  return true;
};
for (const code of fs.readFileSync(snippets, 'utf8').split(/^----\n/m)) {
  found.snippets++;
  if (!compare(code.slice(0, 60), code, true)) found.differ.push({ name: code, theirs: 'refused' });
}
for (const file of files) compare(file, fs.readFileSync(file, 'utf8')) ? found.files++ : found.refused++;
console.log(JSON.stringify(found));
