// What is known of published servers: a list with a search, and the pages that the program makes of servers, tools and attack patterns.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { query, send } from '../api';
import { count } from '../format';
import { go, href, useData, useMay, usePlace } from '../state';
import { Badge, Button, Code, Copy, Empty, Fault, Input, Panel, RiskClass, Select, Table, Text, Words } from '../ui';

interface Entry { registry: string; name: string; title?: string; version: string; tools: number; classes: Record<string, number> }
const PAGE = 100;
interface Cell { text: string; link?: string; mark?: string }
interface Block { kind: string; title?: string; text?: string; language?: string; numbers?: number[]; rows?: Cell[][] }
interface Page { kind: string; id?: string; title: string; summary?: string; blocks: Block[] }

// "server:npm/NAME", "tool:npm/NAME#TOOL", "attack:ID"
function place(target: string): string {
  const at = target.indexOf(':'), kind = target.slice(0, at), rest = target.slice(at + 1);
  if (kind === 'attack') return `catalogue${query({ page: target })}`;
  const tool = kind === 'tool' ? rest.indexOf('#') : -1;
  return `catalogue${query(tool < 0 ? { page: rest } : { page: rest.slice(0, tool), tool: rest.slice(tool + 1) })}`;
}

const TONES: Record<string, 'allow' | 'info' | 'approve' | 'deny'> = { read: 'allow', low: 'allow', write: 'info', medium: 'info', execute: 'approve', high: 'approve', destructive: 'deny', financial: 'deny', critical: 'deny' };
function Value({ cell }: { cell: Cell }) {
  const words = <Words text={cell.text} />;
  if (cell.mark) return <Badge tone={TONES[cell.mark] ?? 'quiet'}>{words}</Badge>;
  return cell.link ? <a href={href(place(cell.link))}>{words}</a> : words;
}

function Bar({ numbers }: { numbers: number[] }) {
  const all = numbers.reduce((a, b) => a + b, 0) || 1;
  return (
    <div>
      <p>{`Read (${numbers[0]}) Write / Execute (${numbers[1]}) Destructive / Financial (${numbers[2]})`}</p>
      <span class="bar" aria-hidden="true"><svg width="100%" height="4">{['accent', 'approve', 'deny'].map((tone, i) => <rect key={tone} class={tone} height="4" x={`${(100 * numbers.slice(0, i).reduce((a, b) => a + b, 0)) / all}%`} width={`${(100 * numbers[i]) / all}%`} />)}</svg></span>
    </div>
  );
}

// A policy of the page becomes a draft in the editor: nothing is in force before a user saves it there.
const Enforce = ({ text }: { text: string }) => (
  <Button small tone="primary" onClick={() => { sessionStorage.setItem('draft', text); go('policies?draft=1'); }}>Enforce</Button>
);

function Part({ block, enforce }: { block: Block; enforce: boolean }) {
  const rows = block.rows ?? [];
  switch (block.kind) {
    case 'bar': return <Bar numbers={block.numbers ?? []} />;
    case 'facts': return <dl class="pairs">{rows.map(([key, value]) => <div key={key.text}><dt>{key.text}</dt><dd><Value cell={value} /></dd></div>)}</dl>;
    case 'links': return <ul class="links">{rows.map(([link, note]) => <li key={link.link}><Value cell={link} /> <span class="muted"><Words text={note.text} /></span></li>)}</ul>;
    case 'table': return <Table label={rows[0].map((c) => c.text).join(', ')} rows={rows.slice(1)} keyOf={(row) => row.map((c) => c.text).join(' ')} columns={rows[0].map((head, i) => ({ head: head.text, cell: (row: Cell[]) => <Value cell={row[i]} />, hide: i > 2 ? 'phone' as const : undefined }))} />;
    case 'code': return (
      <div class="stack tight">
        <div class="row"><span class="muted small"><Text value={block.title} /></span><Copy text={block.text ?? ''} />{enforce && block.language === 'yaml' ? <Enforce text={block.text ?? ''} /> : null}</div>
        <Code value={block.text} />
      </div>
    );
    case 'question': return <details><summary><Words text={block.title ?? ''} /></summary><p><Words text={block.text ?? ''} /></p></details>;
    default: return <p><Words text={block.text ?? ''} /></p>;
  }
}

// Blocks up to the next heading make one panel.
function sections(blocks: Block[]): { title: string; blocks: Block[] }[] {
  const all = [{ title: '', blocks: [] as Block[] }];
  for (const block of blocks) {
    if (block.kind === 'heading') all.push({ title: block.text ?? '', blocks: [] });
    else all[all.length - 1].blocks.push(block);
  }
  return all;
}

