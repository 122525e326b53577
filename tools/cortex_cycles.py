#!/usr/bin/env python3
"""What one action of a policy costs a Cortex-M4: bytes of flash and RAM, executed instructions, and
the cycles that they take by ARM's table. Nothing is measured on a board: the policy is exported as
C99, compiled by arm-none-eabi-gcc, and run by qemu-arm one instruction at a time.

usage: cortex_cycles.py OCTET POLICY [--optimise=-O2] [--observation 0,0.1,...]

Cycles: ARM Cortex-M4 Technical Reference Manual (100166), 3.3, without wait states. Two things vary
by neighbours: a load or store takes 2 cycles, or 1 behind another; a branch that is taken refills
the pipeline in 1 to 3. So there are a least and a most. The action must be that of `octet act`.
Exit code 77: the compiler or the simulator is not installed.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMPILER = "arm-none-eabi-gcc"
MACHINE = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
# Constants are aligned as the export expects, each function in a section of its own.
PROGRAM = """#include <stdio.h>
#include "policy.h"

static student_work work;
static const %(type)s observation[] = {%(numbers)s};
int measured(%(action)s *action);
int __attribute__((noinline)) measured(%(action)s *action)
{
    return student_act(&work, observation, action);
}
int main(void)
{
    %(action)s action[%(count)d];
    if (measured(action) != 0) {
        return 1;
    }
    for (int i = 0; i < %(count)d; i++) {
        printf("%(format)s ", (%(printed)s)action[i]);
    }
    return 0;
}
"""
TRACE = re.compile(r"^Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
CODE = re.compile(r"^\s*([0-9a-f]+):\s+(?:[0-9a-f]{4} ?)+\s+(\S+)\s*(.*)$")
SIMPLE = re.compile(r"^(add|adc|sub|sbc|rsb|mov|mvn|movw|movt|and|orr|orn|eor|bic|lsl|lsr|asr|ror|rrx|cmp|cmn|tst|teq|"
                    r"mul|mla|mls|smul|smla|smlal|smull|umull|umlal|smuad|smlad|sxt|uxt|ubfx|sbfx|bfi|bfc|clz|rev|"
                    r"rbit|ssat|usat|it|nop|neg|pkh|sel|uadd|sadd|qadd|usub|ssub|qsub|"
                    r"vadd|vsub|vmul|vneg|vabs|vcvt|vcmp|vmov|vmrs|vmsr|vnmul|vrint)")
REGISTERS = re.compile(r"\{([^}]*)\}")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def listed(operands):
    """How many registers {r4-r7, lr} names."""
    count = 0
    for part in REGISTERS.search(operands)[1].split(","):
        ends = [int(n) for n in re.findall(r"\d+", part)]
        count += ends[1] - ends[0] + 1 if "-" in part else 1
    return count


def cycles(name, operands, is_taken):
    """Least and most cycles of an instruction."""
    name = name.split(".")[0]
    refill = (1, 3) if is_taken else (0, 0)
    if name.startswith(("push", "pop", "ldm", "stm", "vpush", "vpop", "vldm", "vstm")):
        n = 1 + listed(operands)
        return n + refill[0], n + refill[1]
    if name.startswith(("ldrd", "strd")):
        return 3, 3
    if name.startswith(("ldr", "str", "vldr", "vstr")):
        return 1 + refill[0], 2 + refill[1]
    if name.startswith(("vdiv", "vsqrt")):
        return 14, 14
    if name.startswith(("vmla", "vmls", "vfma", "vfms", "vfnma", "vnmla")):
        return 3, 3
    if name.startswith(("sdiv", "udiv")):
        return 2, 12
    if name.startswith(("tbb", "tbh")):
        return 2 + refill[0], 2 + refill[1]
    if name.startswith(("b", "cb")) and not name.startswith(("bic", "bfi", "bfc")) or SIMPLE.match(name):
        return 1 + refill[0], 1 + refill[1]
    sys.exit(f"no cycles are known of {name} {operands}")


def shape(octet, policy):
    """Kind and count of observation and action, of what octet inspect prints."""
    text = run(octet, "inspect", policy)
    observed = re.search(r"^observation (\d+) (float32|uint8)", text, re.M)
    chosen = re.search(r"^action +(discrete,|box of) (\d+)", text, re.M)
    if not observed or not chosen:
        sys.exit(f"cannot read what octet inspect says of {policy}:\n{text}")
    return int(observed[1]), observed[2] == "uint8", chosen[1] == "discrete,", int(chosen[2])


def build(args, folder):
    count, is_bytes, is_discrete, actions = shape(args.octet, args.policy)
    numbers = [float(x) for x in args.observation.split(",")] if args.observation else []
    numbers += [float(i % 2) if is_bytes else (i % 7 - 3) / 4 for i in range(len(numbers), count)]
    if len(numbers) != count:
        sys.exit(f"--observation has {len(numbers)} numbers, the policy reads {count}")
    shown = [f"{int(x)}" if is_bytes else f"{x!r}f" for x in numbers]
    run(args.octet, "export", args.policy, "--c99", folder / "policy.h", "--name", "student")
    (folder / "main.c").write_text(PROGRAM % {
        "type": "uint8_t" if is_bytes else "float", "numbers": ", ".join(shown),
        "action": "int32_t" if is_discrete else "float", "count": 1 if is_discrete else actions,
        "format": "%ld" if is_discrete else "%.9g", "printed": "long" if is_discrete else "double"})
    run(COMPILER, *MACHINE, args.optimise, "-std=gnu99", f"-I{folder}", folder / "main.c",
        ROOT / "tests/export/robot_bare.c", "-nostartfiles", "-o", folder / "robot", "-lm")
    run(COMPILER, *MACHINE, args.optimise, "-std=gnu99", f"-I{folder}", "-c", folder / "main.c", "-o",
        folder / "main.o")
    line = " ".join(str(int(x)) if is_bytes else repr(x) for x in numbers)
    return line


def flash(folder):
    """Bytes of the policy's code and constants, and of its work space."""
    code = ram = 0
    for line in run("arm-none-eabi-nm", "-S", folder / "main.o").splitlines():
        words = line.split()
        if len(words) == 4 and words[3] not in ("main", "observation"):
            if words[2] in "bBdD":
                ram += int(words[1], 16)
            else:
                code += int(words[1], 16)
    return code, ram


