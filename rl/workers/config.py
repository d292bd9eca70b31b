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

    count: int = setting(
        default=0,
        ge=0,
        help="Number of workers on Ray; 0: as many as fit on the nodes, including nodes that join later",
    )
    cpus_per_worker: int = setting(default=1, ge=1, help="CPU cores and threads of a worker on Ray")
    gpus_per_worker: float = setting(default=0.0, ge=0, help="GPUs of a worker on Ray, or a share of one")


@settings
class WorkSettings:
    """The section of workers; it gives their settings a name of their own among those of a run."""

    workers: WorkersConfig = setting(default_factory=WorkersConfig, help="Workers")
