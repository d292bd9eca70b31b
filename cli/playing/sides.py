"""The two sides of a game, and how a game ends other than by rule."""

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

from ckai.game import Outcome, Reason
from ckai.rl.games.spec import GameSpec

Side: TypeAlias = Literal["black", "white"]

SIDES: Final[tuple[Side, Side]] = ("black", "white")


def game_of(moves: Iterable[Any], spec: GameSpec, start: Any = None) -> Any:
    """Return a game with these moves, from a position or the usual one."""
    game = spec.game(start)
    for move in moves:
        game.push(move)
    return game


def side_of(position: Any) -> Side:
    """Return the side to move."""
    return "black" if position.black else "white"


def other(side: Side) -> Side:
    """Return the other side."""
    return "white" if side == "black" else "black"


def resigned(side: Side) -> Outcome:
    """Return the outcome of a game that a side resigns."""
    return Outcome(other(side), Reason.RESIGNED, f"{side.capitalize()} resigned")


def out_of_time(side: Side) -> Outcome:
    """Return the outcome of a game in which a side's time is up."""
    return Outcome(other(side), Reason.TIME, f"{side.capitalize()} is out of time")


def outcome_text(outcome: Outcome, spec: GameSpec) -> str:
    """Return an outcome in words, the sides called as in a game: `White won: Black resigned (0-1)`."""
    text = str(outcome)
    for word, name in zip(("Black", "White"), spec.side_names, strict=True):
        text = text.replace(word, name)
    return f"{text} ({outcome.result})"
