// The pieces that every view is made of.
import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ago, count, fullTime, json, localTime, pieces, plain } from './format';

// ---- text ----

export function Text({ value }: { value: unknown }) {
  const text = String(value ?? '');
  const all = pieces(text);
  if (all.length <= 1 && !all[0]?.unseen) return <>{text}</>;
  return <>{all.map((p) => (p.unseen ? <span class="unseen" title="a character that cannot be seen">{p.text}</span> : p.text))}</>;
}

// The arguments of a call. Texts of several lines stand below the rest as they are: nobody can judge code or SQL with `\n` in it.
export function Arguments({ value }: { value: unknown }) {
  const members = value && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
  const long = members.filter(([, v]) => typeof v === 'string' && v.trim().includes('\n'));
  if (!long.length) return <Code value={value} />;
  const rest = members.filter((one) => !long.includes(one));
  return <>{rest.length ? <Code value={Object.fromEntries(rest)} /> : null}{long.map(([name, text]) => <div key={name} class="stack tight"><code><Text value={name} /></code><Code value={text} /></div>)}</>;
}

export const Code = ({ value, wrap = true }: { value: unknown; wrap?: boolean }) => (
  <pre class={`code${wrap ? ' wrap' : ''}`} tabIndex={0}><Text value={json(value)} /></pre>
);

// Where nothing can be hovered over, the whole time.
export const WholeTime = ({ at }: { at: string }) => <time dateTime={at}>{fullTime(at)}</time>;

export function Time({ at, relative = false }: { at?: string | null; relative?: boolean }) {
  if (!at) return <span class="muted">–</span>;
  return <time dateTime={at} title={fullTime(at)}>{relative ? ago(at) : localTime(at)}</time>;
}

// Text in which `…` is code.
export const Words = ({ text }: { text: string }) => <>{text.split('`').map((part, i) => (i % 2 ? <code key={i}><Text value={part} /></code> : <Text key={i} value={part} />))}</>;

// ---- marks ----

export type Tone = 'allow' | 'deny' | 'approve' | 'info' | 'quiet' | 'accent';
export const Badge = ({ tone = 'quiet', children, title }: { tone?: Tone; children: ComponentChildren; title?: string }) => (
  <span class={`badge ${tone}`} title={title}>{children}</span>
);

const VERDICT: Record<string, string> = { allow: 'Allowed', deny: 'Denied', approve: 'Approval' };
export const Verdict = ({ verdict, shadow }: { verdict?: string; shadow?: unknown }) => (
  <span class="row tight">
    <Badge tone={(verdict as Tone) ?? 'quiet'}>{VERDICT[verdict ?? ''] ?? verdict ?? 'Event'}</Badge>
    {shadow ? <Badge tone="info" title="A rule in shadow mode would have decided otherwise">shadow</Badge> : null}
  </span>
);

const CLASS_TONE: Record<string, Tone> = { Read: 'allow', Write: 'info', Execute: 'approve', Destructive: 'deny', Financial: 'deny' };
export const RiskClass = ({ name }: { name?: string }) => (name && name !== 'Unknown' ? <Badge tone={CLASS_TONE[name] ?? 'quiet'}>{name}</Badge> : <span class="muted">–</span>);

const STATE_TONE: Record<string, Tone> = { ready: 'allow', active: 'allow', stopped: 'deny', 'not trusted': 'approve', completed: 'allow', approved: 'allow', used: 'quiet', idle: 'quiet', down: 'deny', failed: 'deny', revoked: 'deny', denied: 'deny', expired: 'quiet', pending: 'approve', running: 'info', timeout: 'deny', cancelled: 'quiet' };
export const State = ({ name }: { name: string }) => <span class={`state ${STATE_TONE[name] ?? 'quiet'}`}>{name}</span>;

// ---- frames ----

