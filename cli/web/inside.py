"""What goes on in a network and in a search: planes, policy, first-layer filters, how the visits grew."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ckai.cli.shared.networks import NO_NETWORK, network_file
from ckai.cli.web.searches import Job
from ckai.cli.web.state import points_of
from ckai.models.checkpoint import load_network
from ckai.models.inference.devices import one_torch_thread
from ckai.models.layers.network import Network
from ckai.rl import Engine, SearchResult
from ckai.rl.games.spec import GameSpec

FIRST_VISITS = 16
"""Visits at the first point of the growth; each point has twice as many as the one before."""
MAX_FILTERS = 32
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
        `encoding`, `squares` and `planes`; `moves` with their share before and after the search; `value`
        before and after, for the side to move and for Black; `growth`; `filters`. Without a network there are
        no planes and no filters.
    """
    position = game.position
    growth: list[dict[str, Any]] = []
    engine.new_game()
    number = min(FIRST_VISITS, visits)
    while True:
        result = engine.search(game, sims=number, lines=256, stop=job.stop)
        growth.append(_point(result))
        if job.interrupted or number >= visits or result.proven is not None:
            break
        number = min(2 * number, visits)
    squares = sorted(spec.drawn_layout().squares)
    total = max(1, sum(result.visits.values()))
    values = {line.move: round(float(line.value), DIGITS) for line in result.lines if line.value is not None}
    seen: dict[str, Any] = {"encoding": None, "planes": [], "filters": None}
    before = None
    if source not in NO_NETWORK:
        network = load_network(network_file(Path(source)), spec.name)
        seen, before = _seen(spec, position, network)
    after = float(result.value or 0.0)
    return {
        **seen,
        "squares": squares,
        "moves": [
            {
                "move": str(move),
                "path": list(spec.path(position, move)),
                "before": round(prior, DIGITS + 1),
                "after": round(result.visits[move] / total, DIGITS + 1),
                "value": values.get(move),
            }
            for move, prior in result.priors.items()
        ],
        "value": {
            "before": before,
            "after": round(after, DIGITS),
            "blackBefore": None if before is None else points_of(before, black=position.black),
            "blackAfter": points_of(after, black=position.black),
        },
        "growth": growth,
    }


def _point(result: SearchResult) -> dict[str, Any]:
    moves = {str(move): visits for move, visits in result.visits.items()}
    return {"visits": result.sims, "value": round(float(result.value or 0.0), DIGITS), "moves": moves}


def _seen(spec: GameSpec, position: Any, network: Network) -> tuple[dict[str, Any], float]:
    """Return the planes and filters of a network, and its value of a position for the side to move."""
    encoded = torch.from_numpy(spec.encoded(position)).unsqueeze(0)
    board, jumper = encoded[:, : spec.board_bytes], encoded[:, spec.board_bytes]
    clock = encoded[:, spec.board_bytes + 1].to(torch.int16)
    with torch.inference_mode(), one_torch_thread():
        planes = network.encode(board, jumper, clock, torch.float32)[0].flatten(1).numpy()
        value = float(network(board, jumper, clock)[1][0])
    order = np.argsort(spec.view(position))
    names = plane_names(network)
    shown = [
        {"name": name, "values": np.round(plane[order], DIGITS).tolist()}
        for name, plane in zip(names, planes, strict=True)
    ]
    seen = {"encoding": network.encode.VERSION, "planes": shown, "filters": filters_of(network, spec)}
    return seen, round(value, DIGITS)


def plane_names(network: Network) -> list[str]:
    """Return what each plane of a network shows; numbers where its encoding does not say of all."""
    named, planes = list(network.encode.NAMES), network.encode.PLANES
    return named if len(named) == planes else [f"plane {n + 1}" for n in range(planes)]


def filters_of(network: Network, spec: GameSpec) -> dict[str, Any] | None:
    """Return the strongest filters of a network's first layer; None: it has none that reads the planes.

    Returns:
        Of a convolution `rows`, `columns` and for each filter a list of weights by row for each plane; of a
        layer over the whole board the same by square, in the view of the first player.
    """
    layer = network.first_layer()
    if not isinstance(layer, nn.Conv2d | nn.Linear):
        return None
    weights = layer.weight.detach().float()
    strongest = weights.flatten(1).norm(dim=1).argsort(descending=True)[:MAX_FILTERS]
    shape: dict[str, Any]
    if weights.dim() == 4:
        chosen = weights[strongest].flatten(2)
        shape = {"kind": "kernels", "rows": weights.shape[2], "columns": weights.shape[3]}
    else:
        chosen = weights[strongest].reshape(len(strongest), -1, network.encode.board_size)
        shape = {"kind": "squares", "squares": sorted(spec.drawn_layout().squares)}
    items = np.round(chosen.numpy().astype(float), DIGITS).tolist()
    return shape | {
        "count": weights.shape[0],
        "planes": plane_names(network)[: chosen.shape[1]],
        "items": items,
    }
