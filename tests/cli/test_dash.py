#!/usr/bin/env python3
"""`octet dash` and `octet report` as a browser and as a stranger meet them. Usage: test_dash.py OCTET FAKE_DAEMON

The page is looked at in Chromium, without a window (chromium, chromium-driver, python3-selenium); where
these are missing, that part is skipped, and says so. Nothing waits for a fixed time."""

import base64
import fcntl
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import zlib

import dash_runs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402
from daemons import free_port, wait_for  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

OCTET = FAKE = ""
DEADLINE_S = 60
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
POLICIES = pathlib.Path(__file__).resolve().parent.parent / "data" / "policy"
HOSTILE = "<script>alert(1)</script>"  # less its '/' a name of a folder
NO_BROWSER = None if webdriver and os.path.exists(CHROMIUM) and os.path.exists(DRIVER) else \
    "chromium, chromium-driver or python3-selenium is not there: the page is not looked at"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="octet-test-")
        self.home = pathlib.Path(self.folder.name)
        self.runs = self.home / "runs"
        self.children = []
        self.port = 0

    def tearDown(self):
        # A killed octet train leaves its daemons a moment in which they still write into the folder.
        self.addCleanup(self.folder.cleanup)
        for child in self.children:
            self.addCleanup(child.communicate)
            self.addCleanup(child.kill)
            child.send_signal(signal.SIGINT)
        for child in self.children:
            child.communicate(timeout=DEADLINE_S)

    def environment(self):
        return {name: value for name, value in os.environ.items() if not name.startswith("OCTET_")}

    def octet(self, *arguments, code=0):
        done = subprocess.run([OCTET, *arguments], cwd=self.home, env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def start(self, *arguments):
        child = subprocess.Popen([OCTET, *arguments], cwd=self.home, env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.children.append(child)
        return child

    def dash(self, *folders):
        """Starts it; another process may have taken the port meanwhile."""
        for _ in range(5):
            self.port = free_port(1)
            child = self.start("dash", *(folders or ["runs"]), "--port", str(self.port))
            line = child.stdout.readline()
            if line:
                self.assertIn(f"http://127.0.0.1:{self.port} shows ", line)
                return child
        raise AssertionError(child.stderr.read())

    def ask(self, path, method="GET", host=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        link.putrequest(method, path, skip_host=True)
        if host != "":
            link.putheader("Host", host or f"127.0.0.1:{self.port}")
        link.endheaders()
        answer = link.getresponse()
        body = answer.read()
        link.close()
        return answer, body

    def get(self, path):
        answer, body = self.ask(path)
        self.assertEqual(answer.status, 200, path)
        return json.loads(body)

    def when_read(self):
        def look():
            runs = self.get("/runs")
            return runs if not runs["reading"] and all(run["rows"] for run in runs["runs"]) else None
        return wait_for("all rows are read", look)


class Server(Case):
    def test_runs_say_what_their_files_say(self):
        summary = dash_runs.make_run(self.runs / "a", 1, 100)
        dash_runs.make_run(self.runs / "deep" / "b", 2, 50, ended=False)
        self.dash()
        a, b = self.when_read()["runs"]
        self.assertEqual((a["name"], a["seed"], a["env"], a["rows"], a["status"]), ("a", 1, "CartPole-v1", 100, "ended"))
        self.assertEqual(a["summary"], summary)
        self.assertEqual((b["name"], b["rows"], b["status"], b["summary"], b["group"]), ("b", 50, "silent", None, a["group"]))
        curve = self.get(f"/curve/{a['id']}/env_steps/eval_return")
        self.assertEqual(curve["x"], [5000 * i for i in range(1, 21)])
        mean = self.get(f"/mean/{a['group']}/updates/loss")
        self.assertEqual((mean["x"][0], mean["x"][-1], mean["n"][0], mean["n"][-1]), (10, 1000, 2, 1))
        self.assertEqual([round(value, 6) for value in mean["range"]], [round(1 / 101, 6), 0.5])
        self.assertEqual(self.get("/curve/0/env_steps/no_such_column"), {"x": [], "y": []})

    def test_a_copy_of_a_run_does_not_count(self):
        for seed in [1, 2]:
            summary = dash_runs.make_run(self.runs / f"pole-{seed}", seed)
            (self.runs / f"pole-{seed}" / "summary.json").write_text(json.dumps(summary | {"run_id": f"{seed:016x}"}), encoding="utf-8")
        shutil.copytree(self.runs / "pole-1", self.runs / "pole-1-backup")
        self.dash()
        runs = self.when_read()["runs"]
        self.assertEqual([(run["name"], run["group"], run["copy_of"]) for run in runs],
                         [("pole-1", 0, None), ("pole-1-backup", 0, runs[0]["id"]), ("pole-2", 0, None)])
        self.assertEqual(self.get("/mean/0/env_steps/eval_return")["n"][0], 2)

    def test_what_is_new_is_seen(self):
        dash_runs.make_run(self.runs / "a", 1, 10, ended=False)
        self.dash()
        changes = self.when_read()["changes"]
        with open(self.runs / "a" / "metrics.csv", "a", encoding="utf-8") as out:
            out.write(dash_runs.row(11, 1))
        wait_for("a change is told", lambda: self.get("/changes")["changes"] > changes)
        wait_for("the new row is there", lambda: self.get("/runs")["runs"][0]["rows"] == 11)
        dash_runs.make_run(self.runs / "b", 2, 10)
        wait_for("a new run is found", lambda: len(self.get("/runs")["runs"]) == 2)
        dash_runs.make_run(self.runs / "0", 3, 10)
        wait_for("one that comes later is the last", lambda: [run["name"] for run in self.get("/runs")["runs"]] == ["a", "b", "0"])
        shutil.rmtree(self.runs / "a")
        wait_for("one that is gone is gone", lambda: [run["name"] for run in self.get("/runs")["runs"]] == ["b", "0"])
        self.assertEqual(self.ask("/curve/0/env_steps/loss")[0].status, 404)

    def test_files_that_come_after_the_end_are_seen(self):
        dash_runs.make_run(self.runs / "a", 1, 10)
        self.dash()
        changes = self.when_read()["changes"]
        for name, key, content in [("policy.gif", "video_written", b"GIF89a"), ("policy.gif", "video_written", b"GIF89a-longer"),
                                   ("policy.mp4", "video_written", b"mp4"), ("policy.oct", "policy", b"OCTP")]:
            before = self.get("/runs")["runs"][0][key]
            (self.runs / "new").write_bytes(content)
            os.replace(self.runs / "new", self.runs / "a" / name)
            wait_for(f"{name} is told", lambda: self.get("/changes")["changes"] > changes)
            answer = self.get("/runs")
            self.assertNotIn(answer["runs"][0][key], [None, before])
            changes = answer["changes"]
        self.assertEqual(answer["runs"][0]["video"], "video/mp4")

    def test_of_many_runs_the_newest_are_shown(self):
        for i in range(2002):
            dash_runs.make_run(self.runs / f"{i:04}", i, 1)
            os.utime(self.runs / f"{i:04}", (1000000 + i, 1000000 + i))
        os.utime(self.runs / "0000", (2000000, 2000000))
        self.dash()
        answer = self.get("/runs")
        self.assertEqual([run["name"] for run in answer["runs"]], ["0000"] + [f"{i:04}" for i in range(3, 2002)])
        self.assertEqual(answer["unshown"], 2)
        os.utime(self.runs / "0001", (3000000, 3000000))
        wait_for("the newest takes the place of the oldest", lambda: {"0001", "0003"} & {run["name"] for run in self.get("/runs")["runs"]} == {"0001"})
        self.assertTrue(self.octet("report", "runs")[0].endswith("\n1802 older runs are left out; a report holds at most 200\n"))

    def test_slow_readers_share_the_runs(self):
        for i in range(24):
            dash_runs.make_run(self.runs / f"{i:02}", i, 1)
            (self.runs / f"{i:02}" / "summary.json").write_text(json.dumps({"text": "<" * 65000}), encoding="utf-8")
        child = self.dash()
        self.when_read()
        size = len(self.ask("/runs")[1])
        self.assertGreater(size, 24 * 6 * 65000)

        def memory():
            return 1024 * int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8"))[1])
        before = memory()
        for _ in range(12):
            reader = socket.create_connection(("127.0.0.1", self.port))
            self.addCleanup(reader.close)
            reader.sendall(b"GET /runs HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(reader.recv(8), b"HTTP/1.1")
        self.assertLess(memory() - before, 4 * size)

    def test_a_summary_that_is_too_large_is_told(self):
        dash_runs.make_run(self.runs / "a", 1, 1)
        (self.runs / "a" / "summary.json").write_text(json.dumps({"text": "x" * 65536}), encoding="utf-8")
        self.dash()
        run = self.when_read()["runs"][0]
        self.assertEqual((run["summary"], run["why"]), (None, "summary.json: it has 65548 bytes, and at most 65536 are read"))
        changes = self.get("/changes")["changes"]
        (self.runs / "a" / "summary.json").write_text("{}", encoding="utf-8")
        wait_for("the file is read", lambda: self.get("/changes")["changes"] > changes)
        run = self.get("/runs")["runs"][0]
        self.assertEqual((run["summary"], run["why"]), ({}, ""))

    def test_curves_of_long_runs_are_thinned(self):
        dash_runs.make_run(self.runs / "a", 1, 20000)
        self.dash()
        self.assertEqual(self.when_read()["runs"][0]["rows"], 20000)
        answer, body = self.ask("/curve/0/env_steps/loss")
        self.assertEqual(answer.status, 200)
        curve = json.loads(body)
        self.assertLessEqual(len(curve["x"]), 512)
        self.assertGreater(len(curve["x"]), 128)
        self.assertEqual(curve["x"][-1], 20000000)

    def test_codes_are_those_of_the_precision(self):
        for name in ["fp32", "int4", "int8"]:
            dash_runs.make_run(self.runs / name, 1, 10)
            shutil.copy(POLICIES / f"box_{name}.oct", self.runs / name / "policy.oct")
        self.dash()
        self.when_read()
        for i, (name, codes) in enumerate([("fp32", 0), ("int4", 15), ("int8", 255)]):
            answer = self.get(f"/codes/{i}")
            self.assertEqual((answer["precision"], answer["version"]), (name, 42))
            self.assertEqual(len(answer["layers"]), 3 if codes else 0)
            for layer in answer["layers"]:
                self.assertEqual((len(layer["counts"]), sum(layer["counts"])), (codes, layer["inputs"] * layer["outputs"]))

    def test_ctrl_c_ends_it(self):
        dash_runs.make_run(self.runs / "a")
        for number in [signal.SIGINT, signal.SIGTERM]:
            child = self.dash()
            child.send_signal(number)
            self.assertEqual(child.communicate(timeout=DEADLINE_S)[1], "")
            self.assertEqual(child.returncode, 0)

    def test_wrong_use_is_told(self):
        self.assertIn("cannot read folder 'runs': No such file", self.octet("dash", code=1)[1])
        self.runs.mkdir()
        self.assertIn("--port is '0'", self.octet("dash", "--port", "0", code=2)[1])
        for both in [("--port", "9000", "--listen", "https://0.0.0.0:9001"), ("--listen", "https://0.0.0.0:9001", "--port", "9000")]:
            self.assertIn("--port and --listen cannot be used together", self.octet("dash", *both, code=2)[1])
        self.assertIn("http:// is for this machine alone", self.octet("dash", "--listen", "http://0.0.0.0:8260", code=1)[1])
        for plain in [(), ("--listen", "http://127.0.0.1:8260")]:
            self.assertIn("--tls is for https; give --listen https://HOST:PORT",
                          self.octet("dash", *plain, "--tls", "nowhere", code=2)[1])
        self.assertIn("https needs certificates", self.octet("dash", "--listen", "https://0.0.0.0:8260", code=2)[1])
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            said = self.octet("dash", "--listen", url, code=1)[1]
        self.assertEqual(said, f"octet dash: error: cannot serve {url}: another process listens on this port\n")

    def test_operators_see_it_over_https(self):
        dash_runs.make_run(self.runs / "a")
        self.octet("certs", "init")
        self.octet("certs", "issue", "learner", "learner", "--host", "localhost")
        self.octet("certs", "issue", "operator", "anna")
        self.octet("certs", "issue", "actor", "actors")
        port = free_port(1)
        self.assertIn("the certificate has the role operator, which cannot accept connections",
                      self.octet("dash", "runs", "--listen", f"https://127.0.0.1:{port}", "--tls", "octet-certs/anna", code=1)[1])
        child = self.start("dash", "runs", "--listen", f"https://127.0.0.1:{port}", "--tls", "octet-certs/learner")
        self.assertIn(f"https://127.0.0.1:{port} shows 1 run;", child.stdout.readline())
        for who, may in [("anna", True), ("actors", False), (None, False)]:
            trust = ssl.create_default_context(cafile=self.home / "octet-certs" / "learner" / "ca.crt")
            if who:
                folder = self.home / "octet-certs" / who
                trust.load_cert_chain(folder / "node.crt", folder / "node.key")
            link = http.client.HTTPSConnection("localhost", port, context=trust, timeout=DEADLINE_S)
            try:
                link.request("GET", "/runs")
                status = link.getresponse().status
            except (OSError, http.client.HTTPException):
                status = 0
            link.close()
            self.assertEqual(status, 200 if may else 0, who)


class Hostile(Case):
    def test_only_reading(self):
        dash_runs.make_run(self.runs / "a")
        self.dash()
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"]:
            self.assertEqual(self.ask("/runs", method)[0].status, 405, method)
        self.assertEqual(self.ask("/", "HEAD")[0].status, 200)

    def test_names_of_strangers_are_not_answered(self):
        dash_runs.make_run(self.runs / "a")
        self.dash()
        for host in ["evil.example", f"evil.example:{self.port}", f"127.0.0.1.evil.example:{self.port}", "", f"192.168.0.7:{self.port}"]:
            for path in ["/", "/runs"]:
                answer, body = self.ask(path, host=host)
                self.assertEqual(answer.status, 403, host)
                self.assertNotIn(b"CartPole", body)
        for host in ["localhost", f"localhost:{self.port}", f"[::1]:{self.port}"]:
            self.assertEqual(self.ask("/runs", host=host)[0].status, 200, host)

    def test_paths_do_not_leave_the_folders(self):
        dash_runs.make_run(self.runs / "a")
        dash_runs.make_run(self.home / "elsewhere", 7)
        (self.runs / "link").symlink_to(self.home / "elsewhere")
        (self.runs / "a" / "policy.gif").symlink_to("/etc/passwd")
        (self.runs / "a" / "policy.oct").symlink_to("/etc/passwd")
        self.dash()
        self.assertEqual([run["name"] for run in self.when_read()["runs"]], ["a"])
        for path in ["/../../etc/passwd", "/runs/../../etc/passwd", "//etc/passwd", "/video/../../etc/passwd", "/video/0", "/codes/0",
                     "/video/0/../../a/config.yaml", "/curve/0/env_steps/../../x", "/video/-1", "/video/99999999999999999999", "/video/0x0",
                     "/codes/%2e%2e", "/curve/0/wall_s", "/curve/0/time_s/loss", "/curve/1/wall_s/loss", "/mean/9/wall_s/loss",
                     "/curve/0/wall_s/" + "a" * 100, "/runs/", "/config.yaml", "/" + "a" * 5000]:
            self.assertEqual(self.ask(path)[0].status, 404, path)

    def test_every_answer_has_the_headers(self):
        dash_runs.make_run(self.runs / "a")
        self.dash()
        for path in ["/", "/dash.js", "/runs", "/nothing"]:
            headers = self.ask(path)[0].headers
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("script-src 'self';", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
            self.assertIsNone(headers["Access-Control-Allow-Origin"])

    def test_the_page_is_small_and_asks_nobody_else(self):
        dash_runs.make_run(self.runs / "a")
        self.dash()
        total = 0
        for path in ["/", "/dash.js", "/dash.css", "/dygraph.js", "/dygraph.css"]:
            body = self.ask(path)[1]
            total += len(body)
            if not path.startswith("/dygraph"):
                self.assertNotRegex(body.decode(), r"https?://(?!www\.w3\.org/2000/svg)|\bon\w+=|innerHTML|\beval\(")
        self.assertLess(total, 200_000)
        self.assertIn(b"Permission is hereby granted", self.ask("/dygraph.js")[1])

    def test_any_content_of_files_is_survived(self):
        for i, (name, content) in enumerate([("metrics.csv", "wall_s\n" + "9" * 700000), ("metrics.csv", "\0" * 5000), ("summary.json", "[" * 100000),
                                             ("summary.json", '{"return": {"mean": "x"}, "reason": "</script>"}'), ("policy.oct", "OCTP" + "\xff" * 300),
                                             ("config.yaml", "env: [")]):
            dash_runs.make_run(self.runs / str(i), i, 20, ended=False)
            (self.runs / str(i) / name).write_text(content, encoding="latin-1")
        os.mkfifo(self.runs / "0" / "summary.json")
        child = self.dash()
        runs = wait_for("all is read", lambda: (lambda all_: None if all_["reading"] else all_)(self.get("/runs")))["runs"]
        self.assertEqual(len(runs), 6)
        self.assertIn("config.yaml", runs[5]["why"])
        self.assertEqual(self.ask("/codes/4")[0].status, 404)
        self.assertNotIn(b"</script>", self.ask("/runs")[1])
        self.assertIsNone(child.poll())
        self.octet("report", "runs")


class Report(Case):
    def test_it_has_everything(self):
        for seed in [1, 2, 3]:
            dash_runs.make_run(self.runs / f"pole-{seed}", seed)
        (self.runs / "pole-1" / "policy.gif").write_bytes(b"GIF89a-not-a-picture")
        out, _ = self.octet("report", "runs/pole-1", "runs/pole-2", "runs/pole-3", "--html", "x.html")
        self.assertRegex(out, r"^x.html: 3 runs, \d+ KiB\n$")
        page = (self.home / "x.html").read_text(encoding="utf-8")
        self.assertNotRegex(page, r'(src|href)="(?!data:)')
        answers = json.loads(re.search(r'id="snapshot">(.*?)</script>', page, re.S)[1])
        self.assertEqual(len(answers["/runs"]["runs"]), 3)
        self.assertEqual(len(answers["/curve/2/wall_s/eval_return"]["x"]), 20)
        self.assertEqual(answers["/mean/0/env_steps/eval_return"]["n"][0], 3)
        self.assertEqual(answers["/video/0"], "data:image/gif;base64,R0lGODlhLW5vdC1hLXBpY3R1cmU=")

    def test_a_run_that_goes_on_is_live(self):
        for name, lock in [("a", ".lock"), ("b", "learner.lock"), ("c", ".lock"), ("d", None), ("e", None)]:
            dash_runs.make_run(self.runs / name, ended=name in "ce")  # c was resumed
            if lock:
                file = open(self.runs / name / lock, "wb")
                self.addCleanup(file.close)
                fcntl.flock(file, fcntl.LOCK_EX)
        self.octet("report", "runs", "--html", "x.html")
        page = (self.home / "x.html").read_text(encoding="utf-8")
        answers = json.loads(re.search(r'id="snapshot">(.*?)</script>', page, re.S)[1])
        self.assertEqual([run["status"] for run in answers["/runs"]["runs"]], ["live", "live", "live", "silent", "ended"])

    def test_names_of_runs_end_no_script(self):
        dash_runs.make_run(self.runs / HOSTILE.replace("/", ""), 1, 10, settings='run.name: "</script><script>alert(2)"\n')
        self.octet("report", "runs", "--html", "x.html")
        page = (self.home / "x.html").read_text(encoding="utf-8")
        self.assertEqual(page.count("<script"), 3)
        self.assertNotIn("<script>alert", page)

    def test_wrong_use_is_told(self):
        self.assertIn("no RUN given", self.octet("report", code=2)[1])
        self.assertIn("cannot read folder 'x': No such file", self.octet("report", "x", code=1)[1])
        self.assertIn("no run in '.'", self.octet("report", ".", code=1)[1])
        dash_runs.make_run(self.runs / "a")
        self.assertIn("cannot write '/nowhere/x.html'", self.octet("report", "runs", "--html", "/nowhere/x.html", code=1)[1])


class Fakes(Case):
    """octet train --dash, with daemons that do nothing (fake_daemon.c)."""

    learner = ""
    more = {}

    def environment(self):
        (self.home / "lib").mkdir(exist_ok=True)
        for name in ["octet-replay", "octet-learner", "octet-actor"]:
            if not (self.home / "lib" / name).exists():
                os.symlink(FAKE, self.home / "lib" / name)
        return {**super().environment(), "OCTET_LIBEXEC": str(self.home / "lib"), "FAKE_LEARNER": self.learner, **self.more}

    def train(self, *options):
        (self.home / "x.yaml").write_text("env:\n  id: CartPole-v1\nrun:\n  env_steps: 1000\n", encoding="utf-8")
        self.port = free_port(1)
        child = self.start("train", "x.yaml", f"--dash={self.port}", "--run-dir", "run", "--no-ui", *options)
        self.assertIn(f"http://127.0.0.1:{self.port} shows the run", child.stdout.readline())
        return child

    def live(self):
        run, = self.get("/runs")["runs"]
        return run if run["status"] == "live" else None


class Train(Fakes):
    def test_it_serves_while_the_run_lasts(self):
        child = self.train()
        run = wait_for("the run is live", self.live)
        self.assertEqual((run["name"], run["state"]["learner"]["state"], run["state"]["replay"]["heard"]), ("run", "training", True))
        self.assertIn("why", run["state"]["waiting"])
        steps = run["state"]["learner"]["numbers"]["learner.env_steps"]
        wait_for("it goes on", lambda: self.live()["state"]["learner"]["numbers"]["learner.env_steps"] > steps)
        again = self.octet("train", "x.yaml", f"--dash={self.port}", "--run-dir", "other", code=1)[1]
        self.assertIn(f"cannot serve http://127.0.0.1:{self.port}: another process listens on this port", again)
        self.assertFalse((self.home / "other").exists())
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_S)
        with self.assertRaises(OSError):
            self.ask("/runs")

    def test_a_run_of_another_process_is_live(self):
        child = self.train()
        self.dash("run")
        wait_for("the run is live", self.live)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_S)
        wait_for("the run has ended", lambda: self.get("/runs")["runs"][0]["status"] == "ended")

    def test_sockets_that_learners_left_hide_no_run(self):
        for i in range(20):
            dash_runs.make_run(self.home / f"{i:02}", i, 1, ended=False)
            folder = os.open(self.home / f"{i:02}", os.O_PATH)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(f"/proc/self/fd/{folder}/learner.ipc")
            os.close(folder)
        child = self.train()
        self.dash(".")
        wait_for("the run is live", lambda: [run["name"] for run in self.get("/runs")["runs"] if run["status"] == "live"] == ["run"])
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_S)

    def test_a_live_run_is_shown_however_many_are_newer(self):
        child = self.train()
        wait_for("the run is live", self.live)
        for i in range(2001):
            dash_runs.make_run(self.home / f"{i:04}", i, 1)
            os.utime(self.home / f"{i:04}", (2**32, 2**32))
        self.dash(".")
        wait_for("the run is shown", lambda: [run["name"] for run in self.get("/runs")["runs"] if run["status"] == "live"] == ["run"])
        self.assertEqual(self.get("/runs")["unshown"], 2)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_S)

    def test_it_stays_when_asked(self):
        self.learner = "finish"
        child = self.train("--dash-stay")
        for line in child.stdout:
            if "shows the ended run; Ctrl-C stops serving it" in line:
                break
        run = wait_for("the run has ended", lambda: (lambda run: run if run["status"] == "ended" else None)(self.get("/runs")["runs"][0]))
        self.assertEqual(run["summary"]["return"]["mean"], 498.2)
        self.assertIn("run: the run has ended", self.octet("status", "run")[0])
        self.assertIn("the run in 'run' has ended", self.octet("top", "run", code=1)[1])
        self.assertIn("run: the run has ended", self.octet("stop", "run", code=1)[1])
        self.octet("run", "pack", "run")
        self.octet("report", "run", "--html", "page.html")
        page = (self.home / "page.html").read_text(encoding="utf-8")
        answers = json.loads(re.search(r'id="snapshot">(.*?)</script>', page, re.S)[1])
        self.assertEqual(answers["/runs"]["runs"][0]["status"], "ended")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 0)

    def test_it_does_not_stay_after_a_stop_that_saved_nothing(self):
        self.learner = "deaf"
        self.more = {"FAKE_UPDATES": "50"}
        child = self.train("--dash-stay")
        while "updates=50 " not in child.stdout.readline():
            pass
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 1)


