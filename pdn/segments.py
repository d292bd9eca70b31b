"""Find where games begin and end in a chunk, and the tags that the readers need. In Numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import inner, kernel
from ckai.pdn.lexer import (
    BARE,
    BLACK_WON,
    CLOSE,
    COMMENT,
    DRAWN,
    JUNK,
    LINE,
    MOVE,
    NO_RESULT,
    NUMBER,
    OPEN,
    RESULT,
    TAG,
    UNCLOSED,
    UNKNOWN,
    WHITE_WON,
    Tokens,
    count_lines,
    half,
    is_digit,
    is_space,
    read_numbers,
    skip_space,
)

# Tags that the readers need: indices of TAG_NAMES and of a segment's `tags`
EVENT, DATE, BLACK, WHITE, RESULT_TAG, OPENING, FEN, GAME_TYPE, RED, TERMINATION = range(10)
TAG_NAMES = (
    "event", "date", "black", "white", "result", "opening", "fen", "gametype", "red", "termination"
)  # fmt: skip
_NAMES = np.zeros((len(TAG_NAMES), max(map(len, TAG_NAMES))), np.uint8)
for _i, _name in enumerate(TAG_NAMES):
    _NAMES[_i, : len(_name)] = np.frombuffer(_name.encode(), np.uint8)

ENGLISH = 21

SEGMENT = np.dtype(
    [
        ("tags", np.int32, (len(TAG_NAMES), 2)),  # first byte of each value and the one after; -1: no tag
        ("start", np.int32),  # first byte
        ("first", np.int32),  # first token
        ("last", np.int32),  # after the last token
        ("line", np.int32),  # 0-based line of the chunk where it starts
        ("game_type", np.int32),  # 21 without the tag, -1 if unreadable
        ("result_tag", np.uint8),  # NO_RESULT if missing or unreadable
    ],
    align=True,
)


@inner
def tag_value(data, start, end):
    """Return (first byte, byte after the last) of the value of the tag in `data[start:end]`, unquoted."""
    i = start
    while i < end and data[i] != 34:
        i += 1
    if i == end:  # no quotation mark: whatever follows the name
        i = start + 1
        while i < end and data[i] > 32:
            i += 1
        j = end - 1 if data[end - 1] == 93 else end
        return min(skip_space(data, i), j), j
    i += 1
    j = end
    if j > i and data[j - 1] == 93:
        j -= 1
    while j > i and data[j - 1] <= 32:
        j -= 1
    if j > i and data[j - 1] == 34:
        j -= 1
    return i, j


@inner
def tag_number(data, start):
    """The index in TAG_NAMES of the tag at `start`, ignoring case; -1 for other tags."""
    for t in range(len(_NAMES)):
        k = 0
        while k < _NAMES.shape[1] and _NAMES[t, k] != 0:
            i = start + 1 + k
            if i >= len(data) or (data[i] | 32) != _NAMES[t, k]:
                break
            k += 1
        i = start + 1 + k
        if (k == _NAMES.shape[1] or _NAMES[t, k] == 0) and i < len(data) and (data[i] <= 32 or data[i] == 34):
            return t
    return -1


@inner
def result_in(data, start, end):
    """The result in a tag's value, NO_RESULT if it is not one."""
    room = np.empty(32, np.uint8)
    value = data[start : min(end, start + 16)]
    i = skip_space(value, 0)
    if i < len(value) and value[i] == 42:
        return UNKNOWN
    if is_digit(value, i) or half(value, i) >= 0:
        kind, result, _ = read_numbers(value, i, room, 0)
        if kind == RESULT:
            return result
    return NO_RESULT


@inner
def game_type_in(data, start, end):
    """The number that a GameType tag starts with; ENGLISH if the tag is empty, -1 if it starts otherwise."""
    i = skip_space(data, start)
    if i >= end:
        return ENGLISH
    if not is_digit(data, i):
        return -1
    value = 0
    while i < end and is_digit(data, i) and value < 1000:
        value = value * 10 + (data[i] - 48)
        i += 1
    return value


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
def repeats(data, tokens, t, here):
    """Whether tag `t` follows a blank line and repeats one of `here`, a game without moves."""
    number = tag_number(data, tokens[t].start)
    return number >= 0 and here.tags[number, 0] >= 0 and tokens[t].line - tokens[t - 1].line >= 2


