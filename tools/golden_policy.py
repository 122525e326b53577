"""An independent implementation of Octet's policies in numpy: format and forward pass, written from
docs/policy-format.md and architecture section 4, not from the C. INT8 follows every single
precision operation in order, so its outputs must agree to the bit; FP32 is computed in double."""

import struct
import zlib

import numpy as np

F = np.float32
LINEAR, RELU, TANH, ELU = range(4)
FP32, INT8 = 1, 2
DISCRETE, BOX = 1, 2
VALUES, LOGITS, TANH_HEAD, ATOMS = 1, 2, 3, 4


def f(hexadecimal):
    return F(float.fromhex(hexadecimal))


# --- single precision functions -----------------------------------------------------------------

EXP = [f(c) for c in ("0x1p-1", "0x1.5554aep-3", "0x1.555486p-5", "0x1.122880p-7", "0x1.6d99bep-10")]


def exp_parts(x):
    x = np.minimum(np.maximum(x, F(-87)), F(88))
    n = np.rint(x * f("0x1.715476p+0")).astype(F)
    r = (x - n * f("0x1.62e4p-1")) - n * f("0x1.7f7d1cp-20")
    p = EXP[4] * r + EXP[3]
    for c in EXP[2::-1]:
        p = p * r + c
    return (r * r) * p + r, np.ldexp(F(1), n.astype(np.int32)).astype(F)


def exp(x):
    e, power = exp_parts(x)
    return e * power + power


def expm1(x):
    e, power = exp_parts(x)
    return e * power + (power - F(1))


def tanh(x):
    a = np.abs(x)
    t = expm1(a + a)
    return np.copysign(t / (t + F(2)), x)


def lanes_sum(x):
    """Element i into lane i mod 16, in order; then the tree of halves."""
    lane = np.zeros(16, F)
    for i in range(0, len(x), 16):
        part = x[i:i + 16]
        lane[:len(part)] = lane[:len(part)] + part
    for half in (8, 4, 2, 1):
        lane = lane[:half] + lane[half:2 * half]
    return lane[0]


def layer_norm(h, gain, offset):
    n = F(len(h))
    mean = lanes_sum(h) / n
    d = h - mean
    variance = lanes_sum(d * d) / n
    inverse = F(1) / np.sqrt(variance + F(1e-5))
    return ((h - mean) * inverse) * gain + offset


def activate(kind, h):
    if kind == RELU:
        return np.where(h > 0, h, F(0))
    if kind == TANH:
        return tanh(h)
    return np.where(h > 0, h, expm1(h)) if kind == ELU else h


def quantize(x):
    lo, hi = min(F(0), x.min()), max(F(0), x.max())
    span = min(hi - lo, np.finfo(F).max)
    if span < f("0x1p-118"):
        return np.zeros(len(x), np.int64), F(0), 0
    inverse = F(255) / span
    zero = int(np.clip(np.rint(-lo * inverse), 0, 255))
    codes = np.clip(np.rint(x * inverse).astype(np.int64) + zero, 0, 255)
    return codes, span / F(255), zero


def forward_int8(policy, obs):
    x = obs.astype(F)
    if policy["normalise"]:
        x = (x - policy["mean"]) * policy["inverse_std"]
    for layer in policy["layers"]:
        codes, scale, zero = quantize(x)
        w = layer["codes"].astype(np.int64)
        acc = w @ codes - zero * w.sum(axis=1)
        x = acc.astype(np.int32).astype(F) * (scale * layer["scales"]) + layer["bias"]
        if layer["norm"]:
            x = layer_norm(x, layer["gain"], layer["offset"])
        x = activate(layer["activation"], x)
        assert x.dtype == F
    return x


def forward_double(policy, obs):
    x = obs.astype(np.float64)
    if policy["normalise"]:
        x = (x - policy["mean"].astype(np.float64)) * policy["inverse_std"].astype(np.float64)
    for layer in policy["layers"]:
        x = layer["weights"].astype(np.float64) @ x + layer["bias"]
        if layer["norm"]:
            x = (x - x.mean()) / np.sqrt(x.var() + 1e-5) * layer["gain"] + layer["offset"]
        if layer["activation"] == RELU:
            x = np.maximum(x, 0)
        elif layer["activation"] == TANH:
            x = np.tanh(x)
        elif layer["activation"] == ELU:
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    return x


def act(policy, y):
    """The greedy action in double: int for discrete, floats for a box."""
    y = y.astype(np.float64)
    if policy["head"] == TANH_HEAD:
        low, high = policy["low"].astype(np.float64), policy["high"].astype(np.float64)
        return low + (np.tanh(y) + 1) / 2 * (high - low)
    if policy["head"] == ATOMS:
        logits = y.reshape(policy["actions"], policy["atoms"])
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        support = np.linspace(policy["value_min"], policy["value_max"], policy["atoms"])
        y = (p * support).sum(axis=1) / p.sum(axis=1)
    return int(np.argmax(y))


# --- format ---------------------------------------------------------------------------------------


def text(s):
    raw = s.encode()
    return struct.pack("<B", len(raw)) + raw


def floats(x):
    return np.asarray(x, "<f4").tobytes()


def encode(policy):
    out = struct.pack("<QQQQQf", policy["run_id"], policy["version"], 0, policy["updates"],
                      policy["env_steps"], policy["eval_return"])
    out += text(policy["run_name"])
    out += struct.pack("<BB", policy["precision"], policy["per_tensor"])
    out += text(policy["env_id"])
    out += struct.pack("<BIBI", policy["obs_dtype"], policy["obs_count"], policy["action_kind"],
                       policy["actions"])
    if policy["action_kind"] == BOX:
        out += floats(policy["low"]) + floats(policy["high"])
    out += struct.pack("<B", policy["head"])
    if policy["head"] == ATOMS:
        out += struct.pack("<Iff", policy["atoms"], policy["value_min"], policy["value_max"])
    out += struct.pack("<BB", policy["normalise"], len(policy["layers"]))
    for layer in policy["layers"]:
        outputs, inputs = layer["shape"]
        out += struct.pack("<BIIBB", 1, inputs, outputs, layer["activation"], layer["norm"])
    if policy["normalise"]:
        out += floats(policy["mean"]) + floats(policy["inverse_std"])
    for layer in policy["layers"]:
        if policy["precision"] == INT8:
            scales = layer["scales"][:1] if policy["per_tensor"] else layer["scales"]
            out += floats(scales) + layer["codes"].astype(np.int8).tobytes()
        else:
            out += floats(layer["weights"])
        out += floats(layer["bias"])
        if layer["norm"]:
            out += floats(layer["gain"]) + floats(layer["offset"])
    out = b"OCTP" + struct.pack("<II", 1, 12 + len(out) + 4) + out
    return out + struct.pack("<I", zlib.crc32(out))
