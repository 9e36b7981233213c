// node tests/code/expect.mjs [TEXT]: runs every snippet, or those whose language or name contains TEXT, with CPython, Node and
// tsc themselves, outside of any sandbox, and writes what they print to tests/code/snippets/expected.json. Look at the difference
// before it is committed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectedFile, languages, snippets } from './lib.mjs';

const node = process.execPath, python = process.env.SALLYPORT_PYTHON ?? 'python3';
const tsc = new URL('../npm/node_modules/typescript/lib/tsc.js', import.meta.url).pathname;
const isModule = (code) => /^(?:import|export)\b|^(?:const [^=]*= )?await\b|^for await\b/m.test(code);

function run(language, code, dir) {
  const ts = language === 'typescript', ext = isModule(code) ? 'm' : 'c';
  const file = join(dir, language === 'python' ? 'main.py' : `main.${ts ? `${ext}ts` : `${ext}js`}`);
  writeFileSync(file, code);
  if (ts) spawnSync(process.execPath, [tsc, '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom,esnext', '--types', '--noCheck', file], { cwd: dir });
  const command = language === 'python' ? [python, file] : [node, file.replace(/ts$/, 'js')];
  const made = spawnSync(command[0], command.slice(1), { cwd: dir, encoding: 'utf8', input: '', env: { PATH: process.env.PATH, TZ: 'UTC', LANG: 'C.UTF-8', HOME: dir } });
  if (made.status !== 0) console.error(`${language}: ${code.slice(0, 80)}: ${made.stderr}`);
  return made.stdout.split('\n').slice(0, made.stdout.endsWith('\n') ? -1 : undefined);
}

const only = process.argv[2] ?? '', expected = {};
const before = existsSync(expectedFile) ? JSON.parse(readFileSync(expectedFile, 'utf8')) : {};
for (const language of languages) {
  expected[language] = {};
  for (const { name, code } of snippets(language)) {
    if (!`${language} ${name}`.includes(only)) {
      expected[language][name] = before[language]?.[name];
      continue;
    }
    const dir = mkdtempSync(join(tmpdir(), 'snippet-'));
    expected[language][name] = run(language, code, dir);
    rmSync(dir, { recursive: true });
  }
}
writeFileSync(expectedFile, `${JSON.stringify(expected, null, 1)}\n`);
