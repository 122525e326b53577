#!/usr/bin/env python3
"""`octet certs` as a user meets it; what it makes is judged by openssl. Usage: test_certs.py OCTET DISK

Interruptions come at every point at which they could matter: DISK (faulty_disk.c), preloaded, kills or
signals octet at its N-th call that changes files, or lets that call fail, for N = 1, 2, ... until there
is no N-th one."""

import datetime
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402

OCTET = DISK = ""
OPENSSL = shutil.which("openssl")
DEADLINE_S = 60
CTRL_C = b"\x03"
# Hundreds of commands that sync: a real disk takes minutes for that.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
FILES = ["ca.crt", "crl.pem", "node.crt", "node.key"]

# A CA of openssl with the key of octet's: what others may do with the folder.
OPENSSL_CA = """
[ca]
default_ca = own
[own]
certificate = ca.crt
private_key = ca.key
database = ../index.txt
new_certs_dir = ..
crlnumber = ../crlnumber
rand_serial = yes
unique_subject = no
default_md = sha256
default_days = 397
default_crl_days = 100
policy = subject
[subject]
organizationName = match
organizationalUnitName = supplied
commonName = supplied
[req]
distinguished_name = asked
[asked]
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="octet-test-", dir=MEMORY)
        self.home = pathlib.Path(self.folder.name)
        self.ca = self.home / "octet-certs"

    def tearDown(self):
        self.folder.cleanup()

    def start(self, *arguments, **variables):
        return subprocess.Popen([OCTET, "certs", *arguments], cwd=self.home,
                                env={**os.environ, "LC_ALL": "C.UTF-8", **variables},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL)

    def certs(self, *arguments, code=0, **variables):
        child = self.start(*arguments, **variables)
        out, err = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, code, out + err)
        return out, err

    def faults(self, kind, *arguments):
        """Runs the command once for each call that can fail, in a folder as it is now; yields exit code and
        what it said."""
        before = self.home / "before"
        shutil.rmtree(before, ignore_errors=True)
        if self.ca.exists():
            shutil.copytree(self.ca, before)
        for n in range(1, 500):
            shutil.rmtree(self.ca, ignore_errors=True)
            if before.exists():
                shutil.copytree(before, self.ca)
            child = self.start(*arguments, LD_PRELOAD=DISK, FAULTY_DISK=kind.replace("N", str(n)),
                               ASAN_OPTIONS="verify_asan_link_order=0")
            out, err = child.communicate(timeout=DEADLINE_S)
            if "faulty disk" not in err:
                self.assertEqual(child.returncode, 0, out + err)
                self.assertGreater(n, 5)
                return
            yield child.returncode, out + err
        self.fail("it never comes to an end")

    def refused(self, arguments, *wanted, code=1):
        out, err = self.certs(*arguments, code=code)
        for text in wanted:
            self.assertIn(text, err)
        self.assertEqual(out, "")

    def openssl(self, *arguments, code=0):
        # Without the machine's own CAs, which verify nothing here and take 40 ms to read.
        done = subprocess.run([OPENSSL, *arguments], cwd=self.ca, capture_output=True, text=True,
                              env={**os.environ, "SSL_CERT_FILE": os.devnull}, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def openssl_ca(self, *arguments):
        """openssl ca with an index of its own."""
        if not (self.home / "index.txt").exists():
            (self.home / "index.txt").write_text("")
            (self.home / "crlnumber").write_text("2A\n")
            (self.home / "own.cnf").write_text(OPENSSL_CA)
        self.openssl("ca", "-config", "../own.cnf", *arguments)

    def issue_by_openssl(self, role, name, *arguments):
        (self.home / "own.cnf").write_text(OPENSSL_CA)
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config",
                     "../own.cnf", "-keyout", "../other.key", "-out", "../other.csr", "-subj",
                     f"/O=Octet/OU={role}/CN={name}")
        self.openssl_ca("-batch", "-notext", "-in", "../other.csr", "-out", "../other.crt", *arguments)
        with (self.ca / "issued.pem").open("a") as issued:
            issued.write((self.home / "other.crt").read_text())

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
        self.refused(["init"], "'octet-certs' is already a CA folder", "name another folder with --dir")
        self.refused(["init", "--dir", "octet-certs/"], "is already a CA folder")
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

    def test_interrupted_is_made_whole_or_made_again(self):
        for kind in ["N:kill", "*N:full"]:
            shutil.rmtree(self.ca, ignore_errors=True)
            for code, said in self.faults(kind, "init"):
                if code == 1:
                    self.assertIn("No space left on device", said)
                child = self.start("init")
                _, err = child.communicate(timeout=DEADLINE_S)
                if child.returncode != 0:
                    self.assertIn("is already a CA folder", err)
                self.certs("issue", "actor", "a1")
                self.assertEqual(sorted(p.name for p in self.ca.iterdir()),
                                 ["a1", "ca.crt", "ca.key", "crl.pem", "issued.pem"])
                self.assert_pair("a1")

    def test_no_other_program_is_needed(self):
        self.certs("init", PATH="/nowhere")
        self.certs("issue", "actor", "a1", PATH="/nowhere")
        self.assert_pair("a1")


class WrongInput(Case):
    def test_words(self):
        for arguments, *wanted in [
                ([], "Usage: octet certs COMMAND"),
                (["isue"], "unknown command 'isue'; did you mean 'issue'?"),
                (["issue"], "usage: octet certs issue ROLE NAME"),
                (["issue", "actor"], "usage: octet certs issue ROLE NAME"),
                (["issue", "actor", "a", "b"], "unexpected argument 'b'"),
                (["issue", "actr", "a"], "unknown role 'actr'; did you mean 'actor'?"),
                (["issue", "evaluater", "a"], "did you mean 'evaluator'?", "allowed: learner replay actor evaluator operator relay"),
                (["issue", "actor", "../a"], "NAME is '../a'; allowed are letters"),
                (["issue", "actor", "-a"], "unknown option '-a'"),
                (["issue", "actor", "--", "-a"], "NAME is '-a'"),
                (["issue", "actor", "a/OU=learner"], "NAME is 'a/OU=learner'"),
                (["issue", "actor", "ca.key"], "not the name of a file of the CA"),
                (["issue", "actor", "a", "--host", "h:1"], "--host is 'h:1'; allowed is a DNS name"),
                (["issue", "actor", "a", "--days", "0"], "--days is '0'; allowed is a whole number"),
                (["issue", "actor", "a", "--revoke-old"], "--revoke-old needs --renew"),
                (["revoke"], "usage: octet certs revoke NAME"),
                (["revoke", ".."], "NAME is '..'"),
                (["init", "--name", "a/CN=b"], "--name is 'a/CN=b'; allowed are letters"),
                (["list", "all"], "unexpected argument 'all'")]:
            self.refused(arguments, *wanted, code=2)
        self.assertEqual(list(self.home.iterdir()), [])

    def test_a_folder_that_cannot_be_made(self):
        (self.home / "file").touch()
        self.refused(["init", "--dir", "file/ca"], "cannot make folder 'file/ca': Not a directory")

    def test_no_ca(self):
        self.refused(["list"], "no CA folder 'octet-certs'", "octet certs init")
        self.ca.mkdir()
        self.refused(["issue", "actor", "a"], "'octet-certs' is not a CA folder", "ca.crt")

    def test_no_longer_than_the_ca(self):
        self.certs("init", "--days", "100")
        # 100, when not a second has gone since.
        _, err = self.certs("issue", "actor", "a", code=1)
        self.assertRegex(err, "allowed is --days up to (99|100); after that, a new CA is needed")
        self.assertFalse((self.ca / "a").exists())
        self.certs("issue", "actor", "a", "--days", "99")

    def test_what_is_not_known(self):
        self.certs("init")
        self.refused(["revoke", "a"], "'a' has no certificate")
        self.refused(["issue", "actor", "a", "--renew"], "'a' has no certificate to renew")


class Issue(Case):
    def setUp(self):
        super().setUp()
        self.certs("init")

    def test_each_role(self):
        for role, usage in [("learner", "TLS Web Server Authentication, TLS Web Client Authentication"),
                            ("replay", "TLS Web Server Authentication, TLS Web Client Authentication"),
                            ("actor", "TLS Web Server Authentication, TLS Web Client Authentication"),
                            ("evaluator", "TLS Web Server Authentication, TLS Web Client Authentication"),
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

    def test_a_host_named_twice_is_there_once(self):
        self.certs("issue", "learner", "l1", "--host", "a.org", "--host", "a.org.uk", "--host", "a.org")
        self.assertRegex(self.text("l1"), r"Alternative Name: *\n +DNS:l1, DNS:a.org, DNS:a.org.uk\n")

    def test_hosts_are_names_or_addresses(self):
        self.certs("issue", "learner", "l1", "--host", "train.example.org", "--host", "10.0.0.5",
                   "--host=fe80::1")
        self.assertRegex(self.text("l1"), r"Alternative Name: *\n +DNS:l1, DNS:train.example.org, "
                                          r"IP Address:10.0.0.5, IP Address:FE80:0:0:0:0:0:0:1\n")
        for option, good, bad in [("-verify_hostname", "train.example.org", "evil.example.org"),
                                  ("-verify_ip", "10.0.0.5", "10.0.0.6")]:
            self.openssl("verify", option, good, "-CAfile", "ca.crt", "l1/node.crt")
            self.openssl("verify", option, bad, "-CAfile", "ca.crt", "l1/node.crt", code=2)

    def test_only_the_owner_reads_keys(self):
        self.certs("issue", "actor", "a1")
        self.openssl("pkey", "-in", "ca.key", "-check", "-noout")
        for path in [self.ca, *self.ca.rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            public = path.name in ["ca.crt", "crl.pem", "issued.pem", "node.crt"]
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
        self.refused(["issue", "actor", "a1"], "'a1' already has a certificate of role actor",
                     "--renew")
        self.assertEqual((self.ca / "a1/node.key").read_bytes(), before)
        shutil.rmtree(self.ca / "a1")  # moved to its host
        self.refused(["issue", "actor", "a1"], "'a1' already has a certificate of role actor")

    def test_what_is_not_of_the_ca_is_left_alone(self):
        (self.ca / "a1").write_text("mine")
        self.refused(["issue", "actor", "a1"], "does not belong to this CA")
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
        self.assertIn("waiting for another octet certs in 'octet-certs'", child.stderr.readline())
        self.assertFalse((self.ca / "a1").exists())
        os.close(fd)
        child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 0)
        self.assert_pair("a1")

    def test_key_of_the_ca_under_a_pass_phrase(self):
        self.openssl("pkey", "-in", "ca.key", "-aes256", "-passout", "pass:secret", "-out", "new.key")
        (self.ca / "new.key").rename(self.ca / "ca.key")
        self.assertIn(self.prompted(CTRL_C), [1, -signal.SIGINT])
        self.assertEqual(self.prompted(b"wrong\n"), 1)
        self.assertFalse((self.ca / "a1").exists())
        self.assertEqual(self.prompted(b"secret\n"), 0)
        self.assert_pair("a1")

    def prompted(self, keys):
        """The exit code of an issue that somebody answers with keys, on a terminal. Ctrl-C is pressed until it
        is heard: libcrypto misses one that comes between its prompt and its read."""
        child, fd = pty.fork()
        if child == 0:
            os.chdir(self.home)
            os.execv(OCTET, [OCTET, "certs", "issue", "actor", "a1"])
        said = b""
        while b"phrase" not in said:
            said += os.read(fd, 4096)
        os.write(fd, keys)
        deadline_s = time.monotonic() + DEADLINE_S
        try:
            while time.monotonic() < deadline_s:
                if select.select([fd], [], [], 0.1)[0] == []:
                    os.write(fd, keys if keys == CTRL_C else b"")
                elif os.read(fd, 4096) == b"":
                    break
        except OSError:  # the other end is closed
            pass
        os.close(fd)  # hangs up on one that still runs
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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
        self.refused(["issue", "actor", "l1", "--renew"], "role learner that is still valid",
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
        self.assertRegex(out, r"copy octet-certs/NAME/crl.pem to the host of each of these names: a2 l1\n")
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
        self.assertIn("a1: already revoked, or expired", self.certs("revoke", "a1")[0])
        self.assertEqual(len(self.crl()), 1)

    def test_without_its_folder(self):
        shutil.rmtree(self.ca / "a1")
        self.certs("revoke", "a1")
        self.assertEqual(len(self.crl("l1")), 1)

    def test_a_list_that_openssl_made_is_believed_and_kept(self):
        serial = self.rows()[1][2]
        self.openssl_ca("-revoke", "a1/node.crt", "-crl_reason", "keyCompromise")
        self.openssl_ca("-gencrl", "-out", "crl.pem")
        self.assertEqual(self.rows()[1][4], "revoked")
        self.certs("revoke", "a2")
        self.assertEqual(sorted(self.crl("l1")), sorted([serial, self.rows()[2][2]]))
        text = self.openssl("crl", "-in", "crl.pem", "-noout", "-text")
        self.assertIn("Key Compromise", text)
        self.assertRegex(text, r"CRL Number: *\n +(0x2B|43)\n")

    def test_the_list_is_signed_and_numbered(self):
        for number in [2, 3]:
            self.certs("revoke", "a1")
            text = self.openssl("crl", "-in", "crl.pem", "-CAfile", "ca.crt", "-noout", "-text")
            self.assertIn("verify OK", text)
            self.assertIn("Version 2", text)
            self.assertRegex(text, rf"CRL Number: *\n +{number}\n")
            key = re.search(r"Subject Key Identifier: *\n +(\S+)", self.openssl("x509", "-in", "ca.crt", "-noout", "-text"))
            self.assertRegex(text, rf"Authority Key Identifier: *\n +(keyid:)?{key[1]}")

    def test_a_list_of_another_ca_is_refused(self):
        self.certs("init", "--dir", "other")
        shutil.copy(self.home / "other/crl.pem", self.ca / "crl.pem")
        self.refused(["list"], "cannot use 'octet-certs/crl.pem': it is not signed by ca.key")


class Doctor(Case):
    """What octet doctor says of a CA's folder, and of one that a daemon would be given."""

    def checks(self, *arguments, code=0):
        out = subprocess.run([OCTET, "doctor", "--json", *arguments], cwd=self.home, capture_output=True, text=True, check=False,
                             timeout=60)
        self.assertEqual(out.returncode, code, out.stdout + out.stderr)
        return [(check["level"], check["text"], check["advice"]) for check in json.loads(out.stdout)["checks"]
                if check["name"] == "certificates"]

    def test_good_and_soon_and_expired_ones(self):
        self.certs("init")
        self.certs("issue", "actor", "good")
        self.certs("issue", "replay", "soon", "--days", "9")
        found = sorted(self.checks())
        self.assertEqual([level for level, _, _ in found], ["ok", "warn"])
        self.assertIn("good: role actor, valid for 397 more days", found[0][1])
        self.assertIn("soon: role replay, valid for 9 more days", found[1][1])
        self.assertIn("--renew", found[1][2])
        self.issue_by_openssl("actor", "old", "-startdate", "20190101000000Z", "-enddate", "20200101000000Z")
        shutil.copy(self.home / "other.crt", self.ca / "good/node.crt")
        shutil.copy(self.home / "other.key", self.ca / "good/node.key")
        (level, text, _), = self.checks("--tls", "octet-certs/good", code=1)
        self.assertEqual(level, "fail")
        self.assertIn("expired", text)

    def test_keys_that_others_can_read(self):
        self.certs("init")
        self.certs("issue", "actor", "a")
        (self.ca / "a/node.key").chmod(0o644)
        (level, text, _), = self.checks(code=1)
        self.assertEqual(level, "fail")
        self.assertIn("other users can read this key (mode 0644)", text)
        (self.ca / "a/node.key").chmod(0o600)
        (self.ca / "ca.key").chmod(0o640)
        first, second = self.checks(code=1)
        self.assertEqual((first[0], second[0]), ("fail", "ok"))
        self.assertIn("ca.key: other users can read or write the key of the CA (mode 0640)", first[1])

    def test_a_folder_that_is_missing(self):
        (level, text, _), = self.checks("--tls", "nowhere", code=1)
        self.assertEqual(level, "fail")
        self.assertIn("'octet certs issue ROLE NAME' makes the folder for --tls", text)


