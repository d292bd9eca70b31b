"""Hub, the protocol of draughts programs (version 2, Fabien Letouzey 2017): its text, programs as engines.

>>> hub_position(Position.start())
'Bbbbbbbbbbbbbeeeeeeeewwwwwwwwwwww'
>>> write_line("done", move="11-15", ponder="23-19")
'done move=11-15 ponder=23-19'
>>> read_line('pos pos=Bb moves="11-15 23-19"')
('pos', {'pos': 'Bb', 'moves': '11-15 23-19'})
"""

import math
import re
import time
from typing import Any

from ckai.game import Move, Position
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import MAX_ERROR_TEXT, START_SECONDS, Fault, ProgramEngine, ProgramError
from ckai.rl.engine.result import Line, SearchResult, StopReason, Value, turn_of
from ckai.rl.engine.task import Task
from ckai.rl.engine.text import DEFAULT_SECONDS

INIT_SECONDS = 120.0
"""Time limit for a program to get ready then: it may have to load or compile much."""
VARIANTS = ("english", "checkers", "american")
"""Names of English draughts among the values of a program's parameter `variant`."""
MAN = 0.7
"""`atanh` of the value of a position that is a man ahead: the median of 250 even positions of expert games
from which a random man was taken, by the installed network and alpha-beta of 4 plies."""
SHOWN = 60
"""Most characters of a text that an error quotes."""

_NAME = r'[^\s="\x00-\x1f\x7f]+'
_COMMAND = re.compile(rf"\s*({_NAME})(?=\s|$)")
_PAIR = re.compile(rf'\s*({_NAME})(?:\s*=\s*(?:"([^"]*)"|({_NAME})))?(?=\s|$)')


# --- the text ---------------------------------------------------------------------------------------


def read_line(line: str) -> tuple[str, dict[str, str]]:
    """Parse a line of the protocol.

    Returns:
        The command and its arguments; a flag has an empty value. A blank line has the command "".

    Raises:
        ValueError: the line is not `command name=value name="a value" flag`.
    """
    if not (line := line.rstrip()):
        return "", {}
    found = _COMMAND.match(line)
    if found is None:
        raise ValueError(f"expected a command, found {quoted(line.strip())}")
    command, arguments, end = found[1], {}, found.end()
    while end < len(line):
        pair = _PAIR.match(line, end)
        if pair is None:
            raise ValueError(
                f"expected name=value after {quoted(command)}, found {quoted(line[end:].strip())}"
            )
        arguments[pair[1]] = pair[2] if pair[2] is not None else pair[3] or ""
        end = pair.end()
    return command, arguments


def write_line(command: str, /, **arguments: object) -> str:
    """Format a line of the protocol.

    Args:
        command: the command.
        **arguments: values by name, `_` for a hyphen in names. Those that need it are quoted; a double quote
            becomes a single one and a control character a space, as the protocol cannot express them.
    """
    words = [command]
    for name, value in arguments.items():
        text = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", str(value)).replace('"', "'")
        words.append(f"{name.replace('_', '-')}=" + (text if re.fullmatch(_NAME, text) else f'"{text}"'))
    return " ".join(words)


