"""What a network sees of a position: small modules that turn row tensors into planes on the 8x4 grid.

Every encoding takes the same three tensors, always in mover's view (whoever moves plays towards higher rows):

- `board` `[B, 32]` int8: 1 own man, 3 own king, -1 / -3 the other's, 0 empty;
- `jumper` `[B]` int8: index of the piece that must go on capturing, -1 if none;
- `halfmove_clock` `[B]` int16: plies since the last capture or man's move.

Encodings of other games take the same tensors, see `ckai.models.inputs.stones` and `.registry`.

It gives floats `[B, planes, 8, 4]`, in the type of the network's weights. `VERSION` names the planes; it is
stored in checkpoints, and changes when a plane does.

Version history:
    grid-1: one plane of -3, -1, 0, 1, 3.
    planes-1: own men, own kings, the other's men, the other's kings, empty, odd rows, jumper, halfmove_clock / 80.
    moves-1: planes-1, and for each direction whether the piece may hop there.
    tactics-1: moves-1, and for each direction what that hop changes in material by force, and whether it
    loses:
        by the captures that follow it, and by the best two plies and the captures after those.
    tactics4-1: the same, and by the best four plies.
"""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.game import Position
from ckai.game.squares import NUM_ACTIONS, SQUARES, neighbour
from ckai.models.inputs.packing import pack_positions, unpack_position

ROWS, COLUMNS = 8, 4
HALFMOVE_SCALE = 80.0
"""The halfmove clock at which the game is drawn by default; the plane is 1 there."""


class Encoding(nn.Module):
    """Rows to planes; knows its number of planes and its version.

    Attributes:
        GAME: name of the game, see `ckai.rl.games.registry`.
        SHAPE: rows and columns of its board.
        NUM_ACTIONS: its actions.
        EXTRA: bytes of a position that tensors cannot compute, see `extra`.
        STEPS: whether action i is a step from square i // 4 in direction i % 4.
    """

    VERSION: ClassVar[str]
    PLANES: ClassVar[int]
    GAME: ClassVar[str]
    SHAPE: ClassVar[tuple[int, int]]
    NUM_ACTIONS: ClassVar[int]
    EXTRA: ClassVar[int] = 0
    STEPS: ClassVar[bool] = False

    @property
    def board_size(self) -> int:
        """Squares of the board."""
        return self.SHAPE[0] * self.SHAPE[1]

    @property
    def position_bytes(self) -> int:
        """Length of a position as a search encodes it: the squares, the jumper, the halfmove clock."""
        return self.board_size + 2

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Positions to try a network on, `[number, position_bytes]` int8."""
        raise NotImplementedError

    @classmethod
    def legal_mask(cls, boards: NDArray[np.int8]) -> NDArray[np.bool_]:
        """`[B, NUM_ACTIONS]` bool, the actions that the rules allow in positions `[B, position_bytes]`."""
        raise NotImplementedError

    def extra(self, board: Tensor, jumper: Tensor) -> Tensor | None:
        """`[B, EXTRA]` int8, computed on the CPU and brought to the device of `board`; None if there is
        nothing."""
        return None

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """`[B, PLANES, 8, 4]` of `dtype`; see the module's page for the inputs, `extra` is computed if
        missing."""
        raise NotImplementedError


class CheckersEncoding(Encoding):
    """The part that all encodings of checkers share."""

    GAME = DEFAULT_GAME_NAME
    SHAPE = (ROWS, COLUMNS)
    NUM_ACTIONS = NUM_ACTIONS
    STEPS = True

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Positions of random games, the side to move not lost, those within a jump included."""
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
        mask = np.zeros((len(boards), NUM_ACTIONS), np.bool_)
        for row, allowed in zip(boards, mask, strict=True):
            position = unpack_position(row[:SQUARES], int(row[SQUARES]), int(row[SQUARES + 1]), black=True)
            allowed[position.legal_actions()] = True
        return mask


class GridEncoding(CheckersEncoding):
    """The seed article's single plane: -3, -1, 0, 1, 3. The jumper and the halfmove clock are not seen."""

    VERSION = "grid-1"
    PLANES = 1

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """`[B, 1, 8, 4]`."""
        return board.to(dtype).view(-1, 1, ROWS, COLUMNS)


