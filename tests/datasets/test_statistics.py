"""What is in a data set, against a count by hand; and `ckai games --stats`."""

from collections import Counter

import make_rows
import numpy as np
import pytest
from click.testing import CliRunner

from ckai.cli.games import command
from ckai.datasets.reader import describe
from ckai.datasets.schema import DatasetError
from ckai.game import Position


@pytest.fixture(scope="module")
def rows():
    return make_rows.random_games(30, max_plies=90)


@pytest.fixture(scope="module")
def path(rows, tmp_path_factory):
    return make_rows.write(tmp_path_factory.mktemp("rows") / "games.parquet", rows)


def test_every_figure_is_what_a_count_by_hand_finds(rows, path):
    forced, games, lengths, keys = 0, {}, Counter(), set()
    for r in rows:
        own, opp = [sum(1 << i for i, p in enumerate(r["board"]) if p * sign > 0) for sign in (1, -1)]
        kings = sum(1 << i for i, p in enumerate(r["board"]) if abs(p) == 3)
        position = Position(own, opp, kings, r["black"], r["jumper"])
        games.setdefault(r["game"], r["z"] if r["z"] is None or r["black"] else -r["z"])
        lengths[r["game"]] += r["hop"] == 0
        keys.add((*r["board"], r["jumper"]))
        forced += len(position.legal_actions()) == 1
    s = describe([path])
    plies = list(lengths.values())
    assert (s.rows, s.games, s.plies) == (len(rows), 30, sum(plies))
    assert s.results == {
        name: sum(z == of for z in games.values())
        for name, of in {"black": 1, "white": -1, "drawn": 0, "unknown": None}.items()
    }
    assert s.results["unknown"] == 6
    assert (s.forced_rows, s.positions) == (forced, len(keys))
    assert s.lengths == pytest.approx({"least": min(plies), "mean": np.mean(plies), "most": max(plies)})


def test_two_files_with_the_same_game_numbers_are_two_games(rows, tmp_path):
    mine = [r for r in rows if r["game"] == 0]
    paths = [make_rows.write(tmp_path / f"{name}.parquet", mine) for name in "ab"]
    s = describe(paths)
    assert (s.games, s.rows) == (2, 2 * len(mine))


# --- ckai games --stats ---------------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in (*words, "--stats")])


def test_the_newest_data_set_is_the_default(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run()
    assert isinstance(result.exception, DatasetError)
    assert "found none; `ckai parse` writes one" in str(result.exception)
    (tmp_path / "data").mkdir()
    make_rows.write(tmp_path / "data" / "g.parquet", rows[:50])
    assert run().stdout.startswith("data/g.parquet\n")
