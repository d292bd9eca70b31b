"""Alpha-beta with a network: the value of plain minimax, the rules of the game, and its limits."""

import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from ckai.datasets.tables import Tables
from ckai.game import Game, Position
from ckai.models.inference.evaluator import pack_positions
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.network import build
from ckai.rl.alphabeta.kernel import VALUE_SCALE, Constants
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.engine.alphabeta import AlphaBetaEngine, whole_moves
from ckai.rl.engine.base import StopReason
from ckai.rl.engine.limit import Limit
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.checkers import SPEC, pack
from ckai.rl.games.connect4 import Connect4

POSITIONS = [
    Position.start().fen,
    "B:W18,22,23,24,25,26,27,28,30,31,32:B1,2,3,5,6,7,8,9,10,11,12",
    "W:WK18,26,31:B5,9,K11,12",
    "B:W14,K3:B5,6,K29",
]


@pytest.fixture(scope="module")
def evaluator():
    torch.manual_seed(5)
    network = build("swift", {"hidden": 32, "narrow": 8, "narrowest": 8}).eval()
    with torch.no_grad():
        for weights in network.parameters():
            weights.mul_(3.0)
    network.clip_weights()
    return IntegerEvaluator(network)


def minimax(evaluator, position, depth, plies=0):
    """The score of a position for the side to move, by the definition: every move, no bounds, no table."""
    moves = position.legal_moves()
    if not moves:
        return -(30_000 - plies)
    captures = any(move.is_capture for move in moves)
    if depth <= 0 and not captures:
        value = evaluator.evaluate(pack_positions([position]))[1][0]
        return int(VALUE_SCALE * float(value))
    scores = []
    for move in moves:
        alone = captures and sum(other.actions[:-1] == move.actions[:-1] for other in moves) == 1
        left = max(depth, 0) - (0 if alone else 1)
        scores.append(-minimax(evaluator, position.push(move), left, plies + 1))
    return max(scores)


@pytest.mark.parametrize("fen", ["B:WK17,12,K7,28:B4,11", "B:WK31,K4,24,28:BK30,14"])
def test_an_unfinished_depth_proves_no_loss(evaluator, fen):
    """Its first move may lose by force where others, not searched yet, do not."""
    search, state = AlphaBetaSearch(evaluator), pack(Position.from_fen(fen))
    assert search.search(state, depth=7).plies is None
    for nodes in range(20, 60):
        search.forget()
        assert search.search(state, nodes=nodes).plies is None, nodes