export const Panel = ({ title, actions, children, flush, id }: { title?: ComponentChildren; actions?: ComponentChildren; children?: ComponentChildren; flush?: boolean; id?: string }) => (
  <section class={`panel${flush ? ' flush' : ''}`} id={id}>
    {title || actions ? <header><h2>{title}</h2>{actions ? <div class="actions">{actions}</div> : null}</header> : null}
    <div class="body">{children}</div>
  </section>
);

export const Empty = ({ title, children, action, small }: { title: string; children?: ComponentChildren; action?: ComponentChildren; small?: boolean }) => (
  <div class={`empty${small ? ' small' : ''}`}><p class="title">{title}</p>{children ? <p class="muted">{children}</p> : null}{action}</div>
);

export const Fault = ({ error, retry }: { error: unknown; retry?: () => void }) => (
  <div class="notice deny" role="alert"><span><Words text={String(error instanceof Error ? error.message : error)} /></span>{retry ? <Button small onClick={retry}>Try again</Button> : null}</div>
);
export const Notice = ({ tone = 'info', children, action }: { tone?: Tone; children: ComponentChildren; action?: ComponentChildren }) => (
  <div class={`notice ${tone}`}><span>{children}</span>{action}</div>
);

export const Stat = ({ label, value, hint, tone }: { label: string; value: ComponentChildren; hint?: ComponentChildren; tone?: Tone }) => (
  <div class={`stat ${tone ?? ''}`}><span class="label">{label}</span><span class="value">{value}</span>{hint ? <span class="hint">{hint}</span> : null}</div>
);

