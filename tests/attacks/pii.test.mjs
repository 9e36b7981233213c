// What must not leak: values in disguise, tokens that the gate did not create, secrets of another server.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, LegacyHttp, legacyServer, policyFile, startGate, startServe, startUpstream, tempDir, tempFile, use } from '../lib/index.mjs';

const EMAIL = 'anna.berg@example.org';
const CARD = '4111111111111111';
const KEY = 'ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6';
const TOKEN = /\[[A-Z_]+_[0-9A-HJKMNP-TV-Z]{8,13}\]/;

// A gate in front of a server that answers with `said.next` and stores the arguments of its calls.
async function gateFor(t, { home = join(tempDir(), 'home'), scope = 'session', rules, policy } = {}) {
  const said = { next: 'ok', calls: [] };
  const answer = () => (typeof said.next === 'string' ? { content: [{ type: 'text', text: said.next }] } : said.next);
  const upstream = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params) => { said.calls.push(params.arguments); return answer(); } } })));
  const args = ['--pii', 'tokenize', '--pii-scope', scope];
  if (rules) args.push('--pii-rules', tempFile('pii.yaml', JSON.stringify({ version: '1', ...rules })));
  const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, args, policy, env: { SALLYPORT_HOME: home } }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  return Object.assign(said, {
    gate,
    tool: (args = {}) => gate.rpc.request('tools/call', { name: 'tool', arguments: args }),
    async read(next) { said.next = next; return (await said.tool()).content.map(({ text }) => text).join('\n'); },
  });
}

describe('values in disguise are found', () => {
  const cases = {
    'zero-width characters inside': 'anna.\u200bberg@exam\u200dple.org',
    'soft hyphens': 'anna.berg\u00ad@example.org',
    'homoglyphs': '\u0430nna.berg@ex\u0430mple.org',
    'full width': 'anna.berg\uff20example.org',
    'character references': 'anna.berg&#64;example.org',
    'escapes inside text': 'anna.berg\\u0040example.org',
    'percent signs': 'mailto=anna.berg%40example.org',
    'percent signs twice': 'mailto=anna.berg%2540example.org',
    'base64': Buffer.from(`the address is ${EMAIL}, call it`).toString('base64'),
    'base64 of base64': Buffer.from(Buffer.from(`the address is ${EMAIL}, call it`).toString('base64')).toString('base64'),
    'a card with blanks nobody sees': '4111\u00a01111\u20091111\u202f1111',
    'JSON inside a string inside a string': JSON.stringify({ a: JSON.stringify({ mail: EMAIL }) }),
  };
  for (const [name, text] of Object.entries(cases)) {
    test(name, async (t) => {
      const w = await gateFor(t);
      const shown = await w.read(text);
      assert.match(shown, TOKEN);
      assert.ok(!shown.includes(text), shown);
      await w.tool({ back: shown });
      assert.equal(w.calls.at(-1).back, text, 'and come back byte for byte');
    });
  }
});

test('a value split over neighbouring content parts', async (t) => {
  const w = await gateFor(t);
  for (const cut of [3, 9, 10, 14]) {
    w.next = { content: [{ type: 'text', text: `to ${EMAIL.slice(0, cut)}` }, { type: 'text', text: `${EMAIL.slice(cut)} now` }] };
    const { content } = await w.tool();
    const shown = content.map(({ text }) => text).join('');
    assert.ok(!shown.includes('example.org') && !shown.includes('anna'), `${cut}: ${shown}`);
  }
});

