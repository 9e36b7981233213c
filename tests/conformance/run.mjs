// The public conformance suite, on our fixture directly and then through the gate: a check may
// come out better through the gate, never worse.
//
//   CONFORMANCE_LEGS=A,B,client   which legs to run; the default is below
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  LEGACY, LegacyHttp, MODERN, ModernHttp, fixture, node, packages, policyFile, sallyport, sanitized, startFixture, startGate, startHaproxy, startServe, tempDir,
} from '../lib/index.mjs';
import { certificates } from '../lib/certificates.mjs';
import { count, serverSet, suite, worse } from './suite.mjs';

// How many scenarios each set has in the pinned version, scored or not.
const SCENARIO_COUNT = { [LEGACY]: 33, [MODERN]: 50 };

// The tasks extension is not in the SDK that the fixture stands on.
const UNSUPPORTED = /^tasks-/;

// Scenarios that need something a stdio server cannot do, or that the gate may do otherwise. They must not
// fail, but may show less.
const STDIO_CANNOT = {
  'server-sse-multiple-streams': 'the gate answers with JSON where nothing comes before the answer; a stream is optional',
  'server-sse-polling': 'the tool closes the HTTP stream of its own call, and a stdio server has no such stream',
};

// What a server of one era cannot say at all, so that no gate could pass it on: CHECK_ID → why. docs/protocol.md
// has the same list.
const NO_NAMES = 'requests of the legacy era have no names, so the gate makes them up; this check looks for the server\'s own';
const LEGACY_CANNOT = {
  'sep-2322-elicitation-incomplete': NO_NAMES,
  'sep-2322-elicitation-complete': NO_NAMES,
  'sep-2322-ignore-unexpected-params': NO_NAMES,
};
const MODERN_CANNOT = {
  'server-sse-priming-event': 'the tool closes the stream of its own call, which the modern era has no way to do',
  'server-sse-retry-field': 'the same',
  'server-sse-disconnect-resume': 'the same',
  'server-sse-streams-functional': STDIO_CANNOT['server-sse-multiple-streams'],
};

const LEGS = {
  A: { title: 'HTTP fixture behind the gate', transport: 'http', era: 'dual', sets: [LEGACY, MODERN] },
  B: { title: 'stdio fixture behind the gate', transport: 'stdio', era: 'dual', sets: [LEGACY, MODERN], excused: STDIO_CANNOT },
  C: { title: 'legacy fixture, modern client', transport: 'http', era: 'legacy', sets: [MODERN], cannot: LEGACY_CANNOT },
  D: { title: 'modern fixture, legacy client', transport: 'http', era: 'modern', sets: [LEGACY], cannot: MODERN_CANNOT },
};
// The same through `serve` with a second server beside the fixture: all at one endpoint without prefixes (the suite knows the
// fixture's own names only), and the fixture at its own.
Object.assign(LEGS, {
  E: { title: 'two servers behind serve, at one endpoint', transport: 'http', era: 'dual', sets: [LEGACY, MODERN], endpoint: '/mcp', excused: STDIO_CANNOT },
  F: { title: 'two servers behind serve, the fixture at its own', transport: 'http', era: 'dual', sets: [LEGACY, MODERN], endpoint: '/mcp/fixture' },
  // haproxy deals every request to the next gate, and no gate has more than a part of the sessions.
  G: { title: 'three gates of two workers behind haproxy', transport: 'http', era: 'dual', sets: [LEGACY, MODERN], startWith: startFleet },
});
const wanted = (process.env.CONFORMANCE_LEGS ?? 'A,B,C,D,E,F,G,client,cross,login,code').split(',');

async function startBoth(url, endpoint) {
  const gate = await startServe({ config: { version: '1', policy: policyFile(), prefix: 'never',
    servers: { fixture: { url }, thinking: { command: node, args: [packages.sequentialThinking] } } } });
  return Object.assign(gate, { url: `${gate.origin}${endpoint}` });
}

