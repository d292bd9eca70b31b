"""Settings of an analysis. Does not import torch or numpy, which would slow down help."""

from ckai.datasets.settings import SettingError, setting, settings


@settings
class AnalysisConfig:
    """Settings of an analysis.

    Raises:
        SettingError: a value is out of range, or the thresholds of grades or phases are out of order.
    """

    visits: int = setting(default=200, ge=2, le=1_000_000, help="Visits of the search of each position")
    check: int = setting(
        default=8,
        ge=1,
        le=100,
        help="Where a move seems to cost points: times the visits, for the position and its best moves",
    )
    inaccuracy: float = setting(
        default=0.05, gt=0, lt=1, help="Expected points that an inaccuracy (?!) costs, at least"
    )
    mistake: float = setting(
        default=0.1, gt=0, lt=1, help="Expected points that a mistake (?) costs, at least"
    )
    blunder: float = setting(
        default=0.2, gt=0, lt=1, help="Expected points that a blunder (??) costs, at least"
    )
    sharpness: float = setting(
        default=1.0,
        ge=0.1,
        le=10,
        help="Exponent on the odds (1 + v) / (1 - v) of a value, which makes them the odds of points; "
        "above 1 for a network that is too careful",
    )
    line: int = setting(default=8, ge=1, le=40, help="Most plies of a variation")
    opening: int = setting(
        default=20, ge=2, le=25, help="Pieces on the board from which on a position is of the opening"
    )
    endgame: int = setting(
        default=10, ge=1, le=24, help="Pieces on the board up to which a position is of the endgame"
    )

    def __post_init__(self) -> None:
        if not self.inaccuracy <= self.mistake <= self.blunder:
            raise SettingError(
                "expected inaccuracy <= ",
                "mistake",
                f" <= blunder, found {self.inaccuracy}, {self.mistake}, {self.blunder}",
            )
        if not self.endgame < self.opening:
            raise SettingError("expected ", "endgame", f" < opening, found {self.endgame}, {self.opening}")
