// The catalogue's pages: the site from the shipped data, its links, the count lines of the servers whose public pages the project started from,
// policies that validate, hostile names, updates, and the pages in a real browser.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { before, describe, test } from 'node:test';
import { cli, consoleWorld, openPage, request, root, sallyport, sanitized, startBrowser, tempDir, visit } from '../lib/index.mjs';

// Title, name, tools, of those that change something, and the bar.
const SEEDS = [
  ['MCP Python Interpreter', 'yzfly/mcp-python-interpreter', 10, 5, [5, 4, 1]],
  ['MCP-Slicer', 'zhaoyouj/mcp-slicer', 3, 1, [2, 1, 0]],
  ['Code Mode MCP Server', 'jx-codes/codemode-mcp', 3, 1, [2, 1, 0]],
  ['DataGen', 'kuoyusheng/datagendev', 20, 9, null],
  ['Code Execution MCP', 'marc-shade/code-execution-mcp', 12, 5, null],
];
const catalogue = join(dirname(sallyport), 'catalogue.bin');
const show = async (...args) => {
  const done = await cli(['catalogue', 'show', ...args]);
  assert.equal(done.code, 0, done.stderr);
  return done.stdout;
};
const page = async (...args) => JSON.parse(await show(...args, '--format', 'json'));
const code = (json, title) => json.blocks.find((b) => b.kind === 'code' && b.title.startsWith(title)).text;

async function valid(text, name) {
  const path = join(tempDir('policy'), name);
  writeFileSync(path, text);
  const done = await cli(['validate', '-c', path]);
  assert.equal(done.code, 0, `${name}: ${done.stdout}${done.stderr}\n${text}`);
}

test('the count lines are those of the texts', async () => {
  for (const [title, name, tools, changing, bar] of SEEDS) {
    const json = await page(title);
    assert.equal(json.name, name);
    assert.equal(json.summary, `${tools} tools. ${changing} can modify or destroy data without limits.`);
    assert.equal(json.tools.length, tools);
    const numbers = json.blocks.find((b) => b.kind === 'bar').numbers;
    assert.equal(numbers[0], tools - changing);
    if (bar) assert.deepEqual(numbers, bar);
    assert.deepEqual((await page(name)).tools, json.tools, 'by its repository, too');
  }
  const text = await show('MCP Python Interpreter');
  assert.match(text, /10 tools\. 5 can modify or destroy data without limits\.\n.*1 destructive tool with no built-in limits\. Policy required\./);
  assert.match(text, /Read \(5\) {2}Write \/ Execute \(4\) {2}Destructive \/ Financial \(1\)/);
  assert.match(text, /Critical Risk/);
  assert.ok(text.split('\n').length < 40, 'short by default');
  assert.ok((await show('MCP Python Interpreter', '--all')).split('\n').length > 150);
  const async = await page('DataGen', 'asyncExecuteCode');
  assert.equal(async.definition.properties, 12);
  assert.equal(async.definition.freeform, 'script');
  assert.ok(async.blocks.some((b) => b.text === 'High parameter count (12 properties).'));
  assert.ok(async.blocks.some((b) => b.text === 'Accepts freeform code/query input (`script`).'));
});

test('words of a search may be of the server, of the tool or of its class; just that name comes first', async () => {
  const search = async (...words) => (await cli(['catalogue', 'search', ...words])).stdout;
  const tools = (text) => text.slice(text.search(/^\d+ tools?$/m)).split('\n').slice(1).filter((line) => /^ {2}[A-Z]/.test(line)).map((line) => line.trim().split(/ +/));
  const both = tools(await search('github', 'delete'));
  assert.ok(both.length >= 2 && both.every(([, tool, server]) => /delete/i.test(tool) && /github/i.test(tool + server)), JSON.stringify(both));
  assert.deepEqual(tools(await search('github delete')), both, 'quoted or not');
  assert.ok(tools(await search('destructive', 'github')).every(([cls]) => cls === 'Destructive'));
  const exact = tools(await search('delete_file')).map(([, tool]) => tool === 'delete_file');
  assert.ok(exact.includes(true) && exact.includes(false) && exact.lastIndexOf(true) < exact.indexOf(false), 'the name itself first');
  assert.equal((await cli(['catalogue', 'search', 'github', 'no-such-word'])).code, 1);
  assert.equal((await cli(['catalogue', 'search', ' '])).code, 2);
});

