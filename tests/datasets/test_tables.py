"""Tablebases: known counts, values that follow from their successors, files that are whole or refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from positions import rotated

from ckai.cli.tables import command
from ckai.datasets.files import LockedError
from ckai.datasets.tables import ProbeResult, Tables, build_tables, table_path
from ckai.datasets.tables.index import STARTS, class_key, read_tables, unrank_position
from ckai.datasets.tables.solve import DRAWN, look
from ckai.game import Position
from ckai.game.jit import inner, kernel
from ckai.game.kernels import apply_hop, legal_actions

SAMPLE = Path(__file__).parents[2] / "data" / "sample.pdn"
COUNTS = {"2": [716, 402, 2370], "3": [100_250, 87_305, 8_477], "4": [2_574_304, 1_917_090, 1_717_922]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def opened(pieces, folder):
    return Tables(*read_tables(table_path(pieces, folder)))


@pytest.fixture(scope="module")
def three(folder):
    build_tables(3, table_path(3, folder))
    return opened(3, folder)


@inner
def follows(own, opp, kings, values, lookup):
    """The value of a position from those after its whole moves, by the definition and nothing else."""
    todo = np.empty((200, 4), np.int64)
    labels = np.empty(128, np.int16)
    todo[0, 0], todo[0, 1], todo[0, 2], todo[0, 3] = own, opp, kings, -1
    waiting = 1
    win, loss, draw = 1000, -1, False
    while waiting:
        waiting -= 1
        a, b, c, j = todo[waiting]
        for i in range(legal_actions(a, b, c, j, labels)):
            o, p, k, jumper, _, passed = apply_hop(a, b, c, 0, np.int64(labels[i]))
            if not passed:
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2], todo[waiting, 3] = o, p, k, jumper
                waiting += 1
                continue
            value = 0 if o == 0 else np.int64(look(o, p, k, values, lookup))
            if value == DRAWN:
                draw = True
            elif value % 2 == 0:
                win = min(win, value + 1)
            else:
                loss = max(loss, value + 1)
    if win < 1000:
        return win
    return DRAWN if draw else max(loss, 0)


@kernel
def wrong(numbers, m1, k1, m2, k2, values, lookup, start):
    """How many positions of a class have another value than follows, and the first of them."""
    count, first = 0, -1
    for number in numbers:
        own, opp, kings = unrank_position(number, m1, k1, m2, k2, lookup)
        if follows(own, opp, kings, values, lookup) != values[start + number]:
            count += 1
            if first < 0:
                first = number
    return count, first


def check(tables, sample=None):
    layout = tables.layout
    rng = np.random.default_rng(0)
    for of, size in layout.classes.items():
        numbers = np.arange(size) if sample is None else rng.integers(size, size=min(size, sample))
        start = int(layout.lookup[STARTS + class_key(*of)])
        found = wrong(numbers, *of, tables.values, layout.lookup, start)
        assert found[0] == 0, f"{of}: {unrank_position(found[1], *of, layout.lookup)}"


def test_counts_are_those_that_are_known(three):
    assert three.header["counts"] == {n: COUNTS[n] for n in "23"}
    layout = three.layout
    two_kings = next(of for of in layout.classes if of == (0, 2, 0, 1))
    values = layout.part(three.values, two_kings)
    assert ((values & 1 == 1) & (values != DRAWN)).sum() == 14_846
    assert (values == DRAWN).sum() == 34
    assert values[values != DRAWN].max() == 33


@pytest.mark.slow
def test_every_value_of_three_pieces_follows_from_its_successors(three):
    check(three)


@pytest.mark.slow
def test_four_pieces(folder):
    header = build_tables(4, table_path(4, folder))
    assert header["counts"] == COUNTS
    assert table_path(4, folder).stat().st_size < 7_000_000
    check(opened(4, folder), 20_000)


def forces(position, black, worth, tables, plies):
    """Whether a side can force a draw (`worth` 0) or a win (1) of it within so many plies and the tables."""
    if tables.knows(position):
        value = {"loss": -1, "draw": 0, "win": 1}[tables.probe(position).value]
        return (value if position.black == black else -value) >= worth
    if not position.legal_moves() or plies == 0:
        return position.black != black and plies > 0
    after = (forces(position.push(m), black, worth, tables, plies - 1) for m in position.legal_moves())
    return any(after) if position.black == black else all(after)


@pytest.mark.slow
def test_results_of_a_book_are_refuted(folder):
    if not table_path(4, folder).exists():
        build_tables(4, table_path(4, folder))
    tables = opened(4, folder)
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    stated = re.findall(r"^    ([WB]:\S+) +(win|draw) ", page, flags=re.MULTILINE)
    assert stated.pop() == PRIZE
    assert len(stated) == 4
    for fen, result in stated:
        position = Position.from_fen(fen)
        for each in (position, rotated(position)):
            if result == "win":
                assert forces(each, not each.black, 0, tables, 4)
            else:
                assert forces(each, each.black, 1, tables, 7)


PRIZE = "B:W29,32,K11:B3,K1,K19", "draw"
NOT_WON = "W:WK2,10,K17:B1,3,K8"
"""Six pieces: the proof that White never wins needs all tables of three against three."""


def after(position):
    """The positions after its moves, in an order that is the same with colours exchanged."""
    return sorted(map(position.push, position.legal_moves()), key=lambda p: (p.own, p.opp, p.kings))


def wins(position, answers, tables, won):
    """Whether the answers, one for each position when it is first met, win against every reply."""
    if tables.knows(position):
        return tables.probe(position).value == "win"
    board = position.own, position.opp, position.kings
    if board not in won:
        replies = after(after(position)[int(next(answers), 36)])
        if not all(wins(then, answers, tables, won) for then in replies):
            return False
        won.add(board)
    return True


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_five_pieces(folder):
    header = build_tables(5, table_path(5, folder))
    assert header["counts"] == {**COUNTS, "5": [71_334_772, 56_993_144, 11_122_892]}
    tables = opened(5, folder)
    check(tables, 5_000)
    answers = "".join((Path(__file__).parent / "data" / "gurley.txt").read_text().split())
    position = Position.from_fen(PRIZE[0])
    for each in (position, rotated(position)):
        assert wins(each, iter(answers), tables, set())
    position = Position.from_fen(NOT_WON)
    for each in (position, rotated(position)):
        assert not forces(each, each.black, 1, tables, 13)


def test_a_position_is_answered_with_its_best_play(three):
    position = Position.from_fen("W:WK1,K5:BK30")
    found = three.probe(position)
    assert found == ProbeResult("win", 31)
    line = three.line(position)
    assert len(line) == 31
    for left, move in zip(range(31, 0, -1), line, strict=True):
        assert three.probe(position) == ProbeResult("win" if left % 2 else "loss", left)
        assert move in three.best_moves(position)
        position = position.push(move)
    assert position.legal_moves() == []
    assert three.probe(Position.from_fen("B:WK1:BK32")) == ProbeResult("draw", None)
    assert three.line(Position.from_fen("B:WK1:BK32")) == []
    assert len(three.best_moves(Position.from_fen("B:WK1:BK32"))) == 2


def test_what_is_not_in_the_tables_is_said(three, tmp_path, monkeypatch):
    monkeypatch.setenv("CKAI_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match=r"expected 2 to 3 pieces .*, found 24"):
        three.probe(Position.start())
    with pytest.raises(
        ValueError, match=r"tables-4\.ckt: no such file; `ckai tables build --pieces 4` builds it"
    ):
        Tables.open(4)


@pytest.mark.parametrize("pieces", [-1, 0, 1, 7])
def test_tables_that_there_are_not_are_refused(pieces):
    with pytest.raises(ValueError, match=f"expected tables of 2 to 6 pieces, found {pieces}"):
        Tables.open(pieces)


@pytest.mark.parametrize("at", [3, 16, 40, 2000, -5])
def test_a_damaged_file_is_refused_by_name(three, folder, tmp_path, at):
    data = bytearray(table_path(3, folder).read_bytes())
    data[at] ^= 4
    path = table_path(3, tmp_path)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"tables-3\.ckt: expected .*--force"):
        read_tables(path)
    path.write_bytes(table_path(3, folder).read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged or cut short"):
        read_tables(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="expected 'ckai tables 2', found ''"):
        read_tables(path)


def test_two_builds_of_one_table_do_not_share_a_folder(tmp_path):
    path = table_path(2, tmp_path)

    def second(done, total):
        with pytest.raises(LockedError, match="held by another process"):
            build_tables(2, path)
        tried.append(done)

    tried = []
    assert build_tables(2, path, progress=second)["counts"]["2"] == COUNTS["2"]
    assert tried


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.setenv("CKAI_CACHE", str(tmp_path))

    def run(*arguments):
        found = CliRunner().invoke(command, arguments)
        assert found.exit_code == 0, found.output
        return found.stdout

    first = run("build", "--pieces", "2")
    assert first.splitlines()[-1].split() == ["2", "716", "402", "2,370"]
    assert ("already" in first, "already" in run("build", "--pieces", "2")) == (False, True)
    assert run("build", "--pieces", "2", "--force") == first
    found = json.loads(run("probe", "B:W10:B6", "--json"))
    assert found == {"value": "win", "plies": 1, "best": ["6x15"], "line": ["6x15"]}
