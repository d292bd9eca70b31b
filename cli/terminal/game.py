"""A game in the terminal: reads lines, draws the board, lets the engine move, saves."""

import copy
import datetime
import random
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, TextIO

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ckai.cli.playing.engines import LazyEngine, choose_move
from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.lines import search_lines as search_best
from ckai.cli.playing.record import Record, error_text
from ckai.cli.playing.sides import (
    PEOPLE,
    SIDES,
    Side,
    agreed,
    game_of,
    other,
    out_of_time,
    outcome_text,
    resigned,
    side_of,
)
from ckai.cli.playing.start import FileGame, file_game, opening_moves
from ckai.cli.shared.console import make_table
from ckai.cli.terminal.board import detect_look, draw_board
from ckai.cli.terminal.commands import COMMANDS, OVER, Command, read_command
from ckai.cli.terminal.panel import PANEL_COLUMNS, numbered, search_lines, time_text
from ckai.cli.terminal.screen import FlagFallError, Screen, wait_for
from ckai.game import Outcome
from ckai.rl.analysis.score import score_help
from ckai.rl.engine.base import Engine, ResignsError, Stop
from ckai.rl.engine.result import SearchResult
from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

EVENT = "ckai play"
"""The Event of games that this program writes."""
HUMAN = "human"
"""Name of people in the headers of a saved game."""
SCORE_LINES = 4
"""Lines of the moves that are shown."""


