"""What `kubectl kustomize FOLDER` makes, for the features that deploy/kubernetes uses: resources, namespace, images, and JSON
patches by kind and a regular expression of names. Anything else is refused, so that nothing is left out quietly."""

import copy
import pathlib
import re

import yaml

KEYS = {"apiVersion", "kind", "resources", "namespace", "images", "patches"}
CLUSTER_WIDE = {"Namespace"}


def documents(text):
    return [one for one in yaml.safe_load_all(text) if one]


def build(folder):
    """The documents of a folder with a kustomization.yaml."""
    folder = pathlib.Path(folder)
    plan = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    assert set(plan) <= KEYS, f"{folder}: {set(plan) - KEYS} is not known here"
    found = []
    for name in plan.get("resources", []):
        path = folder / name
        found += build(path) if path.is_dir() else documents(path.read_text(encoding="utf-8"))
    for one in plan.get("patches", []):
        assert set(one) == {"target", "patch"} and set(one["target"]) <= {"kind", "name"}, f"{folder}: {one}"
        hit = [d for d in found if is_target(d, one["target"])]
        assert hit, f"{folder}: nothing is {one['target']}"
        for document in hit:
            for operation in yaml.safe_load(one["patch"]):
                apply(document, operation)
    for one in plan.get("images", []):
        for document in found:
            images(document, one)
    if "namespace" in plan:
        for document in found:
            if document["kind"] not in CLUSTER_WIDE:
                document["metadata"]["namespace"] = plan["namespace"]
    return found


def is_target(document, target):
    return target.get("kind") in (None, document["kind"]) and re.fullmatch(target.get("name", ".*"), document["metadata"]["name"])


def apply(document, operation):
    """add, replace or remove of RFC 6902; a name that is not there yet is only for add."""
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].lstrip("/").split("/")]
    at = document
    for part in way:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if isinstance(at, list):
        last = len(at) if last == "-" else int(last)
    op = operation["op"]
    if op == "add" and isinstance(at, list):
        at.insert(last, copy.deepcopy(operation["value"]))
    elif op in ("add", "replace"):
        assert op == "add" or (last in at if isinstance(at, dict) else last < len(at)), operation
        at[last] = copy.deepcopy(operation["value"])
    else:
        assert op == "remove", operation
        del at[last]


def images(value, change):
    if isinstance(value, dict):
        if value.get("image") == change["name"]:
            value["image"] = f"{change['newName']}:{change['newTag']}"
        for one in value.values():
            images(one, change)
    elif isinstance(value, list):
        for one in value:
            images(one, change)
