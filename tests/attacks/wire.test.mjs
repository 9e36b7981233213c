// Attacks on the wire (attacks.md 20, 21, 22, 28; protocol.md J1, J3, J5, H9, I1, I2, I6): what two parsers could read in two
// ways is refused with the right code and never reaches the server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  HttpConnection, MODERN, formatRequest, legacyServer, modernMeta, pair, peerFor, post, request, startGate, startUpstream, suitePair, use, watch,
} from '../lib/index.mjs';

const POLICY = { version: '1', default: 'allow', tools: { danger: { rules: [{ name: 'never', action: 'deny' }] } } };
const FRONTS = ['stdio', 'http', 'sse', 'modern-stdio', 'modern-http'];

// One raw message on that front: { status, code, id } of its refusal.
async function attempt(front, { peer, gate }, bytes, headers = {}) {
  const body = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
  const answered = () => peer.entry((json) => json?.error || json?.result);
  const outcome = ({ json }, status) => ({ status, code: json.error?.code, id: json.id, json });
  if (front.endsWith('stdio')) {
    const answer = answered();
    gate.child.stdin.write(Buffer.concat([body, Buffer.from('\n')]));
    return outcome(await answer);
  }
  const response = await post(front === 'sse' ? peer.endpoint : gate.url, body, { headers: { ...peer.headersFor?.(), ...headers } });
  if (response.status === 202) return outcome(await answered(), 200);
  return outcome({ json: await response.json() }, response.status);
}

// What the server was asked, without what a session does by itself.
const asked = (entries) => entries.filter((entry) => !entry.get && entry.method !== 'notifications/initialized').map(({ method }) => method);

const deep = (depth, inside = '1') => `${'['.repeat(depth)}${inside}${']'.repeat(depth)}`;
const bytes = (before, odd, after) => Buffer.concat([Buffer.from(before), Buffer.from(odd), Buffer.from(after)]);

