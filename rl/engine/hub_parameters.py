"""The parameters of the program, which can be set before `init`."""

from collections.abc import Iterator
from dataclasses import dataclass

from ckai.datasets.machine import MAX_THREADS
from ckai.rl.engine.hub_text import quoted, write_line

VARIANT = "english"
"""The only variant."""


@dataclass
class Parameters:
    """What `init` loads."""

    engine: str
    """Player spec, see `ckai.rl.engine.forms`."""
    tables: str
    """Tablebases: one of `table_choices`."""
    evaluator: str
    """Backend of the network: one of `evaluator_choices`."""
    table_choices: tuple[str, ...]
    evaluator_choices: tuple[str, ...]
    threads: int = 0
    """Threads of an alpha-beta search, 0 for one per core."""
    variant: str = VARIANT

    @property
    def choices(self) -> dict[str, tuple[str, ...] | range | None]:
        """The values that each parameter may have: some words, whole numbers, or None for any text."""
        return {
            "variant": (VARIANT,),
            "engine": None,
            "tables": self.table_choices,
            "evaluator": self.evaluator_choices,
            "threads": range(MAX_THREADS + 1),
        }

    def lines(self) -> Iterator[str]:
        """Format the declarations of the protocol."""
        for name, choices in self.choices.items():
            value = getattr(self, name)
            if choices is None:
                yield write_line("param", name=name, value=value, type="string")
            elif isinstance(choices, range):
                first, last = str(choices[0]), str(choices[-1])
                yield write_line("param", name=name, value=str(value), type="int", min=first, max=last)
            else:
                yield write_line("param", name=name, value=value, type="enum", values=" ".join(choices))

    def set(self, name: str, value: str) -> None:
        """Set a parameter.

        Raises:
            ValueError: there is none of that name, or it cannot have this value.
        """
        if name not in self.choices:
            raise ValueError(
                f"expected one of the parameters {', '.join(self.choices)}, found {quoted(name)}"
            )
        choices = self.choices[name]
        if isinstance(choices, range):
            if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) in choices):
                between = f"{choices[0]} to {choices[-1]}"
                raise ValueError(f"expected {name} from {between}, found {quoted(value)}")
            setattr(self, name, int(value))
            return
        if choices is not None and value not in choices:
            raise ValueError(f"expected {name} to be one of {', '.join(choices)}, found {quoted(value)}")
        if not value:
            raise ValueError(f"expected a value for {name}, found none")
        setattr(self, name, value)
