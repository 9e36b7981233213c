// Grants: which clients may connect, and what they may use.
import { useState } from 'preact/hooks';
import { part, post, send, type Grant, type Policy, type Role, type Server, type Stop } from '../api';
import { count, plain } from '../format';
import { useData, useMay } from '../state';
import { Badge, Button, Check, Code, Copy, Dialog, Empty, Fault, Field, Input, Notice, Panel, Segmented, Select, State, Table, Text, Time, toast } from '../ui';
import { StopDialog } from './stops';

const ROLES: [Role, string][] = [['viewer', 'look at everything'], ['approver', 'decide approvals of others'], ['policy-manager', 'edit and try policies'], ['admin', 'everything, grants and the kill switch too']];
const FEW = 8; // grants that need no search
const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);

function snippets(token: string): [string, string, string][] {
  const url = `${location.origin}/mcp`;
  const header = `Authorization: Bearer ${token}`;
  const entry = { type: 'http', url, headers: { Authorization: `Bearer ${token}` } };
  return [
    ['claude-code', 'Claude Code', `claude mcp add --transport http sallyport ${url} --header "${header}"`],
    // An argument with a space in it is cut by some clients on Windows.
    ['claude', 'Claude Desktop', JSON.stringify({ mcpServers: { sallyport: { command: 'npx', args: ['-y', 'mcp-remote', url, ...(isSecureContext ? [] : ['--allow-http']), '--header', 'Authorization:${SALLYPORT_AUTHORIZATION}'], env: { SALLYPORT_AUTHORIZATION: `Bearer ${token}` } } } }, null, 2)],
    ['cursor', 'Cursor', JSON.stringify({ mcpServers: { sallyport: { url, headers: entry.headers } } }, null, 2)],
    ['vscode', 'VS Code', JSON.stringify({ servers: { sallyport: entry } }, null, 2)],
  ];
}

function Snippets({ token }: { token: string }) {
  const all = snippets(token);
  const [client, setClient] = useState(all[0][0]);
  const [, name, text] = all.find(([id]) => id === client)!;
  return (
    <>
      <Segmented label="Client" value={client} onValue={setClient} options={all.map(([id, title]) => [id, title])} />
      <div class="snippet"><Code value={text} /><Copy text={text} label={`Copy for ${name}`} /></div>
    </>
  );
}

const PLACEHOLDER = 'TOKEN';
const Connect = ({ grant, onClose }: { grant: Grant; onClose: () => void }) => (
  <Dialog wide title={`Connect a client as ${plain(grant.name)}`} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
    <Notice>Put the token{grant.hint ? <> that begins with <code><Text value={grant.hint} /></code></> : ' of this grant'} in place of <code>{PLACEHOLDER}</code>. The gate does not know it any more: if it is lost, rotate the grant.</Notice>
    <Snippets token={PLACEHOLDER} />
  </Dialog>
);

function Token({ grant, onClose }: { grant: Grant; onClose: () => void }) {
  return (
    <Dialog wide title={`Token of ${plain(grant.name)}`} onClose={onClose} footer={<Button tone="primary" onClick={onClose}>I have kept it</Button>}>
      <Notice tone="approve">This is the only time that the token is shown. The gate keeps a hash of it.</Notice>
      <div class="row"><code class="token" data-token>{grant.token}</code><Copy text={grant.token!} /></div>
      <Snippets token={grant.token!} />
    </Dialog>
  );
}

// The servers there are, to be added to the list by a click.
function Offered({ names, chosen, onAdd }: { names: string[]; chosen: string[]; onAdd: (name: string) => void }) {
  const rest = names.filter((name) => !chosen.includes(name)).slice(0, 12);
  return rest.length ? <div class="row tight">{rest.map((name) => <Button key={name} small label={`Add the server ${plain(name)}`} onClick={() => onAdd(name)}>+ <Text value={name} /></Button>)}</div> : null;
}

