#!/usr/bin/env python3
"""octet doctor: what it says of this machine, of folders and of programs that are missing or do not answer.
Usage: test_doctor.py OCTET. What it says of certificates: test_certs.py."""

import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402

OCTET = ""
DEADLINE_S = 60
CHECKS = {"cpu", "blas", "cores", "memory", "shm", "files", "clock", "space", "disk", "sockets", "ports", "certificates",
          "daemons", "presets", "mujoco", "python", "ffmpeg", "gpu"}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="octet-test-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)

    def run_octet(self, *arguments, code=0, limits=None, **more):
        environment = {**{k: v for k, v in os.environ.items() if not k.startswith("OCTET_")}, "LANG": "C.UTF-8", **more}
        done = subprocess.run([OCTET, *arguments], cwd=self.home, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=DEADLINE_S, preexec_fn=limits)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def doctor(self, *arguments, **more):
        """The checks by name; of several of one name all."""
        answer = json.loads(self.run_octet("doctor", "--json", *arguments, **more)[0])
        self.assertEqual(set(answer), {"folder", "failed", "warnings", "checks"})
        found = {}
        for check in answer["checks"]:
            self.assertEqual(set(check), {"name", "level", "text", "advice"})
            self.assertIn(check["level"], {"ok", "note", "warn", "fail"})
            found.setdefault(check["name"], []).append(check)
        return found

    def one(self, checks, name, level, text):
        self.assertEqual(len(checks[name]), 1)
        self.assertEqual(checks[name][0]["level"], level, checks[name])
        self.assertIn(text, checks[name][0]["text"] + "; " + checks[name][0]["advice"])


class Machine(Case):
    def test_all_checks_are_made_and_nothing_is_left(self):
        checks = self.doctor()
        self.assertLessEqual(CHECKS, set(checks))
        self.assertEqual(list(self.home.iterdir()), [])
        self.one(checks, "disk", "ok", "a file is written, synced and renamed in ")
        self.one(checks, "sockets", "ok", "local sockets can be made in the folder")

    def test_text(self):
        out, err = self.run_octet("doctor")
        self.assertEqual(err, "")
        for line in out.splitlines()[:-1]:
            self.assertRegex(line, r"^(ok|note|warn|FAIL) +[a-z]+ +\S")
        self.assertRegex(out.splitlines()[-1], r"^(No problem was found\.|0 checks failed, \d+ warnings?\.)$")

    def test_wrong_use(self):
        for arguments, text in [(["a", "b"], "two arguments, 'a' and 'b'; name one"),
                                (["nonsense"], "no file or preset 'nonsense'"),
                                (["--jsn"], "unknown option '--jsn'")]:
            self.assertIn(text, self.run_octet("doctor", *arguments, code=2)[1])

    def test_an_instruction_set_that_this_cpu_lacks(self):
        self.one(self.doctor(code=1, OCTET_ISA="none"), "cpu", "fail", "unset OCTET_ISA")

    def test_a_limit_on_open_files(self):
        def limits():
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        self.one(self.doctor(limits=limits), "files", "warn", "200 files may be open")

    def test_a_limit_on_memory(self):
        def limits():
            resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, 400 << 20))
        self.one(self.doctor(limits=limits), "memory", "warn", "of 400 MiB are available")

    def test_one_cpu(self):
        cpu = min(os.sched_getaffinity(0))
        checks = self.doctor(limits=lambda: os.sched_setaffinity(0, {cpu}))
        self.one(checks, "cores", "warn", "affinity has 1")

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", 8260))
                taken.listen()
            except OSError:
                pass  # somebody else has it: as good
            ports = self.doctor()["ports"]
        self.assertEqual(ports[0]["level"], "note")
        self.assertIn("8260 is taken (octet dash)", ports[0]["text"])


class Folders(Case):
    def test_a_folder_that_cannot_be_written_to(self):
        for folder in ["/proc", "/sys"]:  # also by root
            checks = self.doctor(folder, code=1 if os.geteuid() == 0 else 0)
            self.assertIn(checks["disk"][0]["level"], {"fail", "warn"})
            self.assertIn("choose another folder", checks["disk"][0]["advice"])

    def test_a_run_that_has_ended_and_one_with_a_damaged_checkpoint(self):
        self.run_octet("train", "cartpole", "--no-ui", "--run-dir", "run", "--set", "run.env_steps=3000",
                       "--set", "run.stop_at_return=none")
        checks = self.doctor("run")
        self.one(checks, "run", "ok", "no process uses the run folder: the run has ended")
        self.one(checks, "checkpoint", "ok", "the run can be resumed from update ")
        for path in (self.home / "run").glob("checkpoint*.oct"):
            path.write_bytes(path.read_bytes()[:100])
        self.one(self.doctor("run", code=1), "checkpoint", "fail", "checkpoint")

    def test_a_run_without_a_checkpoint(self):
        (self.home / "run").mkdir()
        (self.home / "run/config.yaml").write_text("env:\n  id: CartPole-v1\n")
        checks = self.doctor("run")
        self.one(checks, "checkpoint", "note", "the run has none yet: it cannot be resumed")

    def test_a_path_too_long_for_sockets(self):
        deep = self.home / ("x" * 110)
        deep.mkdir()
        checks = self.doctor(str(deep))["sockets"]
        self.assertEqual([check["level"] for check in checks], ["ok", "note"])
        self.assertIn("are allowed", checks[1]["text"])


class Programs(Case):
    def test_daemons_that_are_missing(self):
        checks = self.doctor(code=1, OCTET_LIBEXEC=str(self.home))
        self.assertEqual(checks["daemons"][-1]["level"], "fail")
        self.assertIn("OCTET_LIBEXEC", checks["daemons"][-1]["text"])

    def test_a_python_that_is_missing_matters_to_those_who_need_it(self):
        missing = {"OCTET_PYTHON": "/nonexistent/python"}
        self.one(self.doctor(**missing), "python", "note", "'/nonexistent/python' was not found")
        (self.home / "x.yaml").write_text("env:\n  id: gym:CartPole-v1\n")
        self.one(self.doctor("x.yaml", code=1, **missing), "python", "fail", "'/nonexistent/python' was not found")

    def program(self, text):
        path = self.home / "python"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return {"OCTET_PYTHON": str(path)}

    def test_a_python_that_does_not_answer(self):
        self.one(self.doctor(**self.program(f"exec {shutil.which('sleep')} 1000\n")), "python", "warn",
                 "did not answer within 2 s")

    def test_a_python_that_fails(self):
        self.one(self.doctor(**self.program("exit 3\n")), "python", "warn", "failed")

    def test_a_python_with_all_that_is_needed(self):
        answer = self.program("printf '3.12.1\\n/opt/python\\n2.1.0\\n1.0.0\\n'\n")
        self.one(self.doctor(**answer), "python", "ok", "/opt/python is Python 3.12.1, NumPy 2.1.0, Gymnasium 1.0.0")

    def test_ffmpeg_that_is_missing(self):
        self.one(self.doctor(PATH=str(self.home)), "ffmpeg", "note", "only octet eval --video needs it")


if __name__ == "__main__":
    OCTET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittests.main(sys.argv)
