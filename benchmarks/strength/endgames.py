"""Measure endgame tablebases: `python benchmarks/strength/endgames.py speed|convert|match`.

All need the four-piece tables (`ckai tables build`).
"""

import json
import multiprocessing
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
from numba import njit

from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.datasets.tables.index import Material, unrank_position
from ckai.datasets.tables.solve import DRAWN
from ckai.game import Game, Position
from ckai.rl import Engine
from ckai.rl.engine.tree import by_visits
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games import contract
from ckai.rl.games.checkers import SPEC, pack
from ckai.rl.matches.elo import elo_text
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import random_openings

SIMS = 100


@click.group()
def main() -> None:
    """Measure endgame tablebases."""


# --- speed ---------------------------------------------------------------------------------------------


@njit
def probe_all(game, states):
    """Probe every state as the search does; the sum keeps the calls from being optimised away."""
    total = 0
    for i in range(len(states)):
        proof, plies = contract.tablebase_value(game, (states[i, 0], states[i, 1]))
        total += proof + plies
    return total


@main.command()
@click.option("--positions", default=1_000_000, show_default=True)
@click.option("--pieces", default=4, show_default=True)
@click.option("--rounds", default=5, show_default=True)
def speed(positions: int, pieces: int, rounds: int) -> None:
    """Measure probes from the search, of random positions."""
    tables = Tables.open(pieces)
    drawn = [position for position, _ in sample_of(tables, positions, pieces, seed=0)]
    states = np.array([pack(each) for each in drawn])
    game = SPEC.make_rules(tables)
    times = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        probe_all(game, states)
        times.append((time.perf_counter() - begun) / positions)
    middle = sorted(times[1:])[rounds // 2]
    print(f"{middle * 1e9:.0f} ns per probe, {1 / middle:,.0f} probes/s")


# --- converting ----------------------------------------------------------------------------------------


def positions_of(of: Material, tables: Tables) -> Iterator[tuple[Position, int]]:
    """Yield all positions of a class with a legal move, and their values."""
    values = tables.layout.part(tables.values, of)
    for number, value in enumerate(values):
        if value:
            own, opp, kings = unrank_position(number, *of, tables.layout.lookup)
            yield Position(int(own), int(opp), int(kings), True, -1, 0), int(value)


def sample_of(tables: Tables, number: int, pieces: int, seed: int) -> list[tuple[Position, int]]:
    """Draw random positions with so many pieces and a legal move, and their values."""
    layout, rng = tables.layout, random.Random(seed)
    chosen = [(of, size) for of, size in layout.classes.items() if sum(of) == pieces]
    sample = []
    while len(sample) < number:
        of, size = rng.choices(chosen, [size for _, size in chosen])[0]
        at = rng.randrange(size)
        if value := int(layout.part(tables.values, of)[at]):
            own, opp, kings = map(int, unrank_position(at, *of, layout.lookup))
            sample.append((Position(own, opp, kings, True, -1, 0), value))
    return sample


def play_out(
    source: str, pieces: int, part: list[tuple[Position, int]], sims: int, seed: int
) -> list[tuple[str, int, int, str]]:
    """Play the engine, which moves first, against optimal play from the tables.

    Returns:
        For each game the FEN, the plies to the end by the tables (255: drawn), the plies played, and the
        result for the engine.
    """
    import torch

    torch.set_num_threads(1)
    tables = Tables.open(pieces)
    engine = Engine.load(source, evaluator="torch", tables=tables)
    rng = random.Random(seed)
    ended = []
    for position, value in part:
        game = Game(position)
        while game.outcome() is None:
            if game.position.black == position.black:
                result = engine.search(game.position, sims=sims, history=game.history)
                game.push(result.move)
            else:
                game.push(rng.choice(tables.best_moves(game.position)))
        winner = game.outcome().winner  # type: ignore[union-attr]
        score = "drawn" if winner is None else "won" if (winner == "black") == position.black else "lost"
        ended.append((position.fen, value, len(game.moves), score))
    return ended


@main.command()
@click.argument("source")
@click.option("--sims", default=SIMS, show_default=True, help="Visits per move.")
@click.option("--sample", default=5000, show_default=True, help="Number of won four-piece positions.")
@click.option("--drawn", default=1000, show_default=True, help="Number of drawn four-piece positions.")
@click.option("--seed", default=0, show_default=True)
def convert(source: str, sims: int, sample: int, drawn: int, seed: int) -> None:
    """Test whether the engine wins won positions within the tables' distance and holds drawn ones."""
    tables = Tables.open(4)
    two_kings = list(positions_of(Material(0, 2, 0, 1), tables))
    others = sample_of(tables, 20 * (sample + drawn), 4, seed)
    won = [(p, v) for p, v in others if v & 1 and v != DRAWN]
    held = [(p, v) for p, v in others if v == DRAWN]
    sets = {
        "two kings against one, won": [(p, v) for p, v in two_kings if v & 1 and v != DRAWN],
        "two kings against one, drawn": [(p, v) for p, v in two_kings if v == DRAWN],
        "four pieces, won": won[:sample],
        "four pieces, drawn": held[:drawn],
    }
    cores = available_cores()
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        for name, chosen in sets.items():
            begun = time.perf_counter()
            parts = [chosen[i::cores] for i in range(cores)]
            running = [pool.submit(play_out, source, 4, part, sims, seed + i) for i, part in enumerate(parts)]
            ended = [game for future in running for game in future.result()]
            wanted = "won" if name.endswith("won") else "drawn"
            right = [game for game in ended if game[3] == wanted]
            late = sum(plies > value for _, value, plies, _ in right) if wanted == "won" else 0
            print(
                f"{name}: {len(right):,} of {len(ended):,} ({len(right) / len(ended):.2%}), {late} of them "
                f"later than the tables say; {time.perf_counter() - begun:.0f} s",
                flush=True,
            )
            for fen, value, plies, result in [game for game in ended if game[3] != wanted][:5]:
                print(f"  {fen}: expected {wanted} in {value}, found {result} after {plies}", flush=True)


# --- match ---------------------------------------------------------------------------------------------


@main.command()
@click.argument("source")
@click.option("--pairs", default=200, show_default=True)
@click.option("--sims", default=SIMS, show_default=True)
@click.option("--pieces", default=(3, 4), multiple=True, show_default=True)
@click.option("--plies", default=4, show_default=True, help="Random plies of an opening.")
@click.option("--seed", default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def match(
    source: str, pairs: int, sims: int, pieces: tuple[int, ...], plies: int, seed: int, as_json: bool
) -> None:
    """Play a network with tables against itself without, at equal visits."""
    openings = random_openings(pairs, plies, seed)
    evaluator = load_evaluator(Path(source), "torch", threads=available_cores())
    for number in pieces:
        tables = Tables.open(number)
        result = play_match(
            by_visits(evaluator, sims, tables=tables),
            by_visits(evaluator, sims),
            openings,
            threads=available_cores(),
        )
        scored = result.pairs
        summary: dict[str, Any] = {"pieces": number, **result.summary()}
        if as_json:
            print(json.dumps({**summary, **scored.json}))
        else:
            print(
                f"tables of {number} against none, {sims} simulations: +{result.wins} ={result.draws} "
                f"-{result.losses}, {scored.score:.1%}, {elo_text(scored.elo, *scored.interval)} Elo",
                flush=True,
            )


if __name__ == "__main__":
    main()
