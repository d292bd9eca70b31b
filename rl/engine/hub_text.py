"""The text of Hub, the protocol of draughts engines (version 2, Fabien Letouzey): lines, positions, moves.

Both sides use it: `ckai.rl.engine.hub`, which drives other programs, and `hub_server`, which is driven.

>>> from ckai.game import Position
>>> hub_position(Position.start())
'Bbbbbbbbbbbbbeeeeeeeewwwwwwwwwwww'
>>> write_line("done", move="11-15", ponder="23-19")
'done move=11-15 ponder=23-19'
>>> read_line('pos pos=Bb moves="11-15 23-19"')
('pos', {'pos': 'Bb', 'moves': '11-15 23-19'})
"""

import re

from ckai.game import Move, Position, PositionError

MAX_LINE = 1 << 20
"""Most characters of a line; a game of 1,000 moves has about 10,000."""

_NAME = r'[^\s="\x00-\x1f\x7f]+'
_COMMAND = re.compile(rf"\s*({_NAME})(?=\s|$)")
_PAIR = re.compile(rf'\s*({_NAME})(?:\s*=\s*(?:"([^"]*)"|({_NAME})))?(?=\s|$)')
_BARE = re.compile(_NAME)
_POSITION = re.compile("([BW])([bwBWe]{32})")
_CAPTURE = re.compile(r"[0-9]{1,2}(?:x[0-9]{1,2})+")
SHOWN = 60
"""Most characters of a text that an error quotes."""


def read_line(line: str) -> tuple[str, dict[str, str]]:
    """Parse a line of the protocol.

    Returns:
        The command and its arguments; a flag has an empty value. A blank line has the command "".

    Raises:
        ValueError: the line is not `command name=value name="a value" flag`.
    """
    if not line.strip():
        return "", {}
    found = _COMMAND.match(line)
    if found is None:
        raise ValueError(f"expected a command, found {quoted(line.strip())}")
    command, arguments, end = found[1], {}, found.end()
    last = len(line.rstrip())
    while end < last:
        pair = _PAIR.match(line, end)
        if pair is None:
            raise ValueError(
                f"expected name=value after {quoted(command)}, found {quoted(line[end:].strip())}"
            )
        arguments[pair[1]] = pair[2] if pair[2] is not None else pair[3] or ""
        end = pair.end()
    return command, arguments


def write_line(command: str, /, **arguments: object) -> str:
    """Format a line of the protocol.

    Args:
        command: the command.
        **arguments: values by name, `_` for a hyphen in names. Those that need it are quoted; a double quote
            becomes a single one and a control character a space, as the protocol cannot express them.
    """
    words = [command]
    for name, value in arguments.items():
        text = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", str(value)).replace('"', "'")
        bare = _BARE.fullmatch(text) is not None
        words.append(f"{name.replace('_', '-')}={text}" if bare else f'{name.replace("_", "-")}="{text}"')
    return " ".join(words)


def quoted(text: str) -> str:
    """Return the beginning of a text in quotes, to be shown in a message."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def hub_position(position: Position) -> str:
    """Format a position for the protocol: the side to move, then squares 1 to 32."""
    squares = "".join(position.piece(square) for square in range(1, 33))
    return ("B" if position.black else "W") + squares.replace(".", "e")


def read_position(text: str) -> Position:
    """Parse a position of the protocol, the inverse of `hub_position`.

    Raises:
        ValueError: the text is something else, or the rules exclude the position.
    """
    found = _POSITION.fullmatch(text)
    if found is None:
        raise ValueError(
            f"expected a position of 33 characters, B or W and b, w, B, W or e for squares 1 to 32, "
            f"found {len(text)}: {quoted(text)}"
        )
    pieces = {square: piece for square, piece in enumerate(found[2], 1) if piece != "e"}
    try:
        return Position.from_pieces(pieces, turn="black" if found[1] == "B" else "white")
    except PositionError as error:
        raise ValueError(str(error)) from None


def hub_move(move: Move) -> str:
    """Format a move for the protocol: from, to, and all captured squares, in ascending order as others do."""
    if not move.is_capture:
        return str(move)
    return "x".join(map(str, (move.path[0], move.path[-1], *sorted(move.captured))))


def find_move(text: str, position: Position) -> Move | None:
    """Return the legal move for a move of the protocol, or None; captured squares may be in any order."""
    if "x" not in text:
        return next((move for move in position.legal_moves() if str(move) == text), None)
    if _CAPTURE.fullmatch(text) is None:
        return None
    numbers = [int(number) for number in text.split("x")]
    for move in position.legal_moves():
        ends = [move.path[0], move.path[-1]]
        if move.is_capture and numbers[:2] == ends and sorted(numbers[2:]) == sorted(move.captured):
            return move
    return None
