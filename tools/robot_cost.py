#!/usr/bin/env python3
"""What one action of a policy costs a microcontroller: bytes of flash, RAM and stack, executed
instructions, and cycles where the core's table of them is simple. Nothing is measured on a board:
the policy is exported as C99, compiled for the core, and run by qemu-user one instruction at a time.

usage: robot_cost.py OCTET POLICY... [--core m4]... [--optimise=-O2] [--observation 0,0.1,...] [--where]

Prints a line of a table for each policy and core. Cycles are those of ARM's tables, without wait
states: Cortex-M4 Technical Reference Manual (100166), 3.3, and Cortex-M0+ Technical Reference Manual
(DDI 0484), 3.3, with the multiplier of one cycle. On the M4 two things vary by neighbours: a load or
store takes 2 cycles, or 1 behind another; a branch that is taken refills the pipeline in 1 to 3. So
there are a least and a most. Of the other cores only instructions are counted: an M7 issues two at a
time, and those of RISC-V vary by the maker. --where shows which functions the instructions are of.
The action must be that of `octet act`.
Exit code 77: the compiler or the simulator is not installed.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/policy/export"))
from robot_cores import CORES, LIBRARY, is_missing, link_bare, run  # pylint: disable=wrong-import-position

# Each function in a section of its own, so that the sizes are those of what is used. Below the
# stack pointer is a pattern, of which the call leaves what it does not use.
PROGRAM = """#include <stdio.h>
#include "policy.h"

