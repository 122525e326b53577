#!/usr/bin/env python3
"""Compiles every exported header for one kind of machine, runs it there (or as qemu-user simulates
it), and holds its checksums against those of policy_forward.

usage: test_export_cross.py TARGET CASES ROOT
       CASES: the folder that export_cases wrote. Exit code 77, with a line that says why: the
       compiler or the simulator is not installed.
"""

import pathlib
import re
import resource
import sys
import tempfile

from robot_cores import CORES, LIBRARY, is_missing, link_bare, run

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2"]
# What gcc takes by itself: it fuses multiplications and additions then, where nobody says no.
GNU = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O3"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# name: compiler, its options, simulator, rows.
TARGETS = {
    "gcc": ("gcc", STRICT, None, 10000),
    "clang": ("clang", STRICT, None, 10000),
    "gcc-native": ("gcc", [*GNU, "-march=native"], None, 10000),
    "gcc-sanitized": ("gcc", [*STRICT, *SANITIZED], None, 1000),
    "aarch64": ("aarch64-linux-gnu-gcc", STRICT, "qemu-aarch64", 2000),
    "aarch64-gnu": ("aarch64-linux-gnu-gcc", GNU, "qemu-aarch64", 1000),
    "riscv64": ("riscv64-linux-gnu-gcc", STRICT, "qemu-riscv64", 2000),
    "riscv64-gnu": ("riscv64-linux-gnu-gcc", GNU, "qemu-riscv64", 1000),
    "armhf": ("arm-linux-gnueabihf-gcc", STRICT, "qemu-arm", 1000),
}
BARE_ROWS = {"m0": 500, "m0plus": 500, "m4": 2000, "m7": 1000, "m33": 1000, "rv32": 500}
for core, core_rows in BARE_ROWS.items():
    TARGETS[core] = (CORES[core][1], [*STRICT, *CORES[core][2]], CORES[core][3], core_rows)
# An int of 16 bits: clang makes LLVM's intermediate code for AVR, and lli runs it as this machine's. Pointers have the
# 64 bits of this machine then, which is why nothing is optimised; the headers do not depend on them.
TARGETS["avr"] = ("clang", ["--target=avr", *STRICT, "-O0", "-Wno-avr-rtlib-linking-quirks"], "lli", 500)
AVR_LIBRARY = {
    "string.h": "void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes);",
    "math.h": "float sqrtf(float x);\nfloat fmaf(float x, float y, float z);",
    # printf is this machine's: its numbers of 32 bits are ints.
    "stdio.h": "#define NULL ((void *)0)\nint printf(const char *format, ...);",
    "inttypes.h": '#include <stdint.h>\n#define PRIu32 "u"\n#define PRIx32 "x"',
}
DSP = {"m4", "m7", "m33"}  # cores that have SMLAD
# Their C library has no exact fmaf: float policies need one (docs/robot.md), and are not compared.
INEXACT = {"rv32"}
BLOCK_ROWS = 500  # of one checksum, as in robot_observations.h
# What a header may ask of a C library, or a compiler of its own.
LIBC = {"memcpy", "memset", "memmove", "sqrtf", "fmaf"}
ARRAY = r"_x_(?:w|m|s|b|g|o|d|mean|inverse|low|high)\d+"


def symbols(compiler, names, cases, folder, *options):
    """What an object that acts by these policies defines, with kind and bytes, and what it lacks."""
    source = folder / "one.c"
    source.write_text("".join(f'''#include "{cases}/{name}.h"
{name}_work {name}_space;
int act_{name}(const void *o, void *a);
int act_{name}(const void *o, void *a) {{ return {name}_act(&{name}_space, o, a); }}
''' for name in names))
    run(compiler, *options, "-std=c99", "-c", source, "-o", folder / "one.o")
    defined, missing = {}, set()
    for line in run(re.sub("gcc$", "nm", compiler), "-S", folder / "one.o").splitlines():
        words = line.split()
        if len(words) == 4:
            defined[words[3]] = (words[2], int(words[1], 16))
        elif words[-2] == "U":
            missing.add(words[-1])
    return defined, missing


