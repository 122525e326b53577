#!/usr/bin/env python3
"""The built `octet` command as a user meets it: wrong input, the run folder, the supervisor with
fake daemons (fake_daemon.c), the terminal.
Usage: test_octet.py OCTET FAKE_DAEMON FAULTY_DISK STUCK_CLOSE

Nothing here waits for a fixed time: wait_for polls a condition and fails at a deadline that only a
hang reaches. The one number that is a promise is checked as such: five seconds to stop."""

import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import uuid
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402
from daemons import in_time, kill_if_there, wait_for  # noqa: E402

OCTET = ""
FAKE = ""
FAULTY_DISK = ""
STUCK_CLOSE = ""
PLUGINS = pathlib.Path()  # of tests/envs
DEADLINE_S = 60
STOP_S = 5
RESUMES = ("octet train: note: resuming from run/checkpoint.oct, of 0 updates and 0 environment "
            "steps\n")
EXPERIMENT = "env:\n  id: CartPole-v1\nrun:\n  env_steps: 1000\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="octet-test-")
        self.home = pathlib.Path(self.folder.name)
        (self.home / "lib").mkdir()
        for name in ["octet-replay", "octet-learner", "octet-actor"]:
            os.symlink(FAKE, self.home / "lib" / name)
        (self.home / "x.yaml").write_text(EXPERIMENT)
        self.mark = f"OCTET_TEST_MARK={uuid.uuid4()}"

    def tearDown(self):
        self.addCleanup(self.folder.cleanup)
        for pid in self.alive():
            kill_if_there(pid)
        wait_for("nothing writes into the folder any more", lambda: not self.alive())

    def environment(self, **more):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("FAKE_", "OCTET_", "LC_"))}
        name, value = self.mark.split("=")
        return {**keep, name: value, "OCTET_LIBEXEC": str(self.home / "lib"), "LANG": "C.UTF-8",
                **more}

    def start(self, *arguments, **more):
        return subprocess.Popen([OCTET, *arguments], cwd=self.home, env=self.environment(**more),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL)

    def start_with_hangup(self, action, *arguments, **more):
        """The same, with SIGHUP as nohup (SIG_IGN) or as a shell (SIG_DFL) hands it on."""
        before = signal.signal(signal.SIGHUP, action)
        try:
            return self.start(*arguments, **more)
        finally:
            signal.signal(signal.SIGHUP, before)

    def octet(self, *arguments, code=0, **more):
        child = self.start(*arguments, **more)
        out, err = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, code, out + err)
        return out, err

    def alive(self, but=0):
        """Processes that descend from this test, told by their environment."""
        found = []
        # No pattern below the process: glob raises where one ends while it looks inside.
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (process / "environ").read_bytes():
                    state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
                    if state != "Z" and int(process.name) != but:
                        found.append(int(process.name))
            except (OSError, IndexError):
                pass
        return found

    def log(self, run, name):
        path = self.home / run / "log" / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def wait_up(self, run="run"):
        """All daemons have begun, and the learner serves."""
        for name in ["replay", "actor-0", "evaluator"]:
            wait_for(f"{name} is up", lambda n=name: self.log(run, n))
        wait_for("learner listens", lambda: (self.home / run / "learner.ipc").exists())

    def summary(self, run="run"):
        return json.loads((self.home / run / "summary.json").read_text())


