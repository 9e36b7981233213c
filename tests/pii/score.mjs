// Scores spans against labelled texts: same kind, intersection over union of at least a half. `leakfree` is the
// share of labelled spans whose every character lies in some found span.
const overlap = (a, b) => Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start));
const iou = (a, b) => overlap(a, b) / (Math.max(a.end, b.end) - Math.min(a.start, b.start) || 1);

function covered(span, found) {
  let at = span.start;
  for (const { start, end } of [...found].sort((a, b) => a.start - b.start)) {
    if (start > at) break;
    at = Math.max(at, end);
  }
  return at >= span.end;
}

export function score(gold, found) {
  const kinds = {};
  let bytes = 0;
  for (const row of gold) {
    const spans = found.get(row.id) ?? [];
    const ignored = new Set(row.ignore ?? []);
    bytes += Buffer.byteLength(row.text);
    for (const kind of new Set([...spans, ...row.spans].map((span) => span.kind))) {
      if (ignored.has(kind)) continue;
      const c = (kinds[kind] ??= { gold: 0, found: 0, hit: 0, leakfree: 0 });
      const have = spans.filter((span) => span.kind === kind);
      c.found += have.length;
      for (const want of row.spans.filter((span) => span.kind === kind)) {
        c.gold++;
        c.leakfree += covered(want, spans);
        const best = have.findIndex((span) => iou(want, span) >= 0.5);
        if (best >= 0) {
          c.hit++;
          have.splice(best, 1);
        }
      }
    }
  }
  const all = { gold: 0, found: 0, hit: 0, leakfree: 0 };
  for (const c of Object.values(kinds)) for (const key of Object.keys(all)) all[key] += c[key];
  const finish = (c) => ({
    ...c,
    f1: c.gold + c.found ? (2 * c.hit) / (c.gold + c.found) : 1,
    leakfree: c.gold ? c.leakfree / c.gold : 1,
    false_per_mb: (c.found - c.hit) / (bytes / 1e6),
  });
  return { ...Object.fromEntries(Object.entries(kinds).map(([kind, c]) => [kind, finish(c)])), ALL: finish(all) };
}
