"""The end of the self-play of a generation: its shards become its files."""

import json
from dataclasses import asdict
from typing import Any

from ckai.datasets.files import write_whole
from ckai.datasets.schema import headers_path
from ckai.rl.leases.ledger import LeaseCounts
from ckai.rl.loop.folder import RunError
from ckai.rl.loop.late import Absent, generation_of, sort_absent
from ckai.rl.loop.plan import RunPlan
from ckai.rl.loop.report import describe, endings, first_scores
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.rows import headers_of_rows
from ckai.rl.selfplay.shards import Spent, merge, read_shards, write_table


class RunClosing(RunPlan):
    """The files of a run, and the closing of its generations."""

    def _close(self, n: int, expected: set[int], late: int, spent: Spent, counts: LeaseCounts) -> Absent:
        """Write the rows, the games and the measurements of generation `n`, whose games are in its shards.

        Args:
            n: the generation.
            expected: numbers of its games and of the late ones of earlier generations.
            late: most of these that may be missing.
            spent: effort for them.
            counts: what other processes have done.

        Returns:
            The games that are missing.

        Raises:
            RunError: a shard was damaged, or more games are missing.
        """
        config, shards, rows_path = self.config, self.path(n, "shards"), self.path(n, "rows.parquet")
        tables, games, damaged = read_shards(shards, self.spec.schema)
        if damaged:
            raise RunError(f"{damaged[0]}; run the command again")
        if not games.keys() <= expected or len(expected) - len(games) > late:
            raise RunError(
                f"{shards}: expected {len(expected)} games, found {len(games)}; run the command again"
            )
        absent = sort_absent(expected - games.keys(), n, config.max_age)
        table = merge(tables)
        source = f"{self.folder.name} generation {n}"
        tags = {number: game.tags for number, game in games.items()}
        networks = {number: game.network for number, game in games.items()}
        write_table(headers_of_rows(table, source, tags, networks), headers_path(rows_path))
        write_whole(self.path(n, "games.pdn"), "".join(games[number].pdn for number in sorted(games)))
        write_table(table, rows_path)
        ends = {number: game.ending for number, game in games.items()}
        measured = describe(table, list(ends.values()), spent.seconds, spent.evaluations) | endings(
            list(ends.values()), config.selfplay
        )
        measured["network"] = self._player(n)
        carried = sum(generation_of(number) < n for number in games)
        measured |= _workers(counts, absent, carried)
        pool = Pool(config.pool, self._pool_seed(n), self._opponents(n))
        if pool.generations:
            scores = first_scores(table, {number: end.result for number, end in ends.items()})
            # Late games were against the past networks of their own generation.
            measured["pool"] = pool.tally(
                {number: score for number, score in scores.items() if generation_of(number) == n}
            )
        write_whole(self.path(n, "selfplay.json"), json.dumps(measured) + "\n")
        return absent


def _workers(counts: LeaseCounts, absent: Absent, carried: int) -> dict[str, Any]:
    """Return what the measurements say of other processes and of late games; empty without any."""
    measured: dict[str, Any] = {}
    if absent.late:
        measured["late"] = list(absent.late)
    if absent.stale:
        measured["stale"] = list(absent.stale)
    if counts.leased or counts.by_worker or carried or measured:
        measured["workers"] = {
            "count": len(counts.by_worker),
            **asdict(counts),
            "late": len(absent.late),
            "carried": carried,
            "stale": len(absent.stale),
        }
    return measured
