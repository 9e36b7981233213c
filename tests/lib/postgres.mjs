// A PostgreSQL server of the test's own: a fresh cluster in a temporary directory, reached by a unix socket only.
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { Inbox, until } from './deadline.mjs';
import { lineSplitter } from './lines.mjs';
import { tempDir } from './temp.mjs';

/** The newest installed server's programs, or undefined. */
export function postgresPrograms() {
  const base = '/usr/lib/postgresql';
  const versions = existsSync(base) ? readdirSync(base).sort((a, b) => b - a) : [];
  return versions.map((version) => join(base, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

// PostgreSQL refuses to run as root; Debian's package brings a user for it.
function identity() {
  if (process.getuid() !== 0) return {};
  const id = (flag) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * {socket, user, psql(sql, {database}), session(database), standby(), ready(), start(), stop()}. ready() starts it unless it runs. A session is one connection: ask(sql) settles with its first line.
 * standby() is a server of the same kind that follows this one, until `SELECT pg_promote()`.
 */
export async function startPostgres({ follows } = {}) {
  const bin = postgresPrograms();
  if (!bin) throw new Error('no PostgreSQL server here; scripts/setup test installs it');
  const dir = tempDir('pg');
  const as = identity();
  if (as.uid) chownSync(dir, as.uid, as.gid);
  const user = 'owner', data = join(dir, 'data'), options = { ...as, cwd: '/', encoding: 'utf8', env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } };
  const made = follows ? spawnSync(join(bin, 'pg_basebackup'), ['-h', follows, '-U', user, '-D', data, '-R', '-c', 'fast', '-N'], options)
    : spawnSync(join(bin, 'initdb'), ['-D', data, '-U', user, '-A', 'trust', '-N', '--no-instructions', '-E', 'UTF8'], options);
  if (made.status !== 0) throw new Error(`${follows ? 'pg_basebackup' : 'initdb'} as ${as.uid ?? userInfo().uid}: ${made.stderr}`);
  const run = () => spawn(join(bin, 'postgres'), ['-D', data, '-k', dir, '-c', 'listen_addresses=', '-c', 'fsync=off', '-c', 'max_prepared_transactions=0'], { ...options, stdio: ['ignore', 'ignore', 'ignore'] });
  const psql = (sql, { database = 'postgres', separate = false } = {}) => {
    const input = separate ? sql : `\\set ON_ERROR_STOP 1\n${sql}`;
    const { status, stdout, stderr } = spawnSync(join(bin, 'psql'), ['-h', dir, '-U', user, '-XqAt', '-d', database, '-f', '-'], { encoding: 'utf8', input, maxBuffer: 1 << 28 });
    return { ok: status === 0, out: stdout.trim(), error: stderr.trim() };
  };
  const session = (database) => {
    const child = spawn(join(bin, 'psql'), ['-h', dir, '-U', user, '-XqAt', '-d', database, '-f', '-'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = new Inbox();
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', lineSplitter((line) => lines.push(line)));
    child.on('close', () => lines.end());
    return {
      ask(sql) { child.stdin.write(`${sql}\n`); return lines.next(`an answer to ${sql}`); },
      end() { child.stdin.end(); return new Promise((done) => { child.on('close', done); }); },
    };
  };
  let server;
  const start = async () => {
    server = run();
    await until('PostgreSQL', () => {
      if (server.exitCode !== null) throw new Error('PostgreSQL does not come up');
      return psql('SELECT 1').ok;
    });
  };
  const stop = (signal = 'SIGQUIT') => new Promise((done) => {
    if (server.exitCode !== null || server.signalCode !== null) return done();
    server.once('exit', done);
    server.kill(signal);
  });
  await start();
  const ready = async () => { if (server.exitCode !== null || server.signalCode !== null) await start(); };
  return { socket: dir, user, psql, session, standby: () => startPostgres({ follows: dir }), ready, start, stop };
}
