// What the policy tests share: the binary, and `simulate` fed with lines.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const bin = process.env.SALLYPORT_BIN ?? path.join(root, 'build/sallyport');
export const data = process.env.SALLYPORT_DATA ?? path.resolve(root, '../shared/data');

/** Runs the lines (objects, or JSON texts) through `sallyport simulate`; one answer a line. */
export function simulate(lines) {
  const input = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n') + '\n';
  const out = execFileSync(bin, ['simulate', '-'], { input, maxBuffer: 1 << 28, encoding: 'utf8' });
  const answers = out.trimEnd().split('\n').map((line) => JSON.parse(line));
  if (answers.length !== lines.length) throw new Error(`${lines.length} lines in, ${answers.length} out`);
  return answers;
}

export function run(...args) {
  const { status, stdout, stderr } = spawnSync(bin, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { status, stdout, stderr };
}

/** The data folder's path, or a loud skip. */
export function dataOrSkip(t, ...parts) {
  const where = path.join(data, ...parts);
  if (existsSync(where)) return where;
  console.error(`SKIPPED: ${where} is not there; set SALLYPORT_DATA to the folder with the shared data`);
  t.skip('no shared data');
  return null;
}
