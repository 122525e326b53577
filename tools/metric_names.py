"""Names of Prometheus metrics: written by the sources, in docs/reference.md, in the rules and the dashboard.
Used by tools/check_docs.py and tests/e2e/e2e_metrics.py."""

import json
import re

NAME = re.compile(r"\b(?:octet|process)_[a-z0-9_]+\b")
PAGE = "docs/reference.md"


def in_sources(root, folders):
    """{name: kind} of every family that the C sources write by a call (registries say theirs: tools/reference.py)."""
    found = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*.c")):
            text = path.read_text(encoding="utf-8")
            for kind, name in re.findall(r'\boct_prometheus_begin\(\s*text,\s*OCT_PROMETHEUS_(\w+),\s*"(\w+)"', text):
                found[name] = kind.lower()
    return found


def documented(root):
    """{name: kind} of every metric in the first cells of the tables. A name that ends in _total is a counter's."""
    found = {}
    for line in (root / PAGE).read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            for name in re.findall(r"`((?:octet|process)_\w+)(?:\{[^`]*\})?`", line.split("|")[1]):
                found[name] = "counter" if name.endswith("_total") else "gauge"
    return found


def used(root):
    """Every name in the expressions of the alert rules and of the dashboard."""
    text = "".join(path.read_text(encoding="utf-8") for path in (root / "deploy/prometheus").glob("*.rules.yaml"))
    text = re.sub(r"#.*", "", text)
    board = json.loads((root / "deploy/grafana/octet.json").read_text(encoding="utf-8"))
    text += "\n".join(target["expr"] for panel in board["panels"] for target in panel.get("targets", []))
    text = re.sub(r'"octet[^"]*"', "", text)  # values of labels
    return set(NAME.findall(text))
