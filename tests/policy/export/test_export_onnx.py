#!/usr/bin/env python3
"""Runs every exported ONNX model and holds outputs and actions against those of policy_forward and
policy_act. Integer policies have to give the same bits.

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
ACTION_NONE = -2**31


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
    assert (model.inputs, model.outputs[:2]) == (["observation"], ["action", "outputs"])
    used = {name for node in model.nodes for name in node.inputs}
    assert set(model.constants) <= used, f"nobody uses {set(model.constants) - used}"
    assert model.notes["environment"] == "Test-v0" and model.notes["version"] == "7", model.notes
    return lambda observation: dict(zip(model.outputs, model.run(observation)))


def by_onnxruntime(path):
    import onnx
    import onnxruntime as runtime
    runtime.set_default_logger_severity(3)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda observation: dict(zip(names, session.run(None, {"observation": observation})))


def distribution_error(values, want, header):
    """How far the outputs for who samples are from what the policy's outputs say."""
    if "probabilities" in values:
        e = np.exp(want.astype(np.float64) - want.max(axis=1, keepdims=True))
        return np.abs(values["probabilities"] - e / e.sum(axis=1, keepdims=True)).max(axis=1)
    if "mean" not in values:
        return np.zeros(len(want))
    own = re.search(r"_d0\[\d+\] = {(.*?)}", header, re.DOTALL)
    if own:
        mean = want
        log_std = np.float32([float.fromhex(x.strip().rstrip("f")) for x in own[1].split(",")
                              if x.strip()])
    else:
        mean, log_std = np.split(want, 2, axis=1)
    size = np.maximum(np.abs(want).max(axis=1, keepdims=True), 1e-30)
    error = np.maximum(np.abs(values["mean"] - mean) / size,
                       np.abs(values["log_std"] - np.clip(log_std, -20, 2)) / np.maximum(size, 1))
    return error.max(axis=1)


def refuses(run, obs):
    """Whether every row with a number that is not finite is refused in all outputs, and no other row changes."""
    rows = obs[:3 * obs.shape[1]].copy()
    before = run(rows)
    changed = np.arange(0, len(rows), 2)
    for row in changed:
        rows[row, row % obs.shape[1]] = np.float32([np.nan, np.inf, -np.inf, -np.nan])[row // 2 % 4]
    after = run(rows)
    for name, values in after.items():
        refused = values[changed]
        if not (np.isnan(refused).all() if values.dtype == np.float32 else (refused == ACTION_NONE).all()):
            print(f"{name} of an observation that is not finite: {refused[0]}")
            return False
        kept = np.delete(values, changed, axis=0)
        if kept.tobytes() != np.delete(before[name], changed, axis=0).tobytes():
            print(f"{name} depends on the observations beside it")
            return False
    # The largest floats are finite.
    return before["action"].dtype == np.float32 or run(obs)["action"].min() >= 0


def check(line, folder, load):
    """Line: NAME PRECISION f32|u8, of the list of cases."""
    case, precision, obs_type = line.split()
    path = folder / f"{case}.onnx"
    run = load(path)
    header = (folder / f"{case}.h").read_text()
    count = int(re.search(r"_OBSERVATION_COUNT (\d+)", header)[1])
    obs = np.fromfile(folder / f"{case}.obs", np.uint8 if obs_type == "u8" else np.float32)
    obs = obs.reshape(-1, count)
    want = np.fromfile(folder / f"{case}.out", np.float32).reshape(len(obs), -1)
    values = run(obs)
    got, got_act = values["outputs"], values["action"]
    is_box = got_act.ndim == 2
    acts = np.fromfile(folder / f"{case}.act", np.float32 if is_box else np.int32)
    acts = acts.reshape(len(obs), -1) if is_box else acts
    assert len(obs) == ROWS and got.shape == want.shape and got_act.shape == acts.shape
    one = run(obs[:1])["outputs"]
    same_alone = np.abs(one - got[:1]).max() <= TOLERANCE * np.abs(want[0]).max()
    is_exact = precision in ("int8", "int4")
    # Sums of floats with the largest of them overflow or not, depending on their order.
    usable = np.isfinite(want).all(axis=1) & (is_exact | (np.abs(obs.astype(np.float32)).max(axis=1) < 1e30))
    size = np.maximum(np.abs(want).max(axis=1, keepdims=True), 1e-30)
    error = (np.abs(got - want) / size)[usable].max()
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    same = same.all(axis=1).mean()
    if is_box:
        span = np.abs(acts[usable]).max()  # an action near 0 is a difference of numbers as large as the bounds
        agree = ((np.abs(got_act - acts) / span)[usable] <= TOLERANCE).all(axis=1).mean()
    else:
        agree = (got_act == acts)[usable].mean()
    print(f"{case:<9} {usable.sum():5} rows  error {error:8.1e}  same bits {same:7.2%}  "
          f"actions {agree:7.2%}")
    is_known = (distribution_error(values, want, header)[usable] <= TOLERANCE).all()
    is_refusing = obs_type == "u8" or refuses(run, obs)
    return (is_refusing and is_known and error <= TOLERANCE and agree == 1.0 and usable.mean() > 0.98 and same_alone and
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