// Each takes the members of params that make the era, and gives [what, message, code, code where a header says it too].
const payloads = (meta) => {
  const params = (inner) => `{${inner}${meta ? `,${meta}` : ''}}`;
  const call = (inner, id = '1') => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params(inner)}}`;
  const danger = '"name":"danger","arguments":{}';
  const long = 'k'.repeat(65536);
  return [
    ...['null', '1.5', '1e400', '9007199254740993', '-9007199254740993', '-0', '1.0', 'true', '[1]', '{}', `"${'i'.repeat(300)}"`].map((id) => [`J1 id ${id.slice(0, 20)}`, call(danger, id), -32600]),
    ['J3 name twice', call('"name":"echo","name":"danger"'), -32600],
    ['J3 name twice, once escaped', call('"name":"echo","n\\u0061me":"danger"'), -32600],
    ['J3 method twice', `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":${params(danger)}}`, -32600],
    ['J3 params twice', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params('"name":"echo"')},"params":${params(danger)}}`, -32600],
    ['J3 id twice', `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":${params(danger)}}`, -32600],
    ['J3 a key twice deep inside', call('"name":"echo","arguments":{"a":[{"b":{"c":1,"c":2}}]}'), -32600],
    ['J3 a key of 64 KB twice', call(`"name":"echo","arguments":{"${long}":1,"${long}":2}`), -32600],
    ['J3 an empty key twice', call('"name":"echo","arguments":{"":1,"":2}'), -32600],
    ['28 Method beside method', `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":${params(danger)}}`, -32600],
    ['28 METHOD instead of method', `{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":${params(danger)}}`, -32600],
    ['28 an escaped look-alike', `{"jsonrpc":"2.0","id":1,"method":"ping","\\u004dethod":"tools/call","params":${params(danger)}}`, -32600],
    ['28 Params beside params', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params('"name":"echo"')},"Params":${params(danger)}}`, -32600],
    ['28 a long s in params', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params('"name":"echo"')},"param\u017f":${params(danger)}}`, -32600],
    ['28 ID beside id', `{"jsonrpc":"2.0","id":1,"ID":2,"method":"tools/call","params":${params(danger)}}`, -32600],
    ['28 Name beside name', call('"name":"echo","Name":"danger"'), -32602],
    ['28 NAME, escaped, beside name', call('"name":"echo","N\\u0041ME":"danger"'), -32602],
    ['28 Arguments beside arguments', call('"name":"echo","arguments":{},"Arguments":{"x":1}'), -32602],
    ['28 argument\u017f beside arguments', call('"name":"echo","arguments":{},"argument\u017f":{"x":1}'), -32602],
    ['J5 a batch', `[${call(danger)}]`, -32600],
    ['J5 a batch of two', `[${call('"name":"echo"')},${call(danger, '2')}]`, -32600],
    ['J5 an empty batch', '[]', -32600],
    ['28 arguments that are a list', call('"name":"echo","arguments":["danger"]'), -32602],
    ['28 arguments that are a text', call('"name":"echo","arguments":"{}"'), -32602],
    ['28 arguments that are null', call('"name":"echo","arguments":null'), -32602],
    ['28 params that are a list', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["danger"]}', -32602],
    ['28 params that are null', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}', -32602],
    ['28 a name that is no text', call('"name":["danger"]'), -32602, -32020],
    ['28 a name that is a number', call('"name":1'), -32602, -32020],
    ['28 no name', call('"arguments":{}'), -32602, -32020],
    ['28 a name of 2 KB', call(`"name":"${'n'.repeat(2048)}"`), -32602, -32020],
    ['28 a method that is no text', `{"jsonrpc":"2.0","id":1,"method":["tools/call"],"params":${params(danger)}}`, -32600],
    ['28 an empty method', `{"jsonrpc":"2.0","id":1,"method":"","params":${params(danger)}}`, -32600],
    ['28 a method of 300 bytes', `{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(300)}","params":${params(danger)}}`, -32600],
    ['28 method and result', `{"jsonrpc":"2.0","id":1,"method":"tools/call","result":{},"params":${params(danger)}}`, -32600],
    ['28 jsonrpc 1.0', `{"jsonrpc":"1.0","id":1,"method":"tools/call","params":${params(danger)}}`, -32600],
    ['28 jsonrpc 2', `{"jsonrpc":2.0,"id":1,"method":"tools/call","params":${params(danger)}}`, -32600],
    ['28 no jsonrpc', `{"id":1,"method":"tools/call","params":${params(danger)}}`, -32600],
    ...['\\ud800', '\\udc00', '\\ud800\\ud800', '\\ud83d\\u0041', '\\ud83d'].map((odd) => [`28 a lone surrogate ${odd}`, call(`"name":"echo","arguments":{"a":"${odd}"}`), -32600]),
    ...[[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]].map((odd) => [
      `28 bytes that are no UTF-8 ${Buffer.from(odd).toString('hex')}`, bytes('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger', odd, '"}}'), -32600]),
    ['28 a byte order mark', bytes('', [0xef, 0xbb, 0xbf], call(danger)), -32700],
    ['28 UTF-16', Buffer.from(`\ufeff${call(danger)}`, 'utf16le'), -32700],
    ['28 a NUL byte', bytes('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dan', [0], 'ger"}}'), -32700],
    ['28 a NUL, escaped', call('"name":"echo\\u0000danger"'), -32602],
    ['28 a NUL in a key', call('"name":"echo","arguments":{"a\\u0000":1}'), -32602],
    ['28 a raw tab in a text', call('"name":"dan\tger"'), -32700],
    ['28 depth 65', call(`"name":"danger","arguments":{"a":${deep(62)}}`), -32600],
    ['28 depth 100,000', call(`"name":"danger","arguments":{"a":${deep(100_000)}}`), -32600],
    ...['{"a":1,}', '{a:1}', "{'a':1}", '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":0x10}', '{"a":NaN}', '{"a":Infinity}', '{"a":True}', '{"a":1/**/}', '{"a":"\\x41"}', '{"a":"\\u00g0"}', '{"a" 1}']
      .map((odd) => [`28 no JSON: ${odd}`, call(`"name":"danger","arguments":${odd}`), -32700]),
    ['28 two messages in one', `${call('"name":"echo"')}${call(danger, '2')}`, -32700],
    ['28 text behind it', `${call(danger)}x`, -32700],
    ['28 half of it', call(danger).slice(0, -3), -32700],
  ];
};

