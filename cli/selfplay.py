"""`ckai selfplay`: generations of games against itself."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.networks import EVALUATOR_HELP, EVALUATORS, GAMES
from ckai.cli.shared.output import report_compiling
from ckai.cli.shared.tables import make_sure_of
from ckai.datasets import POSITIONS


@click.command("selfplay")
@click.option(
    "--init",
    type=click.Path(path_type=Path),
    help="Checkpoint that a new run begins from, or `none` for a network that knows nothing; a run that goes "
    "on has its own.  [default: pretrained.ckpt]",
)
@click.option(
    "--game",
    type=click.Choice(GAMES),
    help="What is played, for a new run.  [default: as the network; checkers for --init none]",
)
@click.option("--model", help="Architecture for --init none.  [default: cnn2x2]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of that network.")
@click.option(
    "--run",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the run; an existing run is continued.  [default: a new one, runs/run-001, -002, ...]",
)
@click.option(
    "--generations", type=click.IntRange(0), default=10, show_default=True, help="Of the run, in all."
)
@click.option("--games", type=click.IntRange(1), help="Games a generation.  [default: 400]")
@click.option("--sims", type=click.IntRange(1), help="Visits at the root for a move.  [default: 100]")
@click.option("--in-flight", type=click.IntRange(1), help="Games at once.  [default: 256]")
@click.option("--groups", type=click.IntRange(1), help="Threads that play.  [default: one a core]")
@click.option("--leaves", type=click.IntRange(1), help="Leaves of a tree in one batch.  [default: 1]")
@click.option(
    "--root-rule", type=click.Choice(["puct", "forced", "gumbel"]), help="Of the search.  [default: puct]"
)
@click.option("--gumbel-scale", type=float, help="Trust of gumbel in values against priors.  [default: 0.05]")
@click.option("--full-share", type=float, help="Share of full searches (playout cap).  [default: 1.0]")
@click.option("--fast-sims", type=click.IntRange(1), help="Visits of the other searches.  [default: 20]")
@click.option("--cache-positions", type=click.IntRange(0), help="Evaluations remembered.  [default: 0]")
@click.option("--c-puct", type=float, help="Weight of the prior in the search.  [default: 4.0]")
@click.option("--noise-alpha", type=float, help="Dirichlet concentration at the root.  [default: 1.0]")
@click.option("--noise-epsilon", type=float, help="Share of noise at the root.  [default: 0.25]")
@click.option("--temperature", type=float, help="Of the first moves.  [default: 1.0]")
@click.option("--temperature-plies", type=click.IntRange(0), help="Plies before it tapers.  [default: 16]")
@click.option(
    "--resign",
    type=float,
    help="A side gives up at a value of minus this, such as 0.95; one game of ten is played out all the "
    "same.  [default: 0, never]",
)
@click.option(
    "--tables",
    type=click.IntRange(0, 6),
    help="Endgames of so many pieces are known, built first if they are not there; 0: none.  [default: 3]",
)
@click.option(
    "--at-tables",
    type=click.Choice(["adjudicate", "label", "play"]),
    help="A game that reaches them ends with the true result; or is played on, and z is the truth; or is "
    "played on, and z is how it ends.  [default: adjudicate]",
)
@click.option("--q-weight", type=float, help="w in the value's target (1 - w) z + w q.  [default: 0.5]")
@click.option("--q-first", type=float, help="w in the first generation, if it is to change.")
@click.option("--q-ramp", type=click.IntRange(1), help="Generations until it is --q-weight.  [default: 10]")
@click.option(
    "--opening-share",
    type=float,
    help="Games that begin with an opening of three plies that loses no man by force.  [default: 0.5]",
)
@click.option("--expert-share", type=float, help="Games that begin in positions of --experts.  [default: 0]")
@click.option(
    "--experts",
    type=click.Path(path_type=Path),
    help="Rows to draw those positions from, for a new run.",
)
@click.option(
    "--pool-share",
    type=float,
    help="Games against past networks, those most that come closest.  [default: 0]",
)
@click.option("--pool-rivals", type=click.IntRange(1), help="Of them in a generation.  [default: 2]")
@click.option("--window", type=click.IntRange(1), help="Generations whose games are learned.  [default: 4]")
@click.option("--window-growth", type=float, help="Generations that it grows by in each.  [default: 0]")
@click.option("--reuse", type=float, help="Most times that a row is learned; 0: no limit.  [default: 0]")
@click.option(
    "--positions",
    type=click.Choice(POSITIONS),
    help="Of repeated positions: all rows, each move once, or one row of averages.  [default: all]",
)
@click.option(
    "--surprise",
    type=float,
    help="Share of an epoch that goes to rows by how much the search surprised the network.  [default: 0]",
)
@click.option("--ema", type=float, help="Decay of the weights' average that plays; 0: none.  [default: 0]")
@click.option("--epochs", type=click.IntRange(1), help="Times over the window.  [default: 2]")
@click.option("--lr", type=float, help="Highest learning rate.  [default: 0.0005]")
@click.option(
    "--gate-games", type=int, help="Games of the match new against old; 0: no match.  [default: 100]"
)
@click.option("--gate-sims", type=click.IntRange(1), help="Visits a move there.  [default: as in self-play]")
@click.option(
    "--gate",
    type=click.Choice(["score", "sprt", "none"]),
    help="When a new network is taken: it reaches --gate-score; a sequential test finds it better, and ends "
    "the match; or always, and the match is only shown.  [default: none]",
)
@click.option("--gate-score", type=float, help="Share of the points that it must reach.  [default: 0.55]")
@click.option(
    "--overlap/--in-turn",
    default=None,
    help="Play a generation while the one before is learned, or one after the other.  [default: overlap "
    "where there is a GPU]",
)
@click.option(
    "--setting",
    "others",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other setting by its name in the config.json of a run, such as learn.batch_size=256.",
)
@click.option("--seed", type=click.IntRange(0), help="Of everything random.  [default: 0]")
@click.option(
    "--evaluator",
    default="auto",
    show_default=True,
    type=click.Choice(EVALUATORS),
    help=EVALUATOR_HELP,
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    init: Path | None,
    game: str | None,
    folder: Path | None,
    generations: int,
    evaluator: str,
    model: str | None,
    pairs: tuple[str, ...],
    experts: Path | None,
    others: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Let a network learn from games against itself.

    Each generation plays games with the newest network, learns from the last ones, and shows in a match
    against the network before it what that brought. The value learns (1 - w) z + w q: z the game's result, q
    the search's value. Stop it at any time; the same command with --run continues.
    """
    import torch

    from ckai.cli.shared.watching import go
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.loop.config import RunConfig
    from ckai.rl.loop.folder import RunError, fresh_folder
    from ckai.rl.loop.run import Run

    settings = {name: value for name, value in given.items() if value is not None}
    folder = folder or fresh_folder()
    if Run.exists(folder):
        run = Run.open(folder)
        wanted = apply_settings(run.config, settings | ({"game": game} if game else {})).changed(others)
        if wanted != run.config:
            what = _first_difference(run.config.to_dict(), wanted.to_dict())
            raise RunError(
                f"{folder}: this run has begun with its own settings ({what}); continue without that option"
            )
    else:
        source = first_network(init, game, model, pairs, given["seed"] or 0)
        network = load_checkpoint(source).network() if isinstance(source, Path) else source
        usual = replace(RunConfig.defaults_for(network.encode.GAME), overlap=torch.cuda.is_available())
        config = apply_settings(usual, settings).changed(others)
        if game and game != config.game:
            where = source if isinstance(source, Path) else "the new network"
            raise RunError(f"{where}: expected a network for {game}, found one for {config.game}")
        run = Run.create(folder, source, config, expert_positions(experts, config))
    make_sure_of(run.config.selfplay.tables)
    report_compiling()
    go(run, generations, evaluator, as_json)


