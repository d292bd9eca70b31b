"""`ckai play`: play against a network in the terminal."""

import gc
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckai.cli.shared.networks import EVALUATOR_HELP, EVALUATORS, NO_NETWORK
from ckai.cli.shared.numbers import FiniteRange
from ckai.cli.shared.output import report_compilation
from ckai.cli.shared.tables import open_tables, tables_option

if TYPE_CHECKING:
    from ckai.rl.engine import Engine


@click.command("play")
@click.option(
    "--engine",
    "source",
    metavar="CKPT",
    help="Opponent: a checkpoint, a run folder, `rollout` (vanilla MCTS with random playouts) or `uniform` "
    "(search without a network).  [default: the newest of pretrained.ckpt and runs/*/best.ckpt]",
)
@click.option(
    "--side",
    type=click.Choice(["black", "white", "both", "none"]),
    default="black",
    show_default=True,
    help="Side you play; Black moves first. both: two people; none: the engine plays itself.",
)
@click.option("--fen", help="Position to start from.  [default: the initial position]")
@click.option("--sims", type=click.IntRange(1), help="Visits per move.  [default: 400]")
@click.option("--seconds", type=FiniteRange(0, min_open=True), help="Seconds per move.")
@click.option(
    "--vary",
    type=click.IntRange(0),
    default=8,
    show_default=True,
    help="Plies at the start in which the engine also plays moves that are nearly as good as the best.",
)
@click.option("--seed", type=int, help="Seed of the search and of that choice.  [default: random]")
@click.option(
    "--max-plies",
    type=click.IntRange(1),
    help="Plies after which a game with --side none stops.  [default: no limit]",
)
@click.option(
    "--evaluator", default="auto", show_default=True, type=click.Choice(EVALUATORS), help=EVALUATOR_HELP
)
@tables_option
@click.option(
    "--pdn",
    "file",
    type=click.Path(path_type=Path),
    help="PDN file to write the game to; appended if the file exists.  "
    "[default: a new file, games/game-001.pdn, -002, ...]",
)
def command(
    source: str | None,
    side: str,
    fen: str | None,
    sims: int | None,
    seconds: float | None,
    vary: int,
    seed: int | None,
    max_plies: int | None,
    evaluator: str,
    tables: str,
    file: Path | None,
) -> None:
    """Play against a network in the terminal.

    Type a move such as 11-15, 26x1 or 11 15, `moves` to list the legal moves, or `help` to list the commands.
    The game is saved after every move. Values range from -1 (loss) to +1 (win) for the side named.
    """
    # The start makes a million objects that stay; looking through them time and again takes a tenth of it.
    gc.disable()
    click.get_current_context().call_on_close(gc.enable)
    from ckai.cli.shared.networks import network_file
    from ckai.cli.terminal.game import TerminalGame, make_console
    from ckai.cli.terminal.opponent import Opponent
    from ckai.cli.terminal.record import Record
    from ckai.cli.terminal.session import SIDES, Session
    from ckai.game import Game, Position

    report_compilation()
    humans = SIDES[side]
    if max_plies is not None and humans:
        raise click.UsageError("--max-plies needs --side none")
    game = Game(None if fen is None else Position.from_fen(fen))
    if source is not None and source not in NO_NETWORK:
        source = str(network_file(Path(source)))
    elif source is None and humans != SIDES["both"]:
        source = newest()

    def on_report(report: object) -> None:
        click.echo(str(report), err=True)

    def load() -> "Engine":
        from ckai.rl.engine import Engine

        network, endgames = source or newest(), open_tables(tables)
        with console.status("loading the network ..."):
            return Engine.load(network, evaluator=evaluator, tables=endgames, tell=on_report, seed=seed)

    opponent = Opponent(load, network_name(source), sims=sims, seconds=seconds, vary=vary, seed=seed)
    for stream in (sys.stdin, sys.stdout):  # undecodable input must not end the game
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    console = make_console()
    terminal = TerminalGame(
        Session(game, humans, max_plies=max_plies),
        opponent,
        Record(file),
        console,
        sys.stdin or io.StringIO(),
    )
    if humans != SIDES["both"]:
        opponent.load()
    gc.enable()
    terminal.play()


def newest() -> str:
    """Return the newest network of checkers; print its name, and what was skipped, on standard error."""
    from ckai.cli.shared.networks import newest_network

    path, skipped = newest_network()
    click.echo(f"the newest network here is {path}", err=True)
    for text in skipped:
        click.echo(f"skipped {text}", err=True)
    return str(path)


def network_name(source: str | None) -> str:
    """Return the name of a network for PDN headers: `ckai run-001/best.ckpt`, without leading folders."""
    if source is None or source in NO_NETWORK:
        return "ckai" if source is None else f"ckai {source}"
    return "ckai " + "/".join(Path(source).parts[-2:])
