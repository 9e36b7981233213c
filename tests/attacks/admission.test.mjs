// Messages that two parsers could read differently (attack 28; protocol.md J3, J5): refused, with the right
// code, on every front, and never seen by the server.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cli, post, suitePair, tempDir, watch } from '../lib/index.mjs';

const call = (params, rest = '') => `{"jsonrpc":"2.0","id":66,"method":"tools/call","params":${params}${rest}}`;
const echo = '{"name":"echo","arguments":{}}';
const bytes = (...parts) => Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
const deep = (depth) => '['.repeat(depth) + ']'.repeat(depth);

const PAYLOADS = {
  'a duplicate name': call('{"name":"mark","name":"echo","arguments":{}}'),
  'a duplicate name, escaped': call('{"name":"mark","n\\u0061me":"echo","arguments":{}}'),
  'duplicate params': `{"jsonrpc":"2.0","id":66,"method":"tools/call","params":${echo},"params":{"name":"mark"}}`,
  'a duplicate method': '{"jsonrpc":"2.0","id":66,"method":"ping","method":"tools/call","params":{}}',
  'a duplicate id': '{"jsonrpc":"2.0","id":66,"id":67,"method":"ping"}',
  'a duplicate deep inside the arguments': call('{"name":"echo","arguments":{"a":[{"b":1,"b":2}]}}'),
  'a duplicate in _meta': call('{"name":"echo","arguments":{},"_meta":{"a":1,"a":2}}'),
  'a batch': `[${call(echo)}]`,
  'an empty batch': '[]',
  'a batch inside space': ` \t [${call(echo)},${call(echo)}] `,
  'two messages at once': `${call(echo)}${call(echo)}`,
  'a message and more': `${call(echo)} x`,
  'a comment': `${call(echo).slice(0, -1)}/* x */}`,
  'a trailing comma': `${call(echo).slice(0, -1)},}`,
  'single quotes': "{'jsonrpc':'2.0','id':66,'method':'ping'}",
  'NaN': call('{"name":"echo","arguments":{"n":NaN}}'),
  'Infinity': call('{"name":"echo","arguments":{"n":Infinity}}'),
  'a leading zero': call('{"name":"echo","arguments":{"n":01}}'),
  'a bare control character': call('{"name":"echo","arguments":{"t":"a\u0001b"}}'),
  'an escaped NUL': call('{"name":"ec\\u0000ho","arguments":{}}'),
  'an escaped NUL in an argument': call('{"name":"echo","arguments":{"p":"/etc/passwd\\u0000.txt"}}'),
  'a lone surrogate': call('{"name":"echo","arguments":{"t":"\\ud800"}}'),
  'a lone low surrogate': call('{"name":"echo","arguments":{"t":"\\udc00x"}}'),
  'bad UTF-8': bytes(call('{"name":"echo","arguments":{"t":"').slice(0, -1), [0xff, 0xfe], '"}}}'),
  'overlong UTF-8': bytes(call('{"name":"echo","arguments":{"t":"').slice(0, -1), [0xc0, 0xaf], '"}}}'),
  'a surrogate in UTF-8': bytes(call('{"name":"echo","arguments":{"t":"').slice(0, -1), [0xed, 0xa0, 0x80], '"}}}'),
  'a raw NUL': bytes(call('{"name":"echo","arguments":{"t":"').slice(0, -1), [0], '"}}}'),
  'UTF-16': Buffer.from(call(echo), 'utf16le'),
  'a depth bomb': call(`{"name":"echo","arguments":{"d":${deep(100)}}}`),
  'a deeper one': call(`{"name":"echo","arguments":{"d":${deep(100000)}}}`),
  'no closing': '{"a":'.repeat(1000),
  'no version': '{"id":66,"method":"tools/call","params":{"name":"echo"}}',
  'another version': '{"jsonrpc":"1.0","id":66,"method":"ping"}',
  'keys in the wrong case': '{"JSONRPC":"2.0","Id":66,"Method":"ping"}',
  'a method that is no text': '{"jsonrpc":"2.0","id":66,"method":1}',
  'params that are a list': '{"jsonrpc":"2.0","id":66,"method":"tools/call","params":["echo",{}]}',
  'both method and result': '{"jsonrpc":"2.0","id":66,"method":"ping","result":{}}',
  'both result and error': '{"jsonrpc":"2.0","id":66,"result":{},"error":{"code":1,"message":"x"}}',
  'arguments that are a list': call('{"name":"echo","arguments":[]}'),
  'arguments that are a text': call('{"name":"echo","arguments":"{}"}'),
  'arguments that are null': call('{"name":"echo","arguments":null}'),
  'a name that is no text': call('{"name":["echo"],"arguments":{}}'),
  'no name': call('{"arguments":{}}'),
  'no params': '{"jsonrpc":"2.0","id":66,"method":"tools/call"}',
  'a name that is too long': call(`{"name":"${'n'.repeat(5000)}","arguments":{}}`),
  'a number without end': call(`{"name":"echo","arguments":{"n":${'9'.repeat(5000)}}}`),
};

