"""Errors of positions and moves. All are `ValueError`s whose message is one line."""


class PositionError(ValueError):
    """A position that the rules exclude, or text that is not a FEN.

    >>> from ckai.game import Position
    >>> Position.from_fen("B:W18:B29")
    Traceback (most recent call last):
    ckai.game.errors.PositionError: FEN 'B:W18:B29': a man of Black on its crowning row, square 29
    """


class MoveError(ValueError):
    """A text that is no move, is illegal or fits several moves; quotes it and lists the legal ones.

    >>> from ckai.game import MoveError, Position
    >>> for fen, text in (("B:W18:B1", "e3-f4"), ("B:W15:B11,1", "1-5"), ("B:W6,14,7,15:B2", "2x18")):
    ...     try:
    ...         Position.from_fen(fen).push(text)
    ...     except MoveError as error:
    ...         print(error)
    'e3-f4' is not a move such as 11-15 or 26x17x10 here (legal: 1-5, 1-6)
    '1-5' is illegal here (legal: 11x18)
    '2x18' is ambiguous here (legal: 2x9x18, 2x11x18)
    """
