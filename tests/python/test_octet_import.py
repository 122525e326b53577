"""Policies from elsewhere: networks of PyTorch, Stable-Baselines3, rsl_rl and NumPy against what they answer themselves."""

import math
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

import octet

DATA = pathlib.Path(__file__).parents[1] / "data/import"
pytestmark = pytest.mark.skipif("OCTET_PROGRAM" not in os.environ and octet._lib.own_file("bin/octet") is None,
                                reason="OCTET_PROGRAM does not name octet")


def layers(rng, *sizes, activation="elu"):
    last = len(sizes) - 2
    return [(rng.normal(size=(sizes[i + 1], sizes[i])) / np.sqrt(sizes[i]), rng.normal(size=sizes[i + 1]),
             None if i == last else activation) for i in range(last + 1)]


def sigmoid(h):
    return 1 / (1 + np.exp(-h))


def softplus(h):
    return np.logaddexp(h, 0)


FUNCTIONS = {
    "linear": lambda h: h, "relu": lambda h: np.maximum(h, 0), "tanh": np.tanh,
    "elu": lambda h: np.where(h > 0, h, np.expm1(np.minimum(h, 0))), "silu": lambda h: h * sigmoid(h),
    "gelu": lambda h: h / 2 * (1 + np.vectorize(math.erf)(h / math.sqrt(2))),
    "gelu_tanh": lambda h: h / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3))), "sigmoid": sigmoid,
    "softplus": softplus, "mish": lambda h: h * np.tanh(softplus(h)), "leaky_relu": lambda h: np.where(h > 0, h, 0.01 * h),
    "relu6": lambda h: np.clip(h, 0, 6), "hard_swish": lambda h: h * np.clip(h + 3, 0, 6) / 6}


def computed(given, x):
    for weight, bias, activation in given:
        x = FUNCTIONS[activation or "linear"](x @ weight.T + bias)
    return x


# ---- arrays alone

@pytest.mark.parametrize("activation", octet._onnx.ACTIVATIONS)
def test_lists_of_layers(activation):
    rng = np.random.default_rng(1)
    net, obs = layers(rng, 6, 32, 16, 4, activation=activation), (rng.normal(size=(400, 6)) * 3).astype(np.float32)
    policy, report = octet.import_policy(net, obs, actions=4, precision="fp32")
    np.testing.assert_allclose(policy.outputs(obs.astype(np.float32)), computed(net, obs), rtol=1e-5, atol=1e-5)
    assert report.fp32_max_abs < 1e-5 and report.fp32_agreement == 1 and report.rows == 400
    assert report.observed == "400 observations" and report.max_abs is None and report.saturated == ()
    assert policy.info.eval_return is None


def test_eight_bits_and_four(tmp_path):
    rng = np.random.default_rng(2)
    net, obs = layers(rng, 6, 64, 64, 4), rng.normal(size=(1000, 6)) * [1, 10, 100, 1, 1, 1] + [0, 0, 500, 0, 0, 0]
    found = {}
    for precision in ["int8", "int4"]:
        policy, report = octet.import_policy(net, obs, actions=4, head="logits", precision=precision, path=tmp_path / "p.oct")
        assert policy.info.precision == precision and report.head == "logits"
        assert len(report.saturated) == 3 and report.kl > 0
        assert (tmp_path / "p.oct").stat().st_size == report.bytes
        assert octet.Policy(tmp_path / "p.fp32.oct").info.precision == "fp32"
        assert (policy.act(obs) == np.argmax(computed(net, obs), 1)).mean() > {"int8": 0.97, "int4": 0.8}[precision]
        policy.sampler(seed=1, rows=len(obs)).sample(obs)
        found[precision] = report
    assert found["int4"].bytes < found["int8"].bytes and found["int4"].relative_l2 > found["int8"].relative_l2


def test_normalisation_scale_and_offset_are_inside():
    rng = np.random.default_rng(3)
    net, obs = layers(rng, 5, 24, 3), rng.normal(size=(300, 5)) * 4 + 7
    mean, deviation = rng.normal(size=5), rng.uniform(0.5, 2, size=5)
    policy, report = octet.import_policy(net, obs, normalizer=(mean, deviation), action_scale=0.25,
                                         action_offset=[1, 2, 3], bounds=(-1, [3, 2.5, 4]), precision="fp32")
    want = np.clip(computed(net, (obs - mean) / deviation) * 0.25 + [1, 2, 3], -1, [3, 2.5, 4])
    np.testing.assert_allclose(policy.act(obs), want, atol=1e-4)
    assert report.head == "gaussian" and report.fp32_agreement == 1
    assert any("no log deviations" in note for note in report.notes)


