"""How well do networks, and alpha-beta searches with one, know the results of games?

    python benchmarks/learning/value_error.py games.parquet ckai small --search ckai --nodes 1000,10000

Draws positions of rows and prints the mean squared error of each value, in [-1, 1] for the side to move,
against the result of the game. So it says what labels for training are worth (`ckai distill --nodes`).
"""

from pathlib import Path

import click
import numpy as np

from ckai.datasets.reader import read_rows
from ckai.models.checkpoint import load_network
from ckai.models.inference.predict import predict
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.selfplay.walks import decode_boards


@click.command()
@click.argument("data", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("networks", nargs=-1, required=True)
@click.option("--search", "searcher", help="Integer network to search with.")
@click.option("--nodes", default="1000", show_default=True, help="Nodes of a search, separated by commas.")
@click.option(
    "--rows", default=5000, show_default=True, type=click.IntRange(min=1), help="Positions to draw."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the draw.")
def main(
    data: Path, networks: tuple[str, ...], searcher: str | None, nodes: str, rows: int, seed: int
) -> None:
    """Print the errors of NETWORKS, and of searches, on rows of DATA."""
    every = read_rows(data)
    with_result = np.flatnonzero(every.z_known)
    drawn = np.random.default_rng(seed).choice(with_result, min(rows, len(with_result)), replace=False)
    chosen = every.take(np.sort(drawn))
    for name in networks:
        error = np.mean((predict(load_network(name), chosen)[1] - chosen.z) ** 2)
        print(f"{name:30} {error:.4f}", flush=True)
    if searcher is None:
        return
    clock = np.minimum(chosen.quiet, 127).astype(np.int8)
    boards = np.concatenate([chosen.board, chosen.jumper[:, None], clock[:, None]], 1)
    states = np.zeros((len(boards), DEFAULT_GAME.state_words), np.int64)
    decode_boards(DEFAULT_GAME.rules, np.ascontiguousarray(boards), states)
    search = AlphaBetaSearch(load_evaluator(searcher, "integers"), entries=1 << 16)
    for limit in map(int, nodes.split(",")):
        values = np.zeros(len(states))
        for i, state in enumerate(states.tolist()):
            search.forget()
            values[i] = search.search(tuple(state), nodes=limit).value
        error = np.mean((values - chosen.z) ** 2)
        print(f"{f'alpha-beta, {searcher}, {limit:,} nodes':30} {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
