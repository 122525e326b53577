"""Reads state dicts: checkpoints of rsl_rl, and networks of torch.nn.Sequential."""

import re

import numpy as np
from inert_pickle import Fault, what
from network import Network, floats, layers_of
from normaliser import KEYS, of_rsl

_ACTORS = ("actor.", "student.", "mlp.", "actor_mean.")
_LOG_STD = ("log_std", "distribution.log_std_param", "actor_logstd")
_STD = ("std", "distribution.std_param")


def _prefix(state):
    """Returns the prefix of the layers of the actor: a known one, or the only one."""
    for prefix in (*_ACTORS, ""):
        if any(re.fullmatch(re.escape(prefix) + r"\d+\.weight", key) for key in state):
            return prefix
    found = sorted({match[1] for match in (re.fullmatch(r"(.*\.)\d+\.weight", key) for key in state) if match})
    if len(found) == 1 and not re.search("critic|value|target|teacher", found[0]):
        return found[0]
    raise Fault("the state has no actor: expected layers named actor.N.weight, mlp.N.weight or N.weight; found "
                f"{', '.join(list(state)[:8]) or 'none'}")


def _saved_normalizer(outer, state):
    """Returns the normaliser that a runner saves beside the actor, or in it; without it the policy would read raw
    observations."""
    saved = outer.get("obs_norm_state_dict")
    if saved is not None:
        if not isinstance(saved, dict) or (saved and not KEYS <= set(saved)):
            there = ", ".join(map(str, list(saved)[:8])) if isinstance(saved, dict) else what(saved)
            raise Fault(f"obs_norm_state_dict: expected a dictionary with _mean and _std; found {there}")
        if saved:
            return saved
    for part in ("", "actor_obs_normalizer.", "student_obs_normalizer.", "obs_normalizer."):
        if {part + "_mean", part + "_std"} <= set(state):
            return {key: state[part + key] for key in ("_mean", "_std", "eps") if part + key in state}
    return None


def _add_deviation(network, state):
    for key in _LOG_STD:
        if key in state:
            network.log_std(key, state[key])
            return
    for key in _STD:
        if key in state:
            values = floats(key, state[key]).ravel()
            wrong = values[~((values > 0) & np.isfinite(values))]
            if wrong.size > 0:
                raise Fault(f"{key}: a deviation of {wrong[0]:g}; allowed are finite numbers above 0")
            network.model.constant(np.log(values).astype(np.float32), "log_std")
            network.has_log_std = True
            return


def read_state(outer, activation, is_normalised):
    """Returns the network of a state dict, or of a checkpoint that has one. is_normalised: by the caller, so that a
    normaliser in the checkpoint is left out."""
    state = next((outer[key] for key in ("actor_state_dict", "model_state_dict", "state_dict") if isinstance(outer.get(key), dict)), outer)
    other = next((key for key in state if not isinstance(key, str)), "")
    if not isinstance(other, str):
        raise Fault(f"the keys of a state must be names of parameters, not {other!r}")
    if any(".weight_ih_" in key for key in state):
        raise Fault("the state is of a recurrent network, which cannot be read; policies have no memory")
    prefix = _prefix(state)
    layers = layers_of(state, prefix, gaps=True)
    is_rsl = any(key in state for key in _STD + _LOG_STD)
    if activation is None and not is_rsl and len(layers) > 1:
        raise Fault("a state dict does not say which activation follows its layers; give --activation, such as elu, relu, tanh or silu")
    network = Network((floats(f"{layers[0][0]}.weight", layers[0][1], 2).shape[1],))
    if not is_rsl and prefix not in _ACTORS:
        network.output = "outputs"
    saved = None if is_normalised else _saved_normalizer(outer, state)
    if saved is not None:
        network.normalise(*of_rsl(saved))
    for number, (label, weight, bias) in enumerate(layers):
        network.dense(label, weight, bias)
        if number + 1 < len(layers):
            network.activate(activation or "elu", label)
    if activation is None and len(layers) > 1:
        network.notes.append("its activations are taken as ELU, which rsl_rl uses unless configured; --activation sets others")
    _add_deviation(network, state)
    return network
