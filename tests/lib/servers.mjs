import { fixture, node, packages } from './paths.mjs';
import { freePort, start } from './process.mjs';

// A server of tests/fixtures, over HTTP.
export async function startFixture(name, ...args) {
  const child = start(node, [fixture(name), '--http', '0', ...args]);
  const { port } = JSON.parse(await child.waitLine(/"port"/));
  return { child, url: `http://127.0.0.1:${port}/mcp`, stop: () => child.stop() };
}

// server-everything over HTTP ('streamableHttp', /mcp) or the 2024 transport ('sse', /sse).
export async function startEverything(mode) {
  const port = await freePort();
  const child = start(node, [packages.everything, mode], { env: { PORT: `${port}` } });
  await child.waitLine(/port|listening|running/i, { stream: 'stderr' });
  return { url: `http://127.0.0.1:${port}/${mode === 'sse' ? 'sse' : 'mcp'}`, stop: () => child.stop() };
}