#define PAINTED_WORDS 512
static student_work work;
static const %(type)s observation[] = {%(numbers)s};
int measured(%(action)s *action);
int __attribute__((noinline)) measured(%(action)s *action)
{
    return student_act(&work, observation, action);
}
int main(void)
{
    static %(action)s action[%(count)d];
    register uint32_t *top __asm__("sp");
    volatile uint32_t *bottom = top - PAINTED_WORDS;
    for (int i = 0; i < PAINTED_WORDS; i++) {
        bottom[i] = 0x5a5a5a5au;
    }
    int failed = measured(action);
    int unused = 0;
    while (unused < PAINTED_WORDS && bottom[unused] == 0x5a5a5a5au) {
        unused++;
    }
    printf("%%d ", 4 * (PAINTED_WORDS - unused));
    for (int i = 0; i < %(count)d; i++) {
        printf("%(format)s ", (%(printed)s)action[i]);
    }
    return failed;
}
"""
TRACE = re.compile(rb"^Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
CODE = re.compile(r"^\s*([0-9a-f]+):\s+((?:[0-9a-f]{4,8} ?)+)\s+(\S+)\s*(.*)$")
SIMPLE = re.compile(r"^(add|adc|adr|sub|sbc|rsb|mov|mvn|movw|movt|and|orr|orn|eor|bic|lsl|lsr|asr|ror|rrx|cmp|cmn|tst|"
                    r"teq|mul|mla|mls|smul|smla|smlal|smull|umull|umlal|smuad|smlad|sxt|uxt|ubfx|sbfx|bfi|bfc|clz|rev|"
                    r"rbit|ssat|usat|it|nop|neg|pkh|sel|uadd|sadd|qadd|usub|ssub|qsub|"
                    r"vadd|vsub|vmul|vneg|vabs|vcvt|vcmp|vmov|vmrs|vmsr|vnmul|vrint)")
MANY = ("push", "pop", "ldm", "stm", "vpush", "vpop", "vldm", "vstm")
BRANCH = re.compile(r"^(b|bl|bx|blx|cbn?z|b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al))$")
REGISTERS = re.compile(r"\{([^}]*)\}")


def listed(operands):
    """How many registers {r4-r7, lr} names."""
    count = 0
    for part in REGISTERS.search(operands)[1].split(","):
        ends = [int(n) for n in re.findall(r"\d+", part)]
        count += ends[1] - ends[0] + 1 if "-" in part else 1
    return count


def cycles_m4(name, operands, is_taken):
    """Least and most cycles of an instruction; None: unknown."""
    refill = (1, 3) if is_taken else (0, 0)
    if name.startswith(MANY):
        low = high = 1 + listed(operands)
    elif name.startswith(("ldrd", "strd")):
        low = high = 3
    elif name.startswith(("ldr", "str", "vldr", "vstr")):
        low, high = 1, 2
    elif name.startswith(("vdiv", "vsqrt")):
        low = high = 14
    elif name.startswith(("vmla", "vmls", "vfma", "vfms", "vfnma", "vnmla")):
        low = high = 3
    elif name.startswith(("sdiv", "udiv")):
        low, high = 2, 12
    elif name.startswith(("tbb", "tbh")):
        low = high = 2
    elif BRANCH.match(name) or SIMPLE.match(name):
        low = high = 1
    else:
        return None
    return low + refill[0], high + refill[1]


def cycles_m0plus(name, operands, is_taken):
    """The same on a pipeline of two stages: nothing varies."""
    if name.startswith(MANY):
        count = 1 + listed(operands) + (2 if is_taken else 0)
    elif name.startswith(("ldr", "str")):
        count = 2
    elif BRANCH.match(name):
        count = 3 if name == "bl" else 2 if is_taken else 1
    elif SIMPLE.match(name):
        count = 2 if is_taken else 1 # mov pc, ...
    else:
        return None
    return count, count


CYCLES = {"m4": cycles_m4, "m0plus": cycles_m0plus}


def shape(octet, policy):
    """Kind and count of observation and action, of what octet inspect prints."""
    text = run(octet, "inspect", policy)
    observed = re.search(r"^observation (\d+) (float32|uint8)", text, re.M)
    chosen = re.search(r"^action +(discrete,|box of) (\d+)", text, re.M)
    if not observed or not chosen:
        sys.exit(f"cannot read what octet inspect says of {policy}:\n{text}")
    return int(observed[1]), observed[2] == "uint8", chosen[1] == "discrete,", int(chosen[2])


def program_write(args, policy, folder):
    """The exported header and a program that acts once; the action that it has to print."""
    count, is_bytes, is_discrete, actions = shape(args.octet, policy)
    numbers = [float(x) for x in args.observation.split(",")] if args.observation else []
    numbers += [float(i % 2) if is_bytes else (i % 7 - 3) / 4 for i in range(len(numbers), count)]
    if len(numbers) != count:
        sys.exit(f"--observation has {len(numbers)} numbers, the policy reads {count}")
    shown = [f"{int(x)}" if is_bytes else f"{x!r}f" for x in numbers]
    run(args.octet, "export", policy, "--c99", folder / "policy.h", "--name", "student")
    (folder / "main.c").write_text(PROGRAM % {
        "type": "uint8_t" if is_bytes else "float", "numbers": ", ".join(shown),
        "action": "int32_t" if is_discrete else "float", "count": 1 if is_discrete else actions,
        "format": "%ld" if is_discrete else "%.9g", "printed": "long" if is_discrete else "double"})
    line = " ".join(str(int(x)) if is_bytes else repr(x) for x in numbers)
    done = subprocess.run([args.octet, "act", policy], input=line + "\n", capture_output=True, text=True, check=True)
    return done.stdout.split()


def sizes(nm, folder):
    """Bytes of the policy's code and constants, and of its work space."""
    code = ram = 0
    for line in run(nm, "-S", folder / "main.o").splitlines():
        words = line.split()
        if len(words) == 4 and words[3] not in ("main", "observation") and not words[3].startswith("action."):
            if words[2] in "bBdDsS":
                ram += int(words[1], 16)
            else:
                code += int(words[1], 16)
    return code, ram


