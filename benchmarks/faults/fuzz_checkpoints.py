"""Fuzz what reads a checkpoint: each damaged file ends in the right answer, or in one line and exit 1.

    python benchmarks/faults/fuzz_checkpoints.py --files 1000

Three files are damaged in turn: a small network, the installed one, and the state of a training. What is
damaged are bits, bytes, the length, the types of entries and weights, and their keys; what PyTorch writes
again has no digest, as a file of an earlier version. Very large weights are another network, from which any
answer is right. Commands evaluate the network, search with it and go on
with the training, in a process that is started again after a crash or after `--seconds`.
"""

import argparse
import collections
import contextlib
import io
import json
import math
import random
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ckai.cli.main import main as ckai
from ckai.datasets.convert import parse_files
from ckai.models.checkpoint import save_checkpoint
from ckai.models.pretrained import pretrained_file
from ckai.models.registry import build
from ckai.models.training.config import PretrainConfig, TrainConfig
from ckai.models.training.pretrain import pretrain
from ckai.models.training.trainer import TrainingProgress

GAME = '[Event "a"]\n[Result "*"]\n\n1. 11-15 23-19 2. 8-11 22-17 3. 4-8 *\n'
ODD: list[Any] = [
    None,
    [],
    {},
    "x",
    "",
    b"x",
    True,
    -1,
    0.5,
    float("nan"),
    float("inf"),
    10**7,
    10**18,
    torch.zeros(2),
    torch.zeros(1).expand(10**12),
]
"""What an entry may be replaced by."""


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def odd_weights(rng: random.Random, weights: torch.Tensor) -> Any:
    """The weights in a type that no network has, or another thing in their place."""
    return rng.choice(
        [
            weights.to(torch.int8),
            weights.to(torch.complex64),
            weights.double(),
            weights > 0,
            weights.flatten()[:1].expand(weights.shape),
            weights.flatten(),
            weights.to("meta"),
            weights.to_sparse(),
            weights.float() if weights.dtype != torch.float32 else weights.long(),
            weights / 0,
            *ODD,
        ]
    )


def dicts_in(value: Any) -> list[dict[Any, Any]]:
    """All dicts in a value that are not empty, itself included."""
    entries = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    inner = [found for entry in entries for found in dicts_in(entry)]
    return [value, *inner] if isinstance(value, dict) and value else inner


def flip_bits(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        at = rng.randrange(8 * len(data))
        data[at >> 3] ^= 1 << (at & 7)
    path.write_bytes(data)


def change_bytes(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    at, length = rng.randrange(len(data)), rng.choice([1, 4, 64, 4096])
    kind = rng.randrange(4)
    if kind == 0:
        data[at : at + length] = rng.randbytes(len(data[at : at + length]))
    elif kind == 1:
        data[at : at + length] = bytes(len(data[at : at + length]))
    elif kind == 2:
        del data[at : at + length]
    else:
        data[at:at] = rng.randbytes(length)
    path.write_bytes(data)


def change_a_part(rng: random.Random, path: Path) -> None:
    """Damage a part and write its checksum again: only the digest can tell."""
    with zipfile.ZipFile(path) as archive:
        parts = {part.filename: bytearray(archive.read(part)) for part in archive.infolist()}
    name = rng.choice([name for name, data in parts.items() if data])
    parts[name][rng.randrange(len(parts[name]))] ^= 1 << rng.randrange(8)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, bytes(data))


def truncate(rng: random.Random, path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.choice([0, 1, rng.randrange(len(data)), len(data) - 1 - rng.randrange(300)])])


def change_a_type(rng: random.Random, path: Path) -> None:
    content = torch.load(path, weights_only=True)
    if rng.random() < 0.5:
        name = rng.choice(list(content["weights"]))
        content["weights"][name] = odd_weights(rng, content["weights"][name])
    else:
        entries = rng.choice(dicts_in(content))
        key = rng.choice(list(entries))
        # A number in place of a number is another setting, not a damaged one.
        entries[key] = rng.choice([odd for odd in ODD if not (is_number(odd) and is_number(entries[key]))])
    torch.save(content, path)


