// The kill switch: stops everything, one server or one grant immediately.
import { useState } from 'preact/hooks';
import { post, send, part, type Grant, type Server, type Stop } from '../api';
import { useData, useMay, href } from '../state';
import { Badge, Button, Check, Dialog, Empty, Fault, Field, Input, Panel, Select, Table, Text, Time, toast } from '../ui';

const about = (s: Stop) => (s.scope === 'all' ? 'everything' : `${s.scope} ${s.name}`);
// A server that was added and not trusted yet is stopped by the gate itself.
export const isNew = (s: Stop) => s.scope === 'server' && !!s.reason?.startsWith('new server');
const stopped = (r: { event?: string }) => ['stopped', 'resumed', 'server_added', 'server_removed'].includes(r.event ?? '');

export function StopBanner() {
  const { data } = useData<Stop[]>('stops', { paged: true, every: 15_000, when: stopped });
  const held = !!data?.some(isNew);
  const servers = useData<Server[]>(held ? 'servers' : null, { paged: true, every: 15_000, when: stopped });
  if (!data?.length) return null;
  const there = (s: Stop) => !!servers.data?.some((x) => x.name === s.name); // one that was removed needs no review
  const all = data.find((s) => s.scope === 'all');
  const stops = data.filter((s) => !isNew(s)), fresh = data.filter((s) => isNew(s) && there(s));
  const first = all ?? stops[0];
  return (
    <>
      {first ? (
        <div class="stop-banner" role="alert">
          <strong>{all ? 'Everything is stopped.' : <>Stopped: <Text value={stops.map(about).join(', ')} />.</>}</strong>
          <span>{first.reason ? <>“<Text value={first.reason} />” </> : null}<span class="by">by <Text value={first.by} />, <Time at={first.at} relative /></span></span>
          <a class="button small" href={href('stops')}>Kill switch</a>
        </div>
      ) : null}
      {fresh.length && !all ? (
        <div class="stop-banner approve" role="status">
          <span>{fresh.length === 1 ? <>The server <strong><Text value={fresh[0].name} /></strong> is new. Agents cannot call it before an operator trusts it.</> : <>New servers that are not trusted yet: <strong><Text value={fresh.map((s) => s.name).join(', ')} /></strong></>}</span>
          <a class="button small" href={href(fresh.length === 1 ? `servers/${part(fresh[0].name!)}?tab=scan` : 'servers')}>Review</a>
        </div>
      ) : null}
    </>
  );
}

export function StopDialog({ scope, name, onClose }: { scope: Stop['scope']; name?: string; onClose: (done: boolean) => void }) {
  const [reason, setReason] = useState('');
  const [cancel, setCancel] = useState(true);
  const stop = async () => {
    await post<Stop>('stops', { scope, ...(name && { name }), ...(reason && { reason }), cancel });
    toast(`Stopped ${about({ scope, name } as Stop)}.`, 'deny');
    onClose(true);
  };
  return (
    <Dialog title={`Stop ${about({ scope, name } as Stop)}`} onClose={() => onClose(false)}
      footer={<><Button onClick={() => onClose(false)}>Cancel</Button><Button tone="danger" onClick={stop}>Stop now</Button></>}>
      <p>Every call {scope === 'all' ? 'at this gate' : scope === 'server' ? 'to this server' : 'under this grant'} is refused from now on, in every process of this home, until somebody resumes. It goes on record with your name.</p>
      <Field label="Why" hint="Agents read it in the refusal."><Input value={reason} onValue={setReason} maxLength={170} /></Field>
      <Check checked={cancel} onChange={setCancel}>Cancel calls in flight, too</Check>
    </Dialog>
  );
}

export function Stops() {
  const stops = useData<Stop[]>('stops', { paged: true, every: 15_000, when: stopped });
  const servers = useData<Server[]>('servers', { paged: true });
  const admin = useMay();
  const grants = useData<Grant[]>(admin ? 'grants' : null, { paged: true });
  const [asking, ask] = useState<{ scope: Stop['scope']; name?: string } | null>(null);
  const [server, setServer] = useState('');
  const [grant, setGrant] = useState('');
  const resume = async (s: Stop) => { await send('DELETE', `stops/${part(s.id)}`); toast(`Resumed ${about(s)}.`); await stops.reload(); };
  const everything = stops.data?.some((s) => s.scope === 'all');
  return (
    <div class="stack">
      {stops.error ? <Fault error={stops.error} retry={stops.reload} /> : null}
      <Panel title="Stop everything">
        <div class="killswitch">
          <p>Refuses every call of every agent at once: in all processes, also after a restart, until somebody resumes.</p>
          {everything ? <Badge tone="deny">stopped</Badge> : <Button tone="danger" disabled={!admin} title={admin ? undefined : 'This needs the role admin'} onClick={() => ask({ scope: 'all' })}>Stop everything…</Button>}
        </div>
      </Panel>
      <div class="columns">
        <Panel title="Stop one server"><div class="killswitch one">
          <Select label="Server" value={server} onValue={setServer} options={[['', 'Choose a server'], ...(servers.data ?? []).map((s): [string, string] => [s.name, s.name])]} />
          <Button tone="danger" disabled={!server || !admin} onClick={() => ask({ scope: 'server', name: server })}>Stop…</Button></div>
        </Panel>
        <Panel title="Stop one grant"><div class="killswitch one">
          <Select label="Grant" value={grant} onValue={setGrant} options={[['', admin ? 'Choose a grant' : 'Needs the role admin'], ...(grants.data ?? []).filter((g) => g.state === 'active').map((g): [string, string] => [g.name, g.label || g.name])]} />
          <Button tone="danger" disabled={!grant || !admin} onClick={() => ask({ scope: 'grant', name: grant })}>Stop…</Button></div>
        </Panel>
      </div>
      <Panel title="In force" flush>
        {stops.data?.length ? (
          <Table cards label="Stops in force" rows={stops.data} keyOf={(s) => s.id} columns={[
            { head: 'What', cell: (s) => <strong><Text value={about(s)} /></strong> },
            { head: 'Why', cell: (s) => (s.reason ? <Text value={s.reason} /> : <span class="muted">no reason given</span>) },
            { head: 'By', cell: (s) => <Text value={s.by} /> },
            { head: 'Since', cell: (s) => <Time at={s.at} relative /> },
            { head: '', class: 'end', cell: (s) => <Button small tone="primary" disabled={!admin} onClick={() => resume(s)}>Resume</Button> },
          ]} />
        ) : <Empty title="Nothing is stopped">The command line does the same: <code>sallyport stop-all</code>, <code>stop SERVER</code>, <code>stop-grant NAME</code>, <code>resume</code>.</Empty>}
      </Panel>
      {asking ? <StopDialog {...asking} onClose={(done) => { ask(null); if (done) stops.reload(); }} /> : null}
    </div>
  );
}
