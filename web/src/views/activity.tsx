// Every decision, with filters, a live tail and the details of one.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, part, query, type Approval, type Record_, type Status } from '../api';
import { bytes, count, duration, outcomeName, OUTCOMES, reasonName, REASONS } from '../format';
import { go, href, useData, useLive, useMay, usePlace } from '../state';
import { Explain, InnerCalls } from '../trace';
import { Arguments, Badge, Between, Button, Code, Copy, Drawer, Empty, Fault, Field, Pairs, RiskClass, Segmented, Select, Table, Text, Time, Typed, Verdict, WholeTime } from '../ui';

const PAGE = 100;
const KEPT = 1000; // rows that a live list keeps, unless older ones were asked for
const FILTERS = ['server', 'tool', 'identity', 'grant', 'verdict', 'outcome', 'class', 'rule', 'reason', 'session', 'method', 'event', 'text', 'shadow', 'kind', 'fleet', 'gate'] as const;
type Name = (typeof FILTERS)[number];
const RANGES: [string, string][] = [['3600', 'Last hour'], ['86400', 'Last day'], ['604800', 'Last week'], ['2592000', 'Last 30 days'], ['', 'All time'], ['between', 'Between…']];

const FLEET_EVERY_MS = 3000;
// Numbers of records are those of one gate; over the fleet a page ends at a time.
const before = (time: string) => {
  const [, whole, micros] = /^(.*\.)(\d{6})Z$/.exec(time) ?? [];
  return Number(micros) ? `${whole}${String(Number(micros) - 1).padStart(6, '0')}Z` : new Date(Date.parse(time) - 1).toISOString();
};
const keyOf = (r: Record_) => (r.chain ? `${r.chain}:${r.seq}` : String(r.seq));

// The request for approval that a call has made.
function Waiting({ record: r }: { record: Record_ }) {
  const asked = useData<Approval[]>(`approvals${query({ identity: r.identity, limit: 1000 })}`, { when: (x) => !!x.event?.startsWith('approval_') });
  const one = asked.data?.find((a) => a.tool === r.tool && a.server === r.server && a.arguments_hash === r.args_hash);
  return one ? <a class="button small" href={href(`approvals/${part(one.id)}`)}>Approval: {one.status}</a> : null;
}

