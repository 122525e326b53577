#!/usr/bin/env python3
"""Checks of form that the compiler cannot make: who may include whom, where foreign headers live, lengths, banned
calls, guards, unique file names, descriptions, blanks, files that no build names, tests that nobody runs.
Runs as a test; exits 1 if untidy.

usage: tidy.py ROOT             checks the tree
       tidy.py --folders ROOT   prints the folders of C code
       tidy.py --self-test      checks that each rule finds its violation, and nothing in tidy code
"""

import fnmatch
import os
import pathlib
import re
import sys
import tempfile

DAEMONS = ["actor", "relay", "replay", "learner"]

# A folder may include itself and the folders listed for it, nothing else. A folder inside another has rules of its own.
MAY_INCLUDE = {
    "common": [],
    "config": ["common", "policy"],
    "proto": ["common"],
    "net": ["common"],
    "policy": ["common"],
    "policy/codec": ["common", "policy"],
    "policy/export": ["common", "policy"],
    "policy/import": ["common", "policy"],
    "envs": ["common"],
    "envs/render": ["common", "envs"],
    "nn/group": ["common"],
    "nn": ["common", "policy", "nn/group"],
    "algos": ["common", "config", "policy", "nn", "nn/group"],
    "algos/distill": ["common", "policy", "nn", "quantizer"],
    "quantizer": ["common", "policy", "policy/codec", "nn", "proto", "net"],
    "lib": ["common", "policy", "envs", "envs/render", "quantizer", "proto", "net", "actor"],
    "relay": ["common", "proto", "net"],
    "replay": ["common", "config", "proto", "net"],
    "replay/data": ["common", "config", "proto", "replay"],
    "actor": ["common", "config", "policy", "policy/codec", "envs", "proto", "net"],
    "learner": ["common", "config", "policy", "nn/group", "nn", "algos", "quantizer", "proto", "net"],
    "cli": ["common", "config", "policy", "policy/export", "policy/import", "envs", "envs/render", "nn/group", "nn", "algos", "algos/distill",
            "quantizer", "replay", "replay/data", "actor", "learner", "proto", "net"],
}
PUBLIC = "include"  # include/octet/*.h: everybody may include them
FREE = ["tests", "bench", "tools", "examples", "python"]
FOLDERS = [*(name for name in MAY_INCLUDE if "/" not in name), PUBLIC, *FREE]

# In a daemon folder only the shell touches the network; the rest is testable without it.
SHELL = re.compile(r"_(main|io)\.[ch]$")

# A foreign header is named in one place.
HOME = {
    r"<nng/": "net/",
    r"<uv\.h>": "net/",
    r"<microhttpd\.h>": "net/net_http.c",
    r"<cblas\.h>": "nn/nn_gemm.c",
    r"\.pb-c\.h": ("proto/", "policy/export/export_graph.c", "policy/import/import_model.c"),
    r"<protobuf-c/": "proto/",
    r"<openssl/": ("net/", "proto/wire_hash.c", "proto/wire_sign.c", "proto/wire_token.c",
                   "cli/cli_certs_ca.c"),
    r"<yaml\.h>": "config/",
    r"<zstd\.h>": ("policy/codec/codec_delta.c", "cli/pack/cli_pack_stream.c"),
    r"<mujoco/": "envs/dmc/",
    r"<cairo/": "envs/render/render_canvas.c",
    r"<mpi\.h>": "nn/group/group_mpi.c",
    r"<cmocka\.h>": "tests/support/oct_test.h",
}
BANNED = {
    r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof|alloca)\s*\(":
        "unbounded or unchecked",
    r"\b(rand|srand|random|drand48)\s*\(": "take an oct_rng argument",
    r"\b(localtime|gmtime|ctime|asctime|strerror_l|getpwnam)\s*\(": "not safe between threads",
    r"\b(system|popen)\s*\(": "starts a shell",
    r"#\s*pragma once": "use an include guard",
}
# One place starts Python: another would import what lies in the current folder.
PYTHON_STARTER = "common/oct_python.c"
PYTHON_STARTS = re.compile(r'(posix_spawnp?|exec[lv]p?e?)\s*\([^;]*python|"python3"')
# What a terminal obeys is written here; all else that is printed passes common/oct_output.c, or is tamed as it is built.
TERMINAL = {
    r"\\(x1[bB]|033)": ("cli/top/", "cli/status/cli_screen.c", "cli/status/cli_view.h", "cli/cli_returns.c", "envs/env_check_said.c"),
    r"\b(write|write_all|dprintf)\s*\(\s*STD(OUT|ERR)_FILENO": ("common/oct_log.c", "common/oct_output.c", "cli/top/cli_top_screen.c",
                                                                "cli/cli_env_guard.c"),
    r"\bfopencookie\s*\(": ("common/oct_output.c",),
    r"\bjson_dump[bsf]?\w*\s*\(": ("cli/cli_json.c", "cli/dash/cli_dash_json.c", "cli/sweep/cli_sweep_optuna.c", "learner/learner_summary.c"),
}
# Only common/oct_file_open.h opens, renames and removes files: other code calls its functions.
OPENS = re.compile(r"(?<![\w.>])(open|open64|openat|fopen|fopen64|freopen|creat|opendir|scandir|fdopendir|ftw|nftw|rename|renameat|unlink|"
                   r"unlinkat|remove|rmdir|mkdir|mkdirat|link|linkat|symlink|truncate|tmpfile|tmpnam|tempnam|mktemp|mkstemp|mkdtemp)\s*\(")
