"""What a move is worth, in sentences: its cost, what is better, threats, what is forced."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.sides import game_of, outlook
from ckai.rl.analysis.report import expected_score, percent
from ckai.rl.analysis.shots import Shot, find_shot, find_threat
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl import SearchResult

MISSED = 0.02
"""Least cost of a move, in points, that missed a shot or is worse than the best: less is as good."""
SLIGHT = 0.005
"""Least cost that is shown."""
LINE_PLIES = 8
"""Most moves of a main line that are shown."""


@dataclass(frozen=True)
class Explainer:
    """Explains moves."""

    spec: GameSpec
    search: Callable[[Any, int], "SearchResult"]
    """Searches the current position of a game, with at least a number of lines."""

    def explain(self, game: Any, move: Any) -> list[str]:
        """Explain a legal move after a game, in sentences, one or two in a line."""
        position = game.position
        legal = position.legal_moves()
        first, second = self.spec.side_names
        name = first if position.black else second
        after = game_of([*game.moves, move], self.spec, game.positions[0])
        if len(legal) == 1:
            lines, loss = [f"{move} is forced: {name} has no other legal move."], 0.0
        else:
            lines, loss = self._values(game, after, move, name)
        lines += self._shots(position, after, name, missed=loss >= MISSED)
        replies = [] if after.outcome() else after.position.legal_moves()
        if len(replies) == 1:
            lines.append(f"{second if position.black else first} has one reply: {replies[0]}.")
        opening = self.spec.opening_name(after)
        if opening and opening != self.spec.opening_name(game):
            lines.append(f"The opening is {opening}.")
        return lines

    # --- values -------------------------------------------------------------------------------------

    def _values(self, game: Any, after: Any, move: Any, name: str) -> tuple[list[str], float]:
        """Return the value before and after, what is better, the main lines; and what the move costs."""
        first, *others = self.search(game, 2).lines
        if first.value is None:
            return [], 1.0
        before = later = expected_score(first.value.black())
        line, sign = list(first.pv), 1 if game.position.black else -1
        if move != first.move:
            later, rest = outlook(after, lambda game: self.search(game, 1))
            line = [move, *rest]
        loss = max(0.0, sign * (before - later))
        score = f"the expected score of {self.spec.side_names[0]}"
        if loss >= SLIGHT:
            verb = "falls" if later < before else "rises"
            return [
                f"{move} costs {name} {percent(loss)}: {score} {verb} from {percent(before)} to "
                f"{percent(later)}.{_then(line)}",
                f"Better is {first.move}, with {percent(before)}.{_then(first.pv)}",
            ], loss
        kind, alone = "as good as any", ""
        if move == first.move and others and others[0].value is not None:
            least = sign * (before - expected_score(others[0].value.black()))
            if least >= MISSED:
                kind, alone = "the best move", f"; the next best, {others[0].move}, costs {percent(least)}"
        return [f"{move} is {kind}: {score} stays at {percent(later)}{alone}.{_then(line)}"], loss

    # --- shots ------------------------------------------------------------------------------------

    def _shots(self, position: Any, after: Any, name: str, *, missed: bool) -> list[str]:
        if self.spec != DEFAULT_GAME:
            return []
        names, move, lines = self.spec.side_names, after.moves[-1], []
        other = names[1] if name == names[0] else names[0]
        before = find_shot(position)
        if before is not None and before.line[0] == move:
            lines.append(f"It begins {_shot(before)}.")
        elif before is not None and missed:
            lines.append(f"It misses {_shot(before)}.")
        allowed = find_shot(after.position)
        if allowed is not None:
            lines.append(f"It allows {other} {_shot(allowed)}.")
        elif (threat := find_threat(after.position)) is not None:
            lines.append(f"It threatens {_shot(threat)}.")
        return lines


def _then(line: Any) -> str:
    """Return what follows the first move of a line, as a sentence."""
    return f" Best play after it: {_moves(line[1:])}." if line[1:] else ""


def _shot(shot: Shot) -> str:
    """Return a shot, its line, and what it wins: `a shot, 15-18 22x15 11x25, which wins 2 for 1`."""
    wins = "the game" if shot.wins else f"{shot.taken}" + (f" for {shot.given}" if shot.given else "")
    return f"{'a shot' if shot.given else 'a gain'}, {_moves(shot.line, len(shot.line))}, which wins {wins}"


def _moves(line: Any, most: int = LINE_PLIES) -> str:
    return " ".join(map(str, line[:most]))
