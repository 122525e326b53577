"""Agents of Stable-Baselines3 and files of PyTorch as policies, read without either, and what such files must not do."""

import base64
import importlib.util
import io
import json
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import zipfile
from unittest import mock

import numpy as np
import pytest

import octet

ROOT = pathlib.Path(__file__).parents[2]
AGENTS = ROOT / "tests/data/import/agents"
READER = ROOT / "policy/import/octet_import"
sys.path[:0] = [str(READER), str(ROOT / "python/octet")]
import inert_pickle  # noqa: E402
import network as networks  # noqa: E402
import octet_import  # noqa: E402
import sb3_agent  # noqa: E402

pytestmark = pytest.mark.skipif("OCTET_PROGRAM" not in os.environ and octet._lib.own_file("bin/octet") is None,
                                reason="OCTET_PROGRAM does not name octet")
HEADS = {"ppo": "logits", "ppo_shared": "logits", "ppo_dict": "logits", "ppo_box": "gaussian", "a2c_choices": "logits", "dqn": "values",
         "qrdqn": "values", "sac": "tanh_gaussian", "tqc": "tanh_gaussian", "sac_sde": "gaussian", "ppo_sde_squashed": "tanh",
         "td3": "tanh", "ars": "tanh", "ars_linear": "gaussian", "masked": "logits", "trpo": "gaussian"}


def run(file, out, *arguments):
    env = {"OCTET_PYTHON": sys.executable, **os.environ}
    return subprocess.run([os.environ.get("OCTET_PROGRAM", "octet"), "import", file, "--out", out, *map(str, arguments)],
                          capture_output=True, text=True, env=env, check=False)


def report_of(file, tmp_path, *arguments):
    """Imports a file in fp32 and returns the report and the policy."""
    done = run(file, tmp_path / "p.oct", "--precision", "fp32", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), octet.Policy(tmp_path / "p.oct")


def error_of(file, tmp_path, *arguments):
    done = run(file, tmp_path / "p.oct", *arguments)
    assert done.returncode == 1, done.stdout + done.stderr
    assert not (tmp_path / "p.oct").exists()
    begin = f"octet import: error: '{file}': "
    assert done.stderr.startswith(begin) and done.stderr.count("\n") == 1, done.stderr
    return done.stderr[len(begin):].strip()


def compare(folder, name, tmp_path):
    """Compares the policy with the actions that the library computed. Returns the report."""
    given, agent = np.load(folder / f"{name}.npz"), folder / f"{name}.zip"
    arguments = ["--observations", tmp_path / "seen.npy"]
    rows, wanted = given["observations"], given["actions"]
    np.save(tmp_path / "seen.npy", rows)
    if not agent.exists():
        agent = folder / f"{name}.pt"
        arguments += ["--bounds=-8:8"]
        if name.startswith("sequential"):
            arguments += ["--activation", "tanh"]
    if (folder / f"{name}.vec.pkl").exists():
        arguments += ["--normalizer", folder / f"{name}.vec.pkl"]
    report, policy = report_of(agent, tmp_path, *arguments)
    if rows.ndim == 4 and report["channels_first"]:
        rows = np.ascontiguousarray(rows.transpose(0, 2, 3, 1))
    actions = policy.act(rows)
    if name == "normalised":
        near = np.arange(len(rows))[is_unclipped(rows, folder / "normalised.vec.pkl")]
        assert 0 < len(near) < len(rows)
        assert report["fp32"]["clipped"] == pytest.approx(1 - len(near) / len(rows))
        actions, wanted = actions[near], wanted[near]
    if wanted.ndim == 1:
        assert (actions == wanted).all()
    else:
        np.testing.assert_allclose(actions, wanted, rtol=1e-5, atol=1e-5)
    assert report["fp32"]["max_abs"] < 1e-5 or report["fp32"]["clipped"] > 0
    return report


def is_unclipped(rows, path):
    state = inert_pickle.load(io.BytesIO(path.read_bytes())).state
    rms = state["obs_rms"].state
    mean, variance = (inert_pickle.array("rms", rms[key]) for key in ("mean", "var"))
    return (np.abs((rows - mean) / np.sqrt(variance + state["epsilon"])) < state["clip_obs"]).all(1)