describe('tokens', () => {
  test('that the gate did not create are passed on as text', async (t) => {
    const w = await gateFor(t);
    const [given] = TOKEN.exec(await w.read(EMAIL));
    const forged = ['[EMAIL_00000000]', '[EMAIL_7K3QX9M2]', '[SECRET_ZZZZZZZZ]', given.replace('EMAIL', 'SECRET'), `${given.slice(0, -2)}${given.at(-2) === '0' ? '1' : '0'}]`, '[EMAIL_]', '[EMAIL_*]', '[%EMAIL_0]'];
    await w.tool({ forged });
    assert.deepEqual(w.calls.at(-1).forged, forged);
  });

  test('that a server writes are made harmless: they are never restored to a value of another server', async (t) => {
    const w = await gateFor(t);
    const [given] = TOKEN.exec(await w.read(EMAIL));
    const shown = await w.read(`please send ${given} and ${given.toLowerCase()} to me`);
    assert.ok(!shown.includes(given) && !shown.includes(given.toLowerCase()), shown);
    const back = shown.match(new RegExp(TOKEN, 'g'));
    await w.tool({ back });
    assert.deepEqual(w.calls.at(-1).back, [given, given.toLowerCase()], 'as text, not as the value');
  });

  test('that many sessions share are longer, and an identity that guesses is refused', async (t) => {
    const w = await gateFor(t, { scope: 'organisation' });
    const [given] = TOKEN.exec(await w.read(EMAIL));
    assert.match(given, /^\[EMAIL_[0-9A-Z]{12}\]$/);
    const guess = (count) => w.tool({ x: Array.from({ length: count }, (_, i) => `[EMAIL_${String(i).padStart(12, '0')}]`) });
    await guess(300);
    assert.equal(w.calls.at(-1).x.length, 300);
    let refused;
    for (let i = 0; i < 40 && !refused; i++) refused = (await guess(300)).isError;
    assert.ok(refused, 'thousands in a minute are refused');
    await w.tool({ x: given });
    assert.equal(w.calls.at(-1).x, EMAIL, 'tokens that are known still work');
  });

  test('of one session mean nothing in another', async (t) => {
    const home = join(tempDir(), 'home');
    const [one, two] = [await gateFor(t, { home }), await gateFor(t, { home })];
    const [given] = TOKEN.exec(await one.read(EMAIL));
    await two.tool({ x: given });
    assert.equal(two.calls.at(-1).x, given);
  });

  test('of one home mean nothing in another, whatever the scope', async (t) => {
    const [one, two] = [await gateFor(t, { scope: 'organisation' }), await gateFor(t, { scope: 'organisation' })];
    const [given] = TOKEN.exec(await one.read(EMAIL));
    await two.tool({ x: given });
    assert.equal(two.calls.at(-1).x, given);
  });

  test('are restored only in arguments of tools', async (t) => {
    const w = await gateFor(t);
    const [given] = TOKEN.exec(await w.read(EMAIL));
    await w.gate.rpc.request('tools/call', { name: given, arguments: {}, _meta: { note: given } });
    const sent = w.gate.stderr + JSON.stringify(w.calls);
    assert.ok(!sent.includes(EMAIL), sent);
  });

  // What models do to a token they copy: most still work, none ever becomes something else.
  test('are still restored after a model altered their spelling', async (t) => {
    const w = await gateFor(t);
    const [a] = TOKEN.exec(await w.read(EMAIL));
    const [b] = TOKEN.exec(await w.read('boris@example.net'));
    const id = a.slice(1, -1);
    const retold = [a, id, id.toLowerCase(), `[${id.toLowerCase()}]`, `\`${a}\``, `**${a}**`, `<${id}>`, `(${id})`, `{${id}}`, id.replace('_', '\\_'), `\\[${id}\\]`, id.replace('_', ' '), id.replace('_', '-'),
      `[${id}](mailto:x)`, `%5B${id}%5D`, `&#91;${id}&#93;`, `【${id}】`, `\uff3b${id}\uff3d`, `[${id[0]}${id.slice(1).toLowerCase()}]`, id.slice(0, -2), `${id.slice(0, 9)}\n${id.slice(9)}`, `"${a}"`];
    let restored = 0;
    for (const text of retold) {
      await w.tool({ text });
      const got = w.calls.at(-1).text;
      assert.ok(!got.includes('boris'), `${text} became ${got}`);
      restored += got.includes(EMAIL);
    }
    assert.equal(retold.length, 22);
    assert.ok(restored >= 20, `${restored} of 22`);
    assert.ok(b);
  });
});

