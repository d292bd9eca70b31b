"""A game in the terminal: reads lines, draws the board, lets the engine move, saves."""

import datetime
import difflib
import random
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.saved import new_file
from ckai.cli.playing.sides import SIDES, Side, choose_move, game_of, other, outcome_text, side_of
from ckai.cli.shared.output import error_text
from ckai.cli.terminal.screen import (
    PANEL_COLUMNS,
    FlagFallError,
    Screen,
    draw_board,
    has_colors,
    time_text,
    value_lines,
    wait_for,
)
from ckai.datasets.files import write_whole
from ckai.game import Outcome, Reason
from ckai.game.text import printable
from ckai.rl.analysis.report import score_help
from ckai.rl.engine.base import Engine, ResignsError, SearchResult, Stop
from ckai.rl.engine.limit import Clock, Limit
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

EVENT = "ckai play"
"""The Event of games that this program writes."""
HUMAN = "human"
"""Name of people in the headers of a saved game."""
MAX_LINE = 2000
"""Characters of a typed line that are looked at."""
OVER: Final = "the game is over; type new, undo, explain or quit"
PEOPLE: Final[dict[str, frozenset[Side]]] = {
    "black": frozenset({"black"}),
    "white": frozenset({"white"}),
    "both": frozenset({"black", "white"}),
    "none": frozenset(),
}
"""Sides that people play, by the value of `--side`."""


class Command(NamedTuple):
    """A command of the prompt."""

    run: Callable[["TerminalGame", str], Any]
    """Takes what follows the word; returns False to leave."""
    help: str
    words: tuple[str, ...]
    """Its name and other words for it."""
    playing: bool
    """Whether it needs a game in progress."""


COMMANDS: Final[dict[str, Command]] = {}
"""Every command by name, in the order of the help."""


def command(help: str, *more: str, playing: bool = False) -> Callable[[Any], Any]:
    """Register a method as a command of the prompt; `more` are other words for it."""

    def register(method: Any) -> Any:
        name = method.__name__.removeprefix("_do_")
        COMMANDS[name] = Command(method, help, (name, *more), playing)
        return method

    return register


