// The snippets of tests/code/snippets: pieces of code as agents write them, one file a language, each with a name.
import { readFileSync } from 'node:fs';

const here = new URL('./snippets/', import.meta.url);
const files = { python: ['python.py', '#### '], javascript: ['javascript.js', '//// '], typescript: ['typescript.ts', '//// '] };
export const languages = Object.keys(files);
export const extension = { python: 'py', javascript: 'js', typescript: 'ts' };
export const expectedFile = new URL('expected.json', here);

// [{ name, code }]
export function snippets(language) {
  const [file, mark] = files[language];
  return readFileSync(new URL(file, here), 'utf8').split(`\n${mark}`).map((text, i) => {
    const [name, ...lines] = (i === 0 ? text.slice(mark.length) : text).split('\n');
    return { name, code: `${lines.join('\n').trimEnd()}\n` };
  });
}
