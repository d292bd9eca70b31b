"""A game between people and an engine, and the moves that lie ahead; independent of the terminal."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from ckai.game import Outcome, Reason
from ckai.rl.games.clock import ClockReason
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

Side: TypeAlias = Literal["black", "white"]

SIDES: Final[tuple[Side, Side]] = ("black", "white")
PEOPLE: Final[dict[str, frozenset[Side]]] = {
    "black": frozenset({"black"}),
    "white": frozenset({"white"}),
    "both": frozenset({"black", "white"}),
    "none": frozenset(),
}
"""Sides that people play, by the value of `--side`."""


class Session:
    """A game between people and an engine.

    Attributes:
        game: the game up to the current position.
        ahead: moves that were taken back or lie ahead in a game that is stepped through, the next one first.
        humans: sides that people play; the engine plays the others.
        ended: outcome by resignation, agreement or time, otherwise None.
        spec: the game's rules and names.
    """

    def __init__(
        self,
        game: Any = None,
        humans: Iterable[Side] = ("black",),
        *,
        ahead: Sequence[Any] = (),
        spec: GameSpec = DEFAULT_GAME,
    ) -> None:
        self.spec = spec
        self.game: Any = game or spec.game()
        self.ahead = list(ahead)
        self.humans: frozenset[Side] = frozenset(humans)
        self.ended: Outcome | None = None

    @property
    def position(self) -> Any:
        """The current position."""
        return self.game.position

    @property
    def side(self) -> Side:
        """The side to move."""
        return side_of(self.position)

    @property
    def ply(self) -> int:
        """Moves played so far."""
        return len(self.game.moves)

    @property
    def whole(self) -> Any:
        """The game with the moves ahead."""
        return game_of([*self.game.moves, *self.ahead], self.spec, self.game.positions[0])

    @property
    def human_to_move(self) -> bool:
        """Whether a person is to move."""
        return self.side in self.humans

    @property
    def last_move(self) -> Any | None:
        """The last move, None before the first."""
        return self.game.moves[-1] if self.game.moves else None

    def name(self, side: Side | None = None) -> str:
        """Return what people call a side; default: the side to move."""
        return self.spec.side_names[0 if (side or self.side) == "black" else 1]

    def outcome(self) -> Outcome | None:
        """Return the outcome, by rule, resignation, agreement or time; None while the game is in progress."""
        by_rule: Outcome | None = self.game.outcome()
        return self.ended or by_rule

    @property
    def result(self) -> str:
        """The PDN result, `*` while the game is in progress."""
        outcome = self.outcome()
        return "*" if outcome is None else outcome.result

    # --- moves --------------------------------------------------------------------------------------

    def play(self, move: Any) -> Any:
        """Play a move for the side to move. The moves ahead stay if it is the next of them.

        Raises:
            MoveError: the move is illegal; the game is unchanged.
        """
        played = self.game.push(move)
        self.ahead = self.ahead[1:] if self.ahead[:1] == [played] else []
        return played

    def undo(self, *, skip_forced: bool = False) -> list[Any]:
        """Take back all moves from the last one a person made; return them in order.

        A person's resignation, an agreement or a loss by time is taken back alone. A player that resigned
        would do so again.

        Args:
            skip_forced: go back to a move that was not forced: forced ones are played again by themselves.
        """
        if self.ended is not None:
            again = bool(self.humans) and resigns_again(self.ended, self.humans)
            self.ended = None
            if not again:
                return []
        before = enumerate(self.game.positions[:-1])
        mine = [ply for ply, position in before if self._person_decides(position, skip_forced)]
        return self.step(mine[-1] - self.ply) if mine else []

    def redo(self, *, skip_forced: bool = False) -> list[Any]:
        """Play the moves ahead until a person is to move again; return them.

        Args:
            skip_forced: do not stop before a forced move.
        """
        played: list[Any] = []
        while self.ahead and not (played and self._person_decides(self.position, skip_forced)):
            played += self.step(1)
        return played

    def _person_decides(self, position: Any, skip_forced: bool) -> bool:
        """Return whether a person is to move in a position; with `skip_forced`, and has a choice."""
        return side_of(position) in self.humans and not (skip_forced and len(position.legal_moves()) == 1)

    def step(self, plies: int) -> list[Any]:
        """Go forward through the moves ahead, or back if `plies` is negative; return the moves passed."""
        self.ended = None
        if plies >= 0:
            passed, self.ahead = self.ahead[:plies], self.ahead[plies:]
            for move in passed:
                self.game.push(move)
            return passed
        passed = [self.game.pop() for _ in range(min(-plies, self.ply))][::-1]
        self.ahead = [*passed, *self.ahead]
        return passed

    # --- the score ----------------------------------------------------------------------------------

    def numbered(self, last: int | None = None) -> list[str]:
        """Return the moves as numbered lines, `3. 8-11 22-18`.

        Args:
            last: return this many lines from the end; None: all.
        """
        lines: list[str] = []
        for position, move in zip(self.game.positions[:-1], self.game.moves, strict=True):
            if position.black or not lines:
                lines.append(f"{len(lines) + 1}. " + ("" if position.black else "... ") + str(move))
            else:
                lines[-1] += f" {move}"
        return lines if last is None else lines[-last:]


def game_of(moves: Iterable[Any], spec: GameSpec, start: Any = None) -> Any:
    """Return a game with these moves, from a position or the usual one."""
    game = spec.game(start)
    for move in moves:
        game.push(move)
    return game


def side_of(position: Any) -> Side:
    """Return the side to move."""
    return "black" if position.black else "white"


def resigns_again(outcome: Outcome, people: Collection[Side]) -> bool:
    """Return whether a player that is no person resigned, which would do so again."""
    return (
        outcome.reason == Reason.RESIGNED and outcome.winner in SIDES and other(outcome.winner) not in people
    )


def resigned(side: Side) -> Outcome:
    """Return the outcome of a game that a side resigns."""
    return Outcome(other(side), Reason.RESIGNED, f"{side.capitalize()} resigned")


def out_of_time(side: Side) -> Outcome:
    """Return the outcome of a game in which a side's time is up."""
    return Outcome(other(side), ClockReason.TIME, f"{side.capitalize()} is out of time")


def agreed() -> Outcome:
    """Return a draw by agreement."""
    return Outcome(None, Reason.AGREED, "agreed")


def other(side: Side) -> Side:
    """Return the other side."""
    return "white" if side == "black" else "black"


def outcome_text(outcome: Outcome, spec: GameSpec) -> str:
    """Return an outcome in words, the sides called as in a game: `White won: Black resigned (0-1)`."""
    text = str(outcome)
    for word, name in zip(("Black", "White"), spec.side_names, strict=True):
        text = text.replace(word, name)
    return f"{text} ({outcome.result})"
