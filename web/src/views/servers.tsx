// The servers behind the gate: their state, tools and definitions; adding, changing, restarting and removing them.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get, part, post, send, type LogLine, type PinDifference, type Policy, type Server, type Stop, type Survey, type Tool } from '../api';
import { compact, count, findingName, many, plain, tagName } from '../format';
import { commandLine, readCommand, readPairs, readSnippet } from '../serverform';
import { go, href, useData, useMay, usePlace } from '../state';
import { Badge, Button, Check, Code, Copy, Dialog, Drawer, Empty, Fault, Field, Input, Notice, Pairs, Panel, RiskClass, Segmented, Select, State, Table, Text, Time, toast, Words } from '../ui';
import { isNew, StopDialog } from './stops';

const TRANSPORTS: Record<string, string> = { stdio: 'command (stdio)', http: 'HTTP', builtin: 'built in' };
const PINS: Record<string, string> = { accepted: 'accepted', held: 'held back', none: 'not pinned' };
const about = (name: string) => (r: { server?: string; event?: string }) => r.server === name && !!r.event;

const Findings = ({ of: all }: { of: Survey['tools'][number]['findings'] }) => <ul class="plain-list">{all.map((f, i) => <li key={i}>{findingName(f.name)}{f.where ? <> in <code><Text value={f.where} /></code></> : null}{f.text ? <>: <q><Text value={f.text} /></q></> : null}</li>)}</ul>;

function ToolDetail({ server, tool, onClose }: { server: string; tool: Tool; onClose: () => void }) {
  const survey = useData<Survey>(`servers/${part(server)}/survey`);
  const admin = useMay();
  const judged = survey.data?.tools.find((t) => t.tool === tool.name);
  return (
    <Drawer title={<Text value={tool.name} />} onClose={onClose}>
      <div class="stack">
        <div class="row"><RiskClass name={tool.category} /><Badge>{tool.severity}</Badge><span class="muted small">{Math.round(tool.confidence * 100)} % sure</span></div>
        {tool.held ? <Notice tone="approve" action={<a class="button small" href={href(`servers/${part(server)}?tab=changes`)}>See what changed</a>}>Held back: <Words text={tool.held} />.</Notice> : null}
        {tool.poison ? <Notice tone="deny">{judged?.findings.length ? <Findings of={judged.findings} /> : <Text value={tool.poison} />}</Notice> : null}
        {tool.description ? <p class="says"><Text value={tool.description} /></p> : null}
        <Pairs rows={[['Tags', tool.tags.length ? tool.tags.map(tagName).join(', ') : undefined], ['Evidence', judged?.evidence.length ? <Text value={judged.evidence.join(', ')} /> : undefined],
          ['Findings', !tool.poison && judged?.findings.length ? <Findings of={judged.findings} /> : undefined], ['Pin', PINS[tool.pin]], ['Tokens', tool.tokens ? `about ${tool.tokens}` : undefined], ['Fingerprint', <code class="hash">{tool.fingerprint}</code>]]} />
        {tool.schema ? <><h3>Input schema</h3><Code value={tool.schema} /></> : null}
        <div class="row"><a class="button small" href={href(`policies?server=${part(server)}&tool=${part(tool.name)}`)}>Rules for it</a>{admin ? <a class="button small" href={href(`playground?server=${part(server)}&tool=${part(tool.name)}`)}>Try it</a> : null}<a class="button small" href={href(`activity?server=${part(server)}&tool=${part(tool.name)}`)}>Activity</a></div>
      </div>
    </Drawer>
  );
}

// ---- adding and changing ----

interface Form { name: string; kind: string; line: string; url: string; env: string; headers: string; cwd: string; policy: string; trusted: boolean }
const EMPTY: Form = { name: '', kind: 'command', line: '', url: '', env: '', headers: '', cwd: '', policy: '', trusted: false };

