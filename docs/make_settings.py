"""Write docs/settings.md, the tables of all settings, from their classes: `python docs/make_settings.py`."""

from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.datasets.settings import Setting, all_settings
from ckai.models.training.config import PretrainConfig
from ckai.rl.distill.config import DistillConfig
from ckai.rl.run.config import RunConfig, WorkSettings

PAGE = Path(__file__).parent / "settings.md"
INTRODUCTION = """\
# Settings

Written by `python docs/make_settings.py` from the classes of settings; do not edit it.

A setting is named by its section and name, such as `learn.lr`. Most have an option of the command;
`ckai selfplay --setting NAME=VALUE` changes any. A run stores them all in its `config.json`.
"""
COMMANDS: dict[str, tuple[Any, str, str]] = {
    "selfplay": (
        RunConfig,
        "Run",
        "Defaults are those of checkers; `RunConfig.defaults_for` has those of other games.",
    ),
    "selfplay, on other machines": (
        WorkSettings,
        "Workers",
        "Not stored in the run; give them with each command. See [many machines](selfplay.md#many-machines).",
    ),
    "pretrain": (
        PretrainConfig,
        "Data and network",
        "Stored in the finished checkpoint and the run folder. A preset changes some defaults.",
    ),
    "distill": (DistillConfig, "Walks", "Stored next to the shards until the distillation is finished."),
}


def page() -> str:
    """The whole page, Markdown."""
    parts = [INTRODUCTION]
    for command, (cls, first, remark) in COMMANDS.items():
        parts.append(f"\n## ckai {command}\n\n{remark}\n")
        sections: dict[str, list[Setting]] = {}
        for setting in all_settings(cls):
            sections.setdefault(setting.heading or first, []).append(setting)
        for heading, settings in sections.items():
            parts.append(f"\n### {heading}\n\n| setting | option | default | values | what it does |\n")
            parts.append("|---|---|---|---|---|\n")
            parts += [_row(setting) for setting in settings]
    return "".join(parts)


def _row(setting: Setting) -> str:
    name = f"`{setting.path}`"
    option = f"`{setting.option}`" if setting.option else ""
    cells = (name, option, _default(setting.default), _values(setting), f"{setting.help}.")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _default(value: Any) -> str:
    if value is None or value in ((), {}):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _values(setting: Setting) -> str:
    if setting.choices:
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    names = {
        bool: "true or false",
        int: "integer",
        float: "number",
        str: "text",
        tuple: "numbers",
        dict: "table",
    }
    kind = " or ".join(names[kind] for kind in setting.types if kind in names)
    return f"{kind} {setting.range}".strip()


if __name__ == "__main__":
    write_whole(PAGE, page())
