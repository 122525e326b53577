#!/usr/bin/env python3
"""End-to-end tests of octet distill (docs/transfer.md): see e2e.py.

usage: e2e_distill.py OCTET TEST
"""

import itertools
import re
import resource
import shutil
import sys

from e2e import OCTET, PENDULUM, ROOT, finish, ran, scratch, train
from daemons import run_named

PENDULUM_SAC = ROOT / "presets/pendulum-sac.yaml"
# A policy of some quality, soon.
SHORT = ["--set", "run.env_steps=30000", "--set", "run.stop_at_return=none"]
QUICK = ["--observations", "4000", "--updates", "400", "--rounds", "2", "--episodes", "5"]


def octet(*arguments, code=0, **options):
    done = ran(OCTET, *arguments, **options)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def solved(folder):
    """A run that has solved CartPole, the same one each time: what a small student makes of a teacher differs."""
    run = folder / "teacher"
    finish(train(run, "--set", "run.env_steps=1000000", "--set", "run.deterministic=true"), run)
    return run


def returns(text):
    return {who: float(mean) for who, mean in re.findall(r"^(teacher|student) .*?\s(-?[\d.]+) ±", text, re.MULTILINE)}


def options_of(text):
    return set(re.findall(r"--[a-z][a-z-]*", text))


def test_a_student_reaches_its_teacher():
    """With a tenth of the bytes; and every other command takes it."""
    with scratch() as folder:
        teacher, student = solved(folder), folder / "student"
        text = octet("distill", teacher, "--hidden", "8,8", "--observations", "40000", "--updates", "8000", "--out",
                     student)
        means = returns(text)
        assert means["student"] > 450 and means["student"] > means["teacher"] - 40, text
        assert "student  int8" in text and "of the greedy actions agree" in text, text
        policy, fp32 = student / "policy.oct", student / "policy.fp32.oct"
        assert policy.stat().st_size < 600 and fp32.stat().st_size < 1200
        assert f"mean return {means['student']:g}" in octet("inspect", policy), text
        mean = float(re.search(r"return +([\d.]+)", octet("eval", student, "--seed", "77"))[1])
        assert mean > 450, mean
        octet("quantize", student, "--precision", "int4", "--out", folder / "int4.oct")
        octet("export", policy, "--c99", folder / "student.h")
        octet("act", student, input="0 0 0.01 0\n")
        # And a run can begin with it.
        run = folder / "run"
        text = finish(train(run, *SHORT, "--init-from", fp32, "--set", "network.hidden=[8,8]"), run)
        assert "init: policy layer 2 (8 -> 2, linear): taken" in text, text


def test_the_same_seed_gives_the_same_student():
    with scratch() as folder:
        run = folder / "teacher"
        finish(train(run, *SHORT), run)
        files = []
        for name, seed in (("first", 1), ("again", 1), ("other", 2)):
            octet("distill", run, *QUICK, "--seed", seed, "--out", folder / "new" / name)
            files.append((folder / "new" / name / "policy.oct").read_bytes())
        assert files[0] == files[1] != files[2]


def test_it_learns_on_recorded_observations():
    """Of a run's replay, of a data set, and of lines; without an environment returns are not known."""
    with scratch() as folder:
        run = folder / "teacher"
        finish(train(run, *SHORT), run)
        octet("data", "export", run / "replay.oct", "--out", folder / "steps.oct")
        lines = folder / "lines.txt"
        lines.write_text("".join(f"{i / 100:g} 0.1 {-i / 500:g}, 0\n" for i in range(300)))
        for name, source, rows in (("run", ["--replay", run], None), ("set", ["--replay", folder / "steps.oct"], None),
                                   ("lines", ["--obs", lines], 300)):
            text = octet("distill", run, *source, "--updates", "400", "--rounds", "2", "--episodes", "5", "--out",
                         folder / name)
            count = int(re.search(r"round 2 of 2: (\d+) observations, 400 updates", text)[1])
            assert count == rows or rows is None and count > 20000, text
            assert "student" in returns(text), text
        shutil.copy(run / "replay.oct", folder / "alone.oct")
        octet("distill", run, "--replay", folder / "alone.oct", "--environment", run / "environment.oct", "--updates", "400",
              "--rounds", "2", "--episodes", "5", "--out", folder / "alone")
        both = octet("distill", run, "--obs", lines, *QUICK, "--out", folder / "both")
        assert "round 2 of 2: 4300 observations, 400 updates" in both, both
        gone = octet("distill", run, "--obs", lines, "--updates", "400", "--env", "Nowhere-v0", "--out", folder / "gone")
        assert "returns are not measured: environment 'Nowhere-v0'" in gone, gone
        assert "observations that were not used for learning" in gone and not returns(gone), gone


