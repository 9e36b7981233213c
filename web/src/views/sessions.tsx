// Who is connected, what is in flight, what code runs.
import { part, post, type Call, type Job, type Session } from '../api';
import { count, duration, span } from '../format';
import { href, useData, useMay, useNow } from '../state';
import { Button, Empty, Fault, Panel, State, Table, Text, Time, toast } from '../ui';

export function Sessions() {
  const sessions = useData<Session[]>('sessions?limit=1000', { every: 3000 });
  const calls = useData<Call[]>('calls', { every: 2000 });
  const jobs = useData<Job[]>('jobs?limit=200', { every: 3000 });
  const admin = useMay();
  const now = useNow();
  const cancel = async (c: Call) => { await post(`calls/${part(c.id)}/cancel`); toast('Cancelled.'); await calls.reload(); };
  return (
    <div class="stack">
      {sessions.error ? <Fault error={sessions.error} retry={sessions.reload} /> : null}
      <Panel title="Calls in flight" flush>
        {calls.data?.length ? <Table label="Calls in flight" rows={calls.data} keyOf={(c) => c.id} columns={[
          { head: 'Call', cell: (c) => <><Text value={c.tool ?? c.method} /> <span class="muted"><Text value={c.server ?? ''} /></span></> },
          { head: 'Who', cell: (c) => <Text value={c.identity} /> },
          { head: 'Running for', class: 'number', cell: (c) => span((now - Date.parse(c.started_at)) / 1000) },
          { head: 'Step', hide: 'phone', cell: (c) => c.step },
          { head: '', class: 'end', cell: (c) => <Button small disabled={!admin} title={admin ? undefined : 'This needs the role admin'} onClick={() => cancel(c)}>Cancel</Button> },
        ]} /> : <Empty title="Nothing is in flight" />}
      </Panel>
      <Panel title={`Sessions${sessions.data?.length ? ` · ${count(sessions.data.length)}` : ''}`} flush>
        {sessions.data?.length ? <Table label="Sessions" rows={sessions.data} keyOf={(s) => `${s.session}/${s.identity}/${s.server}`} columns={[
          { head: 'Who', cell: (s) => <Text value={s.identity} /> },
          { head: 'Endpoint', cell: (s) => (s.server ? <Text value={`/mcp/${s.server}`} /> : '/mcp') },
          { head: 'Protocol', cell: (s) => (s.version === 'stateless' ? 'modern' : s.version || 'not initialised') },
          { head: 'In flight', class: 'number', cell: (s) => s.calls },
          { head: 'Session', hide: 'phone', cell: (s) => <a href={href(`activity?session=${part(s.session)}*`)}><code><Text value={s.session} /></code></a> },
        ]} /> : <Empty title="Nobody is connected">Agents connect to /mcp with a grant; <a href={href('grants')}>Grants</a> shows what to paste into a client.</Empty>}
      </Panel>
      <Panel title="Code runs" flush>
        {jobs.data?.length ? <Table label="Code runs" rows={jobs.data} keyOf={(j) => j.id} columns={[
          { head: 'Started', cell: (j) => <Time at={j.created_at} /> },
          { head: 'Who', cell: (j) => <Text value={j.principal} /> },
          { head: 'Language', cell: (j) => j.language },
          { head: 'State', cell: (j) => <State name={j.state} /> },
          { head: 'Took', class: 'number', cell: (j) => duration(j.execution_time_ms * 1000) },
          { head: 'Inner calls', class: 'number', cell: (j) => j.tool_calls },
          { head: 'Message', hide: 'phone', cell: (j) => <Text value={j.message ?? ''} /> },
        ]} /> : <Empty title="No code runs">Runs of execute_code that are under way or kept appear here, with the tools that they called.</Empty>}
      </Panel>
    </div>
  );
}
