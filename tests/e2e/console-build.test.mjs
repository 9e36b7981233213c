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

  test('the default, shadow mode, rules for every tool, and rows for patterns and classes; the arrow keys move between choices', async (t) => {
    const world = await consoleWorld(t, { policy: '# ours\nversion: "1"\ntools:\n  "list_*": {rules: [{name: few, rate_limit: 5/hour}]}\n' });
    const page = await openPage(browser, world, { as: 'manager', width: 1400 });
    await visit(page, 'policies?server=shop');
    const stands = (tool, column) => page.waitForSelector(`[data-tool="${tool}"] [role=radio][aria-checked=true]:text-is("${column}")`);
    await stands('list_*', 'Rate limit');
    await stands('list_orders', 'Rate limit');
    await page.fill('[aria-label="Pattern or class"]', '@destructive');
    await page.click('text=Add a row');
    await stands('@destructive', 'Deny');
    await stands('delete_customer', 'Deny');
    await page.click('[data-tool=delete_customer] [role=radio]:text-is("Allow")');
    await page.waitForSelector('.toast:has-text("@destructive is stricter")');
    await page.click('[aria-label="Tools without a row of their own"] >> text=Deny');
    await stands('run_query', 'Deny');
    await page.click('.whole .name');
    await page.selectOption('.whole [aria-label="Kind of rule"]', 'rate');
    await page.fill('.whole [aria-label="At most"]', '3');
    await page.click('.whole >> text=Add rule');
    await page.waitForSelector('.whole .rules li:has-text("calls at most 3 per hour")');
    await page.check('.whole .check input');
    await page.waitForSelector('[data-editor] >> text=shadow');
    await page.uncheck('.whole .check input');
    await page.focus('[data-tool=read_file] [aria-checked=true]');
    await page.keyboard.press('ArrowLeft');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Require approval');
    await page.keyboard.press('Space');
    await stands('read_file', 'Require approval');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.evaluate(() => document.activeElement.closest('[data-tool]').dataset.tool), 'run_query');
    await page.click('[aria-label="Remove the row list_*"]');
    await page.waitForSelector('[data-tool="list_*"]', { state: 'detached' });
    await page.click('text="Save…"');
    await page.click('dialog >> text="Save"');
    await page.waitForSelector('text=It is in force for the next call');
    const text = readFileSync(world.paths.policy, 'utf8');
    assert.ok(text.startsWith('# ours\n') && !/shadow|list_\*/.test(text), text);
    const agent = await world.agent();
    await agent.exchange('tools/list');
    assert.match((await callTool(agent, 'delete_customer', { id: 'c' })).result.content[0].text, /DENIED/);
    assert.match((await callTool(agent, 'run_query', { sql: 'SELECT 1' })).result.content[0].text, /DENIED/);
    assert.ok((await callTool(agent, 'read_file', { path: '/x' })).error.data.approval_id);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('a policy as PolicyLayer publishes it: what stands beside the lists is shown and moved', async (t) => {
    const policy = '{"version":"1","default":"deny","all_tools":{"limits":[{"counter":"all","window":"hour","max":9}]},"tools":{"delete_customer":{"action":"deny","reason":"Never"},"read_file":{"rate_limit":{"max":10,"window":60}},"list_orders":{}}}';
    const world = await consoleWorld(t, { policy });
    const page = await openPage(browser, world, { as: 'manager' });
    await visit(page, 'policies?server=shop');
    const stands = (tool, column) => page.waitForSelector(`[data-tool=${tool}] [role=radio][aria-checked=true]:text-is("${column}")`);
    for (const [tool, column] of [['delete_customer', 'Deny'], ['read_file', 'Rate limit'], ['list_orders', 'Allow'], ['run_query', 'Deny']]) await stands(tool, column);
    await page.click('.whole .name:has-text("1 rule")');
    await page.waitForSelector('.whole .rules li:has-text("calls at most 9 per hour")');
    for (const [tool, column] of [['delete_customer', 'Allow'], ['read_file', 'Deny']]) { await page.click(`[data-tool=${tool}] [role=radio]:text-is("${column}")`); await stands(tool, column); }
    await page.fill('[aria-label="Pattern or class"]', 'run_*');
    await page.selectOption('[aria-label=Column]', 'allow');
    await page.click('text=Add a row');
    await stands('run_query', 'Allow');
    await page.click('text="Save…"');
    await page.click('dialog >> text="Save"');
    await page.waitForSelector('text=It is in force for the next call');
    const agent = await world.agent();
    await agent.exchange('tools/list');
    const says = async (tool, args) => (await callTool(agent, tool, args)).result.content[0].text;
    assert.equal(await says('delete_customer', { id: 'c' }), 'delete_customer done');
    assert.equal(await says('run_query', { sql: 'x' }), 'run_query done');
    assert.match(await says('read_file', { path: '/x' }), /DENIED/);
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

  test('a call that waits is announced from any view, once, and the announcement leads to it', async (t) => {
    const world = await consoleWorld(t);
    const agent = await world.agent();
    await agent.exchange('tools/list');
    const page = await openPage(browser, world, { as: 'approver' });
    await page.context().grantPermissions(['notifications'], { origin: world.origin });
    await visit(page, 'activity');
    await page.waitForSelector('.live.live');
    // The browser's own notifications cannot be seen from here.
    await page.evaluate(() => {
      window.told = [];
      window.Notification = class { static permission = 'granted'; constructor(title, { body, tag }) { window.told.push(Object.assign(this, { title, body, tag })); } close() {} };
      Object.defineProperty(document, 'hidden', { get: () => true });
    });
    const { error } = await callTool(agent, 'create_refund', { amount: 5 });
    await page.waitForFunction(() => window.told.length > 0);
    await callTool(agent, 'create_refund', { amount: 6 });
    await page.waitForFunction(() => window.told.length > 1);
    assert.deepEqual(await page.evaluate(() => window.told.map(({ body }) => body)), ['grant:agent: shop create_refund', 'grant:agent: shop create_refund']);
    await page.evaluate(() => window.told[0].onclick());
    await page.waitForSelector(`[data-approval="${error.data.approval_id}"]`);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('the live list has no hole when more calls come at once than a page has; a record opens and closes by keyboard', async (t) => {
    const world = await consoleWorld(t);
    const agent = await world.agent();
    await agent.exchange('tools/list');
    const burst = async (n) => { for (let i = 0; i < n; i += 10) await Promise.all(Array.from({ length: Math.min(10, n - i) }, () => callTool(agent, 'list_orders', { customer: 'c' }))); };
    await burst(3);
    const page = await openPage(browser, world);
    await visit(page, 'activity');
    await page.waitForSelector('.live.live');
    const calls = () => page.locator('tbody tr:has-text("list_orders")').count();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length >= 3);
    assert.equal(await calls(), 3);
    let release;
    const held = new Promise((done) => { release = done; });
    let asked;
    const first = new Promise((done) => { asked = done; });
    await page.route('**/api/v1/audit?*', async (route) => { asked(); await held; await route.continue(); });
    await burst(1);
    await first;
    await burst(130);
    release();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length >= 100);
    while (await page.locator('text=Older records').count()) { await page.click('text=Older records'); await page.waitForFunction(() => !document.querySelector('[aria-busy=true]')); }
    assert.equal(await calls(), 134);
    await page.focus('tbody tr:nth-child(2)');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.drawer :text("Record hash")');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.drawer', { state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TR');
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
