#!/usr/bin/env python3
"""Runs every exported ONNX model with onnxruntime and holds outputs and actions against those of
policy_forward and policy_act.

usage: test_export_onnx.py CASES     CASES: the folder that export_cases wrote

onnx and onnxruntime come from PyPI. They are looked for in this interpreter, in
$OCTET_TEST_PYTHON and in python3. Exit code 77, with a line that says so: nobody has them."""

import os
import pathlib
import subprocess
import sys

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


def check(case, folder, np, onnx, runtime):
    path = str(folder / f"{case}.onnx")
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    outputs, action = session.get_outputs()
    assert (entry.name, outputs.name, action.name) == ("observation", "outputs", "action")
    dtype = np.uint8 if "uint8" in entry.type else np.float32
    obs = np.fromfile(folder / f"{case}.obs", dtype).reshape(-1, entry.shape[1])
    want = np.fromfile(folder / f"{case}.out", np.float32).reshape(len(obs), -1)
    is_box = len(action.shape) == 2
    acts = np.fromfile(folder / f"{case}.act", np.float32 if is_box else np.int32)
    acts = acts.reshape(want.shape[0], -1) if is_box else acts
    assert len(obs) == ROWS, f"{case}: {len(obs)} rows"
    # Rows with the largest float overflow in a policy of floats, where no order is exact.
    usable = np.isfinite(want).all(axis=1) & (np.abs(obs.astype(np.float32)).max(axis=1) < 1e30)
    got, got_act = session.run(None, {"observation": obs})
    one, _ = session.run(None, {"observation": obs[:1]})
    assert np.array_equal(one, got[:1]), f"{case}: a batch of one gives other numbers"
    size = np.maximum(np.abs(want).max(axis=1, keepdims=True), 1e-30)
    error = (np.abs(got - want) / size)[usable].max()
    same_bits = (got.view(np.uint32) == want.view(np.uint32)).all(axis=1)[usable].mean()
    if is_box:
        span = np.maximum(np.abs(acts).max(axis=1, keepdims=True), 1e-30)
        agree = ((np.abs(got_act - acts) / span)[usable] <= TOLERANCE).all(axis=1).mean()
    else:
        agree = (got_act == acts)[usable].mean()
    print(f"{case:<9} {usable.sum():5} rows  error {error:8.1e}  same bits {same_bits:7.2%}  "
          f"actions {agree:7.2%}")
    return error <= TOLERANCE and agree == 1.0 and usable.mean() > 0.98


def main(folder):
    import numpy as np
    import onnx
    import onnxruntime as runtime
    runtime.set_default_logger_severity(3)
    print(f"onnxruntime {runtime.__version__}, onnx {onnx.__version__}")
    folder = pathlib.Path(folder)
    cases = [line.split()[0] for line in (folder / "sizes.txt").read_text().splitlines()]
    good = [check(case, folder, np, onnx, runtime) for case in cases]
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    with_onnxruntime()
    sys.exit(main(sys.argv[1]))
