"""What a move was worth: values, the main line, alternatives, shots, experts, the opening."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.playing.session import side_of
from ckai.cli.shared.output import count_text
from ckai.rl.engine.score import expected_score, percent, score_text
from ckai.rl.games.spec import GameSpec, Shot

if TYPE_CHECKING:
    from ckai.rl import SearchResult

MIN_VISITS = 8
"""Fewer visits say nothing about a move's value."""
ALTERNATIVES = 6
"""Most moves listed."""
MISSED = 0.02
"""Least cost of a move, in points, that missed a shot: a cheaper one gains as much in another way."""
LINE_PLIES = 8
"""Most moves of a main line that are shown."""


@dataclass(frozen=True)
class Explainer:
    """Explains moves.

    Args:
        spec: the game.
        search: searches the current position of a game, with at least a number of lines.
        experts: the data set at hand, if any.
    """

    spec: GameSpec
    search: Callable[[Any, int], "SearchResult"]
    experts: ExpertMoves | None = None

    def explain(self, game: Any, move: Any) -> list[str]:
        """Return an explanation as lines of text.

        Args:
            game: the game up to the position before the move; it stays as it is.
            move: a legal move there.

        Raises:
            ValueError, OSError, RuntimeError: the search or the data set fails.
        """
        position = game.position
        legal = position.legal_moves()
        first, second = self.spec.side_names
        name = first if position.black else second
        after = self.spec.game(game.positions[0])
        for each in game.moves:
            after.push(each)
        lines = [f"{move} by {name}, ply {len(game.moves) + 1}"]
        after.push(move)
        opening = self.spec.opening_name(after)
        if opening:
            lines.append(f"opening: {opening}")
        loss = 0.0
        if len(legal) == 1:
            lines.append("forced: it was the only legal move")
        else:
            values, loss = self._values(game, after, move, name)
            lines += values
        lines += self._shots(position, after, move, name, missed=loss >= MISSED)
        return [*lines, *self._played(position)]

    # --- values -------------------------------------------------------------------------------------

    def _values(self, game: Any, after: Any, move: Any, name: str) -> tuple[list[str], float]:
        """Return the value before and after, the main lines, the other moves; and what the move costs."""
        legal = game.position.legal_moves()
        result = self.search(game, len(legal))
        if result.value is None:
            return [], 1.0
        solver = self.spec.solver
        if solver is not None and solver.quick:
            truths = solver().moves(game.position)
            values = {each: float(truth.value) for each, truth in truths.items()}
            best = max(values.values())
        else:
            values = {
                line.move: float(line.value)
                for line in result.lines
                if line.value is not None
                # Without a tree there are no visits: each line has a search of its own.
                and (line.visits >= MIN_VISITS or line.proven or not result.visits)
            }
            best = values.get(result.move, float(result.value))
        line = list(next(each.pv for each in result.lines if each.move == move))
        if move not in values:
            found = self._value_after(game, after)
            if found is None:
                return [], 1.0
            values[move], rest = found
            line = [move, *rest]
        loss = max(0.0, best - values[move]) / 2
        verdict = (
            "the best move" if move == result.move or loss < 0.005 else f"it costs {name} {percent(loss)}"
        )
        before, later = (expected_score(each, black=game.position.black) for each in (best, values[move]))
        lines = [f"{score_text(before, self.spec.side_names[0])} before, {percent(later)} after; {verdict}"]
        lines.append(f"main line: {_moves(line)}")
        if loss >= 0.005 and result.move != move:
            lines.append(f"better: {_moves(result.pv)}")
        others = sorted((each for each in values if each != move), key=lambda each: -values[each])
        if others:
            lost = {each: max(0.0, best - values[each]) / 2 for each in others[:ALTERNATIVES]}
            shown = ", ".join(f"{each} {percent(points)}" for each, points in lost.items())
            lines.append(f"other moves and what they cost: {shown}")
        return lines, loss

    def _value_after(self, game: Any, after: Any) -> tuple[float, list[Any]] | None:
        """Return the value of the position after a move for the side that played it, and how it goes on.

        Forced moves are played first, as players do not search them. None: the engine has no values.
        """
        here, line = self.spec.game(after.positions[0]), []
        for each in after.moves:
            here.push(each)
        while (outcome := here.outcome()) is None and len(legal := here.position.legal_moves()) == 1:
            line.append(legal[0])
            here.push(legal[0])
        mine = side_of(game.position)
        if outcome is not None:
            return (0.0 if outcome.winner is None else 1.0 if outcome.winner == mine else -1.0), line
        result = self.search(here, 1)
        if result.value is None:
            return None
        value = float(result.value)
        return value if side_of(here.position) == mine else -value, [*line, *result.pv]

    # --- shots and experts --------------------------------------------------------------------------

    def _shots(self, position: Any, after: Any, move: Any, name: str, *, missed: bool) -> list[str]:
        names = self.spec.side_names
        other = names[1] if name == names[0] else names[0]
        lines = []
        before = self.spec.find_shot(position)
        if before is not None and before.line[0] == move:
            lines.append(f"{_kind(before)} for {name}: {_shot(before)}")
        elif before is not None and missed:
            lines.append(f"missed {_kind(before)}: {_shot(before)}")
        threat = self.spec.find_shot(after.position)
        if threat is not None:
            lines.append(f"it allows {other} {_kind(threat)}: {_shot(threat)}")
        return lines

    def _played(self, position: Any) -> list[str]:
        if self.experts is None or self.experts.game != self.spec.name:
            return []
        where = f"in {self.experts.path.name}"
        try:
            found = self.experts.played(position)
        except ValueError as error:  # the rest of the explanation stands
            return [str(error)]
        if not found:
            return [f"{where}: this position was never reached"]
        total = sum(each.times for each in found)
        parts = []
        for each in found[:ALTERNATIVES]:
            score = "" if each.score is None else f" ({self.spec.side_names[0]} scored {percent(each.score)})"
            parts.append(f"{' or '.join(map(str, each.moves))} {percent(each.times / total)}{score}")
        return [f"{where}, {count_text(total, 'time')}: {', '.join(parts)}"]


def _kind(shot: Shot) -> str:
    return "a shot" if shot.given else "a gain"


def _shot(shot: Shot) -> str:
    """Return the line of a shot and what it wins: `15-18 22x15 11x25, wins 2 for 1`."""
    wins = (
        "wins the game" if shot.wins else f"wins {shot.taken}" + (f" for {shot.given}" if shot.given else "")
    )
    return f"{_moves(shot.line, len(shot.line))}, {wins}"


def _moves(line: Any, most: int = LINE_PLIES) -> str:
    return " ".join(map(str, line[:most]))
