"""Find where games begin and end among tokens. In Numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import inner, kernel
from ckai.pdn.lexer import (
    BARE,
    CLOSE,
    COMMENT,
    JUNK,
    LINE,
    MOVE,
    NUMBER,
    OPEN,
    RESULT,
    TAG,
    UNCLOSED,
    end_of_name,
    skip_blanks,
)


@inner
def next_word(tokens, t, last):
    """The next token after `t` that is not a comment, `last` if there is none."""
    t += 1
    while t < last and (tokens[t].kind == COMMENT or tokens[t].kind == LINE):
        t += 1
    return t


@inner
def numbers_a_move(tokens, t, last):
    """Whether the next token, comments aside, is a move."""
    t = next_word(tokens, t, last)
    return t < last and tokens[t].kind == MOVE


@inner
def begins_again(tokens, t):
    """Whether token `t` is move number 1: after a result in an unclosed variation it starts a new game."""
    return t < len(tokens) and tokens[t].kind == NUMBER and tokens[t].value == 1


@inner
def after_blank_line(data, tokens, t):
    """Whether there is a blank line before token `t`."""
    ends = 0
    for i in range(tokens[t - 1].end, tokens[t].start):
        ends += data[i] == 10
    return ends >= 2


@inner
def repeats(data, tokens, t, first):
    """Whether tag `t` has the name of an earlier one of the game whose first token is `first`."""
    start = tokens[t].start
    length = end_of_name(data, start) - start
    for other in range(first, t):
        if tokens[other].kind == TAG:
            begin = tokens[other].start
            k = 0
            while k < length and data[begin + k] | 32 == data[start + k] | 32:
                k += 1
            if k == length and end_of_name(data, begin) - begin == length:
                return True
    return False


@inner
def starts_anew(data, tokens, t, first):
    """Whether token `t`, at 0 brackets and after moves, is a move number 1 that follows a blank line.

    `1. ...` is none: it continues the first move. `first` is the game's first token.
    """
    if tokens[t].value != 1 or not numbers_a_move(tokens, t, len(tokens)):
        return False
    i = tokens[t].end
    dots = skip_blanks(data, i)
    if (i - tokens[t].start > 2 and data[i - 2] == 46) or (dots < len(data) and data[dots] == 46):
        return False
    while t > first:
        if after_blank_line(data, tokens, t):
            return True
        t -= 1
        if tokens[t].kind != COMMENT and tokens[t].kind != LINE:
            break
    return False


@kernel
def segment(data, tokens, games):
    """Cut a chunk's tokens into games, and return their number.

    A game starts with its tags, or with its first move if it has none; comments before them belong to it. It
    ends at the next tag after its moves, at a repeated tag or a move number 1 after a blank line, or at the
    next move after its result; comments after a result belong to it. Other tokens between games are strays.

    Args:
        data: `[N]` uint8, the chunk, see `plain_text`.
        tokens: `[T]` TOKEN.
        games: `[>= T + 1, 2]` int32, filled with the first token of each game and the one after its last.
    """
    count = 0
    # `open_`: inside a game; `tagged`, `moved`: it has tags, moves; `ended`: its result was read.
    open_, tagged, moved, ended = False, False, False, False
    depth = 0
    for t in range(len(tokens)):
        kind = tokens[t].kind
        begun = open_ and (tagged or moved) and not ended
        if kind == TAG:
            starts = not open_ or moved or ended
            if not starts and tagged and after_blank_line(data, tokens, t):
                starts = repeats(data, tokens, t, games[count, 0])
        elif kind in (COMMENT, LINE, UNCLOSED):
            starts = not open_
        elif kind == MOVE:
            starts = not open_ or ended
        elif begun:
            number = kind in (NUMBER, BARE) and moved and depth == 0
            starts = number and starts_anew(data, tokens, t, games[count, 0])
        elif kind in (NUMBER, BARE) and numbers_a_move(tokens, t, len(tokens)):
            starts = not open_ or ended
        else:
            open_ = open_ and ended  # comments before stray tokens are strays too
            continue
        if starts:
            if open_ and (tagged or moved):
                games[count, 1] = t
                count += 1
            games[count, 0] = t
            open_, tagged, moved, ended = True, False, False, False
            depth = 0
        if kind == TAG:
            tagged = True
        elif kind in (MOVE, NUMBER, BARE, JUNK):
            moved = True
        elif kind == OPEN:
            depth += 1
        elif kind == CLOSE:
            depth = max(0, depth - 1)
        elif kind == RESULT and (depth == 0 or begins_again(tokens, t + 1)):
            ended = True
    if open_ and (tagged or moved):
        games[count, 1] = len(tokens)
        count += 1
    return count


def find_games(data: NDArray[np.uint8], tokens: NDArray[Any]) -> NDArray[np.int32]:
    """Return `[G, 2]` int32: the first token of each game, and the one after its last."""
    games = np.empty((len(tokens) + 1, 2), np.int32)
    return games[: segment(data, tokens, games)]
