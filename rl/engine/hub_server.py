"""Hub from the side of the program: what each line from the other side does."""

import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ckai.game import Game, Move
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.base import Engine
from ckai.rl.engine.hub import MAN, find_move, hub_move, quoted, read_line, read_position, write_line
from ckai.rl.engine.limit import MAX_COUNT, Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.engine.serving import MAX_LINE, Session
from ckai.rl.engine.task import Stop
from ckai.rl.games.clock import MAX_SECONDS
from ckai.rl.search.move_time import OVERHEAD

AUTHOR = "The ckai authors"
_NAMES = "hub set-param init new-game pos level go stop ponder-hit ping quit"
COMMANDS = _NAMES.split()
MODES = ("think", "ponder", "analyze")
DURING_SEARCH = ("ping", "stop", "ponder-hit", "quit")
"""Commands that are allowed during a search."""
WON = 100.0
"""Score of a game that is won, less 0.01 for each ply to its end: what programs of the protocol send."""
MAX_MEN = 50.0
"""Largest score of a position that is not proven."""
MIN_SECONDS = 0.001
"""Shortest time of a move; less is taken as this."""
_WHOLE = "[0-9]{1,18}"
_REAL = r"[-+]?(?:[0-9]{1,12}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?"


@dataclass
class Parameter:
    """What the other side may set before `init`."""

    value: str
    choices: tuple[str, ...] | range | None = None
    """The values that it may have: some words, whole numbers, or None for any text."""

    def line(self, name: str) -> str:
        """Return its declaration."""
        kind: dict[str, object] = {"type": "string"}
        if isinstance(self.choices, range):
            kind = {"type": "int", "min": self.choices[0], "max": self.choices[-1]}
        elif self.choices is not None:
            kind = {"type": "enum", "values": " ".join(self.choices)}
        return write_line("param", name=name, value=self.value, **kind)

    def set(self, name: str, value: str) -> None:
        """Set it.

        Raises:
            ValueError: it cannot have this value.
        """
        if isinstance(self.choices, range):
            if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) in self.choices):
                between = f"from {self.choices[0]} to {self.choices[-1]}"
                raise ValueError(f"expected {name} {between}, found {quoted(value)}")
        elif self.choices is not None and value not in self.choices:
            raise ValueError(f"expected {name} to be one of {', '.join(self.choices)}, found {quoted(value)}")
        elif not value:
            raise ValueError(f"expected a value for {name}, found none")
        self.value = value


@dataclass
class _Search:
    """A search from `go` to `done`. While it ponders it waits for `ponder-hit` or `stop`, without a limit."""

    game: Game
    limit: Limit
    pondering: bool
    stops: tuple[Stop, Stop] = field(default_factory=lambda: (Stop(), Stop()))
    """Of pondering, and of the search proper."""
    answered: threading.Event = field(default_factory=threading.Event)
    thread: JoinableThread | None = None


