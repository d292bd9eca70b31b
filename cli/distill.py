"""`ckai distill`: label positions with a network, to train a smaller one."""

from pathlib import Path

import click

from ckai.cli.shared.options import (
    PATH,
    ROWS_HELP,
    force_option,
    given_settings,
    output_option,
    settings_options,
)
from ckai.cli.shared.output import count_text
from ckai.datasets.settings import change_settings
from ckai.rl.distill.config import DistillConfig


@click.command("distill")
@click.argument("teacher", type=PATH)
@output_option("Rows to write.", Path("data/distilled.parquet"))
@click.option(
    "--data",
    multiple=True,
    type=PATH,
    help=f"Rows from whose positions the walks start: {ROWS_HELP}.  [default: openings only]",
)
@settings_options(DistillConfig)
@force_option
@click.pass_context
def command(ctx: click.Context, teacher: Path, output: Path, data: tuple[Path, ...], force: bool) -> None:
    """Label positions of checkers with the policy and the value of TEACHER.

    Follows short walks from positions of --data, by the teacher's policy with some random actions, and writes
    the labelled positions as rows for ckai pretrain. After an interruption, the same command continues.
    """
    from ckai.cli.shared.console import progress_bar
    from ckai.cli.shared.found import row_files
    from ckai.datasets.machine import available_cores
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.distill.distill import distill
    from ckai.rl.evaluators.loading import load_evaluator

    config = change_settings(DistillConfig(), given_settings(ctx))
    threads = available_cores()
    checkpoint = load_checkpoint(teacher)
    # Alpha-beta, which labels with `nodes`, takes integer networks only.
    network = load_evaluator(teacher, "integers" if config.nodes else "auto", threads=threads)
    with progress_bar("labelling", "positions") as update:
        positions = distill(
            network, output, config, teacher=checkpoint.digest, data=row_files(*data), threads=threads,
            force=force, progress=lambda done: update(min(done, config.positions), config.positions),
        )  # fmt: skip
    click.echo(f"{output}: {count_text(positions, 'position')}, labelled by {network.name}")
