"""Hub, the protocol of draughts programs (version 2, Fabien Letouzey 2017): its text, programs as engines.

>>> hub_position(Position.start())
'Bbbbbbbbbbbbbeeeeeeeewwwwwwwwwwww'
>>> read_line('pos pos=Bb moves="11-15 23-19"')
('pos', {'pos': 'Bb', 'moves': '11-15 23-19'})
"""

import math
import re
import time
from functools import partial
from typing import Any

from ckai.game import Move, Position
from ckai.rl.engine.base import Task
from ckai.rl.engine.limit import MAX_COUNT, Limit
from ckai.rl.engine.program import (
    INIT_SECONDS,
    MAX_ERROR_TEXT,
    START_SECONDS,
    Fault,
    ProgramEngine,
    ProgramError,
)
from ckai.rl.engine.result import Line, SearchResult, StopReason, Value
from ckai.rl.engine.text import DEFAULT_SECONDS
from ckai.rl.games.clock import MAX_SECONDS
from ckai.rl.search.move_time import OVERHEAD

VARIANTS = ("english", "checkers", "american")
"""Names of English draughts among the values of a program's parameter `variant`."""
MAN = 0.7
"""`atanh` of the value of a position that is a man ahead: the median of 250 even positions of expert games
from which a random man was taken, by the installed network and alpha-beta of 4 plies."""
MIN_SECONDS = 0.001
"""Shortest time of a move; less is taken as this."""
SHOWN = 60
"""Most characters of a text that an error quotes."""

_COUNTS = {"depth": "depth", "nodes": "nodes", "moves": "remaining_moves"}
_LEVEL = _COUNTS | {"move-time": "seconds", "time": "clock", "inc": "increment"}
"""The words of a `level`, and the fields of a `Limit` that they mean."""
_WHOLE = "[0-9]{1,18}"
_REAL = r"[-+]?(?:[0-9]{1,12}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?"
_NAME = r'[^\s="\x00-\x1f\x7f]+'
_WORD = re.compile(rf'\s*({_NAME})(?:\s*=\s*(?:"([^"]*)"|({_NAME})))?(?=\s|$)')


# --- the text ---------------------------------------------------------------------------------------


def read_line(line: str) -> tuple[str, dict[str, str]]:
    """Parse a line of the protocol.

    Returns:
        The command and its arguments; a flag has an empty value. A blank line has the command "".

    Raises:
        ValueError: the line is not `command name=value name="a value" flag`.
    """
    line, end, words = line.rstrip(), 0, list[tuple[str, str]]()
    while end < len(line):
        word = _WORD.match(line, end)
        if word is None or (not words and "=" in word[0]):
            wanted = "name=value" if words else "a command"
            raise ValueError(f"expected {wanted}, found {quoted(line[end:].strip())}")
        words.append((word[1], word[2] or word[3] or ""))
        end = word.end()
    return words[0][0] if words else "", dict(words[1:])


def write_line(command: str, /, **arguments: object) -> str:
    """Format a line of the protocol.

    Values that need it are quoted; a double quote becomes a single one and a control character a space, as
    the protocol cannot express them.
    """
    words = [command]
    for name, value in arguments.items():
        text = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", str(value)).replace('"', "'")
        words.append(f"{name}=" + (text if re.fullmatch(_NAME, text) else f'"{text}"'))
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

    def squares(text: str) -> tuple[list[str], list[str]]:
        path = text.split("x")
        return path[:2], sorted(path[2:])

    wanted = squares(text)
    return next((move for move in position.legal_moves() if squares(hub_move(move)) == wanted), None)


def write_level(limit: Limit) -> str:
    """Format a limit as the `level` of a move, the inverse of `read_level`."""
    words = {word: value for word, name in _LEVEL.items() if (value := getattr(limit, name)) is not None}
    if limit.clock is None:
        del words["inc"]
    else:  # a program adds the increment before its move; here it was added after the last
        words["time"] = max(limit.clock, 0.0) - limit.increment
    texts = {word: f"{value:.10g}" for word, value in words.items()}
    return write_line("level", **texts) if texts else "level infinite"


