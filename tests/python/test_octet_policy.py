"""Policies: against answers written by tools/make_policy_golden.py, which shares no code with policy/."""

import copy
import ctypes
import gc
import multiprocessing
import os
import pathlib
import pickle
import signal
import struct
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import octet
import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / "data" / "policy"
INTEGER = ["relu_int8", "relu_int8_per_tensor", "box_int8", "box_int4", "logits_int8", "gauss_int8", "squash_int8",
           "conv_box_int8", "direct_int8"]


def golden(name):
    """Observations, outputs and actions as they are in the file, row for row."""
    lines = (GOLDEN / f"{name}.txt").read_text().splitlines()
    cells = zip(*(line.split("|") for line in lines), strict=True)
    return [np.array([[int(word, 16) for word in cell.split()] for cell in column], np.uint32) for column in cells]


@pytest.mark.parametrize("name", INTEGER)
def test_a_batch_has_the_bits_of_the_golden_files(name):
    policy = octet.Policy(GOLDEN / f"{name}.oct")
    obs, outputs, actions = golden(name)
    obs = obs.view(np.float32)
    assert np.array_equal(policy.outputs(obs).view(np.uint32), outputs)
    got = policy.act(obs)
    if policy.info.discrete:
        assert np.array_equal(got, actions[:, 0].view(np.int32))
    else:
        assert np.allclose(got, actions.view(np.float32), rtol=1e-6, atol=1e-6)
    for row in range(0, len(obs), 7):
        assert np.array_equal(policy.act(obs[row]), got[row])
        assert np.array_equal(policy.outputs(obs[row]).view(np.uint32), outputs[row])


def test_info_has_the_metadata_of_an_imported_policy():
    info = octet.Policy(GOLDEN / "contract_fp32.oct").info
    assert (info.input_name, info.output_name) == ("obs", "logits")
    assert list(info.metadata.items()) == [("joint_names", "hip,thigh,calf"), ("ключ", "Größe 0,1 €"), ("empty", ""), ("long", "0.25," * 200)]
    plain = octet.Policy(GOLDEN / "logits_int8.oct").info
    assert (plain.input_name, plain.output_name, plain.metadata) == (None, None, {})
    assert len({info, plain}) == 2


@pytest.mark.parametrize("name", ["logits_int8", "gauss_int8", "gauss_state_int8", "squash_int8", "direct_int8"])
def test_draws_have_the_bits_of_the_golden_files(name):
    policy = octet.Policy(GOLDEN / f"{name}.oct")
    obs, draws = golden(name)[0].view(np.float32), golden(f"{name}_draws")
    actions, log_probs = policy.sampler(11, len(obs)).sample(obs)
    assert np.array_equal(actions.reshape(len(obs), -1).view(np.uint32), draws[0])
    assert np.array_equal(log_probs.view(np.uint32), draws[1][:, 0])


@pytest.mark.parametrize("name", ["logits_int8", "gauss_int8", "squash_int8"])
def test_the_same_seed_draws_the_same(name):
    policy = octet.Policy(GOLDEN / f"{name}.oct")
    obs = golden(name)[0].view(np.float32)
    one, again, other = (policy.sampler(seed, len(obs)) for seed in (3, 3, 4))
    first, second = one.sample(obs), one.sample(obs)
    for got, want in zip(again.sample(obs), first, strict=True):
        assert np.array_equal(got, want)
    assert not np.array_equal(first[0], second[0]) and not np.array_equal(first[0], other.sample(obs)[0])
    assert np.isfinite(first[1]).all()
    # Row 2 draws from stream 2, whatever the rows beside it are.
    mixed = obs.copy()
    mixed[3:] = 0
    assert np.array_equal(policy.sampler(3, len(obs)).sample(mixed)[0][2], first[0][2])


def test_one_observation_has_one_draw():
    policy, obs = octet.Policy(GOLDEN / "gauss_int8.oct"), golden("gauss_int8")[0].view(np.float32)
    for seed in (3, 2**64 - 1):
        action, log_prob = policy.sampler(seed).sample(obs[0])
        actions, log_probs = policy.sampler(seed).sample(obs[:1])
        assert np.array_equal(action, actions[0]) and log_prob.shape == () and log_prob == log_probs[0]
    with pytest.raises(octet.OctetError, match="an observation is not finite"):
        policy.sampler(3).sample(np.full(policy.info.obs_count, np.nan, np.float32))


