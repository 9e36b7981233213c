// What a tool answers: text, pictures and pages. Whatever made it, nothing in it can run here.
import { useState } from 'preact/hooks';
import { Button, Code, Text } from './ui';

export interface Item { type: string; text?: string; mimeType?: string; data?: string; uri?: string; name?: string; resource?: { uri?: string; mimeType?: string; text?: string } }

// Formats that are only pixels. A vector image is text here.
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const isPicture = (c: Item) => c.type === 'image' && PICTURES.includes(c.mimeType ?? '') && /^[A-Za-z0-9+/]+={0,2}$/.test(c.data ?? '');
const isPage = (c: Item) => c.type === 'resource' && c.resource?.mimeType === 'text/html' && typeof c.resource.text === 'string';

// A frame without permissions: no scripts, no forms, an origin of its own; it inherits the console's policy, so that it loads nothing.
function Page({ html, number }: { html: string; number: number }) {
  const [source, setSource] = useState(false);
  return (
    <div class="stack tight" data-preview>
      <div class="row"><span class="muted small">HTML preview; scripts, styles and links in it have no effect</span><div class="spacer" /><Button small tone="ghost" pressed={source} onClick={() => setSource(!source)}>Source</Button></div>
      {source ? <Code value={html} /> : <iframe class="preview" sandbox="" srcdoc={html} title={`HTML preview ${number}`} referrerpolicy="no-referrer" />}
    </div>
  );
}

function One({ item: c, number }: { item: Item; number: number }) {
  if (isPicture(c)) return <img class="picture" src={`data:${c.mimeType};base64,${c.data}`} alt={`Picture ${number} of the answer`} />;
  if (isPage(c)) return <Page html={c.resource!.text!} number={number} />;
  if (c.type === 'text') return <Code value={c.text ?? ''} />;
  if (c.type === 'resource_link') return <p><span class="muted">File</span> <code><Text value={c.name ?? c.uri ?? ''} /></code></p>;
  return <Code value={c.data && c.data.length > 400 ? { ...c, data: `${c.data.length} characters of base64` } : c} />;
}

export const Contents = ({ items }: { items: Item[] }) => <>{items.map((c, i) => <One key={i} item={c} number={i + 1} />)}</>;
// Pictures, pages and files only: where the texts are shown in another way.
export const Previews = ({ items }: { items: Item[] | undefined }) => <Contents items={(items ?? []).filter((c) => c.type !== 'text')} />;
