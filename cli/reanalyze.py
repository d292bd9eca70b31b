"""`ckai reanalyze`: new training targets for the rows of a generation, by searches with another network."""

from dataclasses import replace
from pathlib import Path

import click

from ckai.cli.shared.networks import evaluator_option
from ckai.cli.shared.output import count_text, json_option, print_json, report_compilation
from ckai.cli.shared.tables import ensure_tables

WAIT = 0.2
"""Seconds between two reports of the progress."""


@click.command("reanalyze")
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@click.option("--generation", required=True, type=click.IntRange(min=1), help="Generation of the rows.")
@click.option(
    "--engine", type=click.Path(path_type=Path), help="Network that searches.  [default: the newest of RUN]"
)
@click.option("--sims", type=click.IntRange(min=2), help="Visits per search.  [default: those of RUN]")
@click.option(
    "--share",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Probability of searching a row.",
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed for choosing rows."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("data/reanalyzed.parquet"),
    show_default=True,
    help="Rows to write.",
)
@evaluator_option()
@click.option("--fresh", is_flag=True, help="Replace the output.")
@json_option
def command(
    run: Path,
    generation: int,
    engine: Path | None,
    sims: int | None,
    share: float,
    seed: int,
    output: Path,
    evaluator: str,
    fresh: bool,
    as_json: bool,
) -> None:
    """Search the positions of one generation of RUN again, and write its rows with the new targets.

    The visit counts, q and the policy KL are those of searches with --engine, by the settings of RUN but
    without noise; the games and their results stay. RUN is not changed. After an interruption, the same
    command continues.
    """
    import threading

    from ckai.cli.shared.output import progress_bar
    from ckai.models.pretrained import network_path
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.leases.lease import hash_of
    from ckai.rl.loop.run import Run
    from ckai.rl.reanalysis.reanalyze import ReanalysisCounts, drawn_rows, reanalyze
    from ckai.rl.reanalysis.targets import ReanalysisError
    from ckai.rl.search.threads import repeated

    if output.exists() and not fresh:
        raise ReanalysisError(f"{output}: exists; use --fresh to replace it, or another --output")
    opened = Run.open(run)
    settings = opened.config.selfplay
    config = replace(settings, sims=sims or settings.sims)
    source, network = opened.path(generation, "rows.parquet"), network_path(engine or opened.network)
    total = len(drawn_rows(source, share, seed))
    ensure_tables(config.tables)
    report_compilation()
    loaded = load_evaluator(network, evaluator, threads=config.group_count, game=opened.spec.name)
    counts, stop = ReanalysisCounts(), threading.Event()
    with (
        progress_bar("searching", "positions") as update,
        repeated(lambda: update(min(counts.rows, total), total), WAIT, stop),
    ):
        done = reanalyze(
            source,
            output,
            loaded,
            config,
            spec=opened.spec,
            folder=output.with_suffix(".shards"),
            share=share,
            seed=seed,
            network=hash_of(network.read_bytes()),
            counts=counts,
            warn=lambda line: click.echo(f"ckai: warning: {line}", err=True),
            stop=stop,
        )
    assert done is not None, "an early end is an error, which was raised"
    if as_json:
        print_json({"output": str(output), **vars(done)})
        return
    left = f", {count_text(done.left, 'row')} left as they were" if done.left else ""
    click.echo(
        f"{output}: {count_text(done.reanalyzed, 'row')} of {done.rows:,} reanalyzed{left}; on average the "
        f"policy target changed by {done.policy_change:.3f} nats and q by {done.q_change:.3f}"
    )
