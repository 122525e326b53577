"""A learner of your own: Octet's actors, replay, evaluators and int8 policies around a Python program that learns."""

from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import _lib
from ._arrays import floats_of, is_list
from ._command import cannot_start, command, errors_of, path_of, set_arguments, signal_of, train_arguments
from ._lib import NotCopied, OctetError, deadline_of, lib, program_environ, unclosed
from ._onnx import ACTIVATIONS
from ._train import Run, has_summary

_EINVAL, _EAGAIN, _ECLOSED = 1, 2, 3
_WINDOWS = {1: "n_step", 2: "sequence", 3: "rollout"}
_HEADS = {1: "values", 2: "logits", 3: "tanh", 4: "atoms", 5: "gaussian", 6: "tanh_gaussian"}
_ACTIVATIONS = tuple(ACTIVATIONS)
_KINDS = ("", "dense", "conv", "pool", "mean")  # OCTET_LEARNER_DENSE ...
_WAIT_MS = 100  # between two looks at signals and at the child

Arrays = tuple[NDArray[np.float32], ...]


@dataclass(frozen=True)
class Layer:
    """A layer of the policy's network. Weights are (outputs, inputs), or for a convolution (filters, kernel rows, kernel
    columns, channels) over a map of height x width x channels. `pool` (the largest number) and `mean` have no weights."""

    kind: str                     # dense, conv, pool or mean
    inputs: int
    outputs: int
    activation: str
    layer_norm: bool
    weight_shape: tuple[int, ...]
    map_shape: tuple[int, ...]
    _at: tuple[int, ...]
    kernel: tuple[int, ...] = ()  # of a convolution or pool: rows, columns
    stride: tuple[int, ...] = ()  # rows, columns
    padding: tuple[tuple[int, int], ...] = ()  # zeros before and after: of rows, of columns
    output_shape: tuple[int, ...] = ()  # of a convolution or pool: height, width, filters

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of weight and bias and, with a layer norm, of gain and offset."""
        if not self.weight_shape:
            return []
        units = (self.weight_shape[0],)
        return [self.weight_shape, units, *([(self.outputs,)] * 2 if self.layer_norm else [])]


@dataclass
class LearnerBatch:
    """Views of memory that both processes share. They are valid until `update`, and you may change them. Shapes are (B, …)
    for transitions of n steps and (B, T, …) for sequences and rollouts, whose observations are (B, T + 1, …). A field is
    None if this kind of batch does not have it."""

    TERMINATED: ClassVar[int] = 1  # bits of flags
    TRUNCATED: ClassVar[int] = 2
    FIRST: ClassVar[int] = 4       # of an episode, or of what goes on behind a rollout
    END: ClassVar[int] = 8         # the last observation of an episode or rollout: it has no action
    RANDOM: ClassVar[int] = 16     # the action was drawn at random
    FAILED: ClassVar[int] = 32     # with END: the environment failed here
    ROLLOUT_EDGE: ClassVar[int] = 64  # with FIRST: a rollout begins, and maybe no episode; with END: it ends, and the episode may go on

    observations: NDArray[np.float32]  # of pictures in bytes: divided by 256, which the weights are for
    actions: NDArray[Any]              # int32; of a box float32 within its bounds
    rewards: NDArray[np.float32]       # n-step: the discounted sum; each is clipped before by algo.reward_clip
    next_observations: NDArray[np.float32] | None
    discounts: NDArray[np.float32] | None  # what the value of next_observations counts: 0 where it terminated
    flags: NDArray[np.uint8] | None
    versions: NDArray[np.uint32] | None    # of the policies that acted
    log_probs: NDArray[np.float32] | None  # of the actions, as the actors drew them from the int8 policy
    drawn: NDArray[np.float32] | None  # of Gaussians: what was drawn, in half-ranges of the box (as means, deviations
    # and log_probs): the action is (low + high) / 2 + x * (high - low) / 2, x = drawn clipped to -1 .. 1, or its tanh
    importance: NDArray[np.float32]    # (B,) weights of prioritised replay
    learning_rate: float               # by algo.learning_rate and algo.learning_rate_final
    number: int                        # counts batches, from the updates that the run had when its learner began


class _Handle:
    """The open learner of liboctet. Views of its memory keep it alive; it is freed with the last view."""

    def __init__(self) -> None:
        self.opened = ctypes.c_void_p()

    @property
    def pointer(self) -> int | None:
        return self.opened.value

    def view(self, address: int | None, shape: tuple[int, ...], dtype: Any) -> NDArray[Any] | None:
        if not address:
            return None
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * size).from_address(address)
        memory._handle = self
        return np.frombuffer(memory, dtype).reshape(shape)

    def __del__(self) -> None:
        if self.opened:
            lib.octet_learner_close(self.opened)


class Learner(NotCopied):
    """Runs an experiment whose updates this program makes.

        with octet.Learner("experiment.yaml", run_dir="run", set={"learner.batch_size": 128}) as learner:
            for batch in learner:
                ...
                learner.update(priorities=td_errors, weights=network, metrics={"loss": loss})

    `experiment` is a file or the name of a preset; None continues the run in the folder. `octet train` runs it as a child
    process with algo.name: external. The loop ends when the run ends, by run.updates, run.env_steps, run.wall_s or
    run.stop_at_return, after a last evaluation; `reason` says why. If the block or the program is left earlier, the run is
    interrupted (`close`). `Learner.attach(run_dir)` learns in a run that was started in another way. What the run refuses
    is raised as `octet.OctetError`, with the message of the command line. Use one thread at a time.

    set: keys of the experiment. arguments: further options of `octet train`, such as ["--actors", "4"]. verbose: octet
    train writes to this terminal.
    """

    _child: subprocess.Popen[bytes] | None
    _log: IO[bytes] | None

    def __init__(self, experiment: str | os.PathLike[str] | None, run_dir: str | os.PathLike[str],
                 set: Mapping[str, Any] | None = None, *, arguments: Sequence[str] = (), verbose: bool = False) -> None:
        settings = set_arguments(set)
        algo = (set or {}).get("algo.name", "external")
        if algo != "external":
            raise OctetError(f"algo.name: {algo}: only external learns here; octet train runs the others")
        self._begin(pathlib.Path(path_of("run_dir", run_dir)))
        self._refuse_another()
        its = command(*train_arguments(experiment, self.run_dir, arguments), "--set", "algo.name=external", *settings)
        self._log = None if verbose else tempfile.TemporaryFile()
        # A session of its own: Ctrl-C is this program's, which then ends the run.
        try:
            self._child = subprocess.Popen(its, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                                           start_new_session=True, env=program_environ())
        except OSError as error:
            self.close()
            raise cannot_start(its[0], error) from error
        self._connect_or_close()

    @classmethod
    def attach(cls, run_dir: str | os.PathLike[str], timeout: float | None = 60.0) -> Learner:
        """Learns in the run whose octet-learner has this folder, on this machine and by this user. `timeout`: seconds to
        wait until the run has begun; None waits forever. A folder without a run, or whose run has ended, is refused at
        once."""
        deadline = deadline_of(timeout)
        self = cls.__new__(cls)
        self._begin(pathlib.Path(path_of("run_dir", run_dir)))
        self._deadline = deadline
        self._connect_or_close()
        return self

    def _refuse_another(self) -> None:
        pointer = ctypes.c_void_p()
        if lib.octet_learner_open(_lib.byref(pointer), os.fsencode(self.run_dir), None, 0) == 0:
            lib.octet_learner_close(pointer)
            raise OctetError(f"{self.run_dir}: a run continues there; Learner.attach learns in it")

    def _begin(self, run_dir: pathlib.Path) -> None:
        self.run_dir = run_dir
        self._pid = os.getpid()
        self._child = None
        self._log = None
        self._handle: _Handle | None = None
        self._deadline = float("inf")
        # The library writes it: a Ctrl-C between its answer and here loses no batch. B == 0: none is to be answered.
        self._batch = _lib.LearnerBatch(ctypes.sizeof(_lib.LearnerBatch))
        self._over = False
        self._was_interrupted = False
        _open.add(self)

    # ---- connecting

    def _connect_or_close(self) -> None:
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        gone = ""  # why the last octet-learner that was reached is there no more
        while (result := self._try(error := _lib.create_string_buffer(_lib.ERROR_BYTES))) in (_EAGAIN, _ECLOSED):
            said = error.value.decode(errors="replace")
            gone = said if result == _ECLOSED else gone if self._handle is None else ""
            self._look()
            if self._child is None and self._handle is None:
                self._refuse_no_run()
            if time.monotonic() > self._deadline:
                raise OctetError(gone or (said if self._handle else self._absent()), result)
            time.sleep(_WAIT_MS / 1e3)
        _lib.check(result, error.value)
        assert self._handle is not None
        self._spec = lib.octet_learner_get_spec(self._handle.pointer).contents
        self._describe()

    def _refuse_no_run(self) -> None:
        """Refuses a folder whose run will not provide batches."""
        run = Run(self.run_dir)
        if has_summary(self.run_dir) and not run.is_live:
            raise OctetError(f"{self.run_dir}: the run has ended: {run.summary.get('reason')}; "
                             f"octet.Learner(None, {str(self.run_dir)!r}) continues it", _ECLOSED)

    def _absent(self) -> str:
        """Says what has not appeared in time."""
        run = Run(self.run_dir)
        name = run.config.get("algo", {}).get("name")
        if name != "external":
            return f"{self.run_dir}: algo.name is {name}: only a run of external provides batches"
        return f"{self.run_dir}: " + ("no actor has joined the run yet" if run.is_live else "no octet-learner runs in this folder")

    def _try(self, error: Any) -> int:
        """Returns whether there is a run that provides batches. A run that dies meanwhile may come back."""
        if self._handle is None:
            self._handle = _Handle()  # there before it is opened: a Ctrl-C on the way back would keep the run's one place
            opened: int = lib.octet_learner_open(_lib.byref(self._handle.opened), os.fsencode(self.run_dir), error, len(error))
            if opened != 0:
                self._handle = None
                return opened
        result: int = lib.octet_learner_wait(self._handle.pointer, _WAIT_MS)
        error.value = lib.octet_learner_error(self._handle.pointer) or b"it has handed out no batch yet"
        if result == _ECLOSED and not lib.octet_learner_has_ended(self._handle.pointer):
            self._handle = None
        elif result == _ECLOSED:
            self._await_child()
            raise OctetError(self._unlearned(error.value.decode(errors="replace")), result)
        return result

    def _describe(self) -> None:
        spec = self._spec
        self.env_id: str = spec.env_id.decode(errors="replace")
        self.window: str = _WINDOWS[spec.window]
        self.batch_size: int = spec.batch_size
        self.steps: int = spec.steps
        self.n_step: int = spec.n_step
        self.discount: float = spec.discount
        rank = spec.obs_rank
        self.obs_shape: tuple[int, ...] = tuple(spec.obs_shape[:rank]) if rank > 0 else (spec.obs_count,)
        if int(np.prod(self.obs_shape)) != spec.obs_count:
            self.obs_shape = (spec.obs_count,)
        self.discrete: bool = spec.action_kind == 1
        self.action_count: int = spec.action_count
        self.action_low: NDArray[np.float32] = np.array(spec.action_low[:spec.action_count], np.float32)
        self.action_high: NDArray[np.float32] = np.array(spec.action_high[:spec.action_count], np.float32)
        self.head: str = _HEADS[spec.head]
        self.atoms: int = spec.atoms
        self.value_range: tuple[float, float] = (spec.value_min, spec.value_max)
        self.publish_period: int = spec.publish_period
        self.has_priorities: bool = bool(spec.has_priorities)
        self.metric_names: list[str] = [spec.number_names[i].value.decode() for i in range(spec.number_count)]
        self.layers: list[Layer] = [_layer(spec.layers[i], spec.kernels[i]) for i in range(spec.layer_count)]
        self._has_log_std: bool = spec.deviation > 0
        assert self._handle is not None
        params = self._handle.view(lib.octet_learner_params(self._handle.pointer), (spec.param_count,), np.float32)
        assert params is not None
        self._params: NDArray[np.float32] = params

    # ---- the run

    def _await_child(self) -> None:
        """Waits until the child has ended, after it announced its end; raises the cause if it failed."""
        if self._child is not None and self._child.wait() != 0:
            self._look()

    def _look(self) -> None:
        """Raises the cause if the child has ended without announcing it."""
        code = self._child.poll() if self._child is not None else None
        if code == 0:
            raise OctetError(self._unlearned("octet train has ended"), 0)
        if code is not None:
            raise OctetError(self._words(code) or f"octet train exited with code {code}", code)

    def _unlearned(self, why: str) -> str:
        return f"{self.run_dir}: the run ended before a batch was learned from: {why}"

    def _words(self, code: int) -> str:
        """Returns the signal that ended the child, or else its errors, or else its last lines."""
        name = signal_of(code)
        if name is not None:
            return f"{self.run_dir}: octet train was {'killed' if code < 0 else 'interrupted'} by {name}"
        if self._log is None:
            return ""
        self._log.seek(0)
        return errors_of(self._log.read().decode(errors="replace").strip().splitlines())

    def _check(self, result: int) -> None:
        if result != 0:
            assert self._handle is not None
            _lib.check(result, lib.octet_learner_error(self._handle.pointer))

    @property
    def reason(self) -> str:
        """The reason why the run has ended: "budget", "solved", "interrupted" …; "" while it continues."""
        if self._was_interrupted:
            return "interrupted"
        ended = self._handle is not None and lib.octet_learner_has_ended(self._handle.pointer)
        return lib.octet_learner_error(self._handle.pointer).decode() if ended and self._handle else ""

    def _refuse_a_fork(self) -> None:
        """Refuses to work in a fork, because its answers would be taken for answers of the original process."""
        if os.getpid() != self._pid:
            raise OctetError("a learner belongs to the process that made it and cannot be used in a fork of that process")

    # ---- batches

    def next(self, timeout: float | None = None) -> LearnerBatch | None:
        """Returns the next batch, or None if the run has ended or no batch came within `timeout` seconds (`reason` tells
        which)."""
        self._refuse_a_fork()
        if self._over or self._handle is None:
            return None
        batch = self._batch
        deadline = deadline_of(timeout)
        while True:
            wait_ms = int(max(0, min(_WAIT_MS, (deadline - time.monotonic()) * 1e3)))
            result = lib.octet_learner_next(self._handle.pointer, wait_ms, _lib.byref(batch))
            if result == 0:
                return self._view(batch)
            if result == _EAGAIN and time.monotonic() >= deadline:
                return None
            if result == _ECLOSED:
                self._end(result)
                return None
            if result != _EAGAIN:
                self._check(result)

    def _end(self, result: int) -> None:
        """Finishes after the end of the run: with a child, the run folder is complete when this returns."""
        self._over = True
        assert self._handle is not None
        if not lib.octet_learner_has_ended(self._handle.pointer):
            self._check(result)
        self._await_child()

    def __iter__(self) -> Iterator[LearnerBatch]:
        while (batch := self.next()) is not None:
            yield batch

    def _view(self, batch: _lib.LearnerBatch) -> LearnerBatch:
        view, rows = self._handle.view, (batch.B,)  # type: ignore[union-attr]
        steps = rows if batch.T == 0 else (batch.B, batch.T)
        obs = view(batch.obs, (*rows, *(() if batch.T == 0 else (batch.T + 1,)), *self.obs_shape), np.float32)
        actions = view(batch.action, steps if self.discrete else (*steps, self.action_count),
                       np.int32 if self.discrete else np.float32)
        rewards, importance = view(batch.reward, steps, np.float32), view(batch.importance, rows, np.float32)
        extra = view(batch.extra, (*steps, self._spec.extra_count), np.float32)
        assert obs is not None and actions is not None and rewards is not None and importance is not None
        return LearnerBatch(
            observations=obs, actions=actions, rewards=rewards, importance=importance,
            next_observations=view(batch.next_obs, (*rows, *self.obs_shape), np.float32),
            discounts=view(batch.discount, rows, np.float32), flags=view(batch.flags, steps, np.uint8),
            versions=view(batch.version, steps, np.uint32), log_probs=None if extra is None else extra[..., 0],
            drawn=None if extra is None or self.discrete else extra[..., 1:], learning_rate=batch.learning_rate,
            number=batch.number)

    # ---- answers

    def update(self, priorities: Any = None, weights: Any = None, log_std: Any = None,
               metrics: Mapping[str, Any] | None = None) -> None:
        """Answers the batch: once for each batch.

            priorities: (B,) numbers from 0, such as |TD error|; without them all windows count the same.
            weights: the new policy: a torch.nn.Module (its Linear, Conv2d and LayerNorm layers in order), or for each of `layers`
                its (weight, bias) or, with a layer norm, (weight, bias, gain, offset). It is quantised and sent to the actors every
                `publish_period` updates; without weights the policy does not change.
            log_std: (dim,) log deviations of the head "gaussian".
            metrics: means for metrics.csv, with names in `metric_names`.

        Raises OctetError if shapes or names are wrong or numbers are not finite. Then nothing was sent, and the batch still
        waits for its answer.
        """
        self._refuse_a_fork()
        if self._batch.B == 0 or self._handle is None:
            raise OctetError("no batch waits for an answer")
        answer = _lib.LearnerAnswer(ctypes.sizeof(_lib.LearnerAnswer))
        numbers = self._numbers({} if metrics is None else metrics)
        if priorities is not None:
            rows = floats_of("priorities", priorities)
            if rows.shape != (self._batch.B,):
                raise OctetError(f"priorities of shape {rows.shape}, expected ({self._batch.B},)")
            answer.priorities = rows.ctypes.data
        answer.numbers = numbers.ctypes.data
        had = None
        if weights is not None or log_std is not None:
            had = self._params.copy()
            self._publish(weights, log_std)
            answer.has_params = 1
        result = lib.octet_learner_update(self._handle.pointer, _lib.byref(answer))
        if result != 0 and had is not None:
            self._params[...] = had  # nothing was sent: actors have these
        self._check(result)
        self._batch.B = 0

    def _numbers(self, metrics: Mapping[str, Any]) -> NDArray[np.float32]:
        if not isinstance(metrics, Mapping):
            raise OctetError(f"metrics: {metrics!r} is not a dictionary of numbers")
        numbers = np.full(len(self.metric_names), np.nan, np.float32)
        for name, value in metrics.items():
            if name not in self.metric_names:
                raise OctetError(f"no metric {name!r}; known: {', '.join(self.metric_names)}")
            numbers[self.metric_names.index(name)] = _number(name, value)
        return numbers

    def weights(self) -> list[Arrays]:
        """Returns the weights that actors have, or had before a resume: for each of `layers` a copy of (weight, bias) or,
        with a layer norm, (weight, bias, gain, offset)."""
        return [tuple(self._params[at:at + int(np.prod(shape))].reshape(shape).copy()
                      for at, shape in zip(layer._at, layer.shapes, strict=False)) for layer in self.layers]

    def _publish(self, weights: Any, log_std: Any) -> None:
        given = [] if weights is None else _given(weights, self.layers)
        if weights is not None and len(given) != len(self.layers):
            raise OctetError(f"weights of {len(given)} layers, expected {len(self.layers)}: {_shapes(self.layers)}")
        for i, (layer, arrays) in enumerate(zip(self.layers, given, strict=False)):
            if [array.shape for array in arrays] != layer.shapes:
                raise OctetError(f"layer {i} has {_words([array.shape for array in arrays])}, expected "
                                 f"{_words(layer.shapes)} (network.hidden, network.conv, algo.head)")
        if log_std is not None and not self._has_log_std:
            raise OctetError(f"log_std is for algo.head: gaussian, not {self.head}")
        deviations = None if log_std is None else floats_of("log_std", log_std)
        if deviations is not None and deviations.shape != (self.action_count,):
            raise OctetError(f"log_std of shape {deviations.shape}, expected ({self.action_count},)")
        for layer, arrays in zip(self.layers, given, strict=False):
            for at, array in zip(layer._at, arrays, strict=False):
                self._params[at:at + array.size] = array.ravel()
        if deviations is not None:
            at = self._spec.deviation
            self._params[at:at + self.action_count] = deviations

    # ---- the end

    def close(self) -> None:
        """Leaves the run. If this object started the run and the run has not ended, it is interrupted as by Ctrl-C in
        `octet train`: it writes its checkpoint and its policies without another evaluation. policy.oct is the best version
        evaluated so far, policy_last.oct the newest version. The call waits for the end of octet train; a Ctrl-C meanwhile
        kills its daemons. Raises OctetError if the run could not be saved. A fork only leaves, and the run continues."""
        if self._handle is not None and self._handle.opened:
            lib.octet_learner_leave(self._handle.pointer)
        self._over, self._batch.B = True, 0
        try:
            self._interrupt()
        finally:
            if self._log is not None:
                self._log.close()
                self._log = None

    def _interrupt(self) -> None:
        if self._child is None or os.getpid() != self._pid or self._child.poll() is not None:
            return
        self._child.send_signal(signal.SIGINT)
        try:
            code = self._child.wait()
        except KeyboardInterrupt:
            self._child.send_signal(signal.SIGINT)  # by the second one octet train ends at once
            self._child.wait()
            raise
        # By whichever signal; by SIGINT itself, where octet train had not yet said how it takes one.
        was_stopped = signal_of(code) is not None and (code > 0 or code == -signal.SIGINT)
        self._was_interrupted = code in (128 + signal.SIGINT, -signal.SIGINT)
        if code != 0 and not was_stopped:
            raise OctetError(self._words(code) or f"octet train exited with code {code}", code)

    def __enter__(self) -> Learner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<octet.Learner {self.run_dir}{', over' if self._over else ''}>"

    def __del__(self) -> None:
        if getattr(self, "_pid", None) != os.getpid():  # never begun, or a fork's, which only leaves
            return
        try:
            if not self._over:
                unclosed(self)
        finally:
            self.close()


_open: weakref.WeakSet[Learner] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends the runs that this program has started."""
    for learner in list(_open):
        try:
            learner.close()
        except OctetError as error:
            print(f"octet.Learner: {error}", file=sys.stderr)


