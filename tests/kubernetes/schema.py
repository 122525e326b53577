"""Strict checks of Kubernetes manifests without a cluster, by the models of the API that the package kubernetes (PyPI)
holds: unknown kinds and fields, wrong types, missing fields, quantities, names; and what refers to what.

A manifest is a dict as PyYAML loads it. check(documents) gives a list of complaints.
"""

import re

from kubernetes.client import models

QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# Maps of quantities, and single ones.
QUANTITY_MAPS = re.compile(r"\.(limits|requests|capacity)$")
QUANTITY_FIELDS = re.compile(r"\.(sizeLimit|averageValue)$")
# In the models these are of type object: a number, or text.
NUMBER_OR_NAME = re.compile(r"\.(port|targetPort|maxUnavailable|minAvailable|maxSurge)$")
SCALARS = {"str": str, "int": int, "float": (int, float), "bool": bool}


def walk(value, kind, at, found):
    """Adds to found what is wrong with value, of the model's type kind ("List[V1Container]", "Dict[str, str]", "int")."""
    inner = re.fullmatch(r"List\[(.*)\]", kind)
    if inner:
        if not isinstance(value, list):
            found.append(f"{at}: a list is needed")
            return
        for i, one in enumerate(value):
            walk(one, inner[1], f"{at}[{i}]", found)
        return
    inner = re.fullmatch(r"Dict\[str, (.*)\]", kind)
    if inner:
        if not isinstance(value, dict):
            found.append(f"{at}: a map is needed")
            return
        for key, one in value.items():
            if not isinstance(key, str):
                found.append(f"{at}: the key {key!r} is no text")
            elif QUANTITY_MAPS.search(at):
                quantity(one, f"{at}.{key}", found)
            else:
                walk(one, inner[1], f"{at}.{key}", found)
        return
    if kind in SCALARS or kind in ("object", "datetime", "bytes"):
        scalar(value, kind, at, found)
        return
    model(value, getattr(models, kind), kind, at, found)


def scalar(value, kind, at, found):
    want = SCALARS.get(kind, object)
    if value is None or not isinstance(value, want) or (kind in ("int", "float") and isinstance(value, bool)):
        found.append(f"{at}: {kind} is needed, there is {value!r}")
    elif QUANTITY_FIELDS.search(at):
        quantity(value, at, found)
    elif NUMBER_OR_NAME.search(at) and (isinstance(value, bool) or not isinstance(value, (int, str))):
        found.append(f"{at}: a number or a name is needed, there is {value!r}")


def quantity(value, at, found):
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or not QUANTITY.fullmatch(str(value)):
        found.append(f"{at}: bad quantity {value!r}")


def model(value, cls, kind, at, found):
    if not isinstance(value, dict):
        found.append(f"{at}: {kind} is needed, there is {value!r}")
        return
    attributes = {json: attribute for attribute, json in cls.attribute_map.items()}
    for key, one in value.items():
        if key not in attributes:
            found.append(f"{at}.{key}: unknown field of {kind}")
        else:
            walk(one, cls.openapi_types[attributes[key]], f"{at}.{key}", found)
    for json, attribute in attributes.items():
        if json not in value and cls.model_fields[attribute].is_required():
            found.append(f"{at}.{json}: is required")


def class_of(document):
    group, _, version = str(document.get("apiVersion", "")).rpartition("/")
    name = version[:1].upper() + version[1:] + str(document.get("kind", ""))
    # Two groups may have a kind of one name; the models then begin with the group's.
    groups = {"": ["v1"], "apps": ["v1"], "batch": ["v1"], "autoscaling": ["v2"], "policy": ["v1"], "networking.k8s.io": ["v1"]}
    known = version in groups.get(group, []) and re.fullmatch(r"[A-Z][A-Za-z]+", str(document.get("kind", "")))
    return getattr(models, name, None) if known else None


def name_of(document):
    return f"{document.get('kind')}/{document.get('metadata', {}).get('name')}"


