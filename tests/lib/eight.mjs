// Eight real servers from npm; of 2024, of 2025 and of both eras, with pages (MCP Apps) and without. `home` is a directory of the test's.
import { join } from 'node:path';
import { node, packages } from './paths.mjs';

export const eightServers = (home) => {
  const run = (file, args = [], env) => ({ command: node, args: [file, ...args], ...(env && { env }) });
  return {
    everything: run(packages.everything, ['stdio']),
    files: run(packages.filesystem, [home]),
    memory: run(packages.memory, [], { MEMORY_FILE_PATH: join(home, 'memory.json') }),
    thinking: run(packages.sequentialThinking),
    docs: run(packages.context7),
    browser: run(packages.playwright),
    app: run(packages.basicApp, ['--stdio']),
    github: run(packages.github, [], { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' }),
  };
};
