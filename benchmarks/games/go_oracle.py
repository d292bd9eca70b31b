"""Play random games of 9x9 Go side by side with OpenSpiel and compare: legal moves, superko, scores.

    pip install open_spiel
    python benchmarks/games/go_oracle.py --games 5000

OpenSpiel (https://github.com/google-deepmind/open_spiel) forbids only retaking a ko at once, and draws a
game when an earlier position comes again; an action after which it does so is one that superko forbids. Its
score is compared by its result under a komi of the score, and of half a point more and less.
"""

import argparse
import time
from typing import Any

import numpy as np

from ckai.rl.games.go import PASS, SPEC, GoMove, read_move

LONG = 100_000
"""Plies after which OpenSpiel is to end a game: never, so that only superko and passes do."""

CORNERS = (9, 4, 3)
"""Rows and columns of the corner in which most stones of a game are placed; 9: all of the board."""
FOUR_KOS = "A1 D1 B2 C2 F1 J1 G2 H2 A9 D9 B8 C8 F9 J9 G8 H8 C1 B9 H1 G9"
"""Moves to a position with four kos on the edges: cycles of eight plies and more."""
KOS = ("B1", "C1", "G1", "H1", "B9", "C9", "G9", "H9")
"""The points of these kos."""


def oracle_game(komi: float = 7.0) -> Any:
    """Return OpenSpiel's game of 9x9 Go without a limit on its length."""
    import pyspiel

    return pyspiel.load_game("go", {"board_size": 9, "komi": float(komi), "max_game_length": LONG})


def oracle_legal(state: Any) -> tuple[list[int], list[int]]:
    """Return (the actions that OpenSpiel allows, those of them after which it sees a repetition)."""
    actions = state.legal_actions()
    repeating = [a for a in actions if a != PASS and state.child(a).is_terminal()]
    return actions, repeating


def near(seed: int) -> frozenset[int]:
    """Return the points on which most stones of a game are placed: a corner of the board, or the kos."""
    kind = seed % (len(CORNERS) + 1)
    if kind == len(CORNERS):
        return frozenset(action_of(text) for text in KOS)
    size = CORNERS[kind]
    return frozenset(9 * row + column for row in range(size) for column in range(size))


def action_of(text: str) -> int:
    """Return the action of a point."""
    move = read_move(text)
    assert move is not None
    return move.action


def choose(rng: np.random.Generator, actions: list[int], inside: frozenset[int]) -> int:
    """Draw an action, mostly among those `inside`."""
    first = [action for action in actions if action in inside]
    drawn = first if first and rng.random() < 0.95 else actions
    return int(drawn[rng.integers(len(drawn))])


def compare_game(seed: int, oracle: Any) -> dict[str, int]:
    """Play one random game and compare every position.

    Returns:
        Counts: positions, actions that superko forbids beyond OpenSpiel's simple ko, and those of them that
        repeat a board more than eight plies back.

    Raises:
        ValueError: they differ; says where.
    """
    rng = np.random.default_rng(seed)
    inside = near(seed)
    opening = [action_of(text) for text in FOUR_KOS.split()] if seed % (len(CORNERS) + 1) == 3 else []
    game, state = SPEC.game(), oracle.new_initial_state()
    counts = {"positions": 0, "superko": 0, "far": 0}
    while game.outcome() is None:
        allowed, repeating = oracle_legal(state)
        expected = [a for a in allowed if a not in repeating]
        found = [move.action for move in game.position.legal_moves()]
        if found != expected:
            raise ValueError(f"game {seed}, ply {len(game.moves)}: expected {expected}, found {found}")
        counts["positions"] += 1
        counts["superko"] += len(repeating)
        counts["far"] += len(SPEC.position(game.position.state).legal_moves()) - len(found)
        ply = len(game.moves)
        near_by = inside
        if opening:  # a ko is fought, not filled
            position, stones = game.position, len(SPEC.pieces(game.position))
            after = {a: position.push(GoMove(a)) for a in inside if a in expected}
            near_by = frozenset(a for a, here in after.items() if len(SPEC.pieces(here)) <= stones)
        action = opening[ply] if ply < len(opening) else choose(rng, expected, near_by)
        game.push(GoMove(action))
        state.apply_action(action)
    score = game.position.area
    for komi in (score - 0.5, float(score), score + 0.5):
        ending = oracle_game(komi).new_initial_state()
        for move in game.moves:
            ending.apply_action(move.action)
        while not ending.is_terminal():  # the longest game: both pass
            ending.apply_action(PASS)
        expected_result = float(np.sign(score - komi))
        found = ending.returns()[0]
        if found != expected_result:
            raise ValueError(f"game {seed}: expected {expected_result} under {komi}, found {found}")
    return counts


def main() -> None:
    """Play the games and print what was compared."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--games", type=int, default=5000, help="games to play")
    parser.add_argument("--first", type=int, default=0, help="seed of the first game")
    arguments = parser.parse_args()
    oracle, begun = oracle_game(), time.perf_counter()
    totals = {"positions": 0, "superko": 0, "far": 0}
    for seed in range(arguments.first, arguments.first + arguments.games):
        for name, count in compare_game(seed, oracle).items():
            totals[name] += count
    print(
        f"{arguments.games:,} games agree: {totals['positions']:,} positions; superko forbade "
        f"{totals['superko']:,} moves, {totals['far']:,} of them for a board more than 8 plies back; "
        f"{time.perf_counter() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()
