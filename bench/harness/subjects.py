"""What stands between load and echo: started on own ports of 127.0.0.1 with own files, and stopped."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from .machine import BUILD, ROOT

START_SECONDS = 10
STOP_SECONDS = 5
STEP_SECONDS = 0.02
LOAD_CPU = 0
PROXY_CPU = 1

POLICY = """\
version: "1"
description: three conditions, one rate limit, one refused tool
default: deny
tools:
  echo:
    rules:
      - name: shape
        conditions:
          - {path: args.text, op: contains, value: All done.}
          - {path: args.mode, op: in, value: [plain, loud]}
          - {path: args.n, op: lte, value: 10}
        on_deny: Wrong arguments.
      - name: pace
        rate_limit: 1000000000/hour
  stream:
    rules:
      - name: stream pace
        rate_limit: 1000000000/hour
  forbidden:
    rules:
      - name: never
        action: deny
        on_deny: Not here.
"""

BARE_POLICY = """\
version: "1"
description: everything passes
default: allow
"""

NGINX = """\
worker_processes 1;
daemon off;
pid {work}/nginx.pid;
error_log {work}/nginx.log error;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_buffer_size 2m;
    proxy_max_temp_file_size 0;
    keepalive_requests 1000000000;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
    upstream echo {{
        server 127.0.0.1:{upstream};
        keepalive 1024;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://echo;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            {extra}
        }}
    }}
}}
"""

# Its default response buffers (8 of one page) make nginx slow beyond some KB; the comparison uses its best configuration.
NGINX_BUFFERS = "proxy_buffers 80 16k;"

HAPROXY = """\
global
    nbthread 1
    maxconn 8192
    log /dev/null local0
defaults
    mode {mode}
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    {extra}
frontend in
    bind 127.0.0.1:{port}
    default_backend echo
backend echo
    {reuse}
    server echo 127.0.0.1:{upstream} maxconn 8192
