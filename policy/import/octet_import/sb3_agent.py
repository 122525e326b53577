"""Reads agents that Stable-Baselines3 and sb3-contrib saved (model.save), without these and without PyTorch.

The file is a zip: data is JSON, in which everything that is not plain is a pickle in base64; policy.pth is a state dict. The
algorithm follows from the names of the parameters.
"""

import base64
import binascii
import io
import json
import math

import numpy as np
from _onnx import ACTIVATIONS, activation_of
from inert_pickle import Fault, array, load, named, what
from network import Network, floats, layers_of
from spaces import box_of, discrete_of, is_bytes, is_image, kind_of, shape_of
from torch_file import FILE_BYTES_MAX, load_torch

LIBRARIES = ("stable_baselines3.", "sb3_contrib.")
DATA_BYTES_MAX = 1 << 25
OTHER = "torch.onnx.export writes other networks as ONNX models"


def is_agent(archive):
    return {"data", "policy.pth"} <= set(archive.names)


class _Agent:
    """The parts of the file."""

    def __init__(self, archive):
        try:
            self._data = json.loads(archive.read("data", DATA_BYTES_MAX))
        except (ValueError, RecursionError) as error:
            if isinstance(error, Fault):
                raise
            raise Fault("its file data is not JSON: Stable-Baselines3 did not write it, or it is damaged") from None
        if not isinstance(self._data, dict):
            raise Fault("its file data is not a JSON object")
        self.version = ""
        if "_stable_baselines3_version" in archive.names:
            self.version = archive.read("_stable_baselines3_version", 256).decode("utf-8", "replace").strip()
        kwargs = self.item("policy_kwargs")
        self.kwargs = kwargs if isinstance(kwargs, dict) else {}
        self.policy = named(self.item("policy_class"))
        self.use_sde = self.item("use_sde") is True
        self.state = load_torch(archive.read("policy.pth", FILE_BYTES_MAX))
        if not isinstance(self.state, dict) or not all(isinstance(key, str) for key in self.state):
            raise Fault(f"its policy.pth is {what(self.state)}, not a state dict")

    def item(self, key):
        """Returns an attribute of the agent, or None."""
        value = self._data.get(key)
        if not isinstance(value, dict) or ":serialized:" not in value:
            return value
        try:
            return load(io.BytesIO(base64.b64decode(value[":serialized:"], validate=True)))
        except (binascii.Error, TypeError, ValueError) as error:
            raise Fault(f"{key}: {error if isinstance(error, Fault) else 'not base64'}") from None

    def activation(self, usual):
        value = self.kwargs.get("activation_fn")
        if value is None:
            return usual
        name = activation_of(named(value).removeprefix("torch.nn.modules.activation."))
        if name is None:
            raise Fault(f"activation_fn {named(value) or what(value)}; policies have {', '.join(ACTIVATIONS)}")
        return name

    def number(self, key, usual):
        value = self.kwargs.get(key, usual)
        return float(array(key, value))

    def extractor(self):
        """Returns the name of the class that makes features of observations."""
        value = self.kwargs.get("features_extractor_class")
        if value is not None:
            return named(value) or what(value)
        name = self.policy.rpartition(".")[2]
        return "NatureCNN" if "Cnn" in name else "CombinedExtractor" if "MultiInput" in name else "FlattenExtractor"


def _check_classes(agent):
    if not agent.policy.startswith(LIBRARIES):
        raise Fault(f"policy_class {agent.policy or 'is missing'}: only policies of Stable-Baselines3 and sb3-contrib can be read; {OTHER}")
    extractor, allowed = agent.extractor(), ("FlattenExtractor", "CombinedExtractor", "NatureCNN")
    if extractor not in allowed and extractor not in [f"stable_baselines3.common.torch_layers.{name}" for name in allowed]:
        raise Fault(f"features_extractor_class {extractor} cannot be read; {', '.join(allowed)} can; {OTHER}")
    if any(key.startswith("lstm_") or ".weight_ih_" in key for key in agent.state):
        raise Fault("a recurrent network (RecurrentPPO) cannot be read: policies have no memory")
    if any(key.endswith(".ra_mean") for key in agent.state):
        raise Fault(f"batch renormalisation (CrossQ) cannot be read; {OTHER}")