def test_an_onnx_model_takes_them_too(tmp_path):
    obs, want = np.load(DATA / "tanh.obs.npy"), np.load(DATA / "tanh.out.npy")
    mean, deviation = np.array([1.0, -2, 0.5, 3]), np.array([0.5, 2, 1, 4])
    np.savez(tmp_path / "n.npz", mean=mean, std=deviation)
    for normalizer in ((mean, deviation), tmp_path / "n.npz"):
        policy, report = octet.import_policy(DATA / "tanh.onnx", obs * deviation + mean, normalizer=normalizer,
                                             action_scale=[0.5, 2], action_offset=1.5, precision="fp32")
        np.testing.assert_allclose(policy.act((obs * deviation + mean).astype(np.float32)), want * [0.5, 2] + 1.5, atol=1e-4)
        assert report.actions_clipped == 0 and np.allclose(report.action_ranges[0], (want[:, 0].min() / 2 + 1.5, want[:, 0].max() / 2 + 1.5), atol=1e-4)
    assert policy.info.action_low == (-np.inf, -np.inf)


def test_an_actor_without_bounds_is_a_box():
    rng = np.random.default_rng(4)
    net, obs = layers(rng, 5, 24, 3), rng.normal(size=(300, 5))
    state = {f"actor.{2 * n}.{part}": value for n, layer in enumerate(net) for part, value in zip(("weight", "bias"), layer, strict=False)}
    policy, report = octet.import_policy(state, obs, precision="fp32")
    np.testing.assert_allclose(policy.act(obs), computed(net, obs), rtol=1e-4, atol=1e-5)
    assert any("no bounds" in note for note in report.notes) and policy.info.action_high == (np.inf,) * 3


def test_state_of_rsl_rl():
    rng = np.random.default_rng(4)
    net, obs = layers(rng, 5, 24, 12, 3), rng.normal(size=(300, 5))
    state = {"std": np.full(3, 0.5)}
    for number, (weight, bias, _) in enumerate(net):
        state |= {f"actor.{2 * number}.weight": weight, f"actor.{2 * number}.bias": bias,
                  f"critic.{2 * number}.weight": weight[:1], f"critic.{2 * number}.bias": bias[:1]}
    mean, std = rng.normal(size=(1, 5)), rng.uniform(0.5, 2, size=(1, 5))
    saved = {"model_state_dict": state, "obs_norm_state_dict": {"_mean": mean, "_var": std**2, "_std": std}}
    policy, report = octet.import_policy(saved, obs, bounds=(-100, 100), precision="fp32")
    np.testing.assert_allclose(policy.act(obs), computed(net, (obs - mean) / (std + 1e-2)), rtol=1e-4, atol=1e-4)
    assert report.head == "gaussian"
    rows = np.tile(obs[:1], (4000, 1))
    drawn, _ = policy.sampler(seed=1, rows=len(rows)).sample(rows)
    np.testing.assert_allclose(drawn.std(0), 0.5, rtol=0.1)


@pytest.mark.parametrize(("changed", "words"), [
    ({"std": [0.5, 0, 0.5]}, "std: a deviation of 0; allowed are finite numbers above 0"), ({"std": [0.5, 0.5, -1]}, "std: a deviation of -1; "),
    ({"std": [np.nan] * 3}, "std: a deviation of nan; "), ({"std": [np.inf] * 3}, "std: a deviation of inf; "),
    ({"obs_norm_state_dict": {"running_mean": 0, "running_var": 1}},
     "obs_norm_state_dict: expected a dictionary with _mean and _std; found running_mean, running_var$"),
    ({"obs_norm_state_dict": 3}, "obs_norm_state_dict: expected a dictionary with _mean and _std; found int$")])
@pytest.mark.filterwarnings("error")
def test_a_state_whose_deviation_or_normaliser_is_none_is_refused(changed, words):
    state = {"actor.0.weight": np.ones((3, 5)), "std": np.ones(3)}
    with pytest.raises(octet.OctetError, match=words):
        octet.import_policy({**state, **changed}, np.ones((3, 5)), bounds=(-1, 1))
    for empty in (None, {}):  # of a runner without a normaliser
        assert octet.import_policy({**state, "obs_norm_state_dict": empty}, np.ones((3, 5)), bounds=(-1, 1), precision="fp32")[0].info.action_count == 3


def test_models_as_files_and_bytes():
    obs = np.load(DATA / "tanh.obs.npy")
    want = np.load(DATA / "tanh.out.npy")
    for source in [DATA / "tanh.onnx", (DATA / "tanh.onnx").read_bytes()]:
        policy, report = octet.import_policy(source, obs, actions=2, precision="fp32")
        np.testing.assert_allclose(policy.outputs(obs), want, rtol=1e-5, atol=1e-5)
    assert any("head logits makes a distribution" in note and "--" not in note for note in report.notes)
    assert octet.import_policy(DATA / "tanh.onnx", actions=2).report.observed.endswith("random observations; observations or env calibrate the policy")
    policy, report = octet.import_policy(DATA / "tanh.onnx", env="CartPole-v1")
    assert "episodes of CartPole-v1" in report.observed and policy.info.env_id == "CartPole-v1"


