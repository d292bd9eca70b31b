"""Settings of an analysis. Does not import torch or numpy, which would slow down help."""

from ckai.datasets.settings import setting, settings


@settings
class AnalysisConfig:
    """Settings of an analysis."""

    visits: int = setting(
        option="--visits", default=200, ge=2, le=1_000_000, help="Visits of the search of each position"
    )
