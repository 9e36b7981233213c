// The dashboard in a real browser: a person logs in with a grant, sees servers, approves a call and watches the log grow; what
// agents and servers write stays text. Debian's chromium (scripts/setup test), driven by playwright-core.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DEADLINE_MS, cli, legacyServer, load, peerFor, policyFile, startServe, startUpstream, tempDir } from '../lib/index.mjs';

const chromium = process.env.SALLYPORT_CHROMIUM ?? '/usr/bin/chromium';
const missing = existsSync(chromium) ? false : `${chromium} IS NOT THERE: the dashboard is not looked at (scripts/setup test installs it)`;
if (missing) console.error(missing);

const EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
const tool = (name, description) => ({ name, description, inputSchema: { type: 'object' } });

describe('the dashboard in a browser', { concurrency: 1, skip: missing }, () => {
  let gate, bank, browser, page, agent, approver;
  const noise = [];

  before(async () => {
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const grant = async (...args) => (await cli(['grants', 'create', ...args], { env })).stdout.trim();
    bank = await startUpstream(legacyServer({ tools: [tool('pay', EVIL), tool(EVIL, 'a name that is none')],
      methods: { 'tools/call': ({ arguments: { amount } }) => ({ content: [{ type: 'text', text: `paid ${amount}` }] }) } }));
    const policy = policyFile({ version: '1', default: 'allow', tools: { pay: { approve_if: [{ conditions: [], on_pending: `Ask finance ${EVIL}` }] } } });
    gate = await startServe({ config: { version: '1', policy, servers: { bank: { url: bank.url } }, code: { enabled: false } }, args: [], env });
    const token = await grant('agent');
    approver = await grant('approver', '--role', 'approver');
    agent = await peerFor('http', gate, { capabilities: {}, headers: { Authorization: `Bearer ${token}` } });
    const { chromium: launcher } = await load('playwright-core');
    browser = await launcher.launch({ executablePath: chromium, args: ['--no-sandbox'], timeout: 120_000 });
    page = await browser.newPage();
    page.setDefaultTimeout(Math.max(60_000, DEADLINE_MS));
    page.on('pageerror', (error) => noise.push(`${error}`));
    page.on('dialog', (dialog) => { noise.push(dialog.message()); dialog.dismiss(); });
  });
  after(async () => { await browser?.close(); await gate?.stop(); await bank?.close(); });

  const pay = async () => (await agent.exchange('tools/call', { name: 'bank__pay', arguments: { amount: 5, note: EVIL } })).json;

  test('nothing is shown before a token is, and nothing for a wrong one', async () => {
    await page.goto(`${gate.origin}/ui/`);
    await page.fill('#token', 'sp_wrong');
    await page.press('#token', 'Enter');
    await page.waitForFunction(() => document.getElementById('status').textContent.length > 0);
    assert.equal(await page.locator('#servers tr').count() + await page.locator('#decisions tr').count(), 0);
  });

  test('with a grant: the servers, the call that waits, and its approval', async () => {
    await page.fill('#token', approver);
    await page.press('#token', 'Enter');
    await page.locator('#servers tr', { hasText: 'bank' }).waitFor();
    assert.match(await page.textContent('#status'), /grant:approver/);

    const { error } = await pay();
    assert.equal(error.code, -32003);
    const waiting = page.locator('#approvals tr', { hasText: 'grant:agent' });
    await waiting.waitFor();
    assert.match(await waiting.textContent(), /<img src=x onerror=.*window\.hacked=1/, 'what the agent wrote is there, as text');
    await waiting.getByRole('button', { name: 'Approve' }).click();
    await waiting.waitFor({ state: 'detached' });
    assert.equal((await pay()).result.content[0].text, 'paid 5');
    await page.locator('#decisions tr.approve', { hasText: 'bank pay' }).nth(1).waitFor(); // asked for, and then made
  });

  test('names and arguments that want to be a page stay text, and the page runs nothing but its own script', async () => {
    await agent.exchange('tools/list');
    await agent.exchange('tools/call', { name: `bank__${EVIL}`, arguments: { amount: 1 } });
    await page.locator('#decisions tr', { hasText: '<script>' }).first().waitFor();
    assert.equal(await page.locator('table img, table script').count(), 0);
    const ran = await page.evaluate((html) => {
      document.body.insertAdjacentHTML('beforeend', html);
      const script = document.createElement('script');
      script.textContent = 'window.hacked = 1';
      document.body.append(script);
      return window.hacked;
    }, EVIL);
    assert.equal(ran, undefined, 'even what got into the page would not run');
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.deepEqual(noise, []);
  });
});
