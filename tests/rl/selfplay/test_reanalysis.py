"""Reanalysis: rows get the targets of a plain search of their positions, whatever interrupts it."""

import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from numba import njit

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.reader import read_rows
from ckai.datasets.rows import Visits
from ckai.datasets.schema import DatasetError
from ckai.game import Position
from ckai.models.inference.evaluator import output_arrays
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.registry import build
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE, WIN, as_state
from ckai.rl.games.registry import get_game
from ckai.rl.reanalysis import reanalyze as module
from ckai.rl.reanalysis.reanalyze import ReanalysisCounts, drawn_rows, reanalyze, settings_of
from ckai.rl.reanalysis.targets import BLEND, ReanalysisError, policy_change, read_reanalysis
from ckai.rl.search.mcts import get_tree
from ckai.rl.search.proofs import PROOF_VALUE
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.targets import policy_target
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.recording import root_value
from ckai.rl.selfplay.rows import to_table
from ckai.rl.selfplay.setup import search_constants, search_rules
from ckai.rl.selfplay.shards import write_table
from ckai.rl.selfplay.workers import play_games

CONFIG = SelfPlayConfig(sims=12, in_flight=6, groups=2, max_plies=40, tables=0)
KINGS = "B:WK30,K31:BK1,K2"
"""A position whose games repeat positions."""
TARGETS = {"q", "visits", "surprise"}


class Hashes:
    """Logits and values that follow from the position alone, whatever the batch."""

    name = "hashes"

    def __init__(self, spec, salt):
        rng = np.random.default_rng(salt)
        self.weights = rng.integers(1, 2**40, (spec.position_bytes, spec.num_actions + 1))

    def evaluate(self, boards, out_logits=None, out_values=None):
        bits = (boards.astype(np.int64) @ self.weights) % 9973 / 9973
        logits, values = output_arrays(len(boards), bits.shape[1] - 1, out_logits, out_values)
        logits[:], values[:] = 3 * bits[:, :-1], bits[:, -1] - 0.5
        return logits, values

    def close(self):
        pass


@njit
def key_of(game, state):
    return contract.key(game, state)


def played(name, count=4, config=CONFIG, starts=None):
    """Games of self-play."""
    spec, games = get_game(name), []
    play_games(Hashes(spec, 1), config, range(count), seed=3, on_game=games.append, spec=spec, starts=starts)
    return sorted(games, key=lambda game: game.number)


def written(path, games):
    write_table(to_table(games, 7), path)
    return path


def plain_search(searcher, game, i, sims, with_history=True):
    """The visit counts by action, and q, of a search of row `i` alone, from the states of self-play."""
    states = [as_state(state) for state in game.rows["state"]]
    keys = np.zeros((0, len(states[0])), np.int64)
    if with_history and i:
        rules = searcher.game
        keys = np.array([key_of(rules, tuple(map(np.int64, state))) for state in states[:i]], np.int64)
    searcher.set_root(0, states[i], keys)
    root = searcher.root(0)
    searcher.run(np.array([1 if root["num_edges"] == 1 else sims], np.int32))
    first = root["first_edge"]
    edges = searcher.tree_batch.edges[0, first : first + root["num_edges"]]
    counts = {int(edge["action"]): int(edge["visits"]) for edge in edges}
    if root["proof"] == WIN:
        counts = {a: int(root["visits"]) if a == searcher.best(0) else 0 for a in counts}
    elif len(counts) == 1:
        counts = {a: max(n, 1) for a, n in counts.items()}
    proven = root["proof"] != NONE
    return counts, PROOF_VALUE[root["proof"]] if proven else root["value_sum"] / root["visits"]


def evaluator_of(kind, spec):
    if kind == "hashes":
        return Hashes(spec, 2)
    torch.manual_seed(3)
    encoding = {} if spec.encoding is None else {"encoding": spec.encoding}
    return IntegerEvaluator(build("swift", {"hidden": 16, "narrow": 8, "narrowest": 8, **encoding}))


@pytest.mark.parametrize(
    ("name", "kind", "start", "tables"),
    [
        ("checkers", "hashes", None, 0),
        ("checkers", "hashes", KINGS, 0),
        ("checkers", "hashes", "B:W30,K31,32:BK1,2,3", 3),
        ("checkers", "integers", None, 0),
        ("tictactoe", "hashes", None, 0),
        ("tictactoe", "integers", None, 0),
        pytest.param("connect4", "hashes", None, 0, marks=pytest.mark.slow),
        pytest.param("go", "hashes", None, 0, marks=pytest.mark.slow),
    ],
)
def test_new_targets_are_those_of_a_plain_search(tmp_path, name, kind, start, tables):
    spec = get_game(name)
    config = replace(CONFIG, tables=tables, max_plies=120 if name == "go" else 40)
    games = played(name, 4, config, None if start is None else lambda n: Position.from_fen(start))
    source = written(tmp_path / "rows.parquet", games)
    evaluator = evaluator_of(kind, spec)
    output = tmp_path / "new.parquet"
    # The search of a position does not depend on what else is searched.
    done = reanalyze(
        source, output, evaluator, config, spec=spec, folder=tmp_path / "work", share=0.7, seed=1
    )
    drawn = drawn_rows(source, 0.7, 1)
    new = pq.read_table(output, columns=["q", "visits"]).to_pylist()
    assert (done.reanalyzed, done.left, done.rows) == (len(drawn), 0, len(new))
    tablebases = module.Tables.open(tables) if tables else None
    searcher = Searcher(
        evaluator,
        nodes=config.tree_nodes,
        constants=search_constants(config)._replace(noise_epsilon=0.0),
        game=search_rules(config, spec, tablebases),
    )
    places = [(game, i) for game in games for i in range(len(game.rows))]
    forgetful = 0
    for row in drawn.tolist():
        game, i = places[row]
        counts, q = plain_search(searcher, game, i, config.sims)
        assert {each["label"]: each["count"] for each in new[row]["visits"]} == counts
        assert new[row]["q"] == np.float32(q)
        forgetful += plain_search(searcher, game, i, config.sims, with_history=False) != (counts, q)
    if start == KINGS:
        assert forgetful  # the history matters
    searcher.close()


