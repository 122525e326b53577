#!/usr/bin/env python3
"""Holds the documentation against the code. Runs as a test; exits 1 when they differ.

usage: check_docs.py ROOT OCTET           checks the tree; OCTET is the octet executable
       check_docs.py ROOT OCTET --write   writes docs/configuration.md first
       check_docs.py --self-test          checks that each rule finds its violation

- docs/operations.md lists every log id with its level, every column of metrics.csv, every status
  number and every number that actors report, and none that the sources do not have;
- its section Metrics over HTTP lists every metric of the C sources with its kind, and the rules and the
  dashboard in deploy/ name no other;
- docs/configuration.md is what `octet config --markdown` prints, after an introduction;
- relative links in README.md and docs/ lead to a file, and to a heading of it;
- files, test programs and tests that are named in `backquotes` exist.
"""

import pathlib
import re
import stat
import subprocess
import sys
import tempfile

import metric_names

SOURCES = ["common", "proto", "net", "policy", "codec", "export", "envs", "render", "nn", "replay", "algos",
           "actor", "quantizer", "learner", "cli"]
NAMED = [*SOURCES, "include", "tests", "tools", "bench", "docs", "presets", "examples", "script"]
PREFIXES = "|".join(folder.upper() for folder in SOURCES) + "|OCTET"
LOG_ID = re.compile(rf"(?:{PREFIXES})(?:-[A-Z0-9]+)+")
LOG_CALL = re.compile(r'\boct_log_(error|warn|notice|info|debug)\(\s*(?:"([^"]*)"|\w+)')

INTRODUCTION = """# Configuration

Every key of an experiment. This page is what `octet config --markdown` prints; `octet config KEY`
shows one key, `octet config --check FILE` checks a file. Keys that a file does not name have their
default; only `env.id` is required. On the command line the same names are used:
`octet train presets/cartpole.yaml --set learner.batch_size=128`. What the numbers do to a run, and
which to change when, is in [operations.md](operations.md#tuning).
"""


def sources(root, pattern="*.c", folders=SOURCES):
    for folder in folders:
        for path in sorted((root / folder).rglob(pattern)):
            yield path, path.read_text(encoding="utf-8")


def section(text, heading):
    """The text below a heading of level 2, up to the next one."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return match[1] if match else ""


def rows(text):
    """First cell's backquoted names and the second cell, of every table row that begins so."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) > 1:
            for name in re.findall(r"`([^`]+)`", cells[0]):
                yield name, cells[1]


def compare(what, in_code, in_docs, where):
    for name in sorted(set(in_code) - set(in_docs)):
        yield f"{where}: {what} {name} is not described"
    for name in sorted(set(in_docs) - set(in_code)):
        yield f"{where}: {what} {name} is not in the sources"


def check_log_ids(root, operations):
    levels = {}
    for path, text in sources(root):
        for level, name in LOG_CALL.findall(text):
            if name and not LOG_ID.fullmatch(name):
                yield f"{path.relative_to(root)}: log id {name} is not FOLDER-WORDS"
                continue
            levels.setdefault(name, set()).add(level[0].upper())
        for name in re.findall(rf'"({LOG_ID.pattern})"', text):
            levels.setdefault(name, set())  # told to a function that logs it
    levels.pop("", None)
    described = dict(rows(section(operations, "Log ids")))
    yield from compare("log id", levels, described, "docs/operations.md")
    for name, found in levels.items():
        if name in described and not found <= set(described[name].split()):
            yield (f"docs/operations.md: log id {name} has level {described[name]}, "
                   f"the sources say {' '.join(sorted(found))}")


def check_metrics(root, operations):
    header = (root / "learner/learner_metrics.h").read_text(encoding="utf-8")
    table = re.search(r"#define LEARNER_METRICS\(X\)(.*?)\n\n", header, re.S)
    columns = ["wall_s", *re.findall(r"X\((\w+)\)", table[1] if table else "")]
    described = [name for name, _ in rows(section(operations, "Metrics"))]
    yield from compare("column", columns, described, "docs/operations.md")


