"""The `-o` option of commands that play for hours and write a plot: an earlier result is never replaced."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click


def plot_options(default: str, help_text: str) -> Callable[[Any], Any]:
    """Return a decorator that adds `-o` and `--fresh`, the arguments of `plot_file`.

    Args:
        default: file name without `-o`, such as `ladder.png`; if it exists, `ladder-2.png` and so on.
        help_text: help for `-o`.
    """
    stem = Path(default).stem

    def decorate(command: Any) -> Any:
        command = click.option("--fresh", is_flag=True, help="Replace the file of -o if it exists.")(command)
        return click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False, path_type=Path),
            help=f"{help_text}  [default: {default}, or {stem}-2.png and so on if it exists]",
        )(command)

    return decorate


def plot_file(output: Path | None, fresh: bool, default: str, beside: Sequence[str] = ()) -> Path:
    """Return the PNG file to write; no other process takes its name before the command ends.

    Args:
        output: value of `-o`.
        fresh: value of `--fresh`.
        default: see `plot_options`.
        beside: suffixes of files that are written beside it, such as `.pdn`.

    Raises:
        click.BadParameter: the name does not end in `.png`, or one of the files exists.
        LockedError: another process is going to write the file of `-o`.
        WriteError: it cannot be created.
    """
    from ckai.datasets.files import LockedError, claimed

    context = click.get_current_context()
    if output is not None:
        if output.suffix.lower() != ".png":
            raise click.BadParameter(f"expected a name that ends in .png, found {output}", param_hint="-o")
        existing = _existing(output, beside)
        if existing and not fresh:
            raise click.BadParameter(
                f"{existing[0]} exists; choose another name, or --fresh to replace it", param_hint="-o"
            )
        context.with_resource(claimed(output))
        return output
    path, number = Path(default), 2
    while True:
        if not _existing(path, beside):
            with suppress(LockedError):
                context.with_resource(claimed(path))
                return path
        path, number = Path(f"{Path(default).stem}-{number}.png"), number + 1


def _existing(path: Path, beside: Sequence[str]) -> list[Path]:
    """Return the files that exist; an empty one is a name that a killed process had claimed."""
    files = (path, *map(path.with_suffix, beside))
    return [each for each in files if each.exists() and (each.stat().st_size or not each.is_file())]
