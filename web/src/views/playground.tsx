// One call, made as an agent would make it.
import { useEffect, useState } from 'preact/hooks';
import { part, post, type Grant, type Server, type Tool } from '../api';
import { duration, json, plain } from '../format';
import { go, href, useData, useMay, usePlace } from '../state';
import { TextEditor } from '../texteditor';
import { Explained, InnerCalls, type Line } from '../trace';
import { Contents, Previews, type Item } from '../content';
import { Badge, Button, Code, Empty, Fault, Field, Input, Notice, Panel, Segmented, Select, Text, Verdict } from '../ui';
import { SchemaForm } from '../schemaform';

interface Result { verdict: string; rule?: string; text?: string; call?: number; result?: any; error?: string; approval_id?: string; latency_us?: number; trace?: Line[] }

// Code in the built-in server's sandbox, as an agent would run it.
interface Ran { success?: boolean; result?: unknown; output?: string[]; error?: string; traceback?: string; execution_time_ms?: number; exit?: string; tool_calls?: number }
const SAMPLES: Record<string, string> = { python: 'import math\nprint(search_tools("files"))\nresult = math.sqrt(2)\n', typescript: 'const found = await searchTools("files");\nconsole.log(found);\nreturn Math.sqrt(2);\n', sql: '-- a table is a file of the workspace: sales is sales.csv\nSELECT date() AS today;\n', bash: 'echo "lines: $(seq 3 | wc -l)"\n' };
const LANGUAGES: [string, string][] = [['python', 'Python'], ['typescript', 'TypeScript'], ['sql', 'SQL'], ['bash', 'bash']];

function RunCode({ server, tool, grants }: { server: string; tool: Tool; grants: Grant[] }) {
  const [language, setLanguage] = useState('python');
  const [texts, setTexts] = useState<Record<string, string>>(SAMPLES);
  const [grant, setGrant] = useState('');
  const [seconds, setSeconds] = useState('30');
  const [answer, setAnswer] = useState<Result | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const known = Object.keys(tool.schema?.properties ?? {});
  useInView('answer', answer, error);
  const run = async () => {
    setError(null);
    setAnswer(null);
    const args = { code: texts[language], ...(known.includes('language') && { language }), ...(known.includes('timeout_seconds') && { timeout_seconds: Number(seconds) || 30 }) };
    try { setAnswer(await post<Result>('playground', { server, tool: tool.name, arguments: args, ...(grant && { grant }) })); } catch (e) { setError(e as Error); }
  };
  const ran = answer?.result?.structuredContent as Ran | undefined;
  return (
    <div class="columns wide-right">
      <Panel title="Code">
        <div class="form">
          <div class="row fields">
            {known.includes('language') ? <Segmented label="Language" value={language} onValue={setLanguage} options={LANGUAGES.filter(([name]) => tool.schema?.properties?.language?.enum?.includes(name) ?? ['python', 'typescript'].includes(name))} /> : null}
            <Field label="As"><Select value={grant} onValue={setGrant} options={[['', 'Yourself'], ...grants.filter((g) => g.state === 'active').map((g): [string, string] => [g.name, g.name])]} /></Field>
            {known.includes('timeout_seconds') ? <Field label="Seconds at most"><Input type="number" min={1} value={seconds} onValue={setSeconds} /></Field> : null}
          </div>
          <TextEditor key={language} text={texts[language]} language={`code:${language}`} label="Code" readOnly={false} problems={[]} names={[]} onText={(text) => setTexts((all) => ({ ...all, [language]: text }))} />
          <div class="row"><Button tone="primary" onClick={run} disabled={!texts[language].trim()}>Run it</Button><span class="muted small">Calls of tools from code go through the same policy.</span></div>
        </div>
      </Panel>
      <Panel title="Result" id="answer">
        {error ? <Fault error={error} /> : null}
        {answer ? (
          <div class="stack" data-ran>
            <div class="row"><Verdict verdict={answer.verdict} />{ran ? <Badge tone={ran.success ? 'allow' : 'deny'}>{ran.exit ?? (ran.success ? 'ok' : 'error')}</Badge> : null}{ran?.execution_time_ms !== undefined ? <Badge>{duration(Math.round(ran.execution_time_ms * 1000))}</Badge> : null}{answer.call ? <a href={href(`activity?parent=${answer.call}&range=`)}>On record</a> : null}</div>
            {answer.error ? <Notice tone="deny"><Text value={answer.error} /></Notice> : null}
            {ran?.result !== undefined && ran.result !== null ? <><h3>Value</h3><Code value={ran.result} /></> : null}
            {ran?.output?.length ? <><h3>Output</h3><Code value={Array.isArray(ran.output) ? ran.output.join('\n') : ran.output} /></> : null}
            {ran?.error ? <><h3>Error</h3><Code value={ran.traceback || ran.error} /></> : null}
            {ran ? <Previews items={answer.result.content} /> : answer.result ? <Content result={answer.result} /> : null}
            {answer.call ? <InnerCalls key={answer.call} call={answer.call} /> : null}
          </div>
        ) : error ? null : <Empty title="Nothing has run yet">The code runs in a fresh sandbox of the built-in server.</Empty>}
      </Panel>
    </div>
  );
}

