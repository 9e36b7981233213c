// The text of a policy or of settings. It lives in a shadow root: there the editor's styles are sheets of its own, which a content
// security policy without inline styles allows.
import { autocompletion, closeBrackets, completionKeymap, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, defaultHighlightStyle, foldGutter, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import policySchema from '../../schemas/policy.schema.json';
import type { Problem } from './api';
import { highlighting } from './highlight';

export type Language = 'yaml' | 'json' | `code:${string}`; // code: and the name of its language
export interface Editor { text: () => string; setText: (text: string) => void; setProblems: (all: Problem[]) => void; setNames: (names: string[]) => void; destroy: () => void }

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent-text)' },
  { tag: tags.keyword, color: 'var(--accent-text)' },
  { tag: tags.string, color: 'var(--allow)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--approve)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
]);

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', backgroundColor: 'var(--surface)', color: 'var(--text)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--selection) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  // Without the pictures in data: addresses that are the default and that the page's policy forbids.
  '.cm-lint-marker': { content: 'normal', width: '.6em', height: '.6em', borderRadius: '50%', margin: '.5em .2em' },
  '.cm-lint-marker-error': { content: 'normal', backgroundColor: 'var(--deny)' },
  '.cm-lint-marker-warning, .cm-lint-marker-info': { content: 'normal', backgroundColor: 'var(--approve)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--deny)' },
  '.cm-lintRange-warning, .cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline wavy var(--approve)' },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)' },
});

// ---- completion from the schema ----

const resolve = (schema: any): any => (schema?.$ref ? resolve((policySchema as any).$defs[schema.$ref.split('/').at(-1)]) : schema);
function branches(schema: any): any[] {
  const one = resolve(schema);
  if (!one || typeof one !== 'object') return [];
  return [one, ...[...(one.anyOf ?? []), ...(one.oneOf ?? []), ...(one.allOf ?? [])].flatMap(branches)];
}
const step = (schemas: any[], key: string | null): any[] => schemas.flatMap((s) => (key === null ? branches(s.items) : [...branches(s.properties?.[key]), ...(s.properties?.[key] ? [] : branches(typeof s.additionalProperties === 'object' ? s.additionalProperties : undefined)), ...(s.properties?.[key] ? [] : Object.values<any>(s.patternProperties ?? {}).flatMap(branches))]));

// The keys above this line, by indentation; a dash is a step into a list.
function pathAt(state: EditorState, pos: number): (string | null)[] {
  const line = state.doc.lineAt(pos);
  let indent = line.text.search(/[^\s-]|$/);
  const path: (string | null)[] = [];
  const dashes = (text: string) => (/^\s*(- )+/.exec(text)?.[0].match(/-/g) ?? []).length;
  for (let i = 0; i < dashes(line.text); i++) path.unshift(null);
  let dashAt = dashes(line.text) ? line.text.indexOf('-') : Infinity;
  for (let n = line.number - 1; n > 0; n--) {
    const { text } = state.doc.line(n);
    if (/^\s*(#|$)/.test(text)) continue;
    const at = text.search(/[^\s-]|$/);
    const own = text.search(/\S/);
    if (own >= Math.min(indent, dashAt) && !(dashAt !== Infinity && at === dashAt && !dashes(text))) continue;
    const key = /^[\s-]*"?([^":]+)"?\s*:/.exec(text)?.[1];
    if (key === undefined) continue;
    path.unshift(key);
    for (let i = 0; i < dashes(text); i++) path.unshift(null);
    indent = own;
    dashAt = dashes(text) ? own : Infinity;
  }
  return path;
}

function completer(names: () => string[]) {
  return (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/[\w@*./-]*/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const before = context.state.doc.lineAt(context.pos).text.slice(0, word.from - context.state.doc.lineAt(context.pos).from);
    const path = pathAt(context.state, context.pos);
    const here = path.reduce(step, branches(policySchema));
    const value = /([\w]+)"?\s*:\s*["\[]?[^,{]*$/.exec(before)?.[1];
    const options = value
      ? step(here, value).flatMap((s) => [...(s.enum ?? []), ...(s.const !== undefined ? [s.const] : []), ...(s.type === 'boolean' ? [true, false] : [])]).map((v) => ({ label: String(v), type: 'constant' }))
      : here.flatMap((s) => Object.entries<any>(s.properties ?? {})).map(([label, s]) => ({ label, type: 'property', apply: `${label}: `, info: resolve(s)?.description }));
    if (path.at(-1) === 'tools' || path.at(-1) === 'hide' || value === 'hide') options.push(...names().map((label) => ({ label, type: 'function', apply: value || path.at(-1) === 'hide' ? label : `${label}:` } as any)));
    const unique = [...new Map(options.map((o) => [o.label, o])).values()];
    return unique.length ? { from: word.from, options: unique, validFor: /^[\w@*./-]*$/ } : null;
  };
}

// Replaces a selection itself: the browser would keep the look of the replaced text in a style attribute, which the page's policy forbids.
// Brackets and quotes around a selection are left to closeBrackets.
const replacing = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== 'insertText' || !event.data || view.composing || view.state.readOnly || view.state.selection.main.empty || /^[([{'"`]$/.test(event.data)) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

export function edit(host: HTMLElement, text: string, language: Language, label: string, readOnly: boolean, changed: (text: string) => void): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const code = language.startsWith('code:') ? language.slice('code:'.length) : null;
  let names: string[] = [];
  let isOurs = false; // the text is being set, not typed
  const writable = new Compartment();
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), foldGutter(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightActiveLine(), highlightSelectionMatches(), search({ top: true }), lintGutter(),
        indentUnit.of(code ? '    ' : '  '), language === 'json' ? json() : language === 'yaml' ? yaml() : highlighting(code!), syntaxHighlighting(colours), syntaxHighlighting(defaultHighlightStyle, { fallback: true }), look, replacing,
        code ? [] : autocompletion({ override: [completer(() => names)] }), keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ 'aria-label': label }), writable.of(EditorState.readOnly.of(readOnly)),
        EditorView.updateListener.of((update) => { if (update.docChanged && !isOurs) changed(update.state.doc.toString()); }),
      ],
    }),
  });
  view.scrollDOM.tabIndex = 0; // long lines scroll by keyboard, too
  return {
    text: () => view.state.doc.toString(),
    setText: (next) => {
      if (next === view.state.doc.toString()) return;
      isOurs = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      isOurs = false;
    },
    setProblems: (all) => {
      const { doc } = view.state;
      const found: Diagnostic[] = all.filter((p) => p.line && p.line <= doc.lines).map((p) => {
        const line = doc.line(p.line!);
        const from = Math.min(line.to, line.from + Math.max(0, (p.column ?? 1) - 1));
        return { from, to: line.to, severity: p.severity, message: p.hint ? `${p.text}; ${p.hint}` : p.text };
      });
      view.dispatch(setDiagnostics(view.state, found));
    },
    setNames: (next) => { names = next; },
    destroy: () => view.destroy(),
  };
}
