// Connections of code: through the gate's proxy, to what the operator lists, and to nothing else.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp } from 'node:net';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { startCode } from '../lib/code.mjs';
import { sallyport } from '../lib/paths.mjs';
import { INTERPRETERS, ModernHttpPeer, cli, lacksBun, policyFile, root, run, startServe, tempDir, until, use } from '../lib/index.mjs';

const dir = tempDir('network');
const file = (name) => join(dir, name);
const PYTHON = join(root, 'tests/python/venv/bin/python');

async function openssl(...args) {
  const { code, stderr } = await run('openssl', args, { cwd: dir });
  assert.equal(code, 0, stderr);
}

before(async () => {
  await openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=ca');
  writeFileSync(file('ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  await openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  await openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-out', 'server.pem', '-days', '2', '-extfile', 'ext');
});

// Says what it got; /elsewhere redirects.
async function listen(t, server) {
  const seen = [];
  server.on('request', (request, response) => {
    let body = '';
    request.on('data', (part) => { body += part; }).on('end', () => {
      seen.push({ method: request.method, url: request.url, headers: request.headers, raw: request.rawHeaders, body });
      if (request.url.startsWith('/to/')) return response.writeHead(302, { Location: decodeURIComponent(request.url.slice(4)) }).end();
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ path: request.url, body, secure: 'encrypted' in request.socket }));
    });
  });
  server.on('tlsClientError', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => { server.closeAllConnections?.(); server.close(); });
  return { port: server.address().port, seen };
}
const https = (t) => listen(t, createHttps({ key: readFileSync(file('server.key')), cert: readFileSync(file('server.pem')) }));
const http = (t) => listen(t, createHttp());

async function gateWith(t, network, { policy, python = PYTHON } = {}) {
  const home = join(tempDir(), 'home'), env = { SALLYPORT_HOME: home, SSL_CERT_FILE: file('ca.pem'), SALLYPORT_PYTHON: python };
  const token = (await cli(['grants', 'create', 'ann'], { env })).stdout.trim();
  const config = { version: '1', policy: policyFile(policy ?? { version: '1', default: 'allow' }), servers: {}, code: { enabled: true, network } };
  const gate = use(t, await startServe({ config, args: [], env }));
  const peer = new ModernHttpPeer(`${gate.origin}/mcp/code`, { headers: { Authorization: `Bearer ${token}` } });
  const code = async (text, language = 'python', more = {}) => (await peer.call('execute_code', { code: text, language, ...more })).structuredContent;
  const records = async () => (await cli(['audit', 'query', '--tool', 'network_connect', '--json'], { env })).stdout.trim().split('\n').map(JSON.parse);
  return { gate, peer, code, records, home };
}
const both = (port) => [`localhost:${port}`, `127.0.0.1:${port}`];

