"""Searches of the board: one at a time, reported while they grow, stopped at once; questions they answer."""

import threading
import time

import pytest
from board_tab import serving, serving_in, tab
from make_rows import random_games, write

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.web.searches import Job, Priority, SearchScheduler

PLAIN = {"player": "uniform"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving_in(tmp_path_factory.mktemp("board")) as client:
        yield client


# --- the queue -------------------------------------------------------------------------------------------


class Work:
    """Work that goes on until it is stopped."""

    def __init__(self, log, name):
        self.log, self.name, self.begun, self.end = log, name, threading.Event(), threading.Event()

    def __call__(self, job):
        self.log.append(self.name)
        self.end.clear()
        job.stop.attach(self.end.set)
        self.begun.set()
        assert self.end.wait(20)


@pytest.fixture
def searches():
    ended = []
    made = SearchScheduler(ended.append)
    made.seen = ended
    yield made
    made.close()


def test_an_analysis_gives_way_and_goes_on(searches):
    log = []
    long, short = Work(log, "analysis"), Work(log, "move")
    analysis = searches.submit(Job(Priority.ANALYSIS, long, preemptible=True))
    assert long.begun.wait(20)
    long.begun.clear()
    move = searches.submit(Job(Priority.MOVE, short))
    assert short.begun.wait(20)
    assert not analysis.ended.is_set()
    searches.cancel(move)
    assert move.ended.wait(20)
    assert long.begun.wait(20)
    searches.cancel(analysis)
    assert analysis.ended.wait(20)
    assert log == ["analysis", "move", "analysis"]


def test_a_search_that_has_not_begun_yet_hears_of_its_end(searches):
    begun, end = threading.Event(), threading.Event()

    def work(job):
        begun.set()
        time.sleep(0.05)  # asked to stop meanwhile
        job.stop.attach(end.set)
        assert end.wait(20)

    job = searches.submit(Job(Priority.MOVE, work))
    assert begun.wait(20)
    searches.cancel(job)
    assert job.ended.wait(20)


def test_an_error_ends_a_job_and_not_the_searches(searches):
    def fails(job):
        raise ValueError("no")

    job = searches.submit(Job(Priority.MOVE, fails))
    assert job.ended.wait(20)
    assert str(job.error) == "no"
    after = searches.submit(Job(Priority.MOVE, lambda job: None))
    assert after.ended.wait(20)


def test_a_program_that_cannot_be_stopped_any_more_does_not_keep_others_from_it(searches):
    begun, asked = threading.Event(), threading.Event()

    def died():
        asked.set()
        raise BrokenPipeError("gone")

    def work(job):
        job.stop.attach(died)
        begun.set()
        assert asked.wait(20)

    first = searches.submit(Job(Priority.MOVE, work))
    assert begun.wait(20)
    searches.cancel(first)
    assert first.ended.wait(20)
    long = Work([], "long")
    second = searches.submit(Job(Priority.MOVE, long))
    assert long.begun.wait(20)
    searches.cancel(second)
    assert second.ended.wait(20)


# --- an analysis -----------------------------------------------------------------------------------------


def analysed(here, node):
    return here.until("search", lambda message: message["node"] == node)


def test_an_analysis_grows_until_it_is_stopped(client):
    with tab(client) as here:
        here.do("analyse", on=True, lines=2, **PLAIN)
        first = analysed(here, 0)
        later = here.until("search", lambda message: message["visits"] > first["visits"])
        assert (first["player"], first["final"], len(first["lines"]), len(first["priors"])) == (
            "uniform",
            False,
            2,
            7,
        )
        assert later["lines"][0]["pv"][0]["changes"]
        assert 0 <= later["black"] <= 1
        begun = time.perf_counter()
        here.do("stop")
        ends = [message for message in here.news if message["type"] == "search" and message["final"]]
        last = ends[0] if ends else here.until("search", lambda message: message["final"])
        assert time.perf_counter() - begun < 5
        assert last["reason"] == "stopped"
        assert here.state["analyse"]["on"] is False


def test_an_analysis_follows_the_node_shown(client):
    with tab(client) as here:
        here.do("analyse", on=True, lines=1, **PLAIN)
        analysed(here, 0)
        node = here.do("play", move="11-15")["node"]
        assert analysed(here, node)["lines"][0]["move"] in {step["move"] for step in here.state["legal"]}
        here.do("go", node=0)
        analysed(here, 0)
        here.do("analyse", on=False)


def test_a_proof_ends_an_analysis(client):
    with tab(client) as here:
        here.do("setup", fen="W:WK18,K15:BK4")
        here.do("analyse", on=True, **PLAIN)
        last = here.until("search", lambda message: message["final"])
        assert (last["proven"], last["plies"], last["reason"], last["black"]) == ("win", 3, "proven", 0.0)
        here.do("setup", fen="B:W18:B14,1")
        here.do("play", move="14x23")
        assert here.state["legal"] == []
        assert here.do("ping")


def test_only_networks_that_are_offered_analyse(client):
    with tab(client) as here:
        assert "expected one of ckai, small, rollout, uniform for Checkers" in here.refused(
            "analyse", on=True, player="../x.ckpt"
        )
        assert here.state["analyse"]["on"] is False


def test_every_game_has_the_network_that_was_chosen_for_it(client):
    with tab(client) as here:
        here.do("analyse", on=False, player="ckai")
        here.do("new", game="tictactoe", black="human", white="human")
        assert here.state["analyse"]["player"] == "rollout"
        here.do("analyse", on=False, player="uniform")
        here.do("new", game="checkers", black="human", white="human")
        assert here.state["analyse"]["player"] == "ckai"


def test_an_analysis_gives_way_to_the_move_of_another_table(client):
    with tab(client) as one, tab(client) as other:
        one.do("analyse", on=True, lines=1, **PLAIN)
        analysed(one, 0)
        other.do("new", black="human", white="uniform@200")
        other.do("play", move="11-15")
        other.wait_for(lambda state: len(state["line"]) == 3)
        seen = len(one.news)
        one.until("search", lambda message: not message.get("waiting"))
        assert len(one.news) > seen
        one.do("stop")


def test_the_search_of_a_tab_that_goes_ends(client):
    with tab(client) as here:
        here.do("analyse", on=True, **PLAIN)
        analysed(here, 0)
        running = client.server.searches._running
        assert running is not None
    assert running.ended.wait(20)
    assert running.cancelled


def test_a_player_moves_at_once_when_it_is_told_to(client):
    with tab(client) as here:
        here.do("new", black="human", white="uniform@1000000s")
        here.do("play", move="11-15")
        here.wait_for(lambda state: state["thinking"])
        here.do("stop")
        here.wait_for(lambda state: len(state["line"]) == 3)
        assert here.state["legal"]


def test_a_player_searches_anew_in_a_game_that_begins_where_it_thinks(client):
    with tab(client) as here:
        players = {"black": "human", "white": "uniform@1000000s"}
        here.do("new", **players)
        here.do("play", move="11-15")
        session = client.server.sessions[here.key]
        before = session._move[1]
        here.do("new", **players, node=1)
        assert session._move[1] is not before
        assert before.cancelled
        here.do("new", black="human", white="human")


def test_a_move_that_is_taken_back_is_not_answered(client):
    with tab(client) as here:
        here.do("new", black="human", white="uniform@1000000s")
        here.do("play", move="11-15")
        here.do("undo")
        assert not here.state["thinking"]
        here.do("new", black="human", white="human")
        here.do("play", move="9-14")
        assert here.moves() == ["9-14"]


# --- questions -------------------------------------------------------------------------------------------


def test_a_hint_is_a_legal_move(client):
    with tab(client) as here:
        here.do("analyse", on=False, **PLAIN)
        hint = here.do("hint")
        assert hint["move"] in {step["move"] for step in here.state["legal"]}
        assert 0 <= hint["black"] <= 1
        here.do("setup", fen="W:W13:B6,9")
        assert "the game is over here" in here.refused("hint")


def test_a_draw_is_declined_by_who_is_better(client):
    with tab(client) as here:
        here.do("analyse", on=False, **PLAIN)
        here.do("new", black="human", white="random", fen="B:WK18,K15,K22:BK4")
        assert here.do("draw")["accepted"] is False
        assert here.state["outcome"] is None
        here.do("new", black="human", white="random", fen="W:WK32:BK18,K15,K4")
        here.do("analysis")
        assert "when it is your turn" in here.refused("draw")


def test_the_curve_has_a_value_for_every_node(client):
    with tab(client) as here:
        here.do("analyse", on=False, **PLAIN)
        here.do("setup", fen="B:W18,32:B14,1")
        for move in ("14x23", "32-28", "1-5"):
            here.do("play", move=move)
        assert here.do("curve", visits=10)["nodes"] == 4
        here.until("values", lambda message: message["left"] == 0)
        points = [p for message in here.news if message["type"] == "values" for p in message["points"]]
        assert sorted(point["node"] for point in points) == [0, 1, 2, 3]
        assert all(0 <= point["black"] <= 1 for point in points)


def test_a_move_is_explained(client):
    with tab(client) as here:
        here.do("analyse", on=False, **PLAIN)
        here.do("play", move="11-15")
        lines = here.do("explain")["lines"]
        assert lines[:2] == ["11-15 by Black, ply 1", "opening: Old Faithful"]
        assert "first position" in here.refused("explain", node=0)


def test_what_experts_played(tmp_path, monkeypatch):
    path = tmp_path / "experts.parquet"
    write(path, random_games(20))
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path, experts=ExpertMoves(path, "checkers")) as client, tab(client) as here:
        found = here.do("experts")
        assert found["source"] == path.name
        assert found["total"] == sum(row["times"] for row in found["rows"]) > 0
        assert all(row["score"] is None or 0 <= row["score"] <= 1 for row in found["rows"])
        here.do("new", game="connect4", black="human", white="human")
        assert here.do("experts")["source"] is None


