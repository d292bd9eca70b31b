"""`ckai play`: play against a network or another player in the terminal."""

import gc
import io
import math
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.playing.options import data_set, seed_option
from ckai.cli.shared.games_file import expanded
from ckai.cli.shared.networks import GAMES, evaluator_option
from ckai.cli.shared.output import report_compilation
from ckai.cli.shared.tables import check_tables, tables_option
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.rl.analysis.score import score_help
from ckai.rl.engine.text import DEFAULT_LEVEL, forms_text

if TYPE_CHECKING:
    from ckai.cli.playing.session import Session
    from ckai.cli.playing.start import Origin
    from ckai.rl.engine.text import EngineText
    from ckai.rl.games.clock import TimeControl
    from ckai.rl.games.spec import GameSpec

_HELP = """Play against a network or another player in the terminal.

Type a move such as 11-15, 26x1 or 1115; `moves` lists the legal moves, `help` the commands. The game is
saved after every move. Press Ctrl-C while the engine thinks to make it move now, twice to leave.

{score}

\b
Examples:
  ckai play
  ckai play --level 3
  ckai play --side white --seconds 2
  ckai play --clock 5m+3s --opening "Old Fourteenth"
  ckai play --engine alphabeta@d8 --opening ballot
  ckai play --fen "W:W18,25,K30:B9,11,K4" --side white
  ckai play --load games/game-001.pdn
  ckai play --load games.pdn:12:30
  ckai play --game connect4

\b
SPEC is a player as in `ckai match`, WHO or WHO@LIMIT:
{forms}
"""


class FiniteRange(click.FloatRange):
    """A number in a range; refuses infinity, and NaN, which passes the bounds of `click.FloatRange`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """See click."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, found {value}", param, ctx)
        return number


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
@click.option("--fen", help="Position to start from: a FEN, or a board with / between its rows.")
@click.option(
    "--opening",
    metavar="NAME",
    help="Opening to start from: its name, ballot, ballot:N, or moves: '11-15 23-19'.",
)
@click.option(
    "--load",
    "loaded",
    metavar="FILE[:N[:PLY]]",
    help="Continue game N of a PDN file, or step through it if it is finished; with PLY, play on from there.",
)
@click.option("--view", is_flag=True, help="Step through the loaded game, finished or not.")
@click.option("--list", "listing", is_flag=True, help="List the games in games/, as --load takes them.")
@click.option(
    "--sims",
    type=click.IntRange(1),
    help="Visits per move.  [default: 400]",
)
@click.option("--seconds", type=FiniteRange(0, min_open=True), help="Seconds per move.")
@click.option("--clock", metavar="TIME", help="Time of each side and increment per move: 5m+3s, 90s+1s, 20m.")
@seed_option
@click.option("--show/--hide", default=False, help="Show the engine's value, moves and PV.  [default: hide]")
@evaluator_option()
@tables_option
@click.option(
    "--pdn",
    "file",
    type=click.Path(path_type=Path),
    help="PDN file to write the game to, appending if it exists.  "
    "[default: the file of a continued game, else a new games/game-001.pdn, -002, ...]",
)
def command(
    source: str | None,
    level: int | None,
    game_name: str | None,
    side: str | None,
    fen: str | None,
    opening: str | None,
    loaded: str | None,
    view: bool,
    listing: bool,
    sims: int | None,
    seconds: float | None,
    clock: str | None,
    seed: int | None,
    show: bool,
    evaluator: str,
    tables: str,
    file: Path | None,
) -> None:
    """Play a game, see `_HELP`."""
    # Startup makes a million objects that stay; collecting garbage among them would take a tenth of its time.
    gc.disable()
    click.get_current_context().call_on_close(gc.enable)
    from ckai.cli.playing.clock import GameClock
    from ckai.cli.playing.engines import EngineLoader, has_tree
    from ckai.cli.playing.record import Record
    from ckai.cli.playing.session import PEOPLE
    from ckai.cli.terminal.game import Options, TerminalGame
    from ckai.cli.terminal.screen import leaving_on_signals, make_console
    from ckai.rl.games.registry import get_game

    report_compilation()
    if listing:
        _list_games()
        return
    given = [name for name, value in (("--fen", fen), ("--opening", opening), ("--load", loaded)) if value]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} both say where the game begins; give one")
    if view and not loaded:
        raise click.UsageError("--view needs --load")
    player, control = _opponent_and_clock(
        source, level, clock, limited=sims is not None or seconds is not None
    )
    spec = get_game(game_name or _game_of(player))
    if player is None and sims is None and seconds is None and side not in ("both", "none") and not view:
        player = _usual_opponent(spec)
    check_tables(tables, spec)
    humans = None if side is None else PEOPLE[side]
    if loaded is not None:
        session, origin, view = _loaded_game(loaded, humans, spec, view=view)
    else:
        session, origin = _new_game(fen, opening, humans, spec, seed=seed)
    options = Options(show=show, experts=data_set(spec), chance=random.Random(seed))

    if isinstance(sys.stdin, io.TextIOWrapper):  # undecodable input must not end the game
        sys.stdin.reconfigure(errors="replace")
    console = make_console()
    alone = session.humans == PEOPLE["both"] or view
    loader = EngineLoader(spec, evaluator, tables, seed, console.status)
    later = alone and player is None
    opponent = loader.newest(sims, seconds) if later else loader.opponent(player, sims, seconds)
    analyst = opponent if player is None or has_tree(player) else loader.newest()
    terminal = TerminalGame(
        session,
        opponent,
        Record(None if file is None else expanded(file)),
        console,
        sys.stdin or io.StringIO(),
        analyst=analyst,
        clock=None if control is None else GameClock(control),
        options=options,
        source=origin,
        view=view,
    )
    if not alone:
        opponent.get()
    gc.enable()
    try:
        with leaving_on_signals():
            terminal.play()
    finally:
        opponent.close()
        analyst.close()


