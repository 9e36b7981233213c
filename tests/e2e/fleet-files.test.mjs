// What ships for running a fleet: the compose file, the Helm chart and the simulation.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../npm/load.mjs';
import { root } from '../lib/paths.mjs';
import { tempFile } from '../lib/temp.mjs';

const YAML = await load('yaml');
const read = (path) => readFileSync(join(root, path), 'utf8');
const known = Object.keys(JSON.parse(read('schemas/sallyport.schema.json')).properties);
const chart = 'packaging/helm/sallyport';
// scripts/setup helm builds it where Go and its module proxy are.
const own = join(root, 'tests/bin/helm');
const helm = process.env.HELM ?? (existsSync(own) ? own : 'helm');
const haveHelm = spawnSync(helm, ['version']).status === 0;
if (!haveHelm) console.error('SKIPPED: the chart is not linted or rendered: there is no helm (scripts/setup helm builds it, in minutes)');

test('the compose file: gates that share their stores, closed containers, settings that exist', () => {
  const { services, configs } = YAML.parse(read('packaging/compose.yaml'));
  assert.deepEqual(Object.keys(services), ['keys', 'gate', 'redis', 'postgres', 'proxy']);
  assert.ok(services.gate.read_only && services.gate.cap_drop.includes('ALL') && services.gate.user !== '0:0');
  const settings = YAML.parse(configs.gate.content.replaceAll('$$', '$'));
  for (const key of Object.keys(settings)) assert.ok(known.includes(key), key);
  assert.match(settings.state.dsn, /^redis:/);
  assert.match(settings.state.database, /^postgres:/);
});

