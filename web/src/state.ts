// Who is signed in, where the page is, what comes in live, and data that refreshes itself.
import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { get, getAll, type Me, type Record_, type Role } from './api';

// ---- who ----

export const MeContext = createContext<Me | null>(null);
export const useMe = () => useContext(MeContext)!;
export function useMay(...roles: Role[]): boolean {
  const me = useContext(MeContext);
  return !!me && (me.roles.includes('admin') || roles.some((role) => me.roles.includes(role)));
}

// ---- where ----

export const BASE = '/ui/';
export interface Place { path: string[]; query: URLSearchParams }
const here = (): Place => ({
  path: location.pathname.slice(BASE.length).split('/').filter(Boolean).map(decodeURIComponent),
  query: new URLSearchParams(location.search),
});
const watchers = new Set<() => void>();
addEventListener('popstate', () => watchers.forEach((w) => w()));

export const href = (to: string) => BASE + to;
export function go(to: string, replace = false) {
  if (location.pathname + location.search === BASE + to) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', BASE + to);
  watchers.forEach((w) => w());
}
export function usePlace(): Place {
  const [place, set] = useState(here);
  useEffect(() => {
    const w = () => set(here());
    watchers.add(w);
    return () => { watchers.delete(w); };
  }, []);
  return place;
}
// One click handler for all links inside the console.
export function follow(event: MouseEvent) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const link = (event.target as Element).closest?.('a[href]') as HTMLAnchorElement | null;
  if (!link || link.target || link.hasAttribute('download') || !link.getAttribute('href')!.startsWith(BASE)) return;
  event.preventDefault();
  go(link.getAttribute('href')!.slice(BASE.length));
  document.querySelector('main')?.scrollTo(0, 0);
}

// ---- live ----

export type Link = 'connecting' | 'live' | 'lost';
type Listener = (records: Record_[]) => void;
const listeners = new Set<Listener>();
const linkWatchers = new Set<(link: Link) => void>();
let link: Link = 'connecting';
let source: EventSource | undefined;
let last = 0;
let wait = 500;
let timer: ReturnType<typeof setTimeout> | undefined;
let batch: Record_[] = [];

const setLink = (next: Link) => { link = next; linkWatchers.forEach((w) => w(next)); };
function flush() {
  const records = batch;
  batch = [];
  if (records.length) listeners.forEach((l) => l(records));
}
function take(record: Record_) {
  if (record.seq <= last) return;
  last = record.seq;
  if (!batch.length) setTimeout(flush, 100);
  batch.push(record);
}

export function connect() {
  disconnect();
  setLink(last ? 'lost' : 'connecting');
  const stream = new EventSource('/api/v1/audit/stream');
  source = stream;
  stream.addEventListener('ready', async (event) => {
    // From here on the stream delivers every record; records written before the stream was open are requested.
    const { seq } = JSON.parse((event as MessageEvent).data) as { seq: number };
    try {
      for (let rounds = 0; last && last < seq && rounds < 10; rounds++) {
        const missed = await get<Record_[]>(`audit?after=${last}&order=oldest&limit=1000`);
        missed.forEach(take);
        if (missed.length < 1000) break;
      }
    } catch { /* the views ask again anyway */ }
    last = Math.max(last, seq);
    wait = 500;
    setLink('live');
    listeners.forEach((l) => l([]));
  });
  stream.addEventListener('record', (event) => take(JSON.parse((event as MessageEvent).data)));
  stream.onerror = () => {
    if (source !== stream) return;
    stream.close();
    source = undefined;
    setLink('lost');
    timer = setTimeout(connect, wait);
    wait = Math.min(wait * 2, 15_000);
  };
}
export function disconnect() {
  clearTimeout(timer);
  source?.close();
  source = undefined;
}
export function useLink(): Link {
  const [now, set] = useState(link);
  useEffect(() => { linkWatchers.add(set); set(link); return () => { linkWatchers.delete(set); }; }, []);
  return now;
}
// An empty list says: the connection is back, ask for everything again.
export function useLive(heard: Listener) {
  const ref = useRef(heard);
  ref.current = heard;
  useEffect(() => {
    const l: Listener = (records) => ref.current(records);
    listeners.add(l);
    return () => { listeners.delete(l); };
  }, []);
}

// Drafts of policies in the session's storage begin with this.
export const DRAFTS = 'policy-draft:';
export function dropDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFTS)) sessionStorage.removeItem(key);
}

// ---- data ----

export interface Data<T> { data?: T; error?: Error; loading: boolean; reload: () => Promise<void> }
// With `keep`, what was there stays until the answer to a new path has come. Asks when `path` changes, when a live record matters, and every `every` ms.
export function useData<T>(path: string | null, { every = 0, when, paged = false, keep = false }: { every?: number; when?: (record: Record_) => boolean; paged?: boolean; keep?: boolean } = {}): Data<T> {
  const [state, set] = useState<{ path: string | null; data?: T; error?: Error; loading: boolean }>({ path, loading: true });
  const round = useRef(0);
  const reload = useCallback(async () => {
    if (!path) return;
    const mine = ++round.current;
    try {
      const data = paged ? ((await getAll(path)) as T) : await get<T>(path);
      if (mine === round.current) set({ path, data, loading: false });
    } catch (error) {
      if (mine === round.current) set((before) => ({ ...before, path, error: error as Error, loading: false }));
    }
  }, [path]);
  useEffect(() => {
    set((before) => ({ path, data: keep || before.path === path ? before.data : undefined, loading: true }));
    reload();
    if (!every) return;
    const timer = setInterval(() => { if (!document.hidden) reload(); }, every);
    return () => clearInterval(timer);
  }, [path, every]);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLive((records) => {
    if (records.length && !(when && records.some(when))) return;
    clearTimeout(soon.current);
    soon.current = setTimeout(reload, 150);
  });
  return { data: keep || state.path === path ? state.data : undefined, error: state.error, loading: state.loading, reload };
}

// A value that follows the clock, for times that run out.
export function useNow(every = 1000): number {
  const [now, set] = useState(Date.now());
  useEffect(() => { const timer = setInterval(() => set(Date.now()), every); return () => clearInterval(timer); }, [every]);
  return now;
}