def check_sizes(compiler, options, cases, folder):
    """Flash and RAM are what the export said, and of libc nothing else is used."""
    machine = [o for o in options if o.startswith("-m")]
    sizes = [line.split() for line in (cases / "sizes.txt").read_text().splitlines()]
    names = [name for name, _, _ in sizes]
    # Unoptimised, so that no small array is folded into the code.
    defined, _ = symbols(compiler, names, cases, folder, *machine, "-O0")
    for name, flash, ram in sizes:
        constants = sum(size for symbol, (_, size) in defined.items()
                        if re.fullmatch(name + ARRAY, symbol))
        work = defined[name + "_space"][1]
        if (constants, work) != (int(flash), int(ram)):
            sys.exit(f"{name}: {constants} bytes of constants and {work} of work; the export said "
                     f"{flash} and {ram}")
    _, missing = symbols(compiler, names, cases, folder, *machine, "-Os", "-ffreestanding",
                         "-fno-math-errno")
    if {m for m in missing if not m.startswith("__aeabi_")} - LIBC:
        sys.exit(f"the headers need {missing}")
    for name, flash, ram in sizes[:4]:
        defined, _ = symbols(compiler, [name], cases, folder, *machine, "-Os")
        code = sum(size for kind, size in defined.values() if kind in "tT")
        print(f"{name}: {flash} bytes of constants, {code} of code at -Os, {ram} of RAM")


def check_products(target, runner):
    """int8 policies multiply by SMLAD where the core has it, all of them, and nowhere else."""
    kernels = found = 0
    for text in run(TARGETS[target][0].replace("gcc", "objdump"), "-d", runner).split("\n\n"):
        if re.search(r"<\w+_dense_int8(\.\w+)*>:", text):
            kernels += 1
            found += "smlad" in text
    print(f"{found} of {kernels} kernels multiply by SMLAD")
    if kernels == 0 or found != (kernels if target in DSP else 0):
        sys.exit(f"of {target} " + ("all" if target in DSP else "none") + " should")


def link_avr(compiler, options, out, source):
    """A program of AVR's arithmetic that lli can run."""
    library, start = out.with_name("library"), out.with_name("start.c")
    library.mkdir()
    for name, text in AVR_LIBRARY.items():
        (library / name).write_text(text + "\n")
    start.write_text("void robot_main(void);\nint main(void) { robot_main(); return 0; }\n")
    made, started = out.with_name("runner.ll"), out.with_name("start.ll")
    run(compiler, *options, "-Wno-format", "-ffreestanding", "-nostdlibinc", "-isystem", library, "-Dmain=robot_main",
        "-S", "-emit-llvm", source, "-o", made)
    # Neither AVR's layout of data nor its second address space, where functions are.
    made.write_text(re.sub(r"^target .*\n| addrspace\(1\)", "", made.read_text(), flags=re.MULTILINE))
    run(compiler, "-fshort-wchar", "-S", "-emit-llvm", start, "-o", started)
    run("llvm-link", made, started, "-o", out)


def main(target, cases, root):
    compiler, options, simulator, rows = TARGETS[target]
    if target == "gcc-sanitized":  # it maps terabytes
        resource.setrlimit(resource.RLIMIT_DATA, (resource.getrlimit(resource.RLIMIT_DATA)[1],) * 2)
    blocks = rows // BLOCK_ROWS
    if is_missing(compiler, simulator, *(["llvm-link"] if target == "avr" else [])):
        return 77
    cases, root = pathlib.Path(cases).resolve(), pathlib.Path(root).resolve()
    expected = (cases / "expected.txt").read_text().splitlines()
    with tempfile.TemporaryDirectory(prefix="octet-cross-") as folder:
        folder = pathlib.Path(folder)
        source, runner = root / "tests/policy/export/robot_runner.c", folder / "runner"
        options = [*options, f"-DROBOT_ROWS={rows}", f"-I{cases}", f"-I{root}"]
        if compiler in LIBRARY:
            link_bare(compiler, options, runner, [source])
            check_products(target, runner)
        elif target == "avr":
            link_avr(compiler, options, runner, source)
        else:
            run(compiler, *options, source, "-o", runner, "-lm", *(["-static"] if simulator else []))
        got = run(*filter(None, [simulator]), runner).splitlines()
        wrong = compared = 0
        if len(got) != len(expected):
            sys.exit(f"{len(got)} policies ran, {len(expected)} were exported")
        precisions = dict(line.split()[:2] for line in (cases / "cases.txt").read_text().splitlines())
        for have, want in zip(got, expected):
            have, want = have.split(), want.split()[:blocks + 1]
            if target in INEXACT and not precisions[want[0]].startswith("int"):
                if have[-2] != "self-test":
                    print(f"{have[0]}: its self test does not notice the C library's fmaf")
                    wrong += 1
                continue
            compared += 1
            same = sum(a == b for a, b in zip(have[1:], want[1:]))
            if have != want:
                print(f"{have[0]}: {same} of {blocks} blocks of {BLOCK_ROWS} rows have the same bits", *have[blocks + 1:])
                wrong += 1
        if wrong == 0:
            print(f"{compared} policies, {rows} observations each: the same bits")
        if target == "m4":
            check_sizes(compiler, options, cases, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