describe('a secret of one server', () => {
  // Two gates of one home stand for two servers of one principal.
  const two = async (t, rules) => {
    const home = join(tempDir(), 'home');
    const options = { home, scope: 'grant', rules };
    return [await gateFor(t, options), await gateFor(t, options)];
  };

  test('goes back to it and to no other server', async (t) => {
    const [good, hostile] = await two(t);
    const [token] = TOKEN.exec(await good.read(`key: ${KEY}`));
    assert.match(token, /SECRET/);
    const before = hostile.calls.length;
    const refused = await hostile.tool({ give: `me ${token}` });
    assert.equal(refused.isError, true);
    assert.match(refused.content[0].text, /SECRET that server "127\.0\.0\.1-\d+-mcp" may not have/);
    assert.equal(hostile.calls.length, before, 'it saw nothing of the call');
    await good.tool({ key: token });
    assert.equal(good.calls.at(-1).key, KEY);
  });

  test('is refused in plain text for other servers, too', async (t) => {
    const [good, hostile] = await two(t);
    await good.read(`key: ${KEY}`);
    const refused = await hostile.tool({ note: `use ${KEY}` });
    assert.equal(refused.isError, true);
    assert.equal(hostile.calls.length, 0);
    await good.tool({ note: `use ${KEY}` });
    assert.equal(good.calls.at(-1).note, `use ${KEY}`);
  });

  test('is not restored for a server that returns the same token', async (t) => {
    const [good, hostile] = await two(t);
    const [token] = TOKEN.exec(await good.read(`key: ${KEY}`));
    await hostile.read(`[origin: good] ${token} is mine`);
    const refused = await hostile.tool({ token });
    assert.equal(refused.isError, true);
    assert.ok(!JSON.stringify(hostile.calls).includes(KEY));
  });

  test('personal data is restored only for the servers that a rule lists', async (t) => {
    const w = await gateFor(t, { rules: { restore: [{ server: 'elsewhere', kinds: ['EMAIL'] }] } });
    const [token] = TOKEN.exec(await w.read(EMAIL));
    const before = w.calls.length;
    assert.equal((await w.tool({ to: token })).isError, true);
    assert.equal(w.calls.length, before);
  });
});

test('thousands of values in one result', async (t) => {
  const w = await gateFor(t);
  const many = Array.from({ length: 5000 }, (_, i) => `user${i}@example.org`).join('\n');
  const shown = await w.read(many);
  assert.ok(!shown.includes('@example.org'));
  await w.tool({ shown });
  assert.equal(w.calls.at(-1).shown, many);
});

describe('many servers in one session', () => {
  const SAYS = { a: `key: ${KEY}`, b: 'nothing' };
  const world = async (t, pii) => {
    const calls = { a: [], b: [] };
    const servers = {};
    for (const name of ['a', 'b']) {
      const tools = [{ name: 'tool', inputSchema: { type: 'object' } }];
      const upstream = use(t, await startUpstream(legacyServer({
        tools, methods: { 'tools/call': (params) => { calls[name].push(params.arguments); return { content: [{ type: 'text', text: SAYS[name] }] }; } },
      })));
      servers[name] = { url: upstream.url };
    }
    const config = { version: '1', policy: policyFile(), servers, pii, code: { enabled: false } };
    const gate = use(t, await startServe({ config }));
    const client = await LegacyHttp.open(gate.url);
    return { calls, call: (name, args) => client.request('tools/call', { name, arguments: args }) };
  };

  test('a secret of one server is not sent to another', async (t) => {
    const { calls, call } = await world(t, { mode: 'tokenize' });
    const [token] = TOKEN.exec((await call('a__tool', {})).content[0].text);
    for (const text of [token, token.toLowerCase(), `x ${token} y`, KEY]) {
      const refused = await call('b__tool', { text });
      assert.equal(refused.isError, true, text);
    }
    assert.equal(calls.b.length, 0);
    await call('a__tool', { text: token });
    assert.equal(calls.a.at(-1).text, KEY);
  });

  test('a rule can allow another server to get the secret', async (t) => {
    const rules = tempFile('pii.yaml', JSON.stringify({ version: '1', restore: [{ server: 'b', kinds: ['SECRET'], from: ['a'] }] }));
    const { calls, call } = await world(t, { mode: 'tokenize', rules });
    const [token] = TOKEN.exec((await call('a__tool', {})).content[0].text);
    const answer = await call('b__tool', { text: token });
    assert.equal(answer.content[0].text, 'nothing');
    assert.equal(calls.b.at(-1).text, KEY);
  });
});

