"""A game in the terminal: reads lines, draws the board, lets the engine move, saves."""

import datetime
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from ckai.cli.playing.clock import GameClock
from ckai.cli.playing.engines import LazyEngine, choose_move
from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.record import Record, error_text
from ckai.cli.playing.session import (
    PEOPLE,
    SIDES,
    Session,
    agreed,
    game_of,
    out_of_time,
    outcome_text,
    resigned,
)
from ckai.cli.playing.start import HUMAN, FileGame, Origin, open_game, opening_moves
from ckai.cli.shared.games_file import expanded
from ckai.cli.terminal.board import Pieces, detect_look, draw_board, join_columns
from ckai.cli.terminal.commands import OVER, PLAY, VIEW, Command, help_lines, read_command
from ckai.cli.terminal.panel import PANEL_COLUMNS, move_line, search_lines, state_lines, viewed_lines
from ckai.cli.terminal.screen import FlagFallError, Screen, wait_for
from ckai.game import Outcome
from ckai.rl.analysis.score import score_help
from ckai.rl.engine.base import Engine, ResignsError, Stop
from ckai.rl.engine.result import SearchResult

EVENT = "ckai play"
"""The Event of games that this program writes."""


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
    chance: random.Random | None = None
    """Draws among nearly best moves of the engine at the start of a game; None: it plays the best."""


