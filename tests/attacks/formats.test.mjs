// Servers that read a text as a value of a format: the official Python SDK with dates, UUIDs, URLs and addresses. Whatever spelling of a
// value is tried, a rule about that value applies.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { peerFor, root, startGate, tempFile, use } from '../lib/index.mjs';

const python = join(root, 'tests/python/venv/bin/python');
const SERVER = `
from datetime import date, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Optional
from uuid import UUID
from pydantic import AnyUrl, BaseModel
from mcp.server.fastmcp import FastMCP
m = FastMCP("formats")
class Inner(BaseModel):
    id: Optional[UUID] = None
@m.tool()
def call(id: Optional[UUID] = None, day: Optional[date] = None, at: Optional[datetime] = None, url: Optional[AnyUrl] = None, four: Optional[IPv4Address] = None, six: Optional[IPv6Address] = None, ids: Optional[list[UUID]] = None, inner: Optional[Inner] = None) -> str:
    moment = at.timestamp() if at and at.tzinfo else at
    return f"GOT {id} {day} {moment} {url} {four} {six} {[str(x) for x in ids or []]} {inner and inner.id}"
m.run()
`;
const ID = '550e8400-e29b-41d4-a716-446655440000', OTHER = '660e8400-e29b-41d4-a716-446655440000';
const spellings = (id) => [id, id.toUpperCase(), `{${id}}`, `urn:uuid:${id}`, id.replaceAll('-', '')];
// The argument, the value that is denied, how a server prints it, its spellings, and values that pass.
const ROWS = [
  ['id', ID, ID, spellings(ID), [OTHER]],
  ['day', '2026-11-17', '2026-11-17', ['2026-11-17', '2026-11-17T00:00:00', '1794873600', '1794873600000', '2026-11-17T00:00:00Z'], ['2026-11-18']],
  ['at', '2026-11-17T00:00:00Z', '1794873600.0', ['2026-11-17T00:00:00Z', '2026-11-17T00:00:00.000Z', '2026-11-17 00:00:00Z', '2026-11-17T01:00:00+01:00', '2026-11-16T19:00:00-05:00', '1794873600', '2026-11-17T00:00Z', '2026-11-17t00:00:00z', '20261117T000000Z'], ['2026-11-17T00:00:01Z', '2026-11-17T01:00:00+02:00']],
  ['url', 'https://evil.example/', 'https://evil.example/', ['https://evil.example/', 'https://evil.example', 'HTTPS://evil.example/', 'https://EVIL.example/', 'https://evil.example:443/', 'https://evil.example/./', ' https://evil.example/', 'https:\\\\evil.example', 'https://evil.example/x/..', 'https://ev\til.example/'], ['https://good.example/']],
  ['four', '10.0.0.1', '10.0.0.1', ['10.0.0.1', '10.0.0.01', '167772161'], ['10.0.0.2']],
  ['six', '2001:db8::1', '2001:db8::1', ['2001:db8::1', '2001:DB8::1', '2001:db8:0:0:0:0:0:1', '2001:0db8::0001', '2001:db8::0.0.0.1'], ['2001:db8::2']],
];

async function open(t, block) {
  const gate = use(t, await startGate({ transport: 'stdio', command: [python, tempFile('formats.py', SERVER)], policy: { version: '1', default: 'deny', tools: { call: block } } }));
  const peer = await peerFor('stdio', gate, { capabilities: {} });
  return async (args) => (await peer.exchange('tools/call', { name: 'call', arguments: args })).json.result;
}
const text = (result) => result?.content?.[0]?.text ?? '';
const skips = (t) => !existsSync(python) && (t.skip(`SKIPPED LOUDLY: ${python} is not there`), true);

test('no spelling of a value avoids a rule about it', async (t) => {
  if (skips(t)) return;
  const rules = (conditions) => ({ deny_if: conditions.map((one, i) => ({ name: `r${i}`, conditions: [one] })) });
  const blocks = [ROWS.map(([name, value]) => ({ path: `args.${name}`, op: 'eq', value })), ROWS.map(([name, value]) => ({ path: `args.${name}`, op: 'in', value: ['x', value] })),
    ROWS.map(([name, value]) => ({ path: `args.${name}`, op: 'regex', value: `^${value.replace(/[.]/g, '[.]')}$` })).filter(({ path }) => !['args.at', 'args.url'].includes(path)),
    ROWS.map(([name, value]) => ({ path: `args.${name}`, op: 'starts_with', value: value.slice(0, 12) })).filter(({ path }) => ['args.id', 'args.six'].includes(path))];
  for (const conditions of blocks) {
    const call = await open(t, rules(conditions));
    let executed = 0, denied = 0;
    for (const [name, , printed, tried, fine] of ROWS.filter((row) => conditions.some(({ path }) => path === `args.${row[0]}`))) {
      for (const value of tried) {
        const result = await call({ [name]: value });
        denied += Boolean(result._meta?.['sallyport/denial']);
        assert.ok(result.isError || !text(result).includes(printed), `${conditions[0].op} ${name}=${value}: ${text(result)}`);
      }
      for (const value of fine) if (conditions[0].op !== 'starts_with' || name === 'id') {
        const result = await call({ [name]: value });
        assert.match(text(result), /^GOT /, `${conditions[0].op} ${name}=${value}`);
        executed++;
      }
    }
    assert.ok(executed > 0 && denied > 5, `${executed} ${denied}`);
  }
});

test('the same in lists, in models that may be missing, and where a rule requires a value', async (t) => {
  if (skips(t)) return;
  const call = await open(t, { deny_if: [{ name: 'list', conditions: [{ path: 'args.ids[*]', op: 'eq', value: ID }] }, { name: 'holds', conditions: [{ path: 'args.ids', op: 'contains', value: ID }] }, { name: 'inner', conditions: [{ path: 'args.inner.id', op: 'eq', value: ID.toUpperCase() }] }] });
  for (const id of spellings(ID)) for (const args of [{ ids: [OTHER, id] }, { inner: { id } }]) {
    const result = await call(args);
    assert.ok(result._meta?.['sallyport/denial'], `${JSON.stringify(args)} ${text(result)}`);
  }
  assert.match(text(await call({ ids: [OTHER], inner: { id: OTHER } })), /^GOT /);
  const required = await open(t, { require: [{ name: 'not', conditions: [{ path: 'args.id', op: 'not_in', value: [ID] }] }] });
  for (const id of spellings(ID)) assert.ok((await required({ id }))._meta?.['sallyport/denial'], id);
  assert.match(text(await required({ id: OTHER })), /^GOT /);
});
