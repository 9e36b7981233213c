// validate, explain and simulate as people and scripts meet them; and the policies that published pages print.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

import { run, simulate } from './run.mjs';

const dir = mkdtempSync(path.join(os.tmpdir(), 'policy-'));
after(() => rmSync(dir, { recursive: true }));
const file = (name, text) => {
  const where = path.join(dir, name);
  writeFileSync(where, text);
  return where;
};

const GOOD = `version: "1"
tools:
  pay:
    rules:
      - name: cap
        conditions: [{path: args.amount, op: lte, value: 500}]
        on_deny: Too much
      - name: rate
        rate_limit: 5/hour
`;

test('validate names the line and a suggestion', () => {
  const bad = file('bad.yaml', 'version: "1"\nhiden: [a]\ntools: {}\n');
  const { status, stdout, stderr } = run('validate', '-c', bad);
  assert.equal(status, 1);
  assert.equal(stdout, 'Error: unknown key "hiden"\n');
  assert.equal(stderr, `${bad}:2:1: Error: unknown key "hiden"; did you mean "hide"?\n`, 'place, message and advice together');
  const json = JSON.parse(run('validate', '-c', bad, '--json').stdout);
  assert.deepEqual(json.problems, [{ severity: 'error', text: 'unknown key "hiden"', line: 2, column: 1, pointer: '/hiden', hint: 'did you mean "hide"?' }]);
  assert.equal(json.valid, false);
  const facts = file('facts.yaml', 'version: "1"\ntools: {t: {rules: [{name: a, conditions: [{path: server.nmae, op: eq, value: x}, {path: arg.b, op: eq, value: x}]}]}}\n');
  assert.match(run('validate', '-c', facts).stderr, /did you mean "server\.name"\?\n.*did you mean "args"\?\n$/);
  const words = file('words.yaml', `version: "1"
default: denny
tools:
  t:
    rules:
      - {name: a, rate_limit: 5/hours}
      - name: b
        conditions: [{path: state.t.cuont, op: lte, value: 5}]
        state: {counter: count, window: dya}
      - {name: c, rate_limit: {max: 5, window: 60, kind: bucket}}
      - {name: d, conditions: [{path: args.u, op: host, value: "https://example.com"}]}
`);
  const { stdout: texts, stderr: hints } = run('validate', '-c', words);
  assert.deepEqual(hints.trimEnd().split('\n').map((line) => line.replace(/^.*?; /, '').slice(0, 40)), ['did you mean "deny"?', 'did you mean "hour"?', 'did you mean "day"?',
    'did you mean "state.t.count"?', `${words}:10:52: Error`.slice(0, 40), 'example.com, *.example.com, 192.0.2.1, 2']);
  assert.match(texts, /rules\[2\]\.rate_limit: unknown key "kind"\n.*operator "host" cannot match "https:\/\/example\.com"\n$/);
});

test('operators and units of other languages get a suggestion', () => {
  const rules = [['equals', 'eq'], ['!=', 'neq'], ['greater_than', 'gt'], ['matches', 'regex'], ['startsWith', 'starts_with'], ['one_of', 'in'], ['starts_wiht', 'starts_with']];
  for (const [op, meant] of rules) {
    const policy = { version: '1', tools: { t: { rules: [{ name: 'a', conditions: [{ path: 'args.x', op, value: 'x' }] }] } } };
    const [problem] = JSON.parse(run('validate', '--json', '-c', file('op.json', JSON.stringify(policy))).stdout).problems;
    assert.equal(problem.hint, `did you mean "${meant}"?`, op);
  }
  for (const [unit, meant] of [['hr', 'hour'], ['min', 'minute'], ['daily', 'day'], ['hurs', 'hour']]) {
    const policy = { version: '1', tools: { t: { rules: [{ name: 'a', rate_limit: `5/${unit}` }] } } };
    const [problem] = JSON.parse(run('validate', '--json', '-c', file('unit.json', JSON.stringify(policy))).stdout).problems;
    assert.equal(problem.hint, `did you mean "${meant}"?`, unit);
  }
});

