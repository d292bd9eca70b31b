"""Errors of positions and moves. All are `ValueError`s whose message is one line."""


class PositionError(ValueError):
    """A position that the rules exclude, or text that is not a FEN.

    >>> from ckai.game import Position
    >>> Position.from_fen("B:W18:B29")
    Traceback (most recent call last):
    ckai.game.errors.PositionError: FEN 'B:W18:B29': a man of Black on its crowning row, square 29
    """


class MoveError(ValueError):
    """A move that cannot be played. The message quotes the text and lists the legal moves.

    Base class of `MoveTextError`, `IllegalMoveError` and `AmbiguousMoveError`.

    >>> from ckai.game import MoveError, Position
    >>> try:
    ...     Position.from_fen("B:W18:B1").push("1-10")
    ... except MoveError as error:
    ...     print(error)
    '1-10' is illegal here (legal: 1-5, 1-6)
    """


class MoveTextError(MoveError):
    """Text that is not a move.

    >>> from ckai.game import Position
    >>> Position.from_fen("B:W18:B1").push("e3-f4")
    Traceback (most recent call last):
    ckai.game.errors.MoveTextError: 'e3-f4' is not a move such as 11-15 or 26x17x10 here (legal: 1-5, 1-6)
    """


class IllegalMoveError(MoveError):
    """A move that the rules do not allow in the position.

    >>> from ckai.game import Position
    >>> Position.from_fen("B:W15:B11,1").push("1-5")
    Traceback (most recent call last):
    ckai.game.errors.IllegalMoveError: '1-5' is illegal here (legal: 11x18)
    """


class AmbiguousMoveError(MoveError):
    """Text that fits two or more moves: routes that leave and end on the same squares.

    >>> from ckai.game import Position
    >>> Position.from_fen("B:W6,14,7,15:B2").push("2x18")
    Traceback (most recent call last):
    ckai.game.errors.AmbiguousMoveError: '2x18' is ambiguous here (legal: 2x9x18, 2x11x18)
    """
