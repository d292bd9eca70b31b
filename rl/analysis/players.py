"""The table of players: accuracy, and mistakes by phase of the game."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ckai.rl.analysis.config import AnalysisConfig
from ckai.rl.analysis.grading import Grade, Phase, accuracy_of, phase_of
from ckai.rl.analysis.report import GameReport, PlyReport

UNKNOWN = "?"
"""The name of a player without one: all of these are one row."""


@dataclass
class _Tally:
    """Moves that a player chose, that is with more than one legal move."""

    moves: int = 0
    accuracy: float = 0.0
    cost: float = 0.0
    grades: Counter[Grade] = field(default_factory=Counter)

    def add(self, ply: PlyReport) -> None:
        self.moves += 1
        self.accuracy += accuracy_of(ply.cost)
        self.cost += ply.cost
        if ply.grade is not None:
            self.grades[ply.grade] += 1

    def plain(self) -> dict[str, Any]:
        return {
            "moves": self.moves,
            "accuracy": round(self.accuracy / self.moves, 2) if self.moves else None,
            "cost": round(self.cost / self.moves, 4) if self.moves else None,
            **{str(grade): self.grades[grade] for grade in Grade},
        }


@dataclass
class PlayerStatistics:
    """What the analysed games of a player add up to."""

    name: str
    games: int = 0
    score: float = 0.0
    """Points, of the games with a result."""
    results: int = 0
    """Games with a result."""
    total: _Tally = field(default_factory=_Tally)
    phases: dict[Phase, _Tally] = field(default_factory=lambda: {phase: _Tally() for phase in Phase})

    def plain(self) -> dict[str, Any]:
        """Return the row as data for JSON: counts, accuracy in percent, mean cost, and these by phase."""
        return {
            "name": self.name,
            "games": self.games,
            "score": self.score,
            "results": self.results,
            **self.total.plain(),
            "phases": {str(phase): tally.plain() for phase, tally in self.phases.items()},
        }


class PlayerTable:
    """Adds up what analysed games say of their players.

    The accuracy of a player is the mean of `accuracy_of` over the moves chosen: forced moves do not count, as
    they would flatter. (Lichess also weights moves by how volatile the game is.)
    """

    def __init__(self, config: AnalysisConfig) -> None:
        self.config = config
        self.players: dict[str, PlayerStatistics] = {}

    def add(self, black: str | None, white: str | None, report: GameReport) -> None:
        """Add a game, with the names of the tags Black and White."""
        names = {True: (black or "").strip() or UNKNOWN, False: (white or "").strip() or UNKNOWN}
        score = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}.get(report.result or "")
        for side, name in names.items():
            player = self.players.setdefault(name, PlayerStatistics(name))
            player.games += 1
            if score is not None:
                player.results += 1
                player.score += score if side else 1 - score
        for ply in report.plies:
            if not ply.forced:
                player = self.players[names[ply.black]]
                player.total.add(ply)
                player.phases[phase_of(ply.pieces)].add(ply)

    def rows(self) -> list[dict[str, Any]]:
        """Return the players as plain data, those with the most games first, then by name."""
        ordered = sorted(self.players.values(), key=lambda player: (-player.games, player.name))
        return [player.plain() for player in ordered]


def side_accuracy(report: GameReport, black: bool) -> float | None:
    """Return the accuracy of a side in a game, 0 to 100, None if it had no choice."""
    chosen = [accuracy_of(ply.cost) for ply in report.plies if ply.black == black and not ply.forced]
    return sum(chosen) / len(chosen) if chosen else None