def test_frequencies_are_those_of_the_logits():
    policy = octet.Policy(GOLDEN / "logits_int8.oct")
    obs = golden("logits_int8")[0].view(np.float32)[0]
    logits = policy.outputs(obs).astype(np.float64)
    wanted = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    count = 20000
    drawn = policy.sampler(1, count).sample(np.tile(obs, (count, 1)))[0]
    got = np.bincount(drawn, minlength=len(wanted)) / count
    assert (np.abs(got - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / count) + 1e-9).all()


def test_info_is_that_of_the_file():
    info = octet.Policy(GOLDEN / "box_int8.oct").info
    assert (info.env_id, info.run_id, info.precision) == ("Golden-v0", 0x0123456789ABCDEF, "int8")
    assert (info.obs_count, info.action_count, info.discrete, info.output_count) == (5, 3, False, 3)
    assert (info.run_name, info.version, info.updates, info.env_steps, info.eval_return) == ("golden", 42, 1000, 50000, 487.25)
    assert info.obs_dtype == np.float32 and info.isa
    assert octet.Policy(GOLDEN / "atoms_int8.oct").info.obs_dtype == np.uint8


@pytest.mark.parametrize("name", ["fp32", "int8", "bf16", "fp16", "int4"])
def test_a_precision_has_its_name(name):
    assert octet.Policy(GOLDEN / f"box_{name}.oct").info.precision == name


def test_names_that_are_cut_in_a_character_are_read():
    content = (GOLDEN / "relu_int8.oct").read_bytes()[:-4]
    content = content.replace(b"\x06golden", b"\x06golde\xc3").replace(b"Golden-v0", b"\xffolden-v0")
    info = octet.Policy(content + struct.pack("<I", zlib.crc32(content))).info
    assert (info.env_id, info.run_name) == ("\ufffdolden-v0", "golde\ufffd")


def test_info_has_what_acting_elsewhere_needs():
    box, maps = octet.Policy(GOLDEN / "box_int8.oct").info, octet.Policy(GOLDEN / "conv_box_int8.oct").info
    assert box.obs_shape == (5,) and len(box.action_low) == len(box.action_high) == box.action_count
    assert all(low < high for low, high in zip(box.action_low, box.action_high, strict=True))
    assert maps.obs_shape == (5, 6, 2) and maps.obs_count == 60
    discrete = octet.Policy(GOLDEN / "logits_int8.oct").info
    assert discrete.action_low is None and discrete.action_high is None
    assert box == octet.Policy(GOLDEN / "box_int8.oct").info


@pytest.mark.parametrize("obs", [{"where": np.zeros(3), "door": 1}, (np.zeros(2), np.zeros(3)), [{"a": 1}] * 2])
def test_observations_of_several_parts_are_to_be_flattened(obs):
    with pytest.raises(octet.OctetError, match=r"gymnasium.spaces.utils.flatten\(space, observation\)"):
        octet.Policy(GOLDEN / "box_int8.oct").act(obs)


def test_leaving_a_block_closes_it():
    with octet.Policy(GOLDEN / "relu_int8.oct") as policy:
        policy.act([0, 0, 1, 0])
    with pytest.raises(octet.OctetError, match="closed"):
        policy.act([0, 0, 1, 0])


def test_bytes_are_a_policy_as_a_file_is():
    bytes_ = (GOLDEN / "relu_int8.oct").read_bytes()
    obs = golden("relu_int8")[0].view(np.float32)
    for source in (bytes_, bytearray(bytes_), memoryview(bytes_)):
        assert np.array_equal(octet.Policy(source).act(obs), octet.Policy(GOLDEN / "relu_int8.oct").act(obs))


def test_shapes_and_types_are_taken_as_they_mean():
    policy = octet.Policy(GOLDEN / "relu_int8.oct")
    assert policy.act([0, 0, 1, 0]).shape == () and policy.act([[0, 0, 1, 0]]).shape == (1,)
    assert policy.act(np.zeros((6, 2, 2))).shape == (6,)
    assert policy.act(np.zeros((2, 2), np.float64)).dtype == np.int32
    assert policy.act(np.zeros((8, 8), np.float32)[:, ::2]).shape == (8,)


