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
const isCount = (l: any) => l?.window && !l.increment_from && !['concurrent', 'identical'].includes(l.kind);
const rateText = (value: any) => (typeof value === 'object' && value ? `${value.max}/${value.window}` : String(value));

const globFits = (pattern: string, name: string) => new RegExp(`^${pattern.split('').map((c) => (c === '*' ? '.*' : c === '?' ? '.' : c.replace(/[^\w]/g, '\\$&'))).join('')}$`).test(name);
const named = (pattern: string, tool: string, category?: string) => (pattern.startsWith('@') ? pattern.slice(1).toLowerCase() === category?.toLowerCase() : /[*?]/.test(pattern) && globFits(pattern, tool));

// Where an entry alone puts a tool, or nowhere.
function columnOf(entry: any): [Column, string?] | null {
  const rules = listOf(entry?.rules);
  if (rules.some(isDeny) || listOf(entry?.deny_if).some(free)) return ['deny'];
  if (rules.some(isApprove) || listOf(entry?.approve_if).some(free)) return ['approve'];
  const limit = rules.find(isLimit);
  if (limit) return ['limit', rateText(limit.rate_limit)];
  const count = listOf(entry?.limits).find(isCount);
  return count ? ['limit', `${count.max}/${count.window}`] : null;
}

const ORDER: Column[] = ['hide', 'deny', 'approve', 'limit', 'allow'];
export function standing(policy: any, tool: string, category?: string): Standing {
  const entry = policy?.tools?.[tool];
  const own = entry !== undefined;
  const rules = listOf(entry?.rules);
  const blocks = [...listOf(entry?.require), ...listOf(entry?.deny_if), ...listOf(entry?.approve_if)];
  const extra = rules.filter((r) => !isDeny(r) && !isApprove(r) && !isLimit(r)).length + blocks.filter((b) => !free(b)).length;
  const hider = listOf(policy?.hide).find((h) => h === tool || named(String(h), tool, category));
  if (hider) return { column: 'hide', own, rules: extra, by: hider === tool ? undefined : hider };
  const patterns = Object.entries<any>(policy?.tools ?? {}).filter(([key]) => key !== tool && named(key, tool, category));
  const listed = own || patterns.some(([key]) => key !== '*');
  if (!listed && policy?.default === 'deny') return { column: 'deny', own, rules: extra };
  const all: [Column, string | undefined, string | undefined][] = [[...(columnOf(entry) ?? ['allow', undefined]), undefined] as any];
  for (const [key, e] of [...patterns, ...(policy?.all_tools ? [['all tools', policy.all_tools] as [string, any]] : [])]) {
    const found = columnOf(e);
    if (found) all.push([found[0], found[1], key]);
  }
  const [column, limit, by] = all.sort((a, b) => ORDER.indexOf(a[0]) - ORDER.indexOf(b[0]))[0];
  return { column, own, rules: extra, limit, by };
}

// A pasted fragment, as edits: its tools, what it hides, its default.
export function merge(policy: any, pasted: any): Edit[] {
  const edits: Edit[] = [];
  const tools = pasted?.tools ?? (Object.values<any>(pasted ?? {}).every((v) => v && typeof v === 'object' && !Array.isArray(v)) ? pasted : {});
  for (const [tool, entry] of Object.entries(tools)) edits.push({ path: ['tools', tool], value: entry });
  for (const name of listOf(pasted?.hide)) if (!listOf(policy?.hide).includes(name)) edits.push({ path: ['hide', '-'], value: name });
  for (const key of ['default', 'all_tools', 'flows', 'methods']) if (pasted?.[key] !== undefined && pasted.tools) edits.push({ path: [key], value: pasted[key] });
  return edits;
}

// ---- argument rules ----

const TEXT_OPS = ['eq', 'neq', 'in', 'not_in', 'contains', 'starts_with', 'ends_with', 'regex', 'glob', 'len_lte', 'len_gte', 'exists', 'no_shell_meta', 'no_leading_dash', 'contains_secret', 'pii'];
const NUMBER_OPS = ['lte', 'lt', 'gte', 'gt', 'eq', 'neq', 'in', 'not_in', 'exists'];
export const OP_NAMES: Record<string, string> = {
  eq: 'is', neq: 'is not', in: 'is one of', not_in: 'is none of', lt: 'is less than', lte: 'is at most', gt: 'is more than', gte: 'is at least', contains: 'contains', starts_with: 'starts with',
  ends_with: 'ends with', regex: 'matches the pattern', glob: 'matches the glob', len_lte: 'has a length of at most', len_gte: 'has a length of at least', exists: 'is given', under: 'is a path under', host: 'is a URL of host',
  sql: 'is SQL that only reads', no_shell_meta: 'has no shell characters', no_leading_dash: 'begins with no dash', contains_secret: 'contains a secret', pii: 'contains personal data', type: 'is of the type', within: 'is within', schema: 'fits the schema',
};
// What needs no value, or one of a few.
export const SQL_KINDS: [string, string][] = [['read_only', 'any dialect'], ['postgres', 'PostgreSQL'], ['mysql', 'MySQL'], ['sqlite', 'SQLite'], ['mssql', 'SQL Server']];
export const FLAGS = ['no_shell_meta', 'no_leading_dash'];
export const YES_NO = ['exists', 'contains_secret', 'pii'];