def executed(simulator, robot, code, begin):
    """What robot prints, and how often which address follows which, from the call of begin until it returns."""
    steps = collections.Counter()
    with subprocess.Popen([simulator, "-singlestep", "-d", "exec,nochain", robot], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        before = end = None
        for line in process.stderr:
            match = TRACE.match(line)
            if not match:
                continue
            at = int(match[1], 16) & ~1
            if end is None and at == begin:
                end = before + code[before][0]
            elif end is not None:
                steps[before, at] += 1
                if at == end:
                    end = -1 # of no instruction: nothing is counted any more
                    break
            before = at
        for line in process.stderr: # until it has ended
            pass
        printed = process.stdout.read().decode().split()
    if process.returncode != 0 or end != -1:
        sys.exit(f"{simulator} {robot} printed {printed}, exit code {process.returncode}")
    return steps, printed


def where_print(addr2line, robot, steps):
    """Which functions, also of those that are inlined, the instructions are of."""
    of = collections.Counter()
    for (at, _), times in steps.items():
        of[at] += times
    names = run(addr2line, "-f", "-e", robot, *[hex(at) for at in of]).splitlines()[::2]
    total = collections.Counter()
    for name, times in zip(names, of.values()):
        total[name] += times
    for name, times in total.most_common():
        print(f"    {times:9d}  {name}")


def cost_print(args, policy, core):
    in_words, compiler, machine, simulator = CORES[core]
    tool = lambda name: compiler.replace("gcc", name)  # pylint: disable=unnecessary-lambda-assignment
    with tempfile.TemporaryDirectory(prefix="octet-cost-") as folder:
        folder = pathlib.Path(folder)
        wanted = program_write(args, policy, folder)
        options = [*machine, args.optimise, "-g", "-std=gnu99", f"-I{folder}"]
        link_bare(compiler, options, folder / "robot", [folder / "main.c"])
        run(compiler, *LIBRARY[compiler], *options, "-c", folder / "main.c", "-o", folder / "main.o")
        code = {int(m[1], 16): (len(m[2].replace(" ", "")) // 2, m[3], m[4]) for m in
                map(CODE.match, run(tool("objdump"), "-d", folder / "robot").splitlines()) if m}
        begin = [int(line.split()[0], 16) & ~1 for line in run(tool("nm"), folder / "robot").splitlines()
                 if line.endswith(" measured")][0]
        steps, (stack, *printed) = executed(simulator, folder / "robot", code, begin)
        if [float(x) for x in printed] != [float(x) for x in wanted]:
            sys.exit(f"the action is {printed}, octet act says {wanted}")
        least = most = 0
        for (at, behind), times in steps.items() if core in CYCLES else []:
            width, name, operands = code[at]
            both = CYCLES[core](name.split(".")[0], operands, behind != at + width)
            if both is None:
                sys.exit(f"no cycles are known of {name} {operands}")
            least, most = least + times * both[0], most + times * both[1]
        flash, ram = sizes(tool("nm"), folder)
        cycles = "" if core not in CYCLES else f"{least}" if least == most else f"{least} to {most}"
        print(f"| {policy} | {in_words} | {flash} | {ram} | {stack} | {sum(steps.values())} | {cycles} |", flush=True)
        if args.where:
            where_print(tool("addr2line"), folder / "robot", steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("octet")
    parser.add_argument("policy", nargs="+")
    parser.add_argument("--core", action="append", choices=sorted(CORES))
    parser.add_argument("--optimise", default="-O2", metavar="-O2")
    parser.add_argument("--observation", metavar="N,...")
    parser.add_argument("--where", action="store_true")
    args = parser.parse_args()
    cores = args.core or ["m4"]
    if any(is_missing(CORES[core][1], CORES[core][3]) for core in cores):
        return 77
    print("| policy | core | flash | RAM | stack | instructions | cycles |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for policy in args.policy:
        for core in cores:
            cost_print(args, policy, core)
    return 0


if __name__ == "__main__":
    sys.exit(main())
