"""Reads normalisers of observations: the VecNormalize of Stable-Baselines3 and the EmpiricalNormalization of rsl_rl."""

import math

import numpy as np
from inert_pickle import Fault, array, named, what
from network import floats
from spaces import parts_of

RSL_EPSILON = 1e-2  # added to the deviation
KEYS = {"_mean", "_std"}


def of_rsl(state):
    """Returns mean and deviation of a state with _mean and _std."""
    epsilon = float(array("eps", state.get("eps", RSL_EPSILON)))
    return floats("_mean", state["_mean"]).ravel(), floats("_std", state["_std"]).ravel() + epsilon


def _rms(label, value):
    """Returns mean and variance of a RunningMeanStd."""
    state = value.state if named(value).endswith(".RunningMeanStd") else None
    if not isinstance(state, dict) or not {"mean", "var"} <= set(state):
        raise Fault(f"{label}: expected a RunningMeanStd, not {what(value)}")
    return floats(f"{label}.mean", state["mean"]).ravel(), floats(f"{label}.var", state["var"]).ravel()


def _of_vec_normalize(state):
    if not isinstance(state, dict) or "obs_rms" not in state:
        raise Fault("a VecNormalize without obs_rms")
    if state.get("norm_obs") is False:
        raise Fault("a VecNormalize that does not normalise observations (norm_obs is False); leave it out")
    epsilon, end = (float(array(key, state.get(key, usual))) for key, usual in (("epsilon", 1e-8), ("clip_obs", 10.0)))
    rms, note = state["obs_rms"], None
    if not isinstance(rms, dict):
        mean, variance = _rms("obs_rms", rms)
    else:
        parts = parts_of(state.get("observation_space")) or {}
        if not set(rms) <= set(parts):
            raise Fault("a VecNormalize of other observations than its observation_space has")
        pairs = [_rms(f"obs_rms[{key}]", rms[key]) if key in rms else (np.zeros(size), np.full(size, 1 - epsilon))
                 for key, size in parts.items()]
        mean, variance = (np.concatenate(part) for part in zip(*pairs, strict=True))
        if set(parts) - set(rms):
            note, end = f"left out: VecNormalize clips {', '.join(sorted(map(str, rms)))} at {end:g}", math.inf
    return mean, np.sqrt(variance + epsilon), end, note


@np.errstate(all="ignore")  # octet import refuses what is not finite
def read_normaliser(value):
    """Returns what octet import --normalizer reads as JSON: mean and std, and the limit of the result."""
    end, note = math.inf, None
    if named(value) == "stable_baselines3.common.vec_env.vec_normalize.VecNormalize":
        mean, deviation, end, note = _of_vec_normalize(value.state)
    elif isinstance(value, dict) and KEYS <= set(value):
        mean, deviation = of_rsl(value)
    else:
        raise Fault(f"{what(value)}; expected a VecNormalize of Stable-Baselines3, or a dictionary with _mean and _std as of rsl_rl")
    if not (np.isfinite(mean).all() and np.isfinite(deviation).all()):
        raise Fault("a mean or a deviation is not finite")
    answer = {"mean": mean.tolist(), "std": deviation.tolist()}
    if math.isfinite(end):
        answer["clip"] = end
    if note is not None:
        answer["note"] = note
    return answer