function One({ name, tool }: { name: string; tool?: string }) {
  const { data, error } = useData<Page>(`catalogue/page${query({ name, tool })}`);
  const may = useMay('policy-manager');
  const back: ComponentChildren = tool ? <a href={href(`catalogue${query({ page: name })}`)}>← <Text value={name} /></a> : <a href={href('catalogue')}>← Catalogue</a>;
  return (
    <div class="stack">
      <p>{back}</p>
      {error ? <Fault error={error} /> : null}
      {data ? sections(data.blocks).map((section, i) => (
        <Panel key={section.title} title={i ? <Text value={section.title} /> : <Text value={data.title} />}>
          <div class="stack tight">{section.blocks.map((block, k) => <Part key={k} block={block} enforce={may} />)}</div>
        </Panel>
      )) : error ? null : <p class="muted">Loading…</p>}
    </div>
  );
}

const REGISTRIES: [string, string][] = [['', 'Any registry'], ['npm', 'npm'], ['pypi', 'PyPI'], ['go', 'Go modules'], ['github', 'GitHub'], ['remote', 'Remote servers']];
const CLASSES: [string, string][] = [['', 'Any class'], ...['Financial', 'Destructive', 'Execute', 'Write', 'Read'].map((c): [string, string] => [c, `Has ${c} tools`])];

// The filters are part of the URL: the way back from a page leads to the same list.
export function Catalogue() {
  const { path, query: q } = usePlace();
  const name = q.get('page') ?? path.slice(1).join('/');
  return name ? <One key={`${name} ${q.get('tool') ?? ''}`} name={name} tool={q.get('tool') ?? undefined} /> : <List />;
}

function List() {
  const { query: q } = usePlace();
  const asked = { q: q.get('q') ?? '', registry: q.get('registry') ?? '', class: q.get('class') ?? '' };
  const [text, setText] = useState(asked.q);
  const [rows, setRows] = useState<Entry[] | null>(null);
  const [total, setTotal] = useState(0);
  const [cursor, setCursor] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const round = useRef(0);
  const set = (values: Partial<typeof asked>) => go(`catalogue${query({ ...asked, ...values })}`, true);
  const load = async (after?: string) => {
    const mine = ++round.current;
    try {
      const { json, response } = await send('GET', `catalogue${query({ ...asked, limit: PAGE, cursor: after })}`);
      if (mine !== round.current) return;
      setRows((before) => (after ? [...(before ?? []), ...json] : json));
      setTotal(Number(response.headers.get('Sallyport-Total') ?? 0));
      setCursor(response.headers.get('Sallyport-Cursor'));
      setError(null);
    } catch (e) { if (mine === round.current) setError(e as Error); }
  };
  useEffect(() => { load(); }, [asked.q, asked.registry, asked.class]);
  useEffect(() => { if (text === asked.q) return; const timer = setTimeout(() => set({ q: text }), 200); return () => clearTimeout(timer); }, [text]);
  return (
    <div class="stack">
      <div class="toolbar">
        <Input type="search" aria-label="Search the catalogue" placeholder="Search servers and tools" value={text} onValue={setText} />
        <Select label="Registry" value={asked.registry} onValue={(v) => set({ registry: v })} options={REGISTRIES} />
        <Select label="Class" value={asked.class} onValue={(v) => set({ class: v })} options={CLASSES} />
        <span class="muted small" role="status">{rows ? `${count(total)} ${total === 1 ? 'server' : 'servers'}, the best known first` : ''}</span>
      </div>
      {error ? <Fault error={error} retry={() => load()} /> : null}
      <Panel flush>
        {rows?.length ? <Table cards label="Catalogue" rows={rows} keyOf={(e) => `${e.registry}/${e.name}`} onRow={(e) => go(place(`server:${e.registry}/${e.name}`))} columns={[
          { head: 'Server', cell: (e) => <><strong><Text value={e.title ?? e.name} /></strong>{e.title ? <div class="muted clip"><Text value={e.name} /></div> : null}</> },
          { head: 'Registry', cell: (e) => e.registry },
          { head: 'Tools', class: 'number', cell: (e) => e.tools },
          { head: 'Classes', cell: (e) => <span class="row tight">{Object.entries(e.classes).map(([cls, n]) => <span key={cls} class="row tight"><RiskClass name={cls} /> <span class="muted">{n}</span></span>)}</span> },
        ]} /> : rows ? <Empty title="Nothing found">Try the name of a product, or of a tool.</Empty> : error ? null : <p class="muted pad">Loading…</p>}
        {cursor ? <div class="more-rows"><span class="muted small">{count(rows?.length ?? 0)} of {count(total)} shown</span> <Button onClick={() => load(cursor)}>More servers</Button></div> : null}
      </Panel>
    </div>
  );
}
