"""The board as lines of a terminal: large and coloured, small and coloured, or plain letters."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from ckai.game import Move, Position
from ckai.game.squares import file_of

if TYPE_CHECKING:
    from rich.console import Console

LARGE_COLUMNS = 44
"""From this width on the squares are five columns by two lines."""


@dataclass(frozen=True)
class Palette:
    """Colours of squares, in words of rich."""

    light: str
    dark: str
    moved: str
    number: str
    """Of the number on a dark square."""
    moved_number: str


FINE = Palette("#e9dcc0", "#57804f", "#b08a1e", "#c9dcc4", "#fff3c4")
BASIC = Palette("cyan", "green", "magenta", "black", "bright_white")
"""For terminals of 16 colours, where the light squares would be as white as the pieces."""

_PIECE = {"b": ("#000000", "#ffffff"), "w": ("#ffffff", "#000000")}
"""Colour of a side's pieces, and of what is written on them."""


@dataclass(frozen=True)
class Look:
    """How a board is drawn."""

    color: bool
    """Coloured squares; else letters: b, w for men, B, W for kings."""
    large: bool
    """Squares of five columns by two lines; else of four columns by one."""
    glyphs: bool = True
    """Blocks and crowns; else blanks and letters."""
    palette: Palette = FINE

    @property
    def width(self) -> int:
        """Columns of the board."""
        return 40 if self.color and self.large else 32


def look_of(console: "Console") -> Look:
    """The look that suits a terminal: its width, its colours and its letters."""
    color = console.is_terminal and console.color_system is not None and not console.no_color
    glyphs = (console.encoding or "").lower().startswith("utf")
    palette = FINE if console.color_system in ("256", "truecolor") else BASIC
    return Look(color, console.width >= LARGE_COLUMNS, glyphs, palette)


def draw_board(
    position: Position, look: Look, *, flipped: bool = False, last: Move | None = None
) -> list[Text]:
    """The board as lines, all `look.width` wide.

    Args:
        position: what stands on it.
        look: how it is drawn.
        flipped: Black at the bottom; else White, as boards are printed.
        last: the move played last; the squares of its path are marked.
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
    """The lines of one dark square."""
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


def beside(left: list[Text], right: list[Text], width: int, gap: int = 3) -> list[Text]:
    """Two blocks of lines side by side, the left one `width` columns wide."""
    lines = []
    for i in range(max(len(left), len(right))):
        line = left[i].copy() if i < len(left) else Text(" " * width)
        if i < len(right):
            line.append(" " * gap)
            line.append_text(right[i])
        lines.append(line)
    return lines
