"""A game in the terminal: reads commands, draws the board, lets the engine move, saves."""

import datetime
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from ckai.cli.shared.output import count_text
from ckai.cli.terminal.board import Look, detect_look, draw_board, join_columns
from ckai.cli.terminal.opponent import Opponent, Reply
from ckai.cli.terminal.record import Record
from ckai.cli.terminal.session import COMMANDS, Command, CommandError, Session, read_command
from ckai.datasets.files import WriteError
from ckai.game import MoveError, Outcome
from ckai.pdn import from_game, write_game

PANEL_COLUMNS = 34
"""Width of the panel next to a large board."""
HALFMOVE_WARNING = 40
"""Halfmove clock from which it is shown."""
HUMAN = "human"


def make_console() -> Console:
    """Create the console of a game, on standard output."""
    return Console(highlight=False, markup=False, emoji=False)


class TerminalGame:
    """A game between people at a terminal (or a pipe) and an engine."""

    def __init__(
        self, session: Session, opponent: Opponent, record: Record, console: Console, lines: TextIO
    ) -> None:
        """Set up the game.

        Args:
            session: the game and who plays it.
            opponent: plays the other sides and gives hints.
            record: the file of the game.
            console: output.
            lines: input; if it is the terminal, lines can be edited.
        """
        self.session, self.opponent, self.record = session, opponent, record
        self.console, self.lines = console, lines
        self.flipped = session.humans == {"black"}
        self._reply: Reply | None = None
        self._saved = False
        self._copies: dict[Path, Record] = {}

    # --- the game -----------------------------------------------------------------------------------

    def play(self) -> Outcome | None:
        """Play until the game ends or the user leaves.

        Returns:
            The outcome; None if the game is unfinished.

        Raises:
            KeyboardInterrupt: Ctrl-C; the game is saved.
        """
        self.print(self._welcome())
        try:
            self.show()
            while self.session.outcome() is None and not self.session.stopped:
                if not self.session.human_to_move:
                    self.engine_move()
                elif not self._human_turn():
                    break
        except KeyboardInterrupt:
            self.print("")
            self._goodbye()
            raise
        return self._goodbye()

    def engine_move(self) -> None:
        """Let the engine play for the side to move."""
        self._play_reply(self._search())

    def _search(self, *, vary: bool = True) -> Reply:
        """Search the current position.

        Raises:
            ValueError, OSError, RuntimeError: the engine cannot be loaded, or its network fails.
        """
        self.opponent.load()  # it shows what it does, so not below the status
        with self.console.status("thinking ..."):
            return self.opponent.reply(self.session.game, vary=vary)

    def _asked_search(self, *, vary: bool = False) -> Reply | None:
        """Search because of a command; print why the engine cannot, and return None: the game goes on."""
        try:
            return self._search(vary=vary)
        except (ValueError, OSError, RuntimeError) as error:
            self.print(str(error))
            return None

    def _play_reply(self, reply: Reply) -> None:
        self._reply = reply
        self.session.play(reply.move)
        self.save()
        self.show()

    def _human_turn(self) -> bool:
        """Read and execute a line; return False to leave."""
        line = self._ask(f"{self.session.side.capitalize()}: ")
        if line is None:
            self.print("end of input")
            return False
        try:
            return self.execute(read_command(line, self.session.position))
        except (MoveError, CommandError) as error:
            self.print(str(error))
            return True

    def execute(self, command: Command) -> bool:
        """Execute a command; return False to leave."""
        if command.move is not None:
            self.session.play(command.move)
            self._reply = None
            self.save()
            # The engine's reply draws the board again.
            if self.session.human_to_move or self.session.outcome() is not None:
                self.show()
            return True
        if command.name == "quit":
            return False
        actions: dict[str, Callable[[], object]] = {
            "help": self._help,
            "moves": self._moves,
            "hint": self._hint,
            "go": self._go,
            "undo": self._undo,
            "draw": self._draw,
            "resign": self._resign,
            "board": self.show,
            "flip": self._flip,
            "fen": lambda: self.print(self.session.position.fen, wrap=False),
        }
        if command.name == "save":
            self._save_as(command.argument)
        else:
            actions[command.name]()
        return True

    def _ask(self, prompt: str) -> str | None:
        """Read a line; None at the end of input."""
        if self.lines is sys.stdin and self.lines.isatty() and self.console.is_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401  (line editing and history)
            try:
                return input(prompt)
            except EOFError:
                self.print("")
                return None
        self.console.print(prompt, end="")
        line = self.lines.readline()
        # Echo input from a pipe, so that the transcript is readable.
        self.print(line.rstrip("\n"))
        return line if line else None

    # --- commands -----------------------------------------------------------------------------------

    def _help(self) -> None:
        self.print("A move: 11-15, 26x1 or 11 15.")
        for name, (shorts, text) in COMMANDS.items():
            head = f"{', '.join([name, *shorts.split()]):<15}"
            self.print(textwrap.fill(head + text, self.console.width, subsequent_indent=" " * 15))

    def _moves(self) -> None:
        self.print(", ".join(map(str, self.session.position.legal_moves())))

    def _hint(self) -> None:
        reply = self._asked_search()
        if reply is None:
            return
        for line in self._reply_lines(reply, "would play"):
            self.console.print(line)

    def _go(self) -> None:
        reply = self._asked_search(vary=True)
        if reply is not None:
            self._play_reply(reply)

    def _undo(self) -> None:
        undone = self.session.undo()
        if not undone:
            self.print("there is no move of yours to take back")
            return
        self.print(f"taken back: {', '.join(map(str, undone))}")
        self._reply = None
        self.save()
        self.show()

    def _resign(self) -> None:
        self.session.resign()
        self.save()

    def _draw(self) -> None:
        """Offer a draw; the engine accepts unless it thinks it is better."""
        if len(self.session.humans) == 1:
            reply = self._asked_search()
            if reply is None:
                return
            if reply.result.value < 0:  # for the side to move, which is not the engine's
                self.print("the engine declines the draw")
                return
        self.session.agree_draw()
        self.save()

    def _flip(self) -> None:
        self.flipped = not self.flipped
        self.show()

    # --- saving -------------------------------------------------------------------------------------

    def pdn(self) -> str:
        """Return the game as PDN."""
        session = self.session
        names = {side: HUMAN if side in session.humans else self.opponent.name for side in ("black", "white")}
        headers = {
            "Event": "ckai play",
            "Date": datetime.date.today().strftime("%Y.%m.%d"),
            "Black": names["black"],
            "White": names["white"],
        }
        return write_game(from_game(session.game, headers, session.result))

    def save(self) -> None:
        """Write the game to its file; an error is printed, and the game continues."""
        try:
            self.record.write(self.pdn())
            self._saved = True
        except OSError as error:
            self._saved = False
            self.print(f"the game could not be saved: {_reason(error)}")

    def _save_as(self, name: str) -> None:
        own = self.record.path
        try:
            path = Path(name).expanduser()
            if name and not (own and path.resolve() == own.resolve()):
                # Kept, so that saving there again replaces the game instead of appending it twice.
                copy = self._copies.get(path.resolve()) or Record(path)
                copy.write(self.pdn())
                self._copies[path.resolve()] = copy
                self.print(f"saved in {path}", wrap=False)
                return
        except (OSError, ValueError, RuntimeError) as error:  # a null byte, ~ of nobody
            self.print(f"the game could not be saved: {_reason(error)}")
            return
        self.save()
        if self._saved:
            self.print(f"saved in {self.record.path}", wrap=False)

    # --- output -------------------------------------------------------------------------------------

    def print(self, text: str, *, wrap: bool = True) -> None:
        """Print a line, wrapped between words unless `wrap` is False."""
        self.console.print(text, soft_wrap=not wrap)

    def show(self) -> None:
        """Draw the board and the panel."""
        look = detect_look(self.console)
        board = draw_board(self.session.position, look, flipped=self.flipped, last=self.session.last_move)
        panel = self._panel(look)
        wide = look.color and look.large and self.console.width >= look.width + 3 + PANEL_COLUMNS
        panel = [part for line in panel for part in line.wrap(self.console, PANEL_COLUMNS)] if wide else panel
        lines = join_columns(board, panel, look.width) if wide else [*board, *panel]
        self.print("")
        for line in lines:
            self.console.print(line)

    def _panel(self, look: Look) -> list[Text]:
        """Return the lines next to or below the board."""
        session = self.session
        lines: list[Text] = []
        if self._reply is not None:
            lines += self._reply_lines(self._reply, "plays")
            lines.append(Text())
        elif session.last_move is not None:
            mover = "White" if session.side == "black" else "Black"
            lines += [Text(f"{mover} played {session.last_move}"), Text()]
        score = session.numbered(4)
        if look.color and look.large:
            lines += [Text(line, style="dim") for line in score] + ([Text()] if score else [])
        if session.outcome() is None:
            lines.append(Text(f"{session.side.capitalize()} to move", style="bold"))
        if session.position.halfmove_clock >= HALFMOVE_WARNING:
            limit = session.game.halfmove_limit
            clock = session.position.halfmove_clock
            lines.append(Text(f"{clock} plies without a capture or a man's move; drawn at {limit}"))
        if session.game.repetitions() == session.game.repetition_limit - 1:
            lines.append(Text("this position is repeated"))
        return lines

    def _reply_lines(self, reply: Reply, verb: str) -> list[Text]:
        """Return the engine's move, its value, the most visited moves and the PV."""
        move = Text.assemble(("ckai ", ""), (f"{verb} {reply.move}", "bold"))
        lines = [
            move,
            Text(reply.evaluation),
            Text(reply.effort),
            Text(f"{'move':<14}{'network':>8}{'visits':>11}", style="dim"),
        ]
        for candidate, prior, searched in reply.top_moves():
            style = "bold" if candidate == reply.move else ""
            lines.append(Text(f"{_cut(str(candidate), 13):<14}{prior:>8.1%}{searched:>11}", style=style))
        expected = reply.line.pv[1:4]
        if expected:
            text = "PV: " + " ".join(map(str, expected))
            lines.append(Text(_cut(text, PANEL_COLUMNS), style="dim"))
        return lines

    def _welcome(self) -> str:
        session, name = self.session, self.opponent.name
        if not session.humans:
            return f"{name} plays itself; press Ctrl-C to leave."
        if len(session.humans) == 2:
            return "Two people; type a move such as 11-15, or help."
        mine = "".join(session.humans).capitalize()
        return f"You play {mine} against {name}; type a move such as 11-15, or help."

    def _goodbye(self) -> Outcome | None:
        outcome = self.session.outcome()
        if outcome is not None:
            self.console.print(Text(f"{outcome} ({outcome.result})", style="bold"))
        elif self.session.stopped:
            self.print(f"stopped after {count_text(len(self.session.game.moves), 'ply', 'plies')} (*)")
        if self._saved:
            self.print(f"saved in {self.record.path}", wrap=False)
        return outcome


def _reason(error: Exception) -> str:
    """Return why a file could not be written, without the number of the error."""
    if isinstance(error, OSError) and not isinstance(error, WriteError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 2] + ".."
