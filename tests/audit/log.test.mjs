// The audit log from outside: what calls leave in it, how it is read, and that it cannot be changed unnoticed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { HttpConnection, LegacyHttp, cli, formatRequest, peerFor, policyFile, post, rawStdio, request, startGate, tempDir, until, use } from '../lib/index.mjs';

const POLICY = {
  version: '1', default: 'allow',
  tools: {
    drop_table: { rules: [{ name: 'no drops', action: 'deny', on_deny: 'Not here.' }] },
    charge: { rules: [{ name: 'small only', conditions: [{ path: 'args.amount', op: 'lte', value: 100 }] }] },
    ping: { rules: [{ name: 'twice', rate_limit: '2/day' }] },
  },
};

const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

const server = rawStdio(async ({ serve }) => serve({
  'tools/list': () => ({ tools: ['echo', 'drop_table', 'charge', 'ping', 'fail', 'fetch_url', 'send_email'].map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name }) => {
    if (name === 'fail') throw { code: -32000, message: 'it broke' };
    if (name === 'babble') process.stdout.write('hello\n{"jsonrpc":"2.0","id":7,"id":8,"result":{}}\n{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n');
    return { content: [{ type: 'text', text: name }] };
  },
}));

const lines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));

async function world(t, { args = ['--audit-args', 'full'], policy = POLICY } = {}) {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const gate = use(t, await startGate({ transport: 'stdio', policy, command: server, args, env }));
  await gate.rpc.initialize();
  const call = (name, params = {}) => gate.rpc.exchange('tools/call', { name, arguments: params });
  const ask = (...line) => cli(line, { env });
  return { env, gate, call, ask, home: env.SALLYPORT_HOME };
}

// What is in a ring can be read before the first segment is there.
const begun = ({ home }) => until('the first segment', () => {
  try {
    const db = new DatabaseSync(join(home, 'audit', '000001.sqlite'), { readOnly: true });
    try { return db.prepare('SELECT count(*) AS n FROM blocks').get().n; } finally { db.close(); }
  } catch { return false; }
});

async function filled(t, options) {
  const w = await world(t, options);
  await w.call('echo', { text: 'Grüße an Bob' });
  await w.call('drop_table', { table: 'users' });
  await w.call('charge', { amount: 700 });
  await w.call('charge', { amount: 70 });
  for (let i = 0; i < 3; i++) await w.call('ping');
  await w.call('fail', { why: '=cmd|x' });
  return w;
}

test('calls are recorded with decision and outcome, also while the gate runs', async (t) => {
  const { ask } = await filled(t);
  const { code, stdout, stderr } = await ask('audit', 'query', '--method', 'tools/call', '--json');
  assert.equal(code, 0, stderr);
  const found = lines(stdout).reverse();
  assert.deepEqual(found.map(({ tool, verdict, rule }) => [tool, verdict, rule]), [
    ['echo', 'allow', undefined], ['drop_table', 'deny', 'no drops'], ['charge', 'deny', 'small only'],
    ['charge', 'allow', undefined], ['ping', 'allow', undefined], ['ping', 'allow', undefined], ['ping', 'deny', 'twice'],
    ['fail', 'allow', undefined]]);
  const [echo, drop] = found;
  assert.deepEqual(echo.args, { text: 'Grüße an Bob' });
  assert.match(echo.args_hash, /^(sha256:)?[0-9a-f]{64}$/);
  assert.match(echo.policy_hash, /^[0-9a-f]{64}$/);
  assert.deepEqual(new Set(found.map(({ policy_version }) => policy_version)), new Set(['1']));
  assert.equal(echo.outcome.status, 'ok');
  assert.ok(echo.outcome.latency_us > 0 && echo.outcome.bytes_out > 0);
  assert.ok(drop.pointer.startsWith('/tools/drop_table/rules/0'));
  assert.equal(found.at(-1).outcome.status, 'rpc_error');
});

