"""The end of a generation: training on the games of its replay window, and the gate match.

Both continue what was interrupted.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ckai.datasets.data_module import Batch, RowsDataModule, Symmetries
from ckai.datasets.files import write_whole
from ckai.datasets.machine import available_cores
from ckai.models.checkpoint import load_checkpoint, read_plain, save_checkpoint
from ckai.models.evaluation import origin
from ckai.models.training.config import OptimizerConfig, TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.trainer import TrainingError, fit
from ckai.rl.engine.base import Engine
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.elo import Sprt, bounded
from ckai.rl.matches.match import (
    MatchGame,
    MatchResult,
    append_game,
    match_game_pdn,
    match_pdn,
    play_match,
    read_match_games,
)
from ckai.rl.matches.openings import draw_openings
from ckai.rl.run.config import GateConfig, LearnConfig

HELD_OUT = 0.05
"""Share of the games held out for measuring."""


def learn(
    old: Path,
    window: list[Path],
    candidate: Path,
    settings: LearnConfig,
    *,
    generation: int,
    seed: int,
    game: str,
    run: str,
    progress: Callable[..., None],
    transform: Callable[[Batch], Batch] | None = None,
) -> dict[str, Any]:
    """Train the network of a generation, continuing what was interrupted, unless `candidate` exists.

    Args:
        old: checkpoint to start from. Games are held out as when it was trained.
        window: row files.
        candidate: checkpoint to write; `training.ckpt` next to it holds the state during training.
        settings, generation: how to train in a generation, counted from 1.
        seed: of the order of rows.
        game, run: names; the checkpoint keeps the one of the run.
        progress: called after every batch with the batches done, their number, and measurements by name.
        transform: see `RowsDataModule`.

    Returns:
        The metrics of the last epoch, and `rows` and `heldout_rows`.

    Raises:
        CheckpointError: a checkpoint, or the state of the interrupted training, cannot be used.
        DatasetError: a file of the window cannot be used.
        TrainingError: the loss is not finite.
    """
    state = candidate.with_name("training.ckpt")
    if candidate.exists():
        state.unlink(missing_ok=True)
        return dict(load_checkpoint(candidate).metrics)
    config = TrainConfig(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        patience=0,
        seed=seed,
        loss=settings.loss_of(generation),
        optimizer=OptimizerConfig(lr=settings.lr, weight_decay=settings.weight_decay),
    )

    before = load_checkpoint(old)

    def rows(heldout: float) -> RowsDataModule:
        return RowsDataModule(
            window,
            batch_size=settings.batch_size,
            heldout=heldout,
            split_seed=before.info.get("split", {}).get("seed", 0),
            seed=seed,
            need_both_sides=False,
            game=game,
            symmetries=Symmetries(get_game(game).symmetries) if settings.symmetries else None,
            transform=transform,
        )

    data = rows(HELD_OUT)
    if not data.train_rows:  # the hash of few games may select all
        data = rows(0.0)
    network = before.network()
    info = {**before.info, **origin(before.info, data), "generation": generation, "run": run}
    try:
        history = fit(
            PolicyValueModule.of(network, config),
            data,
            config,
            state=state,
            saved=read_plain(state) if state.exists() else None,
            save_seconds=10.0,
            progress=lambda p: progress(p.epoch * p.batches + p.batch, p.epochs * p.batches, **p.report),
        )
    except TrainingError as error:
        state.unlink(missing_ok=True)
        raise TrainingError(f"{error}; a run keeps its settings: begin another with a lower --lr") from error
    last = {k: float(v) for k, v in history[-1].items()}
    measured = {"rows": data.train_rows, "heldout_rows": data.heldout_rows, **last}
    save_checkpoint(candidate, network, metrics=measured, info=info)
    state.unlink(missing_ok=True)
    return measured


def play_gate_match(
    new: Engine,
    old: Engine,
    gate: GateConfig,
    path: Path,
    *,
    names: tuple[str, str],
    seed: int,
    spec: GameSpec = DEFAULT_GAME,
    max_plies: int,
    progress: Callable[..., None],
) -> dict[str, Any]:
    """Play the gate match of a generation, continuing one that was interrupted.

    Args:
        new, old: engines with the new network, and with the one to beat.
        gate: number of games (at least 2) and the rule.
        path: file of the games, which are added as they finish, and are in order at the end.
        names: of the new and the old network, for the PDN headers.
        seed: of the openings.
        spec, max_plies: see `play_match`.
        progress: called after every game with the games played and their number.

    Returns:
        `games`, `wins`, `draws`, `losses` and `score` (share of the points, [0, 1]) of the new network, `elo`
        (`PairStatistics.shrunk_elo`) with its 95 % `interval`, null for an end without a bound, whether it is
        `accepted`, and the `seconds` since it was last begun or continued; with the rule `sprt` also the
        `sprt_ratio` and the number of `sprt_pairs` that decided (see `Sprt.test`). A network that a rule has
        accepted plays as many games again: it was accepted for a score that luck helps to reach, so `elo` is
        from this `second` match alone, whose games and score are given too.
    """
    begun = time.monotonic()
    pairs = gate.games // 2
    openings = draw_openings(2 * pairs, seed, spec)  # half of them for a second match
    games = read_match_games(path, openings, spec)
    test = Sprt(0.0, gate.elo1) if gate.rule == "sprt" else None
    stop = threading.Event()

    def check_decided() -> None:
        first = MatchResult([game for game in games if game.pair < pairs])
        if test is not None and test.test(first.leading_scores).verdict is not None:
            stop.set()

    def on_game(game: MatchGame) -> None:
        append_game(path, match_game_pdn(game, *names, spec))
        games.append(game)
        progress(len(games), gate.games * (1 + (game.pair >= pairs)))
        if game.pair < pairs:
            check_decided()

    def play(chosen: range) -> MatchResult:
        return play_match(
            new,
            old,
            openings,
            threads=available_cores(),
            spec=spec,
            max_plies=max_plies,
            done=[game for game in games if game.pair in chosen],
            pairs=chosen,
            on_game=on_game,
            stop=stop,
        )

    check_decided()  # an interrupted match may have been decided
    result = play(range(pairs))
    accepted, sprt = True, {}
    if test is not None:
        decided = test.test(result.leading_scores)
        # An undecided match counts as one between equals.
        accepted = decided.verdict is True
        sprt = {"sprt_ratio": round(decided.ratio, 3), "sprt_pairs": decided.pairs.pairs}
    elif gate.rule == "score":
        accepted = result.pairs.score >= gate.threshold
    measured, second = result, {}
    if accepted and gate.rule != "none":
        stop.clear()
        measured = play(range(pairs, pairs + result.pairs.pairs))
        second = {"second": measured.summary()}
    both = MatchResult([*result.games, *(measured.games if second else ())])
    write_whole(path, match_pdn(both, *names, spec))
    return {
        **result.summary(),
        "elo": round(measured.pairs.shrunk_elo, 1),
        "interval": [bounded(round(bound, 1)) for bound in measured.pairs.interval],
        "accepted": accepted,
        **second,
        **sprt,
        "seconds": round(time.monotonic() - begun, 3),
    }
