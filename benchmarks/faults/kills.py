"""Kill a self-play run repeatedly (SIGKILL) and check its files.

    python benchmarks/faults/kills.py pretrained.ckpt -o folder --kills 30

Every start is killed after a random time. After each kill the stage is printed, and the games on disk are
counted, which must never decrease. Finally the run continues undisturbed, and all rows and games are checked.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from ckai.models.checkpoint import load_checkpoint
from ckai.rl.loop.config import MAX_GAMES
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.shards import read_shards


def main() -> None:
    """Run the test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("network", type=Path, help="checkpoint to start from")
    parser.add_argument("-o", "--output", type=Path, default=Path("kills"), help="folder of the run")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--least", type=float, default=6.0, help="seconds before a kill")
    parser.add_argument("--most", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    command = [sys.executable, "-m", "ckai.cli.main", "selfplay", "--run", str(given.output)]
    settings = "--games 150 --sims 50 --epochs 8 --gate-games 20 --setting pool.share=0.2"
    rng, done = random.Random(given.seed), Counter()
    before = 0
    for number in range(given.kills):
        begin = [] if Run.exists(given.output) else ["--init", str(given.network), *settings.split()]
        started = [*command, *begin, "--evaluator", "torch", "--generations", "1000"]
        with subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(rng.uniform(given.least, given.most))
            assert process.poll() is None, "the run ended by itself"
            process.kill()
        stage, games = where(given.output)
        assert games >= before, "games were lost"
        before = games
        done[stage] += 1
        print(f"{number + 1}: {stage}, {games} finished games", flush=True)
    run = Run.open(given.output)
    generations = run.generations + 1
    subprocess.run([*command, "--evaluator", "torch", "--generations", str(generations)], check=True)
    total = check(run, generations)
    print(json.dumps({"kills": sum(done.values()), **done, "generations": generations, "rows": total}))


def where(folder: Path) -> tuple[str, int]:
    """Return the stage of the run, and the finished games on disk."""
    if not Run.exists(folder):
        return "starting", 0
    run = Run.open(folder)
    n = run.generations + 1
    games = run.generations * run.config.games
    if run.path(n, "selfplay.json").exists():
        learned = run.path(n, "candidate.ckpt").exists()
        return "gate match" if learned else "learning", games + run.config.games
    _, pdn, damaged = read_shards(run.path(n, "shards"), run.spec.schema)
    assert not damaged, damaged
    rest = list(run.path(n).rglob(".*.tmp"))
    return ("writing" if rest else "playing"), games + len(pdn)


def check(run: Run, generations: int) -> int:
    """Check that every generation has all games once and all training steps; return the rows."""
    total = 0
    assert run.generations == generations
    for n in range(1, generations + 1):
        expected = range(n * MAX_GAMES, n * MAX_GAMES + run.config.games)
        table = pq.read_table(run.path(n, "rows.parquet"))
        keys = list(zip(*(table[name].to_pylist() for name in ("game", "ply", "hop")), strict=True))
        assert keys == sorted(set(keys)), f"generation {n}: a row is doubled or out of order"
        games = sorted({key[0] for key in keys})
        assert games == list(expected), f"generation {n}: a game is missing or doubled"
        last = {key[0]: key[1] for key in keys}
        headers = pq.read_table(run.path(n, "rows.headers.parquet")).to_pylist()
        assert {h["game"]: h["plies"] for h in headers} == {g: ply + 1 for g, ply in last.items()}
        assert run.path(n, "games.pdn").read_text().count("[Event ") == len(games)
        load_checkpoint(run.path(n, "network.ckpt")).network()
        total += table.num_rows
    for measured in run.history():
        learned, settings = measured["learn"], run.config.learn
        steps = settings.epochs * -(-int(learned["rows"]) // settings.batch_size)
        assert learned["step"] == steps, f"expected {steps} steps, found {learned['step']}"
    return total


if __name__ == "__main__":
    main()
