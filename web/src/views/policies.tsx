// Policies: a board of tools, the text beside it, a dry run, and every version that was in force.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get, part, post, query, send, type Policy, type Problem, type Record_, type Server, type Tool } from '../api';
import { COLUMNS, EVERY, FACTS, fallback, FLAGS, hiddenPatterns, isB, isCondition, isPattern, KINDS, merge, operators, OP_NAMES, paths, patternsOf, fitsPattern, readValue, ruleEdits, rulesOf, SCOPES, SQL_KINDS, standing, WINDOWS, YES_NO, type Column, type Edit, type Kind } from '../board';
import { TextEditor } from '../texteditor';
import { count, json, plain } from '../format';
import { DRAFTS, go, href, useData, useMay, useMe, usePlace } from '../state';
import { Explained, type Explanation } from '../trace';
import { Badge, Button, Check, Dialog, Empty, Fault, Field, Input, Notice, Panel, RiskClass, Segmented, Select, Table, Text, Time, toast, useMost } from '../ui';

interface Loaded { id: string; name: string; path: string; text: string; policy?: any; hash: string; servers: string[]; is_default: boolean }
interface Edited { policy_text: string; policy: any; valid: boolean; problems: Problem[] }
interface Version { version: number; hash: string; at: string; by: string; note?: string; current?: boolean }
interface Replay { calls: number; unchanged: number; newly_denied: Change; newly_allowed: Change; newly_need_approval: Change; not_judged: Change }
interface Change { count: number; by: { server?: string; tool: string; rule: string; count: number; first_seq: number }[] }

// ---- drafts ----

// An unsaved text outlives a look at another view, a reload and a session that expires; signing out ends it. With it is kept what it was made from, so
// that a save after somebody else's is refused as always.
interface Draft { text: string; base: { text: string; hash: string } }
const readDraft = (id: string): Draft | null => { try { return JSON.parse(sessionStorage.getItem(`${DRAFTS}${id}`) ?? 'null'); } catch { return null; } };
function keepDraft(id: string, draft: Draft | null): void {
  try { if (draft) sessionStorage.setItem(`${DRAFTS}${id}`, JSON.stringify(draft)); else sessionStorage.removeItem(`${DRAFTS}${id}`); } catch { /* too large to be kept */ }
}

// ---- lines that differ ----

export function lineDiff(before: string, after: string): { sign: ' ' | '+' | '-'; text: string }[] {
  const a = before.split('\n'), b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let endA = a.length, endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { endA--; endB--; }
  const x = a.slice(start, endA), y = b.slice(start, endB);
  const out: { sign: ' ' | '+' | '-'; text: string }[] = [];
  if (x.length * y.length > 4e6) out.push(...x.map((text) => ({ sign: '-' as const, text })), ...y.map((text) => ({ sign: '+' as const, text })));
  else {
    const table = Array.from({ length: x.length + 1 }, () => new Uint32Array(y.length + 1));
    for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) table[i][j] = x[i] === y[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    let i = 0, j = 0;
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) { out.push({ sign: ' ', text: x[i++] }); j++; }
      else if (j >= y.length || (i < x.length && table[i + 1][j] >= table[i][j + 1])) out.push({ sign: '-', text: x[i++] });
      else out.push({ sign: '+', text: y[j++] });
    }
  }
  const near = (lines: string[], n: number) => (n < 0 ? lines.slice(n) : lines.slice(0, n)).map((text) => ({ sign: ' ' as const, text }));
  return [...near(a.slice(0, start), -3), ...out, ...near(a.slice(endA), 3)];
}
const Diff = ({ before, after }: { before: string; after: string }) => {
  const lines = lineDiff(before, after);
  if (!lines.some((l) => l.sign !== ' ')) return <p class="muted">No line differs.</p>;
  return <pre class="code diff" tabIndex={0}>{lines.map((l, i) => <div key={i} class={l.sign === '+' ? 'add' : l.sign === '-' ? 'del' : ''}>{l.sign} <Text value={l.text} /></div>)}</pre>;
};

// ---- the board ----

function Value({ op, schema, value, onValue }: { op: string; schema: any; value: string; onValue: (v: string) => void }) {
  const numeric = ['number', 'integer'].includes(Array.isArray(schema?.type) ? schema.type[0] : schema?.type) || op.startsWith('len_');
  if (FLAGS.includes(op)) return null;
  if (YES_NO.includes(op) || (schema?.type === 'boolean' && op === 'eq')) return <Select label="Value" value={value || 'true'} onValue={onValue} options={[['true', 'yes'], ['false', 'no']]} />;
  if (op === 'sql') return <Select label="Value" value={value || 'read_only'} onValue={onValue} options={SQL_KINDS} />;
  if (schema?.enum && (op === 'eq' || op === 'neq')) return <Select label="Value" value={value} onValue={onValue} options={[['', 'choose'], ...schema.enum.map((v: unknown): [string, string] => [String(v), plain(v)])]} />;
  return <Input aria-label="Value" type={numeric && op !== 'in' && op !== 'not_in' ? 'number' : 'text'} step="any" placeholder={op === 'under' ? '/srv/data, /tmp/work' : op === 'host' ? '*.example.com' : op === 'in' || op === 'not_in' ? 'a, b, c' : 'value'} value={value} onValue={onValue} />;
}