test('server output that is not a message, and messages that the policy withholds, are recorded as denied', async (t) => {
  const { call, ask } = await world(t, { policy: { ...POLICY, methods: { 'notifications/message': 'deny' } } });
  await call('babble');
  const found = lines((await ask('audit', 'query', '--verdict', 'deny', '--json')).stdout).reverse();
  assert.deepEqual(found.map(({ rule, method, text }) => [rule, method, text]), [
    ['(malformed by the server)', undefined, 'not valid JSON'], ['(malformed by the server)', undefined, 'duplicate key in an object'],
    [found[2].rule, 'notifications/message', found[2].text]]);
  for (const { server, session } of found) assert.ok(server && session);
  const { newly_allowed: { by } } = JSON.parse((await ask('replay', '-c', policyFile({ version: '1', tools: {} }), '--json')).stdout);
  assert.deepEqual(by.map(({ rule }) => rule), [found[2].rule], 'no policy could have let the others pass');
});

test('concurrent calls with long arguments: each record has its own hash, and an abandoned call does not disturb the others', async (t) => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const gate = use(t, await startGate({ policy: POLICY, command: server, args: ['--audit-args', 'full'], env }));
  const peer = await LegacyHttp.open(gate.url);
  const texts = Array.from({ length: 24 }, (_, i) => `${i}\n`.repeat(1000 + 700 * i));
  const ask = (text, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text, a: id } } });
  await Promise.all(texts.map(async (text, id) => {
    const left = await HttpConnection.open(gate.url);
    left.write(formatRequest('POST', gate.url, { headers: { ...JSON_HEADERS, ...peer.headers }, body: ask(text, 1000 + id) }));
    left.close();
    const { status } = await post(gate.url, ask(text, id), { headers: peer.headers });
    assert.equal(status, 200);
  }));
  const { stdout } = await cli(['audit', 'query', '--tool', 'echo', '--json', '--limit', '1000'], { env });
  const hashes = new Map(lines(stdout).map(({ args, args_hash }) => [args.a, args_hash]));
  for (const [id, text] of texts.entries()) {
    assert.equal(hashes.get(id), createHash('sha256').update(JSON.stringify({ a: id, text })).digest('hex'), `call ${id}`);
  }
});

test('query filters, show, tail', async (t) => {
  const { ask } = await filled(t);
  const count = async (...args) => lines((await ask('audit', 'query', '--json', ...args)).stdout).length;
  assert.equal(await count('--verdict', 'deny'), 3);
  assert.equal(await count('--tool', 'ch*'), 2);
  assert.equal(await count('--rule', 'twice'), 1);
  assert.equal(await count('--text', 'grüße bob'), 1);
  assert.equal(await count('--since', '1h', '--tool', 'ping', '--limit', '2'), 2);
  assert.equal(await count('--until', '1h'), 0);
  const [denied] = lines((await ask('audit', 'query', '--json', '--rule', 'twice')).stdout);
  const shown = await ask('audit', 'show', `${denied.seq}`);
  assert.equal(JSON.parse(shown.stdout).rule, 'twice');
  assert.equal((await ask('audit', 'show', '99999999')).code, 1);
  assert.equal((await ask('audit', 'show', 'x')).code, 2);
  assert.equal((await ask('audit', 'query', '--since', 'some day')).code, 2);
  assert.equal(lines((await ask('audit', 'tail', '-n', '3', '--json')).stdout).length, 3);
});

test('tail -f prints new records as they are written', async (t) => {
  const w = await world(t);
  const { start, sallyport } = await import('../lib/index.mjs');
  const tail = use(t, start(sallyport, ['audit', 'tail', '-f', '-n', '0', '--json'], { env: w.env }));
  // Records from before its start are not printed, and nothing shows when it has started.
  const line = await until('a record', async () => { await w.call('echo', { text: 'now' }); return tail.stdout.split('\n').slice(0, -1).find((one) => one.includes('"tool":"echo"')); });
  assert.equal(JSON.parse(line).verdict, 'allow');
});

test('export as JSON lines, CSV and CEF', async (t) => {
  const { ask } = await filled(t);
  const all = lines((await ask('audit', 'export')).stdout);
  assert.deepEqual(all.map(({ seq }) => seq), all.map((_, i) => i + 1));
  assert.ok(all.some(({ kind }) => kind === 'outcome') && all.some(({ kind, event }) => kind === 'event' && event === 'start'));
  const csv = (await ask('audit', 'export', '--format', 'csv', '--tool', 'fail')).stdout;
  assert.match(csv, /^seq,kind,time,.*,policy_version,gate\r\n.*,"1",""\r\n/);
  const cef = (await ask('audit', 'export', '--format', 'cef', '--verdict', 'deny')).stdout.trimEnd().split('\n');
  assert.equal(cef.length, 3);
  for (const line of cef) assert.match(line, /^CEF:0\|Sallyport\|sallyport\|[^|]+\|decision\|[^|]+\|6\|.*act=deny.* flexString2Label=policy_version flexString2=1 /);
});

