#!/usr/bin/env python3
"""octet plan: what it prints and answers for experiments that run, that do not fit, and that cannot run; and the line of
octet train. Usage: test_plan.py OCTET

The numbers are this machine's at this moment, so they are checked for what must hold of any: signs, orders and sums."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402
from daemons import wait_for  # noqa: E402

OCTET = ""
PLUGINS = pathlib.Path()  # of tests/envs
DEADLINE_S = 120
SHORT = ["--seconds", "0.3"]
# Of the JSON, with the members of each object: scripts read them.
SCHEMA = {
    "env": str, "preset": str,
    "budget": {"env_steps", "updates", "wall_s", "ends_by"},
    "measured": {"seconds", "start_s", "env_steps", "updates", "spread"},
    "time_s": {"low", "mid", "high"},
    "goal": {"return", "runs", "env_steps", "time_s"},
    "limit": {"is", "text"},
    "actors": {"count", "envs", "env_steps_per_s", "env_steps_per_s_max", "wait_share", "env_share", "wanted"},
    "learner": {"count", "batch_size", "updates_per_s", "updates_per_s_max", "wait_share"},
    "cores": {"usable", "used", "learner", "replay", "actors", "evaluator", "others"},
    "memory": {"learner", "replay", "actors", "evaluator", "table", "table_in_file", "total", "available", "fits"},
    "disk": {"table", "checkpoints", "total", "available", "folder", "fits"},
    "network": {"experience_bytes_per_s", "policy_bytes_per_s"},
    "evaluation": {"episodes", "per_s", "final_s"},
}
LIMITS = {"learner", "actors", "cores", "turns", "exchange", "balanced"}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="octet-test-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)

    def environment(self, **more):
        return {**{k: v for k, v in os.environ.items() if not k.startswith("OCTET_")}, "LANG": "C.UTF-8", **more}

    def octet(self, *arguments, code=0, **more):
        done = subprocess.run([OCTET, *arguments], cwd=self.home, env=self.environment(**more), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def plan(self, *arguments, code=0, **more):
        return json.loads(self.octet("plan", "--json", *arguments, code=code, **more)[0])

    def experiment(self, env_id, *lines):
        (self.home / "x.yaml").write_text("\n".join([f"env:\n  id: {env_id}", *lines, ""]), encoding="utf-8")

    def assert_nothing_is_left(self):
        self.assertEqual([path.name for path in self.home.iterdir() if path.name != "x.yaml"], [])


class Plans(Case):
    def assert_range(self, numbers):
        self.assertTrue(0 < numbers["low"] < numbers["mid"] < numbers["high"], numbers)

    def test_a_preset(self):
        plan = self.plan("cartpole", *SHORT)
        for name, members in SCHEMA.items():
            if isinstance(members, set):
                self.assertEqual(set(plan[name]), members, name)
            else:
                self.assertIsInstance(plan[name], members)
        self.assertEqual(set(plan), set(SCHEMA))
        self.assertEqual((plan["env"], plan["preset"]), ("CartPole-v1", "cartpole"))
        self.assert_range(plan["time_s"])
        self.assert_range(plan["actors"]["env_steps_per_s"])
        self.assert_range(plan["learner"]["updates_per_s"])
        self.assertIn(plan["limit"]["is"], LIMITS)
        self.assertGreaterEqual(plan["measured"]["seconds"], 0.3)
        memory = plan["memory"]
        self.assertEqual(memory["total"], sum(memory[part] for part in ("learner", "replay", "actors", "evaluator")))
        self.assertTrue(memory["fits"] and plan["disk"]["fits"])
        self.assertEqual(plan["disk"]["folder"], str(self.home.resolve()))
        # Its goal was measured (presets/goals.csv), and comes before the budget is spent.
        self.assertGreater(plan["goal"]["runs"], 0)
        self.assertLess(plan["goal"]["time_s"]["mid"], plan["time_s"]["mid"])
        self.assert_nothing_is_left()

    def test_text(self):
        out, err = self.octet("plan", "cartpole", *SHORT)
        self.assertEqual(err, "")
        self.assertTrue(out.startswith("plan for CartPole-v1 by the preset cartpole, measured for "), out)
        self.assertIn("then the final evaluation", " ".join(out.split()))
        labels = [line.split()[0] for line in out.splitlines()[1:] if line[2] != " "]
        self.assertEqual(labels, ["time", "goal", "limit", "actors", "learner", "waiting", "evaluator", "cores", "memory",
                                  "disk", "network"])
        self.assertLessEqual(max(map(len, out.splitlines())), 80, out)

    def test_the_goal_of_other_settings_is_not_known(self):
        self.assertEqual(self.plan("cartpole", "--set", "algo.n_step=5", *SHORT)["goal"]["runs"], 0)
        self.assertGreater(self.plan("cartpole", "--seed", "7", *SHORT)["goal"]["runs"], 0)

    def test_options_are_those_of_train(self):
        plan = self.plan("cartpole", "--actors", "3", "--set", "run.updates=500", "--set", "actor.envs=4", *SHORT)
        self.assertEqual((plan["actors"]["count"], plan["actors"]["envs"]), (3, 4))
        self.assertEqual(plan["budget"]["ends_by"], "run.updates")

    def test_rollouts_take_turns_or_one_side_works_all_the_time(self):
        plan = self.plan("cartpole-ppo", *SHORT)
        self.assertIn(plan["limit"]["is"], {"turns", "learner", "actors", "cores"})

    # What the user keeps there is not touched, nor read.
    def test_a_table_elsewhere_stays_as_it_is(self):
        table = self.home / "mine.oct"
        self.plan("cartpole", "--set", f"replay.path={table}", *SHORT)
        self.assertFalse(table.exists())

    def test_a_folder_that_cannot_be_written_to(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.home.chmod(0o555)
        self.addCleanup(self.home.chmod, 0o755)
        self.assert_range(self.plan("cartpole", *SHORT)["time_s"])

    def test_an_interrupt_leaves_nothing(self):
        child = subprocess.Popen([OCTET, "plan", "cartpole", "--seconds", "3000"], cwd=self.home, env=self.environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for("the trial has begun", lambda: list(self.home.glob("octet-plan-*/log/learner.log")))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 128 + signal.SIGINT, out + err)
        self.assert_nothing_is_left()


class DoesNotFit(Case):
    def test_memory(self):
        plan = self.plan("cartpole", "--set", "replay.path=none", "--set", "replay.capacity=2000000000", code=1)
        self.assertFalse(plan["memory"]["fits"])
        self.assertGreater(plan["memory"]["total"], plan["memory"]["available"])
        self.assertEqual(plan["measured"]["seconds"], 0)
        out, _ = self.octet("plan", "cartpole", "--set", "replay.path=none", "--set", "replay.capacity=2000000000", code=1)
        self.assertIn("  limit      not measured, because the run does not fit\n", out)
        self.assertIn("  warning    memory is too small: ", out)

    def test_disk(self):
        settings = ["--set", "replay.capacity=2000000000"]
        plan = self.plan("minatar/asterix", *settings, code=1)
        self.assertFalse(plan["disk"]["fits"])
        self.assertIn("  warning    the disk is too full: ", self.octet("plan", "minatar/asterix", *settings, code=1)[0])


class Refusals(Case):
    def refused(self, arguments, code, *texts):
        out, err = self.octet("plan", *arguments, code=code)
        self.assertEqual(out, "")
        for text in texts:
            self.assertIn(text, err)
        self.assert_nothing_is_left()

    def test_wrong_use(self):
        for arguments, text in [
                ([], "no experiment FILE or preset given"),
                (["cartpole", "pendulum"], "two files, 'cartpole' and 'pendulum'; name one"),
                (["cartpol"], "did you mean 'cartpole'?"),
                (["cartpole", "--seconds", "0"], "--seconds is '0'"),
                (["cartpole", "--actors", "0"], "--actors is '0'"),
                (["cartpole", "--resume"], "unknown option '--resume'")]:
            self.refused(arguments, 2, text)

    def test_a_mistake_in_the_file_has_its_line(self):
        self.experiment("CartPole-v1", "learner:", "  batch_sice: 3")
        self.refused(["x.yaml"], 2, "x.yaml:4:3: error: unknown key learner.batch_sice", "learner.batch_size")

    def test_an_algorithm_that_does_not_suit_the_environment(self):
        self.experiment("CartPole-v1", "algo:", "  name: sac")
        self.refused(["x.yaml"], 2, "x.yaml:4: error:")

    def test_a_process_outside_that_learns(self):
        self.experiment("CartPole-v1", "algo:", "  name: external")
        self.refused(["x.yaml"], 1, "with algo.name: external another process learns")

    def test_a_python_that_is_missing(self):
        self.experiment("gym:CartPole-v1")
        out, err = self.octet("plan", "x.yaml", code=2, OCTET_PYTHON="/nonexistent/python")
        self.assertEqual(out, "")
        self.assertIn("x.yaml:2: error: env.id: gym:CartPole-v1: ", err)

    def test_a_plug_in_that_crashes(self):
        self.experiment(PLUGINS / "bad_crash.so")
        self.refused(["x.yaml"], 1, "cannot measure the run: ", " was killed by signal ",
                     f"; for details run 'octet env check {PLUGINS}/bad_crash.so'")

    def test_a_plug_in_that_ends_the_process(self):
        self.experiment(PLUGINS / "bad_exit.so")
        self.refused(["x.yaml"], 1, "cannot measure the run: ")

    def test_a_plug_in_that_crashes_when_it_is_opened(self):
        self.experiment(PLUGINS / "bad_create_crash.so")
        self.refused(["x.yaml"], 2, "x.yaml:2: error: env.id: opening ")

    # Its steps never return: no number but a bound is known.
    def test_a_plug_in_that_hangs(self):
        self.experiment(PLUGINS / "bad_hang.so")
        plan = self.plan("x.yaml", *SHORT, code=1)
        self.assertEqual(plan["limit"]["is"], "unknown")
        self.assertGreater(plan["time_s"]["low"], 0)
        self.assertIsNone(plan["time_s"]["high"])
        self.assertIsNone(plan["preset"])
        self.assert_nothing_is_left()


class Train(Case):
    def test_a_run_begins_with_its_plan(self):
        out, _ = self.octet("train", "cartpole", "--no-ui", "--run-dir", "run", "--set", "run.stop_at_return=none",
                            "--set", "run.env_steps=1500000")
        lines = [line for line in out.splitlines() if line.startswith("plan ")]
        self.assertEqual(len(lines), 1, out)
        self.assertRegex(lines[0], r"^plan       1\.5 M env steps in [^·]* (s|min|h) · limit: \w+ · memory [\d.]+ [KMG]iB$")
        self.assertLessEqual(len(lines[0]), 80)
        table = self.plan("cartpole", "--seconds", "1", "--set", "run.env_steps=1500000")["disk"]["table"]
        self.assertEqual((self.home / "run/replay.oct").stat().st_size, table)


if __name__ == "__main__":
    OCTET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    PLUGINS = pathlib.Path(OCTET).resolve().parents[1] / "tests/envs"
    unittests.main(sys.argv)
