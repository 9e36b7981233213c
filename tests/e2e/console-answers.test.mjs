// What code shows, in the console: pictures as pictures, pages in frames in which nothing runs and from which nothing is loaded.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { axeSource, consoleWorld, openPage, sanitized, startBrowser, until, visit } from '../lib/index.mjs';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8BQz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC';
const HTML = '<h3 id=sales>Sales</h3><table><tr><td>Paris</td><td>7</td></tr></table><script>parent.document.title = "taken"</script><img src="http://192.0.2.1/x.png" onerror="parent.document.title = 1"><form action="http://192.0.2.1/"><button>go</button></form>';
const SHOWS = `from IPython.display import display, HTML, Image
import base64
print("printed")
display(Image(data=base64.b64decode("${PNG}")))
display(HTML('''${HTML}'''))`;

// The browser says what it refused; that is what is wanted here, and everything else is a fault.
const refused = (line) => /frame is sandboxed|violates the following Content Security Policy/.test(line);

async function isShown(page, within) {
  const picture = page.locator(`${within} img.picture`);
  await picture.waitFor();
  assert.equal(await picture.count(), 1);
  assert.equal(await picture.evaluate(async (image) => { await image.decode(); return image.naturalWidth; }), 10);
  const frame = page.locator(`${within} iframe.preview`);
  assert.equal(await frame.getAttribute('sandbox'), '');
  const inside = await (await frame.elementHandle()).contentFrame();
  await inside.waitForSelector('#sales');
  assert.equal(await inside.textContent('td'), 'Paris');
}

describe('what code shows', { concurrency: 1, skip: sanitized }, () => {
  let browser;
  test('a browser starts', async () => { browser = await startBrowser(); });

  test('pictures and pages in the playground and of a stored run; nothing in them runs or is loaded', async (t) => {
    const world = await consoleWorld(t, { code: true });
    const page = await openPage(browser, world, { width: 1400 });
    await visit(page, 'playground/code');
    await page.waitForSelector('[data-editor] .cm-content');
    await page.click('[data-editor] .cm-content');
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(SHOWS);
    await page.click('text=Run it');
    await page.waitForSelector('[data-ran] :text("printed")');
    await isShown(page, '[data-ran]');
    assert.match(await page.title(), /^Playground/);
    await page.evaluate(readFileSync(axeSource(), 'utf8'));
    assert.deepEqual(await page.evaluate(async () => (await window.axe.run({ include: ['main'] }, { iframes: false, runOnly: ['wcag2a', 'wcag2aa'] })).violations.map((v) => v.id)), []);
    await page.click('[data-preview] >> text=Source');
    await page.waitForSelector('[data-preview] pre:has-text("<h3 id=sales>")');

    const agent = await world.agent();
    const { json } = await agent.exchange('tools/call', { name: 'code__execute_code', arguments: { code: `${SHOWS}\nimport time\ntime.sleep(8)`, background: true } });
    const id = json.result.structuredContent.job_id;
    assert.ok(id, JSON.stringify(json));
    await visit(page, 'sessions');
    await page.click('[aria-label="Code runs"] tbody tr');
    await page.waitForSelector('.drawer');
    const job = async () => (await world.api('GET', `jobs/${id}`)).json;
    await until('the end of the job', async () => (await job()).state !== 'running');
    assert.equal((await job()).state, 'completed', JSON.stringify(await job()));
    await page.waitForSelector('.drawer :text("completed")');
    await isShown(page, '.drawer');
    assert.equal((await world.api('GET', `jobs/${id}`, { as: 'viewer' })).status, 403);
    assert.deepEqual(page.faults.filter((line) => !refused(line)), []);
    assert.ok(page.faults.some((line) => /frame is sandboxed/.test(line)));
    await page.context().close();
  });

  test('a server\'s picture is one only when it says so in a format of pixels', async (t) => {
    const odd = [{ type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zy8+' }, { type: 'image', mimeType: 'text/html', data: PNG }, { type: 'image', mimeType: 'image/png', data: '"><script>1</script>' }, { type: 'resource', resource: { uri: 'ui://x', mimeType: 'text/html', text: HTML } }, { type: 'image', mimeType: 'image/png', data: PNG }];
    const world = await consoleWorld(t, { answer: { content: odd } });
    const page = await openPage(browser, world, { width: 1400 });
    await (await world.agent()).exchange('tools/list');
    await visit(page, 'playground?server=shop&tool=list_orders');
    await page.click('text=Call it');
    await isShown(page, '.panel:has(h2:text("Answer"))');
    assert.equal(await page.locator('main script').count(), 0);
    assert.deepEqual(page.faults.filter((line) => !refused(line)), []);
    await page.context().close();
  });

  test('the policy of a call that is only asked about is explained', async (t) => {
    const world = await consoleWorld(t);
    const page = await openPage(browser, world, { width: 1400 });
    await (await world.agent()).exchange('tools/list');
    await visit(page, 'playground?server=shop&tool=delete_customer');
    await page.click('text=Only ask the policy');
    await page.waitForSelector('[data-answer] .trace li:has-text("no deletion")');
    assert.match(await page.textContent('[data-answer]'), /Denied.*Customers are not deleted by agents\./);
    assert.equal(world.calls.length, 0);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

  test('the browser ends', async () => { await browser.close(); });
});
