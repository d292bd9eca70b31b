"""The table that a game is played at: reads lines, shows boards, lets the engine move, saves."""

import datetime
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from ckai.cli.terminal.board import Look, beside, draw_board, look_of
from ckai.cli.terminal.opponent import Opponent, Reply
from ckai.cli.terminal.record import Record
from ckai.cli.terminal.session import WORDS, Command, CommandError, Session, read_command
from ckai.game import MoveError, Outcome
from ckai.pdn import from_game, write_game

PANEL_COLUMNS = 34
"""Of the lines beside a large board."""
HALFMOVE_WARNING = 40
"""Plies without a capture or a man's move from which on they are shown."""
HUMAN = "human"


def make_console() -> Console:
    """The screen of a game: standard output."""
    return Console(highlight=False, markup=False, emoji=False)


class Table:
    """A game between people at a terminal (or a pipe) and an engine."""

    def __init__(
        self, session: Session, opponent: Opponent, record: Record, console: Console, lines: TextIO
    ) -> None:
        """Set the table.

        Args:
            session: the game and who plays it.
            opponent: plays the other sides and gives hints.
            record: the file of the game.
            console: where everything is shown.
            lines: what people type; if it is the terminal, lines can be edited.
        """
        self.session, self.opponent, self.record = session, opponent, record
        self.console, self.lines = console, lines
        self.flipped = session.humans == {"black"}
        self._reply: Reply | None = None
        self._saved = False
        self._copies: dict[str, Record] = {}

    # --- the game -----------------------------------------------------------------------------------

    def play(self) -> Outcome | None:
        """Play until the end; return how it ended, None if it was left.

        Raises:
            KeyboardInterrupt: Ctrl-C; the game is saved.
        """
        self.say(self._welcome())
        try:
            self.show()
            while self.session.outcome() is None and not self.session.broken_off:
                if not self.session.human_to_move:
                    self.engine_move()
                elif not self._human_turn():
                    break
        except KeyboardInterrupt:
            self.say("")
            self._goodbye()
            raise
        return self._goodbye()

    def engine_move(self) -> None:
        """The engine plays the side to move."""
        with self.console.status("thinking ..."):
            reply = self.opponent.reply(self.session.game)
        self._reply = reply
        self.session.play(reply.move)
        self.save()
        self.show()

    def _human_turn(self) -> bool:
        """Read a line and do what it says; False to leave."""
        line = self._ask(f"{self.session.side.capitalize()}: ")
        if line is None:
            self.say("end of input")
            return False
        try:
            return self.obey(read_command(line, self.session.position))
        except (MoveError, CommandError) as error:
            self.say(str(error))
            return True

    def obey(self, command: Command) -> bool:
        """Do what a command says; False to leave the table."""
        if command.move is not None:
            self.session.play(command.move)
            self._reply = None
            self.save()
            # The engine's answer comes with a board of its own.
            if self.session.human_to_move or self.session.outcome() is not None:
                self.show()
            return True
        if command.name == "quit":
            return False
        actions: dict[str, Callable[[], object]] = {
            "help": self._help,
            "moves": self._moves,
            "hint": self._hint,
            "go": self.engine_move,
            "undo": self._undo,
            "draw": self._draw,
            "resign": self._resign,
            "board": self.show,
            "flip": self._flip,
            "fen": lambda: self.say(self.session.position.fen, whole=True),
        }
        if command.name == "save":
            self._save_as(command.argument)
        else:
            actions[command.name]()
        return True

    def _ask(self, prompt: str) -> str | None:
        """A line that a person types, None at the end of input."""
        if self.lines is sys.stdin and self.lines.isatty() and self.console.is_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401  (lines can be edited and called back)
            try:
                return input(prompt)
            except EOFError:
                self.say("")
                return None
        self.console.print(prompt, end="")
        line = self.lines.readline()
        # What a pipe says is shown, so that the transcript can be read.
        self.say(line.rstrip("\n"))
        return line if line else None

    # --- commands -----------------------------------------------------------------------------------

    def _help(self) -> None:
        self.say("A move: 11-15, 26x1 or 11 15.")
        for name, (shorts, text) in WORDS.items():
            head = f"{', '.join([name, *shorts.split()]):<15}"
            self.say(textwrap.fill(head + text, self.console.width, subsequent_indent=" " * 15))

    def _moves(self) -> None:
        self.say(", ".join(map(str, self.session.position.legal_moves())))

    def _hint(self) -> None:
        try:
            with self.console.status("thinking ..."):
                reply = self.opponent.reply(self.session.game, vary=False)
        except ValueError as error:  # no network to ask
            self.say(str(error))
            return
        for line in self._reply_lines(reply, "would play"):
            self.console.print(line)

    def _undo(self) -> None:
        taken = self.session.undo()
        if not taken:
            self.say("there is no move of yours to take back")
            return
        self.say(f"taken back: {', '.join(map(str, taken))}")
        self._reply = None
        self.save()
        self.show()

    def _resign(self) -> None:
        self.session.resign()
        self.save()

    def _draw(self) -> None:
        """People agree; the engine agrees where it does not think itself better."""
        if len(self.session.humans) == 1:
            with self.console.status("thinking ..."):
                reply = self.opponent.reply(self.session.game, vary=False)
            if reply.result.value < 0:  # of the side to move, which is not the engine's
                self.say("the engine plays on")
                return
        self.session.agree_draw()
        self.save()

    def _flip(self) -> None:
        self.flipped = not self.flipped
        self.show()

    # --- saving -------------------------------------------------------------------------------------

    def pdn(self) -> str:
        """The game as PDN."""
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
        """Write the game to its file; what goes wrong is said, and the game goes on."""
        try:
            self.record.write(self.pdn())
            self._saved = True
        except OSError as error:
            self._saved = False
            self.say(f"the game could not be saved: {error}")

    def _save_as(self, name: str) -> None:
        own = self.record.path
        if name and not (own and Path(name).resolve() == own.resolve()):
            try:
                # Once opened, so that saving there again does not add the game twice.
                copy = self._copies.get(name) or Record(Path(name))
                copy.write(self.pdn())
                self._copies[name] = copy
                self.say(f"saved in {name}", whole=True)
            except OSError as error:
                self.say(f"the game could not be saved: {error}")
            return
        self.save()
        if self._saved:
            self.say(f"saved in {self.record.path}", whole=True)

    # --- showing ------------------------------------------------------------------------------------

    def say(self, text: str, *, whole: bool = False) -> None:
        """A line, wrapped between words, or `whole` so that it can be copied."""
        self.console.print(text, soft_wrap=whole)

    def show(self) -> None:
        """The board, and what is known about the game."""
        look = look_of(self.console)
        board = draw_board(self.session.position, look, flipped=self.flipped, last=self.session.last_move)
        news = self._news(look)
        room = look.color and look.large and self.console.width >= look.width + 3 + PANEL_COLUMNS
        news = [part for line in news for part in line.wrap(self.console, PANEL_COLUMNS)] if room else news
        lines = beside(board, news, look.width) if room else [*board, *news]
        self.say("")
        for line in lines:
            self.console.print(line)

    def _news(self, look: Look) -> list[Text]:
        """The lines beside or below a board."""
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
            lines.append(
                Text(
                    f"{session.position.halfmove_clock} plies without a capture or a man's move; {limit} draw"
                )
            )
        if session.game.repetitions() == session.game.repetition_limit - 1:
            lines.append(Text("this position has stood before"))
        return lines

    def _reply_lines(self, reply: Reply, verb: str) -> list[Text]:
        """The engine's move, its value, and the moves visited most."""
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
        expected = reply.result.pv[1:4]
        if expected:
            text = "expects " + " ".join(map(str, expected))
            lines.append(Text(_cut(text, PANEL_COLUMNS), style="dim"))
        return lines

    def _welcome(self) -> str:
        session, name = self.session, self.opponent.name
        if not session.humans:
            return f"{name} against itself; Ctrl-C leaves."
        if len(session.humans) == 2:
            return "Two people; type a move such as 11-15, or help."
        mine = "".join(session.humans).capitalize()
        return f"You play {mine} against {name}; type a move such as 11-15, or help."

    def _goodbye(self) -> Outcome | None:
        outcome = self.session.outcome()
        if outcome is not None:
            self.console.print(Text(f"{outcome} ({outcome.result})", style="bold"))
        elif self.session.broken_off:
            self.say(f"broken off after {self.session.max_plies} plies (*)")
        if self._saved:
            self.say(f"saved in {self.record.path}", whole=True)
        return outcome


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 2] + ".."