test('explain and replay name file and line of a broken policy', () => {
  const bad = file('broken.yaml', 'version: "1"\nhiden: [a]\ntools: {}\n');
  for (const args of [['explain', '--tool', 't'], ['replay']]) {
    const { status, stderr } = run(...args, '-c', bad);
    assert.equal(status, 3);
    assert.equal(stderr, `sallyport: error: ${bad}:2:1: unknown key "hiden"; did you mean "hide"?\n`);
  }
});

test('validate --lint warns and stays valid', () => {
  const odd = file('odd.yaml', 'version: "1"\ntools: {t: {rules: [{name: a, action: deny}, {name: b, action: deny}]}}\n');
  const { status, stdout } = run('validate', '-c', odd, '--lint');
  assert.equal(status, 0);
  assert.equal(stdout, 'Policy file is valid.\nWarning: rule "b" can never fire: "a" before it denies every call\n');
  const unknown = file('unknown.yaml', 'version: "1"\ntools: {t: {rules: [{name: a, conditions: [{path: grant.nmae, op: eq, value: x}]}]}}\n');
  assert.equal(run('validate', '-c', unknown, '--lint').stdout, 'Policy file is valid.\nWarning: rule "a": no gate says what grant.nmae is\n');
});

test('validate --lint compares conditions with the tools', () => {
  const policy = file('typed.json', JSON.stringify({ version: '1', default: 'deny', tools: { pay: { deny_if: [
    { conditions: [{ path: 'args.amount', op: 'gt', value: 5 }], on_missing: 'deny' }, { conditions: [{ path: 'args.too', op: 'eq', value: 'x' }], on_missing: 'deny' }] } } }));
  const tools = file('tools.json', JSON.stringify({ tools: [{ name: 'pay', inputSchema: { type: 'object', properties: { amount: { type: 'string' }, to: {} } } }] }));
  const texts = (...args) => JSON.parse(run('validate', '-c', policy, '--lint', '--json', ...args).stdout).problems.map(({ text }) => text);
  assert.deepEqual(texts(), []);
  assert.deepEqual(texts('--tools-json', tools), [
    'rule "deny_if[0]": args.amount of "pay" is of type string, which gt cannot judge: a call that has it is denied', 'rule "deny_if[1]": args.too of "pay" is not in its schema']);
  const lock = path.join(dir, 'sallyport.lock');
  const accepted = run('pin', 'accept', '--lock', lock, '--tools-json', tools);
  assert.deepEqual([accepted.status, accepted.stdout], [0, `accepted in ${lock}: tools, 1 tool\n`]);
  assert.equal(run('pin', 'accept', 'pay', '--lock', lock, '--tools-json', tools).stdout, `accepted in ${lock}: pay of tools\n`);
  assert.match(texts('--lock', lock)[0], /args.amount of "pay" of server "tools" is of type string/);
  assert.equal(run('validate', '-c', policy, '--lint', '--tools-json', path.join(dir, 'absent.json')).status, 3);
});

