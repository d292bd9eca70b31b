"""The `-o` option of commands that play for hours and write a plot: an earlier result is not replaced."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.output import force_option


def plot_options(default: str, help_text: str) -> Callable[[Any], Any]:
    """Return a decorator that adds `-o` and `--force`, the arguments of `plot_file`."""

    def decorate(command: Any) -> Any:
        return click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False, path_type=Path),
            default=default,
            show_default=True,
            help=help_text,
        )(force_option(command))

    return decorate


def plot_file(output: Path, force: bool, beside: Sequence[str] = ()) -> Path:
    """Return the PNG file to write.

    Args:
        output: value of `-o`.
        force: value of `--force`.
        beside: suffixes of files that are written beside it, such as `.pdn`.

    Raises:
        click.BadParameter: the name does not end in `.png`.
        FileExistsError: one of the files exists.
        WriteError: its folder cannot be made.
    """
    from ckai.datasets.files import refuse_to_replace

    if output.suffix != ".png":
        raise click.BadParameter(f"expected a name that ends in .png, found {output}", param_hint="-o")
    for path in (output, *map(output.with_suffix, beside)):
        refuse_to_replace(path, force)
    return output
