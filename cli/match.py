"""`ckai match`: two players against each other."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.arena import EVEN, Arena, arena_options
from ckai.cli.shared.output import json_option, print_json, talk

if TYPE_CHECKING:
    from rich.table import Table

    from ckai.rl.matches.match import MatchResult
    from ckai.rl.matches.sprt import Sprt


@click.command("match")
@click.argument("a")
@click.argument("b")
@click.option("--games", type=EVEN, default=200, show_default=True, help="An even number.")
@click.option(
    "--sprt", nargs=2, type=float, metavar="ELO0 ELO1", help="Stop as soon as one of them is likely."
)
@click.option("--max-plies", type=click.IntRange(1), default=300, show_default=True, help="Then a draw.")
@click.option("--in-flight", type=click.IntRange(1), default=512, show_default=True, help="Games at once.")
@arena_options
@click.option(
    "--pdn",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the games; they are added as they end.",
)
@json_option
def command(
    a: str,
    b: str,
    games: int,
    sprt: tuple[float, float] | None,
    max_plies: int,
    in_flight: int,
    pdn: Path | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Play A against B, every opening twice with the colours exchanged, and tell the Elo difference.

    \b
    A and B are each WHO or WHO@LIMIT:
      best.ckpt@400     a network (or a run folder) with 400 visits a move  [default: 100]
      best.ckpt@0.5s    with half a second a move
      best.ckpt@policy  the network's first move, without a search
      rollout@1000      vanilla MCTS with 1,000 random playouts a move
      alphabeta@6       alpha-beta on material to 6 plies
      hub:COMMAND       an outside program that speaks Hub; @0.5s or @8 (depth)
      uniform@100       a search without a network
      random            any legal move
      perfect           a move that keeps the result, in games small enough to solve
    """
    from ckai.rl.matches.sprt import Sprt

    test = Sprt(*sprt) if sprt else None
    if test is not None and test.elo0 >= test.elo1:
        raise click.BadParameter("expected ELO0 below ELO1", param_hint="--sprt")
    arena = Arena([a, b], **where)
    players = [arena.load(text, min(games, in_flight)) for text in (a, b)]
    positions = arena.positions(games // 2)
    stop = threading.Event()
    with _Screen(a, b, games, test) as screen, _Games(pdn, a, b, arena.game) as file:

        def take(game: Any) -> None:
            file.add(game)
            screen.add(game)
            if test is not None and test.verdict(screen.result.leading_pairs) is not None:
                stop.set()

        result = arena.play(
            players[0],
            players[1],
            positions,
            max_plies=max_plies,
            in_flight=in_flight,
            on_game=take,
            stop=stop,
        )
    _tell(result, a, b, test, as_json)


def result_table(result: "MatchResult", a: str, b: str) -> "Table":
    """The match so far as a table; `better`: the chance that the row is the better player."""
    from rich.table import Table

    from ckai.rl.matches.plots import short

    table = Table(box=None, pad_edge=False)
    for title in ("", "won", "drawn", "lost", "score", "Elo, 95 %", "better"):
        table.add_column(title, justify="left" if not title else "right", no_wrap=True)
    found = result.pairs
    low, high = found.interval
    elo = f"{found.elo:+.0f} ({low:+.0f} to {high:+.0f})"
    counts = [str(n) for n in (result.wins, result.draws, result.losses)]
    table.add_row(short(a), *counts, f"{result.score:.1%}", elo, f"{found.superiority:.1%}")
    turned = f"{-found.elo:+.0f} ({-high:+.0f} to {-low:+.0f})"
    table.add_row(short(b), *counts[::-1], f"{1 - result.score:.1%}", turned, f"{1 - found.superiority:.1%}")
    return table


class _Screen:
    """The table while the games go on, on standard error."""

    def __init__(self, a: str, b: str, games: int, test: "Sprt | None") -> None:
        from rich.live import Live

        from ckai.rl.matches.match import MatchResult

        self.names, self.games, self.test = (a, b), games, test
        self.result = MatchResult()
        console = talk()
        self._live = Live(console=console, transient=True, refresh_per_second=4)
        self._shown = console.is_terminal

    def __enter__(self) -> "_Screen":
        if self._shown:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            self._live.stop()

    def add(self, game: Any) -> None:
        """A game has ended."""
        from rich.console import Group

        self.result.games.append(game)
        if self._shown:
            line = f"{len(self.result.games)} of {self.games} games"
            if self.test is not None:
                line += f", log-likelihood ratio {self.test.ratio(self.result.leading_pairs):+.2f}"
            self._live.update(Group(result_table(self.result, *self.names), line))


class _Games:
    """The PDN file of a match: every game is on the disk when it has ended."""

    def __init__(self, path: Path | None, a: str, b: str, spec: Any) -> None:
        self.names, self.spec = (a, b), spec
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8") if path is not None else None

    def __enter__(self) -> "_Games":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, game: Any) -> None:
        """Write a game."""
        from ckai.rl.matches.pdn import match_game_pdn

        if self._file is not None:
            self._file.write(match_game_pdn(game, *self.names, self.spec))
            self._file.flush()


def _tell(result: "MatchResult", a: str, b: str, test: "Sprt | None", as_json: bool) -> None:
    found, first = result.pairs, result.leading_pairs
    if as_json:
        told = {"a": a, "b": b, **result.summary(), "elo": found.elo, "interval": list(found.interval)}
        told |= {"pairs": found.pairs, "superiority": found.superiority}
        if test is not None:
            told["sprt"] = {"elo0": test.elo0, "elo1": test.elo1, "ratio": test.ratio(first)}
            told["sprt"]["better"] = test.verdict(first)
        print_json(told)
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(result_table(result, a, b))
    click.echo(f"{len(result.games)} games, {found.pairs} pairs")
    if test is not None:
        verdict = {True: f"{a} is better", False: f"{a} is not better", None: "not decided"}
        click.echo(
            f"SPRT {test.elo0:g} against {test.elo1:g} Elo: {verdict[test.verdict(first)]} "
            f"(log-likelihood ratio {test.ratio(first):+.2f}, {first.pairs} pairs)"
        )
