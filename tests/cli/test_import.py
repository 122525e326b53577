#!/usr/bin/env python3
"""`octet import` as a user meets it: models become policies that the other commands take; what cannot be one is refused in words.

usage: test_import.py OCTET ROOT"""

import json
import math
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402

OCTET = pathlib.Path()
DATA = pathlib.Path()
PLUGINS = pathlib.Path()  # of tests/envs


def field(number, value):
    """A field of protobuf: a number, or bytes with their length."""
    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def small_model(weights, reads_bytes=False, metadata=(), names=("observation", "values")):
    """One dense layer, weights[input][output], of float32 or of bytes, from 'observation' to 'values'."""
    def node(operation, inputs, output, attribute=b""):
        return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, output) +
                     field(4, operation) + attribute)

    def port(name, kind, *shape):
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, b"".join(
            field(1, field(2, "batch") if size is None else field(1, size)) for size in shape))))
    source, result = names
    inputs, outputs, number = len(weights), len(weights[0]), [x for row in weights for x in row]
    graph = node("Cast", [source], "floats", field(5, field(1, "to") + field(3, 1) + field(20, 2))) if reads_bytes else b""
    graph += node("MatMul", ["floats" if reads_bytes else source, "w"], result) + field(2, "small")
    graph += field(5, field(1, inputs) + field(1, outputs) + field(2, 1) + field(8, "w") +
                   field(9, struct.pack(f"<{len(number)}f", *number)))
    graph += field(11, port(source, 2 if reads_bytes else 1, None, inputs)) + field(12, port(result, 1, None, outputs))
    notes = b"".join(field(14, field(1, key) + field(2, text)) for key, text in metadata)
    return field(1, 8) + field(2, "test") + field(7, graph) + field(8, field(2, 13)) + notes