def test_observations_are_normalised_where_there_are_256():
    """However many rounds they are divided over, and whether recorded or fresh."""
    with scratch() as folder:
        run, lines = folder / "teacher", folder / "lines.txt"
        finish(train(run, *SHORT), run)
        lines.write_text("".join(f"{i / 100:g} 0.1 {-i / 500:g}, 0\n" for i in range(100)))
        for name, source, first in (("fresh", ["--observations", "1000"], 256),
                                    ("both", ["--obs", lines, "--observations", "1000"], 356),
                                    ("few", ["--observations", "255"], 255)):
            text = octet("distill", run, *source, "--updates", "400", "--episodes", "5", "--out", folder / name)
            assert f"round 1 of 10: {first} observations, 40 updates" in text, text
            assert ("255 observations are too few to normalise by; 256 are needed" in text) == (name == "few"), text
            header = folder / "student.h"
            octet("export", folder / name, "--c99", header, "--name", "its")
            mean, inverse = (re.search(rf"its_x_{what}0\[4\] = {{(.*?)}}", header.read_text(), re.DOTALL)[1].split(",")
                             for what in ("mean", "inverse"))
            numbers = [float.fromhex(x.strip().removesuffix("f")) for x in (*mean, *inverse) if x.strip()]
            assert (numbers == [0, 0, 0, 0, 1, 1, 1, 1]) == (name == "few"), (name, numbers)


def test_a_box_is_learned_before_tanh():
    with scratch() as folder:
        run = folder / "teacher"
        finish(train(run, "--set", "run.env_steps=6000", "--set", "run.stop_at_return=none", preset=PENDULUM), run)
        text = octet("distill", run / "policy.oct", *QUICK, "--hidden", "16", "--precision", "int4", "--out", folder / "s")
        assert re.search(r"teacher +int8 .*\n(.*\n)*student +int4", text), text
        assert "of the actions within 0.1 standard deviations" in text, text
        assert "deviations are not learned" not in text, text
        text = octet("distill", run, *QUICK, "--loss", "kl", "--out", folder / "t", code=1)
        assert "use the loss squares" in text, text
        text = octet("distill", run, *QUICK, "--temperature", "2", "--out", folder / "t", code=1)
        assert "--temperature is for a softmax; the teacher's actions are a box" in text, text


def test_a_student_keeps_the_environments_options():
    """In a file that no command takes for a run; the student of a student has it, too."""
    with scratch() as folder:
        run, student, second = folder / "teacher", folder / "teacher/student-8-int8", folder / "second"
        finish(train(run, "--set", "run.env_steps=6000", "--set", "run.stop_at_return=none", "--set",
                     "env.options=action_repeat=2", preset=PENDULUM), run)
        text = octet("distill", run, *QUICK, "--hidden", "8")
        assert "environment Pendulum-v1, options action_repeat=2 (config.yaml beside the policy)\n" in text, text
        octet("distill", student, *QUICK, "--hidden", "8", "--out", second)
        for one in (student, second):
            assert sorted(path.name for path in one.iterdir()) == ["env.yaml", "policy.fp32.oct", "policy.oct"]
            text = octet("eval", one, "--episodes", "3")
            assert "options      action_repeat=2 (env.yaml beside the policy)" in text, text
            assert "length       100.0 steps" in text, text
            assert "action repeat 2" in octet("export", one, "--c99", folder / "student.h")
        assert "there is no config.yaml" in octet("compare", second, code=1)
        # Of a policy alone nothing says what they are, unless the command line does.
        shutil.copy(run / "policy.oct", folder / "alone.oct")
        octet("distill", folder / "alone.oct", *QUICK, "--out", folder / "unknown")
        assert not (folder / "unknown/env.yaml").exists()
        octet("distill", folder / "alone.oct", *QUICK, "--options", "action_repeat=4", "--out", folder / "said")
        assert "length       50.0 steps" in octet("eval", folder / "said", "--episodes", "3")


def test_a_student_finds_its_models_from_everywhere():
    with scratch() as folder:
        shutil.copytree(ROOT / "envs/dmc/models", folder / "models")
        finish(train(folder / "run", "--set", "run.env_steps=3000", "--set", "env.options=mjcf_dir=models", "--set", "replay.min_size=500", "--set",
                     "replay.samples_per_insert=1", "--set", "evaluation.episodes=10",
                     preset=ROOT / "presets/dmc/pendulum_swingup.yaml", cwd=folder), folder / "run")
        assert f"options      mjcf_dir={folder.resolve()}/models (config.yaml" in octet("eval", folder / "run", "--episodes", "1")
        shutil.copy(folder / "run/policy.oct", folder / "alone.oct")
        octet("distill", "alone.oct", *QUICK, "--options", "max_episode_steps=40,mjcf_dir=models,action_repeat=2",
              "--out", "student", cwd=folder)
        assert f"mjcf_dir: {folder.resolve()}/models" in (folder / "student/env.yaml").read_text().replace('"', "")
        text = octet("eval", folder / "student", "--episodes", "1")
        assert "length       20.0 steps" in text, text
        assert f"mjcf_dir={folder.resolve()}/models (env.yaml beside the policy)" in text, text


