#!/usr/bin/env python3
"""Records the screen of `octet train` and writes it as an SVG picture: some moments of the run, then its end.

usage: terminal_picture.py OCTET OUT.svg [EXPERIMENT]        EXPERIMENT: cartpole by default
       terminal_picture.py --self-test

The run is a real one, in a terminal of 80 columns and in a folder that is deleted afterwards. The picture is dark, as a terminal is. It shows the
moments one after the other; a reader who prefers no motion sees the end alone.
"""

import html
import os
import pathlib
import pty
import re
import struct
import fcntl
import sys
import tempfile
import termios

import check_pictures

COLUMNS, ROWS = 80, 40
SIZE, CELL, LINE, PAD = 14, 8.43, 19, 18  # pixels: of a letter, of its cell, of a row, around all
GROUND, INK = "#10141a", "#d8dee6"
STYLES = {"1": "b", "2": "d", "31": "r", "32": "g", "36": "c"}  # of SGR: bold, dim, red, green, cyan
CLASSES = f"text {{ white-space: pre }} .b {{ font-weight: 700; fill: {INK} }} .d {{ fill: #8b97a5 }} .r {{ fill: #ff8a80 }} .g {{ fill: #5fcf8a }} .c {{ fill: #6cb2ff }} .p {{ fill: {INK} }}"
MOMENTS, MOMENT_S, END_S = 4, 0.9, 6.0
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


def recorded(command, folder, environment):
    """Everything that the command writes to its terminal, in the pieces in which it came."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    pieces = []
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    status = os.waitpid(pid, 0)[1]
    if status != 0:
        sys.exit(f"terminal_picture: {' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}\n{b''.join(pieces).decode(errors='replace')[-2000:]}")
    return pieces


class Screen:
    """Rows of (style, text). It knows what octet train writes: styles, lines, upwards, and clearing to the end."""

    def __init__(self):
        self.rows, self.at, self.style = [[]], 0, ""

    def write(self, text):
        for numbers, letter, back, line, words in TOKEN.findall(text):
            if letter == "A":
                self.at = max(0, self.at - int(numbers or 1))
            elif letter == "J":
                self.rows[self.at:] = [[]]
            elif letter == "m":
                self.style = STYLES.get(numbers.split(";")[-1], "")
            elif line:
                self.at += 1
                self.rows += [[]] * (self.at + 1 - len(self.rows))
                self.rows[self.at] = []
            elif words:
                self.rows[self.at] = [*self.rows[self.at], (self.style, words)]

def moments(pieces, count=MOMENTS):
    """Returns count moments of the terminal with progress, at equal distances, and the last moment."""
    screen, seen = Screen(), []
    for piece in pieces:
        screen.write(piece.decode("utf-8", errors="replace"))
        now = list(screen.rows)
        if not seen or now != seen[-1]:
            seen.append(now)
    *running, last = seen
    running = [rows for rows in running if any(" training " in text for row in rows for _, text in row)]
    chosen = [running[(len(running) - 1) * k // max(1, count - 1)] for k in range(count)] if running else []
    return [*chosen, last]


def wrapped(rows):
    """As a terminal wraps them."""
    out = []
    for row in rows:
        out.append([])
        room = COLUMNS
        for style, text in row:
            while len(text) > room:
                out[-1].append((style, text[:room]))
                out.append([])
                text, room = text[room:], COLUMNS
            out[-1].append((style, text))
            room -= len(text)
    return out


def drawn(rows, command):
    prompt = [("g", "$ "), ("b", command)]
    out = []
    for i, row in enumerate([prompt, *rows]):
        spans = "".join(f'<tspan class="{style or "p"}">{html.escape(text, quote=False)}</tspan>' for style, text in row)
        if spans:
            out.append(f'<text x="{PAD}" y="{PAD + SIZE + LINE * i}">{spans}</text>')
    return "\n".join(out)


def picture(screens, command):
    screens = [wrapped(rows) for rows in screens]
    while screens[-1] and not screens[-1][-1]:
        screens[-1].pop()
    width = round(2 * PAD + CELL * COLUMNS)
    height = 2 * PAD + LINE * (1 + max(map(len, screens)))
    whole = MOMENT_S * (len(screens) - 1) + END_S
    style, groups = [], []
    for k, rows in enumerate(screens):
        begin, end = (100 * MOMENT_S * at / whole for at in (k, k + 1))
        end = end if k + 1 < len(screens) else 100
        style.append(f"@keyframes m{k} {{ 0% {{ visibility: {'visible' if k == 0 else 'hidden'} }} {begin:.2f}% {{ visibility: visible }} {end:.2f}%, 100% {{ visibility: "
                     f"{'visible' if end == 100 else 'hidden'} }} }} .m{k} {{ visibility: {'visible' if end == 100 else 'hidden'}; animation: m{k} {whole:g}s step-end infinite }}")
        groups.append(f'<g class="m{k}">\n{drawn(rows, command)}\n</g>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="{SIZE}">\n'
            f"<title>The screen of {html.escape(command, quote=False)}</title>\n<style>\n{CLASSES}\n" + "\n".join(style) +
            "\n@media (prefers-reduced-motion: reduce) { g { animation: none !important } }\n</style>\n"
            f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>\n' + "\n".join(groups) + "\n</svg>\n")


def main(octet, out, experiment="cartpole"):
    octet = pathlib.Path(octet).resolve()
    environment = {**{name: value for name, value in os.environ.items() if not name.startswith("OCTET_") and name not in ("NO_COLOR", "LC_ALL", "LC_CTYPE")},
                   "PATH": f"{octet.parent}:{os.environ['PATH']}", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix="octet-picture-") as folder:
        pieces = recorded([octet.name, "train", experiment], folder, environment)
    pathlib.Path(out).write_text(picture(moments(pieces), f"octet train {experiment}"), encoding="utf-8")


def self_test():
    """A block that is drawn twice in place, then a line of the result that is wider than the terminal."""
    wide = "result " + "x" * COLUMNS
    pieces = [text.encode() for text in ("starting\r\n", "\x1b[1A\r\x1b[J\x1b[2mrun\x1b[0m  a · training · 1 s\r\nprogress <1 %>\r\n",
                                         "\x1b[2A\r\x1b[J\x1b[2mrun\x1b[0m  a · training · 2 s\r\nprogress <2 %>\r\n", wide + "\r\n")]
    screens = moments(pieces, 2)
    plain = [["".join(text for _, text in row) for row in rows] for rows in screens]
    assert plain == [["run  a · training · 1 s", "progress <1 %>", ""], ["run  a · training · 2 s", "progress <2 %>", ""],
                     ["run  a · training · 2 s", "progress <2 %>", wide, ""]], plain
    assert screens[0][0][0] == ("d", "run")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.svg")
        path.write_text(picture(screens, "octet train x"), encoding="utf-8")
        assert list(check_pictures.check_svg(path)) == [], list(check_pictures.check_svg(path))
        text = path.read_text(encoding="utf-8")
    assert text.count("<g ") == 3 and "&lt;2 %&gt;" in text and "x" * COLUMNS not in text and text.count("xxxxxxx</tspan></text>") == 2
    print("the self-test holds")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit(0)
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
