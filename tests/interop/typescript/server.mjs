// The fixture of the interop matrix over the TypeScript SDK, on stdio and in both eras. python/server.py says the same.
import { load } from '../../npm/load.mjs';

const { McpServer, fromJsonSchema } = await load('@modelcontextprotocol/server');
const { serveStdio } = await load('@modelcontextprotocol/server/stdio');

function build() {
  const server = new McpServer({ name: 'interop', version: '1.0.0' }, { instructions: 'A fixture.' });
  server.registerTool('echo', { description: 'Says it again', inputSchema: fromJsonSchema({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }) },
    ({ text }) => ({ content: [{ type: 'text', text }] }));
  server.registerTool('fail', { description: 'Always fails' }, () => { throw new Error('on purpose'); });
  server.registerResource('note', 'test://note', { mimeType: 'text/plain' }, (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'a note' }] }));
  server.registerPrompt('greet', { description: 'A greeting', argsSchema: fromJsonSchema({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${name}!` } }] }));
  return server;
}

serveStdio(build, { legacy: 'serve' });
