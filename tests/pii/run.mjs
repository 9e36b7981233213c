// The program under test: text in, text out, with a home of its own.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const sallyport = resolve(process.env.SALLYPORT_BIN ?? `${root}/build/sallyport`);
const data = resolve(process.env.SALLYPORT_DATA ?? `${root}/../shared/data`);

export const home = mkdtempSync(`${tmpdir()}/sallyport-pii-`);
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

export function pii(args, input, { env = {}, status = 0 } = {}) {
  const run = spawnSync(sallyport, ['pii', ...args], {
    input, env: { ...process.env, SALLYPORT_HOME: home, ...env }, maxBuffer: 1 << 28,
  });
  if (run.status !== status) throw new Error(`pii ${args.join(' ')}: status ${run.status}: ${run.stderr}`);
  return run.stdout;
}

export const lines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
export const excerpt = (name) => lines(readFileSync(`${root}/tests/pii/data/${name}.jsonl`, 'utf8'));

// Lines of text in which ⟦…⟧ marks what is to be found; `#` starts a heading.
export function marked(name, kind) {
  const text = readFileSync(`${root}/tests/pii/data/${name}.txt`, 'utf8');
  return text.split('\n').filter((line) => line && !line.startsWith('# ')).map((line, i) => {
    const [before, value, after] = line.split(/[⟦⟧]/);
    const spans = value === undefined ? [] : [{ start: before.length, end: before.length + value.length, kind }];
    return { id: `${name}-${i}`, text: before + (value ?? '') + (after ?? ''), spans };
  });
}

// A whole set of the data folder, or null (said aloud) when the folder is not there.
export function dataSet(name) {
  const path = `${data}/pii/${name}.jsonl`;
  if (existsSync(path)) return lines(readFileSync(path, 'utf8'));
  console.error(`SKIPPED: ${path} is not there; set SALLYPORT_DATA to the data folder to score the whole set`);
  return null;
}

export function scan(rows, kinds = '+URL') {
  const input = rows.map(({ id, text }) => JSON.stringify({ id, text })).join('\n') + '\n';
  return new Map(lines(pii(['scan', '--jsonl', '--kinds', kinds], input).toString()).map(({ id, spans }) => [id, spans]));
}
