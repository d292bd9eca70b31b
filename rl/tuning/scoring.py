"""The scores of the trials of a rung: matches of their newest networks, or mistakes on solved positions.

All networks play with the same search, that of `ckai match`, whatever the settings of their self-play.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import cache, partial
from typing import Any

from ckai.datasets.files import write_whole
from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.loop.folder import read_measured
from ckai.rl.loop.saved_games import SavedGames
from ckai.rl.matches.match import MatchResult, game_order, play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.ratings import ratings
from ckai.rl.players.loading import load_player
from ckai.rl.players.player import Player
from ckai.rl.players.search import SearchPlayer
from ckai.rl.solved.mistakes import Mistakes, count_mistakes, over_all, solved_classes
from ckai.rl.tuning.folder import Score, StudyFolder
from ckai.rl.tuning.halving import Rung

BATCH = 64
"""Positions per call in the trial of a backend, if the runs have not chosen one."""
ProgressCallback = Callable[[int, int], None]
"""Called with what is done and the total: games, or trials."""


def circle_rounds(players: int, games: int) -> list[list[tuple[int, int]]]:
    """Return rounds in which every player meets another one in turn, by the circle method.

    With an odd number of players one of them pauses in each round. After a whole turn all have met.

    Args:
        players: number of players, at least 2.
        games: least games of each, an even number: in a round two play one opening with both colours.

    Returns:
        The pairs of each round, the lower number first.
    """
    circle: list[int | None] = [*range(players), *([None] if players % 2 else [])]
    met, rounds = [0] * players, list[list[tuple[int, int]]]()
    while min(met) < games // 2:
        half = len(circle) // 2
        tables = zip(circle[:half], reversed(circle[half:]), strict=True)
        pairs = [(min(a, b), max(a, b)) for a, b in tables if a is not None and b is not None]
        for player in (player for pair in pairs for player in pair):
            met[player] += 1
        rounds.append(pairs)
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return rounds


def score_rung(
    study: StudyFolder,
    rung: Rung,
    trials: Sequence[int],
    backend: str,
    progress: ProgressCallback,
    warn: Callable[[str], None],
) -> dict[int, Score]:
    """Score the trials of a rung, which have their generations; matches that were interrupted go on.

    Args:
        study: the study.
        rung: the rung.
        trials: its trials.
        backend: evaluator backend, see `load_evaluator`.
        progress: see `ProgressCallback`.
        warn: called with a line about a damaged file.

    Returns:
        The score of each trial.

    Raises:
        CheckpointError: a network cannot be read.
    """
    base = study.run(0)
    sims = study.config.match_sims or base.config.selfplay.sims
    tables = Tables.open(base.config.selfplay.tables) if base.config.selfplay.tables else None
    with ExitStack() as opened:

        @cache
        def player(trial: int) -> SearchPlayer:
            evaluator: Evaluator = load_evaluator(
                study.run(trial).path(rung.generations, "network.ckpt"),
                backend,
                batch=BATCH,
                threads=available_cores(),
                prefer=base.chosen_backend,
                game=base.config.game,
            )
            opened.callback(evaluator.close)
            return SearchPlayer(evaluator, sims, tables=tables, spec=base.spec)

        if study.config.score == "mistakes":
            return _mistakes(study, rung, trials, player, progress)
        matches = _Matches(study, rung, progress, warn)
        if study.config.against:
            return _against(study, matches, trials, player, backend, tables)
        return _round_robin(study, matches, trials, player)


class _Matches:
    """The matches of a rung, which go on where they were interrupted."""

    def __init__(
        self, study: StudyFolder, rung: Rung, progress: ProgressCallback, warn: Callable[[str], None]
    ) -> None:
        self.study, self.rung, self.progress, self.warn = study, rung, progress, warn
        self.base = study.run(0)
        self.games = 0
        """Games of all matches."""
        self.done = 0
        """Games of those that were played."""

    def seed(self, *numbers: int) -> int:
        """Return the seed of something in this rung."""
        return seed_stream(self.base.config.seed, self.rung.number, *numbers)

    def play(
        self, name: str, seed: int, openings: Sequence[Any], loaders: tuple[Callable[[], Player], ...]
    ) -> MatchResult:
        """Play a match, or what is missing of it.

        Args:
            name: of the file of its games.
            seed: of the players' random choices.
            openings: each is played twice.
            loaders: load A and B, if there is a game to play.
        """
        path = self.study.rung_folder(self.rung) / f"{name}.json"
        saved = SavedGames.read(path, openings, self.base.spec, self.warn)
        before = list(saved.games)
        self.progress(self.done + len(before), self.games)
        if len(before) < 2 * len(openings):

            def on_game(game: Any) -> None:
                saved.add(game)
                self.progress(self.done + len(saved.games), self.games)

            a, b = (load() for load in loaders)
            try:
                play_match(
                    a,
                    b,
                    openings,
                    spec=self.base.spec,
                    max_plies=self.base.config.selfplay.max_plies,
                    threads=available_cores(),
                    seed=seed,
                    done=before,
                    on_game=on_game,
                )
            finally:
                saved.write()
        self.done += len(saved.games)
        return MatchResult(sorted(saved.games, key=game_order))


def _round_robin(
    study: StudyFolder, matches: _Matches, trials: Sequence[int], player: Callable[[int], SearchPlayer]
) -> dict[int, Score]:
    """Rate the trials by matches with each other; the mean of the rung is 0."""
    rounds = circle_rounds(len(trials), study.config.match_games)
    openings = draw_openings(len(rounds), matches.seed(0), matches.base.spec)
    met: dict[tuple[int, int], list[Any]] = {}
    for opening, pairs in zip(openings, rounds, strict=True):
        for pair in pairs:
            met.setdefault(pair, []).append(opening)
    matches.games = 2 * sum(map(len, met.values()))
    scores = {}
    for (i, j), mine in sorted(met.items()):
        a, b = trials[i], trials[j]
        loaders = (partial(player, a), partial(player, b))
        result = matches.play(f"{a:03d}-{b:03d}", matches.seed(1, a, b), mine, loaders)
        scores[i, j] = result.pair_scores
    rated = ratings(len(trials), scores)
    return {trial: Score(r.elo, r.low, r.high) for trial, r in zip(trials, rated, strict=True)}


def _against(
    study: StudyFolder,
    matches: _Matches,
    trials: Sequence[int],
    player: Callable[[int], SearchPlayer],
    backend: str,
    tables: Tables | None,
) -> dict[int, Score]:
    """Play every trial against the common opponent, all from the same openings."""

    @cache
    def opponent() -> Player:
        return load_player(
            study.config.against,
            backend=backend,
            tables=tables,
            game=matches.base.spec,
            boards=BATCH,
            threads=available_cores(),
        )

    openings = draw_openings(study.config.match_games // 2, matches.seed(0), matches.base.spec)
    matches.games = 2 * len(openings) * len(trials)
    scores = {}
    for trial in trials:
        loaders = (partial(player, trial), opponent)
        result = matches.play(f"{trial:03d}", matches.seed(1, trial), openings, loaders)
        scores[trial] = Score(result.pairs.elo, *result.pairs.interval)
    return scores


def _mistakes(
    study: StudyFolder,
    rung: Rung,
    trials: Sequence[int],
    player: Callable[[int], SearchPlayer],
    progress: ProgressCallback,
) -> dict[int, Score]:
    """Count the mistakes of every trial, over all classes of solved positions; what was counted is kept."""
    classes = solved_classes(study.run(0).spec)
    scores = {}
    for done, trial in enumerate(trials):
        progress(done, len(trials))
        path = study.rung_folder(rung) / f"{trial:03d}.json"
        if not path.exists():
            every = over_all(count_mistakes(player(trial), classes))
            write_whole(path, json.dumps(asdict(every)) + "\n")
        every = Mistakes(**read_measured(path))
        scores[trial] = Score(every.share, *every.interval)
    progress(len(trials), len(trials))
    return scores
