#!/usr/bin/env python3
"""`octet eval --video` and `--frames`, and `octet env render`, with a fake ffmpeg.
Usage: test_octet_video.py OCTET WRITE_POLICY FAKE_FFMPEG

Nothing waits for a fixed time: a condition is polled up to a deadline that only a hang reaches."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import unittests  # noqa: E402

OCTET = WRITE_POLICY = FAKE = ""
DEADLINE_S = 30
WIDTH, HEIGHT = 60, 40


def png_pixels(path):
    """Width, height and the unfiltered bytes of an 8-bit RGB file."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, packed, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        crc, = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
        assert crc == zlib.crc32(kind + body), kind
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
            assert body[8:10] == b"\x08\x02", "8-bit RGB"
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = zlib.decompress(packed)
    assert len(rows) == size[1] * (1 + 3 * size[0])
    return size


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="octet-video-")
        self.home = pathlib.Path(self.folder.name)
        (self.home / "bin").mkdir()
        fake = self.home / "bin" / "ffmpeg"
        fake.write_bytes(pathlib.Path(FAKE).read_bytes())
        fake.chmod(0o755)
        subprocess.run([WRITE_POLICY, "p.oct", "CartPole-v1", "4", "2"], cwd=self.home, check=True)

    def tearDown(self):
        self.folder.cleanup()

    def start(self, *arguments, path=None, **more):
        path = path if path is not None else f"{self.home / 'bin'}:{os.environ['PATH']}"
        return subprocess.Popen([OCTET, *arguments], cwd=self.home, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PATH": path, **more})

    def octet(self, *arguments, code=0, **more):
        child = self.start(*arguments, **more)
        out, err = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, code, out + err)
        return out, err

    def eval(self, *arguments, **more):
        size = [] if "--video-size" in arguments else ["--video-size", f"{WIDTH}x{HEIGHT}"]
        return self.octet("eval", "p.oct", "--episodes", "4", "--envs", "2", *arguments, *size,
                          **more)

    def files(self):
        return sorted(p.name for p in self.home.iterdir() if p.name not in ("bin", "p.oct"))


