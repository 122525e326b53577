#!/usr/bin/env python3
"""Checks the pictures of README.md and docs/ against rules. Runs as a test; exits 1 if a rule is broken.

usage: check_pictures.py ROOT            checks the tree
       check_pictures.py --self-test     checks that each rule finds its violation

- An SVG file of docs/img is well-formed XML and has a title, a width and a background. It is at most 840 pixels wide, which a page
  shows in full size, and no text is smaller than 12 pixels. It has colours for dark pages, or is dark itself.
- The pictures that bench/pictures.py draws from docs/data are exactly what it draws.
- A page refers to every file of docs/img, and says in the text of every picture, in three words or more, what it shows.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

WIDTH_MAX, TEXT_MIN = 840, 12
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"(\d+\.\d)(?!\d)")  # of a place
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def brightness(colour):
    return sum(int(colour[i:i + 2], 16) for i in (1, 3, 5)) / 3


def check_svg(path):
    text = path.read_text(encoding="utf-8")
    try:
        root = xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError as error:
        yield f"not well-formed: {error}"
        return
    if root.find(f"{SVG}title") is None:
        yield "no <title> says what it shows"
    width = root.get("width", "")
    if not width.isdigit() or int(width) > WIDTH_MAX:
        yield f"width is '{width}', not a number of at most {WIDTH_MAX}"
    sizes = [float(size) for size in re.findall(r"""font-size(?:="|:\s*)([\d.]+)""", text) + re.findall(r"\bfont:[^;}\"]*?([\d.]+)px", text)]
    if not sizes or min(sizes) < TEXT_MIN:
        yield f"text of {min(sizes, default='unknown')} pixels; the least is {TEXT_MIN}"
    ground = root.find(f"{SVG}rect")
    if ground is None or ground.get("width") not in (width, "100%"):
        yield "the first rectangle is not a ground as wide as the picture"
    elif "prefers-color-scheme: dark" not in text and brightness(ground.get("fill", "#ffffff")) > 64:
        yield "neither dark nor with colours for dark pages"


def is_same(one, other):
    """Whether two pictures differ in nothing but the last digit of numbers, which depends on the machine."""
    parts = [NUMBER.split(text) for text in (one, other)]
    return len(parts[0]) == len(parts[1]) and all(
        a == b or (k % 2 == 1 and abs(float(a) - float(b)) <= 0.11) for k, (a, b) in enumerate(zip(*parts)))


def check_drawn(root):
    program = root / "bench/pictures.py"
    if not program.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, program, "--out", folder], check=True, timeout=100)
        for path in sorted(pathlib.Path(folder).iterdir()):
            there = root / "docs/img" / path.name
            if not there.exists() or not is_same(there.read_text(encoding="utf-8"), path.read_text(encoding="utf-8")):
                yield f"docs/img/{path.name}: not what python3 bench/pictures.py {path.stem} draws"


def check_tree(root):
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    shown = set()
    for page in pages:
        text = page.read_text(encoding="utf-8")
        shown |= {(page.parent / name).resolve() for name in re.findall(r"\]\(([^)\s#]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)}
        for words, name in IMAGE.findall(text):
            if len(words.split()) < 3:
                yield f"{page.relative_to(root)}: the text of {name} does not say in three words or more what it shows: '{words}'"
    for path in sorted((root / "docs/img").iterdir()):
        if path.resolve() not in shown:
            yield f"docs/img/{path.name}: no page refers to it"
        for complaint in check_svg(path) if path.suffix == ".svg" else []:
            yield f"docs/img/{path.name}: {complaint}"
    yield from check_drawn(root)


PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="800" height="90" viewBox="0 0 800 90" font-size="12"><title>x</title>
<style>.a { font: 13px sans-serif } @media (prefers-color-scheme: dark) { }</style>
<rect width="800" height="90" fill="#ffffff"/><text font-size="14" x="13.0">y</text></svg>"""
DRAWS = "import pathlib, sys\ntext = pathlib.Path(__file__).parents[1].joinpath('docs/img/a.svg').read_text()\npathlib.Path(sys.argv[2], 'a.svg').write_text({})\n"
SOUND = {"docs/img/a.svg": PICTURE, "docs/a.md": "![what it shows](img/a.svg)\n", "README.md": "# X\n"}
SELF_TESTS = [  # a file, a text in it, what stands there instead, and the complaints
    ("", "", "", []),
    ("docs/img/a.svg", "</svg>", "", ["not well-formed"]),
    ("docs/img/a.svg", "<title>x</title>", "", ["no <title>"]),
    ("docs/img/a.svg", 'width="800" height="90" viewBox', 'width="900" height="90" viewBox', ["width is '900'", "ground"]),
    ("docs/img/a.svg", ' width="800" height="90" viewBox', " viewBox", ["width is ''", "ground"]),
    ("docs/img/a.svg", 'font-size="14"', 'font-size="11.5"', ["text of 11.5 pixels"]),
    ("docs/img/a.svg", "font: 13px", "font: bold 10px", ["text of 10.0 pixels"]),
    ("docs/img/a.svg", ".a { ", ".a { font-size: 9px; ", ["text of 9.0 pixels"]),
    ("docs/img/a.svg", '<rect width="800" height="90" fill="#ffffff"/>', "", ["ground"]),
    ("docs/img/a.svg", "@media (prefers-color-scheme: dark) { }", "", ["neither dark"]),
    ("docs/img/a.svg", '@media (prefers-color-scheme: dark) { }</style>\n<rect width="800" height="90" fill="#ffffff"/>', '</style><rect width="800" fill="#10141a"/>', []),
    ("docs/a.md", "![what it shows]", "![picture]", ["does not say"]),
    ("docs/a.md", "![what it shows](img/a.svg)", "Text.", ["no page refers to it"]),
    ("docs/a.md", "![what it shows](img/a.svg)", '<img src="img/a.svg" alt="what it shows">', []),
    ("bench/pictures.py", "", DRAWS.format("text"), []),
    ("bench/pictures.py", "", DRAWS.format("text.replace('13.0', '13.1')"), []),
    ("bench/pictures.py", "", DRAWS.format("text.replace('13.0', '13.9')"), ["not what python3 bench/pictures.py a draws"]),
    ("bench/pictures.py", "", DRAWS.format("'other'"), ["not what python3 bench/pictures.py a draws"]),
]


def self_test():
    wrong = 0
    for name, old, new, want in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**SOUND, **({name: new} if name not in SOUND and name else {})}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text.replace(old, new) if path == name and old else text, encoding="utf-8")
            got = list(check_tree(root))
        if len(got) != len(want) or not all(w in g for w, g in zip(want, got)):
            print(f"{name}: {old} -> {new}: wanted {want}, got {got}")
            wrong += 1
    print(f"{len(SELF_TESTS) - wrong} of {len(SELF_TESTS)} self-tests hold")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) != 1:
        print(__doc__)
        return 2
    complaints = list(check_tree(pathlib.Path(arguments[0]).resolve()))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else self_test()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
