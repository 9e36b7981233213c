// What is known of servers that are not behind the gate yet.
import { useEffect, useState } from 'preact/hooks';
import { part, query } from '../api';
import { count } from '../format';
import { go, href, useData, usePlace } from '../state';
import { Badge, Empty, Fault, Input, Panel, RiskClass, Table, Text } from '../ui';

interface Entry { name: string; tools: number; classes: Record<string, number>; description?: string }
interface Page { name: string; description?: string; source?: string; tools: { name: string; category: string; severity: string; description?: string; tags?: string[] }[] }

function One({ name }: { name: string }) {
  const { data, error } = useData<Page>(`catalogue/server${query({ name })}`);
  return (
    <div class="stack">
      <p><a href={href('catalogue')}>← Catalogue</a></p>
      {error ? <Fault error={error} /> : null}
      {data ? (
        <Panel flush title={<><Text value={data.name} /> <span class="muted">{count(data.tools.length)} tools</span></>}>
          {data.description ? <p class="pad"><Text value={data.description} /></p> : null}
          <Table label="Tools" rows={data.tools} keyOf={(t) => t.name} columns={[
            { head: 'Tool', cell: (t) => <strong><Text value={t.name} /></strong> },
            { head: 'Class', cell: (t) => <RiskClass name={t.category} /> },
            { head: 'Severity', cell: (t) => t.severity },
            { head: 'Tags', hide: 'phone', cell: (t) => <span class="row tight">{(t.tags ?? []).map((x) => <Badge key={x}>{x}</Badge>)}</span> },
          ]} />
        </Panel>
      ) : null}
    </div>
  );
}

export function Catalogue() {
  const { path, query: q } = usePlace();
  const [text, setText] = useState(q.get('q') ?? '');
  const [asked, setAsked] = useState(text);
  useEffect(() => { const timer = setTimeout(() => setAsked(text), 200); return () => clearTimeout(timer); }, [text]);
  const list = useData<Entry[]>(path[1] ? null : `catalogue${query({ q: asked, limit: 200 })}`);
  if (path[1]) return <One name={path.slice(1).join('/')} />;
  return (
    <div class="stack">
      <div class="toolbar"><Input type="search" aria-label="Search the catalogue" placeholder="Search servers and tools" value={text} onValue={setText} /><span class="muted small">{list.data ? `${count(list.data.length)} servers` : ''}</span></div>
      {list.error ? <Fault error={list.error} /> : null}
      <Panel flush>
        {list.data?.length ? <Table label="Catalogue" rows={list.data} keyOf={(e) => e.name} onRow={(e) => go(`catalogue/${e.name.split('/').map(part).join('/')}`)} columns={[
          { head: 'Server', cell: (e) => <><strong><Text value={e.name} /></strong>{e.description ? <div class="muted clip"><Text value={e.description} /></div> : null}</> },
          { head: 'Tools', class: 'number', cell: (e) => e.tools },
          { head: 'Classes', hide: 'phone', cell: (e) => <span class="row tight">{Object.entries(e.classes).map(([name, n]) => <span key={name} class="row tight"><RiskClass name={name} /> <span class="muted">{n}</span></span>)}</span> },
        ]} /> : list.data ? <Empty title="Nothing found">Try the name of a product, or what a tool should do.</Empty> : <p class="muted pad">Loading…</p>}
      </Panel>
    </div>
  );
}
