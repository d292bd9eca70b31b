"""Games to PDN text, everything that the reader keeps included."""

import textwrap
from collections.abc import Iterable

from ckai.game import Move, Position
from ckai.pdn.game import PdnGame, PdnMove, Variation

WIDTH = 80


def write_game(game: PdnGame) -> str:
    """A game as PDN: its tags, a blank line, its moves wrapped at 80 columns, and a blank line.

    What cannot be written as it is: a closing brace in a comment becomes a bracket, a line end in a tag a
    blank. A game that was cut short is written as far as it was played.
    """
    lines = [f'[{name} "{_escape(value)}"]' for name, value in game.headers]
    words = [*_comments(game.comments), *_moves(game.start, game.moves)]
    if game.token is not None:
        words.append(game.token)
    words += _comments(game.after)
    body: list[str] = []
    for line in textwrap.wrap(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False):
        # Inside a comment a line that begins like a tag or a remark would be read as one.
        if body and line.startswith(("[", "%")):
            body[-1] += f" {line}"
        else:
            body.append(line)
    return "\n".join([*lines, *([""] if lines and body else []), *body, "", ""])


def write_games(games: Iterable[PdnGame]) -> str:
    """Several games, one after the other."""
    return "".join(map(write_game, games))


def _escape(value: str) -> str:
    return " ".join(value.split("\n")).replace("\r", " ").replace("\\", "\\\\").replace('"', '\\"')


def _comments(comments: Iterable[str]) -> list[str]:
    return ["{" + comment.replace("}", ")") + "}" for comment in comments]


def _moves(start: Position, moves: list[PdnMove], ply: int = 0) -> list[str]:
    """The words of a line of moves from a position; `ply` counts from the game's start."""
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
        words.append(_text(each.move, position) + each.marks)
        words += [f"${nag}" for nag in each.nags]
        words += _comments(each.comments)
        for variation in each.variations:
            words += _variation(position, variation, ply + n)
        interrupted = bool(each.comments or each.variations)
        position = position.push(each.move)
    return words


def _text(move: Move, position: Position) -> str:
    return str(move)


def _variation(position: Position, variation: Variation, ply: int) -> list[str]:
    words = [*_comments(variation.comments), *_moves(position, variation.moves, ply)]
    if variation.rest:
        words.append(variation.rest)
    return [f"({words[0]}", *words[1:-1], f"{words[-1]})"] if len(words) > 1 else [f"({''.join(words)})"]
