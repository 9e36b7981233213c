// A policy as a board: which column a tool stands in, and the edits that move it. The gate makes the edits, in the text, so that
// comments and order stay; here is only what to ask for.

export type Column = 'allow' | 'limit' | 'approve' | 'deny' | 'hide';
export const COLUMNS: [Column, string][] = [['allow', 'Allow'], ['limit', 'Rate limit'], ['approve', 'Require approval'], ['deny', 'Deny'], ['hide', 'Hide']];
export interface Edit { path: (string | number)[]; value?: unknown }
export interface Condition { path: string; op: string; value: unknown; [more: string]: unknown }

export interface Standing { column: Column; own: boolean; rules: number; limit?: string; by?: string }

const listOf = (value: unknown): any[] => (Array.isArray(value) ? value : []);
export const isB = (policy: any): boolean => {
  const entries = Object.values<any>(policy?.tools ?? {});
  if (policy?.all_tools) return true;
  if (entries.some((e) => e?.rules)) return false;
  return entries.some((e) => e && ['require', 'deny_if', 'approve_if', 'limits'].some((key) => key in e)) || (policy?.default !== undefined && entries.length > 0 && entries.every((e) => e && !Object.keys(e).length));
};

const free = (rule: any) => !listOf(rule?.conditions).length;
const isDeny = (rule: any) => rule?.action === 'deny' && free(rule);
const isApprove = (rule: any) => rule?.action === 'require_approval' && free(rule);
const isLimit = (rule: any) => rule?.rate_limit !== undefined;
const rateText = (value: any) => (typeof value === 'object' && value ? `${value.max}/${value.window}` : String(value));

export function standing(policy: any, tool: string): Standing {
  const entry = policy?.tools?.[tool];
  const own = entry !== undefined;
  const rules = listOf(entry?.rules);
  const blocks = [...listOf(entry?.require), ...listOf(entry?.deny_if), ...listOf(entry?.approve_if)];
  const extra = rules.filter((r) => !isDeny(r) && !isApprove(r) && !isLimit(r)).length + blocks.filter((b) => !free(b)).length;
  const at = (column: Column, limit?: string): Standing => ({ column, own, rules: extra, limit });
  if (listOf(policy?.hide).some((h) => h === tool || h === '*')) return at('hide');
  if (!own && policy?.default === 'deny') return at('deny');
  if (rules.some(isDeny) || listOf(entry?.deny_if).some(free)) return at('deny');
  if (rules.some(isApprove) || listOf(entry?.approve_if).some(free)) return at('approve');
  const limit = rules.find(isLimit);
  if (limit) return at('limit', rateText(limit.rate_limit));
  const count = listOf(entry?.limits).find((l) => l?.window && !l.increment_from);
  if (count) return at('limit', `${count.max}/${count.window}`);
  return at('allow');
}

// From the last to the first: an index counts in the list as it then is.
const drop = (tool: string, key: string, items: any[], which: (item: any) => boolean): Edit[] =>
  items.map((item, i) => [item, i] as const).filter(([item]) => which(item)).reverse().map(([, i]) => ({ path: ['tools', tool, key, i] }));

export function move(policy: any, tool: string, to: Column, rate: string): Edit[] {
  const entry = policy?.tools?.[tool];
  const hide = listOf(policy?.hide);
  const edits: Edit[] = [];
  const hidden = hide.indexOf(tool);
  if (hidden >= 0 && to !== 'hide') edits.push({ path: ['hide', hidden] });
  if (to === 'hide') return hidden >= 0 ? [] : [{ path: ['hide', '-'], value: tool }];
  if (isB(policy)) {
    edits.push(...drop(tool, 'deny_if', listOf(entry?.deny_if), free), ...drop(tool, 'approve_if', listOf(entry?.approve_if), free));
    edits.push(...drop(tool, 'limits', listOf(entry?.limits), (l) => !!l?.window && !l.increment_from));
    if (entry === undefined) edits.push({ path: ['tools', tool], value: {} });
    const [max, window] = rate.split('/');
    if (to === 'deny') edits.push({ path: ['tools', tool, 'deny_if', '-'], value: { conditions: [], on_deny: 'Denied by policy' } });
    if (to === 'approve') edits.push({ path: ['tools', tool, 'approve_if', '-'], value: { conditions: [] } });
    if (to === 'limit') edits.push({ path: ['tools', tool, 'limits', '-'], value: { counter: `${tool} calls`, window, max: Number(max) } });
    return edits;
  }
  edits.push(...drop(tool, 'rules', listOf(entry?.rules), (r) => isDeny(r) || isApprove(r) || isLimit(r)));
  if (entry === undefined && to === 'allow') return [...edits, { path: ['tools', tool], value: { rules: [] } }];
  if (to === 'deny') edits.push({ path: ['tools', tool, 'rules', '-'], value: { name: `no ${tool}`, action: 'deny' } });
  if (to === 'approve') edits.push({ path: ['tools', tool, 'rules', '-'], value: { name: `approve ${tool}`, action: 'require_approval' } });
  if (to === 'limit') edits.push({ path: ['tools', tool, 'rules', '-'], value: { name: `${tool} rate`, rate_limit: rate } });
  return edits;
}

// ---- argument rules ----

