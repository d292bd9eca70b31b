"""Draw the board in a terminal: large or small in colour, or in plain letters."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from ckai.game import Move, Position
from ckai.game.squares import file_of

if TYPE_CHECKING:
    from rich.console import Console

LARGE_COLUMNS = 44
"""Smallest width for squares of five columns by two lines."""


@dataclass(frozen=True)
class Palette:
    """Colours of the squares, as `rich` names them."""

    light: str
    dark: str
    moved: str
    number: str
    """Colour of the number on a dark square."""
    moved_number: str


FINE = Palette("#e9dcc0", "#57804f", "#b08a1e", "#c9dcc4", "#fff3c4")
BASIC = Palette("cyan", "green", "magenta", "black", "bright_white")
"""For terminals of 16 colours, where light squares would be as white as the pieces."""

_PIECE = {"b": ("#000000", "#ffffff"), "w": ("#ffffff", "#000000")}
"""Colour of each side's pieces, and of the text on them."""


@dataclass(frozen=True)
class Look:
    """How a board is drawn."""

    color: bool
    """Coloured squares; otherwise letters: b, w for men, B, W for kings."""
    large: bool
    """Squares of five columns by two lines; otherwise of four columns by one."""
    glyphs: bool = True
    """Draw blocks and crowns; otherwise spaces and letters."""
    palette: Palette = FINE

    @property
    def width(self) -> int:
        """Width of the board in columns."""
        return 40 if self.color and self.large else 32


def detect_look(console: "Console") -> Look:
    """Choose the look that suits the width, colours and encoding of a terminal."""
    color = console.is_terminal and console.color_system is not None and not console.no_color
    glyphs = (console.encoding or "").lower().startswith("utf")
    palette = FINE if console.color_system in ("256", "truecolor") else BASIC
    return Look(color, console.width >= LARGE_COLUMNS, glyphs, palette)


def draw_board(
    position: Position, look: Look, *, flipped: bool = False, last: Move | None = None
) -> list[Text]:
    """Draw a position as lines, all `look.width` columns wide.

    Args:
        position: the position.
        look: how to draw it.
        flipped: draw Black at the bottom; otherwise White, as in print.
        last: the last move; the squares of its path are highlighted.
    """
    marked = set(last.path) if last else set()
    cells = {file_of(square - 1) + 8 * ((square - 1) // 4): square for square in range(1, 33)}
    lines = []
    for row in range(8):
        parts: list[list[Text]] = []
        for file in range(8):
            at = row * 8 + file
            square = cells.get(63 - at if flipped else at)
            if square is None:
                parts.append(_light(look))
            else:
                parts.append(_dark(square, position.piece(square), square in marked, look))
        lines += [Text().join(line) for line in zip(*parts, strict=True)]
    return lines


def _light(look: Look) -> list[Text]:
    if not look.color:
        return [Text("    ")]
    style = f"on {look.palette.light}"
    return [Text("     ", style)] * 2 if look.large else [Text("    ", style)]


def _dark(square: int, piece: str, marked: bool, look: Look) -> list[Text]:
    """Draw a dark square as lines."""
    if not look.color:
        return [Text(f"{square:>2}{piece}{'*' if marked else ' '}")]
    colors = look.palette
    ground = colors.moved if marked else colors.dark
    number = f"{colors.moved_number if marked else colors.number} on {ground}"
    if piece == ".":
        if look.large:
            return [Text(f"{square:<5}", number), Text(" " * 5, number)]
        return [Text(f" {square:<3}", number)]
    fill, ink = _PIECE[piece.lower()]
    crown = ("\u265b" if look.glyphs else "K") if piece.isupper() else " "
    left, right = ("\u2590", "\u258c") if look.glyphs else (" ", " ")
    edge, body = f"{fill} on {ground}", f"bold {ink} on {fill}"
    if look.large:
        disc = Text.assemble((f" {left}", edge), (crown, body), (f"{right} ", edge))
        return [Text(f"{square:<5}", number), disc]
    tail = (crown, body) if crown.strip() else (right, edge)
    return [Text.assemble((left, edge), (f"{square:<2}", body), tail)]


def join_columns(left: list[Text], right: list[Text], width: int, gap: int = 3) -> list[Text]:
    """Join two blocks of lines side by side.

    Args:
        left: lines of the left block.
        right: lines of the right block.
        width: width of the left block in columns.
        gap: columns between the blocks.
    """
    lines = []
    for i in range(max(len(left), len(right))):
        line = left[i].copy() if i < len(left) else Text(" " * width)
        if i < len(right):
            line.append(" " * gap)
            line.append_text(right[i])
        lines.append(line)
    return lines
