"""What each command of the prompt does."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckai.cli.playing.clock import GameClock
from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.opponent import Reply
from ckai.cli.playing.record import Record, error_text
from ckai.cli.playing.session import PEOPLE, Session
from ckai.cli.playing.start import FileGame, Origin, StartError, game_of, open_game, opening_moves
from ckai.cli.shared.games_file import expanded
from ckai.cli.terminal.commands import OVER, PLAY, VIEW, Command, CommandError, help_lines
from ckai.cli.terminal.context import GameContext
from ckai.game import MoveError


class Actions:
    """The commands of a game; a method for each, named after it.

    Args:
        context: the game whose prompt it is.
    """

    def __init__(self, context: GameContext) -> None:
        self._context = context
        self._copies: dict[Path, Record] = {}

    def run(self, command: Command) -> None:
        """Execute a command other than a move or `quit`.

        Raises:
            CommandError: its argument cannot be used.
        """
        action: Callable[[str], None] = getattr(self, f"_{command.name}")
        try:
            action(command.argument)
        except CommandError:
            raise
        except (MoveError, StartError) as error:
            raise CommandError(str(error)) from error

    @property
    def _session(self) -> Session:
        return self._context.session

    def _print(self, text: str, *, wrap: bool = True) -> None:
        self._context.screen.print(text, wrap=wrap)

    def _asked(self, search: Callable[[], Any]) -> Any:
        """Search for a command; if that fails, print why and return None: the game goes on."""
        try:
            return search()
        except (ValueError, OSError, RuntimeError) as error:
            self._print(str(error))
            return None

    # --- play ---------------------------------------------------------------------------------------

    def _moves(self, _: str) -> None:
        self._print(", ".join(map(str, self._session.position.legal_moves())) or "no legal moves")

    def _hint(self, _: str) -> None:
        context = self._context
        if not self._session.position.legal_moves():
            raise CommandError("the game is over here")
        reply: Reply | None = self._asked(lambda: context.search(self._session.game, 1))
        if reply is not None:
            for line in context.lines_of(reply, context.analyst, "would play", whole=True):
                context.screen.print(line)

    def _go(self, _: str) -> None:
        self._asked(self._context.engine_move)

    def _undo(self, _: str) -> None:
        context, session = self._context, self._session
        ended = session.ended is not None
        undone = session.undo(skip_forced=context.options.auto_forced)
        if not undone and not ended:
            raise CommandError("you have no move to take back")
        self._print(f"taken back: {', '.join(map(str, undone)) or 'the end of the game'}")
        self._moved()
        context.save()

    def _redo(self, _: str) -> None:
        played = self._session.redo(skip_forced=self._context.options.auto_forced)
        if not played:
            raise CommandError("there is no move to play again")
        self._print(f"played again: {', '.join(map(str, played))}")
        self._moved()
        self._context.save()

    def _moved(self) -> None:
        """Go on after moves were taken back or played again."""
        context = self._context
        context.reply = None
        context.mode = PLAY
        if context.clock is not None:
            context.clock.restore(self._session.ply)
        context.show()

    def _resign(self, _: str) -> None:
        if self._context.confirm("resign?"):
            self._session.resign()
            self._context.save()

    def _draw(self, _: str) -> None:
        """Offer a draw; the engine accepts unless it thinks it is better."""
        context, session = self._context, self._session
        if not context.confirm("offer a draw?"):
            return
        if len(session.humans) == 1:
            reply: Reply | None = self._asked(lambda: context.search(session.game, 1))
            context.check_time()
            if reply is None:
                return
            value = reply.result.value
            if value is None or value < 0:  # for the side to move, which is not the engine's
                self._print("the engine declines the draw")
                return
        session.agree_draw()
        context.save()

    def _forced(self, argument: str) -> None:
        options = self._context.options
        options.auto_forced = _switch(argument, options.auto_forced)
        self._print(f"forced moves are {'played for you' if options.auto_forced else 'yours to play'}")

    def _explain(self, argument: str) -> None:
        context, session = self._context, self._session
        spec = session.spec
        if argument:
            game, move = session.game, spec.read_move(session.position, argument)
        elif session.last_move is None:
            raise CommandError("there is no last move; explain MOVE explains one that you could play")
        else:
            game = spec.game(session.game.positions[0])
            for each in session.game.moves[:-1]:
                game.push(each)
            move = session.last_move
        explainer = Explainer(spec, context.search, context.options.experts)
        for line in self._asked(lambda: explainer.explain(game, move)) or []:
            self._print(line)

    # --- games --------------------------------------------------------------------------------------

    def _rematch(self, _: str) -> None:
        first = self._session.game.positions[0]
        self._begin(self._session.spec.game(first))

    def _swap(self, _: str) -> None:
        """Exchange colours: of the game in progress, or in a new one after its end."""
        session, context = self._session, self._context
        if len(session.humans) == 1:
            session.humans = PEOPLE["black"] - session.humans or PEOPLE["white"]
            context.flipped = session.spec.turnable and session.humans == {"black"}
        if context.mode == OVER:
            self._rematch("")
        else:
            context.show()

    def _begin(self, game: Any, ahead: Sequence[Any] = (), source: Origin | None = None) -> None:
        """Begin another game with the same players, in a record of its own."""
        context, old = self._context, self._session
        self._copies.clear()  # they have the game that ends here
        context.session = Session(game, old.humans, max_plies=old.max_plies, ahead=ahead, spec=old.spec)
        context.mode, context.reply, context.source = PLAY, None, source or Origin()
        if context.clock is not None:
            context.clock = GameClock(context.clock.control)
        if context.saved:
            self._print(f"saved in {context.record.path}", wrap=False)
        context.record, context.saved = context.record.fresh(), False
        context.adopt()
        context.show()

    def _opening(self, argument: str) -> None:
        spec = self._session.spec
        if not argument:
            self._print(spec.opening_name(self._session.game) or "an opening without a name here")
        elif argument.lower() == "list":
            for name, moves in spec.named_openings.items():
                self._print(f"{name}: {' '.join(moves)}")
            self._print("ballot: a random three-move opening")
        else:
            name, moves = opening_moves(argument, spec, random.Random())
            self._begin(game_of(moves, spec))
            self._print(f"{name + ': ' if name else ''}{' '.join(moves)}")

    def _setup(self, argument: str) -> None:
        spec = self._session.spec
        text = argument or self._typed_board()
        try:
            position = spec.read_position(text)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self._begin(spec.game(position))

    def _typed_board(self) -> str:
        """Ask for a board, row by row."""
        screen, spec = self._context.screen, self._session.spec
        count = len(spec.diagram(spec.position()).rows)
        prompts = [f"row {n + 1}: " for n in range(count)] + (["to move: "] if spec.turnable else [])
        rows = []
        for prompt in prompts:
            line = screen.ask(prompt)
            if line is None or line.strip().lower() in ("quit", "q"):
                raise CommandError("no position was set up; the game goes on")
            rows.append(line.strip("\n"))
        return "/".join(rows)

    def _load(self, argument: str) -> None:
        spec = self._session.spec
        try:
            where = FileGame.read(argument)
            loaded = where.load(spec)
        except (ValueError, OSError) as error:
            raise CommandError(error_text(error)) from error
        session, source, view = open_game(where, loaded, self._session.humans, spec)
        self._begin(session.game, session.ahead, source=source)
        if loaded.problem:
            self._print(f"the game can be read up to here: {loaded.problem}")
        if view:
            self._step(0)

    def _save(self, argument: str) -> None:
        context = self._context
        own = context.record.path
        try:
            path = expanded(argument)
            if argument and not (own and path.resolve() == own.resolve()):
                # Kept, so that saving there again replaces the game instead of appending it twice.
                copy = self._copies.get(path.resolve()) or Record(path)
                copy.write(context.pdn())
                self._copies[path.resolve()] = copy
                self._print(f"saved in {path}", wrap=False)
                return
        except (OSError, ValueError) as error:  # a null byte, ~ of nobody
            self._print(f"the game could not be saved: {error_text(error)}")
            return
        context.save()
        if context.saved:
            self._print(f"saved in {context.record.path}", wrap=False)

    # --- the board ----------------------------------------------------------------------------------

    def _board(self, _: str) -> None:
        self._context.show()

    def _flip(self, _: str) -> None:
        if not self._session.spec.turnable:
            raise CommandError("this board cannot be turned")
        self._context.flipped = not self._context.flipped
        self._context.show()

    def _pieces(self, argument: str) -> None:
        if argument not in ("figures", "letters", "auto"):
            raise CommandError(f"expected figures, letters or auto, found {argument[:20]!r}")
        self._context.options = replace(self._context.options, pieces=argument)  # type: ignore[arg-type]
        self._context.show()

    def _show(self, _: str) -> None:
        self._context.options.show = True
        self._context.show()

    def _hide(self, _: str) -> None:
        self._context.options.show = False
        self._context.show()

    def _fen(self, _: str) -> None:
        self._print(self._session.spec.position_text(self._session.position), wrap=False)

    def _help(self, argument: str) -> None:
        if not argument:
            self._print(f"A move: {self._session.spec.move_example}. Commands:")
        for line in help_lines(self._context.console.width, argument):
            self._print(line)

    # --- stepping through ---------------------------------------------------------------------------

    def _view(self, _: str) -> None:
        self._step(0)

    def _next(self, argument: str) -> None:
        self._step(_count(argument))

    def _back(self, argument: str) -> None:
        self._step(-_count(argument))

    def _first(self, _: str) -> None:
        self._step(-self._session.ply)

    def _last(self, _: str) -> None:
        self._step(len(self._session.ahead))

    def _goto(self, argument: str) -> None:
        session = self._session
        whole = session.ply + len(session.ahead)
        ply = _count(argument)
        if ply > whole:
            raise CommandError(f"expected a ply from 0 to {whole}, found {ply}")
        self._step(ply - session.ply)

    def _step(self, plies: int) -> None:
        """Step through the game; one in progress waits meanwhile."""
        context, session = self._context, self._session
        if context.mode != VIEW:
            if session.ended is not None:
                session.ahead = []  # taken back before the end
            if not session.ahead:
                context.source.result = session.result
            elif context.source.result == "*" and (outcome := session.whole.outcome()) is not None:
                context.source.result = outcome.result  # it was over by rule before moves were taken back
            if context.clock is not None:
                context.clock.pause()
            context.mode, context.reply = VIEW, None
        if plies and not session.step(plies):
            raise CommandError("this is the end of the game" if plies > 0 else "this is its beginning")
        context.show()

    def _play(self, argument: str) -> None:
        """Play on from here; where moves lie ahead, as another game in a file of its own."""
        context, session = self._context, self._session
        if argument:
            if argument.lower() not in PEOPLE:
                raise CommandError(f"expected play black, white, both or none, found {argument[:20]!r}")
            session.humans = PEOPLE[argument.lower()]
            context.flipped = session.spec.turnable and session.humans == {"black"}
        if session.game.outcome() is not None:
            raise CommandError("the game is over here; go back first")
        if session.humans != PEOPLE["both"]:
            try:
                context.opponent.load()
            except (ValueError, OSError, RuntimeError) as error:
                raise CommandError(str(error)) from error
        source = context.source
        if session.ahead or source.result != "*" or (source.path is not None and not source.continued):
            self._begin(session.game, session.ahead)
        else:
            context.mode = PLAY
            context.show()


def _count(text: str) -> int:
    """Return the number that a command was given, 1 without one."""
    if text and not (text.isdecimal() and len(text) <= 6):
        raise CommandError(f"expected a number, found {text[:20]!r}")
    return int(text) if text else 1


def _switch(text: str, now: bool) -> bool:
    """Return the state that a command asks for; without an argument it changes."""
    if text.lower() not in ("", "on", "off"):
        raise CommandError(f"expected on or off, found {text[:20]!r}")
    return not now if not text else text.lower() == "on"
