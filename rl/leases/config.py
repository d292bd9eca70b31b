"""Settings of the processes that play for a run on other machines; no part of the run.

Imports neither NumPy nor Numba, so that help shows them quickly.
"""

from ckai.datasets.settings import setting, settings


@settings
class WorkersConfig:
    """Settings of workers.

    Raises:
        ValueError: a value out of range, named.
    """

    lease_timeout: float = setting(
        default=60.0,
        gt=0,
        help="Seconds without a sign of life after which the games of a worker are played again",
    )


@settings
class WorkSettings:
    """The section of workers; it gives their settings a name of their own among those of a run."""

    workers: WorkersConfig = setting(default_factory=WorkersConfig, help="Workers")
