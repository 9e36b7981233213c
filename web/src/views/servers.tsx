// The servers behind the gate, their tools, and what is held back.
import { useState } from 'preact/hooks';
import { part, type Server, type Tool } from '../api';
import { compact } from '../format';
import { go, href, useData, useMay, usePlace } from '../state';
import { Badge, Button, Code, Drawer, Empty, Fault, Input, Notice, Pairs, Panel, RiskClass, State, Table, Text } from '../ui';
import { StopDialog } from './stops';

function ToolDetail({ server, tool, onClose }: { server: string; tool: Tool; onClose: () => void }) {
  return (
    <Drawer title={<Text value={tool.name} />} onClose={onClose}>
      <div class="stack">
        <div class="row"><RiskClass name={tool.category} /><Badge>{tool.severity}</Badge><span class="muted small">{Math.round(tool.confidence * 100)} % sure</span></div>
        {tool.held ? <Notice tone="approve">Held back: <Text value={tool.held} />. Look at it with <code>sallyport pin diff</code>, accept it with <code>sallyport pin accept</code>.</Notice> : null}
        {tool.poison ? <Notice tone="deny">Suspicious: <Text value={tool.poison} /></Notice> : null}
        {tool.description ? <p class="says"><Text value={tool.description} /></p> : null}
        <Pairs rows={[['Tags', tool.tags.length ? tool.tags.join(', ') : undefined], ['Findings', tool.findings.length ? tool.findings.join(', ') : undefined], ['Pin', tool.pin], ['Tokens', tool.tokens ? `about ${tool.tokens}` : undefined], ['Fingerprint', <code class="hash">{tool.fingerprint}</code>]]} />
        {tool.schema ? <><h3>Input schema</h3><Code value={tool.schema} /></> : null}
        <div class="row"><a class="button small" href={href(`policies?server=${part(server)}&tool=${part(tool.name)}`)}>Rules for it</a><a class="button small" href={href(`playground?server=${part(server)}&tool=${part(tool.name)}`)}>Try it</a><a class="button small" href={href(`activity?server=${part(server)}&tool=${part(tool.name)}`)}>Activity</a></div>
      </div>
    </Drawer>
  );
}

function One({ name }: { name: string }) {
  const server = useData<Server>(`servers/${part(name)}`, { every: 5000 });
  const tools = useData<Tool[]>(`servers/${part(name)}/tools`, { every: 15_000, when: (r) => r.server === name && !!r.event });
  const admin = useMay();
  const place = usePlace();
  const [text, setText] = useState('');
  const [stopping, setStopping] = useState(false);
  const picked = place.query.get('tool');
  const s = server.data;
  const rows = (tools.data ?? []).filter((t) => !text || t.name.toLowerCase().includes(text.toLowerCase())).sort((a, b) => a.name.localeCompare(b.name));
  const tool = tools.data?.find((t) => t.name === picked);
  return (
    <div class={`with-drawer${tool ? ' open' : ''}`}>
      <div class="stack">
        <p><a href={href('servers')}>← All servers</a></p>
        {server.error ? <Fault error={server.error} retry={server.reload} /> : null}
        {s?.fault ? <Notice tone="deny"><Text value={s.fault} /></Notice> : null}
        {s ? (
          <Panel title={<><Text value={s.name} /> <State name={s.state} /></>} actions={admin ? <Button small onClick={() => setStopping(true)}>Stop calls…</Button> : undefined}>
            <Pairs rows={[
              ['Transport', s.transport], ['Sessions', s.links], ['Connections', s.transport === 'http' ? s.connections : undefined], ['Restarts', s.restarts],
              ['Policy', s.policy ? <a href={href(`policies?server=${part(name)}`)}><Text value={s.policy} /></a> : 'the default'],
            ]} />
          </Panel>
        ) : null}
        <Panel title={`Tools${tools.data ? ` · ${tools.data.length}` : ''}`} flush actions={<Input aria-label="Find a tool" placeholder="Find a tool" value={text} onValue={setText} />}>
          {rows.length ? <Table label="Tools" rows={rows} keyOf={(t) => t.name} selected={picked} onRow={(t) => go(`servers/${part(name)}?tool=${part(t.name)}`, true)} columns={[
            { head: 'Tool', cell: (t) => <><strong><Text value={t.name} /></strong>{t.description ? <div class="muted clip"><Text value={t.description} /></div> : null}</> },
            { head: 'Class', cell: (t) => <RiskClass name={t.category} /> },
            { head: 'Severity', hide: 'phone', cell: (t) => t.severity },
            { head: 'Tags', hide: 'phone', cell: (t) => <span class="row tight">{t.tags.map((x) => <Badge key={x}>{x}</Badge>)}</span> },
            { head: 'Tokens', class: 'number', hide: 'phone', cell: (t) => (t.tokens ? compact(t.tokens) : '') },
            { head: 'Pin', cell: (t) => (t.held ? <Badge tone="approve">held</Badge> : t.poison ? <Badge tone="deny">poison</Badge> : <span class="muted">{t.pin}</span>) },
          ]} /> : <Empty title={tools.data?.length ? 'No tool has this name' : 'Its tools are not known yet'}>{tools.data?.length ? null : 'The server was asked for them and gave none.'}</Empty>}
        </Panel>
      </div>
      {tool ? <ToolDetail server={name} tool={tool} onClose={() => go(`servers/${part(name)}`, true)} /> : null}
      {stopping ? <StopDialog scope="server" name={name} onClose={() => setStopping(false)} /> : null}
    </div>
  );
}

export function Servers() {
  const { path } = usePlace();
  const servers = useData<Server[]>(path[1] ? null : 'servers', { every: 5000 });
  if (path[1]) return <One key={path[1]} name={path[1]} />;
  return (
    <div class="stack">
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
        ]} /> : servers.data ? <Empty title="No servers yet">Name one under <code>servers:</code> in sallyport.yaml; the gate reads the file again when it changes.</Empty> : <p class="muted pad">Loading…</p>}
      </Panel>
      {servers.data?.some((s) => s.fault) ? servers.data.filter((s) => s.fault).map((s) => <Notice key={s.name} tone="deny"><strong><Text value={s.name} /></strong>: <Text value={s.fault} /></Notice>) : null}
    </div>
  );
}
