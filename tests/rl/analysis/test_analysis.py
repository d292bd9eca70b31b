"""Analysis of games: what moves cost, grades, verdicts of the tables, annotations, players, interruption."""

import io

import numpy as np
import pytest

from ckai.datasets import files
from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_network
from ckai.models.inference.integers import IntegerEvaluator
from ckai.pdn import read_games, write_game
from ckai.rl.analysis import Analyst, accuracy_of, annotate, player_rows
from ckai.rl.analysis.analyst import Work
from ckai.rl.analysis.annotation import strip
from ckai.rl.analysis.report import NAGS, Grade
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import UniformEvaluator

# White plays 14-10??, which loses the man to 6x15 and with it the game; 14-9 held on.
GIVEN_AWAY = (
    '[Black "Ann"]\n[White "Bob"]\n[Result "1-0"]\n[FEN "W:W14,32:B6,1"]\n1. ... 14-10 {my plan} 1-0\n'
)


def read(text):
    return list(read_games(io.BytesIO(text.encode()), "games.pdn"))


@pytest.fixture(scope="module")
def tables():
    return Tables.open(3)


@pytest.fixture(scope="module")
def analyst(tables):
    made = Analyst(UniformEvaluator(), visits=100, tables=tables)
    yield made
    made.close()


def analyzed(analyst, text):
    (game,) = read(text)
    return game, analyst.analyze(game.play(), game.result)


# --- moves ------------------------------------------------------------------------------------------


def test_a_move_that_gives_the_game_away_is_a_blunder(analyst):
    _, report = analyzed(analyst, GIVEN_AWAY)
    (ply,) = report.plies
    assert ply.grade == Grade.BLUNDER
    assert ply.best != "14-10"
    assert ply.line[0] == ply.best
    assert ply.cost >= 0.2
    assert not ply.forced


@pytest.mark.parametrize(
    ("fen", "played", "best"),
    [
        ("B:W7,13,K8,K20,21,26,30,32:B6,10,11,14,15,18,19,23,27", "19-24", "6-9"),
        pytest.param(  # the same, turned
            "W:B26,20,K25,K13,12,7,3,1:W27,23,22,19,18,15,14,10,6", "14-9", "27-24", marks=pytest.mark.slow
        ),
    ],
)
def test_a_win_that_only_a_deep_search_sees_is_thrown_away(fen, played, best):
    deep = Analyst(IntegerEvaluator(load_network("ckai")))
    _, report = analyzed(deep, f'[FEN "{fen}"]\n1. {"... " * (fen[0] == "W")}{played} *\n')
    deep.close()
    (ply,) = report.plies
    assert (ply.grade, ply.best, ply.points) == (Grade.BLUNDER, best, 1.0)


@pytest.mark.slow
def test_moves_of_the_book_are_marked_only_if_they_are_blunders():
    # 9-13 is weak, and so is 10-14 after 23-18; after 21-17 it loses, though it is ballot 3.
    sharp = Analyst(IntegerEvaluator(load_network("ckai")), visits=100)
    for line, marked in (("9-13 23-18 10-14", []), ("9-13 21-17 10-14", [2])):
        _, report = analyzed(sharp, f"{line} *")
        assert report.marked() == marked
        assert [n for n, ply in enumerate(report.plies) if ply.cost > 0.1] == marked
    sharp.close()


def test_the_move_that_allows_a_shot_is_blamed_not_the_one_after(analyst):
    # 22-18 lets Black take two and win; the capture that follows is forced.
    text = '[FEN "W:W12,22,27:B1,14"]\n1. ... 22-18 2. 14x23x32 1-0\n'
    _, report = analyzed(analyst, text)
    assert report.plies[0].grade == Grade.BLUNDER
    assert report.plies[1].grade is None
    assert report.plies[1].cost == 0


