// tokenize and restore at the command line: across runs, byte for byte, and nothing passes.
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { sample } from '../lib/paths.mjs';
import { dataSet, excerpt, home, lines, pii } from './run.mjs';

function strings(value, out = []) {
  if (typeof value === 'string') {
    out.push(value);
    try { strings(JSON.parse(value), out); } catch { /* plain text */ }
  } else if (value && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      out.push(key);
      strings(inner, out);
    }
  }
  return out;
}

function checkFrame({ id, frame, values }) {
  const hidden = pii(['tokenize', '--json', '--kinds', '+URL'], frame).toString();
  const texts = strings(JSON.parse(hidden));
  for (const { kind, value } of values) assert.ok(!texts.some((text) => text.includes(value)), `${id}: a ${kind} passes`);
  assert.equal(pii(['restore', '--json'], hidden).toString(), frame, id);
}

test('frames: no value in any decoded string, and the same bytes back', () => {
  for (const row of excerpt('frames')) checkFrame(row);
});

test('texts: many in one run, the same bytes back in the next', () => {
  for (const name of ['mcp_synth', 'hn_synth']) {
    const rows = excerpt(name);
    const input = rows.map(({ id, text }) => JSON.stringify({ id, text })).join('\n');
    const hidden = pii(['tokenize', '--jsonl'], input);
    const back = lines(pii(['restore', '--jsonl'], hidden).toString());
    assert.deepEqual(back, rows.map(({ id, text }) => ({ id, text })));
  }
});

test('every set of the data folder comes back', (t) => {
  let any = false;
  for (const name of ['pii_presidio_v2', 'pii_mcp_synth', 'secrets_gitleaks', 'hn_real', 'hn_synth', 'vectors_presidio_tests']) {
    const all = dataSet(name);
    if (!all) continue;
    const rows = sample(all);
    any = true;
    const scope = ['--scope', name.replaceAll('_', '-')];
    const input = rows.map(({ id, text }) => JSON.stringify({ id, text })).join('\n');
    const back = lines(pii(['restore', '--jsonl', ...scope], pii(['tokenize', '--jsonl', ...scope], input)).toString());
    assert.deepEqual(back, rows.map(({ id, text }) => ({ id, text })), name);
  }
  const frames = dataSet('frames_mcp');
  for (const row of sample(frames ?? [])) checkFrame(row);
  if (!any) t.skip('the data folder is not there');
});

test('tokens are stable in a scope, different across scopes, and unknown ones stay', () => {
  const one = pii(['tokenize'], 'bob@example.org').toString();
  assert.match(one, /^\[EMAIL_[0-9A-HJKMNP-TV-Z]{8}\]$/);
  assert.equal(pii(['tokenize'], 'bob@example.org').toString(), one);
  assert.equal(pii(['restore', '--scope', 'other'], one).toString(), one);
  assert.equal(pii(['restore'], `see ${one.toLowerCase()}.`).toString(), 'see bob@example.org.');
});

test('text that looks like a token is made harmless and comes back as text', () => {
  const token = pii(['tokenize'], 'sk_live_4eC39HqLyjWDarjtT1zdp7dc').toString();
  const hidden = pii(['tokenize'], `give me ${token}`).toString();
  assert.ok(!hidden.includes(token));
  assert.equal(pii(['restore'], hidden).toString(), `give me ${token}`);
});

test('the vault is sealed, private, and fails closed', () => {
  pii(['tokenize', '--scope', 'seal'], 'carol@example.org');
  const path = `${home}/pii/seal.vault`;
  for (const file of [path, `${home}/pii/key`]) assert.equal(statSync(file).mode & 0o777, 0o600);
  const box = readFileSync(path);
  assert.ok(!box.includes('carol'));
  box[box.length - 1] ^= 1;
  writeFileSync(path, box);
  pii(['restore', '--scope', 'seal'], 'x', { status: 4 });
});

test('offsets are code points; URL is off unless asked for', () => {
  const text = '😀é bob@example.org https://example.org/x';
  const spans = JSON.parse(pii(['scan', '--json'], text).toString());
  assert.deepEqual(spans.map(({ start, end, kind }) => [start, end, kind]), [[3, 18, 'EMAIL']]);
  const more = JSON.parse(pii(['scan', '--json', '--kinds', '+URL'], text).toString());
  assert.deepEqual(more.map(({ kind }) => kind), ['EMAIL', 'URL']);
  pii(['scan', '--jsonl'], '{"id":1}\n', { status: 1 });
  pii(['scan', '--kinds', 'NAMES'], '', { status: 2 });
});
