"""Hub from the side of the program: what each line from the other side does."""

import math
import threading
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from ckai.game import Game
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine import hub
from ckai.rl.engine.base import Engine, Stop
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.engine.serving import MAX_LINE, Session

DURING_SEARCH = ("stop", "ponder-hit", "ping", "quit")
"""Commands that are allowed during a search."""
COMMANDS = ("hub", "set-param", "init", "new-game", "pos", "level", "go", *DURING_SEARCH)
MODES = ("think", "ponder", "analyze")
WON = 100.0
"""Score of a game that is won, less 0.01 for each ply to its end: what programs of the protocol send."""
MAX_MEN = 50.0
"""Largest score of a position that is not proven."""


class HubSession(Session):
    """One conversation.

    Every line gets its answer or one `error` line. The search runs in a thread of its own, so that `handle`
    may be called while it does. `load` gets the values of the parameters.

    Attributes:
        parameters: what the other side may set before `init`: by name what `param` says of it, a text, an
            `enum` of words, or an `int`.
    """

    def __init__(
        self,
        parameters: Mapping[str, dict[str, Any]],
        load: Callable[[Mapping[str, str]], Engine],
        write: Callable[[str], None],
    ) -> None:
        super().__init__(load, write)
        self.parameters = parameters
        self._pos: dict[str, str] = {"start": ""}
        self._level: dict[str, str] | None = None
        """What the last `pos` and the `level` for the next search said, right or wrong."""
        self._thread: JoinableThread | None = None
        self._stops: list[Stop] = []
        """Of the search, from `go` to `done`; if there are two, the first is of the pondering before it."""
        self._lock = threading.Lock()
        """Held while a line is sent, and while a search begins or is noted to have ended."""

    def handle(self, line: str) -> bool:
        """See `Session`."""
        try:
            if len(line) > MAX_LINE:
                raise ValueError(f"expected a line of at most {MAX_LINE:,} characters, found a longer one")
            command, arguments = hub.read_line(line)
            if command not in COMMANDS:
                commands = ", ".join(COMMANDS)
                raise ValueError(f"expected one of the commands {commands}, found {hub.quoted(command)}")
            if self._thread is not None and command not in DURING_SEARCH:
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
                self._write("id", name="ckai", version=version("ckai"), author="The ckai authors")
                for name, declared in self.parameters.items():
                    self._write("param", name=name, **declared)
                self._write("wait")
            case "set-param":
                self._set_parameter(arguments.get("name", ""), arguments.get("value", ""))
            case "init":
                if self._engine is None:
                    self._engine = self._load({name: each["value"] for name, each in self.parameters.items()})
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
                hub.read_level(arguments)
            case "go":
                self._go([mode for mode in MODES if mode in arguments])
            case "stop":
                self._stop()
            case "ponder-hit" if self._thread is not None:
                if len(self._stops) == 1 or self._stops[0].is_set():
                    raise ValueError("expected ponder-hit after go ponder, found another search")
                self._stops[0].set()
            case "ping":
                self._write("pong")

    def _set_parameter(self, name: str, value: str) -> None:
        if (declared := self.parameters.get(name)) is None:
            names = ", ".join(self.parameters)
            raise ValueError(f"expected set-param name=... value=... of {names}, found {hub.quoted(name)}")
        if self._engine is not None and value != declared["value"]:
            raise ValueError(f"expected set-param before init, found it after; {name} is unchanged")
        fits = value in declared["values"].split() if "values" in declared else bool(value)
        if "max" in declared:
            fits = value in map(str, range(declared["min"], declared["max"] + 1))
        if not fits:
            line = hub.write_line("param", name=name, **declared)
            raise ValueError(f"expected a value of {line}, found {hub.quoted(value)}")
        declared["value"] = value

    # --- the search, and lines to the other side ----------------------------------------------------

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
        if self._level is not None and not (limit := hub.read_level(self._level)).given <= engine.takes:
            limit = None  # a level of play has a limit of its own
        self._level = None  # it is for one search
        with self._lock:  # until the search is noted, it cannot end
            self._stops = [Stop() for _ in range(2 if modes == ["ponder"] else 1)]
            args = engine, game, limit, self._stops
            self._thread = JoinableThread(target=self._run, args=args, daemon=True)
            self._thread.start()

    def _stop(self) -> None:
        """End the search, and wait until its last line is sent."""
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
            self._error(f"the search failed: {type(error).__name__}: {error}")
            pv = game.legal_moves()[:1]
        expected = {"ponder": hub.hub_move(pv[1])} if len(pv) > 1 else {}
        with self._lock:  # whoever reads the last line may begin another search
            self._thread = None
            self._send(hub.write_line("done", move=hub.hub_move(pv[0]), **expected))

    def _info(self, found: SearchResult) -> None:
        if (men := score(found)) is not None:
            self._write(
                "info",
                depth=max(found.depth, 1),
                score=f"{men + 0.0:.2f}",
                nodes=found.nodes,
                time=f"{found.seconds:.3f}",
                nps=f"{found.nodes / max(found.seconds, 1e-6) / 1e6:.3f}",
                pv=" ".join(map(hub.hub_move, found.pv)),
            )

    def _error(self, message: str) -> None:
        self._write("error", message=" ".join(message.split()))

    def _write(self, command: str, /, **arguments: object) -> None:
        with self._lock:
            self._send(hub.write_line(command, **arguments))


def score(found: SearchResult) -> float | None:
    """Return the score of a result in men, for the side to move; None if it has no value.

    A proven win in n plies has the score 100 - n / 100, a loss the negative. Otherwise the value v, the
    expected result in [-1, 1], is as good as `atanh(v) / hub.MAN` men: the odds of winning grow by the same
    factor with every man.
    """
    best = found.lines[0]
    if best.value is None:
        return None
    if best.plies is not None:
        return math.copysign(WON - best.plies / 100, best.value)
    if abs(best.value) >= 1:
        return math.copysign(MAX_MEN, best.value)
    return max(-MAX_MEN, min(math.atanh(best.value) / hub.MAN, MAX_MEN))


def read_game(arguments: dict[str, str]) -> Game:
    """Return the game of a `pos` message: `pos` or `start`, and `moves`.

    Raises:
        ValueError: the position or a move is none.
    """
    if "pos" not in arguments and "start" not in arguments:
        raise ValueError("expected pos pos=... or pos start, found neither")
    game = Game(hub.read_position(arguments["pos"]) if "pos" in arguments else None)
    for number, text in enumerate(arguments.get("moves", "").split(), 1):
        if (move := hub.find_move(text, game.position)) is None:
            fen = game.position.fen
            raise ValueError(f"expected a legal move in {fen}, found {hub.quoted(text)} as move {number}")
        game.push(move)
    return game
