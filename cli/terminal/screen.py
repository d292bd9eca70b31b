"""Input and output of a game in the terminal: lines in; boards, thoughts and clocks out."""

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, TextIO

from rich.console import Console
from rich.text import Text

from ckai.cli.shared.console import CleanConsole
from ckai.cli.shared.output import count_text
from ckai.game.text import printable
from ckai.rl.analysis.report import expected_score, score_text
from ckai.rl.engine.base import Analysis, SearchResult
from ckai.rl.games.spec import GameSpec

COLOR_COLUMNS, COLOR_LINES = 44, 20
"""Smallest screen for a board in colour."""
COLOR_WIDTH, PLAIN_WIDTH = 5, 4
"""Columns of a square; in colour it has two lines."""
LABEL_COLUMNS = 3
"""Width of the text next to a row."""
LIGHT, DARK, MOVED = "#e9dcc0", "#57804f", "#b08a1e"
"""Colours of the squares."""
NUMBER, MOVED_NUMBER = "#c9dcc4", "#fff3c4"
"""Of the numbers on dark squares."""
PIECES = {"b": ("#000000", "#ffffff"), "w": ("#ffffff", "#000000")}
"""Colour of each side's pieces, and of the text on them."""
PANEL_COLUMNS = 34
"""Width of the panel next to a large board."""
TOP = 5
"""Most moves of a search that are shown; the move to play is always one of them."""


def has_colors(console: Console) -> bool:
    """Return whether a terminal has the size, the colours and the letters of a board in colour."""
    # With 16 colours light squares would be as white as the pieces; the fonts of Windows' old console lack
    # the pieces.
    colors = console.color_system in ("256", "truecolor") and not console.no_color
    letters = (console.encoding or "").lower().startswith("utf") and not console.legacy_windows
    large = console.width >= COLOR_COLUMNS and console.height >= COLOR_LINES
    return console.is_terminal and colors and letters and large


def draw_board(
    spec: GameSpec, position: Any, *, color: bool, marked: Collection[int] = (), flipped: bool = False
) -> list[Text]:
    """Draw a board as lines, all of the same width.

    Args:
        spec: the game.
        position: its position.
        color: see `has_colors`.
        marked: squares to highlight, of the last move.
        flipped: draw the first player at the bottom; otherwise the second, as in print.
    """
    layout, pieces, lines = spec.layout, spec.pieces(position), list[Text]()
    squares, order = {at: square for square, at in layout.squares.items()}, -1 if flipped else 1
    for r in range(layout.rows)[::order]:
        parts = []
        for c in range(layout.columns)[::order]:
            square = squares.get((r, c))
            if square is None:
                light = Text(" " * COLOR_WIDTH, f"on {LIGHT}")
                parts.append([light, light] if color else [Text(" " * PLAIN_WIDTH)])
                continue
            label = str(square) if layout.numbers else ""
            piece = pieces.get(square, ".")
            letter = spec.piece_letters.get(piece, piece)
            if color:
                parts.append(_square(piece, letter, label, marked=square in marked))
            else:
                parts.append([Text(f"{label:>2}{letter}{'*' if square in marked else ' '}")])
        drawn = [Text().join(line) for line in zip(*parts, strict=True)]
        if spec.row_labels:
            texts = [spec.row_labels[r], *[""] * (len(drawn) - 1)]
            drawn = [Text(f"{text:>2} ") + line for text, line in zip(texts, drawn, strict=True)]
        lines += drawn
    if spec.column_labels:
        margin = " " * (LABEL_COLUMNS if spec.row_labels else 0)
        width = COLOR_WIDTH if color else PLAIN_WIDTH
        labels = "".join(f"{label:^{width}}" for label in spec.column_labels[::order])
        lines.append(Text(margin + labels))
    return lines


def _square(piece: str, letter: str, label: str, *, marked: bool) -> list[Text]:
    """Draw a square that is played on, in colour; `letter` is what the game calls the piece."""
    ground = MOVED if marked else DARK
    number = f"{MOVED_NUMBER if marked else NUMBER} on {ground}"
    top = Text(f"{label:<5}", number)
    if piece == ".":
        # Squares without numbers have a dot, or they would run into one another.
        return [top, Text(f"{'' if label else '.':^5}", number)]
    fill, ink = PIECES[piece.lower()]
    king = "\u265b" if piece.isupper() else " "
    edge, body = f"{fill} on {ground}", f"bold {ink} on {fill}"
    mark = king if letter == piece else letter
    return [top, Text.assemble((" \u2590", edge), (mark, body), ("\u258c ", edge))]