function Content({ result }: { result: any }) {
  const content = result.content as Item[] | undefined;
  return (
    <>
      {content ? <Contents items={content} /> : <Code value={result} />}
      {result.structuredContent ? <><h3>Structured content</h3><Code value={result.structuredContent} /></> : null}
    </>
  );
}

// The tool of the built-in server that runs code, whatever its profile calls it.
const runs = (tools: Tool[] | undefined) => tools?.find((t) => t.name === 'execute_code') ?? tools?.find((t) => t.schema?.properties?.code?.type === 'string');

export function Playground() {
  const { path } = usePlace();
  const admin = useMay();
  const servers = useData<Server[]>('servers', { paged: true });
  const builtin = servers.data?.find((s) => s.transport === 'builtin');
  const tools = useData<Tool[]>(builtin ? `servers/${part(builtin.name)}/tools` : null, { paged: true });
  const grants = useData<Grant[]>(admin ? 'grants' : null, { paged: true });
  const code = path[1] === 'code';
  const tool = runs(tools.data);
  if (!admin) return <Panel><Empty title="The playground needs the role admin">It calls tools for real. Policies can be tried under Policies.</Empty></Panel>;
  return (
    <div class="stack">
      {builtin ? <div class="toolbar"><Segmented label="What to try" value={code ? 'code' : 'call'} onValue={(v) => go(v === 'code' ? 'playground/code' : 'playground')} options={[['call', 'Call a tool'], ['code', 'Run code']]} /></div> : null}
      {!code ? <CallTool /> : tool ? <RunCode server={builtin!.name} tool={tool} grants={grants.data ?? []} />
        : <Panel><Empty title={servers.data && !builtin ? 'The code server is off' : tools.loading || !servers.data ? 'The code server is asked for its tools…' : 'The code server has no tool that runs code'}>{servers.data && !builtin ? <><code>code: {'{enabled: true}'}</code> in sallyport.yaml turns it on.</> : null}</Empty></Panel>}
    </div>
  );
}

// On a narrow screen the answer stands below what was asked, out of view.
const useInView = (id: string, ...answers: unknown[]) => useEffect(() => { if (answers.some(Boolean)) document.getElementById(id)?.scrollIntoView({ block: 'nearest' }); }, answers);

