"""Other programs as engines, by Hub, the protocol of draughts engines (version 2, Fabien Letouzey 2017).

Unknown messages are ignored, as the protocol asks. A program that has a limit of seconds times out
`SPARE_SECONDS` after it. One that searches to a depth may take as long as it likes, but times out when it has
sent no line, such as `info`, for a time.
"""

import math
import time
from typing import Any

from ckai.game import Move, Position
from ckai.rl.engine.analysis import Publish
from ckai.rl.engine.forms import DEFAULT_SECONDS
from ckai.rl.engine.hub_lines import MAN
from ckai.rl.engine.hub_text import find_move, hub_move, hub_position, quoted, read_line, write_line
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import (
    MAX_ERROR_TEXT,
    SPARE_SECONDS,
    START_SECONDS,
    Fault,
    ProgramEngine,
    ProgramError,
)
from ckai.rl.engine.result import Line, SearchResult, StopReason, Value
from ckai.rl.engine.task import Task
from ckai.rl.engine.tree_reader import turn_of

INIT_SECONDS = 120.0
"""Time limit for a program to get ready then: it may have to load or compile much."""
VARIANTS = ("english", "checkers", "american")
"""Names of English draughts among the values of a program's parameter `variant`."""


class HubEngine(ProgramEngine):
    """Another draughts program; a limit is for one move."""

    takes = frozenset(("seconds", "clock", "depth", "nodes"))
    default_limit = Limit(seconds=DEFAULT_SECONDS)

    def _handshake(self) -> None:
        self.send("hub")
        until = time.monotonic() + START_SECONDS
        while (message := self._next(until, "wait"))[0] != "wait":
            command, arguments = message
            if command == "param" and arguments.get("name") == "variant":
                offered = arguments.get("values", "").split()
                supported = [name for name in VARIANTS if name in offered]
                if supported and arguments.get("value") not in VARIANTS:
                    self.send(f"set-param name=variant value={supported[0]}")
        self.send("init")
        until = time.monotonic() + INIT_SECONDS
        while (message := self._next(until, "ready"))[0] != "ready":
            if message[0] == "error":
                raise self._told(message[1])

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        begun, root, limit = time.monotonic(), task.root.undrawn(), task.limit
        game: Any = root.game or self.spec.game(root.position)
        if not task.reuse:
            self._moves = None
        if self._new_moves(game) is None:
            self.send("new-game")
        # The moves since the last irreversible one, which the program needs for repetitions.
        first = max(0, len(game.moves) - game.position.halfmove_clock)
        played = " ".join(map(hub_move, game.moves[first:]))
        moves = {"moves": played} if played else {}
        self.send(write_line("pos", pos=hub_position(game.positions[first]), **moves))
        self.send(_level(limit))
        self.send("go analyze" if limit == Limit() else "go think")
        self._stop_with(task, "stop")
        times = limit.move_time(0, 0.0)
        most = None if times is None else SPARE_SECONDS + (limit.seconds or max(limit.clock or 0.0, 0.0))
        told: dict[str, str] = {}
        while True:
            until = time.monotonic() + self._silence if most is None else begun + most
            command, arguments = self._next(until, "done move=...")
            seconds = time.monotonic() - begun
            if command == "info":
                told |= arguments
                if publish is not None and (found := _result(told, game.position, seconds)) is not None:
                    publish(found)
            elif command == "done":
                move = find_move(arguments.get("move", ""), game.position)
                if move is None:
                    legal = " ".join(map(hub_move, game.position.legal_moves()))
                    raise ProgramError(
                        f"{self.command}: expected one of {legal} in {game.position.fen}, "
                        f"found {quoted(arguments.get('move', 'no move'))}",
                        Fault.ILLEGAL,
                    )
                reason = StopReason.STOPPED if task.stop.is_set() else None
                found = _result(told, game.position, seconds, move, reason)
                assert found is not None
                return found
            elif command == "error":
                raise self._told(arguments)

    def _told(self, arguments: dict[str, str]) -> ProgramError:
        message = arguments.get("message", "an error without a message")
        return ProgramError(f"{self.command}: {message[:MAX_ERROR_TEXT]}")

    def _next(self, until: float, wanted: str) -> tuple[str, dict[str, str]]:
        try:
            return read_line(self.next_line(until, wanted))
        except ValueError:
            return "", {}


def _level(limit: Limit) -> str:
    """Return the `level` of a limit."""
    if limit.clock is not None:
        # By the protocol, a program adds the increment before its move; here it was added after the last.
        left = max(limit.clock, 0.0) - limit.increment
        moves = "" if limit.remaining_moves is None else f" moves={limit.remaining_moves}"
        return f"level{moves} time={left:.3f} inc={limit.increment:g}"
    words = {"depth": limit.depth, "nodes": limit.nodes, "move-time": limit.seconds}
    given = [
        f"{name}={value:g}" if name == "move-time" else f"{name}={value}"
        for name, value in words.items()
        if value is not None
    ]
    return " ".join(["level", *given]) if given else "level infinite"


def _result(
    told: dict[str, str],
    position: Position,
    seconds: float,
    move: Move | None = None,
    reason: StopReason | None = None,
) -> SearchResult | None:
    """Return what a program has told; None: it has told no move yet.

    A line that does not begin with the move it plays says nothing of it.
    """
    pv: list[Move] = []
    here = position
    for text in told.get("pv", "").split():
        after = find_move(text, here)
        if after is None:
            break
        pv.append(after)
        here = here.push(after)
    if move is not None and pv[:1] != [move]:
        pv, told = [move], {}
    if not pv:
        return None
    men, value = _number(told.get("score")), None
    if men is not None:
        value = Value(math.tanh(MAN * men), turn_of(position))
    return SearchResult(
        lines=[Line(pv=pv, value=value)],
        value=value,
        seconds=seconds,
        nodes=int(_number(told.get("nodes")) or 0),
        depth=int(_number(told.get("depth")) or 0),
        reason=reason,
    )


def _number(text: str | None) -> float | None:
    """Return a finite number of a program, None for anything else."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None
