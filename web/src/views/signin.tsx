import { useEffect, useState } from 'preact/hooks';
import { ApiError, get, send, type Me } from '../api';
import { Button, Field, Input } from '../ui';

export function SignIn({ onDone }: { onDone: (me: Me) => void }) {
  const [token, setToken] = useState('');
  const [fault, setFault] = useState('');
  const done = async () => onDone(await get<Me>('session'));

  // A one-time link carries its code behind the #, which browsers send to nobody.
  useEffect(() => {
    const code = location.hash.slice(1);
    if (!code) return;
    history.replaceState(null, '', location.pathname);
    send('POST', 'session/link', { code }).then(done, (error) => setFault((error as Error).message));
  }, []);

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
        <Field label="Grant token" hint="A grant with a role: sallyport grants create NAME --role viewer|approver|policy-manager|admin">
          <Input id="token" type="password" value={token} onValue={setToken} required autofocus placeholder="sp_…" />
        </Field>
        {fault ? <p class="error" role="alert" id="signin-fault">{fault}</p> : null}
        <Button type="submit" tone="primary" disabled={!token.trim()}>Sign in</Button>
        <p class="hint">On the gate's own machine, <code>sallyport ui</code> signs you in without a token.</p>
      </form>
    </main>
  );
}
