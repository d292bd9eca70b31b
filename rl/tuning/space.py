"""What a study tries: values of settings, as texts such as `learn.lr=1e-4..1e-2:log`, and draws of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.datasets.settings import Setting, change_settings, find_setting
from ckai.models.training.runs import flat_settings
from ckai.rl.loop.config import RunConfig

FORMS = "such as learn.lr=1e-4..1e-2:log, start.opening_share=0..1 or learn.window=2,4,8"
"""Examples of what can be tried, for messages."""
LOG = ":log"
"""Behind a range: drawn log-uniformly."""
STEPS = 1000
"""Steps in a range of real numbers: drawn values are rounded to them, so that they have few digits."""
DRAWS = 100
"""Draws that may repeat an earlier trial, per trial, before drawing is given up."""


@dataclass(frozen=True)
class Choices:
    """Some values, equally likely."""

    values: tuple[Any, ...]
    """At least two, all different."""

    @property
    def size(self) -> float:
        """Number of different values."""
        return len(self.values)

    def draw(self, rng: np.random.Generator) -> Any:
        """Return one of the values."""
        return self.values[rng.integers(len(self.values))]

    def __contains__(self, value: Any) -> bool:
        return value in self.values


@dataclass(frozen=True)
class Range:
    """All numbers from one to another, both included."""

    low: float
    high: float
    """Above `low`."""
    log: bool
    """Whether the logarithm is uniformly distributed; `low` is then above 0."""
    step: int
    """Whole numbers that are multiples of this; 0: real numbers."""

    @property
    def size(self) -> float:
        """Number of different values; infinite for real numbers."""
        return (self.high - self.low) // self.step + 1 if self.step else math.inf

    def draw(self, rng: np.random.Generator) -> Any:
        """Return a number in the range, an int if `step` is not 0."""
        # A whole number k stands for [k - 1/2, k + 1/2], so that the ends are as likely as their neighbours.
        low, high = self.low, self.high
        if self.step:
            low, high = low / self.step - 0.5, high / self.step + 0.5
        x = math.exp(rng.uniform(math.log(low), math.log(high))) if self.log else rng.uniform(low, high)
        if self.step:
            return int(min(self.high, max(self.low, self.step * math.floor(x + 0.5))))
        width = x * math.log(high / low) if self.log else high - low
        return min(high, max(low, round(x, math.ceil(-math.log10(width / STEPS)))))

    def __contains__(self, value: Any) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


@dataclass(frozen=True)
class Tried:
    """A setting and the values to try."""

    name: str
    """Such as `learn.lr`."""
    values: Choices | Range

    def __str__(self) -> str:
        values = self.values
        if isinstance(values, Choices):
            return f"{self.name}={','.join(map(value_text, values.values))}"
        return f"{self.name}={value_text(values.low)}..{value_text(values.high)}{LOG if values.log else ''}"


def value_text(value: Any) -> str:
    """Return a value as `--setting NAME=VALUE` takes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_tried(text: str) -> Tried:
    """Read a setting and the values to try.

    Args:
        text: `NAME=LOW..HIGH`, with `:log` behind it for a range of orders of magnitude, or `NAME=A,B,...`.

    Raises:
        ValueError: a malformed text, an unknown setting, or a value that it cannot have, with its bounds.
    """
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise ValueError(f"expected a setting with values to try, {FORMS}, found {text!r}")
    setting = find_setting(RunConfig, name, text)
    if setting.path == "game":
        raise ValueError("expected a setting to try, found game: a study is of one game")
    low, dots, high = values.partition("..")
    tried = _range(setting, low, high, text) if dots else _choices(setting, values, text)
    return Tried(setting.path, tried)


def _choices(setting: Setting, values: str, text: str) -> Choices:
    found = tuple(setting.check(setting.parse(value.strip())) for value in values.split(","))
    if len(found) < 2 or len(set(found)) < len(found):
        raise ValueError(f"expected two values or more, all different, or a range, {FORMS}, found {text!r}")
    return Choices(found)


def _range(setting: Setting, low_text: str, high_text: str, text: str) -> Range:
    if bool in setting.types or not {int, float} & set(setting.types):
        raise ValueError(f"expected values of {setting.path} with commas, as it is no number, found {text!r}")
    log = high_text.endswith(LOG)
    low, high = (setting.check(setting.parse(end)) for end in (low_text, high_text.removesuffix(LOG)))
    if low is None or high is None or not low < high:
        raise ValueError(f"expected a range of {setting.path} from low to high, found {text!r}")
    if log and low <= 0:
        raise ValueError(f"expected a range of {setting.path} above 0 with {LOG}, found {text!r}")
    step = 0 if float in setting.types else int(setting.bounds.get("multiple_of", 1))
    return Range(low, high, log, step)


def parse_space(texts: Sequence[str]) -> list[Tried]:
    """Read all that is to be tried, see `parse_tried`.

    Raises:
        ValueError: there is nothing, or a setting twice; or as `parse_tried`.
    """
    space = [parse_tried(text) for text in texts]
    names = [tried.name for tried in space]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"expected every setting to try once, found {twice[0]} twice")
    if not space:
        raise ValueError(f"expected settings to try, {FORMS}, found none; give --try NAME=VALUES")
    return space


def draw_trials(space: Sequence[Tried], base: RunConfig, count: int, seed: int) -> list[dict[str, Any]]:
    """Draw the settings of all trials, no two alike.

    Args:
        space: the settings to try.
        base: settings of all else; the first trial has its values.
        count: number of trials.
        seed: of the draws; more trials begin with the same ones.

    Returns:
        For each trial the values of the settings to try, by name.

    Raises:
        ValueError: fewer than `count` trials can differ, or a draw combines values that exclude each other.
    """
    flat = flat_settings(base.to_dict())
    first = {tried.name: flat[tried.name] for tried in space}
    covered = all(first[tried.name] in tried.values for tried in space)
    size = math.prod(tried.values.size for tried in space) + (not covered)
    if count > size:
        raise ValueError(
            f"expected at most {size:.0f} trials, as many as can differ, found {count}; give --trials "
            f"{size:.0f} or more values to try"
        )
    rng = np.random.default_rng(seed)
    trials, alike = [first], 0
    while len(trials) < count:
        drawn = {tried.name: tried.values.draw(rng) for tried in space}
        if drawn in trials:
            alike += 1
            if alike > DRAWS * count:  # real numbers are rounded: a narrow range has few
                raise ValueError(
                    f"expected {count} trials that differ, found {len(trials)} in {DRAWS * count} draws; "
                    f"give --trials {len(trials)} or wider ranges"
                )
            continue
        try:
            change_settings(base, drawn)
        except ValueError as error:
            raise ValueError(f"trial {len(trials)} ({trial_text(drawn)}): {error}") from error
        trials.append(drawn)
    return trials


def trial_text(values: Mapping[str, Any]) -> str:
    """Return the settings of a trial in one line, as `--setting` takes them."""
    return " ".join(f"{name}={value_text(value)}" for name, value in values.items())
