import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonLines, missing } from './data.mjs';
import { classify, line, score } from './score.mjs';

const floors = [
  { part: 'risk/labels_intercept.jsonl', accuracy: 0.97 },
  { part: 'risk/labels_npm.jsonl', accuracy: 0.95 },
];

for (const { part, accuracy } of floors) {
  test(`${part}: accuracy at least ${accuracy}, every destructive tool found`, { skip: missing(part) }, async (t) => {
    const s = await score(part, 'gold');
    t.diagnostic(line(part, s));
    console.log(line(part, s));
    assert.ok(s.accuracy >= accuracy, line(part, s));
    assert.equal(s.perClass.Destructive.recall, 1);
    assert.ok(s.under <= 0.02, `under-classified: ${s.under}`);
  });
}

const hints = 'risk/labels_annotations.jsonl';
test('servers that mark their tools read-only agree, without being asked', { skip: missing(hints) }, async () => {
  const rows = (await classify(jsonLines(hints))).filter((row) => typeof row.hints.readOnlyHint === 'boolean');
  const agree = rows.filter((row) => row.hints.readOnlyHint === (row.got === 'Read')).length / rows.length;
  console.log(`${hints}: n ${rows.length}, agreement ${agree.toFixed(4)}`);
  assert.ok(agree >= 0.95, `agreement ${agree}`);
});

// restore_pii turns tokens back into the personal data they stand for: more than a look, so it is Write here.
const differing = new Map([['restore_pii', 'Write']]);
const seeds = 'risk/labels_seeds.jsonl';
test('the tools of the five seed servers', { skip: missing(seeds) }, async () => {
  for (const row of await classify(jsonLines(seeds)))
    assert.equal(row.got, differing.get(row.tool) ?? row.category, `${row.server} ${row.tool} (${row.evidence})`);
});

const pages = 'risk/labels_policylayer_pages.jsonl';
test('classes on PolicyLayer\'s pages, without the ones that are mistakes', { skip: missing(pages) }, async () => {
  const rows = (await classify(jsonLines(pages))).filter((row) => !row.note.startsWith('sic'));
  const agree = rows.filter((row) => row.got === row.category).length / rows.length;
  console.log(`${pages}: n ${rows.length}, agreement ${agree.toFixed(3)}`);
  assert.ok(agree >= 0.91, `agreement ${agree}`);
  for (const row of rows.filter((r) => r.category === 'Destructive')) assert.equal(row.got, 'Destructive', row.tool);
});
