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

// A build with sanitizers is several times slower: of long lists it takes one in eight.
export const sanitized = /asan/.test(sallyport);
export const sample = (list) => (sanitized ? list.filter((_, i) => i % 8 === 0) : list);
