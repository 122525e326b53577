#!/usr/bin/env python3
"""Holds the documentation against the code. Runs as a test; exits 1 when they differ.

usage: check_docs.py ROOT OCTET PRINT_NUMBERS           checks the tree; OCTET is the octet executable,
                                                        PRINT_NUMBERS tools/print_numbers.c, built
       check_docs.py ROOT OCTET PRINT_NUMBERS --write   writes docs/configuration.md, docs/reference.md and printed tables first
       check_docs.py --self-test                        checks that each rule finds its violation

- docs/reference.md lists every log id with its level, and none that the sources do not have;
- it has the tables that tools/reference.py makes of the registries of numbers; it lists every number
  that evaluators report, and every metric with its kind, and none that the sources do not have; the rules and the dashboard in deploy/ name no other metric;
- it has every environment variable whose name begins with OCTET_, and none that nobody asks for;
- docs/configuration.md is what `octet config --markdown` prints, after an introduction;
- a table below <!-- printed: bench/NAME.py ARGUMENTS --> is what that command prints;
- relative links in README.md and docs/ lead to a file, and to a heading of it;
- files, test programs and tests that are named in `backquotes` exist.
"""

import pathlib
import re
import shlex
import stat
import subprocess
import sys
import tempfile

import metric_names
import reference

SOURCES = ["common", "proto", "net", "policy", "codec", "export", "import", "envs", "render", "liboctet", "nn", "relay", "replay", "data", "algos",
           "actor", "quantizer", "distill", "learner", "cli", "group"]
NAMED = [*SOURCES, "include", "tests", "tools", "bench", "docs", "presets", "examples", "script"]
PREFIXES = "|".join(folder.upper() for folder in SOURCES) + "|OCTET"
LOG_ID = re.compile(rf"(?:{PREFIXES})(?:-[A-Z0-9]+)+")
NO_VARIABLES = {"OCTET_END"}  # the end of a text in the script for Slurm
LOG_CALL = re.compile(r'\boct_log_(error|warn|notice|info|debug)\(\s*(?:"([^"]*)"|\w+)')

