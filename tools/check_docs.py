#!/usr/bin/env python3
"""Holds the documentation against the code. Runs as a test; exits 1 when they differ.

usage: check_docs.py ROOT OCTET PRINT_NUMBERS           checks the tree; OCTET is the octet executable,
                                                        PRINT_NUMBERS tools/print_numbers.c, built
       check_docs.py ROOT OCTET PRINT_NUMBERS --write   writes docs/configuration.md, docs/reference.md and printed tables first
       check_docs.py --self-test                        checks that each rule finds its violation

- docs/reference.md lists every log id with its level, and none that the sources do not have;
- it has the tables that tools/reference.py makes of the registries of numbers; it lists every number
  that evaluators report and every metric, and none that the sources do not have; the names of counters, and of
  nothing else, end in _total; the rules and the dashboard in deploy/ name no other metric;
- it has every environment variable whose name begins with OCTET_, and none that nobody asks for;
- docs/configuration.md is what `octet config --markdown` prints, after an introduction;
- a table below <!-- printed: bench/NAME.py ARGUMENTS --> or <!-- printed: octet ARGUMENTS --> is what that command prints,
  and one blank line is between them;
- the lists of tools/doc_lists.py: commands, algorithms, environments, presets, keys, messages, floors, pages;
- relative links in README.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md and docs/ lead to a file, and to a heading of that file;
- files, test programs and tests that are named in `backquotes` exist;
- no sentence stands twice in a row.
"""

import pathlib
import re
import shlex
import stat
import subprocess
import sys
import tempfile

import doc_lists
import metric_names
import reference
import tidy
from doc_lists import compare

SOURCES = [folder for folder in tidy.MAY_INCLUDE if "/" not in folder]
NAMED = [*SOURCES, "include", "tests", "tools", "bench", "docs", "presets", "examples", "script"]
PREFIXES = "|".join(folder.split("/")[-1].upper() for folder in tidy.MAY_INCLUDE) + "|OCTET"
LOG_ID = re.compile(rf"(?:{PREFIXES})(?:-[A-Z0-9]+)+")
NO_VARIABLES = {"OCTET_END"}  # the end of a text in the script for Slurm
LOG_CALL = re.compile(r'\boct_log_(error|warn|notice|info|debug)\(\s*(?:"([^"]*)"|\w+)')