function RuleBuilder({ policy, tool, readOnly, onEdit }: { policy: any; tool: Tool; readOnly: boolean; onEdit: (edits: Edit[]) => Promise<void> }) {
  const known = paths(tool.schema);
  const [kind, setKind] = useState<Kind>('require');
  const spendable = known.filter(([, s]) => ['number', 'integer'].includes(Array.isArray(s?.type) ? s.type[0] : s?.type)).map(([p]) => p);
  const offered = kind === 'spend' ? spendable : [...known.map(([p]) => p), ...FACTS];
  const [path, setPath] = useState(known[0]?.[0] ?? 'args.');
  const schema = known.find(([p]) => p === path)?.[1];
  const ops = operators(schema, path);
  const [op, setOp] = useState(ops[0]);
  const [value, setValue] = useState('');
  const [max, setMax] = useState('');
  const [message, setMessage] = useState('');
  const [window, setWindow] = useState('hour');
  const [scope, setScope] = useState('');
  const shown = rulesOf(policy, tool.name);
  const condition = isCondition(kind);
  const ready = condition ? !!path && (FLAGS.includes(op) || YES_NO.includes(op) || op === 'sql' || schema?.type === 'boolean' || value !== '') : Number(max) > 0 && (kind !== 'spend' || /^args\../.test(path));
  useEffect(() => { if (!ops.includes(op)) { setOp(ops[0]); setValue(''); } }, [path]);
  useEffect(() => { if (kind === 'spend' && !spendable.includes(path) && spendable.length) setPath(spendable[0]); }, [kind]);
  const add = async () => {
    await onEdit(ruleEdits(policy, tool.name, { kind, condition: { path, op, value: readValue(op, value || (schema?.type === 'boolean' ? 'true' : ''), schema) }, max: Number(max), window, scope, message }));
    setValue('');
    setMax('');
    setMessage('');
  };
  return (
    <div class="rulebuilder">
      {shown.length ? <ul class="rules">{shown.map((r) => <li key={r.path.join('/')}><span><strong>{r.effect}</strong> <Text value={r.text} />{r.shadow ? <> <Badge tone="info">shadow</Badge></> : null}{r.message ? <span class="muted"> “<Text value={r.message} />”</span> : null}</span>
        {readOnly ? null : <span class="row tight">{typeof r.path.at(-1) === 'number' ? <Button small tone="ghost" title="Decide and record, without enforcing" onClick={() => onEdit([{ path: [...r.path, 'mode'], value: r.shadow ? undefined : 'shadow' }])}>{r.shadow ? 'Enforce' : 'Shadow'}</Button> : null}<Button small tone="ghost" onClick={() => onEdit([{ path: r.path }])}>Remove</Button></span>}</li>)}</ul> : readOnly ? <p class="muted small">No rules about its arguments.</p> : null}
      {readOnly ? null : <div class="row builder">
        <Select label="Kind of rule" value={kind} onValue={(v) => setKind(v as Kind)} options={KINDS} />
        {condition || kind === 'spend' ? <span class="combo"><input class="input" list={`paths-${tool.name}`} aria-label="Argument" value={path} onInput={(e) => setPath(e.currentTarget.value)} /><datalist id={`paths-${tool.name}`}>{offered.map((p) => <option key={p} value={p} />)}</datalist></span> : null}
        {condition ? <><Select label="Operator" value={op} onValue={(o) => { setOp(o); setValue(''); }} options={ops.map((o): [string, string] => [o, OP_NAMES[o] ?? o])} /><Value op={op} schema={schema} value={value} onValue={setValue} /></> : <Input aria-label="At most" type="number" min={kind === 'spend' ? 0 : 1} step={kind === 'spend' ? 'any' : 1} placeholder="at most" value={max} onValue={setMax} />}
        {condition || kind === 'concurrent' ? null : <Select label="Window" value={window} onValue={setWindow} options={WINDOWS} />}
        {condition ? null : <Select label="Counted for" value={scope} onValue={setScope} options={SCOPES} />}
        <Input aria-label="Message for the agent" placeholder={kind === 'ask' ? 'What the approver and the agent read' : 'Message for the agent'} value={message} onValue={setMessage} />
        <Button small tone="primary" disabled={!ready} onClick={add}>Add rule</Button>
      </div>}
    </div>
  );
}