test('the linter reports covered rules, arguments that no rule checks and conditions that exclude each other', () => {
  const is = (path, op, value, more = {}) => ({ path: `args.${path}`, op, value, ...more });
  const rules = (...list) => ({ version: '1', tools: { t: { rules: list.map((conditions, i) => ({ name: `r${i}`, conditions })) } } });
  const blocks = (t) => ({ version: '1', default: 'deny', tools: { t } });
  const covered = (later, earlier) => [`rule "${later}" is shadowed: "${earlier}" before it catches all that it would`];
  const silent = (name, path) => [`rule "${name}" does not fire when args.${path} is missing`];
  const never = (name) => [`rule "${name}": no value of args.x satisfies all conditions`];
  const rows = [
    [rules([is('x', 'lte', 10)], [is('x', 'lte', 100)]), covered('r1', 'r0')],
    [rules([is('x', 'eq', 'a'), is('y', 'gt', 1)], [is('x', 'in', ['a', 'b'])]), covered('r1', 'r0')],
    [rules([is('x', 'gte', 2)], [is('x', 'exists', true)]), covered('r1', 'r0')],
    [rules([is('x', 'lte', 100)], [is('x', 'lte', 10)]), []],
    [rules([is('x', 'lte', 10, { on_missing: 'pass' })], [is('x', 'lte', 100)]), []],
    [blocks({ approve_if: [{ conditions: [] }, { conditions: [is('x', 'exists', true)] }] }), covered('approve_if[1]', 'approve_if[0]')],
    [blocks({ deny_if: [{ conditions: [is('x', 'gt', 5)], on_missing: 'deny' }, { conditions: [is('x', 'gt', 9), is('y', 'eq', 1)], on_missing: 'deny' }] }), covered('deny_if[1]', 'deny_if[0]')],
    [blocks({ deny_if: [{ conditions: [{ any: [is('x', 'gt', 5), is('y', 'gt', 5)] }] }] }), silent('deny_if[0]', 'x')],
    [rules([{ not: is('x', 'eq', 'main') }]), silent('r0', 'x')],
    [rules([{ not: is('x', 'eq', 'main', { on_missing: 'pass' }) }]), []],
    [blocks({ deny_if: [{ conditions: [is('x', 'gt', 5)], on_missing: 'pass' }] }), []],
    [rules([{ not: is('x', 'eq', 'main') }, is('x', 'exists', true)]), []],
    [blocks({ require: [{ conditions: [is('x', 'lte', 9, { on_missing: 'pass' })] }], deny_if: [{ conditions: [is('x', 'gt', 5)] }] }), silent('deny_if[0]', 'x')],
    [rules([is('x', 'eq', 'a'), is('x', 'eq', 'b')]), never('r0')],
    [rules([is('x', 'eq', 'a'), is('x', 'in', ['b'])]), never('r0')],
    [rules([is('x', 'exists', false), is('x', 'gt', 1)]), never('r0')],
    [rules([is('x', 'eq', 5), is('x', 'neq', 5)]), never('r0')],
    [rules([is('x', 'in', ['a', 'b']), is('x', 'not_in', ['a', 'b', 'c'])]), never('r0')],
    [rules([is('x', 'in', ['a', 'b']), is('x', 'not_in', ['a'])]), []],
    [rules([is('x', 'eq', 'abc'), is('x', 'starts_with', 'b')]), never('r0')],
    [rules([is('x', 'in', ['ab', 'cb']), is('x', 'ends_with', 'b')]), []],
    [{ version: '1', tools: { 't*': { rules: [{ name: 'no', action: 'deny' }] }, t1: { rules: [{ name: 'r', conditions: [is('x', 'gt', 1)] }] } } }, ['"t1" is shadowed: rule "no" of "t*" denies every call']],
    [{ version: '1', tools: { '*': { rules: [{ name: 'no', action: 'deny' }] } }, methods: { ping: { rules: [{ name: 'r', conditions: [{ path: 'params.x', op: 'exists', value: false }] }] } } }, []],
    [{ version: '1', tools: { 'u*': { rules: [{ name: 'no', action: 'deny' }] }, t1: { rules: [{ name: 'r', conditions: [is('x', 'gt', 1)] }] } } }, []],
    [rules([{ path: 'time.now', op: 'within', value: { from: '09:00', to: '09:00' } }]), ['rule "r0": its time window is empty']],
    [rules([is('url', 'contains', 'example.com')]), ['rule "r0": contains is a weak check of a URL']],
  ];
  for (const [policy, want] of rows) {
    const { problems } = JSON.parse(run('validate', '--lint', '--json', '-c', file('row.json', JSON.stringify(policy))).stdout);
    assert.deepEqual(problems.map((one) => one.text), want, JSON.stringify(policy));
  }
});

