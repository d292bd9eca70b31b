"""`Analyst`: analyses a game, from the values of its positions to the cost of its moves.

Each position with a choice is searched on its own, by alpha-beta with an integer network, else in a tree. A
move costs the expected points by which the best move beats it. Short searches err, so some things are done
before a move is blamed:

- Values go backwards through the game. Where the moves that followed turned out better for a side than the
  search of the position thought, the position was better: the blame for an unseen refutation falls on the
  move that allowed it, not on one after it.
- Where a move seems to cost points, or the search and what followed disagree, the positions before and after
  it are searched for longer, and then compared.
- A move of the book, which leads to a position on the way to a named opening or to a ballot, is marked only
  if it is a blunder.

Positions in the tablebases have the tables' value.
"""

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ckai.datasets.files import write_whole
from ckai.datasets.tables import Tables
from ckai.game import Game, Move
from ckai.game.openings import is_book
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import run_all
from ckai.pdn import PdnGame
from ckai.rl.analysis.report import (
    COSTS,
    TABLE_POINTS,
    VISITS,
    GameReport,
    Grade,
    PlyReport,
    expected_score,
    grade_of,
    theory_of,
)
from ckai.rl.engine.alphabeta import AlphaBetaEngine
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit, Proof
from ckai.rl.engine.tree import TreeEngine

MAX_LINE = 8
"""Most plies of a variation."""
ROUNDS = 3
"""Rounds of checks: each looks at what the one before has changed."""
NODES = 500
"""Positions of an alpha-beta search for a visit: at 200 visits enough for shots of 17 plies."""
CHECK_NODES, CHECK_VISITS = 3, 40
"""How many times as long the search of a check is, by alpha-beta and in a tree."""
TOGETHER = 64
"""Trees searched at once; the long search of a check fills its batches alone."""


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
    line: list[Move] = field(default_factory=list)
    """The best line, empty where nothing was searched."""
    checked: bool = False
    backed_up: float = 0.5
    """Points after what followed in the game was taken into account."""

    @property
    def forced(self) -> bool:
        return len(self.legal) == 1


