"""ONNX models by numpy alone: reads the protobuf and computes the operations that exported policies
use, as ONNX's specification defines them. Where onnxruntime is not installed this still holds a
model against its policy; where it is, the two are independent of each other."""

import struct

import numpy as np

DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 7: np.int64, 10: np.float16, 16: "bfloat16"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a message: an integer, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "a message ends too early"
        else:
            value, at = struct.unpack_from("<I", data, at)[0], at + 4
        yield key >> 3, value


def every(data, number):
    return [value for n, value in fields(data) if n == number]


def text(data, number):
    return every(data, number)[0].decode()


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def tensor(data):
    dims = [signed(d) for d in every(data, 1)]
    dtype, raw = DTYPES[every(data, 2)[0]], every(data, 9)[0]
    if dtype == "bfloat16":  # numpy has none: the same numbers as singles
        halves = np.frombuffer(raw, np.uint16).astype(np.uint32) << 16
        return halves.view(np.float32).reshape(dims)
    return np.frombuffer(raw, dtype).reshape(dims)


class Node:
    def __init__(self, data):
        self.inputs = [value.decode() for value in every(data, 1)]
        self.outputs = [value.decode() for value in every(data, 2)]
        self.op = text(data, 4)
        self.attributes = {}
        for attribute in every(data, 5):
            ints = [signed(v) for v in every(attribute, 8)]
            self.attributes[text(attribute, 1)] = ints or signed(every(attribute, 3)[0])


class Model:
    def __init__(self, path):
        data = memoryview(path.read_bytes()).tobytes()
        graph = every(data, 7)[0]
        self.ir, self.opset = every(data, 1)[0], every(every(data, 8)[0], 2)[0]
        self.nodes = [Node(node) for node in every(graph, 1)]
        self.constants = {text(t, 8): tensor(t) for t in every(graph, 5)}
        self.inputs = [text(value, 1) for value in every(graph, 11)]
        self.outputs = [text(value, 1) for value in every(graph, 12)]
        self.notes = {text(entry, 1): text(entry, 2) for entry in every(data, 14)}

    def run(self, observation):
        values = {**self.constants, self.inputs[0]: observation}
        with np.errstate(all="ignore"):
            for node in self.nodes:
                out = compute(node, [values[name] for name in node.inputs])
                out = out if isinstance(out, list) else [out]
                for name, value in zip(node.outputs, out, strict=True):
                    assert name not in values, f"{name} is made twice"
                    values[name] = value
        return [values[name] for name in self.outputs]


def cast(x, to):
    dtype = DTYPES[to]
    return np.nan_to_num(x).astype(dtype) if dtype == np.int64 else x.astype(dtype)


def windows(x, attributes, fill):
    """[batch][channels][rows][columns][kernel rows][kernel columns] of the map, with fill around it."""
    pads, strides = attributes["pads"], attributes["strides"]
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])], constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, attributes["kernel_shape"], (2, 3))
    return views[:, :, ::strides[0], ::strides[1]]


def conv(attributes, x, w):
    """Channels first, as ONNX has them."""
    views = windows(x, attributes, 0)
    out = np.zeros((len(x), len(w), *views.shape[2:4]), x.dtype)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            out += np.einsum("bcyx,fc->bfyx", views[:, :, :, :, i, j], w[:, :, i, j])
    return out


def slice_of(x, starts, ends, axes, steps):
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


OPS = {
    "Abs": lambda _, x: np.abs(x),
    "Add": lambda _, a, b: a + b,
    "ArgMax": lambda a, x: np.argmax(x, a["axis"]),
    "Cast": lambda a, x: cast(x, a["to"]),
    "Clip": lambda _, x, low, high: np.minimum(np.maximum(x, low), high),
    "Conv": conv,
    "DequantizeLinear": lambda _, x, scale, zero:
        (x.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale,
    "Div": lambda _, a, b: a / b,
    "Expand": lambda _, x, shape: x * np.ones(shape, x.dtype),
    "Gather": lambda _, x, index: x[index],
    "Greater": lambda _, a, b: a > b,
    "Identity": lambda _, x: x,
    "IsNaN": lambda _, x: np.isnan(x),
    "Less": lambda _, a, b: a < b,
    "LessOrEqual": lambda _, a, b: a <= b,
    "MatMul": lambda _, a, b: a @ b,
    "Max": lambda _, a, b: np.maximum(a, b),
    "MaxPool": lambda a, x: windows(x, a, -np.inf).max((4, 5)),
    "Min": lambda _, a, b: np.minimum(a, b),
    "Mul": lambda _, a, b: a * b,
    "Neg": lambda _, x: -x,
    "Pad": lambda _, x, pads: np.pad(x, np.array(pads).reshape(2, -1).T),
    "ReduceMax": lambda a, x: np.max(x, tuple(a["axes"]), keepdims=bool(a["keepdims"])),
    "ReduceMin": lambda a, x: np.min(x, tuple(a["axes"]), keepdims=bool(a["keepdims"])),
    "ReduceSum": lambda a, x, axes: np.sum(x, tuple(axes), keepdims=bool(a["keepdims"])),
    "Relu": lambda _, x: np.maximum(x, np.float32(0)),
    "Reshape": lambda _, x, shape: x.reshape(shape),
    "Round": lambda _, x: np.rint(x),
    "Shape": lambda _, x: np.array(x.shape, np.int64),
    "Sign": lambda _, x: np.sign(x),
    "Slice": lambda _, *inputs: slice_of(*inputs),
    "Sqrt": lambda _, x: np.sqrt(x),
    "Sub": lambda _, a, b: a - b,
    "Transpose": lambda a, x: np.transpose(x, a["perm"]),
    "Where": lambda _, condition, a, b: np.where(condition, a, b),
}


def compute(node, inputs):
    if node.op == "Split":
        return np.split(inputs[0], len(node.outputs), node.attributes["axis"])
    return OPS[node.op](node.attributes, *inputs)
