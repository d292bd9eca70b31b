"""The protocol from the side of the program: what each line from the other side does."""

import threading
from collections.abc import Callable

from ckai.game import Game, Move
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.base import INTERVAL, Engine
from ckai.rl.engine.hub_lines import done_line, info_line, read_level
from ckai.rl.engine.hub_parameters import Parameters
from ckai.rl.engine.hub_text import MAX_LINE, find_move, quoted, read_line, read_position, write_line
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.engine.stop import Stop

AUTHOR = "The ckai authors"
MODES = ("think", "ponder", "analyze")
DURING_SEARCH = ("ping", "stop", "ponder-hit", "quit")
"""Commands that are allowed during a search."""


class HubSearch:
    """A search in a thread of its own, from `go` to `done`.

    While it ponders it has no limit and no end: it waits for `hit`, which starts the search proper with what
    was found, or for `stop`.
    """

    def __init__(
        self,
        engine: Engine,
        game: Game,
        limit: Limit,
        *,
        ponder: bool,
        write: Callable[[str], None],
        on_end: Callable[[str], None],
    ) -> None:
        """Start the search.

        Args:
            engine: searches one position at a time.
            game: the game; its position has a legal move.
            limit: when the search ends; with `ponder`, from the moment of `hit`.
            ponder: whether to ponder first.
            write: sends a line.
            on_end: sends the last line, and takes note that the search has ended.
        """
        self._engine, self._game, self._limit = engine, game, limit
        self._write, self._on_end = write, on_end
        self._stops = Stop(), Stop()
        """Of pondering, and of the search proper."""
        self.pondering, self._answered = ponder, threading.Event()
        """Whether the search waits for `hit`."""
        self._thread = JoinableThread(target=self._run, name="ckai-hub-search", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the search and wait until its last line is sent."""
        for stop in self._stops:
            stop.set()
        self._answered.set()
        self._thread.join()

    def hit(self) -> None:
        """Begin to measure the limit: the opponent has played the expected move."""
        self.pondering = False
        self._stops[0].set()
        self._answered.set()

    def _run(self) -> None:
        try:
            pv = self._found()
        except Exception as error:  # whatever it is, the other program waits for a move
            self._write(write_line("error", message=f"the search failed: {type(error).__name__}: {error}"))
            pv = self._game.legal_moves()[:1]
        self._on_end(done_line(pv))

    def _found(self) -> list[Move]:
        if self.pondering:
            found = self._search(Limit(), self._stops[0])
            self._answered.wait()  # a search that has nothing left to do waits too
        if not self.pondering:
            found = self._search(self._limit, self._stops[1])
        self._send_info(found)
        return found.pv

    def _search(self, limit: Limit, stop: Stop) -> SearchResult:
        sent_at = -INTERVAL

        def send(found: SearchResult) -> None:
            nonlocal sent_at
            if found.seconds - sent_at >= INTERVAL:  # alpha-beta tells of every depth
                sent_at = found.seconds
                self._send_info(found)

        return self._engine.play(self._game, limit, stop=stop, on_result=send)

    def _send_info(self, found: SearchResult) -> None:
        line = info_line(found)
        if line is not None:
            self._write(line)


class HubSession:
    """One conversation.

    Every line gets its answer or one `error` line; nothing ends the conversation but `quit`. The search runs
    in a thread of its own, so that `handle` may be called while it does.
    """

    def __init__(
        self,
        parameters: Parameters,
        load: Callable[[Parameters], Engine],
        write: Callable[[str], None],
        version: str,
    ) -> None:
        """Begin a conversation.

        Args:
            parameters: the values at the start.
            load: loads the engine; its errors are answered.
            write: sends one line; called from several threads, one at a time.
            version: the version that the program says it has.
        """
        self.parameters, self._load, self._version = parameters, load, version
        self._engine: Engine | None = None
        self._game: Game | None = Game()
        """The position with its history; None after a `pos` that was refused."""
        self._start, self._texts = "", list[str]()
        """What the last `pos` said: the first position and the moves."""
        self._limit: Limit | None = None
        """The `level` of the next search; None without one."""
        self._level_refused = False
        self._search: HubSearch | None = None
        self._lock = threading.Lock()
        """Held while a line is sent, and while a search begins or is noted to have ended."""
        self._send = write

    def handle(self, line: str) -> bool:
        """Answer one line; return whether the conversation goes on."""
        try:
            if len(line) > MAX_LINE:
                raise ValueError(f"expected a line of at most {MAX_LINE:,} characters, found a longer one")
            command, arguments = read_line(line)
            if command == "quit":
                return False
            self._answer(command, arguments)
        except (ValueError, RuntimeError, OSError) as error:
            self._error(str(error))
        except Exception as error:  # whatever a library raises must not end the conversation
            self._error(f"{type(error).__name__}: {error}")
        return True

    def close(self) -> None:
        """Stop the search and release the engine."""
        self._stop()
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    # --- the commands -------------------------------------------------------------------------------

    def _answer(self, command: str, arguments: dict[str, str]) -> None:
        if self._search is not None and command not in DURING_SEARCH and command in self._commands:
            raise ValueError(f"expected {', '.join(DURING_SEARCH)} during a search, found {command}")
        if command not in self._commands:
            names = ", ".join([*self._commands, "quit"])
            raise ValueError(f"expected one of the commands {names}, found {quoted(command)}")
        self._commands[command](self, arguments)

    def _hub(self, arguments: dict[str, str]) -> None:
        self._write(write_line("id", name="ckai", version=self._version, author=AUTHOR))
        for line in self.parameters.lines():
            self._write(line)
        self._write("wait")

    def _set_param(self, arguments: dict[str, str]) -> None:
        for name in ("name", "value"):
            if name not in arguments:
                raise ValueError(f"expected set-param name=... value=..., found no {name}")
        name, value = arguments["name"], arguments["value"]
        if self._engine is None or name not in self.parameters.choices:
            self.parameters.set(name, value)
        elif value != getattr(self.parameters, name):
            raise ValueError(f"expected set-param before init, found it after; {name} is unchanged")

    def _init(self, arguments: dict[str, str]) -> None:
        if self._engine is None:
            self._engine = self._load(self.parameters)
        self._write("ready")

    def _new_game(self, arguments: dict[str, str]) -> None:
        if self._engine is not None:
            self._engine.new_game()
        self._game, self._start, self._texts = Game(), "", []
        self._forget_level()

    def _ping(self, arguments: dict[str, str]) -> None:
        self._write("pong")

    def _pos(self, arguments: dict[str, str]) -> None:
        if "pos" not in arguments and "start" not in arguments:
            raise ValueError("expected pos pos=... or pos start, found neither")
        game, self._game = self._game, None  # rather none than another one
        start, texts = arguments.get("pos", ""), arguments.get("moves", "").split()
        if game is None or start != self._start or texts[: len(self._texts)] != self._texts:
            game, self._start, self._texts = Game(read_position(start) if start else None), start, []
        # Most positions come after the last one, in a game that may be long.
        for text in texts[len(self._texts) :]:
            move = find_move(text, game.position)
            if move is None:
                number = len(self._texts) + 1
                raise ValueError(
                    f"expected a legal move in {game.position.fen}, found {quoted(text)} as move {number}"
                )
            game.push(move)
            self._texts.append(text)
        self._game = game
        self._forget_level()

    def _level(self, arguments: dict[str, str]) -> None:
        self._limit, self._level_refused = None, True
        self._limit, self._level_refused = read_level(arguments), False

    def _forget_level(self) -> None:
        self._limit, self._level_refused = None, False

    def _go(self, arguments: dict[str, str]) -> None:
        modes = [mode for mode in MODES if mode in arguments]
        if len(modes) != 1:
            raise ValueError(
                f"expected one of go {', go '.join(MODES)}, found {' and '.join(modes) or 'none'}"
            )
        if self._engine is None:
            raise ValueError("expected init before go, found none")
        game = self._game
        if game is None:
            raise ValueError("expected pos before go, found one that was refused")
        if not game.legal_moves():
            raise ValueError(f"expected a position with a legal move, found {game.position.fen}")
        if self._level_refused:
            raise ValueError("expected level before go, found one that was refused")
        limit = self._limit
        if limit is None and modes != ["analyze"]:
            limit = self._engine.limit
        elif limit is not None and not self._engine.honours(limit):
            limit = None  # a level has a limit of its own
        self._forget_level()  # it is for one search
        with self._lock:  # until the search is noted, it cannot end
            self._search = HubSearch(
                self._engine,
                game,
                limit or Limit(),
                ponder=modes == ["ponder"],
                write=self._write,
                on_end=self._end,
            )

    def _ponder_hit(self, arguments: dict[str, str]) -> None:
        search = self._search
        if search is not None and search.pondering:
            search.hit()
        elif search is not None:
            raise ValueError("expected ponder-hit after go ponder, found another search")

    def _stop(self, arguments: dict[str, str] | None = None) -> None:
        search = self._search
        if search is not None:
            search.stop()

    _commands = {  # noqa: RUF012  (nothing changes it)
        "hub": _hub,
        "set-param": _set_param,
        "init": _init,
        "new-game": _new_game,
        "pos": _pos,
        "level": _level,
        "go": _go,
        "stop": _stop,
        "ponder-hit": _ponder_hit,
        "ping": _ping,
    }

    # --- lines to the other side --------------------------------------------------------------------

    def _write(self, line: str) -> None:
        with self._lock:
            self._send(line)

    def _error(self, message: str) -> None:
        self._write(write_line("error", message=" ".join(message.split())))

    def _end(self, line: str) -> None:
        """Send the last line of the search; whoever reads it may begin another one."""
        with self._lock:
            self._search = None
            self._send(line)
