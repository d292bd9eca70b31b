"""`ckai match`: play players against each other and estimate their strength."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.found import short_name
from ckai.cli.shared.options import (
    GAMES,
    evaluator_option,
    json_option,
    open_tables,
    output_option,
    tables_option,
)
from ckai.cli.shared.output import count_text, print_json
from ckai.rl.engine.limit import DEFAULT_VISITS, forms_text

if TYPE_CHECKING:
    from ckai.rl.matches.elo import Sprt
    from ckai.rl.matches.match import MatchResult

IN_FLIGHT = 512
"""Most games at once."""

_HELP = f"""Play players against each other and estimate their strength.

Two players: the Elo difference. More: ratings from a round robin. Each opening is played with both colours;
a game of 300 plies is drawn.

\b
A player is WHO or WHO@LIMIT:
{forms_text()}

Without @LIMIT a tree search has {DEFAULT_VISITS} visits per move. A limit is for a whole move, however many
pieces it captures. A player whose clock runs out loses the game.
"""


@click.command("match", help=_HELP)
@click.argument("players", nargs=-1, required=True, metavar="PLAYER...")
@click.option(
    "--games",
    type=click.IntRange(2),
    help="Games of each two players, an even number.  [default: 200 for two players, else 40]",
)
@click.option("--game", type=click.Choice(GAMES), help="Game to play.  [default: the networks' game]")
@click.option(
    "--openings",
    "start",
    type=click.Choice(["balanced", "random", "start"]),
    default="balanced",
    show_default=True,
    help="Start after three plies that lose no man by force, after four random plies, or from the start.",
)
@click.option(
    "--sprt",
    nargs=2,
    type=float,
    metavar="ELO0 ELO1",
    help="Stop when a sequential test (SPRT) accepts one of these Elo differences.",
)
@tables_option
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the openings and players.",
)
@evaluator_option
@output_option("PDN file to append each game to when it ends; the same command continues from it.")
@json_option
def command(
    players: tuple[str, ...],
    games: int | None,
    game: str | None,
    start: str,
    sprt: tuple[float, float] | None,
    tables: str,
    seed: int,
    evaluator: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Play a match or a round robin, see `_HELP`."""
    from ckai.cli.shared.console import progress_bar
    from ckai.datasets.machine import available_cores
    from ckai.rl.engine.base import Engine
    from ckai.rl.engine.loading import game_of, networks_of
    from ckai.rl.engine.program import Fault
    from ckai.rl.games.registry import DEFAULT_GAME, get_game
    from ckai.rl.matches.elo import Sprt
    from ckai.rl.matches.match import MatchResult, append_game, match_game_pdn, play_match, read_match_games
    from ckai.rl.matches.openings import draw_openings, random_openings
    from ckai.rl.selfplay.shards import hash_of

    names = players if len(players) == 2 else tuple(dict.fromkeys(players))
    if len(names) < 2:
        raise click.UsageError(f"expected two players or more, found only {names[0]}")
    if sprt and len(names) > 2:
        raise click.UsageError("expected --sprt with two players; omit it")
    test = Sprt(*sprt) if sprt else None
    games = games or (200 if len(names) == 2 else 40)
    if games % 2:
        raise click.UsageError(
            f"expected an even number for --games, as both colours are played, found {games}"
        )
    if output is not None and output.exists() and (not output.is_file() or b"\0" in output.read_bytes()):
        raise OSError(f"{output}: expected a PDN file to append games to, found something else")
    spec = get_game(game or game_of(names) or DEFAULT_GAME.name)
    opened, threads, pairs = open_tables(tables, spec), available_cores(), games // 2
    if start == "balanced":
        openings = draw_openings(pairs, seed, spec)
    elif start == "random":
        openings = random_openings(pairs, 4, seed, spec)
    else:
        openings = [spec.position()] * pairs
    identity = (spec.name, start, tables, evaluator, seed, opened.pieces if opened else 0)
    matches = {pair: MatchResult() for pair in combinations(range(len(names)), 2)}
    with ExitStack() as stack:
        engines = {
            name: stack.enter_context(
                Engine.load(name, evaluator=evaluator, tables=opened, game=spec, threads=threads)
            )
            for name in dict.fromkeys(names)
        }
        progress = stack.enter_context(progress_bar("playing", "games"))

        def play(a: str, b: str, result: MatchResult) -> None:
            """Play what the output does not have of a match; the result gets those games at once."""
            stop = threading.Event()
            networks = [hash_of(path.read_bytes()) for name in (a, b) for path in networks_of(name)]
            match = hash_of(repr((a, b, networks, identity)).encode())[:12]

            def show() -> None:
                score = f"+{result.wins} ={result.draws} -{result.losses}"
                if test is not None:
                    found = test.test(result.leading_scores)
                    score += f", log-likelihood ratio {found.ratio:+.2f}"
                    if found.verdict is not None:
                        stop.set()
                played = sum(len(each.games) for each in matches.values())
                progress(played, games * len(matches), score)

            def add(game: Any) -> None:
                result.games.append(game)
                if isinstance(game.reason, Fault):
                    loser = a if game.score == 0 else b
                    click.echo(f"{loser} loses game {len(result.games)}: {game.outcome.detail}", err=True)
                if output is not None:
                    append_game(output, match_game_pdn(game, a, b, spec, match))
                show()

            if output is not None:
                result.games += read_match_games(output, openings, spec, match)
            if done := list(result.games):
                have = count_text(len(done), "game")
                click.echo(f"{output}: {have} of {a} against {b}; continuing", err=True)
                show()
            play_match(
                engines[a], engines[b], openings, threads=threads, spec=spec, in_flight=IN_FLIGHT, seed=seed,
                done=done, on_game=add, stop=stop,
            )  # fmt: skip

        try:
            for (i, j), result in matches.items():
                play(names[i], names[j], result)
        finally:  # also after Ctrl-C, or a program that died after hours
            stack.pop_all().close()
            if any(each.games for each in matches.values()):
                if len(names) == 2:
                    print_pair(matches[0, 1], names, test, as_json)
                else:
                    print_ratings(names, {pair: each.pair_scores for pair, each in matches.items()}, as_json)


