"""What stands next to the board: the engine's move and its thoughts, the clocks."""

from typing import Any

from rich.text import Text

from ckai.cli.shared.output import count_text
from ckai.game.text import printable
from ckai.rl.analysis.score import expected_score, score_text
from ckai.rl.engine.result import SearchResult

PANEL_COLUMNS = 34
"""Width of the panel next to a large board."""
TOP = 5
"""Most moves of a search that are shown; the move to play is always one of them."""


def search_lines(result: SearchResult, names: tuple[str, str]) -> list[Text]:
    """Return the value of the engine's move, the most visited moves and the PV; nothing without a value.

    Args:
        result: the search, the move it plays first.
        names: what the first and the second player are called.
    """
    if result.value is None:
        return []
    lines = [Text(value_text(result, names)), Text(effort_text(result))]
    top = list(result.visits)[:TOP]
    if top:
        top[-1] = top[-1] if result.move in top else result.move
        lines.append(Text(f"{'move':<14}{'network':>8}{'visits':>11}", style="dim"))
    for move in top:
        cells = f"{result.priors[move]:>8.1%}{searched_text(result, move):>11}"
        style = "bold" if move == result.move else ""
        lines.append(Text(f"{printable(str(move), 13):<14}{cells}", style=style))
    if expected := result.pv[1:4]:
        text = "PV: " + " ".join(map(str, expected))
        lines.append(Text(printable(text, PANEL_COLUMNS), style="dim"))
    return lines


def numbered(game: Any, last: int) -> list[str]:
    """Return the last moves of a game as numbered lines, `3. 8-11 22-18`."""
    lines: list[str] = []
    for position, move in zip(game.positions[:-1], game.moves, strict=True):
        if position.black or not lines:
            lines.append(f"{len(lines) + 1}. " + ("" if position.black else "... ") + str(move))
        else:
            lines[-1] += f" {move}"
    return lines[-last:]


def time_text(seconds: float) -> str:
    """Return the time left on a clock as `4:58`, or `9.3` in the last ten seconds."""
    left = max(0.0, seconds)
    if left < 10:
        return f"{left:.1f}"
    hours, rest = divmod(int(left), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def value_text(result: SearchResult, names: tuple[str, str]) -> str:
    """Return the value of the move as the score that the first player can expect, or its proof.

    Args:
        result: the search; one without values gives an empty text.
        names: what the first and the second player are called.
    """
    best = result.lines[0]
    value = best.value
    if value is None:
        return ""
    name, other = names if value.turn == "black" else names[::-1]
    if best.proven == "draw":
        return "a proven draw"
    if best.proven:
        winner = name if best.proven == "win" else other
        return f"{winner} wins in {count_text(best.plies or 0, 'ply', 'plies')}"
    return score_text(expected_score(value.black()), names[0])


def effort_text(result: SearchResult) -> str:
    """Return the visits or the depth, and the time; of a varied move, its visits and the best move too."""
    if not result.sims:
        return f"{count_text(result.depth, 'ply', 'plies')} deep, {result.seconds:.1f} s"
    if result.proven and result.sims == 1:
        return "proven, no search needed"
    text = f"{count_text(result.sims, 'visit')}, {result.seconds:.1f} s"
    most = next(iter(result.visits), result.move)
    if most != result.move:
        text = f"{result.visits[result.move]:,} of {text}; most: {most}"
    return text + ("; the tree is full, it searched no further" if result.reason == "full" else "")


def searched_text(result: SearchResult, move: Any) -> str:
    """Return the visits of a move, or its proof."""
    if move not in result.proofs:
        return f"{result.visits[move]:,}"
    proof, plies = result.proofs[move]
    return proof if plies is None else f"{proof} in {plies}"
