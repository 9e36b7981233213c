import { useEffect, useState } from 'preact/hooks';
import { ApiError, get, send, type Me } from '../api';
import { plain } from '../format';
import { BASE } from '../state';
import { Button, Field, Input } from '../ui';

export function SignIn({ ended, onDone }: { ended: boolean; onDone: (me: Me) => void }) {
  const [token, setToken] = useState('');
  const [fault, setFault] = useState('');
  const done = async () => onDone(await get<Me>('session'));

  const failed = (error: unknown) => setFault((error as ApiError).status === 403 ? 'The gate knows you, and gives you no role in the console.' : (error as Error).message);
  const [issuers, setIssuers] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);

  // A one-time link carries its code behind the #, which browsers never send; an identity provider sends its answer in the query.
  useEffect(() => {
    const link = location.hash.slice(1);
    const answer = new URLSearchParams(location.search);
    const [code, state, iss, error] = ['code', 'state', 'iss', 'error'].map((name) => answer.get(name) ?? '');
    get<{ issuer: string }[]>('session/issuers').then((all) => setIssuers(all.map((i) => i.issuer)), () => {});
    if (!link && !code && !error) return;
    history.replaceState(null, '', location.pathname);
    if (error) { setFault(`The identity provider refused: ${plain(error.slice(0, 80))}`); return; }
    setBusy(true);
    (link ? send('POST', 'session/link', { code: link }) : send('POST', 'session/finish', { code, state, ...(iss && { iss }) })).then(done).catch(failed).finally(() => setBusy(false));
  }, []);

  const begin = async (issuer: string) => {
    setFault('');
    try {
      const { json } = await send('POST', 'session/begin', { issuer });
      if (!/^https?:\/\//.test(json.url)) throw new Error('The gate names no page to sign in at.');
      if (!location.pathname.endsWith('/sign-in')) sessionStorage.setItem('place', location.pathname.slice(BASE.length) + location.search);
      location.assign(json.url);
    } catch (error) { failed(error); }
  };

  const submit = async (event: Event) => {
    event.preventDefault();
    setFault('');
    try {
      await send('POST', 'session', undefined, { Authorization: `Bearer ${token.trim()}` });
      setToken('');
      await done();
    } catch (error) {
      const e = error as ApiError;
      setFault(e.status === 401 ? 'The gate does not know this token: it is mistyped, expired or revoked.' : e.status === 403 ? 'This grant has no role in the console: it is for an agent. Create one with --role.' : e.message);
    }
  };
  return (
    <main class="signin">
      <form onSubmit={submit} aria-labelledby="signin-title">
        <svg viewBox="0 0 32 32" width="40" height="40" aria-hidden="true"><rect width="32" height="32" rx="7" fill="var(--brand)" /><path d="M8 24V12a8 8 0 0 1 16 0v12h-4V12.500a4 4 0 0 0-8 0V24z" fill="#fff" /></svg>
        <h1 id="signin-title">Sign in to Sallyport</h1>
        {ended && !busy ? <p class="hint" role="status">You have been signed out: the session has expired, or its grant was changed or revoked.</p> : null}
        {busy ? <p class="muted" role="status">Signing in…</p> : null}
        {issuers.map((issuer, i) => <Button key={issuer} tone={i ? undefined : 'primary'} onClick={() => begin(issuer)}>Sign in at {plain(issuer.replace(/^https?:\/\//, ''))}</Button>)}
        {issuers.length ? <p class="or"><span>or</span></p> : null}
        <Field label="Grant token" hint="A grant with a role: sallyport grants create NAME --role viewer|approver|policy-manager|admin">
          <Input id="token" type="password" value={token} onValue={setToken} required autofocus placeholder="sp_…" />
        </Field>
        {fault ? <p class="error" role="alert" id="signin-fault">{fault}</p> : null}
        <Button type="submit" tone={issuers.length ? undefined : 'primary'} disabled={!token.trim()}>Sign in</Button>
        <p class="hint">On the gate's own machine, <code>sallyport ui</code> signs you in without a token.</p>
      </form>
    </main>
  );
}
