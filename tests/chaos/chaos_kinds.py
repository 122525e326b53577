"""Kinds of faults. Each is a function of the run (chaos_system.py), a random generator and the fault's seed, which does its damage,
heals it, and says what it did; what its run needs is said by the decorator."""

import contextlib
import itertools
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

from chaos_system import CALLS, DEADLINE_S, SYNC_S, Broken, is_alive
from daemons import wait_for

KINDS = {}
PAGE = 4096
YEAR_S = 365 * 86400


def kind(name, **needs):
    """needs: root; proxied: between the daemons; tls: at times, or always; settings, sync: of the run; disk_mb: a small disk of its
    own; memory: control groups; first: a function that prepares the run before its daemons start; lenient: the audit may find what was altered."""
    def add(function):
        KINDS[name] = (function, needs)
        return function
    return add


def pause(rng, least=0.05, most=0.5):
    seconds = rng.uniform(least, most)
    time.sleep(seconds)
    return seconds


def must(holds, what):
    """A fault that was not there is no fault that was survived."""
    if not holds:
        raise Broken(f"the fault was not made: {what}")


def until(what, condition):
    """Waits for what shows that a fault is there."""
    try:
        wait_for(what, condition, DEADLINE_S, 0.005)
    except Broken:
        raise
    except AssertionError as never:
        must(False, never)


# ---- kill -9 and SIGSTOP

def kill_running(system, *names):
    absent = system.kill(*names)
    must(not absent, f"{', '.join(absent)} did not run")


def is_stopped(process):
    return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def stop_running(system, name):
    must(system.runs(name), f"{name} did not run")
    system.processes[name].send_signal(signal.SIGSTOP)
    until(f"{name} to be stopped", lambda: is_stopped(system.processes[name]))


def kill(names):
    def fault(system, rng, _seed):
        chosen = names or [rng.choice(system.ACTORS)]
        pause(rng, 0, 0.3)
        kill_running(system, *chosen)
        down = pause(rng, 0, 0.4)
        system.start(*chosen)
        return f"kill -9 of {', '.join(chosen)}, started again after {down:.2f} s"
    return fault


for _name, _who in (("replay", ["replay"]), ("learner", ["learner"]), ("actor", None), ("all", ["replay", "learner", "a0", "a1"])):
    kind(f"kill-{_name}")(kill(_who))


def stop(name):
    def fault(system, rng, _seed):
        chosen = name or rng.choice(system.ACTORS)
        stop_running(system, chosen)
        seconds = pause(rng, 0.2, 2.5)
        system.processes[chosen].send_signal(signal.SIGCONT)
        return f"{chosen} stopped for {seconds:.2f} s"
    return fault


for _name in ("replay", "learner", None):
    kind(f"stop-{_name or 'actor'}")(stop(_name))


@kind("restarts")
def restarts(system, rng, seed):
    """All end and start in orders that follow from the seed."""
    orders = list(itertools.permutations(system.NAMES))
    down, up = orders[seed % len(orders)], orders[seed * 7 % len(orders)]
    how = rng.choice([signal.SIGTERM, signal.SIGKILL])
    system.expected.update(system.NAMES)
    must(system.runs(down[0]), f"{down[0]} did not run")  # the others may have ended for want of it
    for name in down:
        system.kill(name, how=how)
        pause(rng, 0, 0.1)
    for name in up:
        system.start(name)
        pause(rng, 0, 0.2)
    return f"{how.name} of {', '.join(down)}; started {', '.join(up)}"


@kind("train-all", train=True, syncs=["interval", "always"])
def train_all(system, rng, _seed):
    """octet train and all of its daemons are killed at once; --resume goes on."""
    times = rng.choice([1, 2, 3])
    for _ in range(times):
        pause(rng, 0, 0.6)
        kill_running(system)
        system.start()
        system.goes_on()
    return f"octet train and its daemons killed {times} times, then --resume"


@kind("train-some", train=True)
def train_some(system, rng, _seed):
    """Some of its daemons are killed, or octet train alone."""
    chosen = rng.choice(["octet train", "a daemon", "two daemons"])
    pause(rng, 0, 0.3)
    if chosen == "octet train":
        pids = list(system.daemons())
        must(system.runs("train") and len(pids) > 3, f"octet train had {len(pids)} daemons")
        system.processes["train"].kill()
        system.processes["train"].wait()
        wait_for("its daemons to end", lambda: not any(is_alive(pid) for pid in pids), DEADLINE_S)
        system.start()
        return "octet train killed alone: its daemons ended; then --resume"
    running = system.daemons()
    pids = rng.sample(sorted(running), 1 if chosen == "a daemon" else 2)
    system.end_daemons(pids)
    return f"{', '.join(running[pid] for pid in pids)} of octet train killed"


