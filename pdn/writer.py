"""Write games as PDN text, with everything that the reader keeps."""

import textwrap
from collections.abc import Iterable

from ckai.game import Position
from ckai.pdn.game import PdnGame, PdnMove, Variation

WIDTH = 80


def write_game(game: PdnGame) -> str:
    """Write one game: its tags, a blank line, its moves wrapped at 80 columns, and a blank line.

    A closing brace in a comment becomes a bracket and a line end in a tag a space, because PDN cannot express
    them. A game with a `problem` is written up to it.

    >>> import io
    >>> from ckai.pdn import read_games
    >>> (game,) = read_games(io.BytesIO(b'[Event "Club"]11-15 23-19;remark'))
    >>> write_game(game)
    '[Event "Club"]\\n\\n1. 11-15 23-19 {remark}\\n\\n'
    """
    lines = [f'[{name} "{_escape(value)}"]' for name, value in game.headers]
    words = [*_comments(game.comments), *_moves(game.start, game.moves)]
    if game.token is not None:
        words.append(game.token)
    words += _comments(game.after)
    body: list[str] = []
    for line in textwrap.wrap(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False):
        # The reader would take a comment's line that starts like a tag or a remark for one.
        if body and line.startswith(("[", "%")):
            body[-1] += f" {line}"
        else:
            body.append(line)
    return "\n".join([*lines, *([""] if lines and body else []), *body, "", ""])


def write_games(games: Iterable[PdnGame]) -> str:
    """Write several games, one after the other; see `write_game`.

    >>> from ckai.game import Game
    >>> from ckai.pdn import from_game
    >>> write_games(from_game(Game(), {}, result) for result in ("1-0", "*")).count("[Result ")
    2
    """
    return "".join(map(write_game, games))


def _escape(value: str) -> str:
    return " ".join(value.split("\n")).replace("\r", " ").replace("\\", "\\\\").replace('"', '\\"')


def _comments(comments: Iterable[str]) -> list[str]:
    return ["{" + comment.replace("}", ")") + "}" for comment in comments]


def _moves(start: Position, moves: list[PdnMove], ply: int = 0) -> list[str]:
    """The words of a line of moves from a position; `ply` is the 0-based ply of its first move."""
    words: list[str] = []
    position = start
    first_black = start.black == (ply % 2 == 0)
    interrupted = True
    for n, each in enumerate(moves):
        count = ply + n + (0 if first_black else 1)
        if position.black:
            words.append(f"{count // 2 + 1}.")
        elif interrupted:
            words.append(f"{count // 2 + 1}. ...")
        words.append(f"{each.move}{each.marks}")
        words += [f"${nag}" for nag in each.nags]
        words += _comments(each.comments)
        for variation in each.variations:
            words += _variation(position, variation, ply + n)
        interrupted = bool(each.comments or each.variations)
        position = position.push(each.move)
    return words


def _variation(position: Position, variation: Variation, ply: int) -> list[str]:
    words = [*_comments(variation.comments), *_moves(position, variation.moves, ply)]
    if variation.rest:
        words.append(variation.rest)
    return [f"({words[0]}", *words[1:-1], f"{words[-1]})"] if len(words) > 1 else [f"({''.join(words)})"]
