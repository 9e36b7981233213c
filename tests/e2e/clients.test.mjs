// Real clients and real servers with the gate between them: what they could do before, they can
// do still. Every client lists and calls; every server is reached over each transport it has.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  MODERN, connect, fixture, gateCommand, node, packages, run, startEverything, startGate, tempDir, tempFile, use,
} from '../lib/index.mjs';

const everything = [node, packages.everything, 'stdio'];

// A client that starts the gate itself, as agents do.
function stdioGate(options) {
  const [command, args, env] = gateCommand({ transport: 'stdio', ...options });
  return { command, args, env };
}

async function listsAndCalls(session) {
  const names = (await session.tools()).map((tool) => tool.name);
  assert.ok(names.includes('echo') && names.includes('get-sum'), names.join(' '));
  assert.equal(await session.text('echo', { message: 'héllo' }), 'Echo: héllo');
  assert.match(await session.text('get-sum', { a: 2, b: 3 }), /\b5\b/);
}

async function inspector(args) {
  const { code, stdout, stderr } = await run(node, [packages.inspector, '--cli', ...args, '--format', 'json'],
    { env: { HOME: tempDir() } });
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  return stdout;
}

async function inspectorListsAndCalls(target) {
  assert.match(await inspector([...target, '--method', 'tools/list']), /"get-sum"/);
  assert.match(await inspector([...target, '--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hi']), /Echo: hi/);
}

describe('clients over HTTP, everything over stdio', { concurrency: 2 }, () => {
  let gate;
  before(async () => { gate = await startGate({ command: everything }); });
  after(() => gate?.stop());

  test('SDK v1', async (t) => listsAndCalls(use(t, await connect('v1', gate))));
  test('SDK v2 as it comes', async (t) => listsAndCalls(use(t, await connect('v2', gate))));
  test('SDK v2 negotiating', async (t) => listsAndCalls(use(t, await connect('v2', gate, { negotiation: 'auto' }))));
  test('Inspector', () => inspectorListsAndCalls([gate.url, '--transport', 'http']));

  test('mcp-remote', async (t) => {
    const home = tempDir();
    const remote = {
      command: node, args: [packages.mcpRemote, gate.url, '--transport', 'http-only', '--allow-http'],
      env: { HOME: home, MCP_REMOTE_CONFIG_DIR: home },
    };
    await listsAndCalls(use(t, await connect('v1', remote)));
  });

  test('requests of the server reach the client', async (t) => {
    const session = use(t, await connect('v1', gate, {
      handlers: {
        'sampling/createMessage': () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' } }),
        'elicitation/create': () => ({ action: 'decline' }),
        'roots/list': () => ({ roots: [{ uri: 'file:///somewhere', name: 'somewhere' }] }),
      },
    }));
    assert.match(await session.text('trigger-sampling-request', { prompt: 'x', maxTokens: 5 }), /sampled/);
    assert.match(await session.text('trigger-elicitation-request', {}), /declin/i);
    assert.match(await session.text('get-roots-list', {}), /somewhere/);
    const progress = [];
    await session.call('trigger-long-running-operation', { duration: 0.2, steps: 2 }, { onprogress: (step) => progress.push(step.progress) });
    assert.deepEqual(progress, [1, 2]);
  });
});

describe('the 2024 transport in front', { concurrency: 2 }, () => {
  let gate;
  before(async () => { gate = await startGate({ transport: 'sse', command: everything }); });
  after(() => gate?.stop());

  test('SDK v1', async (t) => listsAndCalls(use(t, await connect('v1', { sse: gate.url }))));
  test('SDK v2', async (t) => listsAndCalls(use(t, await connect('v2', { sse: gate.url }))));
  test('Inspector', () => inspectorListsAndCalls([gate.url, '--transport', 'sse']));
});

describe('stdio in front', { concurrency: 2 }, () => {
  test('SDK v1', async (t) => listsAndCalls(use(t, await connect('v1', stdioGate({ command: everything })))));
  test('SDK v2 as it comes', async (t) => listsAndCalls(use(t, await connect('v2', stdioGate({ command: everything })))));
  test('SDK v2 negotiating', async (t) =>
    listsAndCalls(use(t, await connect('v2', stdioGate({ command: everything }), { negotiation: 'auto' }))));

  test('Inspector', () => {
    const config = tempFile('mcp.json', JSON.stringify({ mcpServers: { gate: stdioGate({ command: everything }) } }));
    return inspectorListsAndCalls(['--config', config, '--server', 'gate']);
  });
});

