"""What a caller wants searched: a position, its history, and whether the last tree leads to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ckai.game import Move, Position


@dataclass(frozen=True)
class Root:
    """A position to search and those before it."""

    position: Position
    history: list[Position]
    """Earlier positions of the game, oldest first."""

    @classmethod
    def read(cls, position: Position | str, history: Sequence[Position | str] = ()) -> "Root":
        """Positions or FENs; a FEN has no halfmove clock, so the history sets it.

        Raises:
            ValueError: the side to move has no legal move.
            PositionError: a FEN that cannot be read.
        """
        past = [read_position(p) for p in history]
        here = _with_halfmove_clock(read_position(position), past)
        legal_moves(here)
        return cls(here, past)

    def actions_from(self, old: "Root") -> list[int] | None:
        """The hops that lead here from an older root, of no, one or two moves; None if there are none.

        Without a history the positions since `old` are taken for it.
        """
        here, before = self.position, old.position
        if before == here and _keys(self.history) == _keys(old.history):
            return []
        for move in before.legal_moves():
            middle = before.push(move)
            if middle == here and self._continues(old, [before]):
                return list(move.actions)
            for reply in middle.legal_moves():
                if middle.push(reply) == here and self._continues(old, [before, middle]):
                    return [*move.actions, *reply.actions]
        return None

    def _continues(self, old: "Root", since: list[Position]) -> bool:
        return not self.history or _keys(self.history) == _keys([*old.history, *since])


def read_position(position: Position | str) -> Position:
    """A `Position`, or the one of a FEN.

    Raises:
        PositionError: a FEN that cannot be read.
    """
    return Position.from_fen(position) if isinstance(position, str) else position


def legal_moves(position: Position) -> list[Move]:
    """The legal moves.

    Raises:
        ValueError: there is none.
    """
    moves = position.legal_moves()
    if not moves:
        raise ValueError(f"{position.fen}: the side to move has no legal move, the game is over")
    return moves


def _keys(positions: Sequence[Position]) -> list[tuple[int, int, int, bool, int]]:
    return [position.key for position in positions]


def _with_halfmove_clock(position: Position, past: list[Position]) -> Position:
    """A position with the halfmove clock that its history gives, if that is more than its own."""
    halfmove_clock = 0
    for earlier in reversed(past):
        if _irreversible(earlier) != _irreversible(position):
            break
        halfmove_clock += 1
    return replace(position, halfmove_clock=max(halfmove_clock, position.halfmove_clock))


def _irreversible(position: Position) -> tuple[int, int, int, int]:
    """What only captures and moves of men change, Black first: men of both sides, numbers of kings."""
    kings = position.kings
    black, white = (position.own, position.opp) if position.black else (position.opp, position.own)
    men_black, men_white = black & ~kings, white & ~kings
    if not position.black:
        men_black, men_white = (int(f"{b:032b}"[::-1], 2) for b in (men_black, men_white))
    return men_black, men_white, (black & kings).bit_count(), (white & kings).bit_count()
