// A policy as a board: which column a tool stands in, and the edits that move it. The gate makes the edits, in the text, so that
// comments and order stay; here is only what to ask for.

export type Column = 'allow' | 'limit' | 'approve' | 'deny' | 'hide';
export const COLUMNS: [Column, string][] = [['allow', 'Allow'], ['limit', 'Rate limit'], ['approve', 'Require approval'], ['deny', 'Deny'], ['hide', 'Hide']];
export interface Edit { path: (string | number)[]; value?: unknown }
export interface Condition { path: string; op: string; value: unknown; [more: string]: unknown }

export interface Standing { column: Column; own: boolean; rules: number; limit?: string; by?: string }

// While a text is typed, an item may still be empty.
const listOf = (value: unknown): any[] => (Array.isArray(value) ? value.map((one) => one ?? {}) : []);
const BLOCKS = ['require', 'deny_if', 'approve_if', 'limits', 'action', 'reason', 'rate_limit'];
// As dialect_of() in src/policy/load.c.
export const isB = (policy: any): boolean => {
  const entries = Object.values<any>(policy?.tools ?? {}).filter((e) => e && typeof e === 'object');
  if (entries.some((e) => 'rules' in e)) return false;
  return policy?.all_tools !== undefined || entries.some((e) => !Object.keys(e).length || BLOCKS.some((key) => key in e));
};

// As src/policy/board.c has them: in force and for every call; so many calls in a window, counted for everybody together.
const free = (rule: any) => !listOf(rule?.conditions).length && rule?.mode !== 'shadow' && !['state', 'validate', 'limits', 'spend_limit'].some((key) => rule?.[key] !== undefined);
const isDeny = (rule: any) => rule?.action === 'deny' && free(rule);
const isApprove = (rule: any) => rule?.action === 'require_approval' && free(rule);
const isLimit = (rule: any) => rule?.rate_limit !== undefined && rule.mode !== 'shadow';
const isCount = (l: any) => l?.window && !l.increment_from && !l.scope && !l.conditions && l.mode !== 'shadow' && !['concurrent', 'identical'].includes(l.kind);
const rateText = (value: any) => (typeof value === 'object' && value ? `${value.max}/${value.window}` : String(value));

export const isPattern = (key: string) => key.startsWith('@') || /[*?]/.test(key);
const globFits = (pattern: string, name: string) => new RegExp(`^${pattern.split('').map((c) => (c === '*' ? '.*' : c === '?' ? '.' : c.replace(/[^\w]/g, '\\$&'))).join('')}$`).test(name);
export const fitsPattern = (pattern: string, tool: { name: string; category?: string }) => named(pattern, tool.name, tool.category);
const named = (pattern: string, tool: string, category?: string) => (pattern.startsWith('@') ? pattern.slice(1).toLowerCase() === category?.toLowerCase() : /[*?]/.test(pattern) && globFits(pattern, tool));

// Where an entry alone puts a tool, or nowhere.
function columnOf(entry: any): [Column, string?] | null {
  const rules = listOf(entry?.rules);
  if (entry?.action === 'deny' || rules.some(isDeny) || listOf(entry?.deny_if).some(free)) return ['deny'];
  if (entry?.action === 'require_approval' || rules.some(isApprove) || listOf(entry?.approve_if).some(free)) return ['approve'];
  const limit = entry?.rate_limit !== undefined ? entry : rules.find(isLimit);
  if (limit) return ['limit', rateText(limit.rate_limit)];
  const count = listOf(entry?.limits).find(isCount);
  return count ? ['limit', `${count.max}/${count.window}`] : null;
}

const ORDER: Column[] = ['hide', 'deny', 'approve', 'limit', 'allow'];
// The entry of the pseudo tool `*` has a key of its own in PolicyLayer's JSON.
export const EVERY = '*';
const everyKey = (policy: any): (string | number)[] => (isB(policy) ? ['all_tools'] : ['tools', EVERY]);
export const entryPath = (policy: any, tool: string): (string | number)[] => (tool === EVERY ? everyKey(policy) : ['tools', tool]);
const entryOf = (policy: any, tool: string) => (tool === EVERY && isB(policy) ? policy?.all_tools : policy?.tools?.[tool]);
// What is done to tools without an entry.
export const fallback = (policy: any): 'allow' | 'deny' => (policy?.default === 'deny' ? 'deny' : 'allow');
export const patternsOf = (policy: any): string[] => Object.keys(policy?.tools ?? {}).filter((key) => key !== EVERY && isPattern(key));
export const hiddenPatterns = (policy: any): string[] => listOf(policy?.hide).map(String).filter(isPattern);

