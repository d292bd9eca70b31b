"""The server of the board: who may speak to it, legal moves, searches, files; it keeps no game."""

import json
import time
from pathlib import Path

import pytest
from board_tab import HOME, HOST, ask, refused, serving, tab
from starlette.websockets import WebSocketDisconnect

from ckai.game import Game
from ckai.rl.engine.alphabeta import FULL_LEVEL

SAMPLE = Path(__file__).parents[2] / "data" / "sample.pdn"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("board")) as client:
        yield client


# --- who may speak -------------------------------------------------------------------------------------


def test_the_page_comes_with_headers_that_let_nothing_else_run(client):
    page = client.get("/")
    policy = dict(each.split(" ", 1) for each in page.headers["content-security-policy"].split("; "))
    assert (page.status_code, policy["default-src"]) == (200, "'none'")
    assert policy["script-src"] == policy["style-src"] == policy["worker-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "piece-b" in page.text
    assert "javascript" in client.get("/static/main.js").headers["content-type"]


@pytest.mark.parametrize("host", ["evil.example:8000", "127.0.0.1.evil.example", "", "localhost@x"])
def test_other_hosts_are_refused(client, host):
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 400
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:8001", "null", "", "http://["])
def test_another_origin_searches_nothing_and_writes_nothing(client, origin):
    headers = {"host": HOST, "origin": origin}
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws", headers=headers):
        pass


def test_the_token_begins_every_address_and_does_not_replace_the_origin(tmp_path):
    with serving(tmp_path, token="secret") as client:
        for path in ("/", "/static/main.js", "/site.json", "/guess/"):
            assert client.get(path).status_code == 404
        for path in ("/secret/", "/secret/static/main.js", "/secret/site.json"):
            assert client.get(path, headers={"host": "here.example:8000"}).status_code == 200
        evil = {"host": HOST, "origin": "http://evil.example"}
        for path, headers in (("/ws", HOME), ("/secret/ws", evil)):
            with pytest.raises(WebSocketDisconnect), client.websocket_connect(path, headers=headers):
                pass


# --- hostile messages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "Expecting value"),
        ("[" * 100_000, "recursion"),
        ('{"kind": "analyse"}', "id"),
        ('{"id": 1, "kind": "rm"}', "expected one of players, "),
        ('{"id": 1, "kind": "ask", "lines": 0}', "lines: expected greater than or equal to 1, found 0"),
        ('{"id": 1, "kind": "ask", "more": 1}', "more"),
        ('{"id": 1, "kind": "ask", "game": "chess"}', "expected one of the games"),
        ('{"id": 1, "kind": "play", "engine": "/etc/passwd"}', "expected one of"),
        ('{"id": 1, "kind": "play", "engine": "hub:sh -c true"}', "expected one of"),
        ('{"id": 1, "kind": "ask", "start": "W:W13:B6,9"}', "the game is over"),
        ('{"id": 1, "kind": "legal", "moves": ["1-2"]}', "1-2"),
        ('{"id": 1, "kind": "legal", "pieces": {"99": "b"}}', "99"),
        ('{"id": 1, "kind": "save", "text": "*"}', "missing 1 required positional argument: 'game'"),
        ('{"id": 1, "kind": "save", "game": "checkers", "text": "1. 1-2 *"}', "1-2"),
        ('{"id": 1, "kind": "pdn", "text": "nothing"}', "expected games in PDN, found none"),
        ('{"id": 1, "kind": "read", "text": ""}', "expected game 1, found no such game"),
    ],
)
def test_a_message_that_cannot_be_used_is_answered_in_one_line(client, text, line):
    with tab(client) as here:
        here.socket.send_text(text)
        answer = here.socket.receive_json()
        while not answer.get("final"):
            answer = here.socket.receive_json()
        assert line in answer["error"]
        assert "\n" not in answer["error"]
        here.socket.send_bytes(b"\0")
        assert "Expecting value" in here.socket.receive_json()["error"]
        assert here.find("ask", engine="uniform", visits=5)["visits"] >= 5


