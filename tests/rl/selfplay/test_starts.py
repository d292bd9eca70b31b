"""Start positions of self-play, and runs from random weights."""

import json
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from ckai.datasets.schema import DatasetError
from ckai.datasets.tables import SHIPPED, Tables
from ckai.datasets.tables.rows import endgame_rows
from ckai.game import Position
from ckai.models.checkpoint import load_checkpoint
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.checkers.openings import balanced_openings
from ckai.rl.loop.config import LearnConfig, RunConfig
from ckai.rl.loop.folder import RunError
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig, StartConfig
from ckai.rl.selfplay.rows import to_table
from ckai.rl.selfplay.starts import Starts, draw_expert_positions
from ckai.rl.selfplay.workers import play_games


def test_shares_of_starts():
    experts = [Position.from_fen("W:W21-30:B1-10"), Position.from_fen("B:W21-29:B1-9")]
    starts = Starts(StartConfig(opening_share=0.5, expert_share=0.3), 7, experts)
    drawn = Counter(starts(number).key for number in range(4000))
    openings = {p.key for p in balanced_openings()}
    share = sum(n for key, n in drawn.items() if key in openings) / 4000
    of_experts = sum(drawn[p.key] for p in experts) / 4000
    assert abs(share - 0.5) < 0.04
    assert abs(of_experts - 0.3) < 0.04
    assert abs(drawn[Position.start().key] / 4000 - 0.2) < 0.04
    assert len(openings & set(drawn)) > 170
    assert [starts(n) for n in range(50)] == [Starts(starts.config, 7, experts)(n) for n in range(50)]
    assert [starts(n) for n in range(50)] != [Starts(starts.config, 8, experts)(n) for n in range(50)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"opening_share": 1.5}, "opening_share"),
        ({"opening_share": 0.7, "expert_share": 0.5}, "sum to 1"),
        ({"opening_plies": 9}, "opening_plies"),
    ],
)
def test_wrong_shares(settings, message):
    with pytest.raises(ValueError, match=message):
        StartConfig(**settings)


def test_positions_of_experts(tmp_path):
    games = []
    config = SelfPlayConfig(sims=2, in_flight=4, groups=1, tables=0)
    play_games(UniformEvaluator(), config, range(6), seed=1, on_game=games.append)
    path = tmp_path / "rows.parquet"
    pq.write_table(to_table(games, 1), path)
    positions = draw_expert_positions(path, count=60)
    assert len(positions) == 60 == len({p.key for p in positions})
    played = {p.key for game in games for p in game.replay().positions}
    assert {p.key for p in positions} <= played
    assert all((p.own | p.opp).bit_count() >= 8 for p in positions)
    assert draw_expert_positions(path, count=60) == positions != draw_expert_positions(path, count=60, seed=1)
    few = tmp_path / "few.parquet"
    pq.write_table(endgame_rows(Tables.open(SHIPPED), 50, seed=1), few)
    with pytest.raises(DatasetError, match="8 pieces"):
        draw_expert_positions(few)


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
    status, out, _ = ckai(*arguments, "--q-first", 0, "--q-ramp", 3, "--opening-share", 1)
    assert status == 0
    assert json.loads(out)["generations"] == 1
    first = load_checkpoint(tmp_path / "r" / "gen_0000" / "network.ckpt")
    assert first.info["init"] == "--init none --set channels=2 --set hidden=4"
    starts = {
        row["game"]: row["board"]
        for row in pq.read_table(tmp_path / "r" / "gen_0001" / "rows.parquet").to_pylist()
        if row["ply"] == 0 and row["hop"] == 0
    }
    openings = {tuple(p.board.tolist()) for p in balanced_openings()}
    assert len(starts) == 4
    assert {tuple(board) for board in starts.values()} <= openings
    status, _, err = ckai("selfplay", "--init", "r/best.ckpt", "--model", "mlp", *TINY)
    assert status == 1
    assert "--init none" in err


@pytest.mark.slow
def test_a_run_from_positions_of_experts(ckai, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = ("selfplay", "--init", "none", "--set", "channels=2", "--set", "hidden=4", *TINY)
    assert ckai(*new, "--run", "a")[0] == 0
    rows = tmp_path / "a" / "gen_0001" / "rows.parquet"
    shares = ("--opening-share", 0, "--expert-share", 1)
    status, _, err = ckai(*new, "--run", "b", *shares)
    assert (status, "--experts" in err) == (1, True)
    assert ckai(*new, "--run", "b", *shares, "--experts", rows)[0] == 0
    fens = (tmp_path / "b" / "gen_0000" / "experts.fen").read_text().split()
    boards = {tuple(Position.from_fen(fen).board.tolist()) for fen in fens}
    table = pq.read_table(tmp_path / "b" / "gen_0001" / "rows.parquet").to_pylist()
    assert {tuple(row["board"]) for row in table if row["ply"] == 0 and row["hop"] == 0} <= boards
    # The run keeps the positions it needs, so the data set may be deleted.
    rows.unlink()
    assert ckai("selfplay", "--run", "b", "--generations", 2, "--evaluator", "torch")[0] == 0
    (tmp_path / "b" / "gen_0000" / "experts.fen").unlink()
    status, _, err = ckai("selfplay", "--run", "b", "--generations", 3, "--evaluator", "torch")
    assert (status, "experts.fen" in err) == (1, True)


def test_a_share_without_positions(tmp_path):
    config = RunConfig(start=StartConfig(opening_share=0, expert_share=0.5))
    with pytest.raises(RunError, match="positions"):
        Run.create(tmp_path / "r", tmp_path / "no.ckpt", config)
    with pytest.raises(ValueError, match="expert positions"):
        Starts(config.start, 0)
    assert np.isclose(config.start.expert_share, 0.5)
