// The console in a real browser: the system's Chromium, driven by playwright-core.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, packageFile } from '../npm/load.mjs';
import { DEADLINE_MS } from './deadline.mjs';
import { cli, startServe } from './gate.mjs';
import { request } from './http.mjs';
import { peerFor } from './peer.mjs';
import { tempDir } from './temp.mjs';
import { legacyServer, startUpstream } from './upstream.mjs';
import { use } from './use.mjs';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
export const axeSource = () => packageFile('axe-core/axe.min.js');

export async function startBrowser(t) {
  assert.ok(CHROMIUM, 'no Chromium: scripts/setup test installs it');
  const { chromium } = await load('playwright-core');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'], timeout: DEADLINE_MS });
  t?.after(() => browser.close());
  return browser;
}

const tool = (name, description, properties = {}, required = []) => ({ name, description, inputSchema: { type: 'object', properties, required } });
export const TOOLS = [
  tool('list_orders', 'List the orders of a customer', { customer: { type: 'string' }, limit: { type: 'integer' } }),
  tool('read_file', 'Read a file', { path: { type: 'string' } }, ['path']),
  tool('create_refund', 'Refund a payment to the customer', { amount: { type: 'number', description: 'in euros' }, currency: { type: 'string', enum: ['EUR', 'USD'] }, reason: { type: 'string' } }, ['amount']),
  tool('delete_customer', 'Delete a customer and all orders for good', { id: { type: 'string' } }, ['id']),
  tool('run_query', 'Run a SQL query on the shop database', { sql: { type: 'string' } }, ['sql']),
];
export const POLICY = `# The policy of the shop.
version: "1"
default: allow   # what is not named passes
tools:
  create_refund:   # money goes out here
    rules:
      - name: refunds
        action: require_approval
  delete_customer:
    rules:
      - name: no deletion
        action: deny
        on_deny: Customers are not deleted by agents.
`;

// A gate with one real server behind it, a grant for each role, and sallyport.yaml with comments.
export async function consoleWorld(t, { tools = TOOLS, policy = POLICY, settings = '', listen, code = false, audit = '{arguments: full}', answer, roles = { boss: 'admin', approver: 'approver', viewer: 'viewer', manager: 'policy-manager', agent: null } } = {}) {
  const dir = tempDir();
  const env = { SALLYPORT_HOME: join(dir, 'home') };
  const tokens = {};
  for (const [name, role] of Object.entries(roles)) {
    const made = await cli(['grants', 'create', name, '--json', ...(role ? ['--role', role] : [])], { env });
    assert.equal(made.code, 0, made.stderr);
    tokens[name] = JSON.parse(made.stdout).token;
  }
  const calls = [];
  const shop = await startUpstream(legacyServer({ tools, methods: { 'tools/call': ({ name, arguments: a }) => { calls.push({ name, arguments: a }); return answer ?? { content: [{ type: 'text', text: `${name} done` }] }; } } }));
  if (t) use(t, shop);
  const paths = { policy: join(dir, 'policy.yaml'), settings: join(dir, 'sallyport.yaml') };
  writeFileSync(paths.policy, policy);
  const yaml = `# Settings of the shop's gate.\nversion: "1"\npolicy: policy.yaml\ncode: {enabled: ${code}}\naudit: ${audit}\n${settings}servers:\n  # where the money is\n  shop: {url: "${shop.url}"}\n`;
  writeFileSync(paths.settings, yaml);
  const open = async (listen = '127.0.0.1:0') => startServe({ listen, args: ['--config', paths.settings], env });
  const world = { dir, env, tokens, calls, shop, paths, gate: await open(listen), open };
  if (t) t.after(() => world.gate.stop());
  world.origin = new URL(world.gate.url).origin;
  world.api = async (method, path, { as = 'boss', body, headers = {} } = {}) => {
    const response = await request(method, `${world.origin}/api/v1/${path}`, { headers: { Authorization: `Bearer ${tokens[as]}`, ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers }, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    let json;
    try { json = JSON.parse(text); } catch { json = undefined; }
    return { status: response.status, headers: response.headers, text, json };
  };
  world.agent = async () => peerFor('http', world.gate, { capabilities: {}, headers: { Authorization: `Bearer ${tokens.agent}` } });
  return world;
}

export const callTool = (peer, name, args = {}) => peer.exchange('tools/call', { name: `shop__${name}`, arguments: args }).then(({ json }) => json);

// A page that is signed in as a grant; what the browser complains about is kept in `page.faults`.
export async function openPage(browser, world, { as = 'boss', colours = 'light', width = 1280, height = 900, elsewhere = [] } = {}) {
  const context = await browser.newContext({ colorScheme: colours, viewport: { width, height }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(DEADLINE_MS);
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (line) => { if (line.type() === 'error' && !/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(line.text())) page.faults.push(line.text()); });
  page.on('dialog', (dialog) => { page.faults.push(`a dialog opened: ${dialog.message()}`); dialog.dismiss(); });
  const left = (r) => `a request left for ${r.url()}`;
  page.on('request', (r) => { if (![world.origin, ...elsewhere].some((origin) => r.url().startsWith(origin)) && !r.url().startsWith('data:')) page.faults.push(left(r)); });
  // Chromium announces some requests that its Content Security Policy then blocks: nothing has left.
  page.on('requestfailed', (r) => { if (r.failure()?.errorText === 'csp' && page.faults.includes(left(r))) page.faults.splice(page.faults.indexOf(left(r)), 1); });
  if (as) await signIn(page, world, as);
  return page;
}

export async function signIn(page, world, as) {
  await page.goto(`${world.origin}/ui/`);
  await page.fill('#token', world.tokens[as]);
  await page.click('button[type=submit]');
  await page.waitForSelector('nav .who', { state: 'attached' });
}

// Goes there as a click would: the page stays.
export async function visit(page, path) {
  await page.evaluate((to) => { history.pushState(null, '', `/ui/${to}`); dispatchEvent(new PopStateEvent('popstate')); }, path);
  await page.waitForSelector('main');
  await page.waitForFunction(() => !/Loading…/.test(document.querySelector('main')?.textContent ?? ''));
}
