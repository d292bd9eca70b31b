"""`ckai play`: play against a network or another player in the terminal."""

import gc
import io
import os
import random
import re
import sys
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckai.cli.shared.options import GAMES
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.rl.analysis.report import score_help
from ckai.rl.engine.limit import DEFAULT_LEVEL, LEVEL, forms_text

if TYPE_CHECKING:
    from ckai.rl import Engine
    from ckai.rl.games.spec import GameSpec

_HELP = """Play against a network or another player in the terminal.

Type a move such as 11-15, 26x1 or 1115; `moves` lists the legal moves, `help` the commands. The game is
saved in games/ after every move. Press Ctrl-C while the engine thinks to make it move now, twice to leave.

{score}

\b
Examples:
  ckai play
  ckai play --level 3
  ckai play --clock 5m+3s --opening "Old Fourteenth"
  ckai play --fen "W:W18,25,K30:B9,11,K4" --side white
  ckai play --load games/game-001.pdn
  ckai play --game connect4

\b
SPEC is a player as in `ckai match`, WHO or WHO@LIMIT:
{forms}
"""


@click.command("play", help=_HELP.format(score=score_help(), forms=forms_text()))
@click.option(
    "--engine",
    "source",
    metavar="SPEC",
    help="Opponent; a tree search without @LIMIT has 400 visits per move.  "
    f"[default: the newest of pretrained.ckpt and runs/*/best.ckpt, else level {DEFAULT_LEVEL}]",
)
@click.option(
    "--level",
    type=click.IntRange(1),
    help="Play against this level, from 1 for beginners; short for --engine level:N.",
)
@click.option(
    "--game", "game_name", type=click.Choice(GAMES), help="Game.  [default: the network's, or checkers]"
)
@click.option(
    "--side",
    type=click.Choice(["black", "white", "both", "none"]),
    help="Side you play; Black moves first. both: two people; none: the engine plays itself.  "
    "[default: black, or as in the game loaded]",
)
@click.option("--fen", help="Position to start from: a FEN, or in other games rows with / between them.")
@click.option(
    "--opening",
    metavar="NAME",
    help="Opening to start from: its name, ballot, ballot:N, or moves: '11-15 23-19'.",
)
@click.option(
    "--load",
    "loaded",
    metavar="FILE[:N]",
    help="Continue game N of a PDN file, by default the first.",
)
@click.option("--list", "listing", is_flag=True, help="List the games in games/, as --load takes them.")
@click.option("--clock", metavar="TIME", help="Time of each side and increment per move: 5m+3s, 90s+1s, 20m.")
@click.option(
    "--seed", type=click.IntRange(0), help="Seed of the search and of random choices.  [default: random]"
)
@click.option(
    "--show", is_flag=True, help="Show the engine's value, moves and PV, or ckai's where it has none."
)
def command(
    source: str | None,
    level: int | None,
    game_name: str | None,
    side: str | None,
    fen: str | None,
    opening: str | None,
    loaded: str | None,
    listing: bool,
    clock: str | None,
    seed: int | None,
    show: bool,
) -> None:
    """Play a game, see `_HELP`."""
    # Startup makes a million objects that stay; collecting garbage among them would take a tenth of its time.
    gc.disable()
    click.get_current_context().call_on_close(gc.enable)
    from ckai.cli.playing.sides import SIDES, game_of, judge_of, load_engine, opening_moves
    from ckai.cli.shared.found import short_name
    from ckai.cli.terminal.game import HUMAN, PEOPLE, TerminalGame
    from ckai.cli.terminal.screen import make_console
    from ckai.rl.engine.limit import EngineText, read_clock
    from ckai.rl.engine.loading import game_of as game_of_engines
    from ckai.rl.games.registry import get_game

    if listing:
        _list_games()
        return
    given = [name for name, value in (("--fen", fen), ("--opening", opening), ("--load", loaded)) if value]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} both say where the game begins; give one")
    if source is not None and level is not None:
        raise click.UsageError("--engine and --level both say who the opponent is; give one")
    source = source if level is None else f"{LEVEL}{level}"
    control = None if clock is None else read_clock(clock)
    if source is not None:
        player = EngineText.read(source)
        if control and (player.limit or player.policy):
            raise click.UsageError("--clock and @LIMIT both say how long a move takes; give one")
        if player.limit is not None and player.limit.clock is not None:  # for both sides
            source, control = player.who, player.limit
        if game_name is None and os.path.exists(player.who):
            game_name = game_of_engines([source])
    spec = get_game(game_name or DEFAULT_GAME_NAME)
    humans = PEOPLE[side or "black"]
    game = spec.game(None if fen is None else spec.read_position(fen))
    if opening is not None:
        game = game_of(opening_moves(opening, spec, random.Random(seed)), spec)
    elif loaded is not None:
        path, number = Path(loaded), 1
        if not path.is_file() and (parts := re.fullmatch(r"(.+):(\d{1,9})", loaded)):
            path, number = Path(parts[1]), int(parts[2])
        if not path.is_file():
            raise ValueError(f"{path}: expected a file of games, found no such file")
        game, problem = spec.read_game(path, number)
        if side is None:
            humans = frozenset(s for s in SIDES if game.headers.get(s.capitalize()) == HUMAN) or humans
        if source is None:  # a level continues its game
            source = next((name for name in game.headers.values() if name.startswith(LEVEL)), None)
        if problem:
            click.echo(f"the game can be read up to ply {len(game.moves)}: {problem}", err=True)
    alone = humans == PEOPLE["both"]
    if source is None:
        source = judge_of(spec) if alone else _usual_opponent(spec)

    if isinstance(sys.stdin, io.TextIOWrapper):  # undecodable input must not end the game
        sys.stdin.reconfigure(errors="replace")
    console, lines = make_console(), sys.stdin or io.StringIO()
    with ExitStack() as stack:

        @cache
        def load(text: str) -> "Engine":
            return stack.enter_context(load_engine(text, spec, seed))

        terminal = TerminalGame(
            game, humans, partial(load, source), short_name(source), console, lines,
            spec=spec, analyst=partial(load, judge_of(spec)), control=control, show=show,
            chance=random.Random(seed),
        )  # fmt: skip
        if loaded is not None and not problem:
            terminal.adopt(path)
        if not alone:
            with console.status("loading the network ..."):
                load(source)
        gc.enable()
        terminal.play()


def _list_games() -> None:
    """Print the saved games, the newest first."""
    from ckai.cli.playing import saved
    from ckai.cli.shared.console import print_games
    from ckai.rl.games.registry import get_game

    rows = saved.saved_games()
    for row in rows:
        opening = row["opening"] if row["game"] == DEFAULT_GAME_NAME else get_game(row["game"]).title
        number = f":{row['number']}" if row["number"] > 1 else ""
        row |= {"opening": opening, "game": str(saved.GAMES / row["file"]) + number}
    if rows:
        print_games(rows)
    else:
        click.echo("no games in games/ yet: ckai play saves them there")


def _usual_opponent(spec: "GameSpec") -> str:
    """Return the newest network here, or a level where there is none; say it."""
    from ckai.cli.shared.found import newest_network
    from ckai.models.pretrained import CKAI
    from ckai.rl.engine.alphabeta import FULL_LEVEL, describe_level

    name = newest_network(spec.name)
    if name != CKAI:
        return name
    title, _ = describe_level(DEFAULT_LEVEL)
    click.echo(f"level {DEFAULT_LEVEL} ({title}); choose another with --level 1 to {FULL_LEVEL}", err=True)
    return f"{LEVEL}{DEFAULT_LEVEL}"
