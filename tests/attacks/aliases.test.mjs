// Servers that accept an argument under a name that is missing from their schema: the official Python SDK with AliasChoices, and
// JavaScript that copies members one by one, where `__proto__` sets the prototype. A rule about an argument that seems to be
// missing must still apply.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { legacyServer, root, startGate, startUpstream, tempFile, use } from '../lib/index.mjs';

const python = join(root, 'tests/python/venv/bin/python');
const SERVER = `
from typing import Annotated
from pydantic import BaseModel, Field, AliasChoices, AliasPath
from mcp.server.fastmcp import FastMCP
m = FastMCP("aliases")
Amount = Annotated[float, Field(validation_alias=AliasChoices("amount", "amt", "total.value", AliasPath("total", "sum"), AliasPath("list", 0)))]
class Order(BaseModel):
    amount: Amount = 1
@m.tool()
def pay(amount: Amount = 1, note: str = "") -> str:
    return f"PAID {amount}"
@m.tool()
def order(order: Order) -> str:
    return f"PAID {order.amount}"
m.run()
`;
const over = (path, more = {}) => ({ deny_if: [{ name: 'large', conditions: [{ path, op: 'gt', value: 100 }] }], ...more });
const paid = ({ result }) => Number(/^PAID ([\d.]+)$/.exec(result?.content?.[0]?.text)?.[1] ?? 0);
const denial = ({ result }) => result?._meta?.['sallyport/denial'];