def test_an_empty_batch_has_empty_answers():
    policy = octet.Policy(GOLDEN / "relu_int8.oct")
    for shape in ((0, 4), (0, 2, 2)):
        assert policy.act(np.zeros(shape)).shape == (0,) and policy.outputs(np.zeros(shape)).shape == (0, policy.info.output_count)
    policy.close()
    with pytest.raises(octet.OctetError, match="closed"):
        policy.act(np.zeros((0, 4)))


def test_a_number_is_one_observation_of_a_policy_of_one():
    policy = octet.import_policy([(np.ones((2, 1)), [0, 1], None)], np.ones((3, 1)), actions=2)[0]
    for one in (0.5, [0.5], np.zeros(1)):
        assert policy.act(one).shape == () and policy.outputs(one).shape == (2,)
    assert policy.act([[0.5]]).shape == (1,) and policy.act(np.zeros((3, 1))).shape == (3,)
    with pytest.raises(octet.OctetError, match=r"of shape \(3,\), expected 1 numbers, or \(batch, 1\)"):
        policy.act(np.zeros(3))


@pytest.mark.filterwarnings("error")
def test_a_number_that_no_float32_holds_is_an_error_alone():
    with pytest.raises(octet.OctetError, match="not finite"):
        octet.Policy(GOLDEN / "relu_int8.oct").act([1e300, 0, 0, 0])


@pytest.mark.parametrize(("source", "code"), [("/nowhere/policy.oct", 6), ("/", 7), (b"OCTP", 5)])
def test_an_error_has_the_code_of_its_kind(source, code):
    with pytest.raises(octet.OctetError) as refused:
        octet.Policy(source)
    assert refused.value.code == code


def test_of_a_file_that_is_no_policy_no_more_is_read_than_a_policy_may_have(tmp_path):
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**43)  # more than any memory
    with pytest.raises(octet.OctetError, match="large: "):
        octet.Policy(tmp_path / "large")


@pytest.mark.filterwarnings("error")
def test_what_is_collected_is_freed_and_what_was_refused_has_nothing_to_free(monkeypatch):
    freed, free = [], octet._policy.lib.octet_policy_free
    monkeypatch.setattr(octet._policy.lib, "octet_policy_free", lambda handle: (freed.append(handle), free(handle)))
    policy = octet.Policy(GOLDEN / "relu_int8.oct")
    handle = policy._handle
    policy.close()
    del policy
    assert freed == [handle]
    handle = octet.Policy(GOLDEN / "relu_int8.oct")._handle
    for source in (b"OCTP", None):
        with pytest.raises(octet.OctetError):
            octet.Policy(source)
    gc.collect()
    assert freed[1:] == [handle]


@pytest.mark.parametrize(("call", "words"), [
    (lambda p: p.act([0, 0, 1]), "expected 4 numbers"),
    (lambda p: p.act(np.zeros(4, bool)), "observations of type bool, expected float32"),
    (lambda p: p.act(np.zeros((2, 3))), "expected 4 numbers"),
    (lambda p: p.act(np.zeros((0, 3))), "expected 4 numbers"),
    (lambda p: p.act(np.zeros(0)), "expected 4 numbers"),
    (lambda p: p.compare(None, np.zeros((1, 4))), "other: None is not an octet.Policy"),
    (lambda p: p.compare(p, np.zeros((0, 4))), "at least one"),
    (lambda p: p.sampler(1.5), "seed: 1.5 is not a whole number"),
    (lambda p: p.sampler(1, "2"), "rows: '2' is not a whole number"),
    (lambda p: p.sampler(1, 0), "rows: 0 is not in"),
    (lambda p: p.act([0, 0, np.nan, 0]), "not finite"),
    (lambda p: p.outputs([0, 0, np.inf, 0]), "not finite"),
    (lambda p: p.act(["a", "b", "c", "d"]), "type"),
    (lambda p: p.sampler(1).sample([0, 0, 1, 0]), "no distribution"),
    (lambda p: p.sampler(-1), "seed"),
    (lambda p: p.sampler(1, 2).sample([0, 0, 1, 0]), "2 rows"),
    (lambda p: octet.Policy("/nowhere/policy.oct"), "/nowhere/policy.oct: No such file"),
    (lambda p: octet.Policy("/"), "/: Is a directory"),
    (lambda p: octet.Policy("a\0b"), "source: 'a.*b' contains a NUL"),
    (lambda p: octet.Policy(None), "source: None is not a path"),
    (lambda p: octet.Policy(3), "source: 3 is not a path"),
    (lambda p: octet.Policy(__file__), "test_octet_policy.py"),
    (lambda p: octet.Policy(b"OCTP"), "policy|short|bytes"),
    (lambda p: (p.close(), p.close(), p.act([0, 0, 1, 0])), "closed"),
])
def test_what_cannot_be_is_refused_in_words(call, words):
    with pytest.raises(octet.OctetError, match=words):
        call(octet.Policy(GOLDEN / "relu_int8.oct"))