def test_forced_moves_have_no_grade_and_take_the_value_that_follows(analyst):
    _, report = analyzed(analyst, '[FEN "B:W18,27,32:B1,14"]\n1. 14x23 27x18 *\n')
    assert [ply.forced for ply in report.plies] == [True, True]
    assert [ply.grade for ply in report.plies] == [None, None]
    first, second = report.plies
    assert first.points == first.played == pytest.approx(1 - second.played)
    assert report.accuracy(True) is None


def test_tables_have_the_last_word(analyst):
    # Two kings against one in the double corner is won; the game was given up as a draw.
    text = '[FEN "B:WK32:BK15,K18"]\n1. 15-19 32-28 1/2-1/2\n'
    _, report = analyzed(analyst, text)
    assert report.plies[0].verdict == "win"
    assert report.plies[0].points == 1.0
    assert report.theory == "Won for Black by the tables after 1... 32-28, drawn in the game."


def test_a_drawn_game_that_was_played_away_is_named_with_its_blunder(analyst):
    _, report = analyzed(analyst, '[FEN "B:WK3,K4:BK7"]\n1. 7-2 0-1\n')
    assert (report.plies[0].grade, report.plies[0].cost, report.plies[0].best) == (Grade.BLUNDER, 0.5, "7-11")
    assert report.theory == "Drawn by the tables from the start, won by White in the game."


def test_a_game_that_went_on_after_a_draw_by_rule_is_analysed_to_its_end(analyst):
    back_and_forth = " ".join(f"{n}. 1-6 32-27 {n + 1}. 6-1 27-32" for n in range(1, 9, 2))
    _, report = analyzed(analyst, f'[FEN "B:WK32,K20:BK1,K12"]\n{back_and_forth} *\n')
    assert len(report.plies) == 16
    assert all(0 <= ply.points <= 1 for ply in report.plies)


# --- annotations ------------------------------------------------------------------------------------


def test_what_is_written_is_read_back_with_every_mark(analyst):
    game, report = analyzed(analyst, GIVEN_AWAY)
    (again,) = read(write_game(annotate(game, report, "net, 100 visits")))
    (each,) = again.moves
    assert again.header("Annotator") == "ckai net, 100 visits"
    assert each.nags == [NAGS[Grade.BLUNDER]]
    assert each.comments[0] == "my plan"
    assert each.comments[1].startswith("Black 100%. Blunder, costs 50%. Better: ")
    assert f"Better: {report.plies[0].best}." in each.comments[1]
    (line,) = each.variations
    assert [str(m.move) for m in line.moves] == list(report.plies[0].line)
    assert game.moves[0].comments == ["my plan"]  # the game that was read is as it was


def test_an_analysis_of_an_analysis_is_the_same(analyst):
    game, report = analyzed(analyst, GIVEN_AWAY)
    text = write_game(annotate(game, report, "net"))
    (again,) = read(text)
    assert write_game(annotate(again, report, "net")) == text
    assert write_game(strip(again)) == write_game(game)


def test_annotations_of_others_are_kept(analyst):
    text = '[Annotator "Wood"]\n[FEN "W:W14,32:B6,1"]\n1. ... 14-10 $4 {Black -9%. odd} (1. ... 14-9) 0-1\n'
    game, report = analyzed(analyst, text)
    annotated = annotate(game, report)
    assert [value for name, value in annotated.headers if name == "Annotator"] == ["Wood", "ckai"]
    assert annotated.moves[0].comments[0] == "Black -9%. odd"
    assert len(annotated.moves[0].variations) == 2
    assert annotated.moves[0].nags == [4, 4]


def test_a_draw_that_was_thrown_away_is_a_blunder_whatever_a_search_thinks_of_it(analyst):
    """1-5 would have been the third time; a search of that position itself knows nothing of it."""
    text = '[FEN "W:WK18,K19,K27,K26:BK5"]\n1. ... 18-14 2. 5-1 14-18 3. 1-5 18-14 4. 5-1 14-18 5. 1-6 *'
    (game,) = read(text)

    class Sure(UniformEvaluator):
        def evaluate(self, boards, out_logits=None, out_values=None):
            logits, values = super().evaluate(boards, out_logits, out_values)
            values[:] = np.sign(np.sign(boards[:, :32]).sum(1))
            return logits, values

    sure = Analyst(Sure(), visits=100)
    last = sure.analyze(game.play(), game.result).plies[-1]
    sure.close()
    assert (last.best, last.points, last.grade) == ("1-5", pytest.approx(0.5, abs=0.03), Grade.BLUNDER)


