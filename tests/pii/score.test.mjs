// What the detector must reach: on the excerpts always, on the whole sets where the data folder is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataSet, excerpt, scan } from './run.mjs';
import { score } from './score.mjs';

function atLeast(result, want) {
  for (const [kind, least] of Object.entries(want)) assert.ok(result[kind].f1 >= least, `${kind}: F1 ${result[kind].f1}, wanted ${least}`);
}

test('excerpts: everything labelled is found, nothing else', () => {
  const rows = excerpt('mcp_synth');
  const result = score(rows, scan(rows));
  atLeast(result, { ALL: 0.98, EMAIL: 0.99, IP: 0.99, CREDIT_CARD: 0.97, PHONE: 0.97, DATE_OF_BIRTH: 0.9, SECRET: 0.98 });
  assert.ok(result.ALL.leakfree >= 0.99, `leak-free ${result.ALL.leakfree}`);
  const clean = excerpt('hn_synth');
  assert.ok(score(clean, scan(clean)).ALL.false_per_mb <= 45);
});

const sets = [
  ['pii_presidio_v2', (r) => atLeast(r, { ALL: 0.95, EMAIL: 0.99, SSN: 0.99, IBAN: 0.99, IP: 0.99, CREDIT_CARD: 0.98, PHONE: 0.82 })],
  ['pii_mcp_synth', (r) => {
    atLeast(r, { ALL: 0.98 });
    assert.ok(r.ALL.leakfree >= 0.99, `leak-free ${r.ALL.leakfree}`);
  }],
  ['secrets_gitleaks', (r) => atLeast(r, { SECRET: 0.93 })],
  ['hn_real', (r) => assert.ok(r.ALL.false_per_mb <= 5, `${r.ALL.false_per_mb} false finds a MB`)],
  ['hn_synth', (r) => assert.ok(r.ALL.false_per_mb <= 45, `${r.ALL.false_per_mb} false finds a MB`)],
];
for (const [name, check] of sets) {
  test(`whole set: ${name}`, (t) => {
    const rows = dataSet(name);
    if (!rows) return t.skip('the data folder is not there');
    const found = scan(rows);
    check(score(rows, found));
  });
}

// What is still hit are keys of a valid format that belong to another rule of the same vendor: no format tells them from
// a leak, so they are found.
test('at most a tenth of the labelled negatives is hit', (t) => {
  const rows = dataSet('secrets_gitleaks')?.filter(({ spans }) => spans.length === 0);
  if (!rows) return t.skip('the data folder is not there');
  const found = scan(rows);
  const hit = rows.filter(({ id }) => found.get(id).some(({ kind }) => kind === 'SECRET')).length;
  t.diagnostic(`${hit} of ${rows.length} negatives hit`);
  assert.ok(hit <= rows.length / 10, `${hit} of ${rows.length} negatives hit`);
});
