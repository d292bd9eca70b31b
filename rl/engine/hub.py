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
from functools import partial
from typing import Any

from ckai.game import Move, Position
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import MAX_ERROR_TEXT, START_SECONDS, Fault, ProgramEngine, ProgramError
from ckai.rl.engine.result import Line, SearchResult, StopReason, Value, turn_of
from ckai.rl.engine.task import Task
from ckai.rl.engine.text import DEFAULT_SECONDS

INIT_SECONDS = 120.0
"""Time limit for a program to get ready: it may have to load or compile much."""
VARIANTS = ("english", "checkers", "american")
"""Names of English draughts among the values of a program's parameter `variant`."""
MAN = 0.7
"""`atanh` of the value of a position that is a man ahead: the median of 250 even positions of expert games
from which a random man was taken, by the installed network and alpha-beta of 4 plies."""
SHOWN = 60
"""Most characters of a text that an error quotes."""

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

    def squares(text: str) -> tuple[list[str], list[str]]:
        path = text.split("x")
        return path[:2], sorted(path[2:])

    wanted = squares(text)
    return next((move for move in position.legal_moves() if squares(hub_move(move)) == wanted), None)


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
        here: Position = game.position
        if self._new_moves(game) is None:
            self.send("new-game")
        # The moves since the last irreversible one, which the program needs for repetitions.
        first = max(0, len(game.moves) - here.halfmove_clock)
        played = " ".join(map(hub_move, game.moves[first:]))
        moves = {"moves": played} if played else {}
        self.send(write_line("pos", pos=hub_position(game.positions[first]), **moves))
        self.send(_level(limit))
        self.send("go think" if limit.given else "go analyze")
        self._stop_with(task, "stop")
        told, command = dict[str, str](), ""
        while command != "done":
            command, arguments = self._next(self._until(limit, begun), "done move=...")
            if command == "info":
                told |= arguments
                if pv := _pv(told, here):
                    task.tell(partial(_result, told, pv, here, begun))
        if (move := find_move(arguments.get("move", ""), here)) is None:
            legal = " ".join(map(hub_move, here.legal_moves()))
            found = quoted(arguments.get("move", "no move"))
            raise self._error(f"one of {legal} in {here.fen}, found {found}", Fault.ILLEGAL)
        pv = _pv(told, here)
        if pv[:1] != [move]:  # a line that does not begin with the move it plays says nothing of it
            pv, told = [move], {}
        return _result(told, pv, here, begun, StopReason.STOPPED if task.stop.is_set() else None)

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


def _pv(told: dict[str, str], position: Position) -> list[Move]:
    """Return the line that a program has told, to its first move that is none."""
    pv: list[Move] = []
    for text in told.get("pv", "").split():
        if (move := find_move(text, position)) is None:
            break
        pv.append(move)
        position = position.push(move)
    return pv


def _result(
    told: dict[str, str], pv: list[Move], here: Position, begun: float, reason: StopReason | None = None
) -> SearchResult:
    """Return what a program has told of a line."""
    men = _number(told.get("score"))
    value = None if men is None else Value(math.tanh(MAN * men), turn_of(here))
    return SearchResult(
        lines=[Line(pv=pv, value=value)],
        value=value,
        seconds=time.monotonic() - begun,
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
