// The servers behind the gate, their tools, and what is held back.
import { useState } from 'preact/hooks';
import { part, post, send, type Server, type Tool } from '../api';
import { compact, plain } from '../format';
import { go, href, useData, useMay, usePlace } from '../state';
import { Badge, Button, Code, Dialog, Drawer, Empty, Fault, Field, Input, Notice, Pairs, Panel, RiskClass, Segmented, State, Table, Text, toast } from '../ui';
import { StopDialog } from './stops';

interface Detail_ extends Server { command?: string[]; url?: string; source?: string; editable?: boolean; disabled?: boolean; timeout_ms?: number; oauth?: string }
interface Pin { tool: string; state: 'new' | 'changed' | 'gone' | 'same'; diff: string; held?: string }
interface Scan { tools: Tool[]; findings: number }

function split(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map((m) => m[1]?.replace(/\\(.)/g, '$1') ?? m[2] ?? m[3]);
}

function Add() {
  const [kind, setKind] = useState('command');
  const [name, setName] = useState('');
  const [line, setLine] = useState('');
  const [url, setUrl] = useState('');
  const [headers, setHeaders] = useState('');
  const [env, setEnv] = useState('');
  const [scan, setScan] = useState<Scan | null>(null);
  const [fault, setFault] = useState('');
  const pairs = (text: string, by: string) => Object.fromEntries(text.split('\n').map((l) => l.trim()).filter(Boolean).map((l) => { const at = l.indexOf(by); return [l.slice(0, at).trim(), l.slice(at + 1).trim()]; }));
  const body = () => {
    const [command, ...args] = split(line);
    return kind === 'command' ? { name, command, args, ...(env.trim() && { env: pairs(env, '=') }) } : { name, url, ...(headers.trim() && { headers: pairs(headers, ':') }) };
  };
  const look = async () => { setFault(''); setScan(null); try { setScan(await post<Scan>('servers/scan', body())); } catch (e) { setFault((e as Error).message); } };
  const add = async () => { await post('servers', body()); toast(`Added ${plain(name)}.`); go(`servers/${part(name)}`); };
  const bad = scan?.tools.filter((t) => t.findings.length) ?? [];
  return (
    <div class="stack narrow">
      <p><a href={href('servers')}>← All servers</a></p>
      <Panel title="Add a server">
        <div class="form">
          <Field label="Name" hint="Tools are offered as NAME__tool."><Input value={name} onValue={setName} placeholder="github" /></Field>
          <Segmented label="Kind" value={kind} onValue={setKind} options={[['command', 'A command on this machine'], ['url', 'A URL']]} />
          {kind === 'command' ? (
            <>
              <Field label="Command"><Input value={line} onValue={setLine} placeholder="npx -y @modelcontextprotocol/server-filesystem /srv/data" /></Field>
              <Field label="Environment" hint="NAME=VALUE, one a line; ${NAME} takes it from the gate's own."><textarea class="input" rows={2} value={env} onInput={(e) => setEnv(e.currentTarget.value)} /></Field>
            </>
          ) : (
            <>
              <Field label="URL"><Input value={url} onValue={setUrl} type="url" placeholder="https://example.com/mcp" /></Field>
              <Field label="Headers" hint="Name: value, one a line; the agent never sees them."><textarea class="input" rows={2} value={headers} onInput={(e) => setHeaders(e.currentTarget.value)} /></Field>
            </>
          )}
          {fault ? <Fault error={fault} /> : null}
          <div class="row"><Button onClick={look} disabled={!name || (kind === 'command' ? !line : !url)}>Scan it first</Button><Button tone="primary" onClick={add} disabled={!scan}>Add to the gate</Button></div>
          {!scan ? <p class="hint">The scan starts the server, reads its tools and ends it again. Nothing is added before you say so.</p> : null}
        </div>
      </Panel>
      {scan ? (
        <Panel title={`${scan.tools.length} tools`} flush>
          {bad.length ? <Notice tone="deny">{bad.length} definitions carry what only an attack needs. Read them before you add this server.</Notice> : null}
          <Table label="Tools found" rows={scan.tools} keyOf={(t) => t.name} columns={[
            { head: 'Tool', cell: (t) => <><strong><Text value={t.name} /></strong><div class="muted clip"><Text value={t.description ?? ''} /></div></> },
            { head: 'Class', cell: (t) => <RiskClass name={t.category} /> },
            { head: 'Findings', cell: (t) => t.findings.map((f) => <Badge key={f} tone="deny">{f}</Badge>) },
          ]} />
        </Panel>
      ) : null}
    </div>
  );
}