export function standing(policy: any, tool: string, category?: string): Standing {
  const entry = entryOf(policy, tool);
  const own = entry !== undefined;
  const rules = rulesOf(policy, tool).length;
  const hider = listOf(policy?.hide).find((h) => h === tool || named(String(h), tool, category));
  if (hider) return { column: 'hide', own, rules, by: hider === tool ? undefined : hider };
  const patterns = Object.entries<any>(policy?.tools ?? {}).filter(([key]) => key !== tool && named(key, tool, category));
  const listed = own || patterns.some(([key]) => key !== '*');
  if (!listed && policy?.default === 'deny') return { column: 'deny', own, rules };
  const all: [Column, string | undefined, string | undefined][] = [[...(columnOf(entry) ?? ['allow', undefined]), undefined] as any];
  for (const [key, e] of [...patterns, ...(policy?.all_tools ? [['all tools', policy.all_tools] as [string, any]] : [])]) {
    const found = columnOf(e);
    if (found && !(found[0] === 'limit' && (key === EVERY || e === policy.all_tools))) all.push([found[0], found[1], key]);
  }
  const [column, limit, by] = all.sort((a, b) => ORDER.indexOf(a[0]) - ORDER.indexOf(b[0]))[0];
  return { column, own, rules, limit, by };
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
  const text = JSON.stringify(policy ?? {});
  for (let n = 1; ; n++) { const name = `${tool} ${what}${n > 1 ? ` ${n}` : ''}`; if (!text.includes(JSON.stringify(name))) return name; }
}

export function ruleEdits(policy: any, tool: string, draft: Draft): Edit[] {
  const { kind, condition, max, window, scope, message } = draft;
  const says = message ? { on_deny: message } : {};
  const b = isB(policy);
  const at = entryPath(policy, tool);
  const into = (list: string, value: unknown): Edit[] => [...(entryOf(policy, tool) === undefined ? [{ path: at, value: {} }] : []), { path: [...at, list, '-'], value }];
  if (isCondition(kind)) {
    if (b) return into({ require: 'require', deny: 'deny_if', ask: 'approve_if' }[kind as 'require'], { conditions: [condition], ...says });
    // A denial has no conditions there, so it is required that they do not hold.
    const value = { require: { conditions: [condition] }, deny: { conditions: [{ not: condition }] }, ask: { action: 'require_approval', conditions: [condition] } }[kind as 'require'];
    return [{ path: [...at, 'rules', '-'], value: { name: `${kind === 'require' ? '' : `${kind} when `}${condition.path} ${condition.op}`, ...value, ...says } }];
  }
  const what = { rate: 'calls', spend: 'spend', concurrent: 'at once', identical: 'repeats' }[kind as 'rate'];
  const counter = counterFor(policy, tool, what);
  const limit = { counter, ...(kind === 'concurrent' || kind === 'identical' ? { kind } : {}), ...(kind === 'concurrent' ? {} : { window }), max, ...(kind === 'spend' && { increment_from: condition.path }), ...(scope && { scope }), ...says };
  return b ? into('limits', limit) : [{ path: [...at, 'rules', '-'], value: { name: counter, limits: [limit] } }];
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
  const entry = entryOf(policy, tool) ?? {}, at = entryPath(policy, tool), every = tool === EVERY;
  const out: Shown[] = [];
  if (every && ['deny', 'require_approval'].includes(entry.action)) out.push({ path: [...at, 'action'], text: 'every call', effect: entry.action === 'deny' ? 'deny' : 'ask when', message: entry.reason, shadow: false });
  if (every && entry.rate_limit !== undefined) out.push({ path: [...at, 'rate_limit'], text: rateText(entry.rate_limit), effect: 'calls at most', shadow: false });
  listOf(entry.rules).forEach((r, i) => {
    if (!every && (isDeny(r) || isApprove(r) || isLimit(r))) return; // its column says it
    const refused = !r.action && listOf(r.conditions).length === 1 ? listOf(r.conditions)[0].not : undefined;
    if (!listOf(r.conditions).length && (r.action === 'deny' || r.rate_limit !== undefined)) {
      out.push({ path: [...at, 'rules', i], text: r.action === 'deny' ? 'every call' : rateText(r.rate_limit), effect: r.action === 'deny' ? 'deny' : 'calls at most', message: r.on_deny ?? r.name, shadow: r.mode === 'shadow' });
      return;
    }
    const effect = refused ? 'deny when' : r.action === 'require_approval' ? 'ask when' : r.spend_limit ? 'spend at most' : 'only when';
    const text = r.spend_limit ? rateText(r.spend_limit) : (refused ? [refused].flat() : listOf(r.conditions)).map(said).join(' and ') || (r.validate ? 'the arguments fit the schema' : r.state ? `counter ${r.state.counter}` : 'always');
    const limits = listOf(r.limits).map(limitSaid);
    if (limits.length && !listOf(r.conditions).length) out.push({ path: [...at, 'rules', i], text: limits.map(([e, t], n) => (n ? `${e} ${t}` : t)).join('; '), effect: limits[0][0], message: r.on_deny ?? listOf(r.limits)[0].on_deny ?? r.name, shadow: r.mode === 'shadow' });
    else out.push({ path: [...at, 'rules', i], text, effect, message: r.on_deny ?? r.name, shadow: r.mode === 'shadow' });
  });
  for (const [key, effect] of [['require', 'only when'], ['deny_if', 'deny when'], ['approve_if', 'ask when']] as const) {
    listOf(entry[key]).forEach((b, i) => { if (every || !free(b)) out.push({ path: [...at, key, i], text: listOf(b.conditions).map(said).join(' and ') || 'every call', effect, message: b.on_deny, shadow: b.mode === 'shadow' }); });
  }
  const shown = every ? -1 : listOf(entry.limits).findIndex(isCount);
  listOf(entry.limits).forEach((l, i) => {
    if (i === shown) return;
    const [effect, text] = limitSaid(l);
    out.push({ path: [...at, 'limits', i], text, effect, message: l.on_deny, shadow: l.mode === 'shadow' });
  });
  return out;
}