def test_wrong_input_is_said():
    rng = np.random.default_rng(5)
    net = layers(rng, 4, 8, 2)
    for source, arguments, words in [
        (net, {}, "the model: it is not known whether output 'outputs' is for discrete or for box actions; give actions N, or env, or bounds"),
        (net, {"actions": 2, "precision": "int2"}, "precision is 'int2'; allowed is fp32, int8"),
        (net, {"actions": 2, "observations": np.zeros((10, 5))}, "rows of 5 numbers"),
        (net, {"actions": 2, "env": "CartPole-v2"}, "did you mean CartPole-v1"),
        (net, {"bounds": (np.inf, -np.inf)}, "bounds: action 0 has [inf, -inf]; allowed are numbers of float32, low below high; infinite: no bound"),
        (net, {"bounds": (-1, [2, -1])}, "bounds: action 1 has [-1.0, -1.0]"), (net, {"bounds": (np.nan, 1)}, "bounds: action 0 has [nan, 1.0]"),
        (net, {"bounds": ([0, 0], [1, 1, 1])}, "bounds: shape mismatch"), (net, {"bounds": (0, 1, 2)}, "allowed is (low, high)"), (net, {"bounds": 3}, "allowed is (low, high)"), (net, {"bounds": "ab"}, "allowed is (low, high)"),
        (net, {"env": "CartPole-v1", "bounds": (0, 1)}, "bounds is for box actions"), (net, {"actions": 2, "unit_actions": True}, "unit_actions is for box actions"),
        ([(np.zeros((2, 4)), None, "tanh")], {"unit_actions": True}, "unit_actions needs finite bounds, from bounds or env"),
        ([(np.zeros((2, 4)), None, "selu")], {"actions": 2}, "activation 'selu'; allowed are linear, relu, tanh, elu, silu, gelu, "),
        ([(np.zeros(4), None)], {"actions": 2}, "weights of shape (4,)"),
        ([(np.zeros((2, 4)), np.zeros(3))], {"actions": 2}, "layer 0: a bias of shape (3,), expected (2,)"),
        ([np.zeros(4)], {"actions": 2}, "a list of (weight, bias, activation)"),
        ([(np.zeros((3, 4)), None), (np.zeros((2, 4)), None)], {"actions": 2}, "take 4 numbers and give 2; its input has 3"),
        ([(np.full((2, 4), np.nan), None)], {"actions": 2}, "not finite"),
        ({"critic.0.weight": np.zeros((1, 4))}, {"actions": 2}, "the state has no actor"),
        ({"memory_a.rnn.weight_ih_l0": np.zeros((8, 4)), "actor.0.weight": np.zeros((2, 8))}, {"actions": 2},
         "the state is of a recurrent network"),
        (net, {"actions": 2, "normalizer": 3}, "normalizer: expected a pair"),
        (7, {}, "a policy cannot be made of int"),
        (net, {"actions": 3}, "the model: output 'outputs' has 2 numbers, but there are 3 actions"),
        (net, {"actions": 2, "observations": np.zeros((9, 3))}, "observations has rows of 3 numbers, but an observation of the model has 4"),
        (net, {"actions": 2, "observations": np.full((9, 4), np.nan)}, "observations: no row has only finite numbers"),
        (net, {"actions": 2, "options": {"numpy": 2}}, "options needs env"),
        (net, {"env": "CartPole-v1", "options": {"wind": 1}}, "environment 'CartPole-v1': "), (net, {"env": "CartPole-v1", "options": 3}, "options: 3 is neither"),
        (net, {"env": "CartPole-v1", "seed": -1}, "seed: -1 is not in 0"),
        (b"no model", {"actions": 2}, "not an ONNX model"),
        (DATA / "tanh.onnx", {"env": "CartPole-v1", "action_scale": 2}, "action_scale is for box actions"),
        (DATA / "tanh.onnx", {"normalizer": ([0] * 4, [1, 1, 0, 1])}, "normalizer: number 3 has the mean 0 and the deviation 0"),
        (DATA / "tanh.onnx", {"normalizer": ([0, 0], [1, 1])}, "the normaliser has 2 numbers, but an observation has 4"),
    ]:
        with pytest.raises(octet.OctetError, match=None) as said:
            octet.import_policy(source, **arguments)
        assert words in str(said.value) and "--" not in str(said.value) and "octet-import" not in str(said.value), str(said.value)


def test_observations_are_played_with_the_options_and_the_seed():
    net = layers(np.random.default_rng(5), 4, 16, 2)
    same = [octet.import_policy(net, env="CartPole-v1", seed=seed)[1] for seed in (7, 7, 8)]
    assert same[0] == same[1] != same[2] and "random" not in same[0].observed
    short, text = (octet.import_policy(net, env="CartPole-v1", options=options)[1] for options in ({"max_episode_steps": 5}, "max_episode_steps=5"))
    assert short == text and short.rows == 50 < same[0].rows


# ---- activations as exporters write them

