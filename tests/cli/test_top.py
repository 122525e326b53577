#!/usr/bin/env python3
"""`octet top` on a terminal, in a pipe and as it refuses. Usage: test_top.py OCTET FAKE_DAEMON

The run is one of `octet train` with fake daemons (fake_daemon.c), whose learner tells of as many actors as a
test wants. Nothing waits for a fixed time: a condition is polled, with a deadline that only a hang reaches."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unittest

import test_octet
import unittests

DEADLINE_S = 60
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Screen:
    """As much of a terminal as octet top uses, without wrapping."""

    def __init__(self, width, height):
        self.resize(width, height)
        self.other = False  # the buffer of programs that use the whole screen
        self.unread = ""

    def resize(self, width, height):
        self.width, self.height = width, height
        self.rows, self.x, self.y = [""] * height, 0, 0

    def feed(self, text):
        text, self.unread = self.unread + text, ""
        cut = re.search(r"\x1b(\[[0-9;?]*)?$", text)
        if cut:
            text, self.unread = text[:cut.start()], text[cut.start():]
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]", text):
            if part in (ENTER, LEAVE):
                self.other = part == ENTER
            elif part == "\x1b[H":
                self.x = self.y = 0
            elif part == "\x1b[K":
                self.rows[self.y] = self.rows[self.y][:self.x]
            elif part == "\x1b[J":
                self.rows[self.y] = self.rows[self.y][:self.x]
                self.rows[self.y + 1:] = [""] * (self.height - self.y - 1)
            elif part == "\r":
                self.x = 0
            elif part == "\n":
                self.y = min(self.y + 1, self.height - 1)
            elif part.startswith("\x1b"):
                assert part.endswith(("m", "h", "l")), repr(part)
            elif self.x < self.width:
                row = self.rows[self.y].ljust(self.x)
                self.rows[self.y] = row[:self.x] + part + row[self.x + 1:]
                self.x += 1


class Top:
    """octet top on a terminal of its own."""

    def __init__(self, case, *arguments, width=120, height=24, **more):
        self.screen, self.text = Screen(width, height), ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.fd, self.slave = pty.openpty()  # whose other end stays open here, to look at its settings
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = self.settings()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.setsid()
                signal.signal(signal.SIGHUP, signal.SIG_DFL)  # not as nohup hands it on
                fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
                for fd in range(3):
                    os.dup2(self.slave, fd)
                os.closerange(3, 64)
                os.chdir(case.home)
                environment = case.environment(TERM="xterm", **more)
                os.execve(test_octet.OCTET, [test_octet.OCTET, "top", *arguments], environment)
            finally:
                os._exit(99)

    def read(self):
        if select.select([self.fd], [], [], 0.05)[0]:
            piece = self.decoder.decode(os.read(self.fd, 65536))
            self.text += piece
            self.screen.feed(piece)

    def until(self, what, condition):
        end = time.monotonic() + DEADLINE_S
        while not condition(self.screen.rows):
            assert time.monotonic() < end, f"never: {what}\n" + "\n".join(self.screen.rows)
            self.read()
        return self.screen.rows

    def key(self, text):
        os.write(self.fd, text.encode())

    def settings(self):
        return termios.tcgetattr(self.slave)

    def ended(self):
        """Its exit status, once all that it wrote is read; the terminal has its settings again."""
        end = time.monotonic() + DEADLINE_S
        while True:
            pid, status = os.waitpid(self.child, os.WNOHANG)
            self.read()
            if pid:
                break
            assert time.monotonic() < end, "it does not end"
        while select.select([self.fd], [], [], 0)[0]:
            self.read()
        assert self.settings() == self.before, "the terminal is not as it was"
        os.close(self.fd)
        os.close(self.slave)
        return os.waitstatus_to_exitcode(status)


def column(rows, name):
    """The cells below a column's name, without the last line, which tells of keys."""
    head = next(i for i, row in enumerate(rows) if row.startswith("id"))
    names = re.split(r"\s\s+", re.sub("[↑↓]", "", rows[head]).strip())
    at = names.index(name)
    return [re.split(r"\s\s+", row.strip())[at] for row in rows[head + 1:-1] if row.strip()]