function CallTool() {
  const { query: q } = usePlace();
  const admin = useMay();
  const servers = useData<Server[]>('servers', { paged: true });
  const server = q.get('server') ?? '';
  const name = q.get('tool') ?? '';
  const tools = useData<Tool[]>(server ? `servers/${part(server)}/tools` : null, { paged: true });
  const grants = useData<Grant[]>(admin ? 'grants' : null, { paged: true });
  const [grant, setGrant] = useState('');
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [raw, setRaw] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Result | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const tool = tools.data?.find((t) => t.name === name);
  useInView('answer', answer, error);
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
  return (
    <div class="columns wide-right">
      <Panel title="Call">
        <div class="form">
          <Field label="As" hint={grant ? `The call is judged, limited and recorded as one of ${plain(grant)}.` : 'The call is judged, limited and recorded as yours. Choose a grant to see what its agent would get.'}><Select value={grant} onValue={setGrant} options={[['', 'Yourself'], ...(grants.data ?? []).filter((g) => g.state === 'active').map((g): [string, string] => [g.name, g.label ? `${g.name} (${g.label})` : g.name])]} /></Field>
          <Field label="Server"><Select value={server} onValue={(v) => go(`playground?server=${part(v)}`, true)} options={(servers.data ?? []).map((s) => s.name)} /></Field>
          <Field label="Tool"><Select value={name} onValue={(v) => go(`playground?server=${part(server)}&tool=${part(v)}`, true)} options={[...(name && !tool ? [[name, tools.data ? `${plain(name)}: the server has no such tool` : `${plain(name)}: the server is asked for its tools…`] as [string, string]] : []), ['', tools.data?.length ? 'Choose a tool' : tools.error ? 'No tools are known' : tools.data ? 'It gave no tools' : 'The server is asked for its tools…'], ...(tools.data ?? []).map((t): [string, string] => [t.name, t.name]).sort()]} /></Field>
          {tool?.description ? <p class="muted says"><Text value={tool.description} /></p> : null}
          {tool ? (
            raw === null ? <><SchemaForm schema={tool.schema ?? { type: 'object' }} value={values} onValue={(v) => setValues(v as Record<string, unknown>)} /><Button small tone="ghost" onClick={() => setRaw(json(values))}>Write JSON instead</Button></>
              : <><Field label="Arguments (JSON)"><textarea class="input mono" rows={10} value={raw} onInput={(e) => setRaw(e.currentTarget.value)} spellcheck={false} /></Field><Button small tone="ghost" onClick={() => { try { setValues(JSON.parse(raw)); setRaw(null); } catch { setError(new Error('This is not JSON yet.')); } }}>Back to the form</Button></>
          ) : null}
          <div class="row"><Button tone="primary" disabled={!tool} onClick={() => call(false)}>Call it</Button><Button disabled={!tool} onClick={() => call(true)}>Only ask the policy</Button></div>
        </div>
      </Panel>
      <Panel title="Answer" id="answer">
        {error ? <Fault error={error} /> : null}
        {answer ? (
          <div class="stack">
            {answer.trace ? <Explained answer={answer} /> : <>
            <div class="row"><Verdict verdict={answer.verdict} />{answer.rule ? <span class="muted"><Text value={answer.rule} /></span> : null}{answer.latency_us !== undefined ? <Badge>{duration(answer.latency_us)}</Badge> : null}{answer.call ? <a href={href(`activity?parent=${answer.call}&range=`)}>On record</a> : null}</div>
            {answer.text ? <p class="says"><Text value={answer.text} /></p> : null}</>}
            {!answer.error ? null : answer.approval_id ? <p class="says"><Text value={answer.error} /></p> : <Notice tone="deny"><Text value={answer.error} /></Notice>}
            {answer.approval_id ? <Notice tone="approve" action={<a class="button small" href={href(`approvals/${part(answer.approval_id)}`)}>Look</a>}>The call waits for a person.</Notice> : null}
            {answer.result ? <Content result={answer.result} /> : null}
          </div>
        ) : error ? null : <Empty title="No answer yet">The call goes the way of every call: policy, limits, approval, audit.</Empty>}
      </Panel>
    </div>
  );
}
