// The conformance suite against a language's own fixture, directly and through the gate on every route: no check may come out worse.
// Go publishes such a fixture in its SDK's module, Python in its source archive. Those over the other SDKs are our own: TypeScript's is
// the one of tests/conformance, Rust's and Java's take their definitions from conformance.json.
import { LEGACY, MODERN, freePort, policyFile, start, startGate, startServe } from '../lib/index.mjs';
import { count, serverSet, worse } from '../conformance/suite.mjs';

// Checks that may come out worse, and why.
const STREAM = 'the gate answers with JSON where nothing comes before the answer; a stream is optional';
const NO_POLLING = 'the tool closes the HTTP stream of its own call, and a stdio server has no such stream';
const EXCUSED = {
  'server-sse-multiple-streams': STREAM,
  'server-sse-polling': NO_POLLING,
};

// Of a server with sessions a modern client gets what the gate translates; directly it gets next to nothing.
const SESSIONS_CANNOT = {
  'sep-2322-multi-round-r2': 'in a legacy session the SDK asks the client itself and runs the tool once more, never a third time',
};

const config = (fx, prefix) => ({ version: '1', policy: policyFile(), code: { enabled: false }, ...(prefix && { prefix }), servers: { fx } });
const ROUTES = {
  'wrap --upstream': async ({ url }) => startGate({ upstream: url }),
  'wrap stdio': async ({ command }) => startGate({ command }),
  '/mcp': async ({ url }) => startServe({ config: config({ url }, 'never') }),
  '/mcp/fx': async ({ url }) => {
    const gate = await startServe({ config: config({ url }) });
    return Object.assign(gate, { url: `${gate.url}/fx` });
  },
};

const passed = ({ scenarios }) => Object.values(scenarios).reduce((sum, checks) => sum + count(checks, 'SUCCESS'), 0);

// `everything`: modes by name, each (port) => { command, env }; `ready`: the line that says that it listens, on `stream`; `stdio`: its command there.
// told({ mode, route, set, passed, direct, wrong }) for each run through the gate.
export async function runConformance(everything, told) {
  for (const [mode, open] of Object.entries(everything.modes)) {
    const port = await freePort();
    const { command: [program, ...args], env } = open(port);
    const server = start(program, args, { env: { ...process.env, ...env } });
    const fixture = { url: `http://127.0.0.1:${port}/mcp`, command: everything.stdio };
    try {
      await server.waitLine(everything.ready, { stream: everything.stream ?? 'stderr' });
      for (const set of [LEGACY, MODERN]) {
        const direct = await serverSet(fixture.url, set);
        for (const [route, through] of Object.entries(ROUTES)) {
          const gate = await through(fixture);
          try {
            const got = await serverSet(gate.url, set);
            const wrong = Object.entries(direct.scenarios).flatMap(([scenario, checks]) => {
              const lines = worse(checks, got.scenarios[scenario] ?? [], { excused: scenario in EXCUSED, cannot: mode === 'sessions' && set === MODERN ? SESSIONS_CANNOT : {} });
              return lines.length ? [`${scenario}\n${lines.join('\n')}`] : [];
            });
            told({ mode, route, set, direct: passed(direct), passed: passed(got), wrong });
          } finally {
            await gate.stop();
          }
        }
      }
    } finally {
      await server.stop();
    }
  }
}