# Nodes "output Operation inputs", from x to y. A number is a constant, key=value an attribute.
FORMS = [
    (11, "s Sigmoid x|y Mul x s"), (11, "d Div x 1.4142135|e Erf d|u Add e 1|p Mul x u|y Mul p 0.5"),
    (11, "d Div x 1.4142135|e Erf d|u Add e 1|h Mul x 0.5|y Mul u h"),
    (11, "q Mul x x|c Mul x q|k Mul c 0.044715|a Add x k|b Mul a 0.7978846|t Tanh b|u Add t 1|h Mul x 0.5|y Mul h u"),
    (11, "c Pow x 3|k Mul 0.044715 c|a Add x k|b Mul 0.7978846 a|t Tanh b|u Add 1 t|h Mul u 0.5|y Mul x h"),
    (11, "s Softplus x|t Tanh s|y Mul x t"), (11, "y Clip x 0 6"), (7, "y Clip x min=0 max=6"),
    (11, "m Max x 0|y Min m 6"), (11, "y LeakyRelu x alpha=0.01"), (11, "y LeakyRelu x alpha=0"),
    (11, "y LeakyRelu x alpha=1"), (20, "y Gelu x"), (18, "y Mish x"), (11, "y Softplus x"),
    (11, "k Mul x 2|s Softplus k|y Div s 2"), (11, "m Neg x|e Exp m|d Add e 1|y Div 1 d")]


def written_model(nodes, opset):
    """A dense layer, the nodes, and another layer, by the package onnx."""
    onnx = pytest.importorskip("onnx")
    rng, constants, made = np.random.default_rng(5), {}, []
    for name, value in (("first", rng.normal(size=(6, 8))), ("begin", rng.normal(size=8)), ("last", rng.normal(size=(8, 3)) / 3), ("bias", rng.normal(size=3))):
        constants[name] = value.astype(np.float32)
    made.append(onnx.helper.make_node("Gemm", ["obs", "first", "begin"], ["x"]))
    for node in nodes.split("|"):
        output, operation, *words = node.split()
        constants |= {word: np.float32(word) for word in words if word[0].isdigit()}
        attributes = {key: float(value) for key, _, value in (word.partition("=") for word in words) if value}
        made.append(onnx.helper.make_node(operation, [word for word in words if "=" not in word], [output], **attributes))
    made.append(onnx.helper.make_node("Gemm", ["y", "last", "bias"], ["values"]))
    ports = [[onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, width])] for name, width in (("obs", 6), ("values", 3))]
    graph = onnx.helper.make_graph(made, "g", *ports, [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


def answered(model, obs):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: obs})[0]


@pytest.mark.parametrize("opset, nodes", FORMS)
def test_written_out_activations_are_those_of_onnxruntime(opset, nodes):
    obs = (np.random.default_rng(6).normal(size=(500, 6)) * 2).astype(np.float32)
    model = written_model(nodes, opset)
    policy, report = octet.import_policy(model, obs, actions=3, precision="fp32")
    np.testing.assert_allclose(policy.outputs(obs), answered(model, obs), rtol=1e-5, atol=1e-5)
    assert report.fp32_max_abs < 1e-5


# ---- maps: convolutions and pools

def maps_model(nodes, shape, obs_type=1, port=None):
    """A model of nodes (operation, weights or None, attributes) over maps of this shape, then a dense layer of three values.
    port: the shape of an observation, if a node transposes it."""
    onnx = pytest.importorskip("onnx")
    rng, made, constants, at, channels = np.random.default_rng(8), [], {}, "obs", shape[0]
    for number, (operation, weights, attributes) in enumerate(nodes):
        names = [at]
        if operation == "Conv":
            filters = rng.normal(size=(weights[0], channels, *weights[1:])) / np.sqrt(np.prod(weights[1:]))
            constants[f"w{number}"] = filters.astype(np.float32)
            constants[f"b{number}"] = rng.normal(size=weights[0]).astype(np.float32)
            channels = weights[0]
            names += [f"w{number}", f"b{number}"]
        elif weights is not None:
            constants[f"c{number}"] = np.asarray(weights)
            names.append(f"c{number}")
        at = f"v{number}"
        made.append(onnx.helper.make_node(operation, names, [at], **attributes))
    made.append(onnx.helper.make_node("Flatten", [at], ["row"], axis=1))
    port_of = lambda name, kind, *sizes: onnx.helper.make_tensor_value_info(name, kind, [None, *sizes])
    tensors = [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = onnx.helper.make_graph(made, "g", [port_of("obs", obs_type, *(port or shape))], [port_of("row", 1, None)], tensors)
    model = onnx.shape_inference.infer_shapes(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8))
    width = next(one for one in model.graph.output if one.name == "row").type.tensor_type.shape.dim[1].dim_value
    last = (rng.normal(size=(width, 3)) / width**0.5).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(last, "last"))
    model.graph.node.append(onnx.helper.make_node("MatMul", ["row", "last"], ["values"]))
    del model.graph.output[:]
    model.graph.output.append(port_of("values", 1, 3))
    return model.SerializeToString()


