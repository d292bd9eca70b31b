"""`ckai`: the commands in the order of the pipeline, imported only when one is run.

Nothing here may import torch, numba, numpy, pyarrow or rich: `ckai --help` answers at once.
"""

import difflib
import importlib
import os
import sys
from typing import Any

import click

GROUPS = {
    "The pipeline": {
        "parse": "Read games from PDN files into rows.",
        "stats": "Show what is in a data set.",
        "pretrain": "Train a network on the moves of games.",
        "evaluate": "Measure a network on held-out games.",
        "runs": "Compare trainings side by side.",
        "export": "Write a network for other programs: ONNX, OpenVINO, TorchScript.",
        "selfplay": "Go on learning from games against itself.",
        "play": "Play against a network in the terminal.",
    },
    "Strength": {
        "match": "Two players against each other, with the Elo difference.",
        "tournament": "Everyone against everyone: ratings and a cross table.",
        "ladder": "How many playouts vanilla MCTS needs to play as well.",
    },
    "Tools": {
        "perft": "Count the moves from a position, to check the rules.",
        "tables": "Compute endgames exactly, and ask them.",
        "bench": "Measure how fast everything is on this machine.",
    },
}
"""Help on every command, by heading; command `name` is the object `command` of `ckai.cli.<name>`."""

COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}


class _Lazy(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"ckai.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            hint = f"Did you mean '{close[0]}'?" if close else f"Commands: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command '{name}'. {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="ckai", prog_name="ckai")
def cli(debug: bool) -> None:
    """Teach a network to play checkers (8x8 English draughts), and play against it.

    \b
    ckai parse games.pdn                      PDN -> rows
    ckai pretrain                             rows -> pretrained.ckpt
    ckai selfplay --init pretrained.ckpt      goes on from its own games
    ckai play                                 a game in the terminal
    """


def main() -> None:
    """The entry point: errors are one line and exit status 1, wrong usage 2, Ctrl-C 130."""
    words, debug = _take_debug(sys.argv[1:])
    try:
        status = cli.main(words, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("ckai: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output is gone; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        click.echo(_one_line(error), err=True)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _take_debug(words: list[str]) -> tuple[list[str], bool]:
    """The words without `--debug`, which may stand anywhere before `--`, and whether it was there."""
    end = words.index("--") if "--" in words else len(words)
    rest = [word for word in words[:end] if word != "--debug"]
    return [*rest, *words[end:]], len(rest) < end


def _one_line(error: Exception) -> str:
    """What went wrong; for errors nobody expected also their type."""
    text = " ".join(str(error).split()) or type(error).__name__
    expected = type(error).__module__.startswith("ckai.") or isinstance(error, (OSError, ValueError))
    if expected:
        return f"ckai: error: {text}"
    return f"ckai: error: {type(error).__name__}: {text} (run with --debug for the traceback)"


if __name__ == "__main__":
    main()
