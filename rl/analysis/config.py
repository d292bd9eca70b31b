"""Settings of an analysis. Does not import torch or numpy, which would slow down help."""

from ckai.datasets.settings import setting, settings


@settings
class AnalysisConfig:
    """Settings of an analysis.

    Raises:
        ValueError: a value is out of range, or the thresholds of grades are out of order.
    """

    visits: int = setting(
        option="--visits", default=200, ge=2, le=1_000_000, help="Visits of the search of each position"
    )
    inaccuracy: float = setting(
        default=0.05, gt=0, lt=1, help="Minimum loss of expected score, 0 to 1, for an inaccuracy (?!)"
    )
    mistake: float = setting(
        default=0.1, gt=0, lt=1, help="Minimum loss of expected score, 0 to 1, for a mistake (?)"
    )
    blunder: float = setting(
        default=0.2, gt=0, lt=1, help="Minimum loss of expected score, 0 to 1, for a blunder (??)"
    )

    def __post_init__(self) -> None:
        if not self.inaccuracy <= self.mistake <= self.blunder:
            raise ValueError(
                "expected inaccuracy <= mistake <= blunder, found "
                f"{self.inaccuracy}, {self.mistake}, {self.blunder}"
            )
