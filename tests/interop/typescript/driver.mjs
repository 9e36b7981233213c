// driver.mjs TARGET MODE: the steps of the interop matrix over the TypeScript SDK's client; see python/driver.py.
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../../lib/sdk.mjs';

const [target, mode] = [JSON.parse(process.argv[2]), process.argv[3]];
const { url, sse, command: [command, ...args] = [], env, prefix = '', uri = 'test://note', uris = '', steps } = target;
const LOG_LINES = 3; // of the suite's logging tool
let seen = [];

const handlers = {
  'sampling/createMessage': ({ params }) => {
    seen.push({ sampling: params.messages[0].content.text });
    return { role: 'assistant', content: { type: 'text', text: 'sampled' }, model: 'none' };
  },
  'elicitation/create': ({ params }) => {
    seen.push({ elicitation: params.message });
    if (params.message === 'decline') return { action: 'decline' };
    return { action: 'accept', content: Object.fromEntries(Object.keys(params.requestedSchema.properties).map((name) => [name, 'yes'])) };
  },
};
const { client, close } = await connect('v2', { url, sse, command, args, env },
  { negotiation: mode === 'legacy' ? 'legacy' : { pin: '2026-07-28' }, ...(steps === 'exchange' && { handlers }) });

const sorted = (value) => (Array.isArray(value) ? value.map(sorted)
  : value && typeof value === 'object' ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value);
const say = (step, value) => console.log(JSON.stringify(sorted({ step, ...value })));
async function take(step, work, events = 0) {
  seen = [];
  let said;
  try { said = { result: await work() }; } catch (error) { said = { error: { code: error.code ?? null, message: error.message } }; }
  for (let i = 0; i < 1000 && seen.length < events; i++) await delay(10); // the SDK may deliver a notification after the answer that it came before
  say(step, { ...said, ...(seen.length && { seen }) });
}

async function exchange() {
  client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => { seen.push({ level, data }); });
  const call = (name, args = {}, options) => client.callTool({ name: `${prefix}${name}`, arguments: args }, options);
  // This SDK drops progress that it reads together with the answer, with and without the gate. The last one may be read so.
  const onprogress = ({ progress, total, message }) => { if (progress < total) seen.push({ progress, total, message }); };
  await take('progress', () => call('test_tool_with_progress', {}, { onprogress }), 2);
  if (mode === 'legacy') await client.setLoggingLevel('debug');
  await take('log', () => client.callTool({ name: `${prefix}test_tool_with_logging`, arguments: {}, ...(mode !== 'legacy' && { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }) }), LOG_LINES);
  await take('sampling', () => call('test_sampling', { prompt: 'say it' }));
  await take('question', () => call('test_elicitation', { message: 'accept' }));
  await take('question that is declined', () => call('test_elicitation', { message: 'decline' }));
  await take('input required', () => call('test_input_required_result_elicitation'));
  await take('call that fails', () => call('test_error_handling'));
  await take('read of nothing', () => client.readResource({ uri: `${uris}test://nothing` }));
  await take('prompt with a resource', () => client.getPrompt({ name: `${prefix}test_prompt_with_embedded_resource`, arguments: { resourceUri: 'test://example' } }));
  await take('call after that', () => call('test_simple_text'));
}

async function basic() {
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
}

await (steps === 'exchange' ? exchange() : basic());
await close();
process.exit(0);
