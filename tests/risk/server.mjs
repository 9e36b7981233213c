// A stdio server whose tools are the JSON of its first argument; prints a banner first, as some servers do.
// With REACH set, one more tool reports whether that port on this machine could be reached. With CURIOUS set, it asks its
// client this and that before it lists, chatters in between, and lists one tool a page, the answers it got as the last.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const tools = JSON.parse(process.argv[2]);
if (process.env.REACH)
  tools.push(await new Promise((done) => {
    const socket = connect(Number(process.env.REACH), '127.0.0.1', () => { socket.end(); done({ name: 'reached' }); });
    socket.on('error', () => done({ name: 'alone' }));
  }));
console.log('a server, starting');
const questions = process.env.CURIOUS ? ['ping', 'roots/list', 'sampling/createMessage'] : [];
const got = {};
let waiting;
function page({ cursor = '0' } = {}) {
  if (!questions.length) return { tools };
  const all = [...tools, { name: 'answers', description: JSON.stringify(got) }];
  const next = Number(cursor) + 1;
  console.log('chatter', next);
  return { tools: [all[cursor]], ...(next < all.length && { nextCursor: String(next) }) };
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result, error } = JSON.parse(line);
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (id === undefined) continue;
  if (!method) {
    got[id] = result ?? error.code;
    if (Object.keys(got).length === questions.length) waiting?.();
    continue;
  }
  if (method === 'initialize')
    answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fixture', version: '1' }, instructions: process.argv[3] });
  else if (method === 'tools/list' && questions.length > Object.keys(got).length) {
    waiting = () => answer(page(params));
    for (const method of questions) console.log(JSON.stringify({ jsonrpc: '2.0', id: method, method, params: {} }));
  } else if (method === 'tools/list') answer(page(params));
  else console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }));
}