function ToolDetail({ server, tool, pin, onClose, onAccepted }: { server: string; tool: Tool; pin?: Pin; onClose: () => void; onAccepted: () => void }) {
  const may = useMay('policy-manager');
  const accept = async () => { await post(`servers/${part(server)}/pins`, { tools: [tool.name] }); toast('Accepted.'); onAccepted(); };
  return (
    <Drawer title={<Text value={tool.name} />} onClose={onClose}>
      <div class="stack">
        <div class="row"><RiskClass name={tool.category} /><Badge>{tool.severity}</Badge><span class="muted small">{Math.round(tool.confidence * 100)} % sure</span></div>
        {tool.held ? <Notice tone="approve">Held back: <Text value={tool.held} /></Notice> : null}
        {tool.poison ? <Notice tone="deny">Suspicious: <Text value={tool.poison} /></Notice> : null}
        {pin && pin.state !== 'same' ? <><h3>What changed since it was accepted</h3><pre class="code diff" tabIndex={0}>{pin.diff.split('\n').map((l, i) => <div key={i} class={l[0] === '+' ? 'add' : l[0] === '-' ? 'del' : ''}><Text value={l} /></div>)}</pre><Button tone="primary" disabled={!may} onClick={accept}>Accept this definition</Button></> : null}
        {tool.description ? <p class="says"><Text value={tool.description} /></p> : null}
        <Pairs rows={[['Tags', tool.tags.length ? tool.tags.join(', ') : undefined], ['Findings', tool.findings.length ? tool.findings.join(', ') : undefined], ['Pin', tool.pin], ['Tokens', tool.tokens ? `about ${tool.tokens}` : undefined], ['Fingerprint', <code class="hash">{tool.fingerprint}</code>]]} />
        {tool.schema ? <><h3>Input schema</h3><Code value={tool.schema} /></> : null}
        <div class="row"><a class="button small" href={href(`policies?server=${part(server)}&tool=${part(tool.name)}`)}>Rules for it</a><a class="button small" href={href(`playground?server=${part(server)}&tool=${part(tool.name)}`)}>Try it</a><a class="button small" href={href(`activity?server=${part(server)}&tool=${part(tool.name)}`)}>Activity</a></div>
      </div>
    </Drawer>
  );
}

function One({ name }: { name: string }) {
  const server = useData<Detail_>(`servers/${part(name)}`, { every: 5000 });
  const tools = useData<Tool[]>(`servers/${part(name)}/tools`, { every: 15_000, when: (r) => r.server === name && !!r.event });
  const pins = useData<Pin[]>(`servers/${part(name)}/pins`, { when: (r) => !!r.event });
  const log = useData<{ lines: string[] }>(`servers/${part(name)}/log`, { every: 5000 });
  const admin = useMay();
  const place = usePlace();
  const [text, setText] = useState('');
  const [stopping, setStopping] = useState(false);
  const [removing, setRemoving] = useState(false);
  const picked = place.query.get('tool');
  const s = server.data;
  const rows = (tools.data ?? []).filter((t) => !text || t.name.toLowerCase().includes(text.toLowerCase())).sort((a, b) => a.name.localeCompare(b.name));
  const tool = tools.data?.find((t) => t.name === picked);
  const held = (tools.data ?? []).filter((t) => t.held);
  const acceptAll = async () => { await post(`servers/${part(name)}/pins`, { tools: held.map((t) => t.name) }); toast('Accepted.'); tools.reload(); pins.reload(); };
  const starter = async () => { const { text: policy } = await post<{ text: string }>(`servers/${part(name)}/starter`); sessionStorage.setItem('draft', policy); go(`policies?server=${part(name)}&draft=1`); };
  return (
    <div class={`with-drawer${tool ? ' open' : ''}`}>
      <div class="stack">
        <p><a href={href('servers')}>← All servers</a></p>
        {server.error ? <Fault error={server.error} retry={server.reload} /> : null}
        {s?.fault ? <Notice tone="deny"><Text value={s.fault} /></Notice> : null}
        {s ? (
          <Panel title={<><Text value={s.name} /> <State name={s.disabled ? 'disabled' : s.state} /></>} actions={admin ? <>
            <Button small onClick={async () => { await post(`servers/${part(name)}/restart`); toast('Restarted.'); server.reload(); }}>Restart</Button>
            <Button small onClick={() => setStopping(true)}>Stop calls…</Button>
            {s.editable ? <Button small onClick={async () => { await send('PATCH', `servers/${part(name)}`, { disabled: !s.disabled }); toast(s.disabled ? 'Enabled.' : 'Disabled.'); server.reload(); }}>{s.disabled ? 'Enable' : 'Disable'}</Button> : null}
            {s.editable ? <Button small tone="danger" onClick={() => setRemoving(true)}>Remove…</Button> : null}</> : undefined}>
            <Pairs rows={[
              ['Transport', s.transport], ['Protocol', s.era], ['Command', s.command ? <code><Text value={s.command.join(' ')} /></code> : undefined], ['URL', s.url ? <Text value={s.url} /> : undefined],
              ['Sessions', s.links], ['Connections', s.transport === 'http' ? s.connections : undefined], ['Restarts', s.restarts], ['Policy', s.policy ? <a href={href(`policies?server=${part(name)}`)}><Text value={s.policy} /></a> : 'the default'],
              ['Configured in', s.source ? <Text value={s.source} /> : undefined], ['OAuth', s.oauth],
            ]} />
          </Panel>
        ) : null}
        <Panel title={`Tools${tools.data ? ` · ${tools.data.length}` : ''}`} flush actions={<><Input aria-label="Find a tool" placeholder="Find a tool" value={text} onValue={setText} />{held.length ? <Button small tone="primary" onClick={acceptAll}>Accept {held.length} held</Button> : null}<Button small onClick={starter}>Starter policy</Button></>}>
          {rows.length ? <Table label="Tools" rows={rows} keyOf={(t) => t.name} selected={picked} onRow={(t) => go(`servers/${part(name)}?tool=${part(t.name)}`, true)} columns={[
            { head: 'Tool', cell: (t) => <><strong><Text value={t.name} /></strong>{t.description ? <div class="muted clip"><Text value={t.description} /></div> : null}</> },
            { head: 'Class', cell: (t) => <RiskClass name={t.category} /> },
            { head: 'Severity', hide: 'phone', cell: (t) => t.severity },
            { head: 'Tags', hide: 'phone', cell: (t) => <span class="row tight">{t.tags.map((x) => <Badge key={x}>{x}</Badge>)}</span> },
            { head: 'Tokens', class: 'number', hide: 'phone', cell: (t) => (t.tokens ? compact(t.tokens) : '') },
            { head: 'Pin', cell: (t) => (t.held ? <Badge tone="approve">held</Badge> : t.poison ? <Badge tone="deny">poison</Badge> : <span class="muted">{t.pin}</span>) },
          ]} /> : <Empty title={tools.data?.length ? 'No tool has this name' : 'Its tools are not known yet'}>{tools.data?.length ? null : 'They are asked for when the first agent connects. Restart asks now.'}</Empty>}
        </Panel>
        <Panel title="What it wrote to stderr">{log.data?.lines.length ? <pre class="code log" tabIndex={0}>{log.data.lines.map((l, i) => <div key={i}><Text value={l} /></div>)}</pre> : <p class="muted">Nothing.</p>}</Panel>
      </div>
      {tool ? <ToolDetail server={name} tool={tool} pin={pins.data?.find((p) => p.tool === tool.name)} onClose={() => go(`servers/${part(name)}`, true)} onAccepted={() => { tools.reload(); pins.reload(); }} /> : null}
      {stopping ? <StopDialog scope="server" name={name} onClose={() => setStopping(false)} /> : null}
      {removing ? <Dialog title={`Remove ${plain(name)}`} onClose={() => setRemoving(false)} footer={<><Button onClick={() => setRemoving(false)}>Cancel</Button><Button tone="danger" onClick={async () => { await send('DELETE', `servers/${part(name)}`); toast('Removed.'); go('servers'); }}>Remove</Button></>}><p>Its entry is taken out of the settings file, and its sessions end.</p></Dialog> : null}
    </div>
  );
}

