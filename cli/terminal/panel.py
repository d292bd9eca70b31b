"""What stands next to the board: the last move, the clocks, the side to move, the engine's thoughts."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from ckai.cli.playing.clock import GameClock
from ckai.cli.playing.session import SIDES, Session
from ckai.cli.shared.output import count_text
from ckai.game.text import printable
from ckai.rl.analysis.score import expected_score, score_text
from ckai.rl.engine.result import SearchResult

PANEL_COLUMNS = 34
"""Width of the panel next to a large board."""
TOP = 5
"""Most moves of a search that are shown; the move to play is always one of them."""
SCORE_LINES = 4
"""Lines of the score that are shown."""


def search_lines(result: SearchResult, who: str, verb: str, names: tuple[str, str]) -> list[Text]:
    """Return a move of the engine, its value, the most visited moves and the PV.

    Args:
        result: the search, the move it plays first.
        who: name of the engine.
        verb: `plays` or `would play`.
        names: what the first and the second player are called.
    """
    lines = [move_line(result, who, verb)]
    if result.value is None:
        return lines
    lines += [Text(value_text(result, names)), Text(effort_text(result))]
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


def move_line(result: SearchResult, who: str, verb: str) -> Text:
    """Return the one line that says what the engine plays."""
    return Text.assemble((f"{who} ", ""), (f"{verb} {result.move}", "bold"))


def state_lines(session: Session, clock: GameClock | None, *, score: bool) -> list[Text]:
    """Return the score, the clocks, the side to move and what the draw rules have to say."""
    lines: list[Text] = []
    if score:
        moves = session.numbered(SCORE_LINES)
        lines += [Text(line, style="dim") for line in moves] + ([Text()] if moves else [])
    if clock is not None:
        lines.append(Text("  ".join(f"{session.name(side)} {clock.text(side)}" for side in SIDES)))
    if session.outcome() is None:
        lines.append(Text(f"{session.name()} to move", style="bold"))
    return lines + [Text(notice) for notice in session.spec.notices(session.game)]


def viewed_lines(
    session: Session, headers: Mapping[str, str], result: str, comments: Sequence[str]
) -> list[Text]:
    """Return what is known of a game that is stepped through: players, event, where one is, the comment."""
    lines = []
    for tag, name in zip(("Black", "White"), session.spec.side_names, strict=True):
        if headers.get(tag, "?") not in ("", "?"):
            lines.append(Text(printable(f"{name}: {headers[tag]}", PANEL_COLUMNS)))
    event = ", ".join(headers[tag] for tag in ("Event", "Date") if headers.get(tag, "?") not in ("", "?"))
    if event:
        lines.append(Text(printable(event, PANEL_COLUMNS), style="dim"))
    lines.append(Text(f"ply {session.ply} of {session.ply + len(session.ahead)}", style="bold"))
    if session.last_move is not None:
        lines.append(Text(f"played: {session.last_move}"))
        comment = comments[session.ply - 1] if session.ply <= len(comments) else ""
        if comment:
            lines.append(Text(printable(comment, 5 * PANEL_COLUMNS), style="italic"))
    lines.append(Text(f"next: {session.ahead[0]}" if session.ahead else f"the end ({result})"))
    return lines


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
