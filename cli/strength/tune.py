"""`ckai tune`: find good settings of self-play by successive halving."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.existing_run import DEFAULT_EVALUATOR, DEFAULT_INIT, Wanted
from ckai.cli.shared.networks import evaluator_option
from ckai.cli.shared.new_run import (
    IN_FLIGHT,
    IN_FLIGHT_TEXT,
    default_config,
    expert_positions,
    experts_option,
    first_network_options,
    new_run,
    setting_option,
)
from ckai.cli.shared.output import json_option, report_compilation
from ckai.cli.shared.settings import SettingsCommand, given_settings, settings_options
from ckai.cli.shared.tables import ensure_tables
from ckai.cli.shared.unused import unused
from ckai.datasets.settings import change_settings, parse_settings
from ckai.rl.loop.config import RunConfig
from ckai.rl.tuning.config import StudySettings

if TYPE_CHECKING:
    from ckai.rl.tuning.study import Study

GATE_GAMES, EXPERT_SHARE = "gate.games", "start.expert_share"
"""Settings by path: games of the gate match, which trials do not play by default because they have matches of
their own; and the share of games that begin in expert positions."""


@click.command("tune", cls=SettingsCommand)
@first_network_options
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="tune",
    show_default=True,
    help="Folder of the study; an existing study is continued.",
)
@click.option("--fresh", is_flag=True, help="Remove the study in the folder, with its runs, and begin again.")
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="NAME=VALUES",
    help="A setting to try, by its name in a run's config.json: a range (learn.lr=1e-4..1e-2:log with "
    "a log-uniform draw, or start.opening_share=0..1) or values (learn.window=2,4,8); may be "
    "repeated.",
)
@settings_options(StudySettings)
@settings_options(RunConfig, {"overlap": "on with a GPU", IN_FLIGHT: IN_FLIGHT_TEXT, GATE_GAMES: "0"})
@experts_option
@setting_option
@click.option("--dry-run", is_flag=True, help="List the trials and exit.")
@evaluator_option(DEFAULT_EVALUATOR)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    init: Path | None,
    game: str | None,
    model: str | None,
    pairs: tuple[str, ...],
    folder: Path,
    fresh: bool,
    tried: tuple[str, ...],
    experts: Path | None,
    others: tuple[str, ...],
    dry_run: bool,
    evaluator: str,
    as_json: bool,
) -> None:
    """Find good settings of self-play by successive halving.

    Every trial is a short self-play run with values of the settings to try drawn at random; the first one
    has the defaults, or what the other options say. The networks of all trials play each other, the best
    1/ETA of the trials continue to ETA times as many generations, and so on until one is left. After an
    interruption, the same command continues the study, and so does `ckai tune -o FOLDER` alone.

    \b
    Examples:
      ckai tune -o tune/lr --try learn.lr=1e-4..1e-2:log --try learn.window=2,4,8
      ckai tune -o tune/wide --try selfplay.c_puct=1..8 --trials 27 --generations 1 --games 200
    """
    given = given_settings(ctx) | parse_settings(RunConfig, others)
    of_study = {name: given.pop(name) for name in list(given) if name.startswith("study.")}

    from ckai.cli.strength.study_screen import StudyScreen, print_plan, print_results
    from ckai.rl.tuning.folder import StudyError
    from ckai.rl.tuning.space import draw_trials, parse_space
    from ckai.rl.tuning.study import Study

    wanted = Wanted(init, game, model, pairs, experts, given)
    if Study.exists(folder) and not fresh:
        study = Study.open(folder)
        what = _difference(study, wanted, of_study, tried)
        if what:
            raise StudyError(
                f"{folder}: expected the settings of the study, found others ({what}); omit that option, "
                "give another -o, or --fresh to begin again"
            )
    else:
        space = parse_space(tried)
        config = change_settings(StudySettings(), of_study).study
        varied = {each.name for each in space}
        first, base = new_run(replace(wanted, given={GATE_GAMES: 0, **given}), evaluator, varied=varied)
        trials = draw_trials(space, base, config.trials, base.seed)
        shares = [trial.get(EXPERT_SHARE, base.start.expert_share) for trial in trials]
        most = replace(base, start=replace(base.start, expert_share=max(shares)))
        positions = expert_positions(experts, most)
        if dry_run:
            print_plan(config, trials, base.games, as_json)
            return
        study = Study.create(
            folder,
            first,
            base,
            config,
            space,
            experts=positions,
            options=_first_options(wanted),
            replace=fresh,
        )
    if dry_run:
        print_plan(study.config, study.trials, study.run(0).config.games, as_json)
        return
    try:
        ensure_tables(max(study.run(trial).config.selfplay.tables for trial in range(len(study.trials))))
        report_compilation()
        study.go(StudyScreen(study, evaluator), evaluator)
    except KeyboardInterrupt:
        words = ["ckai", "tune", "-o", str(folder)]
        words += ["--evaluator", evaluator] if evaluator != DEFAULT_EVALUATOR else []
        click.echo(f"continue with: {shlex.join(words)}", err=True)
        raise
    assert study.best is not None
    print_results(study, repeat_command(study, study.best), as_json)


def _difference(study: "Study", wanted: Wanted, of_study: dict[str, Any], tried: tuple[str, ...]) -> str:
    """Return the first difference of a study from what a command says, or ""."""
    from ckai.rl.tuning.space import parse_space

    if tried and (space := parse_space(tried)) != study.space:
        return f"--try {' '.join(map(str, study.space))}, not {' '.join(map(str, space))}"
    now = asdict(change_settings(StudySettings(study=study.config), of_study).study)
    for name, value in asdict(study.config).items():
        if now[name] != value:
            return f"{name} = {value}, not {now[name]}"
    # Every trial has the same expert positions, but those that use none have none.
    runs = [study.run(trial) for trial in range(len(study.trials))]
    with_experts = next((run for run in runs if run.config.start.expert_share), runs[0])
    return replace(wanted, experts=None).difference(runs[0]) or wanted.experts_difference(with_experts)


def _first_options(wanted: Wanted) -> list[str]:
    """Return the options of `ckai selfplay` that name the first network and the expert positions."""
    words = ["--init", str(wanted.init or DEFAULT_INIT)]
    for option, value in (("--game", wanted.game), ("--model", wanted.model), ("--experts", wanted.experts)):
        words += [option, str(value)] if value else []
    return words + [word for pair in wanted.pairs for word in ("--set", pair)]


def repeat_command(study: "Study", trial: int) -> str:
    """Return the command of a run such as that of a trial, to the generations of the last rung."""
    from ckai.models.training.runs import flat_settings
    from ckai.rl.tuning.space import value_text

    config = study.run(trial).config
    usual = flat_settings(default_config(config.game).to_dict())
    changed = {name: value for name, value in flat_settings(config.to_dict()).items() if value != usual[name]}
    options = list(study.options)
    if not config.start.expert_share and "--experts" in options:  # refused without a share
        at = options.index("--experts")
        del options[at : at + 2]
    words = ["ckai", "selfplay", *options]
    words += ["--generations", str(study.schedule[-1].generations)]
    idle = {need.setting for need in unused(config, changed)}  # refused, too
    for name, value in changed.items():
        if name not in idle:
            words += ["--setting", f"{name}={value_text(value)}"]
    return shlex.join(words)
