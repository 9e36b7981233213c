// hide and deny by name, on every transport (contract section 5): what is hidden does not exist, what is
// denied says why, and everything else is left alone.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ALL_PAIRS, peerFor, probeCommand, startGate, suitePair, use, watch } from '../lib/index.mjs';

const policy = {
  version: '1', default: 'allow', hide: ['stderr', 'noise'],
  tools: { echo: { deny_if: [{ conditions: [], on_deny: 'echo is off today' }] } },
};

for (const [front, back] of ALL_PAIRS) {
  const modern = front.startsWith('modern');
  describe(`${front} to ${back}`, () => {
    const world = suitePair(front, back, { policy });

    test('hidden tools are not listed, and the rest of the list keeps its bytes', async () => {
      const { text } = await world.peer.exchange('tools/list', {}, { id: 'l' });
      const { tools } = JSON.parse(text).result;
      const names = tools.map(({ name }) => name);
      assert.ok(!names.includes('stderr') && !names.includes('noise') && names.includes('echo'));
    });

    test('hidden tools cannot be called: they look as if they did not exist', async () => {
      const seen = await watch(world);
      for (const name of ['stderr', 'noise', 'not-there']) {
        const { json } = await world.peer.exchange('tools/call', { name, arguments: {} });
        assert.deepEqual(json.error, { code: -32602, message: `Unknown tool: ${name}` });
      }
      const escaped = JSON.stringify(world.peer.message('tools/call', { name: 'stderr', arguments: {} }, 'esc')).replace('"stderr"', '"st\\u0064err"');
      await world.peer.send(escaped, { headers: modern ? { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'stderr' } : {} });
      assert.equal((await world.peer.next((json) => json?.id === 'esc')).error.code, -32602);
      assert.equal((await seen('tools/call')).filter(({ raw }) => /stderr|noise|st..064/.test(raw)).length, 0);
    });

    test('denied tools are listed; a call is answered with a result that says why', async () => {
      const seen = await watch(world);
      const { json } = await world.peer.exchange('tools/call', { name: 'echo', arguments: { a: 1 } }, { id: 'd' });
      const { _meta, ...result } = json.result;
      assert.deepEqual(result, {
        ...(modern && { resultType: 'complete' }), content: [{ type: 'text', text: '[POLICY DENIED] echo is off today' }], isError: true,
      });
      const { rule, policy: name, reason } = _meta['sallyport/denial'];
      assert.ok([rule, name, reason].every((value) => typeof value === 'string' && value), JSON.stringify(_meta));
      if (front.endsWith('http')) assert.equal(world.peer.statuses.at(-1), 200);
      assert.equal((await seen('tools/call')).filter(({ raw }) => raw.includes('"echo"')).length, 0);
    });
  });
}

test('the filtered list: untouched tools byte for byte, commas right, whichever are dropped', async (t) => {
  const tool = (name) => `{ "name":"${name}" ,"inputSchema":{"type":"object","x":1.0, "\\u0061":[1 ,2]}, "annotations":{}}`;
  for (const [names, kept] of [[['a', 'h1', 'b'], ['a', 'b']], [['h1', 'a'], ['a']], [['a', 'h1'], ['a']], [['h1'], []], [['h1', 'h2'], []], [['a', 'b'], ['a', 'b']], [[], []],
    [['h1', 'a', 'h2', 'b', 'h3'], ['a', 'b']]]) {
    const list = `{"jsonrpc":"2.0","id":$ID,"result":{"nextCursor":"n","tools":[${names.map(tool).join(' , ')}],"_meta":{"k":0.10}}}`;
    const gate = use(t, await startGate({ policy: { version: '1', default: 'allow', hide: ['h*'] }, command: ['sh', '-c', 'while read -r line; do id=$(printf %s "$line" | sed "s/.*\\"id\\":\\([0-9]*\\).*/\\1/"); printf "%s\\n" "$1" | sed "s/[$]ID/$id/"; done', 'sh', list], transport: 'stdio' }));
    gate.rpc.send({ jsonrpc: '2.0', id: 'x', method: 'tools/list' });
    const answer = await gate.rpc.next(() => true);
    assert.deepEqual(answer.result.tools.map(({ name }) => name), kept);
    assert.equal(answer.result.nextCursor, 'n');
    const line = gate.child.stdout.trimEnd();
    for (const name of kept) assert.ok(line.includes(tool(name)), `${name} is as it was in ${line}`);
    assert.ok(line.endsWith('"_meta":{"k":0.10}}}') && line.startsWith('{"jsonrpc":"2.0","id":"x","result":{"nextCursor":"n","tools":['));
    gate.child.stdin.end();
  }
});

test('a policy in Intercept\'s dialect denies with Intercept\'s texts', async (t) => {
  const intercept = { version: '1', default: 'deny', hide: ['stderr'], tools: { mark: { rules: [] }, echo: { rules: [{ name: 'no echo', action: 'deny', on_deny: 'echo is off today' }] } } };
  const gate = use(t, await startGate({ policy: intercept, command: probeCommand() }));
  const peer = await peerFor('http', gate);
  assert.ok((await peer.ask('mark')).pid);
  for (const [name, rule, why] of [
    ['echo', 'no echo', 'echo is off today'], ['stderr', '(hidden)', 'Tool "stderr" is hidden by policy'], ['log', '(default deny)', 'Tool "log" is not permitted by policy'],
  ]) {
    const { content, isError, _meta } = await peer.call(name);
    assert.deepEqual([content[0].text, isError, _meta['sallyport/denial'].rule], [`[INTERCEPT POLICY DENIED] ${why}`, true, rule]);
  }
});
