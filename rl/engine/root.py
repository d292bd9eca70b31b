"""The root of a search: a position with its history, and the moves from the last root to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ckai.game import HALFMOVE_LIMIT, Position
from ckai.game.squares import rotate_board
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import TERMINAL
from ckai.rl.search.searcher import Searcher


@dataclass(frozen=True)
class Root:
    """A position to search and its history."""

    position: Any
    history: list[Any]
    """Earlier positions of the game, oldest first."""
    spec: GameSpec = DEFAULT_GAME
    game: Any = None
    """The game with its moves, see `PlayedGame`; None: only positions were given."""

    @classmethod
    def read(
        cls, position: Any, history: Sequence[Position | str] = (), spec: GameSpec = DEFAULT_GAME
    ) -> "Root":
        """Create a root from a game, or from positions, in checkers as FENs too.

        The history sets the clock of a FEN without H.

        Raises:
            ValueError: the side to move has no legal move.
            PositionError: a FEN cannot be read.
        """
        if hasattr(position, "moves"):
            root = cls(position.position, position.history, spec, position)
        elif spec != DEFAULT_GAME:
            root = cls(position, list(history), spec)
        else:
            earlier = [read_position(p) for p in history]
            root = cls(_with_halfmove_clock(read_position(position), earlier), earlier, spec)
        legal_moves(root.position)
        return root

    @property
    def drawn(self) -> bool:
        """Whether a rule of checkers draws the game here, which no search sees at its root."""
        here = self.position
        if not isinstance(here, Position):
            return False
        repeated = sum(earlier.key == here.key for earlier in self.history) >= 2
        return repeated or here.halfmove_clock >= HALFMOVE_LIMIT

    def undrawn(self) -> "Root":
        """Return the root to search in place of one that is drawn by rule: its clock or history begins again.

        Programs may let a game go on that is drawn by rule. Other roots are returned as they are.
        """
        if not self.drawn:
            return self
        here = self.position
        return Root(replace(here, halfmove_clock=0) if here.halfmove_clock >= HALFMOVE_LIMIT else here, [])

    def set_in(self, searcher: Searcher, t: int) -> None:
        """Make this the root of tree `t`, emptied, with the history that repetitions can reach."""
        history, spec = self.history, self.spec
        if isinstance(self.position, Position):
            reached = self.position.halfmove_clock
            history = history[-reached:] if reached else []
        keys = [spec.repetition_key(position) for position in history]
        earlier = np.array(keys, np.int64).reshape(-1, spec.state_words)
        searcher.set_root(t, spec.state(self.position), earlier)

    def actions_from(self, old: "Root") -> list[int] | None:
        """Return the hops of the at most two moves that lead here from an older root, or None.

        The histories must agree; an empty history agrees with any.
        """
        if old.position == self.position and _keys(self.history) == _keys(old.history):
            return []
        for between in self._ways_from(old):
            at, actions = old.position, list[int]()
            for after in [*between, self.position]:
                move = next((move for move in at.legal_moves() if at.push(move).key == after.key), None)
                if move is None:
                    break
                at, actions = at.push(move), [*actions, *move.actions]
            else:
                if at == self.position:
                    return actions
        return None

    def _ways_from(self, old: "Root") -> Iterator[list[Any]]:
        """Yield the positions between an older root and this one, where one or two moves may lead here."""
        known = [*old.history, old.position]
        between = self.history[len(known) :]
        if self.history:
            if len(between) <= 1 and _keys(self.history[: len(known)]) == _keys(known):
                yield between
        elif isinstance(self.position, Position):
            yield []
            yield from ([old.position.push(move)] for move in old.position.legal_moves())


def set_root(searcher: Searcher, root: Root, old: Root | None) -> None:
    """Make a position the root of tree 0, keeping its subtree if the tree has it.

    Args:
        searcher: a searcher of the game.
        root: the position.
        old: the root of the tree; None: the tree cannot be used.
    """
    actions = None if old is None else root.actions_from(old)
    if actions is not None:
        for action in actions:
            searcher.play(0, action)
    else:
        root.set_in(searcher, 0)
    forget_draw(searcher, 0, root)


def forget_draw(searcher: Searcher, t: int, root: Root) -> None:
    """Open the root of tree `t` if it is drawn by rule, so that it is searched as if it were not.

    There is a legal move, so only a draw can have ended the game: the history goes, and if the position is
    still drawn, its halfmove clock begins again.

    Args:
        searcher: its tree `t` has this root.
        t: index of the tree.
        root: a position with a legal move.
    """
    here, state = root.position, root.spec.state
    if searcher.root(t)["status"] == TERMINAL:
        searcher.set_root(t, state(here))
        if searcher.root(t)["status"] == TERMINAL and isinstance(here, Position):
            searcher.set_root(t, state(replace(here, halfmove_clock=0)))


def read_position(position: Position | str) -> Position:
    """Return a `Position` as it is, and the position of a FEN.

    Raises:
        PositionError: the FEN cannot be read.
        TypeError: it is neither.
    """
    if not isinstance(position, Position | str):
        raise TypeError(f"expected a Position or a FEN, found {position!r}")
    return Position.from_fen(position) if isinstance(position, str) else position


def legal_moves(position: Any) -> Sequence[Any]:
    """Return the legal moves.

    Raises:
        ValueError: there is none.
    """
    moves: Sequence[Any] = position.legal_moves()
    if not moves:
        text = position.fen if isinstance(position, Position) else str(position)
        raise ValueError(f"{text}: the side to move has no legal move, the game is over")
    return moves


def _keys(positions: Sequence[Any]) -> list[Any]:
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