"""


class StartError(Exception):
    pass


def pin_to(cpu):
    """For preexec_fn. One CPU only: nobody is pinned."""
    usable = os.sched_getaffinity(0)

    def pin():
        if cpu in usable and len(usable) > 1:
            os.sched_setaffinity(0, {cpu})
    return pin


def descendants(root):
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
    found = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def move_to(root, cpu):
    """All threads of a running process and its descendants."""
    if cpu not in os.sched_getaffinity(0):
        return
    for pid in descendants(root):
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), {cpu})
        except OSError:
            continue


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_port(process, port, name):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise StartError(f"{name} ended with status {process.returncode}")
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(STEP_SECONDS)
    raise StartError(f"{name} does not listen on port {port}")


class Stable:
    """Every process that the run started. Each is its own group, so that stopping takes all of it."""

    def __init__(self, work, gate, options):
        self.work = Path(work)
        self.gate = gate
        self.gate_args = options.gate_arg
        self.gate_headers = options.gate_header
        self.bare_args = options.bare_arg
        self.processes = []
        self.counter = 0

    def spawn(self, command, cpu=None, **options):
        process = subprocess.Popen([str(part) for part in command], preexec_fn=pin_to(cpu), start_new_session=True,
                                   **options)
        self.processes.append(process)
        return process

    def stop(self, process):
        if process not in self.processes:
            return
        self.processes.remove(process)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                try:
                    os.killpg(process.pid, number)
                except ProcessLookupError:
                    pass
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
            return

    def stop_all(self):
        for process in list(self.processes):
            self.stop(process)

    def scrub(self, text):
        """What a program said, without this machine's paths: it may end up in a result file."""
        return text.replace(f"{self.work}/", "").replace(f"{ROOT}/", "")

    def directory(self, name):
        self.counter += 1
        path = self.work / f"{name}-{self.counter}"
        path.mkdir()
        return path

    def log(self, name):
        return open(self.work / f"{name}.log", "ab")

    def echo(self, *era, environment=None):
        process = self.spawn([BUILD / "echo", "http", "0", *era], LOAD_CPU, stdout=subprocess.PIPE,
                             env=dict(os.environ, **environment) if environment else None)
        return process, int(process.stdout.readline())

    def start_gate_to(self, era):
        upstream = self.echo(era)[1]
        return self.start_gate(self.gate_http("--upstream", f"http://127.0.0.1:{upstream}/mcp"), upstream)

    def gate_environment(self):
        return dict(os.environ, SALLYPORT_HOME=str(self.directory("home")))

    def policy(self, text=POLICY):
        path = self.directory("policy") / "policy.yaml"
        path.write_text(text)
        return path

    def gate_command(self, *rest, extra=(), policy=None):
        return [self.gate, "-c", policy or self.policy(), *self.gate_args, *extra, *rest]

    def nginx(self, port, upstream, extra=""):
        work = self.directory("nginx")
        (work / "nginx.conf").write_text(NGINX.format(work=work, port=port, upstream=upstream, extra=extra))
        return ["nginx", "-p", work, "-e", work / "nginx.log", "-c", work / "nginx.conf"]

    def haproxy(self, port, upstream, mode):
        work = self.directory("haproxy")
        http = mode == "http"
        (work / "haproxy.cfg").write_text(HAPROXY.format(
            mode=mode, port=port, upstream=upstream, extra="option http-keep-alive" if http else "",
            reuse="http-reuse always" if http else ""))
        return ["haproxy", "-db", "-q", "-f", work / "haproxy.cfg"]

    def gate_http(self, *rest, extra=(), policy=None, port=0):
        return self.gate_command("--transport", "http", "--port", str(port), *rest, extra=extra, policy=policy)

    def start_listener(self, name, command, port, environment=None):
        process = self.spawn(command, PROXY_CPU, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=self.log(name), env=environment)
        self.wait_or_stop(process, port, name)
        return process, f"http://127.0.0.1:{port}/mcp"

    def wait_or_stop(self, process, port, name):
        try:
            wait_port(process, port, name)
        except StartError:
            self.stop(process)
            raise

    def start_gate(self, command, not_port=0):
        """The gate says where it listens on stderr; the upstream's own URL may stand there too."""
        path = self.directory("gate") / "stderr"
        with open(path, "wb") as stderr:
            process = self.spawn(command, PROXY_CPU, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=stderr, env=self.gate_environment())
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            for port in re.findall(rb"http://127\.0\.0\.1:(\d+)/mcp", path.read_bytes()):
                if int(port) != not_port:
                    self.wait_or_stop(process, int(port), "sallyport")
                    return process, f"http://127.0.0.1:{int(port)}/mcp"
            time.sleep(STEP_SECONDS)
        said = path.read_text(errors="replace").strip().splitlines()[-1:] or ["nothing on stderr"]
        self.stop(process)
        raise StartError(f"sallyport did not print its URL ({said[0]})")

    def starter(self, name, upstream):
        """How to start an HTTP subject: a function that returns the process and its URL."""
        to_http = ["--upstream", f"http://127.0.0.1:{upstream}/mcp"]
        to_stdio = ["--", str(BUILD / "echo"), *echo_pin(), "stdio"]
        if name == "sallyport":
            return lambda: self.start_gate(self.gate_http(*to_http), upstream)
        if name == "sallyport bare":
            return lambda: self.start_gate(
                self.gate_http(*to_http, extra=self.bare_args, policy=self.policy(BARE_POLICY)), upstream)
        if name == "sallyport durable":
            return lambda: self.start_gate(self.gate_http(*to_http, extra=["--audit-durable"]), upstream)
        if name in ("sallyport to legacy", "sallyport to modern"):
            return lambda: self.start_gate_to(name.rsplit(" ", 1)[1])
        if name == "sallyport to stdio":
            return lambda: self.start_gate(self.gate_http(*to_stdio))
        port = free_port()
        return lambda: self.start_listener(name, self.listener_command(name, port, upstream), port)

    def listener_command(self, name, port, upstream):
        commands = {
            "nginx": lambda: self.nginx(port, upstream, NGINX_BUFFERS),
            "nginx default": lambda: self.nginx(port, upstream),
            "haproxy http": lambda: self.haproxy(port, upstream, "http"),
            "haproxy tcp": lambda: self.haproxy(port, upstream, "tcp"),
            "sallyport": lambda: self.gate_http("--upstream", f"http://127.0.0.1:{upstream}/mcp", port=port),
        }
        return commands[name]()


def echo_pin():
    return ["--cpu", str(LOAD_CPU)] if len(os.sched_getaffinity(0)) > 1 else []


def missing(name, stable):
    """Why a subject cannot run here, or None."""
    if name.startswith("sallyport"):
        return None if stable.gate else "the sallyport binary is not there (build it, or set SALLYPORT_BIN)"
    program = name.split()[0]
    if program in ("nginx", "haproxy") and not shutil.which(program):
        return f"{program} is not installed"
    return None
