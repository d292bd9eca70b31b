"""What a run tells of itself: progress, measurements, and why it cannot continue."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class RunError(RuntimeError):
    """A run cannot start or continue; one line that says what was expected and found."""


@dataclass
class RunEvent:
    """Progress of one stage of a generation.

    Attributes:
        generation: counted from 1.
        stage: `selfplay`, `learn`, `gate` or `done`.
        done: finished units of the stage's work: games, training batches, or 1 when the generation is done.
        total: units in all.
        info: measurements so far, by name; a `warning`, or the `evaluator` that was chosen.
    """

    generation: int
    stage: str
    done: int
    total: int
    info: dict[str, Any] = field(default_factory=dict)


EventCallback = Callable[[RunEvent], None]
"""Receives every event of a run; may be called from several threads at once."""
