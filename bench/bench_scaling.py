#!/usr/bin/env python3
"""Real runs on one machine with more and more actors: what more of them bring, and what waits for what.

usage: bench_scaling.py [--actors 1,2,4,8,16,32] [--presets FILE,FILE] [--repeats 3] [--seconds 2] [--build build/release]
                        [--out FILE.json] [--svg FILE.svg]

Each run: octet-replay, octet-learner and N octet-actors as processes, over TCP on loopback. It is watched for --seconds
once all have joined. Every preset runs twice: as it is, where the learner's pace holds actors back, and with
replay.samples_per_insert=0 ("free"), where nothing does. Prints one JSON line a run and a table of medians.

env_steps_per_s, inserts_per_s   environment steps of all actors, windows that replay took
latency_ms    from handing a version over to be sent to the moment when an actor had it decoded: median, p99
skipped       share of versions that an actor passed over, since a newer one was there
actor_rss, actor_fds, actor_threads   of one actor: median
cores         CPU seconds per second of learner, replay and all actors together
machine_busy  share of all cores that was used, by anybody: near 1, the machine was the limit
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from bench_chart import Axis, Picture, TOP, WIDTH, from_zero

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
from daemons import free_port, log_lines  # noqa: E402

PRESETS = "presets/cartpole.yaml,presets/dmc/walker_walk.yaml"
WAYS = {"preset": [], "free": ["replay.samples_per_insert=0"]}
ALWAYS = ["run.stop_at_return=none", "run.env_steps=1000000000000", "learner.metrics_s=0.1", "learner.checkpoint_s=0"]
JOIN_S = 60
PORTS = 5  # of a run


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine():
    """Ticks that were used, and all."""
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def look(actors):
    """Medians over actors: resident bytes, descriptors, threads."""
    rss, fds, threads = [], [], []
    for process in actors:
        place = pathlib.Path(f"/proc/{process.pid}")
        rss.append(int((place / "statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGESIZE"))
        fds.append(len(os.listdir(place / "fd")))
        threads.append(len(os.listdir(place / "task")))
    return statistics.median(rss), statistics.median(fds), statistics.median(threads)


def metrics_row(folder):
    """The last whole row; {} before there is one."""
    path = folder / "run/metrics.csv"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = text[:text.rfind("\n") + 1].splitlines()
    return dict(zip(lines[0].split(","), lines[-1].split(","))) if len(lines) > 1 else {}


def number(row, name):
    return float(row.get(name) or 0)


def latencies(folder, count, begin_us, end_us):
    """Milliseconds from sending to having it, of all actors; share of versions that an actor passed over."""
    sent = {line["version"]: int(line["at_us"]) for line in log_lines(folder / "learner.log", "LEARNER-PUBLISH")}
    window = [v for v, at in sent.items() if begin_us <= at < end_us]
    taken, times = 0, []
    for k in range(count):
        for line in log_lines(folder / f"actor-{k}.log", "ACTOR-POLICY"):
            at = sent.get(line["version"])
            if at is not None and begin_us <= at < end_us:
                taken += 1
                times.append((int(line["at_us"]) - at) / 1e3)
    return times, 1 - taken / (len(window) * count) if window else None


def wait_joined(folder, count, processes):
    end = time.monotonic() + JOIN_S
    while time.monotonic() < end:
        for process in processes:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args[0]} ended with {process.returncode}; logs in {folder}")
        log = folder / "learner.log"
        if log.exists() and sum(1 for _ in log_lines(log, "LEARNER-JOINED")) >= count and \
                number(metrics_row(folder), "updates") > 0:
            return
        time.sleep(0.05)
    raise RuntimeError(f"{count} actors did not join within {JOIN_S} s; logs in {folder}")


def watch(folder, replay, learner, actors, seconds):
    """What happened in so many seconds."""
    everybody = [replay, learner, *actors]
    before, busy0, cpu0 = metrics_row(folder), machine(), [cpu_s(p.pid) for p in everybody]
    begin_us, begin = time.time_ns() // 1000, time.monotonic()
    time.sleep(seconds)
    after, busy1, cpu1 = metrics_row(folder), machine(), [cpu_s(p.pid) for p in everybody]
    wall, end_us = time.monotonic() - begin, time.time_ns() // 1000
    rss, fds, threads = look(actors)
    span = number(after, "wall_s") - number(before, "wall_s")
    spent = [(b - a) / wall for a, b in zip(cpu0, cpu1)]
    times, skipped = latencies(folder, len(actors), begin_us, end_us - 200000)
    times.sort()
    return {
        "env_steps_per_s": (number(after, "env_steps") - number(before, "env_steps")) / span,
        "inserts_per_s": (number(after, "inserts") - number(before, "inserts")) / span,
        "updates_per_s": (number(after, "updates") - number(before, "updates")) / span,
        "versions_per_s": (number(after, "policy_version") - number(before, "policy_version")) / span,
        "latency_ms": [times[int(q * (len(times) - 1) + 0.5)] for q in (0.5, 0.99)] if times else None,
        "skipped": skipped, "actor_rss": rss, "actor_fds": fds, "actor_threads": threads,
        "cores": {"replay": spent[0], "learner": spent[1], "actors": sum(spent[2:])},
        "machine_busy": (busy1[0] - busy0[0]) / max(1, busy1[1] - busy0[1]),
    }


def run(build, preset, settings, count, seconds):
    with tempfile.TemporaryDirectory(prefix="octet-scaling-") as name:
        folder, port, processes = pathlib.Path(name), free_port(PORTS), []

        def start(program, log, *arguments):
            with open(folder / log, "w", encoding="utf-8") as out:
                processes.append(subprocess.Popen(
                    [build / program, *arguments, "--follow-parent", str(os.getpid()), "--log-level", "debug"],
                    cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
            return processes[-1]

        learner_url, replay_url = f"tcp://127.0.0.1:{port}", f"tcp://127.0.0.1:{port + 2}"
        sets = []
        for setting in [*ALWAYS, *settings, f"net.learner={learner_url}", f"net.replay={replay_url}"]:
            sets += ["--set", setting]
        try:
            replay = start("replay/octet-replay", "replay.log", "--listen", replay_url, "--insecure")
            learner = start("learner/octet-learner", "learner.log", ROOT / preset, "--run-dir", "run", "--insecure", *sets)
            actors = [start("actor/octet-actor", f"actor-{k}.log", "--learner", learner_url, "--insecure") for k in range(count)]
            wait_joined(folder, count, processes)
            time.sleep(0.5)
            return watch(folder, replay, learner, actors, seconds)
        finally:
            for process in reversed(processes):
                process.send_signal(signal.SIGTERM)
            for process in processes:
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def middle(runs, key):
    """The median run's value of a number, a pair or a dictionary; None where no run has one."""
    values = [one[key] for one in runs if one[key] is not None]
    if not values:
        return None
    if isinstance(values[0], dict):
        return {k: statistics.median(v[k] for v in values) for k in values[0]}
    if isinstance(values[0], list):
        return [statistics.median(v[k] for v in values) for k in range(len(values[0]))]
    return statistics.median(values)