test('verify passes during and after a run, and names every changed record', async (t) => {
  const { gate, ask, home, env } = await filled(t);
  const running = await ask('audit', 'verify', '--json');
  if (running.code !== 0) assert.match(running.stdout + running.stderr, /head is missing|audit.pub/); // not yet a second old
  await gate.stop();
  const sound = await ask('audit', 'verify', '--json');
  assert.equal(sound.code, 0, sound.stdout + sound.stderr);
  const { records, signed_seq, ok, last_seq, last_hash } = JSON.parse(sound.stdout);
  assert.ok(ok && records > 8 && signed_seq === records);
  const kept = (text) => ask('audit', 'verify', '--kept', text);
  assert.equal((await kept(`${last_seq}:${last_hash}`)).code, 0);
  for (const [text, fault] of [[`${last_seq - 1}:${last_hash}`, /NOT SOUND: .*another hash/], [`${last_seq + 1}:${last_hash}`, /NOT SOUND: .*not in the log/]]) {
    const { code, stdout } = await kept(text);
    assert.equal(code, 1);
    assert.match(stdout, fault);
  }
  for (const text of [last_hash, `0:${last_hash}`, `${last_seq}:${last_hash}0`, '99999999999999999999:' + last_hash]) assert.equal((await kept(text)).code, 2, text);
  const [drop] = lines((await ask('audit', 'query', '--json', '--tool', 'drop_table')).stdout);

  const path = join(home, 'audit', readdirSync(join(home, 'audit')).find((name) => name.endsWith('.sqlite')));
  const before = readFileSync(path);
  const at = before.indexOf('Not here.');
  assert.ok(at > 0);
  const changed = Buffer.from(before);
  changed.write('Nothere!!', at);
  writeFileSync(path, changed);
  const edited = await ask('audit', 'verify');
  assert.equal(edited.code, 1);
  assert.match(edited.stdout, new RegExp(`first bad record: ${drop.seq}\\n`));

  writeFileSync(path, before);
  assert.equal((await ask('audit', 'verify')).code, 0);
  const db = new DatabaseSync(path);
  db.exec('DELETE FROM blocks WHERE first_seq = (SELECT max(first_seq) FROM blocks)');
  db.close();
  const cut = await cli(['audit', 'verify', '--json'], { env });
  assert.equal(cut.code, 1);
  assert.ok(JSON.parse(cut.stdout).first_bad > 1);
});

test('only argument keys are recorded by default', async (t) => {
  const { ask } = await filled(t, { args: [] });
  const [echo] = lines((await ask('audit', 'query', '--json', '--tool', 'echo')).stdout);
  assert.deepEqual([echo.args_mode, echo.args], ['keys', ['text']]);
  const everything = (await ask('audit', 'export')).stdout;
  assert.ok(!everything.includes('Bob'));
});

test('replay shows which decisions another policy would change', async (t) => {
  const { ask } = await filled(t);
  const stricter = policyFile({
    version: '1', default: 'allow', hide: ['echo'],
    tools: {
      charge: { rules: [{ name: 'tiny only', conditions: [{ path: 'args.amount', op: 'lte', value: 10 }] }] },
      ping: { rules: [{ name: 'once', rate_limit: '1/day' }] },
    },
  });
  const { code, stdout, stderr } = await ask('replay', '-c', stricter, '--json');
  assert.equal(code, 0, stderr);
  const result = JSON.parse(stdout);
  const by = (kind) => Object.fromEntries(result[kind].by.map(({ tool, rule, count }) => [`${tool}/${rule}`, count]));
  assert.deepEqual(by('newly_denied'), { 'echo/(hidden)': 1, 'charge/tiny only': 1, 'ping/once': 1 });
  assert.deepEqual(by('newly_allowed'), { 'drop_table/no drops': 1 });
  assert.equal(result.not_judged.count, 0);
  assert.match((await ask('replay', '-c', stricter)).stdout, /Newly denied: 3/);
  assert.equal((await ask('replay', '-c', '/nonexistent')).code, 3);
  // The policy that was in force decides as it did: the arguments are looked at, not taken for missing ones.
  const again = JSON.parse((await ask('replay', '-c', policyFile(POLICY), '--json')).stdout);
  assert.deepEqual([again.newly_denied.count, again.newly_allowed.count, again.not_judged.count], [0, 0, 0]);
});

