"""Serving one conversation by Hub."""

from collections.abc import Callable
from typing import BinaryIO

from ckai.rl.hub.parameters import Parameters
from ckai.rl.hub.session import HubSession
from ckai.rl.players.serving import serve_lines
from ckai.rl.thinkers.thinker import Thinker


def serve(
    source: BinaryIO, output: int, parameters: Parameters, load: Callable[[Parameters], Thinker], version: str
) -> None:
    """Answer lines until `quit` or the end of input; a search in progress is stopped then.

    Args:
        source, output: see `serve_lines`.
        parameters, load, version: see `HubSession`.
    """
    serve_lines(source, output, lambda write: HubSession(parameters, load, write, version))
