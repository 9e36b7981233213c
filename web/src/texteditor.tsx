// A text in the editor, which is a chunk of its own.
import { useEffect, useRef } from 'preact/hooks';
import type { Problem } from './api';
import type { Editor, Language } from './editor';

export function TextEditor({ text, language, label, readOnly, problems, names, onText }: { text: string; language: Language; label: string; readOnly: boolean; problems: Problem[]; names: string[]; onText: (t: string) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef({ text, onText, problems, names });
  latest.current = { text, onText, problems, names };
  const typed = useRef<string[]>([]); // what was typed here and has not come back as `text` yet
  useEffect(() => {
    let gone = false;
    import('./editor').then(({ edit }) => {
      if (gone || !host.current) return;
      editor.current = edit(host.current, latest.current.text, language, label, readOnly, (t) => { typed.current.push(t); latest.current.onText(t); });
      editor.current.setProblems(latest.current.problems);
      editor.current.setNames(latest.current.names);
    });
    return () => { gone = true; editor.current?.destroy(); editor.current = null; };
  }, [language, readOnly]);
  useEffect(() => {
    // An older state of what is being typed must not replace the newer one.
    const at = typed.current.lastIndexOf(text);
    typed.current = typed.current.slice(at + 1);
    if (at < 0) editor.current?.setText(text);
  }, [text]);
  useEffect(() => { editor.current?.setProblems(problems); }, [problems]);
  useEffect(() => { editor.current?.setNames(names); }, [names]);
  return <div class="editor" ref={host} data-editor />;
}