class HubSession(Session):
    """One conversation.

    Every line gets its answer or one `error` line. The search runs in a thread of its own, so that `handle`
    may be called while it does.
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        load: Callable[[Mapping[str, str]], Engine],
        write: Callable[[str], None],
        version: str,
    ) -> None:
        """Begin a conversation; `load` gets the values of the parameters."""
        super().__init__(load, write, version)
        self.parameters = parameters
        self._game = Game()
        """The position with its history."""
        self._start, self._texts = "", list[str]()
        """What the last `pos` said: the first position and the moves."""
        self._limit: Limit | None = None
        """The `level` of the next search; None without one."""
        self._refused: set[str] = set()
        """Which of the last `pos` and `level` were refused, so that there must be no search."""
        self._search: _Search | None = None
        self._lock = threading.Lock()
        """Held while a line is sent, and while a search begins or is noted to have ended."""

    def handle(self, line: str) -> bool:
        """See `Session`."""
        try:
            if len(line) > MAX_LINE:
                raise ValueError(f"expected a line of at most {MAX_LINE:,} characters, found a longer one")
            command, arguments = read_line(line)
            if command not in COMMANDS:
                raise ValueError(
                    f"expected one of the commands {', '.join(COMMANDS)}, found {quoted(command)}"
                )
            if self._search is not None and command not in DURING_SEARCH:
                raise ValueError(f"expected {', '.join(DURING_SEARCH)} during a search, found {command}")
            self._answer(command, arguments)
            return command != "quit"
        except (ValueError, RuntimeError, OSError) as error:
            self._error(str(error))
        except Exception as error:  # whatever a library raises must not end the conversation
            self._error(f"{type(error).__name__}: {error}")
        return True

    def close(self) -> None:
        """Stop the search and release the engine."""
        self._stop()
        super().close()

    def _answer(self, command: str, arguments: dict[str, str]) -> None:
        """Do what a command says."""
        match command:
            case "hub":
                self._write(write_line("id", name="ckai", version=self._version, author=AUTHOR))
                for name, parameter in self.parameters.items():
                    self._write(parameter.line(name))
                self._write("wait")
            case "set-param":
                self._set_parameter(arguments)
            case "init":
                if self._engine is None:
                    self._engine = self._load({name: each.value for name, each in self.parameters.items()})
                self._write("ready")
            case "new-game":
                if self._engine is not None:
                    self._engine.new_game()
                self._set_game(Game(), "", [])
            case "pos":
                self._set_up(arguments)
            case "level":
                self._limit = None
                self._refused.add("level")
                self._limit = read_level(arguments)
                self._refused.remove("level")
            case "go":
                self._begin(arguments)
            case "stop":
                self._stop()
            case "ponder-hit" if (search := self._search) is not None:
                if not search.pondering:
                    raise ValueError("expected ponder-hit after go ponder, found another search")
                search.pondering = False
                search.stops[0].set()
                search.answered.set()
            case "ping":
                self._write("pong")

    def _set_parameter(self, arguments: dict[str, str]) -> None:
        for name in ("name", "value"):
            if name not in arguments:
                raise ValueError(f"expected set-param name=... value=..., found no {name}")
        name, value = arguments["name"], arguments["value"]
        if (parameter := self.parameters.get(name)) is None:
            names = ", ".join(self.parameters)
            raise ValueError(f"expected one of the parameters {names}, found {quoted(name)}")
        if self._engine is None:
            parameter.set(name, value)
        elif value != parameter.value:
            raise ValueError(f"expected set-param before init, found it after; {name} is unchanged")

    def _set_up(self, arguments: dict[str, str]) -> None:
        """Set up a position and play moves."""
        if "pos" not in arguments and "start" not in arguments:
            raise ValueError("expected pos pos=... or pos start, found neither")
        game, start, texts = self._game, arguments.get("pos", ""), arguments.get("moves", "").split()
        known = len(self._texts)  # most positions come after the last one, in a game that may be long
        continues = "pos" not in self._refused and start == self._start and texts[:known] == self._texts
        self._refused.add("pos")
        if not continues:
            game, known = Game(read_position(start) if start else None), 0
        for number, text in enumerate(texts[known:], known + 1):
            move = find_move(text, game.position)
            if move is None:
                fen = game.position.fen
                raise ValueError(f"expected a legal move in {fen}, found {quoted(text)} as move {number}")
            game.push(move)
        self._set_game(game, start, texts)

    def _set_game(self, game: Game, start: str, texts: list[str]) -> None:
        self._game, self._start, self._texts, self._limit = game, start, texts, None
        self._refused.clear()

    # --- the search, and lines to the other side ----------------------------------------------------

    def _begin(self, arguments: dict[str, str]) -> None:
        modes = [mode for mode in MODES if mode in arguments]
        engine, game, limit = self._engine, self._game, self._limit
        if len(modes) != 1:
            found = " and ".join(modes) or "none"
            raise ValueError(f"expected one of go {', go '.join(MODES)}, found {found}")
        if engine is None:
            raise ValueError("expected init before go, found none")
        for refused in sorted(self._refused, reverse=True):
            raise ValueError(f"expected {refused} before go, found one that was refused")
        if not game.legal_moves():
            raise ValueError(f"expected a position with a legal move, found {game.position.fen}")
        if limit is None and modes != ["analyze"]:
            limit = engine.limit
        elif limit is not None and not engine.honours(limit):
            limit = None  # a level of play has a limit of its own
        self._limit = None  # it is for one search
        with self._lock:  # until the search is noted, it cannot end
            search = self._search = _Search(game, limit or Limit(), modes == ["ponder"])
            search.thread = JoinableThread(target=self._run, args=(engine, search), daemon=True)
            search.thread.start()

    def _stop(self) -> None:
        """End the search, and wait until its last line is sent."""
        search = self._search
        if search is not None and search.thread is not None:
            for stop in search.stops:
                stop.set()
            search.answered.set()
            search.thread.join()

    def _run(self, engine: Engine, search: _Search) -> None:
        try:
            if search.pondering:
                found = engine.play(search.game, Limit(), stop=search.stops[0], on_result=self._info)
                search.answered.wait()  # a search that has nothing left to do waits too
            if not search.pondering:
                found = engine.play(search.game, search.limit, stop=search.stops[1], on_result=self._info)
            self._info(found)
            pv = found.pv
        except Exception as error:  # whatever it is, the other program waits for a move
            self._error(f"the search failed: {type(error).__name__}: {error}")
            pv = search.game.legal_moves()[:1]
        with self._lock:  # whoever reads the last line may begin another search
            self._search = None
            self._send(done_line(pv))

    def _info(self, found: SearchResult) -> None:
        if (line := info_line(found)) is not None:
            self._write(line)

    def _write(self, line: str) -> None:
        with self._lock:
            self._send(line)

    def _error(self, message: str) -> None:
        self._write(write_line("error", message=" ".join(message.split())))


def score(found: SearchResult) -> float | None:
    """Return the score of a result in men, for the side to move; None if it has no value.

    A proven win in n plies has the score 100 - n / 100, a loss the negative. Otherwise the value v, the
    expected result in [-1, 1], is as good as `atanh(v) / MAN` men: the odds of winning grow by the same
    factor with every man.
    """
    best = found.best
    if best.value is None:
        return None
    if best.plies is not None:
        return math.copysign(WON - best.plies / 100, best.value)
    if abs(best.value) >= 1:
        return math.copysign(MAX_MEN, best.value)
    men = math.atanh(best.value) / MAN
    return max(-MAX_MEN, min(men, MAX_MEN))


def info_line(found: SearchResult) -> str | None:
    """Format a result as an `info` message; None if the player has no values."""
    men = score(found)
    if men is None:
        return None
    return write_line(
        "info",
        depth=max(found.depth, 1),
        score=f"{men + 0.0:.2f}",
        nodes=found.nodes,
        time=f"{found.seconds:.3f}",
        nps=f"{found.nodes / max(found.seconds, 1e-6) / 1e6:.3f}",
        pv=" ".join(map(hub_move, found.pv)),
    )


def done_line(pv: Sequence[Move]) -> str:
    """Format the first move of a line as the one to play, and the reply that is expected if there is one."""
    expected = {"ponder": hub_move(pv[1])} if len(pv) > 1 else {}
    return write_line("done", move=hub_move(pv[0]), **expected)


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
    found: dict[str, float] = {}
    for name in ("depth", "nodes", "moves"):
        if (text := arguments.get(name)) is not None:
            if re.fullmatch(_WHOLE, text) is None or int(text) < 1:
                raise ValueError(f"expected {name} >= 1, found {quoted(text)}")
            found[name] = min(int(text), MAX_COUNT)
    for name in ("move-time", "time", "inc"):
        if (text := arguments.get(name)) is not None:
            least = -MAX_SECONDS if name == "time" else 0
            if re.fullmatch(_REAL, text) is None or not least <= float(text) <= MAX_SECONDS:
                raise ValueError(
                    f"expected {name} from {least:,} to {MAX_SECONDS:,} seconds, found {quoted(text)}"
                )
            found[name] = float(text)
    if "time" not in found and ("inc" in found or "moves" in found):
        raise ValueError("expected time with inc and moves, found none")
    if not found and "infinite" not in arguments and "ponder" not in arguments:
        raise ValueError("expected depth, nodes, move-time, time or infinite, found none")
    limits: dict[str, float] = {name: found[name] for name in ("depth", "nodes") if name in found}
    if "move-time" in found:
        seconds = found["move-time"]
        limits["seconds"] = max(seconds - min(OVERHEAD, seconds / 4), MIN_SECONDS)
    if "time" in found:
        # The increment is added before every move, and the message comes before that.
        limits["increment"] = found.get("inc", 0.0)
        limits["clock"] = found["time"] + limits["increment"]
        if "moves" in found:
            limits["remaining_moves"] = found["moves"]
    return Limit(**limits)  # type: ignore[arg-type]  # the whole numbers are
