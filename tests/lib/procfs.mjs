// What the kernel says about a process: for leak and clean-up tests.
import { readdirSync, readFileSync } from 'node:fs';

export const fdCount = (pid) => readdirSync(`/proc/${pid}/fd`).length;

// In pages, as proc(5) has it.
export function statm(pid) {
  const [size, resident, shared] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ').map(Number);
  return { size, resident, shared };
}

export function rssBytes(pid) {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return kilobytes ? Number(kilobytes[1]) * 1024 : 0;
}

// How much a process may grow: a build with sanitizers (known by its terabytes of shadow) keeps what was freed.
export const mayGrow = (pid, bytes) => (statm(pid).size > 2 ** 28 ? bytes + (300 << 20) : bytes);

export function children(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((tid) =>
      readFileSync(`/proc/${pid}/task/${tid}/children`, 'utf8').split(' ').filter(Boolean).map(Number));
  } catch {
    return []; // ended while we looked
  }
}

export const descendants = (pid) => children(pid).flatMap((child) => [child, ...descendants(child)]);

// A zombie is not alive: it only waits to be reaped.
export function alive(pid) {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}
