"""The server of the board: who may speak to it, and what it makes of messages that it cannot use."""

import json
from pathlib import Path

import pytest
from board_tab import HOME, HOST, ORIGIN, Tab, serving, serving_in, tab
from starlette.websockets import WebSocketDisconnect

from ckai.cli.web import tab_session
from ckai.cli.web.messages import MAX_CHARACTERS, read_message
from ckai.cli.web.players import PlayerCatalog
from ckai.cli.web.searches import Job, Priority
from ckai.rl.engine.levels import FULL_LEVEL


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving_in(tmp_path_factory.mktemp("board")) as client:
        yield client


# --- files ---------------------------------------------------------------------------------------------


def test_the_page_comes_with_headers_that_let_nothing_else_run(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(each.split(" ", 1) for each in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "piece-b" in page.text


def test_files_of_the_page_are_served(client):
    for name, kind in (
        ("board.css", "text/css"),
        ("board.js", "javascript"),
        ("main.js", "javascript"),
        ("icon.svg", "image/svg+xml"),
    ):
        answer = client.get(f"/static/{name}")
        assert (answer.status_code, kind in answer.headers["content-type"]) == (200, True)
        assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/static/app.py",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/main.py",
        "/static//etc/passwd",
        "/static/",
        "/games/game-001.pdn",
        "/app.py",
    ],
)
def test_no_other_file_is_served(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_nothing_can_be_sent_to_the_page(client, method):
    assert getattr(client, method)("/").status_code == 405


# --- who may speak -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "a b", "localhost@x"]
)
def test_other_hosts_are_refused(client, host):
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 400
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST:99", "[::1]:8000"])
def test_names_of_this_machine_are_let_in(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:8001",
        "null",
        "",
        "file://",
        f"{ORIGIN}.evil.example",
        "http://[",
    ],
)
def test_a_socket_from_another_origin_is_refused(client, origin):
    headers = {"host": HOST, "origin": origin}
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws", headers=headers):
        pass


def test_a_socket_to_another_host_is_refused(client):
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("/ws", headers={"host": "evil.example", "origin": "http://evil.example"}),
    ):
        pass


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("guarded"), token="secret") as client:
        yield client


def test_without_the_token_nothing_is_served(guarded):
    for address in ("/", "/?token=", "/?token=secre", "/?token=secret2", "/static/board.js?token=x"):
        guarded.cookies.clear()
        assert guarded.get(address).status_code == 403
    guarded.cookies.clear()
    with pytest.raises(WebSocketDisconnect), guarded.websocket_connect("/ws", headers=HOME):
        pass
    wrong = {**HOME, "cookie": "ckai-board-8000=wrong"}
    with pytest.raises(WebSocketDisconnect), guarded.websocket_connect("/ws", headers=wrong):
        pass


def test_the_token_of_the_address_becomes_a_cookie(guarded):
    guarded.cookies.clear()
    answer = guarded.get("/?token=secret", headers={"host": "box.example:8000"})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert cookie == "ckai-board-8000=secret; Path=/; HttpOnly; SameSite=Strict"
    guarded.cookies.clear()
    headers = {**HOME, "cookie": "other=1; ckai-board-8000=secret"}
    with guarded.websocket_connect("/ws", headers=headers) as socket:
        assert Tab(socket).key


def test_the_token_does_not_replace_the_origin(guarded):
    headers = {"host": HOST, "origin": "http://evil.example", "cookie": "ckai-board-8000=secret"}
    with pytest.raises(WebSocketDisconnect), guarded.websocket_connect("/ws", headers=headers):
        pass


def test_a_cookie_that_cannot_be_read_is_none(guarded):
    guarded.cookies.clear()
    headers = {"host": HOST, "cookie": ';;=";ckai-board-8000'}
    assert guarded.get("/", headers=headers).status_code == 403


# --- messages ------------------------------------------------------------------------------------------


def test_the_first_message_must_be_hello(client):
    with client.websocket_connect("/ws", headers=HOME) as socket:
        socket.send_json({"type": "ping", "id": 3})
        answer = socket.receive_json()
        assert (answer["type"], answer["id"]) == ("error", 3)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 4001


def test_what_is_no_message_is_answered_and_changes_nothing(client):
    with tab(client) as here:
        before = here.state
        for text in ("", "[]", "5", "{", "null", "[" * 100_000, '{"type":5}', '{"type":"nope"}', "\x00"):
            here.socket.send_text(text)
            assert here.until("error")["id"] is None
        here.socket.send_bytes(b"{}")
        assert here.until("error")["id"] is None
        assert here.do("ping")
        here.do("go", node=0)
        assert here.state | {"nodes": None} == before | {"nodes": None}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"type": "go"}, "node: missing required"),
        ({"type": "go", "node": "0"}, "node: input should be a valid integer, found '0'"),
        ({"type": "go", "node": True}, "node: input should be a valid integer"),
        ({"type": "go", "node": -1}, "node: input should be greater than or equal to 0"),
        ({"type": "go", "node": 1e400}, "node: input should be a valid integer"),
        ({"type": "go", "node": 0, "x": 1}, "x: unexpected keyword argument"),
        ({"type": "ping", "x": 1}, "x: unexpected"),
        ({"type": "analyse", "on": 1}, "on: input should be a valid boolean"),
        (
            {"type": "analyse", "on": True, "lines": 11},
            "lines: input should be less than or equal to 10",
        ),
        ({"type": "setup", "pieces": {"a": "b"}}, "pieces.a"),
        ({"type": "setup", "pieces": {"1": "x"}}, "pieces.1"),
        ({"type": "setup", "pieces": ["b"]}, "pieces"),
        ({"type": "setup", "turn": "red"}, "turn: input should be 'black' or 'white'"),
        ({"type": "play", "move": "1" * 300}, "move: string should have at most 200 characters"),
        ({"type": "comment", "node": 0, "text": "\ud800"}, "text"),
        ({"type": "comment", "node": 0, "text": "x" * MAX_CHARACTERS}, "expected at most 65,536 characters"),
        ({"type": "nope"}, "expected one of the messages new, rematch"),
        ({"type": "run"}, "expected one of the messages new, rematch"),
    ],
)
def test_a_wrong_field_is_named(client, message, text):
    with tab(client) as here:
        assert text in here.refused(message["type"], **{k: v for k, v in message.items() if k != "type"})


