#!/usr/bin/env python3
"""`octet certs` as a user meets it, with the real openssl. Usage: test_certs.py OCTET

Interruptions come at a known point: a script named openssl, found first in $PATH, runs the real one
and kills or signals its parent before or after the call that the test names."""

import datetime
import fcntl
import os
import pathlib
import pty
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

OCTET = ""
OPENSSL = shutil.which("openssl")
DEADLINE_S = 60
FILES = ["ca.crt", "crl.pem", "node.crt", "node.key"]

# WHERE: a word of the arguments; BEFORE and AFTER: commands around that call.
INTERCEPT = """#!/bin/sh
case " $* " in
*" WHERE "*) BEFORE; REAL "$@"; result=$?; AFTER; exit $result ;;
*) exec REAL "$@" ;;
esac
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="octet-test-")
        self.home = pathlib.Path(self.folder.name)
        self.ca = self.home / "octet-certs"

    def tearDown(self):
        self.folder.cleanup()

    def start(self, *arguments, path=None):
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        if path is not None:
            environment["PATH"] = str(path)
        return subprocess.Popen([OCTET, "certs", *arguments], cwd=self.home, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL)

    def certs(self, *arguments, code=0, path=None):
        child = self.start(*arguments, path=path)
        out, err = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, code, out + err)
        return out, err

    def refused(self, arguments, *wanted, code=1):
        out, err = self.certs(*arguments, code=code)
        for text in wanted:
            self.assertIn(text, err)
        self.assertEqual(out, "")

    def openssl(self, *arguments, code=0):
        done = subprocess.run([OPENSSL, *arguments], cwd=self.ca, capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def intercept(self, where, before=":", after=":"):
        """$PATH with an openssl that does something around the call with the word where."""
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        text = INTERCEPT.replace("WHERE", where).replace("BEFORE", before).replace("AFTER", after)
        (folder / "openssl").write_text(text.replace("REAL", OPENSSL))
        (folder / "openssl").chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"

    def verify(self, name, code=0):
        return self.openssl("verify", "-crl_check", "-CAfile", f"{name}/ca.crt", "-CRLfile",
                            f"{name}/crl.pem", f"{name}/node.crt", code=code)

    def text(self, name):
        return self.openssl("x509", "-in", f"{name}/node.crt", "-noout", "-nameopt", "oneline", "-text")

    def assert_pair(self, name):
        """A whole folder: four files, key and certificate belong together, the chain holds."""
        self.assertEqual(sorted(p.name for p in (self.ca / name).iterdir()), FILES)
        self.assertEqual(self.openssl("pkey", "-in", f"{name}/node.key", "-pubout"),
                         self.openssl("x509", "-in", f"{name}/node.crt", "-noout", "-pubkey"))
        self.verify(name)

    def rows(self):
        lines = self.certs("list")[0].splitlines()
        self.assertEqual(lines[0].split(), "name role serial valid until state".split())
        return [re.split(r"\s{2,}", line) for line in lines[1:]]

    def crl(self, folder="."):
        text = self.openssl("crl", "-in", f"{folder}/crl.pem", "-noout", "-nameopt", "oneline", "-text")
        return re.findall(r"Serial Number: (\w+)", text)


class Init(Case):
    def test_the_ca_is_one_and_nothing_more(self):
        self.certs("init", "--name", "Our lab")
        text = self.openssl("x509", "-in", "ca.crt", "-noout", "-nameopt", "oneline", "-text")
        self.assertIn("Subject: O = Octet, CN = Our lab", text)
        self.assertRegex(text, r"Basic Constraints: critical\s+CA:TRUE, pathlen:0")
        self.assertRegex(text, r"Key Usage: critical\s+Certificate Sign, CRL Sign\n")
        self.assertIn("prime256v1", text)
        self.openssl("x509", "-in", "ca.crt", "-noout", "-checkend", str(3649 * 86400))
        self.openssl("x509", "-in", "ca.crt", "-noout", "-checkend", str(3651 * 86400), code=1)
        self.assertEqual(self.crl(), [])

    def test_the_crl_lasts_as_long_as_the_ca(self):
        self.certs("init", "--days", "100")
        ends = [self.openssl("x509", "-in", "ca.crt", "-noout", "-enddate"),
                self.openssl("crl", "-in", "crl.pem", "-noout", "-nextupdate")]
        times = [datetime.datetime.strptime(end.split("=")[1].strip(), "%b %d %H:%M:%S %Y GMT")
                 for end in ends]
        self.assertLess(abs(times[0] - times[1]), datetime.timedelta(hours=1))

    def test_a_folder_that_is_there_stays_as_it_is(self):
        self.certs("init")
        before = (self.ca / "ca.key").read_bytes()
        self.refused(["init"], "'octet-certs' is a CA folder already", "--dir names another")
        self.refused(["init", "--dir", "octet-certs/"], "is a CA folder already")
        self.assertEqual((self.ca / "ca.key").read_bytes(), before)
        (self.home / "mine").mkdir()
        (self.home / "mine/file").write_text("mine")
        self.refused(["init", "--dir", "mine"], "'mine': Directory not empty")
        self.refused(["init", "--dir", "mine/file"], "'mine/file': Not a directory")
        self.assertEqual((self.home / "mine/file").read_text(), "mine")

    def test_a_folder_elsewhere(self):
        self.certs("init", "--dir", "a/b/c/")
        self.certs("issue", "actor", "a1", "--dir", str(self.home / "a/b/c"))
        self.assertTrue((self.home / "a/b/c/a1/node.key").exists())

    def test_two_at_once_make_one(self):
        children = [self.start("init") for _ in range(4)]
        for child in children:
            child.communicate(timeout=DEADLINE_S)
        self.assertEqual([child.returncode for child in children].count(0), 1)
        self.certs("issue", "actor", "a1")
        self.assert_pair("a1")

    def test_interrupted_leaves_nothing(self):
        path = self.intercept("req", before="kill -INT $PPID; exit 130")
        _, err = self.certs("init", code=130, path=path)
        self.assertIn("stopped by signal 2", err)
        self.assertEqual([p.name for p in self.home.iterdir()], ["bin"])

    def test_killed_is_cleared_by_the_next(self):
        path = self.intercept("-gencrl", after="kill -KILL $PPID")
        self.certs("init", code=-9, path=path)
        self.assertFalse(self.ca.exists())
        self.assertTrue((self.home / ".octet-certs.init/ca.key").exists())
        self.certs("init")
        self.assertFalse((self.home / ".octet-certs.init").exists())
        self.certs("issue", "actor", "a1")
        self.assert_pair("a1")

    def test_missing_openssl_is_named(self):
        (self.home / "empty").mkdir()
        _, err = self.certs("init", code=1, path=self.home / "empty")
        self.assertIn("there is no program 'openssl' in $PATH", err)
        self.assertIn("apt-get install openssl", err)
        self.assertEqual([p.name for p in self.home.iterdir()], ["empty"])


class WrongInput(Case):
    def test_words(self):
        for arguments, *wanted in [
                ([], "Usage: octet certs COMMAND"),
                (["isue"], "unknown command 'isue'; did you mean 'issue'?"),
                (["issue"], "usage: octet certs issue ROLE NAME"),
                (["issue", "actor"], "usage: octet certs issue ROLE NAME"),
                (["issue", "actor", "a", "b"], "'b' is one word too many"),
                (["issue", "actr", "a"], "unknown role 'actr'; did you mean 'actor'?"),
                (["issue", "evaluator", "a"], "allowed: learner replay actor operator"),
                (["issue", "actor", "../a"], "NAME is '../a'; allowed are letters"),
                (["issue", "actor", "-a"], "unknown option '-a'"),
                (["issue", "actor", "--", "-a"], "NAME is '-a'"),
                (["issue", "actor", "a/OU=learner"], "NAME is 'a/OU=learner'"),
                (["issue", "actor", "ca.key"], "no file of the CA"),
                (["issue", "actor", "a", "--host", "h:1"], "--host is 'h:1'; allowed is a DNS name"),
                (["issue", "actor", "a", "--days", "0"], "--days is '0'; allowed is a whole number"),
                (["issue", "actor", "a", "--revoke-old"], "--revoke-old needs --renew"),
                (["revoke"], "usage: octet certs revoke NAME"),
                (["revoke", ".."], "NAME is '..'"),
                (["init", "--name", "a/CN=b"], "--name is 'a/CN=b'; allowed are letters"),
                (["list", "all"], "'all' is one word too many")]:
            self.refused(arguments, *wanted, code=2)
        self.assertEqual(list(self.home.iterdir()), [])

    def test_no_ca(self):
        self.refused(["list"], "no CA folder 'octet-certs'", "octet certs init")
        self.ca.mkdir()
        self.refused(["issue", "actor", "a"], "'octet-certs' is no CA folder", "openssl.cnf")

    def test_no_longer_than_the_ca(self):
        self.certs("init", "--days", "100")
        # 100, when not a second has gone since.
        _, err = self.certs("issue", "actor", "a", code=1)
        self.assertRegex(err, "allowed is --days up to (99|100), then a new CA is needed")
        self.assertFalse((self.ca / "a").exists())
        self.certs("issue", "actor", "a", "--days", "99")

    def test_what_is_not_known(self):
        self.certs("init")
        self.refused(["revoke", "a"], "no certificate of 'a'")
        self.refused(["issue", "actor", "a", "--renew"], "no certificate of 'a' to renew")


class Issue(Case):
    def setUp(self):
        super().setUp()
        self.certs("init")

    def test_each_role(self):
        for role, usage in [("learner", "TLS Web Server Authentication, TLS Web Client Authentication"),
                            ("replay", "TLS Web Server Authentication, TLS Web Client Authentication"),
                            ("actor", "TLS Web Server Authentication, TLS Web Client Authentication"),
                            ("operator", "TLS Web Client Authentication")]:
            out, _ = self.certs("issue", role, f"my-{role}")
            self.assertIn(f"octet-certs/my-{role}", out)
            self.assertIn("--tls", out)
            text = self.text(f"my-{role}")
            self.assertIn(f"Subject: O = Octet, OU = {role}, CN = my-{role}\n", text)
            self.assertRegex(text, rf"Extended Key Usage: *\n +{usage}\n")
            self.assertRegex(text, r"Basic Constraints: critical\s+CA:FALSE")
            self.assertIn("prime256v1", text)
            self.assert_pair(f"my-{role}")
        self.openssl("verify", "-purpose", "sslserver", "-CAfile", "ca.crt", "my-learner/node.crt")
        self.openssl("verify", "-purpose", "sslserver", "-CAfile", "ca.crt", "my-operator/node.crt",
                     code=2)

    def test_hosts_are_names_or_addresses(self):
        self.certs("issue", "learner", "l1", "--host", "train.example.org", "--host", "10.0.0.5",
                   "--host=fe80::1", "--host", "l1")
        self.assertRegex(self.text("l1"), r"Alternative Name: *\n +DNS:l1, DNS:train.example.org, "
                                          r"IP Address:10.0.0.5, IP Address:FE80:0:0:0:0:0:0:1\n")
        for option, good, bad in [("-verify_hostname", "train.example.org", "evil.example.org"),
                                  ("-verify_ip", "10.0.0.5", "10.0.0.6")]:
            self.openssl("verify", option, good, "-CAfile", "ca.crt", "l1/node.crt")
            self.openssl("verify", option, bad, "-CAfile", "ca.crt", "l1/node.crt", code=2)

    def test_only_the_owner_reads_keys(self):
        self.certs("issue", "actor", "a1")
        for path in [self.ca, *self.ca.rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            public = path.name in ["ca.crt", "crl.pem", "node.crt"]
            self.assertEqual(mode, 0o700 if path.is_dir() else 0o644 if public else 0o600, path)

    def test_good_for_as_long_as_asked(self):
        for name, options, days in [("a1", [], 397), ("a2", ["--days", "7"], 7)]:
            self.certs("issue", "actor", name, *options)
            for margin, code in [(-3600, 0), (3600, 1)]:
                self.openssl("x509", "-in", f"{name}/node.crt", "-noout", "-checkend",
                             str(days * 86400 + margin), code=code)

    def test_a_name_is_given_once(self):
        self.certs("issue", "actor", "a1")
        before = (self.ca / "a1/node.key").read_bytes()
        self.refused(["issue", "actor", "a1"], "'a1' has a certificate of role actor already",
                     "--renew")
        self.assertEqual((self.ca / "a1/node.key").read_bytes(), before)
        shutil.rmtree(self.ca / "a1")  # moved to its host
        self.refused(["issue", "actor", "a1"], "'a1' has a certificate of role actor already")

    def test_what_is_not_of_the_ca_is_left_alone(self):
        (self.ca / "a1").write_text("mine")
        self.refused(["issue", "actor", "a1"], "not of this CA")
        self.assertEqual((self.ca / "a1").read_text(), "mine")

    def test_eight_at_once(self):
        children = [self.start("issue", "actor", f"a{i}") for i in range(8)]
        for child in children:
            out, err = child.communicate(timeout=DEADLINE_S)
            self.assertEqual(child.returncode, 0, out + err)
        rows = self.rows()
        self.assertEqual(sorted(row[0] for row in rows), [f"a{i}" for i in range(8)])
        self.assertEqual(len({row[2] for row in rows}), 8)
        for i in range(8):
            self.assert_pair(f"a{i}")

    def test_waits_for_another_in_words(self):
        fd = os.open(self.ca, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        child = self.start("issue", "actor", "a1")
        self.assertIn("another one is at work in 'octet-certs'", child.stderr.readline())
        self.assertFalse((self.ca / "a1").exists())
        os.close(fd)
        child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 0)
        self.assert_pair("a1")

    def test_key_of_the_ca_under_a_pass_phrase(self):
        self.openssl("pkey", "-in", "ca.key", "-aes256", "-passout", "pass:secret", "-out", "new.key")
        (self.ca / "new.key").rename(self.ca / "ca.key")
        child, fd = pty.fork()
        if child == 0:
            os.chdir(self.home)
            os.execv(OCTET, [OCTET, "certs", "issue", "actor", "a1"])
        said = b""
        while b"phrase" not in said:
            said += os.read(fd, 4096)
        os.write(fd, b"secret\n")
        try:
            while os.read(fd, 4096):
                pass
        except OSError:  # the other end is closed
            pass
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assert_pair("a1")


class Renew(Case):
    def setUp(self):
        super().setUp()
        self.certs("init")
        self.certs("issue", "learner", "l1", "--host", "train", "--host", "fe80::1")

    def test_new_key_same_hosts_old_one_still_good(self):
        old = {name: (self.ca / "l1" / name).read_bytes() for name in FILES}
        (self.home / "old.crt").write_bytes(old["node.crt"])
        self.certs("issue", "learner", "l1", "--renew")
        self.assertNotEqual((self.ca / "l1/node.key").read_bytes(), old["node.key"])
        self.assertRegex(self.text("l1"), r"\n +DNS:l1, DNS:train, IP Address:FE80:0:0:0:0:0:0:1\n")
        self.assert_pair("l1")
        self.openssl("verify", "-crl_check", "-CAfile", "ca.crt", "-CRLfile", "crl.pem", "../old.crt")
        self.assertEqual([row[4] for row in self.rows()], ["valid, replaced", "valid"])

    def test_hosts_that_are_named_replace_the_old(self):
        self.certs("issue", "learner", "l1", "--renew", "--host", "other")
        self.assertRegex(self.text("l1"), r"\n +DNS:l1, DNS:other\n")

    def test_revoke_old(self):
        (self.home / "old.crt").write_bytes((self.ca / "l1/node.crt").read_bytes())
        self.certs("issue", "learner", "l1", "--renew", "--revoke-old")
        self.assert_pair("l1")
        said = self.openssl("verify", "-crl_check", "-CAfile", "ca.crt", "-CRLfile", "crl.pem",
                            "../old.crt", code=2)
        self.assertIn("certificate revoked", said)
        self.assertEqual([row[4] for row in self.rows()], ["revoked", "valid"])

    def test_another_role_only_after_revoking(self):
        self.refused(["issue", "actor", "l1", "--renew"], "role learner that is still good",
                     "octet certs revoke l1")
        self.certs("revoke", "l1")
        self.certs("issue", "actor", "l1", "--renew")
        self.assertIn("OU = actor, CN = l1", self.text("l1"))
        self.assert_pair("l1")


class Revoke(Case):
    def setUp(self):
        super().setUp()
        self.certs("init")
        for role, name in [("learner", "l1"), ("actor", "a1"), ("actor", "a2")]:
            self.certs("issue", role, name)

    def test_every_folder_gets_the_list(self):
        out, _ = self.certs("revoke", "a1")
        self.assertRegex(out, r"copy octet-certs/NAME/crl.pem to the host of each NAME of: a2 l1\n")
        serial = self.rows()[1][2]
        for folder in [".", "l1", "a1", "a2"]:
            self.assertEqual(self.crl(folder), [serial])
        self.assertIn("certificate revoked", self.verify("a1", code=2))
        self.verify("a2")
        self.verify("l1")
        self.certs("issue", "actor", "a3")
        self.assertEqual(self.crl("a3"), [serial])

    def test_also_what_was_replaced(self):
        self.certs("issue", "actor", "a1", "--renew")
        self.assertIn("a1: 2 certificates revoked", self.certs("revoke", "a1")[0])
        self.assertEqual(len(self.crl()), 2)

    def test_twice_is_no_error(self):
        self.certs("revoke", "a1")
        self.assertIn("a1: was revoked before", self.certs("revoke", "a1")[0])
        self.assertEqual(len(self.crl()), 1)

    def test_without_its_folder(self):
        shutil.rmtree(self.ca / "a1")
        self.certs("revoke", "a1")
        self.assertEqual(len(self.crl("l1")), 1)

    def test_by_openssl_alone(self):
        serial = self.rows()[1][2]
        self.openssl("ca", "-config", "openssl.cnf", "-revoke", f"db/newcerts/{serial}.pem")
        self.openssl("ca", "-config", "openssl.cnf", "-gencrl", "-out", "crl.pem")
        self.assertEqual(self.crl(), [serial])
        self.assertEqual(self.rows()[1][4], "revoked")


class List(Case):
    def test_states(self):
        self.certs("init")
        for name, days in [("old", 1), ("soon", 20), ("good", 397), ("gone", 397)]:
            self.certs("issue", "actor", name, "--days", str(days))
        self.certs("revoke", "gone")
        # An expired one: openssl's own file, whose second column is the end.
        index = self.ca / "db/index.txt"
        index.write_text(re.sub(r"^V\t\d+Z", "V\t200101000000Z", index.read_text(), count=1))
        rows = self.rows()
        self.assertEqual([row[0] for row in rows], ["old", "soon", "good", "gone"])
        self.assertEqual({row[1] for row in rows}, {"actor"})
        self.assertEqual([row[4] for row in rows],
                         ["expired", "expires in 20 days", "valid", "revoked"])
        self.assertEqual(rows[0][3], "2020-01-01 00:00Z")
        for row in rows[1:]:
            crt = f"db/newcerts/{row[2]}.pem"
            end = self.openssl("x509", "-in", crt, "-noout", "-enddate", "-dateopt", "iso_8601")
            self.assertIn(row[3].rstrip("Z"), end)

    def test_a_broken_index_is_named(self):
        self.certs("init")
        (self.ca / "db/index.txt").write_text("V\tnever\n")
        self.refused(["list"], "'octet-certs/db/index.txt', line 1")


class Interrupted(Case):
    def setUp(self):
        super().setUp()
        self.certs("init")
        self.certs("issue", "actor", "a1")

    def assert_clean(self):
        self.assertEqual(sorted(p.name for p in self.ca.iterdir() if p.name not in ["a1", "a2"]),
                         ["ca.crt", "ca.key", "crl.pem", "db", "openssl.cnf"])
        self.assertEqual([p.name for p in (self.ca / "db").iterdir()
                          if not p.name.startswith(("index.txt", "crlnumber", "newcerts"))], [])
        self.assertEqual(self.certs("list")[1], "")

    def test_killed_before_signing_is_undone(self):
        self.certs("issue", "actor", "a2", code=-9, path=self.intercept("-batch", "kill -KILL $PPID; exit 1"))
        self.assertTrue((self.ca / "a2/node.key.new").exists())
        _, err = self.certs("list")
        self.assertIn("an issue of 'a2' had been interrupted and is undone", err)
        self.assertFalse((self.ca / "a2").exists())
        self.certs("issue", "actor", "a2")
        self.assert_pair("a2")
        self.assert_clean()

    def test_killed_after_signing_is_finished(self):
        for name, options in [("a2", []), ("a1", ["--renew"])]:
            path = self.intercept("-batch", after="kill -KILL $PPID")
            self.certs("issue", "actor", name, *options, code=-9, path=path)
            _, err = self.certs("list")
            self.assertIn(f"an issue of '{name}' had been interrupted and is finished now", err)
            self.assert_pair(name)
            serial = self.openssl("x509", "-in", f"{name}/node.crt", "-noout", "-serial")
            self.assertEqual(serial.strip(), f"serial={self.rows()[-1][2]}")

    def test_killed_between_the_two_renames(self):
        (self.ca / "a1/node.crt").rename(self.ca / "a1/node.crt.new")
        (self.ca / "a1/node.crt.tmp.17").write_text("half")
        self.assertIn("'a1' had been interrupted and is finished now", self.certs("list")[1])
        self.assert_pair("a1")

    def test_key_that_is_cut_short(self):
        (self.ca / "a1/node.key.new").write_text("-----BEGIN PRIV")
        self.assertIn("'a1' had been interrupted and is undone", self.certs("list")[1])
        self.assert_pair("a1")
        self.assert_clean()

    def test_failure_leaves_what_was(self):
        before = (self.ca / "a1/node.key").read_bytes()
        for where in ["genpkey", "req", "-batch"]:
            path = self.intercept(where, before="echo No space left on device >&2; exit 1")
            for name, options in [("a2", []), ("a1", ["--renew"])]:
                _, err = self.certs("issue", "actor", name, *options, code=1, path=path)
                self.assertIn("No space left on device", err)
                self.assertFalse((self.ca / "a2").exists())
                self.assertEqual((self.ca / "a1/node.key").read_bytes(), before)
                self.assert_pair("a1")
                self.assert_clean()

    def test_full_disk_that_openssl_does_not_notice(self):
        """It ends with exit code 0, and a file is cut short."""
        newest = "db/newcerts/$(ls -t db/newcerts | head -n 1)"
        for where, file in [("genpkey", "a2/node.key.new"), ("req", "db/request.pem"),
                            ("-batch", "db/index.txt"), ("-batch", newest)]:
            path = self.intercept(where, after=f'head -c 60 "{file}" >cut; cat cut >"{file}"; rm cut')
            self.certs("issue", "actor", "a2", code=1, path=path)
            self.assertFalse((self.ca / "a2").exists())
            self.assertEqual([row[0] for row in self.rows()], ["a1"])
            self.assert_pair("a1")
            self.assert_clean()
        self.certs("issue", "actor", "a2")
        self.assert_pair("a2")

    def test_full_disk_never_gives_a_list_that_is_cut_short(self):
        self.certs("issue", "actor", "a2")
        for name, file in [("a1", "db/crlnumber"), ("a2", "db/crl.pem")]:
            path = self.intercept("-gencrl", after=f": >{file}")
            count = len(self.crl())
            self.certs("revoke", name, code=1, path=path)
            self.assertEqual(len(self.crl(name)), count)
            self.assertIn("a revocation had been interrupted", self.certs("list")[1])
            self.assertEqual(len(self.crl(name)), count + 1)
        self.assert_clean()

    def test_killed_with_a_full_disk(self):
        """The index was cut short and nobody was left to put it back."""
        self.certs("issue", "actor", "a2")
        index = self.ca / "db/index.txt"
        index.rename(self.ca / "db/index.txt.old")
        index.write_text((self.ca / "db/index.txt.old").read_text()[:-20])
        self.assertIn("cut short", self.certs("list")[1])
        self.assertEqual([row[0] for row in self.rows()], ["a1", "a2"])

    def test_ctrl_c(self):
        path = self.intercept("-batch", before="kill -INT $PPID; exit 130")
        _, err = self.certs("issue", "actor", "a2", code=130, path=path)
        self.assertIn("stopped by signal 2", err)
        self.assertFalse((self.ca / "a2").exists())
        self.assert_clean()

    def test_revocation_reaches_the_list_in_the_end(self):
        path = self.intercept("-revoke", after="kill -KILL $PPID")
        self.certs("revoke", "a1", code=-9, path=path)
        self.assertEqual(self.crl(), [])
        self.assertIn("a revocation had been interrupted", self.certs("list")[1])
        self.assertEqual(len(self.crl("a1")), 1)
        self.assert_clean()

    def test_index_between_its_renames(self):
        index = self.ca / "db/index.txt"
        index.rename(self.ca / "db/index.txt.new")
        self.assertEqual(len(self.rows()), 1)
        index.unlink()
        self.refused(["list"], "'octet-certs/db/index.txt' is missing", "index.txt.old")


if __name__ == "__main__":
    OCTET = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
