// "All gates" in the console: the overview and the activity of a fleet whose logs are in one PostgreSQL.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { callTool, consoleWorld, openPage, startBrowser, until, visit } from '../lib/index.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';

describe('the console of a fleet', { concurrency: 1, skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg, browser;
  before(async () => { pg = await startPostgres(); browser = await startBrowser(); });
  after(async () => { await browser?.close(); await pg?.stop(); });

  const decided = (world, query) => world.api('GET', `audit?fleet=1&kind=decision&${query}`).then(({ json }) => json);
  const shows = (page, selector, count) => page.waitForFunction(([at, n]) => document.querySelectorAll(at).length === n, [selector, count]);

  test('one click shows the calls of every gate, and a record of another gate in detail', async (t) => {
    assert.ok(pg.psql('CREATE DATABASE fleet').ok);
    const gates = {};
    for (const name of ['paris', 'oslo']) gates[name] = await consoleWorld(t, { audit: `{arguments: full, ship: {dsn: "postgres://${pg.user}@/fleet?host=${pg.socket}", gate: ${name}}}` });
    for (const [name, world] of Object.entries(gates)) {
      const agent = await world.agent();
      for (let i = 0; i < 3; i++) await callTool(agent, 'list_orders', { customer: `of ${name}` });
      await callTool(agent, 'delete_customer', { id: name });
    }
    // The logs are shipped in the background: wait for both in the answer of one gate.
    await until('both logs in the database', async () => (await decided(gates.paris, 'tool=list_orders')).length === 6 && (await decided(gates.paris, 'tool=delete_customer')).length === 2);

    const page = await openPage(browser, gates.paris, { width: 1400 });
    await visit(page, 'activity?tool=list_orders');
    const rows = '[aria-label=Decisions] tbody tr';
    await shows(page, rows, 3);
    assert.equal(await page.locator('[aria-label=Decisions] th:text-is("Gate")').count(), 0);
    await page.selectOption('[aria-label=Gates]', { label: 'All gates' });
    await shows(page, rows, 6);
    assert.match(page.url(), /fleet=1/);
    assert.deepEqual([...new Set(await page.$$eval('[aria-label=Decisions] tbody td:first-child', (all) => all.map((e) => e.textContent)))].sort(), ['oslo', 'paris']);
    await page.fill('[aria-label=Gate]', 'os*');
    await shows(page, rows, 3);
    await page.click(`${rows}:has-text("oslo")`);
    await page.waitForSelector('.drawer :text("of oslo")');
    await page.waitForSelector('.drawer dd:text-is("oslo")');
    assert.match(page.url(), /chain=\d+/);
    await page.reload(); // a link to a record of another gate holds
    await page.waitForSelector('.drawer :text("of oslo")');
    await page.selectOption('[aria-label=Gates]', { label: 'This gate' });
    await page.waitForFunction(() => !/fleet=/.test(location.search));
    await shows(page, rows, 3);

    await visit(page, '');
    const calls = () => page.textContent('.stat:has(.label:text-is("Calls")) .value').then(Number);
    await page.waitForFunction(() => Number(document.querySelector('.stat .value')?.textContent) >= 4);
    const own = await calls();
    await page.click('[aria-label=Gates] >> text=All gates');
    await page.waitForFunction((n) => Number(document.querySelector('.stat .value')?.textContent) >= 2 * n, own);
    await page.waitForSelector('[aria-label="Denials by rule"] tbody tr:has-text("no deletion")');
    await page.click('[aria-label="Denials by rule"] tbody tr:has-text("no deletion")');
    await page.waitForSelector('.drawer :text("Customers are not deleted by agents.")');
    assert.match(page.url(), /fleet=1/);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
});
