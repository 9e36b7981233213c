// Who is connected, what is in flight, what code runs.
import { useState } from 'preact/hooks';
import { part, post, type Call, type Job, type Packages, type Record_, type Session } from '../api';
import { count, duration, outcomeName, span } from '../format';
import { go, href, useData, useMay, useNow } from '../state';
import { InnerCalls } from '../trace';
import { Previews } from '../content';
import { Badge, Button, Code, Drawer, Empty, Fault, Pairs, Panel, State, Table, Text, Time, toast, Verdict } from '../ui';

// One run: what it wrote so far, and the calls that it made.
function Run({ job, onClose }: { job: Job; onClose: () => void }) {
  const admin = useMay();
  const { data, error } = useData<Job>(admin ? `jobs/${part(job.id)}` : null, { every: 2000 });
  const j = data ?? job;
  return (
    <Drawer title="Code run" onClose={onClose}>
      <div class="stack">
        {error ? <Fault error={error} /> : null}
        <Pairs rows={[['State', <State name={j.state} />], ['Who', <Text value={j.principal} />], ['Language', j.language], ['Started', <Time at={j.created_at} />], ['Took', duration(j.execution_time_ms * 1000)], ['Message', j.message ? <Text value={j.message} /> : undefined]]} />
        {admin ? null : <p class="muted">What it wrote is for the role admin.</p>}
        {j.output ? <><h3>Output</h3><Code value={j.output} /></> : null}
        {j.error_output ? <><h3>Error output</h3><Code value={j.error_output} /></> : null}
        <Previews items={j.content} />
        {j.call ? <InnerCalls call={j.call} /> : null}
      </div>
    </Drawer>
  );
}