function Detail({ seq, chain, onClose }: { seq: number; chain?: string; onClose: () => void }) {
  const { data: r, error } = useData<Record_>(`audit/${seq}${query({ chain })}`);
  const edits = useMay('policy-manager');
  const o = r?.outcome;
  return (
    <Drawer title={<>Record {count(seq)}</>} onClose={onClose}>
      {error ? <Fault error={error} /> : null}
      {r ? (
        <div class="stack">
          <div class="row"><Verdict verdict={r.verdict} shadow={r.shadow} />{r.kind === 'event' ? null : <RiskClass name={r.class} />}{o ? <Badge tone={o.status === 'ok' ? 'allow' : 'deny'}>{outcomeName(o.status)}</Badge> : r.kind === 'decision' && r.verdict === 'allow' ? <Badge>no outcome yet</Badge> : null}</div>
          {r.text ? <p class="says"><Text value={r.text} /></p> : null}
          <div class="row">
            <Copy text={`${location.origin}${href(`activity${query({ seq, chain })}`)}`} label="Copy link" />
            {r.verdict === 'approve' && !r.chain ? <Waiting record={r} /> : null}
            {edits && r.kind === 'decision' && r.tool && r.server ? <>
              {r.verdict !== 'allow' ? <a class="button small" href={href(`policies${query({ server: r.server, tool: r.tool, do: 'allow' })}`)}>Allow this…</a> : null}
              <a class="button small" href={href(`policies${query({ server: r.server, tool: r.tool, do: 'limit' })}`)}>Limit this…</a>
              <a class="button small" href={href(`policies${query({ server: r.server, tool: r.tool, test: seq })}`)}>Test against a policy…</a>
            </> : null}
          </div>
          <Pairs rows={[
            ['Time', <WholeTime at={r.time} />], r.gate ? ['Gate', <Text value={r.gate} />] : null, r.event ? ['Event', <Text value={r.event} />] : null, ['Who', r.identity ? <a href={href(`activity${query({ identity: r.identity })}`)}><Text value={r.identity} /></a> : undefined],
            ['Server', r.server ? <a href={href(`servers/${part(r.server)}`)}><Text value={r.server} /></a> : undefined], ['Tool', r.tool ? <a href={href(`activity${query({ server: r.server, tool: r.tool })}`)}><Text value={r.tool} /></a> : undefined], ['Method', r.method],
            ['Rule', r.rule ? <Text value={r.rule} /> : undefined], ['Rule path', r.pointer ? <code><Text value={r.pointer} /></code> : undefined], ['Reason', r.reason && r.reason !== 'none' ? reasonName(r.reason) : undefined],
            [r.kind === 'event' && !/policy|reload/.test(r.event ?? '') ? 'File' : 'Policy', r.policy ? <><Text value={r.policy} /> {r.policy_version ? <span class="muted">version {r.policy_version}</span> : null}</> : undefined],
            ['Session', r.session ? <a href={href(`activity${query({ session: r.session, range: '' })}`)}><code><Text value={r.session.slice(0, 16)} /></code></a> : undefined],
            ['Latency', o ? duration(o.latency_us) : undefined], ['Request', o ? bytes(o.bytes_in) : undefined], ['Answer', o ? bytes(o.bytes_out) : undefined], ['Error', o?.text ? <Text value={o.text} /> : undefined],
            ['Made by', r.parent ? <a href={href(`activity${query({ parent: r.parent })}`)}>code run {r.parent}</a> : undefined],
            ['Arguments hash', r.args_hash ? <code class="hash">{r.args_hash}</code> : undefined], ['Definition', r.fingerprint ? <code class="hash">{r.fingerprint}</code> : undefined],
            ['Policy hash', r.policy_hash ? <code class="hash">{r.policy_hash}</code> : undefined], ['Record hash', r.hash ? <code class="hash">{r.hash}</code> : undefined],
          ]} />
          {r.args !== undefined ? <><h3>Arguments{r.args_mode === 'keys' ? ' (names only: audit.arguments is “keys”)' : r.args_mode === 'tokenized' ? ' (personal data as tokens)' : ''}</h3><Arguments value={r.args} /></> : null}
          {edits && r.kind === 'decision' && r.tool && r.args_mode === 'full' ? <Explain record={r} /> : null}
          {r.shadow ? <><h3>Shadow verdicts</h3><Code value={r.shadow} /></> : null}
          {r.call ? <InnerCalls call={r.call} except={seq} /> : null}
        </div>
      ) : error ? null : <p class="muted">Loading…</p>}
    </Drawer>
  );
}

