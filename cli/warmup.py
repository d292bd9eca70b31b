"""`ckai warmup`: compile everything for this machine, once."""

import click

from ckai.cli.shared.output import count_text, progress_bar


@click.command("warmup")
def command() -> None:
    """Compile the rules, the search and everything else for this machine.

    Without it each command compiles what it needs when it first needs it. Repeat it after an update.
    """
    from ckai.cli.shared.output import report_compilation
    from ckai.rl.warmup import warm_up

    report_compilation()
    with progress_bar("compiling", "steps") as progress:
        result = warm_up(progress)
    folder = None if result.folder is None else str(result.folder)
    where = f"cache: {folder}" if folder else "not kept: set NUMBA_CACHE_DIR to a folder that can be written"
    if result.functions:
        functions = count_text(result.functions, "function")
        click.echo(f"{functions} compiled in {result.seconds:.0f} s; {where}")
    else:
        click.echo(f"everything is compiled already; {where}")