test('the compose file: what services name is there, and haproxy takes its configuration', () => {
  const { services, configs, volumes } = YAML.parse(read('packaging/compose.yaml'));
  const keys = ['image', 'user', 'entrypoint', 'command', 'volumes', 'read_only', 'tmpfs', 'cap_drop', 'security_opt', 'environment', 'configs', 'depends_on', 'healthcheck', 'stop_grace_period', 'restart', 'ports'];
  const named = (list, known, what) => { for (const name of list) assert.ok(Object.hasOwn(known, name), `${what} ${name}`); };
  for (const [name, service] of Object.entries(services)) {
    for (const key of Object.keys(service)) assert.ok(keys.includes(key), `${name}: ${key} is no key of a service that is used here`);
    named((service.configs ?? []).map(({ source }) => source), configs, `${name}: config`);
    named((service.volumes ?? []).map((volume) => volume.split(':')[0]).filter((volume) => !volume.startsWith('/')), volumes, `${name}: volume`);
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      named([other], services, `${name}: depends on`);
      assert.ok(condition === 'service_completed_successfully' || (condition === 'service_healthy' && services[other].healthcheck), `${name}: ${other} has a health check`);
    }
    if (service.healthcheck) assert.deepEqual(Object.keys(service.healthcheck).filter((key) => !['test', 'interval', 'timeout', 'retries'].includes(key)), []);
  }
  const [, inter, fall] = /check inter (\d+)s fall (\d+)/.exec(configs.proxy.content);
  const [, notReady] = /not_ready: (\d+)s/.exec(configs.gate.content);
  assert.ok(inter * fall < notReady, 'haproxy takes a gate out while it still answers');
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', tempFile('haproxy.cfg', configs.proxy.content.replaceAll('$$', '$'))], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

test('the chart: values for everything that templates read, and no template that is cut off', () => {
  const values = YAML.parse(read(`${chart}/values.yaml`));
  assert.equal(YAML.parse(read(`${chart}/Chart.yaml`)).apiVersion, 'v2');
  for (const name of readdirSync(join(root, chart, 'templates'))) {
    const text = read(`${chart}/templates/${name}`);
    for (const [, path] of text.matchAll(/\.Values\.([\w.]+)/g)) assert.notEqual(path.split('.').reduce((at, key) => at?.[key], values), undefined, `${name}: ${path}`);
    const opened = text.match(/\{\{-? *(if|with|range|define)\b/g)?.length ?? 0, closed = text.match(/\{\{-? *end\b/g)?.length ?? 0;
    assert.equal(opened, closed, name);
  }
});

test('the page about Kubernetes explains every value of the chart, and no other', () => {
  const page = read('docs/operate/kubernetes.md');
  const table = page.slice(page.indexOf('## Values'), page.indexOf('## Probes'));
  const told = [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, names]) => [...names.matchAll(/`([\w.]+)`/g)].map(([, name]) => name));
  const whole = ['settings', 'oidc', 'resources']; // their members are not the chart's
  const paths = (value, at) => (value && typeof value === 'object' && !Array.isArray(value) && !whole.includes(at) ? Object.entries(value).flatMap(([key, inner]) => paths(inner, at ? `${at}.${key}` : key)) : [at]);
  assert.deepEqual(told.sort(), paths(YAML.parse(read(`${chart}/values.yaml`)), '').sort());
});

test('helm lint, and what it renders', { skip: haveHelm ? false : 'SKIPPED LOUDLY: no helm here' }, () => {
  const lint = spawnSync(helm, ['lint', '--strict', join(root, chart)], { encoding: 'utf8' });
  assert.equal(lint.status, 0, lint.stdout + lint.stderr);
  for (const set of ['tls.secret=certs', 'fleet.secret=peers', 'fleet.secret=peers,autoscaling.enabled=true', 'autoscaling.enabled=true', 'networkPolicy.enabled=false']) {
    const { status, stdout, stderr } = spawnSync(helm, ['template', 'gates', join(root, chart), '--set', set], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const documents = YAML.parseAllDocuments(stdout).map((document) => document.toJS()).filter(Boolean);
    const { spec } = documents.find(({ kind }) => kind === 'StatefulSet').spec.template;
    assert.ok(spec.securityContext.runAsNonRoot && spec.containers[0].securityContext.readOnlyRootFilesystem);
    const settings = YAML.parse(documents.find(({ kind }) => kind === 'ConfigMap').data['sallyport.yaml']);
    for (const key of Object.keys(settings)) assert.ok(known.includes(key), key);
    assert.equal(documents.some(({ kind }) => kind === 'HorizontalPodAutoscaler'), set.includes('autoscaling'));
    const { spec: service } = documents.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'gates');
    assert.equal(service.sessionAffinity, set.startsWith('fleet') ? 'None' : 'ClientIP');
    assert.equal(settings.fleet?.nodes.length, set.startsWith('fleet') ? (set.includes('autoscaling') ? 12 : 3) : undefined);
    if (!settings.fleet) continue;
    assert.equal(settings.fleet.address.replace('${POD_NAME}', 'gates-0'), settings.fleet.nodes[0]);
    assert.ok(spec.volumes.some(({ name, secret }) => name === 'fleet' && secret.secretName === 'peers'));
    const policy = documents.find(({ kind }) => kind === 'NetworkPolicy').spec;
    assert.ok(policy.ingress.some(({ ports }) => ports[0].port === 'fleet') && policy.egress.some(({ ports }) => ports[0].port === 9443));
  }
});

test('the simulation names what is full first, and leases lower the messages per call', () => {
  const run = (...args) => JSON.parse(spawnSync(join(root, 'scripts/fleet-simulation'), ['--gates', '20', '--agents', '2000', '--calls-a-day', '20000', '--seconds', '5', '--json', ...args], { encoding: 'utf8' }).stdout);
  const plain = run(), leased = run('--lease', '50');
  assert.ok(Object.keys(plain.load).includes(plain.first_bottleneck));
  assert.ok(Math.abs(plain.redis.messages_per_call - 0.5) < 0.05);
  assert.ok(leased.redis.messages_per_call < plain.redis.messages_per_call);
  assert.ok(Math.abs(plain.calls_a_second_at_peak - 2000 * 20000 / 86400 * 4) < 100);
});
