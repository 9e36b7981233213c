// Spelling: the pages with hunspell and the words of the project (docs/words.txt), comments and messages in the source with the common mistakes that codespell knows.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../lib/index.mjs';

const GENERATED = ['catalogue.md', 'tokens.md']; // names of packages
const docs = readdirSync(path.join(root, 'docs'), { recursive: true }).filter((name) => name.endsWith('.md') && !GENERATED.includes(name)).map((name) => `docs/${name}`);
const pages = [...docs.sort(), 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'];

// Prose alone: no code, addresses or comments; every line stays in its place.
const blank = (text) => text.replace(/[^\n]/g, ' ');
const proseOf = (text) => text.replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2 *$/gm, blank).replace(/<!--[\s\S]*?-->/g, blank)
  .replace(/(`+)[^`]*\1/g, blank).replace(/\]\([^)]*\)/g, ']').replace(/https?:\S+|"[\w./-]+\.md[^"]*"/g, ' ');
// Words of letters: numbers, versions and units are no words.
const wordsOf = (text) => [...new Set(text.match(/(?<![\p{L}\p{N}_])\p{L}[\p{L}'’]*(?![\p{L}\p{N}_])/gu) ?? [])].map((word) => word.replaceAll('’', "'").replace(/'s?$/, ''));

function misspelt(words) {
  const run = spawnSync('hunspell', ['-l', '-d', 'en_GB', '-p', path.join(root, 'docs/words.txt')], { input: words.join('\n'), encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  assert.equal(run.error, undefined, 'hunspell is missing: scripts/setup test installs it');
  assert.equal(run.status, 0, run.stderr);
  return new Set(run.stdout.split('\n').filter(Boolean));
}

describe('spelling', () => {
  test('the check itself finds a wrong word, and knows the words of the project', () => {
    assert.deepEqual([...misspelt(wordsOf(proseOf('Recieve a token. `recieve` [receive](recieve.md) Sallyport\n')))], ['Recieve']);
  });

  test('pages', () => {
    const texts = pages.map((name) => ({ name, lines: proseOf(readFileSync(path.join(root, name), 'utf8')).split('\n') }));
    const wrong = misspelt([...new Set(texts.flatMap(({ lines }) => lines.flatMap(wordsOf)))]);
    const faults = texts.flatMap(({ name, lines }) => lines.flatMap((line, i) => wordsOf(line).filter((word) => wrong.has(word)).map((word) => `${name}:${i + 1}: ${word}`)));
    assert.deepEqual(faults, [], `correct these, or add a term to docs/words.txt:\n${faults.join('\n')}`);
  });

  test('comments and messages in the source', () => {
    const run = spawnSync('codespell', ['--ignore-words-list', 'te,ment,delet,rotat,inh,larg,iif,upto,ontext,whiling,doas', '--skip', '*_table.c,dates.c,people.c,streets.c,formats.c,words.c,foreign.c,vocabulary.c,national.c,terms.c,*.json', 'src', 'scripts', 'web/src', 'CHANGELOG.md'], { cwd: root, encoding: 'utf8' });
    assert.equal(run.error, undefined, 'codespell is missing: scripts/setup test installs it');
    assert.equal(run.stdout, '', run.stdout);
  });
});
