// docs/threat-model.md: every row of its tables names a test, and each of these tests exists.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { root } from './run.mjs';

const text = readFileSync(path.join(root, 'docs/threat-model.md'), 'utf8');
const fileOf = (name) => [`${name}.test.mjs`, name].map((one) => path.join(root, 'tests', one)).find((one) => existsSync(one));
// Titles of tests, without the marks that escape quotes in them; in C the names of test functions.
const titlesOf = (source) => [
  ...source.matchAll(/\b(?:test|it|describe|suite|check|pages)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g), ...source.matchAll(/\bvoid (()test_\w+)\(/g),
].map((found) => (found[2] || found[1]).replaceAll('\\', ''));

// The rows of each table: { heading, header, cells, line }.
function rowsOf(markdown) {
  let heading = '', header;
  return markdown.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) heading = line.slice(3);
    if (!line.startsWith('|')) { header = undefined; return []; }
    const cells = line.split('|').slice(1, -1).map((cell) => cell.trim());
    if (!header) { header = cells; return []; }
    return /^-+$/.test(cells[0]) ? [] : [{ heading, header, cells, line }];
  });
}
const rows = rowsOf(text);

function faultOf({ cells, line }) {
  const named = [...cells.at(-1).matchAll(/`([\w./-]+)`(?: "([^"]+)")?/g)];
  if (!named.length) return `no test: ${line}`;
  for (const [, name, title] of named) {
    const file = fileOf(name);
    if (!file) return `tests/${name} is not there: ${line}`;
    if (title && !titlesOf(readFileSync(file, 'utf8')).some((one) => one.includes(title))) return `tests/${name} has no test "${title}"`;
  }
  return undefined;
}

test('the check itself finds what is wrong', () => {
  const row = (cell) => ({ cells: ['a', cell], line: cell });
  assert.equal(faultOf(row('`policy/threat-model` "the check itself"')), undefined);
  assert.match(faultOf(row('see the tests')), /no test/);
  assert.match(faultOf(row('`policy/none`')), /is not there/);
  assert.match(faultOf(row('`policy/threat-model` "markdown"')), /has no test/);
});

test('every row about a defence names a test that exists', () => {
  const claims = rows.filter((row) => ['Boundaries', 'What is defended', 'One client cannot hurt another'].includes(row.heading));
  assert.ok(claims.length >= 50, `${claims.length} rows`);
  for (const row of claims) {
    assert.equal(row.header.at(-1), 'shown by', row.line);
    assert.equal(faultOf(row), undefined);
  }
});

test('every row about what is not defended says what to do, and where it is described', () => {
  const limits = rows.filter((row) => row.heading === 'What is not defended');
  assert.ok(limits.length >= 9);
  for (const { cells, line } of limits) {
    assert.ok(cells[1], line);
    assert.match(cells.at(-1), /\]\([\w/.#-]+\)/, line);
  }
});

test('claims stand in tables: a sentence of those sections introduces one, or says how to read it', () => {
  const sections = text.split(/^## /m).filter((part) => /^(Boundaries|What is defended|One client cannot hurt another|What is not defended)\n/.test(part));
  const prose = sections.join('\n').replace(/^```[\s\S]*?^```$/gm, '').split('\n').filter((line) => /^[^|\s]/.test(line)).length;
  assert.ok(prose <= 8, `${prose} lines of prose`);
});
