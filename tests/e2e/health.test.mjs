// Servers that hang: noticed without a call, said everywhere, and back by themselves. One that works is left alone.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  HttpPeer, ModernHttpPeer, children, commandLine, legacyServer, policyFile, probeCommand, request, start, startServe, startUpstream, until, use, within,
} from '../lib/index.mjs';

const program = ([command, ...args], more = {}) => ({ command, args, ...more });

describe('health checks', () => {
  let gate, upstream, torn, old, modern;
  let dead = false;
  const processes = (text) => children(gate.pid).flatMap((pid) => [pid, ...children(pid)]).filter((pid) => commandLine(pid).join(' ').includes(text));
  // Every message to a client wakes all waiters.
  const changes = new Map();
  async function follow(peer) {
    for (let heard = true, wake; heard; heard = await peer.next((json) => json?.method === 'notifications/tools/list_changed', { timeout: 600_000 }).catch(() => null)) {
      const before = wake;
      changes.set(peer, new Promise((resolve) => { wake = resolve; }));
      before?.();
    }
  }
  const has = async (peer, server) => (await peer.request('tools/list', {})).tools.some(({ name }) => name.startsWith(`${server}__`));
  const lists = async (peer, server, there) => {
    for (;;) {
      const changed = changes.get(peer);
      if (await has(peer, server) === there) return;
      await within(changed, `a list with${there ? '' : 'out'} ${server}`);
    }
  };
  const readyz = async () => (await request('GET', `${gate.origin}/readyz`)).text();
  const status = async (name) => (await (await request('GET', `${gate.origin}/api/v1/servers`)).json()).find((server) => server.name === name);

  before(async () => {
    const [command, ...args] = probeCommand('http');
    upstream = start(command, [...args, '--http', '0']);
    const { port } = JSON.parse(await upstream.waitLine(/"port"/));
    const answer = legacyServer({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
    torn = await startUpstream((request, reply) => (dead ? reply.drop() : answer(request, reply)));
    gate = await startServe({ config: {
      version: '1', policy: policyFile(), health: { interval: '1s', timeout: '8s' },
      servers: {
        child: program(probeCommand('child')), http: { url: `http://127.0.0.1:${port}/mcp` }, torn: { url: torn.url }, works: program(probeCommand('works')),
        unused: program(probeCommand('unused'), { idle: '2s' }), trusted: program(probeCommand('trusted'), { health: { interval: 'never' } }),
      },
    } });
    old = await new HttpPeer(gate.url).initialize({ capabilities: {} });
    await old.listen();
    modern = new ModernHttpPeer(gate.url);
    await modern.send(modern.message('subscriptions/listen', { notifications: { toolsListChanged: true } }, 'mine'));
    await modern.next((json) => json?.method === 'notifications/subscriptions/acknowledged');
    for (const peer of [old, modern]) follow(peer);
    for (const peer of [old, modern]) for (const server of ['child', 'http', 'torn', 'works', 'trusted']) assert.ok(await has(peer, server), server);
  });
  after(async () => {
    try { process.kill(upstream.pid, 'SIGCONT'); } catch { /* it is gone */ }
    await gate?.stop();
    await upstream?.stop();
    await torn?.close();
  });

  // All cases run concurrently, because each waits for the same time.
  test('hung servers are detected and restarted; busy servers and those without health checks are left alone', async () => {
    const { pid } = await old.ask('child__mark');
    const working = processes('probe.mjs works');
    const held = old.call('works__hold', { key: 'k' });
    process.kill(pid, 'SIGSTOP');
    process.kill(upstream.pid, 'SIGSTOP');
    const told = (what) => gate.child.waitLine(what, { stream: 'stderr' });
    // A child is killed and started anew.
    const child = async () => {
      await told(/server `child` did not answer a health check within 8 s/);
      await told(/server `child` is back/);
      await lists(old, 'child', true);
      assert.notEqual((await old.ask('child__mark')).pid, pid);
    };
    // A server over HTTP that takes requests and says nothing is left out, and is there again when it answers.
    const http = async () => {
      await told(/server `http` did not answer a health check within 8 s/);
      await Promise.all([lists(old, 'http', false), lists(modern, 'http', false)]);
      assert.match(await readyz(), /^http: down/m);
      const { state, fault } = await status('http');
      assert.deepEqual([state, /did not answer a health check/.test(fault)], ['down', true], fault);
      process.kill(upstream.pid, 'SIGCONT');
      await Promise.all([lists(old, 'http', true), lists(modern, 'http', true)]);
      assert.deepEqual(await modern.ask('http__echo', { n: 1 }), { n: 1 });
      assert.deepEqual(await old.ask('http__echo', { n: 2 }), { n: 2 });
      await until('a state that is ready', async () => (await status('http')).state === 'ready');
      assert.equal((await status('http')).fault, undefined);
    };
    // A server whose connections break is left out immediately, and listed again when they work.
    const broken = async () => {
      dead = true;
      await Promise.all([lists(old, 'torn', false), lists(modern, 'torn', false)]);
      await told(/warn: .*server `torn`/);
      dead = false;
      await Promise.all([lists(old, 'torn', true), lists(modern, 'torn', true)]);
    };
    await Promise.all([child(), http(), broken(), told(/server `unused` is idle/)]); // a health check is no use
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

test('a server that sends a stream without an answer: the call fails after the time-out of the probe', async (t) => {
  const endless = use(t, await startUpstream(async ({ gone }, reply) => {
    const stream = reply.sse(), timer = setInterval(() => stream.comment('more'), 20);
    await gone;
    clearInterval(timer);
  }));
  const gate = use(t, await startServe({ config: { version: '1', policy: policyFile(), servers: { endless: { url: endless.url } } } }));
  const answer = await request('POST', `${gate.origin}/mcp/call`, { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ server: 'endless', tool: 'echo', args: {} }) });
  assert.match(await answer.text(), /server `endless` did not answer in time/);
});