async function open(t, options) {
  const gate = use(t, await startGate({ transport: 'stdio', ...options }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  gate.rpc.notify('notifications/initialized');
  return (name, args) => gate.rpc.exchange('tools/call', { name, arguments: args });
}

test('the Python SDK: calls with an alias that is missing from the schema are denied', async (t) => {
  if (!existsSync(python)) return t.skip(`SKIPPED LOUDLY: ${python} is not there`);
  const policy = { version: '1', default: 'deny', tools: { pay: over('args.amount'), order: over('args.order.amount') } };
  const call = await open(t, { command: [python, tempFile('aliases.py', SERVER)], policy });
  for (const [name, args] of [
    ['pay', { amt: 5000 }], ['pay', { 'total.value': 5000 }], ['pay', { amt: 5000, note: 'x' }], ['pay', { amt: '5000' }], ['pay', { amt: 'inf' }], ['pay', { amt: ' ٥٠٠٠' }], ['pay', { total: { sum: 5000 } }], ['pay', { list: [5000] }], ['order', { order: { total: { sum: '5000' } } }], ['order', { order: { amt: 5000 } }], ['order', { order: { 'total.value': 5000 } }],
  ]) {
    const answer = await call(name, args);
    assert.equal(paid(answer), 0, JSON.stringify([args, answer]));
    assert.equal(denial(answer).reason, 'ambiguous_arguments');
  }
  for (const [name, args, amount] of [['pay', {}, 1], ['pay', { note: 'x' }, 1], ['pay', { total: { sum: 7 } }, 7], ['pay', { amount: 7, extra: 1 }, 7], ['order', { order: { amount: 9 } }, 9], ['order', { order: {} }, 1]])
    assert.equal(paid(await call(name, args)), amount, JSON.stringify(args));
});

test('a rule that lets a missing argument pass still applies to an alias', async (t) => {
  if (!existsSync(python)) return t.skip(`SKIPPED LOUDLY: ${python} is not there`);
  const atMost = (path) => ({ require: [{ name: 'small', conditions: [{ path, op: 'lte', value: 100 }], on_missing: 'pass' }] });
  const call = await open(t, { command: [python, tempFile('aliases.py', SERVER)], policy: { version: '1', default: 'deny', tools: { pay: atMost('args.amount'), order: atMost('args.order.amount') } } });
  for (const [name, args] of [['pay', { amt: 5000 }], ['pay', { amt: '5000' }], ['pay', { total: { sum: 5000 } }], ['pay', { list: [5000] }], ['order', { order: { amt: 5000 } }]]) {
    const answer = await call(name, args);
    assert.equal(paid(answer), 0, JSON.stringify([args, answer]));
    assert.equal(denial(answer).reason, 'ambiguous_arguments');
  }
  for (const [name, args, amount] of [['pay', {}, 1], ['pay', { note: 'x' }, 1], ['pay', { amt: 7 }, 7], ['pay', { other: 'text' }, 1], ['pay', { other: null }, 1], ['order', { order: {} }, 1]])
    assert.equal(paid(await call(name, args)), amount, JSON.stringify(args));
});

// As Jackson binds @JsonAlias: of several names of one member the one that stands last counts.
test('another name beside the one that the rule reads', async (t) => {
  const item = { type: 'object', properties: { price: { type: 'number' }, label: { type: 'string' } } };
  const schema = { type: 'object', properties: { amount: { type: 'number' }, url: { type: 'string' }, note: { type: 'string' }, items: { type: 'array', items: item }, one: { anyOf: [item, { type: 'null' }] } } };
  const names = { amount: ['amount', 'amt', 'sum'], url: ['url', 'uri'], price: ['price', 'cost'] };
  const bind = (given, member) => Object.entries(given ?? {}).filter(([key]) => names[member].includes(key)).at(-1)?.[1];
  const upstream = use(t, await startUpstream(legacyServer({ tools: ['pay', 'spend', 'cap', 'ask', 'open', 'order', 'one'].map((name) => ({ name, inputSchema: schema })),
    methods: { 'tools/call': ({ arguments: given }) => ({ content: [{ type: 'text', text: JSON.stringify([bind(given, 'amount'), bind(given, 'url'), ...(given.items ?? [given.one]).map((item) => bind(item, 'price'))]) }] }) } })));
  const conditions = [{ path: 'args.amount', op: 'lte', value: 100 }];
  const policy = { version: '1', default: 'deny', tools: {
    pay: { rules: [{ name: 'r', conditions }] }, spend: { limits: [{ counter: 'c', window: 'day', max: 100, increment_from: 'args.amount' }] }, cap: over('args.amount'),
    ask: { approve_if: [{ conditions: [{ path: 'args.amount', op: 'gt', value: 100 }] }] }, open: { require: [{ conditions: [{ path: 'args.url', op: 'host', value: '*.example.com' }] }] },
    order: over('args.items[*].price'), one: over('args.one.price'),
  } };
  const call = await open(t, { upstream: upstream.url, policy });
  const url = 'https://a.example.com/';
  for (const [name, args] of [
    ...['pay', 'spend', 'cap', 'ask'].flatMap((name) => [{ amount: 1, amt: 5000 }, { amt: 5000, amount: 1 }, { amount: 1, sum: '5000' }, { amount: 1, total: { sum: 5000 } }].map((args) => [name, args])),
    ['open', { url, uri: 'http://169.254.169.254/' }], ['open', { url, more: { uri: 'http://evil.example.org/' } }],
    ['order', { items: [{ price: 1 }, { price: 1, cost: 5000 }] }], ['order', { items: [{ cost: 5000 }] }], ['one', { one: { price: 1, cost: 5000 } }],
  ]) assert.equal(denial(await call(name, args))?.reason, 'ambiguous_arguments', JSON.stringify([name, args]));
  for (const [name, args] of [
    ...['pay', 'spend', 'cap', 'ask'].flatMap((name) => [{ amount: 7 }, { amount: 7, amt: 5 }, { amount: 7, reason: 'a gift' }, { amount: 7, note: '5000' }].map((args) => [name, args])),
    ['open', { url, note: 'http://evil.example.org/' }], ['open', { url, limit: 5, deep: true }], ['open', { url, uri: 'https://b.example.com/' }],
    ['order', { items: [{ price: 1, label: '5000' }, { price: 2, unit: 'kg' }] }], ['one', { one: { price: 1, rank: 2 } }],
  ]) assert.equal(denial(await call(name, args)), undefined, JSON.stringify([name, args]));
});

test('JavaScript that merges objects: constructor.prototype', async (t) => {
  const schema = { type: 'object' };
  const upstream = use(t, await startUpstream(legacyServer({ tools: [{ name: 'pay', inputSchema: schema }],
    methods: { 'tools/call': ({ arguments: given }) => {
      const merge = (to, from) => { for (const key of Object.keys(from)) if (from[key] && typeof from[key] === 'object' && to[key]) merge(to[key], from[key]); else to[key] = from[key]; return to; };
      const amount = merge({}, given ?? {}).amount ?? 1;
      delete Object.prototype.amount;
      return { content: [{ type: 'text', text: `PAID ${amount}` }] };
    } } })));
  const call = await open(t, { upstream: upstream.url, policy: { version: '1', default: 'deny', tools: { pay: over('args.amount') } } });
  assert.equal(paid(await call('pay', { constructor: { prototype: { amount: 5000 } } })), 0);
  assert.equal(paid(await call('pay', { amount: 7, constructor: 'Miller' })), 7);
  assert.equal(paid(await call('pay', { constructor: 'Miller' })), 1, 'a word like others');
});

test('JavaScript that copies members: __proto__', async (t) => {
  const schema = { type: 'object' };
  const upstream = use(t, await startUpstream(legacyServer({ tools: [{ name: 'pay', inputSchema: schema }, { name: 'order', inputSchema: schema }],
    methods: { 'tools/call': ({ arguments: given }) => {
      const copy = (from) => { const to = {}; for (const key of Object.keys(from)) to[key] = from[key]; return to; };
      const args = copy(given ?? {});
      return { content: [{ type: 'text', text: `PAID ${(args.order ? copy(args.order) : args).amount ?? 1}` }] };
    } } })));
  const call = await open(t, { upstream: upstream.url, policy: { version: '1', default: 'deny', tools: { pay: over('args.amount'), order: over('args.order.amount') } } });
  const raw = (text) => JSON.parse(text); // an object literal would set the prototype
  for (const [name, args] of [['pay', '{"__proto__":{"amount":5000}}'], ['order', '{"order":{"__proto__":{"amount":5000}}}']])
    assert.equal(paid(await call(name, raw(args))), 0, args);
  assert.equal(paid(await call('pay', { amount: 7, other: 1 })), 7);
  assert.equal(paid(await call('pay', { other: 1 })), 1, 'the schema speaks of no key at all');
});

test('a policy may say that unknown keys do not matter', async (t) => {
  const tools = [{ name: 'pay', inputSchema: { type: 'object', properties: { amount: { type: 'number' } } } }, { name: 'open', inputSchema: { type: 'object', properties: { amount: { type: 'number' } }, additionalProperties: true } }];
  const upstream = use(t, await startUpstream(legacyServer({ tools, methods: { 'tools/call': ({ arguments: { amount = 1 } }) => ({ content: [{ type: 'text', text: `PAID ${amount}` }] }) } })));
  const policy = (more) => ({ version: '1', default: 'deny', tools: { pay: over('args.amount', more), open: over('args.amount') } });
  const strict = await open(t, { upstream: upstream.url, policy: policy({}) });
  assert.equal(denial(await strict('pay', { sum: 5000 })).path, 'args.amount');
  for (const args of [{ deep: { a: 5000 } }, { deep: [[5000]] }]) assert.equal(denial(await strict('pay', args))?.path, 'args.amount', JSON.stringify(args));
  for (const args of [{ reason: 'x' }, { sum: 5 }, { deep: { a: 5 } }, { sum: null }, { dry: true }]) assert.equal(paid(await strict('pay', args)), 1, 'what the rule would let pass anyway');
  assert.equal(paid(await strict('open', { sum: 5000 })), 1);
  const loose = await open(t, { upstream: upstream.url, policy: policy({ arguments: 'loose' }) });
  assert.equal(paid(await loose('pay', { sum: 5000 })), 1);
});

test('methods that a server may read as tools/call are refused', async (t) => {
  const names = ['TOOLS/CALL', 'Tools/Call', 'tools/call ', '/tools/call', 'tools.call', 'tools//call', 'ｔools/call', 'toolſ/call'];
  const got = [];
  const methods = Object.fromEntries(names.map((name) => [name, (params) => { got.push(params); return {}; }]));
  const upstream = use(t, await startUpstream(legacyServer({ methods: { ...methods, 'vendor/call': () => ({ fine: true }) } })));
  const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, policy: { version: '1', default: 'allow', hide: ['pay'] } }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  for (const name of names) assert.ok((await gate.rpc.exchange(name, { name: 'pay', arguments: {} })).error, name);
  assert.deepEqual(got, []);
  assert.deepEqual((await gate.rpc.exchange('vendor/call', {})).result, { fine: true });
});
