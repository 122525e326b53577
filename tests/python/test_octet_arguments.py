"""What callers give: arrays of numbers, or of something else; texts that C or a command cannot have."""

import fractions

import numpy as np
import octet
import pytest

CARTPOLE = "cartpole"
LAYER = np.linspace(-1, 1, 8).reshape(2, 4)

class Tensor:
    """As PyTorch's, of a type that NumPy has not, in a graph and on another device."""

    dtype = "torch.bfloat16"

    def __init__(self, numbers, done=()):
        self.numbers, self.done = np.asarray(numbers, float), done

    def detach(self):
        return Tensor(self.numbers, (*self.done, "detach"))

    def cpu(self):
        return Tensor(self.numbers, (*self.done, "cpu"))

    def float(self):
        return Tensor(self.numbers, (*self.done, "float"))

    def numpy(self):
        assert self.done == ("detach", "cpu", "float")
        return self.numbers


# The same numbers in other words.
GOOD = {"longdouble": lambda numbers: np.asarray(numbers, np.longdouble), "half": lambda numbers: np.asarray(numbers, np.float16),
        "big-endian": lambda numbers: np.asarray(numbers, ">f8"), "strided": lambda numbers: np.repeat(numbers, 2, -1)[..., ::2],
        "columns first": lambda numbers: np.asfortranarray(np.asarray(numbers, float)),
        "tensor": Tensor, "read-only": lambda numbers: np.broadcast_to(np.asarray(numbers, float), np.shape(numbers))}
# What NumPy would make numbers of.
BAD = {"complex": lambda numbers: np.asarray(numbers, complex), "object": lambda numbers: np.asarray(numbers, object),
       "texts": lambda numbers: np.asarray(numbers).astype(str), "records": lambda numbers: np.asarray(numbers, float).view([("x", float)]),
       "times": lambda numbers: np.asarray(numbers).astype("m8[s]"), "ragged": lambda numbers: [[0], [1, 2]],
       "huge": lambda numbers: [10**400, 0.5], "fractions": lambda numbers: [fractions.Fraction(1, 2)]}


@pytest.fixture(scope="module")
def policy():
    return octet.import_policy([(LAYER, None, None)], np.ones((3, 4)), actions=2)[0]


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    with octet.Replay(tmp_path_factory.mktemp("replay"), observation=((2,), "float32"), action=((2,), "float32"), capacity=1000,
                      streams=4) as replay:
        yield replay


def step(change=None, as_type=None):
    """Arguments of append, one of them of another type."""
    one = {"observation": [[1, 2], [3, 4]], "action": [[1, 2], [3, 4]], "reward": [1, 2], "terminated": [0, 1], "truncated": [0, 0],
           "next_observation": [[1, 2], [3, 4]], "mask": [1, 1]}
    return one if change is None else one | {change: as_type(one[change])}


def vector(id):
    made = octet.make_vec(id, 2)
    made.reset(seed=1)
    return made


def imported(observations=None, weight=LAYER, bias=(0, 0), **arguments):
    observations = np.ones((3, 4)) if observations is None else observations
    return octet.import_policy([(weight, bias, None)], observations, **({"actions": 2} | arguments))[0].outputs(np.ones(4))


CALLS = {
    "actions": lambda as_type, policy: vector("Pendulum-v1").step(as_type([[0.5], [1]]))[1],
    "state": lambda as_type, policy: (made := vector("CartPole-v1")).set_state(0, as_type([0, 1, 0, 1])) or made.get_state(0)[0],
    "act": lambda as_type, policy: policy.act(as_type([[0, 1, 2, 3], [1, 0, -1, -2]])),
    "sample": lambda as_type, policy: octet.import_policy([(LAYER, None, None)], np.ones((3, 4)), actions=2, head="logits")[0].sampler(
        1, 2).sample(as_type([[0, 1, 2, 3], [1, 0, -1, -2]]))[1],
    "observations": lambda as_type, policy: imported(as_type([[0, 1, 2, 3], [1, 0, -1, -2]])),
    "weight": lambda as_type, policy: imported(weight=as_type([[0, 1, 2, 3], [1, 0, -1, -2]])),
    "bias": lambda as_type, policy: imported(bias=as_type([1, 2])),
    "bounds": lambda as_type, policy: imported(actions=None, bounds=(as_type([-1, -1]), as_type([1, 2]))),
    "normalizer": lambda as_type, policy: imported(normalizer=(as_type([0, 1, 2, 3]), as_type([1, 2, 3, 4]))),
    "action_scale": lambda as_type, policy: imported(actions=None, bounds=(-1, 1), action_scale=as_type([0.5, 1])),
}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("call", CALLS)
def test_numbers_of_other_types_are_the_same_numbers(policy, call, kind):
    assert np.array_equal(CALLS[call](GOOD[kind], policy), CALLS[call](np.array, policy))


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("error")
def test_what_is_no_number_is_refused(policy, call, kind):
    with pytest.raises(octet.OctetError):
        CALLS[call](BAD[kind], policy)