def check_status(root, operations):
    names = []
    for _, text in sources(root, folders=["learner", "replay"]):
        names += re.findall(r'(?:status_add\([^;]*?|X\()"((?:learner|replay)\.[\w.]+)"', text)
    for path, text in sources(root, folders=["actor"]):
        for table in re.findall(r"\bnames\[\] = \{([^}]*)\}", text):
            names += ["actor " + name for name in re.findall(r'"(\w+)"', table)]
    described = [name if "." in name else "actor " + name
                 for name, _ in rows(section(operations, "Status numbers"))]
    yield from compare("status number", names, described, "docs/operations.md")


def check_prometheus(root):
    names = metric_names.in_sources(root, SOURCES)
    yield from compare("metric", names, metric_names.documented(root), "docs/operations.md")
    text = metric_names.section((root / "docs/operations.md").read_text(encoding="utf-8"))
    for name, kind in rows(text):
        name = name.split("{")[0]
        if name in names and kind != names[name]:
            yield f"docs/operations.md: metric {name} is a {names[name]}, not a {kind}"
    if (root / "deploy").exists():
        for name in sorted(metric_names.used(root) - set(names) - {"up"}):
            yield f"deploy: metric {name} of a rule or the dashboard is not in the sources"


def configuration(octet):
    printed = subprocess.run([octet, "config", "--markdown"], capture_output=True, text=True,
                             check=True, timeout=60).stdout
    return INTRODUCTION + printed


def check_configuration(root, octet):
    path = root / "docs/configuration.md"
    if not path.exists() or path.read_text(encoding="utf-8") != configuration(octet):
        yield ("docs/configuration.md: is not what octet config --markdown prints; "
               "check_docs.py ROOT OCTET --write renews it")


def without_code(text):
    return re.sub(r"^```.*?^```|^    .*?$", "", text, flags=re.M | re.S)


def anchors(text):
    """Headings as GitHub names them in addresses."""
    for heading in re.findall(r"^#+ +(.*)$", without_code(text), re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        yield plain.strip().replace(" ", "-")


def check_links(root, path, text):
    links = re.findall(r"\]\(([^)\s]+)[^)]*\)", without_code(text))
    links += re.findall(r'(?:src|srcset|href)="([^"]+)"', text)
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        if not target.exists():
            yield f"{path.relative_to(root)}: link to {link} leads nowhere"
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)}: link to {link}: no such heading"


def check_names(root, path, text, tests):
    for name in re.findall(r"`([^`\s]+)`", without_code(text)):
        folder = name.split("/")[0]
        if "/" in name and folder in NAMED and re.fullmatch(r"[\w./*-]+", name):
            if not any(root.glob(name.rstrip("/").replace("NAME", "*"))):
                yield f"{path.relative_to(root)}: there is no {name}"
        if re.fullmatch(r"test_[a-z0-9_]+", name) and not re.search(rf"\b{name}\b", tests):
            yield f"{path.relative_to(root)}: there is no test {name}"


def check_tree(root, octet):
    operations = (root / "docs/operations.md").read_text(encoding="utf-8")
    yield from check_log_ids(root, operations)
    yield from check_metrics(root, operations)
    yield from check_status(root, operations)
    yield from check_prometheus(root)
    yield from check_configuration(root, octet)
    tests = "".join(path.read_text(encoding="utf-8") for pattern in ("*.c", "*.py")
                    for path in (root / "tests").rglob(pattern))
    pages = sorted((root / "docs").rglob("*.md"))
    pages += [root / "README.md"] if (root / "README.md").exists() else []
    for path in pages:
        text = path.read_text(encoding="utf-8")
        yield from check_links(root, path, text)
        yield from check_names(root, path, text, tests)


