"""Draw docs/play.svg, a game of `ckai play` as a terminal shows it: `python docs/make_picture.py`."""

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

from ckai.cli.main import cli
from ckai.cli.shared.console import CleanConsole
from ckai.cli.terminal import screen

PICTURE = Path(__file__).resolve().parent / "play.svg"
GAME = ["--engine", "ckai@400", "--seed", "1", "--show"]
OPENING, MOVE = "11-15 23-19 8-11 22-17", "4-8"


class Person(io.StringIO):
    """Types one move, and leaves; what was on the screen before the move is wiped."""

    def readline(self, size: int | None = -1, /) -> str:
        """Return the next line that is typed."""
        line = super().readline()
        if line.strip() == MOVE:
            console.export_text(clear=True)
            console.print("Black: ", end="")
        else:
            drawn = console.export_svg(title="ckai play", clear=True, unique_id="play")
            # Nothing is fetched from elsewhere.
            local = re.sub(r" *@font-face \{.*?\}\n|<!--.*?-->", "", drawn, flags=re.DOTALL)
            PICTURE.write_text(local.replace("Fira Code, monospace", "'DejaVu Sans Mono', monospace"))
        return line


console = CleanConsole(
    file=io.StringIO(),
    record=True,
    width=80,
    force_terminal=True,
    force_interactive=False,
    color_system="truecolor",
    highlight=False,
)

if __name__ == "__main__":
    screen.make_console = lambda: console
    sys.stdin = Person(f"{MOVE}\nquit\n")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        cli.main(["play", *GAME, "--opening", OPENING], standalone_mode=False)