def _begin(agent):
    """Returns the network up to the features."""
    space = agent.item("observation_space")
    pixels = is_image(space)
    network = Network(shape_of(space), kind_of(space) == "Box" and is_bytes(space))
    if pixels and agent.kwargs.get("normalize_images", True) is not False:
        network.add("Div", 255, label="normalize_images")
    if agent.extractor().rpartition(".")[2] == "NatureCNN":
        if not pixels:
            raise Fault("NatureCNN, but its observations are not pictures of bytes")
        _nature(network, agent)
    elif kind_of(space) == "Box" and is_bytes(space):
        network.add("Flatten", axis=1)
    return network


def _nature(network, agent):
    """Adds the NatureCNN that acts: three convolutions and a dense layer, each with a ReLU."""
    prefixes = [f"{owner}features_extractor" for owner in ("pi_", "", "q_net.", "quantile_net.", "actor.")]
    prefix = next((one for one in prefixes if f"{one}.cnn.0.weight" in agent.state), None)
    if prefix is None:
        raise Fault("its policy.pth has no features_extractor.cnn.0.weight of NatureCNN")
    for number, stride in ((0, 4), (2, 2), (4, 1)):
        name = f"{prefix}.cnn.{number}"
        network.conv(name, agent.state.get(f"{name}.weight"), agent.state.get(f"{name}.bias"), stride)
        network.activate("relu", name)
    network.add("Flatten", axis=1)
    _layer(network, agent, f"{prefix}.linear.0")
    network.activate("relu", f"{prefix}.linear.0")


def _mlp(network, agent, prefix, activation, last=None):
    """Adds PREFIX0, PREFIX2 … with the activation behind each, or with last behind the last one ("": nothing)."""
    layers = layers_of(agent.state, prefix)
    for number, (label, weight, bias) in enumerate(layers):
        network.dense(label, weight, bias)
        name = activation if last is None or number + 1 < len(layers) else last
        if name:
            network.activate(name, label)
    return len(layers)


def _layer(network, agent, name):
    if f"{name}.weight" not in agent.state:
        raise Fault(f"its policy.pth has no {name}.weight")
    network.dense(name, agent.state[f"{name}.weight"], agent.state.get(f"{name}.bias"))


# ---- actions

def _actions(network, agent, is_squashed):
    """Takes the action space. Returns whether it is discrete."""
    space = agent.item("action_space")
    kind = kind_of(space)
    if kind == "Discrete":
        network.actions = discrete_of(space, "actions")
        if network.actions != network.width:
            raise Fault(f"{network.actions} actions, but the network has {network.width} outputs")
        return True
    if kind != "Box":
        raise Fault(f"actions of {kind or what(space)}; policies have those of Discrete and Box")
    low, high = box_of(space)
    if low.size != network.width:
        raise Fault(f"a box of {low.size} actions, but the network has {network.width} outputs")
    if np.all(np.isfinite(low) & np.isfinite(high)):
        network.bounds = low, high
    network.unit_actions = is_squashed
    return False


def _sde_note(network):
    network.notes.append("use_sde: the exploration noise depends on the state and is left out; sampled actions are the mean")


def _on_policy(network, agent):
    """PPO, A2C, TRPO, MaskablePPO."""
    activation = agent.activation("tanh")
    for part in ("shared_net", "policy_net"):  # the first: of versions before 1.8
        _mlp(network, agent, f"mlp_extractor.{part}.", activation)
    _layer(network, agent, "action_net")
    is_squashed = agent.use_sde and agent.kwargs.get("squash_output") is True
    if is_squashed:
        network.add("Tanh", label="squash_output")
    if _actions(network, agent, is_squashed):
        network.head = "logits"
        if ".maskable." in agent.policy:
            network.notes.append("the mask of invalid actions is left out: the policy may choose them")
    elif agent.use_sde:
        _sde_note(network)
    elif "log_std" in agent.state:
        network.log_std("log_std", agent.state["log_std"])


def _values(network, agent):
    """DQN."""
    _mlp(network, agent, "q_net.q_net.", agent.activation("relu"), "")
    if not _actions(network, agent, False):
        raise Fault("values of actions of a Box")
    network.head = "values"


