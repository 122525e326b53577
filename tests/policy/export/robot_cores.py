"""Cores of microcontrollers: how a program for one is compiled, and what runs it here. Used by test_export_cross.py and
tools/robot_cost.py."""

import pathlib
import shutil
import subprocess
import sys

BARE = pathlib.Path(__file__).resolve().parent / "robot_bare.c"
LIMIT_S = 60
ARM, RISCV = "arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"

# name: in words, compiler, its options, simulator.
CORES = {
    "m0": ("Cortex-M0", ARM, ["-mcpu=cortex-m0", "-mthumb"], "qemu-arm"),
    "m0plus": ("Cortex-M0+", ARM, ["-mcpu=cortex-m0plus", "-mthumb"], "qemu-arm"),
    "m4": ("Cortex-M4", ARM, ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"], "qemu-arm"),
    "m7": ("Cortex-M7", ARM, ["-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard"], "qemu-arm"),
    "m33": ("Cortex-M33", ARM, ["-mcpu=cortex-m33", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"], "qemu-arm"),
    "rv32": ("rv32imc", RISCV, ["-march=rv32imc", "-mabi=ilp32"], "qemu-riscv32"),
}
# Compilers of bare machines: options that name a C library where they have none of their own, and
# where a program lies.
LIBRARY = {ARM: [], RISCV: ["--specs=picolibc.specs"]}
PLACE = {ARM: [], RISCV: [f"-Wl,--defsym=__{name}={value:#x}" for name, value in
                          [("flash", 1 << 20), ("flash_size", 1 << 24), ("ram", 1 << 25), ("ram_size", 1 << 24)]]}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def is_missing(*tools):
    """Whether one of these programs is not installed; says so then."""
    for tool in filter(None, tools):
        if shutil.which(tool) is None:
            print(f"SKIPPED: {tool} is not installed (script/setup test installs it)")
            return True
    return False


def link_bare(compiler, options, out, sources):
    """A program for a bare machine that qemu-user can run."""
    bare = out.with_name("bare.o")
    run(compiler, *LIBRARY[compiler], *options, "-std=gnu99", "-c", BARE, "-o", bare)
    run(compiler, *LIBRARY[compiler], *options, *PLACE[compiler], *sources, bare, "-nostartfiles", "-o", out, "-lm")
