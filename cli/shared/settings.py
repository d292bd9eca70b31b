"""Command options of classes of settings: one for each setting that names its option, and `--setting`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ckai.datasets.settings import Setting, all_settings, parse_settings

_GIVEN = "ckai.settings"


def given_settings(ctx: click.Context) -> dict[str, Any]:
    """Return the settings given to a command, by path: `{"learn.lr": 0.001}`."""
    return dict(ctx.meta.get(_GIVEN, {}))


def settings_options(*classes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with the options of settings, in the order of the fields, and `--setting`."""
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


def _option(setting: Setting) -> Callable[[Any], Any]:
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