test('urllib, requests, httpx and fetch find the proxy by themselves', async (t) => {
  const [secure, plain] = [await https(t), await http(t)];
  const { code, records } = await gateWith(t, { allow: [...both(secure.port), ...both(plain.port)] });
  const urls = [`https://localhost:${secure.port}/a?b=c`, `http://127.0.0.1:${plain.port}/a?b=c`];
  for (const url of urls) {
    const is = { path: '/a?b=c', body: '', secure: url.startsWith('https') };
    const one = await code(`import urllib.request, json\nresult = json.load(urllib.request.urlopen(${JSON.stringify(url)}))`);
    assert.deepEqual(one.result, is, JSON.stringify(one));
    const two = await code(`import requests\nresult = requests.post(${JSON.stringify(url)}, data="x" * 3000000).json()\nresult["body"] = len(result["body"])`);
    assert.deepEqual(two.result, { ...is, body: 3000000 }, JSON.stringify(two).slice(0, 500));
    const three = await code(`import httpx\nasync with httpx.AsyncClient() as c:\n  result = (await c.get(${JSON.stringify(url)})).json()`);
    assert.deepEqual(three.result, is, JSON.stringify(three));
    const chunks = await code(`import httpx\ndef parts():\n  yield b"one"\n  yield b"two"\nresult = httpx.post(${JSON.stringify(url)}, content=parts()).json()`);
    assert.equal(chunks.result?.body, 'onetwo', JSON.stringify(chunks));
    const four = await code(`const r = await fetch(${JSON.stringify(url)}, { method: "POST", body: "y" }); return r.json()`, 'javascript');
    assert.deepEqual(four.result, { ...is, body: 'y' }, JSON.stringify(four));
    const five = await code(`const m = require(${JSON.stringify(url.split(':')[0])});
      return await new Promise((done, fail) => m.get(${JSON.stringify(url)}, (r) => { let s = ""; r.on("data", (d) => s += d).on("end", () => done(JSON.parse(s))); }).on("error", fail))`, 'javascript');
    assert.deepEqual(five.result, is, JSON.stringify(five));
  }
  const all = await records();
  const texts = all.map((r) => r.text).join("\n");
  assert.match(texts, new RegExp(`^localhost:${secure.port} at 127.0.0.1$`, 'm'));
  assert.match(texts, new RegExp(`^127.0.0.1:${plain.port} at 127.0.0.1$`, 'm'));
  assert.ok(all.every((r) => r.parent), 'each belongs to a run');
});

test('the gate adds headers that the code never sees', async (t) => {
  const secure = await https(t);
  process.env.NETWORK_TEST_KEY = 'sk-very-secret';
  t.after(() => { delete process.env.NETWORK_TEST_KEY; });
  const { code } = await gateWith(t, { allow: both(secure.port), inject: { localhost: { Authorization: 'Bearer ${NETWORK_TEST_KEY}', 'X-Two': 'two' } } });
  const url = `https://localhost:${secure.port}/with`;
  const ways = [
    ['python', `import requests\nr = requests.post(${JSON.stringify(url)}, data="abc", headers={"authorization": "mine", "AUTHORIZATION": "mine too"})\nresult = [r.status_code, r.json()["path"]]`],
    ['python', `import httpx\nr = httpx.get(${JSON.stringify(url)}, headers={"Authorization": "mine", "Connection": "Authorization"})\nresult = [r.status_code, r.json()["path"]]`],
    ['python', `import urllib.request, json\nresult = [200, json.load(urllib.request.urlopen(${JSON.stringify(url)}))["path"]]`],
    ['javascript', `const r = await fetch(${JSON.stringify(url)}, { headers: { authorization: "mine" } }); return [r.status, (await r.json()).path]`],
  ];
  for (const [language, text] of ways) {
    const answer = await code(text, language);
    assert.deepEqual(answer.result, [200, '/with'], JSON.stringify(answer));
    const { headers, raw } = secure.seen.pop();
    assert.equal(headers.authorization, 'Bearer sk-very-secret');
    assert.equal(headers['x-two'], 'two');
    assert.equal(raw.filter((name) => /^authorization$/i.test(name)).length, 1, 'once, and not the code\'s own');
    assert.equal(headers.host, `localhost:${secure.port}`);
  }
  // By address the same server is another host: nothing is added.
  const other = await code(`import requests\nresult = requests.get("https://127.0.0.1:${secure.port}/plain", headers={"Authorization": "mine"}).status_code`);
  assert.equal(other.result, 200, JSON.stringify(other));
  assert.equal(secure.seen.pop().headers.authorization, 'mine');
  // Nothing of it is inside: not in the environment, not in a file.
  const seen = await code(`import os, glob
text = repr(dict(os.environ)) + "".join(open(p, errors="replace").read() for p in [os.environ["SSL_CERT_FILE"]])
result = ["very-secret" in text, "PRIVATE" in text, text.count("BEGIN CERTIFICATE") >= 2]`);
  assert.deepEqual(seen.result, [false, false, true], JSON.stringify(seen));
  const smuggled = await raw(code, [[`CONNECT localhost:${secure.port} HTTP/1.1\r\nHost: x\r\n\r\n`]]);
  assert.match(smuggled[0], /^HTTP\/1.1 200/);
});

