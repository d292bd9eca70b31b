"""Matches between all players, and `ckai match`."""

import json
import random

import pytest

from ckai.cli import match as module
from ckai.cli.match import print_pair
from ckai.game import Game, Position, Reason
from ckai.models.checkpoint import save_checkpoint
from ckai.models.network import build
from ckai.models.pretrained import PRETRAINED
from ckai.pdn import read_games
from ckai.rl.engine.alphabeta import MaterialEngine, RandomEngine
from ckai.rl.engine.base import Engine, ResignsError
from ckai.rl.engine.limit import ALPHA_BETA, GTP, HUB, LEVEL, PLAYER_FORMS, EngineText, Limit
from ckai.rl.engine.loading import game_of
from ckai.rl.engine.tree import TreeEngine, by_visits
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.checkers import VALUES, balanced_openings
from ckai.rl.games.registry import get_game
from ckai.rl.matches.match import FORCED, MatchGame, MatchResult, play_match
from ckai.rl.matches.openings import draw_openings


def slow_value(position, depth):
    """Minimax without cuts over whole moves, captures played out."""
    moves = position.legal_moves()
    if not moves:
        return -VALUES.loss - depth
    if position.halfmove_clock >= 80:
        return 0
    if depth <= 0 and not moves[0].is_capture:
        own, opp, kings = position.own, position.opp, position.kings
        crowned = (own & kings).bit_count() - (opp & kings).bit_count()
        return VALUES.man * (own.bit_count() - opp.bit_count()) + (VALUES.king - VALUES.man) * crowned
    return max(-slow_value(position.push(move), depth - 1) for move in moves)


def test_alpha_beta_finds_what_minimax_finds():
    rng, engine = random.Random(0), MaterialEngine(seed=0)
    for _ in range(20):
        game = Game()
        for _ in range(rng.randrange(5, 60)):
            if game.outcome() is None:
                game.push(rng.choice(game.position.legal_moves()))
        if game.outcome() is None:
            for depth in (1, 2, 3):
                slow = {m: -slow_value(game.position.push(m), depth - 1) for m in game.legal_moves()}
                best = {move for move, value in slow.items() if value == max(slow.values())}
                assert {engine.play(game, Limit(depth=depth)).move for _ in range(4 * len(best))} <= best


def test_the_openings_of_the_ballot():
    assert len(balanced_openings()) == 174
    assert balanced_openings(0) == (Position.start(),)
    drawn = draw_openings(174, seed=1)
    assert len({p.key for p in drawn}) == 174
    assert draw_openings(20, 1) == drawn[:20] != draw_openings(20, 2)
    more = draw_openings(400, 1)  # then those of four plies
    assert more[:174] == drawn
    assert len({position.key for position in more}) == 400


def test_a_resignation_ends_its_game_alone():
    openings = draw_openings(3, 0)

    class Resigning(RandomEngine):
        def _search(self, task):
            if task.game.positions[0] == openings[0]:
                raise ResignsError
            return super()._search(task)

    result = play_match(Resigning(), RandomEngine(), openings, threads=1)
    assert [game.reason is Reason.RESIGNED for game in result.games] == [True] * 2 + [False] * 4
    assert result.lost_by(Reason.RESIGNED) == (2, 0)


def test_games_depend_on_the_seed_and_nothing_else():
    def moves(threads, in_flight, seed):
        openings = draw_openings(6, 0)
        result = play_match(
            RandomEngine(),
            by_visits(load_evaluator("rollout"), 20),
            openings,
            threads=threads,
            in_flight=in_flight,
            seed=seed,
        )
        assert [(g.pair, g.a_black) for g in result.games] == [
            (n, b) for n in range(6) for b in (True, False)
        ]
        return [[str(m) for m in game.game.moves] for game in result.games]

    games = moves(1, 12, 5)
    assert moves(2, 1, 5) == moves(2, 3, 5) == games
    assert moves(1, 100, 6) != games


