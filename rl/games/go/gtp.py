"""GTP, the Go Text Protocol (version 2, Gunnar Farneback 2002): other programs as engines, and the server."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from ckai.rl.engine.base import Engine, ResignsError, Task
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import INIT_SECONDS, MAX_LINES, START_SECONDS, Fault, ProgramEngine
from ckai.rl.engine.serving import Session
from ckai.rl.games.go.board import SIZE
from ckai.rl.games.go.position import COLUMNS, GoMove, GoPosition, read_move
from ckai.rl.games.go.spec import SPEC, GoSpec

_NAMES = "protocol_version name version known_command list_commands quit boardsize clear_board komi play"
COMMANDS = f"{_NAMES} genmove undo final_score showboard time_settings time_left".split()


class GtpEngine(ProgramEngine):
    """Another Go program; a limit of seconds is sent as time settings of whole seconds.

    A position is sent as its stones and the moves since. A program says nothing while it thinks: one without
    a limit of time times out after a silence.
    """

    def _handshake(self) -> None:
        self._ask("name")
        self._commands = frozenset(self._ask("list_commands").split())
        self._ask(f"boardsize {SIZE}", time.monotonic() + INIT_SECONDS)

    def _ask(self, command: str, until: float | None = None) -> str:
        """Send a command and return the answer without its sign.

        Raises:
            ProgramError: the program refuses it, ends, or answers too late or more than `MAX_LINES`.
        """
        self.send(command)
        until, lines = until or time.monotonic() + START_SECONDS, list[str]()
        while not lines or lines[-1]:
            if len(lines) > MAX_LINES:
                raise self._error(f"an empty line after {command}, found an answer without end")
            line = self.next_line(until, f"= after {command}").rstrip()
            lines += [line] if line or lines else []
        if not lines[0].startswith("="):
            raise self._error(f"= after {command}, found {lines[0][:80]!r}")
        return "\n".join([lines[0][1:].lstrip(), *lines[1:]]).strip()

    def _search(self, task: Task) -> Any:
        limit, here, legal = task.limit, task.game.position, task.game.position.legal_moves()
        position, moves, new = self._new_moves(task.game)
        if new:
            self._ask("clear_board")
            self._ask(f"komi {position.rules.komi:g}")
            if limit.clock is not None and limit.remaining_moves is None:
                self._ask(f"time_settings {max(0.0, limit.clock):.0f} 0 0")
            elif (seconds := limit.seconds if limit.clock is None else limit.clock) is not None:
                self._ask(f"time_settings 0 {max(1.0, seconds):.0f} {limit.remaining_moves or 1}")
            for colour, stones in zip("bw", position.stones, strict=True):
                for point in range(SIZE * SIZE):
                    if stones >> point & 1:
                        self._ask(f"play {colour} {GoMove(point)}")
        self._stop_with(task)
        for move in moves:
            self._ask(f"play {_colour(position)} {move}")
            position = position.push(move)
        if limit.clock is not None and "time_left" in self._commands:
            self._ask(f"time_left {_colour(here)} {max(0, int(limit.clock))} {limit.remaining_moves or 0}")
        answer = self._ask(f"genmove {_colour(here)}", self._until(limit, time.monotonic()))
        if answer.lower() == "resign":
            self._known = None
            raise ResignsError(f"{self.command} resigns")
        chosen: Any = read_move(answer)
        if chosen is None or chosen not in legal:
            raise self._error(f"a legal move in {here.text}, found {answer[:40]!r}", Fault.ILLEGAL)
        assert self._known is not None
        self._known.append(chosen)  # it has played its own move
        return chosen


def _colour(position: Any) -> str:
    return "b" if position.black else "w"


class GtpSession(Session):
    """One conversation. Every command gets its answer; `load` gets the game with its komi.

    A move may be made by either side at any time, as the protocol has it. Earlier positions count for superko
    on the board; the search knows those since the last move out of turn.
    """

    def __init__(self, load: Callable[[GoSpec], Engine], write: Callable[[str], None]) -> None:
        super().__init__(load, write)
        self.spec: GoSpec = SPEC
        self._main: Limit | None = None
        """The time of a side at the start of a game; None: no limit."""
        self._period: Limit | None = None
        """The time of each period after it."""
        self._clear()

    def _clear(self) -> None:
        self._games: list[Any] = [self.spec.game()]
        """The last is the game; each move out of turn began another one."""
        self._set_clocks()

    def _set_clocks(self) -> None:
        self._left = {} if self._main is None else {True: self._main, False: self._main}
        """What each side has left, by whether it is Black."""

    @property
    def position(self) -> GoPosition:
        """The current position."""
        here: GoPosition = self._games[-1].position
        return here

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
        """Do what a command says, and return the answer; more arguments than it needs are ignored.

        Raises:
            ValueError: the command is refused; the text is in the protocol's words where it has some.
        """
        fixed = {"protocol_version": "2", "name": "ckai", "version": version("ckai"), "quit": ""}
        match command, *arguments:
            case name, *_ if name in fixed:
                return fixed[name]
            case "known_command", name, *_:
                return "true" if name.lower() in COMMANDS else "false"
            case "list_commands", *_:
                return "\n".join(COMMANDS)
            case "boardsize", size, *_:
                if _integer(size) != SIZE:
                    raise ValueError("unacceptable size")
                self._clear()
                self._engine = self._engine or self._load(self.spec)  # may compile: no move shall wait for it
            case "clear_board", *_:
                self._clear()
            case "komi", komi, *_:
                self._set_komi(komi)
            case "play", colour, vertex, *_:
                black, move = _is_black(colour), read_move(vertex)
                if move is None:
                    raise ValueError("invalid color or coordinate")
                if move not in (game := self._game(black)).position.legal_moves():
                    raise ValueError("illegal move")
                self._push(game, move)
            case "genmove", colour, *_:
                return self._choose(_is_black(colour))
            case "undo", *_:
                if not self._games[-1].moves:
                    raise ValueError("cannot undo")
                self._games[-1].pop()
                if not self._games[-1].moves and len(self._games) > 1:
                    self._games.pop()
            case "final_score", *_:
                score = self.position.area - self.spec.rules.komi
                return "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"
            case "showboard", *_:
                rows = self.position.text.split()[0].translate(str.maketrans("bw", "XO")).split("/")
                numbered = [f"{SIZE - n:>2} {' '.join(row)}" for n, row in enumerate(rows)]
                return "\n".join(["", *numbered, "   " + " ".join(COLUMNS)])
            case "time_settings", main, period, moves, *_:
                seconds, later, number = _integer(main), _integer(period), _integer(moves)
                self._period = Limit(clock=later, remaining_moves=number) if later and number else None
                unlimited = later and not number
                self._main = None if unlimited else Limit(clock=seconds) if seconds else self._period
                self._set_clocks()
            case "time_left", colour, left, moves, *_:
                if (black := _is_black(colour)) in self._left:
                    self._left[black] = Limit(clock=_integer(left), remaining_moves=_integer(moves) or None)
            case _:
                raise ValueError("syntax error" if command in COMMANDS else "unknown command")
        return None

    def _set_komi(self, komi: str) -> None:
        try:
            spec = self.spec.with_komi(float(komi))
        except (ValueError, OverflowError) as error:
            raise ValueError("syntax error" if "komi" not in str(error) else str(error)) from None
        if spec.rules != self.spec.rules:
            self.spec = spec
            for game in self._games:
                game.positions = [replace(position, rules=spec.rules) for position in game.positions]
            self.close()

    def _game(self, black: bool) -> Any:
        """Return the game with this side to move, another one if it is not or the game is over."""
        here = self.position
        if here.black == black and here.passes < 2:
            return self._games[-1]
        return self.spec.game(here.with_turn(black=black))

    def _push(self, game: Any, move: GoMove) -> None:
        """Play a move in a game of `_game`."""
        game.push(move)
        if game is not self._games[-1]:
            self._games.append(game)

    def _choose(self, black: bool) -> str:
        """Choose a move and play it."""
        game = self._game(black)
        if game.outcome() is not None:  # the longest game
            return "pass"
        limit = self._left.get(black)
        if limit is not None and not limit.clock and limit.remaining_moves is None:  # the main time is over
            limit = self._period or limit
        self._engine = self._engine or self._load(self.spec)  # may compile, which is no time of the move
        begun = time.perf_counter()
        try:
            move: Any = self._engine.play(game, limit).move
        except ResignsError:
            return "resign"
        if limit is not None:
            left = max(0.0, (limit.clock or 0.0) - (time.perf_counter() - begun))
            moves = (limit.remaining_moves or 1) - 1
            again = self._period if limit.remaining_moves == 1 else None
            self._left[black] = again or Limit(clock=left, remaining_moves=moves or None)
        self._push(game, move)
        return str(move)


def _is_black(colour: str) -> bool:
    if (side := colour.lower()) not in ("b", "black", "w", "white"):
        raise ValueError("invalid color or coordinate")
    return side[0] == "b"


def _integer(text: str) -> int:
    """Return a number of the protocol, 0 or more."""
    try:
        number = int(float(text))
    except (ValueError, OverflowError):
        number = -1
    if not text.isascii() or not 0 <= number < 2**31:
        raise ValueError("syntax error")
    return number
