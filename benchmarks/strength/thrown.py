"""Games thrown away by one move: does the analysis mark that move?

    python benchmarks/strength/thrown.py make games.pdn swift.ckpt -o thrown.json
    python benchmarks/strength/thrown.py check games.pdn thrown.json best.ckpt

`make` looks through lost games for a move of the loser that turns a level position into a lost one by a deep
alpha-beta search with an integer network: before it the loser holds at least -LEVEL, after it the winner
has at least LOST, both at the depth asked for and CONFIRMED plies deeper; where the tablebases have a
position, they decide. One move a game, the last such, and no position twice.
`check` analyses these games as `ckai analyze` does and counts the moves that carry a mark, by mark.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ckai.datasets.files import write_whole
from ckai.datasets.tables import Tables
from ckai.game import Game, Position
from ckai.models.inference.integers import IntegerEvaluator
from ckai.pdn import PdnGame, read_games
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.analysis import AnalysisConfig, Analyst
from ckai.rl.analysis.grading import Grade
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.search.threads import run_all

LEVEL, LOST = 0.3, 0.7
"""The loser's value before the move is at least -LEVEL; the winner's after it at least LOST."""
QUICK = 5
"""Plies of the searches that choose candidates."""
CONFIRMED = 4
"""Plies deeper at which the bounds have to hold again."""
SLACK = 0.15
"""A candidate may miss the bounds by this much in the quick search."""


class Finder:
    """Values of positions by alpha-beta, one object a thread."""

    def __init__(self, evaluator: IntegerEvaluator, tables: Tables | None) -> None:
        self.tables = tables
        self._search = AlphaBetaSearch(evaluator, game=Checkers().with_tables(tables))

    def value(self, position: Position, history: list[Position], depth: int) -> float:
        """Return the value for the side to move, [-1, 1]."""
        if not position.legal_moves():
            return -1.0
        if self.tables is not None and self.tables.knows(position):
            return {"win": 1.0, "draw": 0.0, "loss": -1.0}[self.tables.probe(position).value]
        states = [pack(earlier) for earlier in history]
        return self._search.search(pack(position), states, depth=depth).value

    def thrown(self, game: PdnGame, depth: int) -> int | None:
        """Return the ply of the last move of the loser that threw a level game away, None without one."""
        played = game.play()
        loser_black = {"1-0": False, "0-1": True}.get(game.result or "")
        if loser_black is None:
            return None
        for n in range(len(played.moves) - 1, -1, -1):
            before = played.positions[n]
            if before.black != loser_black or len(before.legal_moves()) == 1:
                continue
            depths = {QUICK: SLACK, depth: 0.0, depth + CONFIRMED: 0.0}
            if all(self._throws(played, n, plies, slack) for plies, slack in depths.items()):
                return n
        return None

    def _throws(self, game: Game, n: int, depth: int, slack: float) -> bool:
        after = self.value(game.positions[n + 1], game.positions[: n + 1], depth)
        if after < LOST - slack:
            return False
        return self.value(game.positions[n], game.positions[:n], depth) >= -LEVEL - slack


@click.group()
def main() -> None:
    """Find moves that threw games away, and see whether the analysis marks them."""


@main.command()
@click.argument("games", type=click.Path(exists=True, path_type=Path))
@click.argument("network", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o", "--output", default=Path("thrown.json"), show_default=True, type=click.Path(path_type=Path)
)
@click.option("--positions", default=100, show_default=True, help="Number of moves to find.")
@click.option("--depth", default=17, show_default=True, help="Plies of the deep search.")
@click.option("--skip", default=0, show_default=True, help="Games of the file to leave out at its start.")
@click.option("--threads", default=2, show_default=True)
@click.option("--seconds", default=1e9, help="End after this time.  [default: no limit]")
def make(
    games: Path,
    network: Path,
    output: Path,
    positions: int,
    depth: int,
    skip: int,
    threads: int,
    seconds: float,
) -> None:
    """Find moves that threw a level game away."""
    evaluator = load_evaluator(network, "integers", threads=threads)
    assert isinstance(evaluator, IntegerEvaluator)
    tables = Tables.open()
    source: Iterator[PdnGame] = read_games(games)
    lock, stop = threading.Lock(), threading.Event()
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    looked, begun = Counter[str](), time.perf_counter()

    def work() -> None:
        finder = Finder(evaluator, tables)
        while not stop.is_set():
            with lock:
                game = next(source, None)
            if game is None or time.perf_counter() - begun > seconds:
                return
            if game.number < skip or game.problem is not None:
                continue
            ply = finder.thrown(game, depth)
            with lock:
                looked["games"] += 1
                if ply is None or len(found) >= positions:
                    continue
                before = game.play().positions[ply].fen
                if before in seen:
                    continue
                seen.add(before)
                found.append({"game": game.number, "ply": ply, "move": str(game.moves[ply].move)})
                print(f"{len(found)} of {looked['games']}, {time.perf_counter() - begun:.0f} s", flush=True)
                if len(found) == positions:
                    stop.set()

    run_all([work] * threads, stop)
    found.sort(key=lambda each: each["game"])
    write_whole(output, json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} moves of {looked['games']:,} games in {output}")


@main.command()
@click.argument("games", type=click.Path(exists=True, path_type=Path))
@click.argument("thrown", type=click.Path(exists=True, path_type=Path))
@click.argument("network")
@click.option("--visits", default=AnalysisConfig().visits, show_default=True)
@click.option("--check", "times", default=AnalysisConfig().check, show_default=True)
@click.option("--evaluator", default="auto", show_default=True)
@click.option("--missed", is_flag=True, help="List the moves without a mark.")
def check(
    games: Path, thrown: Path, network: str, visits: int, times: int, evaluator: str, missed: bool
) -> None:
    """Analyse the games and count the marks of these moves."""
    tasks = {each["game"]: each["ply"] for each in json.loads(thrown.read_text())}
    analyst = Analyst(
        load_evaluator(network, evaluator),
        AnalysisConfig(visits=visits, check=times),
        tables=Tables.open(),
    )
    begun, plies = time.process_time(), 0
    marks: Counter[str] = Counter()
    chosen = [game for game in read_games(games) if game.number in tasks]
    for game in track(chosen, "analysing", transient=True):
        ply = tasks[game.number]
        report = analyst.analyze(game.play(), game.result)
        it = report.plies[ply]
        plies += len(report.plies)
        marks[str(it.grade or "none")] += 1
        if missed and it.grade in (None, Grade.INACCURACY):
            near = [(n, p.move, p.points, p.played) for n, p in enumerate(report.plies) if abs(n - ply) < 5]
            print(f"game {game.number}, ply {ply}: {it.move}, points {it.points} to {it.played}; {near}")
    print(f"{plies:,} plies, {time.process_time() - begun:.0f} s of CPU time")
    table = Table("mark", "moves", title=f"{network}, {visits} visits, {len(chosen)} moves")
    for name in [*map(str, reversed(Grade)), "none"]:
        table.add_row(name, str(marks[name]))
    Console().print(table)


if __name__ == "__main__":
    main()