for (const front of FRONTS) {
  describe(`28 parser differentials, ${front}`, () => {
    const world = suitePair(front, 'http', { policy: POLICY });
    const modern = front.startsWith('modern');
    const meta = modern ? `"_meta":${JSON.stringify(modernMeta())}` : '';
    const headers = (name = 'echo') => (modern ? { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': name } : {});
    const call = (method, name, inner = '') => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"name":"${name}","arguments":{}${inner}${meta && `,${meta}`}}}`;

    test('each is refused, with its code', async () => {
      const seen = await watch(world);
      for (const [what, message, plain, mirrored = plain] of payloads(meta)) {
        const code = front === 'modern-http' ? mirrored : plain;
        const outcome = await attempt(front, world, message, headers());
        assert.equal(outcome.code, code, `${what}: ${JSON.stringify(outcome.json)}`);
        if (!front.endsWith('stdio') && outcome.status !== 200) assert.equal(outcome.status, 400, what);
      }
      await world.peer.request('vendor/barrier');
      // server/discover is sent by the gate, once, to find out which eras the server supports.
      assert.deepEqual(asked(await seen()).filter((method) => method !== 'server/discover'), ['vendor/barrier'], 'nothing else reached the server');
    });

    test('an invalid request is refused under its own id, with a status that does not end the session of a client', async () => {
      for (const [inner, code] of [['"a":1,"a":2', -32600], ['"a":"\\ud800"', -32600], ['"a":"\\u0000"', -32602], [`"a":${deep(70)}`, -32600], ['"a":"\xff"', -32600], ['"id":1,"id":2', -32600]]) {
        const message = Buffer.from(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{${inner}}${meta && `,${meta}`}},"id":"mine"}`, 'latin1');
        const outcome = await attempt(front, world, message, headers());
        assert.deepEqual([outcome.id, outcome.code], ['mine', code], inner);
        if (!front.endsWith('stdio')) assert.equal(outcome.status, 200, inner);
      }
      // An answer, or a message with two ids, is not a request.
      for (const message of ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', '{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}']) {
        const outcome = await attempt(front, world, message, headers());
        assert.deepEqual([outcome.id, outcome.code], [null, -32600], message);
      }
    });

    test('depth 64 and distinct keys of 64 KB pass unchanged', async () => {
      const seen = await watch(world);
      const long = 'k'.repeat(65536);
      const args = `{"${long}1":1,"${long}2":2,"d":${deep(60)}}`;
      const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${args}${meta && `,${meta}`}}}`;
      assert.equal((await attempt(front, world, message, headers())).code, undefined);
      assert.ok((await seen('tools/call'))[0].raw.includes(args));
    });

    test('escapes hide neither the method nor the name from the policy', async () => {
      const seen = await watch(world);
      for (const [method, name] of [
        ['tools/call', 'd\\u0061nger'], ['tools/c\\u0061ll', 'danger'], ['\\u0074\\u006f\\u006f\\u006c\\u0073\\u002f\\u0063\\u0061\\u006c\\u006c', '\\u0064\\u0061\\u006e\\u0067\\u0065\\u0072'],
        ['tools\\/call', 'danger'],
      ]) {
        const { json } = await attempt(front, world, call(method, name), headers('danger'));
        assert.equal(json.result?.isError, true, `${method} ${name}: ${JSON.stringify(json)}`);
        assert.equal(json.result._meta['sallyport/denial'].rule, 'never');
      }
      await world.peer.request('vendor/barrier');
      assert.deepEqual(asked(await seen()), ['vendor/barrier']);
    });

    test('look-alike tool names are denied', async () => {
      const seen = await watch(world);
      for (const name of ['danger\u200b', 'd\u0430nger', '\u202edanger', 'danger\u00a0', '\uff44anger', 'dange\u0072\u0301']) {
        const { json } = await attempt(front, world, call('tools/call', name), headers(`=?base64?${Buffer.from(name).toString('base64')}?=`));
        assert.equal(json.result?.isError, true, `${JSON.stringify(name)}: ${JSON.stringify(json)}`);
      }
      assert.equal((await seen('tools/call')).length, 0);
    });

    test('a tool call without an id is still a tool call', async () => {
      const seen = await watch(world);
      await world.peer.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"danger","arguments":{}${meta && `,${meta}`}}}`, { headers: headers('danger') });
      await world.peer.request('vendor/barrier');
      assert.deepEqual(asked(await seen()), ['vendor/barrier']);
    });
  });
}