export function Servers() {
  const { path } = usePlace();
  const admin = useMay();
  const servers = useData<Server[]>(path[1] ? null : 'servers', { every: 5000 });
  if (path[1] === 'new') return <Add />;
  if (path[1]) return <One key={path[1]} name={path[1]} />;
  return (
    <div class="stack">
      {admin ? <div class="toolbar"><div class="spacer" /><a class="button primary" href={href('servers/new')}>Add a server</a></div> : null}
      {servers.error ? <Fault error={servers.error} retry={servers.reload} /> : null}
      <Panel flush>
        {servers.data?.length ? <Table label="Servers" rows={servers.data} keyOf={(s) => s.name} onRow={(s) => go(`servers/${part(s.name)}`)} columns={[
          { head: 'Server', cell: (s) => <strong><Text value={s.name} /></strong> },
          { head: 'State', cell: (s) => <><State name={s.state} />{s.stopped ? <Badge tone="deny">stopped</Badge> : null}</> },
          { head: 'Transport', hide: 'phone', cell: (s) => s.transport },
          { head: 'Protocol', hide: 'phone', cell: (s) => s.era ?? '' },
          { head: 'Tools', class: 'number', cell: (s) => (s.tools_known ? s.tools : '–') },
          { head: 'Held', class: 'number', cell: (s) => (s.held ? <Badge tone="approve">{s.held}</Badge> : '') },
          { head: 'Sessions', class: 'number', cell: (s) => s.links },
          { head: 'Restarts', class: 'number', hide: 'phone', cell: (s) => s.restarts ?? '' },
          { head: 'Policy', hide: 'phone', cell: (s) => <Text value={s.policy ?? 'default'} /> },
        ]} /> : servers.data ? <Empty title="No servers yet" action={admin ? <a class="button primary" href={href('servers/new')}>Add a server</a> : undefined}>A server is a program or a URL that speaks MCP. Agents reach its tools through the gate.</Empty> : <p class="muted pad">Loading…</p>}
      </Panel>
      {servers.data?.some((s) => s.fault) ? servers.data.filter((s) => s.fault).map((s) => <Notice key={s.name} tone="deny"><strong><Text value={s.name} /></strong>: <Text value={s.fault} /></Notice>) : null}
    </div>
  );
}
