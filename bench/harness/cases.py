"""What is measured: the table of cases, and how one case runs against one subject."""
import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.request
from dataclasses import dataclass

from . import features
from .machine import BUILD
from .subjects import LOAD_CPU, PROXY_CPU, StartError, echo_pin, free_port, missing, move_to

KB10 = 10 * 1024
MB1 = 1024 * 1024
PROXIES = ("direct", "sallyport", "nginx", "nginx default", "haproxy http", "haproxy tcp")
LEAST = ("direct", "sallyport", "nginx", "haproxy tcp")
FEATURES = ("sallyport", *features.FEATURES)
PIPES = ("direct", "sallyport", "relay")
LOAD_GRACE_SECONDS = 60


def slowest_ms(url, asks=10, patience_s=30):
    """The slowest of several answers, behind a first one that may find nothing warm."""
    end, times = time.monotonic() + patience_s, []
    while len(times) <= asks:
        start = time.monotonic()
        try:
            with urllib.request.urlopen(url, timeout=patience_s) as answer:
                answer.read()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
            continue
        times.append((time.monotonic() - start) * 1000)
    return round(max(times[1:]), 1)


@dataclass(frozen=True)
class Case:
    key: str
    group: str
    title: str
    kind: str  # http | stdio
    in_flight: int
    bytes: int
    subjects: tuple
    one_cpu: bool = False
    options: tuple = ()


CASES = [
    Case("http-200-c16", "http", "HTTP, 200 B, 16 connections", "http", 16, 200, PROXIES),
    Case("http-200-c128", "http", "HTTP, 200 B, 128 connections", "http", 128, 200, PROXIES),
    Case("http-200-s128", "http", "HTTP, 200 B, 128 connections with a session each", "http", 128, 200,
         ("direct", "sallyport", "nginx"), options=("--sessions", "128")),
    Case("http-10k-c16", "http", "HTTP, 10 KB, 16 connections", "http", 16, KB10, PROXIES),
    Case("http-10k-c128", "http", "HTTP, 10 KB, 128 connections", "http", 128, KB10, LEAST),
    Case("http-1m-c1", "http", "HTTP, 1 MB, one at a time", "http", 1, MB1, LEAST),
    Case("http-1m-c16", "http", "HTTP, 1 MB, 16 connections", "http", 16, MB1, PROXIES),
    Case("http-1m-c128", "http", "HTTP, 1 MB, 128 connections", "http", 128, MB1, LEAST),
    Case("http-modern-c16", "modern", "HTTP, 2026-07-28, 200 B, 16 connections", "http", 16, 200,
         LEAST, options=("--era", "modern")),
    Case("http-200-c1", "latency", "HTTP, 200 B, one at a time", "http", 1, 200, PROXIES),
    Case("http-200-c1-one", "latency", "HTTP, 200 B, one at a time, all on one CPU", "http", 1, 200, PROXIES,
         one_cpu=True),
    Case("http-denied-c16", "denied", "HTTP, 200 B, 16 connections, denied by policy", "http", 16, 200,
         ("sallyport",), options=("--tool", "forbidden", "--expect", "denied")),
    Case("http-bare-c16", "bare", "HTTP, 200 B, 16 connections, a policy without rules", "http", 16, 200,
         ("sallyport", "sallyport bare")),
    Case("http-durable-c16", "durable", "HTTP, 200 B, 16 connections, durable audit", "http", 16, 200,
         ("sallyport", "sallyport durable")),
    Case("http-durable-c128", "durable", "HTTP, 200 B, 128 connections, durable audit", "http", 128, 200,
         ("sallyport", "sallyport durable")),
    Case("stdio-200-n1", "stdio", "stdio, 200 B, one at a time", "stdio", 1, 200, PIPES),
    Case("stdio-200-n1-one", "stdio", "stdio, 200 B, one at a time, all on one CPU", "stdio", 1, 200, PIPES,
         one_cpu=True),
    Case("stdio-200-n16", "stdio", "stdio, 200 B, 16 in flight", "stdio", 16, 200, PIPES),
    Case("stdio-200-n128", "stdio", "stdio, 200 B, 128 in flight", "stdio", 128, 200, PIPES),
    Case("stdio-10k-n16", "stdio", "stdio, 10 KB, 16 in flight", "stdio", 16, KB10, PIPES),
    Case("stdio-1m-n1", "stdio", "stdio, 1 MB, one at a time", "stdio", 1, MB1, PIPES),
    Case("bridge-in-200-c16", "bridge", "HTTP to a stdio server, 200 B, 16 connections", "http", 16, 200,
         ("sallyport to stdio",)),
    Case("bridge-in-10k-c16", "bridge", "HTTP to a stdio server, 10 KB, 16 connections", "http", 16, KB10,
         ("sallyport to stdio",)),
    Case("bridge-in-1m-c1", "bridge", "HTTP to a stdio server, 1 MB, one at a time", "http", 1, MB1,
         ("sallyport to stdio",)),
    Case("bridge-out-200-n1", "bridge", "stdio to an HTTP server, 200 B, one at a time", "stdio", 1, 200,
         ("sallyport to http",)),
    Case("bridge-out-200-n16", "bridge", "stdio to an HTTP server, 200 B, 16 in flight", "stdio", 16, 200,
         ("sallyport to http",)),
    Case("eras-legacy-c16", "eras", "a client of 2025-11-25, HTTP, 200 B, 16 connections", "http", 16, 200,
         ("sallyport to legacy", "sallyport to modern")),
    Case("eras-modern-c16", "eras", "a client of 2026-07-28, HTTP, 200 B, 16 connections", "http", 16, 200,
         ("sallyport to modern", "sallyport to legacy"), options=("--era", "modern")),
    Case("features-200-c16", "features", "HTTP, 200 B, 16 connections, one thing turned on", "http", 16, 200, FEATURES),
    Case("features-10k-c16", "features", "HTTP, 10 KB, 16 connections, one thing turned on", "http", 16, KB10, FEATURES),
    Case("features-200-c128", "features", "HTTP, 200 B, 128 connections, one thing turned on", "http", 128, 200,
         ("sallyport", "limit in Redis")),
    Case("ship-200-c16", "ship", "HTTP, 200 B, 16 connections, every record shipped to PostgreSQL", "http", 16, 200,
         ("serve", "serve and ship")),
    Case("features-1m-c16", "features", "HTTP, 1 MB, 16 connections, one thing turned on", "http", 16, MB1,
         ("sallyport", "hash when needed")),
    Case("features-modern-c16", "features", "HTTP, 2026-07-28, 200 B, 16 connections, one thing turned on", "http", 16, 200,
         ("serve", "serve with two workers"), options=("--era", "modern")),
    Case("forward-200-c128", "features", "HTTP, 200 B, 128 connections with a session each, half of them of the other worker", "http", 128, 200,
         ("serve", "serve with two workers"), options=("--sessions", "128")),
    Case("stream-c16", "features", "HTTP, 16 connections, a stream of 1,000 events", "http", 16, 200,
         ("direct", "sallyport", "nginx"), options=("--tool", "stream")),
]
GROUPS = [*dict.fromkeys(case.group for case in CASES), "footprint", "parts"]
FOOTPRINT_SUBJECTS = ("sallyport", "nginx", "haproxy http")
IDLE_SECONDS = 3  # a process that has just started is not idle yet
SESSIONS = 1000
SERVED = 50


