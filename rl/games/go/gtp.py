"""GTP, the protocol of Go programs (version 2), from the side of the program: what each command does."""

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

_NAMES = (
    "protocol_version name version known_command list_commands quit boardsize clear_board komi play genmove "
    "undo final_score showboard time_settings time_left"
)
COMMANDS = _NAMES.split()


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
            sign, answer = "=", self._answer(command, arguments) or ""
        except Exception as error:  # whatever a library raises must not end the conversation
            sign, answer = "?", " ".join(str(error).split())
        self._send(f"{sign}{number} {answer}".rstrip() + "\n")
        return command != "quit"

    def _answer(self, command: str, arguments: list[str]) -> str | None:
        """Do what a command says, and return the answer; more arguments than it needs are ignored."""
        match command, *arguments:
            case "protocol_version", *_:
                return "2"
            case "name", *_:
                return "ckai"
            case "version", *_:
                return self._version
            case "known_command", name, *_:
                return "true" if name.lower() in COMMANDS else "false"
            case "list_commands", *_:
                return "\n".join(COMMANDS)
            case "boardsize", size, *_:
                if _integer(size) != SIZE:
                    raise RefusedError("unacceptable size")
                self._clear()
            case "clear_board", *_:
                self._clear()
            case "komi", komi, *_:
                self._set_komi(komi)
            case "play", colour, vertex, *_:
                black, move = _is_black(colour), read_move(vertex)
                if move is None:
                    raise RefusedError("invalid color or coordinate")
                self._make(self._turned(black), move)
            case "genmove", colour, *_:
                return self._choose(_is_black(colour))
            case "undo", *_:
                if len(self._stack) == 1:
                    raise RefusedError("cannot undo")
                self._stack.pop()
                if len(self._stack) > 1 and self._stack[-1][1] is None:
                    self._stack.pop()
            case "final_score", *_:
                score = self.position.area - self.spec.rules.komi
                return "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"
            case "showboard", *_:
                rows = self.position.text.split()[0].translate(str.maketrans("bw", "XO")).split("/")
                labels = "   " + " ".join(COLUMNS)
                return "\n".join(
                    ["", labels, *(f"{SIZE - n:>2} {' '.join(r)}" for n, r in enumerate(rows)), labels]
                )
            case "time_settings", main, period, moves, *_:
                seconds, later, number = _integer(main), _integer(period), _integer(moves)
                self._period = (float(later), number) if later and number else None
                self._first = (float(seconds), 0) if seconds else self._period
                if later and not number:  # no limit
                    self._first = None
                self._reset_clocks()
            case "time_left", colour, left, moves, *_:
                if (black := _is_black(colour)) in self._left:
                    self._left[black] = float(_integer(left)), _integer(moves)
            case "quit", *_:
                pass
            case _:
                raise RefusedError("syntax error" if command in COMMANDS else "unknown command")
        return None

    def _clear(self) -> None:
        self._stack = [(self.spec.position(), None)]
        self._reset_clocks()

    def _set_komi(self, komi: str) -> None:
        try:
            spec = self.spec.with_komi(float(komi))
        except (ValueError, OverflowError) as error:
            raise RefusedError("syntax error" if "komi" not in str(error) else str(error)) from None
        if spec.rules != self.spec.rules:
            self.spec = spec
            self._stack = [(replace(position, rules=spec.rules), move) for position, move in self._stack]
            self.close()

    def _choose(self, black: bool) -> str:
        """Choose a move and make it."""
        here = self._turned(black)
        if here.outcome() is not None:  # the longest game
            return "pass"
        if here is not self.position:
            self._stack.append((here, None))
        seconds, moves = self._left.get(black, (0.0, 0))
        if seconds <= 0 and not moves and self._period is not None:  # the main time is over
            seconds, moves = self._period
        limit = Limit(clock=seconds, remaining_moves=moves or None) if black in self._left else None
        self._engine = self._engine or self._load(self.spec)  # may compile, which is no time of the move
        begun = time.perf_counter()
        try:
            move: Any = self._engine.play(self._game(), limit).move
        except ResignsError:
            return "resign"
        if limit is not None:
            seconds -= time.perf_counter() - begun
            self._left[black] = self._period if moves == 1 and self._period else (seconds, max(0, moves - 1))
        self._make(here, move)
        return str(move)

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


def _is_black(colour: str) -> bool:
    if (side := colour.lower()) not in ("b", "black", "w", "white"):
        raise RefusedError("invalid color or coordinate")
    return side[0] == "b"


def _integer(text: str) -> int:
    """Return a number of the protocol, 0 or more."""
    with suppress(ValueError):
        if text.isascii() and 0 <= (number := int(float(text))) < 2**31:
            return number
    raise RefusedError("syntax error")
