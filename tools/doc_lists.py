"""Lists that are both in the sources and on a page: tools/check_docs.py compares them.

- a heading of docs/cli.md for each command, and one of docs/algorithms.md for each algo.name;
- an id in docs/environments.md for each environment, a name on some page for each preset;
- docs/internals/wire.md has every message and method of proto/octet.proto, with numbers and types of the fields, and the
  protocol versions of proto/wire_speaks.h;
- docs/internals/architecture.md says of each folder what tools/tidy.py allows it to include;
- CONTRIBUTING.md names the limits on lengths of tools/tidy.py;
- docs/index.md links to every page of docs/ but the decisions, which have docs/internals/decisions/index.md;
- README.md, the pages to start with, the summary of the measurements, and all pages for users together have at most the
  words below; docs/internals/life-of-a-batch.md names few files;
- CHANGELOG.md, CITATION.cff and the manifest of deploy/kubernetes have the version of meson.build.
"""

import re

import tidy

INDEX = "docs/index.md"
DECISIONS = "docs/internals/decisions/index.md"
WIRE = "docs/internals/wire.md"
SCHEMA = "proto/octet.proto"
LIFE = "docs/internals/life-of-a-batch.md"
WORDS_MAX = {"README.md": 900, "docs/start/*.md": 400, "docs/results/index.md": 800}
USER_WORDS_MAX = 60000  # docs/ but internals/ and results/
README_ROWS_MAX = 8     # of a table
LIFE_FILES_MAX = 12
MANIFEST = "deploy/kubernetes/kustomization.yaml"


def read(root, name):
    return (root / name).read_text(encoding="utf-8")


def compare(what, in_code, in_docs, where):
    for name in sorted(set(in_code) - set(in_docs)):
        yield f"{where}: {what} {name} is not described"
    for name in sorted(set(in_docs) - set(in_code)):
        yield f"{where}: {what} {name} is not in the sources"


def headings(text):
    return re.findall(r"^#+ +(.*)$", text, re.M)


def check_commands(root):
    commands = re.findall(r'^ +\{"(\w+)", \w+,', read(root, "cli/octet_main.c"), re.M)
    described = {name for line in headings(read(root, "docs/cli.md")) if line.startswith("octet ")
                 for name in re.findall(r"octet (\w+)", line)}
    yield from compare("command", commands, described, "docs/cli.md")


def check_algorithms(root):
    words = re.findall(r'X\(CONFIG_ALGO_\w+, "(\w+)"\)', read(root, "config/config_names.h"))
    lines = " ".join(headings(read(root, "docs/algorithms.md"))).lower().replace("-", "")
    for word in words:
        if not re.search(rf"(?<![a-z]){word}", lines):
            yield f"docs/algorithms.md: algo.name {word} has no heading"


def check_environments(root):
    page = read(root, "docs/environments.md")
    ids = re.findall(r'^ +X\("([^"]+)-v[0-9]+"', read(root, "envs/env_registry.c"), re.M)
    cells = re.findall(r"^\| (`[\w/]+-v[0-9]`[^|]*)\|", page, re.M)
    yield from compare("environment", ids, re.findall(r"`([\w/]+)-v[0-9]+`", " ".join(cells)), "docs/environments.md")
    described = set()
    for first, others in re.findall(r"^\| `dmc:(\w+)`([^|]*)\|", page, re.M):
        domain = first.split("_")[0]
        described.update([first, *(domain + other for other in re.findall(r"`(\w+)`", others))])
    tasks = re.findall(r"^ +&dmc_(\w+),$", read(root, "envs/dmc/dmc_tasks.c"), re.M)
    yield from compare("environment dmc:", tasks, described, "docs/environments.md")


def check_presets(root, pages):
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    for path in sorted((root / "presets").rglob("*.yaml")):
        if not re.search(rf"(?<![\w-]){re.escape(path.stem)}(?![\w-])", text):
            yield f"{path.relative_to(root)}: no page names it"


