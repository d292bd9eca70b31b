"""The files of `--data`: rows in Parquet files, or the folder of a self-play run for those of its games."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.output import count_text

ROWS_HELP = "a Parquet file, or the folder of a self-play run for all its games; may be repeated"


def data_option(purpose: str, default: str) -> Callable[[Any], Any]:
    """Return the decorator that adds `--data`, passed to the command as `paths`."""
    help_text = f"Rows to {purpose}: {ROWS_HELP}.  [default: {default}]"
    return click.option("--data", "paths", multiple=True, type=click.Path(path_type=Path), help=help_text)


FEWEST_ROWS = 500
"""Fewest rows of a file that `pretrain` takes unasked: a smaller one is somebody's trial."""


def newest_rows(fewest: int = 0) -> Path:
    """Return the newest data set in data/, and say on standard error that it was taken.

    Raises:
        DatasetError: there is none, or it cannot be read, or has fewer rows than `fewest`.
    """
    from ckai.datasets.reader import RowFile, newest_dataset
    from ckai.datasets.schema import DatasetError

    path = newest_dataset(Path("data"))
    rows = RowFile(path).rows
    if rows < fewest:
        raise DatasetError(
            f"{path}: expected {fewest:,} rows or more in the newest data set, found {rows:,}; name the one "
            "to train on with --data"
        )
    click.echo(f"ckai: taking {path}, the newest data set in data/, {count_text(rows, 'row')}", err=True)
    return path


def row_files(paths: Sequence[Path]) -> list[list[Path]]:
    """Return the Parquet files that each path stands for: itself, or those of a run, oldest first.

    Raises:
        DatasetError: there is no such file, or a folder is no run, or a run has no finished generation.
    """
    from ckai.datasets.reader import check_dataset
    from ckai.datasets.schema import DatasetError
    from ckai.rl.run.run import Run

    found = []
    for path in paths:
        if not path.is_dir():
            check_dataset(path)
            found.append([path])
        elif not Run.exists(path):
            raise DatasetError(
                f"{path}: expected a Parquet file or the folder of a self-play run, found another folder"
            )
        elif files := Run.open(path).shards():
            found.append(files)
        else:
            raise DatasetError(
                f"{path}: expected a finished generation, found none; `ckai selfplay --run {path}` continues"
            )
    return found


def row_files_text(paths: Sequence[Path]) -> str:
    """Return the paths as text, with the number of the generations of a run."""
    from ckai.rl.run.run import Run

    texts = (
        f"{path} ({count_text(Run.open(path).generations, 'generation')})" if path.is_dir() else str(path)
        for path in paths
    )
    return ", ".join(texts)
