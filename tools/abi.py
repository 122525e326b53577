#!/usr/bin/env python3
"""Compares the public interface with that of the last release: exported symbols, structs, enums and macros of include/octet.

usage: abi.py ROOT BUILD CC...           exit code 1 where the two differ in a way that is not allowed
       abi.py ROOT BUILD CC... --write   at a release: makes tests/data/abi of this build
       abi.py ROOT BUILD CC... --self-test

CC is the C compiler, BUILD a build with the libraries. tests/data/abi has the interface of the last release: symbols.txt, which names
it, and one file of abidw (Debian: abigail-tools) for each library. These hold on x86-64.

- A difference is allowed where CHANGELOG.md names it in `backquotes` above the heading of the last release.
- A difference that breaks programs needs a new SONAME, too: something is removed, moves or changes. New functions, new constants and new
  fields at the end of a struct that begins with its size break none.
- Where git knows the tag of the last release, tests/data/abi is as it was there.

Types and constants are those of a shared object that is made of the headers alone: it defines what they declare, and a function for each type.
"""

import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Library: its headers. That of a static library has no types of its own.
LIBRARIES = {
    "liboctet": ("lib/liboctet.so", ["env.h", "vector.h", "policy.h", "learner.h", "octet.h"]),
    "liboctet-replay": ("lib/liboctet-replay.so", ["replay.h"]),
    "liboctet_policy.a": ("policy/liboctet_policy.a", ["policy.h"]),
}
DATA = "tests/data/abi"
PROTOTYPE = re.compile(r"^((?:const )?\w+ \*?(octet_\w+)\([^;{}]*\));", re.M)
TYPE = re.compile(r"^typedef (?:struct|enum|union) (\w+) \{", re.M)
MACRO = re.compile(r"^#define (OCTET_\w+) +\S.*$", re.M)
ENUM = re.compile(r"\benum\b[^{};]*\{([^}]*)\}")
ENUMERATOR = re.compile(r"\b(OCTET_\w+)\s*(?:=[^,]*)?(?:,|$)")
NEW_FIELDS = re.compile(r"  type size changed |  \d+ data member insertions?:|    '.*', at offset ")
NEW_CONSTANTS = re.compile(r"  type size hasn't changed|  \d+ enumerator insertions?:|    '.*' value ")


class Failure(Exception):
    """A message for the user that says what is wrong."""


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise Failure(f"{' '.join(str(part) for part in command)} fails:\n{done.stderr}")
    return done.stdout


# ---- symbols

def declared(root, header):
    """A header without comments."""
    return re.sub(r"/\*.*?\*/", "", (root / "include/octet" / header).read_text(encoding="utf-8"), flags=re.S)


@functools.cache
def symbols(library):
    """{name: version, "" of a static library}"""
    of_kind = ["-D"] if library.suffix == ".so" else []
    found = re.findall(r"^[0-9a-f]+ [A-Z] (\w+)(?:@@?(\w+))?$", run("nm", "-g", "--defined-only", *of_kind, library), re.M)
    return {name: version for name, version in found if not name.startswith("OCTET_")}  # those are the versions


@functools.cache
def soname(library):
    return re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", library))[1]


def symbol_list(build):
    """Lines of "library symbol version"."""
    for name, (path, _) in LIBRARIES.items():
        library = build / path
        named = soname(library) if library.suffix == ".so" else name
        yield from (f"{named} {symbol} {version}".rstrip() for symbol, version in sorted(symbols(library).items()))


# ---- types

