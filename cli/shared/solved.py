"""What `ckai evaluate --solved` measures and prints: mistakes by class of solved positions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.cli.shared.output import progress_bar, report_compilation

if TYPE_CHECKING:
    from ckai.rl.solved.mistakes import Mistakes

SOLVED_VISITS = (50, 200, 600)
"""Visits of the searches that are measured where none are named."""


def evaluate_solved(
    source: Path, visits: Sequence[int], players: Sequence[str], cores: int
) -> tuple[dict[str, Any], str]:
    """Measure a network, or every generation of a run, and other players, on solved positions of the game.

    Args:
        source: a checkpoint or the folder of a run.
        visits: of the searches.
        players: specs of more players to measure.
        cores: that a run was using.

    Returns:
        The result as JSON has it, and as text.

    Raises:
        ValueError: the game has no solver, or a file cannot be read.
    """
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.games.registry import get_game
    from ckai.rl.loop.folder import RunFolder
    from ckai.rl.players.loading import load_player
    from ckai.rl.solved.climb import CSV, PNG, measure_run
    from ckai.rl.solved.mistakes import count_mistakes, mistakes_of_network, solved_classes

    report_compilation()  # the searches compile
    result: dict[str, Any]
    if source.is_dir():
        run = RunFolder.open(source)
        spec = run.spec
        classes = solved_classes(spec)
        with progress_bar("measuring", "generations") as progress:
            rows = measure_run(run, visits, classes, cores, progress)
        newest = [row for row in rows if row.generation == rows[-1].generation]
        found: dict[str, dict[str, Mistakes]] = {}
        for row in newest:
            found.setdefault(row.player, {})[row.position_class] = row.counted
        minutes = newest[0].core_minutes
        shown = f"{minutes:,.0f}" if minutes >= 10 else f"{minutes:.1f}"
        title = f"{source}, generation {newest[0].generation} after {shown} core-minutes"
        files = {"csv": str(source / CSV), "plot": str(source / PNG)}
        result = {
            "run": str(source),
            "generation": newest[0].generation,
            "core_minutes": minutes,
            **files,
        }
        after = f"every generation is in {files['csv']} and {files['plot']}"
    else:
        loaded = load_checkpoint(source)
        spec = get_game(loaded.network().encode.GAME)
        classes = solved_classes(spec)
        found = mistakes_of_network(load_evaluator(source, game=spec.name), spec, visits, classes)
        title, after = str(source), ""
        result = {"checkpoint": str(source), "digest": loaded.digest}
    for text in players:
        found[text] = count_mistakes(load_player(text, game=spec), classes)
    return {**result, "game": spec.name, "players": _plain(found)}, "\n".join(
        filter(None, [mistakes_text(title, found), after])
    )


def _plain(found: "Mapping[str, Mapping[str, Mistakes]]") -> dict[str, Any]:
    return {
        player: {
            name: {
                "positions": each.positions,
                "mistakes": each.mistakes,
                "share": each.share,
                "interval": each.interval,
            }
            for name, each in by_class.items()
        }
        for player, by_class in found.items()
    }


def mistakes_text(title: str, found: "Mapping[str, Mapping[str, Mistakes]]") -> str:
    """Format the mistakes of players as a table, a line for each class."""
    names = list(next(iter(found.values())))
    first, width = max(map(len, names)), max(22, *(len(player) + 2 for player in found))
    positions = [next(iter(found.values()))[name].positions for name in names]
    lines = [f"mistakes of {title}: moves that give away a win or a draw, with 95 % intervals"]
    lines.append(f"{'':{first}}{'positions':>11}" + "".join(f"{player:>{width}}" for player in found))
    for name, number in zip(names, positions, strict=True):
        cells = (_cell(by_class[name]) for by_class in found.values())
        lines.append(f"{name:{first}}{number:>11,}" + "".join(f"{cell:>{width}}" for cell in cells))
    return "\n".join(lines)


def _cell(counted: "Mistakes") -> str:
    low, high = counted.interval
    return f"{counted.share:.1%} ({100 * low:.1f} to {100 * high:.1f})"