MAY_OPEN = {
    "common/oct_file_open.c": "is where files are opened",
    "common/oct_file.c": "writes into devices and pipes that the user names",
    "common/oct_start.c": "opens /dev/null",
    "cli/run/cli_run_end.c": "opens /dev/null",
    "cli/status/cli_screen.c": "opens the terminal again",
    "cli/top/cli_top_screen.c": "opens the terminal",
    "cli/cli_data.c": "makes a temporary folder with mkdtemp, and removes files in a signal handler, which may take no lock",
    "cli/cli_presets.c": "lists folders in order (scandir)",
    "cli/runs/cli_run_list.c": "lists folders in order (scandir)",
    "cli/cluster/cli_cluster_ssh.c": "makes a temporary folder with mkdtemp",
    "net/net_gate_folder.c": "makes sockets in a folder of mkdtemp, and removes what is in such folders",
    "net/net_gate_local.c": "opens sockets",
    "learner/learner_external.c": "removes a socket",
}
# Words that have no place in a comment: who does what is said by name, and things by the field's terms.
COMMENT_WORDS = re.compile(r"\b(anew|so many|whoever|those whose|nobody's|somebody(?:'s)?|goes on|newcomers?|strangers?|deaf|mute|for ever)\b", re.I)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# A complaint that begins with it is printed and does not fail: a long file may be one thing.
NOTE = "note: "
FILE_LINES_MAX = {".c": 800, ".h": 320}
# The struct of an object that several files share makes them one file in several pieces.
STATE_USERS_MAX = 3
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

# A .c file of more lines begins with a comment that says what it is.
UNDESCRIBED_LINES_MAX = 8

# Files that are looked at for blanks at the end of a line, beside those of C.
TEXTS = ["*.md", "*.py", "*.sh", "*.yaml", "meson.build"]


def room(path):
    """The folder of MAY_INCLUDE that a file is in: policy/export/export_c99.c is in policy/export, envs/dmc/dmc_walk.c in envs."""
    inner = "/".join(path.split("/")[:2])
    return inner if inner in MAY_INCLUDE else path.split("/")[0]