def read_level(arguments: dict[str, str]) -> Limit:
    """Return the limit of a `level` message.

    Args:
        arguments: any of `depth` (plies), `nodes` (positions) and `move-time` (seconds, of which `OVERHEAD`,
            or a quarter if that is less, is kept back for what is not search); or `time`, the
            seconds left without the increment of this move, with `inc`, the increment in seconds, and
            `moves`, the moves to the next time control; or `infinite`. Others are ignored.

    Raises:
        ValueError: a value is not a number in its range, or none of these is given.

    >>> read_level({"time": "59.5", "inc": "0.5"})
    Limit(clock=60.0, increment=0.5)
    """
    limits: dict[str, Any] = {}
    for word in (word for word in _LEVEL if word in arguments):
        text, pattern, least, most = arguments[word], _REAL, 0, MAX_SECONDS
        if word in _COUNTS:
            pattern, least, most = _WHOLE, 1, 10**18
        elif word == "time":
            least = -MAX_SECONDS
        if not re.fullmatch(pattern, text) or not least <= float(text) <= most:
            raise ValueError(f"expected {word} from {least:,} to {most:,}, found {quoted(text)}")
        limits[_LEVEL[word]] = min(int(text), MAX_COUNT) if word in _COUNTS else float(text)
    if not limits and "infinite" not in arguments and "ponder" not in arguments:
        raise ValueError("expected depth, nodes, move-time, time or infinite, found none")
    if (seconds := limits.get("seconds")) is not None:
        limits["seconds"] = max(seconds - min(OVERHEAD, seconds / 4), MIN_SECONDS)
    if "clock" in limits:  # the increment is added before every move, and the message comes before that
        limits["clock"] += limits.get("increment", 0.0)
    return Limit(**limits)


# --- programs ---------------------------------------------------------------------------------------


class HubEngine(ProgramEngine):
    """Another draughts program; a limit is for one move.

    Unknown messages are ignored, as the protocol asks. A program that searches to a depth may take as long as
    it likes, but times out when it has sent no line, such as `info`, for a time.
    """

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
        while self._next(until, "ready")[0] != "ready":
            pass

    def _search(self, task: Task) -> SearchResult:
        begun, game, limit = time.monotonic(), task.game, task.limit
        here: Position = game.position
        if self._new_moves(game)[-1]:
            self.send("new-game")
        # The moves since the last irreversible one, which the program needs for repetitions.
        moves = game.moves[max(0, len(game.moves) - here.halfmove_clock) :]
        played = {"moves": " ".join(map(hub_move, moves))} if moves else {}
        self.send(write_line("pos", pos=hub_position(game.positions[-1 - len(moves)]), **played))
        self.send(write_level(limit))
        self.send("go think" if limit.given else "go analyze")
        self._stop_with(task, "stop")

        def result(pv: list[Move], told: dict[str, str], reason: StopReason | None = None) -> SearchResult:
            men = _number(told.get("score"))
            value = None if men is None else Value.at(here, math.tanh(MAN * men))
            nodes, depth = (int(_number(told.get(name)) or 0) for name in ("nodes", "depth"))
            seconds = time.monotonic() - begun
            return SearchResult(
                lines=[Line(pv=pv)], value=value, seconds=seconds, nodes=nodes, depth=depth, reason=reason
            )

        told, command, pv = dict[str, str](), "", list[Move]()
        while command != "done":
            command, arguments = self._next(self._until(limit, begun), "done move=...")
            if command == "info":
                told |= arguments
                if pv := _pv(told.get("pv", ""), here):
                    task.tell(partial(result, pv, told))
        if (move := find_move(arguments.get("move", ""), here)) is None:
            legal = " ".join(map(hub_move, here.legal_moves()))
            found = quoted(arguments.get("move", "no move"))
            raise self._error(f"one of {legal} in {here.fen}, found {found}", Fault.ILLEGAL)
        if pv[:1] != [move]:  # a line that does not begin with the move it plays says nothing of it
            pv, told = [move], {}
        return result(pv, told, StopReason.STOPPED if task.stop.is_set() else None)

    def _next(self, until: float, wanted: str) -> tuple[str, dict[str, str]]:
        try:
            command, arguments = read_line(self.next_line(until, wanted))
        except ValueError:
            return "", {}
        if command == "error":
            message = arguments.get("message", "an error without a message")
            raise ProgramError(f"{self.command}: {message[:MAX_ERROR_TEXT]}")
        return command, arguments


def _pv(text: str, position: Position) -> list[Move]:
    """Return the line that a program has told, to its first move that is none."""
    pv: list[Move] = []
    for word in text.split():
        if (move := find_move(word, position)) is None:
            break
        pv.append(move)
        position = position.push(move)
    return pv


def _number(text: str | None) -> float | None:
    """Return a finite number of a program, None for anything else."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None
