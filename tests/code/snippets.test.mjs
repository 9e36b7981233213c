// What agents' code really does: each snippet prints in the sandbox what CPython, Node, tsc, bash and sqlite3 print (expect.mjs wrote that down).
// A snippet that cannot run is listed here with its error text, which says what to do. SALLYPORT_NODE=/path/to/node tries another Node.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sallyport } from '../lib/paths.mjs';
import { run } from '../lib/sandbox.mjs';
import { csv, expectedFile, extension, languages, snippets, tables } from './lib.mjs';

const BATCH = 16, PASSING = 0.97;
const explained = {};
const lacks = (code) => ['jq', 'git', 'sqlite3', 'node', 'perl'].filter((name) => new RegExp(`\\b${name} `).test(code) && !existsSync(`/usr/bin/${name}`));
const expected = JSON.parse(readFileSync(expectedFile, 'utf8'));

// What it prints; of SQL, the rows of the last table.
const seen = (language, o) => (language === 'sql' ? o?.result?.rows.map((row) => Object.fromEntries(row.map((value, i) => [o.result.columns[i], value]))) : o?.output);

function runAll(files, workspace) {
  const child = spawn(sallyport, ['code', 'run', '--json', '--timeout', '60s', ...(workspace ? ['--workspace', workspace] : []), ...files], { env: { ...process.env, SALLYPORT_NODE: process.env.SALLYPORT_NODE ?? process.execPath }, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => { text += chunk; });
  return new Promise((resolve) => child.on('close', () => resolve(text.trimEnd().split('\n').map((line) => JSON.parse(line)))));
}

for (const language of languages) {
  test(`${language}: typical code of agents prints the expected output`, async (t) => {
    const every = snippets(language), all = every.filter(({ code }) => language !== 'bash' || !lacks(code).length), dir = mkdtempSync(join(tmpdir(), 'snippets-'));
    t.after(() => rmSync(dir, { recursive: true }));
    assert.deepEqual(every.map((s) => s.name), Object.keys(expected[language]), 'expected.json is older than the snippets: node tests/code/expect.mjs');
    const failures = [], data = language === 'sql' ? mkdtempSync(join(tmpdir(), 'snippets-')) : null;
    if (data) {
      t.after(() => rmSync(data, { recursive: true }));
      for (const name of Object.keys(tables)) writeFileSync(join(data, `${name}.csv`), csv(name));
    }
    for (let at = 0; at < all.length; at += BATCH) {
      const some = all.slice(at, at + BATCH);
      const files = some.map(({ code }, i) => {
        const file = join(dir, `${at + i}.${extension[language]}`);
        writeFileSync(file, code);
        return file;
      });
      const outcomes = await runAll(files, data);
      if (/cannot be limited/.test(outcomes[0]?.error)) return t.skip(`SKIPPED LOUDLY: ${outcomes[0].error}`);
      some.forEach(({ name }, i) => {
        const o = outcomes[i];
        if (o?.success && JSON.stringify(seen(language, o)) === JSON.stringify(expected[language][name])) return;
        failures.push({ name, error: o?.error, output: seen(language, o)?.slice(0, 20), expected: expected[language][name].slice(0, 20) });
      });
    }
    const unexplained = failures.filter((f) => !explained[f.name]?.test(f.error ?? ''));
    assert.deepEqual(unexplained, [], JSON.stringify(unexplained, null, 1));
    assert.ok(all.length - failures.length >= PASSING * all.length, `${failures.length} of ${all.length} fail`);
  });
}

// Without namespaces: /workspace and /tmp are directories elsewhere, and the kernel refuses what Landlock does not control.
const REFUSED = /\bchmod\(|os\.utime\(|signal\.raise_signal|os\.kill\b/;
for (const language of ['python', 'javascript', 'typescript']) {
  test(`${language}: the same code prints the same at tier 2, except where it changes modes, times or signals itself`, async (t) => {
    const all = snippets(language).filter(({ code }) => !REFUSED.test(code)), who = process.getuid() === 0 ? 'root' : 'user', failures = [];
    assert.ok(all.length > 0.9 * snippets(language).length);
    for (let at = 0; at < all.length; at += BATCH) {
      const some = all.slice(at, at + BATCH);
      const outcomes = await run(who, some.map(({ code }) => code), { profile: 'files', ext: extension[language], args: ['--min-tier', '2', '--timeout', '60s'], env: { SALLYPORT_SANDBOX_TIER: '2' } });
      if (outcomes[0].tier !== 2) return t.skip(`SKIPPED LOUDLY: this machine gives tier ${outcomes[0].tier}, not 2: ${outcomes[0].error}`);
      some.forEach(({ name }, i) => {
        if (JSON.stringify(outcomes[i].output) !== JSON.stringify(expected[language][name])) failures.push({ name, error: outcomes[i].error, output: outcomes[i].output, expected: expected[language][name] });
      });
    }
    assert.deepEqual(failures, [], JSON.stringify(failures, null, 1));
  });
}
