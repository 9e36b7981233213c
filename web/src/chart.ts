// Time series. A chunk of its own, so that the first view's numbers do not wait for it.
import uPlot from 'uplot';

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
const date = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const DAY_S = 86_400;

// `bar`: stacked on the bars that come before it.
export interface Line { name: string; tone: string; values: (number | null)[]; bar?: boolean }

// A bar reaches from the bottom to the sum of its own and those below it; the highest are drawn first and covered by the lower ones.
function stacked(lines: Line[]): Line[] {
  const sums: Line[] = [];
  let below: (number | null)[] = [];
  for (const line of lines.filter((l) => l.bar)) {
    below = line.values.map((v, i) => (v ?? 0) + (below[i] ?? 0));
    if (line.values.some((v) => v)) sums.unshift({ ...line, values: below.map((v, i) => (line.values[i] ? v : 0)) });
  }
  return [...sums, ...lines.filter((l) => !l.bar && l.values.some((v) => v))];
}

// Calls `onAt` with the place under the pointer, or null.
export function draw(into: HTMLElement, times: number[], lines: Line[], format: (n: number) => string, height: number, onAt: (index: number | null) => void): { destroy: () => void } {
  const axis = { stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  const shown = stacked(lines);
  const bars = lines.some((l) => l.bar), step = times.length > 1 ? times[1] - times[0] : 1;
  const plot = new uPlot({
    width: into.clientWidth || 600,
    height,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [(u) => onAt(u.cursor.idx ?? null)] },
    scales: { x: { range: (_, min, max) => [min - (bars ? step / 2 : 0), max + (bars ? step / 2 : 0)] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [{ ...axis, space: 64, size: 28, values: (_, ticks, __, ___, step) => ticks.map((t) => (step >= DAY_S ? date : hour).format(t * 1000)) }, { ...axis, size: 56, values: (_, ticks) => ticks.map(format) }],
    series: [{}, ...shown.map((l): uPlot.Series => ({
      label: l.name, stroke: colour(l.tone), width: l.bar ? 0 : 1.5, fill: l.bar ? colour(l.tone) : undefined, spanGaps: false,
      paths: l.bar ? uPlot.paths.bars!({ size: [0.9, 24] }) : undefined, points: { show: !l.bar && l.values.some((v) => v === null), size: 5, fill: colour(l.tone) },
    }))],
  }, [times, ...shown.map((l) => l.values)] as uPlot.AlignedData, into);
  const size = new ResizeObserver(() => plot.setSize({ width: into.clientWidth, height }));
  size.observe(into);
  return { destroy: () => { size.disconnect(); plot.destroy(); } };
}
