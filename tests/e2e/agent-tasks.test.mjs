// A scripted agent with eight real servers does five tasks of several steps, and one with a large result, by direct calls, by discovery and by code in both
// languages, and comes to the same answers. The token table of docs/tokens.md comes from the same tasks.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect, node, policyFile, request, startServe } from '../lib/index.mjs';
import { SHEET_TASKS, TASKS, WAYS, eightServers, makeData, perform } from '../../bench/tokens/tasks.mjs';

describe('six tasks, four ways', { concurrency: 1 }, () => {
  const data = makeData();
  let gate, session;
  before(async () => {
    const config = { version: '1', policy: policyFile(), servers: eightServers(data), code: { enabled: true }, discovery: { mode: 'lazy' } };
    gate = await startServe({ config, env: { SALLYPORT_NODE: node } });
    session = await connect('v1', gate);
  });
  after(async () => {
    await session?.close();
    await gate?.stop();
  });

  test('all eight servers are there', async () => {
    const get = async (path) => JSON.parse(await (await request('GET', `${gate.origin}${path}`)).text());
    const names = Object.keys(eightServers(data));
    assert.equal(names.length, 8);
    assert.deepEqual((await get('/mcp/servers')).sort(), [...names, 'code'].sort());
    for (const name of names) assert.ok((await get(`/mcp/${name}/tools`)).tools?.length > 0, name);
  });

  for (const task of [...TASKS, ...SHEET_TASKS])
    test(task.name, { timeout: 300_000 }, async () => {
      const answers = {};
      for (const way of WAYS) answers[way] = await perform(session, task, way, { data, tag: way });
      for (const way of WAYS) assert.deepEqual(answers[way], answers.direct, way);
      assert.ok(JSON.stringify(answers.direct).length > 2);
    });

  test('code returns the requested rows, not the whole sheet', async () => {
    let read = 0;
    const answer = await perform(session, SHEET_TASKS[0], 'python', { data, tag: 'size' }, (kind, value) => { if (kind === 'result') read += value.length; });
    assert.deepEqual([answer.count, answer.first.length], [1250, 5]);
    assert.ok(read < 1000, `${read} characters came back`);
  });
});
