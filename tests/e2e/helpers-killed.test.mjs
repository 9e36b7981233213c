// Every helper process of a gate, killed while calls are under way: it comes back by itself, calls work again, and errors name the cause.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LegacyHttp, alive, cli, commandLine, descendants, policyFile, processName, rawStdio, startServe, tempDir, until, use } from '../lib/index.mjs';
import { join } from 'node:path';

const pause = () => new Promise((resolve) => { setTimeout(resolve, 20); });
const server = rawStdio(async ({ serve }) => serve({
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: { mark } }) => ({ content: [{ type: 'text', text: mark }] }),
}));

const some = (found) => found.length > 0 && found;

async function serve(t, more = {}) {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const [command, ...args] = server;
  const gate = use(t, await startServe({ env, config: { version: '1', policy: policyFile(), code: { enabled: false }, servers: { s: { command, args } }, ...more } }));
  const client = await LegacyHttp.open(gate.url);
  const below = (name) => descendants(gate.pid).filter((pid) => processName(pid) === name && alive(pid));
  return { gate, client, env, below };
}

// Calls without end; what they answered and said. A call is never left without an answer.
function load(call) {
  const seen = { good: 0, errors: [], run: true };
  seen.done = (async () => {
    for (let i = 0; seen.run; i++) {
      const error = await call(`m${i}`);
      if (error) { seen.errors.push(error); await pause(); } else seen.good += 1;
    }
  })();
  return seen;
}

test('a killed spawner is replaced, and its replacement, too', async (t) => {
  const { gate, client, env, below } = await serve(t);
  const echo = async (mark) => {
    const { answer } = await client.exchange('tools/call', { name: 's__echo', arguments: { mark } });
    if (answer.error) return answer.error.message;
    return answer.result.content[0].text === mark ? null : JSON.stringify(answer.result);
  };
  await until('a first answer', async () => !(await echo('first')));
  const calls = load(echo);
  for (let round = 0; round < 3; round++) {
    const good = calls.good;
    await until('calls under way', () => calls.good > good);
    const [spawner] = await until('a spawner', () => { const found = below('sallyport-spawn'); return found.length === 1 && found; });
    const servers = descendants(gate.pid).filter((pid) => commandLine(pid).join(' ').includes('raw-stdio'));
    let spares = await until('a successor', () => some(below('sallyport-spare')));
    if (round === 1) { // it is replaced as well
      process.kill(spares[0], 'SIGKILL');
      spares = await until('another successor', () => some(below('sallyport-spare').filter((pid) => !spares.includes(pid))));
    }
    process.kill(spawner, 'SIGKILL');
    const after = calls.good;
    await until(`calls after the kill: ${gate.stderr.slice(-600)}`, () => calls.good > after + 5);
    await until('the old server to be gone', () => servers.every((pid) => !alive(pid)));
  }
  calls.run = false;
  await calls.done;
  for (const text of calls.errors) assert.match(text, /server `s`.*(the process that starts programs was killed|is not available|signal 9|not running|ended)/);
  await until('a line for each', () => gate.stderr.match(/the process that starts programs was killed by signal 9; it was restarted/g)?.length === 3);
  await until('one spawner', () => below('sallyport-spawn').length === 1); // a server has that name until it is executed
  assert.match((await cli(['audit', 'export'], { env })).stdout, /spawner_lost/);
  await gate.stop();
});

test('a spawner that hangs is replaced, and the end of the gate does not wait for it', async (t) => {
  const { gate, client, below } = await serve(t);
  const echo = async (mark) => !(await client.exchange('tools/call', { name: 's__echo', arguments: { mark } })).answer.error;
  const spawner = async () => (await until('a spawner', () => some(below('sallyport-spawn'))))[0];
  await until('a first answer', () => echo('first'));
  process.kill(await spawner(), 'SIGSTOP');
  for (const pid of descendants(gate.pid).filter((one) => commandLine(one).join(' ').includes('raw-stdio'))) process.kill(pid, 'SIGKILL');
  await until(`calls after the hang: ${gate.stderr.slice(-600)}`, () => echo('after'));
  await gate.child.waitLine(/the process that starts programs did not answer, and was killed by signal 9; it was restarted/, { stream: 'stderr' });
  const servers = descendants(gate.pid);
  process.kill(await spawner(), 'SIGSTOP');
  await gate.stop();
  await until('servers to end with the gate', () => servers.every((pid) => !alive(pid)));
});

test('when spawner and successor are killed at the same time, errors say that the gate has to be restarted', async (t) => {
  const { gate, client, below } = await serve(t);
  const [[spawner], [spare]] = [await until('a spawner', () => some(below('sallyport-spawn'))), await until('a successor', () => some(below('sallyport-spare')))];
  process.kill(spare, 'SIGSTOP'); // the spawner does not see it dead, and it cannot take over
  process.kill(spawner, 'SIGKILL');
  process.kill(spare, 'SIGKILL');
  await until('a word on it', () => /it could not be restarted: restart the gate/.test(gate.stderr));
  await until('an error that says so', async () => {
    const { answer } = await client.exchange('tools/call', { name: 's__echo', arguments: { mark: 'x' } });
    return answer.error && /restart the gate|process that starts programs was killed/.test(answer.error.message);
  });
  await gate.stop();
});

test('sandbox helper, zygotes and interpreters are restarted when they are killed', async (t) => {
  const { gate, client } = await serve(t, { code: { enabled: true } });
  const run = async (mark) => {
    const { answer } = await client.exchange('tools/call', { name: 'code__execute_code', arguments: { code: `result = "${mark}"`, timeout_seconds: 20 } });
    if (answer.error) return answer.error.message;
    const { success, result, error } = answer.result.structuredContent;
    return success && result === mark ? null : error;
  };
  await until('a first run', async () => !(await run('first')));
  const calls = load(run);
  const helpers = () => descendants(gate.pid).filter((pid) => alive(pid) && /sallyport-sandbox|sallyport-python/.test(`${commandLine(pid).join(' ')} ${processName(pid)}`));
  const kinds = { helper: (all) => all.filter((pid) => /sallyport-sandbox/.test(commandLine(pid)[0] ?? '')).slice(0, 1), interpreters: (all) => all.slice(1), one: (all) => all.slice(-1) };
  for (const [kind, pick] of Object.entries(kinds)) {
    const victims = await until(`${kind} to kill`, () => some(pick(helpers())));
    for (const pid of victims) try { process.kill(pid, 'SIGKILL'); } catch { /* ended meanwhile */ }
    const after = calls.good;
    await until(`runs after the kill of ${kind}`, () => calls.good > after + 3);
  }
  calls.run = false;
  await calls.done;
  for (const text of calls.errors) assert.match(text, /sandbox helper|interpreter process|killed|ended|is gone|signal|sandbox/);
  await gate.stop();
});
