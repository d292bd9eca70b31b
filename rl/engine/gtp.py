"""Go programs as engines, by GTP, the Go Text Protocol (version 2, Gunnar Farneback 2002).

A position is sent as its stones and the moves since. A program says nothing while it thinks: one without a
limit of time times out after a silence.
"""

import time
from typing import Any

from ckai.rl.engine.base import ResignsError
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import MAX_LINES, START_SECONDS, Fault, ProgramEngine
from ckai.rl.engine.task import Task
from ckai.rl.games.go import GoMove
from ckai.rl.games.go.board import SIZE
from ckai.rl.games.go.position import read_move


class GtpEngine(ProgramEngine):
    """Another Go program; a limit of seconds is sent as time settings of whole seconds."""

    def _handshake(self) -> None:
        self._ask("name")
        self._commands = frozenset(self._ask("list_commands").split())
        self._ask(f"boardsize {SIZE}")

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

    def _set_up(self, position: Any, limit: Limit) -> None:
        """Show the program the first position of a game, and its time."""
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

    def _search(self, task: Task) -> Any:
        limit, game = task.limit, task.game
        moves, position = self._new_moves(game), game.position
        if moves is None:
            self._set_up(game.positions[0], limit)
            moves = game.moves
        self._stop_with(task)
        for number, move in enumerate(moves):
            black = position.black == ((len(moves) - number) % 2 == 0)
            self._ask(f"play {'b' if black else 'w'} {move}")
        colour = "b" if position.black else "w"
        if limit.clock is not None and "time_left" in self._commands:
            self._ask(f"time_left {colour} {max(0, int(limit.clock))} {limit.remaining_moves or 0}")
        answer = self._ask(f"genmove {colour}", self._until(limit, time.monotonic()))
        if answer.lower() == "resign":
            self._moves = None
            raise ResignsError(f"{self.command} resigns")
        chosen: Any = read_move(answer)
        if chosen is None or chosen not in position.legal_moves():
            raise self._error(f"a legal move in {position.text}, found {answer[:40]!r}", Fault.ILLEGAL)
        assert self._moves is not None
        self._moves.append(chosen)  # it has played its own move
        return chosen