@inner
def starts_anew(data, tokens, t, first):
    """Whether token `t`, at 0 brackets and after moves, is a move number 1 that follows a blank line.

    `1. ...` is none: it continues the first move. `first` is the game's first token.
    """
    if tokens[t].value != 1 or not numbers_a_move(tokens, t, len(tokens)):
        return False
    i = tokens[t].end
    if i - tokens[t].start > 2 and data[i - 2] == 46:
        return False
    while i < len(data) and is_space(data[i]):
        i += 1
    if i < len(data) and (data[i] == 46 or data[i] == 0x85 or (data[i] == 0xE2 and data[i + 1] == 0x80)):
        return False
    while t > first:
        if count_lines(data, tokens[t - 1].end, tokens[t].start) >= 2:
            return True
        t -= 1
        if tokens[t].kind != COMMENT and tokens[t].kind != LINE:
            break
    return False


@inner
def note_tag(data, token, here):
    """Store the tag in segment `here` if the readers need it; the first of its name counts."""
    number = tag_number(data, token.start)
    if number < 0 or here.tags[number, 0] >= 0:
        return
    first, last = tag_value(data, token.start, token.end)
    here.tags[number, 0] = first
    here.tags[number, 1] = last
    if number == RESULT_TAG:
        here.result_tag = result_in(data, first, last)
    elif number == GAME_TYPE:
        here.game_type = game_type_in(data, first, last)


@kernel
def segment(data, tokens, segments):
    """Cut a chunk's tokens into games.

    A game starts with its tags, or with its first move if it has none; comments before them belong to it. It
    ends at the next tag after its moves, at a repeated tag or a move number 1 after a blank line, or at the
    next move after its result; comments after a result belong to it. Other tokens between games are strays.

    Args:
        data: `[N]` uint8, the chunk.
        tokens: `[T]` TOKEN.
        segments: `[>= T + 1]` SEGMENT, filled.

    Returns:
        The number of games.
    """
    count = 0
    # `open_`: inside a game; `tagged`, `moved`: it has tags, moves; `ended`: its result was read.
    open_, tagged, moved, ended = False, False, False, False
    depth = 0
    for t in range(len(tokens)):
        kind = tokens[t].kind
        begun = open_ and (tagged or moved) and not ended
        if kind == TAG:
            starts = not open_ or moved or ended or (tagged and repeats(data, tokens, t, segments[count]))
        elif kind in (COMMENT, LINE, UNCLOSED):
            starts = not open_
        elif kind == MOVE:
            starts = not open_ or ended
        elif begun:
            starts = (
                kind in (NUMBER, BARE)
                and moved
                and depth == 0
                and starts_anew(data, tokens, t, segments[count].first)
            )
        elif kind in (NUMBER, BARE) and numbers_a_move(tokens, t, len(tokens)):
            starts = not open_ or ended
        else:
            open_ = open_ and ended  # comments before stray tokens are strays too
            continue
        if starts:
            if open_ and (tagged or moved):
                segments[count].last = t
                count += 1
            here = segments[count]
            here.first = t
            here.start = tokens[t].start
            here.line = tokens[t].line
            here.game_type = ENGLISH
            here.result_tag = NO_RESULT
            here.tags[:] = -1
            open_, tagged, moved, ended = True, False, False, False
            depth = 0
        if kind == TAG:
            tagged = True
            note_tag(data, tokens[t], segments[count])
        elif kind in (MOVE, NUMBER, BARE, JUNK):
            moved = True
        elif kind == OPEN:
            depth += 1
        elif kind == CLOSE:
            depth = max(0, depth - 1)
        elif kind == RESULT and (depth == 0 or begins_again(tokens, t + 1)):
            ended = True
    if open_ and (tagged or moved):
        segments[count].last = len(tokens)
        count += 1
    return count


def find_games(data: NDArray[np.uint8], read: Tokens) -> NDArray[Any]:
    """Return `[G]` SEGMENT, the games of a chunk."""
    segments = np.empty(len(read.tokens) + 1, SEGMENT)
    return segments[: segment(data, read.tokens, segments)]


RESULT_TEXT = {BLACK_WON: "1-0", WHITE_WON: "0-1", DRAWN: "1/2-1/2", UNKNOWN: "*", NO_RESULT: None}
"""PDN results by token value. In English draughts "1-0" means that Black, the first mover, won."""