@pytest.mark.parametrize("number", ["x", -1, 1.5, True, None, [], 2**60])
def test_a_number_that_is_none_is_left_out(number):
    assert read_message(json.dumps({"type": "ping", "id": number})).id is None


# --- tables --------------------------------------------------------------------------------------------


def test_two_tabs_have_two_tables(client):
    with tab(client) as one, tab(client) as other:
        assert one.key != other.key
        one.do("play", move="11-15")
        other.do("play", move="9-14")
        assert (one.moves(), other.moves()) == (["11-15"], ["9-14"])
        other.do("go", node=0)
        assert one.state["node"] == 1


def test_a_table_is_found_again(client):
    with tab(client) as here:
        here.do("play", move="11-15")
        here.do("comment", node=1, text="Old Faithful")
        key = here.key
    with tab(client, key) as again:
        assert again.hello["fresh"] is False
        assert again.key == key
        assert again.moves() == ["11-15"]
        assert again.nodes[1]["comment"] == "Old Faithful"


def test_an_unknown_key_leads_to_a_new_table(client):
    with tab(client, "guess") as here:
        assert here.hello["fresh"] is True
        assert here.key != "guess"


def test_a_table_opened_elsewhere_is_closed_here(client):
    with client.websocket_connect("/ws", headers=HOME) as first:
        one = Tab(first)
        with tab(client, one.key) as other:
            assert one.until("closed")["text"] == "this game was opened in another tab"
            with pytest.raises(WebSocketDisconnect) as closed:
                first.receive_json()
            assert closed.value.code == 4000
            other.do("play", move="11-15")


def test_the_welcome_says_what_there_is(client):
    with tab(client) as here:
        welcome = here.news[0]
        assert welcome["type"] == "welcome"
        games = {game["name"]: game for game in welcome["games"]}
        assert set(games) >= {"checkers", "connect4", "tictactoe"}
        board = games["checkers"]
        assert board["start"]["pieces"]["1"] == "b"
        assert board["layout"]["cells"]["1"] == [0, 1]
        assert len(board["layout"]["squares"]) == 32
        assert board["abilities"]["annotations"]
        assert not games["connect4"]["abilities"]["annotations"]
        assert games["connect4"]["columnMoves"]
        assert not board["columnMoves"]
        players = welcome["players"] or here.until("players")["players"]
        assert {"random", "ckai@0.5s"} <= {player["spec"] for player in players}
        levels = [player["spec"] for player in players if player["group"] == "levels"]
        assert levels == [f"level:{number}" for number in range(1, FULL_LEVEL + 1)]


def test_a_tab_is_told_after_its_answer_that_no_players_were_found(tmp_path, monkeypatch):
    def fails(players):
        raise ValueError("damaged")

    monkeypatch.setattr(PlayerCatalog, "find", fails)
    with serving(tmp_path) as client:
        client.portal.call(client.server.load)
        client.server.searches.submit(last := Job(Priority.QUESTION, lambda job: None))
        assert last.ended.wait(60)
        with tab(client) as here:
            kinds = [message["type"] for message in here.news]
            assert kinds[:4] == ["welcome", "done", "status", "state"]
            assert here.news[2]["text"] == "no players can be loaded: damaged"
            assert here.news[2]["ready"] is False


def test_the_table_without_a_tab_for_longest_makes_room_and_its_game_stays(client, monkeypatch):
    with tab(client) as first:
        first.do("play", move="12-16")
        first.do("comment", node=1, text="not lost")
    with tab(client) as second:
        second.do("ping")
    monkeypatch.setattr(tab_session, "MAX_TABLES", len(client.server.sessions))
    oldest = min(client.server.sessions.values(), key=lambda session: session.left_at)
    with tab(client) as third:
        assert third.key in client.server.sessions
        assert oldest.table.key not in client.server.sessions
        with monkeypatch.context() as patch:
            patch.setattr(tab_session, "MAX_TABLES", 0)
            for session in list(client.server.sessions.values()):
                if session.link is None:
                    del client.server.sessions[session.table.key]
            with client.websocket_connect("/ws", headers=HOME) as socket:
                socket.send_json({"type": "hello"})
                assert "close one" in socket.receive_json()["text"]
    texts = [path.read_text() for path in Path("games").iterdir()]
    assert any("not lost" in text for text in texts)
