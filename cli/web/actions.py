"""What each message of the page does."""

import asyncio
import random
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, validate_call

from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.session import SIDES, side_of
from ckai.cli.playing.start import HUMAN, game_of, opening_moves
from ckai.cli.playing.words import value_text
from ckai.cli.web.library import Library, opened
from ckai.cli.web.pdn_tree import annotates
from ckai.cli.web.runs import follow, list_runs, run_game
from ckai.cli.web.searches import Job, Priority
from ckai.cli.web.state import points_of
from ckai.cli.web.tab_session import TabSession
from ckai.cli.web.table import ANALYSIS, PLAY, ActionError, Seat
from ckai.cli.web.tree import Node, Tree, step_of
from ckai.rl.games.clock import TimeControl
from ckai.rl.games.spec import GameSpec

Answer = dict[str, Any]
MAX_LOADED_CHARACTERS = 8 * 1024 * 1024
"""Largest text of a `load`, in characters."""

HINT_SECONDS = 0.7
"""Time of the search for a hint, and for the answer to a draw."""
EXPLAIN_VISITS = 400
CURVE_VISITS = 100
"""Visits of each position of a curve."""
LOOK_VISITS = 800


validated = validate_call(config=ConfigDict(strict=True))
"""Checks the fields of a message, which are the arguments of its action."""
NodeId = Annotated[int, Field(ge=0, le=2**31)]
Number = Annotated[int, Field(ge=0, le=10**7)]
Name = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=2000)]
Turn = Literal["black", "white"]
Square = Annotated[str, Field(pattern="^[0-9]{1,4}$")]
Pieces = Annotated[dict[Square, Literal["b", "w", "B", "W"]], Field(max_length=1000)]


