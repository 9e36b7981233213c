// One line per test as it ends, failures in full; for tests/run a tally in $TALLY_FILE, which
// ends with the files that failed, and the failures once more in $FAILURES_FILE.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inspect } from 'node:util';

const root = process.cwd();
const paint = (code, text) => (process.env.NO_COLOR || !process.stdout.isTTY ? text : `\x1b[${code}m${text}\x1b[0m`);
const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

// The error as the test threw it, without the runner's own frames.
function explain(error) {
  const cause = error?.cause ?? error;
  const text = typeof cause === 'string' ? cause : cause?.stack?.includes(cause.message) ? cause.stack : inspect(cause);
  return text.split('\n').filter((line) => !/^\s+at .*(node:internal|node:test)/.test(line)).map((line) => `    ${line}`).join('\n');
}

export default async function* report(source) {
  const tally = { passed: 0, failed: 0, skipped: 0 };
  const names = []; // by depth, of what is being reported
  const parents = []; // by depth, whether something was reported below
  const failures = [];
  const files = new Set();

  for await (const { type, data } of source) {
    if (type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
      parents[data.nesting] = false;
    } else if (type === 'test:pass' || type === 'test:fail') {
      const hasChildren = parents[data.nesting] || data.details.type === 'suite';
      parents[data.nesting] = false;
      if (data.nesting > 0) parents[data.nesting - 1] = true;
      // A container counts only for a failure of its own, such as a hook's, and when it was left out as a whole.
      const ownFailure = type === 'test:fail' && data.details.error?.failureType !== 'subtestsFailed';
      const leftOut = data.skip !== undefined || data.todo !== undefined;
      if (hasChildren && !ownFailure && !leftOut) continue;

      const file = data.file ? relative(root, data.file) : '';
      const title = [file, ...names.slice(0, data.nesting), data.name].filter((part, i, all) => part && part !== all[i - 1]).join(' › ');
      if (leftOut) {
        tally.skipped++;
        yield `${paint(33, '–')} ${title} (skipped${typeof data.skip === 'string' ? `: ${data.skip}` : ''})\n`;
      } else if (type === 'test:pass') {
        tally.passed++;
        yield `${paint(32, '✔')} ${title} ${paint(90, `(${duration(data.details.duration_ms)})`)}\n`;
      } else {
        tally.failed++;
        const told = `${title} (${duration(data.details.duration_ms)})\n${explain(data.details.error)}\n`;
        failures.push(told);
        files.add(file);
        yield `${paint(31, '✖')} ${told}`;
      }
    } else if (type === 'test:stderr' || type === 'test:stdout') {
      yield data.message;
    }
  }
  if (process.env.FAILURES_FILE) appendFileSync(process.env.FAILURES_FILE, failures.join(''));
  if (process.env.TALLY_FILE) appendFileSync(process.env.TALLY_FILE, `${tally.passed} ${tally.failed} ${tally.skipped} ${[...files].join(' ')}\n`);
}