// Bytes to the proxy as they are; what came back, one text each.
async function raw(code, talks) {
  const answer = await code(`import socket
result = []
for parts in ${JSON.stringify(talks)}:
  s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(100)
  got = b""
  try:
    for part in parts: s.sendall(part.encode("latin1"))
    while len(got) < 4096:
      more = s.recv(4096)
      if not more: break
      got += more
      if got.startswith(b"HTTP/1.1 200 Connection"): break
  except OSError as error: got += repr(error).encode()
  s.close()
  result.append(got.decode("latin1"))`, 'python', { timeout_seconds: 120 });
  assert.ok(answer.result, JSON.stringify(answer));
  return answer.result;
}

test('a host that is not listed is refused with a text that says what to do, and recorded', async (t) => {
  const [listed, hidden] = [await http(t), await http(t)];
  const { code, records } = await gateWith(t, { allow: [`127.0.0.1:${listed.port}`, `localhost:${hidden.port}`, '*.example.com:443'] });
  const to = (where) => `CONNECT ${where} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const refused = [
    `127.0.0.1:${hidden.port}`, `localhost:${listed.port}`, '169.254.169.254:80', '[::1]:80', '10.0.0.1:443', `0x7f000001:${hidden.port}`, `2130706433:${hidden.port}`,
    `0177.1:${hidden.port}`, `127.1:${hidden.port}`, `[::ffff:127.0.0.1]:${hidden.port}`, `[::ffff:7f00:1]:${hidden.port}`, 'metadata.google.internal:80', 'example.com:443', 'a.example.com:80',
    'evilexample.com:443', 'unlisted.invalid:443',
  ];
  for (const [i, text] of (await raw(code, refused.map((where) => [to(where)]))).entries()) assert.match(text, /^HTTP\/1.1 403 .*code\.network\.allow/, refused[i]);
  // A listed name that resolves to an internal address needs that address on the list, too.
  assert.match((await raw(code, [[to(`localhost:${hidden.port}`)]]))[0], /^HTTP\/1.1 403 localhost is the private address .*: the operator can allow it with \S+ in code\.network\.allow/);
  // What is listed is reached in whatever notation.
  for (const where of [`127.0.0.1`, `2130706433`, `0x7f.1`]) assert.match((await raw(code, [[to(`${where}:${listed.port}`)]]))[0], /^HTTP\/1.1 200 /, where);
  // A redirect is another request.
  const redirect = await code(`import requests\nresult = requests.get("http://127.0.0.1:${listed.port}/to/" + requests.utils.quote("http://127.0.0.1:${hidden.port}/secret", "")).status_code`);
  assert.equal(redirect.result, 403, JSON.stringify(redirect));
  assert.equal(hidden.seen.length, 0, 'nothing arrived');
  for (const [text, language] of [
    [`import requests\nrequests.get("https://unlisted.invalid/")`, 'python'], [`import urllib.request\nurllib.request.urlopen("https://unlisted.invalid/")`, 'python'],
    [`import httpx\nhttpx.get("https://unlisted.invalid/")`, 'python'], [`await fetch("https://unlisted.invalid/")`, 'javascript'],
  ]) {
    const { success, error } = await code(text, language);
    assert.equal(success, false);
    assert.match(error, /no network to unlisted\.invalid:443: the operator can allow it in code\.network\.allow/, text);
  }
  const texts = (await records()).map((r) => r.text).join('\n');
  for (const what of [`127.0.0.1:${hidden.port}; no network`, '169.254.169.254:80; no network', 'unlisted.invalid:443; no network', `127.0.0.1:${listed.port} at 127.0.0.1`]) assert.ok(texts.includes(what), what);
});

test('request heads that two parsers could read differently are refused', async (t) => {
  const server = await http(t);
  const { code } = await gateWith(t, { allow: both(server.port) });
  const at = `127.0.0.1:${server.port}`, end = '\r\n\r\n';
  const bad = [
    `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked${end}0${end}`,
    `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nContent-Length: 3\r\nContent-Length: 4${end}abcd`,
    `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nTransfer-Encoding: xchunked${end}0${end}`,
    `GET http://${at}/ HTTP/1.1\r\nHost : ${at}${end}`, `GET http://${at}/ HTTP/1.1\nHost: ${at}\n\n${end}`,
    `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\n folded${end}`, `GET http://user@${at}/ HTTP/1.1\r\nHost: ${at}${end}`, `GET /etc HTTP/1.1\r\nHost: ${at}${end}`,
    `GET https://${at}/ HTTP/1.1\r\nHost: ${at}${end}`, `GET http://${at}\\@evil/ HTTP/1.1\r\nHost: ${at}${end}`, `GET  http://${at}/ HTTP/1.1\r\nHost: ${at}${end}`,
    `GET http://${at}/ HTTP/2.0\r\nHost: ${at}${end}`, `CONNECT ${at}/x HTTP/1.1${end}`, `CONNECT user@${at} HTTP/1.1${end}`, `CONNECT 127.0.0.1 HTTP/1.1${end}`,
    `CONNECT ${at} HTTP/1.1\r\nContent-Length: 1${end}`, `CONNECT ${at} HTTP/1.1${end}early`, `CONNECT 127.0.0.1:0 HTTP/1.1${end}`, `CONNECT 127.0.0.1:99999 HTTP/1.1${end}`,
    `\x16\x03\x01\x02${end}`, `GET http://${at}/ HTTP/1.1\r\nX: ${'a'.repeat(40000)}${end}`, `GET http://${at}/ HTTP/1.1\r\n${'X: y\r\n'.repeat(200)}${end}`,
  ];
  for (const [i, text] of (await raw(code, bad.map((one) => [one]))).entries()) assert.match(text, /^HTTP\/1.1 (?:400|417|431|501|505|414) |reset|Broken/i, bad[i].slice(0, 120));
  assert.equal(server.seen.length, 0);
  // A second request after the first is dropped; hop-by-hop headers are not forwarded; the Host header is the URL's.
  const [answer] = await raw(code, [[`POST http://${at}/one HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: Basic eA==\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nContent-Length: 3\r\n\r\nabcGET http://${at}/two HTTP/1.1\r\nHost: ${at}${end}`]]);
  assert.match(answer, /^HTTP\/1.1 200 OK[^]*Connection: close[^]*\/one/);
  assert.equal(answer.split('HTTP/1.1 ').length, 2, 'one answer');
  assert.equal(server.seen.length, 1);
  assert.equal(server.seen[0].headers.host, at);
  assert.equal(server.seen[0].headers['proxy-authorization'], undefined);
  assert.equal(server.seen[0].headers.connection, 'close');
});

