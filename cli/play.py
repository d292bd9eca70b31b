"""`ckai play`: a game in the terminal."""

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckai.cli.shared.networks import EVALUATOR_HELP, EVALUATORS, NO_NETWORK
from ckai.cli.shared.output import report_compiling
from ckai.cli.shared.tables import chosen_tables, tables_option

if TYPE_CHECKING:
    from ckai.rl.engine import Engine


@click.command("play")
@click.option(
    "--engine",
    "source",
    metavar="CKPT",
    help="Network to play against: a checkpoint a run folder, `rollout` (random playouts, vanilla MCTS), or "
    "`uniform` for a search that knows nothing.  "
    "[default: the newest of pretrained.ckpt and runs/*/best.ckpt]",
)
@click.option(
    "--side",
    type=click.Choice(["black", "white", "both", "none"]),
    default="black",
    show_default=True,
    help="What people play; Black begins. none: the engine against itself.",
)
@click.option("--fen", help="Position to begin with.  [default: the first position]")
@click.option("--sims", type=click.IntRange(1), help="Visits of a search.  [default: 400]")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Time of a search.")
@click.option(
    "--vary",
    type=click.IntRange(0),
    default=8,
    show_default=True,
    help="Plies in which the engine may play any move that it searched nearly as much as the best.",
)
@click.option("--seed", type=int, help="Of that choice: the same moves again.  [default: another every time]")
@click.option(
    "--max-plies",
    type=click.IntRange(1),
    help="Half-moves after which --side none breaks the game off.  [default: never]",
)
@click.option(
    "--evaluator", default="torch", show_default=True, type=click.Choice(EVALUATORS), help=EVALUATOR_HELP
)
@tables_option
@click.option(
    "--pdn",
    "file",
    type=click.Path(path_type=Path),
    help="File for the game, which is added if the file exists.  "
    "[default: a new one, games/game-001.pdn, -002, ...]",
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

    Type moves as 11-15, 26x1 or 11 15, `moves` to see them all, `help` for what else there is: hints, undo,
    resigning. The game is saved after every move, so it can be broken off at any time. Values are from -1,
    lost, to +1, won, for the side that is named.
    """
    from ckai.cli.shared.networks import network_file, newest_network
    from ckai.cli.terminal.opponent import Opponent
    from ckai.cli.terminal.record import Record
    from ckai.cli.terminal.session import SIDES, Session
    from ckai.cli.terminal.table import Table, make_console
    from ckai.game import Game, Position

    report_compiling()
    humans = SIDES[side]
    if max_plies is not None and humans:
        raise click.UsageError("--max-plies needs --side none")
    game = Game(None if fen is None else Position.from_fen(fen))
    if source is None and humans != SIDES["both"]:
        source = str(newest_network())
    elif source is not None and source not in NO_NETWORK:
        source = str(network_file(Path(source)))

    endgames = chosen_tables(tables) if humans != SIDES["both"] else None

    def tell(report: object) -> None:
        click.echo(str(report), err=True)

    def load() -> "Engine":
        from ckai.rl.engine import Engine

        return Engine.load(
            source or newest_network(), evaluator=evaluator, tables=endgames, tell=tell, seed=seed
        )

    opponent = Opponent(load, name_of(source), sims=sims, seconds=seconds, vary=vary, seed=seed)
    for stream in (sys.stdin, sys.stdout):  # strange letters are shown as such, and end no game
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    console = make_console()
    table = Table(
        Session(game, humans, max_plies=max_plies),
        opponent,
        Record(file),
        console,
        sys.stdin or io.StringIO(),
    )
    if humans != SIDES["both"]:
        with console.status("loading the network ..."):
            opponent.load()
    table.play()


def name_of(source: str | None) -> str:
    """What a network is called in a game's headers: `ckai run-001/best.ckpt`, without the whole path."""
    if source is None or source in NO_NETWORK:
        return "ckai" if source is None else f"ckai {source}"
    return "ckai " + "/".join(Path(source).parts[-2:])
