// What is shipped for Prometheus and Grafana fits what the gate says of itself.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { probeCommand, root, run, startGate, use } from '../lib/index.mjs';

const rules = join(root, 'packaging/prometheus');
const dashboard = JSON.parse(readFileSync(join(root, 'packaging/grafana/sallyport.json'), 'utf8'));

test('every metric of the alert rules and the dashboard is one that the gate has', async (t) => {
  const gate = use(t, await startGate({ command: probeCommand() }));
  const page = await (await fetch(`${gate.origin}/metrics`)).text();
  const known = new Set([...page.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name, type]) => (type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name])));
  // Those of the sandbox and of approvals are there once the first was made.
  const later = ['sallyport_code_runs_total', 'sallyport_approvals_pending', 'sallyport_pii_found_total', 'sallyport_pii_sent_total'];
  const used = [...(readFileSync(join(rules, 'sallyport.rules.yml'), 'utf8') + JSON.stringify(dashboard)).matchAll(/sallyport_[a-z_]+/g)].map(([name]) => name);
  assert.ok(used.length > 30);
  assert.deepEqual([...new Set(used)].filter((name) => !known.has(name) && !later.includes(name)), []);
});

test('the dashboard has a query in each panel, and each belongs to its data source', () => {
  for (const { title, targets } of dashboard.panels) for (const { expr, datasource } of targets) assert.ok(expr && datasource.uid === '${datasource}', title);
  assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
});

test('promtool accepts the alert rules, and they fire when they should', async (t) => {
  const found = await run('sh', ['-c', 'command -v promtool']);
  if (found.code !== 0) {
    console.error('SKIPPED: there is no promtool; apt-get install prometheus brings it');
    return t.skip('no promtool');
  }
  for (const args of [['check', 'rules', 'sallyport.rules.yml'], ['test', 'rules', 'sallyport.rules.test.yml']]) {
    const { code, stdout, stderr } = await run('promtool', args, { cwd: rules });
    assert.equal(code, 0, stdout + stderr);
  }
});