@njit
def self_play_target(trees, constants, out):
    policy_target(get_tree(trees, 0), constants, out)
    return root_value(get_tree(trees, 0), constants)


@pytest.mark.parametrize("rule", ["gumbel"])
def test_the_rule_at_the_root_is_that_of_self_play(tmp_path, rule):
    spec, config = get_game("tictactoe"), replace(CONFIG, root_rule=rule, sims=16)
    games = played("tictactoe", 6)
    source = written(tmp_path / "rows.parquet", games)
    evaluator, output = Hashes(spec, 2), tmp_path / "new.parquet"
    reanalyze(source, output, evaluator, config, spec=spec, folder=tmp_path / "work")
    new = pq.read_table(output, columns=["q", "visits"]).to_pylist()
    quiet = search_constants(config)._replace(noise_epsilon=0.0, gumbel_noise=0.0)
    searcher = Searcher(evaluator, nodes=config.tree_nodes, constants=quiet, game=search_rules(config, spec))
    places = [(game, i) for game in games for i in range(len(game.rows))]
    for row, (game, i) in enumerate(places):
        plain_search(searcher, game, i, config.sims)
        root = searcher.root(0)
        target = np.zeros(root["num_edges"], np.int64)
        q = self_play_target(searcher.tree_batch, quiet.typed(), target)
        assert new[row]["q"] == np.float32(q)
        if root["proof"] != WIN and len(target) > 1:
            assert [each["count"] for each in new[row]["visits"]] == target.tolist()
    searcher.close()


@pytest.fixture
def rows(tmp_path):
    return written(tmp_path / "rows.parquet", played("tictactoe", 24))


def again(rows, output, **more):
    spec = get_game("tictactoe")
    given = {"share": 0.5, "seed": 4, "folder": output.with_suffix(".shards"), "spec": spec, **more}
    return reanalyze(rows, output, Hashes(spec, 2), CONFIG, **given)


def test_everything_else_stays(tmp_path, rows):
    before, source = rows.read_bytes(), pq.read_table(rows)
    output = tmp_path / "new.parquet"
    done = again(rows, output)
    assert rows.read_bytes() == before
    new = pq.read_table(output)
    assert new.schema.equals(source.schema)
    assert new.schema.metadata.items() > source.schema.metadata.items()
    drawn = drawn_rows(rows, 0.5, 4)
    others = pa.array(np.setdiff1d(np.arange(len(source)), drawn))
    assert new.take(others).equals(source.take(others))
    assert new.drop_columns(list(TARGETS)).equals(source.drop_columns(list(TARGETS)))
    assert 0.3 < done.reanalyzed / done.rows < 0.7
    assert (pc.not_equal(new["q"], source["q"]).to_numpy().nonzero()[0] <= drawn.max()).all()
    assert done.q_change == pytest.approx(
        np.abs(new["q"].to_numpy() - source["q"].to_numpy())[drawn].mean(), rel=1e-6
    )
    data = RowsDataModule([output], heldout=0.0, need_both_sides=False, game="tictactoe", surprise=0.5)
    assert data.train_rows == len(source)
    assert read_reanalysis(output, settings_of(CONFIG, 0.5, 4, "")) == done
    assert not output.with_suffix(".shards").exists()


def test_a_share_of_nothing_changes_nothing(tmp_path, rows):
    done = again(rows, tmp_path / "new.parquet", share=0.0)
    assert done.reanalyzed == 0
    assert pq.read_table(tmp_path / "new.parquet").equals(pq.read_table(rows))