async function startFleet(url) {
  const { file, authority, certificate } = certificates(tempDir('conformance-fleet'));
  // Addresses of the loopback that no other test has: a port cannot be taken in between.
  const network = `127.${1 + Math.floor(Math.random() * 253)}.${Math.floor(Math.random() * 255)}`;
  const nodes = [1, 2, 3].map((n) => `${network}.${n}:9443`);
  const key = join(tempDir(), 'request_state.key'), gates = [];
  await authority('ca');
  for (const [n, listen] of nodes.entries()) {
    await certificate(`node${n}`, 'ca', `subjectAltName=IP:${listen.split(':')[0]}`);
    const fleet = { listen, nodes, cert: file(`node${n}.pem`), key: file(`node${n}.key`), ca: file('ca.pem') };
    gates.push(await startServe({ args: ['--no-auth', '--workers', '2'], config: { version: '1', policy: policyFile(), servers: { fixture: { url } }, request_state: { key }, fleet } }));
  }
  const proxy = await startHaproxy(gates.map(({ port }) => [port]), { http: 'http-reuse never' });
  return {
    url: `${proxy.origin}/mcp/fixture`,
    get stderr() { return gates.map(({ stderr }) => stderr).join('--- next gate\n'); },
    async stop() { await proxy.stop(); for (const gate of gates) await gate.stop(); },
  };
}

// Scenario → the checks that a known-good client collects there.
const CLIENT_SCENARIOS = {
  [LEGACY]: { initialize: 1, tools_call: 2, 'sse-retry': 3, 'elicitation-sep1034-client-defaults': 5 },
  [MODERN]: {
    tools_call: 2, 'request-metadata': 8, 'http-standard-headers': 9, 'http-custom-headers': 18, 'http-invalid-tool-headers': 12,
    'sep-2322-client-request-state': 5, 'json-schema-2020-12-preservation': 9, 'json-schema-ref-no-deref': 1,
  },
};

function clientScenario(scenario, version, env) {
  return suite(['client', '--command', 'node tests/conformance/client.mjs', '--scenario', scenario, '--spec-version', version], env);
}

const startEra = (era) => startFixture('conformance.mjs', '--era', era);

// What the suite takes on trust: that the answers are the fixture's own and not, say, a denial
// that happens to be a text. Both eras, as a client sees it.
// Some come and go with the scenarios before; one is the second server's.
const lasting = ({ name }) => !name.startsWith('test_extra') && name !== 'sequentialthinking';

async function surface(url) {
  const legacy = await LegacyHttp.open(url);
  const seen = {};
  for (const [era, client] of [['legacy', legacy], ['modern', new ModernHttp(url)]]) {
    seen[era] = {
      tools: (await client.request('tools/list')).tools.filter(lasting),
      resources: (await client.request('resources/list')).resources,
      prompts: (await client.request('prompts/list')).prompts.filter(lasting),
      text: (await client.call('test_simple_text')).content,
      region: era === 'modern'
        ? (await client.call('test_x_mcp_header', { region: 'eu' }, { headers: { 'Mcp-Param-Region': 'eu' } })).content
        : (await client.call('test_x_mcp_header', { region: 'eu' })).content,
    };
  }
  await legacy.end();
  return seen;
}

/* ---- the direct run, which everything else is measured against ---- */

const direct = {};

describe('conformance, direct', () => {
  let server;
  before(async () => { server = await startEra('dual'); });
  after(() => server?.stop());

  for (const set of [LEGACY, MODERN]) {
    test(`server ${set}`, async () => {
      const result = direct[set] = await serverSet(server.url, set);
      assert.equal(result.code, 0, result.stdout.slice(-4000));
      assert.equal(Object.keys(result.scenarios).length, SCENARIO_COUNT[set]);
      for (const [scenario, checks] of Object.entries(result.scenarios)) {
        if (UNSUPPORTED.test(scenario)) continue;
        assert.ok(count(checks, 'SUCCESS') > 0, `${scenario} checked nothing`);
        const bad = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
        assert.deepEqual(bad.map((check) => `${check.id}: ${check.errorMessage}`), [], scenario);
      }
    });
  }

  test('the surface', async () => { direct.surface = await surface(server.url); });
});

/* ---- server legs ---- */

