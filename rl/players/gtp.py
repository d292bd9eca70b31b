"""Go programs as players, by GTP, the Go Text Protocol (version 2, Gunnar Farneback 2002).

A process plays one game at a time. A position is sent as its stones and the moves since. A program says
nothing while it thinks: one without a time limit times out after `GtpPlayer.silence_seconds`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.go import SPEC, GoMove, GoSpec
from ckai.rl.games.go.board import SIZE
from ckai.rl.games.go.position import read_move
from ckai.rl.players.forms import HUB_SILENCE_SECONDS
from ckai.rl.players.player import RESIGN, MoveSide, Side
from ckai.rl.players.program import SPARE_SECONDS, START_SECONDS, Fault, Program, ProgramError


class GtpError(ProgramError):
    """A program cannot be started or violates the protocol; says what was expected and found."""


class GtpProgram(Program):
    """A running Go program.

    Attributes:
        name: the name that it says it has.
        commands: the commands that it knows.
    """

    error = GtpError

    def __init__(self, command: str) -> None:
        """Start the program and ask who it is.

        Args:
            command: command line, as for a shell, such as `gnugo --mode gtp`.

        Raises:
            GtpError: it cannot be started, has no board of this size, or does not answer in time.
        """
        super().__init__(command)
        try:
            self.name = self.ask("name")
            self.commands = frozenset(self.ask("list_commands").split())
            self.ask(f"boardsize {SIZE}")
        except BaseException:
            self.close()
            raise

    def ask(self, command: str, seconds: float = START_SECONDS) -> str:
        """Send a command and return the answer without its sign.

        Args:
            command: the command with its arguments.
            seconds: time for the answer.

        Raises:
            GtpError: the program refuses it, has ended, or does not answer in time.
        """
        self.send(command)
        until = time.monotonic() + seconds
        line = self.next_line(until, f"= after {command}")
        while not line.strip():
            line = self.next_line(until, f"= after {command}")
        lines = [line.rstrip()]
        while line.strip():
            line = self.next_line(until, "an empty line after an answer")
            lines.append(line.rstrip())
        sign, answer = lines[0][:1], "\n".join([lines[0][1:].lstrip(), *lines[1:]]).strip()
        if sign != "=":
            raise GtpError(f"{self.command}: expected = after {command}, found {lines[0][:80]!r}")
        return answer


class _GtpSide(MoveSide):
    def __init__(self, boards: int, player: "GtpPlayer") -> None:
        super().__init__(boards, player.spec)
        self.player = player
        self.program = GtpProgram(player.command)
        self.own: list[GoMove | None] = [None] * boards
        """The move that the program made on its board, until it is played here."""

    def start(self, board: int, position: Any, stream: int, clock: Clock | None = None) -> None:
        super().start(board, position, stream, clock)
        self.own[board] = None
        ask = self.program.ask
        ask("clear_board")
        ask(f"komi {position.rules.komi:g}")
        if self.player.control is not None:
            control = self.player.control
            if control.moves is None:
                ask(f"time_settings {control.seconds:.0f} 0 0")
            else:
                ask(f"time_settings 0 {control.seconds:.0f} {control.moves}")
        elif self.player.seconds is not None:
            ask(f"time_settings 0 {max(1.0, self.player.seconds):.0f} 1")
        for colour, stones in zip("bw", position.stones, strict=True):
            for point in range(SIZE * SIZE):
                if stones >> point & 1:
                    ask(f"play {colour} {GoMove(point)}")

    def actions(self, boards: Sequence[int]) -> list[int]:
        actions = []
        for board in boards:
            move = self.own[board]
            if move is None:
                move = self.choose(self.games[board], self.random[board], self.clocks[board])
                self.own[board] = move
            actions.append(RESIGN if move is None else move.action)
        return actions

    def choose(self, game: Any, random: np.random.Generator, clock: Clock | None = None) -> Any:
        """Return the program's move; None if it resigns."""
        colour = "b" if game.position.black else "w"
        seconds = self.player.silence_seconds
        if clock is not None:
            seconds = max(clock.left, 0.0) + SPARE_SECONDS
            if "time_left" in self.program.commands:
                self.program.ask(f"time_left {colour} {max(0, int(clock.left))} {clock.moves or 0}")
        elif self.player.seconds is not None:
            seconds = self.player.seconds + SPARE_SECONDS
        answer = self.program.ask(f"genmove {colour}", seconds)
        if answer.lower() == "resign":
            return None
        move = read_move(answer)
        if move is None or move not in game.position.legal_moves():
            raise GtpError(
                f"{self.player.command}: expected a legal move in {game.position.text}, "
                f"found {answer[:40]!r}",
                Fault.ILLEGAL,
            )
        return move

    def play(self, board: int, action: int) -> None:
        game = self.games[board]
        colour, move = "b" if game.position.black else "w", GoMove(action)
        own, self.own[board] = self.own[board], None
        if own != move:
            if own is not None:
                self.program.ask("undo")
            self.program.ask(f"play {colour} {move}")
        game.push(move)

    def close(self) -> None:
        self.program.close()


@dataclass(frozen=True)
class GtpPlayer:
    """Another Go program.

    Attributes:
        command: command line, as for a shell.
        seconds: time per move, sent as time settings of whole seconds; None: the program has its own limit.
        silence_seconds: time after which a program without a time limit times out.
        control: time per game; if given, it replaces `seconds`.
        spec: the game.
    """

    command: str
    seconds: float | None = None
    silence_seconds: float = HUB_SILENCE_SECONDS
    control: TimeControl | None = None
    spec: GoSpec = SPEC
    timed = True
    GAME: ClassVar[str] = SPEC.name

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _GtpSide(boards, self)
