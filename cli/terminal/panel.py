"""What stands next to the board: the engine's move and its thoughts, the clocks."""

from rich.text import Text

from ckai.cli.shared.output import count_text
from ckai.game.text import printable
from ckai.rl.analysis.score import expected_score, score_text
from ckai.rl.engine.result import SearchResult

PANEL_COLUMNS = 34
"""Width of the panel next to a large board."""
TOP = 5
"""Most moves of a search that are shown; the move to play is always one of them."""


def value_lines(result: SearchResult, names: tuple[str, str]) -> list[Text]:
    """Return the value of the engine's move, the most visited moves and the PV; nothing without a value."""
    if result.lines[0].value is None:
        return []
    visits = count_text(result.sims, "visit") if result.sims else ""
    effort = visits or f"{count_text(result.depth, 'ply', 'plies')} deep"
    lines = [Text(value_text(result, names)), Text(f"{effort}, {result.seconds:.1f} s")]
    top = list(result.visits)[:TOP]
    if top:
        top[-1] = top[-1] if result.move in top else result.move
        lines.append(Text(f"{'move':<14}{'network':>8}{'visits':>11}", style="dim"))
    for move in top:
        proof, plies = result.proofs.get(move, ("", None))
        searched = f"{proof} in {plies}" if plies is not None else proof or f"{result.visits[move]:,}"
        style = "bold" if move == result.move else ""
        lines.append(
            Text(f"{printable(str(move), 13):<14}{result.priors[move]:>8.1%}{searched:>11}", style=style)
        )
    if expected := result.pv[1:4]:
        text = "PV: " + " ".join(map(str, expected))
        lines.append(Text(printable(text, PANEL_COLUMNS), style="dim"))
    return lines


def value_text(result: SearchResult, names: tuple[str, str]) -> str:
    """Return the value of the move as the score that the first player can expect, or its proof."""
    best = result.lines[0]
    assert best.value is not None
    if best.proven == "draw":
        return "a proven draw"
    if best.proven:
        winner = names[(best.proven == "win") != (best.value.turn == "black")]
        return f"{winner} wins in {count_text(best.plies or 0, 'ply', 'plies')}"
    return score_text(expected_score(best.value.black()), names[0])


def time_text(seconds: float) -> str:
    """Return the time left on a clock as `4:58`, or `9.3` in the last ten seconds."""
    left = max(0.0, seconds)
    if left < 10:
        return f"{left:.1f}"
    hours, rest = divmod(int(left), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
