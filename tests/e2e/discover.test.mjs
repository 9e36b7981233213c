// Finding tools instead of loading them: one gate, several servers, grants that see different parts of them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ModernHttpPeer, cli, legacyServer, policyFile, startServe, startUpstream, tempDir, tempFile, until } from '../lib/index.mjs';

const schema = (...names) => ({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) });
const tool = (name, description, ...params) => ({ name, description, inputSchema: schema(...params) });
const echo = ({ name, arguments: args }) => ({ content: [{ type: 'text', text: JSON.stringify({ name, args }) }] });

describe('discovery', { concurrency: 1 }, () => {
  let shop, disk, gate, as, shopTools, policyPath, settings;

  before(async () => {
    shopTools = [
      tool('refund_order', 'Gives a customer the money back. Needs an order.', 'order_id', 'amount'),
      tool('list_orders', 'Orders of a customer', 'customer'),
      tool('wipe_shop', 'Deletes everything', 'sure'),
    ];
    shop = await startUpstream(legacyServer({ methods: { 'tools/list': () => ({ tools: shopTools }), 'tools/call': echo } }));
    disk = await startUpstream(legacyServer({
      tools: [tool('create-directory', 'Makes a directory', 'path'), tool('read_file', 'The bytes of one file', 'path')],
      methods: { 'tools/call': echo },
    }));
    const env = { SALLYPORT_HOME: join(tempDir(), 'home'), SALLYPORT_NODE: process.execPath };
    policyPath = policyFile({ version: '1', default: 'allow', hide: ['wipe_shop', 'restore_pii'] });
    const tokens = { all: (await cli(['grants', 'create', 'all'], { env })).stdout.trim() };
    tokens.disk = (await cli(['grants', 'create', 'disk', '--server', 'code', '--server', 'my-disk'], { env })).stdout.trim();
    tokens.some = (await cli(['grants', 'create', 'some', '--tool', 'code__*', '--tool', 'shop__list_*'], { env })).stdout.trim();
    const all = { version: '1', policy: policyPath, servers: { shop: { url: shop.url }, 'my-disk': { url: disk.url }, gone: { url: 'http://127.0.0.1:1/mcp' } }, code: { enabled: true } };
    const path = tempFile('sallyport.yaml', JSON.stringify(all));
    tokens.shop = (await cli(['grants', 'create', 'shop', '--server', 'shop'], { env })).stdout.trim();
    gate = await startServe({ args: ['--config', path], env });
    settings = async (more) => {
      const reloads = () => gate.stderr.split('settings reloaded').length;
      const before = reloads();
      writeFileSync(path, JSON.stringify({ ...all, ...more }));
      await until('the new settings', () => reloads() > before);
    };
    as = (name, path = '/mcp/code') => {
      const peer = new ModernHttpPeer(`${gate.origin}${path}`, { headers: { Authorization: `Bearer ${tokens[name]}` } });
      const json = async (toolName, args = {}) => (await peer.call(toolName, args)).structuredContent;
      return { peer, json, find: async (query, more = {}) => (await json('search_tools', { query, ...more })).tools.map(({ name }) => name) };
    };
  });
  after(async () => { await gate?.stop(); await shop?.close(); await disk?.close(); });

  test('tools of all servers are found by their purpose, in three levels of detail', async () => {
    const { json, find } = as('all');
    assert.equal((await find('give back the money'))[0], 'refund_order');
    assert.equal((await find('make a new folder'))[0], 'create-directory');
    assert.equal((await find('refudn'))[0], 'refund_order', 'a typing error');
    const [name] = (await json('search_tools', { query: 'refund', detail_level: 'name' })).tools;
    assert.deepEqual(name, { name: 'refund_order', mcp_server: 'shop' });
    const [summary] = (await json('search_tools', { query: 'refund' })).tools;
    assert.deepEqual(summary, { name: 'refund_order', category: 'shop', description: 'Gives a customer the money back.', mcp_server: 'shop' });
    const [full] = (await json('search_tools', { query: 'refund', detail_level: 'full' })).tools;
    assert.deepEqual(full.inputSchema, schema('order_id', 'amount'));
    assert.deepEqual(await find('order', { category: 'my-disk' }), []);
    assert.equal((await find('order', { limit: 1 })).length, 1);
  });

  test('a server that does not answer is named, and the others are found', async () => {
    assert.deepEqual((await as('all').json('search_tools', { query: 'orders' })).unavailable, ['gone']);
  });

  test('definitions are found by every name of a tool, and by category', async () => {
    const { json, peer } = as('all');
    for (const name of ['refund_order', 'shop.refund_order', 'shop__refund_order', 'shop/refund_order'])
      assert.equal((await json('get_tool_definition', { tool_name: name })).mcp_server, 'shop', name);
    assert.equal(JSON.parse((await peer.call('get_tool_definition', { tool_name: 'nothing' })).content[0].text), null);
    const { categories, core_mcps: servers } = await json('list_tool_categories');
    assert.deepEqual([categories.shop.tool_count, categories['my-disk'].tool_count, servers], [2, 2, ['shop', 'my-disk', 'code']]);
  });

  test('a tool that was found can be called under its own name', async () => {
    const answer = JSON.parse((await as('all').peer.call('call_tool', { server: 'shop', tool: 'list_orders', args: { customer: 'x' } })).content[0].text);
    assert.deepEqual(answer, { name: 'list_orders', args: { customer: 'x' } });
  });

  test('a grant finds only the tools that it may use', async () => {
    const [all, onDisk, some] = [as('all'), as('disk'), as('some')];
    assert.deepEqual((await onDisk.json('list_tool_categories')).core_mcps, ['my-disk', 'code']);
    assert.deepEqual(await onDisk.find('refund order money'), []);
    assert.deepEqual(await some.find('refund order customer'), ['list_orders']);
    for (const { json, find, peer } of [all, onDisk, some]) {
      assert.ok(!(await find('wipe shop delete everything restore_pii')).some((name) => ['wipe_shop', 'restore_pii'].includes(name)));
      for (const name of ['wipe_shop', 'shop__wipe_shop', 'restore_pii'])
        assert.equal(JSON.parse((await peer.call('get_tool_definition', { tool_name: name })).content[0].text), null, name);
      assert.ok(!JSON.stringify(await json('search_tools', { query: '', detail_level: 'full', limit: 50 })).includes('wipe_shop'));
      const denied = await peer.call('call_tool', { server: 'shop', tool: 'wipe_shop', args: {} });
      assert.ok(denied.isError);
    }
  });

  test('a session that leads to all servers finds the same', async () => {
    const { json } = as('all', '/mcp');
    assert.equal((await json('code__search_tools', { query: 'refund' })).tools[0].name, 'refund_order');
  });

  test('code finds tools, and lists servers as the endpoints do', async () => {
    const { json } = as('some');
    const run = async (code, language) => { const answer = await json('execute_code', { code, language }); assert.ok(answer.success, JSON.stringify(answer)); return answer.result; };
    assert.deepEqual(await run('result = [t["name"] for t in search_tools("orders")["tools"]]'), ['list_orders']);
    assert.deepEqual(await run('return (await searchTools("orders")).tools.map((t) => t.name)', 'javascript'), ['list_orders']);
    const fetched = await run(`const get = async (path) => (await fetch("http://localhost:3001" + path)).json();
      return [await get("/mcp/servers"), (await get("/mcp/shop/tools")).tools.map((t) => t.name), (await fetch("http://localhost:3001/mcp/my-disk/tools")).status]`, 'typescript');
    assert.deepEqual(fetched, [['shop', 'code'], ['list_orders'], 404]);
  });

  test('lazy lists only the discovery tools; hybrid adds the most used tools', async () => {
    const listed = async (name, path = '/mcp') => (await as(name, path).peer.request('tools/list')).tools.map((t) => t.name);
    const LEAD = ['execute_code', 'job_status', 'search_tools', 'get_tool_definition', 'list_tool_categories', 'call_tool'].map((name) => `code__${name}`);
    assert.ok((await listed('all')).includes('shop__refund_order'));
    await settings({ discovery: { mode: 'lazy' } });
    assert.deepEqual(await listed('all'), LEAD);
    assert.deepEqual(await listed('all', '/mcp/shop'), ['refund_order', 'list_orders'], 'one server by itself');
    assert.deepEqual(await listed('shop'), ['shop__refund_order', 'shop__list_orders'], 'a grant without the code server');
    const { instructions } = await as('all', '/mcp').peer.request('server/discover');
    assert.match(instructions, /Listed are the tools that find and call others[^]*shop, my-disk[^]*code__search_tools[^]*code__execute_code/);
    const { peer } = as('all', '/mcp');
    assert.match((await peer.call('my-disk__read_file', { path: 'x' })).content[0].text, /read_file/, 'what is not listed can be called');
    assert.match((await peer.call('code__call_tool', { server: 'my-disk', tool: 'read_file', args: {} })).content[0].text, /read_file/);
    await settings({ discovery: { mode: 'hybrid', keep: 1 } });
    assert.deepEqual(await listed('all'), ['my-disk__read_file', ...LEAD]);
    assert.deepEqual(await listed('some'), ['shop__list_orders', ...LEAD], 'of what the grant may call');
    assert.match((await peer.request('server/discover')).instructions, /used most/);
    await settings({});
    assert.ok((await listed('all')).includes('shop__refund_order'));
  });

  test('the next search reflects changed lists and changed policies', async () => {
    const { find } = as('all');
    assert.ok((await find('refund order')).includes('refund_order'));
    writeFileSync(policyPath, JSON.stringify({ version: '1', default: 'allow', hide: ['refund_order'] }));
    await until('the new policy', async () => !(await find('refund order')).includes('refund_order'));
    assert.ok((await find('wipe the shop')).includes('wipe_shop'));
  });
});
