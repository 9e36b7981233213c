// How the gate is doing.
import { useEffect, useRef, useState } from 'preact/hooks';
import { part, query, type Approval, type Record_, type Server, type Status } from '../api';
import type { Line } from '../chart';
import { compact, count, duration, limitName, localTime, many, reasonName, span } from '../format';
import { go, href, useData, useMay, usePlace } from '../state';
import { Badge, Between, Empty, Fault, Notice, Panel, Segmented, Stat, State, Table, Text, Time, Words } from '../ui';

interface Overview_ {
  since: string; until: string; step_seconds: number;
  times: number[]; allow: number[]; deny: number[]; approve: number[]; failed: number[];
  p50_us: (number | null)[]; p90_us: (number | null)[]; p99_us: (number | null)[];
  totals: { calls: number; allow: number; deny: number; approve: number; failed: number; p50_us?: number; p90_us?: number; p99_us?: number };
  tools: { server?: string; tool: string; calls: number; denied: number; p90_us?: number }[];
  denials: { server?: string; tool?: string; rule?: string; reason: string; count: number; last_seq: number; last_chain?: number; last_time: string }[];
  identities: { identity: string; calls: number; denied: number }[];
}
interface Limit { name: string; key: string; scope?: string; used: number; max: number; window_seconds?: number; resets_at?: string }

// So often that the number can be read.
function perTime(perSecond: number): string {
  const [n, unit] = perSecond >= 0.5 ? [perSecond, 'second'] : perSecond >= 0.5 / 60 ? [perSecond * 60, 'minute'] : [perSecond * 3600, 'hour'];
  return `${n.toFixed(n < 10 && n > 0 ? 1 : 0)} per ${unit}`;
}

const RANGES: [string, string][] = [['900', '15 min'], ['3600', '1 h'], ['21600', '6 h'], ['86400', '24 h'], ['604800', '7 d'], ['2592000', '30 d']];

function Chart({ times, lines, format, label }: { times: number[]; lines: Line[]; format: (n: number) => string; label: string }) {
  const ref = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const one = (values: (number | null)[]) => { const v = at === null ? null : values[at]; return v === null || v === undefined ? null : <output>{format(v)}</output>; };
  useEffect(() => {
    let gone = false;
    let chart: { destroy: () => void } | undefined;
    const make = () => import('../chart').then(({ draw }) => { if (!gone && ref.current) { chart?.destroy(); chart = draw(ref.current, times, lines, format, 190, setAt); } });
    make();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const theme = new MutationObserver(make);
    scheme.addEventListener('change', make);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => { gone = true; chart?.destroy(); scheme.removeEventListener('change', make); theme.disconnect(); };
  }, [times, lines]);
  return (
    <figure class="chart" aria-label={label}>
      <div ref={ref} class="plot" />
      <figcaption>{lines.map((l) => <span key={l.name} class={`key ${l.tone}`}>{l.name}{one(l.values)}</span>)}{at !== null && times[at] ? <span class="at">{localTime(new Date(times[at] * 1000).toISOString())}</span> : null}</figcaption>
    </figure>
  );
}

function Bar({ part: share, tone }: { part: number; tone: string }) {
  return <span class="bar" aria-hidden="true"><svg width="100%" height="6" preserveAspectRatio="none" viewBox="0 0 100 6"><rect width={Math.max(1, Math.min(100, share * 100))} height="6" class={tone} /></svg></span>;
}

const DOWN_SHOWN = 5;

