"""Results of the engine: values, lines, policies, and why a search ended."""

from collections import UserDict
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypeVar

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
        """See the class."""
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


class MoveMap(UserDict[Move, T]):
    """An ordered mapping from moves; a look-up takes a `Move` or its text (`str(move)`)."""

    def __getitem__(self, move: Move | str) -> T:
        return {str(m): item for m, item in self.items()}[move] if isinstance(move, str) else self.data[move]

    def __contains__(self, move: object) -> bool:
        return move in self.data or move in set(map(str, self))

    def __repr__(self) -> str:
        return f"MoveMap({ {str(move): item for move, item in self.items()} })"


class StopReason(StrEnum):
    """Why a search ended: which field of its `Limit` was reached, or what else ended it."""

    VISITS = "visits"
    SECONDS = "seconds"
    CLOCK = "clock"
    """The time that `Limit.clock` allots to the move is used up, or could not change the move."""
    DEPTH = "depth"
    NODES = "nodes"
    PROVEN = "proven"
    FULL = "full"
    """The tree has no room for another position, and may not grow."""
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A move and the moves expected to follow; values and proofs are for the side that plays it."""

    pv: list[Move]
    """The principal variation, this move first."""
    value: Value | None = None
    """The move's mean value, +1, 0 or -1 if it is proven; None without visits."""
    visits: int = 0
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
    """The result of a search, or its result so far; values and proofs are for the side to move.

    `move`, `pv` and `lines[0]` are one line: the move to play, with the proof of the root, and the value of
    the root where the move has none. Mappings are in the order of visit counts, the move to play first.
    """

    lines: list[Line]
    """The best lines, best first: as many as were asked for, or as many as there are legal moves."""
    value: Value | None = None
    """Of the root: the mean over all visits, +1, 0 or -1 if it is proven; None from an engine without any."""
    visits: MoveMap[int] = field(default_factory=MoveMap)
    """Visit count of every legal move; empty without a tree, as the next one."""
    priors: MoveMap[float] = field(default_factory=MoveMap)
    """The network's probability of every legal move."""
    sims: int = 0
    """Visits at the root, those kept from an earlier search included."""
    seconds: float = 0.0
    """Wall time of this call."""
    nodes: int = 0
    """Positions that this search added to the tree, or that alpha-beta visited."""
    evaluations: int = 0
    """Positions that this search evaluated, or playouts."""
    depth: int = 0
    """Plies from the root to the deepest position in the tree; of alpha-beta, the last complete depth."""
    reason: StopReason | None = None
    """Why the search ended; None while it is running."""
    proven: Proof | None = None
    plies: int | None = None
    """Of the root, as of a `Line`."""
    proofs: MoveMap[tuple[Proof, int | None]] = field(default_factory=MoveMap)
    """Result of every proven move, and the plies to the end of a win or a loss (None for a draw)."""

    def __post_init__(self) -> None:
        proof: dict[str, Any] = {"proven": self.proven, "plies": self.plies} if self.proven else {}
        if proof or self.lines[0].value is None:
            self.lines[0] = replace(self.lines[0], value=self.value, **proof)

    @property
    def move(self) -> Move:
        """The move to play; its `str` names every square, `11x18x25`."""
        return self.pv[0]

    @property
    def pv(self) -> list[Move]:
        """The principal variation: the moves expected, `move` first."""
        return self.lines[0].pv

    def __repr__(self) -> str:
        proof = f", proven={self.proven!r}, plies={self.plies}" if self.proven else ""
        value = "" if self.value is None else f"{self.value:+.3f} for {self.value.turn} in "
        effort = f"{self.sims} visits" if self.sims else f"{self.depth} plies"
        return f"<SearchResult {value}{effort}{proof}: {' '.join(map(str, self.pv))}>"
