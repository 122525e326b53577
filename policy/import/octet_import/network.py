"""A network that is read from a file, as an ONNX model and options for `octet import`."""

import math
import re

import numpy as np
from _onnx import ACTIVATIONS, Model
from inert_pickle import Fault, array


def floats(label, value, rank=None):
    """Returns numbers as float64, with a check of their rank."""
    numbers = array(label, value)
    if rank is not None and numbers.ndim != rank:
        raise Fault(f"{label}: an array of shape {numbers.shape}; expected {rank} dimension{'s' * (rank != 1)}")
    return np.asarray(numbers, np.float64)


class Network:
    """A chain of layers, and what the file says about actions. Weights are (outputs, inputs)."""

    def __init__(self, shape, is_bytes=False):
        self.model, self.at, self.shape, self.width = Model(shape, is_bytes), "observation", shape, math.prod(shape)
        if len(shape) != 1 and not is_bytes:  # bytes are divided first
            self.add("Flatten", axis=1)
        self.head = None         # values or logits
        self.actions = None      # of discrete actions
        self.bounds = None       # (low, high)
        self.unit_actions = self.has_log_std = False
        self.is_agent = False    # of Stable-Baselines3
        self.output = "actions"  # octet import takes an output of this name for those of a box
        self.notes = []

    def add(self, operation, *constants, label="", **attributes):
        """Adds an operation with constants behind its input."""
        names = [self.model.constant(np.asarray(one, np.float32)) for one in constants]
        self.at = self.model.add(operation, self.at, *names, label=label, **attributes)

    def dense(self, label, weight, bias):
        matrix = floats(f"{label}.weight", weight, 2)
        offset = None if bias is None else floats(f"{label}.bias", bias, 1)
        if offset is not None and offset.shape != matrix.shape[:1]:
            raise Fault(f"{label}.bias: an array of shape {offset.shape}; expected ({matrix.shape[0]},)")
        if matrix.shape[1] != self.width:
            raise Fault(f"{label} reads {matrix.shape[1]} numbers, but gets {self.width}")
        self.add("Gemm", matrix, *([] if offset is None else [offset]), label=label, transB=1)
        self.width = matrix.shape[0]

    def conv(self, label, weight, bias, stride):
        """Adds a convolution without padding over the map of self.shape, which is (channels, rows, columns)."""
        filters, offset = floats(f"{label}.weight", weight, 4), floats(f"{label}.bias", bias, 1)
        channels, *sizes = self.shape
        if filters.shape[1] != channels or offset.shape != filters.shape[:1]:
            raise Fault(f"{label}: filters of shape {filters.shape} with {offset.size} biases, but its map has {channels} channels")
        if any(size < kernel for size, kernel in zip(sizes, filters.shape[2:], strict=True)):
            raise Fault(f"{label}: a kernel of {filters.shape[2]} x {filters.shape[3]}, but its map has {sizes[0]} x {sizes[1]} cells")
        self.add("Conv", filters, offset, label=label, kernel_shape=list(filters.shape[2:]), strides=[stride, stride])
        self.shape = filters.shape[0], *((size - kernel) // stride + 1 for size, kernel in zip(sizes, filters.shape[2:], strict=True))
        self.width = math.prod(self.shape)

    def activate(self, name, label=""):
        if name not in ACTIVATIONS:
            raise Fault(f"activation {name}; policies have {', '.join(ACTIVATIONS)}")
        self.at = self.model.activate(name, self.at, label)

    def normalise(self, mean, deviation):
        """Adds a normaliser that the file contains."""
        if mean.size != self.width or deviation.size != self.width:
            raise Fault(f"its normaliser is for {mean.size} numbers, but an observation has {self.width}")
        self.add("Sub", mean, label="normaliser.mean")
        self.add("Div", deviation, label="normaliser.deviation")

    def log_std(self, label, value):
        """Sets constant log deviations."""
        self.model.constant(np.asarray(floats(label, value).ravel(), np.float32), "log_std")
        self.has_log_std = True

    def encode(self):
        self.add("Identity")
        self.model.add("Identity", self.at, output=self.output)
        self.model.output(self.output)
        return self.model.encode()

    def options(self):
        """Yields the options of octet import as (name, value)."""
        yield "output", self.output
        if self.head is not None:
            yield "head", self.head
        if self.actions is not None:
            yield "actions", self.actions
        if self.bounds is not None:
            yield "bounds", ",".join(f"{low:.9g}:{high:.9g}" for low, high in zip(*self.bounds, strict=True))
        if self.unit_actions:
            yield "unit-actions", ""
        if self.has_log_std:
            yield "log-std", "log_std"
        for note in self.notes:
            yield "note", note


def layers_of(state, prefix, gaps=False):
    """Returns the dense layers PREFIX0, PREFIX2, PREFIX4 … of a state as (name, weight, bias): between two of them is one
    module without parameters, the activation; with gaps there may be more, such as Dropout."""
    found = (re.fullmatch(re.escape(prefix) + r"(\d{1,4})\..+", key) for key in state)
    numbers = sorted({int(match[1]) for match in found if match})
    for before, number in zip([-2, *numbers], numbers, strict=False):
        name = f"{prefix}{number}"
        if number - before < 2 or (number - before > 2 and not gaps) or f"{name}.weight" not in state:
            raise Fault(f"{name}: expected dense layers with one activation between them; torch.onnx.export writes other networks "
                        "as ONNX models")
    return [(f"{prefix}{number}", state[f"{prefix}{number}.weight"], state.get(f"{prefix}{number}.bias")) for number in numbers]
