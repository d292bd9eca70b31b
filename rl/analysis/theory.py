"""Where the tablebases and the result of a game differ."""

from collections.abc import Sequence

from ckai.rl.analysis.report import PlyReport, Verdict

_RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}
_BLACK = {"win": 1, "draw": 0, "loss": -1}


def theory_of(
    plies: Sequence[PlyReport], last: Verdict | None, black_to_move: bool, result: str | None
) -> str:
    """Return a sentence if the tables say otherwise than the result of the game, else an empty text.

    Args:
        plies: the moves, with the verdicts of the positions before them.
        last: the verdict of the last position for its side to move.
        black_to_move: who is to move there.
        result: the result as PDN, None if it is unknown.
    """
    played = _RESULTS.get(result or "")
    verdicts = [
        (n, _for_black(ply.verdict, ply.black)) for n, ply in enumerate(plies) if ply.verdict is not None
    ]
    if last is not None:
        verdicts.append((len(plies), _for_black(last, black_to_move)))
    if played is None or not verdicts:
        return ""
    end, final = verdicts[-1]
    if final != played and end == len(plies):
        return f"{_named(final)} by the tables in the last position, {_ended(played)} in the game."
    start, first = verdicts[0]
    if first != played:
        when = f"after {move_number(plies, start - 1)} {plies[start - 1].move}" if start else "from the start"
        return f"{_named(first)} by the tables {when}, {_ended(played)} in the game."
    return ""


def move_number(plies: Sequence[PlyReport], n: int) -> str:
    """Return the number of move `n`, from 0, as PDN has it: `12.` for Black, `12...` for White.

    >>> from ckai.rl.analysis import PlyReport
    >>> ply = PlyReport(
    ...     move="9-14", black=True, pieces=24, forced=False, points=0.5, played=0.5, best="9-14"
    ... )
    >>> move_number([ply], 0)
    '1.'
    """
    number = (n + (not plies[0].black)) // 2 + 1
    return f"{number}." if plies[n].black else f"{number}..."


def _for_black(verdict: Verdict, black: bool) -> int:
    return _BLACK[verdict] if black else -_BLACK[verdict]


def _named(result: int) -> str:
    return {1: "Won for Black", 0: "Drawn", -1: "Won for White"}[result]


def _ended(result: int) -> str:
    return {1: "won by Black", 0: "drawn", -1: "won by White"}[result]