describe('28 smuggled requests', () => {
  const world = suitePair('http', 'http', { policy: POLICY });
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const lines = () => ({ 'Content-Type': 'application/json', Accept: '*/*', ...world.peer.headersFor() });
  // What must never be taken for a request of its own.
  const inner = () => formatRequest('POST', world.gate.url, { headers: lines(), body: { jsonrpc: '2.0', id: 666, method: 'vendor/smuggled' } }).toString();
  const head = (extra, { line = 'POST /mcp HTTP/1.1', host = `Host: 127.0.0.1:${world.gate.port}\r\n`, length = '' } = {}) =>
    `${line}\r\n${host}${Object.entries(lines()).map(([name, value]) => `${name}: ${value}\r\n`).join('')}${length}${extra}\r\n`;
  const sized = (extra, options) => head(extra, { ...options, length: `Content-Length: ${ping.length}\r\n` }) + ping + inner();
  const chunk = (size, data = ping) => `${head('Transfer-Encoding: chunked\r\n')}${size}\r\n${data}\r\n0\r\n\r\n${inner()}`;
  const hex = ping.length.toString(16);

  const cases = () => ({
    'length and chunks': `${head(`Content-Length: 6\r\nTransfer-Encoding: chunked\r\n`)}0\r\n\r\n${inner()}`,
    'chunks and length': `${head(`Transfer-Encoding: chunked\r\nContent-Length: ${ping.length}\r\n`)}${hex}\r\n${ping}\r\n0\r\n\r\n${inner()}`,
    'two lengths': sized(`Content-Length: ${ping.length + inner().length}\r\n`),
    'the same length twice': sized(`Content-Length: ${ping.length}\r\n`),
    'a list of lengths': `${head(`Content-Length: ${ping.length}, ${ping.length}\r\n`)}${ping}${inner()}`,
    ...Object.fromEntries(['+40', '-1', '0x28', '4 0', '', '40abc', '99999999999999999999999', '٤٠', '4e1'].map((length) => [`length ${length}`, `${head(`Content-Length: ${length}\r\n`)}${ping}${inner()}`])),
    ...Object.fromEntries(['xchunked', 'chunked, identity', 'gzip, chunked', 'chunked, chunked', 'identity', '', 'chunked;a=b', '\x0bchunked', '"chunked"']
      .map((coding) => [`transfer coding ${JSON.stringify(coding)}`, `${head(`Transfer-Encoding: ${coding}\r\n`)}${hex}\r\n${ping}\r\n0\r\n\r\n${inner()}`])),
    'two transfer codings': `${head('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n')}${hex}\r\n${ping}\r\n0\r\n\r\n${inner()}`,
    'a folded header': sized('X-A: 1\r\n Transfer-Encoding: chunked\r\n'),
    'a folded transfer coding': `${head('Transfer-Encoding:\r\n chunked\r\n')}${hex}\r\n${ping}\r\n0\r\n\r\n${inner()}`,
    'bare LF': sized('').replaceAll('\r\n', '\n'),
    'one bare LF': sized('X-A: 1\nX-B: 2\r\n'),
    'a bare CR': sized('X-A: 1\rX-B: 2\r\n'),
    'a space before the colon': `${head(`Content-Length : ${ping.length}\r\n`)}${ping}${inner()}`,
    'a tab before the colon': sized('Transfer-Encoding\t: chunked\r\n'),
    'a space in front of the first header': sized('', { host: ` Host: 127.0.0.1\r\n` }),
    'no name': sized(': v\r\n'),
    'no colon': sized('X-A\r\n'),
    'a NUL in a value': sized('X-A: a\0b\r\n'),
    'a control character in a value': sized('X-A: a\x01b\r\n'),
    'no Host': sized('', { host: '' }),
    'two Hosts': sized(`Host: 127.0.0.1\r\n`),
    'another host in the target': sized('', { line: 'POST http://evil.example/mcp HTTP/1.1' }),
    'two spaces in the request line': sized('', { line: 'POST  /mcp HTTP/1.1' }),
    'a tab in the request line': sized('', { line: 'POST\t/mcp HTTP/1.1' }),
    'a space in the target': sized('', { line: 'POST /mcp /x HTTP/1.1' }),
    'HTTP/1.2': sized('', { line: 'POST /mcp HTTP/1.2' }),
    'HTTP/2.0': sized('', { line: 'POST /mcp HTTP/2.0' }),
    'http/1.1': sized('', { line: 'POST /mcp http/1.1' }),
    'no version': sized('', { line: 'POST /mcp' }),
    'Expect of something else': sized('Expect: 200-ok\r\n'),
    'two session ids': sized(`Mcp-Session-Id: ${world.peer.sessionId}\r\n`),
    'two versions': sized('mcp-protocol-version: 2025-11-25\r\n'),
    'a chunk size with 0x': chunk(`0x${hex}`),
    'a chunk size with a sign': chunk(`+${hex}`),
    'a chunk size in blanks': chunk(` ${hex} `),
    'a chunk size that wraps': chunk(`10000000000000000${hex}`),
    'an empty chunk size': chunk(''),
    'a chunk size that is a word': chunk('xyz'),
    'a chunk longer than said': chunk((ping.length - 2).toString(16)),
    'a chunk line with a bare LF': `${head('Transfer-Encoding: chunked\r\n')}${hex}\n${ping}\r\n0\r\n\r\n${inner()}`,
    'a bare LF in a chunk extension': `${head('Transfer-Encoding: chunked\r\n')}${hex};a\nb\r\n${ping}\r\n0\r\n\r\n${inner()}`,
    'no end behind a chunk': `${head('Transfer-Encoding: chunked\r\n')}${hex}\r\n${ping}XX0\r\n\r\n${inner()}`,
    'HTTP/1.0 with chunks': `${head('Transfer-Encoding: chunked\r\n', { line: 'POST /mcp HTTP/1.0' })}${hex}\r\n${ping}\r\n0\r\n\r\n${inner()}`,
  });

  test('each is refused, its connection is closed, and the hidden request is not executed', async () => {
    for (const [what, text] of Object.entries(cases())) {
      const seen = await watch(world);
      const connection = await HttpConnection.open(world.gate.url);
      connection.write(Buffer.from(text, 'latin1'));
      const response = await connection.response();
      assert.ok(response === null || (response.status >= 400 && response.status < 600), `${what}: ${response?.status}`);
      if (response) {
        const body = await response.text().catch(() => '');
        assert.doesNotMatch(body, /"id":666/, what);
        const rest = await connection.readSome().catch(() => null);
        assert.equal(rest, null, `${what}: ${response.status}, then ${rest}`);
      }
      connection.close();
      assert.deepEqual(await seen('vendor/smuggled'), [], what);
    }
    assert.deepEqual((await world.peer.request('ping')), {}, 'others are served');
  });

  test('bytes after a body of the declared length are the next request', async () => {
    const connection = await HttpConnection.open(world.gate.url);
    connection.write(`${head('', { length: `Content-Length: ${ping.length}\r\n` })}${ping}${inner()}`);
    assert.equal((await (await connection.response()).json()).id, 1);
    assert.equal((await (await connection.response()).json()).id, 666);
    connection.close();
  });

  test('22 requests from a page in a browser are refused', async () => {
    const { gate } = world;
    const body = { jsonrpc: '2.0', id: 1, method: 'vendor/rebound' };
    const seen = await watch(world);
    for (const headers of [{ Host: `evil.example:${gate.port}` }, { Origin: 'http://evil.example' }, { Origin: 'null' }, { Host: `127.0.0.1:${gate.port}`, Origin: `http://evil.example:${gate.port}` }]) {
      assert.equal((await post(gate.url, body, { headers: { ...world.peer.headersFor(), ...headers } })).status, 403, JSON.stringify(headers));
    }
    const preflight = await request('OPTIONS', gate.url, { headers: { Origin: 'http://evil.example', 'Access-Control-Request-Method': 'POST' } });
    assert.ok(preflight.status >= 400 && !preflight.rawHeaders.toLowerCase().includes('access-control'));
    // A form can send no other type without asking first.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      assert.equal((await post(gate.url, body, { headers: { ...world.peer.headersFor(), 'Content-Type': type } })).status, 415);
    }
    assert.deepEqual(asked(await seen()), []);
  });
});

