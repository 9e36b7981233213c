// Every condition that a policy looked at, as a tree.
import { useState } from 'preact/hooks';
import { get, part, post, query, type Policy, type Record_ } from './api';
import { OP_NAMES } from './board';
import { duration, outcomeName } from './format';
import { href, useData } from './state';
import { Badge, Button, Text, Verdict } from './ui';

export interface Line { kind: string; depth: number; what?: string; path?: string; op?: string; want?: string; got?: string; answer: string }
export interface Explanation { verdict: string; rule?: string; text?: string; trace?: Line[] }
const said = (l: Line) => (l.kind === 'condition' ? `${l.path} ${OP_NAMES[l.op ?? ''] ?? l.op} ${l.want ?? ''} (${l.got ?? 'absent'})` : l.kind === 'limit' ? `limit ${l.what}: counts ${l.got ?? 1}` : l.what ?? l.kind);

export const Explained = ({ answer }: { answer: Explanation }) => (
  <div class="stack tight" data-answer><div class="row"><Verdict verdict={answer.verdict} />{answer.rule ? <span><Text value={answer.rule} /></span> : null}</div>{answer.text ? <p class="says"><Text value={answer.text} /></p> : null}
    <ul class="trace">{(answer.trace ?? []).map((l, i) => <li key={i} data-depth={Math.min(l.depth, 6)}><span><Text value={said(l)} /></span><Badge tone={l.answer === 'yes' || l.answer === 'passes' ? 'allow' : l.answer === 'no' || l.answer === 'denies' ? 'deny' : 'quiet'}>{l.answer}</Badge></li>)}</ul></div>
);

// A call on record, judged by the policy that is in force now.
export function Explain({ record: r }: { record: Record_ }) {
  const [answer, setAnswer] = useState<Explanation | null>(null);
  const ask = async () => {
    const policies = (await get<Policy[]>('policies')).filter((p) => p.id);
    const named = policies.filter((p) => p.name === r.policy); // a grant may have a policy of its own
    const one = named.find((p) => p.server === r.server) ?? named[0] ?? policies.find((p) => p.server === r.server) ?? policies[0];
    if (!one) throw new Error('No policy file is in force.');
    const { text } = await get<{ text: string }>(`policies/${part(one.id!)}`);
    setAnswer(await post<Explanation>('policies/explain', { policy_text: text, tool: r.tool, ...(r.server && { server: r.server }), ...(r.grant && { grant: r.grant }), ...(r.class && { class: r.class }), arguments: r.args as Record<string, unknown> }));
  };
  return answer ? <><h3>By the policy of today</h3><Explained answer={answer} /></> : <div class="row"><Button small onClick={ask}>Explain</Button><span class="muted small">by the policy that is in force now</span></div>;
}

// The calls that code made, from the log.
export function InnerCalls({ call, except }: { call: number; except?: number }) {
  const inner = useData<Record_[]>(`audit${query({ parent: call, limit: 100 })}`, { when: (r) => r.parent === call });
  const calls = (inner.data ?? []).filter((x) => x.seq !== except && x.parent === call && x.kind === 'decision').reverse();
  if (!calls.length) return null;
  return <><h3>Calls made by this run</h3><ul class="plain-list" data-inner>{calls.map((x) => <li key={x.seq}><Verdict verdict={x.verdict} /> <a href={href(`activity${query({ parent: call, seq: x.seq })}`)}><Text value={`${x.server ?? ''} · ${x.tool ?? x.method}`} /></a>{x.outcome ? <span class="muted"> {outcomeName(x.outcome.status)}, {duration(x.outcome.latency_us)}</span> : null}</li>)}</ul></>;
}
