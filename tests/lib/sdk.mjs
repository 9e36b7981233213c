// The SDKs' clients, made and ended alike. target: { url, headers } for HTTP (options: the transport's own), { sse } for the 2024
// transport, { command, args, env } for stdio.
import { load } from '../npm/load.mjs';
import { FINDING } from './gate.mjs';

const v1 = (path) => load(`@modelcontextprotocol/sdk/client/${path}.js`);

const SDKS = {
  v1: {
    client: () => v1('index'), http: () => v1('streamableHttp'), sse: () => v1('sse'), stdio: () => v1('stdio'),
    method: async (name) => {
      const types = await load('@modelcontextprotocol/sdk/types.js');
      return { 'sampling/createMessage': types.CreateMessageRequestSchema, 'elicitation/create': types.ElicitRequestSchema,
        'roots/list': types.ListRootsRequestSchema }[name];
    },
  },
  v2: {
    client: () => load('@modelcontextprotocol/client'), http: () => load('@modelcontextprotocol/client'),
    sse: () => load('@modelcontextprotocol/client'), stdio: () => load('@modelcontextprotocol/client/stdio'),
    method: async (name) => name,
  },
};

async function transportTo(sdk, { url, sse, headers, options, command, args, env }) {
  if (url) return new (await sdk.http()).StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, ...options });
  if (sse) return new (await sdk.sse()).SSEClientTransport(new URL(sse));
  const { StdioClientTransport, getDefaultEnvironment } = await sdk.stdio();
  return new StdioClientTransport({ command, args, env: { ...getDefaultEnvironment(), ...env }, stderr: 'pipe' });
}

// negotiation (v2 only): undefined, 'auto', 'legacy' or { pin: version }.
// handlers: { 'sampling/createMessage': (request) => result, … }; they set the capabilities too.
export async function connect(version, target, { negotiation, handlers = {} } = {}) {
  const sdk = SDKS[version];
  const { Client } = await sdk.client();
  const capabilities = {};
  for (const method of Object.keys(handlers)) capabilities[method.split('/')[0]] = {};
  const client = new Client({ name: `sallyport-tests-${version}`, version: '1.0.0' },
    { capabilities, ...(negotiation && { versionNegotiation: { mode: negotiation } }) });
  for (const [method, handler] of Object.entries(handlers)) client.setRequestHandler(await sdk.method(method), handler);

  const transport = await transportTo(sdk, target);
  let stderr = '';
  transport.stderr?.on('data', (chunk) => { stderr += chunk; });
  try {
    await client.connect(transport);
  } catch (error) {
    error.message += `\n--- stderr\n${stderr.slice(-3000)}`;
    throw error;
  }
  return {
    client,
    tools: async () => (await client.listTools()).tools,
    call: (name, args = {}, options) => (version === 'v1'
      ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options)),
    text: async (name, args) => {
      const { content } = await client.callTool({ name, arguments: args });
      return content.map((part) => part.text).join('');
    },
    async close() {
      await client.close();
      if (FINDING.test(stderr)) throw new Error(`a finding in ${target.command}\n${stderr}`);
    },
  };
}
