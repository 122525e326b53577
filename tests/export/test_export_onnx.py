#!/usr/bin/env python3
"""Runs every exported ONNX model and holds outputs and actions against those of policy_forward and
policy_act. Integer policies have to give the same bits (onnxruntime: those without layer norm, as
its square root is not rounded as IEEE wants it).

usage: test_export_onnx.py numpy|onnxruntime CASES     CASES: the folder that export_cases wrote

numpy: onnx_numpy.py computes the model. onnxruntime: that does, and onnx checks the model. Those
two come from PyPI and are looked for in this interpreter, in $OCTET_TEST_PYTHON and in python3.
Exit code 77, with a line that says so: nobody has them."""

import os
import pathlib
import re
import subprocess
import sys

try:
    import numpy as np
    import onnx_numpy
except ImportError:  # another interpreter may have it
    np = None

# |ours - theirs| <= 1e-5 * the largest output of the row: outputs near zero are differences of
# large numbers.
TOLERANCE = 1e-5
ROWS = 2000


def with_onnxruntime():
    """Goes on in an interpreter that has what is needed, if there is one."""
    for python in [sys.executable, os.environ.get("OCTET_TEST_PYTHON"), "python3"]:
        found = python and subprocess.run([python, "-c", "import numpy, onnx, onnxruntime"],
                                          capture_output=True, check=False).returncode == 0
        if found and python == sys.executable:
            return
        if found and os.environ.get("OCTET_TEST_ONNX") != "1":
            os.environ["OCTET_TEST_ONNX"] = "1"
            os.execvp(python, [python, *sys.argv])
    print("SKIPPED: no python has onnx and onnxruntime (from PyPI; $OCTET_TEST_PYTHON names one)")
    sys.exit(77)


def by_numpy(path):
    model = onnx_numpy.Model(path)
    assert (model.ir, model.opset) == (8, 13)
    assert (model.inputs, model.outputs) == (["observation"], ["outputs", "action"])
    assert model.notes["environment"] == "Test-v0" and model.notes["version"] == "7", model.notes
    return model.run


def by_onnxruntime(path):
    import onnx
    import onnxruntime as runtime
    runtime.set_default_logger_severity(3)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda observation: session.run(None, {"observation": observation})


def check(line, folder, load):
    """Line: NAME PRECISION f32|u8 LAYER_NORM, of the list of cases."""
    case, precision, obs_type, has_norm = line.split()
    path = folder / f"{case}.onnx"
    run = load(path)
    header = (folder / f"{case}.h").read_text()
    count = int(re.search(r"_OBSERVATION_COUNT (\d+)", header)[1])
    obs = np.fromfile(folder / f"{case}.obs", np.uint8 if obs_type == "u8" else np.float32)
    obs = obs.reshape(-1, count)
    want = np.fromfile(folder / f"{case}.out", np.float32).reshape(len(obs), -1)
    got, got_act = run(obs)
    is_box = got_act.ndim == 2
    acts = np.fromfile(folder / f"{case}.act", np.float32 if is_box else np.int32)
    acts = acts.reshape(len(obs), -1) if is_box else acts
    assert len(obs) == ROWS and got.shape == want.shape and got_act.shape == acts.shape
    one, _ = run(obs[:1])
    same_alone = np.abs(one - got[:1]).max() <= TOLERANCE * np.abs(want[0]).max()
    # Rows with the largest floats overflow on the way, where an order of sums is all that matters.
    usable = np.isfinite(want).all(axis=1) & (np.abs(obs.astype(np.float32)).max(axis=1) < 1e30)
    size = np.maximum(np.abs(want).max(axis=1, keepdims=True), 1e-30)
    error = (np.abs(got - want) / size)[usable].max()
    same = (got.view(np.uint32) == want.view(np.uint32)).all(axis=1)[usable].mean()
    if is_box:
        span = np.maximum(np.abs(acts).max(axis=1, keepdims=True), 1e-30)
        agree = ((np.abs(got_act - acts) / span)[usable] <= TOLERANCE).all(axis=1).mean()
    else:
        agree = (got_act == acts)[usable].mean()
    print(f"{case:<9} {usable.sum():5} rows  error {error:8.1e}  same bits {same:7.2%}  "
          f"actions {agree:7.2%}")
    is_exact = precision in ("int8", "int4") and (load is by_numpy or has_norm == "0")
    return (error <= TOLERANCE and agree == 1.0 and usable.mean() > 0.98 and same_alone and
            (same == 1.0 or not is_exact))


def main(way, folder):
    if way == "onnxruntime":
        with_onnxruntime()
    elif np is None:
        print("SKIPPED: numpy is not installed (script/setup test installs it)")
        return 77
    folder = pathlib.Path(folder)
    load = {"numpy": by_numpy, "onnxruntime": by_onnxruntime}[way]
    lines = (folder / "cases.txt").read_text().splitlines()
    good = [check(line, folder, load) for line in lines]
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