export function Activity() {
  const place = usePlace();
  const q = place.query;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, q.get(name) ?? ''])) as Record<Name, string>;
  const between = { since: q.get('since') ?? '', until: q.get('until') ?? '' };
  const range = between.since || q.get('range') === 'between' ? 'between' : q.get('range') ?? (q.get('seq') ? '' : '86400');
  const parent = q.get('parent') ?? '';
  const selected = q.get('seq') ? Number(q.get('seq')) : null;
  const chain = q.get('chain') ?? undefined;
  const fleet = !!filters.fleet;
  const status = useData<Status>('status', { every: 60_000 });
  const [rows, setRows] = useState<Record_[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(true);
  const [more, setMore] = useState(false);
  const [live, setLive] = useState(true);
  const [missed, setMissed] = useState(0);
  const [panel, setPanel] = useState(FILTERS.slice(6).some((n) => filters[n]));
  const key = JSON.stringify([filters, range, between, parent]);
  const until = between.until || undefined;
  const since = useMemo(() => (range === 'between' ? between.since || undefined : range ? new Date(Date.now() - Number(range) * 1000).toISOString().slice(0, 19) + 'Z' : undefined), [key]);
  const round = useRef(0);
  const kept = useRef(KEPT);
  const shown = useRef(rows);
  shown.current = rows;
  const ask = (values: Record<string, string | number | undefined>) => get<Record_[]>(`audit${query({ ...filters, kind: filters.kind || 'decision', parent, since, until, limit: PAGE, ...values })}`);
  const load = async () => {
    const mine = ++round.current;
    setBusy(true);
    setMissed(0);
    try {
      const found = await ask({});
      if (mine !== round.current) return;
      kept.current = KEPT;
      setRows(found);
      setMore(found.length === PAGE);
      setError(null);
    } catch (e) { if (mine === round.current) setError(e as Error); }
    if (mine === round.current) setBusy(false);
  };
  useEffect(() => { load(); }, [key]);
  const older = async (): Promise<void> => {
    const mine = round.current, oldest = shown.current.at(-1);
    if (!oldest) return;
    const found = await ask(fleet ? { until: before(oldest.time) } : { before: oldest.seq });
    if (mine !== round.current) return; // of other filters
    const end = shown.current.at(-1);
    if (!end || keyOf(end) !== keyOf(oldest)) return older(); // new records have cut the list meanwhile
    kept.current = Math.max(KEPT, shown.current.length + found.length);
    setRows((all) => [...all, ...found]);
    setMore(found.length === PAGE);
  };
  // New records are asked for with the filters that are set, so both always agree. Where more came than a page has, the rows before them are dropped, so
  // that none is missing in between: they are the next page.
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const refresh = async () => {
    const mine = round.current;
    try {
      const fresh = await ask({}), last = fresh.at(-1), first = shown.current[0];
      if (mine !== round.current) return;
      const joins = !first || fresh.length < PAGE || (fleet ? last!.time <= first.time : last!.seq <= first.seq);
      const all = joins ? [...fresh, ...shown.current.filter((r) => last && (fleet ? r.time < last.time : r.seq < last.seq))] : fresh;
      setRows(all.slice(0, kept.current));
      if (!joins || all.length > kept.current) setMore(true);
    } catch { /* the connection mark says so */ }
  };
  useEffect(() => {
    if (!fleet || !live) return;
    const timer = setInterval(refresh, FLEET_EVERY_MS);
    return () => clearInterval(timer);
  }, [key, live]);
  useLive((records) => {
    if (fleet) return;
    const decisions = records.filter((r) => r.kind !== 'event' || filters.kind).length;
    if (records.length && !decisions) return;
    if (!live) { setMissed((n) => n + records.filter((r) => r.kind === 'decision').length); return; }
    clearTimeout(soon.current);
    soon.current = setTimeout(refresh, 300);
  });
  const set = (values: Partial<Record<Name | 'range' | 'since' | 'until' | 'seq' | 'chain' | 'parent', string>>) => go(`activity${query({ range: q.get('range') ?? undefined, ...between, parent, ...filters, seq: selected ?? undefined, chain, ...values })}`, true);
  const any = FILTERS.some((n) => filters[n]) || parent;
  return (
    <div class={`with-drawer${selected ? ' open' : ''}`}>
      <div class="stack">
        <form class="filters" onSubmit={(e) => { e.preventDefault(); }} aria-label="Filters">
          <Select label="Time range" value={range} onValue={(v) => set({ range: v, since: '', until: '' })} options={RANGES} />
          {status.data?.audit_ship || fleet ? <Select label="Gates" value={filters.fleet} onValue={(v) => set({ fleet: v, gate: '', seq: '', chain: '' })} options={[['', 'This gate'], ['1', 'All gates']]} /> : null}
          {fleet ? <Typed aria-label="Gate" placeholder="Gate, or paris-*" value={filters.gate} onValue={(v) => set({ gate: v })} /> : null}
          <Select label="Verdict" value={filters.verdict} onValue={(v) => set({ verdict: v })} options={[['', 'Any verdict'], ['allow', 'Allowed'], ['deny', 'Denied'], ['approve', 'Approval']]} />
          <Typed aria-label="Server" placeholder="Server" value={filters.server} onValue={(v) => set({ server: v })} />
          <Typed aria-label="Tool" placeholder="Tool, or read_*" value={filters.tool} onValue={(v) => set({ tool: v })} />
          <Typed aria-label="Identity" placeholder="Identity" value={filters.identity} onValue={(v) => set({ identity: v })} />
          <Typed aria-label="Text" placeholder="Words anywhere" value={filters.text} onValue={(v) => set({ text: v })} />
          <Button small tone="ghost" pressed={panel} onClick={() => setPanel(!panel)}>More filters</Button>
          {any ? <Button small tone="ghost" onClick={() => go('activity', true)}>Clear</Button> : null}
        </form>
        {range === 'between' ? <Between {...between} onRange={(from, to) => set({ range: '', since: from, until: to })} /> : null}
        {panel ? (
          <div class="filters more">
            <Field label="Outcome"><Select value={filters.outcome} onValue={(v) => set({ outcome: v })} options={[['', 'Any'], ...Object.entries(OUTCOMES)]} /></Field>
            <Field label="Class"><Select value={filters.class} onValue={(v) => set({ class: v })} options={[['', 'Any'], 'Read', 'Write', 'Execute', 'Destructive', 'Financial']} /></Field>
            <Field label="Shadow"><Select value={filters.shadow} onValue={(v) => set({ shadow: v })} options={[['', 'Any'], ['1', 'Only with a shadow verdict']]} /></Field>
            <Field label="Kind"><Select value={filters.kind} onValue={(v) => set({ kind: v })} options={[['', 'Decisions'], ['event', 'Events of the gate'], ['all', 'Everything']]} /></Field>
            <Field label="Rule"><Typed value={filters.rule} onValue={(v) => set({ rule: v })} /></Field>
            <Field label="Reason"><Select value={filters.reason} onValue={(v) => set({ reason: v })} options={[['', 'Any'], ...Object.entries(REASONS)]} /></Field>
            <Field label="Grant"><Typed value={filters.grant} onValue={(v) => set({ grant: v })} /></Field>
            <Field label="Session"><Typed value={filters.session} onValue={(v) => set({ session: v })} /></Field>
            <Field label="Method"><Typed value={filters.method} onValue={(v) => set({ method: v })} /></Field>
            <Field label="Event"><Typed value={filters.event} onValue={(v) => set({ event: v, kind: v ? 'event' : filters.kind })} /></Field>
          </div>
        ) : null}
        <div class="toolbar">
          <Segmented label="Live" value={live ? 'on' : 'off'} onValue={(v) => { setLive(v === 'on'); if (v === 'on') load(); }} options={[['on', 'Live'], ['off', 'Paused']]} />
          {missed ? <Button small onClick={() => load()}>{count(missed)} new</Button> : null}
          <div class="spacer" />
          <span class="muted small">{rows.length ? `${count(rows.length)}${more ? '+' : ''} shown` : ''}</span>
          {(['jsonl', 'csv'] as const).map((format) => <a key={format} class="button small" download href={`/api/v1/audit/export${query({ ...filters, kind: filters.kind || 'decision', parent, since, until, format })}`}>Export {format.toUpperCase()}</a>)}
        </div>
        {error ? <Fault error={error} retry={load} /> : null}
        <section class="panel flush"><div class="body">
          {rows.length ? (
            <Table label="Decisions" rows={rows} most={Infinity} keyOf={keyOf} selected={selected ? (chain ? `${chain}:${selected}` : String(selected)) : null} onRow={(r) => set({ seq: String(r.seq), chain: r.chain ? String(r.chain) : '' })} columns={[
              ...(fleet ? [{ head: 'Gate', cell: (r: Record_) => <Text value={r.gate ?? ''} /> }] : []),
              { head: 'Time', class: 'time', cell: (r) => <Time at={r.time} /> },
              { head: 'Verdict', cell: (r) => <Verdict verdict={r.verdict ?? (r.kind === 'event' ? undefined : '')} shadow={r.shadow} /> },
              { head: 'Call', class: 'grow', cell: (r) => <span class="call"><Text value={r.event ? r.event : r.tool ?? r.method} /> <span class="muted"><Text value={r.server ?? ''} /></span><span class="only-phone muted"><Text value={r.identity ?? ''} /></span></span> },
              { head: 'Who', class: 'who', cell: (r) => <Text value={r.identity ?? ''} /> },
              { head: filters.kind ? 'Rule or text' : 'Rule', hide: 'phone', cell: (r) => <span class="clip" title={r.rule}><Text value={r.rule ?? r.text ?? ''} /></span> },
              { head: 'Outcome', hide: 'phone', cell: (r) => (r.outcome ? <Badge tone={r.outcome.status === 'ok' ? 'quiet' : r.outcome.status === 'denied' ? 'deny' : 'approve'}>{outcomeName(r.outcome.status)}</Badge> : '') },
              { head: 'Latency', class: 'number', hide: 'phone', cell: (r) => (r.outcome ? duration(r.outcome.latency_us) : '') },
            ]} />
          ) : busy ? <p class="muted pad">Loading…</p> : <Empty title={any ? 'No record fits these filters' : 'No calls yet'}>{any ? 'Widen the time range, or clear a filter.' : 'Every call of a tool is on record here, whatever became of it.'}</Empty>}
          {more ? <div class="more-rows"><Button onClick={older}>Older records</Button></div> : null}
        </div></section>
      </div>
      {selected ? <Detail key={`${chain}:${selected}`} seq={selected} chain={chain} onClose={() => set({ seq: '', chain: '' })} /> : null}
    </div>
  );
}
