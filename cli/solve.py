"""`ckai solve`: solve problems of PDN and FEN files, and check their results."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.found import STRONGEST
from ckai.cli.shared.options import PATH, json_option, open_tables, tables_option
from ckai.cli.shared.output import count_text, print_json
from ckai.rl.analysis.report import expected_score, score_text

if TYPE_CHECKING:
    from ckai.rl.analysis.problems import Outcome
    from ckai.rl.engine.base import Line
    from ckai.rl.engine.limit import Limit

_HELP = """Solve the problems of FILES, and check their results by the tablebases.

Without FILES you solve: `ckai solve` asks for the better move in your mistakes that are due today, and shows
what they allowed. `ckai analyze` keeps them in mistakes.pdn. One that you find at once
is due again after 1, 2, 5, 12 days and so on, else the next day.

A PDN file has a problem in each game: the position of its FEN tag, its moves as the solution, its result.
A file named .fen has one in each line: a FEN, then a result (1-0 is a win for Black; or win, draw, loss for
the side to move) and the moves of the solution, if any, then a comment after a semicolon.

A problem is solved when the search ends on the first move of the solution, or on one that keeps the result.
The time shown is the point after which the answer stayed correct.

The exit status is 0 if all problems that can be checked are solved and no stated result is refuted, 1 if
not, or if a problem cannot be read.

\b
Examples:
  ckai solve problems.pdn
  ckai solve endings.fen --engine best.ckpt@10s --tables 4
  ckai solve problems.pdn --engine ckai@1000 --json
"""


@click.command("solve", help=_HELP)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=PATH)
@click.option(
    "--engine",
    "spec",
    metavar="SPEC",
    default=f"{STRONGEST}@2s",
    show_default=True,
    help="Player, as in `ckai match`; its @LIMIT is for each problem.",
)
@tables_option
@json_option
def command(files: Sequence[Path], spec: str, tables: str, as_json: bool) -> int:
    """Solve problems, see `_HELP`."""
    from ckai.cli.shared.console import progress_bar
    from ckai.cli.terminal.learn import ask_all
    from ckai.cli.terminal.screen import Screen, make_console
    from ckai.rl.analysis import mistakes
    from ckai.rl.analysis.problems import Problem, read_problems, solve
    from ckai.rl.engine.base import Engine
    from ckai.rl.engine.limit import EngineText
    from ckai.rl.engine.loading import check

    if not files and as_json:
        raise click.UsageError("--json needs FILES")
    check(EngineText.read(spec), clock=False)
    if not files:
        mistakes.load()  # before an engine is loaded
        with Engine.load(spec, tables=open_tables(tables)) as engine:
            ask_all(Screen(make_console(), sys.stdin), engine)
        return 0
    found = [each for path in files for each in read_problems(path)]
    problems = [each for each in found if isinstance(each, Problem)]
    errors = [str(each) for each in found if not isinstance(each, Problem)]
    for error in errors:
        click.echo(f"ckai: warning: {error}", err=True)
    if not problems:
        raise ValueError(f"{files[0]}: expected problems that can be read, found none")
    endgames = open_tables(tables)
    engine = Engine.load(spec, tables=endgames)
    outcomes: list[Outcome] = []
    try:
        limit = engine.limit or engine.default_limit
        with progress_bar("solving", "problems") as progress:
            for problem in problems:
                progress(len(outcomes), len(problems))
                outcomes.append(solve(engine, problem, limit, endgames))
    finally:
        engine.close()
        if outcomes:  # what is done when it is interrupted is shown too
            _print(outcomes, errors, spec, limit, as_json)
    failed = errors or any(each.solved is False or each.refutation for each in outcomes)
    return 1 if failed else 0


def _print(outcomes: "list[Outcome]", errors: list[str], spec: str, limit: "Limit", as_json: bool) -> None:
    checked = [each for each in outcomes if each.solved is not None]
    solved = [each for each in checked if each.solved]
    if as_json:
        told: dict[str, Any] = {"engine": spec, "seconds": limit.seconds, "visits": limit.visits}
        told |= {
            "solved": len(solved),
            "checked": len(checked),
            "refuted": sum(each.refutation is not None for each in outcomes),
        }
        print_json(told | {"errors": errors, "problems": [_as_json(each) for each in outcomes]})
        return
    for each in outcomes:
        known = each.refutation[1] if each.refutation else each.tables
        tables = "" if known is None else f"; by the tables a {known}"
        click.echo(f"{each.problem.label}: {_verdict(each)}: {_line(each.found.lines[0])}{tables}")
    click.echo(f"solved {len(solved)} of {count_text(len(checked), 'problem')}")


def _verdict(each: "Outcome") -> str:
    if each.refutation is not None:
        ply = each.refutation[0]
        where = f" after {count_text(ply, 'ply', 'plies')} of its solution" if ply else ""
        return f"REFUTED{where}, stated as a {each.problem.result}"
    if each.solved is None:
        return "nothing to compare with"
    if not each.solved:
        wanted = each.problem.solution
        expected = f"expected {wanted[0]}" if wanted else f"expected a {each.problem.result}"
        return f"NOT SOLVED, {expected}"
    return f"solved in {each.seconds:.2f} s"


def _line(best: "Line") -> str:
    line = " ".join(map(str, best.pv))
    if best.proven is not None:
        plies = "" if best.plies is None else f" in {count_text(best.plies, 'ply', 'plies')}"
        return f"{line}, {best.proven}{plies}"
    return line if best.value is None else f"{line}, {score_text(expected_score(best.value.black()))}"


def _as_json(each: "Outcome") -> dict[str, Any]:
    problem, found, best = each.problem, each.found, each.found.lines[0]
    told = {"file": problem.path, "number": problem.number, "name": problem.name}
    told |= {"fen": problem.position.fen, "result": problem.result}
    told |= {"solution": list(map(str, problem.solution)), "solved": each.solved, "seconds": each.seconds}
    told |= {"move": str(best.move), "line": list(map(str, best.pv)), "value": best.value}
    told |= {"proven": best.proven, "plies": best.plies, "depth": found.depth, "nodes": found.nodes}
    ply, tables = each.refutation or (0, None)
    refuted = {"ply": ply, "stated": problem.result, "tables": tables} if tables else None
    return told | {"tables": each.tables, "refuted": refuted}
