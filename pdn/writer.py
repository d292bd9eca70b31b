"""Write games as PDN text, with everything that the reader keeps."""

import re
import textwrap
from collections.abc import Iterable

from ckai.pdn.game import PdnGame, PdnMove

WIDTH = 80


def write_game(game: PdnGame) -> str:
    """Write one game: its tags, a blank line, its moves wrapped at 80 columns, and a blank line.

    What PDN cannot express is replaced: a closing brace in a comment by a bracket, control characters and
    line ends by spaces. Everything else is read back as it was, but for the spaces of a comment, of which
    the reader keeps one between two words. A game with a `problem` is written up to it.

    Raises:
        ValueError: a tag name that the reader would not accept: it does not begin with an ASCII letter.
    """
    for name, _ in game.headers:
        if not _TAG.match(name):
            raise ValueError(f"expected a tag name that begins with a letter from A to Z, found {name!r}")
    lines = [f'[{_CONTROLS.sub(" ", name)} "{_escape(value)}"]' for name, value in game.headers]
    words = [*_comments(game.comments), *_moves(game.start.black, game.moves)]
    if game.termination_marker is not None:
        words.append(game.termination_marker)
    words += _comments(game.final_comments)
    body: list[str] = []
    for line in textwrap.wrap(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False):
        # The reader would take a comment's line that starts like a tag or a remark for one.
        if body and line.startswith(("[", "%")):
            body[-1] += f" {line}"
        else:
            body.append(line)
    return "\n".join([*lines, *([""] if lines and body else []), *body, "", ""])


_TAG = re.compile(r"[A-Za-z]")
"""What a tag name begins with, see `ckai.pdn.lexer`."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""C0 and C1 control characters: a terminal would obey them."""


def _escape(value: str) -> str:
    return _CONTROLS.sub(" ", value).replace("\\", "\\\\").replace('"', '\\"')


def _comments(comments: Iterable[str]) -> list[str]:
    return ["{" + " ".join(_CONTROLS.sub(" ", c).replace("}", ")").split()) + "}" for c in comments]


def _moves(black: bool, moves: list[PdnMove], ply: int = 0) -> list[str]:
    """The words of a line of moves; `ply` is the 0-based ply of the first one, and `black` who plays it."""
    words: list[str] = []
    first_black = black == (ply % 2 == 0)
    interrupted = True
    for n, each in enumerate(moves):
        count = ply + n + (0 if first_black else 1)
        if black:
            words.append(f"{count // 2 + 1}.")
        elif interrupted:
            words.append(f"{count // 2 + 1}. ...")
        words.append(f"{each.move}{each.marks}")
        words += [f"${nag}" for nag in each.nags]
        words += _comments(each.comments)
        for line in each.variations:
            inside = [*_comments(line.comments), *_moves(black, line.moves, ply + n)]
            words.append(f"({' '.join(inside)})")
        interrupted = bool(each.comments or each.variations)
        black = not black
    return words
