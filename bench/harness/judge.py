"""The targets, as one table, and the verdict on each. A verdict never changes the exit status."""
from dataclasses import dataclass
from typing import Callable, Optional

LEVEL = 0.10  # ratios within this of the target count as equal: the method's own noise

# Peers that are not run here, in the figures of the run that set the targets, as a share of that
# run's direct HTTP at 16 connections (58,220 calls/s).
DIRECT_THEN = 58220.0
BRIDGE_IN_SHARE = 35000.0 / 58000.0
TBXARK_SHARE = 13175.0 / DIRECT_THEN
INTERCEPT_OUT_SHARE = 6471.0 / DIRECT_THEN
# Absolute times belong to the machine of that run. On it nginx took 24.0 µs a call, 4.0 of them its own.
DENIAL_OF_NGINX = 12.0 / 24.0
USER_OF_NGINX = 4.0 / 4.0


@dataclass(frozen=True)
class Target:
    text: str
    measure: Callable[["Figures"], Optional[float]]
    limit: float
    at_least: bool
    unit: str = "x"
    tolerant: bool = True


class Figures:
    """Medians by case, subject and metric; None wherever something was not measured. A row with wrong
    answers counts as not measured: fast and wrong reaches nothing."""

    def __init__(self, medians, footprint, parts):
        self.medians = medians
        self.rows = footprint
        self.parts = parts

    def get(self, case, subject, metric):
        row = self.medians.get(case, {}).get(subject, {})
        return None if row.get("errors") else row.get(metric)

    def ratio(self, case, metric, other, subject="sallyport", other_case=None):
        mine = self.get(case, subject, metric)
        theirs = self.get(other_case or case, other, metric)
        return mine / theirs if mine is not None and theirs else None

    def added(self, case, subject):
        mine = self.get(case, subject, "p50_us")
        direct = self.get(case, "direct", "p50_us")
        return mine - direct if mine is not None and direct is not None else None

    def added_ratio(self, case, other):
        mine = self.added(case, "sallyport")
        theirs = self.added(case, other)
        return mine / theirs if mine is not None and theirs and theirs > 0 else None

    def peak_mb(self, case):
        kb = self.get(case, "sallyport", "rss_kb")
        return kb / 1024 if kb is not None else None

    def footprint(self, subject, what, metric, scale=1.0):
        row = self.rows.get(subject, {}).get(what, {})
        value = None if row.get("errors") else row.get(metric)
        return value / scale if value is not None else None

    def part(self, *names, scale=1.0):
        values = [self.parts.get(name) for name in names]
        return None if None in values else sum(values) / scale

    def lookup_ratio(self):
        one, many = self.part("decide_1_rule_ns"), self.part("decide_10000_tools_ns")
        return many / one if one and many else None

    def verify_s(self):
        """Scaled to a million records; a chain that does not verify reaches nothing."""
        seconds, records = self.part("verify_s"), self.part("verified_records")
        return seconds * 1e6 / records if records and self.parts.get("sound") else None

    def bridging(self, case, subject):
        """Half of the way is of one era and half of the other: so is what it is measured against."""
        mine = self.get(case, subject, "cpu_us_per_call")
        same = [self.get("eras-legacy-c16", "sallyport to legacy", "cpu_us_per_call"),
                self.get("eras-modern-c16", "sallyport to modern", "cpu_us_per_call")]
        return mine * 2 / sum(same) if mine is not None and all(same) else None

    def forwarding(self):
        """Handshakes have connections of their own, so chance puts half of the calls on the worker that does not own their session."""
        mean = self.ratio("forward-200-c128", "cpu_us_per_call", "serve", "serve with two workers")
        return mean and 2 * mean - 1

    def rules_cost_us(self):
        full = self.get("http-bare-c16", "sallyport", "cpu_us_per_call")
        bare = self.get("http-bare-c16", "sallyport bare", "cpu_us_per_call")
        return full - bare if full is not None and bare is not None else None