@pytest.mark.parametrize("name", ["../secret.pdn", "nope.pdn", "game-001.txt", "\0.pdn"])
def test_only_saved_games_are_opened(client, name):
    Path("secret.pdn").write_text("1. 11-15 *")
    assert "expected a file of games/" in refused(client, "game", name=name, number=1)


# --- the rules -----------------------------------------------------------------------------------------


def test_legal_moves_come_with_what_they_change(client):
    found = ask(client, "legal", start="B:W6,14,15:B2,9")
    assert found["turn"] == "black"
    (move,) = [each for each in found["legal"] if each["path"][:2] == [9, 18]]
    assert (move["changes"]["9"], move["changes"]["14"]) == ("", "")
    found = ask(client, "legal", pieces={"25": "b", "5": "w"}, black=True)["legal"]
    assert {each["move"]: each["changes"] for each in found} == {
        "25-29": {"25": "", "29": "B"},
        "25-30": {"25": "", "30": "B"},
    }


@pytest.mark.slow
def test_no_move_is_legal_when_the_game_is_over(client):
    over = ask(client, "legal", game="go", moves=["E5", "pass", "pass"])
    assert (over["legal"], over["outcome"]["result"]) == ([], "1-0")


# --- searches ------------------------------------------------------------------------------------------


def test_players_are_offered_with_levels_by_name(client):
    offered = ask(client, "players")
    levels = [each for each in offered["players"] if each["group"] == "level"]
    assert [each["level"] for each in levels] == list(range(1, FULL_LEVEL + 1))
    assert (levels[0]["name"], levels[-1]["name"]) == ("Level 1, beginner", "Level 16, full strength")
    games = {each["game"] for each in offered["players"]}
    assert games == {each["name"] for each in client.get("/site.json").json()["games"]}


def test_an_analysis_grows_until_it_is_stopped_and_gives_way_to_a_move(client):
    with tab(client) as here, tab(client) as other:
        number = here.send("analyse", engine="uniform", lines=3, moves=["11-15"])
        first = here.until(number, lambda message: message.get("visits"))
        assert here.until(number, lambda message: message.get("visits", 0) > first["visits"])
        assert len(first["lines"]) == 3
        assert other.find("players")["players"]
        assert here.until(number, lambda message: message.get("visits", 0) > first["visits"])
        assert other.find("play", engine="level:1")["lines"][0]["pv"]
        assert here.until(number, lambda message: message.get("visits", 0) > first["visits"])
        assert other.find("ask", engine="rollout", visits=5)["visits"] >= 5
        newer = other.send("analyse", engine="uniform", moves=["11-15", "23-19"])
        assert other.until(newer, lambda message: message.get("lines"))["lines"][0]["pv"][0]["path"]
        other.send("stop")  # no such search: nothing happens
        other.socket.send_json({"kind": "now", "id": newer})
        assert other.until(newer)["visits"] > 0
        here.socket.send_json({"kind": "stop", "id": number})


def test_the_search_of_a_tab_that_goes_ends(client):
    with tab(client) as here:
        asked = here.send("ask", engine="uniform", seconds=200)  # gives way to nothing
        here.until(asked, lambda message: message.get("lines"))
    with tab(client) as other:
        begun = time.monotonic()
        assert other.find("ask", engine="uniform", visits=10)
        assert time.monotonic() - begun < 20


def test_every_value_is_the_expected_score_of_black(client):
    with tab(client) as here:
        for start, move in (("B:W18,19:B11,10,9,8,7,6,5,3,2,1", 1), ("W:W32,31,30,29,28,27,26:B11,10", 0)):
            found = here.find("ask", start=start, seconds=0.5, lines=3)
            assert abs(found["lines"][0]["value"] - move) < 0.25
            better = [line["value"] for line in found["lines"]]
            assert better == sorted(better, reverse=move == 1)
        won = here.find("ask", start="W:WK18,K15:BK1", seconds=1, lines=2)["lines"][0]
        assert (won["proven"], won["value"]) == ("win", 0.0)