@kind("storm", may_end="learner")
def storm(system, rng, _seed):
    """Several of the above at once, before anybody has come back."""
    told, count, has_hit = [], rng.choice([3, 6, 9]), False
    while len(told) < count or not has_hit:
        name, what = rng.choice(system.NAMES), rng.choice(["kill", "stop", "skew", "EIO"])
        if not system.runs(name):
            what = "start"
            system.start(name)
        elif what == "kill":
            has_hit |= not system.kill(name)  # one that has met EIO may have ended by itself
        elif what == "stop":
            system.processes[name].send_signal(signal.SIGSTOP)
        elif what == "skew":
            system.faults[name].skew(rng.choice([-3600, 3600]))
        else:
            system.faults[name].begin(what, 1 + rng.randrange(5))
        told.append(f"{what} {name}")
        pause(rng, 0, 0.4)
        has_hit |= any(faults.hits + faults.shifted > 0 for faults in system.faults.values())
    for name in system.NAMES:
        system.faults[name].clear()
        if system.runs(name):
            system.processes[name].send_signal(signal.SIGCONT)
    return ", ".join(told)


# ---- calls to the disk that fail: at each call, by the seed

CALLS_MAX = {"replay": 16, "learner": 64}  # replay makes its file with the first three


def call_of(name, seed):
    """Seeds that follow on each other try calls far from each other; 2 * CALLS_MAX seeds try all, from the start on and later."""
    return 1 + seed // 2 * 11 % CALLS_MAX[name]


def disk(name, what, kinds):
    def first(system, _rng, seed):
        if seed % 2 == 0:
            system.faults[name].begin(what, call_of(name, seed), kinds=kinds)

    def fault(system, rng, seed):
        faults, after, count = system.faults[name], call_of(name, seed), 1 if seed % 3 else 3
        if seed % 2 == 1:
            faults.begin(what, after, count, kinds)
        until("the call", lambda: faults.hits > 0 or system.tend())
        where = f"{faults.where}: {what}"
        pause(rng, 0, 0.2)
        faults.clear()
        when = "from its start on" if seed % 2 == 0 else "while it runs"
        return f"{name}, call {after} {when}: {where}"
    needs = {"first": first, "may_end": "learner"}
    if name == "replay":
        needs["syncs"] = ["interval", "always"]
        needs["may_end"] = "learner" if what == "EIO" else None
    kind(f"disk-{what.replace(' ', '-')}-{name}" if kinds == 15 else f"disk-sync-{name}", **needs)(fault)


for _name, _what, _kinds in (("replay", "kill", 15), ("learner", "kill", 15), ("learner", "kill half", 15), ("replay", "EIO", 15),
                             ("learner", "EIO", 15), ("replay", "ENOSPC", 15), ("learner", "ENOSPC", 15), ("learner", "short", 15),
                             ("learner", "EIO", 2)):
    disk(_name, _what, _kinds)


@kind("no-sync-replay", syncs=["always"])
def no_sync(system, rng, _seed):
    """No sync succeeds for a while: what is acknowledged then was synced before."""
    faults, begin = system.faults["replay"], time.monotonic()
    faults.begin("EIO", 1 + rng.randrange(4), 1 << 32, CALLS["sync"])
    until("a sync that fails", lambda: faults.hits > 0)
    pause(rng, 0.2, 0.8)
    path, claims = image(system)
    numbers = system.audit("killed", path, claims)
    faults.clear()
    if faults.hits > 3 + (time.monotonic() - begin) / SYNC_S:
        raise Broken(f"a disk that fails was asked {faults.hits} times without a pause")
    return f"{faults.hits} syncs failed; {numbers['acked']} rows were acknowledged, all of them synced"


def fill(system, left_mb=0):
    """Nothing more fits on the disk, but for so much."""
    free = os.statvfs(system.disk)
    left = free.f_bavail * free.f_frsize - (left_mb << 20)
    with open(system.disk / "filler", "wb", buffering=0) as filler:
        try:
            while left > 0:
                left -= filler.write(bytes(min(left, 1 << 16)))
        except OSError:
            pass  # others were faster


def fill_first(system, _rng, seed):
    if seed % 2 == 0:
        fill(system, 4)  # too little for replay's file