function Fields({ form, set, kept }: { form: Form; set: (f: Form) => void; kept?: { env: string[]; headers: string[] } }) {
  const policies = useData<Policy[]>('policies', { paged: true });
  const files = [...new Map((policies.data ?? []).filter((p) => p.path).map((p) => [p.path!, p.name])).entries()];
  const one = (key: keyof Form) => (v: string) => set({ ...form, [key]: v });
  const hint = (names?: string[]) => (names?.length ? `Set already, kept unless named here: ${names.map(plain).join(', ')}. NAME= takes one out.` : undefined);
  return (
    <>
      <Segmented label="Kind of server" value={form.kind} onValue={one('kind')} options={[['command', 'Command on this machine'], ['url', 'URL']]} />
      {form.kind === 'command' ? (
        <>
          <Field label="Command" hint="A program and its arguments, as in a shell; quotes group words. It runs as the gate's user."><Input value={form.line} onValue={one('line')} placeholder="npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /srv/data" /></Field>
          <Field label="Environment" hint={hint(kept?.env) ?? 'NAME=VALUE, one a line; ${NAME} takes the gate\'s own value.'}><textarea class="input mono" rows={2} value={form.env} onInput={(e) => one('env')(e.currentTarget.value)} spellcheck={false} /></Field>
          <Field label="Directory"><Input value={form.cwd} onValue={one('cwd')} placeholder="that of the gate" /></Field>
        </>
      ) : (
        <>
          <Field label="URL"><Input value={form.url} onValue={one('url')} placeholder="https://example.com/mcp" /></Field>
          <Field label="Headers" hint={hint(kept?.headers) ?? 'Name: value, one a line; ${NAME} keeps a secret out of the file.'}><textarea class="input mono" rows={2} value={form.headers} onInput={(e) => one('headers')(e.currentTarget.value)} spellcheck={false} /></Field>
        </>
      )}
      <Field label="Policy"><Select value={form.policy} onValue={one('policy')} options={[['', 'the default'], ...files, ...(form.policy && !files.some(([path]) => path === form.policy) ? [[form.policy, form.policy] as [string, string]] : [])]} /></Field>
    </>
  );
}

const members = (f: Form) => (f.kind === 'command'
  ? { command: readCommand(f.line)[0], args: readCommand(f.line).slice(1), ...(f.cwd && { cwd: f.cwd }), ...(f.env.trim() && { env: readPairs(f.env, '=') }) }
  : { url: f.url.trim(), ...(f.headers.trim() && { headers: readPairs(f.headers, ':') }) });

