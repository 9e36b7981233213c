// The admin API against its own document: schemathesis asks a running gate everything that schemas/openapi.json allows and more; no answer is
// outside of its schema. Redocly finds no error in the document.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { callTool, consoleWorld, node, packageFile, root, run, sanitized, tempDir } from '../lib/index.mjs';

const document = join(root, 'schemas/openapi.json');

test('Redocly: no error', async () => {
  const program = packageFile('@redocly/cli/bin/cli.js');
  assert.ok(existsSync(program), 'npm packages of tests/npm are not installed: scripts/setup test');
  const { code, stdout, stderr } = await run(node, [program, 'lint', document, '--format=stylish'], { cwd: tempDir(), env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } });
  assert.equal(code, 0, stdout + stderr);
});

test('schemathesis: no answer outside of its schema, no failure of the gate', async (t) => {
  const program = join(root, 'tests/python/venv/bin/schemathesis');
  assert.ok(existsSync(program), 'Python packages of tests/python are not installed: scripts/setup test');
  const world = await consoleWorld(t);
  const agent = await world.agent();
  await agent.exchange('tools/list');
  await callTool(agent, 'create_refund', { amount: 1 });
  const { code, stdout, stderr } = await run(program, ['run', document, '--url', world.origin, '-H', `Authorization: Bearer ${world.tokens.boss}`,
    '--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance',
    '--max-examples', sanitized ? '1' : '4', '--phases', sanitized ? 'fuzzing' : 'coverage,fuzzing', '--exclude-path-regex', 'audit/stream', '--seed', '1', '--no-color', '--suppress-health-check', 'all'], { cwd: tempDir(), timeout: 300_000 });
  assert.equal(code, 0, (stdout + stderr).slice(-4000));
  assert.match(stdout, /Tested: \d\d/);
});