function Create({ onClose, onMade }: { onClose: () => void; onMade: (g: Grant) => void }) {
  const policies = useData<Policy[]>('policies', { paged: true });
  const known = useData<Server[]>('servers', { paged: true });
  const [name, setName] = useState('');
  const [label, setLabel] = useState('');
  const [servers, setServers] = useState('');
  const [tools, setTools] = useState('');
  const [policy, setPolicy] = useState('');
  const [days, setDays] = useState('90');
  const [roles, setRoles] = useState<Role[]>([]);
  const create = async () => onMade(await post<Grant>('grants', {
    name, ...(label && { label }), ...(list(servers).length && { servers: list(servers) }), ...(list(tools).length && { tools: list(tools) }),
    ...(policy && { policy }), ...(roles.length && { roles }), ...(days && { expires_in_seconds: Number(days) * 86400 }),
  }));
  const paths = [...new Set((policies.data ?? []).map((p) => p.path).filter(Boolean))] as string[];
  return (
    <Dialog title="New grant" onClose={onClose} footer={<><Button onClick={onClose}>Cancel</Button><Button tone="primary" disabled={!name} onClick={create}>Create</Button></>}>
      <div class="form">
        <Field label="Name" hint="Letters, digits, - and _. Policies, limits and the log use it; it is never given out twice."><Input value={name} onValue={setName} autofocus required /></Field>
        <Field label="Label"><Input value={label} onValue={setLabel} placeholder="Anna's laptop" /></Field>
        <Field label="Servers" hint="Names or patterns, separated by spaces; empty: every server."><Input value={servers} onValue={setServers} placeholder="github files*" /></Field>
        <Offered names={(known.data ?? []).map((s) => s.name)} chosen={list(servers)} onAdd={(one) => setServers([...list(servers), one].join(' '))} />
        <Field label="Tools" hint="Names or patterns, also as server__tool; empty: every tool."><Input value={tools} onValue={setTools} placeholder="read_* github__list_issues" /></Field>
        <Field label="Policy" hint="Empty: that of the server, or the default."><Select value={policy} onValue={setPolicy} options={[['', 'None of its own'], ...paths.map((p): [string, string] => [p, p])]} /></Field>
        <Field label="Expires after"><Select value={days} onValue={setDays} options={[['1', '1 day'], ['7', '7 days'], ['30', '30 days'], ['90', '90 days'], ['365', '1 year'], ['', 'never']]} /></Field>
        <fieldset><legend>Roles in this console</legend>{ROLES.map(([role, what]) => <Check key={role} checked={roles.includes(role)} onChange={(on) => setRoles(on ? [...roles, role] : roles.filter((r) => r !== role))}><strong>{role}</strong> <span class="muted">{what}</span></Check>)}<p class="hint">An agent needs none.</p></fieldset>
      </div>
    </Dialog>
  );
}