def schema(text):
    """{message: {number: (field, type)}}, types as on the page; {code: (method, request, reply)}."""
    text = re.sub(r"//.*", "", text)
    enums = re.findall(r"^enum (\w+)", text, re.M)
    messages, methods = {}, {}
    for name, body in re.findall(r"^message (\w+) \{(.*?)\}", text, re.M | re.S):
        messages[name] = {}
        for repeated, kind, field, number in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body):
            kind = "enum" if kind in enums else kind
            messages[name][int(number)] = (field, kind + ("[]" if repeated else ""))
    for service, (name, body) in enumerate(re.findall(r"^service (\w+) \{(.*?)^\}", text, re.M | re.S), 1):
        for method, rpc in enumerate(re.findall(r"rpc (\w+)\((\w+)\) returns \((\w+)\)", body)):
            methods[f"0x{256 * service + method:04x}"] = (f"{name}.{rpc[0]}", *rpc[1:])
    return messages, methods


def numbers(text):
    """Of the first cell: "3", "3, 4", "2 – 6", "30 … 33"."""
    for part in text.split(","):
        ends = [int(end) for end in re.findall(r"\d+", part)]
        yield from range(ends[0], ends[-1] + 1)


def described_fields(text, names):
    """As schema's, of the tables below a paragraph or heading that begins with the message's name. A type that is
    not said is None."""
    found, message, is_table = {}, None, False
    begins = re.compile(rf"(?:#+ |\*\*)?({'|'.join(names)})\b")
    before = ""
    for line in text.splitlines():
        begun = begins.match(line) if before == "" or line.startswith("#") else None
        message = begun[1] if begun else message
        before = "" if line.startswith("#") else line.strip()
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        is_table = cells != [] and (is_table or cells[:3] == ["#", "field", "type"])
        if message and is_table and cells[0][0].isdigit():
            fields, kinds = cells[1].split(", "), cells[2].split(", ") if cells[2] else [None]
            kinds = kinds * len(fields) if len(kinds) == 1 else kinds
            for number, field, kind in zip(numbers(cells[0]), fields, kinds, strict=True):
                kind = kind and re.sub(r"\[.*\]", "[]", re.sub(r"^bytes\[.+\]", "bytes", kind))
                found.setdefault(message, {})[number] = (field, kind)
    return found


def check_wire(root):
    page, (messages, methods) = read(root, WIRE), schema(read(root, SCHEMA))
    described = described_fields(page, messages)
    for message, fields in messages.items():
        told = described.get(message, {})
        for number in sorted({*fields, *told}):
            field, kind = fields.get(number, (None, None))
            if number not in told:
                yield f"{WIRE}: {message}: field {number}, {field} ({kind}), is not described"
            elif number not in fields or told[number] not in ((field, kind), (field, None)):
                told_field, told_kind = told[number]
                yield (f"{WIRE}: {message}: field {number} is {told_field} ({told_kind}), "
                       f"in {SCHEMA} {f'{field} ({kind})' if field else 'there is none'}")
    table = {code: tuple(cell.strip() for cell in cells.split("|")[:3])
             for code, cells in re.findall(r"^\| (0x[0-9a-f]{4}) \|([^\n]*)\|$", page, re.M)}
    for code in sorted({*methods, *table}):
        if methods.get(code) != table.get(code):
            yield f"{WIRE}: method {code} is {table.get(code)}, in {SCHEMA} {methods.get(code)}"
    speaks = dict(re.findall(r"#define WIRE_PROTOCOL_(\w+) +(\d+)", read(root, "proto/wire_speaks.h")))
    sentences = [f"The protocol version is {speaks['VERSION']}.", f"bears one version ({speaks['VERSION']})",
                 f"({speaks['READ_MIN']} to {speaks['READ_MAX']})", f"requests bear version {speaks['HELLO']} in every release"]
    flat = re.sub(r"\s+", " ", page)
    for sentence in sentences:
        if sentence not in flat:
            yield f"{WIRE}: does not say \"{sentence}\", as proto/wire_speaks.h does"