def test_an_interrupted_reanalysis_leaves_the_same_bytes(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(module, "SHARD_ROWS", 16)
    whole, output = tmp_path / "whole.parquet", tmp_path / "new.parquet"
    again(rows, whole)
    folder, stop, shards = output.with_suffix(".shards"), threading.Event(), []

    def on_shard():
        shards.append(1)
        if len(shards) == 3:
            stop.set()

    assert again(rows, output, on_shard=on_shard, stop=stop) is None
    assert not output.exists()
    kept = sorted(folder.glob("*.parquet"))
    assert len(kept) >= 3
    (folder / ".000009.parquet.99999.0.tmp").write_bytes(b"half")
    kept[0].write_bytes(kept[0].read_bytes()[:-40])
    counts, warnings, more = ReanalysisCounts(), [], []
    done = again(rows, output, counts=counts, warn=warnings.append, on_shard=lambda: more.append(1))
    assert output.read_bytes() == whole.read_bytes()
    assert 0 < counts.kept < counts.rows == done.reanalyzed
    assert len(warnings) == 1
    assert "damaged file" in warnings[0]
    assert len(more) == -(-done.reanalyzed // 16) - len(kept) + 1


def test_shards_of_other_settings_are_dropped(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(module, "SHARD_ROWS", 16)
    stop, output = threading.Event(), tmp_path / "new.parquet"
    again(rows, output, on_shard=stop.set, stop=stop, network="another")
    counts = ReanalysisCounts()
    again(rows, output, counts=counts)
    assert counts.kept == 0


def test_shards_of_other_rows_are_dropped(tmp_path, rows, monkeypatch):
    """The rows of every generation of a run have the same name."""
    monkeypatch.setattr(module, "SHARD_ROWS", 16)
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other" / rows.name, played("tictactoe", 25))
    stop, output, counts = threading.Event(), tmp_path / "new.parquet", ReanalysisCounts()
    again(other, output, on_shard=stop.set, stop=stop)
    again(rows, output, counts=counts)
    assert counts.kept == 0


def test_games_that_cannot_be_recreated_are_left(tmp_path, rows):
    table = pq.read_table(rows)
    starts = np.flatnonzero(np.diff(table["game"].to_numpy(), prepend=-1))
    label = table["label"].to_numpy().copy()
    legal = read_rows(rows, game="tictactoe").legal_mask()[starts[2]]
    label[starts[2]] = next(a for a in legal.nonzero()[0] if a != label[starts[2]])  # another game from there
    table = table.set_column(
        table.schema.get_field_index("label"), table.schema.field("label"), pa.array(label)
    )
    table = table.take(pa.array(np.delete(np.arange(len(table)), starts[5])))  # without its first row
    cut = tmp_path / "cut.parquet"
    write_table(table, cut)
    done = again(cut, tmp_path / "new.parquet", share=1.0)
    game = table["game"].to_numpy()
    left = np.isin(game, [2, 5])
    assert (done.left, done.left_games) == (int(left.sum()), 2)
    assert done.reanalyzed == len(table) - done.left
    new = pq.read_table(tmp_path / "new.parquet")
    assert new.filter(pa.array(left)).equals(table.filter(pa.array(left)))


def test_a_clock_that_the_encoding_cuts_is_not_recreated(tmp_path):
    games = played("checkers", 2, replace(CONFIG, halfmove_limit=300), lambda n: clocked(130 if n else 20))
    source = written(tmp_path / "rows.parquet", games)
    spec = get_game("checkers")
    config = replace(CONFIG, halfmove_limit=300)
    done = reanalyze(
        source, tmp_path / "new.parquet", Hashes(spec, 2), config, spec=spec, folder=tmp_path / "w"
    )
    assert (done.left_games, done.left) == (1, len(games[1].rows))


def clocked(clock):
    return replace(Position.from_fen(KINGS), halfmove_clock=clock)


def test_the_change_of_the_policy_is_a_divergence(rows):
    two = read_rows(rows, game="tictactoe").take(np.array([0, 1, 2]))
    legal = [mask.nonzero()[0].astype(np.uint8) for mask in two.legal_mask()]
    offsets = np.cumsum([0, *map(len, legal)])
    old = np.concatenate([np.eye(len(each), dtype=np.uint32)[0] * 8 for each in legal])
    old[offsets[2] :] = 0  # a row without a target
    new = old.copy()
    new[offsets[1] : offsets[2]] = np.eye(len(legal[1]), dtype=np.uint32)[1] * 20
    labels = np.concatenate(legal)
    change = policy_change(replace(two, visits=Visits(offsets, labels, old)), Visits(offsets, labels, new))
    same = -np.log(1 - BLEND + BLEND / len(legal[0]))
    assert change[:2] == pytest.approx([same, -np.log(BLEND / len(legal[1]))], rel=1e-5)
    assert np.isnan(change[2])


def test_other_files_are_refused(tmp_path, rows):
    output = tmp_path / "new.parquet"
    again(rows, output)
    with pytest.raises(ReanalysisError, match=r"new\.parquet: expected rows reanalyzed with"):
        read_reanalysis(output, settings_of(CONFIG, 0.5, 4, "another network"))
    output.write_bytes(output.read_bytes()[:-9])
    with pytest.raises(
        ReanalysisError, match=r"new\.parquet: expected reanalyzed rows, found a damaged file"
    ):
        read_reanalysis(output, settings_of(CONFIG, 0.5, 4, ""))
    with pytest.raises(DatasetError, match=r"none\.parquet: expected a data set, found no such file"):
        drawn_rows(tmp_path / "none.parquet", 1.0, 0)
