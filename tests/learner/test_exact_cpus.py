#!/usr/bin/env python3
"""The learner's exact arithmetic, and the C library's, on other x86-64 CPUs than this one, as qemu-user
simulates them: the same bits where the CPU has AVX2 and FMA, refused in words where it has not.

usage: test_exact_cpus.py LEARNER_EXACT LIBM QEMU_CPU same|refused
       LEARNER_EXACT, LIBM: test_learner_exact and test_oct_libm. Exit code 77, with a line that says
       why: qemu-x86_64 is not installed, or cannot run what is compared.
"""

import platform
import shutil
import subprocess
import sys

LIMIT_S = 280


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def main():
    learner, libm, cpu, want = sys.argv[1:]
    qemu = shutil.which("qemu-x86_64")
    if qemu is None or platform.machine() != "x86_64":
        print("SKIPPED: needs an x86-64 machine with qemu-x86_64 (Debian's qemu-user)")
        return 77
    native = run(libm, "print")
    if run(learner).returncode == 77:
        print("SKIPPED: this CPU itself has no AVX2 and FMA to compare with")
        return 77
    there = run(qemu, "-cpu", cpu, libm, "print")
    if native.returncode != 0 or there.returncode != 0:
        sys.exit(f"the sum of libm: {native.stderr}{there.stderr}")
    if (native.stdout == there.stdout) != (want == "same"):
        sys.exit(f"libm gives {native.stdout.strip()} here and {there.stdout.strip()} on {cpu}")
    done = run(qemu, "-cpu", cpu, learner, "one" if want == "same" else "refused")
    print(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
