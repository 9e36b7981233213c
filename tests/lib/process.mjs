// Child processes: started in a group of their own, waited for by what they print, and
// never left behind, however the test process ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { DEADLINE_MS, Inbox, within } from './deadline.mjs';
import { lineSplitter } from './lines.mjs';

const running = new Set();

function killGroup(pid, signal) {
  try { process.kill(-pid, signal); } catch { /* gone already */ }
}

process.on('exit', () => { for (const child of running) killGroup(child.pid, 'SIGKILL'); });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

export class Child {
  stdout = '';
  stderr = '';
  #lines = { stdout: new Inbox(), stderr: new Inbox() };

  constructor(command, args, { env = {}, cwd, keepStdout = true } = {}) {
    this.commandLine = [command, ...args].join(' ');
    this.process = spawn(command, args, {
      cwd, detached: true, stdio: 'pipe', env: { ...process.env, ...env },
    });
    this.pid = this.process.pid;
    this.stdin = this.process.stdin;
    this.stdin.on('error', () => {}); // a child that died early is reported by its exit, not by EPIPE
    running.add(this);
    this.exited = new Promise((resolve) => {
      this.process.on('exit', (code, signal) => resolve(this.status = { code, signal }));
      this.process.on('error', (error) => {
        this.stderr += `${error.message}\n`;
        resolve(this.status ??= { code: 127, signal: null });
      });
    });
    // Later than the exit: the pipes are closed once nobody holds them, grandchildren included.
    this.closed = new Promise((resolve) => {
      this.process.on('close', () => {
        running.delete(this);
        if (this.pid) killGroup(this.pid, 'SIGKILL');
        for (const lines of Object.values(this.#lines)) lines.end();
        resolve();
      });
    });
    this.#collect('stderr', true);
    this.#collect('stdout', keepStdout);
  }

  #collect(stream, keep) {
    const split = lineSplitter((line) => this.#lines[stream].push(line));
    this.process[stream].setEncoding('utf8').on('data', (chunk) => {
      if (!keep) return;
      this[stream] += chunk;
      split(chunk);
    });
  }

  // The next not yet taken line that matches; earlier ones that do not are passed over.
  async waitLine(pattern, { stream = 'stdout', timeout = DEADLINE_MS } = {}) {
    const matches = pattern instanceof RegExp ? (line) => pattern.test(line) : pattern;
    const line = await this.#lines[stream].next(() => `a line like ${pattern} on ${stream} of: ${this.describe()}`,
      { fits: matches, timeout });
    if (line === null) throw new Error(`ended before a line like ${pattern} on ${stream}: ${this.describe()}`);
    return line;
  }

  describe() {
    const state = this.status ? `exit ${this.status.code ?? this.status.signal}` : `pid ${this.pid}, running`;
    return `${this.commandLine} (${state})\n--- stderr\n${this.stderr.slice(-4000)}`;
  }

  signal(signal) { killGroup(this.pid, signal); }

  // Ended and silent: all it printed has been read.
  async wait({ timeout = DEADLINE_MS } = {}) {
    await within(this.closed, () => `the end of ${this.describe()}`, timeout);
    return this.status;
  }

  // stdin EOF and a signal at the same time: servers differ in which of the two they react to.
  async stop({ signal = 'SIGTERM', timeout = DEADLINE_MS } = {}) {
    this.stdin.end();
    if (!this.status) this.process.kill(signal);
    try {
      return await this.wait({ timeout });
    } catch (error) {
      this.signal('SIGKILL');
      throw error;
    }
  }
}

export const start = (command, args = [], options) => new Child(command, args, options);

// Run to the end: { code, signal, stdout, stderr }.
export async function run(command, args = [], { input, timeout = 3 * DEADLINE_MS, ...options } = {}) {
  const child = start(command, args, options);
  child.stdin.end(input);
  try {
    const status = await child.wait({ timeout });
    return { ...status, stdout: child.stdout, stderr: child.stderr };
  } finally {
    if (!child.status) child.signal('SIGKILL');
  }
}

// For programs that cannot pick a free port by themselves. Below the range that the kernel picks from: until the program listens,
// no connection and no other test gets the port by accident.
export async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await Promise.race([once(server, 'listening').then(() => true), new Promise((resolve) => { server.on('error', () => resolve(false)); })]);
    server.close();
    if (free) return once(server, 'close').then(() => port);
  }
}
