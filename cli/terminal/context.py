"""A game at the terminal as its commands see it, and how it is shown and played."""

from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from ckai.cli.playing.clock import GameClock
from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.playing.opponent import Opponent, Reply
from ckai.cli.playing.record import Record
from ckai.cli.playing.session import Session
from ckai.cli.playing.start import Origin
from ckai.cli.terminal.board import Pieces
from ckai.cli.terminal.screen import Screen


@dataclass
class Options:
    """How a game is shown and played; the commands of the prompt change them."""

    show: bool = False
    """Show the engine's value, moves and PV with its moves."""
    auto_forced: bool = False
    """Play people's forced moves for them."""
    pieces: Pieces = "auto"
    experts: ExpertMoves | None = None
    """The data set at hand."""


class GameContext(Protocol):
    """What the commands of the prompt use and change; see `ckai.cli.terminal.game.TerminalGame`."""

    session: Session
    opponent: Opponent
    analyst: Opponent
    record: Record
    screen: Screen
    console: Console
    clock: GameClock | None
    options: Options
    source: Origin
    mode: str
    flipped: bool
    reply: Reply | None
    saved: bool

    def search(self, game: Any, lines: int) -> Reply:
        """Search the current position of a game with the analyst."""

    def engine_move(self) -> None:
        """Let the engine play for the side to move."""

    def lines_of(self, reply: Reply, who: Opponent, verb: str, *, whole: bool) -> list[Text]:
        """Return the lines about a move of the engine."""

    def confirm(self, question: str) -> bool:
        """Ask the side to move for a yes, on its time."""

    def check_time(self) -> None:
        """Raise a `FlagFallError` if the time of the side to move is up."""

    def show(self) -> None:
        """Draw the board and the panel."""

    def pdn(self) -> str:
        """Return the game as PDN."""

    def save(self) -> None:
        """Write the game to its file."""

    def adopt(self) -> None:
        """Go on in the file that the game comes from, if that is possible."""
