// Calls that wait for a person.
import { useEffect, useRef, useState } from 'preact/hooks';
import { getAll, part, post, query, type Approval, type Record_, type Tool } from '../api';
import { until } from '../format';
import { go, href, useData, useMay, useMe, useNow, usePlace } from '../state';
import { Arguments, Badge, Button, Check, Copy, Dialog, Empty, Fault, Field, Input, Notice, Pairs, Panel, RiskClass, Segmented, Select, State, Table, Text, Time, toast, Words } from '../ui';

const changed = (r: Record_) => !!r.event?.startsWith('approval_') || r.verdict === 'approve';

function Similar({ approval }: { approval: Approval }) {
  const { data } = useData<Approval[]>(`approvals${query({ identity: approval.identity, limit: 200 })}`);
  const earlier = (a: Approval) => !approval.decided_at || (a.decided_at ?? a.expires_at) < approval.decided_at;
  const past = (data ?? []).filter((a) => a.id !== approval.id && a.tool === approval.tool && a.server === approval.server && a.status !== 'pending' && earlier(a));
  if (!past.length) return <span class="muted">first of its kind</span>;
  const yes = past.filter((a) => a.status === 'approved' || a.status === 'used').length;
  const no = past.filter((a) => a.status === 'denied').length;
  return <>{yes} approved, {no} denied{past.length - yes - no ? `, ${past.length - yes - no} expired` : ''}, last <Time at={past[0].decided_at ?? past[0].created_at} relative /></>;
}

export function ApprovalCard({ approval: a, onDone, open }: { approval: Approval; onDone: () => void; open?: boolean }) {
  const may = useMay('approver');
  const me = useMe();
  const now = useNow();
  const [denying, setDenying] = useState(false);
  const [note, setNote] = useState('');
  const [whiling, setWhiling] = useState(false);
  const [lasts, setLasts] = useState('1800');
  const [any, setAny] = useState(false);
  const own = me.identity === a.identity;
  const decide = async (verb: 'approve' | 'deny', more: Record<string, unknown> = {}) => {
    await post<Approval>(`approvals/${part(a.id)}/${verb}`, more);
    toast(verb === 'approve' ? 'Approved. The agent can make the call now.' : 'Denied.', verb === 'approve' ? 'allow' : 'deny');
    onDone();
  };
  const left = (Date.parse(a.expires_at) - now) / 1000;
  return (
    <article class={`card approval${open ? ' open' : ''}`} data-approval={a.id} aria-label={`${a.identity} wants ${a.tool}`}>
      <header>
        <div class="title"><strong class="tool"><Text value={a.server ? `${a.server} · ${a.tool}` : a.tool} /></strong><RiskClass name={a.class} /></div>
        {a.status === 'pending' ? <span class={`timeleft${left < 120 ? ' soon' : ''}`}>{until(a.expires_at, now)} left</span> : <State name={a.status} />}
      </header>
      {a.stale ? <Notice tone="approve"><strong>Stale.</strong> <Words text={a.stale} /> The agent has to ask again; an approval of this one lets nothing pass.</Notice> : null}
      {a.text ? <p class="says"><Text value={a.text} /></p> : null}
      <Arguments value={a.arguments ?? {}} />
      {a.arguments_cut ? <p class="muted small">The arguments are longer than what is kept for display; the approval is for all of them.</p> : null}
      <Pairs rows={[
        ['Who', <Text value={a.identity} />], ['Rule', a.rule ? <><Text value={a.rule} />{a.policy ? <span class="muted"> in <Text value={a.policy} /></span> : null}</> : undefined],
        ['Asked', <><Time at={a.created_at} relative />{a.asked > 1 ? `, ${a.asked} times` : ''}</>], ['Before', <Similar approval={a} />],
        a.approvers?.length ? ['Approvers', <Text value={a.approvers.join(', ')} />] : null,
        a.decided_by ? ['Decided by', <><Text value={a.decided_by} /> <Time at={a.decided_at} relative />{a.note ? <>: “<Text value={a.note} />”</> : null}</>] : null,
      ]} />
      {a.status === 'pending' ? (
        <footer>
          {own ? <span class="muted">You asked for this call: somebody else decides.</span> : !may ? <span class="muted">Deciding needs the role approver.</span> : (
            <>
              <Button tone="primary" disabled={!!a.stale} onClick={() => decide('approve')}>Approve once</Button>
              <Button disabled={!!a.stale} onClick={() => setWhiling(true)}>Approve for a while…</Button>
              <Button tone="danger" onClick={() => setDenying(true)}>Deny…</Button>
            </>
          )}
          {open ? <Copy text={`${location.origin}${href(`approvals/${part(a.id)}`)}`} label="Copy link" /> : <a class="button ghost small" href={href(`approvals/${part(a.id)}`)}>Open</a>}
        </footer>
      ) : null}
      {a.repeat_until ? <footer><span>Passes again until <Time at={a.repeat_until} />{a.repeat_any ? ', with any arguments' : ', with these arguments'}.</span>{may ? <Button small onClick={async () => { await post(`approvals/${part(a.id)}/expire`, {}); toast('Ended. The next call asks again.'); onDone(); }}>End it</Button> : null}</footer> : null}
      {whiling ? (
        <Dialog title="Approve for a while" onClose={() => setWhiling(false)} footer={<><Button onClick={() => setWhiling(false)}>Cancel</Button><Button tone="primary" onClick={async () => { await decide('approve', { for_seconds: Number(lasts), ...(any && { any_arguments: true }) }); setWhiling(false); }}>Approve</Button></>}>
          <div class="form">
            <p><Text value={a.identity} /> may call <strong><Text value={a.tool} /></strong> again without a question. It ends sooner when the policy or the tool changes.</p>
            <Field label="For"><Select value={lasts} onValue={setLasts} options={[['300', '5 minutes'], ['1800', '30 minutes'], ['3600', '1 hour'], ['14400', '4 hours'], ['28800', '8 hours']]} /></Field>
            <Check checked={any} onChange={setAny}>With any arguments, not only these</Check>
          </div>
        </Dialog>
      ) : null}
      {denying ? (
        <Dialog title="Deny this call" onClose={() => setDenying(false)} footer={<><Button onClick={() => setDenying(false)}>Cancel</Button><Button tone="danger" onClick={async () => { await decide('deny', note ? { note } : {}); setDenying(false); }}>Deny</Button></>}>
          <Field label="Note" hint="On record, and the agent reads it."><Input value={note} onValue={setNote} maxLength={500} autofocus /></Field>
        </Dialog>
      ) : null}
    </article>
  );
}