def check_includes(rel, line):
    include = re.match(r'\s*#\s*include\s+(["<][^">]+[">])', line)
    if not include:
        return
    header, folder = include[1], room(rel.as_posix())
    for pattern, home in HOME.items():
        # Tests and benchmarks may talk to a library directly, for comparison.
        free = folder in FREE and "cmocka" not in pattern
        if not free and re.search(pattern, header) and not rel.as_posix().startswith(home):
            yield f"{header} belongs only in {home if isinstance(home, str) else ' and '.join(home)}"
    if folder in FREE or not header.startswith('"') or header.endswith('.pb-c.h"'):
        return
    if folder == PUBLIC and "/" not in header:
        return  # installed, they lie beside each other
    target = room(header[1:-1]) if "/" in header else None
    if target in (None, ".", ".."):
        yield "include by path from the root"
    elif target == PUBLIC:
        return
    elif target not in (folder, *MAY_INCLUDE.get(folder, [])):
        yield f"{folder}/ may not include {target}/"
    elif target == "net" and folder in DAEMONS and not SHELL.search(rel.name):
        yield "only *_main.c and *_io.[ch] may include net/"


def guard_of(rel):
    """common/oct_err.h has the guard COMMON_OCT_ERR_H, include/octet/env.h has OCTET_ENV_H."""
    if rel.parts[0] == PUBLIC:
        return re.sub(r"\W", "_", "_".join(rel.parts[1:])).upper()
    return re.sub(r"\W", "_", "_".join(rel.parts)).upper()


def check_line(rel, line):
    if len(line) > COLUMNS_MAX:
        yield f"more than {COLUMNS_MAX} columns: break the line"
    if "\t" in line or line.rstrip() != line:
        yield "tab, or blanks at the end of the line"
    if UNFINISHED.search(line):
        yield "finish it before merging"
    yield from check_includes(rel, line)
    if rel.parts[0] in FREE:
        return
    comment = re.search(r'(?:^|[^:"])//(.*)', line)
    word = COMMENT_WORDS.search(comment[1]) if comment else None
    if word:
        yield f"'{word[0]}' in a comment: say who does what, by name"
    for pattern, homes in TERMINAL.items():
        if re.search(pattern, line) and not rel.as_posix().startswith(homes):
            yield "what is printed passes common/oct_output.h and cli/cli_json.h"
    # A call that is named in a comment or a text is not made.
    code = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
    for pattern, why in BANNED.items():
        if re.search(pattern, code):
            yield f"banned: {why}"
    if PYTHON_STARTS.search(line.split("//")[0]) and rel.as_posix() != PYTHON_STARTER:
        yield f"start Python with {PYTHON_STARTER}, which keeps the current folder off its search path"
    opens = OPENS.search(code)
    if opens and rel.as_posix() not in MAY_OPEN:
        yield f"{opens[1]}: files are opened, renamed and removed by functions of common/oct_file_open.h"


def check_described(rel, lines):
    """A header says what it is (CONTRIBUTING.md); a public one has a comment beside each function, or each few of a kind."""
    if not any(re.search(r"//|/\*", line) for line in lines if not line.startswith("#endif")):
        yield 1, "a header without a comment: say what it is, which thread may call it, who owns what, what happens when it is full"
    elif rel.parts[0] == PUBLIC:
        first = 1
        for paragraph in "\n".join(lines).split("\n\n"):
            if "/*" not in paragraph and re.search(r"^\w[\w *]*\b\w+\(", paragraph, re.M):
                yield first, "a public function without a comment: say what it does, and what it returns"
            first += paragraph.count("\n") + 2


def check(rel, lines):
    if len(lines) > FILE_LINES_MAX[rel.suffix]:
        yield len(lines), f"{NOTE}file has more than {FILE_LINES_MAX[rel.suffix]} lines: do its parts do different things?"
    if rel.suffix == ".h" and f"#ifndef {guard_of(rel)}" not in lines:
        yield 1, f"the include guard is not {guard_of(rel)}"
    if rel.suffix == ".c" and len(lines) > UNDESCRIBED_LINES_MAX:
        if not re.match(r"(//|/\*) \S", lines[0]):
            yield 1, "begin with a comment that says what the file is"
    if rel.suffix == ".h":
        yield from check_described(rel, lines)
    opened = None
    for n, line in enumerate(lines, 1):
        if line == "{":
            opened = n
        if line == "}" and opened:
            if n - opened + 1 > FUNCTION_LINES_MAX:
                yield opened, f"function has more than {FUNCTION_LINES_MAX} lines: split it by what its parts do"
            opened = None
        for what in check_line(rel, line):
            yield n, what


