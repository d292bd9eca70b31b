"""Split PDN into tokens and these into games, in Numba: the one grammar of all readers.

PDN's syntax is ASCII; `plain_text` turns the dashes, spaces and signs that editors insert into it. NUL bytes
and other control characters count as spaces.

A number and the separators and numbers after it, across spaces and line ends, make one move: `5x 14`, `11 -
15`. With a 0 (or as `1-1`) they make a result. An open brace ends at the next line that is a tag, so that a
forgotten `}` does not swallow the games after it.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import inner, kernel

# Kinds of token
TAG, COMMENT, LINE, UNCLOSED, OPEN, CLOSE, NAG, MARK, NUMBER, BARE, MOVE, RESULT, JUNK, STRAY = range(1, 15)

# Values of a RESULT
NO_RESULT, BLACK_WON, WHITE_WON, DRAWN, UNKNOWN = range(5)

RESULT_TEXT = {BLACK_WON: "1-0", WHITE_WON: "0-1", DRAWN: "1/2-1/2", UNKNOWN: "*", NO_RESULT: None}
"""PDN results by token value. In English draughts "1-0" means that Black, the first mover, won."""

MAX_SQUARES = 13
"""Most squares of a move: it has at most twelve hops."""

TOKEN = np.dtype(
    [
        ("start", np.int32),  # first byte
        ("end", np.int32),  # after the last byte
        ("first", np.int32),  # MOVE: index of its first square among those of all moves
        ("kind", np.uint8),
        ("value", np.uint8),  # MOVE: number of squares; RESULT: which; NUMBER, BARE, NAG: up to 255
    ],
    align=True,
)

_UTF8 = {
    sign.encode(): plain
    for plain, signs in {
        b"  -": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
        b"...": "\u2026",
        b"   ": "\ufeff",
        b"  ": "\xa0",
        b" x": "\xd7",
        b" \xbd": "\xbd",  # one half, as a single byte
    }.items()
    for sign in signs
}
"""Signs of UTF-8, and as many bytes that mean the same."""
_CP1252 = bytes.maketrans(b"\x96\x97\x85\xa0\xd7", b"--. x")


def plain_text(data: bytes) -> bytes:
    """Return text with LF as line ends and ASCII signs; every byte stays in its place."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    if not data.isascii():
        for sign, plain in _UTF8.items():
            data = data.replace(sign, plain)
        data = data.translate(_CP1252)
    return data


@inner
def _skip_space(data, i):
    while i < len(data) and data[i] <= 32:
        i += 1
    return i


@inner
def _skip_blanks(data, i):
    """As `_skip_space`, but stops at a line end."""
    while i < len(data) and data[i] <= 32 and data[i] != 10:
        i += 1
    return i


@inner
def _is_digit(data, i):
    return i < len(data) and 48 <= data[i] <= 57


@inner
def _is_letter(data, i):
    return i < len(data) and (65 <= data[i] <= 90 or 97 <= data[i] <= 122)


@inner
def _end_of_name(data, i):
    """Index of the byte after the name of the tag that opens at `i`."""
    i += 1
    while _is_letter(data, i) or _is_digit(data, i) or (i < len(data) and data[i] == 95):
        i += 1
    return i


@inner
def _line_end(data, i):
    while i < len(data) and data[i] != 10:
        i += 1
    return i


@inner
def _end_of_comment(data, i):
    """Index of the first byte from `i` on that ends a comment: a closing brace or a line end before a tag."""
    n = len(data)
    while i < n and data[i] != 125:
        if data[i] == 10:
            k = _skip_blanks(data, i + 1)
            if k < n and data[k] == 91 and _is_letter(data, k + 1):
                k = _skip_blanks(data, _end_of_name(data, k))
                if k < n and data[k] == 34:
                    break
        i += 1
    return i


@inner
def _end_of_tag(data, i):
    """Index of the byte after the tag that opens at `i`; a tag ends with its line at the latest."""
    n = len(data)
    j = i + 1
    quoted = False
    while j < n and data[j] != 10:
        c = data[j]
        if not quoted:
            if c == 93:
                return j + 1
            quoted = c == 34
        elif c == 92 and j + 1 < n and (data[j + 1] == 34 or data[j + 1] == 92):
            j += 1
        elif c == 34:
            # A quotation mark closes the value only before the bracket: values may contain quotations.
            k = _skip_blanks(data, j + 1)
            if k < n and data[k] == 93:
                return k + 1
        j += 1
    return j