class Video(Case):
    def test_frames_go_to_ffmpeg_and_the_name_to_the_whole_file(self):
        for name, marks in [("pole.mp4", ["yuv420p", "mp4"]), ("pole.gif", ["gif"])]:
            out, _ = self.eval("--video", name)
            self.assertEqual((self.home / name).read_text(), "a whole video\n")
            argv = (self.home / "bin" / "argv").read_text().split("\n")
            for word in ["rgb24", f"{WIDTH}x{HEIGHT}", "50", "pipe:0", *marks]:
                self.assertIn(word, argv)
            bytes_read = (self.home / "bin" / "bytes").read_bytes()
            frames, rest = divmod(len(bytes_read), WIDTH * HEIGHT * 3)
            self.assertEqual(rest, 0)
            self.assertIn(f"{name}: {frames} frames of {WIDTH}x{HEIGHT}, 50 per second, 1 episode",
                          out)
            self.assertGreater(frames, 5)
            # White above, the rail across, and the cart of the first frame in the middle.
            self.assertEqual(bytes_read[:3], b"\xff\xff\xff")
            cart = 3 * (WIDTH * (HEIGHT * 3 // 4) + WIDTH // 2 - 1)
            self.assertLess(max(bytes_read[cart:cart + 3]), 80)
        self.assertEqual(self.files(), ["pole.gif", "pole.mp4"])

    def test_an_action_repeat_is_watched_at_the_same_speed(self):
        out, _ = self.eval("--video", "pole.mp4", "--options", "action_repeat=5")
        self.assertIn(", 10 per second, 1 episode", out)

    def test_more_episodes_have_more_frames(self):
        counts = []
        for n in ["1", "2"]:
            self.eval("--video", f"{n}.mp4", "--video-episodes", n)
            counts.append((self.home / "bin" / "bytes").stat().st_size)
        self.assertGreater(counts[1], counts[0])

    def test_seconds_end_it_earlier(self):
        for seconds, frames in [("0.1", 5), ("0.11", 6), ("0.001", 1)]:
            out, _ = self.eval("--video", f"{seconds}.mp4", "--video-seconds", seconds)
            self.assertEqual((self.home / "bin" / "bytes").stat().st_size, frames * WIDTH * HEIGHT * 3)
            self.assertIn(f" {frames} frame{'s' if frames > 1 else ''} of {WIDTH}x{HEIGHT}, 50 per second, the beginning of 1 episode", out)
        self.eval("--video", "all.mp4")
        episode = (self.home / "bin" / "bytes").read_bytes()
        self.eval("--video", "long.mp4", "--video-seconds", "1000")
        self.assertEqual((self.home / "bin" / "bytes").read_bytes(), episode)

    def test_the_result_is_that_without_a_video(self):
        seen, _ = self.eval("--video", "a.mp4")
        plain, _ = self.octet("eval", "p.oct", "--episodes", "4", "--envs", "2")
        self.assertEqual(*[[line for line in text.splitlines() if "return" in line or
                            "length" in line] for text in (seen, plain)])

    def test_json_says_what_the_video_shows(self):
        text, _ = self.eval("--video", "a.mp4")
        line, _ = self.eval("--video", "b.mp4", "--json")
        self.assertEqual("  video        " + json.loads(line)["video"].replace("b.mp4", "a.mp4"), text.splitlines()[-1])
        failed, err = self.eval("--video", "c.mp4", "--json", FAKE_FFMPEG="late", code=1)
        self.assertIsNone(json.loads(failed)["video"])
        self.assertIn("octet eval: error: the video: ffmpeg failed", err)

    def test_names_that_look_like_options_or_protocols(self):
        os.mkdir(self.home / "-d")
        for name in ["-d/-y.mp4", "http:x.mp4"]:
            self.eval("--video", name)
            argv = (self.home / "bin" / "argv").read_text().rstrip().split("\n")
            self.assertTrue(argv[-1].startswith(f"file:{name}.tmp."), argv[-1])
            self.assertTrue((self.home / name).exists())

    def refused(self, *arguments, wanted, code=1, **more):
        before = self.files()
        out, err = self.eval(*arguments, code=code, **more)
        self.assertIn(wanted, err)
        self.assertNotIn("video  ", out)
        self.assertEqual(self.files(), before)

    def test_no_ffmpeg_names_the_package_and_the_other_way(self):
        self.refused("--video", "a.mp4", path="/nowhere",
                     wanted="no ffmpeg in PATH: apt-get install ffmpeg, or ask for PNG files")

    def test_ffmpeg_that_fails_is_quoted_and_leaves_nothing(self):
        self.refused("--video", "a.mp4", FAKE_FFMPEG="fail",
                     wanted="ffmpeg failed (exit code 3): the codec is missing")
        self.refused("--video", "a.mp4", FAKE_FFMPEG="late",
                     wanted="ffmpeg failed (exit code 1): no room on the disk")
        self.refused("--video", "a.mp4", FAKE_FFMPEG="die",
                     wanted="ffmpeg failed (signal 9): it gave no reason")

    def test_ffmpeg_that_cannot_be_run(self):
        (self.home / "bin" / "ffmpeg").chmod(0o644)
        child = self.start("eval", "p.oct", "--video", "a.mp4", path=str(self.home / "bin"))
        _, err = child.communicate(timeout=DEADLINE_S)
        self.assertIn("cannot start ffmpeg: Permission denied", err)
        self.assertEqual(self.files(), [])

    def test_where_it_cannot_be_written(self):
        (self.home / "old.mp4").write_text("precious")
        self.refused("--video", "old.mp4", wanted="'old.mp4' exists")
        self.assertEqual((self.home / "old.mp4").read_text(), "precious")
        self.refused("--video", "no/a.mp4", wanted="cannot write 'no/a.mp4': No such file")
        self.refused("--video", "a.avi", wanted="'a.avi': the name of a video ends in .mp4 or .gif")
        self.refused("--video", ".mp4", wanted="the name of a video ends in .mp4 or .gif")
        self.refused("--video", "", wanted="empty or too long")

    def test_wrong_use(self):
        self.refused("--video", "a.mp4", "--frames", "f", code=2, wanted="cannot be used together")
        self.refused("--video-size", "5x5", code=2, wanted="--video-size needs --video or")
        self.refused("--video-seconds", "5", "--video-size", "5x5", code=2, wanted="needs --video or")
        self.refused("--video", "a.mp4", "--video-seconds", "0", code=2, wanted="--video-seconds is '0'; allowed is")
        self.refused("--video", "a.mp4", "--video-size", "5", code=2,
                     wanted="--video-size is '5'; allowed is WIDTHxHEIGHT")
        self.refused("--video", "a.mp4", "--video-episodes", "3", code=2,
                     wanted="environment 0 plays 2 of the 4 episodes")

    def stopped(self, fake):
        """What octet eval prints that gets Ctrl-C while ffmpeg does what fake says."""
        child = self.start("eval", "p.oct", "--video", "a.mp4", "--video-size", "640x480",
                           "--episodes", "100", FAKE_FFMPEG=fake)
        end = time.monotonic() + DEADLINE_S
        pid_file = self.home / "bin" / "pid"
        while not (pid_file.exists() and pid_file.read_text().endswith("\n")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(err, "octet eval: stopped\n")
        self.assertEqual(child.returncode, 130)
        self.assertEqual(self.files(), [])
        self.assertFalse(pathlib.Path("/proc", pid_file.read_text().strip()).exists())
        return out

    def test_ctrl_c_ends_ffmpeg_and_leaves_nothing(self):
        self.assertEqual(self.stopped("hang"), "")

    def test_ctrl_c_while_ffmpeg_finishes_leaves_what_was_measured(self):
        out = self.stopped("linger")
        self.assertIn("over 100 episodes", out)
        self.assertNotIn("video", out)


class Frames(Case):
    def test_frames_are_png_files_in_order(self):
        out, _ = self.eval("--frames", "deep/f", path="/nowhere") # no ffmpeg is needed
        names = sorted(p.name for p in (self.home / "deep/f").iterdir())
        self.assertEqual(names, [f"{k:06}.png" for k in range(len(names))])
        self.assertIn(f"deep/f: {len(names)} frames of {WIDTH}x{HEIGHT}", out)
        for name in names[:3]:
            self.assertEqual(png_pixels(self.home / "deep/f" / name), (WIDTH, HEIGHT))

    def test_a_folder_with_something_in_it_is_left_alone(self):
        (self.home / "f").mkdir()
        (self.home / "f" / "mine").write_text("")
        _, err = self.eval("--frames", "f", code=1)
        self.assertIn("'f' is not empty", err)
        self.assertEqual(os.listdir(self.home / "f"), ["mine"])

    def test_a_file_is_no_folder(self):
        _, err = self.eval("--frames", "p.oct", code=1)
        self.assertIn("'p.oct': Not a directory", err)


class Render(Case):
    def test_pictures_of_the_native_environments(self):
        for env, size in [("CartPole-v1", (600, 400)), ("MountainCar-v0", (600, 400)),
                          ("MountainCarContinuous-v0", (600, 400)), ("Acrobot-v1", (480, 480)),
                          ("Pendulum-v1", (480, 480)), ("MinAtar/Breakout-v1", (480, 480)),
                          ("MinAtar/Seaquest-v1", (480, 480))]:
            self.octet("env", "render", env, "--out", "a.png", "--steps", "5")
            self.assertEqual(png_pixels(self.home / "a.png"), size)

    def test_steps_and_seed_change_the_picture_and_repeat(self):
        seen = {}
        for name, more in [("a", []), ("b", []), ("c", ["--steps", "9"]), ("d", ["--seed", "8"])]:
            self.octet("env", "render", "Pendulum-v1", "--size", "90x90", "--out", name, *more)
            seen[name] = (self.home / name).read_bytes()
        self.assertEqual(seen["a"], seen["b"])
        self.assertEqual(len(set(seen.values())), 3)

    def test_errors(self):
        for arguments, code, wanted in [
                (["CartPole-v1"], 2, "no --out"),
                (["CartPole-v1", "--out", "a.jpg"], 2, "--out is 'a.jpg'; allowed is a PNG, a name that ends in .png"),
                (["CartPole-v1", "--out", "a.png", "--size", "0x4"], 2, "--size is '0x4'; allowed is"),
                (["CartPole-v1", "--out", "a.png", "--steps", "-1"], 2, "--steps is '-1'; allowed is a whole number"),
                (["CartPole-v1", "--out", "no/a.png"], 1, "cannot write 'no/a.png'"),
                (["CartPole-v9", "--out", "a.png"], 1, "did you mean CartPole-v1")]:
            _, err = self.octet("env", "render", *arguments, code=code)
            self.assertIn(wanted, err)


if __name__ == "__main__":
    OCTET, WRITE_POLICY, FAKE = map(os.path.abspath, sys.argv[1:4])
    unittests.main(sys.argv[:1] + sys.argv[4:])