const TEXT_OPS = ['eq', 'neq', 'in', 'not_in', 'contains', 'starts_with', 'ends_with', 'regex', 'glob', 'len_lte', 'exists'];
const NUMBER_OPS = ['lte', 'lt', 'gte', 'gt', 'eq', 'neq', 'in', 'not_in', 'exists'];
export const OP_NAMES: Record<string, string> = {
  eq: 'is', neq: 'is not', in: 'is one of', not_in: 'is none of', lt: 'is less than', lte: 'is at most', gt: 'is more than', gte: 'is at least', contains: 'contains', starts_with: 'starts with',
  ends_with: 'ends with', regex: 'matches the pattern', glob: 'matches the glob', len_lte: 'has a length of at most', exists: 'is given', under: 'is a path under', host: 'is a URL of host', sql: 'is SQL with only', len_gte: 'has a length of at least',
};

export function operators(schema: any, path: string): string[] {
  const type = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  if (type === 'number' || type === 'integer') return NUMBER_OPS;
  if (type === 'boolean') return ['eq', 'exists'];
  if (type === 'array') return ['len_lte', 'len_gte', 'contains', 'exists'];
  const ops = [...TEXT_OPS];
  if (/path|file|dir|folder|root/i.test(path)) ops.unshift('under');
  if (/url|uri|link|endpoint|host/i.test(path)) ops.unshift('host');
  if (/sql|query|statement/i.test(path)) ops.unshift('sql');
  for (const op of ['under', 'host', 'sql']) if (!ops.includes(op)) ops.push(op);
  return ops;
}

// The paths that a schema knows, at most two levels deep.
export function paths(schema: any, at = 'args', depth = 0): [string, any][] {
  return Object.entries<any>(schema?.properties ?? {}).flatMap(([name, one]) => {
    const path = /^[A-Za-z_][\w-]*$/.test(name) ? `${at}.${name}` : `${at}[${JSON.stringify(name)}]`;
    const below = depth < 1 && one?.properties ? paths(one, path, depth + 1) : depth < 1 && one?.items?.properties ? paths(one.items, `${path}[*]`, depth + 1) : [];
    return [[path, one] as [string, any], ...below];
  });
}

const LISTS = ['in', 'not_in', 'under', 'host', 'sql'];
export function readValue(op: string, text: string, schema: any): unknown {
  const type = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  const one = (t: string): unknown => (type === 'number' || type === 'integer' || op.startsWith('len_') ? Number(t) : type === 'boolean' ? t === 'true' : t);
  if (op === 'exists') return text !== 'false';
  if (op === 'sql') return text.split(/[\s,]+/).filter(Boolean).map((t) => t.toLowerCase());
  if (LISTS.includes(op)) { const all = text.split(',').map((t) => t.trim()).filter(Boolean).map(one); return all.length === 1 && op !== 'in' && op !== 'not_in' ? all[0] : all; }
  return one(text);
}

export function addRule(policy: any, tool: string, condition: Condition, message: string): Edit[] {
  const rule = { conditions: [condition], ...(message && { on_deny: message }) };
  if (isB(policy)) return [...(policy?.tools?.[tool] === undefined ? [{ path: ['tools', tool], value: {} }] : []), { path: ['tools', tool, 'require', '-'], value: rule }];
  return [{ path: ['tools', tool, 'rules', '-'], value: { name: `${condition.path} ${condition.op}`, ...rule } }];
}

export interface Shown { path: (string | number)[]; text: string; effect: string; message?: string; shadow: boolean }
const said = (c: any): string => (c?.any ? `any of (${listOf(c.any).map(said).join('; ')})` : c?.all ? `(${listOf(c.all).map(said).join(' and ')})` : c?.not ? `not ${Array.isArray(c.not) ? `(${c.not.map(said).join(' and ')})` : said(c.not)}`
  : `${c?.path} ${OP_NAMES[c?.op] ?? c?.op} ${Array.isArray(c?.value) ? c.value.join(', ') : JSON.stringify(c?.value)}`);

export function rulesOf(policy: any, tool: string): Shown[] {
  const entry = policy?.tools?.[tool] ?? {};
  const out: Shown[] = [];
  listOf(entry.rules).forEach((r, i) => {
    if (isDeny(r) || isApprove(r) || isLimit(r)) return;
    const effect = r.action === 'deny' ? 'deny when' : r.action === 'require_approval' ? 'ask when' : r.spend_limit ? 'spend at most' : 'only when';
    const text = r.spend_limit ? rateText(r.spend_limit) : listOf(r.conditions).map(said).join(' and ') || (r.validate ? 'the arguments fit the schema' : r.state ? `counter ${r.state.counter}` : 'always');
    out.push({ path: ['tools', tool, 'rules', i], text, effect, message: r.on_deny ?? r.name, shadow: r.mode === 'shadow' });
  });
  for (const [key, effect] of [['require', 'only when'], ['deny_if', 'deny when'], ['approve_if', 'ask when']] as const) {
    listOf(entry[key]).forEach((b, i) => { if (!free(b)) out.push({ path: ['tools', tool, key, i], text: listOf(b.conditions).map(said).join(' and '), effect, message: b.on_deny, shadow: b.mode === 'shadow' }); });
  }
  listOf(entry.limits).forEach((l, i) => { if (l.increment_from) out.push({ path: ['tools', tool, 'limits', i], text: `${l.max} per ${l.window} of ${l.increment_from}`, effect: 'spend at most', message: l.on_deny, shadow: l.mode === 'shadow' }); });
  return out;
}

export function addSpend(policy: any, tool: string, from: string, max: number, window: string): Edit[] {
  if (isB(policy)) return [...(policy?.tools?.[tool] === undefined ? [{ path: ['tools', tool], value: {} }] : []), { path: ['tools', tool, 'limits', '-'], value: { counter: `${tool} spend`, window, max, increment_from: from } }];
  return [{ path: ['tools', tool, 'rules', '-'], value: { name: `${tool} spend`, spend_limit: { max, window, from } } }];
}