def _quantiles(network, agent):
    """QRDQN: the value of an action is the mean of its quantiles, which is a layer, too. Outputs are [quantile][action]."""
    *hidden, (label, weight, bias) = layers_of(agent.state, "quantile_net.quantile_net.")
    for name, *parts in hidden:
        network.dense(name, *parts)
        network.activate(agent.activation("relu"), name)
    count = discrete_of(agent.item("action_space"), "actions")
    matrix = floats(f"{label}.weight", weight, 2)
    if matrix.shape[0] % count != 0 or matrix.shape[1] != network.width:
        raise Fault(f"{label}.weight: an array of shape {matrix.shape}; expected quantiles of {count} actions")
    offset = floats(f"{label}.bias", bias, 1) if bias is not None else np.zeros(matrix.shape[0])
    if offset.size != matrix.shape[0]:
        raise Fault(f"{label}.bias: an array of shape {offset.shape}; expected ({matrix.shape[0]},)")
    network.add("Gemm", matrix.reshape(-1, count, matrix.shape[1]).mean(0), offset.reshape(-1, count).mean(0), label=label, transB=1)
    network.width = count
    _actions(network, agent, False)
    network.head = "values"


def _squashed(network, agent):
    """SAC and TQC."""
    _mlp(network, agent, "actor.latent_pi.", agent.activation("relu"))
    if "actor.log_std.weight" in agent.state:
        features = network.at, network.width
        _layer(network, agent, "actor.log_std")
        ends = [network.model.constant(np.float32(end)) for end in (-20, 2)]
        network.model.add("Clip", network.at, *ends, output="log_std")
        network.model.output("log_std")
        network.has_log_std = True
        network.at, network.width = features
        _layer(network, agent, "actor.mu")
        network.add("Tanh", label="squash_output")
    else:
        _state_dependent(network, agent)
    if _actions(network, agent, True):
        raise Fault("a squashed Gaussian with discrete actions")


def _state_dependent(network, agent):
    """SAC and TQC with use_sde: tanh of a mean that is clipped at clip_mean. tanh is monotonic: clipping its result at
    tanh(clip_mean) is the same, and is what policies can do."""
    is_clipped = "actor.mu.0.weight" in agent.state
    _layer(network, agent, "actor.mu.0" if is_clipped else "actor.mu")
    network.add("Tanh", label="squash_output")
    if is_clipped:
        end = agent.number("clip_mean", 2.0)
        if not (math.isfinite(end) and end > 0):
            raise Fault(f"clip_mean is {end:g}; expected a number above 0")
        network.add("Gemm", np.eye(network.width), label="actor.mu")
        network.add("Clip", -math.tanh(end), math.tanh(end), label="clip_mean")
    _sde_note(network)


def _deterministic(network, agent):
    """TD3, DDPG."""
    _mlp(network, agent, "actor.mu.", agent.activation("relu"), "tanh")
    if _actions(network, agent, True):
        raise Fault("an actor of TD3 with discrete actions")


def _random_search(network, agent):
    """ARS."""
    space, is_linear = agent.item("action_space"), agent.policy.endswith(".ARSLinearPolicy")
    is_squashed = kind_of(space) == "Box" and agent.kwargs.get("squash_output", not is_linear) is not False
    _mlp(network, agent, "action_net.", agent.activation("relu"), "tanh" if is_squashed else "")
    if _actions(network, agent, is_squashed):
        network.head = "values"


_KINDS = [("quantile_net.quantile_net.0.weight", _quantiles), ("q_net.q_net.0.weight", _values), ("actor.latent_pi.", _squashed),
          ("actor.log_std", _squashed), ("actor.mu.0.weight", _deterministic), ("action_net.0.weight", _random_search),
          ("action_net.weight", _on_policy)]


def read_agent(archive):
    """Returns the network of an agent."""
    agent = _Agent(archive)
    _check_classes(agent)
    add = next((add for prefix, add in _KINDS if any(key.startswith(prefix) for key in agent.state)), None)
    if add is None:
        raise Fault(f"a policy of {agent.policy} cannot be read; those of PPO, A2C, DQN, SAC, TD3, DDPG, QRDQN, TQC, TRPO, ARS and "
                    "MaskablePPO can")
    network = _begin(agent)
    add(network, agent)
    library = "sb3-contrib" if agent.policy.startswith("sb3_contrib.") else "Stable-Baselines3"
    network.is_agent = True
    network.notes.insert(0, f"{agent.policy.rpartition('.')[2]} of {library} {agent.version}".strip())
    return network
