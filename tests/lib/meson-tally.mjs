// meson-tally.mjs BUILD_DIR: "PASSED FAILED SKIPPED" of the last `meson test` there.
import { existsSync, readFileSync } from 'node:fs';

const log = `${process.argv[2]}/meson-logs/testlog.junit.xml`;
const xml = existsSync(log) ? readFileSync(log, 'utf8') : '';
let [passed, failed, skipped] = [0, 0, 0];
for (const [, , body = ''] of xml.matchAll(/<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
  if (/<(failure|error)\b/.test(body)) failed++;
  else if (/<skipped\b/.test(body)) skipped++;
  else passed++;
}
console.log(passed, failed, skipped);
