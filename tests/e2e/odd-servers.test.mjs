// Servers that are almost right. What clients accept from them without the gate, they accept through it, and no caller waits for an
// answer that cannot be read.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HttpPeer, LegacyHttp, StdioPeer, cli, legacyServer, policyFile, rawStdio, resultOf, startGate, startServe, startUpstream, until, use } from '../lib/index.mjs';

const said = (text) => ({ content: [{ type: 'text', text }] });

// Each is the rest of an answer, behind the envelope and the id; @ID stands for the id, @OK for a result.
const FINE = {
  'error: null beside the result': '"id":@ID,"result":@OK,"error":null',
  'every member of the envelope': '"id":@ID,"method":null,"params":null,"result":@OK,"error":null',
  'the id as a string': '"id":"@ID","result":@OK',
  'members that nobody knows': '"id":@ID,"result":@OK,"trace":[1]',
};
const MENDED = {
  'half a surrogate pair': ['\\ud83d!', '\ufffd!'],
  'the other half': ['\\ude00!', '\ufffd!'],
  'a whole pair': ['\\ud83d\\ude00', '😀'],
  'U+0000': ['a\\u0000b', 'a\0b'],
};
const UNREADABLE = {
  'a duplicate key': ['"id":@ID,"result":{"content":[{"type":"text","text":"a","text":"b"}]}', /duplicate key/],
  'too deep': [`"id":@ID,"result":{"structuredContent":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`, /nested too deeply/],
  'a list as the result': ['"id":@ID,"result":[1]', /must be objects/],
  'neither result nor error': '"id":@ID',
  'result and error': '"id":@ID,"result":{},"error":{"code":1,"message":"x"}',
  'a number that is none': ['"id":@ID,"result":{"n":NaN}', /not valid JSON/],
};

const lines = (text) => `{"jsonrpc":"2.0",${text}}`;
// Without `$`, which names a variable in sallyport.yaml.
const child = rawStdio(async (io) => {
  const line = (text, id) => io.raw(text.replaceAll('@ID', id).replaceAll('@OK', '{"content":[{"type":"text","text":"fine"}]}') + String.fromCharCode(10));
  await io.serve({
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {}, logging: {}, resources: {} }, serverInfo: { name: 'odd', version: '1' } }),
    'tools/list': () => ({ tools: [{ name: 'say', inputSchema: { type: 'object' } }] }),
    'resources/list': () => ({ resources: null }),
    'logging/setLevel': (_, { id }) => { line('{"jsonrpc":"2.0","id":@ID,"result":null}', id); },
    'tools/call': ({ arguments: args }, { id }) => {
      if (!args) return { content: [{ type: 'text', text: args === null ? 'null' : 'none' }] };
      if (args.bytes) io.raw(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[{"type":"text","text":"'), Buffer.from(args.bytes, 'hex'), Buffer.from('"}]}}\n')]));
      else line(args.text, id);
      return undefined;
    },
  });
});