test('the policy judges each connection', async (t) => {
  const server = await http(t);
  const policy = { version: '1', default: 'allow', tools: { network_connect: { rules: [{ name: 'not there', conditions: [{ path: 'args.host', op: 'neq', value: 'localhost' }], on_deny: 'Use the address.' }] } } };
  const { code, peer, records } = await gateWith(t, { allow: both(server.port) }, { policy });
  const denied = await code(`import requests\nr = requests.get("http://localhost:${server.port}/")\nresult = [r.status_code, r.text]`);
  assert.equal(denied.result[0], 403, JSON.stringify(denied));
  assert.match(denied.result[1], /Use the address/);
  assert.equal((await code(`import requests\nresult = requests.get("http://127.0.0.1:${server.port}/").status_code`)).result, 200);
  assert.equal(server.seen.length, 1);
  assert.ok((await records()).some((r) => r.verdict === 'deny' && r.rule === 'not there'));
  // Only connections use that tool name: there must be no record of a connection that was not made.
  for (const text of [`call_tool("code", "network_connect", {"host": "a.example", "port": 1})`, `tools.code.network_connect(host="a.example", port=1)`])
    assert.match((await code(text)).error, /Unknown tool/);
  await assert.rejects(peer.call('network_connect', { host: 'a.example', port: 1 }), /Unknown tool/);
  assert.ok(!(await peer.request('tools/list', {})).tools.some((tool) => tool.name === 'network_connect'));
});

