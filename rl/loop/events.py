"""What a run says of itself while it works."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Event:
    """What a run is doing, for whoever watches."""

    generation: int
    stage: str
    """`selfplay`, `learn`, `gate` or `done`."""
    done: int
    total: int
    info: dict[str, Any] = field(default_factory=dict)


ProgressCallback = Callable[[Event], None]
