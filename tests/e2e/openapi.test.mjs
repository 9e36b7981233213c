// The admin API against its own document: schemathesis asks a running gate everything that schemas/openapi.json allows and more; no answer is
// outside of its schema. Redocly finds no error in the document.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { callTool, cli, consoleWorld, node, packageFile, root, run, sanitized, tempDir, tempFile } from '../lib/index.mjs';

const document = join(root, 'schemas/openapi.json');

test('Redocly: no error', async () => {
  const program = packageFile('@redocly/cli/bin/cli.js');
  assert.ok(existsSync(program), 'npm packages of tests/npm are not installed: scripts/setup test');
  const { code, stdout, stderr } = await run(node, [program, 'lint', document, '--format=stylish'], { cwd: tempDir(), env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } });
  assert.equal(code, 0, stdout + stderr);
});

// Things that exist, so that the operations about them get further than to a 404.
function existing({ policy, approval }) {
  const rows = [['/servers/\\{server\\}/', 'server', 'shop'], ['/policies/\\{id\\}', 'id', policy], ['/approvals/\\{id\\}', 'id', approval], ['/audit/\\{seq\\}', 'seq', 1], ['/catalogue/(page|server)', 'name', 'DataGen']];
  return tempFile('schemathesis.toml', rows.map(([path, name, value]) => `[[operations]]\ninclude-path-regex = '${path}'\nparameters = { ${name} = ${JSON.stringify(value)} }\n`).join('\n'));
}

test('schemathesis with every role finds no answer outside of its schema and no failure of the gate', async (t) => {
  const program = join(root, 'tests/python/venv/bin/schemathesis');
  assert.ok(existsSync(program), 'Python packages of tests/python are not installed: scripts/setup test');
  const world = await consoleWorld(t, { settings: `pins: {lock: ${join(tempDir(), 'sallyport.lock')}}\n` });
  const made = await cli(['grants', 'create', 'everything', '--json', ...['admin', 'approver', 'policy-manager', 'viewer'].flatMap((role) => ['--role', role])], { env: world.env });
  const agent = await world.agent();
  await agent.exchange('tools/list');
  const { error } = await callTool(agent, 'create_refund', { amount: 1 });
  const [policy] = (await world.api('GET', 'policies')).json;
  const { code, stdout, stderr } = await run(program, ['--config-file', existing({ policy: policy.id, approval: error.data.approval_id }), 'run', document, '--url', world.origin, '-H', `Authorization: Bearer ${JSON.parse(made.stdout).token}`,
    '--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance',
    '--max-examples', sanitized ? '1' : '4', '--phases', sanitized ? 'fuzzing' : 'coverage,fuzzing', '--exclude-path-regex', 'audit/stream', '--seed', '1', '--no-color', '--suppress-health-check', 'all'], { cwd: tempDir(), timeout: 300_000 });
  assert.equal(code, 0, (stdout + stderr).slice(-4000));
  assert.match(stdout, /Tested: \d\d/);
  // No token opens this, and any body may be signed: the answer to a webhook.
  if (sanitized) return; // one example of each says little
  const refused = /returned only 401\/403 responses\n\n401[^\n]*\n((?: {2}- [^\n]*\n)*)/.exec(stdout)?.[1].trim().split(/\s*- /).filter(Boolean) ?? [];
  assert.deepEqual(refused.sort(), ['POST /api/v1/approvals/callback']);
});
