"""A network that is read from a file, as the ONNX model and the options that `octet import` goes on with."""

import math
import re

import numpy as np
from _onnx import Model
from inert_pickle import Fault, array, named, what

ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "elu": "Elu", "sigmoid": "Sigmoid"}
RSL_EPSILON = 1e-2  # of rsl_rl's normaliser, added to the deviation


def floats(label, value, rank=None):
    """Returns numbers as float64, with a check of their rank."""
    numbers = array(label, value)
    if rank is not None and numbers.ndim != rank:
        raise Fault(f"{label}: an array of shape {numbers.shape}; expected {rank} dimension{'s' * (rank != 1)}")
    return np.asarray(numbers, np.float64)


class Network:
    """A chain of layers, and what the file says about actions. Weights are (outputs, inputs)."""

    def __init__(self, shape, is_bytes=False):
        self.model, self.at, self.width = Model(shape, is_bytes), "observation", math.prod(shape)
        if len(shape) != 1 and not is_bytes:
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

    def activate(self, name, label=""):
        operation = ACTIVATIONS.get(name)
        if operation is None:
            raise Fault(f"activation {name}; policies have {', '.join(ACTIVATIONS)}")
        self.add(operation, label=label)

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


# ---- normalisers

def _clipped(network, end):
    if math.isfinite(end):
        network.add("Clip", -end, end, label="clip_obs")


def _rms(label, value):
    """Returns mean and variance of a RunningMeanStd."""
    state = value.state if named(value).endswith(".RunningMeanStd") else None
    if not isinstance(state, dict) or not {"mean", "var"} <= set(state):
        raise Fault(f"{label}: expected a RunningMeanStd, not {what(value)}")
    return floats(f"{label}.mean", state["mean"]).ravel(), floats(f"{label}.var", state["var"]).ravel()


def _vec_normalize(network, state, parts):
    """Adds what VecNormalize does to an observation; parts: the sizes of the parts of a dictionary, by key, or None."""
    if not isinstance(state, dict) or "obs_rms" not in state:
        raise Fault("a VecNormalize without obs_rms")
    if state.get("norm_obs") is False:
        network.notes.append("the VecNormalize does not normalise observations (norm_obs is False)")
        return
    epsilon, end = (float(array(key, state.get(key, usual))) for key, usual in (("epsilon", 1e-8), ("clip_obs", 10.0)))
    rms = state["obs_rms"]
    if not isinstance(rms, dict):
        mean, variance = _rms("obs_rms", rms)
    elif parts is None:
        raise Fault("a VecNormalize of a dictionary of observations, but the agent has no dictionary")
    else:
        pairs = [_rms(f"obs_rms[{key}]", rms[key]) if key in rms else (np.zeros(size), np.full(size, 1 - epsilon))
                 for key, size in parts.items()]
        mean, variance = (np.concatenate(part) for part in zip(*pairs, strict=True))
        if set(parts) - set(rms):
            network.notes.append(f"left out: VecNormalize clips {', '.join(sorted(set(parts) & set(rms)))} at {end:g}")
            end = math.inf
    _affine(network, "VecNormalize", mean, np.sqrt(variance + epsilon))
    _clipped(network, end)


def _affine(network, label, mean, deviation):
    if mean.size != network.width or deviation.size != network.width:
        raise Fault(f"{label} is for {mean.size} numbers, but an observation has {network.width}")
    network.add("Sub", mean, label=f"{label}.mean")
    network.add("Div", deviation, label=f"{label}.deviation")


def normalise(network, normalizer, parts=None):
    """Adds a VecNormalize, a (mean, deviation), or the state of a normaliser of rsl_rl (_mean, _std)."""
    if normalizer is None or normalizer == ():
        return
    if named(normalizer) == "stable_baselines3.common.vec_env.vec_normalize.VecNormalize":
        _vec_normalize(network, normalizer.state, parts)
    elif isinstance(normalizer, dict) and {"_mean", "_std"} <= set(normalizer):
        epsilon = float(array("eps", normalizer.get("eps", RSL_EPSILON)))
        _affine(network, "normalizer", floats("_mean", normalizer["_mean"]).ravel(), floats("_std", normalizer["_std"]).ravel() + epsilon)
    elif isinstance(normalizer, (tuple, list)) and len(normalizer) == 2:
        mean, deviation = (floats(name, value).ravel() for name, value in zip(("mean", "deviation"), normalizer, strict=True))
        full = np.ones(network.width)
        _affine(network, "normalizer", mean * full if mean.size == 1 else mean, deviation * full if deviation.size == 1 else deviation)
    else:
        raise Fault(f"the normalizer is {what(normalizer)}; expected a VecNormalize of Stable-Baselines3, or _mean and _std of rsl_rl")
