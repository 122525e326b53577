#!/usr/bin/env python3
"""Writes examples/robot/pole.onnx: a network that balances CartPole-v1, trained by examples/python/dqn_numpy.py, as an
ONNX model of three Gemm nodes in the names that PyTorch's exporter uses.

usage: make_example_onnx.py OUT.onnx [SEED]        needs the octet package and onnx"""

import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples/python"))
import dqn_numpy  # noqa: E402


def model_of(layers):
    nodes, constants, name = [], [], "observation"
    for i, (weight, bias) in enumerate(layers):
        is_last = i + 1 == len(layers)
        out = "values" if is_last else f"/{2 * i}/Gemm_output_0"
        constants += [numpy_helper.from_array(np.ascontiguousarray(weight), f"{2 * i}.weight"),
                      numpy_helper.from_array(np.ascontiguousarray(bias), f"{2 * i}.bias")]
        nodes.append(helper.make_node("Gemm", [name, f"{2 * i}.weight", f"{2 * i}.bias"], [out], f"/{2 * i}/Gemm", transB=1))
        name = out
        if not is_last:
            name = f"/{2 * i + 1}/Relu_output_0"
            nodes.append(helper.make_node("Relu", [out], [name], f"/{2 * i + 1}/Relu"))
    graph = helper.make_graph(nodes, "pole", [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["batch", 4])],
                              [helper.make_tensor_value_info("values", TensorProto.FLOAT, ["batch", 2])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main(out, seed="1"):
    with tempfile.TemporaryDirectory() as folder:
        network = dqn_numpy.main(f"{folder}/run", seed)
    model = model_of(network.layers)
    onnx.checker.check_model(model)
    onnx.save(model, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
