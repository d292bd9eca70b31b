"""`Analyst`: analyses a game, from the values of its positions to the cost of its moves.

Each position with a choice is searched on its own; with an integer network alpha-beta looks much deeper. A
move costs the expected points by which the best move beats it. Searches of 200 visits err, so
some things are done before a move is blamed:

- Values go backwards through the game. Where the moves that followed turned out better for a side than the
  search of the position thought, the position was better: the blame for an unseen refutation falls on the
  move that allowed it, not on one after it.
- Where a move seems to cost points, or the search and what followed disagree, the positions after the best
  moves are searched, without alpha-beta also the position and the one after the move again with more visits,
  and then compared.
- Without alpha-beta a move that would be called better than the one played has to stand up to a second
  opinion, a search with more visits still: else the position was already bad, and an earlier move is blamed.

- A move of the book, which leads to a position on the way to a named opening or to a ballot, is marked only
  if the longest searches, of the position and of the one after the move, find a blunder.

Positions in the tablebases have the tables' value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ckai.datasets.tables import Tables
from ckai.game import Game, Move, Position
from ckai.game.openings import is_book
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.analysis.config import AnalysisConfig
from ckai.rl.analysis.report import POINTS, GameReport, PlyReport, grade_of, theory_of
from ckai.rl.analysis.score import expected_score
from ckai.rl.analysis.searches import Searches
from ckai.rl.engine.result import Proof

MAX_LINE = 8
"""Most plies of a variation."""
ALTERNATIVES = 3
"""Most moves besides the one played that a check searches."""
ROUNDS = 3
"""Rounds of checks: each looks at what the one before has changed."""
TABLE_POINTS = {"win": 1.0, "draw": 0.5, "loss": 0.0}


@dataclass
class _Node:
    """A position of the game. Points are those of its side to move."""

    game: Game
    """The positions up to this one, without moves."""
    legal: list[Move]
    played: Move | None
    """None in the last position."""
    verdict: Proof | None
    points: float = 0.5
    """By its own search, the tables or the rules."""
    lines: dict[Move, tuple[float, list[Move]]] = field(default_factory=dict)
    """Points and lines of the moves looked at; the played one is not among them after a check."""
    ranked: list[Move] = field(default_factory=list)
    """Moves by visits of the last search."""
    checked: bool = False
    backed_up: float = 0.5
    """Points after what followed in the game was taken into account."""

    @property
    def forced(self) -> bool:
        return len(self.legal) == 1

    def best(self) -> tuple[Move, float, list[Move]] | None:
        """The best move looked at, with points and line."""
        if not self.lines:
            return None
        move = max(self.lines, key=lambda each: self.lines[each][0])
        return move, *self.lines[move]


class Analyst:
    """Analyses games, one at a time; one object a thread."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: AnalysisConfig | None = None,
        *,
        tables: Tables | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Allocate the search trees.

        Args:
            evaluator: evaluates positions of checkers; stays open.
            config: the settings; None: the defaults.
            tables: tablebases; None: none.
            stopped: called now and then; returns whether to stop.
        """
        self.config = config or AnalysisConfig()
        self.tables = tables
        self._searches = Searches(evaluator, self.config.visits, tables=tables, stopped=stopped)

    def close(self) -> None:
        """Free the search trees."""
        self._searches.close()

    def analyze(self, game: Game, result: str | None = None) -> GameReport:
        """Analyse a game.

        Args:
            game: the moves, any number of them.
            result: the result as PDN; None if it is unknown. It is not inferred from the moves.

        Returns:
            The report, a `PlyReport` for each move.

        Raises:
            CancelledError: `stopped` returned True.
            ValueError: the evaluator answered with numbers that are not finite.

        Example:
            >>> from ckai.rl.evaluators.loading import load_evaluator
            >>> game = Game(Position.from_fen("B:W18,27,32:B1,14"))
            >>> _ = game.push("14x23"), game.push("27x18")
            >>> analyst = Analyst(load_evaluator("uniform"), AnalysisConfig(visits=20))
            >>> [ply.forced for ply in analyst.analyze(game).plies]
            [True, True]
        """
        self._searches.forget()  # a report depends on its game alone
        nodes = self._nodes(game)
        searched = self._search_all(nodes, game) + self._check_end(nodes[-1], result)
        self._back_up(nodes)
        for _ in range(ROUNDS):
            doubtful = [n for n in range(len(game.moves)) if self._is_doubtful(nodes, n)]
            if not doubtful:
                break
            searched += self._check(nodes, doubtful)
            self._back_up(nodes)
        first, last = nodes[0], nodes[-1]
        report = GameReport(
            plies=tuple(self._ply(nodes, n) for n in range(len(game.moves))),
            start=first.backed_up if first.game.position.black else 1 - first.backed_up,
            verdict=last.verdict,
            black_to_move=last.game.position.black,
            result=result,
            positions=searched,
        )
        return replace(report, theory=theory_of(report))

    # --- values -----------------------------------------------------------------------------------------

    def _nodes(self, game: Game) -> list[_Node]:
        nodes = []
        for n in range(len(game.positions)):
            played = game.moves[n] if n < len(game.moves) else None
            node = self._node(game.positions[: n + 1], played)
            if not node.legal:
                node.points = 0.0
            elif node.verdict is not None:
                node.points = TABLE_POINTS[node.verdict]
            nodes.append(node)
        return nodes

    def _node(self, positions: list[Position], played: Move | None = None) -> _Node:
        game = Game(positions[-1])
        game.positions = positions
        verdict = self.tables.result(game.position) if self.tables else None
        return _Node(game, game.legal_moves(), played, verdict)

    def _search_all(self, nodes: list[_Node], game: Game) -> int:
        """Search the positions that have a choice, and the last one; return their number."""
        last = nodes[-1]
        if last.legal and game.is_game_over():
            last.points = 0.5  # drawn by rule
        ended = game.is_game_over()
        chosen = [node for node in nodes[:-1] if not node.forced] + ([] if ended else [last])
        self._search(chosen, self.config.visits)
        return len(chosen)

    def _search(self, nodes: Sequence[_Node], visits: int) -> None:
        """Search positions, and set their points and the line of their best move."""
        results = self._searches.search([node.game for node in nodes], visits)
        # Backwards, so that alpha-beta's table knows what follows.
        for node, found in reversed(list(zip(nodes, results, strict=True))):
            value = found.lines[0].value
            points = expected_score(0.0 if value is None else value)
            if node.verdict is not None:
                points = TABLE_POINTS[node.verdict]
            node.points = points
            node.lines = {found.move: (points, found.pv)}
            node.ranked = sorted(found.visits, key=lambda move: -found.visits[move])
            if self._searches.has_alpha_beta and node.verdict is None and not found.proven:
                deeper, line = self._searches.alpha_beta(node.game)
                node.points = expected_score(deeper)
                node.lines = {line[0]: (node.points, line)}
                node.ranked = [line[0], *(move for move in node.ranked if move != line[0])]

    def _check_end(self, last: _Node, result: str | None) -> int:
        """Search the last position again if its value is not that of the result: a player resigned.

        Returns:
            The number of searches.
        """
        points = POINTS.get(result or "")
        if points is None or not last.lines or last.verdict is not None:
            return 0
        black = last.points if last.game.position.black else 1 - last.points
        if abs(black - points) < self.config.blunder:
            return 0
        self._search([last], self._searches.check)
        return 1

    def _back_up(self, nodes: list[_Node]) -> None:
        """Set `backed_up` from the end of the game to its start."""
        nodes[-1].backed_up = nodes[-1].points
        for node, after in zip(reversed(nodes[:-1]), reversed(nodes), strict=False):
            played = 1 - after.backed_up
            best = node.best()
            if node.verdict is not None:
                node.backed_up = node.points
            elif best is None or best[0] == node.played or played >= best[1]:
                node.backed_up = played
            else:
                node.backed_up = best[1]

    # --- checks -----------------------------------------------------------------------------------------

    def _is_doubtful(self, nodes: list[_Node], n: int) -> bool:
        """Whether a move seems to cost points, or its search and what followed disagree."""
        node = nodes[n]
        best = node.best()
        if node.checked or best is None:
            return False
        return abs(best[1] - (1 - nodes[n + 1].backed_up)) >= self.config.inaccuracy

    def _check(self, nodes: list[_Node], doubtful: list[int]) -> int:
        """Search doubtful positions again, those after them, and those after their best moves.

        Returns:
            The number of searches.
        """
        visits = self._searches.check
        again = set() if self._searches.has_alpha_beta else {m for n in doubtful for m in (n, n + 1)}
        chosen = [
            nodes[m] for m in sorted(again) if not nodes[m].checked and nodes[m].legal and nodes[m].lines
        ]
        self._search(chosen, visits)
        after: list[tuple[_Node, Move, _Node]] = []
        for n in doubtful:
            node = nodes[n]
            node.checked = True
            moves = [move for move in node.ranked if move != node.played][:ALTERNATIVES]
            node.lines = {}
            for move in moves:
                here = node.game.position.push(move)
                after.append((node, move, self._node([*node.game.positions, here])))
        searchable = [child for _, _, child in after if child.legal]
        self._search(searchable, visits)
        for node, move, child in after:
            points = 1 - child.points if child.legal else 1.0
            if child.legal and child.game.is_game_over():
                points = 0.5
            best = child.best()
            node.lines[move] = points, [move, *(best[2] if best else [])]
        self._back_up(nodes)
        more = 0 if self._searches.has_alpha_beta else self._second_opinions(nodes, after)
        return len(chosen) + len(searchable) + more

    def _second_opinions(self, nodes: list[_Node], after: list[tuple[_Node, Move, _Node]]) -> int:
        """Check moves that seem better than the one played, by a mistake's cost or more, by a second opinion.

        The best move first; another one only if that falls back.

        Args:
            nodes: the positions of the game.
            after: positions with a move, and the position after it.

        Returns:
            The number of searches.
        """
        following = {id(node): nodes[n + 1] for n, node in enumerate(nodes[:-1])}
        waiting = {(id(node), move): (node, move, child) for node, move, child in after}
        count = 0
        while True:
            asked = []
            for node in {id(node): node for node, _, _ in after}.values():
                best = node.best()
                if best is None or best[1] - (1 - following[id(node)].backed_up) < self.config.mistake:
                    continue
                found = waiting.pop((id(node), best[0]), None)
                # A search cannot see that the position it begins with is drawn.
                if found is None or not found[2].legal or found[2].verdict is not None:
                    continue
                if not found[2].game.is_game_over():
                    asked.append(found)
            if not asked:
                return count
            values = self._searches.second_opinions([child.game for _, _, child in asked])
            for (node, move, _), value in zip(asked, values, strict=True):
                points, line = node.lines[move]
                node.lines[move] = min(points, 1 - expected_score(value)), line
            count += len(asked)

    # --- reports ----------------------------------------------------------------------------------------

    def _ply(self, nodes: list[_Node], n: int) -> PlyReport:
        node = nodes[n]
        assert node.played is not None
        position = node.game.position
        played = 1 - nodes[n + 1].backed_up
        best = node.best()
        move, points, line = node.played, played, [node.played]
        if best is not None and not node.forced and (best[1] > played or best[0] == node.played):
            move, line = best[0], best[2]
            points = played if move == node.played else best[1]
        grade = None if node.forced else grade_of(round(points - played, 4), self.config)
        if (
            grade is not None
            and is_book(nodes[n + 1].game.position)
            and not self._is_refuted(node, nodes[n + 1])
        ):
            grade, move, points, line = None, node.played, played, [node.played]
        return PlyReport(
            move=str(node.played),
            black=position.black,
            pieces=(position.own | position.opp).bit_count(),
            forced=node.forced,
            points=round(points, 4),
            played=round(played, 4),
            best=str(move),
            line=tuple(str(each) for each in line[:MAX_LINE]),
            grade=grade,
            verdict=node.verdict,
        )

    def _is_refuted(self, node: _Node, after: _Node) -> bool:
        """Whether the longest searches find that a move of the book is a blunder."""
        best, reply = (expected_score(self._searches.deep(each.game.position)) for each in (node, after))
        return best - (1 - reply) >= self.config.blunder
