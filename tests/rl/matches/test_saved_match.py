"""`ckai match --save`: an interrupted match goes on, grows, and is not mixed with another one."""

import io
import json
from pathlib import Path

import pytest

from ckai.cli.strength import match as module
from ckai.game import Game
from ckai.models.checkpoint import save_checkpoint
from ckai.models.registry import build
from ckai.pdn import read_games
from ckai.rl.loop.saved_games import SavedMatch
from ckai.rl.matches.match import MatchGame

PLAYERS = ("alphabeta@1", "random")


@pytest.fixture
def play(ckai, tmp_path):
    """Play a match that is saved in `match.json`: exit status, output, error."""

    def run(*arguments, players=PLAYERS):
        return ckai("match", *players, "--save", tmp_path / "match.json", *arguments)

    return run


def interrupt_after(monkeypatch, games, error=KeyboardInterrupt):
    add = module._LiveTable.add

    def add_or_stop(screen, game):
        add(screen, game)
        if len(screen.result.games) == games:
            raise error

    monkeypatch.setattr(module._LiveTable, "add", add_or_stop)


def saved_games(tmp_path):
    return json.loads((tmp_path / "match.json").read_text())["games"]


def test_an_interrupted_match_shows_its_result_and_goes_on(play, ckai, tmp_path, monkeypatch):
    whole = json.loads(ckai("match", *PLAYERS, "--games", 24, "--json")[1])
    with monkeypatch.context() as patch:
        interrupt_after(patch, 5)
        status, out, err = play("--games", 24, "--pdn", tmp_path / "games.pdn")
    assert (status, err.strip()) == (130, "ckai: stopped")
    ended = saved_games(tmp_path)
    assert 5 <= len(ended) < 24
    assert "alphabeta@1" in out
    assert f"{len(ended)} games" in out
    status, out, _ = play("--games", 24, "--pdn", tmp_path / "games.pdn", "--json")
    assert (status, json.loads(out)) == (0, whole)
    assert len(list(read_games(tmp_path / "games.pdn"))) == len(saved_games(tmp_path)) == 24
    assert [game for game in saved_games(tmp_path) if game in ended] == ended


def test_an_error_of_a_player_costs_no_game(play, tmp_path, monkeypatch):
    interrupt_after(monkeypatch, 3, OSError("the program has ended"))
    status, out, err = play("--games", 24)
    assert (status, err.strip()) == (1, "ckai: error: the program has ended")
    assert f"{len(saved_games(tmp_path))} games" in out


def test_a_match_may_get_more_games(play, tmp_path):
    assert play("--games", 4)[0] == 0
    before = saved_games(tmp_path)
    status, out, _ = play("--games", 10, "--json")
    assert (status, json.loads(out)["games"]) == (0, 10)
    assert saved_games(tmp_path)[:4] == before
    status, _, err = play("--games", 2)
    assert (status, len(saved_games(tmp_path))) == (1, 10)
    assert "expected at most 2 games" in err
    assert "use --games 10 or more" in err


def test_a_decided_match_stays_decided(play, tmp_path):
    play("--games", 200, "--in-flight", 4, "--sprt", 0, 100)
    decided = saved_games(tmp_path)
    assert len(decided) < 200
    status, out, _ = play("--games", 200, "--in-flight", 4, "--sprt", 0, 100)
    assert (status, saved_games(tmp_path)) == (0, decided)
    assert "alphabeta@1 is better" in out


@pytest.mark.parametrize(
    ("arguments", "players", "message"),
    [
        (("--seed", 1), PLAYERS, "expected a match with seed 1, found one with 0"),
        (("--max-plies", 50), PLAYERS, "max_plies 50, found one with 300"),
        ((), PLAYERS[::-1], "players ['random', 'alphabeta@1'], found one with ['alphabeta@1', 'random']"),
    ],
)
def test_other_matches_are_refused(play, tmp_path, arguments, players, message):
    play("--games", 2)
    before = saved_games(tmp_path)
    status, _, err = play("--games", 2, *arguments, players=players)
    assert (status, saved_games(tmp_path)) == (1, before)
    assert message in err
    assert "choose another --save" in err


