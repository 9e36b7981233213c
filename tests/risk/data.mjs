// Labelled tools and real tools/list answers. They are not part of the project: SALLYPORT_DATA names the folder
// (../shared/data beside the project by default), and without it the tests that need it say so and are skipped.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root, sallyport } from '../lib/paths.mjs';

export const dataDir = resolve(process.env.SALLYPORT_DATA ?? join(root, '../shared/data'));
export const missing = (part) => {
  const path = join(dataDir, part);
  if (existsSync(path)) return false;
  const text = `NOT TESTED: ${path} is absent; set SALLYPORT_DATA to the folder with the labelled data`;
  console.error(text);
  return text;
};

export const jsonLines = (part) =>
  readFileSync(join(dataDir, part), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
export const toolLists = () => readdirSync(join(dataDir, 'toollists')).filter((name) => name.endsWith('.json'))
  .map((name) => join(dataDir, 'toollists', name));

// Runs the program with `input` on stdin: {status, stdout, stderr}.
export function run(args, { input = '', cwd, env } = {}) {
  return new Promise((done) => {
    const child = execFile(sallyport, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 1 << 28 },
      (error, stdout, stderr) => done({ status: error ? error.code : 0, stdout, stderr }));
    child.stdin.on('error', () => {}); // a program that refuses its arguments reads nothing
    child.stdin.end(input);
  });
}

const noLock = ['--lock', '/nonexistent/sallyport.lock'];
export async function scan(tools, ...args) {
  const input = typeof tools === 'string' ? tools : JSON.stringify(tools);
  return run(['scan', '--tools-json', '-', ...noLock, ...args], { input });
}
export async function scanJson(tools) {
  const { status, stdout, stderr } = await scan(tools, '--format', 'json');
  if (status !== 0) throw new Error(`scan: ${status}: ${stderr}`);
  return JSON.parse(stdout);
}
