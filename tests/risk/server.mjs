// A stdio server whose tools are the JSON of its first argument; prints a banner first, as some servers do.
// With REACH set, one more tool tells whether that port on this machine could be reached.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const tools = JSON.parse(process.argv[2]);
if (process.env.REACH)
  tools.push(await new Promise((done) => {
    const socket = connect(Number(process.env.REACH), '127.0.0.1', () => { socket.end(); done({ name: 'reached' }); });
    socket.on('error', () => done({ name: 'alone' }));
  }));
console.log('a server, starting');
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (id === undefined) continue;
  if (method === 'initialize')
    answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fixture', version: '1' }, instructions: process.argv[3] });
  else if (method === 'tools/list') answer({ tools });
  else console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }));
}