def http_200(connections):
    case = f"http-200-c{connections}"
    title = f"HTTP 200 B, {connections} connections"
    return [
        Target(f"{title}: CPU per call, of nginx", lambda f: f.ratio(case, "cpu_us_per_call", "nginx"), 1.0, False),
        Target(f"{title}: CPU per call, of haproxy TCP",
               lambda f: f.ratio(case, "cpu_us_per_call", "haproxy tcp"), 1.15, False),
        Target(f"{title}: throughput, of nginx", lambda f: f.ratio(case, "rps", "nginx"), 1.0, True),
    ]


def large(size, title, connections):
    return [Target(f"HTTP {title}, {count} connections: CPU per call, of nginx",
                   lambda f, case=f"http-{size}-c{count}": f.ratio(case, "cpu_us_per_call", "nginx"), 1.0, False)
            for count in connections]


TARGETS = [
    *http_200(16),
    *http_200(128),
    *large("10k", "10 KB", (16, 128)),
    *large("1m", "1 MB", (1, 16, 128)),
    Target("HTTP 1 MB, 128 in flight: peak memory", lambda f: f.peak_mb("http-1m-c128"), 160, False, "MB", False),
    Target("HTTP one at a time, one CPU: added median, of nginx",
           lambda f: f.added_ratio("http-200-c1-one", "nginx"), 1.15, False),
    Target("HTTP one at a time, two CPUs: added median, of nginx",
           lambda f: f.added_ratio("http-200-c1", "nginx"), 1.15, False),
    Target("HTTP 200 B, 16 connections: user time per call",
           lambda f: f.get("http-200-c16", "sallyport", "user_us_per_call"), 4, False, "µs", False),
    Target("HTTP 200 B, 16 connections: user time per call, of nginx (4.0 of 4.0 µs)",
           lambda f: f.ratio("http-200-c16", "user_us_per_call", "nginx"), USER_OF_NGINX, False),
    Target("a denial: CPU, of nginx's plain call (12 of 24.0 µs)",
           lambda f: f.ratio("http-denied-c16", "cpu_us_per_call", "nginx", other_case="http-200-c16"),
           DENIAL_OF_NGINX, False),
    Target("a denial: CPU", lambda f: f.get("http-denied-c16", "sallyport", "cpu_us_per_call"), 12, False, "µs",
           False),
    Target("a denial: throughput, of direct calls",
           lambda f: f.ratio("http-denied-c16", "rps", "direct", other_case="http-200-c16"), 0.85, True),
    Target("three conditions and a limit, over a gate without: CPU", lambda f: f.rules_cost_us(), 2,
           False, "µs", False),
    Target("limit and audit log of a call, both threads, by themselves: CPU",
           lambda f: f.part("limit_ns", "audit_gate_ns", "audit_writer_ns", scale=1000), 2, False, "µs", False),
    Target("one decision, 1 rule", lambda f: f.part("decide_1_rule_ns", scale=1000), 0.5, False, "µs", False),
    Target("one decision, 100 rules", lambda f: f.part("decide_100_rules_ns", scale=1000), 5, False, "µs", False),
    Target("one decision, 10,000 tools, of 1 tool", lambda f: f.lookup_ratio(), 1.5, False),
    Target("audit log: records a second", lambda f: f.part("audit_records_per_s"), 50000, True, "/s", False),
    Target("audit log: a million records verified", lambda f: f.verify_s(), 10, False, "s", False),
    Target("console: overview over a million records", lambda f: f.part("console_overview_ms"), 200, False, "ms", False),
    Target("console: activity over a million records", lambda f: f.part("console_activity_ms"), 200, False, "ms", False),
    Target("durable audit, 16 connections: throughput kept",
           lambda f: f.ratio("http-durable-c16", "rps", "sallyport", "sallyport durable"), 0.75, True),
    Target("durable audit, 128 connections: throughput kept",
           lambda f: f.ratio("http-durable-c128", "rps", "sallyport", "sallyport durable"), 0.95, True),
    Target("audit log shipped to PostgreSQL, 16 connections: throughput kept",
           lambda f: f.ratio("ship-200-c16", "rps", "serve", "serve and ship"), 0.9, True),
    Target("stdio, 16 in flight: throughput, of the relay", lambda f: f.ratio("stdio-200-n16", "rps", "relay"), 0.8,
           True),
    Target("stdio, 128 in flight: throughput, of the relay", lambda f: f.ratio("stdio-200-n128", "rps", "relay"),
           0.5, True),
    Target("stdio one at a time, one CPU: added median, of the relay",
           lambda f: f.added_ratio("stdio-200-n1-one", "relay"), 1.3, False),
    Target("stdio one at a time, two CPUs: added median, of the relay",
           lambda f: f.added_ratio("stdio-200-n1", "relay"), 1.3, False),
    Target("HTTP to a stdio server: throughput, of direct HTTP (35,000 of 58,000)",
           lambda f: f.ratio("bridge-in-200-c16", "rps", "direct", "sallyport to stdio", "http-200-c16"),
           BRIDGE_IN_SHARE, True),
    Target("HTTP to a stdio server: 3 times tbxark mcp-proxy, as a share of direct HTTP",
           lambda f: f.ratio("bridge-in-200-c16", "rps", "direct", "sallyport to stdio", "http-200-c16"),
           3 * TBXARK_SHARE, True),
    Target("stdio to an HTTP server: 6 times Intercept, as a share of direct HTTP",
           lambda f: f.ratio("bridge-out-200-n16", "rps", "direct", "sallyport to http", "http-200-c16"),
           6 * INTERCEPT_OUT_SHARE, True),
    Target("client of 2025-11-25 to a server of 2026-07-28: CPU, of the mean of both eras by themselves",
           lambda f: f.bridging("eras-legacy-c16", "sallyport to modern"), 1.15, False),
    Target("client of 2026-07-28 to a server of 2025-11-25: CPU, of the mean of both eras by themselves",
           lambda f: f.bridging("eras-modern-c16", "sallyport to legacy"), 1.15, False),
    *[Target(f"{name}: CPU, of the plain gate at {size}",
             lambda f, n=name, c=case: f.ratio(c, "cpu_us_per_call", "sallyport", n), limit, False)
      for name, size, case, limit in (("PII tokenize", "10 KB", "features-10k-c16", 1.5),
                                      ("serve with grant", "200 B", "features-200-c16", 1.1))],
    Target("two workers, 2026-07-28: throughput per core, of one",
           lambda f: f.ratio("features-modern-c16", "cpu_us_per_call", "serve with two workers", "serve"), 0.85, True),
    Target("a request for a session of another worker: CPU, of a local one", lambda f: f.forwarding(), 1.5, False),
    Target("limit in Redis, 16 connections: throughput kept",
           lambda f: f.ratio("features-200-c16", "rps", "sallyport", "limit in Redis"), 0.7, True),
    Target("limit in Redis, 128 connections: throughput kept",
           lambda f: f.ratio("features-200-c128", "rps", "sallyport", "limit in Redis"), 0.85, True),
    Target("idle memory", lambda f: f.footprint("sallyport", "idle", "rss_kb", 1024), 5, False, "MB", False),
    Target("idle memory, the goal", lambda f: f.footprint("sallyport", "idle", "rss_kb", 1024), 4, False, "MB",
           False),
    Target("memory with 1,000 idle sessions", lambda f: f.footprint("sallyport", "sessions", "rss_kb", 1024), 20,
           False, "MB", False),
    Target("memory with 1,000 idle sessions, the goal",
           lambda f: f.footprint("sallyport", "sessions", "rss_kb", 1024), 15, False, "MB", False),
    Target("serve with 50 servers: first answered initialize after exec",
           lambda f: f.footprint("serve, 50 servers", "first_http", "p50_ms"), 15, False, "ms", False),
    Target("first answered initialize after exec", lambda f: f.footprint("sallyport", "first_stdio", "p50_ms"), 6,
           False, "ms", False),
]


def verdict(target, value):
    if value is None:
        return "not measured"
    if value >= target.limit if target.at_least else value <= target.limit:
        return "reached"
    slack = target.limit * (1 - LEVEL if target.at_least else 1 + LEVEL)
    near = value >= slack if target.at_least else value <= slack
    return "level" if target.tolerant and near else "NOT reached"


def judge(figures):
    rows = []
    for target in TARGETS:
        value = target.measure(figures)
        rows.append({"target": target.text, "want": ("≥" if target.at_least else "≤") + f" {target.limit:.3g}",
                     "unit": target.unit, "got": None if value is None else round(value, 3),
                     "verdict": verdict(target, value)})
    return rows
