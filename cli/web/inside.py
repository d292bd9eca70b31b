"""Inside a network and a search: planes, policy, how the visits grew."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from ckai.cli.shared.networks import NO_NETWORK, network_file
from ckai.cli.web.searches import Job
from ckai.models.checkpoint import load_network
from ckai.models.inference.devices import one_torch_thread
from ckai.models.layers.network import Network
from ckai.rl import Engine
from ckai.rl.engine.score import expected_score
from ckai.rl.games.spec import GameSpec

FIRST_VISITS = 16
"""Visits at the first point of the growth; each point has twice as many as the one before."""
DIGITS = 3


def look_inside(
    spec: GameSpec, game: Any, source: str, engine: Engine, visits: int, job: Job
) -> dict[str, Any]:
    """Search a position step by step, and return what the network sees and how the search grows.

    Args:
        spec: the game.
        game: the game; its position has a legal move.
        source: name of the network.
        engine: searches with it.
        visits: of the search.
        job: ends the search early when it is interrupted.

    Returns:
        `encoding`, `squares` and `planes`, none without a network; `moves` with their share before and after
        the search; the expected score of the first player `before` and `after`; `growth`.
    """
    position, growth = game.position, []
    engine.new_game()
    number = min(FIRST_VISITS, visits)
    while True:
        result = engine.search(game, sims=number, lines=256, stop=job.stop)
        shares = {str(move): each for move, each in result.visits.items()}
        growth.append({"visits": result.sims, "moves": shares})
        if job.stop.is_set() or number >= visits or result.proven is not None:
            break
        number = min(2 * number, visits)
    total = max(1, sum(result.visits.values()))
    seen: dict[str, Any] = {"encoding": None, "planes": [], "before": None}
    if source not in NO_NETWORK:
        seen = _seen(spec, position, load_network(network_file(Path(source)), spec.name))
    return seen | {
        "squares": sorted(spec.drawn_layout().squares),
        "after": expected_score(result.value or 0.0, black=position.black),
        "moves": [
            {
                "move": str(move),
                "path": list(spec.path(position, move)),
                "before": round(prior, DIGITS + 1),
                "after": round(result.visits[move] / total, DIGITS + 1),
            }
            for move, prior in result.priors.items()
        ],
        "growth": growth,
    }


def _seen(spec: GameSpec, position: Any, network: Network) -> dict[str, Any]:
    """Return the planes of a network, and the score that it expects at first sight."""
    encoded = torch.from_numpy(spec.encoded(position)).unsqueeze(0)
    board, jumper = encoded[:, : spec.board_bytes], encoded[:, spec.board_bytes]
    clock = encoded[:, spec.board_bytes + 1].to(torch.int16)
    with torch.inference_mode(), one_torch_thread():
        planes = network.encode(board, jumper, clock, torch.float32)[0].flatten(1).numpy()
        value = float(network(board, jumper, clock)[1][0])
    order, named = np.argsort(spec.view(position)), list(network.encode.NAMES)
    names = named if len(named) == len(planes) else [f"plane {n + 1}" for n in range(len(planes))]
    shown = [
        {"name": name, "values": np.round(plane[order], DIGITS).tolist()}
        for name, plane in zip(names, planes, strict=True)
    ]
    before = expected_score(value, black=position.black)
    return {"encoding": network.encode.VERSION, "planes": shown, "before": before}
