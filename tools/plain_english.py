#!/usr/bin/env python3
"""Finds phrases that no native speaker would write, in all texts that users read. Runs as a test; exits 1 if it finds one.

usage: plain_english.py ROOT          checks the tree
       plain_english.py --self-test   checks that each phrase is found, and nothing in plain sentences

Texts are the strings of the programs (C, Python, shell, the page of octet dash), the comments of presets, of deploy/ and of
exported headers, and the pages in Markdown. Comments in code are not among them.
"""

import ast
import fnmatch
import json
import pathlib
import re
import sys
import tempfile

import tidy

# A phrase, what to write instead, and a sentence with it. Spaces match across the end of a line.
PHRASES = [
    # Words
    (r"\banew\b", "again", "It is made anew."),
    (r"\bfor ever\b", "forever", "None waits for ever."),
    (r"\b(go|goes|went|going) on\b(?! (?:the|a|an)\b)", "continues, goes to", "The run goes on."),
    (r"\bwhatever\b", "the cases by name", "It keeps its bits, whatever the tile."),
    (r"\bwhoever\b", "everyone who", "Whoever can connect may read the run."),
    (r"\b(?:some|every|any|no)body's\b|\bsomebody else\b|\bnobody (?:answers?|answered|can|knows|asked)\b",
     "the person or the program by name", "It is nobody's file."),
    (r"\btold\b(?! apart)", "logged, reported or sent", "The actor is told its address."),
    (r"\btells? of\b", "reports", "The log tells of each failure."),
    (r"\baffairs?\b", "who decides it", "That is the environment's affair."),
    (r"\b(?:strangers?|newcomers?)\b", "an unknown program, a new user", "There are strangers on the port."),
    (r"\b(?:deaf|mute)\b", "what does not answer", "The socket is deaf."),
    (r"(?<!Numerical )\brecipes?\b", "settings", "There is one recipe for all tasks."),
    (r"\bscreens\b|\ba screen(?=,? (?:is|has|had|found))", "short evaluations", "It is the mean of ten screens."),
    (r"\bthe bar (?:is|of|that|for)\b|\b(?:its|their|paper's) bars?\b", "threshold", "It reaches the bar of the paper."),
    (r"\bmend(?:s|ed|ing)?\b", "fix, repair", "This mends the index."),
    (r"\bis well\b(?!-)", "what works again", "The disk is well."),
    (r"\bin clear\b", "without encryption", "The bytes travel in clear."),
    (r"\bin vain\b", "without result", "Nobody waits in vain."),
    (r"\bin words\b", "with a message", "It is refused in words."),
    (r"\bfor a person\b", "for the user", "It prints a line for a person."),
    (r"\bso (?:many|long)\b(?! (?:that|as))(?=[ ,.;:)]|$)", "the count, the time", "It waits for so many seconds."),
    (r"\bfurther ones\b", "what is counted by name", "Further ones are only counted."),
    (r"\bwhat (?:came|comes|became|becomes) of\b", "how it ended", "It shows what became of a run."),
    (r"\bhears? (?:of|from nobody)\b|\bheard of\b", "receives, has", "It hears of no actor."),
    (r"\bexcludes? each other\b", "cannot be used together", "--a and --b exclude each other."),
    (r"\bdrawn actions\b", "sampled actions", "Compares drawn actions."),
    (r"\bnoise that lasts\b", "correlated noise", "Use noise that lasts."),
    (r"\bsure of (?:it|them)sel(?:f|ves)\b", "deterministic", "Policies become sure of themselves."),
    (r"\bwaits? for nobody\b", "does not wait", "Actors wait for nobody."),
    (r"\bthe smaller counts\b", "using the smaller value", "Of two critics the smaller counts."),
    (r"\bmeasures nothing\b", "reports no metrics", "It measures nothing."),
    (r"\bcomes? (?:further|to less)\b", "reaches higher returns, lower returns", "PPO comes further."),
    (r"\bin as many (?:steps|frames|updates)\b", "in the same number of", "It learns more in as many steps."),
    (r"\bthe most is\b", "the maximum is", "It returns 475; the most is 500."),
    (r"\bis nothing that\b", "X has no", "Column o4 is nothing that CartPole-v1 has."),
    (r"\bone a (?:line|second|minute|run|row|seed|task|node|day)\b", "one per", "It reads numbers, one a line."),
    (r"\bone behind (?:the other|another)\b", "one after the other", "Layers lie one behind the other."),
    (r"\bfrom (?!now\b|then\b|there\b|here\b)\S+ on(?=[.;:)]|$)", "from X, starting at X", "Seeds from 1 on."),
    (r"\bturn(?:s|ed)? (?:\S+ )?away\b", "refuse", "The gate turned peers away."),
    (r"\bsaid to be\b", "who says it", "The tensor is said to be elsewhere."),
    (r"\bas they come\b", "the order", "It takes batches as they come."),
    (r"\b(?:can|cannot) be had\b", "is available, is not available", "PyTorch cannot be had."),
    (r"\bparted by\b", "separated by", "Names, parted by commas."),
    # Grammar
    (r"(?<!there )\b(?:is|was|are|were) no (?!(?:longer|more|less|fewer|better|worse|larger|smaller|different|further|nearer|"
     r"faster|slower|higher|lower|later|earlier|older|newer|reason|need|way|use|room|limit|one)\b)[a-z]", "is not a",
     "It is no plug-in."),
    (r"\b(?:has|have) not (?:a|an|the|its|their|any|enough|\d+|%\S+)\b", "does not have", "The file has not the right size."),
    (r"\bregisters? no\b", "cannot register", "An actor registers no evaluator."),
    (r"(?<!\bno )(?<!\bthe )(?<!\bonly )(?<!\bevery )(?<!\beach )(?<!\bany )(?<!\bis )(?<!est )\bone (?:that|whose|which|who)\b",
     "the noun again: a run that", "A session, or one that ended."),
    (r"\bthose whose\b|\bthose of which\b", "the noun again", "Runs, and those whose logs exist."),
    (r"(?<!\btenth )(?<!\bhundredth )(?<!\bhalf )(?<!\bpart )\bof it(?=[.;:)]|$)", "the thing by name", "It keeps most of it."),
    (r"\b(?:is|are|was|were) of another (?:run|release|version|network|role|user|machine)\b", "belongs to another",
     "The policy is of another run."),
    (r"(?:^|[.] )(?-i:Whether|Who|Which) (?:is|has|does|was|may|can|a|an|the|it|they)\b(?![^.]*\?)", "the subject first",
     "Whether the run has ended."),
    (r"\b(?:has|have|is|are|was|were) gone\b", "has ended, closed, been deleted", "The process is gone."),
    (r"\b(?:which|that|it|what|name|line|key|page) stands? (?:in|on|at|there|here|twice|once|beside)\b", "is",
     "The name stands in the certificate."),
    (r"\b(?:gives?|gave) up (?:its|a|the) place\b|\b(?:all|no|free|its|holds?) (?:\S+ )?places (?:are|is|as|that)\b", "slot",
     "All 16 places are taken."),
]
PLAIN = ["The run is no longer live, and there is no file.", "No one that asks waits.", "It goes on the robot.", "Half of it.",
         "They are no more than ten.", "The smallest one whose code fits.", "The two are told apart by number.",
         "It waits so long that it fails.", "The step continues from now on.", "Who has a key? Operators have.",
         "A screen of 80 columns.", "The progress bar of the run.", "The file is well-formed."]
