"""Outside programs that speak Hub, the text protocol of draughts engines, version 2 (Fabien Letouzey, 2017).

One process plays one game at a time, by the clock or to a depth. What it sends that is not understood is
passed over, as the protocol asks.
"""

import queue
import shlex
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ckai.datasets.schema import DEFAULT_GAME_NAME
from ckai.game import Game, Move, Position
from ckai.rl.matches.players import MoveSide, Side

START_SECONDS = 30.0
"""Time for a program to say that it is ready."""
SPARE_SECONDS = 30.0
"""Time beyond a move's own after which a program is given up."""
VARIANTS = ("english", "checkers", "american")
"""Names of English draughts that a program may have among the values of its parameter `variant`."""


class HubError(RuntimeError):
    """A program that cannot be started or does not keep to the protocol; says what was expected and found."""


def read_line(line: str) -> tuple[str, dict[str, str]]:
    """A line of the protocol: its command and arguments; a flag has an empty value.

    Raises:
        ValueError: a quotation that does not end.
    """
    words = shlex.split(line, posix=True)
    if not words:
        return "", {}
    return words[0], {name: value for name, _, value in (word.partition("=") for word in words[1:])}


def hub_position(position: Position) -> str:
    """A position in the protocol's form: the side to move, then squares 1 to 32."""
    squares = "".join(position.piece(square) for square in range(1, 33))
    return ("B" if position.black else "W") + squares.replace(".", "e")


def hub_move(move: Move) -> str:
    """A move in the protocol's form: from, to, and all captured squares; no squares between."""
    if not move.is_capture:
        return str(move)
    return "x".join(map(str, (move.path[0], move.path[-1], *move.captured)))


def find_move(text: str, position: Position) -> Move | None:
    """The legal move that a program means, or None; captured squares may come in any order."""
    if "x" not in text:
        return next((move for move in position.legal_moves() if str(move) == text), None)
    numbers = [int(number) for number in text.split("x") if number.isdigit()]
    for move in position.legal_moves():
        ends = [move.path[0], move.path[-1]]
        if move.is_capture and numbers[:2] == ends and sorted(numbers[2:]) == sorted(move.captured):
            return move
    return None


class HubProgram:
    """A running program."""

    def __init__(self, command: str) -> None:
        """Start it and wait until it is ready.

        Raises:
            HubError: it cannot be started, or ends or is silent instead of getting ready.
        """
        self.command = command
        self.id: dict[str, str] = {}
        try:
            self._process: subprocess.Popen[str] = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                errors="replace",
                bufsize=1,
            )
        except (OSError, ValueError) as error:
            raise HubError(f"{command}: cannot be started ({error})") from error
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self._greet()
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _greet(self) -> None:
        self.send("hub")
        until = time.monotonic() + START_SECONDS
        while (found := self._next(until, "wait"))[0] != "wait":
            command, arguments = found
            if command == "id":
                self.id = arguments
            elif command == "param" and arguments.get("name") == "variant":
                offered = arguments.get("values", "").split()
                fitting = [name for name in VARIANTS if name in offered]
                if fitting and arguments.get("value") not in VARIANTS:
                    self.send(f"set-param name=variant value={fitting[0]}")
        self.send("init")
        while self._next(until, "ready")[0] != "ready":
            pass

    def send(self, line: str) -> None:
        """Send a line.

        Raises:
            HubError: the program has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise HubError(f"{self.command}: expected a running program, found that it has ended") from error

    def think(self, position: Position, moves: list[Move], level: str, seconds: float) -> Move:
        """Let it search a position after some moves from `position`, and wait for its move.

        Args:
            position: where the moves begin.
            moves: to the position it is asked for.
            level: the limit, as in `level depth=8`.
            seconds: time after which it is given up.

        Raises:
            HubError: it ends, takes too long or plays what is not legal.
        """
        line = f"pos pos={hub_position(position)}"
        if moves:
            line += f' moves="{" ".join(map(hub_move, moves))}"'
        here = position
        for move in moves:
            here = here.push(move)
        self.send(line)
        self.send(level)
        self.send("go think")
        until = time.monotonic() + seconds
        while True:
            command, arguments = self._next(until, "done move=...")
            if command == "done":
                found = find_move(arguments.get("move", ""), here)
                if found is None:
                    legal = " ".join(map(hub_move, here.legal_moves()))
                    raise HubError(
                        f"{self.command}: expected one of {legal} in {here.fen}, "
                        f"found {arguments.get('move', 'no move')!r}"
                    )
                return found
            if command == "error":
                raise HubError(f"{self.command}: {arguments.get('message', 'an error without a message')}")

    def _next(self, until: float, wanted: str) -> tuple[str, dict[str, str]]:
        try:
            line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise HubError(f"{self.command}: expected {wanted!r}, found no answer in time") from None
        if line is None:
            raise HubError(f"{self.command}: expected {wanted!r}, found that the program has ended")
        try:
            return read_line(line)
        except ValueError:
            return "", {}

    def close(self) -> None:
        """Ask it to end, and see that it does."""
        try:
            self.send("quit")
            self._process.wait(2)
        except (HubError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()


class _HubSide(MoveSide):
    def __init__(self, boards: int, player: "HubPlayer") -> None:
        super().__init__(boards)
        self.player = player
        self.program = HubProgram(player.command)

    def start(self, board: int, position: Position, stream: int) -> None:
        super().start(board, position, stream)
        self.program.send("new-game")

    def choose(self, game: Game, random: np.random.Generator) -> Move:
        # From the last position that cannot return: a program needs the rest for repetitions.
        begin = max(0, len(game.moves) - game.position.halfmove_clock)
        level = f"level move-time={self.player.seconds:g}"
        if self.player.depth is not None:
            level = f"level depth={self.player.depth}"
        return self.program.think(
            game.positions[begin], game.moves[begin:], level, self.player.seconds + SPARE_SECONDS
        )

    def close(self) -> None:
        self.program.close()


@dataclass(frozen=True)
class HubPlayer:
    """An outside program."""

    command: str
    """As one would type it in a shell."""
    seconds: float = 0.1
    """Time of a move."""
    depth: int | None = None
    """Plies to search instead."""
    in_turn = True
    GAME: ClassVar[str] = DEFAULT_GAME_NAME

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _HubSide(boards, self)
