"""Command options generated from a class of settings.

@click.command("selfplay", cls=SettingsCommand)
@settings_options(RunConfig)
@click.pass_context
def command(ctx): config = change_settings(RunConfig(), given_settings(ctx))
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from ckai.datasets.settings import Setting, SettingError, all_settings

_GIVEN = "ckai.settings"


class _Checked:
    """Mixin for click's number types that lets the setting check the value."""

    def __init__(self, setting: Setting, **bounds: Any) -> None:
        super().__init__(**bounds)
        self.setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # click prefixes the option, so the section is left out.
        setting = replace(self.setting, path=self.setting.path.rpartition(".")[2])
        try:
            return setting.check(setting.parse(value) if isinstance(value, str) else value)
        except SettingError as error:
            raise click.BadParameter(str(error), ctx, param) from None


class _Integer(_Checked, click.IntRange):
    """An integer; click shows its bounds in help."""


class _Number(_Checked, click.FloatRange):
    """A number; click shows its bounds in help."""


def _type_of(setting: Setting) -> Any:
    """Return click's type for a setting, None for a flag."""
    if setting.choices:
        return click.Choice(setting.choices)
    if bool in setting.types:
        return None
    if str in setting.types:
        return click.STRING
    low, high = (setting.bounds.get(name) for name in ("ge", "le"))
    above, below = (setting.bounds.get(name) for name in ("gt", "lt"))
    if not {"ge", "gt", "le", "lt"} & set(setting.bounds):
        return click.INT if int in setting.types else click.FLOAT
    bounds: dict[str, Any] = {
        "min": above if low is None else low,
        "max": below if high is None else high,
        "min_open": low is None and above is not None,
        "max_open": high is None and below is not None,
    }
    if tuple in setting.types:  # a number at a time, while the setting checks all of them
        return click.FloatRange(**bounds)
    return (_Number if float in setting.types else _Integer)(setting, **bounds)


class SettingOption(click.Option):
    """The option of a setting.

    Values from the command line, the environment or a preset are in `given_settings`.
    """

    def __init__(self, names: Sequence[str], setting: Setting, shown_default: str | None) -> None:
        """Create the option.

        Args:
            names: empty; passed by click.
            setting: the setting; must have an option.
            shown_default: text shown in help instead of the default, for a default that the command computes.
        """
        assert setting.option is not None
        assert not names
        shown, _, negative = setting.option.partition("/")
        flag, multiple = bool in setting.types, tuple in setting.types
        long = f"{shown}/{negative or '--no-' + shown.removeprefix('--')}" if flag else shown
        super().__init__(
            [shown.removeprefix("--").replace("-", "_"), long],
            type=_type_of(setting),
            is_flag=flag or None,
            multiple=multiple,
            default=None if multiple else setting.default,
            show_default=shown_default is None and setting.default != "",
            help=f"{setting.help}." + (f"  [default: {shown_default}]" if shown_default else ""),
            expose_value=False,
            callback=_remember,
        )
        self.setting = setting


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    assert isinstance(param, SettingOption)
    default = click.core.ParameterSource.DEFAULT
    if param.name is not None and ctx.get_parameter_source(param.name) is not default:
        ctx.meta.setdefault(_GIVEN, {})[param.setting.path] = value
    return value


def given_settings(ctx: click.Context) -> dict[str, Any]:
    """Return the settings given to a command, by path: `{"learn.lr": 0.001}`."""
    return dict(ctx.meta.get(_GIVEN, {}))


def settings_options(
    cls: Any, shown_defaults: Mapping[str, str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with an option for each setting that has one, in the order of the fields.

    Args:
        cls: the class of settings.
        shown_defaults: by path, text shown in help for defaults that the command computes.
    """
    shown = shown_defaults or {}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed(list(all_settings(cls))):
            if setting.option is not None:
                option = click.option(
                    cls=SettingOption, setting=setting, shown_default=shown.get(setting.path)
                )
                function = option(function)
        return function

    return decorate


class SettingsCommand(click.Command):
    """A command whose help groups the options by section of settings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                heading = param.setting.heading if isinstance(param, SettingOption) else ""
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading or "Options"):
                formatter.write_dl(records)
