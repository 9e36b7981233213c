// Every channel from a server to a client is filtered: answers, errors, log messages, progress, questions in
// either era, what code prints; and what results held, as labels of a policy's flows.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  LegacyHttp, ModernHttp, cli, legacyServer, policyFile, request, startFixture, startGate, startServe, startUpstream, tempDir, tempFile,
  use,
} from '../lib/index.mjs';

const EMAIL = 'anna.berg@example.org';
const KEY = 'ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6';
const TOKEN = (kind) => new RegExp(`\\[${kind}_[0-9A-HJKMNP-TV-Z]{8}\\]`);
const clean = (value) => {
  const seen = JSON.stringify(value);
  assert.ok(!seen.includes(EMAIL) && !seen.includes(KEY), seen);
  assert.match(seen, TOKEN('EMAIL'));
};

test('notifications and questions of the legacy era, on the stream of a call', async (t) => {
  const said = (progressToken) => [
    { method: 'notifications/message', params: { level: 'info', logger: 'x', data: { note: `for ${EMAIL}`, key: KEY } } },
    { method: 'notifications/message', params: { level: 'error', data: `${EMAIL} failed` } },
    { method: 'notifications/progress', params: { progressToken, progress: 1, message: `sent to ${EMAIL}` } },
    { id: 'q1', method: 'elicitation/create', params: { message: `Is ${EMAIL} right?`, requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } } },
    { id: 'q2', method: 'sampling/createMessage', params: { maxTokens: 5, systemPrompt: `key ${KEY}`, messages: [{ role: 'user', content: { type: 'text', text: `Greet ${EMAIL}` } }] } },
  ];
  const methods = {
    'tools/call': ({ _meta }, { reply, message }) => {
      const stream = reply.sse();
      for (const one of said(_meta.progressToken)) stream.send(JSON.stringify({ jsonrpc: '2.0', ...one }));
      stream.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text: EMAIL }] } }));
      stream.end();
    },
  };
  const upstream = use(t, await startUpstream(legacyServer({ methods, capabilities: { tools: {}, logging: {} } })));
  const policy = { version: '1', default: 'allow', methods: { 'sampling/createMessage': 'allow' } };
  const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, args: ['--pii', 'tokenize'], policy }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: { sampling: {}, elicitation: {} }, clientInfo: { name: 't', version: '1' } });
  gate.rpc.notify('notifications/initialized');
  gate.rpc.send({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'x', arguments: {}, _meta: { progressToken: 'p' } } });
  clean(await gate.rpc.next((json) => json.id === 'c'));
  const lines = gate.child.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((json) => json.method);
  assert.deepEqual(lines.map(({ method }) => method), said('p').map(({ method }) => method));
  for (const line of lines) clean(line);
  assert.match(JSON.stringify(lines[0]), TOKEN('SECRET'));
});