def test_a_player_moves_within_its_clock_and_resigns_or_fails_in_a_line(client):
    with tab(client) as here:
        moved = here.find("play", engine="level:7", moves=["11-15"], clock=5.0)
        assert moved["lines"][0]["pv"][0]["move"] in {
            str(move) for move in Game.from_pdn("1. 11-15 *").position.legal_moves()
        }
        assert "expected one clock" in here.refused("play", engine="level:7@5m")


@pytest.mark.slow
def test_a_move_is_explained_and_the_network_looked_into(client):
    with tab(client) as here:
        text = here.find("explain", moves=["11-15", "23-19", "8-11"])["text"]
        assert "8-11" in text[0]
        assert "first position" in here.refused("explain")
        seen = here.find("inside", engine="ckai", visits=32)
        assert {len(values) for values in seen["planes"].values()} == {32}
        assert 0 < seen["before"] < 1
        assert sum(seen["priors"].values()) == pytest.approx(1, abs=0.01)
        assert sum(seen["shares"].values()) == pytest.approx(1)


# --- files ---------------------------------------------------------------------------------------------


def save(client, text, **fields):
    return ask(client, "save", **{"game": "checkers", "text": text, **fields})["name"]


def test_a_game_is_saved_listed_and_opened_again(client):
    tags = '[Event "E"]\n[Black "human"]\n[White "level 7"]\n[Result "1-0"]\n\n'
    text = tags + "1. 11-15 {why} (1. 9-13 22-18) 23-19 1-0\n\n"
    name = save(client, text)
    longer = text.replace("23-19 1-0", "23-19 2. 8-11 1-0")
    assert save(client, longer, before=text, name=name) == name
    other = save(client, text, before="another text", name=name)  # what it holds is not what is replaced
    assert (Path("games", name).read_text(), Path("games", other).read_text()) == (longer, text)
    assert save(client, text, before="1", name="../secret.pdn") not in (name, other)
    rows = {row["file"]: row for row in ask(client, "games")["rows"]}
    row = rows[name]
    assert (row["white"], row["result"], row["plies"]) == ("level 7", "1-0", 3)
    assert row["opening"].startswith("Old Faithful")
    game = ask(client, "game", name=name, number=1)
    assert [move["move"] for move in game["line"]] == ["11-15", "23-19", "8-11"]
    assert game["line"][0]["comments"] == ["", "why"]
    assert [move["move"] for move in game["line"][0]["variations"][0]["line"]] == ["9-13", "22-18"]
    assert game["text"] == longer


def test_games_of_another_kind_are_saved_and_opened(client):
    text = '[Black "X"]\n[White "O"]\n[Result "*"]\n[Game "tictactoe"]\n\n1. 5 1 2. 2 *\n\n'
    name = save(client, text, game="tictactoe")
    row = next(row for row in ask(client, "games")["rows"] if row["file"] == name)
    assert (row["game"], row["black"], row["plies"]) == ("tictactoe", "X", 3)
    assert ask(client, "game", name=name, number=1)["line"][0]["path"]


def test_a_file_that_cannot_be_written_is_told(client, tmp_path):
    with serving(tmp_path) as other:
        Path("games").write_text("in the way")
        assert "games" in refused(other, "save", game="checkers", text="1. 11-15 *")


def test_a_thousand_games_are_listed_and_read_one_by_one(client):
    broken = b'[Event "<script>"]\n[Black "A"]\n\n1. 11-15 {<b>bold</b>} 1-2 *\n'
    body = SAMPLE.read_bytes() + broken
    rows = ask(client, "pdn", text=body.decode())["rows"]
    assert len(rows) > 20
    assert (rows[-1]["event"], rows[-1]["plies"]) == ("<script>", 1)
    for n in (0, 7, len(rows) - 2):
        found = ask(client, "read", text=body[rows[n]["start"] : rows[n + 1]["start"]].decode())
        assert (len(found["line"]), found["result"]) == (rows[n]["plies"], rows[n]["result"])
    last = ask(client, "read", text=body[rows[-1]["start"] :].decode())
    assert ("<b>bold</b>" in last["line"][0]["comments"], "1-2" in last["problem"]) == (True, True)
    json.dumps(last)
