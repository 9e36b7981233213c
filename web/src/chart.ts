// Time series. A chunk of its own, so that the first view's numbers do not wait for it.
import uPlot from 'uplot';

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export interface Line { name: string; tone: string; values: (number | null)[]; fill?: boolean }

export function draw(into: HTMLElement, times: number[], lines: Line[], format: (n: number) => string, height: number): { destroy: () => void } {
  const axis = { stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  const plot = new uPlot({
    width: into.clientWidth || 600,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [{ ...axis, space: 70 }, { ...axis, size: 52, values: (_, ticks) => ticks.map(format) }],
    series: [{}, ...lines.map((l) => ({ label: l.name, stroke: colour(l.tone), width: 1.5, fill: l.fill ? `${colour(l.tone)}22` : undefined, points: { show: l.values.some((v) => v === null), size: 5, fill: colour(l.tone) }, spanGaps: false }))],
  }, [times, ...lines.map((l) => l.values)] as uPlot.AlignedData, into);
  const size = new ResizeObserver(() => plot.setSize({ width: into.clientWidth, height }));
  size.observe(into);
  return { destroy: () => { size.disconnect(); plot.destroy(); } };
}