test('a tool without a namesake has relatives of its class, one of each server', async () => {
  for (const [server, tool, cls] of [['DataGen', 'asyncExecuteCode', 'Execute'], ['MCP Python Interpreter', 'clear_session', 'Destructive'], ['DataGen', 'submitCustomToolRun', 'Write']]) {
    const { blocks } = await page(server, tool);
    const at = blocks.findIndex((b) => b.kind === 'heading' && b.text === 'Related tools');
    const { rows } = blocks.slice(at).find((b) => b.kind === 'links');
    assert.equal(rows.length, 8, tool);
    assert.ok(rows.every(([, note]) => note.text.endsWith(`, ${cls}`)), tool);
    assert.equal(new Set(rows.map(([link]) => link.link.split('#')[0])).size, 8, 'each of another server');
  }
});

test('policies of pages and of attack patterns validate', async () => {
  for (const args of [['MCP Python Interpreter'], ['@modelcontextprotocol/server-filesystem'], ['MCP-Slicer', 'execute_python_code']]) {
    const json = await page(...args);
    await valid(code(json, 'policy.yaml'), 'policy.yaml');
    await valid(code(json, 'policy.json'), 'policy.json');
  }
  const table = readFileSync(join(root, 'src/pages/attack_table.c'), 'utf8');
  const ids = [...table.matchAll(/^ {4}\{"([a-z-]+)"/gm)].map((m) => m[1]);
  assert.ok(ids.length >= 40);
  for (const id of ids) {
    const json = await page(`attack:${id}`);
    const policy = json.blocks.find((b) => b.kind === 'code' && b.title === 'policy.yaml');
    if (policy) await valid(policy.text, 'policy.yaml');
  }
});

describe('the site', () => {
  const dir = join(tempDir('site'), 'catalogue');
  let count;
  before(async () => {
    const started = Date.now();
    const done = await cli(['catalogue', 'site', dir, '--json'], { timeout: 300_000 });
    assert.equal(done.code, 0, done.stderr);
    count = JSON.parse(done.stdout);
    console.log(`the site: ${count.servers} servers, ${count.tools} tools in ${Date.now() - started} ms`);
  });

  const pages = (folder) => readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? pages(path) : name.endsWith('.html') ? [path] : [];
  });

  test('has a page for every server, tool and pattern, and every link leads to one', () => {
    const all = pages(dir);
    assert.equal(all.length, count.servers + count.tools + count.attacks + 2);
    assert.ok(count.servers >= 142 && count.tools > 3000 && count.attacks >= 40);
    const there = new Set(all);
    let links = 0;
    for (const path of all) {
      const html = readFileSync(path, 'utf8');
      assert.doesNotMatch(html, /(?:src|href)="(?:https?:)?\/\//, path);
      for (const [, target] of html.matchAll(/(?:href|src)="([^"#]+)"/g)) {
        links += 1;
        const to = resolve(dirname(path), target);
        assert.ok(there.has(to) || existsSync(to), `${path} links to ${target}`);
      }
      const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map((m) => m[1]));
      for (const [, anchor] of html.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.has(anchor), `${path} has no #${anchor}`);
    }
    console.log(`${all.length} pages, ${links} links`);
  });

  test('opens in a browser from the disk without network requests; search and copy work', { skip: sanitized && 'once is enough' }, async (t) => {
    const browser = await startBrowser(t);
    const context = await browser.newContext({ permissions: [] });
    const tab = await context.newPage();
    const outside = [], faults = [];
    tab.on('request', (request) => { if (!request.url().startsWith('file:')) outside.push(request.url()); });
    tab.on('pageerror', (error) => faults.push(error.message));
    const ten = ['servers/github/yzfly/mcp-python-interpreter/index.html', 'servers/github/yzfly/mcp-python-interpreter/~tools/clear_session.html',
      'servers/github/zhaoyouj/mcp-slicer/index.html', 'servers/github/jx-codes/codemode-mcp/~tools/execute_code.html', 'servers/github/kuoyusheng/datagendev/index.html',
      'servers/github/marc-shade/code-execution-mcp/index.html', 'servers/npm/@modelcontextprotocol/server-filesystem/index.html', 'attacks/index.html',
      'attacks/rug-pull.html', 'attacks/code-mode.html'];
    for (const path of ten) {
      await tab.goto(pathToFileURL(join(dir, path)).href);
      assert.ok((await tab.textContent('h1')).trim().length > 2, path);
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} scrolls sideways`);
    }
    await tab.goto(pathToFileURL(join(dir, ten[0])).href);
    assert.match(await tab.textContent('main'), /10 tools\. 5 can modify or destroy data without limits\./);
    assert.ok(await tab.locator('button[data-copy]').count() >= 6);
    const light = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await tab.emulateMedia({ colorScheme: 'dark' });
    assert.notEqual(await tab.evaluate(() => getComputedStyle(document.body).backgroundColor), light);
    await tab.goto(pathToFileURL(join(dir, 'index.html')).href);
    await tab.fill('#search', 'clear_session');
    await tab.locator('#found a', { hasText: 'clear_session' }).first().click();
    assert.equal((await tab.textContent('h1')).trim(), 'clear_session');
    for (const name of ['delete_file', 'fetch', 'DataGen']) { // common words: a page of just that name comes before the others
      await tab.goto(pathToFileURL(join(dir, 'index.html')).href);
      await tab.fill('#search', name);
      assert.equal(await tab.locator('#found a').first().textContent(), name);
    }
    await tab.fill('#search', 'e');
    assert.match(await tab.textContent('#told'), /^\d+ pages, the first 200 are shown$/);
    assert.equal(await tab.locator('#found li').count(), 200);
    await tab.goto(`${pathToFileURL(join(dir, 'index.html')).href}#q=${encodeURIComponent('python interpreter')}`);
    await tab.locator('#found a', { hasText: 'MCP Python Interpreter' }).first().waitFor();
    assert.deepEqual(outside, []);
    assert.deepEqual(faults, []);
  });
});

