"""What each message of the page does."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from ckai.cli.playing.session import SIDES, side_of
from ckai.cli.playing.start import HUMAN, game_of, opening_moves
from ckai.cli.web import questions
from ckai.cli.web.library import Library, opened, plain_rows
from ckai.cli.web.messages import Message
from ckai.cli.web.pdn_tree import annotates
from ckai.cli.web.runs import follow, list_runs, run_game
from ckai.cli.web.searches import Priority
from ckai.cli.web.seats import Seat
from ckai.cli.web.tab_session import TabSession
from ckai.cli.web.table import ANALYSIS, PLAY, ActionError
from ckai.cli.web.tree import Node, Tree
from ckai.rl.games.clock import TimeControl
from ckai.rl.games.spec import GameSpec

Answer = dict[str, Any]


class Actions:
    """The messages of a tab but `hello`; a method for each, named after it.

    A method returns the fields of the answer, or a coroutine that does: then the messages that follow do not
    wait for it.

    Args:
        session: the tab's.
    """

    def __init__(self, session: TabSession) -> None:
        self._session = session

    def run(self, message: Message) -> Any:
        """Do what a message asks for; return the fields of the answer or a coroutine that returns them.

        Raises:
            ValueError: it is not possible; one line that says why.
        """
        action: Callable[[Message], Any] = getattr(self, f"_{message.type}")
        return action(message)

    def _node(self, message: Message) -> Node:
        """Return the node of a message, or the one shown.

        Raises:
            ValueError: the game has no such node, or another game has taken the place of that of the message.
        """
        table = self._session.table
        if message.get("tree", table.tree.key) != table.tree.key:
            raise ActionError(f"{message.type}: expected the game on the board, found one that was left")
        number = message.get("node")
        return table.shown if number is None else table.tree.node(number)

    def _spec(self, message: Message) -> GameSpec:
        games, name = self._session.server.games, message.get("game")
        if name is None:
            return self._session.table.spec
        if name not in games:
            raise ActionError(f"expected one of the games {', '.join(games)}, found {name[:60]!r}")
        return games[name]

    def _changed(self, **answer: Any) -> Answer:
        self._session.refresh()
        return answer

    # --- games --------------------------------------------------------------------------------------

    async def _new(self, message: Message) -> Answer:
        session, server = self._session, self._session.server
        spec = self._spec(message)
        given = [name for name in ("fen", "opening", "node") if message.get(name) is not None]
        if len(given) > 1:
            raise ActionError(f"{given[0]} and {given[1]} both say where the game begins; give one")
        await server.warm(spec)
        if any(message.get(side) != HUMAN for side in SIDES):
            await server.players_ready.wait()
        name = " ".join((message.get("name") or "").split()) or HUMAN
        seats = {side: server.players.seat(message.get(side), spec) for side in SIDES}
        seats = {side: Seat(seat.spec, name) if seat.human else seat for side, seat in seats.items()}
        control = (message.get("control") or "").strip()
        if control:
            TimeControl.read(control)  # before anything is replaced
        tree, start = await asyncio.to_thread(self._start, message, spec)
        session.replace()
        session.table.begin(tree, seats, control, start)
        session.replaced()
        return {}

    def _start(self, message: Message, spec: GameSpec) -> tuple[Tree, Node]:
        """Return the tree of a new game, and where in it the game begins."""
        table = self._session.table
        if message.get("node") is not None:
            if spec != table.spec:
                raise ActionError(f"expected the game of this position, {table.spec.name}, found {spec.name}")
            tree, start = table.tree, table.tree.node(message.get("node"))
        elif message.get("opening") is not None:
            tree = Tree(spec)
            start = tree.root
            for move in game_of(opening_moves(message.get("opening"), spec, random.Random())[1], spec).moves:
                start = tree.add(start, move)
        else:
            fen = message.get("fen")
            tree = Tree(spec, None if fen is None else spec.read_position(fen))
            start = tree.root
        if tree.outcome(start) is not None:
            raise ActionError("the game is over in this position; begin in another one")
        return tree, start

    def _rematch(self, message: Message) -> Answer:
        session, table = self._session, self._session.table
        if table.mode != PLAY:
            raise ActionError("expected a game, found an analysis; begin a new game")
        seats = table.seats
        if message.get("swap"):
            seats = {"black": seats["white"], "white": seats["black"]}
        tree = Tree(table.spec, table.tree.root.position)
        start = tree.root
        for each in table.start.path()[1:]:
            start = tree.add(start, each.move)
        session.replace()
        table.begin(tree, seats, table.control, start)
        session.replaced()
        return {}

    def _play(self, message: Message) -> Answer:
        table = self._session.table
        if table.mode == PLAY:
            table.expect_person()
        node = table.current if table.mode == PLAY else self._node(message)
        move = table.spec.read_move(node.position, message.get("move"))
        if table.mode == PLAY:
            try:
                node = table.play(move)
            except ActionError:
                self._session.refresh()  # the time may be up
                raise
        else:
            node = table.vary(node, move)
        return self._changed(node=node.id)

    def _go(self, message: Message) -> Answer:
        self._session.table.shown = self._node(message)
        return self._changed()

    def _undo(self, message: Message) -> Answer:
        self._session.table.undo()
        return self._changed()

    def _redo(self, message: Message) -> Answer:
        self._session.table.redo()
        return self._changed()

    def _resign(self, message: Message) -> Answer:
        self._session.table.resign()
        return self._changed()

    async def _draw(self, message: Message) -> Answer:
        session, table = self._session, self._session.table
        if not table.going_on or not table.seats[table.side].human:
            raise ActionError("a draw is offered when it is your turn in a game")
        node = table.current
        if not all(seat.human for seat in table.seats.values()):
            value = await questions.value(session, node)
            if table.current is not node or not table.going_on:
                raise ActionError("the game has gone on; offer the draw again")
            if value < 0:  # for the side to move, which is not the player's
                return {"accepted": False, "text": "the draw is declined"}
        table.agree_draw()
        return self._changed(accepted=True, text="agreed")

    def _analysis(self, message: Message) -> Answer:
        self._session.save()
        self._session.table.interrupt()
        return self._changed()

    def _resume(self, message: Message) -> Answer:
        if self._session.table.resumable:
            self._session.save()
        self._session.table.resume()
        return self._changed()

    # --- positions ----------------------------------------------------------------------------------

    def _position(self, message: Message, spec: GameSpec) -> Any:
        """Return the position that a message describes, or the first one of the game."""
        if message.get("fen") is not None and message.get("pieces") is not None:
            raise ActionError("fen and pieces both say what the position is; give one")
        if message.get("fen") is not None:
            return spec.read_position(message.get("fen"))
        if message.get("pieces") is not None:
            pieces = {int(square): piece for square, piece in message.get("pieces").items()}
            return spec.set_up(pieces, black=message.get("turn", "black") == "black")
        return spec.position()

    async def _setup(self, message: Message) -> Answer:
        session, spec = self._session, self._spec(message)
        await session.server.warm(spec)
        tree = Tree(spec, self._position(message, spec))
        self._look_at(tree, [("Event", "ckai board, analysis")], "*")
        return {}

    async def _check(self, message: Message) -> Answer:
        spec = self._spec(message)
        await self._session.server.warm(spec)
        position = self._position(message, spec)
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

    def _comment(self, message: Message) -> Answer:
        self._session.table.annotate(self._node(message), comment=message.get("text"))
        return self._changed()

    def _nag(self, message: Message) -> Answer:
        self._session.table.annotate(self._node(message), nag=message.get("nag"))
        return self._changed()

    def _promote(self, message: Message) -> Answer:
        self._session.table.promote(self._node(message))
        return self._changed()

    def _remove(self, message: Message) -> Answer:
        self._session.table.remove(self._node(message))
        return self._changed()

    # --- searches -----------------------------------------------------------------------------------

    def _analyse(self, message: Message) -> Answer:
        session = self._session
        if message.get("player") is not None:
            session.server.players.network(message.get("player"), session.table.spec)
            session.analyst = message.get("player")
        session.lines = message.get("lines", session.lines)
        session.analysing = message.get("on")
        return self._changed()

    def _stop(self, message: Message) -> Answer:
        self._session.stop()
        return self._changed()

    def _curve(self, message: Message) -> Answer:
        nodes = questions.main_line(self._session)
        self._session.server.create_task(questions.curve(self._session, nodes, message.get("visits")))
        return {"nodes": len(nodes)}

    def _endcurve(self, message: Message) -> Answer:
        self._session.cancel(Priority.CURVE)
        return {}

    async def _hint(self, message: Message) -> Answer:
        return await questions.hint(self._session, self._session.table.shown)

    async def _look(self, message: Message) -> Answer:
        return await questions.look(
            self._session, self._node(message), message.get("player"), message.get("visits")
        )

    async def _experts(self, message: Message) -> Answer:
        return await questions.experts(self._session, self._node(message))

    async def _explain(self, message: Message) -> Answer:
        return await questions.explain(self._session, self._node(message))

    # --- files --------------------------------------------------------------------------------------

    async def _load(self, message: Message) -> Answer:
        session = self._session
        name = " ".join(message.get("name").split()) or "games.pdn"
        session.library = await asyncio.to_thread(Library, message.get("text"), name)
        return {"name": name, "count": len(session.library), "problems": session.library.problems}

    def _loaded(self) -> Library:
        if self._session.library is None:
            raise ActionError("expected a list of games, found none; load a file first")
        return self._session.library

    async def _list(self, message: Message) -> Answer:
        library, offset = self._loaded(), message.get("offset", 0)
        total, rows = await asyncio.to_thread(
            library.find,
            query=message.get("query", ""),
            result=message.get("result", ""),
            sort=message.get("sort") or "index",
            offset=offset,
            limit=message.get("limit", 50),
        )
        return {"total": total, "count": len(library), "offset": offset, "rows": plain_rows(rows)}

    async def _open(self, message: Message) -> Answer:
        library, index = self._loaded(), message.get("index")
        tree, headers, result, problem = await asyncio.to_thread(
            lambda: opened(library.game(index))  # parsed in full only now
        )
        self._look_at(tree, headers, result, problem)
        self._session.table.file = library.name, index, len(library)
        self._session.refresh()
        return {}

    async def _save(self, message: Message) -> Answer:
        return {"path": await self._session.save(always=True)}

    def _pdn(self, message: Message) -> Answer:
        table = self._session.table
        suffix = "pdn" if annotates(table.spec) else f"{table.spec.name}.txt"
        return {"text": table.pdn(), "name": f"{ANALYSIS if table.mode == ANALYSIS else 'game'}.{suffix}"}

    # --- runs ---------------------------------------------------------------------------------------

    async def _runs(self, message: Message) -> Answer:
        return {"runs": await asyncio.to_thread(list_runs, self._session.server.folder)}

    def _follow(self, message: Message) -> Answer:
        session = self._session
        session.unfollow()
        session.follower = session.server.create_task(
            follow(session.server.folder, message.get("run"), session.push)
        )
        return {}

    def _unfollow(self, message: Message) -> Answer:
        self._session.unfollow()
        return {}

    async def _rungame(self, message: Message) -> Answer:
        server = self._session.server
        generation, index = message.get("generation"), message.get("index")
        tree, headers, result = await asyncio.to_thread(
            run_game, server.folder, message.get("run"), generation, index, server.games
        )
        await server.warm(tree.spec)
        self._look_at(tree, headers, result)
        return {}

    def _ping(self, message: Message) -> Answer:
        return {}
