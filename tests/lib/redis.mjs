// A Redis server of the test's own, on a unix socket in a temporary directory.
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './deadline.mjs';
import { freePort } from './process.mjs';
import { tempDir } from './temp.mjs';

/** {dsn, socket, pid, cli(...words), signal(name), restart(), stop()} */
export async function startRedis({ config = '', dir = tempDir('redis'), wrap = [] } = {}) {
  const socket = join(dir, 'redis.sock'), file = join(dir, 'redis.conf');
  writeFileSync(file, `unixsocket ${socket}\nsave ""\nappendonly no\ndir ${dir}\n${config.includes('port') ? '' : 'port 0\n'}${config}\n`);
  let child;
  const cli = (...words) => spawnSync('redis-cli', ['-s', socket, ...words], { encoding: 'utf8' }).stdout.trim();
  const up = async () => {
    const [program, ...words] = [...wrap, 'redis-server', file];
    child = spawn(program, words, { stdio: 'ignore' });
    await until('redis-server (scripts/setup test installs it)', () => cli('PING') !== '');
  };
  await up();
  const stop = () => new Promise((done) => {
    if (child.exitCode !== null || child.signalCode) return done();
    child.once('exit', done);
    child.kill('SIGKILL');
  });
  return { dsn: `unix://${socket}`, socket, cli, signal: (name) => child.kill(name), restart: async () => { await stop(); await up(); }, stop };
}

// After which silence a server counts as dead: soon where a test kills one, and late elsewhere, so that a busy machine takes none for dead.
const DEAD_SOON_MS = 1000, DEAD_LATE_MS = 30_000;

/** A server on a TCP port, which the others of its set find: {port, cli, pid, signal, stop} */
async function startNode(port, config, { program = [], tls } = {}) {
  const dir = tempDir('redis'), file = join(dir, 'redis.conf');
  const at = tls ? `port 0\ntls-port ${port}\ntls-replication yes\ntls-auth-clients no\ntls-cert-file ${tls.cert}\ntls-key-file ${tls.key}\ntls-ca-cert-file ${tls.ca}` : `port ${port}`;
  writeFileSync(file, `${at}\nbind 127.0.0.1\nsave ""\nappendonly no\ndir ${dir}\n${config}\n`);
  const child = spawn('redis-server', [file, ...program], { stdio: 'ignore' });
  const gone = new Promise((done) => child.once('exit', done));
  const cli = (...words) => spawnSync('redis-cli', ['-p', String(port), ...(tls ? ['--tls', '--cacert', tls.ca] : []), ...words], { encoding: 'utf8' }).stdout.trim();
  await until(`redis-server at port ${port}`, () => cli('PING') === 'PONG');
  return { port, cli, signal: (name) => child.kill(name), stop: () => { child.kill('SIGKILL'); return gone; } };
}

/** One master, two replicas and three Sentinels that call it `shop`: {dsn, servers, sentinels, master(), stop()}. tls: {cert, key, ca} of all of them; `dies`: one will be killed. */
export async function startSentinels({ servers: count = 3, tls, dies = false } = {}) {
  const servers = [];
  for (let i = 0; i < count; i++) servers.push(await startNode(await freePort(), `repl-diskless-sync-delay 0${i ? `\nreplicaof 127.0.0.1 ${servers[0].port}` : ''}`, { tls }));
  await until('every replica follows', () => servers.slice(1).every(({ cli }) => cli('INFO', 'replication').includes('master_link_status:up')));
  const sentinels = [];
  for (let i = 0; i < 3; i++)
    sentinels.push(await startNode(await freePort(), `sentinel monitor shop 127.0.0.1 ${servers[0].port} 2\nsentinel down-after-milliseconds shop ${dies ? DEAD_SOON_MS : DEAD_LATE_MS}\nsentinel failover-timeout shop 4000`, { program: ['--sentinel'], tls }));
  await until('the Sentinels know each other and every replica', () =>
    sentinels.every(({ cli }) => { const text = cli('SENTINEL', 'MASTER', 'shop'); return /num-other-sentinels\n2\n/.test(text) && text.includes(`num-slaves\n${count - 1}\n`); }));
  const master = () => Number(sentinels[2].cli('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'shop').split('\n')[1]);
  const dsn = `${tls ? 'rediss' : 'redis'}+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/shop`;
  return { dsn, servers, sentinels, master, stop: () => Promise.all([...sentinels, ...servers].map((node) => node.stop())) };
}

/** Three masters that share all slots, and `replicas` for each: {dsn, masters, stop()} */
export async function startCluster({ replicas = 0 } = {}) {
  const nodes = [];
  for (let i = 0; i < 3 * (replicas + 1); i++)
    nodes.push(await startNode(await freePort(), `cluster-enabled yes\ncluster-port ${await freePort()}\ncluster-node-timeout ${replicas ? DEAD_SOON_MS : DEAD_LATE_MS}\nrepl-diskless-sync-delay 0`));
  const words = ['--cluster', 'create', ...nodes.map(({ port }) => `127.0.0.1:${port}`), '--cluster-replicas', String(replicas), '--cluster-yes'];
  const made = spawnSync('redis-cli', words, { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(made.stdout + made.stderr);
  await until('the Cluster is whole', () => nodes.every(({ cli }) => cli('CLUSTER', 'INFO').includes('cluster_state:ok')));
  const masters = nodes.slice(0, 3);
  if (replicas) await until('every replica follows', () => nodes.slice(3).every(({ cli }) => cli('INFO', 'replication').includes('master_link_status:up')));
  return { dsn: `redis+cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, masters, nodes, stop: () => Promise.all(nodes.map((node) => node.stop())) };
}
