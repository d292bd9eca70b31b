"""Other programs as players, by Hub, the protocol of draughts engines (version 2, Fabien Letouzey 2017).

A process plays one game at a time, by time, clock or depth. Unknown messages are ignored, as the protocol
asks. A program that has a limit of seconds times out `SPARE_SECONDS` after it. One that searches to a depth
may take as long as it likes, but times out when it has sent no line, such as `info`, for
`HubPlayer.silence_seconds`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.game import Game, Move, Position
from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.players.forms import HUB_SILENCE_SECONDS
from ckai.rl.players.hub_text import find_move, hub_move, hub_position, quoted, read_line, write_line
from ckai.rl.players.player import MoveSide, Side
from ckai.rl.players.program import (
    MAX_ERROR_TEXT,
    SPARE_SECONDS,
    START_SECONDS,
    Fault,
    Program,
    ProgramError,
)

INIT_SECONDS = 120.0
"""Time limit for a program to get ready then: it may have to load or compile much."""
VARIANTS = ("english", "checkers", "american")
"""Names of English draughts among the values of a program's parameter `variant`."""


class HubError(ProgramError):
    """A program cannot be started or violates the protocol; says what was expected and found."""


class HubProgram(Program):
    """A running program.

    Args:
        command: command line, as for a shell.
    """

    error = HubError

    def __init__(self, command: str) -> None:
        """Start the program and wait until it is ready.

        Raises:
            HubError: it cannot be started, or does not get ready in time.
        """
        super().__init__(command)
        self.id: dict[str, str] = {}
        try:
            self._handshake()
        except BaseException:
            self.close()
            raise

    def _handshake(self) -> None:
        self.send("hub")
        until = time.monotonic() + START_SECONDS
        while (message := self._next(until, "wait"))[0] != "wait":
            command, arguments = message
            if command == "id":
                self.id = arguments
            elif command == "param" and arguments.get("name") == "variant":
                offered = arguments.get("values", "").split()
                supported = [name for name in VARIANTS if name in offered]
                if supported and arguments.get("value") not in VARIANTS:
                    self.send(f"set-param name=variant value={supported[0]}")
        self.send("init")
        until = time.monotonic() + INIT_SECONDS
        while (message := self._next(until, "ready"))[0] != "ready":
            if message[0] == "error":
                raise self._told(message[1])

    def think(
        self,
        position: Position,
        moves: list[Move],
        level: str,
        *,
        seconds: float | None,
        silence: float,
        on_go: Callable[[], None] = lambda: None,
    ) -> Move:
        """Search the position after `moves` and return the program's move.

        Args:
            position: position before the moves.
            moves: moves to the position to search.
            level: the limit, such as `level depth=8`.
            seconds: time after which to raise an error; None: no such limit.
            silence: if `seconds` is None, time without a line after which to raise an error.
            on_go: called once the program searches.

        Raises:
            HubError: the program ends, takes too long or plays an illegal move.
        """
        played = {"moves": " ".join(map(hub_move, moves))} if moves else {}
        line = write_line("pos", pos=hub_position(position), **played)
        current = position
        for move in moves:
            current = current.push(move)
        self.send(line)
        self.send(level)
        self.send("go think")
        on_go()
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            deadline = time.monotonic() + silence if until is None else until
            command, arguments = self._next(deadline, "done move=...")
            if command == "done":
                chosen = find_move(arguments.get("move", ""), current)
                if chosen is None:
                    legal = " ".join(map(hub_move, current.legal_moves()))
                    raise HubError(
                        f"{self.command}: expected one of {legal} in {current.fen}, "
                        f"found {quoted(arguments.get('move', 'no move'))}",
                        Fault.ILLEGAL,
                    )
                return chosen
            if command == "error":
                raise self._told(arguments)

    def _told(self, arguments: dict[str, str]) -> HubError:
        message = arguments.get("message", "an error without a message")
        return HubError(f"{self.command}: {message[:MAX_ERROR_TEXT]}")

    def _next(self, until: float, wanted: str) -> tuple[str, dict[str, str]]:
        try:
            return read_line(self.next_line(until, wanted))
        except ValueError:
            return "", {}


class _HubSide(MoveSide):
    def __init__(self, boards: int, player: "HubPlayer") -> None:
        super().__init__(boards)
        self.player = player
        self.program = HubProgram(player.command)
        self.searching = self.asked = False
        """Whether the program searches, and whether it is to stop."""

    def start(self, board: int, position: Position, stream: int, clock: Clock | None = None) -> None:
        super().start(board, position, stream, clock)
        self.program.send("new-game")

    def choose(self, game: Game, random: np.random.Generator, clock: Clock | None = None) -> Move:
        # Send the moves since the last irreversible one, which the program needs for repetitions.
        begin = max(0, len(game.moves) - game.position.halfmove_clock)
        level = f"level move-time={self.player.seconds:g}"
        seconds: float | None = self.player.seconds + SPARE_SECONDS
        if self.player.depth is not None:
            level, seconds = f"level depth={self.player.depth}", None
        if clock is not None:
            # By the protocol, a program adds the increment before its move; here it was added after the last.
            left, increment = max(clock.left, 0.0), clock.control.increment
            moves = "" if clock.moves is None else f" moves={clock.moves}"
            level = f"level{moves} time={left - increment:.3f} inc={increment:g}"
            seconds = left + SPARE_SECONDS
        try:
            return self.program.think(
                game.positions[begin],
                game.moves[begin:],
                level,
                seconds=seconds,
                silence=self.player.silence_seconds,
                on_go=self._on_go,
            )
        finally:
            self.searching = self.asked = False

    def _on_go(self) -> None:
        self.searching = True
        if self.asked:
            self.program.send("stop")

    def stop(self) -> None:
        self.asked = True
        if self.searching:
            self.program.send("stop")

    def close(self) -> None:
        self.program.close()


@dataclass(frozen=True)
class HubPlayer:
    """Another program.

    Attributes:
        command: command line, as for a shell.
        seconds: time per move.
        depth: depth in plies; if given, it replaces `seconds`.
        silence_seconds: with a depth, time without a line after which the program times out.
        control: time per game; if given, it replaces `seconds` and `depth`.
    """

    command: str
    seconds: float = 0.1
    depth: int | None = None
    silence_seconds: float = HUB_SILENCE_SECONDS
    control: TimeControl | None = None
    timed = True
    GAME: ClassVar[str] = DEFAULT_GAME_NAME

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _HubSide(boards, self)
