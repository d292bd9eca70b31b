"""The two sides of a table and who plays them."""

from dataclasses import dataclass

from ckai.cli.playing.start import HUMAN


@dataclass(frozen=True)
class Seat:
    """Who plays a side."""

    spec: str
    """`HUMAN`, or the spec of a player, see `ckai.rl.players.forms`."""
    name: str
    """For messages and PDN headers."""

    @property
    def human(self) -> bool:
        """Whether a person plays."""
        return self.spec == HUMAN


PERSON = Seat(HUMAN, HUMAN)