INTRODUCTION = """# Configuration

Every key of an experiment. Only `env.id` is required; every other key has a default, which for some follows
`algo.name`. The same names work on the command line: `octet train cartpole --set learner.batch_size=128`.

- `octet config KEY` shows one key, and `octet config --explain ALGO` the keys that matter to an algorithm, with usual
  values. [Tuning](tuning.md) says when to change which.
- `octet config --check FILE` checks a file. Both it and `octet train` warn of a key that you set without effect:
  `warning: algo.noisy_sigma: 0.3 has no effect without algo.noisy: true`.
- `octet config` prints the basic keys, which most experiments choose and which are bold here; `octet config --all`
  prints all.
- In the tables, "whole" means a whole number. Algorithms at the beginning of a meaning are those that read the key.
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


def log_ids(text):
    """(id, levels) of every line of a list like: - `NET-STUCK`, `NET-PUSH` E W: what happened."""
    for names, levels in re.findall(r"^- (`[^:]*`) ([EWNID ]+): ", text, re.M):
        for name in re.findall(r"`([^`]+)`", names):
            yield name, levels


def renewing(root, octet, print_numbers):
    return shlex.join(["python3", sys.argv[0], str(root), str(octet), str(print_numbers), "--write"])


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
    described = dict(log_ids(section(page, "Log ids")))
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


def check_reference(root, print_numbers, renew):
    path = root / reference.PAGE
    if path.read_text(encoding="utf-8") != reference.page(root, print_numbers):
        yield f"{reference.PAGE}: its tables are not those of the registries; this renews them: {renew}"


def check_prometheus(root, print_numbers):
    names = metric_names.in_sources(root, SOURCES) | reference.families(reference.rows(print_numbers))
    described = metric_names.documented(root)
    yield from compare("metric", names, described, reference.PAGE)
    for name, kind in described.items():
        if name in names and kind != names[name]:
            yield f"metric {name} is a {names[name]}: names of counters end in _total, names of gauges do not"
    if (root / "deploy").exists():
        for name in sorted(metric_names.used(root) - set(names) - {"up"}):
            yield f"deploy: metric {name} of a rule or the dashboard is not in the sources"


def configuration(octet):
    printed = subprocess.run([octet, "config", "--markdown"], capture_output=True, text=True,
                             check=True, timeout=60).stdout
    return INTRODUCTION + printed


def check_configuration(root, octet, renew):
    path = root / "docs/configuration.md"
    if not path.exists() or path.read_text(encoding="utf-8") != configuration(octet):
        yield f"docs/configuration.md: is not what octet config --markdown prints; this renews it: {renew}"


PRINTED = re.compile(r"(<!-- printed: ((?:bench/|octet ).*?) -->\n\n)((?:\|.*\n)+)")
PRINTED_MARK = re.compile(r"<!-- *printed\b")


def printed(root, octet, command):
    """The first table that octet prints, or a program of bench/ from the records in docs/data."""
    program, *arguments = shlex.split(command)
    started = [octet] if program == "octet" else [sys.executable, program]
    output = subprocess.run([*started, *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
    return re.search(r"(?:^\|.*\n)+", output, re.M)[0]


def with_printed(root, octet, text):
    return PRINTED.sub(lambda found: found[1] + printed(root, octet, found[2]), text)


def check_printed(root, octet, path, text, renew):
    tables = {found.start() for found in PRINTED.finditer(text)}
    for mark in PRINTED_MARK.finditer(text):
        if mark.start() not in tables:
            yield (f"{path.relative_to(root)}, line {text.count(chr(10), 0, mark.start()) + 1}: no <!-- printed: bench/NAME.py "
                   "ARGUMENTS --> (or octet ARGUMENTS) with a blank line and a table below")
    for _, command, table in PRINTED.findall(text):
        if table != printed(root, octet, command):
            yield f"{path.relative_to(root)}: a table is not what {command} prints; this renews it: {renew}"


LIST_ITEM = re.compile(r" *(?:[-*+]|\d+[.)]) ")


def without_code(text):
    """Without blocks between ``` and without indented ones: those behind a blank line and outside a list."""
    kept, is_list, is_code, is_behind_blank = [], False, False, True
    for line in re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).split("\n"):
        if line.strip():
            is_code = line.startswith("    ") and not is_list and (is_code or is_behind_blank)
            is_list = not is_code and (LIST_ITEM.match(line) is not None or is_list and (line[0] == " " or not is_behind_blank))
        is_behind_blank = not line.strip() or line.startswith("#")
        kept.append("" if is_code else line)
    return "\n".join(kept)


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
        if re.fullmatch(r"test_[a-z0-9_]+", name) and name not in tests:
            yield f"{path.relative_to(root)}: there is no test {name}"


def check_sentences(root, path, text):
    """Of each paragraph: a list's entries and a table's cells may be the same."""
    for paragraph in re.split(r"\n\n|\n(?=[-|#] ?)|\n(?=  +[-|])", without_code(text)):
        sentences = re.split(r"(?<=[.:;?!]) ", re.sub(r"\s+", " ", paragraph).strip())
        for i, sentence in enumerate(sentences):
            for length in range(1, i + 1):
                if len(sentence) > 3 and sentences[i - length + 1:i + 1] == sentences[i - 2 * length + 1:i - length + 1]:
                    yield f"{path.relative_to(root)}: stands twice in a row: {' '.join(sentences[i - length + 1:i + 1])}"


def check_tree(root, octet, print_numbers):
    renew = renewing(root, octet, print_numbers)
    yield from check_log_ids(root)
    yield from check_variables(root)
    yield from check_reference(root, print_numbers, renew)
    yield from check_prometheus(root, print_numbers)
    yield from check_configuration(root, octet, renew)
    tests = {name for pattern in ("*.c", "*.py") for path in (root / "tests").rglob(pattern)
             for name in re.findall(r"\btest_\w+", path.read_text(encoding="utf-8"))}
    pages = [*(root / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")), *sorted((root / "docs").rglob("*.md"))]
    yield from doc_lists.check(root, pages)
    for path in pages:
        text = path.read_text(encoding="utf-8")
        yield from check_links(root, path, text)
        yield from check_names(root, path, text, tests)
        yield from check_printed(root, octet, path, text, renew)
        yield from check_sentences(root, path, text)


# A sound little tree; for each rule a replacement in one file and the complaints that must follow.
OPERATIONS = """# Operations
## Metrics
"""
NUMBERS = ("learner.\tloss\t1\tgauge\tcsv,status\toctet_loss\t\t\tHelp.\t\n"
           "learner.\tgoal\t1\tgauge\tstatus\t\t\t\tEnd.\t\n")
REFERENCE = """# Reference
<!-- numbers: learner csv -->
| number | unit | meaning |
|---|---|---|
| `loss`<br>`octet_loss` | 1 | Help. |
<!-- end -->
<!-- numbers: learner other -->
| number | unit | meaning |
|---|---|---|
| `goal` | 1 | End. |
<!-- end -->
| `octet_updates_total` | | x |
| `octet_bound{bound}` | | x |
## Log ids
- `NET-STUCK` E: [way](operations.md#metrics) and [page](configuration.md)
- `REPLAY-BAD` W: `test_good` of `tests/test_net.c`
## Environment variables
| `OCTET_ISA`, `HOME` | kernel |
"""
CONFIG_NAMES = """X(CONFIG_ALGO_DQN, "dqn") \\
X(CONFIG_ALGO_VTRACE, "vtrace")
"""
SCHEMA = """enum Kind {
  KIND_GOOD = 1; // = 2
}
message Ask {
  fixed64 id = 1; // of it
  Kind kind = 2;
  repeated float more = 3;
  bytes flags = 7;
}
message Empty {}
message Answer {
  uint32 version = 1;
  uint32 other = 2;
}
service One {
  rpc Put(Ask) returns (Empty);
  rpc Get(Ask) returns (Answer);
}
service Two {
  rpc Do(Empty) returns (Empty);
}
"""
WIRE = """# Wire
The protocol version is 5. It bears one version (5) and reads a range (4 to 5). These requests bear version 4 in
every release.
| code | method | request | reply | |
|---|---|---|---|---|
| 0x0100 | One.Put | Ask | Empty | once |
| 0x0101 | One.Get | Ask | Answer | twice |
| 0x0200 | Two.Do | Empty | Empty | |
## Ask (one → other)
| # | field | type | meaning |
|---|---|---|---|
| 1 | id | fixed64 | |
| 2 | kind | enum | of \\|x\\| |
| 3 | more | float[kinds] | |
| 7 | flags | bytes[more] | |

| bit | flag | |
|---|---|---|
| 0 | good | |
### Get
Answer, which comes late:

| # | field | type | meaning |
|---|---|---|---|
| 1, 2 | version, other | | as elsewhere |
"""
ENVIRONMENTS = """# Environments
| `Pole-v1` | two of it |
| `dmc:worm_crawl`, `_turn` | 2 |
"""
ARCHITECTURE = "# Architecture\n" + "".join(
    f"| 1 | `{folder}/` | {', '.join(others)} | |\n" for folder, others in tidy.MAY_INCLUDE.items())
SOUND = {
    "README.md": "# Octet\n",
    "SECURITY.md": "# Security\n",
    "meson.build": "project('octet', 'c',\n  version: '0.2.0',\n",
    "CHANGELOG.md": "# Changelog\n## [Unreleased]\n## [0.2.0] - 2026-01-02\n",
    "CITATION.cff": "version: 0.2.0\ndate-released: 2026-01-02\n",
    "deploy/kubernetes/kustomization.yaml": '  newTag: "0.2.0"\n',
    "docs/index.md": "# Pages\n" + "".join(f"- [{page}]({page}.md)\n" for page in [
        "algorithms", "cli", "configuration", "environments", "internals/architecture", "internals/decisions/index",
        "internals/life-of-a-batch", "internals/wire", "operations", "reference", "start/first", "tables", "tuning"]),
    "CONTRIBUTING.md": "# Contributing\n[tuning](docs/tuning.md): a function has at most 70 lines, a line 100 columns. A `.c`\n"
                       "file of more than 800 lines or a header of more than 320 is remarked on.\n",
    "config/config_names.h": CONFIG_NAMES,
    "proto/octet.proto": SCHEMA,
    "proto/wire_speaks.h": "#define WIRE_PROTOCOL_VERSION  5\n#define WIRE_PROTOCOL_READ_MIN 4\n#define WIRE_PROTOCOL_READ_MAX 5\n"
                           "#define WIRE_PROTOCOL_HELLO 4\n",
    "docs/internals/wire.md": WIRE,
    "cli/octet_main.c": '    {"train", cli_train, "train"},\n    {"stop", cli_stop, "end"},\n    {"save", cli_save, "save"},\n',
    "docs/cli.md": "# Commands\n## octet train\n### The folder\n## octet stop, octet save\n",
    "docs/algorithms.md": "# Algorithms\n<!-- printed: octet config --algorithms -->\n\n| dqn |\n|---|\n\n## DQN\n## V-trace\n",
    "envs/env_registry.c": '    X("Pole-v0", a) \\\n    X("Pole-v1", b)\n',
    "envs/dmc/dmc_tasks.c": "    &dmc_worm_crawl,\n    &dmc_worm_turn,\n",
    "docs/environments.md": ENVIRONMENTS,
    "docs/internals/architecture.md": ARCHITECTURE,
    "docs/internals/decisions/index.md": "# Decisions\n- [0001](0001-scale.md)\n",
    "docs/internals/decisions/0001-scale.md": "# 0001: the scale\n",
    "docs/internals/life-of-a-batch.md": "# Life\nFrom x.c to y.h.\n",
    "docs/start/first.md": "# First\n",
    "presets/toys/pole.yaml": "",
    "docs/operations.md": OPERATIONS,
    "docs/tuning.md": "# Tuning\nOf pole. It is so. It is short.\n\n- It is short.\n- It is short.\n",
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
    ("docs/reference.md", "- `NET-STUCK` E", "- NET-STUCK E", ["NET-STUCK is not described"]),
    ("docs/reference.md", "## Log ids", "## Logs", ["NET-STUCK is not", "REPLAY-BAD is not"]),
    ("policy/policy_isa.c", "ISA", "CPU", ["variable OCTET_CPU is not described", "variable OCTET_ISA is not in"]),
    ("numbers", "\tloss", "\tlag", ["tables are not those"]),
    ("numbers", "\tcsv,status", "\tstatus", ["tables are not those"]),
    ("numbers", "octet_loss", "octet_lost",
     ["tables are not those", "octet_lost is not described", "octet_loss is not in"]),
    ("docs/reference.md", "Help.", "Other help.", ["tables are not those"]),
    ("net/net_metrics.c", "updates_total", "steps_total",
     ["octet_steps_total is not described", "octet_updates_total is not in", "octet_updates_total of a rule"]),
    ("net/net_metrics.c", "GAUGE", "COUNTER", ["octet_bound is a counter: names"]),
    ("deploy/grafana/octet.json", "updates", "steps", ["octet_steps_total of a rule"]),
    ("deploy/prometheus/a.rules.yaml", "octet_bound", "octet_lag", ["octet_lag of a rule"]),
    ("docs/configuration.md", "keys", "key", ["this renews it: python3 "]),
    ("docs/tables.md", "| a |", "| c |", ["is not what bench/table.py --now prints"]),
    ("bench/table.py", "| a |", "| c |", ["is not what bench/table.py --now prints"]),
    ("docs/tables.md", "-->\n\n", "-->\n", ["docs/tables.md, line 1: no <!-- printed: bench/NAME.py ARGUMENTS --> (or octet ARGUMENTS) with a blank line"]),
    ("docs/algorithms.md", "| dqn |", "| sac |", ["is not what octet config --algorithms prints"]),
    ("docs/tables.md", "-->\n\n", "-->\n\n\n", ["docs/tables.md, line 1: no <!-- printed: "]),
    ("docs/tables.md", "printed: bench", "printed bench", ["docs/tables.md, line 1: no <!-- printed: "]),
    ("docs/reference.md", "(configuration.md)", "(config.md)", ["leads nowhere"]),
    ("docs/reference.md", "#metrics)", "#metric)", ["no such heading"]),
    ("docs/reference.md", "test_net.c", "test_nets.c", ["there is no tests/test_nets.c"]),
    ("docs/reference.md", "`test_good`", "`test_better`", ["there is no test test_better"]),
    ("CONTRIBUTING.md", "tuning.md", "turning.md", ["CONTRIBUTING.md: link to docs/turning.md leads nowhere"]),
    ("docs/tuning.md", "- It is short.\n- It", "- It is\n  - of [one\n    page](turning.md).\n- It", ["link to turning.md leads nowhere"]),
    ("docs/tuning.md", "- It is short.\n- It", "- It.\n\n    See [it](turning.md).\n- It", ["link to turning.md leads nowhere"]),
    ("docs/tuning.md", "- It is short.\n- It", "Or:\n\n    see [it](turning.md)\n\n    - [it](turning.md)\n- It", []),
    ("CONTRIBUTING.md", "70", "75", ["a function has at most 70 lines"]),
    ("docs/index.md", "(tuning.md", "(reference.md", ["docs/index.md: no link to tuning.md"]),
    ("docs/internals/decisions/index.md", "0001-scale.md", "index.md", ["docs/internals/decisions/index.md: no link to 0001-scale.md"]),
    ("docs/index.md", "(internals/wire.md", "(reference.md", ["docs/index.md: no link to internals/wire.md"]),
    ("docs/tuning.md", "short.\n\n", "short. It is\nshort.\n\n", ["stands twice in a row: It is short."]),
    ("docs/tuning.md", "short.\n\n", "short. It is so. It is short.\n\n", ["stands twice in a row: It is so. It is short."]),
    ("cli/octet_main.c", '"train"', '"learn"', ["command learn is not described", "command train is not in"]),
    ("cli/octet_main.c", '"save"', '"store"', ["command store is not described", "command save is not in"]),
    ("config/config_names.h", '"vtrace"', '"table"', ["algo.name table has no heading"]),
    ("config/config_names.h", '"vtrace")', '"vtrace") X(CONFIG_ALGO_TRACE, "trace")', ["algo.name trace has no heading"]),
    ("envs/env_registry.c", "Pole-v0", "Cart-v0", ["environment Cart is not described"]),
    ("envs/env_registry.c", "Pole-v", "Cart-v", ["environment Cart is not described", "environment Pole is not in"]),
    ("envs/dmc/dmc_tasks.c", "turn", "hop", ["worm_hop is not described", "worm_turn is not in"]),
    ("docs/tuning.md", "Of pole", "Of poles", ["presets/toys/pole.yaml: no page names it"]),
    ("proto/octet.proto", "id = 1;", "id = 1;\n  bool is_new = 4;", ["Ask: field 4, is_new (bool), is not described"]),
    ("proto/octet.proto", "id = 1", "id = 8", ["field 1 is id (fixed64), in proto/octet.proto there is none", "field 8, id"]),
    ("proto/octet.proto", "fixed64 id", "uint64 id", ["field 1 is id (fixed64), in proto/octet.proto id (uint64)"]),
    ("proto/octet.proto", "Kind kind", "uint32 kind", ["field 2 is kind (enum)"]),
    ("proto/octet.proto", "repeated float", "float", ["field 3 is more (float[])"]),
    ("docs/internals/wire.md", "| 1, 2 | version, other |", "| 1 | version |", ["Answer: field 2, other (uint32), is not described"]),
    ("docs/internals/wire.md", "\nAnswer, which", "\nIt", ["Ask: field 1 is version", "Ask: field 2 is other", "Answer: field 1", "Answer: field 2"]),
    ("proto/octet.proto", "(Empty) returns", "(Ask) returns", ["method 0x0200 is"]),
    ("proto/octet.proto", "rpc Put", "rpc Set(Empty) returns (Empty);\n  rpc Put",
     ["method 0x0100 is", "method 0x0101 is", "method 0x0102 is None"]),
    ("proto/wire_speaks.h", "VERSION  5", "VERSION  6", ["The protocol version is 6.", "bears one version (6)"]),
    ("proto/wire_speaks.h", "MIN 4", "MIN 5", ["(5 to 5)"]),
    ("meson.build", "0.2.0", "0.3.0", ["CHANGELOG.md: its newest heading", "kustomization.yaml: its image is not of version 0.3.0"]),
    ("CITATION.cff", "-01-02", "-01-03", ["CITATION.cff: not version: 0.2.0 and date-released: 2026-01-02"]),
    ("README.md", "Octet", "Octet" + " a" * 899, ["README.md: 901 words, at most 900"]),
    ("README.md", "Octet", "Octet\n" + "| a |\n" * 11, ["README.md: a table of 9 rows, at most 8"]),
    ("docs/start/first.md", "First", "a " * 400, ["docs/start/first.md: 401 words, at most 400"]),
    ("docs/tuning.md", "Tuning", "a " * 60000, ["the pages of docs/ for users: "]),
    ("docs/internals/life-of-a-batch.md", "x.c", " ".join(f"x{i}.c" for i in range(12)), ["life-of-a-batch.md: names 13 files, at most 12"]),
    ("SECURITY.md", "Security", "Security\n[docs](docs/secrets.md)", ["SECURITY.md: link to docs/secrets.md leads nowhere"]),
    ("docs/internals/architecture.md", "`nn/` | common, ", "`nn/` | common, net, ", ["nn/ may include common, policy, nn/group (tools/tidy.py)"]),
    ("docs/internals/architecture.md", "`nn/`", "`mm/`", ["folder nn is not described", "folder mm is not in"]),
]


def self_test():
    wrong = 0
    for name, old, new, want in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for source in tidy.MAY_INCLUDE:
                (root / source).mkdir(parents=True, exist_ok=True)
            for path, text in SOUND.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                text = text.replace(old, new) if path == name and old else text
                (root / path).write_text(text, encoding="utf-8")
            scripts = {"octet": 'test "$2" = --markdown && echo keys || printf "| dqn |\\n|---|\\n"', "print_numbers": f"cat {root}/numbers"}
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
            path.write_text(with_printed(root, octet, path.read_text(encoding="utf-8")), encoding="utf-8")
    complaints = list(check_tree(root, octet, print_numbers))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else self_test()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
