// A Redis server of the test's own, on a unix socket in a temporary directory.
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEADLINE_MS } from './deadline.mjs';
import { tempDir } from './temp.mjs';

/** {dsn, socket, pid, cli(...words), signal(name), restart(), stop()} */
export async function startRedis({ config = '', dir = tempDir('redis') } = {}) {
  const socket = join(dir, 'redis.sock'), file = join(dir, 'redis.conf');
  writeFileSync(file, `unixsocket ${socket}\nsave ""\nappendonly no\ndir ${dir}\n${config.includes('port') ? '' : 'port 0\n'}${config}\n`);
  let child;
  const cli = (...words) => spawnSync('redis-cli', ['-s', socket, ...words], { encoding: 'utf8' }).stdout.trim();
  const up = async () => {
    child = spawn('redis-server', [file], { stdio: 'ignore' });
    for (const end = Date.now() + DEADLINE_MS; cli('PING') === '';) {
      if (Date.now() > end) throw new Error('redis-server does not come up; scripts/setup test installs it');
      await new Promise((done) => setTimeout(done, 20));
    }
  };
  await up();
  const stop = () => new Promise((done) => {
    if (child.exitCode !== null || child.signalCode) return done();
    child.once('exit', done);
    child.kill('SIGKILL');
  });
  return { dsn: `unix://${socket}`, socket, cli, signal: (name) => child.kill(name), restart: async () => { await stop(); await up(); }, stop };
}
