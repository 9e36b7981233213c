// A server that reads JSON as Go's encoding/json does: the last key that is equal to a field's name under simple case folding counts.
// An argument that is missing is looked for under its further names, and then has its default.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const tools = new Map(JSON.parse(readFileSync(process.argv[2])).map((tool) => [tool.name, tool]));
const TYPES = { integer: { type: 'integer' }, number: { type: 'number' }, string: { type: 'string' }, boolean: { type: 'boolean' },
  integers: { type: 'array', items: { type: 'integer' } }, strings: { type: 'array', items: { type: 'string' } },
  map: { type: 'object' }, either: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }, nested: { type: 'object', properties: { amount: { type: 'integer' }, label: { type: 'string' } } } };
// U+017F and U+212A are the two letters beyond ASCII that fold to one of it.
const fold = (key) => key.toLowerCase().replaceAll('\u017f', 's').replaceAll('\u212a', 'k');

function bind(params, given) {
  const received = {};
  for (const [key, value] of Object.entries(given)) {
    const field = Object.keys(params).find((name) => fold(name) === fold(key));
    if (field !== undefined) received[field] = params[field] === 'nested' && value && typeof value === 'object' ? bind({ amount: 'integer', label: 'string' }, value) : value;
  }
  return received;
}

// What stands under another name becomes what the argument is, or is left.
const number = (value) => (['number', 'string', 'boolean'].includes(typeof value) && Number.isFinite(Number(value)) ? Number(value) : undefined);
const string = (value) => (['number', 'string', 'boolean'].includes(typeof value) ? String(value) : undefined);
const flag = (value) => ({ true: true, yes: true, on: true, 1: true, false: false, no: false, 0: false })[String(value).toLowerCase()];
const list = (one) => (value) => (Array.isArray(value) && value.every((part) => one(part) !== undefined) ? value.map(one) : undefined);
const object = (value) => (value && typeof value === 'object' && !Array.isArray(value) ? value : undefined);
const CONVERT = { integer: number, number, string, boolean: flag, integers: list(number), strings: list(string),
  either: (value) => string(value) ?? list(string)(value),
  map: (value) => object(value) && Object.values(value).every((part) => typeof part === 'number') ? value : undefined,
  nested: (value) => object(value) && typeof value.amount === 'number' && ['string', 'undefined'].includes(typeof value.label) ? { amount: value.amount, label: value.label } : undefined };

// Tools with an odd number use what stands last, their own name or a further one, as Jackson does.
function bindAll({ name: tool, params, aliases, defaults }, given) {
  const found = { ...given }, keys = Object.keys(given), takesLast = Number(tool.slice(1)) % 2 === 1;
  for (const [name, [alias, how]] of Object.entries(aliases)) {
    const at = given[alias], value = CONVERT[params[name]](how === 'name' ? at : how === 'member' ? at?.value : at?.[0]);
    const own = keys.findLastIndex((key) => fold(key) === fold(name)), other = keys.indexOf(alias);
    if ((own < 0 || (takesLast && other > own)) && value !== undefined) found[name] = value;
  }
  return { ...defaults, ...bind(params, found) };
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'folding', version: '1' } }),
  'tools/list': () => ({ tools: [...tools].map(([name, { params, defaults }]) => ({ name, inputSchema: { type: 'object', properties: Object.fromEntries(Object.entries(params).map(([key, kind]) => [key, { ...TYPES[kind], ...(key in defaults && { default: defaults[key] }) }])) } })) }),
  'tools/call': ({ name, arguments: given }) => ({ content: [{ type: 'text', text: JSON.stringify(bindAll(tools.get(name), given ?? {})) }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = METHODS[method]?.(params ?? {});
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'unknown' } }) }));
}
