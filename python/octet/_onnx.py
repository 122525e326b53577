"""Writes the part of ONNX that `octet import` reads: a chain of operations with constants. Private.

Messages are protocol buffers: fields with a number and a kind, varints or bytes. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FLOAT, _UINT8, _INT64 = 1, 2, 7            # TensorProto.DataType
_INT, _FLOAT_ATTRIBUTE, _STRING, _INTS = 2, 1, 3, 7     # AttributeProto.AttributeType
_OPSET, _IR = 24, 11        # the first with Swish

# The activations of policies by their numbers: operation, attributes, and constants behind its input.
ACTIVATIONS: dict[str, tuple[str, dict[str, Any], tuple[float, ...]]] = {
    "linear": ("Identity", {}, ()),
    "relu": ("Relu", {}, ()),
    "tanh": ("Tanh", {}, ()),
    "elu": ("Elu", {}, ()),
    "silu": ("Swish", {}, ()),
    "gelu": ("Gelu", {}, ()),
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}, ()),
    "sigmoid": ("Sigmoid", {}, ()),
    "softplus": ("Softplus", {}, ()),
    "mish": ("Mish", {}, ()),
    "leaky_relu": ("LeakyRelu", {}, ()),
    "relu6": ("Clip", {}, (0.0, 6.0)),
    "hard_swish": ("HardSwish", {}, ()),
}


def activation_of(kind: str) -> str | None:
    """Returns the activation that a class of torch.nn computes unless its arguments say otherwise."""
    return {name.replace("_", ""): name for name in ACTIVATIONS if name != "linear"}.get(kind.lower())


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= 2**64 - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _attribute(name: str, value: int | float | str | list[int]) -> bytes:
    if isinstance(value, float):
        with np.errstate(over="ignore"):  # octet import refuses what is infinite
            body = _varint(2 << 3 | 5) + np.array(value, "<f4").tobytes() + _number(20, _FLOAT_ATTRIBUTE)
    elif isinstance(value, int):
        body = _number(3, value) + _number(20, _INT)
    elif isinstance(value, str):
        body = _bytes(4, value) + _number(20, _STRING)
    else:
        body = b"".join(_number(8, item) for item in value) + _number(20, _INTS)
    return _bytes(1, name) + body


def _port(name: str, kind: int, shape: tuple[int, ...] | None) -> bytes:
    """Encodes an input or an output: [batch, *shape]."""
    tensor = _number(1, kind)
    if shape is not None:
        dims = _bytes(1, _bytes(2, "batch")) + b"".join(_bytes(1, _number(1, dim)) for dim in shape)
        tensor += _bytes(2, dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor))


class Model:
    """A chain of operations; each call returns the name of its result."""

    def __init__(self, shape: tuple[int, ...], uint8: bool = False) -> None:
        self._input = _port("observation", _UINT8 if uint8 else _FLOAT, shape)
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._outputs: list[bytes] = []
        self._names = 0

    def constant(self, values: Any, name: str | None = None) -> str:
        array: NDArray[Any] = np.asarray(values)
        whole = array.dtype.kind in "iu"
        data = np.ascontiguousarray(array, "<i8" if whole else "<f4")
        self._names += 1
        name = name or f"constant_{self._names}"
        dims = b"".join(_number(1, dim) for dim in data.shape)
        self._tensors.append(dims + _number(2, _INT64 if whole else _FLOAT) + _bytes(8, name) +
                             _bytes(9, data.tobytes()))
        return name

    def add(self, operation: str, *inputs: str, label: str = "", output: str | None = None,
            **attributes: int | float | str | list[int]) -> str:
        """Adds an operation. label is the name of the operation in error messages."""
        self._names += 1
        output = output or f"value_{self._names}"
        self._nodes.append(b"".join(_bytes(1, name) for name in inputs) + _bytes(2, output) +
                           _bytes(3, label or output) + _bytes(4, operation) +
                           b"".join(_bytes(5, _attribute(key, value)) for key, value in attributes.items()))
        return output

    def activate(self, name: str, value: str, label: str, **attributes: Any) -> str:
        """Adds an activation of a value. attributes are those of the operation."""
        operation, usual, constants = ACTIVATIONS[name]
        inputs = [self.constant(np.float32(one)) for one in constants]
        return self.add(operation, value, *inputs, label=label, **{**usual, **attributes})

    def output(self, name: str) -> None:
        self._outputs.append(_port(name, _FLOAT, None))

    def encode(self) -> bytes:
        graph = (b"".join(_bytes(1, node) for node in self._nodes) + _bytes(2, "policy") +
                 b"".join(_bytes(5, tensor) for tensor in self._tensors) + _bytes(11, self._input) +
                 b"".join(_bytes(12, output) for output in self._outputs))
        return _number(1, _IR) + _bytes(2, "octet.import_policy") + _bytes(7, graph) + _bytes(8, _number(2, _OPSET))
