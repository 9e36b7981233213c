// Ceilings that an operator sets: each is reached with its setting, and what it ends says why.
import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection, LegacyHttp, cli, policyFile, post, probeCommand, rawStdio, startGate, startServe, tempDir, tempFile, until, use } from '../lib/index.mjs';

const MB = 1 << 20;
const program = ([command, ...args]) => ({ command, args });
const settings = (more) => ({ version: '1', policy: policyFile(), servers: { a: program(probeCommand('a')) }, ...more });
const home = () => join(tempDir('bounds'), 'home');
const serve = async (t, more, options = {}) => use(t, await startServe({ config: settings(more), env: { SALLYPORT_HOME: home() }, ...options }));

describe('bounds', { concurrency: 1 }, () => {
  test('sessions.unsent_mb: the client with the most unread bytes is disconnected, the others continue', async (t) => {
    const gate = await serve(t, { sessions: { unsent_mb: 30 } });
    const fast = await LegacyHttp.open(gate.url);
    const slow = [];
    for (let i = 0; i < 6; i++) {
      const client = await LegacyHttp.open(gate.url);
      const connection = await HttpConnection.open(gate.url);
      connection.socket.pause();
      connection.send('POST', { headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': client.sessionId },
        body: { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'a__size', arguments: { bytes: 12 * MB } } } });
      slow.push(connection);
    }
    await gate.child.waitLine(/a client that does not read its answers was disconnected: \d+ MB of \d+ MB unsent/, { stream: 'stderr' });
    assert.match((await fast.call('a__echo', { still: 'here' })).content[0].text, /here/);
    for (const connection of slow) connection.close();
  });

  test('sessions.per_grant, connections_per_grant, connections_per_address: each refuses one client, not the others', async (t) => {
    const env = { SALLYPORT_HOME: home() }, token = {};
    for (const name of ['greedy', 'modest']) {
      const made = await cli(['grants', 'create', name], { env });
      assert.equal(made.code, 0, made.stderr);
      token[name] = made.stdout.trim();
    }
    const gate = await serve(t, { sessions: { per_grant: 2, connections_per_grant: 3, connections_per_address: 5 } }, { env, args: [] });
    const open = [];
    const connect = async () => { open.push(await HttpConnection.open(gate.url)); return open.at(-1); };
    const ask = async (connection, name, method, more) => {
      connection.send(method, { ...more, headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Authorization: `Bearer ${token[name]}` } });
      const response = await connection.response();
      return { status: response.status, text: await response.text() };
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } };
    const greedy = await connect(), modest = await connect();
    for (const status of [200, 200, 503]) {
      const answer = await ask(greedy, 'greedy', 'POST', { body });
      assert.equal(answer.status, status);
      if (status === 503) assert.match(answer.text, /too many sessions/);
    }
    assert.equal((await ask(modest, 'modest', 'POST', { body })).status, 200);

    for (const status of [200, 200, 503]) { // with the first one, four
      const answer = await ask(await connect(), 'greedy', 'GET', { path: '/mcp/servers' });
      assert.equal(answer.status, status);
      if (status === 503) assert.match(answer.text, /this grant has too many connections open/);
    }
    assert.equal((await ask(await connect(), 'modest', 'GET', { path: '/mcp/servers' })).status, 200);

    const waiting = [];
    for (let i = 0; i < 6; i++) waiting.push(await connect());
    assert.equal(await waiting[0].readSome(), null, 'the oldest that has not authenticated is closed');
    assert.equal((await ask(waiting[5], 'modest', 'GET', { path: '/mcp/servers' })).status, 200);
    for (const connection of open) connection.close();
  });

  test('sessions.idle: a session without requests ends', async (t) => {
    const gate = await serve(t, { sessions: { idle: '4s' } });
    const client = await LegacyHttp.open(gate.url);
    await client.call('a__echo', {});
    const status = async () => (await post(gate.url, { jsonrpc: '2.0', id: 3, method: 'ping' }, { headers: { 'Mcp-Session-Id': client.sessionId } })).status;
    await until('the end of the session', async () => { await delay(6000); return await status() === 404; }); // each request would keep it
  });

  test('log.server_lines: lines of a server beyond the limit per second are counted and dropped', async (t) => {
    const gate = await serve(t, { log: { server_lines: 5 } });
    const client = await LegacyHttp.open(gate.url);
    await client.call('a__stderr', { text: Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join('') });
    await gate.child.waitLine(/\d+ .*more/, { stream: 'stderr' });
    const written = gate.child.stderr.match(/line \d+$/gm).length;
    assert.ok(written >= 5 && written < 50, `${written} lines`);
  });

  test('discovery.timeout: a list does not wait longer for a server that does not answer', async (t) => {
    const dumb = rawStdio(({ serve: answer }) => answer({ 'tools/list': () => new Promise(() => {}) }));
    const gate = await serve(t, { discovery: { timeout: '1s' }, servers: { a: program(probeCommand('a')), dumb: program(dumb) } });
    const client = await LegacyHttp.open(gate.url);
    await client.call('a__echo', {}); // it is up
    for (let tools = []; !tools.some(({ name }) => name === 'a__echo');) { // on a busy machine it may be late itself
      const begun = Date.now();
      ({ tools } = await client.request('tools/list'));
      assert.ok(Date.now() - begun < 14_000, 'well before the default of 15 s');
    }
  });

  test('audit.segment_mb, audit.keep: the log continues in a new segment, an old one is retired, and verify passes', async (t) => {
    const env = { SALLYPORT_HOME: home() }, dir = join(env.SALLYPORT_HOME, 'audit');
    const parts = () => readdirSync(dir).filter((name) => /\.sqlite$/.test(name)).sort();
    const verified = async () => assert.equal((await cli(['audit', 'verify'], { env })).code, 0);
    const gate = await startServe({ config: settings({ audit: { segment_mb: 1, arguments: 'full' } }), env });
    const client = await LegacyHttp.open(gate.url);
    for (let i = 0; i < 5000 && parts().length < 2; i++) await client.call('a__length', { text: Array.from({ length: 400 }, () => Math.random().toString(36)).join(' ') });
    await gate.stop();
    assert.ok(parts().length >= 2, `${parts()}`);
    await verified();
    const [first] = parts(), { mtimeMs } = statSync(join(dir, first));
    await until('its age', () => Date.now() - mtimeMs > 3000);
    use(t, await startServe({ config: settings({ audit: { keep: '1s' } }), env }));
    await until('the end of the first part', () => !parts().includes(first));
    await verified();
  });

  test('reload.quiet and reload.longest: a file that changes all the time is still read', async (t) => {
    const policy = policyFile();
    const gate = await serve(t, { policy, reload: { quiet: '20s', longest: '1s' } });
    let stop = false;
    t.after(() => { stop = true; });
    const writing = (async () => {
      for (let i = 0; !stop; i++, await delay(50)) {
        const file = openSync(policy, 'w');
        writeSync(file, JSON.stringify({ version: '1', default: 'allow', description: `number ${i}` }));
        closeSync(file);
      }
    })();
    await gate.child.waitLine(/policy reloaded successfully/, { stream: 'stderr' });
    stop = true;
    await writing;
  });

  test('an invalid value is refused with its line', async () => {
    for (const [more, text] of [
      [{ audit: { segment_mb: -1 } }, /audit\.segment_mb: a number from 1/],
      [{ sessions: { unsent_mb: 99_999_999 } }, /sessions\.unsent_mb: a number from 1/],
      [{ sessions: { per_grant: 10_001 } }, /sessions\.per_grant: a number from 1 to 10000/],
      [{ sessions: { connections_per_grant: -1 } }, /sessions\.connections_per_grant: a number from 1 to 4096/],
      [{ sessions: { connections_per_address: 5000 } }, /sessions\.connections_per_address: a number from 1 to 4096/],
      [{ sessions: { processes: 4001 } }, /sessions\.processes: a number from 1 to 4000/],
      [{ sessions: { processes_per_grant: -1 } }, /sessions\.processes_per_grant: a number from 1/],
      [{ log: { server_lines: -5 } }, /log\.server_lines: a number from 1/],
    ]) {
      const { code, stderr } = await cli(['serve', '--config', tempFile('sallyport.yaml', JSON.stringify(settings(more)))], { env: { SALLYPORT_HOME: home() } });
      assert.equal(code, 3, stderr);
      assert.match(stderr, text);
    }
  });

  test('a server that sends a message over the ceiling is named with the reason', async (t) => {
    const loud = rawStdio(({ serve: answer, raw }) => answer({
      'tools/list': () => ({ tools: [{ name: 'shout', inputSchema: { type: 'object' } }] }),
      async 'tools/call'() { for (let i = 0; i < 70; i++) await raw('x'.repeat(1 << 20)); },
    }));
    const gate = use(t, await startGate({ command: loud }));
    const client = await LegacyHttp.open(gate.url);
    await assert.rejects(client.call('shout', {}), /sent a message of more than 64 MB and was ended/);
  });
});
