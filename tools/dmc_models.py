#!/usr/bin/env python3
"""Writes the Control Suite's models, envs/dmc/models/*.xml, from their physical constants.

The constants (masses, inertias, frames, joint ranges, gears, contact parameters, names) are
dm_control's, read from compiled models into tests/data/dmc/model_parameters.json. The MJCF is our own:
inertias explicit, radians, what most elements share in one <default>, no textures. Colours, camera
and light are ours too and touch no number of the physics. Why: docs/internals/decisions/0012-own-models.md.

usage: dmc_models.py          writes the files
       dmc_models.py --check  compares them with what would be written (exit 1: they differ)
"""

import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARAMETERS = ROOT / "tests/data/dmc/model_parameters.json"
MODELS = ROOT / "envs/dmc/models"

JOINTS = {0: "free", 2: "slide", 3: "hinge"}
SHAPES = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}
SIZES = {"plane": 3, "sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
ACTUATED = {0: "joint", 3: "tendon"}
# mjtSensor -> element, and the kind of object that it is attached to.
SENSORS = {
    0: ("touch", "site"), 1: ("accelerometer", "site"), 2: ("velocimeter", "site"),
    3: ("gyro", "site"), 4: ("force", "site"), 5: ("torque", "site"), 8: ("jointpos", "joint"),
    9: ("jointvel", "joint"), 23: ("framepos", None), 25: ("framexaxis", None),
    26: ("frameyaxis", None), 33: ("subtreelinvel", "body"),
}
FRAMES = {1: "body", 2: "xbody", 5: "geom", 6: "site"}
NAMED = {1: "body", 2: "body", 5: "geom", 6: "site"}  # which list of names a frame is in

# What MuJoCo assumes where nothing is said.
SOLREF = [0.02, 1]
SOLIMP = [0.9, 0.95, 0.001, 0.5, 2]
UNSAID = {
    "geom": {"contype": 1, "conaffinity": 1, "condim": 3, "friction": [1, 0.005, 0.0001],
             "solref": SOLREF, "solimp": SOLIMP, "solmix": 1, "margin": 0, "gap": 0,
             "priority": 0, "pos": [0, 0, 0], "quat": [1, 0, 0, 0], "type": "sphere", "group": 0},
    "joint": {"pos": [0, 0, 0], "axis": [0, 0, 1], "stiffness": 0, "limited": "false",
              "range": [0, 0], "solreflimit": SOLREF, "solimplimit": SOLIMP, "margin": 0,
              "armature": 0, "damping": 0, "frictionloss": 0, "solreffriction": SOLREF,
              "solimpfriction": SOLIMP, "ref": 0, "springref": 0, "type": "hinge"},
    "site": {"pos": [0, 0, 0], "quat": [1, 0, 0, 0], "type": "sphere",
             "size": [0.005, 0.005, 0.005], "group": 0},
    "tendon": {"limited": "false", "range": [0, 0], "stiffness": 0, "damping": 0,
               "solreflimit": SOLREF, "solimplimit": SOLIMP},
    "general": {"gear": [1, 0, 0, 0, 0, 0], "gainprm": [1, 0, 0], "biastype": "none",
                "biasprm": [0, 0, 0], "ctrllimited": "false", "ctrlrange": [0, 0]},
}
# Attributes whose most frequent value goes into <default>.
SHARED = {
    "geom": ["type", "contype", "conaffinity", "condim", "friction", "solref", "solimp"],
    "joint": ["type", "axis", "pos", "limited", "solreflimit", "solimplimit", "armature",
              "damping", "stiffness"],
    "site": ["type", "size", "group"],
    "general": ["gear", "gainprm", "biasprm", "biastype", "ctrllimited", "ctrlrange"],
}

# Options, which the parameters do not include. size: rows of constraints, contacts, numbers of the stack.
# MuJoCo's own choice is 13 MB for each environment; these are twice what was seen in thousands of episodes from thrown and bent starts (humanoid 123,
# 31 and 3237, all others at most 71, 17 and 1104). More would be a warning: the episode fails.
FREE = dict(njmax=40, nconmax=1, nstack=4000)  # contacts are switched off
TOUCHING = dict(njmax=150, nconmax=40, nstack=4000)
HUMANOID = dict(njmax=250, nconmax=60, nstack=8000)
OPTIONS = {
    "cartpole": dict(size=FREE, flag={"contact": "disable"}),
    "cheetah": dict(size=TOUCHING),
    "walker": dict(size=TOUCHING),
    "hopper": dict(size=TOUCHING),
    "reacher": dict(size=FREE, flag={"contact": "disable"}),
    "finger": dict(size=TOUCHING, option={"cone": "elliptic", "iterations": 200},
                   flag={"gravity": "disable"}),
    "humanoid": dict(size=HUMANOID),
    "ball_in_cup": dict(size=TOUCHING),
    "pendulum": dict(size=FREE, flag={"contact": "disable"}),
    "acrobot": dict(size=FREE, flag={"constraint": "disable"}),
    "point_mass": dict(size=FREE, flag={"contact": "disable"}),
    "fish": dict(size=FREE, option={"density": 5000},
                 flag={"gravity": "disable", "constraint": "disable"}),
    "swimmer": dict(size=FREE, option={"density": 3000}, flag={"contact": "disable"}),
}

# Camera: where it stands and what it looks at; "follow": it keeps that offset to a body's centre.
CAMERAS = {
    "cartpole": dict(eye=(0, -3.8, 1.3), at=(0, 0, 1)),
    "cheetah": dict(eye=(0, -2.7, 0.5), at=(0, 0, 0), follow="torso"),
    "walker": dict(eye=(0.3, -3, 0.3), at=(0, 0, -0.35), follow="torso"),
    "hopper": dict(eye=(0.3, -2.8, 0.3), at=(0, 0, -0.3), follow="torso"),
    "reacher": dict(eye=(0, 0, 0.75), at=(0, 0, 0)),
    "finger": dict(eye=(0, -1, 0.6), at=(0, 0, 0.38)),
    "humanoid": dict(eye=(1.8, -2.3, 0.3), at=(0, 0, -0.4), follow="torso"),
    "ball_in_cup": dict(eye=(0, -1.1, 0.6), at=(0, 0, 0.38)),
    "pendulum": dict(eye=(0, -2, 0.8), at=(0, 0, 0.6)),
    "acrobot": dict(eye=(0, -6.4, 2.3), at=(0, 0, 2)),
    "point_mass": dict(eye=(0, 0, 0.75), at=(0, 0, 0)),
    "fish": dict(eye=(0.6, -0.4, 0.5), at=(0, 0.1, 0.1)),
    "swimmer": dict(eye=(0, 0, 2.4), at=(0, 0, 0), follow="head"),
}

# First pattern that a name matches: rgba.
COLOURS = [
    (r"^(floor|ground)$", "0.35 0.42 0.48 1"),
    (r"^target$", "0.9 0.3 0.25 0.6"),
    (r"^(wall|rail|base$|root$)|decoration", "0.35 0.32 0.3 1"),
    (r"^(tip|finger|fingertip|mass|ball|nose|mouth|lower_mouth)$", "0.85 0.35 0.2 1"),
    (r"^(eyes?)$", "0.15 0.15 0.15 1"),
    (r"^(left|b(thigh|shin|foot))", "0.55 0.45 0.6 1"),
    (r"^(cap1|cap2)$", "0.4 0.55 0.75 1"),
    (r"", "0.85 0.65 0.35 1"),
]
HIDDEN = 4  # a group of geoms and sites that is not drawn
HIDDEN_GEOMS = re.compile(r"^inertial|^torso_massive$")
SHOWN_SITES = re.compile(r"^(target|tip)$")


# --- from parameters to elements ------------------------------------------------------------


def normalised(v):
    """As MuJoCo's compiler does it, bit for bit."""
    total = 0.0
    for x in v:
        total += x * x
    length = math.sqrt(total)
    return [x / length for x in v]


def direction(v):
    """Returns numbers with few digits whose direction is v. The compiler normalises axes and quaternions. That may change
    the last bit of a normalised vector: then another length is written."""
    scales = [1, *(1 / abs(x) for x in v if abs(x) > 1e-3), *(1 + k / 1000 for k in range(2000))]
    for digits in (*range(8), 17):
        for scale in scales[:6] if digits < 17 else scales:
            tried = [round(x * scale, digits) if digits < 17 else x * scale for x in v]
            if any(tried) and normalised(tried) == list(v):
                return tried
    return v

def trimmed(values, unsaid):
    """Without the numbers at the end that are MuJoCo's own."""
    values = list(values)
    while len(values) > 1 and len(values) <= len(unsaid) and values[-1] == unsaid[len(values) - 1]:
        values.pop()
    return values


def colour(name):
    return next(rgba for pattern, rgba in COLOURS if re.search(pattern, name))


def geom(f, i):
    name, shape = f["names"]["geom"][i], SHAPES[f["geom_type"][i]]
    g = {"name": name, "type": shape, "size": f["geom_size"][i][:SIZES[shape]]}
    for key in ["pos", "quat", "contype", "conaffinity", "condim", "friction", "solref", "solimp",
                "solmix", "margin", "gap", "priority"]:
        g[key] = f["geom_" + key][i]
    g["quat"] = direction(g["quat"])
    if HIDDEN_GEOMS.search(name):
        g["group"] = HIDDEN
    g["rgba"] = colour(name)
    return g


def joint(f, i):
    kind, dof = JOINTS[f["jnt_type"][i]], f["jnt_dofadr"][i]
    j = {"name": f["names"]["joint"][i], "type": kind}
    for key, fact in [("pos", "pos"), ("axis", "axis"), ("limited", "limited"), ("range", "range"),
                      ("stiffness", "stiffness"), ("solreflimit", "solref"),
                      ("solimplimit", "solimp"), ("margin", "margin")]:
        j[key] = f["jnt_" + fact][i]
    j["axis"] = direction(j["axis"])
    j["limited"] = "true" if j["limited"] else "false"
    for key, fact in [("damping", "damping"), ("armature", "armature"),
                      ("frictionloss", "frictionloss"), ("solreffriction", "solref"),
                      ("solimpfriction", "solimp")]:
        j[key] = f["dof_" + fact][dof]
    if kind != "free":
        address = f["jnt_qposadr"][i]
        j["ref"], j["springref"] = f["qpos0"][address], f["qpos_spring"][address]
    return j


def site(f, i):
    name = f["names"]["site"][i]
    s = {"name": name, "type": SHAPES[f["site_type"][i]]}
    for key in ["size", "pos", "quat"]:
        s[key] = f["site_" + key][i]
    s["quat"] = direction(s["quat"])
    if SHOWN_SITES.search(name):
        s["rgba"] = colour(name)
    s["group"] = 0 if SHOWN_SITES.search(name) else HIDDEN
    return s


def actuator(f, i):
    kind = ACTUATED[f["actuator_trntype"][i]]
    a = {"name": f["names"]["actuator"][i], kind: f["names"][kind][f["actuator_trnid"][i][0]],
         "gear": f["actuator_gear"][i], "gainprm": f["actuator_gainprm"][i][:3],
         "biasprm": f["actuator_biasprm"][i][:3], "ctrlrange": f["actuator_ctrlrange"][i]}
    a["ctrllimited"] = "true" if f["actuator_ctrllimited"][i] else "false"
    a["biastype"] = "affine" if any(a["biasprm"]) else "none"
    return a


def sensor(f, i):
    element, target = SENSORS[f["sensor_type"][i]]
    s = {"name": f["names"]["sensor"][i]}
    kind, index = f["sensor_objtype"][i], f["sensor_objid"][i]
    if target:
        s[target] = f["names"][target][index]
    else:
        s["objtype"], s["objname"] = FRAMES[kind], f["names"][NAMED[kind]][index]
    return element, s


def tendon(f, i):
    t = {"name": f["names"]["tendon"][i]}
    for key, fact in [("limited", "limited"), ("range", "range"), ("stiffness", "stiffness"),
                      ("damping", "damping"), ("solreflimit", "solref_lim"),
                      ("solimplimit", "solimp_lim")]:
        t[key] = f["tendon_" + fact][i]
    t["limited"] = "true" if t["limited"] else "false"
    first = sum(f["tendon_num"][:i])
    path = []
    for k in range(first, first + f["tendon_num"][i]):
        which = f["wrap_objid"][k]
        if f["wrap_type"][k] == 3:
            path.append(("site", {"site": f["names"]["site"][which]}))
        else:
            path.append(("joint", {"joint": f["names"]["joint"][which],
                                   "coef": f["wrap_prm"][k]}))
    return "spatial" if path[0][0] == "site" else "fixed", t, path


def elements(f):
    """The parameters of one model as lists of elements; bodies contain their elements."""
    bodies = []
    for i, name in enumerate(f["names"]["body"]):
        frame = {"name": name, "pos": f["body_pos"][i], "quat": direction(f["body_quat"][i])}
        inertial = {"pos": f["body_ipos"][i], "quat": direction(f["body_iquat"][i]),
                    "mass": f["body_mass"][i], "diaginertia": f["body_inertia"][i]}
        of = lambda kind, make: [make(f, k) for k, body in enumerate(f.get(kind, [])) if body == i]
        bodies.append(dict(frame=frame, inertial=inertial, parent=f["body_parentid"][i],
                           joint=of("jnt_bodyid", joint), geom=of("geom_bodyid", geom),
                           site=of("site_bodyid", site)))
    return dict(bodies=bodies, timestep=f["timestep"], rk4=f["integrator"] == 1,
                general=[actuator(f, i) for i in range(f["nu"])],
                sensor=[sensor(f, i) for i in range(f["nsensor"])],
                tendon=[tendon(f, i) for i in range(f["ntendon"])])


def renamed(text, old, new):
    return re.sub(rf"_{old}$", f"_{new}", text)


def longer_swimmer(parameters, links):
    """The swimmer with another number of links: the last segment again and again, each joint
    limited to a turn divided by the links."""
    f = elements(parameters)
    last = len(f["bodies"]) - 3  # its number in names: the world and the head have none
    for n in range(last + 1, links - 1):
        body = json.loads(json.dumps(f["bodies"][-1]))
        body["parent"] = len(f["bodies"]) - 1
        for element in [body["frame"], *body["joint"], *body["geom"], *body["site"]]:
            element["name"] = renamed(element["name"], n - 1, n)
        f["bodies"].append(body)
        f["general"].append({k: renamed(v, n - 1, n) if isinstance(v, str) else v
                             for k, v in f["general"][-1].items()})
        f["sensor"] += [(kind, {k: renamed(v, n - 1, n) for k, v in s.items()})
                        for kind, s in f["sensor"][-2:]]
    for body in f["bodies"][2:]:
        body["joint"][0]["range"] = [-360 / links * (math.pi / 180), 360 / links * (math.pi / 180)]
    return f


# --- from elements to text --------------------------------------------------------------------


def number(x):
    text = repr(float(x))
    return "0" if float(x) == 0 else text[:-2] if text.endswith(".0") else text


def text_of(value):
    if isinstance(value, (list, tuple)):
        return " ".join(number(x) for x in value)
    return value if isinstance(value, str) else number(value)


def same(a, b):
    return text_of(a) == text_of(b)


def tag(depth, name, attributes, open_=False):
    body = "".join(f' {key}="{text_of(value)}"' for key, value in attributes.items())
    return f"{'  ' * depth}<{name}{body}{'' if open_ else '/'}>"


def most_frequent(values):
    return max(values, key=lambda v: sum(same(v, other) for other in values))


def defaults_of(kind, items):
    """What most of the elements say and MuJoCo does not assume."""
    out = {}
    for key in SHARED[kind]:
        value = most_frequent([item[key] for item in items]) if items else None
        if items and not same(value, UNSAID[kind][key]):
            out[key] = value
    return out


def written(kind, item, defaults):
    """An element without what goes without saying."""
    out = {}
    for key, value in item.items():
        unsaid = defaults.get(key, UNSAID[kind].get(key))
        told = key == "limited" and value == "false" and any(item["range"])  # a range asks
        if unsaid is not None and same(value, unsaid) and not told:
            continue
        if key.startswith("solimp") or key in ("gear", "gainprm"):
            value = trimmed(value, UNSAID[kind].get(key, SOLIMP)) if key not in defaults else value
        out[key] = value
    return out


def unit(v):
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def camera(model):
    """A camera looks along its negative z axis; x is to the right, y is up."""
    c = CAMERAS[model]
    back = unit([e - a for e, a in zip(c["eye"], c["at"])])
    up = [0, 1, 0] if abs(back[2]) > 0.99 else [0, 0, 1]
    right = unit(cross(up, back))
    axes = [round(x, 4) for x in right + cross(back, right)]
    out = {"name": "main", "pos": c["eye"], "xyaxes": axes}
    return {**out, "mode": "trackcom"} if "follow" in c else out


def light(model):
    out = {"name": "main", "directional": "true", "pos": [0, -1, 4], "dir": [0, 0.25, -1],
           "diffuse": [0.6, 0.6, 0.6], "specular": [0.1, 0.1, 0.1]}
    return {**out, "mode": "trackcom"} if "follow" in CAMERAS[model] else out


def body_lines(f, defaults, model, index, depth):
    body = f["bodies"][index]
    lines = []
    if index == 0:
        lines.append(tag(depth, "worldbody", {}, True))
    else:
        frame = {k: v for k, v in body["frame"].items()
                 if k == "name" or not same(v, UNSAID["geom"][k])}
        lines.append(tag(depth, "body", frame, True))
        inertial = dict(body["inertial"])
        if same(inertial["quat"], [1, 0, 0, 0]):
            del inertial["quat"]
        lines.append(tag(depth + 1, "inertial", inertial))
    follow = CAMERAS[model].get("follow", "world")
    if body["frame"]["name"] == follow:
        lines += [tag(depth + 1, "light", light(model)), tag(depth + 1, "camera", camera(model))]
    for kind in ["joint", "geom", "site"]:
        lines += [tag(depth + 1, kind, written(kind, item, defaults[kind]))
                  for item in body[kind]]
    for child, other in enumerate(f["bodies"]):
        if child > 0 and other["parent"] == index:
            lines += body_lines(f, defaults, model, child, depth + 1)
    return lines + [f"{'  ' * depth}</{'worldbody' if index == 0 else 'body'}>"]


def section(name, lines):
    return [f"  <{name}>", *lines, f"  </{name}>"] if lines else []


def tendon_lines(f):
    lines = []
    for kind, attributes, path in f["tendon"]:
        lines.append(tag(2, kind, {**written("tendon", attributes, {}),
                                   **({"rgba": "0.2 0.2 0.2 1"} if kind == "spatial" else {})},
                         True))
        lines += [tag(3, element, a) for element, a in path] + [f"    </{kind}>"]
    return lines


def mjcf(name, f):
    model = re.sub(r"\d+$", "", name)
    options = OPTIONS[model]
    held = {kind: [x for body in f["bodies"] for x in body[kind]]
            for kind in ["geom", "joint", "site"]}
    held["general"] = f["general"]
    defaults = {kind: defaults_of(kind, items) for kind, items in held.items()}
    step = {"timestep": f["timestep"], **({"integrator": "RK4"} if f["rk4"] else {}),
            **options.get("option", {})}
    lines = ["<!-- Written by tools/dmc_models.py. Octet's model with the physical constants of",
             f'     dm_control\'s "{model}" (DeepMind, Apache-2.0). -->',
             tag(0, "mujoco", {"model": name}, True),
             tag(1, "compiler", {"angle": "radian"}),
             tag(1, "size", options["size"])]
    if "flag" in options:
        lines += [tag(1, "option", step, True), tag(2, "flag", options["flag"]), "  </option>"]
    else:
        lines.append(tag(1, "option", step))
    lines += section("visual", [tag(2, "headlight", {"ambient": [0.3, 0.3, 0.3],
                                                     "diffuse": [0.45, 0.45, 0.45],
                                                     "specular": [0, 0, 0]})])
    lines += section("default", [tag(2, kind, d) for kind, d in defaults.items() if d])
    lines += body_lines(f, defaults, model, 0, 1)
    lines += section("tendon", tendon_lines(f))
    lines += section("actuator", [tag(2, "general", written("general", a, defaults["general"]))
                                  for a in f["general"]])
    lines += section("sensor", [tag(2, kind, s) for kind, s in f["sensor"]])
    return "\n".join([*lines, "</mujoco>", ""])


def main():
    parameters = json.loads(PARAMETERS.read_text())
    models = {name: elements(f) for name, f in parameters.items()}
    models["swimmer15"] = longer_swimmer(parameters["swimmer6"], 15)
    stale = []
    for name, f in models.items():
        path, text = MODELS / f"{name}.xml", mjcf(name, f)
        if sys.argv[1:] != ["--check"]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        print("not what tools/dmc_models.py writes:", *stale)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