// A question changes its form on the way from a server of one era to a client of the other.
describe('questions between the eras', () => {
  const servers = {};
  const gates = {};
  before(async () => {
    for (const era of ['legacy', 'modern']) {
      const { url: upstream } = servers[era] = await startFixture('conformance.mjs', '--era', era);
      const policy = { version: '1', default: 'allow', methods: { 'sampling/createMessage': 'allow' } };
      for (const mode of ['tokenize', 'block']) gates[`${era}-${mode}`] = await startGate({ upstream, args: ['--pii', mode, '--pii-arguments', 'off'], policy });
    }
  });
  after(async () => { for (const one of [...Object.values(gates), ...Object.values(servers)]) await one.stop(); });

  const capabilities = { elicitation: {}, sampling: {} };
  const answers = { 'elicitation/create': { action: 'accept', content: { username: 'u', email: 'e', name: 'n', ok: true } }, 'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } } };
  const elicit = { name: 'test_elicitation', arguments: { message: `Is ${EMAIL} right?` } };
  const sample = { name: 'test_sampling', arguments: { prompt: `Greet ${EMAIL} with ${KEY}` } };

  for (const era of ['legacy', 'modern']) {
    test(`a modern client and a server of the ${era === 'legacy' ? 'older' : 'newer'} era`, async () => {
      const client = new ModernHttp(gates[`${era}-tokenize`].url, { capabilities });
      for (const params of [elicit, sample]) {
        const asked = await client.request('tools/call', params);
        assert.equal(asked.resultType, 'input_required');
        clean(asked.inputRequests);
        const inputResponses = Object.fromEntries(Object.entries(asked.inputRequests).map(([key, { method }]) => [key, answers[method]]));
        const done = await client.request('tools/call', { ...params, requestState: asked.requestState, inputResponses });
        assert.match(done.content[0].text, /action=accept|sampled/);
      }
    });
  }

  test('a legacy client and a modern server', async () => {
    const asked = [];
    const onRequest = (method, params) => { asked.push(params); return answers[method]; };
    const client = await LegacyHttp.open(gates['modern-tokenize'].url, { capabilities, onRequest });
    for (const params of [elicit, sample]) assert.match((await client.request('tools/call', params)).content[0].text, /action=accept|sampled/);
    assert.equal(asked.length, 2);
    for (const params of asked) clean(params);
  });

  // An address that must be visited first is an error there and a question here.
  for (const mode of ['tokenize', 'block']) {
    test(`${mode}: addresses to visit`, async (t) => {
      const methods = { 'tools/call': (params, { reply, message }) => void reply.json({ jsonrpc: '2.0', id: message.id, error: { code: -32042, message: 'Visit first', data: { elicitations: [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/x', message: `Sign in as ${EMAIL}` }] } } }) };
      const upstream = use(t, await startUpstream(legacyServer({ tools: [{ name: 'go', inputSchema: { type: 'object' } }], methods })));
      const gate = use(t, await startGate({ upstream: upstream.url, args: ['--pii', mode] }));
      const { answer } = await new ModernHttp(gate.url, { capabilities: { elicitation: { url: {} } } }).exchange('tools/call', { name: 'go', arguments: {} });
      if (mode === 'tokenize') clean(answer.result.inputRequests);
      else assert.ok(!JSON.stringify(answer).includes(EMAIL) && answer.result.isError, JSON.stringify(answer));
    });
  }

  test('block: the client is not asked', async () => {
    const modern = await new ModernHttp(gates['legacy-block'].url, { capabilities }).exchange('tools/call', elicit);
    assert.ok(!JSON.stringify(modern.answer).includes(EMAIL));
    assert.equal(modern.answer.result?.inputRequests, undefined);
    let asked = 0;
    const client = await LegacyHttp.open(gates['modern-block'].url, { capabilities, onRequest: (method) => { asked++; return answers[method]; } });
    assert.match((await client.request('tools/call', elicit)).content[0].text, /action=decline/);
    assert.equal(asked, 0);
  });

  test('the state of a question stays as the server wrote it', async (t) => {
    const state = Buffer.from(JSON.stringify({ mail: EMAIL, note: 'a state that is not ours to change' })).toString('base64');
    const heard = [];
    const upstream = use(t, await startUpstream((request, reply) => {
      const { id, method, params } = request.json ?? {};
      const done = (result) => reply.json({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } });
      if (method === 'server/discover') return done({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
      if (method !== 'tools/call') return done({ tools: [{ name: 'x', inputSchema: { type: 'object' } }] });
      heard.push(params.requestState);
      if (params.requestState) return done({ content: [{ type: 'text', text: 'good' }] });
      return done({ resultType: 'input_required', requestState: state, content: [{ type: 'text', text: EMAIL }], inputRequests: { a: { method: 'elicitation/create', params: { message: EMAIL, requestedSchema: { type: 'object', properties: {} } } } } });
    }));
    const gate = use(t, await startGate({ upstream: upstream.url, args: ['--pii', 'tokenize'] }));
    const client = new ModernHttp(gate.url, { capabilities });
    const asked = await client.request('tools/call', { name: 'x', arguments: {} });
    assert.equal(asked.requestState, state);
    clean(asked.inputRequests);
    clean(asked.content);
    await client.request('tools/call', { name: 'x', arguments: {}, requestState: state, inputResponses: { a: answers['elicitation/create'] } });
    assert.deepEqual(heard, [undefined, state]);
  });
});

describe('flow labels from results', () => {
  const tools = [
    { name: 'read_contacts', description: 'Reads a contact', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true, openWorldHint: false } },
    { name: 'send_email', description: 'Sends an e-mail to anybody', inputSchema: { type: 'object', properties: { to: { type: 'string' } } }, annotations: { readOnlyHint: false, openWorldHint: true } },
  ];
  const world = async (t, args, flows) => {
    const said = { next: 'nothing' };
    const upstream = use(t, await startUpstream(legacyServer({ tools, methods: { 'tools/call': () => ({ content: [{ type: 'text', text: said.next }] }) } })));
    const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, args, policy: { version: '1', default: 'allow', flows } }));
    await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
    const call = (name) => gate.rpc.request('tools/call', { name, arguments: {} });
    return { read: (text) => { said.next = text; return call('read_contacts'); }, sends: async () => !(await call('send_email')).isError };
  };

  test('after a result with the named kind sinks are denied; other kinds do not matter', async (t) => {
    for (const mode of ['tokenize', 'report']) {
      const w = await world(t, ['--pii', mode], [{ after: ['result.pii.EMAIL > 1'], deny: ['sink'] }]);
      await w.read(`${KEY} and ${EMAIL}`);
      assert.equal(await w.sends(), true, 'one is not more than one');
      await w.read(`${EMAIL} b@example.com`);
      assert.equal(await w.sends(), false);
      await w.read('nothing');
      assert.equal(await w.sends(), false, 'the session does not forget');
    }
  });

  test('a label for any kind; results that are not scanned count as if they held it', async (t) => {
    const any = await world(t, ['--pii', 'tokenize'], [{ after: ['result.pii > 0'], deny: ['sink'] }]);
    assert.equal(await any.sends(), true);
    await any.read(KEY);
    assert.equal(await any.sends(), false);
    const off = await world(t, [], [{ after: ['result.pii.EMAIL > 0'], deny: ['sink'] }]);
    assert.equal(await off.sends(), false);
    const unknown = await world(t, ['--pii', 'tokenize'], [{ after: ['result.pii.EMIAL > 0'], deny: ['sink'] }]);
    assert.equal(await unknown.sends(), false);
  });
});

test('tokens keep the formats that a tool\'s outputSchema names', async (t) => {
  const value = { mail: EMAIL, v4: '198.51.100.7', v6: '2a02:8388:1::7', dob: '1989-04-17', phone: '+43 1 5880 1234' };
  const string = (format) => ({ type: 'string', format });
  const tools = [
    { name: 'typed', inputSchema: { type: 'object' }, outputSchema: { type: 'object', properties: { mail: string('email'), v4: string('ipv4'), v6: string('ipv6'), dob: string('date'), phone: { type: 'string' } } } },
    { name: 'plain', inputSchema: { type: 'object' }, outputSchema: { type: 'object', properties: { mail: { type: 'string' } } } },
  ];
  const heard = [];
  const methods = { 'tools/call': (params) => { heard.push(params.arguments); return { content: [], structuredContent: value }; } };
  const upstream = use(t, await startUpstream(legacyServer({ tools, methods })));
  const gate = use(t, await startGate({ transport: 'stdio', upstream: upstream.url, args: ['--pii', 'tokenize'] }));
  await gate.rpc.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  await gate.rpc.request('tools/list');
  const { structuredContent: seen } = await gate.rpc.request('tools/call', { name: 'typed', arguments: {} });
  assert.match(seen.mail, /^tok-[0-9a-z]{8}@pii\.invalid$/);
  assert.match(seen.v4, /^2[45][0-9](\.[0-9]{1,3}){3}$/);
  assert.match(seen.v6, /^2001:db8:7069:[0-9a-f:]{24}$/);
  assert.match(seen.dob, /^[567][0-9]{3}-[0-9]{2}-[0-9]{2}$/);
  assert.match(seen.phone, TOKEN('PHONE'));
  await gate.rpc.request('tools/call', { name: 'plain', arguments: seen });
  assert.deepEqual(heard.at(-1), value);
  const { structuredContent: plain } = await gate.rpc.request('tools/call', { name: 'plain', arguments: {} });
  assert.match(plain.mail, TOKEN('EMAIL'));
});

describe('modes by server, tool, kind and grant in sallyport.yaml', () => {
  let gate;
  const clients = {};
  const heard = [];
  const said = {};
  const open = [];
  before(async () => {
    const t = { after: (close) => open.push(close) };
    const home = join(tempDir(), 'home');
    const servers = {};
    for (const name of ['crm', 'web', 'echo']) {
      const tools = ['read', 'block_all'].map((tool) => ({ name: tool, inputSchema: { type: 'object' } }));
      const answer = ({ arguments: { text = `${EMAIL} ${KEY}` } }) => { heard.push(text); return { content: [{ type: 'text', text: said[name] ?? text }] }; };
      const upstream = use(t, await startUpstream(legacyServer({ tools, methods: { 'tools/call': answer } })));
      servers[name] = { url: upstream.url };
    }
    servers.web.pii = 'report';
    const rules = tempFile('pii.yaml', JSON.stringify({ version: '1', results: [
      { server: 'crm', kinds: ['EMAIL'], mode: 'redact' }, { server: 'crm', tool: 'block_*', mode: 'block' }, { grant: 'ops', mode: 'off' }] }));
    const tokens = {};
    for (const name of ['dev', 'ops']) tokens[name] = (await cli(['grants', 'create', name], { env: { SALLYPORT_HOME: home } })).stdout.trim();
    gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers, pii: { mode: 'tokenize', rules }, code: { enabled: true } }, args: [], env: { SALLYPORT_HOME: home } }));
    for (const name of ['dev', 'ops']) clients[name] = await LegacyHttp.open(gate.url, { headers: { Authorization: `Bearer ${tokens[name]}` } });
  });
  after(async () => { for (const close of open.reverse()) await close(); });
  const call = async (who, name, args = {}) => (await clients[who].request('tools/call', { name, arguments: args })).content[0].text;

  test('each rule applies to its server, tool, kind and grant', async () => {
    assert.match(await call('dev', 'crm__read'), new RegExp(`^\\[EMAIL\\] ${TOKEN('SECRET').source}$`));
    assert.equal(await call('dev', 'web__read'), `${EMAIL} ${KEY}`);
    assert.match(await call('dev', 'crm__block_all'), /withheld: it contains EMAIL 1, SECRET 1/);
    assert.equal(await call('ops', 'crm__read'), `${EMAIL} ${KEY}`);
  });

  test('what code prints and returns; restore_pii shows no value unless a rule says so', async () => {
    const tools = (await clients.dev.request('tools/list')).tools.map(({ name }) => name);
    const name = (tool) => tools.find((one) => one.endsWith(tool));
    const run = (code) => call('dev', name('execute_code'), { code });
    const ran = await call('dev', name('execute_code'), { code: `print("to " + "anna.berg" + "@example.org")\nresult = "anna.berg" + "@example.org"` });
    clean(ran);
    const { sanitized_text: hidden } = JSON.parse(await call('dev', name('sanitize_pii'), { text: EMAIL }));
    assert.match(hidden, TOKEN('EMAIL'));
    assert.match(await call('dev', name('restore_pii'), { text: hidden }), /DENIED\] Values are not shown to the model/);
    assert.match(await call('dev', name('call_tool'), { server: 'code', tool: 'restore_pii', args: { text: hidden } }), /POLICY DENIED/);
    assert.match(await run(`try:\n    detokenize_pii("${hidden}")\nexcept Exception as e:\n    result = str(e)`), /POLICY DENIED/);
    const { sanitized_text: theirs } = JSON.parse(await call('ops', name('sanitize_pii'), { text: EMAIL }));
    assert.ok((await call('ops', name('restore_pii'), { text: theirs })).includes(EMAIL));
  });

  // Code works with tokens: what it was given it may hand on, to the model and to tools.
  test('tokens that tools called by code answer with reach the model as they are, and work', async () => {
    const [token] = TOKEN('SECRET').exec(await call('dev', 'crm__read'));
    const code = 'answer = tools.crm.read()\nprint(answer)\nopen("/workspace/seen.txt", "w").write(answer)\nresult = {"secret": answer}';
    const ran = JSON.parse(await call('dev', 'code__execute_code', { code }));
    assert.deepEqual(ran.result, { secret: `[EMAIL] ${token}` });
    assert.deepEqual(ran.output, [`[EMAIL] ${token}`]);
    assert.ok((await call('dev', 'code__read_workspace_file', { filename: 'seen.txt' })).includes(token));
    await call('dev', 'code__execute_code', { code: 'tools.crm.read(text=open("/workspace/seen.txt").read())' });
    assert.equal(heard.at(-1), `[EMAIL] ${KEY}`);
  });

  test('a token that another server writes stays harmless on the way through code', async () => {
    const { sanitized_text: token } = JSON.parse(await call('dev', 'code__sanitize_pii', { text: EMAIL }));
    said.echo = `please send ${token}`;
    const { result } = JSON.parse(await call('dev', 'code__execute_code', { code: 'result = tools.echo.read()' }));
    assert.match(result, new RegExp(`^please send ${TOKEN('LITERAL').source}$`));
    const ways = [
      ['crm__read', { text: result }], ['code__call_tool', { server: 'echo', tool: 'read', args: { text: result } }],
      ['code__execute_code', { code: `tools.echo.read(text="${result}")` }], ['code__execute_code', { code: 'tools.echo.read(text=tools.echo.read())' }],
    ];
    for (const [name, args] of ways) {
      await call('dev', name, args);
      assert.equal(heard.at(-1), said.echo, 'as text, not as the value');
    }
    await call('dev', 'code__call_tool', { server: 'echo', tool: 'read', args: { text: token } });
    assert.equal(heard.at(-1), EMAIL, 'while the model\'s own word counts, whichever way it goes');
  });

  test('restored values stay hidden in results of a server whose mode lets values pass', async () => {
    const { sanitized_text: token } = JSON.parse(await call('dev', 'code__sanitize_pii', { text: EMAIL }));
    assert.equal(await call('dev', 'web__read', { text: `to ${token}` }), `to ${token}`);
    assert.equal(heard.at(-1), `to ${EMAIL}`);
  });

  test('metrics count findings and hold no value', async () => {
    const body = await (await request('GET', `${gate.origin}/metrics`)).text();
    assert.match(body, /^sallyport_pii_found_total\{kind="EMAIL"\} [1-9]/m);
    assert.match(body, /^sallyport_pii_blocked_total 1$/m);
    assert.ok(!body.includes(EMAIL) && !body.includes(KEY));
  });
});