export function operators(schema: any, path: string): string[] {
  const type = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  if (type === 'number' || type === 'integer') return NUMBER_OPS;
  if (type === 'boolean') return ['eq', 'exists'];
  if (type === 'object') return ['exists', 'contains_secret', 'pii'];
  if (/^time\.hour/.test(path)) return NUMBER_OPS;
  if (/^(identity|grant|session|server|tool|call|time)\b/.test(path)) return ['eq', 'neq', 'in', 'not_in', 'starts_with', 'ends_with', 'exists'];
  if (type === 'array') return ['len_lte', 'len_gte', 'contains', 'exists'];
  const ops = [...TEXT_OPS];
  if (/path|file|dir|folder|root/i.test(path)) ops.unshift('under');
  if (/url|uri|link|endpoint|host/i.test(path)) ops.unshift('host');
  if (/sql|query|statement/i.test(path)) ops.unshift('sql');
  for (const op of ['under', 'host', 'sql']) if (!ops.includes(op)) ops.push(op);
  return ops;
}

// What a rule can look at besides arguments.
export const FACTS = ['identity.name', 'grant.name', 'grant.label', 'tool.class', 'time.hour', 'time.weekday'];

// The paths that a schema knows, at most three levels deep.
export function paths(schema: any, at = 'args', depth = 0): [string, any][] {
  return Object.entries<any>(schema?.properties ?? {}).flatMap(([name, one]) => {
    const path = /^[A-Za-z_][\w-]*$/.test(name) ? `${at}.${name}` : `${at}[${JSON.stringify(name)}]`;
    const below = depth < 2 && one?.properties ? paths(one, path, depth + 1) : depth < 2 && one?.items?.properties ? paths(one.items, `${path}[*]`, depth + 1) : [];
    return [[path, one] as [string, any], ...below];
  });
}

const LISTS = ['in', 'not_in', 'under', 'host'];
export function readValue(op: string, text: string, schema: any): unknown {
  const type = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  const one = (t: string): unknown => (type === 'number' || type === 'integer' || op.startsWith('len_') ? Number(t) : type === 'boolean' ? t === 'true' : t);
  if (FLAGS.includes(op)) return true;
  if (YES_NO.includes(op)) return text !== 'false';
  if (op === 'sql') return text === 'read_only' || !text ? 'read_only' : { read_only: text };
  if (LISTS.includes(op)) { const all = text.split(',').map((t) => t.trim()).filter(Boolean).map(one); return all.length === 1 && op !== 'in' && op !== 'not_in' ? all[0] : all; }
  return one(text);
}

// ---- rules as the builder makes them ----

export type Kind = 'require' | 'deny' | 'ask' | 'rate' | 'spend' | 'concurrent' | 'identical';
export const KINDS: [Kind, string][] = [['require', 'Allow only when'], ['deny', 'Deny when'], ['ask', 'Ask a person when'], ['rate', 'Calls at most'], ['spend', 'Spend at most'], ['concurrent', 'At the same time at most'], ['identical', 'The same call at most']];
export const SCOPES: [string, string][] = [['', 'everybody together'], ['identity', 'each identity'], ['grant', 'each grant'], ['session', 'each session'], ['server', 'each server'], ['global', 'all policies together']];
export const WINDOWS: [string, string][] = [['minute', 'per minute'], ['hour', 'per hour'], ['day', 'per day'], ['week', 'per week']];
export interface Draft { kind: Kind; condition: Condition; max: number; window: string; scope: string; message: string }
export const isCondition = (kind: Kind) => kind === 'require' || kind === 'deny' || kind === 'ask';

// A counter's name is its identity: two limits of one tool must not share one.
function counterFor(policy: any, tool: string, what: string): string {
  const text = JSON.stringify(policy?.tools?.[tool] ?? {});
  for (let n = 1; ; n++) { const name = `${tool} ${what}${n > 1 ? ` ${n}` : ''}`; if (!text.includes(JSON.stringify(name))) return name; }
}

