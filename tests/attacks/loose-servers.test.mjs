// A server that reads arguments as loosely as real ones do: it folds keys as Go's encoding/json does, and coerces types
// and parses texts as the official Python SDK does. What it pays out is compared with what the policy allows.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { legacyServer, peerFor, startGate, startUpstream, use } from '../lib/index.mjs';

const TOOLS = [
  { name: 'pay', description: 'Pays', inputSchema: { type: 'object', properties: { amount: { type: 'integer' }, to: { type: 'array', items: { type: 'string' } } }, required: ['amount'] } },
  { name: 'unlisted_schema', description: 'Pays too', inputSchema: { type: 'object' } },
  { name: 'odd', description: 'Has a schema that nobody can read', inputSchema: { type: 'object', $recursiveRef: '#' } },
  { name: 'free', description: 'Nobody reads its arguments', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } },
];

const fold = (key) => key.normalize('NFKC').toLowerCase().replaceAll('ſ', 's').replaceAll('\u212a', 'k');
const number = (v) => (typeof v === 'string' ? Number(v.replaceAll('_', '')) : Array.isArray(v) && v.length === 1 ? number(v[0]) : Number(v));
function read(args) {
  const out = {};
  for (const [key, value] of Object.entries(args)) out[fold(key)] = value;
  const to = typeof out.to === 'string' && out.to.trim().startsWith('[') ? JSON.parse(out.to) : [out.to ?? []].flat();
  return { amount: number(out.amount ?? 0), to };
}

const executed = [];
const denyLarge = { deny_if: [{ name: 'large', conditions: [{ path: 'args.amount', op: 'gt', value: 100 }], on_missing: 'pass' }, { name: 'evil', conditions: [{ path: 'args.to[*]', op: 'ends_with', value: '@evil.org' }] }] };
const policy = { version: '1', default: 'deny', tools: { pay: denyLarge, unlisted_schema: denyLarge, odd: denyLarge, free: {} } };

describe('a server that reads loosely', { concurrency: 1 }, () => {
  let server;
  before(async () => {
    const call = ({ name, arguments: args }) => { executed.push({ name, ...read(args ?? {}), raw: args }); return { content: [{ type: 'text', text: 'done' }] }; };
    server = await startUpstream(legacyServer({ tools: TOOLS, methods: { 'tools/call': call } }));
  });
  after(() => server.close());

  async function connect(t, transport = 'http') {
    const peer = await peerFor(transport, use(t, await startGate({ transport, upstream: server.url, policy })));
    await peer.initialize();
    return peer;
  }

  const attacks = [
    { amount: 5000 }, { amount: '5000' }, { amount: '5e3' }, { amount: 'Infinity' }, { amount: [5000] }, { Amount: 5000 }, { AMOUNT: 5000, amount: 1 },
    { amount: 1, 'ａmount': 5000 }, { amount: '5_000' }, { amount: 1, to: ['x@evil.org'] }, { amount: 1, to: '["x@evil.org"]' }, { amount: 1, to: '["x\\u0040evil.org"]' },
    { amount: 1, To: ['x@evil.org'] }, { amount: 1, to: 'x@evil.org' }, { amount: 1, to: [['x@evil.org']] }, { amount: { valueOf: 5000 } }, { amount: true, Amount: 200 },
  ];
  for (const transport of ['stdio', 'http'])
    test(`never executes what the policy denies, over ${transport}`, async (t) => {
      const peer = await connect(t, transport);
      executed.length = 0;
      for (const name of ['pay', 'unlisted_schema', 'odd'])
        for (const args of attacks) {
          const { json } = await peer.exchange('tools/call', { name, arguments: args });
          assert.equal(json.result?.isError, true, `${name} ${JSON.stringify(args)}: ${JSON.stringify(json)}`);
          const denial = json.result._meta['sallyport/denial'];
          if (denial.reason !== 'rule') assert.ok(['schema', 'ambiguous_arguments'].includes(denial.reason) && (denial.path?.startsWith('args') || name === 'odd'), JSON.stringify(denial));
        }
      assert.deepEqual(executed, []);
      for (const args of [{ amount: 100 }, { amount: 5, to: ['a@example.org'] }, { amount: 1.0, note: 'x' }]) {
        const { json } = await peer.exchange('tools/call', { name: 'pay', arguments: args });
        assert.equal(json.result?.isError, undefined, JSON.stringify(json));
      }
      assert.equal(executed.length, 3);
    });

  test('is never asked for a tool by another spelling of a denied name', async (t) => {
    // As servers do that look tools up by name.trim().toLowerCase().
    const ran = [], tools = [{ name: 'delete_file', inputSchema: { type: 'object' } }, { name: 'read_file', inputSchema: { type: 'object' } }];
    const upstream = use(t, await startUpstream(legacyServer({ tools, methods: { 'tools/call': ({ name }) => { ran.push(fold(name.trim())); return { content: [] }; } } })));
    const denies = { version: '1', default: 'allow', tools: { delete_file: { action: 'deny' } }, hide: ['drop_*'] };
    const peer = await peerFor('http', use(t, await startGate({ transport: 'http', upstream: upstream.url, policy: denies })));
    await peer.initialize();
    for (const name of ['delete_file', 'Delete_File', 'DELETE_FILE', 'delete_file ', '\u00a0delete_file', 'delete_ﬁle', 'ＤELETE_FILE', 'Drop_table', 'drop_table\t'])
      await peer.exchange('tools/call', { name, arguments: {} });
    await peer.exchange('tools/call', { name: 'read_file', arguments: {} });
    assert.deepEqual(ran, ['read_file']);
  });

  test('gets arguments that no rule reads unchanged', async (t) => {
    const peer = await connect(t);
    executed.length = 0;
    const { json } = await peer.exchange('tools/call', { name: 'free', arguments: { n: 'five', N2: [1] } });
    assert.equal(json.result?.isError, undefined, JSON.stringify(json));
    assert.deepEqual(executed[0].raw, { n: 'five', N2: [1] });
  });

  test('never sees two keys that it would fold, anywhere in a request', async (t) => {
    const peer = await connect(t);
    const seen = executed.length;
    for (const params of [{ name: 'free', arguments: { a: [{ key: 1, Key: 2 }] } }, { name: 'free', arguments: {}, _meta: { x: 1, X: 2 } }, { name: 'free', arguments: {}, more: { sql: 1, 'ſql': 2 } }]) {
      const { json } = await peer.exchange('tools/call', params);
      assert.ok(json.error?.code === -32602 || json.result._meta['sallyport/denial'].reason === 'ambiguous_arguments', JSON.stringify(json));
    }
    assert.equal(executed.length, seen);
  });
});
