"""GTP, the Go Text Protocol (version 2, Gunnar Farneback 2002): other programs as engines, and the server."""

import re
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import product
from typing import Any

from ckai.rl.engine.base import Engine, ResignsError, Task
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import INIT_SECONDS, MAX_LINES, START_SECONDS, Fault, ProgramEngine, Session
from ckai.rl.games.go import SPEC, GoMove, GoSpec, read_move
from ckai.rl.games.go_rules import SIZE

_NAMES = "protocol_version name version known_command list_commands quit boardsize clear_board komi play"
COMMANDS = f"{_NAMES} genmove undo final_score time_settings time_left".split()


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
        """Send a command and return the answer without its sign, if it is no refusal or without end."""
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
            for point, colour in product(range(SIZE * SIZE), (0, 1)):
                if position.stones[colour] >> point & 1:
                    self._ask(f"play {'bw'[colour]} {GoMove(point)}")
        self._stop_with(task)
        for move in moves:
            self._ask(f"play {'wb'[position.black]} {move}")
            position = position.push(move)
        if limit.clock is not None and "time_left" in self._commands:
            self._ask(f"time_left {'wb'[here.black]} {max(0, int(limit.clock))} {limit.remaining_moves or 0}")
        answer = self._ask(f"genmove {'wb'[here.black]}", self._until(limit, time.monotonic()))
        if answer.lower() == "resign":
            self._known = []
            raise ResignsError(f"{self.command} resigns")
        chosen: Any = read_move(answer)
        if chosen is None or chosen not in legal:
            raise self._error(
                f"a legal move in {SPEC.position_text(here)}, found {answer[:40]!r}", Fault.ILLEGAL
            )
        self._known.append(chosen)  # it has played its own move
        return chosen


class GtpSession(Session):
    """One conversation. Every command gets its answer; `load` gets the game with its komi.

    A move may be made by either side at any time, as the protocol has it. Earlier positions count for superko
    on the board; the search knows those since the last move out of turn.
    """

    def __init__(self, load: Callable[[GoSpec], Engine], write: Callable[[str], Any]) -> None:
        super().__init__(load, write)
        self.spec: GoSpec = SPEC
        self._time: Limit | None = None
        """The time of a side at the start of a game; None: no limit."""
        self._clear()

    def _clear(self) -> None:
        self._moves: list[tuple[bool, GoMove]] = []
        self._left: dict[bool, Limit | None] = {True: self._time, False: self._time}
        """The moves, and what each side has left, with whether it is Black."""

    def _game(self, black: bool | None = None) -> Any:
        """Return the game, with this side to move: another one if it is not, or after two passes."""
        game = self.spec.game()
        for mover, move in [*self._moves, (black, None)]:
            here: Any = game.position
            if mover is not None and (here.black != mover or here.passes == 2):
                game = self.spec.game(here.with_turn(black=mover))
            if move is not None:
                game.push(move)
        return game

    def handle(self, line: str) -> bool:
        """See `Session`; a line may begin with a number."""
        words = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", line.partition("#")[0]).split()
        if not words:
            return True
        number = words.pop(0) if re.fullmatch("[0-9]+", words[0]) else ""
        command = words[0].lower() if words else ""
        try:
            sign, answer = "=", self._answer(command, *words[1:]) or ""
        except Exception as error:  # whatever a library raises must not end the conversation
            sign, answer = "?", " ".join(str(error).split())
        self._send(f"{sign}{number} {answer}".rstrip() + "\n")
        return command != "quit"

    def _answer(self, command: str, *arguments: str) -> str | None:
        """Return the answer to a command; a ValueError refuses it, arguments too many are ignored."""
        match command, *arguments:
            case (("protocol_version" | "name" | "version" | "quit"), *_):
                return {"protocol_version": "2", "name": "ckai", "version": version("ckai")}.get(command)
            case "known_command", name, *_:
                return "true" if name.lower() in COMMANDS else "false"
            case "list_commands", *_:
                return "\n".join(COMMANDS)
            case "boardsize", size, *_:
                if _number(size) != SIZE:
                    raise ValueError("unacceptable size")
                self._clear()
                self._engine = self._engine or self._load(self.spec)  # may compile: no move shall wait for it
            case "clear_board", *_:
                self._clear()
            case "komi", komi, *_:
                spec = self.spec.with_komi(_number(komi))
                if spec.rules != self.spec.rules:
                    self.spec = spec
                    self.close()
            case "play", colour, vertex, *_:
                black, move = _is_black(colour), read_move(vertex)
                if move is None:
                    raise ValueError("invalid color or coordinate")
                if move not in self._game(black).position.legal_moves():
                    raise ValueError("illegal move")
                self._moves.append((black, move))
            case "genmove", colour, *_:
                return self._choose(_is_black(colour))
            case "undo", *_:
                if not self._moves:
                    raise ValueError("cannot undo")
                self._moves.pop()
            case "final_score", *_:
                score = self._game().position.area - self.spec.rules.komi
                return "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"
            case "time_settings", main, period, moves, *_:
                seconds, later, number = _number(main), _number(period), int(_number(moves))
                periods = Limit(clock=later, remaining_moves=number) if later and number else None
                self._time = Limit(clock=seconds) if seconds and (periods or not later) else periods
                self._left = {True: self._time, False: self._time}
            case "time_left", colour, left, moves, *_:
                limit = Limit(clock=_number(left), remaining_moves=int(_number(moves)) or None)
                self._left[_is_black(colour)] = limit
            case _:
                raise ValueError("syntax error" if command in COMMANDS else "unknown command")
        return None

    def _choose(self, black: bool) -> str:
        game, limit = self._game(black), self._left[black]
        if game.outcome() is not None:  # the longest game
            return "pass"
        self._engine = self._engine or self._load(self.spec)  # may compile, which is no time of the move
        begun = time.perf_counter()
        try:
            move: Any = self._engine.play(game, limit if "clock" in self._engine.takes else None).move
        except ResignsError:
            return "resign"
        if limit is not None and limit.remaining_moves is None:  # of periods `time_left` tells
            left = (limit.clock or 0.0) - (time.perf_counter() - begun)
            self._left[black] = Limit(clock=max(0.0, left))
        self._moves.append((black, move))
        return str(move)


def _is_black(colour: str) -> bool:
    if (side := colour.lower()) not in ("b", "black", "w", "white"):
        raise ValueError("invalid color or coordinate")
    return side[0] == "b"


def _number(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]*)?", text):
        raise ValueError("syntax error")
    return float(text)