def test_without_a_data_set_no_experts(client):
    with tab(client) as here:
        assert here.do("experts") == here.news[-1]
        assert here.news[-1]["source"] is None


# --- look inside -----------------------------------------------------------------------------------------


def test_what_a_network_sees(client):
    with tab(client) as here:
        here.do("play", move="11-15")
        found = here.do("look", visits=50)
        assert (found["player"], found["encoding"]) == ("ckai", "pieces-1")
        planes = {
            plane["name"]: dict(zip(found["squares"], plane["values"], strict=True))
            for plane in found["planes"]
        }
        for name, letter in (("own men", "w"), ("other men", "b")):
            squares = {int(square) for square, piece in here.state["pieces"].items() if piece == letter}
            assert {square for square, value in planes[name].items() if value == 1} == squares
        assert sum(move["before"] for move in found["moves"]) == pytest.approx(1, abs=0.01)
        assert sum(move["after"] for move in found["moves"]) == pytest.approx(1, abs=0.01)
        assert [point["visits"] for point in found["growth"]] == sorted(
            point["visits"] for point in found["growth"]
        )
        assert found["growth"][0]["visits"] == 16
        filters = found["filters"]
        assert (filters["kind"], len(filters["items"]), len(filters["items"][0])) == ("squares", 32, 5)
        assert found["value"]["blackAfter"] == pytest.approx((1 - found["value"]["after"]) / 2, abs=0.001)


def test_a_search_without_a_network_has_no_planes(client):
    with tab(client) as here:
        here.do("new", game="tictactoe", black="human", white="human")
        found = here.do("look", visits=100)
        assert (found["player"], found["planes"], found["filters"]) == ("rollout", [], None)
        assert len(found["moves"]) == 9
        here.do("analyse", on=True)
        first = here.until("search")
        assert first["lines"][0]["pv"][0]["piece"] == "b"
        assert here.until("search")["visits"] > first["visits"]