def change_a_key(rng: random.Random, path: Path) -> None:
    content = torch.load(path, weights_only=True)
    entries = rng.choice(dicts_in(content))
    key = rng.choice(list(entries))
    value = entries.pop(key)
    if rng.random() < 0.6:
        entries[rng.choice([None, 7, "", "x" * 10_000, ("a", 1), f"{key}x"])] = value
    torch.save(content, path)


def enlarge(rng: random.Random, path: Path) -> None:
    content = torch.load(path, weights_only=True)
    some = rng.random() < 0.5
    for weights in content["weights"].values():
        if weights.is_floating_point() and (not some or rng.random() < 0.5):
            weights.fill_(rng.choice([1e6, 1e20, 1e38, -1e38]))
    torch.save(content, path)


DAMAGES: dict[str, Callable[[random.Random, Path], None]] = {
    "bits": flip_bits,
    "bytes": change_bytes,
    "parts": change_a_part,
    "truncation": truncate,
    "types": change_a_type,
    "keys": change_a_key,
    "large": enlarge,
}
OTHER_NETWORKS = ("large",)
"""Damages that make another network: any answer is right, as long as there is one."""


class Worker:
    """Runs commands of ckai in a process of its own, one after the other."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, arguments: list[str]) -> dict[str, Any]:
        """Run a command.

        Returns:
            `status`, `out` and `err`; the status is "hang" or "crash" if the process did not answer.
        """
        if self._process is None:
            command = [sys.executable, __file__, "--worker"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._answer(120.0)  # it imports and compiles first
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(arguments).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer(self.seconds)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            line = self._process.stdout.readline() if selector.select(seconds) else None
        if not line:
            self.close()
            return {"status": "hang" if line is None else "crash", "out": "", "err": ""}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def work() -> None:
    """Answer commands on standard input, see `Worker`."""
    torch.set_num_threads(1)
    answers = sys.stdout
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        sys.argv = ["ckai", *json.loads(line)]
        out, err, status = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                ckai()
            except SystemExit as error:
                status = error.code if isinstance(error.code, int) else 1
        answer = {"status": status, "out": out.getvalue(), "err": err.getvalue()}
        print(json.dumps(answer), file=answers, flush=True)


class Case:
    """A file to damage and the commands that read it."""

    def __init__(self, name: str, source: Path, folder: Path) -> None:
        self.name, self.source, self.folder = name, source, folder / name
        self.whole: list[Any] = []
        """The answers to the commands with the whole file."""

    def path(self) -> Path:
        """Begin again in the folder, and return the file to damage."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.name == "training":
            shutil.copytree(self.source, self.folder)
            return self.folder / "net.run" / "last.ckpt"
        self.folder.mkdir()
        return Path(shutil.copy(self.source, self.folder / "net.ckpt"))

    def run(self, worker: Worker) -> tuple[list[Any], list[str]]:
        """Run the commands.

        Returns:
            What they answered, None for an error of one line and exit 1; and what is wrong with their ends.
        """
        answers, wrong = [], []
        for command in self.commands():
            done = worker.run([*map(str, command)])
            if done["status"] == 0:
                answers.append(self._answer(done["out"]))
                continue
            answers.append(None)
            said = [line.startswith("ckai: error: ") for line in done["err"].splitlines()]
            unexpected = any(text in done["err"] for text in ("--debug", "Warning", "Traceback"))
            if done["status"] != 1 or done["out"] or unexpected or sum(said) != 1 or not said[-1]:
                wrong.append(f"{command[0]}: {done}")
        return answers, wrong

    def commands(self) -> list[list[Any]]:
        """The commands that read the file."""
        if self.name == "training":
            return [train_command(self.folder)]
        path, evaluator = self.folder / "net.ckpt", "integers" if self.name == "installed" else "torch"
        analysis = [self.folder.parent / "game.pdn", "-o", self.folder / "out.pdn", "--engine", path]
        limits = ["--evaluator", evaluator, "--tables", "none", "--threads", 1, "--visits", 16, "--check", 1]
        return [["evaluate", path, "--tables", 2, "--json"], ["analyze", *analysis, *limits, "--json"]]

    def _answer(self, out: str) -> Any:
        """What is the same at every run of a command."""
        if self.name == "training":
            weights = torch.load(self.folder / "net.ckpt", weights_only=True)["weights"]
            return {name: tensor.tolist() for name, tensor in weights.items()}
        if (self.folder / "out.pdn").exists():
            return (self.folder / "out.pdn").read_text()
        return {name: value for name, value in json.loads(out).items() if name != "digest"}


