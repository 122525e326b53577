"""What runs in the machines whose power is cut, and what has to be there afterwards."""

import re
import shutil
import subprocess
import time

import powercut_machine
from chaos_system import ROOT, Acks, Broken, System
from daemons import PATIENCE, wait_for
from powercut_disk import WAYS

SYNC_S = 0.2
DISK_MIB = 48
PEEKS = 8  # cuts that are looked at, for one at which the machine is started again
NEW_PEEKS = 20  # of a table that is being made
BOOTS = 3  # of a life
PAUSE_S = 0.6
WRITES = 24  # before a cut
STEP = 3  # of one that takes a few writes at a time from the beginning
STILL_S = 0.05
FILE = "replay.oct"
# Options of a job are words of the kernel's command line: octet.NAME=VALUE.
JOB = r"""option() { tr ' ' '\n' </proc/cmdline | sed -n "s/^octet\.$1=//p"; }
[ "$(option nosync)" = 1 ] && export LD_PRELOAD=/octet/libpowercut_nosync.so
# The kernel writes what is in its page cache soon: some of what nobody has synced.
[ "$(option eager)" = 1 ] && for name in writeback expire; do echo 5 >/proc/sys/vm/dirty_${name}_centisecs; done
"""
REPLAY_JOB = JOB + f"""/octet/octet-replay --listen "tcp://0.0.0.0:$(option port)" --insecure --path /disk/{FILE} \
--sync "$(option sync)" --sync-interval {SYNC_S} --log-level notice
"""


class Life:
    """One disk. cuts: what was found at each that passed, {number: value}."""

    settings = ()
    is_full = False  # places of its table are used again
    writes = WRITES

    def __init__(self, kind, seed, build, folder, rng, without_sync):
        self.kind, self.seed, self.build, self.folder, self.rng = kind, seed, build, folder, rng
        self.words = f"octet.nosync={int(without_sync)} octet.eager={seed % 2}"
        self.cuts, self.wrong, self.machine = [], "", None
        self.is_still = False

    def system_of_files(self):
        """ext3 has no extents: a file is allocated by writing it, so that later each page of it may be there or not."""
        return ("ext4", "ext3")[self.seed // 2 % 2]

    def library(self):
        return self.build / "tests/powercut/libpowercut_nosync.so"

    def cut(self, at_once=False):
        """The image that a cut now leaves, and what the disk says of it; at_once: the machine has no power any more."""
        way, number = self.rng.choice(list(WAYS)), len(self.cuts)
        if not self.is_still:
            self.stop()
        self.is_still = False
        image = self.folder / "cut.img"
        report = (self.machine.cut if at_once else self.machine.peek)(self.seed * 1000 + number, way, image)
        if self.writes <= STEP and not at_once:
            self.machine.stop_after(self.rng.randrange(self.writes))  # soon, while this one is looked at
        return image, report

    def stop(self):
        """Nothing becomes durable any more until the next cut. What is acknowledged meanwhile is too early, and has time to come."""
        if not self.machine.is_stopping:
            self.machine.stop_after(self.rng.randrange(self.writes))
        self.machine.wait_stopped()
        self.is_still = True
        time.sleep(STILL_S)

    def rows(self):
        """Lines of a table, one for each cut."""
        for number, cut in enumerate(self.cuts):
            yield f"| {self.kind} | {self.seed} | {number} | " + ", ".join(f"{k} {v}" for k, v in cut.items()) + " |\n"
        if self.wrong:
            yield f"| {self.kind} | {self.seed} | {len(self.cuts)} | FAILED: {' '.join(self.wrong.split())[:300]} |\n"

    def total(self, name):
        return sum(cut.get(name, 0) for cut in self.cuts)

    def most(self, name):
        return max((cut.get(name, 0) for cut in self.cuts), default=0)


# ---- octet-replay alone; learner and actors have power all the time

class Powered(System):
    """The run of tests/chaos, whose octet-replay is in the machine."""

    def __init__(self, life, sync, settings):
        super().__init__(life.build, life.folder, settings=settings, sync=sync)
        self.life = life

    def start(self, *names):
        for name in names:
            if name != "replay":
                super().start(name)
                continue
            machine = self.life.machine
            self.processes[name] = machine.boot(f"octet.sync={self.sync} octet.port={self.base + 3} {self.life.words}")
            self.lives[name] += 1
            self.acks[name].append(Acks(self.folder / "none"))

    def tend(self):
        if "replay" in self.processes and not self.runs("replay"):
            raise Broken("the machine has ended:\n" + "\n".join(self.life.machine.said()[-20:]))
        super().tend()


class ReplayLife(Life):
    sync = "always"

    def play(self, cuts):
        programs = powercut_machine.Programs(self.folder, [self.build / "replay/octet-replay"], [self.library()], REPLAY_JOB)
        with Powered(self, self.sync, self.settings) as system:
            self.system = system
            ports = range(system.base + 3, system.base + 6)
            with powercut_machine.Machine(programs, self.folder, DISK_MIB, self.system_of_files(), ports=ports) as self.machine:
                system.start("replay")
                self.machine.wait_said("REPLAY-READY")
                system.start("learner", *system.ACTORS)
                self.boots(cuts)

    def boots(self, cuts):
        last = None  # what was found at the cut before this boot
        for boot in range(BOOTS):
            for at in range(PEEKS if self.writes > STEP else NEW_PEEKS):
                if len(self.cuts) >= cuts - 1:
                    break
                if at == PEEKS // 2 and self.writes > STEP:  # the first ones are of a machine that has hardly begun
                    self.goes_on(last)
                self.system.tend()
                if self.writes > STEP:
                    time.sleep(self.rng.uniform(0, PAUSE_S))
                self.look(at_once=False)
            self.goes_on(last)
            last = self.look(at_once=True)
            self.system.start("replay")
            self.machine.wait_said("POWERCUT mounted")
            if not self.may_go_on() or len(self.cuts) >= cuts:
                break
        self.goes_on(last)

    def goes_on(self, last):
        self.machine.release()
        if last:
            self.found(last)
        self.system.goes_on(100, 1)

    def may_go_on(self):
        """Whether a later cut can be judged as the first ones were."""
        return True

    def found(self, cut):
        """octet-replay has found what was found in the image."""
        if cut["taken"] < 0:
            return
        line = self.machine.wait_said("REPLAY-FOUND")
        said = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)(?= |$)", line)}
        for theirs, ours in (("rows", "rows"), ("generation", "generation"), ("blocks_torn", "torn")):
            if said[theirs] != cut[ours]:
                raise Broken(f"octet-replay found {theirs}={said[theirs]}, the audit {cut[ours]}: {line}")

    def look(self, at_once):
        self.stop()
        claims = self.system.claims()
        image, report = self.cut(at_once)
        path = powercut_machine.files_of(image, [FILE], self.folder / "files") / FILE
        try:
            report.update(self.judge(path, claims))
        except Broken as broken:
            raise Broken(f"cut {len(self.cuts)}{' of the machine' if at_once else ''}, {report}: {broken}") from broken
        path.unlink(missing_ok=True)
        self.cuts.append(report)
        return report

    def audit(self, mode, path, claims):
        """Of a copy, as often as one likes: the audit recovers its file."""
        copy = self.folder / "audited.oct"
        shutil.copyfile(path, copy)
        return self.system.audit(mode, copy, claims)

    def judge(self, path, claims):
        first = path.read_bytes()[:4096].strip(b"\0") if path.exists() else b""
        if first in (b"", b"OCTETNEW"):  # the file was not there, or it was being made
            if self.all_must_be_there() and claims:
                raise Broken("rows were acknowledged, and there is no table")
            return {"taken": -1, "rows": 0, "generation": 0, "torn": 0}
        numbers = self.audit("cut" if self.all_must_be_there() else "synced", path, claims)
        if not self.is_full and numbers["torn"] > 0:
            raise Broken(f"{numbers['torn']} blocks are torn whose places were not used again")
        return numbers

    def all_must_be_there(self):
        return True

    def summary(self):
        return (f"{self.most('acked')} rows acknowledged, {self.total('missing')} missing, at most {self.most('unsynced')} not synced, "
                f"{self.total('torn')} blocks torn, {self.most('pending') // 1024} KiB at most not flushed")


