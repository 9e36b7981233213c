import './app.css';
import { render, type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, get, onSignedOut, send, type Me, type Status } from './api';
import { connect, disconnect, dropDrafts, follow, go, href, MeContext, useData, useLink, useMay, usePlace } from './state';
import { plain } from './format';
import { useNotifications } from './notify';
import { Button, Empty, Toasts } from './ui';
import { SignIn } from './views/signin';
import { Overview } from './views/overview';
import { Activity } from './views/activity';
import { Approvals } from './views/approvals';
import { StopBanner, Stops } from './views/stops';

// The first views are part of the page; the others are loaded when they are opened.
function later(load: () => Promise<Record<string, ComponentType<any>>>, name: string): ComponentType {
  return () => {
    const [View, set] = useState<ComponentType | null>(null);
    const [error, fail] = useState('');
    useEffect(() => { load().then((m) => set(() => m[name]), () => fail('This view could not be loaded. Reload the page.')); }, []);
    if (error) return <Empty title={error} />;
    return View ? <View /> : <p class="muted pad" role="status">Loading…</p>;
  };
}

interface Item { path: string; name: string; view: ComponentType; group: string; icon: string }
const items: Item[] = [
  { group: 'Watch', path: '', name: 'Overview', view: Overview, icon: 'M3 12h4l3-8 4 16 3-8h4' },
  { group: 'Watch', path: 'activity', name: 'Activity', view: Activity, icon: 'M4 6h16M4 12h16M4 18h10' },
  { group: 'Watch', path: 'approvals', name: 'Approvals', view: Approvals, icon: 'M4 12l5 5L20 6' },
  { group: 'Watch', path: 'sessions', name: 'Sessions', view: later(() => import('./views/sessions'), 'Sessions'), icon: 'M4 5h16v11H4zM9 20h6' },
  { group: 'Watch', path: 'stops', name: 'Kill switch', view: Stops, icon: 'M12 3v9M6.300 6.300a8 8 0 1 0 11.400 0' },
  { group: 'Build', path: 'servers', name: 'Servers', view: later(() => import('./views/servers'), 'Servers'), icon: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01' },
  { group: 'Build', path: 'policies', name: 'Policies', view: later(() => import('./views/policies'), 'Policies'), icon: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.500-1-8-4-8-9V6z' },
  { group: 'Build', path: 'grants', name: 'Grants', view: later(() => import('./views/grants'), 'Grants'), icon: 'M14 10a4 4 0 1 0-4 4l1 1h2v2h2v2h4v-4l-5-5z' },
  { group: 'Explore', path: 'catalogue', name: 'Catalogue', view: later(() => import('./views/catalogue'), 'Catalogue'), icon: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11' },
  { group: 'Explore', path: 'playground', name: 'Playground', view: later(() => import('./views/playground'), 'Playground'), icon: 'M6 4l14 8-14 8z' },
];

const FOR_ADMINS = ['grants', 'playground'];

const Icon = ({ d }: { d: string }) => <svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.800" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d={d} /></svg>;

function LinkState() {
  const link = useLink();
  const text = { live: 'Live', connecting: 'Connecting…', lost: 'Connection lost' }[link];
  return <span class={`live ${link}`} role="status" title={link === 'lost' ? 'The page keeps trying; what it shows may be old' : undefined}>{text}</span>;
}

type Theme = 'auto' | 'light' | 'dark';
function useTheme(): [Theme, () => void] {
  const [theme, set] = useState<Theme>((localStorage.getItem('theme') as Theme) ?? 'auto');
  useEffect(() => { document.documentElement.dataset.theme = theme; localStorage.setItem('theme', theme); }, [theme]);
  return [theme, () => set(theme === 'auto' ? 'light' : theme === 'light' ? 'dark' : 'auto')];
}

function Shell({ me, signOut }: { me: Me; signOut: () => void }) {
  const { path } = usePlace();
  const [menu, setMenu] = useState(false);
  const [theme, nextTheme] = useTheme();
  const admin = useMay();
  useNotifications(useMay('approver'));
  const status = useData<Status>('status', { every: 10_000, when: (r) => !!r.event });
  const item = items.find((i) => i.path === (path[0] ?? ''));
  const pending = status.data?.approvals_pending ?? 0;
  useEffect(() => { document.title = `${pending ? `(${pending}) ` : ''}${item?.name ?? 'Not found'} · Sallyport`; setMenu(false); }, [item, pending, path.join('/')]);
  const groups = [...new Set(items.map((i) => i.group))];
  const View = item?.view;
  return (
    <div class={`shell${menu ? ' menu' : ''}`} onClick={follow}>
      <a class="skip" href="#main">Skip to the content</a>
      <nav aria-label="Console" id="nav">
        <a class="brand" href={href('')}><svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><rect width="32" height="32" rx="7" fill="var(--brand)" /><path d="M8 24V12a8 8 0 0 1 16 0v12h-4V12.500a4 4 0 0 0-8 0V24z" fill="#fff" /></svg>Sallyport</a>
        {groups.map((group) => (
          <div class="group" key={group}><h2>{group}</h2>
            <ul>{items.filter((i) => i.group === group && (!FOR_ADMINS.includes(i.path) || admin)).map((i) => (
              <li key={i.path}><a href={href(i.path)} aria-current={i === item ? 'page' : undefined}><Icon d={i.icon} /><span>{i.name}</span>
                {i.path === 'approvals' && pending ? <span class="count" aria-label={`${pending} waiting`}>{pending}</span> : null}</a></li>
            ))}</ul>
          </div>
        ))}
        <div class="foot">
          <span class="who" title={me.roles.join(', ')}>{plain(me.identity)}</span>
          <span class="muted small">{me.roles.length ? me.roles.join(', ') : me.open ? 'no sign-in needed to look' : ''}</span>
          <div class="row tight">
            <Button small tone="ghost" onClick={nextTheme} label={`Colours: ${theme}`} title="Colours: as the system has them, light, dark"><Icon d={{ auto: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18', light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5', dark: 'M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z' }[theme]} />{{ auto: 'Auto', light: 'Light', dark: 'Dark' }[theme]}</Button>
            {me.signed_in ? <Button small tone="ghost" onClick={signOut}>Sign out</Button> : <a class="button ghost small" href={href('sign-in')}>Sign in</a>}
          </div>
          <span class="muted small">{status.data ? `version ${status.data.version}` : ''}</span>
        </div>
      </nav>
      <div class="page">
        <header class="top">
          <button type="button" class="burger" aria-expanded={menu} aria-controls="nav" aria-label="Menu" onClick={() => setMenu(!menu)}><Icon d="M4 6h16M4 12h16M4 18h16" /></button>
          <h1>{item?.name ?? 'Not found'}</h1>
          <div class="spacer" />
          <LinkState />
        </header>
        <StopBanner />
        <main id="main" tabIndex={-1}>{View ? <View key={item!.path} /> : <Empty title="There is no such page" action={<a class="button" href={href('')}>Overview</a>} />}</main>
      </div>
    </div>
  );
}

function App() {
  const [me, setMe] = useState<Me | null | undefined>(undefined);
  const [fault, setFault] = useState('');
  const [ended, setEnded] = useState(false); // by the gate, not by a click
  const { path } = usePlace();
  const who = async () => {
    setFault('');
    try { setMe(await get<Me>('session')); } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) setMe(null);
      else setFault((error as Error).message);
    }
  };
  useEffect(() => {
    onSignedOut(() => { disconnect(); setMe((before) => { if (before) setEnded(true); return null; }); });
    who();
  }, []);
  useEffect(() => { if (me && me.roles.length) connect(); else disconnect(); }, [me]);
  const signOut = async () => {
    const { json } = await send('DELETE', 'session');
    dropDrafts();
    disconnect();
    if (json.url) location.assign(json.url); // the session at the identity provider
    else { setMe(null); go(''); }
  };
  if (fault) return <div class="center"><Empty title={fault} action={<Button onClick={who}>Try again</Button>} /></div>;
  if (me === undefined) return <p class="center muted" role="status">Loading…</p>;
  if (!me || path[0] === 'sign-in') return <><SignIn ended={ended} onDone={(m) => { setEnded(false); setMe(m); if (path[0] === 'sign-in') go(sessionStorage.getItem('place') ?? '', true); sessionStorage.removeItem('place'); }} /><Toasts /></>;
  return <MeContext.Provider value={me}><Shell me={me} signOut={signOut} /><Toasts /></MeContext.Provider>;
}

render(<App />, document.getElementById('app')!);