@unittest.skipIf(NO_BROWSER, NO_BROWSER)
class Page(Case):
    """A page in a browser. The cases of a process share the browser: each has a tab of its own."""

    browser = None

    @classmethod
    def browser_start(cls):
        # Processes of the browser may write there for a moment after it has quit.
        profile = tempfile.TemporaryDirectory(prefix="octet-test-", ignore_cleanup_errors=True)
        unittest.addModuleCleanup(profile.cleanup)
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900",
                     f"--user-data-dir={profile.name}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service(DRIVER), options=options)
        unittest.addModuleCleanup(cls.browser.quit)

    def setUp(self):
        super().setUp()
        if Page.browser is None:
            Page.browser_start()
        self.page = Page.browser
        self.page.get_log("browser")  # of the case before
        first = self.page.current_window_handle
        self.page.switch_to.new_window("tab")

        def close():
            self.page.close()
            self.page.switch_to.window(first)
        self.addCleanup(close)

    def run_js(self, script, *arguments):
        return self.page.execute_script("return " + script, *arguments)

    def cell(self, run, key):
        return self.run_js("(document.querySelector(`td[data-run='${arguments[0]}'][data-key='${arguments[1]}']`) || {dataset: {}}).dataset.value", run, key)

    def open(self, url):
        self.page.get(url)
        wait_for("the page is there", lambda: int(self.run_js("document.getElementById('state').dataset.updates")) > 0
                 and self.run_js("document.getElementById('state').dataset.reading") == "false")

    def table_below(self, title):
        """The cells of the table below that heading, row by row."""
        return self.run_js("(() => { const h = [...document.querySelectorAll('h3')].find((h) => h.textContent === arguments[0]);"
                           " return h ? [...h.nextElementSibling.rows].map((row) => [...row.cells].map((cell) => cell.textContent)) : []; })()", title)

    def row(self, i):
        """What is written in a row of the table of runs; 0 is the heading."""
        return self.run_js("[...document.getElementById('runs').rows[arguments[0]].cells].map((cell) => cell.textContent.trim())", i)

    def painted(self):
        """How many pixels of the large chart are of a curve: ground, grid and axes are grey."""
        return self.run_js("(() => { let count = 0; for (const c of document.querySelectorAll('#main canvas')) { const copy = document.createElement('canvas');"
                           " copy.width = c.width; copy.height = c.height; const g = copy.getContext('2d', {willReadFrequently: true}); g.drawImage(c, 0, 0);"
                           " const d = g.getImageData(0, 0, c.width, c.height).data; for (let i = 0; i < d.length; i += 4) {"
                           " const [r, g, b] = [d[i], d[i + 1], d[i + 2]]; count += d[i + 3] > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 60; } } return count; })()")

    def assert_quiet(self):
        self.assertEqual(self.page.get_log("browser"), [])


