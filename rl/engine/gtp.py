"""Go programs as engines, by GTP, the Go Text Protocol (version 2, Gunnar Farneback 2002).

A position is sent as its stones and the moves since. A program says nothing while it thinks: one without a
limit of time times out after a silence.
"""

import time
from typing import Any

from ckai.rl.engine.analysis import Publish
from ckai.rl.engine.base import ResignsError
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import MAX_LINES, SPARE_SECONDS, START_SECONDS, Fault, ProgramEngine, ProgramError
from ckai.rl.engine.result import Line, SearchResult
from ckai.rl.engine.task import Task
from ckai.rl.games.go import GoMove
from ckai.rl.games.go.board import SIZE
from ckai.rl.games.go.position import read_move


class GtpEngine(ProgramEngine):
    """Another Go program; a limit of seconds is sent as time settings of whole seconds."""

    takes = frozenset(("seconds", "clock"))

    def _handshake(self) -> None:
        self._ask("name")
        self._commands = frozenset(self._ask("list_commands").split())
        self._ask(f"boardsize {SIZE}")

    def _ask(self, command: str, seconds: float = START_SECONDS) -> str:
        """Send a command and return the answer without its sign.

        Raises:
            ProgramError: the program refuses it, ends, or answers too late or more than `MAX_LINES`.
        """
        self.send(command)
        until = time.monotonic() + seconds
        line = self.next_line(until, f"= after {command}")
        while not line.strip():
            line = self.next_line(until, f"= after {command}")
        lines = [line.rstrip()]
        while line.strip():
            if len(lines) >= MAX_LINES:
                raise ProgramError(
                    f"{self.command}: expected an empty line after {command}, found an answer without end"
                )
            line = self.next_line(until, "an empty line after an answer")
            lines.append(line.rstrip())
        sign, answer = lines[0][:1], "\n".join([lines[0][1:].lstrip(), *lines[1:]]).strip()
        if sign != "=":
            raise ProgramError(f"{self.command}: expected = after {command}, found {lines[0][:80]!r}")
        return answer

    def _set_up(self, position: Any, limit: Limit) -> None:
        """Show the program the first position of a game, and its time."""
        self._ask("clear_board")
        self._ask(f"komi {position.rules.komi:g}")
        if limit.clock is not None:
            if limit.remaining_moves is None:
                self._ask(f"time_settings {max(0.0, limit.clock):.0f} 0 0")
            else:
                self._ask(f"time_settings 0 {max(1.0, limit.clock):.0f} {limit.remaining_moves}")
        elif limit.seconds is not None:
            self._ask(f"time_settings 0 {max(1.0, limit.seconds):.0f} 1")
        for colour, stones in zip("bw", position.stones, strict=True):
            for point in range(SIZE * SIZE):
                if stones >> point & 1:
                    self._ask(f"play {colour} {GoMove(point)}")

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        begun, position = time.monotonic(), task.root.position
        limit = task.limit if task.limit.given else self.limit or self.default_limit
        game: Any = task.root.game or self.spec.game(position)
        if not task.reuse:
            self._moves = None
        moves = self._new_moves(game)
        if moves is None:
            self._set_up(game.positions[0], limit)
            moves = list(game.moves)
        self._stop_with(task)
        black = position.black == (len(moves) % 2 == 0)
        for move in moves:
            self._ask(f"play {'b' if black else 'w'} {move}")
            black = not black
        colour, seconds = "b" if position.black else "w", self._silence
        if limit.clock is not None:
            seconds = max(limit.clock, 0.0) + SPARE_SECONDS
            if "time_left" in self._commands:
                self._ask(f"time_left {colour} {max(0, int(limit.clock))} {limit.remaining_moves or 0}")
        elif limit.seconds is not None:
            seconds = limit.seconds + SPARE_SECONDS
        answer = self._ask(f"genmove {colour}", seconds)
        if answer.lower() == "resign":
            self._moves = None
            raise ResignsError(f"{self.command} resigns")
        chosen: Any = read_move(answer)
        if chosen is None or chosen not in position.legal_moves():
            raise ProgramError(
                f"{self.command}: expected a legal move in {position.text}, found {answer[:40]!r}",
                Fault.ILLEGAL,
            )
        assert self._moves is not None
        self._moves.append(chosen)  # it has played its own move
        return SearchResult(lines=[Line(pv=[chosen])], seconds=time.monotonic() - begun)
