// A disk that can fail, lose its power and be slow: tests/torture/disk.c, preloaded into a gate. See there for what each number does.
import { execFileSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sallyport, tempDir } from '../lib/index.mjs';

const FIELDS = ['fault_ppm', 'fault_errno', 'fault_ops', 'delay_ms', 'clock_s', 'loose_ppm', 'hold', 'active', 'writes', 'syncs', 'faults', 'delays', 'stall', 'stalled'];
export const OPS = { write: 1, sync: 2, open: 4, mmap: 8 };
export const ERRNO = { EIO: 5, ENOMEM: 12, ENOSPC: 28, EDQUOT: 122, short: 0 };

let library;
export function build() {
  if (!library) {
    library = join(tempDir(), 'disk.so');
    execFileSync('cc', ['-O1', '-fPIC', '-shared', '-D_GNU_SOURCE', '-o', library, fileURLToPath(new URL('disk.c', import.meta.url)), '-ldl', '-pthread']);
  }
  return library;
}

// A build with sanitizers brings its own versions of what is preloaded.
export const canPreload = () => statSync(sallyport).isFile() && !execFileSync('nm', ['-D', sallyport], { encoding: 'utf8' }).includes('__asan_init');

export class Disk {
  #file;

  constructor(home, { shadow } = {}) {
    this.home = home;
    this.shadow = shadow && join(tempDir(), 'shadow');
    if (this.shadow) mkdirSync(this.shadow, { mode: 0o700 });
    const control = join(tempDir(), 'control');
    this.#file = openSync(control, 'w+');
    writeSync(this.#file, Buffer.alloc(4096));
    this.env = { LD_PRELOAD: build(), TORTURE_CONTROL: control, TORTURE_HOME: home, ...(shadow && { TORTURE_SHADOW: this.shadow }) };
  }

  set(fields) {
    for (const [name, value] of Object.entries(fields)) {
      const bytes = Buffer.alloc(4);
      bytes.writeInt32LE(value);
      writeSync(this.#file, bytes, 0, 4, 4 * FIELDS.indexOf(name));
    }
  }

  get(name) {
    const bytes = Buffer.alloc(4);
    readSync(this.#file, bytes, 0, 4, 4 * FIELDS.indexOf(name));
    return bytes.readInt32LE();
  }

  // What a machine would find if its power had failed now. `whileHeld` runs at that moment.
  image(whileHeld = () => {}) {
    const copy = join(tempDir(), 'image');
    this.set({ hold: 1 });
    while (this.get('active')); // microseconds
    const seen = whileHeld();
    cpSync(this.shadow, copy, { recursive: true });
    this.set({ hold: 0 });
    return { copy, seen };
  }

  close() { closeSync(this.#file); }
}
