"""GTP, the protocol of Go programs (version 2), from the side of the program: what each command does."""

import inspect
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ckai.rl.engine.base import Engine, ResignsError
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.serving import Session
from ckai.rl.games.go.board import SIZE
from ckai.rl.games.go.position import COLUMNS, GoMove, GoPosition, read_move
from ckai.rl.games.go.spec import SPEC, GoSpec

SIDES = {"b": True, "black": True, "w": False, "white": False}


class RefusedError(Exception):
    """A command is refused; the text is the answer, in the protocol's words where it has some."""


class GtpSession(Session):
    """One conversation. Every command gets its answer.

    A move may be made by either side at any time, as the protocol has it. Earlier positions count for superko
    on the board; the search knows those since the last move out of turn.
    """

    def __init__(self, load: Callable[[GoSpec], Engine], write: Callable[[str], None], version: str) -> None:
        """Begin a conversation; `load` gets the game with its komi."""
        super().__init__(load, write, version)
        self.spec: GoSpec = SPEC
        self._stack: list[tuple[GoPosition, GoMove | None]] = [(self.spec.position(), None)]
        """The positions of the game, each with the move that led to it; None: a move out of turn begins."""
        self._first: tuple[float, int] | None = None
        """Seconds, and the moves for which they are (0: all), at the start of a game; None: no limit."""
        self._period: tuple[float, int] | None = None
        """The same of the periods after the main time."""
        self._left: dict[bool, tuple[float, int]] = {}
        """The same of what each side has left, by whether it is Black."""

    @property
    def position(self) -> GoPosition:
        """The current position."""
        return self._stack[-1][0]

    def handle(self, line: str) -> bool:
        """See `Session`; a line may begin with a number."""
        text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", line.partition("#")[0]).replace("\t", " ")
        words = text.split()
        if not words:
            return True
        number = words.pop(0) if words[0].isdecimal() and words[0].isascii() else ""
        command, arguments = (words[0].lower(), words[1:]) if words else ("", [])
        try:
            if command not in self.commands():
                raise RefusedError("unknown command")
            method = getattr(self, f"do_{command}")
            count = len(inspect.signature(method).parameters)
            if len(arguments) < count:
                raise RefusedError("syntax error")
            sign, answer = "=", method(*arguments[:count])  # more are ignored
        except Exception as error:  # whatever a library raises must not end the conversation
            sign, answer = "?", " ".join(str(error).split())
        self._send(f"{sign}{number} {answer or ''}".rstrip() + "\n")
        return command != "quit"

    # --- the commands -------------------------------------------------------------------------------

    def do_protocol_version(self) -> str:
        """Return the version of GTP."""
        return "2"

    def do_name(self) -> str:
        """Return the name of the program."""
        return "ckai"

    def do_version(self) -> str:
        """Return the version of the program."""
        return self._version

    def do_known_command(self, command: str) -> str:
        """Return whether there is a command."""
        return "true" if command.lower() in self.commands() else "false"

    def do_list_commands(self) -> str:
        """Return all commands."""
        return "\n".join(self.commands())

    def do_quit(self) -> None:
        """End the conversation."""

    def do_boardsize(self, size: str) -> None:
        """Refuse all boards but 9x9."""
        if _integer(size) != SIZE:
            raise RefusedError("unacceptable size")
        self.do_clear_board()

    def do_clear_board(self) -> None:
        """Begin a game."""
        self._stack = [(self.spec.position(), None)]
        self._reset_clocks()

    def do_komi(self, komi: str) -> None:
        """Set the komi."""
        try:
            spec = self.spec.with_komi(float(komi))
        except (ValueError, OverflowError) as error:
            raise RefusedError("syntax error" if "komi" not in str(error) else str(error)) from None
        if spec.rules != self.spec.rules:
            self.spec = spec
            self._stack = [(replace(position, rules=spec.rules), move) for position, move in self._stack]
            self.close()

    def do_play(self, colour: str, vertex: str) -> None:
        """Make a move of either side."""
        black, move = SIDES.get(colour.lower()), read_move(vertex)
        if black is None or move is None:
            raise RefusedError("invalid color or coordinate")
        self._make(self._turned(black), move)

    def do_genmove(self, colour: str) -> str:
        """Choose a move and make it."""
        black = SIDES.get(colour.lower())
        if black is None:
            raise RefusedError("invalid color or coordinate")
        here = self._turned(black)
        if here.outcome() is not None:  # the longest game
            return "pass"
        if here is not self.position:
            self._stack.append((here, None))
        seconds, moves = self._left.get(black, (0.0, 0))
        if seconds <= 0 and not moves and self._period is not None:  # the main time is over
            seconds, moves = self._period
        limit = Limit(clock=seconds, remaining_moves=moves or None) if black in self._left else None
        begun = time.perf_counter()
        self._engine = self._engine or self._load(self.spec)
        try:
            move: Any = self._engine.play(self._game(), limit).move
        except ResignsError:
            return "resign"
        if limit is not None:
            seconds -= time.perf_counter() - begun
            self._left[black] = self._period if moves == 1 and self._period else (seconds, max(0, moves - 1))
        self._make(here, move)
        return str(move)

    def do_undo(self) -> None:
        """Take back the last move."""
        if len(self._stack) == 1:
            raise RefusedError("cannot undo")
        self._stack.pop()
        if len(self._stack) > 1 and self._stack[-1][1] is None:
            self._stack.pop()

    def do_final_score(self) -> str:
        """Return the score, all stones taken for alive."""
        score = self.position.area - self.spec.rules.komi
        return "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"

    def do_showboard(self) -> str:
        """Return the board as text."""
        rows = self.position.text.split()[0].translate(str.maketrans("bw", "XO")).split("/")
        labels = "   " + " ".join(COLUMNS)
        lines = [f"{SIZE - n:>2} {' '.join(row)}" for n, row in enumerate(rows)]
        return "\n".join(["", labels, *lines, labels])

    def do_time_settings(self, main: str, period: str, stones: str) -> None:
        """Set main time and periods of some moves, in seconds; a period without moves is no limit."""
        seconds, byo_yomi, moves = _integer(main), _integer(period), _integer(stones)
        self._period = (float(byo_yomi), moves) if byo_yomi and moves else None
        self._first = (float(seconds), 0) if seconds else self._period
        if byo_yomi and not moves:
            self._first = None
        self._reset_clocks()

    def do_time_left(self, colour: str, seconds: str, stones: str) -> None:
        """Set the time of a side: in a period with stones, else in the main time."""
        black, left, moves = SIDES.get(colour.lower()), _integer(seconds), _integer(stones)
        if black is None:
            raise RefusedError("invalid color or coordinate")
        if black in self._left:
            self._left[black] = float(left), moves

    # --- positions and clocks -----------------------------------------------------------------------

    def _turned(self, black: bool) -> GoPosition:
        """Return the current position with this side to move, itself if it is and the game is not over."""
        here = self.position
        return here if here.black == black and here.passes < 2 else here.with_turn(black=black)

    def _make(self, here: GoPosition, move: GoMove) -> None:
        """Make a move in a position of `_turned`."""
        if move not in here.legal_moves():
            raise RefusedError("illegal move")
        if here is not self.position:
            self._stack.append((here, None))
        self._stack.append((here.push(move), move))

    def _game(self) -> Any:
        """Return the game since the last move out of turn."""
        first = max(n for n, (_, move) in enumerate(self._stack) if move is None)
        game: Any = self.spec.game(self._stack[first][0])
        for _, move in self._stack[first + 1 :]:
            assert move is not None
            game.push(move)
        return game

    def _reset_clocks(self) -> None:
        self._left = {} if self._first is None else dict.fromkeys((True, False), self._first)


def _integer(text: str) -> int:
    """Return a number of the protocol, 0 or more."""
    with suppress(ValueError):
        if text.isascii() and 0 <= (number := int(float(text))) < 2**31:
            return number
    raise RefusedError("syntax error")
