"""Play whole games with `ckai engine` through pydraughts, a client that is not ours.

    python benchmarks/strength/hub_games.py --games 40

The games go through the sorts of level in turn: seconds per move, a depth, a number of positions, a clock
with an increment, and the same with pondering. Every second game is against random moves, the others are
between two engines. pydraughts starts the programs, speaks with them, keeps the rules and says how a game
ends. (Its `HubEngine.go` is called instead of `play`, which in English draughts, version 0.6.7, sends the
position in one numbering of the squares and the moves in another.) A move is late if it comes more than
`--grace` seconds after its time, measured from outside.
"""

import argparse
import json
import logging
import random
import statistics
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import draughts
from draughts.engine import HubEngine

BLACK_FIRST = "B:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
"""The initial position; that of pydraughts has White to move."""
HUB_BLACK_FIRST = "B" + 12 * "b" + 8 * "e" + 12 * "w"
SORTS = ("move-time", "depth", "nodes", "clock", "ponder")
MOVE_SECONDS, DEPTH, NODES = 0.05, 6, 1000
CLOCK_SECONDS, INCREMENT = 4.0, 0.08
STOPS = 30
"""Searches that are stopped to measure how long that takes."""
OPENING_PLIES = 4
"""Random moves at the start, so that games differ."""


class Warnings(logging.Handler):
    """Collects what pydraughts complains about, such as a line that it does not expect."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.texts.append(record.getMessage())


class Player:
    """A program and its clock in one game."""

    latest: ClassVar[dict[str, float]] = {}
    """By sort of level, the most seconds that a move came after its time."""

    def __init__(self, engine: Any, sort: str, problems: Counter[str], grace: float) -> None:
        """Begin a game of one sort of level; what goes wrong is counted in `problems`."""
        self.engine, self.sort, self.problems, self.grace = engine, sort, problems, grace
        self.left, self.late = CLOCK_SECONDS, False
        self.expected: str | None = None
        self.thread: threading.Thread | None = None
        self.result: tuple[str, str | None] = "", None
        engine.send("new-game")

    def think(self, board: Any, ponder: bool = False) -> None:
        """Let the program think, until it has its move and the reply that it expects, `result`."""
        level: dict[str, Any] = {"my_time": self.left, "inc": INCREMENT}
        if self.sort == "move-time":
            level = {"movetime": MOVE_SECONDS}
        elif self.sort in ("depth", "nodes"):
            level = {self.sort: DEPTH if self.sort == "depth" else NODES}
        moves = " ".join(move.hub_move for move in board.move_stack)
        self.result = self.engine.go(HUB_BLACK_FIRST, moves, ponder=ponder, **level)

    def move(self, board: Any) -> Any:
        """Return the program's move, with a legal one in place of an illegal one."""
        begun = time.perf_counter()
        if self.thread is None:
            self.think(board)
        elif board.move_stack[-1].hub_move == self.expected:
            self.engine.ponderhit()
            self.thread.join()
        else:
            self.engine.stop()
            self.thread.join()
            self.think(board)
        self.thread = None
        spent = time.perf_counter() - begun
        if self.sort in ("clock", "ponder"):
            self.left -= spent
            self.note_lateness(-self.left)
            self.left += INCREMENT
        elif self.sort == "move-time":
            self.note_lateness(spent - MOVE_SECONDS)
        legal = {move.hub_move: move for move in board.legal_moves()}
        if not {"depth", "score", "nodes", "pv"} <= self.engine.info.keys():
            self.problems["no info"] += 1
        if self.result[0] not in legal:
            self.problems[f"illegal: {self.result[0]} in {board.fen}"] += 1
            return next(iter(legal.values()))
        return legal[self.result[0]]

    def note_lateness(self, seconds: float) -> None:
        """Note by how much a move came after its time; by a clock, the first time in a game counts."""
        self.latest[self.sort] = max(self.latest.get(self.sort, seconds), seconds)
        if seconds > self.grace and not (self.late and self.sort != "move-time"):
            self.late = True
            self.problems[f"late, {self.sort}"] += 1

    def ponder(self, board: Any) -> None:
        """Let the program think on the opponent's time, in a position after its own move."""
        if self.sort != "ponder" or self.result[1] is None or board.is_over():
            return
        replies = {move.hub_move: move for move in board.legal_moves()}
        self.expected = self.result[1]
        if self.expected not in replies:
            self.problems[f"illegal: {self.expected} in {board.fen}"] += 1
            return
        after = board.copy()
        after.push(replies[self.expected])
        if after.is_over():
            return
        self.engine._last_sent = ""
        self.thread = threading.Thread(target=self.think, args=(after, True))
        self.thread.start()
        while self.engine._last_sent != "go ponder":
            time.sleep(0.0005)

    def end(self) -> None:
        """Stop what the program may still search."""
        if self.thread is not None:
            self.engine.stop()
            self.thread.join()