class TerminalGame:
    """A game between people at a terminal (or a pipe) and an engine."""

    def __init__(
        self,
        session: Session,
        opponent: LazyEngine,
        record: Record,
        console: Console,
        lines: TextIO,
        *,
        analyst: LazyEngine | None = None,
        clock: GameClock | None = None,
        options: Options | None = None,
        source: Origin | None = None,
        view: bool = False,
    ) -> None:
        """Set up the game.

        Args:
            session: the game and who plays it.
            opponent: plays the other sides.
            record: the file of the game.
            console: output.
            lines: input; if it is the terminal, lines can be edited.
            analyst: gives hints, explains and answers draws; None: the opponent.
            clock: clocks of both sides; None: no limit.
            options: how it is shown.
            source: the file game that `session` has; None: a new game.
            view: begin by stepping through the game.
        """
        self.session, self.opponent, self.record = session, opponent, record
        self.screen, self.console = Screen(console, lines), console
        self.analyst = analyst or opponent
        self.clock, self.options, self.source = clock, options or Options(), source or Origin()
        self.mode = VIEW if view else PLAY
        self.flipped = session.spec.turnable and session.humans == {"black"}
        self.reply: SearchResult | None = None
        """The engine's last move, until a person moves."""
        self.saved = False
        self._saving = False
        """Whether a save was begun and has not ended."""
        self._copies: dict[Path, Record] = {}
        """The files that this game was saved in besides its own."""
        self.adopt()

    # --- the game -----------------------------------------------------------------------------------

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
                self._goodbye()
            raise
        return self._goodbye()

    def _turn(self) -> bool:
        """Do what comes next; return False to leave."""
        session = self.session
        if self.mode == PLAY:
            if session.outcome() is not None:
                return self._end()
            if self.clock is not None:
                self.clock.start(session.side, session.ply)
            if not session.human_to_move:
                try:
                    self.engine_move()
                except ResignsError:
                    session.ended = resigned(session.side)
                    self.save()
                return True
            legal = session.position.legal_moves()
            if self.options.auto_forced and len(legal) == 1:
                self.screen.print(f"forced: {legal[0]}")
                self.human_move(legal[0])
                return True
        return self._human_turn()

    def _end(self) -> bool:
        """Announce the end of the game; return False if nobody is there to go on."""
        session = self.session
        if self.clock is not None:
            self.clock.pause()
        outcome = session.outcome()
        assert outcome is not None
        self.screen.print(Text(outcome_text(outcome, session.spec), style="bold"))
        self.mode = OVER
        if session.humans:
            self.screen.print("Type rematch, swap (exchange colours), undo, explain, view or quit.")
        return bool(session.humans)

    def engine_move(self) -> None:
        """Let the engine play for the side to move."""
        game, chance = self.session.game, self.options.chance
        clock = None if self.clock is None else self.clock.sides[self.session.side]

        def choose(engine: Engine, stop: Stop) -> SearchResult:
            return choose_move(engine, game, clock=clock, chance=chance, stop=stop)

        self.play_reply(self._wait(self.opponent, choose))

    def search(self, game: Any, lines: int) -> SearchResult:
        """Search the current position of a game with the analyst, for `lines` lines.

        Raises:
            ValueError, OSError, RuntimeError: the engine cannot be loaded, or its network fails.
        """
        return self._wait(self.analyst, lambda engine, stop: engine.play(game, lines=lines, stop=stop))

    def _wait(self, who: LazyEngine, work: Callable[[Engine, Stop], SearchResult]) -> SearchResult:
        engine, stop = who.get(), Stop()  # loading prints its own progress, so not under the status line
        with self.console.status("thinking ... (Ctrl-C: move now)"):
            return wait_for(lambda: work(engine, stop), stop.set)

    def play_reply(self, reply: SearchResult) -> None:
        """Play a move of the engine for the side to move."""
        self.reply = reply
        self.push(reply.move)
        self.show()

    def human_move(self, move: Any) -> None:
        """Play a move of a person."""
        self.reply = None
        self.push(move)
        # The engine's reply draws the board again.
        if self.session.human_to_move or self.session.outcome() is not None:
            self.show()

    def push(self, move: Any) -> None:
        """Play a move, press the clock and save, unless the mover's time is up."""
        side = self.session.side
        if self.clock is not None:
            if self.clock.left(side) <= 0:
                self.lose_on_time()
                return
            self.clock.press(side)
        if self.session.ahead[:1] != [move]:
            self.source.depart(self.session.ply)
        self.session.play(move)
        self.save()

    def lose_on_time(self) -> None:
        """End the game: the time of the side to move is up."""
        self.reply = None
        self.session.ended = out_of_time(self.session.side)
        self.save()

    def _human_turn(self) -> bool:
        """Read and execute a line; return False to leave."""
        try:
            line = self.screen.ask(self._prompt(), self._time_left())
            if line is None:
                self.screen.print("end of input")
                return False
            return self.execute(read_command(line, self.session.position, self.session.spec, self.mode))
        except FlagFallError:
            self.screen.print("")
            self.lose_on_time()
        except ValueError as error:
            self.screen.print(str(error))
        return True

    def _time_left(self) -> float | None:
        """Seconds that the side to move has; None without a clock, or where it stands still."""
        if self.clock is None or self.mode != PLAY:
            return None
        return max(0.0, self.clock.left(self.session.side))

    def confirm(self, question: str) -> bool:
        """Ask the side to move for a yes, on its time; see `Screen.confirm`."""
        return self.screen.confirm(question, self._time_left())

    def check_time(self) -> None:
        """Raise a `FlagFallError` if the time of the side to move is up."""
        if self._time_left() == 0.0:
            raise FlagFallError

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
        elif self.mode == PLAY:
            self.human_move(command.move)
        elif self.session.ahead[:1] == [command.move]:
            self.session.step(1)
            self.show()
        else:
            self.screen.print(f"{command.move} is not the next move; type play to go on from here as a game")
        return True

    def _prompt(self) -> str:
        session = self.session
        if self.mode == OVER:
            return "game over: "
        if self.mode == VIEW:
            return f"{session.ply}/{session.ply + len(session.ahead)}: "
        time = "" if self.clock is None else f" {self.clock.text(session.side)}"
        return f"{session.name()}{time}: "

    # --- saving -------------------------------------------------------------------------------------

    def pdn(self) -> str:
        """Return the game as PDN; while it is stepped through, all of it."""
        session, source = self.session, self.source
        whole = self.mode == VIEW
        if whole and source.text and not source.continued:
            return source.text
        names = {side.capitalize(): HUMAN if side in session.humans else self.opponent.name for side in SIDES}
        headers = {"Event": EVENT, "Date": datetime.date.today().strftime("%Y.%m.%d"), **names}
        if self.clock is not None:
            headers["TimeControl"] = str(self.clock.control)
        if source.continued or (whole and source.path is not None):
            headers = source.tags
            headers |= names if source.continued else {}
        if whole:
            return session.spec.to_pdn(session.whole, headers, source.result)
        return session.spec.to_pdn(session.game, headers, session.result)

    def adopt(self) -> None:
        """Go on in the file that the game comes from, if it stands there just as this program wrote it."""
        session, source = self.session, self.source
        if not source.continued:
            return
        assert source.path is not None
        text = session.spec.to_pdn(session.game, source.tags, session.result)
        source.continued = source.tags.get("Event") == EVENT and self.record.adopt(source.path, text)
        if not source.continued and self.record.path is None:
            self.screen.print(
                f"{source.path}: not as ckai play wrote it, so the game goes on in a new file", wrap=False
            )

    def save(self, *, always: bool = False) -> None:
        """Write the game to its file, if it has a move or `always`; errors are printed, no more."""
        if not (always or self.session.game.moves or self.record.begun):
            return
        self._saving = True
        try:
            self.record.write(self.pdn())
            self.saved = True
        except OSError as error:
            self.saved = False
            self.screen.print(f"the game could not be saved: {error_text(error)}")
        self._saving = False

    # --- output -------------------------------------------------------------------------------------

    def show(self) -> None:
        """Draw the board and the panel."""
        session, spec = self.session, self.session.spec
        look = detect_look(self.console, self.options.pieces)
        last, width = session.last_move, look.width(spec)
        marked = spec.path(session.game.positions[-2], last) if last is not None else ()
        board = draw_board(spec, session.position, look, marked=marked, flipped=self.flipped)
        wide = look.color and look.large and self.console.width >= width + 3 + PANEL_COLUMNS
        panel = self._panel(score=look.color and look.large)
        panel = [part for line in panel for part in line.wrap(self.console, PANEL_COLUMNS)] if wide else panel
        self.screen.print("")
        for line in join_columns(board, panel, width) if wide else [*board, *panel]:
            self.screen.print(line)

    def _panel(self, *, score: bool) -> list[Text]:
        """Return the lines next to or below the board."""
        session = self.session
        if self.mode == VIEW:
            source = self.source
            return viewed_lines(session, source.headers, source.result, source.comments)
        lines: list[Text] = []
        if self.reply is not None:
            lines += self.lines_of(self.reply, self.opponent, "plays", whole=self.options.show)
            lines.append(Text())
        elif session.last_move is not None:
            mover = session.name("white" if session.side == "black" else "black")
            lines += [Text(f"{mover} played {session.last_move}"), Text()]
        return lines + state_lines(session, self.clock, score=score)

    def lines_of(self, reply: SearchResult, who: LazyEngine, verb: str, *, whole: bool) -> list[Text]:
        """Return the lines about a move of the engine: only the move, or the whole search."""
        if not whole:
            return [move_line(reply, who.short, verb)]
        return search_lines(reply, who.short, verb, self.session.spec.side_names)

    def _welcome(self) -> str:
        session, name = self.session, self.opponent.name
        example = f"type a move such as {session.spec.move_example}, or help."
        if self.mode == VIEW:
            return "Stepping through a game: Enter or next, back, go to N; play goes on from there; or help."
        if not session.humans:
            return f"{name} plays itself; press Ctrl-C twice to leave."
        if len(session.humans) == 2:
            return f"Two people; {example}"
        (mine,) = session.humans
        return f"You play {session.name(mine)} against {name}; {example}"

    def _goodbye(self) -> Outcome | None:
        session = self.session
        outcome = session.outcome()
        if outcome is not None and self.mode == PLAY:
            self.screen.print(Text(outcome_text(outcome, session.spec), style="bold"))
        self._say_saved()
        return outcome

    # --- commands -----------------------------------------------------------------------------------

    def _asked(self, search: Callable[[], Any]) -> Any:
        """Search for a command; if that fails, print why and return None: the game goes on."""
        try:
            return search()
        except (ValueError, OSError, RuntimeError) as error:
            self.screen.print(str(error))
            return None

    # --- play ---------------------------------------------------------------------------------------

    def _do_moves(self, _: str) -> None:
        self.screen.print(", ".join(map(str, self.session.position.legal_moves())) or "no legal moves")

    def _do_hint(self, _: str) -> None:
        if not self.session.position.legal_moves():
            raise ValueError("the game is over here")
        reply: SearchResult | None = self._asked(lambda: self.search(self.session.game, 1))
        if reply is not None:
            for line in self.lines_of(reply, self.analyst, "would play", whole=True):
                self.screen.print(line)

    def _do_go(self, _: str) -> None:
        self._asked(self.engine_move)

    def _do_undo(self, _: str) -> None:
        session = self.session
        ended = session.ended is not None
        undone = session.undo(skip_forced=self.options.auto_forced)
        if not undone and not ended:
            raise ValueError("you have no move to take back")
        self.screen.print(f"taken back: {', '.join(map(str, undone)) or 'the end of the game'}")
        self._moved()
        self.save()

    def _do_redo(self, _: str) -> None:
        played = self.session.redo(skip_forced=self.options.auto_forced)
        if not played:
            raise ValueError("there is no move to play again")
        self.screen.print(f"played again: {', '.join(map(str, played))}")
        self._moved()
        self.save()

    def _moved(self) -> None:
        """Go on after moves were taken back or played again."""
        self.reply = None
        self.mode = PLAY
        if self.clock is not None:
            self.clock.restore(self.session.ply)
        self.show()

    def _do_resign(self, _: str) -> None:
        if self.confirm("resign?"):
            self.session.ended = resigned(self.session.side)
            self.save()

    def _do_draw(self, _: str) -> None:
        """Offer a draw; the engine accepts unless it thinks it is better."""
        session = self.session
        if not self.confirm("offer a draw?"):
            return
        if len(session.humans) == 1:
            reply: SearchResult | None = self._asked(lambda: self.search(session.game, 1))
            self.check_time()
            if reply is None:
                return
            value = reply.value
            if value is None or value < 0:  # for the side to move, which is not the engine's
                self.screen.print("the engine declines the draw")
                return
        session.ended = agreed()
        self.save()

    def _do_forced(self, argument: str) -> None:
        options = self.options
        options.auto_forced = _switch(argument, options.auto_forced)
        self.screen.print(f"forced moves are {'played for you' if options.auto_forced else 'yours to play'}")

    def _do_explain(self, argument: str) -> None:
        session = self.session
        spec = session.spec
        if argument:
            game, move = session.game, spec.read_move(session.position, argument)
        elif session.last_move is None:
            raise ValueError("there is no last move; explain MOVE explains one that you could play")
        else:
            game = game_of(session.game.moves[:-1], spec, session.game.positions[0])
            move = session.last_move
        explainer = Explainer(spec, self.search, self.options.experts)
        for line in self._asked(lambda: explainer.explain(game, move)) or []:
            self.screen.print(line)

    # --- games --------------------------------------------------------------------------------------

    def _do_rematch(self, _: str) -> None:
        first = self.session.game.positions[0]
        self._begin(self.session.spec.game(first))

    def _do_swap(self, _: str) -> None:
        """Exchange colours: of the game in progress, or in a new one after its end."""
        session = self.session
        if len(session.humans) == 1:
            session.humans = PEOPLE["black"] - session.humans or PEOPLE["white"]
            self.flipped = session.spec.turnable and session.humans == {"black"}
        if self.mode == OVER:
            self._do_rematch("")
        else:
            self.show()

    def _begin(self, game: Any, ahead: Sequence[Any] = (), source: Origin | None = None) -> None:
        """Begin another game with the same players, in a record of its own."""
        old = self.session
        self._copies.clear()  # they have the game that ends here
        self.session = Session(game, old.humans, ahead=ahead, spec=old.spec)
        self.mode, self.reply, self.source = PLAY, None, source or Origin()
        if self.clock is not None:
            self.clock = GameClock(self.clock.control)
        self._say_saved()
        self.record, self.saved = self.record.fresh(), False
        self.adopt()
        self.show()

    def _do_opening(self, argument: str) -> None:
        spec = self.session.spec
        if not argument:
            self.screen.print(spec.opening_name(self.session.game) or "an opening without a name here")
        elif argument.lower() == "list":
            for name, moves in spec.named_openings.items():
                self.screen.print(f"{name}: {' '.join(moves)}")
            self.screen.print("ballot: one of the 174 three-move openings, by lot; ballot:N: number N")
        else:
            name, moves = opening_moves(argument, spec, random.Random())
            self._begin(game_of(moves, spec))
            self.screen.print(f"{name + ': ' if name else ''}{' '.join(moves)}")

    def _do_setup(self, argument: str) -> None:
        spec = self.session.spec
        self._begin(spec.game(spec.read_position(argument or self._typed_board())))

    def _typed_board(self) -> str:
        """Ask for a board, row by row."""
        screen, spec = self.screen, self.session.spec
        prompts = [f"row {n + 1}: " for n in range(spec.layout.rows)] + (
            ["to move: "] if spec.turnable else []
        )
        rows = []
        for prompt in prompts:
            line = screen.ask(prompt)
            if line is None or line.strip().lower() in ("quit", "q"):
                raise ValueError("no position was set up; the game goes on")
            rows.append(line.strip("\n"))
        return "/".join(rows)

    def _do_load(self, argument: str) -> None:
        spec = self.session.spec
        try:
            where = FileGame.read(argument)
            loaded = where.load(spec)
        except (ValueError, OSError) as error:
            raise ValueError(error_text(error)) from error
        session, source, view = open_game(where, loaded, self.session.humans, spec)
        self._begin(session.game, session.ahead, source=source)
        if loaded.problem:
            self.screen.print(f"the game can be read up to here: {loaded.problem}")
        if view:
            self._step(0)

    def _do_save(self, argument: str) -> None:
        own = self.record.path
        try:
            path = expanded(argument)
            if argument and not (own and path.resolve() == own.resolve()):
                # Kept, so that saving there again replaces the game instead of appending it twice.
                copy = self._copies.get(path.resolve()) or Record(path)
                copy.write(self.pdn())
                self._copies[path.resolve()] = copy
                self.screen.print(f"saved in {path}", wrap=False)
                return
        except (OSError, ValueError) as error:  # a null byte, ~ of nobody
            self.screen.print(f"the game could not be saved: {error_text(error)}")
            return
        self.save(always=True)
        self._say_saved()

    def _say_saved(self) -> None:
        if self.saved:
            self.screen.print(f"saved in {self.record.path}", wrap=False)

    # --- the board ----------------------------------------------------------------------------------

    def _do_board(self, _: str) -> None:
        self.show()

    def _do_flip(self, _: str) -> None:
        if not self.session.spec.turnable:
            raise ValueError("this board cannot be turned")
        self.flipped = not self.flipped
        self.show()

    def _do_pieces(self, argument: str) -> None:
        if argument not in ("figures", "letters", "auto"):
            raise ValueError(f"expected figures, letters or auto, found {argument[:20]!r}")
        self.options.pieces = argument  # type: ignore[assignment]
        self.show()

    def _do_show(self, _: str) -> None:
        self.options.show = True
        self.show()

    def _do_hide(self, _: str) -> None:
        self.options.show = False
        self.show()

    def _do_fen(self, _: str) -> None:
        self.screen.print(self.session.spec.position_text(self.session.position), wrap=False)

    def _do_help(self, argument: str) -> None:
        if not argument:
            self.screen.print(f"A move: {self.session.spec.move_example}. Commands:")
        for line in help_lines(self.console.width, argument):
            self.screen.print(line)
        if not argument:
            self.screen.print(score_help(self.session.spec.side_names[0]))

    # --- stepping through ---------------------------------------------------------------------------

    def _do_view(self, _: str) -> None:
        self._step(0)

    def _do_next(self, argument: str) -> None:
        self._step(_count(argument))

    def _do_back(self, argument: str) -> None:
        self._step(-_count(argument))

    def _do_first(self, _: str) -> None:
        self._step(-self.session.ply)

    def _do_last(self, _: str) -> None:
        self._step(len(self.session.ahead))

    def _do_goto(self, argument: str) -> None:
        session = self.session
        whole = session.ply + len(session.ahead)
        ply = _count(argument)
        if ply > whole:
            raise ValueError(f"expected a ply from 0 to {whole}, found {ply}")
        self._step(ply - session.ply)

    def _step(self, plies: int) -> None:
        """Step through the game; one in progress waits meanwhile."""
        session = self.session
        if self.mode != VIEW:
            if session.ended is not None:
                session.ahead = []  # taken back before the end
            if not session.ahead:
                self.source.result = session.result
            elif self.source.result == "*" and (outcome := session.whole.outcome()) is not None:
                self.source.result = outcome.result  # it was over by rule before moves were taken back
            if self.clock is not None:
                self.clock.pause()
            self.mode, self.reply = VIEW, None
        if plies and not session.step(plies):
            raise ValueError("this is the end of the game" if plies > 0 else "this is its beginning")
        self.show()

    def _do_play(self, argument: str) -> None:
        """Play on from here; where moves lie ahead, as another game in a file of its own."""
        session = self.session
        if argument:
            if argument.lower() not in PEOPLE:
                raise ValueError(f"expected play black, white, both or none, found {argument[:20]!r}")
            session.humans = PEOPLE[argument.lower()]
            self.flipped = session.spec.turnable and session.humans == {"black"}
        if session.game.outcome() is not None:
            raise ValueError("the game is over here; go back first")
        if session.humans != PEOPLE["both"]:
            try:
                self.opponent.get()
            except (ValueError, OSError, RuntimeError) as error:
                raise ValueError(str(error)) from error
        source = self.source
        if session.ahead or source.result != "*" or (source.path is not None and not source.continued):
            self._begin(session.game, session.ahead)
        else:
            self.mode = PLAY
            self.show()


def _count(text: str) -> int:
    """Return the number that a command was given, 1 without one."""
    if text and not (text.isdecimal() and len(text) <= 6):
        raise ValueError(f"expected a number, found {text[:20]!r}")
    return int(text) if text else 1


def _switch(text: str, now: bool) -> bool:
    """Return the state that a command asks for; without an argument it changes."""
    if text.lower() not in ("", "on", "off"):
        raise ValueError(f"expected on or off, found {text[:20]!r}")
    return not now if not text else text.lower() == "on"