def stub(root, headers):
    """C that defines all that the headers declare."""
    yield from (f'#include "octet/{header}"' for header in headers)
    for header in headers:
        text = declared(root, header)
        yield from (f"{prototype} {{ __builtin_trap(); }}" for prototype, _ in PROTOTYPE.findall(text))
        yield from (f"void type_of_{name}({name} *value) {{ (void)value; }}" for name in TYPE.findall(text))
        constants = MACRO.findall(re.sub(r"^#define \w+\(.*(?:\\\n.*)*", "", text, flags=re.M))
        constants += [name for body in ENUM.findall(text) for name in ENUMERATOR.findall(body.strip())]
        if constants:
            values = f"octet_{header.removesuffix('.h')}_constants"
            yield f"enum {values} {{ {', '.join(f'value_of_{name} = {name}' for name in constants)} }};"
            yield f"void type_of_{values}(enum {values} *value) {{ (void)value; }}"


def types_write(root, name, target, folder, compiler, library_name):
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text("\n".join(stub(root, LIBRARIES[name][1])) + "\n", encoding="utf-8")
    run(*compiler, "-std=c11", "-w", "-g", "-O0", "-fPIC", "-shared", "-nostdlib", f"-I{root}/include", f"-Wl,-soname,{library_name}",
        "-o", library, source)
    run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash", "--out-file", target, library)


def with_types():
    return [name for name in LIBRARIES if not name.endswith(".a")]


def has_size(baseline, struct):
    """Returns True if the struct begins with its size, so that it may grow."""
    text = baseline.read_text(encoding="utf-8")
    found = re.search(rf"<class-decl name='{struct}'[^>]*>\s*<data-member[^>]*>\s*<var-decl name='(\w+)'", text)
    return found is not None and found[1] == "size"


def struct_breaks(baseline, struct, block):
    return not has_size(baseline, struct) or any(not NEW_FIELDS.match(line) for line in block)


