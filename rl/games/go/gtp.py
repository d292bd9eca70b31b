"""GTP, the protocol of Go programs, from the side of the program: what each command does."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ckai.rl.engine.base import Engine, ResignsError
from ckai.rl.engine.limit import Limit
from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.go.board import SIZE
from ckai.rl.games.go.position import COLUMNS, GoMove, GoPosition, read_move
from ckai.rl.games.go.spec import SPEC, GoSpec

PROTOCOL_VERSION = 2
SIDES = {"b": True, "black": True, "w": False, "white": False}


class RefusedError(Exception):
    """A command is refused; the text is the answer, in the protocol's words where it has some."""


class GtpSession:
    """One conversation. Every command gets its answer; nothing ends the conversation but `quit`.

    A move may be made by either side at any time, as the protocol has it. Earlier positions count for superko
    on the board; the search knows those since the last move out of turn.
    """

    def __init__(self, load: Callable[[GoSpec], Engine], write: Callable[[str], None], version: str) -> None:
        """Begin a conversation.

        Args:
            load: loads the engine for a game with a komi; its errors are answered.
            write: sends a line.
            version: the version that the program says it has.
        """
        self._load, self._write, self._version = load, write, version
        self.spec: GoSpec = SPEC
        self._stack: list[tuple[GoPosition, GoMove | None]] = [(self.spec.position(), None)]
        """The positions of the game, each with the move that led to it; None: a move out of turn begins."""
        self._engine: Engine | None = None
        self._control: TimeControl | None = None
        self._period: TimeControl | None = None
        """The periods that follow the main time of `_control`."""
        self._clocks: dict[bool, Clock] = {}
        """By whether it is Black's."""

    @property
    def position(self) -> GoPosition:
        """The current position."""
        return self._stack[-1][0]

    def handle(self, line: str) -> bool:
        """Answer one line, which may begin with a number; return whether the conversation goes on."""
        text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", line.partition("#")[0]).replace("\t", " ")
        words = text.split()
        if not words:
            return True
        number = words.pop(0) if words[0].isdecimal() and words[0].isascii() else ""
        command, arguments = (words[0].lower(), words[1:]) if words else ("", [])
        try:
            if command not in COMMANDS:
                raise RefusedError("unknown command")
            method, count = COMMANDS[command]
            if len(arguments) < count:
                raise RefusedError("syntax error")
            sign, answer = "=", method(self, *arguments[:count])
        except Exception as error:  # whatever a library raises must not end the conversation
            sign, answer = "?", " ".join(str(error).split())
        self._write(f"{sign}{number} {answer}".rstrip() + "\n")
        return command != "quit"

    def close(self) -> None:
        """Release the engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    # --- the commands -------------------------------------------------------------------------------

    def _protocol_version(self) -> str:
        return str(PROTOCOL_VERSION)

    def _name(self) -> str:
        return "ckai"

    def _version_of(self) -> str:
        return self._version

    def _known_command(self, command: str) -> str:
        return "true" if command.lower() in COMMANDS else "false"

    def _list_commands(self) -> str:
        return "\n".join(COMMANDS)

    def _quit(self) -> str:
        return ""

    def _boardsize(self, size: str) -> str:
        if _integer(size) != SIZE:
            raise RefusedError("unacceptable size")
        return self._clear_board()

    def _clear_board(self) -> str:
        self._stack = [(self.spec.position(), None)]
        self._reset_clocks()
        return ""

    def _komi(self, komi: str) -> str:
        try:
            spec = self.spec.with_komi(float(komi))
        except (ValueError, OverflowError) as error:
            raise RefusedError("syntax error" if "komi" not in str(error) else str(error)) from None
        if spec.rules != self.spec.rules:
            self.spec = spec
            self._stack = [(replace(position, rules=spec.rules), move) for position, move in self._stack]
            self.close()
        return ""

    def _play(self, colour: str, vertex: str) -> str:
        black, move = SIDES.get(colour.lower()), read_move(vertex)
        if black is None or move is None:
            raise RefusedError("invalid color or coordinate")
        self._make(black, move)
        return ""

    def _make(self, black: bool, move: GoMove) -> None:
        here = self._turned(black)
        if move not in here.legal_moves():
            raise RefusedError("illegal move")
        self._go_on_from(here)
        self._stack.append((here.push(move), move))

    def _turned(self, black: bool) -> GoPosition:
        """Return the current position with this side to move, itself if it is and the game is not over."""
        here = self.position
        return here if here.black == black and here.passes < 2 else here.with_turn(black=black)

    def _go_on_from(self, here: GoPosition) -> None:
        """Take a position of `_turned` for the current one."""
        if here is not self.position:
            self._stack.append((here, None))

    def _genmove(self, colour: str) -> str:
        black = SIDES.get(colour.lower())
        if black is None:
            raise RefusedError("invalid color or coordinate")
        here = self._turned(black)
        if here.outcome() is not None:  # the longest game
            return "pass"
        self._go_on_from(here)
        if black in self._clocks and self._clocks[black].left <= 0:
            self._begin_period(black)
        clock, limit = self._clocks.get(black), None
        if clock is not None:
            limit = Limit(clock=clock.left, increment=clock.control.increment, remaining_moves=clock.moves)
            clock.start()
        try:
            self._engine = self._engine or self._load(self.spec)
            move: Any = self._engine.play(self._game(), limit).move
        except ResignsError:
            return "resign"
        finally:
            if clock is not None:
                clock.stop()
                clock.press()
        self._make(black, move)
        return str(move)

    def _game(self) -> Any:
        """Return the game since the last move out of turn."""
        first = max(n for n, (_, move) in enumerate(self._stack) if move is None)
        game: Any = self.spec.game(self._stack[first][0])
        for _, move in self._stack[first + 1 :]:
            assert move is not None
            game.push(move)
        return game

    def _undo(self) -> str:
        if len(self._stack) == 1:
            raise RefusedError("cannot undo")
        self._stack.pop()
        if len(self._stack) > 1 and self._stack[-1][1] is None:
            self._stack.pop()
        return ""

    def _final_score(self) -> str:
        score = self.position.area - self.spec.rules.komi
        return "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"

    def _showboard(self) -> str:
        rows = self.position.text.split()[0].translate(str.maketrans("bw", "XO")).split("/")
        labels = "   " + " ".join(COLUMNS)
        lines = [f"{SIZE - n:>2} {' '.join(row)}" for n, row in enumerate(rows)]
        return "\n".join(["", labels, *lines, labels])

    def _time_settings(self, main: str, byo_yomi: str, stones: str) -> str:
        seconds, period, moves = _integer(main), _integer(byo_yomi), _integer(stones)
        self._control = self._period = None
        if seconds and period and moves:
            self._period = TimeControl(float(period), moves=moves)
        if period == 0 or moves:  # a period without stones stands for no limit
            if seconds:
                self._control = TimeControl(float(seconds))
            elif period:
                self._control = TimeControl(float(period), moves=moves)
        self._reset_clocks()
        return ""

    def _time_left(self, colour: str, seconds: str, stones: str) -> str:
        black, left, moves = SIDES.get(colour.lower()), _integer(seconds), _integer(stones)
        if black is None:
            raise RefusedError("invalid color or coordinate")
        if moves:
            self._begin_period(black)
        clock = self._clocks.get(black)
        if clock is not None:
            clock.reset(float(left))
            clock.moves = moves or None
        return ""

    def _begin_period(self, black: bool) -> None:
        """Give a side whose main time is over a clock for the periods that follow, if there are any."""
        clock = self._clocks.get(black)
        if self._period is not None and clock is not None and clock.control != self._period:
            self._clocks[black] = Clock(self._period)

    def _reset_clocks(self) -> None:
        self._clocks = {}
        if self._control is not None:
            self._clocks = {black: Clock(self._control) for black in (True, False)}


COMMANDS: dict[str, tuple[Callable[..., str], int]] = {
    "protocol_version": (GtpSession._protocol_version, 0),
    "name": (GtpSession._name, 0),
    "version": (GtpSession._version_of, 0),
    "known_command": (GtpSession._known_command, 1),
    "list_commands": (GtpSession._list_commands, 0),
    "quit": (GtpSession._quit, 0),
    "boardsize": (GtpSession._boardsize, 1),
    "clear_board": (GtpSession._clear_board, 0),
    "komi": (GtpSession._komi, 1),
    "play": (GtpSession._play, 2),
    "genmove": (GtpSession._genmove, 1),
    "undo": (GtpSession._undo, 0),
    "final_score": (GtpSession._final_score, 0),
    "showboard": (GtpSession._showboard, 0),
    "time_settings": (GtpSession._time_settings, 3),
    "time_left": (GtpSession._time_left, 3),
}
"""What each command calls, and with how many arguments; more are ignored."""


def _integer(text: str) -> int:
    """Return a number of the protocol, 0 or more."""
    with suppress(ValueError):
        if text.isascii() and 0 <= (number := int(float(text))) < 2**31:
            return number
    raise RefusedError("syntax error")