def value_lines(result: SearchResult, names: tuple[str, str]) -> list[Text]:
    """Return the value of the engine's move, the most visited moves and the PV; nothing without a value."""
    if result.lines[0].value is None:
        return []
    visits = count_text(result.sims, "visit") if result.sims else ""
    effort = visits or f"{count_text(result.depth, 'ply', 'plies')} deep"
    lines = [Text(value_text(result, names)), Text(f"{effort}, {result.seconds:.1f} s")]
    top = list(result.visits)[:TOP]
    if top:
        top[-1] = top[-1] if result.move in top else result.move
        lines.append(Text(f"{'move':<14}{'network':>8}{'visits':>11}", style="dim"))
    for move in top:
        proof, plies = result.proofs.get(move, ("", None))
        searched = f"{proof} in {plies}" if plies is not None else proof or f"{result.visits[move]:,}"
        style = "bold" if move == result.move else ""
        lines.append(
            Text(f"{printable(str(move), 13):<14}{result.priors[move]:>8.1%}{searched:>11}", style=style)
        )
    if expected := result.pv[1:4]:
        text = "PV: " + " ".join(map(str, expected))
        lines.append(Text(printable(text, PANEL_COLUMNS), style="dim"))
    return lines


def value_text(result: SearchResult, names: tuple[str, str]) -> str:
    """Return the value of the move as the score that the first player can expect, or its proof."""
    best = result.lines[0]
    assert best.value is not None
    if best.proven == "draw":
        return "a proven draw"
    if best.proven:
        winner = names[(best.proven == "win") != (best.value.turn == "black")]
        return f"{winner} wins in {count_text(best.plies or 0, 'ply', 'plies')}"
    return score_text(expected_score(best.value.black()), names[0])


def time_text(seconds: float) -> str:
    """Return the time left on a clock as `4:58`, or `9.3` in the last ten seconds."""
    left = max(0.0, seconds)
    if left < 10:
        return f"{left:.1f}"
    hours, rest = divmod(int(left), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


TWICE_SECONDS = 1.0
"""Time within which a second Ctrl-C leaves the game."""


class FlagFallError(Exception):
    """The time of the player at the prompt is up."""


def make_console() -> Console:
    """Create the console of a game, on standard output."""
    return CleanConsole(highlight=False, markup=False, emoji=False)


def wait_for(work: Callable[[], SearchResult], stop: Callable[[], None]) -> SearchResult:
    """Wait for a search; Ctrl-C means "move now", and a second one within a second leaves the game.

    `stop` makes `work` return soon, also if it has only begun.
    """
    search, pressed = Analysis(lambda publish: work(), stop), -math.inf
    while True:
        try:
            return search.wait()
        except KeyboardInterrupt:
            search.stop()
            before, pressed = pressed, time.monotonic()
            if pressed - before <= TWICE_SECONDS:
                raise


class Screen:
    """A console with a prompt; `lines` is the input: if it is the terminal, lines can be edited."""

    def __init__(self, console: Console, lines: TextIO) -> None:
        self.console, self.lines = console, lines

    def print(self, text: str | Text = "", *, wrap: bool = True) -> None:
        """Print a line, wrapped between words unless `wrap` is False."""
        self.console.print(text, soft_wrap=not wrap)

    def ask(self, prompt: str, seconds: float | None = None) -> str | None:
        """Read a line; None at the end of input. A FlagFallError says that the time is over."""
        prompt = printable(prompt)
        with _alarm(seconds), suppress(EOFError, OSError):  # the end, or a terminal that is gone
            if self.lines is sys.stdin and self.lines.isatty() and self.console.is_terminal:
                with suppress(ImportError):
                    import readline  # noqa: F401  (line editing and history)
                return input(prompt)
            self.console.print(prompt, end="")
            line = self.lines.readline()
            # Echo input from a pipe, so that the transcript is readable.
            self.print(line.rstrip("\n")[:500])
            return line or None
        self.print("")
        return None


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Raise a `FlagFallError` in the block when the time is over; Windows has no such timer."""
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or sys.platform == "win32":
        yield
        return

    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise FlagFallError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
