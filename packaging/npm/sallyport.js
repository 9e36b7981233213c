#!/usr/bin/env node
// Finds the program for this machine and becomes it: same arguments, standard streams, signals and exit status.
'use strict';
const path = require('node:path');

const name = `@sallyport/${process.platform}-${process.arch}`;
let program;
try {
  program = path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin/sallyport');
} catch {
  console.error(`sallyport: there is no program for ${process.platform}-${process.arch}, or npm left out the package ${name}.
It runs on Linux on x64 and arm64. If this is one, install again without --omit=optional.`);
  process.exit(1);
}

const args = process.argv.slice(2);
// Replacing this process leaves nothing in between. Node has execve since 22.15 and 23.11; it warns that it is experimental.
if (process.execve) {
  process.removeAllListeners('warning');
  process.emitWarning = () => {};
  process.execve(program, [program, ...args], process.env);
}

const child = require('node:child_process').spawn(program, args, {stdio: 'inherit'});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`sallyport: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