@inner
def _read_number(data, i):
    """Return (value, at most 255, index of the byte after it) of the digits at `i`."""
    value = 0
    while _is_digit(data, i):
        value = min(255, value * 10 + (data[i] - 48))
        i += 1
    return value, i


@inner
def _half(data, i):
    """Index of the byte after `1/2` or the sign for it at `i`, -1 if there is none."""
    n = len(data)
    if i + 2 < n and data[i] == 49 and data[i + 1] == 47 and data[i + 2] == 50 and not _is_digit(data, i + 3):
        return i + 3
    return i + 1 if i < n and data[i] == 0xBD else -1


@inner
def _result_of(a, b):
    """The result that two numbers joined by a dash make, NO_RESULT if they are squares."""
    if a == 0 and b == 0:
        return UNKNOWN
    if (a == 1 or a == 2) and b == 0:
        return BLACK_WON
    if a == 0 and (b == 1 or b == 2):
        return WHITE_WON
    if a == 1 and b == 1:
        return DRAWN
    return NO_RESULT


@inner
def _read_numbers(data, i, squares, used):
    """(kind, value, end) of a token that starts with a digit or a half; a MOVE's squares go to `squares`."""
    n = len(data)
    end = _half(data, i)
    if end >= 0:
        k = _skip_space(data, end)
        if k < n and data[k] == 45:
            end = max(end, _half(data, _skip_space(data, k + 1)))
        return RESULT, DRAWN, end
    squares[used], end = _read_number(data, i)
    count, dashes = 1, True
    k = _skip_space(data, end)
    while k < n and (data[k] == 45 or data[k] == 120 or data[k] == 88 or data[k] == 58):  # - x X :
        dashes = dashes and data[k] == 45
        k = _skip_space(data, k + 1)
        if not _is_digit(data, k) or _half(data, k) >= 0:
            break
        value, end = _read_number(data, k)
        if count < MAX_SQUARES + 1:
            squares[used + count] = value
            count += 1
        k = _skip_space(data, end)
    if count == 1:
        k = _skip_space(data, end)
        if k == n or data[k] != 46:
            return BARE, squares[used], end
        while k < n and data[k] == 46:
            k += 1
        return NUMBER, squares[used], k
    if count == 2 and dashes:
        result = _result_of(squares[used], squares[used + 1])
        if result != NO_RESULT:
            return RESULT, result, end
    if count > MAX_SQUARES:
        return JUNK, 0, end
    return MOVE, count, end


@kernel
def lex(data, final, tokens, squares):
    """Split a chunk into tokens, and return their number.

    Args:
        data: `[N]` uint8, see `plain_text`.
        final: whether the chunk ends the file.
        tokens: `[>= N + 1]` TOKEN, filled.
        squares: `[>= N + MAX_SQUARES + 2]` uint8, filled.
    """
    n = len(data)
    i, count, used = 0, 0, 0
    fresh = True  # only blanks since the line started
    stop = 0  # `_end_of_comment` of braces before it; computed once for all of them
    while i < n:
        c = data[i]
        if c <= 32 or c == 46:  # dots apart from their move number
            fresh = c == 10 or (fresh and c <= 32)
            i += 1
            continue
        token = tokens[count]
        token.start = i
        token.value = 0
        if c == 59 or (c == 37 and fresh):
            kind, end = LINE, _line_end(data, i)
        elif c == 123:
            if stop <= i:
                stop = _end_of_comment(data, i + 1)
            if stop < n and data[stop] == 125:
                kind, end = COMMENT, stop + 1
            elif stop < n or not final:  # at the end the next chunk decides
                kind, end = UNCLOSED, stop
            else:
                kind, end = UNCLOSED, _line_end(data, i)
        elif c == 91 and _is_letter(data, i + 1):
            kind, end = TAG, _end_of_tag(data, i)
        elif c == 40:
            kind, end = OPEN, i + 1
        elif c == 41:
            kind, end = CLOSE, i + 1
        elif c == 125:
            kind, end = STRAY, i + 1
        elif c == 36 and _is_digit(data, i + 1):
            kind = NAG
            token.value, end = _read_number(data, i + 1)
        elif c == 33 or c == 63:
            kind, end = MARK, i + 1
            while end < n and (data[end] == 33 or data[end] == 63):
                end += 1
        elif c == 42:
            attached = count > 0 and tokens[count - 1].end == i and tokens[count - 1].kind in (MOVE, MARK)
            kind, end = (MARK if attached else RESULT), i + 1
            token.value = 0 if attached else UNKNOWN
        elif _is_digit(data, i) or _half(data, i) >= 0:
            kind, value, end = _read_numbers(data, i, squares, used)
            token.value = value
            if kind == MOVE:
                token.first = used
                used += value
        else:
            kind, end = JUNK, i + 1
            while end < n and data[end] > 32 and data[end] not in (40, 41, 59, 91, 123):  # ( ) ; [ {
                end += 1
        token.kind = kind
        token.end = end
        count += 1
        fresh = False
        i = end
    return count


