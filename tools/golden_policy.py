"""An independent implementation of Octet's policies in numpy: format and forward pass, written from
docs/internals/wire.md, docs/internals/policy-format.md and docs/internals/quantisation.md, not from the C. INT8 and INT4 follow
every single precision operation in order, so their outputs must agree to the bit; the floats of
FP32, BF16 and FP16 are computed in double."""

import struct
import zlib

import numpy as np

F = np.float32
LINEAR, RELU, TANH, ELU = range(4)
FP32, INT8, BF16, FP16, INT4 = 1, 2, 3, 4, 5
GROUP = 32  # inputs that share a multiplier of INT4
DISCRETE, BOX = 1, 2
VALUES, LOGITS, TANH_HEAD, ATOMS, GAUSSIAN, TANH_GAUSSIAN = range(1, 7)


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


def log(x):
    """Of one positive normal number: 2^n (1 + f), 1 + f from sqrt(1/2) up to sqrt(2)."""
    word = int(np.asarray(x, F).view(np.uint32))
    power = (word + (0x3F800000 - int(f("0x1.6a09e6p-1").view(np.uint32)))) >> 23
    d = np.uint32(word - ((power - 127) << 23)).view(F) - F(1)
    n = F(power - 127)
    s = d / (d + F(2))
    z, square = s * s, F(0.5) * (d * d)
    r = z * ((f("0x1.31e4b4p-2") * z + f("0x1.995eaap-2")) * z + f("0x1.55557ap-1"))
    low = s * (square + r) + n * f("0x1.7f7d1cp-20")
    return n * f("0x1.62e4p-1") - ((square - low) - d)


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


def integers(policy, layer):
    """The weights that multiply activations: codes, of INT4 times the multiplier of their group."""
    w = layer["codes"].astype(np.int64)
    if policy["precision"] == INT4:
        w *= np.repeat(layer["multipliers"].astype(np.int64), GROUP, axis=1)[:, :w.shape[1]]
    return w


def products(layer, w, x):
    """W x [outputs]; of a convolution [down, across, filters], by maps shifted under the kernel."""
    if layer["conv"] is None:
        return w @ x
    height, width, channels, filters, kernel = layer["conv"]
    w, x = w.reshape(filters, kernel, kernel, channels), x.reshape(height, width, channels)
    down, across = height - kernel + 1, width - kernel + 1
    out = np.zeros((down, across, filters), np.result_type(w, x))
    for i in range(kernel):
        for j in range(kernel):
            out += x[i:i + down, j:j + across] @ w[:, i, j].T
    return out


def forward_integer(policy, obs):
    x = obs.astype(F)
    if policy["normalise"]:
        x = (x - policy["mean"]) * policy["inverse_std"]
    for layer in policy["layers"]:
        codes, scale, zero = quantize(x)
        w = integers(policy, layer)
        acc = products(layer, w, codes) - zero * w.sum(axis=1)
        x = acc.astype(np.int32).astype(F) * (scale * layer["scales"]) + layer["bias"]
        if layer["norm"]:
            x = layer_norm(x, layer["gain"], layer["offset"])
        x = activate(layer["activation"], x).reshape(-1)
        assert x.dtype == F
    return x


def widened(policy, layer):
    """The weights as floats; layer["halves"] are 16 bits each."""
    if policy["precision"] == BF16:
        return (layer["halves"].astype(np.uint32) << 16).view(F)
    return layer["halves"].view(np.float16) if policy["precision"] == FP16 else layer["weights"]


def forward_double(policy, obs):
    x = obs.astype(np.float64)
    if policy["normalise"]:
        x = (x - policy["mean"].astype(np.float64)) * policy["inverse_std"].astype(np.float64)
    for layer in policy["layers"]:
        x = products(layer, widened(policy, layer).astype(np.float64), x) + layer["bias"]
        if layer["norm"]:
            x = (x - x.mean()) / np.sqrt(x.var() + 1e-5) * layer["gain"] + layer["offset"]
        if layer["activation"] == RELU:
            x = np.maximum(x, 0)
        elif layer["activation"] == TANH:
            x = np.tanh(x)
        elif layer["activation"] == ELU:
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
        x = x.reshape(-1)
    return x


def act(policy, y):
    """The greedy action in double: int for discrete, floats for a box."""
    y = y.astype(np.float64)
    if policy["action_kind"] == BOX:
        low, high = policy["low"].astype(np.float64), policy["high"].astype(np.float64)
        y = y[:policy["actions"]]
        if policy.get("direct"):
            return np.clip(y, low, high)
        t = np.clip(y, -1, 1) if policy["head"] == GAUSSIAN else np.tanh(y)
        return low + (t + 1) / 2 * (high - low)
    if policy["head"] == ATOMS:
        logits = y.reshape(policy["actions"], policy["atoms"])
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        support = np.linspace(policy["value_min"], policy["value_max"], policy["atoms"])
        y = (p * support).sum(axis=1) / p.sum(axis=1)
    return int(np.argmax(y))


