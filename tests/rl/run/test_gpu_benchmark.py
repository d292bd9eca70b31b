"""`benchmarks/speed/gpu.py` measures every row on a CPU as well."""

import importlib.util
from pathlib import Path

import pytest
import torch

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
        ["generation", "without a break"],
    ]
    assert all(any(digit in row[2] for digit in "123456789") for row in rows if "float32" not in row[1])
    assert [row[3] for row in rows[2:6]] == ["within 0.0001", "within 0.05"] * 2
