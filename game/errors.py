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

    >>> from ckai.game import Position
    >>> Position.from_fen("B:W6,14,7,15:B2").push("2x18")
    Traceback (most recent call last):
    ckai.game.errors.MoveError: '2x18' is ambiguous here (legal: 2x9x18, 2x11x18)
    """
