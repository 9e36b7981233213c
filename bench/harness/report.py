"""Medians, the tables for people, and the two files in bench/results/."""
import json
import statistics

METRICS = ("rps", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "cpu_us_per_call", "user_us_per_call", "rss_kb")
NOISY = 0.15
PAGE_FROM, PAGE_TO = "<!-- --8<-- [start:table] -->", "<!-- --8<-- [end:table] -->"  # docs/performance.md shows what is between


def medians(samples):
    """samples: case -> subject -> list of the load generator's answers."""
    result = {}
    for case, subjects in samples.items():
        for subject, runs in subjects.items():
            good = [run for run in runs if "failed" not in run]
            if good:
                result.setdefault(case, {})[subject] = median_of(good)
    return result


def median_of(runs):
    row = {}
    for metric in METRICS:
        values = [run[metric] for run in runs if run["calls"] and run.get(metric) is not None]
        row[metric] = round(statistics.median(values), 2) if values else None
    rates = [run["rps"] for run in runs if run["calls"]]
    row["errors"] = sum(run["errors"] for run in runs)
    row["first_error"] = next((run["first_error"] for run in runs if "first_error" in run), None)
    row["rounds"] = len(runs)
    several = len(rates) > 1
    row["spread"] = round((max(rates) - min(rates)) / row["rps"], 3) if several else None
    return row


def number(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}"


def ratio(mine, theirs):
    return f"{mine / theirs:.2f}" if mine is not None and theirs else "–"


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "| " + " | ".join(["---"] + ["---:"] * (len(headings) - 1)) + " |"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def direct_row(case, cases, medians):
    """The case's own direct row, or that of plain HTTP with the same load (bridges, denials)."""
    own = medians.get(case.key, {}).get("direct")
    for other in cases:
        same = (other.in_flight, other.bytes) == (case.in_flight, case.bytes)
        if not own and same and other.kind == "http" and not other.one_cpu and not other.options:
            own = medians.get(other.key, {}).get("direct")
    return own or {}


def case_table(case, cases, medians):
    peer = "relay" if case.kind == "stdio" else "nginx" if "nginx" in case.subjects else case.subjects[0]
    rows = medians.get(case.key, {})
    direct = direct_row(case, cases, medians)
    other = rows.get(peer) or {}
    headings = ["", "calls/s", "of direct", f"of {peer}", "p50 µs", "p90", "p99", "p99.9", "added p50", "CPU µs",
                f"CPU of {peer}", "user µs", "peak MB", "errors", "spread"]
    lines = []
    for subject in case.subjects:
        row = rows.get(subject)
        if not row:
            lines.append([subject] + ["–"] * (len(headings) - 1))
            continue
        added = None
        if subject != "direct" and direct.get("p50_us") is not None and row["p50_us"] is not None:
            added = row["p50_us"] - direct["p50_us"]
        spread = row["spread"]
        lines.append([
            subject, number(row["rps"]), ratio(row["rps"], direct.get("rps")), ratio(row["rps"], other.get("rps")),
            number(row["p50_us"], 1), number(row["p90_us"], 1), number(row["p99_us"], 1), number(row["p999_us"], 1),
            number(added, 1), number(row["cpu_us_per_call"], 1),
            ratio(row["cpu_us_per_call"], other.get("cpu_us_per_call")), number(row["user_us_per_call"], 1),
            number(row["rss_kb"] / 1024 if row["rss_kb"] else None, 1), number(row["errors"]),
            "–" if spread is None else f"{spread:.0%}" + ("!" if spread > NOISY else "")])
    return table(headings, lines)


def footprint_table(footprint):
    def cell(row, what, metric, scale):
        value = row.get(what, {}).get(metric)
        return number(value / scale if value is not None else None, 1)

    rows = [[subject, cell(row, "idle", "rss_kb", 1024), cell(row, "idle", "pss_kb", 1024),
             cell(row, "sessions", "rss_kb", 1024), cell(row, "sessions", "pss_kb", 1024),
             cell(row, "sessions", "errors", 1), cell(row, "first_stdio", "p50_ms", 1),
             cell(row, "first_http", "p50_ms", 1)] for subject, row in footprint.items()]
    return table(["", "idle RSS MB", "idle PSS MB", "1,000 sessions RSS MB", "PSS MB", "errors",
                  "first answer stdio ms", "first answer HTTP ms"], rows)


def problems(result):
    lines = [f"- {subject} was skipped: {why}" for subject, why in result["skipped"].items()]
    for case, subjects in result["samples"].items():
        for subject, runs in subjects.items():
            failed = [run["failed"] for run in runs if "failed" in run]
            if failed:
                lines.append(f"- {case}, {subject}: {len(failed)} of {len(runs)} runs failed: {failed[0]}")
    for case, subjects in result["medians"].items():
        for subject, row in subjects.items():
            if row["errors"]:
                lines.append(f"- {case}, {subject}: {row['errors']} wrong answers, the first: {row['first_error']}")
    for subject, row in result["footprint"].items():
        for what, answer in row.items():
            if answer.get("failed") or answer.get("errors"):
                why = answer.get("failed") or f"{answer['errors']} sessions failed"
                lines.append(f"- footprint, {subject}, {what}: {why}")
    return lines


def markdown(result, cases):
    machine = result["machine"]
    lines = [f"# Bench, {result['date']}, kernel {machine['kernel']}", ""]
    lines += table(["", "value"], [[key.replace("_", " "), value] for key, value in machine.items()])
    method = result["method"]
    lines += ["", f"{method['rounds']} rounds of {method['milliseconds']} ms per row, interleaved, medians; "
              + ("load and upstream on CPU 0, the proxy on CPU 1." if method["pinned"] else "not pinned: one CPU.")
              + (" A quick run: only a smoke test." if method["quick"] else "")]
    for case in cases:
        if case.key in result["medians"]:
            lines += ["", f"## {case.title}", "", *case_table(case, cases, result["medians"])]
    if result["footprint"]:
        lines += ["", "## Footprint", "", *footprint_table(result["footprint"])]
    if result["parts"]:
        lines += ["", "## Parts, each by itself", "",
                  *table(["", "value"], [[key.replace("_", " "), value] for key, value in result["parts"].items()])]
    lines += ["", "## Targets", ""]
    lines += table(["target", "want", "got", "verdict"],
                   [[row["target"], f"{row['want']} {row['unit']}", number(row["got"], 2), row["verdict"]]
                    for row in result["targets"]])
    wrong = problems(result)
    if wrong:
        lines += ["", "## What did not run or was wrong", "", *wrong]
    return "\n".join(lines) + "\n"


def for_terminal(text):
    """The same tables with their columns aligned."""
    out, block = [], []

    def flush():
        if not block:
            return
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block]
        widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
        for index, row in enumerate(rows):
            if index != 1:
                out.append("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                                     for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
        block.clear()

    for line in text.splitlines():
        if line.startswith("|"):
            block.append(line)
        else:
            flush()
            out.append(line)
    flush()
    return "\n".join(out)


def write(result, text, directory):
    directory.mkdir(parents=True, exist_ok=True)
    name = f"{result['date']}-{result['machine']['kernel']}" + ("-quick" if result["method"]["quick"] else "")
    stem = directory / name
    stem.with_name(name + ".json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    stem.with_name(name + ".md").write_text(text)
    return [name + ".json", name + ".md"]