class Tops(test_octet.Case):
    def begin(self, peers, **more):
        """A run whose learner tells of so many peers."""
        self.train = self.start("train", "x.yaml", "--run-dir", "run", "--no-ui", FAKE_PEERS=str(peers), **more)
        self.wait_up()

    def tearDown(self):
        if hasattr(self, "train"):
            self.train.kill()
            self.train.communicate()
        super().tearDown()

    def test_a_pipe_gets_the_table_once(self):
        self.begin(1000)
        for arguments in (["run"], ["run", "--once"], ["--learner", "ipc://" + str(self.home / "run/learner.ipc"), "--replay",
                                                       "ipc://" + str(self.home / "run/replay.ipc")]):
            out, err = self.octet("top", *arguments)
            self.assertEqual(err, "")
            self.assertNotIn("\x1b", out)
            rows = out.splitlines() + [""]
            self.assertRegex(rows[0], r"^\S+ · training · ")
            self.assertRegex(rows[1], r"^actors 999 · ")
            hosts = column(rows, "host")
            self.assertEqual(len(hosts), 1000)
            # The silent one first, the others as this learner, which judges nobody, has listed them.
            self.assertEqual(hosts, ["host-0999"] + [f"host-{i:04}" for i in range(999)])
            self.assertEqual(column(rows, "state"), ["silent"] + 999 * ["live"])
            self.assertNotIn("memory", out)
        out, _ = self.octet("top", "run", "--sort", "steps")
        self.assertEqual(column(out.splitlines() + [""], "host"), [f"host-{i:04}" for i in reversed(range(1000))])
        out, _ = self.octet("top", "run", "--sort", "wait", "--reverse")
        waits = [int(cell.split()[0]) for cell in column(out.splitlines() + [""], "wait")]
        self.assertEqual(waits, sorted(waits))
        self.assertEqual((waits[0], waits[-1]), (0, 100))

    def test_keys_scroll_and_sort_and_q_gives_the_terminal_back(self):
        self.begin(1000)
        top = Top(self, "run", "--sort", "host", width=120, height=24)
        rows = top.until("the table", lambda rows: any("rows 1 to 19 of 1000" in row for row in rows))
        self.assertTrue(top.screen.other)
        self.assertFalse(top.settings()[3] & termios.ECHO)
        self.assertEqual(column(rows, "host"), [f"host-{i:04}" for i in range(19)])
        self.assertIn("host↑", "".join(rows))
        top.key("\x1b[6~")  # page down
        rows = top.until("the second page", lambda rows: "rows 20 to 38 of 1000" in rows[-1])
        self.assertEqual(column(rows, "host")[0], "host-0019")
        top.key("\x1b[F")  # end
        rows = top.until("the last page", lambda rows: "rows 982 to 1000 of 1000" in rows[-1])
        self.assertEqual(column(rows, "host")[-1], "host-0999")
        top.key("r")
        rows = top.until("the other way round", lambda rows: any("host↓" in row for row in rows) and
                         "rows 1 to 19" in rows[-1])
        self.assertEqual(column(rows, "host")[0], "host-0999")
        top.key("\x1b[C")  # right: pid
        rows = top.until("another column", lambda rows: any("pid↑" in row for row in rows))
        self.assertEqual(column(rows, "pid")[0], "1")
        # A smaller window: fewer rows, and none is wider.
        top.screen.resize(50, 12)
        fcntl.ioctl(top.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 50, 0, 0))
        rows = top.until("a smaller table", lambda rows: "rows 1 to 7 of 1000" in rows[-1])
        self.assertEqual(column(rows, "host"), [f"host-{i:04}" for i in range(7)])
        top.key("q")
        self.assertEqual(top.ended(), 0, top.text)
        self.assertTrue(top.text.endswith(LEAVE), top.text[-80:])

    def test_signals_give_the_terminal_back(self):
        self.begin(3)
        for end in ["\x03", signal.SIGTERM, signal.SIGHUP]:
            top = Top(self, "run")
            top.until("the table", lambda rows: "rows 1 to 3 of 3" in rows[-1])
            if isinstance(end, str):
                top.key(end)
            else:
                os.kill(top.child, end)
            self.assertEqual(top.ended(), 0, top.text)
            self.assertTrue(top.text.endswith(LEAVE), top.text[-80:])

    def test_it_ends_with_the_run(self):
        self.begin(3)
        top = Top(self, "run")
        top.until("the table", lambda rows: "rows 1 to 3 of 3" in rows[-1])
        self.train.send_signal(signal.SIGINT)
        self.assertEqual(top.ended(), 1)
        self.assertIn("octet top: error:", top.text.split(LEAVE)[-1])
        self.train.communicate(timeout=DEADLINE_S)
        _, err = self.octet("top", "run", code=1)
        self.assertIn("the run in 'run' has ended; octet status shows its result", err)

    def test_a_learner_of_another_release_lists_fewer(self):
        self.begin(1000, FAKE_PEERS_MAX="256")
        out, _ = self.octet("top", "run")
        self.assertEqual(len(column(out.splitlines() + [""], "host")), 256)
        self.assertIn("the 256 with the most problems of 1000", out)

    def test_wrong_use_is_refused(self):
        for arguments, words in [([], "no RUN_DIR given, and no --learner"),
                                 (["a", "b"], "two folders, 'a' and 'b'"),
                                 (["a", "--sort", "size"], "--sort is 'size'; allowed is id, role, host")]:
            _, err = self.octet("top", *arguments, code=2)
            self.assertIn(words, err)
        _, err = self.octet("top", "nowhere", code=1)
        self.assertIn("cannot enter 'nowhere'", err)


if __name__ == "__main__":
    test_octet.OCTET, test_octet.FAKE = (os.path.abspath(path) for path in sys.argv[1:3])
    unittests.main([sys.argv[0], *sys.argv[3:]])