describe('servers over HTTP', { concurrency: 2 }, () => {
  let streamable;
  let sse;
  before(async () => { [streamable, sse] = await Promise.all([startEverything('streamableHttp'), startEverything('sse')]); });
  after(async () => { await streamable?.stop(); await sse?.stop(); });

  test('everything over Streamable HTTP, client over HTTP', async (t) => {
    const gate = use(t, await startGate({ upstream: streamable.url }));
    await listsAndCalls(use(t, await connect('v1', gate)));
    await listsAndCalls(use(t, await connect('v2', gate, { negotiation: 'auto' })));
  });

  test('everything over Streamable HTTP, client over stdio', async (t) =>
    listsAndCalls(use(t, await connect('v1', stdioGate({ upstream: streamable.url })))));

  test('everything over the 2024 transport, client over HTTP', async (t) => {
    const gate = use(t, await startGate({ upstream: sse.url }));
    await listsAndCalls(use(t, await connect('v1', gate)));
  });

  test('everything over the 2024 transport, client over stdio', async (t) =>
    listsAndCalls(use(t, await connect('v2', stdioGate({ upstream: sse.url })))));
});

describe('a modern server', { concurrency: 2 }, () => {
  const command = [node, fixture('conformance.mjs'), '--stdio'];

  async function modernListsAndCalls(session) {
    assert.equal(session.client.getNegotiatedProtocolVersion?.() ?? MODERN, MODERN);
    assert.ok((await session.tools()).some((tool) => tool.name === 'test_simple_text'));
    assert.equal(await session.text('test_simple_text', {}), 'This is a simple text response for testing.');
    assert.equal(await session.text('test_x_mcp_header', { region: 'Zürich' }), 'region Zürich');
  }

  test('SDK v2 pinned, over HTTP', async (t) => {
    const gate = use(t, await startGate({ command }));
    await modernListsAndCalls(use(t, await connect('v2', gate, { negotiation: { pin: MODERN } })));
    const asked = use(t, await connect('v2', gate, {
      negotiation: { pin: MODERN }, handlers: { 'elicitation/create': () => ({ action: 'accept', content: { name: 'Ada' } }) },
    }));
    assert.equal(await asked.text('test_input_required_result_elicitation', {}), 'Hello, Ada!');
  });

  test('SDK v2 pinned, over stdio', async (t) =>
    modernListsAndCalls(use(t, await connect('v2', stdioGate({ command }), { negotiation: { pin: MODERN } }))));

  test('Inspector, modern', async (t) => {
    const gate = use(t, await startGate({ command }));
    const said = await inspector([gate.url, '--transport', 'http', '--protocol-era', 'modern', '--method', 'tools/call',
      '--tool-name', 'test_simple_text']);
    assert.match(said, /This is a simple text response for testing\./);
  });
});

describe('other servers', { concurrency: 2 }, () => {
  // The same client sees the same list with and without the gate.
  async function sameTools(t, command, { env, args, client = 'v1', negotiation } = {}) {
    const alone = use(t, await connect(client, { command: command[0], args: command.slice(1), env }, { negotiation }));
    const gate = use(t, await startGate({ command, env, args }));
    const through = use(t, await connect(client, gate, { negotiation }));
    const [expected, found] = await Promise.all([alone.tools(), through.tools()]);
    assert.ok(expected.length > 0);
    assert.deepEqual(found, expected);
    return through;
  }

  test('filesystem', async (t) => {
    const dir = tempDir();
    const session = await sameTools(t, [node, packages.filesystem, dir]);
    await session.call('write_file', { path: join(dir, 'a.txt'), content: 'line\n' });
    assert.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'line\n');
    assert.equal(await session.text('read_text_file', { path: join(dir, 'a.txt') }), 'line\n');
  });

  test('memory', async (t) => {
    const env = { MEMORY_FILE_PATH: join(tempDir(), 'memory.jsonl') };
    const session = await sameTools(t, [node, packages.memory], { env, args: ['--env', 'MEMORY_FILE_PATH'] });
    await session.call('create_entities', { entities: [{ name: 'gate', entityType: 'door', observations: ['shut'] }] });
    const { structuredContent } = await session.call('search_nodes', { query: 'shut' });
    assert.equal(structuredContent.entities[0].name, 'gate');
    // Servers are configured through the environment: what --env names reaches them.
    assert.match(readFileSync(env.MEMORY_FILE_PATH, 'utf8'), /"gate"/);
  });

  test('sequential-thinking', async (t) => {
    const session = await sameTools(t, [node, packages.sequentialThinking]);
    const answer = await session.call('sequentialthinking',
      { thought: 'first', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 });
    assert.equal(answer.isError ?? false, false, JSON.stringify(answer));
  });

  test('context7, as modern as it can be', (t) => sameTools(t, [node, packages.context7], { client: 'v2', negotiation: 'auto' }));
  test('playwright', (t) => sameTools(t, [node, packages.playwright]));
});
