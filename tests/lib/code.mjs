// `sallyport code`, and a client of it that reads the JSON in the texts of its tools.
import { join } from 'node:path';
import { StdioPeer } from './peer.mjs';
import { Gate } from './gate.mjs';
import { sallyport } from './paths.mjs';
import { start } from './process.mjs';
import { StdioRpc } from './rpc.mjs';
import { tempDir } from './temp.mjs';
import { use } from './use.mjs';

export const codeCommand = ({ profile, args = [], env = {}, home = join(tempDir(), 'home') } = {}) =>
  [sallyport, ['code', ...(profile ? ['--profile', profile] : []), ...args], { SALLYPORT_HOME: home, ...env }];

export async function startCode(t, { version, Peer = StdioPeer, ...options } = {}) {
  const [command, args, env] = codeCommand(options);
  const child = start(command, args, { env });
  const gate = use(t, Object.assign(new Gate(child), { rpc: new StdioRpc(child), home: env.SALLYPORT_HOME }));
  const peer = await new Peer(gate).initialize({ capabilities: {}, version });
  // The JSON of a tool's text; run(code, more): what execute_code says.
  const json = async (name, input = {}, more) => JSON.parse((await peer.call(name, input, more)).content[0].text);
  return { gate, peer, json, run: (code, input = {}, more) => json('execute_code', { code, ...input }, more) };
}
