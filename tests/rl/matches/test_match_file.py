"""`ckai match -o FILE.pdn`: games are kept when they end, and a match continues from those in the file."""

import io
import json
from pathlib import Path

import pytest

from ckai.cli import match as module
from ckai.models.checkpoint import save_checkpoint
from ckai.models.network import build
from ckai.pdn import read_games
from ckai.rl.engine.alphabeta import RandomEngine
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.matches import match as matches
from ckai.rl.matches.match import match_pdn, play_match, read_match_games
from ckai.rl.matches.openings import draw_openings

PLAYERS = ("alphabeta@1", "random")


@pytest.fixture
def play(ckai, tmp_path):
    """Play a match whose games are in `games.pdn`: exit status, output, error."""

    def run(*arguments, players=PLAYERS):
        return ckai("match", *players, "-o", tmp_path / "games.pdn", *arguments)

    return run


def interrupt_after(monkeypatch, games):
    append, written = matches.append_game, []

    def stopping(path, text):
        append(path, text)
        written.append(text)
        if len(written) == games:
            raise KeyboardInterrupt

    monkeypatch.setattr(matches, "append_game", stopping)


def rounds(tmp_path):
    return [game.header("Round") for game in read_games(tmp_path / "games.pdn")]


def test_an_interrupted_match_shows_its_result_and_continues(play, ckai, tmp_path, monkeypatch):
    whole = json.loads(ckai("match", *PLAYERS, "--games", 24, "--json")[1])
    with monkeypatch.context() as patch:
        interrupt_after(patch, 5)
        status, out, err = play("--games", 24)
    assert (status, err.strip()) == (130, "ckai: stopped")
    ended = rounds(tmp_path)
    assert 5 <= len(ended) < 24
    assert "alphabeta@1" in out
    assert f"{len(ended)} games" in out
    status, out, err = play("--games", 24, "--json")
    assert (status, json.loads(out)) == (0, whole)
    assert f"games.pdn: {len(ended)} games of alphabeta@1 against random; continuing" in err
    assert rounds(tmp_path)[: len(ended)] == ended
    assert len(set(rounds(tmp_path))) == len(rounds(tmp_path)) == 24


def test_a_decided_match_stays_decided(play, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "IN_FLIGHT", 4)
    play("--games", 200, "--sprt", 0, 100)
    decided = rounds(tmp_path)
    assert len(decided) < 200
    status, out, _ = play("--games", 200, "--sprt", 0, 100)
    assert (status, rounds(tmp_path)) == (0, decided)
    assert "alphabeta@1 is better" in out


@pytest.mark.parametrize(
    ("arguments", "players"),
    [
        (("--seed", 1), PLAYERS),
        (("--openings", "random"), PLAYERS),
        ((), PLAYERS[::-1]),
    ],
)
def test_games_of_other_matches_do_not_count(play, tmp_path, arguments, players):
    play("--games", 2)
    status, out, _ = play("--games", 2, *arguments, "--json", players=players)
    assert (status, json.loads(out)["games"], len(rounds(tmp_path))) == (0, 2, 4)


def test_a_network_that_has_changed_is_another_player(play, tmp_path):
    path = tmp_path / "net.ckpt"
    for count in (2, 4):
        save_checkpoint(path, build("mlp", {"hidden": 4}))
        assert play("--games", 2, "--evaluator", "torch", players=(f"{path}@policy", "random"))[0] == 0
        assert len(rounds(tmp_path)) == count


def test_a_round_robin_continues_and_takes_another_player(play, tmp_path):
    play("--games", 4)
    status, out, err = play("--games", 4, "--json", players=(*PLAYERS, "alphabeta@2"))
    assert (status, len(json.loads(out)["players"]), len(rounds(tmp_path))) == (0, 3, 12)
    assert "4 games of alphabeta@1 against random" in err


def test_damaged_games_are_named_and_cut_off_ones_played_again(play, tmp_path):
    play("--games", 4)
    path = tmp_path / "games.pdn"
    text = path.read_text()
    path.write_text(text.rstrip()[:-30])
    assert play("--games", 4)[0] == 0
    assert text.split("\n\n")[-2] in path.read_text()
    path.write_text(text.replace(" 2. ", " 2. 1-32 ", 1))
    status, _, err = play("--games", 4)
    assert status == 1
    assert "games.pdn: expected the games of this match, found a damaged one, of round" in err


def test_a_full_disk_leaves_whole_games(play, tmp_path, monkeypatch):
    path, real = tmp_path / "games.pdn", Path.open

    class Full(io.FileIO):
        """On a disk with little room, which takes a part of what is written."""

        def write(self, data):
            return super().write(data[: max(0, 4096 - self.tell())])

    def open_file(self, *mode, **more):
        return Full(self, "ab+") if self == path and mode == ("ab+",) else real(self, *mode, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_file)
        status, _, err = play("--games", 24)
    assert (status, "No space left on device" in err) == (1, True)
    assert 0 < len(rounds(tmp_path)) < 24
    assert all(game.problem is None and game.result for game in read_games(path))
    play("--games", 24)
    assert len(set(rounds(tmp_path))) == len(rounds(tmp_path)) == 24


def test_games_are_read_as_they_were_played(tmp_path):
    openings, path = draw_openings(3, 0), tmp_path / "games.pdn"
    result = play_match(RandomEngine(), RandomEngine(), openings, max_plies=40)
    path.write_text(2 * match_pdn(result, "a", "b", DEFAULT_GAME))
    again = read_match_games(path, openings, DEFAULT_GAME)
    assert [(g.pair, g.a_black, g.game.moves, g.outcome) for g in again] == [
        (g.pair, g.a_black, g.game.moves, g.outcome) for g in result.games
    ]
    assert len(read_match_games(path, openings[:1], DEFAULT_GAME)) == 2