for (const name of wanted.filter((leg) => leg in LEGS)) {
  const { title, transport, era, sets, endpoint, startWith, excused = {}, cannot = {} } = LEGS[name];
  describe(`conformance leg ${name}: ${title}`, () => {
    let server;
    let gate;
    before(async () => {
      if (transport === 'http') {
        server = await startEra(era);
        gate = startWith ? await startWith(server.url) : endpoint ? await startBoth(server.url, endpoint) : await startGate({ upstream: server.url });
      } else {
        gate = await startGate({ command: [node, fixture('conformance.mjs'), '--stdio', '--era', era] });
      }
    });
    after(async () => {
      await gate?.stop();
      await server?.stop();
    });

    for (const set of sets) {
      test(`server ${set}`, async (t) => {
        assert.ok(direct[set]?.scenarios, 'there is a direct run to compare with');
        const result = await serverSet(gate.url, set);
        const gateSays = `\n--- gate\n${gate.stderr.slice(-3000)}`;
        assert.deepEqual(Object.keys(result.scenarios).sort(), Object.keys(direct[set].scenarios).sort(),
          `other scenarios ran than directly${gateSays}`);
        for (const [scenario, checks] of Object.entries(direct[set].scenarios)) {
          await t.test(scenario, () => {
            const lines = worse(checks, result.scenarios[scenario], { excused: scenario in excused, cannot });
            if (lines.length > 0) assert.fail(`worse through the gate\n${lines.join('\n')}`);
          });
        }
        const expected = Object.values(cannot).includes(NO_NAMES) ? 1 : 0; // the suite counts what cannot be
        assert.equal(result.code, expected, `exit status of the suite\n${result.stdout.slice(-3000)}${gateSays}`);
      });
    }

    test('tools, resources and prompts are those of the fixture', async () => {
      const seen = await surface(gate.url);
      for (const key of Object.keys(seen)) assert.deepEqual(seen[key], direct.surface[key], `${key} clients see something else`);
    });
  });
}

/* ---- the built-in code server: tasks and skills ---- */

// The suite names the tools that it calls: skills that the operator offers as tools. With next to no wait every call of one
// becomes a task.
const SKILLS = {
  greet: 'def main(name="world"):\n    return f"Hello, {name}!"\n',
  slow_compute: 'import time\ndef main(seconds=0, **more):\n    time.sleep(seconds)\n    return {"seconds": seconds}\n',
  failing_job: 'import time\ndef main(**more):\n    time.sleep(1)\n    raise ValueError("on purpose")\n',
};
const NO_SUCH_TOOL = 'wants a tool that code cannot be: it breaks the protocol, asks the user or insists on being a task';
const NOT_AT_ONCE = 'wants a call to be answered at once, which a clock would decide';
const CODE_SCENARIOS = {
  'tasks-lifecycle': { 'tasks-sync-tool-call': NOT_AT_ONCE, 'sep-2663-tasks-get-status-failed': NO_SUCH_TOOL },
  'tasks-capability-negotiation': {},
  'tasks-wire-fields': {},
  'tasks-dispatch-and-envelope': {
    'tasks-result-type-complete-on-non-task-responses': NO_SUCH_TOOL, 'sep-2663-legacy-task-param-ignored': NOT_AT_ONCE, 'tasks-immediate-result-shortcut': NOT_AT_ONCE,
  },
  'tasks-request-headers': { 'tasks-headers-tolerate-mcp-method-on-tools-call': NOT_AT_ONCE },
  'tasks-request-state-removal': {},
  'sep-2640-skills-enumeration': {},
  'sep-2640-skills-manifest': {},
  'sep-2640-skills-directory': { 'sep-2640-directory-read-subdir-mimetype': 'a skill is one file, so there is no directory in it' },
};

if (wanted.includes('code')) {
  describe('conformance: the built-in code server', { concurrency: 2 }, () => {
    let gate;
    before(async () => {
      const home = join(tempDir(), 'home'), shared = join(home, 'code', 'shared', 'skills');
      mkdirSync(shared, { recursive: true });
      for (const [name, code] of Object.entries(SKILLS)) {
        writeFileSync(join(shared, `${name}.py`), code);
        writeFileSync(join(shared, `${name}.json`), JSON.stringify({ name, description: name, language: 'python', input_schema: { type: 'object' } }));
      }
      gate = await startGate({ command: ['env', `SALLYPORT_HOME=${home}`, sallyport, 'code', '--wait', '1ms'] });
    });
    after(() => gate?.stop());

    for (const [scenario, cannot] of Object.entries(CODE_SCENARIOS)) {
      test(scenario, async () => {
        const result = await suite(['server', '--url', gate.url, '--scenario', scenario]);
        const checks = (result.scenarios[scenario] ?? []).filter(({ id }) => !(id in cannot));
        const bad = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
        assert.deepEqual(bad.map((check) => `${check.id}: ${check.errorMessage}`), [], result.stdout.slice(-3000));
        assert.ok(count(checks, 'SUCCESS') > 1, `${scenario} checked nothing\n${result.stdout.slice(-3000)}`);
      });
    }
  });
}