test('replay uses the recorded classes and names what it cannot evaluate', async (t) => {
  const w = await world(t, { policy: { version: '1', tools: {} }, args: [] });
  await w.call('drop_table');
  await w.gate.rpc.exchange('tools/list', {});
  for (const name of ['drop_table', 'echo']) await w.call(name);
  await w.gate.rpc.exchange('resources/read', { uri: 'file:///x' });
  const candidate = policyFile({
    version: '1', tools: { '@destructive': { rules: [{ name: 'no', action: 'deny' }] } },
    methods: { 'resources/read': { rules: [{ name: 'docs', conditions: [{ path: 'params.uri', op: 'starts_with', value: 'docs://' }] }] } },
  });
  const result = JSON.parse((await w.ask('replay', '-c', candidate, '--json')).stdout);
  const by = (kind) => result[kind].by.map(({ tool, rule, count }) => [tool, rule, count]).sort();
  assert.deepEqual(by('newly_denied'), [['drop_table', 'no', 1]]);
  assert.deepEqual(by('not_judged'), [['drop_table', '(class)', 1], ['file:///x', 'docs', 1]]);
});

test('replay names the rules that it cannot evaluate without arguments', async (t) => {
  const { ask } = await filled(t, { args: [] });
  const result = JSON.parse((await ask('replay', '-c', policyFile(POLICY), '--json')).stdout);
  assert.deepEqual(result.not_judged.by.map(({ tool, rule, count }) => [tool, rule, count]), [['charge', 'small only', 2]]);
  assert.equal(result.newly_denied.count + result.newly_allowed.count, 0);
});

test('replay does not evaluate denials by a flow rule, unless the candidate policy has no flow rules', async (t) => {
  const policy = { version: '1', tools: {}, flows: [{ name: 'no way out', after: ['src_untrusted'], deny: ['sink'] }] };
  const { call, ask } = await world(t, { policy });
  for (const name of ['send_email', 'fetch_url', 'send_email']) await call(name);
  for (const [candidate, kind] of [[policy, 'not_judged'], [{ version: '1', tools: {} }, 'newly_allowed']]) {
    const result = JSON.parse((await ask('replay', '-c', policyFile(candidate), '--json')).stdout);
    assert.deepEqual(result[kind].by.map(({ tool, rule, count }) => [tool, rule, count]), [['send_email', 'no way out', 1]]);
    assert.equal(result.calls - result.unchanged, 1);
  }
});

test('status: counters, denials, health', async (t) => {
  const { ask } = await filled(t);
  const { code, stdout, stderr } = await ask('status', '--json');
  assert.equal(code, 0, stderr);
  const status = JSON.parse(stdout);
  assert.ok(status.state.ok && status.audit.ok, JSON.stringify(status.audit));
  const ping = status.state.counters.find(({ key }) => key.includes('_rate_day'));
  assert.deepEqual([ping.value, ping.max], [2, 2]);
  assert.equal(status.calls.denied, 3);
  assert.deepEqual(status.top_deny_rules.map(({ count }) => count), [1, 1, 1]);
  assert.equal(status.recent_denials.length, 3);
  const text = (await ask('status')).stdout;
  assert.match(text, /2 of 2 \(fixed, 86400 s\)/);
  const nothing = await cli(['status', '--json']);
  assert.equal(nothing.code, 0);
  assert.equal(JSON.parse(nothing.stdout).audit.ok, false);
});

test('a log that cannot be written refuses calls, unless the setting lets them pass', async (t) => {
  for (const [mode, passes] of [['refuse', false], ['pass', true]]) {
    const w = await world(t, { args: ['--audit-on-full', mode] });
    await w.call('echo');
    await begun(w);
    const path = join(w.home, 'audit', '000001.sqlite');
    const db = new DatabaseSync(path);
    db.exec('PRAGMA busy_timeout = 5000'); // the writer may be at it
    db.exec('ALTER TABLE blocks RENAME TO elsewhere');
    // The first calls after the damage may still enter the ring.
    const refused = async () => { const answer = await w.call('echo'); return Boolean(answer.error || answer.result?.isError); };
    const noticed = () => /the audit log cannot be written/.test(w.gate.stderr);
    if (passes) await until('the gate to notice', async () => { assert.equal(await refused(), false); return noticed(); });
    else await until('a refusal', refused);
    assert.equal(await refused(), !passes, mode);
    db.exec('ALTER TABLE elsewhere RENAME TO blocks');
    db.close();
  }
});