test('sandboxes listen for themselves only, use no datagrams, do not reach each other, and a run ends with its connections', async (t) => {
  const held = [], x64 = process.arch === 'x64';
  const server = createTcp((socket) => { held.push(socket); socket.on('error', () => {}).on('close', () => { held.closed = (held.closed ?? 0) + 1; }); });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address();
  const { code } = await gateWith(t, { allow: [`127.0.0.1:${port}`] });
  const ways = await code(`import ctypes, socket
result, kernel = {}, ctypes.CDLL(None, use_errno=True).syscall
def denied(*args):
  if kernel(*args) < 0: raise OSError(ctypes.get_errno(), "")
def try_it(name, call):
  try: call(); result[name] = "done"
  except OSError as error: result[name] = type(error).__name__
s = socket.socket()
try_it("bind", lambda: denied(${x64 ? 49 : 200}, s.fileno(), bytes([2, 0, 15, 160, 127, 0, 0, 1]) + bytes(8), 16))
try_it("listen", lambda: denied(${x64 ? 50 : 201}, s.fileno(), 5))
try_it("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
try_it("six", lambda: denied(${x64 ? 41 : 198}, socket.AF_INET6, socket.SOCK_STREAM, 0))
try_it("six out", lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM).connect(("2001:db8::1", 80)))
try_it("unix", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
try_it("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
try_it("other port", lambda: socket.socket().connect(("127.0.0.1", ${port})))
try_it("other address", lambda: socket.socket().connect(("10.0.0.1", 80)))`);
  assert.ok(!Object.values(ways.result).includes('done'), JSON.stringify(ways));
  // More connections than one run may have open at the same time: the rest is refused and the gate keeps running.
  const many = await code(`import socket
held, refused = [], 0
for i in range(200):
  s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(30)
  try:
    s.sendall(b"CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    ok = s.recv(100).startswith(b"HTTP/1.1 200")
  except OSError: ok = False
  if ok: held.append(s)
  else: refused += 1
result = [len(held), refused]`, 'python', { timeout_seconds: 120 });
  assert.deepEqual(many.result, [64, 136], JSON.stringify(many));
  await until(() => `${held.closed} of ${held.length} connections to end with the run`, () => held.closed === held.length);
});