const NO_TOOL: Tool = { name: '', category: '', severity: '', confidence: 0, tags: [], findings: [], fingerprint: '', pin: 'none' };
// What these patterns match is only known to the gate: sets of letters, and selectors of flows.
const canCount = (pattern: string) => (pattern.startsWith('@') ? ALL_CLASSES.includes(pattern) : !pattern.includes('['));
const ALL_CLASSES = ['@read', '@write', '@execute', '@destructive', '@financial'];
type Move = (tool: string, to: Column, rate: string, first?: Edit[]) => Promise<any>;

// The choices of all rows are one grid to the arrow keys: left and right between columns, up and down between tools. They only move the focus.
function moveFocus(event: KeyboardEvent) {
  const at = event.currentTarget as HTMLElement;
  const own = [...at.parentElement!.querySelectorAll<HTMLElement>('[role=radio]')], column = own.indexOf(at);
  const groups = [...at.closest('.board')!.querySelectorAll<HTMLElement>('[role=radiogroup]')], row = groups.indexOf(at.parentElement!);
  const to: Record<string, HTMLElement | undefined> = {
    ArrowRight: own[(column + 1) % own.length], ArrowLeft: own[(column + own.length - 1) % own.length],
    ArrowDown: groups[row + 1]?.querySelectorAll<HTMLElement>('[role=radio]')[column], ArrowUp: groups[row - 1]?.querySelectorAll<HTMLElement>('[role=radio]')[column],
  };
  if (!(event.key in to)) return;
  event.preventDefault();
  to[event.key]?.focus();
}

function Choices({ name, column, readOnly, choose }: { name: string; column: Column; readOnly: boolean; choose: (c: Column) => void }) {
  return (
    <div class="segmented columns5" role="radiogroup" aria-label={`What becomes of ${plain(name)}`}>
      {COLUMNS.map(([c, title]) => <button key={c} type="button" role="radio" aria-checked={column === c} tabIndex={column === c ? 0 : -1} class={c} disabled={readOnly} onClick={() => choose(c)} onKeyDown={moveFocus}>{title}</button>)}
    </div>
  );
}

// What holds for more than one tool: the default, shadow mode, rules for every tool.
function Whole({ policy, readOnly, onEdit }: { policy: any; readOnly: boolean; onEdit: (edits: Edit[]) => Promise<void> }) {
  const [open, setOpen] = useState(false);
  const rules = rulesOf(policy, EVERY).length;
  const edit = (edits: Edit[]) => { onEdit(edits).catch((e) => toast(e.message, 'deny')); };
  // Without a default, tools are allowed too; a written one also lets servers sample from clients.
  const chooseDefault = (to: string) => { if (to !== fallback(policy)) edit([{ path: ['default'], value: to === 'allow' && !isB(policy) ? undefined : to }]); };
  return (
    <div class="whole">
      <div class="row">
        <span class="row tight"><span class="muted">Tools without a row of their own</span><Segmented label="Tools without a row of their own" disabled={readOnly} value={fallback(policy)} onValue={chooseDefault} options={[['allow', 'Allow'], ['deny', 'Deny']]} /></span>
        <span class="spacer" />
        <Check disabled={readOnly} checked={policy?.mode === 'shadow'} onChange={(on) => edit([{ path: ['mode'], value: on ? 'shadow' : undefined }])}>Shadow mode <span class="muted">records, enforces nothing</span></Check>
      </div>
      <button type="button" class="name" aria-expanded={open} onClick={() => setOpen(!open)}><strong>Every tool</strong>{rules ? <Badge tone="accent">{rules} {rules === 1 ? 'rule' : 'rules'}</Badge> : <span class="muted small">no rules</span>}</button>
      {open ? <RuleBuilder policy={policy} tool={{ ...NO_TOOL, name: EVERY }} readOnly={readOnly} onEdit={onEdit} /> : null}
    </div>
  );
}

// PolicyLayer's patterns need it.
const globEdits = (policy: any): Edit[] => (isB(policy) && policy?.match !== 'glob' ? [{ path: ['match'], value: 'glob' }] : []);

// One row for many tools: a pattern of names, or a risk class.
function AddPattern({ policy, onMove }: { policy: any; onMove: Move }) {
  const [pattern, setPattern] = useState('');
  const [to, setTo] = useState<Column>('deny');
  const add = async () => {
    await onMove(pattern.trim(), to, '10/minute', to === 'hide' ? [] : globEdits(policy));
    setPattern('');
  };
  return (
    <form class="row pad addpattern" aria-label="A row for many tools" onSubmit={(e) => { e.preventDefault(); add().catch((error) => toast(error.message, 'deny')); }}>
      <span class="combo"><Input aria-label="Pattern or class" placeholder="delete_*, or @destructive" value={pattern} onValue={setPattern} list="board-classes" /><datalist id="board-classes">{ALL_CLASSES.map((c) => <option key={c} value={c} />)}</datalist></span>
      <Select label="Column" value={to} onValue={(v) => setTo(v as Column)} options={COLUMNS} />
      <Button small type="submit" disabled={!isPattern(pattern.trim()) || pattern.trim() === EVERY}>Add a row</Button>
    </form>
  );
}

