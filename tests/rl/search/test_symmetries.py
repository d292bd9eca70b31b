"""Symmetries in training and in evaluation: rows stay rows of the game, evaluations those of the position."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from ckai.datasets.data_module import RowsDataModule, to_batch
from ckai.datasets.reader import read_rows
from ckai.datasets.symmetries import Symmetries
from ckai.models.inference.evaluator import output_arrays
from ckai.rl.evaluators.random_symmetries import RandomSymmetries
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import get_game
from ckai.rl.loop.config import RunConfig
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.rows import to_table
from ckai.rl.selfplay.workers import play_games

GAME = get_game("tictactoe")
TABLE = Symmetries(GAME.symmetries)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    config = SelfPlayConfig(sims=6, in_flight=4, groups=1, tables=0, temperature_plies=4)
    games = []
    play_games(UniformEvaluator(GAME.num_actions), config, range(12), seed=1, on_game=games.append, spec=GAME)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(to_table(games, 1), path)
    return path


def seen(batch):
    """The rows of a batch as a sorted list, each with all that a symmetry may change."""
    columns = [batch[name].numpy() for name in ("board", "legal", "policy")]
    columns += [batch[name].numpy()[:, None] for name in ("label", "z", "q")]
    return sorted(
        tuple(np.concatenate([column[i] for column in columns]).tolist()) for i in range(len(columns[0]))
    )


def test_every_symmetry_turns_board_actions_and_policy_alike(path):
    batch = to_batch(read_rows(path, game=GAME.name))
    empty = np.unpackbits(batch["legal"].numpy(), axis=1, bitorder="little")[:, :9]
    assert ((batch["board"].numpy() == 0) == empty).all()
    for number in range(len(TABLE)):
        turned = TABLE.turned(batch, np.full(len(batch["label"]), number))
        legal = np.unpackbits(turned["legal"].numpy(), axis=1, bitorder="little")
        assert ((turned["board"].numpy() == 0) == legal[:, :9]).all()
        assert not legal[:, 9:].any()
        rows = torch.arange(len(turned["label"]))
        assert (turned["board"][rows, turned["label"]] == 0).all()
        before = batch["policy"][rows, batch["label"]]
        assert torch.equal(turned["policy"][rows, turned["label"]], before)
        assert torch.equal(turned["z"], batch["z"])
        assert (seen(turned) == seen(batch)) == (number == 0)


def test_an_epoch_is_the_same_after_a_resume(path):
    data = RowsDataModule([path], batch_size=7, heldout=0.0, need_both_sides=False, game=GAME.name,
                          symmetries=TABLE)  # fmt: skip
    whole = [seen(batch) for batch in data.epoch(0)]
    assert [seen(batch) for batch in data.epoch(0, 2)] == whole[2:]
    assert [seen(batch) for batch in data.epoch(1)] != whole
    streamed = RowsDataModule([path], batch_size=7, heldout=0.0, need_both_sides=False, game=GAME.name,
                              symmetries=TABLE, memory_mb=0)  # fmt: skip
    whole = [seen(batch) for batch in streamed.epoch(0)]
    assert [seen(batch) for batch in streamed.epoch(0, 2)] == whole[2:]
    plain = RowsDataModule([path], batch_size=7, heldout=0.0, need_both_sides=False, game=GAME.name)
    assert sorted(map(seen, plain.epoch(0))) != sorted(whole)


class Corner:
    """Likes the stones where they are, and the first square."""

    name = "corner"

    def __init__(self, bonus):
        self.bonus = bonus

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits = boards[:, :9].astype(np.float32)
        logits[:, 0] += self.bonus
        return logits, boards[:, :9].sum(1).astype(np.float32) / 9

    def close(self):
        pass


def test_each_game_has_its_orientation():
    boards = np.zeros((400, 11), np.int8)
    boards[:, :9] = np.random.default_rng(0).integers(-1, 2, (400, 9))
    random_symmetries = RandomSymmetries(TABLE, seed=3)
    games = np.arange(400) // 2
    which = random_symmetries.drawn(games)
    assert np.array_equal(which[::2], which[1::2])
    assert (np.bincount(which[::2], minlength=len(TABLE)) > 10).all()
    assert np.array_equal(random_symmetries.drawn(games[50:]), which[50:])
    assert not np.array_equal(RandomSymmetries(TABLE, seed=4).drawn(games), which)
    for bonus in (0, 5):
        logits, values = Corner(bonus).evaluate(random_symmetries.turned(boards, which))
        random_symmetries.turn_back(logits, which)
        found = logits - boards[:, :9]
        if bonus:  # what was the first square after the symmetry
            assert set(found.argmax(1).tolist()) == {0, 2, 6, 8}
        else:
            assert not found.any()
        assert np.array_equal(values, Corner(bonus).evaluate(boards)[1])


class Watching:
    """Knows nothing of a position, and remembers where it saw the stone of positions with one."""

    name = "watching"

    def __init__(self):
        self.places = set()

    def evaluate(self, boards, out_logits=None, out_values=None):
        stones = boards[:, :9] != 0
        self.places |= set(stones[stones.sum(1) == 1].argmax(1).tolist())
        logits, values = output_arrays(len(boards), GAME.num_actions, out_logits, out_values)
        logits[:], values[:] = 0, 0
        return logits, values

    def close(self):
        pass


@pytest.mark.parametrize("cache", [0, 4096])
@pytest.mark.parametrize(("turn", "places"), [(False, {0}), (True, {0, 2, 6, 8})])
def test_games_are_searched_turned(cache, turn, places):
    corner = next(move for move in GAME.position().legal_moves() if move.action == 0)
    config = SelfPlayConfig(
        sims=4, in_flight=20, groups=1, tables=0, max_plies=1, random_symmetries=turn, cache_positions=cache
    )
    watching, games = Watching(), []
    play_games(
        watching,
        config,
        range(20),
        seed=1,
        on_game=games.append,
        spec=GAME,
        starts=lambda number: GAME.position().push(corner),
    )
    assert len(games) == 20
    assert watching.places == places


def test_a_game_without_symmetries_is_refused():
    with pytest.raises(ValueError, match="board has symmetries"):
        Symmetries(())
    for setting in ("learn.symmetries=true", "selfplay.random_symmetries=true"):
        with pytest.raises(ValueError, match="expected no symmetries for checkers"):
            RunConfig().changed([setting])
        assert RunConfig.defaults_for("tictactoe").changed([setting])
    assert RunConfig.defaults_for("go").learn.symmetries