class PlanesEncoding(CheckersEncoding):
    """One plane per kind of piece, and what the pieces alone do not say.

    Row parity is a plane because in the 8x4 grid a diagonal step leads to another column from an odd row
    than from an even one.
    """

    VERSION = "planes-1"
    PLANES = 8

    values: Tensor
    parity: Tensor
    squares: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer(
            "values", torch.tensor([1, 3, -1, -3, 0], dtype=torch.int8).view(1, 5, 1), persistent=False
        )
        self.register_buffer("parity", (torch.arange(32) // COLUMNS % 2).view(1, 1, 32), persistent=False)
        self.register_buffer("squares", torch.arange(32, dtype=torch.int8).view(1, 32), persistent=False)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """`[B, 8, 8, 4]`, everything in [0, 1]; halfmove_clock is cut at 80."""
        size = board.shape[0]
        pieces = (board.unsqueeze(1) == self.values).to(dtype)
        parity = self.parity.to(dtype).expand(size, 1, 32)
        going_on = (jumper.view(-1, 1) == self.squares).to(dtype).unsqueeze(1)
        count = (halfmove_clock.to(dtype) / HALFMOVE_SCALE).clamp(max=1.0).view(-1, 1, 1).expand(size, 1, 32)
        return torch.cat([pieces, parity, going_on, count], 1).view(
            size, PlanesEncoding.PLANES, ROWS, COLUMNS
        )


class MovesEncoding(PlanesEncoding):
    """The planes, and four more: whether the piece on a square may hop in each direction.

    Captures are compulsory, and between hops only the jumper may move: rules that the other encodings
    leave to be learned.
    """

    VERSION = "moves-1"
    PLANES = PlanesEncoding.PLANES + 4

    near: Tensor
    far: Tensor
    up: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name, distance in (("near", 1), ("far", 2)):
            # Off the board is index 32, a square of its own.
            to = [[neighbour(i, d, distance) % (SQUARES + 1) for i in range(SQUARES)] for d in range(4)]
            self.register_buffer(name, torch.tensor(to).view(-1), persistent=False)
        up = torch.tensor([True, False, False, True]).view(1, 4, 1)
        self.register_buffer("up", up, persistent=False)

    def legal(self, board: Tensor, jumper: Tensor) -> Tensor:
        """`[B, 4, 32]` bool, whether the piece on a square may hop in each direction."""
        padded = torch.nn.functional.pad(board, (0, 1), value=9)  # off the board is neither empty nor a piece
        near = padded.index_select(1, self.near).view(-1, 4, SQUARES)
        far = padded.index_select(1, self.far).view(-1, 4, SQUARES)
        mine = board.unsqueeze(1)
        goes = (mine == 3) | ((mine == 1) & ~self.up)
        step = goes & (near == 0)
        going_on = jumper.view(-1, 1)
        may_jump = ((going_on < 0) | (going_on == self.squares)).unsqueeze(1)
        jump = goes & (near < 0) & (far == 0) & may_jump
        must = jump.flatten(1).any(1).view(-1, 1, 1)
        return jump | (step & ~must)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """`[B, 12, 8, 4]`, everything in [0, 1]."""
        planes = super().forward(board, jumper, halfmove_clock, dtype)
        return torch.cat([planes, self.legal(board, jumper).to(dtype).view(-1, 4, ROWS, COLUMNS)], 1)


class TacticsEncoding(MovesEncoding):
    """The moves, and what each wins or loses by force, see `ckai.models.inputs.tactics`."""

    VERSION = "tactics-1"
    DEPTHS: ClassVar[tuple[int, ...]] = (0, 2)
    """Plies searched after the hop; each depth has planes of its own."""
    PLANES = MovesEncoding.PLANES + 8 * 2
    EXTRA = NUM_ACTIONS * 2

    SCALE = 6.0
    """Half men that fill a plane: three men."""

    def extra(self, board: Tensor, jumper: Tensor) -> Tensor:
        """`[B, 128 * depths]` int8: the change of material that each hop brings, in half men."""
        from ckai.models.inputs.tactics import material_changes

        boards = np.ascontiguousarray(board.cpu().numpy())
        jumpers = np.ascontiguousarray(jumper.cpu().numpy())
        found = [material_changes(boards, jumpers, depth) for depth in self.DEPTHS]
        return torch.from_numpy(np.concatenate(found, 1)).to(board.device)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """`[B, PLANES, 8, 4]`, everything in [-1, 1]."""
        if extra is None:
            extra = self.extra(board, jumper)
        changes = extra.view(-1, len(self.DEPTHS), SQUARES, 4).transpose(2, 3)
        changes = changes.reshape(-1, len(self.DEPTHS) * 4, ROWS, COLUMNS)
        amount = (changes.to(dtype) / self.SCALE).clamp(-1.0, 1.0)
        return torch.cat(
            [super().forward(board, jumper, halfmove_clock, dtype), amount, (changes < 0).to(dtype)], 1
        )


class DeepTacticsEncoding(TacticsEncoding):
    """A longer glance ahead: some 35 us a position instead of 4, for networks that take longer than that."""

    VERSION = "tactics4-1"
    DEPTHS = (0, 2, 4)
    PLANES = MovesEncoding.PLANES + 8 * 3
    EXTRA = NUM_ACTIONS * 3
