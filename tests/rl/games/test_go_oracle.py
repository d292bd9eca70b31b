"""9x9 Go against OpenSpiel, where it is installed: `benchmarks/games/go_oracle.py` with few games."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "games" / "go_oracle.py"


@pytest.mark.slow
def test_games_agree_with_the_oracle():
    pytest.importorskip("pyspiel", reason="needs open_spiel: pip install ckai[oracle]")
    command = [sys.executable, str(SCRIPT), "--games", "200"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("200 games agree")