function AddServer({ onClose }: { onClose: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const [pasted, setPasted] = useState('');
  const paste = (text: string) => {
    setPasted(text);
    const found = readSnippet(text);
    if (found) setForm({ ...form, ...found });
  };
  const add = async () => {
    const made = await post<Server>('servers', { name: form.name.trim(), ...members(form), ...(form.policy && { policy: form.policy }), trusted: form.trusted });
    toast(form.trusted ? `${made.name} is added.` : `${made.name} is added and held back. Look at its tools, then trust it.`);
    onClose();
    go(`servers/${part(made.name)}?tab=scan`);
  };
  const ready = form.name.trim() && (form.kind === 'command' ? form.line.trim() : form.url.trim());
  return (
    <Dialog wide title="Add a server" onClose={onClose} footer={<><Button onClick={onClose}>Cancel</Button><Button tone="primary" disabled={!ready} onClick={add}>Add</Button></>}>
      <div class="form">
        <Field label="Name" hint="Tools appear to agents as NAME__tool."><Input value={form.name} onValue={(v) => setForm({ ...form, name: v })} placeholder="files" /></Field>
        <Fields form={form} set={setForm} />
        <Check checked={form.trusted} onChange={(on) => setForm({ ...form, trusted: on })}>Trust it at once, without a look at its tools</Check>
        <details><summary>Paste a client's configuration</summary><Field label="mcpServers" hint="The first server of it fills the form."><textarea class="input mono" rows={4} value={pasted} onInput={(e) => paste(e.currentTarget.value)} spellcheck={false} placeholder={'{"mcpServers": {"files": {"command": "npx", "args": ["-y", "…"]}}}'} /></Field></details>
        <Notice>It is written into sallyport.yaml. {form.trusted ? '' : 'No agent can call it before you have seen its tools and trusted it.'}</Notice>
      </div>
    </Dialog>
  );
}

function EditServer({ name, onClose }: { name: string; onClose: (changed: boolean) => void }) {
  const [form, setForm] = useState<Form | null>(null);
  const [kept, setKept] = useState<{ env: string[]; headers: string[] }>();
  const [error, setError] = useState<Error | null>(null);
  if (!form && !error) {
    get<any>(`servers/${part(name)}/settings`).then((s) => { // its policy may be named from the directory of sallyport.yaml
      setKept({ env: s.env ?? [], headers: s.headers ?? [] });
      setForm({ ...EMPTY, name, kind: s.url ? 'url' : 'command', line: commandLine(s.command, s.args), url: s.url ?? '', cwd: s.cwd ?? '', policy: s.policy ?? '' });
    }, setError);
  }
  const save = async () => {
    const cut = (all?: Record<string, string>) => all && Object.fromEntries(Object.entries(all).map(([k, v]) => [k, v === '' ? null : v]));
    const m: any = members(form!);
    await send('PATCH', `servers/${part(name)}`, { ...m, ...(m.env && { env: cut(m.env) }), ...(m.headers && { headers: cut(m.headers) }), policy: form!.policy || null, ...(form!.kind === 'command' ? { url: null, cwd: form!.cwd || null } : { command: null, args: null }) });
    toast('Saved. It is in force now.');
    onClose(true);
  };
  return (
    <Dialog wide title={`Change ${name}`} onClose={() => onClose(false)} footer={<><Button onClick={() => onClose(false)}>Cancel</Button><Button tone="primary" disabled={!form} onClick={save}>Save</Button></>}>
      {error ? <Fault error={error} /> : form ? <div class="form"><Fields form={form} set={setForm} kept={kept} /></div> : <p class="muted">Loading…</p>}
    </Dialog>
  );
}

// ---- parts of one server's page ----

function Changes({ name, onDone }: { name: string; onDone: () => void }) {
  const pins = useData<PinDifference[]>(`servers/${part(name)}/pins`, { when: (r) => r.event === 'lock' || r.event === 'pin' });
  const may = useMay('policy-manager');
  const accept = async (p?: PinDifference) => { const { tool, skill } = p ?? {}; await post(`servers/${part(name)}/pins`, { tool, skill }); toast(p ? `${plain(tool ?? skill ?? '')} is accepted.` : 'All of them are accepted.'); await pins.reload(); onDone(); };
  if (pins.error) return <Empty title="Nothing to compare"><Words text={pins.error.message} /></Empty>;
  if (!pins.data) return <p class="muted pad">Loading…</p>;
  if (!pins.data.length) return <Empty title="Every tool is as it was accepted">Skills are compared when an agent asks for them.</Empty>;
  return (
    <div class="pad stack">
      <div class="row"><span class="muted">{count(pins.data.length)} {pins.data.length === 1 ? 'definition differs' : 'definitions differ'} from what was accepted. Agents cannot use {pins.data.length === 1 ? 'it' : 'them'}.</span><div class="spacer" /><Button small tone="primary" disabled={!may} onClick={() => accept()}>Accept all</Button></div>
      {pins.data.map((p) => <article class="card" key={p.tool ?? p.skill}><header><div class="title"><strong class="tool"><Text value={p.tool ?? p.skill ?? ''} /></strong><Badge tone={p.state === 'new' ? 'info' : 'approve'}>{p.state}</Badge></div><Button small disabled={!may || p.state === 'gone'} onClick={() => accept(p)}>Accept</Button></header>
        {p.diff ? <pre class="code diff" tabIndex={0}>{p.diff.split('\n').filter(Boolean).map((l, i) => <div key={i} class={l[0] === '+' ? 'add' : l[0] === '-' ? 'del' : ''}><Text value={l} /></div>)}</pre> : null}</article>)}
    </div>
  );
}

function Scan({ name }: { name: string }) {
  const may = useMay('policy-manager');
  const survey = useData<Survey>(`servers/${part(name)}/survey`);
  const s = survey.data;
  if (survey.error) return <Silent name={name} />;
  if (!s) return <p class="muted pad">Loading…</p>;
  const bad = s.tools.filter((t) => t.findings.length);
  return (
    <div class="pad stack">
      {s.poisoned ? <Notice tone="deny">{count(s.poisoned)} {s.poisoned === 1 ? 'definition carries' : 'definitions carry'} text that tries to instruct the model.</Notice> : <Notice tone="allow">No poisoned definition was found.</Notice>}
      {bad.map((t) => <article class="card" key={t.tool}><header><strong class="tool"><Text value={t.tool} /></strong><RiskClass name={t.category} /></header><Findings of={t.findings} /></article>)}
      <p class="muted">{many(s.tools.length, 'tool')}, about {compact(s.tokens)} tokens in a model's context.</p>
      {s.starter ? <><div class="row"><h3>A policy to begin with</h3><div class="spacer" /><Copy text={s.starter} label="Copy the policy" />{may ? <Button small tone="primary" title="Opens it in the policy editor; nothing is in force before you save it there" onClick={() => { sessionStorage.setItem('draft', s.starter!); go(`policies?server=${part(name)}&draft=1`); }}>Use as draft</Button> : null}</div><pre class="code" tabIndex={0}><Text value={s.starter} /></pre></> : null}
    </div>
  );
}

// A server that gave no tools: what it wrote says more than its silence.
function Silent({ name }: { name: string }) {
  const may = useMay('policy-manager');
  const lines = useData<LogLine[]>(may ? `servers/${part(name)}/log` : null, { every: 2000 });
  const last = lines.data?.slice(-8) ?? [];
  return (
    <>
      <Empty title="It gave no tools">{last.length ? 'The gate started it and asked. These are the last lines that it wrote:' : 'The gate asked it, and no list of tools came back. Check its command or URL, then restart it.'}</Empty>
      {last.length ? <pre class="code log" tabIndex={0} aria-label="Its last lines">{last.map((l, i) => <div key={i}><Text value={l.text} /></div>)}</pre> : null}
    </>
  );
}

function Log({ name }: { name: string }) {
  const lines = useData<LogLine[]>(`servers/${part(name)}/log`, { every: 2000 });
  // The newest line stays in view, unless somebody reads further up.
  const box = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  useLayoutEffect(() => { if (box.current && follows.current) box.current.scrollTop = box.current.scrollHeight; }, [lines.data]);
  if (lines.error) return <Fault error={lines.error} />;
  if (!lines.data?.length) return <Empty title="It has written nothing yet">What the server writes to its standard error appears here.</Empty>;
  return <pre class="code log" tabIndex={0} aria-label="Log" ref={box} onScroll={(e) => { const p = e.currentTarget; follows.current = p.scrollTop + p.clientHeight >= p.scrollHeight - 8; }}>{lines.data.map((l, i) => <div key={i}><Time at={l.time} /> <Text value={l.text} /></div>)}</pre>;
}

function Actions({ s, onChange }: { s: Server; onChange: () => void }) {
  const admin = useMay();
  const stops = useData<Stop[]>(admin ? 'stops' : null, { paged: true, when: (r) => r.event === 'stopped' || r.event === 'resumed' });
  const [open, setOpen] = useState<'stop' | 'edit' | 'remove' | null>(null);
  if (!admin) return null;
  const own = stops.data?.find((x) => x.scope === 'server' && x.name === s.name);
  const trust = async () => { await send('DELETE', `stops/${part(own!.id)}`); toast(`${s.name} is trusted: calls pass now.`); await stops.reload(); onChange(); };
  const set = async (disabled: boolean) => { await send('PATCH', `servers/${part(s.name)}`, { disabled: disabled || null }); toast(disabled ? 'Disabled.' : 'Enabled.'); onChange(); };
  const remove = async () => { await send('DELETE', `servers/${part(s.name)}`); toast(`${s.name} is removed.`); go('servers'); };
  return (
    <>
      {own ? <Button small tone="primary" onClick={trust}>{isNew(own) ? 'Trust it' : 'Resume calls'}</Button> : s.state === 'disabled' ? null : <Button small onClick={() => setOpen('stop')}>Stop calls…</Button>}
      {s.transport !== 'builtin' ? (
        <>
          {s.state === 'disabled' ? null : <Button small onClick={async () => { await post(`servers/${part(s.name)}/restart`); toast('Restarted: the next call starts it anew.'); onChange(); }}>Restart</Button>}
          <Button small onClick={() => setOpen('edit')}>Change…</Button>
          <Button small onClick={() => set(s.state !== 'disabled')}>{s.state === 'disabled' ? 'Enable' : 'Disable'}</Button>
          <Button small tone="danger" onClick={() => setOpen('remove')}>Remove…</Button>
        </>
      ) : null}
      {open === 'stop' ? <StopDialog scope="server" name={s.name} onClose={() => { setOpen(null); stops.reload(); }} /> : null}
      {open === 'edit' ? <EditServer name={s.name} onClose={(changed) => { setOpen(null); if (changed) onChange(); }} /> : null}
      {open === 'remove' ? <Dialog title={`Remove ${s.name}`} onClose={() => setOpen(null)} footer={<><Button onClick={() => setOpen(null)}>Cancel</Button><Button tone="danger" onClick={remove}>Remove</Button></>}><p>It is taken out of sallyport.yaml, and its calls under way fail. What it did stays on record.</p></Dialog> : null}
    </>
  );
}

function One({ name }: { name: string }) {
  const place = usePlace();
  const server = useData<Server>(`servers/${part(name)}`, { every: 5000, when: about(name) });
  const all = useData<Server[]>(server.error ? 'servers' : null, { paged: true });
  const s = server.error instanceof ApiError && server.error.status === 404 ? all.data?.find((x) => x.name === name) : server.data;
  const admin = useMay();
  const settings = useData<{ command?: string; args?: string[]; url?: string }>(admin && s && s.transport !== 'builtin' ? `servers/${part(name)}/settings` : null, { when: about(name) });
  const target = settings.data?.url ?? commandLine(settings.data?.command, settings.data?.args);
  const tools = useData<Tool[]>(s && s.state !== 'disabled' ? `servers/${part(name)}/tools` : null, { paged: true, every: 15_000, when: about(name) });
  const may = useMay('policy-manager');
  const stops = useData<Stop[]>('stops', { paged: true, when: (r) => r.event === 'stopped' || r.event === 'resumed' });
  const fresh = stops.data?.some((x) => isNew(x) && x.name === name);
  const [text, setText] = useState('');
  const picked = place.query.get('tool');
  const tab = place.query.get('tab') ?? 'tools';
  const rows = (tools.data ?? []).filter((t) => !text || t.name.toLowerCase().includes(text.toLowerCase())).sort((a, b) => a.name.localeCompare(b.name));
  const tool = tools.data?.find((t) => t.name === picked);
  const silent = s?.state === 'down' && !tools.data?.length; // it may never answer: its last lines say why
  // Another worker may not have read the settings yet that name a new server.
  useEffect(() => {
    if (!s || !(tools.error instanceof ApiError) || tools.error.status !== 404) return;
    const timer = setTimeout(tools.reload, 1000);
    return () => clearTimeout(timer);
  }, [!!s, tools.error]);
  const reload = () => { server.reload(); tools.reload(); };
  const tabs: [string, string][] = [['tools', `Tools${tools.data ? ` ${count(tools.data.length)}` : ''}`], ['changes', `Changes${s?.held ? ` ${s.held}` : ''}`], ['scan', 'Scan'], ...(may ? [['log', 'Log'] as [string, string]] : [])];
  return (
    <div class={`with-drawer${tool ? ' open' : ''}`}>
      <div class="stack">
        <p><a href={href('servers')}>← All servers</a></p>
        {server.error && !s && (all.data || all.error) ? <Fault error={server.error} retry={server.reload} /> : null}
        {s?.fault ? <Notice tone="deny"><Words text={s.fault} /></Notice> : null}
        {s?.login === 'expired' || (s?.fault && /401|OAuth|log ?in/i.test(s.fault)) ? <Notice tone="approve">The gate has to log in there: <code>sallyport login {s.name}</code></Notice> : null}
        {s ? (
          <Panel title={<><Text value={s.name} /> <State name={s.state} />{s.stopped ? <Badge tone="approve">{fresh ? 'not trusted yet' : 'calls stopped'}</Badge> : null}</>} actions={<div class="row tight"><Actions s={s} onChange={reload} /></div>}>
            <div class="stack tight">
            {target ? <Pairs rows={[[settings.data?.url ? 'URL' : 'Command', <code><Text value={target} /></code>]]} /> : null}
            <Pairs wide rows={[
              ['Transport', TRANSPORTS[s.transport]], ['Protocol', s.era ?? 'not asked yet'], ['Sessions', s.links], ['Connections', s.transport === 'http' ? s.connections : undefined], ['Restarts', s.restarts],
              ['OAuth', s.login ? s.login.replace('_', ' ') : undefined],
              ['Policy', s.policy ? <a href={href(`policies?server=${part(name)}`)}><Text value={s.policy} /></a> : 'the default'],
            ]} />
            </div>
          </Panel>
        ) : server.error ? null : <p class="muted">Loading…</p>}
        {server.error && !s ? null : <Panel title={<Segmented label="About this server" value={tab} onValue={(v) => go(`servers/${part(name)}?tab=${v}`, true)} options={tabs} />} flush actions={tab === 'tools' ? <Input aria-label="Find a tool" placeholder="Find a tool" value={text} onValue={setText} /> : undefined}>
          {tab === 'changes' ? <Changes name={name} onDone={reload} /> : tab === 'scan' ? (silent ? <Silent name={name} /> : tools.data ? <Scan name={name} key={tools.data.length} /> : <p class="muted pad">The server is asked for its tools…</p>) : tab === 'log' ? (may ? <Log name={name} /> : <Empty title="The log needs the role policy-manager" />)
            : rows.length ? <Table cards label="Tools" rows={rows} keyOf={(t) => t.name} selected={picked} onRow={(t) => go(`servers/${part(name)}?tool=${part(t.name)}`, true)} columns={[
              { head: 'Tool', class: 'grow', cell: (t) => <><strong><Text value={t.name} /></strong>{t.description ? <div class="muted clip"><Text value={t.description} /></div> : null}</> },
              { head: 'Class', cell: (t) => <RiskClass name={t.category} /> },
              { head: 'Severity', hide: 'phone', cell: (t) => t.severity },
              { head: 'Tags', hide: 'phone', cell: (t) => <span class="row tight">{t.tags.map((x) => <Badge key={x} title={x}>{tagName(x)}</Badge>)}</span> },
              { head: 'Tokens', class: 'number', hide: 'phone', cell: (t) => (t.tokens ? count(t.tokens) : '') },
              { head: 'Pin', cell: (t) => (t.held || t.poison ? <span class="row tight">{t.held ? <Badge tone="approve" title="Changed since it was accepted; agents cannot use it">held</Badge> : null}{t.poison ? <Badge tone="deny" title="It tries to instruct the model">poisoned</Badge> : null}</span> : <span class="muted">{PINS[t.pin]}</span>) },
            ]} /> : tools.data?.length ? <Empty title="No tool has this name" /> : s?.state === 'disabled' ? <Empty title="It is disabled">Enable it to see and call its tools.</Empty> : silent || (tools.data && s) ? <Silent name={name} /> : tools.error ? <Fault error={tools.error} retry={tools.reload} /> : <p class="muted pad">The server is asked for its tools…</p>}
        </Panel>}
      </div>
      {tool ? <ToolDetail server={name} tool={tool} onClose={() => go(`servers/${part(name)}`, true)} /> : null}
    </div>
  );
}

export function Servers() {
  const { path } = usePlace();
  const admin = useMay();
  const [adding, setAdding] = useState(false);
  const servers = useData<Server[]>(path[1] ? null : 'servers', { paged: true, every: 5000 });
  const stops = useData<Stop[]>(path[1] ? null : 'stops', { paged: true, when: (r) => r.event === 'stopped' || r.event === 'resumed' });
  const fresh = (s: Server) => !!stops.data?.some((x) => isNew(x) && x.name === s.name);
  if (path[1]) return <One key={path[1]} name={path[1]} />;
  return (
    <div class="stack">
      {servers.error ? <Fault error={servers.error} retry={servers.reload} /> : null}
      {admin ? <div class="toolbar"><div class="spacer" /><Button tone="primary" onClick={() => setAdding(true)}>Add a server…</Button></div> : null}
      <Panel flush>
        {servers.data?.length ? <Table cards label="Servers" rows={servers.data} keyOf={(s) => s.name} onRow={(s) => go(`servers/${part(s.name)}`)} columns={[
          { head: 'Server', class: 'name', cell: (s) => <strong><Text value={s.name} /></strong> },
          { head: 'State', cell: (s) => <div><State name={s.state} />{s.stopped ? <> <Badge tone={fresh(s) ? 'approve' : 'deny'}>{fresh(s) ? 'not trusted yet' : 'stopped'}</Badge></> : null}{s.fault ? <div class="deny-text small clip" title={s.fault}><Words text={s.fault} /></div> : null}</div> },
          { head: 'Transport', class: 'nowrap', hide: 'phone', cell: (s) => TRANSPORTS[s.transport] },
          { head: 'Protocol', hide: 'phone', cell: (s) => s.era ?? <span class="muted">–</span> },
          { head: 'Tools', class: 'number', cell: (s) => (s.tools_known ? count(s.tools) : '–') },
          { head: 'Definitions', cell: (s) => (s.held || s.poisoned ? <span class="row tight">{s.held ? <Badge tone="approve" title="Changed since they were accepted; agents cannot use them">{s.held} held</Badge> : null}{s.poisoned ? <Badge tone="deny" title="They try to instruct the model">{s.poisoned} poisoned</Badge> : null}</span> : <span class="muted">{s.tools_known ? 'no findings' : '–'}</span>) },
          { head: 'Sessions', class: 'number', cell: (s) => s.links },
          { head: 'Restarts', class: 'number', hide: 'phone', cell: (s) => s.restarts ?? '' },
          { head: 'Policy', class: 'file', hide: 'phone', cell: (s) => (s.policy ? <Text value={s.policy} /> : <span class="muted">the default</span>) },
        ]} /> : servers.data ? <Empty title="No servers yet" action={admin ? <Button onClick={() => setAdding(true)}>Add a server…</Button> : undefined}>Name one under <code>servers:</code> in sallyport.yaml; the gate reads the file again when it changes.</Empty> : servers.error ? null : <p class="muted pad">Loading…</p>}
      </Panel>
      {adding ? <AddServer onClose={() => { setAdding(false); servers.reload(); }} /> : null}
    </div>
  );
}
