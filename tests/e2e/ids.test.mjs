// Ids and bytes (protocol.md 7.1): each hop has its own ids, and unedited bytes pass unchanged.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ALL_PAIRS, modernMeta, pair, peerFor, suitePair, watch } from '../lib/index.mjs';

for (const [front, back] of ALL_PAIRS) {
  const modern = front.startsWith('modern');
  describe(`${front} to ${back}`, () => {
    const world = suitePair(front, back);

    test('J1 ids keep their type and value; the server sees integers of the gate', async () => {
      const { peer } = world;
      const seen = await watch(world);
      for (const id of [0, 1, -7, 9007199254740991, '', 'a', '0', 'é"\\\n', 'x'.repeat(200)]) {
        assert.strictEqual((await peer.exchange('vendor/x', {}, { id })).json.id, id);
      }
      const ids = (await seen('vendor/x')).map((entry) => entry.id);
      assert.equal(ids.length, 9);
      assert.ok(ids.every(Number.isInteger), ids.join(' '));
      assert.equal(new Set(ids).size, 9, 'no id twice');
    });

    test('J1 ids that are null, fractions, booleans, objects or too large are refused', async () => {
      const { peer } = world;
      const seen = await watch(world);
      for (const id of ['null', '1.5', 'true', '[1]', '{}', '9007199254740993', '1e400']) {
        const text = JSON.stringify(peer.message('vendor/bad', {}, '$')).replace('"$"', id);
        const refused = peer.entry((json) => json?.error && json.id === null);
        if (front === 'sse') await assert.rejects(peer.send(text), /400/);
        else {
          await peer.send(text, { headers: modern ? { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'vendor/bad' } : {} });
          assert.ok([-32600, -32700].includes((await refused).json.error.code), id);
        }
      }
      await peer.request('vendor/good');
      assert.equal((await seen('vendor/bad')).length, 0);
    });

    test('J2 concurrent calls that are answered in any order each get their own answer', async () => {
      const { peer } = world;
      const count = 40;
      const keys = Array.from({ length: count }, (_, i) => `k${i}`);
      const held = keys.map((key) => peer.call('hold', { key }));
      for (const key of keys.toReversed()) await peer.call('release', { key });
      assert.deepEqual((await Promise.all(held)).map(({ content }) => content[0].text), keys.map((key) => `held ${key}`));
    });

    test('J2 answers without a request, and second answers, are dropped', async () => {
      const { peer } = world;
      const before = peer.received.length;
      await peer.call('echo');
      const last = peer.received.length;
      if (back === 'child') {
        for (const line of ['{"jsonrpc":"2.0","id":999999,"result":{}}', '{"jsonrpc":"2.0","id":"str","result":{}}', '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}']) {
          await peer.call('line', { text: `${line}\n{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}\n{"jsonrpc":"2.0","id":$ID,"result":{"content":["again"]}}` });
        }
      }
      await peer.call('echo');
      assert.ok(peer.received.slice(before).every(({ json }) => json.id !== 999999 && json.id !== 'str' && json.id !== null));
      assert.ok(!peer.received.slice(last).some(({ text }) => text.includes('again')));
    });

    test('J3 J4 unedited bytes pass unchanged in both directions, with keys in any order', async () => {
      const { peer } = world;
      const seen = await watch(world);
      const meta = modern ? `,"_meta":${JSON.stringify(modernMeta())}` : ',"_meta":{"x/y":[1.0,{"a":1}]}';
      const odd = '"b":1.0,"a":12345678901234567890,"e":1E+2,"\\u0063":"\\u00e9\\/","z":[ 1 ,2],"$schema":"s","x-y":null,"":-0';
      const request = `{"params":{"arguments":{${odd}},"na\\u006de":"ech\\u006f"${meta}},"method":"tools/c\\u0061ll", "vendor":[1.50], "jsonrpc":"2.0","id":"odd"}`;
      await peer.send(request, { headers: modern ? { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'echo' } : {} });
      await peer.next((json) => json?.id === 'odd');
      const [arrived] = await seen('tools/call');
      assert.equal(arrived.raw, request.replace('"odd"', `${arrived.id}`));

      const result = `{"result":{ "content":[],"structuredContent":{${odd}},"resultType":"complete","_meta":{"k":0.10}},"extra":{"q": 1.0},"jsonrpc":"2.0","id":$ID }`;
      const { text } = await peer.exchange('tools/call', { name: 'line', arguments: { text: result } }, { id: 'back' });
      assert.equal(text.trimEnd(), result.replace('$ID', '"back"'));
    });
  });
}

test('J2 two clients with the same ids, a thousand calls each, never cross', async (t) => {
  for (const front of ['http', 'modern-http']) {
    const { gate, peer } = await pair(t, front, 'http');
    const other = await peerFor(front, gate);
    const run = async (client, mark) => {
      for (let i = 0; i < 1000; i += 20) {
        const texts = await Promise.all(Array.from({ length: 20 }, (_, k) => client.ask('echo', { mark, n: i + k }, { id: i + k })));
        texts.forEach((said, k) => assert.deepEqual(said, { mark, n: i + k }));
      }
    };
    await Promise.all([run(peer, 'one'), run(other, 'two')]);
  }
});