@kind("full-disk", root=True, disk_mb=24, first=fill_first, late=lambda seed: seed % 2 == 0, may_end="learner")
def full_disk(system, rng, seed):
    if seed % 2 == 0:
        wait_for("replay to say it", lambda: system.said("replay", "REPLAY-DISK-FULL"), DEADLINE_S)
    else:
        fill(system)
    seconds = pause(rng, 0.3, 1.5)
    free = os.statvfs(system.disk)
    must(free.f_bavail * free.f_frsize <= (4 << 20 if seed % 2 == 0 else 1 << 16), f"{free.f_bavail} blocks were free")
    (system.disk / "filler").unlink()
    return f"no room for {seconds:.2f} s, {'before the table was made' if seed % 2 == 0 else 'while it runs'}"


# ---- networks

def links(system):
    base = system.base
    return {"actors-learner": [base, base + 1], "actors-replay": [base + 4, base + 5], "learner-replay": [base + 3],
            "replay-all": [base + 3, base + 4, base + 5], "learner-all": [base, base + 1, base + 3]}


def rules(ports, ways, target):
    return [["INPUT", "-p", "tcp", f"--{way}port", str(port), *target] for port in ports for way in ways]


def iptables(change, wanted):
    for rule in wanted:
        subprocess.run(["iptables", "-w", change, *rule], check=True, capture_output=True)


def packets_met():
    """How many packets met the rules that there are."""
    listed = subprocess.run(["iptables", "-w", "-nvxL", "INPUT"], check=True, capture_output=True, text=True)
    return sum(int(line.split()[0]) for line in listed.stdout.splitlines()[2:])


def for_a_while(wanted, rng, least_s, most_s):
    """Packets meet these rules, at least one of them; gives the seconds."""
    begin = time.monotonic()
    iptables("-A", wanted)
    try:
        pause(rng, least_s, most_s)
        until("a packet", lambda: packets_met() > 0)
    finally:
        iptables("-D", wanted)
    return time.monotonic() - begin


@kind("partition", root=True)
def partition(system, rng, _seed):
    name, ports = rng.choice(sorted(links(system).items()))
    ways = rng.choice(["sd", "s", "d"])
    seconds = for_a_while(rules(ports, ways, ["-j", "DROP"]), rng, 0.3, 3)
    return f"{name} cut for {seconds:.2f} s{'' if ways == 'sd' else ', one way'}"


@kind("loss", root=True)
def loss(system, rng, _seed):
    name, ports = rng.choice(sorted(links(system).items()))
    share = rng.choice([0.01, 0.05, 0.2])
    wanted = rules(ports, "sd", ["-m", "statistic", "--mode", "random", "--probability", str(share), "-j", "DROP"])
    seconds = for_a_while(wanted, rng, 0.5, 2)
    return f"{name} lost {100 * share:.0f} % of its packets for {seconds:.2f} s"


