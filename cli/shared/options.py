"""Options that several commands have, and options of classes of settings."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.datasets import choices
from ckai.datasets.choices import entry_points_of

if TYPE_CHECKING:
    from ckai.datasets.settings import Setting
    from ckai.datasets.tables import Tables
    from ckai.rl.games.spec import GameSpec

_GIVEN = "ckai.settings"


def given_settings(ctx: click.Context) -> dict[str, Any]:
    """Return the settings given to a command, by path: `{"learn.lr": 0.001}`."""
    return dict(ctx.meta.get(_GIVEN, {}))


def settings_options(*classes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with the options of settings, in the order of the fields, and `--setting`."""
    from ckai.datasets.settings import all_settings, parse_settings

    class_of = {setting.path: cls for cls in classes for setting in all_settings(cls)}

    def take(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> None:
        try:
            for pair in pairs:
                cls = class_of.get(pair.partition("=")[0], classes[0])
                ctx.meta.setdefault(_GIVEN, {}).update(parse_settings(cls, [pair]))
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option(
            "--setting",
            multiple=True,
            metavar="NAME=VALUE",
            expose_value=False,
            callback=take,
            help="Change any setting by its name in docs/settings.md; may be repeated.",
        )(function)
        for setting in reversed([each for cls in classes for each in all_settings(cls)]):
            if setting.option is not None:
                function = _option(setting)(function)
        return function

    return decorate


def _option(setting: "Setting") -> Callable[[Any], Any]:
    """Return the decorator that adds the option of a setting, whose value is in `given_settings`."""
    several = tuple in setting.types
    of_command = replace(setting, path=setting.path.rpartition(".")[2])  # as errors name it

    def take(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if ctx.get_parameter_source(str(param.name)) is click.core.ParameterSource.DEFAULT:
            return
        try:
            value = of_command.check(of_command.parse(value) if isinstance(value, str) else value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        ctx.meta.setdefault(_GIVEN, {})[setting.path] = value

    metavar = "N" if setting.types == (int,) else "X" if several or float in setting.types else "VALUE"
    return click.option(
        str(setting.option),
        type=click.Choice(setting.choices) if setting.choices else click.FLOAT if several else click.STRING,
        metavar=None if setting.choices else metavar,
        multiple=several,
        default=None if several else setting.default,
        show_default=setting.default != "",
        help=f"{setting.help}.",
        expose_value=False,
        callback=take,
    )


PATH: Any = click.Path(path_type=Path)
EVALUATORS = ("auto", "torch", "openvino", "cuda")
"""Choices of `--evaluator`; integer networks have integers with auto."""
GAMES = sorted(entry_points_of(choices.GAMES))
"""Choices of `--game`: the installed games."""
ROWS_HELP = "a Parquet file, or the folder of a self-play run for all its games; may be repeated"
TABLE_CHOICES = ("auto", "none", "2", "3", "4", "5", "6")
"""Choices of `--tables`."""

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object."
)

force_option: Callable[[Any], Any] = click.option("--force", is_flag=True, help="Replace an existing output.")
"""Pass the value to `ckai.datasets.files.refuse_to_replace`."""

evaluator_option: Callable[[Any], Any] = click.option(
    "--evaluator",
    default="auto",
    show_default=True,
    type=click.Choice(EVALUATORS),
    help="Backend of the network; auto: integers for --model swift, else the first of cuda, openvino and "
    "torch.",
)

set_option: Callable[[Any], Any] = click.option(
    "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of a new network; may be repeated."
)

tables_option: Callable[[Any], Any] = click.option(
    "--tables",
    type=click.Choice(TABLE_CHOICES),
    default="auto",
    show_default=True,
    help="Use N-piece tablebases, see `ckai tables build`; auto: the largest that exist, at least 3 pieces.",
)


def open_tables(which: str = "auto", spec: "GameSpec | None" = None) -> "Tables | None":
    """Open the tables that `--tables` selects for a game, by default checkers; None where it has none."""
    from ckai.datasets.tables import Tables

    if spec is not None and not spec.supports_tables and which not in ("auto", "none"):
        raise click.BadParameter(
            f"expected auto or none for {spec.name}, which has no tablebases, found {which}",
            param_hint="--tables",
        )
    if which == "none" or (spec is not None and not spec.supports_tables):
        return None
    return Tables.open() if which == "auto" else Tables.open(int(which))


def output_option(help_text: str, default: Path | None = None) -> Callable[[Any], Any]:
    """Return the decorator that adds `-o`, passed to the command as `output`."""
    shown = default is not None
    return click.option("-o", "--output", type=PATH, default=default, show_default=shown, help=help_text)


def data_option(purpose: str) -> Callable[[Any], Any]:
    """Return the decorator that adds `--data`, passed to the command as `paths`."""
    help_text = f"Rows to {purpose}: {ROWS_HELP}.  [default: the newest data set in data/]"
    return click.option("--data", "paths", multiple=True, type=PATH, help=help_text)
