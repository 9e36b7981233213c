// A second engine, slow and plain, written from docs/policy.md alone: what the real one is compared with. It reads
// valid documents only.

const MICRO = 1000000;
const WINDOWS = { minute: 60, hour: 3600, day: 86400 };
const ABSENT = Symbol('absent');

const plain = (n) => (Math.abs(n) < 1e15 && Number.isInteger(n) ? String(n) : Number(n).toString());

function print(v) {
  if (v === null) return '<nil>';
  if (typeof v === 'number') return plain(v);
  if (Array.isArray(v)) return `[${v.map(print).join(' ')}]`;
  if (typeof v === 'object') return `map[${Object.keys(v).sort().map((k) => `${k}:${print(v[k])}`).join(' ')}]`;
  return String(v);
}

const equals = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a === b : print(a) === print(b));

const isMap = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const own = (v, key) => (Object.hasOwn(v, key) ? v[key] : ABSENT);

/** Every value that the path stands for; ABSENT for an element that lacks the rest of it. */
function resolve(args, path) {
  const steps = [...path.slice('args'.length).matchAll(/\.([^.[]+)|\[(\d+|\*)\]/g)].map((m) => (m[1] !== undefined ? { key: m[1] } : { at: m[2] }));
  let values = [args];
  for (const { key, at } of steps) {
    const next = [];
    for (const v of values) {
      if (v === ABSENT) next.push(ABSENT);
      else if (at === '*' || (key === '*' && Array.isArray(v))) {
        if (Array.isArray(v)) next.push(...v);
        else next.push(ABSENT);
      } else if (at !== undefined || (/^\d+$/.test(key) && Array.isArray(v))) {
        next.push(Array.isArray(v) && Number(at ?? key) < v.length ? v[Number(at ?? key)] : ABSENT);
      } else next.push(isMap(v) ? own(v, key) : ABSENT);
    }
    values = next;
  }
  return values;
}

const length = (v) => (typeof v === 'string' ? [...v].length : Array.isArray(v) ? v.length : isMap(v) ? Object.keys(v).length : NaN);
const typeOf = (v) => (v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v);
const list = (v) => (Array.isArray(v) ? v : [v]);

const OPS = {
  eq: equals,
  neq: (v, want) => !equals(v, want),
  in: (v, want) => want.some((one) => equals(v, one)),
  not_in: (v, want) => !want.some((one) => equals(v, one)),
  lt: (v, want) => typeof v === 'number' && v < want,
  lte: (v, want) => typeof v === 'number' && v <= want,
  gt: (v, want) => typeof v === 'number' && v > want,
  gte: (v, want) => typeof v === 'number' && v >= want,
  regex: (v, want) => typeof v === 'string' && new RegExp(want, 'u').test(v),
  contains: (v, want) => (typeof v === 'string' ? typeof want === 'string' && v.includes(want) : Array.isArray(v) && v.some((one) => equals(one, want))),
  starts_with: (v, want) => typeof v === 'string' && list(want).some((one) => v.startsWith(one)),
  ends_with: (v, want) => typeof v === 'string' && list(want).some((one) => v.endsWith(one)),
  len_lt: (v, want) => length(v) < want,
  len_gte: (v, want) => length(v) >= want,
  type: (v, want) => list(want).some((one) => typeOf(v) === one || (one === 'integer' && Number.isInteger(v))),
};

function leaf(c, ctx, lenient) {
  if (c.path.startsWith('state.')) return OPS[c.op](ctx.after(c.path.slice('state.'.length)), c.value);
  const values = resolve(ctx.args, c.path);
  const one = (v) => {
    if (c.op === 'exists') return (v !== ABSENT && v !== null) === c.value;
    if (v === ABSENT) return ctx.missingFires ? !lenient : false;
    return OPS[c.op](v, c.value);
  };
  if (values.length === 0) return one(ABSENT);
  const all = c.match ? c.match === 'all' : lenient;
  return all ? values.every(one) : values.some(one);
}

function holds(c, ctx, lenient) {
  if (c.any) return c.any.some((one) => holds(one, ctx, lenient));
  if (c.all) return c.all.every((one) => holds(one, ctx, lenient));
  if (c.not) return !list(c.not).every((one) => holds(one, ctx, !lenient));
  return leaf(c, ctx, lenient);
}

export class Reference {
  constructor(policy) {
    this.policy = policy;
    this.counters = new Map();
    this.layer = Object.values(policy.tools ?? {}).some((t) => !t.rules && (Object.keys(t).length === 0 || t.require || t.deny_if || t.limits || t.approve_if)) || !!policy.all_tools;
  }

  read(key, window, now) {
    const found = this.counters.get(`${key}@${window}`);
    return found && found.start === Math.floor(now / window) ? found.value : 0;
  }

  /** The checks and limits of one tool's entry, in order. */
  entry(name, t, scope) {
    const out = { checks: [], limits: [] };
    for (const [i, r] of (t.rules ?? []).entries()) {
      const rule = r.name ?? `rule[${i}]`;
      if (r.action === 'deny') out.checks.push({ mode: 'deny', rule, conditions: [] });
      else if (r.action === 'require_approval') out.checks.push({ mode: 'approve', rule, conditions: r.conditions ?? [] });
      else if (r.conditions) out.checks.push({ mode: 'require', rule, conditions: r.conditions });
      if (r.rate_limit) {
        const [n, window] = r.rate_limit.split('/');
        out.limits.push({ rule, key: `${scope}._rate_${window}`, window: WINDOWS[window], max: Number(n) * MICRO, amount: () => MICRO });
      }
      if (r.state) {
        const limit = this.stateLimit(rule, r, scope);
        out.checks.at(-1).cap = limit.cap;
        out.limits.push(limit);
      }
    }
    for (const mode of ['require', 'deny_if', 'approve_if'])
      for (const [i, b] of (t[mode] ?? []).entries())
        out.checks.push({ mode: mode.split('_')[0], rule: b.name ?? `${mode}[${i}]`, conditions: b.conditions, missingFires: b.on_missing === 'deny' });
    for (const l of t.limits ?? [])
      out.limits.push({ rule: l.counter, key: `grant.${l.counter}`, window: WINDOWS[l.window] ?? l.window, max: l.max * MICRO, amount: this.amount(l) });
    return out;
  }

  amount(from) {
    return (args) => {
      if (!from.increment_from) return (from.increment || 1) * MICRO;
      const [v] = resolve(args, from.increment_from);
      return typeof v === 'number' && v >= 0 ? Math.ceil(Number((v * MICRO).toFixed(3))) : null;
    };
  }

  stateLimit(rule, r, scope) {
    const key = `${scope}.${r.state.counter}`;
    const cap = r.conditions.find((c) => c.path === `state.${key}` && (c.op === 'lt' || c.op === 'lte'));
    const max = !cap ? Infinity : cap.op === 'lte' ? cap.value * MICRO : cap.value * MICRO - 1;
    return { rule, key, cap, window: WINDOWS[r.state.window], max, amount: this.amount(r.state) };
  }

  decide(name, args = {}, now, upstream = 'ok') {
    const p = this.policy;
    const deny = (rule) => ({ verdict: 'deny', rule });
    if ((p.hide ?? []).some((h) => h === '*' || h === name)) return deny('(hidden)');
    const listed = Object.hasOwn(p.tools, name) && name !== '*';
    if (p.default === 'deny' && !listed) return deny('(default deny)');
    const entries = [];
    if (listed) entries.push(this.entry(name, p.tools[name], name));
    if (p.tools['*']) entries.push(this.entry('*', p.tools['*'], '_global'));
    if (p.all_tools) entries.push(this.entry('*', p.all_tools, '_global'));
    const limits = entries.flatMap((e) => e.limits);
    const amounts = limits.map((l) => l.amount(args));
    let approve = null;
    for (const check of entries.flatMap((e) => e.checks)) {
      const verdict = this.check(check, args, now, limits, amounts);
      if (verdict === 'deny') return deny(check.rule);
      if (verdict === 'approve') approve ??= check.rule;
    }
    const broken = amounts.indexOf(null);
    if (broken >= 0) return deny(limits[broken].rule);
    const added = new Map();
    for (const [i, l] of limits.entries()) {
      const id = `${l.key}@${l.window}`;
      const value = this.read(l.key, l.window, now) + (added.get(id) ?? 0) + amounts[i];
      if (value > l.max) return deny(l.rule);
      added.set(id, (added.get(id) ?? 0) + amounts[i]);
    }
    if (approve !== null) return { verdict: 'approve', rule: approve };
    if (upstream !== 'error')
      for (const [i, l] of limits.entries())
        this.counters.set(`${l.key}@${l.window}`, { start: Math.floor(now / l.window), value: this.read(l.key, l.window, now) + amounts[i] });
    return { verdict: 'allow', rule: null };
  }

  check(check, args, now, limits, amounts) {
    const requires = check.mode === 'require';
    const after = (key, before) => {
      const i = limits.findIndex((l) => l.key === key);
      const window = i >= 0 ? limits[i].window : this.windowOf(key);
      return (this.read(key, window, now) + (i >= 0 && !before ? amounts[i] ?? 0 : 0)) / MICRO;
    };
    const all = check.conditions.every((c) => {
      const ctx = { args, missingFires: check.missingFires, after: (key) => after(key, c === check.cap) };
      return holds(c, ctx, requires);
    });
    if (requires) return all ? 'pass' : 'deny';
    return all ? check.mode : 'pass';
  }

  windowOf(key) {
    const tool = key.split('.')[0];
    const rules = this.policy.tools[tool === '_global' ? '*' : tool].rules;
    const state = rules.find((r) => r.state?.counter === key.slice(tool.length + 1));
    return WINDOWS[state ? state.state.window : key.split('_rate_')[1]];
  }
}