def svg(path, title, panels, note=""):
    """panels: [(title, label of the y axis, {name: [(actors, value)]})] side by side. A name has the same colour in each."""
    names = list(dict.fromkeys(name for _, _, series in panels for name in series))
    picture = Picture(TOP + 350, title, note)
    picture.key(14, TOP + 14, [(i, name) for i, name in enumerate(names)])
    width = (WIDTH - 10) // len(panels)
    for k, (name, label, series) in enumerate(panels):
        points = [p for line in series.values() for p in line]
        counts = sorted({p[0] for p in points})
        x = Axis(counts[0], counts[-1], "actors", log=True, marks=[(count, f"{count:g}") for count in counts])
        frame = picture.panel((width * k + 62, TOP + 56, width - 84, 240), x, from_zero([p[1] for p in points], label), name)
        for of, line in series.items():
            frame.line(line, names.index(of))
            for p in line:
                frame.dot(*p, names.index(of))
    picture.save(path)


def draw(path, results):
    svg(path, "More actors on one machine", [
        ("Environment steps per second", "times those of one actor", {
            name: [(r["actors"], r["env_steps_per_s"] / line[0]["env_steps_per_s"]) for r in line] for name, line in results.items()}),
        ("From a policy's publication to its first step", "median, ms", {
            name: [(r["actors"], r["latency_ms"][0]) for r in line if r["latency_ms"]] for name, line in results.items()})],
        "Preset: actors are held to the learner's pace. Free: they are not.")


def table(results):
    print("\n| preset | actors | env steps/s | to one actor | windows/s | updates/s | policy latency ms, median (p99) | "
          "cores: actors / learner / replay | machine busy |\n|---|---|---|---|---|---|---|---|---|")
    for name, line in results.items():
        one = line[0]["env_steps_per_s"] / line[0]["actors"]
        for r in line:
            latency = "{:.1f} ({:.1f})".format(*r["latency_ms"]) if r["latency_ms"] else "none published"
            print(f"| {name} | {r['actors']} | {r['env_steps_per_s']:.0f} | {r['env_steps_per_s'] / one:.2f} | "
                  f"{r['inserts_per_s']:.0f} | {r['updates_per_s']:.0f} | {latency} | {r['cores']['actors']:.2f} / "
                  f"{r['cores']['learner']:.2f} / {r['cores']['replay']:.2f} | {100 * r['machine_busy']:.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--actors", default="1,2,4,8,16,32")
    parser.add_argument("--presets", default=PRESETS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--out")
    parser.add_argument("--svg")
    arguments = parser.parse_args()
    build, results = pathlib.Path(arguments.build).resolve(), {}
    for preset in arguments.presets.split(","):
        for way, settings in WAYS.items():
            name = f"{pathlib.Path(preset).stem}, {way}"
            for count in map(int, arguments.actors.split(",")):
                runs = []
                for _ in range(arguments.repeats):
                    try:
                        runs.append(run(build, preset, settings, count, arguments.seconds))
                    except (RuntimeError, OSError) as error:
                        sys.exit(f"bench_scaling: {name}, {count} actors: {error}")
                one = {"bench": "scaling", "setting": name, "actors": count, "repeats": len(runs),
                       **{key: middle(runs, key) for key in runs[0]}}
                print(json.dumps(one), flush=True)
                results.setdefault(name, []).append(one)
    table(results)
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if arguments.svg:
        draw(arguments.svg, results)


if __name__ == "__main__":
    main()
