"""`ckai warmup`: compile everything for this machine, once."""

import click

from ckai.cli.shared.output import count_text


@click.command("warmup")
def command() -> None:
    """Compile the rules, the search and everything else for this machine.

    Without it each command compiles what it needs when it first needs it. Repeat it after an update.
    """
    from time import perf_counter

    from ckai.cli.shared.console import progress_bar
    from ckai.game.jit import FOLDER
    from ckai.rl.warmup import warm_up

    begun = perf_counter()
    with progress_bar("compiling", "steps") as progress:
        functions = warm_up(progress)
    where = f"cache: {FOLDER}" if FOLDER else "not kept: set NUMBA_CACHE_DIR to a folder that can be written"
    if functions:
        seconds = perf_counter() - begun
        click.echo(f"{count_text(functions, 'function')} compiled in {seconds:.0f} s; {where}")
    else:
        click.echo(f"everything is compiled already; {where}")
