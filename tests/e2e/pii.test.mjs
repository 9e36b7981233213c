// Personal data and secrets through the running gate: what the agent sees, what the server gets back.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { join } from 'node:path';
import { cli, legacyServer, startGate, startUpstream, tempDir, tempFile, use } from '../lib/index.mjs';

const EMAIL = 'anna.berg@example.org';
const KEY = `ghp_${'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6'}`;
const TOKEN = (kind) => new RegExp(`\\[${kind}_[0-9A-HJKMNP-TV-Z]{8}\\]`);

// A server whose tools answer with what `world.next` holds, and that remembers its calls.
async function world(t, { args = ['--pii', 'tokenize'], env, policy, tools = [] } = {}) {
  const state = { calls: [], next: { content: [{ type: 'text', text: 'ok' }] } };
  const methods = {
    'tools/call': (params) => { state.calls.push(params); return state.next; },
    'tasks/result': () => state.later,
    'resources/read': () => state.next,
    'prompts/get': () => state.next,
    'x/fail': () => { throw Object.assign(new Error(`no account for ${EMAIL}`), { code: -32050 }); },
  };
  const upstream = use(t, await startUpstream(legacyServer({ tools, methods, capabilities: { tools: {}, resources: {}, prompts: {} } })));
  const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, args, env, policy }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  gate.rpc.notify('notifications/initialized');
  return Object.assign(state, {
    gate, upstream,
    ask: (method, params) => gate.rpc.request(method, params),
    call: (name, args) => gate.rpc.request('tools/call', { name, arguments: args }),
  });
}
const textOf = (result) => result.content[0].text;