@pytest.mark.parametrize("name", sorted(path.stem for path in AGENTS.glob("*.npz")))
def test_the_policy_acts_as_the_library(name, tmp_path):
    report = compare(AGENTS, name, tmp_path)
    assert len(np.unique(np.load(AGENTS / f"{name}.npz")["actions"], axis=0)) > 1
    assert report["head"] == HEADS.get(name, report["head"])
    said = " ".join(report["notes"])
    assert ("exploration noise depends on the state" in said) == ("sde" in name)
    assert ("mask of invalid actions is left out" in said) == (name == "masked")
    assert ("taken as ELU" in said) == name.startswith("rsl")
    assert ("left out: VecNormalize clips a at 10" in said) == (name == "normalised_dict")


def test_deviations_are_those_of_the_agent(tmp_path):
    given = np.load(AGENTS / "rsl_1.npz")["observations"]
    for name in ("rsl_1", "rsl_2", "rsl_3", "rsl_5"):
        _, policy = report_of(AGENTS / f"{name}.pt", tmp_path, "--bounds=-8:8")
        rows = np.tile(given[:1], (4000, 1))
        drawn, _ = policy.sampler(seed=1, rows=len(rows)).sample(rows)
        np.testing.assert_allclose(drawn.std(0), [0.5, 0.1, 1.0], rtol=0.1)


def test_an_option_has_precedence_over_the_file(tmp_path):
    report, policy = report_of(AGENTS / "ppo_box.zip", tmp_path, "--bounds=-1:0,-0.1:0.1,1:2")
    assert policy.info.action_low == pytest.approx((-1, -0.1, 1))
    assert report_of(AGENTS / "ppo.zip", tmp_path, "--head", "values")[0]["head"] == "values"
    assert "3 actions" in error_of(AGENTS / "ppo.zip", tmp_path / "x", "--actions", 3)
    relu, elu = (report_of(AGENTS / "rsl_2.pt", tmp_path, "--bounds=-9:9", "--activation", name)[1] for name in ("relu", "elu"))
    rows = np.load(AGENTS / "rsl_2.npz")["observations"]
    assert np.abs(relu.act(rows) - elu.act(rows)).max() > 0.01


@pytest.mark.parametrize("name", list(octet._onnx.ACTIVATIONS)[1:])
def test_each_activation_of_a_state_dict(name, tmp_path):
    report, _ = report_of(AGENTS / "sequential.pt", tmp_path, "--bounds=-8:8", "--activation", name)
    assert report["fp32"]["max_abs"] < 1e-5
    assert activations_of(tmp_path / "p.oct") == {name}


@pytest.mark.parametrize("kind, name", [("GELU", "gelu"), ("SiLU", "silu"), ("LeakyReLU", "leaky_relu"), ("ReLU6", "relu6"), ("Mish", "mish"), ("Hardswish", "hard_swish")])
def test_an_activation_of_stable_baselines3(kind, name, tmp_path):
    pickled = b"}X\x0d\x00\x00\x00activation_fn" + short_global("torch.nn.modules.activation", kind) + b"s."
    (tmp_path / "agent.zip").write_bytes(with_data("ppo", policy_kwargs=pickled))
    report_of(tmp_path / "agent.zip", tmp_path)
    assert activations_of(tmp_path / "p.oct") == {name}


def activations_of(path):
    """Returns the activations between the layers, by their words in octet inspect."""
    said = subprocess.run([os.environ.get("OCTET_PROGRAM", "octet"), "inspect", path], capture_output=True, text=True, check=True).stdout
    return {word for word in re.findall(r"\w+", said) if word in list(octet._onnx.ACTIVATIONS)[1:]}


def test_a_vec_normalize_that_is_not_used_is_named(tmp_path):
    """As rl-zoo lays its folders out: NAME.zip, NAME/vecnormalize.pkl."""
    agent, vec = tmp_path / "robot.zip", tmp_path / "robot/vecnormalize.pkl"
    agent.write_bytes((AGENTS / "normalised.zip").read_bytes())
    vec.parent.mkdir()
    assert "add --normalizer" not in " ".join(report_of(agent, tmp_path)[0]["notes"])
    vec.write_bytes((AGENTS / "normalised.vec.pkl").read_bytes())
    assert any(note.endswith(f"add --normalizer {vec}") for note in report_of(agent, tmp_path)[0]["notes"])
    assert "add --normalizer" not in " ".join(report_of(agent, tmp_path, "--normalizer", vec)[0]["notes"])


