// The gate itself, in the forms of its command line.
import { join } from 'node:path';
import { sallyport } from './paths.mjs';
import { run, start } from './process.mjs';
import { StdioRpc } from './rpc.mjs';
import { tempDir, tempFile } from './temp.mjs';

export const ALLOW_ALL = { version: '1', default: 'allow' };

// A policy file from an object (JSON is YAML) or from text.
export const policyFile = (policy = ALLOW_ALL) =>
  tempFile('policy.yaml', typeof policy === 'string' ? policy : JSON.stringify(policy, null, 2));

// [command, args, env] for callers that start the gate themselves.
export function gateCommand({ policy, policyPath, transport, port = 0, upstream, command, headers = [], args = [], env = {} } = {}) {
  const line = ['-c', policyPath ?? policyFile(policy)];
  if (transport && transport !== 'stdio') line.push('--transport', transport, '--port', `${port}`);
  for (const header of headers) line.push('--header', header);
  line.push(...args);
  if (upstream) line.push('--upstream', upstream);
  if (command) line.push('--', ...command);
  return [sallyport, line, { SALLYPORT_HOME: join(tempDir(), 'home'), ...env }];
}

// What a build with sanitizers prints when it found something.
export const FINDING = /ERROR: (Address|Leak|Memory|Thread)Sanitizer|runtime error:|Assertion .* failed|stack smashing detected/;
const CRASH = ['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE'];

export class Gate {
  constructor(child) { this.child = child; this.pid = child.pid; }

  get stderr() { return this.child.stderr; }

  // A crash or a sanitizer's finding fails the test that stopped the gate.
  async stop(options) {
    const status = await this.child.stop(options);
    this.assertSound();
    return status;
  }

  assertSound() {
    const { status } = this.child;
    if (FINDING.test(this.stderr)) throw new Error(`a finding in ${this.child.describe()}`);
    if (status && (CRASH.includes(status.signal) || status.code === 134 || status.code === 139)) {
      throw new Error(`crashed: ${this.child.describe()}`);
    }
  }
}

// A subcommand, run to its end: { code, stdout, stderr }.
export const cli = (args, { env = {}, ...options } = {}) =>
  run(sallyport, args, { env: { SALLYPORT_HOME: join(tempDir(), 'home'), ...env }, ...options });

// The words that make `approvals approve` act for a person: an approver's grant of that home, made once.
const approvers = new Map();
export async function asApprover(env) {
  const home = env.SALLYPORT_HOME;
  if (!approvers.has(home)) {
    const made = cli(['grants', 'create', 'the-approver', '--role', 'approver', '--json'], { env });
    approvers.set(home, made.then(({ stdout }) => tempFile('approver.token', JSON.parse(stdout).token)));
  }
  return ['--token-file', await approvers.get(home)];
}
export const approve = async (id, { env }) => cli(['approvals', 'approve', id, ...(await asApprover(env)), '--json'], { env });

// transport 'http' (default) or 'sse': a Gate with .url (the endpoint), .origin and .port.
// transport 'stdio': a Gate with .rpc (StdioRpc).
export async function startGate({ transport = 'http', onRequest, timeout, cwd, ...options } = {}) {
  const [command, args, env] = gateCommand({ transport, ...options });
  const gate = new Gate(start(command, args, { env, cwd }));
  if (transport === 'stdio') return Object.assign(gate, { rpc: new StdioRpc(gate.child, { onRequest }) });
  return listening(gate, transport === 'sse' ? '/sse' : '/mcp', timeout);
}

// `sallyport serve` with a configuration given as an object or as text. listen null: what the configuration says.
export async function startServe({ config, listen = '127.0.0.1:0', args = ['--no-auth'], env = {}, timeout, cwd } = {}) {
  const line = ['serve', ...(listen ? ['--listen', listen] : []), ...args];
  if (config) line.push('--config', tempFile('sallyport.yaml', typeof config === 'string' ? config : JSON.stringify(config, null, 2)));
  const home = { SALLYPORT_HOME: join(tempDir(), 'home'), ...env };
  return listening(new Gate(start(sallyport, line, { env: home, cwd })), '/mcp', timeout);
}

async function listening(gate, path, timeout) {
  const line = await gate.child.waitLine(/https?:\/\/\S+:\d+/, { stream: 'stderr', timeout });
  const [, origin, port] = /(https?:\/\/\S+?:(\d+))/.exec(line);
  return Object.assign(gate, { port: Number(port), origin, url: `${origin}${path}` });
}