// What somebody does first, until a tool was called for the first time.
function FirstSteps({ servers }: { servers?: Server[] }) {
  const admin = useMay();
  const known = servers?.filter((x) => x.transport !== 'builtin').length;
  return (
    <Panel title="First steps">
      <ol class="steps">
        {known === 0 ? <li><div><strong>Add a server</strong> whose tools agents may use.</div><a class="button small" href={href('servers')}>Servers</a></li> : null}
        <li><div><strong>Connect an agent.</strong> A grant has a token for it, and what to paste into Claude, Cursor or VS Code.</div>{admin ? <a class="button small" href={href('grants')}>Grants</a> : null}</li>
        <li><div><strong>Call a tool</strong> from the agent, or here as that agent. The call appears under Activity, whatever became of it.</div>{admin ? <a class="button small" href={href('playground')}>Playground</a> : null}</li>
        <li><div><strong>Decide what passes.</strong> The board has a row for each tool: allow, limit, ask a person, deny, hide.</div><a class="button small" href={href('policies')}>Policies</a></li>
      </ol>
      {admin ? null : <p class="muted small">You may look, and not change these. <code>sallyport ui</code>, run at a terminal of the gate's machine, signs in with every role.</p>}
    </Panel>
  );
}

export function Overview() {
  const place = usePlace();
  const since = place.query.get('since') ?? '';
  const until = place.query.get('until') ?? '';
  const range = since ? 'between' : place.query.get('range') ?? '3600';
  const [picking, setPicking] = useState(!!since);
  const fleet = place.query.get('fleet') ?? undefined;
  const when = { ...(since ? { since, until } : { range }), fleet };
  const { data, error, reload } = useData<Overview_>(`overview${query(when)}`, { every: until ? 0 : 5000 });
  const seconds = data ? Math.max(1, (Date.parse(data.until) - Date.parse(data.since)) / 1000) : 1;
  const status = useData<Status>('status', { every: 5000 });
  const servers = useData<Server[]>('servers', { paged: true, every: 5000 });
  const limits = useData<Limit[]>('limits', { paged: true, every: 10_000 });
  const pending = useData<Approval[]>('approvals?status=pending', { paged: true, every: 15_000, when: (r) => !!r.event?.startsWith('approval_') });
  const [lines, setLines] = useState<{ calls: Line[]; latency: Line[] }>({ calls: [], latency: [] });
  useEffect(() => {
    if (!data) return;
    const rate = (all: number[]) => all.map((n) => n / data.step_seconds);
    setLines({
      calls: [{ name: 'allowed', tone: 'allow', values: rate(data.allow), bar: true }, { name: 'denied', tone: 'deny', values: rate(data.deny), bar: true }, { name: 'approval', tone: 'approve', values: rate(data.approve), bar: true }, { name: 'failed', tone: 'muted', values: rate(data.failed) }],
      latency: [{ name: 'p50', tone: 'allow', values: data.p50_us }, { name: 'p90', tone: 'accent', values: data.p90_us }, { name: 'p99', tone: 'deny', values: data.p99_us }],
    });
  }, [data]);
  const s = status.data;
  const t = data?.totals;
  const near = (limits.data ?? []).filter((l) => l.max > 0 && l.used / l.max >= 0.5).slice(0, 8);
  const down = (servers.data ?? []).filter((x) => x.state === 'down' || x.fault);
  const quiet = !!t && !t.calls && !since && !fleet;
  const ever = useData<Record_[]>(quiet ? 'audit?kind=decision&method=tools%2Fcall&limit=1' : null);
  const activity = (more: Record<string, string | number | undefined>) => `activity${query({ ...when, ...more })}`;
  return (
    <div class="stack">
      <div class="toolbar"><Segmented label="Time range" value={picking ? 'between' : range} onValue={(v) => { setPicking(v === 'between'); if (v !== 'between') go(query({ range: v === '3600' ? undefined : v, fleet }), true); }} options={[...RANGES, ['between', 'Between…']]} />
        {picking ? <Between since={since || data?.since || ''} until={until} onRange={(from, to) => go(query({ since: from, until: to, fleet }), true)} /> : null}
        {s?.audit_ship || fleet ? <Segmented label="Gates" value={fleet ?? ''} onValue={(v) => go(query({ ...(since ? { since, until } : { range: range === '3600' ? undefined : range }), fleet: v || undefined }), true)} options={[['', 'This gate'], ['1', 'All gates']]} /> : null}</div>
      {error ? <Fault error={error} retry={reload} /> : null}
      {s?.settings_fault ? <Notice tone="deny">The newest settings are not in force: <Text value={s.settings_fault} /></Notice> : null}
      {s?.restart_needed_for ? <Notice tone="approve">A restart is needed for: <Text value={s.restart_needed_for} /></Notice> : null}
      {(s?.policy_faults ?? []).map((f) => <Notice key={f.path} tone="deny">The policy <Text value={f.path} /> on disk is not in force: <Text value={f.error} /></Notice>)}
      {s?.audit_fault ? <Notice tone="deny">The audit log cannot be written: <Text value={s.audit_fault} /></Notice> : null}
      {s?.audit_ship?.fault ? <Notice tone="approve">{count(s.audit_ship.lag_records)} records were not shipped to the fleet’s database: <Text value={s.audit_ship.fault} /></Notice> : null}
      {s?.audit_unrecorded ? <Notice tone="approve">{count(s.audit_unrecorded)} records could not be kept.</Notice> : null}
      {quiet && ever.data?.length === 0 ? <FirstSteps servers={servers.data} /> : null}
      {down.slice(0, DOWN_SHOWN).map((x) => <Notice key={x.name} tone="deny" action={<a class="button small" href={href(`servers/${part(x.name)}`)}>Look</a>}>Server <strong><Text value={x.name} /></strong> is {x.state}{x.fault ? <>: <Words text={x.fault} /></> : null}</Notice>)}
      {down.length > DOWN_SHOWN ? <Notice tone="deny" action={<a class="button small" href={href('servers')}>All servers</a>}>{many(down.length - DOWN_SHOWN, 'other server')} have failed, too.</Notice> : null}
      <div class="stats">
        <Stat label="Calls" value={t ? compact(t.calls) : '–'} hint={t && data ? perTime(t.calls / seconds) : undefined} />
        <Stat label="Denied" tone={t?.deny ? 'deny' : undefined} value={t ? compact(t.deny) : '–'} hint={t?.calls ? `${((100 * t.deny) / t.calls).toFixed(1)} %` : undefined} />
        <Stat label="Waiting calls" tone={pending.data?.length ? 'approve' : undefined} value={pending.data ? pending.data.length : '–'} hint={pending.data?.length ? <a href={href('approvals')}>Decide</a> : undefined} />
        <Stat label="Latency p90" value={t?.p90_us ? duration(t.p90_us) : '–'} hint={t?.p99_us ? `p99 ${duration(t.p99_us)}` : undefined} />
        <Stat label="Sessions" value={s ? s.sessions : '–'} hint={s ? `${many(s.calls_under_way, 'call')} in flight` : undefined} />
        <Stat label="Running for" value={s ? span((Date.now() - Date.parse(s.started_at)) / 1000) : '–'} hint={s ? `since ${localTime(s.started_at)}` : undefined} />
        <Stat label="Audit log" tone={s?.audit_fault || s?.audit_unrecorded ? 'deny' : undefined} value={!s ? '–' : s.audit_fault ? 'failing' : s.audit_seq === undefined ? 'off' : 'on'} hint={s?.audit_seq ? `${compact(s.audit_seq)} records${s.audit_refused ? `, ${compact(s.audit_refused)} calls refused` : ''}` : undefined} />
      </div>
      <div class="columns">
        <Panel title="Calls per second">{data && lines.calls.length ? <Chart times={data.times} lines={lines.calls} format={(n) => (n >= 10 ? n.toFixed(0) : n.toFixed(n >= 1 ? 1 : 2))} label="Calls per second by verdict" /> : <div class="chart-space" />}</Panel>
        <Panel title="Latency">{data && lines.latency.length ? <Chart times={data.times} lines={lines.latency} format={(n) => duration(n)} label="Latency percentiles" /> : <div class="chart-space" />}</Panel>
      </div>
      <div class="columns">
        <div class="stack">
          <Panel title="Top tools" flush actions={<a href={href(activity({}))}>Activity</a>}>
            {data?.tools.length ? <Table label="Top tools" rows={data.tools} keyOf={(r) => `${r.server}/${r.tool}`} onRow={(r) => go(activity({ server: r.server, tool: r.tool }))} columns={[
              { head: 'Tool', cell: (r) => <><Text value={r.tool} /> <span class="muted"><Text value={r.server ?? ''} /></span><Bar part={r.calls / data.tools[0].calls} tone="accent" /></> },
              { head: 'Calls', class: 'number', cell: (r) => compact(r.calls) },
              { head: 'Denied', class: 'number', cell: (r) => (r.denied ? <span class="deny-text">{compact(r.denied)}</span> : '0') },
              { head: 'p90', class: 'number', hide: 'phone', cell: (r) => (r.p90_us ? duration(r.p90_us) : '–') },
            ]} /> : data ? <Empty title="No calls in this time">When agents call tools through the gate, they are counted here.</Empty> : <p class="muted pad">Loading…</p>}
          </Panel>
          <Panel title="Servers" flush actions={<a href={href('servers')}>All servers</a>}>
            {servers.data?.length ? <Table label="Servers" rows={servers.data} keyOf={(r) => r.name} onRow={(r) => go(`servers/${part(r.name)}`)} columns={[
              { head: 'Server', cell: (r) => <Text value={r.name} /> },
              { head: 'State', cell: (r) => <><State name={r.state} />{r.stopped ? <> <Badge tone="approve">calls stopped</Badge></> : null}</> },
              { head: 'Tools', class: 'number', cell: (r) => (r.tools_known ? r.tools : '–') },
              { head: 'Sessions', class: 'number', cell: (r) => r.links },
            ]} /> : servers.data ? <Empty title="No servers yet" action={<a class="button" href={href('servers')}>Add a server</a>} /> : <p class="muted pad">Loading…</p>}
          </Panel>
        </div>
        <div class="stack">
          <Panel title="Denials" flush actions={<a href={href(activity({ verdict: 'deny' }))}>All denials</a>}>
            {data?.denials.length ? <Table label="Denials by rule" rows={data.denials} keyOf={(r) => `${r.server}/${r.tool}/${r.rule}/${r.reason}`} onRow={(r) => go(activity({ verdict: 'deny', server: r.server, tool: r.tool, seq: r.last_seq, chain: r.last_chain }))} columns={[
              { head: 'Rule', cell: (r) => <><Text value={r.rule || r.reason} /> <span class="muted"><Text value={[r.server, r.tool].filter(Boolean).join(' · ')} /></span></> },
              { head: 'Reason', hide: 'phone', cell: (r) => reasonName(r.reason) },
              { head: 'Count', class: 'number', cell: (r) => compact(r.count) },
              { head: 'Last', class: 'end', cell: (r) => <Time at={r.last_time} relative /> },
            ]} /> : data ? <Empty title="Nothing was denied in this time" /> : <p class="muted pad">Loading…</p>}
          </Panel>
          <Panel title="Limits close to their maximum" flush>
            {near.length ? <Table label="Limits" rows={near} keyOf={(r) => r.key} columns={[
              { head: 'Limit', cell: (r) => <><span title={r.key}><Text value={limitName(r.key, r.window_seconds)} /></span><Bar part={r.used / r.max} tone={r.used >= r.max ? 'deny' : r.used / r.max >= 0.8 ? 'approve' : 'accent'} /></> },
              { head: 'Used', class: 'number', cell: (r) => `${compact(r.used)} / ${compact(r.max)}` },
              { head: 'Resets', class: 'end', cell: (r) => (r.resets_at ? `in ${span((Date.parse(r.resets_at) - Date.now()) / 1000)}` : '–') },
            ]} /> : <Empty title="No limit is half used">Rate and spend limits appear here once half of them is used.</Empty>}
          </Panel>
          <Panel title="Who calls" flush>
            {data?.identities.length ? <Table label="Identities" rows={data.identities} keyOf={(r) => r.identity} onRow={(r) => go(activity({ identity: r.identity }))} columns={[
              { head: 'Identity', cell: (r) => <Text value={r.identity} /> },
              { head: 'Calls', class: 'number', cell: (r) => compact(r.calls) },
              { head: 'Denied', class: 'number', cell: (r) => (r.denied ? <span class="deny-text">{compact(r.denied)}</span> : '0') },
            ]} /> : data ? <Empty small title="No calls in this period" /> : <p class="muted pad">Loading…</p>}
          </Panel>
        </div>
      </div>
    </div>
  );
}
