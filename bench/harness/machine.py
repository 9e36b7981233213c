"""What the figures were measured on, and the load generator's build."""
import os
import platform
import re
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
BUILD = BENCH / "build"
SHARED = ["util.c"]
PROGRAMS = {
    "load": ["load.c", "load_run.c", "load_shape.c", "load_http.c", "load_stdio.c", "load_other.c", "client.c",
             "hist.c", "proc.c", "frame.c"] + SHARED,
    "echo": ["echo.c", "frame.c", "rpc.c"] + SHARED,
    "relay": ["relay.c", "proc.c"] + SHARED,
}
CFLAGS = ["-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra"]


def build_programs():
    BUILD.mkdir(exist_ok=True)
    headers = max(path.stat().st_mtime for path in BENCH.glob("*.h"))
    for name, sources in PROGRAMS.items():
        target = BUILD / name
        paths = [BENCH / source for source in sources]
        newest = max(headers, *(path.stat().st_mtime for path in paths))
        if target.exists() and target.stat().st_mtime >= newest:
            continue
        command = [os.environ.get("CC", "cc"), *CFLAGS, "-o", str(target), *map(str, paths)]
        subprocess.run(command, check=True)


def first_line(command, cwd=None):
    """What a version command says first, on either stream; None when there is no such program."""
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None


def cpu_model():
    match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    return match.group(1).strip() if match else platform.machine()


def memory_mb():
    match = re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.M)
    return int(match.group(1)) // 1024 if match else None


def distribution():
    try:
        match = re.search(r'^PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release").read_text(), re.M)
    except OSError:
        return None
    return match.group(1) if match else None


def is_virtual():
    return " hypervisor" in Path("/proc/cpuinfo").read_text()


def git_revision():
    revision = first_line(["git", "rev-parse", "--short=12", "HEAD"], ROOT)
    if not revision:
        return "none"
    changed = first_line(["git", "status", "--porcelain"], ROOT)
    return revision + (" with changes" if changed else "")


def filesystem_of(directory):
    """The audit log is written there, so its kind matters."""
    best = ("", "unknown")
    for line in Path("/proc/mounts").read_text().splitlines():
        fields = line.split()
        mount = fields[1].rstrip("/")
        if (str(directory) + "/").startswith(mount + "/") and len(mount) >= len(best[0]):
            best = (mount, fields[2])
    return best[1]


def steal_ticks():
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])


def describe(gate, work):
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "virtual": is_virtual(),
        "memory_mb": memory_mb(),
        "system": distribution(),
        "kernel": platform.release(),
        "audit_filesystem": filesystem_of(work),
        "load_average_before": round(os.getloadavg()[0], 2),
        "compiler": first_line([os.environ.get("CC", "cc"), "--version"]),
        "nginx": first_line(["nginx", "-v"]),
        "haproxy": (first_line(["haproxy", "-v"]) or "").split(" - ")[0] or None,
        "sallyport": first_line([str(gate), "version"]) if gate else None,
        "revision": git_revision(),
    }
