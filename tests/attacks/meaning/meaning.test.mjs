// What servers take arguments for. Random schemas, policies and arguments go through the gate to real servers, each of which says what
// it received: zod, zod with coercion, pydantic, encoding/json. No call may be executed whose received arguments the policy, asked about
// exactly those, would not have allowed. Some servers know arguments under further names that their schemas do not list, and some
// arguments have a default.
//
// MEANING_CASES=n sets how many calls in all, SEED=n where they start. A failure prints policy, arguments and what arrived.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Chance } from '../../policy/chance.mjs';
import { simulate } from '../../policy/run.mjs';
import { node, peerFor, root, sanitized, startGate, tempDir, tempFile, use } from '../../lib/index.mjs';

const SEED = Number(process.env.SEED ?? 20261117);
const CASES = Number(process.env.MEANING_CASES ?? (sanitized ? 800 : 5000));
const TOOLS = 12, CALLS = 250, AT_ONCE = 16;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const python = join(root, 'tests/python/venv/bin/python');

// Names with letters that something beyond ASCII folds to.
const NAMES = ['amount', 'sql', 'task', 'kind', 'flag', 'path'];
const KINDS = ['integer', 'number', 'string', 'boolean', 'integers', 'strings', 'map', 'nested', 'either'];

class Maker extends Chance {
  tools() {
    return Array.from({ length: TOOLS }, (_, i) => ({ name: `t${i}`, params: Object.fromEntries(NAMES.filter(() => this.chance(0.5)).map((name) => [name, this.pick(KINDS)])) }))
      .map((tool) => (Object.keys(tool.params).length ? tool : { ...tool, params: { amount: 'integer' } }))
      .map((tool) => ({ ...tool, defaults: Object.fromEntries(Object.entries(tool.params).filter(() => this.chance(0.3)).map(([name, kind]) => [name, this.honest(kind)])) }))
      .map((tool) => ({ ...tool, aliases: Object.fromEntries(Object.keys(tool.params).filter(() => this.chance(0.5)).map((name) => [name, this.alias(name)])) }));
  }

  // How a server finds an argument whose own name is missing: under another name, as a member of an object there, or as the first element of a list.
  alias(name) { return [this.pick([`the_${name}`, `${name}s`, `x-${name}`, name.slice(0, 2)]), this.pick(['name', 'member', 'element'])]; }
  under([, how], value) { return { name: value, member: { value, other: 1 }, element: [value] }[how]; }

  condition(path, kind) {
    const number = (at) => ({ path: at, op: this.pick(['lt', 'lte', 'gt', 'gte', 'eq', 'neq']), value: this.pick([0, 1, 5, 100]) });
    const words = (at) => this.pick([
      () => ({ path: at, op: this.pick(['eq', 'neq', 'contains', 'starts_with']), value: this.pick(['admin', 'drop', '5']) }),
      () => ({ path: at, op: this.pick(['in', 'not_in']), value: ['admin', 'user', '5'] }),
      () => ({ path: at, op: 'regex', value: this.pick(['^a', '^[a-z]+$', 'drop']) }),
    ])();
    return {
      integer: () => number(path), number: () => number(path), string: () => words(path),
      boolean: () => ({ path, op: this.pick(['eq', 'neq']), value: this.chance(0.5) }),
      integers: () => number(`${path}[*]`), strings: () => words(`${path}[*]`),
      map: () => number(`${path}.cost`), nested: () => (this.chance(0.6) ? number(`${path}.amount`) : words(`${path}.label`)), either: () => words(path),
    }[kind]();
  }

  policy(tools) {
    const entry = ({ params }) => {
      const [name, kind] = this.pick(Object.entries(params));
      const conditions = [this.condition(`args.${name}`, kind)];
      return this.pick([() => ({ rules: [{ name: 'r', conditions }] }), () => ({ deny_if: [{ name: 'd', conditions }] }), () => ({ approve_if: [{ name: 'a', conditions }] })])();
    };
    return { version: '1', default: 'deny', tools: Object.fromEntries(tools.map((tool) => [tool.name, entry(tool)])) };
  }

  number() { return this.pick([0, 1, 5, 6, 5000, -1, 5.0, 0.5, 1e3, '5000', '5', ' 5000 ', '5e3', '0x1388', '5_000', 'inf', '-inf', 'nan', true, false, null, [5000], '٥٠٠٠', 9007199254740993]); }
  words() { return this.pick(['admin', 'user', 'drop table', 'Admin', 'ａdmin', '5', '', 5, true, null, ['admin'], { a: 'admin' }, 'adm\u0131n', 'drop\u0000']); }
  flag() { return this.pick([true, false, 'true', 'yes', 'on', 'no', 'False', '', '0', 1, 0, 2, null, [], 't']); }
  list(item) { return this.pick([() => this.many(3, item), () => JSON.stringify(this.many(3, item)), () => item(), () => ({ 0: item() }), () => [[item()]]])(); }
  cost() { return { [this.key('cost')]: this.number(), ...(this.chance(0.3) && { cost: 1 }) }; }
  nest() {
    if (this.chance(0.3)) return { ...this.pick([() => ({ amt: this.number() }), () => ({ deep: { amount: this.number() } }), () => ({ amount: 1 })])(), ...(this.chance(0.5) && { text: this.words() }) };
    return { [this.key('amount')]: this.number(), ...(this.chance(0.4) && { [this.key('label')]: this.words() }), ...(this.chance(0.3) && { amount: 1 }) };
  }

