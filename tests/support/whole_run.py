"""Whether a run has all that it should have, once."""

import csv
from collections import Counter

from ckai.datasets.reader import read_rows
from ckai.models.checkpoint import load_checkpoint
from ckai.rl.run.run import Run
from ckai.rl.selfplay.shards import Shard, hash_of


def check_whole(run: Run, generations: int) -> None:
    """Every generation has its games, whole, each once in the run, and a network."""
    assert run.generations == generations
    games, learned = Counter(), Counter()
    for n in range(1, generations + 1):
        found, rows = run.learned(n), 0
        for name, size in found.files.items():
            shard, table = Shard.read_rows(run.folder / "games" / name, run.spec.schema)
            keys = list(zip(*(table[c].to_pylist() for c in ("game", "ply", "hop")), strict=True))
            assert keys == sorted(set(keys)), "a row is doubled or out of order"
            last = {key[0]: key[1] for key in keys}
            assert {game.game: game.plies for game in shard.games} == {g: p + 1 for g, p in last.items()}
            assert len(last) == size
            games.update((shard.worker, number) for number in last)
            for network, digest in shard.networks.items():
                assert digest == hash_of(run.network_path(int(network)).read_bytes())
            assert {str(g) for g in table["generation"].to_pylist()} == set(shard.networks)
            assert int(name[:4]) == max(map(int, shard.networks)) < n + (n < generations)
            rows += len(keys)
        learned.update(list(found.files))
        assert found.measured["games"] == sum(found.files.values()) >= run.config.games
        assert found.measured["rows"] == rows
        assert run.history()[n - 1]["selfplay"] == found.measured
        load_checkpoint(run.network_path(n)).network()
    assert max(games.values()) == 1, "a game counts twice"
    assert max(learned.values()) == 1
    assert read_rows(run.shards(), game=run.config.game).game.size == sum(
        measured["selfplay"]["rows"] for measured in run.history()
    )
    assert not (run.folder / "networks" / "training.ckpt").exists()
    assert load_checkpoint(run.folder / "best.ckpt").weights.keys()
    with (run.folder / "metrics.csv").open() as file:
        assert [int(row["generation"]) for row in csv.DictReader(file)] == list(range(1, generations + 1))
