"""The `-o` option of commands that play for hours and write a plot: an earlier result is never replaced."""

from collections.abc import Callable, Sequence
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
    """Return the PNG file to write, and create its folder.

    Args:
        output: value of `-o`.
        fresh: value of `--fresh`.
        default: see `plot_options`.
        beside: suffixes of files that are written beside it, such as `.pdn`.

    Raises:
        click.BadParameter: the name does not end in `.png`, or one of the files exists.
        OSError: the folder cannot be created.
    """
    if output is None:
        path, number = Path(default), 2
        while _existing(path, beside):
            path, number = Path(f"{Path(default).stem}-{number}.png"), number + 1
        return path
    if output.suffix.lower() != ".png":
        raise click.BadParameter(f"expected a name that ends in .png, found {output}", param_hint="-o")
    existing = _existing(output, beside)
    if existing and not fresh:
        raise click.BadParameter(
            f"{existing[0]} exists; choose another name, or --fresh to replace it", param_hint="-o"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    return output


def _existing(path: Path, beside: Sequence[str]) -> list[Path]:
    return [each for each in (path, *map(path.with_suffix, beside)) if each.exists()]
