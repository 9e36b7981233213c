// allow, limit, approve-first, deny, hide: the policy of a server is edited in place, the difference is shown, a running gate takes it over.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { callTool, cli, consoleWorld, POLICY, tempDir, until } from '../lib/index.mjs';

const DENIED = /POLICY DENIED/;
const text = ({ result, error }) => error?.message ?? result.content[0].text;

test('each command moves the tool, keeps comments, prints the difference, takes effect in the running gate, and is recorded', async (t) => {
  const world = await consoleWorld(t);
  const agent = await world.agent();
  const run = (...args) => cli([...args, '--config', world.paths.settings], { env: world.env });
  const policy = () => readFileSync(world.paths.policy, 'utf8');
  const answers = (want) => until(want, async () => want.test(text(await callTool(agent, 'list_orders', { customer: 'c' }))));
  await answers(/done/);
  for (const [args, want, line] of [[['deny', 'shop', 'list_orders'], DENIED, /^\+ +action: deny$/m], [['approve-first', 'shop', 'list_orders'], /approval/, /^\+ +action: require_approval$/m],
    [['hide', 'shop', 'list_orders'], /not found|DENIED|unknown/i, /^\+.*list_orders/m], [['allow', 'shop', 'list_orders'], /done/, /^-.*list_orders/m]]) {
    const { code, stdout, stderr } = await run(...args);
    assert.equal(code, 0, stderr);
    assert.match(stdout, line, args.join(' '));
    await answers(want);
    for (const comment of ['# The policy of the shop.', '# what is not named passes', '# money goes out here']) assert.ok(policy().includes(comment), comment);
  }
  const limited = await run('limit', 'shop', 'list_orders', '--rate', '1/day', '--json');
  assert.deepEqual([JSON.parse(limited.stdout).saved, /rate_limit: 1\/day/.test(policy())], [true, true]);
  await answers(DENIED);
  const before = policy();
  const dry = await run('deny', 'shop', 'read_file', '--dry-run');
  assert.ok(dry.stdout.includes('+') && policy() === before, 'nothing is written');
  const same = await run('limit', 'shop', 'list_orders', '--rate', '1/day');
  assert.match(same.stdout, /nothing to change/);
  const { json: saves } = await world.api('GET', 'audit?kind=event&event=policy_saved');
  assert.equal(saves.length, 5);
  assert.ok(saves.every(({ identity, server }) => identity.startsWith('cli:') && server === 'shop'));
  const [{ id }] = (await world.api('GET', 'policies')).json;
  const { json: versions } = await world.api('GET', `policies/${id}/history`);
  const first = versions.find(({ by }) => by === 'before the command line');
  assert.equal((await world.api('GET', `policies/${id}/history/${first.version}`)).json.text, POLICY);
});

test('an edit that is not possible changes nothing and says why', async () => {
  const dir = tempDir();
  const path = join(dir, 'policy.yaml');
  const env = { SALLYPORT_HOME: join(dir, 'home') };
  for (const [content, args, says] of [
    ['version: "1"\ntoolz: {}\n', ['deny', 's', 't', '-c', path], /unknown key/], [POLICY, ['limit', 's', 't', '--rate', 'often', '-c', path], /10\/minute/],
    [POLICY, ['deny', 's', 't', '--config', join(dir, 'none.yaml')], /settings name the server's policy/], [POLICY, ['deny', 's', '', '-c', path], /name/],
  ]) {
    writeFileSync(path, content);
    const { code, stderr } = await cli(args, { env });
    assert.deepEqual([code, says.test(stderr)], [3, true], `${args}: ${stderr}`);
    assert.equal(readFileSync(path, 'utf8'), content);
  }
  const { code } = await cli(['deny', 'only-one'], { env });
  assert.equal(code, 2);
});

test('a pattern that is stricter, and a stop of a name that nobody has, are reported', async (t) => {
  const world = await consoleWorld(t, { policy: 'version: "1"\ntools:\n  "delete_*": {rules: [{name: no, action: deny}]}\n' });
  const run = (...args) => cli(args, { env: world.env });
  const allowed = await run('allow', 'shop', 'delete_customer', '--config', world.paths.settings);
  assert.deepEqual([allowed.code, /`delete_\*` in the policy is stricter/.test(allowed.stderr)], [0, true], allowed.stderr);
  assert.equal(JSON.parse((await run('allow', 'shop', 'delete_customer', '--json', '--config', world.paths.settings)).stdout).stricter, 'delete_*');
  assert.equal((await run('allow', 'shop', 'read_file', '--config', world.paths.settings)).stderr, '');
  const unknown = await run('stop-grant', 'agnet');
  assert.deepEqual([unknown.code, /no grant `agnet`/.test(unknown.stderr)], [0, true], unknown.stderr);
  assert.equal((await run('stop-grant', 'agent')).stderr, '');
  assert.match((await run('stop', 'shpo')).stderr, /no gate that runs here has a server `shpo`/);
  assert.equal((await run('stop', 'shop')).stderr, '');
});
