"""Games at the board: moves, people and players, clocks, the end, setting up, variations, files."""

import io
import re
import time
from pathlib import Path

import pytest
from board_tab import serving, tab

from ckai.cli.playing.session import SIDES
from ckai.cli.web.pdn_tree import pdn_of, tree_of
from ckai.cli.web.table import Seat, Table
from ckai.cli.web.tree import Tree
from ckai.pdn import read_games, write_game
from ckai.rl.engine.base import ResignsError
from ckai.rl.engine.simple import RandomEngine
from ckai.rl.games.registry import get_game

CHECKERS = get_game("checkers")
TEXT = """[Event "<script>alert(1)</script>"]
[White "a \\"b\\" <img src=x onerror=alert(2)>"]
[Result "1-0"]

1. {first} 11-15! {sharp} ({before} 1. 9-13 22-18 (1... 24-20 2. 11-15) {z} and so on)
(garbage) 23-19 $14 2. 8-11 22-17?? 1-0 {after}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("runs"), given=["alphabeta@1"]) as client:
        yield client


@pytest.fixture
def client(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return server


def only_game(path):
    (game,) = read_games(path)
    return game


# --- moves ---------------------------------------------------------------------------------------------


def test_legal_moves_come_with_what_they_change(client):
    with tab(client) as here:
        here.do("setup", fen="W:W26:B22,14,6")
        (move,) = here.state["legal"]
        assert move == {
            "move": "26x17x10x1",
            "path": [26, 17, 10, 1],
            "captures": [22, 14, 6],
            "changes": {"1": "W", "6": "", "14": "", "22": "", "26": ""},
            "piece": "W",
            "crowned": True,
        }
        here.do("play", move=move["move"])
        assert here.state["pieces"] == {"1": "W"}
        assert here.state["legal"] == []
        assert here.state["outcome"]["winner"] == "white"


@pytest.mark.parametrize("move", ["11-20", "22-18", "99-100", "", "x" * 200, "<b>", "11x18"])
def test_an_illegal_move_is_refused_and_changes_nothing(client, move):
    with tab(client) as here:
        # The server looks for networks when it begins, and a new state says what it found.
        here.wait_for(lambda state: state["analyse"]["player"] != "rollout")
        here.refused("play", move=move)
        here.do("new", black="human", white="human")
        before = here.state
        here.refused("play", move=move)
        here.do("go", node=0)
        assert here.state | {"nodes": None} == before | {"nodes": None}


def test_two_people_play(client):
    with tab(client) as here:
        here.do("new", black="human", white="human", name="Ann  Bee")
        for move in ("11-15", "22 18", "15x22"):
            here.do("play", move=move)
        assert here.moves() == ["11-15", "22-18", "15x22"]
        here.wait_for(lambda state: state["saved"])
        here.do("save")
        game = only_game(here.state["saved"])
        assert [str(each.move) for each in game.moves] == here.moves()
        assert (game.header("Black"), game.header("White"), game.result) == ("Ann Bee", "Ann Bee", "*")
        assert here.do("draw")["accepted"] is True
        assert here.state["result"] == "1/2-1/2"
        here.do("save")
        assert only_game(here.state["saved"]).result == "1/2-1/2"


@pytest.mark.slow
def test_two_passes_end_a_game_of_go(client):
    with tab(client) as here:
        here.do("new", game="go", black="human", white="human")
        for move in ("E5", "pass", "pass"):
            assert [each["move"] for each in here.state["legal"] if not each["path"]] == ["pass"]
            here.do("play", move=move)
        assert here.moves() == ["E5", "pass", "pass"]
        assert here.state["outcome"]["winner"] == "black"
        assert here.state["legal"] == []


def test_a_player_answers_and_the_game_is_saved(client):
    with tab(client) as here:
        here.do("new", black="human", white="random")
        here.do("play", move="11-15")
        state = here.wait_for(lambda state: len(state["line"]) == 3 and not state["thinking"])
        assert state["players"]["white"] == {"spec": "random", "name": "random", "human": False}
        assert state["legal"]
        assert state["turn"] == "black"
        assert Path(here.do("save")["path"]).parent.name == "games"
        assert len(only_game(state["saved"] or here.state["saved"]).moves) == 2


def test_a_player_begins_and_players_play_each_other(client):
    with tab(client) as here:
        here.do("new", black="random", white="human")
        here.wait_for(lambda state: len(state["line"]) == 2)
        here.do("new", black="random", white="alphabeta@1", opening="ballot:3")
        here.wait_for(lambda state: len(state["line"]) > 8)
        here.do("analysis")
        assert here.state["resumable"]


def test_a_person_cannot_move_for_a_player_or_in_the_past(client):
    with tab(client) as here:
        here.do("new", black="human", white="human")
        here.do("play", move="11-15")
        here.do("play", move="22-18")
        here.do("go", node=0)
        assert here.state["legal"] == []
        assert (here.state["node"], here.state["current"]) == (0, 2)
        here.do("play", move="15x22")
        assert here.moves() == ["11-15", "22-18", "15x22"]


def test_players_that_are_not_offered_are_refused(client):
    with tab(client) as here:
        here.do("new", black="human", white="random")
        before = here.state
        for spec in (
            "hub:touch owned",
            "/etc/passwd",
            "../x.ckpt@5",
            "level:99",
            "nobody",
            "",
            "ckai@5s+1s",
            "@",
        ):
            here.refused("new", black="human", white=spec)
        here.do("go", node=0)
        assert here.state["players"] == before["players"]
        assert not Path("owned").exists()


def test_a_player_that_cannot_be_used_says_why(client):
    with tab(client) as here:
        here.do("new", black="level:3@5s", white="human")
        state = here.wait_for(lambda state: state["problem"])
        assert "expected no limit" in state["problem"]
        assert not state["thinking"]


def test_a_player_that_can_be_used_again_has_no_trouble(client, monkeypatch):
    def fails(self, *_, **__):
        raise RuntimeError("no memory")

    with tab(client) as here:
        here.do("new", black="human", white="random")
        with monkeypatch.context() as patch:
            patch.setattr(RandomEngine, "_search", fails)
            here.do("play", move="11-15")
            assert here.wait_for(lambda state: state["problem"])["problem"] == "no memory"
        here.do("undo")
        here.do("play", move="11-15")
        here.wait_for(lambda state: len(state["line"]) == 3 and not state["problem"])


# --- taking back, resigning, time -----------------------------------------------------------------------


def test_moves_are_taken_back_and_played_again(client):
    with tab(client) as here:
        here.do("new", black="human", white="random")
        assert "no move to take back" in here.refused("undo")
        here.do("play", move="11-15")
        here.wait_for(lambda state: len(state["line"]) == 3 and not state["thinking"])
        played = here.moves()
        here.do("undo")
        assert (here.state["current"], here.state["canRedo"], here.state["canUndo"]) == (0, True, False)
        here.do("redo")
        assert here.moves() == played
        assert "no move to play again" in here.refused("redo")
        here.do("undo")
        here.do("play", move="9-14")
        here.wait_for(lambda state: len(state["line"]) == 3 and not state["thinking"])
        here.do("save")
        game = only_game(here.state["saved"])
        assert str(game.moves[0].move) == "9-14"
        assert [str(each.move) for each in game.moves[0].variations[0].moves] == played


def test_a_resignation_is_taken_back_alone(client):
    with tab(client) as here:
        here.do("new", black="human", white="random")
        here.do("play", move="11-15")
        here.wait_for(lambda state: len(state["line"]) == 3 and not state["thinking"])
        here.do("resign")
        assert here.state["outcome"] == {
            "text": "White won: Black resigned (0-1)",
            "result": "0-1",
            "winner": "white",
            "reason": "resigned",
        }
        assert "the game is over" in here.refused("resign")
        assert "the game is over" in here.refused("play", move="9-14")
        here.do("undo")
        assert here.state["outcome"] is None
        assert len(here.moves()) == 2


def test_the_time_runs_out(client):
    with tab(client) as here:
        here.do("new", black="human", white="human", control="300ms")
        assert here.state["clocks"]["running"] == "black"
        assert here.state["clocks"]["control"] == "300ms"
        state = here.wait_for(lambda state: state["outcome"])
        assert state["outcome"]["text"] == "White won: Black is out of time (0-1)"
        assert state["clocks"]["running"] is None


def test_only_moves_that_were_taken_back_are_played_again(client):
    with tab(client) as here:
        here.do("new", black="human", white="human")
        here.do("play", move="11-15")
        here.do("analysis")
        here.do("play", move="22-18", node=1)
        here.do("resume")
        assert not here.state["canRedo"]
        assert "no move to play again" in here.refused("redo")
        here.do("undo")
        here.do("analysis")
        here.do("play", move="9-14", node=0)
        here.do("promote", node=here.state["node"])
        here.do("resume")
        here.do("redo")
        assert here.moves() == ["11-15"]
        here.do("undo")
        here.do("analysis")
        here.do("remove", node=1)
        here.do("resume")
        assert not here.state["canRedo"]


def test_a_rematch_begins_where_the_game_began(client):
    with tab(client) as here:
        here.do("new", black="human", white="human", opening="9-13 21-17")
        assert (here.moves(), here.state["canUndo"], here.state["canRedo"]) == (
            ["9-13", "21-17"],
            False,
            False,
        )
        here.do("play", move="10-15")
        here.do("undo")
        assert (here.moves(), here.state["canUndo"]) == (["9-13", "21-17"], False)
        here.do("resign")
        here.do("rematch", swap=True)
        assert here.moves() == ["9-13", "21-17"]


def test_clocks_stand_still_in_an_analysis_and_without_a_tab(client):
    with tab(client) as here:
        here.do("new", black="human", white="human", control="5m+3s")
        here.do("play", move="11-15")
        assert here.state["clocks"]["running"] == "white"
        assert here.state["clocks"]["black"] > 300
        here.do("analysis")
        assert here.state["clocks"]["running"] is None
        here.do("resume")
        assert here.state["clocks"]["running"] == "white"
        key = here.key
    session = client.server.sessions[key]
    while session.link is not None:
        time.sleep(0.01)
    left = session.table.clock.left("white")
    time.sleep(0.1)
    assert session.table.clock.left("white") == left
    with tab(client, key) as again:
        assert again.state["clocks"]["white"] <= round(left, 2)


def test_games_of_one_table_have_files_of_their_own_once_they_have_a_move(client):
    with tab(client) as here:
        for fields in ({}, {"control": "5m+3s"}):
            here.do("new", black="human", white="human", **fields)
        here.do("resign")
        here.do("rematch", swap=True)
    assert not Path("games").exists()
    with tab(client) as here:
        for move in ("11-15", "9-14"):
            here.do("new", black="human", white="human")
            here.do("play", move=move)
            here.do("save")
    moves = [[str(each.move) for each in only_game(path).moves] for path in sorted(Path("games").iterdir())]
    assert moves == [["11-15"], ["9-14"]]


def test_a_file_that_cannot_be_written_is_told(client):
    Path("games").write_text("in the way")
    with tab(client) as here:
        here.do("new", black="human", white="human")
        here.do("play", move="11-15")
        assert "could not be saved" in here.wait_for(lambda state: state["problem"])["problem"]
        assert "could not be saved" in here.refused("save")
        Path("games").unlink()
        here.do("save")
        assert here.wait_for(lambda state: state["problem"] is None)["saved"]


# --- positions and openings -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"fen": "nonsense"}, "expected B or W"),
        ({"fen": "B:W1:B1"}, "1"),
        ({"pieces": {"33": "b"}}, "33"),
        ({"pieces": {"1": "w"}, "turn": "white"}, "1"),
        ({"fen": "B:W32:B1", "pieces": {}}, "give one"),
        ({"game": "chess"}, "expected one of the games"),
        ({"game": "connect4", "pieces": {"8": "b"}}, "no gap below a stone"),
        ({"game": "tictactoe", "pieces": {"1": "w"}}, "as many stones"),
    ],
)
def test_positions_that_are_none_are_explained(client, fields, text):
    with tab(client) as here:
        before = here.state
        assert text in here.refused("check", **fields)
        assert text in here.refused("setup", **fields)
        here.do("go", node=0)
        meanwhile = {"nodes": None, "analyse": None}  # the network that analyses may be found meanwhile
        assert here.state | meanwhile == before | meanwhile


def test_a_position_is_set_up_and_played(client):
    with tab(client) as here:
        pieces = {"32": "W", "20": "w", "1": "B", "12": "b"}
        assert here.do("check", pieces=pieces, turn="white")["fen"] == "W:W20,K32:BK1,12"
        here.do("setup", pieces=pieces, turn="white")
        assert (here.state["fen"], here.state["turn"]) == ("W:W20,K32:BK1,12", "white")
        here.do("new", black="human", white="human", fen=here.state["fen"])
        assert here.nodes[0]["number"] == ""
        here.do("play", move="32-27")
        assert here.nodes[1]["number"] == "1..."


def test_endgame_tables_have_the_verdict(client):
    with tab(client) as here:
        here.do("setup", fen="B:WK32:BK15,K18")
        here.until("players") if here.state["verdict"] is None else None
        state = here.wait_for(lambda state: state["verdict"])
        assert state["verdict"] == {"black": 1.0, "text": "Black wins in 19 plies"}


@pytest.mark.parametrize(
    ("opening", "moves"),
    [("Cross", ["11-15", "23-18"]), ("9-13 22-18", ["9-13", "22-18"]), ("ballot:1", None), ("ballot", None)],
)
def test_games_begin_with_openings(client, opening, moves):
    with tab(client) as here:
        here.do("new", black="human", white="human", opening=opening)
        assert here.moves() == moves or (moves is None and len(here.moves()) == 3)


# --- analysis -------------------------------------------------------------------------------------------


def test_variations_comments_and_signs_are_kept_in_the_file(client):
    with tab(client) as here:
        first = here.do("play", move="11-15")["node"]
        here.do("play", move="22-18")
        other = here.do("play", move="24-20", node=first)["node"]
        assert here.state["node"] == other
        assert here.nodes[first]["children"] == [2, other]
        here.do("comment", node=other, text=" the  <b>better</b>\nreply } {")
        here.do("nag", node=other, nag=1)
        here.do("comment", node=0, text="Start")
        here.do("promote", node=other)
        assert here.nodes[first]["children"] == [other, 2]
        game = only_game(here.do("save")["path"])
        assert [str(each.move) for each in game.moves] == ["11-15", "24-20"]
        assert game.moves[1].comments == ["the <b>better</b> reply ) {"]
        assert (game.moves[1].nags, game.comments) == ([1], ["Start"])
        assert [str(each.move) for each in game.moves[1].variations[0].moves] == ["22-18"]
        here.do("nag", node=other, nag=1)
        here.do("comment", node=other, text="")
        here.do("remove", node=2)
        assert (here.nodes[other]["nags"], here.nodes[other]["comment"]) == ([], "")
        assert here.nodes.keys() == {0, first, other}
        assert "may be gone" in here.refused("go", node=2)
        assert "first position" in here.refused("remove", node=0)
        assert "first position" in here.refused("nag", node=0, nag=1)


def test_an_analysis_saves_itself_once_there_is_a_variation(client):
    with tab(client) as here:
        here.do("play", move="11-15")
        here.do("play", move="9-14", node=0)
        here.wait_for(lambda state: state["saved"])
    assert len(only_game("games/game-001.pdn").moves[0].variations) == 1


def test_moves_that_were_only_tried_leave_no_file_unless_they_are_saved(client):
    with tab(client) as here:
        here.do("play", move="11-15")
        here.do("setup", fen="W:WK18:BK1")
        here.do("play", move="18-15")
        here.do("go", node=0)
    assert not Path("games").exists()
    with tab(client, here.key) as again:
        assert again.moves() == ["18-15"]
        again.do("save")
        again.do("play", move="1-5", node=1)
    assert len(only_game("games/game-001.pdn").moves) == 2


def test_what_was_changed_is_saved_when_the_tab_goes(client):
    with tab(client) as here:
        here.do("play", move="11-15")
        here.do("comment", node=1, text="just now")
        key = here.key
    assert only_game("games/game-001.pdn").moves[0].comments == ["just now"]
    with tab(client, key) as again:
        assert again.nodes[1]["comment"] == "just now"


def test_a_game_is_interrupted_and_resumed(client):
    with tab(client) as here:
        here.do("new", black="human", white="human")
        here.do("play", move="11-15")
        here.do("play", move="22-18")
        assert "turn to analysis" in here.refused("promote", node=1)
        here.do("analysis")
        here.do("play", move="9-14", node=0)
        assert "cannot be removed" in here.refused("remove", node=1)
        here.do("promote", node=3)
        here.do("resume")
        assert (here.state["mode"], here.state["node"], here.moves()) == ("play", 2, ["11-15", "22-18"])
        here.do("play", move="15x22")
        assert "no unfinished game" in here.refused("resume")
        played = only_game(here.do("save")["path"])
        assert [str(each.move) for each in played.moves] == ["11-15", "22-18", "15x22"]


def test_a_game_goes_on_from_any_position(client):
    with tab(client) as here:
        here.do("play", move="11-15")
        other = here.do("play", move="9-14", node=0)["node"]
        here.do("new", black="human", white="human", node=other)
        here.do("play", move="22-18")
        assert here.moves() == ["9-14", "22-18"]
        assert here.nodes[0]["children"][0] == other


def test_the_analysis_of_a_finished_game_leaves_its_file_as_it_was(client):
    with tab(client) as here:
        here.do("new", black="human", white="human")
        here.do("play", move="11-15")
        here.do("resign")
        path = Path(here.do("save")["path"])
        before = path.read_text()
        here.do("analysis")
        here.do("play", move="24-20")
        other = here.do("save")["path"]
        assert path.read_text() == before
        assert Path(other) != path
        assert len(only_game(other).moves) == 2


def test_another_main_line_of_a_game_without_variations_has_another_file(client):
    with tab(client) as here:
        here.do("setup", game="tictactoe", fen=".../.../...")
        for move in ("1", "2", "3"):
            here.do("play", move=move, node=here.state["node"])
        first = here.do("save")["path"]
        here.do("play", move="5", node=1)
        here.do("promote", node=here.state["node"])
        second = here.do("save")["path"]
        assert first != second
        texts = [Path(path).read_text().split("\n\n")[1].strip() for path in (first, second)]
        assert texts == ["1. 1 2 2. 3 *", "1. 1 5 *"]
        here.do("play", move="9", node=here.state["node"])
        assert here.do("save")["path"] == second


def test_a_player_that_resigns_loses(client, monkeypatch):
    def resigns(self, *_, **__):
        raise ResignsError("random resigns")

    monkeypatch.setattr(RandomEngine, "_search", resigns)
    with tab(client) as here:
        here.do("new", black="human", white="random")
        here.do("play", move="11-15")
        state = here.wait_for(lambda state: state["outcome"])
        assert state["outcome"]["text"] == "Black won: White resigned (1-0)"
        here.do("undo")  # the resignation alone would come again
        assert (here.state["current"], here.state["outcome"]) == (0, None)


def test_other_games_have_variations_but_no_comments(client):
    with tab(client) as here:
        here.do("new", game="connect4", black="human", white="random")
        here.do("play", move="4")
        here.wait_for(lambda state: len(state["line"]) == 3 and not state["thinking"])
        assert (here.state["game"], here.state["fen"].count("/")) == ("connect4", 5)
        assert "no comments" in here.refused("comment", node=1, text="x")
        here.do("save")
        loaded = get_game("connect4").read_game(Path(here.state["saved"]), 1)
        assert list(map(str, loaded.game.moves)) == here.moves()
        here.do("analysis")
        here.do("play", move="1", node=0)
        assert here.nodes[0]["children"] == [1, 3]


# --- files ----------------------------------------------------------------------------------------------


def test_a_tree_is_written_and_read_back_as_it_was():
    (game,) = read_games(io.BytesIO(TEXT.encode()))
    tree = tree_of(game)
    text = pdn_of(tree, tree.root.end(), game.headers, "1-0")
    (again,) = read_games(io.BytesIO(text.encode()))
    copy = tree_of(again)
    assert pdn_of(copy, copy.root.end(), again.headers, "1-0") == text
    for part in ("sharp", "before", "(1. ... 24-20 2. 11-15)", "and\nso on", "(garbage)", "$14", "after"):
        assert re.sub(r"\s", " ", part) in re.sub(r"\s", " ", text)
    assert copy.plain() == tree.plain()


def test_scripts_in_a_file_stay_text(client):
    with tab(client) as here:
        assert here.do("load", text=TEXT, name="<b>.pdn") | {"id": 0} == {
            "type": "done",
            "id": 0,
            "name": "<b>.pdn",
            "count": 1,
            "problems": 0,
        }
        (row,) = here.do("list")["rows"]
        assert row["event"] == "<script>alert(1)</script>"
        assert row["white"] == 'a "b" <img src=x onerror=alert(2)>'
        here.do("open", index=0)
        assert ["Event", "<script>alert(1)</script>"] in here.state["headers"]
        assert here.state["file"] == {"name": "<b>.pdn", "index": 0, "count": 1}
        assert here.do("pdn")["text"].startswith(
            '[Event "<script>alert(1)</script>"]\n[White "a \\"b\\" <img'
        )


def many(count):
    results = ("1-0", "0-1", "1/2-1/2", "*")
    moves = ("11-15", "22-18", "15x22", "25x18")
    return "".join(
        f'[Event "Cup {n % 7}"]\n[Black "Ann {n}"]\n[White "Bob"]\n[Date "20{n % 30:02}.01.01"]\n'
        f'[Result "{results[n % 4]}"]\n\n{" ".join(moves[: n % 5])} {results[n % 4]}\n\n'
        for n in range(count)
    )


def test_a_thousand_games_are_listed_searched_and_opened(client):
    with tab(client) as here:
        begun = time.perf_counter()
        assert here.do("load", text=many(1000), name="many.pdn")["count"] == 1000
        assert time.perf_counter() - begun < 60
        page = here.do("list", offset=990, limit=50)
        assert (page["total"], len(page["rows"]), page["rows"][0]["index"]) == (1000, 10, 990)
        assert here.do("list", query="ann 99 cup")["total"] == 19
        drawn = here.do("list", result="1/2-1/2", limit=200)
        assert drawn["total"] == 250
        assert {row["result"] for row in drawn["rows"]} == {"1/2-1/2"}
        rows = here.do("list", sort="-plies", limit=3)["rows"]
        assert [row["plies"] for row in rows] == [4, 4, 4]
        assert here.do("list", sort="date", limit=1)["rows"][0]["date"] == "2000.01.01"
        assert "expected to sort by" in here.refused("list", sort="problem")
        here.do("open", index=999)
        assert here.moves() == ["11-15", "22-18", "15x22", "25x18"]
        assert here.state["result"] == "*"
        assert "expected game 1 to 1000, found 1001" in here.refused("open", index=1000)
        assert not Path("games").exists()


def test_games_with_errors_are_listed_with_them(client):
    text = '1. 11-15 22-18 8-11 *\n\n[GameType "20"]\n\n1. 32-28 19-23 *\n\n[Result "1-0"]\n\n1. 11-15 1-0\n'
    with tab(client) as here:
        answer = here.do("load", text=text, name="x.pdn")
        assert (answer["count"], answer["problems"]) == (3, 2)
        rows = here.do("list")["rows"]
        assert "'8-11' is illegal" in rows[0]["problem"]
        here.do("open", index=0)
        assert (here.moves(), "'8-11' is illegal" in here.state["problem"]) == (["11-15", "22-18"], True)
        assert "international draughts" in here.refused("open", index=1)
        assert here.moves() == ["11-15", "22-18"]


@pytest.mark.parametrize("text", ["", "no games here {", "\x00" * 100, "[" * 1000, "(" * 5000])
def test_a_text_without_games_is_refused_or_shown_as_problems(client, text):
    with tab(client) as here:
        answer = here.ask("load", text=text, name="x")
        assert answer["type"] == "error" or answer["problems"] == answer["count"]
        assert here.do("ping")


def test_without_a_list_there_is_nothing_to_open(client):
    with tab(client) as here:
        assert "load a file first" in here.refused("list")
        assert "load a file first" in here.refused("open", index=0)


def test_changes_to_a_game_of_a_file_are_saved_beside_it(client):
    with tab(client) as here:
        here.do("load", text=TEXT, name="x.pdn")
        here.do("open", index=0)
        here.do("comment", node=1, text="mine")
        game = only_game(here.do("save")["path"])
        assert game.header("Event") == "<script>alert(1)</script>"
        assert game.moves[0].comments == ["mine"]
        assert (game.result, game.final_comments) == ("1-0", ["after"])


# --- the table without a server ---------------------------------------------------------------------------


def test_the_file_of_a_game_is_that_of_the_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = Table("key", CHECKERS)
    tree = Tree(CHECKERS)
    table.begin(tree, {side: Seat("human", "human") for side in SIDES}, "5m+3s", tree.root)
    table.play(tree.root.position.find_move("11-15"))
    (game,) = read_games(io.BytesIO(table.pdn().encode()))
    assert write_game(game) == table.pdn()
    names = [name for name, _ in game.headers]
    assert names == ["Event", "Date", "Black", "White", "TimeControl", "Result", "GameType"]