@pytest.mark.parametrize("fen", POSITIONS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_value_is_that_of_minimax(evaluator, fen, depth):
    position = Position.from_fen(fen)
    # A table of one entry remembers nothing of use, so that no deeper score takes the place of a shallower.
    full_width = Constants(full_depth_moves=1000, static_depth=0, internal_depth=1000)
    search = AlphaBetaSearch(evaluator, entries=1, constants=full_width)
    result = search.search(pack(position), depth=depth)
    wanted = minimax(evaluator, position, depth)
    if abs(wanted) >= 20_000:
        assert result.plies == 30_000 - abs(wanted)
    else:
        assert result.value == pytest.approx(wanted / VALUE_SCALE)
    assert result.depth <= depth


def test_the_table_changes_no_win(evaluator):
    position = Position.from_fen("W:WK18,K15:BK4")
    for entries in (1, 1 << 16):
        result = AlphaBetaSearch(evaluator, entries=entries).search(pack(position), depth=8)
        assert (result.value, result.plies) == (1.0, 3)


def test_lost_games_are_made_long(evaluator):
    tables = Tables.open(3)
    won = Position.from_fen("B:WK1:BK10,K11")
    lost = won.push(tables.best_moves(won)[0])
    result = AlphaBetaSearch(evaluator, game=SPEC.make_rules(tables)).search(pack(lost), depth=2)
    assert tables.probe(lost).value == "loss"
    assert (result.value, result.plies) == (-1.0, tables.probe(lost).plies)


def test_a_capture_that_leads_into_the_tables_goes_on_as_they_say(evaluator):
    # After 11x18 the tables have the position: 18x27 draws, 18x25, which is the first by number, loses.
    position = Position.from_fen("B:W15,22,K23:BK11")
    search = AlphaBetaSearch(evaluator, game=SPEC.make_rules(Tables.open(3)))
    result = search.search(pack(position), depth=3)
    assert str(whole_moves(position, result.pv)[0]) == "11x18x27"
    assert result.value == 0.0


def test_a_search_keeps_no_reference_to_its_arrays(evaluator):
    """The kernel does not count references, and what it calls may."""
    tables = Tables.open(3)
    search = AlphaBetaSearch(evaluator, game=SPEC.make_rules(tables))
    arrays = [*search.memory, search.evaluation.board, *search.evaluation.hidden, tables.values]
    before = [sys.getrefcount(array) for array in arrays]
    for fen in POSITIONS:
        search.search(pack(Position.from_fen(fen)), depth=3)
    assert [sys.getrefcount(array) for array in arrays] == before


def test_a_repeated_position_is_a_draw(evaluator):
    position = replace(Position.from_fen("B:WK32,K31:BK1,K5"), halfmove_clock=6)
    scores = {move: -minimax(evaluator, position.push(move), 0, 1) for move in position.legal_moves()}
    for repeated in scores:
        wanted = max(0 if move == repeated else score for move, score in scores.items())
        history = [pack(position.push(repeated))]
        result = AlphaBetaSearch(evaluator).search(pack(position), history, depth=1)
        assert result.value == pytest.approx(wanted / VALUE_SCALE)
    without = AlphaBetaSearch(evaluator).search(pack(position), depth=1).value
    assert without == pytest.approx(max(scores.values()) / VALUE_SCALE)
    assert without < 0  # so that the draws above changed it


def test_the_halfmove_clock_is_a_draw(evaluator):
    position = replace(Position.from_fen("B:WK32,K31:BK1,K5"), halfmove_clock=79)
    result = AlphaBetaSearch(evaluator).search(pack(position), depth=4)
    assert result.value == 0.0


def test_a_proof_of_the_table_counts_only_within_the_clock():
    """A win in 19 plies at clock 0; at clock 62 the 80-ply rule comes first."""
    won = Position.from_fen("B:WK32:BK15,K18")
    late = replace(won, halfmove_clock=62)
    network = load_evaluator("ckai", "integers")
    search = AlphaBetaSearch(network)
    assert search.search(pack(won), depth=25).plies == 19
    for depth in range(1, 25):
        assert search.search(pack(late), depth=depth).plies is None, depth
    for nodes in (100, 1000, 10_000):
        assert search.search(pack(late), nodes=nodes).plies is None, nodes
    other = AlphaBetaSearch(network)
    assert other.search(pack(late), depth=25).plies is None
    assert other.search(pack(won), depth=25).plies == 19


def test_games_vary_by_seed_and_only_by_seed():
    """Levels 14 to 16 and alpha-beta are such players."""
    network, limit = load_evaluator("ckai", "integers"), Limit(nodes=12_000)

    def play(engine):
        game = Game()
        while len(game.moves) < 8:
            game.push(engine.play(game, limit).move)
        return tuple(map(str, game.moves))

    with AlphaBetaEngine(network, seed=1) as engine:
        first = play(engine)
        others = {play(AlphaBetaEngine(network, seed=seed)) for seed in range(2, 5)}
        assert len(others | {first}) > 1
        engine.new_game()
        assert play(engine) == first == play(AlphaBetaEngine(network, seed=1))
    assert play(AlphaBetaEngine(network)) == play(AlphaBetaEngine(network))


def test_several_lines_are_the_best_moves_in_order(evaluator):
    with AlphaBetaEngine(evaluator) as engine:
        found = engine.play(POSITIONS[0], Limit(depth=4), lines=3)
        values = [float(line.value) for line in found.lines]
        assert (len(values), values[1:]) == (3, sorted(values[1:], reverse=True))
        assert (found.depth, found.reason, found.move) == (
            4, StopReason.DEPTH, AlphaBetaEngine(evaluator).play(POSITIONS[0], Limit(depth=4)).move
        )  # fmt: skip
        won, other = engine.play("B:W14,22:B9,10,18", Limit(depth=3), lines=9).lines
        assert (str(won.move), won.proven, won.plies) == ("10x17x26", "win", 1)
        assert (str(other.pv[0]), other.value.turn) == ("18x25", "black")


def test_a_search_can_be_stopped_from_elsewhere(evaluator):
    search = AlphaBetaSearch(evaluator)
    search.search(pack(Position.start()), depth=1)  # compiled
    stopper = threading.Thread(target=lambda: (time.sleep(0.05), search.stop()))
    stopper.start()
    result = search.search(pack(Position.start()))
    stopper.join()
    assert result.pv[0] in Position.start().legal_actions()


def test_several_threads_search_one_position(evaluator):
    search = AlphaBetaSearch(evaluator, threads=3)
    before = threading.active_count()
    for fen in POSITIONS:
        position = Position.from_fen(fen)
        result = search.search(pack(position), seconds=0.05)
        assert result.pv[0] in position.legal_actions()
        assert threading.active_count() == before
    counted = [int(memory.progress["nodes"][0]) for _, memory in search.workers]
    assert all(counted)
    assert result.nodes == sum(counted)
    won = search.search(pack(Position.from_fen("W:WK18,K15:BK4")), seconds=60)  # ends with the proof
    assert (won.value, won.plies) == (1.0, 3)


def test_a_search_to_a_limit_that_can_be_repeated_has_one_thread(evaluator):
    for limit in ({"depth": 4}, {"nodes": 1}, {"nodes": 3000}):
        one, three = (
            AlphaBetaSearch(evaluator, threads=n).search(pack(Position.start()), **limit) for n in (1, 3)
        )
        assert one == three
        assert one.pv[0] in Position.start().legal_actions()
    assert one.depth >= 2
    assert one.nodes <= 3000


@pytest.mark.slow
def test_other_games_are_searched():
    torch.manual_seed(1)
    network = build("swift", {"hidden": 16, "narrow": 8, "narrowest": 8, "encoding": "connect4"})
    search = AlphaBetaSearch(IntegerEvaluator(network), game=Connect4())
    three = np.int64(0b111)  # the side to move has three in the first column
    result = search.search((three, np.int64(0b111 << 7)), depth=4)
    assert (result.pv[0], result.plies) == (0, 1)
