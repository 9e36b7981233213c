// Requests that two HTTP parsers could cut at different places (protocol.md 7.1, I6): refused, the
// connection closed, and nothing of what hides behind them is ever answered or passed on.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HttpConnection, post, suitePair } from '../lib/index.mjs';

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const hidden = 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhello';

describe('every request has only one interpretation', () => {
  const world = suitePair('http', 'http');
  const head = () => `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: */*\r\nMcp-Session-Id: ${world.peer.sessionId}\r\n`;
  const chunked = `${ping.length.toString(16)}\r\n${ping}\r\n0\r\n\r\n`;

  const REQUESTS = {
    'both Content-Length and Transfer-Encoding': (h) => `${h}Content-Length: ${ping.length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
    'the same the other way round': (h) => `${h}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunked}`,
    'two different lengths': (h) => `${h}Content-Length: ${ping.length}\r\nContent-Length: ${ping.length + 1}\r\n\r\n${ping}x`,
    'a list of lengths': (h) => `${h}Content-Length: ${ping.length}, ${ping.length}\r\n\r\n${ping}`,
    'a negative length': (h) => `${h}Content-Length: -1\r\n\r\n${ping}`,
    'a length with a sign': (h) => `${h}Content-Length: +${ping.length}\r\n\r\n${ping}`,
    'a length in hexadecimal': (h) => `${h}Content-Length: 0x27\r\n\r\n${ping}`,
    'a length beyond 64 bits': (h) => `${h}Content-Length: 18446744073709551657\r\n\r\n${ping}`,
    'an empty length': (h) => `${h}Content-Length: \r\n\r\n${ping}`,
    'two transfer encodings': (h) => `${h}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${chunked}`,
    'an unknown transfer encoding': (h) => `${h}Transfer-Encoding: xchunked\r\n\r\n${chunked}`,
    'gzip, chunked': (h) => `${h}Transfer-Encoding: gzip, chunked\r\n\r\n${chunked}`,
    'chunked, chunked': (h) => `${h}Transfer-Encoding: chunked, chunked\r\n\r\n${chunked}`,
    'chunked, identity': (h) => `${h}Transfer-Encoding: chunked, identity\r\n\r\n${chunked}`,
    'a space before the colon': (h) => `${h}Transfer-Encoding : chunked\r\n\r\n${chunked}`,
    'a tab in the name': (h) => `${h}Transfer-Encoding\t: chunked\r\n\r\n${chunked}`,
    'a folded header': (h) => `${h}X-A: b\r\n Content-Length: 3\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'a header that begins with a space': (h) => `POST /mcp HTTP/1.1\r\n Host: 127.0.0.1\r\n${h.split('\r\n').slice(1).join('\r\n')}Content-Length: 0\r\n\r\n`,
    'bare LF between headers': (h) => `${h}X-A: b\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'bare LF everywhere': (h) => `${h}Content-Length: ${ping.length}\r\n\r\n`.replaceAll('\r\n', '\n') + ping,
    'bare CR in a value': (h) => `${h}X-A: b\rTransfer-Encoding: chunked\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'NUL in a value': (h) => `${h}X-A: b\0c\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'a control character in a name': (h) => `${h}X\u0001A: b\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'no name': (h) => `${h}: b\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'no colon': (h) => `${h}whatever\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'two hosts': (h) => `${h}Host: localhost\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'no host': (h) => `${h.replace('Host: 127.0.0.1\r\n', '')}Content-Length: ${ping.length}\r\n\r\n${ping}`,
    'two session ids': (h) => `${h}Mcp-Session-Id: other\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'two authorizations': (h) => `${h}Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'two spaces in the request line': (h) => `${h.replace('POST /mcp', 'POST  /mcp')}Content-Length: ${ping.length}\r\n\r\n${ping}`,
    'HTTP/2.0': (h) => `${h.replace('HTTP/1.1', 'HTTP/2.0')}Content-Length: ${ping.length}\r\n\r\n${ping}`,
    'HTTP/1.10': (h) => `${h.replace('HTTP/1.1', 'HTTP/1.10')}Content-Length: ${ping.length}\r\n\r\n${ping}`,
    'HTTP/0.9': () => 'GET /mcp\r\n\r\n',
    'a fragment in the target': (h) => `${h.replace('/mcp', '/mcp#x')}Content-Length: ${ping.length}\r\n\r\n${ping}`,
    'a chunk size with a sign': (h) => `${h}Transfer-Encoding: chunked\r\n\r\n+${chunked}`,
    'a chunk size with 0x': (h) => `${h}Transfer-Encoding: chunked\r\n\r\n0x${chunked}`,
    'a chunk size that overflows': (h) => `${h}Transfer-Encoding: chunked\r\n\r\n10000000000000027\r\n${ping}\r\n0\r\n\r\n`,
    'a chunk size line with a bare LF': (h) => `${h}Transfer-Encoding: chunked\r\n\r\n${chunked.replace('\r\n', '\n')}`,
    'a chunk longer than it says': (h) => `${h}Transfer-Encoding: chunked\r\n\r\n5\r\n${ping}\r\n0\r\n\r\n`,
    'a chunk without its end': (h) => `${h}Transfer-Encoding: chunked\r\n\r\n${ping.length.toString(16)}\r\n${ping}0\r\n\r\n`,
    'a forbidden trailer': (h) => `${h}Transfer-Encoding: chunked\r\n\r\n${ping.length.toString(16)}\r\n${ping}\r\n0\r\nContent-Length: 5\nX: y\r\n\r\n`,
    'chunks in HTTP/1.0': (h) => `${h.replace('HTTP/1.1', 'HTTP/1.0')}Transfer-Encoding: chunked\r\n\r\n${chunked}`,
    'binary rubbish': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  };

  for (const [name, make] of Object.entries(REQUESTS)) {
    test(name, async () => {
      for (const size of [undefined, 1]) {
        const connection = await HttpConnection.open(world.gate.url);
        const bytes = Buffer.from(make(head()) + hidden, 'latin1');
        if (size) await connection.trickle(bytes, size).catch(() => {});
        else connection.write(bytes);
        const response = await connection.response();
        if (response) {
          assert.ok(response.status >= 400 && response.status < 600, `${response.status}`);
          assert.equal(response.headers.connection, 'close');
          await response.text();
          const more = await connection.readSome().catch(() => null);
          assert.equal(more?.toString() ?? null, null, 'what hides behind is not answered');
        }
        connection.close();
      }
      const alive = await post(world.gate.url, ping, { headers: world.peer.headersFor() });
      assert.equal(alive.status, 200);
    });
  }

  test('none of these requests reached the server', () => {
    assert.deepEqual(world.probe.seen.map(({ method }) => method).filter((method) => !/initialize|discover/.test(method)), []);
  });
});
