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

from ckai.cli.shared.options import PATH, force_option, json_option, output_option
from ckai.cli.shared.output import count_text, print_json
from ckai.datasets.choices import DEFAULT_GAME_NAME

if TYPE_CHECKING:
    from ckai.datasets.convert import Games, Query
    from ckai.datasets.reader import Statistics

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
@click.argument("files", nargs=-1, metavar="[FILE]...", type=PATH)
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
    default="",
    type=click.Choice(["1-0", "0-1", "1/2-1/2", "*", ""]),
    metavar="RESULT",
    help="Games with a result: 1-0 (Black won), 0-1, 1/2-1/2 or *.",
)
@click.option("--position", "fen", metavar="FEN", help="Games that reach a position.")
@click.option(
    "--min-plies", type=click.IntRange(0), default=0, metavar="N", help="Games of so many plies or more."
)
@output_option("Write the games found: as PDN to a name ending in .pdn, as rows to one ending in .parquet.")
@click.option("--stats", "stats", is_flag=True, help="Show statistics of the games found instead of a list.")
@force_option
@json_option
def command(
    files: tuple[Path, ...], output: Path | None, stats: bool, force: bool, as_json: bool, **wanted: Any
) -> None:
    """Find games, see `_HELP`."""
    from ckai.cli.playing.sides import near_openings
    from ckai.cli.shared.console import print_games, progress_bar
    from ckai.cli.shared.found import newest_rows, row_files
    from ckai.datasets.convert import Query, find_games, rows_writer
    from ckai.datasets.files import refuse_to_replace, whole_file
    from ckai.datasets.reader import describe
    from ckai.datasets.schema import check_rows_path, headers_path
    from ckai.game.openings import OPENING_NAMES
    from ckai.rl.games.registry import DEFAULT_GAME

    suffix = output.suffix if output else ""
    if output is not None:
        if suffix not in (".pdn", ".parquet"):
            raise click.BadParameter("expected a name that ends in .pdn or .parquet", param_hint="-o")
        refuse_to_replace(output, force)
        if suffix == ".parquet":
            check_rows_path(output)
            refuse_to_replace(headers_path(output), force)
    given = list(files) or [newest_rows()]
    paths: list[Path] = []
    for path in given:
        paths += row_files(path) if path.is_dir() or path.suffix == ".parquet" else [path]
    query = _query(**wanted)
    begun = time.perf_counter()
    rows: list[dict[str, Any]] = []
    searched, statistics = 0, None
    with ExitStack() as stack:
        sinks: list[Callable[[Games, Any], None]] = []
        if output is not None and suffix == ".pdn":
            file = stack.enter_context(whole_file(output))
            sinks.append(lambda games, which: file.writelines(t.encode() for t in _texts(games, which)))
        whole = stats and query == Query() and all(path.suffix == ".parquet" for path in paths)
        found = None if output is None or suffix == ".pdn" else output
        if found is None and stats and not whole:
            found = Path(stack.enter_context(TemporaryDirectory())) / "found.parquet"
        with ExitStack() as writing:
            if found is not None:
                sinks.append(writing.enter_context(rows_writer(found, paths)))
            for games, which in find_games(paths, query):
                searched += len(games.headers)
                for header in games.found(which).to_pylist():  # as `ckai play --load` takes it, if it is PDN
                    rows.append({**header, "game": f"{games.name}:{header['game']}"})
                for sink in sinks:
                    sink(games, which)
            none_found = f"expected games that have all this, found none among {searched:,}"
            if (name := wanted["opening"]) and not any(
                name.lower() in each.lower() for each in OPENING_NAMES
            ):
                none_found += near_openings(name, DEFAULT_GAME)
            if not (sum(row["plies"] for row in rows) if found else rows) and (output or stats):
                raise ValueError(none_found)
        if stats:
            with progress_bar("reading", "rows") as progress:
                statistics = describe(paths if found is None else found, progress=progress)
    seconds = time.perf_counter() - begun
    results = Counter(row["result"] for row in rows)
    if as_json:
        counts = {"games": len(rows), "searched": searched, "results": results}
        counts |= {"plies": sum(row["plies"] for row in rows), "output": output and str(output)}
        told = {"found": rows} if statistics is None else asdict(statistics)
        print_json({**counts, "seconds": round(seconds, 3), **told, "files": list(map(str, given))})
        return
    if statistics is not None:
        click.echo(statistics_text(statistics, ", ".join(map(str, given))))
    elif output is None and rows:
        print_games(rows, LISTED)
    if not rows:
        click.echo(none_found, err=True)
        return
    won = f"Black won {results['1-0']:,}, White {results['0-1']:,}, {results['1/2-1/2']:,} drawn"
    where = "" if output is None else f" in {click.format_filename(output)}"
    click.echo(f"{len(rows):,} of {count_text(searched, 'game')}{where}: {won} ({seconds:.1f} s)", err=True)


def _query(opening: str, fen: str | None, **wanted: Any) -> "Query":
    from ckai.cli.playing.sides import BALLOT, game_of, opening_moves
    from ckai.datasets.convert import Query
    from ckai.rl.games.registry import DEFAULT_GAME

    positions = [] if fen is None else [DEFAULT_GAME.read_position(fen)]
    if re.match(rf"\d|{BALLOT}[ :]*\d", opening.lower()):
        moves = opening_moves(opening, DEFAULT_GAME, random.Random())
        positions.append(game_of(moves, DEFAULT_GAME).position)
        opening = ""
    return Query(opening=opening, positions=tuple(positions), **wanted)


def _texts(games: "Games", which: Any) -> Iterator[str]:
    """The games as PDN; rows of other games than checkers are replayed by their own rules."""
    from ckai.datasets.convert import RowGames

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


def statistics_text(found: "Statistics", names: str) -> str:
    """Format the statistics of data sets with these names as text, at most 80 columns wide."""

    def share(part: int, whole: int) -> str:
        return f"{part:,} ({part / whole:.1%})" if whole else f"{part:,}"

    results, lengths = found.results, found.lengths
    lines = {
        "games": f"{found.games:,}",
        "  Black won": share(results["black"], found.games),
        "  White won": share(results["white"], found.games),
        "  drawn": share(results["drawn"], found.games),
        "  result unknown": share(results["unknown"], found.games),
        "plies": f"{found.plies:,}",
        "  in a game": "{least} to {most}, mean {mean:.1f}".format(**lengths),
        "rows": f"{found.rows:,}, one per hop",
        "  forced": share(found.forced_rows, found.rows),
        "positions": f"{found.positions:,} distinct",
    }
    return "\n".join([names, *(f"  {label:<22}{text}" for label, text in lines.items())])
