"""Types of numeric options."""

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A number in a range; refuses infinity, and NaN, which passes the bounds of `click.FloatRange`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """See click."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, found {value}", param, ctx)
        return number