const ROWS_SHOWN = 200;
function Board({ policy, tools, known, readOnly, onEdit, onMove, focus }: { policy: any; tools: Tool[]; known: boolean; readOnly: boolean; onEdit: (edits: Edit[]) => Promise<void>; onMove: Move; focus: string | null }) {
  const [open, setOpen] = useState<string | null>(focus);
  useEffect(() => { if (focus) setOpen(focus); }, [focus]);
  const [text, setText] = useState('');
  const [rates, setRates] = useState<Record<string, string>>({});
  const fits = (name: string) => !text || name.toLowerCase().includes(text.toLowerCase());
  const patterns = [...new Set([...patternsOf(policy), ...hiddenPatterns(policy)])].filter(fits).map((name): Tool => ({ ...NO_TOOL, name }));
  const rows = [...patterns, ...tools.filter((t) => fits(t.name)).sort((a, b) => a.name.localeCompare(b.name))];
  const shown = useMost(rows, ROWS_SHOWN);
  const far = rows.slice(shown.rows.length).find((t) => t.name === focus);
  const totals = Object.fromEntries(COLUMNS.map(([c]) => [c, tools.filter((t) => standing(policy, t.name, t.category).column === c).length]));
  // The gate finds the entry of `hide`: its place may have changed since it was shown.
  const remove = async (name: string) => {
    const after = (policy?.hide ?? []).includes(name) ? await onMove(name, 'allow', '', globEdits(policy)) : policy;
    if (after?.tools?.[name] !== undefined) await onEdit([{ path: ['tools', name] }]);
  };
  return (
    <div class="board">
      <Whole policy={policy} readOnly={readOnly} onEdit={onEdit} />
      <div class="toolbar pad"><Input aria-label="Find a tool" placeholder="Find a tool" value={text} onValue={setText} /><span class="muted small">{COLUMNS.map(([c, name]) => `${name} ${totals[c]}`).join(' · ')}</span></div>
      <ul>{[...(far ? [far] : []), ...shown.rows].map((t) => {
        const at = standing(policy, t.name, t.category);
        const many = !t.fingerprint && isPattern(t.name);
        const rate = rates[t.name] ?? at.limit ?? '10/minute';
        const choose = (c: Column) => {
          if (c === at.column && !at.by && (c !== 'limit' || rate === at.limit)) return;
          onMove(t.name, c, rate).then((after) => {
            const now = standing(after, t.name, t.category);
            if (now.column !== c && now.by) toast(`${plain(now.by)} is stricter and still applies to it: change that row.`, 'info');
          }, (e) => toast(e.message, 'deny'));
        };
        return (
          <li key={t.name} data-tool={t.name}>
            <div class="line">
              <span class="row">
                <button type="button" class="name" aria-expanded={open === t.name} onClick={() => setOpen(open === t.name ? null : t.name)}><strong><Text value={t.name} /></strong>{many ? canCount(t.name) ? <Badge>{count(tools.filter((one) => fitsPattern(t.name, one)).length)} {t.name.startsWith('@') ? 'of this class' : 'of these names'}</Badge> : null : <RiskClass name={t.category} />}{at.rules ? <Badge tone="accent">{at.rules} {at.rules === 1 ? 'rule' : 'rules'}</Badge> : null}{at.by ? <span class="muted small">by <Text value={at.by} /></span> : at.own || at.column === 'hide' ? null : <span class="muted small">by default</span>}</button>
                {many && !readOnly ? <Button small tone="ghost" label={`Remove the row ${plain(t.name)}`} onClick={() => remove(t.name)}>Remove</Button> : null}
              </span>
              <Choices name={t.name} column={at.column} readOnly={readOnly} choose={choose} />
            </div>
            {at.column === 'limit' ? (
              <div class="row limit"><label class="row tight">At most <Input aria-label="Calls" type="number" min={1} disabled={readOnly} value={rate.split('/')[0]} onValue={(v) => setRates({ ...rates, [t.name]: `${v}/${rate.split('/')[1]}` })} /> calls per </label><Select label="Window" value={rate.split('/')[1]} onValue={(v) => setRates({ ...rates, [t.name]: `${rate.split('/')[0]}/${v}` })} options={[...new Set(['minute', 'hour', 'day', rate.split('/')[1]])]} disabled={readOnly} />
                {rate !== at.limit ? <Button small tone="primary" disabled={readOnly || !Number(rate.split('/')[0])} onClick={() => choose('limit')}>Apply</Button> : null}</div>
            ) : null}
            {open === t.name ? <RuleBuilder policy={policy} tool={t} readOnly={readOnly} onEdit={onEdit} /> : null}
          </li>
        );
      })}</ul>
      {shown.more}
      {!rows.length ? tools.length ? <Empty small title="No tool has this name" /> : known ? <Empty title="No tools are known">They appear when the server has been asked for its tools; until then, write the text.</Empty> : <p class="muted pad">Loading…</p> : null}
      {readOnly ? null : <AddPattern policy={policy} onMove={onMove} />}
    </div>
  );
}

