"""Other programs as engines, and serving an engine to one: lines of text, and the protocol Hub for draughts.

Hub is version 2, F. Letouzey 2017; GTP, for Go, is in `ckai.rl.engine.gtp`.
"""

import math
import os
import queue
import re
import shlex
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from typing import IO, Any, BinaryIO

from ckai.game import Game, Move, Position
from ckai.game.text import printable
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.base import Engine, Line, SearchResult, Stop, StopReason, Task, Value
from ckai.rl.engine.limit import DEFAULT_SECONDS, MAX_COUNT, OVERHEAD, SHOWN, Limit
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

SILENCE = 600.0
"""Seconds without a line after which a program without a limit of time times out."""
START_SECONDS, INIT_SECONDS = 30.0, 120.0
"""Time limits for a program to say who it is, and to get ready: it may have to load or compile much."""
SPARE_SECONDS = 30.0
"""Time beyond a limit of seconds, or after it was told to stop, after which a program times out."""
END_SECONDS = 2.0
"""Longest wait for the last words and the status of a program that has closed its output or shall quit."""
MAX_LINE, MAX_LINES = 1 << 16, 1_000
"""Most characters of a line (a game of 1,000 moves has 10,000), and lines kept to be read, the newest."""

VARIANTS = ("english", "checkers", "american")
"""Names of English draughts among the values of a program's parameter `variant`."""
VARIANT = {"name": "variant", "value": "english"}
"""The one parameter of the server, which nothing else can be set to."""
DURING_SEARCH, MODES = ("stop", "ponder-hit", "ping", "quit"), ("think", "ponder", "analyze")
COMMANDS = ", ".join(("hub", "set-param", "init", "new-game", "pos", "level", "go", *DURING_SEARCH))
MAN = 0.7
"""`atanh` of the value of a position that is a man ahead: the median of 250 even positions of expert games
from which a random man was taken, by the installed network and alpha-beta of 4 plies."""
WON, MAX_MEN = 100.0, 50.0
"""Score of a game that is won, less 0.01 for each ply to its end; of a value of 1 without a proof."""
_COUNTS = {"depth": "depth", "nodes": "nodes", "moves": "remaining_moves"}
_LEVEL = _COUNTS | {"move-time": "seconds", "time": "clock", "inc": "increment"}
"""The words of a `level`, and the fields of a `Limit` that they mean."""
_NAME = r'[^\s="\x00-\x1f\x7f]+'
_WORD = re.compile(rf'\s*({_NAME})(?:\s*=\s*(?:"([^"]*)"|({_NAME})))?(?=\s|$)')


class Fault(StrEnum):
    """How a program failed, for the `Outcome` of the game that it lost by it."""

    CRASH = "program crashed"
    SILENCE = "no answer in time"
    ILLEGAL = "illegal move"
    PROTOCOL = "protocol violated"


class ProgramError(RuntimeError):
    """A program cannot be started or violates its protocol; one line says what was expected and found."""

    def __init__(self, text: str, fault: Fault = Fault.PROTOCOL) -> None:
        super().__init__(printable(text.replace("\n", " ")))
        self.fault = fault