def is_ours(root, name):
    """Returns True for an entry of the root that is neither hidden nor a build folder in .gitignore."""
    ignored = (root / ".gitignore").read_text(encoding="utf-8").split() if (root / ".gitignore").exists() else []
    return not name.startswith(".") and not any(fnmatch.fnmatch(f"/{name}/", pattern) for pattern in ignored)


def check_folders(root):
    for path in sorted(root.iterdir()):
        if path.is_dir() and path.name not in FOLDERS and is_ours(root, path.name) and any(path.rglob("*.[ch]")):
            yield (f"{path.name}/: a folder with C code that is not in MAY_INCLUDE of tools/tidy.py: "
                   "say there and in docs/internals/architecture.md which folders it may include")


def check_blanks(root):
    for folder in sorted(root.iterdir()):
        texts = [path for pattern in TEXTS for path in sorted(folder.rglob(pattern))] if is_ours(root, folder.name) else []
        texts += [folder] if any(fnmatch.fnmatch(folder.name, pattern) for pattern in TEXTS) else []
        for path in texts:
            for n, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                if line.rstrip() != line:
                    yield f"{path.relative_to(root)}:{n}: blanks at the end of the line"


def built(root):
    """Every path that a meson.build names, also as 'test_' + name + '.c' with a name in quotes in that file."""
    paths = set()
    for path in [root / "meson.build", *(path for folder in FOLDERS for path in (root / folder).rglob("meson.build"))]:
        if not path.exists():
            continue
        text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
        words = re.findall(r"'([^'\n]*)'", text)
        around = re.findall(r"(?:'([^'\n]*)' \+ )?[\w.\[\]]+ \+ '([^'\n]*)'", text)
        around += re.findall(r"'([^'\n]*)@0@([^'\n]*)'\.format\(", text)
        folder = path.parent.relative_to(root)
        for word in words:
            paths.update(os.path.normpath(folder / name) for name in [word, *(a + word + b for a, b in around)])
    return paths


def check_built(root):
    """Each source is in a build, or compiled by a test in Python; each test is run."""
    named = built(root)
    programs = "".join(path.read_text(encoding="utf-8") for path in sorted(root.glob("tests/**/*.py")))
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.c")):
            rel = path.relative_to(root)
            if rel.as_posix() not in named and not re.search(rf'["/]{re.escape(rel.name)}"', programs):
                yield f"{rel}:1: no meson.build names this file: it is never built"
    for pattern in ("*.py", "*.sh"):
        for path in sorted(root.glob(f"tests/**/test_{pattern}")):
            rel = path.relative_to(root)
            if (path.parent / "meson.build").exists() and rel.as_posix() not in named:
                yield f"{rel}:1: no meson.build names this file: its tests are never run"


def check_tests_run(root):
    """Each test_NAME is named in a meson.build, which runs it by its name, or used in its file. In tests/python pytest finds them."""
    named = "".join(path.read_text(encoding="utf-8") for path in sorted(root.glob("tests/**/meson.build")))
    for path in sorted(root.glob("tests/**/*.py")):
        rel = path.relative_to(root)
        if rel.parts[1] == "python":
            continue
        text = path.read_text(encoding="utf-8")
        for n, line in enumerate(text.splitlines(), 1):
            name = re.match(r"def test_(\w+)\(", line)
            if name and f"'{name[1]}'" not in named and len(re.findall(rf"\btest_{name[1]}\b", text)) == 1:
                yield f"{rel}:{n}: no meson.build names this test: it is never run"


def check_bench_is_optimised(root):
    """Programs of bench/ that took test_support would be compiled with its -O0."""
    for path in sorted(root.glob("bench/**/meson.build")):
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"\b(test_support|net_test_deps)\b", line):
                yield f"{path.relative_to(root)}:{n}: test_support compiles without optimisation: take bench_support"