for (const many of [false, true]) {
  describe(`a child, ${many ? 'one of several at /mcp' : 'wrapped'}`, () => {
    let gate, client;
    const tool = many ? 'a__say' : 'say';
    const say = (text) => client.call(tool, { text: lines(text) });
    before(async () => {
      const [command, ...args] = child;
      gate = many
        ? await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { a: { command, args }, b: { command, args } } } })
        : await startGate({ command: child });
      client = await LegacyHttp.open(gate.url);
    });
    after(() => gate?.stop());

    for (const [what, text] of Object.entries(FINE)) {
      test(`answers with ${what}`, async () => assert.deepEqual(await say(text), said('fine')));
    }
    for (const [what, [text, expected]] of Object.entries(MENDED)) {
      test(`a result with ${what}`, async () => assert.deepEqual(await say(`"id":@ID,"result":{"content":[{"type":"text","text":"${text}"}]}`), said(expected)));
    }
    test('a result in Latin-1, or with a character that was cut', async () => {
      assert.deepEqual(await client.call(tool, { bytes: '636166e9' }), said('caf\ufffd'));
      assert.deepEqual(await client.call(tool, { bytes: 'e282' }), said('\ufffd\ufffd'));
    });
    for (const [what, row] of Object.entries(UNREADABLE)) {
      test(`${what}: an error that says so, immediately`, async () => {
        const [text, why] = [row].flat();
        const { answer } = await client.exchange('tools/call', { name: tool, arguments: { text: lines(text) } });
        assert.equal(answer.error?.code, -32603, JSON.stringify(answer));
        assert.match(answer.error.message, /^server `.*` sent an answer that cannot be read: /);
        assert.match(answer.error.message, why ?? /result/);
      });
    }
    test('error: null and a real error', async () => {
      const { answer } = await client.exchange('tools/call', { name: tool, arguments: { text: lines('"id":@ID,"result":null,"error":{"code":-32602,"message":"no"}') } });
      assert.deepEqual(answer.error, { code: -32602, message: 'no' });
    });
    test('an empty result as null, and an empty list as null', async () => {
      assert.deepEqual(await client.request('logging/setLevel', { level: 'info' }), {});
      const { resources } = await client.request('resources/list');
      assert.deepEqual(resources ?? [], []);
    });
    test('params, cursor and progressToken that are null count as absent', async () => {
      const raw = async (message) => resultOf(JSON.parse(await (await client.post(message)).text()));
      assert.ok((await raw('{"jsonrpc":"2.0","id":"p1","method":"tools/list","params":null}')).tools.length);
      assert.ok((await raw('{"jsonrpc":"2.0","id":"p2","method":"tools/list","params":{"cursor":null}}')).tools.length);
      assert.deepEqual(await raw(`{"jsonrpc":"2.0","id":"p4","method":"tools/call","params":{"name":"${tool}","_meta":{"progressToken":null}}}`), said('none'));
      assert.equal((await client.post('{"jsonrpc":"2.0","method":"notifications/initialized","params":null}')).status, 202);
    });
    if (!many) return; // the server answers
    test('a level that does not exist is refused where the gate answers', async () => {
      const { answer } = await client.exchange('logging/setLevel', { level: 'loud' });
      assert.equal(answer.error?.code, -32602, JSON.stringify(answer));
    });
  });
}

// ---- over HTTP ----

const result = (id, text) => JSON.stringify({ jsonrpc: '2.0', id, result: said(text) });
const OVER_HTTP = {
  '201 with the answer': (reply, id) => reply.text(result(id, 'fine'), { status: 201, headers: { 'Content-Type': 'application/json' } }),
  'a byte-order mark': (reply, id) => reply.text(`\ufeff${result(id, 'fine')}`, { headers: { 'Content-Type': 'application/json' } }),
  'the id as a string': (reply, id) => reply.text(result(`${id}`, 'fine'), { headers: { 'Content-Type': 'application/json' } }),
  '202, and the answer on the standing stream': async (reply, id, standing) => {
    await until('a standing stream', standing);
    reply.status(202);
    standing().send(result(id, 'fine'));
  },
  'a stream that stays open after half a surrogate pair': (reply, id) => reply.sse().send(result(id, 'fine').replace('"fine"', '"fine\\ud83d"')),
};

