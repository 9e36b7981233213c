// The admin API as the console uses it. The session is a cookie that scripts cannot read; a header that other origins cannot send
// goes along with every request.

export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly body: unknown) { super(message); }
}

type Body = Record<string, unknown> | unknown[] | undefined;
let signedOut: () => void = () => {};
export const onSignedOut = (told: () => void) => { signedOut = told; };

export async function send(method: string, path: string, body?: Body, headers: Record<string, string> = {}): Promise<{ json: any; response: Response }> {
  let response: Response;
  try {
    response = await fetch(`/api/v1/${path}`, {
      method,
      credentials: 'same-origin',
      headers: { 'Sallyport-Console': '1', ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, 'The gate does not answer.', undefined);
  }
  let json: any;
  try { json = await response.json(); } catch { json = undefined; }
  if (response.ok) return { json, response };
  if (response.status === 401 && path !== 'session' && !path.startsWith('session/')) signedOut();
  throw new ApiError(response.status, typeof json?.error === 'string' ? json.error : `The gate answered ${response.status}.`, json);
}

export const get = async <T>(path: string): Promise<T> => (await send('GET', path)).json;
// All pages of a list; from the beginning again when the entry of a cursor is gone meanwhile.
export async function getAll<T>(path: string, again = 2): Promise<T[]> {
  try { return await getPages<T>(path); } catch (error) {
    if (!again || !(error instanceof ApiError) || error.status !== 400) throw error;
    return getAll<T>(path, again - 1);
  }
}
async function getPages<T>(path: string): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { json, response }: { json: T[]; response: Response } = await send('GET', cursor ? `${path}${path.includes('?') ? '&' : '?'}cursor=${part(cursor)}` : path);
    all.push(...json);
    cursor = response.headers.get('Sallyport-Cursor');
  }
  return all;
}
export const post = async <T>(path: string, body: Body = {}): Promise<T> => (await send('POST', path, body)).json;
export const part = (text: string) => encodeURIComponent(text);

export function query(values: Record<string, string | number | undefined | null | false>): string {
  const text = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== null && value !== '' && value !== false) text.set(key, String(value));
  const all = text.toString();
  return all ? `?${all}` : '';
}

export type Role = 'admin' | 'policy-manager' | 'approver' | 'viewer';

export interface Me { identity: string; roles: Role[]; signed_in: boolean; open: boolean; expires_at?: string; home?: string }

export interface Status {
  version: string; started_at: string; identity: string; servers: number; sessions: number; calls_under_way: number; draining: boolean;
  approvals_pending?: number; restart_needed_for?: string; settings_fault?: string; audit_seq?: number; audit_refused?: number;
  audit_unrecorded?: number; audit_fault?: string; audit_ship?: { active: boolean; seq: number; lag_records: number; lag_ms: number; backlog_bytes: number; calls_refused: boolean; fault?: string }; stops?: number; policy_faults?: { path: string; error: string }[];
}

export interface Server {
  name: string; transport: 'stdio' | 'http' | 'builtin'; state: 'ready' | 'idle' | 'down' | 'disabled'; fault?: string; links: number; connections: number;
  tools_known: boolean; tools: number; policy?: string; era?: string; restarts?: number; held?: number; poisoned?: number; stopped?: boolean; login?: string;
}
export interface LogLine { time: string; text: string }
export interface PinDifference { tool?: string; skill?: string; state: 'new' | 'changed' | 'gone' | 'unreadable'; diff: string }
export interface Survey { tools: { tool: string; category: string; severity: string; evidence: string[]; findings: { name: string; where?: string; text?: string }[] }[]; poisoned: number; tokens: number; starter?: string }

export interface Tool {
  name: string; category: string; severity: string; confidence: number; tags: string[]; findings: string[]; fingerprint: string;
  pin: 'accepted' | 'held' | 'none'; held?: string; poison?: string; description?: string; schema?: any; tokens?: number;
}

export interface Session { session: string; identity: string; server?: string; version: string; calls: number }
export interface Call { id: string; identity: string; session: string; server?: string; method: string; tool?: string; started_at: string; step: string }
export interface Job {
  id: string; principal: string; state: string; language: string; created_at: string; progress?: number; message?: string;
  execution_time_ms: number; tool_calls: number; call?: number; output?: string; error_output?: string; content?: import('./content').Item[];
}

export interface Package { kind: 'pip' | 'npm'; name: string; version: string; python?: string; on_request: boolean; bytes: number; added?: string; needs: { name: string; version: string }[] }
export interface Packages { installed: Package[]; allowed: string[] }

export interface Grant {
  name: string; token?: string; hint?: string; label?: string; state: 'active' | 'expired' | 'revoked'; servers: string[]; tools: string[];
  policy?: string; limits?: string; roles: Role[]; created_at: string | null; expires_at?: string | null; revoked_at?: string | null;
  used_at?: string | null; rotated_at?: string | null;
}

export interface Approval {
  id: string; status: 'pending' | 'approved' | 'denied' | 'expired' | 'used'; identity: string; session?: string; server?: string; tool: string;
  arguments?: unknown; arguments_cut?: boolean; text?: string; rule?: string; policy?: string; approvers?: string[]; created_at: string;
  expires_at: string; asked: number; decided_at?: string; decided_by?: string; note?: string; used_at?: string; digest: string; arguments_hash?: string;
  stale?: string; class?: string; repeat_until?: string; repeat_any?: boolean; url?: string;
}

export interface Record_ {
  seq: number; gate?: string; chain?: number; kind: 'decision' | 'outcome' | 'event'; time: string; call?: number; parent?: number; event?: string; identity?: string; grant?: string;
  session?: string; server?: string; method?: string; tool?: string; verdict?: 'allow' | 'deny' | 'approve'; reason?: string; rule?: string;
  pointer?: string; policy?: string; policy_hash?: string; policy_version?: string; text?: string; shadow?: string; args_mode?: string; args?: unknown;
  args_hash?: string; fingerprint?: string; class?: string; status?: string; latency_us?: number; bytes_in?: number; bytes_out?: number;
  instance?: string; outcome?: { seq: number; status: string; text?: string; latency_us?: number; bytes_in?: number; bytes_out?: number; time?: string };
  hash?: string;
}

export interface Policy {
  id?: string; name: string; path?: string; server?: string; servers?: string[]; hash: string; version: string; dialect: 'intercept' | 'policylayer';
  shadow: boolean; tools: number; fault?: string; is_default?: boolean;
}
export interface Problem { severity: 'error' | 'warning'; text: string; pointer?: string; line?: number; column?: number; hint?: string }

export interface Stop { id: string; scope: 'all' | 'server' | 'grant'; name?: string; reason?: string; by: string; at: string }