RELU, CHANNELS = ("Relu", None, {}), np.float32([0.5, -2, 1, 3])[:, None, None]
MAPS = [
    ((4, 20, 18), [("Conv", (8, 8, 8), {"strides": [4, 4]}), RELU, ("Conv", (6, 2, 2), {"strides": [2, 1]}), RELU]),  # as NatureCNN
    ((3, 9, 7), [("Conv", (4, 3, 3), {"pads": [1, 1, 1, 1]}), ("MaxPool", None, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
                 RELU, ("Conv", (5, 3, 3), {"pads": [1, 1, 1, 1]}), RELU, ("MaxPool", None, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})]),
    ((2, 16, 17), [("Conv", (3, 16, 5), {"strides": [1, 3], "pads": [0, 2, 3, 1]}), RELU]),
    *(((2, 7, 8), [("Conv", (3, 4, 3), {"auto_pad": way, "strides": [2, 3]}), RELU]) for way in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    *(((2, 8, 7), [("Conv", (3, 3, 3), {}), RELU, (pool, None, {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1})])
      for pool in ("MaxPool", "AveragePool")),
    ((2, 8, 9), [("Conv", (3, 3, 3), {}), ("AveragePool", None, {"kernel_shape": [4, 3], "strides": [3, 2], "pads": [1, 2, 2, 0]}), ("Tanh", None, {})]),
    ((2, 8, 9), [("Conv", (3, 3, 3), {}), RELU, ("AveragePool", None, {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"})]),
    ((2, 6, 9), [("Conv", (4, 3, 3), {"pads": [1] * 4}), RELU, ("GlobalAveragePool", None, {})]),
    ((2, 6, 9), [("Conv", (4, 3, 3), {"pads": [1] * 4}), ("GlobalMaxPool", None, {}), RELU]),
    # What is done to a map around pools: after them it becomes part of the convolution, or of the next layer.
    ((2, 6, 9), [("Conv", (4, 3, 3), {}), ("AveragePool", None, {"kernel_shape": [2, 2]}), ("Mul", CHANNELS, {}), ("Add", CHANNELS, {}), RELU]),
    ((2, 6, 9), [("Conv", (4, 3, 3), {}), ("MaxPool", None, {"kernel_shape": [2, 2]}), ("Mul", np.abs(CHANNELS), {}), ("Sub", CHANNELS, {}), RELU]),
    ((2, 6, 9), [("Conv", (4, 3, 3), {}), RELU, ("Mul", np.abs(CHANNELS), {}), ("Add", CHANNELS, {}),
                 ("MaxPool", None, {"kernel_shape": [2, 2]}), ("Mul", CHANNELS, {}), ("Conv", (2, 2, 2), {}), ("Elu", None, {})]),
    # Sequences.
    ((5, 30), [("Conv", (6, 7), {"strides": [3], "pads": [2, 4]}), RELU, ("MaxPool", None, {"kernel_shape": [2], "strides": [2]}),
               ("Conv", (4, 3), {"auto_pad": "SAME_LOWER"}), RELU]),
    ((3, 12), [("Conv", (6, 5), {}), RELU, ("GlobalAveragePool", None, {})]),
]


@pytest.mark.parametrize("shape, nodes", MAPS)
def test_convolutions_and_pools_are_those_of_onnxruntime(shape, nodes):
    obs = np.random.default_rng(6).normal(size=(200, *shape)).astype(np.float32)
    model = maps_model(nodes, shape)
    policy, report = octet.import_policy(model, obs, actions=3, precision="fp32")
    rows = np.ascontiguousarray(np.moveaxis(obs, 1, -1))
    np.testing.assert_allclose(policy.outputs(rows), answered(model, obs), rtol=1e-5, atol=1e-5)
    assert report.fp32_max_abs < 1e-5


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("offset", [0, 127])
def test_bytes_of_pictures_are_scaled_before_a_padded_convolution(is_last, offset):
    """Channels first, or last and transposed. An offset becomes part of the policy's normalisation, before the padding."""
    shape = (12, 10, 4) if is_last else (4, 12, 10)  # of an observation
    nodes = [("Cast", None, {"to": 1}), *([("Sub", np.float32(offset), {})] if offset else []), ("Div", np.float32(255), {}),
             *([("Transpose", None, {"perm": [0, 3, 1, 2]})] if is_last else []),
             ("Conv", (6, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}), RELU]
    model = maps_model(nodes, (4, 12, 10), obs_type=2, port=shape)
    obs = np.random.default_rng(6).integers(0, 256, (100, *shape)).astype(np.uint8)
    policy, report = octet.import_policy(model, obs, actions=3, precision="fp32")
    rows = obs if is_last else np.ascontiguousarray(np.moveaxis(obs, 1, -1))
    np.testing.assert_allclose(policy.outputs(rows), answered(model, obs), rtol=1e-5, atol=1e-5)
    assert report.fp32_max_abs < 1e-5


def test_maps_that_policies_do_not_have_are_refused():
    conv = ("Conv", (4, 3, 3), {})
    for shape, nodes, words in [
        ((2, 9, 9), [("Conv", (4, 3, 3), {"dilations": [2, 2]})], "(Conv): it has dilations, which policies do not have: train with a larger kernel"),
        ((2, 9, 9), [conv, ("Conv", (4, 17, 3), {"pads": [9, 1, 9, 1]})], "(Conv): its kernel has 17 numbers and a stride of 1"),
        ((2, 9, 9), [("Conv", (4, 3, 3), {"pads": [3, 0, 0, 0]})], "(Conv): its kernel of 3 numbers does not fit an axis of 9 numbers with padding of 3 and 0"),
        ((2, 40, 40), [conv, RELU, ("GlobalAveragePool", None, {})], "(GlobalAveragePool): its kernel has 38 numbers"),
        ((2, 9, 9), [("MaxPool", None, {"kernel_shape": [2, 2]})], "(MaxPool): it reads the observation, but policies have a convolution before a pool"),
        ((2, 9, 9), [conv, ("AveragePool", None, {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1})], "count_include_pad=False"),
        ((2, 9, 9), [conv, RELU, ("Add", CHANNELS, {}), ("Conv", (2, 3, 3), {"pads": [1] * 4})], "something is added to its map before its padding of zeros"),
        ((2, 9, 9), [conv, RELU, ("Mul", CHANNELS, {}), ("MaxPool", None, {"kernel_shape": [2, 2]})], "(MaxPool): a factor before it is not above 0"),
        ((2, 9, 9), [conv, RELU, ("MaxPool", None, {"kernel_shape": [2, 2]}), ("Mul", np.float32(2), {}), ("Tanh", None, {})], "(Tanh): its input is scaled after a pool"),
    ]:
        with pytest.raises(octet.OctetError) as said:
            octet.import_policy(maps_model(nodes, shape), actions=3, precision="fp32")
        assert words in str(said.value), str(said.value)


def test_activations_are_numbered_as_in_the_header():
    header = (pathlib.Path(__file__).parents[2] / "include/octet/learner.h").read_text()
    for number, name in enumerate(octet._onnx.ACTIVATIONS):
        assert re.search(rf"\bOCTET_LEARNER_{name.upper()} = {number}\b", header)
    words = re.search(r"= 0,(.*?)\};", header[header.index("OCTET_LEARNER_LINEAR"):], re.S)[1]
    assert len(re.findall("OCTET_LEARNER", words)) == len(octet._onnx.ACTIVATIONS) - 1
    assert set(FUNCTIONS) == set(octet._onnx.ACTIVATIONS)


# ---- PyTorch

def test_modules_of_torch():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    act, layer, block = nn.ELU(), nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.Tanh())
    normed = torch.nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
    for module, shape, arguments in [
        (nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.Tanh(), nn.Sequential(nn.Linear(32, 16), nn.ELU()),
                       nn.Dropout(), nn.Linear(16, 3)), (8,), {"actions": 3}),
        (nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.BatchNorm1d(8), nn.Sigmoid(), nn.Linear(8, 2)), (3, 4),
         {"actions": 2}),
        (nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 4 * 3, 5)), (3, 6, 5), {"actions": 5}),
        (nn.Sequential(nn.Conv2d(4, 6, 8, stride=4), nn.ReLU(), nn.Conv2d(6, 5, (3, 2), padding=1), nn.MaxPool2d((3, 2), 2, padding=1), nn.ReLU(),
                       nn.Flatten(), nn.Linear(5 * 2 * 3, 5)), (4, 23, 21), {"actions": 5}),
        (nn.Sequential(nn.Conv2d(2, 3, (4, 3), padding="same"), nn.BatchNorm2d(3), nn.AvgPool2d(3, ceil_mode=True), nn.ReLU(),
                       nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)), (2, 7, 8), {"actions": 2}),
        (nn.Sequential(nn.Conv1d(3, 8, 5, stride=2, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 4, 3), nn.Tanh(), nn.Flatten(),
                       nn.Linear(4 * 8, 3)), (3, 40), {"actions": 3}),
        (nn.Linear(4, 2), (4,), {"actions": 2}),
        *((nn.Sequential(nn.Linear(8, 8), one, nn.Linear(8, 3)), (8,), {"actions": 3})
          for one in (nn.SiLU(), nn.GELU(), nn.GELU("tanh"), nn.Softplus(), nn.Softplus(beta=2), nn.Mish(), nn.LeakyReLU(), nn.ReLU6())),
        (nn.Sequential(nn.Linear(8, 8), act, nn.Linear(8, 8), act, nn.Linear(8, 3)), (8,), {"actions": 3}),
        (nn.Sequential(layer, act, layer, nn.Tanh(), nn.Linear(8, 3)), (8,), {"actions": 3}),
        (nn.Sequential(block, block, normed, act, nn.Linear(8, 3)), (8,), {"actions": 3}),
    ]:
        obs = torch.randn(300, *shape)
        with torch.no_grad():
            want = module.eval()(obs).numpy()
        policy, report = octet.import_policy(module, obs, precision="fp32", **arguments)
        assert report.fp32_max_abs < 1e-5 and report.fp32_agreement == 1
        rows = np.moveaxis(obs.numpy(), 1, -1) if isinstance(module, nn.Sequential) and type(module[0]).__name__.startswith("Conv") else obs.numpy()
        np.testing.assert_allclose(policy.outputs(np.ascontiguousarray(rows)), want, rtol=1e-5, atol=1e-5)


