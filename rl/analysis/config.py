"""Settings of an analysis. Does not import torch or numpy, which would slow down help."""

from ckai.datasets.settings import SettingError, setting, settings


@settings
class AnalysisConfig:
    """Settings of an analysis.

    Raises:
        SettingError: a value is out of range, or the thresholds of grades or phases are out of order.
    """

    visits: int = setting(
        option="--visits", default=200, ge=2, le=1_000_000, help="Visits of the search of each position"
    )
    check: int = setting(
        default=8,
        ge=1,
        le=100,
        help="Factor on --visits for searching a suspected mistake again, with its best alternatives",
    )
    inaccuracy: float = setting(
        default=0.05, gt=0, lt=1, help="Minimum loss of expected points for an inaccuracy (?!)"
    )
    mistake: float = setting(
        default=0.1, gt=0, lt=1, help="Minimum loss of expected points for a mistake (?)"
    )
    blunder: float = setting(
        default=0.2, gt=0, lt=1, help="Minimum loss of expected points for a blunder (??)"
    )
    sharpness: float = setting(
        default=1.0,
        ge=0.1,
        le=10,
        help="Exponent applied to the odds (1 + v) / (1 - v) of a value v; use more than 1 if the network is "
        "underconfident, less than 1 if it is overconfident",
    )
    line: int = setting(default=8, ge=1, le=40, help="Maximum plies of a variation")

    def __post_init__(self) -> None:
        if not self.inaccuracy <= self.mistake <= self.blunder:
            raise SettingError(
                "expected inaccuracy <= mistake <= blunder, found "
                f"{self.inaccuracy}, {self.mistake}, {self.blunder}"
            )