test('unrecorded calls are counted while the gate runs and after it ends, and the next gate records the count', async (t) => {
  const w = await world(t, { args: ['--audit-args', 'full', '--audit-on-full', 'pass'] });
  const unrecorded = async () => JSON.parse((await w.ask('status', '--json')).stdout).audit.unrecorded;
  await w.call('echo');
  await begun(w);
  assert.equal(await unrecorded(), 0);
  const db = new DatabaseSync(join(w.home, 'audit', '000001.sqlite'));
  db.exec('PRAGMA busy_timeout = 5000');
  db.exec('ALTER TABLE blocks RENAME TO elsewhere');
  const large = 'x'.repeat(100 << 10);
  for (let sent = 0; !(await unrecorded()); sent += 20) { // until the ring is full
    assert.ok(sent < 200, 'the ring holds 8 MiB');
    for (let i = 0; i < 20; i++) assert.ok(!(await w.call('echo', { large })).error);
  }
  const lost = await unrecorded();
  assert.match((await w.ask('status')).stdout, new RegExp(`^Not in the audit log: ${lost} records`, 'm'));
  await w.gate.stop();
  db.exec('ALTER TABLE elsewhere RENAME TO blocks');
  db.close();
  const left = await unrecorded();
  assert.ok(left >= lost, 'also those that were missing at its end');
  const proof = await w.ask('audit', 'verify', '--json');
  assert.deepEqual([proof.code, JSON.parse(proof.stdout).unrecorded], [0, left]);
  const next = use(t, await startGate({ transport: 'stdio', policy: POLICY, command: server, env: w.env }));
  await next.rpc.initialize();
  const told = await until('the record of the gap', async () => { const found = lines((await w.ask('audit', 'query', '--text', 'gap', '--json')).stdout).filter(({ event }) => event === 'gap'); return found.length && found; });
  assert.match(told[0].text, new RegExp(`^${left} records of instance \\w{8} could not be kept$`));
  assert.equal(told.length, 1);
  await until('the count to be taken over', async () => await unrecorded() === 0);
});

test('a gate that cannot record says so: /readyz, status, metrics and the log agree', async (t) => {
  const env = { SALLYPORT_HOME: join(tempDir(), 'home') };
  const gate = use(t, await startGate({ policy: POLICY, command: server, env }));
  const get = async (path) => request('GET', `${gate.origin}${path}`).then(async (answer) => ({ status: answer.status, text: await answer.text() }));
  const peer = await peerFor('http', gate);
  await peer.exchange('tools/call', { name: 'echo', arguments: {} });
  assert.equal((await get('/readyz')).status, 200);
  await begun({ home: env.SALLYPORT_HOME });
  const db = new DatabaseSync(join(env.SALLYPORT_HOME, 'audit', '000001.sqlite'));
  db.exec('PRAGMA busy_timeout = 10000'); // the gate's writer may hold the database
  db.exec('ALTER TABLE blocks RENAME TO stolen');
  await until('the gate to notice', async () => { await peer.exchange('tools/call', { name: 'echo', arguments: {} }); return (await get('/readyz')).status !== 200; });
  assert.match((await get('/readyz')).text, /audit log cannot be written[^]*blocks/);
  assert.equal((await get('/healthz')).status, 200);
  assert.match((await get('/metrics')).text, /audit_up 0/);
  assert.ok((await peer.exchange('tools/call', { name: 'echo', arguments: {} })).json.error);
  db.exec('ALTER TABLE stolen RENAME TO blocks');
  db.close();
  await until('the gate to be ready', async () => (await get('/readyz')).status === 200);
  await gate.stop();
  assert.match(gate.child.stderr, /the audit log cannot be written: .*calls are refused/);
  assert.match(gate.child.stderr, /the audit log can be written again/);
  const events = lines((await cli(['audit', 'export'], { env })).stdout).map(({ event }) => event);
  assert.ok(events.includes('gap') && events.includes('resumed'), String(events));
});