export function Sessions() {
  const [picked, pick] = useState<string | null>(null);
  const past = useData<Record_[]>('audit?kind=decision&tool=execute_code&limit=20', { when: (r) => r.tool === 'execute_code' || r.kind === 'outcome' });
  const sessions = useData<Session[]>('sessions?limit=1000', { every: 3000, paged: true });
  const calls = useData<Call[]>('calls?limit=1000', { every: 2000, paged: true });
  const packages = useData<Packages>('packages', { every: 30000 });
  const jobs = useData<Job[]>('jobs?limit=200', { paged: true, every: 3000 });
  const admin = useMay();
  const now = useNow();
  const cancel = async (c: Call) => { await post(`calls/${part(c.id)}/cancel`); toast('Cancelled.'); await calls.reload(); };
  const job = jobs.data?.find((j) => j.id === picked);
  return (
    <div class={`with-drawer${job ? ' open' : ''}`}>
      <div class="stack">
      {sessions.error ? <Fault error={sessions.error} retry={sessions.reload} /> : null}
      <Panel title="Calls in flight" flush>
        {calls.data?.length ? <Table cards label="Calls in flight" rows={calls.data} keyOf={(c) => c.id} columns={[
          { head: 'Call', cell: (c) => <><Text value={c.tool ?? c.method} /> <span class="muted"><Text value={c.server ?? ''} /></span></> },
          { head: 'Who', cell: (c) => <Text value={c.identity} /> },
          { head: 'Running for', class: 'number', cell: (c) => span((now - Date.parse(c.started_at)) / 1000) },
          { head: 'Step', hide: 'phone', cell: (c) => c.step },
          { head: '', class: 'end', cell: (c) => <Button small disabled={!admin} title={admin ? undefined : 'This needs the role admin'} onClick={() => cancel(c)}>Cancel</Button> },
        ]} /> : calls.data ? <Empty small title="Nothing is in flight" /> : calls.error ? <Fault error={calls.error} retry={calls.reload} /> : <p class="muted pad">Loading…</p>}
      </Panel>
      <Panel title={`Sessions${sessions.data?.length ? ` · ${count(sessions.data.length)}` : ''}`} flush>
        {sessions.data?.length ? <Table cards label="Sessions" rows={sessions.data} keyOf={(s) => `${s.session}/${s.identity}/${s.server}`} columns={[
          { head: 'Who', cell: (s) => <Text value={s.identity} /> },
          { head: 'Endpoint', cell: (s) => (s.server ? <Text value={`/mcp/${s.server}`} /> : '/mcp') },
          { head: 'Protocol', cell: (s) => (s.version === 'stateless' ? 'modern' : s.version || 'not initialised') },
          { head: 'Calls in flight', class: 'number', cell: (s) => s.calls },
          { head: 'Session', hide: 'phone', cell: (s) => <a href={href(`activity?session=${part(s.session)}*`)}><code><Text value={s.session} /></code></a> },
        ]} /> : !sessions.data ? <p class="muted pad">{sessions.error ? '' : 'Loading…'}</p> : <Empty title="No client is connected">Agents connect to /mcp with a grant; <a href={href('grants')}>Grants</a> shows what to paste into a client.</Empty>}
      </Panel>
      <Panel title="Code runs under way or kept" flush>
        {jobs.data?.length ? <Table cards label="Code runs" rows={jobs.data} keyOf={(j) => j.id} selected={picked} onRow={(j) => pick(j.id)} columns={[
          { head: 'Started', cell: (j) => <Time at={j.created_at} /> },
          { head: 'Who', cell: (j) => <Text value={j.principal} /> },
          { head: 'Language', cell: (j) => j.language },
          { head: 'State', cell: (j) => <State name={j.state} /> },
          { head: 'Took', class: 'number', cell: (j) => duration(j.execution_time_ms * 1000) },
          { head: 'Inner calls', class: 'number', cell: (j) => j.tool_calls },
          { head: 'Message', hide: 'phone', cell: (j) => <Text value={j.message ?? ''} /> },
        ]} /> : !jobs.data ? jobs.error ? <Fault error={jobs.error} retry={jobs.reload} /> : <p class="muted pad">Loading…</p> : <Empty small title="No code runs">Runs that are under way, and background runs whose results are kept, appear here with their output and the tools that they called.</Empty>}
      </Panel>
      {past.data?.length ? <Panel title="Code runs on record" flush>
        <Table cards label="Code runs on record" rows={past.data} keyOf={(r) => r.seq} onRow={(r) => go(`activity?seq=${r.seq}&range=`)} columns={[
          { head: 'Time', cell: (r) => <Time at={r.time} /> },
          { head: 'Who', cell: (r) => <Text value={r.identity ?? ''} /> },
          { head: 'Verdict', cell: (r) => <Verdict verdict={r.verdict} /> },
          { head: 'Outcome', cell: (r) => (r.outcome ? <Badge tone={r.outcome.status === 'ok' ? 'quiet' : 'deny'}>{outcomeName(r.outcome.status)}</Badge> : '') },
          { head: 'Took', class: 'number', cell: (r) => (r.outcome ? duration(r.outcome.latency_us) : '') },
        ]} />
      </Panel> : null}
      <Panel title="Packages for code" flush>
        {packages.data?.installed.length ? <Table cards label="Packages for code" rows={packages.data.installed} keyOf={(p) => `${p.kind}:${p.name}@${p.version}`} columns={[
          { head: 'Package', cell: (p) => <Text value={p.name} /> },
          { head: 'Version', cell: (p) => <Text value={p.version} /> },
          { head: 'For', cell: (p) => (p.kind === 'npm' ? 'JavaScript' : `Python ${p.python ?? ''}`) },
          { head: 'Size', class: 'number', cell: (p) => `${(p.bytes / 1e6).toFixed(1)} MB` },
          { head: 'Needs', hide: 'phone', cell: (p) => <Text value={p.needs.map((n) => `${n.name} ${n.version}`).join(', ')} /> },
          { head: 'Added', hide: 'phone', cell: (p) => <>{p.added ? <Time at={p.added} /> : null} {p.on_request ? <Badge tone="quiet">by an agent</Badge> : null}</> },
        ]} /> : <Empty small title="No packages are installed"><code>sallyport code packages add data-science</code> installs pandas, DuckDB, matplotlib and others; runs name what they import.</Empty>}
        {packages.data?.allowed.length ? <p class="muted pad">Agents may install: <Text value={packages.data.allowed.join(', ')} /></p> : null}
      </Panel>
      </div>
      {job ? <Run key={job.id} job={job} onClose={() => pick(null)} /> : null}
    </div>
  );
}