class Interval(ReplayLife):
    """Of a generation that is found two after the one of an earlier cut, all is there that was acknowledged at that cut: it began later."""

    sync = "interval"

    def __init__(self, *args):
        super().__init__(*args)
        self.before = []  # (generation, claims) of earlier cuts

    def all_must_be_there(self):
        return False

    def may_go_on(self):
        return False  # streams have holes where rows were lost

    def judge(self, path, claims):
        numbers = super().judge(path, claims)
        generation = numbers["generation"]
        if any(generation < was - 1 for was, _ in self.before):
            raise Broken(f"generation {generation} after {self.before[-1][0]}")
        held = [earlier for was, earlier in self.before if generation >= was + 2]
        if held and held[-1]:
            numbers["held"] = self.audit("cut", path, held[-1])["acked"]
        self.before.append((max(generation, 1), claims))  # it is made as generation 1
        return numbers

    def boots(self, cuts):
        super().boots(cuts)
        if self.writes > STEP and len(self.cuts) > PEEKS and not any(cut.get("held") for cut in self.cuts):
            raise Broken(f"in {len(self.cuts)} cuts no generation followed another one: {[g for g, _ in self.before]}")


class AlwaysFull(ReplayLife):
    settings = ("replay.capacity=4096",)
    is_full = True


class IntervalFull(Interval):
    settings = ("replay.capacity=4096",)
    is_full = True


class AlwaysNew(ReplayLife):
    """A table that is being made."""

    settings = ("replay.capacity=16384",)
    writes = STEP

    def may_go_on(self):
        return False


