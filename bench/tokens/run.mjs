// What an agent's context holds with all definitions up front, with discovery, and with code: bench/tokens/run
//
// One tokenizer for everything: o200k_base, by the npm package gpt-tokenizer that tests/npm pins. Definitions count as JSON of name,
// description and inputSchema; calls as JSON of name and arguments; results as their text. Prints Markdown.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect, load, node, policyFile, root, startServe } from '../../tests/lib/index.mjs';
import { SHEET_TASKS, SHORT_TASKS, TASKS, WAYS, eightServers, makeData, perform } from './tasks.mjs';

const { countTokens } = await load('gpt-tokenizer/encoding/o200k_base');
const tokens = (value) => countTokens(typeof value === 'string' ? value : JSON.stringify(value));
const shown = ({ name, description, inputSchema }) => ({ name, description, inputSchema });
const cost = (tools) => tools.reduce((sum, tool) => sum + tokens(shown(tool)), 0);
const number = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);

async function listOf(config) {
  const gate = await startServe({ config: { version: '1', policy: policyFile(), ...config }, env: { SALLYPORT_NODE: node } });
  const session = await connect('v1', gate);
  return { gate, session, tools: await session.tools() };
}

function toolLists(lazyCost) {
  const dir = join(resolve(process.env.SALLYPORT_DATA ?? join(root, '../shared/data')), 'toollists');
  if (!existsSync(dir)) {
    console.error(`bench/tokens: NO TOOL LISTS in ${dir}: set SALLYPORT_DATA; that table is left out`);
    return;
  }
  const lists = readdirSync(dir).filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(dir, name), 'utf8')).tools).filter((tools) => tools?.length)
    .map((tools) => ({ tools, cost: cost(tools) })).sort((a, b) => a.cost - b.cost);
  const all = lists.reduce((sum, list) => sum + list.cost, 0);
  const count = lists.reduce((sum, list) => sum + list.tools.length, 0);
  const [least, middle, most] = [lists[0], lists[Math.floor(lists.length / 2)], lists.at(-1)];
  console.log(`\n## Real lists of tools (${lists.length} packages, ${number(count)} tools)\n`);
  row('', 'tools', 'up front', 'lazy list', 'of it');
  row('---', '---:', '---:', '---:', '---:');
  for (const [name, tools, up] of [['the smallest', least.tools.length, least.cost], ['the median', middle.tools.length, middle.cost],
    ['the largest', most.tools.length, most.cost], ['all of them', count, all]])
    row(name, number(tools), number(up), number(lazyCost), `${(100 * lazyCost / up).toFixed(lazyCost > up ? 0 : 1)} %`);
}

async function taskTable(title, tasks, all, lazy, data) {
  // Direct calls and discovery have their own lists; agents that write code have the lazy one.
  const listCost = { direct: cost(all), discovery: cost(lazy.tools), python: cost(lazy.tools), typescript: cost(lazy.tools) };
  console.log(`\n## ${title}\n`);
  row('task', 'way', 'definitions', 'found on the way', 'calls', 'results', 'cold', 'warm');
  row('---', '---', '---:', '---:', '---:', '---:', '---:', '---:');
  // In one conversation a tool is looked up once.
  const sums = Object.fromEntries(WAYS.map((way) => [way, { lookup: 0, call: 0, result: 0, known: new Set() }]));
  for (const task of tasks) {
    const answers = {};
    for (const way of WAYS) {
      const spent = { lookup: 0, call: 0, result: 0 }, sum = sums[way], met = new Set();
      answers[way] = await perform(lazy.session, task, way, { data, tag: way }, (kind, value, tool) => {
        const count = tokens(value);
        spent[kind] += count;
        if (!sum.known.has(tool)) sum[kind] += count;
        if (tool) met.add(tool);
      });
      for (const tool of met) sum.known.add(tool);
      const warm = spent.call + spent.result, cold = listCost[way] + spent.lookup + warm;
      row(way === 'direct' ? task.name : '', way, number(listCost[way]), number(spent.lookup), number(spent.call), number(spent.result), number(cold), number(warm));
    }
    for (const way of WAYS) assert.deepEqual(answers[way], answers.direct);
  }
  if (tasks.length === 1) return;
  for (const way of WAYS) {
    const { lookup, call, result } = sums[way];
    row(way === 'direct' ? '**all of them in one conversation**' : '', way, number(listCost[way]), number(lookup), number(call), number(result),
      number(listCost[way] + lookup + call + result), number(call + result));
  }
}

const data = makeData();
const servers = eightServers(data);
const all = await listOf({ servers });
const lazy = await listOf({ servers, code: { enabled: true }, discovery: { mode: 'lazy' } });
const missing = Object.keys(servers).filter((name) => !all.tools.some((tool) => tool.name.startsWith(`${name}__`)));
assert.deepEqual(missing, [], 'servers that did not answer; is tests/npm installed as its lock says?');
console.log(`Tokenizer: o200k_base (gpt-tokenizer ${JSON.parse(readFileSync(join(root, 'tests/npm/package.json'), 'utf8')).dependencies['gpt-tokenizer']}).`);
console.log(`Eight servers with ${all.tools.length} tools: ${number(cost(all.tools))} tokens up front; the lazy list of ${lazy.tools.length} tools: ${number(cost(lazy.tools))}.`);
await taskTable('Tasks', [...TASKS, ...SHORT_TASKS], all.tools, lazy, data);
await taskTable('A sheet of 10,000 rows', SHEET_TASKS, all.tools, lazy, data);
toolLists(cost(lazy.tools));
for (const { session, gate } of [all, lazy]) {
  await session.close();
  await gate.stop();
}
process.exit(0);
