"""What each message of the page does."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from ckai.cli.playing.session import SIDES, side_of
from ckai.cli.playing.start import HUMAN, game_of, opening_moves
from ckai.cli.web import questions
from ckai.cli.web.library import Library, opened, plain_rows
from ckai.cli.web.messages import (
    Analyse,
    Comment,
    Curve,
    Follow,
    List,
    Load,
    Look,
    Message,
    Nag,
    New,
    Open,
    Place,
    Play,
    Rematch,
    RunGame,
)
from ckai.cli.web.pdn_tree import annotates
from ckai.cli.web.runs import follow, list_runs, run_game
from ckai.cli.web.searches import Priority
from ckai.cli.web.tab_session import TabSession
from ckai.cli.web.table import ANALYSIS, PLAY, ActionError, Seat
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

    def _node(self, message: Any) -> Node:
        """Return the node of a message, or the one shown.

        Raises:
            ValueError: the game has no such node, or another game has taken the place of that of the message.
        """
        table = self._session.table
        if isinstance(message, Comment) and message.tree not in (None, table.tree.key):
            raise ActionError("comment: expected the game on the board, found one that was left")
        return table.shown if message.node is None else table.tree.node(message.node)

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

    async def _new(self, message: New) -> Answer:
        session, server = self._session, self._session.server
        spec = self._spec(message.game)
        given = [name for name in ("fen", "opening", "node") if getattr(message, name) is not None]
        if len(given) > 1:
            raise ActionError(f"{given[0]} and {given[1]} both say where the game begins; give one")
        await server.warm(spec)
        players = dict(zip(SIDES, (message.black, message.white), strict=True))
        if any(player != HUMAN for player in players.values()):
            await server.players_ready.wait()
        name = " ".join(message.name.split()) or HUMAN
        seats = {side: server.players.seat(player, spec) for side, player in players.items()}
        seats = {side: Seat(seat.spec, name) if seat.human else seat for side, seat in seats.items()}
        control = message.control.strip()
        if control:
            TimeControl.read(control)  # before anything is replaced
        tree, start = await asyncio.to_thread(self._start, message, spec)
        session.replace()
        session.table.begin(tree, seats, control, start)
        session.replaced()
        return {}

    def _start(self, message: New, spec: GameSpec) -> tuple[Tree, Node]:
        """Return the tree of a new game, and where in it the game begins."""
        table = self._session.table
        if message.node is not None:
            if spec != table.spec:
                raise ActionError(f"expected the game of this position, {table.spec.name}, found {spec.name}")
            tree, start = table.tree, table.tree.node(message.node)
        elif message.opening is not None:
            tree = Tree(spec)
            start = tree.root
            for move in game_of(opening_moves(message.opening, spec, random.Random())[1], spec).moves:
                start = tree.add(start, move)
        else:
            fen = message.fen
            tree = Tree(spec, None if fen is None else spec.read_position(fen))
            start = tree.root
        if tree.outcome(start) is not None:
            raise ActionError("the game is over in this position; begin in another one")
        return tree, start

    def _rematch(self, message: Rematch) -> Answer:
        session, table = self._session, self._session.table
        if table.mode != PLAY:
            raise ActionError("expected a game, found an analysis; begin a new game")
        seats = table.seats
        if message.swap:
            seats = {"black": seats["white"], "white": seats["black"]}
        tree = Tree(table.spec, table.tree.root.position)
        start = tree.root
        for each in table.start.path()[1:]:
            start = tree.add(start, each.move)
        session.replace()
        table.begin(tree, seats, table.control, start)
        session.replaced()
        return {}

    def _play(self, message: Play) -> Answer:
        table = self._session.table
        if table.mode == PLAY:
            table.expect_person()
        node = table.current if table.mode == PLAY else self._node(message)
        move = table.spec.read_move(node.position, message.move)
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

    def _position(self, message: Place, spec: GameSpec) -> Any:
        """Return the position that a message describes, or the first one of the game."""
        if message.fen is not None and message.pieces is not None:
            raise ActionError("fen and pieces both say what the position is; give one")
        if message.fen is not None:
            return spec.read_position(message.fen)
        if message.pieces is not None:
            pieces = {int(square): piece for square, piece in message.pieces.items()}
            return spec.set_up(pieces, black=message.turn == "black")
        return spec.position()

    async def _setup(self, message: Place) -> Answer:
        session, spec = self._session, self._spec(message.game)
        await session.server.warm(spec)
        tree = Tree(spec, self._position(message, spec))
        self._look_at(tree, [("Event", "ckai board, analysis")], "*")
        return {}

    async def _check(self, message: Place) -> Answer:
        spec = self._spec(message.game)
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

    def _comment(self, message: Comment) -> Answer:
        self._session.table.annotate(self._node(message), comment=message.text)
        return self._changed()

    def _nag(self, message: Nag) -> Answer:
        self._session.table.annotate(self._node(message), nag=message.nag)
        return self._changed()

    def _promote(self, message: Message) -> Answer:
        self._session.table.promote(self._node(message))
        return self._changed()

    def _remove(self, message: Message) -> Answer:
        self._session.table.remove(self._node(message))
        return self._changed()

    # --- searches -----------------------------------------------------------------------------------

    def _analyse(self, message: Analyse) -> Answer:
        session = self._session
        if message.player is not None:
            session.server.players.network(message.player, session.table.spec)
            session.analyst = message.player
        session.lines = message.lines or session.lines
        session.analysing = message.on
        return self._changed()

    def _stop(self, message: Message) -> Answer:
        self._session.stop()
        return self._changed()

    def _curve(self, message: Curve) -> Answer:
        nodes = questions.main_line(self._session)
        self._session.server.create_task(questions.curve(self._session, nodes, message.visits))
        return {"nodes": len(nodes)}

    def _endcurve(self, message: Message) -> Answer:
        self._session.cancel(Priority.CURVE)
        return {}

    async def _hint(self, message: Message) -> Answer:
        return await questions.hint(self._session, self._session.table.shown)

    async def _look(self, message: Look) -> Answer:
        return await questions.look(self._session, self._node(message), message.player, message.visits)

    async def _experts(self, message: Message) -> Answer:
        return await questions.experts(self._session, self._node(message))

    async def _explain(self, message: Message) -> Answer:
        return await questions.explain(self._session, self._node(message))

    # --- files --------------------------------------------------------------------------------------

    async def _load(self, message: Load) -> Answer:
        session = self._session
        name = " ".join(message.name.split()) or "games.pdn"
        session.library = await asyncio.to_thread(Library, message.text, name)
        return {"name": name, "count": len(session.library), "problems": session.library.problems}

    def _loaded(self) -> Library:
        if self._session.library is None:
            raise ActionError("expected a list of games, found none; load a file first")
        return self._session.library

    async def _list(self, message: List) -> Answer:
        library, offset = self._loaded(), message.offset
        total, rows = await asyncio.to_thread(
            library.find,
            query=message.query,
            result=message.result,
            sort=message.sort,
            offset=offset,
            limit=message.limit,
        )
        return {"total": total, "count": len(library), "offset": offset, "rows": plain_rows(rows)}

    async def _open(self, message: Open) -> Answer:
        library, index = self._loaded(), message.index
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

    def _follow(self, message: Follow) -> Answer:
        session = self._session
        session.unfollow()
        session.follower = session.server.create_task(
            follow(session.server.folder, message.run, session.push)
        )
        return {}

    def _unfollow(self, message: Message) -> Answer:
        self._session.unfollow()
        return {}

    async def _rungame(self, message: RunGame) -> Answer:
        server = self._session.server
        generation, index = message.generation, message.index
        tree, headers, result = await asyncio.to_thread(
            run_game, server.folder, message.run, generation, index, server.games
        )
        await server.warm(tree.spec)
        self._look_at(tree, headers, result)
        return {}

    def _ping(self, message: Message) -> Answer:
        return {}