# Words that pages define as names: a set of settings, a kind of evaluation.
NAMES = {"docs/results/*": ["recipe", "screens"], "docs/glossary.md": ["recipe"]}
C_FOLDERS = [*(folder for folder in tidy.FOLDERS if folder not in tidy.FREE), "examples"]
PYTHON_FOLDERS = ["python", "cli", "replay", "envs", "policy", "examples", "tools"]
SHELL = ["cli/**/*.sh", "script/*", "deploy/entrypoint"]
COMMENTS = ["presets/**/*.yaml", "deploy/**/*"]
PAGES = ["*.md", "docs/**/*.md", "deploy/**/*.md", "examples/**/*.md"]

# Comments that the build copies into exported headers (policy/export/meson.build).
EXPORTED = ["policy/policy_half.h", "policy/policy_math.h", "policy/policy_draw.h", "policy/export/export_codes.h",
            "policy/export/export_products.h", "policy/export/export_robot.h", "policy/export/export_probe.h"]
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[ \t]*include[^\n]*|[A-Za-z_]\w*|(?:\s|\\\n)+|.', re.S)
JS_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|.", re.S)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def c_strings(text):
    """Yields line and text of each literal; adjacent literals are joined, with macros between them."""
    first, parts = 0, []
    for match in C_TOKEN.finditer(text):
        token = match[0]
        if token.startswith('"'):
            first = first or line_of(text, match.start())
            parts.append(token[1:-1])
        elif parts and (token.startswith(("//", "/*")) or not token.strip(" \t\n\\")):
            continue
        elif parts and re.fullmatch(r"[A-Z][A-Z0-9a-z_]{2,}", token):
            parts.append("{" + token + "}")
        elif parts:
            yield first, "".join(parts)
            first, parts = 0, []
    if parts:
        yield first, "".join(parts)


