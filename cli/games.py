"""`ckai games`: find games by headers and positions, list them, and write them as PDN or rows."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.games_table import print_games
from ckai.cli.shared.output import (
    count_text,
    force_option,
    json_option,
    print_json,
    progress_bar,
    report_compilation,
)
from ckai.cli.shared.row_files import newest_rows, row_files
from ckai.cli.shared.statistics_text import as_text
from ckai.datasets.choices import DEFAULT_GAME_NAME

if TYPE_CHECKING:
    from ckai.datasets.games import Games, Query

LISTED = 50
"""Most games that are listed on a terminal."""
_HELP = """Find games by their headers, moves and positions; list them, or write them as PDN or rows.

FILE is PDN as `ckai parse` reads it, a Parquet file of rows, or the folder of a self-play run. The default is
the newest data set in data/. Names are found by a part of them, in upper or lower case. An opening without a
tag is named by the positions of the game.

\b
Examples:
  ckai games club.pdn --player tinsley --result 1-0
  ckai games club.pdn --opening "old fourteenth" -o found.pdn
  ckai games *.pdn --position "B:W18,21:B9,K30" -o found.parquet
  ckai games runs/run-001 --min-plies 100 --stats
"""


@click.command("games", help=_HELP)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option("--player", default="", metavar="NAME", help="Games of a player.")
@click.option(
    "--opening",
    default="",
    metavar="NAME",
    help="Games of an opening: its name, ballot:N, or moves: '11-15 23-19'.",
)
@click.option("--event", default="", metavar="NAME", help="Games of an event.")
@click.option(
    "--result",
    type=click.Choice(["1-0", "0-1", "1/2-1/2", "*"]),
    help="Games with a result; 1-0: Black won.",
)
@click.option("--position", "fen", metavar="FEN", help="Games that reach a position.")
@click.option(
    "--min-plies", type=click.IntRange(0), default=0, metavar="N", help="Games of so many plies or more."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the games found: as PDN to a name that ends in .pdn, as rows to one that ends in .parquet.",
)
@click.option("--stats", "stats", is_flag=True, help="Show statistics of the games found instead of a list.")
@force_option
@json_option
def command(
    files: tuple[Path, ...],
    player: str,
    opening: str,
    event: str,
    result: str | None,
    fen: str | None,
    min_plies: int,
    output: Path | None,
    stats: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Find games, see `_HELP`."""
    from ckai.datasets.files import refuse_to_replace, whole_file
    from ckai.datasets.games import Query, find_games, rows_writer
    from ckai.datasets.schema import check_rows_path, headers_path
    from ckai.datasets.statistics import describe

    if output is not None:
        if output.suffix != ".pdn":
            if output.suffix != ".parquet":
                raise click.BadParameter("expected a name that ends in .pdn or .parquet", param_hint="-o")
            check_rows_path(output)
        refuse_to_replace(output, force)
        if output.suffix == ".parquet":
            refuse_to_replace(headers_path(output), force)
    report_compilation()
    given = list(files) or [newest_rows()]
    found = (row_files([path])[0] if path.is_dir() or _has_rows(path) else [path] for path in given)
    paths = [path for several in found for path in several]
    query = _query(player, opening, event, result or "", fen, min_plies)
    begun = time.perf_counter()
    rows: list[dict[str, Any]] = []
    searched = 0
    with ExitStack() as stack:
        sinks: list[Callable[[Games, Any], None]] = []
        if output is not None and output.suffix == ".pdn":
            file = stack.enter_context(whole_file(output))
            sinks.append(lambda games, which: file.writelines(t.encode() for t in _texts(games, which)))
        kept = paths if stats and query == Query() and all(map(_has_rows, paths)) else []
        if output is not None and output.suffix == ".parquet":
            kept = [output]
        elif stats and not kept:
            kept = [Path(stack.enter_context(TemporaryDirectory())) / "found.parquet"]
        with ExitStack() as writing:
            if kept and kept is not paths:
                sinks.append(writing.enter_context(rows_writer(kept[0], paths)))
            for games, which in find_games(paths, query):
                searched += len(games.headers)
                for header in games.found(which).to_pylist():  # as `ckai play --load` takes it, if it is PDN
                    rows.append({**header, "game": f"{games.name}:{header['game']}"})
                for sink in sinks:
                    sink(games, which)
            if (output is not None or stats) and not (sum(row["plies"] for row in rows) if kept else rows):
                raise ValueError(_none_found(searched, opening))
        statistics = None
        if stats:
            with progress_bar("reading", "rows") as progress:
                statistics = describe(kept, progress=progress)
    seconds = time.perf_counter() - begun
    results = Counter(row["result"] for row in rows)
    if as_json:
        counts = {"games": len(rows), "searched": searched, "results": results}
        counts |= {"plies": sum(row["plies"] for row in rows), "output": output and str(output)}
        told = {"found": rows} if statistics is None else asdict(statistics)
        print_json({**counts, "seconds": round(seconds, 3), **told, "files": list(map(str, given))})
        return
    if statistics is not None:
        click.echo(as_text(statistics, ", ".join(map(str, given))))
    elif output is None and rows:
        print_games(rows, LISTED)
    if not rows:
        click.echo(_none_found(searched, opening), err=True)
        return
    won = f"Black won {results['1-0']:,}, White {results['0-1']:,}, {results['1/2-1/2']:,} drawn"
    where = "" if output is None else f" in {click.format_filename(output)}"
    click.echo(f"{len(rows):,} of {count_text(searched, 'game')}{where}: {won} ({seconds:.1f} s)", err=True)


def _has_rows(path: Path) -> bool:
    return path.suffix == ".parquet"


def _query(player: str, opening: str, event: str, result: str, fen: str | None, min_plies: int) -> "Query":
    from ckai.cli.playing.sides import game_of
    from ckai.cli.playing.start import BALLOT, opening_moves
    from ckai.datasets.games import Query
    from ckai.rl.games.registry import DEFAULT_GAME

    positions = [] if fen is None else [DEFAULT_GAME.read_position(fen)]
    if re.match(rf"\d|{BALLOT}[ :]*\d", opening.lower()):
        moves = opening_moves(opening, DEFAULT_GAME, random.Random())[1]
        positions.append(game_of(moves, DEFAULT_GAME).position)
        opening = ""
    return Query(player, opening, event, result, tuple(positions), min_plies)


def _texts(games: "Games", which: Any) -> Iterator[str]:
    """The games as PDN; rows of other games than checkers are replayed by their own rules."""
    from ckai.datasets.games import RowGames

    if not isinstance(games, RowGames) or games.file.game == DEFAULT_GAME_NAME:
        yield from games.texts(which)
        return
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.shards import games_as_pdn

    if games.file.shard is None:
        raise ValueError(f"{games.name}: expected the run of these games, to write PDN, found rows alone")
    numbers = set(games.found(which)["game"].to_pylist())
    texts = games_as_pdn(games.file.path, get_game(games.file.game))
    for text, header in zip(texts, games.file.shard["games"], strict=True):
        if header["game"] in numbers:
            yield text


def _none_found(searched: int, opening: str) -> str:
    """What is said if there is no game; a name of no opening may be a slip."""
    from ckai.cli.playing.start import opening_moves
    from ckai.rl.games.registry import DEFAULT_GAME

    text = f"expected games that have all this, found none among {searched:,}"
    try:
        opening_moves(opening or "ballot", DEFAULT_GAME, random.Random())
    except ValueError as error:
        return f"{text}; {error}"
    return text
