"""The files of `--data`: rows in Parquet files, or the folder of a self-play run for those of its games."""

from pathlib import Path

import click

from ckai.cli.shared.output import count_text


def newest_rows() -> Path:
    """Return the newest data set in data/, and say on standard error that it was taken."""
    from ckai.datasets.reader import RowFile, newest_dataset

    path = newest_dataset(Path("data"))
    rows = count_text(RowFile(path).rows, "row")
    click.echo(f"ckai: taking {path}, the newest data set in data/, {rows}", err=True)
    return path


def row_files(path: Path) -> list[Path]:
    """Return the Parquet files that a path stands for: itself, or the shards of a run, oldest first."""
    from ckai.datasets.reader import check_dataset
    from ckai.datasets.schema import DatasetError
    from ckai.rl.run.run import Run

    if not path.is_dir():
        check_dataset(path)
        return [path]
    if files := Run.open(path).shards():
        return files
    raise DatasetError(
        f"{path}: expected a finished generation, found none; `ckai selfplay --run {path}` continues"
    )