def read_tokens(data: NDArray[np.uint8], final: bool) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Split a chunk into tokens, `[T]` TOKEN and `[S]` squares of its moves, 255 for larger; see `lex`."""
    tokens = np.empty(len(data) + 1, TOKEN)
    squares = np.empty(len(data) + MAX_SQUARES + 2, np.uint8)
    return tokens[: lex(data, final, tokens, squares)], squares


@lru_cache(1000)
def result_in(text: str) -> int:
    """The result that a text begins with, NO_RESULT if it begins otherwise."""
    tokens = read_tokens(np.frombuffer(plain_text(text[:16].encode()), np.uint8), True)[0]
    return int(tokens[0]["value"]) if len(tokens) and tokens[0]["kind"] == RESULT else NO_RESULT


# --- games --------------------------------------------------------------------------------------------


@inner
def next_word(tokens, t, last):
    """The next token after `t` that is not a comment, `last` if there is none."""
    t += 1
    while t < last and (tokens[t].kind == COMMENT or tokens[t].kind == LINE):
        t += 1
    return t


@inner
def _numbers_a_move(tokens, t, last):
    t = next_word(tokens, t, last)
    return t < last and tokens[t].kind == MOVE


@inner
def _after_blank_line(data, tokens, t):
    ends = 0
    for i in range(tokens[t - 1].end, tokens[t].start):
        ends += data[i] == 10
    return ends >= 2


@inner
def _repeats(data, tokens, t, first):
    """Whether tag `t` has the name of an earlier one of the game whose first token is `first`."""
    start = tokens[t].start
    length = _end_of_name(data, start) - start
    for other in range(first, t):
        if tokens[other].kind == TAG:
            begin = tokens[other].start
            k = 0
            while k < length and data[begin + k] | 32 == data[start + k] | 32:
                k += 1
            if k == length and _end_of_name(data, begin) - begin == length:
                return True
    return False


@inner
def _starts_anew(data, tokens, t, first):
    """Whether token `t`, at 0 brackets and after moves, is a move number 1 that follows a blank line.

    `1. ...` is none: it continues the first move. `first` is the game's first token.
    """
    if tokens[t].value != 1 or not _numbers_a_move(tokens, t, len(tokens)):
        return False
    i = tokens[t].end
    dots = _skip_blanks(data, i)
    if (i - tokens[t].start > 2 and data[i - 2] == 46) or (dots < len(data) and data[dots] == 46):
        return False
    while t > first:
        if _after_blank_line(data, tokens, t):
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
            if not starts and tagged and _after_blank_line(data, tokens, t):
                starts = _repeats(data, tokens, t, games[count, 0])
        elif kind in (COMMENT, LINE, UNCLOSED):
            starts = not open_
        elif kind == MOVE:
            starts = not open_ or ended
        elif begun:
            number = kind in (NUMBER, BARE) and moved and depth == 0
            starts = number and _starts_anew(data, tokens, t, games[count, 0])
        elif kind in (NUMBER, BARE) and _numbers_a_move(tokens, t, len(tokens)):
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
        elif kind == RESULT:
            # Move number 1 after a result in an unclosed variation starts a new game.
            again = t + 1 < len(tokens) and tokens[t + 1].kind == NUMBER and tokens[t + 1].value == 1
            ended = depth == 0 or again
    if open_ and (tagged or moved):
        games[count, 1] = len(tokens)
        count += 1
    return count