test('a missing file is reported', () => {
  const { status, stdout } = run('validate', '-c', path.join(dir, 'none.yaml'));
  assert.equal(status, 1);
  assert.match(stdout, /^Error: reading config file: /);
});

test('explain names rule, operand and value', () => {
  const good = file('good.yaml', GOOD);
  const denied = run('explain', '-c', good, '--tool', 'pay', '--args', '{"amount": 700}');
  assert.equal(denied.status, 1);
  assert.match(denied.stdout, /deny by cap/);
  assert.match(denied.stdout, /args\.amount lte 500: no, it is 700/);
  const allowed = run('explain', '-c', good, '--tool', 'pay', '--args', '{"amount": 7}', '--json');
  assert.equal(allowed.status, 0);
  const json = JSON.parse(allowed.stdout);
  assert.equal(json.verdict, 'allow');
  assert.deepEqual(json.trace.find((line) => line.kind === 'condition'),
    { kind: 'condition', depth: 2, path: 'args.amount', op: 'lte', want: '500', got: '7', answer: 'yes' });
  assert.equal(run('explain', '-c', good, '--tool', 'pay', '--args', '[]').status, 2);
  assert.equal(run('explain', '-c', file('worse.yaml', 'version: 3'), '--tool', 'pay').status, 3);
});

test('explain takes the class of a tool from its name, unless the class is given', () => {
  const policy = file('classes.json', '{"version":"1","default":"allow","match":"glob","tools":{"@destructive":{"deny_if":[{"conditions":[],"on_deny":"no"}]}}}');
  const status = (...args) => run('explain', '-c', policy, '--tool', ...args).status;
  assert.deepEqual([status('delete_box'), status('list_boxes')], [1, 0]);
  assert.deepEqual([status('delete_box', '--class', 'read'), status('list_boxes', '--class', 'Destructive'), status('x', '--class', 'evil')], [0, 1, 2]);
});

test('simulate reads files and survives bad lines', () => {
  const lines = file('lines.jsonl', `not json\n\n{"id":2,"policy_text":"version: 9","steps":[]}\n{"id":3,"policy":{"version":"1","tools":{}},"steps":[{"at":"yesterday","call":{"name":"x"}}]}\n{"id":4,"policy":{"version":"1","tools":{}},"steps":[{"call":{"name":"x"}}]}\n[1]\n`);
  const { status, stdout } = run('simulate', lines);
  assert.equal(status, 0);
  const answers = stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(answers.map((one) => [one.id, !!one.error]), [[null, true], [2, true], [3, true], [4, false], [null, true]]);
  assert.deepEqual(answers[1].error, ['version must be "1", got "9"']);
});