@kind("delay", root=True)
def delay(system, rng, _seed):
    name, ports = rng.choice(sorted(links(system).items()))
    milliseconds = rng.choice([5, 50, 200])
    line = subprocess.Popen([system.build / "tests/hosts/host_delay", "7", str(milliseconds)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, text=True)
    try:
        if line.stdout.readline().strip() != "ready":
            raise OSError("host_delay does not start")
        seconds = for_a_while(rules(ports, "sd", ["-j", "NFQUEUE", "--queue-num", "7"]), rng, 0.5, 2)
    finally:
        line.kill()
        line.wait()
    return f"{name} {milliseconds} ms long for {seconds:.2f} s"


def damage(how):
    def fault(system, rng, _seed):
        for number in range(1, 1 + rng.choice([1, 2, 4])):
            system.proxy.damage(how, rng, rng.choice([True, False, None]))
            wait_for("a message", lambda number=number: len(system.proxy.done) >= number, 10, 0.002)
            pause(rng, 0, 0.1)
        return "; ".join(system.proxy.done)
    return fault


kind("cut-plain", proxied=True)(damage("cut"))
kind("cut-tls", proxied=True, tls=True)(damage("cut"))
kind("flip-tls", proxied=True, tls=True)(damage("flip"))
kind("leave-out-tls", proxied=True, tls=True)(damage("leave out"))


@kind("flip-plain", proxied=True, lenient=True)
def flip_plain(system, rng, _seed):
    """Nothing protects contents without TLS but TCP's own sums, which a proxy makes anew: the run goes on, rows may be altered."""
    system.proxy.damage("flip", rng, rng.choice([True, False]))
    wait_for("a message", lambda: system.proxy.done, 10, 0.002)
    return system.proxy.done[0]


# ---- clocks, descriptors, other releases

@kind("clock")
def clock(system, rng, _seed):
    chosen = rng.choice([[name] for name in system.NAMES] + [list(system.NAMES)])
    seconds = rng.choice([-1, 1, -3600, 3600, -10 * YEAR_S, 10 * YEAR_S, 60 * YEAR_S])
    before = {name: system.faults[name].shifted for name in chosen}
    for name in chosen:
        system.faults[name].skew(seconds)
    pause(rng, 0.2, 0.8)
    for name in chosen:
        until(f"{name} to look at the clock", lambda name=name: system.tend() or system.faults[name].shifted > before[name])
    is_back = rng.random() < 0.5
    for name in chosen if is_back else []:
        system.faults[name].skew(0)
    return f"wall clock of {', '.join(chosen)} {seconds:+} s{', and back' if is_back else ''}"


@kind("clock-restart", root=True)
def clock_restart(system, rng, _seed):
    """After a restart the monotonic clock is another one, as on another host."""
    name = rng.choice(system.NAMES)
    seconds = rng.choice([1, 86400, 10 * YEAR_S])
    kill_running(system, name)
    system.prefix[name] = ["unshare", "--time", "--monotonic", str(seconds), "--boottime", str(seconds)]
    system.start(name)
    place = f"/proc/{system.processes[name].pid}/ns/time"
    until(f"{name} to have clocks of its own", lambda: os.readlink(place) != os.readlink("/proc/self/ns/time"))
    return f"{name} restarted with monotonic clocks {seconds} s ahead"


@kind("descriptors")
def descriptors(system, rng, _seed):
    """A daemon can open nothing more while others come anew."""
    name = rng.choice(system.NAMES)
    other = rng.choice([n for n in system.NAMES if n != name])
    pid = system.processes[name].pid
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")), limits[1]))
    kill_running(system, other)
    system.start(other)
    seconds = pause(rng, 0.3, 1.5)
    if system.runs(name):
        must(resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] < limits[0], "its limit is as before")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    return f"{name} had no descriptor left for {seconds:.2f} s, {other} came anew"


def refused(system, name):
    """Whether somebody said that releases differ."""
    path = system.folder / f"{name}.log"
    return path.exists() and "run the same release on both sides" in path.read_text(encoding="utf-8", errors="replace")


@kind("release", settings=[], may_end="learner")
def release(system, rng, seed):
    """A daemon of another protocol version is refused in words, and the others go on."""
    if seed % 2 == 0:
        system.add("other")
        system.programs["other"] = system.build / "tests/chaos/chaos_other_actor"
        system.start("other")
        wait_for("the refusal", lambda: refused(system, "other"), DEADLINE_S)
        system.goes_on()
        system.kill("other")
        return "an actor of another release came: refused in words"
    kill_running(system, "replay")
    system.programs["replay"] = system.build / "tests/chaos/chaos_other_replay"
    system.start("replay")
    wait_for("the refusal", lambda: refused(system, "learner"), DEADLINE_S)
    system.kill("replay")
    del system.programs["replay"]
    system.start("replay")
    return "replay of another release in the place of replay: refused in words"


# ---- full tables and images of the disk

@kind("evict", settings=["replay.capacity=4096", "env.options=pause_us=500"], syncs=["interval", "always"])
def evict(system, rng, _seed):
    """A table whose oldest blocks leave all the time."""
    before = system.acked()
    wait_for("the table to be full", lambda: system.acked() > before + 6000, DEADLINE_S)
    times = rng.choice([1, 2, 3])
    for _ in range(times):
        pause(rng, 0, 0.3)
        kill_running(system, "replay")
        system.start("replay")
        system.goes_on(100, 0)
    return f"a full table, replay killed {times} times"


@kind("full-rate", settings=["replay.capacity=65536", "replay.samples_per_insert=0.02", "env.options=pause_us=0"],
      syncs=["interval", "always"])
def full_rate(system, rng, _seed):
    """As fast as two actors can, so that replay is killed in the middle of something."""
    for _ in range(3):
        pause(rng, 0.1, 0.4)
        kill_running(system, "replay")
        system.audit()
        system.start("replay")
        system.goes_on(2000, 0)
    return f"replay killed 3 times at {system.acked()} rows"


