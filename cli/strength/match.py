"""`ckai match`: play two players against each other and estimate the Elo difference."""

import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.cluster import ray_option
from ckai.cli.shared.numbers import FiniteRange
from ckai.cli.shared.output import ProgressLines, count_text, json_option, print_json, stderr_console
from ckai.cli.strength.arena import EVEN, Arena, arena_options, elo_text
from ckai.rl.players.forms import DEFAULT_VISITS, TIME_MARGIN, forms_text

if TYPE_CHECKING:
    from rich.table import Table

    from ckai.rl.matches.match import MatchResult
    from ckai.rl.matches.sprt import Sprt


_HELP = f"""Play A against B and estimate the Elo difference; each opening is played with both colours.

\b
A and B are each WHO or WHO@LIMIT:
{forms_text()}

Without @LIMIT a tree search has {DEFAULT_VISITS} visits per move. Limits of visits and playouts apply to
each hop of a multi-jump capture, time limits to the whole move. A player whose clock runs out loses the game.
"""


@click.command("match", help=_HELP)
@click.argument("a")
@click.argument("b")
@click.option("--games", type=EVEN, default=200, show_default=True, help="Number of games, an even number.")
@click.option(
    "--sprt",
    nargs=2,
    type=float,
    metavar="ELO0 ELO1",
    help="Stop when a sequential test (SPRT) accepts one of these Elo differences.",
)
@click.option(
    "--max-plies",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="Plies after which a game counts as a draw.",
)
@click.option(
    "--time-margin",
    type=FiniteRange(0),
    default=TIME_MARGIN,
    show_default=True,
    metavar="SECONDS",
    help="Seconds a player may exceed its clock before losing on time.",
)
@click.option(
    "--in-flight",
    type=click.IntRange(1),
    default=512,
    show_default=True,
    help="Number of games played at the same time.",
)
@arena_options
@ray_option
@click.option(
    "--pdn",
    type=click.Path(dir_okay=False, path_type=Path),
    help="PDN file to append each game to when it ends.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that keeps the games: the same command continues after an interruption, and plays more with a "
    "larger --games.",
)
@json_option
def command(
    a: str,
    b: str,
    games: int,
    sprt: tuple[float, float] | None,
    max_plies: int,
    time_margin: float,
    in_flight: int,
    pdn: Path | None,
    save: Path | None,
    as_json: bool,
    **arena_settings: Any,
) -> None:
    """Play A against B, see `_HELP`."""
    from ckai.cli.shared.games_file import GamesFile
    from ckai.rl.loop.saved_games import SavedMatch
    from ckai.rl.matches.pdn import match_game_pdn
    from ckai.rl.matches.sprt import Sprt

    try:
        test = Sprt(*sprt) if sprt else None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--sprt") from error
    if save is not None and pdn is not None and save.resolve() == pdn.resolve():
        raise click.BadParameter("expected another file than --save", param_hint="--pdn")
    file = GamesFile(pdn) if pdn is not None else None
    unwritten: list[str] = []
    arena = Arena([a, b], **arena_settings)
    players = [arena.load(text) for text in (a, b)]
    positions = arena.positions(games // 2)
    stop = threading.Event()
    screen = _LiveTable(a, b, games, test)
    keep: AbstractContextManager[SavedMatch | None] = nullcontext()
    if save is not None:
        settings = {**arena.identity([a, b]), "max_plies": max_plies, "time_margin": time_margin}
        keep = SavedMatch.held(save, settings, positions, arena.game)

    def check_decided() -> None:
        if test is not None and test.test(screen.result.leading_scores).verdict is not None:
            stop.set()

    try:
        with keep as saved, screen:

            def write_pdn() -> None:
                while file is not None and unwritten:
                    file.add(unwritten[0])
                    del unwritten[0]

            def on_game(game: Any) -> None:
                if file is not None:
                    unwritten.append(match_game_pdn(game, a, b, arena.game))
                if saved is None:
                    write_pdn()
                else:
                    saved.add(game)
                screen.add(game)
                check_decided()

            if saved is not None:
                saved.on_write = write_pdn  # so that no game replayed after a kill is in it twice
            done = [] if saved is None else list(saved.games)
            if file is not None:  # those that a kill or a full disk kept out of it
                unwritten += file.missing(match_game_pdn(game, a, b, arena.game) for game in done)
            screen.result.games += done
            check_decided()  # an interrupted match may have been decided
            result = arena.play(
                players[0],
                players[1],
                positions,
                max_plies=max_plies,
                time_margin=time_margin,
                in_flight=in_flight,
                done=done,
                on_game=on_game,
                stop=stop,
            )
    except BaseException:  # Ctrl-C, or a program that died after hours
        if screen.result.games:
            _print_result(screen.result, a, b, test, as_json)
        raise
    _print_result(result, a, b, test, as_json)


def result_table(result: "MatchResult", a: str, b: str) -> "Table":
    """Make a table of the match so far; `better` is the probability that the row is the better player."""
    from rich.table import Table

    from ckai.rl.matches.plots import short

    table = Table(box=None, pad_edge=False)
    for title in ("", "won", "drawn", "lost", "score", "Elo, 95 %", "better"):
        # On a narrow screen a long name is folded, not the figures cut.
        table.add_column(title, justify="right" if title else "left", no_wrap=bool(title), overflow="fold")
    pairs = result.pairs
    low, high = pairs.interval
    elo = elo_text(pairs.elo, low, high)
    counts = [str(n) for n in (result.wins, result.draws, result.losses)]
    table.add_row(short(a), *counts, f"{result.score:.1%}", elo, f"{pairs.superiority:.1%}")
    reverse_elo = elo_text(-pairs.elo, -high, -low)
    table.add_row(
        short(b), *counts[::-1], f"{1 - result.score:.1%}", reverse_elo, f"{1 - pairs.superiority:.1%}"
    )
    return table


class _LiveTable:
    """The result table during the match, on standard error."""

    def __init__(self, a: str, b: str, games: int, test: "Sprt | None") -> None:
        from rich.live import Live

        from ckai.rl.matches.match import MatchResult

        self.names, self.games, self.test = (a, b), games, test
        self.result = MatchResult()
        console = stderr_console()
        self._live = Live(console=console, transient=True, refresh_per_second=4)
        self._shown = console.is_terminal
        self._lines = ProgressLines(console)

    def __enter__(self) -> "_LiveTable":
        if self._shown:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            self._live.stop()

    def add(self, game: Any) -> None:
        """Add a finished game."""
        from rich.console import Group

        result = self.result
        result.games.append(game)
        played = len(result.games)
        line = f"{played} of {self.games} games"
        if self.test is not None:
            line += f", log-likelihood ratio {self.test.test(result.leading_scores).ratio:+.2f}"
        if self._shown:
            self._live.update(Group(result_table(result, *self.names), line))
        score = f"+{result.wins} ={result.draws} -{result.losses}"
        self._lines.update(played, self.games, f"{line}, {score}")


def _print_result(result: "MatchResult", a: str, b: str, test: "Sprt | None", as_json: bool) -> None:
    pairs = result.pairs
    sprt = test and test.test(result.leading_scores)
    if as_json:
        summary = {"a": a, "b": b, **result.summary(), "elo": pairs.elo, "interval": list(pairs.interval)}
        summary |= {"pairs": pairs.pairs, "superiority": pairs.superiority}
        summary["time_losses"] = list(result.time_losses)
        summary["adjudicated"] = result.adjudicated
        summary["repeated_pairs"] = result.repeated_pairs
        if test and sprt:
            summary["sprt"] = {"elo0": test.elo0, "elo1": test.elo1, "ratio": sprt.ratio}
            summary["sprt"] |= {"better": sprt.verdict, "pairs": sprt.pairs.pairs}
        print_json(summary)
        return
    from rich.console import Console

    Console(highlight=False).print(result_table(result, a, b))
    click.echo(f"{count_text(len(result.games), 'game')}, {count_text(pairs.pairs, 'pair')}")
    if repeated := result.repeated_pairs:
        are = "is" if repeated == 1 else "are"
        click.echo(
            f"{count_text(repeated, 'pair')} {are} the same as another, move for move: the true interval is "
            "wider; give other --openings"
        )
    if result.adjudicated:
        click.echo(f"{count_text(result.adjudicated, 'game')} adjudicated by tablebases")
    for name, lost in zip((a, b), result.time_losses, strict=True):
        if lost:
            click.echo(f"{name} lost {count_text(lost, 'game')} on time")
    if test and sprt:
        verdict = {True: f"{a} is better", False: f"{a} is not better", None: "undecided"}
        click.echo(
            f"SPRT {test.elo0:g} against {test.elo1:g} Elo: {verdict[sprt.verdict]} "
            f"(log-likelihood ratio {sprt.ratio:+.2f}, {count_text(sprt.pairs.pairs, 'pair')})"
        )
