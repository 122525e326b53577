#!/usr/bin/env python3
"""Where two learners on two hosts pay: bench_learners by Open MPI, over lines of some speeds, sizes of networks and batches.

usage: bench_learners_net.py [--build build/release] [--gbit 10,1] [--cases d4pg_3x512,…] [--bf16]

Needs root. The hosts are two network namespaces of this machine with a line between them (tc tbf; no delay but the machine's own),
each with a host name of its own; mpirun reaches the other one by `ip netns exec`. Prints each line of bench_learners with
the line's speed, and then the table in Markdown: rows/s of two learners by those of one. A ratio above 1 pays.
  computed   from the CPU time of both, TCP's included, and the time that the bytes take on the line: what two hosts with
             free cores would give
  measured   by the wall clock, best rounds of both, on this machine's cores, with all that they do besides
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = "d4pg_2x64_b256,d4pg_2x256_b256,d4pg_3x512_b256,d4pg_3x512_b1024,ppo_2x64_b16,ppo_3x512_b16"
BURST = "128kb"  # of packets as long as the kernel makes them; messages are longer by far
TIMEOUT_S = 300
AGENT = """#!/bin/sh
host=$1
shift
case $host in
{cases}
esac
exec ip netns exec $space unshare --uts sh -c "hostname $space; $*"
"""


def run(*command):
    subprocess.run([str(c) for c in command], check=True, stdin=subprocess.DEVNULL)


class Line:
    """Two hosts, a line, and what mpirun starts processes with on the other one."""

    def __init__(self, folder):
        self.spaces = [f"ol{os.getpid()}-{name}" for name in "ab"]
        self.links = [f"ol{os.getpid() % 100000}{name}" for name in "ab"]
        self.addresses = ["10.78.0.1", "10.78.0.2"]
        self.agent = pathlib.Path(folder) / "agent"
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self):
        for space in self.spaces:
            run("ip", "netns", "add", space)
        run("ip", "link", "add", self.links[0], "netns", self.spaces[0], "type", "veth", "peer", "name", self.links[1],
            "netns", self.spaces[1])
        for space, link, address in zip(self.spaces, self.links, self.addresses):
            run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", link)
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "-n", space, "link", "set", link, "up")
        cases = "\n".join(f"{address}) space={space} ;;" for space, address in zip(self.spaces, self.addresses))
        self.agent.write_text(AGENT.format(cases=cases), encoding="utf-8")
        self.agent.chmod(0o755)

    def shape(self, gbit):
        for space, link in zip(self.spaces, self.links):
            run("tc", "-n", space, "qdisc", "replace", "dev", link, "root", "tbf", "rate", f"{gbit * 1000:g}mbit", "burst",
                BURST, "latency", "50ms")

    def mpirun(self, *command):
        """What two processes print, one on each host."""
        subnet = "10.78.0.0/24"
        mpi = ["mpirun", "--allow-run-as-root", "-n", "2", "--host", ",".join(f"{a}:1" for a in self.addresses), "--bind-to",
               "none", "--mca", "plm_rsh_agent", self.agent, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", subnet,
               "--mca", "oob_tcp_if_include", subnet]
        words = [str(word) for word in [self.agent, self.addresses[0], *mpi, *command]]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            sys.exit(f"bench_learners_net.py: mpirun ended with {done.returncode}")
        return done.stdout

    def close(self):
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


def measure(line, bench, case, gbit, bf16):
    rows = [json.loads(text) for text in line.mpirun(bench, *(["bf16"] if bf16 else []), case).splitlines()]
    one, two = rows
    each_way_s = two["mb_per_update"] / 2 * 8e-3 / gbit
    alone_s, together_s = one["rows"] / one["rows_per_cpu_s"], two["rows"] / two["rows_per_cpu_s"] + each_way_s
    two |= {"gbit": gbit, "computed_ratio": round(alone_s / together_s, 3)}
    print(json.dumps(two), flush=True)
    return two


def table(measured, speeds):
    print("\n| updates | MB an update | " + " | ".join(f"{gbit:g} Gbit/s: computed | measured" for gbit in speeds) + " |")
    print("|---|---|" + "---|---|" * len(speeds))
    for case in dict.fromkeys(case for case, _ in measured):
        rows = [measured[case, gbit] for gbit in speeds]
        print(f"| {case} | {rows[0]['mb_per_update']:.2f} | " + " | ".join(f"{row['computed_ratio']:.2f} | {row['best_ratio']:.2f}" for row in rows) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--gbit", default="10,1")
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--bf16", action="store_true", help="gradients and steps travel as bfloat16")
    given = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench_learners_net.py: network namespaces need root")
    bench = given.build.resolve() / "bench/bench_learners"
    speeds = [float(speed) for speed in given.gbit.split(",")]
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        line = Line(folder)
        try:
            for gbit in speeds:
                line.shape(gbit)
                for case in given.cases.split(","):
                    measured[case, gbit] = measure(line, bench, case, gbit, given.bf16)
        finally:
            line.close()
    table(measured, speeds)


if __name__ == "__main__":
    main()
