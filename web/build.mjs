// Bundles the console into one directory: node build.mjs OUT; prints the files that it read. The editor and the charts are chunks of
// their own, so that the first view does not wait for them.
import { build } from 'esbuild';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = process.argv[2];
if (!out) throw new Error('node build.mjs OUT');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { app: 'src/main.tsx' },
  outdir: out,
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  metafile: true,
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  chunkNames: '[name]-[hash]',
  logLevel: 'warning',
});
const pages = ['src/index.html', 'src/icon.svg'];
for (const name of pages) cpSync(join(here, name), join(out, name.slice('src/'.length)));
for (const name of [...Object.keys(metafile.inputs), ...pages, 'build.mjs', 'package-lock.json']) console.log(resolve(here, name));