TRAINING = PretrainConfig(
    model="mlp",
    settings={"hidden": 8},
    heldout=0.5,
    train=TrainConfig(epochs=2, batch_size=64, ema=0.9, precision="32"),
)


def train_command(folder: Path) -> list[Any]:
    """`TRAINING`, which goes on if it has begun."""
    train = TRAINING.train
    settings = ["--epochs", train.epochs, "--batch-size", train.batch_size, "--ema", train.ema]
    settings += ["--heldout", TRAINING.heldout, "--precision", train.precision]
    settings += ["--model", TRAINING.model, "--set", f"hidden={TRAINING.settings['hidden']}"]
    data = ["--data", folder.parent / "rows.parquet", "-o", folder / "net.ckpt"]
    return ["pretrain", *data, *settings, "--json"]


def make_training(folder: Path) -> Path:
    """Return a folder with a training that was killed after its first epoch."""

    class KilledError(Exception):
        pass

    def kill(progress: TrainingProgress) -> None:
        if progress.epoch == 1:
            raise KilledError

    games = folder / "games.pdn"
    games.write_text((Path(__file__).parents[2] / "data" / "sample.pdn").read_text()[:20_000])
    parse_files([games], folder / "rows.parquet")
    (folder / "made").mkdir()
    with contextlib.suppress(KilledError):
        pretrain([folder / "rows.parquet"], folder / "made" / "net.ckpt", TRAINING, progress=kill)
    return folder / "made"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each command")
    parser.add_argument("--keep", type=Path, default=Path("fuzz_failed"), help="folder for files that fail")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work()
        return
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    begun, slowest, failed = time.monotonic(), 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        folder, worker = Path(name), Worker(120.0)
        (folder / "game.pdn").write_text(GAME)
        save_checkpoint(
            folder / "small.ckpt",
            build("cnn2x2", {"channels": 4, "hidden": 16}),
            metrics={"top1": 0.5},
            info={"split": {"seed": 0, "heldout": 0.1}, "data": [{"name": "a", "rows": 3}]},
        )
        cases = [
            Case("small", folder / "small.ckpt", folder),
            Case("installed", pretrained_file("ckai"), folder),
            Case("training", make_training(folder), folder),
        ]
        for case in cases:
            case.path()
            case.whole, wrong = case.run(worker)
            if wrong or None in case.whole:
                sys.exit(f"expected answers with the whole file, found {wrong}")
        worker.seconds = options.seconds
        for number in range(options.files):
            rng = random.Random(f"{options.seed} {number}")
            case, damage = cases[number % len(cases)], rng.choice(list(DAMAGES))
            path = case.path()
            DAMAGES[damage](rng, path)
            damaged = path.read_bytes()
            since = time.monotonic()
            answers, wrong = case.run(worker)
            slowest = max(slowest, time.monotonic() - since)
            wrong += (
                []
                if damage in OTHER_NETWORKS
                else [
                    f"answer {answer} in place of {whole}"[:300]
                    for answer, whole in zip(answers, case.whole, strict=True)
                    if answer not in (None, whole)
                ]
            )
            outcome = "wrong" if wrong else "refused" if None in answers else "right"
            counts[damage, outcome] += 1
            if wrong:
                failed += 1
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{number}-{case.name}-{damage}.ckpt").write_bytes(damaged)
                print(f"{number} {case.name} {damage}: {'; '.join(wrong)}", file=sys.stderr)
        worker.close()
    print(f"{'damage':<12}{'refused':>9}{'right':>9}{'wrong':>9}")
    for damage in DAMAGES:
        print(f"{damage:<12}" + "".join(f"{counts[damage, end]:>9}" for end in ("refused", "right", "wrong")))
    print(f"{options.files} files, {time.monotonic() - begun:.0f} s, the slowest {slowest:.1f} s")
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