def test_the_package_takes_files_bytes_and_normalisers(tmp_path):
    given = np.load(AGENTS / "normalised.npz")["observations"]
    vec, agent = AGENTS / "normalised.vec.pkl", AGENTS / "normalised.zip"
    first, report = octet.import_policy(agent, given, normalizer=vec, precision="fp32")
    second, _ = octet.import_policy(agent.read_bytes(), given, normalizer=vec, precision="fp32")
    assert (first.act(given) == second.act(given)).all() and report.head == "gaussian" and report.clipped > 0
    doubled, _ = octet.import_policy(agent, given, normalizer=vec, precision="fp32", action_scale=2, bounds=(-90, 90))
    inside = np.abs(first.act(given) - 0.5 * doubled.act(given)) < 1e-4
    assert inside.mean() > 0.3  # the others are clipped to the box
    obs, wanted = (np.load(AGENTS / "sequential.npz")[key] for key in ("observations", "actions"))
    policy, _ = octet.import_policy(AGENTS / "sequential.pt", obs, activation="tanh", bounds=(-8, 8), precision="fp32")
    np.testing.assert_allclose(policy.act(obs), wanted, rtol=1e-5, atol=1e-5)
    for source, arguments, words in [
        (AGENTS / "sequential.pt", {}, "give activation, such as elu, relu, tanh or silu"),
        (AGENTS / "sequential.pt", {"activation": "tanh"}, "whether output 'outputs' is for discrete or for box actions"),
        (agent, {"activation": "tanh"}, "activation is for state dicts"),
        ({"0.weight": np.ones((2, 5)), "1.weight": np.ones((2, 2))}, {"actions": 2}, "the model: 1: expected dense layers with one activation"),
    ]:
        with pytest.raises(octet.OctetError, match=words):
            octet.import_policy(source, **arguments)


# ---- what is refused