describe('tokenize', () => {
  test('results, structured content, keys, numbers and JSON inside strings', async (t) => {
    const w = await world(t);
    w.next = {
      content: [{ type: 'text', text: `write to ${EMAIL}` }, { type: 'text', text: JSON.stringify({ inner: { mail: EMAIL } }) },
        { type: 'resource', resource: { uri: 'x://1', text: `key ${KEY}` } }],
      structuredContent: { mail: EMAIL, card_number: 4111111111111111, [EMAIL]: 1 },
    };
    const result = await w.call('read', {});
    const seen = JSON.stringify(result);
    for (const value of [EMAIL, KEY, '4111111111111111']) assert.ok(!seen.includes(value), seen);
    const [token] = TOKEN('EMAIL').exec(textOf(result));
    assert.equal(result.structuredContent.mail, token);
    assert.equal(JSON.parse(result.content[1].text).inner.mail, token);
    assert.ok(Object.keys(result.structuredContent).some((key) => key === token));
    assert.match(result.structuredContent.card_number, TOKEN('CREDIT_CARD'));
    assert.match(result.content[2].resource.text, TOKEN('SECRET'));
    // and back, to the very server it came from
    await w.call('write', { to: token, body: `cc ${token.toLowerCase()}`, card: result.structuredContent.card_number, key: result.content[2].resource.text });
    assert.deepEqual(w.calls.at(-1).arguments, { to: EMAIL, body: `cc ${EMAIL}`, card: 4111111111111111, key: `key ${KEY}` });
  });

  // Clients validate structured content: a token in place of a number or beside a pattern must not break the call.
  test('structured content with tokens satisfies the schema that the client got', async (t) => {
    const outputSchema = {
      type: 'object', required: ['pattern', 'card', 'type'],
      properties: {
        pattern: { type: 'string', pattern: '^[0-9 +]+$', maxLength: 16, minLength: 4 }, card: { type: 'integer', minimum: 1 }, type: { $ref: '#/$defs/mail' },
        maybe: { type: ['number', 'null'] }, list: { type: 'array', items: { anyOf: [{ type: 'number' }, { type: 'boolean' }] } },
      },
      $defs: { mail: { type: 'string', format: 'email', maxLength: 24 } },
    };
    const tools = ['read', 'hidden'].map((name) => ({ name, inputSchema: { type: 'object', properties: { n: { type: 'integer' } } }, outputSchema }));
    const structuredContent = { pattern: '+41 78 167 07 25', card: 4111111111111111, type: EMAIL, maybe: 4111111111111111, list: [1, true, 4111111111111111] };
    const load = createRequire(new URL('../npm/', import.meta.url));
    const validate = (schema, value) => load('ajv-formats')(new (load('ajv/dist/2020.js').default)({ strict: false })).compile(schema)(value);
    assert.ok(validate(outputSchema, structuredContent));
    const w = await world(t, { tools, policy: 'version: "1"\nhide: [hidden]\ntools: {}\n' });
    const listed = (await w.ask('tools/list', {})).tools;
    assert.deepEqual(listed.map(({ name }) => name), ['read']);
    assert.deepEqual(listed[0].inputSchema, tools[0].inputSchema);
    w.next = { content: [{ type: 'text', text: 'ok' }], structuredContent };
    const result = await w.call('read', {});
    assert.match(result.structuredContent.card, TOKEN('CREDIT_CARD'));
    assert.ok(validate(listed[0].outputSchema, result.structuredContent));
    assert.ok(!validate(outputSchema, result.structuredContent));
    assert.ok(!validate(listed[0].outputSchema, { ...structuredContent, card: true }));
    // nothing changes where results have no tokens
    const plain = await world(t, { tools, args: ['--pii', 'report'] });
    assert.deepEqual((await plain.ask('tools/list', {})).tools, tools);
  });

  test('names and street addresses are found only where a rule asks for them', async (t) => {
    const rules = tempFile('rules.yaml', 'version: "1"\nresults:\n  - {tool: crm, kinds: [PERSON, STREET_ADDRESS], mode: tokenize}\n');
    const w = await world(t, { args: ['--pii', 'tokenize', '--pii-rules', rules] });
    const person = { full_name: 'Ana Silva', mailing_street: 'Storgatan 12 B', city: 'Lund' };
    w.next = { content: [{ type: 'text', text: JSON.stringify(person) }], structuredContent: person };
    assert.deepEqual((await w.call('other', {})).structuredContent, person);
    const { structuredContent: seen, content } = await w.call('crm', {});
    assert.match(seen.full_name, TOKEN('PERSON'));
    assert.match(seen.mailing_street, TOKEN('STREET_ADDRESS'));
    assert.equal(seen.city, 'Lund');
    assert.deepEqual(JSON.parse(content[0].text), seen);
    await w.call('send', seen);
    assert.deepEqual(w.calls.at(-1).arguments, person);
  });

  test('untouched parts keep their bytes', async (t) => {
    const w = await world(t);
    const raw = `{"content":[{"type":"text" , "text":"a\\u0041 ${EMAIL} \\/ é"}],"n":1.50, "e":1E2}`;
    w.next = undefined;
    const plain = await startUpstream(async (request, reply) => {
      const id = request.json?.id;
      if (request.json?.method === 'tools/call') return reply.text(`{"jsonrpc":"2.0","id":${id},"result":${raw}}`, { headers: { 'Content-Type': 'application/json' } });
      return legacyServer()(request, reply);
    });
    use(t, plain);
    const gate = use(t, await startGate({ transport: 'stdio', upstream: plain.url, args: ['--pii', 'tokenize'] }));
    gate.rpc.send({ jsonrpc: '2.0', id: 'i', method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } });
    await gate.rpc.next((json) => json.id === 'i');
    gate.rpc.send({ jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 'x', arguments: {} } });
    await gate.rpc.next((json) => json.id === 'b');
    const line = gate.child.stdout.split('\n').find((text) => text.includes('"b"'));
    const [token] = TOKEN('EMAIL').exec(line);
    assert.ok(line.includes(`"result":${raw.replace(EMAIL, token)}`), line);
  });

  test('resources, prompts, errors, log messages and progress', async (t) => {
    const w = await world(t);
    w.next = { contents: [{ uri: 'x://1', text: EMAIL }] };
    assert.match((await w.ask('resources/read', { uri: 'x://1' })).contents[0].text, TOKEN('EMAIL'));
    w.next = { messages: [{ role: 'user', content: { type: 'text', text: EMAIL } }] };
    assert.match((await w.ask('prompts/get', { name: 'p' })).messages[0].content.text, TOKEN('EMAIL'));
    await assert.rejects(w.ask('x/fail', {}), (error) => TOKEN('EMAIL').test(error.message) && !error.message.includes(EMAIL));
  });

  test('one value has one token in a session and another one in the next', async (t) => {
    const tokens = [];
    for (let i = 0; i < 2; i++) {
      const w = await world(t);
      w.next = { content: [{ type: 'text', text: `${EMAIL} and ${EMAIL}` }] };
      const found = textOf(await w.call('read', {})).match(new RegExp(TOKEN('EMAIL'), 'g'));
      assert.equal(found.length, 2);
      assert.equal(found[0], found[1]);
      tokens.push(found[0]);
    }
    assert.notEqual(tokens[0], tokens[1]);
  });
});

test('off: nothing is scanned', async (t) => {
  const w = await world(t, { args: [] });
  w.next = { content: [{ type: 'text', text: EMAIL }] };
  assert.equal(textOf(await w.call('read', {})), EMAIL);
});

test('redact cannot be reversed', async (t) => {
  const w = await world(t, { args: ['--pii', 'redact'] });
  w.next = { content: [{ type: 'text', text: `${EMAIL} ${KEY}` }] };
  assert.equal(textOf(await w.call('read', {})), '[EMAIL] [SECRET]');
});

test('block withholds the whole result and names the kinds in it', async (t) => {
  const w = await world(t, { args: ['--pii', 'block'] });
  w.next = { content: [{ type: 'text', text: `${EMAIL} ${KEY}` }] };
  const result = await w.call('read', {});
  assert.equal(result.isError, true);
  assert.match(textOf(result), /withheld: it contains EMAIL 1, SECRET 1/);
  w.next = { content: [{ type: 'text', text: 'nothing' }] };
  assert.equal(textOf(await w.call('read', {})), 'nothing');
});