test('a log that was deleted as a whole, or whose segment is damaged, is noticed before and after the next start', async (t) => {
  const { gate, call, ask, home, env } = await world(t);
  await call('ping');
  await gate.stop();
  const copy = join(tempDir(), 'copy');
  cpSync(home, copy, { recursive: true });
  for (const [where, breaks, why] of [
    [home, () => rmSync(join(home, 'audit'), { recursive: true }), /the signed head is missing: the log was deleted/],
    [copy, () => truncateSync(join(copy, 'audit', '000001.sqlite'), 100), /not a database|malformed|damaged/],
  ]) {
    breaks();
    const at = { ...env, SALLYPORT_HOME: where };
    const verified = await cli(['audit', 'verify'], { env: at });
    assert.equal(verified.code, 1, verified.stdout + verified.stderr);
    assert.match(verified.stdout, /NOT SOUND/);
    assert.match(verified.stdout, why);
    assert.match((await cli(['status'], { env: at })).stdout, why);
    assert.equal(JSON.parse((await cli(['status', '--json'], { env: at })).stdout).audit.ok, false);
    const doctor = await cli(['doctor'], { env: at });
    assert.equal(doctor.code, 1);
    assert.match(doctor.stdout, why);
  }
  const next = use(t, await startGate({ transport: 'stdio', policy: POLICY, command: server, env }));
  await next.rpc.initialize();
  await next.stop();
  assert.match(next.child.stderr, /the log before this one was deleted: \d+ of its records were signed/);
  const after = await ask('audit', 'verify');
  assert.equal(after.code, 1);
  assert.match(after.stdout, /the log before this one was deleted/);
});

test('a ring that is cut short under a gate ends it with a word, and the next start tells of the loss', async (t) => {
  const { gate, call, ask, home, env } = await world(t);
  await call('ping');
  await begun({ home });
  const [ring] = readdirSync(join(home, 'audit')).filter((file) => file.startsWith('ring-'));
  truncateSync(join(home, 'audit', ring), 0);
  call('ping').catch(() => {});
  await gate.child.closed;
  assert.match(gate.child.stderr, /cut short while it was in use/);
  const next = use(t, await startGate({ transport: 'stdio', policy: POLICY, command: server, env }));
  await next.rpc.initialize();
  await next.stop();
  assert.match(next.child.stderr, /ring-.*damaged/);
});

test('what was deleted is noticed: the ring of a killed gate, the counters, the signing key', async (t) => {
  const { gate, call, ask, home, env } = await world(t);
  await call('ping');
  await begun({ home });
  gate.child.signal('SIGKILL');
  await gate.child.closed;
  assert.match((await ask('audit', 'verify')).stdout + (await ask('status')).stdout, /killed/i);
  for (const name of readdirSync(join(home, 'audit')).filter((file) => file.startsWith('ring-'))) rmSync(join(home, 'audit', name));
  const gone = await ask('audit', 'verify');
  assert.equal(gone.code, 1);
  assert.match(gone.stdout, /ring of instance .* gone or damaged/);
  for (const name of readdirSync(home).filter((file) => file.startsWith('state.'))) rmSync(join(home, name));
  const next = use(t, await startGate({ transport: 'stdio', policy: POLICY, command: server, env }));
  await next.rpc.initialize();
  await next.stop();
  assert.match(next.child.stderr, /every limit can be used again/);
  const events = lines((await ask('audit', 'export')).stdout).map(({ event }) => event);
  assert.ok(events.includes('store_lost'), String(events));
  const verified = await ask('audit', 'verify');
  assert.equal(verified.code, 0, verified.stdout);
  rmSync(join(home, 'audit.key'));
  const broken = await cli(['-c', policyFile(POLICY), '--', ...server], { env });
  assert.equal(broken.code, 4);
  assert.match(broken.stderr, /audit\.key` is missing/);
  writeFileSync(join(home, 'format'), 'sallyport home 99\n');
  for (const line of [['audit', 'verify'], ['grants', 'list'], ['-c', policyFile(POLICY), '--', ...server]])
    assert.match((await cli(line, { env })).stderr, /newer version of sallyport/);
});
