// Values as people read them.

// What cannot be seen is spelled out: an approver must not be shown other arguments than the server gets.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]/g;
const spell = (c: string) => `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

export interface Piece { text: string; unseen: boolean }
export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index! > at) out.push({ text: text.slice(at, match.index), unseen: false });
    out.push({ text: spell(match[0]), unseen: true });
    at = match.index! + match[0].length;
  }
  if (at < text.length) out.push({ text: text.slice(at), unseen: false });
  return out;
}
export const plain = (text: unknown) => String(text ?? '').replace(UNSEEN, (c) => `<${spell(c)}>`);

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

export function localTime(text: string, now = new Date()): string {
  const when = new Date(text);
  if (Number.isNaN(when.getTime())) return text;
  return when.toDateString() === now.toDateString() ? clock.format(when) : day.format(when);
}
export const fullTime = (text: string) => `${full.format(new Date(text))} · ${new Date(text).toISOString().replace('T', ' ').replace('Z', ' UTC')}`;

export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 && s < 600 ? ` ${s % 60} s` : ''}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor((s % 3600) / 60)} min` : ''}`;
  return `${Math.floor(s / 86400)} d${s % 86400 >= 3600 ? ` ${Math.floor((s % 86400) / 3600)} h` : ''}`;
}
export const ago = (text: string, now = Date.now()) => {
  const seconds = (now - Date.parse(text)) / 1000;
  return seconds < 5 ? 'just now' : `${span(seconds)} ago`;
};
export const until = (text: string, now = Date.now()) => span((Date.parse(text) - now) / 1000);

export function duration(us?: number): string {
  if (us === undefined || us === null) return '';
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;
  return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;
}

const counts = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
export const count = (n: number) => counts.format(n);
export const compact = (n: number) => short.format(n);
export function bytes(n?: number): string {
  if (n === undefined) return '';
  if (n < 1024) return `${n} B`;
  return n < 1 << 20 ? `${(n / 1024).toFixed(1)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`;
}

// A counter's key, as people name a limit: "shop/list_orders._rate_minute", "identity/011:grant:agent/create_refund.calls".
export function limitName(key: string, windowSeconds?: number): string {
  const scoped = /^(grant|identity|session|server)\/(\d{3}):/.exec(key);
  const id = scoped ? key.slice(scoped[0].length, scoped[0].length + Number(scoped[2])) : '';
  const rest = scoped ? key.slice(scoped[0].length + Number(scoped[2]) + 1) : key;
  const named = rest.replace(/#[^#]*#[0-9a-f]{16,}$/, ' (the same call)').replace(/\._rate_\w+/, ` calls per ${windowSeconds ? windowName(windowSeconds) : 'window'}`).replace(/^([^/.]+)\//, '$1 · ').replace('.', ': ');
  return scoped ? `${named} for ${scoped[1] === 'identity' ? '' : `${scoped[1]} `}${id}` : named;
}
const windowName = (s: number) => ({ 60: 'minute', 3600: 'hour', 86400: 'day', 604800: 'week' } as Record<number, string>)[s] ?? span(s);

// What the tags of tools say.
const TAGS: Record<string, string> = { src_private: 'reads private data', src_untrusted: 'reads untrusted text', sink: 'sends data out', exec: 'runs programs', money: 'moves money', path_args: 'takes paths', sql_args: 'takes SQL', url_args: 'takes URLs', meta_tool: 'calls other tools', freeform_code: 'runs code' };
export const tagName = (tag: string) => TAGS[tag] ?? tag.replaceAll('_', ' ');

// What was found in a definition.
const FINDINGS: Record<string, string> = {
  invisible: 'invisible characters', control: 'control characters', 'pseudo-tag': 'markup that imitates the structure of a prompt', imperative: 'an order to the model', 'sensitive-path': 'the place of a secret file',
  'other-tool': 'the name of another server’s tool', 'foreign-host': 'an address that is not the server’s', blob: 'a long encoded text', long: 'an unusually long text', 'exfil-parameter': 'a required parameter that asks for the conversation',
  'look-alike': 'a name that reads like another tool’s', 'bad-name': 'an unsafe name', 'hint-mismatch': 'calls itself read-only', drift: 'a changed definition', 'not-as-published': 'not the definition that was published',
};
export const findingName = (name: string) => FINDINGS[name] ?? name;

// Why a call was refused, in words.
export const REASONS: Record<string, string> = { rule: 'a rule', limit: 'a limit', default: 'not listed', hidden: 'hidden', approval: 'approval', flow: 'a flow', method: 'the method', schema: 'not its schema', ambiguous_arguments: 'ambiguous arguments', pin: 'changed definition', poison: 'poisoned definition', stopped: 'kill switch', fault: 'a fault' };
export const reasonName = (reason: string) => REASONS[reason] ?? reason.replaceAll('_', ' ');

// How a call ended, in words.
export const OUTCOMES: Record<string, string> = { ok: 'ok', tool_error: 'tool error', rpc_error: 'protocol error', denied: 'denied', approval: 'waits for approval', timeout: 'timed out', cancelled: 'cancelled', gone: 'server gone', refused: 'refused', result_too_large: 'result too large' };
export const outcomeName = (status: string) => OUTCOMES[status] ?? status.replaceAll('_', ' ');
export const many = (n: number, one: string, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

export const json = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '');
