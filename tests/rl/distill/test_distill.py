"""Distillation: rows have the teacher's policy and value, follow from the seed, and survive a kill."""

from dataclasses import replace

import make_rows
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from positions import unpack_position

from ckai.datasets.data_module import RowsDataModule, to_batch
from ckai.datasets.reader import read_rows
from ckai.datasets.schema import DatasetError
from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.models.checkpoint import save_checkpoint
from ckai.models.encodings import PlanesEncoding
from ckai.models.inference.backends import TorchEvaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.network import build
from ckai.models.training.lightning_module import value_loss, value_target
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.distill.config import DistillConfig
from ckai.rl.distill.distill import ENTRIES, distill
from ckai.rl.distill.kernels import SHARES
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.checkers import pack
from ckai.rl.games.registry import get_game

SMALL = DistillConfig(positions=300, plies=5, seed=4)


@pytest.fixture(scope="module")
def teacher():
    torch.manual_seed(2)
    return TorchEvaluator(build("mlp", {"hidden": 16, "encoding": "planes"}).eval())


@pytest.mark.slow
def test_rows_have_the_teachers_policy_and_value(tmp_path, teacher):
    path = tmp_path / "rows.parquet"
    positions = distill(teacher, path, SMALL)
    rows = read_rows(path)
    assert positions == len(rows) >= SMALL.positions
    boards = np.concatenate([rows.board, rows.jumper[:, None], rows.quiet[:, None].astype(np.int8)], 1)
    policy, values = teacher.policy(
        np.ascontiguousarray(boards), PlanesEncoding().legal_mask(np.ascontiguousarray(boards))
    )
    batch = to_batch(rows)
    assert np.abs(batch["policy"].numpy() - policy).max() < 64 / SHARES + 1e-6
    assert np.abs(batch["q"].numpy() - values).max() < 1e-6
    assert not rows.z_known.any()
    assert len(np.unique(rows.board, axis=0)) > 100


@pytest.mark.slow
def test_games_of_alpha_beta(tmp_path, teacher):
    integers = IntegerEvaluator(build("swift", {"hidden": 16, "narrow": 4, "narrowest": 4}).eval())
    config = replace(SMALL, nodes=60, tables=3, positions=2000, explore=0.0)
    for threads in (1, 2):
        distill(integers, tmp_path / f"{threads}.parquet", config, threads=threads)
    rows = read_rows(tmp_path / "1.parquet")
    other = read_rows(tmp_path / "2.parquet")
    assert (rows.q.tolist(), rows.z.tolist()) == (other.q.tolist(), other.z.tolist())
    assert len(np.unique(rows.board, axis=0)) == len(rows) > 1000
    assert rows.z_known.all()
    assert set(rows.z) == {-1, 0, 1}
    first, spec = 0, get_game("checkers")
    tables = spec.make_rules(Tables.open(3))
    black = pq.read_table(tmp_path / "1.parquet")["black"].to_pylist()
    for i in range(len(rows)):
        position = unpack_position(rows.board[i], int(rows.jumper[i]), int(rows.quiet[i]), black=black[i])
        assert not any("x" in str(move) for move in position.legal_moves())
        assert rows.label[i] in position.legal_actions()
        if i > 0 and rows.game[i] == rows.game[i - 1]:  # one result, for whoever is to move
            assert rows.z[i] == rows.z[i - 1] * (1 if black[i] == black[i - 1] else -1)
        elif rows.ply[i] == 0:  # nothing was searched before
            search = AlphaBetaSearch(integers, game=tables, entries=ENTRIES)
            result = search.search(pack(position), nodes=60)
            assert (rows.label[i], rows.q[i]) == (result.pv[0], pytest.approx(result.value, abs=1e-6))
            first += 1
    assert first > 3
    ends = np.abs(rows.q) == 1  # a proven game is over, and was won by whom the search said
    assert (rows.z[ends] == rows.q[ends]).all()
    explored = tmp_path / "explored.parquet"
    distill(integers, explored, replace(config, explore=0.5, positions=300))
    assert RowsDataModule([explored], heldout=0).train_rows == pq.read_metadata(explored).num_rows
    assert not read_rows(explored).z_known.any()  # random moves decide nothing
    with pytest.raises(ValueError, match="expected an integer network to search with"):
        distill(teacher, tmp_path / "other.parquet", config)


@pytest.mark.slow
def test_rows_follow_from_the_seed_and_not_from_the_threads(tmp_path, teacher):
    files = []
    for name, threads, seed in (("a", 1, 4), ("b", 2, 4), ("c", 1, 5)):
        config = DistillConfig(positions=300, plies=5, seed=seed)
        distill(teacher, tmp_path / f"{name}.parquet", config, threads=threads)
        files.append(read_rows(tmp_path / f"{name}.parquet"))
    assert files[0].board.tolist() == files[1].board.tolist()
    assert files[0].label.tolist() == files[1].label.tolist()
    assert files[0].board.tolist() != files[2].board.tolist()


