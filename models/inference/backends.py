"""Choose the backend a network runs on: by name, automatically, or the fastest in a short trial."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ckai.datasets.files import first_line
from ckai.models.checkpoint import Checkpoint, load_network
from ckai.models.inference.devices import one_torch_thread, use_one_torch_thread
from ckai.models.inference.evaluator import BackendError, Boards, Evaluator, TorchEvaluator
from ckai.models.inference.threads import JoinableThread
from ckai.models.inputs.encodings import Encoding
from ckai.models.layers.network import Network
from ckai.models.networks.swift import Swift

AUTO = "auto"
"""The best backend for single searches, see `ckai.rl.evaluators.loading`; here, without a trial, that of
`backend_without_trial`, else torch in float32."""
FASTEST = "fastest"
"""The fastest correct backend in a trial of a second or two (`choose_evaluator`)."""
BACKENDS = ("torch", "torch-bf16", "openvino", "openvino-bf16", "onnx", "cuda", "integers")
NAMES = (AUTO, FASTEST, *BACKENDS, "cpu")
"""Choices of `--evaluator`; cpu is an alias of torch."""
EXACT = 1e-4
"""Max difference of a float32 backend from torch in float32, in probabilities of legal actions and values."""
ROUGH = 0.05
"""Max difference of bfloat16 or integers; trained networks reach 0.02, with a mean of 0.001 to 0.008."""
SECONDS = 0.1
"""Minimum duration of a measurement."""

SLOW = 0.3
"""Seconds from which a first call is long enough to be the whole measurement."""

Maker = Callable[[Network, int, Evaluator | None], Evaluator]


@dataclass(frozen=True)
class Trial:
    """The trial of one backend."""

    backend: str
    rate: float = 0.0
    """Evaluations/s of all threads together; 0 if not measured."""
    policy_error: float = 0.0
    """Largest difference from torch in float32 in the probability of a legal action."""
    value_error: float = 0.0
    """Largest difference from torch in float32 in a value."""
    problem: str = ""
    """Why it was dropped; empty if it was not."""


@dataclass(frozen=True)
class Report:
    """The choice of a backend and its trials; `str` gives one readable line."""

    chosen: str
    name: str
    """Name of the evaluator."""
    batch: int
    threads: int
    trials: list[Trial] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        if not self.trials:
            return f"evaluator {self.chosen} ({self.name})"
        rates = {trial.backend: trial.rate for trial in self.trials if not trial.problem}
        others = [f"{b} {rates[b]:,.0f}" for b in sorted(rates, key=lambda b: -rates[b]) if b != self.chosen]
        dropped = [f"{t.backend} dropped: {t.problem}" for t in self.trials if t.problem]
        threads = f"{self.threads} threads" if self.threads > 1 else "1 thread"
        text = (
            f"evaluator {self.chosen}: {rates[self.chosen]:,.0f} evaluations/s in batches of {self.batch} "
            f"from {threads}"
        )
        if others:
            text += f" ({', '.join(others)})"
        return "; ".join([text, *dropped]) + f"; tried in {self.seconds:.1f} s"


def make_evaluator(
    network: Network, backend: str, threads: int = 1, like: Evaluator | None = None
) -> Evaluator:
    """Create an evaluator of a network.

    Args:
        network: the network; later changes of its weights have no effect.
        backend: one of `BACKENDS`, `auto` or cpu; cuda:N is the GPU with that number, from 0.
        threads: number of threads that will call it at once.
        like: an evaluator of the same network, whose converted model is reused if possible.

    Raises:
        BackendError: the backend is not available; says why.
        ValueError: the backend is unknown.
    """
    makers = {AUTO: _MAKERS[backend_without_trial(network) or "torch"], **_MAKERS, "cpu": _MAKERS["torch"]}
    if backend.startswith("cuda:"):
        makers[backend] = partial(_cuda, name=backend)
    if backend not in makers:
        raise ValueError(f"expected one of the evaluators {', '.join(NAMES)}, found {backend!r}")
    return makers[backend](network, threads, like)


def backend_without_trial(network: Network) -> str | None:
    """Return the backend that needs no trial: integers if the network has them, else a GPU; else None."""
    if isinstance(network, Swift):
        return "integers"
    return "cuda" if torch.cuda.is_available() else None


def choose_evaluator(
    source: str | Path | Checkpoint | Network,
    *,
    batch: int = 256,
    threads: int = 1,
    tolerance: float | None = None,
    prefer: str | None = None,
    candidates: Sequence[str] = BACKENDS,
) -> tuple[Evaluator, Report]:
    """Choose the fastest correct backend on this machine in a trial of a second or two.

    Every available candidate evaluates positions of random games. Those that differ from torch in float32 by
    more than their bound, in the probability of a legal action or in a value, are dropped. The others are
    timed with the given batch size and threads.

    Args:
        source: a checkpoint, its file, or a network.
        batch: positions per call.
        threads: threads that call at once.
        tolerance: max difference; None: `EXACT` for float32, `ROUGH` for bfloat16, `cuda` and integers.
        prefer: backend to use without timing if it is available and correct.
        candidates: backends to try.

    Returns:
        The evaluator and the report. Torch in float32 is always a candidate, so there is always a choice.

    Raises:
        CheckpointError: the checkpoint cannot be read.
        BackendError: the network's own outputs are not finite.
        ValueError: `batch` or `threads` is below 1.
    """
    if batch < 1 or threads < 1:
        raise ValueError(f"expected batch >= 1 and threads >= 1, found {batch} and {threads}")
    begun = time.perf_counter()
    network = as_network(source)
    boards = sample_positions(256, network.encode)
    exact = TorchEvaluator(network)
    with one_torch_thread():
        reference = exact_outputs(exact, boards, network.encode)
    made: dict[str, Evaluator] = {}
    trials: dict[str, Trial] = {}

    def attempt(backend: str) -> None:
        try:
            with one_torch_thread():
                like = made.get(backend.removesuffix("-bf16"))
                made[backend] = (
                    exact if backend == "torch" else make_evaluator(network, backend, threads, like)
                )
                outputs = evaluate_positions(made[backend], boards, network.encode)
        except BackendError:
            return
        except Exception as error:  # a library that fails on this machine is dropped
            trials[backend] = Trial(backend, problem=f"{type(error).__name__} {first_line(error)}")
            return
        dp, dv = largest_differences(outputs, reference)
        bound = tolerance if tolerance is not None else _bound(backend)
        problem = ""
        if not (math.isfinite(dp) and math.isfinite(dv)):
            problem = "its outputs are not finite"
        elif not max(dp, dv) <= bound:  # also where the bound is NaN
            problem = f"differs by {max(dp, dv):.2g}, more than {bound:g}"
        trials[backend] = Trial(backend, 0.0, dp, dv, problem)

    def finish(chosen: str, shown: list[Trial]) -> tuple[Evaluator, Report]:
        for backend, evaluator in made.items():
            if backend != chosen:
                evaluator.close()
        seconds = time.perf_counter() - begun
        return made[chosen], Report(chosen, made[chosen].name, batch, threads, shown, seconds)

    if prefer is not None and prefer in candidates:
        attempt(prefer)
        if prefer in trials and not trials[prefer].problem:
            return finish(prefer, [])
    for backend in dict.fromkeys(["torch", *candidates]):
        if backend not in trials:
            attempt(backend)
    candidates_left = [backend for backend, trial in trials.items() if not trial.problem]
    rates = race({backend: made[backend] for backend in candidates_left}, batch, threads, boards)
    for backend, rate in rates.items():
        old = trials[backend]
        trials[backend] = Trial(backend, rate, old.policy_error, old.value_error)
    return finish(max(rates, key=lambda backend: rates[backend]), list(trials.values()))


def race(evaluators: dict[str, Evaluator], batch: int, threads: int, boards: Boards) -> dict[str, float]:
    """Measure the evaluations/s of evaluators, the better of two rounds each.

    Args:
        evaluators: by name.
        batch: positions per call.
        threads: threads that call at once; with several, torch uses one thread in each.
        boards: `[N, position_bytes]` int8 positions, repeated to fill the batch.

    Returns:
        Evaluations/s of all threads together, by name.
    """
    rows = np.resize(boards, (batch, boards.shape[1]))
    rates = dict.fromkeys(evaluators, 0.0)
    for turn in range(2):
        for name, evaluator in evaluators.items():
            if turn == 0 or rates[name] > 0.6 * max(rates.values()):
                rates[name] = max(rates[name], evaluations_per_second(evaluator, rows, threads))
    return rates


def evaluations_per_second(
    evaluator: Evaluator, rows: Boards, threads: int, seconds: float = SECONDS
) -> float:
    """Measure the evaluations/s of an evaluator.

    Args:
        evaluator: the evaluator.
        rows: `[batch, position_bytes]` int8 positions, evaluated repeatedly.
        threads: threads that call at once.
        seconds: duration of the measurement.
    """
    counts, ends = [0] * threads, [0.0] * threads
    errors: list[BaseException] = []
    gate = threading.Barrier(threads)
    begun = [0.0] * threads

    def work(i: int) -> None:
        try:
            if threads > 1:
                use_one_torch_thread()
            begun[i] = time.perf_counter()
            logits, values = (np.array(out) for out in evaluator.evaluate(rows))
            if time.perf_counter() - begun[i] > max(SLOW, seconds):  # long enough as a measurement
                counts[i] = len(rows)
            gate.wait()
            if not counts[i]:
                begun[i] = time.perf_counter()
            while time.perf_counter() - begun[i] < seconds:
                evaluator.evaluate(rows, logits, values)
                counts[i] += len(rows)
            ends[i] = time.perf_counter()
        except BaseException as error:
            errors.append(error)
            gate.abort()

    if threads == 1:
        work(0)
    else:
        callers = [JoinableThread(target=work, args=(i,)) for i in range(threads)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
    return sum(counts) / (max(ends) - min(begun))


def as_network(source: str | Path | Checkpoint | Network) -> Network:
    """Return the network of a checkpoint, a file, or the network itself.

    Raises:
        CheckpointError: the checkpoint cannot be read.
    """
    if isinstance(source, Network):
        return source
    return source.network() if isinstance(source, Checkpoint) else load_network(source)


def sample_positions(number: int, encoding: Encoding, seed: int = 0) -> Boards:
    """Return positions to test a network on.

    Args:
        number: number of positions.
        encoding: encoding of the network.
        seed: seed of the positions.

    Returns:
        `[number, position_bytes]` int8, see `Encoding.sample`.
    """
    return encoding.sample(number, np.random.default_rng(seed))


def evaluate_positions(
    evaluator: Evaluator, boards: Boards, encoding: Encoding
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Evaluate positions as a search does, with a softmax over the legal actions.

    Args:
        evaluator: the evaluator.
        boards: `[B, position_bytes]` int8 positions.
        encoding: encoding of the network.

    Returns:
        `[B, NUM_ACTIONS]` probabilities and `[B]` values for the side to move.
    """
    logits, values = evaluator.evaluate(boards)
    scores = np.where(encoding.legal_mask(boards), logits.astype(np.float64), -np.inf)
    with np.errstate(invalid="ignore"):  # infinity minus itself is NaN, which callers check for
        weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True), values.astype(np.float64)