def quoted(text: str) -> str:
    """Return the beginning of a text in quotes, to be shown in a message."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def hub_position(position: Position) -> str:
    """Format a position for the protocol: the side to move, then squares 1 to 32."""
    squares = "".join(position.piece(square) for square in range(1, 33))
    return ("B" if position.black else "W") + squares.replace(".", "e")


def read_position(text: str) -> Position:
    """Parse a position of the protocol, the inverse of `hub_position`.

    Raises:
        ValueError: the text is something else, or the rules exclude the position.
    """
    if not re.fullmatch("[BW][bwBWe]{32}", text):
        raise ValueError(
            f"expected a position of 33 characters, B or W and b, w, B, W or e for squares 1 to 32, "
            f"found {len(text)}: {quoted(text)}"
        )
    pieces = {square: piece for square, piece in enumerate(text[1:], 1) if piece != "e"}
    return Position.from_pieces(pieces, turn="black" if text[0] == "B" else "white")


def hub_move(move: Move) -> str:
    """Format a move for the protocol: from, to, and all captured squares, in ascending order as others do."""
    if not move.is_capture:
        return str(move)
    return "x".join(map(str, (move.path[0], move.path[-1], *sorted(move.captured))))


def find_move(text: str, position: Position) -> Move | None:
    """Return the legal move for a move of the protocol, or None; captured squares may be in any order."""
    start, *rest = text.split("x")
    wanted = [start, *rest[:1], *sorted(rest[1:])]
    for move in position.legal_moves():
        start, *rest = hub_move(move).split("x")
        if [start, *rest[:1], *sorted(rest[1:])] == wanted:
            return move
    return None


# --- programs ---------------------------------------------------------------------------------------


class HubEngine(ProgramEngine):
    """Another draughts program; a limit is for one move.

    Unknown messages are ignored, as the protocol asks. A program that searches to a depth may take as long as
    it likes, but times out when it has sent no line, such as `info`, for a time.
    """

    takes = frozenset(("seconds", "clock", "depth", "nodes"))
    endless = True
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
        while self._next(until, "ready")[0] != "ready":
            pass

    def _search(self, task: Task) -> SearchResult:
        begun, game, limit = time.monotonic(), task.game, task.limit
        if self._new_moves(game) is None:
            self.send("new-game")
        # The moves since the last irreversible one, which the program needs for repetitions.
        first = max(0, len(game.moves) - game.position.halfmove_clock)
        played = " ".join(map(hub_move, game.moves[first:]))
        moves = {"moves": played} if played else {}
        self.send(write_line("pos", pos=hub_position(game.positions[first]), **moves))
        self.send(_level(limit))
        self.send("go think" if limit.given else "go analyze")
        self._stop_with(task, "stop")
        told: dict[str, str] = {}
        while True:
            command, arguments = self._next(self._until(limit, begun), "done move=...")
            seconds = time.monotonic() - begun
            if command == "info":
                told |= arguments
                if (found := _result(told, game.position, seconds)) is not None:
                    task.tell(found)
            elif command == "done":
                move = find_move(arguments.get("move", ""), game.position)
                if move is None:
                    legal = " ".join(map(hub_move, game.position.legal_moves()))
                    shown = quoted(arguments.get("move", "no move"))
                    raise self._error(f"one of {legal} in {game.position.fen}, found {shown}", Fault.ILLEGAL)
                reason = StopReason.STOPPED if task.stop.is_set() else None
                found = _result(told, game.position, seconds, move, reason)
                assert found is not None
                return found

    def _next(self, until: float, wanted: str) -> tuple[str, dict[str, str]]:
        try:
            command, arguments = read_line(self.next_line(until, wanted))
        except ValueError:
            return "", {}
        if command == "error":
            message = arguments.get("message", "an error without a message")
            raise ProgramError(f"{self.command}: {message[:MAX_ERROR_TEXT]}")
        return command, arguments


def _level(limit: Limit) -> str:
    """Return the `level` of a limit."""
    words: dict[str, object] = {"depth": limit.depth, "nodes": limit.nodes}
    if limit.seconds is not None:
        words["move_time"] = f"{limit.seconds:g}"
    if limit.clock is not None:
        # By the protocol, a program adds the increment before its move; here it was added after the last.
        left, increment = f"{max(limit.clock, 0.0) - limit.increment:.3f}", f"{limit.increment:g}"
        words = {"moves": limit.remaining_moves, "time": left, "inc": increment}
    given = {name: value for name, value in words.items() if value is not None}
    return write_line("level", **given) if given else "level infinite"


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


def _number(text: Any) -> float | None:
    """Return a finite number of a program, None for anything else."""
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < 1e15 else None
