#!/usr/bin/env python3
"""bench_swarm over numbers of actors, networks and ways to publish: a table, the cost of one more actor, a picture.

usage: bench_swarm_grid.py [--build build/release] [--seconds 2] [--actors 200] [--out FILE.json] [--svg FILE.svg]

fan-out: from the moment when the learner hands a version over to the moment when the last subscriber has it. "send" is
the part of it in which the learner's loop writes to one subscriber after the other. "wants": share of time in which the
busiest thread ran or was ready to run; at 1 it is the limit. Costs are of CPU time, the slope between the smallest and the
largest number of actors, so that what a daemon does anyway is left out.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from bench_scaling import svg

PROCESSES = ("learner", "replay", "swarm")


def measure(build, **settings):
    words = [f"{key}={value}" for key, value in settings.items()]
    command = [build / "bench/bench_swarm", f"learner={build / 'learner/octet-learner'}",
               f"replay={build / 'replay/octet-replay'}", *words]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode != 0 or not result.stdout:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stderr}")
    measured = json.loads(result.stdout.splitlines()[-1])
    print(json.dumps(measured), flush=True)
    return measured


def busiest(measured):
    """(share, "process thread") of who ran or waited for a core most, training left out."""
    found = [(t["wants"], t["run"], f"{p} {t['thread']}") for p in PROCESSES for t in measured[p]["busy"]]
    return max(found, default=(0, 0, "nobody"))


def pair(values):
    return "{:.1f} ({:.1f})".format(*values[:2]) if values else "-"


def table(runs):
    print("\n| mode | actors | network, policies | rows/s: offered | accepted | ack ms, median (p99) | versions/s | "
          "got by all | bytes a version | fan-out ms, median (p99) | of it send | busiest thread: wants (run) |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|")
    for r in runs:
        wants, ran, who = busiest(r)
        print(f"| {r['mode']} | {r['actors']} | {r['hidden']} {'delta' if r['delta'] else 'complete'} | "
              f"{r['offered_per_s']:.0f} | {r['acked_per_s']:.0f} | {pair(r['ack_ms_median_p99_max'])} | "
              f"{r['versions_per_s']:.1f} | {100 * r['versions_to_all']:.0f} % | {r['policy_message_bytes']:.0f} | "
              f"{pair(r['fan_out_ms_median_p99_max'])} | {pair(r['send_ms_median_p99_max'])} | "
              f"{who}: {wants:.2f} ({ran:.2f}) |")


def slope(low, high, process, events):
    """CPU microseconds of a process for each of the events that the larger run has more."""
    more = events(high) - events(low)
    return (high[process]["cores"] - low[process]["cores"]) * 1e6 / more if more > 0 else float("nan")


def costs(of):
    """What one more actor costs, on each arrow."""
    def sends(r):
        return r["versions_per_s"] * r["subscribers"]

    def batches(r):
        return r["acked_per_s"] / r["rows"]

    low, high = of["subscribers"]
    push_low, push_high = of["pushers"]
    found = {
        "learner_us_per_policy_send": slope(low, high, "learner", sends),
        "learner_loop_us_per_policy_send": high["send_ms_median_p99_max"][0] * 1e3 / high["subscribers"],
        "replay_us_per_batch_and_ack": slope(push_low, push_high, "replay", batches),
        "learner_us_per_report": slope(push_low, push_high, "learner", lambda r: r["reports_per_s"]),
        "learner_rss_bytes": high["learner_per_actor"]["rss_bytes"],
        "learner_fds": high["learner_per_actor"]["fds"],
        "replay_rss_bytes": push_high["replay_per_actor"]["rss_bytes"],
        "replay_fds": push_high["replay_per_actor"]["fds"],
        "threads": push_high["replay_per_actor"]["threads"] + high["learner_per_actor"]["threads"],
        "batch_bytes": push_high["batch_bytes"],
        "ack_bytes": push_high["ack_bytes_per_s"] / max(1e-9, push_high["acks_per_s"]),
    }
    print("\n" + json.dumps({"bench": "swarm_costs", **found}))
    return found


def draw(path, runs):
    fan = [r for r in runs if r["mode"] == "subscribers" and r["hidden"] == "64,64"]
    svg(path, "One learner, one replay, simulated actors", [
        ("From publication to the last actor", "median, ms", {
            f"2x64, {way}": [(r["subscribers"], r["fan_out_ms_median_p99_max"][0]) for r in fan if r["delta"] == delta]
            for way, delta in (("delta", 1), ("complete", 0))}),
        ("Batches that replay acknowledged", "share of those offered", {
            "50 batches/s from each": [(r["actors"], r["acked_per_s"] / r["offered_per_s"]) for r in runs if r["mode"] == "pushers"]})])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--actors", type=int, default=200)
    parser.add_argument("--out")
    parser.add_argument("--svg")
    arguments = parser.parse_args()
    build, seconds = pathlib.Path(arguments.build).resolve(), arguments.seconds
    counts = sorted({max(1, arguments.actors * k // 20) for k in (1, 5, 10, 20)})
    fan = {"delta": [], "complete": []}
    for count in counts:
        for way, delta in (("delta", 1), ("complete", 0)):
            fan[way].append(measure(build, mode="subscribers", actors=count, delta=delta, seconds=seconds))
    wide = [measure(build, mode="subscribers", actors=arguments.actors, hidden="256,256", delta=delta, seconds=seconds)
            for delta in (1, 0)]
    push = [measure(build, mode="pushers", actors=count, seconds=seconds) for count in counts]
    both = [measure(build, mode="both", actors=arguments.actors, seconds=seconds)]
    runs = [*fan["delta"], *fan["complete"], *wide, *push, *both]
    table(runs)
    found = costs({"subscribers": (fan["delta"][0], fan["delta"][-1]), "pushers": (push[0], push[-1])})
    if arguments.out:
        pathlib.Path(arguments.out).write_text(
            json.dumps({"cpus": os.cpu_count(), "costs": found, "runs": runs}, indent=1) + "\n", encoding="utf-8")
    if arguments.svg:
        draw(arguments.svg, runs)


if __name__ == "__main__":
    main()
