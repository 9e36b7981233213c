// Our JSON Schema validator against ajv (2020-12): random schemas, random values, and the inputSchemas of real
// servers where the shared data is there.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';

import { goModule } from '../lib/go.mjs';
import { sample } from '../lib/paths.mjs';
import { Chance } from './chance.mjs';
import { dataOrSkip, root, simulate } from './run.mjs';

// The same every time, so that a failure belongs to a change; SEED=n looks elsewhere.
const SEED = Number(process.env.SEED ?? 20261116);
const ROUNDS = 1500;

function ajvOrSkip(t) {
  const dir = path.join(root, 'tests/npm/node_modules/ajv/dist/2020.js');
  if (existsSync(dir)) {
    const Ajv = createRequire(import.meta.url)(dir).default;
    return new Ajv({ strict: false, logger: false, validateFormats: false, validateSchema: false, addUsedSchema: false });
  }
  console.error(`SKIPPED: ${dir} is not there; npm ci in tests/npm brings it`);
  t.skip('no ajv');
  return null;
}

class Maker extends Chance {
  some(n, f) { return [f(), ...this.many(n, f)]; }

  value(depth = 0) {
    if (depth < 3 && this.chance(0.45)) {
      if (this.chance(0.5)) return this.many(4, () => this.value(depth + 1));
      const out = {};
      for (const key of ['a', 'b', 'c', 'ab']) if (this.chance(0.5)) out[key] = this.value(depth + 1);
      return out;
    }
    return this.pick([0, 1, 2, -1, 1.5, 10, 3, '', 'a', 'ab', 'abc', 'é😀', true, false, null]);
  }
  schemas(depth) { const out = {}; for (const key of ['a', 'b', 'c']) if (this.chance(0.5)) out[key] = this.schema(depth + 1); return out; }

  schema(depth = 0) {
    if (this.chance(0.06)) return this.chance(0.7);
    const s = {};
    const words = depth < 3 ? [...SCALAR, ...NESTED] : SCALAR;
    for (let i = 0, n = 1 + this.int(3); i < n; i++) { const word = this.pick(words); s[word] = WORDS[word](this, depth); }
    if (s.minContains !== undefined || s.maxContains !== undefined) s.contains ??= this.schema(depth + 1);
    return s;
  }
}

const SCALAR = ['type', 'enum', 'const', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum', 'maxLength', 'minLength', 'pattern', 'maxItems',
  'minItems', 'uniqueItems', 'maxProperties', 'minProperties', 'required', 'dependentRequired', 'type', 'type'];
const NESTED = ['contains', 'minContains', 'maxContains', 'items', 'prefixItems', 'additionalProperties', 'propertyNames', 'not', 'allOf', 'anyOf', 'oneOf', 'if', 'properties', 'properties',
  'patternProperties', 'dependentSchemas', 'unevaluatedProperties', 'unevaluatedItems', '$ref', 'items', 'then', 'else'];
