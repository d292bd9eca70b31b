"""Problems: reading them, what counts as solved, what the tables refute."""

import gzip

import pytest

from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.rl.analysis.problems import Problem, is_right, read_problems, refute, solve
from ckai.rl.engine.base import Engine, Line, SearchResult, Value
from ckai.rl.engine.limit import Limit

FIRST = Position.from_fen("W:WK18,K15:BK4")
PDN = """[Event "First\tposition"]
[SetUp "1"]
[FEN "W:WK18,K15:BK4"]
[Result "0-1"]

1. 15-11 4-8 2. 11x4 0-1

[Event "not a win"]
[FEN "W:WK18:BK1"]
[Result "0-1"]

0-1

[Event "a game"]
1. 11-15 *

[Event "bad"]
[FEN "W:WK18:BK1"]
1. 18-1 *
"""
FENS = """\ufeff# endings

B:W18:B14 win 14x23 ; a shot
  # more
W:WK18,K15:BK4 0-1
B:W18:B14
nonsense
B:W32:B1 3-4
B:W32:B1 1-5 3-4
B:W5:BK32 loss;
B:W32:B
"""


@pytest.fixture(scope="module")
def tables():
    return Tables.open(3)


@pytest.fixture(scope="module")
def engine():
    loaded = Engine.load("uniform")
    yield loaded
    loaded.close()


@pytest.mark.parametrize("packed", [False, True])
def test_problems_of_pdn(tmp_path, packed):
    path = tmp_path / "problems.pdn"
    path.write_bytes(gzip.compress(PDN.encode()) if packed else PDN.encode())
    first, second, third, fourth = read_problems(path)
    assert first.position == FIRST
    assert (first.number, first.name, first.result) == (1, "First position", "win")
    assert [str(move) for move in first.solution] == ["15-11", "4-8", "11x4"]
    assert first.label == f"{path}, problem 1, First position"
    assert (second.solution, second.result) == ([], "win")
    assert "problem 3: expected a FEN tag" in str(third)
    assert "problem 4: ply 0: '18-1' is illegal here" in str(fourth)


def test_problems_of_fens(tmp_path):
    path = tmp_path / "endings.fen"
    path.write_text(FENS)
    found = list(read_problems(path))
    read = [each for each in found if isinstance(each, Problem)]
    assert [(p.number, p.result, [str(m) for m in p.solution], p.name) for p in read] == [
        (1, "win", ["14x23"], "a shot"),
        (2, "win", [], ""),
        (3, None, [], ""),
        (7, "loss", [], ""),
    ]
    errors = [str(each) for each in found if isinstance(each, ValueError)]
    assert [error.removeprefix(f"{path}:")[0:2] for error in errors] == ["7:", "8:", "9:", "11"]
    assert "'3-4'" in errors[1]
    assert "legal: 32-" in errors[2]


def problem(fen="W:WK18,K15:BK4", moves=(), result=None):
    position = after = Position.from_fen(fen)
    solution = []
    for text in moves:
        solution.append(after.find_move(text))
        after = after.push(solution[-1])
    return Problem(position=position, path="x", number=1, solution=solution, result=result)


def found(each, move, value=0.0, **figures):
    line = Line(pv=[each.position.find_move(move)])
    return SearchResult(lines=[line], value=Value(value, "white"), **figures)


def test_what_is_right(tables):
    key = problem(moves=["15-11"], result="win")
    assert is_right(key, found(key, "15-11"))
    assert not is_right(key, found(key, "18-14"))
    assert is_right(key, found(key, "18-14", 1.0, proven="win"))
    assert not is_right(key, found(key, "18-14", 0.0, proven="draw"))
    assert is_right(key, found(key, "18-14"), tables)  # wins too, later
    assert is_right(problem(moves=["15-11"]), found(key, "18-14"), tables)
    drawn = problem("W:WK18:BK1", ["18-14"], "draw")
    assert not is_right(drawn, found(drawn, "18-15"))
    assert is_right(drawn, found(drawn, "18-15"), tables)
    won = problem(result="win")
    assert is_right(won, found(won, "18-14", 0.6))
    assert not is_right(won, found(won, "18-14", 0.4))
    assert not is_right(won, SearchResult(lines=[Line(pv=[won.position.find_move("18-14")])]))
    # What the tables say of the move counts, not its value.
    assert is_right(won, found(won, "18-14", 0.0), tables)
    thrown = problem("B:WK3,K4:BK7", result="draw")
    assert not is_right(thrown, found(thrown, "7-2", 0.0), tables)
    assert is_right(thrown, found(thrown, "7-11", -0.9), tables)
    assert is_right(problem(result="draw"), found(won, "18-14", 0.4))
    assert is_right(problem(result="loss"), found(won, "18-14", -0.9))
    assert not is_right(problem(), found(won, "18-14", 0.9))


def test_what_the_tables_refute(tables):
    assert refute(problem(result="win"), tables) is None
    assert refute(problem(result="win"), None) is None
    assert refute(problem(), tables) is None
    wrong = refute(problem(result="draw"), tables)
    assert wrong == (0, "win")
    lost = refute(problem("B:W18:B14", ["14x23"], "loss"), tables)
    assert lost == (0, "win")
    # Four pieces, of which the solution takes one: the win it claims is a draw.
    line = problem("W:WK18,K29:B13,K1", ["18-14"], "win")
    assert refute(line, tables) is None
    traded = problem("B:W22,K32:B18,K1", ["18x25"], "loss")
    against = refute(traded, tables)
    assert against[0] == 1


def test_solving(engine, tables):
    outcome = solve(engine, problem(moves=["15-11"], result="win"), Limit(visits=2000), tables)
    assert outcome.solved
    assert 0 <= outcome.seconds <= outcome.found.seconds
    assert (outcome.found.proven, outcome.found.plies, outcome.tables) == ("win", 3, "win")
    drawn = "W:W32,31,30:B1,2,3"
    chosen = str(solve(engine, problem(drawn), Limit(visits=1), None).found.move)
    (other,) = {"32-27", "31-26"} - {chosen} if chosen in ("32-27", "31-26") else {"32-27"}
    hit, missed = (solve(engine, problem(drawn, [key]), Limit(visits=1), None) for key in (chosen, other))
    assert (hit.solved, hit.seconds is None) == (True, False)
    assert (missed.solved, missed.seconds) == (False, None)
    open_end = solve(engine, problem(), Limit(visits=50))
    assert {open_end.solved, open_end.seconds, open_end.tables, open_end.refutation} == {None}
    refuted = solve(engine, problem("W:WK18:BK1", result="win"), Limit(visits=50), tables)
    assert (refuted.solved, refuted.tables, refuted.refutation[1]) == (None, "draw", "draw")


class Wavering:
    """An engine whose results are given."""

    limit = None

    def __init__(self, *reports):
        self.reports = reports

    def search(self, position, limit, *, on_result):
        for each in self.reports[:-1]:
            on_result(each)
        return self.reports[-1]

    def new_game(self):
        pass


def test_the_time_is_that_of_the_last_change():
    key = problem(moves=["15-11"])
    moves = ["18-14", "15-11", "18-14", "15-11", "15-11"]
    reports = [found(key, move, seconds=float(n)) for n, move in enumerate(moves)]
    assert solve(Wavering(*reports), key, Limit()).seconds == 3
    assert solve(Wavering(*reports[:3]), key, Limit()).seconds is None