class Daemons(Case):
    """What starts them again does so after exit code 1, and gives up after 2."""

    def test_what_time_can_heal_is_no_wrong_use(self):
        self.certs("init")
        self.certs("issue", "actor", "a")
        late = f"{datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=2):%Y%m%d%H%M%SZ}"
        for name, begin, end in (("expired", "20190101000000Z", "20200101000000Z"), ("not yet valid", late, "20991231000000Z")):
            self.issue_by_openssl("actor", "a", "-startdate", begin, "-enddate", end)
            shutil.copy(self.home / "other.crt", self.ca / "a/node.crt")
            shutil.copy(self.home / "other.key", self.ca / "a/node.key")
            self.ended(1, f"certificate (has|is) {name}; the certificate is valid from .* and the clock of this machine says ")
        self.certs("init", "--dir", "other")
        self.certs("issue", "actor", "a", "--dir", "other")
        for name in ("node.crt", "node.key"):
            shutil.copy(self.home / "other/a" / name, self.ca / "a" / name)
        self.ended(2, "node.crt: ")

    def ended(self, code, words):
        actor = pathlib.Path(OCTET).parents[1] / "actor/octet-actor"
        done = subprocess.run([actor, "--learner", "tls+tcp://127.0.0.1:9", "--tls", self.ca / "a"], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, f"NET-TLS .*{words}")


