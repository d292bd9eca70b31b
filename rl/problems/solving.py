"""Solving a problem: whether the right move was found, since when, and whether the tablebases agree."""

from dataclasses import dataclass

from ckai.datasets.tables import Tables
from ckai.game import Move
from ckai.rl.engine.base import AnyEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Proof, SearchResult
from ckai.rl.problems.problem import REVERSED, Problem

INTERVAL = 0.05
"""Seconds between two results that are looked at."""
WINNING = 0.5
"""Value from which on a position counts as won, and below its negative as lost; between them as drawn."""


@dataclass(frozen=True, kw_only=True)
class Refutation:
    """What the tablebases say against a stated result."""

    ply: int
    """Plies of the solution before the position in the tables; 0: it is the problem itself."""
    stated: Proof
    """The result that the file states, for the side to move in the problem."""
    tables: Proof
    """The result by the tables, for the same side."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a problem."""

    problem: Problem
    found: SearchResult
    """The last result of the search."""
    solved: bool | None
    """Whether the last result was right; None if the file has nothing to compare it with, or the tables
    refute what it states."""
    seconds: float | None = None
    """Time from which on all results were right, None if the last one was not."""
    tables: Proof | None = None
    """The result of the problem by the tables, for the side to move; None if it is not in them."""
    refutation: Refutation | None = None
    """Set if the tables refute the stated result, or that the solution leads to it."""


def solve(engine: AnyEngine, problem: Problem, limit: Limit, tables: Tables | None = None) -> Outcome:
    """Search a problem.

    A result is right if its move is the first of the solution, or keeps the expected result by the tables, or
    is proven to. Without a solution, it is right if its value is that of the expected result: see `WINNING`.

    Args:
        engine: searches; nothing of an earlier search is used.
        problem: the problem.
        limit: when the search ends; it also ends when the result is proven.
        tables: tablebases to compare with.
    """
    engine.forget()
    right_since: float | None = None

    def note(found: SearchResult) -> None:
        nonlocal right_since
        if not is_right(problem, found, tables):
            right_since = None
        elif right_since is None:
            right_since = found.seconds

    found = engine.search(problem.position, limit, on_result=note, interval=INTERVAL)
    note(found)
    refutation = refute(problem, tables)
    # A player that reports no value can only be compared with a move.
    has_key = bool(problem.solution) or (problem.result is not None and found.value is not None)
    has_key = has_key and refutation is None
    return Outcome(
        problem=problem,
        found=found,
        solved=right_since is not None if has_key else None,
        seconds=right_since if has_key else None,
        tables=verdict(problem, [], tables),
        refutation=refutation,
    )


def is_right(problem: Problem, result: SearchResult, tables: Tables | None = None) -> bool:
    """Return whether a result agrees with the solution or the expected result, see `solve`."""
    best = result.best
    if problem.solution:
        if best.move == problem.solution[0]:
            return True
        by_tables = verdict(problem, [best.move], tables)
        kept = problem.result or verdict(problem, [], tables)
        return kept is not None and kept != "loss" and kept in (by_tables, best.proven)
    if best.value is None:
        return False
    found: Proof = "win" if best.value >= WINNING else "loss" if best.value <= -WINNING else "draw"
    return found == problem.result


def refute(problem: Problem, tables: Tables | None) -> Refutation | None:
    """Return what the tables say against the stated result, None if they do not.

    The first position of the solution that is in the tables decides.
    """
    if problem.result is None:
        return None
    for ply in range(len(problem.solution) + 1):
        found = verdict(problem, problem.solution[:ply], tables)
        if found is not None:
            if found == problem.result:
                return None
            return Refutation(ply=ply, stated=problem.result, tables=found)
    return None


def verdict(problem: Problem, moves: list[Move], tables: Tables | None) -> Proof | None:
    """Return the result after some moves by the tables, for the side to move in the problem, if known."""
    position = problem.position
    for move in moves:
        position = position.push(move)
    found: Proof
    if not position.legal_moves():
        found = "loss"
    elif tables is None or not tables.knows(position):
        return None
    else:
        probed = tables.probe(position).value
        found = "win" if probed == "win" else "loss" if probed == "loss" else "draw"
    return found if len(moves) % 2 == 0 else REVERSED[found]
