"""Draw the board of a game in a terminal: large or small in colour, or in plain letters."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from rich.console import Console

LARGE_COLUMNS, LARGE_LINES = 44, 20
"""Smallest screen for squares of five columns by two lines."""
LABEL_COLUMNS = 3
"""Width of the text next to a row."""


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
_BASIC_PIECE = {"b": ("black", "bright_white"), "w": ("bright_white", "black")}


@dataclass(frozen=True)
class Look:
    """How a board is drawn."""

    color: bool
    """Coloured squares; otherwise plain text."""
    large: bool
    """Squares of five columns by two lines; otherwise of four columns by one."""
    glyphs: bool = True
    """Draw blocks and crowns; otherwise spaces and letters."""
    palette: Palette = FINE

    def width(self, spec: GameSpec) -> int:
        """Return the width of a board in columns, with the text next to its rows."""
        margin = LABEL_COLUMNS if spec.row_labels else 0
        return margin + self.square_width * spec.layout.columns

    @property
    def square_width(self) -> int:
        """Width of a square in columns."""
        return 5 if self.color and self.large else 4


def detect_look(console: "Console") -> Look:
    """Choose the look that suits the size, colours and encoding of a terminal."""
    color = console.is_terminal and console.color_system is not None and not console.no_color
    # The fonts of Windows' old console lack the pieces.
    glyphs = (console.encoding or "").lower().startswith("utf") and not console.legacy_windows
    palette = FINE if console.color_system in ("256", "truecolor") else BASIC
    large = console.width >= LARGE_COLUMNS and not (console.is_terminal and console.height < LARGE_LINES)
    return Look(color, large, glyphs, palette)


def draw_board(
    spec: GameSpec, position: Any, look: Look, *, marked: Collection[int] = (), flipped: bool = False
) -> list[Text]:
    """Draw a board as lines, all of the look's width.

    Args:
        spec: the game.
        position: its position.
        look: how to draw it.
        marked: squares to highlight: those of the last move.
        flipped: draw the first player at the bottom; otherwise the second, as in print.
    """
    layout, pieces, lines = spec.layout, spec.pieces(position), list[Text]()
    squares, order = {at: square for square, at in layout.squares.items()}, -1 if flipped else 1
    for r in range(layout.rows)[::order]:
        parts = []
        for c in range(layout.columns)[::order]:
            square = squares.get((r, c))
            if square is None:
                parts.append(_light(look))
            else:
                label = str(square) if layout.numbers else ""
                piece = pieces.get(square, ".")
                letter = spec.piece_letters.get(piece, piece)
                parts.append(_cell(piece, letter, label, square in marked, look))
        drawn = [Text().join(line) for line in zip(*parts, strict=True)]
        if spec.row_labels:
            texts = [spec.row_labels[r], *[""] * (len(drawn) - 1)]
            drawn = [Text(f"{text:>2} ") + line for text, line in zip(texts, drawn, strict=True)]
        lines += drawn
    if spec.column_labels:
        margin = " " * (LABEL_COLUMNS if spec.row_labels else 0)
        labels = "".join(f"{label:^{look.square_width}}" for label in spec.column_labels[::order])
        lines.append(Text(margin + labels))
    return lines


def _cell(piece: str, letter: str, label: str, marked: bool, look: Look) -> list[Text]:
    """Draw a square that is played on as lines; `letter` is what the game calls the piece."""
    if not look.color:
        return [Text(f"{label:>2}{letter}{'*' if marked else ' '}")]
    colors = look.palette
    ground = colors.moved if marked else colors.dark
    number = f"{colors.moved_number if marked else colors.number} on {ground}"
    if piece == ".":
        if not look.large:
            return [Text(f" {label or '.':<3}", number)]
        # Squares without numbers have a dot, or they would run into one another.
        return [Text(f"{label:<5}", number), Text(f"{'' if label else '.':^5}", number)]
    fill, ink = (_PIECE if colors is FINE else _BASIC_PIECE)[piece.lower()]
    king = ("\u265b" if look.glyphs else "K") if piece.isupper() else " "
    mark = king if letter == piece else letter
    left, right = ("\u2590", "\u258c") if look.glyphs else (" ", " ")
    edge, body = f"{fill} on {ground}", f"bold {ink} on {fill}"
    if look.large:
        disc = Text.assemble((f" {left}", edge), (mark, body), (f"{right} ", edge))
        return [Text(f"{label:<5}", number), disc]
    tail = (mark, body) if mark.strip() else (right, edge)
    return [Text.assemble((left, edge), (f"{label:<2}", body), tail)]


def _light(look: Look) -> list[Text]:
    if not look.color:
        return [Text("    ")]
    style = f"on {look.palette.light}"
    return [Text("     ", style)] * 2 if look.large else [Text("    ", style)]