class List(Case):
    def test_states(self):
        self.certs("init")
        self.issue_by_openssl("actor", "old", "-startdate", "20190101000000Z", "-enddate", "20200101000000Z")
        for name, days in [("soon", 20), ("good", 397), ("gone", 397)]:
            self.certs("issue", "actor", name, "--days", str(days))
        begin = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=2)
        self.issue_by_openssl("actor", "early", "-startdate", f"{begin:%Y%m%d%H%M%SZ}", "-days", "300")
        self.certs("revoke", "gone")
        rows = self.rows()
        self.assertEqual([row[0] for row in rows], ["old", "soon", "good", "gone", "early"])
        self.assertEqual({row[1] for row in rows}, {"actor"})
        self.assertEqual([row[4] for row in rows],
                         ["expired", "expires in 20 days", "valid", "revoked", f"not valid before {begin:%Y-%m-%d %H:%MZ}"])
        self.assertEqual(rows[0][3], "2020-01-01 00:00Z")
        for row in rows[1:4]:
            crt = f"{row[0]}/node.crt"
            end = self.openssl("x509", "-in", crt, "-noout", "-enddate", "-dateopt", "iso_8601")
            self.assertIn(row[3].rstrip("Z"), end)

    def test_what_is_damaged_or_lost_is_named(self):
        self.certs("init")
        self.certs("issue", "actor", "a1")
        issued = self.ca / "issued.pem"
        whole = issued.read_text()
        issued.write_text(whole[:-100])
        self.refused(["list"], "cannot read 'octet-certs/issued.pem'")
        issued.write_text(whole)
        for name in ["crl.pem", "issued.pem"]:
            (self.ca / name).rename(self.ca / "away")
            self.refused(["issue", "actor", "a2"], "'octet-certs' is not a CA folder", f"{name}: No such file")
            (self.ca / "away").rename(self.ca / name)

    def test_a_key_of_another_ca_is_refused(self):
        self.certs("init")
        self.certs("init", "--dir", "other")
        shutil.copy(self.home / "other/ca.key", self.ca / "ca.key")
        self.refused(["issue", "actor", "a1"], "cannot use 'octet-certs/ca.key'", "key values mismatch")
        self.assertFalse((self.ca / "a1").exists())

    def test_what_others_issue_is_listed_and_can_be_revoked(self):
        self.certs("init")
        self.issue_by_openssl("learner", "l1")
        self.assertEqual([row[:2] for row in self.rows()], [["l1", "learner"]])
        self.refused(["issue", "learner", "l1"], "already has a certificate of role learner")
        self.certs("issue", "learner", "l1", "--renew", "--revoke-old")
        self.assert_pair("l1")
        self.assertEqual([row[4] for row in self.rows()], ["revoked", "valid"])


