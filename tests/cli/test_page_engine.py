"""The engine in the page: rules, values and searches equal Python's; needs Node."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from positions import short

from ckai.cli.web.engine_file import engine_file
from ckai.game import Game, Position, PositionError, perft
from ckai.models import load_network
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl import Limit
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.engine.alphabeta import LEVELS, AlphaBetaEngine, level_policy, move_values
from ckai.rl.evaluators.loading import move_priors

SOURCES = Path(__file__).parents[2] / "cli" / "web" / "static" / "engine"
TRICKY = (
    "B:W6,7,14,15:BK2",
    "B:W6,7,14,15:B2",
    "B:W6,7,8,14,15,16,22,23,24:BK2",
    "W:W31,30,26,22:BK7,12,13,K18",
    "B:W25,26,17,18,9,10:BK29,22",
)
FENS = """B:W18,24,K10:B1-12|W:WK18:BK1:H17|b:wk5:bk1:h7|[FEN "W:W18:B4"]|"W:W18:B4."| W : W18 , 20 : B4
W:W1 8:B4|W:W18:B18|W:W3:B1|X:W1:B2|W:W18:B4:H32768|B:B1-12:W21-32:F3:H2|W:W:B18|W:W18
B:W18:W4|B:W40:B1|B:W5-3:B1|W:BK1-3:W20|B::B1|B:W20-32:B1|B:W1:B5|B:WK1,:B32|B:W:B||B"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A static site of the engine alone."""
    folder = tmp_path_factory.mktemp("engine")
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "index.html").write_text("<!doctype html><title>Engine</title>")
    for name in ("ckai", "human"):
        (folder / f"{name}.bin").write_bytes(engine_file(name))
    return folder


@pytest.fixture(scope="module")
def node(folder):
    if shutil.which("node") is None:
        pytest.skip("there is no Node")

    def run(script, given=None):
        """What the script makes of `given`, by the modules of the engine."""
        modules = "".join(
            f'import * as {name} from "{(folder / name).as_uri()}.js";'
            for name in ("rules", "network", "search", "levels")
        )
        begin = """
            import { readFileSync } from "fs";
            const load = (file) => network.loadNetwork(
              `data:application/octet-stream;base64,${readFileSync(file).toString("base64")}`);
            const last = (steps) => {
              for (;;) { const step = steps.next(); if (step.done) return step.value; }
            };
            const given = JSON.parse(readFileSync(0));
            const answer = await (async () => {"""
        source = f"{modules}{begin}{script}\n}})(); console.log(JSON.stringify(answer));"
        command = ["node", "--input-type=module", "-e", source]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, cwd=folder)
        assert not done.stderr, done.stderr
        return json.loads(done.stdout)

    return run


def random_games(number, plies=300):
    chance = random.Random(number)
    for _ in range(number):
        game = Game()
        while not game.is_game_over() and len(game.moves) < plies:
            game.push(chance.choice(game.legal_moves()))
        yield game


def test_perft(node):
    places = [Position.start().fen, *TRICKY]
    counts = node(
        """const count = (position, depth) => rules.legalMoves(position).reduce(
             (sum, move) => sum + (depth > 1 ? count(rules.play(position, move), depth - 1) : 1), 0);
           return given.map((fen) => [1, 2, 3].map((n) => count(rules.parseFen(fen), n)));""",
        places,
    )
    assert counts == [[perft(Position.from_fen(fen), depth) for depth in range(1, 4)] for fen in places]


def test_random_games_are_those_of_python(node):
    games = list(random_games(6))
    found = node(
        """return given.map((moves) => {
             let position = rules.startPosition();
             const game = [position], seen = [];
             for (const text of [...moves, null]) {
               const legal = rules.legalMoves(position), ended = rules.result(game);
               const again = rules.parseFen(rules.fen(position)).key === position.key;
               const same = rules.fromPieces(rules.pieces(position), position.black).key === position.key;
               seen.push([rules.fen(position), legal.map((move) => [move.text, move.captured]),
                 again && same, ended && [ended.text, ended.result]]);
               if (text) game.push(position = rules.play(position, rules.findMove(position, text)));
             }
             return seen;
           });""",
        [
            [short(m) if p.is_legal(short(m)) else str(m) for p, m in zip(game.positions, game, strict=False)]
            for game in games
        ],
    )
    for game, seen in zip(games, found, strict=True):
        wanted = [
            [p.fen, [[str(move), list(move.captured)] for move in p.legal_moves()], True, None]
            for p in game.positions
        ]
        wanted[-1][-1] = [str(game.outcome()), game.result()]
        assert seen == wanted