@unittest.skipIf(NO_BROWSER, NO_BROWSER)
class Live(Fakes, Page):
    def test_relays_are_listed(self):
        self.more = {"FAKE_PEERS": "4", "FAKE_RELAYS": "3"}
        self.train()
        wait_for("the run is live", self.live)
        self.open(f"http://127.0.0.1:{self.port}/")
        rows = wait_for("relays are listed", lambda: self.table_below("Relays"))
        self.assertEqual(rows, [["host", "pid", "address", "through", "actors", "last report"],
                                ["rack-0", "100", "serves other relays only", "learner and replay", "0", "0.5 s"],
                                ["rack-1", "101", "tcp://rack-1:5570", "tcp://rack-0:5570", "11", "0.5 s"],
                                ["rack-2", "102", "tcp://rack-2:5570", "tcp://rack-0:5570", "12", "silent"]])
        self.assertEqual([row[-1] for row in self.table_below("Actors and evaluators")],
                         ["relay", "\u2013", "rack-1/101", "rack-2/102", "\u2013"])
        self.assert_quiet()

    def test_a_run_that_begins_is_drawn(self):
        for i in range(12):
            dash_runs.make_run(self.home / f"{i:02}", i, 10)
        self.dash(".")
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        self.train()
        self.assertEqual(wait_for("the run is live", lambda: self.run_js("(() => { const row = document.querySelector('#runs .live')?.parentNode;"
                                                                         " return row && [row.querySelector('button').textContent, row.querySelector('input').checked]; })()")),
                         ["run", True])
        self.run_js("void document.querySelector('#runs .live').parentNode.querySelector('input').click()")
        updates = "Number(document.getElementById('state').dataset.updates)"
        before = self.run_js(updates)
        wait_for("the page is up to date", lambda: self.run_js(updates) > before + 1)
        self.assertFalse(self.run_js("document.querySelector('#runs .live').parentNode.querySelector('input').checked"))
        self.assert_quiet()

    def test_a_run_that_is_killed_is_silent(self):
        child = self.train()
        self.dash("run")
        wait_for("the run is live", self.live)
        self.open(f"http://127.0.0.1:{self.port}/")
        wait_for("the page says so", lambda: self.row(1)[1] == "live")
        child.send_signal(signal.SIGSTOP)  # which would start another learner
        for pid in pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text(encoding="ascii").split():
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].endswith(b"octet-learner"):
                os.kill(int(pid), signal.SIGKILL)
        child.kill()
        wait_for("the page says that nobody answers", lambda: self.row(1)[1] == "silent")

    def test_codes_are_of_the_newest_policy(self):
        self.train()
        wait_for("the run is live", self.live)
        self.open(f"http://127.0.0.1:{self.port}/")
        for name, version in [("box_int8.oct", 42), ("box_int8_next.oct", 45)]:
            shutil.copy(POLICIES / name, self.home / "policy.oct")
            os.replace(self.home / "policy.oct", self.home / "run" / "policy.oct")
            wait_for(f"version {version} is shown", lambda: f"policy.oct, version {version}," in self.run_js("document.getElementById('codes').textContent"))
        self.assert_quiet()


