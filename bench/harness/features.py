"""What people turn on: each a gate of its own, measured as a share of the plain one."""
import base64
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

from .subjects import LOAD_CPU, POLICY, StartError, echo_pin, free_port
from .machine import BUILD

SERVER = "s0"
FAR_FUTURE_S = 86400
KEY_BITS = 2048

HAPROXY_TLS = """\
global
    nbthread 1
    maxconn 8192
    log /dev/null local0
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
frontend in
    bind 127.0.0.1:{port}
    default_backend gate
backend gate
    server gate 127.0.0.1:{to} ssl verify none maxconn 8192
"""


def serve_command(stable, upstream, port, ask=True, workers=1, server=None, count=1, **more):
    """`serve` in front of `count` servers; what `more` says joins the settings."""
    work = stable.directory("serve")
    (work / "policy.yaml").write_text(POLICY)
    servers = {f"s{i}": server or {"url": f"http://127.0.0.1:{upstream}/mcp"} for i in range(count)}
    settings = {"version": "1", "policy": "policy.yaml", "servers": servers, "code": {"enabled": False}, **more}
    (work / "sallyport.yaml").write_text(json.dumps(settings))
    command = [stable.gate, "serve", "-c", work / "sallyport.yaml", "--listen", f"127.0.0.1:{port}", "--workers", workers]
    return command + ([] if ask else ["--no-auth"])


def serve(stable, upstream, **settings):
    """Its process, URL and environment."""
    port = free_port()
    environment = stable.gate_environment()
    process, url = stable.start_listener("sallyport serve", serve_command(stable, upstream, port, **settings), port, environment)
    return process, f"{url}/{SERVER}", environment


def grant(stable, environment, name="bench"):
    out = subprocess.run([stable.gate, "grants", "create", name, "--json"], env=environment, capture_output=True, check=True)
    return json.loads(out.stdout)["token"]


def with_grants(stable, upstream):
    process, url, environment = serve(stable, upstream)
    return process, url, ["Authorization: Bearer " + grant(stable, environment)]


def without_grants(stable, upstream, **more):
    process, url, _ = serve(stable, upstream, ask=False, **more)
    return process, url, []


def wrapped(stable, upstream, *extra):
    process, url = stable.start_gate(
        stable.gate_http("--upstream", f"http://127.0.0.1:{upstream}/mcp", extra=list(extra)), upstream)
    return process, url, []


def redis(stable, upstream):
    port = free_port()
    work = stable.directory("redis")
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", work]
    server = stable.spawn(command, LOAD_CPU, stdout=subprocess.DEVNULL)
    stable.wait_or_stop(server, port, "redis-server")
    return wrapped(stable, upstream, "--state-dsn", f"redis://127.0.0.1:{port}")


def postgres_programs():
    return next((path for path in sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True) if (path / "initdb").exists()), None)


def shipping(stable, upstream):
    """A PostgreSQL of its own beside the load generator; the gate ships every record to it."""
    work, programs = stable.directory("postgres"), postgres_programs()
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(work, "postgres", "postgres")
        for above in work.parents:
            if above.stat().st_uid == os.getuid() and above != pathlib.Path("/"):
                above.chmod(above.stat().st_mode | 0o011)
    subprocess.run([*as_user, programs / "initdb", "-D", work / "data", "-U", "owner", "-A", "trust", "-N"], check=True, capture_output=True, cwd="/")
    stable.spawn([*as_user, programs / "postgres", "-D", work / "data", "-k", work, "-c", "listen_addresses="], LOAD_CPU,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    deadline = time.monotonic() + 30
    while subprocess.run([programs / "psql", "-h", work, "-U", "owner", "-d", "postgres", "-c", "SELECT 1"], capture_output=True).returncode:
        if time.monotonic() > deadline:
            raise StartError("PostgreSQL does not come up")
        time.sleep(0.1)
    return without_grants(stable, upstream, audit={"ship": {"dsn": f"postgres://owner@/postgres?host={work}"}})


def tls(stable, upstream):
    """The load generator speaks no TLS: a haproxy beside it does, whose time is not counted."""
    work = stable.directory("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", work / "key.pem", "-out", work / "cert.pem"],
                   check=True, capture_output=True)
    process, url, _ = serve(stable, upstream, ask=False, tls={"cert": str(work / "cert.pem"), "key": str(work / "key.pem")})
    port = free_port()
    to = re.search(r":(\d+)/", url).group(1)
    (work / "haproxy.cfg").write_text(HAPROXY_TLS.format(port=port, to=to))
    client = stable.spawn(["haproxy", "-db", "-q", "-f", work / "haproxy.cfg"], LOAD_CPU, stdout=subprocess.DEVNULL,
                          stderr=stable.log("haproxy-tls"))
    stable.wait_or_stop(client, port, "haproxy")
    return process, f"http://127.0.0.1:{port}/mcp/{SERVER}", []


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def key_server(keys):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"keys": [keys]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def jwt(stable, upstream):
    work = stable.directory("jwt")
    key = work / "key.pem"
    subprocess.run(["openssl", "genrsa", "-out", key, str(KEY_BITS)], check=True, capture_output=True)
    modulus = subprocess.run(["openssl", "rsa", "-in", key, "-noout", "-modulus"], check=True, capture_output=True).stdout
    n = bytes.fromhex(modulus.decode().strip().split("=")[1])
    issuer = key_server({"kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256", "n": b64(n), "e": "AQAB"})
    now = int(time.time())
    claims = {"iss": issuer, "sub": "bench", "aud": "bench", "iat": now, "exp": now + FAR_FUTURE_S}
    text = b64(json.dumps({"alg": "RS256", "kid": "k1"}).encode()) + "." + b64(json.dumps(claims).encode())
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(), check=True, capture_output=True)
    process, url, _ = serve(stable, upstream, auth={
        "resource": "https://gate.test", "issuers": [{"issuer": issuer, "jwks": issuer + "/keys", "audience": ["bench"]}]})
    return process, url, [f"Authorization: Bearer {text}.{b64(signature.stdout)}"]


def to_stdio(stable, upstream):
    return without_grants(stable, upstream, server={"command": str(BUILD / "echo"), "args": [*echo_pin(), "stdio"]})


# name: how it starts (process, URL, headers), and the programs that it needs
FEATURES = {
    "serve": (without_grants, ()),
    "serve with grant": (with_grants, ()),
    "serve with JWT": (jwt, ("openssl",)),
    "serve with TLS": (tls, ("openssl", "haproxy")),
    "serve with lazy discovery": (lambda s, u: without_grants(s, u, discovery={"mode": "lazy"}, code={"enabled": True}), ()),
    "serve to stdio": (to_stdio, ()),
    "serve with two workers": (lambda s, u: without_grants(s, u, workers=2), ()),
    "hash when needed": (lambda s, u: wrapped(s, u, "--audit-hash", "needed"), ()),
    "PII report": (lambda s, u: wrapped(s, u, "--pii", "report"), ()),
    "PII tokenize": (lambda s, u: wrapped(s, u, "--pii", "tokenize"), ()),
    "limit in Redis": (redis, ("redis-server",)),
    "serve and ship": (shipping, ()),
}


def missing(name):
    if name == "serve and ship" and not postgres_programs():
        return "PostgreSQL is not installed"
    return next((f"{program} is not installed" for program in FEATURES[name][1] if not shutil.which(program)), None)


def start(name, stable, upstream):
    try:
        return FEATURES[name][0](stable, upstream)
    except (subprocess.CalledProcessError, OSError) as error:
        raise StartError(f"{name}: {error}") from error