def test_modules_of_torch_that_compute_something_else_are_refused():
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Own(nn.Linear):
        def forward(self, x):
            return super().forward(x) / 2

    class Backwards(nn.Sequential):
        def forward(self, x):
            for module in reversed(self):
                x = module(x)
            return x

    replaced, hooked = nn.Linear(4, 2), nn.Linear(4, 2)
    replaced.forward = lambda x: 2 * nn.Linear.forward(replaced, x)
    hooked.register_forward_pre_hook(lambda module, inputs: (2 * inputs[0],))
    for module, words in [
        (nn.Sequential(Own(4, 2)), "Sequential.0: a Linear with its own forward cannot be read"),
        (Backwards(nn.Linear(4, 4), nn.Linear(4, 4)), "Backwards: a Sequential with its own forward"),
        (nn.Sequential(replaced), "Sequential.0: a Linear with its own forward"),
        (nn.Sequential(hooked), "Sequential.0: a module with hooks"),
        (nn.Sequential(nn.Linear(4, 2), nn.Softmax(0)), "over the last axis of rows of numbers only"),
        (nn.Sequential(nn.Linear(4, 2), nn.SELU()), "Sequential.1: modules of SELU cannot be read"),
        (nn.Sequential(nn.Linear(4, 3), nn.ELU(0.5), nn.Linear(3, 2)), "'Sequential.1' (Elu): policies do not have this function"),
        (nn.Sequential(nn.Linear(4, 3), nn.LeakyReLU(0.2), nn.Linear(3, 2)), "'Sequential.1' (LeakyRelu): policies do not have this"),
        (nn.Sequential(nn.Linear(4, 3), nn.Softplus(threshold=5), nn.Linear(3, 2)), "a Softplus with the threshold 5"),
        (nn.Sequential(nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), nn.Flatten()), "padding_mode 'reflect'; policies have padding with zeros"),
        (nn.Sequential(nn.Conv2d(1, 2, 3, dilation=2), nn.Flatten()), "(Conv): it has dilations"),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.AvgPool2d(2, padding=1), nn.Flatten()), "count_include_pad=False"),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(2), nn.Flatten()), "output_size 2; allowed is 1"),
    ]:
        with pytest.raises(octet.OctetError) as said:
            octet.import_policy(module, actions=2, obs_shape=(1, 8, 8) if isinstance(getattr(module, "0", None), nn.Conv2d) else (4,))
        assert words in str(said.value), str(said.value)