for (const [front, back] of [['http', 'http'], ['stdio', 'child'], ['sse', 'child']]) {
  describe(`over ${front}`, () => {
    const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
    const world = suitePair(front, back, { env });
    const denials = async () => (await cli(['audit', 'query', '--verdict', 'deny', '--limit', '1000', '--json'], { env })).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    let refused = 0;

    for (const [name, payload] of Object.entries(PAYLOADS)) {
      test(`28 ${name}`, async () => {
        const { peer } = world;
        if (front === 'stdio' && Buffer.from(payload).includes(10)) return; // two lines there, and that is another test
        const seen = await watch(world);
        let error;
        refused++;
        if (front === 'stdio') {
          await peer.send(payload);
          ({ error } = await peer.next((json) => json?.error));
        } else {
          const url = front === 'sse' ? peer.endpoint : peer.url;
          const response = await post(url, payload, { headers: peer.headersFor?.() ?? {} });
          // The older transport has said 202 by the time the arguments are looked at.
          const answer = response.status === 202 ? await peer.next((json) => json?.error) : await response.json();
          ({ error } = answer);
          // 200 only where the refusal names its request.
          if (response.status !== 202) assert.ok(response.status === 400 || (response.status === 200 && answer.id === 66), `${response.status}`);
        }
        assert.ok([-32700, -32600, -32602].includes(error.code), JSON.stringify(error));
        await peer.request('vendor/after');
        assert.deepEqual((await seen()).filter(({ method }) => method === 'tools/call' || method === 'ping').map(({ raw }) => raw).filter((raw) => !raw.includes('"seen"')), []);
      });
    }

    test('28 each refused message leaves one audit record with the reason', async () => {
      const found = await denials();
      assert.equal(found.length, refused);
      for (const record of found) {
        assert.ok(record.text && record.identity && record.server, JSON.stringify(record));
        assert.match(`${record.reason} ${record.rule}`, /^(malformed \(malformed\)|refused \(refused\))$/);
      }
      const texts = new Set(found.map(({ text }) => text));
      for (const why of ['duplicate key in an object', 'nested too deeply', 'invalid UTF-8', 'batches are not supported', 'params.arguments must be an object']) assert.ok(texts.has(why), `${why}: ${[...texts].join('; ')}`);
      assert.deepEqual(found.filter(({ reason }) => reason === 'refused').map(({ method }) => method).filter((method) => method !== 'tools/call'), []);
    });

    if (front === 'http') test('a body over the size limit leaves an audit record', async () => {
      const before = (await denials()).length;
      const response = await post(world.peer.url, '', { headers: { ...world.peer.headersFor?.(), 'content-length': `${1 << 30}` } });
      assert.equal(response.status, 413);
      const [newest, ...rest] = await denials();
      assert.deepEqual([rest.length, newest.reason, newest.text], [before, 'malformed', 'the message is too large']);
    });

    test('28 J3 unambiguous forms of the same messages pass', async () => {
      const { peer } = world;
      for (const [i, payload] of [
        `\ufeff${call(echo)}`, call('{"n\\u0061me":"ech\\u006f","arguments":{"a":{"b":1},"c":{"b":2}}}'), call(`{"name":"echo","arguments":{"d":${deep(50)}}}`),
        call('{"name":"echo","arguments":{"t":"\\ud83d\\ude00 😀"}}'), ` ${call(echo)} `,
      ].entries()) {
        if (i === 0) continue; // a byte order mark: either is fine, and the strict tape decides
        const exchange = peer.next((json) => json?.id === 66 || json?.error);
        await peer.send(payload);
        assert.ok((await exchange).result, payload.slice(0, 80));
      }
    });
  });
}