# A sound little tree; for each rule a replacement in one file and the complaints that must follow.
OPERATIONS = """# Operations
## Metrics
| `wall_s` | s |
| `loss` | 1 |
## Status numbers
| `learner.loss` | 1 |
| `replay.size` | 1 |
| `cpu_s` | s |
## Log ids
| `NET-STUCK` | E | [way](#metrics) and [page](configuration.md) |
| `REPLAY-BAD` | W | `test_good` of `tests/test_net.c` |
## Metrics over HTTP
| `octet_updates_total` | counter | x |
| `octet_bound{bound}` | gauge | x |
## Tuning
"""
SOUND = {
    "docs/operations.md": OPERATIONS,
    "docs/configuration.md": INTRODUCTION + "keys\n",
    "net/net_loop.c": 'oct_log_error(\n    "NET-STUCK", "x");\n',
    "replay/replay_io.c": 'complain(io, "REPLAY-BAD", "x");\nX("replay.size", size)\n',
    "learner/learner_metrics.h": "#define LEARNER_METRICS(X) \\\n    X(loss)\n\nint x;\n",
    "learner/learner_run.c": 'status_add(run, "learner.loss", 1);\n',
    "actor/actor_io.c": 'const char *const names[] = {"cpu_s"};\n',
    "net/net_metrics.c": 'oct_prometheus_counter(text, "octet_updates_total", "x", 1);\n'
                         'oct_prometheus_begin(\n    text, OCT_PROMETHEUS_GAUGE, "octet_bound", "x");\n',
    "deploy/prometheus/a.rules.yaml": 'expr: octet_bound{x="octet_lag"} == 0 # octet_lag\n',
    "deploy/grafana/octet.json": '{"panels": [{"targets": [{"expr": "rate(octet_updates_total)"}]}]}',
    "tests/test_net.c": "static void\ntest_good(void)\n",
}
SELF_TESTS = [
    ("net/net_loop.c", "", "", []),
    ("net/net_loop.c", "STUCK", "LOST", ["NET-LOST is not described", "NET-STUCK is not in"]),
    ("net/net_loop.c", "NET-STUCK", "stuck", ["stuck is not FOLDER", "NET-STUCK is not in"]),
    ("net/net_loop.c", "_error", "_warn", ["has level E"]),
    ("replay/replay_io.c", "Y-BAD", "Y-ODD", ["ODD is not described", "REPLAY-BAD is not in"]),
    ("docs/operations.md", "| `NET-STUCK` | E", "| NET-STUCK | E", ["NET-STUCK is not described"]),
    ("docs/operations.md", "## Log ids", "## Logs", ["NET-STUCK is not", "REPLAY-BAD is not"]),
    ("learner/learner_metrics.h", "X(loss)", "X(loss) X(lag)", ["column lag is not described"]),
    ("docs/operations.md", "| `loss` | 1 |", "", ["column loss is not described"]),
    ("learner/learner_run.c", "r.loss", "r.lag", ["r.lag is not described", "r.loss is not in"]),
    ("replay/replay_io.c", 'X("replay.size", size)', "", ["replay.size is not in the sources"]),
    ("actor/actor_io.c", '"cpu_s"', '"cpu_s", "bytes"', ["actor bytes is not described"]),
    ("net/net_metrics.c", "updates_total", "steps_total",
     ["octet_steps_total is not described", "octet_updates_total is not in", "octet_updates_total of a rule"]),
    ("net/net_metrics.c", "GAUGE", "COUNTER", ["octet_bound is a counter, not a gauge"]),
    ("deploy/grafana/octet.json", "updates", "steps", ["octet_steps_total of a rule"]),
    ("deploy/prometheus/a.rules.yaml", "octet_bound", "octet_lag", ["octet_lag of a rule"]),
    ("docs/configuration.md", "keys", "key", ["--write renews it"]),
    ("docs/operations.md", "(configuration.md)", "(config.md)", ["leads nowhere"]),
    ("docs/operations.md", "(#metrics)", "(#metric)", ["no such heading"]),
    ("docs/operations.md", "test_net.c", "test_nets.c", ["there is no tests/test_nets.c"]),
    ("docs/operations.md", "`test_good`", "`test_better`", ["there is no test test_better"]),
]


def self_test():
    wrong = 0
    for name, old, new, want in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in SOUND.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                text = text.replace(old, new) if path == name and old else text
                (root / path).write_text(text, encoding="utf-8")
            octet = root / "octet"
            octet.write_text("#!/bin/sh\necho keys\n", encoding="utf-8")
            octet.chmod(octet.stat().st_mode | stat.S_IXUSR)
            got = list(check_tree(root, octet))
        if len(got) != len(want) or not all(w in g for w, g in zip(want, got)):
            print(f"{name}: {old} -> {new}: wanted {want}, got {got}")
            wrong += 1
    print(f"{len(SELF_TESTS) - wrong} of {len(SELF_TESTS)} self-tests hold")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    write = arguments[2:] == ["--write"]
    if len(arguments) != 2 and not write:
        print(__doc__)
        return 2
    root, octet = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    if write:
        (root / "docs/configuration.md").write_text(configuration(octet), encoding="utf-8")
    complaints = list(check_tree(root, octet))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else self_test()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
