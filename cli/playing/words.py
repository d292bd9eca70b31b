"""The result of a search in words."""

from typing import TYPE_CHECKING, Any

from ckai.cli.shared.output import count_text
from ckai.rl.engine.score import expected_score, score_text

if TYPE_CHECKING:
    from ckai.rl import SearchResult


def value_text(result: "SearchResult", names: tuple[str, str]) -> str:
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


def effort_text(result: "SearchResult") -> str:
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


def top_moves(result: "SearchResult", number: int = 5) -> list[tuple[Any, float, str]]:
    """Return the best and the most visited moves of a tree, as (move, prior, visits or proven result).

    The move to play is always one of them.
    """
    moves = list(result.visits)[:number]
    if moves and result.move not in moves:
        moves[-1] = result.move
    return [(move, result.priors[move], _visits_or_proof(result, move)) for move in moves]


def _visits_or_proof(result: "SearchResult", move: Any) -> str:
    if move not in result.proofs:
        return f"{result.visits[move]:,}"
    proof, plies = result.proofs[move]
    return proof if plies is None else f"{proof} in {plies}"