// ---- trying it ----

function TryCall({ text, server, tools, record }: { text: string; server: string; tools: Tool[]; record: Record_ | undefined }) {
  const [tool, setTool] = useState('');
  const [args, setArgs] = useState('{}');
  const [answer, setAnswer] = useState<Explanation | null>(null);
  useEffect(() => setAnswer(null), [text]); // it was that of another text
  useEffect(() => { if (record) { setTool(record.tool ?? ''); if (record.args_mode === 'full') setArgs(json(record.args)); } }, [record]);
  const run = async () => {
    let parsed: unknown;
    try { parsed = JSON.parse(args); } catch { toast('The arguments are not JSON.', 'deny'); return; }
    setAnswer(await post<Explanation>('policies/explain', { policy_text: text, tool, ...(server && { server }), ...(record?.grant && { grant: record.grant }), arguments: parsed as Record<string, unknown>, class: tools.find((t) => t.name === tool)?.category }));
  };
  return (
    <div class="form">
      <div class="row"><Field label="Tool"><><input class="input" list="try-tools" value={tool} onInput={(e) => setTool(e.currentTarget.value)} /><datalist id="try-tools">{tools.map((t) => <option key={t.name} value={t.name} />)}</datalist></></Field></div>
      <Field label="Arguments"><textarea class="input mono" rows={4} value={args} onInput={(e) => setArgs(e.currentTarget.value)} spellcheck={false} /></Field>
      <div class="row"><Button onClick={run} disabled={!tool}>Ask this policy</Button></div>
      {answer ? <Explained answer={answer} /> : null}
    </div>
  );
}

function TryLog({ text, servers }: { text: string; servers: string[] }) {
  const [range, setRange] = useState('86400');
  const [answer, setAnswer] = useState<Replay | null>(null);
  useEffect(() => setAnswer(null), [text]);
  const run = async () => setAnswer(await post<Replay>('policies/replay', { policy_text: text, ...(servers.length && { servers }), since: new Date(Date.now() - Number(range) * 1000).toISOString().slice(0, 19) + 'Z' }));
  const kinds: [keyof Replay, string][] = [['newly_denied', 'Newly denied'], ['newly_allowed', 'Newly allowed'], ['newly_need_approval', 'Newly in need of approval'], ['not_judged', 'Not judged: the arguments were not recorded']];
  return (
    <div class="form">
      <div class="row"><Select label="Time range" value={range} onValue={setRange} options={[['3600', 'The last hour'], ['86400', 'The last day'], ['604800', 'The last week']]} /><Button onClick={run}>Replay the calls on record</Button></div>
      <p class="muted small">{servers.length ? <>Of the servers that this policy is for: <Text value={servers.join(', ')} />.</> : 'Of every server.'}</p>
      {answer ? <div data-replay><p>{count(answer.calls)} calls, {count(answer.unchanged)} decided as before.</p>{kinds.map(([key, name]) => { const c = answer[key] as Change; return c.count ? <div key={key}><h3>{name}: {count(c.count)}</h3><ul class="plain-list">{c.by.slice(0, 20).map((b) => <li key={`${b.tool}${b.rule}`}><a href={href(`activity?seq=${b.first_seq}`)}>{count(b.count)} × <Text value={b.tool} /></a> <span class="muted"><Text value={b.rule} /></span></li>)}</ul></div> : null; })}</div> : null}
    </div>
  );
}