def names(document, found):
    """Names are DNS labels (of a Service they must be, the others are kept as short), labels have their alphabet."""
    at, meta = name_of(document), document.get("metadata", {})
    for key in ("name", "namespace"):
        if key in meta and not LABEL.fullmatch(str(meta[key])):
            found.append(f"{at}.metadata.{key}: {meta[key]!r} is no DNS label")
    if "name" not in meta:
        found.append(f"{at}.metadata.name: is required")

    def labels(value, at):
        if isinstance(value, dict):
            for key, one in value.items():
                if key in ("labels", "matchLabels", "selector") and isinstance(one, dict):
                    for label, text in one.items():
                        if isinstance(text, str) and not (KEY.fullmatch(label) and VALUE.fullmatch(text)):
                            found.append(f"{at}.{key}: {label}={text!r} is no label")
                labels(one, f"{at}.{key}")
        elif isinstance(value, list):
            for one in value:
                labels(one, at)
    labels(document, at)


def pods(documents):
    """(name, labels, pod spec, namespace) of all that makes pods."""
    for one in documents:
        template = one.get("spec", {}).get("template") if one.get("kind") in ("Job", "StatefulSet", "Deployment") else None
        if template:
            yield name_of(one), template["metadata"]["labels"], template["spec"], one["metadata"].get("namespace")


def fits(selector, labels):
    return all(labels.get(key) == value for key, value in selector.items())


def references(documents, found, secrets_given=()):
    """What an object names is there: selectors have pods, ports have names, volumes have sources, the scaled thing is."""
    every = list(pods(documents))
    there = {(d["kind"], d["metadata"]["name"]) for d in documents}
    if len(there) != len(documents):
        found.append("two objects of one kind have one name")
    for name, _, spec, _ in every:
        volumes = {v["name"]: v for v in spec.get("volumes", [])}
        kind, _, own = name.partition("/")
        claims = next(d for d in documents if name_of(d) == name)["spec"].get("volumeClaimTemplates", [])
        mounted = set(volumes) | {c["metadata"]["name"] for c in claims}
        for container in spec["containers"]:
            used = {m["name"] for m in container.get("volumeMounts", [])}
            found += [f"{name}: no volume {v}" for v in used - mounted] + [f"{name}: nothing mounts {v}" for v in mounted - used]
        for volume in volumes.values():
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            config = volume.get("configMap", {}).get("name")
            secret = volume.get("secret", {}).get("secretName")
            if claim and ("PersistentVolumeClaim", claim) not in there:
                found.append(f"{name}: no claim {claim}")
            if config and ("ConfigMap", config) not in there:
                found.append(f"{name}: no ConfigMap {config}")
            if secret and ("Secret", secret) not in there and secret not in secrets_given:
                found.append(f"{name}: no Secret {secret}")
        if kind == "StatefulSet":
            service = next(d for d in documents if name_of(d) == name)["spec"]["serviceName"]
            if ("Service", service) not in there:
                found.append(f"{name}: no Service {service}")
    for one in documents:
        at, spec = name_of(one), one.get("spec", {})
        selector = None
        if one["kind"] == "Service":
            selector = spec["selector"]
        elif one["kind"] in ("PodDisruptionBudget", "StatefulSet", "Deployment"):
            selector = spec["selector"]["matchLabels"]
        elif one["kind"] == "HorizontalPodAutoscaler":
            targets = [spec["scaleTargetRef"]] + [m["object"]["describedObject"] for m in spec["metrics"]]
            found += [f"{at}: no {t['kind']}/{t['name']}" for t in targets if (t["kind"], t["name"]) not in there]
        if selector is None:
            continue
        chosen = [(n, s) for n, labels, s, _ in every if fits(selector, labels)]
        if len(chosen) != 1:
            found.append(f"{at}: selects {[n for n, _ in chosen]}, one is meant")
        elif one["kind"] == "Service":
            ports = {p["name"]: p["containerPort"] for c in chosen[0][1]["containers"] for p in c["ports"]}
            found += [f"{at}: no port {p['targetPort']} at {p['port']}" for p in spec["ports"] if ports.get(p["targetPort"]) != p["port"]]


def check(documents, secrets_given=()):
    found = []
    for one in documents:
        cls = class_of(one)
        if cls is None:
            found.append(f"unknown kind {one.get('apiVersion')} {one.get('kind')}")
            continue
        model(one, cls, cls.__name__, name_of(one), found)
        names(one, found)
    if not found:
        references(documents, found, secrets_given)
    return found
