"""What can be wrong with a position or a move."""


class PositionError(ValueError):
    """A position that cannot be, or a FEN that cannot be read."""


class MoveError(ValueError):
    """A move that cannot be played; says the text, and the legal moves where there is a position."""


class MoveTextError(MoveError):
    """Text that is no move at all."""


class IllegalMoveError(MoveError):
    """A move the rules do not allow here."""


class AmbiguousMoveError(MoveError):
    """Text that fits two or more different moves."""