describe('over HTTP', () => {
  let server, gate, client, streams, held;
  before(async () => {
    streams = [];
    const standing = () => streams.at(-1);
    const plain = legacyServer({
      sessionId: 's',
      methods: {
        'tools/call': ({ name }, { reply, message }) => {
          if (name === 'refused') reply.json({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no id' } }, { status: 400 });
          else if (name === 'nobody') reply.json({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no id' } });
          else if (name === 'held') held = { id: message.id, stream: reply.sse() };
          else if (name === 'both') {
            const stream = reply.sse();
            stream.send(result(held.id, 'of the first'));
            stream.send(result(message.id, 'of the second'));
            stream.end();
          } else OVER_HTTP[name](reply, message.id, standing);
          return undefined;
        },
      },
    });
    server = await startUpstream((request, reply) => (request.method === 'GET' ? streams.push(reply.sse()) : plain(request, reply)));
    gate = await startGate({ upstream: server.url });
    client = await LegacyHttp.open(gate.url);
    await client.listen();
  });
  after(async () => { await gate?.stop(); await server?.close(); });

  for (const what of Object.keys(OVER_HTTP)) {
    test(what, async () => assert.match((await client.call(what)).content[0].text, /^fine\ufffd?$/));
  }

  test('an answer on the stream of another request', async () => {
    const first = client.call('held');
    await until('the first call at the server', () => held);
    assert.deepEqual(await client.call('both'), said('of the second'));
    assert.deepEqual(await first, said('of the first'));
  });

  for (const name of ['refused', 'nobody']) {
    test(`an error without an id is answered under the id of its call, once (${name})`, async () => {
      const text = await (await client.send('tools/call', { name, arguments: {} })).text();
      assert.equal(text.match(/"id":/g).length, 1, text);
      assert.notEqual(JSON.parse(text).id, null);
      assert.equal(JSON.parse(text).error.message, 'no id');
    });
  }

  test('a standing stream that ends permanently fails the requests that would be answered on it', async (t) => {
    let gets = 0, stream;
    const handler = legacyServer({ sessionId: 's', methods: { 'tools/call': async (_, { reply }) => {
      await until('a standing stream', () => stream);
      reply.status(202);
      stream.raw('retry: 10\n\n');
      stream.end();
    } } });
    const forgetful = use(t, await startUpstream((request, reply) => {
      if (request.method !== 'GET') return handler(request, reply);
      if (gets++) return reply.status(405);
      stream = reply.sse();
      return undefined;
    }));
    const other = use(t, await startGate({ upstream: forgetful.url }));
    const peer = await LegacyHttp.open(other.url);
    await peer.listen();
    const { answer } = await peer.exchange('tools/call', { name: 'x', arguments: {} });
    assert.match(answer.error?.message ?? JSON.stringify(answer), /ended the stream before it answered|sent no response/);
  });
});

// ---- lists that never end ----

const stuck = rawStdio(async (io) => {
  const asked = {};
  const count = (method, result) => { asked[method] = (asked[method] ?? 0) + 1; return result; };
  await io.serve({
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {}, prompts: {}, resources: {} }, serverInfo: { name: 'stuck', version: '1' } }),
    'tools/list': () => count('tools', { tools: [{ name: 'asked', inputSchema: { type: 'object' } }], nextCursor: '' }),
    'prompts/list': () => count('prompts', { prompts: [{ name: 'one' }], nextCursor: 'same' }),
    'resources/list': ({ cursor } = {}) => count('resources', cursor === undefined ? { resources: [{ name: 'a', uri: 'x://a' }], nextCursor: '' }
      : cursor === '' ? { resources: [], nextCursor: 'more' } : { resources: [{ name: 'b', uri: 'x://b' }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: JSON.stringify(asked) }] }),
  });
});

test('a list that ends with an empty cursor, or repeats its page, has each element once', async (t) => {
  const [command, ...args] = stuck;
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { a: { command, args } } } }));
  const client = await LegacyHttp.open(gate.url);
  const names = async (method, list) => (await client.request(method))[list].map(({ name }) => name);
  assert.deepEqual(await names('tools/list', 'tools'), ['a__asked']);
  assert.deepEqual(await names('prompts/list', 'prompts'), ['a__one']);
  assert.deepEqual(await names('resources/list', 'resources'), ['a', 'b']); // an empty cursor and an empty page may be real ones
  const { tools, prompts } = JSON.parse((await client.call('a__asked')).content[0].text);
  assert.ok(tools <= 6 && prompts === 2, JSON.stringify({ tools, prompts }));
});

test('scan reads such a list, too', async () => {
  const { code, stdout, stderr } = await cli(['scan', '--format', 'json', '--', ...stuck]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout.match(/"asked"/g)?.length, 1, stdout);
});

// ---- answers of clients ----

const asking = rawStdio((io) => {
  let answered;
  return io.serve({
    response: (message) => answered(message),
    'tools/call': async () => {
      const answer = new Promise((resolve) => { answered = resolve; });
      await io.send({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } } });
      const { error, result } = await answer;
      return { content: [{ type: 'text', text: JSON.stringify(error ?? result) }] };
    },
  });
});

for (const transport of ['http', 'stdio']) {
  test(`a client's answer that cannot be read is an error for the server that asked, over ${transport}`, async (t) => {
    const gate = use(t, await startGate({ transport, command: asking }));
    const peer = await (transport === 'stdio' ? new StdioPeer(gate) : new HttpPeer(gate.url)).initialize();
    for (const inner of ['"content":{"name":"\\ud83d"}', '"content":{"name":"a","name":"b"}', '"content":{"name":"a\\u0000"}']) {
      const call = peer.call('ask');
      const { id } = await peer.next((message) => message?.method === 'elicitation/create');
      const sent = await peer.send(`{"jsonrpc":"2.0","id":${id},"result":{"action":"accept",${inner}}}`);
      if (sent) assert.equal(sent.status, 202);
      assert.match((await call).content[0].text, /"code":-32603,"message":"the client's answer cannot be read: /);
    }
  });
}