def test_a_search_by_time_plays_one_board_at_a_time_and_spends_none_on_forced_moves():
    limits = []

    class Timed(RandomEngine):
        default_limit, takes = Limit(seconds=1), frozenset(("seconds",))

        def _search_many(self, tasks):
            (task,) = tasks
            limits.append((len(task.game.position.legal_moves()) == 1, task.limit == FORCED))
            return super()._search_many(tasks)

    play_match(Timed(), RandomEngine(), draw_openings(2, 0))
    assert set(limits) == {(True, True), (False, False)}
    engine = TreeEngine(UniformEvaluator(), nodes=1000)
    engine.limit = Limit(seconds=0.005)
    assert engine.by_time
    assert len(play_match(engine, RandomEngine(), draw_openings(2, 0), max_plies=30).games) == 4


def test_texts_of_engines():
    assert EngineText.read("a.ckpt@400") == EngineText("a.ckpt@400", "a.ckpt", Limit(visits=400))
    assert EngineText.read("a.ckpt@0.5s") == EngineText("a.ckpt@0.5s", "a.ckpt", Limit(seconds=0.5))
    assert EngineText.read("a.ckpt@50ms") == EngineText("a.ckpt@50ms", "a.ckpt", Limit(seconds=0.05))
    assert EngineText.read("a@b.ckpt@policy") == EngineText("a@b.ckpt@policy", "a@b.ckpt", policy=True)
    assert EngineText.read("hub:prog --x=1") == EngineText("hub:prog --x=1", "hub:prog --x=1")
    assert EngineText.read("hub:prog -x@2") == EngineText("hub:prog -x@2", "hub:prog -x", Limit(depth=2))
    assert EngineText.read("a.ckpt@60s").limit == Limit(seconds=60)
    assert EngineText.read("a.ckpt@5m").limit == Limit(clock=300)
    assert EngineText.read("runs@40/best.ckpt").limit is None  # a file
    assert Engine.load("uniform@60s+0.6s").limit == Limit(clock=60, increment=0.6)
    for text in ("alphabeta@d3", "alphabeta@3", "alphabeta:ckai@d3", "uniform@d3"):
        assert Engine.load(text).limit == Limit(depth=3)
    assert Engine.load("uniform@7").limit == Limit(visits=7)


def test_alpha_beta_with_a_network(tmp_path):
    save_checkpoint(tmp_path / "swift.ckpt", build("swift", {"hidden": 8, "narrow": 4, "narrowest": 4}))
    save_checkpoint(tmp_path / "mlp.ckpt", build("mlp", {"hidden": 4}))
    spec = f"alphabeta:{tmp_path / 'swift.ckpt'}"
    for backend in ("integers", "torch"):  # the backend of other engines
        assert Engine.load(f"{spec}@20ms", evaluator=backend).limit == Limit(seconds=0.02)
    deep = Engine.load(f"{spec}@3", threads=1)
    assert deep.limit == Limit(depth=3)
    assert game_of([spec]) == "checkers"
    for text, message in (
        (f"alphabeta:{tmp_path / 'mlp.ckpt'}@20ms", "expected a network of architecture swift, found mlp"),
        (f"{spec}@policy", "expected a network with @policy"),
    ):
        with pytest.raises(ValueError, match=message):
            Engine.load(text)
    result = play_match(deep, RandomEngine(), draw_openings(2, 0), threads=1)
    assert len(result.games) == 4
    assert all(game.outcome is not None or len(game.game.moves) >= 300 for game in result.games)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "empty"),
        ("alphabeta@0.2s", "expected depth after alphabeta, found @0.2s"),
        ("uniform@60s+x", "such as 5m\\+3s"),
        ("uniform@0s+1s", "a time above 0"),
        ("random@5m", "expected no limit"),
        ("alphabeta@5m+1s", "expected depth after alphabeta"),
        ("rollout@policy", "expected a network with @policy"),
        ("uniform@0s", "above 0"),
        ("uniform@" + "9" * 5000, "from 1 to 2,147,483,647"),
        ("hub:", "^expected hub:COMMAND, found 'hub:' without a command$"),
        ("x@", "seconds such as 0.5s, a clock such as 60s\\+0.6s, or policy, not ''"),
        ("alphabeta:nothing.ckpt", "no file nothing.ckpt"),
        ("tests", "found no file tests/best.ckpt"),
    ],
)
def test_texts_that_name_no_engine(name, message):
    with pytest.raises(ValueError, match=message) as found:
        Engine.load(name)
    assert "\n" not in str(found.value)


