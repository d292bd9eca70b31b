"""The root of a search: a position with its history, and the moves from the last root to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ckai.game import Move, Position
from ckai.game.squares import rotate_board
from ckai.rl.games.checkers import pack
from ckai.rl.search.arrays import TERMINAL
from ckai.rl.search.searcher import Searcher


@dataclass(frozen=True)
class Root:
    """A position to search and its history."""

    position: Position
    history: list[Position]
    """Earlier positions of the game, oldest first."""

    @classmethod
    def read(cls, position: Position | str, history: Sequence[Position | str] = ()) -> "Root":
        """Create a root from positions or FENs; the history sets the clock of a FEN without H.

        Raises:
            ValueError: the side to move has no legal move.
            PositionError: a FEN cannot be read.
        """
        earlier = [read_position(p) for p in history]
        here = _with_halfmove_clock(read_position(position), earlier)
        legal_moves(here)
        return cls(here, earlier)

    def set_in(self, searcher: Searcher, t: int) -> None:
        """Make this the root of tree `t`, emptied, with the history that repetitions can reach."""
        here = self.position
        history = self.history[-here.halfmove_clock :] if here.halfmove_clock else []
        keys = [pack(replace(p, halfmove_clock=0)) for p in history]
        searcher.set_root(t, pack(here), np.array(keys, np.int64).reshape(-1, 2))

    def actions_from(self, old: "Root") -> list[int] | None:
        """Return the hops of the at most two moves that lead here from an older root, or None.

        The histories must agree; an empty history agrees with any.
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


def set_root(searcher: Searcher, root: Root, old: Root | None) -> None:
    """Make a position the root of tree 0, keeping its subtree if the tree has it.

    Args:
        searcher: a searcher of checkers.
        root: the position.
        old: the root of the tree; None: the tree cannot be used.
    """
    here = root.position
    actions = None if old is None else root.actions_from(old)
    if actions is not None:
        for action in actions:
            searcher.play(0, action)
    else:
        root.set_in(searcher, 0)
    forget_draw(searcher, 0, here)


def forget_draw(searcher: Searcher, t: int, here: Position) -> None:
    """Open the root of tree `t` if it is drawn by rule, so that it is searched as if it were not.

    There is a legal move, so only a draw can have ended the game: the history goes, and if the position is
    still drawn, its halfmove clock begins again.

    Args:
        searcher: its tree `t` has the root `here`.
        t: index of the tree.
        here: a position with a legal move.
    """
    if searcher.root(t)["status"] == TERMINAL:
        searcher.set_root(t, pack(here))
        if searcher.root(t)["status"] == TERMINAL:
            searcher.set_root(t, pack(replace(here, halfmove_clock=0)))


def read_position(position: Position | str) -> Position:
    """Return a `Position` as it is, and the position of a FEN.

    Raises:
        PositionError: the FEN cannot be read.
        TypeError: it is neither.
    """
    if not isinstance(position, Position | str):
        raise TypeError(f"expected a Position or a FEN, found {position!r}")
    return Position.from_fen(position) if isinstance(position, str) else position


def legal_moves(position: Position) -> list[Move]:
    """Return the legal moves.

    Raises:
        ValueError: there is none.
    """
    moves = position.legal_moves()
    if not moves:
        raise ValueError(f"{position.fen}: the side to move has no legal move, the game is over")
    return moves


def _keys(positions: Sequence[Position]) -> list[tuple[int, int, int, bool, int]]:
    return [position.key for position in positions]


def _with_halfmove_clock(position: Position, history: list[Position]) -> Position:
    """Return the position with the halfmove clock that follows from its history, if that is higher."""
    halfmove_clock = 0
    for earlier in reversed(history):
        if _irreversible(earlier) != _irreversible(position):
            break
        halfmove_clock += 1
    return replace(position, halfmove_clock=max(halfmove_clock, position.halfmove_clock))


def _irreversible(position: Position) -> tuple[int, int, int, int]:
    """Return what only captures and moves of men change, Black first: men of both sides, numbers of kings."""
    kings = position.kings
    black, white = (position.own, position.opp) if position.black else (position.opp, position.own)
    men_black, men_white = black & ~kings, white & ~kings
    if not position.black:
        men_black, men_white = map(rotate_board, (men_black, men_white))
    return men_black, men_white, (black & kings).bit_count(), (white & kings).bit_count()