def play(engines: list[Any], sort: str, number: int, problems: Counter[str], grace: float) -> tuple[int, str]:
    """Play a game; return its plies and how it ended."""
    rng = random.Random(number)
    board = draughts.Board("english", fen=BLACK_FIRST)
    for _ in range(OPENING_PLIES):
        board.push(rng.choice(board.legal_moves()))
    players: list[Player | None] = [Player(engine, sort, problems, grace) for engine in engines]
    if number % 2 == 0:
        players[rng.randrange(2)] = None
    while not board.is_over():
        player = players[len(board.move_stack) % 2]
        if player is None:
            board.push(rng.choice(board.legal_moves()))
        else:
            board.push(player.move(board))
            player.ponder(board)
    for player in players:
        if player is not None:
            player.end()
    return len(board.move_stack), "drawn" if board.winner() == 0 else "decided"


def stop_times(engine: Any) -> list[float]:
    """Return the seconds from `stop` to `done` of some searches without a limit."""
    taken = []
    for number in range(STOPS):
        engine.send(f"pos pos={HUB_BLACK_FIRST}")
        engine.send("level infinite")
        engine.send("go analyze")
        time.sleep(0.05 * (number % 10))
        begun = time.perf_counter()
        engine.stop()
        while engine.recv_hub()[0] != "done":
            pass
        taken.append(time.perf_counter() - begun)
    return taken


def main() -> None:
    """Play the games and print what went wrong, and how many games and moves there were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="number of the first game")
    parser.add_argument("--engine", default="ckai", help="player, see ckai engine --help")
    parser.add_argument("--grace", type=float, default=0.05, help="seconds")
    given = parser.parse_args()
    warnings = Warnings()
    logging.getLogger("pydraughts").addHandler(warnings)
    program = Path(sys.executable).with_name("ckai")
    if not program.exists():
        sys.exit(f"expected {program}, found no such file; install ckai in the environment of this Python")
    command = [str(program), "engine", "--engine", given.engine]
    engines = [HubEngine(command), HubEngine(command)]
    problems: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    plies = 0
    for engine in engines:
        engine.init()
    warnings.texts.clear()  # a notice that kernels are compiled is none of the games
    try:
        for number in range(given.first, given.first + given.games):
            sort = SORTS[number % len(SORTS)]
            length, end = play(engines, sort, number, problems, given.grace)
            plies += length
            ends[end] += 1
            print(f"{number}: {sort}, {length} plies, {end}", file=sys.stderr, flush=True)
        stops = stop_times(engines[0])
        problems["late, stop"] = sum(seconds > given.grace for seconds in stops)
    finally:
        for engine in engines:
            engine.quit()
            engine.p.wait(10)
    problems["unexpected lines"] = len(warnings.texts)
    print(json.dumps({"games": given.games, "plies": plies, **ends, "problems": +problems}))
    latest = ", ".join(f"{sort} {1000 * seconds:+.0f}" for sort, seconds in Player.latest.items())
    print(f"latest move after its time, ms: {latest}")
    print(f"stop to done: median {1000 * statistics.median(stops):.1f}, most {1000 * max(stops):.1f} ms")
    for text in warnings.texts[:10]:
        print(text, file=sys.stderr)
    sys.exit(1 if +problems else 0)


if __name__ == "__main__":
    main()
