"""Policies from elsewhere: networks that other libraries trained are written as files for `octet import`, which checks,
calibrates, compares and quantises them: modules and lists as ONNX models, models of Stable-Baselines3 by their own `save`,
state dicts as pickles of arrays. PyTorch and Stable-Baselines3 are never imported here: their objects are recognised by
their classes."""

from __future__ import annotations

import json
import math
import os
import pathlib
import pickle
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._arrays import array_of, floats_of, is_list
from ._command import file_of, finished, options_text, path_of
from ._lib import OctetError, whole
from ._onnx import ACTIVATIONS, Model, activation_of
from ._policy import Policy

_RSL_EPSILON = 1e-2     # of rsl_rl's normaliser, added to the deviation


@dataclass(frozen=True)
class ImportReport:
    """How far a policy is from the network that it was made from, on the given observations.

    `fp32_…`: the policy in fp32 against the network, computed in double precision: outputs for discrete actions, or the
    actions of a box. The other fields: the written policy against the policy in fp32; None if it is in fp32.
    """

    head: str                       # values, logits, tanh, gaussian or tanh_gaussian
    precision: str
    observed: str                   # what was compared on, in words
    rows: int
    notes: tuple[str, ...]          # what was assumed or left out
    fp32_max_abs: float
    fp32_mean_abs: float
    fp32_agreement: float           # share of equal greedy actions (box: within 0.001 of its standard deviation)
    clipped: float                  # share of observations that the network clips, which policies do not
    actions_clipped: float | None   # box: share of observations where the bounds clip an action
    action_ranges: tuple[tuple[float, float], ...]  # box: least and greatest value of the network's actions, before bounds
    max_abs: float | None
    relative_l2: float | None
    agreement: float | None         # share of equal greedy actions (box: within 0.1 of its standard deviation)
    kl: float | None                # discrete actions
    action_distance: float | None   # box: root mean square over actions, in units of their standard deviations
    saturated: tuple[float, ...]    # of each layer: share of the codes at the end of their range
    bytes: int


class Imported(NamedTuple):
    policy: Policy
    report: ImportReport


@dataclass
class _Draft:
    """A model that is being written, and the arguments that `octet import` needs with it."""

    model: Model
    at: str                                   # the value of now
    shape: tuple[int, ...]                    # of it
    has_log_std: bool = False
    is_box: bool = False                      # its actions are numbers, even without bounds

    def add(self, operation: str, *inputs: str, label: str = "", **attributes: int | float | list[int]) -> None:
        self.at = self.model.add(operation, self.at, *inputs, label=label, output=None, **attributes)

    def affine(self, operation: str, values: Any, label: str) -> None:
        self.add(operation, self.model.constant(floats_of(label, values)), label=label)


def _is_of(value: Any, library: str, *names: str) -> bool:
    """Returns whether one of the value's classes comes from that library and, if names are given, has one of these names."""
    return any(kind.__module__.split(".")[0] == library and (not names or kind.__name__ in names)
               for kind in type(value).__mro__)


# ---- layers


def _dense(draft: _Draft, weight: Any, bias: Any, label: str) -> None:
    matrix = floats_of(label, weight)
    if matrix.ndim != 2:
        raise OctetError(f"{label}: weights of shape {matrix.shape}, expected (outputs, inputs)")
    names = [draft.model.constant(matrix)]
    if bias is not None:
        offset = floats_of(label, bias)
        if offset.shape != matrix.shape[:1]:
            raise OctetError(f"{label}: a bias of shape {offset.shape}, expected ({matrix.shape[0]},)")
        names.append(draft.model.constant(offset))
    draft.add("Gemm", *names, label=label, transB=1)
    draft.shape = (matrix.shape[0],)


def _activate(draft: _Draft, name: Any, label: str) -> None:
    if name is None or str(name).lower() in ("", "linear", "identity", "none"):
        return
    if str(name).lower() not in ACTIVATIONS:
        raise OctetError(f"{label}: activation {name!r}; allowed are {', '.join(ACTIVATIONS)} and None")
    draft.at = draft.model.activate(str(name).lower(), draft.at, label)