def test_deviations_that_are_not_learned_are_told():
    with scratch() as folder:
        run = folder / "teacher"
        finish(train(run, "--set", "run.env_steps=1500", "--set", "run.stop_at_return=none", preset=PENDULUM_SAC), run)
        for loss, is_told in (("squares", True), ("kl", False)):
            text = octet("distill", run, *QUICK, "--loss", loss, "--out", folder / loss)
            assert ("the student's deviations are not learned" in text) == is_told, text


def test_mistakes_are_told_and_leave_nothing():
    with scratch() as folder:
        run = folder / "teacher"
        finish(train(run, *SHORT), run)
        (folder / "foreign").write_bytes(b"#!/bin/sh\n" * 40)
        (folder / "cut.oct").write_bytes((run / "policy.oct").read_bytes()[:-9])
        (folder / "words").write_text("0 0 0 0\n0 0 zero 0\n")
        (folder / "few").write_text("0 0 0\n")
        signs = "\n".join(" ".join(row) for row in itertools.product(("-3e38", "3e38"), repeat=4)) # some unit overflows by one
        (folder / "large").write_text("0 0 0 0\n" * 300 + signs + "\n")
        (folder / "none").write_text("")
        shutil.copy(run / "replay.oct", folder / "alone.oct")
        out, known = ["--out", folder / "student"], options_of(octet("distill", "--help"))
        for arguments, code, why in (
                ([], 2, "no TEACHER given"),
                ([run, "--hidden", "32,"], 2, "--hidden is '32,'; allowed are up to 15 widths from 1 to 65536"),
                ([run, "--hidden", "0"], 2, "--hidden is '0'"),
                ([run, "--precision", "int3"], 2, "--precision is 'int3'; allowed is fp32, int8, bf16, fp16 or int4"),
                ([run, "--loss", "mse"], 2, "--loss is 'mse'; allowed is kl or squares"),
                ([run, "--observations", "0"], 2, "there is nothing to learn from"),
                ([run, "--updates", "3"], 2, "each of the 10 rounds (--rounds) needs at least one"),
                ([run, "--environment", run / "environment.oct"], 2, "--environment needs --replay"),
                ([folder / "nowhere"], 1, "nowhere': "), ([folder / "foreign"], 1, "foreign': "),
                ([folder / "cut.oct"], 1, "cut.oct': "),
                ([run, "--obs", folder / "nowhere"], 1, "No such file or directory"),
                ([run, "--obs", folder / "words"], 1, "words: line 2: number 3 is 'zero', which is not a number"),
                ([run, "--obs", folder / "few"], 1, "few: line 1: 3 numbers; an observation of 'CartPole-v1' has 4"),
                ([run, "--obs", folder / "large"], 1,
                 "large: the teacher's output for observation N is not finite; the largest number in the observation is 3e+38"),
                ([run, "--obs", folder / "none"], 1, "none has no observations"),
                ([run, "--replay", folder / "alone.oct"], 1, "environment.oct"),
                ([run, "--replay", folder / "foreign"], 1, "--replay: "),
                ([run, "--env", "Pendulum-v1"], 1, "environment 'Pendulum-v1'"),
                ([run, "--out", run], 1, "already exists; name a new or empty folder with --out"),
                ([run, "--loss", "squares", "--temperature", "2"], 1, "--temperature is for a softmax; --loss squares has"),
                # Before anything is learned.
                ([run, "--out", folder / "words/student"], 1, "cannot make folder")):
            where = [] if "--out" in arguments else out
            text = octet("distill", *arguments, *where, code=code)
            assert why in re.sub(r"(output for observation) 3\d\d ", r"\1 N ", text), (arguments, text)
            assert options_of(text) <= known, (arguments, text)
            assert not (folder / "student").exists() and "round 1" not in text, (arguments, text)
        # A full disk leaves nothing; an empty folder is as good as a new one, and stays.
        full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)), "restore_signals": False}
        text = octet("distill", run, *QUICK, *out, code=1, **full)
        assert "student/policy.fp32.oct': File too large" in text and not (folder / "student").exists(), text
        (folder / "student").mkdir()
        octet("distill", run, *QUICK, *out, code=1, **full)
        assert not list((folder / "student").iterdir())
        octet("distill", run, *QUICK, *out)
        assert (folder / "student/policy.oct").exists()
        shutil.rmtree(folder / "student")
        pendulum = folder / "pendulum"
        finish(train(pendulum, "--set", "run.env_steps=6000", "--set", "run.stop_at_return=none", preset=PENDULUM),
               pendulum)
        text = octet("distill", run, "--replay", pendulum, *out, code=1)
        assert "has observations of 3 numbers (Pendulum-v1), but the teacher reads 4 of float32 (CartPole-v1)" in text, text


if __name__ == "__main__":
    sys.exit(run_named(globals()))
