// Tools of servers that the rules were not written for, labelled by reading their definitions (docs/risk.md has the rule).
// The labels are stored here; the definitions belong to their authors. What the shipped catalogue says of each is always
// compared; where SALLYPORT_DATA has the collector's answers, the program judges the definitions once more, without hints.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { root } from '../lib/paths.mjs';
import { dataDir, missing, scanJson } from './data.mjs';
import { classes, line, measure } from './score.mjs';

const lines = (text) => text.split('\n').filter(Boolean).map((row) => JSON.parse(row));
const labels = lines(readFileSync(join(root, 'tests/risk/labels.jsonl'), 'utf8'));
const key = ({ server, tool, fingerprint }) => JSON.stringify([server, tool, fingerprint]);

// Their servers are not in the shipped catalogue.
const notShipped = new Set(['M', 'N']);

function hold(name, known, labels) {
  const rows = labels.filter((row) => known.has(key(row))).map((row) => ({ ...row, got: known.get(key(row)) }));
  assert.ok(rows.length >= 0.9 * labels.length, `${name}: only ${rows.length} of ${labels.length} labelled tools`);
  for (const sample of new Set(labels.map((row) => row.sample))) console.log(line(`${name} ${sample}`, measure(rows.filter((row) => row.sample === sample), 'label')));
  const s = measure(rows, 'label');
  const wrong = rows.filter((row) => row.got !== row.label).map((row) => `${row.server} ${row.tool}: ${row.got}, not ${row.label}`);
  const report = [line(name, s), ...wrong].join('\n');
  assert.ok(s.accuracy >= 0.955, report);
  assert.ok(s.under <= 0.02, report);
  assert.equal(s.perClass.Destructive.recall, 1, report);
}

test('the labels are names, fingerprints and classes only', () => {
  for (const row of labels) {
    assert.deepEqual(Object.keys(row), ['sample', 'server', 'tool', 'fingerprint', 'label']);
    assert.match(row.server, /^(npm|pypi|go)\/[\w@./-]+$/);
    assert.match(row.tool, /^[\w./:-]{1,64}$/);
    assert.match(row.fingerprint, /^[0-9a-f]{16}$/);
    assert.ok(classes.includes(row.label), row.label);
  }
  assert.equal(new Set(labels.map(key)).size, labels.length);
});

test('the shipped catalogue has the labelled tools in their classes', () => {
  const known = new Map();
  const folder = join(root, 'catalogue');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.jsonl.gz')))
    for (const { registry, name, tools } of lines(gunzipSync(readFileSync(join(folder, file))).toString()))
      for (const { tool, fingerprint, category } of tools) known.set(key({ server: `${registry}/${name}`, tool, fingerprint }), category);
  hold('catalogue', known, labels.filter((row) => !notShipped.has(row.sample)));
});

const answerFile = (server) => {
  const [registry, ...name] = server.split('/');
  return join(dataDir, 'answers', registry, `${encodeURIComponent(name.join('/')).replaceAll('%40', '@')}.json`);
};

test('the program judges the definitions as labelled, without hints', { skip: missing('answers') }, async () => {
  const known = new Map();
  for (const server of new Set(labels.map((row) => row.server))) {
    if (!existsSync(answerFile(server))) continue;
    const { package: name, serverInfo, tools } = JSON.parse(readFileSync(answerFile(server), 'utf8'));
    const given = { package: name, serverInfo: serverInfo ?? {} };
    const published = await scanJson({ ...given, tools });
    const bare = await scanJson({ ...given, tools: tools.map(({ annotations, ...rest }) => rest) });
    published.forEach(({ tool, fingerprint }, i) =>
      known.set(key({ server, tool, fingerprint: fingerprint.slice('sha256:'.length, 'sha256:'.length + 16) }), bare[i].category));
  }
  hold('definitions', known, labels.filter((row) => existsSync(answerFile(row.server))));
});
