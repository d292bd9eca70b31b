"""Strength and cost of networks: `python benchmarks/strength/strength.py small.ckpt medium.ckpt large.ckpt`.

For each network: accuracy on held-out games, evaluations/s on this machine, and the score in percent against
vanilla MCTS with random playouts, of the policy alone and of a search. Every opening is played with both
colours; the interval is 1.96 standard errors over the pairs.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import click

from ckai.datasets.machine import available_cores
from ckai.models.checkpoint import load_checkpoint
from ckai.models.inference.backends import TorchEvaluator, best_rate
from ckai.rl.engine.tree import by_visits
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.matches.match import MatchResult, play_match
from ckai.rl.matches.openings import random_openings

BARE = 2
"""Visits that play the most likely move of the policy: the root and that move."""


def points(result: MatchResult) -> tuple[float, float]:
    """Return A's score and half the width of its 95 % interval, in percent."""
    scores = [game.score for game in result.games]
    pairs = [(a + b) / 2 for a, b in zip(scores[::2], scores[1::2], strict=True)]
    spread = statistics.stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else 0.0
    return 100 * statistics.mean(pairs), 196 * spread


@click.command()
@click.argument("checkpoints", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--rollouts", multiple=True, type=int, default=(100, 1000, 10_000), show_default=True)
@click.option("--sims", default=100, show_default=True, help="Visits per move of the search.")
@click.option(
    "--pairs", default=50, show_default=True, help="Number of openings, each played with both colours."
)
@click.option("--plies", default=4, show_default=True, help="Random plies in an opening.")
@click.option("--seed", default=0, show_default=True)
@click.option("--evaluator", default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True)
def main(
    checkpoints: tuple[Path, ...],
    rollouts: tuple[int, ...],
    sims: int,
    pairs: int,
    plies: int,
    seed: int,
    evaluator: str,
    as_json: bool,
) -> None:
    """Play the matches and print the table."""
    openings = random_openings(pairs, plies, seed)
    playouts = load_evaluator("rollout")
    threads = available_cores()
    results: list[dict[str, Any]] = []
    for path in checkpoints:
        loaded = load_checkpoint(path)
        network = loaded.network()
        row: dict[str, Any] = {
            "network": path.stem,
            "model": loaded.architecture,
            "parameters": sum(p.numel() for p in network.parameters()),
            **{key: loaded.metrics.get(key) for key in ("top1_legal", "top5_legal", "top1_unforced")},
            "evaluations_per_second": best_rate(
                TorchEvaluator(network), network.encode, [256], [threads], 0.5
            )[0],
            "matches": [],
        }
        player = load_evaluator(path, evaluator, threads=threads)
        row["evaluator"] = player.name
        for visits, who in ((BARE, "policy"), (sims, f"{sims} simulations")):
            for number in rollouts:
                begun = time.perf_counter()
                result = play_match(
                    by_visits(player, visits), by_visits(playouts, number), openings, threads=threads
                )
                score, interval = points(result)
                row["matches"].append(
                    result.summary() | {"who": who, "rollouts": number, "score": score, "interval": interval}
                )
                seconds = time.perf_counter() - begun
                print(f"{path.stem}, {who} against {number}: {score:.1f} ({seconds:.0f} s)", file=sys.stderr)
        results.append(row)
    if as_json:
        print(json.dumps(results))
        return
    titles = [f"{m['who']}, {m['rollouts']:,}" for m in results[0]["matches"]]
    print(f"| network | parameters | first | choice | evaluations/s | {' | '.join(titles)} |")
    print("|---" * (5 + len(titles)) + "|")
    for row in results:
        shares = [f"{row[key]:.1%}" if row[key] else "" for key in ("top1_legal", "top1_unforced")]
        rates = f"{row['evaluations_per_second']:,.0f}"
        scores = [f"{m['score']:.0f} ± {m['interval']:.0f}" for m in row["matches"]]
        cells = [row["network"], f"{row['parameters']:,}", *shares, rates, *scores]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