export function ruleEdits(policy: any, tool: string, draft: Draft): Edit[] {
  const { kind, condition, max, window, scope, message } = draft;
  const says = message ? { on_deny: message } : {};
  const b = isB(policy);
  const into = (list: string, value: unknown): Edit[] => [...(policy?.tools?.[tool] === undefined ? [{ path: ['tools', tool], value: {} }] : []), { path: ['tools', tool, list, '-'], value }];
  if (isCondition(kind)) {
    if (b) return into({ require: 'require', deny: 'deny_if', ask: 'approve_if' }[kind as 'require'], { conditions: [condition], ...says });
    // A denial has no conditions there, so it is required that they do not hold.
    const value = { require: { conditions: [condition] }, deny: { conditions: [{ not: condition }] }, ask: { action: 'require_approval', conditions: [condition] } }[kind as 'require'];
    return [{ path: ['tools', tool, 'rules', '-'], value: { name: `${kind === 'require' ? '' : `${kind} when `}${condition.path} ${condition.op}`, ...value, ...says } }];
  }
  const what = { rate: 'calls', spend: 'spend', concurrent: 'at once', identical: 'repeats' }[kind as 'rate'];
  const counter = counterFor(policy, tool, what);
  const limit = { counter, ...(kind === 'concurrent' || kind === 'identical' ? { kind } : {}), ...(kind === 'concurrent' ? {} : { window }), max, ...(kind === 'spend' && { increment_from: condition.path }), ...(scope && { scope }), ...says };
  return b ? into('limits', limit) : [{ path: ['tools', tool, 'rules', '-'], value: { name: counter, limits: [limit] } }];
}

export interface Shown { path: (string | number)[]; text: string; effect: string; message?: string; shadow: boolean }
const said = (c: any): string => (c?.any ? `any of (${listOf(c.any).map(said).join('; ')})` : c?.all ? `(${listOf(c.all).map(said).join(' and ')})` : c?.not ? `not ${Array.isArray(c.not) ? `(${c.not.map(said).join(' and ')})` : said(c.not)}`
  : `${c?.path} ${OP_NAMES[c?.op] ?? c?.op}${FLAGS.includes(c?.op) || (YES_NO.includes(c?.op) && c?.value === true) ? '' : ` ${Array.isArray(c?.value) ? c.value.join(', ') : JSON.stringify(c?.value)}`}`);

const limitSaid = (l: any): [string, string] => {
  const whose = l.scope ? ` for ${SCOPES.find(([s]) => s === l.scope)?.[1] ?? l.scope}` : '';
  const per = typeof l.window === 'number' ? `in ${l.window} s` : `per ${l.window}`;
  if (l.kind === 'concurrent') return ['at the same time at most', `${l.max}${whose}`];
  if (l.kind === 'identical') return ['the same call at most', `${l.max} ${per}${whose}`];
  return l.increment_from ? ['spend at most', `${l.max} ${per} of ${l.increment_from}${whose}`] : ['calls at most', `${l.max} ${per}${whose}`];
};

export function rulesOf(policy: any, tool: string): Shown[] {
  const entry = policy?.tools?.[tool] ?? {};
  const out: Shown[] = [];
  listOf(entry.rules).forEach((r, i) => {
    if (isDeny(r) || isApprove(r) || isLimit(r)) return;
    const refused = !r.action && listOf(r.conditions).length === 1 ? r.conditions[0].not : undefined;
    const effect = refused ? 'deny when' : r.action === 'require_approval' ? 'ask when' : r.spend_limit ? 'spend at most' : 'only when';
    const text = r.spend_limit ? rateText(r.spend_limit) : (refused ? [refused].flat() : listOf(r.conditions)).map(said).join(' and ') || (r.validate ? 'the arguments fit the schema' : r.state ? `counter ${r.state.counter}` : 'always');
    const limits = listOf(r.limits).map(limitSaid);
    if (limits.length && !listOf(r.conditions).length) out.push({ path: ['tools', tool, 'rules', i], text: limits.map(([e, t], n) => (n ? `${e} ${t}` : t)).join('; '), effect: limits[0][0], message: r.on_deny ?? r.limits[0].on_deny ?? r.name, shadow: r.mode === 'shadow' });
    else out.push({ path: ['tools', tool, 'rules', i], text, effect, message: r.on_deny ?? r.name, shadow: r.mode === 'shadow' });
  });
  for (const [key, effect] of [['require', 'only when'], ['deny_if', 'deny when'], ['approve_if', 'ask when']] as const) {
    listOf(entry[key]).forEach((b, i) => { if (!free(b)) out.push({ path: ['tools', tool, key, i], text: listOf(b.conditions).map(said).join(' and '), effect, message: b.on_deny, shadow: b.mode === 'shadow' }); });
  }
  const shown = listOf(entry.limits).findIndex(isCount); // its column says it
  listOf(entry.limits).forEach((l, i) => {
    if (i === shown) return;
    const [effect, text] = limitSaid(l);
    out.push({ path: ['tools', tool, 'limits', i], text, effect, message: l.on_deny, shadow: l.mode === 'shadow' });
  });
  return out;
}