def test_fens_are_read_and_refused_as_by_python(node):
    def read(text):
        try:
            return Position.from_fen(text).fen
        except PositionError as error:
            return str(error)

    fens = FENS.replace("\n", "|").split("|")
    found = node(
        """return given.map((text) => {
             try { return rules.fen(rules.parseFen(text)); } catch (error) { return error.message; }
           });""",
        fens,
    )
    assert found == [read(text) for text in fens]


@pytest.mark.parametrize("name", ["ckai", "human"])
def test_values_and_logits_are_equal_to_the_bit(node, name):
    evaluator = IntegerEvaluator(network := load_network(name))
    boards = network.encode.sample(1500, np.random.default_rng(1))
    legal = network.encode.legal_mask(boards)
    logits, values = evaluator.evaluate(boards)

    def squares(row, wanted):
        return sum(1 << int(i) for i in np.flatnonzero(wanted(row[:32])))

    given = [
        [
            squares(row, lambda r: r > 0),
            squares(row, lambda r: r < 0),
            squares(row, lambda r: abs(r) == 3),
            int(row[32]) + 1,
            np.flatnonzero(allowed).tolist(),
        ]
        for row, allowed in zip(boards, legal, strict=True)
    ]
    found = node(
        f"""const net = await load("{name}.bin");
            return given.map(([own, opp, kings, jumper, actions], n) => [
              net.evaluate(own | 0, opp | 0, kings | 0, jumper, n % 3 === 0),
              ...actions.map((action) => net.logit(action))]);""",
        given,
    )
    wanted = [[float(v), *map(float, row[mask])] for v, row, mask in zip(values, logits, legal, strict=True)]
    assert found == wanted


@pytest.fixture(scope="module")
def evaluator():
    return IntegerEvaluator(load_network("ckai"))


@pytest.mark.slow
def test_searches_are_those_of_alpha_beta(node, evaluator):
    """From an empty table: moves, values, lines, and the number of positions searched."""
    engine, chance, given, wanted = AlphaBetaEngine(evaluator), random.Random(2), [], []
    limits = [{"depth": depth} for depth in range(1, 8)] + [{"nodes": 1000}]
    for game in random_games(30):
        for _ in range(chance.randrange(1, len(game.moves))):
            game.pop()
        given.append([[position.fen for position in game.history], game.position.fen])
        for limit in limits:
            engine.new_game()
            found = engine.play(game, Limit(**limit))
            assert found.depth is not None
            pv = [str(move) for move in found.pv]
            wanted.append([found.depth, found.nodes, float(found.value), found.plies, pv])
    found = node(
        """const net = await load("ckai.bin");
           return given[0].flatMap(([history, fen]) => given[1].map((limit) => {
             search.forget();
             const { depth, nodes, lines: [{ value, plies, pv }] } = last(
               search.search(net, rules.parseFen(fen), history.map(rules.parseFen), limit, 5));
             return [depth, nodes, value, plies, pv];
           }));""",
        [given, limits],
    )
    assert found == wanted


@pytest.mark.slow
def test_levels_play_as_in_python(node, evaluator):
    people = IntegerEvaluator(load_network("human"))
    games = list(random_games(6, 21))
    found = node(
        """const net = await load("ckai.bin"), people = await load("human.bin");
           return given.map((fens) => [2, 6].map((level) => {
             search.forget();
             return last(levels.levelWeights(people, net, fens.map(rules.parseFen), net.levels[level]));
           }));""",
        [[position.fen for position in game.positions] for game in games],
    )
    for game, both in zip(games, found, strict=True):
        for number, weights in zip((2, 6), both, strict=True):
            values = (
                move_values(AlphaBetaSearch(evaluator), game, LEVELS[number].depth) if number > 3 else None
            )
            policy = level_policy(LEVELS[number], move_priors(people, game.position)[0], values)
            total = sum(weight for _, weight in weights)
            assert {text: weight / total for text, weight in weights} == pytest.approx(
                {str(move): p for move, p in policy.items()}, abs=1e-4
            )
