"""Annotated PDN: the values, glyphs, comments and best lines of an analysis in a game that was read.

Every comment of an analysis begins with the score that Black can expect, `Black 65%.`, or with `[%tables]`.
An earlier analysis by ckai is replaced; what else the file had stays.
"""

import re
from copy import deepcopy

from ckai.game import Game
from ckai.pdn import PdnGame, PdnMove, Variation
from ckai.rl.analysis.report import NAGS, VERDICTS, GameReport, Grade, PlyReport, percent

ANNOTATOR = "ckai"
"""First word of the Annotator tag of a game that was analysed."""
_TABLES = "[%tables]"
_OURS = re.compile(r"Black \d+%\.")
"""How comments of an analysis begin, on moves and on better lines."""


def annotate(game: PdnGame, report: GameReport, annotator: str = "") -> PdnGame:
    """Return a copy of a game with its analysis; `annotator` is the network and settings, for the tag.

    Raises:
        ValueError: the report is of another game.
    """
    moves = [str(each.move) for each in game.moves]
    if moves != [ply.move for ply in report.plies]:
        raise ValueError(f"game {game.number}: expected the report of its {len(moves)} moves, found another")
    clean = strip(game)
    tag = ("Annotator", f"{ANNOTATOR} {annotator}".strip())
    at = next((n for n, (name, _) in enumerate(clean.headers) if name.lower() in ("setup", "fen")), None)
    clean.headers.insert(len(clean.headers) if at is None else at, tag)
    verdicts, position = report.black_verdicts(), clean.start
    for each, ply, before, after in zip(clean.moves, report.plies, verdicts, verdicts[1:], strict=False):
        verdict = "" if after is None or after == before else f"{VERDICTS[after]} by the tables."
        each.comments.append(" ".join(filter(None, (black_text(ply.black_points), sentence(ply), verdict))))
        if ply.grade is not None:
            each.nags.append(NAGS[ply.grade])
            better, points = Game(position), ply.points if ply.black else 1 - ply.points
            for move in ply.line:
                better.push(move)
            each.variations.append(Variation([black_text(points)], list(map(PdnMove, better.moves))))
        position = position.push(each.move)
    if report.theory:
        comments = clean.comments if clean.termination_marker is None else clean.final_comments
        comments.append(f"{_TABLES} {report.theory}")
    return clean


def strip(game: PdnGame) -> PdnGame:
    """Return a copy without the comments, grades and better lines of an analysis by ckai, if it has one."""
    clean = deepcopy(game)
    clean.headers = [
        (name, value)
        for name, value in game.headers
        if name.lower() != "annotator" or value.split()[:1] != [ANNOTATOR]
    ]
    if len(clean.headers) < len(game.headers):
        for comments in (clean.comments, clean.final_comments):
            comments[:] = [comment for comment in comments if not comment.startswith(_TABLES)]
        for each in clean.moves:
            said = "".join(filter(_OURS.match, each.comments))
            for grade in Grade:
                if NAGS[grade] in each.nags and f" {grade.capitalize()}, " in said:
                    each.nags.remove(NAGS[grade])
            each.comments = [text for text in each.comments if not _OURS.match(text)]
            each.variations = [v for v in each.variations if not any(map(_OURS.match, v.comments))]
    return clean


def black_text(points: float) -> str:
    """Return what a comment says of Black's expected points, 0 to 1: `Black 65%.`"""
    return f"Black {percent(points)}."


def sentence(ply: PlyReport) -> str:
    """Return what a comment says of a graded move: `Mistake, costs 18%. Better: 9-14.`"""
    if ply.grade is None:
        return ""
    return f"{ply.grade.capitalize()}, costs {percent(ply.cost)}. Better: {ply.best}."