test('report changes nothing and counts', async (t) => {
  const home = join(tempDir(), 'home');
  const w = await world(t, { args: ['--pii', 'report'], env: { SALLYPORT_HOME: home } });
  w.next = { content: [{ type: 'text', text: `${EMAIL}` }] };
  assert.equal(textOf(await w.call('read', {})), EMAIL);
  await w.gate.stop();
  const { stdout } = await cli(['audit', 'query', '--json'], { env: { SALLYPORT_HOME: home } });
  assert.match(stdout, /EMAIL 1/);
  assert.ok(!stdout.includes(EMAIL));
});

test('modes by server, tool and kind; custom kinds', async (t) => {
  const rules = tempFile('pii.yaml', JSON.stringify({
    version: '1',
    custom: [{ name: 'CUSTOMER', literal: 'C-', pattern: 'C-[0-9]{6}\\b', match: ['C-123456'], nomatch: ['C-12'] }],
    results: [{ tool: 'open_*', mode: 'off' }, { kinds: ['PHONE'], mode: 'redact' }, { kinds: ['URL'], mode: 'tokenize' }],
  }));
  const w = await world(t, { args: ['--pii', 'tokenize', '--pii-rules', rules] });
  w.next = { content: [{ type: 'text', text: `${EMAIL}, +43 1 5880 1234, https://a.example/x, C-123456` }] };
  const shown = textOf(await w.call('read', {}));
  assert.match(shown, TOKEN('EMAIL'));
  assert.match(shown, /\[PHONE\]/);
  assert.match(shown, TOKEN('URL'));
  assert.match(shown, TOKEN('CUSTOMER'));
  assert.match(textOf(await w.call('open_door', {})), new RegExp(`${EMAIL}, \\[PHONE\\]`));
});

test('the modes of a tool hold for what its tasks bring', async (t) => {
  const rules = tempFile('pii.yaml', JSON.stringify({ version: '1', results: [{ tool: 'open_*', mode: 'off' }] }));
  const w = await world(t, { args: ['--pii', 'tokenize', '--pii-rules', rules] });
  w.later = { content: [{ type: 'text', text: EMAIL }] };
  const texts = {};
  for (const name of ['open_report', 'shut_report']) {
    w.next = { task: { taskId: `${name}-1`, status: 'working', createdAt: '2026-11-01T00:00:00Z', lastUpdatedAt: '2026-11-01T00:00:00Z', ttl: 60000 } };
    const { task } = await w.ask('tools/call', { name, arguments: {}, task: {} });
    texts[name] = textOf(await w.ask('tasks/result', { taskId: task.taskId }));
  }
  assert.equal(texts.open_report, EMAIL);
  assert.match(texts.shut_report, TOKEN('EMAIL'));
  assert.match(textOf(await w.ask('tasks/result', { taskId: 'nobody-1' })), TOKEN('EMAIL'), 'a task that nobody knows has no tool');
});

test('a bad rules file is refused with its line', async () => {
  const rules = tempFile('pii.yaml', 'version: "1"\nresults:\n  - {kind: [EMAIL], mode: off}\n');
  const { code, stderr } = await cli(['-c', tempFile('p.yaml', '{"version":"1","default":"allow"}'), '--pii-rules', rules, '--', 'true']);
  assert.equal(code, 3);
  assert.match(stderr, /line 3.*unknown key `kind`.*kinds/);
});

describe('the audit log', () => {
  test('tokenized arguments: names and tokens, no values', async (t) => {
    const home = join(tempDir(), 'home');
    const w = await world(t, { args: ['--audit-args', 'tokenized'], env: { SALLYPORT_HOME: home } });
    await w.call('send', { to: EMAIL, subject: 'hello' });
    assert.equal(w.calls.at(-1).arguments.to, EMAIL, 'the server gets what was sent');
    await w.gate.stop();
    const { stdout } = await cli(['audit', 'query', '--json'], { env: { SALLYPORT_HOME: home } });
    assert.ok(!stdout.includes(EMAIL), stdout);
    assert.match(stdout, /EMAIL_[0-9A-Z]{8}/);
    assert.match(stdout, /hello/);
  });
});

test('tokens of a grant are kept encrypted across restarts of the gate', async (t) => {
  const home = join(tempDir(), 'home');
  const args = ['--pii', 'tokenize', '--pii-scope', 'grant'];
  const first = await world(t, { args, env: { SALLYPORT_HOME: home } });
  first.next = { content: [{ type: 'text', text: EMAIL }] };
  const token = textOf(await first.call('read', {}));
  await first.gate.stop();
  const { readFileSync, readdirSync, statSync } = await import('node:fs');
  const files = readdirSync(home).filter((name) => name.startsWith('vault.sqlite'));
  assert.ok(files.length > 0);
  for (const name of files) assert.ok(!readFileSync(join(home, name)).includes(EMAIL), name);
  assert.equal(statSync(join(home, 'pii', 'key')).mode & 0o777, 0o600);
  const second = await world(t, { args, env: { SALLYPORT_HOME: home } });
  await second.call('write', { to: token });
  assert.equal(second.calls.at(-1).arguments.to, EMAIL);
  second.next = { content: [{ type: 'text', text: EMAIL }] };
  assert.equal(textOf(await second.call('read', {})), token);
});