class Runner:
    def __init__(self, stable, milliseconds, first_runs):
        self.stable = stable
        self.milliseconds = milliseconds
        self.first_runs = first_runs
        self.running = {}
        self.headers = {}
        self.skipped = {}
        self.echo, self.upstream = stable.echo()

    def skip(self, name, why):
        if name not in self.skipped:
            self.skipped[name] = why = self.stable.scrub(why)
            print(f"*** SKIPPED: {name}: {why} ***", flush=True)

    def usable(self, subject, kind):
        """A program that is not there is skipped everywhere, one that does not start only for its kind."""
        why = features.missing(subject) if subject in features.FEATURES else missing(subject, self.stable)
        if why:
            self.skip(subject, why)
        return subject not in self.skipped and f"{subject} ({kind})" not in self.skipped

    def load(self, *arguments, environment=None, stdin=subprocess.DEVNULL):
        """One run of the load generator: its JSON, or {"failed": why}."""
        process = self.stable.spawn([BUILD / "load", *arguments], LOAD_CPU, stdin=stdin, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=environment)
        try:
            out, err = process.communicate(timeout=self.milliseconds / 1000 + LOAD_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.stable.stop(process)
            process.communicate()
            return {"failed": "the run did not end"}
        finally:
            self.stable.stop(process)
        if process.returncode or not out:
            said = err.decode(errors="replace").strip().splitlines()[-1:] or [f"status {process.returncode}"]
            return {"failed": self.stable.scrub(said[0])}
        return json.loads(out)

    def listener(self, subject):
        """The running process and URL of an HTTP subject; started on first use and after a death."""
        if subject == "direct":
            return None, f"http://127.0.0.1:{self.upstream}/mcp"
        process, url = self.running.get(subject, (None, None))
        if process is None or process.poll() is not None:
            if subject in features.FEATURES:
                process, url, self.headers[subject] = features.start(subject, self.stable, self.upstream)
            else:
                process, url = self.stable.starter(subject, self.upstream)()
            self.running[subject] = (process, url)
        return process, url

    def header_options(self, subject):
        headers = self.stable.gate_headers if subject.startswith("sallyport") else self.headers.get(subject, [])
        return [part for header in headers for part in ("--header", header)]

    def run_http(self, case, subject):
        process, url = self.listener(subject)
        options = ["--pid", process.pid] if process else []
        if case.one_cpu and process:
            move_to(process.pid, LOAD_CPU)
        try:
            return self.load("http", "--url", url, "-c", case.in_flight, "--bytes", case.bytes, "--ms",
                             self.milliseconds, *case.options, *options, *self.header_options(subject))
        finally:
            if case.one_cpu and process:
                move_to(process.pid, PROXY_CPU)

    def stdio_command(self, subject):
        echo = [BUILD / "echo", *echo_pin(), "stdio"]
        if subject == "relay":
            return [BUILD / "relay", "--", *echo]
        if subject == "sallyport":
            return self.stable.gate_command("--", *echo)
        if subject == "sallyport to http":
            return self.stable.gate_command("--upstream", f"http://127.0.0.1:{self.upstream}/mcp")
        return echo

    def pin_option(self, cpu):
        return ["--cpu", cpu] if len(os.sched_getaffinity(0)) > 1 else []

    def run_stdio(self, case, subject):
        pin = self.pin_option(LOAD_CPU if case.one_cpu or subject == "direct" else PROXY_CPU)
        return self.load("stdio", "-n", case.in_flight, "--bytes", case.bytes, "--ms", self.milliseconds, *pin,
                         *case.options, "--", *self.stdio_command(subject),
                         environment=self.stable.gate_environment())

    def run(self, case, subject):
        try:
            return self.run_http(case, subject) if case.kind == "http" else self.run_stdio(case, subject)
        except StartError as error:
            self.skip(f"{subject} ({case.kind})", str(error))
            return None

    def memory(self, subject, sessions):
        """RSS and PSS of a fresh process with so many idle sessions."""
        process, url = self.stable.starter(subject, self.upstream)()
        time.sleep(IDLE_SECONDS)
        try:
            return self.load("sessions", "--url", url, "-n", sessions, "--pid", process.pid,
                             *self.header_options(subject))
        finally:
            self.stable.stop(process)

    def first_http(self, subject):
        port = free_port()
        command = self.stable.listener_command(subject, port, self.upstream)
        return self.load("first", "--url", f"http://127.0.0.1:{port}/mcp", "--runs", self.first_runs,
                         *self.header_options(subject), *self.pin_option(PROXY_CPU), "--", *command,
                         environment=self.stable.gate_environment())

    def first_serve(self):
        """`serve` with many servers, none of which is needed yet."""
        port = free_port()
        command = features.serve_command(self.stable, self.upstream, port, ask=False, count=SERVED)
        return self.load("first", "--url", f"http://127.0.0.1:{port}/mcp/{features.SERVER}", "--runs", self.first_runs,
                         *self.pin_option(PROXY_CPU), "--", *command, environment=self.stable.gate_environment())

    def first_stdio(self, subject):
        return self.load("first", "--runs", self.first_runs, *self.pin_option(PROXY_CPU), "--",
                         *self.stdio_command(subject), environment=self.stable.gate_environment())

    def parts(self, records):
        """Policy, limit and audit log by themselves: the program beside the gate."""
        program = self.stable.gate.parent / "part_speed" if self.stable.gate else None
        if not program or not program.exists():
            self.skip("parts", "part_speed is not there beside the gate (build it)")
            return {}
        process = self.stable.spawn([program, records], PROXY_CPU, stdout=subprocess.PIPE)
        out = process.communicate()[0]
        self.stable.stop(process)
        if process.returncode or not out:
            self.skip("parts", f"part_speed ended with status {process.returncode}")
            return {}
        figures = json.loads(out)
        home = figures.pop("directory")
        figures.update(self.console(home))
        shutil.rmtree(home, ignore_errors=True)
        return figures

    def console(self, home):
        """What the console's overview and activity wait for, over the log that was just written: the slowest of ten, warm."""
        policy = pathlib.Path(home) / "policy.yaml"
        policy.write_text('version: "1"\ndefault: allow\n')
        port = free_port()
        gate = subprocess.Popen([self.stable.gate, "-c", policy, "--transport", "http", "--port", str(port), "--upstream", "http://127.0.0.1:9/mcp"],
                                env={**os.environ, "SALLYPORT_HOME": home}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return {f"console_{name}_ms": slowest_ms(f"http://127.0.0.1:{port}/api/v1/{path}")
                    for name, path in (("overview", "overview?range=86400"), ("activity", "audit?kind=decision&limit=100"))}
        except OSError as error:
            self.skip("console", str(error))
            return {}
        finally:
            gate.terminate()
            gate.wait()

    def footprint(self):
        rows = {}
        for subject in FOOTPRINT_SUBJECTS:
            if not self.usable(subject, "http"):
                continue
            try:
                rows[subject] = {"idle": self.memory(subject, 0), "sessions": self.memory(subject, SESSIONS),
                                 "first_http": self.first_http(subject)}
            except StartError as error:
                self.skip(f"{subject} (http)", str(error))
        if self.usable("sallyport", "http"):
            rows[f"serve, {SERVED} servers"] = {"first_http": self.first_serve()}
        for subject in PIPES:
            if self.usable(subject, "stdio"):
                rows.setdefault(subject, {})["first_stdio"] = self.first_stdio(subject)
        return rows