def check_state_headers(root):
    """A header NAME_state.h or NAME_state_io.h holds a struct that its files share."""
    users = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.c")) if folder not in ("tests", "bench") else ():
            for name in re.findall(r'^#include "(\w[\w/]*_state(?:_io)?\.h)"', path.read_text(encoding="utf-8"), re.M):
                users.setdefault(name, []).append(path.relative_to(root).as_posix())
    for name, by in sorted(users.items()):
        if len(by) > STATE_USERS_MAX:
            yield (f"{by[STATE_USERS_MAX]}:1: {name} is included by {len(by)} files, allowed are {STATE_USERS_MAX}: "
                   "give its parts interfaces")


def check_tree(root):
    yield from check_folders(root)
    yield from check_state_headers(root)
    yield from check_blanks(root)
    yield from check_built(root)
    yield from check_tests_run(root)
    yield from check_bench_is_optimised(root)
    names = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            rel = path.relative_to(root)
            for n, what in check(rel, path.read_text(encoding="utf-8").splitlines()):
                yield f"{rel}:{n}: {what}"
            # include/octet/env.h is the public face of envs/env.h.
            if folder != PUBLIC and names.setdefault(rel.name, rel) != rel:
                yield f"{rel}:1: {names[rel.name]} has the same file name"


GUARDED = "#ifndef {0}\n#define {0}\n\n// x\n{1}\n#endif // {0}\n"

