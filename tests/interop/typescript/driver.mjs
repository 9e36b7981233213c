// driver.mjs TARGET MODE: the steps of the interop matrix over the TypeScript SDK's client; see python/driver.py.
import { connect } from '../../lib/sdk.mjs';

const [target, mode] = [JSON.parse(process.argv[2]), process.argv[3]];
const { url, sse, command: [command, ...args] = [], env, prefix = '', uri = 'test://note' } = target;
const { client, close } = await connect('v2', { url, sse, command, args, env }, { negotiation: mode === 'legacy' ? 'legacy' : { pin: '2026-07-28' } });

const sorted = (value) => (Array.isArray(value) ? value.map(sorted)
  : value && typeof value === 'object' ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value);
const say = (step, value) => console.log(JSON.stringify(sorted({ step, ...value })));
async function take(step, work) {
  try { say(step, { result: await work() }); } catch (error) { say(step, { error: { code: error.code ?? null, message: error.message } }); }
}

await take('tools/list', () => client.listTools());
await take('call', () => client.callTool({ name: `${prefix}echo`, arguments: { text: 'grüße \u{1f600}' } }));
await take('call that fails', () => client.callTool({ name: `${prefix}fail`, arguments: {} }));
await take('call with wrong arguments', () => client.callTool({ name: `${prefix}echo`, arguments: { text: { no: 'text' } } }));
await take('call of no tool', () => client.callTool({ name: `${prefix}none`, arguments: {} }));
await take('resources/list', () => client.listResources());
await take('read', () => client.readResource({ uri }));
await take('prompts/list', () => client.listPrompts());
await take('prompt', () => client.getPrompt({ name: `${prefix}greet`, arguments: { name: 'Ada' } }));
await take('prompt that is none', () => client.getPrompt({ name: `${prefix}none`, arguments: {} }));
await take('call after that', () => client.callTool({ name: `${prefix}echo`, arguments: { text: 'still here' } }));
await close();
process.exit(0);