def interrupt(calls):
    """A progress callback that interrupts the first call."""

    def progress(positions):
        calls.append(positions)
        raise KeyboardInterrupt

    return progress


@pytest.mark.slow
def test_an_interrupted_distillation_goes_on(tmp_path, teacher):
    whole, path = tmp_path / "whole.parquet", tmp_path / "rows.parquet"
    distill(teacher, whole, SMALL)
    calls = []
    with pytest.raises(KeyboardInterrupt):
        distill(teacher, path, SMALL, progress=interrupt(calls))
    assert not path.exists()
    assert len(calls) == 1
    (tmp_path / "rows.shards" / ".000000007.parquet.99999.0.tmp").write_bytes(b"half")
    positions = distill(teacher, path, SMALL)
    assert pq.read_table(path).equals(pq.read_table(whole))
    assert positions == pq.read_metadata(path).num_rows
    assert not (tmp_path / "rows.shards").exists()


@pytest.mark.slow
def test_shards_of_other_settings_are_not_taken(tmp_path, teacher):
    with pytest.raises(KeyboardInterrupt):
        distill(teacher, tmp_path / "rows.parquet", SMALL, progress=interrupt([]))
    with pytest.raises(FileExistsError, match="shards of another teacher or other settings"):
        distill(teacher, tmp_path / "rows.parquet", DistillConfig(positions=400))


@pytest.mark.parametrize("name", ["rows.shards", "rows", "rows.headers.parquet"])
def test_an_output_that_cannot_hold_rows_is_refused_at_once(tmp_path, teacher, name):
    with pytest.raises(ValueError, match="expected a name"):
        distill(teacher, tmp_path / name, SMALL)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_walks_begin_in_the_rows_that_are_trained_on(tmp_path, teacher):
    source = tmp_path / "source.parquet"
    distill(teacher, source, DistillConfig(positions=300, plies=6))
    config = DistillConfig(positions=300, plies=1, opening_share=0)
    path = tmp_path / "rows.parquet"
    distill(teacher, path, config, data=[source])
    training = RowsDataModule([source], need_both_sides=False)
    known = {row.tobytes() for block in training.blocks("train") for row in block.board}
    rows = read_rows(path)
    assert {row.tobytes() for row in rows.board[rows.jumper < 0]} <= known
    with pytest.raises(DatasetError):
        distill(teacher, tmp_path / "none.parquet", config, data=[tmp_path / "missing.parquet"])


def test_positions_that_are_all_in_the_tables_are_said(tmp_path, teacher):
    ending = Position.from_fen("B:WK32:BK1")
    rows = [make_rows.row(ending, ending.legal_actions()[0], game) for game in range(50)]
    source = make_rows.write(tmp_path / "source.parquet", rows)
    config = DistillConfig(positions=300, opening_share=0, tables=3)
    with pytest.raises(ValueError, match="expected positions to walk from, found none in 32 walks"):
        distill(teacher, tmp_path / "rows.parquet", config, data=[source])


def test_a_teacher_that_is_not_finite_is_refused(tmp_path):
    class Broken(UniformEvaluator):
        def evaluate(self, boards, out_logits=None, out_values=None):
            logits, values = super().evaluate(boards, out_logits, out_values)
            values[:] = np.nan
            return logits, values

    with pytest.raises(ValueError, match="expected finite logits and values"):
        distill(Broken(), tmp_path / "rows.parquet", SMALL)


def test_the_value_is_learned_where_only_q_is_known():
    batch = {
        "z": torch.tensor([1.0, 0.0, 0.0]),
        "z_known": torch.tensor([True, False, False]),
        "q": torch.tensor([0.5, -0.5, 0.0]),
        "q_known": torch.tensor([True, True, False]),
    }
    assert value_target(batch, 0.5).tolist() == [0.75, -0.5, 0.0]
    loss, rows = value_loss(torch.zeros(3, 1), batch, 0.5)
    assert (rows, float(loss)) == (2, pytest.approx((0.75**2 + 0.25) / 2))


@pytest.mark.slow
def test_the_command(tmp_path, ckai, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_checkpoint(tmp_path / "teacher.ckpt", build("mlp", {"hidden": 8}))
    words = ("distill", "teacher.ckpt", "--positions", "200", "--setting", "plies=4", "-o", "rows.parquet")
    status, out, _ = ckai(*words)
    assert status == 0
    assert out.startswith("rows.parquet: 2")
    status, _, err = ckai(*words)
    assert (status, "rows.parquet exists: give --force to replace it" in err) == (1, True)
    status, out, _ = ckai(
        "pretrain", "--data", "rows.parquet", "--model", "swift", "--set", "hidden=8", "--epochs", "1",
        "--setting", "train.loss.mask_illegal=true", "-o", "student.ckpt",
    )  # fmt: skip
    assert status == 0
    assert "student.ckpt: swift after 1 epoch" in out