def traced(folder):
    """Addresses of what is executed from the call of measured until it returns, and what is printed."""
    names = {words[2]: int(words[0], 16) for words in
             (line.split() for line in run("arm-none-eabi-nm", folder / "robot").splitlines()) if len(words) == 3}
    printed = run("qemu-arm", "-singlestep", "-d", "exec,nochain", "-D", folder / "trace", folder / "robot")
    begin = names["measured"] & ~1
    found, end = [], None
    with open(folder / "trace", encoding="utf-8") as trace:
        before = None
        for line in trace:
            match = TRACE.match(line)
            if not match:
                continue
            at = int(match[1], 16) & ~1
            if at == begin and end is None:
                end = before + 4  # bl is of four bytes
            if end is not None and at == end:
                break
            if end is not None:
                found.append(at)
            before = at
    return found, printed.split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("octet")
    parser.add_argument("policy")
    parser.add_argument("--optimise", default="-O2", metavar="-O2")
    parser.add_argument("--observation", metavar="N,...")
    args = parser.parse_args()
    for tool in (COMPILER, "qemu-arm"):
        if shutil.which(tool) is None:
            print(f"SKIPPED: {tool} is not installed (script/setup test installs it)")
            return 77
    with tempfile.TemporaryDirectory(prefix="octet-cycles-") as folder:
        folder = pathlib.Path(folder)
        line = build(args, folder)
        executed, printed = traced(folder)
        done = subprocess.run([args.octet, "act", args.policy], input=line + "\n", capture_output=True, text=True,
                              check=True)
        if [float(x) for x in printed] != [float(x) for x in done.stdout.split()]:
            sys.exit(f"the action is {printed}, octet act says {done.stdout}")
        code = {int(m[1], 16): (m[2], m[3]) for m in
                map(CODE.match, run("arm-none-eabi-objdump", "-d", folder / "robot").splitlines()) if m}
        least = most = 0
        for at, behind in zip(executed, [*executed[1:], None]):
            name, operands = code[at]
            width = 4 if behind == at + 4 else 2
            low, high = cycles(name, operands, behind is None or behind != at + width)
            least, most = least + low, most + high
        used, ram = flash(folder)
        print(f"{args.policy}: Cortex-M4, {COMPILER} {args.optimise}")
        print(f"  flash         {used} bytes, code and constants")
        print(f"  RAM           {ram} bytes")
        print(f"  instructions  {len(executed)} for one action")
        print(f"  cycles        {least} to {most}: {1e3 * least / 168e6:.2f} to {1e3 * most / 168e6:.2f} ms at 168 MHz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
