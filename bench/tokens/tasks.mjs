// Tasks that a scripted agent does three ways: by calling tools directly, by finding them first (search_tools, get_tool_definition,
// call_tool), and by writing code (Python, TypeScript) that calls them. Every way must come to the same answer.
//
// A task: the tools it needs, each with the words an agent would look for it by; `steps`, which makes its calls one by one and works
// the answer out as a model would; and the same in two languages. `tag` keeps what one way leaves behind apart from the others.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { node, packages, tempDir } from '../../tests/lib/index.mjs';

const program = ([command, ...args], more = {}) => ({ command, args, ...more });

// Eight real servers from npm. Three of them do the work; the others are what an agent has beside them.
export function eightServers(data) {
  return {
    everything: program([node, packages.everything, 'stdio']),
    files: program([node, packages.filesystem, data]),
    memory: program([node, packages.memory], { env: { MEMORY_FILE_PATH: join(data, 'memory.json') } }),
    thinking: program([node, packages.sequentialThinking]),
    docs: program([node, packages.context7]),
    browser: program([node, packages.playwright]),
    app: program([node, packages.basicApp, '--stdio']),
    github: program([node, packages.github], { env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' } }),
  };
}

const REGIONS = ['north', 'south', 'west'];
const SHEET_ROWS = 10_000;
const NOTE = 'Delivered to the front desk. The customer asked for a signed receipt and for the next delivery to come before noon. ';

export function makeData() {
  const data = tempDir('tasks');
  for (const dir of ['orders', 'logs', 'out']) mkdirSync(join(data, dir));
  for (let i = 1; i <= 24; i++) {
    const order = { id: i, region: REGIONS[i % 3], amount: (i * 37) % 100, note: NOTE.repeat(2) };
    writeFileSync(join(data, 'orders', `order-${String(i).padStart(2, '0')}.json`), JSON.stringify(order));
  }
  for (let i = 1; i <= 6; i++) {
    const lines = Array.from({ length: 40 }, (_, n) => `12:${String(n).padStart(2, '0')} ${n % (i + 6) === 5 && i % 2 ? 'ERROR disk is slow' : 'INFO request served in 12 ms'}`);
    writeFileSync(join(data, 'logs', `service-${i}.log`), `${lines.join('\n')}\n`);
  }
  writeFileSync(join(data, 'team.csv'), ['name,team', 'ann,red', 'bob,blue', 'cem,red', 'dee,green', 'eva,blue', 'fay,red', 'gus,green', 'hal,red'].join('\n'));
  writeFileSync(join(data, 'numbers.txt'), '12 7 30 4 9 21 2 15 8 11');
  writeFileSync(join(data, 'hello.txt'), 'hello from a file');
  writeFileSync(join(data, 'sheet.csv'), ['id,customer,status,amount', ...Array.from({ length: SHEET_ROWS }, (_, i) =>
    `${i + 1},customer-${(i * 7919) % 1000},${i % 8 === 3 ? 'pending' : 'shipped'},${(i * 37) % 500}`)].join('\n'));
  return data;
}

// What stands in the text behind the last "is": "The sum of 1 and 2 is 3."
const sumOf = (text) => Number(/is (-?[\d.]+)\.?$/.exec(text.trim())[1]);

const TOOLS = {
  list: { server: 'files', tool: 'list_directory', words: 'list the files of a directory' },
  read: { server: 'files', tool: 'read_text_file', words: 'read a text file' },
  write: { server: 'files', tool: 'write_file', words: 'write a file' },
  entities: { server: 'memory', tool: 'create_entities', words: 'create entities in the knowledge graph' },
  relations: { server: 'memory', tool: 'create_relations', words: 'create relations between entities' },
  search: { server: 'memory', tool: 'search_nodes', words: 'search nodes in the knowledge graph' },
  sum: { server: 'everything', tool: 'get-sum', words: 'sum of two numbers' },
  weather: { server: 'everything', tool: 'get-structured-content', words: 'structured content for a location' },
  echo: { server: 'everything', tool: 'echo', words: 'echo a message back' },
};

const names = (listing) => listing.split('\n').filter((line) => line.startsWith('[FILE] ')).map((line) => line.slice(7)).sort();

export const TASKS = [
  {
    name: 'totals of 24 orders by region, of amounts over 50',
    tools: ['list', 'read'],
    async steps(call, { data }) {
      const totals = {};
      for (const name of names(await call('list', { path: join(data, 'orders') }))) {
        const order = JSON.parse(await call('read', { path: join(data, 'orders', name) }));
        if (order.amount > 50) totals[order.region] = (totals[order.region] ?? 0) + order.amount;
      }
      return totals;
    },
    python: ({ data }) => `
import json
totals = {}
folder = ${JSON.stringify(join(data, 'orders'))}
for line in sorted(text_of(tools.files.list_directory(path=folder)).splitlines()):
    order = json.loads(text_of(tools.files.read_text_file(path=folder + "/" + line[7:])))
    if order["amount"] > 50:
        totals[order["region"]] = totals.get(order["region"], 0) + order["amount"]
result = totals`,
    typescript: ({ data }) => `
const totals: Record<string, number> = {};
const folder = ${JSON.stringify(join(data, 'orders'))};
for (const line of textOf(await tools.files.list_directory({ path: folder })).split("\\n").sort()) {
  const order = JSON.parse(textOf(await tools.files.read_text_file({ path: folder + "/" + line.slice(7) })));
  if (order.amount > 50) totals[order.region] = (totals[order.region] ?? 0) + order.amount;
}
return totals;`,
  },
  {
    name: 'a list of people into the knowledge graph, and who is on a team',
    tools: ['read', 'entities', 'relations', 'search'],
    async steps(call, { data, tag }) {
      const people = (await call('read', { path: join(data, 'team.csv') })).trim().split('\n').slice(1).map((line) => line.split(','));
      await call('entities', { entities: people.map(([name, team]) => ({ name: `${tag}-${name}`, entityType: 'person', observations: [`${tag}-${team}`] })) });
      await call('relations', { relations: people.slice(1).map(([name]) => ({ from: `${tag}-${name}`, to: `${tag}-${people[0][0]}`, relationType: 'reports to' })) });
      const found = JSON.parse(await call('search', { query: `${tag}-red` }));
      return found.entities.map((entity) => entity.name.slice(tag.length + 1)).sort();
    },
    python: ({ data, tag }) => `
tag = ${JSON.stringify(tag)}
people = [line.split(",") for line in text_of(tools.files.read_text_file(path=${JSON.stringify(join(data, 'team.csv'))})).strip().splitlines()[1:]]
tools.memory.create_entities(entities=[{"name": tag + "-" + name, "entityType": "person", "observations": [tag + "-" + team]} for name, team in people])
tools.memory.create_relations(relations=[{"from": tag + "-" + name, "to": tag + "-" + people[0][0], "relationType": "reports to"} for name, _ in people[1:]])
found = json_of(tools.memory.search_nodes(query=tag + "-red"))
result = sorted(entity["name"][len(tag) + 1:] for entity in found["entities"])`,
    typescript: ({ data, tag }) => `
const tag = ${JSON.stringify(tag)};
const people = textOf(await tools.files.read_text_file({ path: ${JSON.stringify(join(data, 'team.csv'))} })).trim().split("\\n").slice(1).map((line: string) => line.split(","));
await tools.memory.create_entities({ entities: people.map(([name, team]: string[]) => ({ name: tag + "-" + name, entityType: "person", observations: [tag + "-" + team] })) });
await tools.memory.create_relations({ relations: people.slice(1).map(([name]: string[]) => ({ from: tag + "-" + name, to: tag + "-" + people[0][0], relationType: "reports to" })) });
const found = jsonOf(await tools.memory.search_nodes({ query: tag + "-red" }));
return found.entities.map((entity: { name: string }) => entity.name.slice(tag.length + 1)).sort();`,
  },
  {
    name: 'weather of three cities, the mean written to a file',
    tools: ['weather', 'write', 'read'],
    async steps(call, { data, tag }) {
      let sum = 0;
      for (const location of ['New York', 'Chicago', 'Los Angeles']) sum += JSON.parse(await call('weather', { location })).temperature;
      const path = join(data, 'out', `${tag}.txt`);
      await call('write', { path, content: `mean ${Math.round(sum / 3)}` });
      return await call('read', { path });
    },
    python: ({ data, tag }) => `
cities = ["New York", "Chicago", "Los Angeles"]
total = sum(json_of(call_tool("everything", "get-structured-content", {"location": city}))["temperature"] for city in cities)
path = ${JSON.stringify(join(data, 'out', `${tag}.txt`))}
tools.files.write_file(path=path, content="mean " + str(round(total / 3)))
result = text_of(tools.files.read_text_file(path=path))`,
    typescript: ({ data, tag }) => `
let total = 0;
for (const location of ["New York", "Chicago", "Los Angeles"])
  total += jsonOf(await callTool("everything", "get-structured-content", { location })).temperature;
const path = ${JSON.stringify(join(data, 'out', `${tag}.txt`))};
await tools.files.write_file({ path, content: "mean " + Math.round(total / 3) });
return textOf(await tools.files.read_text_file({ path }));`,
  },
  {
    name: 'ten numbers of a file, added two by two',
    tools: ['read', 'sum'],
    async steps(call, { data }) {
      const numbers = (await call('read', { path: join(data, 'numbers.txt') })).trim().split(' ').map(Number);
      let sum = numbers[0];
      for (const b of numbers.slice(1)) sum = sumOf(await call('sum', { a: sum, b }));
      return sum;
    },
    python: ({ data }) => `
numbers = [int(n) for n in text_of(tools.files.read_text_file(path=${JSON.stringify(join(data, 'numbers.txt'))})).split()]
total = numbers[0]
for n in numbers[1:]:
    total = int(text_of(call_tool("everything", "get-sum", {"a": total, "b": n})).rstrip(".").split()[-1])
result = total`,
    typescript: ({ data }) => `
const numbers = textOf(await tools.files.read_text_file({ path: ${JSON.stringify(join(data, 'numbers.txt'))} })).trim().split(" ").map(Number);
let total = numbers[0];
for (const b of numbers.slice(1)) total = Number(textOf(await callTool("everything", "get-sum", { a: total, b })).replace(/\\.$/, "").split(" ").pop());
return total;`,
  },
  {
    name: 'errors in six logs, the noisy ones noted in the graph',
    tools: ['list', 'read', 'entities'],
    async steps(call, { data, tag }) {
      const noisy = [];
      for (const name of names(await call('list', { path: join(data, 'logs') }))) {
        const text = await call('read', { path: join(data, 'logs', name) });
        const errors = text.split('\n').filter((line) => line.includes('ERROR')).length;
        if (errors > 0) noisy.push([name, errors]);
      }
      await call('entities', { entities: noisy.map(([name, errors]) => ({ name: `${tag}-${name}`, entityType: 'log', observations: [`${errors} errors`] })) });
      return noisy;
    },
    python: ({ data, tag }) => `
folder, noisy = ${JSON.stringify(join(data, 'logs'))}, []
for line in sorted(text_of(tools.files.list_directory(path=folder)).splitlines()):
    errors = text_of(tools.files.read_text_file(path=folder + "/" + line[7:])).count("ERROR")
    if errors:
        noisy.append([line[7:], errors])
tools.memory.create_entities(entities=[{"name": ${JSON.stringify(tag)} + "-" + name, "entityType": "log", "observations": [str(n) + " errors"]} for name, n in noisy])
result = noisy`,
    typescript: ({ data, tag }) => `
const folder = ${JSON.stringify(join(data, 'logs'))}, noisy: [string, number][] = [];
for (const line of textOf(await tools.files.list_directory({ path: folder })).split("\\n").sort()) {
  const errors = textOf(await tools.files.read_text_file({ path: folder + "/" + line.slice(7) })).split("ERROR").length - 1;
  if (errors) noisy.push([line.slice(7), errors]);
}
await tools.memory.create_entities({ entities: noisy.map(([name, n]) => ({ name: ${JSON.stringify(tag)} + "-" + name, entityType: "log", observations: [n + " errors"] })) });
return noisy;`,
  },
];

// A sheet that does not fit into a conversation: how many orders are pending, and the first five of them.
export const SHEET_TASKS = [
  {
    name: 'a sheet of 10,000 rows: how many are pending, and the first five',
    tools: ['read'],
    async steps(call, { data }) {
      const pending = (await call('read', { path: join(data, 'sheet.csv') })).split('\n').filter((line) => line.split(',')[2] === 'pending');
      return { count: pending.length, first: pending.slice(0, 5) };
    },
    python: ({ data }) => `
rows = text_of(tools.files.read_text_file(path=${JSON.stringify(join(data, 'sheet.csv'))})).splitlines()
pending = [line for line in rows if line.split(",")[2] == "pending"]
result = {"count": len(pending), "first": pending[:5]}`,
    typescript: ({ data }) => `
const rows = textOf(await tools.files.read_text_file({ path: ${JSON.stringify(join(data, 'sheet.csv'))} })).split("\\n");
const pending = rows.filter((line: string) => line.split(",")[2] === "pending");
return { count: pending.length, first: pending.slice(0, 5) };`,
  },
];

// Where code has nothing to gain: one call each.
export const SHORT_TASKS = [
  {
    name: 'read one file (short)',
    tools: ['read'],
    steps: (call, { data }) => call('read', { path: join(data, 'hello.txt') }),
    python: ({ data }) => `result = text_of(tools.files.read_text_file(path=${JSON.stringify(join(data, 'hello.txt'))}))`,
    typescript: ({ data }) => `return textOf(await tools.files.read_text_file({ path: ${JSON.stringify(join(data, 'hello.txt'))} }));`,
  },
  {
    name: 'echo a word (short)',
    tools: ['echo'],
    steps: (call) => call('echo', { message: 'hi' }),
    python: () => 'result = text_of(tools.everything.echo(message="hi"))',
    typescript: () => 'return textOf(await tools.everything.echo({ message: "hi" }));',
  },
];

// A tool's value may be its text or its structured content; an agent that has seen one result writes what fits.
const HELPERS = {
  python: `import json
def text_of(v): return v if isinstance(v, str) else v.get("content", json.dumps(v)) if isinstance(v, dict) else json.dumps(v)
def json_of(v): return json.loads(v) if isinstance(v, str) else v
`,
  typescript: `const textOf = (v: any): string => typeof v === "string" ? v : v?.content ?? JSON.stringify(v);
const jsonOf = (v: any): any => typeof v === "string" ? JSON.parse(v) : v;
`,
};

const textOf = (result) => result.content.map((block) => block.text ?? '').join('\n');

// One task, one way. `log(kind, value, tool)` gets everything that passes through a model's context: what it asks and reads about
// definitions ('lookup', and of which tool), what it writes to call a tool ('call') and what it reads as a result ('result').
export async function perform(session, task, way, facts, log = () => {}) {
  const request = async (name, args, kind = 'result', tool = undefined) => {
    log(kind === 'result' ? 'call' : 'lookup', { name, arguments: args }, tool);
    const result = await session.client.callTool({ name, arguments: args }, undefined, { timeout: 120_000 });
    log(kind, textOf(result), tool);
    if (result.isError) throw new Error(`${name}: ${textOf(result)}`);
    return textOf(result);
  };
  const lookUp = async () => {
    for (const tool of task.tools.map((alias) => TOOLS[alias])) {
      const found = JSON.parse(await request('code__search_tools', { query: tool.words, limit: 5 }, 'lookup', tool));
      if (!found.tools.some((each) => each.name === tool.tool && each.mcp_server === tool.server)) throw new Error(`${tool.tool} was not found by "${tool.words}"`);
      await request('code__get_tool_definition', { tool_name: tool.tool, server: tool.server }, 'lookup', tool);
    }
  };
  if (way === 'direct') return task.steps((alias, args) => request(`${TOOLS[alias].server}__${TOOLS[alias].tool}`, args), facts);
  await lookUp();
  if (way === 'discovery') return task.steps((alias, args) => request('code__call_tool', { server: TOOLS[alias].server, tool: TOOLS[alias].tool, args }), facts);
  const code = HELPERS[way] + task[way](facts).trim();
  const answer = JSON.parse(await request('code__execute_code', { code, language: way }));
  if (!answer.success) throw new Error(`${way}: ${answer.error}\n${answer.traceback ?? ''}`);
  return answer.result;
}

export const WAYS = ['direct', 'discovery', 'python', 'typescript'];