/* ---- client legs: the gate's upstream face ---- */

// In 'client' both ends use the same era. In 'cross' they do not, so that everything the suite
// looks for must be the gate's own making. 'client-direct' is the client without a gate.
const CLIENT_LEGS = {
  client: { title: 'same era', env: () => ({ CLIENT_VIA: 'gate' }) },
  cross: {
    title: 'other era',
    env: (version) => ({ CLIENT_VIA: 'gate', ...(version === MODERN ? { CLIENT_SDK: 'v1', CLIENT_ERA: 'legacy' } : { CLIENT_ERA: 'modern' }) }),
  },
  'client-direct': { title: 'direct', env: () => ({ CLIENT_VIA: 'direct' }) },
};

for (const name of wanted.filter((leg) => leg in CLIENT_LEGS)) {
  const { title, env } = CLIENT_LEGS[name];
  describe(`conformance client leg: ${title}`, { concurrency: 2 }, () => {
    for (const [version, scenarios] of Object.entries(CLIENT_SCENARIOS)) {
      for (const [scenario, expected] of Object.entries(scenarios)) {
        test(`${scenario} ${version}`, async () => {
          const result = await clientScenario(scenario, version, env(version));
          const said = `\n--- the suite\n${result.stdout.slice(-4000)}\n--- client and gate\n${result.stderr.slice(-4000)}`;
          const checks = result.scenarios[scenario] ?? [];
          const bad = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
          assert.deepEqual(bad.map((check) => `${check.id}: ${check.errorMessage}`), [], said);
          assert.equal(count(checks, 'SUCCESS'), expected, `checks passed${said}`);
          assert.equal(result.code, 0, said);
        });
      }
    }
  });
}

/* ---- logins: the gate as an OAuth client ---- */

// Every authorization scenario of the suite that is no extension. `sallyport login` is run as the gate's own error says.
const LOGIN_SCENARIOS = {
  [MODERN]: [
    'metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'scope-from-www-authenticate',
    'scope-from-scopes-supported', 'scope-omitted-when-undefined', 'scope-step-up', 'scope-retry-limit', 'token-endpoint-auth-basic',
    'token-endpoint-auth-post', 'token-endpoint-auth-none', 'pre-registration', 'resource-mismatch', 'offline-access-scope',
    'offline-access-not-supported', 'authorization-server-migration', 'iss-supported', 'iss-not-advertised', 'iss-supported-missing',
    'iss-wrong-issuer', 'iss-unexpected', 'iss-normalized', 'metadata-issuer-mismatch',
  ],
  '2025-03-26': ['2025-03-26-oauth-metadata-backcompat', '2025-03-26-oauth-endpoint-fallback'],
};

if (wanted.includes('login') && !sanitized) { // tests/e2e/login covers it there
  describe('conformance: sallyport login', { concurrency: 2 }, () => {
    for (const [version, scenarios] of Object.entries(LOGIN_SCENARIOS)) {
      for (const scenario of scenarios) {
        test(scenario, async () => {
          const result = await suite(['client', '--command', 'node tests/conformance/login.mjs', '--scenario', `auth/${scenario}`, '--spec-version', version]);
          const said = `\n--- the suite\n${result.stdout.slice(-4000)}\n--- client and gate\n${result.stderr.slice(-4000)}`;
          const checks = result.scenarios[scenario] ?? [];
          const bad = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
          assert.deepEqual(bad.map((check) => `${check.id}: ${check.errorMessage ?? check.description}`), [], said);
          assert.ok(count(checks, 'SUCCESS') > 0, `${scenario} checked nothing${said}`);
          assert.equal(result.code, 0, said);
        });
      }
    }
  });
}
