// Suites that a Go module carries, from the module proxy.
import { run } from './process.mjs';
import { tempDir } from './temp.mjs';

// The folder of a module (`path@version`), or null after a loud skip.
export async function goModule(t, module) {
  const got = await run('go', ['mod', 'download', '-json', module], { cwd: tempDir('go'), env: { GOFLAGS: '-mod=mod', GO111MODULE: 'on' }, timeout: 120_000 });
  const { Dir, Error } = got.code === 127 ? { Error: 'there is no Go here' } : JSON.parse(got.stdout || '{}');
  if (Dir) return Dir;
  console.error(`SKIPPED: ${module}: ${Error ?? got.stderr}`);
  t.skip(`SKIPPED LOUDLY: ${module}: ${Error ?? got.stderr}`);
  return null;
}
