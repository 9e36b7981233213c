// What the kernel says about a process: for leak and clean-up tests.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

// Without those of databases, which a gate opens and closes when it has time for it.
export function fdCount(pid) {
  const target = (fd) => { try { return readlinkSync(`/proc/${pid}/fd/${fd}`); } catch { return ''; } };
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => !/\.sqlite(-\w+)?( \(deleted\))?$/.test(target(fd))).length;
}

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

// The name that a process gave itself, or that of its program.
export function processName(pid) {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

// Whether nothing is below a gate but its spawner, and below that its successor and, where given, these servers.
export function onlyHelpers(gate, ...servers) {
  const [spawner, ...more] = children(gate);
  const below = children(spawner), spares = below.filter((pid) => !servers.includes(pid));
  return more.length === 0 && processName(spawner) === 'sallyport-spawn' && below.length === servers.length + 1
    && processName(spares[0]) === 'sallyport-spare' && children(spares[0]).length === 0;
}

export function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}
