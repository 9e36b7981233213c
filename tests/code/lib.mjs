// The snippets of tests/code/snippets: pieces of code as agents write them, one file a language, each with a name.
import { readFileSync } from 'node:fs';

const here = new URL('./snippets/', import.meta.url);
const files = { python: ['python.py', '#### '], javascript: ['javascript.js', '//// '], typescript: ['typescript.ts', '//// '],
  bash: ['bash.sh', '#### '], sql: ['sql.sql', '---- '] };
export const languages = Object.keys(files);
export const extension = { python: 'py', javascript: 'js', typescript: 'ts', bash: 'sh', sql: 'sql' };
export const expectedFile = new URL('expected.json', here);

// What SQL runs over: files of the workspace, and the same as tables for sqlite3.
export const tables = {
  sales: ['day TEXT, region TEXT, product TEXT, amount REAL, note TEXT', `2024-01-03,EU,pen,12.5,
2024-01-03,US,ink,80,"big, blue"
2024-01-20,EU,ink,55,
2024-02-01,US,pen,8,rush
2024-02-14,EU,pad,120,
2024-02-14,US,pen,30.25,
2024-03-05,EU,pen,9.75,again
`],
  products: ['product TEXT, label TEXT', 'pen,Pen\nink,Ink bottle\npad,Writing pad\ncap,Cap\n'],
};
export const csv = (name) => `${tables[name][0].replace(/ [A-Z]+/g, '').replaceAll(' ', '')}\n${tables[name][1]}`;

// [{ name, code }]
export function snippets(language) {
  const [file, mark] = files[language];
  return readFileSync(new URL(file, here), 'utf8').split(`\n${mark}`).map((text, i) => {
    const [name, ...lines] = (i === 0 ? text.slice(mark.length) : text).split('\n');
    return { name, code: `${lines.join('\n').trimEnd()}\n` };
  });
}
