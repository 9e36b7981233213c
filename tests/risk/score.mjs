// How the classifier does on labelled tools. Each server's tools are scanned together, as a tools/list would
// have them; the servers' own hints are left out.
import { jsonLines, scanJson } from './data.mjs';

export const classes = ['Read', 'Write', 'Execute', 'Destructive', 'Financial'];
const operationNames = ['action', 'operation', 'mode', 'command', 'method', 'op', 'type'];

function definition(row) {
  const properties = Object.fromEntries((row.props ?? []).map((name) => [name, { type: 'string' }]));
  if (row.enums?.length) {
    const name = operationNames.find((n) => n in properties) ?? 'operation';
    properties[name] = { type: 'string', enum: row.enums };
  }
  return { name: row.tool, description: row.description, inputSchema: { type: 'object', properties } };
}

export async function classify(rows) {
  const servers = new Map();
  for (const row of rows) servers.set(row.server, [...(servers.get(row.server) ?? []), row]);
  const answers = [];
  for (const [server, own] of servers) {
    const found = await scanJson({ package: server, tools: own.map(definition) });
    own.forEach((row, i) => answers.push({ ...row, got: found[i].category, evidence: found[i].evidence }));
  }
  return answers;
}

// How `got` of each row compares with its member `label`.
export function measure(rows, label) {
  const rank = (name) => classes.indexOf(name);
  const right = rows.filter((row) => row.got === row[label]).length;
  const under = rows.filter((row) => rank(row.got) < rank(row[label])).length;
  const perClass = Object.fromEntries(classes.map((name) => {
    const hit = rows.filter((row) => row.got === name && row[label] === name).length;
    const said = rows.filter((row) => row.got === name).length;
    const is = rows.filter((row) => row[label] === name).length;
    return [name, { precision: said ? hit / said : 1, recall: is ? hit / is : 1, n: is }];
  }));
  return { rows, n: rows.length, accuracy: right / rows.length, under: under / rows.length, perClass };
}

export const score = async (part, label) => measure(await classify(jsonLines(part)), label);

export function line(name, s) {
  const parts = classes.map((c) => `${c} ${s.perClass[c].precision.toFixed(3)}/${s.perClass[c].recall.toFixed(3)} (${s.perClass[c].n})`);
  return `${name}: n ${s.n}, accuracy ${s.accuracy.toFixed(3)}, under ${s.under.toFixed(3)}; precision/recall ${parts.join(', ')}`;
}