class TerminalGame:
    """A game between people at a terminal (or a pipe) and an engine.

    Args:
        game: the game up to its current position.
        humans: sides that people play; the engine plays the others.
        opponent: the engine.
        record: the file of the game.
        console: output.
        lines: input; if it is the terminal, lines can be edited.
        spec: the rules.
        analyst: gives hints, explains and answers draws; None: the opponent.
        control: time of each side; None: no limit.
        show: show the value, moves and PV of the engine's moves.
        chance: draws among nearly best moves of the engine at the start of a game; None: it plays the best.
    """

    def __init__(
        self,
        game: Any,
        humans: Collection[Side],
        opponent: LazyEngine,
        record: Record,
        console: Console,
        lines: TextIO,
        *,
        spec: GameSpec = DEFAULT_GAME,
        analyst: LazyEngine | None = None,
        control: TimeControl | None = None,
        show: bool = False,
        chance: random.Random | None = None,
    ) -> None:
        self.game, self.spec, self.opponent, self.record = game, spec, opponent, record
        self.screen, self.console = Screen(console, lines), console
        self.analyst, self.control, self.show_search = analyst or opponent, control, show
        self.chance = chance
        self._sit(humans)
        self.ended: Outcome | None = None
        """Outcome by resignation, agreement or time."""
        self._announced = False
        self.reply: SearchResult | None = None
        """The engine's last move, until a person moves."""
        self._saving = False
        """Whether a save was begun and has not ended."""
        self._set_clocks()

    def _sit(self, humans: Collection[Side]) -> None:
        self.humans = frozenset(humans)
        self.flipped = self.spec.turnable and self.humans == {"black"}

    def _set_clocks(self) -> None:
        self.clocks = {} if self.control is None else {side: Clock(self.control) for side in SIDES}
        self._marks: dict[int, dict[Side, Clock]] = {}
        """By ply, the clocks as they were when a move began."""

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
        """Play until the user leaves, or a game without people ends.

        Returns:
            The outcome of the last game; None if it is unfinished.

        Raises:
            KeyboardInterrupt: Ctrl-C; the game is saved.
        """
        self.screen.print(self._welcome())
        try:
            self.show()
            while self._turn():
                pass
        except (KeyboardInterrupt, SystemExit):
            if self._saving:  # Ctrl-C came in the middle of it
                self.save()
            with suppress(OSError):  # the terminal may be gone
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
                self._marks.setdefault(len(self.game.moves), self._clocks_now())
                self.clocks[self.side].start()
            if self.side not in self.humans:
                try:
                    self._engine_move()
                except ResignsError:
                    self._end(resigned(self.side))
                return True
        try:
            line = self.screen.ask(self._prompt(), self._time_left())
            if line is None:
                self.screen.print("end of input")
                return False
            return self.execute(
                read_command(line, self.game.position, self.spec, over=self.outcome() is not None)
            )
        except FlagFallError:
            self.screen.print("")
            self._end(out_of_time(self.side))
        except ValueError as error:
            self.screen.print(str(error))
        return True

    def _end(self, outcome: Outcome) -> None:
        self.reply, self.ended = None, outcome
        self.save()

    def _engine_move(self) -> None:
        """Let the engine play for the side to move."""
        clock = self.clocks.get(self.side)

        def choose(engine: Engine, stop: Stop) -> SearchResult:
            return choose_move(engine, self.game, clock=clock, chance=self.chance, stop=stop)

        self.reply = self._wait(self.opponent, choose)
        self.push(self.reply.move)
        self.show()

    def search(self, game: Any, lines: int) -> SearchResult:
        """Search the current position of a game with the analyst, for `lines` lines.

        Raises:
            ValueError, OSError, RuntimeError: the engine cannot be loaded, or its network fails.
        """
        return self._wait(self.analyst, lambda engine, stop: search_best(engine, game, None, lines, stop))

    def _wait(self, who: LazyEngine, work: Callable[[Engine, Stop], SearchResult]) -> SearchResult:
        engine, stop = who.get(), Stop()  # loading prints its own progress, so not under the status line
        with self.console.status("thinking ... (Ctrl-C: move now)"):
            return wait_for(lambda: work(engine, stop), stop.set)

    def push(self, move: Any) -> None:
        """Play a move, press the clock and save, unless the mover's time is up."""
        if self.clocks:
            if self._time_left() == 0.0:
                self._end(out_of_time(self.side))
                return
            self.clocks[self.side].press()
        self.game.push(move)
        self.save()

    def execute(self, command: Command) -> bool:
        """Execute a move, `quit` or another command, whose method is `_do_` and its name.

        Returns:
            False to leave.

        Raises:
            ValueError: the argument cannot be used.
        """
        if command.name == "quit":
            return False
        if command.move is None:
            getattr(self, f"_do_{command.name}")(command.argument)
            return True
        self.reply = None
        self.push(command.move)
        if self.side in self.humans or self.outcome() is not None:
            self.show()  # else the engine's reply draws the board again
        return True

    # --- clocks -------------------------------------------------------------------------------------

    def _clocks_now(self) -> dict[Side, Clock]:
        return {side: copy.copy(clock) for side, clock in self.clocks.items()}

    def _time_left(self) -> float | None:
        """Seconds that the side to move has; None without a clock, or where it stands still."""
        if not self.clocks or self.outcome() is not None:
            return None
        return max(0.0, self.clocks[self.side].left)

    def _confirm(self, question: str) -> bool:
        """Ask the side to move for a yes, on its time; see `Screen.confirm`."""
        return self.screen.confirm(question, self._time_left())

    # --- saving -------------------------------------------------------------------------------------

    def pdn(self) -> str:
        """Return the game as PDN."""
        names = {side.capitalize(): HUMAN if side in self.humans else self.opponent.name for side in SIDES}
        headers = {"Event": EVENT, "Date": datetime.date.today().strftime("%Y.%m.%d"), **names}
        if self.control is not None:
            headers["TimeControl"] = str(self.control)
        outcome = self.outcome()
        return self.spec.to_pdn(self.game, headers, "*" if outcome is None else outcome.result)

    def adopt(self, found: FileGame) -> None:
        """Continue in the file that the game comes from, if it stands there just as this program wrote it."""
        loaded = found.loaded
        if not found.whole or loaded.headers.get("Event") != EVENT:
            return
        headers = {name: value for name, value in loaded.headers.items() if name != "Result"}
        if not self.record.adopt(found.path, self.spec.to_pdn(self.game, headers, "*")):
            self.screen.print(f"{found.path}: has changed, so the game continues in a new file", wrap=False)

    def save(self) -> None:
        """Write the game to its file, if it has a move; errors are printed, no more."""
        if not (self.game.moves or self.record.begun):
            return
        self._saving = True
        try:
            self.record.write(self.pdn())
        except OSError as error:
            self.screen.print(f"the game could not be saved: {error_text(error)}")
        self._saving = False

    def _say_saved(self) -> None:
        if self.record.begun:
            self.screen.print(f"saved in {self.record.path}", wrap=False)

    # --- output -------------------------------------------------------------------------------------

    def show(self) -> None:
        """Draw the board and the panel."""
        game, spec = self.game, self.spec
        look = detect_look(self.console)
        marked = spec.path(game.positions[-2], game.moves[-1]) if game.moves else ()
        board = draw_board(spec, game.position, look, marked=marked, flipped=self.flipped)
        large = look.color and look.large
        panel = self._panel(moves=SCORE_LINES if large else 0)
        self.screen.print("")
        if large and self.console.width >= look.width(spec) + 3 + PANEL_COLUMNS:
            grid = Table.grid(padding=(0, 3))
            grid.add_column(no_wrap=True)
            grid.add_column(width=PANEL_COLUMNS)
            grid.add_row(Group(*board), Group(*panel))
            self.console.print(grid)
            return
        for line in [*board, *panel]:
            self.screen.print(line)

    def _panel(self, *, moves: int) -> list[Text]:
        """Return the lines next to or below the board, among them the last `moves` moves."""
        game, lines = self.game, []
        if self.reply is not None:
            lines = [*self._lines_of(self.reply, self.opponent, "plays", whole=self.show_search), Text()]
        elif game.moves:
            lines = [Text(f"{self.name(other(self.side))} played {game.moves[-1]}"), Text()]
        if moves and game.moves:
            lines += [*(Text(line, style="dim") for line in numbered(game, moves)), Text()]
        if self.clocks:
            times = (f"{self.name(side)} {time_text(clock.left)}" for side, clock in self.clocks.items())
            lines.append(Text("  ".join(times)))
        if self.outcome() is None:
            lines.append(Text(f"{self.name()} to move", style="bold"))
        return lines + [Text(notice) for notice in self.spec.notices(game)]

    def _lines_of(self, reply: SearchResult, who: LazyEngine, verb: str, *, whole: bool) -> list[Text]:
        """Return the lines about a move of the engine: only the move, or the whole search."""
        line = Text.assemble(f"{who.short} ", (f"{verb} {reply.move}", "bold"))
        return [line, *(search_lines(reply, self.spec.side_names) if whole else [])]

    def _prompt(self) -> str:
        if self.outcome() is not None:
            return "game over: "
        time = "" if not self.clocks else f" {time_text(self.clocks[self.side].left)}"
        return f"{self.name()}{time}: "

    def _welcome(self) -> str:
        name, example = self.opponent.name, f"type a move such as {self.spec.move_example}, or help."
        if not self.humans:
            return f"{name} plays itself; press Ctrl-C twice to leave."
        if len(self.humans) == 2:
            return f"Two people; {example}"
        (mine,) = self.humans
        return f"You play {self.name(mine)} against {name}; {example}"

    # --- commands in a game -------------------------------------------------------------------------

    def _asked(self, search: Callable[[], Any]) -> Any:
        """Search for a command; if that fails, print why and return None: the game continues."""
        try:
            return search()
        except (ValueError, OSError, RuntimeError) as error:
            self.screen.print(str(error))
            return None

    def _do_moves(self, _: str) -> None:
        self.screen.print(", ".join(map(str, self.game.position.legal_moves())) or "no legal moves")

    def _do_hint(self, _: str) -> None:
        reply: SearchResult | None = self._asked(lambda: self.search(self.game, 1))
        if reply is not None:
            for line in self._lines_of(reply, self.analyst, "would play", whole=True):
                self.screen.print(line)

    def _do_go(self, _: str) -> None:
        self._asked(self._engine_move)

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
        self.reply, ply = None, len(self.game.moves)
        self._marks = {n: clocks for n, clocks in self._marks.items() if n <= ply}
        if ply in self._marks:
            self.clocks = self._marks.pop(ply)
        self.show()
        self.save()

    def _do_resign(self, _: str) -> None:
        if self._confirm("resign?"):
            self._end(resigned(self.side))

    def _do_draw(self, _: str) -> None:
        """Offer a draw; the engine accepts unless it thinks it is better."""
        if not self._confirm("offer a draw?"):
            return
        if len(self.humans) == 1:
            reply: SearchResult | None = self._asked(lambda: self.search(self.game, 1))
            if self._time_left() == 0.0:
                raise FlagFallError
            if reply is None:
                return
            if reply.value is None or reply.value < 0:  # for the side to move, which is not the engine's
                self.screen.print("the engine declines the draw")
                return
        self._end(agreed())

    def _do_explain(self, argument: str) -> None:
        game, spec = self.game, self.spec
        if argument:
            move = spec.read_move(game.position, argument)
        elif not game.moves:
            raise ValueError("there is no last move; explain MOVE explains one that you could play")
        else:
            *before, move = game.moves
            game = game_of(before, spec, game.positions[0])
        explainer = Explainer(spec, self.search)
        for line in self._asked(lambda: explainer.explain(game, move)) or []:
            self.screen.print(line)

    # --- other games --------------------------------------------------------------------------------

    def _begin(self, game: Any) -> None:
        """Begin another game with the same players, in a record of its own."""
        self._say_saved()
        self.record = self.record.fresh()
        self.game, self.ended, self.reply, self._announced = game, None, None, False
        self._set_clocks()
        self.show()

    def _do_new(self, _: str) -> None:
        self._begin(self.spec.game(self.game.positions[0]))

    def _do_swap(self, _: str) -> None:
        """Exchange colours: of the game in progress, or in a new one after its end."""
        if len(self.humans) == 1:
            self._sit(PEOPLE["both"] - self.humans)
        if self.outcome() is not None:
            self._do_new("")
        else:
            self.show()

    def _do_opening(self, argument: str) -> None:
        spec = self.spec
        if not argument:
            self.screen.print(spec.opening_name(self.game) or "an opening without a name here")
        elif argument.lower() == "list":
            for name, moves in spec.named_openings.items():
                self.screen.print(f"{name}: {' '.join(moves)}")
            self.screen.print("ballot: one of the 174 three-move openings, by lot; ballot:N: number N")
        else:
            name, moves = opening_moves(argument, spec, random.Random())
            self._begin(game_of(moves, spec))
            self.screen.print(f"{name + ': ' if name else ''}{' '.join(moves)}")

    def _do_setup(self, argument: str) -> None:
        self._begin(self.spec.game(self.spec.read_position(argument)))

    def _do_load(self, argument: str) -> None:
        try:
            found = file_game(argument, self.spec)
        except OSError as error:
            raise ValueError(error_text(error)) from error
        self._begin(found.game)
        self.adopt(found)
        if found.loaded.problem:
            self.screen.print(f"the game can be read up to here: {found.loaded.problem}")

    # --- the board ----------------------------------------------------------------------------------

    def _do_board(self, _: str) -> None:
        self.show()

    def _do_flip(self, _: str) -> None:
        if not self.spec.turnable:
            raise ValueError("this board cannot be turned")
        self.flipped = not self.flipped
        self.show()

    def _do_show(self, _: str) -> None:
        self.show_search = not self.show_search
        self.show()

    def _do_fen(self, _: str) -> None:
        self.screen.print(self.spec.position_text(self.game.position), wrap=False)

    def _do_help(self, _: str) -> None:
        table = make_table("move", self.spec.move_example, left=2, show_header=False, padding=(0, 2, 0, 0))
        table.add_row("a move", f"such as {self.spec.move_example}")
        for name, each in COMMANDS.items():
            table.add_row(", ".join([name, *each.short.split()]), each.text)
        self.console.print(table)
        self.screen.print(score_help(self.spec.side_names[0]))
