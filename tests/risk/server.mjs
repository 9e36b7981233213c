// A stdio server whose tools are the JSON of its first argument; prints a banner first, as some servers do.
import { createInterface } from 'node:readline';

const tools = JSON.parse(process.argv[2]);
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