describe('21 I1 I2 sessions of other clients', () => {
  test('almost correct session ids are unknown', async (t) => {
    const { gate, peer } = await pair(t, 'http', 'http');
    const id = peer.sessionId;
    const flipped = [...id].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('');
    for (const wrong of [id.slice(0, -1), `${id}0`, flipped, id.split('').toReversed().join(''), `${id},${id}`, `${id}\t${id}`, '*', '0', 'null', '../x', `${id}%00`]) {
      if (wrong === id) continue;
      for (const method of ['POST', 'GET', 'DELETE']) {
        const response = await request(method, gate.url, {
          headers: { 'Mcp-Session-Id': wrong, Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' },
          ...(method === 'POST' && { body: peer.message('vendor/hijack', {}, 1) }),
        });
        assert.ok([400, 404].includes(response.status), `${method} ${wrong}: ${response.status}`);
      }
    }
    assert.deepEqual(await peer.request('ping'), {}, 'the session itself lives');
  });

  for (const back of ['child', 'http']) {
    test(`an answer to a request that was sent to another session is dropped, ${back}`, async (t) => {
      const { gate, peer } = await pair(t, 'http', back);
      const other = await peerFor('http', gate);
      const call = peer.ask('ask', { method: 'roots/list' }, { id: 'asks' });
      const question = await peer.next((json) => json?.method === 'roots/list');
      const before = await other.ask('seen');
      await other.respond(question.id, { result: { roots: [{ uri: 'file:///stolen' }] } });
      await other.respond(question.id, { error: { code: 1, message: 'no' } });
      const after = await other.ask('seen');
      assert.ok(!JSON.stringify(after.slice(before.length)).includes('stolen'), 'nor does it reach the one\'s own server');
      await peer.respond(question.id, { result: { roots: [] } });
      assert.deepEqual(await call, { roots: [] });
    });

    test(`a session cannot cancel a call of another by its id, ${back}`, async (t) => {
      const { gate, peer } = await pair(t, 'http', back);
      const other = await peerFor('http', gate);
      const held = peer.call('hold', { key: 'mine' }, { id: 7, meta: { progressToken: 7 } });
      if (back === 'http') await peer.request('ping');
      await other.notify('notifications/cancelled', { requestId: 7 });
      await other.request('vendor/barrier');
      await peer.call('release', { key: 'mine' });
      assert.equal((await held).content[0].text, 'held mine');
    });
  }

  test('a server that mixes up ids and tokens on its streams reaches no other session', async (t) => {
    const text = (value) => ({ content: [{ type: 'text', text: value }] });
    const calls = new Map();
    let bothHere;
    const both = new Promise((resolve) => { bothHere = resolve; });
    const server = use(t, await startUpstream(legacyServer({
      methods: {
        'tools/call': async ({ name, _meta }, { message, reply }) => {
          calls.set(name, { id: message.id, token: _meta.progressToken });
          if (calls.size === 2) bothHere();
          await both;
          const other = calls.get(name === 'a' ? 'b' : 'a');
          const stream = reply.sse();
          stream.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: other.token, progress: 1, message: `of ${name}` } });
          stream.send({ jsonrpc: '2.0', id: other.id, result: text(`forged by ${name}`) });
          stream.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: calls.get(name).token, progress: 2, message: `of ${name}` } });
          stream.send({ jsonrpc: '2.0', id: message.id, result: text(`for ${name}`) });
          stream.end();
        },
      },
    })));
    const gate = use(t, await startGate({ upstream: server.url }));
    const [a, b] = [await peerFor('http', gate), await peerFor('http', gate)];
    for (let i = 0; i < 5; i++) await b.request('tools/list'); // so that their ids on the other side differ
    const answers = await Promise.all([a.call('a', {}, { id: 1, meta: { progressToken: 't' } }), b.call('b', {}, { id: 1, meta: { progressToken: 't' } })]);
    assert.deepEqual(answers, [text('for a'), text('for b')]);
    for (const [peer, name] of [[a, 'a'], [b, 'b']]) {
      const said = peer.received.filter(({ json }) => json.method === 'notifications/progress').map(({ json }) => json.params);
      assert.deepEqual(said, [{ progressToken: 't', progress: 2, message: `of ${name}` }], `session ${name}`);
      assert.ok(!peer.received.some((entry) => entry.text.includes('forged')));
    }
  });
});
