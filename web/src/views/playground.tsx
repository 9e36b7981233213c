// One call, made as an agent would make it.
import { useEffect, useState } from 'preact/hooks';
import { part, post, type Grant, type Server, type Tool } from '../api';
import { duration, json } from '../format';
import { go, href, useData, useMay, usePlace } from '../state';
import { Badge, Button, Code, Empty, Fault, Field, Notice, Panel, Select, Text, Verdict } from '../ui';
import { SchemaForm } from '../schemaform';

interface Result { verdict: string; rule?: string; text?: string; call?: number; result?: any; error?: string; approval_id?: string; latency_us?: number }

export function Playground() {
  const { query: q } = usePlace();
  const admin = useMay();
  const servers = useData<Server[]>('servers');
  const server = q.get('server') ?? '';
  const name = q.get('tool') ?? '';
  const tools = useData<Tool[]>(server ? `servers/${part(server)}/tools` : null);
  const grants = useData<Grant[]>(admin ? 'grants' : null);
  const [grant, setGrant] = useState('');
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [raw, setRaw] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Result | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const tool = tools.data?.find((t) => t.name === name);
  useEffect(() => { setValues({}); setRaw(null); setAnswer(null); }, [server, name]);
  useEffect(() => { if (!server && servers.data?.length) go(`playground?server=${part(servers.data[0].name)}`, true); }, [servers.data]);
  const call = async (dry: boolean) => {
    setError(null);
    setAnswer(null);
    try {
      const args = raw === null ? values : JSON.parse(raw);
      setAnswer(await post<Result>('playground', { server, tool: name, arguments: args, ...(grant && { grant }), ...(dry && { dry_run: true }) }));
    } catch (e) { setError(e as Error); }
  };
  const content = answer?.result?.content as { type: string; text?: string }[] | undefined;
  return (
    <div class="columns wide-right">
      <Panel title="Call">
        <div class="form">
          <Field label="As" hint="The call is judged, limited and recorded as this grant's."><Select value={grant} onValue={setGrant} options={[['', 'yourself'], ...(grants.data ?? []).filter((g) => g.state === 'active').map((g): [string, string] => [g.name, g.label ? `${g.name} (${g.label})` : g.name])]} /></Field>
          <Field label="Server"><Select value={server} onValue={(v) => go(`playground?server=${part(v)}`, true)} options={(servers.data ?? []).map((s) => s.name)} /></Field>
          <Field label="Tool"><Select value={name} onValue={(v) => go(`playground?server=${part(server)}&tool=${part(v)}`, true)} options={[['', tools.data?.length ? 'Choose a tool' : 'No tools are known yet'], ...(tools.data ?? []).map((t): [string, string] => [t.name, t.name]).sort()]} /></Field>
          {tool?.description ? <p class="muted says"><Text value={tool.description} /></p> : null}
          {tool ? (
            raw === null ? <><SchemaForm schema={tool.schema ?? { type: 'object' }} value={values} onValue={(v) => setValues(v as Record<string, unknown>)} /><Button small tone="ghost" onClick={() => setRaw(json(values))}>Write JSON instead</Button></>
              : <><Field label="Arguments (JSON)"><textarea class="input mono" rows={10} value={raw} onInput={(e) => setRaw(e.currentTarget.value)} spellcheck={false} /></Field><Button small tone="ghost" onClick={() => { try { setValues(JSON.parse(raw)); setRaw(null); } catch { setError(new Error('This is not JSON yet.')); } }}>Back to the form</Button></>
          ) : null}
          <div class="row"><Button tone="primary" disabled={!tool} onClick={() => call(false)}>Call it</Button><Button disabled={!tool} onClick={() => call(true)}>Only ask the policy</Button></div>
        </div>
      </Panel>
      <Panel title="Answer">
        {error ? <Fault error={error} /> : null}
        {answer ? (
          <div class="stack">
            <div class="row"><Verdict verdict={answer.verdict} />{answer.rule ? <span class="muted"><Text value={answer.rule} /></span> : null}{answer.latency_us !== undefined ? <Badge>{duration(answer.latency_us)}</Badge> : null}{answer.call ? <a href={href(`activity?parent=${answer.call}&range=`)}>On record</a> : null}</div>
            {answer.text ? <p class="says"><Text value={answer.text} /></p> : null}
            {answer.error ? <Notice tone="deny"><Text value={answer.error} /></Notice> : null}
            {answer.approval_id ? <Notice tone="approve" action={<a class="button small" href={href(`approvals/${part(answer.approval_id)}`)}>Look</a>}>The call waits for a person.</Notice> : null}
            {content?.map((c, i) => (c.type === 'text' ? <Code key={i} value={c.text ?? ''} /> : <Code key={i} value={c} />))}
            {answer.result && !content ? <Code value={answer.result} /> : null}
            {answer.result?.structuredContent ? <><h3>Structured content</h3><Code value={answer.result.structuredContent} /></> : null}
          </div>
        ) : error ? null : <Empty title="No answer yet">The call goes the way of every call: policy, limits, approval, audit.</Empty>}
      </Panel>
    </div>
  );
}