class Analyst:
    """Analyses games, one at a time; one object a thread."""

    def __init__(
        self,
        evaluator: Evaluator,
        visits: int = VISITS,
        *,
        tables: Tables | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Make the engine, which searches each position for some visits; the evaluator stays open.

        `stopped` is asked between searches.
        """
        self.tables, self._stopped = tables, stopped
        self._engine: Engine
        if isinstance(evaluator, IntegerEvaluator):
            self._engine, self._together = AlphaBetaEngine(evaluator, tables=tables), 1
            self._usual, self._long = Limit(nodes=NODES * visits), Limit(nodes=CHECK_NODES * NODES * visits)
        else:
            self._engine = TreeEngine(evaluator, tables=tables, nodes=CHECK_VISITS * visits + 3)
            self._usual, self._long = Limit(visits=visits), Limit(visits=CHECK_VISITS * visits)
            self._together = TOGETHER

    def close(self) -> None:
        """Free what the searches need."""
        self._engine.close()

    def analyze(self, game: Game, result: str | None = None) -> GameReport:
        """Analyse a game, whose result is given as PDN, None if it is unknown.

        Raises:
            CancelledError: `stopped` returned True.
            ValueError: the evaluator answered with numbers that are not finite.
        """
        self._engine.new_game()  # a report depends on its game alone
        nodes = [self._node(game, n) for n in range(len(game.positions))]
        last, ended = nodes[-1], game.is_game_over()
        searched = self._search([n for n in nodes[:-1] if not n.forced] + [last] * (not ended), self._usual)
        if ended and last.legal:
            last.points = 0.5
        self._back_up(nodes)
        for _ in range(ROUNDS):
            doubtful = [n for n in range(len(game.moves)) if self._is_doubtful(nodes, n)]
            if not doubtful:
                break
            again = sorted(
                {m for n in doubtful for m in (n, n + 1) if nodes[m].line and not nodes[m].checked}
            )
            searched += self._search([nodes[m] for m in again], self._long)
            self._back_up(nodes)
        first = nodes[0]
        report = GameReport(
            plies=tuple(self._ply(nodes, n) for n in range(len(game.moves))),
            start=first.backed_up if first.game.position.black else 1 - first.backed_up,
            verdict=last.verdict,
            black_to_move=last.game.position.black,
            result=result,
            positions=searched,
        )
        return replace(report, theory=theory_of(report))

    def _node(self, game: Game, n: int) -> _Node:
        """Return position `n` of a game, with its points where the tables or the rules have them."""
        here = Game(game.positions[n])
        here.positions = game.positions[: n + 1]
        tables, at = self.tables, here.position
        verdict = tables.probe(at).value if tables and tables.knows(at) else None
        node = _Node(here, here.legal_moves(), game.moves[n] if n < len(game.moves) else None, verdict)
        if not node.legal:
            node.points = 0.0
        elif verdict is not None:
            node.points = TABLE_POINTS[verdict]
        return node

    def _search(self, nodes: Sequence[_Node], limit: Limit) -> int:
        """Search positions, and set their points and lines; return their number."""
        backwards = list(reversed(nodes))  # alpha-beta's table then knows what follows
        size = self._together if limit is self._usual else 1
        for first in range(0, len(nodes), size):
            if self._stopped():
                raise CancelledError
            some = backwards[first : first + size]
            for node, found in zip(some, self._engine.play_many([n.game for n in some], limit), strict=True):
                node.line, node.checked = found.pv, limit is self._long
                if node.verdict is None:
                    node.points = expected_score(0.0 if found.value is None else float(found.value))
        return len(nodes)

    def _back_up(self, nodes: list[_Node]) -> None:
        """Set `backed_up` from the end of the game to its start."""
        nodes[-1].backed_up = nodes[-1].points
        for node, after in zip(reversed(nodes[:-1]), reversed(nodes), strict=False):
            played = 1 - after.backed_up
            followed = not node.line or node.line[0] == node.played or played >= node.points
            node.backed_up = played if followed and node.verdict is None else node.points

    def _is_doubtful(self, nodes: list[_Node], n: int) -> bool:
        """Whether a move seems to cost points, or its search and what followed disagree."""
        node, played = nodes[n], 1 - nodes[n + 1].backed_up
        return bool(node.line) and not node.checked and abs(node.points - played) >= COSTS[Grade.INACCURACY]

    def _ply(self, nodes: list[_Node], n: int) -> PlyReport:
        node, after = nodes[n], nodes[n + 1].game.position
        assert node.played is not None
        played = 1 - nodes[n + 1].backed_up
        points, line = played, [node.played]
        if node.line and node.line[0] == node.played:
            line = node.line
        elif node.line and node.points > played:
            points, line = node.points, node.line
        grade = None if node.forced else grade_of(round(points - played, 4))
        if grade not in (None, Grade.BLUNDER) and is_book(after):
            grade, points, line = None, played, [node.played]
        return PlyReport(
            move=str(node.played),
            black=node.game.position.black,
            forced=node.forced,
            points=round(points, 4),
            played=round(played, 4),
            best=str(line[0]),
            line=tuple(str(each) for each in line[:MAX_LINE]),
            grade=grade,
            verdict=node.verdict,
        )


_REPORT = TypeAdapter(GameReport)


class Work:
    """The analysis of some games by several threads, kept in a folder next to the output until it is written.

    Each game that is done is a file with what it depends on: moves, network, tables and settings. So an
    interrupted analysis resumes where it stopped, and a kill loses the games in progress at most.
    One process at a time: hold `ckai.datasets.files.locked(work.folder / "lock")`.

    Attributes:
        folder: the work folder.
        reports: of the games that are analysed, by their number from 0.
        kept: how many of them an earlier, interrupted analysis had done.
    """

    def __init__(self, games: Sequence[PdnGame], output: Path, visits: int, identity: dict[str, Any]) -> None:
        """Write nothing yet.

        Args:
            games: the games, from their first move to where they can be read.
            output: the file that the analysis will be written to.
            visits: see `Analyst`.
            identity: what else must be the same for a report to be kept: network, tables.
        """
        self.games, self.output, self.visits = games, output, visits
        self.folder = output.with_name(f"{output.name}.work")
        self.reports, self.kept = dict[int, GameReport](), 0
        self._identity = {**identity, "visits": visits}

    def analyze(
        self,
        evaluator: Evaluator,
        *,
        tables: Tables | None = None,
        threads: int = 1,
        progress: Callable[[int], None] = lambda plies: None,
    ) -> None:
        """Analyse the games that are not done yet; after Ctrl-C or an error those done are kept.

        Args:
            evaluator: evaluates positions, called by all threads.
            tables: tablebases.
            threads: number of threads, each with a game of its own.
            progress: called with the plies done after every game, one call at a time.
        """
        stop, lock = threading.Event(), threading.Lock()
        found = {number: self._read(number) for number in range(len(self.games))}
        self.reports = {number: report for number, report in found.items() if report is not None}
        self.kept, plies = len(self.reports), sum(len(report.plies) for report in self.reports.values())
        progress(plies)
        numbers = iter([number for number in found if number not in self.reports])

        def work() -> None:
            nonlocal plies
            analyst = Analyst(evaluator, self.visits, tables=tables, stopped=stop.is_set)
            try:
                for number in numbers:  # which all threads share
                    game = self.games[number]
                    report = analyst.analyze(game.play(), game.result)
                    if game.problem is not None:
                        report = replace(report, theory="")  # what comes after is not known
                    data = {"of": self._key(number), "report": asdict(report)}
                    write_whole(self._path(number), json.dumps(data))
                    with lock:
                        plies += len(report.plies)
                        self.reports[number] = report
                        progress(plies)
            except CancelledError:
                pass
            finally:
                analyst.close()

        run_all([work] * threads, stop, name="analysis")

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"

    def _key(self, number: int) -> dict[str, Any]:
        """What a report depends on, as JSON has it."""
        game = self.games[number]
        moves = [str(each.move) for each in game.moves]
        return {**self._identity, "fen": game.start.fen, "moves": moves, "result": game.result}

    def _read(self, number: int) -> GameReport | None:
        """The report of a game, None if there is none, one of other work, or a damaged file."""
        try:
            found = json.loads(self._path(number).read_text(encoding="utf-8"))
            return _REPORT.validate_python(found["report"]) if found["of"] == self._key(number) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
