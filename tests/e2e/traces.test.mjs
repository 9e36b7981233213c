// Traces and structured logs (docs/admin.md): the client's trace goes on through the gate to the server, and spans are sent to a collector.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { legacyServer, peerFor, startGate, startUpstream, tempDir, use } from '../lib/index.mjs';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

async function world(t, { traced = true, env = () => ({}), collect = (request, reply) => reply.json({}), front = 'http', args = [] } = {}) {
  const seen = [];
  const spans = [];
  const waiting = [];
  const collector = use(t, await startUpstream((request, reply) => {
    for (const { scopeSpans } of request.json.resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    for (const look of [...waiting]) look();
    return collect(request, reply);
  }, { path: '' }));
  const server = use(t, await startUpstream(legacyServer({
    tools: [{ name: 'echo', inputSchema: { type: 'object' } }],
    methods: { 'tools/call': (params) => { seen.push(params); return { content: [] }; } },
  })));
  const policy = { version: '1', default: 'allow', tools: { gone: { deny_if: [{ conditions: [] }] } } };
  const gate = use(t, await startGate({ upstream: server.url, policy, args: [...(traced ? ['--otlp', collector.url] : []), ...args], env: env(collector) }));
  const peer = await peerFor(front, gate, { capabilities: {} });
  const span = (fits) => new Promise((resolve) => {
    const look = () => {
      const found = spans.find(fits);
      if (found) { waiting.splice(waiting.indexOf(look), 1); resolve(found); }
    };
    waiting.push(look);
    look();
  });
  return { seen, collector, gate, peer, span };
}

const call = (peer, name, meta) => peer.exchange('tools/call', { name, arguments: { a: 1 }, ...(meta && { _meta: meta }) });
const attributes = ({ attributes: list }) => Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue]));

for (const front of ['http', 'modern-http']) {
  describe(`traces, ${front}`, { concurrency: 3 }, () => {
    test('the trace of the client continues through the gate to the server', async (t) => {
      const { seen, collector, peer, span } = await world(t, { front });
      await call(peer, 'echo', { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=b', mine: 1 });
      const made = await span(({ name }) => name === 'tools/call echo');
      assert.deepEqual([made.traceId, made.parentSpanId, made.kind, made.status.code], [TRACE, PARENT, 2, 1]);
      assert.match(made.spanId, /^[0-9a-f]{16}$/);
      assert.ok(BigInt(made.endTimeUnixNano) >= BigInt(made.startTimeUnixNano));
      const { 'mcp.method.name': method, 'gen_ai.tool.name': tool, 'sallyport.server': server, 'sallyport.verdict': verdict, 'sallyport.outcome': outcome } = attributes(made);
      assert.match(server, /^127\.0\.0\.1-\d+-mcp$/);
      assert.deepEqual([method, tool, verdict, outcome], ['tools/call', 'echo', 'allow', 'ok']);
      assert.equal(seen[0]._meta.traceparent, `00-${TRACE}-${made.spanId}-01`, 'our span is the parent of what the server does');
      assert.deepEqual([seen[0]._meta.tracestate, seen[0]._meta.mine, seen[0].arguments], ['a=b', 1, { a: 1 }]);
      assert.equal(collector.requests[0].url, '/v1/traces');
      assert.equal(collector.requests[0].json.resourceSpans[0].resource.attributes[0].value.stringValue, 'sallyport');
    });

    test('a call without a trace begins one; a refused call is a span, too', async (t) => {
      const { seen, peer, span } = await world(t, { front });
      await call(peer, 'echo');
      const [, trace, parent] = seen[0]._meta.traceparent.split('-');
      const made = await span(({ spanId }) => spanId === parent);
      assert.deepEqual([made.traceId, made.parentSpanId], [trace, undefined]);
      await call(peer, 'gone');
      const refused = await span(({ name }) => name === 'tools/call gone');
      assert.deepEqual([attributes(refused)['sallyport.verdict'], refused.status.code], ['deny', 2]);
    });
  });
}

describe('traces', { concurrency: 3 }, () => {
  test('an invalid trace context starts a new trace; one that is not sampled is forwarded and not exported', async (t) => {
    const { seen, peer, span } = await world(t);
    for (const bad of [`00-${TRACE}-${PARENT}`, `01-${TRACE}-${PARENT}-01x`, `00-${'0'.repeat(32)}-${PARENT}-01`, `00-${TRACE.toUpperCase()}-${PARENT}-01`, '']) {
      await call(peer, 'echo', { traceparent: bad });
      assert.ok(!seen.at(-1)._meta.traceparent.includes(TRACE), bad);
    }
    await call(peer, 'echo', { traceparent: `00-${TRACE}-${PARENT}-00` });
    assert.match(seen.at(-1)._meta.traceparent, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    const silent = seen.at(-1)._meta.traceparent.split('-')[2];
    await call(peer, 'gone');
    await span(({ name }) => name === 'tools/call gone');
    await assert.rejects(Promise.race([span(({ spanId }) => spanId === silent), Promise.reject(new Error('not there'))]), /not there/);
  });

  test('a failing collector loses spans but no calls', async (t) => {
    const { gate, peer } = await world(t, { collect: (request, reply) => reply.status(503) });
    await call(peer, 'echo');
    await gate.child.waitLine(/traces: \d+ spans were not taken/, { stream: 'stderr' });
    assert.ok((await call(peer, 'echo')).json.result);
  });

  test('without a collector nothing is added', async (t) => {
    const { seen, peer } = await world(t, { traced: false });
    await call(peer, 'echo');
    assert.equal(seen[0]._meta?.traceparent, undefined);
    await call(peer, 'echo', { traceparent: `00-${TRACE}-${PARENT}-01` });
    assert.equal(seen[1]._meta.traceparent, `00-${TRACE}-${PARENT}-01`);
  });
});

test('--log-format json: every line is an object with time, level and message', async (t) => {
  const { gate, peer } = await world(t, { traced: false, args: ['--log-format', 'json'] });
  await peer.exchange('tools/call', { name: 'gone', arguments: {} });
  await gate.child.waitLine(/denied tools\/call gone/, { stream: 'stderr' });
  const lines = gate.stderr.trim().split('\n').map((line) => JSON.parse(line));
  const { identity, server, tool, rule, message: said } = lines.find(({ message }) => message.startsWith('denied'));
  assert.deepEqual([said, tool, rule.length > 0, /^127\.0\.0\.1-\d+-mcp$/.test(server), identity.length > 0], ['denied tools/call gone', 'gone', true, true, true]);
  for (const { time, level, message } of lines) assert.ok(!Number.isNaN(Date.parse(time)) && ['info', 'warn', 'error', 'debug'].includes(level) && message);
});

test('a log line for people has time, identity, server, tool and rule', async (t) => {
  const { gate, peer } = await world(t, { traced: false });
  await peer.exchange('tools/call', { name: 'gone', arguments: {} });
  const line = await gate.child.waitLine(/denied tools\/call gone/, { stream: 'stderr' });
  assert.match(line, /^sallyport: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d) denied tools\/call gone identity=\S+ server=127\.0\.0\.1-\d+-mcp tool=gone rule=.+ policy=\S+$/);
});

test('every line of a running gate has the time, and those about a server name it', async (t) => {
  const file = join(tempDir('log'), 'server.mjs');
  writeFileSync(file, "process.stderr.write('hello\\nlast words'); process.exitCode = 7;\n");
  for (const json of [false, true]) {
    const gate = use(t, await startGate({ transport: 'stdio', command: [process.execPath, file], policy: { version: '1', default: 'allow', tools: {} }, args: ['--name', 'fake', ...(json ? ['--log-format', 'json'] : [])] }));
    gate.rpc.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });
    await gate.child.waitLine(/exited with status 7/, { stream: 'stderr' });
    const lines = gate.stderr.trim().split('\n').filter((line) => /hello|last words|exited with status 7/.test(line));
    assert.deepEqual(lines.map((line) => /hello|last words|exited/.exec(line)[0]).slice(0, 3), ['hello', 'last words', 'exited'], gate.stderr);
    for (const line of lines) {
      if (json) assert.equal(JSON.parse(line).server, 'fake', line);
      else assert.match(line, /^sallyport: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d) (warn: server `fake`|\[fake\])/);
    }
  }
});