@pytest.mark.parametrize("call", ["act", "sample", "weight", "bias", "normalizer", "action_scale"])
@pytest.mark.filterwarnings("error")
def test_what_no_float32_holds_is_refused_and_no_more_is_said(policy, call):
    with pytest.raises(octet.OctetError, match="finite"):
        CALLS[call](lambda numbers: np.asarray(numbers) * 1e300, policy)


@pytest.mark.parametrize("kind", GOOD)
def test_steps_of_other_types_are_the_same_steps(replay, kind):
    with replay.writer(2) as writer:
        for name in step():
            writer.append(**step(name, GOOD[kind]))
    batch = replay.sample(50)
    assert {tuple(row) for row in batch.observations.tolist() + batch.next_observations.tolist()} <= {(1, 2), (3, 4)}
    assert set(batch.rewards.tolist()) <= {1, 2}
    replay.update_priorities(batch, GOOD[kind](np.arange(50)))


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", step())
@pytest.mark.filterwarnings("error")
def test_steps_of_no_numbers_are_refused(replay, name, kind):
    with replay.writer(2) as writer, pytest.raises(octet.OctetError, match=f"^{name}"):
        writer.append(**step(name, BAD[kind]))


@pytest.mark.parametrize("given", [[0, 2], [0.5, 1], [np.nan, 0]])
def test_an_end_is_true_or_false(replay, given):
    with replay.writer(2) as writer:
        for name in ("terminated", "truncated", "mask"):
            with pytest.raises(octet.OctetError, match=f"{name}: allowed are True and False, or 1 and 0"):
                writer.append(**step(name, lambda _: given))


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.filterwarnings("error")
def test_priorities_of_no_numbers_are_refused(replay, kind):
    with replay.writer(2) as writer:
        writer.append(**step())
    with pytest.raises(octet.OctetError, match="^priorities"):
        replay.update_priorities(replay.sample(4), BAD[kind]([1, 2, 3, 4]))


# ---- texts

TEXTS = {"NUL": "a\0b", "half of a pair": "a\ud800b"}
NAMED = {
    "id": octet.make_vec, "gym id": lambda text: octet.make_vec("gym:" + text), "plug-in": lambda text: octet.make_vec(f"./{text}.so"),
    "value": lambda text: octet.make_vec("FrozenLake-v1", map_name=text),
    "key": lambda text: octet.make_vec("FrozenLake-v1", **{text: 1}), "gym key": lambda text: octet.make_vec("gym:CartPole-v1", **{text: 1}),
    "preset": octet.preset, "policy": octet.Policy, "run": octet.Run, "compare": lambda text: octet.compare([text]),
    "train": lambda text: octet.train(text, "run", verbose=False), "run_dir": lambda text: octet.train(CARTPOLE, text, verbose=False),
    "set": lambda text: octet.train(CARTPOLE, "run", {"run.name": text}, verbose=False),
    "set a key": lambda text: octet.train(CARTPOLE, "run", {text: 1}, verbose=False),
    "arguments": lambda text: octet.train(CARTPOLE, "run", arguments=[text], verbose=False),
    "start": lambda text: octet.start(CARTPOLE, text), "sweep_dir": lambda text: octet.sweep(CARTPOLE, {"run.seed": [1]}, text),
    "over": lambda text: octet.sweep(CARTPOLE, {text: [1]}, "sweep"),
    "learner": lambda text: octet.Learner(text, "run"), "learner's run_dir": lambda text: octet.Learner(CARTPOLE, text),
    "learner's arguments": lambda text: octet.Learner(CARTPOLE, "run", arguments=[text]), "attach": octet.Learner.attach,
    "replay": lambda text: octet.Replay(text, observation=((2,), "f4"), action=((), "i4")), "connect": octet.Replay.connect,
    "source": lambda text: octet.import_policy(text, actions=2), "path": lambda text: imported(path=text),
    "env": lambda text: octet.import_policy([(LAYER, None, None)], env=text), "head": lambda text: imported(head=text),
    "env.options": lambda text: octet.import_policy([(LAYER, None, None)], env="CartPole-v1", options=text),
    "precision": lambda text: imported(precision=text)}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", NAMED)
