// Tools called from code, in both languages: what is refused, waits, fails, is slow, huge or private; what the log says of it; what a run
// that has to wait for a person does when it is run again; and the tool tree with its typed files.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { approve, ModernHttpPeer, cli, legacyServer, policyFile, request, startServe, startUpstream, tempDir, until } from '../lib/index.mjs';

const text = (value, more = {}) => ({ content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }], ...more });
const tool = (name, more = {}) => ({ name, description: `About ${name}`, inputSchema: { type: 'object', properties: { n: { type: 'integer' } } }, ...more });
const rule = (action, more = {}) => ({ rules: [{ name: 'r', action, ...more }] });
const LANGUAGES = ['python', 'typescript'];

describe('calls from code', { concurrency: 1 }, () => {
  let upstream, calls, env, gate, peer, tokens, release;
  const held = new Promise((resolve) => { release = resolve; });

  before(async () => {
    calls = [];
    const answers = {
      pay: ({ n }) => text({ paid: n }), echo: (args) => text(args), later: (args) => new Promise((r) => setTimeout(r, 300)).then(() => text(args)), fails: () => text('no such customer', { isError: true }),
      boom: () => { throw Object.assign(new Error('out of order'), { code: -32050 }); }, slow: () => held.then(() => text('late')),
      huge: () => text('x'.repeat(9 << 20)), person: () => text('write to anna.berg@example.org'), 'list-files': () => text(['a', 'b']),
    };
    const unknown = () => { throw Object.assign(new Error('Unknown tool'), { code: -32602 }); };
    Object.assign(answers, { limited: () => text('limited'), hidden: () => text('hidden'), mark: () => text('mark') });
    upstream = await startUpstream(legacyServer({
      tools: Object.keys(answers).map((name) => tool(name)),
      methods: { 'tools/call': ({ name, arguments: args }) => { calls.push(name); return (answers[name] ?? unknown)(args); } },
    }));
    env = { SALLYPORT_HOME: join(tempDir(), 'home'), SALLYPORT_NODE: process.execPath };
    tokens = {};
    for (const name of ['ann', 'bob']) tokens[name] = (await cli(['grants', 'create', name], { env })).stdout.trim();
    const policy = policyFile({
      version: '1', default: 'allow', hide: ['hidden'],
      tools: { barred: rule('deny', { on_deny: 'Not this one.' }), mark: rule('deny', { on_deny: 'No marks.' }), pay: { approve_if: [{ conditions: [], on_pending: 'Ask finance' }] },
        limited: { rules: [{ name: 'few', rate_limit: '1/day' }] } },
    });
    const skills = join(env.SALLYPORT_HOME, 'code', 'shared', 'skills');
    mkdirSync(skills, { recursive: true });
    const skill = (name, code, about, language = 'python') => {
      writeFileSync(join(skills, `${name}.${{ python: 'py', typescript: 'ts', javascript: 'js' }[language]}`), code);
      writeFileSync(join(skills, `${name}.json`), JSON.stringify({ name, description: name, language, ...about }));
    };
    const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    skill('double', 'def main(n): return call_tool("my-shop", "echo", {"n": n})["n"] * 2', { input_schema: input });
    skill('triple', 'const args: number = 3;\nexport async function main({ n }: { n: number }): Promise<number> { const got: any = await callTool("my-shop", "echo", { n }); return got.n * args }', { input_schema: input }, 'typescript');
    skill('quadruple', 'export default async ({ n }) => (await tools.my_shop.echo({ n })).n * 4', { input_schema: input }, 'javascript');
    skill('marks', 'async function main() { return tools["my-shop"].mark() }', { input_schema: { type: 'object' } }, 'javascript');
    skill('barred', 'def main(): return 1', { input_schema: { type: 'object' } });
    skill('helper', 'def main(): return 1', {});
    gate = await startServe({ args: [], env, config: { version: '1', policy, pii: { mode: 'tokenize' }, servers: { 'my-shop': { url: upstream.url } }, code: { enabled: true, max_calls: 50 } } });
    peer = new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers: { Authorization: `Bearer ${tokens.ann}` } });
  });
  after(async () => { release(); await gate?.stop(); await upstream?.close(); });

  const run = async (language, code, more = {}, as = peer) => (await as.call('execute_code', { code, language, ...more })).structuredContent;
  // What code catches when it calls a tool: its error, as an object.
  const FIELDS = ['kind', 'server', 'tool', 'rule', 'reason', 'retry_after_ms', 'approval_id', 'code'];
  const caught = async (language, name, args = {}) => {
    const code = language === 'python'
      ? `try:\n    result = {"value": call_tool("my-shop", "${name}", ${JSON.stringify(args)})}\nexcept ToolError as e:\n    result = {"message": str(e), **{k: getattr(e, k) for k in ${JSON.stringify(FIELDS)}}}`
      : `try { return { value: await callTool("my-shop", "${name}", ${JSON.stringify(args)}) } } catch (e) { return { message: e.message, ...Object.fromEntries(${JSON.stringify(FIELDS)}.map((k) => [k, (e as any)[k] ?? null])) } }`;
    const answer = await run(language, code);
    assert.ok(answer.success, JSON.stringify(answer));
    return answer.result;
  };

  for (const language of LANGUAGES) {
    test(`${language}: a denial is caught and explained`, async () => {
      const error = await caught(language, 'mark');
      assert.match(error.message, /POLICY DENIED.*No marks/);
      assert.deepEqual([error.kind, error.server, error.tool, error.reason], ['denied', 'my-shop', 'mark', 'rule']);
    });

    test(`${language}: a limit raises an error with the time until it ends`, async () => {
      await caught(language, 'limited'); // the first of the day, or refused already
      const error = await caught(language, 'limited');
      assert.equal(error.kind, 'rate_limited', JSON.stringify(error));
      assert.ok(error.retry_after_ms > 0);
    });

    test(`${language}: errors of the tool and of its server`, async () => {
      assert.deepEqual((({ kind, message }) => [kind, message])(await caught(language, 'fails')), ['tool_error', 'no such customer']);
      const boom = await caught(language, 'boom');
      assert.deepEqual([boom.kind, boom.message, typeof boom.code], ['failed', 'out of order', 'number']);
      assert.equal((await caught(language, 'hidden')).kind, 'denied');
      const nowhere = await run(language, language === 'python' ? 'tools.nowhere.x()' : 'await tools.nowhere.x()');
      assert.match(nowhere.error, /Unknown tool: x of a server nowhere/);
    });

    test(`${language}: a huge result is an error, not the end of the run`, async () => {
      const error = await caught(language, 'huge');
      assert.match(error.message, /too large/);
    });

    test(`${language}: personal data comes as a token`, async () => {
      assert.match((await caught(language, 'person')).value, /^write to \[[A-Z]+_[0-9A-Z]{8}\]$/);
    });

    test(`${language}: a call of a slow tool ends at the time limit of the run`, async () => {
      const answer = await run(language, language === 'python' ? 'call_tool("my-shop", "slow")' : 'await callTool("my-shop", "slow")', { timeout_seconds: 1 });
      assert.deepEqual([answer.success, answer.exit], [false, 'timeout']);
    });

    test(`${language}: concurrent calls all return their results`, async () => {
      const answer = await run(language, language === 'python'
        ? 'result = [v["n"] for v in parallel([lambda n=n: call_tool("my-shop", "echo", {"n": n}) for n in range(20)])]'
        : 'return (await Promise.all([...Array(20).keys()].map((n) => tools["my-shop"].echo({ n })))).map((v: any) => v.n)');
      assert.deepEqual(answer.result, [...Array(20).keys()]);
    });

    test(`${language}: tools.SERVER.TOOL raises what can be caught: a denial, an error, a limit, an approval that is needed`, async () => {
      const names = ['mark', 'fails', 'limited', 'pay'];
      await caught(language, 'limited'); // used up, if it was not
      const answer = await run(language, language === 'python'
        ? `result = []\nfor name in ${JSON.stringify(names)}:\n    try: result.append(tools.my_shop[name](n=31))\n    except ToolError as e: result.append([e.kind, e.server, e.tool, bool(e.approval_id), len(str(e)) > 9])`
        : `const seen: unknown[] = []\nfor (const name of ${JSON.stringify(names)}) try { seen.push(await tools.my_shop[name]({ n: 31 })) } catch (e: any) { seen.push([e.kind, e.server, e.tool, !!e.approval_id, e instanceof ToolError && e.message.length > 9]) }\nreturn seen`);
      const kinds = { mark: 'denied', fails: 'tool_error', limited: 'rate_limited', pay: 'approval_needed' };
      assert.deepEqual(answer.result, names.map((name) => [kinds[name], 'my-shop', name, name === 'pay', true]), JSON.stringify(answer));
    });

    test(`${language}: one of several concurrent calls fails, and the others return`, async () => {
      const answer = await run(language, language === 'python'
        ? 'echo = lambda n: lambda: tools.my_shop.echo(n=n)["n"]\nresult = [v.kind if isinstance(v, ToolError) else v for v in parallel([echo(1), lambda: tools.my_shop.mark(), echo(2)], errors=True)]'
        : 'const echo = async (n: number) => (await tools.my_shop.echo({ n })).n\nreturn (await Promise.allSettled([echo(1), tools.my_shop.mark(), echo(2)])).map((v: any) => v.reason?.kind ?? v.value)');
      assert.deepEqual(answer.result, [1, 'denied', 2], JSON.stringify(answer));
      const first = await run(language, language === 'python'
        ? 'parallel([lambda: tools.my_shop.echo(n=1), lambda: tools.my_shop.mark()])' : 'await Promise.all([tools.my_shop.echo({ n: 1 }), tools.my_shop.mark()])');
      assert.match(first.error, /No marks/, 'without that, the first error is raised');
    });

    test(`${language}: tools whose names are no identifiers can be called by an identifier or by the exact name`, async () => {
      const answer = await run(language, language === 'python'
        ? 'result = [tools.my_shop.list_files(), tools["my-shop"]["list-files"](), describe("my-shop.list-files")["mcp_server"]]'
        : 'return [await tools.my_shop.list_files(), await tools["my-shop"]["list-files"](), (await describe("my-shop.list-files")).mcp_server]');
      assert.deepEqual(answer.result, [['a', 'b'], ['a', 'b'], 'my-shop'], JSON.stringify(answer));
    });

    test(`${language}: the number of calls per run is limited`, async () => {
      const answer = await run(language, language === 'python' ? 'for n in range(60): call_tool("my-shop", "echo", {"n": n})' : 'for (let n = 0; n < 60; n++) await callTool("my-shop", "echo", { n })');
      assert.deepEqual([answer.success, answer.exit], [false, 'killed']);
      assert.match(answer.error, /more than 50 tool calls/);
    });

    test(`${language}: a run that needs approval stops, and continues when it is run again, without repeating a call`, async () => {
      const n = language === 'python' ? 11 : 12;
      const code = language === 'python'
        ? `first = call_tool("my-shop", "echo", {"n": ${n}})\npaid = call_tool("my-shop", "pay", {"n": ${n}})\nresult = [first["n"], paid["paid"]]`
        : `const first: any = await callTool("my-shop", "echo", { n: ${n} })\nconst paid: any = await callTool("my-shop", "pay", { n: ${n} })\nreturn [first.n, paid.paid]`;
      const count = (name) => calls.filter((call) => call === name).length;
      const [echoes, payments] = [count('echo'), count('pay')];
      const stopped = await run(language, code);
      assert.deepEqual([stopped.success, stopped.approval.kind, stopped.approval.tool], [false, 'approval_needed', 'pay'], JSON.stringify(stopped));
      assert.match(stopped.resume, /Run the same code again/);
      const early = await run(language, code);
      assert.equal(early.approval.approval_id, stopped.approval.approval_id);
      assert.deepEqual([count('echo'), count('pay')], [echoes + 1, payments], 'nothing is done twice');
      assert.equal((await approve(stopped.approval.approval_id, { env })).code, 0);
      const done = await run(language, code);
      assert.deepEqual(done.result, [n, n], JSON.stringify(done));
      assert.deepEqual([count('echo'), count('pay')], [echoes + 1, payments + 1]);
      const fresh = await run(language, code);
      assert.equal(fresh.approval.kind, 'approval_needed', 'one approval, one payment');
      assert.equal(count('echo'), echoes + 2, 'a run that came to its end is over');
    });
  }

  for (const language of LANGUAGES) test(`${language}: calls that run concurrently with one that needs approval are not repeated`, async () => {
    const n = language === 'python' ? 21 : 22;
    const code = language === 'python'
      ? `paid, *rest = parallel([lambda: call_tool("my-shop", "pay", {"n": ${n}})] + [lambda i=i: call_tool("my-shop", "later", {"n": i}) for i in range(4)])\nresult = [paid["paid"], sum(v["n"] for v in rest)]`
      : `const [paid, ...rest]: any[] = await Promise.all([callTool("my-shop", "pay", { n: ${n} }), ...[0, 1, 2, 3].map((i) => callTool("my-shop", "later", { n: i }))])\nreturn [paid.paid, rest.reduce((s, v) => s + v.n, 0)]`;
    const count = (name) => calls.filter((call) => call === name).length;
    const before = count('later');
    const stopped = await run(language, code);
    assert.equal(stopped.approval?.kind, 'approval_needed', JSON.stringify(stopped));
    assert.equal(count('later'), before + 4);
    assert.equal((await approve(stopped.approval.approval_id, { env })).code, 0);
    const done = await run(language, code);
    assert.deepEqual(done.result, [n, 6], JSON.stringify(done));
    assert.equal(count('later'), before + 4, 'each was made once');
  });

  test('answers kept for one principal are not used for another', async () => {
    const bob = new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers: { Authorization: `Bearer ${tokens.bob}` } });
    const code = 'call_tool("my-shop", "echo", {"n": 77})\ncall_tool("my-shop", "pay", {"n": 77})';
    const count = () => calls.filter((call) => call === 'echo').length;
    const before = count();
    await run('python', code);
    await run('python', code, {}, bob);
    assert.equal(count(), before + 2);
  });

  test('call_tool returns the approval request; every inner call is in the log with the run that made it', async () => {
    await assert.rejects(peer.call('call_tool', { server: 'my-shop', tool: 'pay', args: { n: 5 } }), /-32003/);
    const query = async (...line) => (await cli(['audit', 'query', '--json', ...line], { env })).stdout.trim().split('\n').filter(Boolean).map((one) => JSON.parse(one));
    await run('python', 'call_tool("my-shop", "echo", {"n": 991})\ntry: tools["my-shop"].mark()\nexcept ToolError: pass');
    // The writer of the log works on its own.
    const [parent, all] = await until('the log', async () => {
      const run = (await query('--tool', 'execute_code', '--limit', '1'))[0]?.call, found = await query('--run', `${run}`);
      return ['echo', 'mark', 'execute_code'].every((name) => found.some((one) => one.tool === name)) && [run, found];
    });
    assert.deepEqual(all.map((one) => [one.tool, one.verdict, one.parent ?? 0]).sort(), [['echo', 'allow', parent], ['execute_code', 'allow', 0], ['mark', 'deny', parent]]);
  });

  test('the tool tree: servers, their tools, typed files with what was seen of results', async () => {
    const read = async (uri) => (await peer.request('resources/read', { uri })).contents[0];
    const { resources } = await peer.request('resources/list');
    assert.ok(resources.some(({ uri }) => uri === 'sallyport://servers'));
    assert.deepEqual(JSON.parse((await read('sallyport://servers')).text).servers.map(({ server }) => server), ['my-shop', 'code']);
    const { tools } = JSON.parse((await read('sallyport://servers/my-shop')).text);
    const files = tools.find(({ name }) => name === 'list-files');
    assert.deepEqual([files.typescript, files.python], ['sallyport://servers/my-shop/list_files.ts', 'sallyport://servers/my-shop/list_files.pyi']);
    const { text: typescript } = await read(files.typescript);
    assert.match(typescript, /list_files_output = (string\[\]|Array<string>)/, `learned from results: ${typescript}`);
    assert.match((await read(files.python)).text, /def list_files/);
    assert.equal((await read('sallyport://servers/my_shop/list-files.ts')).text, (await read(files.typescript)).text, 'any of its names');
    for (const uri of ['sallyport://servers/my-shop/hidden.ts', 'sallyport://servers/nowhere', 'sallyport://servers/my-shop/../my-shop/echo.ts', 'sallyport://servers/my-shop/echo.txt'])
      await assert.rejects(read(uri), /-32602/, uri);
    assert.ok(!tools.some(({ name }) => name === 'hidden'));
  });

  test('a skill that the operator offers is a tool with its own schema and rules, under the grant of its caller', async () => {
    const { tools } = await peer.request('tools/list');
    for (const [name, value] of [['double', 42], ['triple', 63], ['quadruple', 84]]) {
      assert.ok(tools.some((one) => one.name === name && one.inputSchema.required[0] === 'n'), name);
      const answer = await peer.call(name, { n: 21 });
      assert.equal(answer.structuredContent?.result, value, JSON.stringify(answer));
      assert.match((await peer.call(name, { n: 'x' })).content[0].text, /Input validation error: \/n/);
    }
    const marks = await peer.call('marks', {});
    assert.ok(marks.isError);
    assert.match(marks.structuredContent.error, /POLICY DENIED.*No marks/, 'what it calls is judged like every call');
    assert.match((await peer.call('barred', {})).content[0].text, /POLICY DENIED/);
    assert.match((await run('python', 'call_tool("", "double", {"n": 1})')).error, /code cannot run code/);
    await assert.rejects(peer.call('helper', {}), /Unknown tool/, 'a shared skill without a schema is none');
  });

  test('fetch in code answers as the endpoints do: refusals, errors and approval requests', async () => {
    const body = (name) => JSON.stringify({ server: 'my-shop', tool: name, args: { n: 41 } });
    for (const name of ['echo', 'mark', 'fails', 'boom', 'pay']) {
      const outside = await request('POST', `${gate.origin}/mcp/call`, { body: body(name), headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tokens.ann}` } });
      const answer = await run('typescript', `const r = await fetch("http://localhost:3001/mcp/call", { method: "POST", body: ${JSON.stringify(body(name))} }); return [r.status, await r.json()]`);
      const [status, inside] = answer.result ?? [];
      assert.deepEqual([status, inside], [outside.status, JSON.parse(await outside.text())], `${name}: ${JSON.stringify(answer)}`);
      if (name === 'pay') assert.deepEqual([status, inside.code, typeof inside.data.approval_id], [403, -32003, 'string']);
    }
  });

  test('hidden tools cannot be reached from code in any way', async () => {
    const [before] = [calls.length];
    const tries = ['call_tool("my-shop", "hidden")', 'tools["my-shop"].hidden()', 'tools.my_shop.hidden()', 'call_tool("", "call_tool", {"server": "my-shop", "tool": "hidden"})',
      'call_tool("my-shop", "Hidden")', 'call_tool("my_shop", "hidden")', 'call_tool("my-shop", "hidden ")', 'call_tool("my-shop", "./hidden")', 'call_tool("", "my-shop__hidden")', 'call_tool("", "mcp_my-shop_hidden")'];
    for (const one of tries) assert.equal((await run('python', `${one}`)).success, false, one);
    await peer.call('save_skill', { name: 'sneak', code: 'def main(): return call_tool("my-shop", "hidden")' });
    assert.deepEqual((await peer.call('load_skill', { name: 'sneak' })).structuredContent.metadata.tools, ['my-shop.hidden'], 'a skill says what it calls');
    assert.equal((await run('python', 'import skills.sneak\nresult = skills.sneak.main()')).success, false);
    assert.equal((await run('typescript', 'const r = await fetch("http://x/mcp/call", { method: "POST", body: JSON.stringify({ server: "my-shop", tool: "hidden", args: {} }) }); const j: any = await r.json(); if (r.ok && !j.isError) return j; throw new Error("refused")')).success, false);
    assert.deepEqual(calls.slice(before).filter((name) => name === 'hidden'), []);
  });
});
