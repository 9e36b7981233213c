// The client that the conformance suite drives: client.mjs URL
//
//   CLIENT_SDK   v1 or v2 (default)      which SDK is used
//   CLIENT_ERA   legacy or modern        default: the era of the revision under test
//   CLIENT_VIA   gate or direct          with gate, one is put between client and suite
//
// The suite names the scenario in MCP_CONFORMANCE_SCENARIO and judges what arrives at its own
// server; the suite, not this program, decides whether a client leg passed.
import { load } from '../npm/load.mjs';
import { startGate } from '../lib/gate.mjs';
import { MODERN } from '../lib/rpc.mjs';

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const sdk = process.env.CLIENT_SDK ?? 'v2';
const era = process.env.CLIENT_ERA ?? (process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === MODERN ? 'modern' : 'legacy');

// Ends before the suite's time-out: killed from outside, it would leave its gate behind.
setTimeout(() => { console.error('out of time'); process.exit(1); }, Number(process.env.CLIENT_TIMEOUT_MS ?? 110_000)).unref();

const info = { name: 'sallyport-conformance-client', version: '1.0.0' };
const capabilities = { sampling: {}, roots: {}, elicitation: { form: { applyDefaults: true } } };

// The SDK asks for the standing stream and waits for no answer, and the suite's servers forget what they would say on a stream
// that is not open yet; so nothing is called before it is.
function listening() {
  let heard;
  const answered = new Promise((resolve) => { heard = resolve; });
  const fetchAndTell = (url, init) => {
    const response = fetch(url, init);
    if (init?.method === 'GET') response.then(heard, heard);
    return response;
  };
  return { answered, fetch: fetchAndTell };
}

async function connect(url, onElicit) {
  const module = await load(sdk === 'v2' ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = sdk === 'v2' ? module
    : await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const versionNegotiation = era === 'modern' ? { mode: 'auto' } : { mode: 'legacy' };
  const client = new module.Client(info, { capabilities, ...(sdk === 'v2' && { versionNegotiation }) });
  if (onElicit) {
    const method = sdk === 'v2' ? 'elicitation/create'
      : (await load('@modelcontextprotocol/sdk/types.js')).ElicitRequestSchema;
    client.setRequestHandler(method, () => onElicit(client));
  }
  const standing = listening();
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: standing.fetch }));
  if (era === 'legacy') await standing.answered;
  return client;
}

const call = (client, name, args = {}) => client.callTool({ name, arguments: args });

// A value that the schema's own types accept, for tools that only want to be called.
function sampleArguments({ properties = {} }) {
  const values = { string: 'us-west1', integer: 1, number: 1, boolean: true, array: [], object: {}, null: null };
  return Object.fromEntries(Object.entries(properties).map(([name, { type }]) => [name, values[type] ?? 'x']));
}

async function everyTool(client) {
  const { tools } = await client.listTools();
  for (const tool of tools) await call(client, tool.name, sampleArguments(tool.inputSchema));
}

async function everything(client) {
  await everyTool(client);
  for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
  for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name, arguments: {} });
}

// An unrelated call while another one waits for its input: the two must not mix.
function elicitBesideAnotherCall() {
  let asked = false;
  return async (client) => {
    if (!asked) {
      asked = true;
      await call(client, 'test_mrtr_unrelated');
    }
    return { action: 'accept', content: { confirmed: true } };
  };
}

const scenarios = {
  initialize: [(client) => client.listTools()],
  tools_call: [async (client) => {
    await client.listTools();
    await call(client, 'add_numbers', { a: 5, b: 3 });
  }],
  'sse-retry': [async (client) => {
    await client.listTools();
    await call(client, 'test_reconnection');
  }],
  'elicitation-sep1034-client-defaults': [
    (client) => call(client, 'test_client_elicitation_defaults'), () => ({ action: 'accept', content: {} })],
  'request-metadata': [(client) => client.listTools()],
  'http-standard-headers': [everything],
  'http-custom-headers': [async (client) => {
    await client.listTools();
    for (const { name, arguments: args } of context.toolCalls) await call(client, name, args);
  }],
  'http-invalid-tool-headers': [everyTool],
  'sep-2322-client-request-state': [async (client) => {
    await client.listTools();
    await call(client, 'test_mrtr_echo_state');
    await call(client, 'test_mrtr_no_state');
    // SDK v2 refuses a modern result without a resultType, which this tool returns on purpose;
    // the suite looks only at whether the client tries again.
    await call(client, 'test_mrtr_no_result_type').catch(() => {});
  }, elicitBesideAnotherCall()],
  'json-schema-2020-12-preservation': [async (client) => {
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find((tool) => tool.name === 'json_schema_2020_12_tool');
    await call(client, 'json_schema_echo', { schema: inputSchema });
  }],
  'json-schema-ref-no-deref': [(client) => client.listTools()],
};

if (!scenarios[scenario]) throw new Error(`no such scenario here: ${scenario}`);
const [drive, onElicit] = scenarios[scenario];
const target = process.argv.at(-1);
const gate = process.env.CLIENT_VIA === 'gate' ? await startGate({ upstream: target }) : undefined;
try {
  const client = await connect(gate?.url ?? target, onElicit);
  await drive(client);
  await client.close();
} catch (error) {
  if (gate) console.error(gate.child.describe());
  throw error;
} finally {
  await gate?.stop();
}
process.exit(0); // an SSE stream that the SDK left open must not keep the scenario waiting
