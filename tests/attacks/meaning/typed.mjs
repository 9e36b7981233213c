// Tools of the official TypeScript SDK that answer with what they received, after zod has parsed it. `coerce` in the third argument
// uses zod's own coercions, as loose as a server can be while its schema still says `number`.
import { readFileSync } from 'node:fs';
import { load } from '../../npm/load.mjs';

const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
const { StdioServerTransport } = await load('@modelcontextprotocol/sdk/server/stdio.js');
const { z } = await load('zod');

const from = process.argv[3] === 'coerce' ? z.coerce : z;
const KINDS = {
  integer: () => from.number().int(), number: () => from.number(), string: () => from.string(), boolean: () => from.boolean(),
  integers: () => z.array(from.number().int()), strings: () => z.array(from.string()), map: () => z.record(z.string(), from.number()),
  nested: () => z.object({ amount: from.number().int(), label: from.string().optional() }), either: () => z.union([z.string(), z.array(from.string())]),
};

const server = new McpServer({ name: 'typed', version: '1' });
for (const { name, params, defaults } of JSON.parse(readFileSync(process.argv[2]))) {
  const shape = Object.fromEntries(Object.entries(params).map(([param, kind]) => [param, param in defaults ? KINDS[kind]().default(defaults[param]) : KINDS[kind]().optional()]));
  server.registerTool(name, { inputSchema: shape }, (received) => ({ content: [{ type: 'text', text: JSON.stringify(received) }] }));
}
await server.connect(new StdioServerTransport());
