import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made = new Set();
process.on('exit', () => { for (const dir of made) rmSync(dir, { recursive: true, force: true }); });

// A directory that is gone when the test process is.
export function tempDir(name = 'sallyport') {
  const dir = mkdtempSync(join(tmpdir(), `${name}-`));
  made.add(dir);
  return dir;
}

export function tempFile(name, content) {
  const path = join(tempDir(), name);
  writeFileSync(path, content);
  return path;
}