# --- sampling, in single precision --------------------------------------------------------------


class Generator:
    """PCG32: XSH-RR 64/32."""

    def __init__(self, seed, stream):
        self.state, self.stream = 0, 2 * stream + 1
        self.draw()
        self.state += seed
        self.draw()

    def draw(self):
        old = self.state % 2**64
        self.state = old * 6364136223846793005 + self.stream
        word, turn = ((old >> 18 ^ old) >> 27) % 2**32, old >> 59
        return (word >> turn | word << (-turn % 32)) % 2**32

    def normal(self):
        """AS 241, PPND7, at the middle of one of 2^31 steps from 0 to 1/2."""
        word = self.draw()
        p = (F(word & 0x7FFFFFFF) + F(0.5)) * F(2.0**-32)
        q = F(0.5) - p
        if q <= F(0.425):
            r = F(0.180625) - q * q
            over = ((F(59.10937472) * r + F(159.29113202)) * r + F(50.434271938)) * r + F(3.3871327179)
            under = ((F(67.1875636) * r + F(78.757757664)) * r + F(17.895169469)) * r + F(1)
            z = q * over / under
        else:
            r = np.sqrt(-log(p)) - F(1.6)
            over = ((F(0.17023821103) * r + F(1.3067284816)) * r + F(2.75681539)) * r + F(1.4234372777)
            z = over / ((F(0.12021132975) * r + F(0.7370016425)) * r + F(1))
        return z if word >> 31 else -z


def sample_softmax(y, rng):
    e = exp(y - y.max())
    weights = [int(F(x) * F(2.0**32)) for x in e]
    mass = F(0)
    for x in e:
        mass += x
    at = (rng.draw() << 32 | rng.draw()) % sum(weights)
    action = next(a for a in range(len(y)) if at < sum(weights[:a + 1]))
    return action, [(y[action] - y.max()) - log(mass)]


def sample(policy, y, rng):
    """An action, and what is recorded beside it: log-probability, numbers drawn."""
    if policy["head"] == LOGITS:
        return sample_softmax(y, rng)
    n, log_prob, drawn, action = policy["actions"], F(0), [], []
    log_std = policy["deviation"] if len(y) == n else y[n:]
    for i in range(n):
        log_s = min(max(log_std[i], F(-20)), F(2))
        s = exp(log_s)
        drawn.append(y[i] + s * rng.normal())
        z = (drawn[i] - y[i]) / s
        log_prob += (F(-0.5) * (z * z) - log_s) - f("0x1.d67f1cp-1")
    for i, u in enumerate(drawn):
        if policy.get("direct"):
            action.append(min(max(u, policy["low"][i]), policy["high"][i]))
            continue
        t = min(max(u, F(-1)), F(1))
        if policy["head"] == TANH_GAUSSIAN:
            t, a = tanh(u), np.abs(u)
            log_prob -= F(2) * ((f("0x1.62e430p-1") - a) - log(F(1) + exp(F(-2) * a)))
        low, high = policy["low"][i], policy["high"][i]
        action.append(min(max(low + (t + F(1)) / F(2) * (high - low), low), high))
    return action, [log_prob, *drawn]


# --- format ---------------------------------------------------------------------------------------


def text(s):
    raw = s.encode()
    return struct.pack("<B", len(raw)) + raw


def floats(x):
    return np.asarray(x, "<f4").tobytes()


def nibbles(numbers):
    """Two numbers of 4 bits in a byte, the first in the lower half; each row begins a byte."""
    rows, count = numbers.shape
    padded = np.zeros((rows, count + count % 2), np.uint8)
    padded[:, :count] = numbers.astype(np.int8).view(np.uint8) & 15
    return (padded[:, 0::2] | padded[:, 1::2] << 4).tobytes()


def header(policy, base_version):
    out = struct.pack("<QQQQQf", policy["run_id"], policy["version"], base_version,
                      policy["updates"], policy["env_steps"], policy["eval_return"])
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
    if policy["head"] == GAUSSIAN:
        out += struct.pack("<B", policy["deviation"] is None)
        if version_of(policy, base_version > 0) == 5:
            out += struct.pack("<B", policy.get("direct", False))
    out += struct.pack("<BB", policy["normalise"], len(policy["layers"]))
    for layer in policy["layers"]:
        outputs, inputs = layer["shape"]
        kind = 1 if layer["conv"] is None else 2
        out += struct.pack("<BIIBB", kind, inputs, outputs, layer["activation"], layer["norm"])
        if kind == 2:
            out += struct.pack("<IIIIBBB", *layer["conv"], 1, 0)  # stride 1, no padding
    if version_of(policy, base_version > 0) == 5:
        entries = b"" if base_version > 0 else contract(policy)
        out += struct.pack("<I", len(entries)) + entries
    return out


def contract(policy):
    """Keys with one byte of length, texts with two."""
    pairs = [(key.encode(), value.encode()) for key, value in policy.get("contract", {}).items()]
    return b"".join(struct.pack("<B", len(key)) + key + struct.pack("<H", len(value)) + value for key, value in pairs)


