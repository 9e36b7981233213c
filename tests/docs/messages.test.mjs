// docs/messages.md and the source have the same refusals: every text on the page is in the source, and every refusal in the source is on the page.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../lib/index.mjs';

const page = readFileSync(path.join(root, 'docs/messages.md'), 'utf8');
const src = path.join(root, 'src');
const sources = readdirSync(src, { recursive: true }).filter((name) => /\.[ch]$/.test(name))
  .map((name) => ({ name, text: readFileSync(path.join(src, name), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '') }));

const LITERALS = /(?:"(?:\\.|[^"\\\n])*"\s*)+/g;
const literal = (match) => [...match.matchAll(/"((?:\\.|[^"\\\n])*)"/g)].map(([, part]) => part).join('').replaceAll('\\"', '"');
// What stays the same of a text: conversions, capital letters that stand for something, and quotes around a name are left out.
const parts = (text) => text.split(/%[-.*\d]*(?:ll|z)?[a-z]|…|["`]?\b[A-Z]{1,8}\b["`]?|["`]/).map((part) => part.trim()).filter((part) => part.length > 5);

// The argument text of each call of a function that refuses.
const REFUSE = /\b(?:answer_refuse|answer_error|answer_error_data|call_deny_as|guard_deny|front_answer_error|channel_refuse|refuse|fail)\(/g;
const ROOMS = /^(approval|call|channel|decision|era|front|guard|many|privacy|record|session)\//;
function refusalsOf(text) {
  return [...text.matchAll(REFUSE)].flatMap((match) => {
    let depth = 1, i = match.index + match[0].length;
    const start = i;
    for (; depth && i < text.length; i++) {
      if (text[i] === '"') for (i++; text[i] !== '"'; i++) i += text[i] === '\\' ? 1 : 0;
      else if (text[i] === '(') depth++;
      else if (text[i] === ')') depth--;
    }
    return (text.slice(start, i).match(LITERALS) ?? []).map(literal).filter((one) => one.trim().includes(' '));
  });
}

test('the check itself reads calls and texts', () => {
  assert.deepEqual(refusalsOf('x = answer_refuse(c, f("a)b"), "the task "\n  "was \\"cut\\"");'), ['the task was "cut"']);
  assert.deepEqual(parts('server `%s` cannot be reached'), ['server', 'cannot be reached']);
  assert.deepEqual(parts('server "S" cannot be reached'), ['server', 'cannot be reached']);
});

test('every refusal of the source is on the page', () => {
  const found = sources.filter(({ name }) => ROOMS.test(name)).flatMap(({ name, text }) => refusalsOf(text).map((one) => ({ name, one })));
  assert.ok(found.length > 80, `${found.length} refusals`);
  const missing = found.filter(({ one }) => !parts(one).every((part) => page.includes(part)));
  assert.deepEqual(missing.map(({ name, one }) => `src/${name}: ${one}`), []);
});

test('every reason of a denial is on the page', () => {
  const table = sources.find(({ name }) => name === 'policy/decide.c').text;
  const reasons = [...table.matchAll(/\[POLICY_BY_(\w+)\] = "(\w+)"/g)].filter(([, name]) => name !== 'NOTHING').map(([, , text]) => text);
  assert.ok(reasons.length > 10);
  for (const reason of reasons) assert.match(page, new RegExp(`^\\| \`${reason}\` \\|`, 'm'), reason);
});

test('every text on the page is in the source', () => {
  const all = sources.flatMap(({ text }) => (text.match(LITERALS) ?? []).map(literal)).join('\n');
  const texts = page.split('\n').filter((line) => line.startsWith('|')).flatMap((line) => {
    const cells = line.split('|').slice(1, -1);
    return cells.slice(0, 3).flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text));
  }).filter((text) => /^[A-Za-z][\w'.]* \w/.test(text) && !text.startsWith('sallyport '));
  assert.ok(texts.length > 80, `${texts.length} texts`);
  const unknown = texts.filter((text) => !parts(text).every((part) => all.includes(part)));
  assert.deepEqual(unknown, []);
});
