"""Start positions of self-play, and runs from random weights."""

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from ckai.game import Position
from ckai.models.checkpoint import load_checkpoint
from ckai.rl.games.checkers import balanced_openings
from ckai.rl.run.config import LearnConfig
from ckai.rl.run.run import Run
from ckai.rl.selfplay.config import StartConfig
from ckai.rl.selfplay.play import Starts


def test_shares_of_starts():
    starts = Starts(StartConfig(opening_share=0.5), 7)
    drawn = Counter(starts(number).key for number in range(4000))
    openings = {p.key for p in balanced_openings()}
    share = sum(n for key, n in drawn.items() if key in openings) / 4000
    assert abs(share - 0.5) < 0.04
    assert abs(drawn[Position.start().key] / 4000 - 0.5) < 0.04
    assert len(openings & set(drawn)) > 170
    assert [starts(n) for n in range(50)] == [Starts(starts.config, 7)(n) for n in range(50)]
    assert [starts(n) for n in range(50)] != [Starts(starts.config, 8)(n) for n in range(50)]


def test_the_weight_of_q_changes_linearly():
    way = LearnConfig(q_first=0.0, q_weight=0.8, q_ramp=4)
    assert [round(way.q_weight_of(n), 3) for n in (1, 2, 3, 5, 9)] == [0.0, 0.2, 0.4, 0.8, 0.8]
    assert {LearnConfig(q_weight=0.3).q_weight_of(n) for n in (1, 50)} == {0.3}
    with pytest.raises(ValueError, match="q_first"):
        LearnConfig(q_first=2.0)


TINY = ("--generations", 1, "--games", 4, "--sims", 4, "--gate-games", 2, "--evaluator", "torch", "--json")


def test_a_run_from_random_weights(ckai, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = (
        "selfplay",
        "--init",
        "none",
        "--set",
        "channels=2",
        "--set",
        "hidden=4",
        "--run",
        "r",
        *TINY,
    )
    status, out, _ = ckai(
        *arguments,
        "--setting",
        "learn.q_first=0",
        "--setting",
        "learn.q_ramp=3",
        "--setting",
        "start.opening_share=1",
    )
    assert status == 0
    assert json.loads(out)["generations"] == 1
    first = load_checkpoint(Run.open(tmp_path / "r").network_path(0))
    assert first.info["init"] == "--init none --set channels=2 --set hidden=4"
    starts = {
        row["game"]: row["board"]
        for row in pq.read_table(Run.open(tmp_path / "r").shards()[0]).to_pylist()
        if row["ply"] == 0 and row["hop"] == 0
    }
    openings = {tuple(p.board.tolist()) for p in balanced_openings()}
    assert len(starts) == 4
    assert {tuple(board) for board in starts.values()} <= openings
    status, _, err = ckai("selfplay", "--init", "r/best.ckpt", "--model", "mlp", *TINY)
    assert status == 1
    assert "--init none" in err