INTRODUCTION = """# Configuration

Every key of an experiment. This page is what `octet config --markdown` prints; `octet config KEY`
shows one key, `octet config --explain ALGO` those that matter to an algorithm, with usual values,
`octet config --check FILE` checks a file. Keys that a file does not name have their
default, which for some follows `algo.name`; only `env.id` is required. On the command line the same names are used:
`octet train presets/cartpole.yaml --set learner.batch_size=128`. How the keys affect a run, and
when to change which, is in [tuning.md](tuning.md).

`octet train` and `octet config --check` warn of each key that has no effect with the values of others, and say what it
needs: `warning: algo.noisy_sigma: 0.3 has no effect without algo.noisy: true`. They are silent about keys at their
default, and about those of a preset: `octet train pendulum --set algo.name=sac` looks at what `--set` names alone.
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


def check_log_ids(root):
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
    page = (root / reference.PAGE).read_text(encoding="utf-8")
    described = dict(rows(section(page, "Log ids")))
    yield from compare("log id", levels, described, reference.PAGE)
    for name, found in levels.items():
        if name in described and not found <= set(described[name].split()):
            yield (f"{reference.PAGE}: log id {name} has level {described[name]}, "
                   f"the sources say {' '.join(sorted(found))}")


def check_variables(root):
    asked = {name for pattern, folders in (("*.c", SOURCES), ("*.py", ["python/octet", *SOURCES]))
             for _, text in sources(root, pattern, folders)
             for name in re.findall(r'"(OCTET_[A-Z_]+)"', text)} - NO_VARIABLES
    table = section((root / reference.PAGE).read_text(encoding="utf-8"), "Environment variables")
    described = {name for name, _ in rows(table) if name.startswith("OCTET_")}
    yield from compare("environment variable", asked, described, reference.PAGE)


def check_reference(root, print_numbers):
    path = root / reference.PAGE
    if path.read_text(encoding="utf-8") != reference.page(root, print_numbers):
        yield f"{reference.PAGE}: its tables are not those of the registries; check_docs.py … --write renews them"


def check_prometheus(root, print_numbers):
    names = metric_names.in_sources(root, SOURCES) | reference.families(reference.rows(print_numbers))
    described = metric_names.documented(root)
    yield from compare("metric", names, described, reference.PAGE)
    for name, kind in described.items():
        if name in names and kind != names[name]:
            yield f"{reference.PAGE}: metric {name} is a {names[name]}, not a {kind}"
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
               "check_docs.py … --write renews it")


PRINTED = re.compile(r"(<!-- printed: (bench/.*?) -->\n\n)((?:\|.*\n)+)")


def printed(root, command):
    """The first table that a program of bench/ prints from the records in docs/data."""
    output = subprocess.run([sys.executable, *shlex.split(command)], cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
    return re.search(r"(?:^\|.*\n)+", output, re.M)[0]


def with_printed(root, text):
    return PRINTED.sub(lambda found: found[1] + printed(root, found[2]), text)


def check_printed(root, path, text):
    for _, command, table in PRINTED.findall(text):
        if table != printed(root, command):
            yield f"{path.relative_to(root)}: a table is not what {command} prints; check_docs.py … --write renews it"


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


def check_tree(root, octet, print_numbers):
    yield from check_log_ids(root)
    yield from check_variables(root)
    yield from check_reference(root, print_numbers)
    yield from check_prometheus(root, print_numbers)
    yield from check_configuration(root, octet)
    tests = "".join(path.read_text(encoding="utf-8") for pattern in ("*.c", "*.py")
                    for path in (root / "tests").rglob(pattern))
    pages = sorted((root / "docs").rglob("*.md"))
    pages += [root / "README.md"] if (root / "README.md").exists() else []
    for path in pages:
        text = path.read_text(encoding="utf-8")
        yield from check_links(root, path, text)
        yield from check_names(root, path, text, tests)
        yield from check_printed(root, path, text)


# A sound little tree; for each rule a replacement in one file and the complaints that must follow.
OPERATIONS = """# Operations
## Metrics
"""
NUMBERS = "learner.\tloss\t1\tgauge\tcsv,status\toctet_loss\t\t\tHelp.\t\n"
REFERENCE = """# Reference
<!-- numbers: learner -->
| number | unit | shown in | Prometheus | meaning |
|---|---|---|---|---|
| `loss` | 1 | csv, status | `octet_loss` gauge | Help. |
<!-- end -->
| `octet_updates_total` | counter | x |
| `octet_bound{bound}` | gauge | x |
## Log ids
| `NET-STUCK` | E | [way](operations.md#metrics) and [page](configuration.md) |
| `REPLAY-BAD` | W | `test_good` of `tests/test_net.c` |
## Environment variables
| `OCTET_ISA`, `HOME` | kernel |
"""
SOUND = {
    "docs/operations.md": OPERATIONS,
    "docs/tuning.md": "# Tuning\n",
    "bench/table.py": 'print("runs:\\n| a |\\n|---|\\n\\n| b |")\n',
    "docs/tables.md": "<!-- printed: bench/table.py --now -->\n\n| a |\n|---|\n",
    "docs/reference.md": REFERENCE,
    "numbers": NUMBERS,
    "docs/configuration.md": INTRODUCTION + "keys\n",
    "net/net_loop.c": 'oct_log_error(\n    "NET-STUCK", "x");\n',
    "replay/replay_io.c": 'complain(io, "REPLAY-BAD", "x");\n',
    "policy/policy_isa.c": 'getenv("OCTET_ISA")\n',
    "net/net_metrics.c": 'oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_updates_total", "x");\n'
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
    ("docs/reference.md", "| `NET-STUCK` | E", "| NET-STUCK | E", ["NET-STUCK is not described"]),
    ("docs/reference.md", "## Log ids", "## Logs", ["NET-STUCK is not", "REPLAY-BAD is not"]),
    ("policy/policy_isa.c", "ISA", "CPU", ["variable OCTET_CPU is not described", "variable OCTET_ISA is not in"]),
    ("numbers", "\tloss", "\tlag", ["tables are not those"]),
    ("numbers", "octet_loss", "octet_lost",
     ["tables are not those", "octet_lost is not described", "octet_loss is not in"]),
    ("docs/reference.md", "Help.", "Other help.", ["tables are not those"]),
    ("net/net_metrics.c", "updates_total", "steps_total",
     ["octet_steps_total is not described", "octet_updates_total is not in", "octet_updates_total of a rule"]),
    ("net/net_metrics.c", "GAUGE", "COUNTER", ["octet_bound is a counter, not a gauge"]),
    ("deploy/grafana/octet.json", "updates", "steps", ["octet_steps_total of a rule"]),
    ("deploy/prometheus/a.rules.yaml", "octet_bound", "octet_lag", ["octet_lag of a rule"]),
    ("docs/configuration.md", "keys", "key", ["--write renews it"]),
    ("docs/tables.md", "| a |", "| c |", ["is not what bench/table.py --now prints"]),
    ("bench/table.py", "| a |", "| c |", ["is not what bench/table.py --now prints"]),
    ("docs/reference.md", "(configuration.md)", "(config.md)", ["leads nowhere"]),
    ("docs/reference.md", "#metrics)", "#metric)", ["no such heading"]),
    ("docs/reference.md", "test_net.c", "test_nets.c", ["there is no tests/test_nets.c"]),
    ("docs/reference.md", "`test_good`", "`test_better`", ["there is no test test_better"]),
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
            scripts = {"octet": "echo keys", "print_numbers": f"cat {root}/numbers"}
            for script, command in scripts.items():
                (root / script).write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
                (root / script).chmod((root / script).stat().st_mode | stat.S_IXUSR)
            got = list(check_tree(root, *(root / script for script in scripts)))
        if len(got) != len(want) or not all(w in g for w, g in zip(want, got)):
            print(f"{name}: {old} -> {new}: wanted {want}, got {got}")
            wrong += 1
    print(f"{len(SELF_TESTS) - wrong} of {len(SELF_TESTS)} self-tests hold")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    write = arguments[3:] == ["--write"]
    if len(arguments) != 3 and not write:
        print(__doc__)
        return 2
    root, octet, print_numbers = (pathlib.Path(argument).resolve() for argument in arguments[:3])
    if write:
        (root / "docs/configuration.md").write_text(configuration(octet), encoding="utf-8")
        (root / reference.PAGE).write_text(reference.page(root, print_numbers), encoding="utf-8")
        for path in sorted((root / "docs").rglob("*.md")):
            path.write_text(with_printed(root, path.read_text(encoding="utf-8")), encoding="utf-8")
    complaints = list(check_tree(root, octet, print_numbers))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else self_test()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