def check_floors(root):
    page = read(root, "docs/internals/architecture.md")
    told = {folder: cell.strip() for folder, cell in re.findall(r"^\| \d+ \| `([\w/]+)/` \|([^|]*)\|", page, re.M)}
    yield from compare("folder", tidy.MAY_INCLUDE, told, "docs/internals/architecture.md")
    for folder, others in tidy.MAY_INCLUDE.items():
        if folder in told and set(told[folder].split(", ")) != set(others or [""]):
            yield f"docs/internals/architecture.md: {folder}/ may include {', '.join(others)} (tools/tidy.py)"


def check_limits(root):
    sentence = (f"a function has at most {tidy.FUNCTION_LINES_MAX} lines, a line {tidy.COLUMNS_MAX} columns. A `.c` file of more than "
                f"{tidy.FILE_LINES_MAX['.c']} lines or a header of more than {tidy.FILE_LINES_MAX['.h']} is remarked on")
    if sentence not in re.sub(r"\s+", " ", read(root, "CONTRIBUTING.md")):
        yield f"CONTRIBUTING.md: does not say \"{sentence}\", as tools/tidy.py does"


def check_linked(root):
    decisions = root / DECISIONS
    for path in sorted((root / "docs").rglob("*.md")):
        index = decisions if path.parent == decisions.parent and path != decisions else root / INDEX
        name = path.relative_to(index.parent).as_posix()
        if path != index and (not index.exists() or f"]({name})" not in index.read_text(encoding="utf-8")):
            yield f"{index.relative_to(root)}: no link to {name}"


def check_lengths(root):
    def words(paths):
        return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)
    docs = root / "docs"
    users = [path for path in docs.rglob("*.md") if path.relative_to(docs).parts[0] not in ("internals", "results")]
    counts = [(path.relative_to(root), words([path]), most) for name, most in WORDS_MAX.items() for path in sorted(root.glob(name))]
    for what, count, most in [*counts, ("the pages of docs/ for users", words(users), USER_WORDS_MAX)]:
        if count > most:
            yield f"{what}: {count} words, at most {most} are allowed"
    for table in re.findall(r"^(?:\|.*\n)+", read(root, "README.md"), re.M):
        rows = table.count("\n") - 2  # without the head and the line below it
        if rows > README_ROWS_MAX:
            yield f"README.md: a table of {rows} rows, at most {README_ROWS_MAX} are allowed"
    named = set(re.findall(r"\b[\w/]+\.[ch]\b", read(root, LIFE)))
    if len(named) > LIFE_FILES_MAX:
        yield f"{LIFE}: names {len(named)} files, at most {LIFE_FILES_MAX} are allowed"


def check_release(root):
    version = re.search(r"^  version: '(.*?)'", read(root, "meson.build"), re.M)[1]
    released = re.search(r"^## \[(\d.*?)\] - (\S+)$", read(root, "CHANGELOG.md"), re.M)
    cited = re.search(r"^version: (\S+)\ndate-released: (\S+)$", read(root, "CITATION.cff"), re.M)
    if released is None or released[1] != version:
        yield f"CHANGELOG.md: its newest heading of a release is not ## [{version}] - DATE, of the version in meson.build"
    elif cited is None or cited.groups() != released.groups():
        yield f"CITATION.cff: not version: {version} and date-released: {released[2]}, as in CHANGELOG.md"
    if (root / MANIFEST).exists() and f'newTag: "{version}"' not in read(root, MANIFEST):
        yield f"{MANIFEST}: its image is not of version {version}, which is in meson.build"


def check(root, pages):
    yield from check_commands(root)
    yield from check_algorithms(root)
    yield from check_environments(root)
    yield from check_presets(root, pages)
    yield from check_wire(root)
    yield from check_floors(root)
    yield from check_limits(root)
    yield from check_linked(root)
    yield from check_lengths(root)
    yield from check_release(root)
