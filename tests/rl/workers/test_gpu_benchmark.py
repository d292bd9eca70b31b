"""`benchmarks/speed/gpu.py` measures every row on a CPU as well."""

import importlib.util
from pathlib import Path

import pytest
import torch

from ckai.models.inference.evaluator import BackendError

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "speed" / "gpu.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("gpu_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(script, *arguments):
    script.main.main(list(arguments), standalone_mode=False)


def table_rows(text):
    """The cells of the rows of a table that was printed."""
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


@pytest.mark.slow
def test_every_row_is_measured_on_a_cpu(script, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(script, "PRESETS", {"medium": script.PRESETS["medium"]})
    run(script)
    out = capsys.readouterr().out
    rows = table_rows(out)
    assert "small sizes: these are no benchmarks" in out
    assert [row[:2] for row in rows] == [
        ["epoch", "default"],
        ["epoch", "medium"],
        ["agreement", "default, float32"],
        ["agreement", "default, bfloat16"],
        ["agreement", "medium, float32"],
        ["agreement", "medium, bfloat16"],
        ["network", "default, batches of 16"],
        ["network", "default, batches of 64"],
        ["network", "medium, batches of 16"],
        ["network", "medium, batches of 64"],
        ["self-play", "default"],
        ["self-play", "medium"],
        ["generation", "in turn"],
        ["generation", "overlapped"],
    ]
    assert all(any(digit in row[2] for digit in "123456789") for row in rows if "float32" not in row[1])
    assert [row[3] for row in rows[2:6]] == ["within 0.0001", "within 0.05"] * 2


def test_it_begins_nothing_when_the_time_is_up(script, capsys):
    run(script, "--device", "cpu", "--minutes", "0")
    rows = table_rows(capsys.readouterr().out)
    assert len(rows) == 1 + len(script.PRESETS) + 2
    assert {row[2] for row in rows} == {"not measured"}


def test_a_gpu_that_is_not_there_is_one_line(script, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BackendError, match="evaluator cuda:7: PyTorch finds no GPU here"):
        run(script, "--device", "cuda:7")


def test_a_preset_is_an_epoch_of_all_rows(script):
    config = script.preset("large")
    assert (config.model, config.settings["blocks"], config.train.epochs, config.heldout) == (
        "senet",
        6,
        1,
        0,
    )
    assert config.train.optimizer.weight_decay == 0.1
    assert config.train.loss.mask_illegal
    assert script.preset(script.DEFAULT).model == "cnn2x2"
