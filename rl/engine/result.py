"""Results of the engine: values, lines, policies, and why a search ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from ckai.game import Move

Turn: TypeAlias = Literal["black", "white"]
Proof: TypeAlias = Literal["win", "loss", "draw"]
REVERSED: dict[Proof, Proof] = {"win": "loss", "loss": "win", "draw": "draw"}

T = TypeVar("T")


class Value(float):
    """A value in [-1, 1] for the side to move, `turn`: +1 it wins, 0 a draw, -1 it loses.

    Example:
        >>> value = Value(0.25, "white")
        >>> value, value.white(), value.black()
        (0.25, 0.25, -0.25)
    """

    turn: Turn

    def __new__(cls, value: float, turn: Turn) -> "Value":
        """See `turn`."""
        self = super().__new__(cls, value)
        self.turn = turn
        return self

    @classmethod
    def at(cls, position: Any, value: float) -> "Value":
        """Return a value for the side to move in a position."""
        return cls(value, "black" if position.black else "white")

    def __reduce__(self) -> tuple[type["Value"], tuple[float, Turn]]:
        return Value, (float(self), self.turn)

    def black(self) -> float:
        """Return the value for Black."""
        return float(self) if self.turn == "black" else 0.0 - self

    def white(self) -> float:
        """Return the value for White."""
        return 0.0 - self.black()


class MoveMap(Mapping[Move, T], Generic[T]):
    """An ordered mapping from moves; a look-up takes a `Move` or its text (`str(move)`).

    Example:
        >>> from ckai.game import Position
        >>> counts = MoveMap({move: 10 for move in Position.from_fen("B:W32:B1").legal_moves()})
        >>> counts, counts["1-5"], "1-9" in counts
        (MoveMap({'1-5': 10, '1-6': 10}), 10, False)
    """

    def __init__(self, items: Mapping[Move, T] | None = None) -> None:
        """Take a copy of a mapping."""
        self._items = dict(items or {})

    def __getitem__(self, move: Move | str) -> T:
        if isinstance(move, str):
            return {str(each): item for each, item in self._items.items()}[move]
        return self._items[move]

    def __iter__(self) -> Iterator[Move]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"MoveMap({ {str(move): item for move, item in self._items.items()} })"


class StopReason(StrEnum):
    """Why a search ended: which field of its `Limit` was reached, or what else ended it."""

    VISITS = "visits"
    SECONDS = "seconds"
    CLOCK = "clock"
    """The time that `Limit.clock` allots to the move is used up."""
    DECIDED = "decided"
    """By `Limit.clock`: the first move cannot change in the time left for it, or is the only one."""
    DEPTH = "depth"
    NODES = "nodes"
    PROVEN = "proven"
    """The root is proven a win, a loss or a draw."""
    FULL = "full"
    """The tree has no room for another position, and may not grow."""
    STOPPED = "stopped"
    """From outside, or the analysis was left."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A move and the moves expected to follow; values and proofs are for the side that plays it."""

    pv: list[Move]
    """The principal variation, this move first."""
    value: Value | None = None
    """The move's mean value, +1, 0 or -1 if it is proven; None without visits."""
    visits: int = 0
    """Visit count of the move; 0 without a tree."""
    prior: float = 0.0
    """The network's probability of the move, 0 to 1; for several hops the product of theirs."""
    proven: Proof | None = None
    plies: int | None = None
    """Plies from the root to the end of a proven win or loss, else None."""

    @property
    def move(self) -> Move:
        """The first move of the line."""
        return self.pv[0]


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The result of a search, or its result so far.

    `move`, `pv` and `lines[0]` are one line: the move to play, with the proof of the root, and the value of
    the root where the move has none. Mappings are keyed by `Move`, take a move's text too, and are in the
    order of visit counts, the move to play first. Values and proofs are for the side to move.
    """

    lines: list[Line]
    """The best lines, best first: as many as were asked for, or as many as there are legal moves."""
    value: Value | None = None
    """Of the root: the mean over all visits, +1, 0 or -1 if it is proven; None from an engine without values,
    such as a level."""
    visits: MoveMap[int] = field(default_factory=MoveMap)
    """Visit count of every legal move; empty without a tree."""
    priors: MoveMap[float] = field(default_factory=MoveMap)
    """The network's probability of every legal move; empty without a tree."""
    sims: int = 0
    """Visits at the root, those kept from an earlier search included."""
    seconds: float = 0.0
    """Wall time of this call."""
    nodes: int = 0
    """Positions that this search added to the tree, or that alpha-beta visited."""
    evaluations: int = 0
    """Positions that this search evaluated; with random playouts, the number of playouts."""
    depth: int = 0
    """Plies from the root to the deepest position in the tree; of alpha-beta, the last complete depth."""
    reason: StopReason | None = None
    """Why the search ended; None while it is running."""
    proven: Proof | None = None
    """The proven result of the root, if it is proven."""
    plies: int | None = None
    """Plies to the end of a proven win or loss, else None."""
    proofs: MoveMap[tuple[Proof, int | None]] = field(default_factory=MoveMap)
    """Result of every proven move, and the plies to the end of a win or a loss (None for a draw)."""

    def __post_init__(self) -> None:
        line = self.lines[0]
        if self.proven:
            self.lines[0] = replace(line, value=self.value, proven=self.proven, plies=self.plies)
        elif line.value is None:
            self.lines[0] = replace(line, value=self.value)

    @property
    def move(self) -> Move:
        """The move to play; its `str` names every square, `11x18x25`."""
        return self.lines[0].move

    @property
    def pv(self) -> list[Move]:
        """The principal variation: the moves expected, `move` first."""
        return self.lines[0].pv

    def __repr__(self) -> str:
        proof = f", proven={self.proven!r}, plies={self.plies}" if self.proven else ""
        value = "" if self.value is None else f"{self.value:+.3f} for {self.value.turn} in "
        effort = f"{self.sims} visits" if self.sims else f"{self.depth} plies"
        return f"<SearchResult {value}{effort}{proof}: {' '.join(map(str, self.pv))}>"