const type = (m) => m.pick(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
const one = (m, d) => m.schema(d + 1);
const list = (m, d) => m.some(2, () => m.schema(d + 1));
const count = (m) => m.int(4);
const key = (m) => m.pick(['a', 'b', 'c', 'ab']);
const unique = (items) => [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
const WORDS = {
  type: (m) => (m.chance(0.7) ? type(m) : unique(m.some(2, () => type(m)))), enum: (m) => unique(m.some(3, () => m.value(2))), const: (m) => m.value(2), multipleOf: (m) => m.pick([1, 2, 0.5, 3]),
  maximum: count, exclusiveMaximum: count, minimum: count, exclusiveMinimum: count, maxLength: count, minLength: count, pattern: (m) => m.pick(['^a', 'b$', '^[a-c]*$', '.', '\\d', '^.$']),
  maxItems: count, minItems: count, uniqueItems: (m) => m.chance(0.8), maxContains: (m) => 1 + m.int(3), minContains: (m) => m.int(2), maxProperties: count, minProperties: count,
  required: (m) => unique(m.some(2, () => key(m))), dependentRequired: (m) => ({ [key(m)]: unique(m.some(2, () => key(m))) }),
  contains: one, items: one, additionalProperties: one, propertyNames: one, not: one, if: one, then: one, else: one, unevaluatedProperties: (m, d) => (m.chance(0.6) ? false : one(m, d)),
  unevaluatedItems: (m, d) => (m.chance(0.6) ? false : one(m, d)), prefixItems: list, allOf: list, anyOf: list, oneOf: list,
  properties: (m, d) => m.schemas(d), patternProperties: (m, d) => ({ [m.pick(['^a', 'b', 'c$'])]: one(m, d) }), dependentSchemas: (m, d) => ({ [key(m)]: one(m, d) }),
  $ref: (m) => m.pick(['#/$defs/x', '#/$defs/y']),
};

const policy = (schema) => ({ version: '1', tools: { t: { rules: [{ name: 'v', conditions: [{ path: 'args.x', op: 'schema', value: schema }] }] } } });

// Where ajv leaves the standard: `contains` beside `prefixItems`, or inside a loop, holds for an empty array (a variable
// keeps the value of the round before), and what branches have evaluated reaches `unevaluated…` too late, too early or not at all (tests/unit/policy/test_schema.c has those).
function ajvDiffers(schema) {
  const text = JSON.stringify(schema);
  const has = (...words) => words.some((word) => text.includes(`"${word}"`));
  if (has('contains') && has('prefixItems')) return true;
  return text.includes('"unevaluated') && (has('contains', 'if', 'oneOf', 'anyOf', 'not', 'dependentSchemas', '$ref') || text.split('"unevaluated').length > 2);
}

/** Ours for each [schema, values]; an undefined answer means the schema was refused. */
function check(pairs) {
  const lines = pairs.map(([schema, values], i) => ({ id: i, policy: policy(schema), steps: values.map((x) => ({ call: { name: 't', arguments: { x } } })) }));
  return simulate(lines).map((answer) => answer.steps?.map((step) => step.allowed));
}

test(`random schemas (seed ${SEED})`, (t) => {
  const ajv = ajvOrSkip(t);
  if (!ajv) return;
  const pairs = Array.from({ length: ROUNDS }, (_, i) => {
    const m = new Maker(SEED + i);
    const schema = m.schema();
    const whole = typeof schema === 'object' ? { ...schema, $defs: { x: m.schema(2), y: { type: type(m) } } } : { allOf: [schema] };
    return [whole, Array.from({ length: 8 }, () => m.value())];
  });
  const answers = check(pairs);
  let good = 0;
  let checked = 0;
  for (const [i, [schema, values]] of pairs.entries()) {
    let validate;
    if (ajvDiffers(schema)) continue;
    try { validate = ajv.compile(schema); } catch { continue; } // a $ref to itself, say
    for (const [j, value] of values.entries()) {
      if (JSON.stringify(schema).includes('"contains"') && JSON.stringify(value).includes('[]')) continue;
      let want;
      try { want = validate(value); } catch { continue; } // ajv itself fell over
      assert.equal(answers[i]?.[j], want, `seed ${SEED + i}\nschema ${JSON.stringify(schema)}\nvalue ${JSON.stringify(value)}`);
      checked++;
      good += want;
    }
  }
  assert.ok(checked > ROUNDS * 4 && good > ROUNDS / 2 && checked - good > ROUNDS / 2, `${checked} checked, ${good} valid`);
});

test('recursive schemas end', () => {
  const [loop, deep, outside] = check([
    [{ $ref: '#' }, [1]],
    [{ type: 'object', properties: { a: { $ref: '#' } }, additionalProperties: false }, [{ a: { a: { a: {} } } }, { a: { b: 1 } }]],
    [{ $ref: 'https://example.com/schema.json' }, [1]],
  ]);
  assert.deepEqual(loop, [false]); // cannot be decided: denied
  assert.deepEqual(deep, [true, false]);
  assert.equal(outside, undefined); // no network: refused at load
});

test('keywords that are not implemented are refused, never ignored', () => {
  const odd = [
    { $recursiveRef: '#' }, { $recursiveAnchor: true }, { $vocabulary: {} }, { properties: { a: { $id: 'https://example.com/a' } } }, { $schema: 'https://example.com/own' },
    { $dynamicRef: 'other.json#x' }, { pattern: '(' }, { exclusiveMaximum: true, maximum: 5 },
  ];
  for (const [i, answer] of check(odd.map((schema) => [schema, [1]])).entries()) assert.equal(answer, undefined, JSON.stringify(odd[i]));
});

test('keywords of earlier drafts', () => {
  const names = { dependencies: { a: ['b'] } };
  const schemas = { dependencies: { a: { required: ['c'] }, d: false } };
  const refs = { properties: { a: { $ref: '#/definitions/n', maximum: 3 } }, definitions: { n: { type: 'number' } } };
  const answers = check([
    [names, [{ a: 1 }, { a: 1, b: 2 }, { c: 1 }]], [schemas, [{ a: 1 }, { a: 1, c: 2 }, { d: 1 }, {}]], [{ items: [{ type: 'string' }], additionalItems: false }, [['a'], [1], ['a', 'b']]],
    [refs, [{ a: 5 }]], [{ $schema: 'http://json-schema.org/draft-07/schema#', ...refs }, [{ a: 5 }, { a: 'x' }]],
  ]);
  assert.deepEqual(answers, [[false, true, true], [false, true, false, true], [true, false, false], [false], [true, false]]);
});

test('numbers are compared exactly', () => {
  const raw = (schema, value) => simulate([`{"id":1,"policy":${JSON.stringify(policy(0)).replace('"value":0', `"value":${schema}`)},"steps":[{"call":{"name":"t","arguments":{"x":${value}}}}]}`])[0].steps[0].allowed;
  assert.equal(raw('{"const":9007199254740993}', '9007199254740993'), true);
  assert.equal(raw('{"const":9007199254740993}', '9007199254740992'), false);
  assert.equal(raw('{"enum":[9007199254740993]}', '9007199254740993.0'), true);
  assert.equal(raw('{"maximum":9007199254740992}', '9007199254740993'), false);
  assert.equal(raw('{"exclusiveMaximum":972783798187987123}', '972783798187987122.9'), true);
  assert.equal(raw('{"multipleOf":0.0001}', '0.0075'), true);
  assert.equal(raw('{"multipleOf":0.01}', '19.99'), true);
  assert.equal(raw('{"type":"integer"}', '12345678901234567890.5'), false);
  assert.equal(raw('{"uniqueItems":true}', '[9007199254740993,9007199254740992]'), true);
});

// The suite of json-schema.org, as a Go module carries it; without Go the cases above are what is left.
const SUITE = 'github.com/google/jsonschema-go@v0.4.3';
for (const [draft, least, mark] of [['draft2020-12', 950, {}], ['draft7', 700, { $schema: 'http://json-schema.org/draft-07/schema#' }]])
  test(`the official suite, ${draft}: every case right, or its schema refused`, async (t) => {
    const module = await goModule(t, SUITE);
    if (!module) return;
    const dir = path.join(module, 'jsonschema/testdata', draft);
    let right = 0;
    for (const file of readdirSync(dir).filter((name) => name.endsWith('.json'))) {
      const groups = JSON.parse(readFileSync(path.join(dir, file), 'utf8'));
      const answers = check(groups.map(({ schema, tests }) => [typeof schema === 'object' ? { ...mark, ...schema } : { allOf: [schema] }, tests.map(({ data }) => data)]));
      for (const [i, { description, tests }] of groups.entries())
        for (const [j, one] of tests.entries()) {
          if (!answers[i]) continue;
          assert.equal(answers[i][j], one.valid, `${file}: ${description}: ${one.description}`);
          right++;
        }
    }
    assert.ok(right >= least, `only ${right} cases`);
  });

test('inputSchemas of real servers', (t) => {
  const ajv = ajvOrSkip(t);
  const dir = ajv && dataOrSkip(t, 'toollists');
  if (!dir) return;
  const tools = readdirSync(dir).flatMap((file) => JSON.parse(readFileSync(path.join(dir, file), 'utf8')).tools ?? []);
  assert.ok(tools.length > 3000);
  const pairs = [];
  const m = new Maker(SEED);
  const guess = (schema, depth = 0) => { // often right, sometimes not
    if (m.chance(0.1) || depth > 4 || typeof schema !== 'object' || schema === null) return m.value(1);
    if (schema.enum) return m.pick(schema.enum);
    if (schema.anyOf) return guess(m.pick(schema.anyOf), depth + 1);
    switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
      case 'string': return m.pick(['', 'abc', 'https://example.com', '2026-01-01']);
      case 'number': case 'integer': return m.int(100);
      case 'boolean': return m.chance(0.5);
      case 'array': return m.many(2, () => guess(schema.items ?? {}, depth + 1));
      case 'object': {
        const out = {};
        for (const [name, sub] of Object.entries(schema.properties ?? {})) if (m.chance(0.5) || schema.required?.includes(name)) out[name] = guess(sub, depth + 1);
        return out;
      }
      default: return m.value(1);
    }
  };
  for (const { inputSchema } of sample(tools))
    if (inputSchema) pairs.push([inputSchema, Array.from({ length: 3 }, () => guess(inputSchema))]);
  const answers = check(pairs);
  let refused = 0;
  for (const [i, [schema, values]] of pairs.entries()) {
    let validate;
    const { $schema, $id, ...plain } = schema;
    try { validate = ajv.compile(plain); } catch { continue; }
    if (!answers[i]) { refused++; continue; }
    for (const [j, value] of values.entries())
      assert.equal(answers[i][j], validate(value), `schema ${JSON.stringify(schema)}\nvalue ${JSON.stringify(value)}`);
  }
  assert.ok(refused < pairs.length / 200, `${refused} of ${pairs.length} real schemas were refused`);
});
