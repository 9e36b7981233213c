// A thread with servers that misbehave: they accept and send nothing, cut their answers off, send garbage, fail, or send without end. It posts
// their addresses by kind.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';

async function sickServer(kind) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      if (kind === 'garbage') socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\nnot json!');
      if (kind === 'cut') socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"jsonrpc"');
      if (kind === 'failing') socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n');
      if (kind === 'endless') { socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'); const timer = setInterval(() => socket.write(`: ${'x'.repeat(4000)}\n\n`), 5); socket.on('close', () => clearInterval(timer)); }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/mcp`;
}

const urls = {};
for (const kind of ['silent', 'garbage', 'cut', 'failing', 'endless']) urls[kind] = await sickServer(kind);
parentPort.postMessage(urls);
