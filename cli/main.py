"""The `ckai` command; its subcommands are imported only when they run.

Nothing here may import torch, numba, numpy, pyarrow or rich: `ckai --help` answers at once.
"""

import atexit
import difflib
import gc
import importlib
import io
import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from typing import Any

import click

import ckai.datasets  # noqa: F401  # sets how PyTorch waits, before a command loads it
from ckai.cli.shared.output import CleanStream, error_text

COMMANDS = {
    "parse": "Convert PDN files to rows for training.",
    "games": "Find games, list or write them, and show statistics.",
    "pretrain": "Train a network on the moves of games.",
    "evaluate": "Evaluate a network on held-out games.",
    "runs": "Compare training and self-play runs.",
    "distill": "Label positions with a network, to train another one.",
    "export": "Export a network to ONNX or safetensors.",
    "selfplay": "Continue training by self-play.",
    "match": "Play players against each other and estimate their strength.",
    "play": "Play against a network in the terminal.",
    "board": "Play and analyse in a browser.",
    "analyze": "Find the mistakes in games, and what was better.",
    "solve": "Learn from your mistakes, or let a player solve problems.",
    "engine": "Serve as a Hub or GTP engine for other programs.",
    "mcp": "Serve language models by the Model Context Protocol.",
    "warmup": "Compile everything for this machine, once.",
    "perft": "Count the move paths from a position, to test the rules.",
    "tables": "Build and probe endgame tablebases.",
    "bench": "Measure the speed of networks and self-play.",
}
"""Help for each command; command `name` is the object `command` of the module of that name."""


class _Lazy(click.Group):
    """A group that imports a command when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"ckai.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
    ckai selfplay --init pretrained.ckpt      continue by self-play
    ckai play                                 a game in the terminal
    """


def main() -> None:
    """Run the command line; errors print one line and exit with 1, wrong usage with 2, Ctrl-C with 130."""
    # What Numba loads stays until the end: looking for garbage in it, again and again and once more at exit,
    # took a third of the CPU time of a short command.
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    with ExitStack() as stack:
        for redirect, stream in ((redirect_stdout, sys.stdout), (redirect_stderr, sys.stderr)):
            if isinstance(stream, io.TextIOWrapper):  # `?` for letters that its encoding lacks
                stream.reconfigure(errors="replace")
            if stream is not None:
                stack.enter_context(redirect(CleanStream(stream)))
        _run()


def _run() -> None:
    arguments = [each for each in sys.argv[1:] if each != "--debug"]  # it may stand anywhere
    try:
        status = cli.main(arguments, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        more = "" if context is None else f" (see {context.command_path} --help)"
        _say(ValueError(error.format_message() + more))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("ckai: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of standard output is gone; keep the interpreter from flushing to it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if len(arguments) < len(sys.argv) - 1:
            raise
        _say(error)
        sys.exit(1)


def _say(error: Exception) -> None:
    """Print an error as one line; an unexpected one with its type."""
    text = error_text(error)
    if not (type(error).__module__.startswith("ckai.") or isinstance(error, (OSError, ValueError))):
        text = f"{type(error).__name__}: {text} (run with --debug for the traceback)"
    click.echo(f"ckai: error: {text}", err=True)


if __name__ == "__main__":
    main()