class Interrupted(Case):
    def setUp(self):
        super().setUp()
        self.certs("init")
        self.certs("issue", "actor", "a1")

    def look(self):
        """What the next command says of an interruption, and the states in its list; nothing else lies about."""
        out, said = self.certs("list")
        self.assertEqual(sorted(p.name for p in self.ca.iterdir() if p.name not in ["a1", "a2"]),
                         ["ca.crt", "ca.key", "crl.pem", "issued.pem"])
        self.assertEqual([p.name for p in self.ca.rglob("*") if "tmp" in p.name], [])
        return said, [(row[0], row[4]) for row in (re.split(r"\s{2,}", line) for line in out.splitlines()[1:])]

    def assert_whole(self, name):
        """As assert_pair, and the certificate is the newest that the CA knows."""
        self.assert_pair(name)
        crt = self.openssl("x509", "-in", f"{name}/node.crt", "-noout", "-serial").strip()
        self.assertEqual(crt, f"serial={self.rows()[-1][2]}")

    def test_killed_issue_is_finished_or_never_was(self):
        key = (self.ca / "a1/node.key").read_bytes()
        finished = set()
        for code, _ in self.faults("N:kill", "issue", "actor", "a2"):
            self.assertEqual(code, -9)
            said, states = self.look()
            self.assertEqual((self.ca / "a2").exists(), len(states) == 2)
            if said != "":
                self.assertIn("finished the certificate of 'a2', which had been interrupted", said)
                self.assert_whole("a2")
            finished.add(said != "")
        self.assertEqual(finished, {True, False})
        self.assertEqual((self.ca / "a1/node.key").read_bytes(), key)
        self.assert_pair("a1")

    def test_a_revocation_reaches_a_folder_that_it_finishes_first(self):
        finished = set()
        for _ in self.faults("N:kill", "issue", "actor", "a2"):
            said = self.certs("revoke", "a1")[1]
            folders = [".", "a1", "a2"] if (self.ca / "a2").exists() else [".", "a1"]
            self.assertEqual([len(self.crl(folder)) for folder in folders], [1] * len(folders))
            finished.add((said != "", len(folders)))
        self.assertEqual(finished, {(False, 2), (True, 3)})

    def test_killed_renewal_is_finished_or_never_was(self):
        key = (self.ca / "a1/node.key").read_bytes()
        finished = set()
        for _ in self.faults("N:kill", "issue", "actor", "a1", "--renew", "--revoke-old"):
            said, states = self.look()
            is_old = (self.ca / "a1/node.key").read_bytes() == key
            self.assertEqual(states, [("a1", "valid")] if is_old else [("a1", "revoked"), ("a1", "valid")])
            self.assertEqual(len(self.crl("a1")), 0 if is_old else 1)
            self.assert_whole("a1")
            finished.add(said != "")
        self.assertEqual(finished, {True, False})

    def test_full_disk_leaves_what_was_or_is_finished_later(self):
        for kind in ["N:full", "*N:full"]:
            for code, said in self.faults(kind, "issue", "actor", "a2"):
                self.assertIn(("No space left on device" in said, code), [(True, 1), (False, 0)])
                late, states = self.look()
                self.assertEqual((self.ca / "a2").exists(), len(states) == 2)
                self.assertTrue(code == 1 or late == "" and len(states) == 2)
                if late == "" and len(states) == 1:
                    self.certs("issue", "actor", "a2")
                self.assert_whole("a2")
            shutil.rmtree(self.ca)
            shutil.copytree(self.home / "before", self.ca)

    def test_revocation_reaches_every_folder_or_none(self):
        self.certs("issue", "actor", "a2")
        for kind in ["N:kill", "*N:full"]:
            finished = set()
            for _ in self.faults(kind, "revoke", "a1"):
                said, states = self.look()
                if said != "":
                    self.assertIn("finished a revocation, which had been interrupted", said)
                lists = {(self.ca / folder / "crl.pem").read_bytes() for folder in [".", "a1", "a2"]}
                self.assertEqual(len(lists), 1)
                is_revoked = len(self.crl()) == 1
                self.assertEqual(states, [("a1", "revoked" if is_revoked else "valid"), ("a2", "valid")])
                finished.add(said != "")
            self.assertEqual(finished, {True, False})
            shutil.rmtree(self.ca)
            shutil.copytree(self.home / "before", self.ca)

    def test_a_clock_near_the_year_10000_is_refused(self):
        before = self.look()
        for seconds, commands in ((253402300800, [("issue", "actor", "a2"), ("issue", "actor", "a1", "--renew"), ("revoke", "a1"),
                                                  ("init", "--dir", self.home / "late")]),
                                  (253402300799 - 396 * 86400, [("issue", "actor", "a2"), ("init", "--dir", self.home / "late")])):
            for command in commands:
                child = self.start(*command, LD_PRELOAD=DISK, FAULTY_DISK=f"time {seconds}", ASAN_OPTIONS="verify_asan_link_order=0")
                _, err = child.communicate(timeout=DEADLINE_S)
                self.assertEqual(child.returncode, 1, (command, err))
                self.assertNotIn("assert", err.lower())
                self.assertEqual(self.look(), before)

    def test_a_signal_leaves_nothing_half(self):
        for code, _ in self.faults("N:interrupt", "issue", "actor", "a2"):
            whole = [("a2", "valid")] if code == 0 else []
            self.assertIn(code, [0, -signal.SIGINT])
            self.assertEqual(self.look(), ("", [("a1", "valid"), *whole]))
        self.assert_whole("a2")

    def test_a_signal_ends_one_that_waits(self):
        fd = os.open(self.ca, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        child = self.start("issue", "actor", "a2")
        self.assertIn("waiting for another octet certs", child.stderr.readline())
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_S)
        os.close(fd)
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertEqual(self.look(), ("", [("a1", "valid")]))


if __name__ == "__main__":
    OCTET, DISK = (os.path.abspath(path) for path in sys.argv[1:3])
    unittests.main([sys.argv[0], *sys.argv[3:]], processes=4)