# ---- of weights

def _layer(layer: Any, kernels: Any) -> Layer:
    kind, at, shape = _KINDS[layer.kind], (layer.weight, layer.bias), (layer.rows, layer.columns)
    made = Layer(kind=kind, inputs=layer.inputs, outputs=layer.outputs, activation=_ACTIVATIONS[layer.activation],
                 layer_norm=bool(layer.layer_norm), weight_shape=shape, map_shape=(),
                 _at=(*at, layer.gain, layer.offset) if layer.layer_norm else at)
    if kind == "dense":
        return made
    sizes, kernel = (layer.height, layer.width), tuple(axis.kernel for axis in kernels)
    positions = [(axis.before + size + axis.after - axis.kernel) // axis.stride + 1 for size, axis in zip(sizes, kernels, strict=True)]
    return replace(made, weight_shape=(layer.filters, *kernel, layer.channels) if kind == "conv" else (),
                   map_shape=(*sizes, layer.channels), kernel=kernel, stride=tuple(axis.stride for axis in kernels),
                   padding=tuple((axis.before, axis.after) for axis in kernels), output_shape=(*positions, layer.filters))


def _array(values: Any) -> NDArray[np.float32]:
    return floats_of("weights", values)


def _number(name: str, value: Any) -> float:
    number = floats_of(f"metric {name}", value)
    if number.size != 1:
        raise OctetError(f"metric {name} of shape {number.shape}, expected one number")
    return float(number.ravel()[0])


def _bias(part: Any, weight: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.zeros(len(weight), np.float32) if part.bias is None else _array(part.bias)


def _words(shapes: Iterable[tuple[int, ...]]) -> str:
    return ", ".join("x".join(map(str, shape)) or "()" for shape in shapes)


def _shapes(layers: list[Layer]) -> str:
    return "; ".join(_words(layer.shapes) or "no arrays" for layer in layers)


def _given(weights: Any, layers: list[Layer]) -> list[Arrays]:
    """Returns the arrays of each layer, in Octet's order of axes."""
    if hasattr(weights, "named_modules"):
        return _of_module(weights, layers)
    if not is_list(weights):
        raise OctetError(f"weights: {weights!r} is neither a module of PyTorch nor a list with the arrays of each layer")
    layers_of = list(weights)
    for parts in layers_of:
        if not is_list(parts):
            raise OctetError(f"weights: {parts!r} instead of the arrays of a layer: {_shapes(layers)}")
    return [tuple(_array(part) for part in parts) for parts in layers_of]


def _of_module(module: Any, layers: list[Layer]) -> list[Arrays]:
    """Returns the arrays of a module, () for a pool. PyTorch stores maps as channels x height x width, and so the inputs of a
    layer after the last map."""
    found: list[Arrays] = []
    maps = [layer.output_shape for layer in layers if layer.output_shape]
    for part in module.modules():
        name = type(part).__name__
        while name in ("Conv1d", "Conv2d", "Linear") and len(found) < len(layers) and not layers[len(found)].weight_shape:
            found.append(())
        if name == "LayerNorm" and found:
            found[-1] += (_array(part.weight), _array(part.bias))
        elif name in ("Conv1d", "Conv2d"):
            weight = _array(part.weight)
            weight = (weight if weight.ndim == 4 else weight[..., None]).transpose(0, 2, 3, 1)
            found.append((weight, _bias(part, weight)))
        elif name == "Linear":
            weight = _array(part.weight)
            if maps and weight.shape[1] == int(np.prod(maps[-1])):
                height, width, channels = maps[-1]
                weight = weight.reshape(-1, channels, height, width).transpose(0, 2, 3, 1).reshape(weight.shape)
            maps = []
            found.append((weight, _bias(part, weight)))
        elif any(True for _ in part.parameters(recurse=False)):
            raise OctetError(f"a layer of type {name}; allowed are Linear, Conv1d, Conv2d and, after one of these, LayerNorm")
    return found
