// meson-tally.mjs BUILD_DIR: "PASSED FAILED SKIPPED" of the last `meson test` there; what failed goes to $FAILURES_FILE.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

const log = `${process.argv[2]}/meson-logs/testlog.junit.xml`;
const xml = existsSync(log) ? readFileSync(log, 'utf8') : '';
let [passed, failed, skipped] = [0, 0, 0];
for (const [, attributes, body = ''] of xml.matchAll(/<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
  if (/<(failure|error)\b/.test(body)) {
    failed++;
    if (process.env.FAILURES_FILE) appendFileSync(process.env.FAILURES_FILE, `unit test${attributes}\n`);
  }
  else if (/<skipped\b/.test(body)) skipped++;
  else passed++;
}
console.log(passed, failed, skipped);
