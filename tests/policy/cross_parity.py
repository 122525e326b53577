#!/usr/bin/env python3
"""Contract 3 across machines: the same policies give the same bits on every instruction set of this
machine, on AArch64 (reference and NEON) and on RISC-V and 32-bit Arm (reference).

parity_main is built by the cross compilers, static, and run under qemu-user; what it prints has to
be, line for line, what the native reference prints. Exits 77 (skipped) where no cross compiler or
qemu is installed, and says so.

usage: cross_parity.py ROOT FOLDER PROGRAM [EVEX_PROGRAM]
  FOLDER is for what is built; EVEX_PROGRAM has AVX-VNNI in the encoding of AVX-512
"""

import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
ISAS = ["ref", "avx2", "avxvnni", "vnni", "neon"]
CACHE = [tool for tool in [shutil.which("ccache")] if tool]  # as meson does
FLAGS = ["-std=c11", "-O2", "-static", "-D_GNU_SOURCE", "-fno-fast-math", "-ffp-contract=off",
         "-Wall", "-Wextra", "-Werror"]
COMMON = ["oct_base.c", "oct_bytes.c", "oct_crc.c", "oct_err.c", "oct_locale.c", "oct_reason.c",
          "oct_rng.c", "oct_text.c"]
X86_ONLY = ("policy_avx", "policy_vnni")

# Compiler, emulator, flags of all files, flags of policy_neon.c (None: it stays out), then the runs:
# instruction set and options of the emulator.
MACHINES = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64", ["-DPOLICY_HAS_ARM_KERNELS"],
                ["-march=armv8.2-a+dotprod", "-O3"], [("ref", []), ("neon", [])]),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64", [], None, [("ref", [])]),
    "arm": ("arm-linux-gnueabihf-gcc", "qemu-arm", [], None, [("ref", [])]),
}


def run(command, isa):
    """What the program printed, None where it says that the machine lacks isa."""
    done = subprocess.run(command, env={**os.environ, "OCTET_ISA": isa}, text=True,
                          capture_output=True, timeout=400)
    if done.returncode == SKIPPED:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def compare(name, got, want):
    """True when the lines are the same; says which are not."""
    if got == want:
        print(f"{name}: {len(got)} nets, all bits equal")
        return True
    wrong = [f"  {g}, the reference {w}" for g, w in zip(got, want) if g != w]
    print(f"{name}: {len(got)} lines, {len(wrong)} differ", *wrong[:10], sep="\n")
    return False


def compile_one(compiler, root, source, flags, folder):
    target = folder / (source.stem + ".o")
    subprocess.run([*CACHE, compiler, *flags, f"-I{root}", "-c", str(source), "-o", str(target)],
                   check=True)
    return str(target)


def build(machine, root, folder):
    """Compiles parity_main and what it needs of policy/ and common/ for a machine."""
    compiler, _, flags, neon_flags, _ = MACHINES[machine]
    folder = folder / machine
    folder.mkdir(parents=True, exist_ok=True)
    files = [f for part in ("policy", "policy/kernels") for f in sorted((root / part).glob("*.c"))]
    sources = [f for f in files if not f.name.startswith(X86_ONLY)]
    sources += [root / "common" / name for name in COMMON]
    (folder / "policy").mkdir(exist_ok=True)
    subprocess.run([sys.executable, str(root / "policy/curves.py"), "simd", str(folder / "policy/policy_curves_simd.h"),
                    str(root / "policy/policy_curves.h")], check=True)
    flags = [*flags, f"-I{folder}"]
    objects = []
    for source in sources:
        is_neon = source.name == "policy_neon.c"
        if not is_neon or neon_flags is not None:
            objects.append(compile_one(compiler, root, source,
                                       FLAGS + flags + (neon_flags if is_neon else []), folder))
    # An archive: only the files that the program needs are taken from it.
    archive = folder / "parity.a"
    archive.unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", str(archive), *objects], check=True)
    program = folder / "parity_main"
    subprocess.run([compiler, *FLAGS, *flags, f"-I{root}",
                    str(root / "tests/policy/parity_main.c"), str(archive), "-lm", "-pthread",
                    "-o", str(program)], check=True)
    return program


def check_native(programs, want):
    """Every instruction set that this machine has."""
    equal = True
    for label, program in programs:
        for isa in ISAS:
            got = run([program], isa)
            if got is not None:
                equal = compare(f"{label} {isa}", got, want) and equal
    return equal


def check_machine(machine, root, folder, want):
    _, qemu, _, neon_flags, runs = MACHINES[machine]
    program = str(build(machine, root, folder))
    equal = True
    for isa, options in runs:
        got = run([qemu, *options, program], isa)
        equal = compare(f"{machine} {isa}", got or [], want) and equal
    # A core without the dot product: NEON is refused, the best is the reference.
    if neon_flags is not None:
        if run([qemu, "-cpu", "cortex-a53", program], "neon") is not None:
            print(f"{machine} cortex-a53: has no dot product, yet NEON was chosen")
            equal = False
        got = run([qemu, "-cpu", "cortex-a53", program], "")
        equal = compare(f"{machine} cortex-a53 best", got or [], want) and equal
    return equal


def main(root, folder, program, evex_program=None):
    root, folder = pathlib.Path(root), pathlib.Path(folder)
    programs = [("native", program)] + ([("native, EVEX,", evex_program)] if evex_program else [])
    want = run([program], "ref")
    equal, absent = check_native(programs, want), []
    for machine, (compiler, qemu, *_) in MACHINES.items():
        missing = [tool for tool in (compiler, qemu) if shutil.which(tool) is None]
        if missing:
            print(f"{machine}: NOT TESTED, {' and '.join(missing)} not found")
            absent.append(machine)
        else:
            equal = check_machine(machine, root, folder, want) and equal
    if not equal:
        return 1
    return SKIPPED if "aarch64" in absent or "riscv64" in absent else 0


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