class ProgramEngine(Engine):
    """Another program, started by a command as for a shell; a protocol derives from this.

    It is started again for the next move after it has failed, and is told of the whole game then. Its first
    twin takes over the program that runs. A ProgramError says that it does not get ready.
    """

    takes = frozenset(("seconds", "clock"))
    by_time = True  # it has one game at a time, under any limit

    def __init__(self, command: str, *, spec: GameSpec = DEFAULT_GAME) -> None:
        super().__init__()
        self.command, self.spec = command, spec
        self._process: subprocess.Popen[str] | None = None
        self._open()

    def _open(self, of: Any = None) -> None:
        if of is not None:
            of._process = None
        self._stopped, self._known = math.inf, list[Any]()
        """When the search was told to stop; the first position and the moves of the game that it knows."""
        if self._process is None:
            self._start()

    @abstractmethod
    def _handshake(self) -> None:
        """Make a program that has begun ready."""

    def _start(self) -> None:
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        try:
            # Windows splits a command itself; to shlex its backslashes mean something else.
            command = self.command.strip() if sys.platform == "win32" else shlex.split(self.command)
            process = self._process = subprocess.Popen(
                command, bufsize=1, encoding="utf-8", errors="replace", **pipes
            )
        except (OSError, ValueError, IndexError) as error:
            why = getattr(error, "strerror", None) or error
            found = f"a program, found none that can be started ({why}); check the command"
            raise self._error(found, Fault.CRASH) from error
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._lines.queue = deque(maxlen=MAX_LINES)
        self._last_words = words = deque[str](maxlen=1)  # on its standard error

        def hear(line: str | None) -> None:
            if line and line.strip():
                words.append(line.strip()[:SHOWN])

        def read(source: IO[str], keep: Callable[[str | None], Any]) -> None:
            while line := source.readline(MAX_LINE):
                keep(line)
            keep(None)

        for args in ((process.stdout, self._lines.put), (process.stderr, hear)):
            self._reader = JoinableThread(target=read, args=args, daemon=True)
            self._reader.start()
        try:
            self._handshake()
        except BaseException:
            self._release()
            raise

    def _error(self, text: str, fault: Fault = Fault.PROTOCOL) -> ProgramError:
        return ProgramError(f"{self.command}: expected {text}", fault)

    def _new_moves(self, game: Any) -> tuple[Any, list[Any], bool]:
        """Return the position before the moves that the program does not know, these, and if all is new."""
        self._stopped = math.inf
        if self._process is None:
            self._known = []
            self._start()
        known, self._known = self._known, [game.positions[-1 - len(game.moves)].key, *game.moves]
        new = not known or self._known[: len(known)] != known
        unknown = self._known[1 if new else len(known) :]
        return game.positions[-1 - len(unknown)], unknown, new

    def _ended(self, wanted: str) -> ProgramError:
        assert self._process is not None
        self._reader.join(END_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        how = "" if (status := self._process.returncode) is None else f" with status {status}"
        words = "".join(f": {line}" for line in self._last_words)
        return self._error(f"{wanted}, found that it has ended{how}{words}", Fault.CRASH)

    def send(self, line: str) -> None:
        """Send a line; a ProgramError says that the program has ended."""
        stdin: Any = self._process and self._process.stdin
        try:
            stdin.write(line + "\n")
            stdin.flush()
        except OSError as error:
            raise self._ended("a running program") from error

    def next_line(self, until: float, wanted: str) -> str:
        """Return the next line, until a time of `time.monotonic`; a ProgramError says why there is none."""
        line: str | None = ""
        while line == "":  # sent by a stop
            seconds = min(until, self._stopped + SPARE_SECONDS) - time.monotonic()
            if seconds < 0:  # however many lines it sends
                raise self._error(f"{wanted!r}, found no answer in time", Fault.SILENCE)
            with suppress(queue.Empty):
                line = self._lines.get(timeout=seconds)
        if line is None:
            raise self._ended(repr(wanted))
        if len(line) >= MAX_LINE and not line.endswith("\n"):
            raise self._error(f"lines of less than {MAX_LINE:,} characters, found a longer: {line[:40]!r}")
        return line

    def _stop_with(self, task: Task, *lines: str) -> None:
        """Have a stop send some lines, and bound the time that the program takes then."""

        def stop() -> None:
            self._stopped = time.monotonic()
            self._lines.put("")
            with suppress(ProgramError):  # who waits for the answer learns of it
                for line in lines:
                    self.send(line)

        task.stop.attach(stop)

    def _until(self, limit: Limit, begun: float) -> float:
        """Return when a program that has a limit and says nothing more times out, by `time.monotonic`."""
        if limit.seconds is None and limit.clock is None:
            return time.monotonic() + SILENCE
        return begun + SPARE_SECONDS + (limit.seconds or max(limit.clock or 0.0, 0.0))

    def _forget(self, game: Any = None) -> None:
        self._known = []
        if self._stop is not None:  # the search has failed
            self._release()

    def _release(self) -> None:
        """Ask the program to quit, and kill it if it does not."""
        process, self._stopped = self._process, math.inf
        if process is None:
            return
        try:
            self.send("quit")
            process.wait(END_SECONDS)
        except (ProgramError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        assert process.stdin is not None
        with suppress(OSError):  # what it did not read; later Python 3.13 would print an error about it
            process.stdin.close()
        self._process = None


class Session(ABC):
    """One conversation; nothing ends it but `quit`. What `load` raises for an engine is answered."""

    def __init__(self, load: Callable[..., Engine], write: Callable[[str], Any]) -> None:
        self._load, self._send = load, write
        self._engine: Engine | None = None

    @abstractmethod
    def handle(self, line: str) -> bool:
        """Answer one line; return whether the conversation continues."""

    def close(self) -> None:
        """Release the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def serve_lines(source: BinaryIO, output: int, make: Callable[[Callable[[str], None]], Session]) -> None:
    """Answer the lines of a source until it or the conversation ends, or nobody reads the output any more.

    `make` begins the conversation, given what sends a line to `output`, a file descriptor.
    """
    closed = False

    def write(line: str) -> None:
        nonlocal closed
        data = f"{line}\n".encode(errors="replace")
        while data and not closed:
            try:
                data = data[os.write(output, data) :]
            except OSError:
                closed = True

    session = make(write)
    try:
        while not closed and (line := source.readline(MAX_LINE)):
            rest = line
            while rest and not rest.endswith(b"\n"):
                rest = source.readline(MAX_LINE)
            if not session.handle(line.decode(errors="replace")):
                break
    finally:
        closed = True
        session.close()


def read_line(line: str) -> tuple[str, dict[str, str]]:
    """Return the command of a line, "" for a blank one, and its arguments, the value of a flag being empty.

    A ValueError says that the line is not `command name=value name="a value" flag`.
    """
    line, end, words = line.rstrip(), 0, list[tuple[str, str]]()
    while end < len(line):
        word = _WORD.match(line, end)
        if word is None or (not words and "=" in word[0]):
            wanted = "name=value" if words else "a command"
            raise ValueError(f"expected {wanted}, found {line[end:].strip()[:SHOWN]!r}")
        words.append((word[1], word[2] or word[3] or ""))
        end = word.end()
    return words[0][0] if words else "", dict(words[1:])


def write_line(command: str, /, **arguments: object) -> str:
    """Format a line; what the protocol cannot express, double quotes and control characters, is replaced."""
    words = [command]
    for name, value in arguments.items():
        text = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", str(value)).replace('"', "'")
        words.append(f"{name}=" + (text if re.fullmatch(_NAME, text) else f'"{text}"'))
    return " ".join(words)


def hub_position(position: Position) -> str:
    """Format a position: the side to move, then squares 1 to 32."""
    squares = "".join(position.piece(square) for square in range(1, 33))
    return ("B" if position.black else "W") + squares.replace(".", "e")


def read_position(text: str) -> Position:
    """Parse a position; a ValueError says that the text is none, or that the rules exclude it."""
    if not re.fullmatch("[BW][bwBWe]{32}", text):
        expected = "a position of 33 characters, B or W and b, w, B, W or e for squares 1 to 32"
        raise ValueError(f"expected {expected}, found {len(text)}: {text[:SHOWN]!r}")
    pieces = {square: piece for square, piece in enumerate(text[1:], 1) if piece != "e"}
    return Position.from_pieces(pieces, turn="black" if text[0] == "B" else "white")


def hub_move(move: Move) -> str:
    """Format a move: from, to, and all captured squares, in ascending order as others do."""
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


def play_moves(game: Game, words: Sequence[str]) -> Game:
    """Play moves in a game, up to the first that is not legal, and return the game."""
    for word in words:
        if (move := find_move(word, game.position)) is None:
            break
        game.push(move)
    return game


def read_game(arguments: Mapping[str, str]) -> Game:
    """Return the game of a `pos` message; a ValueError says that the position or a move is none."""
    if "pos" not in arguments and "start" not in arguments:
        raise ValueError("expected pos pos=... or pos start, found neither")
    words = arguments.get("moves", "").split()
    game = play_moves(Game(read_position(arguments["pos"]) if "pos" in arguments else None), words)
    if (number := len(game.moves)) < len(words):
        found = f"{words[number][:SHOWN]!r} as move {number + 1}"
        raise ValueError(f"expected a legal move in {game.position.fen}, found {found}")
    return game


def read_level(arguments: Mapping[str, str]) -> Limit:
    """Return the limit of a `level` message; a ValueError says that it has none, or one out of range.

    Of `move-time`, `OVERHEAD`, or a quarter if that is less, is kept back for what is not search.
    """
    limits: dict[str, Any] = {}
    for word in (word for word in _LEVEL if word in arguments):
        try:
            number = float(arguments[word]) if word not in _COUNTS else min(int(arguments[word]), MAX_COUNT)
        except ValueError:
            raise ValueError(f"expected {word}=NUMBER, found {arguments[word][:SHOWN]!r}") from None
        limits[_LEVEL[word]] = number
    if not limits and "infinite" not in arguments and "ponder" not in arguments:
        raise ValueError("expected depth, nodes, move-time, time or infinite, found none")
    if (seconds := limits.get("seconds")) is not None:
        limits["seconds"] = max(seconds - min(OVERHEAD, seconds / 4), 0.001)  # a Limit must be above 0
    if "clock" in limits:  # the increment is added before every move, and the message comes before that
        limits["clock"] += limits.get("increment", 0.0)
    return Limit(**limits)


def score(found: SearchResult) -> float | None:
    """Return the score of a result in men, for the side to move; None if it has no value.

    A proven win in n plies has the score 100 - n / 100, a loss the negative. Otherwise the value v is as good
    as `atanh(v) / MAN` men: the odds of winning grow by the same factor with every man.
    """
    best = found.lines[0]
    if best.value is None:
        return None
    if best.plies is not None:
        return math.copysign(WON - best.plies / 100, best.value)
    return math.copysign(MAX_MEN, best.value) if abs(best.value) >= 1 else math.atanh(best.value) / MAN


class HubEngine(ProgramEngine):
    """Another draughts program; a limit is for one move.

    Unknown messages are ignored, as the protocol asks. A program that searches to a depth may take as long as
    it likes, but times out when it has sent no line, such as `info`, for a time.
    """

    takes = frozenset(("seconds", "clock", "depth", "nodes"))
    default_limit = Limit(seconds=DEFAULT_SECONDS)

    def _handshake(self) -> None:
        self.send("hub")
        until, command = time.monotonic() + START_SECONDS, ""
        while command != "wait":
            command, arguments = self._next(until, "wait")
            if command == "param" and arguments.get("name") == "variant":
                names = [name for name in VARIANTS if name in arguments.get("values", "").split()]
                if names and arguments.get("value") not in VARIANTS:
                    self.send(f"set-param name=variant value={names[0]}")
        self.send("init")
        until = time.monotonic() + INIT_SECONDS
        while command != "ready":
            command, _ = self._next(until, "ready")

    def _search(self, task: Task) -> SearchResult:
        begun, game, limit = time.monotonic(), task.game, task.limit
        here: Position = game.position
        if self._new_moves(game)[-1]:
            self.send("new-game")
        # The moves since the last irreversible one, which the program needs for repetitions.
        moves = game.moves[max(0, len(game.moves) - here.halfmove_clock) :]
        played = {"moves": " ".join(map(hub_move, moves))} if moves else {}
        self.send(write_line("pos", pos=hub_position(game.positions[-1 - len(moves)]), **played))
        words = {word: value for word, name in _LEVEL.items() if (value := getattr(limit, name)) is not None}
        if limit.clock is None:
            del words["inc"]
        else:  # a program adds the increment before its move; here it was added after the last
            words["time"] = max(limit.clock, 0.0) - limit.increment
        texts = {word: f"{value:.10g}" for word, value in words.items()}
        self.send(write_line("level", **texts) if texts else "level infinite")
        self.send("go think" if texts else "go analyze")
        self._stop_with(task, "stop")

        def result(pv: list[Move], told: dict[str, str], reason: StopReason | None = None) -> SearchResult:
            counts: Any = {name: int(_number(told.get(name)) or 0) for name in ("nodes", "depth")}
            men, seconds, lines = _number(told.get("score")), time.monotonic() - begun, [Line(pv=pv)]
            value = None if men is None else Value.at(here, math.tanh(MAN * men))
            return SearchResult(lines=lines, value=value, seconds=seconds, reason=reason, **counts)

        told, command, pv = dict[str, str](), "", list[Move]()
        while command != "done":
            command, arguments = self._next(self._until(limit, begun), "done move=...")
            if command == "info":
                told |= arguments
                if pv := play_moves(Game(here), told.get("pv", "").split()).moves:
                    task.tell(partial(result, pv, told))
        if (move := find_move(arguments.get("move", ""), here)) is None:
            legal, found = " ".join(map(hub_move, here.legal_moves())), arguments.get("move", "no move")
            raise self._error(f"one of {legal} in {here.fen}, found {found[:SHOWN]!r}", Fault.ILLEGAL)
        if pv[:1] != [move]:  # a line that does not begin with the move it plays says nothing of it
            pv, told = [move], {}
        return result(pv, told, StopReason.STOPPED if task.stop.is_set() else None)

    def _next(self, until: float, wanted: str) -> tuple[str, dict[str, str]]:
        try:
            command, arguments = read_line(self.next_line(until, wanted))
        except ValueError:
            return "", {}
        if command == "error":
            message = arguments.get("message", "one without a message")[:SHOWN]
            raise self._error(f"{wanted!r}, found an error: {message}")
        return command, arguments


def _number(text: str | None) -> float | None:
    """Return a finite number of a program, None for anything else."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None


class HubSession(Session):
    """One conversation. Every line gets its answer or one `error` line, also while a search runs."""

    def __init__(self, load: Callable[[], Engine], write: Callable[[str], Any]) -> None:
        super().__init__(load, write)
        self._pos: dict[str, str] = {"start": ""}
        self._level: dict[str, str] | None = None  # for the next search; both right or wrong
        self._thread: JoinableThread | None = None
        self._stops: list[Stop] = []
        """Of the search, from `go` to `done`; if there are two, the first is of the pondering before it."""
        self._lock = threading.Lock()
        """Held while a line is sent, and while a search begins or is noted to have ended."""

    def handle(self, line: str) -> bool:
        """See `Session`."""
        try:
            command, arguments = read_line(line)
            if self._thread is not None and command not in DURING_SEARCH:
                raise ValueError(f"expected {', '.join(DURING_SEARCH)} during a search, found {command!r}")
            self._answer(command, arguments)
        except Exception as error:  # whatever a library raises must not end the conversation
            self._write("error", message=error)
            return True
        return command != "quit"

    def close(self) -> None:
        """See `Session`; the search ends."""
        self._stop()
        super().close()

    def _answer(self, command: str, arguments: dict[str, str]) -> None:
        match command:
            case "hub":
                self._write("id", name="ckai", version=version("ckai"), author="The ckai authors")
                self._write("param", **VARIANT, type="enum", values="english")
                self._write("wait")
            case "set-param":
                if arguments != VARIANT:
                    line = write_line("set-param", **VARIANT)
                    raise ValueError(f"expected {line}, found another; the rest are options of ckai engine")
            case "init":
                self._engine = self._engine or self._load()
                self._write("ready")
            case "new-game":
                if self._engine is not None:
                    self._engine.new_game()
                self._pos, self._level = {"start": ""}, None
            case "pos":
                self._pos, self._level = arguments, None
                read_game(arguments)
            case "level":
                self._level = arguments
                read_level(arguments)
            case "go":
                self._go([mode for mode in MODES if mode in arguments])
            case "stop":
                self._stop()
            case "ponder-hit":
                if self._thread is not None and (len(self._stops) == 1 or self._stops[0].is_set()):
                    raise ValueError("expected ponder-hit after go ponder, found another search")
                for stop in self._stops[:1]:
                    stop.set()
            case "ping":
                self._write("pong")
            case _ if command != "quit":
                raise ValueError(f"expected one of the commands {COMMANDS}, found {command[:SHOWN]!r}")

    def _go(self, modes: list[str]) -> None:
        if len(modes) != 1:
            found = " and ".join(modes) or "none"
            raise ValueError(f"expected one of go {', go '.join(MODES)}, found {found}")
        if (engine := self._engine) is None:
            raise ValueError("expected init before go, found none")
        game = read_game(self._pos)
        if not game.legal_moves():
            raise ValueError(f"expected a position with a legal move, found {game.position.fen}")
        limit: Limit | None = Limit() if modes == ["analyze"] else engine.limit or Limit()
        if self._level is not None and not (limit := read_level(self._level)).given <= engine.takes:
            limit = None  # a level of play has a limit of its own
        self._level = None  # it is for one search
        with self._lock:  # until the search is noted, it cannot end
            self._stops = [Stop() for _ in range(2 if modes == ["ponder"] else 1)]
            args = engine, game, limit, self._stops
            self._thread = JoinableThread(target=self._run, args=args, daemon=True)
            self._thread.start()

    def _stop(self) -> None:
        if (thread := self._thread) is not None:
            for stop in reversed(self._stops):
                stop.set()
            thread.join()

    def _run(self, engine: Engine, game: Game, limit: Limit | None, stops: list[Stop]) -> None:
        try:
            if len(stops) > 1:
                found = engine.play(game, Limit(), stop=stops[0], on_result=self._info)
                stops[0].wait()  # pondering that has nothing left to do waits too
            if len(stops) == 1 or not stops[1].is_set():
                found = engine.play(game, limit, stop=stops[-1], on_result=self._info)
            self._info(found)
            pv = found.pv
        except Exception as error:  # whatever it is, the other program waits for a move
            self._write("error", message=f"the search failed: {type(error).__name__}: {error}")
            pv = game.legal_moves()[:1]
        expected = {"ponder": hub_move(pv[1])} if len(pv) > 1 else {}
        with self._lock:  # whoever reads the last line may begin another search
            self._thread = None
            self._send(write_line("done", move=hub_move(pv[0]), **expected))

    def _info(self, found: SearchResult) -> None:
        if (men := score(found)) is not None:
            nps, pv = found.nodes / max(found.seconds, 1e-6) / 1e6, " ".join(map(hub_move, found.pv))
            told = {"depth": max(found.depth, 1), "score": f"{men + 0.0:.2f}", "nodes": found.nodes}
            self._write("info", **told, time=f"{found.seconds:.3f}", nps=f"{nps:.3f}", pv=pv)

    def _write(self, command: str, /, **arguments: object) -> None:
        with self._lock:
            self._send(write_line(command, **arguments))
