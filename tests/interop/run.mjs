// make interop: the whole matrix, a line for each cell, then the conformance suite; prints which languages have no SDK here.
import { runConformance } from './conformance.mjs';
import { LANGUAGES, runMatrix } from './matrix.mjs';

// Names of languages after the command run only these; with `conformance` among them only the suite runs.
const chosen = process.argv.slice(2).filter((word) => word !== 'conformance');
const suiteOnly = process.argv.includes('conformance');
const languages = {};
for (const [name, find] of Object.entries(LANGUAGES)) {
  if (chosen.length && !chosen.includes(name)) continue;
  const found = await find();
  if (found.missing) console.log(`NOT RUN: ${name}: ${found.missing}`);
  else languages[name] = found;
}
let [same, other] = [0, 0];
if (!suiteOnly) await runMatrix(languages, ({ driver, server, route, era, wrong, missing }) => {
  if (missing) {
    console.log(`NOT RUN: ${driver} client, ${server} server: no answer without the gate: ${missing.split('\n')[0]}`);
    return;
  }
  if (wrong.length) other++;
  else same++;
  console.log(`${wrong.length ? 'differs' : 'same   '}  ${driver} client, ${server} server, ${route}, ${era}${wrong.map((line) => `\n    ${line.replaceAll('\n', '\n    ')}`).join('')}`);
});
for (const [name, { everything }] of Object.entries(languages)) {
  if (!everything) {
    console.log(`NOT RUN: ${name}: no fixture for the conformance suite could be fetched`);
    continue;
  }
  await runConformance(everything, ({ mode, route, set, direct, passed, wrong }) => {
    if (wrong.length) other++;
    else same++;
    console.log(`${wrong.length ? 'WORSE  ' : 'as good'}  conformance ${set}, ${name} server (${mode}), ${route}: ${passed} checks passed, ${direct} directly${wrong.map((line) => `\n    ${line.replaceAll('\n', '\n    ')}`).join('')}`);
  });
}
for (const [name, { version }] of Object.entries(languages)) console.log(`${name}: ${version}`);
console.log(`${same} the same, ${other} different`);
process.exit(other ? 1 : 0);