class IntervalNew(Interval):
    settings = AlwaysNew.settings
    writes = STEP


# ---- all of octet train

SETTINGS = ["run.stop_at_return=none", "learner.checkpoint_turns=8", "run.hash_updates=100", "evaluation.period_turns=6",
            "evaluation.episodes=10", "evaluation.screen_episodes=5", "run.env_steps=40000"]
TRAIN_JOB = JOB + """export OCTET_LIBEXEC=/octet HOME=/tmp
if [ -e /disk/run/config.yaml ]; then
    /octet/octet train --resume --run-dir /disk/run --no-ui
else
    /octet/octet train /octet/cartpole.yaml --deterministic --actors 2 --run-dir /disk/run --no-ui SETTINGS
fi
echo "POWERCUT ended with $?"
"""
TRAIN_DISK_MIB = 128
TRAIN_PAUSES_S = 1, 10
TRAIN_S = 600


class Train(Life):
    """A run in lock-step, with all of its daemons in the machine: resumed from what a cut left, it comes to the same hashes."""

    peeks = 9

    def octet(self, folder, *arguments):
        """Runs octet train here, without a machine."""
        done = subprocess.run([self.build / "cli/octet", "train", *arguments, "--run-dir", folder, "--no-ui"], capture_output=True, text=True,
                              check=False, timeout=TRAIN_S * PATIENCE)
        if done.returncode != 0:
            raise Broken(f"octet train {' '.join(str(a) for a in arguments)} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


    def play(self, cuts):
        settings = [word for setting in SETTINGS for word in ("--set", setting)]
        preset = ROOT / "presets/cartpole.yaml"
        whole = self.folder / "whole"
        self.octet(whole, preset, "--deterministic", "--actors", "2", *settings)
        self.whole = (whole / "hashes.csv").read_text(encoding="utf-8")
        daemons = [self.build / name for name in ("cli/octet", "replay/octet-replay", "learner/octet-learner", "actor/octet-actor")]
        programs = powercut_machine.Programs(self.folder, daemons, [self.library(), preset], TRAIN_JOB.replace("SETTINGS", " ".join(settings)))
        with powercut_machine.Machine(programs, self.folder, TRAIN_DISK_MIB, self.system_of_files(), memory_mib=1024) as self.machine:
            self.machine.boot(self.words)
            self.machine.wait_said("POWERCUT mounted")
            count = min(cuts, self.peeks + 1)
            while len(self.cuts) < count and not self.ended():
                if self.writes > STEP:
                    time.sleep(self.rng.uniform(0, self.rng.choice(TRAIN_PAUSES_S)))
                self.look(at_once=len(self.cuts) == count - 1)
            self.machine.release()
            if self.machine.process.poll() is not None:
                self.machine.boot(self.words)
            line = self.machine.wait_said("POWERCUT ended", TRAIN_S)
            if line.split()[-1] != "0":
                raise Broken("\n".join(self.machine.said()[-20:]))
            image, _ = self.cut()
            self.compare(self.run_of(image), "the machine's run, cut off and resumed")

    def ended(self):
        return any("POWERCUT ended" in line for line in self.machine.said())

    def run_of(self, image):
        """The run's folder."""
        shutil.rmtree(self.folder / "files", ignore_errors=True)
        return powercut_machine.files_of(image, ["run"], self.folder / "files") / "run"

    def look(self, at_once):
        image, report = self.cut(at_once)
        run = self.run_of(image)
        report["begun"] = int((run / "config.yaml").exists())
        if report["begun"]:
            report["checkpoints"] = len(list(run.glob("checkpoint*.oct")))
            try:
                self.octet(run, "--resume")
                self.compare(run, "a run")
            except Broken as broken:
                raise Broken(f"cut {len(self.cuts)}, {report}: {broken}") from broken
        self.cuts.append(report)

    def compare(self, run, what):
        hashes = (run / "hashes.csv").read_text(encoding="utf-8")
        if hashes != self.whole:
            rows, whole = hashes.splitlines(), self.whole.splitlines()
            at = next((i for i, (a, b) in enumerate(zip(rows, whole)) if a != b), min(len(rows), len(whole)))
            raise Broken(f"{what} has other hashes from row {at} on ({len(rows)} rows, wanted {len(whole)}): {rows[at:at + 1]}, wanted {whole[at:at + 1]}")

    def summary(self):
        return (f"{self.total('begun')} resumed, {sum(cut.get('checkpoints', 0) > 0 for cut in self.cuts)} of them from a checkpoint, "
                f"{self.most('pending') // 1024} KiB at most not flushed")


class TrainNew(Train):
    """A run that is being made."""

    writes = STEP
    peeks = 20


KINDS = {"always": ReplayLife, "always-new": AlwaysNew, "interval-new": IntervalNew, "train-new": TrainNew, "always-full": AlwaysFull, "interval": Interval, "interval-full": IntervalFull, "train": Train}
SLOW = ("train", "train-new")  # without KVM
