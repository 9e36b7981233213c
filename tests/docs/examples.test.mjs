// Examples that a reader copies out of the documentation: YAML and JSON can be read, settings satisfy their schema, policies are valid.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { load, root, run, sallyport, tempDir } from '../lib/index.mjs';

const { default: Ajv } = await load('ajv/dist/2020.js');
const yaml = await load('yaml');

const schema = JSON.parse(readFileSync(path.join(root, 'schemas/sallyport.schema.json'), 'utf8'));
const isSettings = new Ajv({ strict: false, logger: false }).compile(schema);
const pages = ['README.md', ...readdirSync(path.join(root, 'docs'), { recursive: true }).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];

const examples = (kind) => pages.flatMap((page) => {
  const text = readFileSync(path.join(root, page), 'utf8');
  return [...text.matchAll(new RegExp(`^( *)\`\`\`${kind}(?: [^\\n]*)?\\n([\\s\\S]*?)^\\1\`\`\``, 'gm'))].map(({ index, 1: indent, 2: body }) =>
    ({ where: `${page}:${text.slice(0, index).split('\n').length}`, body: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }));
});

const faultOf = (read, body) => { try { read(body); return null; } catch (error) { return error.message; } };
const faults = (kind, read) => examples(kind).map(({ where, body }) => [where, faultOf(read, body)]).filter(([, fault]) => fault);

test('JSON can be read', () => {
  assert.ok(examples('json').length > 10);
  assert.deepEqual(faults('json', JSON.parse), []);
});

test('YAML can be read', () => {
  assert.ok(examples('yaml').length > 50);
  assert.deepEqual(faults('yaml', (body) => yaml.parse(body)), []);
});

test('settings satisfy the schema', () => {
  const settings = examples('yaml').map(({ where, body }) => ({ where, keys: yaml.parse(body) }))
    .filter(({ keys }) => keys && Object.keys(keys).every((key) => key in schema.properties));
  assert.ok(settings.length > 30, `${settings.length} examples were recognised`);
  assert.deepEqual(settings.filter(({ keys }) => !isSettings({ version: '1', ...keys })).map(({ where }) => where), []);
});

test('times in settings are those that the program reads', async () => {
  const file = path.join(tempDir(), 'sallyport.yaml');
  for (const time of ['15m', '1h30m', '1d2h', 'never', '90', '1.5h', '1h30', 'soon']) {
    const keys = { version: '1', idle: time, servers: {} };
    writeFileSync(file, JSON.stringify(keys), { mode: 0o600 });
    const { code } = await run(sallyport, ['export', '--plain', '--config', file]);
    assert.equal(isSettings(keys), code === 0, time);
  }
});

test('policies are valid', async () => {
  const policies = examples('yaml').filter(({ body }) => /^version: "1"$/m.test(body) && /^(tools|default|flows|hide):/m.test(body));
  assert.ok(policies.length > 40, `${policies.length} examples were recognised`);
  const file = path.join(tempDir(), 'policy.yaml');
  const refused = [];
  for (const { where, body } of policies) {
    writeFileSync(file, body);
    const { code, stderr } = await run(sallyport, ['validate', '-c', file]);
    if (code) refused.push([where, stderr]);
  }
  assert.deepEqual(refused, []);
});