test('a scan makes the same page, and quotes the definition; hostile names stay text', async () => {
  const dir = tempDir('scan-page');
  const list = join(dir, 'tools.json');
  writeFileSync(list, JSON.stringify({ package: '<img src=x onerror=alert(1)>', tools: [
    { name: 'wipe_all`"><script>alert(1)</script>', description: 'Delete everything </p><script>alert(2)</script> [x](javascript:alert(3)) | `y`', inputSchema: { type: 'object', properties: {} } },
    { name: '../../etc', description: 'Read a file.', inputSchema: { type: 'object', properties: { path: { type: 'string' } } } }] }));
  const html = await cli(['scan', '--tools-json', list, '--format', 'html']);
  assert.equal(html.code, 0, html.stderr);
  assert.match(html.stdout, /2 tools\. 1 can modify or destroy data without limits\./);
  assert.match(html.stdout, /From the tool&#39;s definition: “Delete everything &lt;\/p&gt;/);
  assert.doesNotMatch(html.stdout, /<img|<script>alert|<script>[^a]*alert\(2/);
  assert.equal([...html.stdout.matchAll(/<script/g)].length, 1);
  const md = await cli(['scan', '--tools-json', list, '--format', 'md']);
  assert.match(md.stdout, /^# \\<img/);
  assert.doesNotMatch(md.stdout, /\[x\]\(javascript/);
});

test('a catalogue with hostile names makes a site that stays in its folder', async () => {
  const dir = tempDir('hostile');
  const facts = join(dir, 'facts.jsonl');
  const tool = (name) => ({ tool: name, category: 'Write', confidence: 0.5 });
  writeFileSync(facts, [
    { registry: 'github', name: '../../../x', title: '<b>"\'&', had: 'documented', seen: '2026-11-17', tools: [tool('../../up'), tool('a/b'), tool('.'), tool('<script>')] },
    { registry: 'remote', name: 'mcp.example.com//..', had: 'documented', seen: '2026-11-17', remote: { url: 'https://mcp.example.com/mcp', auth: 'oauth' }, tools: [tool('pay')] },
  ].map((row) => JSON.stringify(row)).join('\n') + '\n');
  const plain = join(dir, 'plain.bin'), bin = join(dir, 'made.bin');
  execFileSync(join(root, 'scripts/build-catalogue'), [plain, facts]);
  assert.equal((await cli(['catalogue', 'stats', '--catalogue', plain])).code, 3, 'not signed');
  assert.equal((await cli(['catalogue', 'sign', '--key', join(dir, 'key'), '-o', bin, plain])).code, 0);
  mkdirSync(join(dir, 'below/below'), { recursive: true });
  const site = join(dir, 'below/below/site');
  assert.equal((await cli(['catalogue', 'site', '--catalogue', bin, site])).code, 0);
  assert.deepEqual(readdirSync(join(dir, 'below/below')), ['site']);
  assert.deepEqual(readdirSync(dir).sort(), ['below', 'facts.jsonl', 'key', 'key.pub', 'made.bin', 'plain.bin']);
  assert.doesNotMatch(readFileSync(join(site, 'index.html'), 'utf8'), /<b>/);
  const shown = await page('mcp.example.com//..', '--catalogue', bin);
  assert.match(code(shown, 'shell'), /sallyport -c policy\.yaml --upstream https:\/\/mcp\.example\.com\/mcp/);
});

test('versions: what changed between them', async () => {
  const dir = tempDir('versions');
  const facts = join(dir, 'facts.jsonl'), plain = join(dir, 'plain.bin'), bin = join(dir, 'made.bin');
  const tool = (name, print, category = 'Read') => ({ tool: name, category, confidence: 0.9, fingerprint: print.padStart(16, '0'), shape: print.padStart(16, '0') });
  const row = (version, released, tools) => JSON.stringify({ registry: 'npm', name: 'thing', version, released, seen: '2026-11-17', had: 'listed', tools });
  writeFileSync(facts, [row('1.10.0', '2026-02-01', [tool('look', '1'), tool('change', '2b'), tool('fresh', '4')]),
    row('1.9.0', '2026-01-01', [tool('look', '1'), tool('change', '2a'), tool('gone', '3', 'Destructive')])].join('\n') + '\n');
  execFileSync(join(root, 'scripts/build-catalogue'), [plain, facts]);
  await cli(['catalogue', 'sign', '--key', join(dir, 'key'), '-o', bin, plain]);
  const json = await page('thing', '--catalogue', bin);
  assert.equal(json.version, '1.10.0');
  const changes = json.blocks.find((b) => b.kind === 'table' && b.rows[0][0].text === 'Since').rows.slice(1).map((r) => r.map((c) => c.text).join(' '));
  assert.deepEqual(changes, ['1.10.0 other parameters change', '1.10.0 added fresh', '1.10.0 removed gone']);
});

test('an update is installed when its signature holds', async () => {
  const home = tempDir('update'), env = { SALLYPORT_HOME: home };
  const forged = join(home, 'forged.bin');
  copyFileSync(catalogue, forged);
  const bytes = readFileSync(forged);
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(forged, bytes);
  const refused = await cli(['catalogue', 'update', forged], { env });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /damaged or forged/);
  const done = await cli(['catalogue', 'update', catalogue, '--json'], { env });
  assert.equal(done.code, 0, done.stderr);
  assert.equal(JSON.parse(done.stdout).path, join(home, 'catalogue.bin'));
  assert.equal(JSON.parse((await cli(['catalogue', 'stats', '--json'], { env })).stdout).path, join(home, 'catalogue.bin'));
  writeFileSync(join(home, 'catalogue.bin'), bytes);
  const again = await cli(['catalogue', 'stats', '--json'], { env });
  assert.match(again.stderr, /is not used/);
  assert.equal(JSON.parse(again.stdout).path, catalogue);
});

test('a gate that runs takes an update up, and keeps what it has when a file does not verify', async (t) => {
  const world = await consoleWorld(t);
  const ask = async (name) => (await world.api('GET', `catalogue/page?name=${name}`)).status;
  assert.deepEqual([await ask('DataGen'), await ask('fresh-server')], [200, 404]);
  const facts = join(world.dir, 'facts.jsonl'), bin = join(world.dir, 'fresh.bin'), installed = join(world.env.SALLYPORT_HOME, 'catalogue.bin');
  writeFileSync(facts, `${JSON.stringify({ registry: 'npm', name: 'fresh-server', version: '1.0.0', seen: '2026-11-17', had: 'documented', tools: [{ tool: 'look', category: 'Read', confidence: 0.9 }] })}\n`);
  execFileSync(join(root, 'scripts/build-catalogue'), [bin, facts]);
  await cli(['catalogue', 'sign', '--key', join(world.dir, 'key'), bin]);
  const key = /another key, ([0-9a-f]{64})/.exec((await cli(['catalogue', 'update', bin], { env: world.env })).stderr)[1];
  const done = await cli(['catalogue', 'update', '--key', key, bin], { env: world.env });
  assert.equal(done.code, 0, done.stderr);
  assert.deepEqual([await ask('DataGen'), await ask('fresh-server')], [404, 200]);
  const page = await cli(['catalogue', 'show', 'fresh-server'], { env: world.env });
  assert.match(page.stdout, /not seen; their token cost is unknown/);
  await world.gate.child.waitLine(/the catalogue is `.*catalogue.bin` now: 1 servers, 1 tools/, { stream: 'stderr' });
  const bytes = readFileSync(installed);
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(`${installed}.forged`, bytes);
  renameSync(`${installed}.forged`, installed);
  assert.equal(await ask('fresh-server'), 200);
  await world.gate.child.waitLine(/is not used: its signature .*; the catalogue stays as it was/, { stream: 'stderr' });
});

test('a name is judged in its registry, and an override is recorded', async () => {
  const dir = tempDir('names'), env = { SALLYPORT_HOME: join(dir, 'home') };
  const runner = (name) => { const path = join(dir, name); writeFileSync(path, '#!/bin/sh\nexit 3\n', { mode: 0o755 }); return path; };
  const uvx = runner('uvx'), npx = runner('npx');
  assert.equal((await cli(['scan', '--', uvx, 'mcp-server-git'], { env })).code, 4, 'started, and no server');
  const refused = await cli(['scan', '--', npx, '-y', '@modelcontextprotocl/server-github@1.0.0'], { env });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /close to the known package `@modelcontextprotocol\/server-github` \(score \d+: one edit apart \(\+50\)/);
  assert.equal((await cli(['catalogue', 'trust', '--reason', 'our fork', '@modelcontextprotocl/server-github'], { env })).code, 0);
  assert.equal((await cli(['scan', '--', npx, '-y', '@modelcontextprotocl/server-github@1.0.0'], { env })).code, 4);
  const record = JSON.parse((await cli(['catalogue', 'trust', '--json'], { env })).stdout);
  assert.equal(record.length, 1);
  assert.deepEqual([record[0].registry, record[0].name, record[0].reason, record[0].trusted], ['npm', '@modelcontextprotocl/server-github', 'our fork', true]);
  assert.match(record[0].by, /^cli:/);
  await cli(['catalogue', 'trust', '--undo', '@modelcontextprotocl/server-github'], { env });
  const events = (await cli(['audit', 'query', '--text', '@modelcontextprotocl/server-github', '--json'], { env })).stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(events.map(({ event, identity, text }) => [event, identity, text]).reverse(), [
    ['name_trusted', record[0].by, 'npm @modelcontextprotocl/server-github: our fork'], ['name_untrusted', record[0].by, 'npm @modelcontextprotocl/server-github']]);
});

test('the API and the console show the same pages to every role, and none without a role', async (t) => {
  const world = await consoleWorld(t);
  const ask = (path, as) => world.api('GET', `catalogue/page?${path}`, { as });
  for (const as of ['boss', 'approver', 'viewer', 'manager']) assert.equal((await ask('name=DataGen', as)).status, 200, as);
  assert.equal((await ask('name=DataGen', 'agent')).status, 403);
  assert.equal((await request('GET', `${world.origin}/api/v1/catalogue/page?name=DataGen`)).status, 401);
  assert.equal((await ask('name=no-such-thing', 'viewer')).status, 404);
  assert.equal((await ask('name=DataGen&tool=no-such-tool', 'viewer')).status, 404);
  assert.deepEqual((await ask('name=DataGen&tool=executeCode', 'viewer')).json, await page('DataGen', 'executeCode'));
  const list = async (path) => { const { status, json, headers } = await world.api('GET', `catalogue?${path}`, { as: 'viewer' }); assert.equal(status, 200); return { json, total: Number(headers['sallyport-total']), cursor: headers['sallyport-cursor'] ?? null }; };
  const { servers } = JSON.parse((await cli(['catalogue', 'stats', '--json'])).stdout);
  const all = [];
  for (let cursor = ''; cursor !== null;) {
    const next = await list(`limit=700${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    assert.equal(next.total, servers, 'every page says how many there are');
    all.push(...next.json);
    cursor = next.cursor;
  }
  assert.equal(new Set(all.map(({ registry, name }) => `${registry}/${name}`)).size, servers, 'each one once');
  assert.ok(all.findIndex(({ name }) => name === '@modelcontextprotocol/server-filesystem') < 100, 'the best known first');
  const money = await list('registry=pypi&class=financial');
  assert.ok(money.total > 0 && money.json.every(({ registry, classes }) => registry === 'pypi' && classes.Financial > 0));
  for (const wrong of ['registry=nowhere', 'class=Rude']) assert.equal((await world.api('GET', `catalogue?${wrong}`)).status, 400);
  const times = [];
  for (let i = 0; i < 20; i += 1) {
    const started = process.hrtime.bigint();
    await (await fetch(`${world.origin}/api/v1/catalogue/page?name=DataGen`, { headers: { Authorization: `Bearer ${world.tokens.viewer}` } })).text();
    times.push(Number(process.hrtime.bigint() - started) / 1e6);
  }
  console.log(`catalogue/page: ${times.sort((a, b) => a - b)[10].toFixed(2)} ms in the middle of twenty, through the API, on one connection`);
  if (sanitized) return;
  const tab = await openPage(await startBrowser(t), world, { as: 'manager' });
  await visit(tab, 'catalogue');
  await tab.getByRole('button', { name: 'More servers' }).click();
  await tab.getByText(`200 of ${servers.toLocaleString('en')} shown`).waitFor();
  await tab.getByLabel('Class').selectOption('Financial');
  await tab.getByLabel('Registry').selectOption('pypi');
  await tab.getByText(`${money.total} servers, the best known first`).waitFor();
  await tab.getByText(money.json[0].name, { exact: true }).click();
  await tab.getByRole('link', { name: '← Catalogue' }).waitFor();
  await tab.goBack();
  await tab.getByText(`${money.total} servers, the best known first`).waitFor();
  await visit(tab, 'catalogue');
  await tab.fill('input[type=search]', 'clear_session');
  await tab.getByText('MCP Python Interpreter').first().click();
  await tab.getByText('10 tools. 5 can modify or destroy data without limits.').first().waitFor();
  await tab.getByRole('link', { name: 'clear_session' }).click();
  await tab.getByText('Why clear_session needs a policy').waitFor();
  await tab.getByRole('button', { name: 'Enforce' }).first().click();
  await tab.waitForURL(/policies\?draft=1/);
  await tab.getByText('clear_session').first().waitFor();
  assert.deepEqual(tab.faults, []);
});

// Not judged: how long it takes from a cold start.
test('the time of a lookup is printed', async () => {
  const times = [];
  for (let i = 0; i < 9; i += 1) {
    const started = process.hrtime.bigint();
    await show('MCP Python Interpreter');
    times.push(Number(process.hrtime.bigint() - started) / 1e6);
  }
  console.log(`catalogue show: ${times.sort((a, b) => a - b)[4].toFixed(1)} ms in the middle of nine, with the start of the process`);
});
