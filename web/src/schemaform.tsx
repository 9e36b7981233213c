// A form from a JSON Schema: what a person can fill in is fields, everything else is JSON.
import { useState } from 'preact/hooks';
import { json, plain } from './format';
import { Field, Input, Select } from './ui';

const typeOf = (schema: any): string => {
  const type = Array.isArray(schema?.type) ? schema.type.find((t: string) => t !== 'null') : schema?.type;
  return schema?.enum ? 'enum' : type ?? 'any';
};

function Json({ label, hint, value, onValue }: { label: string; hint?: string; value: unknown; onValue: (v: unknown) => void }) {
  const [text, setText] = useState(value === undefined ? '' : json(value));
  const [bad, setBad] = useState(false);
  const change = (next: string) => {
    setText(next);
    if (!next.trim()) { setBad(false); onValue(undefined); return; }
    try { onValue(JSON.parse(next)); setBad(false); } catch { setBad(true); }
  };
  return <Field label={label} hint={hint} error={bad ? 'This is not JSON yet.' : undefined}><textarea class="input mono" rows={3} value={text} onInput={(e) => change(e.currentTarget.value)} spellcheck={false} /></Field>;
}

function One({ name, schema, required, value, onValue }: { name: string; schema: any; required: boolean; value: unknown; onValue: (v: unknown) => void }) {
  const label = `${plain(name)}${required ? ' *' : ''}`;
  const hint = schema?.description ? plain(schema.description).slice(0, 300) : undefined;
  switch (typeOf(schema)) {
    case 'string':
      return <Field label={label} hint={hint}>{(schema.maxLength ?? 0) > 200 || /content|text|code|body|query|sql/i.test(name)
        ? <textarea class="input mono" rows={3} value={String(value ?? '')} onInput={(e) => onValue(e.currentTarget.value || (required ? '' : undefined))} />
        : <Input value={String(value ?? '')} onValue={(v) => onValue(v || (required ? '' : undefined))} placeholder={schema.default !== undefined ? String(schema.default) : undefined} />}</Field>;
    case 'integer': case 'number':
      return <Field label={label} hint={hint}><Input type="number" step={typeOf(schema) === 'integer' ? 1 : 'any'} value={value === undefined ? '' : String(value)} onValue={(v) => onValue(v === '' ? undefined : Number(v))} placeholder={schema.default !== undefined ? String(schema.default) : undefined} /></Field>;
    case 'boolean':
      return <Field label={label} hint={hint}><Select value={value === undefined ? '' : String(value)} onValue={(v) => onValue(v ? v === 'true' : undefined)} options={[['', 'not given'], ['true', 'yes'], ['false', 'no']]} /></Field>;
    case 'enum':
      return <Field label={label} hint={hint}><Select value={value === undefined ? '' : JSON.stringify(value)} onValue={(v) => onValue(v ? JSON.parse(v) : undefined)} options={[['', 'not given'], ...schema.enum.map((x: unknown): [string, string] => [JSON.stringify(x), plain(x)])]} /></Field>;
    default:
      return <Json label={`${label} (JSON)`} hint={hint} value={value} onValue={onValue} />;
  }
}

export function SchemaForm({ schema, value, onValue }: { schema: any; value: Record<string, unknown>; onValue: (v: Record<string, unknown>) => void }) {
  const properties = schema?.properties && typeof schema.properties === 'object' ? Object.entries<any>(schema.properties) : [];
  const required: string[] = Array.isArray(schema?.required) ? schema.required : [];
  if (!properties.length) return <Json label="Arguments (JSON)" value={value} onValue={(v) => onValue((v ?? {}) as Record<string, unknown>)} />;
  const set = (name: string, v: unknown) => { const next = { ...value }; if (v === undefined) delete next[name]; else next[name] = v; onValue(next); };
  return <>{properties.map(([name, one]) => <One key={name} name={name} schema={one} required={required.includes(name)} value={value[name]} onValue={(v) => set(name, v)} />)}</>;
}
