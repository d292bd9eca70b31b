"""`ckai analyze`: values, mistakes and best lines of games, as annotated PDN and as a page."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.found import NO_NETWORK, newest_network, short_name
from ckai.cli.shared.options import PATH, force_option, json_option, open_tables, output_option, tables_option
from ckai.cli.shared.output import count_text, print_json
from ckai.datasets.machine import available_cores
from ckai.models.pretrained import network_path
from ckai.rl.analysis.report import VISITS, score_help

if TYPE_CHECKING:
    from ckai.pdn import PdnGame
    from ckai.rl.analysis.analyst import Work
    from ckai.rl.analysis.report import GameReport

LISTED = 10
"""Most games that cannot be read whole that are named on standard error."""

_HELP = f"""Analyse games: the value of every position, mistakes, and what was better.

FILE is read as ckai parse reads it. The games are written as PDN with comments, marks and variations;
mistakes are graded by what they cost. Finished games are kept: after an interruption, the same command
continues.

{score_help()}

\b
ckai analyze games.pdn --html games.html
"""


@click.command("analyze", help=_HELP)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@output_option("PDN to write.  [default: <name of the first file>-analysis.pdn in the current folder]")
@click.option("--html", type=PATH, help="Also write all games to one HTML page.")
@click.option(
    "--engine",
    "source",
    metavar="CKPT",
    help="Network: a checkpoint, a run folder, `rollout` or `uniform`.  "
    "[default: the newest of pretrained.ckpt and runs/*/best.ckpt, else ckai's own]",
)
@click.option(
    "--learn",
    metavar="NAME",
    default="human",
    show_default=True,
    help="Keep the mistakes of this player in mistakes.pdn; `ckai solve` asks for them.",
)
@tables_option
@force_option
@click.option(
    "--visits",
    type=click.IntRange(2, 1_000_000),
    default=VISITS,
    show_default=True,
    help="Visits of the search of each position.",
)
@json_option
def command(
    files: tuple[Path, ...],
    output: Path | None,
    html: Path | None,
    source: str | None,
    learn: str,
    tables: str,
    force: bool,
    visits: int,
    as_json: bool,
) -> None:
    """Analyse games, see `_HELP`."""
    from ckai.cli.shared.console import progress_bar
    from ckai.datasets.files import file_digest, locked, refuse_to_replace
    from ckai.pdn import PdnError, read_games
    from ckai.pdn.sources import source_stem
    from ckai.rl.analysis import mistakes
    from ckai.rl.analysis.analyst import Work
    from ckai.rl.evaluators.loading import load_evaluator

    output = output or Path(f"{source_stem(files[0])}-analysis.pdn")
    refuse_to_replace(output, force)
    if html is not None:
        if html.resolve() == output.resolve():
            raise click.BadParameter("expected another file than --output", param_hint="--html")
        refuse_to_replace(html, force)
    if mistakes.MISTAKES.exists():
        mistakes.load()  # refuses what would be lost
    source = loaded = digest = source or newest_network()
    if source not in NO_NETWORK:
        loaded = str(network_path(source))
        if not Path(loaded).is_file():
            raise ValueError(f"{loaded}: expected a checkpoint, found no such file")
        digest = file_digest(Path(loaded))
    network_tables, threads = open_tables(tables), available_cores()
    identity = {"network": digest, "tables": network_tables.pieces if network_tables else 0}
    read = [game for file in files for game in read_games(file)]
    _report_refused(read)
    work = Work([game for game in read if not game.rejected], output, visits, identity)
    if not work.games:
        raise PdnError(
            f"expected games{' that can be read' if read else ''}, found none", ", ".join(map(str, files))
        )
    network = load_evaluator(loaded, threads=threads)
    plies = sum(len(game.moves) for game in work.games)
    with locked(work.folder / "lock"):
        try:
            with progress_bar("analysing", "plies") as bar:
                work.analyze(
                    network, tables=network_tables, threads=threads, progress=lambda done: bar(done, plies)
                )
        except BaseException:
            done = f"{len(work.reports):,} of {count_text(len(work.games), 'game')} done"
            click.echo(f"{done} and kept in {work.folder}: the same command continues", err=True)
            raise
        result = _write(work, files, short_name(source), html, learn)
    shutil.rmtree(work.folder, ignore_errors=True)
    errors, rejected = [game.problem for game in read if game.problem], sum(game.rejected for game in read)
    counts = {"read": len(read), "analyzed": len(work.games), "kept": work.kept}
    counts |= {"truncated": len(errors) - rejected, "rejected": rejected}
    result |= {f"games_{name}": count for name, count in counts.items()}
    result |= {"plies": plies, "output": str(output), "html": html and str(html)}
    if as_json:
        refused = [
            {"file": e.path, "line": e.line, "game": e.game, "ply": e.ply, "reason": e.reason} for e in errors
        ]
        print_json(result | {"refused": refused})
    else:
        _print(result)


def _write(
    work: "Work", files: Sequence[Path], network: str, html: Path | None, learn: str
) -> dict[str, Any]:
    """Write the annotated games and the page; return what JSON says of their contents."""
    from ckai.cli.pages.report import ReportPage
    from ckai.datasets.files import whole_file, write_whole
    from ckai.pdn import write_game
    from ckai.rl.analysis import mistakes
    from ckai.rl.analysis.annotation import annotate
    from ckai.rl.analysis.report import Grade, player_rows
    from ckai.rl.games.registry import DEFAULT_GAME

    names = ", ".join("standard input" if str(file) == "-" else file.name for file in files)
    facts = [("Network", network), ("Visits a position", f"{work.visits:,}")]
    facts.append(("Games", f"{len(work.games):,}"))
    page = ReportPage(DEFAULT_GAME, f"Analysis of {names}", facts) if html else None
    played: list[tuple[str | None, str | None, GameReport]] = []
    games: list[dict[str, Any]] = []
    puzzles: list[PdnGame] = []
    searched, grades = 0, dict.fromkeys(map(str, Grade), 0)
    with whole_file(work.output) as file:
        for number, game in enumerate(work.games):
            report = work.reports[number]
            annotated = annotate(game, report, f"{network}, {work.visits} visits")
            file.write(write_game(annotated).encode())
            played.append((game.header("Black"), game.header("White"), report))
            puzzles += mistakes.puzzles_of(game, report, learn)
            searched += report.positions
            for n in report.marked():
                grades[str(report.plies[n].grade)] += 1
            if page is not None:
                page.add(game, report)
            games.append(_game(game, report))
    players = player_rows(played)
    if page is not None and html is not None:
        write_whole(html, page.html(players))
    found = {"positions_searched": searched, "grades": grades, "players": players}
    return found | {"mistakes": mistakes.add(puzzles), "games": games}


def _game(game: "PdnGame", report: "GameReport") -> dict[str, Any]:
    """What JSON says of a game."""
    from ckai.game.openings import opening_name

    accuracy = {"black": report.accuracy(True), "white": report.accuracy(False)}
    return {
        "file": game.path,
        "line": game.line,
        "black": game.header("Black"),
        "white": game.header("White"),
        "opening": game.header("Opening") or opening_name(game.play().positions),
        "result": report.result,
        "accuracy": {side: None if each is None else round(each, 2) for side, each in accuracy.items()},
        "theory": report.theory or None,
        "moves": [asdict(ply) | {"cost": round(ply.cost, 4)} for ply in report.plies],
    }


def _print(result: dict[str, Any]) -> None:
    from ckai.cli.shared.console import print_rows
    from ckai.rl.analysis.report import SIGNS

    columns = {"name": ("player", ""), "games": ("games", ""), "accuracy": ("accuracy", ".1f")}
    columns |= {str(grade): (sign, "") for grade, sign in SIGNS.items()}
    print_rows(result["players"], columns)
    grades = result["grades"]
    marks = f"{count_text(grades['blunder'], 'blunder')}, {count_text(grades['mistake'], 'mistake')}, "
    marks += count_text(grades["inaccuracy"], "inaccuracy", "inaccuracies")
    kept = f", {result['games_kept']:,} of them in an earlier run" if result["games_kept"] else ""
    games = count_text(result["games_analyzed"], "game")
    click.echo(f"{games} analysed{kept}: {count_text(result['plies'], 'ply', 'plies')}, {marks}")
    if theory := sum(game["theory"] is not None for game in result["games"]):
        click.echo(f"{count_text(theory, 'game')} in which tablebases and result disagree")
    click.echo(f"games with comments, marks and lines: {click.format_filename(result['output'])}")
    if result["html"]:
        click.echo(f"page: {click.format_filename(result['html'])}")
    if result["mistakes"]:
        click.echo(f"{count_text(result['mistakes'], 'new mistake')} to learn from: ckai solve")


def _report_refused(read: Sequence["PdnGame"]) -> None:
    """Name the games that cannot be read whole on standard error."""
    from ckai.pdn.reader import SQUARE_0

    errors = [game.problem for game in read if game.problem is not None]
    for error in errors:
        if SQUARE_0 in error.reason:
            error.reason += "; renumber the file if it counts them from 0, or mend this game"
            raise error
    for error in errors[:LISTED]:
        click.echo(f"ckai: warning: {error}", err=True)
    if len(errors) > LISTED:
        click.echo(f"ckai: warning: and {len(errors) - LISTED:,} more games", err=True)
    if errors:
        rejected = sum(game.rejected for game in read)
        click.echo(f"{len(errors) - rejected:,} analysed up to the error, {rejected:,} left out", err=True)