def deviations(policy):
    own = policy["head"] == GAUSSIAN and policy["deviation"] is not None
    return [policy["deviation"]] if own else []


def version_of(policy, is_change):
    if policy.get("direct") or (policy.get("contract") and not is_change):
        return 5
    if policy["head"] in (GAUSSIAN, TANH_GAUSSIAN):
        return 4
    if policy["layers"][0]["conv"] is not None:
        return 3
    return 1 if policy["precision"] in (FP32, INT8) and not is_change else 2


def closed(version, body):
    out = b"OCTP" + struct.pack("<II", version, 12 + len(body) + 4) + body
    return out + struct.pack("<I", zlib.crc32(out))


def scales_of(policy, layer):
    return layer["scales"][:1] if policy["per_tensor"] else layer["scales"]


def weights(policy, layer):
    if policy["precision"] == FP32:
        return floats(layer["weights"])
    if policy["precision"] in (BF16, FP16):
        return layer["halves"].astype("<u2").tobytes()
    out = floats(scales_of(policy, layer))
    if policy["precision"] == INT4:
        return out + nibbles(layer["multipliers"]) + nibbles(layer["codes"])
    return out + layer["codes"].astype(np.int8).tobytes()


def encode(policy):
    """A complete policy."""
    out = header(policy, 0)
    if policy["normalise"]:
        out += floats(policy["mean"]) + floats(policy["inverse_std"])
    for layer in policy["layers"]:
        out += weights(policy, layer) + floats(layer["bias"])
        if layer["norm"]:
            out += floats(layer["gain"]) + floats(layer["offset"])
    for own in deviations(policy):
        out += floats(own)
    return closed(version_of(policy, False), out)


# --- changes --------------------------------------------------------------------------------------


def all_scales(policy):
    return np.concatenate([scales_of(policy, layer) for layer in policy["layers"]])


def all_others(policy):
    parts = [policy["mean"], policy["inverse_std"]] if policy["normalise"] else []
    for layer in policy["layers"]:
        parts += [layer["bias"]] + ([layer["gain"], layer["offset"]] if layer["norm"] else [])
    return np.concatenate(parts + deviations(policy))


def part(raw):
    """Kind 2: zeros; kind 0: the bytes as they are. Kind 1, compressed, is left to the C."""
    return b"\2" if not any(raw) else b"\0" + raw


def float_parts(new, old):
    """Differences of the words, sign in the lowest bit, in four planes of bytes."""
    d = new.astype("<f4").view(np.uint32).astype(np.int64) - old.astype("<f4").view(np.uint32)
    d = (d + 2**31) % 2**32 - 2**31
    zigzag = np.where(d < 0, -2 * d - 1, 2 * d)
    return b"".join(part((zigzag >> 8 * p & 255).astype(np.uint8).tobytes()) for p in range(4))


def steps(policy, layer):
    """What one step of each code is worth, [outputs][inputs]."""
    one = np.repeat(layer["scales"][:, None].astype(F), layer["codes"].shape[1], axis=1)
    if policy["precision"] == INT4:
        one *= np.repeat(layer["multipliers"].astype(F), GROUP, axis=1)[:, :one.shape[1]]
    return one


def foreseen(new_policy, new, old_policy, old):
    """The old weights on the new grid."""
    to, was = steps(new_policy, new), steps(old_policy, old)
    limit = F(7 if new_policy["precision"] == INT4 else 127)
    ratio = np.where(to > 0, was / np.where(to > 0, to, F(1)), F(0)).astype(F)
    ratio = np.where(to == was, F(1), np.where(ratio < 256, ratio, F(256)))
    return np.clip(np.rint(old["codes"].astype(F) * ratio), -limit, limit).astype(np.int64)


def result_check(policy):
    crc = zlib.crc32(floats(all_others(policy)), zlib.crc32(floats(all_scales(policy))))
    for layer in policy["layers"]:
        if policy["precision"] == INT4:
            crc = zlib.crc32(layer["multipliers"].astype(np.uint8).tobytes(), crc)
        crc = zlib.crc32(layer["codes"].astype(np.int8).tobytes(), crc)
    return crc


def change(base, policy):
    """The policy as a change of base, with no part compressed."""
    out = header(policy, base["version"]) + struct.pack("<I", result_check(policy))
    out += float_parts(all_scales(policy), all_scales(base))
    out += float_parts(all_others(policy), all_others(base))
    for new, old in zip(policy["layers"], base["layers"]):
        if policy["precision"] == INT4:
            moved = new["multipliers"].astype(np.int64) - old["multipliers"]
            out += part((moved & 255).astype(np.uint8).tobytes())
        residual = new["codes"].astype(np.int64) - foreseen(policy, new, base, old)
        out += part((residual & 255).astype(np.uint8).tobytes())
    return closed(version_of(policy, True), out)
