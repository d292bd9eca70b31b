"""Compiles what positions and moves call, before a clock runs."""

from functools import cache

from ckai.game.position import Position


@cache
def compile_rules() -> None:
    """Compile the kernels of the rules, or load them from the cache, by calling each."""
    start = Position.start()
    assert start.legal_moves()
    start.find_path((9, 13))
    start.push_action(start.legal_actions()[0])
    assert start.board.any()
    Position.from_fen("B:W18,25,26:B14", jumper=14)
