// Reverse proxies as people run them, on the loopback: nginx and haproxy, each with a configuration of its own.
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { until } from './deadline.mjs';
import { freePort, start } from './process.mjs';
import { tempDir } from './temp.mjs';

const accepts = (port) => new Promise((resolve) => {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('connect', () => { socket.destroy(); resolve(true); }).on('error', () => resolve(false));
});

async function up(name, child, port) {
  await until(() => `${name} (scripts/setup test installs it)\n${child.stderr}`, async () => {
    if (child.status) throw new Error(`${name} does not come up\n${child.stderr}`);
    return accepts(port);
  });
  return { origin: `http://127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/mcp`, port, child, stop: () => child.stop() };
}

// headers: nginx lines for the headers that the gate gets.
export async function startNginx(gatePort, { headers = '' } = {}) {
  const dir = tempDir('nginx'), port = await freePort();
  writeFileSync(join(dir, 'nginx.conf'), `
daemon off; worker_processes 1; pid ${dir}/pid; error_log stderr warn;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  upstream gate { server 127.0.0.1:${gatePort}; keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gate; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_read_timeout 1h; client_max_body_size 64m;
      ${headers}
    }
  }
}`);
  return up('nginx', start('nginx', ['-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')]), port);
}

// servers: [port, options of the `server` line]
export async function startHaproxy(servers, { http = '' } = {}) {
  const dir = tempDir('haproxy'), port = await freePort();
  writeFileSync(join(dir, 'haproxy.cfg'), `
global
  maxconn 512
defaults
  mode ${http ? 'http' : 'tcp'}
  timeout connect 10s
  timeout client 1h
  timeout server 1h
listen gate
  bind 127.0.0.1:${port}
  balance roundrobin
  ${http}
${servers.map(([at, options], n) => `  server s${n} 127.0.0.1:${at} ${options ?? ''}`).join('\n')}
`);
  return up('haproxy', start('haproxy', ['-db', '-f', join(dir, 'haproxy.cfg')]), port);
}
