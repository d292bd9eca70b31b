"""What engines say about a position: a move, the best lines, an explanation, a look inside a network."""

from typing import Any

import numpy as np
import torch

from ckai.cli.playing.engines import choose_move
from ckai.cli.playing.explain import Explainer
from ckai.cli.shared.found import NO_NETWORK
from ckai.cli.web.rules import Asked, describe, played
from ckai.cli.web.server import Search, Server
from ckai.models.checkpoint import load_network
from ckai.models.inference.threads import one_torch_thread
from ckai.rl.analysis.report import expected_score
from ckai.rl.engine.base import ResignsError
from ckai.rl.engine.limit import Limit
from ckai.rl.games.spec import GameSpec

GROWTH = tuple(16 << n for n in range(20))
"""Visits after which a look inside notes how they are shared out."""


def answer(server: Server, asked: Asked, search: Search) -> dict[str, Any]:
    """Search, and return the last answer, see `describe`; also `text`, `resigns`, or what `_inside` adds."""
    spec, game = played(asked)
    if asked.kind != "explain" and (over := game.outcome()) is not None:
        raise ValueError(f"expected a position with a legal move, but the game is over: {over}")
    engine = server.engine(asked.engine, spec, search.tell)
    if asked.kind == "explain":
        if not asked.moves:
            raise ValueError("expected a move to explain, found the first position")
        move = game.pop()
        explainer = Explainer(spec, lambda game, lines: engine.play(game, lines=lines, stop=search.stop))
        return {"text": explainer.explain(game, move)}
    if asked.kind == "inside":
        return _inside(spec, game, engine, asked, search)
    if asked.kind == "play":
        search.tell({"begun": True})  # its clock does not run while it is loaded or waits for others
        left = asked.clock
        clock = None if left is None else Limit(clock=max(0.01, left), increment=asked.increment)
        try:
            result = choose_move(engine, game, clock, chance=server.chance, stop=search.stop)
        except ResignsError:
            return {"resigns": True}
        return describe(spec, game.position, result)

    def tell(result: Any) -> None:
        search.tell(describe(spec, game.position, result, asked.lines))

    limit = Limit(seconds=asked.seconds, visits=asked.visits)
    result = engine.play(game, limit, lines=asked.lines, stop=search.stop, on_result=tell)
    return describe(spec, game.position, result, asked.lines)


def _inside(spec: GameSpec, game: Any, engine: Any, asked: Asked, search: Search) -> dict[str, Any]:
    """Return how the visits of a search grew, and what the network saw at first sight.

    Returns:
        `growth`: number and moves of the visits; `priors`, the probability of every move at first sight;
        `encoding` and `planes`, by name the values of the squares in order; `before`, the expected score of
        the first player at first sight. The last three are None and none without a network.
    """
    engine.new_game()
    growth, position, visits = [], game.position, asked.visits or 400
    for number in [*(each for each in GROWTH if each < visits), visits]:
        result = engine.search(game, sims=number, stop=search.stop)
        growth.append({"visits": result.sims, "moves": {str(move): n for move, n in result.visits.items()}})
        if search.stop.is_set() or result.proven is not None:
            break
    priors = {str(move): prior for move, prior in result.priors.items()}
    found = describe(spec, position, result) | {"growth": growth, "priors": priors}
    source = asked.engine.partition("@")[0]
    if source in NO_NETWORK:
        return found | {"encoding": None, "planes": {}, "before": None}
    network = load_network(source, spec.name)
    encoded = torch.from_numpy(spec.encoded(position)).unsqueeze(0)
    board, jumper = encoded[:, : spec.board_bytes], encoded[:, spec.board_bytes]
    clock = encoded[:, spec.board_bytes + 1].to(torch.int16)
    with torch.inference_mode(), one_torch_thread():
        planes = network.encode(board, jumper, clock, torch.float32)[0].flatten(1).numpy()
        before = expected_score(float(network(board, jumper, clock)[1][0]), black=position.black)
    names = network.encode.NAMES or [f"plane {n + 1}" for n in range(len(planes))]
    values = np.round(planes[:, np.argsort(spec.view(position))], 3).tolist()
    shown = dict(zip(names, values, strict=True))
    return found | {"encoding": network.encode.VERSION, "planes": shown, "before": before}