def test_observations_in_bytes_are_bytes():
    policy = octet.Policy(GOLDEN / "atoms_int8.oct")
    assert policy.act(np.zeros(6, np.uint8)).shape == ()
    with pytest.raises(octet.OctetError, match="expected uint8"):
        policy.act(np.zeros(6, np.float32))
    with pytest.raises(octet.OctetError, match="expected uint8"):
        policy.act(np.full(6, 256, np.uint16))


def test_threads_take_turns():
    policy = octet.Policy(GOLDEN / "box_int8.oct")
    obs = np.tile(golden("box_int8")[0].view(np.float32), (20, 1))
    want = policy.act(obs)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(got, want) for got in pool.map(lambda _: policy.act(obs), range(40)))


def softmax(scores):
    power = np.exp(scores - scores.max(1, keepdims=True))
    return power / power.sum(1, keepdims=True)


def test_actions_of_a_box_are_compared_in_units_of_their_range():
    policy, other = (octet.Policy(GOLDEN / f"box_{name}.oct") for name in ("int4", "fp32"))
    obs = golden("box_fp32")[0].view(np.float32)
    found = policy.compare(other, obs)
    assert found.rows == len(obs) and found.kl is None and 0 < found.action_distance < 0.5
    difference = policy.outputs(obs).astype(float) - other.outputs(obs)
    assert np.isclose(found.max_abs, np.abs(difference).max())
    assert np.isclose(found.relative_l2, np.linalg.norm(difference) / np.linalg.norm(other.outputs(obs).astype(float)))
    same = other.compare(other, obs)
    assert (same.agreement, same.action_distance, same.max_abs, same.relative_l2) == (1, 0, 0, 0)


def test_discrete_actions_are_compared_by_the_divergence_of_their_scores():
    policy, other = octet.Policy(GOLDEN / "relu_int8_per_tensor.oct"), octet.Policy(GOLDEN / "relu_int8.oct")
    obs = golden("relu_int8")[0].view(np.float32)
    found, got, want = policy.compare(other, obs), policy.outputs(obs).astype(float), other.outputs(obs).astype(float)
    assert np.isclose(found.agreement, (policy.act(obs) == other.act(obs)).mean()) and found.action_distance is None
    temperature = (want.max(1) - want.min(1)).mean()
    p, q = softmax(want / temperature), softmax(got / temperature)
    assert np.isclose(found.kl, (p * np.log(p / q)).sum(1).mean(), atol=1e-9)
    difference = (got - got.mean(1, keepdims=True)) - (want - want.mean(1, keepdims=True))
    assert np.isclose(found.max_abs, np.abs(difference).max())


def test_policies_of_other_tasks_are_not_compared():
    box, relu = octet.Policy(GOLDEN / "box_int8.oct"), octet.Policy(GOLDEN / "relu_int8.oct")
    with pytest.raises(octet.OctetError, match="the policies have different (observations|actions)"):
        box.compare(relu, np.zeros(box.info.obs_count, np.float32))
    with pytest.raises(octet.OctetError, match="an observation is not finite"):
        box.compare(box, np.full(box.info.obs_count, np.nan, np.float32))
    with pytest.raises(octet.OctetError, match="observations of shape"):
        box.compare(box, np.zeros(3, np.float32))