export const Pairs = ({ rows, wide }: { rows: ([string, ComponentChildren] | null | undefined | false)[]; wide?: boolean }) => (
  <dl class={`pairs${wide ? ' wide' : ''}`}>{rows.filter((r): r is [string, ComponentChildren] => !!r && r[1] !== undefined && r[1] !== null && r[1] !== '').map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
);

// ---- controls ----

// Takes the error of a button's action; a dialog shows it inside, because it covers everything else.
const FaultContext = createContext<(text: string) => void>((text) => { if (text) toast(text, 'deny'); });

interface ButtonProps { children: ComponentChildren; onClick?: (e: MouseEvent) => unknown; tone?: 'primary' | 'danger' | 'plain' | 'ghost'; small?: boolean; disabled?: boolean; type?: 'button' | 'submit'; title?: string; label?: string; pressed?: boolean }
export function Button({ children, onClick, tone = 'plain', small, disabled, type = 'button', title, label, pressed }: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const alive = useRef(true);
  const tell = useContext(FaultContext);
  useEffect(() => () => { alive.current = false; }, []);
  const act = async (event: MouseEvent) => {
    const result = onClick?.(event);
    if (!(result instanceof Promise)) return;
    setBusy(true);
    tell('');
    try { await result; } catch (error) { tell(error instanceof Error ? error.message : String(error)); }
    if (alive.current) setBusy(false);
  };
  return <button type={type} class={`button ${tone}${small ? ' small' : ''}`} onClick={act} disabled={disabled || busy} title={title} aria-label={label} aria-busy={busy} aria-pressed={pressed}>{children}</button>;
}

export const Field = ({ label, hint, children, error }: { label: string; hint?: ComponentChildren; children: ComponentChildren; error?: string }) => (
  <label class="field"><span class="name">{label}</span>{children}{error ? <span class="error">{error}</span> : hint ? <span class="hint">{hint}</span> : null}</label>
);

interface InputProps { value: string; onValue: (value: string) => void; type?: string; id?: string; placeholder?: string; required?: boolean; autofocus?: boolean; maxLength?: number; min?: number; step?: number | 'any'; disabled?: boolean; list?: string; 'aria-label'?: string; onBlur?: () => void; onKeyDown?: (e: KeyboardEvent) => void }
export const Input = ({ value, onValue, ...rest }: InputProps) => <input class="input" value={value} onInput={(e) => onValue(e.currentTarget.value)} spellcheck={false} autocomplete="off" {...(rest as JSX.IntrinsicElements['input'])} />;

// Tells of its text when typing pauses, at Enter and when it is left: each time is a query over the whole log.
export function Typed({ value, onValue, ...rest }: InputProps) {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const tell = useRef(onValue);
  tell.current = onValue;
  const say = () => { if (text !== told.current) { told.current = text; tell.current(text); } };
  useEffect(() => { if (value !== told.current) { told.current = value; setText(value); } }, [value]);
  useEffect(() => { const timer = setTimeout(say, 300); return () => clearTimeout(timer); }, [text]);
  return <Input value={text} onValue={setText} onBlur={say} onKeyDown={(e) => { if (e.key === 'Enter') say(); }} {...rest} />;
}

export const Select = ({ value, onValue, options, label, ...rest }: { value: string; onValue: (value: string) => void; options: (string | [string, string])[]; label?: string; disabled?: boolean }) => (
  <select class="input" value={value} aria-label={label} onChange={(e) => onValue(e.currentTarget.value)} {...rest}>
    {options.map((o) => { const [v, name] = Array.isArray(o) ? o : [o, o]; return <option key={v} value={v}>{name}</option>; })}
  </select>
);

export const Check = ({ checked, onChange, children, disabled }: { checked: boolean; onChange: (on: boolean) => void; children: ComponentChildren; disabled?: boolean }) => (
  <label class="check"><input type="checkbox" checked={checked} disabled={disabled} onChange={(e) => onChange(e.currentTarget.checked)} /><span>{children}</span></label>
);

export const Segmented = ({ value, onValue, options, label, disabled }: { value: string; onValue: (v: string) => void; options: [string, string][]; label: string; disabled?: boolean }) => (
  <div class="segmented" role="group" aria-label={label}>{options.map(([v, name]) => <button key={v} type="button" aria-pressed={v === value} disabled={disabled} onClick={() => onValue(v)}>{name}</button>)}</div>
);

// A time as an input of the browser has it, and back.
const localInput = (iso: string) => { const at = new Date(iso); return iso && !Number.isNaN(at.getTime()) ? new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : ''; };
const fromInput = (text: string) => (text ? `${new Date(text).toISOString().slice(0, 19)}Z` : '');
export function Between({ since, until, onRange }: { since: string; until: string; onRange: (since: string, until: string) => void }) {
  const [from, setFrom] = useState(localInput(since));
  const [to, setTo] = useState(localInput(until));
  useEffect(() => { setFrom(localInput(since)); setTo(localInput(until)); }, [since, until]);
  return (
    <form class="row between" aria-label="Between two times" onSubmit={(e) => { e.preventDefault(); onRange(fromInput(from), fromInput(to)); }}>
      <label class="row tight">From <input class="input" type="datetime-local" required value={from} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
      <label class="row tight">to <input class="input" type="datetime-local" value={to} onInput={(e) => setTo(e.currentTarget.value)} /></label>
      <Button small type="submit" tone="primary" disabled={!from || (!!to && to <= from)}>Show</Button>
    </form>
  );
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => { await navigator.clipboard.writeText(text); setDone(true); setTimeout(() => setDone(false), 1500); };
  return <Button small onClick={copy}>{done ? 'Copied' : label}</Button>;
}

// ---- dialogs ----

export function Dialog({ title, onClose, children, footer, wide }: { title: string; onClose: () => void; children: ComponentChildren; footer?: ComponentChildren; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  const [fault, setFault] = useState('');
  useEffect(() => { ref.current?.showModal(); }, []);
  return (
    <FaultContext.Provider value={setFault}>
    <dialog ref={ref} class={wide ? 'wide' : ''} aria-label={title} onClose={onClose} onClick={(e) => { if (e.target === ref.current) ref.current?.close(); }}>
      <div class="dialog">
        <header><h2>{title}</h2><button type="button" class="close" aria-label="Close" onClick={() => ref.current?.close()}>×</button></header>
        <div class="body">{children}</div>
        {fault ? <div class="pad"><Fault error={fault} /></div> : null}
        {footer ? <footer>{footer}</footer> : null}
      </div>
    </dialog>
    </FaultContext.Provider>
  );
}

export function Drawer({ title, onClose, children }: { title: ComponentChildren; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.focus();
    const key = (e: KeyboardEvent) => { if (e.key === 'Escape' && !document.querySelector('dialog[open]')) onClose(); };
    addEventListener('keydown', key);
    return () => { removeEventListener('keydown', key); if (document.activeElement === document.body) before?.focus(); };
  }, []);
  return (
    <aside class="drawer" ref={ref} tabIndex={-1} aria-label="Details">
      <header><h2>{title}</h2><button type="button" class="close" aria-label="Close details" onClick={onClose}>×</button></header>
      <div class="body">{children}</div>
    </aside>
  );
}

// ---- toasts ----

interface Toast_ { id: number; text: string; tone: Tone }
let toasts: Toast_[] = [];
let nextToast = 1;
let drawToasts: (all: Toast_[]) => void = () => {};
export function toast(text: string, tone: Tone = 'allow') {
  const one = { id: nextToast++, text: plain(text), tone };
  toasts = [...toasts.slice(-3), one];
  drawToasts(toasts);
  setTimeout(() => { toasts = toasts.filter(({ id }) => id !== one.id); drawToasts(toasts); }, tone === 'deny' ? 9000 : 4000);
}
export function Toasts() {
  const [all, set] = useState<Toast_[]>([]);
  useEffect(() => { drawToasts = set; return () => { drawToasts = () => {}; }; }, []);
  return <div class="toasts" role="status" aria-live="polite">{all.map((t) => <div key={t.id} class={`toast ${t.tone}`}>{t.text}</div>)}</div>;
}

// ---- tables ----

// The first of many rows, and a button for more of them: a browser draws some hundred quickly, and not ten thousand.
export function useMost<T>(rows: T[], most: number): { rows: T[]; more: ComponentChildren } {
  const [shown, show] = useState(most);
  if (rows.length <= shown) return { rows, more: null };
  return { rows: rows.slice(0, shown), more: <div class="more-rows"><span class="muted small">{count(shown)} of {count(rows.length)}</span> <Button onClick={() => show(shown + most)}>Show more</Button></div> };
}

export interface Column<T> { head: string; cell: (row: T) => ComponentChildren; class?: string; hide?: 'phone' }
// On a phone `cards` makes a card of each row: the first cell is its title, the others stand below it with their heads.
export function Table<T>({ rows, columns, keyOf, onRow, selected, label, cards, most = 500 }: { rows: T[]; columns: Column<T>[]; keyOf: (row: T) => string | number; onRow?: (row: T) => void; selected?: string | number | null; label: string; cards?: boolean; most?: number }) {
  const shown = useMost(rows, most);
  return (
    <>
    <div class="table-wrap" tabIndex={0} role="region" aria-label={label}>
      <table role="table" class={cards ? 'cards-phone' : ''}>
        <thead role="rowgroup"><tr role="row">{columns.map((c) => <th key={c.head} role="columnheader" class={`${c.class ?? ''} ${c.hide ? `hide-${c.hide}` : ''}`} scope="col">{c.head}</th>)}</tr></thead>
        <tbody role="rowgroup">{shown.rows.map((row) => {
          const key = keyOf(row);
          return (
            <tr key={key} role="row" class={onRow ? 'can' : ''} aria-selected={onRow ? selected === key : undefined} tabIndex={onRow ? 0 : undefined}
              onClick={onRow && ((e) => { if (!(e.target as Element).closest('button,a,input,select')) onRow(row); })}
              onKeyDown={onRow && ((e) => { if (e.key === 'Enter' && e.target === e.currentTarget) onRow(row); })}>
              {columns.map((c) => <td key={c.head} role="cell" data-head={c.head} class={`${c.class ?? ''} ${c.hide ? `hide-${c.hide}` : ''}`}>{c.cell(row)}</td>)}
            </tr>
          );
        })}</tbody>
      </table>
    </div>
    {shown.more}
    </>
  );
}
