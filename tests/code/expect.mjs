// node tests/code/expect.mjs [TEXT|--new]: runs every snippet, those whose language or name contains TEXT, or those without an expectation, with CPython, Node,
// tsc, bash and sqlite3 themselves, outside of any sandbox, and writes what they print to tests/code/snippets/expected.json. Look at the difference
// before it is committed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectedFile, extension, languages, snippets, tables } from './lib.mjs';

const node = process.execPath, python = process.env.SALLYPORT_PYTHON ?? 'python3';
const tsc = new URL('../npm/node_modules/typescript/lib/tsc.js', import.meta.url).pathname;
const isModule = (code) => /^(?:import|export)\b|^(?:const [^=]*= )?await\b|^for await\b/m.test(code);

// The table of the last query, as rows of named values.
function runSql(code) {
  const made = spawnSync('sqlite3', ['-batch', '-bail', ':memory:'], { encoding: 'utf8', input: [
    '.mode csv', ...Object.entries(tables).flatMap(([name, [columns, rows]]) => {
      const file = join(tmpdir(), `snippet-${name}.csv`);
      writeFileSync(file, rows);
      return [`CREATE TABLE ${name} (${columns});`, `.import ${file} ${name}`];
    }), '.mode json', code].join('\n') });
  if (made.status !== 0) console.error(`sql: ${code.slice(0, 80)}: ${made.stderr}`);
  return JSON.parse(made.stdout.slice(made.stdout.lastIndexOf('\n[') + 1));
}

function run(language, code, dir) {
  if (language === 'sql') return runSql(code);
  const ts = language === 'typescript', ext = isModule(code) ? 'm' : 'c';
  const script = language === 'python' || language === 'bash';
  const file = join(dir, script ? `main.${extension[language]}` : `main.${ts ? `${ext}ts` : `${ext}js`}`);
  writeFileSync(file, code);
  const legacy = ts && /\bPropertyDescriptor\b/.test(code) ? ['--experimentalDecorators', '--useDefineForClassFields', 'false'] : [];
  if (ts) spawnSync(process.execPath, [tsc, '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom,esnext', '--types', '--noCheck', ...legacy, file], { cwd: dir });
  const command = script ? [language === 'python' ? python : 'bash', file] : [node, file.replace(/ts$/, 'js')];
  const made = spawnSync(command[0], command.slice(1), { cwd: dir, encoding: 'utf8', input: '', env: { PATH: process.env.PATH, TZ: 'UTC', LANG: 'C.UTF-8', HOME: dir } });
  if (made.status !== 0) console.error(`${language}: ${code.slice(0, 80)}: ${made.stderr}`);
  return made.stdout.split('\n').slice(0, made.stdout.endsWith('\n') ? -1 : undefined);
}

const only = process.argv[2] ?? '', expected = {};
const before = existsSync(expectedFile) ? JSON.parse(readFileSync(expectedFile, 'utf8')) : {};
for (const language of languages) {
  expected[language] = {};
  for (const { name, code } of snippets(language)) {
    const known = before[language]?.[name];
    if (only === '--new' ? known : !`${language} ${name}`.includes(only)) {
      expected[language][name] = known;
      continue;
    }
    const dir = mkdtempSync(join(tmpdir(), 'snippet-'));
    expected[language][name] = run(language, code, dir);
    rmSync(dir, { recursive: true });
  }
}
writeFileSync(expectedFile, `${JSON.stringify(expected, null, 1)}\n`);
