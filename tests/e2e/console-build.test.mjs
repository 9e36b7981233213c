// The console's builder, playground and time ranges in a real browser; what is built on the board is enforced on a client of the MCP SDK.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { axeSource, callTool, connect, consoleWorld, openPage, sanitized, startBrowser, visit } from '../lib/index.mjs';

const texts = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));
async function serious(page) {
  return page.evaluate(async () => (await window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })).violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(', ')}`));
}

describe('the console builds and tries', { concurrency: 1 }, () => {
  let browser;
  test('a browser starts', async () => { browser = await startBrowser(); });

  test('every kind of rule, built from the tool\'s schema, holds for a client of the SDK', async (t) => {
    const world = await consoleWorld(t, { policy: '# ours\nversion: "1"\ndefault: allow\n' });
    const { client } = await connect('v1', { url: `${world.origin}/mcp`, headers: { Authorization: `Bearer ${world.tokens.agent}` } });
    t.after(() => client.close());
    await client.listTools();
    const call = async (name, args) => { try { const { content, isError } = await client.callTool({ name: `shop__${name}`, arguments: args }); return isError ? `refused: ${content[0].text}` : content[0].text; } catch (error) { return error.message; } };
    const page = await openPage(browser, world, { as: 'manager', width: 1400 });
    await visit(page, 'policies?server=shop');
    const open = async (tool) => { await page.click(`[data-tool=${tool}] .name`); await page.waitForSelector(`[data-tool=${tool}] .rulebuilder`); };
    const add = async (tool, { kind, argument, op, value, max, window, scope, message }) => {
      const at = `[data-tool=${tool}] .rulebuilder `;
      const before = (await texts(page, `${at}.rules li`)).length;
      await page.selectOption(`${at}[aria-label="Kind of rule"]`, kind);
      if (argument) await page.fill(`${at}[aria-label=Argument]`, argument);
      if (op) await page.selectOption(`${at}[aria-label=Operator]`, op);
      if (value) await (await page.getAttribute(`${at}[aria-label=Value]`, 'type') ? page.fill(`${at}[aria-label=Value]`, value) : page.selectOption(`${at}[aria-label=Value]`, value));
      if (max) await page.fill(`${at}[aria-label="At most"]`, max);
      if (window) await page.selectOption(`${at}[aria-label=Window]`, window);
      if (scope) await page.selectOption(`${at}[aria-label="Counted for"]`, scope);
      if (message) await page.fill(`${at}[aria-label="Message for the agent"]`, message);
      await page.click(`${at}>> text=Add rule`);
      await page.waitForFunction(([s, n]) => document.querySelectorAll(s).length > n, [`${at}.rules li`, before]);
    };
    await open('create_refund');
    assert.deepEqual((await page.$$eval('[data-tool=create_refund] datalist option', (all) => all.map((o) => o.value))).slice(0, 3), ['args.amount', 'args.currency', 'args.reason']);
    await add('create_refund', { kind: 'deny', argument: 'args.currency', op: 'eq', value: 'USD', message: 'Euros only' });
    await add('create_refund', { kind: 'ask', argument: 'args.amount', op: 'gt', value: '50' });
    await add('create_refund', { kind: 'spend', argument: 'args.amount', max: '60', window: 'day', scope: 'identity', message: 'Budget is gone' });
    await open('list_orders');
    await add('list_orders', { kind: 'identical', max: '1', window: 'hour' });
    await open('read_file');
    await add('read_file', { kind: 'require', argument: 'args.path', op: 'under', value: '/srv' });
    await add('read_file', { kind: 'rate', max: '2', window: 'day', scope: 'session' });
    await open('run_query');
    await add('run_query', { kind: 'require', argument: 'args.sql', op: 'sql', value: 'postgres' });
    await add('run_query', { kind: 'concurrent', max: '3' });
    await open('delete_customer');
    await add('delete_customer', { kind: 'require', argument: 'args.id', op: 'no_leading_dash' });
    await page.waitForSelector('.badge:text-matches("^(valid|\\\\d+ warnings?)$")');
    await page.evaluate(readFileSync(axeSource(), 'utf8'));
    assert.deepEqual(await serious(page), []);
    await page.click('text="Save…"');
    await page.click('dialog >> text="Save"');
    await page.waitForSelector('text=It is in force for the next call');
    assert.ok(readFileSync(world.paths.policy, 'utf8').startsWith('# ours\n'));

    assert.match(await call('create_refund', { amount: 1, currency: 'USD' }), /Euros only/);
    assert.match(await call('create_refund', { amount: 51 }), /approv/i);
    assert.equal(await call('create_refund', { amount: 40 }), 'create_refund done');
    assert.match(await call('create_refund', { amount: 30 }), /Budget is gone/);
    assert.equal(await call('list_orders', { customer: 'a' }), 'list_orders done');
    assert.match(await call('list_orders', { customer: 'a' }), /^refused/);
    assert.equal(await call('list_orders', { customer: 'b' }), 'list_orders done');
    assert.match(await call('read_file', { path: '/etc/passwd' }), /^refused/);
    for (const expected of [/done$/, /done$/, /^refused/]) assert.match(await call('read_file', { path: '/srv/a' }), expected);
    assert.equal(await call('run_query', { sql: 'SELECT 1' }), 'run_query done');
    assert.match(await call('run_query', { sql: 'DROP TABLE x' }), /^refused/);
    assert.match(await call('delete_customer', { id: '-rf' }), /^refused/);
    assert.equal(await call('delete_customer', { id: 'c1' }), 'delete_customer done');
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('errors in the text are shown while typing, at their place', async (t) => {
    const world = await consoleWorld(t);
    const page = await openPage(browser, world, { as: 'manager' });
    await visit(page, 'policies');
    await page.waitForSelector('[data-editor] .cm-content');
    await page.click('[data-editor] .cm-content');
    await page.keyboard.press('Control+End');
    await page.keyboard.type('hiden: [x]\n');
    await page.waitForSelector('.problems .error:has-text("hiden")');
    assert.match((await texts(page, '.problems .error'))[0], /^\d+:\d+.*hide/);
    assert.ok(await page.isDisabled('text="Save…"'));
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('code runs in the playground, in both languages, with its value, output, error and inner calls, and is recorded', { skip: sanitized }, async (t) => {
    const world = await consoleWorld(t, { code: true });
    const page = await openPage(browser, world, { width: 1400 });
    await visit(page, 'playground/code');
    const write = async (text) => {
      await page.waitForSelector('[data-editor] .cm-content');
      await page.click('[data-editor] .cm-content');
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(text);
      await page.click('text=Run it');
      await page.waitForSelector('[data-ran]');
    };
    await write('print("from python")\nprint(tools.shop.read_file(path="/srv/x"))\nresult = 6 * 7');
    await page.waitForSelector('[data-ran] :text("42")');
    const colours = () => page.locator('[data-editor] .cm-line').evaluateAll((lines) => Object.fromEntries(lines.flatMap((line) => [...line.querySelectorAll('span')]).map((span) => [span.textContent, getComputedStyle(span).color])));
    const python = await colours();
    assert.ok(python['"from python"'] && python['6'] && python['"from python"'] !== python['6'], JSON.stringify(python));
    await page.waitForSelector('[data-ran] :text("from python")');
    await page.waitForSelector('[data-inner] :text("shop · read_file")');
    assert.equal(world.calls.at(-1).name, 'read_file');
    await page.click('text="TypeScript"');
    await write('const n: number = 6; console.log("from typescript"); return n * 9;');
    await page.waitForSelector('[data-ran] :text("54")');
    const typescript = await colours();
    assert.ok(typescript.const && typescript.const === typescript.return && typescript.const !== typescript['6'], JSON.stringify(typescript));
    await page.click('text="Python"');
    await write('raise ValueError("<b>no</b>")');
    await page.waitForSelector('[data-ran] :text("ValueError: <b>no</b>")');
    assert.equal(await page.locator('[data-ran] b').count(), 0);
    await page.evaluate(readFileSync(axeSource(), 'utf8'));
    assert.deepEqual(await serious(page), []);
    await visit(page, 'sessions');
    await page.waitForFunction(() => document.querySelectorAll('[aria-label="Code runs on record"] tbody tr').length === 3);
    await page.locator('[aria-label="Code runs on record"] tbody tr').last().click();
    await page.waitForSelector('.drawer [data-inner] :text("shop · read_file")');
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('any time range can be chosen, and it is part of the URL', async (t) => {
    const world = await consoleWorld(t);
    const agent = await world.agent();
    await agent.exchange('tools/list');
    for (let i = 0; i < 3; i++) await callTool(agent, 'list_orders', { customer: `c${i}` });
    const now = Date.now();
    const utc = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
    const overview = async (query) => (await world.api('GET', `overview?${query}`));
    assert.equal((await overview(`since=${utc(now - 600_000)}`)).json.totals.calls, 3);
    assert.equal((await overview(`since=${utc(now - 7_200_000)}&until=${utc(now - 3_600_000)}`)).json.totals.calls, 0);
    for (const wrong of [`since=${utc(now)}&until=${utc(now - 60_000)}`, 'since=yesterday', `since=${utc(now + 3_600_000)}`, 'until=2026-01-01T00:00:00Z', 'since=2020-01-01T00:00:00Z']) assert.deepEqual([(await overview(wrong)).status, typeof (await overview(wrong)).json.error], [400, 'string'], wrong);
    const page = await openPage(browser, world);
    await visit(page, '');
    await page.click('text=Between…');
    const local = (ms) => page.evaluate((at) => { const d = new Date(at); return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16); }, ms);
    await page.locator('.between input').nth(0).fill(await local(now - 7_200_000));
    await page.locator('.between input').nth(1).fill(await local(now - 3_600_000));
    await page.click('.between >> text=Show');
    await page.waitForSelector('text=No calls in this time');
    assert.match(page.url(), /\?since=\d{4}-.*&until=/);
    await page.reload();
    await page.waitForSelector('text=No calls in this time');
    await page.locator('.between input').nth(1).fill('');
    await page.click('.between >> text=Show');
    await page.waitForSelector('[aria-label="Top tools"] tbody tr:has-text("list_orders")');
    await page.click('[aria-label="Top tools"] tbody tr:has-text("list_orders")');
    await page.waitForFunction(() => location.pathname === '/ui/activity' && document.querySelectorAll('[aria-label=Decisions] tbody tr').length === 3);
    assert.match(page.url(), /since=/);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('the browser ends', async () => { await browser?.close(); });
});
