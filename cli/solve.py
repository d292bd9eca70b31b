"""`ckai solve`: solve problems of PDN and FEN files, and check their results."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.networks import evaluator_option
from ckai.cli.shared.output import count_text, json_option, print_json, progress_bar, report_compilation
from ckai.cli.shared.tables import open_tables, tables_option
from ckai.models.pretrained import CKAI
from ckai.rl.analysis.score import expected_score, score_text

if TYPE_CHECKING:
    from ckai.rl.analysis.problems import Outcome
    from ckai.rl.engine.base import Engine
    from ckai.rl.engine.limit import Limit
    from ckai.rl.engine.result import Line

FULL_STRENGTH = f"alphabeta:{CKAI}"
"""The player if none is given: it solves the most."""
SECONDS = 2.0
"""Time of a problem if nothing else is given."""

_HELP = """Solve the problems of FILES, and check their results by the tablebases.

Without FILES you solve: `ckai solve` asks for the better move in your mistakes that are due today, and shows
what they allowed. `ckai analyze` keeps them in mistakes.pdn. One that you find at once
is due again after 1, 2, 5, 12 days and so on, else the next day.

A PDN file has a problem in each game: the position of its FEN tag, its moves as the solution, its result.
A file of FENs has one in each line: a FEN, then a result (1-0 is a win for Black; or win, draw, loss for the
side to move) and the moves of the solution, if any, then a comment after a semicolon.

A problem is solved when the search ends on the first move of the solution, or on one proven to win or draw as
well; without a solution, when its move keeps the expected result by the tablebases, or its value fits the
result. The time shown is the point after which the answer stayed correct. The limit applies to each
problem.

The exit status is 0 if all problems that can be checked are solved and no stated result is refuted, 1 if
not, or if a problem cannot be read.

\b
Examples:
  ckai solve problems.pdn
  ckai solve endings.fen --engine best.ckpt@10s --tables 4
  ckai solve problems.pdn --engine ckai@1000 --json
"""


@click.command("solve", help=_HELP)
@click.argument(
    "files", nargs=-1, metavar="[FILE]...", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--engine",
    "spec",
    metavar="SPEC",
    default=FULL_STRENGTH,
    show_default=True,
    help="Player, as in `ckai match`, such as a network or alphabeta:NETWORK; without @LIMIT, "
    f"{SECONDS:g} seconds per problem.",
)
@evaluator_option()
@tables_option
@json_option
def command(
    files: Sequence[Path],
    spec: str,
    evaluator: str,
    tables: str,
    as_json: bool,
) -> int:
    """Solve problems, see `_HELP`."""
    from ckai.rl.analysis.problems import Problem, read_problems, solve
    from ckai.rl.engine.base import Engine
    from ckai.rl.engine.loading import check
    from ckai.rl.engine.text import EngineText

    if not files and as_json:
        raise click.UsageError("--json needs FILES")
    check(EngineText.read(spec), clock=False)
    if not files:
        _learn(spec, evaluator, tables)
        return 0
    found = [each for path in files for each in read_problems(path)]
    problems = [each for each in found if isinstance(each, Problem)]
    errors = [str(each) for each in found if not isinstance(each, Problem)]
    for error in errors:
        click.echo(f"ckai: warning: {error}", err=True)
    if not problems:
        raise ValueError(f"{files[0]}: expected problems that can be read, found none")
    report_compilation()
    endgames = open_tables(tables)
    engine = Engine.load(spec, evaluator=evaluator, tables=endgames)
    outcomes: list[Outcome] = []
    try:
        limit = _limit(engine)
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


def _limit(engine: "Engine") -> "Limit":
    from ckai.rl.engine.limit import Limit

    limit = Limit(seconds=SECONDS)
    return engine.limit or (limit if limit.given <= engine.takes else Limit())


def _learn(spec: str, evaluator: str, tables: str) -> None:
    """Ask for the better moves in place of mistakes."""
    from ckai.cli.terminal.learn import Lessons
    from ckai.cli.terminal.screen import make_console
    from ckai.rl.analysis.mistakes import MISTAKES, load
    from ckai.rl.engine.base import Engine

    load(MISTAKES)  # before an engine is loaded
    report_compilation()
    with Engine.load(spec, evaluator=evaluator, tables=open_tables(tables)) as engine:
        Lessons(make_console(), sys.stdin, engine, _limit(engine)).ask_all(MISTAKES)


def _print(outcomes: "list[Outcome]", errors: list[str], spec: str, limit: "Limit", as_json: bool) -> None:
    checked = [each for each in outcomes if each.solved is not None]
    solved = [each for each in checked if each.solved]
    refuted = [each for each in outcomes if each.refutation is not None]
    if as_json:
        summary: dict[str, Any] = {"engine": spec, "seconds": limit.seconds, "visits": limit.visits}
        summary |= {"solved": len(solved), "checked": len(checked), "refuted": len(refuted)}
        print_json(summary | {"errors": errors, "problems": [_as_json(each) for each in outcomes]})
        return
    for each in outcomes:
        tables = "" if each.tables is None else f"; by the tables a {each.tables}"
        click.echo(f"{each.problem.label}: {_verdict(each)}: {_line(each.found.lines[0])}{tables}")
    times = sorted(each.seconds for each in solved if each.seconds is not None)
    median = f", half of them within {times[(len(times) - 1) // 2]:.2f} s" if times else ""
    click.echo(f"solved {len(solved)} of {count_text(len(checked), 'problem')}{median}")
    if errors:
        click.echo(f"{count_text(len(errors), 'problem')} could not be read")
    for each in refuted:
        assert each.refutation is not None
        ply, tables = each.refutation
        where = f"after {count_text(ply, 'ply', 'plies')} of its solution " if ply else ""
        stated = f"stated as a {each.problem.result} for the side to move, {where}a {tables}"
        click.echo(f"refuted by the tables: {each.problem.label}: {stated}")


def _verdict(each: "Outcome") -> str:
    if each.refutation is not None:
        return "REFUTED by the tables"
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
    problem, best = each.problem, each.found.lines[0]
    refuted = None
    if each.refutation is not None:
        ply, tables = each.refutation
        refuted = {"ply": ply, "stated": problem.result, "tables": tables}
    return {
        "file": problem.path,
        "number": problem.number,
        "name": problem.name,
        "fen": problem.position.fen,
        "result": problem.result,
        "solution": list(map(str, problem.solution)),
        "solved": each.solved,
        "seconds": each.seconds,
        "move": str(best.move),
        "line": list(map(str, best.pv)),
        "value": best.value,
        "proven": best.proven,
        "plies": best.plies,
        "depth": each.found.depth,
        "nodes": each.found.nodes,
        "tables": each.tables,
        "refuted": refuted,
    }