// The answers on the pages: "setting max: 10 and window: 60", "Set action: deny ... You can also include a reason field".
test('action, reason and rate_limit directly on a tool', () => {
  const call = (name) => ({ call: { name, arguments: {} } });
  const policy = { version: '1', default: 'deny', tools: {
    limited: { rate_limit: { max: 10, window: 60 } }, text: { rate_limit: '2/hour' }, blocked: { action: 'deny', reason: 'Not this one' }, open: { action: 'allow' }, asked: { action: 'require_approval' },
    both: { action: 'allow', rate_limit: { max: 1, window: 60 }, require: [{ conditions: [{ path: 'args.x', op: 'exists', value: true }], on_deny: 'x is missing' }] },
  } };
  const [answer] = simulate([{ id: 1, grant: 'g', policy, steps: [...Array.from({ length: 11 }, () => call('limited')), call('text'), call('text'), call('text'), call('blocked'), call('open'), call('asked'), call('both'), call('other')] }]);
  const rest = answer.steps.slice(11);
  assert.deepEqual(answer.steps.slice(0, 11).map(({ allowed }) => allowed), [...Array(10).fill(true), false]);
  assert.deepEqual(rest.map(({ verdict }) => verdict), ['allow', 'allow', 'deny', 'deny', 'allow', 'approve', 'deny', 'deny']);
  assert.deepEqual([answer.steps[10].rule, rest[3].rule, rest[3].text], ['rate_limit', 'action', '[POLICY DENIED] Not this one']);
  assert.match(rest[6].text, /x is missing/);
  for (const [tool, why] of [[{ reason: 'alone' }, /at least one condition/], [{ action: 'denny' }, /action must be/], [{ action: 'deny', rate_limit: { max: 1, window: 60 } }, /rate_limit cannot be used with action/], [{ rate_limit: 'often' }, /rate_limit must be in the format/]])
    assert.match(run('validate', '-c', file('direct.json', JSON.stringify({ version: '1', default: 'deny', tools: { t: tool } }))).stdout, why, JSON.stringify(tool));
});

test('kinds of personal data that nothing finds are refused', () => {
  const policy = (value) => file('kinds.json', JSON.stringify({ version: '1', default: 'deny', tools: { x: { deny_if: [{ conditions: [{ path: 'args', op: 'pii', value }] }] } } }));
  for (const value of ['EMAIL', ['SECRET', 'PHONE'], { kinds: ['IBAN'], over: 2 }, true]) assert.equal(run('validate', '-c', policy(value)).status, 0, JSON.stringify(value));
  for (const value of ['EMIAL', ['SECRET', 'FHONE'], { kinds: ['STAFF_ID'] }]) {
    const answer = run('validate', '-c', policy(value));
    assert.equal(answer.status, 1, JSON.stringify(value));
    assert.match(answer.stdout, /^Error: "(EMIAL|FHONE|STAFF_ID)" is not a kind of personal data\n$/);
  }
  const flow = file('flow.yaml', 'version: "1"\ntools: {}\nflows:\n  - {name: f, after: ["result.pii.EMIAL > 0"], deny: [sink]}\n');
  assert.match(run('validate', '-c', flow).stdout, /^Error: "EMIAL" is not a kind of personal data\n$/);
  const rules = file('rules.yaml', 'version: "1"\ncustom:\n  - {name: STAFF_ID, literal: "staff-", pattern: "staff-[0-9]{6}"}\n');
  assert.equal(run('validate', '-c', policy({ kinds: ['STAFF_ID'] }), '--pii-rules', rules).status, 0, run('validate', '-c', policy({ kinds: ['STAFF_ID'] }), '--pii-rules', rules).stderr);
});