def exact_outputs(
    evaluator: Evaluator, boards: Boards, encoding: Encoding
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`evaluate_positions` of the network that others are compared with.

    Raises:
        BackendError: an output is NaN or infinite: nothing can be compared with it.
    """
    policy, values = evaluate_positions(evaluator, boards, encoding)
    if not (np.isfinite(policy).all() and np.isfinite(values).all()):
        raise BackendError(
            "expected a network with finite outputs, found NaN or infinity: its weights are of no use; take "
            "an earlier checkpoint or train again"
        )
    return policy, values


def largest_differences(
    found: tuple[NDArray[np.float64], NDArray[np.float64]],
    wanted: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[float, float]:
    """The largest difference of a probability and of a value; NaN if any is NaN."""
    policy, value = (float(np.abs(a - b).max()) for a, b in zip(found, wanted, strict=True))
    return policy, value


def _bound(backend: str) -> float:
    return ROUGH if backend in ("torch-bf16", "openvino-bf16", "cuda", "integers") else EXACT


def _torch(network: Network, threads: int, like: Evaluator | None) -> Evaluator:
    return TorchEvaluator(network)


def _torch_bf16(network: Network, threads: int, like: Evaluator | None) -> Evaluator:
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        raise BackendError("evaluator torch-bf16: this CPU has no bfloat16; use torch")
    return TorchEvaluator(network, dtype=torch.bfloat16)


def _openvino(network: Network, threads: int, like: Evaluator | None, *, bf16: bool) -> Evaluator:
    from ckai.models.inference.openvino_backend import OpenVINOEvaluator

    other = like if isinstance(like, OpenVINOEvaluator) else None
    return OpenVINOEvaluator(network, bf16=bf16, threads=threads, like=other)


def _onnx(network: Network, threads: int, like: Evaluator | None) -> Evaluator:
    from ckai.models.inference.onnx_backend import OnnxRuntimeEvaluator

    return OnnxRuntimeEvaluator(network, threads=threads)


def _cuda(network: Network, threads: int, like: Evaluator | None, *, name: str = "cuda") -> Evaluator:
    from ckai.models.inference.cuda_backend import CudaEvaluator, find_gpu

    return CudaEvaluator(network, find_gpu(name))


def _integers(network: Network, threads: int, like: Evaluator | None) -> Evaluator:
    from ckai.models.inference.integers import IntegerEvaluator

    return IntegerEvaluator(network)


_MAKERS: dict[str, Maker] = {
    "torch": _torch,
    "torch-bf16": _torch_bf16,
    "openvino": partial(_openvino, bf16=False),
    "openvino-bf16": partial(_openvino, bf16=True),
    "onnx": _onnx,
    "cuda": _cuda,
    "integers": _integers,
}