def test_a_network_that_has_changed_is_another_player(play, tmp_path):
    path = tmp_path / "net.ckpt"
    players = (f"{path}@policy", "random")
    for status in (0, 1):
        save_checkpoint(path, build("mlp", {"hidden": 4}))
        code, _, err = play("--games", 2, "--evaluator", "torch", players=players)
        assert code == status
    assert "expected a match with networks" in err


def test_the_networks_of_levels_are_of_the_match(play, tmp_path, monkeypatch):
    players = ("level:1", "random")
    assert play("--games", 2, players=players)[0] == 0
    monkeypatch.setattr("ckai.rl.leases.lease.hash_of", lambda data: "another")  # after an update of ckai
    status, _, err = play("--games", 4, players=players)
    assert status == 1
    assert "expected a match with networks" in err


def test_a_long_game_is_written_when_it_ends(tmp_path, monkeypatch):
    """Also if another one ended shortly before: writing takes no time to speak of."""
    now = [1000.0]
    monkeypatch.setattr("ckai.rl.loop.saved_games.time.monotonic", lambda: now[0])
    saved = SavedMatch(tmp_path / "match.json", {})
    for pair, later in enumerate((600, 2)):
        now[0] += later
        saved.add(MatchGame(pair, True, Game(), None))
        assert [game["pair"] for game in saved_games(tmp_path)] == list(range(pair + 1))


@pytest.mark.parametrize("content", ["notes", "[]", "{}", '{"match": 1, "games": [3]}', '{"match": {}}'])
def test_what_is_no_match_stays_as_it_is(play, tmp_path, content):
    (tmp_path / "match.json").write_text(content)
    status, _, err = play("--games", 2)
    assert (status, (tmp_path / "match.json").read_text()) == (1, content)
    assert "expected a match saved by ckai match" in err


def test_damaged_moves_are_refused(play, tmp_path):
    play("--games", 2)
    path = tmp_path / "match.json"
    path.write_text(path.read_text().replace('"moves": ["', '"moves": ["1-32", "', 1))
    damaged = path.read_text()
    status, _, err = play("--games", 2)
    assert (status, path.read_text()) == (1, damaged)
    assert "expected the games of this match, found damaged ones" in err


def test_games_that_are_lost_with_a_kill_are_in_the_pdn_once(play, tmp_path, monkeypatch):
    pdn = tmp_path / "games.pdn"
    with monkeypatch.context() as patch:
        interrupt_after(patch, 5)
        # A kill: nothing is written after the beginning.
        patch.setattr(SavedMatch, "write", lambda saved: None)
        play("--games", 24, "--pdn", pdn)
    assert not pdn.exists()
    (tmp_path / "match.json").unlink(missing_ok=True)
    play("--games", 24, "--pdn", pdn)
    rounds = [(game.header("Round"), game.header("Black")) for game in read_games(pdn)]
    assert len(rounds) == len(set(rounds)) == 24


def test_games_that_a_full_disk_kept_out_of_the_pdn_are_in_it_later(play, tmp_path, monkeypatch):
    pdn, real = tmp_path / "games.pdn", Path.open

    class Full(io.FileIO):
        """On a disk with little room, which takes a part of what is written."""

        def write(self, data):
            return super().write(data[: max(0, 4096 - self.tell())])

    def open_file(self, *mode, **more):
        return Full(self, "ab") if self == pdn and mode == ("ab",) else real(self, *mode, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_file)
        status, _, err = play("--games", 24, "--pdn", pdn)
    assert (status, "No space left on device" in err) == (1, True)
    assert 0 < len(list(read_games(pdn))) < 24
    assert all(game.problem is None and game.result for game in read_games(pdn))
    play("--games", 24, "--pdn", pdn)
    rounds = [(game.header("Round"), game.header("Black")) for game in read_games(pdn)]
    assert len(rounds) == len(set(rounds)) == 24


def test_the_pdn_is_another_file_than_the_saved_match(play, tmp_path):
    status, _, err = play("--games", 2, "--pdn", tmp_path / "match.json")
    assert (status, "expected another file than --save" in err) == (2, True)
    assert not (tmp_path / "match.json").exists()
