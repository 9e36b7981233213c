import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../npm/load.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const fixture = (name) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

// The Node that runs the tests also runs every server and client in them.
export const node = process.execPath;

export const sallyport = resolve(process.env.SALLYPORT_BIN ?? `${root}/build/sallyport`);
export const haveSallyport = () => existsSync(sallyport);

const mcp = (path) => packageFile(`@modelcontextprotocol/${path}`);

export const packages = {
  conformance: mcp('conformance/dist/index.js'),
  inspector: mcp('inspector/clients/launcher/build/index.js'),
  everything: mcp('server-everything/dist/index.js'),
  filesystem: mcp('server-filesystem/dist/index.js'),
  memory: mcp('server-memory/dist/index.js'),
  sequentialThinking: mcp('server-sequential-thinking/dist/index.js'),
  context7: packageFile('@upstash/context7-mcp/dist/index.js'),
  basicApp: mcp('server-basic-vanillajs/dist/index.js'),
  github: mcp('server-github/dist/index.js'),
  playwright: packageFile('@playwright/mcp/cli.js'),
  mcpRemote: packageFile('mcp-remote/dist/proxy.js'),
};

// Bun, where the registry had one for this machine.
export const bun = [packageFile('@oven/bun-linux-x64-baseline/bin/bun'), packageFile('@oven/bun-linux-aarch64/bin/bun')].find((path) => existsSync(path));
// The interpreter of JavaScript that a gate is to take; Bun comes first where it is named and Node is not.
export const INTERPRETERS = [['Node', { SALLYPORT_NODE: process.execPath }], ['Bun', bun && { SALLYPORT_NODE: '', SALLYPORT_BUN: bun }]];
// True when there is none; says so.
export const lacksBun = (t, env) => !env && (t.skip('SKIPPED LOUDLY: npm has no Bun for this machine'), true);

// A build with sanitizers is several times slower: of long lists it takes one in eight.
export const sanitized = /asan/.test(sallyport);
export const sample = (list) => (sanitized ? list.filter((_, i) => i % 8 === 0) : list);
