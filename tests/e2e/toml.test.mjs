// Every file of toml-test that counts for TOML 1.0: valid ones are read as the suite says, invalid ones are refused. The suite
// comes from Go's module proxy; a machine without Go has the cases of tests/unit/wire/test_toml.c.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { goModule, run, sallyport } from '../lib/index.mjs';

const SUITE = 'github.com/toml-lang/toml-test/v2@v2.2.0';

// Read by TOML, refused here, with what to do.
const REFUSED = ['refused valid/key/quoted-unicode.toml: line 2: a key holds U+0000; rename it'];

test('toml-test', async (t) => {
  const dir = await goModule(t, SUITE);
  if (!dir) return;
  const { code, stdout, stderr } = await run(join(dirname(sallyport), 'tests/unit/toml_suite'), [join(dir, 'tests')], { timeout: 120_000 });
  assert.equal(code, 0, stderr);
  const lines = stdout.trim().split('\n');
  const [, right, files] = /^(\d+) of (\d+)$/.exec(lines.pop());
  assert.deepEqual(lines, REFUSED);
  assert.equal(right - files, -REFUSED.length);
  assert.ok(files >= 600, `${files} files`);
});
