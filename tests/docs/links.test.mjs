// Links in the documentation lead somewhere: files exist, headings exist, and every page of docs/ has its place in the site.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../lib/index.mjs';

const docs = path.join(root, 'docs');
const pages = readdirSync(docs, { recursive: true }).filter((name) => name.endsWith('.md')).sort();
const files = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...pages.map((name) => `docs/${name}`)];

const prose = (text) => text.replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2 *$/gm, (block) => block.replace(/[^\n]/g, ''));
const withoutCode = (text) => text.replace(/(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/g, '');

function linksOf(text) {
  return prose(text).split('\n').flatMap((line, i) => [...withoutCode(line).matchAll(/\]\(<?([^()\s>]+)>?(?: "[^"]*")?\)/g)].map(([, target]) => ({ target, line: i + 1 })));
}

// As GitHub and the site make them: lower case, spaces to dashes, punctuation dropped, a number behind the second of a name.
function anchorsOf(file) {
  const seen = new Map();
  const anchors = new Set();
  for (const [, heading] of prose(readFileSync(file, 'utf8')).matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');
    const slug = plain.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replace(/ /g, '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count ? `${slug}-${count}` : slug);
  }
  return anchors;
}

function faultOf(file, target) {
  if (/^(https?|mailto):/.test(target)) return undefined;
  if (target.startsWith('/')) return 'is absolute: use a relative path';
  const [name, anchor] = target.split('#');
  const at = name ? path.resolve(root, path.dirname(file), decodeURIComponent(name)) : path.join(root, file);
  if (!existsSync(at)) return 'does not exist';
  if (file.startsWith('docs/') && path.relative(docs, at).startsWith('..')) return 'leaves docs/: the site does not have it';
  if (anchor === undefined) return undefined;
  if (!statSync(at).isFile() || !at.endsWith('.md')) return 'has an anchor but is no page';
  return anchorsOf(at).has(decodeURIComponent(anchor)) ? undefined : `has no heading #${anchor}`;
}

describe('links of the documentation', () => {
  test('the check itself finds what is wrong', () => {
    assert.equal(faultOf('docs/tutorial.md', 'recipes/index.md'), undefined);
    assert.equal(faultOf('docs/limits.md', 'tutorial.md#1-a-folder-and-a-server'), undefined);
    assert.match(faultOf('docs/limits.md', '#nothing-like-it'), /no heading/);
    assert.match(faultOf('docs/tutorial.md', 'recipes/none.md'), /does not exist/);
    assert.match(faultOf('docs/tutorial.md', '../README.md'), /leaves docs/);
    assert.deepEqual(linksOf('a [b](c.md) `[d](e.md)`\n```\n[f](g.md)\n```\n[h](i.md#j)'), [{ target: 'c.md', line: 1 }, { target: 'i.md#j', line: 5 }]);
  });

  test('files and headings exist', () => {
    const faults = files.flatMap((file) => linksOf(readFileSync(path.join(root, file), 'utf8')).flatMap(({ target, line }) => {
      const fault = faultOf(file, target);
      return fault ? [`${file}:${line}: ${target} ${fault}`] : [];
    }));
    assert.deepEqual(faults, [], faults.join('\n'));
  });

  const site = readFileSync(path.join(root, 'mkdocs.yml'), 'utf8');
  test('mkdocs.yml names every page of docs/ once, and no other', () => {
    const nav = site.slice(site.indexOf('\nnav:\n'));
    assert.deepEqual([...nav.matchAll(/([\w./-]+\.md)$/gm)].map(([, name]) => name).sort(), pages);
  });

  test('the site loads nothing from elsewhere', () => {
    assert.match(site, /^ {2}font: false$/m);
    assert.match(site, /^plugins: \[search\]/m);
    assert.doesNotMatch(site, /^(extra|extra_javascript|extra_css|extra_templates):/m);
  });
});