def _per_axis(value: Any, axes: int) -> list[int]:
    return [int(one) for one in value] if is_list(value) else [int(value)] * axes


def _pads(module: Any, axes: int) -> list[int]:
    """Returns the zeros before each axis, then those after each."""
    if module.padding == "valid":
        return [0] * (2 * axes)
    if module.padding == "same":
        totals = [kernel - 1 for kernel in _per_axis(module.kernel_size, axes)]
        return [total // 2 for total in totals] + [total - total // 2 for total in totals]
    return _per_axis(module.padding, axes) * 2


def _conv(draft: _Draft, module: Any, label: str) -> None:
    if module.padding_mode != "zeros":
        raise OctetError(f"{label}: padding_mode {module.padding_mode!r}; policies have padding with zeros only")
    weight = floats_of(label, module.weight)
    names = [draft.model.constant(weight)]
    if module.bias is not None:
        names.append(draft.model.constant(floats_of(label, module.bias)))
    axes = weight.ndim - 2
    draft.add("Conv", *names, label=label, kernel_shape=list(weight.shape[2:]), strides=_per_axis(module.stride, axes),
              pads=_pads(module, axes), dilations=_per_axis(module.dilation, axes), group=int(module.groups))


def _pool(draft: _Draft, module: Any, name: str, label: str) -> None:
    """Adds MaxPool1d, AvgPool2d and their like."""
    axes = int(name[-2])
    attributes: dict[str, int | list[int]] = {}
    pads = _pads(module, axes)
    if name.startswith("Max"):
        attributes["dilations"] = _per_axis(module.dilation, axes)
        if module.return_indices:
            raise OctetError(f"{label}: a pool that returns indices (return_indices=True); allowed is False")
    else:
        attributes["count_include_pad"] = int(module.count_include_pad and any(pads))
        if getattr(module, "divisor_override", None) is not None:
            raise OctetError(f"{label}: divisor_override={module.divisor_override}; allowed is None")
    draft.add("MaxPool" if name.startswith("Max") else "AveragePool", label=label, ceil_mode=int(module.ceil_mode),
              kernel_shape=_per_axis(module.kernel_size, axes), strides=_per_axis(module.stride, axes),
              pads=pads, **attributes)


def _adaptive_pool(draft: _Draft, module: Any, name: str, label: str) -> None:
    if any(one != 1 for one in (module.output_size if is_list(module.output_size) else [module.output_size])):
        raise OctetError(f"{label}: output_size {module.output_size}; allowed is 1, which is the whole map")
    draft.add("GlobalMaxPool" if "Max" in name else "GlobalAveragePool", label=label)


def _layer_norm(draft: _Draft, module: Any, label: str) -> None:
    gain = np.ones(module.normalized_shape, np.float32) if module.weight is None else floats_of(label, module.weight)
    offset = np.zeros_like(gain) if getattr(module, "bias", None) is None else floats_of(label, module.bias)
    draft.add("LayerNormalization", draft.model.constant(gain), draft.model.constant(offset), label=label, axis=-1,
              epsilon=float(module.eps))


def _batch_norm(draft: _Draft, module: Any, label: str) -> None:
    if module.running_mean is None:
        raise OctetError(f"{label}: a batch norm without running statistics, which acts by the batch")
    mean, variance = floats_of(label, module.running_mean), floats_of(label, module.running_var)
    gain = np.ones_like(mean) if module.weight is None else floats_of(label, module.weight)
    offset = np.zeros_like(mean) if module.bias is None else floats_of(label, module.bias)
    draft.add("BatchNormalization", *(draft.model.constant(part) for part in (gain, offset, mean, variance)),
              label=label, epsilon=float(module.eps))


def _kind_of(module: Any, package: str) -> type:
    """Returns the first of a module's classes that belongs to the package, or the module's own class if none does."""
    return next((kind for kind in type(module).__mro__ if kind.__module__.startswith(package)), type(module))


def _activation(draft: _Draft, module: Any, name: str, label: str) -> None:
    """Adds a module that is an activation, with its arguments. `octet import` refuses those that policies do not have."""
    attributes = {"alpha": float(value) for key in ("alpha", "negative_slope") if (value := getattr(module, key, None)) is not None}
    if name == "softplus" and module.threshold < 15:  # from there on it returns its input, which is right to 3e-7
        raise OctetError(f"{label}: a Softplus with the threshold {module.threshold:g}; allowed are 15 and more")
    if name == "softplus":
        draft.affine("Mul", float(module.beta), label)
    if name == "gelu" and module.approximate == "tanh":
        name = "gelu_tanh"
    draft.at = draft.model.activate(name, draft.at, label, **attributes)
    if name == "softplus":
        draft.affine("Div", float(module.beta), label)


_POOLS = tuple(f"{kind}Pool{axes}d" for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg") for axes in (1, 2))
_MODULES = ("Sequential", "Linear", "Conv1d", "Conv2d", *_POOLS, "LayerNorm", "BatchNorm1d", "BatchNorm2d", "Flatten", "Softmax", "LogSoftmax",
            "Dropout", "Identity")


def _refuse_own_code(module: Any, kind: type, label: str) -> None:
    """Refuses a module that does not compute what its class of this package computes. A Sequential of rsl_rl (MLP) calls
    its modules itself."""
    own = getattr(module.forward, "__func__", None) is not kind.forward  # type: ignore[attr-defined]
    if own and (kind.__name__ != "Sequential" or getattr(module.forward, "__module__", "").split(".")[0] != "rsl_rl"):
        raise OctetError(f"{label}: a {kind.__name__} with its own forward cannot be read; torch.onnx.export writes any "
                         "module as an ONNX model")
    if module._forward_pre_hooks or module._forward_hooks:
        raise OctetError(f"{label}: a module with hooks, which may change its weights, inputs and outputs, cannot be read; "
                         "remove them, or let torch.onnx.export write an ONNX model")


def _module(draft: _Draft, module: Any, label: str) -> None:
    """Adds a PyTorch module, and the modules in it one after the other."""
    kind = _kind_of(module, "torch.nn.modules.")
    name = kind.__name__
    label = label or type(module).__name__
    activation = activation_of(name)
    if name not in _MODULES and activation is None:
        raise OctetError(f"{label}: modules of {type(module).__name__} cannot be read; allowed are {', '.join(_MODULES)}, and the "
                         f"activations {', '.join(ACTIVATIONS)}. "
                         "torch.onnx.export writes any module as an ONNX model")
    _refuse_own_code(module, kind, label)
    if name == "Sequential":
        for key, child in module._modules.items():  # named_children has one that is there twice only once
            _module(draft, child, f"{label}.{key}")
    elif name == "Linear":
        _dense(draft, module.weight, module.bias, label)
    elif name in ("Conv1d", "Conv2d"):
        _conv(draft, module, label)
    elif name.startswith("Adaptive"):
        _adaptive_pool(draft, module, name, label)
    elif name in _POOLS:
        _pool(draft, module, name, label)
    elif activation is not None:
        _activation(draft, module, activation, label)
    elif name == "Flatten":
        if (module.start_dim, module.end_dim) != (1, -1):
            raise OctetError(f"{label}: Flatten({module.start_dim}, {module.end_dim}); allowed is Flatten()")
        draft.add("Flatten", label=label, axis=1)
    elif name == "LayerNorm":
        _layer_norm(draft, module, label)
    elif name in ("BatchNorm1d", "BatchNorm2d"):
        _batch_norm(draft, module, label)
    elif name in ("Softmax", "LogSoftmax"):
        draft.add(name, label=label, axis=-1 if module.dim is None else int(module.dim))


def _first_inputs(module: Any) -> int | None:
    """Returns the number of inputs of the first dense layer, or None if another kind of layer comes first."""
    for child in module.modules():
        if _is_of(child, "torch", "Linear"):
            return int(child.in_features)
        if _is_of(child, "torch", "Conv1d", "Conv2d", "Flatten"):
            return None
    return None


# ---- observations


def _normalizer_parts(normalizer: Any) -> dict[str, Any]:
    """Returns mean, and std or var with epsilon, and clip: what is done to observations before the network reads them."""
    if hasattr(normalizer, "obs_rms"):  # VecNormalize
        if isinstance(normalizer.obs_rms, dict):
            raise OctetError("VecNormalize of a dictionary of observations cannot be read")
        return {"mean": normalizer.obs_rms.mean, "std": np.sqrt(normalizer.obs_rms.var + normalizer.epsilon), "clip": float(normalizer.clip_obs)}
    if hasattr(normalizer, "_mean") and hasattr(normalizer, "_std"):  # EmpiricalNormalization of rsl_rl
        epsilon = float(getattr(normalizer, "eps", _RSL_EPSILON))
        return {"mean": array_of("normalizer._mean", normalizer._mean).ravel(),
                "std": array_of("normalizer._std", normalizer._std).ravel() + epsilon, "clip": math.inf}
    if isinstance(normalizer, Sequence) and not isinstance(normalizer, (str, bytes)) and len(normalizer) == 2:
        return {"mean": array_of("mean", normalizer[0]).ravel(), "std": array_of("deviation", normalizer[1]).ravel(), "clip": math.inf}
    raise OctetError(f"normalizer: expected a pair (mean, deviation), a VecNormalize or a normaliser of rsl_rl, not "
                     f"{type(normalizer).__name__}")


def _normalise(draft: _Draft, normalizer: Any) -> None:
    """Adds (x - mean) / deviation, and what the library computes besides."""
    if normalizer is None or _is_of(normalizer, "torch", "Identity") or not getattr(normalizer, "norm_obs", True):
        return
    parts = _normalizer_parts(normalizer)
    draft.affine("Sub", parts["mean"], "mean")
    draft.affine("Div", parts["std"], "deviation")
    if math.isfinite(parts["clip"]):
        draft.add("Clip", draft.model.constant(np.float32(-parts["clip"])), draft.model.constant(np.float32(parts["clip"])), label="clip_obs")


# ---- modules and lists


def _log_of(name: str, deviations: Any) -> NDArray[Any]:
    values = floats_of(name, deviations, np.float64).ravel()
    is_one = (values > 0) & np.isfinite(values)
    if not is_one.all():
        raise OctetError(f"{name}: a deviation of {values[~is_one][0]:g}; allowed are finite numbers above 0")
    logs: NDArray[np.float64] = np.log(values)
    return logs


def _log_std(draft: _Draft, values: Any) -> None:
    draft.model.constant(floats_of("log_std", values).ravel(), "log_std")
    draft.has_log_std = True


def _layers(layers: Iterable[Any], activation: str | None, normalizer: Any) -> _Draft:
    """Adds layers given as (weight, bias, activation), or as (weight, bias) with one activation for all but the last."""
    given = [tuple(layer) if is_list(layer) else () for layer in layers]
    if not given or any(len(layer) not in (2, 3) for layer in given):
        raise OctetError("layers: expected a list of (weight, bias, activation)")
    first = array_of("layer 0", given[0][0])
    if first.ndim != 2:
        raise OctetError(f"layer 0: weights of shape {first.shape}, expected (outputs, inputs)")
    draft = _Draft(Model((first.shape[1],)), "observation", (first.shape[1],))
    _normalise(draft, normalizer)
    for number, layer in enumerate(given):
        last = number + 1 == len(given)
        _dense(draft, layer[0], layer[1], f"layer {number}")
        _activate(draft, layer[2] if len(layer) == 3 else None if last else activation, f"layer {number}")
    return draft


def _torch(module: Any, shape: tuple[int, ...] | None, normalizer: Any) -> _Draft:
    actor = getattr(module, "actor", None)
    is_actor, deviation = actor is not None and not _is_of(module, "torch", "Sequential"), None
    if getattr(module, "is_recurrent", False):  # of rsl_rl
        raise OctetError(f"{type(module).__name__}: a recurrent network cannot be read; policies have no memory")
    if is_actor:  # ActorCritic of rsl_rl
        if normalizer is None:
            normalizer = getattr(module, "actor_obs_normalizer", None)
        deviation = getattr(module, "log_std", None)
        if deviation is None and getattr(module, "std", None) is not None:
            deviation = _log_of("std", module.std)
        module = actor
    inputs = _first_inputs(module)
    if shape is None and inputs is None:
        raise OctetError("the shape of an observation is not known; give obs_shape, observations or env")
    if shape is None:
        shape = (int(inputs or 0),)
    draft = _Draft(Model(shape), "observation", shape, is_box=is_actor)
    if inputs is not None and len(shape) != 1:
        draft.add("Flatten", axis=1)
    _normalise(draft, normalizer)
    _module(draft, module, "")
    if deviation is not None:
        _log_std(draft, deviation)
    return draft


# ---- files that octet import reads


def _plain(value: Any) -> Any:
    """Returns a state with arrays for tensors and plain dictionaries; what is neither is left out by its type's name."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if hasattr(value, "detach") or isinstance(value, (np.ndarray, np.generic, list, tuple)):
        try:
            return np.ascontiguousarray(array_of("state", value))
        except OctetError:
            return type(value).__name__
    return value if isinstance(value, (bool, int, float)) or value is None else type(value).__name__


def _state_file(folder: pathlib.Path, state: Mapping[str, Any]) -> pathlib.Path:
    for key in state:
        if not isinstance(key, str):
            raise OctetError(f"the keys of a state must be names of parameters, not {key!r}")
    path = folder / "state.pkl"
    path.write_bytes(pickle.dumps(_plain(state), protocol=4))
    return path


def _sb3_file(folder: pathlib.Path, model: Any) -> pathlib.Path:
    path = folder / "model.zip"
    model.save(path)
    return path


# ---- the command


def _scale(draft: _Draft, action_scale: Any, action_offset: Any) -> None:
    if action_scale is not None:
        draft.affine("Mul", action_scale, "action_scale")
    if action_offset is not None:
        draft.affine("Add", action_offset, "action_offset")


def _finish(draft: _Draft, output: str) -> bytes:
    draft.add("Identity")
    draft.model.add("Identity", draft.at, output=output)
    draft.model.output(output)
    return draft.model.encode()


def _bounds_text(bounds: tuple[Any, Any]) -> str:
    """Formats pairs LOW:HIGH."""
    try:
        low, high = (np.ravel(end) for end in np.broadcast_arrays(*(floats_of("an end", end) for end in bounds)))
    except (TypeError, ValueError, OctetError) as error:
        raise OctetError(f"bounds: {error}; allowed is (low, high), of numbers or arrays") from None
    for number, (l, h) in enumerate(zip(low, high, strict=True)):
        if not l < h:
            raise OctetError(f"bounds: action {number} has [{l}, {h}]; allowed are numbers of float32, low below high; infinite: no bound")
    return ",".join(f"{l}:{h}" for l, h in zip(low, high, strict=True))


def _numbers_text(name: str, values: Any) -> str:
    return ",".join(str(value) for value in floats_of(name, values, np.float64).ravel())


def _normalizer_file(folder: pathlib.Path, normalizer: Any) -> str:
    """Writes what `octet import --normalizer` reads; a path is taken as it is."""
    if isinstance(normalizer, (str, os.PathLike)):
        return path_of("normalizer", normalizer)
    if _is_of(normalizer, "stable_baselines3"):
        (folder / "normalizer.pkl").write_bytes(pickle.dumps(normalizer))
        return str(folder / "normalizer.pkl")
    parts = _normalizer_parts(normalizer)
    np.savez(folder / "normalizer.npz", **parts)
    return str(folder / "normalizer.npz")


def _model_arguments(folder: pathlib.Path, normalizer: Any, action_scale: Any, action_offset: Any) -> list[str]:
    """Returns the arguments for what is done to the observations and actions of a model in a file."""
    arguments = []
    if normalizer is not None:
        arguments += ["--normalizer", _normalizer_file(folder, normalizer)]
    for name, values in (("action_scale", action_scale), ("action_offset", action_offset)):
        if values is not None:
            arguments.append(f"--{name.replace('_', '-')}={_numbers_text(name, values)}")
    return arguments


def _options_text(env: str, options: Any) -> str:
    if isinstance(options, Mapping):
        return options_text(env, options)
    if not isinstance(options, str):
        raise OctetError(f"options: {options!r} is neither a dictionary nor a text")
    return options


_ARGUMENTS = ("precision", "observations", "env", "options", "seed", "obs-shape", "actions", "bounds", "action-scale", "action-offset", "normalizer", "activation", "unit-actions", "head", "output", "log-std")


def _as_arguments(words: str) -> str:
    """Translates a message of the command to the names of the Python arguments."""
    return re.sub(rf"(?<!\S)--({'|'.join(_ARGUMENTS)})\b( FILE| ID)?", lambda option: option[1].replace("-", "_"), words)


def _run(arguments: list[str], model: str, observations: str, folder: pathlib.Path) -> dict[str, Any]:
    """Runs `octet import`. What lies in the folder is temporary, so errors do not name it."""
    done = finished("import", *arguments, "--json")
    if done.returncode != 0:
        said = re.search(r"^octet import: error: (.*)$", done.stderr, re.M)
        words = said[1] if said else f"octet import exited with {done.returncode}: {done.stderr.strip()}"
        for file, name in ((model, "the model"), (observations, "observations"), (folder / "normalizer.npz", "normalizer"),
                           (folder / "normalizer.pkl", "normalizer")):
            words = words.replace(f"'{file}'", name)
        raise OctetError(_as_arguments(words))
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _report(answer: dict[str, Any]) -> ImportReport:
    fp32, quantised = answer["fp32"], answer["quantised"] or {}
    layers = quantised.get("layers", [])
    return ImportReport(
        head=answer["head"], precision=answer["precision"], observed=_as_arguments(answer["observed"]), rows=answer["rows"],
        notes=tuple(map(_as_arguments, answer["notes"])), fp32_max_abs=fp32["max_abs"], fp32_mean_abs=fp32["mean_abs"],
        fp32_agreement=fp32["agreement"], clipped=fp32["clipped"], actions_clipped=fp32["actions_clipped"],
        action_ranges=tuple((action["least"], action["most"]) for action in fp32["actions"] or ()), max_abs=quantised.get("max_abs"),
        relative_l2=quantised.get("relative_l2"), agreement=quantised.get("agreement"), kl=quantised.get("kl"),
        action_distance=quantised.get("action_distance"),
        saturated=tuple(layer["saturated"] for layer in layers if layer["saturated"] is not None),
        bytes=quantised.get("bytes", fp32["bytes"]))


def _shape_of(given: Any) -> tuple[int, ...]:
    if not is_list(given):
        raise OctetError(f"obs_shape: {given!r} is not a list of whole numbers")
    return tuple(whole("obs_shape", one, 1, 2**31 - 1) for one in given)


def _draft(source: Any, activation: str, normalizer: Any, obs_shape: tuple[int, ...] | None) -> _Draft:
    if _is_of(source, "torch", "Module"):
        return _torch(source, obs_shape, normalizer)
    if is_list(source):
        return _layers(source, activation, normalizer)
    raise OctetError(f"a policy cannot be made of {type(source).__name__}; of the path or bytes of a model, a module of PyTorch, a "
                     "model of Stable-Baselines3, a state dict or a list of (weight, bias, activation) it can")


def import_policy(source: Any, observations: Any = None, env: str | None = None, *,
                  options: Mapping[str, Any] | str | None = None, seed: int | None = None,
                  path: str | os.PathLike[str] | None = None, precision: str = "int8",
                  obs_shape: Sequence[int] | None = None, actions: int | None = None,
                  bounds: tuple[Any, Any] | None = None, head: str | None = None, normalizer: Any = None,
                  activation: str | None = None, action_scale: Any = None, action_offset: Any = None,
                  unit_actions: bool | None = None, output: str | None = None, log_std: str | None = None) -> Imported:
    """Makes a policy from a network that was trained elsewhere, and measures how far it is from that network.

    `source`: the path or the bytes of a file that `octet import` reads (ONNX, an agent of Stable-Baselines3, a state dict of
    PyTorch); a model of Stable-Baselines3 or sb3-contrib (its VecNormalize is included); a `torch.nn.Sequential`, or an
    actor-critic of rsl_rl; a state dict; a list of (weight (outputs, inputs), bias, activation). `observations`: rows for
    calibration and comparison, as the network gets them; without them, they come from episodes in `env` with these
    `options` (a dictionary with the arguments of `octet.make_vec`, or a text as in env.options), starting at `seed`.
    `path`: the file for the policy; `NAME.fp32.oct` is written beside it; without a path no file is kept.

    `actions`: the number of actions, which are discrete without `bounds`: (low, high) of a box, numbers or arrays.
    Without bounds actions are neither mapped nor clipped. `normalizer`: (mean, deviation), a VecNormalize, a normaliser of
    rsl_rl, or, unless the source is a module or a list, a file that `--normalizer` reads. `activation`: that of a state dict
    or a list, which do not contain it (ELU). `action_scale` and `action_offset`: what the environment's wrapper does to
    actions, to be included in the policy. `unit_actions`: map actions in [-1, 1] to the bounds. The other arguments are the
    options of `octet import`.
    """
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    is_agent = hasattr(source, "policy") and (_is_of(source, "stable_baselines3") or _is_of(source, "sb3_contrib"))
    if is_agent and normalizer is None:
        normalizer = source.get_vec_normalize_env()
    if _is_of(normalizer, "torch", "Identity") or getattr(normalizer, "norm_obs", True) is False:
        normalizer = None
    rows = None if observations is None else array_of("observations", observations)
    shape = _shape_of(obs_shape) if obs_shape is not None else rows.shape[1:] if rows is not None else None
    with tempfile.TemporaryDirectory(prefix="octet-import-") as folder:
        here = pathlib.Path(folder)
        target = pathlib.Path(path_of("path", path)) if path is not None else here / "policy.oct"
        draft, result = None, "outputs"
        if isinstance(source, (str, os.PathLike)):
            model = pathlib.Path(path_of("source", source))
        elif is_agent:
            model = _sb3_file(here, source)
        elif isinstance(source, Mapping):
            model, activation = _state_file(here, source), activation or "elu"
        else:
            model = here / "model.onnx"
            if not isinstance(source, bytes):
                draft = _draft(source, activation or "elu", normalizer, shape)
                _scale(draft, action_scale, action_offset)
                if actions is None and (bounds is not None or draft.is_box or action_scale is not None):
                    result = "actions"
            model.write_bytes(source if isinstance(source, bytes) else _finish(draft, result) if draft else b"")
        arguments = [file_of("source", model), "--out", str(target), "--precision", str(precision)]
        if rows is not None:
            np.save(here / "observations.npy", rows if rows.dtype == np.uint8 else floats_of("observations", rows))
            arguments += ["--observations", str(here / "observations.npy")]
        if env is not None:
            arguments += ["--env", str(env)]
        if options is not None:
            arguments += [f"--options={_options_text(str(env or ''), options)}"]
        if seed is not None:
            arguments += ["--seed", str(whole("seed", seed, 0, 2**64 - 1))]
        if obs_shape is not None:
            arguments += ["--obs-shape", ",".join(map(str, _shape_of(obs_shape)))]
        if draft is not None:
            output, log_std = result, "log_std" if draft.has_log_std else None
        else:
            arguments += _model_arguments(here, normalizer, action_scale, action_offset)
            arguments += ["--activation", str(activation)] if activation is not None else []
        if bounds is not None:
            arguments += [f"--bounds={_bounds_text(bounds)}"]
        for name, value in [("--head", head), ("--actions", actions), ("--output", output), ("--log-std", log_std)]:
            if value is not None:
                arguments += [name, str(value)]
        if unit_actions:
            arguments.append("--unit-actions")
        answer = _run(arguments, str(model) if model.parent == here else "", str(here / "observations.npy"), here)
        answer["observed"] = answer["observed"].replace(f" of {here / 'observations.npy'}", "")
        report = _report(answer)
        return Imported(Policy(target.read_bytes()), report)
