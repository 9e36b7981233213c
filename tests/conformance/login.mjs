// The client that the suite's authorization scenarios drive: login.mjs URL
//
// A gate with that server behind it and an ordinary client in front. Whenever the gate says that the server requires a login it names a
// command; this program does what a person would: runs that command, opens what it prints, and tries again.
import { load } from '../npm/load.mjs';
import { startGate } from '../lib/gate.mjs';
import { sallyport } from '../lib/paths.mjs';
import { start } from '../lib/process.mjs';
import { MODERN } from '../lib/rpc.mjs';
import { tempDir, tempFile } from '../lib/temp.mjs';

const LOGINS_MAX = 3;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const modern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === MODERN;
const env = { SALLYPORT_HOME: `${tempDir()}/home` };
setTimeout(() => { console.error('out of time'); process.exit(1); }, Number(process.env.CLIENT_TIMEOUT_MS ?? 110_000)).unref();

// The words of a command as a shell would read them; it has to be one that a person can paste.
function words(line) {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
}

async function login(command) {
  const known = context.client_id ? ['--client-id', context.client_id] : ['--client-metadata', 'https://conformance-test.local/client-metadata.json'];
  if (context.client_secret) known.push('--client-secret-file', tempFile('secret', context.client_secret));
  const child = start(sallyport, [...words(command).slice(1), ...known], { env });
  const url = await Promise.race([child.waitLine(/^https?:\S+$/, { stream: 'stderr' }).catch(() => null), child.closed.then(() => null)]);
  if (url) await fetch(url);
  await child.closed;
  console.error(`$ ${command} ${known.join(' ')}\n${child.stderr}`);
  if (child.status.code !== 0) throw new Error('the login failed');
}

async function use(url) {
  const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
  const client = new Client({ name: 'sallyport-conformance-login', version: '1.0.0' }, { versionNegotiation: { mode: modern ? 'auto' : 'legacy' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  for (const { name } of tools) await client.callTool({ name, arguments: {} });
  await client.close();
}

const gate = await startGate({ upstream: process.argv.at(-1), env });
try {
  for (let logins = 0, done = false; !done; logins++) {
    try {
      await use(gate.url);
      done = true;
    } catch (error) {
      const hint = /run `(sallyport login [^`]+)`/.exec(error.message)?.[1];
      if (!hint || logins >= LOGINS_MAX) throw error;
      await login(hint);
    }
  }
} catch (error) {
  console.error(gate.child.describe());
  throw error;
} finally {
  await gate.stop();
}
process.exit(0);