for (const [name, allow] of [['without a network', undefined], ['with one', ['127.0.0.1:1']]]) {
  test(`a server of a run is reached by that run alone, ${name}`, async (t) => {
    const { code } = await gateWith(t, allow && { allow });
    const serve = `import http.server, os, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
  def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"here")
  def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
result = server.server_port`;
    const get = (port) => `import urllib.request; result = urllib.request.build_opener(urllib.request.ProxyHandler({})).open("http://127.0.0.1:${port}/").read().decode()`;
    const { result: port } = await code(serve, 'python', { session_id: 'one' });
    assert.ok(port > 1024);
    assert.equal((await code(get(port), 'python', { session_id: 'one' })).result, 'here');
    assert.equal((await code(`result = urllib.request.urlopen("http://localhost:${port}/").read().decode()`, 'python', { session_id: 'one' })).result, 'here');
    for (const session of ['two', undefined]) {
      const other = await code(get(port), 'python', { ...(session && { session_id: session }) });
      assert.match(other.error, /Connection refused|Permission denied/, JSON.stringify(other));
    }
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`), 'nothing listens on the machine');
    const own = await code(`const http = require('node:http'), server = http.createServer((q, r) => r.end(q.url));
      await new Promise((done) => server.listen(0, done));
      const { port } = server.address(), got = [await (await fetch(\`http://localhost:\${port}/a\`)).text()];
      await new Promise((done) => http.get({ port, path: '/b' }, (r) => r.on('data', (d) => got.push(String(d))).on('end', done)));
      server.close(); server.closeAllConnections();
      return got;`, 'javascript');
    assert.deepEqual(own.result, ['/a', '/b'], JSON.stringify(own));
  });
}

test('without the setting there is no network, and the error says what to do', async (t) => {
  const { code } = await gateWith(t, undefined);
  for (const [text, language] of [
    ['import urllib.request\nurllib.request.urlopen("https://example.com/")', 'python'], ['import requests\nrequests.get("https://example.com/")', 'python'],
    ['import socket\nsocket.create_connection(("93.184.216.34", 80))', 'python'], ['await fetch("https://example.com/")', 'javascript'],
    ['await new Promise((done, fail) => require("https").get("https://example.com/", done).on("error", fail))', 'javascript'],
  ]) {
    const { success, error } = await code(text, language);
    assert.equal(success, false);
    assert.match(error, /no network here: the operator can allow hosts with code\.network\.allow/, text);
  }
});

test('code run connects to what --network lists, and to nothing else', async (t) => {
  const [secure, plain, hidden] = [await https(t), await http(t), await http(t)];
  const env = { SSL_CERT_FILE: file('ca.pem') };
  const runs = async (name, text, ...args) => {
    writeFileSync(file(name), text);
    const { code, stdout, stderr } = await cli(['code', 'run', '--json', ...args, file(name)], { env });
    return { code, stderr, ...(stdout ? JSON.parse(stdout) : {}) };
  };
  const allow = ['--network', `localhost:${secure.port}, 127.0.0.1:*`];
  const python = (url) => `import urllib.request, json\nresult = json.load(urllib.request.urlopen(${JSON.stringify(url)}))["path"]\n`;
  const script = (url) => `return (await (await fetch(${JSON.stringify(url)})).json()).path`;
  for (const [name, make] of [['one.py', python], ['one.js', script]])
    for (const url of [`https://localhost:${secure.port}/a`, `http://127.0.0.1:${plain.port}/a`]) {
      const o = await runs(name, make(url), ...allow);
      assert.equal(o.result, '/a', JSON.stringify(o));
    }
  const both = await cli(['code', 'run', '--json', ...allow, file('one.py'), file('one.js')], { env });
  assert.deepEqual(both.stdout.trim().split('\n').map((line) => JSON.parse(line).result), ['/a', '/a'], 'each file has its own way out');
  const other = await runs('two.py', python(`http://127.0.0.1:${hidden.port}/`), '--network', `127.0.0.1:${plain.port}`);
  assert.match(other.error, new RegExp(`no network to 127\\.0\\.0\\.1:${hidden.port}: the operator can allow it in --network`));
  assert.match((await runs('two.py', python('http://example.com/'))).error, /no network here: .* --network/);
  assert.equal(hidden.seen.length, 0);
  const wrong = await runs('two.py', '1', '--network', 'localhost');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--network: `localhost`: write HOST:PORT/);
  assert.match((await runs('two.py', '1', '--network', Array(257).fill('a.example:1').join(','))).stderr, /--network: more than 256 hosts/);
});

test('Ctrl-C ends code run, and what the code has printed is shown', async (t) => {
  const silent = createHttp(() => {});
  await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => { silent.closeAllConnections(); silent.close(); });
  const { port } = silent.address();
  writeFileSync(file('waits.py'), `import urllib.request\nprint("before")\nurllib.request.urlopen("http://127.0.0.1:${port}/")\n`);
  for (const [args, signal] of [[[], 'SIGINT'], [['--json'], 'SIGTERM']]) {
    const arrived = once(silent, 'request');
    const child = spawn(sallyport, ['code', 'run', ...args, '--network', `127.0.0.1:${port}`, file('waits.py')], { stdio: ['ignore', 'pipe', 'pipe'] });
    const outputs = Promise.all([child.stdout, child.stderr].map(readText)), ended = once(child, 'close');
    await arrived;
    child.kill(signal);
    const [[code], [out, err]] = await Promise.all([ended, outputs]);
    assert.equal(code, 1, err);
    if (args.length) assert.deepEqual((({ output, exit, error }) => [output, exit, error])(JSON.parse(out)), [['before'], 'killed', 'cancelled']);
    else assert.ok(out === 'before\n' && /cancelled/.test(err), out + err);
  }
});