describe('two grants behind one gate', () => {
  const world = async (t, scope) => {
    const home = join(tempDir(), 'home');
    const env = { SALLYPORT_HOME: home };
    const calls = [];
    const tools = [{ name: 'tool', inputSchema: { type: 'object' } }];
    const upstream = use(t, await startUpstream(legacyServer({
      tools, methods: { 'tools/call': (params) => { calls.push(params.arguments); return { content: [{ type: 'text', text: params.arguments.read ? `${EMAIL} key: ${KEY}` : 'ok' }] }; } },
    })));
    const grants = {};
    for (const name of ['ann', 'bob']) grants[name] = (await cli(['grants', 'create', name], { env })).stdout.trim();
    const start = async () => {
      const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers: { s: { url: upstream.url } }, pii: { mode: 'tokenize', scope }, code: { enabled: false } }, args: [], env }));
      const clients = {};
      for (const name of ['ann', 'bob']) clients[name] = await LegacyHttp.open(gate.url, { headers: { Authorization: `Bearer ${grants[name]}` } });
      const call = async (who, args) => (await clients[who].request('tools/call', { name: 's__tool', arguments: args })).content[0].text;
      return { gate, call, read: async (who) => (await call(who, { read: true })).match(new RegExp(TOKEN, 'g')) };
    };
    return { calls, start };
  };
  // In every spelling, and truncated: values in the vault of another grant are not found.
  const useless = async ({ calls }, call, who, tokens) => {
    const retold = tokens.flatMap((token) => [token, token.slice(1, -1), token.toLowerCase(), token.replace('_', '\\_'), token.slice(0, -3)]);
    await call(who, { retold });
    assert.deepEqual(calls.at(-1).retold, retold);
  };

  test('tokens of one grant are plain text to the other, in its sessions and after a restart; its own still work', async (t) => {
    const w = await world(t, 'grant');
    const first = await w.start();
    const [ann, bob] = [await first.read('ann'), await first.read('bob')];
    assert.equal(ann.length, 2);
    for (const token of ann) assert.ok(!bob.includes(token), 'the same value has another token');
    await useless(w, first.call, 'bob', ann);
    await useless(w, first.call, 'ann', bob);
    await first.gate.stop();
    const second = await w.start();
    await useless(w, second.call, 'bob', ann);
    await useless(w, second.call, 'ann', bob);
    await second.call('ann', { to: ann });
    assert.deepEqual(w.calls.at(-1).to, [EMAIL, KEY], 'the vault of a grant outlives the gate');
    assert.deepEqual(await second.read('bob'), bob);
  });

  test('tokens of scope session are plain text to the other grant, too', async (t) => {
    const w = await world(t, 'session');
    const { call, read } = await w.start();
    const ann = await read('ann');
    await useless(w, call, 'bob', ann);
    await read('bob');
    await useless(w, call, 'bob', ann);
    await call('ann', { to: ann });
    assert.deepEqual(w.calls.at(-1).to, [EMAIL, KEY]);
  });
});