def test_an_actor_critic_of_rsl_rl():
    """Its attributes, as far as an actor is made of them: actor, std, actor_obs_normalizer."""
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class EmpiricalNormalization(nn.Module):
        def __init__(self):
            super().__init__()
            self.eps = 1e-2
            self.register_buffer("_mean", torch.linspace(-1, 1, 6)[None])
            self.register_buffer("_std", torch.linspace(0.1, 2, 6)[None])

        def forward(self, x):
            return (x - self._mean) / (self._std + self.eps)

    class MLP(nn.Sequential):
        def forward(self, x):
            for layer in self:
                x = layer(x)
            return x

    MLP.forward.__module__ = "rsl_rl.modules.mlp"

    class ActorCritic(nn.Module):
        def __init__(self, kind):
            super().__init__()
            act = nn.ELU()  # one for all layers
            self.actor = kind(nn.Linear(6, 16), act, nn.Linear(16, 16), act, nn.Linear(16, 16), act, nn.Linear(16, 2))
            self.critic = nn.Linear(6, 1)
            self.std = nn.Parameter(torch.tensor([0.5, 0.1]))
            self.actor_obs_normalizer = EmpiricalNormalization()

    for kind in [nn.Sequential, MLP]:
        net, obs = ActorCritic(kind), torch.randn(300, 6)
        with torch.no_grad():
            want = 0.25 * net.actor(net.actor_obs_normalizer(obs)).numpy() + 1
        policy, _ = octet.import_policy(net, obs, action_scale=0.25, action_offset=1.0, bounds=(-9, 11), precision="fp32")
        np.testing.assert_allclose(policy.act(obs.numpy()), want, rtol=1e-5, atol=1e-5)
        rows = np.tile(obs[:1].numpy(), (4000, 1))
        drawn, _ = policy.sampler(seed=1, rows=len(rows)).sample(rows)
        np.testing.assert_allclose(drawn.std(0), [0.5, 0.1], rtol=0.1)
    net.is_recurrent = True
    with pytest.raises(octet.OctetError, match="ActorCritic: a recurrent network cannot be read"):
        octet.import_policy(net, obs, bounds=(-9, 11))