test('OTEL_* variables name the collector, its headers and the resource; spans carry the names of the conventions for MCP', async (t) => {
  const { collector, peer, span } = await world(t, { traced: false, env: ({ url }) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b,broken,y-key=c', OTEL_SERVICE_NAME: 'front-gate', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
  }) });
  await call(peer, 'echo');
  const made = attributes(await span(({ name }) => name === 'tools/call echo'));
  assert.deepEqual([made['gen_ai.operation.name'], made['gen_ai.tool.name'], made['mcp.protocol.version'], made['error.type']], ['execute_tool', 'echo', '2025-11-25', undefined]);
  assert.ok(made['mcp.session.id'] && made['jsonrpc.request.id']);
  await call(peer, 'gone');
  assert.equal(attributes(await span(({ name }) => name === 'tools/call gone'))['error.type'], 'denied');
  const [{ headers, json }] = collector.requests;
  assert.deepEqual([headers['x-key'], headers['y-key']], ['a b', 'c']);
  assert.deepEqual(Object.fromEntries(json.resourceSpans[0].resource.attributes.map(({ key, value }) => [key, value.stringValue]).filter(([key]) => key !== 'service.version')),
    { 'service.name': 'front-gate', 'deployment.environment': 'test' });
});

for (const [variable, given, posted] of [
  ['OTEL_EXPORTER_OTLP_ENDPOINT', '/base', '/base/v1/traces'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '/ingest/spans', '/ingest/spans'],
]) {
  test(`${variable}=URL${given}: spans are posted to ${posted}`, async (t) => {
    const { collector, peer, span } = await world(t, { traced: false, env: ({ url }) => ({ [variable]: `${url}${given}` }) });
    await call(peer, 'echo');
    await span(({ name }) => name === 'tools/call echo');
    assert.equal(collector.requests[0].url, posted);
  });
}

test('OTEL_SDK_DISABLED: nothing is sent', async (t) => {
  const { peer, seen } = await world(t, { traced: false, env: ({ url }) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'true' }) });
  await call(peer, 'echo');
  assert.equal(seen[0]._meta?.traceparent, undefined);
});