  honest(kind) {
    const number = () => this.pick([0, 1, 5, 6, 99, 5000, -1]), words = () => this.pick(['admin', 'user', 'drop table', 'a', 'zebra', '5']);
    return {
      integer: number, number: () => number() + this.pick([0, 0.5]), string: words, boolean: () => this.chance(0.5),
      integers: () => this.many(3, number), strings: () => this.many(3, words), map: () => ({ cost: number() }), nested: () => ({ amount: number(), label: words() }),
      either: () => (this.chance(0.5) ? words() : this.many(3, words)),
    }[kind]();
  }

  value(kind) {
    if (this.chance(0.65)) return this.honest(kind);
    const object = (make) => this.pick([make, () => JSON.stringify(make()), () => [make()], () => null])();
    return {
      integer: () => this.number(), number: () => this.number(), string: () => this.words(), boolean: () => this.flag(),
      integers: () => this.list(() => this.number()), strings: () => this.list(() => this.words()),
      map: () => object(() => this.cost()), nested: () => object(() => this.nest()),
      either: () => (this.chance(0.3) ? this.words() : this.list(() => this.words())),
    }[kind]();
  }

  // A valid value of the schema, or an attacker's spelling that only the server reads as one.
  key(name) {
    if (this.chance(0.9)) return name;
    return this.pick([name.toUpperCase(), name[0].toUpperCase() + name.slice(1), name.replace('s', '\u017f'), name.replace('k', '\u212a'), name.replace('a', '\uff41'), ` ${name}`, `${name}\u200b`]);
  }

  args({ params, aliases }) {
    const out = {};
    for (const [name, kind] of Object.entries(params)) {
      if (this.chance(0.1)) continue;
      if (aliases[name] && this.chance(0.3)) {
        out[aliases[name][0]] = this.under(aliases[name], this.value(kind));
        if (this.chance(0.8)) continue;
      }
      out[this.key(name)] = this.value(kind);
      if (this.chance(0.15)) out[this.key(name)] = this.value(kind);
    }
    return out;
  }
}

// Python writes Infinity and NaN, which JSON lacks: Infinity is larger than any value in a rule, and NaN compares with none.
const read = (text) => JSON.parse(text.replace(/-?\bInfinity\b/g, (word) => (word[0] === '-' ? '-1e308' : '1e308')).replace(/\bNaN\b/g, '"nan"'));
const executed = ({ result }) => result && !result.isError && result.content?.[0]?.text !== undefined;

async function round(t, maker, command, tally) {
  const tools = maker.tools(), policy = maker.policy(tools);
  const gate = use(t, await startGate({ transport: 'stdio', policy, command: [...command, tempFile('tools.json', JSON.stringify(tools)), ...tally.more] }));
  const peer = await peerFor('stdio', gate, { capabilities: {} });
  const calls = Array.from({ length: CALLS }, () => { const tool = maker.pick(tools); return { name: tool.name, arguments: maker.args(tool) }; });
  const answers = [];
  for (let at = 0; at < calls.length; at += AT_ONCE) {
    answers.push(...await Promise.all(calls.slice(at, at + AT_ONCE).map((call) => peer.exchange('tools/call', call).then(({ json }) => json))));
  }
  const done = calls.map((call, i) => ({ call, answer: answers[i] })).filter(({ answer }) => executed(answer))
    .map(({ call, answer }) => ({ call, received: read(answer.result.content[0].text) }));
  tally.calls += calls.length;
  tally.executed += done.length;
  if (done.length === 0) return;
  const verdicts = simulate(done.map(({ call, received }) => ({ policy, steps: [{ call: { name: call.name, arguments: received } }] })));
  verdicts.forEach((verdict, i) => {
    const { call, received } = done[i];
    assert.equal(verdict.steps?.[0]?.verdict, 'allow', `seed ${SEED}: executed, although the policy would not have allowed what arrived\n` +
      `rule ${JSON.stringify(policy.tools[call.name])}\nsent ${JSON.stringify(call.arguments)}\nreceived ${JSON.stringify(received)}\n${JSON.stringify(verdict)}`);
  });
}

const goServer = () => {
  const out = join(tempDir(), 'typed');
  execFileSync('go', ['build', '-o', out, '.'], { cwd: here('go'), stdio: 'pipe', timeout: 300_000 });
  return out;
};

const SERVERS = [
  ['zod', () => [node, here('typed.mjs')]],
  ['zod that coerces', () => [node, here('typed.mjs')], ['coerce']],
  ['pydantic', () => [python, here('typed.py')], [], () => existsSync(python) || 'tests/python/venv is missing (scripts/setup test makes it)'],
  ['keys that fold', () => [node, here('folding.mjs')]],
  ['encoding/json of Go', () => [goServer()], [], () => {
    try { return execFileSync('go', ['version'], { stdio: 'pipe' }).length > 0; } catch { return 'no Go toolchain on this machine'; }
  }],
];

for (const [number, [name, command, more = [], there = () => true]] of SERVERS.entries()) {
  test(`${name}: the policy allows every executed call with the arguments that the server received`, { timeout: 600_000 }, async (t) => {
    const why = there();
    if (why !== true) {
      t.skip(`SKIPPED LOUDLY: ${why}`);
      return;
    }
    const maker = new Maker(SEED + number * 7919), line = command(), tally = { calls: 0, executed: 0, more };
    for (let i = 0; i < Math.max(1, Math.round(CASES / SERVERS.length / CALLS)); i++) await round(t, maker, line, tally);
    assert.ok(tally.executed > tally.calls / 50, `only ${tally.executed} of ${tally.calls} calls were executed: the harness proves nothing`);
    t.diagnostic(`${tally.calls} calls, ${tally.executed} executed`);
  });
}