@unittest.skipIf(NO_BROWSER, NO_BROWSER)
class Browser(Page):
    def look(self, url, summaries):
        self.open(url)
        for run, summary in enumerate(summaries):
            self.assertEqual(float(self.cell(run, "return.mean")), summary["return"]["mean"])
            self.assertEqual(float(self.cell(run, "env_steps")), summary["env_steps"])
            self.assertEqual(float(self.cell(run, "updates")), summary["updates"])
            self.assertEqual(float(self.cell(run, "env_steps_per_s")), summary["env_steps_per_s"])
            seed = summary["seed"]
            self.assertEqual(self.row(run + 1)[1:], ["ended: solved", "CartPole-v1", str(seed), f"{487.3 + seed} \u00b1 12.5", "100 k", "1000", "50.4 s", str(1901 + seed), "1400"])
        self.assertEqual(self.run_js("document.getElementById('waiting').textContent"), "The learner waited 93 % of the run, actors 50 %.")
        self.assertEqual(self.run_js("[...document.querySelectorAll('.bar span')].map((part) => part.title)"), ["infer 38 %", "env 13 %", "collect 0 %", "wait 50 %"])
        widths = self.run_js("[...document.querySelectorAll('.bar, .bar span')].map((part) => part.getBoundingClientRect().width)")
        for width, share in zip(widths[1:], [3 / 8, 1 / 8, 0, 4 / 8]):
            self.assertAlmostEqual(width / widths[0], share, places=2)
        wait_for("curves are drawn", lambda: self.painted() > 2000)
        # All of summary.json is beside the details of the first run.
        shown = self.run_js("[...document.querySelectorAll('#summary td[data-key]')].map((td) => [td.dataset.key, td.textContent])")
        flat = {}
        for key, value in summaries[0].items():
            flat |= {f"{key}.{part}": of for part, of in value.items()} if isinstance(value, dict) else {key: value}
        self.assertEqual(dict(shown).keys(), flat.keys())
        for key, text in shown:
            want = flat[key]
            self.assertEqual(float(text) if isinstance(want, float) else text, want if isinstance(want, (float, str)) else json.dumps(want), key)
        self.assert_quiet()

    def test_a_questionable_end_is_shown_whole(self):
        summary = dash_runs.make_run(self.runs / "a", 1)
        summary |= {"unevaluated_why": "2 full evaluations failed", "evaluation_failures": 6, "return": summary["return"] | {"actions": "sampled"}}
        (self.runs / "a" / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        self.dash()
        self.when_read()
        self.octet("report", "runs", "--html", "x.html")
        doubts = ["evaluation: 2 full evaluations failed: short evaluations chose the policy, if any did (log/evaluator.log)",
                  "failed: 6 steps or resets in evaluations (log/evaluator.log)"]
        for url in (f"http://localhost:{self.port}/", "file://" + urllib.parse.quote(str(self.home / "x.html"))):
            self.open(url)
            self.assertEqual(self.row(1)[1], "ended: solved without a full evaluation (2 warnings)")
            self.assertIn("sampled 488.3", self.row(1)[4])
            shown = wait_for("details are shown", lambda: self.run_js("[...document.querySelectorAll('.doubt')].map((p) => p.textContent)"))
            self.assertEqual(shown, doubts)
            self.assert_quiet()

    def test_values_equal_the_summary(self):
        summaries = [dash_runs.make_run(self.runs / f"pole-{seed}", seed) for seed in [1, 2, 3]]
        self.dash()
        self.when_read()
        self.look(f"http://localhost:{self.port}/", summaries)
        self.octet("report", "runs", "--html", "x.html")
        self.look("file://" + urllib.parse.quote(str(self.home / "x.html")), summaries)

    def test_a_narrow_page_is_whole(self):
        dash_runs.make_run(self.runs / "a")
        (self.runs / "a" / "metrics.csv").write_text("env_steps,eval_return\n1000,0\n2000,4e30\n", encoding="utf-8")
        shutil.copy(POLICIES / "box_int8.oct", self.runs / "a" / "policy.oct")
        self.dash()
        self.when_read()
        self.page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False})
        self.open(f"http://127.0.0.1:{self.port}/")
        self.assertIn("4.00e+30", wait_for("the axis is drawn", lambda: self.ticks("y")))
        wide = "['charts', 'codes'].map((id) => document.getElementById(id)).filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.id)"
        self.assertEqual(self.run_js(wide), [])
        self.assertEqual(self.run_js("getComputedStyle(document.documentElement).colorScheme"), "light dark")
        self.assert_quiet()

    def pointed(self):
        """What the page says of points of the large chart, from its left to its right: name, value and x."""
        chart = self.page.find_element("id", "main")
        told = set()
        for offset in range(-500, 600, 50):
            ActionChains(self.page, duration=0).move_to_element_with_offset(chart, offset, 0).perform()
            told.add(self.run_js("document.getElementById('pointed').textContent"))
        return [(name, float(value), float(x[:-2]) * 1000 if x.endswith("k") else float(x)) for name, value, x in
                (re.fullmatch(r"(.*): (\S+) at (.*) environment steps", text).groups() for text in told if text and not text.startswith("goal: 475 "))]

    def test_what_is_pointed_at_is_in_the_files(self):
        for seed, rows in [(1, 100), (2, 55)]:
            dash_runs.make_run(self.runs / f"pole-{seed}", seed, rows)
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        files = {seed: {1000 * i: float(dash_runs.row(i, seed).split(",")[dash_runs.COLUMNS.index("eval_return")]) for i in range(5, 101, 5)} for seed in [1, 2]}
        wait_for("the curves are drawn", lambda: self.painted() > 1000)
        self.run_js("void document.getElementById('means').click()")
        wait_for("the mean is gone", lambda: {name for name, *_ in self.pointed()} == {"pole-1", "pole-2"})
        for name, value, x in self.pointed():
            self.assertAlmostEqual(value, files[int(name[-1])][x], delta=0.05)
        for box in ["means", "seeds"]:
            self.run_js(f"void document.getElementById('{box}').click()")
        means = wait_for("the mean is alone", lambda: (lambda points: points if {name for name, *_ in points} == {"mean of 2: CartPole-v1"} else None)(self.pointed()))
        # It ends with the run that ends first, and is taken between steps: 200 of them.
        self.assertLessEqual(max(x for *_, x in means), 55000)
        for _, value, x in means:
            near = min(files[1], key=lambda step: abs(step - x))
            if abs(near - x) < 200:
                self.assertAlmostEqual(value, (files[1][near] + files[2][near]) / 2, delta=3)
        self.assert_quiet()

    def test_a_run_that_ended_without_a_word(self):
        dash_runs.make_run(self.runs / "a", 1, 20000, ended=False)
        shutil.copy(POLICIES / "box_int8.oct", self.runs / "a" / "policy.oct")
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        self.assertEqual(self.run_js("document.getElementById('state').textContent"), "1 run, 0 live")
        self.assertEqual(self.row(1)[1:], ["silent", "CartPole-v1", "1", "510", "20 M", "200 k", "2.8 h", "2001", "1500"])
        self.assertEqual(self.run_js("document.querySelector('#runs .silent').title"), "no daemon answers, and there is no summary")
        self.assertEqual(self.run_js("document.getElementById('waiting').textContent"), "The learner waited 25 % of the last row, actors 20 %.")
        layers = self.get("/codes/0")["layers"]
        said = [f"layer {i} ({layer['inputs']} \u2192 {layer['outputs']}): {{}} % of the codes are 0, {{}} % are \u00b1127; at most {max(layer['counts'])} weights have one code"
                for i, layer in enumerate(layers)]
        for i, layer in enumerate(layers):
            total = sum(layer["counts"])
            share = [int(100 * count / total + 0.5) for count in [layer["counts"][127], layer["counts"][0] + layer["counts"][254]]]
            self.assertEqual(self.run_js("document.querySelectorAll('#codes [data-layer] .soft:not(.ticks)')[arguments[0]].textContent", i), said[i].format(*share))
        self.assert_quiet()

    def test_a_copy_is_named_and_not_counted(self):
        for seed in [1, 2]:
            summary = dash_runs.make_run(self.runs / f"pole-{seed}", seed)
            (self.runs / f"pole-{seed}" / "summary.json").write_text(json.dumps(summary | {"run_id": f"{seed:016x}"}), encoding="utf-8")
        shutil.copytree(self.runs / "pole-1", self.runs / "pole-1-backup")
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        self.assertEqual([self.row(i)[0] for i in [1, 2, 3]], ["pole-1", "pole-1-backup copy of pole-1", "pole-2"])
        wait_for("the mean is of two", lambda: self.run_js("document.querySelector('#groups li').textContent") == "CartPole-v1 \u00b7 2 runs")
        self.octet("report", "runs", "--html", "x.html")
        self.open("file://" + urllib.parse.quote(str(self.home / "x.html")))
        columns = self.run_js("[...document.getElementById('column').options].map((option) => option.value)")
        self.assertIn("loss", columns)
        self.assertNotIn("wall_s", columns)  # a report has no curve of it
        self.assert_quiet()

    def test_what_daemons_say_is_shown(self):
        for name in "ab":
            dash_runs.make_run(self.runs / name, 1, 10, ended=False)
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        peer = {"role": "actor", "pid": 7, "policy_version": 9, "lag_versions": 1, "unacked": 3, "heard_s": 0.5}
        peers = [peer | {"id": "x", "host": "left", "steps_per_s": 100, "infer_share": 0.1, "env_share": 0.2, "wait_share": 0.7},
                 peer | {"id": "y", "host": "left", "steps_per_s": 50, "infer_share": 0.3, "env_share": 0.4, "wait_share": 0.3},
                 peer | {"id": "z", "host": "right", "silent": True}]
        numbers = {"replay.size": 12345, "replay.sessions": 3}
        state = {"waiting": {"why": "nobody waits"}, "warning": "a disk is slow", "peers": {"list": peers}, "replay": {"numbers": numbers}}
        self.run_js("void ((state) => { const whole = window.fetch; window.fetch = async (...of) => { const answer = await (await whole(...of)).json();"
                    " answer.changes += answer.changes >= 0 ? 1 : 0; if (answer.runs) Object.assign(answer.runs[1], {status: 'live', state});"
                    " return new Response(JSON.stringify(answer)); }; })(arguments[0])", state)
        wait_for("one is live", lambda: self.run_js("document.getElementById('state').textContent") == "2 runs, 1 live")
        self.run_js("void document.querySelectorAll('button.name')[1].click()")
        wait_for("its hosts are shown", lambda: self.table_below("Hosts") == [["host", "processes", "steps/s"], ["left", "2", "150"], ["right", "1", "0"]])
        self.assertEqual(self.table_below("Actors and evaluators")[1:],
                         [["x", "actor", "left", "7", "live", "9", "1", "100", "10 %", "20 %", "70 %", "3", "0.5 s"],
                          ["y", "actor", "left", "7", "live", "9", "1", "50", "30 %", "40 %", "30 %", "3", "0.5 s"],
                          ["z", "actor", "right", "7", "silent", "9", "1", "\u2013", "\u2013", "\u2013", "\u2013", "3", "0.5 s"]])
        self.assertEqual({name: value for name, value in self.table_below("Replay and limiter")[1:] if value != "\u2013"}, {"windows held": "12.35 k", "sessions of actors": "3"})
        self.assertEqual(self.run_js("document.getElementById('waiting').textContent"), "nobody waits")
        self.assertEqual(self.run_js("document.querySelector('#details .warning').textContent"), "a disk is slow")
        self.assert_quiet()

    def test_it_keeps_up_with_a_run(self):
        dash_runs.make_run(self.runs / "a", 1, 10, ended=False)
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        self.assertEqual(float(self.cell(0, "env_steps")), 10000)
        for i in range(11, 16):
            with open(self.runs / "a" / "metrics.csv", "a", encoding="utf-8") as out:
                out.write(dash_runs.row(i, 1))
            wait_for("the page shows the new row", lambda: float(self.cell(0, "env_steps")) == 1000 * i)
        summary = dash_runs.make_run(self.runs / "b", 2, 30)
        wait_for("the page shows the new run", lambda: self.cell(1, "return.mean"))
        self.assertEqual(float(self.cell(1, "return.mean")), summary["return"]["mean"])
        self.assert_quiet()

    def test_an_update_keeps_what_is_held(self):
        for name in ["a", "b", "c"]:
            dash_runs.make_run(self.runs / name, 1, 10, ended=False)
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        held = "document.activeElement.textContent"
        for text in ["run ▴", "run ▾", "run"]:
            self.run_js("void document.querySelector('#runs th button').focus()")
            ActionChains(self.page).send_keys(Keys.ENTER).perform()
            self.assertEqual(self.run_js(held), text)
        ActionChains(self.page).click_and_hold(self.page.find_elements("css selector", "button.name")[1]).perform()
        with open(self.runs / "a" / "metrics.csv", "a", encoding="utf-8") as out:
            out.write(dash_runs.row(11, 1))
        wait_for("the page shows the new row", lambda: float(self.cell(0, "env_steps")) == 11000)
        self.assertEqual(self.run_js(held), "b")
        ActionChains(self.page).release().perform()
        self.assertEqual(self.run_js("document.querySelector('tr.chosen button').textContent"), "b")
        self.assertEqual(self.run_js(held), "b")
        self.assert_quiet()

    def curves_asked(self):
        return self.run_js("performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname).filter((path) => path.startsWith('/curve/'))")

    def test_another_server_at_the_same_port_is_another_page(self):
        dash_runs.make_run(self.runs / "a", 1, 100)
        dash_runs.make_run(self.home / "others" / "b", 2, 100)
        child = self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        self.run_js("performance.clearResourceTimings()")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_S)
        wait_for("the page says that nobody answers", lambda: "does not answer" in self.run_js("document.querySelector('header .warning')?.textContent ?? ''"))
        self.start("dash", "others", "--port", str(self.port)).stdout.readline()
        wait_for("the page shows the other run", lambda: self.run_js("document.querySelector('button.name').textContent") == "b")
        wait_for("its curve is asked for, though its path is that of the other", lambda: "/curve/0/env_steps/eval_return" in self.curves_asked())
        wait_for("its details are shown", lambda: self.run_js("document.querySelector('#details .soft').textContent") == "others/b")
        wait_for("the warning is gone", lambda: self.run_js("document.querySelector('header .warning')") is None)

    def test_runs_that_are_gone_make_room(self):
        for i in range(12):
            dash_runs.make_run(self.runs / f"{i:02}", i, 10)
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        for i in range(12):
            shutil.rmtree(self.runs / f"{i:02}")
        dash_runs.make_run(self.runs / "new", 1, 10)
        wait_for("it is the only one", lambda: self.run_js("[...document.querySelectorAll('button.name')].map((b) => b.textContent)") == ["new"])
        self.assertTrue(self.run_js("document.querySelector('#runs td input').checked"))
        self.assert_quiet()

    def test_a_request_that_fails_is_repeated(self):
        for name in ["a", "b"]:
            dash_runs.make_run(self.runs / name, 1, 100)
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        self.run_js("void (() => { window.whole = window.fetch; window.fetch = async (path, ...more) => { if (path.includes('/loss')) throw new Error('cut');"
                    " return window.whole(path, ...more); }; const e = document.getElementById('column'); e.value = 'loss'; e.dispatchEvent(new Event('change')); })()")
        wait_for("the page says that it failed", lambda: "cut" in self.run_js("document.querySelector('header .warning')?.textContent ?? ''"))
        self.run_js("void performance.clearResourceTimings(), void (window.fetch = window.whole)")
        wait_for("the curve is asked for again", lambda: "/curve/1/env_steps/loss" in self.curves_asked())
        wait_for("the warning is gone", lambda: self.run_js("document.querySelector('header .warning')") is None)
        self.assert_quiet()

    def test_names_are_text(self):
        for name in [HOSTILE.replace("/", ""), "<img src=x onerror=alert(1)>", "\"><b>bold", "a&amp;b"]:
            dash_runs.make_run(self.runs / name, 1, 10, settings='algo: {learning_rate: 0.002}\n')
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        names = self.run_js("[...document.querySelectorAll('button.name')].map((b) => b.textContent)")
        self.assertEqual(sorted(names), sorted(os.listdir(self.runs)))
        self.assertEqual(self.run_js("document.querySelectorAll('main script, main b, main img').length"), 0)
        self.octet("report", "runs", "--html", "x.html")
        self.open("file://" + urllib.parse.quote(str(self.home / "x.html")))
        self.assertEqual(self.run_js("document.querySelectorAll('main script[src], main b, main img').length"), 0)
        self.assert_quiet()

    def test_nothing_is_said_of_a_configuration_that_is_not_understood(self):
        for i, name in enumerate("abc"):
            dash_runs.make_run(self.runs / name, 7, 10, settings=f"algo: {{learning_rate: 0.00{i + 2}}}\n")
        (self.runs / "c" / "config.yaml").write_text("env: [", encoding="utf-8")
        self.dash()
        self.when_read()
        self.open(f"http://127.0.0.1:{self.port}/")
        self.assertEqual([self.row(i)[3] for i in [1, 2, 3]], ["7", "7", "\u2013"])
        self.assertEqual(self.run_js("[...document.getElementById('differences').rows].map((row) => [...row.cells].map((cell) => cell.textContent))"),
                         [["run", "algo.learning_rate"], ["a", "0.002"], ["b", "0.003"], ["c", "\u2013"]])
        self.assert_quiet()

    def legend(self):
        return self.run_js("[...document.querySelectorAll('#groups li:not([title=goal])')].map((li) => [li.title, li.querySelector('line').getAttribute('stroke'),"
                           " li.querySelector('line').getAttribute('stroke-dasharray')])")

    def test_configurations_are_told_apart(self):
        for i in range(12):
            dash_runs.make_run(self.runs / f"pole-{i:02}", 1, 20,
                               settings=f"algo: {{learning_rate: {0.001 + i / 1e5}, discount: 0.98}}\nnetwork: {{hidden: [32]}}\nlearner: {{batch_size: 48}}\nreplay: {{capacity: 5000}}\n")
        dash_runs.make_run(self.runs / "swing" / "up", 1, 20)
        (self.runs / "swing" / "up" / "config.yaml").write_text("env: {id: Pendulum-v1}\nalgo: {name: d4pg}\n", encoding="utf-8")
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        self.run_js("void [...document.querySelectorAll('#runs td input:not(:checked)')].forEach((box) => box.click())")
        wait_for("all are in the legend", lambda: len(self.legend()) == 13)
        names, colours, dashes = zip(*self.legend())
        self.assertEqual(names[:2], ("CartPole-v1 · algo.learning_rate=0.001", "CartPole-v1 · algo.learning_rate=0.00101"))
        self.assertEqual(names[-1], "Pendulum-v1")
        self.assertEqual(len(set(zip(colours, dashes))), 13)
        self.assertEqual(len(set(colours)), 10)
        self.assert_quiet()

    def test_a_configuration_is_named_by_its_algorithm_and_few_keys(self):
        dash_runs.make_run(self.runs / "a", 1, 20, settings="algo: {name: dqn}\n")
        dash_runs.make_run(self.runs / "b", 1, 20, settings="algo: {name: ppo, learning_rate: 0.25, discount: 0.5, adam_epsilon: 0.125}\nnetwork: {hidden: [8]}\n"
                           "learner: {batch_size: 48, prefetch: 3}\nreplay: {capacity: 5000}\nactor: {envs: 7}\n")
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        self.run_js("void [...document.querySelectorAll('#runs td input:not(:checked)')].forEach((box) => box.click())")
        wait_for("both are in the legend", lambda: len(self.legend()) == 2)
        shown = self.run_js("[...document.querySelectorAll('#groups li:not([title=goal]) > span')].map((span) => span.textContent)")
        for (whole, _, _), text, name in zip(self.legend(), shown, ("dqn", "ppo")):
            parts, hidden = whole.split(" · "), whole.count(" · ") - 6
            self.assertEqual(parts[:2], ["CartPole-v1", "algo.name=" + name])
            self.assertGreater(hidden, 1)
            self.assertEqual(text, " · ".join([*parts[:7], f"{hidden} more keys differ (below)"]))

    def test_runs_of_one_name_are_told_apart(self):
        for sweep in ["left", "right"]:
            dash_runs.make_run(self.runs / sweep / "trial-0001-seed-1", 1, 20)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        self.assertEqual(self.run_js("[...document.querySelectorAll('button.name')].map((b) => b.textContent)"), ["left/trial-0001-seed-1", "right/trial-0001-seed-1"])
        self.assert_quiet()

    def test_the_table_is_sorted_and_ticked_as_a_whole(self):
        for name, seed, ended in [("a", 2, True), ("b", 10, True), ("c", 1, True), ("d", 3, False)]:
            dash_runs.make_run(self.runs / name, seed, 20, ended)
        (self.runs / "d" / "metrics.csv").unlink()
        self.dash()
        wait_for("all rows are read", lambda: not self.get("/runs")["reading"])
        self.open(f"http://localhost:{self.port}/")
        names = "[...document.querySelectorAll('#runs button.name')].map((b) => b.textContent).join('')"
        click = "void [...document.querySelectorAll('#runs th button')].find((b) => b.textContent.startsWith(arguments[0])).click()"
        for title, orders in [("return", ["bacd", "cabd", "abcd"]), ("seed", ["bdac", "cadb", "abcd"]), ("run", ["abcd", "dcba", "abcd"])]:
            for order in orders:
                self.run_js(click, title)
                self.assertEqual(self.run_js(names), order, title)
        boxes = "[...document.querySelectorAll('#runs td input')].filter((box) => box.checked).length"
        every = "document.querySelector('#runs th input')"
        for number in [0, 4]:
            self.run_js(f"void {every}.click()")
            self.assertEqual(self.run_js(boxes), number)
            wait_for("the charts follow", lambda: self.run_js("document.querySelectorAll('#groups li').length") == (2 if number else 0))  # a configuration and the goal
        self.run_js("void document.querySelector('#runs td input').click()")
        self.assertTrue(self.run_js(every + ".indeterminate"))
        self.assert_quiet()

    def test_many_runs_are_on_several_pages(self):
        for i in range(230):
            dash_runs.make_run(self.runs / f"pole-{i:03}", i, 5, ended=i > 0)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        names = "[...document.querySelectorAll('#runs button.name')].map((b) => b.textContent)"
        compared = "[...document.querySelectorAll('#differences tr td:first-child')].map((td) => td.textContent)"
        click = "void document.getElementById(arguments[0]).click()"

        def assert_shown(place, *runs):
            self.assertEqual(self.run_js(names), [f"pole-{i:03}" for i in runs])
            self.assertEqual(self.run_js("document.getElementById('place').textContent"), place)
        assert_shown("1\u2013100 of 230", *range(100))
        self.run_js(click, "next")
        self.run_js(click, "next")
        assert_shown("201\u2013230 of 230", *range(200, 230))
        self.assertEqual(self.run_js("['previous', 'next'].map((id) => document.getElementById(id).disabled)"), [False, True])
        sort = "void [...document.querySelectorAll('#runs th button')].find((b) => b.textContent.startsWith('seed')).click()"
        self.run_js(sort)
        assert_shown("201\u2013230 of 230", *range(29, -1, -1))
        self.run_js(click, "previous")
        assert_shown("101\u2013200 of 230", *range(129, 29, -1))
        self.page.find_element("id", "filter").send_keys("pole-2 ENDED")
        assert_shown("1\u201330 of 30 (230 in all)", *range(229, 199, -1))
        self.run_js("void document.querySelector('#runs th input').click()")
        wait_for("the legend counts those that are found", lambda: " 42 of 230 runs" in self.run_js("document.getElementById('groups').textContent"))
        self.assertEqual(self.run_js(compared), ["All runs have the same configuration."])
        self.assert_quiet()

    def test_a_video_is_shown(self):
        dash_runs.make_run(self.runs / "a", 1)
        picture = "R0lGODlhAwACAIAAAAAAAP///ywAAAAAAwACAAACAoRRADs="  # of 3x2
        (self.runs / "a" / "policy.gif").write_bytes(base64.b64decode(picture))
        self.dash()
        self.when_read()
        self.octet("report", "runs", "--html", "x.html")
        for url in [f"http://localhost:{self.port}/", "file://" + urllib.parse.quote(str(self.home / "x.html"))]:
            self.open(url)
            wait_for("the picture is there", lambda: self.run_js("(document.querySelector('#video img') || {}).naturalWidth") == 3)
            self.assert_quiet()

    def test_a_video_that_was_made_anew_is_shown(self):
        dash_runs.make_run(self.runs / "a", 1)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        for width in [3, 5]:  # of the screen, which is all that a page needs to know of a picture
            picture = bytearray(base64.b64decode("R0lGODlhAwACAIAAAAAAAP///ywAAAAAAwACAAACAoRRADs="))
            picture[6] = width
            (self.runs / "new").write_bytes(picture)
            os.replace(self.runs / "new", self.runs / "a" / "policy.gif")
            wait_for(f"the picture is {width} wide", lambda: self.run_js("(document.querySelector('#video img') || {}).naturalWidth") == width)
        self.assert_quiet()

    def test_axes_columns_and_zoom(self):
        for seed in [1, 2]:
            dash_runs.make_run(self.runs / f"pole-{seed}", seed)
        dash_runs.make_run(self.runs / "other", 1, settings="algo: {learning_rate: 0.002}\n")
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        self.assertIn("algo.learning_rate", self.run_js("document.getElementById('differences').textContent"))
        for axis in ["updates", "wall_s", "env_steps"]:
            for column in ["loss", "eval_return"]:
                self.run_js("[['axis', arguments[0]], ['column', arguments[1]]].forEach(([id, value]) => { const e = document.getElementById(id);"
                            " e.value = value; e.dispatchEvent(new Event('change')); })", axis, column)
                wait_for(f"{column} over {axis} is drawn", lambda: self.painted() > 1000)
        self.assert_quiet()

    def ticks(self, axis):
        return self.run_js("[...document.querySelectorAll('#main .dygraph-axis-label-' + arguments[0])].map((label) => label.textContent)", axis)

    def test_runs_without_steps_are_drawn_over_updates(self):
        offline = "replay: {data: pole.data}\n"
        for seed in [1, 2]:
            dash_runs.make_run(self.runs / f"pole-{seed}", seed, settings=offline)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        axis = "[document.getElementById('axis').value, document.querySelector('#main .dygraph-xlabel').textContent]"
        wait_for("the curves are drawn", lambda: self.painted() > 1000)
        self.assertEqual(self.run_js(axis), ["updates", "updates"])
        dash_runs.make_run(self.runs / "acted", 1)  # of which the steps are known
        wait_for("the axis is that of all runs", lambda: self.run_js(axis) == ["env_steps", "environment steps"])
        self.run_js("(() => { const e = document.getElementById('axis'); e.value = 'wall_s'; e.dispatchEvent(new Event('change')); })()")
        dash_runs.make_run(self.runs / "more", 3, settings=offline)
        wait_for("there is another run", lambda: self.run_js("document.querySelectorAll('#runs td input').length") == 4)
        self.assertEqual(self.run_js("document.getElementById('axis').value"), "wall_s")
        self.assert_quiet()

    def test_what_is_zoomed_stays_so_while_curves_come_and_go(self):
        for seed in [1, 2]:
            dash_runs.make_run(self.runs / f"pole-{seed}", seed)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        whole = wait_for("the axis is drawn", lambda: self.ticks("x"))
        self.assertEqual(self.run_js("document.querySelector('#main .dygraph-xlabel').textContent"), "environment steps")
        chart = self.page.find_element("id", "main")
        ActionChains(self.page).move_to_element(chart).click_and_hold().move_by_offset(200, 0).release().perform()
        zoomed = self.ticks("x")
        self.assertNotEqual(zoomed, whole)
        self.run_js("void document.querySelector('#runs td input').click()")
        with open(self.runs / "pole-2" / "metrics.csv", "a", encoding="utf-8") as out:
            out.write(dash_runs.row(101, 2))
        updates = int(self.run_js("document.getElementById('state').dataset.updates"))
        wait_for("the page is up to date", lambda: int(self.run_js("document.getElementById('state').dataset.updates")) > updates + 1)
        self.assertEqual(self.ticks("x"), zoomed)
        self.run_js("(() => { const e = document.getElementById('axis'); e.value = 'updates'; e.dispatchEvent(new Event('change')); })()")
        wait_for("the axis is another", lambda: self.run_js("document.querySelector('#main .dygraph-xlabel').textContent") == "updates")
        self.assertIn("900", self.ticks("x"))
        self.assert_quiet()

    def test_curves_of_other_steps_are_lines(self):
        for i, steps in enumerate([[1000, 3000, 11000], [2000, 4000]]):
            dash_runs.make_run(self.runs / str(i), 1, settings=f"algo: {{learning_rate: 0.00{i + 2}}}\n")
            (self.runs / str(i) / "metrics.csv").write_text("env_steps,eval_return\n" + "".join(f"{x},{x % 4000}\n" for x in steps), encoding="utf-8")
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        wait_for("lines are drawn", lambda: self.painted() > 1000)
        self.assertTrue(self.ticks("x")[-1].endswith(" k"))
        self.assert_quiet()

    def write_rows(self, name, column, rows):
        (self.runs / name / "metrics.csv").write_text(f"env_steps,{column}\n" + "".join(f"{x},{y}\n" for x, y in rows), encoding="utf-8")

    def numbers(self, axis):
        return [float(text.replace(" k", "e3")) for text in wait_for("the axis is drawn", lambda: self.ticks(axis))]

    def test_axes_begin_at_0_unless_a_value_is_below(self):
        dash_runs.make_run(self.runs / "a", 1, ended=False)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        for (low, high), least in [((480, 500), (0, 0)), ((-400, -300), (-450, -350)), ((-50, 100), (-100, 0))]:
            self.write_rows("a", "eval_return", [(3000, low), (9000, high)])
            wait_for(f"the y axis of {low} .. {high} begins between {least}", lambda: (lambda y: least[0] <= y[0] <= least[1] and high - 50 <= y[-1] <= high + 50)(self.numbers("y")))
            self.assertEqual(self.numbers("x")[0], 0)
        self.assert_quiet()

    def test_axes_have_titles_with_units(self):
        dash_runs.make_run(self.runs / "a", 1, ended=False)
        with open(self.runs / "a" / "metrics.csv", encoding="utf-8") as file:
            text = file.read()
        (self.runs / "a" / "metrics.csv").write_text(text.replace("loss", "publish_encode_ms"), encoding="utf-8")
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        titles = "['x', 'y'].map((axis) => document.querySelector(`#main .dygraph-${axis}label`)?.textContent)"
        for column, title in [("eval_return", "evaluation: mean return per episode"), ("policy_bytes", "policy as sent, delta or complete (bytes)"),
                              ("publish_encode_ms", "publish_encode_ms (ms)"), ("env_steps_per_s", "environment steps per second"), ("eval_std", "eval_std")]:
            self.run_js("(() => { const e = document.getElementById('column'); e.value = arguments[0]; e.dispatchEvent(new Event('change')); })()", column)
            wait_for(f"the axis of {column} has its title", lambda: self.run_js(titles) == ["environment steps", title])
        self.assertEqual(self.run_js("[...document.querySelectorAll('#charts .dygraph-xlabel')].every((label) => label.textContent === 'environment steps')"), True)
        self.assertIn("replay size (windows)", self.run_js("document.getElementById('charts').textContent"))
        self.assert_quiet()

    def test_the_goal_is_drawn_and_named(self):
        dash_runs.make_run(self.runs / "ended", 1)  # of a summary, whose goal is 475
        dash_runs.make_run(self.runs / "live", 1, ended=False)
        (self.runs / "live" / "config.yaml").write_text("env: {id: CartPole-v1}\nrun: {seed: 1, stop_at_return: 490}\n", encoding="utf-8")
        dash_runs.make_run(self.runs / "none", 1, ended=False, settings="algo: {learning_rate: 0.002}\n")
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        goals = "[...document.querySelectorAll('#groups li[title=goal]')].map((li) => li.textContent)"
        wait_for("the goals are named", lambda: self.run_js(goals) == ["goal: 475 (run.stop_at_return)", "goal: 490 (run.stop_at_return)"])
        self.run_js("(() => { const e = document.getElementById('column'); e.value = 'loss'; e.dispatchEvent(new Event('change')); })()")
        wait_for("a loss has no goal", lambda: self.run_js(goals) == [])
        self.assert_quiet()

    def test_every_colour_is_explained(self):
        dash_runs.make_run(self.runs / "a", 1)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        colours = self.run_js("[...document.querySelectorAll('.bar span')].map((part) => part.style.background)")
        key = self.run_js("[...document.querySelectorAll('.key line')].map((line) => getComputedStyle(line).stroke)")
        self.assertEqual(colours, key)
        self.assertEqual(self.run_js("document.querySelector('.key').textContent"),
                         "infer 38 %: run the policyenv 13 %: step environmentscollect 0 %: build rows into batcheswait 50 %: wait for room in the ring")
        red, green, blue = (int(part) for part in re.findall(r"\d+", colours[-1]))
        self.assertLess(max(red, green, blue) - min(red, green, blue), 40)  # to wait is normal: grey, no alarm
        self.assertEqual(self.run_js("document.querySelectorAll('.controls .swatch path').length"), 3)  # a run; a mean and its band
        self.assertEqual(self.run_js("document.getElementById('differences').textContent"), "Only one run: nothing to compare.")
        self.assert_quiet()

    def test_a_narrow_page_shows_names_and_keys(self):
        for rate in [0.001, 0.002]:
            dash_runs.make_run(self.runs / f"pole-{rate}", 1)
            (self.runs / f"pole-{rate}" / "config.yaml").write_text(
                f"env: {{id: CartPole-v1}}\nrun: {{seed: 1, env_steps: {int(1e9 * rate)}}}\nalgo: {{learning_rate: {rate}}}\n", encoding="utf-8")
        self.dash()
        self.when_read()
        self.page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False})
        self.open(f"http://127.0.0.1:{self.port}/")
        wait_for("the keys are in the legend", lambda: "algo.learning_rate=0.001" in self.run_js("document.getElementById('groups').textContent"))
        cut = "[...document.querySelectorAll('#groups li, #groups span')].filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0 ||"
        self.assertEqual(self.run_js(cut + " part.getBoundingClientRect().right > 390).length"), 0)
        self.run_js("void (document.querySelector('.list').scrollLeft = 300)")
        self.assertGreaterEqual(self.run_js("document.querySelector('button.name').getBoundingClientRect().left"), 0)
        self.assert_quiet()

    def test_the_bytes_of_a_policy_have_their_share_of_fp32(self):
        dash_runs.make_run(self.runs / "a", 1, ended=False)
        self.write_rows("a", "policy_bytes,policy_bytes_fp32_ratio", [(1000, "751,0.146")])
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        self.assertEqual((self.row(0)[-1], self.row(1)[-1]), ("policy as sent (bytes)", "751 (15 % of fp32)"))
        self.assert_quiet()

    def test_the_band_ends_at_values_that_were_seen(self):
        for name, score in [("low", 0), ("high", 500)]:
            dash_runs.make_run(self.runs / name)
            (self.runs / name / "metrics.csv").write_text(f"env_steps,eval_return\n1000,{score}\n2000,{score}\n", encoding="utf-8")
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        scores = [int(text) for text in wait_for("the axis is drawn", lambda: self.ticks("y"))]
        self.assertTrue(-100 < min(scores) <= 0 and 500 <= max(scores) < 600, scores)
        self.assertNotIn("of all", self.run_js("document.getElementById('groups').textContent"))
        self.run_js("void document.querySelector('#runs td input').click()")
        wait_for("the legend says whose mean it is", lambda: "1 of 2 runs, the mean is of all" in self.run_js("document.getElementById('groups').textContent"))
        self.assert_quiet()

    def test_its_picture_is_taken(self):
        dash_runs.make_run(self.runs / "a", 1)
        self.octet("report", "runs", "--html", "x.html")
        program = pathlib.Path(__file__).resolve().parents[2] / "tools/dash_picture.py"
        subprocess.run([sys.executable, program, f"file://{self.home}/x.html", self.home / "x.png", "700", "500"], check=True, timeout=DEADLINE_S)
        data = (self.home / "x.png").read_bytes()
        self.assertEqual((data[:8], data[24:26]), (b"\x89PNG\r\n\x1a\n", b"\x08\x03"))  # eight bits, of a palette
        width, height = (int.from_bytes(data[i:i + 4], "big") for i in (16, 20))
        self.assertEqual(width, 700)
        at, pixels = 8, b""
        while at < len(data):
            length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
            pixels += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
            at += 12 + length
        rows = zlib.decompress(pixels)
        self.assertEqual(len(rows), (width + 1) * height)
        self.assertGreater(len(set(rows)), 20)

    def test_long_runs_stay_usable(self):
        for seed in range(10):
            dash_runs.make_run(self.runs / f"long-{seed}", seed, 3000)
        self.dash()
        self.when_read()
        self.open(f"http://localhost:{self.port}/")
        wait_for("curves are drawn", lambda: self.painted() > 2000)
        self.assert_quiet()


if __name__ == "__main__":
    OCTET, FAKE = (os.path.abspath(path) for path in sys.argv[1:3])
    unittests.main([sys.argv[0], *sys.argv[3:]], processes=3)