# --- results ----------------------------------------------------------------------------------------------


def print_pair(result: "MatchResult", names: Sequence[str], test: "Sprt | None", as_json: bool) -> None:
    """Print the result of a match."""
    from ckai.cli.shared.console import print_rows
    from ckai.game import Reason
    from ckai.rl.engine.program import Fault
    from ckai.rl.matches.elo import elo_text

    pairs, sprt = result.pairs, test and test.test(result.leading_scores)
    alone = len(result.games) - len(result.paired)
    losses = {"faults": list(result.lost_by(*Fault)), "time_losses": list(result.lost_by(Reason.TIME))}
    if as_json:
        told = {"a": names[0], "b": names[1], **result.summary(), **pairs.json, **losses}
        told["unpaired"] = alone
        if test and sprt:
            told["sprt"] = {"elo0": test.elo0, "elo1": test.elo1, "ratio": sprt.ratio}
            told["sprt"] |= {"better": sprt.verdict, "pairs": sprt.pairs.pairs}
        print_json(told)
        return
    low, high = pairs.interval
    columns = {"player": ("", ""), **{each: (each, "") for each in ("won", "drawn", "lost")}}
    columns |= {"score": ("score", ".1%"), "elo": ("Elo, 95 %", "")}
    a, b = map(short_name, names)
    elos = elo_text(pairs.elo, low, high), elo_text(-pairs.elo, -high, -low)
    rows = (
        (a, result.wins, result.draws, result.losses, pairs.score, elos[0]),
        (b, result.losses, result.draws, result.wins, 1 - pairs.score, elos[1]),
    )
    print_rows([dict(zip(columns, row, strict=True)) for row in rows], columns)
    line = f"{count_text(len(result.games), 'game')}, {count_text(pairs.pairs, 'pair')}"
    if alone:
        line += f"; {count_text(alone, 'game')} without the other colours not counted"
    click.echo(line)
    for why, of in (("on time", "time_losses"), ("by faults of the program", "faults")):
        for name, lost in zip(names, losses[of], strict=True):
            if lost:
                click.echo(f"{name} lost {count_text(lost, 'game')} {why}")
    if test and sprt:
        verdict = {True: f"{names[0]} is better", False: f"{names[0]} is not better", None: "undecided"}
        click.echo(
            f"SPRT {test.elo0:g} against {test.elo1:g} Elo: {verdict[sprt.verdict]} "
            f"(log-likelihood ratio {sprt.ratio:+.2f}, {count_text(sprt.pairs.pairs, 'pair')})"
        )


def print_ratings(names: Sequence[str], pairs: dict[tuple[int, int], list[float]], as_json: bool) -> None:
    """Print ratings, best first; as JSON also the scores of each two players."""
    from ckai.cli.shared.console import print_rows
    from ckai.rl.matches.elo import bounded, ratings

    rated = ratings(len(names), pairs)
    if as_json:
        listed = [
            {"name": name, "elo": each.elo, "interval": [bounded(each.low), bounded(each.high)]}
            | {"points": each.points, "games": each.games}
            for name, each in zip(names, rated, strict=True)
        ]
        scores: list[list[float | None]] = [[None] * len(names) for _ in names]
        for (i, j), each in pairs.items():
            if each:
                mean = sum(each) / len(each)
                scores[i][j], scores[j][i] = round(mean, 4), round(1 - mean, 4)
        print_json({"players": listed, "scores": scores})
        return
    order = sorted(range(len(names)), key=lambda n: -rated[n].elo)
    rows = [
        {**asdict(rated[n]), "player": f"{place}. {short_name(names[n])}"}
        | {"interval": f"{rated[n].low:+.0f} to {rated[n].high:+.0f}"}
        for place, n in enumerate(order, 1)
    ]
    columns = {"player": ("player", ""), "elo": ("Elo", "+.0f"), "interval": ("95 %", "")}
    print_rows(rows, columns | {"points": ("points", "g"), "games": ("games", "")})