def test_a_text_that_cannot_be_given_on_is_refused_whole(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(octet.OctetError, match=r"a\\(x00|ud800)b.*(contains|not a name: )") as refused:
        NAMED[name](TEXTS[kind])
    assert str(refused.value).isprintable()
    assert list(tmp_path.iterdir()) == []


def test_bytes_of_a_path_need_be_no_characters(tmp_path):
    with pytest.raises(octet.OctetError, match="no such file") as refused:
        octet.make_vec(str(tmp_path / "\udcff.so"))
    assert str(refused.value).isprintable()
    with pytest.raises(octet.OctetError, match="No such file") as refused:
        octet.Policy(tmp_path / "\udcff.oct")
    assert str(refused.value).isprintable()
    with octet.Replay(tmp_path / "\udcff", observation=((2,), "f4"), action=((), "i4"), capacity=4096) as replay:
        assert octet.Replay.connect(replay.folder).observation == ((2,), np.dtype("f4"))


@pytest.mark.parametrize("call", [
    octet.Run, octet.Policy, octet.Learner.attach, octet.Replay.connect, lambda path: octet.Learner(CARTPOLE, path),
    lambda path: octet.train(CARTPOLE, path, verbose=False), lambda path: octet.compare([path]), lambda path: imported(path=path),
    lambda path: octet.import_policy(path, actions=2), lambda path: octet.sweep(CARTPOLE, {"run.seed": [1]}, path, verbose=False),
    lambda path: octet.Replay(path, observation=((2,), "f4"), action=((), "i4"))])
def test_a_name_that_is_too_long_is_refused(call, tmp_path):
    with pytest.raises(octet.OctetError):
        call(tmp_path / ("a" * 300))


@pytest.mark.parametrize(("call", "words"), [
    (lambda: octet.preset(3), "preset: 3 is not a name"), (lambda: octet.compare(None), "runs: None is not a list of runs"),
    (lambda: octet.Learner.attach("run", timeout="x"), "timeout: 'x' is not a number"),
    (lambda: imported(obs_shape=3), "obs_shape: 3 is not a list of whole numbers"), (lambda: imported(obs_shape="4"), "obs_shape: '4' is not a list"),
    (lambda: imported(obs_shape=[2.5]), "obs_shape: 2.5 is not a whole number"), (lambda: imported(env=3), "'3'|\"3\""),
    (lambda: octet.import_policy({1: LAYER}, actions=2), "keys of a state must be names of parameters, not 1"),
    (lambda: octet.import_policy([1, 2], actions=2), r"a list of \(weight, bias, activation\)"),
    (lambda: octet.import_policy([np.array(1.0)], actions=2), r"a list of \(weight, bias, activation\)"),
    (lambda: octet.import_policy(np.array(1.0), actions=2), "a policy cannot be made of ndarray"),
    (lambda: octet.import_policy(bytearray(b"no model"), actions=2), "not an ONNX model")])
def test_arguments_of_another_kind_are_refused_in_words(call, words):
    with pytest.raises(octet.OctetError, match=words):
        call()


@pytest.mark.parametrize("call", [
    lambda: octet.train("--help", "run"), lambda: octet.start("--help", "run"), lambda: octet.Learner("--help", "run"),
    lambda: octet.sweep("--help", {"algo.learning_rate": [1e-3]}, "run"), lambda: octet.import_policy("--help", actions=2)])
def test_a_file_whose_name_begins_like_an_option_is_a_file(call):
    with pytest.raises(octet.OctetError, match="no file or preset './--help'|'./--help': No such file"):
        call()


@pytest.mark.parametrize("call", [lambda: octet.preset(CARTPOLE), lambda: octet.compare(["run"]), lambda: octet.train(CARTPOLE, "run"),
                                  lambda: octet.Learner(CARTPOLE, "run"), imported])
def test_a_program_that_is_not_there_is_said(call, tmp_path, monkeypatch):
    monkeypatch.setenv("OCTET_PROGRAM", str(tmp_path / "octet"))
    with pytest.raises(octet.OctetError, match="octet cannot be started: .*No such file"):
        call()