def test_a_comparison_is_as_large_as_its_caller_knows_it():
    """Of an older header, which has fewer fields, and of a newer one, which has more."""
    lib, policy, obs = octet._lib.lib, octet.Policy(GOLDEN / "relu_int8.oct"), golden("relu_int8")[0].view(np.float32)
    known, error = octet._lib.Divergence, ctypes.create_string_buffer(256)

    class Room(ctypes.Structure):
        _fields_ = [("known", known), ("rest", ctypes.c_uint8 * 8)]

    def compared(size, count=len(obs)):
        room = Room.from_buffer_copy(b"\x5a" * ctypes.sizeof(Room))
        room.known.size = size
        result = lib.octet_policy_compare(policy._handle, policy._handle, obs.ctypes.data, count,
                                          ctypes.byref(room.known), error, len(error))
        return result, bytes(room), room.known

    full = ctypes.sizeof(known)
    for size in (known.kl.offset, full, full + 8):
        result, room, got = compared(size)
        assert (result, got.size, got.agreement) == (0, min(size, full), 1)
        assert set(room[min(size, full):]) == {0x5a}
    for size, count, words in [(0, len(obs), b"out.size is 0: sizeof(octet_policy_divergence) is expected"),
                               (full, 0, b"0 observations; allowed are 1 to 4294967295")]:
        assert compared(size, count)[0] == 1 and error.value == words


def test_a_policy_is_closed_when_no_call_uses_it(monkeypatch):
    policy, free, seen = octet.Policy(GOLDEN / "relu_int8.oct"), octet._policy.lib.octet_policy_free, []
    monkeypatch.setattr(octet._policy.lib, "octet_policy_free",
                        lambda handle: (seen.append(policy._turn().locked()), free(handle)))
    policy.close()
    assert seen == [True]


@pytest.mark.parametrize(("name", "call"), [
    ("act_batch", lambda policy, obs: policy.act(obs)), ("outputs_batch", lambda policy, obs: policy.outputs(obs)),
    ("sample_batch", lambda policy, obs: policy.sampler(1, len(obs)).sample(obs)), ("compare", lambda policy, obs: policy.compare(policy, obs))])
def test_each_call_has_its_turn(monkeypatch, name, call):
    policy, obs, seen = octet.Policy(GOLDEN / "gauss_int8.oct"), golden("gauss_int8")[0].view(np.float32), []
    real = getattr(octet._policy.lib, f"octet_policy_{name}")
    monkeypatch.setattr(octet._policy.lib, f"octet_policy_{name}",
                        lambda *arguments: (seen.append(policy._turn().locked()), real(*arguments))[1])
    call(policy, obs)
    assert seen == [True] and not policy._turn().locked()


def test_a_forked_process_has_turns_of_its_own():
    """A thread that was in a call at the fork is not in the child, and never ends its turn there."""
    policy = octet.Policy(GOLDEN / "box_int8.oct")
    obs = golden("box_int8")[0].view(np.float32)
    with policy._turn():
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            policy.act(obs)
            policy.close()
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    policy.close()


def pickled(what):
    return pickle.loads(pickle.dumps(what))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_policy_acts_as_it_did_when_it_was_loaded(again, tmp_path):
    path = tmp_path / "policy.oct"
    path.write_bytes((GOLDEN / "gauss_int8.oct").read_bytes())
    policy, obs = octet.Policy(path), golden("gauss_int8")[0].view(np.float32)
    want = policy.act(obs)
    path.write_bytes((GOLDEN / "relu_int8.oct").read_bytes())
    other = again(policy)
    policy.close()
    assert np.array_equal(other.act(obs), want)
    with pytest.raises(octet.OctetError, match="the policy is closed"):
        again(policy)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_sampler_goes_on_with_the_same_draws(again):
    obs = golden("gauss_int8")[0].view(np.float32)
    sampler = octet.Policy(GOLDEN / "gauss_int8.oct").sampler(3, len(obs))
    sampler.sample(obs)
    other = again(sampler)
    for _ in range(2):
        for got, want in zip(other.sample(obs), sampler.sample(obs), strict=True):
            assert np.array_equal(got, want)


def test_processes_that_are_spawned_get_policies():
    policy, obs = octet.Policy(GOLDEN / "gauss_int8.oct"), golden("gauss_int8")[0].view(np.float32)
    sampler = policy.sampler(3, len(obs))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert np.array_equal(pool.submit(policy.act, obs).result(), policy.act(obs))
        assert np.array_equal(pool.submit(sampler.sample, obs).result()[0], sampler.sample(obs)[0])