def type_differences(baseline, current):
    """(name, whether programs break, what abidiff says) of each."""
    done = subprocess.run(["abidiff", "--leaf-changes-only", "--harmless", "--no-show-locs", baseline, current], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    if done.returncode & 3:
        raise Failure(f"abidiff fails:\n{done.stdout}")
    report = done.stdout
    found = []
    for kind, name, block in re.findall(r"^'(struct|enum|union) (\w+)' changed:\n((?:  .*\n)*)", report, re.M):
        lines = block.splitlines()
        if kind == "enum":
            breaks = any(not NEW_CONSTANTS.match(line) for line in lines)
            found += [(constant, breaks, block) for constant in re.findall(r"value_of_(\w+)'", block)] or [(name, breaks, block)]
        else:
            found.append((name, struct_breaks(baseline, name, lines), block))
    for letter, function in re.findall(r"^  \[([ADC])\] 'function .*?(\w+)\(.*", report, re.M):
        name = function.removeprefix("type_of_")
        if not name.endswith("_constants"):
            found.append((name, letter != "A", ""))
    if done.returncode != 0 and not found and "SONAME" not in report:
        raise Failure(f"abidiff finds a difference that this program does not understand:\n{report}")
    return found


# ---- the check

def release_of(symbols_text):
    return re.match(r"# Octet (\S+):", symbols_text)[1]


def news(root, release):
    """What CHANGELOG.md says above the heading of that release."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return text.partition(f"\n## [{release}]")[0]


def check_tag(root, release):
    if not (root / ".git").exists() or shutil.which("git") is None:
        return
    tag = f"v{release}"
    known = subprocess.run(["git", "-C", root, "rev-parse", "--verify", "--quiet", f"refs/tags/{tag}"], capture_output=True, check=False)
    if known.returncode == 0 and run("git", "-C", root, "diff", "--stat", tag, "--", DATA):
        yield f"{DATA} is not that of {tag}, whose interface it is: git checkout {tag} -- {DATA}"


def differences(root, build, compiler, folder):
    """(name, whether programs break, what) of symbols, then of types."""
    text = (root / DATA / "symbols.txt").read_text(encoding="utf-8")
    old, new = {line for line in text.splitlines() if not line.startswith("#")}, set(symbol_list(build))
    for line in sorted(old ^ new):
        yield line.split()[1], line in old, f"  {'was' if line in old else 'is'} {line}\n"
    for name in with_types():
        types_write(root, name, folder / f"{name}.abi", folder, compiler, soname(build / LIBRARIES[name][0]))
        yield from type_differences(root / DATA / f"{name}.abi", folder / f"{name}.abi")


def check(root, build, compiler, folder):
    text = (root / DATA / "symbols.txt").read_text(encoding="utf-8")
    release = release_of(text)
    yield from check_tag(root, release)
    said = news(root, release)
    is_new_soname = all(soname(build / LIBRARIES[name][0]) not in text.split() for name in with_types())
    for name, breaks, what in dict.fromkeys(differences(root, build, compiler, folder)):
        if f"`{name}`" not in said:
            yield f"{name} differs from release {release}, and CHANGELOG.md does not name `{name}` above the heading [{release}]\n{what}"
        elif breaks and not is_new_soname:
            yield (f"{name}: programs that were built with release {release} break, and the SONAME is the same: keep what was there, or release "
                   f"another major version\n{what}")


def write(root, build, compiler, version):
    data = root / DATA
    data.mkdir(parents=True, exist_ok=True)
    lines = [f"# Octet {version}: the symbols that its libraries export. tools/abi.py --write makes this file and the *.abi beside it.",
             *symbol_list(build)]
    (data / "symbols.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="octet-abi-") as folder:
        for name in with_types():
            types_write(root, name, data / f"{name}.abi", pathlib.Path(folder), compiler, soname(build / LIBRARIES[name][0]))


def version_of(root):
    return re.search(r"version: '([^']+)'", (root / "meson.build").read_text(encoding="utf-8"))[1]


# ---- self-test: changes to a copy of the headers, what CHANGELOG.md says of them, and what is found

INFO = "    uint64_t run_id;\n"
SELF_TESTS = [
    ("", "", "", "", []),
    ("policy.h", INFO, INFO + "    uint64_t more;\n", "`octet_policy_info`", ["octet_policy_info: programs that were built"]),
    ("policy.h", INFO, INFO + "    uint64_t more;\n", "", ["octet_policy_info differs"]),
    ("policy.h", INFO, "", "`octet_policy_info`", ["octet_policy_info: programs that were built"]),
    ("policy.h", INFO, "    double run_id;\n", "`octet_policy_info`", ["octet_policy_info: programs that were built"]),
    ("policy.h", "} octet_policy_info;", "    uint64_t more;\n} octet_policy_info;", "", ["octet_policy_info differs"]),
    ("policy.h", "} octet_policy_info;", "    uint64_t more;\n} octet_policy_info;", "of `octet_policy_info`", []),
    ("policy.h", "} octet_policy_rng;", "    uint64_t more;\n} octet_policy_rng;", "`octet_policy_rng`", ["octet_policy_rng: programs"]),
    ("policy.h", "OCTET_POLICY_EIO = 7", "OCTET_POLICY_EIO = 8", "`OCTET_POLICY_EIO`", ["OCTET_POLICY_EIO: programs"]),
    ("policy.h", "OCTET_POLICY_EIO = 7", "OCTET_POLICY_EIO = 7, OCTET_POLICY_EFULL = 9", "", ["OCTET_POLICY_EFULL differs"]),
    ("policy.h", "OCTET_POLICY_EIO = 7", "OCTET_POLICY_EIO = 7, OCTET_POLICY_EFULL = 9", "`OCTET_POLICY_EFULL`", []),
    ("vector.h", "ERROR_BYTES 1024", "ERROR_BYTES 2048", "", ["OCTET_VECTOR_ERROR_BYTES differs"]),
    ("env.h", "uint32_t metric_count;", "uint64_t metric_count;", "`octet_env_spec`", ["octet_env_spec: programs"]),
    ("replay.h", "uint32_t batch_size, uint32_t prefetch", "uint64_t batch_size, uint32_t prefetch", "`octet_replay_sample`",
     ["octet_replay_sample: programs"]),
    ("policy.h", "void octet_policy_free(octet_policy *policy);", "", "`octet_policy_free`",
     ["octet_policy_free: programs"]),
    ("symbols.txt", "liboctet_policy.a octet_policy_act\n", "liboctet_policy.a octet_policy_act\nliboctet_policy.a octet_policy_lost\n",
     "`octet_policy_lost`", ["octet_policy_lost: programs"]),
    ("symbols.txt", "liboctet.so.0 octet_version OCTET_1\n", "", "", ["octet_version differs"]),
    ("policy.h", "void octet_policy_free(", "void octet_policy_forget(octet_policy *policy);\nvoid octet_policy_free(", "",
     ["octet_policy_forget differs"]),
]


def tag_test(root):
    """With a tag of the last release its interface stays as it is."""
    release = release_of((root / DATA / "symbols.txt").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="octet-abi-") as folder:
        tree = pathlib.Path(folder)
        git = ["git", "-C", tree, "-c", "user.name=test", "-c", "user.email=test@example.org"]
        shutil.copytree(root / DATA, tree / DATA)
        run("git", "init", "--quiet", tree)
        run(*git, "add", ".")
        run(*git, "commit", "--quiet", "--message", "release")
        without = list(check_tag(tree, release))
        run(*git, "tag", f"v{release}")
        same = list(check_tag(tree, release))
        (tree / DATA / "symbols.txt").write_text(f"# Octet {release}:\n", encoding="utf-8")
        other = list(check_tag(tree, release))
    return without + same == [] and len(other) == 1


def self_test(root, build, compiler):
    wrong = 0 if shutil.which("git") is None or tag_test(root) else 1
    if wrong:
        print("a tag of the last release: its interface may change")
    release = release_of((root / DATA / "symbols.txt").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="octet-abi-") as folder:
        # The interface of now as that of the last release, so that the changes below are the only ones.
        now = pathlib.Path(folder) / "now"
        shutil.copytree(root / "include", now / "include")
        write(now, build, compiler, release)
        for number, (header, old, new, said, want) in enumerate(SELF_TESTS):
            tree = pathlib.Path(folder) / str(number)
            shutil.copytree(now, tree)
            (tree / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n{said}\n\n## [{release}]\n\n`octet_policy_info`\n", encoding="utf-8")
            if header:
                path = tree / (DATA if header.endswith(".txt") else "include/octet") / header
                text = path.read_text(encoding="utf-8")
                assert old in text, (header, old)
                path.write_text(text.replace(old, new, 1), encoding="utf-8")
            got = list(check(tree, build, compiler, tree))
            if len(got) != len(want) or not all(w in g for w, g in zip(want, got)):
                print(f"{header}: {old} -> {new}: wanted {want}, got {got}")
                wrong += 1
    print(f"{len(SELF_TESTS) + 1 - wrong} of {len(SELF_TESTS) + 1} self-tests hold")
    return wrong > 0


def main(arguments):
    if len(arguments) < 3:
        print(__doc__)
        return 2
    root, build = (pathlib.Path(path).resolve() for path in arguments[:2])
    options = [word for word in arguments[2:] if word in ("--write", "--self-test")]
    compiler = [word for word in arguments[2:] if word not in options]
    if shutil.which("abidiff") is None:
        print("SKIPPED: abidiff is not installed (Debian: abigail-tools; script/setup test)")
        return 77
    try:
        if "--write" in options:
            write(root, build, compiler, version_of(root))
        if "--self-test" in options:
            return self_test(root, build, compiler)
        with tempfile.TemporaryDirectory(prefix="octet-abi-") as folder:
            complaints = list(check(root, build, compiler, pathlib.Path(folder)))
    except Failure as failure:
        complaints = [str(failure)]
    for complaint in complaints:
        print(complaint)
    return len(complaints) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