def first_network(
    init: Path | None, game: str | None, model: str | None, pairs: tuple[str, ...], seed: int
) -> Any:
    """The checkpoint of `--init`, or a new network.

    Raises:
        RunError: no such checkpoint, or an architecture beside one.
    """
    import torch

    from ckai.models.registry import build, parse_settings
    from ckai.rl.games.registry import get_game
    from ckai.rl.loop.folder import RunError

    if init == Path("none"):
        torch.manual_seed(seed)
        name = model or "cnn2x2"
        encoding = get_game(game).encoding if game else None
        sees = {"encoding": encoding} if encoding else {}
        return build(name, sees | parse_settings(name, list(pairs)))
    if model or pairs:
        raise RunError("--model and --set are for --init none: a checkpoint has its own architecture")
    source = init or Path("pretrained.ckpt")
    if not source.exists():
        hint = "" if init else " (give --init CHECKPOINT or --init none, or make one with `ckai pretrain`)"
        raise RunError(f"{source}: no such checkpoint{hint}")
    return source


def expert_positions(path: Path | None, config: Any) -> list[Any]:
    """Positions for the games that begin in them.

    Raises:
        RunError: a share of such games and no data, or data and no share.
    """
    from ckai.rl.loop.folder import RunError
    from ckai.rl.selfplay.starts import draw_expert_positions

    if bool(config.start.experts) != (path is not None):
        raise RunError("expected --experts ROWS and --expert-share together, found one of them")
    return draw_expert_positions(path, seed=config.seed) if path is not None else []


_PLACES = {
    "game": ("", "game"),
    "games": ("", "games"),
    "overlap": ("", "overlap"),
    "seed": ("", "seed"),
    "q_weight": ("learn", "q_weight"),
    "q_first": ("learn", "q_first"),
    "q_ramp": ("learn", "q_ramp"),
    "opening_share": ("start", "balanced"),
    "expert_share": ("start", "experts"),
    "pool_share": ("pool", "share"),
    "pool_rivals": ("pool", "opponents"),
    "window": ("learn", "window"),
    "window_growth": ("learn", "window_growth"),
    "reuse": ("learn", "reuse"),
    "positions": ("learn", "positions"),
    "surprise": ("learn", "surprise"),
    "ema": ("learn", "ema"),
    "epochs": ("learn", "epochs"),
    "lr": ("learn", "lr"),
    "gate_games": ("gate", "games"),
    "gate_sims": ("gate", "sims"),
    "gate": ("gate", "rule"),
    "gate_score": ("gate", "threshold"),
}
"""Option -> part of the settings and name there; all others are settings of self-play."""


def apply_settings(config: Any, given: dict[str, Any]) -> Any:
    """A run's settings with the options given put in their places."""
    for option, value in given.items():
        part, name = _PLACES.get(option, ("selfplay", option))
        if part:
            config = replace(config, **{part: replace(getattr(config, part), **{name: value})})
        else:
            config = replace(config, **{name: value})
    return config


def _first_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    for name, value in old.items():
        if isinstance(value, dict):
            found = _first_difference(value, new[name])
            if found:
                return found
        elif value != new[name]:
            return f"{name} = {value}, not {new[name]}"
    return ""