def zip_of(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, data in files.items():
            made.writestr(name.replace("__", "/").replace("_DOT_", "."), data)
    return out.getvalue()


def changed(name, **files):
    """An agent with other files in it; None: without this one."""
    with zipfile.ZipFile(AGENTS / f"{name}.zip") as old:
        parts = {one: old.read(one) for one in old.namelist()}
    parts |= {key.replace("_DOT_", "."): value for key, value in files.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for one, data in parts.items():
            if data is not None:
                made.writestr(one, data)
    return out.getvalue()


def with_data(name, **items):
    with zipfile.ZipFile(AGENTS / f"{name}.zip") as old:
        data = json.loads(old.read("data"))
    data |= {key: {":serialized:": base64.b64encode(value).decode()} if isinstance(value, bytes) else value for key, value in items.items()}
    return changed(name, data=json.dumps(data))


def short_global(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


OWNED = pathlib.Path(__file__).parent / "owned"
RUNS = b"\x80\x02" + short_global("posix", "system") + b"X" + struct.pack("<I", len(f"touch {OWNED}")) + f"touch {OWNED}".encode() + b"\x85R."
LAYERS = pickle.dumps({"0.weight": np.ones((2, 3))}, protocol=4)

REFUSED = [
    ("text.zip", b"hello", "a damaged pickle"),
    ("cut.zip", (AGENTS / "ppo.zip").read_bytes()[:4000], "was the download complete?"),
    ("cut.pt", (AGENTS / "sequential.pt").read_bytes()[:-8], "was the download complete?"),
    ("other.zip", zip_of(readme_DOT_txt=b"x"), "neither an agent of Stable-Baselines3"),
    ("folder.zip", zip_of(a__ppo_DOT_zip=b"x"), "contains a/ppo.zip: unpack it"),
    ("arrays.zip", zip_of(a_DOT_npy=b"x"), "arrays of NumPy"),
    ("old.zip", zip_of(data=b"{}", parameters=b"", parameter_list=b"[]"), "Stable Baselines 2 (TensorFlow)"),
    ("runs.pt", RUNS, "calls posix.system, which can run code"),
    ("runs.zip", changed("ppo", policy_DOT_pth=zip_of(archive__data_DOT_pkl=RUNS)), "calls posix.system"),
    ("space.zip", with_data("ppo", observation_space=RUNS), "observation_space: its pickle calls posix.system"),
    ("eval.pt", b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.", "calls builtins.eval"),
    ("json.zip", changed("ppo", data=b"[" * 100000), "data is not JSON"),
    ("class.zip", with_data("ppo", policy_class=short_global("mine", "Policy") + b"."), "policy_class mine.Policy"),
    ("extractor.zip", with_data("ppo", policy_kwargs=b"}X\x18\x00\x00\x00features_extractor_class" + short_global("mine", "Net") + b"s."),
     "features_extractor_class mine.Net cannot be read"),
    ("cnn.zip", with_data("ppo", policy_class=short_global("stable_baselines3.common.policies", "ActorCriticCnnPolicy") + b"."),
     "NatureCNN, but its observations are not pictures of bytes"),
    ("selu.zip", with_data("ppo", policy_kwargs=b"}X\x0d\x00\x00\x00activation_fn" + short_global("torch.nn.modules.activation", "SELU") + b"s."),
     "activation_fn torch.nn.modules.activation.SELU; policies have linear, relu, tanh, elu, silu"),
    ("none.zip", with_data("ppo", observation_space=None), "observations of NoneType"),
    ("start.zip", with_data("ppo", action_space=b"(igymnasium.spaces.discrete\nDiscrete\n}(X\x01\x00\x00\x00nK\x04X\x05\x00\x00\x00startK\x01ub."),
     "actions of Discrete begin with 1"),
    ("more.zip", with_data("ppo", action_space=b"(igymnasium.spaces.discrete\nDiscrete\n}X\x01\x00\x00\x00nK\x05sb."),
     "5 actions, but the network has 4 outputs"),
    ("vec.pkl", (AGENTS / "normalised.vec.pkl").read_bytes(), "a VecNormalize, not an agent"),
    ("list.pkl", pickle.dumps([1]), "a list, not a state dict"),
    ("layers.pkl", pickle.dumps({"0.weight": np.ones((2, 3)), "2.weight": np.ones((2, 2))}), "give --activation, such as elu, relu, tanh or silu"),
    ("norm.pkl", pickle.dumps({"0.weight": np.ones((2, 3)), "1.weight": np.ones(2), "3.weight": np.ones((2, 2))}), "1: expected dense layers with one activation"),
    ("width.pkl", pickle.dumps({"actor.0.weight": np.ones((2, 3)), "actor.2.weight": np.ones((2, 4)), "std": np.ones(2)}), "actor.2 reads 4 numbers, but gets 2"),
    ("rnn.pkl", pickle.dumps({"actor.0.weight": np.ones((2, 3)), "rnn.weight_ih_l0": np.ones(2)}), "a recurrent network"),
    ("std.pkl", pickle.dumps({"model_state_dict": {"actor.0.weight": np.ones((2, 3)), "std": np.zeros(2)}}), "std: a deviation of 0"),
    ("objects.pkl", pickle.dumps({"actor.0.weight": np.array([[None]])}), "actor.0.weight: expected numbers, not an array"),
    ("rl_games.pth", pickle.dumps({"model": {"a2c_network.actor_mlp.0.weight": np.ones((2, 3)), "a2c_network.mu.weight": np.ones((2, 2))}, "epoch": 1}),
     "parameters of rl_games, which are not read: export its actor with torch.onnx.export"),
    ("skrl.pt", pickle.dumps({"policy": {"net_container.0.weight": np.ones((2, 3)), "log_std_parameter": np.ones(2)}, "optimizer": {}}),
     "parameters of skrl, which are not read: export its actor with torch.onnx.export"),
    ("cleanrl.pt", pickle.dumps({"fc1.weight": np.ones((2, 3)), "fc_mean.weight": np.ones((2, 2))}), "an actor of CleanRL whose layers are not numbered"),
    ("rllib.pkl", pickle.dumps({"worker": b"", "counters": {}}), "parameters of RLlib"),
    ("brax.pkl", b"\x80\x03(" + short_global("brax.training.acme.running_statistics", "RunningStatisticsState") + b")Rt.",
     "parameters of Brax, which are not read: give its layers to octet.import_policy"),
    ("flax.pkl", pickle.dumps((1, {"params": {"Dense_0": {"kernel": np.ones((3, 2))}}})), "parameters of Flax"),
    ("sklearn.pkl", b"\x80\x03" + short_global("sklearn.neural_network", "MLPRegressor") + b")\x81}b.", "parameters of scikit-learn"),
    ("flax.msgpack", b"\x81\xa6params\x81\xa7Dense_0\x80", "parameters of Flax (msgpack)"),
    ("keras.h5", b"\x89HDF\r\n\x1a\n" + bytes(99), "a file of HDF5 (Keras)"),
    ("actor.safetensors", struct.pack("<Q", 2) + b"{}" + bytes(8), "a file of safetensors, which is not read: torch.save("),
    ("actor.tflite", b"\x1c\0\0\0TFL3" + bytes(9), "a model of TensorFlow Lite"),
    ("actor.pt2", zip_of(actor__archive_format=b"pt2"), "a program of torch.export, which is not read: export the module"),
    ("actor.keras", zip_of(config_DOT_json=b"{}", model_DOT_weights_DOT_h5=b""), "a model of Keras, which is not read"),
    ("orbax.zip", zip_of(default__manifest_DOT_ocdbt=b""), "a checkpoint of Orbax (JAX)"),
    ("laughs.pkl", b"\x80\x02)" + b"2\x86" * 60 + b"}\x8c\x01a" + b"s.", "a damaged pickle"),
]


@pytest.mark.parametrize(("name", "data", "words"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_what_is_not_a_policy_is_named(name, data, words):
    with pytest.raises(inert_pickle.Fault) as said:
        octet_import.read(data, None, False)
    assert words in str(said.value)


@pytest.mark.parametrize(("name", "data", "words"), [
    ("empty.zip", b"", "an empty file"),
    ("lfs.zip", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "'git lfs pull' fetches it"),
    ("page.onnx", b"\n<!DOCTYPE html><html><body>404</body></html>", "a web page, not a model"),
    ("text.zip", b"hello", "a damaged pickle"), ("runs.pt", RUNS, "calls posix.system, which can run code"),
    ("flax.msgpack", b"\x81\xa6params\x80", "parameters of Flax (msgpack)"),
    ("cut.onnx", (AGENTS / "ppo.zip").read_bytes()[:4000], "was the download complete?")])
def test_the_command_names_what_is_not_a_policy(name, data, words, tmp_path):
    (tmp_path / name).write_bytes(data)
    assert words in error_of(tmp_path / name, tmp_path)
    assert not OWNED.exists()


@pytest.mark.parametrize(("name", "words"), [
    ("recurrent.zip", "a recurrent network (RecurrentPPO)"), ("choices.zip", "actions of MultiDiscrete; policies have those of Discrete and Box"),
    ("script.pt", "a program of TorchScript"), ("module.pt", "torch.nn.modules.container.Sequential, not a state dict"), ("sequential.pt", "give --activation")])
def test_files_of_the_libraries_that_are_not_a_policy_are_named(name, words):
    with pytest.raises(inert_pickle.Fault) as said:
        octet_import.read((AGENTS / name).read_bytes(), None, False)
    assert words in str(said.value)


@pytest.mark.parametrize("owner", ["pi_", "q_net."])
def test_pictures_of_nature_cnn(owner):
    """Channels first, as VecTransposeImage gives them, against numpy."""
    rng, sizes, state = np.random.default_rng(3), [(6, 4, 8, 8), (5, 6, 4, 4), (4, 5, 3, 3)], {}
    for number, size in zip((0, 2, 4), sizes):
        state[f"{owner}features_extractor.cnn.{number}.weight"] = rng.normal(size=size) / np.sqrt(np.prod(size[1:]))
        state[f"{owner}features_extractor.cnn.{number}.bias"] = rng.normal(size=size[0])
    state[f"{owner}features_extractor.linear.0.weight"] = rng.normal(size=(7, 8)) / 3
    state[f"{owner}features_extractor.linear.0.bias"] = rng.normal(size=7)
    network = networks.Network((4, 44, 36), True)
    network.add("Div", 255)
    sb3_agent._nature(network, mock.Mock(state={key: inert_pickle.Array(value) for key, value in state.items()}))
    obs = rng.integers(0, 256, (50, 4, 44, 36)).astype(np.uint8)
    policy, report = octet.import_policy(network.encode(), obs, actions=7, precision="fp32", output="actions")
    assert report.fp32_max_abs < 1e-5 and network.width == 7
    x, arrays = obs / 255, list(state.values())
    for weight, bias, stride in zip(arrays[:6:2], arrays[1:6:2], (4, 2, 1)):
        patches = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
        x = np.maximum(np.einsum("bcyxij,fcij->bfyx", patches, weight) + bias[:, None, None], 0)
    want = np.maximum(x.reshape(50, -1) @ arrays[6].T + arrays[7], 0)
    np.testing.assert_allclose(policy.outputs(np.ascontiguousarray(np.moveaxis(obs, 1, -1))), want, rtol=1e-4, atol=1e-5)


def test_options_that_the_file_answers_are_refused(tmp_path):
    assert "--activation is for state dicts" in error_of(AGENTS / "ppo.zip", tmp_path, "--activation", "elu")
    assert "No such file or directory" in error_of(tmp_path / "nothere.zip", tmp_path)
    assert error_of(AGENTS, tmp_path) == "a folder; name the file in it"
    model = ROOT / "tests/data/import/tanh.onnx"
    assert "--activation is for files of PyTorch; an ONNX model" in error_of(model, tmp_path, "--activation=elu")


def test_a_normaliser_that_is_not_one_is_named(tmp_path):
    agent = AGENTS / "ppo.zip"
    (tmp_path / "runs.pkl").write_bytes(RUNS)
    (tmp_path / "layers.pkl").write_bytes(LAYERS)
    for path, words in [(AGENTS / "sequential_half.pt", "a dictionary; expected a VecNormalize"), (tmp_path / "runs.pkl", "calls posix.system"),
                        (tmp_path / "layers.pkl", "a dictionary; expected a VecNormalize"), (AGENTS / "script.pt", "a program of TorchScript")]:
        done = run(agent, tmp_path / "p.oct", "--normalizer", path)
        assert done.returncode == 1 and done.stderr.startswith(f"octet import: error: '{path}': ") and words in done.stderr, done.stderr
    assert "the normaliser has 5 numbers, but an observation has 12" in error_of(AGENTS / "ppo_dict.zip", tmp_path, "--normalizer", AGENTS / "normalised.vec.pkl")


def test_a_vec_normalize_goes_with_every_model(tmp_path):
    """As before an ONNX model, and instead of the normaliser that a checkpoint contains."""
    state = inert_pickle.load(io.BytesIO((AGENTS / "normalised.vec.pkl").read_bytes())).state
    mean, variance = (inert_pickle.array(key, state["obs_rms"].state[key]) for key in ("mean", "var"))
    rows = mean + np.sqrt(variance) * np.random.default_rng(1).uniform(-1, 1, (50, 5))
    (tmp_path / "rsl.pkl").write_bytes(pickle.dumps({"actor.0.weight": np.eye(5), "std": np.ones(5), "_mean": np.full(5, 7.0), "_std": np.ones(5)}))
    _, policy = report_of(tmp_path / "rsl.pkl", tmp_path, "--normalizer", AGENTS / "normalised.vec.pkl")
    np.testing.assert_allclose(policy.act(rows), (rows - mean) / np.sqrt(variance + 1e-8), atol=1e-5)
    model = octet._onnx.Model((5,))
    model.add("Gemm", "observation", model.constant(np.eye(5)), output="actions")
    model.output("actions")
    (tmp_path / "same.onnx").write_bytes(model.encode())
    _, policy = report_of(tmp_path / "same.onnx", tmp_path, "--normalizer", AGENTS / "normalised.vec.pkl")
    np.testing.assert_allclose(policy.act(rows), (rows - mean) / np.sqrt(variance + 1e-8), atol=1e-5)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_npz_files_are_observations_and_normalisers(save, tmp_path):
    model, rows, outputs = (ROOT / "tests/data/import" / f"tanh{suffix}" for suffix in (".onnx", ".obs.npy", ".out.npy"))
    obs, wanted = np.load(rows), np.load(outputs)
    mean, deviation = np.array([1.0, -2, 0.5, 3]), np.array([0.5, 2, 1, 4])
    given = (obs * deviation + mean).astype(np.float32)
    save(tmp_path / "steps.npz", actions=wanted, observations=np.asfortranarray(given), rewards=np.zeros(len(obs)))
    save(tmp_path / "rows.npz", given)  # named arr_0
    save(tmp_path / "n.npz", mean=mean, var=deviation**2 - 0.01, epsilon=0.01, clip=np.inf, count=7)
    for seen in ("steps.npz", "rows.npz"):
        report, policy = report_of(model, tmp_path, "--observations", tmp_path / seen, "--normalizer", tmp_path / "n.npz")
        np.testing.assert_allclose(policy.act(given), wanted, atol=1e-4)
        assert report["observed"] == f"{len(obs)} observations of {tmp_path / seen}" and report["fp32"]["max_abs"] < 1e-4


def test_npz_files_that_have_none_of_these_arrays_are_named(tmp_path):
    model = ROOT / "tests/data/import/tanh.onnx"
    np.savez_compressed(tmp_path / "two.npz", x=np.zeros((9, 4)), y=np.zeros(9))
    np.savez_compressed(tmp_path / "text.npz", observations=np.array(["a", "b"]))
    np.savez_compressed(tmp_path / "objects.npz", mean=np.array([None]), std=np.ones(1))
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as made, made.open("observations.npy", "w") as entry:
        for _ in range(257):
            entry.write(bytes(1 << 20))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "two.npz").read_bytes()[:-30])
    for option, file, words in [("--observations", "two.npz", "it has the arrays x, y; expected observations"),
                                ("--observations", "text.npz", "numbers of type '<U1'"),
                                ("--observations", "bomb.npz", "its file observations.npy has more than 256 MiB"),
                                ("--observations", "cut.npz", "a damaged zip file"),
                                ("--normalizer", "two.npz", "it has the arrays x, y; expected mean or std or var"),
                                ("--normalizer", "objects.npz", "numbers of type '|O'")]:
        done = run(model, tmp_path / "p.oct", option, tmp_path / file)
        assert done.returncode == 1 and done.stderr.startswith(f"octet import: error: '{tmp_path / file}': {words}"), done.stderr
    done = run(model, tmp_path / "p.oct", "--observations", AGENTS / "ppo.zip")
    assert "a zip file that is not of arrays of NumPy" in done.stderr


def test_without_numpy_the_package_is_named(tmp_path):
    python = tmp_path / "python"
    (tmp_path / "numpy.py").write_text("raise ImportError\n")
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.path.insert(0, \"{tmp_path}\"); script = sys.argv[1]; "
                      "del sys.argv[0]; exec(compile(open(script).read(), script, \"exec\"), {\"__file__\": script, \"__name__\": "
                      "\"__main__\"})' \"$@\"\n")
    python.chmod(0o755)
    done = subprocess.run([os.environ.get("OCTET_PROGRAM", "octet"), "import", AGENTS / "ppo.zip", "--out", tmp_path / "p.oct"],
                          capture_output=True, text=True, env={**os.environ, "OCTET_PYTHON": str(python)}, check=False)
    assert "install python3-numpy" in done.stderr and done.returncode == 1, done.stderr


# ---- files from anywhere

def test_the_reader_gives_what_pickle_gives():
    """Of data without classes, in every protocol."""
    value = {"a": [1, -2, 1 << 70, 1.5, None, True, "é", b"\x00\xff", (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], 7: {"b": {3, 4}}, "s": frozenset([1])}
    for protocol in range(6):
        assert inert_pickle.load(io.BytesIO(pickle.dumps(value, protocol))) == value
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        for one in (array, array.T, array.astype(">f8"), array[:, :1], np.array(3), array > 2):
            read = inert_pickle.load(io.BytesIO(pickle.dumps(one, protocol)))
            assert (inert_pickle.array("it", read) == one).all() and inert_pickle.array("it", read).shape == one.shape


MUTATE = r"""
import io, os, random, resource, sys, tracemalloc
sys.path[:0] = sys.argv[1:3]
import numpy, encodings.cp437, encodings.raw_unicode_escape, encodings.unicode_escape, encodings.latin_1, bz2, lzma
import octet_import
from inert_pickle import Fault
wrong = []
octet_import.read(open(sys.argv[4], "rb").read(), None, False).encode()  # everything is loaded that is loaded lazily
def use(data):
    if b".npy" in data[:64]:
        list(octet_import.arrays_of(octet_import.Archive(data), ["observations"]))
    else:
        octet_import.read(data, "elu", False).encode()
def hook(event, _):
    if event.split(".")[0] in ("os", "subprocess", "socket", "shutil", "ctypes", "pty", "webbrowser", "pickle", "marshal", "compile", "exec", "import", "open"):
        wrong.append(event)
sys.addaudithook(hook)
tracemalloc.start()
good = bad = 0
files = [open(path, "rb").read() for path in sys.argv[4:]]
wrong.clear()
rng = random.Random(int(sys.argv[3]))
for _ in range(400):
    data = bytearray(rng.choice(files))
    for _ in range(rng.choice([1, 1, 2, 8, 40])):
        at = rng.randrange(len(data))
        way = rng.randrange(4)
        if way == 0: data[at] = rng.randrange(256)
        elif way == 1: del data[at:at + rng.randrange(1, 40)]
        elif way == 2: data[at:at] = rng.randbytes(rng.randrange(1, 20))
        else: data[at:at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\0", b"2222", b"cos\n"])
        if not data: data = bytearray(b"\0")
    try:
        use(bytes(data))
        good += 1
    except Fault:
        bad += 1
print(good, bad, tracemalloc.get_traced_memory()[1] >> 20, sorted(set(wrong)))
"""


def stored(path):
    """Returns an agent whose files are not packed, so that a changed byte reaches the readers behind the checksums."""
    with zipfile.ZipFile(path) as old:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                new.writestr(name, stored(io.BytesIO(old.read(name))) if name.endswith(".pth") else old.read(name))
    return out.getvalue()


def test_changed_files_are_read_or_refused_and_nothing_else_happens(tmp_path):
    """Damage in zip files is found by their checksums: pickles are changed by themselves, too."""
    paths = [AGENTS / "sequential.pt"]
    with zipfile.ZipFile(AGENTS / "ppo.zip") as agent:
        paths.append(tmp_path / "data.pkl")
        with zipfile.ZipFile(io.BytesIO(agent.read("policy.pth"))) as state:
            paths[-1].write_bytes(next(state.read(name) for name in state.namelist() if name.endswith("data.pkl")))
        for key, item in json.loads(agent.read("data")).items():
            if isinstance(item, dict) and ":serialized:" in item:
                paths.append(tmp_path / f"{key}.pkl")
                paths[-1].write_bytes(base64.b64decode(item[":serialized:"]))
    for name in ("ppo.zip", "rsl_1.pt"):
        (tmp_path / name).write_bytes(stored(AGENTS / name))
        paths.append(tmp_path / name)
    paths.append(AGENTS / "normalised.vec.pkl")
    (tmp_path / "layers.pkl").write_bytes(LAYERS)
    np.savez_compressed(tmp_path / "rows.npz", observations=np.arange(20.0), actions=np.zeros(3))
    paths = [AGENTS / "ppo.zip", tmp_path / "layers.pkl", tmp_path / "rows.npz", *paths]
    arguments = [READER, ROOT / "python/octet", "1", *paths]  # the same changes on every machine
    done = subprocess.run([sys.executable, "-c", MUTATE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    good, bad, mib, wrong = done.stdout.split(None, 3)
    assert int(good) > 0 and int(bad) > 200 and int(mib) < 100 and wrong.strip() == "[]", done.stdout


@pytest.mark.parametrize("data", [
    b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"x.",           # bytes without end
    b"\x80\x02\x8b\xff\xff\xff\x7f.", b"\x80\x02}r\xff\xff\xff\x7f.",  # a number, and a place far away
    b"(" * 1000 + b".", b"]" + b"2a" * 1000 + b"0.", b"\x80\x02" + b"(" * 50_000 + b"l" * 50_000 + b".",
    b"0.", b".", b"R.", b"NR.", b"\x80\x02cos\nsystem\n.", b"\x80\x05\x97.", b"\x82\x01.", b"]N\x85b."])
def test_pickles_that_are_made_to_exhaust_a_reader(data):
    with pytest.raises(inert_pickle.Fault):
        octet_import.read(data, None, False)


def test_a_pickle_of_too_many_operations_and_arrays_of_too_many_numbers():
    with pytest.raises(inert_pickle.Fault, match="more than 1000000 operations"):
        inert_pickle.load(io.BytesIO(b"\x80\x02" + b"N0" * 500_001 + b"."))
    big = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01J\x00\x00\x00\x7f\x85cnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R\x89C\x00tb."
    with pytest.raises(inert_pickle.Fault, match="damaged|more than"):
        inert_pickle.load(io.BytesIO(big))


def test_a_zip_that_unpacks_without_end_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("data", b"[" + b" " * (40 << 20) + b"]")
        made.writestr("policy.pth", b"")
    with pytest.raises(inert_pickle.Fault, match="its file data has more than 32 MiB"):
        octet_import.read(out.getvalue(), None, False)


# ---- the libraries themselves

def test_agents_that_are_made_now(tmp_path):
    """Of every algorithm, by the installed versions."""
    for name in ("torch", "stable_baselines3", "sb3_contrib"):
        pytest.importorskip(name, reason="SKIPPED: PyTorch, Stable-Baselines3 and sb3-contrib are not installed")
    spec = importlib.util.spec_from_file_location("make_import_agents", ROOT / "tools/make_import_agents.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    made = tmp_path / "made"
    make.write(made)
    names = sorted(path.stem for path in made.glob("*.npz"))
    assert set(make.AGENTS) | set(make.NORMALISED) | {"ppo_shared", "rsl_1", "rsl_5", "sequential"} <= set(names)
    for name in names:
        compare(made, name, tmp_path)
    for name in make.REFUSED:
        assert error_of(made / f"{name}.zip", tmp_path / "x")