function History({ id, text, onRevert, readOnly, unsaved }: { id: string; text: string; onRevert: () => void; readOnly: boolean; unsaved?: string }) {
  const versions = useData<Version[]>(`policies/${part(id)}/history`, { paged: true, when: (r) => r.event === 'reload' || r.event === 'policy_saved' });
  const [open, setOpen] = useState<{ version: Version; text: string } | null>(null);
  const show = async (v: Version) => setOpen({ version: v, text: (await get<{ text: string }>(`policies/${part(id)}/history/${v.version}`)).text });
  const revert = async (v: Version) => { await post(`policies/${part(id)}/revert`, { version: v.version }); toast(`Version ${v.version} is in force again.`); setOpen(null); versions.reload(); onRevert(); };
  if (versions.error) return <Fault error={versions.error} retry={versions.reload} />;
  if (!versions.data) return <p class="muted pad">Loading…</p>;
  if (!versions.data.length) return <Empty title="No earlier version is kept">Every save from here or the command line keeps the one before it.</Empty>;
  return (
    <>
      <Table cards label="Versions" rows={versions.data} keyOf={(v) => v.version} onRow={show} columns={[
        { head: 'Version', cell: (v) => <>{v.version} {v.current ? <Badge tone="allow">in force</Badge> : null}</> },
        { head: 'Saved', cell: (v) => <Time at={v.at} /> },
        { head: 'By', cell: (v) => <Text value={v.by} /> },
        { head: 'Note', hide: 'phone', cell: (v) => <Text value={v.note ?? ''} /> },
        { head: '', class: 'end', cell: (v) => (v.current ? null : <Button small disabled={readOnly} title={unsaved} onClick={() => revert(v)}>Revert to this</Button>) },
      ]} />
      {open ? <Dialog wide title={`Version ${open.version.version}, compared with the text here`} onClose={() => setOpen(null)} footer={<><Button onClick={() => setOpen(null)}>Close</Button>{open.version.current ? null : <Button tone="primary" disabled={readOnly} onClick={() => revert(open.version)}>Revert to this</Button>}</>}><Diff before={open.text} after={text} /></Dialog> : null}
    </>
  );
}

// ---- pasting ----

// Intercept YAML or PolicyLayer JSON, whole or only some tools.
function Paste({ policy, onClose, onMerge, onReplace }: { policy: any; onClose: () => void; onMerge: (edits: Edit[]) => Promise<void>; onReplace: (text: string) => void }) {
  const [pasted, setPasted] = useState('');
  const [read, setRead] = useState<Edited | null>(null);
  useEffect(() => {
    if (!pasted.trim()) { setRead(null); return; }
    const timer = setTimeout(() => { post<Edited>('policies/edit', { policy_text: pasted }).then(setRead, () => setRead(null)); }, 250);
    return () => clearTimeout(timer);
  }, [pasted]);
  const edits = read?.policy ? merge(policy, read.policy) : [];
  const names = edits.filter((e) => e.path[0] === 'tools').map((e) => String(e.path[1]));
  return (
    <Dialog wide title="Paste a policy" onClose={onClose} footer={<><Button onClick={onClose}>Cancel</Button><Button disabled={!read?.valid} title={read?.valid ? undefined : 'This is no whole policy'} onClick={() => onReplace(pasted)}>Replace the text</Button><Button tone="primary" disabled={!edits.length} onClick={() => onMerge(edits)}>Merge</Button></>}>
      <Field label="Intercept YAML, or PolicyLayer JSON: a whole policy or some tools of one"><textarea class="input mono" rows={12} value={pasted} onInput={(e) => setPasted(e.currentTarget.value)} spellcheck={false} placeholder={'{"tools": {"create_refund": {"require": [{"conditions": [{"path": "args.amount", "op": "lte", "value": 100}]}]}}}'} /></Field>
      {read ? <p class="muted">{names.length ? <>Merging replaces the rules of <Text value={names.join(', ')} />; comments and everything else stay.</> : read.policy ? 'No tools are in it.' : 'This is neither YAML nor JSON yet.'}</p> : null}
    </Dialog>
  );
}

// ---- one policy ----

