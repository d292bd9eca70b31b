"""Mistakes of analysed games as puzzles, kept in one PDN file and due again after days.

A puzzle is a game from the position of the mistake: the better line, the move that was played as a variation
of it, and the tags Due (a date) and Days (between two times; 0: not asked yet). `ckai solve` reads the file
like any other.
"""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path

from ckai.datasets.files import write_whole
from ckai.game import Game, Position
from ckai.pdn import PdnGame, PdnMove, Variation, from_game, read_games, write_game
from ckai.rl.analysis.annotation import sentence
from ckai.rl.analysis.report import NAGS, GameReport, Grade, move_number

MISTAKES = Path("mistakes.pdn")
"""The file, in the current folder."""
GROWTH = 2.5
"""Of the days after which a puzzle is due again, when it was solved at once (as in SuperMemo 2); else it is
due the next day."""


def puzzles_of(game: PdnGame, report: GameReport, player: str) -> Iterator[PdnGame]:
    """Yield the mistakes and blunders in a game of a player, part of whose name is given, as puzzles."""
    sides = {black: game.header("Black" if black else "White") or "" for black in (True, False)}
    position = game.start
    for n, (each, ply) in enumerate(zip(game.moves, report.plies, strict=True)):
        if ply.grade in (Grade.MISTAKE, Grade.BLUNDER) and player.lower() in sides[ply.black].lower():
            line = Game(position)
            for move in ply.line:
                line.push(move)
            event = (
                f"{sides[True] or '?'} - {sides[False] or '?'}, {move_number(report.plies, n)} {each.move}"
            )
            puzzle = from_game(line, {"Event": event, "Due": _text(date.today()), "Days": "0"})
            played = PdnMove(each.move, [NAGS[ply.grade]])
            puzzle.moves[0].variations.append(Variation([sentence(ply)], [played]))
            yield puzzle
        position = position.push(each.move)


def played(puzzle: PdnGame) -> PdnMove:
    """Return the mistake of a puzzle."""
    return puzzle.moves[0].variations[0].moves[0]


def load(path: Path = MISTAKES) -> list[PdnGame]:
    """Return the puzzles of the file.

    Raises:
        ValueError: there is no such file, or something else is in it: the next answer would lose that.
        OSError: it cannot be read.
    """
    if not path.exists():
        raise ValueError(
            f"{path}: expected mistakes to learn from, found no such file; `ckai analyze` writes it"
        )
    puzzles, other = list(read_games(path)), f"{path}: expected mistakes that `ckai analyze` kept, found "
    for game in puzzles:
        moves = [] if game.problem or not game.header("Due") else game.moves[:1]
        if not any(each.moves for move in moves for each in move.variations[:1]):
            raise ValueError(f"{other}another game in line {game.line}; move it to another file")
    if not puzzles:
        raise ValueError(f"{other}none; remove it, and `ckai analyze` writes it anew")
    return puzzles


def save(puzzles: Iterable[PdnGame], path: Path = MISTAKES) -> None:
    """Write the file; a WriteError says that it cannot be written."""
    write_whole(path, "".join(map(write_game, puzzles)))


def add(puzzles: Iterable[PdnGame], path: Path = MISTAKES) -> int:
    """Add puzzles that the file does not have, and return their number."""
    known = {key(each): each for each in (load(path) if path.exists() else [])}
    before = len(known)
    for each in puzzles:
        known.setdefault(key(each), each)
    if len(known) > before:
        save(known.values(), path)
    return len(known) - before


def is_due(puzzle: PdnGame) -> bool:
    """Return whether a puzzle is due today."""
    return (puzzle.header("Due") or "") <= _text(date.today())


def next_due(puzzles: Iterable[PdnGame]) -> str:
    """Return the date on which the first of some puzzles is due, empty without puzzles."""
    return min((each.header("Due") or "" for each in puzzles), default="")


def answer(puzzle: PdnGame, right: bool, path: Path = MISTAKES) -> None:
    """Note an answer of today, and when the puzzle is due again, in the file as it is now."""
    days = puzzle.header("Days") or ""
    before = int(days) if days.isdecimal() and len(days) < 5 else 0
    after = max(before + 1, round(GROWTH * before)) if right else 1
    tags = {"Due": _text(date.today() + timedelta(days=after)), "Days": str(after)}
    puzzle.headers = [(name, tags.get(name, value)) for name, value in puzzle.headers]
    save([puzzle if key(each) == key(puzzle) else each for each in load(path)], path)


def key(puzzle: PdnGame) -> tuple[Position, str]:
    """Return the position of a puzzle and the text of the mistake: no two puzzles of a file share both."""
    return puzzle.start, str(played(puzzle).move)


def _text(day: date) -> str:
    return day.strftime("%Y.%m.%d")