class WrongInput(Case):
    def refused(self, arguments, *wanted, code=2):
        out, err = self.octet(*arguments, code=code)
        for text in wanted:
            self.assertIn(text, err)
        self.assertEqual(out, "")

    def test_no_command(self):
        self.refused([], "Usage: octet COMMAND")

    def test_unknown_command_names_the_nearest(self):
        self.refused(["trian"], "unknown command 'trian'; did you mean 'train'?", "octet --help")

    def test_far_command_lists_all(self):
        self.refused(["frobnicate"], "unknown command 'frobnicate'", "allowed: train")

    def test_unknown_option_names_the_nearest_and_what_is_allowed(self):
        self.refused(["train", "x.yaml", "--acotrs", "2"],
                     "unknown option '--acotrs'; did you mean '--actors'?", "allowed: --run-dir")

    def test_setting_without_its_option(self):
        self.refused(["train", "x.yaml", "run.seed=1"],
                     "unexpected argument 'run.seed=1'; a setting is given as --set run.seed=1")

    def test_option_without_its_value(self):
        self.refused(["train", "x.yaml", "--seed"], "option '--seed' needs a value")

    def test_switch_with_a_value(self):
        self.refused(["train", "x.yaml", "--no-ui=1"], "'--no-ui' takes no value")

    def test_short_option(self):
        self.refused(["train", "-n", "2"], "unknown option '-n'")

    def test_numbers_out_of_range(self):
        for option, value in [("--actors", "0"), ("--actors", "257"), ("--actors", "two"),
                              ("--actors", ""), ("--seed", "-1"), ("--seed", "1e3"),
                              ("--seed", "99999999999999999999")]:
            self.refused(["train", "x.yaml", option, value],
                         f"{option} is '{value}'; allowed is a whole number from")

    def test_sweep_of_keys_and_values_that_are_not(self):
        for over, words in [("algo.lerning_rate=1..2", "did you mean algo.learning_rate?"),
                            ("algo.learning_rate=1e-4,x", "x is not a number, allowed"),
                            ("algo.learning_rate=1e-2..1e-4", "1e-2 is not below 1e-4"),
                            ("run.seed=1,2", "--seeds N"), ("run.name=a,b", "does not change what a run learns"),
                            ("net.learner=ipc://a.ipc,ipc://b.ipc", "does not change what a run learns"), ("algo.learning_rate", "values are missing")]:
            self.refused(["sweep", "x.yaml", "--over", over], f"--over {over}: ", words)
        rate = ["--over", "algo.learning_rate=1e-4..1e-2"]
        self.refused(["sweep", "x.yaml"], "give --over KEY=VALUES")
        self.refused(["sweep", "nowhere", *rate], "octet sweep: error: no file or preset 'nowhere'")
        self.refused(["sweep", "x.yaml", *rate, "--grid"], "--grid needs lists")
        self.refused(["sweep", "x.yaml", *rate, "--random", "3", "--optuna", "3"], "cannot be used together")
        self.refused(["sweep", "x.yaml", *rate, "--seeds", "0"], "--seeds is '0'")
        self.refused(["sweep", "x.yaml", *rate, "--set", "algo.learning_rate=0.1"],
                     "--set algo.learning_rate=0.1 and --over algo.learning_rate=… cannot be used together")
        self.refused(["sweep", "x.yaml", "--over", "algo.name=sac,dqn"], "trial 1 (algo.name=sac): ",
                     "sac needs actions in a box")
        self.refused(["sweep", "x.yaml", "--over", "replay.min_size=10,2000000"], "trial 2 (replay.min_size=2000000): ",
                     "replay.min_size")
        # Whatever octet train finds beforehand, of any trial.
        for over, number, words in [("algo.name=dqn,sac", 2, "sac needs actions in a box"),
                                    ("env.id=CartPole-v1,CartPoll-v1", 2, "did you mean CartPole-v1?"),
                                    ("network.hidden=[8],[65536,65536]", 2, "network.hidden: a policy of "),
                                    ("learner.init_from=none,nothere.oct", 2, "nothere.oct")]:
            self.refused(["sweep", "x.yaml", "--over", over, "--dry-run"], f"trial {number} ({over.split('=')[0]}=", words)
        self.refused(["sweep", "x.yaml", "--set", "run.updates=9", "--over", "algo.n_step=1,2", "--over", "replay.data=none,nothere.data",
                      "--dry-run"], "replay.data=nothere.data): replay.data: nothere.data cannot be opened: No such file or directory")
        self.refused(["sweep", "--resume"], "--resume needs --sweep-dir")
        self.refused(["sweep", *rate, "--resume", "--sweep-dir", "s"], "--over is part of the sweep")
        self.refused(["sweep", "--resume", "--sweep-dir", "s"], "cannot read 's/sweep.json'", code=1)
        self.assertFalse((self.home / "runs").exists())

    def test_a_dry_sweep_prints_its_trials_and_starts_nothing(self):
        out, _ = self.octet("sweep", "x.yaml", "--over", "algo.learning_rate=1e-4..1e-2", "--over", "algo.n_step=1,2",
                            "--random", "3", "--seeds", "2", "--dry-run")
        self.assertIn("3 trials (drawn by a generator with seed 0), 2 seeds each, starting at 1: 6 runs", out)
        self.assertIn("algo.learning_rate  0.0001 .. 0.01, log-uniform", out)
        self.assertEqual(len(re.findall(r"^trial \d: algo.learning_rate=0\.\d+ algo.n_step=[12]$", out, re.M)), 3, out)
        again, _ = self.octet("sweep", "x.yaml", "--over", "algo.learning_rate=1e-4..1e-2", "--over", "algo.n_step=1,2",
                              "--random", "4", "--seeds", "2", "--dry-run")
        self.assertEqual([line for line in again.splitlines() if line.startswith("trial")][:3],
                         [line for line in out.splitlines() if line.startswith("trial")])
        self.assertFalse((self.home / "runs").exists())

    def test_a_dry_sweep_is_refused_where_the_sweep_would_be(self):
        (self.home / "s").mkdir()
        over = ["--over", "algo.learning_rate=1e-4 .. 1e-2", "--dry-run", "--sweep-dir", "s"]
        self.octet("sweep", "x.yaml", *over)  # it is empty
        (self.home / "s" / "notes").write_text("mine")
        self.refused(["sweep", "x.yaml", *over], "cannot make folder 's': File exists", code=1)

    def test_a_sweep_has_no_trial_twice(self):
        out, err = self.octet("sweep", "x.yaml", "--over", "algo.n_step=1,2", "--over", "algo.double_q=true,false",
                              "--random", "9", "--dry-run")
        self.assertIn("note: only 4 different trials were found", err)
        self.assertIn("4 trials (drawn by a generator with seed 0), 1 seed each, starting at 1: 4 runs", out)
        self.assertEqual(len(set(re.findall(r"^trial \d: (.*)$", out, re.M))), 4, out)
        out, err = self.octet("sweep", "x.yaml", "--over", "algo.n_step=1,2", "--random", "1", "--dry-run")
        self.assertEqual(err, "")
        self.assertIn("1 trial (drawn by a generator with seed 0), 1 seed each, starting at 1: 1 run\n", out)

    def test_a_sweep_tells_of_keys_without_effect(self):
        over = ["--over", "algo.clip=0.1,0.2", "--dry-run"]
        words = "--over algo.clip: it has no effect with algo.name: dqn; it is an option of ppo"
        self.assertIn(words, self.octet("sweep", "x.yaml", *over)[1])
        _, err = self.octet("sweep", "x.yaml", "--over", "algo.name=dqn,ppo", *over)
        self.assertEqual(err.count("has no effect"), 1, err)
        over = ["--over", "algo.noisy_sigma=0.1,0.4", "--dry-run"]
        words = "octet sweep: warning: --over algo.noisy_sigma: it has no effect without algo.noisy: true\n"
        for others in ([], ["--over", "algo.noisy=true,false"], ["--optuna", "2"]):
            self.assertEqual(self.octet("sweep", "x.yaml", *others, *over)[1].count(words), 1, others)
        self.assertEqual(self.octet("sweep", "x.yaml", "--set", "algo.noisy=true", *over)[1], "")

    def test_files_that_a_sweep_varies_are_known_from_everywhere(self):
        (self.home / "mine.so").write_text("")
        mine = (self.home / "mine.so").resolve()
        self.refused(["sweep", "x.yaml", "--over", "env.id=CartPole-v1,./mine.so", "--dry-run"],
                     f"trial 2 (env.id={mine}): env.id: {mine}: cannot be loaded")
        self.refused(["sweep", "x.yaml", "--over", "learner.init_from=none,./mine.so", "--dry-run"],
                     f"trial 2 (learner.init_from={mine}): learner.init_from: {mine}: ")

    def test_models_among_options_are_known_from_everywhere(self):
        """Where they are there: env.options of an experiment, and those that a sweep varies."""
        (self.home / "models").mkdir()
        models, task = (self.home / "models").resolve(), ["--set", "env.id=dmc:pendulum_swingup"]
        given = "max_episode_steps=9,mjcf_dir=./models"
        self.refused(["train", "x.yaml", *task, "--set", f"env.options={given}"], f"{models}/pendulum.xml: No such file")
        self.refused(["train", "x.yaml", *task, "--set", "env.options=mjcf_dir=nothere"], " nothere/pendulum.xml: No such file")
        resolved = given.replace("./models", str(models))
        self.refused(["sweep", "x.yaml", *task, "--over", f'env.options="{given}","mjcf_dir=auto"', "--dry-run"],
                     f'trial 1 (env.options="{resolved}"): env.id: {models}/pendulum.xml: No such file')

    def test_values_that_a_sweep_varies_are_no_files_of_the_same_name(self):
        for name in ["CartPole-v1", "Acrobot-v1", "none", "auto"]:
            (self.home / name).mkdir()
        for over in ["env.id=CartPole-v1,Acrobot-v1", "learner.init_from=none", "replay.data=none", "env.mjcf_dir=auto,x.yaml"]:
            key, value = re.match("(.*)=([^,]*)", over).groups()
            out, _ = self.octet("sweep", "x.yaml", "--over", over, "--set", "run.updates=9", "--dry-run")
            self.assertIn(f"trial 1: {key}={value}\n", out)

    def test_track_of_what_is_no_run_to_what_is_no_tracker(self):
        self.refused(["track", "lib"], "--to is missing; allowed is mlflow, trackio or wandb")
        self.refused(["track", "lib", "--to", "mlfow"], "did you mean 'mlflow'?")
        self.refused(["track", "--to", "mlflow"], "no run folder given")
        self.refused(["track", "lib", "--to", "mlflow"], "'lib' is not a run folder", code=1)
        self.refused(["track", "lib", "--to", "mlflow", "--every", "-1"], "--every is '-1'")

    def test_compare_of_what_is_no_run(self):
        self.refused(["compare"], "no run folder given")
        self.refused(["compare", "nowhere"], "cannot enter 'nowhere'", code=1)
        self.refused(["compare", "lib"], "is not a run folder and contains no run", code=1)
        self.refused(["compare", "lib", "--by", "hour"], "allowed is steps, updates or time")
        self.refused(["compare", "lib", "--threshold", "x"], "--threshold is 'x'")

    def test_unknown_precision(self):
        self.refused(["train", "x.yaml", "--precision", "int5"], "allowed is fp32, int8, bf16, fp16 or int4; did you mean 'int8'?")

    def test_no_file(self):
        self.refused(["train"], "no experiment FILE or preset given")

    def test_missing_file(self):
        self.refused(["train", "nowhere.yaml"], "nowhere.yaml", "No such file")

    def test_two_files(self):
        self.refused(["train", "x.yaml", "y.yaml"], "two files, 'x.yaml' and 'y.yaml'")

    def test_bad_key_in_the_file_says_where(self):
        (self.home / "bad.yaml").write_text("env:\n  id: CartPole-v1\nalgo:\n  n_stp: 3\n")
        self.refused(["train", "bad.yaml"], "bad.yaml:4", "n_stp", "n_step")

    def test_bad_set(self):
        self.refused(["train", "x.yaml", "--set", "algo.n_step=1001"], "algo.n_step", "allowed")

    def test_resume_needs_a_folder(self):
        self.refused(["train", "x.yaml", "--resume"], "--resume needs --run-dir")

    def test_missing_plugin(self):
        self.refused(["train", "x.yaml", "--set", "env.id=./lib.so"], "./lib.so", "No such file")

    def test_a_python_without_gymnasium_is_named_with_the_way_out(self):
        bare = self.home / "bare"
        bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')  # no site-packages
        bare.chmod(0o755)
        _, err = self.octet("train", "x.yaml", "--set", "env.id=gym:CartPole-v1", code=2, OCTET_PYTHON=str(bare))
        self.assertEqual(err, f"--set env.id=gym:CartPole-v1: error: env.id: gym:CartPole-v1: {sys.executable}: No module "
                              f"named 'gymnasium'; {sys.executable} -m pip install gymnasium installs it, OCTET_PYTHON names another Python\n")

    def test_missing_models(self):
        self.refused(["train", "x.yaml", "--set", "env.mjcf_dir=models"],
                     "--set env.mjcf_dir=models: error: env.mjcf_dir is 'models': No such file")

    def test_a_contradiction_has_the_line_of_a_key_that_was_given(self):
        (self.home / "x.yaml").write_text(EXPERIMENT + "replay:\n  capacity: 999\n")
        self.refused(["train", "x.yaml", "--set", "learner.batch_size=4096"],
                     "x.yaml:6: error: replay.min_size: 1000 is more than replay.capacity 999",
                     "--set learner.batch_size=4096: error: learner.batch_size: 4096 is more than")
        (self.home / "x.yaml").write_text(EXPERIMENT + "algo:\n  name: ppo\n  sequence_steps: 2\n"
                                          "learner:\n  batch_size: 1\n")
        self.refused(["train", "x.yaml"],
                     "x.yaml:9: error: algo.minibatches: 4, but a batch has 2 steps (learner.batch_size: 1 of "
                     "algo.sequence_steps: 2); each needs at least one step")

    def test_what_no_daemon_could_use_makes_no_folder(self):
        """The fake daemons take anything: what is refused here, octet itself has found."""
        (self.home / "bad.so").write_text("no library")
        (self.home / "runs").mkdir()
        before = (self.home / "runs").stat()
        crash = PLUGINS / "bad_create_crash.so"
        for lines, wanted in [
                (["env:", "  id: CartPoll-v1"], '2: error: env.id: no environment "CartPoll-v1"; did you mean'),
                (["env:", "  id: Pendulum-v1", "algo:", "  name: dqn"],
                 "4: error: algo.name: dqn needs discrete actions"),
                (["env:", "  id: CartPole-v1", "network:", "  conv: [8]"],
                 "4: error: network.conv: convolutions need"),
                (["env:", "  id: CartPole-v1", "actor:", "  envs: 64", "replay:", "  capacity: 1500"],
                 "6: error: replay.capacity: 64 streams and windows of 5 steps need 2048 rows"),
                (["env:", "  id: CartPole-v1", "  options: gravity=3"],
                 '3: error: env.options: CartPole-v1 has no option "gravity"'),
                (["env:", "  id: ./bad.so"], f"2: error: env.id: {self.home.resolve()}/bad.so: cannot be loaded"),
                (["env:", f"  id: {crash}"],
                 f"2: error: env.id: opening {crash}: it crashed: signal 6 (Aborted); for details run 'octet env check {crash}'")]:
            (self.home / "bad.yaml").write_text("\n".join(lines) + "\n")
            for folder in ([], ["--run-dir", "runs/mine"]):
                out, err = self.octet("train", "bad.yaml", *folder, code=2)
                self.assertEqual((out, err.count("\n")), ("", 1), err)
                self.assertTrue(err.startswith(f"bad.yaml:{wanted}"), err)
            self.refused(["sweep", "bad.yaml", "--over", "algo.discount=0.9", "--dry-run"], "octet sweep: error: trial 1 (algo.discount=0.9): ")
        # Nothing was made there, and nothing taken back.
        self.assertEqual((self.home / "runs").stat().st_mtime_ns, before.st_mtime_ns)

    def test_a_section_is_not_a_key(self):
        self.refused(["train", "x.yaml", "--set", "algo=dqn"],
                     "--set algo=dqn: error: algo is a section; did you mean algo.name=dqn?")

    def test_set_refuses_what_is_not_live(self):
        self.refused(["set", ".", "replay.capacity=3"], "cannot be changed in a live run",
                     "replay.samples_per_insert=VALUE")

    def test_compare_notes_what_is_no_other_seed(self):
        for name, run_id in [("a", 1), ("a-backup", 1), ("b", 2), ("c", 3), ("d", 4)]:
            (self.home / name).mkdir()
            (self.home / name / "config.yaml").write_text(f"env: {{id: CartPole-v1}}\nrun: {{seed: {1 if name != 'd' else 2}}}\n")
            (self.home / name / "summary.json").write_text(json.dumps({"run_id": f"{run_id:016x}"}))
        out, err = self.octet("compare", "a", "a-backup", "b", "d")
        self.assertEqual(err, "octet compare: note: a-backup is a copy of a and is not counted\noctet "
                              "compare: note: a and b have the same configuration and the same seed, 1\n")
        self.assertRegex(out, r"\nA  a +0 of 3 ")
        _, err = self.octet("compare", ".")
        self.assertIn("note: ./a, ./b and 1 more have the same configuration and the same seed, 1\n", err)

    def test_set_refuses_what_is_no_change(self):
        ratio = "replay.samples_per_insert"
        self.refused(["set"], "octet set: error: no RUN_DIR given, and no --learner")
        self.refused(["set", "replay.tolerance=1"], "octet set: error: no RUN_DIR given, and no --learner")
        self.refused(["set", "."], "octet set: error: no setting given\n", f"  allowed: {ratio}=VALUE replay.tolerance=VALUE")
        self.refused(["set", ".", f"{ratio}=1", f"{ratio}=2"],
                     f"octet set: error: two values of {ratio}, '{ratio}=1' and '{ratio}=2'; give one")
        shutil.copy(self.home / "x.yaml", self.home / "config.yaml")
        _, err = self.octet("set", ".", f"{ratio}=abc", code=2)
        self.assertTrue(err.startswith(f"{ratio}=abc: error: {ratio}: "), err)

    def test_pack_says_that_the_replay_is_elsewhere(self):
        (self.home / "run").mkdir()
        (self.home / "run/kept.oct").write_text("rows")
        none = "left out: the experience of its replay: there is no replay.oct in run; keep the file that octet-replay --path names"
        for path, words in (("/data/table.oct", "left out: the experience of its replay, in /data/table.oct (replay.path)"),
                            (f"{self.home}/run/table.oct", ""), ("kept.oct", ""), ("replay.oct", none), ("none", "")):
            (self.home / "run/config.yaml").write_text(f"env: {{id: CartPole-v1}}\nreplay: {{path: {path}}}\n")
            out, _ = self.octet("run", "pack", "run", "--out", f"{len(path)}.tar.zst")
            self.assertEqual(len(out.splitlines()), 2 if words else 1, out)
            self.assertIn(words, out)

    def test_a_pipe_in_a_folder_is_waited_for_by_nobody(self):
        run = self.home / "run"
        (run / "log").mkdir(parents=True)
        (run / "config.yaml").write_text(EXPERIMENT)
        for name in ("summary.json", "metrics.csv", ".lock", "learner.lock", "checkpoint.oct", "log/learner.log"):
            os.mkfifo(run / name)
        self.assertIn("the run has ended", self.octet("status", "run")[0])
        self.octet("status", "run", "--json")
        self.refused(["top", "run", "--once"], "octet top: error: the run in 'run' has ended", code=1)
        self.octet("report", "run", "--html", "x.html")
        self.octet("run", "pack", "run", "--out", "x.tar.zst")
        (run / "config.yaml").unlink()
        os.mkfifo(run / "config.yaml")
        for command in (["status", "run"], ["set", "run", "replay.tolerance=1"], ["top", "run", "--once"]):
            self.refused(command, "config.yaml: error: cannot be read: it is a pipe, not a regular file", code=1)
        self.octet("run", "pack", "run", "--out", "y.tar.zst")

    def test_a_terabyte_of_holes_is_read_by_nobody(self):
        run = self.home / "run"
        (run / "log").mkdir(parents=True)
        (run / "config.yaml").write_text(EXPERIMENT)
        names = ("summary.json", "metrics.csv", "hashes.csv", "environment.oct", "policy.oct", "checkpoint.oct", "log/learner.log",
                 "log/supervisor.log")
        for name in names:
            with open(run / name, "wb") as file:
                file.truncate(1 << 40)
        self.assertIn("the run has ended", self.octet("status", "run")[0])
        for name, bytes_max in (("summary.json", 65536), ("metrics.csv", 4294967296)):
            too_large = f"run/{name}: it has 1099511627776 bytes, and at most {bytes_max} are read"
            self.refused(["compare", "run"], too_large, code=1)
            self.octet("report", "run", "--html", "x.html")
            self.assertIn(too_large.removeprefix("run/"), (self.home / "x.html").read_text())
            (run / "summary.json").write_text("{}")
        os.truncate(run / "summary.json", 1 << 40)
        self.octet("train", "--resume", "--run-dir", "run", code=1)
        self.octet("eval", "run/policy.oct", code=1)

    def test_data_export_has_one_output(self):
        for given, told in (([], "no"), (["--out", "a.data", "--npz", "b.npz"], "more than one"), (["--npz", "b.npz", "--minari", "m"], "more than one")):
            self.refused(["data", "export", "x.data", *given], f"{told} output given; name one with --out, --minari or --npz\n")

    def test_addresses_of_a_run_elsewhere_are_checked(self):
        allowed = "an address is tls+tcp://HOST:PORT, tcp://HOST:PORT, ipc://PATH or inproc://NAME\n"
        two = "tcp://127.0.0.1:1,tcp://127.0.0.1:2"
        for command in ("status", "top", "stop", "set"):
            setting = ["replay.tolerance=1"] if command == "set" else []
            self.refused([command, "--learner", "", *setting], f"octet {command}: error: --learner '': {allowed}")
            self.refused([command, "--learner", two, "--insecure", *setting], f"octet {command}: error: --learner '{two}': a tcp address ends in")
        learner = ["status", "--learner", "tcp://127.0.0.1:1", "--insecure"]
        self.refused([*learner, "--replay", ""], f"--replay '': {allowed}")
        self.refused([*learner, "--replay", "tcp://127.0.0.1:1,,tcp://127.0.0.1:2"], f"--replay '': {allowed}")
        self.refused(["status", "--replay", "tcp://127.0.0.1:1", "--insecure"], "--replay needs --learner")

    def test_status_of_no_run_folder(self):
        self.refused(["status", "lib"], "not a run folder", code=1)
        self.refused(["status", "nowhere"], "No such file", code=1)

    def test_eval_of_what_is_no_policy(self):
        self.refused(["eval"], "no POLICY")
        self.refused(["eval", "nowhere.oct"], "nowhere.oct", "No such file", code=1)
        self.refused(["eval", "x.yaml"], "octet eval: error: 'x.yaml': not a policy", code=1)
        self.refused(["eval", "x.yaml", "--episodes", "0"], "--episodes is '0'")

    def test_eval_of_a_policy_in_another_environment(self):
        """The golden policies were trained on Golden-v0, a plug-in that is not there."""
        policies, shape = pathlib.Path(__file__).resolve().parents[1] / "data/policy", str(PLUGINS / "shape.so")
        box, atoms = policies / "box_fp32.oct", policies / "atoms_int8.oct"
        for command in (["eval"], ["quantize", "--episodes", "1", "--precision", "int8", "--out", "x.oct"]):
            self.refused([*command, str(box)], "environment 'Golden-v0': the policy was trained on it, but it does not come "
                         "with Octet; give the path of its plug-in with --env PATH", code=1)
        self.refused(["eval", str(box), "--env", "Goldn-v0"], 'no environment "Goldn-v0"', code=1)
        on = ["eval", str(box), "--env", shape, "--options"]
        self.refused([*on, "obs=5,actions=3"], "the policy (for Golden-v0) was trained with action 1 in [-2, 3], but Shape-v0 "
                     "takes it in [-1, 1]", code=1)
        self.refused([*on, "obs=5,actions=3,dtype=2"], "actions of Shape-v0 are f64; policies give f32", code=1)
        on = ["eval", str(atoms), "--env", shape, "--options"]
        out, _ = self.octet(*on, "obs=6,obs_dtype=3,n=3,sums=0")
        self.assertIn("return       10.00 ± 0.00 over 100 episodes", out)
        self.assertIn("length       20.0 steps", out)
        self.assertNotIn("  metric ", out)
        self.assertNotIn("  failed ", out)

    def of_environment(self, golden, name):
        """A golden policy that says it was trained on another environment."""
        data = (pathlib.Path(__file__).resolve().parents[1] / "data/policy" / golden).read_bytes()[:-4]
        data = data.replace(b"\x09Golden-v0", bytes([len(name)]) + name.encode())
        data = data[:8] + struct.pack("<I", len(data) + 4) + data[12:]
        path = self.home / golden
        path.write_bytes(data + struct.pack("<I", zlib.crc32(data)))
        return golden

    def test_a_policy_alone_runs_no_code(self):
        (self.home / "python").write_text(f"#!/bin/sh\ntouch {self.home}/ran\n")
        (self.home / "python").chmod(0o755)
        (self.home / "sub").mkdir()
        for copy in ("mine.so", "sub/mine"):
            shutil.copy(PLUGINS / "shape.so", self.home / copy)
        options = ["--options", "obs=6,obs_dtype=3,n=3", "--episodes", "1"]
        for name in ("./mine.so", "mine.so", "sub/mine", f"{self.home}/mine.so", "gym:CartPole-v1", "gym:mine:Task-v0"):
            words = (f"environment '{name}': only the policy names it; the environment is code, which runs here only with --trust, "
                     f"or with --env {name} and --options K=V,...")
            for golden, command in (("atoms_int8.oct", ["eval"]), ("box_fp32.oct", ["quantize", "--precision", "int8", "--out", "x"]),
                                    ("box_fp32.oct", ["distill", "--hidden", "8", "--out", "x"])):
                policy = self.of_environment(golden, name)
                out, err = self.octet(*command, policy, *options, code=1, OCTET_PYTHON=str(self.home / "python"))
                self.assertEqual((out, err), ("", f"octet {command[0]}: error: {words}\n"))
            self.assertFalse((self.home / "ran").exists() or (self.home / "x").exists())
            if not name.startswith("gym:"):
                self.assertIn("environment  " + name, self.octet("eval", "atoms_int8.oct", "--env", name, *options)[0])
                self.of_environment("atoms_int8.oct", name)
                out, err = self.octet("eval", "atoms_int8.oct", "--trust", *options)
                self.assertIn("environment  " + name, out)
                self.assertEqual(err, f"octet eval: note: --trust runs the code of {name}, although only the policy names it\n")
        # The environment of Gymnasium would have been started.
        self.octet("eval", "atoms_int8.oct", "--env", name, "--episodes", "1", code=1, OCTET_PYTHON=str(self.home / "python"))
        self.assertTrue((self.home / "ran").exists())

    def test_what_lies_beside_ones_own_policy_names_its_plug_in_and_that_of_another_user_does_not(self):
        shape, options = str(PLUGINS / "shape.so"), "obs=6,obs_dtype=3,n=3"
        self.of_environment("atoms_int8.oct", "gym:Shape-v0")
        for name in ("config.yaml", "env.yaml"):
            beside = self.home / name
            beside.write_text(f'env: {{id: {shape}, options: "{options}"}}\n')
            command = ["eval", "atoms_int8.oct", "--episodes", "1"]
            self.assertIn(f"environment  {shape}", self.octet(*command)[0])
            if os.geteuid() == 0:
                os.chown(beside, 65534, 65534)
                self.refused(command, f"environment '{shape}': '{name}' belongs to user 65534; the environment is code, which runs here "
                             f"only with --trust, or with --env {shape} and --options K=V,...", code=1)
                self.assertIn(f"environment  {shape}", self.octet(*command, "--trust")[0])
                self.assertIn(f"environment  {shape}", self.octet(*command, "--env", shape, "--options", options)[0])
                # What comes with Octet is none of its code.
                beside.write_text("env: {id: CartPole-v1}\n")
                self.refused(command, "does not fit 'CartPole-v1'", code=1)
            beside.unlink()

    def test_code_that_others_could_have_named_needs_the_users_word(self):
        plugin, folder, policy = self.home / "mine.so", self.home / "run", self.of_environment("atoms_int8.oct", "gym:Shape-v0")
        folder.mkdir()
        (self.home / policy).rename(folder / "policy.oct")
        shutil.copy(PLUGINS / "shape.so", plugin)
        (folder / "config.yaml").write_text(f'env: {{id: {plugin}, options: "obs=6,obs_dtype=3,n=3"}}\n')
        command = ["eval", "run", "--episodes", "1"]
        others = [(lambda: (folder / ".unpacked").touch(), (folder / ".unpacked").unlink, "'run/config.yaml' came out of a pack"),
                  (lambda: (self.home / ".unpacked").touch(), (self.home / ".unpacked").unlink, "'run/config.yaml' came out of a pack"),
                  *((lambda path=path: path.chmod(0o666), lambda path=path: path.chmod(0o644),
                     f"'{path.resolve()}' can be written by other users: chmod go-w, or use another")
                    for path in (folder / "config.yaml", plugin))]
        if os.geteuid() == 0:
            others += [(lambda path=path: os.chown(path, 65534, 65534), lambda path=path: os.chown(path, 0, 0), words)
                       for path, words in ((folder, f"'{folder.resolve()}' is not your folder"),
                                           (plugin, f"'{plugin.resolve()}' belongs to user 65534, who could change it"))]
        for begin, end, words in others:
            self.assertIn(f"environment  {plugin}", self.octet(*command)[0])
            begin()
            self.refused(command, f"environment '{plugin}': {words}; the environment is code, which runs here only with --trust, or "
                         f"with --env {plugin} and --options K=V,...", code=1)
            out, err = self.octet(*command, "--trust")
            self.assertIn(f"environment  {plugin}", out)
            self.assertEqual(err, f"octet eval: note: --trust runs the code of {plugin}, although {words}\n")
            end()

    def test_what_a_plug_in_started_ends_with_the_command(self):
        policy = self.of_environment("atoms_int8.oct", "gym:Shape-v0")
        self.octet("eval", policy, "--env", str(PLUGINS / "shape.so"), "--options", "obs=6,obs_dtype=3,n=3,spawn_at=1", "--episodes", "1")
        self.assertEqual(self.alive(), [])

    def test_an_experiment_and_a_sweep_of_others_run_no_code(self):
        shape = str(PLUGINS / "shape.so")
        folder = self.home / "of_others"
        folder.mkdir()
        (folder / "plug.yaml").write_text(f"env:\n  id: {shape}\n  options: n=3\nrun:\n  env_steps: 1000\n")
        (folder / ".unpacked").touch()
        why = "/of_others/plug.yaml' came out of a pack and names the environment"
        (folder / "gym.yaml").write_text('env:\n  id: "gym:mine:Task-v0"\nrun:\n  env_steps: 1000\n')
        _, err = self.octet("train", "of_others/gym.yaml", "--run-dir", "run", code=1)
        self.assertIn("/of_others/gym.yaml' came out of a pack and names the environment 'gym:mine:Task-v0', which is code", err)
        _, err = self.octet("train", "of_others/plug.yaml", "--run-dir", "run", code=1)
        self.assertIn(why, err)
        self.assertFalse((self.home / "run").exists())
        _, err = self.octet("train", "of_others/plug.yaml", "--run-dir", "run", "--trust", FAKE_LEARNER="finish")
        self.assertIn(f"octet train: note: --trust runs the code of {shape}, although ", err)
        for command in (["plan"], ["doctor"], ["cluster", "slurm"], ["cluster", "k8s"], ["cluster", "ssh", "--hosts", "a"]):
            _, err = self.octet(*command, "of_others/plug.yaml", code=1)
            self.assertIn(f"{why} '{shape}', which is code that does not come with Octet; if it may run here, give --trust", err)
        for command in (["plan"], ["doctor"], ["cluster", "slurm"]):
            child = self.start(*command, "of_others/plug.yaml", "--trust")
            self.assertIn(f"octet {' '.join(command)}: note: --trust runs the code of {shape}", child.communicate(timeout=DEADLINE_S)[1])
        sweep = ["--over", "algo.learning_rate=1e-3,1e-4", "--sweep-dir", "sweep"]
        _, err = self.octet("sweep", "of_others/plug.yaml", *sweep, code=1)
        self.assertIn(why, err)
        self.octet("sweep", "of_others/plug.yaml", *sweep, "--trust", FAKE_LEARNER="finish")
        for path in self.home.glob("sweep/*/summary.json"):
            path.unlink()
        (self.home / "sweep/.unpacked").touch()
        resume = ["sweep", "--resume", "--sweep-dir", "sweep"]
        self.refused(resume, f"'sweep/base.yaml' came out of a pack and names the environment '{shape}', which is code that does not "
                     "come with Octet; if it may run here, give --trust", code=1)
        _, err = self.octet(*resume, "--trust", FAKE_LEARNER="finish")
        self.assertIn(f"octet sweep: note: --trust runs the code of {shape}, although 'sweep/base.yaml' came out of a pack\n", err)

    def test_unpack_lists_what_a_run_executes(self):
        for id, words in ((str(PLUGINS / "shape.so"), "the code of its environment {}, only with --trust"),
                          ("CartPole-v1", "nothing; its environment {} comes with Octet")):
            shutil.rmtree(self.home / "run", ignore_errors=True)
            (self.home / "run").mkdir()
            (self.home / "run/config.yaml").write_text(f"env: {{id: {id}}}\n")
            (self.home / "run/.unpacked").touch()  # of the run that is packed
            self.octet("run", "pack", "run", "--out", f"{len(id)}.tar.zst")
            for word in ([], ["--trust"]):
                out, _ = self.octet("run", "unpack", f"{len(id)}.tar.zst", "--run-dir", "copy", *word)
                self.assertIn(f"executes: {words.format(id)}".removesuffix(", only with --trust" if word else "") + "\n", out)
                self.assertEqual((self.home / "copy/.unpacked").exists(), not word)
                shutil.rmtree(self.home / "copy")

    def test_config_prints_one_thing(self):
        for words, two in [(["algo.noisy", "--explain", "ppo"], "algo.noisy and --explain"),
                           (["--check", "x.yaml", "--resolved", "--markdown"], "--check and --markdown"),
                           (["--explain", "ppo", "--markdown"], "--explain and --markdown"),
                           (["algo.noisy", "--all"], "algo.noisy and --all"), (["--all", "--markdown"], "--all and --markdown"),
                           (["algo", "--algorithms"], "algo and --algorithms")]:
            self.refused(["config", *words], f"{two} cannot be used together")

    def test_distill_that_is_interrupted_leaves_no_folder(self):
        (self.home / "obs.txt").write_text("1 2 3 4 5\n" * 300)
        run = self.start("distill", "--hidden", "8", "--updates", "100000", "--rounds", "1000", "--observations", "0",
                         "--obs", "obs.txt", "--out", "d/p/q", self.of_environment("box_fp32.oct", "Golden-v0"))
        self.assertIn("round 1 of 1000", run.stdout.readline())
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=DEADLINE_S)
        self.assertFalse((self.home / "d").exists())

    @unittest.skipIf(os.geteuid() != 0, "files of another user need root")
    def test_a_student_does_not_take_over_what_another_user_named(self):
        (self.home / "obs.txt").write_text("1 2 3 4 5\n" * 300)
        distill = ["distill", "--hidden", "8", "--updates", "10", "--observations", "0", "--obs", "obs.txt", "--out", "student",
                   self.of_environment("box_fp32.oct", "Golden-v0")]
        for user, is_told in ((65534, False), (0, True)):
            (self.home / "config.yaml").write_text("env: {id: ./missing.so}\n")
            os.chown(self.home / "config.yaml", user, user)
            _, err = self.octet(*distill)
            self.assertIn("note: returns are not measured: environment './missing.so'", err)
            self.assertEqual((self.home / "student/env.yaml").exists(), is_told)
            shutil.rmtree(self.home / "student")

    def test_eval_prints_what_the_environment_measures(self):
        policy = pathlib.Path(__file__).resolve().parents[1] / "data/policy/atoms_int8.oct"
        out, _ = self.octet("eval", str(policy), "--env", str(PLUGINS / "shape.so"),
                            "--options", "obs=6,obs_dtype=3,n=3,metrics=3,length=10", "--episodes", "10", "--envs", "4")
        self.assertIn("  metric       all steps: 10\n"
                      "  metric       steps_of_0: 10, measured in 3 of the episodes\n"
                      "  metric       never: not measured\n", out)

    def test_eval_draws_actions_where_there_is_a_distribution(self):
        policies, on = pathlib.Path(__file__).resolve().parents[1] / "data/policy", ["--env", str(PLUGINS / "shape.so"), "--sampling"]
        self.refused(["eval", str(policies / "atoms_int8.oct"), *on, "--options", "obs=6,obs_dtype=3,n=3"], "the policy has no distribution "
                     "to sample actions from: its outputs are distributions of returns; it can only act greedily\n", code=1)
        on = [str(policies / "logits_int8.oct"), *on, "--options", "obs=5,n=7"]
        self.assertIn("  actions      sampled from the policy's distribution\n", self.octet("eval", *on)[0])
        self.assertIs(json.loads(self.octet("eval", *on, "--json")[0])["sampling"], True)

    def test_a_policy_of_a_run_is_evaluated_as_the_run_does(self):
        """In an environment whose episodes never end."""
        run = "run"
        (self.home / run).mkdir()
        shutil.copy(pathlib.Path(__file__).resolve().parents[1] / "data/policy/logits_int8.oct", self.home / run / "policy.oct")
        (self.home / run / "config.yaml").write_text(
            f"env: {{id: {PLUGINS / 'shape.so'}, options: 'obs=5,n=7,length=0'}}\nevaluation: {{max_steps: 7, sampling: true}}\n")
        for word, sampling in ((["--json"], True), (["--json", "--greedy"], False)):
            got = json.loads(self.octet("eval", run, "--episodes", "5", *word)[0])
            self.assertEqual((got["sampling"], got["truncated_episodes"], got["lengths"]), (sampling, 5, [7] * 5))
        text, _ = self.octet("eval", run, "--episodes", "5")
        self.assertIn("\n  truncated    5 of the episodes, after 7 steps (evaluation.max_steps)\n", text)
        self.refused(["eval", run, "--sampling", "--greedy"], "--sampling and --greedy cannot be used together")
        text, _ = self.octet("distill", "--hidden", "8", "--updates", "10", "--rounds", "1", "--observations", "64", "--episodes", "3", run)
        self.assertIn("(config.yaml beside the policy), sampled actions (evaluation.sampling)\n", text)
        self.assertEqual(text.count("3 of the episodes truncated after 7 steps (evaluation.max_steps)\n"), 2)

    def test_eval_tells_of_the_episodes_that_failed(self):
        policy = pathlib.Path(__file__).resolve().parents[1] / "data/policy/atoms_int8.oct"
        out, _ = self.octet("eval", str(policy), "--env", str(PLUGINS / "shape.so"),
                            "--options", "obs=6,obs_dtype=3,n=3,fails=7", "--episodes", "10", "--envs", "4")
        self.assertRegex(out, r"return       10\.00 ± 0\.00 over 10 episodes .*\n  failed       7 further episodes, "
                              r"repeated \(environment \d: the reward is not finite\)\n  length       20\.0 steps\n")

    def test_eval_in_json_has_what_its_text_has_and_each_episode(self):
        policy = pathlib.Path(__file__).resolve().parents[1] / "data/policy/atoms_int8.oct"
        options = "obs=6,obs_dtype=3,n=3,fails=7,metrics=3,length=10"
        command = ["eval", str(policy), "--env", str(PLUGINS / "shape.so"), "--options", options, "--episodes", "10", "--envs", "4",
                   "--seed", "9"]
        (line, err), (text, _) = self.octet(*command, "--json"), self.octet(*command)
        self.assertEqual((line.count("\n"), err), (1, ""))
        got = json.loads(line)
        for told in (f"{got['policy']}: {got['precision']} policy, version {got['policy_version']}, {got['kernel']} kernel\n",
                     f"environment  {got['environment']}, seed {got['seed']}\n", f"options      {got['options']} ({got['options_from']})\n",
                     f"return       {got['mean']:.2f} ± {got['std']:.2f} over {got['episodes']} episodes (min {got['min']:.2f}, max {got['max']:.2f})\n",
                     f"failed       {got['failed_episodes']} further episodes, repeated ({got['failure']})\n",
                     f"length       {got['mean_length']:.1f} steps\n"):
            self.assertIn(told, text)
        self.assertEqual((got["policy"], got["seed"], got["episodes"], got["failed_episodes"], got["video"]), (str(policy), 9, 10, 7, None))
        self.assertEqual(len(got["returns"]), got["episodes"])
        self.assertAlmostEqual(sum(got["returns"]) / got["episodes"], got["mean"])
        self.assertEqual((min(got["returns"]), max(got["returns"])), (got["min"], got["max"]))
        self.assertEqual(sum(got["lengths"]) / got["episodes"], got["mean_length"])
        self.assertEqual(got["metrics"]["never"], {"mean": None, "episodes": 0})
        self.assertEqual(got["metrics"]["all steps"]["episodes"], 10)
        self.assertGreaterEqual(got["env_steps"], sum(got["lengths"]))
        self.assertAlmostEqual(got["steps_per_s"] * got["seconds"], got["env_steps"], delta=1e-6 * got["env_steps"])
        clean = json.loads(self.octet(*command[:4], "--options", "obs=6,obs_dtype=3,n=3", "--episodes", "2", "--json")[0])
        self.assertEqual((clean["failed_episodes"], clean["failure"], clean["metrics"]), (0, None, {}))

    def test_eval_tells_the_deviation_of_the_returns(self):
        model = pathlib.Path(__file__).resolve().parents[1] / "data/import/tanh.onnx"
        self.octet("import", str(model), "--env", "CartPole-v1", "--out", "p.oct")
        command = ["eval", "p.oct", "--episodes", "8", "--seed", "3"]
        got, text = json.loads(self.octet(*command, "--json")[0]), self.octet(*command)[0]
        self.assertGreater(statistics.stdev(got["returns"]), 0)
        self.assertAlmostEqual(statistics.stdev(got["returns"]), got["std"])
        self.assertIn(f"return       {got['mean']:.2f} ± {got['std']:.2f} over 8 episodes", text)

    def test_a_seed_is_one_that_json_can_tell(self):
        model = pathlib.Path(__file__).resolve().parents[1] / "data/import/tanh.onnx"
        self.octet("import", str(model), "--env", "CartPole-v1", "--out", "p.oct")
        largest = 2 ** 53
        got = json.loads(self.octet("eval", "p.oct", "--episodes", "1", "--seed", str(largest), "--json")[0])
        self.assertEqual(got["seed"], largest)
        _, err = self.octet("eval", "p.oct", "--episodes", "1", "--seed", str(largest + 1), code=2)
        self.assertIn("--seed", err)
        self.assertIn(f"{largest}", err)

    def test_eval_of_an_environment_that_ends_the_process(self):
        policy = str(pathlib.Path(__file__).resolve().parents[1] / "data/policy/atoms_int8.oct")
        shape = str(PLUGINS / "shape.so")
        for how, code, words in (("exit", 1, "ended the process"), ("abort", -signal.SIGABRT, "crashed with signal 6 (Aborted)"),
                                 ("segv", -signal.SIGSEGV, "crashed with signal 11 (Segmentation fault)")):
            _, err = self.octet("eval", policy, "--env", shape, "--options", f"obs=6,obs_dtype=3,n=3,{how}_at=9", code=code)
            self.assertEqual(err, f"octet eval: error: the environment {words}: {shape}; for details run 'octet env check {shape}'\n")

    def test_data_import_for_an_environment_that_ends_the_process(self):
        for how, code, words in (("exit", 1, "ended the process"), ("crash", -signal.SIGABRT, "crashed with signal 6 (Aborted)")):
            env = str(PLUGINS / f"bad_create_{how}.so")
            before = sorted(self.home.iterdir())
            _, err = self.octet("data", "import", "--minari", "none", "--out", "x.data", "--env", env, code=code)
            self.assertEqual(err, f"octet data import: error: the environment {words}: {env}; for details run 'octet env check {env}'\n")
            self.assertEqual(sorted(self.home.iterdir()), before)

    def test_a_taken_port_of_metrics_makes_no_folder(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            self.refused(["train", "x.yaml", "--run-dir", "run", "--metrics", f"http://127.0.0.1:{port}"],
                         f"--metrics: cannot serve http://127.0.0.1:{port}: another process listens on this port", code=1)
        self.assertFalse((self.home / "run").exists())

    def test_another_service_on_the_port_is_told(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            self.refused(["status", "--learner", address, "--insecure"],
                         f"{address}: the listener does not answer as Octet: it is another service, or "
                         "a daemon that needs tls+tcp:// and --tls", code=1)
        self.refused(["status", "--learner", address, "--insecure"], f"{address}: nothing listens there", code=1)

    def test_a_missing_folder_of_certificates_is_told(self):
        self.refused(["status", "--learner", "tls+tcp://127.0.0.1:5555", "--tls", "nowhere"],
                     f"--tls {self.home}/nowhere: {self.home}/nowhere: No such file or directory; 'octet certs issue ROLE NAME' makes",
                     code=1)

    def test_config_names_the_nearest_key(self):
        self.refused(["config", "learner.bach_size"], "did you mean learner.batch_size?")

    def test_config_of_a_file_says_how_to_see_its_values(self):
        self.refused(["config", "x.yaml"], "'x.yaml' is a file, not a key; to see its values: "
                     "octet config --check x.yaml --resolved")
        self.refused(["config", "no.yaml"], "no key 'no.yaml'; sections are run, env, network, ")
        self.refused(["config", "replay.zzzzzz"], "no key 'replay.zzzzzz'; replay has shards, capacity, ")

    def test_config_prints_basic_keys_or_all(self):
        basic, _ = self.octet("config")
        every, _ = self.octet("config", "--all")
        self.assertIn("\nlearner:\n  batch_size: 256 (", basic)
        self.assertNotIn("  bf16: false\n", basic)
        self.assertTrue(basic.endswith("\n\noctet config --all prints all keys.\n"))
        self.assertIn("  bf16: false\n", every)
        self.assertNotIn("--all", every)
        section, _ = self.octet("config", "learner")
        self.assertIn("\nlearner.bf16: false\n", section)

    def test_config_explains_an_algorithm(self):
        text, _ = self.octet("config", "--explain", "sac")
        self.assertRegex(text, r"^sac: .*\n  key +default +usual\n")
        self.assertRegex(text, r"\n  algo\.target_entropy +dimensions +\S")
        self.refused(["config", "--explain", "sak"], "no algorithm 'sak'; did you mean sac?\n  allowed: dqn d4pg")

    def test_config_prints_a_table_of_algorithms(self):
        text, _ = self.octet("config", "--algorithms")
        self.assertRegex(text, r"^algo\.name +learns from .*\ndqn +replay +discrete ")
        markdown, _ = self.octet("config", "--algorithms", "--markdown")
        self.assertRegex(markdown, r"^\| algo\.name \| .*\|\n\|---.*\|\n\| `dqn` \| replay \| discrete \|")

    def test_config_check_tells_of_keys_without_effect(self):
        (self.home / "other.yaml").write_text("env: {id: Pendulum-v1}\nalgo: {name: sac, huber_delta: 2}\n")
        said = subprocess.run([OCTET, "config", "--check", "other.yaml"], cwd=self.home, capture_output=True, text=True,
                              check=True)
        self.assertEqual(said.stdout, "other.yaml: ok\n")
        self.assertEqual(said.stderr, "warning: algo.huber_delta: 2 has no effect with algo.name: sac; it is an "
                                      "option of dqn\n")

    # Of a preset, of what was set beside it.
    def test_train_tells_of_keys_without_effect(self):
        (self.home / "own.yaml").write_text("env: {id: Nowhere-v1}\nalgo: {noisy_sigma: 0.3, discount: 0.9}\n")
        nowhere = ["--set", "env.id=Nowhere-v1"]
        for args, word in (["own.yaml"], "algo.noisy_sigma: 0.3 has no effect without algo.noisy: true"), \
                          (["own.yaml", "--set", "algo.noisy=true"], None), \
                          (["pendulum", *nowhere, "--set", "algo.name=sac"], None), \
                          (["pendulum", *nowhere, "--set", "algo.name=sac", "--set", "algo.temperature=0.1",
                            "--set", "algo.target_entropy=-2"],
                           "algo.target_entropy: -2 has no effect without algo.temperature: learned"):
            said = subprocess.run([OCTET, "train", *args], cwd=self.home, capture_output=True, text=True, check=False)
            self.assertEqual(said.returncode, 2, said.stderr)
            warned = [line for line in said.stderr.splitlines() if line.startswith("warning: ")]
            self.assertEqual(warned, [f"warning: {word}"] if word else [], args)

    def test_config_check(self):
        (self.home / "bad.yaml").write_text("env:\n  id: CartPole-v1\nrun:\n  env_steps: lots\n")
        self.refused(["config", "--check", "bad.yaml"], "bad.yaml:4", "env_steps", code=1)

    def test_config_check_names_the_file_where_a_default_is_the_mistake(self):
        file = self.home / "bad.yaml"
        for text in ("env: {id: ''}\n", "run: {env_steps: 5000}\n"):
            file.write_text(text)
            self.refused(["config", "--check", "bad.yaml"], "bad.yaml", ": error: env.id: an environment is required", code=1)
        file.write_text("env: {id: CartPole-v1}\nreplay:\n  capacity: 999\n")
        self.refused(["config", "--check", "bad.yaml"], "bad.yaml:3: error: replay.min_size: 1000 is more", code=1)
        self.refused(["train", "bad.yaml"], "bad.yaml:3: error: replay.min_size: 1000 is more")

    def test_config_check_tells_of_mistyped_names(self):
        self.refused(["config", "--check", "pole"], "no file or preset 'pole'")
        (self.home / "typo.yaml").write_text("env:\n  id: CartPol-v1\n")
        self.refused(["config", "--check", "typo.yaml"], "typo.yaml:2: error: env.id: no environment \"CartPol-v1\"; "
                     "did you mean CartPole-v1?", code=1)

    def test_config_check_holds_the_algorithm_against_the_environment(self):
        file = self.home / "box.yaml"
        file.write_text("env: {id: CartPole-v1}\nalgo:\n  name: d4pg\n")
        self.refused(["config", "--check", "box.yaml"], "box.yaml:3: error: ", "d4pg needs actions in a box", code=1)
        self.refused(["config", "--check", "box.yaml", "--resolved"], "d4pg needs actions in a box", code=1)

    def test_config_check_refuses_what_train_refuses(self):
        file = self.home / "bad.yaml"
        (self.home / "text.so").write_text("no library")
        crash = PLUGINS / "bad_create_crash.so"
        for lines, wanted in [
                (["env:", "  id: CartPole-v1", "  options: gravity=3"], "3: error: env.options: CartPole-v1 has no option"),
                (["env:", "  id: CartPole-v1", "  mjcf_dir: nowhere"], "3: error: env.mjcf_dir is 'nowhere': No such file"),
                (["env:", "  id: ./nowhere.so"], "2: error: env.id is './nowhere.so': No such file"),
                (["env:", "  id: ./text.so"], f"2: error: env.id: {self.home.resolve()}/text.so: cannot be loaded"),
                (["env:", f"  id: {crash}"], f"2: error: env.id: opening {crash}: it crashed: signal 6"),
                (["env: {id: CartPole-v1}", "learner:", "  init_from: nowhere"], "3: error: learner.init_from is 'nowhere': No such"),
                (["env: {id: CartPole-v1}", "learner:", "  init_from: text.so"], "3: error: learner.init_from: "),
                (["env: {id: CartPole-v1}", "replay:", "  data: nowhere.data", "run: {updates: 9}"],
                 "3: error: replay.data is 'nowhere.data': No such file"),
                (["env: {id: CartPole-v1}", "replay:", "  path: /nowhere/table.oct"],
                 "3: error: replay.path: /nowhere/table.oct: No such file or directory; allowed are a file in the run "
                 "folder, a file in a writable folder, and none"),
                (["env: {id: CartPole-v1}", "replay:", f"  path: {self.home}"], f"3: error: replay.path: {self.home}: it is a folder"),
                (["env: {id: CartPole-v1}", "replay:", "  path: /dev/null"], "3: error: replay.path: /dev/null: it is not a regular"),
                (["env: {id: CartPole-v1}", "replay:", "  data: text.so", "run: {updates: 9}"], "3: error: replay.data: ")]:
            file.write_text("\n".join(lines) + "\n")
            _, trained = self.octet("train", "bad.yaml", code=2)
            out, checked = self.octet("config", "--check", "bad.yaml", "--resolved", code=1)
            self.assertEqual((out, checked), ("", trained))
            self.assertIn(f"bad.yaml:{wanted}", checked)
        file.write_text("env: {id: ./here/bad_none.so}\n")
        (self.home / "here").symlink_to(PLUGINS)
        self.assertIn('\n  id: "./here/bad_none.so"\n', self.octet("config", "--check", "bad.yaml", "--resolved")[0])

    def test_config_shows_the_defaults_of_the_algorithm(self):
        (self.home / "ppo.yaml").write_text("env: {id: CartPole-v1}\nalgo: {name: ppo}\nactor: {envs: 12}\n")
        text, _ = self.octet("config", "--check", "ppo.yaml", "--resolved")
        self.assertIn("\n  batch_size: 12\n", text)
        self.assertIn("\n  sequence_steps: 128\n", text)


class Help(Case):
    def test_every_command_has_help(self):
        out, _ = self.octet("--help")
        for command in re.findall(r"^  (\w+) ", out, re.M):
            if command != "octet":
                text, _ = self.octet(command, "--help")
                self.assertTrue(text.lower().startswith(f"usage: octet {command}"), text)
                self.assertEqual(text, self.octet("help", command)[0])
        self.assertEqual(self.octet("env", "check", "--help")[0], self.octet("help", "env", "check")[0])

    def test_an_option_whose_value_may_be_left_out_may_be_the_last_word(self):
        _, said = self.octet("train", "nosuch.yaml", "--dash", code=2)
        self.assertIn("nosuch.yaml", said)

    def test_numbers_that_are_shown_are_in_the_registries(self):
        """They are looked up by name: a name that no daemon has would always be '-'."""
        root = pathlib.Path(__file__).resolve().parents[2]
        registered = set(re.findall(r"^\| `([\w.]+)`(?:<br>`[^`]+`)? \|", (root / "docs/reference.md").read_text(encoding="utf-8"), re.M))
        named = set()
        for path in (root / "cli/status").glob("*.c"):
            named |= set(re.findall(r'"(?:learner|replay)\.([a-z_.]*[a-z_])"', path.read_text(encoding="utf-8")))
        self.assertGreater(len(named), 30)
        self.assertEqual(named - registered, set())

    def test_version(self):
        self.assertRegex(self.octet("--version")[0], r"^octet \d+\.\d+\.\d+ \(protocol \d+, reads \d+ to \d+\)\n$")

    def test_config_prints_one_key_or_one_section(self):
        one, _ = self.octet("config", "learner.batch_size")
        self.assertTrue(one.startswith("learner.batch_size:"))
        section, _ = self.octet("config", "learner")
        self.assertIn(one, section)
        self.assertNotIn("replay.", section)

    def test_config_check_accepts(self):
        self.assertEqual(self.octet("config", "--check", "x.yaml")[0], "x.yaml: ok\n")
        resolved, _ = self.octet("config", "--check", "x.yaml", "--resolved")
        (self.home / "y.yaml").write_text(resolved)
        self.assertEqual(self.octet("config", "--check", "y.yaml", "--resolved")[0], resolved)


class Presets(Case):
    """They are found beside the program, wherever it was moved to."""

    def setUp(self):
        super().setUp()
        presets = self.home / "share/octet/presets"
        (presets / "more").mkdir(parents=True)
        (presets / "mine.yaml").write_text("# One of ours: it is short.\nenv:\n  id: 7-v1\nalgo:\n  n_step: -1\n")
        (presets / "more/other.yaml").write_text("env:\n  id: CartPole-v1\n")
        (presets / "long.yaml").write_text("# Pole v1.0, by DQN, keeps a pole upright that is long" + " and longer" * 5 + ",\n"
                                           "# or 0.5 metres. It is not needed.\nenv:\n  id: CartPole-v1\n")
        (presets / "more/notes.txt").write_text("none\n")
        (self.home / "bin").mkdir()
        shutil.copy(OCTET, self.home / "bin/octet")

    def moved(self, *arguments, code=0, **more):
        done = subprocess.run([self.home / "bin/octet", *arguments], cwd=self.home, env=self.environment(**more), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_list(self):
        self.assertEqual(self.moved("presets")[0],
                         "long        Pole v1.0, by DQN, keeps a pole upright that is long and longer and longer and longer\n"
                         "            and longer and longer, or 0.5 metres.\n"
                         "mine        One of ours: it is short.\nmore/other\n")

    def test_each_that_comes_with_octet_has_a_sentence(self):
        printed = self.octet("presets")[0]
        self.assertLessEqual(max(map(len, printed.splitlines())), 100)
        said = dict(entry.split(None, 1) for entry in re.sub(r"\n +", " ", printed).splitlines())
        presets = pathlib.Path(__file__).resolve().parents[2] / "presets"
        for path in presets.rglob("*.yaml"):
            comment = "".join(itertools.takewhile(lambda line: line[0] == "#", path.read_text(encoding="utf-8").splitlines(True)))
            sentence = said[str(path.relative_to(presets).with_suffix(""))]
            self.assertRegex(sentence, r"^\S.*[a-z0-9)]\.$")
            self.assertTrue(comment.replace("\n# ", " ").startswith("# " + sentence), sentence)

    def test_path(self):
        self.assertEqual(self.moved("presets", "more/other")[0], f"{self.home}/share/octet/presets/more/other.yaml\n")
        self.assertIn("no preset 'other'; did you mean 'more/other'?", self.moved("presets", "other", code=1)[1])
        self.assertIn("no preset 'frobnicate'; octet presets lists", self.moved("presets", "frobnicate", code=1)[1])
        self.assertIn("two names, 'mine' and 'other'", self.moved("presets", "mine", "other", code=2)[1])

    def test_a_name_is_checked_as_its_file(self):
        self.assertIn("/share/octet/presets/more/other.yaml: ok\n", self.moved("config", "--check", "more/other")[0])
        _, err = self.moved("config", "--check", "mine", code=1)
        self.assertIn("/share/octet/presets/mine.yaml:5:", err)

    def test_a_name_stands_for_its_file(self):
        _, err = self.moved("train", "mine", code=2)
        self.assertIn(f"{self.home}/share/octet/presets/mine.yaml:5", err)
        self.assertIn("algo.n_step", err)

    def test_settings_are_warned_of_and_what_a_preset_says_is_not(self):
        (self.home / "share/octet/presets/mine.yaml").write_text(EXPERIMENT + "evaluation:\n  period_s: 0.5\n")
        os.symlink("share/octet/presets/mine.yaml", self.home / "link.yaml")
        shutil.copy(self.home / "link.yaml", self.home / "own.yaml")
        warning = "warning: evaluation.period_s: 0.5 has no effect with run.deterministic: true"
        for file in ("mine", "share/octet/presets/mine.yaml", "link.yaml", "own.yaml"):
            _, err = self.moved("train", file, "--deterministic", "--set", "env.id=frobnicate", code=2)
            self.assertEqual(warning in err, file == "own.yaml", err)

    def test_a_file_of_that_name_needs_a_slash_or_a_suffix(self):
        (self.home / "more").mkdir()
        for name in ("mine", "more/other", "none", "mine.yaml"):
            (self.home / name).write_text("algo:\n  name: dqm\n")
        for name in ("mine", "more/other"):
            self.assertIn(f"/share/octet/presets/{name}.yaml:", "".join(self.moved("config", "--check", name, code=(0, 1))))
        self.assertIn("no preset 'none'; for the file of that name give ./none", self.moved("train", "none", code=2)[1])
        for name in ("./mine", "./none", "mine.yaml", str(self.home / "mine")):
            self.assertIn(f"{name}:2", self.moved("train", name, code=2)[1])

    @unittest.skipIf(os.geteuid() != 0, "files of another user need root")
    def test_what_others_put_beside_the_program_is_not_used(self):
        daemon, presets = self.home / "bin/octet-replay", self.home / "share/octet/presets"
        shutil.copy("/bin/true", daemon)
        for name in ("learner", "actor", "relay"):
            shutil.copy("/bin/true", self.home / f"bin/octet-{name}")

        def uses():
            """Returns what it finds: the preset, presets at all, the daemons."""
            found = self.moved("doctor", code=(0, 1), OCTET_LIBEXEC="", PATH="/usr/bin")[0]
            return ["mine.yaml" in self.moved("presets", "mine", code=(0, 1))[0], bool(self.moved("presets", code=(0, 1))[0]),
                    "cannot find the daemon 'octet-replay'" not in found]
        self.assertEqual(uses(), [True, True, True])
        for path, want in ((presets / "mine.yaml", [False, True, True]), (presets, [False, False, True]), (daemon, [True, True, False])):
            os.chown(path, 65534, 65534)
            self.assertEqual(uses(), want)
            os.chown(path, 0, 0)
            path.chmod(0o777)
            self.assertEqual(uses(), want)
            path.chmod(0o755)
        os.chown(presets / "mine.yaml", 65534, 65534)
        os.chown(self.home / "bin/octet", 65534, 65534)  # the user runs its code anyway
        self.assertEqual(uses(), [True, True, True])

    def test_a_folder_of_that_name_hides_nothing(self):
        for name in ("mine", "none"):
            (self.home / name).mkdir()
        for command, code in ((["train", "mine"], 2), (["sweep", "mine", "--over", "algo.discount=0.9"], 2), (["config", "--check", "mine"], 1)):
            self.assertIn("/share/octet/presets/mine.yaml:5:", self.moved(*command, code=code)[1])
        self.assertIn("'none' is a folder, not an experiment; octet presets lists", self.moved("train", "none", code=2)[1])

    def test_mistyped(self):
        self.assertIn("no file or preset 'more/othr'; did you mean 'more/other'?",
                      self.moved("train", "more/othr", code=2)[1])
        self.assertIn("did you mean 'more/other'?", self.moved("train", "other", code=2)[1])
        self.assertIn("no file or preset 'frobnicate'; octet presets lists the presets",
                      self.moved("train", "frobnicate", code=2)[1])
        self.assertIn("no file or preset", self.moved("train", "more/../mine", code=2)[1])

    def test_the_name_of_an_algorithm_leads_to_experiments(self):
        for word, users, start in [("PPO", "ant, cartpole-ppo, dmc/cheetah_run-ppo, hopper, ", "cartpole-ppo"), ("rainbow", "cartpole-rainbow\n", "cartpole-rainbow"),
                                   ("a3c", "cartpole-a3c\n", "cartpole-a3c"), ("sarsa", None, "toy_text/taxi --set algo.name=sarsa"),
                                   ("ddpg", None, "pendulum --set algo.name=ddpg"), ("external", None, "cartpole --set algo.name=external")]:
            _, err = self.octet("train", word, code=2)
            self.assertIn(f"'{word.lower()}' is an algorithm, not an experiment; try: octet train {start}\n", err)
            self.assertEqual(users is None, "presets that use it" not in err)
            self.assertIn(f"  presets that use it: {users}" if users else "", err)
            self.octet("train", *start.split(), "--run-dir", word, "--no-ui", FAKE_LEARNER="finish")

    def test_what_is_no_experiment_leads_to_one(self):
        def refusal(*words):
            return self.octet(*words, code=2)[1].removesuffix(f"\n  help: octet {words[0]} --help\n")
        self.assertRegex(refusal("train", "CartPole-v1"), r"^octet train: error: 'CartPole-v1' is an environment, not an experiment; "
                         r"try: octet train cartpole\n  presets that use it: cartpole-a2c, .* and \d more$")
        self.assertEqual(refusal("train", "gym:X-v0"), "octet train: error: 'gym:X-v0' is an environment, not an experiment; write a file with "
                                                       "this line:\n  env: {id: \"gym:X-v0\"}")
        shutil.copy(PLUGINS / "point.so", self.home / "lib.so")
        self.assertIn("'./lib.so' is an environment, not an experiment", refusal("train", "./lib.so"))
        (self.home / "own.yaml").write_text(refusal("train", "./lib.so").splitlines()[1])
        self.octet("train", "own.yaml", "--run-dir", "run", "--no-ui", FAKE_LEARNER="finish")
        self.assertEqual(refusal("train", "run"), "octet train: error: 'run' is a run folder; its experiment is run/config.yaml\n"
                                                  "  to continue its run: octet train --resume --run-dir run")
        self.assertIn("'lib' is a folder, not an experiment; octet presets lists the presets", refusal("sweep", "lib", "--over", "algo.n_step=1,2"))
        self.assertEqual(refusal("train", "presets/dmc/hopper_hop.yaml"), "octet train: error: no file 'presets/dmc/hopper_hop.yaml'; the "
                                                                         "preset of that name is 'dmc/hopper_hop'")
        self.assertIn("try: octet train cartpole (octet presets lists the presets)", refusal("train"))

    def test_none(self):
        shutil.rmtree(self.home / "share")
        self.assertIn(f"cannot find presets: looked in {self.home}/share/octet\n", self.moved("presets", code=1)[1])

    def test_the_control_suite_of_a_wheel_is_in_lib(self):
        module = self.home / "lib/octet/env_dmc.so"
        module.parent.mkdir(parents=True)
        module.write_text("not a shared object")
        _, err = self.moved("env", "bench", "dmc:cheetah_run", code=1)
        self.assertIn("/lib/octet/env_dmc.so: cannot be loaded: ", err)


class RunFolder(Case):
    def test_folder_that_exists(self):
        (self.home / "run").mkdir()
        (self.home / "run" / "notes").write_text("mine")
        self.octet("train", "x.yaml", "--run-dir", "begun", FAKE_LEARNER="finish")
        for name, hint in [("run", "name another folder"), ("x.yaml", "name another folder"),
                           ("begun", "--resume continues it, or name another folder")]:
            _, err = self.octet("train", "x.yaml", "--run-dir", name, code=1)
            self.assertEqual(err, f"octet train: error: cannot make folder '{name}': File exists; {hint}\n")

    def test_folder_that_is_empty(self):
        (self.home / "run").mkdir()
        out, _ = self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertIn("run/policy.oct", out)

    def test_folder_of_an_octet_train_that_was_killed_at_once(self):
        (self.home / "run" / "log").mkdir(parents=True)
        (self.home / "run" / ".lock").touch()
        (self.home / "run" / "config.yaml.tmp.4194304").write_text("half")
        out, _ = self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertIn("run/policy.oct", out)
        self.assertFalse((self.home / "run" / "config.yaml.tmp.4194304").exists())

    def test_folder_below_a_file(self):
        _, err = self.octet("train", "x.yaml", "--run-dir", "x.yaml/run", code=1)
        self.assertIn("cannot make folder 'x.yaml'", err)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_folder_that_is_not_writable(self):
        (self.home / "locked").mkdir(mode=0o555)
        _, err = self.octet("train", "x.yaml", "--run-dir", "locked/run", code=1)
        self.assertIn("Permission denied", err)

    def test_folders_that_a_configuration_cannot_name(self):
        for name, shown in [("a\tb", "a?b"), (b"\xff", "?")]:
            folder = self.home / os.fsdecode(name)
            folder.mkdir()
            (folder / "x").touch()
            for option, key in [("--data", "replay.data"), ("--init-from", "learner.init_from")]:
                done = subprocess.run([OCTET, "train", "../x.yaml", option, "x", "--set", "run.updates=1"], cwd=folder,
                                      env=self.environment(), capture_output=True, text=True, timeout=DEADLINE_S, check=False)
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f"--set {key}=x: error: {key}: the path '{self.home.resolve()}/{shown}/x' has control "
                                     "characters, or is not UTF-8\n"))

    def test_full_disk(self):
        disk = self.home / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            self.skipTest("may not mount a small disk")
        try:
            for command in [["train", "x.yaml", "--run-dir"],
                            ["sweep", "x.yaml", "--over", "algo.discount=0.9,0.99", "--sweep-dir"]]:
                _, err = self.octet(*command, "disk/a/run", code=1)
                self.assertIn("no space for a run", err)
                self.assertEqual(list(disk.iterdir()), [], command)
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_folder_of_a_file_system_that_cannot_be_written(self):
        disk = self.home / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            self.skipTest("may not mount a disk")
        try:
            _, err = self.octet("train", "x.yaml", "--run-dir", "disk", code=1)
            self.assertEqual(err, f"octet train: error: cannot write in run folder '{disk.resolve()}': Read-only file system; "
                                  "choose another folder\n")
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_output_that_does_not_arrive(self):
        for arguments in [["config"], ["train", "--help"], ["--help"], ["--version"],
                          ["train", "x.yaml", "--run-dir", "run"]]:
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([OCTET, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, cwd=self.home,
                                      env=self.environment(FAKE_LEARNER="finish"), timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr, "^octet( train| config| --help)?: error: cannot write to standard output: "
                                          "No space left on device\n$")

    def test_files_beyond_a_limit_on_their_size(self):
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        for arguments in [["report", "run", "--html", "page"], ["run", "pack", "run", "--out", "page"]]:
            done = subprocess.run([OCTET, *arguments], cwd=self.home, env=self.environment(), capture_output=True, text=True,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)), timeout=DEADLINE_S,
                                  check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("cannot be written: File too large" if arguments[0] == "run" else "cannot write 'page': File too large",
                          done.stderr)
            self.assertEqual(list(self.home.glob("page*")), [])

    def test_closed_standard_descriptors(self):
        for i, closed in enumerate(["<&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"]):
            done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", OCTET, "train", "x.yaml", "--run-dir", f"run{i}"],
                                  cwd=self.home, env=self.environment(FAKE_LEARNER="finish"), capture_output=True, text=True,
                                  timeout=DEADLINE_S, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), closed)
            self.assertEqual(self.summary(f"run{i}")["return"]["mean"], 498.2)

    def test_resume_of_nothing(self):
        _, err = self.octet("train", "x.yaml", "--run-dir", "run", "--resume", code=1)
        self.assertIn("no run folder 'run'", err)

    def test_resume_if_any_starts_what_is_not_there_and_continues_what_is(self):
        command = ["train", "x.yaml", "--run-dir", "run", "--resume-if-any"]
        self.assertIn("--resume-if-any needs --run-dir", self.octet("train", "x.yaml", "--resume-if-any", code=2)[1])
        _, err = self.octet(*command, FAKE_LEARNER="finish")
        self.assertEqual(err, "")
        before = (self.home / "run/config.yaml").read_text()
        _, err = self.octet(*command, FAKE_LEARNER="finish")
        self.assertEqual((err, (self.home / "run/config.yaml").read_text()), (RESUMES, before))
        for path in (self.home / "run").glob("checkpoint*.oct"):
            path.unlink()
        (self.home / "run/policy.oct").touch()
        _, err = self.octet(*command, code=1)  # nothing is overwritten
        self.assertIn("'run' has no checkpoint to resume from, and a new run there would overwrite its policy.oct", err)

    def test_a_file_system_without_sockets_is_found_before_anything_starts(self):
        _, err = self.octet("train", "x.yaml", "--run-dir", "new/run", code=1, LD_PRELOAD=FAULTY_DISK, FAULTY_DISK="no sockets")
        self.assertEqual(err, f"octet train: error: the daemons' sockets cannot be made in '{self.home.resolve()}/new/run': Operation not "
                              "permitted; name a folder on another file system (--run-dir)\n")
        self.assertFalse((self.home / "new").exists())

    def test_missing_daemon_starts_nothing(self):
        (self.home / "lib" / "octet-actor").unlink()
        _, err = self.octet("train", "x.yaml", "--run-dir", "run", code=1)
        self.assertIn("no executable 'octet-actor'", err)
        self.assertFalse((self.home / "run").exists())

    def test_without_proc_the_program_says_so(self):
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("may not mount here")
        done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$@"', "sh", OCTET, "train",
                               "x.yaml"], cwd=self.home, env=self.environment(OCTET_LIBEXEC="", PATH="/usr/bin:/bin"),
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "octet train: error: cannot find the daemon 'octet-replay': /proc/self/exe cannot be read (is "
                             "/proc mounted?); it is not in $PATH either\n"))

    def test_one_supervisor_in_a_folder(self):
        first = self.start("train", "x.yaml", "--run-dir", "run")
        self.wait_up()
        before = (self.home / "run/config.yaml").stat().st_ino
        for words in [["--run-dir", "run", "--resume"], ["x.yaml", "--run-dir", "run"]]:
            _, err = self.octet("train", *words, code=1)
            self.assertEqual(err, "octet train: error: the run in 'run' is live: octet status run shows it, octet stop run stops it; "
                                  "or name another folder\n")
        self.assertEqual((self.home / "run/config.yaml").stat().st_ino, before)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=DEADLINE_S)

    def test_config_is_resolved(self):
        shutil.copy(PLUGINS / "point.so", self.home / "lib.so")
        (self.home / "models").mkdir()
        self.octet("train", "x.yaml", "--run-dir", "deep/er/run", "--set", "env.id=./lib.so",
                   "--set", "env.mjcf_dir=models",
                   "--actors", "2", "--seed", "9", "--precision", "fp32", FAKE_LEARNER="finish")
        text = (self.home / "deep/er/run/config.yaml").read_text()
        self.assertIn(str((self.home / "lib.so").resolve()), text)
        self.assertIn(f"mjcf_dir: \"{(self.home / 'models').resolve()}\"", text)
        for line in ["learner: \"ipc://learner.ipc\"", "replay: \"ipc://replay.ipc\"", "count: 2",
                     "seed: 9", "precision: fp32"]:
            self.assertIn(line, text)
        self.assertIn("--evaluate", self.log("deep/er/run", "evaluator"))
        self.assertNotIn("--evaluate", self.log("deep/er/run", "actor-1"))

    def test_default_folder_is_new_each_time(self):
        for _ in range(2):
            self.octet("train", "x.yaml", FAKE_LEARNER="finish")
        runs = [path.name for path in (self.home / "runs").iterdir()]
        self.assertEqual(len(runs), 2)
        for name in runs:
            self.assertRegex(name, r"^CartPole-v1-\d{8}-\d{6}(-2)?$")


