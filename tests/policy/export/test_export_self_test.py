#!/usr/bin/env python3
"""The self test of exported headers: it passes where floats are computed as written, and tells what is wrong where
they are not. test_export_cross.py has it pass on every core. Usage: test_export_self_test.py CASES

CASES is the folder that export_cases wrote. Compilers: cc, clang."""

import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import unittests  # noqa: E402

CASES = None
LIMIT_S = 60
# Integers and floats, both kinds of actions, bytes, draws, and biases whose signs alternate.
NAMES = ["pole8", "walker4", "bytes8", "gauss32", "signs8"]
PROGRAM = """#include <fenv.h>
#include <math.h>
#include <stdio.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#define FLUSH _mm_setcsr(_mm_getcsr() | 0x8000u) /* denormal results become 0 */
#define IGNORE _mm_setcsr(_mm_getcsr() | 0x0040u) /* denormal operands are 0 */
#elif defined(__aarch64__)
#define FLUSH __asm__ volatile("msr fpcr, %0" : : "r"(1ull << 24))
#define IGNORE FLUSH
#else
#define FLUSH
#define IGNORE
#endif
#ifdef ROUNDS_TWICE
static float fmaf_of_two(float x, float y, float z) { volatile float product = x * y; return product + z; }
#define fmaf fmaf_of_two
#endif
INCLUDES
int main(int argc, char **argv)
{
    switch (argc > 1 ? argv[1][0] : 0) {
    case 'f': FLUSH; break;
    case 'i': IGNORE; break;
    case 'u': fesetround(FE_UPWARD); break;
    default: break;
    }
    CALLS
    return 0;
}
"""
CALL = """{{ static {0}_work work; static {1} observation[{2}_OBSERVATION_COUNT];
    printf("%d\\n", {0}_self_test(&work, observation)); }}
"""


def next_float(x):
    """The float behind x, away from 0, as C writes it."""
    bits, = struct.unpack("<I", struct.pack("<f", x))
    return struct.unpack("<f", struct.pack("<I", bits + 1))[0].hex() + "f"


class SelfTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="octet-self-test-")
        self.home = pathlib.Path(self.folder.name)
        lines = [line.split() for line in (CASES / "cases.txt").read_text().splitlines()]
        self.cases = {name: (precision, obs) for name, precision, obs in lines}

    def tearDown(self):
        self.folder.cleanup()

    def compile(self, compiler, *options, names=NAMES, changed=""):
        """A program of self tests; changed: the text of a header in place of the only one."""
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        headers = [f'#include "{CASES}/{name}.h"' for name in names]
        if changed:
            (self.home / "changed.h").write_text(changed)
            headers = ['#include "changed.h"']
        calls = [CALL.format(name, "uint8_t" if self.cases[name][1] == "u8" else "float", name.upper()) for name in names]
        (self.home / "a.c").write_text(PROGRAM.replace("INCLUDES", "\n".join(headers)).replace("CALLS", "".join(calls)))
        subprocess.run([compiler, "-std=gnu11", "-Wall", "-Wextra", *options, "a.c", "-o", "a", "-lm"],
                       cwd=self.home, check=True, timeout=LIMIT_S)

    def run_in(self, mode=""):
        """What the self tests say."""
        done = subprocess.run([self.home / "a", mode], capture_output=True, text=True, check=True, timeout=LIMIT_S)
        return [int(word) for word in done.stdout.split()]

    def said(self, compiler, *options, **more):
        self.compile(compiler, *options, **more)
        return self.run_in()

    def test_a_compiler_that_fuses_is_found(self):
        fused = ["-O3", "-ffp-contract=fast"]
        if platform.machine() == "x86_64":
            fused.append("-mfma")
            if "fma" not in pathlib.Path("/proc/cpuinfo").read_text().split():
                self.skipTest("this processor cannot fuse")
        self.assertEqual(self.said("gcc", *fused), [0] * len(NAMES))  # the header forbids it
        self.assertEqual(self.said("clang", *fused), [2] * len(NAMES))  # which clang disregards
        # Not only by the probe: the bits of the actions are other ones.
        text = (CASES / "walker4.h").read_text()
        probe = re.search(r"if \(!walker4_x_rounds_products\(\)\) {\s*return 2;\s*}", text)[0]
        self.assertEqual(self.said("clang", *fused, names=["walker4"], changed=text.replace(probe, "")), [4])

    def test_a_mode_that_changes_bits_is_found(self):
        if platform.machine() not in ("x86_64", "aarch64"):
            self.skipTest("flush-to-zero is set in a way of each machine")
        self.compile("cc", "-O1", "-frounding-math")
        for mode, code in [("", 0), ("flush", 1), ("ignore", 1), ("upward", 2)]:
            self.assertEqual(self.run_in(mode), [code] * len(NAMES), mode)

    def test_an_fmaf_of_two_operations_is_found(self):
        is_float = [self.cases[name][0] in ("fp32", "bf16", "fp16") for name in NAMES]
        self.assertEqual(self.said("cc", "-O1", "-DROUNDS_TWICE"), [3 if fuses else 0 for fuses in is_float])

    def test_another_bit_of_a_constant_is_found(self):
        # Each where nothing else has it: outputs, actions, draws.
        for name, array in [("pole8", "_b2[2] = {"), ("walker4", "_high0[6] = {"),
                            ("gauss32", "_d0[4] = {")]:
            text = (CASES / f"{name}.h").read_text()
            number = re.compile(r"\s*(\S+?),").match(text, text.index(array) + len(array))
            value = float.fromhex(number[1].rstrip("f"))
            changed = text[:number.start(1)] + next_float(value) + text[number.end(1):]
            self.assertEqual(self.said("cc", "-O1", names=[name], changed=changed), [4], name)


if __name__ == "__main__":
    CASES = pathlib.Path(sys.argv[1]).resolve()
    unittests.main(sys.argv[:1] + sys.argv[2:])
