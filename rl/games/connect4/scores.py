"""What a score of Connect-4 says."""

from ckai.rl.games.connect4.kernels import SQUARES
from ckai.rl.games.solving import SolvedValue


def solved_value(score: int, stones: int) -> SolvedValue:
    """Return what a score says.

    Args:
        score: for the side to move, see `ckai.rl.games.connect4.kernels`.
        stones: on the board.
    """
    if not score:
        return SolvedValue(0, SQUARES - stones)
    if score > 0:
        return SolvedValue(1, 2 * (SQUARES // 2 + 1 - score - stones // 2) - 1)
    return SolvedValue(-1, 2 * (SQUARES // 2 + 1 + score - (stones + 1) // 2))
