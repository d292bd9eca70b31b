"""Command options of a class of settings: one for each setting that names its option, and `--setting`.

@click.command("selfplay")
@settings_options(RunConfig)
@click.pass_context
def command(ctx): config = change_settings(RunConfig(), given_settings(ctx))
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from ckai.datasets.settings import Setting, all_settings, parse_settings

_GIVEN = "ckai.settings"


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """A value that its setting parses and checks."""

    def __init__(self, setting: Setting) -> None:
        # click prefixes the option in errors, so the section is left out.
        self.setting = replace(setting, path=setting.path.rpartition(".")[2])
        self.name = "text" if str in setting.types else "n" if setting.types == (int,) else "x"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See click."""
        try:
            return self.setting.check(self.setting.parse(value) if isinstance(value, str) else value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _type_of(setting: Setting) -> Any:
    """Return click's type for a setting, None for a flag."""
    if setting.choices:
        return click.Choice(setting.choices)
    if bool in setting.types:
        return None
    # A number at a time, while the setting checks all of them.
    return click.FLOAT if tuple in setting.types else _Value(setting)


class SettingOption(click.Option):
    """The option of a setting; its value is in `given_settings`."""

    def __init__(self, names: Sequence[str], setting: Setting) -> None:
        """Create the option of a setting that has one; click passes no names."""
        name, flag, multiple = str(setting.option), bool in setting.types, tuple in setting.types
        super().__init__(
            [name.removeprefix("--").replace("-", "_"), name],
            type=_type_of(setting),
            is_flag=flag or None,
            multiple=multiple,
            default=None if multiple else setting.default,
            show_default=setting.default != "",
            help=f"{setting.help}.",
            expose_value=False,
            callback=_remember,
        )
        self.setting = setting


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    assert isinstance(param, SettingOption)
    default = click.core.ParameterSource.DEFAULT
    if param.name is not None and ctx.get_parameter_source(param.name) is not default:
        ctx.meta.setdefault(_GIVEN, {})[param.setting.path] = value


def given_settings(ctx: click.Context) -> dict[str, Any]:
    """Return the settings given to a command, by path: `{"learn.lr": 0.001}`."""
    return dict(ctx.meta.get(_GIVEN, {}))


def settings_options(*classes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with the options of settings, in the order of the fields, and `--setting`.

    Args:
        classes: the classes of settings.
    """
    of = {setting: cls for cls in classes for setting in all_settings(cls)}
    cls_of = {setting.path: cls for setting, cls in of.items()}

    def remember(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> None:
        try:
            for pair in pairs:
                cls = cls_of.get(pair.partition("=")[0], classes[0])
                ctx.meta.setdefault(_GIVEN, {}).update(parse_settings(cls, [pair]))
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from None

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option(
            "--setting",
            multiple=True,
            metavar="NAME=VALUE",
            expose_value=False,
            callback=remember,
            help="Change any setting by its name in docs/settings.md; may be repeated.",
        )(function)
        for setting in reversed(of):
            if setting.option is not None:
                function = click.option(cls=SettingOption, setting=setting)(function)
        return function

    return decorate
