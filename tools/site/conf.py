"""Sphinx's configuration of the documentation as a site (script/docs). Its pages are those of docs/, in the order of
docs/index.md. Reading them loads nothing over a network."""

import html
import pathlib
import posixpath
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)\)")

project = "Octet"
version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
extensions = ["myst_parser"]
suppress_warnings = ["myst.header", "toc.not_included"]
highlight_language = "none"
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"Octet {version}"
html_static_path = ["static"]
html_css_files = ["octet.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False


def tables_of_contents(index):
    """The headings and links of docs/index.md."""
    for heading, body in re.findall(r"^## (.*)\n((?:(?!^## ).*\n?)*)", index, re.M):
        pages = re.findall(r"^- \[[^\]]*\]\(([\w/-]+)\.md\)", body, re.M)
        if pages:
            yield "\n".join(["", "```{toctree}", ":hidden:", f":caption: {heading}", *pages, "```", ""])


def path_of(name, link):
    """The path in the repository to which a page links; None where that is an address, nothing, or a file below docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(name), link))
    is_page = path.startswith("docs/") and (ROOT / path).is_file()
    return None if ":" in link or is_page or not (ROOT / path).exists() else path


def on_source(_, name, source):
    """A link that leaves docs/ leads to a copy of the file, as plain text. Folders have no page: their links become text."""
    def replaced(found):
        text, path = found[1], path_of(name, found[2])
        if path is None:
            return found[0]
        if (ROOT / path).is_dir():
            return text
        address = posixpath.relpath(f"/files/{path}.txt", f"/{posixpath.dirname(name)}")
        return f'<a href="{html.escape(address)}">{text}</a>'

    source[0] = LINK.sub(replaced, source[0])
    if name == "index":
        source[0] += "".join(tables_of_contents(source[0]))


def on_finish(app, failure):
    """Copies the files to which pages link."""
    for name in [] if failure else app.env.found_docs:
        for _, link in LINK.findall(pathlib.Path(app.env.doc2path(name)).read_text(encoding="utf-8")):
            path = path_of(name, link)
            if path is not None and (ROOT / path).is_file():
                target = pathlib.Path(app.outdir, "files", f"{path}.txt")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, target)


def setup(app):
    app.connect("source-read", on_source)
    app.connect("build-finished", on_finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