# Files, and the one complaint that they must give; None: they are tidy. Where no meson.build is among them, one names all.
SELF_TESTS = [
    ({"common/a.c": '#include "common/a.h"\n#include <yaml.h>\n'}, "belongs only in config/"),
    ({"common/a.c": '#include "net/net_loop.h"\n'}, "common/ may not include net/"),
    ({"policy/a.c": '#include "nn/nn_train.h"\n'}, "policy/ may not include nn/"),
    ({"actor/a.c": '#include "learner/learner_train.h"\n'}, "actor/ may not include learner/"),
    ({"actor/a.c": '#include "net/net_loop.h"\n'}, "only *_main.c and *_io"),
    ({"actor/actor_io.c": '#include "net/net_loop.h"\n'}, None),
    ({"net/a.c": "#include <uv.h>\n#include <nng/nng.h>\n"}, None),
    ({"replay/a.c": "#include <uv.h>\n"}, "<uv.h> belongs only in net/"),
    ({"nn/a.c": "#include <cblas.h>\n"}, "belongs only in nn/nn_gemm.c"),
    ({"policy/a.c": '#include "policy/export/export_c99.h"\n'}, "policy/ may not include policy/export/"),
    ({"policy/export/a.c": '#include "policy/policy.h"\n'}, None),
    ({"policy/export/a.c": '#include "policy/import/import_graph.h"\n'}, "policy/export/ may not include policy/import/"),
    ({"tests/common/a.c": "#include <cmocka.h>\n"}, "belongs only in tests/support"),
    ({"tests/common/a.c": '#include "learner/x.h"\n#include "common/x.h"\n'}, None),
    ({"bench/a.c": "#include <cblas.h>\n"}, None),
    ({"nn/a.c": '#include "../common/oct_err.h"\n'}, "by path from the root"),
    ({"nn/a.c": '#include "nn_train.h"\n'}, "by path from the root"),
    ({"nn/a.c": '#include "include/octet/env.h"\n'}, None),
    ({"nn/a.c": "    strcpy(a, b);\n"}, "banned: unbounded"),
    ({"nn/a.c": "    x = rand ();\n"}, "take an oct_rng"),
    ({"envs/a.c": '    char *argv[] = {"python3", NULL};\n'}, "start Python with"),
    ({"envs/a.c": "    failed = posix_spawnp(&child, python, NULL, NULL, argv, environ);\n"}, "start Python with"),
    ({"common/oct_python.c": "    failed = posix_spawnp(&child, python, NULL, NULL, argv, environ);\n"}, None),
    ({"nn/a.c": "    t = gmtime(&s);\n"}, "not safe between threads"),
    ({"nn/a.c": "    x = 1; // It is read anew.\n"}, "'anew' in a comment"),
    ({"tests/nn/a.c": "    x = 1; // It is read anew.\n"}, None),
    ({"nn/a.c": '    say("http://so many"); // It is read again.\n'}, None),
    ({"nn/a.c": '    (void)gmtime_r(&s, &t); // not gmtime()\n    say("gmtime()");\n'}, None),
    ({"nn/a.c": "int x; // TO" + "DO later\n"}, "finish it"),
    ({"nn/a.c": "int x; \n"}, "blanks at the end"),
    ({"nn/a.c": "\tint x;\n"}, "tab"),
    ({"nn/a.c": "//" + "x" * 98 + "\n"}, None),
    ({"nn/a.c": "//" + "x" * 99 + "\n"}, "more than 100 columns"),
    ({"nn/a.c": "// x\n{\n" + "\n" * 68 + "}\n"}, None),
    ({"nn/a.c": "// x\n{\n" + "\n" * 69 + "}\n"}, "function has more than 70"),
    ({"nn/a.c": "\n" * 8}, None),
    ({"nn/a.c": "\n" * 9}, "begin with a comment"),
    ({"nn/a.c": "//\n" + "\n" * 8}, "begin with a comment"),
    ({"tests/nn/a.c": "\n" * 9}, "begin with a comment"),
    ({"nn/a.c": "/* Says what. */\n" + "\n" * 60}, None),
    ({"nn/a.c": "// Says what.\n" + "\n" * 60}, None),
    ({"nn/a.h": GUARDED.format("NN_A_H", "\n" * 60)}, None),
    ({"nn/a.c": "// x\n" + "\n" * 800}, "file has more than 800"),
    ({"nn/a.h": GUARDED.format("NN_A_H", "\n" * 320)}, "file has more than 320"),
    ({f"nn/{name}.c": '#include "nn/nn_x_state.h"\n' for name in "abc"}, None),
    ({f"nn/{name}.c": '#include "nn/nn_x_state.h"\n' for name in "abcd"}, "included by 4 files, allowed are 3"),
    ({"nn/a.h": GUARDED.format("NN_A_H", "")}, None),
    ({"nn/a.h": GUARDED.format("A_H", "")}, "include guard is not NN_A_H"),
    ({"include/octet/a.h": GUARDED.format("OCTET_A_H", '#include "b.h"')}, None),
    ({"include/octet/a.h": GUARDED.format("OCTET_A_H", '#include "envs/env.h"')}, "may not include"),
    ({"nn/a.c": "", "policy/a.c": ""}, "has the same file name"),
    ({"nn/a.c": "", "policy/b.c": ""}, None),
    ({"tests/e2e/a.py": "def test_x():\n", "tests/e2e/meson.build": "['y']\n"}, "this test: it is never run"),
    ({"tests/e2e/a.py": "def test_x():\n", "tests/e2e/meson.build": "['y', 'x']\n"}, None),
    ({"tests/e2e/a.py": "def test_x():\ntest_x()\n"}, None),
    ({"bench/meson.build": "dependencies: [test_support]\n"}, "without optimisation"),
    ({"bench/meson.build": "dependencies: [bench_support]\n"}, None),
    ({"tests/python/a.py": "def test_x():\n"}, None),
    ({"nn/a.h": GUARDED.format("NN_A_H", "").replace("// x", "")}, "header without a comment"),
    ({"include/octet/a.h": GUARDED.format("OCTET_A_H", "void a(void); /* is done */")}, None),
    ({"include/octet/a.h": GUARDED.format("OCTET_A_H", "/* Both do. */\nvoid a(void);\nvoid b(void);")}, None),
    ({"include/octet/a.h": GUARDED.format("OCTET_A_H", "\nint b(void);")}, "function without a comment"),
    ({"include/octet/a.h": GUARDED.format("OCTET_A_H", "/* Done. */\nvoid a(void);\n\nvoid *b(void);")}, "function without a comment"),
    ({"include/octet/a.h": GUARDED.format("OCTET_A_H", "\n#define B(x) (x)\nint c;")}, None),
    ({"docs/a.md": "A line. \n"}, "docs/a.md:1: blanks"),
    ({"A.md": "A line.\n\n \n"}, "A.md:3: blanks"),
    ({"tools/a.py": "x = 1\t\n"}, "tools/a.py:1: blanks"),
    ({"presets/a.yaml": "env: \n"}, "blanks"),
    ({"nn/meson.build": "x = 1 \n"}, "blanks"),
    ({"build/a.md": "A line. \n", ".gitignore": "/build*/\n"}, None),
    ({"nn/a.c": 'f = fopen("a", "r");\n'}, "fopen: files are opened"),
    ({"nn/a.c": "if (unlink (path) != 0)\n"}, "unlink: files are opened"),
    ({"nn/a.c": 'n->open(x); my_open(x); // open(2)\nprint("open(2)");\n'}, None),
    ({"common/oct_file_open.c": "int fd = openat(f, name, flags);\n"}, None),
    ({"tests/nn/a.c": "int fd = open(path, 0);\n"}, None),
    ({"more/a.c": ""}, "more/: a folder with C code that is not in MAY_INCLUDE"),
    ({"more/less/a.h": ""}, "more/: a folder with C code that is not in MAY_INCLUDE"),
    ({"build-x/a.c": "", ".gitignore": "*.o\n/build*/\n"}, None),
    ({"nn/a.c": "", "meson.build": "library('nn', 'nn/b.c')\n"}, "nn/a.c:1: no meson.build names this file: it is never built"),
    ({"nn/a.c": "", "nn/meson.build": "library('nn', 'b.c') # 'a.c'\n"}, "never built"),
    ({"nn/a.c": "", "nn/meson.build": "library('nn', 'a.c')\n"}, None),
    ({"tools/a.c": "", "tests/meson.build": "executable('a', '../tools/a.c')\n"}, None),
    ({"tests/nn/test_a.c": "", "tests/nn/meson.build": "foreach n : ['a']\nexecutable('test_' + n, 'test_' + n + '.c')\n"}, None),
    ({"tests/nn/test_a.c": "", "tests/nn/meson.build": "foreach n : ['b']\nexecutable('test_' + n, 'test_' + n + '.c')\n"}, "never built"),
    ({"tests/nn/test_a.c": "", "tests/nn/meson.build": "foreach n : ['a']\nexecutable(n, 'test_@0@.c'.format(n))\n"}, None),
    ({"tests/envs/a_env.c": "", "tests/envs/meson.build": "foreach t : [['a', 1]]\nexecutable(t[0], t[0] + '_env.c')\n"}, None),
    ({"tests/e2e/a.c": "", "tests/e2e/e2e.py": 'run(ROOT / "tests/e2e/a.c")\n', "meson.build": ""}, None),
    ({"tests/e2e/a.c": "", "tests/e2e/e2e.py": 'run(ROOT / "tests/e2e/ba.c")\n', "meson.build": ""}, "never built"),
    ({"tests/python/test_a.py": "", "tests/python/meson.build": "['b']\nfiles('test_' + name + '.py')\n"}, "its tests are never run"),
    ({"tests/python/test_a.py": "", "tests/python/meson.build": "['a']\nfiles('test_' + name + '.py')\n"}, None),
    ({"tests/nn/test_a.sh": "", "tests/nn/meson.build": "\n"}, "its tests are never run"),
    ({"tests/python/wheel/test_a.py": "", "tests/python/meson.build": "\n"}, None),
]


def self_test():
    wrong = 0
    for files, want in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            if not any(name.endswith("meson.build") for name in files):
                files = {**files, "meson.build": "".join(f"'{name}'\n" for name in files)}
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            got = list(check_tree(root))
        if len(got) != (want is not None) or (want and want not in got[0]):
            print(f"{files}: wanted {want}, got {got}")
            wrong += 1
    print(f"{len(SELF_TESTS) - wrong} of {len(SELF_TESTS)} self-tests hold")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) == 2 and arguments[0] == "--folders":
        print("\n".join(folder for folder in FOLDERS if (pathlib.Path(arguments[1]) / folder).is_dir()))
        return 0
    if len(arguments) != 1:
        print(__doc__)
        return 2
    complaints = list(check_tree(pathlib.Path(arguments[0])))
    for complaint in complaints:
        print(complaint)
    return 1 if any(f" {NOTE}" not in complaint for complaint in complaints) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
