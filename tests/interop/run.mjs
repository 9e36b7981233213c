// make interop: the whole matrix, a line for each cell; loud about languages whose SDK is not there.
import { LANGUAGES, runMatrix } from './matrix.mjs';

// Names of languages after the command run only these.
const chosen = process.argv.slice(2);
const languages = {};
for (const [name, find] of Object.entries(LANGUAGES)) {
  if (chosen.length && !chosen.includes(name)) continue;
  const found = await find();
  if (found.missing) console.log(`NOT RUN: ${name}: ${found.missing}`);
  else languages[name] = found;
}
let [same, other] = [0, 0];
await runMatrix(languages, ({ driver, server, route, era, wrong }) => {
  if (wrong.length) other++;
  else same++;
  console.log(`${wrong.length ? 'differs' : 'same   '}  ${driver} client, ${server} server, ${route}, ${era}${wrong.map((line) => `\n    ${line.replaceAll('\n', '\n    ')}`).join('')}`);
});
for (const [name, { version }] of Object.entries(languages)) console.log(`${name}: ${version}`);
console.log(`${same} the same, ${other} different`);
process.exit(other ? 1 : 0);