class TerminalGame:
    """A game between people at a terminal (or a pipe) and an engine.

    `humans` are the sides that people play. `opponent` returns the engine, which is called `name`; `analyst`
    the one that gives hints, explains and answers draws. `chance` draws among nearly best moves of the
    opponent at the start of a game.
    """

    def __init__(
        self,
        game: Any,
        humans: Collection[Side],
        opponent: Callable[[], Engine],
        name: str,
        console: Console,
        lines: TextIO,
        *,
        analyst: Callable[[], Engine],
        spec: GameSpec = DEFAULT_GAME,
        control: Limit | None = None,
        show: bool = False,
        chance: random.Random | None = None,
    ) -> None:
        self.game, self.spec, self.opponent, self.opponent_name = game, spec, opponent, name
        self.file: Path | None = None
        self.screen, self.console = Screen(console, lines), console
        self.analyst, self.control, self.show_search = analyst, control, show
        self.chance = chance
        self.humans = frozenset(humans)
        self.flipped = spec.turnable and self.humans == {"black"}
        self.ended: Outcome | None = None
        """Outcome by resignation, agreement or time."""
        self._announced = False
        self.reply: SearchResult | None = None
        """The engine's last move, until a person moves."""
        self.opinion: SearchResult | None = None
        """With `show`, the analyst's search of the same position, where the engine gave no value."""
        self._set_clocks()

    def _set_clocks(self) -> None:
        self.clocks = {} if self.control is None else {side: Clock(self.control) for side in SIDES}

    # --- the game -----------------------------------------------------------------------------------

    @property
    def side(self) -> Side:
        """The side to move."""
        return side_of(self.game.position)

    def name(self, side: Side | None = None) -> str:
        """Return what people call a side; default: the side to move."""
        return self.spec.side_names[0 if (side or self.side) == "black" else 1]

    def outcome(self) -> Outcome | None:
        """Return the outcome, by rule, resignation, agreement or time; None while the game is in progress."""
        by_rule: Outcome | None = self.game.outcome()
        return self.ended or by_rule

    def play(self) -> Outcome | None:
        """Play until the user leaves, or a game without people ends; return the outcome of the last game."""
        self.screen.print(self._welcome())
        try:
            self.show()
            while self._turn():
                pass
        except KeyboardInterrupt:
            self.save()  # it may have come in the middle of that
            self.screen.print("")
            self._say_saved()
            raise
        self._say_saved()
        return self.outcome()

    def _turn(self) -> bool:
        """Do what comes next; return False to leave."""
        outcome = self.outcome()
        if outcome is not None and not self._announced:
            self._announced = True
            for clock in self.clocks.values():
                clock.stop()
            self.screen.print(Text(outcome_text(outcome, self.spec), style="bold"))
            if self.humans:
                self.screen.print(OVER)
            return bool(self.humans)
        if outcome is None:
            self._announced = False
            if self.clocks:
                self.clocks[self.side].start()
            if self.side not in self.humans:
                try:
                    self._engine_move()
                except ResignsError:
                    self._lose(Reason.RESIGNED, "resigned")
                return True
        try:
            line = self.screen.ask(self._prompt(), self._time_left())
            if line is None:
                self.screen.print("end of input")
                return False
            return self.execute(line)
        except FlagFallError:
            self.screen.print("")
            self._lose(Reason.TIME, "is out of time")
        except (ValueError, OSError, RuntimeError) as error:  # of a command: the game continues
            self.screen.print(str(error))
        return True

    def execute(self, line: str) -> bool:
        """Execute a typed line: a command, or a move as people type it; an empty one draws the board.

        Returns False to leave; a ValueError says what cannot be done.
        """
        text = line[:MAX_LINE].strip() or "board"
        word, _, argument = text.partition(" ")
        names = {each: found for found in COMMANDS.values() for each in found.words}
        found, over = names.get(word.lower()), self.outcome() is not None
        position, spec = self.game.position, self.spec
        if found is not None:
            if over and found.playing:
                raise ValueError(OVER)
            return found.run(self, argument.strip()) is not False
        if re.match(r"[a-z]?\d", word.lower()) or text.lower() in map(str, position.legal_moves()):
            if over:
                raise ValueError(OVER)
            self.reply = None
            self.push(spec.read_move(position, text))
            if self.side in self.humans or self.outcome() is not None:
                self.show()  # else the engine's reply draws the board again
            return True
        close = difflib.get_close_matches(word[:20].lower(), names, n=1, cutoff=0.6)
        hint = f"type a move such as {spec.move_example}, or help"
        hint = f"did you mean '{names[close[0]].words[0]}'?" if close else hint
        shown = printable(" ".join(text.split()), most=24)
        raise ValueError(f"'{shown}' is neither a move nor a command; {hint}")

    def _end(self, outcome: Outcome) -> None:
        self.reply, self.ended = None, outcome
        self.save()

    def _lose(self, reason: Reason, how: str) -> None:
        self._end(Outcome(other(self.side), reason, f"{self.side.capitalize()} {how}"))

    def _engine_move(self) -> None:
        """Let the engine play for the side to move."""
        own, self.opinion = self.clocks.get(self.side), None

        def play(engine: Engine, stop: Stop) -> SearchResult:
            return choose_move(engine, self.game, own.limit if own else None, self.chance, stop)

        self.reply = self._wait(self.opponent, play)
        # With a clock its time would be the engine's.
        if self.show_search and self.reply.lines[0].value is None and not self.clocks:
            try:
                self.opinion = self.search(self.game, 1)
            except (ValueError, OSError, RuntimeError) as error:  # the game continues without it
                self.screen.print(str(error))
        self.push(self.reply.move)
        self.show()

    def search(self, game: Any, lines: int) -> SearchResult:
        """Search the current position of a game with the analyst, for `lines` lines."""
        return self._wait(self.analyst, lambda engine, stop: engine.play(game, lines=lines, stop=stop))

    def _wait(self, load: Callable[[], Engine], work: Callable[[Engine, Stop], SearchResult]) -> SearchResult:
        with self.console.status("loading the network ..."):
            engine, stop = load(), Stop()
        with self.console.status("thinking ... (Ctrl-C: move now)"):
            return wait_for(lambda: work(engine, stop), stop.set)

    def push(self, move: Any) -> None:
        """Play a move, press the clock and save, unless the mover's time is up."""
        if self.clocks:
            if self._time_left() == 0.0:
                self._lose(Reason.TIME, "is out of time")
                return
            self.clocks[self.side].press()
        self.game.push(move)
        self.save()

    def _time_left(self) -> float | None:
        """Seconds that the side to move has; None without a clock, or where it stands still."""
        if not self.clocks or self.outcome() is not None:
            return None
        return max(0.0, self.clocks[self.side].left)

    def _confirm(self, question: str) -> bool:
        """Ask the side to move for a yes, on its time; anything else, and the end of input, is a no."""
        answer = self.screen.ask(f"{question} [y/N] ", self._time_left())
        return answer is not None and answer.strip().lower() in ("y", "yes")

    # --- saving -------------------------------------------------------------------------------------

    def adopt(self, path: Path) -> None:
        """Continue in the file that the game comes from, if that is just as this program wrote it."""
        if self.game.headers.get("Event") != EVENT or self.game.headers.get("Result", "*") != "*":
            return
        headers = {name: value for name, value in self.game.headers.items() if name != "Result"}
        if path.read_bytes() == self.spec.to_pdn(self.game, headers, "*").encode():
            self.file = path
        else:
            self.screen.print(f"{path}: has changed, so the game continues in a new file", wrap=False)

    def save(self) -> None:
        """Write the game to its file; without a move it leaves none. Errors are printed, no more."""
        names = {side.capitalize(): HUMAN if side in self.humans else self.opponent_name for side in SIDES}
        headers = {"Event": EVENT, "Date": datetime.date.today().strftime("%Y.%m.%d"), **names}
        if self.control is not None:
            added = f"+{self.control.increment:g}s" if self.control.increment else ""
            headers["TimeControl"] = f"{self.control.clock:g}s{added}"
        outcome = self.outcome()
        try:
            if self.game.moves:
                text = self.spec.to_pdn(self.game, headers, outcome.result if outcome else "*")
                self.file = self.file or new_file()
                write_whole(self.file.resolve(), text)  # follows a symbolic link
            elif self.file is not None:
                self.file.unlink(missing_ok=True)
                self.file = None
        except OSError as error:
            self.screen.print(f"the game could not be saved: {error_text(error)}")

    def _say_saved(self) -> None:
        if self.file is not None:
            self.screen.print(f"saved in {self.file}", wrap=False)

    # --- output -------------------------------------------------------------------------------------

    def show(self) -> None:
        """Draw the board and the panel, next to each other where there is room."""
        game, spec, color = self.game, self.spec, has_colors(self.console)
        marked = spec.path(game.positions[-2], game.moves[-1]) if game.moves else ()
        board = draw_board(spec, game.position, color=color, marked=marked, flipped=self.flipped)
        panel = self._panel()
        self.screen.print("")
        if color and self.console.width >= len(board[0]) + 3 + PANEL_COLUMNS:
            grid = Table.grid(padding=(0, 3))
            grid.add_column(no_wrap=True)
            grid.add_column(width=PANEL_COLUMNS)
            grid.add_row(Group(*board), Group(*panel))
            self.console.print(grid)
            return
        for line in [*board, *panel]:
            self.screen.print(line)

    def _panel(self) -> list[Text]:
        """Return the lines next to or below the board."""
        game, lines = self.game, []
        if self.reply is not None:
            name = printable(self.opponent_name, most=20)
            lines = [Text.assemble(f"{name} ", (f"plays {self.reply.move}", "bold"))]
            if self.show_search:
                lines += value_lines(self.reply, self.spec.side_names)
                lines += [] if self.opinion is None else self._advice(self.opinion)
            lines.append(Text())
        elif game.moves:
            lines = [Text(f"{self.name(other(self.side))} played {game.moves[-1]}"), Text()]
        if self.clocks:
            times = (f"{self.name(side)} {time_text(clock.left)}" for side, clock in self.clocks.items())
            lines.append(Text("  ".join(times)))
        if self.outcome() is None:
            lines.append(Text(f"{self.name()} to move", style="bold"))
        return lines

    def _advice(self, found: SearchResult) -> list[Text]:
        return [Text(f"ckai would play {found.move}", "bold"), *value_lines(found, self.spec.side_names)]

    def _prompt(self) -> str:
        if self.outcome() is not None:
            return "game over: "
        time = "" if not self.clocks else f" {time_text(self.clocks[self.side].left)}"
        return f"{self.name()}{time}: "

    def _welcome(self) -> str:
        name, example = self.opponent_name, f"type a move such as {self.spec.move_example}, or help."
        if not self.humans:
            return f"{name} plays itself; press Ctrl-C twice to leave."
        if len(self.humans) == 2:
            return f"Two people; {example}"
        (mine,) = self.humans
        return f"You play {self.name(mine)} against {name}; {example}"

    # --- commands -----------------------------------------------------------------------------------

    @command("list the legal moves", "m")
    def _do_moves(self, _: str) -> None:
        self.screen.print(", ".join(map(str, self.game.position.legal_moves())) or "no legal moves")

    @command("show a good move", "i", playing=True)
    def _do_hint(self, _: str) -> None:
        for line in self._advice(self.search(self.game, 1)):
            self.screen.print(line)

    @command("explain the last move, or explain MOVE", "e", "why")
    def _do_explain(self, argument: str) -> None:
        game, spec = self.game, self.spec
        if argument:
            move = spec.read_move(game.position, argument)
        elif not game.moves:
            raise ValueError("there is no last move; explain MOVE explains one that you could play")
        else:
            *before, move = game.moves
            game = game_of(before, spec, game.positions[0])
        for line in Explainer(spec, self.search).explain(game, move):
            self.screen.print(line)

    @command("let the engine move", "g", playing=True)
    def _do_go(self, _: str) -> None:
        self._engine_move()

    @command("take your move back", "u", "back")
    def _do_undo(self, _: str) -> None:
        """Take back all moves from the last one a person made; an end other than by rule alone.

        Where the engine resigned or its time was up, it would end the game again.
        """
        ended, self.ended = self.ended, None
        mine = [n for n, each in enumerate(self.game.positions[:-1]) if side_of(each) in self.humans]
        alone = ended is not None and (self.side in self.humans or not mine)
        if ended is None and not mine:
            raise ValueError("you have no move to take back")
        undone = [] if alone else [self.game.pop() for _ in self.game.moves[mine[-1] :]][::-1]
        self.screen.print(f"taken back: {', '.join(map(str, undone)) or 'the end of the game'}")
        self.reply = None
        for clock in self.clocks.values():
            clock.stop()
        self.show()
        self.save()

    @command("offer a draw", "d", playing=True)
    def _do_draw(self, _: str) -> None:
        """Offer a draw; the engine accepts unless it thinks it is better."""
        if not self._confirm("offer a draw?"):
            return
        if len(self.humans) == 1:
            reply = self.search(self.game, 1)
            if self._time_left() == 0.0:
                raise FlagFallError
            if reply.value is None or reply.value < 0:  # for the side to move, which is not the engine's
                self.screen.print("the engine declines the draw")
                return
        self._end(Outcome(None, Reason.AGREED, "agreed"))

    @command("resign the game", playing=True)
    def _do_resign(self, _: str) -> None:
        if self._confirm("resign?"):
            self._lose(Reason.RESIGNED, "resigned")

    @command("begin a new game, in a file of its own", "rematch")
    def _do_new(self, _: str) -> None:
        self._say_saved()
        self.file, self.game = None, self.spec.game(self.game.positions[0])
        self.ended, self.reply, self._announced = None, None, False
        self._set_clocks()
        self.show()

    @command("draw the board again", "b")
    def _do_board(self, _: str) -> None:
        self.show()

    @command("show the engine's search, or hide it again")
    def _do_show(self, _: str) -> None:
        self.show_search = not self.show_search
        self.show()

    @command("print the FEN")
    def _do_fen(self, _: str) -> None:
        self.screen.print(self.spec.position_text(self.game.position), wrap=False)

    @command("list the commands", "h", "?")
    def _do_help(self, _: str) -> None:
        self.screen.print(f"{'a move':<16}such as {self.spec.move_example}")
        for each in COMMANDS.values():
            self.screen.print(f"{', '.join(each.words):<16}{each.help}")
        self.screen.print(score_help(self.spec.side_names[0]))

    @command("leave; the game is saved after every move", "q", "exit")
    def _do_quit(self, _: str) -> bool:
        return False