class Actions:
    """The messages of a tab but `hello`: a method for each, named after it, whose arguments are its fields.

    A method returns the fields of the answer, or a coroutine that does: then the messages that follow do not
    wait for it.

    Args:
        session: the tab's.
    """

    def __init__(self, session: TabSession) -> None:
        self._session = session

    def run(self, kind: str, fields: dict[str, Any]) -> Any:
        """Do what a message asks for; return the fields of the answer or a coroutine that returns them.

        Raises:
            ValueError: it is not possible, or there is no such message, or it has wrong fields.
        """
        if kind not in KINDS:
            raise ActionError(f"expected one of the messages {', '.join(KINDS)}, found {kind[:60]!r}")
        return getattr(self, f"_{kind}")(**fields)

    def _node(self, number: int | None) -> Node:
        """Return the node with a number; None: the one shown.

        Raises:
            ValueError: the game has no such node.
        """
        table = self._session.table
        return table.shown if number is None else table.tree.node(number)

    def _spec(self, name: str | None) -> GameSpec:
        games = self._session.server.games
        if name is None:
            return self._session.table.spec
        if name not in games:
            raise ActionError(f"expected one of the games {', '.join(games)}, found {name[:60]!r}")
        return games[name]

    def _changed(self, **answer: Any) -> Answer:
        self._session.refresh()
        return answer

    # --- games --------------------------------------------------------------------------------------

    @validated
    async def _new(
        self,
        *,
        black: Name,
        white: Name,
        game: Name | None = None,
        control: Name = "",
        fen: Text | None = None,
        opening: Text | None = None,
        node: NodeId | None = None,
        name: Annotated[str, Field(max_length=60)] = "",
    ) -> Answer:
        session, server = self._session, self._session.server
        spec = self._spec(game)
        places = {"fen": fen, "opening": opening, "node": node}
        given = [key for key, value in places.items() if value is not None]
        if len(given) > 1:
            raise ActionError(f"{given[0]} and {given[1]} both say where the game begins; give one")
        await server.warm(spec)
        players = dict(zip(SIDES, (black, white), strict=True))
        if any(player != HUMAN for player in players.values()):
            await server.players_ready.wait()
        name = " ".join(name.split()) or HUMAN
        seats = {side: server.players.seat(player, spec) for side, player in players.items()}
        seats = {side: Seat(seat.spec, name) if seat.human else seat for side, seat in seats.items()}
        control = control.strip()
        if control:
            TimeControl.read(control)  # before anything is replaced
        tree, start = await asyncio.to_thread(self._start, spec, fen, opening, node)
        session.replace()
        session.table.begin(tree, seats, control, start)
        session.replaced()
        return {}

    def _start(
        self, spec: GameSpec, fen: str | None, opening: str | None, node: int | None
    ) -> tuple[Tree, Node]:
        """Return the tree of a new game, and where in it the game begins."""
        table = self._session.table
        if node is not None:
            if spec != table.spec:
                raise ActionError(f"expected the game of this position, {table.spec.name}, found {spec.name}")
            tree, start = table.tree, table.tree.node(node)
        elif opening is not None:
            tree = Tree(spec)
            start = tree.root
            for move in game_of(opening_moves(opening, spec, random.Random())[1], spec).moves:
                start = tree.add(start, move)
        else:
            tree = Tree(spec, None if fen is None else spec.read_position(fen))
            start = tree.root
        if tree.outcome(start) is not None:
            raise ActionError("the game is over in this position; begin in another one")
        return tree, start

    @validated
    def _rematch(self, *, swap: bool = False) -> Answer:
        session, table = self._session, self._session.table
        if table.mode != PLAY:
            raise ActionError("expected a game, found an analysis; begin a new game")
        seats = table.seats
        if swap:
            seats = {"black": seats["white"], "white": seats["black"]}
        tree = Tree(table.spec, table.tree.root.position)
        start = tree.root
        for each in table.start.path()[1:]:
            start = tree.add(start, each.move)
        session.replace()
        table.begin(tree, seats, table.control, start)
        session.replaced()
        return {}

    @validated
    def _play(self, *, move: Name, node: NodeId | None = None) -> Answer:
        table = self._session.table
        if table.mode == PLAY:
            table.expect_person()
        at = table.current if table.mode == PLAY else self._node(node)
        played = table.spec.read_move(at.position, move)
        if table.mode == PLAY:
            try:
                after = table.play(played)
            except ActionError:
                self._session.refresh()  # the time may be up
                raise
        else:
            after = table.vary(at, played)
        return self._changed(node=after.id)

    @validated
    def _go(self, *, node: NodeId) -> Answer:
        self._session.table.shown = self._node(node)
        return self._changed()

    @validated
    def _undo(self) -> Answer:
        self._session.table.undo()
        return self._changed()

    @validated
    def _redo(self) -> Answer:
        self._session.table.redo()
        return self._changed()

    @validated
    def _resign(self) -> Answer:
        self._session.table.resign()
        return self._changed()

    @validated
    async def _draw(self) -> Answer:
        table = self._session.table
        if not table.going_on or not table.seats[table.side].human:
            raise ActionError("a draw is offered when it is your turn in a game")
        node = table.current
        if not all(seat.human for seat in table.seats.values()):
            value = (await self._judge(node)).value
            if table.current is not node or not table.going_on:
                raise ActionError("the game has gone on; offer the draw again")
            if value is not None and value < 0:  # for the side to move, which is not the player's
                return {"accepted": False, "text": "the draw is declined"}
        table.agree_draw()
        return self._changed(accepted=True, text="agreed")

    @validated
    def _analysis(self) -> Answer:
        self._session.save()
        self._session.table.interrupt()
        return self._changed()

    @validated
    def _resume(self) -> Answer:
        if self._session.table.resumable:
            self._session.save()
        self._session.table.resume()
        return self._changed()

    # --- positions ----------------------------------------------------------------------------------

    def _position(self, spec: GameSpec, fen: str | None, pieces: dict[str, Any] | None, turn: str) -> Any:
        """Return the position of a FEN, or of pieces and the side to move, or the first one of the game."""
        if fen is not None and pieces is not None:
            raise ActionError("fen and pieces both say what the position is; give one")
        if fen is not None:
            return spec.read_position(fen)
        if pieces is not None:
            placed = {int(square): piece for square, piece in pieces.items()}
            return spec.set_up(placed, black=turn == "black")
        return spec.position()

    @validated
    async def _setup(
        self,
        *,
        game: Name | None = None,
        fen: Text | None = None,
        pieces: Pieces | None = None,
        turn: Turn = "black",
    ) -> Answer:
        session, spec = self._session, self._spec(game)
        await session.server.warm(spec)
        tree = Tree(spec, self._position(spec, fen, pieces, turn))
        self._look_at(tree, [("Event", "ckai board, analysis")], "*")
        return {}

    @validated
    async def _check(
        self,
        *,
        game: Name | None = None,
        fen: Text | None = None,
        pieces: Pieces | None = None,
        turn: Turn = "black",
    ) -> Answer:
        spec = self._spec(game)
        await self._session.server.warm(spec)
        position = self._position(spec, fen, pieces, turn)
        return {
            "fen": spec.position_text(position),
            "pieces": spec.pieces(position),
            "turn": side_of(position),
            "legal": len(position.legal_moves()),
        }

    def _look_at(self, tree: Tree, headers: list[tuple[str, str]], result: str, trouble: str = "") -> None:
        session = self._session
        session.replace()
        session.table.analyse(tree, headers, result, trouble)
        session.replaced()

    # --- comments and variations --------------------------------------------------------------------

    @validated
    def _comment(
        self, *, node: NodeId, text: Annotated[str, Field(max_length=20_000)], tree: Name | None = None
    ) -> Answer:
        table = self._session.table
        if tree not in (None, table.tree.key):
            raise ActionError("comment: expected the game on the board, found one that was left")
        table.annotate(self._node(node), comment=text)
        return self._changed()

    @validated
    def _nag(self, *, node: NodeId, nag: Annotated[int, Field(ge=0, le=255)]) -> Answer:
        self._session.table.annotate(self._node(node), nag=nag)
        return self._changed()

    @validated
    def _promote(self, *, node: NodeId) -> Answer:
        self._session.table.promote(self._node(node))
        return self._changed()

    @validated
    def _remove(self, *, node: NodeId) -> Answer:
        self._session.table.remove(self._node(node))
        return self._changed()

    # --- searches -----------------------------------------------------------------------------------

    @validated
    def _analyse(
        self, *, on: bool, lines: Annotated[int, Field(ge=1, le=10)] | None = None, player: Name | None = None
    ) -> Answer:
        session = self._session
        if player is not None:
            session.server.players.network(player, session.table.spec)
            session.analyst = player
        session.lines = lines or session.lines
        session.analysing = on
        return self._changed()

    @validated
    def _stop(self) -> Answer:
        self._session.stop()
        return self._changed()

    async def _judge(self, node: Node) -> Any:
        """Return the result of a short search at a node.

        Raises:
            ActionError: the game is over there.
        """
        session = self._session
        _require_moves(node)
        search, game = session.searcher(), session.table.tree.game(node)
        return await session.ask(lambda job: search(job, game, seconds=HINT_SECONDS))

    @validated
    async def _hint(self) -> Answer:
        session, node = self._session, self._session.table.shown
        spec, result = session.table.spec, await self._judge(node)
        text = value_text(result, spec.side_names)
        points = points_of(float(result.value), black=node.position.black)
        return step_of(spec, node.position, result.move) | {"black": points, "text": text}

    @validated
    def _curve(self, *, visits: Annotated[int, Field(ge=1, le=100_000)] = CURVE_VISITS) -> Answer:
        nodes = self._session.table.tree.root.end().path()
        self._session.server.create_task(self._search_curve(nodes, visits))
        return {"nodes": len(nodes)}

    async def _search_curve(self, nodes: list[Node], visits: int) -> None:
        """Search nodes one after the other and tell the tab their values while they come."""
        session = self._session
        tree, search = session.table.tree, session.searcher()
        left = list(nodes)

        def work(job: Job) -> None:
            while left and not job.interrupted:
                node = left[0]
                outcome = tree.outcome(node)
                if outcome is None:
                    result = search(job, tree.game(node), visits=visits)
                    if job.interrupted:
                        return
                    points = points_of(float(result.value), black=node.position.black)
                else:
                    points = {"black": 1.0, "white": 0.0}.get(outcome.winner or "", 0.5)
                left.pop(0)
                session.server.call_soon_threadsafe(on_value, node, points, len(left))

        def on_value(node: Node, points: float, rest: int) -> None:
            node.black = points
            if session.table.tree is tree:
                session.push({"type": "values", "points": [{"node": node.id, "black": points}], "left": rest})

        try:
            await session.ask(work, Priority.CURVE, preemptible=True)
        except (ActionError, ValueError, OSError, RuntimeError) as error:
            if str(error) != "stopped":
                session.push({"type": "status", "text": str(error), "ready": True})
        if left:
            session.push({"type": "values", "points": [], "left": 0})

    @validated
    def _endcurve(self) -> Answer:
        self._session.cancel(Priority.CURVE)
        return {}

    @validated
    async def _look(
        self,
        *,
        node: NodeId | None = None,
        player: Name | None = None,
        visits: Annotated[int, Field(ge=1, le=20_000)] = LOOK_VISITS,
    ) -> Answer:
        """Return what a network sees at a node, and how a search grows from it, see `look_inside`."""
        session, place = self._session, self._node(node)
        _require_moves(place)
        server, spec, name = session.server, session.table.spec, player or session.analyst
        game = session.table.tree.game(place)

        def work(job: Job) -> dict[str, Any]:
            from ckai.cli.web.inside import look_inside

            source, engine = server.load_network(name, spec)
            seen = look_inside(spec, game, source, engine, visits, job)
            return {"player": source, **seen}

        return {"node": place.id, "game": spec.name, **await session.ask(work)}

    @validated
    async def _experts(self, *, node: NodeId | None = None) -> Answer:
        """Return what was played at a node in the data set at hand."""
        session, place = self._session, self._node(node)
        data, spec = session.server.experts, session.table.spec
        moves = place.position.legal_moves()
        if data is None or data.game != spec.name or not moves:
            return {"source": None, "total": 0, "rows": []}
        found = await asyncio.to_thread(data.played, place.position.board, moves)
        rows = [
            {
                "move": str(each.moves[0]),
                "moves": [str(move) for move in each.moves],
                "times": each.times,
                "score": each.score,
            }
            for each in found
        ]
        return {"source": data.path.name, "total": sum(each.times for each in found), "rows": rows}

    @validated
    async def _explain(self, *, node: NodeId | None = None) -> Answer:
        """Return lines of text about the move that led to a node."""
        session, place = self._session, self._node(node)
        table, search = session.table, session.searcher()
        spec, data = table.spec, session.server.experts
        if place.parent is None:
            raise ActionError("expected a move to explain, found the first position")
        game, move = table.tree.game(place.parent), place.move

        def work(job: Job) -> list[str]:
            def found(game: Any, lines: int) -> Any:
                if job.interrupted:
                    raise ActionError("stopped")
                return search(job, game, lines=lines, visits=EXPLAIN_VISITS)

            return Explainer(spec, found, data).explain(game, move)

        return {"lines": await session.ask(work)}

    # --- files --------------------------------------------------------------------------------------

    @validated
    async def _load(
        self, *, text: Annotated[str, Field(max_length=MAX_LOADED_CHARACTERS)], name: Name
    ) -> Answer:
        session = self._session
        name = " ".join(name.split()) or "games.pdn"
        session.library = await asyncio.to_thread(Library, text, name)
        return {"name": name, "count": len(session.library), "problems": session.library.problems}

    def _loaded(self) -> Library:
        if self._session.library is None:
            raise ActionError("expected a list of games, found none; load a file first")
        return self._session.library

    @validated
    async def _list(
        self,
        *,
        query: Name = "",
        result: Name = "",
        sort: Name = "index",
        offset: Number = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Answer:
        library = self._loaded()
        total, rows = await asyncio.to_thread(
            library.find,
            query=query,
            result=result,
            sort=sort,
            offset=offset,
            limit=limit,
        )
        return {"total": total, "count": len(library), "offset": offset, "rows": rows}

    @validated
    async def _open(self, *, index: Number) -> Answer:
        library = self._loaded()
        tree, headers, result, problem = await asyncio.to_thread(
            lambda: opened(library.game(index))  # parsed in full only now
        )
        self._look_at(tree, headers, result, problem)
        self._session.table.file = library.name, index, len(library)
        self._session.refresh()
        return {}

    @validated
    async def _save(self) -> Answer:
        return {"path": await self._session.save(always=True)}

    @validated
    def _pdn(self) -> Answer:
        table = self._session.table
        suffix = "pdn" if annotates(table.spec) else f"{table.spec.name}.txt"
        return {"text": table.pdn(), "name": f"{ANALYSIS if table.mode == ANALYSIS else 'game'}.{suffix}"}

    # --- runs ---------------------------------------------------------------------------------------

    @validated
    async def _runs(self) -> Answer:
        return {"runs": await asyncio.to_thread(list_runs, self._session.server.folder)}

    @validated
    def _follow(self, *, run: Text) -> Answer:
        session = self._session
        session.unfollow()
        session.follower = session.server.create_task(follow(session.server.folder, run, session.push))
        return {}

    @validated
    def _unfollow(self) -> Answer:
        self._session.unfollow()
        return {}

    @validated
    async def _rungame(self, *, run: Text, generation: Number, index: Number) -> Answer:
        server = self._session.server
        tree, headers, result = await asyncio.to_thread(
            run_game, server.folder, run, generation, index, server.games
        )
        await server.warm(tree.spec)
        self._look_at(tree, headers, result)
        return {}

    @validated
    def _ping(self) -> Answer:
        return {}


def _require_moves(node: Node) -> None:
    if not node.position.legal_moves():
        raise ActionError("the game is over here")


KINDS = tuple(name[1:] for name, member in vars(Actions).items() if hasattr(member, "raw_function"))
"""The types of the messages."""
