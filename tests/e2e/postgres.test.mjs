// Counters in PostgreSQL: several gates share them; the database is brought up to date at the start, or refused.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cli, legacyServer, peerFor, policyFile, startGate, startUpstream, use } from '../lib/index.mjs';
import { postgresPrograms, startPostgres } from '../lib/postgres.mjs';

const blocks = (tools) => ({ version: '1', default: 'allow', tools });
const daily = (max, more = {}) => ({ counter: 'c', kind: 'calendar', window: 'day', max, ...more });
const outcome = (peer, name, args = {}) => peer.exchange('tools/call', { name, arguments: args }).then(({ json }) => json);
const denied = ({ result }) => Boolean(result?.isError && result._meta?.['sallyport/denial']);

describe('counters in PostgreSQL', { skip: postgresPrograms() ? false : 'no PostgreSQL here: scripts/setup test installs it' }, () => {
  let pg;
  const dsn = (database) => `postgres://${pg.user}@/${database}?host=${pg.socket}`;
  const database = (name) => { assert.ok(pg.psql(`CREATE DATABASE ${name}`).ok); return dsn(name); };
  before(async () => { pg = await startPostgres(); });
  after(() => pg.stop());

  async function fleet(t, policy, state, gates) {
    const calls = [];
    const server = use(t, await startUpstream(legacyServer({ methods: { 'tools/call': (params) => { calls.push(params.name); return { content: [] }; } } })));
    const started = await Promise.all(Array.from({ length: gates }, () => startGate({ upstream: server.url, policy, args: ['--name', 'shop', '--state-dsn', state] })));
    for (const gate of started) use(t, gate);
    return { calls, peers: await Promise.all(started.map((gate) => peerFor('http', gate))) };
  }

  test('three gates that start together migrate once and allow exactly what one would', async (t) => {
    const { peers, calls } = await fleet(t, blocks({ pay: { limits: [daily(20), daily(40, { kind: 'sliding', counter: 's' })] } }), database('together'), 3);
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => outcome(peers[i % 3], 'pay')));
    assert.equal(answers.filter((answer) => !denied(answer)).length, 20);
    assert.equal(calls.length, 20);
    assert.ok(answers.find(denied).result._meta['sallyport/denial'].retry_after_ms > 0);
    assert.equal(pg.psql('SELECT count(*), max(version) FROM sallyport_schema', { database: 'together' }).out, '4|4');
    assert.equal(pg.psql("SELECT used FROM sallyport_counter WHERE key LIKE '%:s:%'", { database: 'together' }).out, '20000000', 'a refused call left nothing in the other counter');
  });

  test('conditions on counters are read there', async (t) => {
    const { peers } = await fleet(t, blocks({
      pay: { rules: [{ name: 'count', conditions: [{ path: 'state.pay.c', op: 'lte', value: 9 }], state: { counter: 'c', window: 'day' } }] },
      refund: { rules: [{ name: 'paid', conditions: [{ path: 'state.pay.c', op: 'gte', value: 2 }] }] },
    }), database('conditions'), 2);
    assert.ok(denied(await outcome(peers[1], 'refund')));
    for (let i = 0; i < 2; i++) assert.ok(!denied(await outcome(peers[0], 'pay')));
    assert.ok(!denied(await outcome(peers[1], 'refund')));
  });

  test('a role that only uses the functions is enough once the database is up to date', async (t) => {
    const state = database('narrow');
    await fleet(t, blocks({}), state, 1);
    assert.ok(pg.psql(`CREATE ROLE narrow LOGIN; GRANT SELECT ON sallyport_schema TO narrow; GRANT SELECT, INSERT, UPDATE, DELETE ON sallyport_counter TO narrow`, { database: 'narrow' }).ok);
    const { peers } = await fleet(t, blocks({ pay: { limits: [daily(1)] } }), state.replace(`${pg.user}@`, 'narrow@'), 1);
    assert.ok(!denied(await outcome(peers[0], 'pay')));
    assert.ok(denied(await outcome(peers[0], 'pay')));
  });

  test('a gate does not start without its database, or with one of a newer version', async () => {
    const start = (state) => cli(['-c', policyFile(), '--state-dsn', state, '--', 'cat']);
    const gone = await start(`postgres://me:hush-hush@/none?host=${pg.socket}`);
    assert.equal(gone.code, 4);
    assert.match(gone.stderr, /state: .*(role|database) "(me|none)" does not exist/);
    assert.doesNotMatch(gone.stderr, /hush/);
    const state = database('newer');
    assert.ok(pg.psql('CREATE TABLE sallyport_schema (version int); INSERT INTO sallyport_schema VALUES (99)', { database: 'newer' }).ok);
    const newer = await start(state);
    assert.equal(newer.code, 4);
    assert.match(newer.stderr, /the database is of version 99; this program knows 4/);
  });
});