test('when hosts are listed and the network is still unavailable, the error says why', async (t) => {
  const fails = async (options, code, language, why) => {
    const { run } = await startCode(t, { ...options, args: ['--network', 'example.com:443', ...(options.args ?? [])] });
    const { error } = await run(code, { language });
    // root's home is closed to the guest
    if (/^lock-down step|ended before it was locked/.test(error)) return t.diagnostic(`SKIPPED: no tier 2 as this user: ${error}`);
    assert.match(error, why);
  };
  const low = { args: ['--min-tier', '2'], env: { SALLYPORT_SANDBOX_TIER: '2' } };
  await fails(low, 'import urllib.request\nurllib.request.urlopen("https://example.com/")', 'python', /it needs tier 1 of the sandbox/);
  await fails(low, 'await fetch("https://example.com/")', 'javascript', /it needs tier 1 of the sandbox/);
  const [, env] = INTERPRETERS.find(([name]) => name === 'Bun');
  if (lacksBun(t, env)) return;
  await fails({ env }, 'await fetch("https://example.com/")', 'javascript', /no network with Bun: code\.network needs Node/);
});

test('invalid settings are refused at the start', async () => {
  for (const [network, why] of [
    [{ allow: ['example.com'] }, /code\.network\.allow.*example\.com.*HOST:PORT/], [{ allow: ['exa mple.com:443'] }, /no name, \*\.name, address or network/], [{ allow: ['a.com:0'] }, /HOST:PORT/],
    [{ allow: ['a.com:443'], inject: { 'b.com': { A: 'x' } } }, /b\.com.*is not in code\.network\.allow/], [{ allow: ['a.com:443'], inject: { 'a.com': { Host: 'x' } } }, /cannot be added/],
    [{ inject: { 'a.com': { A: 'x' } } }, /allow lists no host/], [{ allow: ['a.com:443'], deny: [] }, /unknown key|deny/],
  ]) {
    const path = join(tempDir(), 'sallyport.yaml');
    writeFileSync(path, JSON.stringify({ version: '1', policy: policyFile({ version: '1', default: 'allow' }), listen: '127.0.0.1:0', servers: {}, code: { enabled: true, network } }));
    const { code, stderr } = await cli(['serve', '--config', path], { env: { SALLYPORT_HOME: tempDir() } });
    assert.equal(code, 3, stderr);
    assert.match(stderr, why);
  }
});

test('a connection with an unfinished request is closed, and a run does not wait for a silent server', async (t) => {
  const server = createTcp(() => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address();
  const { code } = await gateWith(t, { allow: [`127.0.0.1:${port}`] });
  const slow = await code(`import socket, time
s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(280); began = time.monotonic()
s.sendall(b"CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\nHost")
result = [s.recv(100).decode(), 10 < time.monotonic() - began]`, 'python', { timeout_seconds: 300 });
  assert.deepEqual(slow.result, ['', true], JSON.stringify(slow));
  const silent = await code(`import requests\nrequests.get("http://127.0.0.1:${port}/")`, 'python', { timeout_seconds: 2 });
  assert.equal(silent.exit, 'timeout', JSON.stringify(silent));
});

test('sallyport code takes hosts by --network, and a session keeps its network', async (t) => {
  const server = await http(t);
  const { run: code } = await startCode(t, { args: ['--network', `127.0.0.1:${server.port}`], env: { SALLYPORT_PYTHON: PYTHON } });
  for (const n of [1, 2]) {
    const answer = await code(`import requests\ns = globals().get("s") or requests.Session()\nresult = s.get("http://127.0.0.1:${server.port}/${n}").json()["path"]`, { session_id: 'a' });
    assert.equal(answer.result, `/${n}`, JSON.stringify(answer));
  }
});