def array(rows):
    """Rows of float32 as numpy.save writes them."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + b"".join(
        struct.pack(f"<{len(row)}f", *row) for row in rows)


class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="octet-test-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)

    def octet(self, *arguments, code=0, cwd=None):
        done = subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=cwd or self.home,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def report(self, *arguments):
        return json.loads(self.octet("import", *arguments, "--json"))

    def test_a_model_for_an_environment_is_a_policy_as_any_other(self):
        text = self.octet("import", DATA / "tanh.onnx", "--env", "CartPole-v1", "--out", "pole.oct")
        self.assertIn("observations of 10 episodes of CartPole-v1", text)
        self.assertRegex(text, r"int8 against fp32(, observations scaled)?, biases corrected")
        self.assertIn("of the codes at the end", text)
        self.assertIn("int8 policy", self.octet("eval", "pole.oct", "--episodes", 3))
        self.assertIn("precision   fp32", self.octet("inspect", "pole.fp32.oct"))
        self.assertIn("agree", self.octet("inspect", "pole.oct", "--against", "pole.fp32.oct"))
        self.octet("export", "pole.oct", "--c99", "pole.h", "--onnx", "pole.onnx")
        self.assertIn("pole.int4.oct", self.octet("quantize", "pole.fp32.oct", "--precision", "int4"))
        error = self.octet("import", "pole.onnx", "--env", "CartPole-v1", "--out", "x.oct", code=1)
        self.assertIn("octet export wrote this file", error)

    def test_eval_says_which_options_the_environment_has_and_where_they_come_from(self):
        self.octet("import", DATA / "tanh.onnx", "--env", "CartPole-v1", "--out", "pole.oct")
        short = "max_episode_steps=7"

        def said(*arguments):
            text = self.octet("eval", "pole.oct", "--episodes", 3, *arguments)
            return re.search(r"^  options      (.*)$", text, re.MULTILINE)[1], "length       7.0" in text

        self.assertEqual(said(), ("none (no config.yaml beside the policy)", False))
        self.assertEqual(said("--options", short), (f"{short} (--options)", True))
        (self.home / "config.yaml").write_text(f"env: {{id: CartPole-v1, options: {short}}}\n")
        self.assertEqual(said(), (f"{short} (config.yaml beside the policy)", True))
        self.assertEqual(said("--options", "sutton_barto_reward=1"), ("sutton_barto_reward=1 (--options)", False))
        self.assertEqual(said("--env", "CartPole-v1"), ("none (with --env, only those of --options)", False))
        (self.home / "config.yaml").write_text("env: {id: CartPole-v1}\n")
        self.assertEqual(said(), ("none (config.yaml beside the policy)", False))
        # Of a student; a run's has precedence.
        (self.home / "env.yaml").write_text(f"env: {{id: CartPole-v1, options: {short}}}\n")
        self.assertEqual(said(), ("none (config.yaml beside the policy)", False))
        (self.home / "config.yaml").unlink()
        self.assertEqual(said(), (f"{short} (env.yaml beside the policy)", True))

    def test_eval_plays_the_environment_that_a_policy_was_imported_for(self):
        """From env.yaml, which is only there where the policy alone does not say it."""
        pole, short = [DATA / "tanh.onnx", "--env", "CartPole-v1"], ["--options", "max_episode_steps=7"]
        (self.home / "plain").mkdir()
        self.assertIsNone(self.report(*pole, "--out", "plain/pole.oct")["env_file"])
        self.assertFalse((self.home / "plain/env.yaml").exists())
        (self.home / "short").mkdir()
        self.assertIn("wrote short/env.yaml, the environment and its options\n", self.octet("import", *pole, *short, "--out", "short/pole.oct"))
        for policy in ("pole.oct", "pole.fp32.oct"):
            said = self.octet("eval", f"short/{policy}", "--episodes", 3)
            self.assertRegex(said, r"options      max_episode_steps=7 \(env.yaml beside the policy\)\n(.*\n)*  length       7.0")
        # What is there stays, and says where it tells another environment.
        before = (self.home / "short/env.yaml").read_bytes()
        needs = "octet eval needs --env and --options here: "
        told = needs + "CartPole-v1, options max_episode_steps=7, is in the env.yaml beside the policy"
        for others, notes in [(short, []), ([], [told]), (["--options", "max_episode_steps=8"], [told])]:
            self.assertEqual([note for note in self.report(*pole, *others, "--out", "short/other.oct")["notes"] if needs in note], notes)
            self.assertEqual(told in self.octet("import", *pole, *others, "--out", "short/other.oct"), notes != [])
        self.assertEqual((self.home / "short/env.yaml").read_bytes(), before)
        # It would be of the other policies, too.
        self.assertIn(f"note        {needs}this folder has other policies, to which env.yaml would apply, too\n",
                      self.octet("import", *pole, *short, "--out", "plain/short.oct"))
        self.assertFalse((self.home / "plain/env.yaml").exists())
        self.assertIn("options      none", self.octet("eval", "plain/pole.oct", "--episodes", 1))
        # Paths do not depend on the working folder.
        (self.home / "walk.onnx").write_bytes(small_model([[1, -1], [0, 1]]))
        shutil.copy(PLUGINS / "bad_none.so", self.home / "walk.so")
        (self.home / "own").mkdir()
        for _ in range(2):
            self.octet("import", "walk.onnx", "--env", "./walk.so", "--out", "own/walk.oct")
        self.assertIn(f"id: {self.home.resolve()}/walk.so\n", (self.home / "own/env.yaml").read_text().replace('"', ""))
        self.assertIn("env.yaml beside the policy", self.octet("eval", self.home / "own/walk.oct", "--episodes", 1, cwd="/"))
        # A policy alone names no code: its file does.
        (self.home / "code").mkdir()
        self.octet("import", "walk.onnx", "--env", self.home.resolve() / "walk.so", "--out", "code/walk.oct")
        self.assertIn("env.yaml beside the policy", self.octet("eval", "code/walk.oct", "--episodes", 1))
        self.octet("import", *pole, *short, "--out", "nothere/pole.oct", code=1)

    def test_a_config_yaml_that_cannot_be_loaded_is_not_an_absent_one(self):
        self.octet("import", DATA / "tanh.onnx", "--env", "CartPole-v1", "--out", "pole.oct")
        short = ["--env", "CartPole-v1", "--options", "max_episode_steps=7"]
        for name in ("config.yaml", "env.yaml"):
            broken = self.home / name
            broken.write_text("env: {id: CartPole-v1, options: max_episode_steps=7}\nbrandnew: {key: 1}\n")
            why = f"{name}:2:1: error: unknown section brandnew"
            for command in (["eval", "pole.oct"], ["quantize", "pole.fp32.oct", "--episodes", 2],
                            ["distill", "pole.fp32.oct", "--out", "student"]):
                error = self.octet(*command, code=1)
                self.assertIn(why, error)
                self.assertIn("--env ID, with --options K=V,...", error)
            self.assertFalse((self.home / "pole.fp32.int8.oct").exists() or (self.home / "student").exists())
            self.assertIn(f"action repeat unknown: {why}", self.octet("export", "pole.oct", "--c99", "pole.h"))
            self.assertIn("length       7.0", self.octet("eval", "pole.oct", "--episodes", 3, *short))
            # What plays nothing does not ask for it.
            self.octet("quantize", "pole.fp32.oct", "--out", "small.oct")
            broken.unlink()
        # A file that is there, but is none.
        (self.home / "config.yaml").mkdir()
        self.assertIn("config.yaml: error: cannot be read", self.octet("eval", "pole.oct", code=1))
        (self.home / "config.yaml").rmdir()
        self.assertIn("no config.yaml of a run", self.octet("export", "pole.oct", "--c99", "pole.h"))
        self.assertIn("environment CartPole-v1, options max_episode_steps=7 (--options)\n",
                      self.octet("quantize", "pole.fp32.oct", "--episodes", 2, *short))

    def test_the_report_has_its_numbers(self):
        report = self.report(DATA / "normalised_dynamo.onnx", "--observations", DATA / "normalised_dynamo.obs.npy",
                             "--precision", "int4", "--out", "robot.oct")
        self.assertEqual((report["precision"], report["head"], report["rows"]), ("int4", "tanh", 32))
        self.assertTrue(report["normalised"])
        self.assertLess(report["fp32"]["max_abs"], 1e-5)
        self.assertEqual(report["fp32"]["agreement"], 1)
        self.assertTrue(report["quantised"]["calibrated"])
        self.assertFalse(report["quantised"]["scaled"])
        self.assertGreater(report["quantised"]["max_abs"], report["fp32"]["max_abs"])
        self.assertEqual(len(report["quantised"]["layers"]), 3)
        self.assertTrue(all(0 < layer["saturated"] < 1 for layer in report["quantised"]["layers"]))
        self.assertEqual((self.home / "robot.oct").stat().st_size, report["quantised"]["bytes"])

    def test_maps_come_in_the_order_of_the_model_or_of_the_policy(self):
        arguments = [DATA / "conv.onnx", "--observations", DATA / "conv.obs.npy", "--precision", "fp32"]
        report = self.report(*arguments, "--out", "first.oct")
        self.assertTrue(report["channels_first"])
        self.assertLess(report["fp32"]["max_abs"], 1e-5)
        self.assertIsNone(report["quantised"])
        self.assertFalse((self.home / "first.fp32.oct").exists())

    def test_deviations_and_bounds(self):
        arguments = [DATA / "clipped.onnx", "--log-std", "log_std", "--out", "c.oct", "--bounds"]
        report = self.report(*arguments, "-3:1")
        self.assertEqual((report["head"], report["notes"][0][:11]), ("gaussian", "its action "))
        self.assertIn("random observations", report["observed"])
        self.assertFalse(report["quantised"]["calibrated"])
        self.assertEqual(self.report(*arguments, "-3:1", "--actions", 3), report)  # the dimensions of the box
        for words, wanted in (("-3:1", "has 3 numbers, but there are 2 actions"),
                              ("-3:1,-3:1", "has 3 numbers, but there are bounds for 2 actions")):
            self.assertIn(wanted, self.octet("import", *arguments, words, "--actions", 2, code=1))
        self.assertIn("'log_std' is clipped to [-20, 2], which is [-20.4, 1.59] for action 2 in [-1, 1]; ",
                      self.octet("import", *arguments, "-3:1,-3:1,-3:3", code=1))

    def test_observations_of_a_model_of_bytes_are_bytes(self):
        (self.home / "bytes.onnx").write_bytes(small_model([[1, -1], [0, 1]], reads_bytes=True))
        (self.home / "seen.npy").write_bytes(array([[0, 255], [7, 0]]))
        arguments = ["bytes.onnx", "--actions", 2, "--out", "x.oct", "--observations"]
        self.assertEqual(self.report(*arguments, "seen.npy")["rows"], 2)
        (self.home / "x.oct").unlink()
        for number, text in [(0.7, "0.7"), (-3, "-3"), (256, "256"), (1e9, "1e+09"), (float("nan"), "nan"), (float("inf"), "inf")]:
            with self.subTest(text):
                (self.home / "seen.npy").write_bytes(array([[0, 1], [1, 0], [255, number], [number, 0]]))
                self.assertEqual(self.octet("import", *arguments, "seen.npy", code=1),
                                 f"octet import: error: 'seen.npy': number 2 of row 3 is {text}; the model reads bytes; allowed is "
                                 "a whole number from 0 to 255 (if it was divided by 255, give the bytes)\n")
                self.assertFalse((self.home / "x.oct").exists())

    def test_what_the_conversion_fails_of_is_said(self):
        (self.home / "far.onnx").write_bytes(small_model([[3.4e38, -3.4e38, -3.4e38]]))  # 4.5e38 from their mean
        arguments = ["import", "far.onnx", "--actions", 3, "--out", "x.oct"]
        self.assertEqual(self.octet(*arguments, code=1),
                         "octet import: error: 'far.onnx': a weight is not finite once it is quantised\n")
        self.octet(*arguments, "--precision", "fp32")

    def test_an_environment_that_ends_the_process_is_named(self):
        (self.home / "walk.onnx").write_bytes(small_model([[1, -1], [0, 1]]))
        self.octet("import", "walk.onnx", "--env", PLUGINS / "bad_none.so", "--out", "walk.oct")
        for name, code, words in [("exit", 1, "ended the process"), ("crash", -signal.SIGABRT, "crashed with signal 6 (Aborted)")]:
            env = PLUGINS / f"bad_{name}.so"
            for command, *arguments in [
                ["import", "walk.onnx", "--out", "x.oct"],
                ["quantize", "walk.fp32.oct", "--precision", "int8", "--calibrate", "--out", "x.oct"],
                ["quantize", "walk.fp32.oct", "--precision", "all", "--episodes", 1],
                ["distill", "walk.fp32.oct", "--observations", 9, "--out", "x"],
                ["inspect", "walk.oct", "--against", "walk.fp32.oct"],
            ]:
                with self.subTest(name, command=command):
                    self.assertEqual(self.octet(command, *arguments, "--env", env, code=code),
                                     f"octet {command}: error: the environment {words}: {env}; for details run "
                                     f"'octet env check {env}'\n")
                    self.assertEqual(list(self.home.glob("x*")), [])

    def test_what_is_observed_is_of_the_episodes(self):
        """They end at different steps: what other environments play meanwhile is not theirs."""
        text = self.octet("import", DATA / "tanh.onnx", "--env", "CartPole-v1", "--out", "pole.oct")
        count = int(re.search(r"on (\d+) observations of 10 episodes of CartPole-v1", text)[1])
        played = json.loads(self.octet("eval", "pole.fp32.oct", "--episodes", 10, "--envs", 10, "--json"))
        self.assertEqual(sum(played["lengths"]), count)
        self.assertLess(count, 10 * max(played["lengths"]))
        text = self.octet("inspect", "pole.oct", "--against", "pole.fp32.oct", "--env", "CartPole-v1")
        self.assertIn(f"observed    {count} observations of 10 episodes of CartPole-v1, seed 1,", text)
        # In three tries the second step of twenty fails.
        (self.home / "two.onnx").write_bytes(small_model([[1, -1], [0, 1]]))
        on = ["--env", PLUGINS / "shape.so", "--options", "obs=2,n=2,fails=3"]
        words = f"206 observations of 10 episodes (and 3 that failed) of {PLUGINS / 'shape.so'}"
        self.assertIn(f"compared on {words}\n", self.octet("import", "two.onnx", *on, "--out", "two.oct"))
        self.assertIn(f"observed    {words}, options", self.octet("inspect", "two.oct", "--against", "two.fp32.oct", *on))
        self.assertIn(f"corrected on {words}\n", self.octet("quantize", "two.fp32.oct", "--precision", "int4", "--calibrate",
                                                           "--out", "x.oct", *on))

    def test_an_environment_that_never_begins_is_not_learned_from(self):
        (self.home / "walk.onnx").write_bytes(small_model([[1, -1], [0, 1]]))
        self.octet("import", "walk.onnx", "--actions", 2, "--precision", "fp32", "--out", "walk.oct")
        env = PLUGINS / "bad_reset_nan.so"
        for command, *arguments in [
            ["import", "walk.onnx", "--out", "x.oct"],
            ["distill", "walk.oct", "--observations", 300, "--updates", 20, "--rounds", 2, "--out", "x"],
        ]:
            error = self.octet(command, *arguments, "--env", env, code=1)
            self.assertRegex(error, rf"{env}: failed 101 times before an episode ended \(environment \d+: Walk-v0: reset: "
                                    r"the observation of environment \d+ is not finite\)\n$")
            self.assertEqual(list(self.home.glob("x*")), [])

    def test_robots_actions_have_no_bounds(self):
        """Without bounds nothing is mapped or clipped; with bounds what is clipped is counted; neither changes the agreement."""
        rows = [[((7 * r + 3 * k) % 11 - 5) / 2 for k in range(2)] for r in range(128)]
        (self.home / "seen.npy").write_bytes(array(rows))
        (self.home / "m.onnx").write_bytes(small_model([[1.0, 0.5], [-0.25, 2.0]]))
        answers = {}
        for bounds in ("none", "-1e9:1e9", "-100:100", "-0.5:0.5"):
            made = self.report("m.onnx", "--out", "m.oct", "--precision", "int4", f"--bounds={bounds}", "--observations", "seen.npy")
            answers[bounds] = made["quantised"]["agreement"], round(made["quantised"]["action_distance"], 4)
            self.assertEqual(made["fp32"]["agreement"], 1)
            self.assertEqual(made["fp32"]["actions_clipped"] > 0.5, bounds == "-0.5:0.5")
            self.assertEqual(made["fp32"]["actions"][0]["least"], min(row[0] - row[1] / 4 for row in rows))
        self.assertEqual(answers["none"], answers["-1e9:1e9"])
        self.assertAlmostEqual(answers["none"][1], answers["-100:100"][1], 3)
        text = self.octet("import", "m.onnx", "--out", "m.oct", "--bounds=-0.5:0.5", "--observations", "seen.npy")
        self.assertRegex(text, r"bounds clip an action in \d+\.\d\d % of these\n    action 0 +clipped in")
        text = self.octet("import", "m.onnx", "--out", "m.oct", "--bounds", "none", "--observations", "seen.npy")
        self.assertIn("no bounds, so they are neither mapped nor clipped", text)
        self.assertIn("[-inf, inf]", self.octet("inspect", "m.oct"))
        self.octet("export", "m.oct", "--c99", "m.h", "--onnx", "m.onnx2")
        self.assertIn("action[0] to action[1]: not bounded.", (self.home / "m.h").read_text())

    def test_what_a_robot_reads_beside_the_network_survives(self):
        """Metadata and names of tensors: in the policy file, also of the quantised one, inspect and both exports."""
        props = [("joint_names", "hip,thigh,calf"), ("default_joint_pos", "0.1,0.8,-1.5"), ("a b", 'quote " \\ ?\x1b[2J'),
                 ("joint_names", "twice"), ("octet.input", "forged"), ("bytes", b"\xff\xfe"), ("long", "x" * 70000)]
        (self.home / "m.onnx").write_bytes(small_model([[1.0], [2.0]], metadata=props, names=("obs", "joint_targets")))
        made = self.report("m.onnx", "--out", "m.oct", "--bounds", "none")
        self.assertEqual(sum("is left out" in note and "metadata" in note for note in made["notes"]), 4, made["notes"])
        said = self.octet("inspect", "m.oct")
        self.assertIn("metadata    joint_names = hip,thigh,calf\n", said)
        self.assertIn("metadata    octet.input = obs\n", said)
        self.assertNotIn("\x1b", said)
        self.assertIn("metadata    default_joint_pos = 0.1,0.8,-1.5\n", self.octet("inspect", "m.fp32.oct"))
        text = self.octet("export", "m.oct", "--c99", "m.h", "--onnx", "back.onnx")
        self.assertIn("in   obs float32 [batch][2]\n  out  joint_targets float32 [batch][1], outputs float32 [batch][1]", text)
        header, model = (self.home / "m.h").read_text(), (self.home / "back.onnx").read_bytes()
        self.assertIn('#define POLICY_METADATA_JOINT_NAMES "hip,thigh,calf"\n', header)
        self.assertIn('#define POLICY_METADATA_A_B "quote \\042 \\134 \\077\\033[2J"\n', header)
        for key, value in props[:2]:
            self.assertIn(field(14, field(1, key) + field(2, value)), model)
        self.assertNotIn(b"forged", model)
        (self.home / "use.c").write_text('#include <stdio.h>\n#include "m.h"\nint main(void) { puts(POLICY_METADATA_A_B); return 0; }\n')
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "use.c", "-o", "use", "-lm"], cwd=self.home, check=True)
        self.assertEqual(subprocess.run(["./use"], cwd=self.home, capture_output=True, check=True).stdout.decode()[:-1], props[2][1])

    def test_what_the_observations_are_like_is_said(self):
        number = random.Random(3)
        (self.home / "m.onnx").write_bytes(small_model([[1.0, 0.0], [0.0, 0.0]]))
        noise = [[number.gauss(0, 1), number.gauss(0, 1)] for _ in range(500)]
        walk, x = [], 0.0
        for _ in range(500):
            x += number.gauss(0, 0.1)
            walk.append([x, 0.5])
        walk[7][0] = math.nan
        for rows, is_noise in ((noise, True), (walk, False)):
            (self.home / "seen.npy").write_bytes(array(rows))
            notes = "\n".join(self.report("m.onnx", "--out", "m.oct", "--bounds", "none", "--observations", "seen.npy")["notes"])
            self.assertEqual("look like random numbers" in notes, is_noise, notes)
            self.assertEqual("1 of 500 rows of observations have a number that is not finite" in notes, not is_noise, notes)
            self.assertEqual("1 of 2 numbers of an observation are the same in all rows: 1" in notes, not is_noise, notes)
            self.assertIn("action 1 is the same in all rows: 0", notes)

    def test_scale_offset_and_normalizer_are_part_of_the_policy(self):
        rows = [[r / 10 + 5, (r % 7) - 3] for r in range(100)]
        (self.home / "seen.npy").write_bytes(array(rows))
        (self.home / "m.onnx").write_bytes(small_model([[1.0, 0.0], [0.0, 1.0]]))
        (self.home / "mean.npy").write_bytes(array([[5.0, -3.0]]))
        (self.home / "std.npy").write_bytes(array([[2.0, 4.0]]))
        (self.home / "both.npy").write_bytes(array([[5.0, -3.0], [2.0, 4.0]]))
        (self.home / "n.json").write_text('{"mean": [5, -3], "var": [3, 15], "epsilon": 1, "clip": 3}')
        (self.home / "std.json").write_text('{"mean": [5, -3], "std": [1.5, 3.5], "epsilon": 0.5}')
        (self.home / "a,b.npy").write_bytes(array([[5.0, -3.0], [2.0, 4.0]]))
        for file in ("mean.npy,std.npy", "both.npy", "a,b.npy", "std.json", "n.json"):
            made = self.report("m.onnx", "--out", "m.oct", "--precision", "fp32", "--action-scale", "0.5,2", "--action-offset=-1",
                               "--normalizer", file, "--observations", "seen.npy")
            self.assertTrue(made["normalised"])
            self.assertLess(made["fp32"]["max_abs"], 1e-5 if file != "n.json" else 10)
            ends = [(action["least"], action["most"]) for action in made["fp32"]["actions"]]
            clip = 3 if file == "n.json" else math.inf
            for k, (mean, std, scale) in enumerate(((5.0, 2.0, 0.5), (-3.0, 4.0, 2.0))):
                want = [scale * min((row[k] - mean) / std, clip) - 1 for row in rows]
                self.assertAlmostEqual(ends[k][0], min(want), 5)
                self.assertAlmostEqual(ends[k][1], max(want), 5)
            self.assertEqual(made["fp32"]["clipped"] > 0, file == "n.json")
        (self.home / "zero.json").write_text('{"mean": [5, -3], "std": [1, 0]}')
        (self.home / "short.json").write_text('{"mean": [5], "std": [1]}')
        (self.home / "lone.json").write_text('{"mean": [5]}')
        (self.home / "uneven.json").write_text('{"mean": [5, -3], "std": [1]}')
        (self.home / "minus.json").write_text('{"mean": [5, -3], "std": [1, 1], "epsilon": -0.5}')
        (self.home / "three.npy").write_bytes(array([[5.0, -3.0], [2.0, 4.0], [1.0, 1.0]]))
        for file, words in [("zero.json", "number 2 has the mean -3 and the deviation 0"),
                            ("short.json", "the normaliser has 1 number, but an observation has 2"),
                            ("lone.json", "it has no std or var"), ("uneven.json", "it has 2 means and 1 deviation; "),
                            ("minus.json", "epsilon is not a number of 0 or above"), ("three.npy", "does not have two rows"),
                            ("none.npz", "No such file"),
                            ("m.onnx", "neither an array of NumPy")]:
            with self.subTest(words):
                self.assertIn(words, self.octet("import", "m.onnx", "--out", "x.oct", "--bounds", "none", "--normalizer", file, code=1))
        for option, value, words in [("--action-scale", "1,0", "finite numbers other than 0"), ("--action-offset", "a", "finite numbers,"),
                                     ("--bounds", "inf:-inf", "LOW below HIGH")]:
            self.assertIn(words, self.octet("import", "m.onnx", "--out", "x.oct", f"{option}={value}", code=2))

    def test_both_files_are_written_or_none(self):
        for name in ["folder", "x.fp32.oct"]:
            (self.home / name).mkdir()
        (self.home / "full").symlink_to("/dev/full")
        (self.home / "m.fp32.oct").write_bytes((DATA / "tanh.onnx").read_bytes())
        before = sorted(self.home.iterdir())
        for model, out, words in [(DATA / "tanh.onnx", "folder", "'folder': this is a folder"),
                                  (DATA / "tanh.onnx", "x.oct", "'x.fp32.oct': this is a folder"),
                                  (DATA / "tanh.onnx", "full", "cannot write 'full': No space left on device"),
                                  ("m.fp32.oct", "m.oct", "'m.fp32.oct': this is the model itself")]:
            with self.subTest(words):
                self.assertIn(words, self.octet("import", model, "--out", out, "--actions", 2, code=1))
                self.assertEqual(sorted(self.home.iterdir()), before)

    def test_wrong_input_is_said(self):
        (self.home / "text.onnx").write_text("this is no model")
        shutil.copy(DATA / "norm_dynamo.onnx", self.home / "alone.onnx")
        (self.home / "values.onnx").write_bytes(small_model([[1.0, 0.0], [0.0, 1.0]]))
        for op in (b"Selu", b"Sinh", b"Loop", b"Sqrt"):
            (self.home / f"{op.decode()}.onnx").write_bytes((DATA / "tanh.onnx").read_bytes().replace(b"\"\x04Tanh", b"\"\x04" + op))
        tanh = DATA / "tanh.onnx"
        for arguments, code, words in [
            (["--out", "x.oct"], 2, "no MODEL given"),
            ([tanh], 2, "name one with --out"),
            ([tanh, "--out", "x.oct", "--precision", "int2"], 2, "fp32, int8, bf16, fp16 or int4"),
            ([tanh, "--out", "x.oct", "--bounds", "1:1"], 2, "pairs LOW:HIGH, LOW below HIGH"),
            ([tanh, "--out", "x.oct", "--obs-shape", "4,x"], 2, "--obs-shape is '4,x'"),
            ([tanh, "--out", "x.oct", "--options", "a=b"], 2, "--options needs --env"),
            (["none.onnx", "--out", "x.oct"], 1, "No such file"),
            (["text.onnx", "--out", "x.oct"], 1, "not an ONNX model"),
            (["alone.onnx", "--out", "x.oct", "--actions", 3], 1, "norm_dynamo.onnx.data': No such file"),
            (["Sqrt.onnx", "--out", "x.oct", "--actions", 2], 1, "(Sqrt): policies support it as a part of layer norm"),
            (["values.onnx", "--out", "x.oct"], 1, "give --actions N, or --env, or --bounds"),
            ([tanh, "--out", "x.oct", "--env", "Acrobot-v1"], 1, "reads 4 numbers, but an observation has 6"),
            ([tanh, "--out", "x.oct", "--env", "CartPole-v2"], 1, "did you mean CartPole-v1"),
            ([tanh, "--out", "x.oct", "--actions", 2, "--observations", DATA / "conv.obs.npy"], 1, "rows of 90 numbers"),
            ([tanh, "--out", "x.oct", "--actions", 2, "--observations", "text.onnx"], 1, "not a NumPy array"),
            ([tanh, "--out", tanh, "--actions", 2], 1, "the model itself"),
            ([tanh, "--out", "x.oct", "--env", "CartPole-v1", "--actions", 3], 1, "--actions is 3; environment 'CartPole-v1' has 2"),
            ([tanh, "--out", "x.oct", "--env", "CartPole-v1", "--bounds", "0:1"], 1, "--bounds is for box actions"),
            (["Selu.onnx", "--out", "x.oct", "--actions", 2], 1, "(Selu): policies do not have this activation: train with relu, "),
            (["Loop.onnx", "--out", "x.oct", "--actions", 2], 1, "(Loop): policies have no branches and loops: export the model without"),
            (["Sinh.onnx", "--out", "x.oct", "--actions", 2], 1, "(Sinh): policies do not have this operation; they have Gemm, "),
            (["Sinh.onnx", "--out", "x.oct", "--actions", 2], 1, "Gather, Cast, Dropout and Identity\n"),
        ]:
            with self.subTest(words):
                self.assertIn(words, self.octet("import", *arguments, code=code))
                self.assertFalse((self.home / "x.oct").exists())


if __name__ == "__main__":
    OCTET, DATA = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve() / "tests/data/import"
    PLUGINS = OCTET.parent.parent / "tests/envs"
    unittests.main(sys.argv[:1])