# ---- a table larger than memory

GROUPS = pathlib.Path("/sys/fs/cgroup")
# Of version 1, or of version 2: where groups are made; the limit, and what says how often it was reached.
MEMORY = {GROUPS / "memory": ("memory.limit_in_bytes", "memory.failcnt"), GROUPS: ("memory.max", "memory.events")}
LIMIT = 24 << 20  # of the memory of replay, with its pages of the file
TIMES = 4  # as large as that is the file, at least
ROWS = 1500000  # of 45 bytes


def memory_groups():
    """Where memory control groups can be made; None: nowhere."""
    for place, (limit, _) in MEMORY.items():
        trial = place / f"octet-chaos-{os.getpid()}"
        with contextlib.suppress(OSError):
            trial.mkdir()
            try:
                if (trial / limit).exists():
                    return place
            finally:
                trial.rmdir()
    return None


def group_first(system, _rng, _seed):
    """Replay's process begins in a group of its own."""
    place = memory_groups()
    system.group = place / f"octet-chaos-{os.getpid()}"
    system.group.mkdir()
    (system.group / MEMORY[place][0]).write_text(str(LIMIT))
    system.prefix["replay"] = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', system.group]
    system.at_end.append(lambda: wait_for("its group to be empty", lambda: not (system.group / "cgroup.procs").read_text()))
    system.at_end.append(system.group.rmdir)


def times_reached(group):
    """How often it had to give pages back."""
    text = (group / MEMORY[group.parent][1]).read_text()
    return int(text.split("max ")[1].split()[0] if "max " in text else text)


@kind("small-memory", root=True, memory=True, first=group_first, syncs=["interval", "none"],
      settings=["replay.capacity=3000000", "replay.sampler=uniform", "replay.samples_per_insert=0.1", "env.options=pause_us=0"])
def small_memory(system, rng, _seed):
    """The table fills its file, several times as large as the memory that replay has; it is killed, and goes on."""
    system.goes_on()
    times = (system.disk / "replay.oct").stat().st_size / LIMIT
    if times < TIMES:
        raise Broken(f"the file is {times:.1f} times as large as the limit, less than {TIMES}")
    begin, rows = time.monotonic(), system.acked()
    while system.acked() < rows + ROWS:
        system.goes_on(20000, 1)
    rate = (system.acked() - rows) / (time.monotonic() - begin)
    kill_running(system, "replay")
    system.audit()
    system.start("replay")
    system.goes_on(2000, 1)
    reached = times_reached(system.group)
    if reached == 0:
        raise Broken("the limit was never reached")
    return f"a file of {times:.1f} times the memory that replay may use: {rate:.0f} rows/s, the limit reached {reached} times, sync {system.sync}"


def image(system):
    """The file as a power failure now would leave it if all had reached the disk, and what was acknowledged before."""
    claims, path = system.claims(), system.folder / "image.oct"
    system.processes["replay"].send_signal(signal.SIGSTOP)
    try:
        shutil.copyfile(system.disk / "replay.oct", path)
    finally:
        system.processes["replay"].send_signal(signal.SIGCONT)
    return path, claims


@kind("image", syncs=["always", "interval"])
def power(system, rng, _seed):
    pause(rng, 0, 0.5)
    path, claims = image(system)
    numbers = system.audit("killed" if system.sync == "always" else "synced", path, claims)
    return f"a copy of the file, sync {system.sync}: {numbers['acked']} rows acknowledged, {numbers['unsynced']} of them not synced"


@kind("rot", syncs=["always", "interval"])
def rot(system, rng, _seed):
    """Bits of a file that was off flip: what is dropped is dropped, no wrong row is there."""
    pause(rng, 0, 0.5)
    path, claims = image(system)
    bits = rng.choice([1, 8, 64])
    with open(path, "r+b") as file:
        whole = file.read()
        used = [at for at in range(0, len(whole), PAGE) if whole[at:at + PAGE].strip(b"\0")]
        for _ in range(bits):
            at = rng.choice(used) + rng.randrange(PAGE)
            file.seek(at)
            file.write(bytes([whole[at] ^ 1 << rng.randrange(8)]))
    try:
        numbers = system.audit("damaged", path, claims)
    except Broken as broken:
        if "missing=" in str(broken):
            raise
        return f"{bits} bits of a copy flipped: refused: {str(broken)[:120]}"
    return f"{bits} bits of a copy flipped: {numbers['torn']} blocks torn, {numbers['rows']} rows right"
