// A second engine, slow and plain, written from docs/policy.md alone: what the real one is compared with. It reads
// valid documents only.

const MICRO = 1000000;
const WINDOWS = { minute: 60, hour: 3600, day: 86400 };
const ABSENT = Symbol('absent');

const UNSURE = Symbol('unsure'); // a server may answer either way

const plain = (n) => (Math.abs(n) < 1e15 && Number.isInteger(n) ? String(n) : Number(n).toString());
const print = (v) => (v === null ? '<nil>' : typeof v === 'number' ? plain(v) : String(v));

const YES = ['true', 't', 'yes', 'y', 'on', '1'];
const NO = ['false', 'f', 'no', 'n', 'off', '0', ''];
const mayBeNumber = (text) => /^\s*([0-9+.-]|[^\0-\x7f]|$)/.test(text) || /^(inf|infinity|nan)$/i.test(text.trim());
const mayBeJson = (text) => /^\s*[[{]/.test(text);
const isNumeric = (text) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && !/^0[^.]/.test(text);

const EQUALS = {
  string: {
    string: (v, c) => v === c,
    number: (v, c) => (v === plain(c) ? true : isNumeric(v) ? (Number(v) === c ? UNSURE : false) : mayBeNumber(v) ? UNSURE : false),
    boolean: (v, c) => (c && v === 'true' ? true : UNSURE),
    null: (v) => (v === '<nil>' ? true : ['', 'null', 'none', 'nil'].includes(v.trim().toLowerCase()) ? UNSURE : false),
    array: (v) => (mayBeJson(v) ? UNSURE : false),
    object: (v) => (mayBeJson(v) ? UNSURE : false),
  },
  number: {
    string: (v, c) => (plain(v) === c ? true : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(c) && Number(c) === v ? UNSURE : false),
    number: (v, c) => v === c,
    boolean: () => UNSURE,
  },
  boolean: {
    string: (v, c) => (String(v) === c ? true : (v ? YES : NO).includes(c.toLowerCase()) ? UNSURE : false),
    number: (v, c) => (Number(v) === c ? UNSURE : false),
    boolean: (v, c) => v === c,
  },
  null: {
    string: (v, c) => (c === '<nil>' ? true : ['', 'null', 'none', 'nil'].includes(c.toLowerCase()) ? UNSURE : false),
    number: (v, c) => (c === 0 ? UNSURE : false),
    boolean: (v, c) => (c ? false : UNSURE),
    null: () => true,
    array: (v, c) => (c.length ? false : UNSURE),
    object: (v, c) => (Object.keys(c).length ? false : UNSURE),
  },
  array: {
    string: () => UNSURE,
    number: () => UNSURE,
    boolean: () => UNSURE,
    array: (v, c) => (v.length === c.length ? every(v.map((one, i) => part(one, c[i]))) : false),
  },
  object: {
    boolean: () => UNSURE,
    object: (v, c) => (Object.keys(v).length === Object.keys(c).length ? every(Object.keys(c).map((k) => (Object.hasOwn(v, k) ? part(v[k], c[k]) : false))) : false),
  },
};

const every = (all) => (all.includes(false) ? false : all.includes(UNSURE) ? UNSURE : true);
const some = (all) => (all.includes(true) ? true : all.includes(UNSURE) ? UNSURE : false);
const not = (v) => (v === UNSURE ? v : !v);
const equals = (v, c) => EQUALS[typeOf(v)][typeOf(c)]?.(v, c) ?? false;
/** Inside a list or an object a value of another type is never the same, at most made so. */
const part = (v, c) => { const same = equals(v, c); return same === true && typeOf(v) !== typeOf(c) ? UNSURE : same; };

const isMap = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const own = (v, key) => (Object.hasOwn(v, key) ? v[key] : ABSENT);

/** Every value that the path stands for; ABSENT for an element that lacks the rest of it, UNSURE for one that is of another kind. */
function resolve(args, path) {
  const steps = [...path.slice('args'.length).matchAll(/\.([^.[]+)|\[(\d+|\*)\]/g)].map((m) => (m[1] !== undefined ? { key: m[1] } : { at: m[2] }));
  let values = [args];
  for (const { key, at } of steps) {
    const next = [];
    for (const v of values) {
      const index = at ?? key;
      if (v === ABSENT || v === UNSURE) next.push(v);
      else if (v === null) next.push(ABSENT);
      else if (Array.isArray(v) && index === '*') next.push(...(v.length ? v : [ABSENT]));
      else if (Array.isArray(v) && /^\d+$/.test(index)) next.push(Number(index) < v.length ? v[Number(index)] : ABSENT);
      else if (isMap(v) && key === '*' && !Object.hasOwn(v, '*') && Object.keys(v).length) next.push(UNSURE);
      else if (isMap(v) && key !== undefined) next.push(own(v, key));
      else next.push(UNSURE);
    }
    values = next;
  }
  return values;
}

const typeOf = (v) => (v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v);
const list = (v) => (Array.isArray(v) ? v : [v]);
const order = (test) => (v, want) => (typeof v === 'number' ? test(v, want) : UNSURE);
const text = (test) => (v, want) => (typeof v === 'string' && !mayBeJson(v) ? test(v, want) : UNSURE);
const length = (test) => (v, want) => (typeof v === 'string' ? test([...v].length, want) : Array.isArray(v) ? test(v.length, want) : isMap(v) ? test(Object.keys(v).length, want) : UNSURE);

// A text that is equal to nothing may be parsed again; `null` is then nothing.
const parsed = (v) => typeof v === 'string' && mayBeJson(v), nothing = (v) => typeof v === 'string' && v.trim() === 'null';
const equal = (v, wants) => { const any = some(wants.map((one) => equals(v, one))); return any === false && parsed(v) ? UNSURE : any; };

const OPS = {
  eq: (v, want) => equal(v, [want]),
  neq: (v, want) => not(equal(v, [want])),
  in: equal,
  not_in: (v, want) => not(equal(v, want)),
  exists: (v, want) => (nothing(v) ? UNSURE : (v !== null) === want),
  lt: order((v, want) => v < want),
  lte: order((v, want) => v <= want),
  gt: order((v, want) => v > want),
  gte: order((v, want) => v >= want),
  regex: text((v, want) => new RegExp(want, 'u').test(v)),
  contains: (v, want) => (typeof v === 'string' && !mayBeJson(v) ? typeof want === 'string' && v.includes(want) : Array.isArray(v) ? some(v.map((one) => equals(one, want))) : UNSURE),
  starts_with: text((v, want) => list(want).some((one) => v.startsWith(one))),
  ends_with: text((v, want) => list(want).some((one) => v.endsWith(one))),
  len_lt: length((n, want) => n < want),
  len_gte: length((n, want) => n >= want),
  type: (v, want) => parsed(v) || nothing(v) ? UNSURE : list(want).some((one) => typeOf(v) === one || (one === 'integer' && Number.isInteger(v))),
};

/** `lenient` is the answer that lets the call through: what cannot be judged gets the other, or that one with ctx.hopeful. */
function leaf(c, ctx, lenient) {
  if (c.path.startsWith('state.')) return OPS[c.op](ctx.after(c.path.slice('state.'.length)), c.value);
  const values = resolve(ctx.args, c.path);
  const one = (v) => {
    let answer = v;
    if (v === ABSENT) answer = c.op === 'exists' ? !c.value : ctx.missingFires ? !lenient : false;
    else if (v !== UNSURE) answer = OPS[c.op](v, c.value);
    return answer === UNSURE ? lenient === Boolean(ctx.hopeful) : answer;
  };
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

  add(key, window, now, amount) {
    this.counters.set(`${key}@${window}`, { start: Math.floor(now / window), value: this.read(key, window, now) + amount });
  }

  /** Whether an error gives the amount back: only calls, only in Intercept's dialect, and never more than the maximum. */
  refunds(limit, amount, now) {
    const key = `${limit.key}/refunds`;
    if (this.layer || limit.money) return false;
    if (limit.max !== Infinity && this.read(key, limit.window, now) + amount > limit.max) return false;
    this.add(key, limit.window, now, amount);
    return true;
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
    return { rule, key, cap, window: WINDOWS[r.state.window], max, amount: this.amount(r.state), money: Boolean(r.state.increment_from) };
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
    for (const [i, l] of limits.entries())
      if (upstream !== 'error' || !this.refunds(l, amounts[i], now)) this.add(l.key, l.window, now, amounts[i]);
    return { verdict: 'allow', rule: null };
  }

  check(check, args, now, limits, amounts) {
    const requires = check.mode === 'require';
    const after = (key, before) => {
      const i = limits.findIndex((l) => l.key === key);
      const window = i >= 0 ? limits[i].window : this.windowOf(key);
      return (this.read(key, window, now) + (i >= 0 && !before ? amounts[i] ?? 0 : 0)) / MICRO;
    };
    const all = (hopeful) => check.conditions.every((c) => {
      const ctx = { args, hopeful, missingFires: check.missingFires, after: (key) => after(key, c === check.cap) };
      return holds(c, ctx, requires);
    });
    if (requires) return all(false) ? 'pass' : 'deny';
    if (!all(false)) return 'pass';
    return all(true) ? check.mode : 'deny'; // only what could not be judged has made it fire
  }

  windowOf(key) {
    const tool = key.split('.')[0];
    const rules = this.policy.tools[tool === '_global' ? '*' : tool].rules;
    const state = rules.find((r) => r.state?.counter === key.slice(tool.length + 1));
    return WINDOWS[state ? state.state.window : key.split('_rate_')[1]];
  }
}