def test_round_trip_through_onnxruntime(tmp_path):
    torch, runtime = pytest.importorskip("torch"), pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    runtime.set_default_logger_severity(3)
    nn = torch.nn
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(6, 32), nn.ELU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3), nn.Tanh())
    obs = torch.randn(500, 6)
    answers = {}
    for dynamo in [False, True]:
        first, back = tmp_path / f"first{dynamo}.onnx", tmp_path / f"back{dynamo}.onnx"
        how = ({"dynamo": True, "dynamic_shapes": ({0: torch.export.Dim("batch")},), "verbose": False} if dynamo
               else {"dynamo": False, "dynamic_axes": {"obs": {0: "batch"}}})
        torch.onnx.export(net, (obs[:2],), first, input_names=["obs"], output_names=["actions"], **how)
        policy, _ = octet.import_policy(first, obs, precision="fp32", path=tmp_path / "p.oct")
        subprocess.run([os.environ.get("OCTET_PROGRAM", "octet"), "export", tmp_path / "p.oct", "--onnx", back], check=True,
                       capture_output=True)
        given = runtime.InferenceSession(first).run(None, {"obs": obs.numpy()})[0]
        session = runtime.InferenceSession(back)
        assert session.get_outputs()[0].name == "actions"
        answers[dynamo] = session.run(None, {"obs": obs.numpy()})[0]
        np.testing.assert_allclose(answers[dynamo], given, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(policy.act(obs.numpy()), given, rtol=1e-5, atol=1e-5)
    assert (answers[False] == answers[True]).all()


# ---- Stable-Baselines3

@pytest.fixture(scope="module")
def sb3():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return pytest.importorskip("stable_baselines3")


@pytest.mark.parametrize("name, env", [("PPO", "CartPole-v1"), ("A2C", "Pendulum-v1"), ("SAC", "Pendulum-v1"),
                                       ("TD3", "Pendulum-v1"), ("DDPG", "Pendulum-v1"), ("DQN", "CartPole-v1"), ("PPO", "Taxi-v4")])
def test_actors_of_stable_baselines3(sb3, name, env):
    if env == "Taxi-v4":
        env = next(known for known in ["Taxi-v4", "Taxi-v3"] if known in pytest.importorskip("gymnasium").registry)
    model = getattr(sb3, name)("MlpPolicy", env, seed=1, device="cpu", policy_kwargs={"net_arch": [32, 32]})
    space = model.observation_space
    obs = np.stack([space.sample() for _ in range(400)])
    seen = np.eye(space.n, dtype=np.float32)[obs] if obs.ndim == 1 else np.clip(obs, -5, 5).astype(np.float32)
    want, _ = model.predict(obs if obs.ndim == 1 else seen, deterministic=True)
    policy, report = octet.import_policy(model, seen, precision="fp32")
    if want.ndim == 1:
        assert (policy.act(seen) == want).all()
    else:
        np.testing.assert_allclose(policy.act(seen), want, rtol=1e-5, atol=1e-5)
    assert report.fp32_agreement == 1 and report.fp32_max_abs < 1e-5
    assert report.head == {"PPO": "logits", "A2C": "gaussian", "SAC": "tanh_gaussian", "TD3": "tanh", "DDPG": "tanh",
                           "DQN": "values"}[name]
    coarse, report = octet.import_policy(model, seen)
    assert coarse.info.precision == "int8" and report.agreement > 0.95


def test_vec_normalize_is_taken_along(sb3):
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize
    env = VecNormalize(make_vec_env("Pendulum-v1", 2, seed=1), clip_obs=1.5)
    model = sb3.PPO("MlpPolicy", env, seed=1, n_steps=64, batch_size=64, device="cpu")
    model.learn(256)
    obs = np.stack([model.observation_space.sample() for _ in range(300)])
    normalised = env.normalize_obs(obs)
    near = (np.abs(normalised) < 1.5).all(1)
    assert 0.1 < near.mean() < 0.95
    policy, report = octet.import_policy(model, obs, precision="fp32")
    want, _ = model.predict(normalised[near], deterministic=True)
    np.testing.assert_allclose(policy.act(obs[near]), want, rtol=1e-5, atol=1e-5)
    assert report.clipped == pytest.approx(1 - near.mean())


def test_a_trained_policy_keeps_its_return(sb3, tmp_path):
    """Octet's CartPole has Gymnasium's episodes for the same seeds."""
    import gymnasium
    model = sb3.PPO("MlpPolicy", "CartPole-v1", seed=1, n_steps=256, learning_rate=1e-3, gamma=0.98, gae_lambda=0.8,
                    n_epochs=10, device="cpu")
    model.learn(6000)
    env, returns = gymnasium.make("CartPole-v1"), []
    for seed in range(1, 21):
        obs, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(int(model.predict(obs, deterministic=True)[0]))
            total, over = total + reward, terminated or truncated
        returns.append(total)
    _, report = octet.import_policy(model, env="CartPole-v1", path=tmp_path / "pole.oct")
    assert report.agreement > 0.95
    for name, tolerance in [("pole.fp32.oct", 0.01), ("pole.oct", 0.1)]:
        said = subprocess.run([os.environ.get("OCTET_PROGRAM", "octet"), "eval", tmp_path / name, "--episodes", "20",
                               "--envs", "20", "--seed", "1"], check=True, capture_output=True, text=True).stdout
        got = float(said.split("return")[1].split()[0])
        assert got == pytest.approx(np.mean(returns), rel=tolerance), said
    assert np.mean(returns) > 100


def test_what_stable_baselines3_has_and_policies_do_not(sb3):
    class Own(sb3.common.torch_layers.FlattenExtractor):
        def forward(self, observations):
            return 2 * super().forward(observations)

    for make, words in [
        (lambda: sb3.PPO("MlpPolicy", "CartPole-v1", device="cpu",
                         policy_kwargs={"activation_fn": pytest.importorskip("torch").nn.SELU}), "activation_fn torch.nn.modules.activation.SELU"),
        (lambda: sb3.PPO("MlpPolicy", "CartPole-v1", device="cpu", policy_kwargs={"features_extractor_class": Own}),
         "features_extractor_class "),
    ]:
        with pytest.raises(octet.OctetError) as said:
            octet.import_policy(make())
        assert words in str(said.value)
