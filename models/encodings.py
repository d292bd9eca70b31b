"""Input encodings, by name: modules that turn row tensors into planes, in checkers on the 8x4 grid.

Every encoding takes the same three tensors, in the view of the side to move, which plays towards higher rows:

- `board` `[B, 32]` int8: 1 own man, 3 own king, -1 / -3 the other's, 0 empty;
- `jumper` `[B]` int8: index of the piece that must continue a capture, -1 if none;
- `halfmove_clock` `[B]` int16: plies since the last capture or man's move.

Encodings of other games take the same tensors, see `StonesEncoding`.

The output is `[B, planes, 8, 4]`, in the dtype of the network's weights. `VERSION` is stored in checkpoints
and changes when a plane does; `NAMES` says what each plane shows.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ckai.datasets.choices import DEFAULT_GAME_NAME, GAMES, NETWORKS, entry_points_of, load_entry
from ckai.datasets.machine import available_cores
from ckai.game import Position
from ckai.game.squares import NUM_ACTIONS, SQUARES, neighbour
from ckai.models.inference.evaluator import pack_boards, pack_positions

ROWS, COLUMNS = 8, 4
PIECES = ("own men", "own kings", "other men", "other kings")
WAYS = ("up right", "down right", "down left", "up left")
"""The directions of hops in the view of the side to move, whose first row is at the top."""
HALFMOVE_SCALE = 80.0
"""The halfmove clock at which the game is drawn by default; the plane is 1 there."""
TACTICS_SCALE = 6.0
"""Change of material, in half men, at which a plane is 1: three men."""


class Encoding(nn.Module):
    """Base class of encodings of rows as input planes.

    Attributes:
        VERSION: version of the planes, stored in checkpoints.
        PLANES: number of planes.
        NAMES: what each plane shows, in their order; empty if it does not say.
        GAME: name of the game, see `ckai.rl.games.registry`.
        SHAPE: rows and columns of the board.
        NUM_ACTIONS: number of actions.
        BYTES_PER_SQUARE: a board is the first bytes of all squares, then their second ones, and so on.
        EXTRA: bytes per position that only the CPU can compute, see `extra`.
        EXTRA_TEXT: what they are, for programs that take an exported network.
        EXTRA_BITS: 4 if all of these are in [-8, 7] and their number is even, else 8.
        VALUES: board values that the first planes mark with a 1, one plane each; empty if they do not.
        JUMPER: whether the plane after these marks the jumper.
        PAIRS: for each direction the next square of every square, -1 off the board. The planes after the
            jumper mark pairs of pieces: of each direction one for each value of the square and, among these,
            for each value of the next one.
        MAX_PIECES: largest number of pieces on the board; 0: one on every square.
    """

    VERSION: ClassVar[str]
    PLANES: ClassVar[int]
    NAMES: ClassVar[tuple[str, ...]] = ()
    GAME: ClassVar[str]
    SHAPE: ClassVar[tuple[int, int]]
    NUM_ACTIONS: ClassVar[int]
    BYTES_PER_SQUARE: ClassVar[int] = 1
    EXTRA: ClassVar[int] = 0
    EXTRA_TEXT: ClassVar[str] = ""
    EXTRA_BITS: ClassVar[int] = 8
    VALUES: ClassVar[tuple[int, ...]] = ()
    JUMPER: ClassVar[bool] = False
    PAIRS: ClassVar[tuple[tuple[int, ...], ...]] = ()
    MAX_PIECES: ClassVar[int] = 0

    @property
    def binary_planes(self) -> int:
        """Number of planes, the first ones, that mark pieces, the jumper and pairs; see `VALUES`."""
        return len(self.VALUES) + self.JUMPER + len(self.PAIRS) * len(self.VALUES) ** 2

    @property
    def max_pieces(self) -> int:
        """Largest number of pieces on the board."""
        return self.MAX_PIECES or self.board_size

    @property
    def board_size(self) -> int:
        """Number of squares of the board."""
        return self.SHAPE[0] * self.SHAPE[1]

    @property
    def board_bytes(self) -> int:
        """Bytes of a board as the search passes it, `BYTES_PER_SQUARE` for each of its squares."""
        return self.BYTES_PER_SQUARE * self.board_size

    @property
    def position_bytes(self) -> int:
        """Bytes of a position as the search passes it: the board, the jumper, the halfmove clock."""
        return self.board_bytes + 2

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return positions to test a network on, `[number, position_bytes]` int8."""
        raise NotImplementedError

    @classmethod
    def legal_mask(cls, boards: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Return `[B, NUM_ACTIONS]` bool: the actions to compare in positions `[B, position_bytes]` int8."""
        return np.ones((len(boards), cls.NUM_ACTIONS), np.bool_)

    def append_extra(self, positions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return positions `[B, position_bytes]` int8 with the extra bytes, `[B, position_bytes + EXTRA]`.

        Called by many threads at once with small batches: do the work in a single kernel.
        """
        return positions

    def extra(self, board: Tensor, jumper: Tensor, halfmove_clock: Tensor) -> Tensor | None:
        """Return `[B, EXTRA]` int8 for the rows of `forward`, computed by all cores; None if `EXTRA` is 0."""
        if not self.EXTRA:
            return None
        positions = pack_boards(*(column.cpu().numpy() for column in (board, jumper, halfmove_clock)))
        parts = np.array_split(positions, max(1, min(available_cores(), len(positions) // 512)))
        with ThreadPoolExecutor(len(parts)) as threads:
            found = list(threads.map(self.append_extra, parts))
        return torch.from_numpy(np.concatenate(found)[:, self.position_bytes :].copy()).to(board.device)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """Return the planes, `[B, PLANES, *SHAPE]` of `dtype`, of rows; see the module.

        Args:
            board: `[B, squares]` int8.
            jumper: `[B]` int8.
            halfmove_clock: `[B]` int16.
            dtype: of the planes.
            extra: output of `extra`, computed if None.
        """
        raise NotImplementedError


ENCODINGS: dict[str, type[Encoding]] = {}
"""By name: for checkers, and for the games and networks that were imported."""
_E = TypeVar("_E", bound=type[Encoding])


def register_encoding(name: str) -> Callable[[_E], _E]:
    """Register an `Encoding` under a name for network settings; a class decorator.

    Raises:
        ValueError: the class has no `VERSION` of its own, which checkpoints of it name.
    """

    def decorate(encoding: _E) -> _E:
        if "VERSION" not in vars(encoding):
            raise ValueError(f"encoding {name}: expected {encoding.__name__} to define VERSION, found none")
        ENCODINGS[name] = encoding
        return encoding

    return decorate


def encoding_type(name: str) -> type[Encoding]:
    """Return the class of an encoding, of checkers, or of an installed game or network, see `load_entry`.

    Raises:
        ValueError: no encoding has this name; lists all names.
    """
    problems = []
    for group in (GAMES, NETWORKS) if name not in ENCODINGS else ():
        for entry in entry_points_of(group):
            try:
                load_entry(group, entry)
            except ValueError as error:
                problems.append(str(error))
    if name not in ENCODINGS:
        expected = f"expected one of the encodings {', '.join(ENCODINGS)}, found {name!r}"
        raise ValueError("; ".join([expected, *problems]))
    return ENCODINGS[name]


class CheckersEncoding(Encoding):
    """Base class of the encodings of checkers: planes of some parts, one after the other.

    Attributes:
        PARTS: of `_NAMES`; `PLANES` and `NAMES` follow from them.
        DEPTHS: plies searched after a hop, for the parts `material` and `loss`; each depth has planes of its
            own.
    """

    GAME = DEFAULT_GAME_NAME
    SHAPE = (ROWS, COLUMNS)
    NUM_ACTIONS = NUM_ACTIONS
    MAX_PIECES = 24
    PARTS: ClassVar[tuple[str, ...]]
    DEPTHS: ClassVar[tuple[int, ...]] = ()

    values: Tensor
    odd: Tensor
    squares: Tensor
    near: Tensor
    far: Tensor
    up: Tensor

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "PARTS" in vars(cls):
            cls.NAMES = tuple(
                name.format(n) for part in cls.PARTS for n in _depths(cls, part) for name in _NAMES[part]
            )
            cls.PLANES = len(cls.NAMES)
            cls.EXTRA = NUM_ACTIONS * len(cls.DEPTHS)

    def __init__(self) -> None:
        super().__init__()
        # Off the board is index 32, a square of its own.
        near, far = (
            torch.tensor([neighbour(i, d, n) % (SQUARES + 1) for d in range(4) for i in range(SQUARES)])
            for n in (1, 2)
        )
        for name, table in {
            "values": torch.tensor([1, 3, -1, -3], dtype=torch.int8).view(1, 4, 1),
            "odd": (torch.arange(SQUARES) // COLUMNS % 2).view(1, 1, SQUARES),
            "squares": torch.arange(SQUARES, dtype=torch.int8).view(1, SQUARES),
            "near": near,
            "far": far,
            "up": torch.tensor([True, False, False, True]).view(1, 4, 1),
        }.items():
            self.register_buffer(name, table, persistent=False)

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return positions of random games, also within a multi-jump; see `Encoding.sample`."""
        out = np.zeros((number, SQUARES + 2), np.int8)
        position = Position.start()
        for row in out:
            actions = position.legal_actions()
            if not actions or position.halfmove_clock > 60:
                position = Position.start()
                actions = position.legal_actions()
            row[:] = pack_positions([position])[0]
            position = position.push_action(actions[int(rng.integers(len(actions)))])
        return out

    @classmethod
    def legal_mask(cls, boards: NDArray[np.int8]) -> NDArray[np.bool_]:
        """See `Encoding.legal_mask`."""
        rows = torch.from_numpy(boards)
        hops = cls().legal(rows[:, :SQUARES], rows[:, SQUARES])
        mask: NDArray[np.bool_] = hops.transpose(1, 2).flatten(1).numpy()
        return mask

    def legal(self, board: Tensor, jumper: Tensor) -> Tensor:
        """Return `[B, 4, 32]` bool, whether the piece on a square may hop in each direction."""
        padded = functional.pad(board, (0, 1), value=9)  # off the board is neither empty nor a piece
        near = padded.index_select(1, self.near).view(-1, 4, SQUARES)
        far = padded.index_select(1, self.far).view(-1, 4, SQUARES)
        mine = board.unsqueeze(1)
        goes = (mine == 3) | ((mine == 1) & ~self.up)
        step = goes & (near == 0)
        jumper_at = jumper.view(-1, 1)
        may_jump = ((jumper_at < 0) | (jumper_at == self.squares)).unsqueeze(1)
        jump = goes & (near < 0) & (far == 0) & may_jump
        must = jump.flatten(1).any(1).view(-1, 1, 1)
        return jump | (step & ~must)

    def append_extra(self, positions: NDArray[np.int8]) -> NDArray[np.int8]:
        """See `Encoding.append_extra`."""
        if not self.DEPTHS:
            return positions
        from ckai.models.tactics import append_changes

        return append_changes(positions, self.DEPTHS)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """Return `[B, PLANES, 8, 4]` in [0, 1], in [-1, 1] of `material`."""
        size = board.shape[0]  # `len` would be a constant of a traced network
        if self.DEPTHS:
            if extra is None:
                extra = self.extra(board, jumper, halfmove_clock)
            assert extra is not None
            extra = extra.view(-1, len(self.DEPTHS), SQUARES, 4).transpose(2, 3)
            extra = extra.reshape(-1, len(self.DEPTHS) * 4, SQUARES)
        pieces = (board.unsqueeze(1) == self.values).to(dtype)

        def planes(part: str) -> Tensor:
            match part:
                case "board":
                    return board.unsqueeze(1)
                case "pieces":
                    return pieces
                case "empty":
                    return (board == 0).unsqueeze(1)
                case "odd rows":
                    return self.odd.expand(size, 1, SQUARES)
                case "jumper":
                    return (jumper.view(-1, 1) == self.squares).unsqueeze(1)
                case "halfmove clock":
                    share = (halfmove_clock.to(dtype) / HALFMOVE_SCALE).clamp(max=1.0)
                    return share.view(-1, 1, 1).expand(size, 1, SQUARES)
                case "pairs":
                    # Two of the four directions, so that each pair is seen once.
                    near = functional.pad(pieces, (0, 1)).index_select(2, self.near[SQUARES : 3 * SQUARES])
                    near = near.view(-1, 1, 4, 2, SQUARES).permute(0, 3, 1, 2, 4)
                    return (pieces.view(-1, 1, 4, 1, SQUARES) * near).reshape(-1, 2 * 16, SQUARES)
                case "hops":
                    return self.legal(board, jumper)
            assert extra is not None
            return (extra.to(dtype) / TACTICS_SCALE).clamp(-1.0, 1.0) if part == "material" else extra < 0

        found = torch.cat([planes(part).to(dtype) for part in self.PARTS], 1)
        return found.view(-1, found.shape[1], ROWS, COLUMNS)


_NAMES = {
    "board": ("pieces",),
    "pieces": PIECES,
    "empty": ("empty",),
    "odd rows": ("odd rows",),
    "jumper": ("jumper",),
    "halfmove clock": ("halfmove clock",),
    "pairs": tuple(f"{one} and {way} {other}" for way in WAYS[1:3] for one, other in product(PIECES, PIECES)),
    "hops": tuple(f"hop {way}" for way in WAYS),
    "material": tuple(f"material after {way}, {{}} plies" for way in WAYS),
    "loss": tuple(f"loss after {way}, {{}} plies" for way in WAYS),
}
"""Names of the planes of each part; `{}` is the depth of a search."""


def _depths(encoding: type[CheckersEncoding], part: str) -> tuple[int, ...]:
    return encoding.DEPTHS if part in ("material", "loss") else (0,)


@register_encoding("grid")
class GridEncoding(CheckersEncoding):
    """A plane of -3, -1, 0, 1, 3, as published for `cnn2x2`; without jumper and halfmove clock."""

    VERSION, PARTS = "grid-1", ("board",)


@register_encoding("planes")
class PlanesEncoding(CheckersEncoding):
    """One plane per piece type, empty squares, row parity, jumper and halfmove clock / 80.

    From an odd row of the 8x4 grid a diagonal step leads to another column than from an even one.
    """

    VERSION = "planes-1"
    PARTS = ("pieces", "empty", "odd rows", "jumper", "halfmove clock")


@register_encoding("pieces")
class PiecesEncoding(CheckersEncoding):
    """One plane per piece type, and the jumper: binary planes of which few squares are 1."""

    VERSION = "pieces-1"
    PARTS: ClassVar[tuple[str, ...]] = ("pieces", "jumper")
    VALUES, JUMPER = (1, 3, -1, -3), True


@register_encoding("pairs")
class PairsEncoding(PiecesEncoding):
    """`PiecesEncoding`, and planes for two neighbours, of which a sum of rows knows then.

    For the directions down right and down left, one for each of the 16 combinations of their pieces.
    """

    VERSION, PARTS = "pairs-1", ("pieces", "jumper", "pairs")
    PAIRS = tuple(tuple(neighbour(i, d, 1) for i in range(SQUARES)) for d in (1, 2))


@register_encoding("moves")
class MovesEncoding(CheckersEncoding):
    """`PlanesEncoding` and four planes of the legal hops, one per direction."""

    VERSION, PARTS = "moves-1", (*PlanesEncoding.PARTS, "hops")


@register_encoding("tactics")
class TacticsEncoding(CheckersEncoding):
    """`MovesEncoding`, and what each hop wins or loses by force, see `ckai.models.tactics`.

    For each direction and depth of the search: the change of material, and whether it is a loss.
    """

    VERSION, PARTS = "tactics-1", (*MovesEncoding.PARTS, "material", "loss")
    DEPTHS: ClassVar[tuple[int, ...]] = (0, 2)
    EXTRA_BITS = 4
    EXTRA_TEXT = (
        "128 for each search, of 0 and of 2 plies (tactics4: and of 4) and all captures after them: for each "
        "action the material in half men (a man 2, a king 3; -6 to 6) that it wins by force for the side to "
        "move, 0 if it is illegal"
    )


@register_encoding("tactics4")
class DeepTacticsEncoding(TacticsEncoding):
    """`TacticsEncoding` with a search of four plies: 35 us per position instead of 4, for larger networks."""

    VERSION, PARTS = "tactics4-1", TacticsEncoding.PARTS
    DEPTHS = (0, 2, 4)


class StonesEncoding(Encoding):
    """Planes of own stones, the other's stones, and ones, which show a zero-padded convolution the edge."""

    PLANES = 3
    NAMES: ClassVar[tuple[str, ...]] = ("own stones", "other stones", "ones")
    VALUES: ClassVar[tuple[int, ...]] = (1, -1)

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return boards with random stones, `[number, position_bytes]` int8."""
        stones = rng.integers(-1, 2, (number, cls.SHAPE[0] * cls.SHAPE[1] * cls.BYTES_PER_SQUARE))
        return np.concatenate([stones, np.tile([-1, 0], (number, 1))], 1).astype(np.int8)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """Return `[B, 3, rows, columns]` of 0 and 1."""
        planes = torch.stack([board > 0, board < 0, torch.ones_like(board, dtype=torch.bool)], 1)
        return planes.to(dtype).view(-1, StonesEncoding.PLANES, *self.SHAPE)