# --- players ----------------------------------------------------------------------------------------


def test_players_add_up_their_games(analyst):
    _, report = analyzed(analyst, GIVEN_AWAY)
    unnamed = player_rows([("?", None, report)])
    assert [(row["name"], row["games"]) for row in unnamed] == [("? (Black)", 1), ("? (White)", 1)]
    bob, nobody, ann = player_rows([("Ann", "Bob", report), ("Bob", None, report)])
    assert (bob["name"], bob["games"], bob["score"], bob["blunder"]) == ("Bob", 2, 1.0, 1)
    assert (nobody["name"], nobody["blunder"], nobody["moves"]) == ("? (White)", 1, 1)
    assert (ann["name"], ann["moves"], ann["accuracy"]) == ("Ann", 0, None)
    assert bob["accuracy"] == pytest.approx(accuracy_of(report.plies[0].cost), abs=0.01)


# --- files ------------------------------------------------------------------------------------------

GAMES = (
    GIVEN_AWAY + '[FEN "B:W18,27,32:B1,14"]\n1. 14x23 27x18 *\n\n[Event "bad"]\n1. 11-15 22-18 2. 8-11 *\n'
)
OPENINGS = ("11-15 23-19 2. 8-11 22-17", "9-13 22-18 2. 10-15 18-14", "11-15 23-19 2. 9-14")
PLAYED = "".join(f'\n[Event "{n}"]\n1. {opening} *\n' for n, opening in enumerate(OPENINGS))


def work(folder, text=GAMES, visits=20):
    games = list(read_games(io.BytesIO(text.encode())))
    return Work(games, folder / "out.pdn", visits, {"network": "uniform"})


def test_games_done_are_kept_when_the_analysis_breaks(tmp_path, monkeypatch):
    broken = work(tmp_path)
    write_whole = files.write_whole

    def full_disk(path, data):
        if path.name == "000001.json":
            raise OSError("no space left")
        write_whole(path, data)

    monkeypatch.setattr("ckai.rl.analysis.analyst.write_whole", full_disk)
    with pytest.raises(OSError, match="no space left"):
        broken.analyze(UniformEvaluator())
    monkeypatch.undo()
    again = work(tmp_path)
    again.analyze(UniformEvaluator())
    assert (len(again.reports), again.kept) == (3, 1)
    moves = [[ply.move for ply in again.reports[n].plies] for n in range(3)]
    assert moves == [["14-10"], ["14x23", "27x18"], ["11-15", "22-18"]]


def test_only_whole_reports_of_the_same_game_and_settings_are_kept(tmp_path):
    first = work(tmp_path)
    first.analyze(UniformEvaluator())
    (first.folder / "000001.json").write_text('{"plies": [')
    (first.folder / "000002.json").write_text((first.folder / "000000.json").read_text())
    for changes, kept in (({}, 1), ({}, 3), ({"visits": 21}, 0), ({"visits": 21}, 3)):
        again = work(tmp_path, **changes)
        again.analyze(UniformEvaluator())
        assert (again.kept, len(again.reports)) == (kept, 3)
    longer = work(tmp_path, GAMES + GIVEN_AWAY, visits=21)
    longer.analyze(UniformEvaluator())
    assert (longer.kept, len(longer.reports)) == (3, len(longer.games))


@pytest.mark.parametrize("network", ["uniform", pytest.param("ckai", marks=pytest.mark.slow)])
def test_threads_do_not_change_the_reports(tmp_path, network):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = (work(tmp_path / name, GAMES + PLAYED) for name in "ab")
    one.analyze(load_evaluator(network), threads=1)
    two.analyze(load_evaluator(network), threads=3)
    assert one.reports == two.reports