test('fragments, one or several, and what they do not name', () => {
  const parts = [
    { clear_session: { deny_if: [{ conditions: [], on_deny: 'Blocked by default. Requires approval.' }] } },
    { write_file: { limits: [{ counter: 'write_file_per_hour', window: 'hour', max: 30, scope: 'grant' }] } },
    { list_directory: { rate_limit: { max: 60, window: 60 } } },
  ];
  const pasted = parts.map((part) => JSON.stringify(part, null, 2)).join('\n\n');
  const valid = run('validate', '-c', file('pasted.json', pasted));
  assert.deepEqual([valid.status, valid.stdout], [0, 'Policy file is valid.\nWarning: a fragment without a document around it: every tool that it does not name is denied\n']);
  const steps = ['clear_session', 'write_file', 'list_directory', 'read_file'].map((name) => ({ call: { name, arguments: {} } }));
  const [all, one] = simulate([{ id: 1, policy_text: pasted, steps }, { id: 2, policy_text: JSON.stringify(parts[1]), steps }]);
  assert.deepEqual(all.steps.map(({ allowed }) => allowed), [false, true, true, false]);
  assert.deepEqual(one.steps.map(({ allowed }) => allowed), [false, true, false, false]);
  assert.equal(JSON.parse(run('validate', '-c', file('one.json', JSON.stringify(parts[0])), '--json').stdout).problems[0].severity, 'warning');
  assert.doesNotMatch(run('validate', '-c', file('whole.json', JSON.stringify({ version: '1', default: 'deny', tools: parts[0] }))).stdout, /Warning/);
  // [text, what is wrong with it]
  const WRONG = [
    [`${pasted}\n${JSON.stringify(parts[1])}`, /"write_file" stands in an earlier fragment too/], [`${pasted}\nDeny the rest`, /only `\{` … `\}` can follow/],
    [`${JSON.stringify(parts[0])}\n{"version":"1","default":"allow","tools":{}}`, /2, column 1: only fragments/], [`${JSON.stringify(parts[0])}\n\n{"x": }`, /line 3/],
    [`${JSON.stringify(parts[0])}{"x": {"deny_if": [}`, /can follow|expected/], [Array.from({ length: 65 }, (_, i) => `{"t${i}":{"action":"allow"}}`).join(''), /at most 64 fragments/],
  ];
  for (const [text, why] of WRONG) {
    const answer = run('validate', '-c', file('wrong.json', text));
    assert.equal(answer.status, 1, text);
    assert.match(answer.stdout, why, text);
  }
});

test('policies as published pages print them', () => {
  const call = (name, args = {}) => ({ call: { name, arguments: args } });
  const execute = { version: '1', default: 'deny', tools: { execute_code: { limits: [{ counter: 'execute_code_rate', window: 'minute', max: 10, scope: 'grant' }] } } };
  const fragments = [
    { clear_session: { deny_if: [{ conditions: [], on_deny: 'Blocked by default. Requires approval.' }] } },
    { write_file: { limits: [{ counter: 'write_file_per_hour', window: 'hour', max: 30, scope: 'grant' }] } },
    { list_directory: { limits: [{ counter: 'list_directory_per_minute', window: 'minute', max: 60, scope: 'grant' }] } },
  ];
  const page = 'tools:\n  asyncExecuteCode:\n    rules:\n      - action: allow\n        rate_limit:\n          max: 10\n          window: 60\n        validate:\n          required_args: true\n';
  const blocked = 'version: "1"\ndefault: deny\ntools:\n  create_x:\n    rules:\n      - rate_limit: 2/hour\n  delete_x:\n    rules:\n      - action: deny\n        reason: Not this one\n';
  const many = (name, n) => Array.from({ length: n }, () => call(name));
  const [code, clear, write, list, async, named] = simulate([
    { id: 1, grant: 'g', policy: execute, steps: [...many('execute_code', 11), call('other')] },
    { id: 2, policy: fragments[0], steps: [call('clear_session')] },
    { id: 3, policy: fragments[1], steps: many('write_file', 31) },
    { id: 4, policy: fragments[2], steps: many('list_directory', 61) },
    { id: 5, policy_text: page, steps: many('asyncExecuteCode', 11) },
    { id: 6, policy_text: blocked, steps: [...many('create_x', 3), call('delete_x'), call('read_x')] },
  ]);
  const allowed = (answer) => answer.steps.filter((step) => step.allowed).length;
  assert.deepEqual([allowed(code), code.steps[10].allowed, code.steps[11].rule], [10, false, '(default deny)']);
  assert.equal(clear.steps[0].text, '[POLICY DENIED] Blocked by default. Requires approval.');
  assert.deepEqual([allowed(write), allowed(list), allowed(async)], [30, 60, 10]);
  assert.deepEqual(named.steps.map((step) => [step.verdict, step.rule]), [['allow', null], ['allow', null], ['deny', 'rule[0]'], ['deny', 'rule[0]'], ['deny', '(default deny)']]);
  assert.equal(named.steps[3].text, '[INTERCEPT POLICY DENIED] Not this one');
});