def test_the_help_has_every_form_of_a_player(ckai):
    _, out, _ = ckai("match", "--help")
    for form, meaning in PLAYER_FORMS.items():
        assert any(line.startswith(f"    {form} ") and line.endswith(meaning) for line in out.splitlines())
    for form in PLAYER_FORMS:
        who, names = EngineText.read(form).who, ("rollout", "uniform", "alphabeta", "random", "perfect")
        assert who in (*names, "best.ckpt", *PRETRAINED) or who.startswith((HUB, GTP, ALPHA_BETA, LEVEL))


def test_the_table_fits_on_a_screen_and_keeps_its_figures(monkeypatch, capsys):
    monkeypatch.setattr("ckai.cli.shared.console.PIPE_COLUMNS", 80)
    long = "hub:/usr/games/a-program --with many --options of --all kinds --and more@0.5s"
    games = [MatchGame(0, black, Game(Position.from_fen("W:W32:B1")), None) for black in (True, False)]
    print_pair(MatchResult(games), (long, "random"), None, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    figures = [line for line in lines if "50.0%" in line]
    assert len(figures) == 2
    assert all(" to " in line for line in figures)


def test_games_are_not_appended_to_a_network(tmp_path, ckai):
    network = tmp_path / "net.pdn"
    network.write_bytes(b"PK\0\1weights")
    status, _, err = ckai("match", "random", "random", "--games", 2, "-o", network)
    assert (status, network.read_bytes()) == (1, b"PK\0\1weights")
    assert "expected a PDN file to append games to" in err
    open_end = tmp_path / "open.pdn"
    open_end.write_text('[Event "mine"]\n\n1. 11-15 *')
    assert ckai("match", "random", "random", "--games", 2, "-o", open_end)[0] == 0
    assert [len(game.moves) > 1 for game in read_games(open_end)] == [False, True, True]
    status, _, err = ckai("match", "random", "random", "-o", open_end / "x.pdn")
    assert (status, "[Errno" in err) == (1, False)


def test_the_command(tmp_path, ckai, monkeypatch):
    def run(*arguments):
        return ckai("match", *arguments)

    path = tmp_path / "new" / "games.pdn"
    status, out, _ = run("alphabeta@2", "random", "--games", 8, "-o", path, "--json")
    result = json.loads(out)
    assert status == 0
    assert result["games"] == 8 == result["wins"] + result["draws"] + result["losses"]
    assert (result["wins"], result["elo"], result["interval"][1]) == (8, None, None)
    assert 0 < result["interval"][0] < 1000
    games = list(read_games(path))
    assert len(games) == 8
    status, out, _ = run("alphabeta@2", "random", "--games", 4)
    assert status == 0
    assert "alphabeta@2" in out
    monkeypatch.setattr(module, "IN_FLIGHT", 8)
    status, out, _ = run("alphabeta@3", "random", "--games", 400, "--sprt", 0, 60)
    assert "alphabeta@3 is better" in out
    assert int(out.split(" games, ")[0].split()[-1]) < 400
    assert run("random", "random", "--games", 3)[0] == 2
    assert run("random", "random", "--sprt", 10, 5)[0] == 1
    assert run("random", "alphabeta@2", "alphabeta@1", "--sprt", 0, 5)[0] == 2
    assert run("random")[0] == 2
    assert run("random", "nobody")[0] == 1


def uniform(spec):
    return by_visits(UniformEvaluator(spec.num_actions), 4, spec=spec)


@pytest.mark.parametrize(("name", "other"), [("checkers", uniform), ("connect4", RandomEngine)])
def test_an_illegal_move_names_the_engine_and_the_place(name, other):
    class Illegal(Engine):
        def _search(self, task):
            return 99

    spec, bad = get_game(name), Illegal()
    bad.spec = spec
    with pytest.raises(RuntimeError, match=r"engine B, opening 1, ply \d+: expected one of .*, found 99$"):
        play_match(other(spec), bad, list(spec.openings()[:1]), threads=1, spec=spec)