def _list_games() -> None:
    """Print the saved games, the newest first."""
    from ckai.cli.playing.record import GAMES as FOLDER
    from ckai.cli.playing.saved import saved_games
    from ckai.cli.shared.games_table import print_games
    from ckai.rl.games.registry import get_game

    rows = saved_games()
    for row in rows:
        name = str(FOLDER / row["file"]) + (f":{row['number']}" if row["number"] > 1 else "")
        row |= {
            "opening": row["opening"] if row["game"] == DEFAULT_GAME_NAME else get_game(row["game"]).title
        }
        row["game"] = name
    if rows:
        print_games(rows)
    else:
        click.echo("no games in games/ yet: ckai play saves them there")


def _opponent_and_clock(
    source: str | None, level: int | None, clock: str | None, *, limited: bool
) -> "tuple[EngineText | None, TimeControl | None]":
    """Return the text of the opponent, if one was given, and the clock of both sides, if there is one.

    Args:
        source, level, clock: the options `--engine`, `--level` and `--clock`.
        limited: whether `--sims` or `--seconds` was given.
    """
    from ckai.rl.engine.text import LEVEL, EngineText
    from ckai.rl.games.clock import TimeControl

    if level is not None:
        if source is not None:
            raise click.UsageError("--engine and --level both say who the opponent is; give one")
        source = f"{LEVEL}{level}"
    if clock is not None and limited:
        raise click.UsageError("--clock sets the time of each move; leave out --sims and --seconds")
    try:
        control = None if clock is None else TimeControl.read(clock)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--clock") from error
    player = None if source is None else EngineText.read(source)
    if player is not None and player.control is not None:  # one clock for both sides
        if control is not None or limited:
            raise click.UsageError(f"--engine {player.text} has a clock; leave out other limits")
        control, player = player.control, EngineText.read(player.who)
    if player is not None and limited and (player.limit or player.policy):
        raise click.UsageError(f"--engine {player.text} has a limit; leave out --sims and --seconds")
    return player, control


def _usual_opponent(spec: "GameSpec") -> "EngineText | None":
    """Return the level that is played where nothing is chosen and there is no network of the user's."""
    from ckai.cli.shared.networks import newest_network
    from ckai.models.pretrained import CKAI
    from ckai.rl.engine.levels import FULL_LEVEL, describe_level
    from ckai.rl.engine.text import DEFAULT_LEVEL, LEVEL, EngineText

    if spec.name != DEFAULT_GAME_NAME:
        return None
    newest, skipped = newest_network()
    if str(newest) != CKAI:
        return None
    for text in skipped:
        click.echo(f"skipped {text}", err=True)
    name, _ = describe_level(DEFAULT_LEVEL)
    click.echo(f"level {DEFAULT_LEVEL} ({name}); choose another with --level 1 to {FULL_LEVEL}", err=True)
    return EngineText.read(f"{LEVEL}{DEFAULT_LEVEL}")


def _game_of(player: "EngineText | None") -> str:
    """Return the name of the game of a player's network, or the default one."""
    if player is None or not os.path.exists(player.who):
        return DEFAULT_GAME_NAME
    from ckai.rl.engine.loading import game_of

    return game_of([player.text]) or DEFAULT_GAME_NAME


def _loaded_game(loaded: str, humans: Any, spec: "GameSpec", *, view: bool) -> "tuple[Session, Origin, bool]":
    """Return the game that `--load` names, where it is from, and whether it is only looked at."""
    from ckai.cli.playing.start import FileGame, open_game

    where = FileGame.read(loaded)
    read = where.load(spec)
    session, origin, finished = open_game(where, read, humans, spec)
    if read.problem:
        end = session.ply + len(session.ahead)
        click.echo(f"the game can be read up to ply {end}: {read.problem}", err=True)
    if view and not finished:
        if where.ply is None:
            session.step(-session.ply)
        origin.continued = False
    return session, origin, view or finished


def _new_game(
    fen: str | None,
    opening: str | None,
    humans: Any,
    spec: "GameSpec",
    *,
    seed: int | None,
) -> "tuple[Session, Origin]":
    """Return a game from the initial position, or from that of `--fen` or `--opening`."""
    from ckai.cli.playing.session import PEOPLE, Session, game_of
    from ckai.cli.playing.start import Origin, opening_moves

    game = spec.game(None if fen is None else spec.read_position(fen))
    if opening is not None:
        game = game_of(opening_moves(opening, spec, random.Random(seed))[1], spec)
    humans = PEOPLE["black"] if humans is None else humans
    return Session(game, humans, spec=spec), Origin()