function One({ loaded, servers, reload }: { loaded: Loaded; servers: Server[]; reload: () => Promise<void> }) {
  const place = usePlace();
  const may = useMay('policy-manager');
  const tries = useMe().open || may; // a gate without authentication lets every client try policies
  const [kept] = useState(() => (may ? readDraft(loaded.id) : null));
  const [text, setText] = useState(() => { const draft = place.query.get('draft') ? sessionStorage.getItem('draft') : null; sessionStorage.removeItem('draft'); return draft ?? kept?.text ?? loaded.text; });
  const [base, setBase] = useState<Loaded>(kept ? { ...loaded, ...kept.base } : loaded);
  useLayoutEffect(() => { if (may) keepDraft(base.id, text === base.text ? null : { text, base: { text: base.text, hash: base.hash } }); }, [text, base]);
  useEffect(() => { if (kept) toast('Your unsaved changes are still here.', 'info'); }, []);
  // Only editors have their text checked; for everybody else the board shows the file.
  const [checked, setState] = useState<Edited | null>(null);
  const state: Edited | null = may ? checked : { policy_text: loaded.text, policy: loaded.policy, valid: true, problems: [] };
  const [side, setSide] = useState('text');
  const [conflict, setConflict] = useState<Loaded | null>(null);
  const [saving, setSaving] = useState(false);
  const [note, setNote] = useState('');
  const [pasting, setPasting] = useState(false);
  const used = servers.filter((s) => loaded.servers.includes(s.name) || (loaded.is_default && !s.policy) || s.policy === loaded.name);
  const wanted = place.query.get('server');
  const [server, setServer] = useState(wanted && servers.some((s) => s.name === wanted) ? wanted : used[0]?.name ?? servers[0]?.name ?? '');
  const tools = useData<Tool[]>(server ? `servers/${part(server)}/tools` : null, { paged: true });
  const test = place.query.get('test');
  const record = useData<Record_>(test ? `audit/${test}` : null);
  const isJson = /^\s*[{[]/.test(text);
  const round = useRef(0);
  const latest = useRef(text);
  latest.current = text;
  const chain = useRef<Promise<unknown>>(Promise.resolve());
  const busy = useRef(0);
  // What is wrong with the text; an edit under way says so itself.
  const check = async (t: string) => {
    if (busy.current) return;
    const mine = ++round.current;
    const answer = await post<Edited>('policies/edit', { policy_text: t });
    if (mine === round.current && !busy.current) setState(answer);
  };
  // Edits are made one after the other, each on the text that the one before left: a quick second click loses nothing.
  const change = (edits: Edit[], move?: { tool: string; to: Column; rate: string }): Promise<any> => {
    const make = async () => {
      try {
        const answer = await post<Edited>('policies/edit', { policy_text: latest.current, edits: edits.map(({ path, value }) => (value === undefined ? { path } : { path, value })), ...(move && { move }) });
        round.current++;
        latest.current = answer.policy_text;
        setText(answer.policy_text);
        setState(answer);
        return answer.policy;
      } finally { busy.current--; }
    };
    busy.current++;
    const made = chain.current.then(make);
    chain.current = made.catch(() => {});
    return made;
  };
  useEffect(() => { if (!may) return; const timer = setTimeout(() => { check(text).catch((e) => toast(e.message, 'deny')); }, 250); return () => clearTimeout(timer); }, [text]);
  useEffect(() => { if (loaded.hash !== base.hash && text === base.text) { setText(loaded.text); setBase(loaded); } }, [loaded.hash]);
  useEffect(() => { if (test && tries) setSide('try'); }, [test]);
  const wish = place.query.get('do');
  const wishTool = place.query.get('tool');
  useEffect(() => {
    if (!may || !wish || !wishTool || !state?.policy) return;
    go(`policies/${part(loaded.id)}${query({ server: wanted, tool: wishTool })}`, true);
    change([], { tool: wishTool, to: wish as Column, rate: '10/minute' }).then(() => toast('Changed in the draft. Look at the difference, then save.', 'info'), (e) => toast(e.message, 'deny'));
  }, [wish, !!state?.policy]);
  const edit = async (edits: Edit[]) => { if (edits.length) await change(edits); };
  const dirty = text !== base.text;
  const errors = (state?.problems ?? []).filter((p) => p.severity === 'error').length;
  const save = async () => {
    try {
      const { json: saved } = await send('PUT', `policies/${part(base.id)}`, { policy_text: text, ...(note && { note }) }, { 'If-Match': `"${base.hash}"` });
      setBase({ ...base, text, hash: saved.hash });
      setSaving(false);
      setNote('');
      toast('Saved. It is in force for the next call.');
      await reload();
    } catch (e) {
      if (!(e instanceof ApiError) || e.status !== 412) throw e;
      setSaving(false);
      setConflict(await get<Loaded>(`policies/${part(base.id)}`));
    }
  };
  return (
    <div class="stack">
      <div class="toolbar">
        <Select label="Server whose tools are shown" value={server} onValue={setServer} options={servers.map((s): [string, string] => [s.name, used.includes(s) ? s.name : `${s.name} (another policy)`])} />
        <span class="muted small clip" title={loaded.path}><Text value={loaded.path} /></span>
        <div class="spacer" />
        {!may ? <Badge title="Changes need the role policy-manager">read-only</Badge> : state ? errors ? <Badge tone="deny">{errors} {errors === 1 ? 'error' : 'errors'}</Badge> : state.problems.length ? <Badge tone="approve">{state.problems.length} {state.problems.length === 1 ? 'warning' : 'warnings'}</Badge> : <Badge tone="allow">valid</Badge> : null}
        {may ? <Button small onClick={() => setPasting(true)}>Paste…</Button> : null}
        {dirty ? <Button small onClick={() => setText(base.text)}>Discard</Button> : null}
        {may ? <Button tone="primary" disabled={!dirty || errors > 0} onClick={() => setSaving(true)}>Save…</Button> : null}
      </div>
      <div class="columns policy">
        <Panel title="Board" flush>{state?.policy ? <Board key={server} policy={state.policy} tools={tools.data ?? []} known={!tools.loading || !server} readOnly={!may} onEdit={edit} onMove={(tool, to, rate, first = []) => change(first, { tool, to, rate })} focus={wishTool} /> : state ? <Empty title="The text is no policy yet">Its errors stand beside it.</Empty> : <p class="muted pad">Loading…</p>}</Panel>
        <Panel flush title={<Segmented label="Beside the board" value={side} onValue={setSide} options={[['text', 'Text'], ...(tries ? [['try', 'Try'] as [string, string]] : []), ['history', 'History']]} />}>
          {side === 'text' ? (
            <>
              <TextEditor text={text} language={isJson ? 'json' : 'yaml'} label="Policy text" readOnly={!may} problems={state?.problems ?? []} names={(tools.data ?? []).map((t) => t.name)} onText={setText} />
              {state?.problems.length ? <ul class="problems">{state.problems.map((p, i) => <li key={i} class={p.severity}><span class="where">{p.line ? `${p.line}:${p.column ?? 1}` : ''}</span><Text value={p.hint ? `${p.text}; ${p.hint}` : p.text} /></li>)}</ul> : null}
            </>
          ) : side === 'try' ? <div class="pad stack"><TryCall text={text} server={server} tools={tools.data ?? []} record={record.data} /><hr /><TryLog text={text} servers={used.map((s) => s.name)} /></div>
            : <History id={base.id} text={text} readOnly={!may || dirty} unsaved={dirty ? 'Save or discard your changes first' : undefined} onRevert={async () => { const fresh = await get<Loaded>(`policies/${part(base.id)}`); setBase(fresh); setText(fresh.text); await reload(); }} />}
        </Panel>
      </div>
      {pasting ? <Paste policy={state?.policy} onClose={() => setPasting(false)} onMerge={async (edits) => { await change(edits); setPasting(false); toast('In the draft. Look at the difference, then save.', 'info'); }} onReplace={(t) => { setText(t); setPasting(false); }} /> : null}
      {saving ? <Dialog wide title="Save this policy" onClose={() => setSaving(false)} footer={<><Button onClick={() => setSaving(false)}>Cancel</Button><Button tone="primary" onClick={save}>Save</Button></>}><Diff before={base.text} after={text} /><Field label="Note" hint="Kept with the version and on record."><Input value={note} onValue={setNote} maxLength={200} /></Field></Dialog> : null}
      {conflict ? <Dialog wide title="Somebody else has saved meanwhile" onClose={() => setConflict(null)} footer={<><Button onClick={() => { setBase(conflict); setConflict(null); }}>Keep my text, compare again</Button><Button tone="primary" onClick={() => { setBase(conflict); setText(conflict.text); setConflict(null); }}>Take theirs</Button></>}><Notice tone="approve">Nothing was written. This is the difference between the file now and your text:</Notice><Diff before={conflict.text} after={text} /></Dialog> : null}
    </div>
  );
}

export function Policies() {
  const place = usePlace();
  const policies = useData<Policy[]>('policies', { paged: true, when: (r) => r.event === 'reload' || r.event === 'reload_failed' || r.event === 'policy_saved' });
  const servers = useData<Server[]>('servers', { paged: true });
  const wanted = place.query.get('server');
  const files = [...new Map((policies.data ?? []).filter((p) => p.id).map((p) => [p.id, p])).values()];
  const own = servers.data?.find((s) => s.name === wanted)?.policy;
  const id = place.path[1] ?? (files.find((p) => p.server === wanted && wanted) ?? files.find((p) => p.name === own) ?? files[0])?.id;
  const loaded = useData<Loaded>(id ? `policies/${part(id)}` : null, { when: (r) => r.event === 'reload' || r.event === 'policy_saved' });
  if (policies.error) return <Fault error={policies.error} retry={policies.reload} />;
  if (!policies.data || !servers.data) return <p class="muted">Loading…</p>;
  if (!files.length) return <Panel><Empty title="No policy is in force">Without one nothing passes. Name a file with <code>policy:</code> in sallyport.yaml; <code>sallyport scan</code> writes a starter.</Empty></Panel>;
  return (
    <div class="stack">
      {files.length > 1 ? <div class="toolbar"><Segmented label="Policy" value={id ?? ''} onValue={(v) => go(`policies/${part(v)}`)} options={files.map((p) => [p.id!, p.server ? `${p.name} · ${p.server}` : p.name])} /></div> : null}
      {loaded.error ? <Fault error={loaded.error} retry={loaded.reload} /> : null}
      {loaded.data ? <One key={loaded.data.id} loaded={loaded.data} servers={servers.data} reload={loaded.reload} /> : <p class="muted">Loading…</p>}
    </div>
  );
}