class Supervisor(Case):
    def assert_gone(self):
        wait_for("every process of the run is gone", lambda: not self.alive())

    def test_finished_run(self):
        out, err = self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertEqual(err, "")
        for text in ["CartPole-v1 finished: solved", "498.2 ± 3.50 over 100 episodes, int8 policy\n",
                     "last       12.50 ± 1.50 over 100 episodes; 310.2 over 10 short evaluations\n",
                     "run/policy.oct", "octet eval run/policy.oct\n"]:
            self.assertIn(text, out)
        self.assertIn("samples/insert=8.12", out)
        summary = self.summary()
        self.assertEqual(summary["return"]["mean"], 498.2)
        self.assertEqual(set(summary["daemons"]), {"replay", "learner", "actor-0", "evaluator"})
        for daemon in summary["daemons"].values():
            self.assertGreater(daemon["cpu_s"], 0)
            self.assertEqual(daemon["starts"], 1)
        self.assertEqual(summary["supervisor"]["exit_reason"], "finished")
        self.assertGreater(summary["supervisor"]["wall_s"], 0)
        self.assertEqual([p.name for p in (self.home / "run").glob("*.ipc*")], [])
        self.assert_gone()

    def test_batches_that_replay_rejected_are_told(self):
        self.octet("train", "x.yaml", "--run-dir", "sound", FAKE_LEARNER="finish")
        summary = json.loads((self.home / "sound/summary.json").read_text(encoding="utf-8"))
        self.assertEqual((summary["batches_rejected"], summary["batches_rejected_why"]), (0, None))
        out, _ = self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish", FAKE_REPLAY="reject")
        self.assertIn('warning="replay rejected 9 batches: rows sent twice (log/replay.log)"', out)
        self.assertIn("  rejected   9 batches by replay: rows sent twice (log/replay.log)\n", out)
        summary = self.summary()
        self.assertEqual((summary["batches_rejected"], summary["batches_rejected_why"]), (9, "rows sent twice"))

    def test_next_command_can_be_pasted(self):
        out, _ = self.octet("train", "x.yaml", "--run-dir", "my run", FAKE_LEARNER="finish")
        self.assertIn("octet eval 'my run/policy.oct'\n", out)

    def test_learner_that_died_is_restarted_with_resume(self):
        out, _ = self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="once")
        self.assertIn("learner exited with code 5; restarting in 0.1 s (log/learner.log)", out)
        calls = self.log("run", "learner").splitlines()
        self.assertNotIn("--resume", calls[0])
        self.assertIn("--resume", calls[1])
        self.assertEqual(self.summary()["supervisor"]["restarts"], 1)
        self.assertEqual(self.summary()["daemons"]["learner"]["starts"], 2)

    def test_actor_that_cannot_be_started_is_told_from_one_that_died(self):
        (self.home / "run/log/actor-1.log").mkdir(parents=True)
        run = self.start("train", "x.yaml", "--run-dir", "run", "--actors", "3")
        wait_for("actor-1 is given up", lambda: "it is not restarted" in self.log("run", "supervisor"))
        self.assertIn("actor-1 could not be started; it is not restarted, and 2 of 3 actors are left", self.log("run", "supervisor"))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=DEADLINE_S)

    def test_actor_that_keeps_dying_is_given_up_alone(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", "--actors", "3", FAKE_ACTOR="crash-0")
        self.wait_up()
        wait_for("actor-0 is given up", lambda: "it is not restarted" in self.log("run", "supervisor"))
        out, _ = self.octet("status", "run")
        self.assertIn("actor-0 crashed 5 times in a row, last time: exited with code 5; it is not restarted, and 2 of 3", out)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 130, out + err)
        self.assertIn("it is not restarted, and 2 of 3 actors are left (log/actor-0.log)", out)
        daemons = self.summary()["daemons"]
        self.assertEqual([name for name in daemons if daemons[name]["given_up"]], ["actor-0"])
        self.assertEqual(daemons["actor-0"]["starts"], 5)
        self.assertEqual(self.summary()["supervisor"]["given_up"], 1)
        self.assert_gone()

    def test_last_actor_that_keeps_dying_ends_the_run(self):
        out, err = self.octet("train", "x.yaml", "--run-dir", "run", "--actors", "1", code=1,
                              FAKE_ACTOR="crash-0")
        self.assertIn("actor-0 crashed 5 times in a row, last time: exited with code 5", err)
        self.assertNotIn("given up", out)
        self.assert_gone()

    def test_daemon_that_hangs_is_restarted(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", "--set", "run.hang_s=3")
        self.wait_up()
        victim = next(pid for pid in self.alive(but=run.pid)
                      if b"octet-replay" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(victim, signal.SIGSTOP)
        wait_for("replay is up again", lambda: len(self.log("run", "replay").splitlines()) == 2)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=DEADLINE_S)
        self.assertRegex(out, r"replay: no progress for \d+\.\d s \(its event loop\); killed after 3 s "
                              r"\(run.hang_s\) \(log/replay.log\)\n")
        self.assertIn("replay hung and was killed; restarting in 0.1 s (log/replay.log)", out)
        self.assertEqual(self.summary()["daemons"]["replay"]["hangs"], 1)
        self.assert_gone()

    def test_killed_actor_is_restarted(self):
        run = self.start("train", "x.yaml", "--run-dir", "run")
        self.wait_up()
        victim = next(pid for pid in self.alive(but=run.pid)
                      if b"octet-actor" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(victim, signal.SIGKILL)
        wait_for("the actor is up again", lambda: len((self.log("run", "actor-0") + self.log("run", "evaluator")).splitlines()) == 3)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=DEADLINE_S)
        self.assertIn("was killed by signal 9 (Killed); restarting", out)
        self.assert_gone()

    def test_a_refused_experiment_is_one_line_and_leaves_no_folder(self):
        out, err = self.octet("train", "x.yaml", "--run-dir", "run", code=1, FAKE_LEARNER="refuse")
        self.assertEqual(out, "")
        self.assertEqual(err, "x.yaml:2: error: env.id: the fake does not like CartPole-v1\n")
        self.assertFalse((self.home / "run").exists())
        _, err = self.octet("train", "x.yaml", "--set", "env.id=Acrobot-v1", "--run-dir", "run",
                            code=1, FAKE_LEARNER="refuse")
        self.assertEqual(err, "octet train: error: learner: the fake does not like CartPole-v1\n")
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assert_gone()

    def test_a_run_that_never_began_leaves_its_logs_and_its_folder(self):
        shutil.copy(PLUGINS / "bad_none.so", self.home / "lib.so")
        out, err = self.octet("train", "x.yaml", "--run-dir", "run", "--set", "env.id=./lib.so",
                              code=1, FAKE_ACTOR="abort", FAKE_LEARNER="idle")
        self.assertRegex(err, r"(actor-0|evaluator) crashed 5 times in a row, last time: was killed by "
                              r"signal 6 \(Aborted\); for details run 'octet env check \S+/lib.so'; the")
        self.assertIn("\n  learned    nothing: no window came (log/learner.log)\n", out)
        for text in ["policy ", "next ", "resume "]:
            self.assertNotIn(f"\n  {text}", out)
        self.assertEqual({path.name for path in (self.home / "run").iterdir()},
                         {".lock", "config.yaml", "log", "summary.json"})
        (self.home / "run" / "notes").write_text("mine")
        out, _ = self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertIn("run/policy.oct", out)
        self.assertEqual((self.home / "run" / "notes").read_text(), "mine")
        _, err = self.octet("train", "x.yaml", "--run-dir", "run", code=1)
        self.assertIn("File exists", err)

    def test_a_run_that_never_began_clears_its_own_folder_alone(self):
        self.octet("train", "x.yaml", "--run-dir", "run1", FAKE_LEARNER="finish")
        before = {path.name for path in (self.home / "run1").iterdir()}
        shutil.copy(PLUGINS / "bad_none.so", self.home / "lib.so")
        self.octet("train", "x.yaml", "--run-dir", "run[1]", "--set", "env.id=./lib.so", code=1,
                   FAKE_ACTOR="abort", FAKE_LEARNER="idle")
        self.assertEqual({path.name for path in (self.home / "run1").iterdir()}, before)
        self.assertEqual({path.name for path in (self.home / "run[1]").iterdir()},
                         {".lock", "config.yaml", "log", "summary.json"})

    def test_a_run_that_never_began_is_cleared_also_where_a_link_never_closes(self):
        _, err = self.octet("train", "x.yaml", "--run-dir", "run", code=1, FAKE_LEARNER="refuse",
                            LD_PRELOAD=STUCK_CLOSE)
        self.assertIn("NET-STUCK", err)
        self.assertFalse((self.home / "run").exists())

    def test_a_run_that_never_began_takes_its_tables_with_it_wherever_they_are(self):
        for path in (self.home / "far.oct", "near.oct"):
            self.octet("train", "x.yaml", "--run-dir", "run", "--set", f"replay.path={path}", "--set",
                       "replay.shards=2", code=1, FAKE_ACTOR="crash", FAKE_LEARNER="idle", FAKE_REPLAY="table")
            for name in ("far.oct", "far-1.oct", "run/near.oct", "run/near-1.oct"):
                self.assertFalse((self.home / name).exists(), (path, name))

    def test_a_table_that_was_there_before_stays(self):
        for name in ("far.oct", "run/replay-mine.oct"):
            (self.home / name).parent.mkdir(exist_ok=True)
            (self.home / name).write_bytes(b"OCTETRPL of another run")
        for name in (".lock", "config.yaml"):  # of a run that never began
            (self.home / "run" / name).touch()
        (self.home / "run/log").mkdir()
        self.octet("train", "x.yaml", "--run-dir", "run", "--set", f"replay.path={self.home}/far.oct", code=1,
                   FAKE_ACTOR="crash", FAKE_LEARNER="idle")
        for name in ("far.oct", "run/replay-mine.oct"):
            self.assertEqual((self.home / name).read_bytes(), b"OCTETRPL of another run")

    def test_what_a_killed_run_that_never_began_has_collected_is_no_table_of_the_next(self):
        run = self.home / "run"
        (run / "log").mkdir(parents=True)
        (run / ".lock").touch()
        (run / "config.yaml").write_text(EXPERIMENT + "replay:\n  path: near.oct\n  shards: 2\n")
        for name in ("near.oct", "near-1.oct"):
            (run / name).write_bytes(b"OCTETRPL")
        (run / "other.oct").write_bytes(b"OCTETRPL")
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertEqual({path.name for path in run.glob("*.oct")} - {"checkpoint.oct", "environment.oct", "policy.oct"},
                         {"other.oct"})

    @unittest.skipIf(os.geteuid() != 0, "a folder of another user needs root")
    def test_the_folder_of_another_user_is_told_and_what_it_names_is_not_run(self):
        run, shape = self.home / "run", str(PLUGINS / "shape.so")
        (self.home / "plug.yaml").write_text(f"env:\n  id: {shape}\n  options: n=3\nrun:\n  env_steps: 1000\n")
        run.mkdir()
        os.chown(run, 65534, 65534)
        warning = (f"octet train: warning: the folder '{run.resolve()}' belongs to user 65534, who can replace its contents: "
                   "config.yaml, checkpoints, keys\n")
        _, err = self.octet("train", "plug.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertEqual(err, warning)
        os.chown(run, 0, 0)
        _, err = self.octet("train", "--resume", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertNotIn("warning", err)
        for more, is_taken in (([], False), (["plug.yaml"], True), (["--set", f"env.id={shape}"], True), (["--trust"], True)):
            os.chown(run, 65534, 65534)
            os.chown(run / "config.yaml", 65534, 65534)
            _, err = self.octet("train", *more, "--resume", "--run-dir", "run", FAKE_LEARNER="finish", code=0 if is_taken else 1)
            self.assertEqual(f"octet train: error: 'run/config.yaml' belongs to user 65534 and names the environment '{shape}', which "
                             f"is code that does not come with Octet; if it may run here, give --trust, or --set env.id={shape}\n" in err,
                             not is_taken, err)

    def test_a_failed_run_names_no_policy_but_the_way_on(self):
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        out, err = self.octet("train", "--resume", "--run-dir", "run", code=1, FAKE_REPLAY="abort")
        self.assertIn("replay crashed 5 times in a row", err)
        self.assertEqual(err.count("octet-replay"), 5, "the log's tail is of this run")
        self.assertIn("train --resume --run-dir run\n", out)
        for text in ["policy ", "next "]:
            self.assertNotIn(f"\n  {text}", out)

    def test_a_refused_resume_leaves_the_experiment_as_it_was(self):
        config = self.home / "run" / "config.yaml"
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        before = config.read_text()
        summary = self.summary()
        out, err = self.octet("train", "--resume", "--run-dir", "run", "--seed", "77", code=1,
                              FAKE_LEARNER="refuse")
        self.assertEqual(config.read_text(), before)
        self.assertEqual(self.summary(), summary)
        self.assertIn("| config.yaml:3:4: error: the fake does not like CartPole-v1", err)
        self.assertIn("note: nothing was trained; the run in run is unchanged, and its policy.oct can be used", err)
        self.assertEqual([line for line in out.splitlines() if not line.startswith("t=")], [])
        self.octet("train", "--resume", "--run-dir", "run", "--seed", "77", FAKE_LEARNER="finish")
        self.assertIn("seed: 77", config.read_text())

    def test_resume_says_what_differs(self):
        config = self.home / "run" / "config.yaml"
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        before = config.read_text()
        resume = ["train", "--resume", "--run-dir", "run"]
        out, err = self.octet(*resume, "--set", "env.id=Acrobot-v1", code=2)
        self.assertEqual(err, RESUMES + "--set env.id=Acrobot-v1: error: env.id: Acrobot-v1, but the run to "
                              "resume has learned CartPole-v1; start a new run\n")
        self.assertEqual(out, "")
        self.assertEqual(config.read_text(), before)
        (self.home / "other.yaml").write_text(EXPERIMENT.replace("CartPole-v1", "Acrobot-v1"))
        _, err = self.octet("train", "other.yaml", *resume[1:], code=2)
        self.assertIn("the run to resume has learned CartPole-v1; start a new run, or leave FILE out to continue that run\n", err)
        self.assertEqual(config.read_text(), before)
        _, err = self.octet(*resume, "--set", "algo.n_step=3", "--set", "algo.discount=0.9",
                            FAKE_LEARNER="finish")
        self.assertNotIn("warning: algo.n_step", err)  # replay's windows are then of the new
        self.assertIn("note: algo.n_step: 3, but the run had 0 so far", err)
        self.assertIn("warning: algo.discount: 0.9, but the run had 0.99 so far", err)
        _, err = self.octet(*resume, FAKE_LEARNER="finish")
        self.assertEqual(err, RESUMES)

    def test_resume_keeps_what_the_run_was_started_with(self):
        config = self.home / "run" / "config.yaml"
        self.octet("train", "x.yaml", "--run-dir", "run", "--seed", "7", "--precision", "fp32",
                   "--set", "learner.batch_size=64", FAKE_LEARNER="finish")
        before = config.read_text()
        _, err = self.octet("train", "x.yaml", "--resume", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertEqual((config.read_text(), err), (before, RESUMES))
        _, err = self.octet("train", "x.yaml", "--resume", "--run-dir", "run",
                            "--set", "run.env_steps=5000", FAKE_LEARNER="finish")
        self.assertEqual(err, RESUMES + "octet train: note: run.env_steps: 5000, but the run had 1000 so far\n")
        self.assertEqual(config.read_text(), before.replace("env_steps: 1000", "env_steps: 5000"))
        _, err = self.octet("train", "x.yaml", "--resume", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertEqual(err, RESUMES + "octet train: note: x.yaml:4: run.env_steps: 1000 is ignored, the run "
                              "has 5000; --set run.env_steps=… changes it\n")

    def test_resume_with_other_actors_has_as_many_rollouts(self):
        """Of each environment one, unless FILE says how many: config.yaml names every key, also those that nobody has set."""
        config = self.home / "run" / "config.yaml"
        (self.home / "set.yaml").write_text(EXPERIMENT + "algo:\n  name: ppo\nlearner:\n  batch_size: 16\n")
        note = "octet train: note: {}, but the run had {} so far\n"
        self.octet("train", "x.yaml", "--run-dir", "run", "--set", "algo.name=ppo", FAKE_LEARNER="finish")
        self.assertIn("  batch_size: 16\n", config.read_text())
        _, err = self.octet("train", "set.yaml", "--resume", "--run-dir", "run", "--actors", "2", FAKE_LEARNER="finish")
        self.assertEqual(err, RESUMES + "warning: learner.batch_size: 16 rollouts of each version are used, but 32 environments make one "
                              "each (actor.count: 2 of actor.envs: 16); the rest are discarded\n" + note.format("actor.count: 2", 1))
        _, err = self.octet("train", "--resume", "--run-dir", "run", "--actors", "1", FAKE_LEARNER="finish")
        self.assertEqual(err, RESUMES + note.format("actor.count: 1", 2))
        for actors, batch_size in (2, 32), (1, 16):
            before = config.read_text()
            _, err = self.octet("train", "--resume", "--run-dir", "run", "--actors", str(actors), FAKE_LEARNER="finish")
            self.assertEqual(err, RESUMES + note.format(f"learner.batch_size: {batch_size}", 48 - batch_size) +
                             note.format(f"actor.count: {actors}", 3 - actors))
            self.assertNotEqual(config.read_text(), before)

    def test_resume_with_other_options_of_the_environment(self):
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        _, err = self.octet("train", "--resume", "--run-dir", "run", "--set", "env.options=a=1", code=2)
        self.assertEqual(err, RESUMES + "--set env.options=a=1: error: env.options: 'a=1', but the run to resume "
                              "has learned with ''; returns would not be comparable; start a new run\n")

    def test_resume_without_a_checkpoint(self):
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        (self.home / "run" / "checkpoint.oct").unlink()
        _, err = self.octet("train", "x.yaml", "--resume", "--run-dir", "run", code=1)
        self.assertEqual(err, "octet train: error: 'run' has no checkpoint to resume from, and a "
                              "new run there would overwrite its policy.oct; name another folder with "
                              "--run-dir, without --resume\n")
        (self.home / "run" / "policy.oct").unlink()
        (self.home / "run" / "config.yaml").unlink()
        _, err = self.octet("train", "x.yaml", "--resume", "--run-dir", "run", code=1)
        self.assertIn("nothing was learned there; start it without --resume", err)

    def test_energy(self):
        zone = self.home / "powercap" / "intel-rapl:0"
        zone.mkdir(parents=True)
        for name, text in {"name": "package-0", "energy_uj": "5", "max_energy_range_uj": "1000"}.items():
            (zone / name).write_text(text + "\n", encoding="utf-8")
        model = ("--energy-model", "watts=10,gco2_per_kwh=360")
        out, _ = self.octet("train", "x.yaml", "--run-dir", "run", *model, FAKE_LEARNER="finish", OCTET_POWERCAP=zone.parent)
        found = json.loads((self.home / "run" / "summary.json").read_text())["energy"]
        self.assertEqual((found["source"], found["reason"], found["joules"], found["machine_joules"]), ("powercap", None, 0, 0))
        self.assertAlmostEqual(found["model"]["joules"], 10 * found["cpu_s"], places=4)
        self.assertAlmostEqual(found["model"]["gco2"], 1e-3 * found["cpu_s"], places=5)
        self.assertRegex(out, r"  energy     0 J, 0 g of CO2: .* of the 0 J that the processors measured")
        self.assertRegex(out, r"  model      .* J, .* g of CO2: not measured, but .* of CPU time at 10 W for a busy core")
        _, err = self.octet("train", "x.yaml", "--run-dir", "run2", "--energy-command", "echo none", FAKE_LEARNER="finish")
        self.assertIn("octet train: error: --energy-command: not measured: ", err)
        found = json.loads((self.home / "run2" / "summary.json").read_text())["energy"]
        self.assertEqual((found["source"], found["joules"], found["model"]), (None, None, None))
        _, err = self.octet("train", "x.yaml", "--energy-model", "watts=0", code=2)
        self.assertIn("--energy-model is 'watts=0'; allowed is watts=W", err)

    def test_resume_of_a_run_that_was_cut_off_before_its_first_checkpoint(self):
        self.octet("train", "x.yaml", "--run-dir", "run", "--set", "run.seed=5", FAKE_LEARNER="finish")
        for name in ("checkpoint.oct", "policy.oct"):
            (self.home / "run" / name).unlink()
        _, err = self.octet("train", "--resume", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertEqual(err, "octet train: note: 'run' has no checkpoint yet; the run starts from the beginning\n")
        self.assertIn("seed: 5", (self.home / "run" / "config.yaml").read_text())

    def stop(self, signal_number, code, **more):
        run = self.start("train", "x.yaml", "--run-dir", "run", "--actors", "3", **more)
        self.wait_up()
        began = time.monotonic()
        run.send_signal(signal_number)
        out, err = run.communicate(timeout=DEADLINE_S)
        seconds = time.monotonic() - began
        self.assertTrue(in_time(seconds, STOP_S), f"it took {seconds:.1f} s to stop")
        self.assertEqual(run.returncode, code, out + err)
        self.assertEqual(self.alive(), [])
        return out

    def test_paths_in_the_environment_are_of_the_folder_where_the_command_was_typed(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", OCTET_TLS="certs", OCTET_PLUGIN_DIR="lib",
                         OCTET_PLUGINS="lib")
        self.wait_up()
        daemons = self.alive(but=run.pid)
        self.assertEqual(len(daemons), 4)
        for pid in daemons:
            given = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
            here = self.home.resolve()
            self.assertLessEqual({f"OCTET_TLS={here}/certs", f"OCTET_PLUGIN_DIR={here}/lib"}, set(given))
            self.assertFalse([one for one in given if one.startswith("OCTET_PLUGINS=")])  # the run's own code alone
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=DEADLINE_S)

    def test_runs_of_a_sweep_find_what_the_environment_names_from_here(self):
        self.octet("sweep", "x.yaml", "--over", "algo.discount=0.9", "--sweep-dir", "s", OCTET_LIBEXEC="lib",
                   FAKE_LEARNER="finish")

    def test_interrupt_asks_the_learner_to_stop(self):
        out = self.stop(signal.SIGINT, 130)
        self.assertIn("stopping… (Ctrl-C again to kill)", out)
        self.assertIn("stop: interrupted", self.log("run", "learner"))
        self.assertTrue((self.home / "run" / "policy.oct").exists())
        self.assertEqual(self.summary()["supervisor"]["exit_code"], 130)

    def test_terminate(self):
        self.stop(signal.SIGTERM, 143)
        self.assertIn("stop: interrupted", self.log("run", "learner"))

    def test_hang_up(self):
        for action, code in [(signal.SIG_DFL, 129), (signal.SIG_IGN, 143)]:
            name = f"run-{code}"
            run = self.start_with_hangup(action, "train", "x.yaml", "--run-dir", name)
            self.wait_up(name)
            # Of two that wait at once the later one is handled first.
            run.send_signal(signal.SIGHUP)
            if action == signal.SIG_IGN:
                run.send_signal(signal.SIGTERM)
            out, err = run.communicate(timeout=DEADLINE_S)
            self.assertEqual(run.returncode, code, out + err)

    def test_hang_up_of_a_sweep(self):
        for action, code in [(signal.SIG_DFL, 129), (signal.SIG_IGN, 143)]:
            name = f"sweep-{code}"
            sweep = self.start_with_hangup(action, "sweep", "x.yaml", "--over", "algo.n_step=1,2",
                                           "--sweep-dir", name)
            self.wait_up(f"{name}/trial-0001-seed-1")
            sweep.send_signal(signal.SIGHUP)
            if action == signal.SIG_IGN:
                sweep.send_signal(signal.SIGTERM)
            out, err = sweep.communicate(timeout=DEADLINE_S)
            self.assertEqual(sweep.returncode, code, out + err)

    def killed_sweep(self):
        """A sweep of two runs at once that was killed, when nothing of it runs any more."""
        sweep = self.start("sweep", "x.yaml", "--over", "algo.n_step=1,2", "--jobs", "2", "--sweep-dir", "s")
        for name in ["trial-0001-seed-1", "trial-0002-seed-1"]:
            self.wait_up(f"s/{name}")
        sweep.kill()
        sweep.communicate(timeout=DEADLINE_S)
        self.assert_gone()

    def test_a_resumed_sweep_waits_for_a_run_of_the_one_before(self):
        self.killed_sweep()
        with open(self.home / "s/trial-0001-seed-1/.lock", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # as an octet train that still saves
            sweep = self.start("sweep", "--resume", "--sweep-dir", "s", "--jobs", "2", FAKE_LEARNER="finish")
            lines = []
            while not any(line.startswith("trial 2 of 2") for line in lines):
                lines.append(sweep.stdout.readline())
                self.assertTrue(lines[-1], "the sweep goes on")
        out, err = sweep.communicate(timeout=DEADLINE_S)
        out = "".join(lines) + out
        self.assertEqual(sweep.returncode, 0, out + err)
        self.assertEqual([line.split(", return")[0] for line in out.splitlines() if line.startswith("trial ")][:3],
                         ["trial 1 of 2, seed 1: is waiting for the octet train that still runs in its folder",
                          "trial 2 of 2, seed 1: algo.n_step=2: finished",
                          "trial 1 of 2, seed 1: algo.n_step=1: finished"])

    def test_of_a_large_sweep_the_best_are_compared(self):
        sweep = self.start("sweep", "x.yaml", "--over", "algo.n_step=1..10", "--over", "algo.learning_rate=1e-4..1e-2",
                           "--random", "1001", "--sweep-dir", "s")
        self.wait_up("s/trial-0001-seed-1")
        sweep.send_signal(signal.SIGINT)
        sweep.communicate(timeout=DEADLINE_S)
        # All have ended since; the first was the worst.
        plan = json.loads((self.home / "s/sweep.json").read_text())
        for i, trial in enumerate(plan["trials"]):
            trial["runs"][0] |= {"state": "finished", "return": i}
            run = self.home / f"s/trial-{i + 1:04}-seed-1"
            run.mkdir(exist_ok=True)
            value = trial["values"]["algo.n_step"] if i > 0 else 11
            (run / "config.yaml").write_text(f"{EXPERIMENT}algo: {{n_step: {value}}}\n")
            (run / "summary.json").write_text(json.dumps({"return": {"mean": i},
                                                          "supervisor": {"exit_reason": "finished"}}))
        (self.home / "s/sweep.json").write_text(json.dumps(plan))
        # It reads a thousand folders.
        out, err = self.start("sweep", "--resume", "--sweep-dir", "s").communicate(timeout=10 * DEADLINE_S)
        self.assertEqual(err, "")
        self.assertIn("1001 of 1001 runs are done", out)
        self.assertIn("\nthe best 1000 of 1001 trials:\n", out)
        self.assertIn("algo.n_step=10 ", out)
        self.assertNotIn("algo.n_step=11 ", out)
        self.assertIn("sweep.html, 200 of 1001 runs", out)

    def test_a_resumed_sweep_runs_again_what_has_lost_its_result(self):
        over = ["--over", "algo.n_step=1,2,3", "--sweep-dir", "s"]
        self.octet("sweep", "x.yaml", *over, FAKE_LEARNER="finish")
        shutil.rmtree(self.home / "s/trial-0001-seed-1")
        (self.home / "s/trial-0002-seed-1/summary.json").unlink()
        out, err = self.octet("sweep", "--resume", "--sweep-dir", "s", FAKE_LEARNER="finish")
        self.assertIn("1 of 3 runs are done", out)
        for trial in [1, 2]:
            self.assertIn(f"the result of trial {trial}, seed 1 is missing from 's/trial-000{trial}-seed-1'", err)
            self.assertTrue((self.home / f"s/trial-000{trial}-seed-1/summary.json").exists())
        self.assertEqual(len(re.findall("^trial [12] of 3, seed 1: .*: finished", out, re.M)), 2, out)

    def test_a_sweep_that_runs_is_told_of(self):
        self.killed_sweep()
        with open(self.home / "s/.lock", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _, err = self.octet("sweep", "--resume", "--sweep-dir", "s", code=1)
        self.assertRegex(err, "an octet sweep is running in '.*s'; Ctrl-C stops it, or name another folder")

    def test_a_sweep_that_waits_for_a_run_can_be_stopped(self):
        self.killed_sweep()
        with open(self.home / "s/trial-0001-seed-1/.lock", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            sweep = self.start("sweep", "--resume", "--sweep-dir", "s")
            while "waiting for the octet train" not in (line := sweep.stdout.readline()):
                self.assertTrue(line, "the sweep goes on")
            sweep.send_signal(signal.SIGINT)
            out, err = sweep.communicate(timeout=DEADLINE_S)
        self.assertEqual(sweep.returncode, 130, out + err)
        runs = [run["state"] for trial in json.loads((self.home / "s/sweep.json").read_text())["trials"]
                for run in trial["runs"]]
        self.assertEqual(runs, ["stopped", "waiting"])

    def test_daemons_that_do_not_listen_are_killed_in_time(self):
        self.stop(signal.SIGINT, 130, FAKE_LEARNER="deaf", FAKE_ACTOR="deaf", FAKE_REPLAY="deaf")
        self.assertEqual(self.summary()["daemons"]["learner"]["exit_status"], 128 + 9)

    def start_slow_save(self, *arguments, **more):
        """A learner that saves for longer than a stop has time."""
        return self.start(*arguments, FAKE_LEARNER="large", LD_PRELOAD=FAULTY_DISK, FAULTY_DISK="slow",
                          ASAN_OPTIONS="verify_asan_link_order=0", **more)

    def assert_saved(self, run):
        self.assertEqual((self.home / run / "checkpoint.oct").stat().st_size, 28 << 20)
        self.assertEqual(self.summary(run)["daemons"]["learner"]["exit_status"], 0)
        self.assert_gone()

    def test_large_checkpoint_on_a_slow_disk_is_waited_for(self):
        run = self.start_slow_save("train", "x.yaml", "--run-dir", "run")
        self.wait_up()
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 130, out + err)
        self.assertRegex(out, r"the learner is still writing, \S+ MiB so far \(Ctrl-C again to kill\)")
        self.assert_saved("run")

    def test_a_learner_that_saves_is_waited_for_when_another_daemon_has_ended_the_run(self):
        run = self.start_slow_save("train", "x.yaml", "--run-dir", "run", FAKE_REPLAY="crash")
        while "is still writing" not in (line := run.stdout.readline()):
            self.assertTrue(line, "the learner is waited for")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 1, out + err)
        self.assertIn("already stopping… (Ctrl-C again to kill)", out)
        self.assertIn("replay died too often", err)
        self.assert_saved("run")

    def test_a_sweep_that_cannot_write_stops_its_runs_once(self):
        """A second signal would kill what they save."""
        sweep = self.start_slow_save("sweep", "x.yaml", "--over", "algo.n_step=1,2", "--jobs", "2",
                                     "--sweep-dir", "s")
        for name in ["trial-0001-seed-1", "trial-0002-seed-1"]:
            self.wait_up(f"s/{name}")
        (self.home / "s/sweep.json").unlink()
        (self.home / "s/sweep.json").mkdir()
        for pid in self.alive(but=sweep.pid):
            with contextlib.suppress(OSError):  # one may have ended since
                if os.readlink(f"/proc/{pid}/cwd").endswith("trial-0001-seed-1") and \
                        os.readlink(f"/proc/{pid}/exe").endswith("/octet"):
                    os.kill(pid, signal.SIGKILL)
        log = self.home / "s/log/trial-0002-seed-1.log"
        wait_for("the other run saves", lambda: "is still writing" in log.read_text(encoding="utf-8"))
        sweep.send_signal(signal.SIGINT)
        out, err = sweep.communicate(timeout=DEADLINE_S)
        self.assertEqual(sweep.returncode, 130, out + err)
        self.assertIn(f"cannot write sweep.json in '{self.home}/s': Is a directory", err)
        self.assert_saved("s/trial-0002-seed-1")

    def test_what_a_killed_supervisor_was_writing_is_swept(self):
        self.octet("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="finish")
        dead = subprocess.Popen(["true"])
        dead.wait()
        drafts = [self.home / "run" / f"{name}.tmp.{dead.pid}" for name in ("summary.json", "notes")]
        for draft in drafts:
            draft.write_text("half")
        self.octet("train", "--resume", "--run-dir", "run", FAKE_LEARNER="finish")
        self.assertEqual([draft.exists() for draft in drafts], [False, True])

    def test_interrupt_while_the_learner_is_down(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="crash")
        wait_for("restarts", lambda: len(self.log("run", "learner").splitlines()) >= 3)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 130)
        self.assertEqual(self.alive(), [])

    def test_second_interrupt_kills(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="deaf")
        self.wait_up()
        run.send_signal(signal.SIGINT)
        while "stopping" not in run.stdout.readline():
            pass
        # A second signal right after the first is taken for its echo; a person is slower.
        begin = time.monotonic()
        wait_for("the echo to pass", lambda: time.monotonic() - begin > 0.3)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=DEADLINE_S)
        self.assertIn("killed", out)
        self.assertEqual(run.returncode, 130)
        self.assertEqual(self.alive(), [])

    def test_echo_of_a_signal_does_not_kill(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="deaf")
        self.wait_up()
        run.send_signal(signal.SIGTERM)
        while "stopping" not in run.stdout.readline():
            pass
        run.send_signal(signal.SIGTERM)
        out, _ = run.communicate(timeout=DEADLINE_S)
        self.assertNotIn("killed", out)
        self.assertEqual(run.returncode, 143)
        self.assertEqual(self.alive(), [])

    def test_a_learner_that_is_killed_while_it_stops_has_not_saved(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", FAKE_LEARNER="deaf", FAKE_UPDATES="50")
        while "updates=50 " not in run.stdout.readline():
            pass
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 1, out + err)
        self.assertIn("octet train: error: the run was stopped and could not be saved: learner was killed by signal 9 (Killed); "
                      "the last checkpoint is from update 0; the end of run/log/learner.log:", err)
        self.assertIn(" train --resume --run-dir run\n", out)
        self.assertEqual(self.summary()["supervisor"]["exit_code"], 1)
        self.assertEqual(self.alive(), [])

    def test_killed_supervisor_leaves_no_orphan(self):
        run = self.start("train", "x.yaml", "--run-dir", "run", "--actors", "3")
        self.wait_up()
        self.assertEqual(len(self.alive(but=run.pid)), 6)
        run.kill()
        run.communicate(timeout=DEADLINE_S)
        self.assert_gone()
        out, _ = self.octet("status", "run")
        for text in ["CartPole-v1 told to stop: solved", "spent      2.5 s, 400 env steps"]:
            self.assertIn(text, out)

    def test_reader_that_left_does_not_end_the_run(self):
        run = self.start("train", "x.yaml", "--run-dir", "run")
        self.wait_up()
        run.stdout.close()
        run.send_signal(signal.SIGINT)
        run.stderr.read()
        run.stderr.close()
        self.assertEqual(run.wait(timeout=DEADLINE_S), 130)
        self.assert_gone()

    def start_unread(self, out, **more):
        return subprocess.Popen([OCTET, "train", "x.yaml", "--run-dir", "run"], cwd=self.home, env=self.environment(**more),
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    @staticmethod
    def fill(writer, most=sys.maxsize):
        """Writes until there is no room, but at most that many bytes. Returns the bytes written."""
        os.set_blocking(writer, False)
        count = 0
        for size in (512, 1):
            with contextlib.suppress(BlockingIOError):
                while count < most:
                    count += os.write(writer, b"x" * min(size, most - count))
        os.set_blocking(writer, True)
        return count

    @staticmethod
    def drain(reader, writer, count):
        """Reads count bytes, and waits until there is room."""
        while count > 0:
            count -= len(os.read(reader, count))
        select.select([], [writer], [], DEADLINE_S)

    def unread(self):
        """What takes nothing any more, with its reader: a pipe, a terminal, a terminal with room for less than the report."""
        ends = {"pipe": os.pipe(), "terminal": pty.openpty(), "terminal with little room": pty.openpty()}
        for name, (reader, writer) in ends.items():
            self.fill(writer)
            if "little" in name:
                self.drain(reader, writer, 5000)
                room = self.fill(writer)
                self.drain(reader, writer, 5000)
                self.fill(writer, most=room - 200)
            yield name, writer
            os.close(reader)
            os.close(writer)

    def test_reader_that_takes_nothing_holds_nothing_up(self):
        for name, out in self.unread():
            with self.subTest(name):
                run = self.start_unread(out, TERM="xterm")
                self.wait_up()
                victim = next(pid for pid in self.alive(but=run.pid)
                              if b"octet-actor" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
                os.kill(victim, signal.SIGKILL)
                wait_for("the actor is up again", lambda: len((self.log("run", "actor-0") + self.log("run", "evaluator")).splitlines()) == 3)
                run.send_signal(signal.SIGTERM)
                self.assertEqual(run.wait(timeout=DEADLINE_S), 143)
                self.assertEqual(self.summary()["supervisor"]["exit_code"], 143)
                self.assert_gone()
                shutil.rmtree(self.home / "run")

    def test_signals_while_the_reader_is_waited_for_do_not_keep_the_run(self):
        for name, out in self.unread():
            with self.subTest(name):
                run = self.start_unread(out, TERM="xterm")
                self.wait_up()
                run.send_signal(signal.SIGTERM)
                wait_for("the daemons have ended", lambda: not self.alive(but=run.pid))
                wait_for("the run has ended", lambda: run.poll() is not None or run.send_signal(signal.SIGTERM))
                # The last of these signals may come after the process stopped handling them.
                self.assertIn(run.returncode, (143, -signal.SIGTERM))
                shutil.rmtree(self.home / "run")

    def test_run_ends_whose_reader_takes_nothing(self):
        for name, out in self.unread():
            with self.subTest(name):
                run = self.start_unread(out, TERM="xterm", FAKE_LEARNER="finish")
                self.assertEqual(run.wait(timeout=DEADLINE_S), 0)
                self.assertEqual(self.summary()["supervisor"]["exit_reason"], "finished")
                self.assert_gone()
                shutil.rmtree(self.home / "run")

    def test_two_runs_at_once_do_not_meet(self):
        runs = [self.start("train", "x.yaml", "--run-dir", name) for name in ["one", "two"]]
        for name in ["one", "two"]:
            self.wait_up(name)
        runs[0].send_signal(signal.SIGINT)
        runs[0].communicate(timeout=DEADLINE_S)
        self.assertEqual(len(self.alive(but=runs[1].pid)), 4)
        self.assertNotIn("stop:", self.log("two", "learner"))
        runs[1].send_signal(signal.SIGINT)
        runs[1].communicate(timeout=DEADLINE_S)
        self.assertEqual([run.returncode for run in runs], [130, 130])


class LiveRun(Case):
    def setUp(self):
        super().setUp()
        self.run_ = self.start("train", "x.yaml", "--run-dir", "run")
        self.wait_up()

    def end(self):
        self.run_.send_signal(signal.SIGINT)
        self.run_.communicate(timeout=DEADLINE_S)

    def test_status_of_a_live_and_of_an_ended_run(self):
        out, _ = self.octet("status", "run")
        self.assertIn("training", out)
        self.assertIn("8.12 samples per insert", out)
        self.assertNotIn("\x1b", out)
        live = json.loads(self.octet("status", "run", "--json")[0])
        self.assertEqual((live["folder"], live["ended"], live["env"]), ("run", False, "CartPole-v1"))
        self.assertEqual(live["learner"]["numbers"]["learner.env_steps_budget"], 1000)
        self.assertEqual(live["replay"]["numbers"]["replay.samples_per_insert"], 8.125)
        self.end()
        ended = json.loads(self.octet("status", "run", "--json")[0])
        self.assertEqual((ended["folder"], ended["ended"], ended["env"]), ("run", True, "CartPole-v1"))
        self.assertEqual(ended["summary"], self.summary())
        out, _ = self.octet("status", "run")
        self.assertIn("the run has ended", out)
        for text in ["CartPole-v1 interrupted: solved", "498.2 ± 3.50 over 100 episodes, int8 policy",
                     "50 updates", "eval run/policy.oct\n", "  more       run/summary.json"]:
            self.assertIn(text, out)

    def test_the_age_of_a_run_is_the_learners(self):
        begun = time.time() - 7200
        os.utime(self.home / "run/config.yaml", (begun, begun))
        self.assertNotIn("2:00:", self.octet("status", "run")[0])

    @unittest.skipIf(os.geteuid() != 0, "another user needs root")
    def test_another_user_can_neither_lock_a_run_nor_look_at_its_locks(self):
        run, beside = self.home / "run", self.home / "beside"
        for folder in (self.home, run):
            folder.chmod(0o755)
        beside.mkdir()
        beside.chmod(0o777)

        def by_another(*arguments, code=0):
            done = subprocess.run([OCTET, *arguments], cwd=self.home, env=self.environment(), capture_output=True, text=True,
                                  timeout=DEADLINE_S, check=False, user=65534, group=65534, extra_groups=[])
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done.stdout + done.stderr

        def status_in_report():
            by_another("report", "run", "--html", "beside/x.html")
            page = (beside / "x.html").read_text(encoding="utf-8")
            return json.loads(re.search(r'id="snapshot">(.*?)</script>', page, re.S)[1])["/runs"]["runs"][0]["status"]

        self.assertEqual((run / ".lock").stat().st_mode & 0o7777, 0o600)
        (run / "learner.lock").touch(0o600)
        unknown = "run: cannot tell whether the run has ended: summary.json is missing, and only the owner of the folder can test its locks"
        self.assertIn(f"octet status: error: {unknown}, and ", by_another("status", "run", code=1))
        (run / "learner.ipc").rename(run / "away")
        self.assertIn(f"octet top: error: {unknown}", by_another("top", "run", "--once", code=1))
        (run / "away").rename(run / "learner.ipc")
        self.assertEqual(status_in_report(), "unknown")
        self.end()
        self.assertIn("the run has ended", by_another("status", "run"))
        self.assertIn("the run in 'run' has ended", by_another("top", "run", "--once", code=1))
        self.assertEqual(status_in_report(), "ended")

    def test_names_that_a_terminal_would_obey_are_only_shown(self):
        run = self.home / "x\033[31m\ny"
        run.mkdir()
        (run / "config.yaml").write_text(EXPERIMENT)
        for command in ["status", "compare"]:
            out, err = self.octet(command, run.name)
            self.assertIn("x?[31m?y", out)
            self.assertNotIn("\033", out + err)
        self.assertIn("'nowhere?31m'", self.octet("compare", "nowhere\x9b31m", code=1)[1])  # U+009B is ESC [
        _, err = self.octet("compare", "nowhere\033[31m\ny", code=1)
        self.assertIn("cannot enter 'nowhere?[31m?y'", err)

    def test_what_is_printed_has_no_control_characters(self):
        """Names of folders, texts of files: a terminal obeys none, and none reorders a line. JSON keeps them, escaped."""
        name = "run\x1b[2J\u202egnp.\u2066\x9b\x07"
        folder = self.home / name
        folder.mkdir()
        (folder / "config.yaml").write_text(f"env:\n  id: {name[3:]!r}\n", encoding="utf-8")
        (folder / "policy.oct").write_text(name, encoding="utf-8")
        for command in (["run", "check", name], ["status", name], ["inspect", name], ["config", folder / "config.yaml"],
                        ["train", "--resume", "--run-dir", name], ["compare", name], ["doctor", name], ["stop", name]):
            ended = subprocess.run([OCTET, *command], cwd=self.home, env=self.environment(), capture_output=True, text=True, timeout=60, check=False)
            self.assertIn("?", ended.stdout + ended.stderr, command)
            self.assertNotRegex(ended.stdout + ended.stderr, "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", command)
        told = self.octet("run", "check", "--json", name, code=1)[0]
        self.assertNotRegex(told, "[\x7f-\x9f\u202e\u2066]")
        self.assertEqual(json.loads(told)["folder"], name)
        self.octet("report", name, "--html", "page.html")
        self.assertNotRegex((self.home / "page.html").read_text(encoding="utf-8"), "[\x1b\x9b\u202e\u2066]")

    def test_status_of_an_ended_run_says_why_nothing_was_evaluated(self):
        self.end()
        summary = self.summary()
        summary["return"] = None
        self.assertNotIn("error", summary["daemons"]["evaluator"])
        (self.home / "run/summary.json").write_text(json.dumps(summary))
        out, _ = self.octet("status", "run")
        self.assertIn("  return     not evaluated\n  ", out)
        self.assertNotIn("evaluator:", out)
        summary["daemons"]["evaluator"]["error"] = "X: it needs a limit"
        (self.home / "run/summary.json").write_text(json.dumps(summary))
        out, _ = self.octet("status", "run")
        self.assertIn("  return     not evaluated\n             evaluator: X: it needs a limit\n", out)

    def test_a_stopped_learner_has_not_ended_its_run(self):
        learner = next(pid for pid in self.alive()
                       if b"octet-learner" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(learner, signal.SIGSTOP)
        for more in ([], ["--json"], ["--watch"]):
            out, err = self.octet("status", "run", *more, code=1)
            self.assertEqual(out, "")
            self.assertIn("run: the run has not ended, but its learner cannot be reached: "
                          "ipc://learner.ipc: the process there is stopped, or hangs", err)
        os.kill(learner, signal.SIGCONT)
        # Those who asked in vain have gone, and it lets others in.
        self.assertIn("training", self.octet("status", "run")[0])
        self.assertIn(learner, self.alive())

    def test_piped_lines_are_not_cut(self):
        (self.home / ("run" + 70 * "n")).symlink_to("run")
        out, _ = self.octet("status", "run" + 70 * "n")
        self.assertIn("run" + 70 * "n" + " · CartPole-v1 · training", out)

    def test_the_folder_and_the_learner_show_the_same(self):
        of_folder, _ = self.octet("status", "run")
        of_learner, _ = self.octet("status", "--learner", f"ipc://{self.home}/run/learner.ipc", "--replay",
                                   f"ipc://{self.home}/run/replay.ipc")
        labels = [[line.split(" ")[0] for line in text.splitlines() if line[0] != " "]
                  for text in (of_folder, of_learner)]
        self.assertEqual(labels[0], ["run", "progress", "learner", "replay", "actors", "training", "evaluation", "waiting"])
        self.assertEqual(*labels)

    def test_status_watches_until_the_end(self):
        watch = self.start("status", "run", "--watch")
        self.assertIn("training", watch.stdout.readline())
        self.end()
        out, _ = watch.communicate(timeout=DEADLINE_S)
        self.assertIn("the run has ended", out)

    def test_json_is_watched_until_the_end(self):
        watch = self.start("status", "run", "--watch", "--json")
        self.assertFalse(json.loads(watch.stdout.readline())["ended"])
        self.end()
        out, err = watch.communicate(timeout=DEADLINE_S)
        self.assertEqual((watch.returncode, err), (0, ""))
        last = json.loads(out.splitlines()[-1])
        self.assertEqual((last["ended"], last["summary"]), (True, self.summary()))

    def test_an_address_may_be_another_runs_by_now(self):
        for name in ("ended", "saved", "new"):
            (self.home / name).mkdir()
            (self.home / name / "config.yaml").write_text(f"env: {{id: CartPole-v1}}\n"
                                                          f"net: {{learner: ipc://{self.home}/run/learner.ipc}}\n")
        (self.home / "ended/summary.json").write_text('{"run_id": "0000000000000005"}')
        shutil.copy(self.home / "run/checkpoint.oct", self.home / "saved")  # whose run is 1, and that of the learner is 7
        before = self.log("run", "replay")
        for name in ("ended", "saved"):
            out, _ = self.octet("status", name)
            self.assertIn(f"{name}: the run has ended", out)
            words = "another run, 0000000000000007, now has the address ipc://"
            self.assertIn(words, self.octet("top", name, "--once", code=1)[1])
            self.assertIn(words, self.octet("set", name, "replay.samples_per_insert=16", code=1)[1])
        self.assertEqual(self.log("run", "replay"), before)
        self.assertIn("training", self.octet("status", "new")[0])  # it may be this one, which has no checkpoint yet
        (self.home / "ended/summary.json").write_text('{"run_id": "0000000000000007"}')
        self.assertIn("training", self.octet("status", "ended")[0])  # resumed

    def test_stop_ends_the_run_of_a_folder(self):
        out, _ = self.octet("stop", "run", "--reason", "seen enough")
        self.assertEqual(out, "run: the learner is ending the run; see its log and summary.json\n")
        self.run_.communicate(timeout=DEADLINE_S)
        self.assertEqual(self.run_.returncode, 0)
        self.assertIn("stop: seen enough\n", self.log("run", "learner"))
        for command in ["stop", "checkpoint"]:
            _, err = self.octet(command, "run", code=1)
            self.assertEqual(err, f"octet {command}: error: run: the run has ended\n")

    def test_stop_and_checkpoint_are_of_one_run(self):
        for command in ["stop", "checkpoint"]:
            for words, wanted in ((["run", "--learner", "ipc://x"], "RUN_DIR or --learner, not both"), ([], "no RUN_DIR given"),
                                  (["run", "run2"], "two folders, 'run' and 'run2'; name one")):
                self.assertIn(wanted, self.octet(command, *words, code=2)[1])
            self.assertIn("cannot enter 'nowhere': No such file", self.octet(command, "nowhere", code=1)[1])
        _, err = self.octet("checkpoint", "run", code=1)  # which this learner does not know
        self.assertRegex(err, "octet checkpoint: error: run: this peer does not offer that method\n")
        self.end()

    def test_stop_is_not_for_another_run_at_the_address(self):
        (self.home / "other").mkdir()
        config = (self.home / "run/config.yaml").read_text()
        address = f"ipc://{self.home.resolve()}/run/learner.ipc"
        (self.home / "other/config.yaml").write_text(re.sub(r'learner: ".*"', f'learner: "{address}"', config))
        _, err = self.octet("stop", "other", code=1)
        self.assertIn("has no checkpoint yet, so its run is not known", err)
        (self.home / "other/.lock").touch()
        with open(self.home / "other/.lock", "r+", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (self.home / "other/summary.json").write_text('{"run_id": "0000000000000005"}')
            _, err = self.octet("stop", "other", code=1)
        self.assertEqual(err, f"octet stop: error: other: another run, 0000000000000007, now has the address {address}\n")
        self.assertIsNone(self.run_.poll())
        self.end()

    def test_set_changes_the_limiter(self):
        out, _ = self.octet("set", "run", "replay.samples_per_insert=16", "replay.tolerance=0.5")
        self.assertIn("replay.samples_per_insert=16", out)
        self.assertIn("configure: samples_per_insert=16 tolerance=0.5",
                      self.log("run", "replay"))
        out, _ = self.octet("set", "run", "replay.tolerance=0.25")  # the other one stays
        self.assertEqual(out, "run: replay.tolerance=0.25, until the learner or replay is restarted\n")
        self.assertIn("(kept) tolerance=0.25", self.log("run", "replay"))
        _, err = self.octet("set", "run", "replay.samples_per_insert=-1", code=2)
        self.assertIn("replay.samples_per_insert", err)
        self.end()
        _, err = self.octet("set", "run", "replay.samples_per_insert=16", code=1)
        self.assertIn("'run': the run does not answer: nothing listens there", err)


class Screen:
    """As much of a terminal as the status block uses; long lines wrap."""

    def __init__(self, width):
        self.width, self.rows, self.y, self.x = width, [""], 0, 0

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]", text):
            if part == "\r":
                self.x = 0
            elif part == "\n":
                self.y, self.x = self.y + 1, 0
            elif part.endswith("A") and part.startswith("\x1b"):
                self.y = max(0, self.y - int(part[2:-1]))
            elif part == "\x1b[J":
                self.rows = self.rows[: self.y + 1]
                self.rows[-1] = self.rows[-1][: self.x]
            elif part.startswith("\x1b"):
                assert part.endswith("m"), repr(part)
            else:
                if self.x == self.width:
                    self.y, self.x = self.y + 1, 0
                self.grow()
                row = self.rows[self.y].ljust(self.x)
                self.rows[self.y] = row[: self.x] + part + row[self.x + 1:]
                self.x += 1
            self.grow()

    def grow(self):
        while len(self.rows) <= self.y:
            self.rows.append("")


class Terminal(Case):
    def on_terminal(self, width, run="run", **more):
        """Runs a finishing run on a terminal; returns all that it wrote there."""
        child, fd = pty.fork()
        if child == 0:
            os.chdir(self.home)
            environment = self.environment(**{"TERM": "xterm", "FAKE_LEARNER": "finish", **more})
            os.execve(OCTET, [OCTET, "train", "x.yaml", "--run-dir", run], environment)
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        out = b""
        while True:
            try:
                piece = os.read(fd, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            out += piece
        os.close(fd)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, out.decode())
        return out.decode().replace("\r\n", "\n")

    def test_one_block_is_redrawn_in_place(self):
        out = self.on_terminal(100)
        self.assertGreater(len(re.findall(r"\x1b\[\d+A", out)), 1)
        self.assertIn("\x1b[1m", out)
        screen = Screen(100)
        screen.feed(out)
        rows = "\n".join(screen.rows)
        self.assertEqual(rows.count("progress"), 1, rows)
        self.assertEqual(rows.count("env steps/s"), 1, rows)
        self.assertIn("CartPole-v1 finished: solved", rows)

    def test_block_is_in_what_the_locale_has(self):
        for i, (locale, is_ascii) in enumerate([("C", True), ("de_DE", True), ("de_DE.ISO-8859-1@euro", True), ("UTF-8", False),
                                                ("de_DE.utf8@euro", False), ("en_US.UTF-8", False)]):
            out = self.on_terminal(100, f"run{i}", LC_ALL=locale)
            block = out.split("CartPole-v1 finished")[0]
            self.assertEqual(block.isascii(), is_ascii, locale)

    def test_no_line_is_wider_than_a_small_terminal(self):
        out = self.on_terminal(40)
        block = out.split("CartPole-v1 finished")[0]
        # The width is set just after the start, so the first block may still be of 80 columns.
        last = block[block.rindex("\x1b[J"):]
        for line in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", last).split("\n"):
            self.assertLess(len(line), 40)

    def test_no_color_is_obeyed(self):
        self.assertNotRegex(self.on_terminal(100, NO_COLOR="1"), r"\x1b\[[0-9;]*m")

    def test_dumb_terminal_gets_plain_lines(self):
        out = self.on_terminal(100, TERM="dumb")
        self.assertNotIn("\x1b", out)
        self.assertIn("steps=", out)


if __name__ == "__main__":
    OCTET, FAKE, FAULTY_DISK, STUCK_CLOSE = (os.path.abspath(path) for path in sys.argv[1:5])
    PLUGINS = pathlib.Path(OCTET).parent.parent / "tests/envs"
    unittests.main([sys.argv[0], *sys.argv[5:]], processes=4)
