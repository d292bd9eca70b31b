"""Split PDN into tokens, in one Numba pass over bytes. Both readers use this one grammar.

The lexer reads bytes without decoding them: PDN's syntax is ASCII, except dashes and spaces that editors
insert (in UTF-8 or cp1252). NUL bytes and byte order marks count as spaces, a lone CR as a line end.

A number and the separators and numbers after it, across spaces and line ends, make one move: `5x 14`, `11 -
15`. With a 0 (or as `1-1`) they make a result. An open brace ends at the next line that is a tag, so that a
forgotten `}` does not swallow the games after it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import inner, kernel

# Kinds of token
TAG, COMMENT, LINE, UNCLOSED, OPEN, CLOSE, NAG, MARK, NUMBER, BARE, MOVE, RESULT, JUNK, STRAY = range(1, 15)

# Values of a RESULT
NO_RESULT, BLACK_WON, WHITE_WON, DRAWN, UNKNOWN = range(5)

MAX_SQUARES = 13
"""Most squares of a move: it has at most twelve hops."""

MAX_COMMENT_BYTES = 1 << 20
"""Most bytes of a comment; a longer one counts as unclosed."""

TOKEN = np.dtype(
    [
        ("start", np.int32),  # first byte
        ("end", np.int32),  # after the last byte
        ("line", np.int32),  # 0-based line of the chunk
        ("first", np.int32),  # MOVE: index of its first square in `squares`
        ("kind", np.uint8),
        ("value", np.uint8),  # MOVE: number of squares; RESULT: which; NUMBER, BARE, NAG: up to 255
    ],
    align=True,
)


class Tokens(NamedTuple):
    """The tokens of a chunk."""

    tokens: NDArray[Any]
    """[T] TOKEN."""
    squares: NDArray[np.uint8]
    """[S] squares of the moves as written, 255 for larger numbers."""


@inner
def is_space(c):
    """Whether a byte is a blank, a tab, NUL or another control byte, but not a line end."""
    return c <= 32 and c != 10 and c != 13


@inner
def blank_length(data, i):
    """Length of the blank at `i`: a space or control byte, a no-break space, a byte order mark; 0 if none."""
    n = len(data)
    c = data[i]
    if is_space(c) or c == 0xA0:
        return 1
    if c == 0xC2 and i + 1 < n and data[i + 1] == 0xA0:
        return 2
    if c == 0xEF and i + 2 < n and data[i + 1] == 0xBB and data[i + 2] == 0xBF:
        return 3
    return 0


@inner
def skip_space(data, i):
    """Index of the first byte from `i` on that is neither a blank nor a line end."""
    n = len(data)
    while i < n:
        width = 1 if data[i] == 10 or data[i] == 13 else blank_length(data, i)
        if width == 0:
            break
        i += width
    return i


@inner
def dash_length(data, i):
    """Length of the dash at `i`: `-`, en or em dash or minus in UTF-8, en or em dash in cp1252; 0 if none."""
    c = data[i]
    if c == 45 or c == 0x96 or c == 0x97:
        return 1
    if c == 0xE2 and i + 2 < len(data):
        b, d = data[i + 1], data[i + 2]
        if (b == 0x80 and 0x90 <= d <= 0x95) or (b == 0x88 and d == 0x92):
            return 3
    return 0


@inner
def cross_length(data, i):
    """Length of the capture sign at `i`: `x`, `X`, `:`, or the multiplication sign; 0 if none."""
    c = data[i]
    if c == 120 or c == 88 or c == 58 or c == 0xD7:
        return 1
    if c == 0xC3 and i + 1 < len(data) and data[i + 1] == 0x97:
        return 2
    return 0


@inner
def is_digit(data, i):
    """Whether there is a digit at `i`."""
    return i < len(data) and 48 <= data[i] <= 57


@inner
def is_letter(data, i):
    """Whether there is an ASCII letter at `i`."""
    return i < len(data) and (65 <= data[i] <= 90 or 97 <= data[i] <= 122)


@inner
def is_tag(data, i):
    """Whether `[Name "` starts at `i`, after any blanks."""
    n = len(data)
    while i < n and is_space(data[i]):
        i += 1
    if i >= n or data[i] != 91 or not is_letter(data, i + 1):
        return False
    i += 1
    while i < n and (is_letter(data, i) or is_digit(data, i) or data[i] == 95):
        i += 1
    while i < n and is_space(data[i]):
        i += 1
    return i < n and data[i] == 34


@inner
def line_end(data, i):
    """Index of the first line end from `i` on."""
    n = len(data)
    while i < n and data[i] != 10 and data[i] != 13:
        i += 1
    return i


@kernel
def count_lines(data, i, j):
    """Count the line ends in `data[i:j]`: LF, CR LF, or a lone CR."""
    n = 0
    for k in range(i, j):
        if data[k] == 10 or (data[k] == 13 and not (k + 1 < len(data) and data[k + 1] == 10)):
            n += 1
    return n


@inner
def stop_of_comments(data, i):
    """Index of the first byte from `i` on that ends a comment: a closing brace or a line end before a tag."""
    n = len(data)
    while i < n:
        c = data[i]
        if c == 125 or ((c == 10 or c == 13) and is_tag(data, i + 1)):
            break
        i += 1
    return i


@inner
def end_of_comment(data, i, stop, final):
    """Return (end, closed) of the comment whose brace opens at `i`; `stop` is its `stop_of_comments`."""
    n = len(data)
    if stop - i <= MAX_COMMENT_BYTES:
        if stop < n:
            return (stop + 1, True) if data[stop] == 125 else (stop, False)
        if not final:
            return n, False  # the next chunk decides
    return line_end(data, i), False


@inner
def end_of_tag(data, i):
    """Index of the byte after the tag that opens at `i`; a tag ends with its line at the latest."""
    n = len(data)
    j = i + 1
    quoted = False
    while j < n:
        c = data[j]
        if c == 10 or c == 13:
            return j
        if not quoted:
            if c == 93:
                return j + 1
            quoted = c == 34
        elif c == 92 and j + 1 < n and (data[j + 1] == 34 or data[j + 1] == 92):
            j += 1
        elif c == 34:
            # A quotation mark closes the value only before the bracket: values may contain quotations.
            k = j + 1
            while k < n and is_space(data[k]):
                k += 1
            if k < n and data[k] == 93:
                return k + 1
        j += 1
    return n


@inner
def read_number(data, i):
    """Return (value, at most 255, index of the byte after it) of the digits at `i`."""
    value = 0
    while is_digit(data, i):
        value = min(255, value * 10 + (data[i] - 48))
        i += 1
    return value, i


@inner
def half(data, i):
    """Index of the byte after `1/2` (or the one-half sign in cp1252 or UTF-8) at `i`, -1 if there is none."""
    n = len(data)
    if i + 2 < n and data[i] == 49 and data[i + 1] == 47 and data[i + 2] == 50 and not is_digit(data, i + 3):
        return i + 3
    if i < n and data[i] == 0xBD:
        return i + 1
    if i + 1 < n and data[i] == 0xC2 and data[i + 1] == 0xBD:
        return i + 2
    return -1


@inner
def result_of(a, b):
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
def read_numbers(data, i, squares, used):
    """Read a token that starts with a digit or a half.

    Returns:
        (kind, value, end): the kind is MOVE, with its squares written to `squares` from `used` on, RESULT,
        NUMBER, BARE or JUNK.
    """
    n = len(data)
    end = half(data, i)
    if end >= 0:
        k = skip_space(data, end)
        if k < n and dash_length(data, k):
            other = half(data, skip_space(data, k + dash_length(data, k)))
            if other >= 0:
                end = other
        return RESULT, DRAWN, end
    value, end = read_number(data, i)
    count = 1
    dashes = True
    squares[used] = value
    while True:
        k = skip_space(data, end)
        if k >= n:
            break
        width = dash_length(data, k)
        if width == 0:
            width = cross_length(data, k)
            if width == 0:
                break
            dashes = False
        k = skip_space(data, k + width)
        if not is_digit(data, k) or half(data, k) >= 0:
            break
        value, end = read_number(data, k)
        if count < MAX_SQUARES + 1:
            squares[used + count] = value
            count += 1
    if count == 1:
        k = skip_space(data, end)
        if k < n and data[k] == 46:
            while k < n and data[k] == 46:
                k += 1
            return NUMBER, squares[used], k
        return BARE, squares[used], end
    if count == 2 and dashes:
        result = result_of(squares[used], squares[used + 1])
        if result != NO_RESULT:
            return RESULT, result, end
    if count > MAX_SQUARES:
        return JUNK, 0, end
    return MOVE, count, end


@kernel
def lex(data, final, tokens, squares):
    """Split a chunk into tokens.

    Args:
        data: `[N]` uint8.
        final: whether the chunk ends the file.
        tokens: `[>= N + 1]` TOKEN, filled.
        squares: `[>= N + MAX_SQUARES + 2]` uint8, filled.

    Returns:
        The number of tokens.
    """
    n = len(data)
    i, line, count, used = 0, 0, 0, 0
    fresh = True  # only blanks since the line started
    stop = 0  # `stop_of_comments` of braces before it; computed once for all of them
    while i < n:
        c = data[i]
        if c == 10 or c == 13:
            if c == 10 or not (i + 1 < n and data[i + 1] == 10):
                line += 1
            fresh = True
            i += 1
            continue
        width = blank_length(data, i)
        if width > 0:
            i += width
            continue
        token = tokens[count]
        token.start = i
        token.line = line
        token.value = 0
        if c == 59 or (c == 37 and fresh):
            kind, end = LINE, line_end(data, i)
        elif c == 123:
            if stop <= i:
                stop = stop_of_comments(data, i + 1)
            end, closed = end_of_comment(data, i, stop, final)
            kind = COMMENT if closed else UNCLOSED
        elif c == 91 and is_letter(data, i + 1):
            kind, end = TAG, end_of_tag(data, i)
        elif c == 40:
            kind, end = OPEN, i + 1
        elif c == 41:
            kind, end = CLOSE, i + 1
        elif c == 125:
            kind, end = STRAY, i + 1
        elif c == 36 and is_digit(data, i + 1):
            kind = NAG
            token.value, end = read_number(data, i + 1)
        elif c == 33 or c == 63:
            kind, end = MARK, i + 1
            while end < n and (data[end] == 33 or data[end] == 63):
                end += 1
        elif c == 42:
            attached = count > 0 and tokens[count - 1].end == i and tokens[count - 1].kind in (MOVE, MARK)
            kind, end = (MARK if attached else RESULT), i + 1
            token.value = 0 if attached else UNKNOWN
        elif is_digit(data, i) or half(data, i) >= 0:
            kind, value, end = read_numbers(data, i, squares, used)
            token.value = value
            if kind == MOVE:
                token.first = used
                used += value
        elif c == 46 or c == 0x85:
            i += 1  # dots apart from their move number, or the ellipsis of cp1252
            continue
        elif c == 0xE2 and i + 2 < n and data[i + 1] == 0x80 and data[i + 2] == 0xA6:
            i += 3  # the ellipsis in UTF-8
            continue
        else:
            kind, end = JUNK, i + 1
            while end < n and data[end] > 32 and data[end] != 123 and data[end] != 91:
                if data[end] == 40 or data[end] == 41 or data[end] == 59:
                    break
                end += 1
        token.kind = kind
        token.end = end
        count += 1
        line += count_lines(data, np.int64(i), end)
        fresh = False
        i = end
    return count


def read_tokens(data: NDArray[np.uint8], final: bool) -> Tokens:
    """Split a chunk into tokens; see `lex`."""
    tokens = np.empty(len(data) + 1, TOKEN)
    squares = np.empty(len(data) + MAX_SQUARES + 2, np.uint8)
    count = lex(data, final, tokens, squares)
    return Tokens(tokens[:count], squares)
