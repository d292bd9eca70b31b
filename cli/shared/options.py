"""Types of options that several commands share."""

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range of finite numbers; `click.FloatRange` lets NaN pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """See `click.ParamType.convert`."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, found {value}", param, ctx)
        return number
