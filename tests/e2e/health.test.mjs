// Servers that hang: noticed without a call, said everywhere, and back by themselves. One that works is left alone.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HttpPeer, ModernHttpPeer, children, commandLine, policyFile, probeCommand, request, start, startServe, within } from '../lib/index.mjs';

const program = ([command, ...args], more = {}) => ({ command, args, ...more });

describe('signs of life', () => {
  let gate, upstream, old, modern;
  const processes = (text) => children(gate.pid).flatMap((pid) => [pid, ...children(pid)]).filter((pid) => commandLine(pid).join(' ').includes(text));
  const said = (peer) => within(peer.next((json) => json?.method === 'notifications/tools/list_changed'), 'a changed list');
  const has = async (peer, server) => (await peer.request('tools/list', {})).tools.some(({ name }) => name.startsWith(`${server}__`));
  // Lists are looked at again whenever one is said to have changed.
  const until = async (peer, server, there) => { while (await has(peer, server) !== there) await said(peer); };
  const readyz = async () => (await request('GET', `${gate.origin}/readyz`)).text();
  const status = async (name) => (await (await request('GET', `${gate.origin}/api/v1/servers`)).json()).find((server) => server.name === name);

  before(async () => {
    const [command, ...args] = probeCommand('http');
    upstream = start(command, [...args, '--http', '0']);
    const { port } = JSON.parse(await upstream.waitLine(/"port"/));
    gate = await startServe({ config: {
      version: '1', policy: policyFile(), health: { interval: '1s', timeout: '3s' },
      servers: {
        child: program(probeCommand('child')), http: { url: `http://127.0.0.1:${port}/mcp` }, works: program(probeCommand('works')),
        unused: program(probeCommand('unused'), { idle: '2s' }), trusted: program(probeCommand('trusted'), { health: { interval: 'never' } }),
      },
    } });
    old = await new HttpPeer(gate.url).initialize({ capabilities: {} });
    await old.listen();
    modern = new ModernHttpPeer(gate.url);
    await modern.send(modern.message('subscriptions/listen', { notifications: { toolsListChanged: true } }, 'mine'));
    await modern.next((json) => json?.method === 'notifications/subscriptions/acknowledged');
    for (const peer of [old, modern]) for (const server of ['child', 'http', 'works', 'trusted']) assert.ok(await has(peer, server), server);
  });
  after(async () => {
    try { process.kill(upstream.pid, 'SIGCONT'); } catch { /* it is gone */ }
    await gate?.stop();
    await upstream?.stop();
  });

  // All at once: the time that passes is the same.
  test('hung ones are noticed and come back; who works, or need give no sign, is left alone', async () => {
    const { pid } = await old.ask('child__mark');
    const working = processes('probe.mjs works');
    const held = old.call('works__hold', { key: 'k' });
    process.kill(pid, 'SIGSTOP');
    process.kill(upstream.pid, 'SIGSTOP');
    const told = (what) => gate.child.waitLine(what, { stream: 'stderr' });
    // A child is killed and started anew.
    const child = async () => {
      await told(/server `child` gave no sign of life within 3 s/);
      await told(/server `child` is back/);
      await until(old, 'child', true);
      assert.notEqual((await old.ask('child__mark')).pid, pid);
    };
    // A server over HTTP that takes requests and says nothing is left out, and is there again when it answers.
    const http = async () => {
      await told(/server `http` gave no sign of life within 3 s/);
      await Promise.all([until(old, 'http', false), until(modern, 'http', false)]);
      assert.match(await readyz(), /^http: down/m);
      const { state, fault } = await status('http');
      assert.deepEqual([state, /gave no sign of life/.test(fault)], ['down', true], fault);
      process.kill(upstream.pid, 'SIGCONT');
      await Promise.all([until(old, 'http', true), until(modern, 'http', true)]);
      assert.deepEqual(await modern.ask('http__echo', { n: 1 }), { n: 1 });
      assert.deepEqual(await old.ask('http__echo', { n: 2 }), { n: 2 });
      assert.deepEqual([(await status('http')).state, (await status('http')).fault], ['ready', undefined]);
    };
    await Promise.all([child(), http(), told(/server `unused` is idle/)]); // a sign of life is no use
    await old.call('works__release', { key: 'k' });
    assert.match((await held).content[0].text, /held k/);
    assert.deepEqual(processes('probe.mjs works'), working);
    const metrics = await (await request('GET', `${gate.origin}/metrics`)).text();
    const count = (name, server) => Number(new RegExp(`^sallyport_server_${name}{server="${server}"} (\\d+)$`, 'm').exec(metrics)[1]);
    assert.deepEqual([count('health_checks_total', 'trusted'), count('health_failures_total', 'works')], [0, 0]);
    for (const server of ['child', 'http']) assert.ok(count('health_checks_total', server) > 0 && count('health_failures_total', server) > 0, server);
    assert.ok(count('restarts_total', 'child') > 0);
  });
});