def c_comments(text):
    """Yields line and text of each block of // comments."""
    first, block = 0, []
    for n, line in enumerate([*text.split("\n"), ""], 1):
        comment = re.match(r"\s*// ?(.*)", line)
        if comment:
            first = first or n
            block.append(comment[1])
        elif block:
            yield first, "\n".join(block)
            first, block = 0, []


def python_strings(text):
    """Yields line and text of each literal; the expressions of an f-string become {}."""
    inner = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            inner.update(id(part) for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, node.value


def shell_strings(text):
    """Yields line and text of each quoted word, and each line of a here document."""
    end = None
    for n, line in enumerate(text.split("\n"), 1):
        if end:
            end = None if line.strip() == end else end
            yield n, line
        elif not line.lstrip().startswith("#"):
            for double, single in re.findall(r'"((?:\\.|[^"\\])*)"|\'([^\']*)\'', line):
                yield n, re.sub(r"\$\w+|\$\{[^}]*\}|\$\([^)]*\)", "X", double or single)
            begun = re.search(r"(?<!<)<<-?\s*[\\'\"]?([A-Z_]+)", line)
            end = begun[1] if begun else None


def js_strings(text):
    for match in JS_TOKEN.finditer(text):
        if match[0][0] in "\"'`" and len(match[0]) > 1:
            yield line_of(text, match.start()), re.sub(r"\$\{[^}]*\}", "{}", match[0][1:-1])


def html_texts(text):
    for match in re.finditer(r">([^<>]+)<|(?:title|placeholder|aria-label)=\"([^\"]*)\"", text):
        yield line_of(text, match.start()), match[1] or match[2]


def yaml_comments(text):
    """Yields line and text of each block of # comments, and of descriptions of alerts and services."""
    first, block = 0, []
    for n, line in enumerate([*text.split("\n"), ""], 1):
        comment = re.match(r"\s*# ?(.*)", line) or re.match(r".*?\s# (.*)", line)
        if comment:
            first = first or n
            block.append(comment[1])
            continue
        if block:
            yield first, "\n".join(block)
            first, block = 0, []
        said = re.match(r"\s*(?:summary|description|Description)\s*[:=]\s*(.*)", line)
        if said:
            yield n, said[1].strip('"')


def json_texts(text):
    def walk(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in ("title", "description") and isinstance(inner, str):
                    yield line_of(text, text.find(json.dumps(inner, ensure_ascii=False))), inner
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)
    yield from walk(json.loads(text))


def paragraphs(text):
    """Yields line and text of each paragraph, list item and row of a table, without code and links' addresses."""
    first, block, is_code = 0, [], False

    def clean(lines):
        joined = "\n".join(lines)
        return re.sub(r"`[^`]*`", "X", re.sub(r"\]\([^)]*\)", "]", joined))
    for n, line in enumerate([*text.split("\n"), ""], 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        if is_code or not line.strip() or line.lstrip().startswith(("```", "|", "- ", "#")) or re.match(r"\s*\d+\. ", line):
            if block:
                yield first, clean(block)
            first, block = 0, []
        if not is_code and line.strip() and not line.lstrip().startswith("```"):
            first = first or n
            block.append(line)


def texts(root):
    """Yields path, line and text of everything that users read."""
    def files(patterns):
        for pattern in patterns:
            for path in sorted(root.glob(pattern)):
                if path.is_file() and tidy.is_ours(root, path.relative_to(root).parts[0]):
                    yield path

    def each(patterns, reader):
        for path in files(patterns):
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            if path.resolve() not in [pathlib.Path(lists.__file__).resolve() for lists in (sys.modules[__name__], tidy)]:  # of words
                for line, found in reader(text):
                    yield path.relative_to(root), line, found
    yield from each([f"{folder}/**/*.[ch]" for folder in C_FOLDERS], c_strings)
    yield from each(EXPORTED, c_comments)
    yield from each([f"{folder}/**/*.py" for folder in PYTHON_FOLDERS], python_strings)
    yield from each([pattern for pattern in SHELL if "." in pattern] or [], shell_strings)
    for path in files(["script/*", "deploy/entrypoint"]):
        if path.suffix not in (".py", ".md"):
            for line, found in shell_strings(path.read_text(encoding="utf-8")):
                yield path.relative_to(root), line, found
    yield from each(["cli/dash/page/*.js"], js_strings)
    yield from each(["cli/dash/page/*.html"], html_texts)
    yield from each(["deploy/**/*.json"], json_texts)
    for rel, line, found in each(COMMENTS, yaml_comments):
        if rel.suffix not in (".json", ".md"):
            yield rel, line, found
    yield from each(PAGES, paragraphs)


# A blank matches several, except in a look-behind, which has a fixed width.
COMPILED = [(re.compile("".join(part if part.startswith("(?<") else part.replace(" ", " +")
                                for part in re.split(r"(\(\?<!.*?\))", phrase)), re.I), advice) for phrase, advice, _ in PHRASES]


def check(root):
    for rel, line, text in texts(root):
        if not re.search(r"\S\s+\S", text):
            continue  # a key or a name
        for phrase, advice in COMPILED:
            for match in phrase.finditer(text.replace("\n", " ")):
                if match[0].lower() in [name for page, names in NAMES.items() if fnmatch.fnmatch(rel.as_posix(), page) for name in names]:
                    continue
                at = line + text.count("\n", 0, match.start())
                yield f"{rel}:{at}: \"{' '.join(match[0].split())}\": write {advice}"


# Files, and the complaints about them: each begins with its path and line.
SELF_TESTS = [
    ({"cli/a.c": '// made anew\nsay("It is "\n    "made " PRIu64 " anew");\n'}, ["cli/a.c:2:"]),
    ({"cli/a.c": 'get("told");\n'}, []),
    ({"bench/a.c": 'say("made anew again");\n', "tests/a.c": 'say("made anew again");\n'}, []),
    ({"policy/policy_draw.h": "int x;\n// Made\n// anew.\n", "policy/a.h": "// Made anew.\n"}, ["policy/policy_draw.h:3:"]),
    ({"python/octet/a.py": 'x = 1  # made anew\n"""Says.\n\nMade anew."""\n'}, ["python/octet/a.py:4:"]),
    ({"python/octet/a.py": 'raise OctetError(f"{x} is no {y} path")\n'}, []),
    ({"python/octet/a.py": 'raise OctetError(f"{x!r} is no "\n                 "path")\n'}, ["python/octet/a.py:1:"]),
    ({"cli/a.sh": "# made anew\nsay \"made anew\" # anew\ncat <<END\nmade anew\nEND\n"}, ["cli/a.sh:2:", "cli/a.sh:4:"]),
    ({"cli/a.sh": "cat <<<\"END\"\n# made anew\n"}, []),
    ({"script/a": "die 'it goes on'\n[ \"$told\" ] || has \"$told\" \"$1\"\n"}, ["script/a:1:"]),
    ({"cli/dash/page/a.js": "// made anew\nx = `made ${y} anew`;\n"}, ["cli/dash/page/a.js:2:"]),
    ({"cli/dash/page/a.html": "<p class=\"anew is\">made\n anew</p>\n"}, ["cli/dash/page/a.html:2:"]),
    ({"deploy/a.json": '{"title": "made anew", "expr": "made anew"}\n'}, ["deploy/a.json:1:"]),
    ({"deploy/a.yaml": "# made\n# anew\nx: made anew\n", "presets/a.yaml": "x: 1 # made anew\n"},
     ["presets/a.yaml:1:", "deploy/a.yaml:2:"]),
    ({"deploy/a.rules.yaml": 'x:\n  summary: "made anew"\n'}, ["deploy/a.rules.yaml:2:"]),
    ({"README.md": "Text\nof it\n\n- Made\n  anew.\n\n    made anew `x anew`\n```\nmade anew\n```\n"},
     ["README.md:2:", "README.md:5:", "README.md:7:"]),
    ({"docs/a.md": "See `made anew` and [x](made-anew).\n| made | anew |\n"}, ["docs/a.md:2:"]),
    ({"docs/results/a.md": "The recipe here.\n", "docs/a.md": "The recipe here.\n"}, ["docs/a.md:1:"]),
]


def self_test():
    cases = [({"README.md": wrong + "\n"}, ["README.md:1:"]) for _, _, wrong in PHRASES]
    cases += [({"README.md": plain + "\n"}, []) for plain in PLAIN]
    failed = 0
    for files, want in [*cases, *SELF_TESTS]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            got = list(check(root))
        if len(got) != len(want) or not all(found.startswith(begin) for found, begin in zip(got, want)):
            print(f"{files}: wanted {want}, got {got}")
            failed += 1
    count = len(cases) + len(SELF_TESTS)
    print(f"{count - failed} of {count} self-tests hold")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) != 1:
        print(__doc__)
        return 2
    complaints = list(check(pathlib.Path(arguments[0])))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