// A gate that was just started does not know what a tool can do: its server is asked, once.
function useClasses(waiting: Approval[]): (a: Approval) => Approval {
  const [classes, set] = useState<Record<string, string>>({});
  const asked = useRef(new Set<string>());
  const servers = [...new Set(waiting.filter((a) => !a.class && a.status === 'pending').map((a) => a.server ?? ''))].filter(Boolean).sort();
  useEffect(() => {
    for (const server of servers) {
      if (asked.current.has(server)) continue;
      asked.current.add(server);
      getAll<Tool>(`servers/${part(server)}/tools`).then((tools) => set((before) => ({ ...before, ...Object.fromEntries(tools.map((t) => [`${server}/${t.name}`, t.category])) })), () => {}); // then it stays unknown
    }
  }, [servers.join('/')]);
  return (a) => ({ ...a, class: a.class ?? classes[`${a.server}/${a.tool}`] });
}

export function Approvals() {
  const { path } = usePlace();
  const [tab, setTab] = useState('pending');
  const [limit, setLimit] = useState(100);
  const pending = useData<Approval[]>('approvals?status=pending', { paged: true, every: 15_000, when: changed });
  const past = useData<Approval[]>(tab === 'past' ? `approvals?limit=${limit}` : null, { keep: true, when: changed });
  const one = useData<Approval>(path[1] ? `approvals/${part(path[1])}` : null, { when: changed });
  const classed = useClasses(one.data ? [one.data] : pending.data ?? []);
  const [asked, setAsked] = useState('Notification' in window ? Notification.permission : 'denied');
  if (path[1]) {
    return (
      <div class="stack narrow">
        <p><a href={href('approvals')}>← All approvals</a></p>
        {one.data ? <ApprovalCard approval={classed(one.data)} onDone={one.reload} open /> : one.error ? <Fault error={one.error} /> : <p class="muted">Loading…</p>}
      </div>
    );
  }
  const old = (past.data ?? []).filter((a) => a.status !== 'pending');
  return (
    <div class="stack">
      <div class="toolbar">
        <Segmented label="Which" value={tab} onValue={setTab} options={[['pending', `Waiting${pending.data?.length ? ` ${pending.data.length}` : ''}`], ['past', 'Decided']]} />
        <div class="spacer" />
        {asked === 'default' ? <Button small title="A notification of the browser for each new call that waits, from any view of the console" onClick={async () => setAsked(await Notification.requestPermission())}>Notify me</Button> : null}
      </div>
      {tab === 'pending' ? (
        <>
          {pending.error ? <Fault error={pending.error} retry={pending.reload} /> : null}
          {pending.data?.length ? <div class="cards">{pending.data.map((a) => <ApprovalCard key={a.id} approval={classed(a)} onDone={pending.reload} />)}</div>
            : pending.data ? <Panel><Empty title="Nothing waits for a person">Calls that a policy sends to approval appear here as they are made.</Empty></Panel> : pending.error ? null : <p class="muted">Loading…</p>}
        </>
      ) : (
        <Panel flush>
          {old.length ? <Table cards label="Decided approvals" rows={old} keyOf={(a) => a.id} onRow={(a) => go(`approvals/${part(a.id)}`)} columns={[
            { head: 'Call', class: 'grow', cell: (a) => <strong><Text value={a.server ? `${a.server} · ${a.tool}` : a.tool} /></strong> },
            { head: 'Asked', cell: (a) => <Time at={a.created_at} /> },
            { head: 'Who', cell: (a) => <Text value={a.identity} /> },
            { head: 'State', cell: (a) => <><State name={a.status} />{a.repeat_until ? <> <span class="muted">until <Time at={a.repeat_until} /></span></> : null}{a.stale ? <Badge tone="approve">stale</Badge> : null}</> },
            { head: 'By', cell: (a) => (a.decided_by ? <Text value={a.decided_by} /> : null) },
            { head: 'Note', cell: (a) => <Text value={a.note ?? ''} />, hide: 'phone' },
          ]} /> : past.data ? <Empty title="Nothing has been decided yet">Approvals that were decided, used or expired are listed here.</Empty> : past.error ? <Fault error={past.error} retry={past.reload} /> : <p class="muted pad">Loading…</p>}
          {past.data?.length === limit && limit < 1000 ? <div class="more-rows"><Button onClick={() => setLimit(limit + 100)}>Older ones</Button></div> : null}
        </Panel>
      )}
    </div>
  );
}