export function Grants() {
  const admin = useMay();
  const grants = useData<Grant[]>(admin ? 'grants' : null, { every: 15_000, paged: true, when: (r) => !!r.event?.startsWith('grant_') });
  const stops = useData<Stop[]>(admin ? 'stops' : null, { paged: true, when: (r) => r.event === 'stopped' || r.event === 'resumed' });
  const stopOf = (g: Grant) => stops.data?.find((s) => s.scope === 'grant' && s.name === g.name);
  const resume = async (s: Stop) => { await send('DELETE', `stops/${part(s.id)}`); toast(`Resumed ${plain(s.name)}.`); await stops.reload(); };
  const [creating, setCreating] = useState(false);
  const [connecting, connect] = useState<Grant | null>(null);
  const [shown, show] = useState<Grant | null>(null);
  const [rotating, rotate] = useState<Grant | null>(null);
  const [revoking, revoke] = useState<Grant | null>(null);
  const [stopping, stop] = useState<Grant | null>(null);
  const [grace, setGrace] = useState('3600');
  const [all, setAll] = useState(false);
  const [text, setText] = useState('');
  if (!admin) return <Panel><Empty title="Grants need the role admin" /></Panel>;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = (grants.data ?? []).filter((g) => (all || g.state === 'active') && words.every((w) => [g.name, g.label, g.policy, ...g.servers, ...g.roles].join('\n').toLowerCase().includes(w)));
  return (
    <div class="stack">
      <div class="toolbar"><Segmented label="Which" value={all ? 'all' : 'active'} onValue={(v) => setAll(v === 'all')} options={[['active', 'Active'], ['all', 'All']]} />{(grants.data?.length ?? 0) > FEW ? <><Input aria-label="Find a grant" placeholder="Find a grant" value={text} onValue={setText} /><span class="muted small">{count(rows.length)}</span></> : null}<div class="spacer" /><Button tone="primary" onClick={() => setCreating(true)}>New grant</Button></div>
      {grants.error ? <Fault error={grants.error} retry={grants.reload} /> : null}
      <Panel flush>
        {rows.length ? <Table cards label="Grants" rows={rows} keyOf={(g) => g.name} columns={[
          { head: 'Grant', cell: (g) => <><strong><Text value={g.name} /></strong>{g.label ? <div class="muted"><Text value={g.label} /></div> : null}</> },
          { head: 'State', cell: (g) => { const own = g.state === 'active' ? stopOf(g) : undefined; return own ? <span title={own.reason}><State name="stopped" /></span> : <State name={g.state} />; } },
          { head: 'May use', cell: (g) => <><Text value={g.servers.length ? g.servers.join(', ') : 'every server'} />{g.tools.length ? <div class="muted"><Text value={g.tools.join(', ')} /></div> : null}{g.policy ? <div class="muted">under <Text value={g.policy.slice(g.policy.lastIndexOf('/') + 1)} /></div> : null}</> },
          { head: 'Roles', cell: (g) => (g.roles.length ? <span class="row tight">{g.roles.map((r) => <Badge key={r} tone="accent">{r}</Badge>)}</span> : <span class="muted">agent</span>) },
          { head: 'Last used', class: 'nowrap', cell: (g) => (g.used_at ? <Time at={g.used_at} relative /> : <span class="muted">never</span>) },
          { head: 'Expires', class: 'nowrap', cell: (g) => (g.expires_at ? <Time at={g.expires_at} /> : <span class="muted">never</span>) },
          { head: '', class: 'end', cell: (g) => {
            const own = stopOf(g);
            return g.state === 'active' ? <span class="row tight end actions-row"><Button small onClick={() => connect(g)}>Connect</Button><Button small onClick={() => rotate(g)}>Rotate</Button>{own ? <Button small tone="primary" onClick={() => resume(own)}>Resume</Button> : <Button small onClick={() => stop(g)}>Stop</Button>}<Button small tone="danger" onClick={() => revoke(g)}>Revoke</Button></span> : null;
          } },
        ]} /> : words.length && grants.data?.length ? <Empty title="No grant has these words" /> : grants.data?.length ? <Empty title="No grant is active" action={<Button onClick={() => setAll(true)}>Show all</Button>} /> : grants.data ? <Empty title="No grants yet" action={<Button tone="primary" onClick={() => setCreating(true)}>New grant</Button>}>A grant is what an agent shows to come in: a token, the servers and tools it may use, and when it ends.</Empty> : grants.error ? null : <p class="muted pad">Loading…</p>}
      </Panel>
      {creating ? <Create onClose={() => setCreating(false)} onMade={(g) => { setCreating(false); show(g); grants.reload(); }} /> : null}
      {shown ? <Token grant={shown} onClose={() => show(null)} /> : null}
      {rotating ? (
        <Dialog title={`Rotate ${plain(rotating.name)}`} onClose={() => rotate(null)} footer={<><Button onClick={() => rotate(null)}>Cancel</Button><Button tone="primary" onClick={async () => { const g = await post<Grant>(`grants/${part(rotating.name)}/rotate`, { grace_seconds: Number(grace) }); rotate(null); show(g); grants.reload(); }}>New token</Button></>}>
          <Field label="The old token works for another"><Select value={grace} onValue={setGrace} options={[['0', 'nothing: it ends at once'], ['600', '10 minutes'], ['3600', '1 hour'], ['86400', '1 day'], ['604800', '1 week']]} /></Field>
        </Dialog>
      ) : null}
      {revoking ? (
        <Dialog title={`Revoke ${plain(revoking.name)}`} onClose={() => revoke(null)} footer={<><Button onClick={() => revoke(null)}>Cancel</Button><Button tone="danger" onClick={async () => { await send('DELETE', `grants/${part(revoking.name)}`); toast('Revoked.', 'deny'); revoke(null); grants.reload(); }}>Revoke</Button></>}>
          <p>Its sessions end at once, and it cannot be undone. To pause it, use Stop.</p>
        </Dialog>
      ) : null}
      {stopping ? <StopDialog scope="grant" name={stopping.name} onClose={() => { stop(null); stops.reload(); }} /> : null}
      {connecting ? <Connect grant={connecting} onClose={() => connect(null)} /> : null}
    </div>
  );
}
